/*
 * The callback sweep under UAR_THREADS_MANUAL, where every case is the same each time, and the proof that the checker of
 * events and the harness find what is wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/callback.h"
#include "fault/folder.h"

/* Tenths of a case a door and way in the quick tier. */
#define WANTED 100

static void test_door(void **state) {
    door d = *(const door *)*state;
    char name[64], word[32];
    unsigned long index = 0;
    findings sheet;
    (void)snprintf(name, sizeof name, "manual_%s", door_word(d));
    if (fault_is_asked() && !fault_asked(name, &index, word)) skip();
    memset(&sheet, 0, sizeof sheet);
    (void)test_seed();
    watch_signals();
    fault_sheet = &sheet;
    callback_tally tally = callback_sweep(UAR_THREADS_MANUAL, d, WANTED, NULL);
    fault_sheet = NULL;
    print_message("# %s: %lu calls, %lu faults in %lu cases\n", name, tally.calls, tally.faults, tally.cases);
    if (sheet.count != 0) fail_msg("%zu findings\n%s\n", sheet.count, sheet.text);
    assert_true(tally.faults > 0);
}

/* Memory is asked before and after each run, and by the test itself: adding, searching, embedding what is left. */
static void each_call_of_the_embedder_goes_wrong_in_every_way(void **state) {
    (void)state;
    char folder[64], path[96], word[32];
    unsigned long index = 0;
    findings sheet;
    if (fault_is_asked() && !fault_asked("manual_embed", &index, word)) skip();
    memset(&sheet, 0, sizeof sheet);
    folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/memory.db", folder);
    watch_signals();
    fault_sheet = &sheet;
    callback_tally tally = callback_sweep(UAR_THREADS_MANUAL, DOOR_EMBED, WANTED, path);
    fault_sheet = NULL;
    print_message("# manual_embed: %lu calls, %lu faults in %lu cases\n", tally.calls, tally.faults, tally.cases);
    store_files_remove(path);
    (void)rmdir(folder);
    if (sheet.count != 0) fail_msg("%zu findings\n%s\n", sheet.count, sheet.text);
    assert_true(fault_is_asked() || tally.calls >= 8);
    assert_true(tally.faults > 0);
}

/* A memory that says of a record without a vector that it has one is found out: here the embedder never answers again. */
static void control_a_missing_vector_is_caught(void **state) {
    (void)state;
    char home[64], path[96];
    fault_port port;
    findings sheet;
    memset(&sheet, 0, sizeof sheet);
    folder_make(home);
    (void)snprintf(path, sizeof path, "%s/memory.db", home);
    port_init(&port);
    fault_sheet = &sheet;
    world *w = world_new(&port);
    w->door = DOOR_EMBED;
    w->index = 2;
    w->way = WAY_ERROR;
    world_remember(w, path);
    remember_some(w);
    w->index = atomic_load(&w->calls[DOOR_EMBED]) + 1;
    uar_identity who = { UAR_IDENTITY_INIT, .user = uar_str_of("me") };
    uar_memory_draft d = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of("written while it fails") };
    uar_memory_change change;
    w->direct = true;
    assert_int_equal(uar_memory_add_sync(&change, w->memory, &who, &d, NULL), UAR_OK);
    w->index++;
    memory_is_whole(w);
    forget_memory(w);
    world_free(w);
    fault_sheet = NULL;
    store_files_remove(path);
    (void)rmdir(home);
    assert_true(sheet.count >= 1);
    assert_non_null(strstr(sheet.text, "vector"));
    assert_int_equal(atomic_load(&port.alive), 0);
}

/* A request that was begun and never ran is answered by the close. */
static void a_close_answers_what_was_never_begun(void **state) {
    (void)state;
    fault_port port;
    port_init(&port);
    int64_t live = uar_live_objects();
    world *w = world_new(&port);
    uar_run_id id;
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "plain" };
    world_must_build(w);
    w->replies_due = 1;
    assert_int_equal(uar_session_list(w->rt, "local", "me", uar_str_of(NULL), 10, on_reply, w, NULL), UAR_OK);
    assert_int_equal(uar_run_start(&id, w->rt, &q, NULL), UAR_OK);
    assert_int_equal(world_close_runtime(w, UAR_CLOSE_CANCEL, CLOSE_MS), UAR_OK);
    assert_int_equal(w->replies, 1);
    world_free(w);
    assert_int_equal(atomic_load(&port.alive), 0);
    assert_int_equal(uar_live_objects(), live);
}

/* The store never answers: a run that was to be cancelled still has its terminal event, for who listens. */
static void test_E5_a_cancelling_close_ends_a_run_whose_store_is_stuck(void **state) {
    (void)state;
    fault_port port;
    char text[160];
    port_init(&port);
    world *w = world_new(&port);
    w->door = DOOR_COMMIT;
    w->index = 3;
    w->way = WAY_NEVER;
    w->glance_ms = 5000;
    world_must_build(w);
    assert_int_equal(world_say(w, "tool"), UAR_E_TIMEOUT);
    uar_run_id id = newest_run(w);
    assert_int_equal(world_close_runtime(w, UAR_CLOSE_CANCEL, CLOSE_MS), UAR_E_TIMEOUT);
    assert_null(witness_fault(w->heard.items, w->heard.count, id, VERDICT_ENDED, text));
    world_free(w);
    assert_int_equal(atomic_load(&port.alive), 0);
}

/* The same when there is no memory at all: neither the request to stop nor the end needs any. */
static void test_E5_a_close_without_memory_ends_and_frees_every_run(void **state) {
    (void)state;
    fault_port port;
    char text[160];
    port_init(&port);
    int64_t live = uar_live_objects();
    world *w = world_new(&port);
    w->glance_ms = 5000;
    world_must_build(w);
    assert_int_equal(world_say(w, "hold"), UAR_E_TIMEOUT);
    uar_run_id id = newest_run(w);
    port_arm(&port, 1, true);
    (void)world_close_runtime(w, UAR_CLOSE_CANCEL, CLOSE_MS);
    port_disarm(&port);
    assert_null(witness_fault(w->heard.items, w->heard.count, id, VERDICT_ENDED, text));
    world_free(w);
    assert_int_equal(atomic_load(&port.alive), 0);
    assert_int_equal(uar_live_objects(), live);
}

/* ---- controls ---- */

static heard event(uint64_t id, uar_event_kind kind) {
    heard h = { .what = UAR_NEXT_EVENT, .id = id, .kind = kind };
    return h;
}

static const char *judge(const heard *items, size_t count, verdict expected) {
    static char text[160];
    uar_run_id none;
    memset(&none, 0, sizeof none);
    return witness_fault(items, count, none, expected, text);
}

static void control_a_right_list_of_events_passes(void **state) {
    (void)state;
    heard list[] = { event(1, UAR_EVENT_RUN_START),
                     event(2, UAR_EVENT_CHAT_DELTA),
                     event(3, UAR_EVENT_RUN_DONE),
                     event(4, UAR_EVENT_MEMORY_MUTATION),
                     { .what = UAR_NEXT_CLOSED } };
    assert_null(judge(list, 5, VERDICT_ENDED));
    assert_null(judge(list, 2, VERDICT_OPEN));
}

static void control_two_terminal_events_are_caught(void **state) {
    (void)state;
    heard list[] = { event(1, UAR_EVENT_RUN_DONE), event(2, UAR_EVENT_RUN_FAILED) };
    assert_string_equal(judge(list, 2, VERDICT_ENDED), "a second terminal event");
}

static void control_a_missing_terminal_event_is_caught(void **state) {
    (void)state;
    heard list[] = { event(1, UAR_EVENT_RUN_START), event(2, UAR_EVENT_CHAT_DELTA) };
    assert_string_equal(judge(list, 2, VERDICT_ENDED), "no terminal event");
}

static void control_a_terminal_event_of_a_parked_run_is_caught(void **state) {
    (void)state;
    heard list[] = { event(1, UAR_EVENT_RUN_START), event(2, UAR_EVENT_CANCELLED) };
    assert_non_null(judge(list, 2, VERDICT_OPEN));
}

static void control_a_hole_and_a_repeat_are_caught(void **state) {
    (void)state;
    heard hole[] = { event(1, UAR_EVENT_RUN_START), event(3, UAR_EVENT_RUN_DONE) };
    heard repeat[] = { event(1, UAR_EVENT_RUN_START), event(1, UAR_EVENT_RUN_START) };
    heard gap[] = { event(1, UAR_EVENT_RUN_START),
                    { .what = UAR_NEXT_GAP, .id = 2, .last = 9 },
                    event(10, UAR_EVENT_RUN_DONE) };
    assert_string_equal(judge(hole, 2, VERDICT_ENDED), "event 3 came where 2 was due");
    assert_string_equal(judge(repeat, 2, VERDICT_ENDED), "event 1 came where 2 was due");
    assert_null(judge(gap, 3, VERDICT_ENDED));
}

static void control_what_comes_after_the_end_is_caught(void **state) {
    (void)state;
    heard late[] = { event(1, UAR_EVENT_RUN_DONE), event(2, UAR_EVENT_CHAT_DELTA) };
    heard after[] = { event(1, UAR_EVENT_RUN_DONE), { .what = UAR_NEXT_CLOSED }, event(2, UAR_EVENT_ERROR) };
    assert_non_null(judge(late, 2, VERDICT_ENDED));
    assert_non_null(judge(after, 3, VERDICT_ENDED));
}

/* A run that waits for ever is told from one that goes on. */
static void control_a_hang_is_caught(void **state) {
    (void)state;
    fault_port port;
    port_init(&port);
    world *w = world_new(&port);
    w->glance_ms = 5000;
    world_must_build(w);
    assert_int_equal(world_say(w, "hold"), UAR_E_TIMEOUT);
    assert_int_equal(world_say_in(w, "t", "plain", NULL), UAR_OK);
    world_free(w);
    assert_int_equal(atomic_load(&port.alive), 0);
}

/* A reference that the host forgot is a leak that the counts show. */
static void control_a_leak_is_caught(void **state) {
    (void)state;
    fault_port port;
    port_init(&port);
    int64_t live = uar_live_objects();
    world *w = world_new(&port);
    w->door = DOOR_EVENT;
    w->index = 3;
    w->way = WAY_LATE;
    world_must_build(w);
    assert_int_equal(world_say(w, "plain"), UAR_OK);
    assert_int_equal(w->kept_count, 1);
    const uar_event *kept = w->kept[0].event;
    w->kept_count = 0;
    world_free(w);
    assert_true(atomic_load(&port.alive) > 0);
    assert_true(uar_live_objects() > live);
    uar_event_unref(kept);
    assert_int_equal(atomic_load(&port.alive), 0);
    assert_int_equal(uar_live_objects(), live);
}

static void a_day_without_faults_calls_every_door(void **state) {
    (void)state;
    fault_port port;
    port_init(&port);
    world *w = world_new(&port);
    world_must_build(w);
    day(w);
    for (int d = DOOR_GET; d < DOOR_COUNT; d++)
        if (d != DOOR_EMBED) assert_true(atomic_load(&w->calls[d]) > 0);
    world_free(w);
}

int main(void) {
    static const door doors[] = { DOOR_GET,  DOOR_LIST,        DOOR_COMMIT, DOOR_MODEL,  DOOR_MODEL_CANCEL,
                                  DOOR_TOOL, DOOR_TOOL_CANCEL, DOOR_EVENT,  DOOR_CLOSED, DOOR_REPLY };
    static char names[sizeof doors / sizeof *doors][64];
    struct CMUnitTest tests[14 + sizeof doors / sizeof *doors] = {
        cmocka_unit_test(control_a_right_list_of_events_passes),
        cmocka_unit_test(control_two_terminal_events_are_caught),
        cmocka_unit_test(control_a_missing_terminal_event_is_caught),
        cmocka_unit_test(control_a_terminal_event_of_a_parked_run_is_caught),
        cmocka_unit_test(control_a_hole_and_a_repeat_are_caught),
        cmocka_unit_test(control_what_comes_after_the_end_is_caught),
        cmocka_unit_test(control_a_hang_is_caught),
        cmocka_unit_test(control_a_leak_is_caught),
        cmocka_unit_test(a_day_without_faults_calls_every_door),
        cmocka_unit_test(a_close_answers_what_was_never_begun),
        cmocka_unit_test(test_E5_a_cancelling_close_ends_a_run_whose_store_is_stuck),
        cmocka_unit_test(test_E5_a_close_without_memory_ends_and_frees_every_run),
        cmocka_unit_test(each_call_of_the_embedder_goes_wrong_in_every_way),
        cmocka_unit_test(control_a_missing_vector_is_caught),
    };
    for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
        (void)snprintf(names[i], sizeof names[i], "each call of %s goes wrong in every way", door_word(doors[i]));
        tests[14 + i].name = names[i];
        tests[14 + i].test_func = test_door;
        tests[14 + i].initial_state = (void *)(uintptr_t)&doors[i];
    }
    return cmocka_run_group_tests_name("every callback may go wrong", tests, NULL, NULL);
}
