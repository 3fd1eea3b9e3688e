/* Owns: the walk over what was left undone. See recovery.h. */
#include "runtime/recovery.h"

#include "base/str.h"
#include "run/watch.h"
#include "runtime/request.h"
#include "store/sweep.h"

/* Jobs of one page. Those of a page are done before the next is read. */
#define PAGE 32

typedef enum recovery_stage {
    RECOVERY_AT_START,
    RECOVERY_AT_JOBS,
    RECOVERY_AT_BEAT,  /* is the maker of a job alive? */
    RECOVERY_AT_PAUSE, /* … not known yet */
    RECOVERY_AT_SWEEP,
    RECOVERY_AT_HEARTS /* heartbeats, where they are all of dead ones */
} recovery_stage;

typedef struct recovery {
    recovery_stage stage;
    sweep_root jobs[PAGE];
    size_t count, at;
    bool more;
    watch maker;
    sweep sweep;
} recovery;

static void ended(void *ctx, uar_reply *reply) {
    (void)ctx;
    uar_reply_free(reply);
}

static void finish(request *q) {
    request_end(q, UAR_OK, NULL);
}

static void ask_page(request *q, recovery_stage stage, uint32_t kind) {
    recovery *r = q->state;
    r->stage = stage;
    request_list(q, kind, STR(UAR_SYSTEM_OWNER), uar_str_of(NULL), UAR_ORDER_KEY, 0, PAGE);
}

static void after_jobs(request *q) {
    if (!q->rt->env.single_process) {
        finish(q);
        return;
    }
    q->value = STR("instance:");
    ask_page(q, RECOVERY_AT_HEARTS, UAR_RECORD_LEASE);
}

static void go_sweep(request *q);

static void next_job(request *q) {
    recovery *r = q->state;
    if (r->at == r->count && r->more) {
        ask_page(q, RECOVERY_AT_JOBS, UAR_RECORD_OUTBOX);
        return;
    }
    if (r->at == r->count) {
        after_jobs(q);
        return;
    }
    const sweep_root *job = &r->jobs[r->at];
    sweep_begin(&r->sweep, job);
    if (uar_uuid_is_none(job->maker) || q->rt->env.single_process) {
        r->stage = RECOVERY_AT_SWEEP;
        go_sweep(q);
        return;
    }
    char key[WATCH_KEY_MAX];
    watch_begin(&r->maker, job->maker);
    r->stage = RECOVERY_AT_BEAT;
    request_get(q, UAR_RECORD_LEASE, STR(UAR_SYSTEM_OWNER), watch_key(key, job->maker));
}

static void end_job(request *q) {
    recovery *r = q->state;
    r->at++;
    next_job(q);
}

static void go_sweep(request *q) {
    recovery *r = q->state;
    if (sweep_step(&r->sweep, &q->op) == SWEEP_ASKS)
        request_submit(q);
    else
        end_job(q); /* what failed is tried again by the next build */
}

static void got_beat(request *q) {
    recovery *r = q->state;
    bool is_there = q->op.status == UAR_OK;
    if (!is_there && q->op.status != UAR_E_NOT_FOUND) {
        end_job(q);
        return;
    }
    switch (watch_look(&q->rt->env, &r->maker, is_there ? q->op.records->revision : 0)) {
    case WATCH_ALIVE: end_job(q); return;
    case WATCH_DEAD:
        r->stage = RECOVERY_AT_SWEEP;
        go_sweep(q);
        return;
    case WATCH_ON: break;
    }
    r->stage = RECOVERY_AT_PAUSE;
    request_sleep(q, WATCH_MS);
}

static void look_again(request *q) {
    recovery *r = q->state;
    char key[WATCH_KEY_MAX];
    r->stage = RECOVERY_AT_BEAT;
    request_get(q, UAR_RECORD_LEASE, STR(UAR_SYSTEM_OWNER), watch_key(key, r->maker.instance));
}

/* The cursor of the next page: the last id of this one. False: the request has ended. */
static bool turn_page(request *q) {
    if (q->op.record_count < PAGE) return true;
    q->value = arena_str(request_mem(q), q->op.records[q->op.record_count - 1].id);
    if (q->value.ptr != NULL) return true;
    request_end(q, UAR_E_NOMEM, NULL);
    return false;
}

static bool begins_with(uar_str id, const char *head) {
    size_t len = strlen(head);
    return id.len >= len && memcmp(id.ptr, head, len) == 0;
}

static void got_jobs(request *q) {
    recovery *r = q->state;
    if (!request_went_well(q) || !turn_page(q)) return;
    r->at = r->count = 0;
    r->more = q->op.record_count == PAGE;
    for (size_t i = 0; i < q->op.record_count; i++) {
        const uar_record *record = &q->op.records[i];
        if (!begins_with(record->id, SWEEP_JOB_PREFIX)) {
            r->more = false;
            break;
        }
        /* A job that can't be read is left to who can. */
        if (sweep_job_decode(&r->jobs[r->count], request_mem(q), record, NULL) == UAR_OK) r->count++;
    }
    next_job(q);
}

static void got_hearts(request *q) {
    if (!request_went_well(q)) return;
    size_t count = q->op.record_count, i = 0;
    char own[WATCH_KEY_MAX];
    uar_str own_key = watch_key(own, q->rt->env.instance);
    for (; i < count && begins_with(q->op.records[i].id, "instance:"); i++) {
        uar_uuid instance;
        uar_str id = q->op.records[i].id;
        bool readable = uar_uuid_parse(&instance, uar_str_n(id.ptr + 9, id.len - 9)) == UAR_OK;
        if (readable && !uar_str_equal(id, own_key)) watch_bury(&q->rt->env, instance, q->op.records[i].revision);
    }
    bool more = i == PAGE;
    if (!more)
        finish(q);
    else if (turn_page(q))
        ask_page(q, RECOVERY_AT_HEARTS, UAR_RECORD_LEASE);
}

static void step(request *q) {
    recovery *r = q->state;
    switch (r->stage) {
    case RECOVERY_AT_START: ask_page(q, RECOVERY_AT_JOBS, UAR_RECORD_OUTBOX); break;
    case RECOVERY_AT_JOBS: got_jobs(q); break;
    case RECOVERY_AT_BEAT: got_beat(q); break;
    case RECOVERY_AT_PAUSE: look_again(q); break;
    case RECOVERY_AT_SWEEP: go_sweep(q); break;
    case RECOVERY_AT_HEARTS: got_hearts(q); break;
    }
}

uar_status recovery_begin(uar_runtime *rt, uar_error *err) {
    uar_error none = UAR_ERROR_INIT;
    request *q = request_new(rt, false, step, err);
    if (q == NULL) return UAR_E_NOMEM;
    q->state = arena_zeroed(request_mem(q), 1, sizeof(recovery));
    if (q->state == NULL) return request_refuse(q, UAR_E_NOMEM, "out of memory", err);
    q->value = STR(SWEEP_JOB_PREFIX);
    return request_begin(q, &none, ended, NULL, err);
}
