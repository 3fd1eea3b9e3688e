/* From uar_builder_new to the first call of the model, over the volatile store: what an app waits before the network. */
#include "agent.h"
#include "bench.h"

#define ROUNDS 200

static double one_start(uar_threading threading) {
    static const agent_answer plan[] = { { 1, 0 } };
    agent_options options = {
        .threading = threading, .plan = plan, .plan_count = 1, .delta = "Hello.", .result_bytes = 16
    };
    uar_run_request request = { UAR_RUN_REQUEST_INIT, .input = "Hello?" };
    uar_run_id id;
    uar_outcome outcome = { .status = UAR_E_TIMEOUT };
    uint64_t began = bench_now();
    agent *a = agent_open(&options);
    if (uar_run_start(&id, agent_runtime(a), &request, NULL) != UAR_OK) bench_give_up("a run doesn't start");
    if (uar_run_wait(&outcome, agent_runtime(a), id, 10000) != UAR_OK) bench_give_up("a run doesn't end");
    bench_check(outcome.status == UAR_OK && agent_calls(a) == 1, "each start asks the model once and ends well");
    double ms = (double)(agent_first_call(a) - began) / 1e6;
    agent_close(a);
    return ms;
}

static void measure(uar_threading threading, const char *median, const char *p95) {
    double ms[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        ms[i] = one_start(threading);
    bench_report(median, bench_quantile(ms, ROUNDS, 0.5), "ms", BENCH_BELOW, 1);
    bench_report(p95, bench_quantile(ms, ROUNDS, 0.95), "ms", BENCH_FACT, 0);
}

int main(void) {
    bench_begin("start");
    measure(UAR_THREADS_POOL, "start.pool.median", "start.pool.p95");
    measure(UAR_THREADS_MANUAL, "start.manual.median", "start.manual.p95");
    return bench_end();
}
