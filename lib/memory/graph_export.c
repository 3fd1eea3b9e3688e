/* Owns: exporting the graph. Invariant: what a line refers to stands in a line before it, unless it was written meanwhile; no
 * lock is held while lines are handed out. */
#include "memory/graph.h"
#include "memory/graph_json.h"
#include "memory/line.h"

/* Rows read in one snapshot. */
#define BATCH 512

typedef struct exporting {
    uar_memory *memory;
    caller who;
    graph_filter filter;
    buffer out;
    int64_t after;
    size_t rows;
} exporting;

/* The rows of one batch as text; `after` moves on. */
typedef uar_status (*batch_fn)(exporting *x, uar_error *err);
/* One row as the members of a line. */
typedef uar_status (*line_fn)(json_writer *w, query *q, arena *ar, uar_error *err);

static uar_status entity_line(json_writer *w, query *q, arena *ar, uar_error *err) {
    entity e;
    uar_status status = entity_read(&e, q, ar, err);
    if (status != UAR_OK) return status;
    json_put_str(w, "item", uar_str_of("entity"));
    graph_json_entity(w, &e.e);
    return UAR_OK;
}

static uar_status relation_line(json_writer *w, query *q, arena *ar, uar_error *err) {
    relation r;
    uar_status status = relation_read(&r, q, ar, err);
    if (status != UAR_OK) return status;
    json_put_str(w, "item", uar_str_of("relation"));
    graph_json_relation(w, &r.r);
    return UAR_OK;
}

static uar_status observation_line(json_writer *w, query *q, arena *ar, uar_error *err) {
    observation o;
    uar_status status = observation_read(&o, q, ar, err);
    if (status != UAR_OK) return status;
    json_put_str(w, "item", uar_str_of("observation"));
    graph_json_observation(w, &o.o);
    return UAR_OK;
}

static uar_status merged_line(json_writer *w, query *q, arena *ar, uar_error *err) {
    (void)ar, (void)err;
    json_put_str(w, "item", uar_str_of("merged"));
    json_put_uuid(w, "id", query_get_uuid(q, 1));
    json_put_uuid(w, "entity", query_get_uuid(q, 2));
    return UAR_OK;
}

static uar_status link_line(json_writer *w, query *q, arena *ar, uar_error *err) {
    (void)ar, (void)err;
    json_put_str(w, "item", uar_str_of("link"));
    json_put_uuid(w, "record", query_get_uuid(q, 1));
    json_put_uuid(w, "entity", query_get_uuid(q, 2));
    return UAR_OK;
}

/* All rows of a statement as lines. */
static uar_status write_lines(exporting *x, query *q, line_fn line, int64_t *last, uar_error *err) {
    arena ar;
    arena_init(&ar, &x->memory->alloc);
    uar_status status = UAR_OK;
    while (status == UAR_OK && query_next(q)) {
        json_writer w;
        *last = query_get_int(q, 0);
        x->rows++;
        json_writer_init(&w, &x->out);
        json_object_begin(&w);
        json_put_uint(&w, "v", 1);
        status = line(&w, q, &ar, err);
        json_object_end(&w);
        buffer_append_char(&x->out, '\n');
        if (status == UAR_OK && x->out.status != UAR_OK) status = error_plain(err, x->out.status);
    }
    uar_status end = query_end(q, status == UAR_OK ? err : NULL);
    arena_dispose(&ar);
    return status == UAR_OK ? end : status;
}

static uar_status page_lines(exporting *x, sql_id sql, line_fn line, uar_error *err) {
    query q;
    query_begin(&q, &x->memory->database, sql);
    caller_bind(&q, &x->who);
    graph_filter_bind(&q, &x->filter);
    query_int(&q, 18, x->after);
    query_int(&q, 19, BATCH);
    return write_lines(x, &q, line, &x->after, err);
}

static uar_status entity_batch(exporting *x, uar_error *err) {
    return page_lines(x, SQL_GRAPH_ENTITY_PAGE, entity_line, err);
}

static uar_status observation_batch(exporting *x, uar_error *err) {
    return page_lines(x, SQL_GRAPH_OBSERVATION_PAGE, observation_line, err);
}

static uar_status relation_batch(exporting *x, uar_error *err) {
    return page_lines(x, SQL_GRAPH_RELATION_PAGE, relation_line, err);
}

/* What hangs on a batch of entities; the batch is full as long as there are entities ahead. */
static uar_status hanging_lines(exporting *x, sql_id sql, line_fn line, uar_error *err) {
    database *db = &x->memory->database;
    query q;
    query_begin(&q, db, SQL_GRAPH_ENTITY_AHEAD);
    caller_bind(&q, &x->who);
    query_int(&q, 18, x->after);
    query_int(&q, 19, BATCH);
    int64_t until = 0;
    uar_status status = query_number(&q, &until, err);
    if (status != UAR_OK || until == 0) return status;
    query_begin(&q, db, sql);
    caller_bind(&q, &x->who);
    query_int(&q, 18, x->after);
    query_int(&q, 19, until);
    if (sql == SQL_GRAPH_EXPORT_LINKS) query_int(&q, 20, x->filter.time);
    int64_t last = 0;
    status = write_lines(x, &q, line, &last, err);
    x->after = until;
    x->rows = BATCH;
    return status;
}

static uar_status merged_batch(exporting *x, uar_error *err) {
    return hanging_lines(x, SQL_GRAPH_EXPORT_FORWARDS, merged_line, err);
}

static uar_status link_batch(exporting *x, uar_error *err) {
    return hanging_lines(x, SQL_GRAPH_EXPORT_LINKS, link_line, err);
}

static uar_status export_each(exporting *x, batch_fn batch, uar_memory_write_fn write, void *ctx, uar_error *err) {
    x->after = 0;
    do {
        x->rows = 0;
        uar_status status = memory_enter_read(x->memory, err);
        if (status != UAR_OK) return status;
        status = batch(x, err);
        memory_leave_read(x->memory);
        if (status == UAR_OK) status = lines_deliver(&x->out, write, ctx, err);
        if (status != UAR_OK) return status;
    } while (x->rows == BATCH);
    return UAR_OK;
}

uar_status uar_memory_graph_export_sync(uar_memory *memory, const uar_identity *who, uar_memory_write_fn write,
                                        void *ctx, uar_error *err) {
    static const batch_fn batches[] = { entity_batch, merged_batch, observation_batch, relation_batch, link_batch };
    exporting x;
    memset(&x, 0, sizeof x);
    uar_status status = caller_begin(&x.who, memory, who, err);
    if (status != UAR_OK) return status;
    if (write == NULL) return error_set(err, UAR_E_INVALID, "an export needs a writer");
    x.memory = memory;
    uar_memory_graph_filter all;
    uar_memory_graph_filter_init(&all);
    all.include_past = true;
    status = graph_filter_init(&x.filter, memory, &all, err);
    if (status != UAR_OK) return status;
    memory_pin(memory); /* the host may free it in `write` */
    buffer_init(&x.out, &memory->alloc, SIZE_MAX / 4);
    for (size_t i = 0; i < sizeof batches / sizeof batches[0] && status == UAR_OK; i++)
        status = export_each(&x, batches[i], write, ctx, err);
    buffer_dispose(&x.out);
    memory_unpin(memory);
    return status;
}
