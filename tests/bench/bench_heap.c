/*
 * Heap of a session, as the allocator door sees it: its peak, and whether it grows from turn to turn. The records of the
 * volatile store are not in it: it takes its memory from malloc.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent.h"
#include "bench.h"
#include "counting.h"

#define FIRST_TURN 200
#define LAST_TURN 1000
/* Deltas that fill a ring of 512 events. */
#define FULL 600

/* ---- peak ---- */

typedef struct load {
    const char *name; /* of the figure */
    const agent_answer *plan;
    size_t plan_count;
    size_t turns; /* in one session */
} load;

static void measure_peak(const load *l) {
    counting heap;
    counting_init(&heap);
    agent_options options = { .allocator = &heap.door,
                              .threading = UAR_THREADS_MANUAL,
                              .plan = l->plan,
                              .plan_count = l->plan_count,
                              .delta = "Some ",
                              .feeds = true,
                              .result_bytes = 51 }; /* 20 results: 1 KB in all */
    agent *a = agent_open(&options);
    for (size_t turn = 0; turn < l->turns; turn++)
        agent_turn(a, "s", "Do I need a coat in Oslo?", 16);
    bench_check(agent_calls(a) == l->plan_count, "the model was asked as planned");
    agent_close(a);
    bench_report(l->name, (double)heap.peak / 1000, "KB", BENCH_BELOW, 324);
    bench_check(heap.bytes == 0, "everything is given back at the end");
}

static void measure_peaks(void) {
    agent_answer one[11], last[20], each[20];
    for (size_t i = 0; i < 10; i++)
        one[i] = (agent_answer){ 5, 2 };
    one[10] = (agent_answer){ FULL, 0 };
    for (size_t i = 0; i < 20; i++) {
        last[i] = i % 2 == 0 ? (agent_answer){ 5, 2 } : (agent_answer){ i == 19 ? FULL : 20, 0 };
        each[i] = i % 2 == 0 ? (agent_answer){ 5, 2 } : (agent_answer){ FULL, 0 };
    }
    const load loads[] = { { "heap.peak.one_run", one, 11, 1 },
                           { "heap.peak.session", last, 20, 10 },
                           { "heap.peak.session.full_rings", each, 20, 10 } };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        measure_peak(&loads[i]);
}

/* ---- growth ---- */

typedef struct growth {
    size_t turns_a_session;
    bool leaks; /* the control: an event of each turn is kept */
    const uar_event *kept[LAST_TURN + 1];
    size_t kept_count;
} growth;

static void keep_start(void *ctx, const uar_event *event) {
    growth *g = ctx;
    if (g->leaks && event->kind == UAR_EVENT_RUN_START) g->kept[g->kept_count++] = uar_event_ref(event);
}

/* Bytes a turn. */
static double measure_growth(growth *g) {
    static const agent_answer plan[] = { { 5, 1 }, { 20, 0 } };
    static double alive[LAST_TURN - FIRST_TURN + 1];
    counting heap;
    counting_init(&heap);
    agent_options options = { .allocator = &heap.door,
                              .threading = UAR_THREADS_MANUAL,
                              .plan = plan,
                              .plan_count = 2,
                              .delta = "Some ",
                              .feeds = true,
                              .result_bytes = 51,
                              .hears = keep_start,
                              .hears_ctx = g };
    agent *a = agent_open(&options);
    for (size_t turn = 1; turn <= LAST_TURN; turn++) {
        char session[32];
        (void)snprintf(session, sizeof session, "session-%06zu", (turn - 1) / g->turns_a_session);
        agent_turn(a, session, "Do I need a coat in Oslo?", 16);
        if (turn >= FIRST_TURN) alive[turn - FIRST_TURN] = (double)heap.bytes;
    }
    agent_close(a);
    for (size_t i = 0; i < g->kept_count; i++)
        uar_event_unref(g->kept[i]);
    bench_check(heap.bytes == 0, "everything is given back at the end");
    return bench_slope(alive, LAST_TURN - FIRST_TURN + 1);
}

static void measure_slopes(void) {
    static growth fresh = { .turns_a_session = 10 }, one = { .turns_a_session = LAST_TURN };
    static growth control = { .turns_a_session = 10, .leaks = true };
    bench_report("heap.slope.sessions_of_10", measure_growth(&fresh), "B/turn", BENCH_EXACTLY, 0);
    bench_report("heap.slope.one_session", measure_growth(&one), "B/turn", BENCH_EXACTLY, 0);
    double seen = measure_growth(&control);
    bench_report("heap.slope.leaking_control", seen, "B/turn", BENCH_FACT, 0);
    bench_check(seen >= 100 && seen < 1000, "the leak of one event a turn is seen");
}

int main(void) {
    bench_begin("heap");
    measure_peaks();
    measure_slopes();
    return bench_end();
}
