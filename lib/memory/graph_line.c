/* Owns: reading one line of a graph's import. Invariant: a key with a value of another type than it should have is refused
 * by name; what kind a line is, its own keys say. */
#include "memory/graph_json.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"

/* A line carries a text, or an entity of the official server with all of its observations. */
#define LINE_MAX_BYTES ((size_t)64 * 1024 * 1024)

/* One line while it is read; the first fault sticks. */
typedef struct reader {
    const cJSON *root;
    arena *ar;
    uar_status status;
    uar_error *err;
} reader;

static void refuse(reader *r, const char *key) {
    if (r->status == UAR_OK)
        r->status = error_set(r->err, UAR_E_SCHEMA, "\"%s\" is missing or not what a graph has there", key);
}

static void no_memory(reader *r) {
    if (r->status == UAR_OK) r->status = error_plain(r->err, UAR_E_NOMEM);
}

static const cJSON *member(const cJSON *object, const char *key) {
    const cJSON *node = json_member(object, key);
    return cJSON_IsNull(node) ? NULL : node;
}

static uar_str keep(reader *r, uar_str text) {
    uar_str copy = arena_str(r->ar, text);
    if (text.ptr != NULL && copy.ptr == NULL) no_memory(r);
    return copy;
}

static uar_str text_in(reader *r, const cJSON *object, const char *key) {
    const cJSON *node = member(object, key);
    if (node == NULL) return uar_str_n(NULL, 0);
    if (cJSON_IsString(node)) return keep(r, json_node_text(node));
    refuse(r, key);
    return uar_str_n(NULL, 0);
}

static uar_str text_of(reader *r, const char *key) {
    return text_in(r, r->root, key);
}

/* One that must be there. */
static uar_str need_text(reader *r, const char *key) {
    uar_str text = text_of(r, key);
    if (text.ptr == NULL) refuse(r, key);
    return text;
}

static uar_uuid id_in(reader *r, const cJSON *object, const char *key) {
    uar_str text = text_in(r, object, key);
    uar_uuid id = { { 0 } };
    if (text.ptr != NULL && uar_uuid_parse(&id, text) != UAR_OK) refuse(r, key);
    return id;
}

static uar_uuid need_id(reader *r, const char *key) {
    uar_uuid id = id_in(r, r->root, key);
    if (uar_uuid_is_none(id)) refuse(r, key);
    return id;
}

static int64_t time_of(reader *r, const char *key) {
    uar_str text = text_of(r, key);
    int64_t ms = 0;
    if (text.ptr != NULL && time_parse(&ms, text) != UAR_OK) refuse(r, key);
    return text.ptr != NULL && ms == 0 ? 1 : ms; /* 0 would be no time */
}

static uint64_t number_in(reader *r, const cJSON *object, const char *key) {
    const cJSON *node = member(object, key);
    uint64_t value = 0;
    if (node != NULL && (!json_node_u64(node, &value) || value > INT64_MAX)) refuse(r, key);
    return value;
}

static uar_str properties_of(reader *r) {
    const cJSON *node = member(r->root, "properties");
    uar_str text = { NULL, 0 };
    if (node == NULL) return text;
    buffer out;
    buffer_init(&out, r->ar->alloc, SIZE_MAX / 4);
    json_append_node(&out, node);
    if (out.status != UAR_OK)
        no_memory(r);
    else
        text = keep(r, buffer_str(&out));
    buffer_dispose(&out);
    return text;
}

static const uar_str *list_of(reader *r, const char *key, size_t *count) {
    const cJSON *array = member(r->root, key);
    *count = 0;
    if (array == NULL) return NULL;
    if (!cJSON_IsArray(array)) {
        refuse(r, key);
        return NULL;
    }
    size_t n = 0;
    for (const cJSON *item = array->child; item != NULL; item = item->next)
        n++;
    uar_str *list = (uar_str *)arena_zeroed(r->ar, n + 1, sizeof *list);
    if (list == NULL) no_memory(r);
    for (const cJSON *item = array->child; item != NULL && list != NULL; item = item->next) {
        if (cJSON_IsString(item))
            list[(*count)++] = keep(r, json_node_text(item));
        else
            refuse(r, key);
    }
    return list;
}

static uar_memory_place place_of(reader *r) {
    uar_memory_place p;
    memset(&p, 0, sizeof p);
    uar_str scope = text_of(r, "scope");
    if (scope.ptr != NULL && uar_memory_scope_parse(&p.scope, scope) != UAR_OK) refuse(r, "scope");
    p.owner = text_of(r, "owner");
    p.user = text_of(r, "user");
    p.agent = text_of(r, "agent");
    p.session = text_of(r, "session");
    p.task = text_of(r, "task");
    return p;
}

static uar_memory_trust trust_of(reader *r) {
    uar_memory_trust trust = UAR_MEMORY_TRUST_IMPORT;
    uar_str name = text_of(r, "trust");
    if (name.ptr != NULL && uar_memory_trust_parse(&trust, name) != UAR_OK) refuse(r, "trust");
    return trust;
}

static uar_memory_provenance provenance_of(reader *r) {
    uar_memory_provenance p;
    memset(&p, 0, sizeof p);
    const cJSON *node = member(r->root, "provenance");
    if (node == NULL) return p;
    if (!cJSON_IsObject(node)) {
        refuse(r, "provenance");
        return p;
    }
    p.run = id_in(r, node, "run");
    p.event = number_in(r, node, "event");
    p.session = text_in(r, node, "session");
    return p;
}

static void read_entity(reader *r, graph_line *line) {
    uar_memory_entity *e = &line->entity;
    e->id = line->id = need_id(r, "id");
    e->name = need_text(r, "name");
    e->kind = text_of(r, "kind");
    e->aliases = list_of(r, "aliases", &e->alias_count);
    e->properties = properties_of(r);
    e->place = place_of(r);
    e->trust = trust_of(r);
    e->created_ms = time_of(r, "created");
    e->updated_ms = time_of(r, "updated");
    e->revision = number_in(r, r->root, "revision");
}

static void read_relation(reader *r, graph_line *line) {
    uar_memory_relation *e = &line->relation;
    e->id = line->id = need_id(r, "id");
    e->from = need_id(r, "from");
    e->to = need_id(r, "to");
    e->type = need_text(r, "type");
    e->properties = properties_of(r);
    e->place = place_of(r);
    e->trust = trust_of(r);
    e->provenance = provenance_of(r);
    e->created_ms = time_of(r, "created");
    e->updated_ms = time_of(r, "updated");
    e->valid_from_ms = time_of(r, "valid_from");
    e->valid_until_ms = time_of(r, "valid_until");
    e->revision = number_in(r, r->root, "revision");
}

static void read_observation(reader *r, graph_line *line) {
    uar_memory_observation *o = &line->observation;
    o->id = line->id = need_id(r, "id");
    o->entity = need_id(r, "entity");
    o->text = need_text(r, "text");
    o->place = place_of(r);
    o->trust = trust_of(r);
    o->provenance = provenance_of(r);
    o->created_ms = time_of(r, "created");
    o->updated_ms = time_of(r, "updated");
    o->valid_from_ms = time_of(r, "valid_from");
    o->valid_until_ms = time_of(r, "valid_until");
    o->revision = number_in(r, r->root, "revision");
}

static void read_own(reader *r, graph_line *line) {
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
        refuse(r, "item");
    }
}

/* As the official memory server writes them: no ids, entities are known by their names. */
static void read_named(reader *r, graph_line *line) {
    uar_str type = need_text(r, "type");
    if (r->status != UAR_OK) return;
    if (str_is(type, "entity")) {
        line->kind = GRAPH_LINE_NAMED_ENTITY;
        line->entity.name = need_text(r, "name");
        line->entity.kind = text_of(r, "entityType");
        line->texts = list_of(r, "observations", &line->text_count);
    } else if (str_is(type, "relation")) {
        line->kind = GRAPH_LINE_NAMED_RELATION;
        line->relation.from_name = need_text(r, "from");
        line->relation.to_name = need_text(r, "to");
        line->relation.type = need_text(r, "relationType");
    } else {
        refuse(r, "type");
    }
}

uar_status graph_line_read(graph_line *out, arena *ar, uar_str text, uar_error *err) {
    cJSON *root = NULL;
    uar_status status = json_read(&root, ar->alloc, text, LINE_MAX_BYTES, err);
    if (status != UAR_OK) return status;
    reader r = { root, ar, UAR_OK, err };
    memset(out, 0, sizeof *out);
    const cJSON *version = member(root, "v");
    uint64_t v = 1;
    if (!cJSON_IsObject(root))
        r.status = error_set(err, UAR_E_SCHEMA, "the line is not a JSON object");
    else if (version != NULL && (!json_node_u64(version, &v) || v != 1))
        r.status = error_set(err, UAR_E_NEWER, "the line is of a version that this library doesn't know");
    else if (version != NULL)
        read_own(&r, out);
    else
        read_named(&r, out);
    json_free(ar->alloc, root);
    return r.status;
}
