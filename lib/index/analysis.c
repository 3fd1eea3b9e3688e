/* Owns: the walk over folded code points that finds tokens. Invariant: it reads each point once but for the joined forms,
 * and needs no memory beside the folded points. */
#include "index/analysis.h"

#include <utf8proc.h>

#include "index/fold.h"

/* Words tied together that still give a joined form ("a.b.c.d"); longer chains (paths, hashes) give only their parts. */
#define PARTS_MAX 4

typedef enum point_class { POINT_GAP, POINT_WORD, POINT_UNSPACED, POINT_SYMBOL } point_class;

typedef struct span {
    size_t from, to;
} span;

typedef struct walk {
    const int32_t *points;
    size_t count;
    size_t at;
    size_t tokens;
    analysis_side side;
    token_fn each;
    void *ctx;
} walk;

typedef struct point_range {
    int32_t first, last;
} point_range;

/* Scripts written without spaces between words, and Hangul, whose words carry their particles. */
static const point_range unspaced[] = {
    { 0x0E00, 0x0EFF }, { 0x1000, 0x109F }, { 0x1100, 0x11FF }, { 0x1780, 0x17FF },
    { 0x2E80, 0x2FDF }, { 0x3005, 0x3007 }, { 0x3041, 0x30FF }, { 0x3100, 0x318F },
    { 0x31A0, 0x31BF }, { 0x31F0, 0x31FF }, { 0x3400, 0x4DBF }, { 0x4E00, 0x9FFF },
    { 0xA960, 0xA97F }, { 0xAC00, 0xD7FF }, { 0xF900, 0xFAFF }, { 0x20000, 0x3FFFD },
};

static bool is_unspaced(int32_t c) {
    for (size_t i = 0; i < sizeof unspaced / sizeof unspaced[0]; i++)
        if (c >= unspaced[i].first && c <= unspaced[i].last) return true;
    return false;
}

static point_class classify_ascii(int32_t c) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return POINT_WORD;
    return c == '$' ? POINT_SYMBOL : POINT_GAP;
}

static point_class classify(int32_t c) {
    if (c >= 0 && c < 0x80) return classify_ascii(c);
    utf8proc_category_t category = utf8proc_category(c);
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO)
        return c >= 0x0E00 && is_unspaced(c) ? POINT_UNSPACED : POINT_WORD;
    return category == UTF8PROC_CATEGORY_SO || category == UTF8PROC_CATEGORY_SC ? POINT_SYMBOL : POINT_GAP;
}

static bool is_digit(int32_t c) {
    return c >= '0' && c <= '9';
}

static bool is_apostrophe(int32_t c) {
    return c == '\'' || c == 0x2019 || c == 0x02BC;
}

static bool is_connector(int32_t c) {
    return c == '-' || c == '_' || c == '.' || c == '/' || c == '@' || c == ':' || c == '&' || c == 0x2010 ||
           c == 0x2011 || c == 0x2013 || is_apostrophe(c);
}

static size_t encode(char *out, const int32_t *points, size_t count) {
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        if (points[i] < 0x80)
            out[len++] = (char)points[i];
        else
            len += (size_t)utf8proc_encode_char(points[i], (utf8proc_uint8_t *)out + len);
    }
    return len;
}

#define TOKEN_BYTES (ANALYSIS_TOKEN_POINTS * 4)

static uar_status emit_points(walk *w, const int32_t *points, size_t count, bool is_extra) {
    char text[TOKEN_BYTES];
    if (count > ANALYSIS_TOKEN_POINTS) count = ANALYSIS_TOKEN_POINTS;
    token t = { uar_str_n(text, encode(text, points, count)), false, is_extra };
    w->tokens++;
    return w->each(w->ctx, &t);
}

static uar_status emit_word(walk *w, span word) {
    char text[TOKEN_BYTES];
    size_t count = word.to - word.from;
    if (count > ANALYSIS_TOKEN_POINTS) count = ANALYSIS_TOKEN_POINTS;
    size_t len = encode(text, w->points + word.from, count);
    bool is_stop = stop_word(uar_str_n(text, len));
    token t = { uar_str_n(text, is_stop ? len : stem_word(text, len)), is_stop, false };
    w->tokens++;
    return w->each(w->ctx, &t);
}

static uar_status emit_joined(walk *w, const span *parts, size_t count) {
    int32_t joined[ANALYSIS_TOKEN_POINTS];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t at = parts[i].from; at < parts[i].to; at++) {
            if (n == ANALYSIS_TOKEN_POINTS) return UAR_OK;
            joined[n++] = w->points[at];
        }
    }
    return emit_points(w, joined, n, true);
}

static size_t word_end(const walk *w, size_t from) {
    size_t to = from;
    while (to < w->count && classify(w->points[to]) == POINT_WORD)
        to++;
    return to;
}

/* True if the point at `at` ties the word before it to one behind it. */
static bool ties(const walk *w, size_t at) {
    if (at + 1 >= w->count || classify(w->points[at + 1]) != POINT_WORD) return false;
    int32_t c = w->points[at];
    if (c == ',') return is_digit(w->points[at - 1]) && is_digit(w->points[at + 1]);
    return is_connector(c);
}

/* "c++" and "c#" are names; the signs are kept in a second form. */
static uar_status emit_signed(walk *w, span word) {
    size_t to = word.to;
    while (to < w->count && to < word.to + 2 && (w->points[to] == '+' || w->points[to] == '#'))
        to++;
    if (to == word.to || to - word.from > ANALYSIS_TOKEN_POINTS) return UAR_OK;
    return emit_points(w, w->points + word.from, to - word.from, true);
}

/* The English genitive is no part: "Ada's" is "Ada". */
static bool is_genitive(const walk *w, span part) {
    return part.to - part.from == 1 && w->points[part.from] == 's' && part.from > 0 &&
           is_apostrophe(w->points[part.from - 1]);
}

static uar_status take_words(walk *w) {
    span parts[PARTS_MAX];
    size_t count = 0;
    size_t chain = 0;
    for (;;) {
        span part = { w->at, word_end(w, w->at) };
        w->at = part.to;
        if (!is_genitive(w, part)) {
            uar_status status = emit_word(w, part);
            if (status != UAR_OK) return status;
            if (count < PARTS_MAX) parts[count++] = part;
            chain++;
        }
        if (w->at >= w->count || !ties(w, w->at)) break;
        w->at++;
    }
    if (chain == 1 && parts[0].to == w->at) return emit_signed(w, parts[0]);
    return chain > 1 && chain <= PARTS_MAX ? emit_joined(w, parts, count) : UAR_OK;
}

static uar_status take_unspaced(walk *w) {
    size_t from = w->at;
    while (w->at < w->count && classify(w->points[w->at]) == POINT_UNSPACED)
        w->at++;
    size_t count = w->at - from;
    for (size_t i = 0; i + 1 < count; i++) {
        uar_status status = emit_points(w, w->points + from + i, 2, false);
        if (status != UAR_OK) return status;
    }
    if (count > 1 && w->side == ANALYSIS_QUERY) return UAR_OK;
    for (size_t i = 0; i < count; i++) {
        uar_status status = emit_points(w, w->points + from + i, 1, count > 1);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

static uar_status take_next(walk *w) {
    switch (classify(w->points[w->at])) {
    case POINT_WORD: return take_words(w);
    case POINT_UNSPACED: return take_unspaced(w);
    case POINT_SYMBOL: return emit_points(w, w->points + w->at++, 1, false);
    case POINT_GAP: w->at++; return UAR_OK;
    }
    return UAR_E_INTERNAL;
}

/* What has no token at all is found by its own characters. */
static uar_status take_whole(walk *w) {
    int32_t whole[ANALYSIS_TOKEN_POINTS];
    size_t n = 0;
    for (size_t i = 0; i < w->count && n < ANALYSIS_TOKEN_POINTS; i++)
        if (!fold_is_space(w->points[i])) whole[n++] = w->points[i];
    return n != 0 ? emit_points(w, whole, n, false) : UAR_OK;
}

uar_status analysis_run(const uar_allocator *a, uar_str text, analysis_side side, token_fn each, void *ctx) {
    folded f;
    uar_status status = fold_points(&f, a, text, FOLD_DROP_MARKS);
    if (status != UAR_OK) return status;
    walk w = { f.points, f.count, 0, 0, side, each, ctx };
    while (status == UAR_OK && w.at < w.count)
        status = take_next(&w);
    if (status == UAR_OK && w.tokens == 0) status = take_whole(&w);
    folded_dispose(&f);
    return status;
}
