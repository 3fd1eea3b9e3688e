/*
 * Keys, names, checksums and copies of records. Owns nothing.
 * The checksum covers every field but itself; what a provider may not keep (the sort of a record without one) counts as 0.
 */
#include "store/record.h"

#include <assert.h>
#include <string.h>

#include "base/crypto.h"
#include "base/utf8.h"

#define KEY_SEPARATOR '\x1f'

static bool is_control(const unsigned char *at, const unsigned char *end) {
    if (*at < 0x20 || *at == 0x7f) return true;
    return *at == 0xc2 && at + 1 < end && at[1] < 0xa0;
}

static bool has_control(uar_str text) {
    const unsigned char *at = (const unsigned char *)text.ptr;
    const unsigned char *end = at + text.len;
    for (; at < end; at++)
        if (is_control(at, end)) return true;
    return false;
}

uar_status host_id_check(uar_str id, const char *what, uar_error *err) {
    assert(what != NULL);
    if (id.ptr == NULL || id.len == 0) return error_set(err, UAR_E_INVALID, "the %s is missing", what);
    if (id.len > HOST_ID_MAX) return error_set(err, UAR_E_INVALID, "the %s is longer than %d bytes", what, HOST_ID_MAX);
    if (!utf8_is_valid(id)) return error_set(err, UAR_E_INVALID, "the %s is not valid UTF-8", what);
    if (has_control(id)) return error_set(err, UAR_E_INVALID, "the %s holds a control character", what);
    return UAR_OK;
}

static bool is_key_half(uar_str half) {
    return half.ptr != NULL && half.len > 0 && memchr(half.ptr, KEY_SEPARATOR, half.len) == NULL;
}

uar_status record_key(uar_str *out, arena *ar, uar_str a, uar_str b) {
    if (!is_key_half(a) || !is_key_half(b)) return UAR_E_INVALID;
    if (a.len >= RECORD_ID_MAX || b.len > RECORD_ID_MAX - 1 - a.len) return UAR_E_INVALID;
    size_t len = a.len + 1 + b.len;
    char *key = arena_alloc(ar, len + 1);
    if (key == NULL) return UAR_E_NOMEM;
    memcpy(key, a.ptr, a.len);
    key[a.len] = KEY_SEPARATOR;
    memcpy(key + a.len + 1, b.ptr, b.len);
    key[len] = '\0';
    *out = uar_str_n(key, len);
    return UAR_OK;
}

const char *record_kind_name(uint32_t kind) {
    switch (kind) {
#define X_NAME(name, number, json, docs) \
    case number: return json;
        UAR_RECORD_KINDS(X_NAME)
#undef X_NAME
    default: return NULL;
    }
}

void record_label(char out[RECORD_LABEL], const uar_record *record) {
    size_t len = utf8_cut(record->id, RECORD_LABEL - 1);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)record->id.ptr[i];
        out[i] = c == KEY_SEPARATOR ? '/' : c < 0x20 || c == 0x7f ? '?' : record->id.ptr[i];
    }
    out[len] = '\0';
}

/* Appends to a fixed block that is sized for all its fields; see seal_head. */
typedef struct head {
    uint8_t bytes[128];
    size_t len;
} head;

static void head_put(head *h, uint64_t value, size_t width) {
    assert(h->len + width <= sizeof h->bytes);
    for (size_t i = width; i-- > 0; value >>= 8)
        h->bytes[h->len + i] = (uint8_t)(value & 0xff);
    h->len += width;
}

static void head_put_length(head *h, uar_str s) {
    head_put(h, s.ptr != NULL, 1);
    head_put(h, s.len, 8);
}

static void seal_head(head *h, const uar_record *r) {
    h->len = 0;
    head_put(h, r->kind, 4);
    head_put(h, r->schema, 4);
    head_put(h, r->revision, 8);
    head_put(h, r->has_sort, 1);
    head_put(h, r->has_sort ? (uint64_t)r->sort : 0, 8);
    head_put(h, (uint64_t)r->created_ms, 8);
    head_put(h, (uint64_t)r->updated_ms, 8);
    head_put_length(h, r->owner);
    head_put_length(h, r->id);
    head_put_length(h, r->parent);
    head_put_length(h, r->body);
    head_put_length(h, r->blob);
}

static uar_status checksum(uint8_t out[16], const uar_record *r) {
    head h;
    seal_head(&h, r);
    const uar_str pieces[] = { uar_str_n((const char *)h.bytes, h.len), r->owner, r->id, r->parent, r->body, r->blob };
    uint8_t digest[SHA256_BYTES];
    uar_status st = sha256(digest, pieces, sizeof pieces / sizeof pieces[0]);
    if (st == UAR_OK) memcpy(out, digest, 16);
    return st;
}

uar_status record_seal(uar_record *record) {
    return checksum(record->checksum, record);
}

uar_status record_verify(const uar_record *record, uar_error *err) {
    uint8_t expected[16];
    uar_status st = checksum(expected, record);
    if (st != UAR_OK) return error_plain(err, st);
    if (memcmp(expected, record->checksum, sizeof expected) == 0) return UAR_OK;
    char label[RECORD_LABEL];
    record_label(label, record);
    const char *kind = record_kind_name(record->kind);
    return error_set(err, UAR_E_CORRUPT, "the %s record %s is damaged: its checksum doesn't match",
                     kind != NULL ? kind : "unknown", label);
}

static bool copy_str(uar_str *to, arena *ar, uar_str from) {
    *to = arena_str(ar, from);
    return from.ptr == NULL || to->ptr != NULL;
}

uar_status record_copy(uar_record *out, arena *ar, const uar_record *record) {
    uar_record copy = *record;
    bool whole = copy_str(&copy.owner, ar, record->owner) && copy_str(&copy.id, ar, record->id) &&
                 copy_str(&copy.parent, ar, record->parent) && copy_str(&copy.body, ar, record->body) &&
                 copy_str(&copy.blob, ar, record->blob);
    if (!whole) return UAR_E_NOMEM;
    *out = copy;
    return UAR_OK;
}
