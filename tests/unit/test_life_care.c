/* Retention, memory given back, and what support is told. */
#include "test_life_fixture.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/str.h"

static uar_reply *retain(host *h, const uar_retention *r) {
    uar_reply *reply = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_retain_sync(&reply, host_runtime(h), "local", r, &err) != UAR_OK) fail_msg("%s", err.message);
    return reply;
}

static void sessions_that_are_too_old_go_and_the_others_stay(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .repeats = true });
    (void)say_in(h, "me", "old", "x");
    (void)say_in(h, "you", "old", "x");
    (void)say_in(h, "me", "named", "x");
    uar_reply *reply = NULL;
    assert_int_equal(uar_session_rename_sync(&reply, host_runtime(h), "local", "me", "named", "n", NULL), UAR_OK);
    uar_reply_free(reply);
    nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
    (void)say_in(h, "me", "new", "x");
    uar_retention r = { UAR_RETENTION_INIT, .max_age_ms = 200, .keep_named = true, .dry_run = true };
    reply = retain(h, &r);
    assert_int_equal(reply->number, 2);
    assert_int_equal(session_status(h, "old"), UAR_OK);
    uar_reply_free(reply);
    r.dry_run = false;
    reply = retain(h, &r);
    assert_int_equal(reply->number, 2);
    assert_non_null(strstr(reply->document.ptr, "\"deleted\":2,\"dry_run\":false,\"kept_open\":0"));
    assert_non_null(strstr(reply->document.ptr, "\"sessions\":4"));
    uar_reply_free(reply);
    assert_int_equal(session_status(h, "old"), UAR_E_NOT_FOUND);
    assert_int_equal(session_status(h, "named"), UAR_OK);
    assert_int_equal(session_status(h, "new"), UAR_OK);
    fixture_close(h);
}

static void the_oldest_sessions_go_until_the_bytes_fit(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .repeats = true });
    char session[8];
    for (int i = 9; i > 0; i--) {
        (void)snprintf(session, sizeof session, "s%d", i);
        (void)say_in(h, "me", session, "the same words");
        nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
    }
    uar_retention r = { UAR_RETENTION_INIT, .max_bytes = 1, .dry_run = true };
    uar_reply *reply = retain(h, &r);
    assert_int_equal(reply->number, 9);
    const char *before = strstr(reply->document.ptr, "\"bytes_before\":");
    assert_non_null(before);
    unsigned long bytes = strtoul(before + 15, NULL, 10);
    uar_reply_free(reply);
    r.dry_run = false;
    r.max_bytes = bytes * 4 / 9 + 1;
    reply = retain(h, &r);
    assert_int_equal(reply->number, 5);
    uar_reply_free(reply);
    assert_int_equal(session_status(h, "s5"), UAR_E_NOT_FOUND);
    assert_int_equal(session_status(h, "s4"), UAR_OK);
    reply = NULL;
    r = (uar_retention){ UAR_RETENTION_INIT, .keep_named = true };
    assert_int_equal(uar_retain_sync(&reply, host_runtime(h), "local", &r, NULL), UAR_E_INVALID);
    fixture_close(h);
}

static void a_session_with_an_open_run_stays(void **state) {
    (void)state;
    host *h = fixture_script(LINE(TEXT("a") "," HOLD "," STOP));
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .user = "me", .session = "busy", .input = "x" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    assert_true(host_hears(h, "ChatDelta", 1));
    const uar_retention r = { UAR_RETENTION_INIT, .max_bytes = 1 };
    uar_reply *reply = retain(h, &r);
    assert_int_equal(reply->number, 0);
    assert_non_null(strstr(reply->document.ptr, "\"kept_open\":1"));
    uar_reply_free(reply);
    assert_int_equal(session_status(h, "busy"), UAR_OK);
    fixture_close(h);
}

/* An allocator that counts what it holds. */
typedef union counted {
    size_t size;
    max_align_t align;
} counted;

static void *count_alloc(void *ctx, size_t size) {
    counted *c = malloc(sizeof *c + size);
    if (c == NULL) return NULL;
    c->size = size;
    atomic_fetch_add((atomic_size_t *)ctx, size);
    return c + 1;
}

static void count_release(void *ctx, void *ptr) {
    counted *c = (counted *)ptr - 1;
    atomic_fetch_sub((atomic_size_t *)ctx, c->size);
    free(c);
}

static void *count_resize(void *ctx, void *ptr, size_t size) {
    if (ptr == NULL) return count_alloc(ctx, size);
    void *fresh = count_alloc(ctx, size);
    if (fresh == NULL) return NULL;
    size_t old = ((counted *)ptr - 1)->size;
    memcpy(fresh, ptr, old < size ? old : size);
    count_release(ctx, ptr);
    return fresh;
}

static void trimming_gives_memory_back_and_loses_nothing(void **state) {
    (void)state;
    life_place p = place_make();
    atomic_size_t held;
    atomic_init(&held, 0);
    const uar_allocator allocator = { UAR_ALLOCATOR_INIT, &held, count_alloc, count_resize, count_release };
    const uar_memory_options mo = { UAR_MEMORY_OPTIONS_INIT, .allocator = &allocator };
    uar_memory *m = uar_memory_open(p.memory, &mo);
    const uar_identity who = { UAR_IDENTITY_INIT, .user = STR("me") };
    for (int i = 0; i < 200; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "fact number %d about tea", i);
        const uar_memory_draft d = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of(text),
                                     .scope = UAR_MEMORY_SCOPE_USER };
        uar_memory_change change;
        assert_int_equal(uar_memory_add_sync(&change, m, &who, &d, NULL), UAR_OK);
    }
    host *h = fixture_open(
        &(host_options){ .script = HELLO, .repeats = true, .memory = m, .allocator = &allocator, .quiet = true });
    for (int i = 0; i < 12; i++)
        (void)say_in(h, "me", "s", "what of tea?");
    host_rest(h, 50);
    size_t before = atomic_load(&held);
    uint64_t said = uar_runtime_trim(host_runtime(h));
    size_t after = atomic_load(&held);
    assert_true(said > 10000);
    assert_true(after + said / 2 < before);
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, m, &who, NULL, NULL), UAR_OK);
    assert_true(stats.total >= 200);
    (void)say_in(h, "me", "s", "and now?");
    uar_reply *reply = fixture_messages(h, "s");
    assert_int_equal(reply->count, 26);
    uar_reply_free(reply);
    fixture_close(h);
    uar_memory_free(m);
    assert_int_equal(atomic_load(&held), 0);
    place_remove(&p);
}

static void what_support_is_told_holds_no_word_of_anybody(void **state) {
    (void)state;
    life_place p = place_make();
    const host_tool tools[] = { { .name = "canarytool", .result = "\"canaryresult\"" }, { .name = NULL } };
    uar_memory *m = uar_memory_open(p.memory, NULL);
    host *h = fixture_open(&(host_options){ .script = LINE(CALL(0, "canarycall", "canarytool", "{}") "," CALLS)
                                                LINE(TEXT("canaryanswer") "," STOP),
                                            .tools = tools,
                                            .store = p.store,
                                            .memory = m,
                                            .instructions = "canaryinstructions" });
    uar_run_request q = { UAR_RUN_REQUEST_INIT,       .owner = "canaryowner", .user = "canaryuser",
                          .session = "canarysession", .agent = "canaryagent", .input = "canaryinput" };
    uar_outcome out;
    uar_run_id id;
    assert_int_equal(host_run(h, &q, &id, &out), UAR_OK);
    uar_reply *reply = NULL;
    assert_int_equal(uar_diagnostics_sync(&reply, host_runtime(h), NULL), UAR_OK);
    cJSON *tree = NULL;
    assert_int_equal(json_read(&tree, &alloc_default, reply->document, SIZE_MAX, NULL), UAR_OK);
    json_free(&alloc_default, tree);
    assert_null(strstr(reply->document.ptr, "canary"));
    assert_null(strstr(reply->document.ptr, p.folder));
    char run[UAR_UUID_TEXT];
    uar_uuid_format(run, id);
    assert_null(strstr(reply->document.ptr, run));
    assert_non_null(strstr(reply->document.ptr, "\"memory\":\"ready\""));
    assert_non_null(strstr(reply->document.ptr, "\"heartbeats\":1"));
    assert_non_null(strstr(reply->document.ptr, "\"status\":\"UAR_OK\""));
    uar_reply_free(reply);
    fixture_close(h);
    uar_memory_free(m);
    place_remove(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(sessions_that_are_too_old_go_and_the_others_stay),
        fixture_test(the_oldest_sessions_go_until_the_bytes_fit),
        fixture_test(a_session_with_an_open_run_stays),
        fixture_test(trimming_gives_memory_back_and_loses_nothing),
        fixture_test(what_support_is_told_holds_no_word_of_anybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
