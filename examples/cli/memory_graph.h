/*
 * What the graph commands read and print: names, places, times; entities, relations, observations.
 */
#ifndef UAR_CLI_MEMORY_GRAPH_H
#define UAR_CLI_MEMORY_GRAPH_H

#include "app.h"
#include "text.h"

#include <uar/memory_graph.h>

/* An open memory and who asks it. */
typedef struct graph_session {
    app *app;
    uar_memory *memory;
    uar_identity who;
} graph_session;

/* CODE_OK, or a code after a report. End it with graph_close, also after a failure. */
int graph_open(graph_session *s, app *a);
void graph_close(graph_session *s);
/* Report a failed call; a code. */
int graph_fault(const graph_session *s, const uar_error *err);

/* The entity of an operand: its id, or its name and --kind. CODE_OK, or a code after a report. */
int graph_entity_of(uar_uuid *out, const graph_session *s, const char *operand);
/* The same for one of two: --kind, which can't be meant for both, decides only where several have the name. */
int graph_end_of(uar_uuid *out, const graph_session *s, const char *operand);
/* An id of a relation, an observation or a record. */
int graph_id_of(uar_uuid *out, const app *a, const char *operand);
/* --scope; 0 if it isn't given. */
int graph_scope_of(uar_memory_scope *out, const app *a);
/* An option that holds a date; 0 if it isn't given. */
int graph_date_of(int64_t *out, const app *a, const char *name);
/* --kind, --scope, --type, --direction, --as-of, --include-past, --max-length, --max-visited. */
int graph_filter_of(uar_memory_graph_filter *out, const app *a);

/* Print one a line. */
void graph_print_change(const graph_session *s, const uar_memory_change *change);
void graph_print_entity(const graph_session *s, const uar_memory_entity *entity);
void graph_print_relation(const graph_session *s, const uar_memory_relation *relation);
void graph_print_observation(const graph_session *s, const uar_memory_observation *observation);
/* Print what a projection wrote, or why it couldn't; frees the line. */
void graph_print_line(const graph_session *s, text_buffer *line, uar_status status);

/* The commands. */
int cmd_memory_graph_add(app *a);
int cmd_memory_graph_get(app *a);
int cmd_memory_graph_list(app *a);
int cmd_memory_graph_relate(app *a);
int cmd_memory_graph_unrelate(app *a);
int cmd_memory_graph_observe(app *a);
int cmd_memory_graph_forget(app *a);
int cmd_memory_graph_rename(app *a);
int cmd_memory_graph_merge(app *a);
int cmd_memory_graph_delete(app *a);
int cmd_memory_graph_neighbours(app *a);
int cmd_memory_graph_path(app *a);
int cmd_memory_graph_search(app *a);
int cmd_memory_graph_link(app *a);
int cmd_memory_graph_unlink(app *a);
int cmd_memory_graph_records(app *a);
int cmd_memory_graph_entities(app *a);
int cmd_memory_graph_import(app *a);
int cmd_memory_graph_export(app *a);
int cmd_memory_graph_stats(app *a);

#endif
