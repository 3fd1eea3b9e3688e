/*
 * The allocation sweep over a whole life: build, a run with tools and approvals, another run, close. The n-th
 * allocation fails, once or for good; then: a typed error or a run with exactly one terminal event, nothing left over.
 *
 * Everything runs on one thread, so that the n-th allocation is the same one each time. The quick tier tries a part, thinned
 * by a seed that it prints (UAR_TEST_SEED runs the same part again); UAR_TEST_FULL=1 tries all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/host.h"
#include "support/probe_alloc.h"

#define EACH_QUICK 600

static const char SCRIPT[] =
    "{\"events\":[{\"reasoning\":\"hm\"},{\"text\":\"Let me see\"},"
    "{\"tool_call\":{\"index\":0,\"id\":\"a\",\"name\":\"now\",\"args_delta\":\"{}\"}},"
    "{\"tool_call\":{\"index\":1,\"id\":\"b\",\"name\":\"ask\",\"args_delta\":\"{\\\"x\\\":1}\"}},"
    "{\"tool_call\":{\"index\":2,\"id\":\"c\",\"name\":\"none\",\"args_delta\":\"{}\"}},"
    "{\"tool_call\":{\"index\":3,\"id\":\"d\",\"name\":\"fail\",\"args_delta\":\"{}\"}},"
    "{\"usage\":{\"input\":9,\"output\":4}},{\"finish\":\"tool_calls\"}]}\n"
    "{\"events\":[{\"text\":\"It is noon.\"},{\"finish\":\"stop\"}]}\n"
    "{\"events\":[{\"text\":\"Bye.\"},{\"finish\":\"stop\"}]}\n";

static const host_tool TOOLS[] = { { .name = "now", .way = HOST_ANSWERS, .result = "\"noon\"" },
                                   { .name = "ask", .way = HOST_ANSWERS, .result = "1", .approval = UAR_APPROVAL_ASK },
                                   { .name = "fail", .way = HOST_FAILS, .result = "broken" },
                                   { .name = NULL } };

/* What one life came to. */
typedef struct life {
    bool built;
    uar_status built_as;
    size_t started, ended; /* runs, and terminal events */
    size_t failed_starts;
    bool odd; /* a status that nothing in the headers allows */
} life;

static void note(life *l, uar_status status, bool allowed) {
    l->odd = l->odd || (status != UAR_OK && status != UAR_E_NOMEM && !allowed);
}

static void one_turn(host *h, life *l, uar_approvals approvals) {
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "What time is it?", .approvals = approvals };
    uar_run_id id;
    uar_outcome out;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_run_start(&id, host_runtime(h), &q, &err);
    note(l, status, false);
    if (status != UAR_OK) {
        l->odd = l->odd || err.code != status;
        l->failed_starts++;
        return;
    }
    l->started++;
    status = host_await(h, id, &out);
    l->odd = l->odd || status != UAR_OK;
    /* A run that lost its memory may leave its session as if its process had died; the next one takes it over. */
    if (status == UAR_OK) note(l, out.status, out.state == UAR_RUN_FAILED);
}

static life live(probe_alloc *probe) {
    life l = { .built = false };
    uar_error err = UAR_ERROR_INIT;
    host *h = host_open(&(host_options){ .script = SCRIPT,
                                         .tools = TOOLS,
                                         .allocator = &probe->door,
                                         .threading = UAR_THREADS_MANUAL,
                                         .instructions = "Be kind." },
                        &err);
    l.built = h != NULL;
    l.built_as = err.code;
    if (h == NULL) return l;
    one_turn(h, &l, UAR_APPROVALS_AUTO);
    one_turn(h, &l, UAR_APPROVALS_DENY);
    uar_reply *reply = NULL;
    uar_status status = uar_message_list_sync(&reply, host_runtime(h), "local", "me", "default", 0, 100, &err);
    note(&l, status, status == UAR_E_NOT_FOUND);
    uar_reply_free(reply);
    status = host_close_runtime(h, UAR_CLOSE_CANCEL, 5000);
    l.odd = l.odd || status != UAR_OK;
    l.ended = host_count(h, "RunDone ") + host_count(h, "RunFailed ") + host_count(h, "Cancelled ");
    (void)host_close(h, UAR_CLOSE_CANCEL);
    return l;
}

/* One life with the fault; false when the fault was never reached. */
static bool survive(probe_alloc *probe, unsigned long at, bool for_good) {
    int64_t before = uar_live_objects();
    probe_alloc_arm(probe, at, for_good);
    life l = live(probe);
    bool failed = probe_alloc_has_failed(probe);
    bool bad = l.odd || l.started != l.ended || probe->alive != 0 || uar_live_objects() != before ||
               (!l.built && l.built_as != UAR_E_NOMEM);
    if (bad)
        fail_msg("allocation %lu %s: built %d as %s, %zu runs of which %zu ended, %ld blocks and %lld objects left%s",
                 at, for_good ? "and all after it" : "once", l.built, uar_status_name(l.built_as), l.started, l.ended,
                 probe->alive, (long long)(uar_live_objects() - before), l.odd ? ", an odd status" : "");
    return failed;
}

static unsigned long seed(void) {
    const char *given = getenv("UAR_TEST_SEED");
    return given != NULL && given[0] != '\0' ? strtoul(given, NULL, 10) : (unsigned long)getpid();
}

static void sweep(bool for_good) {
    probe_alloc probe;
    probe_alloc_init(&probe);
    probe_alloc_arm(&probe, 0, false);
    life whole = live(&probe);
    assert_true(whole.built && !whole.odd);
    assert_int_equal(whole.started, 2);
    assert_int_equal(whole.ended, 2);
    assert_int_equal(probe.alive, 0);
    unsigned long count = probe.calls, step = 1, first = 1;
    const char *full = getenv("UAR_TEST_FULL");
    if (full == NULL || strcmp(full, "1") != 0) {
        step = count / EACH_QUICK + 1;
        first = 1 + seed() % step;
    }
    print_message("# %lu allocations, every %lu. from %lu on (UAR_TEST_SEED=%lu)\n", count, step, first, seed());
    for (unsigned long at = first; at <= count; at += step)
        (void)survive(&probe, at, for_good);
    assert_false(survive(&probe, 100 * count, for_good)); /* nothing was armed too early */
}

static void test_E5_a_life_in_which_one_allocation_fails(void **state) {
    (void)state;
    sweep(false);
}

static void test_E5_a_life_in_which_all_allocations_fail_from_some_point_on(void **state) {
    (void)state;
    sweep(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_E5_a_life_in_which_one_allocation_fails),
        cmocka_unit_test(test_E5_a_life_in_which_all_allocations_fail_from_some_point_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
