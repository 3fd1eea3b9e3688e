/* Runs that only talk: events, stored messages, retries, ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/host.h"

static host *open_host(const char *script) {
    uar_error err = UAR_ERROR_INIT;
    host *h = host_open(&(host_options){ .script = script }, &err);
    if (h == NULL) fail_msg("%s", err.message);
    return h;
}

static void expect_kinds(host *h, const char *kinds) {
    char *heard = host_kinds(h);
    assert_string_equal(heard, kinds);
    free(heard);
}

static void close_host(host *h) {
    assert_int_equal(host_close(h, UAR_CLOSE_CANCEL), UAR_OK);
}

static void an_answer_streams_and_is_stored(void **state) {
    (void)state;
    int64_t before = uar_live_objects();
    host *h = open_host("{\"events\":[{\"text\":\"Hel\"},{\"text\":\"lo\"},{\"usage\":{\"input\":5,\"output\":2}},{\"finish\":\"stop\"}]}");
    uar_outcome out;
    assert_int_equal(host_say(h, "Hi", &out), UAR_OK);
    assert_int_equal(out.status, UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    expect_kinds(h, "RunStart RuntimeStep ChatDelta ChatDelta RunDone");
    uar_reply *reply = NULL;
    assert_int_equal(uar_message_list_sync(&reply, host_runtime(h), "local", "me", "default", 0, 100, NULL), UAR_OK);
    assert_int_equal(reply->count, 2);
    assert_true(uar_str_equal(reply->messages[1].parts[0].text, uar_str_of("Hello")));
    uar_reply_free(reply);
    close_host(h);
    assert_int_equal(uar_live_objects(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_streams_and_is_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
