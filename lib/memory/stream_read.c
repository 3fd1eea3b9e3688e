/* Owns: reading entries: pages and windows. Invariant: a window is read in one snapshot; its tokens never pass the budget,
 * and what is in it and what its gaps count are together the live entries of the stream. */
#include <assert.h>

#include "base/str.h"
#include "memory/stream.h"
#include "memory/stream_answer.h"

static uar_status read_page(stream_entry_list *list, database *db, const caller *c, uar_uuid id, uint64_t from,
                            bool backwards, size_t limit, uar_error *err) {
    stream_row stream;
    uar_status status = stream_find(&stream, db, c, id, &list->ar, err);
    if (status != UAR_OK) return status;
    if (from == 0 && backwards) from = INT64_MAX;
    query q;
    query_begin(&q, db, backwards ? SQL_STREAM_ENTRY_DOWN : SQL_STREAM_ENTRY_UP);
    query_int(&q, 18, stream.num);
    query_int(&q, 19, (int64_t)from);
    query_int(&q, 20, (int64_t)limit);
    while (status == UAR_OK && query_next(&q)) {
        stream_entry_row row;
        status = stream_entry_read(&row, &q, &list->ar, err);
        if (status == UAR_OK && stream_entry_list_add(list, &row.e) != UAR_OK) status = error_plain(err, UAR_E_NOMEM);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    if (status == UAR_OK) status = end;
    if (status != UAR_OK || list->head.count == 0) return status;
    uint64_t at = list->items[list->head.count - 1].number;
    list->head.next = backwards ? at - 1 : at < stream.s.last ? at + 1 : 0;
    return UAR_OK;
}

uar_status uar_memory_stream_read_sync(uar_memory_stream_entries **out, uar_memory *memory, const uar_identity *who,
                                       uar_uuid stream, uint64_t from, bool backwards, size_t limit, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    if (limit == 0 || limit > UAR_MEMORY_STREAM_BATCH_MAX)
        return error_set(err, UAR_E_INVALID, "the limit is not between 1 and %d", UAR_MEMORY_STREAM_BATCH_MAX);
    if (from > INT64_MAX) return error_set(err, UAR_E_INVALID, "there is no entry of this number");
    stream_entry_list *list = stream_entry_list_new(&memory->alloc);
    status = list != NULL ? memory_enter_read(memory, err) : error_plain(err, UAR_E_NOMEM);
    if (status == UAR_OK) {
        status = read_page(list, &memory->database, &c, stream, from, backwards, limit, err);
        memory_leave_read(memory);
    }
    if (status == UAR_OK)
        *out = &list->head;
    else if (list != NULL)
        uar_memory_stream_entries_free(&list->head);
    return status;
}

static bool is_summary(const stream_span *span) {
    return span->first != span->number;
}

/* Mark what of one kind fits, newest first; the newest is last. */
static void choose(bool *chosen, uint64_t *left, uint64_t share, const stream_span *spans, size_t count,
                   bool summaries) {
    uint64_t spent = 0;
    for (size_t i = count; i-- > 0;) {
        if (chosen[i] || is_summary(&spans[i]) != summaries) continue;
        if (spans[i].tokens > *left || spans[i].tokens > share - spent) continue;
        chosen[i] = true;
        spent += spans[i].tokens;
        *left -= spans[i].tokens;
    }
}

static uar_status add_entry(stream_window *w, uar_memory_stream_entry *items, database *db, int64_t stream,
                            const stream_span *span, uar_error *err) {
    stream_entry_row row;
    uar_status status = stream_entry_load(&row, db, stream, span->number, &w->ar, err);
    if (status != UAR_OK) return status;
    if (row.e.tokens != span->tokens)
        return error_set(err, UAR_E_CORRUPT, "the index of a memory stream doesn't match its entries");
    items[w->head.count++] = row.e;
    w->head.tokens += row.e.tokens;
    return UAR_OK;
}

static void leave_out(stream_window *w, uar_memory_stream_gap *gaps, const stream_span *span, bool continues) {
    if (!continues) gaps[w->head.gap_count++] = (uar_memory_stream_gap){ .first = span->first };
    uar_memory_stream_gap *gap = &gaps[w->head.gap_count - 1];
    gap->last = span->last;
    gap->entries++;
    gap->tokens += span->tokens;
    w->head.left_out++;
    w->head.left_out_tokens += span->tokens;
}

/* Entries and gaps in the order of their spans. */
static uar_status fill_window(stream_window *w, database *db, int64_t stream, const stream_span *spans,
                              const bool *chosen, size_t count, uar_error *err) {
    size_t taken = 0;
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        taken += chosen[i];
        runs += !chosen[i] && (i == 0 || chosen[i - 1]);
    }
    uar_memory_stream_entry *items = (uar_memory_stream_entry *)arena_zeroed(&w->ar, taken + 1, sizeof *items);
    uar_memory_stream_gap *gaps = (uar_memory_stream_gap *)arena_zeroed(&w->ar, runs + 1, sizeof *gaps);
    if (items == NULL || gaps == NULL) return error_plain(err, UAR_E_NOMEM);
    w->head.entries = items;
    w->head.gaps = gaps;
    uar_status status = UAR_OK;
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        if (chosen[i])
            status = add_entry(w, items, db, stream, &spans[i], err);
        else
            leave_out(w, gaps, &spans[i], i != 0 && !chosen[i - 1]);
    }
    return status;
}

static uar_status make_window(stream_window *w, database *db, const caller *c, uar_uuid id, uint64_t budget,
                              uint32_t flags, arena *scratch, uar_error *err) {
    stream_row stream;
    uar_status status = stream_find(&stream, db, c, id, scratch, err);
    if (status != UAR_OK) return status;
    if (stream.s.archived_ms != 0 && (flags & UAR_MEMORY_STREAM_WINDOW_ARCHIVED) == 0)
        return error_set(err, UAR_E_CLOSED, "the stream is archived");
    stream_span *spans = NULL;
    size_t count = 0;
    status = stream_live(&spans, &count, db, stream.num, 1, INT64_MAX, scratch, err);
    if (status != UAR_OK) return status;
    bool *chosen = (bool *)arena_zeroed(scratch, count + 1, sizeof *chosen);
    if (chosen == NULL) return error_plain(err, UAR_E_NOMEM);
    uint64_t left = budget;
    choose(chosen, &left, budget / 2, spans, count, true);
    choose(chosen, &left, left, spans, count, false);
    choose(chosen, &left, left, spans, count, true);
    status = fill_window(w, db, stream.num, spans, chosen, count, err);
    assert(status != UAR_OK || (w->head.tokens == budget - left && w->head.count + w->head.left_out == count));
    return status;
}

uar_status uar_memory_stream_window_sync(uar_memory_stream_window **out, uar_memory *memory, const uar_identity *who,
                                         uar_uuid stream, uint64_t max_tokens, uint32_t flags, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    if (max_tokens == 0) return error_set(err, UAR_E_INVALID, "a window needs room for a token");
    if ((flags & ~UAR_MEMORY_STREAM_WINDOW_ARCHIVED) != 0)
        return error_set(err, UAR_E_INVALID, "the window has unknown flags");
    arena scratch;
    arena_init(&scratch, &memory->alloc);
    stream_window *w = stream_window_new(&memory->alloc);
    status = w != NULL ? memory_enter_read(memory, err) : error_plain(err, UAR_E_NOMEM);
    if (status == UAR_OK) {
        status = make_window(w, &memory->database, &c, stream, max_tokens, flags, &scratch, err);
        memory_leave_read(memory);
    }
    arena_dispose(&scratch);
    if (status == UAR_OK)
        *out = &w->head;
    else if (w != NULL)
        uar_memory_stream_window_free(&w->head);
    return status;
}
