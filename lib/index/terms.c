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
    bool stops;   /* take stop words */
    bool dropped; /* there were stop words */
} collector;

static uar_status grow(term_list *list) {
    if (list->count < list->cap) return UAR_OK;
    size_t cap = list->cap != 0 ? list->cap * 2 : 32;
    term *terms = (term *)alloc_resize(list->alloc, list->terms, cap * sizeof(term));
    if (terms == NULL) return UAR_E_NOMEM;
    list->terms = terms;
    list->cap = cap;
    return UAR_OK;
}

static uar_status collect(void *ctx, const token *t) {
    collector *c = (collector *)ctx;
    if (t->is_stop && !c->stops) {
        c->dropped = true;
        return UAR_OK;
    }
    uar_status status = grow(c->list);
    if (status != UAR_OK) return status;
    c->list->terms[c->list->count++] = (term){ term_hash(c->key, t->text), 1 };
    if (!t->is_extra && c->list->length < UINT32_MAX) c->list->length++;
    return UAR_OK;
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
    uar_status status = analysis_run(list->alloc, text, side, collect, c);
    if (status != UAR_OK) return status;
    sort_terms(list->terms, list->count);
    merge_repeats(list);
    return UAR_OK;
}

uar_status term_list_passage(term_list *list, term_key key, uar_str text) {
    collector c = { list, key, true, false };
    return gather(list, &c, text, ANALYSIS_PASSAGE);
}

uar_status term_list_query(term_list *list, term_key key, uar_str text) {
    collector c = { list, key, false, false };
    uar_status status = gather(list, &c, text, ANALYSIS_QUERY);
    if (status == UAR_OK && list->count == 0 && c.dropped) {
        c.stops = true;
        status = gather(list, &c, text, ANALYSIS_QUERY);
    }
    if (status == UAR_OK && list->count > TERMS_OF_QUERY_MAX) list->count = TERMS_OF_QUERY_MAX;
    return status;
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
