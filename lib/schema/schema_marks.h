/*
 * Which items or properties of one value a rule has looked at, by their number: what `unevaluatedItems` and
 * `unevaluatedProperties` ask. Up to 64 need no memory. Internal to the schema files of this folder.
 */
#ifndef UAR_LIB_SCHEMA_MARKS_H
#define UAR_LIB_SCHEMA_MARKS_H

#include "base/alloc.h"

typedef struct marks {
    uint64_t few;
    uint64_t *many; /* NULL: all fit in `few` */
    size_t count;   /* items or properties */
} marks;

/* False: out of memory. */
bool marks_init(marks *m, const uar_allocator *a, size_t count);
void marks_dispose(marks *m, const uar_allocator *a);

/* All of these accept NULL for `m`: nobody asks. */
void marks_set(marks *m, size_t index);
void marks_set_all(marks *m);
/* `from` has the same count. */
void marks_merge(marks *m, const marks *from);

bool marks_has(const marks *m, size_t index);

#endif
