/*
 * References between schemas. Owns nothing.
 * A part of an URI that is absent has a NULL pointer; one that is empty has not: `//` differs from no authority.
 */
#include "schema/schema_uri.h"

#include "base/str.h"

typedef struct uri_parts {
    uar_str scheme, authority, path, query;
} uri_parts;

/* How many bytes come before the first of these characters, or the whole length. */
static size_t span_before(uar_str s, const char *stops) {
    size_t i = 0;
    while (i < s.len && (s.ptr[i] == '\0' || strchr(stops, s.ptr[i]) == NULL))
        i++;
    return i;
}

static uar_str behind(uar_str s, size_t count) {
    return uar_str_n(s.ptr + count, s.len - count);
}

uar_str uri_without_fragment(uar_str uri) {
    return uar_str_n(uri.ptr, span_before(uri, "#"));
}

uar_str uri_fragment(uar_str uri) {
    size_t at = span_before(uri, "#");
    return at < uri.len ? behind(uri, at + 1) : uar_str_n(uri.ptr + uri.len, 0);
}

static uri_parts split(uar_str uri) {
    uri_parts parts = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    uar_str rest = uri_without_fragment(uri);
    size_t at = span_before(rest, ":/?");
    if (at > 0 && at < rest.len && rest.ptr[at] == ':') {
        parts.scheme = uar_str_n(rest.ptr, at);
        rest = behind(rest, at + 1);
    }
    if (rest.len >= 2 && rest.ptr[0] == '/' && rest.ptr[1] == '/') {
        rest = behind(rest, 2);
        at = span_before(rest, "/?");
        parts.authority = uar_str_n(rest.ptr, at);
        rest = behind(rest, at);
    }
    at = span_before(rest, "?");
    parts.path = uar_str_n(rest.ptr, at);
    if (at < rest.len) parts.query = behind(rest, at + 1);
    return parts;
}

/* Take the last segment off a path that ends with a slash and begins at `start`; the first slash stays. */
static void drop_segment(buffer *out, size_t start) {
    if (out->len <= start + 1) return;
    size_t len = out->len - 1;
    while (len > start && out->ptr[len - 1] != '/')
        len--;
    buffer_truncate(out, len);
}

/* `.` and `..` resolved. `start`: where the path begins in `out`. */
static void append_path(buffer *out, size_t start, uar_str path) {
    for (size_t at = 0; at <= path.len;) {
        uar_str segment = behind(path, at);
        segment.len = span_before(segment, "/");
        bool is_last = at + segment.len == path.len;
        if (str_is(segment, ".."))
            drop_segment(out, start);
        else if (!str_is(segment, ".")) {
            buffer_append_str(out, segment);
            if (!is_last) buffer_append_char(out, '/');
        }
        at += segment.len + 1;
    }
}

/* The base's path up to its last slash, then the reference's. */
static void append_merged(buffer *out, const uri_parts *base, uar_str path) {
    size_t start = out->len;
    size_t keep = base->path.len;
    while (keep > 0 && base->path.ptr[keep - 1] != '/')
        keep--;
    if (base->path.len == 0 && base->authority.ptr != NULL) buffer_append_char(out, '/');
    buffer_append(out, base->path.ptr, keep);
    append_path(out, start, path);
}

static void append_front(buffer *out, uar_str scheme, uar_str authority) {
    if (scheme.ptr != NULL) {
        buffer_append_str(out, scheme);
        buffer_append_char(out, ':');
    }
    if (authority.ptr == NULL) return;
    buffer_append_text(out, "//");
    buffer_append_str(out, authority);
}

void uri_resolve(buffer *out, uar_str base_text, uar_str reference) {
    uri_parts base = split(base_text), ref = split(reference);
    uar_str query = ref.query;
    bool is_own = ref.scheme.ptr != NULL || ref.authority.ptr != NULL;
    append_front(out, ref.scheme.ptr != NULL ? ref.scheme : base.scheme, is_own ? ref.authority : base.authority);
    if (is_own || (ref.path.len > 0 && ref.path.ptr[0] == '/'))
        append_path(out, out->len, ref.path);
    else if (ref.path.len > 0)
        append_merged(out, &base, ref.path);
    else {
        append_path(out, out->len, base.path);
        if (query.ptr == NULL) query = base.query;
    }
    if (query.ptr == NULL) return;
    buffer_append_char(out, '?');
    buffer_append_str(out, query);
}

bool uri_decode(buffer *out, uar_str text) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '%') {
            buffer_append_char(out, text.ptr[i]);
            continue;
        }
        if (text.len - i < 3) return false;
        int high = str_hex_digit(text.ptr[i + 1]), low = str_hex_digit(text.ptr[i + 2]);
        if (high < 0 || low < 0) return false;
        buffer_append_char(out, (char)(high * 16 + low));
        i += 2;
    }
    return true;
}
