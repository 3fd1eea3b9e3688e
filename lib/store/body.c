/*
 * Reading and writing record bodies. Owns the parsed tree of a scan and the bytes of a writer until their end.
 * Invariant: whatever the fault, a scan is ended once, and then the tree is freed and only arena memory is left.
 */
#include "store/body.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"
#include "store/base64.h"

/* ---- writing ---- */

void body_write_begin(body_writer *w, arena *ar) {
    buffer_init(&w->bytes, ar->alloc, BODY_MAX);
    json_writer_init(&w->json, &w->bytes);
    json_object_begin(&w->json);
}

static bool is_storable(uar_str text) {
    return text.len == 0 || (memchr(text.ptr, '\0', text.len) == NULL && utf8_is_valid(text));
}

void body_write_item(body_writer *w, uar_str text) {
    if (is_storable(text))
        json_str(&w->json, text.ptr != NULL ? text : uar_str_n("", 0));
    else if (w->bytes.status == UAR_OK)
        w->bytes.status = UAR_E_UTF8;
}

void body_write_text(body_writer *w, const char *key, uar_str text) {
    if (is_storable(text)) json_key(&w->json, key);
    body_write_item(w, text);
}

void body_write_optional(body_writer *w, const char *key, uar_str text) {
    if (text.ptr != NULL) body_write_text(w, key, text);
}

void body_write_bytes(body_writer *w, const char *key, uar_str bytes) {
    if (bytes.ptr == NULL) return;
    buffer encoded;
    buffer_init(&encoded, w->bytes.alloc, BODY_MAX);
    base64_append(&encoded, bytes);
    if (encoded.status == UAR_OK)
        json_put_str(&w->json, key, buffer_str(&encoded));
    else if (w->bytes.status == UAR_OK)
        w->bytes.status = encoded.status;
    buffer_dispose(&encoded);
}

void body_write_uuid(body_writer *w, const char *key, uar_uuid id) {
    if (!uar_uuid_is_none(id)) json_put_uuid(&w->json, key, id);
}

void body_write_usage(body_writer *w, const char *key, const uar_usage *usage) {
    json_key(&w->json, key);
    json_object_begin(&w->json);
    json_put_uint(&w->json, "cache_read", usage->cache_read);
    json_put_uint(&w->json, "cache_write", usage->cache_write);
    json_put_uint(&w->json, "input", usage->input);
    json_put_bool(&w->json, "known", usage->known);
    json_put_uint(&w->json, "output", usage->output);
    json_put_uint(&w->json, "reasoning", usage->reasoning);
    json_object_end(&w->json);
}

/* The canonical text of a JSON value within one more level, "[value]", in `out`. It is read twice: alone, so that it can't
 * break out of its place, and within the level, because depth counts. */
static uar_status nested_text(buffer *out, uar_str json, uar_error *err) {
    cJSON *tree = NULL;
    uar_status st = json_read(&tree, out->alloc, json, BODY_MAX, err);
    if (st != UAR_OK) return st;
    buffer_append_char(out, '[');
    json_append_canonical(out, tree);
    buffer_append_char(out, ']');
    json_free(out->alloc, tree);
    if (out->status != UAR_OK) return error_plain(err, out->status);
    st = json_read(&tree, out->alloc, buffer_str(out), BODY_MAX, err);
    if (st == UAR_OK) json_free(out->alloc, tree);
    return st;
}

void body_write_json(body_writer *w, const char *key, uar_str json, uar_error *err) {
    if (w->bytes.status != UAR_OK) return;
    buffer text;
    buffer_init(&text, w->bytes.alloc, BODY_MAX);
    uar_status st = nested_text(&text, json, err);
    if (st == UAR_OK)
        json_put_raw(&w->json, key, uar_str_n(text.ptr + 1, text.len - 2));
    else
        w->bytes.status = st;
    buffer_dispose(&text);
}

static bool keep_str(uar_str *to, arena *ar, uar_str from) {
    *to = arena_str(ar, from);
    return from.ptr == NULL || to->ptr != NULL;
}

uar_status body_record(uar_record *out, arena *ar, uar_str body, const body_place *place) {
    assert(place->owner.ptr != NULL && place->id.ptr != NULL);
    uar_record made;
    memset(&made, 0, sizeof made);
    made.kind = place->kind;
    made.schema = place->schema != 0 ? place->schema : BODY_SCHEMA;
    bool whole = keep_str(&made.owner, ar, place->owner) && keep_str(&made.id, ar, place->id) &&
                 keep_str(&made.parent, ar, place->parent) && keep_str(&made.body, ar, body);
    if (!whole) return UAR_E_NOMEM;
    *out = made;
    return UAR_OK;
}

uar_status body_write_end(uar_record *out, arena *ar, body_writer *w, const body_place *place) {
    json_object_end(&w->json);
    uar_status st = w->bytes.status;
    if (st == UAR_OK) st = body_record(out, ar, buffer_str(&w->bytes), place);
    buffer_dispose(&w->bytes);
    return st;
}

uar_str body_uuid_text(arena *ar, uar_uuid id) {
    char text[UAR_UUID_TEXT];
    uar_uuid_format(text, id);
    return arena_str(ar, uar_str_of(text));
}

/* ---- reading ---- */

static uar_status report(const uar_record *record, uar_status status, const char *member, uar_error *err) {
    if (status == UAR_OK) return UAR_OK;
    if (status == UAR_E_NOMEM) return error_plain(err, status);
    char label[RECORD_LABEL];
    record_label(label, record);
    const char *kind = record_kind_name(record->kind);
    if (kind == NULL) kind = "unknown";
    if (status == UAR_E_NEWER)
        return error_set(err, status, "the %s record %s has schema %u, newer than this library knows", kind, label,
                         (unsigned)record->schema);
    return error_set(err, status, "the %s record %s is damaged: its %s is missing or wrong", kind, label, member);
}

uar_status body_scan_begin(body_scan *s, body_object *root, arena *ar, const uar_record *record, uint32_t kind,
                           uar_error *err) {
    return body_scan_begin_upto(s, root, ar, record, kind, BODY_SCHEMA, err);
}

uar_status body_scan_begin_upto(body_scan *s, body_object *root, arena *ar, const uar_record *record, uint32_t kind,
                                uint32_t newest, uar_error *err) {
    if (record->kind != kind) return report(record, UAR_E_CORRUPT, "kind", err);
    if (record->schema > newest) return report(record, UAR_E_NEWER, NULL, err);
    if (record->schema < BODY_SCHEMA) return report(record, UAR_E_CORRUPT, "schema", err);
    cJSON *tree = NULL;
    uar_status st = json_read(&tree, ar->alloc, record->body, BODY_MAX, NULL);
    if (st != UAR_OK) return report(record, st == UAR_E_NOMEM ? st : UAR_E_CORRUPT, "body", err);
    *s = (body_scan){ .ar = ar, .record = record, .tree = tree, .status = UAR_OK };
    *root = body_object_begin(s, tree, "body");
    return UAR_OK;
}

uar_status body_scan_end(body_scan *s, body_object *root, uar_error *err) {
    body_object_end(root, "body");
    json_free(s->ar->alloc, s->tree);
    s->tree = NULL;
    return report(s->record, s->status, s->member, err);
}

void body_fault(body_scan *s, uar_status status, const char *member) {
    assert(status != UAR_OK);
    if (s->status != UAR_OK) return;
    s->status = status;
    s->member = member;
}

body_object body_object_begin(body_scan *s, const cJSON *node, const char *name) {
    if (!cJSON_IsObject(node)) body_fault(s, UAR_E_CORRUPT, name);
    return (body_object){ .scan = s, .node = node };
}

void body_object_end(body_object *o, const char *name) {
    if (cJSON_IsObject(o->node) && cJSON_GetArraySize(o->node) != o->taken) body_fault(o->scan, UAR_E_CORRUPT, name);
}

bool body_has(const body_object *o, const char *key) {
    return json_member(o->node, key) != NULL;
}

const cJSON *body_node(body_object *o, const char *key) {
    const cJSON *node = json_member(o->node, key);
    if (node == NULL)
        body_fault(o->scan, UAR_E_CORRUPT, key);
    else
        o->taken++;
    return node;
}

uar_str body_keep(body_scan *s, uar_str text, const char *what) {
    if (text.ptr == NULL) {
        body_fault(s, UAR_E_CORRUPT, what);
        return text;
    }
    uar_str copy = arena_str(s->ar, text);
    if (copy.ptr == NULL) body_fault(s, UAR_E_NOMEM, what);
    return copy;
}

uar_str body_text(body_object *o, const char *key) {
    return body_keep(o->scan, json_node_text(body_node(o, key)), key);
}

uar_str body_optional(body_object *o, const char *key) {
    return body_has(o, key) ? body_text(o, key) : uar_str_n(NULL, 0);
}

uar_str body_bytes(body_object *o, const char *key) {
    uar_str bytes = { NULL, 0 };
    if (!body_has(o, key)) return bytes;
    uar_str text = json_node_text(body_node(o, key));
    uar_status st = text.ptr != NULL ? base64_decode(&bytes, o->scan->ar, text) : UAR_E_INVALID;
    if (st != UAR_OK) body_fault(o->scan, st == UAR_E_NOMEM ? st : UAR_E_CORRUPT, key);
    return bytes;
}

/* 1.0 and 1e2 are integers too, but nothing writes them so: a body has one spelling. */
static bool is_plain_integer(const cJSON *number) {
    const char *at = number->valuestring;
    if (strcmp(at, "-0") == 0) return false;
    at += *at == '-';
    while (*at >= '0' && *at <= '9')
        at++;
    return *at == '\0';
}

uint64_t body_u64(body_object *o, const char *key) {
    uint64_t value = 0;
    const cJSON *node = body_node(o, key);
    if (!json_node_u64(node, &value) || !is_plain_integer(node)) body_fault(o->scan, UAR_E_CORRUPT, key);
    return value;
}

int64_t body_i64(body_object *o, const char *key) {
    int64_t value = 0;
    const cJSON *node = body_node(o, key);
    if (!json_node_i64(node, &value) || !is_plain_integer(node)) body_fault(o->scan, UAR_E_CORRUPT, key);
    return value;
}

bool body_bool(body_object *o, const char *key) {
    const cJSON *node = body_node(o, key);
    if (!cJSON_IsBool(node)) body_fault(o->scan, UAR_E_CORRUPT, key);
    return cJSON_IsTrue(node) != 0;
}

/* Canonical text of a UUID that isn't none. */
static uar_uuid parse_uuid(body_scan *s, uar_str text, const char *what) {
    uar_uuid id;
    memset(&id, 0, sizeof id);
    char canonical[UAR_UUID_TEXT] = "";
    if (uar_uuid_parse(&id, text) == UAR_OK) uar_uuid_format(canonical, id);
    if (uar_uuid_is_none(id) || !uar_str_equal(text, uar_str_of(canonical))) body_fault(s, UAR_E_CORRUPT, what);
    return id;
}

uar_uuid body_uuid(body_object *o, const char *key) {
    return parse_uuid(o->scan, json_node_text(body_node(o, key)), key);
}

uar_uuid body_optional_uuid(body_object *o, const char *key) {
    if (body_has(o, key)) return body_uuid(o, key);
    uar_uuid none;
    memset(&none, 0, sizeof none);
    return none;
}

uar_usage body_usage(body_object *o, const char *key) {
    body_object u = body_object_begin(o->scan, body_node(o, key), key);
    uar_usage usage = {
        .input = body_u64(&u, "input"),
        .cache_read = body_u64(&u, "cache_read"),
        .cache_write = body_u64(&u, "cache_write"),
        .output = body_u64(&u, "output"),
        .reasoning = body_u64(&u, "reasoning"),
        .known = body_bool(&u, "known"),
    };
    body_object_end(&u, key);
    return usage;
}

uar_str body_json(body_object *o, const char *key) {
    uar_str text = { NULL, 0 };
    const cJSON *node = body_node(o, key);
    if (node == NULL) return text;
    buffer b;
    buffer_init(&b, o->scan->ar->alloc, BODY_MAX);
    json_append_canonical(&b, node);
    if (b.status == UAR_OK)
        text = body_keep(o->scan, buffer_str(&b), key);
    else
        body_fault(o->scan, b.status, key);
    buffer_dispose(&b);
    return text;
}

uar_toggle body_toggle(body_object *o, const char *key) {
    if (!body_has(o, key)) return UAR_INHERIT;
    return body_bool(o, key) ? UAR_ON : UAR_OFF;
}

uint32_t body_required_count(body_object *o, const char *key) {
    uint64_t count = body_u64(o, key);
    if (count == 0 || count > UINT32_MAX) body_fault(o->scan, UAR_E_CORRUPT, key);
    return (uint32_t)count;
}

uint32_t body_count(body_object *o, const char *key) {
    return body_has(o, key) ? body_required_count(o, key) : 0;
}

size_t body_choice(body_object *o, const char *key, const char *const *names, size_t count) {
    uar_str text = json_node_text(body_node(o, key));
    for (size_t i = 0; i < count; i++)
        if (text.ptr != NULL && uar_str_equal(text, uar_str_of(names[i]))) return i;
    body_fault(o->scan, UAR_E_CORRUPT, key);
    return 0;
}

const cJSON *body_array(body_object *o, const char *key, size_t *count) {
    const cJSON *node = body_node(o, key);
    *count = 0;
    if (!cJSON_IsArray(node)) {
        body_fault(o->scan, UAR_E_CORRUPT, key);
        return NULL;
    }
    *count = (size_t)cJSON_GetArraySize(node);
    return node->child;
}

uar_uuid body_id_uuid(body_scan *s) {
    return parse_uuid(s, s->record->id, "id");
}

uar_uuid body_parent_uuid(body_scan *s) {
    return parse_uuid(s, s->record->parent, "parent");
}

static void expect_key(body_scan *s, uar_str found, uar_str a, uar_str b, const char *what) {
    if (s->status != UAR_OK) return;
    uar_str key = { NULL, 0 };
    uar_status st = record_key(&key, s->ar, a, b);
    if (st == UAR_E_NOMEM)
        body_fault(s, st, what);
    else if (st != UAR_OK || found.ptr == NULL || !uar_str_equal(found, key))
        body_fault(s, UAR_E_CORRUPT, what);
}

void body_expect_id(body_scan *s, uar_str a, uar_str b) {
    expect_key(s, s->record->id, a, b, "id");
}

void body_expect_parent(body_scan *s, uar_str a, uar_str b) {
    expect_key(s, s->record->parent, a, b, "parent");
}
