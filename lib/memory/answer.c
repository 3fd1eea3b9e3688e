/* Owns: the memory of answers. Invariant: an answer keeps a copy of the allocator's functions, so that it may outlive the
 * memory object. */
#include "memory/answer.h"

#include <stdio.h>

uar_status cursor_read(int64_t *out, uar_str cursor, int64_t start, uar_error *err) {
    if (cursor.ptr == NULL) {
        *out = start;
        return UAR_OK;
    }
    int64_t value = 0;
    bool ok = cursor.len > 0 && cursor.len <= 18;
    for (size_t i = 0; ok && i < cursor.len; i++) {
        ok = cursor.ptr[i] >= '0' && cursor.ptr[i] <= '9';
        value = value * 10 + (cursor.ptr[i] - '0');
    }
    if (!ok) return error_set(err, UAR_E_INVALID, "the cursor is not one of this list");
    *out = value;
    return UAR_OK;
}

uar_status cursor_write(uar_str *out, arena *ar, int64_t num, uar_error *err) {
    char text[24];
    int len = snprintf(text, sizeof text, "%lld", (long long)num);
    *out = arena_str(ar, uar_str_n(text, (size_t)len));
    return out->ptr != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
}

record_list *record_list_new(const uar_allocator *a) {
    record_list *list = ALLOC_NEW(a, record_list);
    if (list == NULL) return NULL;
    list->alloc = *a;
    arena_init(&list->ar, &list->alloc);
    return list;
}

uar_status record_list_add(record_list *list, const uar_memory_record *r) {
    if (list->head.count == list->cap) {
        size_t cap = list->cap != 0 ? list->cap * 2 : 8;
        uar_memory_record *items = (uar_memory_record *)alloc_resize(&list->alloc, list->items, cap * sizeof *items);
        if (items == NULL) return UAR_E_NOMEM;
        list->items = items;
        list->cap = cap;
        list->head.records = items;
    }
    list->items[list->head.count++] = *r;
    return UAR_OK;
}

void uar_memory_records_free(uar_memory_records *records) {
    if (records == NULL) return;
    record_list *list = (record_list *)(void *)records;
    uar_allocator alloc = list->alloc;
    alloc_free(&alloc, list->items);
    arena_dispose(&list->ar);
    alloc_free(&alloc, list);
}

hit_list *hit_list_new(const uar_allocator *a, uar_str text, size_t limit) {
    hit_list *list = ALLOC_NEW(a, hit_list);
    if (list == NULL) return NULL;
    list->alloc = *a;
    arena_init(&list->ar, &list->alloc);
    list->items = (uar_memory_hit *)alloc_zeroed(&list->alloc, limit, sizeof *list->items);
    list->cap = limit;
    list->head.query = arena_str(&list->ar, text);
    list->head.mode = "lexical";
    list->head.hits = list->items;
    if (list->items != NULL && list->head.query.ptr != NULL) return list;
    uar_memory_hits_free(&list->head);
    return NULL;
}

void uar_memory_hits_free(uar_memory_hits *hits) {
    if (hits == NULL) return;
    hit_list *list = (hit_list *)(void *)hits;
    uar_allocator alloc = list->alloc;
    alloc_free(&alloc, list->items);
    arena_dispose(&list->ar);
    alloc_free(&alloc, list);
}
