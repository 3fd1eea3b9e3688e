/*
 * The layer that keeps records in memory only.
 *
 * Owns: entries, each one record in one block of memory, counted by references and never changed once made. A put replaces
 * an entry, so what a call handed out stays as it was. Four trees hold the same entries in four orders.
 * Invariants: an entry is in `by_id` always, in `by_parent` if it has a parent, in `by_owner_sort` if it has a sort, in
 * `by_sort` if it has both. The trees hold one reference.
 * Threads: every slot may be called from any thread; one mutex guards the trees and no completion is finished under it.
 */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/lock.h"
#include "base/str.h"
#include "store/layer.h"
#include "store/tree.h"

enum { BY_ID, BY_PARENT, BY_SORT, BY_OWNER_SORT, ORDERS };

typedef struct entry entry;

/* One step of a commit, to be undone in reverse: the entry went in, or went out. */
typedef struct undo {
    struct undo *before;
    entry *what;
} undo;

struct entry {
    uar_record record; /* first: trees compare entries with bare records */
    atomic_uint refs;
    tree_node node[ORDERS];
    undo added, removed;
    char bytes[];
};

typedef struct volatile_layer {
    uar_persistence door;
    uar_allocator alloc;
    mutex lock;
    tree order[ORDERS];
} volatile_layer;

/* ---- orders ---- */

static int compare_u32(uint32_t a, uint32_t b) {
    return a == b ? 0 : a < b ? -1 : 1;
}

static int compare_i64(int64_t a, int64_t b) {
    return a == b ? 0 : a < b ? -1 : 1;
}

static int compare_home(const uar_record *a, const uar_record *b) {
    int c = compare_u32(a->kind, b->kind);
    return c != 0 ? c : str_compare(a->owner, b->owner);
}

static int compare_by_id(const void *x, const void *y) {
    const uar_record *a = x;
    const uar_record *b = y;
    int c = compare_home(a, b);
    return c != 0 ? c : str_compare(a->id, b->id);
}

static int compare_by_parent(const void *x, const void *y) {
    const uar_record *a = x;
    const uar_record *b = y;
    int c = compare_home(a, b);
    if (c == 0) c = str_compare(a->parent, b->parent);
    return c != 0 ? c : str_compare(a->id, b->id);
}

static int compare_by_sort(const void *x, const void *y) {
    const uar_record *a = x;
    const uar_record *b = y;
    int c = compare_home(a, b);
    if (c == 0) c = str_compare(a->parent, b->parent);
    if (c == 0) c = compare_i64(a->sort, b->sort);
    return c != 0 ? c : str_compare(a->id, b->id);
}

static int compare_by_owner_sort(const void *x, const void *y) {
    const uar_record *a = x;
    const uar_record *b = y;
    int c = compare_home(a, b);
    if (c == 0) c = compare_i64(a->sort, b->sort);
    return c != 0 ? c : str_compare(a->id, b->id);
}

static bool is_in(const uar_record *r, int order) {
    bool has_parent = r->parent.ptr != NULL;
    if (order == BY_PARENT) return has_parent;
    if (order == BY_SORT) return has_parent && r->has_sort;
    return order == BY_OWNER_SORT ? r->has_sort : true;
}

/* ---- entries ---- */

static uar_str entry_take(char **at, uar_str from) {
    if (from.ptr == NULL) return from;
    char *to = *at;
    if (from.len != 0) memcpy(to, from.ptr, from.len);
    to[from.len] = '\0';
    *at += from.len + 1;
    return uar_str_n(to, from.len);
}

static entry *entry_new(const uar_allocator *alloc, const uar_record *r) {
    const uar_str texts[] = { r->owner, r->id, r->parent, r->body, r->blob };
    size_t size = sizeof(entry);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].len >= SIZE_MAX / 2 - size) return NULL;
        size += texts[i].len + 1;
    }
    entry *e = alloc_bytes(alloc, size);
    if (e == NULL) return NULL;
    memset(e, 0, sizeof *e);
    atomic_init(&e->refs, 1);
    e->record = *r;
    char *at = e->bytes;
    e->record.owner = entry_take(&at, r->owner);
    e->record.id = entry_take(&at, r->id);
    e->record.parent = entry_take(&at, r->parent);
    e->record.body = entry_take(&at, r->body);
    e->record.blob = entry_take(&at, r->blob);
    return e;
}

static void entry_unref(const uar_allocator *alloc, entry *e) {
    if (atomic_fetch_sub(&e->refs, 1) == 1) alloc_free(alloc, e);
}

static void entry_insert(volatile_layer *v, entry *e) {
    for (int i = 0; i < ORDERS; i++)
        if (is_in(&e->record, i)) tree_insert(&v->order[i], &e->node[i], e);
}

static void entry_remove(volatile_layer *v, entry *e) {
    for (int i = 0; i < ORDERS; i++)
        if (is_in(&e->record, i)) tree_remove(&v->order[i], &e->node[i]);
}

/* ---- commit ---- */

/* A commit in progress: what it did so far, newest first. */
typedef struct change {
    volatile_layer *layer;
    undo *last;
} change;

static void change_add(change *c, entry *e) {
    entry_insert(c->layer, e);
    e->added = (undo){ c->last, e };
    c->last = &e->added;
}

static void change_remove(change *c, entry *e) {
    entry_remove(c->layer, e);
    e->removed = (undo){ c->last, e };
    c->last = &e->removed;
}

/* Keep what was done: entries that went out are let go. */
static void change_keep(change *c) {
    for (undo *u = c->last, *before; u != NULL; u = before) {
        before = u->before;
        /* An entry that came and went is met as removed first; its `added` lies in the same memory, so that memory must
         * stay until the older step is passed. Each entry is freed at its older step. */
        entry *e = u->what;
        bool is_out = e->removed.what != NULL;
        bool is_newer_of_two = u == &e->removed && e->added.what != NULL;
        if (is_newer_of_two) continue;
        e->added = (undo){ 0 };
        if (is_out) entry_unref(&c->layer->alloc, e);
    }
}

static void change_undo(change *c) {
    for (undo *u = c->last, *before; u != NULL; u = before) {
        before = u->before;
        entry *e = u->what;
        if (u == &e->removed) {
            e->removed = (undo){ 0 };
            entry_insert(c->layer, e);
        } else {
            entry_remove(c->layer, e);
            entry_unref(&c->layer->alloc, e);
        }
    }
}

static uar_status change_put(change *c, entry *old, const uar_record *r) {
    entry *e = entry_new(&c->layer->alloc, r);
    if (e == NULL) return UAR_E_NOMEM;
    if (old != NULL) change_remove(c, old);
    change_add(c, e);
    return UAR_OK;
}

static void change_remove_children(change *c, const uar_record *of) {
    uar_record key = { .kind = of->kind, .owner = of->owner, .parent = of->parent, .id = uar_str_n("", 0) };
    const tree *children = &c->layer->order[BY_PARENT];
    tree_node *n;
    while ((n = tree_behind(children, &key)) != NULL) {
        entry *e = n->item;
        if (compare_home(&e->record, of) != 0 || str_compare(e->record.parent, of->parent) != 0) return;
        change_remove(c, e);
    }
}

static uar_status change_write(change *c, const uar_write *w) {
    if (w->op == UAR_WRITE_DELETE_CHILDREN) {
        change_remove_children(c, &w->record);
        return UAR_OK;
    }
    entry *old = tree_find(&c->layer->order[BY_ID], &w->record);
    if ((old != NULL ? old->record.revision : 0) != w->expected) return UAR_E_CONFLICT;
    if (w->op == UAR_WRITE_PUT) return change_put(c, old, &w->record);
    if (w->op == UAR_WRITE_DELETE && old != NULL) change_remove(c, old);
    return UAR_OK;
}

static uar_status apply(volatile_layer *v, const uar_write *writes, size_t count) {
    change c = { .layer = v };
    for (size_t i = 0; i < count; i++) {
        uar_status st = change_write(&c, &writes[i]);
        if (st != UAR_OK) {
            change_undo(&c);
            return st;
        }
    }
    change_keep(&c);
    return UAR_OK;
}

static void volatile_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    volatile_layer *v = ctx;
    for (size_t i = 0; i < count; i++) {
        const char *fault = layer_write_fault(&writes[i]);
        if (fault != NULL) {
            uar_completion_fail(done, UAR_E_INVALID, fault);
            return;
        }
    }
    mutex_lock(&v->lock);
    uar_status st = apply(v, writes, count);
    mutex_unlock(&v->lock);
    if (st == UAR_OK)
        uar_completion_ok(done);
    else
        uar_completion_fail(done, st, NULL);
}

/* ---- reading ---- */

/* An answer: references to entries, and their records in a row. */
typedef struct page {
    uar_allocator alloc;
    size_t count;
    entry **entries;
    uar_record records[];
} page;

static page *page_new(const uar_allocator *alloc, size_t count) {
    if (count > SIZE_MAX / 2 / (sizeof(uar_record) + sizeof(entry *))) return NULL;
    page *p = alloc_bytes(alloc, sizeof(page) + count * (sizeof(uar_record) + sizeof(entry *)));
    if (p == NULL) return NULL;
    p->alloc = *alloc;
    p->count = 0;
    p->entries = (entry **)(void *)(p->records + count);
    return p;
}

static void page_add(page *p, entry *e) {
    atomic_fetch_add(&e->refs, 1);
    p->entries[p->count] = e;
    p->records[p->count++] = e->record;
}

static void page_release(void *ctx) {
    page *p = ctx;
    uar_allocator alloc = p->alloc;
    for (size_t i = 0; i < p->count; i++)
        entry_unref(&alloc, p->entries[i]);
    alloc_free(&alloc, p);
}

static void page_finish(page *p, uar_completion *done) {
    uar_completion_records(done, p->records, p->count, page_release, p);
}

static void volatile_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    volatile_layer *v = ctx;
    const uar_record key = { .kind = kind, .owner = owner, .id = id };
    page *p = page_new(&v->alloc, 1);
    if (p == NULL) {
        uar_completion_fail(done, UAR_E_NOMEM, NULL);
        return;
    }
    mutex_lock(&v->lock);
    entry *e = tree_find(&v->order[BY_ID], &key);
    if (e != NULL) page_add(p, e);
    mutex_unlock(&v->lock);
    if (e != NULL) {
        page_finish(p, done);
        return;
    }
    page_release(p);
    uar_completion_fail(done, UAR_E_NOT_FOUND, NULL);
}

static int order_of(const uar_list_query *q) {
    if (q->parent.ptr == NULL) return q->order == UAR_ORDER_KEY ? BY_ID : BY_OWNER_SORT;
    return q->order == UAR_ORDER_KEY ? BY_PARENT : BY_SORT;
}

static bool is_asked(const uar_list_query *q, const uar_record *r) {
    if (r->kind != q->kind || str_compare(r->owner, q->owner) != 0) return false;
    return q->parent.ptr == NULL || str_compare(r->parent, q->parent) == 0;
}

/* Fill a new page with what the query asks for. NULL: out of memory. Under the lock. */
static page *collect(volatile_layer *v, const uar_list_query *q) {
    layer_start start;
    tree_node *first = NULL;
    if (layer_list_start(&start, q)) {
        const uar_record key = {
            .kind = q->kind, .owner = q->owner, .parent = q->parent, .sort = start.sort, .id = start.id
        };
        first = tree_behind(&v->order[order_of(q)], &key);
    }
    size_t count = 0;
    for (const tree_node *n = first; n != NULL && count < q->limit; n = tree_next(n), count++)
        if (!is_asked(q, &((const entry *)n->item)->record)) break;
    page *p = page_new(&v->alloc, count);
    for (tree_node *n = first; p != NULL && p->count < count; n = tree_next(n))
        page_add(p, n->item);
    return p;
}

static void volatile_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    volatile_layer *v = ctx;
    const char *fault = layer_query_fault(query);
    if (fault != NULL) {
        uar_completion_fail(done, UAR_E_INVALID, fault);
        return;
    }
    mutex_lock(&v->lock);
    page *p = collect(v, query);
    mutex_unlock(&v->lock);
    if (p == NULL)
        uar_completion_fail(done, UAR_E_NOMEM, NULL);
    else
        page_finish(p, done);
}

/* ---- life ---- */

static void volatile_destroy(void *ctx) {
    volatile_layer *v = ctx;
    uar_allocator alloc = v->alloc;
    while (v->order[BY_ID].root != NULL) {
        entry *e = v->order[BY_ID].root->item;
        entry_remove(v, e);
        entry_unref(&alloc, e);
    }
    mutex_dispose(&v->lock);
    alloc_free(&alloc, v);
    live_add(-1);
}

/* There is nothing to give back. */
static uar_status volatile_rest(void *ctx, uar_error *err) {
    (void)ctx, (void)err;
    return UAR_OK;
}

const uar_persistence *volatile_new(const uar_allocator *alloc) {
    static const tree_compare compare[ORDERS] = { compare_by_id, compare_by_parent, compare_by_sort,
                                                  compare_by_owner_sort };
    volatile_layer *v = ALLOC_NEW(alloc, volatile_layer);
    if (v == NULL) return NULL;
    if (mutex_init(&v->lock) != UAR_OK) {
        alloc_free(alloc, v);
        return NULL;
    }
    v->alloc = *alloc;
    for (int i = 0; i < ORDERS; i++)
        tree_init(&v->order[i], compare[i]);
    v->door = (uar_persistence){
        .struct_size = UAR_PERSISTENCE_INIT,
        .ctx = v,
        .destroy = volatile_destroy,
        .get = volatile_get,
        .list = volatile_list,
        .commit = volatile_commit,
        .concurrent = true,
        .suspend = volatile_rest,
        .resume = volatile_rest,
    };
    live_add(1);
    return &v->door;
}

const uar_persistence *uar_persistence_volatile(void) {
    const uar_persistence *layer = volatile_new(&alloc_default);
    return layer != NULL ? layer : &layer_nomem;
}
