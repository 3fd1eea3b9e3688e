/*
 * The bodies of settings and of their types. Owns nothing.
 * A type's id is a key, or a pattern: "*", or a prefix and ".*".
 */
#include "store/bodies.h"
#include "store/body.h"

/* Why a record couldn't be made, for who gave no message yet. */
static uar_status told(uar_error *err, uar_status status) {
    if (status != UAR_OK && (err == NULL || err->code != status)) error_plain(err, status);
    return status;
}

uar_status setting_record(uar_record *out, arena *ar, uar_str owner, uar_str key, uar_str value, uar_error *err) {
    if (key.ptr == NULL || key.len == 0) return error_set(err, UAR_E_INVALID, "the setting has no key");
    const body_place place = { .kind = UAR_RECORD_SETTING, .owner = owner, .id = key };
    body_writer w;
    body_write_begin(&w, ar);
    body_write_json(&w, "value", value, err);
    return told(err, body_write_end(out, ar, &w, &place));
}

uar_status setting_decode(uar_setting *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_SETTING, err);
    if (st != UAR_OK) return st;
    uar_setting s = {
        .key = body_keep(&scan, r->id, "id"),
        .value = body_json(&root, "value"),
        .revision = r->revision,
    };
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = s;
    return st;
}

/* ---- types ---- */

bool setting_pattern_is_valid(uar_str pattern) {
    for (size_t i = 0; i < pattern.len; i++)
        if (pattern.ptr[i] == '*' && (i + 1 != pattern.len || (i > 0 && pattern.ptr[i - 1] != '.'))) return false;
    return pattern.len > 0;
}

bool setting_pattern_matches(uar_str pattern, uar_str key) {
    if (pattern.len == 0 || pattern.ptr[pattern.len - 1] != '*') return uar_str_equal(pattern, key);
    size_t head = pattern.len - 1;
    return key.len > head && memcmp(pattern.ptr, key.ptr, head) == 0;
}

/* "a.b.c" -> "a.b.*" -> "a.*" -> "*" -> none. */
uar_str setting_pattern_wider(char out[RECORD_ID_MAX], uar_str pattern) {
    size_t len = pattern.len;
    if (len == 0 || (len == 1 && pattern.ptr[0] == '*') || len + 2 > RECORD_ID_MAX) return uar_str_n(NULL, 0);
    if (pattern.ptr[len - 1] == '*') len -= 2; /* the dot that its star stands behind belongs to this level */
    while (len > 0 && pattern.ptr[len - 1] != '.')
        len--;
    memmove(out, pattern.ptr, len);
    out[len] = '*';
    return uar_str_n(out, len + 1);
}

uar_status setting_type_record(uar_record *out, arena *ar, uar_str owner, const uar_setting_type *type,
                               uar_error *err) {
    if (!setting_pattern_is_valid(type->key))
        return error_set(err, UAR_E_INVALID, "a setting type is for a key, or for a prefix and \".*\"");
    const body_place place = { .kind = UAR_RECORD_SETTING_TYPE, .owner = owner, .id = type->key };
    body_writer w;
    body_write_begin(&w, ar);
    if (type->fallback.ptr != NULL) body_write_json(&w, "default", type->fallback, err);
    body_write_optional(&w, "description", type->description);
    body_write_json(&w, "schema", type->schema, err);
    return told(err, body_write_end(out, ar, &w, &place));
}

uar_status setting_type_decode(uar_setting_type *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_SETTING_TYPE, err);
    if (st != UAR_OK) return st;
    uar_setting_type type = {
        .key = body_keep(&scan, r->id, "id"),
        .description = body_optional(&root, "description"),
        .schema = body_json(&root, "schema"),
        .revision = r->revision,
    };
    if (body_has(&root, "default")) type.fallback = body_json(&root, "default");
    if (!setting_pattern_is_valid(type.key)) body_fault(&scan, UAR_E_CORRUPT, "id");
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = type;
    return st;
}
