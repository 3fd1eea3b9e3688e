/* uar memory graph add|relate|unrelate|observe|forget|rename|merge|delete|link|unlink: writing the graph. */
#include "memory_graph.h"

#include <stdio.h>

enum { ALIASES_MOST = 64 };

/* A text of the command line must be UTF-8 before the store is opened. */
static int check_text(const app *a, const char *text) {
    size_t len = strlen(text);
    size_t bad = text_fault(text, len);
    if (bad < len) return report(a, UAR_E_UTF8, NULL, "the text is not valid UTF-8 at byte %zu", bad + 1);
    return CODE_OK;
}

static int check_operands(const app *a) {
    int code = CODE_OK;
    for (size_t i = 0; i < a->args.operand_count && code == CODE_OK; i++)
        code = check_text(a, a->args.operands[i]);
    return code;
}

/* Print a change or report why there is none; closes the session. */
static int finish(graph_session *s, int code, uar_status status, const uar_memory_change *change,
                  const uar_error *err) {
    if (code == CODE_OK && status == UAR_OK) graph_print_change(s, change);
    if (code == CODE_OK && status != UAR_OK) code = graph_fault(s, err);
    graph_close(s);
    return code;
}

int cmd_memory_graph_add(app *a) {
    uar_str aliases[ALIASES_MOST];
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    int code = check_operands(a);
    if (code == CODE_OK) code = graph_scope_of(&d.place.scope, a);
    const char *alias = NULL;
    while (code == CODE_OK && (alias = args_nth(&a->args, "alias", d.alias_count)) != NULL) {
        if (d.alias_count == ALIASES_MOST) return report_usage(a, NULL, "at most %d --alias", ALIASES_MOST);
        aliases[d.alias_count++] = uar_str_of(alias);
    }
    d.name = uar_str_of(a->args.operands[0]);
    d.kind = uar_str_of(args_get(&a->args, "kind"));
    d.aliases = aliases;
    d.properties = uar_str_of(args_get(&a->args, "properties"));
    d.replace_properties = args_has(&a->args, "replace");
    graph_session s = { 0 };
    if (code == CODE_OK) code = graph_open(&s, a);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = UAR_OK;
    if (code == CODE_OK) status = uar_memory_graph_put_sync(&change, s.memory, &s.who, &d, &err);
    return finish(&s, code, status, &change, &err);
}

int cmd_memory_graph_relate(app *a) {
    uar_memory_relation_draft d;
    uar_memory_relation_draft_init(&d);
    graph_session s = { 0 };
    int code = check_operands(a);
    if (code == CODE_OK) code = graph_scope_of(&d.place.scope, a);
    if (code == CODE_OK) code = graph_date_of(&d.valid_from_ms, a, "valid-from");
    if (code == CODE_OK) code = graph_date_of(&d.valid_until_ms, a, "valid-until");
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = graph_end_of(&d.from, &s, a->args.operands[0]);
    if (code == CODE_OK) code = graph_end_of(&d.to, &s, a->args.operands[2]);
    d.type = uar_str_of(a->args.operands[1]);
    d.properties = uar_str_of(args_get(&a->args, "properties"));
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = UAR_OK;
    if (code == CODE_OK) status = uar_memory_graph_relate_sync(&change, s.memory, &s.who, &d, &err);
    return finish(&s, code, status, &change, &err);
}

/* The relation of a type from one entity to another that holds now. */
static int relation_between(uar_uuid *out, const graph_session *s) {
    const char *const *operands = s->app->args.operands;
    uar_uuid from, to;
    int code = graph_end_of(&from, s, operands[0]);
    if (code == CODE_OK) code = graph_end_of(&to, s, operands[2]);
    uar_memory_graph_filter filter;
    uar_memory_graph_filter_init(&filter);
    filter.type = uar_str_of(operands[1]);
    filter.direction = UAR_MEMORY_DIRECTION_OUT;
    filter.max_length = 1;
    filter.max_visited = 1000000; /* the relations of one entity, however many it has */
    uar_memory_paths *paths = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (code == CODE_OK &&
        uar_memory_graph_paths_sync(&paths, s->memory, &s->who, from, to, &filter, 1, &err) != UAR_OK)
        return graph_fault(s, &err);
    if (code == CODE_OK && paths->count == 0 && paths->truncated)
        code = report_usage(s->app, "give the id of the relation", "'%s' has too many relations to look through",
                            operands[0]);
    if (code == CODE_OK && (paths->count == 0 || paths->paths[0].length == 0))
        code = report(s->app, UAR_E_NOT_FOUND, "see 'uar memory graph neighbours'", "'%s' doesn't '%s' '%s' now",
                      operands[0], operands[1], operands[2]);
    else if (code == CODE_OK)
        *out = paths->paths[0].steps[0].relation->id;
    uar_memory_paths_free(paths);
    return code;
}

/* An entity is deleted by a command of its own, with all that hangs on it: never by an id that was meant for less. */
static int check_no_entity(const graph_session *s, uar_uuid id, const char *meant) {
    uar_memory_graph *entity = NULL;
    if (uar_memory_graph_get_sync(&entity, s->memory, &s->who, id, NULL) != UAR_OK) return CODE_OK;
    uar_memory_graph_free(entity);
    return report_usage(s->app, "see 'uar memory graph delete'", "this is an entity, not %s", meant);
}

int cmd_memory_graph_unrelate(app *a) {
    uar_uuid id;
    int64_t at = 0;
    graph_session s = { 0 };
    if (a->args.operand_count == 2)
        return report_usage(a, "see 'uar memory graph unrelate --help'", "unrelate takes an id, or FROM TYPE TO");
    int code = check_operands(a);
    if (code == CODE_OK) code = graph_date_of(&at, a, "at");
    if (code == CODE_OK && a->args.operand_count == 1) code = graph_id_of(&id, a, a->args.operands[0]);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK && a->args.operand_count == 3) code = relation_between(&id, &s);
    if (code == CODE_OK) code = check_no_entity(&s, id, "a relation");
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = UAR_OK;
    if (code == CODE_OK && args_has(&a->args, "erase"))
        status = uar_memory_graph_delete_sync(&change, s.memory, &s.who, id, &err);
    else if (code == CODE_OK)
        status = uar_memory_graph_end_sync(&change, s.memory, &s.who, id, at, &err);
    return finish(&s, code, status, &change, &err);
}

int cmd_memory_graph_observe(app *a) {
    uar_memory_observation_draft d;
    uar_memory_observation_draft_init(&d);
    graph_session s = { 0 };
    int code = check_operands(a);
    if (code == CODE_OK) code = graph_scope_of(&d.place.scope, a);
    if (code == CODE_OK) code = graph_date_of(&d.valid_from_ms, a, "valid-from");
    if (code == CODE_OK) code = graph_date_of(&d.valid_until_ms, a, "valid-until");
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = graph_entity_of(&d.entity, &s, a->args.operands[0]);
    d.text = uar_str_of(a->args.operands[1]);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = UAR_OK;
    if (code == CODE_OK) status = uar_memory_graph_observe_sync(&change, s.memory, &s.who, &d, &err);
    return finish(&s, code, status, &change, &err);
}

int cmd_memory_graph_forget(app *a) {
    uar_uuid id;
    graph_session s = { 0 };
    int code = graph_id_of(&id, a, a->args.operands[0]);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = check_no_entity(&s, id, "an observation");
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = UAR_OK;
    if (code == CODE_OK && args_has(&a->args, "keep"))
        status = uar_memory_graph_end_sync(&change, s.memory, &s.who, id, 0, &err);
    else if (code == CODE_OK)
        status = uar_memory_graph_delete_sync(&change, s.memory, &s.who, id, &err);
    return finish(&s, code, status, &change, &err);
}

int cmd_memory_graph_rename(app *a) {
    uar_uuid id;
    graph_session s = { 0 };
    int code = check_operands(a);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = graph_entity_of(&id, &s, a->args.operands[0]);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = UAR_OK;
    if (code == CODE_OK)
        status = uar_memory_graph_rename_sync(&change, s.memory, &s.who, id, uar_str_of(a->args.operands[1]), &err);
    return finish(&s, code, status, &change, &err);
}

int cmd_memory_graph_merge(app *a) {
    uar_uuid into, from;
    graph_session s = { 0 };
    int code = check_operands(a);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = graph_end_of(&into, &s, a->args.operands[0]);
    if (code == CODE_OK) code = graph_end_of(&from, &s, a->args.operands[1]);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = UAR_OK;
    if (code == CODE_OK) status = uar_memory_graph_merge_sync(&change, s.memory, &s.who, into, from, &err);
    return finish(&s, code, status, &change, &err);
}

int cmd_memory_graph_delete(app *a) {
    uar_uuid id;
    graph_session s = { 0 };
    int code = check_operands(a);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = graph_entity_of(&id, &s, a->args.operands[0]);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = UAR_OK;
    if (code == CODE_OK) status = uar_memory_graph_delete_sync(&change, s.memory, &s.who, id, &err);
    return finish(&s, code, status, &change, &err);
}

typedef uar_status (*link_fn)(uar_memory_change *out, uar_memory *memory, const uar_identity *who, uar_uuid record,
                              uar_uuid entity, uar_error *err);

static int run_link(app *a, link_fn link) {
    uar_uuid record, entity;
    graph_session s = { 0 };
    int code = check_operands(a);
    if (code == CODE_OK) code = graph_id_of(&record, a, a->args.operands[0]);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = graph_entity_of(&entity, &s, a->args.operands[1]);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = UAR_OK;
    if (code == CODE_OK) status = link(&change, s.memory, &s.who, record, entity, &err);
    return finish(&s, code, status, &change, &err);
}

int cmd_memory_graph_link(app *a) {
    return run_link(a, uar_memory_graph_link_sync);
}

int cmd_memory_graph_unlink(app *a) {
    return run_link(a, uar_memory_graph_unlink_sync);
}
