/* Owns: relations and observations, from their drafts to their ends. Invariant: rows that say the same in one place (ends and
 * type; entity and text) never hold at times that meet: such rows are one. */
#include "memory/graph.h"

#include "base/str.h"
#include "memory/content.h"

/* The period of `kept` grown by another one. */
static void span(int64_t *from, int64_t *until, int64_t other_from, int64_t other_until) {
    if (other_from < *from) *from = other_from;
    if (other_until > *until) *until = other_until;
}

static uar_status same_relations(graph_nums *list, uar_memory *m, const relation *r, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_GRAPH_RELATION_SAME);
    query_int(&q, 18, r->row.seg);
    query_int(&q, 19, r->source);
    query_int(&q, 20, r->target);
    query_int(&q, 21, r->digest);
    query_int(&q, 22, r->r.valid_from_ms);
    query_int(&q, 23, r->r.valid_until_ms);
    query_int(&q, 24, r->row.num);
    return graph_nums_collect(list, &q, &m->alloc, err);
}

static uar_status absorb_relation(relation *kept, const relation *more, arena *ar, uar_error *err) {
    uar_memory_relation *r = &kept->r;
    span(&r->valid_from_ms, &r->valid_until_ms, more->r.valid_from_ms, more->r.valid_until_ms);
    if (more->r.created_ms < r->created_ms) r->created_ms = more->r.created_ms;
    if (uar_str_equal(more->r.properties, STR("{}"))) return UAR_OK;
    return graph_properties_merge(&r->properties, ar, r->properties, more->r.properties, err);
}

static bool relation_differs(const uar_memory_relation *a, const uar_memory_relation *b) {
    return a->valid_from_ms != b->valid_from_ms || a->valid_until_ms != b->valid_until_ms ||
           a->created_ms != b->created_ms || !uar_str_equal(a->properties, b->properties);
}

/* `r` and all but the first of the rows go into that one. */
static uar_status join_relations(uar_memory_change *out, uar_memory *m, relation *r, const graph_nums *same,
                                 int64_t now, arena *ar, uar_error *err) {
    relation old;
    uar_status status = relation_load(&old, &m->database, same->nums[0], ar, err);
    relation kept = old;
    for (size_t i = 1; i < same->count && status == UAR_OK; i++) {
        relation more;
        status = relation_load(&more, &m->database, same->nums[i], ar, err);
        if (status == UAR_OK) status = absorb_relation(&kept, &more, ar, err);
        if (status == UAR_OK && more.r.trust > kept.r.trust) kept.r.trust = more.r.trust;
        if (status == UAR_OK) status = relation_drop(m, &more, err);
    }
    if (status == UAR_OK) status = absorb_relation(&kept, r, ar, err);
    if (status == UAR_OK && r->row.num != 0) status = relation_drop(m, r, err);
    if (status != UAR_OK) return status;
    *out = (uar_memory_change){ .id = old.r.id, .outcome = UAR_MEMORY_OUTCOME_REINFORCED, .revision = old.r.revision };
    if (!relation_differs(&old.r, &kept.r)) return UAR_OK;
    if (r->r.trust > kept.r.trust) kept.r.trust = r->r.trust;
    kept.r.updated_ms = now;
    kept.r.revision++;
    out->outcome = UAR_MEMORY_OUTCOME_UPDATED;
    out->revision = kept.r.revision;
    return relation_put(m, &kept, err);
}

uar_status relation_settle(uar_memory_change *out, uar_memory *m, relation *r, int64_t now, arena *ar, uar_error *err) {
    graph_nums same = { NULL, 0, 0 };
    uar_status status = same_relations(&same, m, r, err);
    if (status == UAR_OK && same.count != 0) {
        status = join_relations(out, m, r, &same, now, ar, err);
    } else if (status == UAR_OK) {
        *out = (uar_memory_change){ .id = r->r.id, .outcome = UAR_MEMORY_OUTCOME_ADDED, .revision = r->r.revision };
        status = relation_put(m, r, err);
    }
    graph_nums_dispose(&same, &m->alloc);
    return status;
}

static uar_status same_observations(graph_nums *list, uar_memory *m, const observation *o, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_GRAPH_OBSERVATION_SAME);
    query_int(&q, 18, o->row.seg);
    query_int(&q, 19, o->entity);
    query_int(&q, 20, o->digest);
    query_int(&q, 21, o->o.valid_from_ms);
    query_int(&q, 22, o->o.valid_until_ms);
    query_int(&q, 23, o->row.num);
    return graph_nums_collect(list, &q, &m->alloc, err);
}

static void absorb_observation(observation *kept, const observation *more) {
    uar_memory_observation *o = &kept->o;
    span(&o->valid_from_ms, &o->valid_until_ms, more->o.valid_from_ms, more->o.valid_until_ms);
    if (more->o.created_ms < o->created_ms) o->created_ms = more->o.created_ms;
}

static uar_status join_observations(uar_memory_change *out, uar_memory *m, observation *o, const graph_nums *same,
                                    int64_t now, arena *ar, uar_error *err) {
    observation old;
    uar_status status = observation_load(&old, &m->database, same->nums[0], ar, err);
    observation kept = old;
    for (size_t i = 1; i < same->count && status == UAR_OK; i++) {
        observation more;
        status = observation_load(&more, &m->database, same->nums[i], ar, err);
        if (status == UAR_OK) absorb_observation(&kept, &more);
        if (status == UAR_OK && more.o.trust > kept.o.trust) kept.o.trust = more.o.trust;
        if (status == UAR_OK) status = observation_drop(m, &more, err);
    }
    if (status == UAR_OK) absorb_observation(&kept, o);
    if (status == UAR_OK && o->row.num != 0) {
        observation stored; /* its index entries are those of where it lay */
        status = observation_load(&stored, &m->database, o->row.num, ar, err);
        if (status == UAR_OK) status = observation_drop(m, &stored, err);
    }
    if (status != UAR_OK) return status;
    *out = (uar_memory_change){ .id = old.o.id, .outcome = UAR_MEMORY_OUTCOME_REINFORCED, .revision = old.o.revision };
    if (old.o.valid_from_ms == kept.o.valid_from_ms && old.o.valid_until_ms == kept.o.valid_until_ms &&
        old.o.created_ms == kept.o.created_ms)
        return UAR_OK;
    if (o->o.trust > kept.o.trust) kept.o.trust = o->o.trust;
    kept.o.updated_ms = now;
    kept.o.revision++;
    out->outcome = UAR_MEMORY_OUTCOME_UPDATED;
    out->revision = kept.o.revision;
    return observation_put(m, &kept, ar, err);
}

uar_status observation_settle(uar_memory_change *out, uar_memory *m, observation *o, int64_t now, arena *ar,
                              uar_error *err) {
    graph_nums same = { NULL, 0, 0 };
    uar_status status = same_observations(&same, m, o, err);
    if (status == UAR_OK && same.count != 0) {
        status = join_observations(out, m, o, &same, now, ar, err);
    } else if (status == UAR_OK) {
        *out = (uar_memory_change){ .id = o->o.id, .outcome = UAR_MEMORY_OUTCOME_ADDED, .revision = o->o.revision };
        status = observation_put(m, o, ar, err);
    }
    graph_nums_dispose(&same, &m->alloc);
    return status;
}

static bool names_an_id(const uar_memory_place *p) {
    return p->user.ptr != NULL || p->agent.ptr != NULL || p->session.ptr != NULL || p->task.ptr != NULL;
}

/* The segment of a draft: the one that its place names, or that of an entity. */
static uar_status place_fact(graph_row *row, uar_memory_place *where, uar_memory *m, const caller *c,
                             const uar_memory_place *given, const entity *home, uar_error *err) {
    if (given->scope == 0 && !names_an_id(given)) {
        row->seg = home->row.seg;
        *where = home->e.place;
        return caller_may_write(c, where->scope, err);
    }
    if (given->scope == 0) return error_set(err, UAR_E_INVALID, "a place with an id needs a scope");
    graph_target target;
    uar_status status = graph_target_of(&target, c, given, given->scope, err);
    if (status == UAR_OK) status = segment_number_make(&row->seg, &m->database, &target.key, target.place.owner, err);
    if (status == UAR_OK) *where = target.place;
    return status;
}

uar_status relation_write_make(relation_write *w, uar_memory *m, const uar_memory_relation_draft *given, arena *ar,
                               uar_error *err) {
    memset(w, 0, sizeof *w);
    if (given == NULL) return error_set(err, UAR_E_INVALID, "there is no draft");
    uar_memory_relation_draft g;
    uar_status status = struct_in(&g, sizeof g, given, "uar_memory_relation_draft", err);
    if (status != UAR_OK) return status;
    uar_memory_relation *r = &w->made.r;
    w->now = clock_wall(&m->clock);
    w->given = g.place;
    r->from = g.from;
    r->to = g.to;
    r->type = g.type;
    r->trust = g.trust;
    r->provenance = g.provenance;
    r->created_ms = r->updated_ms = w->now;
    r->valid_from_ms = g.valid_from_ms;
    r->valid_until_ms = g.valid_until_ms;
    r->revision = 1;
    status = graph_name_check(g.type, "type", err);
    if (status == UAR_OK) status = graph_trust_check(&r->trust, err);
    if (status == UAR_OK) status = graph_times_check(&r->valid_from_ms, &r->valid_until_ms, w->now, err);
    if (status == UAR_OK) status = graph_provenance_check(&r->provenance, err);
    if (status == UAR_OK) status = content_metadata(&r->properties, ar, g.properties, "properties", err);
    if (status == UAR_OK) status = graph_digest(&w->made.digest, m, r->type, err);
    return status == UAR_OK ? graph_row_new(&w->made.row, &r->id, m, err) : status;
}

/* An id of a line that is in use must be that of the same relation. */
static uar_status match_relation(uar_memory *m, const caller *c, const relation *r, arena *ar, uar_error *err) {
    uar_status status = graph_id_free(&m->database, r->r.id, NULL);
    if (status != UAR_E_EXISTS) return error_plain(err, status);
    relation old;
    status = relation_find(&old, &m->database, c, r->r.id, ar, NULL);
    if (status != UAR_OK && status != UAR_E_NOT_FOUND) return error_plain(err, status);
    bool same = status == UAR_OK && old.row.seg == r->row.seg && old.source == r->source && old.target == r->target &&
                old.digest == r->digest;
    return same ? UAR_OK : error_set(err, UAR_E_EXISTS, "the id is in use");
}

uar_status relation_write_run(uar_memory_change *out, uar_memory *m, const caller *c, relation_write *w, bool verbatim,
                              arena *ar, uar_error *err) {
    relation *r = &w->made;
    entity from, to;
    uar_status status = entity_find(&from, &m->database, c, r->r.from, ar, err);
    if (status == UAR_OK) status = entity_find(&to, &m->database, c, r->r.to, ar, err);
    if (status != UAR_OK) return status;
    if (from.row.num == to.row.num) return error_set(err, UAR_E_INVALID, "a relation needs two entities");
    r->source = from.row.num;
    r->target = to.row.num;
    const entity *narrower = from.e.place.scope >= to.e.place.scope ? &from : &to;
    status = place_fact(&r->row, &r->r.place, m, c, &w->given, narrower, err);
    if (status == UAR_OK && verbatim) status = match_relation(m, c, r, ar, err);
    return status == UAR_OK ? relation_settle(out, m, r, w->now, ar, err) : status;
}

uar_status observation_write_make(observation_write *w, uar_memory *m, const uar_memory_observation_draft *given,
                                  uar_error *err) {
    memset(w, 0, sizeof *w);
    if (given == NULL) return error_set(err, UAR_E_INVALID, "there is no draft");
    uar_memory_observation_draft g;
    uar_status status = struct_in(&g, sizeof g, given, "uar_memory_observation_draft", err);
    if (status != UAR_OK) return status;
    uar_memory_observation *o = &w->made.o;
    w->now = clock_wall(&m->clock);
    w->given = g.place;
    o->entity = g.entity;
    o->text = g.text;
    o->trust = g.trust;
    o->provenance = g.provenance;
    o->created_ms = o->updated_ms = w->now;
    o->valid_from_ms = g.valid_from_ms;
    o->valid_until_ms = g.valid_until_ms;
    o->revision = 1;
    status = content_check(g.text, "observation", MEMORY_TEXT_MAX, err);
    if (status == UAR_OK) status = graph_trust_check(&o->trust, err);
    if (status == UAR_OK) status = graph_times_check(&o->valid_from_ms, &o->valid_until_ms, w->now, err);
    if (status == UAR_OK) status = graph_provenance_check(&o->provenance, err);
    if (status == UAR_OK) status = graph_digest(&w->made.digest, m, o->text, err);
    return status == UAR_OK ? graph_row_new(&w->made.row, &o->id, m, err) : status;
}

static uar_status match_observation(uar_memory *m, const caller *c, const observation *o, arena *ar, uar_error *err) {
    uar_status status = graph_id_free(&m->database, o->o.id, NULL);
    if (status != UAR_E_EXISTS) return error_plain(err, status);
    observation old;
    status = observation_find(&old, &m->database, c, o->o.id, ar, NULL);
    if (status != UAR_OK && status != UAR_E_NOT_FOUND) return error_plain(err, status);
    bool same = status == UAR_OK && old.row.seg == o->row.seg && old.entity == o->entity && old.digest == o->digest;
    return same ? UAR_OK : error_set(err, UAR_E_EXISTS, "the id is in use");
}

uar_status observation_write_run(uar_memory_change *out, uar_memory *m, const caller *c, observation_write *w,
                                 bool verbatim, arena *ar, uar_error *err) {
    observation *o = &w->made;
    entity e;
    uar_status status = entity_find(&e, &m->database, c, o->o.entity, ar, err);
    if (status != UAR_OK) return status;
    o->entity = e.row.num;
    status = place_fact(&o->row, &o->o.place, m, c, &w->given, &e, err);
    if (status == UAR_OK && verbatim) status = match_observation(m, c, o, ar, err);
    return status == UAR_OK ? observation_settle(out, m, o, w->now, ar, err) : status;
}

typedef struct relate_call {
    const uar_memory_relation_draft *draft;
    relation_write write;
} relate_call;

static uar_status check_relate(void *ctx, uar_memory *m, const caller *c, arena *ar, uar_error *err) {
    (void)c;
    relate_call *call = (relate_call *)ctx;
    return relation_write_make(&call->write, m, call->draft, ar, err);
}

static uar_status run_relate(uar_memory_change *out, void *ctx, uar_memory *m, const caller *c, arena *ar,
                             uar_error *err) {
    return relation_write_run(out, m, c, &((relate_call *)ctx)->write, false, ar, err);
}

uar_status uar_memory_graph_relate_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                        const uar_memory_relation_draft *draft, uar_error *err) {
    relate_call call = { .draft = draft };
    return graph_write_call(out, memory, who, &(graph_call){ check_relate, run_relate, &call }, err);
}

typedef struct observe_call {
    const uar_memory_observation_draft *draft;
    observation_write write;
} observe_call;

static uar_status check_observe(void *ctx, uar_memory *m, const caller *c, arena *ar, uar_error *err) {
    (void)c, (void)ar;
    observe_call *call = (observe_call *)ctx;
    return observation_write_make(&call->write, m, call->draft, err);
}

static uar_status run_observe(uar_memory_change *out, void *ctx, uar_memory *m, const caller *c, arena *ar,
                              uar_error *err) {
    return observation_write_run(out, m, c, &((observe_call *)ctx)->write, false, ar, err);
}

uar_status uar_memory_graph_observe_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                         const uar_memory_observation_draft *draft, uar_error *err) {
    observe_call call = { .draft = draft };
    return graph_write_call(out, memory, who, &(graph_call){ check_observe, run_observe, &call }, err);
}

typedef struct end_call {
    uar_uuid id;
    int64_t at;
} end_call;

/* The fields of a relation or observation that an end touches. */
typedef struct period {
    int64_t *from, *until, *updated;
    uint64_t *revision;
} period;

/* True if something changed. */
static uar_status end_period(bool *changed, uar_memory_change *out, period p, int64_t at, int64_t now, uar_error *err) {
    *changed = *p.until > at;
    out->outcome = *changed ? UAR_MEMORY_OUTCOME_UPDATED : UAR_MEMORY_OUTCOME_REINFORCED;
    out->revision = *p.revision;
    if (!*changed) return UAR_OK;
    if (at < *p.from) return error_set(err, UAR_E_INVALID, "it would end before it begins");
    *p.until = at;
    *p.updated = now;
    out->revision = ++*p.revision;
    return UAR_OK;
}

static uar_status end_relation(uar_memory_change *out, relation *r, int64_t at, int64_t now, uar_memory *m,
                               const caller *c, uar_error *err) {
    bool changed = false;
    uar_memory_relation *f = &r->r;
    period p = { &f->valid_from_ms, &f->valid_until_ms, &f->updated_ms, &f->revision };
    uar_status status = caller_may_write(c, f->place.scope, err);
    if (status == UAR_OK) status = end_period(&changed, out, p, at, now, err);
    return status == UAR_OK && changed ? relation_put(m, r, err) : status;
}

static uar_status end_observation(uar_memory_change *out, observation *o, int64_t at, int64_t now, uar_memory *m,
                                  const caller *c, arena *ar, uar_error *err) {
    bool changed = false;
    uar_memory_observation *f = &o->o;
    period p = { &f->valid_from_ms, &f->valid_until_ms, &f->updated_ms, &f->revision };
    uar_status status = caller_may_write(c, f->place.scope, err);
    if (status == UAR_OK) status = end_period(&changed, out, p, at, now, err);
    return status == UAR_OK && changed ? observation_put(m, o, ar, err) : status;
}

static uar_status run_end(uar_memory_change *out, void *ctx, uar_memory *m, const caller *c, arena *ar,
                          uar_error *err) {
    const end_call *call = (const end_call *)ctx;
    int64_t now = clock_wall(&m->clock);
    int64_t at = call->at != 0 ? call->at : now;
    graph_item item;
    out->id = call->id;
    uar_status status = graph_item_find(&item, &m->database, c, call->id, ar, err);
    if (status != UAR_OK) return status;
    switch (item.kind) {
    case GRAPH_ITEM_RELATION: return end_relation(out, &item.relation, at, now, m, c, err);
    case GRAPH_ITEM_OBSERVATION: return end_observation(out, &item.observation, at, now, m, c, ar, err);
    case GRAPH_ITEM_ENTITY: break;
    }
    return error_set(err, UAR_E_INVALID, "an entity doesn't end: delete it");
}

uar_status uar_memory_graph_end_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                                     int64_t at_ms, uar_error *err) {
    end_call call = { id, at_ms };
    return graph_write_call(out, memory, who, &(graph_call){ NULL, run_end, &call }, err);
}
