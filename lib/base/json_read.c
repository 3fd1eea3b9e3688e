/*
 * The JSON reader. One pass, no recursion: open containers lie on a stack of JSON_MAX_DEPTH frames.
 *
 * Invariants: `at` never passes `end`; each open container is attached to its parent already, so that freeing the root
 * frees everything; `keys` holds the members of the open objects, innermost last; the first fault stays.
 * The text stays where it is; a string or number is scanned once for its faults and length, then copied into its node.
 */
#include <assert.h>
#include <limits.h>

#include "base/error.h"
#include "base/json_number.h"
#include "base/json_tree.h"
#include "base/str.h"
#include "base/utf8.h"

#define FEW_MEMBERS 12 /* up to here every pair of keys is compared */

typedef struct frame {
    cJSON *container;
    size_t first_key; /* where its members begin in `keys` */
    bool in_order;    /* keys of members so far strictly ascend: no duplicates */
} frame;

typedef struct reader {
    const uar_allocator *alloc;
    const char *text, *at, *end;
    json_mode mode;
    json_notes notes;
    cJSON *root;
    unsigned depth;
    frame frames[JSON_MAX_DEPTH];
    json_entry *keys;
    size_t key_count, key_room;
    uar_status status;
    const char *fault;
    const char *fault_at;
} reader;

/* A string between its quotes. */
typedef struct span {
    const char *text;
    size_t len;     /* bytes in the document */
    size_t decoded; /* bytes once the escapes are resolved */
} span;

static const span no_key = { NULL, 0, JSON_NO_TEXT };

static bool fail_at(reader *r, const char *at, const char *fault) {
    assert(r->status == UAR_OK);
    r->status = UAR_E_JSON;
    r->fault = fault;
    r->fault_at = at;
    return false;
}

static bool fail(reader *r, const char *fault) {
    return fail_at(r, r->at, r->at == r->end ? "the text ends too early" : fault);
}

static bool fail_memory(reader *r) {
    r->status = UAR_E_NOMEM;
    return false;
}

static void skip_space(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')) {
        r->at++;
    }
}

static bool next_is(const reader *r, char c) {
    return r->at < r->end && *r->at == c;
}

/* ---- Strings ---- */

/* Four hex digits at p; -1 if they aren't. */
static int32_t hex4(const char *p, const char *end) {
    int32_t value = 0;
    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int32_t digit = str_hex_digit(p[i]);
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* What the letter after a backslash stands for, or 0. \u is not among them. */
static char simple_escape(char letter) {
    switch (letter) {
    case '"': return '"';
    case '\\': return '\\';
    case '/': return '/';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

/* A \u escape, its pair included. `len`: bytes of the document it takes, 0 if the digits are wrong. */
typedef struct unicode_escape {
    uint32_t code_point;
    size_t len;
} unicode_escape;

static unicode_escape decode_unicode(const char *p, const char *end) {
    unicode_escape e = { 0, 0 };
    int32_t first = hex4(p + 2, end);
    if (first < 0) return e;
    e.code_point = (uint32_t)first;
    e.len = 6;
    if (first < 0xD800 || first > 0xDBFF || end - p < 12 || p[6] != '\\' || p[7] != 'u') return e;
    int32_t second = hex4(p + 8, end);
    if (second < 0xDC00 || second > 0xDFFF) return e;
    e.code_point = 0x10000u + ((uint32_t)(first - 0xD800) << 10) + (uint32_t)(second - 0xDC00);
    e.len = 12;
    return e;
}

static bool is_surrogate(uint32_t code_point) {
    return code_point >= 0xD800 && code_point <= 0xDFFF;
}

static bool scan_unicode(reader *r, span *s) {
    unicode_escape e = decode_unicode(r->at, r->end);
    if (e.len == 0) return fail(r, "\\u needs four hex digits");
    if (e.code_point == 0) {
        if (r->mode == JSON_STRICT) return fail(r, "U+0000 is not allowed");
        r->notes.nuls++;
        e.code_point = UTF8_REPLACEMENT;
    } else if (is_surrogate(e.code_point)) {
        if (r->mode == JSON_STRICT) return fail(r, "a surrogate without its other half");
        r->notes.surrogates++;
    }
    r->at += e.len;
    s->decoded += utf8_size(e.code_point);
    return true;
}

static bool scan_escape(reader *r, span *s) {
    if (r->end - r->at < 2) return fail_at(r, r->end, "the text ends too early");
    if (r->at[1] == 'u') return scan_unicode(r, s);
    if (simple_escape(r->at[1]) == 0) return fail(r, "unknown escape");
    r->at += 2;
    s->decoded++;
    return true;
}

static bool scan_character(reader *r, span *s) {
    uint8_t c = (uint8_t)*r->at;
    if (c == '\\') return scan_escape(r, s);
    if (c == 0) return fail(r, "U+0000 is not allowed");
    if (c < 0x20) return fail(r, "a control character in a string must be escaped");
    utf8_item item = utf8_decode(r->at, (size_t)(r->end - r->at));
    if (item.kind != UTF8_CHARACTER) return fail(r, "not valid UTF-8");
    r->at += item.len;
    s->decoded += item.len;
    return true;
}

/* From the opening quote to behind the closing one. */
static bool scan_string(reader *r, span *out) {
    assert(next_is(r, '"'));
    span s = { ++r->at, 0, 0 };
    for (;;) {
        const char *plain_end = json_skip_plain(r->at, r->end);
        s.decoded += (size_t)(plain_end - r->at);
        r->at = plain_end;
        if (r->at == r->end) return fail(r, "");
        if (*r->at == '"') break;
        if (!scan_character(r, &s)) return false;
    }
    s.len = (size_t)(r->at - s.text);
    r->at++;
    *out = s;
    return true;
}

/* Copy a scanned string with its escapes resolved; exactly s->decoded bytes. */
static void decode_string(char *to, const span *s) {
    const char *p = s->text;
    const char *end = p + s->len;
    if (s->decoded == s->len) {
        memcpy(to, p, s->len);
        return;
    }
    const char *start = to;
    while (p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        size_t run = (size_t)((escape != NULL ? escape : end) - p);
        memcpy(to, p, run);
        to += run;
        p += run;
        if (p == end) break;
        if (p[1] != 'u') {
            *to++ = simple_escape(p[1]);
            p += 2;
            continue;
        }
        unicode_escape e = decode_unicode(p, end);
        to += utf8_encode(to, e.code_point != 0 ? e.code_point : UTF8_REPLACEMENT);
        p += e.len;
    }
    assert((size_t)(to - start) == s->decoded);
    (void)start;
}

/* ---- Members and duplicates ---- */

static bool reserve_keys(reader *r, size_t room) {
    if (room <= r->key_room) return true;
    size_t grown = r->key_room == 0 ? 32 : r->key_room * 2;
    if (grown < room) grown = room;
    if (grown > SIZE_MAX / sizeof *r->keys) return fail_memory(r);
    json_entry *keys = alloc_resize(r->alloc, r->keys, grown * sizeof *keys);
    if (keys == NULL) return fail_memory(r);
    r->keys = keys;
    r->key_room = grown;
    return true;
}

static bool note_key(reader *r, frame *f, cJSON *node, const span *key) {
    if (!reserve_keys(r, r->key_count + 1)) return false;
    json_entry *entry = &r->keys[r->key_count];
    *entry = json_entry_of(node, (size_t)(key->text - 1 - r->text));
    if (r->key_count > f->first_key && f->in_order) f->in_order = json_entry_compare(entry - 1, entry) < 0;
    r->key_count++;
    return true;
}

static void remove_child(cJSON *container, cJSON *node) {
    cJSON *last = container->child->prev;
    assert(node != last); /* a later duplicate follows it */
    node->next->prev = node->prev;
    if (node == container->child) {
        container->child = node->next;
    } else {
        node->prev->next = node->next;
    }
    container->child->prev = last;
    node->next = NULL;
}

/* `later` repeats the key of `earlier`. */
static bool resolve_duplicate(reader *r, frame *f, const json_entry *earlier, const json_entry *later, size_t *fault) {
    assert(earlier->at < later->at);
    if (r->mode == JSON_STRICT) {
        if (later->at < *fault) *fault = later->at;
        return false;
    }
    r->notes.duplicates++;
    remove_child(f->container, earlier->node);
    json_free(r->alloc, earlier->node);
    return true;
}

static bool report_duplicate(reader *r, size_t fault) {
    return fault == SIZE_MAX || fail_at(r, r->text + fault, "a key that this object has already");
}

static bool check_few(reader *r, frame *f, const json_entry *keys, size_t count) {
    size_t fault = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            if (json_entry_compare(&keys[i], &keys[j]) != 0) continue;
            resolve_duplicate(r, f, &keys[i], &keys[j], &fault);
            break; /* the next repeat is found from j */
        }
    }
    return report_duplicate(r, fault);
}

static bool check_many(reader *r, frame *f, size_t count) {
    if (!reserve_keys(r, r->key_count + count)) return false;
    json_entry *keys = r->keys + f->first_key;
    json_entries_sort(keys, r->keys + r->key_count, count);
    size_t fault = SIZE_MAX;
    for (size_t i = 1; i < count; i++) {
        if (json_entry_compare(&keys[i - 1], &keys[i]) == 0) resolve_duplicate(r, f, &keys[i - 1], &keys[i], &fault);
    }
    return report_duplicate(r, fault);
}

static bool check_duplicates(reader *r, frame *f) {
    size_t count = r->key_count - f->first_key;
    if (f->in_order || count < 2) return true;
    if (count <= FEW_MEMBERS) return check_few(r, f, r->keys + f->first_key, count);
    return check_many(r, f, count);
}

/* ---- Values ---- */

static void attach(reader *r, cJSON *node) {
    if (r->depth == 0) {
        r->root = node;
        return;
    }
    cJSON *container = r->frames[r->depth - 1].container;
    if (container->child == NULL) {
        container->child = node;
    } else {
        node->prev = container->child->prev;
        node->prev->next = node;
    }
    container->child->prev = node;
}

/* A node in its place in the tree, its key copied. */
static cJSON *add_node(reader *r, int type, const span *key, size_t text_len) {
    cJSON *node = json_node_new(r->alloc, type, key->decoded, text_len);
    if (node == NULL) {
        fail_memory(r);
        return NULL;
    }
    attach(r, node);
    if (key->decoded == JSON_NO_TEXT) return node;
    decode_string(node->string, key);
    return note_key(r, &r->frames[r->depth - 1], node, key) ? node : NULL;
}

static bool read_container(reader *r, const span *key, int type) {
    if (r->depth == JSON_MAX_DEPTH) return fail(r, "nested deeper than 64 levels");
    r->at++;
    cJSON *node = add_node(r, type, key, JSON_NO_TEXT);
    if (node == NULL) return false;
    frame *f = &r->frames[r->depth++];
    f->container = node;
    f->first_key = r->key_count;
    f->in_order = true;
    return true;
}

static bool read_string(reader *r, const span *key) {
    span text;
    if (!scan_string(r, &text)) return false;
    cJSON *node = add_node(r, cJSON_String, key, text.decoded);
    if (node == NULL) return false;
    decode_string(node->valuestring, &text);
    return true;
}

static int clamp_to_int(double value) {
    if (value >= INT_MAX) return INT_MAX;
    if (value <= INT_MIN) return INT_MIN;
    return (int)value;
}

static bool read_number(reader *r, const span *key) {
    decimal d;
    const char *start = r->at;
    if (!decimal_scan(&d, start, r->end, &r->at)) return fail(r, "a digit is missing in this number");
    size_t len = (size_t)(r->at - start);
    bool is_zero = r->at[-1] == '0' && len == (*start == '-' ? 2 : 1);
    if (is_zero && r->at < r->end && *r->at >= '0' && *r->at <= '9') return fail(r, "a number can't begin with 0");
    cJSON *node = add_node(r, cJSON_Number, key, len);
    if (node == NULL) return false;
    memcpy(node->valuestring, start, len);
    node->valuedouble = decimal_to_double(&d);
    node->valueint = clamp_to_int(node->valuedouble);
    return true;
}

static bool read_word(reader *r, const span *key, const char *word, int type) {
    size_t len = strlen(word);
    for (size_t i = 0; i < len; i++, r->at++) {
        if (!next_is(r, word[i])) return fail(r, "a word other than true, false and null");
    }
    cJSON *node = add_node(r, type, key, JSON_NO_TEXT);
    if (node == NULL) return false;
    node->valueint = type == cJSON_True;
    return true;
}

static bool read_value(reader *r, const span *key) {
    if (r->at == r->end) return fail(r, "");
    switch (*r->at) {
    case '{': return read_container(r, key, cJSON_Object);
    case '[': return read_container(r, key, cJSON_Array);
    case '"': return read_string(r, key);
    case 't': return read_word(r, key, "true", cJSON_True);
    case 'f': return read_word(r, key, "false", cJSON_False);
    case 'n': return read_word(r, key, "null", cJSON_NULL);
    default: break;
    }
    if (*r->at == '-' || (*r->at >= '0' && *r->at <= '9')) return read_number(r, key);
    return fail(r, "a value is expected here");
}

/* ---- Containers ---- */

static bool close_container(reader *r) {
    frame *f = &r->frames[r->depth - 1];
    r->at++;
    if (json_kind(f->container) == cJSON_Object) {
        if (!check_duplicates(r, f)) return false;
        r->key_count = f->first_key;
    }
    r->depth--;
    return true;
}

static bool read_member(reader *r) {
    span key;
    if (!next_is(r, '"')) return fail(r, "a key in quotes is expected here");
    if (!scan_string(r, &key)) return false;
    skip_space(r);
    if (!next_is(r, ':')) return fail(r, "a colon is expected after a key");
    r->at++;
    skip_space(r);
    return read_value(r, &key);
}

/* One item or member of the innermost container, or its end. */
static bool read_next(reader *r) {
    const cJSON *container = r->frames[r->depth - 1].container;
    bool is_object = json_kind(container) == cJSON_Object;
    skip_space(r);
    if (next_is(r, is_object ? '}' : ']')) return close_container(r);
    if (container->child != NULL) {
        if (!next_is(r, ',')) {
            return fail(r, is_object ? "a comma or } is expected here" : "a comma or ] is expected here");
        }
        r->at++;
        skip_space(r);
    }
    return is_object ? read_member(r) : read_value(r, &no_key);
}

static bool read_document(reader *r) {
    skip_space(r);
    if (!read_value(r, &no_key)) return false;
    while (r->depth > 0) {
        if (!read_next(r)) return false;
    }
    skip_space(r);
    return r->at == r->end || fail(r, "text after the end of the value");
}

static uar_status report(const reader *r, uar_error *err) {
    if (r->status != UAR_E_JSON) return error_plain(err, r->status);
    size_t line = 1;
    const char *line_start = r->text;
    for (const char *p = r->text; p < r->fault_at; p++) {
        if (*p != '\n') continue;
        line++;
        line_start = p + 1;
    }
    size_t column = 1 + utf8_length(uar_str_n(line_start, (size_t)(r->fault_at - line_start)));
    return error_set(err, UAR_E_JSON, "%s at byte %zu (line %zu, column %zu)", r->fault,
                     (size_t)(r->fault_at - r->text), line, column);
}

uar_status json_read_mode(cJSON **out, const uar_allocator *a, uar_str text, size_t max, json_mode mode,
                          json_notes *notes, uar_error *err) {
    assert(out != NULL && a != NULL);
    if (text.ptr == NULL && text.len != 0) return error_plain(err, UAR_E_INVALID);
    if (text.len > max) {
        return error_set(err, UAR_E_TOO_LARGE, "the JSON text has %zu bytes, the limit is %zu", text.len, max);
    }
    reader r;
    memset(&r, 0, offsetof(reader, frames));
    r.alloc = a;
    r.text = r.at = text.ptr != NULL ? text.ptr : "";
    r.end = r.text + text.len;
    r.mode = mode;
    r.keys = NULL;
    r.key_count = r.key_room = 0;
    r.status = UAR_OK;

    bool is_read = read_document(&r);
    assert(is_read == (r.status == UAR_OK));
    alloc_free(a, r.keys);
    if (!is_read) {
        json_free(a, r.root);
        return report(&r, err);
    }
    *out = r.root;
    if (notes != NULL) *notes = r.notes;
    return UAR_OK;
}

uar_status json_read(cJSON **out, const uar_allocator *a, uar_str text, size_t max, uar_error *err) {
    return json_read_mode(out, a, text, max, JSON_STRICT, NULL, err);
}
