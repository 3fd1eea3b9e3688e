/* Owns: folding of text for comparison and for the index. Invariant: the same characters give the same points, however they
 * were composed. */
#include "index/fold.h"

#include <utf8proc.h>

#include "base/utf8.h"

#define FOLD_STEP (UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE)

/* Marks that writers of one language set or leave out; vowel signs of Indic scripts are letters to their readers. */
static bool is_droppable_mark(int32_t c) {
    return (c >= 0x0300 && c <= 0x036F) || (c >= 0x064B && c <= 0x065F) || c == 0x0670 || (c >= 0x0591 && c <= 0x05C7);
}

static size_t drop_marks(int32_t *points, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_droppable_mark(points[i])) points[kept++] = points[i];
    return kept;
}

static bool is_ascii(uar_str text) {
    uint8_t all = 0;
    for (size_t i = 0; i < text.len; i++)
        all |= (uint8_t)text.ptr[i];
    return all < 0x80;
}

/* Of ASCII, folding changes nothing but capitals. */
static uar_status fold_ascii(folded *out, const uar_allocator *a, uar_str text) {
    int32_t *points = (int32_t *)alloc_bytes(a, (text.len + 1) * sizeof(int32_t));
    if (points == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < text.len; i++) {
        int32_t c = (uint8_t)text.ptr[i];
        points[i] = c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
    }
    *out = (folded){ a, points, text.len };
    return UAR_OK;
}

uar_status fold_points(folded *out, const uar_allocator *a, uar_str text, fold_marks marks) {
    folded f = { a, NULL, 0 };
    if (text.len != 0 && text.len < SIZE_MAX / 8 && is_ascii(text)) return fold_ascii(out, a, text);
    if (!utf8_is_valid(text)) return UAR_E_UTF8;
    if (text.len != 0) {
        const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)text.ptr;
        utf8proc_ssize_t len = (utf8proc_ssize_t)text.len;
        utf8proc_option_t step = (utf8proc_option_t)(FOLD_STEP | UTF8PROC_DECOMPOSE);
        utf8proc_ssize_t need = utf8proc_decompose(bytes, len, NULL, 0, step);
        if (need < 0) return UAR_E_UTF8;
        f.points = (int32_t *)alloc_bytes(a, ((size_t)need + 1) * sizeof(int32_t));
        if (f.points == NULL) return UAR_E_NOMEM;
        utf8proc_ssize_t got = utf8proc_decompose(bytes, len, f.points, need, step);
        f.count = got > 0 ? (size_t)got : 0;
        if (marks == FOLD_DROP_MARKS) f.count = drop_marks(f.points, f.count);
        got = utf8proc_normalize_utf32(f.points, (utf8proc_ssize_t)f.count,
                                       (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
        f.count = got > 0 ? (size_t)got : 0;
    }
    *out = f;
    return UAR_OK;
}

void folded_dispose(folded *f) {
    alloc_free(f->alloc, f->points);
    f->points = NULL;
    f->count = 0;
}

bool fold_is_space(int32_t c) {
    if (c >= 0 && c < 0x80) return c <= ' ' || c == 0x7F;
    utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP ||
           category == UTF8PROC_CATEGORY_CC;
}

uar_status fold_append(buffer *out, uar_str text) {
    folded f;
    uar_status status = fold_points(&f, out->alloc, text, FOLD_KEEP_MARKS);
    if (status != UAR_OK) return status;
    bool gap = false;
    bool any = false;
    for (size_t i = 0; i < f.count; i++) {
        if (fold_is_space(f.points[i])) {
            gap = any;
            continue;
        }
        if (gap) buffer_append_char(out, ' ');
        gap = false;
        any = true;
        utf8_append(out, (uint32_t)f.points[i]);
    }
    folded_dispose(&f);
    return out->status;
}

bool fold_is_blank(uar_str text) {
    size_t at = 0;
    while (at < text.len) {
        int32_t c = 0;
        utf8proc_ssize_t step =
            utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at, (utf8proc_ssize_t)(text.len - at), &c);
        if (step <= 0) return false;
        if (!fold_is_space(c) && !utf8proc_get_property(c)->ignorable) return false;
        at += (size_t)step;
    }
    return true;
}
