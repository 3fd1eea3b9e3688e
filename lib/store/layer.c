/* What the bundled layers share. Owns nothing; layer_nomem is constant. */
#include "store/layer.h"

#include "base/error.h"
#include "store/record.h"

static uar_status nomem_open(void *ctx, uar_error *err) {
    (void)ctx;
    return error_set(err, UAR_E_NOMEM, "there was no memory for the persistence layer");
}

static void nomem_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    (void)ctx, (void)kind, (void)owner, (void)id;
    uar_completion_fail(done, UAR_E_NOMEM, NULL);
}

static void nomem_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    (void)ctx, (void)query;
    uar_completion_fail(done, UAR_E_NOMEM, NULL);
}

static void nomem_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    (void)ctx, (void)writes, (void)count;
    uar_completion_fail(done, UAR_E_NOMEM, NULL);
}

static void nomem_destroy(void *ctx) {
    (void)ctx;
}

const uar_persistence layer_nomem = {
    .struct_size = UAR_PERSISTENCE_INIT,
    .destroy = nomem_destroy,
    .open = nomem_open,
    .get = nomem_get,
    .list = nomem_list,
    .commit = nomem_commit,
};

void uar_persistence_free(const uar_persistence *layer) {
    if (layer != NULL && layer->destroy != NULL) layer->destroy(layer->ctx);
}

bool layer_list_start(layer_start *out, const uar_list_query *query) {
    layer_start start = { INT64_MIN, uar_str_n("", 0) };
    if (query->has_after) {
        start.sort = query->after_sort;
        if (query->after_id.len != 0) {
            start.id = query->after_id;
        } else if (query->order == UAR_ORDER_SORT) {
            /* Behind all of after_sort is before all of the next one. */
            if (start.sort == INT64_MAX) return false;
            start.sort++;
        }
    }
    *out = start;
    return true;
}

static bool is_id(uar_str id) {
    return id.ptr != NULL && id.len > 0;
}

const char *layer_write_fault(const uar_write *write) {
    if (!is_id(write->record.owner)) return "a write names no owner";
    switch (write->op) {
    case UAR_WRITE_CHECK:
    case UAR_WRITE_PUT:
    case UAR_WRITE_DELETE: return is_id(write->record.id) ? NULL : "a write names no record";
    case UAR_WRITE_DELETE_CHILDREN:
        return write->record.parent.ptr != NULL ? NULL : "a delete of children names no parent";
    default: return "a write does something that this layer doesn't know";
    }
}

const char *layer_query_fault(const uar_list_query *query) {
    if (!is_id(query->owner)) return "a list names no owner";
    if (query->limit == 0) return "a list has the limit 0";
    if (query->order != UAR_ORDER_KEY && query->order != UAR_ORDER_SORT) return "a list has an unknown order";
    return NULL;
}
