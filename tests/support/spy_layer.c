/* A volatile layer under a test's eyes: see spy_layer.h. */
#include "support/spy_layer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/completion.h"
#include "store/record.h"

/* ---- straight at the records ---- */

typedef struct answer {
    spy_layer *spy;
    uar_status status;
    uar_record *records;
    size_t count, max;
} answer;

static void take(void *arg, const completion_result *r) {
    answer *a = arg;
    a->status = r->status;
    for (size_t i = 0; i < r->record_count && a->count < a->max; i++)
        if (record_copy(&a->records[a->count++], &a->spy->mem, &r->records[i]) != UAR_OK) abort();
}

static uar_completion *ask(answer *a, completion_kind kind) {
    uar_completion *done = completion_new(&alloc_default, kind, take, a);
    if (done == NULL) abort();
    completion_lend(done);
    return done;
}

static void asked(uar_completion *done) {
    completion_return(done);
    completion_release(done);
}

uar_status spy_get(spy_layer *s, uar_record *out, uint32_t kind, const char *owner, const char *id) {
    answer a = { s, UAR_E_INTERNAL, out, 0, 1 };
    uar_completion *done = ask(&a, COMPLETION_RECORDS);
    s->inner.get(s->inner.ctx, kind, uar_str_of(owner), uar_str_of(id), done);
    asked(done);
    return a.status;
}

size_t spy_list(spy_layer *s, uar_record *out, size_t max, uint32_t kind, const char *owner) {
    answer a = { s, UAR_E_INTERNAL, out, 0, max };
    uar_list_query query = { .kind = kind, .owner = uar_str_of(owner), .limit = 1000 };
    uar_completion *done = ask(&a, COMPLETION_RECORDS);
    s->inner.list(s->inner.ctx, &query, done);
    asked(done);
    if (a.status != UAR_OK) abort();
    return a.count;
}

size_t spy_count(spy_layer *s, uint32_t kind, const char *owner) {
    uar_record *records = calloc(1000, sizeof *records);
    if (records == NULL) abort();
    size_t count = spy_list(s, records, 1000, kind, owner);
    free(records);
    return count;
}

static void write_one(spy_layer *s, const uar_write *w) {
    answer a = { s, UAR_E_INTERNAL, NULL, 0, 0 };
    uar_completion *done = ask(&a, COMPLETION_OK);
    s->inner.commit(s->inner.ctx, w, 1, done);
    asked(done);
    if (a.status != UAR_OK) abort();
}

void spy_put(spy_layer *s, uar_record record) {
    uar_write w = { .op = UAR_WRITE_PUT, .expected = record.revision, .record = record };
    w.record.revision++;
    if (record_seal(&w.record) != UAR_OK) abort();
    write_one(s, &w);
}

void spy_delete(spy_layer *s, const uar_record *record) {
    uar_write w = { .op = UAR_WRITE_DELETE, .expected = record->revision, .record = *record };
    write_one(s, &w);
}

/* ---- the door ---- */

static void spy_destroy(void *ctx) {
    spy_layer *s = ctx;
    s->inner.destroy(s->inner.ctx);
}

static void spy_door_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    spy_layer *s = ctx;
    s->gets++;
    s->inner.get(s->inner.ctx, kind, owner, id, done);
}

static void count_listed(void *arg, const completion_result *r) {
    *(size_t *)arg += r->record_count;
}

static void spy_door_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    spy_layer *s = ctx;
    uar_completion *look = completion_new(&alloc_default, COMPLETION_RECORDS, count_listed, &s->listed);
    if (look == NULL) abort();
    s->lists++;
    completion_lend(look);
    s->inner.list(s->inner.ctx, query, look);
    asked(look);
    s->inner.list(s->inner.ctx, query, done);
}

static void spy_door_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    spy_layer *s = ctx;
    s->commits++;
    for (size_t i = 0; i < count; i++)
        if (writes[i].op == UAR_WRITE_PUT) s->bytes += writes[i].record.body.len + writes[i].record.blob.len;
    if (s->before_commit != NULL) s->before_commit(s->before_ctx, writes, count);
    if (s->commits != s->fail_at) {
        s->inner.commit(s->inner.ctx, writes, count, done);
        return;
    }
    if (s->fail_after) {
        answer a = { s, UAR_E_INTERNAL, NULL, 0, 0 };
        uar_completion *unheard = ask(&a, COMPLETION_OK);
        s->inner.commit(s->inner.ctx, writes, count, unheard);
        asked(unheard);
        if (a.status != UAR_OK) abort();
    }
    (void)uar_completion_fail(done, s->fail_status, "it was told to fail");
}

void spy_init(spy_layer *s) {
    memset(s, 0, sizeof *s);
    arena_init(&s->mem, &alloc_default);
    s->inner = *uar_persistence_volatile();
    s->door = (uar_persistence){ UAR_PERSISTENCE_INIT,   .ctx = s,
                                 .destroy = spy_destroy, .get = spy_door_get,
                                 .list = spy_door_list,  .commit = spy_door_commit };
}

void spy_dispose(spy_layer *s) {
    arena_dispose(&s->mem);
}
