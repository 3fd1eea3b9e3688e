/* Owns: writing, renaming and merging entities. Invariant: of an entity's names no two fold to the same text, and its own
 * name is never among its aliases. */
#include "memory/erase.h"
#include "memory/graph.h"

#include "base/str.h"
#include "memory/content.h"

/* The name first, then the aliases, each folded form once. */
typedef struct name_set {
    uar_str *names;
    int64_t digests[GRAPH_ALIASES_MAX + 1];
    size_t count;
} name_set;

static uar_status name_set_init(name_set *set, arena *ar, uar_error *err) {
    set->count = 0;
    set->names = (uar_str *)arena_zeroed(ar, GRAPH_ALIASES_MAX + 1, sizeof *set->names);
    return set->names != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
}

static uar_status name_set_add(name_set *set, uar_str name, const uar_memory *m, uar_error *err) {
    int64_t digest = 0;
    uar_status status = graph_digest(&digest, m, name, err);
    if (status != UAR_OK) return status;
    for (size_t i = 0; i < set->count; i++)
        if (set->digests[i] == digest) return UAR_OK;
    if (set->count == GRAPH_ALIASES_MAX + 1)
        return error_set(err, UAR_E_TOO_LARGE, "an entity has at most %d aliases", GRAPH_ALIASES_MAX);
    set->digests[set->count] = digest;
    set->names[set->count++] = name;
    return UAR_OK;
}

static uar_status name_set_add_entity(name_set *set, const uar_memory_entity *e, const uar_memory *m, uar_error *err) {
    uar_status status = name_set_add(set, e->name, m, err);
    for (size_t i = 0; i < e->alias_count && status == UAR_OK; i++)
        status = name_set_add(set, e->aliases[i], m, err);
    return status;
}

static void take_names(uar_memory_entity *e, const name_set *set) {
    e->name = set->names[0];
    e->aliases = set->count > 1 ? set->names + 1 : NULL;
    e->alias_count = set->count - 1;
}

uar_status graph_id_free(database *db, uar_uuid id, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_GRAPH_ID_TAKEN);
    query_uuid(&q, 18, id);
    bool taken = query_next(&q);
    uar_status status = query_end(&q, err);
    return status == UAR_OK && taken ? error_set(err, UAR_E_EXISTS, "the id is in use") : status;
}

/* The entity of a segment that goes by this name and kind; `num` is 0 if there is none. */
static uar_status find_named(int64_t *num, bool *by_name, uar_memory *m, int64_t seg, uar_str name, int64_t kind,
                             uar_error *err) {
    int64_t digest = 0;
    *num = 0;
    uar_status status = graph_digest(&digest, m, name, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, &m->database, SQL_GRAPH_NAMED);
    query_int(&q, 18, seg);
    query_int(&q, 19, digest);
    query_int(&q, 20, kind);
    if (query_next(&q)) {
        *num = query_get_int(&q, 0);
        *by_name = query_get_int(&q, 1) == 1;
    }
    return query_end(&q, err);
}

static uar_status check_aliases(const uar_memory_entity_draft *g, uar_error *err) {
    if (g->alias_count > GRAPH_ALIASES_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "an entity has at most %d aliases", GRAPH_ALIASES_MAX);
    uar_status status = UAR_OK;
    for (size_t i = 0; i < g->alias_count && status == UAR_OK; i++)
        status = graph_name_check(g->aliases[i], "alias", err);
    return status;
}

uar_status entity_write_make(entity_write *w, uar_memory *m, const caller *c, const uar_memory_entity_draft *given,
                             arena *ar, uar_error *err) {
    memset(w, 0, sizeof *w);
    if (given == NULL) return error_set(err, UAR_E_INVALID, "there is no draft");
    uar_memory_entity_draft g;
    uar_status status = struct_in(&g, sizeof g, given, "uar_memory_entity_draft", err);
    if (status != UAR_OK) return status;
    uar_memory_entity *e = &w->made.e;
    w->now = clock_wall(&m->clock);
    w->replace_properties = g.replace_properties && g.properties.ptr != NULL;
    e->trust = g.trust;
    e->kind = g.kind.ptr != NULL ? g.kind : STR("");
    e->created_ms = e->updated_ms = w->now;
    e->revision = 1;
    status = graph_name_check(g.name, "name", err);
    if (status == UAR_OK) status = graph_kind_check(e->kind, err);
    if (status == UAR_OK) status = check_aliases(&g, err);
    if (status == UAR_OK) status = graph_trust_check(&e->trust, err);
    if (status == UAR_OK) status = content_metadata(&e->properties, ar, g.properties, "properties", err);
    if (status == UAR_OK) status = graph_target_of(&w->target, c, &g.place, UAR_MEMORY_SCOPE_USER, err);
    name_set set;
    if (status == UAR_OK) status = name_set_init(&set, ar, err);
    if (status != UAR_OK) return status;
    e->place = w->target.place;
    e->name = g.name;
    e->aliases = g.aliases;
    e->alias_count = g.alias_count;
    status = name_set_add_entity(&set, e, m, err);
    if (status != UAR_OK) return status;
    take_names(e, &set);
    status = graph_digest(&w->made.kind_digest, m, e->kind, err);
    return status == UAR_OK ? graph_row_new(&w->made.row, &e->id, m, err) : status;
}

static bool same_names(const uar_memory_entity *a, const uar_memory_entity *b) {
    return a->alias_count == b->alias_count; /* one has the other's names and more */
}

/* Put what the draft says over the stored entity. */
static uar_status merge_draft(uar_memory_change *out, entity *old, const entity_write *w, uar_memory *m, arena *ar,
                              uar_error *err) {
    const uar_memory_entity *more = &w->made.e;
    entity next = *old;
    name_set set;
    uar_status status = name_set_init(&set, ar, err);
    if (status == UAR_OK) status = name_set_add_entity(&set, &old->e, m, err);
    if (status == UAR_OK) status = name_set_add_entity(&set, more, m, err);
    if (status != UAR_OK) return status;
    take_names(&next.e, &set);
    if (w->replace_properties)
        next.e.properties = more->properties;
    else
        status = graph_properties_merge(&next.e.properties, ar, old->e.properties, more->properties, err);
    if (status != UAR_OK) return status;
    *out =
        (uar_memory_change){ .id = old->e.id, .outcome = UAR_MEMORY_OUTCOME_REINFORCED, .revision = old->e.revision };
    if (same_names(&old->e, &next.e) && uar_str_equal(old->e.properties, next.e.properties)) return UAR_OK;
    if (more->trust > next.e.trust) next.e.trust = more->trust;
    next.e.updated_ms = w->now;
    next.e.revision++;
    out->outcome = UAR_MEMORY_OUTCOME_UPDATED;
    out->revision = next.e.revision;
    return entity_put(m, &next, ar, err);
}

static uar_status add_forward(database *db, uar_uuid id, int64_t num, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_GRAPH_FORWARD_ADD);
    query_uuid(&q, 18, id);
    query_int(&q, 19, num);
    return query_run(&q, err);
}

/* Which row a line of an export is about: one of its name, or one of its id that was renamed or merged since. An id that is
 * free stands for the row that has the name. */
static uar_status match_line(int64_t *num, uar_memory *m, const entity_write *w, uar_error *err) {
    database *db = &m->database;
    uar_status status = graph_id_free(db, w->made.e.id, NULL);
    if (status == UAR_OK) return *num != 0 ? add_forward(db, w->made.e.id, *num, err) : UAR_OK;
    if (status != UAR_E_EXISTS) return error_plain(err, status);
    query q;
    query_begin(&q, db, SQL_GRAPH_ENTITY_IN_SEGMENT);
    query_uuid(&q, 18, w->made.e.id);
    query_int(&q, 19, w->made.row.seg);
    int64_t found = 0;
    status = query_number(&q, &found, err);
    if (status != UAR_OK) return status;
    if (found == 0 || (*num != 0 && *num != found)) return error_set(err, UAR_E_EXISTS, "the id is in use");
    *num = found;
    return UAR_OK;
}

uar_status entity_write_run(uar_memory_change *out, int64_t *num, uar_memory *m, entity_write *w, bool verbatim,
                            arena *ar, uar_error *err) {
    bool by_name = false;
    uar_status status = segment_number_make(&w->made.row.seg, &m->database, &w->target.key, w->target.place.owner, err);
    if (status == UAR_OK)
        status = find_named(num, &by_name, m, w->made.row.seg, w->made.e.name, w->made.kind_digest, err);
    if (status == UAR_OK && verbatim) status = match_line(num, m, w, err);
    if (status != UAR_OK) return status;
    if (*num != 0) {
        entity old;
        status = entity_load(&old, &m->database, *num, ar, err);
        return status == UAR_OK ? merge_draft(out, &old, w, m, ar, err) : status;
    }
    *out =
        (uar_memory_change){ .id = w->made.e.id, .outcome = UAR_MEMORY_OUTCOME_ADDED, .revision = w->made.e.revision };
    status = entity_put(m, &w->made, ar, err);
    *num = w->made.row.num;
    return status;
}

uar_status graph_write_call(uar_memory_change *out, uar_memory *memory, const uar_identity *who, const graph_call *call,
                            uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    arena ar;
    arena_init(&ar, &memory->alloc);
    if (call->check != NULL) status = call->check(call->ctx, memory, &c, &ar, err);
    if (status == UAR_OK) status = memory_enter_write(memory, err);
    if (status == UAR_OK) {
        uar_memory_change change;
        memset(&change, 0, sizeof change);
        status = call->run(&change, call->ctx, memory, &c, &ar, err);
        status = memory_leave_write(memory, status, err);
        if (status == UAR_OK) *out = change;
    }
    arena_dispose(&ar);
    return status;
}

typedef struct put_call {
    const uar_memory_entity_draft *draft;
    entity_write write;
} put_call;

static uar_status check_put(void *ctx, uar_memory *m, const caller *c, arena *ar, uar_error *err) {
    put_call *call = (put_call *)ctx;
    return entity_write_make(&call->write, m, c, call->draft, ar, err);
}

static uar_status run_put(uar_memory_change *out, void *ctx, uar_memory *m, const caller *c, arena *ar,
                          uar_error *err) {
    (void)c;
    int64_t num = 0;
    return entity_write_run(out, &num, m, &((put_call *)ctx)->write, false, ar, err);
}

uar_status uar_memory_graph_put_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                     const uar_memory_entity_draft *draft, uar_error *err) {
    put_call call = { .draft = draft };
    return graph_write_call(out, memory, who, &(graph_call){ check_put, run_put, &call }, err);
}

typedef struct rename_call {
    uar_uuid id;
    uar_str name;
} rename_call;

static uar_status check_rename(void *ctx, uar_memory *m, const caller *c, arena *ar, uar_error *err) {
    (void)m, (void)c, (void)ar;
    return graph_name_check(((rename_call *)ctx)->name, "name", err);
}

/* An entity that the caller sees and may write. */
static uar_status find_writable(entity *out, uar_memory *m, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    uar_status status = entity_find(out, &m->database, c, id, ar, err);
    return status == UAR_OK ? caller_may_write(c, out->e.place.scope, err) : status;
}

static uar_status run_rename(uar_memory_change *out, void *ctx, uar_memory *m, const caller *c, arena *ar,
                             uar_error *err) {
    const rename_call *call = (const rename_call *)ctx;
    entity e;
    int64_t other = 0;
    bool by_name = false;
    uar_status status = find_writable(&e, m, c, call->id, ar, err);
    if (status == UAR_OK) status = find_named(&other, &by_name, m, e.row.seg, call->name, e.kind_digest, err);
    if (status != UAR_OK) return status;
    if (other != 0 && other != e.row.num && by_name)
        return error_set(err, UAR_E_EXISTS, "another entity of this kind has the name: merge them");
    *out = (uar_memory_change){ .id = e.e.id, .outcome = UAR_MEMORY_OUTCOME_REINFORCED, .revision = e.e.revision };
    if (uar_str_equal(e.e.name, call->name)) return UAR_OK;
    name_set set;
    status = name_set_init(&set, ar, err);
    if (status == UAR_OK) status = name_set_add(&set, call->name, m, err);
    if (status == UAR_OK) status = name_set_add_entity(&set, &e.e, m, err);
    if (status != UAR_OK) return status;
    take_names(&e.e, &set);
    e.e.updated_ms = clock_wall(&m->clock);
    out->revision = ++e.e.revision;
    out->outcome = UAR_MEMORY_OUTCOME_UPDATED;
    return entity_put(m, &e, ar, err);
}

uar_status uar_memory_graph_rename_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                        uar_uuid id, uar_str name, uar_error *err) {
    rename_call call = { id, name };
    return graph_write_call(out, memory, who, &(graph_call){ check_rename, run_rename, &call }, err);
}

uar_status graph_forward(uar_memory *m, const caller *c, uar_uuid id, uar_uuid entity_id, arena *ar, uar_error *err) {
    entity e;
    entity now;
    uar_status status = find_writable(&e, m, c, entity_id, ar, err);
    if (status != UAR_OK) return status;
    status = entity_find(&now, &m->database, c, id, ar, NULL);
    if (status == UAR_OK && now.row.num == e.row.num) return UAR_OK;
    status = graph_id_free(&m->database, id, err);
    return status == UAR_OK ? add_forward(&m->database, id, e.row.num, err) : status;
}

typedef struct merge_call {
    uar_uuid into, from;
} merge_call;

/* The relation now belongs to `into`; one between the two goes. */
static uar_status move_relation(uar_memory *m, int64_t num, const entity *into, const entity *from, arena *ar,
                                uar_error *err) {
    relation r;
    uar_status status = relation_load(&r, &m->database, num, ar, err);
    if (status != UAR_OK) return status;
    if (r.source == from->row.num) r.source = into->row.num;
    if (r.target == from->row.num) r.target = into->row.num;
    if (r.source == r.target) return relation_drop(m, &r, err);
    uar_memory_change change;
    return relation_settle(&change, m, &r, into->e.updated_ms, ar, err);
}

static uar_status move_observation(uar_memory *m, int64_t num, const entity *into, arena *ar, uar_error *err) {
    observation o;
    uar_status status = observation_load(&o, &m->database, num, ar, err);
    if (status != UAR_OK) return status;
    o.entity = into->row.num;
    uar_memory_change change;
    return observation_settle(&change, m, &o, into->e.updated_ms, ar, err);
}

static uar_status move_all(uar_memory *m, const entity *into, const entity *from, uar_error *err) {
    graph_nums list = { NULL, 0, 0 };
    query q;
    query_begin(&q, &m->database, SQL_GRAPH_RELATIONS_WITH);
    query_int(&q, 18, from->row.num);
    uar_status status = graph_nums_collect(&list, &q, &m->alloc, err);
    size_t relations = list.count;
    if (status == UAR_OK) {
        query_begin(&q, &m->database, SQL_GRAPH_OBSERVATIONS_WITH);
        query_int(&q, 18, from->row.num);
        status = graph_nums_collect(&list, &q, &m->alloc, err);
    }
    arena ar;
    arena_init(&ar, &m->alloc);
    for (size_t i = 0; i < list.count && status == UAR_OK; i++) {
        status = i < relations ? move_relation(m, list.nums[i], into, from, &ar, err)
                               : move_observation(m, list.nums[i], into, &ar, err);
        arena_dispose(&ar);
    }
    arena_dispose(&ar);
    graph_nums_dispose(&list, &m->alloc);
    return status;
}

static uar_status move_links(database *db, const entity *into, const entity *from, uar_error *err) {
    uar_status status = graph_run(db, SQL_GRAPH_LINK_COPY, from->row.num, into->row.num, err);
    if (status == UAR_OK) status = graph_run(db, SQL_GRAPH_LINK_DROP_ENTITY, from->row.num, 0, err);
    if (status == UAR_OK) status = graph_run(db, SQL_GRAPH_FORWARD_MOVE, from->row.num, into->row.num, err);
    return status;
}

/* The names and properties of both. */
static uar_status join_entities(entity *into, const entity *from, uar_memory *m, arena *ar, uar_error *err) {
    name_set set;
    uar_status status = name_set_init(&set, ar, err);
    if (status == UAR_OK) status = name_set_add_entity(&set, &into->e, m, err);
    if (status == UAR_OK) status = name_set_add_entity(&set, &from->e, m, err);
    if (status != UAR_OK) return status;
    take_names(&into->e, &set);
    if (from->e.trust > into->e.trust) into->e.trust = from->e.trust;
    into->e.updated_ms = clock_wall(&m->clock);
    into->e.revision++;
    return graph_properties_merge(&into->e.properties, ar, from->e.properties, into->e.properties, err);
}

static uar_status run_merge(uar_memory_change *out, void *ctx, uar_memory *m, const caller *c, arena *ar,
                            uar_error *err) {
    const merge_call *call = (const merge_call *)ctx;
    entity into, from;
    uar_status status = find_writable(&into, m, c, call->into, ar, err);
    if (status == UAR_OK) status = find_writable(&from, m, c, call->from, ar, err);
    if (status != UAR_OK) return status;
    if (into.row.num == from.row.num) return error_set(err, UAR_E_INVALID, "both ids are of one entity");
    if (into.row.seg != from.row.seg) return error_set(err, UAR_E_INVALID, "only entities of one place can be merged");
    status = join_entities(&into, &from, m, ar, err);
    if (status == UAR_OK) status = move_all(m, &into, &from, err);
    if (status == UAR_OK) status = move_links(&m->database, &into, &from, err);
    if (status == UAR_OK) status = entity_drop(m, &from, err);
    if (status == UAR_OK) status = add_forward(&m->database, from.e.id, into.row.num, err);
    if (status == UAR_OK) status = entity_put(m, &into, ar, err);
    *out = (uar_memory_change){
        .id = into.e.id, .outcome = UAR_MEMORY_OUTCOME_UPDATED, .supersedes = from.e.id, .revision = into.e.revision
    };
    return status;
}

uar_status uar_memory_graph_merge_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                       uar_uuid into, uar_uuid from, uar_error *err) {
    merge_call call = { into, from };
    uar_status status = graph_write_call(out, memory, who, &(graph_call){ NULL, run_merge, &call }, err);
    if (status == UAR_OK) (void)erase_now(memory);
    return status;
}
