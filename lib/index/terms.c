/* Owns: term numbers and the terms of one text. Invariant: a finished list is sorted by id without repeats. */
#include "index/terms.h"

#include <assert.h>

static uint64_t rotate(uint64_t x, unsigned bits) {
    return (x << bits) | (x >> (64 - bits));
}

typedef struct sip {
    uint64_t a, b, c, d;
} sip;

static void sip_round(sip *s) {
    s->a += s->b, s->b = rotate(s->b, 13) ^ s->a, s->a = rotate(s->a, 32);
    s->c += s->d, s->d = rotate(s->d, 16) ^ s->c;
    s->a += s->d, s->d = rotate(s->d, 21) ^ s->a;
    s->c += s->b, s->b = rotate(s->b, 17) ^ s->c, s->c = rotate(s->c, 32);
}

static void sip_word(sip *s, uint64_t word) {
    s->d ^= word;
    sip_round(s);
    sip_round(s);
    s->a ^= word;
}

static uint64_t little(const char *bytes, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)(uint8_t)bytes[i] << (8 * i);
    return word;
}

uint64_t term_hash(term_key key, uar_str bytes) {
    sip s = { key.k0 ^ 0x736f6d6570736575u, key.k1 ^ 0x646f72616e646f6du, key.k0 ^ 0x6c7967656e657261u,
              key.k1 ^ 0x7465646279746573u };
    size_t at = 0;
    for (; bytes.len - at >= 8; at += 8)
        sip_word(&s, little(bytes.ptr + at, 8));
    uint64_t tail = bytes.len > at ? little(bytes.ptr + at, bytes.len - at) : 0;
    sip_word(&s, tail | (uint64_t)(bytes.len & 0xFF) << 56);
    s.c ^= 0xFF;
    for (int i = 0; i < 4; i++)
        sip_round(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

void term_list_init(term_list *list, const uar_allocator *a) {
    *list = (term_list){ a, NULL, 0, 0, 0 };
}

void term_list_dispose(term_list *list) {
    alloc_free(list->alloc, list->terms);
    term_list_init(list, list->alloc);
}

typedef struct collector {
    term_list *list;
    term_key key;
    bool words;    /* take the words */
    bool openings; /* take openings: of a passage the first, of a question all that could be */
    bool stops;    /* take stop words */
    bool dropped;  /* there were stop words */
} collector;

/* Tokens have no control characters, so that a cue is never the number of a word. */
#define CUE_OPENING '\001'
#define CUE_ASKING "\002"

static uint64_t hash_opening(term_key key, uar_str word) {
    char text[1 + ANALYSIS_TOKEN_POINTS * 4];
    assert(word.len < sizeof text);
    text[0] = CUE_OPENING;
    memcpy(text + 1, word.ptr, word.len);
    return term_hash(key, uar_str_n(text, word.len + 1));
}

uint64_t term_asking(term_key key) {
    return term_hash(key, uar_str_of(CUE_ASKING));
}

static uar_status grow(term_list *list) {
    if (list->count < list->cap) return UAR_OK;
    size_t cap = list->cap != 0 ? list->cap * 2 : 32;
    term *terms = (term *)alloc_resize(list->alloc, list->terms, cap * sizeof(term));
    if (terms == NULL) return UAR_E_NOMEM;
    list->terms = terms;
    list->cap = cap;
    return UAR_OK;
}

static uar_status append(term_list *list, uint64_t id) {
    uar_status status = grow(list);
    if (status == UAR_OK) list->terms[list->count++] = (term){ id, 1 };
    return status;
}

static uar_status collect_opening(collector *c, const token *t) {
    if (!c->openings || t->is_stop || t->is_extra) return UAR_OK;
    c->openings = !c->words;
    return append(c->list, hash_opening(c->key, t->text));
}

static uar_status collect(void *ctx, const token *t) {
    collector *c = (collector *)ctx;
    uar_status status = collect_opening(c, t);
    if (status != UAR_OK || !c->words) return status;
    if (t->is_stop && !c->stops) {
        c->dropped = true;
        return UAR_OK;
    }
    if (!t->is_extra && c->list->length < UINT32_MAX) c->list->length++;
    return append(c->list, term_hash(c->key, t->text));
}

static void sift(term *terms, size_t root, size_t count) {
    for (;;) {
        size_t child = root * 2 + 1;
        if (child >= count) return;
        if (child + 1 < count && terms[child + 1].id > terms[child].id) child++;
        if (terms[root].id >= terms[child].id) return;
        term t = terms[root];
        terms[root] = terms[child];
        terms[child] = t;
        root = child;
    }
}

/* A heap sort, since the C library's may allocate. */
static void sort_terms(term *terms, size_t count) {
    for (size_t i = count / 2; i-- > 0;)
        sift(terms, i, count);
    for (size_t end = count; end-- > 1;) {
        term t = terms[0];
        terms[0] = terms[end];
        terms[end] = t;
        sift(terms, 0, end);
    }
}

static void merge_repeats(term_list *list) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (kept != 0 && list->terms[kept - 1].id == list->terms[i].id)
            list->terms[kept - 1].count++;
        else
            list->terms[kept++] = list->terms[i];
    }
    list->count = kept;
}

static uar_status gather(term_list *list, collector *c, uar_str text, analysis_side side) {
    list->count = 0;
    list->length = 0;
    return analysis_run(list->alloc, text, side, collect, c);
}

static void finish(term_list *list) {
    sort_terms(list->terms, list->count);
    merge_repeats(list);
}

/* What may stand right behind a sentence. */
static bool closes(uar_str text, size_t at) {
    if (at >= text.len) return true;
    char c = text.ptr[at];
    return c <= ' ' || c == '"' || c == '\'' || c == ')' || c == ']' || c == '*' || c == '?' || c == '!' ||
           ((uint8_t)c & 0x80) != 0;
}

/* A mark that ends a sentence, with its bytes. */
static const struct {
    char bytes[4];
    bool asks;
} sentence_marks[] = {
    { "?", true },
    { ".", false },
    { "!", false },
    { "\xEF\xBC\x9F", true },  /* full-width ? */
    { "\xD8\x9F", true },      /* Arabic ? */
    { "\xE3\x80\x82", false }, /* ideographic full stop */
    { "\xEF\xBC\x81", false }, /* full-width ! */
    { "\xE2\x80\xA6", false }, /* ellipsis */
};

/* True if the last sentence of the text is a question. */
static bool ends_asking(uar_str text) {
    for (size_t at = text.len; at-- > 0;) {
        uint8_t first = (uint8_t)text.ptr[at];
        if (first < 0xC0 && first != '?' && first != '.' && first != '!') continue; /* most bytes begin no mark */
        for (size_t i = 0; i < sizeof sentence_marks / sizeof sentence_marks[0]; i++) {
            uar_str mark = uar_str_of(sentence_marks[i].bytes);
            if (mark.len > text.len - at || memcmp(text.ptr + at, mark.ptr, mark.len) != 0) continue;
            if (mark.len == 1 && !closes(text, at + 1)) continue;
            return sentence_marks[i].asks;
        }
    }
    return false;
}

uar_status term_list_passage(term_list *list, term_key key, uar_str text) {
    collector c = { list, key, .words = true, .openings = true, .stops = true };
    uar_status status = gather(list, &c, text, ANALYSIS_PASSAGE);
    if (status == UAR_OK && ends_asking(text)) status = append(list, term_asking(key));
    if (status == UAR_OK) finish(list);
    return status;
}

static uar_status cut_query(term_list *list, uar_status status) {
    if (status != UAR_OK) return status;
    finish(list);
    if (list->count > TERMS_OF_QUERY_MAX) list->count = TERMS_OF_QUERY_MAX;
    return UAR_OK;
}

uar_status term_list_query(term_list *list, term_key key, uar_str text) {
    collector c = { list, key, .words = true };
    uar_status status = gather(list, &c, text, ANALYSIS_QUERY);
    if (status == UAR_OK && list->count == 0 && c.dropped) {
        c.stops = true;
        status = gather(list, &c, text, ANALYSIS_QUERY);
    }
    return cut_query(list, status);
}

uar_status term_list_openings(term_list *list, term_key key, uar_str question) {
    collector c = { list, key, .openings = true };
    return cut_query(list, gather(list, &c, question, ANALYSIS_QUERY));
}

void term_list_pack(const term_list *list, uint8_t *out) {
    for (size_t i = 0; i < list->count; i++, out += TERM_PACKED) {
        for (int b = 0; b < 8; b++)
            out[b] = (uint8_t)(list->terms[i].id >> (56 - 8 * b));
        for (int b = 0; b < 4; b++)
            out[8 + b] = (uint8_t)(list->terms[i].count >> (24 - 8 * b));
    }
}

term term_unpack(const uint8_t *packed) {
    assert(packed != NULL);
    term t = { 0, 0 };
    for (int b = 0; b < 8; b++)
        t.id = t.id << 8 | packed[b];
    for (int b = 0; b < 4; b++)
        t.count = t.count << 8 | packed[8 + b];
    return t;
}
