/* Owns: tables of items by row number. Invariant: the number of slots is a power of two, and one in four is free. */
#include "memory/num_table.h"

#include <assert.h>

#define SLOTS_LEAST 64

void num_table_init(num_table *t, const uar_allocator *a, size_t item) {
    assert(item >= sizeof(int64_t));
    *t = (num_table){ .alloc = a, .item = item };
}

void num_table_dispose(num_table *t) {
    if (t->slots != NULL) alloc_free(t->alloc, t->slots);
    t->slots = NULL;
    t->slot_count = t->count = 0;
}

void *num_table_slot(const num_table *t, size_t index) {
    assert(index < t->slot_count);
    return t->slots + index * t->item;
}

static int64_t number_of(const void *slot) {
    int64_t num = 0;
    memcpy(&num, slot, sizeof num);
    return num;
}

/* The slot of a number, or the free one where it belongs. */
static void *place_of(const num_table *t, int64_t num) {
    uint64_t h = (uint64_t)num * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(h >> 17) & (t->slot_count - 1);
    for (;; at = (at + 1) & (t->slot_count - 1)) {
        void *slot = num_table_slot(t, at);
        int64_t have = number_of(slot);
        if (have == 0 || have == num) return slot;
    }
}

void *num_table_find(const num_table *t, int64_t num) {
    if (t->slot_count == 0) return NULL;
    void *slot = place_of(t, num);
    return number_of(slot) != 0 ? slot : NULL;
}

static bool grow(num_table *t) {
    num_table more = *t;
    more.slot_count = t->slot_count != 0 ? t->slot_count * 2 : SLOTS_LEAST;
    more.slots = (char *)alloc_zeroed(t->alloc, more.slot_count, t->item);
    if (more.slots == NULL) return false;
    for (size_t i = 0; i < t->slot_count; i++) {
        const void *slot = num_table_slot(t, i);
        int64_t num = number_of(slot);
        if (num != 0) memcpy(place_of(&more, num), slot, t->item);
    }
    if (t->slots != NULL) alloc_free(t->alloc, t->slots);
    *t = more;
    return true;
}

void *num_table_take(num_table *t, int64_t num) {
    assert(num != 0);
    if ((t->count + 1) * 4 > t->slot_count * 3 && !grow(t)) return NULL;
    void *slot = place_of(t, num);
    if (number_of(slot) == 0) {
        memcpy(slot, &num, sizeof num);
        t->count++;
    }
    return slot;
}
