/* Owns: the memory of answers about streams. Invariant: an answer keeps a copy of the allocator's functions, so that it may
 * outlive the memory object. */
#include "memory/stream_answer.h"

#include "base/alloc.h"

/* Room for one more item; NULL: out of memory, and the old items stay. */
static void *grow(const uar_allocator *a, void *items, size_t count, size_t *cap, size_t size) {
    if (count < *cap) return items;
    size_t more = *cap != 0 ? *cap * 2 : 8;
    void *grown = alloc_resize(a, items, more * size);
    if (grown != NULL) *cap = more;
    return grown;
}

stream_list *stream_list_new(const uar_allocator *a) {
    stream_list *list = ALLOC_NEW(a, stream_list);
    if (list == NULL) return NULL;
    list->alloc = *a;
    arena_init(&list->ar, &list->alloc);
    return list;
}

uar_status stream_list_add(stream_list *list, const uar_memory_stream *s) {
    uar_memory_stream *items =
        (uar_memory_stream *)grow(&list->alloc, list->items, list->head.count, &list->cap, sizeof *s);
    if (items == NULL) return UAR_E_NOMEM;
    list->items = items;
    list->head.streams = items;
    items[list->head.count++] = *s;
    return UAR_OK;
}

void uar_memory_streams_free(uar_memory_streams *streams) {
    if (streams == NULL) return;
    stream_list *list = (stream_list *)(void *)streams;
    uar_allocator alloc = list->alloc;
    alloc_free(&alloc, list->items);
    arena_dispose(&list->ar);
    alloc_free(&alloc, list);
}

stream_entry_list *stream_entry_list_new(const uar_allocator *a) {
    stream_entry_list *list = ALLOC_NEW(a, stream_entry_list);
    if (list == NULL) return NULL;
    list->alloc = *a;
    arena_init(&list->ar, &list->alloc);
    return list;
}

uar_status stream_entry_list_add(stream_entry_list *list, const uar_memory_stream_entry *e) {
    uar_memory_stream_entry *items =
        (uar_memory_stream_entry *)grow(&list->alloc, list->items, list->head.count, &list->cap, sizeof *e);
    if (items == NULL) return UAR_E_NOMEM;
    list->items = items;
    list->head.entries = items;
    items[list->head.count++] = *e;
    return UAR_OK;
}

void uar_memory_stream_entries_free(uar_memory_stream_entries *entries) {
    if (entries == NULL) return;
    stream_entry_list *list = (stream_entry_list *)(void *)entries;
    uar_allocator alloc = list->alloc;
    alloc_free(&alloc, list->items);
    arena_dispose(&list->ar);
    alloc_free(&alloc, list);
}

stream_window *stream_window_new(const uar_allocator *a) {
    stream_window *w = ALLOC_NEW(a, stream_window);
    if (w == NULL) return NULL;
    w->alloc = *a;
    arena_init(&w->ar, &w->alloc);
    return w;
}

void uar_memory_stream_window_free(uar_memory_stream_window *window) {
    if (window == NULL) return;
    stream_window *w = (stream_window *)(void *)window;
    uar_allocator alloc = w->alloc;
    arena_dispose(&w->ar);
    alloc_free(&alloc, w);
}
