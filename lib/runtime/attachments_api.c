/* Attachments: the calls of uar/attachments.h but the writer's. Owns an upload's sum while a put is under way. */
#include "base/clock.h"
#include "base/error.h"
#include "runtime/upload.h"

/* Parts that one store call of a read brings. */
#define READ_PARTS 8
#define SWEEP_PAGE 64

/* ---- put ---- */

typedef struct putting {
    keeping keep; /* first: the state of a keeping request */
    upload up;
    uar_str content; /* what isn't stored yet */
    uar_str batch;   /* what the open commit stores */
    bool last;
} putting;

static void put_ending(request *q) {
    upload_dispose(&((putting *)q->state)->up);
}

static void step_put(request *q) {
    putting *p = q->state;
    if (q->stage++ > 0) {
        if (!upload_committed(q, &p->up, p->batch, p->last)) return;
        if (p->last) {
            q->step = keep_load;
            q->stage = 0;
            keep_load(q);
            return;
        }
    }
    size_t len = p->content.len < UPLOAD_BYTES ? p->content.len : UPLOAD_BYTES;
    p->batch = uar_str_n(p->content.ptr, len);
    p->content = uar_str_n(p->content.ptr + len, p->content.len - len);
    p->last = p->content.len == 0;
    (void)upload_commit(q, &p->up, p->batch, p->last);
}

static uar_status prepare_put(request *q, putting *p, const uar_attachment_options *options, uar_error *err) {
    uar_attachment *a = &p->up.a;
    a->owner = q->owner;
    a->user = q->user;
    uar_status status = upload_describe(a, request_mem(q), options, err);
    if (status != UAR_OK) return status;
    status = upload_begin(&p->up, &q->rt->env);
    if (status != UAR_OK) return error_plain(err, status);
    char id[UAR_UUID_TEXT];
    uar_uuid_format(id, a->id);
    p->keep.key = arena_str(request_mem(q), uar_str_of(id));
    return p->keep.key.ptr != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
}

static request *put_request(uar_runtime *rt, bool waits, const char *owner, const char *user,
                            const uar_attachment_options *options, uar_str content, uar_error *err) {
    request *q = keep_request(rt, waits, &kept_attachments, step_put, owner, err);
    if (q == NULL || !request_id(&q, &q->user, user, "user", err)) return NULL;
    if (content.len > ATTACHMENT_MAX)
        return request_refuse(q, UAR_E_TOO_LARGE, "an attachment has at most 4 GiB", err), NULL;
    putting *p = arena_zeroed(request_mem(q), 1, sizeof *p);
    if (p == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    p->keep = *keeping_of(q);
    q->state = p;
    q->dispose = put_ending;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = prepare_put(q, p, options, &fault);
    if (status != UAR_OK) return request_refuse(q, status, fault.message, err), NULL;
    return request_text(&q, &p->content, content.ptr != NULL ? content : uar_str_n("", 0), err) ? q : NULL;
}

/* ---- one attachment ---- */

/* What is done with the attachment once its root was read. */
typedef struct reading {
    uar_str key;
    uar_attachment a;
    uint64_t offset, length; /* length: as asked for, then as it can be given */
    uint64_t next, end;      /* numbers of the parts still to be read: next … end - 1 */
    char *bytes;
    size_t filled;
    scrap scrap;
} reading;

/* False: the request has ended. Another user's attachment isn't there. */
static bool take_root(request *q, uar_attachment *a) {
    uar_error fault = UAR_ERROR_INIT;
    if (q->op.status != UAR_OK && q->op.status != UAR_E_NOT_FOUND) return request_went_well(q);
    uar_status status = q->op.status;
    if (status == UAR_OK) status = attachment_decode(a, request_mem(q), q->op.records, &fault);
    if (status == UAR_OK && !uar_str_equal(a->user, q->user)) status = UAR_E_NOT_FOUND;
    if (status == UAR_OK) return true;
    request_end(q, status, status == UAR_E_NOT_FOUND ? kept_attachments.missing : fault.message);
    return false;
}

static void get_root(request *q) {
    const reading *r = q->state;
    request_get(q, UAR_RECORD_ATTACHMENT, q->owner, r->key);
}

static void step_load(request *q) {
    uar_attachment a;
    if (q->stage++ == 0)
        get_root(q);
    else if (take_root(q, &a))
        keep_answer(q, &kept_attachments, false);
}

static request *one_request(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner, const char *user,
                            uar_uuid id, uar_error *err) {
    request *q = request_new(rt, waits, step, err);
    if (q == NULL || !request_id(&q, &q->owner, owner, "owner", err) || !request_id(&q, &q->user, user, "user", err))
        return NULL;
    char text[UAR_UUID_TEXT];
    uar_uuid_format(text, id);
    reading *r = arena_zeroed(request_mem(q), 1, sizeof *r);
    if (r != NULL) r->key = arena_str(request_mem(q), uar_str_of(text));
    if (r == NULL || r->key.ptr == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    q->state = r;
    return q;
}

/* ---- reading a range ---- */

static void step_parts(request *q);

/* Is the attachment gone, or only a part of it? */
static void step_missing(request *q) {
    uar_attachment a;
    if (take_root(q, &a)) request_end(q, UAR_E_CORRUPT, "the attachment is damaged: a part of its content is missing");
}

static void list_parts(request *q) {
    const reading *r = q->state;
    uint64_t left = r->end - r->next;
    q->step = step_parts;
    request_list(q, UAR_RECORD_ATTACHMENT_PART, q->owner, r->key, UAR_ORDER_SORT, r->next - 1,
                 left < READ_PARTS ? (size_t)left : READ_PARTS);
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* The bytes of a part that were asked for. False: it isn't the part that it should be. */
static bool take_part(reading *r, const attachment_part *part) {
    uint64_t start = (r->next - 1) * r->a.part_bytes;
    uint64_t size = least(r->a.part_bytes, r->a.size - start);
    if (part->number != r->next || part->content.len != size) return false;
    uint64_t from = r->offset > start ? r->offset - start : 0;
    uint64_t to = least(size, r->offset + r->length - start);
    memcpy(r->bytes + r->filled, part->content.ptr + from, (size_t)(to - from));
    r->filled += (size_t)(to - from);
    r->next++;
    return true;
}

static void finish_read(request *q) {
    reading *r = q->state;
    uar_reply *reply = &q->box->reply;
    uint8_t sum[SHA256_BYTES];
    uar_str content = uar_str_n(r->bytes, r->filled);
    if (r->length == r->a.size) {
        uar_status status = sha256(sum, &content, 1);
        if (status == UAR_OK && memcmp(sum, r->a.sha256, sizeof sum) != 0) status = UAR_E_CORRUPT;
        if (status != UAR_OK) {
            request_end(q, status,
                        status == UAR_E_CORRUPT ? "the attachment is damaged: its content isn't what was put in"
                                                : uar_status_text(status));
            return;
        }
    }
    uar_attachment *shown = arena_zeroed(request_mem(q), 1, sizeof *shown);
    if (shown == NULL) {
        request_end(q, UAR_E_NOMEM, "out of memory");
        return;
    }
    *shown = r->a;
    reply->attachments = shown;
    reply->count = 1;
    reply->content = content;
    request_end(q, UAR_OK, NULL);
}

static void step_parts(request *q) {
    reading *r = q->state;
    if (!request_went_well(q)) return;
    bool whole = q->op.record_count > 0;
    for (size_t i = 0; i < q->op.record_count && whole; i++) {
        attachment_part part;
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = attachment_part_decode(&part, &q->op.mem, &q->op.records[i], &fault);
        if (status != UAR_OK) {
            request_end(q, status, fault.message);
            return;
        }
        whole = take_part(r, &part);
    }
    if (whole && r->next == r->end) {
        finish_read(q);
    } else if (whole) {
        list_parts(q);
    } else {
        q->step = step_missing;
        get_root(q);
    }
}

static void begin_read(request *q) {
    reading *r = q->state;
    if (r->offset > r->a.size) {
        request_end(q, UAR_E_INVALID, "the offset is behind the end of the attachment");
        return;
    }
    r->length = least(r->length, r->a.size - r->offset);
    r->bytes = arena_alloc(request_mem(q), (size_t)r->length + 1);
    if (r->bytes == NULL) {
        request_end(q, UAR_E_NOMEM, "out of memory");
        return;
    }
    r->bytes[r->length] = '\0';
    r->next = r->offset / r->a.part_bytes + 1;
    r->end = r->length > 0 ? (r->offset + r->length - 1) / r->a.part_bytes + 2 : r->next;
    if (r->next == r->end)
        finish_read(q);
    else
        list_parts(q);
}

static void step_read(request *q) {
    reading *r = q->state;
    if (q->stage++ == 0)
        get_root(q);
    else if (take_root(q, &r->a))
        begin_read(q);
}

static request *read_request(uar_runtime *rt, bool waits, const char *owner, const char *user, uar_uuid id,
                             uint64_t offset, size_t length, uar_error *err) {
    request *q = one_request(rt, waits, step_read, owner, user, id, err);
    if (q == NULL) return NULL;
    if (length > UAR_ATTACHMENT_READ_MAX)
        return request_refuse(q, UAR_E_TOO_LARGE, "a read gives at most 16 MiB", err), NULL;
    reading *r = q->state;
    r->offset = offset;
    r->length = length;
    return q;
}

/* ---- deleting ---- */

static void step_gone(request *q) {
    request_end(q, UAR_OK, NULL);
}

static void step_deleted(request *q);

static uar_status write_delete(request *q, reading *r, uar_write writes[2], bool at_once) {
    arena *mem = &q->op.mem;
    uar_status status = attachment_record(&writes[0].record, mem, &r->a);
    writes[0].op = UAR_WRITE_DELETE;
    writes[0].expected = r->a.revision;
    if (status != UAR_OK || !at_once) {
        writes[1].op = UAR_WRITE_PUT;
        return status != UAR_OK ? status : attachment_mark_record(&writes[1].record, mem, &r->scrap.mark);
    }
    writes[1].op = UAR_WRITE_DELETE_CHILDREN;
    writes[1].record.kind = UAR_RECORD_ATTACHMENT_PART;
    writes[1].record.owner = writes[0].record.owner;
    writes[1].record.parent = writes[0].record.id;
    return UAR_OK;
}

/* The root goes; what is left of a large content gets a mark, so that it is found again whatever happens. */
static void delete_root(request *q) {
    reading *r = q->state;
    uint64_t parts = attachment_parts(r->a.size, r->a.part_bytes);
    bool at_once = parts <= UPLOAD_PARTS;
    r->scrap.mark = (attachment_mark){ .attachment = r->a.id,
                                       .owner = q->owner,
                                       .user = q->user,
                                       .parts = at_once ? 0 : parts,
                                       .deleting = true,
                                       .revision = 1 };
    arena_dispose(&q->op.mem);
    uar_write *writes = arena_zeroed(&q->op.mem, 2, sizeof *writes);
    uar_status status = writes != NULL ? write_delete(q, r, writes, at_once) : UAR_E_NOMEM;
    q->step = step_deleted;
    if (status != UAR_OK)
        request_end(q, status, uar_status_text(status));
    else
        keep_commit(q, writes, 2);
}

static void step_delete(request *q) {
    reading *r = q->state;
    if (q->stage++ == 0)
        get_root(q);
    else if (take_root(q, &r->a))
        delete_root(q);
}

static void step_deleted(request *q) {
    reading *r = q->state;
    if (q->op.status == UAR_E_CONFLICT && q->tries++ < 4) {
        q->step = step_delete;
        get_root(q);
    } else if (request_went_well(q)) {
        r->scrap.then = step_gone;
        if (r->scrap.mark.parts > 0)
            scrap_begin(q, &r->scrap);
        else
            request_end(q, UAR_OK, NULL);
    }
}

/* ---- sweeping ---- */

typedef struct sweeping {
    scrap scrap; /* first: scrap_begin makes it the state */
    uint64_t idle_ms;
} sweeping;

static void step_marks(request *q);

static void list_marks(request *q) {
    q->step = step_marks;
    request_list(q, UAR_RECORD_ATTACHMENT, STR(UAR_SYSTEM_OWNER), uar_str_n(NULL, 0), UAR_ORDER_KEY, 0, SWEEP_PAGE);
}

static void step_swept(request *q) {
    q->box->reply.number++;
    list_marks(q);
}

static bool is_left(const request *q, const attachment_mark *m, uint64_t idle_ms) {
    int64_t now = clock_wall(&q->rt->env.clock);
    return m->deleting || (now >= m->updated_ms && (uint64_t)(now - m->updated_ms) >= idle_ms);
}

/* The first mark of the page that is left over is swept; then the list goes on behind it. */
static void step_marks(request *q) {
    sweeping *s = q->state;
    if (!request_went_well(q)) return;
    for (size_t i = 0; i < q->op.record_count; i++) {
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = attachment_mark_decode(&s->scrap.mark, request_mem(q), &q->op.records[i], &fault);
        q->value = arena_str(request_mem(q), q->op.records[i].id);
        if (status == UAR_OK && q->value.ptr == NULL) status = UAR_E_NOMEM;
        if (status != UAR_OK) {
            request_end(q, status, fault.code == status ? fault.message : uar_status_text(status));
            return;
        }
        if (!is_left(q, &s->scrap.mark, s->idle_ms)) continue;
        s->scrap.then = step_swept;
        scrap_begin(q, &s->scrap);
        return;
    }
    if (q->op.record_count == SWEEP_PAGE)
        list_marks(q);
    else
        request_end(q, UAR_OK, NULL);
}

static request *sweep_request(uar_runtime *rt, bool waits, uint64_t idle_ms, uar_error *err) {
    request *q = request_new(rt, waits, list_marks, err);
    if (q == NULL) return NULL;
    sweeping *s = arena_zeroed(request_mem(q), 1, sizeof *s);
    if (s == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err), NULL;
    s->idle_ms = idle_ms;
    q->state = s;
    return q;
}

static request *list_request(uar_runtime *rt, bool waits, const char *owner, const char *user, uar_str cursor,
                             size_t limit, uar_error *err) {
    request *q = keep_request(rt, waits, &kept_attachments, keep_list, owner, err);
    bool good = q != NULL && request_id(&q, &q->user, user, "user", err) &&
                request_cursor(&q, cursor, keep_is_key, err) && request_limit(&q, limit, err);
    if (good) keeping_of(q)->parent = q->user;
    return good ? q : NULL;
}

/* ---- the calls ---- */

uar_status uar_attachment_put(uar_runtime *rt, const char *owner, const char *user,
                              const uar_attachment_options *options, uar_str content, uar_reply_fn done, void *ctx,
                              uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(put_request(rt, false, owner, user, options, content, &fault), &fault, done, ctx, err);
}

uar_status uar_attachment_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                   const uar_attachment_options *options, uar_str content, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(put_request(rt, true, owner, user, options, content, &fault), &fault, out, err);
}

uar_status uar_attachment_load(uar_runtime *rt, const char *owner, const char *user, uar_uuid id, uar_reply_fn done,
                               void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(one_request(rt, false, step_load, owner, user, id, &fault), &fault, done, ctx, err);
}

uar_status uar_attachment_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user, uar_uuid id,
                                    uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(one_request(rt, true, step_load, owner, user, id, &fault), &fault, out, err);
}

uar_status uar_attachment_list(uar_runtime *rt, const char *owner, const char *user, uar_str cursor, size_t limit,
                               uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(list_request(rt, false, owner, user, cursor, limit, &fault), &fault, done, ctx, err);
}

uar_status uar_attachment_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                    uar_str cursor, size_t limit, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(list_request(rt, true, owner, user, cursor, limit, &fault), &fault, out, err);
}

uar_status uar_attachment_read(uar_runtime *rt, const char *owner, const char *user, uar_uuid id, uint64_t offset,
                               size_t length, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(read_request(rt, false, owner, user, id, offset, length, &fault), &fault, done, ctx, err);
}

uar_status uar_attachment_read_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user, uar_uuid id,
                                    uint64_t offset, size_t length, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(read_request(rt, true, owner, user, id, offset, length, &fault), &fault, out, err);
}

uar_status uar_attachment_delete(uar_runtime *rt, const char *owner, const char *user, uar_uuid id, uar_reply_fn done,
                                 void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(one_request(rt, false, step_delete, owner, user, id, &fault), &fault, done, ctx, err);
}

uar_status uar_attachment_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                      uar_uuid id, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(one_request(rt, true, step_delete, owner, user, id, &fault), &fault, out, err);
}

uar_status uar_attachment_sweep(uar_runtime *rt, uint64_t idle_ms, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(sweep_request(rt, false, idle_ms, &fault), &fault, done, ctx, err);
}

uar_status uar_attachment_sweep_sync(uar_reply **out, uar_runtime *rt, uint64_t idle_ms, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(sweep_request(rt, true, idle_ms, &fault), &fault, out, err);
}
