/*
 * Writing JSON: strings, trees, and the writer that places commas.
 *
 * Invariants: what is written is JSON that the strict reader takes back (as long as nesting stays within its depth and
 * raw pieces are JSON); faults stick in the buffer; a writer's `depth` counts the open containers, and bit depth - 1 of
 * `has_item` says whether the innermost has an item already.
 */
#include <assert.h>

#include "base/json_tree.h"
#include "base/utf8.h"

#define FEW_MEMBERS 16 /* sorted without asking for memory */

/* ---- Strings ---- */

/* Letter of the short escape of each control character; 0: it needs \u. */
static const char control_escape[0x20] = { ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't' };

/* End of the run of characters that stand for themselves. */
static const char *skip_verbatim(const char *p, const char *end) {
    while ((p = json_skip_plain(p, end)) < end && (uint8_t)*p >= 0x80) {
        utf8_item item = utf8_decode(p, (size_t)(end - p));
        if (item.kind != UTF8_CHARACTER) break;
        p += item.len;
    }
    return p;
}

static void append_escape(buffer *out, uint8_t c) {
    static const char hex[] = "0123456789abcdef";
    char text[6] = { '\\', (char)c };
    if (c >= 0x20) {
        buffer_append(out, text, 2);
        return;
    }
    if (control_escape[c] != 0) {
        text[1] = control_escape[c];
        buffer_append(out, text, 2);
        return;
    }
    memcpy(text + 1, "u00", 3);
    text[4] = hex[c >> 4];
    text[5] = hex[c & 0xF];
    buffer_append(out, text, sizeof text);
}

void json_append_string(buffer *out, uar_str s) {
    const char *p = s.len != 0 ? s.ptr : "";
    const char *end = p + s.len;
    buffer_append_char(out, '"');
    while (p < end) {
        const char *run_end = skip_verbatim(p, end);
        if (run_end > p) buffer_append(out, p, (size_t)(run_end - p));
        p = run_end;
        if (p == end) break;
        utf8_item item = utf8_decode(p, (size_t)(end - p));
        if (item.kind == UTF8_CHARACTER && item.code_point != 0) {
            append_escape(out, (uint8_t)*p);
        } else {
            utf8_append(out, UTF8_REPLACEMENT);
        }
        p += item.len;
    }
    buffer_append_char(out, '"');
}

/* ---- Trees ---- */

static void append_tree(buffer *out, const cJSON *node, bool is_canonical, unsigned depth);

static void append_member(buffer *out, const cJSON *member, bool is_canonical, unsigned depth) {
    json_append_string(out, uar_str_of(member->string));
    buffer_append_char(out, ':');
    append_tree(out, member, is_canonical, depth);
}

static void append_children(buffer *out, const cJSON *node, bool is_canonical, unsigned depth) {
    bool is_object = json_kind(node) == cJSON_Object;
    for (const cJSON *child = node->child; child != NULL; child = child->next) {
        if (child != node->child) buffer_append_char(out, ',');
        if (is_object) {
            append_member(out, child, is_canonical, depth);
        } else {
            append_tree(out, child, is_canonical, depth);
        }
    }
}

static size_t count_children(const cJSON *node) {
    size_t count = 0;
    for (const cJSON *child = node->child; child != NULL; child = child->next) {
        count++;
    }
    return count;
}

static bool is_sorted(const cJSON *object) {
    const cJSON *member = object->child;
    for (; member != NULL && member->next != NULL; member = member->next) {
        if (strcmp(member->string, member->next->string) > 0) return false;
    }
    return true;
}

static void append_sorted(buffer *out, const cJSON *object, json_entry *entries, size_t count, unsigned depth) {
    size_t at = 0;
    for (cJSON *member = object->child; member != NULL; member = member->next, at++) {
        entries[at] = json_entry_of(member, at);
    }
    json_entries_sort(entries, entries + count, count);
    for (at = 0; at < count; at++) {
        if (at > 0) buffer_append_char(out, ',');
        append_member(out, entries[at].node, true, depth);
    }
}

static void append_few_sorted(buffer *out, const cJSON *object, size_t count, unsigned depth) {
    json_entry entries[2 * FEW_MEMBERS];
    assert(count <= FEW_MEMBERS);
    append_sorted(out, object, entries, count, depth);
}

static void append_many_sorted(buffer *out, const cJSON *object, size_t count, unsigned depth) {
    json_entry *entries = alloc_zeroed(out->alloc, count, 2 * sizeof *entries);
    if (entries == NULL) {
        if (out->status == UAR_OK) out->status = UAR_E_NOMEM;
        return;
    }
    append_sorted(out, object, entries, count, depth);
    alloc_free(out->alloc, entries);
}

static void append_object(buffer *out, const cJSON *node, bool is_canonical, unsigned depth) {
    buffer_append_char(out, '{');
    if (!is_canonical || is_sorted(node)) {
        append_children(out, node, is_canonical, depth);
    } else {
        size_t count = count_children(node);
        if (count <= FEW_MEMBERS) {
            append_few_sorted(out, node, count, depth);
        } else {
            append_many_sorted(out, node, count, depth);
        }
    }
    buffer_append_char(out, '}');
}

static void append_number(buffer *out, const cJSON *node) {
    if (node->valuestring != NULL) {
        buffer_append_text(out, node->valuestring);
    } else {
        json_append_double(out, node->valuedouble);
    }
}

static void append_container(buffer *out, const cJSON *node, bool is_canonical, unsigned depth) {
    /* No reader makes a deeper tree; so recursion is bounded for any other. */
    if (depth == JSON_MAX_DEPTH) {
        out->status = UAR_E_TOO_LARGE;
        return;
    }
    if (json_kind(node) == cJSON_Object) {
        append_object(out, node, is_canonical, depth + 1);
    } else {
        buffer_append_char(out, '[');
        append_children(out, node, is_canonical, depth + 1);
        buffer_append_char(out, ']');
    }
}

/* `depth`: the containers around the node. */
static void append_tree(buffer *out, const cJSON *node, bool is_canonical, unsigned depth) {
    if (out->status != UAR_OK) return;
    switch (json_kind(node)) {
    case cJSON_False: buffer_append_text(out, "false"); break;
    case cJSON_True: buffer_append_text(out, "true"); break;
    case cJSON_Number: append_number(out, node); break;
    case cJSON_String: json_append_string(out, uar_str_of(node->valuestring)); break;
    case cJSON_Object:
    case cJSON_Array: append_container(out, node, is_canonical, depth); break;
    default: buffer_append_text(out, "null"); break;
    }
}

void json_append_node(buffer *out, const cJSON *node) {
    append_tree(out, node, false, 0);
}

void json_append_canonical(buffer *out, const cJSON *node) {
    append_tree(out, node, true, 0);
}

/* ---- The writer ---- */

void json_writer_init(json_writer *w, buffer *out) {
    json_writer fresh = { .out = out };
    *w = fresh;
}

static uint64_t depth_bit(const json_writer *w) {
    return w->depth == 0 || w->depth > JSON_MAX_DEPTH ? 0 : UINT64_C(1) << (w->depth - 1);
}

static void begin_item(json_writer *w) {
    uint64_t bit = depth_bit(w);
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if ((w->has_item & bit) != 0) buffer_append_char(w->out, ',');
    w->has_item |= bit;
}

static void open_container(json_writer *w, char bracket) {
    begin_item(w);
    w->depth++;
    if (w->depth > JSON_MAX_DEPTH && w->out->status == UAR_OK) w->out->status = UAR_E_TOO_LARGE;
    w->has_item &= ~depth_bit(w);
    buffer_append_char(w->out, bracket);
}

static void close_container(json_writer *w, char bracket) {
    assert(w->depth > 0 && !w->after_key);
    buffer_append_char(w->out, bracket);
    w->depth--;
}

void json_object_begin(json_writer *w) {
    open_container(w, '{');
}
void json_object_end(json_writer *w) {
    close_container(w, '}');
}
void json_array_begin(json_writer *w) {
    open_container(w, '[');
}
void json_array_end(json_writer *w) {
    close_container(w, ']');
}

void json_key_str(json_writer *w, uar_str key) {
    assert(w->depth > 0 && !w->after_key);
    begin_item(w);
    json_append_string(w->out, key);
    buffer_append_char(w->out, ':');
    w->after_key = true;
}

void json_key(json_writer *w, const char *key) {
    json_key_str(w, uar_str_of(key));
}

void json_null(json_writer *w) {
    begin_item(w);
    buffer_append_text(w->out, "null");
}

void json_str(json_writer *w, uar_str value) {
    if (value.ptr == NULL) {
        json_null(w);
        return;
    }
    begin_item(w);
    json_append_string(w->out, value);
}

void json_uint(json_writer *w, uint64_t value) {
    begin_item(w);
    buffer_append_u64(w->out, value);
}

void json_int(json_writer *w, int64_t value) {
    begin_item(w);
    buffer_append_i64(w->out, value);
}

void json_double(json_writer *w, double value) {
    begin_item(w);
    json_append_double(w->out, value);
}

void json_bool(json_writer *w, bool value) {
    begin_item(w);
    buffer_append_text(w->out, value ? "true" : "false");
}

void json_raw(json_writer *w, uar_str json) {
    if (json.ptr == NULL) {
        json_null(w);
        return;
    }
    assert(json.len > 0);
    begin_item(w);
    buffer_append_str(w->out, json);
}

void json_uuid(json_writer *w, uar_uuid value) {
    char text[UAR_UUID_TEXT];
    if (uar_uuid_is_none(value)) {
        json_null(w);
        return;
    }
    uar_uuid_format(text, value);
    json_str(w, uar_str_of(text));
}

void json_put_str(json_writer *w, const char *key, uar_str value) {
    json_key(w, key);
    json_str(w, value);
}

void json_put_uint(json_writer *w, const char *key, uint64_t value) {
    json_key(w, key);
    json_uint(w, value);
}

void json_put_int(json_writer *w, const char *key, int64_t value) {
    json_key(w, key);
    json_int(w, value);
}

void json_put_bool(json_writer *w, const char *key, bool value) {
    json_key(w, key);
    json_bool(w, value);
}

void json_put_raw(json_writer *w, const char *key, uar_str json) {
    json_key(w, key);
    json_raw(w, json);
}

void json_put_uuid(json_writer *w, const char *key, uar_uuid value) {
    json_key(w, key);
    json_uuid(w, value);
}
