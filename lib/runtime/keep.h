/*
 * What the calls on one kind of record have in common: load one, list a page, put at an expected revision, delete at one.
 *
 * A call makes its request with keep_request, which ties it to a constant `kept` kind, fills the rest of the `keeping`, and
 * takes one of the four steps. Keys and items live in the request's arena.
 */
#ifndef UAR_LIB_RUNTIME_KEEP_H
#define UAR_LIB_RUNTIME_KEEP_H

#include "runtime/request.h"

/* A kind of record as a reply shows it. */
typedef struct kept {
    uint32_t kind;
    size_t size; /* of an item */
    uar_status (*decode)(void *item, arena *ar, const uar_record *r, uar_error *err);
    void (*answer)(uar_reply *reply, void *items);
    uar_status (*make)(uar_record *out, arena *ar, const request *q, const void *item,
                       uar_error *err); /* NULL: no puts */
    const char *missing;                /* what UAR_E_NOT_FOUND says */
} kept;

/* In q->state. */
typedef struct keeping {
    const kept *kept;
    uar_str key;       /* of the record: load, put, delete */
    uar_str parent;    /* list: absent for all of the owner */
    uint64_t expected; /* put, delete: a revision or UAR_ANY_REVISION */
    const void *item;  /* put */
} keeping;

/* A request of this owner with a keeping in its state. NULL, with `err` set: the runtime can't take it. */
request *keep_request(uar_runtime *rt, bool waits, const kept *k, void (*step)(request *q), const char *owner,
                      uar_error *err);
static inline keeping *keeping_of(const request *q) {
    return q->state;
}

void keep_load(request *q);
void keep_list(request *q);
void keep_put(request *q);
void keep_delete(request *q);

/* End with the records of the last store call, as items of `k`. `pages`: also with a cursor if the page was full. */
void keep_answer(request *q, const kept *k, bool pages);
/* Commit `count` writes that lie in the op's arena, as do all their texts. */
void keep_commit(request *q, uar_write *writes, size_t count);
/* The id as a page's cursor may have it: 1 to RECORD_ID_MAX bytes. */
bool keep_is_key(const request *q, uar_str cursor);

#endif
