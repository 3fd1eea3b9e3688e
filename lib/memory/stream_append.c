/* Owns: appending to streams. Invariant: the number of an entry is given in the write transaction that stores it, one behind
 * the stream's last, so that numbers have no hole and no double, however many processes append. */
#include <assert.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/struct_in.h"
#include "memory/content.h"
#include "memory/recall.h"
#include "memory/stream.h"
#include "store/record.h"

void stream_entry_take_key(stream_entry_row *row, const uar_memory *memory, uar_str key) {
    row->e.unique_key = key;
    row->keyed = (int64_t)term_hash(memory->database.key, key);
}

static uar_status take_texts(stream_entry_row *row, const uar_memory *memory, const uar_memory_stream_entry_draft *g,
                             arena *ar, uar_error *err) {
    uar_memory_stream_entry *e = &row->e;
    e->role = g->role.ptr != NULL ? g->role : STR("note");
    e->text = g->text;
    uar_status status = host_id_check(e->role, "role", err);
    if (status == UAR_OK) status = content_check(e->text, "text", MEMORY_TEXT_MAX, err);
    if (status == UAR_OK) status = content_metadata(&e->metadata, ar, g->metadata, "metadata", err);
    if (status == UAR_OK && g->unique_key.ptr != NULL)
        status = content_check(g->unique_key, "unique key", STREAM_KEY_MAX, err);
    if (status == UAR_OK && g->provenance.session.ptr != NULL)
        status = host_id_check(g->provenance.session, "session of the provenance", err);
    if (status == UAR_OK && g->unique_key.ptr != NULL) stream_entry_take_key(row, memory, g->unique_key);
    return status;
}

uar_status stream_entry_make(stream_entry_row *out, const uar_memory *memory,
                             const uar_memory_stream_entry_draft *given, arena *ar, uar_error *err) {
    if (given == NULL) return error_set(err, UAR_E_INVALID, "there is no entry");
    uar_memory_stream_entry_draft g;
    uar_status status = struct_in(&g, sizeof g, given, "uar_memory_stream_entry_draft", err);
    if (status != UAR_OK) return status;
    memset(out, 0, sizeof *out);
    uar_memory_stream_entry *e = &out->e;
    e->trust = g.trust != 0 ? g.trust : UAR_MEMORY_TRUST_USER;
    if (uar_memory_trust_name(e->trust) == NULL) return error_set(err, UAR_E_INVALID, "there is no such trust tier");
    if (g.provenance.event > INT64_MAX)
        return error_set(err, UAR_E_INVALID, "the event of the provenance is too large");
    status = take_texts(out, memory, &g, ar, err);
    if (status != UAR_OK) return status;
    e->provenance = g.provenance;
    e->created_ms = g.created_ms != 0 ? g.created_ms : clock_wall(&memory->clock);
    if (e->created_ms == INT64_MIN) return memory_no_time(err);
    size_t tokens = memory_estimate_tokens(e->text);
    e->tokens = tokens != 0 ? tokens : 1;
    return seal_mark(out->mark, &memory->random, err);
}

uar_status stream_entry_keyed(stream_entry_row *out, database *db, int64_t stream, const stream_entry_row *row,
                              arena *ar, uar_error *err) {
    if (row->e.unique_key.ptr == NULL) return UAR_E_NOT_FOUND;
    query q;
    query_begin(&q, db, SQL_STREAM_ENTRY_KEYED);
    query_int(&q, 18, stream);
    query_int(&q, 19, row->keyed);
    uar_status status = UAR_OK;
    bool found = false;
    while (status == UAR_OK && !found && query_next(&q)) {
        stream_entry_row stored;
        status = stream_entry_read(&stored, &q, ar, err);
        found = status == UAR_OK && uar_str_equal(stored.e.unique_key, row->e.unique_key);
        if (found) *out = stored;
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    if (status == UAR_OK) status = end;
    return status == UAR_OK && !found ? UAR_E_NOT_FOUND : status;
}

uar_status stream_expect(const stream_row *stream, uint64_t expected, uar_error *err) {
    if (expected == 0 || expected == stream->s.last + 1) return UAR_OK;
    return error_set(err, UAR_E_CONFLICT, "the next number of the stream is %llu, not %llu",
                     (unsigned long long)stream->s.last + 1, (unsigned long long)expected);
}

uar_status stream_entry_put(stream_row *stream, stream_entry_row *row, database *db, uar_error *err) {
    assert(stream->num != 0);
    row->stream = stream->num;
    row->e.number = stream->s.last + 1;
    uar_status status = stream_entry_insert(db, row, err);
    if (status != UAR_OK) return status;
    uar_memory_stream *s = &stream->s;
    s->last++;
    s->tokens += row->e.tokens;
    s->live++;
    s->live_tokens += row->e.tokens;
    if (stream_entry_is_summary(&row->e)) s->summaries++;
    return UAR_OK;
}

/* One entry of a batch. A key may also be one that this very batch wrote. */
static uar_status append_one(uar_memory_stream_appended *out, stream_row *stream, stream_entry_row *row,
                             uint64_t expected, database *db, arena *ar, uar_error *err) {
    stream_entry_row stored;
    uar_status status = stream_entry_keyed(&stored, db, stream->num, row, ar, err);
    if (status == UAR_OK) {
        *out = (uar_memory_stream_appended){ stored.e.number, true };
        return UAR_OK;
    }
    if (status != UAR_E_NOT_FOUND) return status;
    status = stream_expect(stream, expected, err);
    if (status == UAR_OK) status = stream_entry_put(stream, row, db, err);
    if (status == UAR_OK) *out = (uar_memory_stream_appended){ row->e.number, false };
    return status;
}

typedef struct batch {
    stream_entry_row *rows;
    uar_memory_stream_appended *results;
    size_t count;
    uint64_t expected;
} batch;

static uar_status append_all(batch *b, uar_memory *m, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    database *db = &m->database;
    stream_row stream;
    uar_status status = stream_find_active(&stream, db, c, id, ar, err);
    uint64_t before = status == UAR_OK ? stream.s.last : 0;
    for (size_t i = 0; i < b->count && status == UAR_OK; i++) {
        /* What is expected is the first new number; the others follow it. */
        uint64_t expected = stream.s.last == before ? b->expected : 0;
        status = append_one(&b->results[i], &stream, &b->rows[i], expected, db, ar, err);
    }
    if (status != UAR_OK || stream.s.last == before) return status;
    stream.s.updated_ms = clock_wall(&m->clock);
    return stream_update(db, &stream, err);
}

static uar_status make_batch(batch *b, const uar_memory *m, const uar_memory_stream_entry_draft *entries, arena *ar,
                             uar_error *err) {
    b->rows = (stream_entry_row *)arena_zeroed(ar, b->count, sizeof *b->rows);
    b->results = (uar_memory_stream_appended *)arena_zeroed(ar, b->count, sizeof *b->results);
    if (b->rows == NULL || b->results == NULL) return error_plain(err, UAR_E_NOMEM);
    size_t step = 0;
    uar_status status = struct_step(&step, entries, b->count, "uar_memory_stream_entry_draft", err);
    const char *at = (const char *)entries;
    for (size_t i = 0; i < b->count && status == UAR_OK; i++)
        status = stream_entry_make(&b->rows[i], m, (const void *)(at + i * step), ar, err);
    return status;
}

uar_status uar_memory_stream_append_batch_sync(uar_memory_stream_appended *out, uar_memory *memory,
                                               const uar_identity *who, uar_uuid stream,
                                               const uar_memory_stream_entry_draft *entries, size_t count,
                                               uint64_t expected, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    if (entries == NULL || count == 0 || count > UAR_MEMORY_STREAM_BATCH_MAX)
        return error_set(err, UAR_E_INVALID, "an append takes 1 to %d entries", UAR_MEMORY_STREAM_BATCH_MAX);
    arena ar;
    arena_init(&ar, &memory->alloc);
    batch b = { .count = count, .expected = expected };
    status = make_batch(&b, memory, entries, &ar, err);
    if (status == UAR_OK) status = memory_enter_write(memory, err);
    if (status == UAR_OK) {
        status = append_all(&b, memory, &c, stream, &ar, err);
        status = memory_leave_write(memory, status, err);
        if (status == UAR_OK) memcpy(out, b.results, count * sizeof *out);
    }
    arena_dispose(&ar);
    return status;
}

uar_status uar_memory_stream_append_sync(uar_memory_stream_appended *out, uar_memory *memory, const uar_identity *who,
                                         uar_uuid stream, const uar_memory_stream_entry_draft *entry, uint64_t expected,
                                         uar_error *err) {
    return uar_memory_stream_append_batch_sync(out, memory, who, stream, entry, 1, expected, err);
}
