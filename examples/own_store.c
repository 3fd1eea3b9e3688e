/*
 * A persistence layer of one's own, proven by the conformance kit. Records lie in an array here; a real layer puts them into
 * the database of the app, and a commit is that database's transaction. Start with `own_get`, `own_list`, `own_commit`.
 */
#include <uar/uar.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct store {
    uar_record **rows;
    size_t count;
} store;

/* What is lent is copied, its texts behind it. Absent (NULL) stays absent. */
static uar_str text_copy(char **at, uar_str text) {
    if (text.ptr == NULL) return text;
    char *ptr = *at;
    if (text.len > 0) memcpy(ptr, text.ptr, text.len);
    *at += text.len;
    return (uar_str){ ptr, text.len };
}

/* `count` records in one block, which `free` gives back. */
static uar_record *records_copy(uar_record *const *from, size_t count) {
    size_t size = count * sizeof(uar_record) + 1;
    for (size_t i = 0; i < count; i++)
        size += from[i]->owner.len + from[i]->id.len + from[i]->parent.len + from[i]->body.len + from[i]->blob.len;
    uar_record *to = malloc(size);
    if (to == NULL) return NULL;
    char *at = (char *)(to + count);
    for (size_t i = 0; i < count; i++) {
        to[i] = *from[i];
        to[i].owner = text_copy(&at, from[i]->owner);
        to[i].id = text_copy(&at, from[i]->id);
        to[i].parent = text_copy(&at, from[i]->parent);
        to[i].body = text_copy(&at, from[i]->body);
        to[i].blob = text_copy(&at, from[i]->blob);
    }
    return to;
}

static void store_clear(store *s) {
    for (size_t i = 0; i < s->count; i++)
        free(s->rows[i]);
    free(s->rows);
    *s = (store){ NULL, 0 };
}

/* A copy of the store with room for one more row. */
static bool store_copy(store *to, const store *from, size_t more) {
    *to = (store){ malloc((from->count + more + 1) * sizeof *to->rows), 0 };
    if (to->rows == NULL) return false;
    for (; to->count < from->count; to->count++) {
        to->rows[to->count] = records_copy(&from->rows[to->count], 1);
        if (to->rows[to->count] == NULL) {
            store_clear(to);
            return false;
        }
    }
    return true;
}

static int compare(uar_str a, uar_str b) {
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common > 0 ? memcmp(a.ptr, b.ptr, common) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static bool is_row(const uar_record *row, uint32_t kind, uar_str owner) {
    return row->kind == kind && compare(row->owner, owner) == 0;
}

/* Absent and empty are not the same parent. */
static bool is_child(const uar_record *row, uar_str parent) {
    return row->parent.ptr != NULL && compare(row->parent, parent) == 0;
}

static size_t find(const store *s, uint32_t kind, uar_str owner, uar_str id) {
    size_t i = 0;
    while (i < s->count && !(is_row(s->rows[i], kind, owner) && compare(s->rows[i]->id, id) == 0))
        i++;
    return i;
}

static void row_remove(store *s, size_t i) {
    free(s->rows[i]);
    s->rows[i] = s->rows[--s->count];
}

static uar_status row_put(store *s, size_t i, uar_record *record) {
    uar_record *copy = records_copy(&record, 1);
    if (copy == NULL) return UAR_E_NOMEM;
    if (i < s->count) row_remove(s, i);
    s->rows[s->count++] = copy;
    return UAR_OK;
}

static uar_status apply(store *s, const uar_write *write) {
    uar_record r = write->record;
    if (write->op == UAR_WRITE_DELETE_CHILDREN) {
        for (size_t i = s->count; i-- > 0;)
            if (is_row(s->rows[i], r.kind, r.owner) && is_child(s->rows[i], r.parent)) row_remove(s, i);
        return UAR_OK;
    }
    size_t i = find(s, r.kind, r.owner, r.id);
    if ((i < s->count ? s->rows[i]->revision : 0) != write->expected) return UAR_E_CONFLICT;
    if (write->op == UAR_WRITE_PUT) return row_put(s, i, &r);
    if (write->op == UAR_WRITE_DELETE && i < s->count) row_remove(s, i);
    return UAR_OK;
}

/* All or nothing: the writes go to a copy, which takes the store's place if each was good. */
static void own_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    store *s = ctx, next;
    if (!store_copy(&next, s, count)) {
        uar_completion_fail(done, UAR_E_NOMEM, NULL);
        return;
    }
    uar_status status = UAR_OK;
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        status = apply(&next, &writes[i]);
    if (status != UAR_OK) {
        store_clear(&next);
        uar_completion_fail(done, status, NULL);
        return;
    }
    store_clear(s);
    *s = next;
    uar_completion_ok(done);
}

/* Hand over copies: they stay ours until `free`, their release, says that nobody reads them any more. */
static void answer(uar_record *const *rows, size_t count, uar_completion *done) {
    uar_record *copies = records_copy(rows, count);
    if (copies == NULL)
        uar_completion_fail(done, UAR_E_NOMEM, NULL);
    else
        uar_completion_records(done, copies, count, free, copies);
}

static void own_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    const store *s = ctx;
    size_t i = find(s, kind, owner, id);
    if (i == s->count)
        uar_completion_fail(done, UAR_E_NOT_FOUND, NULL);
    else
        answer(&s->rows[i], 1, done);
}

static int by_id(const void *a, const void *b) {
    return compare((*(uar_record *const *)a)->id, (*(uar_record *const *)b)->id);
}

static int by_sort(const void *a, const void *b) {
    int64_t left = (*(uar_record *const *)a)->sort, right = (*(uar_record *const *)b)->sort;
    return left != right ? (left > right) - (left < right) : by_id(a, b);
}

/* A cursor is a place, whether or not such a record is there. An empty id is before every other. */
static bool is_behind(const uar_record *row, const uar_list_query *query) {
    if (!query->has_after) return true;
    if (query->order == UAR_ORDER_KEY) return compare(row->id, query->after_id) > 0;
    if (row->sort != query->after_sort) return row->sort > query->after_sort;
    return query->after_id.len > 0 && compare(row->id, query->after_id) > 0;
}

static bool is_listed(const uar_record *row, const uar_list_query *query) {
    return is_row(row, query->kind, query->owner) && (query->parent.ptr == NULL || is_child(row, query->parent)) &&
           (query->order == UAR_ORDER_KEY || row->has_sort) && is_behind(row, query);
}

static void own_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    const store *s = ctx;
    uar_record **rows = malloc((s->count + 1) * sizeof *rows);
    if (rows == NULL) {
        uar_completion_fail(done, UAR_E_NOMEM, NULL);
        return;
    }
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (is_listed(s->rows[i], query)) rows[count++] = s->rows[i];
    qsort(rows, count, sizeof *rows, query->order == UAR_ORDER_KEY ? by_id : by_sort);
    answer(rows, count < query->limit ? count : query->limit, done);
    free(rows);
}

static void own_destroy(void *ctx) {
    store_clear(ctx);
}

static void print_fault(void *ctx, uint32_t number, const char *demand, const char *fault) {
    (void)ctx;
    if (fault != NULL) printf("%u: %s: %s\n", (unsigned)number, demand, fault);
}

int main(void) {
    store s = { NULL, 0 };
    uar_persistence layer = { UAR_PERSISTENCE_INIT, .ctx = &s,        .destroy = own_destroy,
                              .get = own_get,       .list = own_list, .commit = own_commit };
    uar_persistence_report report;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_persistence_check(&report, &layer, print_fault, NULL, &err);
    printf("%u requirements kept, %u broken, %u skipped\n", (unsigned)report.passed, (unsigned)report.failed,
           (unsigned)report.skipped);
    if (status != UAR_OK) fprintf(stderr, "own_store: %s\n", err.message);
    return status == UAR_OK ? 0 : 1;
}
