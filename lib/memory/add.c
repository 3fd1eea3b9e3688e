/*
 * Owns: adding a record: repeats reinforce, a new value of a fact slot supersedes, all else is added.
 * Invariant: the records of one slot in one segment are a line of time; at most one of them with a given text holds at once,
 * and whichever was created last holds now.
 */
#include "base/str.h"
#include "memory/batch.h"
#include "memory/expire.h"
#include "memory/near.h"
#include "memory/shelf.h"
#include "memory/write.h"

uar_status version_replace(uar_memory *memory, const version *old, version *next, const float *vector, int64_t until,
                           uar_error *err) {
    database *db = &memory->database;
    version kept = *old;
    kept.r.current = false;
    kept.r.valid_until_ms = until > old->r.valid_from_ms ? until : old->r.valid_from_ms;
    if (kept.r.valid_until_ms == kept.r.valid_from_ms) {
        /* It never held by itself, so that no search can ask for it. */
        kept.terms_len = 0;
        kept.length = 0;
    }
    if (old->r.revision >= INT64_MAX) return error_set(err, UAR_E_TOO_LARGE, "the record has no next revision");
    next->num = old->num;
    next->r.revision = old->r.revision + 1;
    uar_status status = content_mark(next, memory, err);
    if (status == UAR_OK) status = version_update(db, next, &memory->alloc, err);
    if (status == UAR_OK) status = version_insert(db, &kept, &memory->alloc, err);
    if (status == UAR_OK) status = shelf_put_kept(memory, &kept, next->num, err);
    return status == UAR_OK ? shelf_put(memory, next, vector, err) : status;
}

/* How many neighbours are shown to the guard. */
#define NEAR_CANDIDATES 8

static bool is_past(const version *v, int64_t now) {
    return v->r.valid_until_ms <= now;
}

/* The same text is the same record unless both name a slot, and not the same one. A draft that has ended repeats only the
 * record that ended with it. */
static bool repeats(const entry *d, const version *v) {
    if (expire_is_due(&v->r, d->now)) return false;
    if (v->has_slot && d->v.has_slot && v->slot != d->v.slot) return false;
    if (is_past(&d->v, d->now)) return v->r.valid_until_ms == d->v.r.valid_until_ms;
    return !is_past(v, d->now);
}

/* UAR_E_NOT_FOUND if it is new. One in the same slot is preferred. */
static uar_status find_repeat(version *out, entry *d, database *db, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_VERSION_REPEAT);
    query_int(&q, 18, d->v.seg);
    query_int(&q, 19, d->v.digest);
    query_int(&q, 20, (int64_t)d->v.r.type);
    uar_status status = UAR_OK;
    bool found = false;
    while (status == UAR_OK && query_next(&q)) {
        version v;
        status = version_read(&v, &q, &d->ar, err);
        if (status != UAR_OK || !repeats(d, &v)) continue;
        bool same_slot = v.has_slot == d->v.has_slot;
        if (!found || same_slot) *out = v;
        found = true;
        if (same_slot) break;
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    if (status == UAR_OK) status = end;
    return status == UAR_OK && !found ? UAR_E_NOT_FOUND : status;
}

static bool same_labels(const uar_memory_record *a, const uar_memory_record *b) {
    return a->category_count == b->category_count; /* one is the other and more */
}

/* How a draft meets the record that says the same. */
typedef struct meeting {
    version old;
    bool is_near;    /* not the same text */
    bool takes_text; /* the draft's text is fuller, and its writer is trusted as much: it replaces the record's */
} meeting;

/*
 * A record that says nearly the same: the nearest one above the embedder's threshold that the guard lets pass. A text is not
 * replaced by that of a less trusted writer.
 */
static uar_status find_near(meeting *out, const entry *d, uar_memory *m, arena *ar, uar_error *err) {
    double threshold = m->embedder.repeat_threshold;
    if (!(threshold > 0) || d->vector == NULL) return UAR_E_NOT_FOUND;
    engine_near near[NEAR_CANDIDATES];
    size_t count = 0;
    uar_status status =
        shelf_nearest(near, &count, NEAR_CANDIDATES, m, d->v.seg, d->v.r.type, d->vector, threshold, err);
    for (size_t i = 0; status == UAR_OK && i < count && (double)near[i].cosine >= threshold; i++) {
        near_verdict verdict = NEAR_DIFFERENT;
        status = version_load(&out->old, &m->database, near[i].key, ar, err);
        if (status != UAR_OK || !repeats(d, &out->old)) continue;
        status = near_compare(&verdict, &m->alloc, out->old.r.content, d->v.r.content);
        if (status != UAR_OK) return error_plain(err, status);
        if (verdict == NEAR_DIFFERENT) continue;
        out->is_near = true;
        out->takes_text = verdict == NEAR_SECOND_FULLER && d->v.r.trust <= out->old.r.trust;
        return UAR_OK;
    }
    return status == UAR_OK ? UAR_E_NOT_FOUND : status;
}

/* True in `changed` if the draft says anything that the record doesn't. */
static uar_status merge(version *next, bool *changed, const meeting *met, entry *d, term_key key, uar_error *err) {
    const version *old = &met->old;
    const uar_memory_record *more = &d->v.r;
    uar_memory_record *r = &next->r;
    uar_status status = content_merge_labels(r, &d->ar, more);
    if (status == UAR_OK) status = content_merge_metadata(&r->metadata, &d->ar, r->metadata, more->metadata, err);
    if (status != UAR_OK) return error_plain(status == UAR_E_NOMEM ? err : NULL, status);
    if (more->importance > r->importance) r->importance = more->importance;
    if (more->trust < r->trust && !met->is_near) r->trust = more->trust;
    if (met->takes_text) r->content = more->content;
    if (more->valid_until_ms > r->valid_until_ms) r->valid_until_ms = more->valid_until_ms;
    bool takes_slot = !next->has_slot && d->v.has_slot;
    if (takes_slot) {
        next->has_slot = true;
        next->slot = d->v.slot;
        r->subject = more->subject;
        r->attribute = more->attribute;
    }
    if (takes_slot || met->takes_text) status = content_index(next, &d->ar, key, err);
    if (status != UAR_OK) return status;
    *changed = !same_labels(r, &old->r) || !uar_str_equal(r->metadata, old->r.metadata) ||
               r->importance > old->r.importance || r->trust != old->r.trust ||
               r->valid_until_ms != old->r.valid_until_ms || next->has_slot != old->has_slot || met->takes_text;
    return UAR_OK;
}

uar_status version_end(uar_memory *memory, version *v, int64_t at, uar_uuid by, int64_t now, uar_error *err) {
    v->r.valid_until_ms = at > v->r.valid_from_ms ? at : v->r.valid_from_ms;
    v->r.superseded_by = by;
    v->r.updated_ms = now;
    uar_status status = version_update(&memory->database, v, &memory->alloc, err);
    return status == UAR_OK ? shelf_put(memory, v, NULL, err) : status;
}

/* Facts of the slot that hold at `at` or later, or began after `from`: a slot may have had thousands of values. */
static uar_status load_slot(version **out, size_t *count, entry *d, int64_t at, int64_t from, database *db,
                            uar_error *err) {
    size_t cap = 4;
    version *list = (version *)arena_alloc(&d->ar, cap * sizeof *list);
    size_t n = 0;
    uar_status status = list != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
    query q;
    query_begin(&q, db, SQL_VERSION_SLOT);
    query_int(&q, 18, d->v.seg);
    query_int(&q, 19, d->v.slot);
    query_int(&q, 20, at);
    query_int(&q, 21, from);
    while (status == UAR_OK && query_next(&q)) {
        if (n == cap) {
            version *more = (version *)arena_alloc(&d->ar, cap * 2 * sizeof *list);
            if (more == NULL) {
                status = error_plain(err, UAR_E_NOMEM);
                break;
            }
            memcpy(more, list, n * sizeof *list);
            list = more;
            cap *= 2;
        }
        status = version_read(&list[n], &q, &d->ar, err);
        if (status == UAR_OK) n++;
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    *out = list;
    *count = n;
    return status == UAR_OK ? end : status;
}

/*
 * Put the draft's fact on the line of its slot: what held when it was created ends there; if something created later holds
 * now, the draft itself is history from the start. `self` is the record that carries the fact.
 */
static uar_status enter_slot(uar_memory_change *change, entry *d, version *self, uar_memory *memory, uar_error *err) {
    if (!d->v.has_slot || is_past(self, d->now)) return UAR_OK;
    version *list = NULL;
    size_t count = 0;
    int64_t from = self->r.valid_from_ms;
    int64_t at = from < d->now ? from : d->now;
    uar_status status = load_slot(&list, &count, d, at, from, &memory->database, err);
    for (size_t i = 0; status == UAR_OK && i < count; i++) {
        version *v = &list[i];
        if (v->digest == self->digest || uar_uuid_equal(v->r.id, self->r.id) || expire_is_due(&v->r, d->now)) continue;
        if (v->r.valid_from_ms > from && v->r.valid_from_ms <= d->now) {
            self->r.valid_until_ms = v->r.valid_from_ms;
            self->r.superseded_by = v->r.id;
            break; /* the list is in order of time: this is the next one */
        }
        if (v->r.valid_until_ms <= at) continue;
        bool was_live = !is_past(v, d->now);
        status = version_end(memory, v, at, self->r.id, d->now, err);
        if (was_live) change->supersedes = v->r.id;
    }
    return status;
}

static uar_status reinforce(uar_memory_change *out, const meeting *met, entry *d, uar_memory *memory, uar_error *err) {
    const version *old = &met->old;
    version next = *old;
    bool changed = false;
    uar_status status = merge(&next, &changed, met, d, memory->database.key, err);
    if (status == UAR_OK && d->v.has_slot && !old->has_slot) status = enter_slot(out, d, &next, memory, err);
    next.r.updated_ms = d->now;
    if (status == UAR_OK && changed)
        status = version_replace(memory, old, &next, met->takes_text ? d->vector : NULL, old->r.valid_from_ms, err);
    int64_t expires = expire_later(old->r.expires_ms, d->v.r.expires_ms);
    if (status == UAR_OK && expires != old->r.expires_ms)
        status = expire_put(&memory->database, old->r.id, expires, err);
    if (status != UAR_OK) return status;
    out->id = old->r.id;
    out->outcome = UAR_MEMORY_OUTCOME_REINFORCED;
    out->revision = next.r.revision;
    query q;
    query_begin(&q, &memory->database, SQL_USAGE_REINFORCE);
    query_uuid(&q, 18, old->r.id);
    return query_run(&q, err);
}

static uar_status insert(uar_memory_change *out, entry *d, uar_memory *memory, uar_error *err) {
    int64_t until = d->v.r.valid_until_ms;
    uar_status status = enter_slot(out, d, &d->v, memory, err);
    if (status == UAR_OK) status = entry_insert(d, memory, err);
    d->v.r.valid_until_ms = until;
    memset(&d->v.r.superseded_by, 0, sizeof d->v.r.superseded_by);
    out->id = d->v.r.id;
    out->outcome = uar_uuid_is_none(out->supersedes) ? UAR_MEMORY_OUTCOME_ADDED : UAR_MEMORY_OUTCOME_SUPERSEDED;
    out->revision = 1;
    return status;
}

/* UAR_E_NOT_FOUND if the key was not written before. */
static uar_status find_written(uar_memory_change *out, const entry *d, database *db, uar_error *err) {
    if (d->unique_key.ptr == NULL) return UAR_E_NOT_FOUND;
    query q;
    query_begin(&q, db, SQL_WRITTEN_GET);
    query_text(&q, 18, d->v.r.owner);
    query_text(&q, 19, d->unique_key);
    bool found = query_next(&q);
    if (found) {
        out->id = query_get_uuid(&q, 0);
        out->outcome = (uar_memory_outcome)query_get_int(&q, 1);
        out->supersedes = query_get_uuid(&q, 2);
        out->revision = (uint64_t)query_get_int(&q, 3);
        out->repeated = true;
    }
    uar_status status = query_end(&q, err);
    return status == UAR_OK && !found ? UAR_E_NOT_FOUND : status;
}

static uar_status note_written(const uar_memory_change *change, const entry *d, database *db, uar_error *err) {
    if (d->unique_key.ptr == NULL) return UAR_OK;
    query q;
    query_begin(&q, db, SQL_WRITTEN_ADD);
    query_text(&q, 18, d->v.r.owner);
    query_text(&q, 19, d->unique_key);
    query_uuid(&q, 20, change->id);
    query_int(&q, 21, (int64_t)change->outcome);
    query_uuid(&q, 22, change->supersedes);
    query_int(&q, 23, (int64_t)change->revision);
    return query_run(&q, err);
}

uar_status entry_look_up(entry *d, database *db, uar_error *err) {
    uar_memory_change change;
    version old;
    uar_status status = find_written(&change, d, db, err);
    if (status == UAR_E_NOT_FOUND) {
        status = segment_number_find(&d->v.seg, db, &d->key, err);
        if (status == UAR_OK) status = d->v.seg != 0 ? find_repeat(&old, d, db, err) : UAR_E_NOT_FOUND;
    }
    d->seems_known = status == UAR_OK;
    return status == UAR_E_NOT_FOUND ? UAR_OK : status;
}

uar_status entry_add(uar_memory_change *out, entry *d, uar_memory *memory, uar_error *err) {
    database *db = &memory->database;
    memset(out, 0, sizeof *out);
    uar_status status = find_written(out, d, db, err);
    if (status != UAR_E_NOT_FOUND) return status;
    status = segment_number_make(&d->v.seg, db, &d->key, d->v.r.owner, err);
    if (status != UAR_OK) return status;
    meeting met = { .is_near = false };
    status = find_repeat(&met.old, d, db, err);
    if (status == UAR_E_NOT_FOUND && d->seems_known) {
        d->seems_known = false;
        return UAR_E_CONFLICT;
    }
    if (status == UAR_E_NOT_FOUND) status = find_near(&met, d, memory, &d->ar, err);
    if (status == UAR_OK)
        status = reinforce(out, &met, d, memory, err);
    else if (status == UAR_E_NOT_FOUND)
        status = insert(out, d, memory, err);
    return status == UAR_OK ? note_written(out, d, db, err) : status;
}

uar_status entry_add_verbatim(uar_memory_change *out, entry *d, uar_memory *memory, uar_error *err) {
    database *db = &memory->database;
    memset(out, 0, sizeof *out);
    uar_status status = find_written(out, d, db, err);
    if (status != UAR_E_NOT_FOUND) return status;
    status = segment_number_make(&d->v.seg, db, &d->key, d->v.r.owner, err);
    if (status == UAR_OK) status = entry_insert(d, memory, err);
    if (status != UAR_OK) return status;
    *out = (uar_memory_change){ .id = d->v.r.id, .outcome = UAR_MEMORY_OUTCOME_ADDED, .revision = 1 };
    return note_written(out, d, db, err);
}

uar_status uar_memory_add_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                               const uar_memory_draft *given, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    batch_item item = { .number = 0 };
    memory_pin(memory); /* it must not go before the entry does */
    status = batch_take(&item, memory, &c, given, err);
    if (status == UAR_OK && item.status == UAR_OK) status = batch_run(&item, 1, memory, NULL, err);
    if (status == UAR_OK && item.status != UAR_OK) status = error_pass(err, item.status, &item.why);
    if (status == UAR_OK) *out = item.change;
    batch_dispose(&item, 1);
    memory_unpin(memory);
    return status;
}
