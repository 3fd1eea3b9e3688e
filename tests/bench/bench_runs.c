/*
 * Memory of a run that waits: 10,000 runs at once, each stopped in a model call that doesn't come back. The records of the
 * volatile store are not counted: it takes its memory from malloc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uar/uar.h>

#include "bench.h"
#include "counting.h"

#define RUNS 10000
#define LONGEST_PROMPT 1000

typedef struct waiting {
    uar_stream **streams;
    size_t count;
} waiting;

static void keep(void *ctx, const uar_model_request *request, uar_stream *stream) {
    (void)request;
    waiting *w = ctx;
    w->streams[w->count++] = uar_stream_ref(stream);
}

static uar_runtime *open_runtime(counting *heap, waiting *w) {
    uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT, .allocator = &heap->door, .threading = UAR_THREADS_MANUAL };
    uar_builder *b = uar_builder_new(&o);
    uar_builder_persistence(b, uar_persistence_volatile());
    uar_model model = { UAR_MODEL_INIT, .ctx = w, .name = "silent", .start = keep };
    uar_builder_model(b, &model);
    uar_runtime *rt = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_builder_build(&rt, b, &err) != UAR_OK) bench_give_up(err.message);
    return rt;
}

static void pump_all(uar_runtime *rt) {
    while (uar_runtime_pump(rt, 0) == 0) {}
}

/* Runs `from` to `to` - 1, each with a user of its own, until the model has them all. */
static void start_runs(uar_runtime *rt, waiting *w, size_t prompt_bytes, size_t from, size_t to) {
    char prompt[LONGEST_PROMPT + 1], user[32];
    memset(prompt, 'p', prompt_bytes);
    prompt[prompt_bytes] = '\0';
    for (size_t i = from; i < to; i++) {
        (void)snprintf(user, sizeof user, "user-%06zu", i);
        uar_run_request request = { UAR_RUN_REQUEST_INIT, .user = user, .input = prompt };
        uar_run_id id;
        if (uar_run_start(&id, rt, &request, NULL) != UAR_OK) bench_give_up("a run doesn't start");
    }
    pump_all(rt);
    bench_check(w->count == to, "every run waits for the model");
}

static void end_runs(uar_runtime *rt, waiting *w) {
    for (size_t i = 0; i < w->count; i++) {
        (void)uar_stream_fail(w->streams[i], UAR_E_MODEL, NULL, "enough", false, 0);
        uar_stream_unref(w->streams[i]);
        if (i % 100 == 0) pump_all(rt);
    }
    pump_all(rt);
}

static double a_run(size_t now, size_t before) {
    return (double)(now - before) / (RUNS - 1);
}

/* 10,000 runs wait, then all fail. */
static void measure(size_t prompt_bytes, bool whole) {
    waiting w = { bench_memory(RUNS * sizeof *w.streams), 0 };
    counting heap;
    counting_init(&heap);
    uar_runtime *rt = open_runtime(&heap, &w);
    /* The first run brings what the runtime needs once. */
    start_runs(rt, &w, prompt_bytes, 0, 1);
    size_t bytes = heap.bytes, blocks = heap.blocks, rounded = heap.rounded, calls = heap.calls;
    uint64_t began = bench_now();
    start_runs(rt, &w, prompt_bytes, 1, RUNS);
    double seconds = (double)(bench_now() - began) / 1e9;
    if (whole) {
        bench_report("runs.waiting.bytes", a_run(heap.bytes, bytes), "B/run", BENCH_BELOW, 4096);
        bench_report("runs.waiting.bytes_with_rounding", a_run(heap.rounded, rounded), "B/run", BENCH_FACT, 0);
        bench_report("runs.waiting.blocks", a_run(heap.blocks, blocks), "blocks/run", BENCH_FACT, 0);
        bench_report("runs.start.allocations", a_run(heap.calls, calls), "calls/run", BENCH_FACT, 0);
        bench_report("runs.start.rate", (RUNS - 1) / seconds, "runs/s", BENCH_FACT, 0);
    } else {
        bench_report("runs.waiting.bytes.prompt_1000", a_run(heap.bytes, bytes), "B/run", BENCH_FACT, 0);
    }
    end_runs(rt, &w);
    bench_check(uar_runtime_close(rt, UAR_CLOSE_CANCEL, 10000) == UAR_OK, "the runtime closes");
    bench_check(heap.bytes == 0, "everything is given back at the end");
    free(w.streams);
}

int main(void) {
    bench_begin("runs");
    measure(200, true);
    measure(LONGEST_PROMPT, false);
    return bench_end();
}
