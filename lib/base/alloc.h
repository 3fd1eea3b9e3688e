/*
 * Memory through the allocator door. Every heap byte of the library passes here.
 * All functions accept any thread; sizes are bytes; a failed call returns NULL and changes nothing.
 */
#ifndef UAR_LIB_BASE_ALLOC_H
#define UAR_LIB_BASE_ALLOC_H

#include <uar/sys/platform.h>

/* The default allocator: malloc, realloc, free. Constant. */
extern const uar_allocator alloc_default;

void *alloc_bytes(const uar_allocator *a, size_t size);
/* Zeroed; refuses count * size overflow. */
void *alloc_zeroed(const uar_allocator *a, size_t count, size_t size);
void *alloc_resize(const uar_allocator *a, void *ptr, size_t size);
/* Accepts NULL and pointers to const. */
void alloc_free(const uar_allocator *a, const void *ptr);
/* NUL-terminated copy of len bytes; an absent text gives an empty string. */
char *alloc_text(const uar_allocator *a, uar_str text);

#define ALLOC_NEW(a, type) ((type *)alloc_zeroed((a), 1, sizeof(type)))

/* One atomic count of live objects for uar_live_objects: +1 in each constructor, -1 in each destructor. */
void live_add(int delta);

#endif
