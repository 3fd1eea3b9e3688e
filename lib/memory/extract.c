/* Owns: choosing sentences. Invariant: what is chosen costs no more than the budget, role marks and separators included;
 * scores only fall while sentences are chosen, so that the best of a heap whose score is still true is the best of all. */
#include "memory/extract.h"

#include <math.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "index/fold.h"
#include "memory/recall.h"

/* A stop in a shorter piece is no end: "Dr." goes on. */
#define SENTENCE_BYTES_MIN 12
/* What marks a cut. */
#define ELLIPSIS "\xE2\x80\xA6"
/* A sentence of fewer terms says too little to stand alone. */
#define TERMS_FEW 3
#define FACTOR_SHORT 0.5
#define FACTOR_FIRST 1.15
#define FACTOR_NUMBER 1.15
/* The weight of a word, whole numbers so that no order of adding matters: one that occurs once is hardly the topic, and what
 * was said once is worth less the second time. */
#define SAID_SHARE(weight) ((weight)*2 / 5)
#define WEIGHT_RARE 1000u
#define WEIGHT_OCCURRENCE 4000u

typedef struct sentence {
    uar_str text;
    size_t passage;
    uint64_t cost;   /* with the separator */
    uint64_t *terms; /* their numbers, then their slots in the vocabulary */
    size_t term_count;
    double factor;
    double score;
    bool chosen;
} sentence;

/* Terms by their number, which is a hash already. */
typedef struct vocabulary {
    uint64_t *ids;
    uint64_t *weights;
    bool *used;
    size_t slots; /* a power of two */
} vocabulary;

typedef struct extraction {
    arena ar;
    const extract_passage *passages;
    size_t passage_count;
    bool *opened; /* passages whose role is already paid for */
    sentence *list;
    size_t count, cap;
    size_t term_total;
    vocabulary words;
    vocabulary said; /* sentences that are chosen, as numbers */
    extract_unit unit;
    term_key key;
} extraction;

static uint64_t cost_of(const extraction *x, uar_str text) {
    return x->unit == EXTRACT_BYTES ? text.len : memory_estimate_tokens(text);
}

static bool is_end_mark(const char *p, size_t len, size_t *width) {
    static const char *const wide[] = { "\xE3\x80\x82", "\xEF\xBC\x81", "\xEF\xBC\x9F" }; /* of CJK: no space follows */
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        *width = 3;
        if (len >= 3 && memcmp(p, wide[i], 3) == 0) return true;
    }
    *width = 1;
    if (*p == '\n') return true;
    return (*p == '.' || *p == '!' || *p == '?') && (len == 1 || p[1] == ' ' || p[1] == '\n' || p[1] == '\t');
}

static uar_str trim(uar_str s) {
    while (s.len != 0 && (uint8_t)s.ptr[0] <= ' ') {
        s.ptr++;
        s.len--;
    }
    while (s.len != 0 && (uint8_t)s.ptr[s.len - 1] <= ' ')
        s.len--;
    return s;
}

static bool has_digit(uar_str s) {
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] >= '0' && s.ptr[i] <= '9') return true;
    return false;
}

static uar_status add_sentence(extraction *x, uar_str text, size_t passage, bool first) {
    if (x->count == x->cap) {
        size_t cap = x->cap != 0 ? x->cap * 2 : 64;
        sentence *more = (sentence *)arena_alloc(&x->ar, cap * sizeof *more);
        if (more == NULL) return UAR_E_NOMEM;
        if (x->count != 0) memcpy(more, x->list, x->count * sizeof *more);
        x->list = more;
        x->cap = cap;
    }
    x->list[x->count++] =
        (sentence){ .text = text,
                    .passage = passage,
                    .cost = cost_of(x, text) + 1,
                    .factor = (first ? FACTOR_FIRST : 1.0) * (has_digit(text) ? FACTOR_NUMBER : 1.0) };
    return UAR_OK;
}

/* Whether the mark at `at` is that of a short form. */
static bool goes_on(uar_str text, size_t from, size_t at) {
    return text.ptr[at] == '.' && at + 1 - from < SENTENCE_BYTES_MIN;
}

static uar_status split(extraction *x, size_t passage) {
    uar_str text = x->passages[passage].text;
    bool first = true;
    for (size_t from = 0, at = 0; at <= text.len;) {
        size_t width = 1;
        bool over = at == text.len;
        if (!over && (!is_end_mark(text.ptr + at, text.len - at, &width) || goes_on(text, from, at))) {
            at++;
            continue;
        }
        size_t end = over ? at : at + width;
        uar_str piece = trim(uar_str_n(text.ptr + from, end - from));
        if (piece.len != 0 && !fold_is_blank(piece)) {
            uar_status status = add_sentence(x, piece, passage, first);
            if (status != UAR_OK) return status;
            first = false;
        }
        if (over) break;
        from = at = end;
    }
    return UAR_OK;
}

/* Terms of a sentence, by number for now. */
static uar_status take_terms(extraction *x, sentence *s) {
    term_list list;
    term_list_init(&list, x->ar.alloc);
    uar_status status = term_list_query(&list, x->key, s->text);
    if (status == UAR_OK) {
        s->terms = (uint64_t *)arena_zeroed(&x->ar, list.count + 1, sizeof *s->terms);
        if (s->terms == NULL) status = UAR_E_NOMEM;
    }
    for (size_t i = 0; status == UAR_OK && i < list.count; i++)
        s->terms[s->term_count++] = list.terms[i].id;
    x->term_total += s->term_count;
    if (s->term_count < TERMS_FEW) s->factor *= FACTOR_SHORT;
    term_list_dispose(&list);
    return status;
}

static uar_status vocabulary_make(vocabulary *v, arena *ar, size_t terms) {
    v->slots = 64;
    while (v->slots < terms * 2)
        v->slots *= 2;
    v->ids = (uint64_t *)arena_zeroed(ar, v->slots, sizeof *v->ids);
    v->weights = (uint64_t *)arena_zeroed(ar, v->slots, sizeof *v->weights);
    v->used = (bool *)arena_zeroed(ar, v->slots, sizeof *v->used);
    return v->ids != NULL && v->weights != NULL && v->used != NULL ? UAR_OK : UAR_E_NOMEM;
}

static size_t vocabulary_find(const vocabulary *v, uint64_t id) {
    size_t at = (size_t)id & (v->slots - 1);
    while (v->used[at] && v->ids[at] != id)
        at = (at + 1) & (v->slots - 1);
    return at;
}

static size_t vocabulary_slot(vocabulary *v, uint64_t id) {
    size_t at = vocabulary_find(v, id);
    v->used[at] = true;
    v->ids[at] = id;
    return at;
}

static uar_status weigh(extraction *x) {
    uar_status status = vocabulary_make(&x->words, &x->ar, x->term_total);
    if (status != UAR_OK) return status;
    for (size_t i = 0; i < x->count; i++) {
        sentence *s = &x->list[i];
        for (size_t k = 0; k < s->term_count; k++) {
            s->terms[k] = vocabulary_slot(&x->words, s->terms[k]);
            x->words.weights[s->terms[k]] += WEIGHT_OCCURRENCE;
        }
    }
    for (size_t at = 0; at < x->words.slots; at++)
        if (x->words.weights[at] == WEIGHT_OCCURRENCE) x->words.weights[at] = WEIGHT_RARE;
    return UAR_OK;
}

static double score(const extraction *x, const sentence *s) {
    uint64_t sum = 0;
    for (size_t k = 0; k < s->term_count; k++)
        sum += x->words.weights[s->terms[k]];
    return s->term_count != 0 ? s->factor * (double)sum / sqrt((double)s->term_count) : 0;
}

/* The better score first; of equals the earlier sentence. */
static bool is_better(const extraction *x, size_t a, size_t b) {
    if (x->list[a].score > x->list[b].score) return true;
    if (x->list[a].score < x->list[b].score) return false;
    return a < b;
}

static void sink(const extraction *x, size_t *heap, size_t count, size_t at) {
    for (;;) {
        size_t best = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (is_better(x, heap[child], heap[best])) best = child;
        if (best == at) return;
        size_t moved = heap[at];
        heap[at] = heap[best];
        heap[best] = moved;
        at = best;
    }
}

static uint64_t role_cost(const extraction *x, size_t passage) {
    uar_str role = x->passages[passage].role;
    if (x->opened[passage]) return 0;
    return role.ptr != NULL ? cost_of(x, role) + cost_of(x, STR(": ")) : 1;
}

static void take(extraction *x, sentence *s) {
    s->chosen = true;
    (void)vocabulary_slot(&x->said, term_hash(x->key, s->text));
    x->opened[s->passage] = true;
    for (size_t k = 0; k < s->term_count; k++)
        x->words.weights[s->terms[k]] = SAID_SHARE(x->words.weights[s->terms[k]]);
}

static uar_status choose(extraction *x, uint64_t budget, size_t *taken) {
    size_t *heap = (size_t *)arena_zeroed(&x->ar, x->count + 1, sizeof *heap);
    if (heap == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < x->count; i++) {
        x->list[i].score = score(x, &x->list[i]);
        heap[i] = i;
    }
    for (size_t i = x->count / 2; i-- > 0;)
        sink(x, heap, x->count, i);
    for (size_t left = x->count; left > 0;) {
        sentence *s = &x->list[heap[0]];
        double now = score(x, s);
        if (now < s->score) {
            s->score = now;
            sink(x, heap, left, 0);
            continue;
        }
        uint64_t cost = s->cost + role_cost(x, s->passage);
        bool is_said = x->said.used[vocabulary_find(&x->said, term_hash(x->key, s->text))];
        if (cost <= budget && !is_said) {
            budget -= cost;
            take(x, s);
            ++*taken;
        }
        heap[0] = heap[--left];
        sink(x, heap, left, 0);
    }
    return UAR_OK;
}

static void write_chosen(buffer *out, const extraction *x) {
    size_t open = SIZE_MAX;
    for (size_t i = 0; i < x->count; i++) {
        const sentence *s = &x->list[i];
        if (!s->chosen) continue;
        uar_str role = x->passages[s->passage].role;
        if (s->passage == open) {
            buffer_append_char(out, ' ');
        } else {
            if (open != SIZE_MAX) buffer_append_char(out, '\n');
            if (role.ptr != NULL) {
                buffer_append_str(out, role);
                buffer_append_text(out, ": ");
            }
            open = s->passage;
        }
        buffer_append_str(out, s->text);
    }
}

/* Longest prefix within the budget, at a character. */
static size_t prefix_within(const extraction *x, uar_str text, uint64_t budget) {
    size_t low = 0;
    size_t high = text.len;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        size_t cut = utf8_cut(text, middle);
        if (cost_of(x, uar_str_n(text.ptr, cut)) <= budget)
            low = middle;
        else
            high = middle - 1;
    }
    return utf8_cut(text, low);
}

/* The best sentence, as far as it fits without its role, up to the end of a word if it has any. */
static void write_cut(buffer *out, const extraction *x, uint64_t budget) {
    uint64_t mark = cost_of(x, STR(ELLIPSIS));
    if (x->count == 0 || budget <= mark) return;
    size_t best = 0;
    for (size_t i = 1; i < x->count; i++)
        if (is_better(x, i, best)) best = i;
    uar_str text = x->list[best].text;
    size_t end = prefix_within(x, text, budget - mark);
    bool whole = end == text.len; /* only its role had no room */
    size_t word = whole ? 0 : end;
    while (word > 0 && text.ptr[word] != ' ')
        word--;
    if (word != 0) end = word;
    buffer_append(out, text.ptr, end);
    if (!whole && end != 0) buffer_append_text(out, ELLIPSIS);
}

/* NULL if none is that short. */
static const sentence *shortest_within(const extraction *x, uint64_t budget) {
    const sentence *found = NULL;
    for (size_t i = 0; i < x->count; i++) {
        const sentence *s = &x->list[i];
        if (s->cost <= budget && (found == NULL || s->cost < found->cost)) found = s;
    }
    return found;
}

static void write_one(buffer *out, const extraction *x, const extract_budget *budget) {
    const sentence *whole = budget->most > budget->wished ? shortest_within(x, budget->most) : NULL;
    if (whole != NULL)
        buffer_append_str(out, whole->text);
    else
        write_cut(out, x, budget->most);
}

static uar_status extract(buffer *out, extraction *x, const extract_budget *budget) {
    uar_status status = UAR_OK;
    for (size_t i = 0; i < x->passage_count && status == UAR_OK; i++)
        status = split(x, i);
    for (size_t i = 0; i < x->count && status == UAR_OK; i++)
        status = take_terms(x, &x->list[i]);
    if (status == UAR_OK) status = weigh(x);
    if (status == UAR_OK) status = vocabulary_make(&x->said, &x->ar, x->count);
    size_t taken = 0;
    if (status == UAR_OK) status = choose(x, budget->wished, &taken);
    if (status != UAR_OK) return status;
    if (taken != 0)
        write_chosen(out, x);
    else
        write_one(out, x, budget);
    return out->status;
}

uar_status extract_sentences(buffer *out, const extract_passage *passages, size_t count, extract_budget budget,
                             term_key key) {
    extraction x = { .passages = passages, .passage_count = count, .unit = budget.unit, .key = key };
    arena_init(&x.ar, out->alloc);
    x.opened = (bool *)arena_zeroed(&x.ar, count + 1, sizeof *x.opened);
    uar_status status = x.opened != NULL ? extract(out, &x, &budget) : UAR_E_NOMEM;
    arena_dispose(&x.ar);
    return status;
}
