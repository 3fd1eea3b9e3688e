/* What the bundled layers share: the layer that stands in when there is no memory for one, and the order of a list. */
#ifndef UAR_LIB_STORE_LAYER_H
#define UAR_LIB_STORE_LAYER_H

#include <uar/persistence.h>

#include "base/alloc.h"

/* Constant; its `open` and all its calls answer UAR_E_NOMEM. */
extern const uar_persistence layer_nomem;

/* Where a list starts: behind (sort, id), with an empty id before every record of `sort`. */
typedef struct layer_start {
    int64_t sort;
    uar_str id;
} layer_start;

/* False: nothing can be behind what the query asks for. */
bool layer_list_start(layer_start *out, const uar_list_query *query);

/* NULL, or what makes a write or a query unusable, as one line. */
const char *layer_write_fault(const uar_write *write);
const char *layer_query_fault(const uar_list_query *query);

/* The bundled layers with an allocator of one's own; NULL when there is no memory. */
const uar_persistence *volatile_new(const uar_allocator *alloc);
const uar_persistence *sqlite_new(const uar_allocator *alloc, const char *path, const uar_sqlite_options *options);

#endif
