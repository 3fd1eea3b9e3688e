/* What the graph commands read and print: see memory_graph.h. */
#include "memory_graph.h"

#include "instant.h"
#include "memory_args.h"
#include "output.h"
#include "stores.h"

#include <stdio.h>
#include <string.h>

int graph_open(graph_session *s, app *a) {
    s->app = a;
    s->memory = NULL;
    s->who = identity_of(a);
    return stores_memory_open(&s->memory, a);
}

void graph_close(graph_session *s) {
    uar_memory_free(s->memory);
    s->memory = NULL;
}

int graph_fault(const graph_session *s, const uar_error *err) {
    return report_error(s->app, err, "");
}

/* The only one that has the name, or the only one that is called so letter by letter. */
static const uar_memory_entity *only_one(const uar_memory_graph *found, const char *name) {
    const uar_memory_entity *exact = NULL;
    size_t count = 0;
    for (size_t i = 0; i < found->entity_count; i++) {
        if (!uar_str_equal(found->entities[i].name, uar_str_of(name))) continue;
        exact = &found->entities[i];
        count++;
    }
    if (found->entity_count == 1) return &found->entities[0];
    return count == 1 ? exact : NULL;
}

static uar_status find_named(uar_memory_graph **out, const graph_session *s, const char *name, const char *kind,
                             uar_error *err) {
    uar_memory_graph_filter filter;
    uar_memory_graph_filter_init(&filter);
    filter.kind = uar_str_of(kind);
    return uar_memory_graph_find_sync(out, s->memory, &s->who, uar_str_of(name), &filter, err);
}

/* `strict`: --kind counts even where only one has the name. */
static int entity_of(uar_uuid *out, const graph_session *s, const char *operand, bool strict) {
    if (uar_uuid_parse(out, uar_str_of(operand)) == UAR_OK) return CODE_OK;
    const char *kind = args_get(&s->app->args, "kind");
    uar_memory_graph *found = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = find_named(&found, s, operand, NULL, &err);
    if (status == UAR_OK && kind != NULL && (strict || found->entity_count > 1)) {
        uar_memory_graph_free(found);
        found = NULL;
        status = find_named(&found, s, operand, kind, &err);
    }
    if (status != UAR_OK) return graph_fault(s, &err);
    const uar_memory_entity *one = only_one(found, operand);
    int code = CODE_OK;
    if (one != NULL)
        *out = one->id;
    else if (found->entity_count == 0)
        code = report(s->app, UAR_E_NOT_FOUND, "see 'uar memory graph list'", "user '%s' sees no entity '%s'",
                      s->app->user, operand);
    else
        code = report_usage(s->app, "give --kind, or an id of 'uar memory graph search'",
                            "%zu entities are called '%s'", found->entity_count, operand);
    uar_memory_graph_free(found);
    return code;
}

int graph_entity_of(uar_uuid *out, const graph_session *s, const char *operand) {
    return entity_of(out, s, operand, true);
}

int graph_end_of(uar_uuid *out, const graph_session *s, const char *operand) {
    return entity_of(out, s, operand, false);
}

int graph_id_of(uar_uuid *out, const app *a, const char *operand) {
    if (uar_uuid_parse(out, uar_str_of(operand)) == UAR_OK) return CODE_OK;
    return report(a, UAR_E_NOT_FOUND, "an id has 36 characters", "there is no '%s'", operand);
}

static int parse_scope(uar_memory_scope *out, const app *a, const char *name) {
    if (uar_memory_scope_parse(out, uar_str_of(name)) == UAR_OK) return CODE_OK;
    return report_usage(a, "scopes are global, agent, user, session, task", "there is no scope '%s'", name);
}

int graph_scope_of(uar_memory_scope *out, const app *a) {
    const char *name = args_get(&a->args, "scope");
    *out = (uar_memory_scope)0;
    return name != NULL ? parse_scope(out, a, name) : CODE_OK;
}

int graph_date_of(int64_t *out, const app *a, const char *name) {
    const char *text = args_get(&a->args, name);
    *out = 0;
    if (text == NULL || instant_parse(out, text)) return CODE_OK;
    return report_usage(a, "write 2026-01-31 or 2026-01-31T12:30:00Z", "--%s is no date: '%s'", name, text);
}

static int direction_of(uar_memory_direction *out, const app *a) {
    static const char *const names[] = { "both", "out", "in" };
    const char *text = args_get(&a->args, "direction");
    for (int i = 0; text != NULL && i < 3; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *out = (uar_memory_direction)i;
        return CODE_OK;
    }
    return text == NULL ? CODE_OK : report_usage(a, NULL, "--direction takes out, in or both, not '%s'", text);
}

static int bound_of(uint32_t *out, const app *a, const char *name, uint64_t most) {
    const char *text = args_get(&a->args, name);
    uint64_t value = 0;
    if (text == NULL) return CODE_OK;
    if (!parse_number(&value, text, most) || value == 0)
        return report_usage(a, NULL, "--%s takes 1 to %u, not '%s'", name, (unsigned)most, text);
    *out = (uint32_t)value;
    return CODE_OK;
}

int graph_filter_of(uar_memory_graph_filter *out, const app *a) {
    uar_memory_graph_filter_init(out);
    out->kind = uar_str_of(args_get(&a->args, "kind"));
    out->type = uar_str_of(args_get(&a->args, "type"));
    out->include_past = args_has(&a->args, "include-past");
    int code = CODE_OK;
    const char *name = NULL;
    for (size_t n = 0; code == CODE_OK && (name = args_nth(&a->args, "scope", n)) != NULL; n++) {
        uar_memory_scope scope;
        code = parse_scope(&scope, a, name);
        if (code == CODE_OK) out->scopes |= 1u << scope;
    }
    if (code == CODE_OK) code = direction_of(&out->direction, a);
    if (code == CODE_OK) code = graph_date_of(&out->as_of_ms, a, "as-of");
    if (code == CODE_OK) code = bound_of(&out->max_length, a, "max-length", 6);
    if (code == CODE_OK) code = bound_of(&out->max_visited, a, "max-visited", 1000000);
    return code;
}

void graph_print_line(const graph_session *s, text_buffer *line, uar_status status) {
    if (status != UAR_OK) {
        notice(s->app, false, status, "%s", uar_status_text(status));
    } else {
        text_add_z(line, "\n");
        output_bytes(line->data, line->len);
    }
    text_free(line);
}

static void add_id(text_buffer *out, uar_uuid id) {
    char text[UAR_UUID_TEXT];
    uar_uuid_format(text, id);
    text_add_z(out, text);
    text_add_z(out, "  ");
}

/* "(until 2026-01-31)" behind what has ended or will. */
static void add_end(text_buffer *out, int64_t until) {
    char when[INSTANT_TEXT];
    if (until == UAR_MEMORY_OPEN_END) return;
    instant_show(when, until);
    text_add_z(out, "  (until ");
    text_add_z(out, when);
    text_add_z(out, ")");
}

void graph_print_change(const graph_session *s, const uar_memory_change *change) {
    text_buffer line = { 0 };
    uar_status status = UAR_OK;
    if (s->app->json) {
        status = uar_memory_change_json(change, NULL, text_write_piece, &line);
    } else {
        add_id(&line, change->id);
        text_add_z(&line, uar_memory_outcome_name(change->outcome));
    }
    graph_print_line(s, &line, status);
}

void graph_print_entity(const graph_session *s, const uar_memory_entity *e) {
    text_buffer line = { 0 };
    uar_status status = UAR_OK;
    if (s->app->json) {
        status = uar_memory_entity_json(e, NULL, text_write_piece, &line);
    } else {
        add_id(&line, e->id);
        text_add_z(&line, uar_memory_scope_name(e->place.scope));
        text_add_z(&line, "  ");
        text_add_visible(&line, e->name, false);
        if (e->kind.len > 0) {
            text_add_z(&line, " (");
            text_add_visible(&line, e->kind, false);
            text_add_z(&line, ")");
        }
        for (size_t i = 0; i < e->alias_count; i++) {
            text_add_z(&line, i == 0 ? "  also " : ", ");
            text_add_visible(&line, e->aliases[i], false);
        }
    }
    graph_print_line(s, &line, status);
}

void graph_print_relation(const graph_session *s, const uar_memory_relation *r) {
    text_buffer line = { 0 };
    uar_status status = UAR_OK;
    if (s->app->json) {
        status = uar_memory_relation_json(r, NULL, text_write_piece, &line);
    } else {
        add_id(&line, r->id);
        text_add_visible(&line, r->from_name, false);
        text_add_z(&line, " — ");
        text_add_visible(&line, r->type, false);
        text_add_z(&line, " → ");
        text_add_visible(&line, r->to_name, false);
        add_end(&line, r->valid_until_ms);
    }
    graph_print_line(s, &line, status);
}

void graph_print_observation(const graph_session *s, const uar_memory_observation *o) {
    text_buffer line = { 0 };
    uar_status status = UAR_OK;
    if (s->app->json) {
        status = uar_memory_observation_json(o, NULL, text_write_piece, &line);
    } else {
        add_id(&line, o->id);
        text_add_visible(&line, o->text, false);
        add_end(&line, o->valid_until_ms);
    }
    graph_print_line(s, &line, status);
}
