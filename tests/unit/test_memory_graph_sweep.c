/* Each call of the graph with an allocator that fails at its first, second, … allocation; and what deleting leaves behind. */
#include "test_memory_graph_fixture.h"

#include <sqlite3.h>

#include "support/byte_scan.h"
#include "support/probe_alloc.h"

typedef struct sweep {
    memory_fixture *f;
    probe_alloc probe;
    uar_memory *memory;
    uar_identity who;
    uar_uuid ann, oslo, relation, record;
    unsigned long faults;
    int serial;
} sweep;

typedef uar_status (*sweep_call)(sweep *s);

static void open_sweep(sweep *s) {
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &s->f->clock;
    options.allocator = &s->probe.door;
    s->memory = uar_memory_open(s->f->path, &options);
    assert_int_equal(uar_memory_state(s->memory, NULL), UAR_MEMORY_READY);
}

/* Fail at every allocation of the call; then it must work. A failure is UAR_E_NOMEM, the graph is sound after it, and when
 * the memory is closed nothing is left over. */
static void sweep_one(sweep *s, sweep_call call) {
    for (int for_good = 0; for_good < 2; for_good++) {
        open_sweep(s);
        for (unsigned long at = 1;; at++) {
            s->serial++;
            probe_alloc_arm(&s->probe, at, for_good != 0);
            uar_status status = call(s);
            bool failed = probe_alloc_has_failed(&s->probe);
            probe_alloc_arm(&s->probe, 0, false);
            if (!failed) {
                if (status != UAR_OK) fail_msg("%s", uar_status_name(status));
                break;
            }
            s->faults++;
            if (status != UAR_OK) assert_string_equal(uar_status_name(status), "UAR_E_NOMEM");
        }
        uar_error err = UAR_ERROR_INIT;
        if (uar_memory_check_sync(s->memory, &err) != UAR_OK) fail_msg("%s", err.message);
        uar_memory_free(s->memory);
        assert_int_equal(s->probe.alive, 0);
    }
}

/* A change that a failed call must not touch. */
static uar_memory_change untouched(void) {
    uar_memory_change change;
    memset(&change, 0x5A, sizeof change);
    return change;
}

static uar_status after(uar_status status, const uar_memory_change *change) {
    uar_memory_change before = untouched();
    if (status != UAR_OK) assert_memory_equal(change, &before, sizeof before);
    return status;
}

static uar_status put_rich(sweep *s) {
    char name[32], properties[64];
    snprintf(name, sizeof name, "alias %d", s->serial % 40);
    snprintf(properties, sizeof properties, "{\"n\":%d}", s->serial);
    uar_str alias = uar_str_of(name);
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = STR("Ann of the walruses");
    d.kind = STR("person");
    d.aliases = &alias;
    d.alias_count = 1;
    d.properties = uar_str_of(properties);
    uar_memory_change change = untouched();
    uar_status status = after(uar_memory_graph_put_sync(&change, s->memory, &s->who, &d, NULL), &change);
    if (status == UAR_OK) s->ann = change.id;
    return status;
}

static uar_status put_other(sweep *s) {
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = STR("Oslo");
    uar_memory_change change = untouched();
    uar_status status = after(uar_memory_graph_put_sync(&change, s->memory, &s->who, &d, NULL), &change);
    if (status == UAR_OK) s->oslo = change.id;
    return status;
}

static uar_status relate_both(sweep *s) {
    uar_memory_relation_draft d;
    uar_memory_relation_draft_init(&d);
    d.from = s->ann;
    d.to = s->oslo;
    d.type = STR("lives in");
    d.properties = STR("{\"flat\":3}");
    d.valid_from_ms = FIXTURE_START - s->serial;
    uar_memory_change change = untouched();
    uar_status status = after(uar_memory_graph_relate_sync(&change, s->memory, &s->who, &d, NULL), &change);
    if (status == UAR_OK) s->relation = change.id;
    return status;
}

static uar_status observe_one(sweep *s) {
    char text[64];
    snprintf(text, sizeof text, "saw walrus number %d", s->serial);
    uar_memory_observation_draft d;
    uar_memory_observation_draft_init(&d);
    d.entity = s->ann;
    d.text = uar_str_of(text);
    uar_memory_change change = untouched();
    return after(uar_memory_graph_observe_sync(&change, s->memory, &s->who, &d, NULL), &change);
}

static uar_status rename_one(sweep *s) {
    uar_memory_change change = untouched();
    uar_str name = s->serial % 2 == 0 ? STR("Oslo") : STR("Kristiania");
    return after(uar_memory_graph_rename_sync(&change, s->memory, &s->who, s->oslo, name, NULL), &change);
}

static uar_status merge_two(sweep *s) {
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = STR("Double of Ann");
    uar_memory_change change = untouched();
    uar_status status = after(uar_memory_graph_put_sync(&change, s->memory, &s->who, &d, NULL), &change);
    if (status != UAR_OK) return status;
    uar_uuid twin = change.id;
    uar_memory_relation_draft r;
    uar_memory_relation_draft_init(&r);
    r.from = twin;
    r.to = s->oslo;
    r.type = STR("lives in");
    change = untouched();
    status = after(uar_memory_graph_relate_sync(&change, s->memory, &s->who, &r, NULL), &change);
    change = untouched();
    return status == UAR_OK
               ? after(uar_memory_graph_merge_sync(&change, s->memory, &s->who, s->ann, twin, NULL), &change)
               : status;
}

static uar_status end_one(sweep *s) {
    uar_memory_change change = untouched();
    return after(
        uar_memory_graph_end_sync(&change, s->memory, &s->who, s->relation, FIXTURE_START + 100000 - s->serial, NULL),
        &change);
}

static uar_status link_one(sweep *s) {
    uar_memory_change change = untouched();
    return after(uar_memory_graph_link_sync(&change, s->memory, &s->who, s->record, s->ann, NULL), &change);
}

#define READ(name, call)                                \
    static uar_status name(sweep *s) {                  \
        uar_memory_graph *g = NULL;                     \
        uar_status status = call;                       \
        assert_true((status == UAR_OK) == (g != NULL)); \
        uar_memory_graph_free(g);                       \
        return status;                                  \
    }
READ(get_one, uar_memory_graph_get_sync(&g, s->memory, &s->who, s->ann, NULL))
READ(find_one, uar_memory_graph_find_sync(&g, s->memory, &s->who, STR("alias 3"), NULL, NULL))
READ(list_entities, uar_memory_graph_entities_sync(&g, s->memory, &s->who, NULL, uar_str_of(NULL), 1, NULL))
READ(list_relations, uar_memory_graph_relations_sync(&g, s->memory, &s->who, NULL, uar_str_of(NULL), 9, NULL))
READ(list_observations,
     uar_memory_graph_observations_sync(&g, s->memory, &s->who, s->ann, NULL, uar_str_of(NULL), 2, NULL))
READ(list_neighbours, uar_memory_graph_neighbours_sync(&g, s->memory, &s->who, s->ann, NULL, uar_str_of(NULL), 9, NULL))
READ(list_entities_of, uar_memory_graph_entities_of_sync(&g, s->memory, &s->who, s->record, uar_str_of(NULL), 9, NULL))

static uar_status list_records_of(sweep *s) {
    uar_memory_records *r = NULL;
    uar_status status = uar_memory_graph_records_of_sync(&r, s->memory, &s->who, s->ann, uar_str_of(NULL), 9, NULL);
    assert_true((status == UAR_OK) == (r != NULL));
    uar_memory_records_free(r);
    return status;
}

static uar_status find_paths(sweep *s) {
    uar_memory_paths *p = NULL;
    uar_status status = uar_memory_graph_paths_sync(&p, s->memory, &s->who, s->ann, s->oslo, NULL, 5, NULL);
    assert_true((status == UAR_OK) == (p != NULL));
    uar_memory_paths_free(p);
    return status;
}

static uar_status search_words(sweep *s) {
    uar_memory_entity_hits *h = NULL;
    uar_status status =
        uar_memory_graph_search_sync(&h, s->memory, &s->who, STR("which walrus did Ann see?"), NULL, 5, NULL);
    assert_true((status == UAR_OK) == (h != NULL));
    uar_memory_entity_hits_free(h);
    return status;
}

static uar_status count_all(sweep *s) {
    uar_memory_graph_stats stats;
    return uar_memory_graph_stats_sync(&stats, s->memory, &s->who, NULL);
}

static uar_status drop_line(void *ctx, uar_str line) {
    (void)ctx, (void)line;
    return UAR_OK;
}

static uar_status export_all(sweep *s) {
    return uar_memory_graph_export_sync(s->memory, &s->who, drop_line, NULL, NULL);
}

static uar_status import_lines(sweep *s) {
    uar_memory_graph_imported sum;
    return uar_memory_graph_import_sync(
        &sum, s->memory, &s->who,
        STR("{\"type\":\"entity\",\"name\":\"imported\",\"entityType\":\"thing\",\"observations\":[\"is imported\"]}\n"
            "{\"type\":\"relation\",\"from\":\"imported\",\"to\":\"Double of Ann\",\"relationType\":\"knows\"}\n"
            "{\"v\":1,\"item\":\"entity\",\"id\":\"0198c0de-0000-7000-8000-000000000001\",\"name\":\"own\"}\n"
            "{\"v\":1,\"item\":\"observation\",\"id\":\"0198c0de-0000-7000-8000-000000000002\","
            "\"entity\":\"0198c0de-0000-7000-8000-000000000001\",\"text\":\"is own\"}\n"),
        NULL, NULL, NULL, NULL);
}

static uar_status reindex(sweep *s) {
    return uar_memory_reindex_sync(s->memory, NULL);
}

static uar_status unlink_one(sweep *s) {
    uar_status status = link_one(s);
    if (status != UAR_OK) return status;
    uar_memory_change change = untouched();
    return after(uar_memory_graph_unlink_sync(&change, s->memory, &s->who, s->record, s->ann, NULL), &change);
}

static uar_status delete_one(sweep *s) {
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = STR("to be deleted");
    uar_memory_change change = untouched();
    uar_status status = uar_memory_graph_put_sync(&change, s->memory, &s->who, &d, NULL);
    if (status != UAR_OK) return status;
    uar_memory_change gone = untouched();
    return after(uar_memory_graph_delete_sync(&gone, s->memory, &s->who, change.id, NULL), &gone);
}

static void every_call_survives_the_failure_of_each_allocation(void **state) {
    sweep s = { .f = *state, .who = user_of("ann") };
    probe_alloc_init(&s.probe);
    s.record = add_text(s.f, "ann", "a record about Ann").id;
    const sweep_call calls[] = { put_rich,        put_other,      relate_both,       observe_one,     rename_one,
                                 merge_two,       relate_both,    link_one,          get_one,         find_one,
                                 list_entities,   list_relations, list_observations, list_neighbours, list_entities_of,
                                 list_records_of, find_paths,     search_words,      count_all,       export_all,
                                 import_lines,    end_one,        reindex,           unlink_one,      delete_one };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        sweep_one(&s, calls[i]);
    assert_true(s.faults > 300);
}

static void delete_item(memory_fixture *f, const char *user, uar_uuid id) {
    uar_identity who = user_of(user);
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_delete_sync(&change, f->memory, &who, id, NULL), UAR_OK);
    assert_int_equal(change.outcome, UAR_MEMORY_OUTCOME_ERASED);
}

/* An entity whose every text is a canary. */
static uar_uuid put_canary(memory_fixture *f, const char *user, int serial, uar_uuid other, int filler) {
    char name[64], alias[64], kind[64], properties[64], type[64], more[64];
    char *text = calloc(1, (size_t)filler + 64);
    assert_non_null(text);
    snprintf(name, sizeof name, "QXZNAME%d of many", serial);
    snprintf(alias, sizeof alias, "QXZALIAS%d", serial);
    snprintf(kind, sizeof kind, "QXZKIND%d", serial);
    snprintf(properties, sizeof properties, "{\"QXZKEY%d\":\"QXZVALUE%d\"}", serial, serial);
    snprintf(type, sizeof type, "QXZTYPE%d", serial);
    snprintf(more, sizeof more, "{\"QXZWEIGHT%d\":1}", serial);
    int at = snprintf(text, 64, "QXZTEXT%d was seen ", serial);
    memset(text + at, 'x', (size_t)filler);
    uar_str list[] = { uar_str_of(alias) };
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = uar_str_of(name);
    d.kind = uar_str_of(kind);
    d.aliases = list;
    d.alias_count = 1;
    d.properties = uar_str_of(properties);
    uar_uuid id = put_draft(f, user, &d).id;
    observe(f, user, id, text);
    free(text);
    uar_identity who = user_of(user);
    uar_memory_relation_draft r;
    uar_memory_relation_draft_init(&r);
    r.from = serial % 2 == 0 ? id : other;
    r.to = serial % 2 == 0 ? other : id;
    r.type = uar_str_of(type);
    r.properties = uar_str_of(more);
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_relate_sync(&change, f->memory, &who, &r, NULL), UAR_OK);
    return id;
}

static void assert_no_canary(memory_fixture *f, int serial) {
    static const char *const parts[] = { "NAME", "ALIAS", "KIND", "KEY", "VALUE", "TYPE", "WEIGHT", "TEXT" };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char canary[64], folded[64];
        snprintf(canary, sizeof canary, "QXZ%s%d", parts[i], serial);
        size_t len = strlen(canary);
        for (size_t k = 0; k <= len; k++)
            folded[k] = (char)(canary[k] >= 'A' && canary[k] <= 'Z' ? canary[k] + 32 : canary[k]);
        if (store_holds(f->path, canary) || store_holds(f->path, folded)) fail_msg("%s is still in the file", canary);
    }
}

static void test_M6_a_deleted_entity_leaves_the_files_bytes_with_all_that_hangs_on_it(void **state) {
    memory_fixture *f = *state;
    uar_uuid stays = put_entity(f, "ann", "stays", "");
    for (int i = 0; i < 40; i++) {
        char text[64];
        snprintf(text, sizeof text, "neighbour number %d stays", i);
        observe(f, "ann", stays, text);
    }
    uar_uuid id = put_canary(f, "ann", 900, stays, 5000);
    assert_true(store_holds(f->path, "QXZNAME900") && store_holds(f->path, "QXZTEXT900") &&
                store_holds(f->path, "QXZTYPE900"));
    delete_item(f, "ann", id);
    assert_no_canary(f, 900);
    uar_memory_graph_stats stats = graph_stats(f, "ann");
    assert_int_equal(stats.entities, 1);
    assert_int_equal(stats.relations, 0);
    assert_int_equal(stats.observations, 40);
    assert_sound(f);
}

static void test_M6_what_a_merge_took_over_leaves_with_the_entity(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid other = put_entity(f, "ann", "other", "");
    uar_uuid into = put_canary(f, "ann", 700, other, 300), from = put_canary(f, "ann", 701, other, 300);
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_rename_sync(&change, f->memory, &who, from, STR("QXZNAME702"), NULL), UAR_OK);
    assert_int_equal(uar_memory_graph_merge_sync(&change, f->memory, &who, into, from, NULL), UAR_OK);
    assert_true(store_holds(f->path, "QXZNAME702") && store_holds(f->path, "QXZTEXT701"));
    delete_item(f, "ann", from); /* the old id stands for the whole */
    for (int serial = 700; serial < 703; serial++)
        assert_no_canary(f, serial);
    uar_memory_graph *g = NULL;
    assert_int_equal(uar_memory_graph_get_sync(&g, f->memory, &who, from, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_graph_get_sync(&g, f->memory, &who, into, NULL), UAR_E_NOT_FOUND);
    assert_sound(f);
}

static void test_M6_a_forgotten_relation_or_observation_leaves_alone(void **state) {
    memory_fixture *f = *state;
    uar_uuid a = put_entity(f, "ann", "a", ""), b = put_entity(f, "ann", "b", "");
    uar_uuid note = observe(f, "ann", a, "canary QXZTEXT1 sings"), kept = observe(f, "ann", a, "canary KEPT sings");
    uar_uuid relation = relate(f, "ann", a, "QXZTYPE1", b);
    delete_item(f, "ann", note);
    delete_item(f, "ann", relation);
    assert_false(store_holds(f->path, "QXZTEXT1") || store_holds(f->path, "QXZTYPE1"));
    assert_true(store_holds(f->path, "KEPT"));
    uar_memory_graph *g = observations_of(f, "ann", a, NULL);
    assert_int_equal(g->observation_count, 1);
    assert_true(uar_uuid_equal(g->observations[0].id, kept));
    uar_memory_graph_free(g);
    assert_sound(f);
}

/* Rows of many sizes come and go, so that pages are split and merged and leave copies behind. */
static void test_M6_no_byte_of_the_graph_survives_much_coming_and_going(void **state) {
    memory_fixture *f = *state;
    uar_uuid hub = put_entity(f, "ann", "hub", "");
    enum { ROUNDS = 6, EACH = 16 };
    uint64_t seed = 7;
    for (int round = 0; round < ROUNDS; round++) {
        uar_uuid ids[EACH];
        for (int i = 0; i < EACH; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            ids[i] = put_canary(f, "ann", 1000 + round * EACH + i, hub, (int)(seed >> 33) % (i % 5 == 0 ? 6000 : 200));
        }
        for (int i = 0; i < EACH; i += 2)
            delete_item(f, "ann", ids[i]);
        for (int i = 0; i < EACH; i += 2)
            assert_no_canary(f, 1000 + round * EACH + i);
    }
    assert_sound(f);
}

static void a_damaged_row_is_told_and_not_shown(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid id = put_entity(f, "ann", "sound", "");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE graph_entity SET name = 'forged'", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    uar_memory_graph *g = NULL;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(uar_memory_graph_get_sync(&g, f->memory, &who, id, &err), UAR_E_CORRUPT);
    assert_int_equal(uar_memory_graph_entities_sync(&g, f->memory, &who, NULL, uar_str_of(NULL), 9, NULL),
                     UAR_E_CORRUPT);
    assert_null(g);
    assert_int_equal(uar_memory_check_sync(f->memory, NULL), UAR_E_CORRUPT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(every_call_survives_the_failure_of_each_allocation),
        MEMORY_TEST(test_M6_a_deleted_entity_leaves_the_files_bytes_with_all_that_hangs_on_it),
        MEMORY_TEST(test_M6_what_a_merge_took_over_leaves_with_the_entity),
        MEMORY_TEST(test_M6_a_forgotten_relation_or_observation_leaves_alone),
        MEMORY_TEST(test_M6_no_byte_of_the_graph_survives_much_coming_and_going),
        MEMORY_TEST(a_damaged_row_is_told_and_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
