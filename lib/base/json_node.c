/*
 * The nodes of a JSON tree: making, freeing, reading members, order of members; and the scan that reader and writer share.
 *
 * Invariants: a node's key and text lie in the node's own block; the first child's `prev` is the last child, the last
 * one's `next` is NULL; keys and texts hold no U+0000; the number of a node lies in its text, unrounded.
 */
#include <assert.h>

#include "base/json_number.h"
#include "base/json_tree.h"

/* One in each byte of a word, and the top bit of each. */
#define ONES UINT64_C(0x0101010101010101)
#define HIGH UINT64_C(0x8080808080808080)

static size_t room_for(size_t len) {
    return len == JSON_NO_TEXT ? 0 : len + 1;
}

cJSON *json_node_new(const uar_allocator *a, int type, size_t key_len, size_t text_len) {
    size_t key_room = room_for(key_len);
    size_t text_room = room_for(text_len);
    assert(key_room <= SIZE_MAX / 4 && text_room <= SIZE_MAX / 4);
    cJSON *node = alloc_bytes(a, sizeof *node + key_room + text_room);
    if (node == NULL) return NULL;
    memset(node, 0, sizeof *node);
    node->type = type;
    char *bytes = (char *)(node + 1);
    if (key_room != 0) {
        node->string = bytes;
        node->string[key_len] = '\0';
    }
    if (text_room != 0) {
        node->valuestring = bytes + key_room;
        node->valuestring[text_len] = '\0';
    }
    return node;
}

void json_free(const uar_allocator *a, cJSON *node) {
    while (node != NULL) {
        cJSON *next = node->next;
        if (node->child != NULL) {
            /* The children take the place of their parent in the list. */
            node->child->prev->next = next;
            next = node->child;
        }
        alloc_free(a, node);
        node = next;
    }
}

const cJSON *json_member(const cJSON *object, const char *key) {
    assert(key != NULL);
    if (json_kind(object) != cJSON_Object) return NULL;
    for (const cJSON *m = object->child; m != NULL; m = m->next) {
        if (m->string != NULL && strcmp(m->string, key) == 0) return m;
    }
    return NULL;
}

uar_str json_node_text(const cJSON *node) {
    return uar_str_of(json_kind(node) == cJSON_String ? node->valuestring : NULL);
}

uar_str json_text(const cJSON *object, const char *key) {
    return json_node_text(json_member(object, key));
}

bool json_flag(const cJSON *object, const char *key, bool fallback) {
    switch (json_kind(json_member(object, key))) {
    case cJSON_True: return true;
    case cJSON_False: return false;
    default: return fallback;
    }
}

static bool integer_of(const cJSON *node, bool *negative, uint64_t *magnitude) {
    decimal d;
    const char *stop;
    if (json_kind(node) != cJSON_Number || node->valuestring == NULL) return false;
    const char *end = node->valuestring + strlen(node->valuestring);
    if (!decimal_scan(&d, node->valuestring, end, &stop) || stop != end) return false;
    if (!decimal_to_integer(&d, magnitude)) return false;
    *negative = d.negative && *magnitude != 0;
    return true;
}

bool json_node_u64(const cJSON *node, uint64_t *out) {
    bool negative;
    uint64_t magnitude;
    if (!integer_of(node, &negative, &magnitude) || negative) return false;
    *out = magnitude;
    return true;
}

bool json_node_i64(const cJSON *node, int64_t *out) {
    bool negative;
    uint64_t magnitude;
    if (!integer_of(node, &negative, &magnitude)) return false;
    if (magnitude > (uint64_t)INT64_MAX + negative) return false;
    /* By one step less, so that the smallest value is never negated. */
    *out = negative ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
    return true;
}

bool json_u64(const cJSON *object, const char *key, uint64_t *out) {
    return json_node_u64(json_member(object, key), out);
}

bool json_i64(const cJSON *object, const char *key, int64_t *out) {
    return json_node_i64(json_member(object, key), out);
}

bool json_f64(const cJSON *object, const char *key, double *out) {
    const cJSON *node = json_member(object, key);
    if (json_kind(node) != cJSON_Number) return false;
    *out = node->valuedouble;
    return true;
}

json_entry json_entry_of(cJSON *node, size_t at) {
    json_entry entry = { 0, at, node };
    const char *key = node->string;
    for (unsigned i = 0; i < 8; i++) {
        entry.head = entry.head << 8 | (uint8_t)*key;
        if (*key != '\0') key++;
    }
    return entry;
}

int json_entry_compare(const json_entry *a, const json_entry *b) {
    if (a->head != b->head) return a->head < b->head ? -1 : 1;
    /* Keys hold no NUL: one at the end of the head means that both keys end there. */
    if ((a->head & 0xFF) == 0) return 0;
    return strcmp(a->node->string + 8, b->node->string + 8);
}

static void merge(json_entry *to, const json_entry *left, size_t left_count, size_t right_count) {
    const json_entry *right = left + left_count;
    const json_entry *left_end = right;
    const json_entry *right_end = right + right_count;
    while (left < left_end && right < right_end) {
        *to++ = json_entry_compare(left, right) <= 0 ? *left++ : *right++;
    }
    while (left < left_end) {
        *to++ = *left++;
    }
    while (right < right_end) {
        *to++ = *right++;
    }
}

void json_entries_sort(json_entry *entries, json_entry *scratch, size_t count) {
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t at = 0; width < count - at; at += 2 * width) {
            size_t right = count - at - width < width ? count - at - width : width;
            if (json_entry_compare(&entries[at + width - 1], &entries[at + width]) > 0) {
                merge(scratch, entries + at, width, right);
                memcpy(entries + at, scratch, (width + right) * sizeof *entries);
            }
            if (right < width) break;
        }
    }
}

static bool has_byte(uint64_t word, uint8_t byte) {
    word ^= ONES * byte;
    return ((word - ONES) & ~word & HIGH) != 0;
}

/* A borrow out of a byte below 0x20 may mark the byte above it too; both end the run. */
const char *json_skip_plain(const char *p, const char *end) {
    while (end - p >= 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        bool is_control_or_high = ((word | (word - ONES * 0x20)) & HIGH) != 0;
        if (is_control_or_high || has_byte(word, '"') || has_byte(word, '\\')) break;
        p += 8;
    }
    while (p < end && (uint8_t)*p >= 0x20 && (uint8_t)*p < 0x80 && *p != '"' && *p != '\\') {
        p++;
    }
    return p;
}

bool json_read_flag(bool *out, const cJSON *object, const char *key) {
    const cJSON *node = json_member(object, key);
    *out = cJSON_IsTrue(node);
    return cJSON_IsBool(node);
}

bool json_read_text(buffer *out, const cJSON *object, const char *key) {
    uar_str text = json_text(object, key);
    buffer_append_str(out, text);
    return text.ptr != NULL;
}
