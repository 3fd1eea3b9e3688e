/* Storing the content of an attachment, and removing what is left of one: see upload.h. Owns an upload's sum. */
#include "runtime/upload.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/struct_in.h"

/* Parts removed by one commit. */
#define SCRAP_PARTS 64

static uar_status decode(void *item, arena *ar, const uar_record *r, uar_error *err) {
    return attachment_decode(item, ar, r, err);
}

static void answer(uar_reply *reply, void *items) {
    reply->attachments = items;
}

const kept kept_attachments = {
    .kind = UAR_RECORD_ATTACHMENT,
    .size = sizeof(uar_attachment),
    .decode = decode,
    .answer = answer,
    .missing = "there is no such attachment",
};

/* ---- storing ---- */

uar_status upload_begin(upload *u, const run_env *env) {
    uar_status status = uuid_make(&u->a.id, &env->clock, &env->random);
    u->a.part_bytes = (uint32_t)ATTACHMENT_PART_MAX;
    return status == UAR_OK ? sha256_begin(&u->sum, &env->alloc) : status;
}

void upload_dispose(upload *u) {
    sha256_free(u->sum);
    u->sum = NULL;
}

static uar_status describe(uar_str *out, arena *mem, const char *text, const char *what, uar_error *err) {
    uar_status status = host_id_check(uar_str_of(text), what, err);
    if (status != UAR_OK) return status;
    *out = arena_str(mem, uar_str_of(text));
    return out->ptr != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
}

uar_status upload_describe(uar_attachment *a, arena *mem, const uar_attachment_options *options, uar_error *err) {
    uar_attachment_options o;
    uar_status status = struct_in(&o, sizeof o, options, "uar_attachment_options", err);
    if (status != UAR_OK) return status;
    status = describe(&a->media, mem, o.media != NULL ? o.media : "application/octet-stream", "media type", err);
    return status == UAR_OK && o.name != NULL ? describe(&a->name, mem, o.name, "file name", err) : status;
}

static uar_status write_parts(const upload *u, uar_write *writes, size_t *count, arena *mem, uar_str content) {
    uar_status status = UAR_OK;
    for (size_t at = 0; at < content.len && status == UAR_OK; at += ATTACHMENT_PART_MAX) {
        size_t len = content.len - at < ATTACHMENT_PART_MAX ? content.len - at : ATTACHMENT_PART_MAX;
        attachment_part part = { u->a.id, u->parts + *count + 1, uar_str_n(content.ptr + at, len) };
        uar_write *w = &writes[(*count)++];
        w->op = UAR_WRITE_PUT;
        status = attachment_part_record(&w->record, mem, u->a.owner, &part);
    }
    return status;
}

static uar_status write_mark(const upload *u, uar_write *w, arena *mem, uint64_t parts, bool last) {
    attachment_mark mark = { .attachment = u->a.id, .owner = u->a.owner, .user = u->a.user, .parts = parts };
    w->op = last ? UAR_WRITE_DELETE : UAR_WRITE_PUT;
    w->expected = u->mark_revision;
    return attachment_mark_record(&w->record, mem, &mark);
}

static uar_status make_writes(request *q, upload *u, uar_str content, bool last) {
    arena *mem = &q->op.mem;
    size_t count = 0;
    arena_dispose(mem);
    uar_write *writes = arena_zeroed(mem, UPLOAD_PARTS + 2, sizeof *writes);
    if (writes == NULL) return UAR_E_NOMEM;
    uar_status status = sha256_append(u->sum, content);
    if (status == UAR_OK) status = write_parts(u, writes, &count, mem, content);
    size_t parts = count;
    if (status == UAR_OK && (!last || u->mark_revision != 0))
        status = write_mark(u, &writes[count++], mem, u->parts + parts, last);
    u->a.size += content.len;
    if (status == UAR_OK && last) {
        status = sha256_finish(u->a.sha256, u->sum);
        writes[count].op = UAR_WRITE_PUT;
        if (status == UAR_OK) status = attachment_record(&writes[count++].record, mem, &u->a);
    }
    q->op.call = STORE_COMMIT;
    q->op.writes = writes;
    q->op.write_count = count;
    return status;
}

bool upload_commit(request *q, upload *u, uar_str content, bool last) {
    uar_status status = make_writes(q, u, content, last);
    if (status == UAR_OK) {
        request_submit(q);
        return true;
    }
    u->dead = true;
    request_end(q, status, uar_status_text(status));
    return false;
}

bool upload_committed(request *q, upload *u, uar_str content, bool last) {
    if (q->op.status != UAR_OK) {
        u->dead = true;
        request_end(q, q->op.status,
                    q->op.status == UAR_E_CONFLICT ? "the upload was given up by a sweep" : q->op.error.message);
        return false;
    }
    u->parts += attachment_parts(content.len, ATTACHMENT_PART_MAX);
    u->mark_revision++;
    u->finished = last;
    return true;
}

/* ---- removing ---- */

static scrap *scrap_of(const request *q) {
    return q->state;
}

static uar_status write_scrap(scrap *s, uar_write *writes, size_t *count, arena *mem) {
    attachment_mark *m = &s->mark;
    uint64_t batch = s->whole || m->parts < SCRAP_PARTS ? m->parts : SCRAP_PARTS;
    uint64_t left = m->parts - batch;
    uar_status status = UAR_OK;
    uar_str owner = arena_str(mem, m->owner);
    if (owner.ptr == NULL) return UAR_E_NOMEM;
    for (uint64_t i = 0; !s->whole && i < batch && status == UAR_OK; i++) {
        uar_write *w = &writes[(*count)++];
        *w = (uar_write){ .op = UAR_WRITE_DELETE, .expected = 1 };
        w->record.kind = UAR_RECORD_ATTACHMENT_PART;
        w->record.owner = owner;
        status = attachment_part_id(&w->record.id, mem, m->attachment, left + i + 1);
    }
    m->parts = left;
    m->deleting = true;
    uar_write *w = &writes[(*count)++];
    *w = (uar_write){ .op = left > 0 ? UAR_WRITE_PUT : UAR_WRITE_DELETE, .expected = m->revision };
    if (status == UAR_OK) status = attachment_mark_record(&w->record, mem, m);
    if (!s->whole || status != UAR_OK) return status;
    uar_str parent = w->record.id;
    w = &writes[(*count)++];
    *w = (uar_write){ .op = UAR_WRITE_DELETE_CHILDREN };
    w->record.kind = UAR_RECORD_ATTACHMENT_PART;
    w->record.owner = owner;
    w->record.parent = parent;
    return UAR_OK;
}

static void scrap_batch(request *q);

static void step_scrapped(request *q) {
    scrap *s = scrap_of(q);
    if (q->op.status == UAR_E_CONFLICT && !s->whole) {
        /* A part that isn't there, or somebody else who is at it: then the mark has moved, and this conflicts as well. */
        s->whole = true;
        scrap_batch(q);
    } else if (q->op.status == UAR_E_CONFLICT) {
        q->op.status = UAR_OK;
        q->step = s->then;
        s->then(q);
    } else if (request_went_well(q)) {
        s->mark.revision++;
        if (s->mark.parts > 0) {
            scrap_batch(q);
            return;
        }
        q->step = s->then;
        s->then(q);
    }
}

static void scrap_batch(request *q) {
    scrap *s = scrap_of(q);
    size_t count = 0;
    arena_dispose(&q->op.mem);
    uar_write *writes = arena_zeroed(&q->op.mem, SCRAP_PARTS + 2, sizeof *writes);
    uar_status status = writes != NULL ? write_scrap(s, writes, &count, &q->op.mem) : UAR_E_NOMEM;
    if (status != UAR_OK)
        request_end(q, status, uar_status_text(status));
    else
        keep_commit(q, writes, count);
}

void scrap_begin(request *q, scrap *s) {
    q->state = s;
    q->step = step_scrapped;
    s->whole = false;
    scrap_batch(q);
}
