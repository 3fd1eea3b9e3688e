/* Owns: the check of streams. Invariant: it reads only. What it claims is written in stream_schema.h. */
#include "memory/stream.h"

/* What the entries of one stream add up to. */
typedef struct tally {
    uint64_t entries, summaries, tokens, live, live_tokens;
} tally;

static uar_status fault(const stream_row *stream, const char *what, uar_error *err) {
    char id[UAR_UUID_TEXT];
    uar_uuid_format(id, stream->s.id);
    return error_set(err, UAR_E_CORRUPT, "memory stream %s: %s", id, what);
}

static uar_status check_entry(tally *t, const stream_row *stream, const stream_entry_row *row, uar_error *err) {
    const uar_memory_stream_entry *e = &row->e;
    if (e->number != t->entries + 1) return fault(stream, "a number is missing or double", err);
    if (e->summarised_by != 0 && (e->summarised_by <= e->number || e->summarised_by > stream->s.last))
        return fault(stream, "an entry names a summary that isn't there", err);
    if (stream_entry_is_summary(e) && (e->first > e->last || e->last >= e->number))
        return fault(stream, "a summary stands for what came later", err);
    t->entries++;
    t->tokens += e->tokens;
    if (stream_entry_is_summary(e)) t->summaries++;
    if (e->summarised_by == 0) {
        t->live++;
        t->live_tokens += e->tokens;
    }
    return UAR_OK;
}

static uar_status check_entries(tally *t, const stream_row *stream, uar_memory *m, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_STREAM_ENTRY_UP);
    query_int(&q, 18, stream->num);
    query_int(&q, 19, 0);
    query_int(&q, 20, -1);
    uar_status status = UAR_OK;
    while (status == UAR_OK && query_next(&q)) {
        arena ar;
        arena_init(&ar, &m->alloc);
        stream_entry_row row;
        status = stream_entry_read(&row, &q, &ar, err);
        if (status == UAR_OK) status = check_entry(t, stream, &row, err);
        arena_dispose(&ar);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : status;
}

/* Every number but those of summaries lies in exactly one live span. */
static uar_status check_spans(const stream_row *stream, uar_memory *m, arena *ar, uar_error *err) {
    stream_span *spans = NULL;
    size_t count = 0;
    uar_status status = stream_live(&spans, &count, &m->database, stream->num, 1, INT64_MAX, ar, err);
    uint64_t end = 0;
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        if (spans[i].first <= end) return fault(stream, "two entries stand for the same number", err);
        /* What lies between is summaries: each is live or stands under one that is. */
        for (uint64_t n = end + 1; n < spans[i].first && status == UAR_OK; n++) {
            stream_entry_row row;
            status = stream_entry_load(&row, &m->database, stream->num, n, ar, err);
            if (status == UAR_OK && !stream_entry_is_summary(&row.e))
                return fault(stream, "a summarised entry has no summary", err);
        }
        end = spans[i].last;
    }
    return status;
}

static uar_status check_stream(const stream_row *stream, uar_memory *m, arena *ar, uar_error *err) {
    tally t = { 0, 0, 0, 0, 0 };
    const uar_memory_stream *s = &stream->s;
    uar_status status = check_entries(&t, stream, m, err);
    if (status != UAR_OK) return status;
    if (t.entries != s->last) return fault(stream, "entries are missing", err);
    if (t.summaries != s->summaries || t.tokens != s->tokens || t.live != s->live || t.live_tokens != s->live_tokens)
        return fault(stream, "its counts are wrong", err);
    return check_spans(stream, m, ar, err);
}

static uar_status check_strays(database *db, uar_error *err) {
    int64_t strays = 0;
    uar_status status = statement_number(&strays, db, SQL_STREAM_ENTRY_STRAY, err);
    if (status == UAR_OK && strays != 0)
        return error_set(err, UAR_E_CORRUPT, "%lld entries belong to no memory stream", (long long)strays);
    return status;
}

/* The stream behind `after`. False in `found`: there is none. */
static uar_status next_stream(stream_row *out, bool *found, database *db, int64_t after, arena *ar, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_STREAM_BY_NUM);
    query_int(&q, 18, after);
    uar_status status = UAR_OK;
    *found = query_next(&q);
    if (*found) status = stream_read(out, &q, ar, err);
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : status;
}

uar_status stream_check(uar_memory *memory, uar_error *err) {
    uar_status status = UAR_OK;
    bool found = true;
    for (int64_t after = 0; status == UAR_OK && found;) {
        arena ar;
        arena_init(&ar, &memory->alloc);
        stream_row row;
        status = next_stream(&row, &found, &memory->database, after, &ar, err);
        if (status == UAR_OK && found) {
            after = row.num;
            status = check_stream(&row, memory, &ar, err);
        }
        arena_dispose(&ar);
    }
    return status == UAR_OK ? check_strays(&memory->database, err) : status;
}
