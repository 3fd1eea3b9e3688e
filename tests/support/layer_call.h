/*
 * Calls of a persistence layer that finishes inside the call, as the bundled ones do. What is read lives in the arena that
 * the caller gives.
 */
#ifndef UAR_TESTS_SUPPORT_LAYER_CALL_H
#define UAR_TESTS_SUPPORT_LAYER_CALL_H

#include <uar/persistence.h>

#include "base/arena.h"

typedef struct layer_page {
    const uar_record *records;
    size_t count;
} layer_page;

/* UAR_E_TIMEOUT if the layer didn't finish inside the call. `err` may be NULL. */
uar_status layer_get(uar_record *out, const uar_persistence *layer, arena *ar, uint32_t kind, uar_str owner, uar_str id,
                     uar_error *err);
uar_status layer_list(layer_page *out, const uar_persistence *layer, arena *ar, const uar_list_query *query,
                      uar_error *err);
uar_status layer_commit(const uar_persistence *layer, const uar_write *writes, size_t count, uar_error *err);

#endif
