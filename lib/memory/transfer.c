/* Owns: export and import. Invariant: what is exported and imported verbatim by an operator gives the same records, versions
 * and counts; no lock is held while a line is handed out. */
#include "base/str.h"
#include "base/utf8.h"
#include "memory/batch.h"
#include "memory/filter.h"
#include "memory/line.h"

/* Rows read in one snapshot. */
#define BATCH 64
/* Lines written in one transaction. */
#define WINDOW 256

/* Rows of one batch as text; `after` moves on. */
static uar_status export_batch(buffer *out, uar_memory *m, const caller *c, const filter *f, int64_t *after,
                               size_t *rows, uar_error *err) {
    arena ar;
    arena_init(&ar, &m->alloc);
    query q;
    query_begin(&q, &m->database, SQL_LIST_UP);
    caller_bind(&q, c);
    filter_bind(&q, f);
    query_int(&q, 18, *after);
    query_int(&q, 19, BATCH);
    uar_status status = UAR_OK;
    *rows = 0;
    while (status == UAR_OK && query_next(&q)) {
        version v;
        bool matches = false;
        *after = query_get_int(&q, 0);
        ++*rows;
        status = version_load(&v, &m->database, *after, &ar, err);
        if (status == UAR_OK) status = filter_matches(&matches, f, &v.r);
        if (status != UAR_OK || !matches) continue;
        json_writer w;
        json_writer_init(&w, out);
        json_object_begin(&w);
        json_put_uint(&w, "v", 1);
        record_json_members(&w, &v.r);
        json_object_end(&w);
        buffer_append_char(out, '\n');
        status = out->status == UAR_OK ? UAR_OK : error_plain(err, out->status);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    arena_dispose(&ar);
    return status == UAR_OK ? end : status;
}

static uar_status export_all(uar_memory *m, const caller *c, const filter *f, uar_memory_write_fn write, void *ctx,
                             uar_error *err) {
    int64_t after = 0;
    buffer out;
    buffer_init(&out, &m->alloc, SIZE_MAX / 4);
    uar_status status = UAR_OK;
    size_t rows = BATCH;
    while (status == UAR_OK && rows == BATCH) {
        status = memory_enter_read(m, err);
        if (status != UAR_OK) break;
        status = export_batch(&out, m, c, f, &after, &rows, err);
        memory_leave_read(m);
        if (status == UAR_OK) status = lines_deliver(&out, write, ctx, err);
    }
    buffer_dispose(&out);
    return status;
}

uar_status uar_memory_export_sync(uar_memory *memory, const uar_identity *who, const uar_memory_filter *given,
                                  uar_memory_write_fn write, void *ctx, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_OK) return status;
    if (write == NULL) return error_set(err, UAR_E_INVALID, "an export needs a writer");
    caller c;
    filter f;
    status = filter_begin(&f, &c, memory, who, given, err);
    if (status != UAR_OK) return status;
    if (f.mode != FILTER_AS_OF) f.mode = FILTER_ALL;
    memory_pin(memory); /* the host may free it in `write` */
    status = export_all(memory, &c, &f, write, ctx, err);
    filter_dispose(&f);
    memory_unpin(memory);
    return status;
}

/* What a line says beyond a draft, put over what a draft would get. */
static void restore(entry *d, const record_line *line) {
    uar_memory_record *r = &d->v.r;
    const uar_memory_record *s = &line->stored;
    if (!uar_uuid_is_none(s->id)) r->id = s->id;
    if (s->updated_ms != 0) r->updated_ms = s->updated_ms;
    if (s->valid_from_ms != INT64_MIN) r->valid_from_ms = s->valid_from_ms;
    if (s->revision != 0) r->revision = s->revision;
    if (line->has_current) r->current = s->current;
    if (!str_is_empty(s->embedder)) r->embedder = s->embedder;
    r->superseded_by = s->superseded_by;
    if (r->valid_until_ms < r->valid_from_ms) r->valid_until_ms = r->valid_from_ms;
    if (!r->current && r->valid_until_ms == r->valid_from_ms) {
        d->v.terms_len = 0;
        d->v.length = 0;
    }
}

/* An id lives in one segment only: else who may see one version could learn of another. UAR_E_EXISTS. */
static uar_status check_same_segment(database *db, const entry *d, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_RECORD_SEGMENT);
    query_uuid(&q, 18, d->v.r.id);
    bool taken = query_next(&q) && query_get_int(&q, 0) != d->v.seg;
    uar_status status = query_end(&q, err);
    if (status == UAR_OK && taken) return error_set(err, UAR_E_EXISTS, "the id of this line is in use");
    return status;
}

/* A line that says what is stored under its id and revision is a repeat; one that says something else is UAR_E_EXISTS.
 * UAR_E_NOT_FOUND: nothing is stored there. */
static uar_status find_stored(database *db, const entry *d, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_VERSION_AT_REVISION);
    query_uuid(&q, 18, d->v.r.id);
    query_int(&q, 19, (int64_t)d->v.r.revision);
    bool found = query_next(&q);
    bool same = found && uar_str_equal(query_get_text(&q, 0), d->v.r.content) &&
                uar_str_equal(query_get_text(&q, 1), d->v.r.metadata);
    uar_status status = query_end(&q, err);
    if (status != UAR_OK) return status;
    if (!found) return UAR_E_NOT_FOUND;
    return same ? UAR_OK : error_set(err, UAR_E_EXISTS, "another record is stored under the id of this line");
}

static uar_status put_usage(database *db, const record_line *line, uar_uuid id, uar_error *err) {
    const uar_memory_record *s = &line->stored;
    if (s->recall_count == 0 && s->reinforced == 0) return UAR_OK;
    query q;
    query_begin(&q, db, SQL_USAGE_PUT);
    query_uuid(&q, 18, id);
    query_int(&q, 19, (int64_t)s->recall_count);
    query_int(&q, 20, s->recalled_ms);
    query_int(&q, 21, (int64_t)s->reinforced);
    return query_run(&q, err);
}

static uar_status insert_verbatim(uar_memory_change *out, entry *d, const record_line *line, uar_memory *m,
                                  uar_error *err) {
    database *db = &m->database;
    restore(d, line);
    memset(out, 0, sizeof *out);
    uar_status status = segment_number_make(&d->v.seg, db, &d->key, d->v.r.owner, err);
    if (status == UAR_OK) status = check_same_segment(db, d, err);
    if (status == UAR_OK) status = find_stored(db, d, err);
    if (status == UAR_OK) {
        out->outcome = UAR_MEMORY_OUTCOME_REINFORCED;
        return UAR_OK;
    }
    if (status != UAR_E_NOT_FOUND) return status;
    out->outcome = UAR_MEMORY_OUTCOME_ADDED;
    status = entry_insert(d, m, err);
    if (status == UAR_OK) status = put_usage(db, line, d->v.r.id, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, db, SQL_TOMBSTONE_DROP);
    query_uuid(&q, 18, d->v.r.id);
    return query_run(&q, err);
}

static uar_status check_owner(const record_line *line, const caller *c, uar_error *err) {
    if (line->stored.owner.ptr == NULL || uar_str_equal(line->stored.owner, c->id.owner)) return UAR_OK;
    return error_set(err, UAR_E_FORBIDDEN, "the line belongs to another owner");
}

/* Old versions have no place among new records. */
static bool is_skipped(const record_line *line, uint32_t flags) {
    return (flags & UAR_MEMORY_IMPORT_VERBATIM) == 0 && line->has_current && !line->stored.current;
}

/* A file may not speak with a host's voice. */
static void lower_trust(record_line *line, const caller *c, uint32_t flags) {
    bool restores = (flags & UAR_MEMORY_IMPORT_VERBATIM) != 0 && c->is_operator;
    if (!restores && line->draft.trust == UAR_MEMORY_TRUST_HOST) line->draft.trust = UAR_MEMORY_TRUST_IMPORT;
}

/* Some lines that are written together. */
typedef struct window {
    arena ar;
    batch_item *items;
    size_t count;
    uar_memory *memory;
    const caller *who;
    uint32_t flags;
} window;

static uar_status write_line_verbatim(uar_memory_change *out, batch_item *item, uar_memory *m, uar_error *err) {
    return insert_verbatim(out, &item->d, item->line, m, err);
}

static uar_status take_record(batch_item *item, window *w, uar_str text, uar_error *err) {
    record_line *line = (record_line *)arena_zeroed(&w->ar, 1, sizeof *line);
    if (line == NULL) return error_plain(err, UAR_E_NOMEM);
    item->line = line;
    item->status = record_json_read(line, &w->ar, text, &item->why);
    if (item->status == UAR_OK) item->status = check_owner(line, w->who, &item->why);
    if (item->status == UAR_E_NOMEM) return error_plain(err, UAR_E_NOMEM);
    if (item->status != UAR_OK) return UAR_OK;
    item->is_skipped = is_skipped(line, w->flags);
    if (item->is_skipped) return UAR_OK;
    lower_trust(line, w->who, w->flags);
    return batch_take(item, w->memory, w->who, &line->draft, err);
}

static void count_item(uar_memory_imported *sum, const batch_item *item) {
    if (item->status != UAR_OK)
        sum->failed++;
    else if (item->is_skipped)
        sum->skipped++;
    else if (item->change.outcome == UAR_MEMORY_OUTCOME_REINFORCED)
        sum->reinforced++;
    else if (item->change.outcome == UAR_MEMORY_OUTCOME_SUPERSEDED)
        sum->superseded++;
    else
        sum->added++;
}

static uar_status read_window(window *w, uar_str *lines, uint64_t *number, uar_error *err) {
    uar_status status = UAR_OK;
    while (status == UAR_OK && w->count < WINDOW && lines->len != 0) {
        uar_str line = line_take(lines);
        ++*number;
        if (line.len == 0) continue;
        batch_item *item = &w->items[w->count++];
        item->number = *number;
        status = take_record(item, w, line, err);
    }
    return status;
}

static uar_status write_window(window *w, uar_error *err) {
    bool verbatim = (w->flags & UAR_MEMORY_IMPORT_VERBATIM) != 0;
    if (w->count == 0) return UAR_OK;
    return batch_run(w->items, w->count, w->memory, verbatim ? write_line_verbatim : NULL, err);
}

static void clear_window(window *w) {
    batch_dispose(w->items, w->count);
    memset(w->items, 0, w->count * sizeof *w->items);
    w->count = 0;
    arena_dispose(&w->ar);
}

uar_status uar_memory_import_sync(uar_memory_imported *out, uar_memory *memory, const uar_identity *who, uar_str lines,
                                  uint32_t flags, uar_memory_line_fn failed, void *ctx, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    if ((flags & ~UAR_MEMORY_IMPORT_VERBATIM) != 0)
        return error_set(err, UAR_E_INVALID, "the import has unknown flags");
    uar_allocator alloc = memory->alloc;
    window w = { .memory = memory, .who = &c, .flags = flags };
    arena_init(&w.ar, &alloc);
    w.items = (batch_item *)alloc_zeroed(&alloc, WINDOW, sizeof *w.items);
    if (w.items == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_memory_imported sum = { 0, 0, 0, 0, 0 };
    uint64_t number = 0;
    lines = utf8_without_mark(lines);
    memory_pin(memory); /* the host may free it in a callback */
    while (status == UAR_OK && lines.len != 0) {
        status = read_window(&w, &lines, &number, err);
        if (status == UAR_OK) status = write_window(&w, err);
        for (size_t i = 0; status == UAR_OK && i < w.count; i++) {
            count_item(&sum, &w.items[i]);
            if (w.items[i].status != UAR_OK && failed != NULL) failed(ctx, w.items[i].number, &w.items[i].why);
        }
        clear_window(&w);
    }
    alloc_free(&alloc, w.items);
    memory_unpin(memory);
    if (status == UAR_OK) *out = sum;
    return status;
}
