/*
 * The body of a message record and of its parts. Owns nothing.
 * Each part type has one writer and one reader; a type without them is refused in both directions. Version 2 has parts that
 * name an attachment; a message without such a part is still written as version 1, so that older libraries read it.
 */
#include "store/bodies.h"
#include "store/body.h"

#define X_NAME(name, json) json,
static const char *const role_names[] = { UAR_ROLES(X_NAME) };
static const char *const part_names[] = { UAR_PART_TYPES(X_NAME) };
#undef X_NAME

#define ROLE_COUNT (sizeof role_names / sizeof role_names[0])
#define PART_COUNT (sizeof part_names / sizeof part_names[0])

#define NEWEST 2u

static bool names_attachment(uar_part_type type) {
    return type == UAR_PART_IMAGE || type == UAR_PART_AUDIO || type == UAR_PART_FILE;
}

/* ---- writing ---- */

static void write_fields(body_writer *w, const uar_part *p) {
    switch (p->type) {
    case UAR_PART_TEXT: body_write_text(w, "text", p->text); break;
    case UAR_PART_REASONING:
        body_write_bytes(w, "opaque", p->opaque);
        body_write_text(w, "text", p->text);
        break;
    case UAR_PART_TOOL_CALL:
        body_write_text(w, "arguments", p->arguments);
        body_write_text(w, "call", p->call);
        body_write_text(w, "tool", p->tool);
        break;
    case UAR_PART_TOOL_RESULT:
        body_write_text(w, "call", p->call);
        json_put_bool(&w->json, "failed", p->failed);
        body_write_text(w, "text", p->text);
        body_write_text(w, "tool", p->tool);
        break;
    case UAR_PART_IMAGE:
    case UAR_PART_AUDIO:
    case UAR_PART_FILE:
        body_write_text(w, "attachment", p->opaque);
        body_write_optional(w, "text", p->text);
        break;
    default: break;
    }
}

/* The id as the library writes it: another spelling couldn't be read back. */
static bool is_attachment_id(uar_str text) {
    uar_uuid id;
    char canonical[UAR_UUID_TEXT];
    if (uar_uuid_parse(&id, text) != UAR_OK || uar_uuid_is_none(id)) return false;
    uar_uuid_format(canonical, id);
    return uar_str_equal(text, uar_str_of(canonical));
}

static uar_status part_check(const uar_part *p) {
    if ((size_t)p->type >= PART_COUNT) return UAR_E_UNSUPPORTED;
    return !names_attachment(p->type) || is_attachment_id(p->opaque) ? UAR_OK : UAR_E_INVALID;
}

static uint32_t version_of(const uar_message *m) {
    for (size_t i = 0; i < m->part_count; i++)
        if (names_attachment(m->parts[i].type)) return NEWEST;
    return BODY_SCHEMA;
}

static void write_parts(body_writer *w, const uar_message *m) {
    json_key(&w->json, "parts");
    json_array_begin(&w->json);
    for (size_t i = 0; i < m->part_count; i++) {
        json_object_begin(&w->json);
        write_fields(w, &m->parts[i]);
        json_put_str(&w->json, "type", uar_str_of(part_names[m->parts[i].type]));
        json_object_end(&w->json);
    }
    json_array_end(&w->json);
}

static uar_status message_check(const uar_message *m) {
    if (m->number == 0 || m->number > INT64_MAX || (size_t)m->role >= ROLE_COUNT || uar_uuid_is_none(m->id))
        return UAR_E_INVALID;
    uar_status st = UAR_OK;
    for (size_t i = 0; i < m->part_count && st == UAR_OK; i++)
        st = part_check(&m->parts[i]);
    return st;
}

uar_status message_record(uar_record *out, arena *ar, uar_str owner, uar_str session_key, const uar_message *m) {
    uar_status st = message_check(m);
    if (st != UAR_OK) return st;
    const body_place place = { .kind = UAR_RECORD_MESSAGE,
                               .owner = owner,
                               .id = body_uuid_text(ar, m->id),
                               .parent = session_key,
                               .schema = version_of(m) };
    if (place.id.ptr == NULL) return UAR_E_NOMEM;
    body_writer w;
    body_write_begin(&w, ar);
    json_put_bool(&w.json, "interrupted", m->interrupted);
    write_parts(&w, m);
    body_write_optional(&w, "recalled", m->recalled);
    json_put_str(&w.json, "role", uar_str_of(role_names[m->role]));
    body_write_uuid(&w, "run", m->run);
    st = body_write_end(out, ar, &w, &place);
    if (st != UAR_OK) return st;
    out->has_sort = true;
    out->sort = (int64_t)m->number;
    return UAR_OK;
}

/* ---- reading ---- */

static uar_part read_part(body_scan *scan, const cJSON *node) {
    body_object o = body_object_begin(scan, node, "parts");
    uar_part p = { .type = (uar_part_type)body_choice(&o, "type", part_names, PART_COUNT) };
    switch (p.type) {
    case UAR_PART_TEXT: p.text = body_text(&o, "text"); break;
    case UAR_PART_REASONING:
        p.text = body_text(&o, "text");
        p.opaque = body_bytes(&o, "opaque");
        break;
    case UAR_PART_TOOL_CALL:
        p.call = body_text(&o, "call");
        p.tool = body_text(&o, "tool");
        p.arguments = body_text(&o, "arguments");
        break;
    case UAR_PART_TOOL_RESULT:
        p.call = body_text(&o, "call");
        p.tool = body_text(&o, "tool");
        p.text = body_text(&o, "text");
        p.failed = body_bool(&o, "failed");
        break;
    case UAR_PART_IMAGE:
    case UAR_PART_AUDIO:
    case UAR_PART_FILE:
        if (scan->record->schema < NEWEST) body_fault(scan, UAR_E_CORRUPT, "type");
        p.opaque = body_text(&o, "attachment");
        p.text = body_optional(&o, "text");
        if (!is_attachment_id(p.opaque)) body_fault(scan, UAR_E_CORRUPT, "attachment");
        break;
    default: body_fault(scan, UAR_E_CORRUPT, "type"); break;
    }
    body_object_end(&o, "parts");
    return p;
}

static const uar_part *read_parts(body_scan *scan, body_object *root, size_t *count) {
    const cJSON *node = body_array(root, "parts", count);
    if (*count == 0) return NULL;
    uar_part *parts = arena_zeroed(scan->ar, *count, sizeof *parts);
    if (parts == NULL) {
        body_fault(scan, UAR_E_NOMEM, "parts");
        return NULL;
    }
    for (size_t i = 0; node != NULL && scan->status == UAR_OK; node = node->next)
        parts[i++] = read_part(scan, node);
    return parts;
}

uar_status message_decode(uar_message *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin_upto(&scan, &root, ar, r, UAR_RECORD_MESSAGE, NEWEST, err);
    if (st != UAR_OK) return st;
    uar_message m = {
        .id = body_id_uuid(&scan),
        .run = body_optional_uuid(&root, "run"),
        .role = (uar_role)body_choice(&root, "role", role_names, ROLE_COUNT),
        .interrupted = body_bool(&root, "interrupted"),
        .recalled = body_optional(&root, "recalled"),
        .created_ms = r->created_ms,
    };
    m.parts = read_parts(&scan, &root, &m.part_count);
    if (r->has_sort && r->sort > 0)
        m.number = (uint64_t)r->sort;
    else
        body_fault(&scan, UAR_E_CORRUPT, "number");
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = m;
    return st;
}
