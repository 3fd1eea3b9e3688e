/*
 * One call of uar/records.h: a few store calls in a row, then a reply.
 *
 * A request is an actor of one letter: `step` runs on the executor when it begins and after each store call or wait, until it
 * calls request_end. Then the host's function gets the reply, or the waiter wakes. Request and reply share one arena.
 */
#ifndef UAR_LIB_RUNTIME_REQUEST_H
#define UAR_LIB_RUNTIME_REQUEST_H

#include "runtime/runtime.h"
#include "store/bodies.h"

#define REQUEST_PAGE_MAX 1000

typedef struct request request;

/* A reply and the memory that it points into. */
typedef struct reply_box {
    uar_reply reply; /* first: what the host holds */
    uar_allocator alloc;
    arena mem;
} reply_box;

struct request {
    uar_runtime *rt; /* a reference to rt->env */
    reply_box *box;
    void (*step)(request *q);
    int stage;
    store_op op;
    uar_task task;
    timer timer;
    /* who waits */
    uar_reply_fn done;
    void *ctx;
    struct request_waiter *waiter;
    /* arguments, in the box's arena */
    uar_str owner, user, session, id, value;
    uint64_t number;
    size_t limit;
    void *state;                 /* of calls that take several steps */
    void (*dispose)(request *q); /* optional: frees what state holds elsewhere, just before the request ends */
    uint32_t tries;
};

/* NULL, with `err` set: the runtime can't take it. */
request *request_new(uar_runtime *rt, bool waits, void (*step)(request *q), uar_error *err);
/* Copy an argument; an id is checked. False: the request was freed and `err` says why. */
bool request_id(request **q, uar_str *out, const char *text, const char *what, uar_error *err);
bool request_text(request **q, uar_str *out, uar_str text, uar_error *err);
/* A cursor as a page gave it, or an absent one: UAR_E_INVALID for text that no page can have given. */
bool request_cursor(request **q, uar_str cursor, bool (*is_key)(const request *q, uar_str cursor), uar_error *err);
bool request_limit(request **q, size_t limit, uar_error *err);
uar_status request_refuse(request *q, uar_status status, const char *what, uar_error *err);

/* Go. `q` is NULL when `fault` says why there is none. Begin calls `done`; wait returns the reply, whose status it also
 * returns. */
uar_status request_begin(request *q, const uar_error *fault, uar_reply_fn done, void *ctx, uar_error *err);
uar_status request_wait_for(request *q, const uar_error *fault, uar_reply **out, uar_error *err);

/* For steps. */
void request_get(request *q, uint32_t kind, uar_str owner, uar_str id);
void request_list(request *q, uint32_t kind, uar_str owner, uar_str parent, uar_list_order order, uint64_t after,
                  size_t limit);
void request_put(request *q, const uar_record *record, uint64_t expected);
/* Step again, soon. Any thread. */
void request_post(request *q);
/* What q->op says already. */
void request_submit(request *q);
void request_sleep(request *q, uint32_t ms);
void request_end(request *q, uar_status status, const char *message);
/* True if the store call went well; else the request has ended with its error. */
bool request_went_well(request *q);
arena *request_mem(request *q);

#endif
