/*
 * Owns: reading a text into the words that are compared. Invariants: a point of the folded text that isn't white space,
 * punctuation or a mark of its own ends up in exactly one word, in order; only the lexicon leaves words out.
 */
#include "memory/near_words.h"

#include <assert.h>
#include <utf8proc.h>

#include "base/str.h"
#include "base/utf8.h"
#include "index/fold.h"

typedef struct reading {
    arena *ar;
    folded points;
    size_t at;
    near_word *words;
    size_t count, cap;
    bool after_space;
    bool is_long;
} reading;

static bool is_letter(int32_t c) {
    utf8proc_category_t category = utf8proc_category(c);
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME) || category == UTF8PROC_CATEGORY_NL ||
           category == UTF8PROC_CATEGORY_NO;
}

static bool is_digit(int32_t c) {
    return utf8proc_category(c) == UTF8PROC_CATEGORY_ND;
}

typedef struct point_range {
    int32_t first, last;
} point_range;

static bool is_unspaced(int32_t c) {
    static const point_range ranges[] = { { 0x0E00, 0x0EFF }, { 0x1000, 0x109F }, { 0x1100, 0x11FF },
                                          { 0x1780, 0x17FF }, { 0x2E80, 0x9FFF }, { 0xA960, 0xA97F },
                                          { 0xAC00, 0xD7FF }, { 0xF900, 0xFAFF }, { 0x20000, 0x3FFFD } };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (c >= ranges[i].first && c <= ranges[i].last) return is_letter(c);
    return false;
}

static bool is_hangul(int32_t c) {
    return (c >= 0x1100 && c <= 0x11FF) || (c >= 0xA960 && c <= 0xA97F) || (c >= 0xAC00 && c <= 0xD7FF);
}

/* Digits of one script follow one another from 0 to 9, and scripts follow one another in tens. */
static char ascii_digit(int32_t c) {
    int32_t before = 0;
    while (before < 100 && c - before > 0 && is_digit(c - before - 1))
        before++;
    return (char)('0' + before % 10);
}

static bool is_apostrophe(int32_t c) {
    return c == '\'' || c == 0x2019 || c == 0x02BC;
}

static bool is_minus(int32_t c) {
    return c == '-' || c == 0x2212;
}

/* Punctuation that a number goes on behind: 1,000 and 18:00 and 2024-05-03. */
static bool joins_digits(int32_t c) {
    return c == '.' || c == ',' || c == ':' || c == '/' || c == 0x2010 || c == 0x2011 || c == 0x2013 || c == 0x066B ||
           c == 0x066C || is_minus(c);
}

/* Signs that say something; other punctuation doesn't. */
static bool is_sign(int32_t c) {
    utf8proc_category_t category = utf8proc_category(c);
    if (category == UTF8PROC_CATEGORY_SM || category == UTF8PROC_CATEGORY_SC || category == UTF8PROC_CATEGORY_SO)
        return true;
    return c == '%' || c == '#' || c == '&' || c == '@' || c == '*' || c == '/' || c == '?' || c == 0x061F ||
           c == 0x2030 || c == 0x061B;
}

static int32_t point_at(const reading *r, size_t at) {
    return at < r->points.count ? r->points.points[at] : 0;
}

static uar_status add_word(reading *r, const buffer *bytes, near_kind kind, bool unspaced) {
    if (r->count == NEAR_WORDS_MAX) {
        r->is_long = true;
        return UAR_OK;
    }
    uar_str text = arena_str(r->ar, buffer_str(bytes));
    if (bytes->status != UAR_OK || text.ptr == NULL) return UAR_E_NOMEM;
    r->words[r->count++] = (near_word){ text, kind, unspaced, r->after_space };
    r->after_space = false;
    return UAR_OK;
}

/* "l'ami" is two words, "don't" is one. */
static bool is_elision(uar_str word) {
    if (word.len == 1) return memchr("ldjnsmtc", word.ptr[0], 8) != NULL;
    return str_is(word, "qu");
}

static void read_letters(reading *r, buffer *out) {
    while (r->at < r->points.count) {
        int32_t c = point_at(r, r->at);
        if (is_apostrophe(c)) {
            if (!is_letter(point_at(r, r->at + 1)) || is_unspaced(point_at(r, r->at + 1))) return;
            r->at++;
            bool splits = is_elision(buffer_str(out));
            buffer_append_char(out, '\'');
            if (splits) return;
            continue;
        }
        if (!is_letter(c) || is_unspaced(c)) return;
        r->at++;
        if (c != 0x0640) utf8_append(out, (uint32_t)c); /* an Arabic stroke that only widens */
    }
}

static void read_number(reading *r, buffer *out) {
    if (is_minus(point_at(r, r->at))) {
        buffer_append_char(out, '-');
        r->at++;
    }
    while (r->at < r->points.count) {
        int32_t c = point_at(r, r->at);
        if (is_digit(c))
            buffer_append_char(out, ascii_digit(c));
        else if (joins_digits(c) && is_digit(point_at(r, r->at + 1)))
            utf8_append(out, is_minus(c) || c >= 0x2010 ? (uint32_t)'-' : (uint32_t)c);
        else
            return;
        r->at++;
    }
}

static bool begins_number(const reading *r) {
    int32_t c = point_at(r, r->at);
    if (is_digit(c)) return true;
    if (!is_minus(c) || !is_digit(point_at(r, r->at + 1))) return false;
    return r->at == 0 || !is_letter(point_at(r, r->at - 1));
}

static uar_status read_word(reading *r, buffer *out) {
    int32_t c = point_at(r, r->at);
    near_kind kind = NEAR_CONTENT;
    bool unspaced = false;
    buffer_reset(out);
    if (begins_number(r)) {
        kind = NEAR_NUMBER;
        read_number(r, out);
    } else if (is_unspaced(c)) {
        unspaced = true;
        utf8_append(out, (uint32_t)c);
        r->at++;
        if (!is_hangul(c)) r->after_space = false;
    } else if (is_letter(c)) {
        read_letters(r, out);
    } else {
        r->at++;
        if (fold_is_space(c)) r->after_space = true;
        if (is_sign(c)) utf8_append(out, c == 0x061F ? (uint32_t)'?' : (uint32_t)c);
    }
    return out->len != 0 || out->status != UAR_OK ? add_word(r, out, kind, unspaced) : UAR_OK;
}

static uar_status read_words(reading *r, uar_str text) {
    uar_status status = fold_points(&r->points, r->ar->alloc, text, FOLD_KEEP_MARKS);
    if (status != UAR_OK) return status;
    buffer word;
    buffer_init(&word, r->ar->alloc, SIZE_MAX / 4);
    r->words = (near_word *)arena_zeroed(r->ar, NEAR_WORDS_MAX, sizeof *r->words);
    if (r->words == NULL) status = UAR_E_NOMEM;
    while (status == UAR_OK && r->at < r->points.count && !r->is_long)
        status = read_word(r, &word);
    buffer_dispose(&word);
    folded_dispose(&r->points);
    return status;
}

static int32_t first_point(uar_str word) {
    return (int32_t)utf8_decode(word.ptr, word.len).code_point;
}

static near_language language_of_script(int32_t c) {
    if (is_hangul(c)) return NEAR_KOREAN;
    if (c >= 0x3041 && c <= 0x30FF) return NEAR_JAPANESE;
    if (c >= 0x0400 && c <= 0x04FF) return NEAR_RUSSIAN;
    if (c >= 0x0600 && c <= 0x06FF) return NEAR_ARABIC;
    return c >= 0x2E80 && c <= 0x3FFFD ? NEAR_CHINESE : NEAR_UNKNOWN;
}

/* The script tells most; the Latin one leaves it to frequent words, and to nobody if two languages have as many. */
static near_language guess_language(const near_word *words, size_t count) {
    size_t votes[NEAR_LANGUAGES] = { 0 };
    bool has_kana = false;
    for (size_t i = 0; i < count; i++) {
        near_language script = language_of_script(first_point(words[i].text));
        has_kana = has_kana || script == NEAR_JAPANESE;
        if (script != NEAR_UNKNOWN) votes[script]++;
        for (near_language l = NEAR_ENGLISH; script == NEAR_UNKNOWN && l <= NEAR_FRENCH; l = (near_language)(l + 1))
            if (near_is_marker(l, words[i].text)) votes[l]++;
    }
    if (has_kana) return NEAR_JAPANESE;
    near_language best = NEAR_UNKNOWN;
    bool tied = false;
    for (near_language l = NEAR_ENGLISH; l < NEAR_LANGUAGES; l = (near_language)(l + 1)) {
        if (votes[l] == 0 || votes[l] < votes[best]) continue;
        tied = votes[l] == votes[best];
        best = l;
    }
    return tied ? NEAR_UNKNOWN : best;
}

/* Words of the phrase that stand at `words`; 0 if it isn't there. */
static size_t phrase_length(const char *phrase, const near_word *words, size_t count) {
    size_t used = 0;
    while (*phrase != '\0') {
        if (used == count) return 0;
        uar_str word = words[used].text;
        if (strncmp(phrase, word.ptr, word.len) != 0) return 0;
        phrase += word.len;
        if (*phrase == ' ')
            phrase++;
        else if (*phrase != '\0' && !words[used].is_unspaced)
            return 0;
        used++;
    }
    return used;
}

static const near_entry *find_entry(near_language language, const near_word *words, size_t count, size_t *used) {
    const near_entry *best = NULL;
    *used = 1;
    for (const near_entry *e = near_lexicon(language); e->phrase != NULL; e++) {
        size_t len = phrase_length(e->phrase, words, count);
        if (len == 0 || (best != NULL && len <= *used)) continue;
        best = e;
        *used = len;
    }
    return best;
}

static void keep(near_text *t, near_word word, near_kind kind) {
    if (t->count == (size_t)NEAR_WORDS_MAX * 2) return; /* 400 words with an alias each are at most 800 */
    word.kind = kind;
    t->words[t->count++] = word;
}

/* The next piece of an alias: a character of a script without spaces, or a word. */
static uar_str next_piece(const char *same, bool *unspaced) {
    utf8_item item = utf8_decode(same, strlen(same));
    *unspaced = is_unspaced((int32_t)item.code_point);
    return uar_str_n(same, *unspaced ? item.len : strcspn(same, " "));
}

/* The words that an alias stands for, which may be more than it has: "don't". */
static void keep_alias(near_text *t, const near_word *first, const char *same) {
    near_word word = *first;
    while (*same != '\0' && t->count < (size_t)NEAR_WORDS_MAX * 2) {
        word.text = next_piece(same, &word.is_unspaced);
        bool is_not = str_is(word.text, "not");
        if (is_not) t->is_negated = true;
        keep(t, word,
             is_not                                               ? NEAR_NEGATION
             : str_is(word.text, "and")                           ? NEAR_AND
             : word.text.ptr[0] >= '0' && word.text.ptr[0] <= '9' ? NEAR_NUMBER
                                                                  : NEAR_CONTENT);
        same += word.text.len;
        word.after_space = *same == ' ';
        if (*same == ' ') same++;
    }
}

static bool is_request_behind(const near_word *words, size_t count) {
    return count == 0 || (count == 1 && words[0].kind == NEAR_ARTICLE);
}

/* Name what each word is, put aliases in, leave requests and polite endings out. */
static void name_words(near_text *t, const near_word *words, size_t count) {
    for (size_t i = 0, used = 1; i < count; i += used) {
        const near_entry *e = find_entry(t->language, words + i, count - i, &used);
        near_kind kind = e != NULL ? e->kind : words[i].kind;
        if (kind == NEAR_REQUEST && is_request_behind(t->words, t->count) && i + used < count) {
            t->count = 0;
            continue;
        }
        if (kind == NEAR_ENDING && i + used == count && i != 0) continue;
        if (kind == NEAR_NEGATION) t->is_negated = true;
        if (e != NULL && e->same != NULL) {
            keep_alias(t, &words[i], e->same);
            continue;
        }
        bool is_plain = kind == NEAR_REQUEST || kind == NEAR_ENDING || kind == NEAR_ALIAS;
        for (size_t n = 0; n < used; n++)
            keep(t, words[i + n], is_plain ? NEAR_CONTENT : kind);
    }
}

static bool is_empty_word(const near_text *t, size_t at) {
    switch (t->words[at].kind) {
    case NEAR_ARTICLE: return at + 1 < t->count;
    case NEAR_DEGREE: return !t->is_negated;
    case NEAR_TRUTH: return at == 0 || t->words[at - 1].kind != NEAR_NEGATION;
    default: return false;
    }
}

static void drop_empty_words(near_text *t) {
    size_t kept = 0;
    size_t count = t->count;
    bool space = false;
    for (size_t i = 0; i < count; i++) {
        near_word word = t->words[i];
        if (is_empty_word(t, i)) {
            t->emphasis += word.kind != NEAR_ARTICLE;
            space = space || word.after_space;
            continue;
        }
        word.after_space = word.after_space || space;
        space = false;
        t->words[kept++] = word;
    }
    t->count = kept;
}

/* "Team A won" and "vitamin A": a capital letter by itself is a name, and no article. */
static bool has_lone_capital(uar_str text) {
    for (size_t i = 1; i < text.len; i++) {
        if (text.ptr[i] != 'A' || (text.ptr[i - 1] != ' ' && text.ptr[i - 1] != '-')) continue;
        if (i + 1 == text.len || memchr(" .,;:!?-)\"'", text.ptr[i + 1], 11) != NULL) return true;
    }
    return false;
}

/* The English "I" is a capital that names nobody. */
static bool is_lone_i(uar_str text, size_t at) {
    bool begins = at == 0 || text.ptr[at - 1] == ' ';
    bool ends = at + 1 == text.len || text.ptr[at + 1] == ' ' || text.ptr[at + 1] == '\'';
    return text.ptr[at] == 'I' && begins && ends;
}

static size_t count_capitals(uar_str text) {
    size_t count = 0;
    for (size_t at = 0; at < text.len;) {
        utf8_item item = utf8_decode(text.ptr + at, text.len - at);
        if (utf8proc_category((int32_t)item.code_point) == UTF8PROC_CATEGORY_LU && !is_lone_i(text, at)) count++;
        at += item.len;
    }
    return count;
}

uar_status near_text_read(near_text *out, arena *ar, uar_str text) {
    memset(out, 0, sizeof *out);
    reading r = { .ar = ar, .after_space = true };
    uar_status status = read_words(&r, text);
    if (status != UAR_OK) return status;
    out->is_long = r.is_long;
    if (r.is_long) return UAR_OK;
    out->words = (near_word *)arena_zeroed(ar, (size_t)NEAR_WORDS_MAX * 2, sizeof *out->words);
    if (out->words == NULL) return UAR_E_NOMEM;
    out->language = guess_language(r.words, r.count);
    out->capitals = count_capitals(text);
    name_words(out, r.words, r.count);
    if (!has_lone_capital(text)) drop_empty_words(out);
    assert(out->count <= (size_t)NEAR_WORDS_MAX * 2);
    return UAR_OK;
}
