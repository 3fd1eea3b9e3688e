/* Records without a vector of the memory's embedder get one, in steps, whatever stops the work in between. */
#include "test_memory_embed_fixture.h"

#include "base/executor.h"
#include "memory/service.h"
#include "memory/shelf.h"
#include "support/probe_alloc.h"
#include <uar/memory_async.h>

/* Records without a vector, as they are written while the embedder fails. */
static void write_unembedded(embed_fixture *x, int count) {
    uar_identity who = user_of("u1");
    x->e.way = EMBEDDER_FAILS;
    for (int i = 0; i < count; i++) {
        char text[64];
        uar_memory_change change;
        (void)snprintf(text, sizeof text, "walrus number%d lives at harbour%d", i, i);
        uar_memory_draft d = draft_of(text);
        d.metadata = STR("{}");
        assert_int_equal(uar_memory_add_sync(&change, x->memory, &who, &d, NULL), UAR_OK);
    }
    x->e.way = EMBEDDER_ANSWERS;
    atomic_store(&x->e.calls, 0);
    atomic_store(&x->e.texts, 0);
}

static uar_memory_embedding embedding_of(uar_memory *memory) {
    uar_memory_embedding e;
    uar_memory_embedding_init(&e);
    assert_int_equal(uar_memory_embedding_sync(&e, memory, NULL), UAR_OK);
    return e;
}

/* How many rows lie near a text, by vectors of the memory's model alone. */
static size_t count_near(uar_memory *m, const char *text) {
    float *v = NULL;
    uar_str one = uar_str_of(text);
    assert_int_equal(memory_embed(&v, m, UAR_EMBED_QUERY, &one, 1, NULL), UAR_OK);
    engine_near near[8];
    size_t count = 0;
    assert_int_equal(memory_enter_read(m, NULL), UAR_OK);
    int64_t seg = 0;
    assert_int_equal(database_number(&m->database, "SELECT seg FROM version LIMIT 1", &seg, NULL), UAR_OK);
    assert_int_equal(shelf_nearest(near, &count, 8, m, seg, UAR_MEMORY_TYPE_SEMANTIC, v, -1, NULL), UAR_OK);
    memory_leave_read(m);
    alloc_free(&m->alloc, v);
    return count;
}

static int64_t count_vectors(uar_memory *m) {
    int64_t count = 0;
    assert_int_equal(memory_enter_read(m, NULL), UAR_OK);
    assert_int_equal(database_number(&m->database, "SELECT count(*) FROM vector", &count, NULL), UAR_OK);
    memory_leave_read(m);
    return count;
}

static void assert_whole(uar_memory *m) {
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_check_sync(m, &err) != UAR_OK) fail_msg("%s", err.message);
}

static void records_written_while_the_embedder_failed_are_embedded_later(void **state) {
    embed_fixture *x = *state;
    write_unembedded(x, 5);
    uar_memory_embedding before = embedding_of(x->memory);
    assert_int_equal(before.unembedded, 5);
    assert_int_equal(before.embedded, 0);
    assert_int_equal(before.dims, TEST_EMBEDDER_DIMS);
    assert_int_equal(uar_memory_reembed_sync(x->memory, NULL, NULL, NULL), UAR_OK);
    uar_memory_embedding after = embedding_of(x->memory);
    assert_int_equal(after.unembedded, 0);
    assert_int_equal(after.embedded, 5);
    assert_string_equal(after.model, "words-32");
    assert_whole(x->memory);
}

static void test_M4_vectors_of_an_older_embedder_are_never_compared_and_then_replaced(void **state) {
    embed_fixture *x = *state;
    write_unembedded(x, 5);
    assert_int_equal(uar_memory_reembed_sync(x->memory, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(count_near(x->memory, "walrus number1 lives at harbour1"), 5);
    x->e.door.id = "other-32";
    reopen_with(x, 300, NULL);
    assert_int_equal(embedding_of(x->memory).unembedded, 5);
    assert_int_equal(count_near(x->memory, "walrus number1 lives at harbour1"), 0);
    assert_int_equal(uar_memory_reembed_sync(x->memory, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(count_near(x->memory, "walrus number1 lives at harbour1"), 5);
    assert_int_equal(count_vectors(x->memory), 5);
    assert_whole(x->memory);
}

typedef struct watch {
    int calls, stop_after;
    uint64_t done, total;
    bool falls;
} watch;

static uar_status on_progress(void *ctx, uint64_t done, uint64_t total) {
    watch *w = ctx;
    w->falls |= done < w->done;
    w->done = done;
    w->total = total;
    return ++w->calls == w->stop_after ? UAR_E_CANCELLED : UAR_OK;
}

static void work_that_was_stopped_goes_on_where_it_was(void **state) {
    embed_fixture *x = *state;
    write_unembedded(x, EMBED_BATCH * 2 + 10);
    watch first = { .stop_after = 1 };
    assert_int_equal(uar_memory_reembed_sync(x->memory, on_progress, &first, NULL), UAR_E_CANCELLED);
    assert_int_equal(first.done, EMBED_BATCH);
    assert_int_equal(first.total, EMBED_BATCH * 2 + 10);
    assert_int_equal(embedding_of(x->memory).embedded, EMBED_BATCH);
    reopen_with(x, 300, NULL);
    watch second = { .stop_after = 0 };
    assert_int_equal(uar_memory_reembed_sync(x->memory, on_progress, &second, NULL), UAR_OK);
    assert_int_equal(second.done, EMBED_BATCH + 10);
    assert_false(second.falls);
    assert_int_equal(atomic_load(&x->e.texts), EMBED_BATCH * 2 + 10);
    assert_int_equal(embedding_of(x->memory).unembedded, 0);
}

static void a_text_that_is_refused_alone_is_left_out_and_told(void **state) {
    embed_fixture *x = *state;
    write_unembedded(x, 20);
    x->e.refuses = "number7 ";
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_memory_reembed_sync(x->memory, NULL, NULL, &err), UAR_E_TOO_LARGE);
    assert_string_equal(err.message, "1 records have no vector: the text is too long");
    assert_int_equal(embedding_of(x->memory).unembedded, 1);
    assert_whole(x->memory);
}

static void an_embedder_that_takes_nothing_ends_the_work(void **state) {
    embed_fixture *x = *state;
    write_unembedded(x, EMBED_BATCH * 3);
    x->e.way = EMBEDDER_TOO_FEW;
    assert_int_equal(uar_memory_reembed_sync(x->memory, NULL, NULL, NULL), UAR_E_INVALID);
    assert_int_equal(atomic_load(&x->e.calls), EMBED_BATCH + 1);
    assert_int_equal(embedding_of(x->memory).embedded, 0);
}

static void a_line_that_is_down_ends_the_work_at_once(void **state) {
    embed_fixture *x = *state;
    write_unembedded(x, 20);
    x->e.way = EMBEDDER_FAILS;
    assert_int_equal(uar_memory_reembed_sync(x->memory, NULL, NULL, NULL), UAR_E_NETWORK);
    assert_int_equal(atomic_load(&x->e.calls), 1);
    assert_int_equal(embedding_of(x->memory).unembedded, 20);
    assert_whole(x->memory);
}

typedef struct meddler {
    uar_memory *other; /* another process, so to say */
    uar_uuid changed, deleted;
    bool done;
} meddler;

static void meddle(void *ctx) {
    meddler *med = ctx;
    if (med->done) return;
    med->done = true;
    uar_identity who = user_of("u1");
    uar_memory_patch patch = { UAR_MEMORY_PATCH_INIT, .content = STR("the penguin flew away") };
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, med->other, &who, med->changed, &patch, NULL), UAR_OK);
    assert_int_equal(uar_memory_delete_sync(&change, med->other, &who, med->deleted, NULL), UAR_OK);
}

static void a_record_that_changes_meanwhile_gets_no_vector_of_its_old_text(void **state) {
    embed_fixture *x = *state;
    write_unembedded(x, 3);
    uar_identity who = user_of("u1");
    uar_memory_records *records = NULL;
    assert_int_equal(uar_memory_list_sync(&records, x->memory, &who, NULL, uar_str_of(NULL), 10, NULL), UAR_OK);
    meddler med = { uar_memory_open(x->f.path, NULL), records->records[0].id, records->records[1].id, false };
    uar_memory_records_free(records);
    x->e.hook = meddle;
    x->e.hook_ctx = &med;
    watch w = { .stop_after = 1 };
    assert_int_equal(uar_memory_reembed_sync(x->memory, on_progress, &w, NULL), UAR_E_CANCELLED);
    assert_true(med.done);
    uar_memory_embedding e = embedding_of(x->memory);
    assert_int_equal(e.embedded, 1);
    assert_whole(x->memory);
    assert_int_equal(uar_memory_reembed_sync(x->memory, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(embedding_of(x->memory).unembedded, 0);
    assert_whole(x->memory);
    uar_memory_free(med.other);
}

static void lexical_needs_no_vectors(void **state) {
    memory_fixture *f = *state;
    (void)add_text(f, "u1", "a walrus");
    assert_int_equal(uar_memory_reembed_sync(f->memory, NULL, NULL, NULL), UAR_OK);
    uar_memory_embedding e = embedding_of(f->memory);
    assert_int_equal(e.dims, 0);
    assert_int_equal(e.embedded + e.unembedded, 0);
    assert_string_equal(e.model, "lexical");
}

static void a_struct_without_its_size_is_refused(void **state) {
    memory_fixture *f = *state;
    uar_memory_embedding e = { .size = 0 };
    assert_int_equal(uar_memory_embedding_sync(&e, f->memory, NULL), UAR_E_STRUCT);
}

static void a_store_opened_for_reading_is_not_written(void **state) {
    embed_fixture *x = *state;
    write_unembedded(x, 2);
    test_embedder reader;
    embedder_init(&reader, "words-32");
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.embedder = &reader.door;
    options.read_only = true;
    uar_memory *memory = uar_memory_open(x->f.path, &options);
    assert_int_equal(uar_memory_reembed_sync(memory, NULL, NULL, NULL), UAR_E_READ_ONLY);
    assert_int_equal(embedding_of(memory).unembedded, 2);
    uar_memory_free(memory);
    embedder_dispose(&reader);
}

/* ---- in the background ---- */

static uar_executor manual;

static uar_memory *open_pumped(embed_fixture *x) {
    manual_options how = { .alloc = &alloc_default };
    assert_int_equal(manual_open(&manual, &how), UAR_OK);
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.embedder = &x->e.door;
    options.executor = &manual;
    uar_memory_free(x->memory);
    atomic_store(&x->e.destroyed, 0);
    return uar_memory_open(x->f.path, &options);
}

static size_t pump(void) {
    size_t ran = 0;
    while (manual_run_one(&manual))
        ran++;
    return ran;
}

static void a_memory_with_an_executor_begins_by_itself(void **state) {
    embed_fixture *x = *state;
    write_unembedded(x, EMBED_BATCH + 6);
    x->memory = open_pumped(x);
    assert_int_equal(embedding_of(x->memory).embedded, 0);
    assert_true(pump() >= 3);
    assert_int_equal(embedding_of(x->memory).unembedded, 0);
    assert_int_equal(atomic_load(&x->e.texts), EMBED_BATCH + 6);
    uar_memory_free(x->memory);
    x->memory = NULL;
    manual_close(&manual);
}

static void on_list(void *ctx, uar_status status, uar_memory_records *records, const uar_error *err) {
    (void)err;
    assert_int_equal(status, UAR_OK);
    uint64_t *seen = ctx;
    *seen = records->count;
    uar_memory_records_free(records);
}

static void other_calls_run_between_its_steps(void **state) {
    embed_fixture *x = *state;
    write_unembedded(x, EMBED_BATCH * 2);
    x->memory = open_pumped(x);
    uar_identity who = user_of("u1");
    uint64_t seen = 0;
    assert_int_equal(uar_memory_list(x->memory, &who, NULL, uar_str_of(NULL), 7, on_list, &seen, NULL), UAR_OK);
    for (int i = 0; i < 3 && seen == 0; i++)
        assert_true(manual_run_one(&manual));
    assert_int_equal(seen, 7);
    assert_true(embedding_of(x->memory).unembedded > 0);
    uar_memory_free(x->memory);
    x->memory = NULL;
    (void)pump();
    manual_close(&manual);
}

/* ---- allocations ---- */

static void sweep(embed_fixture *x, bool for_good) {
    probe_alloc probe;
    probe_alloc_init(&probe);
    reopen_with(x, 300, &probe.door);
    for (unsigned long at = 1;; at++) {
        write_unembedded(x, 3);
        probe_alloc_arm(&probe, at, for_good);
        uar_status status = uar_memory_reembed_sync(x->memory, NULL, NULL, NULL);
        bool failed = probe_alloc_has_failed(&probe);
        probe_alloc_arm(&probe, 0, false);
        assert_true(status == UAR_OK || status == UAR_E_NOMEM);
        assert_true(status == UAR_OK || failed);
        assert_whole(x->memory);
        uar_identity who = user_of("u1");
        uar_memory_filter all = { UAR_MEMORY_FILTER_INIT, .scopes = 1u << UAR_MEMORY_SCOPE_USER };
        uar_memory_erasure erasure;
        assert_int_equal(uar_memory_delete_where_sync(&erasure, x->memory, &who, &all, NULL), UAR_OK);
        if (!failed) break;
    }
    uar_memory_free(x->memory);
    x->memory = NULL;
    assert_int_equal(probe.alive, 0);
}

static void every_allocation_may_fail(void **state) {
    embed_fixture *x = *state;
    sweep(x, false);
    sweep(x, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EMBED_TEST(records_written_while_the_embedder_failed_are_embedded_later),
        EMBED_TEST(test_M4_vectors_of_an_older_embedder_are_never_compared_and_then_replaced),
        EMBED_TEST(work_that_was_stopped_goes_on_where_it_was),
        EMBED_TEST(a_text_that_is_refused_alone_is_left_out_and_told),
        EMBED_TEST(an_embedder_that_takes_nothing_ends_the_work),
        EMBED_TEST(a_line_that_is_down_ends_the_work_at_once),
        EMBED_TEST(a_record_that_changes_meanwhile_gets_no_vector_of_its_old_text),
        MEMORY_TEST(lexical_needs_no_vectors),
        MEMORY_TEST(a_struct_without_its_size_is_refused),
        EMBED_TEST(a_store_opened_for_reading_is_not_written),
        EMBED_TEST(a_memory_with_an_executor_begins_by_itself),
        EMBED_TEST(other_calls_run_between_its_steps),
        EMBED_TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("re-embedding", tests, NULL, NULL);
}
