/*
 * Hash map from bytes to a pointer. Keys are copied. Not thread-safe. Iteration is in insertion order, so what is built
 * from a map is deterministic.
 */
#ifndef UAR_LIB_BASE_MAP_H
#define UAR_LIB_BASE_MAP_H

#include "base/alloc.h"

typedef struct map_entry map_entry;
typedef struct map {
    const uar_allocator *alloc;
    map_entry **slots;
    size_t slot_count;
    size_t count;
    map_entry *first, *last;
} map;

void map_init(map *m, const uar_allocator *a);
void map_dispose(map *m); /* frees keys, not values; a zeroed map that was never set up is fine */
/* UAR_E_NOMEM leaves the map as it was. An existing key gets the new value. value must not be NULL. */
uar_status map_put(map *m, uar_str key, void *value);
void *map_get(const map *m, uar_str key); /* NULL: absent */
void *map_remove(map *m, uar_str key);    /* the value, or NULL */
/* Walk: pass NULL first. Returns NULL at the end. Removing the returned entry's key ends the walk. */
map_entry *map_next(const map *m, map_entry *at);
uar_str map_key(const map_entry *e);
void *map_value(const map_entry *e);

#endif
