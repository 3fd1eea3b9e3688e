/* Owns: reading one line of a graph's import. Invariant: a key with a value of another type than it should have is refused
 * by name; what kind a line is, its own keys say. */
#include "memory/graph_json.h"

#include "base/str.h"
#include "memory/line.h"

/* A line carries a text, or an entity of the official server with all of its observations. */
#define LINE_BYTES_MAX ((size_t)64 * 1024 * 1024)

/* Members that must be there. */
static uar_str need_text(line_reader *r, const char *key) {
    uar_str text = line_text(r, NULL, key);
    if (text.ptr == NULL) line_refuse(r, key);
    return text;
}

static uar_uuid need_id(line_reader *r, const char *key) {
    uar_uuid id = line_uuid(r, NULL, key);
    if (uar_uuid_is_none(id)) line_refuse(r, key);
    return id;
}

static uar_memory_place place_of(line_reader *r) {
    uar_memory_place p;
    memset(&p, 0, sizeof p);
    p.scope = line_scope(r, p.scope);
    p.owner = line_text(r, NULL, "owner");
    p.user = line_text(r, NULL, "user");
    p.agent = line_text(r, NULL, "agent");
    p.session = line_text(r, NULL, "session");
    p.task = line_text(r, NULL, "task");
    return p;
}

static void read_entity(line_reader *r, graph_line *line) {
    uar_memory_entity *e = &line->entity;
    e->id = line->id = need_id(r, "id");
    e->name = need_text(r, "name");
    e->kind = line_text(r, NULL, "kind");
    e->aliases = line_texts(r, "aliases", &e->alias_count);
    e->properties = line_json(r, "properties");
    e->place = place_of(r);
    e->trust = line_trust(r);
    e->created_ms = line_time(r, "created", 0);
    e->updated_ms = line_time(r, "updated", 0);
    e->revision = line_number(r, NULL, "revision");
}

static void read_relation(line_reader *r, graph_line *line) {
    uar_memory_relation *e = &line->relation;
    e->id = line->id = need_id(r, "id");
    e->from = need_id(r, "from");
    e->to = need_id(r, "to");
    e->type = need_text(r, "type");
    e->properties = line_json(r, "properties");
    e->place = place_of(r);
    e->trust = line_trust(r);
    e->provenance = line_provenance(r);
    e->created_ms = line_time(r, "created", 0);
    e->updated_ms = line_time(r, "updated", 0);
    e->valid_from_ms = line_time(r, "valid_from", 0);
    e->valid_until_ms = line_time(r, "valid_until", 0);
    e->revision = line_number(r, NULL, "revision");
}

static void read_observation(line_reader *r, graph_line *line) {
    uar_memory_observation *o = &line->observation;
    o->id = line->id = need_id(r, "id");
    o->entity = need_id(r, "entity");
    o->text = need_text(r, "text");
    o->place = place_of(r);
    o->trust = line_trust(r);
    o->provenance = line_provenance(r);
    o->created_ms = line_time(r, "created", 0);
    o->updated_ms = line_time(r, "updated", 0);
    o->valid_from_ms = line_time(r, "valid_from", 0);
    o->valid_until_ms = line_time(r, "valid_until", 0);
    o->revision = line_number(r, NULL, "revision");
}

static void read_own(line_reader *r, graph_line *line) {
    uar_str item = need_text(r, "item");
    if (r->status != UAR_OK) return;
    if (str_is(item, "entity")) {
        line->kind = GRAPH_LINE_ENTITY;
        read_entity(r, line);
    } else if (str_is(item, "relation")) {
        line->kind = GRAPH_LINE_RELATION;
        read_relation(r, line);
    } else if (str_is(item, "observation")) {
        line->kind = GRAPH_LINE_OBSERVATION;
        read_observation(r, line);
    } else if (str_is(item, "merged")) {
        line->kind = GRAPH_LINE_MERGED;
        line->id = need_id(r, "id");
        line->other = need_id(r, "entity");
    } else if (str_is(item, "link")) {
        line->kind = GRAPH_LINE_LINK;
        line->id = need_id(r, "entity");
        line->other = need_id(r, "record");
    } else {
        line_refuse(r, "item");
    }
}

/* As the official memory server writes them: no ids, entities are known by their names. */
static void read_named(line_reader *r, graph_line *line) {
    uar_str type = need_text(r, "type");
    if (r->status != UAR_OK) return;
    if (str_is(type, "entity")) {
        line->kind = GRAPH_LINE_NAMED_ENTITY;
        line->entity.name = need_text(r, "name");
        line->entity.kind = line_text(r, NULL, "entityType");
        line->texts = line_texts(r, "observations", &line->text_count);
    } else if (str_is(type, "relation")) {
        line->kind = GRAPH_LINE_NAMED_RELATION;
        line->relation.from_name = need_text(r, "from");
        line->relation.to_name = need_text(r, "to");
        line->relation.type = need_text(r, "relationType");
    } else {
        line_refuse(r, "type");
    }
}

uar_status graph_line_read(graph_line *out, arena *ar, uar_str text, uar_error *err) {
    line_reader r;
    uar_status status = line_begin(&r, ar, text, LINE_BYTES_MAX, "a graph", err);
    if (status != UAR_OK) return status;
    memset(out, 0, sizeof *out);
    if (r.has_version)
        read_own(&r, out);
    else
        read_named(&r, out);
    return line_end(&r);
}
