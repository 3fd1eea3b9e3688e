/*
 * Hash map from bytes to a pointer, with chains and a list in insertion order.
 * Owns its entries and their copies of the keys. Invariants: slot_count is 0 or a power of two and at least count;
 * every entry is in the chain of its slot and once in the list.
 * The hash starts from the address of the slot array: whoever chooses keys can't know which of them collide.
 */
#include "base/map.h"

#include <assert.h>

enum { MAP_FIRST = 8 }; /* slots */

struct map_entry {
    map_entry *chain;
    map_entry *prev, *next;
    void *value;
    size_t key_len;
    char key[];
};

static uint64_t mix(uint64_t h) {
    h ^= h >> 33;
    h *= UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 33;
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

static size_t slot_of(map_entry *const *slots, size_t slot_count, uar_str key) {
    uint64_t h = mix((uint64_t)(uintptr_t)slots);
    for (size_t i = 0; i < key.len; i++)
        h = (h ^ (unsigned char)key.ptr[i]) * UINT64_C(0x100000001b3);
    return (size_t)mix(h) & (slot_count - 1);
}

/* The link that points at the entry of this key, or at the end of its chain; NULL if there are no slots. */
static map_entry **map_link(const map *m, uar_str key) {
    if (m->slot_count == 0) return NULL;
    map_entry **link = &m->slots[slot_of(m->slots, m->slot_count, key)];
    while (*link != NULL && !uar_str_equal(map_key(*link), key))
        link = &(*link)->chain;
    return link;
}

void map_init(map *m, const uar_allocator *a) {
    assert(m != NULL && a != NULL);
    *m = (map){ .alloc = a };
}

void map_dispose(map *m) {
    if (m->alloc == NULL) return;
    for (map_entry *e = m->first, *next; e != NULL; e = next) {
        next = e->next;
        alloc_free(m->alloc, e);
    }
    alloc_free(m->alloc, m->slots);
    map_init(m, m->alloc);
}

static bool map_grow(map *m) {
    if (m->count < m->slot_count) return true;
    if (m->slot_count > SIZE_MAX / 2) return false;
    size_t slot_count = m->slot_count != 0 ? m->slot_count * 2 : MAP_FIRST;
    map_entry **slots = alloc_zeroed(m->alloc, slot_count, sizeof *slots);
    if (slots == NULL) return false;
    for (map_entry *e = m->first; e != NULL; e = e->next) {
        size_t slot = slot_of(slots, slot_count, map_key(e));
        e->chain = slots[slot];
        slots[slot] = e;
    }
    alloc_free(m->alloc, m->slots);
    m->slots = slots;
    m->slot_count = slot_count;
    return true;
}

static map_entry *entry_new(const uar_allocator *a, uar_str key, void *value) {
    if (key.len > SIZE_MAX - sizeof(map_entry)) return NULL;
    map_entry *e = alloc_bytes(a, sizeof(map_entry) + key.len);
    if (e == NULL) return NULL;
    *e = (map_entry){ .value = value, .key_len = key.len };
    if (key.len != 0) memcpy(e->key, key.ptr, key.len);
    return e;
}

uar_status map_put(map *m, uar_str key, void *value) {
    assert(m != NULL && value != NULL);
    map_entry **link = map_link(m, key);
    if (link != NULL && *link != NULL) {
        (*link)->value = value;
        return UAR_OK;
    }
    map_entry *e = entry_new(m->alloc, key, value);
    if (e == NULL) return UAR_E_NOMEM;
    if (!map_grow(m)) {
        alloc_free(m->alloc, e);
        return UAR_E_NOMEM;
    }
    *map_link(m, key) = e;
    e->prev = m->last;
    if (m->last != NULL)
        m->last->next = e;
    else
        m->first = e;
    m->last = e;
    m->count++;
    return UAR_OK;
}

void *map_get(const map *m, uar_str key) {
    map_entry *const *link = map_link(m, key);
    return link != NULL && *link != NULL ? (*link)->value : NULL;
}

void *map_remove(map *m, uar_str key) {
    map_entry **link = map_link(m, key);
    if (link == NULL || *link == NULL) return NULL;
    map_entry *e = *link;
    *link = e->chain;
    if (e->prev != NULL)
        e->prev->next = e->next;
    else
        m->first = e->next;
    if (e->next != NULL)
        e->next->prev = e->prev;
    else
        m->last = e->prev;
    m->count--;
    void *value = e->value;
    alloc_free(m->alloc, e);
    return value;
}

map_entry *map_next(const map *m, map_entry *at) {
    return at == NULL ? m->first : at->next;
}

uar_str map_key(const map_entry *e) {
    return uar_str_n(e->key, e->key_len);
}

void *map_value(const map_entry *e) {
    return e->value;
}
