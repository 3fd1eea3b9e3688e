/* The layer that forgets, and the tree it stands on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/completion.h"
#include "base/lock.h"
#include "store/check.h"
#include "store/layer.h"
#include "store/tree.h"
#include "support/probe_alloc.h"

/* ---- tree ---- */

enum { ITEMS = 200, STEPS = 20000 };

typedef struct item {
    int value;
    bool is_in;
    tree_node node;
} item;

static int compare_items(const void *a, const void *b) {
    const item *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* Checks order, heights and links below `n`; returns the height. */
static int check_below(const tree_node *n, const tree_node *up) {
    if (n == NULL) return 0;
    assert_ptr_equal(n->up, up);
    if (n->child[0] != NULL) assert_true(compare_items(n->child[0]->item, n->item) < 0);
    if (n->child[1] != NULL) assert_true(compare_items(n->child[1]->item, n->item) > 0);
    int a = check_below(n->child[0], n), b = check_below(n->child[1], n);
    assert_in_range(a - b + 1, 0, 2);
    assert_int_equal(n->height, (a > b ? a : b) + 1);
    return n->height;
}

static int next_in(const item *items, int from) {
    while (from < ITEMS && !items[from].is_in)
        from++;
    return from;
}

static void check_walk(const tree *t, const item *items) {
    int at = next_in(items, 0);
    const item before_all = { .value = -1 };
    for (const tree_node *n = tree_behind(t, &before_all); n != NULL; n = tree_next(n)) {
        assert_true(at < ITEMS);
        assert_ptr_equal(n->item, &items[at]);
        at = next_in(items, at + 1);
    }
    assert_int_equal(at, ITEMS);
}

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void a_tree_agrees_with_an_array_after_every_insert_and_remove(void **state) {
    (void)state;
    static item items[ITEMS];
    tree t;
    tree_init(&t, compare_items);
    uint32_t seed = 5417;
    for (int i = 0; i < ITEMS; i++)
        items[i] = (item){ .value = i };
    for (int step = 0; step < STEPS; step++) {
        item *it = &items[next_random(&seed) % ITEMS];
        if (it->is_in)
            tree_remove(&t, &it->node);
        else
            tree_insert(&t, &it->node, it);
        it->is_in = !it->is_in;
        if (step % 50 != 0) continue;
        check_below(t.root, NULL);
        check_walk(&t, items);
    }
}

static void a_tree_finds_what_is_in_it_and_what_is_behind(void **state) {
    (void)state;
    item items[8];
    tree t;
    tree_init(&t, compare_items);
    for (int i = 0; i < 8; i++) {
        items[i] = (item){ .value = i * 10 };
        tree_insert(&t, &items[i].node, &items[i]);
    }
    const item present = { .value = 30 }, absent = { .value = 35 }, last = { .value = 70 };
    assert_ptr_equal(tree_find(&t, &present), &items[3]);
    assert_null(tree_find(&t, &absent));
    assert_ptr_equal(tree_behind(&t, &present)->item, &items[4]);
    assert_ptr_equal(tree_behind(&t, &absent)->item, &items[4]);
    assert_null(tree_behind(&t, &last));
}

static void a_tree_filled_in_order_stays_flat(void **state) {
    (void)state;
    enum { MANY = 1000 };
    static item items[MANY];
    tree t;
    tree_init(&t, compare_items);
    for (int i = 0; i < MANY; i++) {
        items[i] = (item){ .value = i };
        tree_insert(&t, &items[i].node, &items[i]);
    }
    assert_true(t.root->height <= 14); /* 1.44 log2 of 1,000 */
}

/* ---- layer ---- */

typedef struct store {
    const uar_persistence *door;
    kit k;
} store;

static void begin(store *s, const uar_persistence *door) {
    memset(s, 0, sizeof *s);
    s->door = door;
    s->k.layer = *door;
    s->k.measures.patience_ms = 30000;
    s->k.owner = STR("local");
    arena_init(&s->k.memory, &alloc_default);
}

static void finish(store *s) {
    arena_dispose(&s->k.memory);
    uar_persistence_free(s->door);
}

/* Forget what the calls so far have read. */
static void forget(kit *k) {
    arena_dispose(&k->memory);
    k->home_count = 0;
}

static void it_says_that_it_neither_blocks_nor_minds_overlap(void **state) {
    (void)state;
    const uar_persistence *door = uar_persistence_volatile();
    assert_false(door->blocking);
    assert_true(door->concurrent);
    assert_null(door->open);
    assert_null(door->location);
    assert_int_equal(uar_live_objects(), 1);
    uar_persistence_free(door);
    assert_int_equal(uar_live_objects(), 0);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    store s;
    begin(&s, uar_persistence_volatile());
    uar_record r = kit_record(&s.k, STR(""));
    const uar_write nameless = kit_put(r, 0);
    const uar_write childless = { .op = UAR_WRITE_DELETE_CHILDREN,
                                  .record = { .kind = 2, .owner = STR_INIT("local") } };
    uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
    kit_page page;
    assert_int_equal(kit_commit(&s.k, &nameless, 1), UAR_E_INVALID);
    assert_int_equal(kit_commit(&s.k, &childless, 1), UAR_E_INVALID);
    query.limit = 0;
    assert_int_equal(kit_list(&page, &s.k, &query), UAR_E_INVALID);
    finish(&s);
}

/* A commit that adds, replaces, removes and sweeps, with an expectation at its end that fails or holds. */
static uar_status busy_commit(store *s, uint64_t last_expected) {
    const uar_record a = kit_sorted(&s->k, STR("a"), STR("p"), 1), b = kit_sorted(&s->k, STR("b"), STR("p"), 2);
    const uar_record c = kit_sorted(&s->k, STR("c"), STR("q"), 3), d = kit_sorted(&s->k, STR("d"), STR("p"), 4);
    const uar_write writes[] = { kit_put(kit_newer(&s->k, a, 2), 1), kit_delete(c, 1),       kit_put(d, 0),
                                 kit_put(kit_newer(&s->k, d, 2), 1), kit_delete_children(b), kit_put(c, 0),
                                 kit_fence(c, last_expected) };
    return kit_commit(&s->k, writes, sizeof writes / sizeof writes[0]);
}

static void prepare_commit(store *s) {
    const uar_write writes[] = { kit_put(kit_sorted(&s->k, STR("a"), STR("p"), 1), 0),
                                 kit_put(kit_sorted(&s->k, STR("b"), STR("p"), 2), 0),
                                 kit_put(kit_sorted(&s->k, STR("c"), STR("q"), 3), 0) };
    assert_int_equal(kit_commit(&s->k, writes, 3), UAR_OK);
}

static void assert_as_prepared(store *s) {
    const uar_record a = kit_sorted(&s->k, STR("a"), STR("p"), 1), b = kit_sorted(&s->k, STR("b"), STR("p"), 2);
    const uar_record c = kit_sorted(&s->k, STR("c"), STR("q"), 3);
    const uar_str ids[] = { STR("a"), STR("b"), STR("c") };
    uar_list_query query = kit_query(&s->k, UAR_ORDER_SORT);
    assert_true(kit_has(&s->k, &a) && kit_has(&s->k, &b) && kit_has(&s->k, &c));
    assert_true(kit_lists(&s->k, &query, ids, 3));
    query.order = UAR_ORDER_KEY;
    assert_true(kit_lists(&s->k, &query, ids, 3));
    query.parent = STR("p");
    assert_true(kit_lists(&s->k, &query, ids, 2));
    query.order = UAR_ORDER_SORT;
    assert_true(kit_lists(&s->k, &query, ids, 2));
}

static void a_failed_commit_is_undone_in_every_order(void **state) {
    (void)state;
    store s;
    begin(&s, uar_persistence_volatile());
    prepare_commit(&s);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(busy_commit(&s, 9), UAR_E_CONFLICT);
        assert_as_prepared(&s);
    }
    assert_int_equal(busy_commit(&s, 1), UAR_OK);
    const uar_str ids[] = { STR("c") };
    const uar_list_query query = kit_query(&s.k, UAR_ORDER_SORT);
    assert_true(kit_lists(&s.k, &query, ids, 1));
    finish(&s);
}

static void running_out_of_memory_anywhere_changes_nothing(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    bool ended = false;
    for (unsigned long n = 1; !ended; n++) {
        probe_alloc_arm(&probe, 0, false);
        const uar_persistence *door = volatile_new(&probe.door);
        assert_non_null(door);
        store s;
        begin(&s, door);
        prepare_commit(&s);
        probe_alloc_arm(&probe, (n + 1) / 2, n % 2 == 0);
        uar_record got;
        kit_page page;
        const uar_list_query query = kit_query(&s.k, UAR_ORDER_SORT);
        uar_status read = kit_get(&got, &s.k, UAR_RECORD_MESSAGE, s.k.owner, STR("a"));
        uar_status listed = kit_list(&page, &s.k, &query);
        uar_status written = busy_commit(&s, 1);
        ended = !probe_alloc_has_failed(&probe);
        probe_alloc_arm(&probe, 0, false);
        bool all_well = read == UAR_OK && listed == UAR_OK && written == UAR_OK;
        assert_int_equal(all_well, ended);
        if (!ended) assert_true(read == UAR_E_NOMEM || listed == UAR_E_NOMEM || written == UAR_E_NOMEM);
        if (written != UAR_OK) assert_as_prepared(&s);
        finish(&s);
        assert_int_equal(probe.alive, 0);
    }
    probe_alloc_arm(&probe, 1, true);
    assert_null(volatile_new(&probe.door));
}

/* ---- an answer that is read while the store changes ---- */

typedef struct reading {
    store *s;
    bool is_same;
} reading;

/* Runs inside the layer's answer: the record must stay as it is while another commit replaces and removes it. */
static void read_and_replace(void *arg, const completion_result *result) {
    reading *r = arg;
    const uar_record a = kit_sorted(&r->s->k, STR("a"), STR("p"), 1);
    const uar_write replace[] = { kit_put(kit_newer(&r->s->k, a, 2), 1), kit_delete(a, 2) };
    assert_int_equal(kit_commit(&r->s->k, replace, 2), UAR_OK);
    r->is_same = result->record_count == 1 && kit_same(&r->s->k, &result->records[0], &a);
}

static void an_answer_stays_as_it_is_until_its_release(void **state) {
    (void)state;
    store s;
    begin(&s, uar_persistence_volatile());
    prepare_commit(&s);
    reading r = { .s = &s };
    uar_completion *done = completion_new(&alloc_default, COMPLETION_RECORDS, read_and_replace, &r);
    assert_non_null(done);
    completion_lend(done);
    s.door->get(s.door->ctx, UAR_RECORD_MESSAGE, s.k.owner, STR("a"), done);
    completion_return(done);
    completion_release(done);
    assert_true(r.is_same);
    finish(&s);
}

/* ---- size ---- */

static void a_hundred_thousand_records_are_listed_page_by_page(void **state) {
    (void)state;
    enum { MANY = 100000, BATCH = 1000, PAGE = 777 };
    store s;
    begin(&s, uar_persistence_volatile());
    static uar_write writes[BATCH];
    static char ids[BATCH][8];
    for (int batch = 0; batch < MANY / BATCH; batch++) {
        for (int i = 0; i < BATCH; i++) {
            uint32_t n = (uint32_t)(batch * BATCH + i) * 7919u % MANY;
            for (int d = 5; d >= 0; d--, n /= 10)
                ids[i][d] = (char)('0' + n % 10);
            writes[i] =
                kit_put((uar_record){ .kind = 2, .owner = s.k.owner, .id = uar_str_n(ids[i], 6), .revision = 1 }, 0);
        }
        assert_int_equal(kit_commit(&s.k, writes, BATCH), UAR_OK);
        forget(&s.k);
    }
    uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
    query.limit = PAGE;
    query.has_after = true;
    char after[8] = "";
    size_t seen = 0;
    for (;;) {
        query.after_id = uar_str_of(after);
        kit_page page;
        assert_int_equal(kit_list(&page, &s.k, &query), UAR_OK);
        if (page.count == 0) break;
        assert_true(memcmp(page.records[0].id.ptr, after, 6) > 0);
        memcpy(after, page.records[page.count - 1].id.ptr, 6);
        seen += page.count;
        forget(&s.k);
    }
    assert_int_equal(seen, MANY);
    finish(&s);
}

/* ---- threads ---- */

enum { WRITERS = 4, ROUNDS = 300 };

typedef struct writer {
    kit k;
    size_t number;
    bool is_well;
} writer;

/* Puts, lists and deletes its own records, and reads those of the others while they change. */
static void write_and_read(void *arg) {
    writer *w = arg;
    w->is_well = true;
    for (size_t i = 0; i < ROUNDS && w->is_well; i++) {
        const uar_record r = kit_sorted(&w->k, kit_name(&w->k, "w-", w->number), STR("p"), (int64_t)w->number);
        const uar_write put = kit_put(r, 0), gone = kit_delete(r, 1);
        uar_list_query query = kit_query(&w->k, UAR_ORDER_SORT);
        kit_page page;
        w->is_well = kit_commit(&w->k, &put, 1) == UAR_OK && kit_list(&page, &w->k, &query) == UAR_OK &&
                     page.count >= 1 && page.count <= WRITERS && kit_commit(&w->k, &gone, 1) == UAR_OK;
        for (size_t p = 0; w->is_well && p < page.count; p++)
            w->is_well = record_verify(&page.records[p], NULL) == UAR_OK;
        forget(&w->k);
    }
}

static void threads_write_and_read_at_once(void **state) {
    (void)state;
    store s;
    begin(&s, uar_persistence_volatile());
    writer writers[WRITERS];
    thread threads[WRITERS];
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (writer){ .k = s.k, .number = i };
        arena_init(&writers[i].k.memory, &alloc_default);
        assert_int_equal(thread_start(&threads[i], 256 * 1024, write_and_read, &writers[i]), UAR_OK);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        thread_join(threads[i]);
        assert_true(writers[i].is_well);
    }
    finish(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_agrees_with_an_array_after_every_insert_and_remove),
        cmocka_unit_test(a_tree_finds_what_is_in_it_and_what_is_behind),
        cmocka_unit_test(a_tree_filled_in_order_stays_flat),
        cmocka_unit_test(it_says_that_it_neither_blocks_nor_minds_overlap),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(a_failed_commit_is_undone_in_every_order),
        cmocka_unit_test(running_out_of_memory_anywhere_changes_nothing),
        cmocka_unit_test(an_answer_stays_as_it_is_until_its_release),
        cmocka_unit_test(a_hundred_thousand_records_are_listed_page_by_page),
        cmocka_unit_test(threads_write_and_read_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
