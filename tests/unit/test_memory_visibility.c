/*
 * M1: who sees what, in every door of the records. Random identities knock on random doors of a store whose records a plain
 * model knows as well; the model decides by the rule, record by record.
 */
#include "test_memory_visibility_fixture.h"

#include "base/alloc.h"
#include "memory/recall.h"

#define RECORDS 96

typedef struct model_record {
    uar_uuid id;
    char text[32];
    model_place place; /* owner NULL: it is gone */
    uint64_t revision;
} model_record;

struct world {
    memory_fixture *f;
    visitor v;
    model_record records[RECORDS];
};

static model_record *some_record(world *w) {
    return &w->records[dice(&w->v, RECORDS)];
}

static bool sees(const world *w, const model_record *r) {
    return sees_place(&w->v, &r->place);
}

static uar_status change_status(const world *w, const model_record *r) {
    return write_status(&w->v, sees(w, r), r->place.scope);
}

static bool may_change(const world *w, const model_record *r) {
    return change_status(w, r) == UAR_OK;
}

/* Write a new record into a slot of the model, as an identity that may. */
static void renew(world *w, model_record *r) {
    uar_identity who;
    *r = (model_record){ .place = draw_place(&who, &w->v, pick(&w->v, "acme", "zeta", false)), .revision = 1 };
    draw_text(r->text, &w->v, "thing");
    uar_memory_draft d = draft_of(r->text);
    d.scope = r->place.scope;
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, w->f->memory, &who, &d, NULL), UAR_OK);
    assert_int_equal(change.outcome, UAR_MEMORY_OUTCOME_ADDED);
    r->id = change.id;
}

static void renew_gone(world *w) {
    for (size_t i = 0; i < RECORDS; i++)
        if (w->records[i].place.owner == NULL) renew(w, &w->records[i]);
}

static model_record *find(world *w, uar_uuid id) {
    for (size_t i = 0; i < RECORDS; i++)
        if (uar_uuid_equal(w->records[i].id, id)) return &w->records[i];
    return NULL;
}

static size_t count_visible(world *w) {
    size_t count = 0;
    for (size_t i = 0; i < RECORDS; i++)
        count += sees(w, &w->records[i]);
    return count;
}

/* Each of them is visible, and they are as many as are visible: so they are the visible ones. */
static void assert_all_visible(world *w, const uar_memory_record *records, size_t count) {
    for (size_t i = 0; i < count; i++) {
        model_record *r = find(w, records[i].id);
        assert_non_null(r);
        assert_true(sees(w, r));
        assert_true(str_is(records[i].content, r->text));
    }
    assert_int_equal(count, count_visible(w));
}

static void knock_get(world *w) {
    model_record *r = some_record(w);
    uar_memory_records *records = NULL;
    uar_status status = uar_memory_get_sync(&records, w->f->memory, &w->v.who, r->id, NULL);
    assert_int_equal(status, sees(w, r) ? UAR_OK : UAR_E_NOT_FOUND);
    if (status == UAR_OK) assert_true(str_is(records->records[0].content, r->text));
    uar_memory_records_free(records);
}

static void knock_history(world *w) {
    model_record *r = some_record(w);
    uar_memory_records *records = NULL;
    uar_status status = uar_memory_history_sync(&records, w->f->memory, &w->v.who, r->id, NULL);
    assert_int_equal(status, sees(w, r) ? UAR_OK : UAR_E_NOT_FOUND);
    if (status == UAR_OK) assert_int_equal(records->count, r->revision);
    uar_memory_records_free(records);
}

static void knock_list(world *w) {
    uar_memory_records *records = NULL;
    assert_int_equal(uar_memory_list_sync(&records, w->f->memory, &w->v.who, NULL, uar_str_of(NULL), 1000, NULL),
                     UAR_OK);
    assert_all_visible(w, records->records, records->count);
    uar_memory_records_free(records);
}

static void assert_hits_visible(world *w, const uar_memory_hits *hits) {
    for (size_t i = 0; i < hits->count; i++) {
        model_record *r = find(w, hits->hits[i].record.id);
        assert_non_null(r);
        assert_true(sees(w, r));
    }
    assert_int_equal(hits->count, count_visible(w));
}

static void knock_search(world *w) {
    uar_memory_hits *hits = NULL;
    assert_int_equal(uar_memory_search_sync(&hits, w->f->memory, &w->v.who, STR("thing"), NULL, 1000, NULL), UAR_OK);
    assert_hits_visible(w, hits);
    uar_memory_hits_free(hits);
}

static void knock_search_batch(world *w) {
    model_record *r = some_record(w);
    uar_memory_hits *hits[2] = { NULL, NULL };
    uar_memory_query queries[2] = { { STR("thing"), NULL, 1000 }, { uar_str_of(strchr(r->text, ' ') + 1), NULL, 5 } };
    assert_int_equal(uar_memory_search_batch_sync(hits, w->f->memory, &w->v.who, queries, 2, NULL), UAR_OK);
    assert_hits_visible(w, hits[0]);
    /* Its own word finds it first, and what was said beside it behind; who doesn't see it finds nothing by that word. */
    assert_true(sees(w, r) ? hits[1]->count >= 1 : hits[1]->count == 0);
    if (sees(w, r)) assert_true(uar_uuid_equal(hits[1]->hits[0].record.id, r->id));
    for (size_t i = 0; i < hits[1]->count; i++)
        assert_true(sees(w, find(w, hits[1]->hits[i].record.id)));
    uar_memory_hits_free(hits[0]);
    uar_memory_hits_free(hits[1]);
}

static void knock_stats(world *w) {
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, w->f->memory, &w->v.who, NULL, NULL), UAR_OK);
    size_t by_scope[6] = { 0 };
    for (size_t i = 0; i < RECORDS; i++)
        if (sees(w, &w->records[i])) by_scope[w->records[i].place.scope]++;
    for (size_t i = 1; i < 6; i++)
        assert_int_equal(stats.by_scope[i], by_scope[i]);
    assert_int_equal(stats.total, count_visible(w));
}

typedef struct exported {
    world *w;
    size_t current;
} exported;

static uar_status count_line(void *ctx, uar_str line) {
    exported *e = ctx;
    char bytes[2048];
    const char *text = line_text(bytes, line);
    model_record *r = find(e->w, line_uuid(text, "\"id\":\""));
    assert_non_null(r);
    assert_true(sees(e->w, r));
    if (strstr(text, "\"current\":true") != NULL) e->current++;
    return UAR_OK;
}

static void knock_export(world *w) {
    exported e = { w, 0 };
    assert_int_equal(uar_memory_export_sync(w->f->memory, &w->v.who, NULL, count_line, &e, NULL), UAR_OK);
    assert_int_equal(e.current, count_visible(w));
}

static void knock_update(world *w) {
    model_record *r = some_record(w);
    char text[32];
    draw_text(text, &w->v, "thing");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = uar_str_of(text);
    uar_memory_change change;
    uar_status status = uar_memory_update_sync(&change, w->f->memory, &w->v.who, r->id, &p, NULL);
    assert_int_equal(status, change_status(w, r));
    if (status != UAR_OK) return;
    memcpy(r->text, text, sizeof text);
    r->revision = change.revision;
}

static void knock_delete(world *w) {
    model_record *r = some_record(w);
    uar_memory_change change;
    uar_status status = uar_memory_delete_sync(&change, w->f->memory, &w->v.who, r->id, NULL);
    assert_int_equal(status, change_status(w, r));
    if (status == UAR_OK) renew(w, r);
}

/* Everything of one scope that the identity may delete. */
static void knock_delete_where(world *w) {
    uar_memory_scope scope = some_record(w)->place.scope;
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.scopes = 1u << scope;
    uar_memory_erasure sum;
    assert_int_equal(uar_memory_delete_where_sync(&sum, w->f->memory, &w->v.who, &filter, NULL), UAR_OK);
    size_t gone = 0, forbidden = 0;
    for (size_t i = 0; i < RECORDS; i++) {
        model_record *each = &w->records[i];
        if (each->place.scope != scope || !sees(w, each)) continue;
        bool goes = may_change(w, each);
        gone += goes;
        forbidden += !goes;
        if (goes) each->place.owner = NULL;
    }
    assert_int_equal(sum.erased + sum.pending, gone);
    assert_int_equal(sum.forbidden, forbidden);
    renew_gone(w);
}

/* A draft of a random scope, what the model makes of it, and what writing it must answer. */
static uar_status draw_draft(world *w, uar_memory_draft *d, model_record *made) {
    *made = (model_record){ .revision = 1 };
    bool is_placed = own_place(&made->place, &w->v, (uar_memory_scope)(1 + dice(&w->v, 5)));
    draw_text(made->text, &w->v, "thing");
    *d = draft_of(made->text);
    d->scope = made->place.scope;
    return !is_placed ? UAR_E_INVALID : may_write(&w->v, d->scope) ? UAR_OK : UAR_E_FORBIDDEN;
}

/* What was added takes the place of another record, which its owner's operator deletes. */
static void take_place(world *w, model_record *r, const model_record *made, uar_uuid id) {
    uar_identity boss = boss_of(r->place.owner);
    uar_memory_change gone;
    assert_int_equal(uar_memory_delete_sync(&gone, w->f->memory, &boss, r->id, NULL), UAR_OK);
    *r = *made;
    r->id = id;
}

/* To add lands in the writer's own segment, or is refused. */
static void knock_add(world *w) {
    model_record *r = some_record(w);
    uar_memory_draft d;
    model_record made;
    uar_status want = draw_draft(w, &d, &made);
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, w->f->memory, &w->v.who, &d, NULL), want);
    if (want == UAR_OK) take_place(w, r, &made, change.id);
}

static void knock_add_batch(world *w) {
    model_record *r = some_record(w);
    uar_memory_draft d[2];
    model_record made[2];
    uar_memory_change changes[2];
    uar_status want[2];
    for (size_t i = 0; i < 2; i++)
        want[i] = draw_draft(w, &d[i], &made[i]);
    uint32_t flags = dice(&w->v, 2) == 0 ? UAR_MEMORY_ADD_VERBATIM : 0;
    assert_int_equal(uar_memory_add_batch_sync(changes, w->f->memory, &w->v.who, d, 2, flags, NULL, NULL, NULL),
                     UAR_OK);
    model_record *places[2] = { r, &w->records[(size_t)(r - w->records + 1) % RECORDS] };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(changes[i].outcome, want[i] == UAR_OK ? UAR_MEMORY_OUTCOME_ADDED : 0);
        if (want[i] == UAR_OK) take_place(w, places[i], &made[i], changes[i].id);
    }
}

/* All of one scope that the identity sees become one, whose sources are then purged through that door. */
static void knock_compress(world *w) {
    uar_memory_scope scope = some_record(w)->place.scope;
    model_record *first = NULL;
    size_t count = 0;
    bool is_mixed = false;
    for (size_t i = 0; i < RECORDS; i++) {
        model_record *each = &w->records[i];
        if (each->place.scope != scope || !sees(w, each)) continue;
        if (count++ == 0)
            first = each;
        else
            is_mixed = is_mixed || !same_place(&first->place, &each->place);
    }
    uar_status want = is_mixed ? UAR_E_INVALID : count < 2 ? UAR_E_NOT_FOUND : change_status(w, first);
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.scopes = 1u << scope;
    char text[32];
    draw_text(text, &w->v, "thing");
    uar_memory_compress_options options;
    uar_memory_compress_options_init(&options);
    options.summary = uar_str_of(text);
    uar_memory_compression done;
    uar_status status = uar_memory_compress_sync(&done, w->f->memory, &w->v.who, &filter, &options, NULL);
    assert_int_equal(status, want);
    if (want != UAR_OK) return;
    assert_int_equal(done.archived, count);
    uar_memory_erasure sum;
    assert_int_equal(uar_memory_purge_sync(&sum, w->f->memory, &w->v.who, done.id, NULL), UAR_OK);
    assert_true(sum.erased + sum.pending >= count);
    for (size_t i = 0; i < RECORDS; i++) {
        model_record *each = &w->records[i];
        if (each == first || each->place.scope != scope || !sees(w, each)) continue;
        each->place.owner = NULL;
    }
    first->id = done.id;
    first->revision = 1;
    memcpy(first->text, text, sizeof text);
    renew_gone(w);
}

/* Nothing gave way to these records, but who may not change them is not even told that. */
static void knock_purge(world *w) {
    model_record *r = some_record(w);
    uar_memory_erasure sum;
    uar_status want = change_status(w, r);
    assert_int_equal(uar_memory_purge_sync(&sum, w->f->memory, &w->v.who, r->id, NULL), want);
    if (want == UAR_OK) assert_int_equal(sum.erased + sum.pending, 0);
}

/* A line that names another's ids is refused, whatever it says; an operator places it within its owner. */
static void knock_import(world *w) {
    model_record *r = some_record(w);
    char line[512], members[256];
    place_members(members, &r->place);
    snprintf(line, sizeof line, "{\"content\":\"%s\",%s}", r->text, members);
    uar_memory_imported sum;
    assert_int_equal(uar_memory_import_sync(&sum, w->f->memory, &w->v.who, uar_str_of(line), 0, NULL, NULL, NULL),
                     UAR_OK);
    bool allowed = may_change(w, r);
    assert_int_equal(sum.reinforced, allowed ? 1 : 0);
    assert_int_equal(sum.failed, allowed ? 0 : 1);
    assert_int_equal(sum.added + sum.superseded, 0);
}

static void knock_recall(world *w) {
    memory_recalled *recalled = NULL;
    uar_status status = memory_recall_block(&recalled, w->f->memory, &w->v.who, STR("thing"), 100000, NULL);
    if (is_operator(&w->v)) {
        assert_int_equal(status, UAR_E_FORBIDDEN);
        return;
    }
    assert_int_equal(status, UAR_OK);
    size_t expected = count_visible(w);
    assert_int_equal(recalled->count, expected < 48 ? expected : 48);
    for (size_t i = 0; i < recalled->count; i++) {
        model_record *each = find(w, recalled->hits[i].id);
        assert_non_null(each);
        assert_true(sees(w, each));
    }
    memory_recalled_free(recalled);
}

/* Every call that takes an identity. */
static const door doors[] = {
    { "uar_memory_get_sync", knock_get, 40 },
    { "uar_memory_history_sync", knock_history, 25 },
    { "uar_memory_list_sync", knock_list, 8 },
    { "uar_memory_search_sync", knock_search, 8 },
    { "uar_memory_search_batch_sync", knock_search_batch, 4 },
    { "uar_memory_stats_sync", knock_stats, 8 },
    { "uar_memory_export_sync", knock_export, 2 },
    { "uar_memory_add_sync", knock_add, 4 },
    { "uar_memory_add_batch_sync", knock_add_batch, 2 },
    { "uar_memory_compress_sync", knock_compress, 1 },
    { "uar_memory_purge_sync", knock_purge, 4 },
    { "uar_memory_update_sync", knock_update, 12 },
    { "uar_memory_delete_sync", knock_delete, 8 },
    { "uar_memory_delete_where_sync", knock_delete_where, 1 },
    { "uar_memory_import_sync", knock_import, 10 },
    { "memory_recall_block", knock_recall, 3 },
};
#define DOORS (sizeof doors / sizeof doors[0])

static void test_M1_every_door_shows_exactly_what_the_rule_says(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->f = *state;
    visitor_init(&w->v);
    for (size_t i = 0; i < RECORDS; i++)
        renew(w, &w->records[i]);
    knock_at_random(w, &w->v, w->f, doors, DOORS);
    free(w);
}

/* The recall of a run is not in the header. */
static void test_M1_no_door_is_missing_from_the_table(void **state) {
    (void)state;
    assert_int_equal(count_listed_doors("memory.h", doors, DOORS), DOORS - 1);
}

/* An operator's view ends at its owner. */
static void test_M1_an_operator_sees_one_owner_and_filters_narrow_it(void **state) {
    memory_fixture *f = *state;
    const char *owners[] = { "acme", "zeta" }, *users[] = { "ann", "bob" };
    for (int o = 0; o < 2; o++) {
        for (int u = 0; u < 2; u++) {
            uar_identity who = { UAR_IDENTITY_INIT, .owner = uar_str_of(owners[o]), .user = uar_str_of(users[u]) };
            uar_memory_draft d = draft_of("the same words");
            uar_memory_change change;
            assert_int_equal(uar_memory_add_sync(&change, f->memory, &who, &d, NULL), UAR_OK);
        }
    }
    uar_identity boss = { UAR_IDENTITY_INIT, .owner = STR("acme"), .flags = UAR_IDENTITY_OPERATOR };
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, f->memory, &boss, NULL, NULL), UAR_OK);
    assert_int_equal(stats.total, 2);
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.user = STR("bob");
    assert_int_equal(uar_memory_stats_sync(&stats, f->memory, &boss, &filter, NULL), UAR_OK);
    assert_int_equal(stats.total, 1);
}

/* Scores must not tell how many records others have. */
static void test_M1_records_of_others_do_not_move_a_score(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "rare words about whales");
    add_text(f, "ann", "common words about nothing");
    uar_memory_hits *before = search_text(f, "ann", "whales", NULL);
    for (int i = 0; i < 50; i++) {
        char text[64];
        snprintf(text, sizeof text, "whales whales whales %d", i);
        add_text(f, "bob", text);
    }
    uar_memory_hits *after = search_text(f, "ann", "whales", NULL);
    assert_int_equal(before->count, 1);
    assert_int_equal(after->count, 1);
    assert_true(before->hits[0].score >= after->hits[0].score && before->hits[0].score <= after->hits[0].score);
    uar_memory_hits_free(before);
    uar_memory_hits_free(after);
}

static void an_identity_with_bad_ids_or_flags_is_refused(void **state) {
    memory_fixture *f = *state;
    uar_memory_stats stats;
    uar_identity bad[] = { { UAR_IDENTITY_INIT, .user = STR("") },
                           { UAR_IDENTITY_INIT, .user = STR("a\x1F"
                                                            "b") },
                           { UAR_IDENTITY_INIT, .owner = STR("\xFF") },
                           { UAR_IDENTITY_INIT, .flags = 4 } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(uar_memory_stats_sync(&stats, f->memory, &bad[i], NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_stats_sync(&stats, f->memory, NULL, NULL, NULL), UAR_E_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M1_every_door_shows_exactly_what_the_rule_says),
        cmocka_unit_test(test_M1_no_door_is_missing_from_the_table),
        MEMORY_TEST(test_M1_an_operator_sees_one_owner_and_filters_narrow_it),
        MEMORY_TEST(test_M1_records_of_others_do_not_move_a_score),
        MEMORY_TEST(an_identity_with_bad_ids_or_flags_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
