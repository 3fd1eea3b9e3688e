/* Owns: the choice of sentences. Invariant: what is put out are whole sentences of the sources, each once, in their order,
 * but for one that is longer than the bound by itself. */
#include "memory/summary.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"

/* Shorter pieces are no sentences: "Dr." goes on. */
#define SENTENCE_BYTES_MIN 12
/* A word that only one sentence has tells less of the whole. */
#define LONELY_WEIGHT 0.25
/* Added to the length of a sentence, so that the shortest don't always win. */
#define LENGTH_BIAS 24.0

typedef struct sentence {
    uar_str text;
    uint64_t *words; /* numbers of its words, each once */
    size_t count;
    bool is_chosen;
} sentence;

typedef struct word_weight {
    uint64_t id;
    double weight;
    bool is_covered;
} word_weight;

typedef struct choice {
    arena ar;
    sentence *sentences;
    size_t count, cap;
    word_weight *words; /* by id */
    size_t word_count;
} choice;

static bool is_blank_byte(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Bytes of an end mark at `at`, with what must stand behind it; 0 if there is none. */
static size_t end_mark(uar_str text, size_t at) {
    static const char *const wide[] = { "\xE3\x80\x82", "\xEF\xBC\x81", "\xEF\xBC\x9F" };
    char c = text.ptr[at];
    if (c == '\n') return 1;
    if (c == '.' || c == '!' || c == '?') return at + 1 == text.len || is_blank_byte(text.ptr[at + 1]) ? 1 : 0;
    for (size_t i = 0; i < 3; i++)
        if (text.len - at >= 3 && memcmp(text.ptr + at, wide[i], 3) == 0) return 3;
    return 0;
}

static uar_str trim(uar_str text) {
    while (text.len != 0 && is_blank_byte(text.ptr[0]))
        text.ptr++, text.len--;
    while (text.len != 0 && is_blank_byte(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

/* The first sentence of what is left, which it is taken from. */
static uar_str take_sentence(uar_str *rest) {
    size_t at = 0;
    while (at < rest->len) {
        size_t mark = end_mark(*rest, at);
        at += mark != 0 ? mark : 1;
        if (mark != 0 && at >= SENTENCE_BYTES_MIN) break;
    }
    uar_str found = uar_str_n(rest->ptr, at);
    rest->ptr += at;
    rest->len -= at;
    return trim(found);
}

static uar_status read_words(sentence *s, arena *ar, term_key key) {
    term_list terms;
    term_list_init(&terms, ar->alloc);
    uar_status status = term_list_query(&terms, key, s->text);
    if (status == UAR_OK) s->words = (uint64_t *)arena_zeroed(ar, terms.count + 1, sizeof *s->words);
    if (status == UAR_OK && s->words == NULL) status = UAR_E_NOMEM;
    for (size_t i = 0; status == UAR_OK && i < terms.count; i++)
        s->words[s->count++] = terms.terms[i].id;
    term_list_dispose(&terms);
    return status;
}

static uar_status add_sentence(choice *c, uar_str text, term_key key) {
    if (c->count == c->cap) {
        size_t cap = c->cap != 0 ? c->cap * 2 : 64;
        sentence *more = (sentence *)arena_alloc(&c->ar, cap * sizeof *more);
        if (more == NULL) return UAR_E_NOMEM;
        if (c->count != 0) memcpy(more, c->sentences, c->count * sizeof *more);
        c->sentences = more;
        c->cap = cap;
    }
    sentence *s = &c->sentences[c->count];
    *s = (sentence){ .text = text };
    uar_status status = read_words(s, &c->ar, key);
    if (status == UAR_OK) c->count++;
    return status;
}

static uar_status read_sources(choice *c, term_key key, const uar_memory_record *sources, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uar_str rest = sources[i].content;
        while (rest.len != 0) {
            uar_str text = take_sentence(&rest);
            uar_status status = text.len != 0 ? add_sentence(c, text, key) : UAR_OK;
            if (status != UAR_OK) return status;
        }
    }
    return UAR_OK;
}

static int by_number(const void *a, const void *b) {
    const uint64_t *x = a;
    const uint64_t *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* In how many sentences each word stands. */
static uar_status weigh_words(choice *c) {
    size_t total = 0;
    for (size_t i = 0; i < c->count; i++)
        total += c->sentences[i].count;
    uint64_t *all = (uint64_t *)arena_zeroed(&c->ar, total + 1, sizeof *all);
    c->words = (word_weight *)arena_zeroed(&c->ar, total + 1, sizeof *c->words);
    if (all == NULL || c->words == NULL) return UAR_E_NOMEM;
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        for (size_t w = 0; w < c->sentences[i].count; w++)
            all[n++] = c->sentences[i].words[w];
    qsort(all, n, sizeof *all, by_number);
    for (size_t i = 0, run = 0; i < n; i += run) {
        for (run = 1; i + run < n && all[i + run] == all[i];)
            run++;
        c->words[c->word_count++] = (word_weight){ all[i], run > 1 ? (double)run : LONELY_WEIGHT, false };
    }
    return UAR_OK;
}

static word_weight *find_word(const choice *c, uint64_t id) {
    size_t low = 0;
    size_t high = c->word_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (c->words[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return &c->words[low];
}

/* What a sentence adds to those that were chosen, for its length. */
static double gain(const choice *c, const sentence *s) {
    double sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        const word_weight *w = find_word(c, s->words[i]);
        if (!w->is_covered) sum += w->weight;
    }
    return sum / (LENGTH_BIAS + (double)s->text.len);
}

static void choose(choice *c, size_t most) {
    size_t left = most;
    for (;;) {
        sentence *best = NULL;
        double best_gain = 0;
        for (size_t i = 0; i < c->count; i++) {
            sentence *s = &c->sentences[i];
            if (s->is_chosen || s->text.len + 1 > left) continue;
            double g = gain(c, s);
            if (g > best_gain) {
                best = s;
                best_gain = g;
            }
        }
        if (best == NULL) return;
        best->is_chosen = true;
        left -= best->text.len + 1;
        for (size_t i = 0; i < best->count; i++)
            find_word(c, best->words[i])->is_covered = true;
    }
}

static void put_chosen(buffer *out, const choice *c, size_t most) {
    size_t begin = out->len;
    const sentence *shortest = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const sentence *s = &c->sentences[i];
        if (shortest == NULL || s->text.len < shortest->text.len) shortest = s;
        if (!s->is_chosen) continue;
        if (out->len != begin) buffer_append_char(out, '\n');
        buffer_append_str(out, s->text);
    }
    if (out->len == begin && shortest != NULL) buffer_append(out, shortest->text.ptr, utf8_cut(shortest->text, most));
}

uar_status summary_extract(buffer *out, term_key key, const uar_memory_record *sources, size_t count, size_t wished,
                           size_t most) {
    choice c = { .count = 0 };
    arena_init(&c.ar, out->alloc);
    uar_status status = read_sources(&c, key, sources, count);
    if (status == UAR_OK) status = weigh_words(&c);
    if (status == UAR_OK) {
        choose(&c, wished);
        put_chosen(out, &c, most);
        status = out->status;
    }
    arena_dispose(&c.ar);
    return status;
}
