/* Owns: export and import of streams. Invariant: what is exported and imported into an empty store by an operator gives the
 * same streams and entries, with the same numbers; no lock is held while a line is handed out or a fault is told. */
#include <stdio.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "memory/line.h"
#include "memory/stream.h"
#include "memory/stream_json.h"

/* Entries read in one snapshot, lines written in one transaction. */
#define BATCH 64

typedef struct exporter {
    uar_memory *memory;
    const caller *c;
    const uar_memory_stream_filter *filter;
    uar_memory_write_fn write;
    void *ctx;
    buffer out;
} exporter;

static void begin_line(json_writer *w, buffer *out, const char *kind) {
    json_writer_init(w, out);
    json_object_begin(w);
    json_put_uint(w, "v", 1);
    json_put_str(w, "kind", uar_str_of(kind));
}

static void end_line(json_writer *w, buffer *out) {
    json_object_end(w);
    buffer_append_char(out, '\n');
}

/* The next stream that the filter picks, and its line. UAR_E_NOT_FOUND: there is none. */
static uar_status next_stream(stream_row *out, exporter *x, int64_t after, arena *ar, uar_error *err) {
    database *db = &x->memory->database;
    query q;
    query_begin(&q, db, SQL_STREAM_IDS);
    caller_bind(&q, x->c);
    stream_filter_bind(&q, x->filter);
    query_int(&q, 18, after);
    bool found = query_next(&q);
    uar_uuid id = { { 0 } };
    if (found) id = query_get_uuid(&q, 1);
    uar_status status = query_end(&q, err);
    if (status != UAR_OK) return status;
    if (!found) return UAR_E_NOT_FOUND;
    status = stream_find(out, db, x->c, id, ar, err);
    if (status != UAR_OK) return status;
    json_writer w;
    begin_line(&w, &x->out, "stream");
    stream_json_members(&w, &out->s);
    end_line(&w, &x->out);
    return UAR_OK;
}

/* Entries up to those that the line of the stream counted; what came later is another export's. */
static uar_status export_page(exporter *x, const stream_row *stream, uint64_t *from, arena *ar, uar_error *err) {
    query q;
    query_begin(&q, &x->memory->database, SQL_STREAM_ENTRY_UP);
    query_int(&q, 18, stream->num);
    query_int(&q, 19, (int64_t)*from);
    query_int(&q, 20, BATCH);
    uar_status status = UAR_OK;
    uint64_t before = *from;
    while (status == UAR_OK && query_next(&q)) {
        stream_entry_row row;
        status = stream_entry_read(&row, &q, ar, err);
        if (status != UAR_OK || row.e.number > stream->s.last) break;
        *from = row.e.number + 1;
        if (row.e.summarised_by > stream->s.last) row.e.summarised_by = 0;
        json_writer w;
        begin_line(&w, &x->out, "entry");
        json_put_uuid(&w, "stream", stream->s.id);
        stream_entry_json_members(&w, &row.e);
        end_line(&w, &x->out);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    if (*from == before) *from = stream->s.last + 1; /* deleted meanwhile */
    return status == UAR_OK ? end : status;
}

static uar_status export_stream(exporter *x, const stream_row *stream, uar_error *err) {
    uar_status status = lines_deliver(&x->out, x->write, x->ctx, err);
    for (uint64_t from = 1; status == UAR_OK && from <= stream->s.last;) {
        status = memory_enter_read(x->memory, err);
        if (status != UAR_OK) break;
        arena ar;
        arena_init(&ar, &x->memory->alloc);
        status = export_page(x, stream, &from, &ar, err);
        memory_leave_read(x->memory);
        arena_dispose(&ar);
        if (status == UAR_OK) status = lines_deliver(&x->out, x->write, x->ctx, err);
    }
    return status;
}

static uar_status export_all(exporter *x, uar_error *err) {
    int64_t after = 0;
    for (;;) {
        arena ar;
        arena_init(&ar, &x->memory->alloc);
        stream_row stream;
        uar_status status = memory_enter_read(x->memory, err);
        if (status == UAR_OK) {
            status = next_stream(&stream, x, after, &ar, err);
            memory_leave_read(x->memory);
        }
        if (status == UAR_OK) {
            after = stream.num;
            status = export_stream(x, &stream, err);
        }
        arena_dispose(&ar);
        if (status != UAR_OK) return status == UAR_E_NOT_FOUND ? UAR_OK : status;
    }
}

uar_status uar_memory_stream_export_sync(uar_memory *memory, const uar_identity *who,
                                         const uar_memory_stream_filter *filter, uar_memory_write_fn write, void *ctx,
                                         uar_error *err) {
    caller c;
    uar_memory_stream_filter f;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    if (write == NULL) return error_set(err, UAR_E_INVALID, "an export needs a writer");
    status = stream_filter_check(&f, filter, err);
    if (status != UAR_OK) return status;
    exporter x = { .memory = memory, .c = &c, .filter = &f, .write = write, .ctx = ctx };
    memory_pin(memory); /* the host may free it in `write` */
    buffer_init(&x.out, &memory->alloc, SIZE_MAX / 4);
    status = export_all(&x, err);
    buffer_dispose(&x.out);
    memory_unpin(memory);
    return status;
}

/* A line of an import, made ready before the store is asked. */
typedef struct import_line {
    uint64_t number; /* in the text, from 1 */
    stream_line line;
    stream_opening opening; /* of a stream line */
    stream_entry_row entry; /* of an entry line */
    uar_status status;
    uar_error err;
} import_line;

typedef struct importer {
    uar_memory *memory;
    const caller *c;
    uar_str rest;
    uint64_t line_number;
    uar_memory_stream_imported sum;
    uar_memory_line_fn failed;
    void *ctx;
    map alike; /* stream and content of lines without number and key -> how many there were */
    /* The stream whose entries come now. */
    bool has_stream;     /* its line was taken */
    bool is_ours;        /* this import created it: its times and its archiving are the line's */
    uar_uuid said;       /* its id in the lines */
    uar_uuid id;         /* its id in the store */
    int64_t updated_ms;  /* as the line says */
    int64_t archived_ms; /* as the line says */
    /* The same inside a transaction. */
    stream_row row;
    bool is_loaded, is_dirty;
} importer;

static void prepare_line(import_line *l, importer *im, uar_str text, arena *ar) {
    memset(l, 0, sizeof *l);
    l->number = im->line_number;
    l->status = stream_line_read(&l->line, ar, text, &l->err);
    if (l->status != UAR_OK) return;
    if (l->line.owner.ptr != NULL && !uar_str_equal(l->line.owner, im->c->id.owner))
        l->status = error_set(&l->err, UAR_E_FORBIDDEN, "the line belongs to another owner");
    else if (l->line.is_entry)
        l->status = stream_entry_make(&l->entry, im->memory, &l->line.entry, ar, &l->err);
    else
        l->status = stream_opening_make(&l->opening, im->memory, im->c, &l->line.stream, ar, &l->err);
}

/* Write what the transaction holds of the stream that entries go to. */
static uar_status flush_stream(importer *im, uar_error *err) {
    if (!im->is_dirty) return UAR_OK;
    im->is_dirty = false;
    return stream_update(&im->memory->database, &im->row, err);
}

static uar_status load_stream(importer *im, arena *ar, uar_error *err) {
    if (im->is_loaded) return UAR_OK;
    uar_status status = stream_find_active(&im->row, &im->memory->database, im->c, im->id, ar, err);
    im->is_loaded = status == UAR_OK;
    return status;
}

/* All lines of a stream were read: what it was like at the end. */
static uar_status finish_stream(importer *im, arena *ar, uar_error *err) {
    if (!im->has_stream || !im->is_ours) return flush_stream(im, err);
    im->is_ours = false;
    uar_status status = load_stream(im, ar, NULL);
    if (status == UAR_E_NOT_FOUND || status == UAR_E_CLOSED) return UAR_OK; /* another hand has it */
    if (status != UAR_OK) return error_plain(err, status);
    if (im->updated_ms != 0) im->row.s.updated_ms = im->updated_ms;
    im->row.s.archived_ms = im->archived_ms;
    im->is_dirty = true;
    return flush_stream(im, err);
}

static uar_status is_id_used(bool *out, database *db, uar_uuid id, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_STREAM_ID_USED);
    query_uuid(&q, 18, id);
    *out = query_next(&q);
    return query_end(&q, err);
}

/* A stream keeps its id, unless another one in this store has it. */
static uar_status create_stream(importer *im, import_line *l, uar_error *err) {
    database *db = &im->memory->database;
    uar_status status = caller_may_write(im->c, l->opening.row.s.scope, err);
    bool used = uar_uuid_is_none(l->line.id);
    if (status == UAR_OK && !used) status = is_id_used(&used, db, l->line.id, err);
    if (status != UAR_OK) return status;
    if (!used) l->opening.row.s.id = l->line.id;
    if (l->line.created_ms != 0) l->opening.row.s.created_ms = l->line.created_ms;
    status = stream_opening_create(&im->row, &l->opening, db, err);
    if (status != UAR_OK) return status;
    if (used) return UAR_OK;
    query q;
    query_begin(&q, db, SQL_TOMBSTONE_DROP);
    query_uuid(&q, 18, l->line.id);
    return query_run(&q, err);
}

static uar_status import_stream(importer *im, import_line *l, arena *ar, uar_error *err) {
    uar_status status = finish_stream(im, ar, err);
    if (status != UAR_OK) return status;
    im->has_stream = false;
    im->is_loaded = false;
    status = stream_opening_find(&im->row, &l->opening, &im->memory->database, ar, err);
    im->is_ours = status == UAR_E_NOT_FOUND;
    if (im->is_ours) status = create_stream(im, l, err);
    if (status != UAR_OK) return status;
    im->has_stream = true;
    im->is_loaded = im->is_ours; /* one that was there may be archived: that is seen at its first new entry */
    im->said = l->line.id;
    im->id = im->row.s.id;
    im->updated_ms = l->line.updated_ms;
    im->archived_ms = l->line.archived_ms;
    if (im->is_ours)
        im->sum.streams++;
    else
        im->sum.skipped++;
    return UAR_OK;
}

static uar_status compare_stored(importer *im, const import_line *l, const stream_row *stream, arena *ar,
                                 uar_error *err) {
    stream_entry_row stored;
    uar_status status = stream_entry_load(&stored, &im->memory->database, stream->num, l->line.number, ar, err);
    if (status != UAR_OK) return status;
    const uar_memory_stream_entry *a = &stored.e;
    const uar_memory_stream_entry *b = &l->entry.e;
    if (!uar_str_equal(a->role, b->role) || !uar_str_equal(a->text, b->text) ||
        !uar_str_equal(a->metadata, b->metadata) || a->first != l->line.first || a->last != l->line.last)
        return error_set(err, UAR_E_EXISTS, "another entry is stored as number %llu",
                         (unsigned long long)l->line.number);
    im->sum.skipped++;
    return UAR_OK;
}

/* A summary stands for exactly what it stood for. */
static uar_status import_summary(importer *im, import_line *l, arena *ar, uar_error *err) {
    stream_span *spans = NULL;
    size_t count = 0;
    uar_status status =
        stream_live(&spans, &count, &im->memory->database, im->row.num, l->line.first, l->line.last, ar, err);
    if (status != UAR_OK) return status;
    if (count == 0 || spans[0].first != l->line.first || spans[count - 1].last != l->line.last)
        return error_set(err, UAR_E_INVALID, "the range of the summary isn't in the stream");
    return stream_summary_put(&im->row, &l->entry, spans, count, im->memory, err);
}

/* What a line says, with all that tells it from another. */
static uar_status digest_line(uar_uuid *out, const import_line *l, uar_error *err) {
    const uar_memory_stream_entry *e = &l->entry.e;
    char rest[120];
    int len = snprintf(rest, sizeof rest, "%lld %d %llu %llu %llu", (long long)l->line.entry.created_ms, (int)e->trust,
                       (unsigned long long)l->line.first, (unsigned long long)l->line.last,
                       (unsigned long long)e->provenance.event);
    /* No text has a zero in it, so none can run into the next. */
    static const uar_str zero = { "", 1 };
    uar_str run = uar_str_n((const char *)e->provenance.run.bytes, sizeof e->provenance.run.bytes);
    uar_str pieces[] = {
        e->role, zero, e->text, zero, e->metadata, zero, e->provenance.session, zero, run, uar_str_n(rest, (size_t)len)
    };
    uint8_t digest[SHA256_BYTES];
    uar_status status = sha256(digest, pieces, sizeof pieces / sizeof *pieces);
    if (status != UAR_OK) return error_plain(err, status);
    memcpy(out->bytes, digest, sizeof out->bytes);
    return UAR_OK;
}

/* Which of its equals it is among the lines of this stream, from 1. */
static uar_status count_alike(uintptr_t *out, importer *im, uar_uuid content, uar_error *err) {
    char bytes[2 * sizeof content.bytes];
    memcpy(bytes, im->id.bytes, sizeof im->id.bytes);
    memcpy(bytes + sizeof im->id.bytes, content.bytes, sizeof content.bytes);
    uar_str key = uar_str_n(bytes, sizeof bytes);
    *out = (uintptr_t)map_get(&im->alike, key) + 1;
    return map_put(&im->alike, key, (void *)*out) == UAR_OK ? UAR_OK : error_plain(err, UAR_E_NOMEM);
}

/* A line that has neither number nor key gets a key by what it says and which of its equals it is: then reading the same
 * lines again changes nothing, and two equal lines stay two entries. */
static uar_status give_key(importer *im, import_line *l, arena *ar, uar_error *err) {
    uar_uuid content = { { 0 } };
    uintptr_t nth = 0;
    uar_status status = digest_line(&content, l, err);
    if (status == UAR_OK) status = count_alike(&nth, im, content, err);
    if (status != UAR_OK) return status;
    char name[UAR_UUID_TEXT], text[UAR_UUID_TEXT + 40];
    uar_uuid_format(name, content);
    int len = snprintf(text, sizeof text, "import:%s:%llu", name, (unsigned long long)nth);
    uar_str key = arena_str(ar, uar_str_n(text, (size_t)len));
    if (key.ptr == NULL) return error_plain(err, UAR_E_NOMEM);
    stream_entry_take_key(&l->entry, im->memory, key);
    return UAR_OK;
}

/* UAR_E_NOT_FOUND: nothing was appended under its key. */
static uar_status is_appended(importer *im, const import_line *l, int64_t stream, arena *ar, uar_error *err) {
    stream_entry_row stored;
    uar_status status = stream_entry_keyed(&stored, &im->memory->database, stream, &l->entry, ar, err);
    if (status != UAR_OK || l->line.number == 0) return status;
    return error_set(err, UAR_E_EXISTS, "the unique key is that of entry %llu", (unsigned long long)stored.e.number);
}

static uar_status append_line(importer *im, import_line *l, arena *ar, uar_error *err) {
    uar_status status = l->line.first != 0 ? import_summary(im, l, ar, err)
                                           : stream_entry_put(&im->row, &l->entry, &im->memory->database, err);
    if (status != UAR_OK) return status;
    im->is_dirty = true;
    im->row.s.updated_ms = clock_wall(&im->memory->clock);
    im->sum.entries++;
    return UAR_OK;
}

static uar_status import_entry(importer *im, import_line *l, arena *ar, uar_error *err) {
    if (!im->has_stream) return error_set(err, UAR_E_INVALID, "there is no stream for this entry");
    if (!uar_uuid_is_none(l->line.id) && !uar_uuid_equal(l->line.id, im->said))
        return error_set(err, UAR_E_INVALID, "the entry is of another stream than the one before it");
    uint64_t number = l->line.number;
    stream_row seen;
    uar_status status = UAR_OK;
    if (im->is_loaded)
        seen = im->row;
    else
        status = stream_find(&seen, &im->memory->database, im->c, im->id, ar, err);
    if (status != UAR_OK) return status;
    if (number != 0 && number <= seen.s.last) return compare_stored(im, l, &seen, ar, err);
    if (number > seen.s.last + 1)
        return error_set(err, UAR_E_INVALID, "entry %llu is missing before it", (unsigned long long)seen.s.last + 1);
    if (number == 0 && l->entry.e.unique_key.ptr == NULL) status = give_key(im, l, ar, err);
    if (status == UAR_OK) status = is_appended(im, l, seen.num, ar, err);
    if (status == UAR_OK) {
        im->sum.skipped++;
        return UAR_OK;
    }
    if (status != UAR_E_NOT_FOUND) return status;
    status = load_stream(im, ar, err);
    return status == UAR_OK ? append_line(im, l, ar, err) : status;
}

static uar_status import_batch(importer *im, import_line *lines, size_t count, arena *ar, uar_error *err) {
    im->is_loaded = im->is_dirty = false;
    uar_status status = UAR_OK;
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        import_line *l = &lines[i];
        if (l->status == UAR_OK)
            l->status = l->line.is_entry ? import_entry(im, l, ar, &l->err) : import_stream(im, l, ar, &l->err);
        else if (!l->line.is_entry)
            im->has_stream = false; /* entries behind a stream that was refused have none */
        if (memory_stops_at(l->status)) status = error_pass(err, l->status, &l->err);
    }
    if (status == UAR_OK && im->rest.len == 0) status = finish_stream(im, ar, err);
    return status == UAR_OK ? flush_stream(im, err) : status;
}

static uar_status import_lines(importer *im, import_line *lines, arena *ar, uar_error *err) {
    size_t count = 0;
    while (count < BATCH && im->rest.len != 0) {
        uar_str text = line_take(&im->rest);
        im->line_number++;
        if (text.len == 0) continue;
        prepare_line(&lines[count], im, text, ar);
        if (memory_stops_at(lines[count].status)) return error_pass(err, lines[count].status, &lines[count].err);
        count++;
    }
    uar_status status = memory_enter_write(im->memory, err);
    if (status != UAR_OK) return status;
    status = import_batch(im, lines, count, ar, err);
    status = memory_leave_write(im->memory, status, err);
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        if (lines[i].status == UAR_OK) continue;
        im->sum.failed++;
        if (im->failed != NULL) im->failed(im->ctx, lines[i].number, &lines[i].err);
    }
    return status;
}

uar_status uar_memory_stream_import_sync(uar_memory_stream_imported *out, uar_memory *memory, const uar_identity *who,
                                         uar_str lines, uar_memory_line_fn failed, void *ctx, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    import_line *list = (import_line *)alloc_zeroed(&memory->alloc, BATCH, sizeof *list);
    if (list == NULL) return error_plain(err, UAR_E_NOMEM);
    importer im = { .memory = memory, .c = &c, .rest = utf8_without_mark(lines), .failed = failed, .ctx = ctx };
    map_init(&im.alike, &memory->alloc);
    memory_pin(memory); /* the host may free it in `failed` */
    while (status == UAR_OK && im.rest.len != 0) {
        arena ar;
        arena_init(&ar, &memory->alloc);
        status = import_lines(&im, list, &ar, err);
        arena_dispose(&ar);
    }
    alloc_free(&memory->alloc, list);
    map_dispose(&im.alike);
    memory_unpin(memory);
    if (status == UAR_OK) *out = im.sum;
    return status;
}
