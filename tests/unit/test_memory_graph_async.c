/* Calls of the graph that run later: each does what its `_sync` form does, with a copy of what it was given. */
#include <uar/memory_graph_async.h>

#include "test_memory_async_fixture.h"

static void on_graph(void *ctx, uar_status status, uar_memory_graph *graph, const uar_error *err) {
    heard *h = ctx;
    h->count = graph != NULL ? graph->entity_count + graph->relation_count + graph->observation_count : 0;
    if (graph != NULL && graph->entity_count != 0)
        (void)snprintf(h->first, sizeof h->first, "%.*s", (int)graph->entities[0].name.len,
                       graph->entities[0].name.ptr);
    uar_memory_graph_free(graph);
    hear(h, status, err);
}

static void on_paths(void *ctx, uar_status status, uar_memory_paths *paths, const uar_error *err) {
    heard *h = ctx;
    h->count = paths != NULL ? paths->count : 0;
    uar_memory_paths_free(paths);
    hear(h, status, err);
}

static void on_entity_hits(void *ctx, uar_status status, uar_memory_entity_hits *hits, const uar_error *err) {
    heard *h = ctx;
    h->count = hits != NULL ? hits->count : 0;
    if (h->count != 0)
        (void)snprintf(h->first, sizeof h->first, "%.*s", (int)hits->hits[0].entity.name.len,
                       hits->hits[0].entity.name.ptr);
    uar_memory_entity_hits_free(hits);
    hear(h, status, err);
}

static void on_graph_stats(void *ctx, uar_status status, const uar_memory_graph_stats *stats, const uar_error *err) {
    heard *h = ctx;
    h->number = stats != NULL ? stats->entities * 100 + stats->relations * 10 + stats->observations : 0;
    hear(h, status, err);
}

static void on_graph_imported(void *ctx, uar_status status, const uar_memory_graph_imported *imported,
                              const uar_error *err) {
    heard *h = ctx;
    h->number = imported != NULL ? imported->entities * 10 + imported->relations : 0;
    hear(h, status, err);
}

static const uar_str no_cursor = { NULL, 0 };

/* ---- a small graph that is there before ---- */

static uar_uuid ada, acme, works, record;

static uar_uuid put_now(async_fixture *x, const char *name) {
    uar_identity who = user_of("u1");
    uar_memory_entity_draft d = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of(name), .kind = STR("thing") };
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_put_sync(&change, x->memory, &who, &d, NULL), UAR_OK);
    return change.id;
}

static void fill_with(async_fixture *x, const char *person, const char *company) {
    uar_identity who = user_of("u1");
    uar_memory_change change;
    ada = put_now(x, person);
    acme = put_now(x, company);
    uar_memory_relation_draft r = { UAR_MEMORY_RELATION_DRAFT_INIT, .from = ada, .to = acme, .type = STR("works at") };
    assert_int_equal(uar_memory_graph_relate_sync(&change, x->memory, &who, &r, NULL), UAR_OK);
    works = change.id;
    uar_memory_draft d = draft_of("Ada signed the lease");
    assert_int_equal(uar_memory_add_sync(&change, x->memory, &who, &d, NULL), UAR_OK);
    record = change.id;
}

static void fill(async_fixture *x) {
    fill_with(x, "Ada", "Acme");
}

/* Others each time. */
static void fill_anew(async_fixture *x) {
    static unsigned round;
    char person[32], company[32];
    (void)snprintf(person, sizeof person, "Ada %u", ++round);
    (void)snprintf(company, sizeof company, "Acme %u", round);
    fill_with(x, person, company);
}

/* ---- the calls, each as it is begun with what it is given in memory that is gone when it runs ---- */

static uar_status begin_put(async_fixture *x, heard *h) {
    char name[] = "Engine", alias[] = "Machine", kind[] = "thing", properties[] = "{\"n\":1}";
    uar_str aliases[] = { uar_str_of(alias) };
    uar_identity who = user_of("u1");
    uar_memory_entity_draft d = {
        UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of(name), .kind = uar_str_of(kind),
        .aliases = aliases,           .alias_count = 1,         .properties = uar_str_of(properties)
    };
    uar_status status = uar_memory_graph_put(x->memory, &who, &d, on_change, h, NULL);
    memset(name, 'x', sizeof name), memset(alias, 'x', sizeof alias), memset(kind, 'x', sizeof kind);
    memset(properties, 'x', sizeof properties), memset(aliases, 0, sizeof aliases), memset(&d, 0xff, sizeof d);
    return status;
}

static uar_status begin_relate(async_fixture *x, heard *h) {
    char type[] = "owns", session[] = "s1";
    uar_identity who = user_of("u1");
    uar_memory_relation_draft d = { UAR_MEMORY_RELATION_DRAFT_INIT, .from = acme, .to = ada, .type = uar_str_of(type),
                                    .provenance.session = uar_str_of(session) };
    uar_status status = uar_memory_graph_relate(x->memory, &who, &d, on_change, h, NULL);
    memset(type, 'x', sizeof type), memset(session, 1, sizeof session), memset(&d, 0xff, sizeof d);
    return status;
}

static uar_status begin_observe(async_fixture *x, heard *h) {
    char text[] = "likes the harbour";
    uar_identity who = user_of("u1");
    uar_memory_observation_draft d = { UAR_MEMORY_OBSERVATION_DRAFT_INIT, .entity = ada, .text = uar_str_of(text) };
    uar_status status = uar_memory_graph_observe(x->memory, &who, &d, on_change, h, NULL);
    memset(text, 'x', sizeof text), memset(&d, 0xff, sizeof d);
    return status;
}

static uar_status begin_end(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_graph_end(x->memory, &who, works, FIXTURE_START + 5000, on_change, h, NULL);
}

static uar_status begin_rename(async_fixture *x, heard *h) {
    static unsigned round;
    char name[32];
    (void)snprintf(name, sizeof name, "Acme Ltd %u", ++round);
    uar_identity who = user_of("u1");
    uar_status status = uar_memory_graph_rename(x->memory, &who, acme, uar_str_of(name), on_change, h, NULL);
    memset(name, 'x', sizeof name);
    return status;
}

static uar_status begin_get(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_graph_get(x->memory, &who, ada, on_graph, h, NULL);
}

/* A filter whose texts are gone when it is used. */
typedef struct lent_filter {
    uar_memory_graph_filter f;
    char kind[8], type[16];
} lent_filter;

static lent_filter lend_filter(void) {
    lent_filter l = { .kind = "thing", .type = "works at" };
    uar_memory_graph_filter_init(&l.f);
    return l;
}

static const uar_memory_graph_filter *lent(lent_filter *l) {
    l->f.kind = uar_str_of(l->kind);
    l->f.type = uar_str_of(l->type);
    return &l->f;
}

static uar_status begin_find(async_fixture *x, heard *h) {
    lent_filter l = lend_filter();
    char name[] = "ADA";
    uar_identity who = user_of("u1");
    uar_status status = uar_memory_graph_find(x->memory, &who, uar_str_of(name), lent(&l), on_graph, h, NULL);
    memset(name, 'x', sizeof name), memset(&l, 0xff, sizeof l);
    return status;
}

static uar_status begin_entities(async_fixture *x, heard *h) {
    lent_filter l = lend_filter();
    char cursor[] = "0";
    uar_identity who = user_of("u1");
    uar_status status = uar_memory_graph_entities(x->memory, &who, lent(&l), uar_str_of(cursor), 10, on_graph, h, NULL);
    memset(cursor, 'x', sizeof cursor), memset(&l, 0xff, sizeof l);
    return status;
}

static uar_status begin_relations(async_fixture *x, heard *h) {
    lent_filter l = lend_filter();
    uar_identity who = user_of("u1");
    uar_status status = uar_memory_graph_relations(x->memory, &who, lent(&l), no_cursor, 10, on_graph, h, NULL);
    memset(&l, 0xff, sizeof l);
    return status;
}

static uar_status begin_observations(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_graph_observations(x->memory, &who, ada, NULL, no_cursor, 10, on_graph, h, NULL);
}

static uar_status begin_neighbours(async_fixture *x, heard *h) {
    lent_filter l = lend_filter();
    uar_identity who = user_of("u1");
    uar_status status = uar_memory_graph_neighbours(x->memory, &who, ada, lent(&l), no_cursor, 10, on_graph, h, NULL);
    memset(&l, 0xff, sizeof l);
    return status;
}

static uar_status begin_paths(async_fixture *x, heard *h) {
    lent_filter l = lend_filter();
    uar_identity who = user_of("u1");
    uar_status status = uar_memory_graph_paths(x->memory, &who, ada, acme, lent(&l), 10, on_paths, h, NULL);
    memset(&l, 0xff, sizeof l);
    return status;
}

static uar_status begin_search(async_fixture *x, heard *h) {
    char words[] = "who is ada";
    uar_identity who = user_of("u1");
    uar_status status = uar_memory_graph_search(x->memory, &who, uar_str_of(words), NULL, 5, on_entity_hits, h, NULL);
    memset(words, 'x', sizeof words);
    return status;
}

static uar_status begin_count(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_graph_count(x->memory, &who, on_graph_stats, h, NULL);
}

static uar_status begin_link(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_graph_link(x->memory, &who, record, ada, on_change, h, NULL);
}

static uar_status begin_entities_of(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_graph_entities_of(x->memory, &who, record, no_cursor, 10, on_graph, h, NULL);
}

static uar_status begin_records_of(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_graph_records_of(x->memory, &who, ada, no_cursor, 10, on_records, h, NULL);
}

static uar_status begin_export(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    h->count = 0;
    return uar_memory_graph_export(x->memory, &who, count_line, on_done, h, NULL);
}

static uar_status begin_import(async_fixture *x, heard *h) {
    char lines[] = "{\"type\":\"entity\",\"name\":\"Rome\",\"entityType\":\"city\",\"observations\":[]}\n"
                   "{\"type\":\"relation\",\"from\":\"Rome\",\"to\":\"Nowhere\",\"relationType\":\"is in\"}\n";
    char user[] = "u1";
    uar_memory_place place = { .scope = UAR_MEMORY_SCOPE_USER, .user = uar_str_of(user) };
    uar_identity who = user_of("u1");
    uar_status status =
        uar_memory_graph_import(x->memory, &who, uar_str_of(lines), &place, count_failed, on_graph_imported, h, NULL);
    memset(lines, 'x', sizeof lines), memset(user, 'x', sizeof user), memset(&place, 0xff, sizeof place);
    return status;
}

static uar_status begin_merge(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_graph_merge(x->memory, &who, ada, acme, on_change, h, NULL);
}

static uar_status begin_unlink(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_graph_unlink(x->memory, &who, record, ada, on_change, h, NULL);
}

static uar_status begin_delete(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    return uar_memory_graph_delete(x->memory, &who, ada, on_change, h, NULL);
}

static void the_graph_is_written_later(async_fixture *x, heard *h) {
    fill(x);
    play(x, h, begin_put);
    assert_int_equal(h->change.outcome, UAR_MEMORY_OUTCOME_ADDED);
    play(x, h, begin_put);
    assert_int_equal(h->change.outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    play(x, h, begin_relate);
    assert_int_equal(h->change.outcome, UAR_MEMORY_OUTCOME_ADDED);
    play(x, h, begin_observe);
    assert_int_equal(h->change.outcome, UAR_MEMORY_OUTCOME_ADDED);
    play(x, h, begin_link);
    assert_int_equal(h->change.outcome, UAR_MEMORY_OUTCOME_ADDED);
    play(x, h, begin_count);
    assert_int_equal(h->number, 321);
    play(x, h, begin_end);
    assert_int_equal(h->change.outcome, UAR_MEMORY_OUTCOME_UPDATED);
    play(x, h, begin_rename);
    assert_int_equal(h->change.outcome, UAR_MEMORY_OUTCOME_UPDATED);
    play(x, h, begin_import);
    assert_int_equal(h->number, 10);
    assert_int_equal(h->count, 2); /* the line that was refused */
}

static void the_graph_is_read_later(async_fixture *x, heard *h) {
    play(x, h, begin_get);
    assert_string_equal(h->first, "Ada");
    play(x, h, begin_find);
    assert_string_equal(h->first, "Ada");
    play(x, h, begin_entities);
    assert_int_equal(h->count, 3);
    play(x, h, begin_relations);
    assert_int_equal(h->count, 1);
    play(x, h, begin_observations);
    assert_int_equal(h->count, 1);
    play(x, h, begin_neighbours);
    assert_int_equal(h->count, 2);
    assert_int_equal(strncmp(h->first, "Acme Ltd", 8), 0);
    play(x, h, begin_paths);
    assert_int_equal(h->count, 1);
    play(x, h, begin_search);
    assert_string_equal(h->first, "Ada");
    play(x, h, begin_entities_of);
    assert_string_equal(h->first, "Ada");
    play(x, h, begin_records_of);
    assert_string_equal(h->first, "Ada signed the lease");
    play(x, h, begin_export);
    assert_true(h->count >= 8);
}

static void the_graph_is_thinned_later(async_fixture *x, heard *h) {
    play(x, h, begin_unlink);
    assert_int_equal(h->change.outcome, UAR_MEMORY_OUTCOME_ERASED);
    play(x, h, begin_merge);
    assert_int_equal(h->change.outcome, UAR_MEMORY_OUTCOME_UPDATED);
    play(x, h, begin_delete);
    assert_int_equal(h->change.outcome, UAR_MEMORY_OUTCOME_ERASED);
    play(x, h, begin_count);
    assert_int_equal(h->number, 200);
}

static void every_call_of_the_graph_has_a_form_that_runs_later(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    the_graph_is_written_later(x, &h);
    the_graph_is_read_later(x, &h);
    the_graph_is_thinned_later(x, &h);
    heard_dispose(&h);
}

static void what_is_wrong_is_told_to_the_receiver(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    uar_identity who = user_of("u1");
    assert_int_equal(uar_memory_graph_put(x->memory, &who, NULL, on_change, &h, NULL), UAR_OK);
    (void)pump(x);
    assert_int_equal(h.status, UAR_E_INVALID);
    assert_int_equal(uar_memory_graph_get(x->memory, NULL, acme, on_graph, &h, NULL), UAR_OK);
    (void)pump(x);
    assert_int_equal(h.status, UAR_E_INVALID);
    uar_uuid nobody = { { 7 } };
    assert_int_equal(uar_memory_graph_neighbours(x->memory, &who, nobody, NULL, no_cursor, 5, on_graph, &h, NULL),
                     UAR_OK);
    (void)pump(x);
    assert_int_equal(h.status, UAR_E_NOT_FOUND);
    assert_int_equal(h.calls, 3);
    heard_dispose(&h);
}

static void too_many_aliases_are_refused_not_read(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    uar_identity who = user_of("u1");
    uar_str aliases[65];
    for (size_t i = 0; i < 65; i++)
        aliases[i] = STR("same");
    /* Only what is needed to refuse it is read of the million that is claimed. */
    uar_memory_entity_draft d = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = STR("many"), .aliases = aliases,
                                  .alias_count = 1000000 };
    assert_int_equal(uar_memory_graph_put(x->memory, &who, &d, on_change, &h, NULL), UAR_OK);
    (void)pump(x);
    assert_int_equal(h.status, UAR_E_TOO_LARGE);
    heard_dispose(&h);
}

static void a_call_that_cannot_begin_says_so_at_once(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    uar_identity who = user_of("u1");
    assert_int_equal(uar_memory_graph_get(x->memory, &who, ada, NULL, &h, NULL), UAR_E_INVALID);
    uar_memory_relation_draft d;
    memset(&d, 0, sizeof d);
    assert_int_equal(uar_memory_graph_relate(x->memory, &who, &d, on_change, &h, NULL), UAR_E_STRUCT);
    struct {
        uar_memory_graph_filter f;
        char more[8];
    } newer = { .f = { .size = sizeof newer }, .more = "x" };
    assert_int_equal(uar_memory_graph_find(x->memory, &who, STR("a"), &newer.f, on_graph, &h, NULL), UAR_E_STRUCT);
    (void)pump(x);
    assert_int_equal(h.calls, 0);
    heard_dispose(&h);
}

static void test_X3_freeing_cancels_what_has_not_begun(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    for (int i = 0; i < 6; i++)
        assert_int_equal(begin_put(x, &h), UAR_OK);
    assert_int_equal(begin_get(x, &h), UAR_OK);
    uar_memory_free(x->memory);
    x->memory = NULL;
    assert_int_equal(h.calls, 7);
    assert_int_equal(h.status, UAR_E_CANCELLED);
    (void)pump(x);
    assert_int_equal(h.calls, 7);
    heard_dispose(&h);
}

static void on_any_change(void *ctx, uar_status status, const uar_memory_change *change, const uar_error *err) {
    assert_true((change != NULL) == (status == UAR_OK));
    hear(ctx, status, err);
}

static void on_any_graph(void *ctx, uar_status status, uar_memory_graph *graph, const uar_error *err) {
    uar_memory_graph_free(graph);
    hear(ctx, status, err);
}

static void many_calls_of_the_graph_run_at_once(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    uar_identity who = user_of("u1");
    for (int i = 0; i < 60; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "thing %d", i);
        uar_memory_entity_draft d = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of(name) };
        assert_int_equal(uar_memory_graph_put(x->memory, &who, &d, on_any_change, &h, NULL), UAR_OK);
        assert_int_equal(uar_memory_graph_entities(x->memory, &who, NULL, no_cursor, 10, on_any_graph, &h, NULL),
                         UAR_OK);
    }
    await(&h, 120);
    uar_memory_graph_stats stats;
    assert_int_equal(uar_memory_graph_stats_sync(&stats, x->memory, &who, NULL), UAR_OK);
    assert_int_equal(stats.entities, 60);
    heard_dispose(&h);
}

static void every_allocation_of_a_call_may_fail(void **state) {
    (void)state;
    const begin_fn calls[] = { begin_put,         begin_relate,     begin_observe,  begin_end,       begin_rename,
                               begin_get,         begin_find,       begin_entities, begin_relations, begin_observations,
                               begin_neighbours,  begin_paths,      begin_search,   begin_count,     begin_link,
                               begin_entities_of, begin_records_of, begin_export,   begin_import };
    sweep_all(calls, sizeof calls / sizeof *calls, fill, false, true);
    const begin_fn once_only[] = { begin_merge, begin_delete };
    sweep_all(once_only, 2, fill_anew, true, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_POOL(every_call_of_the_graph_has_a_form_that_runs_later),
        PUMPED(every_call_of_the_graph_has_a_form_that_runs_later),
        PUMPED(what_is_wrong_is_told_to_the_receiver),
        PUMPED(too_many_aliases_are_refused_not_read),
        PUMPED(a_call_that_cannot_begin_says_so_at_once),
        PUMPED(test_X3_freeing_cancels_what_has_not_begun),
        ON_POOL(many_calls_of_the_graph_run_at_once),
        cmocka_unit_test(every_allocation_of_a_call_may_fail),
    };
    return cmocka_run_group_tests_name("calls of the graph that run later", tests, NULL, NULL);
}
