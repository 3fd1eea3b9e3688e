/*
 * Owns: compressing: many records become one summary. Invariants: the summary and the end of its sources are one transaction;
 * the sources are those that were summarised, unchanged since; the summary is no more trusted than the least of them.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/str.h"
#include "memory/expire.h"
#include "memory/filter.h"
#include "memory/summary.h"
#include "memory/write.h"

#define SOURCES_MAX 1000
#define SOURCE_BYTES_MAX ((size_t)1024 * 1024)
/* Of the bundled rule, if the host doesn't say how long. */
#define EXTRACT_BYTES_MAX ((size_t)2048)

typedef struct compression {
    arena ar;
    uar_memory *memory;
    const caller *who;
    uar_memory_compress_options options;
    version *sources; /* oldest first */
    uar_memory_record *records;
    size_t count, bytes;
    buffer summary;
} compression;

/* Facts are looked up by their slot, what expires goes by itself, and what begins later can't end now: they stay. */
static bool is_compressible(const version *v, int64_t now) {
    return !v->has_slot && v->r.expires_s == 0 && v->r.valid_from_ms <= now;
}

static uar_status take_source(compression *x, const version *v, uar_error *err) {
    if (x->count != 0 && v->seg != x->sources[0].seg)
        return error_set(err, UAR_E_INVALID, "the records belong to several scopes; a filter must name one");
    x->bytes += v->r.content.len;
    if (x->count == SOURCES_MAX || x->bytes > SOURCE_BYTES_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "more than %d records or 1 MiB match; a narrower filter is needed",
                         SOURCES_MAX);
    x->sources[x->count++] = *v;
    return UAR_OK;
}

static uar_status gather(compression *x, const filter *f, uar_error *err) {
    database *db = &x->memory->database;
    query q;
    query_begin(&q, db, SQL_LIST_UP);
    caller_bind(&q, x->who);
    filter_bind(&q, f);
    query_int(&q, 18, 0);
    query_int(&q, 19, -1);
    uar_status status = UAR_OK;
    while (status == UAR_OK && query_next(&q)) {
        version v;
        bool matches = false;
        status = version_load(&v, db, query_get_int(&q, 0), &x->ar, err);
        if (status == UAR_OK) status = filter_matches(&matches, f, &v.r);
        if (status == UAR_OK && matches && is_compressible(&v, f->now)) status = take_source(x, &v, err);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : status;
}

static int by_time(const void *a, const void *b) {
    const version *x = a;
    const version *y = b;
    if (x->r.created_ms != y->r.created_ms) return x->r.created_ms < y->r.created_ms ? -1 : 1;
    return x->num < y->num ? -1 : x->num > y->num;
}

static uar_status read_sources(compression *x, const filter *f, uar_error *err) {
    x->sources = (version *)arena_zeroed(&x->ar, SOURCES_MAX, sizeof *x->sources);
    x->records = (uar_memory_record *)arena_zeroed(&x->ar, SOURCES_MAX, sizeof *x->records);
    if (x->sources == NULL || x->records == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_status status = memory_enter_read(x->memory, err);
    if (status != UAR_OK) return status;
    status = gather(x, f, err);
    memory_leave_read(x->memory);
    if (status != UAR_OK) return status;
    if (x->count < 2) return error_set(err, UAR_E_NOT_FOUND, "fewer than two records match: nothing to compress");
    qsort(x->sources, x->count, sizeof *x->sources, by_time);
    for (size_t i = 0; i < x->count; i++)
        x->records[i] = x->sources[i].r;
    return caller_may_write(x->who, x->sources[0].r.scope, err);
}

static uar_status take_piece(void *ctx, uar_str piece) {
    buffer *out = ctx;
    buffer_append_str(out, piece);
    return out->status;
}

static uar_status extract(compression *x, uar_error *err) {
    size_t wished = x->options.max_bytes;
    if (wished == 0) wished = x->bytes / 3 < EXTRACT_BYTES_MAX ? x->bytes / 3 : EXTRACT_BYTES_MAX;
    if (wished >= x->bytes) wished = x->bytes - 1;
    size_t most = x->options.max_bytes != 0 ? wished : x->bytes - 1;
    uar_status status =
        summary_extract(&x->summary, x->memory->database.key, x->records, x->count, wished, most != 0 ? most : 1);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

/* Without the lock: the host may ask the memory while it summarises. */
static uar_status summarise(compression *x, uar_error *err) {
    uar_status status = UAR_OK;
    if (x->options.summary.ptr != NULL) {
        buffer_append_str(&x->summary, x->options.summary);
    } else if (x->options.summarize != NULL) {
        uar_memory_records sources = { x->records, x->count, { NULL, 0 } };
        status = x->options.summarize(x->options.ctx, &sources, take_piece, &x->summary);
        if (status != UAR_OK && x->summary.status == UAR_OK) return error_set(err, status, "the summary was not made");
    } else {
        status = extract(x, err);
    }
    if (x->summary.status == UAR_E_TOO_LARGE)
        return error_set(err, UAR_E_TOO_LARGE, "the summary has more than %zu bytes", MEMORY_TEXT_MAX);
    if (x->summary.status != UAR_OK) return error_plain(err, x->summary.status);
    if (status == UAR_OK && x->summary.len >= x->bytes)
        return error_set(err, UAR_E_TOO_LARGE, "the summary has %zu bytes, and its sources only %zu", x->summary.len,
                         x->bytes);
    return status;
}

/* What the summary has of its sources. Labels beyond the most that a record may have are left to them. */
static uar_status describe(uar_memory_draft *d, compression *x, uar_error *err) {
    const uar_memory_record *first = &x->records[0];
    uar_memory_record labels = { .category_count = 0 };
    d->content = buffer_str(&x->summary);
    d->scope = first->scope;
    d->type = x->options.type != 0 ? x->options.type : first->type;
    d->trust = x->options.trust != 0 ? x->options.trust : UAR_MEMORY_TRUST_HOST;
    d->importance = 0;
    if (!scope_is_shared(first->scope)) d->user = first->user;
    if (first->scope == UAR_MEMORY_SCOPE_AGENT) d->agent = first->agent;
    if (first->scope == UAR_MEMORY_SCOPE_SESSION) d->session = first->session;
    if (first->scope == UAR_MEMORY_SCOPE_TASK) d->task = first->task;
    for (size_t i = 0; i < x->count; i++) {
        const uar_memory_record *r = &x->records[i];
        if (x->options.type == 0 && r->type != d->type) d->type = UAR_MEMORY_TYPE_SEMANTIC;
        if (r->trust > d->trust) d->trust = r->trust;
        if (r->importance > d->importance) d->importance = r->importance;
        if (content_merge_labels(&labels, &x->ar, r) != UAR_OK) return error_plain(err, UAR_E_NOMEM);
        if (labels.category_count > MEMORY_CATEGORIES_MAX) labels.category_count = MEMORY_CATEGORIES_MAX;
    }
    d->categories = labels.categories;
    d->category_count = labels.category_count;
    return UAR_OK;
}

/* Another writer may have been faster. */
static uar_status check_unchanged(compression *x, const version *source, int64_t now, uar_error *err) {
    version v;
    uar_status status = version_load(&v, &x->memory->database, source->num, &x->ar, NULL);
    if (status == UAR_OK && v.r.current && v.r.revision == source->r.revision && uar_uuid_equal(v.r.id, source->r.id) &&
        uar_uuid_is_none(v.r.superseded_by) && v.r.valid_until_ms > now && is_compressible(&v, now))
        return UAR_OK;
    if (status != UAR_OK && status != UAR_E_NOT_FOUND) return error_plain(err, status);
    return error_set(err, UAR_E_CONFLICT, "a record was changed while it was summarised");
}

static uar_status archive(compression *x, entry *d, uar_error *err) {
    uar_status status = entry_segment(d, &x->memory->database, err);
    assert(status != UAR_OK || d->v.seg == x->sources[0].seg);
    for (size_t i = 0; status == UAR_OK && i < x->count; i++)
        status = check_unchanged(x, &x->sources[i], d->now, err);
    if (status == UAR_OK) status = entry_insert(d, x->memory, err);
    for (size_t i = 0; status == UAR_OK && i < x->count; i++)
        status = version_end(x->memory, &x->sources[i], d->now, d->v.r.id, d->now, err);
    return status;
}

static uar_status commit(uar_memory_compression *out, compression *x, uar_error *err) {
    uar_memory_draft draft;
    uar_memory_draft_init(&draft);
    uar_status status = describe(&draft, x, err);
    if (status != UAR_OK) return status;
    entry d;
    float *vector = NULL;
    status = entry_make(&d, x->memory, x->who, &draft, err);
    if (status == UAR_OK) d.vector = vector = entry_vectors(x->memory, &d.v.r.content, 1);
    if (status == UAR_OK) status = memory_enter_write(x->memory, err);
    if (status == UAR_OK) {
        status = archive(x, &d, err);
        status = memory_leave_write(x->memory, status, err);
    }
    *out = (uar_memory_compression){ d.v.r.id, x->count, x->bytes, x->summary.len, d.v.r.trust };
    entry_dispose(&d);
    alloc_free(&x->memory->alloc, vector);
    return status;
}

static uar_status check_options(uar_memory_compress_options *out, const uar_memory_compress_options *given,
                                uar_error *err) {
    uar_status status = struct_in(out, sizeof *out, given, "uar_memory_compress_options", err);
    if (status != UAR_OK) return status;
    if (out->trust != 0 && uar_memory_trust_name(out->trust) == NULL)
        return error_set(err, UAR_E_INVALID, "there is no such trust tier");
    if (out->type != 0 && uar_memory_type_name(out->type) == NULL)
        return error_set(err, UAR_E_INVALID, "there is no such memory type");
    return UAR_OK;
}

static uar_status compress(uar_memory_compression *out, compression *x, const filter *f, uar_error *err) {
    uar_status status = read_sources(x, f, err);
    if (status == UAR_OK) status = summarise(x, err);
    return status == UAR_OK ? commit(out, x, err) : status;
}

uar_status uar_memory_compress_sync(uar_memory_compression *out, uar_memory *memory, const uar_identity *who,
                                    const uar_memory_filter *given, const uar_memory_compress_options *options,
                                    uar_error *err) {
    caller c;
    filter f;
    compression x = { .memory = memory, .who = &c };
    uar_status status = check_options(&x.options, options, err);
    if (status == UAR_OK) status = filter_begin(&f, &c, memory, who, given, err);
    if (status != UAR_OK) return status;
    if (f.mode == FILTER_AS_OF) status = error_set(err, UAR_E_INVALID, "the past can't be compressed as of a time");
    f.mode = FILTER_LIVE;
    memory_pin(memory); /* the host may free it in a callback */
    arena_init(&x.ar, &memory->alloc);
    buffer_init(&x.summary, &memory->alloc, MEMORY_TEXT_MAX);
    uar_memory_compression done;
    if (status == UAR_OK) status = compress(&done, &x, &f, err);
    buffer_dispose(&x.summary);
    arena_dispose(&x.ar);
    filter_dispose(&f);
    if (status == UAR_OK) expire_behind_write(memory);
    memory_unpin(memory);
    if (status == UAR_OK) *out = done;
    return status;
}
