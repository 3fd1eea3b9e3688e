/* Owns: the layer of tests. Its lock guards the plan and the counts; no call-out is made under it. */
#include "support/host_layer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/lock.h"

typedef struct held_commit {
    struct held_commit *next; /* newer */
    commit_kind kind;
    const uar_write *writes;
    size_t count;
    uar_completion *done;
} held_commit;

typedef struct fault_plan {
    size_t after, times;
    uar_status status;
} fault_plan;

struct host_layer {
    uar_persistence door, inner;
    mutex lock;
    condition changed;
    size_t commits[COMMIT_KINDS];
    fault_plan faults[COMMIT_KINDS];
    bool holds[COMMIT_KINDS], blocks[COMMIT_KINDS];
    held_commit *held; /* oldest first */
    size_t waiting;
    void (*inside)(void *ctx);
    void *inside_ctx;
    int destroyed;
};

static void die(const char *what) {
    fprintf(stderr, "test layer: %s\n", what);
    abort();
}

/* ---- what a commit is for ---- */

static bool is_assistant(const uar_write *w) {
    static const char mark[] = "\"role\":\"assistant\"";
    const uar_str body = w->record.body;
    for (size_t i = 0; w->record.kind == UAR_RECORD_MESSAGE && i + sizeof mark - 1 <= body.len; i++)
        if (memcmp(body.ptr + i, mark, sizeof mark - 1) == 0) return true;
    return false;
}

static commit_kind kind_of(const uar_write *writes, size_t count) {
    bool is_run = false, answers = false, moves_lease = false;
    for (size_t i = 0; i < count; i++) {
        const uar_write *w = &writes[i];
        if (w->record.kind == UAR_RECORD_OPEN_RUN) return w->op == UAR_WRITE_PUT ? COMMIT_TURN : COMMIT_END;
        is_run = is_run || w->record.kind == UAR_RECORD_RUN;
        answers = answers || is_assistant(w);
        /* A lease is put when it is taken or given back, and only checked in between. */
        moves_lease = moves_lease || (w->record.kind == UAR_RECORD_LEASE && w->op != UAR_WRITE_CHECK);
    }
    if (is_run && !moves_lease) return answers ? COMMIT_CALLS : COMMIT_FACTS;
    return count == 1 && moves_lease ? COMMIT_BEAT : COMMIT_OTHER;
}

/* ---- the door ---- */

static void go_inside(host_layer *l) {
    mutex_lock(&l->lock);
    if (l->destroyed > 0) die("called after its destroy");
    void (*fn)(void *ctx) = l->inside;
    void *ctx = l->inside_ctx;
    mutex_unlock(&l->lock);
    if (fn != NULL) fn(ctx);
}

static uar_status open_door(void *ctx, uar_error *err) {
    host_layer *l = ctx;
    return l->inner.open != NULL ? l->inner.open(l->inner.ctx, err) : UAR_OK;
}

static void get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    host_layer *l = ctx;
    go_inside(l);
    l->inner.get(l->inner.ctx, kind, owner, id, done);
}

static void list(void *ctx, const uar_list_query *query, uar_completion *done) {
    host_layer *l = ctx;
    go_inside(l);
    l->inner.list(l->inner.ctx, query, done);
}

static void note_commit(host_layer *l, commit_kind kind) {
    mutex_lock(&l->lock);
    l->commits[kind]++;
    condition_broadcast(&l->changed);
    mutex_unlock(&l->lock);
}

/* True if this commit is one of those that are to fail. */
static bool takes_fault(host_layer *l, commit_kind kind, uar_status *status) {
    fault_plan *plan = &l->faults[kind];
    if (plan->times == 0) return false;
    if (plan->after > 0) {
        plan->after--;
        return false;
    }
    plan->times--;
    *status = plan->status;
    return true;
}

/* Under the lock: keep a commit for later. */
static void keep(host_layer *l, commit_kind kind, const uar_write *writes, size_t count, uar_completion *done) {
    held_commit *c = calloc(1, sizeof *c);
    if (c == NULL) die("out of memory");
    *c = (held_commit){ NULL, kind, writes, count, uar_completion_ref(done) };
    held_commit **at = &l->held;
    while (*at != NULL)
        at = &(*at)->next;
    *at = c;
    l->waiting++;
    condition_broadcast(&l->changed);
}

static void commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    host_layer *l = ctx;
    commit_kind kind = kind_of(writes, count);
    uar_status status = UAR_OK;
    go_inside(l);
    mutex_lock(&l->lock);
    bool fails = takes_fault(l, kind, &status), holds = !fails && l->holds[kind];
    if (holds) keep(l, kind, writes, count, done);
    bool blocks = !holds && !fails && l->blocks[kind];
    l->waiting += blocks;
    condition_broadcast(&l->changed);
    while (blocks && l->blocks[kind])
        (void)condition_wait(&l->changed, &l->lock, 1000);
    l->waiting -= blocks;
    mutex_unlock(&l->lock);
    if (holds) return;
    if (fails) {
        (void)uar_completion_fail(done, status, "the test fails this commit");
        return;
    }
    note_commit(l, kind);
    l->inner.commit(l->inner.ctx, writes, count, done);
}

static const char *location(void *ctx) {
    host_layer *l = ctx;
    return l->inner.location != NULL ? l->inner.location(l->inner.ctx) : NULL;
}

static void destroy(void *ctx) {
    host_layer *l = ctx;
    mutex_lock(&l->lock);
    if (l->destroyed++ > 0) die("destroyed twice");
    mutex_unlock(&l->lock);
    if (l->inner.destroy != NULL) l->inner.destroy(l->inner.ctx);
    mutex_lock(&l->lock);
    condition_broadcast(&l->changed);
    mutex_unlock(&l->lock);
}

/* ---- what is passed through ---- */

static uar_status suspend(void *ctx, uar_error *err) {
    host_layer *l = ctx;
    return l->inner.suspend(l->inner.ctx, err);
}

static uar_status resume(void *ctx, uar_error *err) {
    host_layer *l = ctx;
    return l->inner.resume(l->inner.ctx, err);
}

static uar_status backup(void *ctx, const char *path, const uar_care_progress *progress, uar_error *err) {
    host_layer *l = ctx;
    return l->inner.backup(l->inner.ctx, path, progress, err);
}

static uar_status maintain(void *ctx, const uar_care_options *options, const uar_care_progress *progress,
                           uar_store_care *report, uar_error *err) {
    host_layer *l = ctx;
    return l->inner.maintain(l->inner.ctx, options, progress, report, err);
}

static uar_status check(void *ctx, uar_store_finding_fn each, void *each_ctx, const uar_care_progress *progress,
                        uar_store_check *report, uar_error *err) {
    host_layer *l = ctx;
    return l->inner.check(l->inner.ctx, each, each_ctx, progress, report, err);
}

static void pass_through(host_layer *l) {
    if (l->inner.suspend != NULL) l->door.suspend = suspend;
    if (l->inner.resume != NULL) l->door.resume = resume;
    if (l->inner.backup != NULL) l->door.backup = backup;
    if (l->inner.maintain != NULL) l->door.maintain = maintain;
    if (l->inner.check != NULL) l->door.check = check;
    l->door.care_overlaps = l->inner.care_overlaps;
}

/* ---- the test's side ---- */

host_layer *host_layer_new(const uar_persistence *inner) {
    host_layer *l = calloc(1, sizeof *l);
    if (l == NULL || mutex_init(&l->lock) != UAR_OK || condition_init(&l->changed) != UAR_OK) die("out of memory");
    l->inner = inner != NULL ? *inner : *uar_persistence_volatile();
    l->door =
        (uar_persistence){ UAR_PERSISTENCE_INIT, .ctx = l,         .destroy = destroy,   .open = open_door, .get = get,
                           .list = list,         .commit = commit, .location = location, .blocking = true };
    pass_through(l);
    return l;
}

const uar_persistence *host_layer_door(host_layer *l) {
    return &l->door;
}

size_t host_layer_commits(host_layer *l, commit_kind kind) {
    mutex_lock(&l->lock);
    size_t n = l->commits[kind];
    mutex_unlock(&l->lock);
    return n;
}

void host_layer_fail(host_layer *l, commit_kind kind, size_t after, size_t times, uar_status status) {
    mutex_lock(&l->lock);
    l->faults[kind] = (fault_plan){ after, times, status };
    mutex_unlock(&l->lock);
}

void host_layer_hold(host_layer *l, commit_kind kind) {
    mutex_lock(&l->lock);
    l->holds[kind] = true;
    mutex_unlock(&l->lock);
}

void host_layer_block(host_layer *l, commit_kind kind) {
    mutex_lock(&l->lock);
    l->blocks[kind] = true;
    mutex_unlock(&l->lock);
}

size_t host_layer_waiting(host_layer *l) {
    mutex_lock(&l->lock);
    size_t n = l->waiting;
    mutex_unlock(&l->lock);
    return n;
}

void host_layer_let_go(host_layer *l) {
    mutex_lock(&l->lock);
    memset(l->holds, 0, sizeof l->holds);
    memset(l->blocks, 0, sizeof l->blocks);
    held_commit *held = l->held;
    l->held = NULL;
    condition_broadcast(&l->changed);
    mutex_unlock(&l->lock);
    while (held != NULL) {
        held_commit *c = held;
        held = c->next;
        mutex_lock(&l->lock);
        l->waiting--;
        mutex_unlock(&l->lock);
        if (uar_completion_is_open(c->done)) {
            note_commit(l, c->kind);
            l->inner.commit(l->inner.ctx, c->writes, c->count, c->done);
        }
        uar_completion_unref(c->done);
        free(c);
    }
}

void host_layer_inside(host_layer *l, void (*fn)(void *ctx), void *ctx) {
    mutex_lock(&l->lock);
    l->inside = fn;
    l->inside_ctx = ctx;
    mutex_unlock(&l->lock);
}

int host_layer_destroyed(host_layer *l) {
    mutex_lock(&l->lock);
    int n = l->destroyed;
    mutex_unlock(&l->lock);
    return n;
}

bool host_layer_sees_destroyed(host_layer *l) {
    mutex_lock(&l->lock);
    for (int i = 0; i < 1000 && l->destroyed == 0; i++)
        (void)condition_wait(&l->changed, &l->lock, 10);
    bool seen = l->destroyed > 0;
    mutex_unlock(&l->lock);
    return seen;
}

void host_layer_free(host_layer *l) {
    if (l == NULL) return;
    condition_dispose(&l->changed);
    mutex_dispose(&l->lock);
    free(l);
}
