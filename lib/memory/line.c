/* Owns: lines of JSON. Invariant: what is handed out or taken is whole lines, in their order. */
#include "memory/line.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

void line_refuse(line_reader *r, const char *key) {
    if (r->status == UAR_OK)
        r->status = error_set(r->err, UAR_E_SCHEMA, "\"%s\" is missing or not what %s has there", key, r->what);
}

static void no_memory(line_reader *r) {
    if (r->status == UAR_OK) r->status = error_plain(r->err, UAR_E_NOMEM);
}

uar_status line_begin(line_reader *r, arena *ar, uar_str text, size_t most, const char *what, uar_error *err) {
    *r = (line_reader){ .ar = ar, .what = what, .err = err };
    uar_status status = json_read(&r->root, ar->alloc, text, most, err);
    if (status != UAR_OK) return status;
    const cJSON *version = json_member(r->root, "v");
    uint64_t number = 1;
    r->has_version = version != NULL && !cJSON_IsNull(version);
    if (!cJSON_IsObject(r->root))
        r->status = error_set(err, UAR_E_SCHEMA, "the line is not a JSON object");
    else if (r->has_version && (!json_node_u64(version, &number) || number != 1))
        r->status = error_set(err, UAR_E_NEWER, "the line is of a version that this library doesn't know");
    return UAR_OK;
}

uar_status line_end(line_reader *r) {
    json_free(r->ar->alloc, r->root);
    r->root = NULL;
    return r->status;
}

/* NULL if the key is missing or null. */
static const cJSON *member(const line_reader *r, const cJSON *object, const char *key) {
    const cJSON *node = json_member(object != NULL ? object : r->root, key);
    return cJSON_IsNull(node) ? NULL : node;
}

static uar_str keep(line_reader *r, uar_str text) {
    uar_str copy = arena_str(r->ar, text);
    if (text.ptr != NULL && copy.ptr == NULL) no_memory(r);
    return copy;
}

uar_str line_text(line_reader *r, const cJSON *object, const char *key) {
    const cJSON *node = member(r, object, key);
    if (node != NULL && cJSON_IsString(node)) return keep(r, json_node_text(node));
    if (node != NULL) line_refuse(r, key);
    return uar_str_n(NULL, 0);
}

uint64_t line_number(line_reader *r, const cJSON *object, const char *key) {
    const cJSON *node = member(r, object, key);
    uint64_t value = 0;
    if (node != NULL && (!json_node_u64(node, &value) || value > INT64_MAX)) line_refuse(r, key);
    return value;
}

uar_uuid line_uuid(line_reader *r, const cJSON *object, const char *key) {
    uar_str text = line_text(r, object, key);
    uar_uuid id = { { 0 } };
    if (text.ptr != NULL && uar_uuid_parse(&id, text) != UAR_OK) line_refuse(r, key);
    return id;
}

int64_t line_time(line_reader *r, const char *key, int64_t none) {
    const cJSON *node = member(r, NULL, key);
    if (node == NULL) return none;
    int64_t ms = none;
    bool ok = cJSON_IsString(node) ? time_parse(&ms, json_node_text(node)) == UAR_OK : json_node_i64(node, &ms);
    /* The earliest time of all stands for no time. */
    if (!ok || ms == INT64_MIN) line_refuse(r, key);
    return ms == none ? none + 1 : ms; /* a time that is said is never none */
}

bool line_flag(line_reader *r, const char *key, bool *is_there) {
    const cJSON *node = member(r, NULL, key);
    *is_there = node != NULL;
    if (node != NULL && !cJSON_IsBool(node)) line_refuse(r, key);
    return cJSON_IsTrue(node);
}

void line_double(line_reader *r, const char *key, double *value) {
    const cJSON *node = member(r, NULL, key);
    if (node != NULL && !json_f64(r->root, key, value)) line_refuse(r, key);
}

const cJSON *line_object(line_reader *r, const char *key) {
    const cJSON *node = member(r, NULL, key);
    if (node == NULL || cJSON_IsObject(node)) return node;
    line_refuse(r, key);
    return NULL;
}

uar_str line_json(line_reader *r, const char *key) {
    const cJSON *node = member(r, NULL, key);
    uar_str text = { NULL, 0 };
    if (node == NULL) return text;
    buffer out;
    buffer_init(&out, r->ar->alloc, SIZE_MAX / 4);
    json_append_node(&out, node);
    if (out.status == UAR_OK)
        text = keep(r, buffer_str(&out));
    else
        no_memory(r);
    buffer_dispose(&out);
    return text;
}

const uar_str *line_texts(line_reader *r, const char *key, size_t *count) {
    const cJSON *array = member(r, NULL, key);
    *count = 0;
    if (array == NULL) return NULL;
    if (!cJSON_IsArray(array)) {
        line_refuse(r, key);
        return NULL;
    }
    size_t n = 0;
    for (const cJSON *item = array->child; item != NULL; item = item->next)
        n++;
    uar_str *texts = (uar_str *)arena_zeroed(r->ar, n + 1, sizeof *texts);
    if (texts == NULL) no_memory(r);
    for (const cJSON *item = array->child; item != NULL && texts != NULL; item = item->next) {
        if (cJSON_IsString(item))
            texts[(*count)++] = keep(r, json_node_text(item));
        else
            line_refuse(r, key);
    }
    return texts;
}

uar_memory_scope line_scope(line_reader *r, uar_memory_scope none) {
    uar_str name = line_text(r, NULL, "scope");
    if (name.ptr != NULL && uar_memory_scope_parse(&none, name) != UAR_OK) line_refuse(r, "scope");
    return none;
}

uar_memory_trust line_trust(line_reader *r) {
    uar_memory_trust trust = UAR_MEMORY_TRUST_IMPORT;
    uar_str name = line_text(r, NULL, "trust");
    if (name.ptr != NULL && uar_memory_trust_parse(&trust, name) != UAR_OK) line_refuse(r, "trust");
    return trust;
}

uar_memory_provenance line_provenance(line_reader *r) {
    uar_memory_provenance from = { .event = 0 };
    const cJSON *node = line_object(r, "provenance");
    if (node == NULL) return from;
    from.run = line_uuid(r, node, "run");
    from.event = line_number(r, node, "event");
    from.session = line_text(r, node, "session");
    return from;
}

uar_str line_take(uar_str *rest) {
    const char *end = rest->len != 0 ? (const char *)memchr(rest->ptr, '\n', rest->len) : NULL;
    size_t len = end != NULL ? (size_t)(end - rest->ptr) : rest->len;
    size_t step = end != NULL ? len + 1 : len;
    uar_str line = uar_str_n(rest->ptr, len);
    rest->ptr += step;
    rest->len -= step;
    if (line.len != 0 && line.ptr[line.len - 1] == '\r') line.len--;
    return line;
}

uar_status lines_deliver(buffer *lines, uar_memory_write_fn write, void *ctx, uar_error *err) {
    if (lines->status != UAR_OK) return error_plain(err, lines->status);
    size_t from = 0;
    for (size_t at = 0; at < lines->len; at++) {
        if (lines->ptr[at] != '\n') continue;
        uar_status status = write(ctx, uar_str_n(lines->ptr + from, at + 1 - from));
        if (status != UAR_OK) return error_set(err, status, "the export was stopped by its writer");
        from = at + 1;
    }
    buffer_reset(lines);
    return UAR_OK;
}
