/* An owner is erased: from all answers and from all bytes, others untouched, also after a kill. */
#include "test_life_fixture.h"

#include <signal.h>
#include <sys/wait.h>

#include <uar/attachments.h>
#include <uar/memory_graph.h>
#include <uar/memory_stream.h>

#include "base/str.h"
#include "support/byte_scan.h"

/* Each word marks what belongs to one owner; the first eight bytes are looked for. */
static const char *const gone_words[] = { "goneownr", "goneuser", "gonesess", "gonetext", "goneattc",
                                          "gonemem1", "gonegrap", "gonestrm", "gonesetg", "goneagnt" };

static void fill_state(uar_runtime *rt, const char *owner, const char *mark) {
    char text[64];
    uar_reply *reply = NULL;
    (void)snprintf(text, sizeof text, "%sattc of bytes", mark);
    assert_int_equal(uar_attachment_put_sync(&reply, rt, owner, "me", NULL, uar_str_of(text), NULL), UAR_OK);
    uar_reply_free(reply);
    (void)snprintf(text, sizeof text, "\"%ssetg\"", mark);
    assert_int_equal(uar_setting_put_sync(&reply, rt, owner, "k", uar_str_of(text), NULL), UAR_OK);
    uar_reply_free(reply);
    (void)snprintf(text, sizeof text, "%sagnt", mark);
    const uar_agent agent = { .id = STR("a"), .instructions = uar_str_of(text), .revision = UINT64_MAX };
    assert_int_equal(uar_agent_put_sync(&reply, rt, owner, &agent, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(uar_counter_add_sync(&reply, rt, owner, "c", 1, NULL), UAR_OK);
    uar_reply_free(reply);
}

static void fill_memory(uar_memory *m, const char *owner, const char *mark) {
    char text[64], user[64];
    (void)snprintf(user, sizeof user, "%suser", mark);
    const uar_identity who = { UAR_IDENTITY_INIT, .owner = uar_str_of(owner), .user = uar_str_of(user) };
    (void)snprintf(text, sizeof text, "%smem1 likes tea", mark);
    uar_memory_draft draft = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of(text), .unique_key = uar_str_of(text) };
    draft.scope = UAR_MEMORY_SCOPE_USER;
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, m, &who, &draft, NULL), UAR_OK);
    (void)snprintf(text, sizeof text, "%sgrap", mark);
    uar_memory_entity_draft entity = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of(text) };
    assert_int_equal(uar_memory_graph_put_sync(&change, m, &who, &entity, NULL), UAR_OK);
    (void)snprintf(text, sizeof text, "%sstrm", mark);
    const uar_memory_stream_draft stream = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of(text) };
    uar_memory_streams *opened = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&opened, m, &who, &stream, NULL), UAR_OK);
    uar_memory_streams_free(opened);
}

static void fill(host *h, uar_memory *m, const char *owner, const char *mark) {
    char user[64], session[64], text[64];
    (void)snprintf(user, sizeof user, "%suser", mark);
    (void)snprintf(session, sizeof session, "%ssess", mark);
    (void)snprintf(text, sizeof text, "%stext", mark);
    for (int i = 0; i < 20; i++) {
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .owner = owner, .user = user, .session = session, .input = text };
        uar_outcome out;
        uar_run_id id;
        assert_int_equal(host_run(h, &q, &id, &out), UAR_OK);
        assert_int_equal(out.status, UAR_OK);
    }
    fill_state(host_runtime(h), owner, mark);
    fill_memory(m, owner, mark);
}

static size_t count_bytes(const life_place *p) {
    byte_scan scan;
    byte_scan_init(&scan);
    for (size_t i = 0; i < sizeof gone_words / sizeof *gone_words; i++)
        byte_scan_add(&scan, gone_words[i]);
    size_t found = byte_scan_store(&scan, p->store) + byte_scan_store(&scan, p->memory);
    byte_scan_dispose(&scan);
    return found;
}

static host *open_with_memory(const life_place *p, uar_memory **m) {
    *m = uar_memory_open(p->memory, NULL);
    assert_int_equal(uar_memory_state(*m, NULL), UAR_MEMORY_READY);
    return fixture_open(&(host_options){ .script = HELLO, .repeats = true, .store = p->store, .memory = *m });
}

static void expect_other_whole(host *h, uar_memory *m) {
    uar_reply *reply = NULL;
    assert_int_equal(uar_message_list_sync(&reply, host_runtime(h), "kept", "keptuser", "keptsess", 0, 100, NULL),
                     UAR_OK);
    assert_int_equal(reply->count, 40);
    uar_reply_free(reply);
    const uar_identity who = { UAR_IDENTITY_INIT, .owner = STR("kept"), .user = STR("keptuser") };
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, m, &who, NULL, NULL), UAR_OK);
    assert_true(stats.total >= 1);
    assert_int_equal(uar_memory_check_sync(m, NULL), UAR_OK);
}

static void an_erased_owner_is_in_no_byte_and_others_are_untouched(void **state) {
    (void)state;
    life_place p = place_make();
    uar_memory *m = NULL;
    host *h = open_with_memory(&p, &m);
    fill(h, m, "kept", "kept");
    fill(h, m, "goneowner", "gone");
    assert_true(count_bytes(&p) > 20);
    uar_reply *reply = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_owner_erase_sync(&reply, host_runtime(h), "goneowner", &err) != UAR_OK) fail_msg("%s", err.message);
    assert_non_null(strstr(reply->document.ptr, "\"message\":40"));
    assert_non_null(strstr(reply->document.ptr, "\"pending\":false"));
    assert_non_null(strstr(reply->document.ptr, "\"files\":\"rebuilt\""));
    uar_reply_free(reply);
    expect_other_whole(h, m);
    fixture_close(h);
    uar_memory_free(m);
    assert_int_equal(count_bytes(&p), 0);
    place_remove(&p);
}

static void an_owner_with_an_open_run_is_busy(void **state) {
    (void)state;
    host *h = fixture_script(LINE(TEXT("a") "," HOLD "," STOP));
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .user = "me", .session = "busy", .input = "x" };
    uar_run_id id;
    assert_int_equal(uar_run_start(&id, host_runtime(h), &q, NULL), UAR_OK);
    assert_true(host_hears(h, "ChatDelta", 1));
    uar_reply *reply = NULL;
    assert_int_equal(uar_owner_erase_sync(&reply, host_runtime(h), "local", NULL), UAR_E_BUSY);
    assert_int_equal(uar_owner_erase_sync(&reply, host_runtime(h), "~", NULL), UAR_E_INVALID);
    assert_null(reply);
    fixture_close(h);
}

static void an_erasure_that_was_killed_is_completed_by_the_next_call(void **state) {
    (void)state;
    for (long us = 0; us <= 8000; us += 2000) {
        life_place p = place_make();
        uar_memory *m = NULL;
        host *h = open_with_memory(&p, &m);
        fill(h, m, "kept", "kept");
        fill(h, m, "goneowner", "gone");
        fixture_close(h);
        uar_memory_free(m);
        int pipes[2];
        char byte = 'x';
        assert_int_equal(pipe(pipes), 0);
        pid_t pid = fork();
        if (pid == 0) {
            uar_reply *reply = NULL;
            h = open_with_memory(&p, &m);
            if (write(pipes[1], &byte, 1) != 1) _exit(1);
            (void)uar_owner_erase_sync(&reply, host_runtime(h), "goneowner", NULL);
            _exit(0);
        }
        assert_int_equal(read(pipes[0], &byte, 1), 1);
        nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        (void)close(pipes[0]);
        (void)close(pipes[1]);
        h = open_with_memory(&p, &m);
        uar_reply *reply = NULL;
        uar_error err = UAR_ERROR_INIT;
        if (uar_owner_erase_sync(&reply, host_runtime(h), "goneowner", &err) != UAR_OK) fail_msg("%s", err.message);
        uar_reply_free(reply);
        expect_other_whole(h, m);
        fixture_close(h);
        uar_memory_free(m);
        assert_int_equal(count_bytes(&p), 0);
        place_remove(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(an_erased_owner_is_in_no_byte_and_others_are_untouched),
        fixture_test(an_owner_with_an_open_run_is_busy),
        fixture_test(an_erasure_that_was_killed_is_completed_by_the_next_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
