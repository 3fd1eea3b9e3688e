/*
 * Which sessions are being deleted: what hangs below them is not to be seen, though it may still be stored. Read at the
 * begin of a request that shows such things. More than a page of deletes under way at once are not looked at.
 */
#ifndef UAR_LIB_RUNTIME_DELETED_H
#define UAR_LIB_RUNTIME_DELETED_H

#include "runtime/request.h"

typedef struct deleted {
    uar_str cursor; /* the request's own, kept while this asks */
    uar_str *keys;  /* record ids of sessions of the request's owner; in the request's arena */
    size_t count;
} deleted;

void deleted_ask(deleted *d, request *q);
/* False: the request has ended. */
bool deleted_got(deleted *d, request *q);
bool deleted_has(const deleted *d, request *q, uar_str user, uar_str session);

#endif
