/* Bodies of records: typed structs to canonical JSON and back, and nothing but that back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "store/bodies.h"
#include "support/probe_alloc.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static arena memory;

static int setup(void **state) {
    (void)state;
    arena_init(&memory, &alloc_default);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_dispose(&memory);
    return 0;
}

static uar_uuid uuid(uint8_t seed) {
    uar_uuid id;
    memset(id.bytes, seed, sizeof id.bytes);
    return id;
}

#define UUID_1 "01010101-0101-0101-0101-010101010101"
#define UUID_2 "02020202-0202-0202-0202-020202020202"
#define KEY STR("u1\x1fs1")

static void assert_text(uar_str got, const char *wanted) {
    assert_non_null(got.ptr);
    assert_int_equal(got.len, strlen(wanted));
    assert_memory_equal(got.ptr, wanted, got.len);
}

static void assert_absent(uar_str got) {
    assert_null(got.ptr);
}

/* ---- samples: one of each kind, with every field set ---- */

static const uar_part sample_parts[] = {
    { .type = UAR_PART_TEXT, .text = STR_INIT("caf\xc3\xa9 \"q\" \\ \n \x01") },
    { .type = UAR_PART_REASONING, .text = STR_INIT("hm"), .opaque = STR_INIT("\x00\xff\x80 sig") },
    { .type = UAR_PART_TOOL_CALL, .call = STR_INIT("c1"), .tool = STR_INIT("t"), .arguments = STR_INIT("{\"a\":") },
    { .type = UAR_PART_TOOL_RESULT,
      .call = STR_INIT("c1"),
      .tool = STR_INIT("t"),
      .text = STR_INIT("no"),
      .failed = true },
};

static uar_message sample_message(void) {
    return (uar_message){ .id = uuid(1),
                          .run = uuid(2),
                          .number = 9,
                          .role = UAR_ROLE_ASSISTANT,
                          .interrupted = true,
                          .parts = sample_parts,
                          .part_count = COUNT(sample_parts),
                          .recalled = STR("a memory"),
                          .created_ms = 5 };
}

static const uar_pending_call sample_pending[] = {
    { STR_INIT("c1"), STR_INIT("mail"), STR_INIT("{\"to\":\"x\"}") },
    { STR_INIT("c2"), STR_INIT("pay"), STR_INIT("{}") },
};

static uar_run_info sample_run(void) {
    return (uar_run_info){ .run = uuid(1),
                           .owner = STR("local"),
                           .user = STR("u1"),
                           .session = STR("s1"),
                           .agent = STR("helper"),
                           .state = UAR_RUN_PAUSED,
                           .reason = STR("approval"),
                           .code = STR("UAR_E_PARKED"),
                           .message = STR("waits"),
                           .started_ms = 1700000000000,
                           .ended_ms = 1700000000009,
                           .steps = 3,
                           .usage = { 10, 20, 30, UINT64_MAX, 5, true },
                           .pending = sample_pending,
                           .pending_count = COUNT(sample_pending),
                           .instance = uuid(2),
                           .epoch = 2,
                           .revision = 8 };
}

static uar_status make_session(uar_record *out, arena *ar) {
    const uar_session s = { .owner = STR("local"),
                            .user = STR("u1"),
                            .session = STR("s1"),
                            .name = STR("Trip"),
                            .messages = 3,
                            .last_number = 4 };
    return session_record(out, ar, &s);
}

static uar_status make_message(uar_record *out, arena *ar) {
    const uar_message m = sample_message();
    return message_record(out, ar, STR("local"), KEY, &m);
}

static uar_status make_run(uar_record *out, arena *ar) {
    const uar_run_info run = sample_run();
    return run_record(out, ar, &run);
}

static uar_status make_open_run(uar_record *out, arena *ar) {
    const open_run o = { uuid(1), STR("local"), STR("u1"), STR("s1"), uuid(2) };
    return open_run_record(out, ar, &o);
}

static uar_status make_checkpoint(uar_record *out, arena *ar) {
    return checkpoint_record(out, ar, STR("local"), KEY, uuid(1), STR("{ \"b\":[1, 2.50],\"a\":{} }"));
}

static uar_status make_agent(uar_record *out, arena *ar) {
    const uar_agent a = { .id = STR("helper"),
                          .name = STR("Helper"),
                          .instructions = STR("Be kind."),
                          .model = STR("m"),
                          .memory = UAR_ON,
                          .max_steps = 12 };
    return agent_record(out, ar, STR("local"), &a);
}

static uar_status make_setting(uar_record *out, arena *ar) {
    return setting_record(out, ar, STR("local"), STR("ui.theme"), STR(" {\"b\":1e2,\"a\":[true,null]} "), NULL);
}

static uar_status make_counter(uar_record *out, arena *ar) {
    return counter_record(out, ar, STR("local"), STR("tokens"), uuid(2), UINT64_MAX);
}

static uar_status make_lease(uar_record *out, arena *ar) {
    const lease l = { uuid(2), uuid(1), true };
    return lease_record(out, ar, STR("local"), KEY, &l);
}

static uar_status make_heartbeat(uar_record *out, arena *ar) {
    return heartbeat_record(out, ar, uuid(2), 17);
}

/* Decode into something of its own type; whether the output was left alone on failure is checked by a mark. */
#define READER(name, type, decode)                                            \
    static uar_status name(arena *ar, const uar_record *r, uar_error *err) {  \
        type out, before;                                                     \
        memset(&out, 0x5a, sizeof out);                                       \
        memset(&before, 0x5a, sizeof before);                                 \
        uar_status status = decode(&out, ar, r, err);                         \
        if (status != UAR_OK) assert_memory_equal(&out, &before, sizeof out); \
        return status;                                                        \
    }
READER(read_session, uar_session, session_decode)
READER(read_message, uar_message, message_decode)
READER(read_run, uar_run_info, run_decode)
READER(read_open_run, open_run, open_run_decode)
READER(read_checkpoint, uar_str, checkpoint_decode)
READER(read_agent, uar_agent, agent_decode)
READER(read_setting, uar_setting, setting_decode)
READER(read_counter, uint64_t, counter_decode)
READER(read_lease, lease, lease_decode)

typedef struct body_case {
    const char *name;
    uar_status (*make)(uar_record *out, arena *ar);
    uar_status (*read)(arena *ar, const uar_record *r, uar_error *err); /* NULL: never read */
    uint32_t kind;
    const char *owner, *id, *parent, *body;
} body_case;

static const body_case cases[] = {
    { "session", make_session, read_session, UAR_RECORD_SESSION, "local", "u1\x1fs1", "u1",
      "{\"last\":4,\"messages\":3,\"name\":\"Trip\",\"session\":\"s1\",\"user\":\"u1\"}" },
    { "message", make_message, read_message, UAR_RECORD_MESSAGE, "local", UUID_1, "u1\x1fs1",
      "{\"interrupted\":true,\"parts\":["
      "{\"text\":\"caf\xc3\xa9 \\\"q\\\" \\\\ \\n \\u0001\",\"type\":\"text\"},"
      "{\"opaque\":\"AP+AIHNpZw==\",\"text\":\"hm\",\"type\":\"reasoning\"},"
      "{\"arguments\":\"{\\\"a\\\":\",\"call\":\"c1\",\"tool\":\"t\",\"type\":\"tool_call\"},"
      "{\"call\":\"c1\",\"failed\":true,\"text\":\"no\",\"tool\":\"t\",\"type\":\"tool_result\"}],"
      "\"recalled\":\"a memory\",\"role\":\"assistant\",\"run\":\"" UUID_2 "\"}" },
    { "run", make_run, read_run, UAR_RECORD_RUN, "local", UUID_1, "u1\x1fs1",
      "{\"agent\":\"helper\",\"code\":\"UAR_E_PARKED\",\"ended\":1700000000009,\"epoch\":2,\"instance\":\"" UUID_2
      "\",\"message\":\"waits\",\"pending\":["
      "{\"arguments\":\"{\\\"to\\\":\\\"x\\\"}\",\"call\":\"c1\",\"tool\":\"mail\"},"
      "{\"arguments\":\"{}\",\"call\":\"c2\",\"tool\":\"pay\"}],"
      "\"reason\":\"approval\",\"session\":\"s1\",\"started\":1700000000000,\"state\":\"paused\",\"steps\":3,"
      "\"usage\":{\"cache_read\":20,\"cache_write\":30,\"input\":10,\"known\":true,\"output\":18446744073709551615,"
      "\"reasoning\":5},\"user\":\"u1\"}" },
    { "open run", make_open_run, read_open_run, UAR_RECORD_OPEN_RUN, "~", UUID_1, NULL,
      "{\"instance\":\"" UUID_2 "\",\"owner\":\"local\",\"session\":\"s1\",\"user\":\"u1\"}" },
    { "checkpoint", make_checkpoint, read_checkpoint, UAR_RECORD_CHECKPOINT, "local", UUID_1, "u1\x1fs1",
      "{\"a\":{},\"b\":[1,2.50]}" },
    { "agent", make_agent, read_agent, UAR_RECORD_AGENT, "local", "helper", NULL,
      "{\"instructions\":\"Be kind.\",\"max_steps\":12,\"memory\":true,\"model\":\"m\",\"name\":\"Helper\"}" },
    { "setting", make_setting, read_setting, UAR_RECORD_SETTING, "local", "ui.theme", NULL,
      "{\"value\":{\"a\":[true,null],\"b\":1e2}}" },
    { "counter", make_counter, read_counter, UAR_RECORD_COUNTER, "local", "tokens\x1f" UUID_2, "tokens",
      "{\"value\":18446744073709551615}" },
    { "lease", make_lease, read_lease, UAR_RECORD_LEASE, "local", "u1\x1fs1", NULL,
      "{\"held\":true,\"instance\":\"" UUID_2 "\",\"run\":\"" UUID_1 "\"}" },
    { "heartbeat", make_heartbeat, NULL, UAR_RECORD_LEASE, "~", "instance:" UUID_2, NULL, "{\"beat\":17}" },
};

static uar_record made(const body_case *c) {
    uar_record r;
    memset(&r, 0, sizeof r);
    assert_int_equal(c->make(&r, &memory), UAR_OK);
    r.revision = 8;
    r.created_ms = 5;
    r.updated_ms = 6;
    return r;
}

static const body_case *case_of(const char *name) {
    for (size_t i = 0; i < COUNT(cases); i++)
        if (strcmp(cases[i].name, name) == 0) return &cases[i];
    fail();
    return NULL;
}

static void each_struct_becomes_the_documented_record(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const body_case *c = &cases[i];
        const uar_record r = made(c);
        assert_int_equal(r.kind, c->kind);
        assert_int_equal(r.schema, 1);
        assert_text(r.owner, c->owner);
        assert_text(r.id, c->id);
        if (c->parent != NULL)
            assert_text(r.parent, c->parent);
        else
            assert_absent(r.parent);
        assert_text(r.body, c->body);
        assert_absent(r.blob);
        assert_int_equal(r.has_sort, c->kind == UAR_RECORD_MESSAGE);
    }
}

static void every_body_is_canonical_json(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const uar_record r = made(&cases[i]);
        cJSON *tree = NULL;
        assert_int_equal(json_read(&tree, &alloc_default, r.body, r.body.len, NULL), UAR_OK);
        buffer again;
        buffer_init(&again, &alloc_default, 100000);
        json_append_canonical(&again, tree);
        assert_true(uar_str_equal(buffer_str(&again), r.body));
        buffer_dispose(&again);
        json_free(&alloc_default, tree);
    }
}

/* ---- back again ---- */

static void a_session_comes_back(void **state) {
    (void)state;
    const uar_record r = made(case_of("session"));
    uar_session s;
    assert_int_equal(session_decode(&s, &memory, &r, NULL), UAR_OK);
    assert_text(s.owner, "local");
    assert_text(s.user, "u1");
    assert_text(s.session, "s1");
    assert_text(s.name, "Trip");
    assert_int_equal(s.messages, 3);
    assert_int_equal(s.last_number, 4);
    assert_int_equal(s.created_ms, 5);
    assert_int_equal(s.updated_ms, 6);
    assert_int_equal(s.revision, 8);
}

static void a_message_comes_back_part_by_part(void **state) {
    (void)state;
    const uar_record r = made(case_of("message"));
    uar_message m;
    assert_int_equal(message_decode(&m, &memory, &r, NULL), UAR_OK);
    assert_true(uar_uuid_equal(m.id, uuid(1)));
    assert_true(uar_uuid_equal(m.run, uuid(2)));
    assert_int_equal(m.number, 9);
    assert_int_equal(m.role, UAR_ROLE_ASSISTANT);
    assert_true(m.interrupted);
    assert_text(m.recalled, "a memory");
    assert_int_equal(m.created_ms, 5);
    assert_int_equal(m.part_count, COUNT(sample_parts));
    for (size_t i = 0; i < m.part_count; i++) {
        const uar_part *got = &m.parts[i], *wanted = &sample_parts[i];
        assert_int_equal(got->type, wanted->type);
        assert_true(uar_str_equal(got->text, wanted->text));
        assert_true(uar_str_equal(got->call, wanted->call));
        assert_true(uar_str_equal(got->tool, wanted->tool));
        assert_true(uar_str_equal(got->arguments, wanted->arguments));
        assert_true(uar_str_equal(got->opaque, wanted->opaque));
        assert_int_equal(got->failed, wanted->failed);
    }
}

static void a_run_comes_back(void **state) {
    (void)state;
    const uar_record r = made(case_of("run"));
    const uar_run_info wanted = sample_run();
    uar_run_info run;
    assert_int_equal(run_decode(&run, &memory, &r, NULL), UAR_OK);
    assert_true(uar_uuid_equal(run.run, wanted.run));
    assert_true(uar_uuid_equal(run.instance, wanted.instance));
    assert_text(run.owner, "local");
    assert_text(run.user, "u1");
    assert_text(run.session, "s1");
    assert_text(run.agent, "helper");
    assert_text(run.reason, "approval");
    assert_text(run.code, "UAR_E_PARKED");
    assert_text(run.message, "waits");
    assert_int_equal(run.state, UAR_RUN_PAUSED);
    assert_true(run.started_ms == wanted.started_ms && run.ended_ms == wanted.ended_ms);
    assert_true(run.steps == 3 && run.epoch == 2 && run.revision == 8);
    assert_true(run.usage.input == 10 && run.usage.cache_read == 20 && run.usage.cache_write == 30);
    assert_true(run.usage.output == UINT64_MAX && run.usage.reasoning == 5 && run.usage.known);
    assert_int_equal(run.pending_count, 2);
    assert_text(run.pending[0].arguments, "{\"to\":\"x\"}");
    assert_text(run.pending[1].tool, "pay");
    assert_text(run.pending[1].call, "c2");
}

static void an_open_run_comes_back(void **state) {
    (void)state;
    const uar_record r = made(case_of("open run"));
    open_run o;
    assert_int_equal(open_run_decode(&o, &memory, &r, NULL), UAR_OK);
    assert_true(uar_uuid_equal(o.run, uuid(1)) && uar_uuid_equal(o.instance, uuid(2)));
    assert_text(o.owner, "local");
    assert_text(o.user, "u1");
    assert_text(o.session, "s1");
}

static void a_checkpoint_gives_its_document(void **state) {
    (void)state;
    const uar_record r = made(case_of("checkpoint"));
    uar_str document;
    assert_int_equal(checkpoint_decode(&document, &memory, &r, NULL), UAR_OK);
    assert_text(document, "{\"a\":{},\"b\":[1,2.50]}");
}

static void an_agent_comes_back(void **state) {
    (void)state;
    const uar_record r = made(case_of("agent"));
    uar_agent a;
    assert_int_equal(agent_decode(&a, &memory, &r, NULL), UAR_OK);
    assert_text(a.id, "helper");
    assert_text(a.name, "Helper");
    assert_text(a.instructions, "Be kind.");
    assert_text(a.model, "m");
    assert_int_equal(a.memory, UAR_ON);
    assert_int_equal(a.max_steps, 12);
    assert_int_equal(a.revision, 8);
}

static void an_agent_that_says_nothing_comes_back_so(void **state) {
    (void)state;
    uar_record r;
    const uar_agent bare = { .id = STR("a"), .memory = UAR_INHERIT };
    assert_int_equal(agent_record(&r, &memory, STR("local"), &bare), UAR_OK);
    assert_text(r.body, "{}");
    uar_agent a;
    assert_int_equal(agent_decode(&a, &memory, &r, NULL), UAR_OK);
    assert_int_equal(a.memory, UAR_INHERIT);
    assert_int_equal(a.max_steps, 0);
    assert_absent(a.name);
    assert_absent(a.model);
    const uar_agent off = { .id = STR("a"), .memory = UAR_OFF };
    assert_int_equal(agent_record(&r, &memory, STR("local"), &off), UAR_OK);
    assert_int_equal(agent_decode(&a, &memory, &r, NULL), UAR_OK);
    assert_int_equal(a.memory, UAR_OFF);
}

static void settings_of_every_json_type_come_back_canonical(void **state) {
    (void)state;
    static const char *const pairs[][2] = { { "null", "null" },
                                            { " true ", "true" },
                                            { "12345678901234567890", "12345678901234567890" },
                                            { "1.50e+3", "1.50e+3" },
                                            { "\"\\u0041\"", "\"A\"" },
                                            { "[ 1 , 2 ]", "[1,2]" },
                                            { "{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}" } };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        uar_record r;
        assert_int_equal(setting_record(&r, &memory, STR("local"), STR("k"), uar_str_of(pairs[i][0]), NULL), UAR_OK);
        uar_setting s;
        assert_int_equal(setting_decode(&s, &memory, &r, NULL), UAR_OK);
        assert_text(s.key, "k");
        assert_text(s.value, pairs[i][1]);
    }
}

static void a_setting_that_is_not_strict_json_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = { "", "1,\"x\":2", "1}", "{", "nul", "\"\\u0000\"", "{\"a\":1,\"a\":2}", "\xff" };
    for (size_t i = 0; i < COUNT(bad); i++) {
        uar_record r = { .kind = 77 };
        uar_error err = UAR_ERROR_INIT;
        assert_int_equal(setting_record(&r, &memory, STR("o"), STR("k"), uar_str_of(bad[i]), &err), UAR_E_JSON);
        assert_int_equal(err.code, UAR_E_JSON);
        assert_int_equal(r.kind, 77);
    }
}

static void test_R13_a_setting_too_deep_for_its_body_is_refused_at_once(void **state) {
    (void)state;
    char text[2 * JSON_MAX_DEPTH + 1];
    memset(text, '[', JSON_MAX_DEPTH);
    memset(text + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
    uar_record r;
    const uar_str deepest = uar_str_n(text, 2 * JSON_MAX_DEPTH);
    const uar_str inner = uar_str_n(text + 1, 2 * JSON_MAX_DEPTH - 2);
    assert_int_equal(setting_record(&r, &memory, STR("o"), STR("k"), deepest, NULL), UAR_E_JSON);
    assert_int_equal(setting_record(&r, &memory, STR("o"), STR("k"), inner, NULL), UAR_OK);
    uar_setting s;
    assert_int_equal(setting_decode(&s, &memory, &r, NULL), UAR_OK);
    assert_true(uar_str_equal(s.value, inner));
}

static void counters_and_leases_come_back(void **state) {
    (void)state;
    uar_record r = made(case_of("counter"));
    uint64_t value = 0;
    assert_int_equal(counter_decode(&value, &memory, &r, NULL), UAR_OK);
    assert_true(value == UINT64_MAX);
    r = made(case_of("lease"));
    lease l;
    assert_int_equal(lease_decode(&l, &memory, &r, NULL), UAR_OK);
    assert_true(l.held && uar_uuid_equal(l.instance, uuid(2)) && uar_uuid_equal(l.run, uuid(1)));
    const lease released = { .held = false };
    assert_int_equal(lease_record(&r, &memory, STR("local"), KEY, &released), UAR_OK);
    assert_text(r.body, "{\"held\":false}");
    assert_int_equal(lease_decode(&l, &memory, &r, NULL), UAR_OK);
    assert_true(!l.held && uar_uuid_is_none(l.instance) && uar_uuid_is_none(l.run));
}

static void absent_texts_stay_absent_where_they_may_be(void **state) {
    (void)state;
    uar_run_info bare = sample_run();
    bare.agent = bare.reason = bare.code = bare.message = uar_str_n(NULL, 0);
    bare.pending_count = 0;
    memset(&bare.instance, 0, sizeof bare.instance);
    uar_record r;
    assert_int_equal(run_record(&r, &memory, &bare), UAR_OK);
    uar_run_info run;
    assert_int_equal(run_decode(&run, &memory, &r, NULL), UAR_OK);
    assert_absent(run.agent);
    assert_absent(run.reason);
    assert_absent(run.code);
    assert_absent(run.message);
    assert_int_equal(run.pending_count, 0);
    assert_null(run.pending);
    assert_true(uar_uuid_is_none(run.instance));
}

static void an_empty_opaque_is_not_an_absent_one(void **state) {
    (void)state;
    const uar_part parts[] = { { .type = UAR_PART_REASONING, .text = STR_INIT("a"), .opaque = STR_INIT("") },
                               { .type = UAR_PART_REASONING, .text = STR_INIT("b") } };
    uar_message m = sample_message();
    m.parts = parts;
    m.part_count = 2;
    m.recalled = uar_str_n(NULL, 0);
    memset(&m.run, 0, sizeof m.run);
    uar_record r;
    assert_int_equal(message_record(&r, &memory, STR("local"), KEY, &m), UAR_OK);
    assert_int_equal(message_decode(&m, &memory, &r, NULL), UAR_OK);
    assert_text(m.parts[0].opaque, "");
    assert_absent(m.parts[1].opaque);
    assert_absent(m.recalled);
    assert_true(uar_uuid_is_none(m.run));
}

static void decoded_texts_outlive_their_record(void **state) {
    (void)state;
    const uar_record r = made(case_of("session"));
    char body[200];
    memcpy(body, r.body.ptr, r.body.len);
    char owner[] = "local";
    uar_record lent = r;
    lent.body = uar_str_n(body, r.body.len);
    lent.owner = uar_str_of(owner);
    uar_session s;
    assert_int_equal(session_decode(&s, &memory, &lent, NULL), UAR_OK);
    memset(body, '#', sizeof body);
    memset(owner, '#', sizeof owner - 1);
    assert_text(s.user, "u1");
    assert_text(s.owner, "local");
}

/* ---- what can't be stored ---- */

static void values_out_of_range_are_refused_before_they_are_stored(void **state) {
    (void)state;
    uar_record r;
    uar_message m = sample_message();
    m.number = 0;
    assert_int_equal(message_record(&r, &memory, STR("o"), KEY, &m), UAR_E_INVALID);
    m.number = (uint64_t)INT64_MAX + 1;
    assert_int_equal(message_record(&r, &memory, STR("o"), KEY, &m), UAR_E_INVALID);
    m = sample_message();
    m.role = (uar_role)9;
    assert_int_equal(message_record(&r, &memory, STR("o"), KEY, &m), UAR_E_INVALID);
    m = sample_message();
    memset(&m.id, 0, sizeof m.id);
    assert_int_equal(message_record(&r, &memory, STR("o"), KEY, &m), UAR_E_INVALID);
    uar_run_info run = sample_run();
    run.state = (uar_run_state)7;
    assert_int_equal(run_record(&r, &memory, &run), UAR_E_INVALID);
    run = sample_run();
    run.session = STR("a\x1f"
                      "b");
    assert_int_equal(run_record(&r, &memory, &run), UAR_E_INVALID);
    const uar_agent agent = { .id = STR("a"), .memory = 2 };
    assert_int_equal(agent_record(&r, &memory, STR("o"), &agent), UAR_E_INVALID);
    const uar_agent nameless = { .id = STR("") };
    assert_int_equal(agent_record(&r, &memory, STR("o"), &nameless), UAR_E_INVALID);
    assert_int_equal(setting_record(&r, &memory, STR("o"), STR(""), STR("1"), NULL), UAR_E_INVALID);
    uar_uuid none;
    memset(&none, 0, sizeof none);
    assert_int_equal(counter_record(&r, &memory, STR("o"), STR("n"), none, 1), UAR_E_INVALID);
    assert_int_equal(heartbeat_record(&r, &memory, none, 1), UAR_E_INVALID);
    assert_int_equal(checkpoint_record(&r, &memory, STR("o"), KEY, none, STR("{}")), UAR_E_INVALID);
    const open_run o = { .owner = STR("o") };
    assert_int_equal(open_run_record(&r, &memory, &o), UAR_E_INVALID);
}

static uar_status store_part(uar_part part) {
    uar_message m = sample_message();
    m.parts = &part;
    m.part_count = 1;
    uar_record r;
    return message_record(&r, &memory, STR("o"), KEY, &m);
}

static void part_types_without_a_stored_shape_are_refused(void **state) {
    (void)state;
    assert_int_equal(store_part((uar_part){ .type = (uar_part_type)77 }), UAR_E_UNSUPPORTED);
}

static void parts_that_name_an_attachment_need_its_id_in_the_one_spelling(void **state) {
    (void)state;
    static const uar_part_type types[] = { UAR_PART_IMAGE, UAR_PART_AUDIO, UAR_PART_FILE };
    static const char *const bad[] = { NULL, "", "x", "0A0A0A0A-0101-0101-0101-010101010101",
                                       "00000000-0000-0000-0000-000000000000" };
    for (size_t t = 0; t < COUNT(types); t++) {
        for (size_t i = 0; i < COUNT(bad); i++)
            assert_int_equal(store_part((uar_part){ .type = types[t], .opaque = uar_str_of(bad[i]) }), UAR_E_INVALID);
        assert_int_equal(store_part((uar_part){ .type = types[t], .opaque = STR(UUID_1) }), UAR_OK);
    }
}

static void text_that_could_not_be_read_back_is_refused(void **state) {
    (void)state;
    static const uar_str bad[] = { STR_INIT("a\0b"), STR_INIT("\xff"), STR_INIT("\xed\xa0\x80") };
    for (size_t i = 0; i < COUNT(bad); i++) {
        const uar_part part = { .type = UAR_PART_TEXT, .text = bad[i] };
        uar_message m = sample_message();
        m.parts = &part;
        m.part_count = 1;
        uar_record r = { .kind = 77 };
        assert_int_equal(message_record(&r, &memory, STR("o"), KEY, &m), UAR_E_UTF8);
        assert_int_equal(r.kind, 77);
    }
}

static void a_checkpoint_must_be_a_json_object(void **state) {
    (void)state;
    uar_record r;
    assert_int_equal(checkpoint_record(&r, &memory, STR("o"), KEY, uuid(1), STR("[]")), UAR_E_JSON);
    assert_int_equal(checkpoint_record(&r, &memory, STR("o"), KEY, uuid(1), STR("{")), UAR_E_JSON);
}

/* ---- what isn't a body ---- */

static uar_status read_with(const body_case *c, const char *body, uar_error *err) {
    uar_record r = made(c);
    r.body = uar_str_of(body);
    return c->read(&memory, &r, err);
}

static uint32_t newest_of(uint32_t kind) {
    return kind == UAR_RECORD_MESSAGE || kind == UAR_RECORD_COUNTER || kind == UAR_RECORD_SESSION ? 2 : 1;
}

static void test_R12_a_newer_schema_is_refused_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (cases[i].read == NULL) continue;
        uar_record r = made(&cases[i]);
        uar_error err = UAR_ERROR_INIT;
        r.schema = newest_of(r.kind) + 1;
        assert_int_equal(cases[i].read(&memory, &r, &err), UAR_E_NEWER);
        assert_non_null(strstr(err.message, record_kind_name(r.kind)));
        assert_non_null(strchr(err.message, (int)('0' + r.schema)));
        r.schema = 0;
        assert_int_equal(cases[i].read(&memory, &r, &err), UAR_E_CORRUPT);
    }
}

static void a_record_of_another_kind_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (cases[i].read == NULL) continue;
        uar_record r = made(&cases[i]);
        r.kind = UAR_RECORD_GRAPH;
        assert_int_equal(cases[i].read(&memory, &r, NULL), UAR_E_CORRUPT);
    }
}

static void test_R12_no_body_is_read_as_empty(void **state) {
    (void)state;
    static const char *const bad[] = {
        "", "null", "[]", "1", "\"x\"", "{", "{}x", "{\"a\":1,\"a\":1}", "\xef\xbb\xbf{}"
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t b = 0; cases[i].read != NULL && b < COUNT(bad); b++) {
            uar_error err = UAR_ERROR_INIT;
            assert_int_equal(read_with(&cases[i], bad[b], &err), UAR_E_CORRUPT);
            assert_int_equal(err.code, UAR_E_CORRUPT);
        }
    for (size_t i = 0; i < COUNT(cases); i++) {
        uar_record r = made(&cases[i]);
        r.body = uar_str_n(NULL, 0);
        if (cases[i].read != NULL) assert_int_equal(cases[i].read(&memory, &r, NULL), UAR_E_CORRUPT);
    }
}

static void an_unknown_member_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const body_case *c = &cases[i];
        if (c->read == NULL || c->kind == UAR_RECORD_CHECKPOINT) continue;
        char body[2000];
        snprintf(body, sizeof body, "{\"zzz\":1,%s", c->body + 1);
        assert_int_equal(read_with(c, body, NULL), UAR_E_CORRUPT);
    }
}

/* The tree without its n-th member (counted through all objects in it), or with that member replaced. */
static cJSON *member_at(cJSON *node, size_t *n, cJSON **parent) {
    for (cJSON *child = node->child; child != NULL; child = child->next) {
        if (cJSON_IsObject(node) && (*n)-- == 0) {
            *parent = node;
            return child;
        }
        cJSON *found = member_at(child, n, parent);
        if (found != NULL) return found;
    }
    return NULL;
}

static bool mutate(char *out, size_t size, const char *body, size_t n, const char *replacement, char *name) {
    /* cJSON rounds large integers, so the text it gets has none. */
    char text[2000];
    const char *large = strstr(body, "18446744073709551615");
    snprintf(text, sizeof text, "%.*s%s%s", large != NULL ? (int)(large - body) : (int)strlen(body), body,
             large != NULL ? "7" : "", large != NULL ? large + 20 : "");
    cJSON *tree = cJSON_Parse(text);
    assert_non_null(tree);
    cJSON *parent = NULL;
    cJSON *member = member_at(tree, &n, &parent);
    if (member != NULL) {
        snprintf(name, 32, "%s", member->string);
        if (replacement == NULL)
            cJSON_Delete(cJSON_DetachItemViaPointer(parent, member));
        else
            cJSON_ReplaceItemInObjectCaseSensitive(parent, name, cJSON_Parse(replacement));
        assert_true(cJSON_PrintPreallocated(tree, out, (int)size, 0));
    }
    cJSON_Delete(tree);
    return member != NULL;
}

static bool is_optional(const char *member) {
    static const char *const names[] = { "name",         "run",       "recalled", "opaque",  "agent",
                                         "code",         "instance",  "reason",   "message", "model",
                                         "instructions", "max_steps", "memory" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(member, names[i]) == 0) return true;
    return false;
}

static void every_required_member_must_be_there(void **state) {
    (void)state;
    size_t tried = 0;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const body_case *c = &cases[i];
        if (c->read == NULL || c->kind == UAR_RECORD_CHECKPOINT || c->kind == UAR_RECORD_SETTING) continue;
        char body[2000], name[32];
        for (size_t n = 0; mutate(body, sizeof body, c->body, n, NULL, name); n++, tried++)
            assert_int_equal(read_with(c, body, NULL), is_optional(name) ? UAR_OK : UAR_E_CORRUPT);
    }
    assert_true(tried > 40);
}

static void every_member_must_have_its_type(void **state) {
    (void)state;
    static const char *const wrong[] = { "null", "{}", "[1]", "-1", "1.5", "1e30", "\"\"" };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const body_case *c = &cases[i];
        if (c->read == NULL || c->kind == UAR_RECORD_CHECKPOINT || c->kind == UAR_RECORD_SETTING) continue;
        char body[2000], name[32];
        for (size_t w = 0; w < COUNT(wrong); w++)
            for (size_t n = 0; mutate(body, sizeof body, c->body, n, wrong[w], name); n++) {
                /* A text may be empty and a wall time negative. */
                bool may_be = strcmp(wrong[w], "\"\"") == 0 || strcmp(wrong[w], "-1") == 0;
                uar_status status = read_with(c, body, NULL);
                if (!may_be) assert_int_equal(status, UAR_E_CORRUPT);
                assert_true(status == UAR_OK || status == UAR_E_CORRUPT);
            }
    }
}

static void enumerations_take_only_their_names(void **state) {
    (void)state;
    assert_int_equal(read_with(case_of("message"), "{\"interrupted\":false,\"parts\":[],\"role\":\"user\"}", NULL),
                     UAR_OK);
    assert_int_equal(read_with(case_of("message"), "{\"interrupted\":false,\"parts\":[],\"role\":\"User\"}", NULL),
                     UAR_E_CORRUPT);
    assert_int_equal(read_with(case_of("message"),
                               "{\"interrupted\":false,\"parts\":[{\"type\":\"image\"}],\"role\":\"user\"}", NULL),
                     UAR_E_CORRUPT);
    assert_int_equal(
        read_with(
            case_of("message"),
            "{\"interrupted\":false,\"parts\":[{\"text\":\"a\",\"type\":\"text\",\"tool\":\"t\"}],\"role\":\"user\"}",
            NULL),
        UAR_E_CORRUPT);
}

static void a_body_that_belongs_to_another_record_is_refused(void **state) {
    (void)state;
    uar_record r = made(case_of("session"));
    r.id = STR("u1\x1fs2");
    assert_int_equal(read_session(&memory, &r, NULL), UAR_E_CORRUPT);
    r = made(case_of("session"));
    r.parent = STR("u2");
    assert_int_equal(read_session(&memory, &r, NULL), UAR_E_CORRUPT);
    r = made(case_of("run"));
    r.parent = STR("u1\x1fs2");
    assert_int_equal(read_run(&memory, &r, NULL), UAR_E_CORRUPT);
    r = made(case_of("run"));
    r.id = STR("not-a-uuid");
    assert_int_equal(read_run(&memory, &r, NULL), UAR_E_CORRUPT);
    r = made(case_of("message"));
    r.has_sort = false;
    assert_int_equal(read_message(&memory, &r, NULL), UAR_E_CORRUPT);
    r = made(case_of("message"));
    r.sort = 0;
    assert_int_equal(read_message(&memory, &r, NULL), UAR_E_CORRUPT);
    r = made(case_of("heartbeat"));
    assert_int_equal(read_lease(&memory, &r, NULL), UAR_E_CORRUPT);
}

static void a_fault_names_record_and_member(void **state) {
    (void)state;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(read_with(case_of("lease"), "{\"held\":1}", &err), UAR_E_CORRUPT);
    assert_non_null(strstr(err.message, "lease"));
    assert_non_null(strstr(err.message, "u1/s1"));
    assert_non_null(strstr(err.message, "held"));
}

static void every_run_state_has_a_name(void **state) {
    (void)state;
    assert_string_equal(uar_run_state_name(UAR_RUN_RUNNING), "running");
    assert_string_equal(uar_run_state_name(UAR_RUN_IN_DOUBT), "in_doubt");
    assert_string_equal(uar_run_state_name(UAR_RUN_CANCELLED), "cancelled");
    assert_string_equal(uar_run_state_name((uar_run_state)99), "unknown");
}

/* ---- memory ---- */

static void sweep_make(const body_case *c, probe_alloc *probe) {
    bool ended = false;
    for (unsigned long n = 1; !ended; n++) {
        arena ar;
        arena_init(&ar, &probe->door);
        probe_alloc_arm(probe, (n + 1) / 2, n % 2 == 0);
        uar_record r = { .kind = 77 };
        uar_status status = c->make(&r, &ar);
        ended = !probe_alloc_has_failed(probe);
        assert_int_equal(status, ended ? UAR_OK : UAR_E_NOMEM);
        if (!ended) assert_int_equal(r.kind, 77);
        arena_dispose(&ar);
        assert_int_equal(probe->alive, 0);
    }
}

static void sweep_read(const body_case *c, probe_alloc *probe) {
    const uar_record r = made(c);
    bool ended = false;
    for (unsigned long n = 1; !ended; n++) {
        arena ar;
        arena_init(&ar, &probe->door);
        probe_alloc_arm(probe, (n + 1) / 2, n % 2 == 0);
        uar_error err = UAR_ERROR_INIT;
        uar_status status = c->read(&ar, &r, &err);
        ended = !probe_alloc_has_failed(probe);
        assert_int_equal(status, ended ? UAR_OK : UAR_E_NOMEM);
        assert_int_equal(err.code, status);
        arena_dispose(&ar);
        assert_int_equal(probe->alive, 0);
    }
}

static void running_out_of_memory_anywhere_is_clean(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    for (size_t i = 0; i < COUNT(cases); i++) {
        sweep_make(&cases[i], &probe);
        if (cases[i].read != NULL) sweep_read(&cases[i], &probe);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_struct_becomes_the_documented_record),
        cmocka_unit_test(every_body_is_canonical_json),
        cmocka_unit_test(a_session_comes_back),
        cmocka_unit_test(a_message_comes_back_part_by_part),
        cmocka_unit_test(a_run_comes_back),
        cmocka_unit_test(an_open_run_comes_back),
        cmocka_unit_test(a_checkpoint_gives_its_document),
        cmocka_unit_test(an_agent_comes_back),
        cmocka_unit_test(an_agent_that_says_nothing_comes_back_so),
        cmocka_unit_test(settings_of_every_json_type_come_back_canonical),
        cmocka_unit_test(a_setting_that_is_not_strict_json_is_refused),
        cmocka_unit_test(test_R13_a_setting_too_deep_for_its_body_is_refused_at_once),
        cmocka_unit_test(counters_and_leases_come_back),
        cmocka_unit_test(absent_texts_stay_absent_where_they_may_be),
        cmocka_unit_test(an_empty_opaque_is_not_an_absent_one),
        cmocka_unit_test(decoded_texts_outlive_their_record),
        cmocka_unit_test(values_out_of_range_are_refused_before_they_are_stored),
        cmocka_unit_test(part_types_without_a_stored_shape_are_refused),
        cmocka_unit_test(parts_that_name_an_attachment_need_its_id_in_the_one_spelling),
        cmocka_unit_test(text_that_could_not_be_read_back_is_refused),
        cmocka_unit_test(a_checkpoint_must_be_a_json_object),
        cmocka_unit_test(test_R12_a_newer_schema_is_refused_by_name),
        cmocka_unit_test(a_record_of_another_kind_is_refused),
        cmocka_unit_test(test_R12_no_body_is_read_as_empty),
        cmocka_unit_test(an_unknown_member_is_refused),
        cmocka_unit_test(every_required_member_must_be_there),
        cmocka_unit_test(every_member_must_have_its_type),
        cmocka_unit_test(enumerations_take_only_their_names),
        cmocka_unit_test(a_body_that_belongs_to_another_record_is_refused),
        cmocka_unit_test(a_fault_names_record_and_member),
        cmocka_unit_test(every_run_state_has_a_name),
        cmocka_unit_test(running_out_of_memory_anywhere_is_clean),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
