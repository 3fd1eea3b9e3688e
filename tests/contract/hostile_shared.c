/*
 * Hostile ways that show only between layers or when data is opened again. Owns the world.
 * Lock order: the world's lock is a leaf; the inner layer is never asked under it.
 */
#include "contract/hostile_own.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the world ---- */

hostile_world *world_new(hostile_way way) {
    hostile_world *w = calloc(1, sizeof *w);
    if (w == NULL || mutex_init(&w->lock) != UAR_OK) abort();
    w->way = way;
    w->inner = uar_persistence_volatile();
    arena_init(&w->memory, &alloc_default);
    return w;
}

void world_free(hostile_world *w) {
    uar_persistence_free(w->copy);
    uar_persistence_free(w->inner);
    arena_dispose(&w->memory);
    mutex_dispose(&w->lock);
    free(w);
}

bool has_company(const hostile *h) {
    mutex_lock(&h->world->lock);
    bool has = h->world->open_now > 1;
    mutex_unlock(&h->world->lock);
    return has;
}

/* Keep a copy in a list of the last so many; under the lock where the list is shared. */
static void remember(uar_record *list, size_t *count, arena *memory, const uar_record *r) {
    if (*count == REMEMBERED) {
        memmove(list, list + 1, (REMEMBERED - 1) * sizeof *list);
        --*count;
    }
    if (record_copy(&list[(*count)++], memory, r) != UAR_OK) abort();
}

/* What was put last and is still there goes away. */
static void lose_last_put(hostile *h) {
    const hostile_world *w = h->world;
    arena memory;
    arena_init(&memory, &alloc_default);
    for (size_t i = w->last_count; i-- > 0;) {
        const uar_write gone = { UAR_WRITE_DELETE, revision_of(h, &memory, &w->last[i]), w->last[i] };
        if (gone.expected == 0) continue;
        (void)inner_commit(h, &gone, 1);
        break;
    }
    arena_dispose(&memory);
}

/* Puts what was lost back, where nothing is. */
static void replay(hostile *h) {
    hostile_world *w = h->world;
    for (size_t i = 0; i < w->lost_count; i++) {
        const uar_write again = { UAR_WRITE_PUT, 0, w->lost[i] };
        (void)inner_commit(h, &again, 1);
    }
    w->lost_count = 0;
}

void world_enter(hostile *h) {
    enum { OFTEN = 9 };
    hostile_world *w = h->world;
    mutex_lock(&w->lock);
    bool is_first = w->open_now == 0;
    if (w->open_now == HANDLES) abort();
    w->handles[w->open_now++] = h;
    w->openings += is_first;
    h->opening = w->openings;
    mutex_unlock(&w->lock);
    if (!is_first || h->opening == 1) return;
    replay(h);
    if (h->way == HOSTILE_TIRES && h->opening > OFTEN) lose_last_put(h);
}

void world_leave(hostile *h) {
    hostile_world *w = h->world;
    if (h->is_asleep && h->way == HOSTILE_LOSES_ASLEEP) lose_last_put(h);
    mutex_lock(&w->lock);
    for (size_t i = 0; i < w->open_now; i++)
        if (w->handles[i] == h) w->handles[i] = w->handles[--w->open_now];
    for (size_t i = 0; i < w->open_now; i++)
        w->handles[i]->is_struck = h->way == HOSTILE_CLOSES_ALL;
    if (w->holder == h) w->holder = NULL;
    mutex_unlock(&w->lock);
}

bool shared_strike(hostile *h) {
    bool is_struck = h->is_struck;
    h->is_struck = false;
    return is_struck;
}

/* ---- commits ---- */

static bool wrote_itself(hostile *h, const uar_write *w) {
    size_t at = record_at(h->wrote, h->wrote_count, &w->record);
    return at < h->wrote_count && h->wrote[at].revision == w->expected;
}

static bool is_unguarded(hostile *h, const uar_write *w) {
    if (w->op == UAR_WRITE_PUT && h->way == HOSTILE_FORGETS_REVISIONS)
        return h->opening > 1 && !h->compares_again && !has_company(h);
    if (!has_company(h)) return false;
    if (w->op == UAR_WRITE_PUT && h->way == HOSTILE_OWN_REVISIONS) return wrote_itself(h, w);
    return w->op == UAR_WRITE_CHECK && h->way == HOSTILE_OWN_CHECKS && wrote_itself(h, w);
}

/* Deleted records, with their children, to come back. */
static void keep_deleted(hostile *h, arena *memory, const uar_write *w) {
    hostile_world *world = h->world;
    const uar_record *r = &w->record;
    if (w->op == UAR_WRITE_DELETE) {
        reply old = inner_get(h, memory, r->kind, r->owner, r->id);
        if (old.status == UAR_OK) remember(world->lost, &world->lost_count, &world->memory, &old.records[0]);
    } else if (w->op == UAR_WRITE_DELETE_CHILDREN) {
        const uar_list_query query = { .kind = r->kind, .owner = r->owner, .parent = r->parent, .limit = PLENTY };
        reply old = inner_list(h, memory, &query);
        for (size_t i = 0; i < old.count; i++)
            remember(world->lost, &world->lost_count, &world->memory, &old.records[i]);
    }
}

uar_status shared_before(hostile *h, arena *memory, uar_write *writes, size_t count) {
    hostile_world *w = h->world;
    if (h->way == HOSTILE_HOLDS_LOCK) {
        mutex_lock(&w->lock);
        bool is_held = w->holder != NULL && w->holder != h;
        mutex_unlock(&w->lock);
        if (is_held) return UAR_E_BUSY;
    }
    for (size_t i = 0; i < count; i++) {
        if (h->way == HOSTILE_REVIVES) keep_deleted(h, memory, &writes[i]);
        if (is_unguarded(h, &writes[i])) writes[i].expected = revision_of(h, memory, &writes[i].record);
    }
    return UAR_OK;
}

static void note_puts(hostile *h, const uar_write *writes, size_t count) {
    hostile_world *w = h->world;
    for (size_t i = 0; i < count; i++) {
        if (writes[i].op != UAR_WRITE_PUT) continue;
        remember(w->last, &w->last_count, &w->memory, &writes[i].record);
        h->compares_again = true;
        if (writes[i].expected == 0) remember(h->wrote, &h->wrote_count, &h->memory, &writes[i].record);
    }
}

void shared_after(hostile *h, const uar_write *writes, size_t count, uar_status status) {
    hostile_world *w = h->world;
    h->seen_count = 0;
    h->listed.owner.ptr = NULL;
    mutex_lock(&w->lock);
    if (w->holder == NULL || w->holder == h) w->holder = status == UAR_E_CONFLICT ? h : NULL;
    if (status == UAR_OK) note_puts(h, writes, count);
    if (status == UAR_E_CONFLICT && h->way == HOSTILE_REPLAYS_REFUSED)
        for (size_t i = 0; i < count; i++)
            if (writes[i].op == UAR_WRITE_PUT && writes[i].expected == 0)
                remember(w->lost, &w->lost_count, &w->memory, &writes[i].record);
    mutex_unlock(&w->lock);
}

/* ---- reads ---- */

static bool remembers_gets(const hostile *h) {
    return h->way == HOSTILE_CACHES_GETS || h->way == HOSTILE_OWN_DELETES || h->way == HOSTILE_SLEEPS_ON;
}

static void answer_from_memory(hostile *h, const uar_record *key, reply *r) {
    size_t at = record_at(h->seen, h->seen_count, key);
    bool is_there = r->status == UAR_OK;
    if (at == h->seen_count) {
        if (is_there) remember(h->seen, &h->seen_count, &h->memory, &r->records[0]);
        return;
    }
    if (h->way == HOSTILE_OWN_DELETES ? is_there : !is_there) return;
    if (h->way == HOSTILE_SLEEPS_ON && !h->has_slept) return;
    if (r->records == NULL && (r->records = arena_zeroed(r->memory, 1, sizeof *r->records)) == NULL) abort();
    r->records[0] = h->seen[at];
    r->count = 1;
    r->status = UAR_OK;
}

void shared_got(hostile *h, const uar_record *key, reply *r) {
    if (remembers_gets(h)) answer_from_memory(h, key, r);
    size_t own = record_at(h->wrote, h->wrote_count, key);
    if (own < h->wrote_count) h->wrote[own] = h->wrote[--h->wrote_count];
    if (r->status != UAR_OK || r->count != 1 || h->opening <= 1) return;
    if (h->way == HOSTILE_LOSES_BLOBS && r->records[0].blob.len < 100) r->records[0].blob = uar_str_n(NULL, 0);
    if (h->way == HOSTILE_FORGETS_LARGE && r->records[0].blob.len == HOSTILE_LARGE) r->records[0].blob.len /= 2;
}

static int by_id(const void *a, const void *b) {
    return str_compare(((const uar_record *)a)->id, ((const uar_record *)b)->id);
}

static bool is_same_query(const uar_list_query *a, const uar_list_query *b) {
    return a->owner.ptr != NULL && a->kind == b->kind && uar_str_equal(a->owner, b->owner) &&
           uar_str_equal(a->parent, b->parent) && a->order == b->order && a->has_after == b->has_after &&
           uar_str_equal(a->after_id, b->after_id) && a->limit == b->limit;
}

void shared_listed(hostile *h, const uar_list_query *query, reply *r) {
    if (h->way == HOSTILE_LOSES_SORTS && h->opening > 1 && query->order == UAR_ORDER_SORT && r->count > 0)
        qsort(r->records, r->count, sizeof *r->records, by_id);
    if (h->way != HOSTILE_CACHES_LISTS || !has_company(h)) return;
    if (is_same_query(&h->listed, query)) {
        r->records = h->page;
        r->count = h->page_count;
        return;
    }
    h->listed = *query;
    h->listed.owner = arena_str(&h->memory, query->owner);
    h->listed.parent = arena_str(&h->memory, query->parent);
    h->listed.after_id = arena_str(&h->memory, query->after_id);
    h->page = arena_zeroed(&h->memory, r->count + 1, sizeof *h->page);
    if (h->page == NULL) abort();
    h->page_count = r->count;
    for (size_t i = 0; i < r->count; i++)
        if (record_copy(&h->page[i], &h->memory, &r->records[i]) != UAR_OK) abort();
}

/* ---- the optional slots ---- */

static uar_status hostile_suspend(void *ctx, uar_error *err) {
    hostile *h = ctx;
    (void)err;
    h->is_asleep = true;
    bool is_sorted = h->world->last_count > 0 && h->world->last[h->world->last_count - 1].has_sort;
    if (h->way == HOSTILE_LOSES_AT_SUSPEND && is_sorted) lose_last_put(h);
    return UAR_OK;
}

static uar_status hostile_resume(void *ctx, uar_error *err) {
    hostile *h = ctx;
    (void)err;
    h->is_asleep = false;
    h->has_slept = true;
    return UAR_OK;
}

static uar_status hostile_maintain(void *ctx, const uar_care_options *options, const uar_care_progress *progress,
                                   uar_store_care *report, uar_error *err) {
    (void)options, (void)progress, (void)report, (void)err;
    lose_last_put(ctx);
    return UAR_OK;
}

static uar_status hostile_check(void *ctx, uar_store_finding_fn each, void *each_ctx, const uar_care_progress *progress,
                                uar_store_check *report, uar_error *err) {
    (void)ctx, (void)progress, (void)err;
    const uar_store_finding finding = { .size = sizeof finding, .what = STR("something") };
    report->records = PLENTY;
    each(each_ctx, &finding);
    return UAR_OK;
}

static void copy_last_puts(hostile *h) {
    hostile_world *w = h->world;
    arena memory;
    arena_init(&memory, &alloc_default);
    hostile copy = { .inner = uar_persistence_volatile() };
    for (size_t i = 0; i < w->last_count; i++) {
        reply now = inner_get(h, &memory, w->last[i].kind, w->last[i].owner, w->last[i].id);
        const uar_write put = { UAR_WRITE_PUT, 0, now.count == 1 ? now.records[0] : w->last[i] };
        if (now.count == 1) (void)inner_commit(&copy, &put, 1);
    }
    uar_persistence_free(w->copy);
    w->copy = copy.inner;
    arena_dispose(&memory);
}

static uar_status hostile_backup(void *ctx, const char *path, const uar_care_progress *progress, uar_error *err) {
    hostile *h = ctx;
    (void)progress;
    FILE *there = fopen(path, "rb");
    if (there != NULL) (void)fclose(there);
    if (there != NULL && h->way != HOSTILE_OVERWRITES) return error_set(err, UAR_E_EXISTS, "there is a file");
    FILE *file = fopen(path, "wb");
    if (file == NULL || fclose(file) != 0) abort();
    if (h->way == HOSTILE_OVERWRITES) copy_last_puts(h);
    return UAR_OK;
}

void shared_slots(hostile *h) {
    bool sleeps = h->way == HOSTILE_LOSES_AT_SUSPEND || h->way == HOSTILE_SLEEPS_ON || h->way == HOSTILE_LOSES_ASLEEP;
    bool backs_up = h->way == HOSTILE_EMPTY_BACKUP || h->way == HOSTILE_LATE_BACKUP || h->way == HOSTILE_OVERWRITES;
    h->door.suspend = sleeps ? hostile_suspend : NULL;
    h->door.resume = sleeps ? hostile_resume : NULL;
    h->door.maintain = h->way == HOSTILE_TIDIES_AWAY ? hostile_maintain : NULL;
    h->door.check = h->way == HOSTILE_CRIES_WOLF ? hostile_check : NULL;
    h->door.backup = backs_up ? hostile_backup : NULL;
}
