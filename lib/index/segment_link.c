/*
 * Owns: documents, groups and chains of a segment. Invariants: exactly the living current documents are linked; each chain
 * is sorted by key; `window` is the length of a document and its neighbours; sums are over linked documents.
 */
#include "index/segment_link.h"

#include <assert.h>
#include <math.h>

/* Room for `cap` items in an array; the array stays if there is none. */
static void *resized(const uar_allocator *a, void *array, size_t cap, size_t size) {
    return cap <= SIZE_MAX / size ? alloc_resize(a, array, cap * size) : NULL;
}

#define GROW(array, a, cap) \
    ((grown = resized((a), (array), (cap), sizeof *(array))) != NULL ? ((array) = grown, UAR_OK) : UAR_E_NOMEM)

uar_status segment_reserve(index_segment *s, size_t more) {
    if (s->cap - s->count >= more) return UAR_OK;
    size_t cap = s->cap + s->cap / 4 + more + 16;
    if (cap >= SEGMENT_NONE) return UAR_E_TOO_LARGE;
    void *grown = NULL;
    uar_status status = GROW(s->documents, s->alloc, cap);
    if (status == UAR_OK) status = GROW(s->before, s->alloc, cap);
    if (status == UAR_OK) status = GROW(s->after, s->alloc, cap);
    if (status == UAR_OK) status = GROW(s->group, s->alloc, cap);
    if (status == UAR_OK) status = GROW(s->length, s->alloc, cap);
    if (status == UAR_OK) status = GROW(s->log_length, s->alloc, cap);
    if (status == UAR_OK) status = GROW(s->window, s->alloc, cap);
    if (status == UAR_OK) status = GROW(s->flags, s->alloc, cap);
    if (status == UAR_OK) s->cap = cap;
    return status;
}

void segment_groups_dispose(segment_groups *g, const uar_allocator *a) {
    alloc_free(a, g->keys);
    alloc_free(a, g->lengths);
    alloc_free(a, g->documents);
    alloc_free(a, g->tails);
    alloc_free(a, g->slots);
    memset(g, 0, sizeof *g);
}

static uar_status groups_reserve(segment_groups *g, const uar_allocator *a) {
    if (g->count < g->cap) return UAR_OK;
    size_t cap = g->cap + g->cap / 2 + 64;
    void *grown = NULL;
    uar_status status = GROW(g->keys, a, cap);
    if (status == UAR_OK) status = GROW(g->lengths, a, cap);
    if (status == UAR_OK) status = GROW(g->documents, a, cap);
    if (status == UAR_OK) status = GROW(g->tails, a, cap);
    if (status == UAR_OK) g->cap = cap;
    return status;
}

static uint32_t *group_slot(const segment_groups *g, uint32_t *slots, size_t slot_count, uint64_t key) {
    size_t at = (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (slot_count - 1);
    while (slots[at] != 0 && g->keys[slots[at] - 1] != key)
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static uar_status groups_rehash(segment_groups *g, const uar_allocator *a) {
    if ((g->count + 1) * 2 <= g->slot_count) return UAR_OK;
    size_t slot_count = g->slot_count != 0 ? g->slot_count * 2 : 64;
    uint32_t *slots = (uint32_t *)alloc_zeroed(a, slot_count, sizeof *slots);
    if (slots == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < g->count; i++)
        if (g->keys[i] != 0) *group_slot(g, slots, slot_count, g->keys[i]) = (uint32_t)i + 1;
    alloc_free(a, g->slots);
    g->slots = slots;
    g->slot_count = slot_count;
    return UAR_OK;
}

static uar_status group_add(uint32_t *out, segment_groups *g, const uar_allocator *a, uint64_t key) {
    uar_status status = groups_reserve(g, a);
    if (status != UAR_OK) return status;
    g->keys[g->count] = key;
    g->lengths[g->count] = 0;
    g->documents[g->count] = 0;
    g->tails[g->count] = SEGMENT_NONE;
    *out = (uint32_t)g->count++;
    return UAR_OK;
}

static uar_status group_of(uint32_t *out, segment_groups *g, const uar_allocator *a, uint64_t key) {
    if (key == 0) return group_add(out, g, a, key);
    uar_status status = groups_rehash(g, a);
    if (status != UAR_OK) return status;
    uint32_t *slot = group_slot(g, g->slots, g->slot_count, key);
    if (*slot != 0) {
        *out = *slot - 1;
        return UAR_OK;
    }
    status = group_add(out, g, a, key);
    if (status == UAR_OK) *slot = *out + 1;
    return status;
}

static uint32_t step(const uint32_t *links, uint32_t at) {
    return at != SEGMENT_NONE ? links[at] : SEGMENT_NONE;
}

static uint32_t length_of(const index_segment *s, uint32_t at) {
    return at != SEGMENT_NONE ? s->length[at] : 0;
}

static void set_window(index_segment *s, uint32_t at) {
    if (at == SEGMENT_NONE) return;
    uint32_t before = s->before[at];
    uint32_t after = s->after[at];
    uint32_t near = s->length[at] + length_of(s, before) + length_of(s, after);
    uint32_t far = length_of(s, step(s->before, before)) + length_of(s, step(s->after, after));
    s->sums.window -= s->window[at];
    s->window[at] = near * SEGMENT_WINDOW_STEPS + far * SEGMENT_WINDOW_FAR;
    s->sums.window += s->window[at];
}

/* Documents up to two steps away on each side. */
static void set_windows(index_segment *s, uint32_t before, uint32_t after) {
    set_window(s, before);
    set_window(s, step(s->before, before));
    set_window(s, after);
    set_window(s, step(s->after, after));
}

/* Tie it in between two neighbours, of which either may be none. */
static void tie(index_segment *s, uint32_t at, uint32_t before, uint32_t after) {
    segment_groups *g = &s->groups;
    uint32_t group = s->group[at];
    s->before[at] = before;
    s->after[at] = after;
    if (before != SEGMENT_NONE) s->after[before] = at;
    if (after != SEGMENT_NONE)
        s->before[after] = at;
    else
        g->tails[group] = at;
    s->flags[at] |= SEGMENT_LINKED;
    g->lengths[group] += s->length[at];
    s->sums.groups += g->documents[group]++ == 0;
    s->sums.documents++;
    s->sums.length += s->length[at];
    set_window(s, at);
    set_windows(s, before, after);
}

static void untie(index_segment *s, uint32_t at) {
    segment_groups *g = &s->groups;
    uint32_t group = s->group[at];
    uint32_t before = s->before[at];
    uint32_t after = s->after[at];
    if (before != SEGMENT_NONE) s->after[before] = after;
    if (after != SEGMENT_NONE)
        s->before[after] = before;
    else
        g->tails[group] = before;
    s->flags[at] &= (uint8_t)~SEGMENT_LINKED;
    g->lengths[group] -= s->length[at];
    s->sums.groups -= --g->documents[group] == 0;
    s->sums.documents--;
    s->sums.length -= s->length[at];
    s->sums.window -= s->window[at];
    s->before[at] = s->after[at] = SEGMENT_NONE;
    set_windows(s, before, after);
}

static void tie_by_key(index_segment *s, uint32_t at) {
    uint32_t after = SEGMENT_NONE;
    uint32_t before = s->groups.tails[s->group[at]];
    while (before != SEGMENT_NONE && s->documents[before].key > s->documents[at].key) {
        after = before;
        before = s->before[before];
    }
    tie(s, at, before, after);
}

static void set_alone(index_segment *s, uint32_t at) {
    s->flags[at] = SEGMENT_ALIVE;
    s->before[at] = s->after[at] = SEGMENT_NONE;
    s->length[at] = s->documents[at].length;
    s->log_length[at] = logf((float)s->length[at]);
    s->window[at] = 0;
}

uar_status segment_link(index_segment *s, uint32_t at) {
    set_alone(s, at);
    uar_status status = group_of(&s->group[at], &s->groups, s->alloc, s->documents[at].group);
    if (status != UAR_OK) return status;
    if (s->documents[at].is_current)
        tie_by_key(s, at);
    else
        s->window[at] = s->length[at] * SEGMENT_WINDOW_STEPS;
    return UAR_OK;
}

uar_status segment_replace(index_segment *s, uint32_t at, uint32_t by) {
    bool was_linked = (s->flags[at] & SEGMENT_LINKED) != 0;
    uint32_t before = s->before[at];
    uint32_t after = s->after[at];
    if (was_linked) untie(s, at);
    s->flags[at] = 0;
    if (by == SEGMENT_NONE) return UAR_OK;
    const document *d = &s->documents[by];
    if (!was_linked || !d->is_current || d->group != s->documents[at].group) return segment_link(s, by);
    set_alone(s, by);
    s->group[by] = s->group[at];
    tie(s, by, before, after);
    return UAR_OK;
}

static uint32_t find_packed(const index_segment *s, int64_t key) {
    size_t from = 0;
    size_t to = s->packed;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (s->documents[middle].key < key)
            from = middle + 1;
        else
            to = middle;
    }
    bool found = from < s->packed && s->documents[from].key == key && (s->flags[from] & SEGMENT_ALIVE) != 0;
    return found ? (uint32_t)from : SEGMENT_NONE;
}

uint32_t segment_find(const index_segment *s, int64_t key) {
    for (size_t at = s->count; at-- > s->packed;)
        if (s->documents[at].key == key && (s->flags[at] & SEGMENT_ALIVE) != 0) return (uint32_t)at;
    return find_packed(s, key);
}
