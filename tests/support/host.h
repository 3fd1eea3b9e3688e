/*
 * A host for tests: a runtime with a scripted model, tools that are told what to do, and a sink that writes down what it
 * hears. Ids differ from run to run, so events are written with U1, U2 … for UUIDs in order of appearance, without times.
 *
 * Closing waits until every door was destroyed, and ends the program if one was destroyed twice, never, or called after it.
 */
#ifndef UAR_TESTS_SUPPORT_HOST_H
#define UAR_TESTS_SUPPORT_HOST_H

#include <uar/uar.h>

#include "base/lock.h"

#define HOST_TOOLS 8

/* How a tool of the host behaves. */
typedef enum host_tool_way {
    HOST_ANSWERS,       /* finishes inside the call with `result` (JSON) */
    HOST_ANSWERS_LATER, /* finishes from another thread, a little later */
    HOST_TEXT,          /* finishes with `result_len` bytes of plain text */
    HOST_FAILS,         /* fails with `result` as the reason */
    HOST_DROPS,         /* returns without finishing */
    HOST_NEVER,         /* keeps the call until host_finish or host_release, also when it is cancelled */
    HOST_STOPS,         /* keeps the call until it is cancelled */
    HOST_TWICE,         /* finishes twice */
    HOST_BAD_JSON,      /* finishes with text that is no JSON */
    HOST_BLOCKS         /* blocks inside the call until host_release, then answers */
} host_tool_way;

typedef struct host_tool {
    const char *name;
    const char *schema; /* NULL: any object */
    host_tool_way way;
    const char *result;
    size_t result_len;
    uar_tool_class tool_class;
    uar_tool_approval approval;
    uint32_t timeout_ms;
    bool deaf; /* it has no cancel function */
} host_tool;

typedef struct host host;

/* What a test does inside the host's callbacks. */
typedef struct host_hooks {
    void *ctx;
    void (*on_event)(void *ctx, host *h, const uar_event *event);
    void (*on_start)(void *ctx, host *h, uar_stream *stream);
    void (*on_invoke)(void *ctx, host *h, const uar_tool_call *call);
    void (*on_cancel)(void *ctx, host *h, const uar_tool_call *call);
} host_hooks;

typedef struct host_options {
    const char *script;           /* lines as of `--model script:` */
    bool repeats;                 /* the script begins again at its end */
    const host_tool *tools;       /* up to HOST_TOOLS, ended by a NULL name */
    const char *store;            /* path of an SQLite file; NULL: volatile */
    const uar_persistence *layer; /* taken over, instead of `store` */
    uar_memory *memory;           /* borrowed */
    const uar_allocator *allocator;
    const uar_executor *executor;
    const char *instructions;
    uar_threading threading;
    void *wake_ctx;
    void (*wake)(void *ctx);
    bool reload; /* save, free and load the machine at every step */
    bool single_process;
    bool quiet; /* write nothing down but counts */
    uint32_t max_steps, parallel_tools, model_attempts, ring_events;
    size_t ring_bytes;
    host_hooks hooks;
} host_options;

/* NULL on failure, `err` says why. */
host *host_open(const host_options *options, uar_error *err);
uar_runtime *host_runtime(host *h);
/* Start, wait for the outcome and for the last event. */
uar_status host_say(host *h, const char *input, uar_outcome *out);
uar_status host_run(host *h, const uar_run_request *request, uar_run_id *id, uar_outcome *out);
/* Wait for the outcome and the last event of a run that was started. */
uar_status host_await(host *h, uar_run_id id, uar_outcome *out);
/* Wait until `count` events whose text begins with `prefix` were heard; false after 20 s. All waits pump. */
bool host_hears(host *h, const char *prefix, size_t count);
bool host_hears_closed(host *h, size_t runs);
/* Wait until a tool was invoked so often, and until the model holds so many streams open (a sleep of a second or more). */
bool host_sees_invoked(host *h, const char *tool, int count);
bool host_sees_streams(host *h, size_t count);
/* Pump or sleep for about `ms`. */
void host_rest(host *h, uint32_t ms);
/* All events so far, one a line: KIND DATA. Free with free(). */
char *host_events(host *h);
/* Their kinds, separated by spaces. Free with free(). */
char *host_kinds(host *h);
size_t host_count(host *h, const char *prefix);
/* How many events there were, and the `n`-th of them (from 0), alive until the host is closed. */
size_t host_event_count(host *h);
const uar_event *host_event(host *h, size_t n);
/* How often a tool was invoked, and was told to cancel. */
int host_invoked(host *h, const char *tool);
int host_cancelled(host *h, const char *tool);
/* The arguments of the tool's last call, or NULL. Free with free(). */
char *host_arguments(host *h, const char *tool);
/* Finish the oldest kept call of a tool; the status of uar_completion_json. UAR_E_NOT_FOUND: there is none. */
uar_status host_finish(host *h, const char *tool);
/* Let HOST_BLOCKS and HOST_NEVER calls go. */
void host_release(host *h);
/* How often the model was called. */
size_t host_model_calls(host *h);
/* JSON of the request of model call `n` (from 1), as the OpenAI codec writes it. Free with free(). */
char *host_request(host *h, size_t n);
/* Callbacks that came after the terminal event of a run, but for those that may (X3). */
size_t host_late_callbacks(host *h);
/* Close with 5 s, or with a deadline; frees the host. What the runtime's closing answered. */
uar_status host_close(host *h, uar_close_mode mode);
uar_status host_close_within(host *h, uar_close_mode mode, uint32_t deadline_ms);
/* Close the runtime only. Then what was heard can still be looked at, and host_close must follow. */
uar_status host_close_runtime(host *h, uar_close_mode mode, uint32_t deadline_ms);

#endif
