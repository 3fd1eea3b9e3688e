/* Is it JSON? See json_syntax.h. Recursion is bounded by MAX_DEPTH. */
#include "json_syntax.h"

#include "text.h"

#include <stdlib.h>

enum { MAX_DEPTH = 64 };

typedef struct scan {
    const char *at;
    const char *end;
    const char *why; /* NULL: no fault so far; `at` is then where the fault lies */
} scan;

static bool fail(scan *s, const char *why) {
    if (s->why == NULL) s->why = why;
    return false;
}

static void skip_space(scan *s) {
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool take(scan *s, char c) {
    if (s->at == s->end || *s->at != c) return false;
    s->at++;
    return true;
}

static bool is_digit(const scan *s) {
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static bool digits(scan *s) {
    if (!is_digit(s)) return fail(s, "a digit is missing");
    while (is_digit(s))
        s->at++;
    return true;
}

static bool number(scan *s) {
    take(s, '-');
    if (!take(s, '0') && !digits(s)) return false;
    if (take(s, '.') && !digits(s)) return false;
    if (take(s, 'e') || take(s, 'E')) {
        if (!take(s, '+')) take(s, '-');
        return digits(s);
    }
    return true;
}

/* Four hexadecimal digits; -1 if they aren't there. */
static long hex4(scan *s) {
    long value = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        char c = s->at < s->end ? *s->at : '\0';
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

static bool escape(scan *s) {
    if (s->at == s->end) return fail(s, "the text ends inside a string");
    char c = *s->at;
    if (c != 'u') {
        if (strchr("\"\\/bfnrt", c) == NULL || c == '\0') return fail(s, "an unknown escape");
        s->at++;
        return true;
    }
    s->at++;
    long unit = hex4(s);
    if (unit < 0) return fail(s, "\\u needs four hexadecimal digits");
    if (unit == 0) return fail(s, "U+0000 is not allowed");
    if (unit >= 0xDC00 && unit <= 0xDFFF) return fail(s, "a lone surrogate");
    if (unit < 0xD800 || unit > 0xDBFF) return true;
    long low = take(s, '\\') && take(s, 'u') ? hex4(s) : -1;
    return (low >= 0xDC00 && low <= 0xDFFF) || fail(s, "a lone surrogate");
}

static bool string(scan *s) {
    if (!take(s, '"')) return fail(s, "a string is missing");
    while (s->at < s->end && *s->at != '"') {
        if ((unsigned char)*s->at < 0x20) return fail(s, "a control character in a string");
        if (take(s, '\\')) {
            if (!escape(s)) return false;
        } else {
            s->at++;
        }
    }
    return take(s, '"') || fail(s, "the text ends inside a string");
}

static bool word(scan *s, const char *w) {
    size_t len = strlen(w);
    if ((size_t)(s->end - s->at) < len || memcmp(s->at, w, len) != 0) return fail(s, "a value is missing");
    s->at += len;
    return true;
}

static bool value(scan *s, int depth);

static bool member(scan *s, int depth) {
    skip_space(s);
    if (!string(s)) return false;
    skip_space(s);
    if (!take(s, ':')) return fail(s, "':' is missing");
    return value(s, depth);
}

/* What stands between brackets; the opening one has been taken. */
static bool items(scan *s, char close, int depth) {
    if (depth > MAX_DEPTH) return fail(s, "nested too deep");
    skip_space(s);
    if (take(s, close)) return true;
    for (;;) {
        if (!(close == '}' ? member(s, depth) : value(s, depth))) return false;
        skip_space(s);
        if (take(s, close)) return true;
        if (!take(s, ',')) return fail(s, close == '}' ? "',' or '}' is missing" : "',' or ']' is missing");
    }
}

static bool value(scan *s, int depth) {
    skip_space(s);
    if (s->at == s->end) return fail(s, "the text ends too early");
    switch (*s->at) {
    case '{': s->at++; return items(s, '}', depth + 1);
    case '[': s->at++; return items(s, ']', depth + 1);
    case '"': return string(s);
    case 't': return word(s, "true");
    case 'f': return word(s, "false");
    case 'n': return word(s, "null");
    default: return *s->at == '-' || is_digit(s) ? number(s) : fail(s, "a value is missing");
    }
}

size_t json_fault(uar_str text, const char **why) {
    size_t bad = text_fault(text.ptr, text.len);
    scan s = { text.ptr, text.ptr + text.len, NULL };
    if (bad < text.len) {
        s.at += bad;
        s.why = "not valid UTF-8";
    } else if (value(&s, 0)) {
        skip_space(&s);
        if (s.at < s.end) s.why = "something stands behind the value";
    }
    if (why != NULL) *why = s.why;
    if (s.why == NULL) return text.len;
    size_t at = (size_t)(s.at - text.ptr);
    return at < text.len ? at : text.len > 0 ? text.len - 1 : 0;
}

cJSON *json_parse(uar_str text, size_t *fault, const char **why) {
    *why = NULL;
    *fault = json_fault(text, why);
    if (*why != NULL) return NULL;
    char *copy = must_copy(text);
    cJSON *node = cJSON_Parse(copy);
    free(copy);
    if (node == NULL) *why = "not JSON";
    return node;
}

/* The text of the value that is next. */
static uar_str span(scan *s) {
    skip_space(s);
    const char *from = s->at;
    bool whole = value(s, 0);
    return whole ? uar_str_n(from, (size_t)(s->at - from)) : uar_str_of(NULL);
}

uar_str json_raw_item(uar_str array, size_t index) {
    scan s = { array.ptr, array.ptr + array.len, NULL };
    skip_space(&s);
    if (!take(&s, '[')) return uar_str_of(NULL);
    for (size_t i = 0;; i++) {
        uar_str item = span(&s);
        if (i == index || item.ptr == NULL) return item;
        skip_space(&s);
        if (!take(&s, ',')) return uar_str_of(NULL);
    }
}

uar_str json_raw_member(uar_str object, const char *key) {
    scan s = { object.ptr, object.ptr + object.len, NULL };
    skip_space(&s);
    if (!take(&s, '{')) return uar_str_of(NULL);
    for (;;) {
        uar_str name = span(&s);
        skip_space(&s);
        if (name.len < 2 || !take(&s, ':')) return uar_str_of(NULL);
        uar_str item = span(&s);
        if (uar_str_equal(uar_str_n(name.ptr + 1, name.len - 2), uar_str_of(key))) return item;
        skip_space(&s);
        if (!take(&s, ',')) return uar_str_of(NULL);
    }
}

static int by_key(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool node_keys_differ(const cJSON *node) {
    size_t count = cJSON_IsObject(node) ? (size_t)cJSON_GetArraySize(node) : 0;
    const char **keys = must_alloc((count + 1) * sizeof *keys);
    size_t n = 0;
    bool differ = true;
    for (const cJSON *child = node->child; child != NULL && differ; child = child->next) {
        if (count > 0) keys[n++] = child->string;
        differ = node_keys_differ(child);
    }
    qsort(keys, n, sizeof *keys, by_key);
    for (size_t i = 1; i < n && differ; i++)
        differ = strcmp(keys[i - 1], keys[i]) != 0;
    free(keys);
    return differ;
}

bool json_keys_differ(uar_str text) {
    size_t at = 0;
    const char *why = NULL;
    cJSON *node = json_parse(text, &at, &why);
    bool differ = node != NULL && node_keys_differ(node);
    cJSON_Delete(node);
    return differ;
}
