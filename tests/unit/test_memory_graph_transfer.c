/* Export and import of the graph, its own lines and those of the official memory server. */
#include "test_memory_graph_fixture.h"

typedef struct text {
    char *ptr;
    size_t len;
} text;

static uar_status keep_line(void *ctx, uar_str line) {
    text *t = ctx;
    t->ptr = realloc(t->ptr, t->len + line.len + 1);
    assert_non_null(t->ptr);
    memcpy(t->ptr + t->len, line.ptr, line.len);
    t->len += line.len;
    t->ptr[t->len] = '\0';
    return UAR_OK;
}

static text export_as(uar_memory *memory, const uar_identity *who) {
    text t = { NULL, 0 };
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_graph_export_sync(memory, who, keep_line, &t, &err) != UAR_OK) fail_msg("%s", err.message);
    return t;
}

typedef struct refusals {
    size_t count;
    uint64_t lines[32];
    uar_status codes[32];
    char last[256];
} refusals;

static void note_refusal(void *ctx, uint64_t line, const uar_error *err) {
    refusals *r = ctx;
    assert_true(r->count < 32);
    r->lines[r->count] = line;
    r->codes[r->count++] = err->code;
    snprintf(r->last, sizeof r->last, "%s", err->message);
}

static uar_memory_graph_imported import_as(uar_memory *memory, const uar_identity *who, uar_str lines, refusals *r) {
    uar_memory_graph_imported sum;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_graph_import_sync(&sum, memory, who, lines, NULL, note_refusal, r, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return sum;
}

static void fill(memory_fixture *f, const uar_uuid *record) {
    uar_identity who = user_of("ann");
    uar_str aliases[] = { STR("Grace"), STR("\xE5\xB0\x8F\xE6\x9E\x97") };
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = STR("Grace \"Amazing\" Hopper");
    d.kind = STR("person");
    d.aliases = aliases;
    d.alias_count = 2;
    d.properties = STR("{\"n\":12345678901234567890,\"x\":[1.0,null,{\"y\":\"\\n\"}]}");
    d.trust = UAR_MEMORY_TRUST_TOOL;
    uar_uuid grace = put_draft(f, "ann", &d).id;
    uar_uuid cobol = put_entity(f, "ann", "COBOL", ""), twin = put_entity(f, "ann", "Cobol language", "");
    uar_memory_entity_draft shared;
    uar_memory_entity_draft_init(&shared);
    shared.name = STR("US Navy");
    shared.place.scope = UAR_MEMORY_SCOPE_GLOBAL;
    uar_uuid navy = put_draft(f, "ann", &shared).id;
    uar_memory_relation_draft r;
    uar_memory_relation_draft_init(&r);
    r.from = grace;
    r.to = navy;
    r.type = STR("served in");
    r.properties = STR("{\"rank\":\"rear admiral\"}");
    r.valid_from_ms = 1000;
    r.valid_until_ms = 999999;
    r.trust = UAR_MEMORY_TRUST_MODEL;
    r.provenance = (uar_memory_provenance){ grace, 7, STR("session 9") };
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_relate_sync(&change, f->memory, &who, &r, NULL), UAR_OK);
    relate(f, "ann", grace, "designed", twin);
    observe(f, "ann", grace, "found a moth\nin a relay");
    observe_at(f, "ann", navy, "is large", 5, 50);
    atomic_fetch_add(&f->now, 77);
    assert_int_equal(uar_memory_graph_merge_sync(&change, f->memory, &who, cobol, twin, NULL), UAR_OK);
    assert_int_equal(uar_memory_graph_link_sync(&change, f->memory, &who, *record, cobol, NULL), UAR_OK);
    put_entity(f, "bob", "bob's own", "");
}

static void an_export_imported_elsewhere_exports_the_same(void **state) {
    memory_fixture *f = *state;
    uar_uuid record = add_text(f, "ann", "COBOL is old").id;
    fill(f, &record);
    uar_identity boss = { UAR_IDENTITY_INIT, .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
    text records = { NULL, 0 };
    assert_int_equal(uar_memory_export_sync(f->memory, &boss, NULL, keep_line, &records, NULL), UAR_OK);
    text first = export_as(f->memory, &boss);

    memory_fixture *g = NULL;
    fixture_setup((void **)&g);
    atomic_store(&g->now, FIXTURE_START + 987654321);
    uar_memory_imported moved;
    assert_int_equal(uar_memory_import_sync(&moved, g->memory, &boss, uar_str_n(records.ptr, records.len),
                                            UAR_MEMORY_IMPORT_VERBATIM, NULL, NULL, NULL),
                     UAR_OK);
    refusals r = { .count = 0 };
    uar_memory_graph_imported sum = import_as(g->memory, &boss, uar_str_n(first.ptr, first.len), &r);
    if (sum.failed != 0) fail_msg("line %llu: %s", (unsigned long long)r.lines[0], r.last);
    assert_int_equal(sum.entities, 4);
    assert_int_equal(sum.relations, 2);
    assert_int_equal(sum.observations, 2);
    assert_int_equal(sum.links, 1);
    text second = export_as(g->memory, &boss);
    assert_string_equal(first.ptr, second.ptr);
    assert_sound(g);

    /* Once more changes nothing. */
    sum = import_as(g->memory, &boss, uar_str_n(first.ptr, first.len), &r);
    assert_int_equal(sum.failed + sum.entities + sum.relations + sum.observations + sum.links, 0);
    text third = export_as(g->memory, &boss);
    assert_string_equal(first.ptr, third.ptr);
    free(first.ptr);
    free(second.ptr);
    free(third.ptr);
    free(records.ptr);
    assert_int_equal(fixture_teardown((void **)&g), 0);
}

/* Years outside 0 to 9999 have no date text: they are carried as milliseconds. */
static void test_M14_every_time_of_the_graph_comes_through_an_export(void **state) {
    memory_fixture *f = *state;
    static const int64_t times[] = { INT64_MIN + 1,   -62167219200001, -62167219200000, -1, 1,
                                     253402300799999, 253402300800000, INT64_MAX - 1 };
    uar_uuid last = put_entity(f, "ann", "hub", "");
    for (size_t i = 0; i + 1 < sizeof times / sizeof *times; i++) {
        char said[32];
        snprintf(said, sizeof said, "spoke %zu", i);
        uar_uuid next = put_entity(f, "ann", said, "");
        (void)relate_at(f, "ann", last, "leads to", next, times[i], times[i + 1]);
        (void)observe_at(f, "ann", next, "was seen", times[i], times[i + 1]);
    }
    uar_identity boss = { UAR_IDENTITY_INIT, .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
    text first = export_as(f->memory, &boss);
    assert_non_null(strstr(first.ptr, "\"valid_from\":-9223372036854775807"));
    assert_non_null(strstr(first.ptr, "\"valid_until\":\"9999-12-31T23:59:59.999Z\""));
    assert_non_null(strstr(first.ptr, "\"valid_until\":9223372036854775806"));
    memory_fixture *g = NULL;
    fixture_setup((void **)&g);
    refusals r = { .count = 0 };
    uar_memory_graph_imported sum = import_as(g->memory, &boss, uar_str_n(first.ptr, first.len), &r);
    assert_int_equal(sum.relations, 7);
    assert_int_equal(sum.observations, 7);
    assert_int_equal(sum.failed, 0);
    text second = export_as(g->memory, &boss);
    assert_string_equal(first.ptr, second.ptr);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        uar_memory_graph_filter as_of = graph_filter_as_of(times[i]);
        uar_memory_graph_free(neighbours_of(g, "ann", last, &as_of));
    }
    assert_sound(g);
    free(first.ptr);
    free(second.ptr);
    assert_int_equal(fixture_teardown((void **)&g), 0);
}

static void the_earliest_time_of_all_is_refused(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid a = put_entity(f, "ann", "a", ""), b = put_entity(f, "ann", "b", "");
    uar_memory_relation_draft d = { UAR_MEMORY_RELATION_DRAFT_INIT, .from = a, .to = b, .type = STR("knows"),
                                    .valid_from_ms = INT64_MIN };
    uar_memory_observation_draft o = { UAR_MEMORY_OBSERVATION_DRAFT_INIT, .entity = a, .text = STR("old"),
                                       .valid_from_ms = INT64_MIN };
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_relate_sync(&change, f->memory, &who, &d, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_graph_observe_sync(&change, f->memory, &who, &o, NULL), UAR_E_INVALID);
    d.valid_from_ms = 0;
    d.valid_until_ms = INT64_MIN;
    assert_int_equal(uar_memory_graph_relate_sync(&change, f->memory, &who, &d, NULL), UAR_E_INVALID);
    uar_uuid tie = relate(f, "ann", a, "knows", b);
    assert_int_equal(uar_memory_graph_end_sync(&change, f->memory, &who, tie, INT64_MIN, NULL), UAR_E_INVALID);
    refusals r = { .count = 0 };
    uar_memory_graph_imported sum =
        import_as(f->memory, &who,
                  STR("{\"v\":1,\"item\":\"entity\",\"name\":\"c\",\"created\":-9223372036854775808}\n"
                      "{\"v\":1,\"item\":\"entity\",\"name\":\"d\",\"created\":9223372036854775808}\n"
                      "{\"v\":1,\"item\":\"entity\",\"name\":\"e\",\"created\":1.5}\n"
                      "{\"v\":1,\"item\":\"entity\",\"name\":\"f\",\"created\":true}\n"),
                  &r);
    assert_int_equal(sum.failed, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(r.codes[i], UAR_E_SCHEMA);
    assert_sound(f);
}

static void a_name_that_is_there_takes_what_is_imported_under_another_id(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid oslo = put_entity(f, "ann", "Oslo", "city");
    refusals r = { .count = 0 };
    uar_memory_graph_imported sum =
        import_as(f->memory, &who,
                  STR("{\"v\":1,\"item\":\"entity\",\"id\":\"0198c0de-0000-7000-8000-00000000000a\",\"name\":\"OSLO\","
                      "\"kind\":\"city\",\"aliases\":[\"Kristiania\"]}\n"
                      "{\"v\":1,\"item\":\"observation\",\"id\":\"0198c0de-0000-7000-8000-00000000000b\","
                      "\"entity\":\"0198c0de-0000-7000-8000-00000000000a\",\"text\":\"lies on a fjord\"}\n"),
                  &r);
    assert_int_equal(sum.failed, 0);
    assert_int_equal(sum.repeated, 1);
    assert_int_equal(sum.observations, 1);
    uar_memory_graph *g = observations_of(f, "ann", oslo, NULL);
    assert_int_equal(g->observation_count, 1);
    assert_int_equal(g->observations[0].trust, UAR_MEMORY_TRUST_IMPORT);
    uar_memory_graph_free(g);
    g = get_entity(f, "ann", oslo);
    assert_true(str_is(g->entities[0].aliases[0], "Kristiania"));
    uar_memory_graph_free(g);
    assert_sound(f);
}

static void a_line_that_is_refused_is_told_and_the_others_are_kept(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid hidden = put_entity(f, "bob", "hidden", "");
    char id[UAR_UUID_TEXT], lines[2048];
    uar_uuid_format(id, hidden);
    snprintf(lines, sizeof lines,
             "{\"type\":\"entity\",\"name\":\"kept\",\"entityType\":\"x\",\"observations\":[\"good\",\"  \",\"also "
             "good\"]}\n"
             "not json\n"
             "\r\n"
             "[1]\n"
             "{\"type\":\"entity\",\"name\":7}\n"
             "{\"type\":\"entity\",\"name\":\"\"}\n"
             "{\"v\":2,\"item\":\"entity\"}\n"
             "{\"v\":1,\"item\":\"entity\",\"id\":\"%s\",\"name\":\"taken id\"}\n"
             "{\"v\":1,\"item\":\"entity\",\"id\":\"0198c0de-0000-7000-8000-00000000000a\",\"name\":\"n\","
             "\"owner\":\"zeta\"}\n"
             "{\"v\":1,\"item\":\"entity\",\"id\":\"0198c0de-0000-7000-8000-00000000000a\",\"name\":\"n\","
             "\"scope\":\"user\",\"user\":\"bob\"}\n"
             "{\"v\":1,\"item\":\"link\",\"record\":\"0198c0de-0000-7000-8000-00000000000a\",\"entity\":\"%s\"}\n"
             "{\"type\":\"relation\",\"from\":\"kept\",\"to\":\"kept\",\"relationType\":\"is\"}\n"
             "{\"type\":\"relation\",\"from\":\"kept\",\"to\":\"hidden\",\"relationType\":\"is\"}\n"
             "{\"type\":\"entity\",\"name\":\"last\",\"entityType\":\"x\",\"observations\":[]}",
             id, id);
    refusals r = { .count = 0 };
    uar_memory_graph_imported sum = import_as(f->memory, &who, uar_str_of(lines), &r);
    static const struct {
        uint64_t line;
        uar_status status;
    } expected[] = { { 1, UAR_E_INVALID },    { 2, UAR_E_JSON },       { 4, UAR_E_SCHEMA },   { 5, UAR_E_SCHEMA },
                     { 6, UAR_E_INVALID },    { 7, UAR_E_NEWER },      { 8, UAR_E_EXISTS },   { 9, UAR_E_FORBIDDEN },
                     { 10, UAR_E_FORBIDDEN }, { 11, UAR_E_NOT_FOUND }, { 12, UAR_E_INVALID }, { 13, UAR_E_NOT_FOUND } };
    assert_int_equal(r.count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < r.count; i++) {
        assert_int_equal(r.lines[i], expected[i].line);
        if (r.codes[i] != expected[i].status) fail_msg("line %d: %s", (int)r.lines[i], uar_status_name(r.codes[i]));
    }
    assert_non_null(strstr(r.last, "\"hidden\""));
    assert_int_equal(sum.failed, r.count);
    assert_int_equal(sum.entities, 2);
    assert_int_equal(sum.observations, 2);
    assert_int_equal(graph_stats(f, "ann").entities, 2);
    assert_sound(f);
}

static char *read_fixture(size_t *len) {
    const char *root = getenv("UAR_SOURCE_ROOT");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/data/graph_server.jsonl", root != NULL && root[0] != '\0' ? root : ".");
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *bytes = calloc(1, 65536);
    assert_non_null(bytes);
    *len = fread(bytes, 1, 65535, file);
    fclose(file);
    return bytes;
}

/* The file was written by the server itself; one of its relations leads to a name that it has no entity for. */
static void a_file_of_the_official_memory_server_is_read(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    size_t len = 0;
    char *lines = read_fixture(&len);
    if (lines == NULL) skip();
    refusals r = { .count = 0 };
    uar_memory_graph_imported sum = import_as(f->memory, &who, uar_str_n(lines, len), &r);
    assert_int_equal(sum.entities, 4);
    assert_int_equal(sum.observations, 6);
    assert_int_equal(sum.relations, 3);
    assert_int_equal(sum.failed, 1);
    assert_int_equal(r.lines[0], 8);
    assert_int_equal(r.codes[0], UAR_E_NOT_FOUND);
    assert_string_equal(r.last, "there is no entity called \"Nobody We Know\"");
    uar_memory_graph *g = NULL;
    assert_int_equal(uar_memory_graph_find_sync(&g, f->memory, &who, STR("harbour library"), NULL, NULL), UAR_OK);
    assert_int_equal(g->entity_count, 1);
    uar_memory_graph *around = neighbours_of(f, "ann", g->entities[0].id, NULL);
    assert_int_equal(around->relation_count, 2);
    assert_true(str_is(around->relations[0].from_name, "Tove Aasen"));
    assert_true(str_is(around->relations[0].type, "volunteers at"));
    uar_memory_graph_free(around);
    around = observations_of(f, "ann", g->entities[0].id, NULL);
    assert_int_equal(around->observation_count, 2);
    assert_true(str_is(around->observations[1].text, "Has a reading room\nwith a view"));
    uar_memory_graph_free(around);
    uar_memory_graph_free(g);
    sum = import_as(f->memory, &who, uar_str_n(lines, len), &r);
    assert_int_equal(sum.entities + sum.relations + sum.observations, 0);
    assert_int_equal(sum.repeated, 13);
    free(lines);
    assert_sound(f);
}

static void lines_without_a_place_go_where_the_import_says(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_memory_place place = { .scope = UAR_MEMORY_SCOPE_AGENT };
    uar_memory_graph_imported sum;
    uar_str lines = STR("{\"type\":\"relation\",\"from\":\"a\",\"to\":\"b\",\"relationType\":\"t\"}\n"
                        "{\"type\":\"entity\",\"name\":\"a\",\"entityType\":\"x\",\"observations\":[\"o\"]}\n"
                        "{\"type\":\"entity\",\"name\":\"b\",\"entityType\":\"x\",\"observations\":[]}\n");
    put_entity(f, "ann", "a", "elsewhere"); /* a name in another place doesn't confuse it */
    assert_int_equal(uar_memory_graph_import_sync(&sum, f->memory, &who, lines, &place, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(sum.entities, 2);
    assert_int_equal(sum.relations, 1);
    uar_memory_graph_stats stats = graph_stats(f, "bob"); /* of the same agent */
    assert_int_equal(stats.entities, 2);
    assert_int_equal(stats.relations, 1);
    assert_int_equal(stats.observations, 1);
    who.flags = 0;
    assert_int_equal(uar_memory_graph_import_sync(&sum, f->memory, &who, lines, &place, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(sum.failed, 3);
}

static uar_status stop(void *ctx, uar_str line) {
    (void)ctx, (void)line;
    return UAR_E_CANCELLED;
}

static void a_writer_can_stop_an_export(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    put_entity(f, "ann", "a", "");
    assert_int_equal(uar_memory_graph_export_sync(f->memory, &who, stop, NULL, NULL), UAR_E_CANCELLED);
    assert_int_equal(uar_memory_graph_export_sync(f->memory, &who, NULL, NULL, NULL), UAR_E_INVALID);
}

static void a_long_graph_is_exported_whole(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid last = put_entity(f, "ann", "hub", "");
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "entity %d", i);
        uar_uuid next = put_entity(f, "ann", name, "");
        relate(f, "ann", last, "before", next);
        last = next;
    }
    text t = export_as(f->memory, &who);
    size_t lines = 0;
    for (size_t i = 0; i < t.len; i++)
        lines += t.ptr[i] == '\n';
    assert_int_equal(lines, 601);
    free(t.ptr);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(an_export_imported_elsewhere_exports_the_same),
        MEMORY_TEST(test_M14_every_time_of_the_graph_comes_through_an_export),
        MEMORY_TEST(the_earliest_time_of_all_is_refused),
        MEMORY_TEST(a_name_that_is_there_takes_what_is_imported_under_another_id),
        MEMORY_TEST(a_line_that_is_refused_is_told_and_the_others_are_kept),
        MEMORY_TEST(a_file_of_the_official_memory_server_is_read),
        MEMORY_TEST(lines_without_a_place_go_where_the_import_says),
        MEMORY_TEST(a_writer_can_stop_an_export),
        MEMORY_TEST(a_long_graph_is_exported_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
