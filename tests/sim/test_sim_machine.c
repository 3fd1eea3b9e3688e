/*
 * Runs of the step machine against a host that does everything in any order. Quick: 20,000 runs; UAR_TEST_FULL: 1,000,000.
 * The seed is printed; UAR_TEST_SEED sets it, and run N of seed S is always the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/str.h"
#include "sim/machine_host.h"

static uint64_t first_seed(void) {
    const char *text = getenv("UAR_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 20260;
    print_message("# seed %llu\n", (unsigned long long)seed);
    return seed;
}

static uint64_t rounds(uint64_t quick, uint64_t full) {
    const char *text = getenv("UAR_TEST_FULL");
    return text != NULL && text[0] != '\0' && text[0] != '0' ? full : quick;
}

static choices choices_of_run(uint64_t seed, uint64_t run) {
    return choices_of_seed(seed * 1000003u + run);
}

static void expect_kept(const char *fault, uint64_t seed, uint64_t run) {
    if (fault != NULL)
        fail_msg("seed %llu, run %llu: this doesn't hold: %s", (unsigned long long)seed, (unsigned long long)run,
                 fault);
}

static void every_run_keeps_the_promises_of_the_machine(void **state) {
    (void)state;
    uint64_t seed = first_seed(), count = rounds(20000, 1000000);
    host_tally t = { 0 };
    for (uint64_t run = 0; run < count; run++) {
        choices c = choices_of_run(seed, run);
        expect_kept(machine_host_play(&c, BREAK_NOTHING, &t, NULL), seed, run);
    }
    print_message("# %llu runs: %llu feeds, %llu stale, %llu done, %llu failed, %llu cancelled, %llu parked\n",
                  (unsigned long long)count, (unsigned long long)t.feeds, (unsigned long long)t.stale,
                  (unsigned long long)t.done, (unsigned long long)t.failed, (unsigned long long)t.cancelled,
                  (unsigned long long)t.parked);
    print_message("# %llu calls, %llu asks, %llu attempts superseded, %llu saves tried again\n",
                  (unsigned long long)t.calls, (unsigned long long)t.asks, (unsigned long long)t.superseded,
                  (unsigned long long)t.save_retries);
    /* A host that reaches too little proves too little. */
    uint64_t few = count / 50;
    assert_true(t.done > few && t.failed > few && t.cancelled > few && t.parked > few && t.stale > few);
    assert_true(t.calls > few && t.asks > few && t.superseded > few && t.save_retries > few);
}

/* Where a number or a flag begins, from `start` on, and how long it is; 0: nowhere. */
static size_t find_value(const buffer *document, size_t start, size_t *len) {
    for (size_t at = start; at + 5 < document->len; at++) {
        const char *p = document->ptr + at;
        if (p[-1] != ':') continue;
        *len = strcspn(p, ",}");
        if (strchr("-0123456789tf", *p) != NULL) return at;
    }
    return 0;
}

/* One number or flag changed. */
static void damage(buffer *document, choices *c) {
    static const char *const values[] = { "0", "1", "2", "3",    "4",          "5",    "6",
                                          "7", "8", "9", "-214", "4294967295", "true", "false" };
    size_t len = 0, at = find_value(document, 1 + choices_draw(c) % document->len, &len);
    if (at == 0) return;
    bool is_flag = document->ptr[at] == 't' || document->ptr[at] == 'f';
    const char *value = is_flag ? values[12 + choose(c, 2)] : values[choose(c, 12)];
    buffer changed;
    buffer_init(&changed, &alloc_default, SIZE_MAX / 4);
    buffer_append(&changed, document->ptr, at);
    buffer_append_text(&changed, value);
    buffer_append_text(&changed, document->ptr + at + len);
    buffer_dispose(document);
    *document = changed;
}

static void a_document_with_changed_fields_is_refused_or_keeps_the_promises(void **state) {
    (void)state;
    uint64_t seed = first_seed(), count = rounds(20000, 500000), accepted = 0, tried = 0;
    buffer path, document;
    buffer_init(&path, &alloc_default, SIZE_MAX / 4);
    buffer_init(&document, &alloc_default, SIZE_MAX / 4);
    for (uint64_t run = 0; tried < count; run++) {
        choices c = choices_of_run(seed, run);
        buffer_reset(&path);
        expect_kept(machine_host_play(&c, BREAK_NOTHING, NULL, &path), seed, run);
        for (int i = 0; i < 20; i++, tried++) {
            size_t line = choices_draw(&c) % path.len;
            while (line > 0 && path.ptr[line - 1] != '\n')
                line--;
            uar_str text = uar_str_n(path.ptr + line, (size_t)(strchr(path.ptr + line, '\n') - (path.ptr + line)));
            buffer_reset(&document);
            buffer_append_str(&document, text);
            for (unsigned changes = 1 + choose(&c, 3); changes > 0; changes--)
                damage(&document, &c);
            bool is_accepted = false;
            expect_kept(machine_host_read(buffer_str(&document), &c, &is_accepted), seed, run);
            accepted += is_accepted;
        }
    }
    print_message("# %llu documents, %llu accepted\n", (unsigned long long)tried, (unsigned long long)accepted);
    assert_true(accepted > tried / 50 && accepted < tried - tried / 50);
    buffer_dispose(&path);
    buffer_dispose(&document);
}

static void a_lost_allocation_breaks_the_machine_and_leaks_nothing(void **state) {
    (void)state;
    uint64_t seed = first_seed(), count = rounds(1500, 30000), lost = 0;
    for (uint64_t run = 0; run < count; run++) {
        bool failed = true;
        for (unsigned long at = 1; failed; at++) {
            choices c = choices_of_run(seed, run);
            expect_kept(machine_host_starve(&c, at, &failed), seed, run);
            lost += failed;
        }
    }
    print_message("# %llu allocations lost\n", (unsigned long long)lost);
    assert_true(lost > count);
}

/* A control: with this fault in the host some run must be found out. */
static void expect_found(host_break broken) {
    for (uint64_t run = 0; run < 500; run++) {
        choices c = choices_of_run(1, run);
        if (machine_host_play(&c, broken, NULL, NULL) != NULL) return;
    }
    fail_msg("fault %d of the host was not found", (int)broken);
}

static void a_second_terminal_event_is_found(void **state) {
    (void)state;
    expect_found(BREAK_SECOND_TERMINAL);
}

static void a_lost_tool_end_is_found(void **state) {
    (void)state;
    expect_found(BREAK_LOST_TOOL_END);
}

static void a_call_that_runs_before_its_save_is_found(void **state) {
    (void)state;
    expect_found(BREAK_EARLY_INVOKE);
}

static void a_second_save_is_found(void **state) {
    (void)state;
    expect_found(BREAK_SECOND_SAVE);
}

static void a_document_that_loses_a_limit_is_found(void **state) {
    (void)state;
    expect_found(BREAK_TWIN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_run_keeps_the_promises_of_the_machine),
        cmocka_unit_test(a_document_with_changed_fields_is_refused_or_keeps_the_promises),
        cmocka_unit_test(a_lost_allocation_breaks_the_machine_and_leaks_nothing),
        cmocka_unit_test(a_second_terminal_event_is_found),
        cmocka_unit_test(a_lost_tool_end_is_found),
        cmocka_unit_test(a_call_that_runs_before_its_save_is_found),
        cmocka_unit_test(a_second_save_is_found),
        cmocka_unit_test(a_document_that_loses_a_limit_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
