/* Owns: reading the graph: by id, by name, in pages, around an entity, counts. Invariant: every statement here shows only
 * what the caller sees, of relations and observations with their ends. */
#include "base/str.h"
#include "memory/answer.h"
#include "memory/graph_answer.h"
#include "memory/write.h"

/* One reading call: what it needs, filled before the store is asked. */
typedef struct reading {
    uar_memory *memory;
    const caller *who;
    graph_filter filter;
    graph_answer *out;
    uar_uuid id;
    uar_str name;
    int64_t after;
    size_t limit;
} reading;

typedef uar_status (*read_fn)(reading *r, uar_error *err);

/* Set up, ask inside a snapshot, hand out. */
static uar_status run_reading(uar_memory_graph **out, reading *r, const uar_identity *who,
                              const uar_memory_graph_filter *filter, read_fn read, uar_error *err) {
    uar_memory *m = r->memory;
    caller c;
    uar_status status = caller_begin(&c, m, who, err);
    if (status == UAR_OK) status = graph_filter_init(&r->filter, m, filter, err);
    if (status != UAR_OK) return status;
    r->who = &c;
    r->out = graph_answer_new(&m->alloc);
    if (r->out == NULL) return error_plain(err, UAR_E_NOMEM);
    status = memory_enter_read(m, err);
    if (status == UAR_OK) {
        status = read(r, err);
        memory_leave_read(m);
    }
    if (status == UAR_OK)
        *out = &r->out->head;
    else
        uar_memory_graph_free(&r->out->head);
    return status;
}

static uar_status run_page(uar_memory_graph **out, reading *r, const uar_identity *who,
                           const uar_memory_graph_filter *filter, uar_str cursor, read_fn read, uar_error *err) {
    uar_status status = memory_usable(r->memory, err);
    if (status == UAR_OK) status = memory_check_limit(r->limit, err);
    if (status == UAR_OK) status = cursor_read(&r->after, cursor, 0, err);
    return status == UAR_OK ? run_reading(out, r, who, filter, read, err) : status;
}

/* Bind what pages share: ?18 behind which, ?19 how many and one more, to know whether there is more. */
static void begin_page(query *q, reading *r, sql_id sql) {
    query_begin(q, &r->memory->database, sql);
    caller_bind(q, r->who);
    graph_filter_bind(q, &r->filter);
    query_int(q, 18, r->after);
    query_int(q, 19, (int64_t)r->limit + 1);
}

typedef uar_status (*take_fn)(reading *r, query *q, uar_error *err);

/* Take rows up to the limit; the number of a row stands in the first column. */
static uar_status take_page(reading *r, query *q, take_fn take, uar_error *err) {
    uar_status status = UAR_OK;
    size_t taken = 0;
    int64_t last = 0;
    while (status == UAR_OK && query_next(q)) {
        if (taken == r->limit) {
            status = cursor_write(&r->out->head.cursor, &r->out->ar, last, err);
            break;
        }
        last = query_get_int(q, 0);
        status = take(r, q, err);
        taken++;
    }
    uar_status end = query_end(q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : status;
}

static uar_status take_entity(reading *r, query *q, uar_error *err) {
    entity e;
    uar_status status = entity_read(&e, q, &r->out->ar, err);
    if (status != UAR_OK) return status;
    status = graph_answer_add_entity(r->out, &e.e);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

static uar_status take_relation(reading *r, query *q, uar_error *err) {
    relation each;
    uar_status status = relation_read(&each, q, &r->out->ar, err);
    if (status != UAR_OK) return status;
    status = graph_answer_add_relation(r->out, &each.r);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

static uar_status take_observation(reading *r, query *q, uar_error *err) {
    observation o;
    uar_status status = observation_read(&o, q, &r->out->ar, err);
    if (status != UAR_OK) return status;
    status = graph_answer_add_observation(r->out, &o.o);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

static uar_status read_entity(reading *r, uar_error *err) {
    entity e;
    uar_status status = entity_find(&e, &r->memory->database, r->who, r->id, &r->out->ar, err);
    if (status != UAR_OK) return status;
    status = graph_answer_add_entity(r->out, &e.e);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

uar_status uar_memory_graph_get_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who, uar_uuid id,
                                     uar_error *err) {
    reading r = { .memory = memory, .id = id };
    return run_reading(out, &r, who, NULL, read_entity, err);
}

static uar_status read_named(reading *r, uar_error *err) {
    int64_t digest = 0;
    uar_status status = graph_digest(&digest, r->memory, r->name, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, &r->memory->database, SQL_GRAPH_FIND);
    caller_bind(&q, r->who);
    graph_filter_bind(&q, &r->filter);
    query_int(&q, 18, digest);
    return take_page(r, &q, take_entity, err);
}

uar_status uar_memory_graph_find_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who, uar_str name,
                                      const uar_memory_graph_filter *filter, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status == UAR_OK) status = graph_name_check(name, "name", err);
    if (status != UAR_OK) return status;
    reading r = { .memory = memory, .name = name, .limit = MEMORY_LIMIT_MAX };
    return run_reading(out, &r, who, filter, read_named, err);
}

static uar_status read_entities(reading *r, uar_error *err) {
    query q;
    begin_page(&q, r, SQL_GRAPH_ENTITY_PAGE);
    return take_page(r, &q, take_entity, err);
}

uar_status uar_memory_graph_entities_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who,
                                          const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                          uar_error *err) {
    reading r = { .memory = memory, .limit = limit };
    return run_page(out, &r, who, filter, cursor, read_entities, err);
}

static uar_status read_relations(reading *r, uar_error *err) {
    query q;
    begin_page(&q, r, SQL_GRAPH_RELATION_PAGE);
    return take_page(r, &q, take_relation, err);
}

uar_status uar_memory_graph_relations_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who,
                                           const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                           uar_error *err) {
    reading r = { .memory = memory, .limit = limit };
    return run_page(out, &r, who, filter, cursor, read_relations, err);
}

static uar_status read_observations(reading *r, uar_error *err) {
    query q;
    if (uar_uuid_is_none(r->id)) {
        begin_page(&q, r, SQL_GRAPH_OBSERVATION_PAGE);
        return take_page(r, &q, take_observation, err);
    }
    entity e;
    uar_status status = entity_find(&e, &r->memory->database, r->who, r->id, &r->out->ar, err);
    if (status != UAR_OK) return status;
    begin_page(&q, r, SQL_GRAPH_OBSERVATIONS_OF);
    query_int(&q, 20, e.row.num);
    return take_page(r, &q, take_observation, err);
}

uar_status uar_memory_graph_observations_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who,
                                              uar_uuid entity_id, const uar_memory_graph_filter *filter, uar_str cursor,
                                              size_t limit, uar_error *err) {
    reading r = { .memory = memory, .id = entity_id, .limit = limit };
    return run_page(out, &r, who, filter, cursor, read_observations, err);
}

/* The entities at the other ends, each once. */
static uar_status add_ends(reading *r, uar_uuid self, uar_error *err) {
    uar_status status = UAR_OK;
    for (size_t i = 0; i < r->out->head.relation_count && status == UAR_OK; i++) {
        const uar_memory_relation *each = &r->out->relations[i];
        uar_uuid other = uar_uuid_equal(each->from, self) ? each->to : each->from;
        if (graph_answer_has_entity(r->out, other)) continue;
        entity e;
        status = entity_find(&e, &r->memory->database, r->who, other, &r->out->ar, err);
        if (status == UAR_OK && graph_answer_add_entity(r->out, &e.e) != UAR_OK) status = error_plain(err, UAR_E_NOMEM);
    }
    return status;
}

static uar_status read_neighbours(reading *r, uar_error *err) {
    entity e;
    uar_status status = entity_find(&e, &r->memory->database, r->who, r->id, &r->out->ar, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, &r->memory->database, SQL_GRAPH_NEIGHBOURS);
    caller_bind(&q, r->who);
    graph_filter_bind(&q, &r->filter);
    query_int(&q, 18, e.row.num);
    query_int(&q, 19, r->after);
    query_int(&q, 20, (int64_t)r->limit + 1);
    status = take_page(r, &q, take_relation, err);
    return status == UAR_OK ? add_ends(r, e.e.id, err) : status;
}

uar_status uar_memory_graph_neighbours_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who,
                                            uar_uuid id, const uar_memory_graph_filter *filter, uar_str cursor,
                                            size_t limit, uar_error *err) {
    reading r = { .memory = memory, .id = id, .limit = limit };
    return run_page(out, &r, who, filter, cursor, read_neighbours, err);
}

static uar_status read_entities_of(reading *r, uar_error *err) {
    version v;
    uar_status status = record_find(&v, r->memory, r->who, r->id, &r->out->ar, err);
    if (status != UAR_OK) return status;
    query q;
    begin_page(&q, r, SQL_GRAPH_LINKED_ENTITIES);
    query_uuid(&q, 20, r->id);
    return take_page(r, &q, take_entity, err);
}

uar_status uar_memory_graph_entities_of_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who,
                                             uar_uuid record, uar_str cursor, size_t limit, uar_error *err) {
    reading r = { .memory = memory, .id = record, .limit = limit };
    return run_page(out, &r, who, NULL, cursor, read_entities_of, err);
}

static uar_status add_record(record_list *list, database *db, int64_t num, uar_error *err) {
    version v;
    uar_status status = version_load(&v, db, num, &list->ar, err);
    if (status != UAR_OK) return status;
    status = record_list_add(list, &v.r);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

static uar_status read_records_of(record_list *list, uar_memory *m, const caller *c, uar_uuid id, int64_t after,
                                  size_t limit, uar_error *err) {
    entity e;
    uar_status status = entity_find(&e, &m->database, c, id, &list->ar, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, &m->database, SQL_GRAPH_LINKED_RECORDS);
    caller_bind(&q, c);
    query_int(&q, 18, after);
    query_int(&q, 19, (int64_t)limit + 1);
    query_int(&q, 20, e.row.num);
    query_int(&q, 21, clock_wall(&m->clock));
    graph_nums nums = { NULL, 0, 0 };
    status = graph_nums_collect(&nums, &q, &m->alloc, err);
    for (size_t i = 0; i < nums.count && i < limit && status == UAR_OK; i++)
        status = add_record(list, &m->database, nums.nums[i], err);
    if (status == UAR_OK && nums.count > limit)
        status = cursor_write(&list->head.cursor, &list->ar, nums.nums[limit - 1], err);
    graph_nums_dispose(&nums, &m->alloc);
    return status;
}

uar_status uar_memory_graph_records_of_sync(uar_memory_records **out, uar_memory *memory, const uar_identity *who,
                                            uar_uuid entity_id, uar_str cursor, size_t limit, uar_error *err) {
    int64_t after = 0;
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK) status = memory_check_limit(limit, err);
    if (status == UAR_OK) status = cursor_read(&after, cursor, 0, err);
    if (status != UAR_OK) return status;
    record_list *list = record_list_new(&memory->alloc);
    if (list == NULL) return error_plain(err, UAR_E_NOMEM);
    status = memory_enter_read(memory, err);
    if (status == UAR_OK) {
        status = read_records_of(list, memory, &c, entity_id, after, limit, err);
        memory_leave_read(memory);
    }
    if (status == UAR_OK)
        *out = &list->head;
    else
        uar_memory_records_free(&list->head);
    return status;
}

static uar_status count_scopes(uar_memory_graph_stats *s, database *db, const caller *c, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_GRAPH_COUNT_ENTITIES);
    caller_bind(&q, c);
    while (query_next(&q)) {
        int64_t scope = query_get_int(&q, 0);
        uint64_t count = (uint64_t)query_get_int(&q, 1);
        s->entities += count;
        if (scope > 0 && scope < 6) s->by_scope[scope] += count;
    }
    return query_end(&q, err);
}

static uar_status count_one(uint64_t *out, database *db, const caller *c, sql_id sql, int64_t now, uar_error *err) {
    query q;
    query_begin(&q, db, sql);
    caller_bind(&q, c);
    if (sql != SQL_GRAPH_COUNT_LINKS) query_int(&q, 10, 0);
    query_int(&q, 11, now);
    if (query_next(&q)) *out = (uint64_t)query_get_int(&q, 0);
    return query_end(&q, err);
}

uar_status uar_memory_graph_stats_sync(uar_memory_graph_stats *out, uar_memory *memory, const uar_identity *who,
                                       uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK) status = memory_enter_read(memory, err);
    if (status != UAR_OK) return status;
    database *db = &memory->database;
    int64_t now = clock_wall(&memory->clock);
    uar_memory_graph_stats s;
    memset(&s, 0, sizeof s);
    status = count_scopes(&s, db, &c, err);
    if (status == UAR_OK) status = count_one(&s.relations, db, &c, SQL_GRAPH_COUNT_RELATIONS, now, err);
    if (status == UAR_OK) status = count_one(&s.observations, db, &c, SQL_GRAPH_COUNT_OBSERVATIONS, now, err);
    if (status == UAR_OK) status = count_one(&s.links, db, &c, SQL_GRAPH_COUNT_LINKS, now, err);
    memory_leave_read(memory);
    if (status == UAR_OK) *out = s;
    return status;
}
