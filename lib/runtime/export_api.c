/*
 * Sessions as lines of JSON. Owns nothing.
 * One page of records is in memory at a time. Messages that come in meanwhile are left out: the export ends at the number
 * that was the last one when it began.
 */
#include <uar/lifecycle.h>

#include "base/error.h"
#include "base/str.h"
#include "base/struct_in.h"
#include "runtime/lifecycle.h"
#include "store/base64.h"

#define PAGE 50
#define LINE_MAX_BYTES ((size_t)512 << 20)
/* Attachments whose ids are remembered, so that each is written once. */
#define ATTACHMENTS_MAX ((size_t)1 << 20)

typedef enum export_stage {
    EXPORT_AT_START,
    EXPORT_AT_SESSION,
    EXPORT_AT_POLICY,
    EXPORT_AT_LIST,
    EXPORT_AT_ATTACHMENT,
    EXPORT_AT_PARTS
} export_stage;

typedef struct exporting {
    uar_export_options options;
    uar_export_fn write;
    void *ctx;
    export_stage stage;
    buffer line; /* of the runtime's memory; disposed of at the end */
    size_t at;   /* which of the listed kinds */
    uint64_t last_number, after;
    uint64_t lines;
    uar_uuid *attachments; /* that messages name */
    size_t attachment_count, attachment_cap, attachment_at;
} exporting;

static const uint32_t listed[] = { UAR_RECORD_MEMORY_BLOCK,  UAR_RECORD_MESSAGE, UAR_RECORD_RUN,
                                   UAR_RECORD_CHECKPOINT,    UAR_RECORD_JOURNAL, UAR_RECORD_APPROVAL,
                                   UAR_RECORD_INPUT_REQUEST, UAR_RECORD_COST };
#define LISTED_COUNT (sizeof listed / sizeof *listed)

static void dispose(request *q) {
    exporting *x = q->state;
    alloc_free(&q->rt->env.alloc, x->attachments);
    buffer_dispose(&x->line);
    q->box->reply.number = x->lines;
}

/* ---- lines ---- */

static bool hand_over(request *q) {
    exporting *x = q->state;
    callout_frame frame;
    if (x->line.status != UAR_OK) {
        request_end(q, x->line.status, NULL);
        return false;
    }
    callout_enter(&q->rt->env.calls, &frame, CALLOUT_REPLY);
    uar_status status = x->write(x->ctx, buffer_str(&x->line));
    callout_leave(&q->rt->env.calls, &frame);
    if (status != UAR_OK) {
        request_end(q, status, "the export was stopped by who reads it");
        return false;
    }
    x->lines++;
    return true;
}

/* The envelope and the body as it is stored. */
static bool write_record(request *q, const uar_record *r) {
    exporting *x = q->state;
    json_writer w;
    buffer_reset(&x->line);
    json_writer_init(&w, &x->line);
    json_object_begin(&w);
    json_put_uint(&w, "v", 1);
    json_put_str(&w, "kind", uar_str_of(record_kind_name(r->kind)));
    json_put_str(&w, "id", r->id);
    if (r->has_sort) json_put_int(&w, "number", r->sort);
    json_put_uint(&w, "schema", r->schema);
    json_put_uint(&w, "revision", r->revision);
    json_put_int(&w, "created_ms", r->created_ms);
    json_put_int(&w, "updated_ms", r->updated_ms);
    json_put_raw(&w, "body", r->body);
    if (r->blob.ptr != NULL) {
        buffer encoded;
        buffer_init(&encoded, &q->rt->env.alloc, LINE_MAX_BYTES);
        base64_append(&encoded, r->blob);
        if (encoded.status == UAR_OK)
            json_put_str(&w, "blob", buffer_str(&encoded));
        else
            x->line.status = encoded.status;
        buffer_dispose(&encoded);
    }
    json_object_end(&w);
    return hand_over(q);
}

static void write_end(request *q) {
    exporting *x = q->state;
    uint64_t lines = x->lines;
    json_writer w;
    buffer_reset(&x->line);
    json_writer_init(&w, &x->line);
    json_object_begin(&w);
    json_put_uint(&w, "v", 1);
    json_put_str(&w, "kind", STR("end"));
    json_put_uint(&w, "lines", lines);
    json_object_end(&w);
    if (!hand_over(q)) return;
    x->lines = lines; /* the last one doesn't count itself */
    request_end(q, UAR_OK, NULL);
}

/* ---- attachments ---- */

static bool is_noted(const exporting *x, uar_uuid id) {
    for (size_t i = 0; i < x->attachment_count; i++)
        if (uar_uuid_equal(x->attachments[i], id)) return true;
    return false;
}

static uar_status note_attachment(request *q, uar_str text) {
    exporting *x = q->state;
    uar_uuid id;
    if (uar_uuid_parse(&id, text) != UAR_OK || is_noted(x, id)) return UAR_OK;
    if (x->attachment_count == x->attachment_cap) {
        size_t cap = x->attachment_cap == 0 ? 16 : x->attachment_cap * 2;
        if (cap > ATTACHMENTS_MAX) return UAR_E_TOO_LARGE;
        uar_uuid *grown = alloc_resize(&q->rt->env.alloc, x->attachments, cap * sizeof *grown);
        if (grown == NULL) return UAR_E_NOMEM;
        x->attachments = grown;
        x->attachment_cap = cap;
    }
    x->attachments[x->attachment_count++] = id;
    return UAR_OK;
}

static uar_status note_attachments(request *q, const uar_record *r) {
    uar_message m;
    uar_status status = message_decode(&m, &q->op.mem, r, NULL);
    for (size_t i = 0; status == UAR_OK && i < m.part_count; i++) {
        uar_part_type type = m.parts[i].type;
        if (type == UAR_PART_IMAGE || type == UAR_PART_AUDIO || type == UAR_PART_FILE)
            status = note_attachment(q, m.parts[i].opaque);
    }
    return status;
}

static uar_str attachment_text(const exporting *x, char text[UAR_UUID_TEXT]) {
    uar_uuid_format(text, x->attachments[x->attachment_at]);
    return uar_str_of(text);
}

static void next_attachment(request *q) {
    exporting *x = q->state;
    char text[UAR_UUID_TEXT];
    if (x->attachment_at == x->attachment_count) {
        write_end(q);
        return;
    }
    x->stage = EXPORT_AT_ATTACHMENT;
    request_get(q, UAR_RECORD_ATTACHMENT, q->owner, attachment_text(x, text));
}

static void ask_parts(request *q) {
    exporting *x = q->state;
    char text[UAR_UUID_TEXT];
    x->stage = EXPORT_AT_PARTS;
    request_list(q, UAR_RECORD_ATTACHMENT_PART, q->owner, attachment_text(x, text), UAR_ORDER_SORT, x->after, PAGE);
}

static void got_attachment(request *q) {
    exporting *x = q->state;
    if (q->op.status != UAR_OK && q->op.status != UAR_E_NOT_FOUND) {
        (void)request_went_well(q);
        return;
    }
    bool own = q->op.status == UAR_OK && uar_str_equal(q->op.records->parent, q->user);
    if (own && !write_record(q, q->op.records)) return;
    x->after = 0;
    if (own && x->options.contents) {
        ask_parts(q);
        return;
    }
    x->attachment_at++;
    next_attachment(q);
}

static void got_parts(request *q) {
    exporting *x = q->state;
    if (!request_went_well(q)) return;
    size_t count = q->op.record_count;
    for (size_t i = 0; i < count; i++)
        if (!write_record(q, &q->op.records[i])) return;
    if (count > 0) x->after = (uint64_t)q->op.records[count - 1].sort;
    if (count == PAGE) {
        ask_parts(q);
        return;
    }
    x->attachment_at++;
    next_attachment(q);
}

/* ---- what the session holds ---- */

static void ask_list(request *q) {
    exporting *x = q->state;
    if (x->at == LISTED_COUNT) {
        next_attachment(q);
        return;
    }
    x->stage = EXPORT_AT_LIST;
    bool by_number = listed[x->at] == UAR_RECORD_MESSAGE;
    request_list(q, listed[x->at], q->owner, q->id, by_number ? UAR_ORDER_SORT : UAR_ORDER_KEY, x->after, PAGE);
}

static void next_list(request *q) {
    exporting *x = q->state;
    x->at++;
    x->after = 0;
    q->value = uar_str_of(NULL);
    ask_list(q);
}

static bool write_page(request *q, bool are_messages) {
    exporting *x = q->state;
    for (size_t i = 0; i < q->op.record_count; i++) {
        const uar_record *r = &q->op.records[i];
        if (are_messages && (uint64_t)r->sort > x->last_number) return true;
        uar_status status = are_messages ? note_attachments(q, r) : UAR_OK;
        if (status != UAR_OK) {
            request_end(q, status, NULL);
            return false;
        }
        if (!write_record(q, r)) return false;
    }
    return true;
}

static void got_list(request *q) {
    exporting *x = q->state;
    size_t count = q->op.record_count;
    bool are_messages = listed[x->at] == UAR_RECORD_MESSAGE;
    if (!request_went_well(q)) return;
    if (!write_page(q, are_messages)) return;
    if (count < PAGE) {
        next_list(q);
        return;
    }
    const uar_record *last = &q->op.records[count - 1];
    x->after = (uint64_t)last->sort;
    q->value = arena_str(request_mem(q), last->id);
    if (q->value.ptr == NULL)
        request_end(q, UAR_E_NOMEM, NULL);
    else
        ask_list(q);
}

static void got_session(request *q) {
    exporting *x = q->state;
    uar_session s;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = q->op.status;
    if (status == UAR_OK)
        status = session_decode(&s, request_mem(q), q->op.records, &fault);
    else
        error_copy(&fault, &q->op.error);
    if (status == UAR_E_NOT_FOUND) error_set(&fault, status, "there is no such session");
    if (status != UAR_OK) {
        request_end(q, status, fault.message);
        return;
    }
    x->last_number = s.last_number;
    if (!write_record(q, q->op.records)) return;
    x->stage = EXPORT_AT_POLICY;
    request_get(q, UAR_RECORD_SESSION_POLICY, q->owner, q->id);
}

static void got_policy(request *q) {
    bool is_there = q->op.status == UAR_OK;
    if (!is_there && q->op.status != UAR_E_NOT_FOUND)
        (void)request_went_well(q);
    else if (!is_there || write_record(q, q->op.records))
        ask_list(q);
}

static void step_export(request *q) {
    exporting *x = q->state;
    switch (x->stage) {
    case EXPORT_AT_START:
        x->stage = EXPORT_AT_SESSION;
        request_get(q, UAR_RECORD_SESSION, q->owner, q->id);
        break;
    case EXPORT_AT_SESSION: got_session(q); break;
    case EXPORT_AT_POLICY: got_policy(q); break;
    case EXPORT_AT_LIST: got_list(q); break;
    case EXPORT_AT_ATTACHMENT: got_attachment(q); break;
    case EXPORT_AT_PARTS: got_parts(q); break;
    }
}

static request *export_request(uar_runtime *rt, bool waits, const char *owner, const char *user, const char *session,
                               const uar_export_options *options, uar_export_fn write, void *ctx, uar_error *err) {
    uar_export_options o = { UAR_EXPORT_OPTIONS_INIT, .contents = false };
    if (write == NULL) return error_set(err, UAR_E_INVALID, "write is NULL"), NULL;
    if (options != NULL && struct_in(&o, sizeof o, options, "uar_export_options", err) != UAR_OK) return NULL;
    request *q = lifecycle_request(rt, waits, step_export, owner, user, session, sizeof(exporting), err);
    if (q == NULL) return NULL;
    exporting *x = q->state;
    x->options = o;
    x->write = write;
    x->ctx = ctx;
    buffer_init(&x->line, &rt->env.alloc, LINE_MAX_BYTES);
    q->dispose = dispose;
    return q;
}

uar_status uar_session_export(uar_runtime *rt, const char *owner, const char *user, const char *session,
                              const uar_export_options *options, uar_export_fn write, void *write_ctx,
                              uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(export_request(rt, false, owner, user, session, options, write, write_ctx, &fault), &fault,
                         done, ctx, err);
}

uar_status uar_session_export_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                   const char *session, const uar_export_options *options, uar_export_fn write,
                                   void *write_ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(export_request(rt, true, owner, user, session, options, write, write_ctx, &fault), &fault,
                            out, err);
}
