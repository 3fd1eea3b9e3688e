/*
 * Owns: uar_attachment_writer, an upload whose content comes in pieces.
 * Invariants: `busy` is true while a request works on the writer, and only that request touches the upload and what waits to
 * be stored; the request holds a reference, the host the other. It holds no reference to the runtime: only its calls need it.
 */
#include <stdatomic.h>

#include "base/error.h"
#include "runtime/upload.h"

struct uar_attachment_writer {
    uar_allocator alloc;
    uar_runtime *rt;
    atomic_uint refs;
    atomic_bool busy;
    arena mem; /* the texts of the upload */
    upload up;
    buffer pending; /* not stored yet */
    size_t batch;   /* bytes of it that the open commit stores */
    bool last;
};

static void writer_unref(uar_attachment_writer *w) {
    if (atomic_fetch_sub(&w->refs, 1) != 1) return;
    upload_dispose(&w->up);
    buffer_dispose(&w->pending);
    arena_dispose(&w->mem);
    uar_allocator alloc = w->alloc;
    alloc_free(&alloc, w);
    live_add(-1);
}

/* ---- making ---- */

static uar_status take_id(uar_str *out, arena *mem, const char *id, const char *what, uar_error *err) {
    uar_status status = host_id_check(uar_str_of(id), what, err);
    if (status != UAR_OK) return status;
    *out = arena_str(mem, uar_str_of(id));
    return out->ptr != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
}

static uar_status prepare(uar_attachment_writer *w, const char *owner, const char *user,
                          const uar_attachment_options *options, uar_error *err) {
    uar_attachment *a = &w->up.a;
    uar_status status = take_id(&a->owner, &w->mem, owner, "owner", err);
    if (status == UAR_OK && strcmp(owner, UAR_SYSTEM_OWNER) == 0)
        status = error_set(err, UAR_E_INVALID, "the owner \"~\" is reserved");
    if (status == UAR_OK) status = take_id(&a->user, &w->mem, user, "user", err);
    if (status == UAR_OK) status = upload_describe(a, &w->mem, options, err);
    if (status != UAR_OK) return status;
    status = upload_begin(&w->up, &w->rt->env);
    return status == UAR_OK ? status : error_plain(err, status);
}

uar_status uar_attachment_writer_new(uar_attachment_writer **out, uar_runtime *rt, const char *owner, const char *user,
                                     const uar_attachment_options *options, uar_error *err) {
    if (out == NULL) return error_set(err, UAR_E_INVALID, "out is NULL");
    uar_status status = runtime_check_call(rt, err);
    if (status != UAR_OK) return status;
    const uar_allocator *a = &rt->env.alloc;
    uar_attachment_writer *w = ALLOC_NEW(a, uar_attachment_writer);
    if (w == NULL) return error_plain(err, UAR_E_NOMEM);
    w->alloc = *a;
    w->rt = rt;
    atomic_init(&w->refs, 1);
    atomic_init(&w->busy, false);
    arena_init(&w->mem, &w->alloc);
    buffer_init(&w->pending, &w->alloc, SIZE_MAX / 2);
    live_add(1);
    status = prepare(w, owner, user, options, err);
    if (status == UAR_OK)
        *out = w;
    else
        writer_unref(w);
    return status;
}

void uar_attachment_writer_free(uar_attachment_writer *writer) {
    if (writer != NULL) writer_unref(writer);
}

/* ---- steps ---- */

static void settle(request *q) {
    uar_attachment_writer *w = q->state;
    atomic_store(&w->busy, false);
    writer_unref(w);
}

static bool commit(request *q, size_t len, bool last) {
    uar_attachment_writer *w = q->state;
    w->batch = len;
    w->last = last;
    return upload_commit(q, &w->up, uar_str_n(buffer_str(&w->pending).ptr, len), last);
}

/* What was stored waits no longer. */
static bool committed(request *q) {
    uar_attachment_writer *w = q->state;
    buffer *b = &w->pending;
    if (!upload_committed(q, &w->up, uar_str_n(buffer_str(b).ptr, w->batch), w->last)) return false;
    if (w->batch > 0) {
        memmove(b->ptr, b->ptr + w->batch, b->len - w->batch);
        buffer_truncate(b, b->len - w->batch);
    }
    return true;
}

static bool append(request *q) {
    uar_attachment_writer *w = q->state;
    buffer *b = &w->pending;
    size_t before = b->len;
    buffer_append_str(b, q->value);
    if (b->status == UAR_OK) return true;
    uar_status status = b->status;
    b->status = UAR_OK;
    buffer_truncate(b, before);
    request_end(q, status, uar_status_text(status));
    return false;
}

static void step_write(request *q) {
    uar_attachment_writer *w = q->state;
    if (q->stage++ == 0 ? !append(q) : !committed(q)) return;
    size_t whole = w->pending.len / ATTACHMENT_PART_MAX * ATTACHMENT_PART_MAX;
    if (whole == 0)
        request_end(q, UAR_OK, NULL);
    else
        (void)commit(q, whole < UPLOAD_BYTES ? whole : UPLOAD_BYTES, false);
}

static void step_show(request *q) {
    if (request_went_well(q)) keep_answer(q, &kept_attachments, false);
}

static void show(request *q) {
    const uar_attachment_writer *w = q->state;
    char id[UAR_UUID_TEXT];
    uar_uuid_format(id, w->up.a.id);
    q->step = step_show;
    request_get(q, UAR_RECORD_ATTACHMENT, w->up.a.owner, uar_str_of(id));
}

static void step_finish(request *q) {
    uar_attachment_writer *w = q->state;
    if (q->stage++ > 0 && !committed(q)) return;
    if (w->up.finished)
        show(q);
    else if (w->pending.len > UPLOAD_BYTES)
        (void)commit(q, UPLOAD_BYTES, false);
    else
        (void)commit(q, w->pending.len, true);
}

/* ---- the calls ---- */

/* Ties a request to the writer. NULL: the request was refused. */
static request *tie(request *q, uar_attachment_writer *w, uint64_t more, uar_error *err) {
    if (atomic_exchange(&w->busy, true))
        return request_refuse(q, UAR_E_BUSY, "another call of this writer is open", err), NULL;
    atomic_fetch_add(&w->refs, 1);
    q->state = w;
    q->dispose = settle;
    if (w->up.dead || w->up.finished) return request_refuse(q, UAR_E_CLOSED, "this writer takes no more", err), NULL;
    if (more > ATTACHMENT_MAX - w->up.a.size - w->pending.len)
        return request_refuse(q, UAR_E_TOO_LARGE, "an attachment has at most 4 GiB", err), NULL;
    return q;
}

static request *write_request(uar_attachment_writer *w, bool waits, uar_str bytes, uar_error *err) {
    if (w == NULL) return error_set(err, UAR_E_INVALID, "the writer is NULL"), NULL;
    request *q = request_new(w->rt, waits, step_write, err);
    if (q == NULL || !request_text(&q, &q->value, bytes, err)) return NULL;
    return tie(q, w, bytes.len, err);
}

static request *finish_request(uar_attachment_writer *w, bool waits, uar_error *err) {
    if (w == NULL) return error_set(err, UAR_E_INVALID, "the writer is NULL"), NULL;
    request *q = request_new(w->rt, waits, step_finish, err);
    return q != NULL ? tie(q, w, 0, err) : NULL;
}

uar_status uar_attachment_write(uar_attachment_writer *writer, uar_str bytes, uar_reply_fn done, void *ctx,
                                uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(write_request(writer, false, bytes, &fault), &fault, done, ctx, err);
}

uar_status uar_attachment_write_sync(uar_reply **out, uar_attachment_writer *writer, uar_str bytes, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(write_request(writer, true, bytes, &fault), &fault, out, err);
}

uar_status uar_attachment_finish(uar_attachment_writer *writer, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(finish_request(writer, false, &fault), &fault, done, ctx, err);
}

uar_status uar_attachment_finish_sync(uar_reply **out, uar_attachment_writer *writer, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(finish_request(writer, true, &fault), &fault, out, err);
}
