/* What an import of a graph must not do: lose its neighbours, keep half a line, slow down at a hub. */
#include <sqlite3.h>

#include "test_memory_graph_fixture.h"

#include <uar/memory_stream.h>

#include "base/buffer.h"
#include "memory/database.h"

typedef struct refusals {
    size_t count;
    uint64_t line;
    uar_status code;
} refusals;

static void note_refusal(void *ctx, uint64_t line, const uar_error *err) {
    refusals *r = ctx;
    r->count++;
    r->line = line;
    r->code = err->code;
}

static uar_memory_graph_imported import_as(uar_memory *memory, const uar_identity *who, uar_str lines, refusals *r) {
    uar_memory_graph_imported sum;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_graph_import_sync(&sum, memory, who, lines, NULL, note_refusal, r, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return sum;
}

static uar_str lines_of(buffer *out) {
    assert_int_equal(out->status, UAR_OK);
    return buffer_str(out);
}

static void a_line_refused_among_many_leaves_nothing_of_itself(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    buffer file;
    buffer_init(&file, &alloc_default, SIZE_MAX / 4);
    char line[160];
    for (int i = 0; i < 600; i++) {
        /* The id of the line would be put beside the name that is there before its aliases turn out to be too many. */
        snprintf(line, sizeof line,
                 "{\"v\":1,\"item\":\"entity\",\"id\":\"00000000-0000-4000-8000-%012d\",\"name\":\"%s %d\"", i + 1,
                 i == 300 ? "entity" : "Entity", i == 300 ? 7 : i);
        buffer_append_text(&file, line);
        buffer_append_text(&file, i == 7 || i == 300 ? ",\"aliases\":[" : "");
        for (int k = 0; k < 40 && (i == 7 || i == 300); k++) {
            snprintf(line, sizeof line, "%s\"alias %d of %d\"", k != 0 ? "," : "", k, i);
            buffer_append_text(&file, line);
        }
        buffer_append_text(&file, i == 7 || i == 300 ? "]}\n" : "}\n");
    }
    refusals r = { 0 };
    uar_memory_graph_imported sum = import_as(f->memory, &who, lines_of(&file), &r);
    assert_int_equal(sum.entities, 599);
    assert_int_equal(sum.failed, 1);
    assert_int_equal(r.line, 301);
    assert_int_equal(r.code, UAR_E_TOO_LARGE);
    uar_uuid refused;
    assert_int_equal(uar_uuid_parse(&refused, STR("00000000-0000-4000-8000-000000000301")), UAR_OK);
    uar_memory_graph *g = NULL;
    assert_int_equal(uar_memory_graph_get_sync(&g, f->memory, &who, refused, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_check_sync(f->memory, NULL), UAR_OK);
    buffer_dispose(&file);
}

static void a_byte_order_mark_before_the_first_line_is_no_fault(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    refusals r = { 0 };
    uar_memory_graph_imported sum =
        import_as(f->memory, &who,
                  STR("\xEF\xBB\xBF{\"type\":\"entity\",\"name\":\"A\",\"entityType\":\"x\",\"observations\":[]}\r\n"
                      "{\"type\":\"entity\",\"name\":\"B\",\"entityType\":\"x\",\"observations\":[]}\r\n"
                      "{\"type\":\"relation\",\"from\":\"A\",\"to\":\"B\",\"relationType\":\"r\"}\r\n"),
                  &r);
    assert_int_equal(sum.failed, 0);
    assert_int_equal(sum.entities, 2);
    assert_int_equal(sum.relations, 1);
}

static void free_at_refusal(void *ctx, uint64_t line, const uar_error *err) {
    (void)line, (void)err;
    memory_fixture *f = ctx;
    if (f->memory == NULL) return;
    uar_memory_free(f->memory);
    f->memory = NULL;
}

static uar_status free_at_line(void *ctx, uar_str line) {
    (void)line;
    memory_fixture *f = ctx;
    if (f->memory != NULL) uar_memory_free(f->memory);
    f->memory = NULL;
    return UAR_OK;
}

static void assert_freed(memory_fixture *f) {
    assert_null(f->memory);
    f->memory = fixture_open(f);
}

static void test_N1_a_host_may_free_the_memory_inside_the_callbacks_of_imports_and_exports(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    put_entity(f, "ann", "Ada", "");
    put_entity(f, "ann", "Bob", "");
    add_text(f, "ann", "Ada knows Bob");
    uar_memory_graph_imported graph;
    uar_memory_stream_imported streams;
    uar_str lines = STR("nonsense\n{\"v\":1,\"kind\":\"stream\",\"name\":\"plan\"}\n");
    (void)uar_memory_stream_import_sync(&streams, f->memory, &who, lines, free_at_refusal, f, NULL);
    assert_freed(f);
    (void)uar_memory_graph_import_sync(&graph, f->memory, &who, lines, NULL, free_at_refusal, f, NULL);
    assert_freed(f);
    (void)uar_memory_graph_export_sync(f->memory, &who, free_at_line, f, NULL);
    assert_freed(f);
    (void)uar_memory_export_sync(f->memory, &who, NULL, free_at_line, f, NULL);
    assert_freed(f);
    uar_memory_stream_filter all;
    uar_memory_stream_filter_init(&all);
    (void)uar_memory_stream_export_sync(f->memory, &who, &all, free_at_line, f, NULL);
    assert_freed(f);
}

static void a_time_of_1970_is_a_time(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    refusals r = { 0 };
    import_as(f->memory, &who,
              STR("{\"v\":1,\"item\":\"entity\",\"id\":\"00000000-0000-4000-8000-000000000001\",\"name\":\"A\"}\n"
                  "{\"v\":1,\"item\":\"observation\",\"id\":\"00000000-0000-4000-8000-000000000002\","
                  "\"entity\":\"00000000-0000-4000-8000-000000000001\",\"text\":\"long ago\","
                  "\"valid_from\":\"1960-01-01T00:00:00Z\",\"valid_until\":\"1970-01-01T00:00:00Z\"}\n"),
              &r);
    assert_int_equal(r.count, 0);
    assert_int_equal(graph_stats(f, "ann").observations, 0);
    uar_memory_graph_filter then = graph_filter_as_of(-1000);
    uar_memory_graph *g = NULL;
    assert_int_equal(
        uar_memory_graph_observations_sync(&g, f->memory, &who, (uar_uuid){ { 0 } }, &then, uar_str_of(NULL), 10, NULL),
        UAR_OK);
    assert_int_equal(g->observation_count, 1);
    uar_memory_graph_free(g);
}

static void test_M8_what_three_rows_become_is_trusted_like_the_least_of_them(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid ada = put_entity(f, "ann", "Ada", ""), acme = put_entity(f, "ann", "Acme", "");
    static const struct {
        int64_t from, until;
        uar_memory_trust trust;
    } periods[] = { { 1000, 2000, UAR_MEMORY_TRUST_USER },
                    { 3000, 4000, UAR_MEMORY_TRUST_TOOL },
                    { 2000, 3000, UAR_MEMORY_TRUST_USER } };
    for (size_t i = 0; i < 3; i++) {
        uar_memory_relation_draft d;
        uar_memory_relation_draft_init(&d);
        d.from = ada, d.to = acme, d.type = STR("works at");
        d.valid_from_ms = periods[i].from, d.valid_until_ms = periods[i].until, d.trust = periods[i].trust;
        uar_memory_change change;
        assert_int_equal(uar_memory_graph_relate_sync(&change, f->memory, &who, &d, NULL), UAR_OK);
        uar_memory_observation_draft o;
        uar_memory_observation_draft_init(&o);
        o.entity = ada, o.text = STR("is at work");
        o.valid_from_ms = periods[i].from, o.valid_until_ms = periods[i].until, o.trust = periods[i].trust;
        assert_int_equal(uar_memory_graph_observe_sync(&change, f->memory, &who, &o, NULL), UAR_OK);
    }
    uar_memory_graph_filter then = graph_filter_as_of(2500);
    uar_memory_graph *g = neighbours_of(f, "ann", ada, &then);
    assert_int_equal(g->relation_count, 1);
    assert_int_equal(g->relations[0].valid_until_ms, 4000);
    assert_int_equal(g->relations[0].trust, UAR_MEMORY_TRUST_TOOL);
    uar_memory_graph_free(g);
    g = observations_of(f, "ann", ada, &then);
    assert_int_equal(g->observation_count, 1);
    assert_int_equal(g->observations[0].trust, UAR_MEMORY_TRUST_TOOL);
    uar_memory_graph_free(g);
}

/* A hub with relations and observations, through the import. */
static void import_hub(memory_fixture *f, int relations) {
    uar_identity who = user_of("ann");
    buffer file;
    buffer_init(&file, &alloc_default, SIZE_MAX / 4);
    char line[160];
    buffer_append_text(&file, "{\"type\":\"entity\",\"name\":\"Hub\",\"entityType\":\"x\",\"observations\":[");
    for (int i = 0; i < relations; i++) {
        snprintf(line, sizeof line, "%s\"note %d\"", i != 0 ? "," : "", i);
        buffer_append_text(&file, line);
    }
    buffer_append_text(&file, "]}\n");
    for (int i = 0; i < relations; i++) {
        snprintf(line, sizeof line,
                 "{\"type\":\"entity\",\"name\":\"Leaf %d\",\"entityType\":\"x\",\"observations\":[]}\n"
                 "{\"type\":\"relation\",\"from\":\"Hub\",\"to\":\"Leaf %d\",\"relationType\":\"has\"}\n",
                 i, i);
        buffer_append_text(&file, line);
    }
    refusals r = { 0 };
    uar_memory_graph_imported sum = import_as(f->memory, &who, lines_of(&file), &r);
    assert_int_equal(sum.failed, 0);
    assert_int_equal(sum.relations, relations);
    assert_int_equal(sum.observations, relations);
    buffer_dispose(&file);
}

static int64_t number_of(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* What it costs to run one of the store's statements to its end, in steps of SQLite's machine. */
static int cost_of(sqlite3 *db, const char *sql, const int64_t *numbers, size_t count, size_t rows) {
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    sqlite3_bind_int64(statement, 1, 1); /* an operator of the owner */
    sqlite3_bind_text(statement, 2, "", -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 9, 0);
    sqlite3_bind_int64(statement, 10, 1);
    sqlite3_bind_int64(statement, 13, 0);
    for (size_t i = 0; i < count; i++)
        sqlite3_bind_int64(statement, 18 + (int)i, numbers[i]);
    size_t found = 0;
    int code = sqlite3_step(statement);
    for (; code == SQLITE_ROW; code = sqlite3_step(statement))
        found++;
    assert_int_equal(code, SQLITE_DONE);
    assert_int_equal(found, rows);
    int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    sqlite3_finalize(statement);
    return steps;
}

#define STATEMENT_TEXT(name, text) [SQL_##name] = text,
static const char *const statements[SQL_COUNT_OF_STATEMENTS] = { SQL_GRAPH_STATEMENTS(STATEMENT_TEXT) };

static void what_a_page_or_a_relation_costs_does_not_grow_with_its_hub(void **state) {
    memory_fixture *f = *state;
    enum { RELATIONS = 3000, BOUND = 12000 };
    import_hub(f, RELATIONS);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE segment SET owner = ''", NULL, NULL, NULL), SQLITE_OK);
    int64_t hub = number_of(db, "SELECT source FROM graph_relation LIMIT 1");
    int64_t leaf = number_of(db, "SELECT max(target) FROM graph_relation");
    int64_t seg = number_of(db, "SELECT max(seg) FROM graph_relation");
    int64_t type = number_of(db, "SELECT max(digest) FROM graph_relation");
    int64_t note = number_of(db, "SELECT max(digest) FROM graph_observation");
    const int64_t page[] = { 0, 11 };
    const int64_t around[] = { hub, 0, 11 };
    const int64_t of_hub[] = { 0, 11, hub };
    const int64_t relation[] = { seg, hub, leaf, type, 0, INT64_MAX, 0 };
    const int64_t observation[] = { seg, hub, note, 0, INT64_MAX, 0 };
    assert_in_range(cost_of(db, statements[SQL_GRAPH_ENTITY_PAGE], page, 2, 11), 1, BOUND);
    assert_in_range(cost_of(db, statements[SQL_GRAPH_RELATION_PAGE], page, 2, 11), 1, BOUND);
    assert_in_range(cost_of(db, statements[SQL_GRAPH_OBSERVATION_PAGE], page, 2, 11), 1, BOUND);
    assert_in_range(cost_of(db, statements[SQL_GRAPH_ENTITY_AHEAD], page, 2, 1), 1, BOUND);
    assert_in_range(cost_of(db, statements[SQL_GRAPH_NEIGHBOURS], around, 3, 11), 1, BOUND);
    assert_in_range(cost_of(db, statements[SQL_GRAPH_OBSERVATIONS_OF], of_hub, 3, 11), 1, BOUND);
    assert_in_range(cost_of(db, statements[SQL_GRAPH_RELATION_SAME], relation, 7, 1), 1, BOUND);
    assert_in_range(cost_of(db, statements[SQL_GRAPH_OBSERVATION_SAME], observation, 6, 1), 1, BOUND);
    sqlite3_close(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(a_line_refused_among_many_leaves_nothing_of_itself),
        MEMORY_TEST(a_byte_order_mark_before_the_first_line_is_no_fault),
        MEMORY_TEST(test_N1_a_host_may_free_the_memory_inside_the_callbacks_of_imports_and_exports),
        MEMORY_TEST(a_time_of_1970_is_a_time),
        MEMORY_TEST(test_M8_what_three_rows_become_is_trusted_like_the_least_of_them),
        MEMORY_TEST(what_a_page_or_a_relation_costs_does_not_grow_with_its_hub),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
