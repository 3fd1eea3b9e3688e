/* What the tests of the run loop share: opening and closing a host, looking at what was heard and what was stored. */
#ifndef UAR_TESTS_UNIT_TEST_RUN_FIXTURE_H
#define UAR_TESTS_UNIT_TEST_RUN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/json.h"
#include "support/host.h"
#include "support/host_layer.h"

/* Lines of a script. */
#define LINE(events) "{\"events\":[" events "]}\n"
#define TEXT(text) "{\"text\":\"" text "\"}"
#define REASONING(text) "{\"reasoning\":\"" text "\"}"
#define BYTES(base64) "{\"text_base64\":\"" base64 "\"}"
#define CALL(index, id, name, args) \
    "{\"tool_call\":{\"index\":" #index ",\"id\":\"" id "\",\"name\":\"" name "\",\"args_delta\":\"" args "\"}}"
#define MORE(index, args) "{\"tool_call\":{\"index\":" #index ",\"args_delta\":\"" args "\"}}"
#define FINISH(reason) "{\"finish\":\"" reason "\"}"
#define STOP FINISH("stop")
#define CALLS FINISH("tool_calls")
#define HOLD "{\"sleep_ms\":60000}"
#define FAIL(code) "{\"error\":{\"code\":\"" code "\",\"message\":\"no luck\"}}"
#define FAIL_AGAIN "{\"error\":{\"code\":\"UAR_E_NETWORK\",\"message\":\"lost\",\"retryable\":true}}"
#define USED(in, out) "{\"usage\":{\"input\":" #in ",\"output\":" #out "}}"
#define HELLO LINE(TEXT("Hel") "," TEXT("lo") "," STOP)

#define HELLO_KINDS "RunStart RuntimeStep ChatDelta ChatDelta RunDone"

static inline host *fixture_open(const host_options *o) {
    uar_error err = UAR_ERROR_INIT;
    host *h = host_open(o, &err);
    if (h == NULL) fail_msg("%s", err.message);
    return h;
}

static inline host *fixture_script(const char *script) {
    return fixture_open(&(host_options){ .script = script });
}

/* Each test ends with as many live objects as it began with; a thread that was let go may still be on its way out. */
static inline int fixture_begin(void **state) {
    int64_t *before = malloc(sizeof *before);
    if (before == NULL) return -1;
    *before = uar_live_objects();
    *state = before;
    return 0;
}

static inline int fixture_end(void **state) {
    int64_t *before = *state;
    int64_t left = uar_live_objects() - *before;
    for (int i = 0; i < 200 && left != 0; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
        left = uar_live_objects() - *before;
    }
    free(before);
    if (left != 0) print_error("%lld live objects were left over\n", (long long)left);
    return left == 0 ? 0 : -1;
}

#define fixture_test(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)

static inline void fixture_close(host *h) {
    assert_int_equal(host_late_callbacks(h), 0);
    assert_int_equal(host_close(h, UAR_CLOSE_CANCEL), UAR_OK);
}

/* ---- what was heard ---- */

static inline void expect_kinds(host *h, const char *kinds) {
    char *heard = host_kinds(h);
    if (strcmp(heard, kinds) != 0) {
        char *events = host_events(h);
        print_error("%s", events);
        free(events);
    }
    assert_string_equal(heard, kinds);
    free(heard);
}

static inline void expect_heard(host *h, const char *text) {
    char *events = host_events(h);
    if (strstr(events, text) == NULL) fail_msg("nobody said %s in\n%s", text, events);
    free(events);
}

static inline void expect_unheard(host *h, const char *text) {
    char *events = host_events(h);
    if (strstr(events, text) != NULL) fail_msg("somebody said %s in\n%s", text, events);
    free(events);
}

static inline size_t count_terminals(host *h) {
    return host_count(h, "RunDone ") + host_count(h, "RunFailed ") + host_count(h, "Cancelled ");
}

/* Place of the first event of a kind, or of one whose line begins so; SIZE_MAX: none. */
static inline size_t place_of(host *h, uar_event_kind kind) {
    size_t count = host_event_count(h);
    for (size_t i = 0; i < count; i++)
        if (host_event(h, i)->kind == kind) return i;
    return SIZE_MAX;
}

/* ---- what was stored ---- */

static inline uar_reply *fixture_messages(host *h, const char *session) {
    uar_reply *reply = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_message_list_sync(&reply, host_runtime(h), "local", "me", session, 0, 1000, &err);
    if (status != UAR_OK) fail_msg("%s", err.message);
    return reply;
}

static inline uar_run_info fixture_run(host *h, uar_run_id id, uar_reply **reply) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_run_load_sync(reply, host_runtime(h), "local", "me", id, &err);
    if (status != UAR_OK) fail_msg("%s", err.message);
    assert_int_equal((*reply)->count, 1);
    return (*reply)->runs[0];
}

#define FOLDED_MAX 64

typedef struct folded {
    uar_uuid message;
    char text[4096];
} folded;

static inline folded *folded_of(folded *list, size_t *count, uar_uuid message) {
    for (size_t i = 0; i < *count; i++)
        if (uar_uuid_equal(list[i].message, message)) return &list[i];
    assert_true(*count < FOLDED_MAX);
    folded *f = &list[(*count)++];
    f->message = message;
    f->text[0] = '\0';
    return f;
}

/* The texts that the deltas of every message make, superseded attempts left out. */
static inline size_t fold_deltas(host *h, folded *list, uar_event_kind kind) {
    size_t count = 0, events = host_event_count(h);
    for (size_t i = 0; i < events; i++) {
        const uar_event *e = host_event(h, i);
        if (e->kind == UAR_EVENT_ATTEMPT_SUPERSEDED)
            folded_of(list, &count, e->attempt_superseded.message)->text[0] = '\0';
        if (e->kind != kind) continue;
        bool chat = kind == UAR_EVENT_CHAT_DELTA;
        uar_str text = chat ? e->chat_delta.text : e->reasoning_delta.text;
        folded *f = folded_of(list, &count, chat ? e->chat_delta.message : e->reasoning_delta.message);
        assert_true(strlen(f->text) + text.len < sizeof f->text);
        strncat(f->text, text.ptr, text.len);
    }
    return count;
}

static inline uar_str part_text(const uar_message *m, uar_part_type type) {
    for (size_t i = 0; i < m->part_count; i++)
        if (m->parts[i].type == type) return m->parts[i].text;
    return uar_str_of("");
}

static inline const uar_message *stored_message(const uar_reply *reply, uar_uuid id) {
    for (size_t i = 0; i < reply->count; i++)
        if (uar_uuid_equal(reply->messages[i].id, id)) return &reply->messages[i];
    return NULL;
}

/* E6 for a host whose runs all were in one session: what was streamed is what is stored, and nothing else is. */
static inline void expect_stored_as_streamed(host *h, const char *session) {
    static const uar_event_kind kinds[] = { UAR_EVENT_CHAT_DELTA, UAR_EVENT_REASONING_DELTA };
    static const uar_part_type parts[] = { UAR_PART_TEXT, UAR_PART_REASONING };
    uar_reply *reply = fixture_messages(h, session);
    folded *list = calloc(FOLDED_MAX, sizeof *list);
    assert_non_null(list);
    for (size_t k = 0; k < 2; k++) {
        size_t count = fold_deltas(h, list, kinds[k]);
        for (size_t i = 0; i < count; i++) {
            const uar_message *m = stored_message(reply, list[i].message);
            if (m == NULL) assert_string_equal(list[i].text, "");
            if (m != NULL) assert_true(uar_str_equal(part_text(m, parts[k]), uar_str_of(list[i].text)));
        }
        for (size_t i = 0; i < reply->count; i++) {
            const uar_message *m = &reply->messages[i];
            if (m->role != UAR_ROLE_ASSISTANT || part_text(m, parts[k]).len == 0) continue;
            const folded *f = folded_of(list, &count, m->id);
            assert_true(uar_str_equal(part_text(m, parts[k]), uar_str_of(f->text)));
        }
    }
    free(list);
    uar_reply_free(reply);
}

/* ---- what the model read ---- */

/* The messages of request `n`, to be freed with fixture_request_free. */
static inline cJSON *fixture_request(host *h, size_t n) {
    char *body = host_request(h, n);
    assert_non_null(body);
    cJSON *doc = NULL;
    assert_int_equal(json_read(&doc, &alloc_default, uar_str_of(body), SIZE_MAX, NULL), UAR_OK);
    free(body);
    return doc;
}

static inline void fixture_request_free(cJSON *doc) {
    json_free(&alloc_default, doc);
}

static inline const cJSON *request_message(const cJSON *doc, int n) {
    const cJSON *list = json_member(doc, "messages");
    int count = cJSON_GetArraySize(list);
    return cJSON_GetArrayItem(list, n >= 0 ? n : count + n);
}

/* A text member of a message of a request, counted from the end if `n` is negative. */
static inline const char *request_text(const cJSON *doc, int n, const char *key) {
    const cJSON *m = request_message(doc, n);
    assert_non_null(m);
    uar_str text = json_text(m, key);
    return text.ptr != NULL ? text.ptr : "";
}

/* A folder of the test's own; its name lives until the next call. */
static inline const char *fixture_folder(void) {
    static char path[256];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/uar-run-XXXXXX", base != NULL && base[0] != '\0' ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

static inline void fixture_remove(const char *folder) {
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static inline bool fixture_is_full(void) {
    const char *full = getenv("UAR_TEST_FULL");
    return full != NULL && strcmp(full, "1") == 0;
}

#endif
