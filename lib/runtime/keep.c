/*
 * Steps that the calls on records share. Owns nothing.
 * A put or a delete of whatever is there looks again when somebody was faster, at most KEEP_TRIES times.
 */
#include "runtime/keep.h"

#include "base/error.h"

#define KEEP_TRIES 16

request *keep_request(uar_runtime *rt, bool waits, const kept *k, void (*step)(request *q), const char *owner,
                      uar_error *err) {
    request *q = request_new(rt, waits, step, err);
    if (q == NULL || !request_id(&q, &q->owner, owner, "owner", err)) return NULL;
    keeping *keep = arena_zeroed(request_mem(q), 1, sizeof *keep);
    if (keep == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    keep->kept = k;
    q->state = keep;
    return q;
}

bool keep_is_key(const request *q, uar_str cursor) {
    (void)q;
    return cursor.len > 0 && cursor.len <= RECORD_ID_MAX;
}

/* ---- answers ---- */

static bool set_cursor(request *q) {
    uar_reply *reply = &q->box->reply;
    if (q->op.record_count < q->limit) return true;
    reply->cursor = arena_str(request_mem(q), q->op.records[q->op.record_count - 1].id);
    return reply->cursor.ptr != NULL;
}

void keep_answer(request *q, const kept *k, bool pages) {
    char *items = arena_zeroed(request_mem(q), q->op.record_count + 1, k->size);
    if (items == NULL || (pages && !set_cursor(q))) {
        request_end(q, UAR_E_NOMEM, "out of memory");
        return;
    }
    for (size_t i = 0; i < q->op.record_count; i++) {
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = k->decode(items + i * k->size, request_mem(q), &q->op.records[i], &fault);
        if (status != UAR_OK) {
            request_end(q, status, fault.message);
            return;
        }
    }
    k->answer(&q->box->reply, items);
    q->box->reply.count = q->op.record_count;
    request_end(q, UAR_OK, NULL);
}

static void answer_one(request *q) {
    const kept *k = keeping_of(q)->kept;
    if (q->op.status == UAR_E_NOT_FOUND)
        request_end(q, UAR_E_NOT_FOUND, k->missing);
    else if (request_went_well(q))
        keep_answer(q, k, false);
}

/* ---- load, list ---- */

void keep_load(request *q) {
    const keeping *keep = keeping_of(q);
    if (q->stage++ == 0)
        request_get(q, keep->kept->kind, q->owner, keep->key);
    else
        answer_one(q);
}

void keep_list(request *q) {
    const keeping *keep = keeping_of(q);
    if (q->stage++ == 0)
        request_list(q, keep->kept->kind, q->owner, keep->parent, UAR_ORDER_KEY, 0, q->limit);
    else if (request_went_well(q))
        keep_answer(q, keep->kept, true);
}

/* ---- put, delete ---- */

void keep_commit(request *q, uar_write *writes, size_t count) {
    q->op.call = STORE_COMMIT;
    q->op.writes = writes;
    q->op.write_count = count;
    request_submit(q);
}

static void put(request *q, uint64_t expected) {
    const keeping *keep = keeping_of(q);
    uar_record record;
    uar_error fault = UAR_ERROR_INIT;
    memset(&record, 0, sizeof record);
    arena_dispose(&q->op.mem);
    uar_status status = keep->kept->make(&record, &q->op.mem, q, keep->item, &fault);
    if (status != UAR_OK)
        request_end(q, status, fault.code == status ? fault.message : uar_status_text(status));
    else
        request_put(q, &record, expected);
}

static void look(request *q) {
    q->stage = 1;
    request_get(q, keeping_of(q)->kept->kind, q->owner, keeping_of(q)->key);
}

/* Somebody was faster, and it doesn't matter. */
static bool looks_again(request *q) {
    return q->op.status == UAR_E_CONFLICT && keeping_of(q)->expected == UAR_ANY_REVISION && q->tries++ < KEEP_TRIES;
}

/* 0: look what is there · 1: put · 2: read back as stored */
void keep_put(request *q) {
    const keeping *keep = keeping_of(q);
    switch (q->stage++) {
    case 0:
        if (keep->expected == UAR_ANY_REVISION) {
            look(q);
        } else {
            q->stage = 2;
            put(q, keep->expected);
        }
        break;
    case 1:
        if (q->op.status == UAR_E_NOT_FOUND)
            put(q, 0);
        else if (request_went_well(q))
            put(q, q->op.records->revision);
        break;
    case 2:
        if (looks_again(q))
            look(q);
        else if (request_went_well(q))
            request_get(q, keep->kept->kind, q->owner, keep->key);
        break;
    default: answer_one(q);
    }
}

static void take_away(request *q) {
    const keeping *keep = keeping_of(q);
    uint64_t revision = q->op.records->revision;
    if (keep->expected != UAR_ANY_REVISION && keep->expected != revision) {
        request_end(q, UAR_E_CONFLICT, uar_status_text(UAR_E_CONFLICT));
        return;
    }
    arena *mem = &q->op.mem;
    arena_dispose(mem);
    uar_write *w = arena_zeroed(mem, 1, sizeof *w);
    if (w != NULL) {
        *w = (uar_write){ .op = UAR_WRITE_DELETE, .expected = revision };
        w->record.kind = keep->kept->kind;
        w->record.owner = arena_str(mem, q->owner);
        w->record.id = arena_str(mem, keep->key);
    }
    if (w == NULL || w->record.owner.ptr == NULL || w->record.id.ptr == NULL)
        request_end(q, UAR_E_NOMEM, "out of memory");
    else
        keep_commit(q, w, 1);
}

/* 0: look what is there · 1: delete */
void keep_delete(request *q) {
    switch (q->stage++) {
    case 0: look(q); break;
    case 1:
        if (q->op.status == UAR_E_NOT_FOUND)
            request_end(q, UAR_E_NOT_FOUND, keeping_of(q)->kept->missing);
        else if (request_went_well(q))
            take_away(q);
        break;
    default:
        if (looks_again(q))
            look(q);
        else if (request_went_well(q))
            request_end(q, UAR_OK, NULL);
    }
}
