/* Owns: the list of sessions that are being deleted. */
#include "runtime/deleted.h"

#include "base/str.h"
#include "store/sweep.h"

void deleted_ask(deleted *d, request *q) {
    d->cursor = q->value;
    q->value = STR(SWEEP_JOB_PREFIX);
    request_list(q, UAR_RECORD_OUTBOX, STR(UAR_SYSTEM_OWNER), uar_str_of(NULL), UAR_ORDER_KEY, 0, REQUEST_PAGE_MAX);
}

bool deleted_got(deleted *d, request *q) {
    q->value = d->cursor;
    if (!request_went_well(q)) return false;
    d->keys = arena_zeroed(request_mem(q), q->op.record_count + 1, sizeof *d->keys);
    if (d->keys == NULL) {
        request_end(q, UAR_E_NOMEM, "out of memory");
        return false;
    }
    for (size_t i = 0; i < q->op.record_count; i++) {
        sweep_root root;
        uar_status status = sweep_job_decode(&root, request_mem(q), &q->op.records[i], NULL);
        if (status == UAR_E_NOMEM) {
            request_end(q, status, "out of memory");
            return false;
        }
        bool counts = status == UAR_OK && root.kind == UAR_RECORD_SESSION && uar_str_equal(root.owner, q->owner);
        if (counts) d->keys[d->count++] = root.id;
    }
    return true;
}

bool deleted_has(const deleted *d, request *q, uar_str user, uar_str session) {
    uar_str key;
    if (d->count == 0 || record_key(&key, request_mem(q), user, session) != UAR_OK) return false;
    for (size_t i = 0; i < d->count; i++)
        if (uar_str_equal(d->keys[i], key)) return true;
    return false;
}
