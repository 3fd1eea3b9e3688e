/*
 * The hostile layer. Owns the volatile layer inside. Each call asks the inner layer, which answers within the call, keeps
 * the answer in an arena of its own, spoils it as the way says, and finishes the outer call.
 */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "contract/hostile_own.h"

/* ---- asking the inner layer ---- */

static void on_end(void *arg, const completion_result *result) {
    reply *r = arg;
    r->status = result->status;
    if (result->record_count == 0) return;
    r->records = arena_zeroed(r->memory, result->record_count, sizeof *r->records);
    assert(r->records != NULL);
    r->count = result->record_count;
    for (size_t i = 0; i < r->count; i++)
        if (record_copy(&r->records[i], r->memory, &result->records[i]) != UAR_OK) abort();
}

static uar_completion *begin(reply *r, completion_kind kind) {
    uar_completion *done = completion_new(&alloc_default, kind, on_end, r);
    if (done == NULL) abort();
    completion_lend(done);
    return done;
}

static void end(uar_completion *done) {
    completion_return(done);
    completion_release(done);
}

reply inner_get(const hostile *h, arena *memory, uint32_t kind, uar_str owner, uar_str id) {
    reply r = { .memory = memory, .status = UAR_E_INTERNAL };
    uar_completion *done = begin(&r, COMPLETION_RECORDS);
    h->inner->get(h->inner->ctx, kind, owner, id, done);
    end(done);
    return r;
}

reply inner_list(const hostile *h, arena *memory, const uar_list_query *query) {
    reply r = { .memory = memory, .status = UAR_E_INTERNAL };
    uar_completion *done = begin(&r, COMPLETION_RECORDS);
    h->inner->list(h->inner->ctx, query, done);
    end(done);
    return r;
}

uar_status inner_commit(const hostile *h, const uar_write *writes, size_t count) {
    reply r = { .status = UAR_E_INTERNAL };
    uar_completion *done = begin(&r, COMPLETION_OK);
    h->inner->commit(h->inner->ctx, writes, count, done);
    end(done);
    return r.status;
}

uint64_t revision_of(const hostile *h, arena *memory, const uar_record *r) {
    reply got = inner_get(h, memory, r->kind, r->owner, r->id);
    return got.status == UAR_OK ? got.records[0].revision : 0;
}

/* ---- finishing the outer call ---- */

void pause_us(long us) {
    const struct timespec t = { 0, us * 1000 };
    (void)nanosleep(&t, NULL);
}

typedef struct late {
    hostile *of;
    uar_completion *done;
    arena memory;
    reply answer;
    bool is_commit;
} late;

static void keep_call(hostile *h, uar_completion *done) {
    uar_completion **slot = &h->refs[h->ref_count++ % REMEMBERED];
    uar_completion_unref(*slot);
    *slot = uar_completion_ref(done);
}

static void finish(const reply *r, bool is_commit, uar_completion *done) {
    if (r->status != UAR_OK)
        uar_completion_fail(done, r->status, NULL);
    else if (is_commit)
        uar_completion_ok(done);
    else
        uar_completion_records(done, r->records, r->count, NULL, NULL);
}

static void finish_late(void *arg) {
    late *l = arg;
    pause_us(200);
    finish(&l->answer, l->is_commit, l->done);
    uar_completion_unref(l->done);
    arena_dispose(&l->memory);
    atomic_fetch_sub(&l->of->late, 1);
    free(l);
}

/* Finish now or later, and give the arena of the call back. */
static void conclude(hostile *h, arena *memory, const reply *r, bool is_commit, uar_completion *done) {
    if (h->way != HOSTILE_LATE) {
        finish(r, is_commit, done);
        if (h->way == HOSTILE_FINISHES_TWICE) finish(r, is_commit, done);
        if (h->way == HOSTILE_KEEPS_CALLS) keep_call(h, done);
        arena_dispose(memory);
        return;
    }
    late *l = malloc(sizeof *l);
    if (l == NULL) abort();
    *l = (late){ h, uar_completion_ref(done), *memory, *r, is_commit };
    atomic_fetch_add(&h->late, 1);
    thread t;
    if (thread_start(&t, 64 * 1024, finish_late, l) != UAR_OK) abort();
    thread_detach(t);
}

/* ---- spoiling records on their way in ---- */

size_t record_at(const uar_record *records, size_t count, const uar_record *key) {
    size_t i = 0;
    while (i < count && !(records[i].kind == key->kind && uar_str_equal(records[i].owner, key->owner) &&
                          uar_str_equal(records[i].id, key->id)))
        i++;
    return i;
}

static size_t kept_at(const hostile *h, const uar_record *r) {
    size_t at = record_at(h->kept, h->kept_count, r);
    return at < h->kept_count ? at : KEPT;
}

/* Remember the first record of its key; with KEEPS_ADDRESSES only where its body lies. */
static void keep(hostile *h, const uar_record *r) {
    if (h->kept_count == KEPT || kept_at(h, r) < KEPT) return;
    uar_record *k = &h->kept[h->kept_count++];
    if (record_copy(k, &h->memory, r) != UAR_OK) abort();
    if (h->way == HOSTILE_KEEPS_ADDRESSES) k->body = r->body;
}

static uar_str lower(arena *memory, uar_str s) {
    char *copy = arena_alloc(memory, s.len + 1);
    if (copy == NULL) abort();
    for (size_t i = 0; i < s.len; i++)
        copy[i] = s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? (char)(s.ptr[i] + 32) : s.ptr[i];
    return uar_str_n(copy, s.len);
}

static uar_str cut(uar_str s, size_t max) {
    return s.len > max ? uar_str_n(s.ptr, max) : s;
}

static uar_str trim(uar_str s) {
    while (s.len > 0 && s.ptr[s.len - 1] == ' ')
        s.len--;
    return s;
}

static int64_t as_double(int64_t value) {
    double d = (double)value;
    return d >= 9223372036854775807.0 ? INT64_MAX : (int64_t)d;
}

/* A key as this layer understands it. */
static void spoil_key(const hostile *h, arena *memory, uar_record *r) {
    if (h->way == HOSTILE_FOLDS_CASE) r->id = lower(memory, r->id);
    if (h->way == HOSTILE_SHORT_IDS) r->id = cut(r->id, 255);
    if (h->way == HOSTILE_TRIMS_OWNERS) r->owner = trim(r->owner);
    if (h->way == HOSTILE_TRIMS_PARENTS) r->parent = trim(r->parent);
}

static void spoil_record(const hostile *h, arena *memory, uar_record *r) {
    spoil_key(h, memory, r);
    switch (h->way) {
    case HOSTILE_OWN_CHECKSUM: memset(r->checksum, 0, sizeof r->checksum); break;
    case HOSTILE_WHOLE_SECONDS: r->updated_ms = r->updated_ms / 1000 * 1000; break;
    case HOSTILE_DOUBLES:
        r->sort = as_double(r->sort);
        r->created_ms = as_double(r->created_ms);
        break;
    case HOSTILE_ZERO_IS_NONE: r->has_sort = r->has_sort && r->sort != 0; break;
    case HOSTILE_EMPTY_IS_ABSENT:
        if (r->blob.len == 0) r->blob.ptr = NULL;
        break;
    case HOSTILE_SMALL_BLOBS: r->blob = cut(r->blob, (size_t)1 << 20); break;
    case HOSTILE_C_STRINGS:
        if (r->blob.ptr != NULL) {
            const char *zero = memchr(r->blob.ptr, 0, r->blob.len);
            if (zero != NULL) r->blob.len = (size_t)(zero - r->blob.ptr);
        }
        break;
    case HOSTILE_CUTS_LARGE:
        if (r->blob.len == HOSTILE_LARGE + 1) r->blob.len--;
        break;
    case HOSTILE_LOSES_PAGE_END:
        if (r->blob.len == 4096) r->blob.len--;
        break;
    case HOSTILE_SMALL_BODIES: r->body = cut(r->body, 1000000); break;
    case HOSTILE_REWRITES_BODIES:
        if (r->body.len > 10 && memchr(r->body.ptr, '9', r->body.len) != NULL)
            r->body = STR("{\"b\":9007199254740992}");
        break;
    default: break;
    }
}

/* ---- spoiling commits ---- */

static bool begins_alike(uar_str text, uar_str with) {
    return text.ptr != NULL && text.len >= with.len && memcmp(text.ptr, with.ptr, with.len) == 0;
}

/* Delete by a list and one delete a record. Returns how many. */
size_t delete_listed(const hostile *h, arena *memory, uint32_t kind, uar_str owner, uar_str parent, bool by_prefix) {
    const uar_list_query query = { .kind = kind, .owner = owner, .limit = PLENTY };
    reply all = inner_list(h, memory, &query);
    size_t count = 0;
    for (size_t i = 0; i < all.count; i++) {
        const uar_record *r = &all.records[i];
        bool is_child =
            by_prefix ? begins_alike(r->parent, parent) : r->parent.ptr != NULL && uar_str_equal(r->parent, parent);
        const uar_write gone = { UAR_WRITE_DELETE, r->revision, *r };
        if (is_child && inner_commit(h, &gone, 1) == UAR_OK) count++;
    }
    return count;
}

/* Extra harm of a delete of children; a status other than UAR_OK ends the commit. */
static uar_status harm_children(const hostile *h, arena *memory, const uar_record *of) {
    if (h->way == HOSTILE_PREFIX_CHILDREN) delete_listed(h, memory, of->kind, of->owner, of->parent, true);
    if (h->way == HOSTILE_FOREIGN_CHILDREN)
        delete_listed(h, memory, UAR_RECORD_CHECKPOINT, of->owner, of->parent, false);
    if (h->way == HOSTILE_WILD_PARENTS && uar_str_equal(of->parent, STR("%")))
        delete_listed(h, memory, of->kind, of->owner, STR(""), true);
    if (h->way == HOSTILE_CHILDREN_MUST_EXIST && delete_listed(h, memory, of->kind, of->owner, of->parent, false) == 0)
        return UAR_E_NOT_FOUND;
    return UAR_OK;
}

static void spoil_put(hostile *h, arena *memory, uar_write *w) {
    spoil_record(h, memory, &w->record);
    uint64_t stored = revision_of(h, memory, &w->record);
    bool is_blind = h->way == HOSTILE_BLIND_PUT || (h->way == HOSTILE_OVERWRITES_NEW && w->expected == 0) ||
                    (h->way == HOSTILE_UPSERTS && stored == 0);
    if (is_blind) w->expected = stored;
    if (h->way == HOSTILE_KEEPS_OLD_BLOB && stored != 0 && w->record.blob.ptr == NULL) {
        reply old = inner_get(h, memory, w->record.kind, w->record.owner, w->record.id);
        w->record.blob = old.records[0].blob;
    }
    if (h->way == HOSTILE_STALE_LISTS || h->way == HOSTILE_KEEPS_ADDRESSES) keep(h, &w->record);
}

static uar_str until_zero(uar_str s) {
    const char *zero = s.len > 0 ? memchr(s.ptr, 0, s.len) : NULL;
    return zero != NULL && zero != s.ptr ? uar_str_n(s.ptr, (size_t)(zero - s.ptr)) : s;
}

static void spoil_delete(hostile *h, arena *memory, uar_write *w) {
    if (h->way == HOSTILE_DELETES_C_STRINGS) w->record.id = until_zero(w->record.id);
    uint64_t stored = revision_of(h, memory, &w->record);
    if (h->way == HOSTILE_BLIND_DELETE || (h->way == HOSTILE_LAX_DELETE && stored == 0)) w->expected = stored;
    if (h->way == HOSTILE_SOFT_DELETE && stored == w->expected) keep(h, &w->record);
    if (h->way == HOSTILE_SHARES_KINDS && stored == w->expected && stored != 0) {
        uar_write other = *w;
        other.record.kind = w->record.kind == UAR_RECORD_RUN ? UAR_RECORD_MESSAGE : UAR_RECORD_RUN;
        (void)inner_commit(h, &other, 1);
    }
}

static void spoil_check(const hostile *h, arena *memory, uar_write *w) {
    uint64_t stored = revision_of(h, memory, &w->record);
    if (h->way == HOSTILE_BLIND_CHECK || (h->way == HOSTILE_LAX_ABSENCE && w->expected == 0)) w->expected = stored;
    if (h->way == HOSTILE_BUMPS_ON_CHECK && stored == w->expected && stored != 0) {
        reply old = inner_get(h, memory, w->record.kind, w->record.owner, w->record.id);
        w->op = UAR_WRITE_PUT;
        w->record = old.records[0];
        w->record.revision++;
    }
}

static uar_status spoil_write(hostile *h, arena *memory, uar_write *w) {
    if (w->op == UAR_WRITE_DELETE_CHILDREN) {
        if (h->way == HOSTILE_COMPARES_CHILDREN && w->expected != 0) return UAR_E_CONFLICT;
        return harm_children(h, memory, &w->record);
    }
    spoil_key(h, memory, &w->record);
    if (w->op == UAR_WRITE_PUT) {
        if (h->way == HOSTILE_SOFT_DELETE && kept_at(h, &w->record) < KEPT) return UAR_E_CONFLICT;
        if (h->way == HOSTILE_KNOWN_KINDS_ONLY && record_kind_name(w->record.kind) == NULL) return UAR_E_INVALID;
        spoil_put(h, memory, w);
    } else if (w->op == UAR_WRITE_DELETE) {
        if (h->way == HOSTILE_DELETE_NEEDS_RECORD && w->expected == 0) return UAR_E_CONFLICT;
        spoil_delete(h, memory, w);
    } else {
        spoil_check(h, memory, w);
    }
    return UAR_OK;
}

static int children_first(const void *a, const void *b) {
    const uar_write *x = a, *y = b;
    return (y->op == UAR_WRITE_DELETE_CHILDREN) - (x->op == UAR_WRITE_DELETE_CHILDREN);
}

/* Compare in one step, write in the next: what other threads do between is lost. */
static uar_status commit_in_two_steps(const hostile *h, arena *memory, uar_write *w) {
    if (revision_of(h, memory, &w->record) != w->expected) return UAR_E_CONFLICT;
    pause_us(300);
    w->expected = revision_of(h, memory, &w->record);
    return inner_commit(h, w, 1);
}

/* All expectations are met, but the writes are seen one by one. */
static uar_status commit_in_halves(const hostile *h, arena *memory, const uar_write *writes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (revision_of(h, memory, &writes[i].record) != writes[i].expected) return UAR_E_CONFLICT;
    for (size_t i = 0; i < count; i++) {
        uar_status status = inner_commit(h, &writes[i], 1);
        if (status != UAR_OK) return status;
        pause_us(500);
    }
    return UAR_OK;
}

static uar_status commit_in_portions(const hostile *h, const uar_write *writes, size_t count) {
    enum { PORTION = 100 };
    for (size_t i = 0; i < count; i += PORTION) {
        uar_status status = inner_commit(h, writes + i, count - i < PORTION ? count - i : PORTION);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

static bool is_pair_of_puts(const uar_write *writes, size_t count) {
    return count == 2 && writes[0].op == UAR_WRITE_PUT && writes[1].op == UAR_WRITE_PUT;
}

static bool is_same_body(const hostile *h, arena *memory, const uar_write *w) {
    if (w->op != UAR_WRITE_PUT || w->expected == 0) return false;
    reply old = inner_get(h, memory, w->record.kind, w->record.owner, w->record.id);
    return old.status == UAR_OK && old.records[0].revision == w->expected &&
           uar_str_equal(old.records[0].body, w->record.body) && old.records[0].updated_ms != w->record.updated_ms;
}

static uar_status commit_narrowly(hostile *h, arena *memory, uar_write *writes, size_t count) {
    const uar_write *last = &writes[count - 1];
    bool is_beside = has_company(h);
    switch (h->way) {
    case HOSTILE_PORTIONS: return commit_in_portions(h, writes, count);
    case HOSTILE_SKIPS_SAME_BODY:
        if (count == 1 && is_same_body(h, memory, &writes[0])) return UAR_OK;
        break;
    case HOSTILE_KEEPS_BEFORE_DELETE:
        if (count > 1 && last->op == UAR_WRITE_DELETE && revision_of(h, memory, &last->record) != last->expected) {
            (void)inner_commit(h, writes, count - 1);
            return UAR_E_CONFLICT;
        }
        break;
    case HOSTILE_HALF_SEEN_BESIDE:
        if (!is_beside) break;
        /* fall through */
    case HOSTILE_HALF_SEEN:
        if (is_pair_of_puts(writes, count)) return commit_in_halves(h, memory, writes, count);
        break;
    case HOSTILE_SPLIT_LAYERS:
        if (is_beside && count == 1 && writes[0].op == UAR_WRITE_PUT) return commit_in_two_steps(h, memory, &writes[0]);
        break;
    default: break;
    }
    return inner_commit(h, writes, count);
}

static uar_status commit_spoiled(hostile *h, arena *memory, uar_write *writes, size_t count) {
    switch (h->way) {
    case HOSTILE_NOT_ATOMIC:
        for (size_t i = 0; i < count; i++) {
            uar_status status = inner_commit(h, &writes[i], 1);
            if (status != UAR_OK) return status;
        }
        return UAR_OK;
    case HOSTILE_CHECKS_FIRST:
        for (size_t i = 0; i < count; i++)
            if (writes[i].op != UAR_WRITE_DELETE_CHILDREN &&
                revision_of(h, memory, &writes[i].record) != writes[i].expected)
                return UAR_E_CONFLICT;
        break;
    case HOSTILE_CHILDREN_FIRST: qsort(writes, count, sizeof *writes, children_first); break;
    case HOSTILE_RACES:
        if (count == 1 && writes[0].op == UAR_WRITE_PUT) return commit_in_two_steps(h, memory, &writes[0]);
        break;
    default: break;
    }
    return commit_narrowly(h, memory, writes, count);
}

/* What answers a call without asking. */
static uar_status fails_at_once(hostile *h) {
    if (shared_strike(h)) return UAR_E_CLOSED;
    return h->way == HOSTILE_ONE_THREAD && !thread_is(h->opener, thread_self()) ? UAR_E_IO : UAR_OK;
}

static void hostile_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    hostile *h = ctx;
    arena memory;
    arena_init(&memory, &alloc_default);
    reply r = { .status = UAR_OK };
    uar_write *own = arena_alloc(&memory, count * sizeof *own);
    if (own == NULL) abort();
    memcpy(own, writes, count * sizeof *own);
    for (size_t i = 0; i < count && r.status == UAR_OK; i++)
        r.status = spoil_write(h, &memory, &own[i]);
    if (h->way == HOSTILE_SMALL_COMMITS && count > 500) r.status = UAR_E_TOO_LARGE;
    if (r.status == UAR_OK) r.status = fails_at_once(h);
    if (r.status == UAR_OK) r.status = shared_before(h, &memory, own, count);
    if (r.status == UAR_OK) r.status = commit_spoiled(h, &memory, own, count);
    shared_after(h, own, count, r.status);
    conclude(h, &memory, &r, true, done);
}

/* ---- spoiling reads ---- */

/* The id under any owner whose name differs only in its end. */
static reply get_anywhere(const hostile *h, arena *memory, const uar_record *key) {
    reply r = inner_get(h, memory, key->kind, key->owner, key->id);
    if (r.status == UAR_OK || key->owner.len == 0) return r;
    char *owner = arena_alloc(memory, key->owner.len);
    if (owner == NULL) abort();
    memcpy(owner, key->owner.ptr, key->owner.len);
    char *last = &owner[key->owner.len - 1];
    *last = *last == 'a' ? 'b' : 'a';
    return inner_get(h, memory, key->kind, uar_str_n(owner, key->owner.len), key->id);
}

static void spoil_missing(const hostile *h, arena *memory, const uar_record *key, reply *r) {
    if (h->way == HOSTILE_EMPTY_FOR_MISSING) r->status = UAR_OK;
    if (h->way == HOSTILE_BLANK_FOR_MISSING) {
        r->records = arena_zeroed(memory, 1, sizeof *r->records);
        if (r->records == NULL) abort();
        r->records[0] = *key;
        r->count = 1;
        r->status = UAR_OK;
    }
}

/* READS_LATE: the question as it is when the thread comes to it. */
typedef struct late_get {
    hostile *of;
    uar_completion *done;
    uint32_t kind;
    uar_str owner, id;
} late_get;

/* What is read here may be overwritten at the same time: that is the fault. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
static void
read_late(char *to, uar_str from) {
    const volatile char *at = from.ptr;
    for (size_t i = 0; i < from.len; i++)
        to[i] = at[i];
}

static void get_late(void *arg) {
    late_get *l = arg;
    arena memory;
    arena_init(&memory, &alloc_default);
    pause_us(200);
    char *owner = arena_alloc(&memory, l->owner.len), *id = arena_alloc(&memory, l->id.len);
    if (owner == NULL || id == NULL) abort();
    read_late(owner, l->owner);
    read_late(id, l->id);
    reply r = inner_get(l->of, &memory, l->kind, uar_str_n(owner, l->owner.len), uar_str_n(id, l->id.len));
    finish(&r, false, l->done);
    uar_completion_unref(l->done);
    arena_dispose(&memory);
    atomic_fetch_sub(&l->of->late, 1);
    free(l);
}

static void begin_late_get(hostile *h, const uar_record *key, uar_completion *done) {
    late_get *l = malloc(sizeof *l);
    if (l == NULL) abort();
    *l = (late_get){ h, uar_completion_ref(done), key->kind, key->owner, key->id };
    atomic_fetch_add(&h->late, 1);
    thread t;
    if (thread_start(&t, 64 * 1024, get_late, l) != UAR_OK) abort();
    thread_detach(t);
}

static void hostile_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    hostile *h = ctx;
    if (h->way == HOSTILE_DROPS_CALLS && h->calls++ % 3 == 0) return;
    uar_record key = { .kind = kind, .owner = owner, .id = id };
    if (h->way == HOSTILE_READS_LATE) {
        begin_late_get(h, &key, done);
        return;
    }
    arena memory;
    arena_init(&memory, &alloc_default);
    spoil_key(h, &memory, &key);
    reply r = h->way == HOSTILE_SHARES_OWNERS ? get_anywhere(h, &memory, &key)
                                              : inner_get(h, &memory, kind, key.owner, key.id);
    if (r.status == UAR_E_NOT_FOUND && h->way == HOSTILE_NEVER_ENDS) {
        h->held = uar_completion_ref(done);
        arena_dispose(&memory);
        return;
    }
    if (r.status == UAR_E_NOT_FOUND) spoil_missing(h, &memory, &key, &r);
    shared_got(h, &key, &r);
    uar_status failure = fails_at_once(h);
    if (failure != UAR_OK) r = (reply){ .status = failure };
    if (r.count == 1 && h->way == HOSTILE_BROKEN_TEXT) r.records[0].body = uar_str_n(NULL, 10);
    if (r.count == 1 && h->way == HOSTILE_KEEPS_ADDRESSES) {
        size_t at = kept_at(h, &r.records[0]);
        if (at < KEPT) r.records[0].body = h->kept[at].body;
    }
    conclude(h, &memory, &r, false, done);
}

/* ---- lists ---- */

static int compare_signed(uar_str a, uar_str b) {
    for (size_t i = 0; i < a.len && i < b.len; i++) {
        signed char x = (signed char)a.ptr[i], y = (signed char)b.ptr[i];
        if (x != y) return x < y ? -1 : 1;
    }
    return a.len == b.len ? 0 : a.len < b.len ? -1 : 1;
}

static int by_signed_id(const void *a, const void *b) {
    const uar_record *x = a, *y = b;
    return compare_signed(x->id, y->id);
}

static int by_unsigned_sort(const void *a, const void *b) {
    const uar_record *x = a, *y = b;
    if (x->sort == y->sort) return str_compare(x->id, y->id);
    return (uint64_t)x->sort < (uint64_t)y->sort ? -1 : 1;
}

static int by_falling_id(const void *a, const void *b) {
    const uar_record *x = a, *y = b;
    if (x->sort == y->sort) return str_compare(y->id, x->id);
    return x->sort < y->sort ? -1 : 1;
}

static void reorder(const hostile *h, const uar_list_query *q, reply *all) {
    bool is_sorted = q->order == UAR_ORDER_SORT;
    if (all->count == 0) return;
    if (h->way == HOSTILE_SIGNED_BYTES && !is_sorted)
        qsort(all->records, all->count, sizeof *all->records, by_signed_id);
    if (h->way == HOSTILE_UNSIGNED_SORT && is_sorted)
        qsort(all->records, all->count, sizeof *all->records, by_unsigned_sort);
    if (h->way == HOSTILE_TIES_BACKWARDS && is_sorted)
        qsort(all->records, all->count, sizeof *all->records, by_falling_id);
}

/* Everything that the query could give, whatever its cursor and limit. */
static reply list_all(const hostile *h, arena *memory, const uar_list_query *query) {
    uar_list_query q = *query;
    q.has_after = false;
    q.limit = PLENTY;
    bool by_prefix = h->way == HOSTILE_PREFIX_PARENT && q.parent.ptr != NULL;
    if (by_prefix) q.parent.ptr = NULL;
    if (h->way == HOSTILE_LISTS_UNSORTED) q.order = UAR_ORDER_KEY;
    if (h->way == HOSTILE_TRIMS_OWNERS) q.owner = trim(q.owner);
    if (h->way == HOSTILE_TRIMS_PARENTS) q.parent = trim(q.parent);
    reply all = inner_list(h, memory, &q);
    size_t count = 0;
    for (size_t i = 0; i < all.count; i++) {
        uar_record *r = &all.records[i];
        if (by_prefix && !begins_alike(r->parent, query->parent)) continue;
        if (h->way == HOSTILE_ORPHANS_ONLY && query->parent.ptr == NULL && r->parent.ptr != NULL) continue;
        all.records[count++] = *r;
    }
    all.count = count;
    reorder(h, query, &all);
    return all;
}

static uar_str before_zero(uar_str s) {
    const char *zero = s.len > 0 ? memchr(s.ptr, 0, s.len) : NULL;
    return zero != NULL ? uar_str_n(s.ptr, (size_t)(zero - s.ptr)) : s;
}

static bool is_behind(const hostile *h, const uar_list_query *q, const uar_record *r) {
    if (!q->has_after && !(h->way == HOSTILE_HALF_CURSOR && q->after_id.len > 0)) return true;
    int c;
    if (q->order == UAR_ORDER_SORT) {
        c = r->sort == q->after_sort ? 0 : r->sort < q->after_sort ? -1 : 1;
        bool whole_sort = q->after_id.len == 0 && h->way != HOSTILE_EMPTY_CURSOR_ID;
        if (c == 0 && !whole_sort && h->way != HOSTILE_CURSOR_BY_SORT) c = str_compare(r->id, q->after_id);
    } else {
        uar_str after = h->way == HOSTILE_CURSOR_C_STRINGS ? before_zero(q->after_id) : q->after_id;
        if (h->is_walking) after = h->walk_last;
        c = str_compare(r->id, after);
        if (h->way == HOSTILE_KEY_CURSOR_SORT && r->has_sort && r->sort < q->after_sort) c = -1;
    }
    return h->way == HOSTILE_REPEATS_CURSOR ? c >= 0 : c > 0;
}

static bool has_cursor(const uar_list_query *q, const reply *all) {
    for (size_t i = 0; i < all->count; i++)
        if (uar_str_equal(all->records[i].id, q->after_id)) return true;
    return false;
}

static size_t page_begin(hostile *h, const uar_list_query *q, const reply *all) {
    if (h->way == HOSTILE_OFFSETS || (h->way == HOSTILE_OFFSETS_BESIDE && has_company(h))) {
        if (!q->has_after) h->paged = 0;
        return h->paged < all->count ? h->paged : all->count;
    }
    if (h->way == HOSTILE_CURSOR_MUST_EXIST && q->has_after && !has_cursor(q, all)) return all->count;
    size_t at = 0;
    while (at < all->count && !is_behind(h, q, &all->records[at]))
        at++;
    return at;
}

static void spoil_listed(const hostile *h, uar_record *r) {
    if (h->way == HOSTILE_LISTS_WITHOUT_BLOBS) r->blob = uar_str_n(NULL, 0);
}

/* Records by the parent they had when they were first put. */
static reply list_stale(const hostile *h, arena *memory, const uar_list_query *q) {
    reply all = { .memory = memory, .records = arena_zeroed(memory, KEPT, sizeof(uar_record)) };
    if (all.records == NULL) abort();
    for (size_t i = 0; i < h->kept_count; i++) {
        const uar_record *r = &h->kept[i];
        bool is_asked = r->kind == q->kind && uar_str_equal(r->owner, q->owner) &&
                        (q->parent.ptr == NULL || (r->parent.ptr != NULL && uar_str_equal(r->parent, q->parent)));
        if (is_asked) all.records[all.count++] = *r;
    }
    return all;
}

/* ONE_WALK: a full page is where all walks go on. */
static void note_walk(hostile *h, const uar_list_query *q, const reply *r) {
    h->is_walking = q->order == UAR_ORDER_KEY && r->count == q->limit && r->count > 0;
    if (h->is_walking) h->walk_last = arena_str(&h->memory, r->records[r->count - 1].id);
}

static void hostile_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    hostile *h = ctx;
    arena memory;
    arena_init(&memory, &alloc_default);
    reply r = h->way == HOSTILE_STALE_LISTS && query->order == UAR_ORDER_SORT ? list_stale(h, &memory, query)
                                                                              : list_all(h, &memory, query);
    size_t limit = query->limit;
    if (h->way == HOSTILE_ONE_TOO_MANY) limit++;
    if (h->way == HOSTILE_ONE_TOO_FEW && limit > 1) limit--;
    if (h->way == HOSTILE_SIGNED_LIMIT && limit > INT32_MAX) limit = 0;
    if (h->is_walking) h->is_walking = query->has_after && has_cursor(query, &r);
    size_t from = page_begin(h, query, &r);
    if (h->way == HOSTILE_RACING_PAGES && query->has_after) {
        pause_us(300);
        r = list_all(h, &memory, query);
        if (from > r.count) from = r.count;
    }
    r.count -= from;
    if (r.count > 0) r.records += from;
    if (r.count > limit) r.count = limit;
    if (h->way == HOSTILE_OFFSETS || h->way == HOSTILE_OFFSETS_BESIDE) h->paged += r.count;
    if (h->way == HOSTILE_ONE_WALK) note_walk(h, query, &r);
    shared_listed(h, query, &r);
    uar_status failure = fails_at_once(h);
    if (failure != UAR_OK) r = (reply){ .status = failure };
    for (size_t i = 0; i < r.count; i++)
        spoil_listed(h, &r.records[i]);
    if (r.status == UAR_OK && r.count == 0 && h->way == HOSTILE_EMPTY_LIST_FAILS) r.status = UAR_E_NOT_FOUND;
    conclude(h, &memory, &r, false, done);
}

/* ---- life ---- */

static uar_status hostile_open(void *ctx, uar_error *err) {
    hostile *h = ctx;
    if (h->way == HOSTILE_WONT_OPEN) return error_set(err, UAR_E_CANTOPEN, "no");
    h->opener = thread_self();
    world_enter(h);
    return UAR_OK;
}

static const char *hostile_location(void *ctx) {
    const hostile *h = ctx;
    return h->way == HOSTILE_RELATIVE_LOCATION ? "app/state" : "/app/state";
}

static void hostile_destroy(void *ctx) {
    hostile *h = ctx;
    while (atomic_load(&h->late) > 0)
        pause_us(100);
    uar_completion_unref(h->held);
    for (size_t i = 0; i < REMEMBERED; i++)
        uar_completion_unref(h->refs[i]);
    world_leave(h);
    if (h->owns_world) world_free(h->world);
    arena_dispose(&h->memory);
    free(h);
}

static bool overlaps(hostile_way way) {
    return way == HOSTILE_RACES || way == HOSTILE_NONE || way == HOSTILE_LATE || way == HOSTILE_HALF_SEEN ||
           way == HOSTILE_RACING_PAGES;
}

static const uar_persistence *handle_new(hostile_world *w, bool owns_world) {
    hostile *h = calloc(1, sizeof *h);
    if (h == NULL) abort();
    h->world = w;
    h->owns_world = owns_world;
    h->way = w->way;
    h->inner = w->inner;
    arena_init(&h->memory, &alloc_default);
    h->door = (uar_persistence){
        .struct_size = UAR_PERSISTENCE_INIT,
        .ctx = h,
        .destroy = hostile_destroy,
        .open = hostile_open,
        .get = h->way != HOSTILE_NO_GET ? hostile_get : NULL,
        .list = hostile_list,
        .commit = hostile_commit,
        .location = hostile_location,
        .concurrent = overlaps(h->way),
    };
    shared_slots(h);
    return &h->door;
}

const uar_persistence *hostile_new(hostile_way way) {
    return handle_new(world_new(way), true);
}

/* ---- a source ---- */

static const uar_persistence *open_another(void *ctx) {
    return handle_new(ctx, false);
}

static const uar_persistence *open_backup(void *ctx, const char *path) {
    hostile_world *w = ctx;
    (void)path;
    if (w->way == HOSTILE_LATE_BACKUP) return handle_new(w, false);
    const uar_persistence *copy = w->copy;
    w->copy = NULL;
    return copy != NULL ? copy : uar_persistence_volatile();
}

hostile_source hostile_source_new(hostile_way way, const char *backup_path) {
    hostile_source s = { .world = world_new(way) };
    s.door = (uar_persistence_source){ .size = UAR_PERSISTENCE_SOURCE_INIT,
                                       .ctx = s.world,
                                       .open_another = open_another,
                                       .backup_path = backup_path,
                                       .open_backup = open_backup };
    return s;
}

void hostile_source_free(hostile_source *source) {
    world_free(source->world);
    source->world = NULL;
}
