/*
 * What the parts of the task streams share: finding a stream that the caller sees, and putting entries behind its last one.
 * All of it works with the memory's lock, inside a transaction.
 */
#ifndef UAR_LIB_MEMORY_STREAM_H
#define UAR_LIB_MEMORY_STREAM_H

#include "memory/caller.h"
#include "memory/service.h"
#include "memory/stream_row.h"

/* Longest unique key of an entry. */
#define STREAM_KEY_MAX 400

/* A stream to be opened, checked, with all that can be known without the store. */
typedef struct stream_opening {
    stream_row row; /* seg and num are not set */
    segment_key key;
    bool must_exist;
} stream_opening;

/* Everything that can be wrong with a draft is told here. Texts stay the draft's, or live in the arena. */
uar_status stream_opening_make(stream_opening *out, const uar_memory *memory, const caller *c,
                               const uar_memory_stream_draft *given, arena *ar, uar_error *err);
/* The stream of this name and place. UAR_E_NOT_FOUND, without a message. */
uar_status stream_opening_find(stream_row *out, const stream_opening *o, database *db, arena *ar, uar_error *err);
/* Create it; it isn't there. */
uar_status stream_opening_create(stream_row *out, stream_opening *o, database *db, uar_error *err);

/* A stream that the caller sees. UAR_E_NOT_FOUND. */
uar_status stream_find(stream_row *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err);
/* The same, and the caller may change it and it takes entries. UAR_E_FORBIDDEN, UAR_E_CLOSED. */
uar_status stream_find_active(stream_row *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err);

/* An entry from a draft, checked; number and stream are not set. Texts stay the draft's, or live in the arena. */
uar_status stream_entry_make(stream_entry_row *out, const uar_memory *memory,
                             const uar_memory_stream_entry_draft *given, arena *ar, uar_error *err);
/* The key that it is appended under, checked; the text stays the caller's. */
void stream_entry_take_key(stream_entry_row *row, const uar_memory *memory, uar_str key);
/* The entry that was appended under this key. UAR_E_NOT_FOUND, without a message. */
uar_status stream_entry_keyed(stream_entry_row *out, database *db, int64_t stream, const stream_entry_row *row,
                              arena *ar, uar_error *err);
/* Put an entry behind the last one and count it in the stream, which is not yet written. */
uar_status stream_entry_put(stream_row *stream, stream_entry_row *row, database *db, uar_error *err);
/* UAR_E_CONFLICT unless `expected` is 0 or the next number. */
uar_status stream_expect(const stream_row *stream, uint64_t expected, uar_error *err);

/* A filter, checked; `given` may be NULL. */
uar_status stream_filter_check(uar_memory_stream_filter *out, const uar_memory_stream_filter *given, uar_error *err);
/* Bind ?8 to ?14. */
void stream_filter_bind(query *q, const uar_memory_stream_filter *f);

/* The live spans within a range, oldest first, in the arena. UAR_E_INVALID if one lies only partly in it. */
uar_status stream_live(stream_span **out, size_t *count, database *db, int64_t stream, uint64_t first, uint64_t last,
                       arena *ar, uar_error *err);
/* Put a summary of these spans: `row` has its text; its range is set here. The spans are marked, and the stream's counts
 * follow. The trust of the row is lowered to the least of the sources. */
uar_status stream_summary_put(stream_row *stream, stream_entry_row *row, const stream_span *spans, size_t count,
                              uar_memory *memory, uar_error *err);

/* All rows of all streams: checksums, numbers, counts, spans. UAR_E_CORRUPT names the first fault. */
uar_status stream_check(uar_memory *memory, uar_error *err);

#endif
