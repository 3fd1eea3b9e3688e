/* Owns: the row format of streams and entries. Invariant: what is read is what was sealed, byte for byte, or UAR_E_CORRUPT. */
#include "memory/stream_row.h"

#include <assert.h>

#include "base/str.h"

static uar_str uuid_bytes(const uar_uuid *id) {
    return uar_str_n((const char *)id->bytes, sizeof id->bytes);
}

static uar_status seal_stream(uint8_t out[SEAL_BYTES], const stream_row *row) {
    const uar_memory_stream *s = &row->s;
    const uar_str texts[] = {
        uuid_bytes(&s->id), s->owner, s->user, s->agent, s->session, s->task, s->name, s->metadata
    };
    const uint64_t numbers[] = { (uint64_t)row->seg,
                                 (uint64_t)s->scope,
                                 (uint64_t)row->named,
                                 (uint64_t)s->created_ms,
                                 (uint64_t)s->updated_ms,
                                 (uint64_t)s->archived_ms,
                                 s->last,
                                 s->summaries,
                                 s->tokens,
                                 s->live,
                                 s->live_tokens };
    seal all = { .count = 0 };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        seal_text(&all, texts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        seal_number(&all, numbers[i]);
    return seal_end(out, &all);
}

static uar_status seal_entry(uint8_t out[SEAL_BYTES], const stream_entry_row *row) {
    const uar_memory_stream_entry *e = &row->e;
    const uar_str texts[] = { e->role,      e->text, e->metadata, uuid_bytes(&e->provenance.run), e->provenance.session,
                              e->unique_key };
    const uint64_t numbers[] = { (uint64_t)row->stream,   e->number,           (uint64_t)e->trust, e->provenance.event,
                                 (uint64_t)e->created_ms, e->tokens,           e->first,           e->last,
                                 e->summarised_by,        (uint64_t)row->keyed };
    seal all = { .count = 0 };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        seal_text(&all, texts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        seal_number(&all, numbers[i]);
    return seal_end(out, &all);
}

/* Copy texts of the row that the query stands on. */
static uar_status copy_texts(uar_str *const *out, const int *columns, size_t count, query *q, arena *ar) {
    uar_status status = UAR_OK;
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        status = query_copy_text(out[i], q, columns[i], ar);
    return status;
}

static uar_status corrupt_stream(const stream_row *row, uar_error *err) {
    char id[UAR_UUID_TEXT];
    uar_uuid_format(id, row->s.id);
    return error_set(err, UAR_E_CORRUPT, "memory stream %s doesn't match its checksum", id);
}

uar_status stream_read(stream_row *out, query *q, arena *ar, uar_error *err) {
    stream_row row;
    memset(&row, 0, sizeof row);
    uar_memory_stream *s = &row.s;
    uar_str *const texts[] = { &s->owner, &s->user, &s->agent, &s->session, &s->task, &s->name, &s->metadata };
    static const int columns[] = { 5, 6, 7, 8, 9, 10, 12 };
    row.num = query_get_int(q, 0);
    s->id = query_get_uuid(q, 2);
    row.seg = query_get_int(q, 3);
    s->scope = (uar_memory_scope)query_get_int(q, 4);
    row.named = query_get_int(q, 11);
    s->created_ms = query_get_int(q, 13);
    s->updated_ms = query_get_int(q, 14);
    s->archived_ms = query_get_int(q, 15);
    s->last = (uint64_t)query_get_int(q, 16);
    s->summaries = (uint64_t)query_get_int(q, 17);
    s->tokens = (uint64_t)query_get_int(q, 18);
    s->live = (uint64_t)query_get_int(q, 19);
    s->live_tokens = (uint64_t)query_get_int(q, 20);
    bool whole = seal_bytes(row.mark, MARK_BYTES, q, 1) && seal_bytes(s->checksum, sizeof s->checksum, q, 21);
    uar_status status = copy_texts(texts, columns, sizeof columns / sizeof columns[0], q, ar);
    uint8_t expected[SEAL_BYTES];
    if (status == UAR_OK && whole) status = seal_stream(expected, &row);
    if (status != UAR_OK) return error_plain(err, status);
    if (!whole || memcmp(expected, s->checksum, sizeof expected) != 0) return corrupt_stream(&row, err);
    *out = row;
    return UAR_OK;
}

uar_status stream_first(stream_row *out, query *q, arena *ar, uar_error *err) {
    uar_status status = UAR_OK;
    bool found = query_next(q);
    if (found) status = stream_read(out, q, ar, err);
    uar_status end = query_end(q, status == UAR_OK ? err : NULL);
    if (status == UAR_OK) status = end;
    if (status == UAR_OK && !found) return error_set(err, UAR_E_NOT_FOUND, "there is no such memory stream");
    return status;
}

static uar_status write_stream(database *db, sql_id id, stream_row *row, uar_error *err) {
    uar_memory_stream *s = &row->s;
    uar_status status = seal_stream(s->checksum, row);
    if (status != UAR_OK) return error_plain(err, status);
    query q;
    query_begin(&q, db, id);
    if (id == SQL_STREAM_UPDATE) {
        query_int(&q, 1, row->num);
    } else {
        const uar_str texts[] = { s->owner, s->user, s->agent, s->session, s->task, s->name };
        query_blob(&q, 2, row->mark, MARK_BYTES);
        query_uuid(&q, 3, s->id);
        query_int(&q, 4, row->seg);
        query_int(&q, 5, (int64_t)s->scope);
        for (int i = 0; i < 6; i++)
            query_text(&q, 6 + i, texts[i]);
        query_int(&q, 12, row->named);
        query_text(&q, 13, s->metadata);
        query_int(&q, 14, s->created_ms);
    }
    const int64_t numbers[] = { s->updated_ms,      s->archived_ms,   (int64_t)s->last,       (int64_t)s->summaries,
                                (int64_t)s->tokens, (int64_t)s->live, (int64_t)s->live_tokens };
    for (int i = 0; i < 7; i++)
        query_int(&q, 15 + i, numbers[i]);
    query_blob(&q, 22, s->checksum, sizeof s->checksum);
    return query_run(&q, err);
}

uar_status stream_insert(database *db, stream_row *row, uar_error *err) {
    assert(row->num == 0);
    uar_status status = write_stream(db, SQL_STREAM_INSERT, row, err);
    if (status == UAR_OK) row->num = sqlite3_last_insert_rowid(db->handle);
    return status;
}

uar_status stream_update(database *db, stream_row *row, uar_error *err) {
    assert(row->num != 0);
    return write_stream(db, SQL_STREAM_UPDATE, row, err);
}

uar_status stream_entry_read(stream_entry_row *out, query *q, arena *ar, uar_error *err) {
    stream_entry_row row;
    memset(&row, 0, sizeof row);
    uar_memory_stream_entry *e = &row.e;
    uar_str *const texts[] = { &e->role, &e->text, &e->metadata, &e->provenance.session, &e->unique_key };
    static const int columns[] = { 4, 5, 6, 10, 16 };
    row.num = query_get_int(q, 0);
    row.stream = query_get_int(q, 2);
    e->number = (uint64_t)query_get_int(q, 3);
    e->trust = (uar_memory_trust)query_get_int(q, 7);
    e->provenance.run = query_get_uuid(q, 8);
    e->provenance.event = (uint64_t)query_get_int(q, 9);
    e->created_ms = query_get_int(q, 11);
    e->tokens = (uint64_t)query_get_int(q, 12);
    stream_span span = { e->number, (uint64_t)query_get_int(q, 13), (uint64_t)query_get_int(q, 14), 0 };
    if (span.first != span.number) { /* an entry's span is itself, which the answer leaves out */
        e->first = span.first;
        e->last = span.last;
    }
    e->summarised_by = (uint64_t)query_get_int(q, 15);
    row.keyed = query_get_int(q, 17);
    bool whole = seal_bytes(row.mark, MARK_BYTES, q, 1) && seal_bytes(e->checksum, sizeof e->checksum, q, 18);
    uar_status status = copy_texts(texts, columns, sizeof columns / sizeof columns[0], q, ar);
    uint8_t expected[SEAL_BYTES];
    if (status == UAR_OK && whole) status = seal_entry(expected, &row);
    if (status != UAR_OK) return error_plain(err, status);
    if (!whole || memcmp(expected, e->checksum, sizeof expected) != 0)
        return error_set(err, UAR_E_CORRUPT, "entry %llu of a memory stream doesn't match its checksum",
                         (unsigned long long)e->number);
    *out = row;
    return UAR_OK;
}

static uar_status entry_first(stream_entry_row *out, query *q, arena *ar, uar_error *err) {
    uar_status status = UAR_OK;
    bool found = query_next(q);
    if (found) status = stream_entry_read(out, q, ar, err);
    uar_status end = query_end(q, status == UAR_OK ? err : NULL);
    if (status == UAR_OK) status = end;
    if (status == UAR_OK && !found) return error_set(err, UAR_E_NOT_FOUND, "there is no such entry");
    return status;
}

uar_status stream_entry_insert(database *db, stream_entry_row *row, uar_error *err) {
    uar_memory_stream_entry *e = &row->e;
    assert(row->num == 0 && e->number != 0 && e->summarised_by == 0);
    assert((e->first == 0 && e->last == 0) || (e->first >= 1 && e->first <= e->last && e->last < e->number));
    uar_status status = seal_entry(e->checksum, row);
    if (status != UAR_OK) return error_plain(err, status);
    bool summary = stream_entry_is_summary(e);
    query q;
    query_begin(&q, db, SQL_STREAM_ENTRY_INSERT);
    query_blob(&q, 2, row->mark, MARK_BYTES);
    query_int(&q, 3, row->stream);
    query_int(&q, 4, (int64_t)e->number);
    query_text(&q, 5, e->role);
    query_text(&q, 6, e->text);
    query_text(&q, 7, e->metadata);
    query_int(&q, 8, (int64_t)e->trust);
    query_uuid(&q, 9, e->provenance.run);
    query_int(&q, 10, (int64_t)e->provenance.event);
    query_text(&q, 11, e->provenance.session);
    query_int(&q, 12, e->created_ms);
    query_int(&q, 13, (int64_t)e->tokens);
    query_int(&q, 14, (int64_t)(summary ? e->first : e->number));
    query_int(&q, 15, (int64_t)(summary ? e->last : e->number));
    query_int(&q, 16, 0);
    query_text(&q, 17, e->unique_key);
    if (e->unique_key.ptr != NULL) query_int(&q, 18, row->keyed);
    query_blob(&q, 19, e->checksum, sizeof e->checksum);
    status = query_run(&q, err);
    if (status == UAR_OK) row->num = sqlite3_last_insert_rowid(db->handle);
    return status;
}

uar_status stream_entry_cover(database *db, stream_entry_row *row, uint64_t summary, uar_error *err) {
    assert(row->num != 0 && row->e.summarised_by == 0 && summary > row->e.number);
    row->e.summarised_by = summary;
    uar_status status = seal_entry(row->e.checksum, row);
    if (status != UAR_OK) return error_plain(err, status);
    query q;
    query_begin(&q, db, SQL_STREAM_ENTRY_COVER);
    query_int(&q, 1, row->num);
    query_int(&q, 16, (int64_t)summary);
    query_blob(&q, 19, row->e.checksum, sizeof row->e.checksum);
    return query_run(&q, err);
}

uar_status stream_entry_load(stream_entry_row *out, database *db, int64_t stream, uint64_t number, arena *ar,
                             uar_error *err) {
    query q;
    query_begin(&q, db, SQL_STREAM_ENTRY_AT);
    query_int(&q, 18, stream);
    query_int(&q, 19, (int64_t)number);
    return entry_first(out, &q, ar, err);
}

stream_span stream_span_get(const query *q) {
    return (stream_span){ (uint64_t)query_get_int(q, 0), (uint64_t)query_get_int(q, 1), (uint64_t)query_get_int(q, 2),
                          (uint64_t)query_get_int(q, 3) };
}
