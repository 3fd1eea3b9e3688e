/* Owns: the verdict on two texts. Invariant: it is NEAR_DIFFERENT unless one of the few known ways to tell the same fact
 * leads from one text to the other. */
#include "memory/near.h"

#include "base/str.h"
#include "memory/near_words.h"

static bool same_word(const near_word *a, const near_word *b) {
    if (!uar_str_equal(a->text, b->text)) return false;
    /* Korean parts its words by spaces, and meaning with them. */
    return !a->is_unspaced || a->after_space == b->after_space;
}

static bool same_run(const near_word *a, const near_word *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!same_word(&a[i], &b[i])) return false;
    return true;
}

/* A few words of a time phrase and nothing else. */
static bool is_time_phrase(const near_word *words, size_t count) {
    bool has_time = false;
    for (size_t i = 0; i < count; i++) {
        if (words[i].kind != NEAR_TIME && words[i].kind != NEAR_TIE) return false;
        has_time = has_time || words[i].kind == NEAR_TIME;
    }
    return has_time;
}

/* "On Mondays I swim" and "I swim on Mondays": `a` begins with what `b` ends with. */
static bool moved_time(const near_text *a, const near_text *b) {
    if (a->count != b->count) return false;
    for (size_t len = 1; len <= 4 && len < a->count; len++) {
        if (!is_time_phrase(a->words, len)) continue;
        /* The rest must not begin or end with words that could belong to the phrase. */
        if (a->words[len].kind == NEAR_TIE || a->words[len].kind == NEAR_TIME) continue;
        if (a->words[a->count - 1].kind == NEAR_TIE || a->words[a->count - 1].kind == NEAR_TIME) continue;
        if (same_run(a->words, b->words + b->count - len, len) && same_run(a->words + len, b->words, a->count - len))
            return true;
    }
    return false;
}

/* "speaks Danish and Dutch": the last three words behind a verb, told the other way round. */
static bool turned_list(const near_text *a, const near_text *b) {
    if (a->count != b->count || a->count < 4) return false;
    size_t at = a->count - 3;
    const near_word *x = a->words + at;
    const near_word *y = b->words + at;
    return x[-1].kind == NEAR_VERB && x[1].kind == NEAR_AND && x[0].kind == NEAR_CONTENT && x[2].kind == NEAR_CONTENT &&
           !x[0].is_unspaced && same_run(a->words, b->words, at) && same_word(&x[0], &y[2]) &&
           same_word(&x[1], &y[1]) && same_word(&x[2], &y[0]);
}

/* What a reason brings must be no news that could be wrong by itself: no number, no name, no limit, no negation. */
static bool is_plain_reason(const near_text *longer, size_t from) {
    if (longer->words[from].kind != NEAR_REASON || longer->count - from < 3) return false;
    for (size_t i = from; i < longer->count; i++) {
        const near_word *w = &longer->words[i];
        if (w->is_unspaced || w->kind == NEAR_NUMBER || w->kind == NEAR_NEGATION || w->kind == NEAR_LIMIT ||
            w->kind == NEAR_TIME || str_is(w->text, "?"))
            return false;
    }
    return true;
}

static bool adds_a_reason(const near_text *shorter, const near_text *longer) {
    if (shorter->is_negated || longer->is_negated || shorter->count < 2 || shorter->count >= longer->count)
        return false;
    if (longer->language == NEAR_ARABIC || longer->capitals > shorter->capitals) return false;
    return same_run(shorter->words, longer->words, shorter->count) && is_plain_reason(longer, shorter->count);
}

static bool has_limit(const near_text *t) {
    for (size_t i = 0; i < t->count; i++)
        if (t->words[i].kind == NEAR_LIMIT || str_is(t->words[i].text, "?")) return true;
    return false;
}

static near_verdict compare(const near_text *a, const near_text *b) {
    if (a->is_long || b->is_long || a->count == 0 || b->count == 0 || a->language != b->language) return NEAR_DIFFERENT;
    bool same = a->count == b->count && same_run(a->words, b->words, a->count);
    if (!same && !has_limit(a)) same = moved_time(a, b) || moved_time(b, a) || turned_list(a, b);
    if (same)
        return a->emphasis > b->emphasis   ? NEAR_FIRST_FULLER
               : a->emphasis < b->emphasis ? NEAR_SECOND_FULLER
                                           : NEAR_SAME;
    if (adds_a_reason(a, b)) return NEAR_SECOND_FULLER;
    return adds_a_reason(b, a) ? NEAR_FIRST_FULLER : NEAR_DIFFERENT;
}

uar_status near_compare(near_verdict *out, const uar_allocator *a, uar_str first, uar_str second) {
    arena ar;
    arena_init(&ar, a);
    near_text x;
    near_text y;
    uar_status status = near_text_read(&x, &ar, first);
    if (status == UAR_OK) status = near_text_read(&y, &ar, second);
    if (status == UAR_OK) *out = compare(&x, &y);
    arena_dispose(&ar);
    return status;
}
