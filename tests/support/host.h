/*
 * A host for tests: a runtime with a scripted model, tools that are told what to do, and a sink that writes down what it
 * hears. Ids differ from run to run, so events are written with U1, U2 … for UUIDs in order of appearance, without times.
 */
#ifndef UAR_TESTS_SUPPORT_HOST_H
#define UAR_TESTS_SUPPORT_HOST_H

#include <uar/uar.h>

#include "base/lock.h"

#define HOST_TOOLS 8

/* How a tool of the host behaves. */
typedef enum host_tool_way {
    HOST_ANSWERS,    /* finishes inside the call with `result` (JSON) */
    HOST_ANSWERS_LATER, /* finishes from another thread, a little later */
    HOST_FAILS,      /* fails with `result` as the reason */
    HOST_DROPS,      /* returns without finishing */
    HOST_NEVER,      /* keeps the call and never finishes it, not even on cancel */
    HOST_STOPS,      /* keeps the call until it is cancelled */
    HOST_TWICE,      /* finishes twice */
    HOST_BAD_JSON,   /* finishes with text that is no JSON */
    HOST_BLOCKS      /* blocks inside the call until host_release, then answers */
} host_tool_way;

typedef struct host_tool {
    const char *name;
    const char *schema; /* NULL: any object */
    host_tool_way way;
    const char *result;
    uar_tool_class tool_class;
    uar_tool_approval approval;
    uint32_t timeout_ms;
} host_tool;

typedef struct host_options {
    const char *script;          /* lines as of `--model script:` */
    const host_tool *tools;      /* up to HOST_TOOLS, ended by a NULL name */
    const char *store;           /* path of an SQLite file; NULL: volatile */
    uar_memory *memory;          /* borrowed */
    const uar_allocator *allocator;
    uar_threading threading;
    bool reload;                 /* save, free and load the machine at every step */
    uint32_t max_steps, ring_events;
    size_t ring_bytes;
} host_options;

typedef struct host host;

/* NULL on failure, `err` says why. */
host *host_open(const host_options *options, uar_error *err);
uar_runtime *host_runtime(host *h);
/* Start, wait for the outcome and for the last event. */
uar_status host_say(host *h, const char *input, uar_outcome *out);
uar_status host_run(host *h, const uar_run_request *request, uar_run_id *id, uar_outcome *out);
/* Wait until `count` events whose text begins with `prefix` were heard; false after 10 s. */
bool host_hears(host *h, const char *prefix, size_t count);
bool host_hears_closed(host *h, size_t runs);
/* All events so far, one a line: KIND DATA. Free with free(). */
char *host_events(host *h);
/* Their kinds, separated by spaces. Free with free(). */
char *host_kinds(host *h);
size_t host_count(host *h, const char *prefix);
/* How often a tool was invoked, and was told to cancel. */
int host_invoked(host *h, const char *tool);
int host_cancelled(host *h, const char *tool);
/* Let HOST_BLOCKS and HOST_NEVER calls go. */
void host_release(host *h);
/* Lines of the script that the model used. */
size_t host_model_calls(host *h);
/* JSON of the request of model call `n` (from 1), as the OpenAI codec writes it. Free with free(). */
char *host_request(host *h, size_t n);
uar_status host_close(host *h, uar_close_mode mode);

#endif
