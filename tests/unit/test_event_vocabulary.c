/* Events: how they are made and copied, and their two projections. */
#include "test_event_examples.h"
#include "test_event_fixture.h"

#include "base/json.h"
#include "event/shape.h"

static page paper;

static const char *json_of(const uar_event *event) {
    memset(&paper, 0, sizeof paper);
    assert_int_equal(uar_event_write_json(event, page_write, &paper), UAR_OK);
    return paper.bytes;
}

static const char *text_of(const uar_event *event) {
    memset(&paper, 0, sizeof paper);
    assert_int_equal(uar_event_write_text(event, page_write, &paper), UAR_OK);
    return paper.bytes;
}

static event_origin *new_origin(const uar_allocator *alloc) {
    event_identity identity = { .run = uuid_of(1), .owner = uar_str_of("local"), .user = uar_str_of("me") };
    event_origin *origin = event_origin_new(alloc, &identity);
    assert_non_null(origin);
    return origin;
}

static void test_names_and_terminal_kinds_are_those_of_the_vocabulary(void **state) {
    (void)state;
    assert_int_equal(UAR_EVENT_KIND_COUNT, 31);
    assert_string_equal(uar_event_kind_name(UAR_EVENT_CHAT_DELTA), "ChatDelta");
    assert_string_equal(uar_event_kind_name(UAR_EVENT_ERROR), "Error");
    assert_null(uar_event_kind_name(UAR_EVENT_KIND_COUNT));
    assert_null(uar_event_kind_name((uar_event_kind)12345));
    int terminal = 0;
    for (int kind = 0; kind < UAR_EVENT_KIND_COUNT; kind++)
        terminal += uar_event_is_terminal((uar_event_kind)kind);
    assert_int_equal(terminal, 3);
    assert_true(uar_event_is_terminal(UAR_EVENT_RUN_DONE));
    assert_true(uar_event_is_terminal(UAR_EVENT_RUN_FAILED));
    assert_true(uar_event_is_terminal(UAR_EVENT_CANCELLED));
}

static void test_every_payload_is_copied_whole_into_one_allocation(void **state) {
    (void)state;
    probe_alloc memory;
    probe_alloc_init(&memory);
    event_origin *origin = new_origin(&memory.door);
    for (int kind = 0; kind < UAR_EVENT_KIND_COUNT; kind++) {
        uar_event example = example_of((uar_event_kind)kind);
        long before = memory.alive;
        uar_event *event = event_new(origin, example.kind, event_payload(&example));
        assert_non_null(event);
        assert_int_equal(memory.alive, before + 1);
        assert_int_equal(event->kind, kind);
        assert_int_equal(event->id, 0);
        event->id = example.id;
        event->time_ms = example.time_ms;
        example.run = event->run;
        example.session = example.agent = (uar_str){ NULL, 0 };
        char expected[4096];
        const char *json = json_of(&example);
        assert_true(strlen(json) < sizeof expected);
        memcpy(expected, json, strlen(json) + 1);
        assert_string_equal(json_of(event), expected);
        uar_event_unref(event);
    }
    event_origin_unref(origin);
    assert_int_equal(memory.alive, 0);
}

static void test_an_event_borrows_nothing_from_its_maker(void **state) {
    (void)state;
    char text[] = "original";
    char user[] = "user";
    uar_hit hits[] = { { .score = 1 }, { .score = 2 } };
    event_identity identity = { .owner = uar_str_of("local"), .user = uar_str_of(user) };
    event_origin *origin = event_origin_new(&alloc_default, &identity);
    uar_event_chat_delta delta = { .text = uar_str_of(text) };
    uar_event_memory_recall recall = { .hits = { hits, 2 } };
    uar_event *one = event_new(origin, UAR_EVENT_CHAT_DELTA, &delta);
    uar_event *two = event_new(origin, UAR_EVENT_MEMORY_RECALL, &recall);
    event_origin_unref(origin);
    memset(text, '#', sizeof text);
    memset(user, '#', sizeof user);
    memset(hits, 0, sizeof hits);
    assert_memory_equal(one->chat_delta.text.ptr, "original", 9);
    assert_memory_equal(one->user.ptr, "user", 5);
    assert_true(two->memory_recall.hits.items[1].score > 1.5);
    uar_event_unref(one);
    uar_event_unref(two);
}

static void test_absent_and_empty_texts_stay_what_they_are(void **state) {
    (void)state;
    event_origin *origin = new_origin(&alloc_default);
    uar_event_error payload = { .code = uar_str_of("") };
    uar_event *event = event_new(origin, UAR_EVENT_ERROR, &payload);
    assert_non_null(event->error.code.ptr);
    assert_int_equal(event->error.code.len, 0);
    assert_null(event->error.message.ptr);
    assert_null(event->agent.ptr);
    uar_event_unref(event);
    event_origin_unref(origin);
}

static void test_references_keep_an_event_and_events_are_counted_as_live(void **state) {
    (void)state;
    int64_t before = uar_live_objects();
    event_origin *origin = new_origin(&alloc_default);
    uar_event_error payload = { .code = uar_str_of("c") };
    uar_event *event = event_new(origin, UAR_EVENT_ERROR, &payload);
    event_origin_unref(origin);
    assert_int_equal(uar_live_objects(), before + 1);
    assert_ptr_equal(uar_event_ref(event), event);
    uar_event_unref(event);
    assert_memory_equal(event->error.code.ptr, "c", 2);
    uar_event_unref(event);
    uar_event_unref(NULL);
    assert_int_equal(uar_live_objects(), before);
}

static void test_out_of_memory_makes_no_event_and_no_origin(void **state) {
    (void)state;
    probe_alloc memory;
    probe_alloc_init(&memory);
    event_origin *origin = new_origin(&memory.door);
    probe_alloc_arm(&memory, 1, true);
    uar_event_error payload = { .code = uar_str_of("c") };
    assert_null(event_new(origin, UAR_EVENT_ERROR, &payload));
    assert_null(event_origin_new(&memory.door, event_origin_identity(origin)));
    event_origin_unref(origin);
    assert_int_equal(memory.alive, 0);
}

/* JSON. */

static void check_text(const cJSON *node, uar_str text) {
    if (text.ptr == NULL)
        assert_true(cJSON_IsNull(node));
    else
        assert_true(uar_str_equal(json_node_text(node), text));
}

static void check_uuid(const cJSON *node, uar_uuid id) {
    uar_uuid read = { { 0 } };
    if (!cJSON_IsNull(node)) assert_int_equal(uar_uuid_parse(&read, json_node_text(node)), UAR_OK);
    assert_true(uar_uuid_equal(read, id));
}

static void check_json(const cJSON *node, uar_str json) {
    if (json.ptr == NULL) {
        assert_true(cJSON_IsNull(node));
        return;
    }
    buffer b;
    buffer_init(&b, &alloc_default, SIZE_MAX);
    json_append_node(&b, node);
    assert_true(uar_str_equal(buffer_str(&b), json));
    buffer_dispose(&b);
}

static void check_u64(const cJSON *node, uint64_t value) {
    uint64_t read = 0;
    assert_true(json_node_u64(node, &read));
    assert_int_equal(read, value);
}

static void check_f64(const cJSON *node, double value) {
    assert_true(cJSON_IsNumber(node));
    assert_true(node->valuedouble >= value && node->valuedouble <= value);
}

static void check_usage(const cJSON *node, const uar_usage *usage) {
    assert_int_equal(cJSON_GetArraySize(node), 6);
    check_u64(json_member(node, "input"), usage->input);
    check_u64(json_member(node, "cache_read"), usage->cache_read);
    check_u64(json_member(node, "cache_write"), usage->cache_write);
    check_u64(json_member(node, "output"), usage->output);
    check_u64(json_member(node, "reasoning"), usage->reasoning);
    assert_int_equal(cJSON_IsTrue(json_member(node, "known")), usage->known);
}

static void check_hits(const cJSON *node, const uar_hits *hits) {
    assert_int_equal(cJSON_GetArraySize(node), (int)hits->count);
    for (size_t i = 0; i < hits->count; i++) {
        const cJSON *hit = cJSON_GetArrayItem(node, (int)i);
        check_uuid(json_member(hit, "id"), hits->items[i].id);
        check_f64(json_member(hit, "score"), hits->items[i].score);
    }
}

static void check_field(const cJSON *node, const event_field *field, const void *value) {
    assert_non_null(node);
    switch (field->type) {
    case FIELD_STR: check_text(node, *(const uar_str *)value); break;
    case FIELD_JSON: check_json(node, *(const uar_str *)value); break;
    case FIELD_UUID: check_uuid(node, *(const uar_uuid *)value); break;
    case FIELD_U64: check_u64(node, *(const uint64_t *)value); break;
    case FIELD_I64: fail_msg("no kind has a field of this type yet"); break;
    case FIELD_F64: check_f64(node, *(const double *)value); break;
    case FIELD_BOOL: assert_int_equal(cJSON_IsTrue(node), *(const bool *)value); break;
    case FIELD_USAGE: check_usage(node, value); break;
    case FIELD_HITS: check_hits(node, value); break;
    }
}

static void check_projection(const uar_event *event) {
    uar_str text = uar_str_of(json_of(event));
    cJSON *root = NULL;
    assert_int_equal(json_read(&root, &alloc_default, text, SIZE_MAX, NULL), UAR_OK);
    assert_int_equal(cJSON_GetArraySize(root), 9);
    check_u64(json_member(root, "id"), event->id);
    check_uuid(json_member(root, "run"), event->run);
    check_text(json_member(root, "user"), event->user);
    check_text(json_member(root, "session"), event->session);
    check_text(json_member(root, "agent"), event->agent);
    check_uuid(json_member(root, "parent"), event->parent_run);
    check_u64(json_member(root, "time_ms"), (uint64_t)event->time_ms);
    check_text(json_member(root, "kind"), uar_str_of(uar_event_kind_name(event->kind)));
    const event_shape *shape = event_shape_of(event->kind);
    const cJSON *data = json_member(root, "data");
    assert_int_equal(cJSON_GetArraySize(data), (int)shape->field_count);
    for (size_t i = 0; i < shape->field_count; i++)
        check_field(json_member(data, shape->fields[i].name), &shape->fields[i],
                    field_at(event_payload(event), &shape->fields[i]));
    json_free(&alloc_default, root);
}

static void test_every_kind_reads_back_from_its_json_as_it_was(void **state) {
    (void)state;
    for (int kind = 0; kind < UAR_EVENT_KIND_COUNT; kind++) {
        uar_event event = example_of((uar_event_kind)kind);
        check_projection(&event);
    }
}

static void test_every_kind_with_all_fields_absent_reads_back_as_null(void **state) {
    (void)state;
    for (int kind = 0; kind < UAR_EVENT_KIND_COUNT; kind++) {
        uar_event event = { .kind = (uar_event_kind)kind };
        check_projection(&event);
    }
}

static void test_json_is_byte_for_byte_what_programs_were_promised(void **state) {
    (void)state;
    uar_event event = example_of(UAR_EVENT_CHAT_DELTA);
    event.id = 1;
    assert_string_equal(json_of(&event),
                        "{\"id\":1,\"run\":\"019ad512-6c00-7001-8000-000000000001\",\"user\":\"me\",\"session\":"
                        "\"default\",\"agent\":\"assistant\",\"parent\":null,\"time_ms\":1764500000006,\"kind\":"
                        "\"ChatDelta\",\"data\":{\"message\":\"019ad512-6c00-7001-8000-000000000011\",\"text\":"
                        "\"Yes, it is 4 \xc2\xb0"
                        "C.\\n\"}}");
}

static void test_json_of_any_text_is_valid_whatever_bytes_it_holds(void **state) {
    (void)state;
    static char text[3000];
    uar_event event = example_of(UAR_EVENT_CHAT_DELTA);
    for (size_t n = 0; n < sizeof text; n++)
        text[n] = (char)(n * 7 % 256);
    for (size_t len = 0; len <= sizeof text; len = len * 2 + 1) {
        event.chat_delta.text = uar_str_n(text, len);
        cJSON *root = NULL;
        assert_int_equal(json_read(&root, &alloc_default, uar_str_of(json_of(&event)), SIZE_MAX, NULL), UAR_OK);
        json_free(&alloc_default, root);
    }
}

static void test_long_texts_with_wide_characters_and_controls_read_back(void **state) {
    (void)state;
    static char text[8000];
    const char *const units[] = { "\x01", "\"", "\xf0\x9f\x98\x80", "\xe2\x82\xac", "a" };
    for (size_t unit = 0; unit < 5; unit++) {
        size_t len = 0;
        while (len + 4 < sizeof text) {
            memcpy(text + len, units[unit], strlen(units[unit]));
            len += strlen(units[unit]);
            if (len % 97 == 0) text[len++] = '.';
        }
        uar_event event = example_of(UAR_EVENT_CHAT_DELTA);
        event.chat_delta.text = uar_str_n(text, len);
        check_projection(&event);
    }
}

static void test_numbers_at_their_limits_survive(void **state) {
    (void)state;
    uar_event event = example_of(UAR_EVENT_RUNTIME_STEP);
    event.id = UINT64_MAX;
    event.runtime_step.step = UINT64_MAX;
    event.time_ms = INT64_MAX;
    check_projection(&event);
    event = example_of(UAR_EVENT_BUDGET_ALERT);
    event.budget_alert.limit = 1.7976931348623157e308;
    event.budget_alert.used = 5e-324;
    check_projection(&event);
}

static uar_status refuse_write(void *ctx, const char *bytes, size_t len) {
    (void)bytes;
    (void)len;
    (*(int *)ctx)++;
    return UAR_E_IO;
}

static void test_a_failing_writer_stops_the_projection_with_its_status(void **state) {
    (void)state;
    static char text[100000];
    memset(text, 'x', sizeof text);
    uar_event event = example_of(UAR_EVENT_CHAT_DELTA);
    event.chat_delta.text = uar_str_n(text, sizeof text);
    int writes = 0;
    assert_int_equal(uar_event_write_json(&event, refuse_write, &writes), UAR_E_IO);
    assert_int_equal(writes, 1);
    writes = 0;
    assert_int_equal(uar_event_write_text(&event, refuse_write, &writes), UAR_E_IO);
    assert_int_equal(writes, 1);
}

static void test_projections_of_nothing_and_of_unknown_kinds_are_refused(void **state) {
    (void)state;
    uar_event event = { .kind = UAR_EVENT_KIND_COUNT };
    memset(&paper, 0, sizeof paper);
    assert_int_equal(uar_event_write_json(&event, page_write, &paper), UAR_E_INVALID);
    assert_int_equal(uar_event_write_text(&event, page_write, &paper), UAR_E_INVALID);
    assert_int_equal(uar_event_write_json(NULL, page_write, &paper), UAR_E_INVALID);
    assert_int_equal(uar_event_write_text(&event_examples[0], NULL, NULL), UAR_E_INVALID);
    assert_int_equal(paper.writes, 0);
}

/* Text. */

static const char *text_of_example(uar_event_kind kind) {
    static uar_event event;
    event = example_of(kind);
    return text_of(&event);
}

static void test_the_answer_passes_to_the_terminal_as_it_is(void **state) {
    (void)state;
    assert_string_equal(text_of_example(UAR_EVENT_CHAT_DELTA), "Yes, it is 4 \xc2\xb0"
                                                               "C.\n");
    assert_string_equal(text_of_example(UAR_EVENT_REASONING_DELTA), "");
    assert_string_equal(text_of_example(UAR_EVENT_TOOL_DELTA), "");
    assert_string_equal(text_of_example(UAR_EVENT_RUN_DONE), "");
}

static void test_other_kinds_are_short_bracketed_lines(void **state) {
    (void)state;
    assert_string_equal(text_of_example(UAR_EVENT_TOOL_START), "[tool weather {\"city\":\"Oslo\"}]\n");
    assert_string_equal(text_of_example(UAR_EVENT_TOOL_END), "[tool weather: done: {\"celsius\":4}]\n");
    assert_string_equal(text_of_example(UAR_EVENT_MEMORY_RECALL), "[memory: 2 recalled]\n");
    assert_string_equal(text_of_example(UAR_EVENT_RUN_FAILED), "[failed: UAR_E_MODEL_CUT: the stream ended early]\n");
    assert_string_equal(text_of_example(UAR_EVENT_BUDGET_ALERT), "[budget tokens: 8000.5 of 10000]\n");
    assert_string_equal(text_of_example(UAR_EVENT_AGENT_THREAD_FINISHED),
                        "[agent 019ad512-6c00-7001-8000-000000000031 finished: done]\n");
}

static void test_every_kind_has_a_text_or_none_with_all_fields_and_without(void **state) {
    (void)state;
    for (int kind = 0; kind < UAR_EVENT_KIND_COUNT; kind++) {
        uar_event bare = { .kind = (uar_event_kind)kind };
        const char *full = text_of_example((uar_event_kind)kind);
        size_t len = strlen(full);
        if (kind != UAR_EVENT_CHAT_DELTA && len != 0) {
            assert_true(full[0] == '[' && full[len - 1] == '\n' && full[len - 2] == ']');
            assert_null(strchr(full, '|'));
        }
        const char *short_form = text_of(&bare);
        assert_null(strstr(short_form, ": ]"));
    }
}

static void test_a_failed_tool_says_why(void **state) {
    (void)state;
    uar_event event = example_of(UAR_EVENT_TOOL_END);
    event.tool_end.ok = false;
    event.tool_end.result = (uar_str){ NULL, 0 };
    event.tool_end.code = uar_str_of("UAR_E_TIMEOUT");
    assert_string_equal(text_of(&event), "[tool weather: failed: UAR_E_TIMEOUT]\n");
}

static void test_bracketed_lines_are_cut_and_can_not_steer_the_terminal(void **state) {
    (void)state;
    uar_event event = example_of(UAR_EVENT_ERROR);
    event.error.message = uar_str_of("a\x1b[2Jb\nc\x7f"
                                     "d\xc2\x9b"
                                     "e");
    assert_string_equal(text_of(&event), "[error: UAR_E_UNAVAILABLE: a [2Jb c d e]\n");
    static char text[1000];
    memset(text, 'x', sizeof text);
    event.error.message = uar_str_n(text, sizeof text);
    assert_true(strlen(text_of(&event)) < 300);
    assert_non_null(strstr(paper.bytes, "x\xe2\x80\xa6]\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_terminal_kinds_are_those_of_the_vocabulary),
        cmocka_unit_test(test_every_payload_is_copied_whole_into_one_allocation),
        cmocka_unit_test(test_an_event_borrows_nothing_from_its_maker),
        cmocka_unit_test(test_absent_and_empty_texts_stay_what_they_are),
        cmocka_unit_test(test_references_keep_an_event_and_events_are_counted_as_live),
        cmocka_unit_test(test_out_of_memory_makes_no_event_and_no_origin),
        cmocka_unit_test(test_every_kind_reads_back_from_its_json_as_it_was),
        cmocka_unit_test(test_every_kind_with_all_fields_absent_reads_back_as_null),
        cmocka_unit_test(test_json_is_byte_for_byte_what_programs_were_promised),
        cmocka_unit_test(test_json_of_any_text_is_valid_whatever_bytes_it_holds),
        cmocka_unit_test(test_long_texts_with_wide_characters_and_controls_read_back),
        cmocka_unit_test(test_numbers_at_their_limits_survive),
        cmocka_unit_test(test_a_failing_writer_stops_the_projection_with_its_status),
        cmocka_unit_test(test_projections_of_nothing_and_of_unknown_kinds_are_refused),
        cmocka_unit_test(test_the_answer_passes_to_the_terminal_as_it_is),
        cmocka_unit_test(test_other_kinds_are_short_bracketed_lines),
        cmocka_unit_test(test_every_kind_has_a_text_or_none_with_all_fields_and_without),
        cmocka_unit_test(test_a_failed_tool_says_why),
        cmocka_unit_test(test_bracketed_lines_are_cut_and_can_not_steer_the_terminal),
    };
    return cmocka_run_group_tests_name("event vocabulary", tests, NULL, NULL);
}
