/* Owns: changing records. Invariant: a change and what it keeps of the past are one transaction. */
#include "base/str.h"
#include "memory/expire.h"
#include "memory/write.h"

static uar_status apply_content(version *next, const uar_memory_patch *p, arena *ar, const uar_memory *m,
                                uar_error *err) {
    if (p->content.ptr == NULL) return UAR_OK;
    next->r.content = p->content;
    return content_index(next, ar, m->database.key, err);
}

/* All that can be wrong with a patch, before the store is asked. */
static uar_status check_patch(const uar_memory_patch *p, uar_memory_record *scratch, arena *ar, int64_t now,
                              uar_error *err) {
    uar_status status = expire_seconds(&scratch->expires_s, p->expires_ms, now, err);
    if (status == UAR_OK && p->content.ptr != NULL) status = content_check(p->content, "content", MEMORY_TEXT_MAX, err);
    if (status == UAR_OK && p->type != 0 && uar_memory_type_name(p->type) == NULL)
        status = error_set(err, UAR_E_INVALID, "there is no such memory type");
    if (status == UAR_OK && p->trust != 0 && uar_memory_trust_name(p->trust) == NULL)
        status = error_set(err, UAR_E_INVALID, "there is no such trust tier");
    if (status == UAR_OK && !(p->importance < 0)) status = content_importance(p->importance, err);
    if (status == UAR_OK && p->set_categories)
        status = content_labels(scratch, ar, p->categories, p->category_count, err);
    if (status == UAR_OK && p->metadata.ptr != NULL)
        status = content_metadata(&scratch->metadata, ar, p->metadata, "metadata", err);
    return status;
}

static bool differs(const version *a, const version *b) {
    const uar_memory_record *x = &a->r;
    const uar_memory_record *y = &b->r;
    if (!uar_str_equal(x->content, y->content) || x->type != y->type || x->trust != y->trust ||
        x->importance < y->importance || x->importance > y->importance || x->valid_until_ms != y->valid_until_ms ||
        !uar_str_equal(x->metadata, y->metadata) || x->category_count != y->category_count)
        return true;
    for (size_t i = 0; i < x->category_count; i++)
        if (!uar_str_equal(x->categories[i], y->categories[i])) return true;
    return false;
}

static uar_status apply_patch(version *next, const uar_memory_patch *p, const uar_memory_record *checked, arena *ar,
                              const uar_memory *m, uar_error *err) {
    uar_memory_record *r = &next->r;
    uar_memory_trust trust = p->trust != 0 ? p->trust : UAR_MEMORY_TRUST_USER;
    if (p->type != 0) r->type = p->type;
    if (trust > r->trust) r->trust = trust;
    if (!(p->importance < 0)) r->importance = p->importance;
    if (p->valid_until_ms != 0) r->valid_until_ms = p->valid_until_ms;
    if (p->set_categories) {
        r->categories = checked->categories;
        r->category_count = checked->category_count;
    }
    if (p->metadata.ptr != NULL) r->metadata = checked->metadata;
    return apply_content(next, p, ar, m, err);
}

static uar_status update(uar_memory_change *out, uar_memory *m, const caller *c, uar_uuid id, const uar_memory_patch *p,
                         const uar_memory_record *checked, const float *vector, arena *ar, uar_error *err) {
    version old;
    uar_status status = record_find(&old, m, c, id, ar, err);
    if (status == UAR_OK) status = caller_may_write(c, old.r.scope, err);
    if (status != UAR_OK) return status;
    if (p->expected != 0 && p->expected != old.r.revision)
        return error_set(err, UAR_E_CONFLICT, "the record is at revision %llu, not %llu",
                         (unsigned long long)old.r.revision, (unsigned long long)p->expected);
    if (!uar_uuid_is_none(old.r.superseded_by))
        return error_set(err, UAR_E_CONFLICT, "the record was superseded and is history now");
    version next = old;
    status = apply_patch(&next, p, checked, ar, m, err);
    if (status != UAR_OK) return status;
    *out = (uar_memory_change){ .id = id, .outcome = UAR_MEMORY_OUTCOME_UPDATED, .revision = old.r.revision };
    if (p->expires_ms != 0) status = expire_put(&m->database, id, checked->expires_s, err);
    if (status != UAR_OK || !differs(&old, &next)) return status;
    int64_t now = clock_wall(&m->clock);
    bool new_text = !uar_str_equal(old.r.content, next.r.content);
    next.r.updated_ms = now;
    next.r.embedder = uar_str_of(m->embedder_id);
    if (new_text && now > old.r.valid_from_ms) next.r.valid_from_ms = now;
    if (next.r.valid_until_ms < next.r.valid_from_ms) next.r.valid_until_ms = next.r.valid_from_ms;
    out->revision++;
    return version_replace(m, &old, &next, new_text ? vector : NULL, new_text ? now : old.r.valid_from_ms, err);
}

uar_status uar_memory_update_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                                  const uar_memory_patch *patch, uar_error *err) {
    caller c;
    uar_memory_patch p;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK && patch == NULL) return error_set(err, UAR_E_INVALID, "there is no patch");
    if (status == UAR_OK) status = struct_in(&p, sizeof p, patch, "uar_memory_patch", err);
    if (status != UAR_OK) return status;
    arena ar;
    arena_init(&ar, &memory->alloc);
    uar_memory_record checked;
    memset(&checked, 0, sizeof checked);
    status = check_patch(&p, &checked, &ar, clock_wall(&memory->clock), err);
    memory_pin(memory); /* the host may free it inside the embedder */
    float *vector = status == UAR_OK && p.content.ptr != NULL ? entry_vectors(memory, &p.content, 1) : NULL;
    if (status == UAR_OK) status = memory_enter_write(memory, err);
    if (status == UAR_OK) {
        uar_memory_change change;
        status = update(&change, memory, &c, id, &p, &checked, vector, &ar, err);
        status = memory_leave_write(memory, status, err);
        if (status == UAR_OK) *out = change;
    }
    arena_dispose(&ar);
    alloc_free(&memory->alloc, vector);
    if (status == UAR_OK) expire_behind_write(memory);
    memory_unpin(memory);
    return status;
}
