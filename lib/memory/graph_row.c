/* Owns: the row formats of the graph. Invariant: what is read is what was put, cell for cell, or UAR_E_CORRUPT. */
#include "memory/graph.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/crypto.h"
#include "base/str.h"
#include "memory/erase.h"

/* Between aliases in their column; no name holds it. */
#define ALIAS_SEPARATOR '\x1F'
#define ROW_MAX (SIZE_MAX / 4)
#define CELLS_MAX 16

typedef enum cell_type { CELL_NUMBER, CELL_TEXT, CELL_BYTES, CELL_ID } cell_type;

/* One column between the mark and the checksum; it points at where the value lives. */
typedef struct cell {
    cell_type type;
    int64_t number;
    uar_str text;
    uar_uuid id;
} cell;

static cell number_cell(int64_t number) {
    return (cell){ .type = CELL_NUMBER, .number = number };
}

static cell text_cell(uar_str text) {
    return (cell){ .type = CELL_TEXT, .text = text };
}

static cell bytes_cell(uar_str bytes) {
    return (cell){ .type = CELL_BYTES, .text = bytes };
}

static cell id_cell(uar_uuid id) {
    return (cell){ .type = CELL_ID, .id = id };
}

static uar_status checksum(uint8_t out[SEAL_BYTES], const cell *cells, size_t count) {
    seal all = { .count = 0 };
    for (size_t i = 0; i < count; i++) {
        switch (cells[i].type) {
        case CELL_NUMBER: seal_number(&all, (uint64_t)cells[i].number); break;
        case CELL_ID: seal_id(&all, &cells[i].id); break;
        case CELL_TEXT:
        case CELL_BYTES: seal_text(&all, cells[i].text); break;
        }
    }
    return seal_end(out, &all);
}

static uar_status read_cell(cell *c, query *q, int column, arena *ar) {
    switch (c->type) {
    case CELL_NUMBER: c->number = query_get_int(q, column); break;
    case CELL_ID: c->id = query_get_uuid(q, column); break;
    case CELL_TEXT:
    case CELL_BYTES: return query_copy_text(&c->text, q, column, ar);
    }
    return UAR_OK;
}

/* The cells tell by their types what to expect. Two more columns follow them: checksum and the segment's key. */
static uar_status read_row(graph_row *row, cell *cells, size_t count, uar_memory_place *where, query *q, arena *ar,
                           uar_error *err) {
    uar_status status = UAR_OK;
    row->num = query_get_int(q, 0);
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        status = read_cell(&cells[i], q, (int)i + 2, ar);
    uint8_t expected[SEAL_BYTES];
    if (status == UAR_OK) status = checksum(expected, cells, count);
    if (status != UAR_OK) return error_plain(err, status);
    row->seg = cells[1].number;
    uint8_t stored[SEAL_BYTES];
    bool whole = seal_bytes(row->mark, MARK_BYTES, q, 1) && seal_bytes(stored, SEAL_BYTES, q, (int)count + 2);
    if (whole && memcmp(stored, expected, SEAL_BYTES) == 0) {
        status = graph_place_read(where, ar, query_get_text(q, (int)count + 3));
        if (status != UAR_OK) error_set(err, status, "the place of a graph row can't be read");
        return status;
    }
    if (q->code != SQLITE_OK) return error_plain(err, UAR_E_NOMEM); /* a column could not be had */
    char id[UAR_UUID_TEXT];
    uar_uuid_format(id, cells[0].id);
    return error_set(err, UAR_E_CORRUPT, "graph row %s doesn't match its checksum", id);
}

static void bind_cell(query *q, int at, const cell *c) {
    switch (c->type) {
    case CELL_NUMBER: query_int(q, at, c->number); break;
    case CELL_ID: query_uuid(q, at, c->id); break;
    case CELL_TEXT: query_text(q, at, c->text); break;
    case CELL_BYTES: query_blob(q, at, c->text.ptr, c->text.len); break;
    }
}

static uar_status put_row(database *db, sql_id sql, graph_row *row, const cell *cells, size_t count, uar_error *err) {
    assert(count <= CELLS_MAX);
    uint8_t sum[SEAL_BYTES];
    uar_status status = checksum(sum, cells, count);
    if (status != UAR_OK) return error_plain(err, status);
    query q;
    query_begin(&q, db, sql);
    if (row->num != 0) query_int(&q, 1, row->num);
    query_blob(&q, 2, row->mark, MARK_BYTES);
    for (size_t i = 0; i < count; i++)
        bind_cell(&q, (int)i + 3, &cells[i]);
    query_blob(&q, (int)count + 3, sum, sizeof sum);
    status = query_run(&q, err);
    if (status == UAR_OK && row->num == 0) row->num = sqlite3_last_insert_rowid(db->handle);
    return status;
}

static uar_status join_aliases(uar_str *out, const uar_memory_entity *e, arena *ar) {
    buffer joined;
    buffer_init(&joined, ar->alloc, ROW_MAX);
    for (size_t i = 0; i < e->alias_count; i++) {
        if (i != 0) buffer_append_char(&joined, ALIAS_SEPARATOR);
        buffer_append_str(&joined, e->aliases[i]);
    }
    uar_status status = joined.status;
    if (status == UAR_OK) *out = arena_str(ar, buffer_str(&joined));
    buffer_dispose(&joined);
    return status == UAR_OK && out->ptr == NULL ? UAR_E_NOMEM : status;
}

static uar_status split_aliases(uar_memory_entity *e, uar_str joined, arena *ar) {
    e->aliases = NULL;
    e->alias_count = 0;
    if (joined.len == 0) return UAR_OK;
    size_t count = 1;
    for (size_t i = 0; i < joined.len; i++)
        count += joined.ptr[i] == ALIAS_SEPARATOR;
    uar_str *list = (uar_str *)arena_zeroed(ar, count, sizeof *list);
    if (list == NULL) return UAR_E_NOMEM;
    size_t from = 0;
    for (size_t i = 0, n = 0; i <= joined.len; i++) {
        if (i < joined.len && joined.ptr[i] != ALIAS_SEPARATOR) continue;
        list[n++] = uar_str_n(joined.ptr + from, i - from);
        from = i + 1;
    }
    e->aliases = list;
    e->alias_count = count;
    return UAR_OK;
}

enum { ENTITY_CELLS = 13, RELATION_CELLS = 16, OBSERVATION_CELLS = 16 };

static void entity_cells(cell *cells, const entity *e, uar_str aliases) {
    const cell list[ENTITY_CELLS] = { id_cell(e->e.id),
                                      number_cell(e->row.seg),
                                      text_cell(e->e.name),
                                      text_cell(e->e.kind),
                                      number_cell(e->kind_digest),
                                      text_cell(aliases),
                                      text_cell(e->e.properties),
                                      number_cell((int64_t)e->e.trust),
                                      number_cell(e->e.created_ms),
                                      number_cell(e->e.updated_ms),
                                      number_cell((int64_t)e->e.revision),
                                      bytes_cell(e->terms),
                                      number_cell((int64_t)e->length) };
    memcpy(cells, list, sizeof list);
}

uar_status entity_read(entity *out, query *q, arena *ar, uar_error *err) {
    entity e;
    memset(&e, 0, sizeof e);
    cell c[ENTITY_CELLS];
    entity_cells(c, &e, uar_str_n(NULL, 0));
    uar_status status = read_row(&e.row, c, ENTITY_CELLS, &e.e.place, q, ar, err);
    if (status != UAR_OK) return status;
    e.e.id = c[0].id;
    e.e.name = c[2].text;
    e.e.kind = c[3].text;
    e.kind_digest = c[4].number;
    e.e.properties = c[6].text;
    e.e.trust = (uar_memory_trust)c[7].number;
    e.e.created_ms = c[8].number;
    e.e.updated_ms = c[9].number;
    e.e.revision = (uint64_t)c[10].number;
    e.terms = c[11].text;
    e.length = (uint32_t)c[12].number;
    status = split_aliases(&e.e, c[5].text, ar);
    if (status != UAR_OK) return error_plain(err, status);
    *out = e;
    return UAR_OK;
}

static void relation_cells(cell *cells, const relation *r) {
    const cell list[RELATION_CELLS] = { id_cell(r->r.id),
                                        number_cell(r->row.seg),
                                        number_cell(r->source),
                                        number_cell(r->target),
                                        text_cell(r->r.type),
                                        number_cell(r->digest),
                                        text_cell(r->r.properties),
                                        number_cell((int64_t)r->r.trust),
                                        id_cell(r->r.provenance.run),
                                        number_cell((int64_t)r->r.provenance.event),
                                        text_cell(r->r.provenance.session),
                                        number_cell(r->r.created_ms),
                                        number_cell(r->r.updated_ms),
                                        number_cell(r->r.valid_from_ms),
                                        number_cell(r->r.valid_until_ms),
                                        number_cell((int64_t)r->r.revision) };
    memcpy(cells, list, sizeof list);
}

uar_status relation_read(relation *out, query *q, arena *ar, uar_error *err) {
    relation r;
    memset(&r, 0, sizeof r);
    cell c[RELATION_CELLS];
    relation_cells(c, &r);
    uar_status status = read_row(&r.row, c, RELATION_CELLS, &r.r.place, q, ar, err);
    if (status != UAR_OK) return status;
    r.r.id = c[0].id;
    r.source = c[2].number;
    r.target = c[3].number;
    r.r.type = c[4].text;
    r.digest = c[5].number;
    r.r.properties = c[6].text;
    r.r.trust = (uar_memory_trust)c[7].number;
    r.r.provenance = (uar_memory_provenance){ c[8].id, (uint64_t)c[9].number, c[10].text };
    r.r.created_ms = c[11].number;
    r.r.updated_ms = c[12].number;
    r.r.valid_from_ms = c[13].number;
    r.r.valid_until_ms = c[14].number;
    r.r.revision = (uint64_t)c[15].number;
    r.r.from = query_get_uuid(q, RELATION_CELLS + 4);
    r.r.to = query_get_uuid(q, RELATION_CELLS + 6);
    status = query_copy_text(&r.r.from_name, q, RELATION_CELLS + 5, ar);
    if (status == UAR_OK) status = query_copy_text(&r.r.to_name, q, RELATION_CELLS + 7, ar);
    if (status != UAR_OK) return error_plain(err, status);
    *out = r;
    return UAR_OK;
}

static void observation_cells(cell *cells, const observation *o) {
    const cell list[OBSERVATION_CELLS] = { id_cell(o->o.id),
                                           number_cell(o->row.seg),
                                           number_cell(o->entity),
                                           text_cell(o->o.text),
                                           number_cell(o->digest),
                                           number_cell((int64_t)o->o.trust),
                                           id_cell(o->o.provenance.run),
                                           number_cell((int64_t)o->o.provenance.event),
                                           text_cell(o->o.provenance.session),
                                           number_cell(o->o.created_ms),
                                           number_cell(o->o.updated_ms),
                                           number_cell(o->o.valid_from_ms),
                                           number_cell(o->o.valid_until_ms),
                                           number_cell((int64_t)o->o.revision),
                                           bytes_cell(o->terms),
                                           number_cell((int64_t)o->length) };
    memcpy(cells, list, sizeof list);
}

uar_status observation_read(observation *out, query *q, arena *ar, uar_error *err) {
    observation o;
    memset(&o, 0, sizeof o);
    cell c[OBSERVATION_CELLS];
    observation_cells(c, &o);
    uar_status status = read_row(&o.row, c, OBSERVATION_CELLS, &o.o.place, q, ar, err);
    if (status != UAR_OK) return status;
    o.o.id = c[0].id;
    o.entity = c[2].number;
    o.o.text = c[3].text;
    o.digest = c[4].number;
    o.o.trust = (uar_memory_trust)c[5].number;
    o.o.provenance = (uar_memory_provenance){ c[6].id, (uint64_t)c[7].number, c[8].text };
    o.o.created_ms = c[9].number;
    o.o.updated_ms = c[10].number;
    o.o.valid_from_ms = c[11].number;
    o.o.valid_until_ms = c[12].number;
    o.o.revision = (uint64_t)c[13].number;
    o.terms = c[14].text;
    o.length = (uint32_t)c[15].number;
    o.o.entity = query_get_uuid(q, OBSERVATION_CELLS + 4);
    *out = o;
    return UAR_OK;
}

/* One row of a statement, then its end. */
#define READ_FIRST(type, what)                                                                            \
    static uar_status type##_first(type *out, query *q, arena *ar, uar_error *err) {                      \
        uar_status status = UAR_OK;                                                                       \
        bool found = query_next(q);                                                                       \
        if (found) status = type##_read(out, q, ar, err);                                                 \
        uar_status end = query_end(q, status == UAR_OK ? err : NULL);                                     \
        if (status == UAR_OK) status = end;                                                               \
        if (status == UAR_OK && !found) return error_set(err, UAR_E_NOT_FOUND, "there is no such " what); \
        return status;                                                                                    \
    }
READ_FIRST(entity, "entity")
READ_FIRST(relation, "relation")
READ_FIRST(observation, "observation")
#undef READ_FIRST

static void begin_by_num(query *q, database *db, sql_id sql, int64_t num) {
    query_begin(q, db, sql);
    query_int(q, 18, num);
}

static void begin_by_id(query *q, database *db, sql_id sql, const caller *c, uar_uuid id) {
    query_begin(q, db, sql);
    caller_bind(q, c);
    query_uuid(q, 18, id);
}

uar_status entity_load(entity *out, database *db, int64_t num, arena *ar, uar_error *err) {
    query q;
    begin_by_num(&q, db, SQL_GRAPH_ENTITY_BY_NUM, num);
    return entity_first(out, &q, ar, err);
}

uar_status relation_load(relation *out, database *db, int64_t num, arena *ar, uar_error *err) {
    query q;
    begin_by_num(&q, db, SQL_GRAPH_RELATION_BY_NUM, num);
    return relation_first(out, &q, ar, err);
}

uar_status observation_load(observation *out, database *db, int64_t num, arena *ar, uar_error *err) {
    query q;
    begin_by_num(&q, db, SQL_GRAPH_OBSERVATION_BY_NUM, num);
    return observation_first(out, &q, ar, err);
}

uar_status entity_find(entity *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    query q;
    begin_by_id(&q, db, SQL_GRAPH_ENTITY_BY_ID, c, id);
    return entity_first(out, &q, ar, err);
}

uar_status relation_find(relation *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    query q;
    begin_by_id(&q, db, SQL_GRAPH_RELATION_BY_ID, c, id);
    return relation_first(out, &q, ar, err);
}

uar_status observation_find(observation *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    query q;
    begin_by_id(&q, db, SQL_GRAPH_OBSERVATION_BY_ID, c, id);
    return observation_first(out, &q, ar, err);
}

uar_status graph_item_find(graph_item *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    memset(out, 0, sizeof *out);
    out->kind = GRAPH_ITEM_ENTITY;
    uar_status status = entity_find(&out->entity, db, c, id, ar, NULL);
    if (status == UAR_E_NOT_FOUND) {
        out->kind = GRAPH_ITEM_RELATION;
        status = relation_find(&out->relation, db, c, id, ar, NULL);
    }
    if (status == UAR_E_NOT_FOUND) {
        out->kind = GRAPH_ITEM_OBSERVATION;
        status = observation_find(&out->observation, db, c, id, ar, NULL);
    }
    if (status == UAR_E_NOT_FOUND) return error_set(err, status, "there is no such entity, relation or observation");
    return error_plain(err, status);
}

/* Out of the index what an older state of the row put into it. */
static uar_status unindex_entity(database *db, int64_t num, arena *ar, uar_error *err) {
    if (num == 0) return UAR_OK;
    entity old;
    uar_status status = entity_load(&old, db, num, ar, err);
    if (status != UAR_OK) return status;
    graph_document d = entity_document(&old);
    return graph_postings_drop(db, &d, err);
}

uar_status entity_put(uar_memory *m, entity *e, arena *ar, uar_error *err) {
    database *db = &m->database;
    uar_str aliases = { NULL, 0 };
    buffer text;
    buffer_init(&text, &m->alloc, ROW_MAX);
    uar_status status = join_aliases(&aliases, &e->e, ar);
    if (status == UAR_OK) status = graph_entity_text(&text, &e->e);
    if (status != UAR_OK) error_plain(err, status);
    if (status == UAR_OK) status = unindex_entity(db, e->row.num, ar, err);
    if (status == UAR_OK) status = graph_terms(&e->terms, &e->length, m, buffer_str(&text), ar, err);
    buffer_dispose(&text);
    if (status != UAR_OK) return status;
    cell cells[ENTITY_CELLS];
    entity_cells(cells, e, aliases);
    status = put_row(db, SQL_GRAPH_ENTITY_PUT, &e->row, cells, ENTITY_CELLS, err);
    graph_document d = entity_document(e);
    if (status == UAR_OK) status = graph_postings_add(db, &d, err);
    return status == UAR_OK ? graph_names_put(m, e, err) : status;
}

uar_status relation_put(uar_memory *m, relation *r, uar_error *err) {
    cell cells[RELATION_CELLS];
    relation_cells(cells, r);
    return put_row(&m->database, SQL_GRAPH_RELATION_PUT, &r->row, cells, RELATION_CELLS, err);
}

uar_status observation_put(uar_memory *m, observation *o, arena *ar, uar_error *err) {
    database *db = &m->database;
    uar_status status = UAR_OK;
    if (o->row.num != 0) {
        observation old;
        status = observation_load(&old, db, o->row.num, ar, err);
        graph_document was = observation_document(&old);
        if (status == UAR_OK) status = graph_postings_drop(db, &was, err);
    }
    if (status == UAR_OK) status = graph_terms(&o->terms, &o->length, m, o->o.text, ar, err);
    if (status != UAR_OK) return status;
    cell cells[OBSERVATION_CELLS];
    observation_cells(cells, o);
    status = put_row(db, SQL_GRAPH_OBSERVATION_PUT, &o->row, cells, OBSERVATION_CELLS, err);
    graph_document d = observation_document(o);
    return status == UAR_OK ? graph_postings_add(db, &d, err) : status;
}

/* A tombstone without content stays. */
static uar_status drop_row(uar_memory *m, sql_id sql, const graph_row *row, uar_uuid id, uar_error *err) {
    database *db = &m->database;
    uar_status status = erase_note(db, row->mark, err);
    if (status == UAR_OK) status = graph_run(db, sql, row->num, 0, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, db, SQL_TOMBSTONE_ADD);
    query_uuid(&q, 18, id);
    query_int(&q, 19, row->seg);
    query_int(&q, 20, clock_wall(&m->clock));
    return query_run(&q, err);
}

uar_status entity_drop(uar_memory *m, const entity *e, uar_error *err) {
    graph_document d = entity_document(e);
    uar_status status = graph_postings_drop(&m->database, &d, err);
    if (status == UAR_OK) status = graph_run(&m->database, SQL_GRAPH_NAME_DROP, e->row.num, 0, err);
    return status == UAR_OK ? drop_row(m, SQL_GRAPH_ENTITY_DELETE, &e->row, e->e.id, err) : status;
}

uar_status relation_drop(uar_memory *m, const relation *r, uar_error *err) {
    return drop_row(m, SQL_GRAPH_RELATION_DELETE, &r->row, r->r.id, err);
}

uar_status observation_drop(uar_memory *m, const observation *o, uar_error *err) {
    graph_document d = observation_document(o);
    uar_status status = graph_postings_drop(&m->database, &d, err);
    return status == UAR_OK ? drop_row(m, SQL_GRAPH_OBSERVATION_DELETE, &o->row, o->o.id, err) : status;
}

uar_status graph_row_new(graph_row *row, uar_uuid *id, const uar_memory *m, uar_error *err) {
    memset(row, 0, sizeof *row);
    uar_status status = seal_mark(row->mark, &m->random, err);
    if (status != UAR_OK) return status;
    status = uuid_make(id, &m->clock, &m->random);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

uar_status graph_run(database *db, sql_id id, int64_t a, int64_t b, uar_error *err) {
    query q;
    query_begin(&q, db, id);
    query_int(&q, 18, a);
    if (sqlite3_bind_parameter_count(q.statement) >= 19) query_int(&q, 19, b);
    return query_run(&q, err);
}
