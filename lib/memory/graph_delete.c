/* Owns: deleting in the graph, and links between records and entities. Invariant: an entity goes with everything that hangs
 * on it, in one transaction, whoever may see those parts. */
#include "memory/graph.h"

#include "memory/erase.h"
#include "memory/write.h"

static uar_status drop_relation(uar_memory *m, int64_t num, arena *ar, uar_error *err) {
    relation r;
    uar_status status = relation_load(&r, &m->database, num, ar, err);
    return status == UAR_OK ? relation_drop(m, &r, err) : status;
}

static uar_status drop_observation(uar_memory *m, int64_t num, arena *ar, uar_error *err) {
    observation o;
    uar_status status = observation_load(&o, &m->database, num, ar, err);
    return status == UAR_OK ? observation_drop(m, &o, err) : status;
}

typedef uar_status (*drop_fn)(uar_memory *m, int64_t num, arena *ar, uar_error *err);

static uar_status drop_all(uar_memory *m, sql_id find, int64_t num, drop_fn drop, uar_error *err) {
    graph_nums list = { NULL, 0, 0 };
    query q;
    query_begin(&q, &m->database, find);
    query_int(&q, 18, num);
    uar_status status = graph_nums_collect(&list, &q, &m->alloc, err);
    arena ar;
    arena_init(&ar, &m->alloc);
    for (size_t i = 0; i < list.count && status == UAR_OK; i++) {
        status = drop(m, list.nums[i], &ar, err);
        arena_dispose(&ar);
    }
    arena_dispose(&ar);
    graph_nums_dispose(&list, &m->alloc);
    return status;
}

static uar_status delete_entity(uar_memory *m, const caller *c, const entity *e, uar_error *err) {
    database *db = &m->database;
    int64_t num = e->row.num;
    uar_status status = caller_may_write(c, e->e.place.scope, err);
    if (status == UAR_OK) status = drop_all(m, SQL_GRAPH_RELATIONS_WITH, num, drop_relation, err);
    if (status == UAR_OK) status = drop_all(m, SQL_GRAPH_OBSERVATIONS_WITH, num, drop_observation, err);
    if (status == UAR_OK) status = graph_run(db, SQL_GRAPH_LINK_DROP_ENTITY, num, 0, err);
    if (status == UAR_OK) status = graph_run(db, SQL_GRAPH_FORWARD_DROP, num, 0, err);
    return status == UAR_OK ? entity_drop(m, e, err) : status;
}

static uar_status run_delete(uar_memory_change *out, void *ctx, uar_memory *m, const caller *c, arena *ar,
                             uar_error *err) {
    graph_item item;
    out->id = *(const uar_uuid *)ctx;
    out->outcome = UAR_MEMORY_OUTCOME_ERASED;
    uar_status status = graph_item_find(&item, &m->database, c, out->id, ar, err);
    if (status != UAR_OK) return status;
    switch (item.kind) {
    case GRAPH_ITEM_ENTITY: return delete_entity(m, c, &item.entity, err);
    case GRAPH_ITEM_RELATION:
        status = caller_may_write(c, item.relation.r.place.scope, err);
        return status == UAR_OK ? relation_drop(m, &item.relation, err) : status;
    case GRAPH_ITEM_OBSERVATION:
        status = caller_may_write(c, item.observation.o.place.scope, err);
        return status == UAR_OK ? observation_drop(m, &item.observation, err) : status;
    }
    return status;
}

uar_status uar_memory_graph_delete_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                        uar_uuid id, uar_error *err) {
    uar_memory_change change;
    uar_status status = graph_write_call(&change, memory, who, &(graph_call){ NULL, run_delete, &id }, err);
    if (status != UAR_OK) return status;
    if (!erase_now(memory)) change.outcome = UAR_MEMORY_OUTCOME_ERASURE_PENDING;
    *out = change;
    return UAR_OK;
}

typedef struct link_call {
    uar_uuid record, entity;
} link_call;

/* Both ends, if the caller sees them and may write the one of narrower scope. */
static uar_status find_ends(entity *e, uar_memory *m, const caller *c, uar_uuid record, uar_uuid id, arena *ar,
                            uar_error *err) {
    version v;
    uar_status status = record_find(&v, m, c, record, ar, err);
    if (status == UAR_OK) status = entity_find(e, &m->database, c, id, ar, err);
    if (status != UAR_OK) return status;
    uar_memory_scope narrower = v.r.scope > e->e.place.scope ? v.r.scope : e->e.place.scope;
    return caller_may_write(c, narrower, err);
}

/* Whether the statement changed a row. */
static uar_status run_link(bool *changed, database *db, sql_id sql, int64_t num, uar_uuid record, uar_error *err) {
    query q;
    query_begin(&q, db, sql);
    query_int(&q, 18, num);
    query_uuid(&q, 19, record);
    uar_status status = query_run(&q, err);
    *changed = status == UAR_OK && sqlite3_changes(db->handle) != 0;
    return status;
}

uar_status graph_link(uar_memory_change *out, uar_memory *m, const caller *c, uar_uuid record, uar_uuid id, arena *ar,
                      uar_error *err) {
    entity e;
    bool is_new = false;
    uar_status status = find_ends(&e, m, c, record, id, ar, err);
    if (status == UAR_OK) status = run_link(&is_new, &m->database, SQL_GRAPH_LINK_ADD, e.row.num, record, err);
    if (status != UAR_OK) return status;
    *out = (uar_memory_change){ .id = e.e.id,
                                .outcome = is_new ? UAR_MEMORY_OUTCOME_ADDED : UAR_MEMORY_OUTCOME_REINFORCED,
                                .revision = e.e.revision };
    return UAR_OK;
}

static uar_status link_step(uar_memory_change *out, void *ctx, uar_memory *m, const caller *c, arena *ar,
                            uar_error *err) {
    const link_call *call = (const link_call *)ctx;
    return graph_link(out, m, c, call->record, call->entity, ar, err);
}

static uar_status unlink_step(uar_memory_change *out, void *ctx, uar_memory *m, const caller *c, arena *ar,
                              uar_error *err) {
    const link_call *call = (const link_call *)ctx;
    entity e;
    bool found = false;
    uar_status status = find_ends(&e, m, c, call->record, call->entity, ar, err);
    if (status == UAR_OK) status = run_link(&found, &m->database, SQL_GRAPH_LINK_DROP, e.row.num, call->record, err);
    if (status == UAR_OK && !found) return error_set(err, UAR_E_NOT_FOUND, "there is no such link");
    *out = (uar_memory_change){ .id = e.e.id, .outcome = UAR_MEMORY_OUTCOME_ERASED, .revision = e.e.revision };
    return status;
}

uar_status uar_memory_graph_link_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                      uar_uuid record, uar_uuid entity_id, uar_error *err) {
    link_call call = { record, entity_id };
    return graph_write_call(out, memory, who, &(graph_call){ NULL, link_step, &call }, err);
}

uar_status uar_memory_graph_unlink_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                        uar_uuid record, uar_uuid entity_id, uar_error *err) {
    link_call call = { record, entity_id };
    return graph_write_call(out, memory, who, &(graph_call){ NULL, unlink_step, &call }, err);
}
