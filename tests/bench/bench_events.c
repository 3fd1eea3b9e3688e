/*
 * Events a second: small deltas of a model through machine, ring, a sink and a push subscriber, on one thread. Both
 * listeners must hear 1, 2, 3 … without hole, else the speed is worth nothing.
 */
#include "agent.h"
#include "bench.h"

#define DELTAS 1000000
#define BATCH 256
#define ROUNDS 5

typedef struct listener {
    uint64_t last;   /* id */
    uint64_t deltas; /* heard */
    bool hole, gap;
} listener;

static void hear(void *ctx, const uar_event *event) {
    listener *l = ctx;
    if (event->id != l->last + 1) l->hole = true;
    l->last = event->id;
    l->deltas += event->kind == UAR_EVENT_CHAT_DELTA;
}

static void hear_gap(void *ctx, const uar_gap *gap) {
    (void)gap;
    listener *l = ctx;
    l->gap = true;
}

typedef struct speed {
    double wall, cpu; /* events a second */
} speed;

static speed one_round(void) {
    static const agent_answer plan[] = { { DELTAS, 0 } };
    listener sink = { 0 }, subscriber = { 0 };
    agent_options options = { .threading = UAR_THREADS_MANUAL,
                              .plan = plan,
                              .plan_count = 1,
                              .delta = "word ",
                              .feeds = true,
                              .result_bytes = 16,
                              .hears = hear,
                              .hears_ctx = &sink };
    agent *a = agent_open(&options);
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local", .ctx = &subscriber, .on_event = hear,
                                .on_gap = hear_gap };
    uar_subscription *sub = NULL;
    if (uar_subscribe(&sub, agent_runtime(a), &o, NULL) != UAR_OK) bench_give_up("can't subscribe");
    uint64_t began = bench_now(), cpu_began = bench_cpu();
    agent_turn(a, "s", "Tell me everything.", BATCH);
    uint64_t cpu = bench_cpu() - cpu_began, wall = bench_now() - began;
    bench_check(!sink.hole && sink.deltas == DELTAS, "the sink heard every id once, in order");
    bench_check(!subscriber.hole && !subscriber.gap && subscriber.deltas == DELTAS,
                "the subscriber heard every id once, in order");
    bench_check(sink.last == subscriber.last && sink.last > DELTAS, "both heard the same run to its end");
    uar_subscription_free(sub);
    agent_close(a);
    return (speed){ (double)sink.last * 1e9 / (double)wall, (double)sink.last * 1e9 / (double)cpu };
}

int main(void) {
    bench_begin("events");
    double wall[ROUNDS], cpu[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        speed s = one_round();
        wall[i] = s.wall;
        cpu[i] = s.cpu;
    }
    bench_report("events.rate", bench_quantile(wall, ROUNDS, 0.5), "events/s", BENCH_ABOVE, 1e6);
    bench_report("events.rate.of_cpu_time", bench_quantile(cpu, ROUNDS, 0.5), "events/s", BENCH_FACT, 0);
    bench_report("events.cost", 1e9 / bench_quantile(cpu, ROUNDS, 0.5), "ns/event", BENCH_FACT, 0);
    return bench_end();
}
