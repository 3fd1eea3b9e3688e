/*
 * A runtime for benchmarks: a model that follows a plan, one tool that answers with a text of given size, a sink that
 * checks ids. The model either answers inside `start`, or keeps its stream until agent_feed pushes the next deltas, as a
 * model on a network would between two passes of the pump.
 */
#ifndef UAR_TESTS_BENCH_AGENT_H
#define UAR_TESTS_BENCH_AGENT_H

#include <stdatomic.h>

#include <uar/uar.h>

/* One answer of the model: deltas of text, then calls of the tool. */
typedef struct agent_answer {
    uint32_t deltas;
    uint32_t calls;
} agent_answer;

typedef struct agent_options {
    const uar_allocator *allocator;                   /* NULL: malloc */
    uar_threading threading;                          /* as of the builder */
    const uar_persistence *layer;                     /* taken over; NULL: volatile */
    const agent_answer *plan;                         /* over and over again */
    size_t plan_count;                                /* > 0 */
    const char *delta;                                /* text of each delta */
    bool feeds;                                       /* the model waits for agent_feed */
    size_t result_bytes;                              /* of the tool's answer, quotes included, > 1 */
    void (*hears)(void *ctx, const uar_event *event); /* optional: each event, on the sink's lane */
    void *hears_ctx;
} agent_options;

typedef struct agent agent;

/* Gives up on failure. */
agent *agent_open(const agent_options *options);
uar_runtime *agent_runtime(agent *a);
/* Push up to `deltas` of the open answer, and end it after the last. False if no answer is open. */
bool agent_feed(agent *a, uint32_t deltas);
/* When the model was called first (bench_now), 0 before. */
uint64_t agent_first_call(agent *a);
/* Model calls so far. */
size_t agent_calls(agent *a);
/* One turn to its end and its last event, feeding `batch` deltas between two passes of the pump. Manual only. */
void agent_turn(agent *a, const char *session, const char *input, uint32_t batch);
/* Closes; what is open is cancelled. Gives up if something had to be abandoned. */
void agent_close(agent *a);

#endif
