/*
 * Owns: the two passes of an exact search.
 * Invariants: `floor` is a cosine that at least k rows reach for certain, so a row whose highest possible cosine lies below
 * it is never among the k nearest; `lows` is a heap of the k highest certain cosines, the lowest on top.
 */
#include "index/vector_top.h"

#include <assert.h>
#include <math.h>

typedef struct candidate {
    float high; /* its cosine is at most this, but for the margin */
    uint32_t block, row;
} candidate;

typedef struct search {
    const vector_query *q;
    const uar_allocator *alloc;
    size_t k;
    float *lows;
    size_t low_count;
    float floor; /* -INFINITY while fewer than k rows were seen */
    candidate *list;
    size_t count, cap;
} search;

/* Rows scored at a time; what is kept of them fits into the stack and the nearest cache. */
#define TILE 1024
/* Rows tested at a time for anything worth keeping. */
#define LANES 16

static void sift_low(float *lows, size_t count, size_t at) {
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= count) return;
        if (child + 1 < count && lows[child + 1] < lows[child]) child++;
        if (lows[at] <= lows[child]) return;
        float low = lows[at];
        lows[at] = lows[child];
        lows[child] = low;
        at = child;
    }
}

static void raise_low(float *lows, size_t at) {
    while (at != 0 && lows[at] < lows[(at - 1) / 2]) {
        float low = lows[at];
        lows[at] = lows[(at - 1) / 2];
        lows[(at - 1) / 2] = low;
        at = (at - 1) / 2;
    }
}

static void note_low(search *s, float low) {
    if (s->low_count < s->k) {
        s->lows[s->low_count] = low;
        raise_low(s->lows, s->low_count++);
    } else if (low > s->lows[0]) {
        s->lows[0] = low;
        sift_low(s->lows, s->k, 0);
    } else {
        return;
    }
    /* Both ends of the comparison may be off by the margin. */
    if (s->low_count == s->k) s->floor = s->lows[0] - 2 * s->q->margin;
}

static void drop_hopeless(search *s) {
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].high >= s->floor) s->list[kept++] = s->list[i];
    s->count = kept;
}

static uar_status make_room(search *s) {
    if (s->count < s->cap) return UAR_OK;
    drop_hopeless(s);
    if (s->count < s->cap / 2) return UAR_OK;
    candidate *list = (candidate *)alloc_resize(s->alloc, s->list, s->cap * 2 * sizeof *list);
    if (list == NULL) return UAR_E_NOMEM;
    s->list = list;
    s->cap *= 2;
    return UAR_OK;
}

static uar_status keep(search *s, float high, float scale, uint32_t block, uint32_t row) {
    uar_status status = make_room(s);
    if (status != UAR_OK) return status;
    s->list[s->count++] = (candidate){ high, block, row };
    note_low(s, high - 2 * scale * s->q->slack);
    return UAR_OK;
}

/* Rows of one block with their integer products. */
typedef struct tile {
    int32_t dots[TILE];
    float scales[TILE], highs[TILE];
    uint32_t rows[TILE];
    size_t count; /* what lies behind it, up to a whole number of lanes, has no chance */
} tile;

static unsigned count_hopeful(const float *highs, float floor) {
    unsigned hopeful = 0;
    for (size_t i = 0; i < LANES; i++)
        hopeful += highs[i] >= floor;
    return hopeful;
}

static void bound(tile *t, const vector_query *q) {
    size_t padded = (t->count + LANES - 1) / LANES * LANES;
    for (size_t i = t->count; i < padded; i++) {
        t->dots[i] = 0;
        t->scales[i] = 0;
    }
    float shift = q->shift - q->slack;
    for (size_t at = 0; at < padded; at += LANES)
        for (size_t i = at; i < at + LANES; i++)
            t->highs[i] = t->scales[i] * ((float)t->dots[i] * q->step - shift);
    for (size_t i = t->count; i < padded; i++)
        t->highs[i] = -INFINITY;
}

static uar_status sift_tile(search *s, tile *t, uint32_t block) {
    bound(t, s->q);
    for (size_t at = 0; at < t->count; at += LANES) {
        if (count_hopeful(t->highs + at, s->floor) == 0) continue;
        size_t end = at + LANES < t->count ? at + LANES : t->count;
        for (size_t i = at; i < end; i++) {
            if (t->highs[i] < s->floor) continue;
            uar_status status = keep(s, t->highs[i], t->scales[i], block, t->rows[i]);
            if (status != UAR_OK) return status;
        }
    }
    return UAR_OK;
}

static uar_status scan_all(search *s, const vector_block *b, uint32_t block) {
    const vector_operand *operand = &s->q->operand;
    tile t;
    for (size_t at = 0; at < b->count; at += TILE) {
        t.count = b->count - at < TILE ? b->count - at : TILE;
        s->q->kernel->dots(t.dots, operand, b->rows + at * operand->stride, NULL, t.count);
        memcpy(t.scales, b->scales + at, t.count * sizeof *t.scales);
        for (size_t i = 0; i < t.count; i++)
            t.rows[i] = (uint32_t)(at + i);
        uar_status status = sift_tile(s, &t, block);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

static uar_status scan_picked(search *s, const vector_block *b, uint32_t block, tile *t) {
    s->q->kernel->dots(t->dots, &s->q->operand, b->rows, t->rows, t->count);
    for (size_t i = 0; i < t->count; i++)
        t->scales[i] = b->scales[t->rows[i]];
    uar_status status = sift_tile(s, t, block);
    t->count = 0;
    return status;
}

/* Only rows whose bits leave them a chance, as far as is known by now. */
static uar_status scan_likely(search *s, const vector_block *b, uint32_t block) {
    float highs[TILE];
    tile t;
    for (size_t at = 0; at < b->count; at += TILE) {
        size_t some = b->count - at < TILE ? b->count - at : TILE;
        vector_bits_scan(highs, s->q, b->sheet, b->count, at, some);
        t.count = 0;
        for (size_t i = some; i % LANES != 0; i++)
            highs[i] = -INFINITY;
        for (size_t from = 0; from < some; from += LANES) {
            if (count_hopeful(highs + from, s->floor) == 0) continue;
            size_t end = from + LANES < some ? from + LANES : some;
            for (size_t i = from; i < end; i++) {
                t.rows[t.count] = (uint32_t)(at + i);
                t.count += highs[i] >= s->floor;
            }
        }
        uar_status status = t.count != 0 ? scan_picked(s, b, block, &t) : UAR_OK;
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

static uint64_t mask_word(const vector_block *b, size_t at) {
    uint64_t word = b->mask[at / 64];
    return b->count - at < 64 ? word & ((UINT64_C(1) << (b->count - at)) - 1) : word;
}

static unsigned lowest_bit(uint64_t word) {
    unsigned number = 0;
    for (unsigned half = 32; half != 0; half /= 2) {
        if ((word & ((UINT64_C(1) << half) - 1)) != 0) continue;
        word >>= half;
        number += half;
    }
    return number;
}

static uar_status scan_masked(search *s, const vector_block *b, uint32_t block) {
    tile t;
    t.count = 0;
    for (size_t at = 0; at < b->count; at += 64) {
        for (uint64_t word = mask_word(b, at); word != 0; word &= word - 1)
            t.rows[t.count++] = (uint32_t)(at + lowest_bit(word));
        uar_status status = t.count > TILE - 64 ? scan_picked(s, b, block, &t) : UAR_OK;
        if (status != UAR_OK) return status;
    }
    return t.count != 0 ? scan_picked(s, b, block, &t) : UAR_OK;
}

static uar_status scan_block(search *s, const vector_block *b, uint32_t block) {
    if (b->mask != NULL) return scan_masked(s, b, block);
    return b->sheet != NULL ? scan_likely(s, b, block) : scan_all(s, b, block);
}

static uar_status scan_blocks(search *s, const vector_block *blocks, size_t block_count) {
    for (size_t i = 0; i < block_count; i++) {
        uar_status status = scan_block(s, &blocks[i], (uint32_t)i);
        if (status != UAR_OK) return status;
    }
    drop_hopeless(s);
    return UAR_OK;
}

/* The list is a heap from here on: the likeliest on top. */
static void sift_candidate(candidate *list, size_t count, size_t at) {
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= count) return;
        if (child + 1 < count && list[child + 1].high > list[child].high) child++;
        if (list[at].high >= list[child].high) return;
        candidate c = list[at];
        list[at] = list[child];
        list[child] = c;
        at = child;
    }
}

static candidate take_likeliest(search *s) {
    candidate likeliest = s->list[0];
    s->list[0] = s->list[--s->count];
    sift_candidate(s->list, s->count, 0);
    return likeliest;
}

static bool is_before(const vector_hit *a, const vector_hit *b) {
    if (a->cosine > b->cosine || a->cosine < b->cosine) return a->cosine > b->cosine;
    return a->key > b->key;
}

static void insert_hit(vector_hit *hits, size_t *count, size_t k, vector_hit hit) {
    if (*count == k && !is_before(&hit, &hits[k - 1])) return;
    size_t at = *count < k ? (*count)++ : k - 1;
    for (; at != 0 && is_before(&hit, &hits[at - 1]); at--)
        hits[at] = hits[at - 1];
    hits[at] = hit;
}

static uar_status rescore(search *s, vector_hit *hits, size_t *count, float *vector, const vector_block *blocks,
                          vector_source source) {
    const vector_query *q = s->q;
    for (size_t i = s->count / 2; i-- > 0;)
        sift_candidate(s->list, s->count, i);
    while (s->count != 0) {
        candidate c = take_likeliest(s);
        if (*count == s->k && c.high + q->margin < hits[s->k - 1].cosine) return UAR_OK;
        uar_status status = source.fetch(source.ctx, vector, c.block, c.row);
        if (status != UAR_OK) return status;
        vector_hit hit = { blocks[c.block].keys[c.row], vector_dot(q->v, vector, q->dims), c.block, c.row };
        insert_hit(hits, count, s->k, hit);
    }
    return UAR_OK;
}

static size_t rows_of(const vector_block *blocks, size_t block_count) {
    size_t rows = 0;
    for (size_t i = 0; i < block_count; i++)
        rows += blocks[i].count;
    return rows;
}

uar_status vector_top(vector_hit *hits, size_t *count, size_t k, const vector_query *q, const vector_block *blocks,
                      size_t block_count, vector_source source) {
    assert(block_count <= UINT32_MAX && source.fetch != NULL);
    size_t rows = rows_of(blocks, block_count);
    if (k > rows) k = rows;
    if (k == 0) {
        *count = 0;
        return UAR_OK;
    }
    const uar_allocator *a = q->alloc;
    search s = { .q = q, .alloc = a, .k = k, .floor = -INFINITY, .cap = k + 1024 };
    vector_hit *found = (vector_hit *)alloc_zeroed(a, k, sizeof *found);
    float *vector = (float *)alloc_zeroed(a, q->dims, sizeof *vector);
    s.lows = (float *)alloc_zeroed(a, k, sizeof *s.lows);
    s.list = (candidate *)alloc_zeroed(a, s.cap, sizeof *s.list);
    size_t found_count = 0;
    uar_status status = found != NULL && vector != NULL && s.lows != NULL && s.list != NULL ? UAR_OK : UAR_E_NOMEM;
    if (status == UAR_OK) status = scan_blocks(&s, blocks, block_count);
    if (status == UAR_OK) status = rescore(&s, found, &found_count, vector, blocks, source);
    if (status == UAR_OK) {
        memcpy(hits, found, found_count * sizeof *found);
        *count = found_count;
    }
    alloc_free(a, s.list);
    alloc_free(a, s.lows);
    alloc_free(a, vector);
    alloc_free(a, found);
    return status;
}
