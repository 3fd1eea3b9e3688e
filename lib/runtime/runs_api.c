/*
 * Runs and checkpoints of uar/records.h.
 *
 * A record that says `running` is believed only if its instance lives: this one if it has the run open, another one if its
 * heartbeat moves while it is watched (at most PULSE_DEAD_MS). Else it reads as interrupted. Owns nothing.
 */
#include "base/error.h"
#include "base/str.h"
#include "run/watch.h"
#include "runtime/deleted.h"
#include "runtime/request.h"

/* Instances that are told apart in one reply; records of more are taken for interrupted ones of the last. */
#define INSTANCES_MAX 64

typedef struct watched {
    watch watch;
    watch_verdict verdict;
} watched;

typedef struct run_watcher {
    deleted deleted;
    uar_run_info *runs; /* the reply's */
    size_t count;
    watched list[INSTANCES_MAX];
    size_t watched_count, at;
} run_watcher;

static bool looks_open(const uar_run_info *info) {
    return info->state == UAR_RUN_RUNNING || info->state == UAR_RUN_PAUSED;
}

static watched *watched_of(run_watcher *w, uar_uuid instance) {
    for (size_t i = 0; i < w->watched_count; i++)
        if (uar_uuid_equal(w->list[i].watch.instance, instance)) return &w->list[i];
    return NULL;
}

static bool is_open_here(request *q, uar_run_id id) {
    uar_outcome known;
    return manager_outcome(&q->rt->manager, id, &known) == UAR_E_TIMEOUT;
}

static void finish(request *q) {
    run_watcher *w = q->state;
    for (size_t i = 0; i < w->count; i++) {
        uar_run_info *info = &w->runs[i];
        if (!looks_open(info)) continue;
        const watched *seen = watched_of(w, info->instance);
        bool own = uar_uuid_equal(info->instance, q->rt->env.instance);
        bool alive = own ? is_open_here(q, info->run) : seen != NULL && seen->verdict == WATCH_ALIVE;
        if (alive) continue;
        info->state = UAR_RUN_INTERRUPTED;
        if (info->reason.len == 0) info->reason = STR("its process ended");
    }
    q->box->reply.runs = w->runs;
    q->box->reply.count = w->count;
    request_end(q, UAR_OK, NULL);
}

/* Looks at the next instance that isn't decided, or waits a little, or ends. */
static void look_on(request *q) {
    run_watcher *w = q->state;
    char key[WATCH_KEY_MAX];
    while (w->at < w->watched_count && w->list[w->at].verdict != WATCH_ON)
        w->at++;
    if (w->at < w->watched_count) {
        q->stage = 2;
        request_get(q, UAR_RECORD_LEASE, STR(UAR_SYSTEM_OWNER), watch_key(key, w->list[w->at].watch.instance));
        return;
    }
    bool open = false;
    for (size_t i = 0; i < w->watched_count; i++)
        open = open || w->list[i].verdict == WATCH_ON;
    if (!open) {
        finish(q);
        return;
    }
    w->at = 0;
    q->stage = 3;
    request_sleep(q, WATCH_MS);
}

static void got_beat(request *q) {
    run_watcher *w = q->state;
    watched *one = &w->list[w->at++];
    if (q->op.status != UAR_E_NOT_FOUND && !request_went_well(q)) return;
    one->verdict = watch_look(&q->rt->env, &one->watch, q->op.status == UAR_OK ? q->op.records->revision : 0);
    if (one->verdict == WATCH_DEAD && one->watch.is_long_dead)
        watch_bury(&q->rt->env, one->watch.instance, one->watch.beat);
    look_on(q);
}

static bool keep_run(request *q, run_watcher *w, const uar_record *record) {
    uar_error fault = UAR_ERROR_INIT;
    uar_run_info *info = &w->runs[w->count];
    uar_status status = run_decode(info, request_mem(q), record, &fault);
    if (status != UAR_OK) {
        request_end(q, status, fault.message);
        return false;
    }
    if (!uar_str_equal(info->user, q->user)) return true; /* another user's: not to be seen */
    if (deleted_has(&w->deleted, q, info->user, info->session)) return true;
    w->count++;
    bool foreign =
        looks_open(info) && !uar_uuid_equal(info->instance, q->rt->env.instance) && !q->rt->env.single_process;
    if (foreign && watched_of(w, info->instance) == NULL && w->watched_count < INSTANCES_MAX)
        watch_begin(&w->list[w->watched_count++].watch, info->instance);
    return true;
}

static void got_runs(request *q) {
    run_watcher *w = q->state;
    w->runs = arena_zeroed(request_mem(q), q->op.record_count + 1, sizeof *w->runs);
    if (w->runs == NULL) {
        request_end(q, UAR_E_NOMEM, "out of memory");
        return;
    }
    for (size_t i = 0; i < q->op.record_count; i++)
        if (!keep_run(q, w, &q->op.records[i])) return;
    if (q->op.call == STORE_LIST && q->op.record_count == q->limit) {
        q->box->reply.cursor = arena_str(request_mem(q), q->op.records[q->op.record_count - 1].id);
        if (q->box->reply.cursor.ptr == NULL) {
            request_end(q, UAR_E_NOMEM, "out of memory");
            return;
        }
    }
    if (q->op.call == STORE_GET && w->count == 0)
        request_end(q, UAR_E_NOT_FOUND, "there is no such run");
    else
        look_on(q);
}

/* The first step of each call here: which sessions are being deleted. */
static void ask_deleted(request *q) {
    run_watcher *w = arena_zeroed(request_mem(q), 1, sizeof *w);
    q->state = w;
    if (w == NULL)
        request_end(q, UAR_E_NOMEM, "out of memory");
    else
        deleted_ask(&w->deleted, q);
}

static bool got_deleted(request *q) {
    run_watcher *w = q->state;
    return deleted_got(&w->deleted, q);
}

/* 0: what is being deleted · 4: read · 1: got the records · 2: got a heartbeat · 3: waited */
static void step_runs(request *q, bool one) {
    switch (q->stage) {
    case 0:
        q->stage = 4;
        ask_deleted(q);
        break;
    case 4:
        if (!got_deleted(q)) break;
        q->stage = 1;
        if (one)
            request_get(q, UAR_RECORD_RUN, q->owner, q->id);
        else
            request_list(q, UAR_RECORD_RUN, q->owner, uar_str_of(NULL), UAR_ORDER_KEY, 0, q->limit);
        break;
    case 1:
        if (one && q->op.status == UAR_E_NOT_FOUND)
            request_end(q, UAR_E_NOT_FOUND, "there is no such run");
        else if (request_went_well(q))
            got_runs(q);
        break;
    case 2: got_beat(q); break;
    default: look_on(q);
    }
}

static void step_load(request *q) {
    step_runs(q, true);
}

static void step_list(request *q) {
    step_runs(q, false);
}

static request *run_request(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner, const char *user,
                            uar_run_id id, uar_error *err) {
    char text[UAR_UUID_TEXT];
    uar_uuid_format(text, id);
    request *q = request_new(rt, waits, step, err);
    bool good = q != NULL && request_id(&q, &q->owner, owner, "owner", err) &&
                request_id(&q, &q->user, user, "user", err) && request_id(&q, &q->id, text, "run", err);
    return good ? q : NULL;
}

static bool is_run_id(const request *q, uar_str cursor) {
    (void)q;
    uar_uuid id;
    return uar_uuid_parse(&id, cursor) == UAR_OK;
}

static request *list_request(uar_runtime *rt, bool waits, const char *owner, const char *user, uar_str cursor,
                             size_t limit, uar_error *err) {
    request *q = request_new(rt, waits, step_list, err);
    bool good = q != NULL && request_id(&q, &q->owner, owner, "owner", err) &&
                request_id(&q, &q->user, user, "user", err) && request_cursor(&q, cursor, is_run_id, err) &&
                request_limit(&q, limit, err);
    return good ? q : NULL;
}

uar_status uar_run_load(uar_runtime *rt, const char *owner, const char *user, uar_run_id id, uar_reply_fn done,
                        void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(run_request(rt, false, step_load, owner, user, id, &fault), &fault, done, ctx, err);
}

uar_status uar_run_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user, uar_run_id id,
                             uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(run_request(rt, true, step_load, owner, user, id, &fault), &fault, out, err);
}

uar_status uar_run_list(uar_runtime *rt, const char *owner, const char *user, uar_str cursor, size_t limit,
                        uar_reply_fn done, void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(list_request(rt, false, owner, user, cursor, limit, &fault), &fault, done, ctx, err);
}

uar_status uar_run_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user, uar_str cursor,
                             size_t limit, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(list_request(rt, true, owner, user, cursor, limit, &fault), &fault, out, err);
}

/* ---- checkpoints ---- */

/* 0: what is being deleted · 1: read the run, to see whose it is · 2: read its checkpoint · 3: done */
static void step_checkpoint(request *q) {
    uar_error fault = UAR_ERROR_INIT;
    uar_run_info info;
    uar_status status;
    const run_watcher *w = q->state;
    switch (q->stage++) {
    case 0: ask_deleted(q); break;
    case 1:
        if (got_deleted(q)) request_get(q, UAR_RECORD_RUN, q->owner, q->id);
        break;
    case 2:
        if (q->op.status != UAR_OK && q->op.status != UAR_E_NOT_FOUND) {
            (void)request_went_well(q);
            break;
        }
        status = q->op.status == UAR_OK ? run_decode(&info, request_mem(q), q->op.records, &fault) : UAR_E_NOT_FOUND;
        if (status == UAR_OK && uar_str_equal(info.user, q->user) &&
            !deleted_has(&w->deleted, q, info.user, info.session))
            request_get(q, UAR_RECORD_CHECKPOINT, q->owner, q->id);
        else if (status == UAR_OK || status == UAR_E_NOT_FOUND)
            request_end(q, UAR_E_NOT_FOUND, "there is no such run");
        else
            request_end(q, status, fault.message);
        break;
    default:
        if (q->op.status == UAR_E_NOT_FOUND)
            request_end(q, UAR_E_NOT_FOUND, "this run has no checkpoint");
        else if (request_went_well(q)) {
            status = checkpoint_decode(&q->box->reply.document, request_mem(q), q->op.records, &fault);
            request_end(q, status, fault.message);
        }
    }
}

uar_status uar_checkpoint_load(uar_runtime *rt, const char *owner, const char *user, uar_run_id id, uar_reply_fn done,
                               void *ctx, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_begin(run_request(rt, false, step_checkpoint, owner, user, id, &fault), &fault, done, ctx, err);
}

uar_status uar_checkpoint_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                    uar_run_id id, uar_error *err) {
    uar_error fault = UAR_ERROR_INIT;
    return request_wait_for(run_request(rt, true, step_checkpoint, owner, user, id, &fault), &fault, out, err);
}
