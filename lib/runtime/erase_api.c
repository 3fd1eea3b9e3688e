/*
 * Erasing an owner. Owns nothing.
 * Order: all sessions become tombstones first, so that no run writes what is being removed; then records go by kind, then what
 * names the owner under "~", then memory, and last the files are rebuilt. Each step can be done again: a call that was cut
 * short is made once more.
 */
#include <uar/lifecycle.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "memory/owner.h"
#include "runtime/removal.h"

#define PAGE 32
/* Batches that somebody else may disturb in a row. */
#define CONFLICTS_MAX 64

typedef enum erase_stage {
    ERASE_AT_START,
    ERASE_AT_SESSIONS,
    ERASE_AT_MARK,
    ERASE_AT_KIND,
    ERASE_AT_KIND_GONE,
    ERASE_AT_INDEX,
    ERASE_AT_INDEX_GONE,
    ERASE_AT_MEMORY,
    ERASE_AT_FILES
} erase_stage;

static const struct {
    uint32_t kind;
    const char *name;
} kinds[] = {
#define X_KIND(name, number, json, docs) { number, json },
    UAR_RECORD_KINDS(X_KIND)
#undef X_KIND
};
#define KIND_COUNT (sizeof kinds / sizeof *kinds)

static const uint32_t indexes[] = { UAR_RECORD_OPEN_RUN, UAR_RECORD_ATTACHMENT, UAR_RECORD_OUTBOX };
#define INDEX_COUNT (sizeof indexes / sizeof *indexes)

typedef struct erasing {
    erase_stage stage;
    struct {
        uar_str user, session;
    } page[PAGE];
    size_t page_count, page_at;
    bool page_is_full;
    removal removal;
    size_t at; /* kind or index */
    uint32_t conflicts;
    uint64_t counts[KIND_COUNT], marks;
    owner_erasure memory;
    uar_status memory_status;
    uar_error memory_error;
    store_care care;
    int64_t started_ms;
} erasing;

static void fail(request *q, uar_status status) {
    request_end(q, status, uar_status_text(status));
}

/* ---- sessions ---- */

static void ask_sessions(request *q) {
    erasing *e = q->state;
    e->stage = ERASE_AT_SESSIONS;
    request_list(q, UAR_RECORD_SESSION, q->owner, uar_str_of(NULL), UAR_ORDER_KEY, 0, PAGE);
}

static void next_kind(request *q);
static void go_mark(request *q);

static void next_session(request *q) {
    erasing *e = q->state;
    if (e->page_at == e->page_count) {
        if (e->page_is_full)
            ask_sessions(q);
        else
            next_kind(q);
        return;
    }
    uar_status status = removal_begin(&e->removal, q, q->owner, e->page[e->page_at].user, e->page[e->page_at].session);
    e->removal.only_marks = true;
    e->page_at++;
    e->stage = ERASE_AT_MARK;
    if (status != UAR_OK)
        fail(q, status);
    else
        go_mark(q);
}

static void go_mark(request *q) {
    erasing *e = q->state;
    switch (removal_step(&e->removal, q)) {
    case REMOVAL_ASKS: return;
    case REMOVAL_DONE: next_session(q); return;
    case REMOVAL_FAILED: break;
    }
    /* One that is gone, or not born, is removed with its kind. */
    if (q->op.status == UAR_E_NOT_FOUND)
        next_session(q);
    else
        request_end(q, q->op.status, q->op.error.message);
}

static void got_sessions(request *q) {
    erasing *e = q->state;
    if (!request_went_well(q)) return;
    e->page_at = e->page_count = 0;
    e->page_is_full = q->op.record_count == PAGE;
    for (size_t i = 0; i < q->op.record_count; i++) {
        uar_session s;
        session_life life;
        uar_status status = session_decode_whole(&s, &life, request_mem(q), &q->op.records[i], NULL);
        if (status == UAR_E_NOMEM) {
            fail(q, status);
            return;
        }
        if (status != UAR_OK) continue; /* damaged: nobody can write it, and it goes with its kind */
        e->page[e->page_count].user = s.user;
        e->page[e->page_count++].session = s.session;
    }
    if (e->page_is_full) {
        q->value = arena_str(request_mem(q), q->op.records[PAGE - 1].id);
        if (q->value.ptr == NULL) {
            fail(q, UAR_E_NOMEM);
            return;
        }
    }
    next_session(q);
}

/* ---- records ---- */

static uar_write *begin_commit(request *q, size_t count) {
    q->op.call = STORE_COMMIT;
    q->op.write_count = 0;
    q->op.writes = arena_zeroed(&q->op.mem, count, sizeof *q->op.writes);
    return q->op.writes;
}

static void add_delete(request *q, const uar_record *r) {
    uar_write *w = &q->op.writes[q->op.write_count++];
    w->op = UAR_WRITE_DELETE;
    w->expected = r->revision;
    w->record.kind = r->kind;
    w->record.owner = r->owner;
    w->record.id = r->id;
}

static void next_index(request *q);

static void next_kind(request *q) {
    erasing *e = q->state;
    q->value = uar_str_of(NULL);
    if (e->at == KIND_COUNT) {
        e->at = 0;
        next_index(q);
        return;
    }
    e->stage = ERASE_AT_KIND;
    request_list(q, kinds[e->at].kind, q->owner, uar_str_of(NULL), UAR_ORDER_KEY, 0, PAGE);
}

static void got_kind(request *q) {
    erasing *e = q->state;
    if (!request_went_well(q)) return;
    if (q->op.record_count == 0) {
        e->at++;
        next_kind(q);
        return;
    }
    if (begin_commit(q, q->op.record_count) == NULL) {
        fail(q, UAR_E_NOMEM);
        return;
    }
    for (size_t i = 0; i < q->op.record_count; i++)
        add_delete(q, &q->op.records[i]);
    e->stage = ERASE_AT_KIND_GONE;
    request_submit(q);
}

/* True if the batch went, or somebody else moved it, which is looked at again. */
static bool is_settled(request *q, uint64_t *count) {
    erasing *e = q->state;
    if (q->op.status == UAR_OK) {
        e->conflicts = 0;
        *count += q->op.write_count;
    } else if (q->op.status != UAR_E_CONFLICT || ++e->conflicts > CONFLICTS_MAX) {
        return request_went_well(q);
    }
    return true;
}

/* ---- what names the owner under "~" ---- */

static void ask_index(request *q) {
    erasing *e = q->state;
    e->stage = ERASE_AT_INDEX;
    request_list(q, indexes[e->at], STR(UAR_SYSTEM_OWNER), uar_str_of(NULL), UAR_ORDER_KEY, 0, PAGE);
}

static void erase_memory(void *arg);

static void next_index(request *q) {
    erasing *e = q->state;
    q->value = uar_str_of(NULL);
    if (e->at < INDEX_COUNT) {
        ask_index(q);
        return;
    }
    e->stage = ERASE_AT_MEMORY;
    q->task.fn = erase_memory;
    q->task.arg = q;
    q->rt->env.executor.post(q->rt->env.executor.ctx, &q->task, true);
}

static bool names_owner(request *q, const uar_record *r) {
    open_run o;
    attachment_mark m;
    sweep_root root;
    arena *mem = &q->op.mem;
    switch (r->kind) {
    case UAR_RECORD_OPEN_RUN: return open_run_decode(&o, mem, r, NULL) == UAR_OK && uar_str_equal(o.owner, q->owner);
    case UAR_RECORD_ATTACHMENT:
        return attachment_mark_decode(&m, mem, r, NULL) == UAR_OK && uar_str_equal(m.owner, q->owner);
    default: return sweep_job_decode(&root, mem, r, NULL) == UAR_OK && uar_str_equal(root.owner, q->owner);
    }
}

static void got_index(request *q) {
    erasing *e = q->state;
    if (!request_went_well(q)) return;
    size_t count = q->op.record_count;
    const uar_record *records = q->op.records;
    if (count == 0) {
        e->at++;
        next_index(q);
        return;
    }
    q->value = arena_str(request_mem(q), records[count - 1].id);
    if (q->value.ptr == NULL || begin_commit(q, count) == NULL) {
        fail(q, UAR_E_NOMEM);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (names_owner(q, &records[i])) add_delete(q, &records[i]);
    if (q->op.write_count == 0) {
        ask_index(q);
        return;
    }
    e->stage = ERASE_AT_INDEX_GONE;
    request_submit(q);
}

static void got_index_gone(request *q) {
    erasing *e = q->state;
    bool moved = q->op.status == UAR_E_CONFLICT;
    if (!is_settled(q, &e->marks)) return;
    if (moved) q->value = uar_str_of(NULL);
    ask_index(q);
}

/* ---- memory and files ---- */

static void erase_memory(void *arg) {
    request *q = arg;
    erasing *e = q->state;
    uar_memory *memory = q->rt->env.memory;
    e->memory_status = UAR_E_DISABLED;
    if (memory != NULL) e->memory_status = memory_erase_owner(&e->memory, memory, q->owner, &e->memory_error);
    if (memory != NULL && e->memory_status != UAR_OK) {
        request_end(q, e->memory_status, e->memory_error.message);
        return;
    }
    arena_dispose(&q->op.mem);
    e->care.options = (uar_care_options){ UAR_CARE_OPTIONS_INIT, .whole = true };
    q->op.call = STORE_MAINTAIN;
    q->op.care = &e->care;
    e->stage = ERASE_AT_FILES;
    request_submit(q);
}

static void write_records(json_writer *w, const erasing *e) {
    uint64_t sum = e->marks;
    json_key(w, "records");
    json_object_begin(w);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        sum += e->counts[i];
        if (e->counts[i] > 0) json_put_uint(w, kinds[i].name, e->counts[i]);
    }
    json_put_uint(w, "total", sum);
    json_object_end(w);
}

static void write_memory(json_writer *w, const erasing *e) {
    if (e->memory_status != UAR_OK) {
        json_key(w, "memory");
        json_null(w);
        return;
    }
    json_key(w, "memory");
    json_object_begin(w);
    json_put_uint(w, "entities", e->memory.entities);
    json_put_uint(w, "pending", e->memory.pending);
    json_put_uint(w, "records", e->memory.records);
    json_put_uint(w, "streams", e->memory.streams);
    json_object_end(w);
}

static void write_receipt(request *q) {
    const erasing *e = q->state;
    uar_status files = q->op.status;
    bool log_is_left = files == UAR_OK && e->care.care.log_bytes > 0;
    bool pending = (e->memory_status == UAR_OK && e->memory.pending > 0) || log_is_left ||
                   (files != UAR_OK && files != UAR_E_UNSUPPORTED);
    buffer text;
    json_writer w;
    buffer_init(&text, &q->rt->env.alloc, 1 << 16);
    json_writer_init(&w, &text);
    json_object_begin(&w);
    json_put_int(&w, "ended_ms", clock_wall(&q->rt->env.clock));
    json_put_str(&w, "files", uar_str_of(files == UAR_OK ? "rebuilt" : uar_status_name(files)));
    write_memory(&w, e);
    json_put_str(&w, "owner", q->owner);
    json_put_bool(&w, "pending", pending);
    write_records(&w, e);
    json_put_int(&w, "started_ms", e->started_ms);
    json_put_uint(&w, "v", 1);
    json_object_end(&w);
    uar_status status = text.status;
    if (status == UAR_OK) {
        q->box->reply.document = arena_str(request_mem(q), buffer_str(&text));
        if (q->box->reply.document.ptr == NULL) status = UAR_E_NOMEM;
    }
    buffer_dispose(&text);
    request_end(q, status, NULL);
}

static void step_erase(request *q) {
    erasing *e = q->state;
    switch (e->stage) {
    case ERASE_AT_START: ask_sessions(q); break;
    case ERASE_AT_SESSIONS: got_sessions(q); break;
    case ERASE_AT_MARK: go_mark(q); break;
    case ERASE_AT_KIND: got_kind(q); break;
    case ERASE_AT_KIND_GONE:
        if (is_settled(q, &e->counts[e->at])) next_kind(q);
        break;
    case ERASE_AT_INDEX: got_index(q); break;
    case ERASE_AT_INDEX_GONE: got_index_gone(q); break;
    case ERASE_AT_MEMORY: break;
    case ERASE_AT_FILES: write_receipt(q); break;
    }
}

static request *erase_request(uar_runtime *rt, bool waits, const char *owner, uar_error *err) {
    request *q = request_new(rt, waits, step_erase, err);
    if (q == NULL || !request_id(&q, &q->owner, owner, "owner", err)) return NULL;
    erasing *e = arena_zeroed(request_mem(q), 1, sizeof *e);
    q->state = e;
    if (e == NULL) {
        request_refuse(q, UAR_E_NOMEM, "out of memory", err);
        return NULL;
    }
    e->started_ms = clock_wall(&rt->env.clock);
    return q;
}

uar_status uar_owner_erase(uar_runtime *rt, const char *owner, uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(erase_request(rt, false, owner, &fault), &fault, done, ctx, err);
}

uar_status uar_owner_erase_sync(uar_reply **out, uar_runtime *rt, const char *owner, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(erase_request(rt, true, owner, &fault), &fault, out, err);
}
