/* Owns: the table of runs. */
#include "runtime/manager.h"

#include "base/clock.h"
#include "base/error.h"

uar_status manager_init(manager *m, const uar_allocator *alloc) {
    memset(m, 0, sizeof *m);
    m->alloc = alloc;
    map_init(&m->entries, alloc);
    uar_status status = mutex_init(&m->lock);
    if (status != UAR_OK) return status;
    status = condition_init(&m->changed);
    if (status != UAR_OK) mutex_dispose(&m->lock);
    return status;
}

static uar_str key_of(const uar_run_id *id) {
    return uar_str_n((const char *)id->bytes, sizeof id->bytes);
}

static void list_append(run_list *list, run_entry *e) {
    e->next = NULL;
    e->prev = list->last;
    if (list->last != NULL)
        list->last->next = e;
    else
        list->first = e;
    list->last = e;
    list->count++;
}

static void list_remove(run_list *list, run_entry *e) {
    if (e->prev != NULL)
        e->prev->next = e->next;
    else
        list->first = e->next;
    if (e->next != NULL)
        e->next->prev = e->prev;
    else
        list->last = e->prev;
    list->count--;
}

static void entry_free(manager *m, run_entry *e) {
    if (e == NULL) return;
    alloc_free(m->alloc, e->failure);
    alloc_free(m->alloc, e);
}

static void free_list(manager *m, run_list *list) {
    while (list->first != NULL) {
        run_entry *e = list->first;
        list_remove(list, e);
        run_unref(e->r);
        entry_free(m, e);
    }
}

void manager_dispose(manager *m) {
    free_list(m, &m->open);
    free_list(m, &m->closed);
    map_dispose(&m->entries);
    condition_dispose(&m->changed);
    mutex_dispose(&m->lock);
}

uar_status manager_add(manager *m, run *r) {
    run_entry *e = ALLOC_NEW(m->alloc, run_entry);
    if (e == NULL) return UAR_E_NOMEM;
    e->r = r;
    e->id = r->id;
    mutex_lock(&m->lock);
    uar_status status = m->shut ? UAR_E_CLOSED : map_put(&m->entries, key_of(&e->id), e);
    if (status == UAR_OK) list_append(&m->open, e);
    mutex_unlock(&m->lock);
    if (status != UAR_OK) alloc_free(m->alloc, e);
    return status;
}

/* Under the lock. */
static run_entry *entry_of(manager *m, uar_run_id id) {
    return map_get(&m->entries, key_of(&id));
}

uar_status manager_find(manager *m, uar_run_id id, run **out) {
    uar_status status = UAR_E_NOT_FOUND;
    mutex_lock(&m->lock);
    run_entry *e = entry_of(m, id);
    if (e != NULL) status = e->ended ? UAR_E_STALE : UAR_OK;
    if (status == UAR_OK) *out = run_ref(e->r);
    mutex_unlock(&m->lock);
    return status;
}

/* Under the lock. */
static uar_status outcome_of(manager *m, uar_run_id id, uar_outcome *out) {
    run_entry *e = entry_of(m, id);
    if (e == NULL) return UAR_E_NOT_FOUND;
    if (!e->ended) return UAR_E_TIMEOUT;
    *out = (uar_outcome){ .status = e->status, .state = e->state, .message = e->message, .usage = e->usage };
    if (e->failure != NULL)
        error_set(&out->error, e->status, "%s", e->failure);
    else if (e->state == UAR_RUN_FAILED)
        error_plain(&out->error, e->status);
    return UAR_OK;
}

uar_status manager_outcome(manager *m, uar_run_id id, uar_outcome *out) {
    mutex_lock(&m->lock);
    uar_status status = outcome_of(m, id, out);
    mutex_unlock(&m->lock);
    return status;
}

/* Under the lock. False when the time is over. */
static bool wait_until(manager *m, uint64_t end) {
    if (end == UINT64_MAX) return condition_wait(&m->changed, &m->lock, UAR_FOREVER), true;
    uint64_t now = clock_mono(&clock_default);
    if (now >= end) return false;
    (void)condition_wait(&m->changed, &m->lock, (uint32_t)(end - now));
    return true;
}

/* Under the lock. */
static uar_status told_outcome_of(manager *m, uar_run_id id, uar_outcome *out) {
    run_entry *e = entry_of(m, id);
    return e != NULL && !e->told ? UAR_E_TIMEOUT : outcome_of(m, id, out);
}

uar_status manager_wait_outcome(manager *m, uar_run_id id, uar_outcome *out, uint64_t end) {
    mutex_lock(&m->lock);
    uar_status status = told_outcome_of(m, id, out);
    while (status == UAR_E_TIMEOUT && wait_until(m, end))
        status = told_outcome_of(m, id, out);
    mutex_unlock(&m->lock);
    return status;
}

bool manager_wait_idle(manager *m, uint64_t end) {
    mutex_lock(&m->lock);
    while (m->open.count > 0 && wait_until(m, end)) {}
    bool idle = m->open.count == 0;
    mutex_unlock(&m->lock);
    return idle;
}

size_t manager_open_count(manager *m) {
    mutex_lock(&m->lock);
    size_t open = m->open.count;
    mutex_unlock(&m->lock);
    return open;
}

void manager_run_ended(void *ctx, run *r, const uar_outcome *result) {
    manager *m = ctx;
    mutex_lock(&m->lock);
    run_entry *e = entry_of(m, r->id);
    if (e != NULL) {
        e->status = result->status;
        e->state = result->state;
        e->message = result->message;
        e->usage = result->usage;
        if (result->error.code != UAR_OK && e->failure == NULL)
            e->failure = alloc_text(m->alloc, uar_str_of(result->error.message));
        e->ended = true;
    }
    mutex_unlock(&m->lock);
}

void manager_run_told(void *ctx, run *r) {
    manager *m = ctx;
    mutex_lock(&m->lock);
    run_entry *e = entry_of(m, r->id);
    if (e != NULL) e->told = true;
    condition_broadcast(&m->changed);
    mutex_unlock(&m->lock);
}

/* Under the lock: the oldest closed entry beyond those that are kept, taken out. */
static run_entry *take_oldest(manager *m) {
    if (m->closed.count <= MANAGER_KEPT) return NULL;
    run_entry *e = m->closed.first;
    list_remove(&m->closed, e);
    (void)map_remove(&m->entries, key_of(&e->id));
    return e;
}

void manager_run_closed(void *ctx, run *r) {
    manager *m = ctx;
    run *held = NULL;
    mutex_lock(&m->lock);
    run_entry *e = entry_of(m, r->id);
    if (e != NULL && !e->closed) {
        held = e->r;
        e->r = NULL;
        e->ended = e->told = e->closed = true;
        list_remove(&m->open, e);
        list_append(&m->closed, e);
    }
    run_entry *old = take_oldest(m);
    condition_broadcast(&m->changed);
    mutex_unlock(&m->lock);
    entry_free(m, old);
    run_unref(held);
}

/* A reference to an open run that this walk has not met, or NULL. Those that it met stand behind the others. */
static run *next_of_pass(manager *m, uint64_t pass) {
    run *r = NULL;
    mutex_lock(&m->lock);
    run_entry *e = m->open.first;
    if (e != NULL && e->pass != pass) {
        e->pass = pass;
        list_remove(&m->open, e);
        list_append(&m->open, e);
        r = run_ref(e->r);
    }
    mutex_unlock(&m->lock);
    return r;
}

void manager_each(manager *m, void (*fn)(run *r)) {
    mutex_lock(&m->lock);
    uint64_t pass = ++m->pass;
    mutex_unlock(&m->lock);
    for (run *r = next_of_pass(m, pass); r != NULL; r = next_of_pass(m, pass)) {
        fn(r);
        run_unref(r);
    }
}

void manager_shut(manager *m, void (*fn)(run *r)) {
    mutex_lock(&m->lock);
    m->shut = true;
    mutex_unlock(&m->lock);
    manager_each(m, fn);
}

void manager_rest(manager *m, uint32_t ms) {
    mutex_lock(&m->lock);
    (void)condition_wait(&m->changed, &m->lock, ms);
    mutex_unlock(&m->lock);
}
