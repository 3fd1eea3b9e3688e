/*
 * Calls of the conformance kit, and the records and writes that it makes them with.
 * Owns the open call: it lives on the caller's stack, because a call that is given up is detached first.
 */
#include <assert.h>

#include "base/completion.h"
#include "base/lock.h"
#include "base/utf8.h"
#include "store/check.h"

/* ---- waiting ---- */

typedef struct call {
    kit *k;
    mutex lock;
    condition ended;
    bool has_ended;
    bool is_malformed; /* a text has a length but no bytes */
    char said[KIT_SAID];
    uar_status status;
    uar_record *records;
    size_t count;
} call;

static bool is_text(uar_str s) {
    return s.ptr != NULL || s.len == 0;
}

static bool is_record(const uar_record *r) {
    return is_text(r->owner) && is_text(r->id) && is_text(r->parent) && is_text(r->body) && is_text(r->blob);
}

/* Copies the answer while it is still lent. The kit's thread waits, so its arena is free to use. */
static void keep_records(call *c, const completion_result *result) {
    arena *memory = &c->k->memory;
    c->records = arena_zeroed(memory, result->record_count, sizeof *c->records);
    if (c->records == NULL) c->status = UAR_E_NOMEM;
    for (size_t i = 0; i < result->record_count && c->status == UAR_OK; i++) {
        if (!is_record(&result->records[i])) {
            c->is_malformed = true;
            return;
        }
        c->status = record_copy(&c->records[i], memory, &result->records[i]);
        c->count++;
    }
    if (c->status == UAR_E_NOMEM) c->k->is_out_of_memory = true;
}

static void on_end(void *arg, const completion_result *result) {
    call *c = arg;
    c->status = result->status;
    if (c->status != UAR_OK && result->message != NULL) {
        size_t len = utf8_cut(uar_str_of(result->message), KIT_SAID - 1);
        memcpy(c->said, result->message, len);
    }
    if (c->status == UAR_OK && result->record_count > 0) keep_records(c, result);
    mutex_lock(&c->lock);
    c->has_ended = true;
    condition_signal(&c->ended);
    mutex_unlock(&c->lock);
}

static uar_status call_init(call *c, kit *k) {
    *c = (call){ .k = k };
    uar_status status = mutex_init(&c->lock);
    if (status != UAR_OK) return status;
    status = condition_init(&c->ended);
    if (status != UAR_OK) mutex_dispose(&c->lock);
    return status;
}

/* Until the call has ended or the kit's patience is over. */
static void call_wait(call *c, uar_completion *done) {
    mutex_lock(&c->lock);
    bool in_time = true;
    while (!c->has_ended && in_time)
        in_time = condition_wait(&c->ended, &c->lock, c->k->measures.patience_ms);
    bool is_late = !c->has_ended;
    mutex_unlock(&c->lock);
    if (is_late && completion_detach(done)) {
        c->status = UAR_E_TIMEOUT;
        c->k->is_hung = true;
        return;
    }
    mutex_lock(&c->lock);
    while (!c->has_ended)
        condition_wait(&c->ended, &c->lock, UAR_FOREVER);
    mutex_unlock(&c->lock);
}

/* A layer that ends a call elsewhere may let go of it a little later. */
static void look_back(kit *k, const uar_completion *done) {
    enum { PAUSE_MS = 1 };
    call pause;
    if (call_init(&pause, k) != UAR_OK) return;
    mutex_lock(&pause.lock);
    for (uint32_t waited = 0; completion_is_held(done) && waited < k->measures.patience_ms; waited += PAUSE_MS)
        (void)condition_wait(&pause.ended, &pause.lock, PAUSE_MS);
    mutex_unlock(&pause.lock);
    condition_dispose(&pause.ended);
    mutex_dispose(&pause.lock);
    k->was_held = k->was_held || completion_is_held(done);
    k->stale += completion_stale_finishes(done);
}

typedef void (*ask_fn)(kit *k, const void *question, uar_completion *done);

static uar_status ask(call *c, kit *k, completion_kind kind, ask_fn fn, const void *question) {
    if (k->is_hung || k->is_gone) return UAR_E_TIMEOUT;
    uar_status status = call_init(c, k);
    uar_completion *done = status == UAR_OK ? completion_new(&alloc_default, kind, on_end, c) : NULL;
    if (done == NULL) {
        if (status == UAR_OK) {
            condition_dispose(&c->ended);
            mutex_dispose(&c->lock);
        }
        k->is_out_of_memory = true;
        return UAR_E_NOMEM;
    }
    completion_lend(done);
    fn(k, question, done);
    completion_return(done);
    call_wait(c, done);
    if (k->watches_ends && !k->is_hung && !k->was_held) look_back(k, done);
    memcpy(k->said, c->said, sizeof k->said);
    completion_release(done);
    condition_dispose(&c->ended);
    mutex_dispose(&c->lock);
    return c->is_malformed ? UAR_E_PROTOCOL : c->status;
}

/* ---- calls ---- */

/* Texts of a question in memory that can be overwritten while the answer is still open. */
static uar_str lend(kit *k, uar_str text) {
    if (!k->scribbles || text.ptr == NULL) return text;
    char *copy = kit_memory(k, text.len + 1);
    if (copy == NULL) return text;
    if (text.len > 0) memcpy(copy, text.ptr, text.len);
    return uar_str_n(copy, text.len);
}

static void take_back(const kit *k, uar_str text) {
    if (k->scribbles && text.ptr != NULL && !k->is_out_of_memory) memset((void *)(uintptr_t)text.ptr, '#', text.len);
}

static void ask_get(kit *k, const void *question, uar_completion *done) {
    const uar_record *q = question;
    uar_str owner = lend(k, q->owner), id = lend(k, q->id);
    k->layer.get(k->layer.ctx, q->kind, owner, id, done);
    take_back(k, owner);
    take_back(k, id);
}

uar_status kit_get(uar_record *out, kit *k, uint32_t kind, uar_str owner, uar_str id) {
    const uar_record question = { .kind = kind, .owner = owner, .id = id };
    call c;
    uar_status status = ask(&c, k, COMPLETION_RECORDS, ask_get, &question);
    if (status != UAR_OK) return status;
    if (c.count != 1) return UAR_E_PROTOCOL;
    *out = c.records[0];
    return UAR_OK;
}

static void ask_list(kit *k, const void *question, uar_completion *done) {
    uar_list_query q = *(const uar_list_query *)question;
    q.owner = lend(k, q.owner);
    q.parent = lend(k, q.parent);
    q.after_id = lend(k, q.after_id);
    k->layer.list(k->layer.ctx, &q, done);
    take_back(k, q.owner);
    take_back(k, q.parent);
    take_back(k, q.after_id);
    if (k->scribbles) memset(&q, 0, sizeof q);
}

uar_status kit_list(kit_page *out, kit *k, const uar_list_query *query) {
    call c;
    uar_status status = ask(&c, k, COMPLETION_RECORDS, ask_list, query);
    if (status != UAR_OK) return status;
    if (c.count > query->limit) return UAR_E_PROTOCOL;
    *out = (kit_page){ c.records, c.count };
    return UAR_OK;
}

typedef struct commit_question {
    const uar_write *writes;
    size_t count;
} commit_question;

static void ask_commit(kit *k, const void *question, uar_completion *done) {
    const commit_question *q = question;
    k->layer.commit(k->layer.ctx, q->writes, q->count, done);
}

static void note_home(kit *k, const uar_record *r) {
    for (size_t i = 0; i < k->home_count; i++)
        if (k->homes[i].kind == r->kind && uar_str_equal(k->homes[i].owner, r->owner)) return;
    if (k->home_count == KIT_HOMES) return;
    uar_str owner = arena_str(&k->memory, r->owner);
    if (owner.ptr != NULL) k->homes[k->home_count++] = (kit_home){ r->kind, owner };
}

uar_status kit_commit(kit *k, const uar_write *writes, size_t count) {
    /* Writes are lent until the call has ended, which may be never: they must outlive this call. */
    uar_write *lent = arena_alloc(&k->memory, count * sizeof *lent);
    if (lent == NULL) {
        k->is_out_of_memory = true;
        return UAR_E_NOMEM;
    }
    memcpy(lent, writes, count * sizeof *lent);
    for (size_t i = 0; i < count; i++)
        if (lent[i].op == UAR_WRITE_PUT) note_home(k, &lent[i].record);
    const commit_question question = { lent, count };
    call c;
    return ask(&c, k, COMPLETION_OK, ask_commit, &question);
}

static bool sweep_page(kit *k, const kit_home *home) {
    const uar_list_query query = { .kind = home->kind, .owner = home->owner, .limit = 100 };
    kit_page page;
    if (kit_list(&page, k, &query) != UAR_OK || page.count == 0) return false;
    uar_write *writes = arena_zeroed(&k->memory, page.count, sizeof *writes);
    if (writes == NULL) return false;
    for (size_t i = 0; i < page.count; i++)
        writes[i] = kit_delete(page.records[i], page.records[i].revision);
    return kit_commit(k, writes, page.count) == UAR_OK;
}

void kit_sweep(kit *k) {
    enum { PAGES = 50 }; /* a faulty layer must not hold us for ever */
    for (size_t i = 0; i < k->home_count; i++)
        for (int pages = 0; pages < PAGES && sweep_page(k, &k->homes[i]); pages++) {}
}

/* ---- records and writes ---- */

static uar_record sealed(kit *k, uar_record r) {
    if (record_seal(&r) != UAR_OK) k->is_out_of_memory = true;
    return r;
}

uar_record kit_record(kit *k, uar_str id) {
    return sealed(k, (uar_record){ .kind = UAR_RECORD_MESSAGE,
                                   .schema = 1,
                                   .owner = k->owner,
                                   .id = id,
                                   .revision = 1,
                                   .created_ms = 1700000000000,
                                   .updated_ms = 1700000000001,
                                   .body = STR("{\"text\":\"first\"}") });
}

uar_record kit_child(kit *k, uar_str id, uar_str parent) {
    uar_record r = kit_record(k, id);
    r.parent = parent;
    return sealed(k, r);
}

uar_record kit_sorted(kit *k, uar_str id, uar_str parent, int64_t sort) {
    uar_record r = kit_child(k, id, parent);
    r.has_sort = true;
    r.sort = sort;
    return sealed(k, r);
}

uar_record kit_newer(kit *k, uar_record record, uint64_t revision) {
    record.revision = revision;
    record.updated_ms++;
    record.body = STR("{\"text\":\"newer\"}");
    return sealed(k, record);
}

uar_write kit_put(uar_record record, uint64_t expected) {
    return (uar_write){ .op = UAR_WRITE_PUT, .expected = expected, .record = record };
}

static uar_write by_key(uar_write_op op, const uar_record *r, uint64_t expected) {
    return (uar_write){ .op = op, .expected = expected, .record = { .kind = r->kind, .owner = r->owner, .id = r->id } };
}

uar_write kit_delete(uar_record record, uint64_t expected) {
    return by_key(UAR_WRITE_DELETE, &record, expected);
}

uar_write kit_fence(uar_record record, uint64_t expected) {
    return by_key(UAR_WRITE_CHECK, &record, expected);
}

uar_write kit_delete_children(uar_record child) {
    return (uar_write){ .op = UAR_WRITE_DELETE_CHILDREN,
                        .record = { .kind = child.kind, .owner = child.owner, .parent = child.parent } };
}

void *kit_memory(kit *k, size_t size) {
    void *memory = arena_alloc(&k->memory, size);
    if (memory == NULL) k->is_out_of_memory = true;
    return memory;
}

void kit_fork(kit *own, const kit *of) {
    *own = *of;
    own->home_count = 0;
    uar_error_init(&own->fault);
    arena_init(&own->memory, of->memory.alloc);
}

bool kit_join(kit *k, kit *own, bool is_kept) {
    if (!is_kept && k->fault.code == UAR_OK) error_copy(&k->fault, &own->fault);
    k->is_hung = k->is_hung || own->is_hung;
    k->is_out_of_memory = k->is_out_of_memory || own->is_out_of_memory;
    if (!own->is_hung) arena_dispose(&own->memory);
    return is_kept;
}

uar_str kit_name(kit *k, const char *prefix, size_t number) {
    char digits[5] = "0000";
    assert(number < 10000);
    for (size_t i = 4; i-- > 0; number /= 10)
        digits[i] = (char)('0' + number % 10);
    size_t len = strlen(prefix);
    char *text = arena_alloc(&k->memory, len + sizeof digits);
    if (text == NULL) {
        k->is_out_of_memory = true;
        return STR("no-memory");
    }
    memcpy(text, prefix, len);
    memcpy(text + len, digits, sizeof digits);
    return uar_str_n(text, len + 4);
}

uar_str kit_bytes(kit *k, size_t len) {
    char *bytes = arena_alloc(&k->memory, len);
    if (bytes == NULL) {
        k->is_out_of_memory = true;
        return STR("");
    }
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(unsigned char)((i * 31 + i / 256) & 0xff);
    return uar_str_n(bytes, len);
}
