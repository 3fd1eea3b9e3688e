/*
 * A seeded subset of the callback sweep under UAR_THREADS_POOL: the same faults while runs, sinks and the store work on
 * threads of their own. Runs under ThreadSanitizer too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/callback.h"

/* Tenths of a case a door and way in the quick tier: real time passes here. */
#define WANTED 4

static void test_door(void **state) {
    door d = *(const door *)*state;
    char name[64], word[32];
    unsigned long index = 0;
    findings sheet;
    (void)snprintf(name, sizeof name, "pool_%s", door_word(d));
    if (fault_is_asked() && !fault_asked(name, &index, word)) skip();
    memset(&sheet, 0, sizeof sheet);
    (void)test_seed();
    watch_signals();
    fault_sheet = &sheet;
    callback_tally tally = callback_sweep(UAR_THREADS_POOL, d, WANTED, NULL);
    fault_sheet = NULL;
    print_message("# %s: %lu calls, %lu faults in %lu cases\n", name, tally.calls, tally.faults, tally.cases);
    if (sheet.count != 0) fail_msg("%zu findings\n%s\n", sheet.count, sheet.text);
}

int main(void) {
    static const door doors[] = { DOOR_GET,  DOOR_LIST,        DOOR_COMMIT, DOOR_MODEL,  DOOR_MODEL_CANCEL,
                                  DOOR_TOOL, DOOR_TOOL_CANCEL, DOOR_EVENT,  DOOR_CLOSED, DOOR_REPLY };
    static char names[sizeof doors / sizeof *doors][64];
    struct CMUnitTest tests[sizeof doors / sizeof *doors];
    memset(tests, 0, sizeof tests);
    for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
        (void)snprintf(names[i], sizeof names[i], "on a pool, calls of %s go wrong in every way", door_word(doors[i]));
        tests[i].name = names[i];
        tests[i].test_func = test_door;
        tests[i].initial_state = (void *)(uintptr_t)&doors[i];
    }
    return cmocka_run_group_tests_name("callbacks may go wrong on any thread", tests, NULL, NULL);
}
