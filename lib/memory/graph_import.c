/* Owns: importing a graph, from an export or from the official memory server's file. Invariant: many lines share a
 * transaction, each in a savepoint of its own: a line that is refused changes nothing, but for a named entity, of which only
 * the observations that can't be kept are left out. No lock is held while a fault is told. */
#include "base/str.h"
#include "base/utf8.h"
#include "memory/graph.h"
#include "memory/graph_json.h"
#include "memory/line.h"

/* A transaction takes so many lines, and no further one behind so many bytes. */
#define WINDOW 256
#define WINDOW_BYTES ((size_t)1024 * 1024)

/* A line that waits to be written. */
typedef struct import_item {
    graph_line line;
    uint64_t number; /* in the text, from 1 */
    uar_status status;
    uar_error why;
} import_item;

typedef struct importing {
    uar_memory *memory;
    caller who;
    arena ar; /* what the lines of the window hold */
    import_item *items;
    size_t item_count;
    uar_memory_place place; /* of lines that name none */
    uar_memory_graph_imported sum;
    uar_memory_line_fn failed;
    void *ctx;
} importing;

static uar_memory_place place_or(const importing *im, const uar_memory_place *given) {
    uar_memory_place p = *given;
    if (p.scope != 0) return p;
    p = im->place;
    if (given->owner.ptr != NULL) p.owner = given->owner;
    return p;
}

static void count(importing *im, uint64_t *kind, const uar_memory_change *change) {
    if (change->outcome == UAR_MEMORY_OUTCOME_ADDED)
        ++*kind;
    else
        im->sum.repeated++;
}

/* Times and revision of a line, over what a draft would get. */
static void restore(int64_t *created, int64_t *updated, uint64_t *revision, int64_t line_created, int64_t line_updated,
                    uint64_t line_revision) {
    if (line_created != 0) *created = line_created;
    if (line_updated != 0) *updated = line_updated;
    if (line_revision != 0) *revision = line_revision;
}

/* One step of a line's transaction. */
typedef uar_status (*step_fn)(importing *im, void *ctx, arena *ar, uar_error *err);

/* What ends the import undoes the whole transaction: the savepoint may be gone by then. */
static uar_status in_savepoint(importing *im, step_fn step, void *ctx, arena *ar, uar_error *err) {
    database *db = &im->memory->database;
    uar_status status = database_run(db, "SAVEPOINT import_line", err);
    if (status != UAR_OK) return status;
    status = step(im, ctx, ar, err);
    if (status == UAR_OK) return database_run(db, "RELEASE import_line", err);
    if (memory_stops_at(status)) return status;
    uar_error why = UAR_ERROR_INIT;
    uar_status undone = database_run(db, "ROLLBACK TO import_line; RELEASE import_line", &why);
    return undone == UAR_OK ? status : error_pass(err, undone, &why);
}

typedef struct entity_step {
    entity_write write;
    uar_memory_change change;
} entity_step;

static uar_status run_entity(importing *im, void *ctx, arena *ar, uar_error *err) {
    entity_step *s = (entity_step *)ctx;
    int64_t num = 0;
    return entity_write_run(&s->change, &num, im->memory, &s->write, true, ar, err);
}

static uar_memory_entity_draft entity_draft(const importing *im, const uar_memory_entity *e) {
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = e->name;
    d.kind = e->kind;
    d.aliases = e->aliases;
    d.alias_count = e->alias_count;
    d.properties = e->properties;
    d.trust = e->trust;
    d.place = place_or(im, &e->place);
    return d;
}

static uar_status import_entity(importing *im, const graph_line *line, arena *ar, uar_error *err) {
    const uar_memory_entity *e = &line->entity;
    uar_memory_entity_draft d = entity_draft(im, e);
    entity_step s;
    memset(&s, 0, sizeof s);
    uar_status status = entity_write_make(&s.write, im->memory, &im->who, &d, ar, err);
    if (status != UAR_OK) return status;
    uar_memory_entity *made = &s.write.made.e;
    made->id = e->id;
    restore(&made->created_ms, &made->updated_ms, &made->revision, e->created_ms, e->updated_ms, e->revision);
    status = in_savepoint(im, run_entity, &s, ar, err);
    if (status == UAR_OK) count(im, &im->sum.entities, &s.change);
    return status;
}

typedef struct relation_step {
    relation_write write;
    uar_memory_change change;
    bool verbatim;
} relation_step;

static uar_status run_relation(importing *im, void *ctx, arena *ar, uar_error *err) {
    relation_step *s = (relation_step *)ctx;
    return relation_write_run(&s->change, im->memory, &im->who, &s->write, s->verbatim, ar, err);
}

static uar_memory_relation_draft relation_draft(const uar_memory_relation *r) {
    uar_memory_relation_draft d;
    uar_memory_relation_draft_init(&d);
    d.from = r->from;
    d.to = r->to;
    d.type = r->type;
    d.properties = r->properties;
    d.place = r->place;
    d.trust = r->trust;
    d.provenance = r->provenance;
    d.valid_from_ms = r->valid_from_ms;
    d.valid_until_ms = r->valid_until_ms;
    return d;
}

static uar_status import_relation(importing *im, const graph_line *line, arena *ar, uar_error *err) {
    const uar_memory_relation *r = &line->relation;
    uar_memory_relation_draft d = relation_draft(r);
    relation_step s;
    memset(&s, 0, sizeof s);
    s.verbatim = true;
    uar_status status = relation_write_make(&s.write, im->memory, &d, ar, err);
    if (status != UAR_OK) return status;
    uar_memory_relation *made = &s.write.made.r;
    made->id = r->id;
    restore(&made->created_ms, &made->updated_ms, &made->revision, r->created_ms, r->updated_ms, r->revision);
    status = in_savepoint(im, run_relation, &s, ar, err);
    if (status == UAR_OK) count(im, &im->sum.relations, &s.change);
    return status;
}

typedef struct observation_step {
    observation_write write;
    uar_memory_change change;
} observation_step;

static uar_status run_observation(importing *im, void *ctx, arena *ar, uar_error *err) {
    observation_step *s = (observation_step *)ctx;
    return observation_write_run(&s->change, im->memory, &im->who, &s->write, true, ar, err);
}

static uar_status import_observation(importing *im, const graph_line *line, arena *ar, uar_error *err) {
    const uar_memory_observation *o = &line->observation;
    uar_memory_observation_draft d;
    uar_memory_observation_draft_init(&d);
    d.entity = o->entity;
    d.text = o->text;
    d.place = o->place;
    d.trust = o->trust;
    d.provenance = o->provenance;
    d.valid_from_ms = o->valid_from_ms;
    d.valid_until_ms = o->valid_until_ms;
    observation_step s;
    memset(&s, 0, sizeof s);
    uar_status status = observation_write_make(&s.write, im->memory, &d, err);
    if (status != UAR_OK) return status;
    uar_memory_observation *made = &s.write.made.o;
    made->id = o->id;
    restore(&made->created_ms, &made->updated_ms, &made->revision, o->created_ms, o->updated_ms, o->revision);
    status = in_savepoint(im, run_observation, &s, ar, err);
    if (status == UAR_OK) count(im, &im->sum.observations, &s.change);
    return status;
}

static uar_status run_merged(importing *im, void *ctx, arena *ar, uar_error *err) {
    const graph_line *line = (const graph_line *)ctx;
    return graph_forward(im->memory, &im->who, line->id, line->other, ar, err);
}

static uar_status import_merged(importing *im, graph_line *line, arena *ar, uar_error *err) {
    uar_status status = in_savepoint(im, run_merged, line, ar, err);
    if (status == UAR_OK) im->sum.repeated++;
    return status;
}

typedef struct link_step {
    const graph_line *line;
    uar_memory_change change;
} link_step;

static uar_status run_link(importing *im, void *ctx, arena *ar, uar_error *err) {
    link_step *s = (link_step *)ctx;
    return graph_link(&s->change, im->memory, &im->who, s->line->other, s->line->id, ar, err);
}

static uar_status import_link(importing *im, const graph_line *line, arena *ar, uar_error *err) {
    link_step s = { .line = line };
    uar_status status = in_savepoint(im, run_link, &s, ar, err);
    if (status == UAR_OK) count(im, &im->sum.links, &s.change);
    return status;
}

typedef struct named_step {
    const graph_line *line;
    entity_write write;
    uar_memory_graph_imported sum; /* of this line */
    size_t refused;
    uar_error why; /* the first refusal */
} named_step;

/* An observation that can't be kept is left out; what has to do with the store ends the line. */
static uar_status add_text(importing *im, named_step *s, uar_uuid id, uar_str text, arena *ar, uar_error *err) {
    uar_memory_observation_draft d;
    uar_memory_observation_draft_init(&d);
    d.entity = id;
    d.text = text;
    d.trust = UAR_MEMORY_TRUST_IMPORT;
    observation_write w;
    uar_error why = UAR_ERROR_INIT;
    uar_status status = observation_write_make(&w, im->memory, &d, &why);
    uar_band band = uar_status_band(status);
    if (band == UAR_BAND_CALLER || band == UAR_BAND_DATA) {
        if (s->refused++ == 0) s->why = why;
        return UAR_OK;
    }
    if (status != UAR_OK) return error_pass(err, status, &why);
    uar_memory_change change;
    status = observation_write_run(&change, im->memory, &im->who, &w, false, ar, err);
    if (status != UAR_OK) return status;
    if (change.outcome == UAR_MEMORY_OUTCOME_ADDED)
        s->sum.observations++;
    else
        s->sum.repeated++;
    return UAR_OK;
}

static uar_status run_named_entity(importing *im, void *ctx, arena *ar, uar_error *err) {
    named_step *s = (named_step *)ctx;
    uar_memory_change change;
    int64_t num = 0;
    uar_status status = entity_write_run(&change, &num, im->memory, &s->write, false, ar, err);
    if (status != UAR_OK) return status;
    if (change.outcome == UAR_MEMORY_OUTCOME_ADDED)
        s->sum.entities++;
    else
        s->sum.repeated++;
    for (size_t i = 0; i < s->line->text_count && status == UAR_OK; i++)
        status = add_text(im, s, change.id, s->line->texts[i], ar, err);
    return status;
}

static uar_status import_named_entity(importing *im, const graph_line *line, arena *ar, uar_error *err) {
    uar_memory_entity e = line->entity;
    e.trust = UAR_MEMORY_TRUST_IMPORT;
    uar_memory_entity_draft d = entity_draft(im, &e);
    named_step s;
    memset(&s, 0, sizeof s);
    s.line = line;
    uar_status status = entity_write_make(&s.write, im->memory, &im->who, &d, ar, err);
    if (status == UAR_OK) status = in_savepoint(im, run_named_entity, &s, ar, err);
    if (status != UAR_OK) return status;
    im->sum.entities += s.sum.entities;
    im->sum.observations += s.sum.observations;
    im->sum.repeated += s.sum.repeated;
    if (s.refused == 0) return UAR_OK;
    return error_set(err, s.why.code, "%zu of %zu observations were refused, the first: %s", s.refused,
                     line->text_count, s.why.message);
}

/* How well an entity answers to a name: in the place of the import, by its own name, letter by letter. */
static int rank_named(const uar_memory *m, const entity *e, int64_t seg, uar_str name, int64_t digest,
                      uar_status *status, uar_error *err) {
    int64_t own = 0;
    *status = graph_digest(&own, m, e->e.name, err);
    return (e->row.seg == seg ? 4 : 0) + (own == digest ? 2 : 0) + (uar_str_equal(e->e.name, name) ? 1 : 0);
}

static uar_status segment_of_import(int64_t *seg, importing *im, uar_error *err) {
    place where = { im->place.scope, im->who.id.owner,  im->place.user,
                    im->place.agent, im->place.session, im->place.task };
    if (where.user.ptr == NULL) where.user = im->who.id.user;
    if (where.agent.ptr == NULL) where.agent = im->who.id.agent;
    if (where.session.ptr == NULL) where.session = im->who.id.session;
    if (where.task.ptr == NULL) where.task = im->who.id.task;
    segment_key key;
    segment_key_of(&key, &where);
    *seg = 0;
    return key.len != 0 ? segment_number_find(seg, &im->memory->database, &key, err) : UAR_OK;
}

/* The entity that a line means by a name. */
static uar_status find_by_name(uar_uuid *out, importing *im, int64_t seg, uar_str name, arena *ar, uar_error *err) {
    int64_t digest = 0;
    uar_status status = graph_digest(&digest, im->memory, name, err);
    if (status != UAR_OK) return status;
    int best = -1;
    size_t ties = 0;
    query q;
    query_begin(&q, &im->memory->database, SQL_GRAPH_FIND);
    caller_bind(&q, &im->who);
    query_int(&q, 9, 0);
    query_int(&q, 18, digest);
    while (status == UAR_OK && query_next(&q)) {
        entity e;
        status = entity_read(&e, &q, ar, err);
        if (status != UAR_OK) break;
        int rank = rank_named(im->memory, &e, seg, name, digest, &status, err);
        ties = rank > best ? 1 : rank == best ? ties + 1 : ties;
        if (rank > best) *out = e.e.id;
        if (rank > best) best = rank;
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    if (status == UAR_OK) status = end;
    if (status != UAR_OK) return status;
    if (ties == 0)
        return error_set(err, UAR_E_NOT_FOUND, "there is no entity called \"%.*s\"", (int)name.len, name.ptr);
    if (ties > 1)
        return error_set(err, UAR_E_INVALID, "%zu entities are called \"%.*s\"", ties, (int)name.len, name.ptr);
    return UAR_OK;
}

static uar_status run_named_relation(importing *im, void *ctx, arena *ar, uar_error *err) {
    relation_step *s = (relation_step *)ctx;
    uar_memory_relation *r = &s->write.made.r;
    int64_t seg = 0;
    uar_status status = segment_of_import(&seg, im, err);
    if (status == UAR_OK) status = find_by_name(&r->from, im, seg, r->from_name, ar, err);
    if (status == UAR_OK) status = find_by_name(&r->to, im, seg, r->to_name, ar, err);
    return status == UAR_OK ? run_relation(im, s, ar, err) : status;
}

static uar_status import_named_relation(importing *im, const graph_line *line, arena *ar, uar_error *err) {
    uar_memory_relation_draft d = relation_draft(&line->relation);
    d.trust = UAR_MEMORY_TRUST_IMPORT;
    relation_step s;
    memset(&s, 0, sizeof s);
    uar_status status = graph_name_check(line->relation.from_name, "name of the start", err);
    if (status == UAR_OK) status = graph_name_check(line->relation.to_name, "name of the end", err);
    if (status == UAR_OK) status = relation_write_make(&s.write, im->memory, &d, ar, err);
    if (status != UAR_OK) return status;
    s.write.made.r.from_name = line->relation.from_name;
    s.write.made.r.to_name = line->relation.to_name;
    status = in_savepoint(im, run_named_relation, &s, ar, err);
    if (status == UAR_OK) count(im, &im->sum.relations, &s.change);
    return status;
}

static bool is_entity_line(const graph_line *line) {
    return line->kind == GRAPH_LINE_ENTITY || line->kind == GRAPH_LINE_NAMED_ENTITY;
}

static uar_status import_read(importing *im, graph_line *line, arena *ar, uar_error *err) {
    switch (line->kind) {
    case GRAPH_LINE_ENTITY: return import_entity(im, line, ar, err);
    case GRAPH_LINE_RELATION: return import_relation(im, line, ar, err);
    case GRAPH_LINE_OBSERVATION: return import_observation(im, line, ar, err);
    case GRAPH_LINE_MERGED: return import_merged(im, line, ar, err);
    case GRAPH_LINE_LINK: return import_link(im, line, ar, err);
    case GRAPH_LINE_NAMED_ENTITY: return import_named_entity(im, line, ar, err);
    case GRAPH_LINE_NAMED_RELATION: return import_named_relation(im, line, ar, err);
    }
    return UAR_E_INTERNAL;
}

/* Lines of the other pass are left out; those that can't be read are told in the first pass only. */
static uar_status take_item(importing *im, uar_str text, uint64_t number, bool entities, uar_error *err) {
    import_item *item = &im->items[im->item_count];
    memset(item, 0, sizeof *item);
    item->number = number;
    item->status = graph_line_read(&item->line, &im->ar, text, &item->why);
    if (memory_stops_at(item->status)) return error_pass(err, item->status, &item->why);
    bool is_of_pass = item->status == UAR_OK ? is_entity_line(&item->line) == entities : entities;
    if (is_of_pass) im->item_count++;
    return UAR_OK;
}

static uar_status take_window(importing *im, uar_str *rest, uint64_t *number, bool entities, uar_error *err) {
    uar_status status = UAR_OK;
    size_t bytes = 0;
    while (status == UAR_OK && rest->len != 0 && im->item_count < WINDOW && bytes < WINDOW_BYTES) {
        uar_str text = line_take(rest);
        ++*number;
        bytes += text.len;
        if (text.len != 0) status = take_item(im, text, *number, entities, err);
    }
    return status;
}

static uar_status write_items(importing *im, uar_error *err) {
    for (size_t i = 0; i < im->item_count; i++) {
        import_item *item = &im->items[i];
        if (item->status != UAR_OK) continue;
        arena ar;
        arena_init(&ar, &im->memory->alloc);
        item->status = import_read(im, &item->line, &ar, &item->why);
        arena_dispose(&ar);
        if (memory_stops_at(item->status)) return error_pass(err, item->status, &item->why);
    }
    return UAR_OK;
}

static uar_status write_window(importing *im, uar_error *err) {
    if (im->item_count == 0) return UAR_OK;
    uar_status status = memory_enter_write(im->memory, err);
    if (status != UAR_OK) return status;
    status = write_items(im, err);
    status = memory_leave_write(im->memory, status, err);
    for (size_t i = 0; i < im->item_count && status == UAR_OK; i++) {
        if (im->items[i].status == UAR_OK) continue;
        im->sum.failed++;
        if (im->failed != NULL) im->failed(im->ctx, im->items[i].number, &im->items[i].why);
    }
    return status;
}

static uar_status import_pass(importing *im, uar_str lines, bool entities, uar_error *err) {
    uar_status status = UAR_OK;
    uint64_t number = 0;
    while (status == UAR_OK && lines.len != 0) {
        arena_init(&im->ar, &im->memory->alloc);
        im->item_count = 0;
        status = take_window(im, &lines, &number, entities, err);
        if (status == UAR_OK) status = write_window(im, err);
        arena_dispose(&im->ar);
    }
    return status;
}

uar_status uar_memory_graph_import_sync(uar_memory_graph_imported *out, uar_memory *memory, const uar_identity *who,
                                        uar_str lines, const uar_memory_place *given, uar_memory_line_fn failed,
                                        void *ctx, uar_error *err) {
    importing im;
    memset(&im, 0, sizeof im);
    uar_status status = caller_begin(&im.who, memory, who, err);
    if (status != UAR_OK) return status;
    im.memory = memory;
    im.failed = failed;
    im.ctx = ctx;
    if (given != NULL) im.place = *given;
    if (im.place.scope == 0) im.place.scope = UAR_MEMORY_SCOPE_USER;
    uar_allocator alloc = memory->alloc;
    im.items = (import_item *)alloc_zeroed(&alloc, WINDOW, sizeof *im.items);
    if (im.items == NULL) return error_plain(err, UAR_E_NOMEM);
    lines = utf8_without_mark(lines);
    memory_pin(memory); /* the host may free it in a callback */
    status = import_pass(&im, lines, true, err);
    if (status == UAR_OK) status = import_pass(&im, lines, false, err);
    alloc_free(&alloc, im.items);
    memory_unpin(memory);
    if (status == UAR_OK) *out = im.sum;
    return status;
}
