/*
 * The knowledge graph inside the store: its rows, their names and terms, and the steps that public calls are made of. All
 * of it runs under the memory's lock, inside the transaction of the public call.
 */
#ifndef UAR_LIB_MEMORY_GRAPH_H
#define UAR_LIB_MEMORY_GRAPH_H

#include <uar/memory_graph.h>

#include "memory/caller.h"
#include "memory/service.h"
#include "memory/version.h"

/* Longest name, kind and type, in bytes. */
#define GRAPH_NAME_MAX ((size_t)256)
#define GRAPH_ALIASES_MAX 64
#define GRAPH_PROPERTIES_MAX ((size_t)64 * 1024)

/* What all rows have. */
typedef struct graph_row {
    int64_t num; /* 0: none yet */
    int64_t seg;
    uint8_t mark[MARK_BYTES]; /* random; stays as long as the row lives */
} graph_row;

typedef struct entity {
    graph_row row;
    uar_memory_entity e;
    int64_t kind_digest;
    uar_str terms; /* packed terms in the index */
    uint32_t length;
} entity;

typedef struct relation {
    graph_row row;
    uar_memory_relation r;
    int64_t source, target; /* rows of the entities */
    int64_t digest;         /* keyed number of the folded type */
} relation;

typedef struct observation {
    graph_row row;
    uar_memory_observation o;
    int64_t entity;
    int64_t digest; /* keyed number of the folded text */
    uar_str terms;
    uint32_t length;
} observation;

/* Read the row that the query stands on; texts are copied into the arena. UAR_E_CORRUPT names the row. */
uar_status entity_read(entity *out, query *q, arena *ar, uar_error *err);
uar_status relation_read(relation *out, query *q, arena *ar, uar_error *err);
uar_status observation_read(observation *out, query *q, arena *ar, uar_error *err);

/* The row of a number, whoever may see it. UAR_E_NOT_FOUND. */
uar_status entity_load(entity *out, database *db, int64_t num, arena *ar, uar_error *err);
uar_status relation_load(relation *out, database *db, int64_t num, arena *ar, uar_error *err);
uar_status observation_load(observation *out, database *db, int64_t num, arena *ar, uar_error *err);

/* The row of an id, if the caller sees it. A merged entity's id gives the entity that it went into. UAR_E_NOT_FOUND. */
uar_status entity_find(entity *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err);
uar_status relation_find(relation *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err);
uar_status observation_find(observation *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err);

/* Whatever an id names. */
typedef struct graph_item {
    enum { GRAPH_ITEM_ENTITY, GRAPH_ITEM_RELATION, GRAPH_ITEM_OBSERVATION } kind;
    struct entity entity;
    struct relation relation;
    struct observation observation;
} graph_item;
uar_status graph_item_find(graph_item *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err);

/* Seal and write, as a new row if `num` is 0 (it is set then); index entries are written anew. */
uar_status entity_put(uar_memory *m, entity *e, arena *ar, uar_error *err);
uar_status relation_put(uar_memory *m, relation *r, uar_error *err);
uar_status observation_put(uar_memory *m, observation *o, arena *ar, uar_error *err);
/* Erase the row and its index entries; its mark waits for the clean-up. */
uar_status entity_drop(uar_memory *m, const entity *e, uar_error *err);
uar_status relation_drop(uar_memory *m, const relation *r, uar_error *err);
uar_status observation_drop(uar_memory *m, const observation *o, uar_error *err);

/* A new id and mark. */
uar_status graph_row_new(graph_row *row, uar_uuid *id, const uar_memory *m, uar_error *err);

/* Keyed number of a folded text. UAR_E_NOMEM. */
uar_status graph_digest(int64_t *out, const uar_memory *m, uar_str text, uar_error *err);
/* The numbers of an entity's name and aliases. */
uar_status graph_names_put(uar_memory *m, const entity *e, uar_error *err);
/* Whether exactly these are stored. */
uar_status graph_names_check(uar_memory *m, const entity *e, uar_error *err);

/* Terms of the text, packed into the arena, and its length. */
uar_status graph_terms(uar_str *terms, uint32_t *length, const uar_memory *m, uar_str text, arena *ar, uar_error *err);
/* The text by which an entity is found. */
uar_status graph_entity_text(buffer *out, const uar_memory_entity *e);
/* Index entries of one document: an observation's number, or 0 for the entity's names. */
typedef struct graph_document {
    int64_t seg, entity, document;
    uar_str terms;
    uint32_t length;
} graph_document;
uar_status graph_postings_add(database *db, const graph_document *d, uar_error *err);
uar_status graph_postings_drop(database *db, const graph_document *d, uar_error *err);
graph_document entity_document(const entity *e);
graph_document observation_document(const observation *o);

/* Where a draft goes. */
typedef struct graph_target {
    uar_memory_place place; /* whole */
    segment_key key;
} graph_target;
/* Fill in a draft's place from the identity; scope 0 becomes `fallback`. UAR_E_INVALID, UAR_E_FORBIDDEN. */
uar_status graph_target_of(graph_target *out, const caller *c, const uar_memory_place *given, uar_memory_scope fallback,
                           uar_error *err);
/* The place that a segment's key names; texts live in the arena. UAR_E_CORRUPT, UAR_E_NOMEM. */
uar_status graph_place_read(uar_memory_place *out, arena *ar, uar_str key);

/* Checks of what comes in. */
uar_status graph_name_check(uar_str name, const char *what, uar_error *err);
uar_status graph_kind_check(uar_str kind, uar_error *err);
uar_status graph_trust_check(uar_memory_trust *trust, uar_error *err);
uar_status graph_times_check(int64_t *from, int64_t *until, int64_t now, uar_error *err);
uar_status graph_provenance_check(const uar_memory_provenance *p, uar_error *err);
/* `have` with the members of `more` over it, at most GRAPH_PROPERTIES_MAX. */
uar_status graph_properties_merge(uar_str *out, arena *ar, uar_str have, uar_str more, uar_error *err);

/* What a read is about. */
typedef struct graph_filter {
    uar_memory_graph_filter given;
    bool has_kind, has_type;
    int64_t kind, type;
    int64_t time;
} graph_filter;
uar_status graph_filter_init(graph_filter *f, const uar_memory *m, const uar_memory_graph_filter *given,
                             uar_error *err);
/* Bind ?8–?13, as far as the statement has them. */
void graph_filter_bind(query *q, const graph_filter *f);

/* A public call that writes: `check` (may be NULL) before the transaction, `run` inside it. */
typedef struct graph_call {
    uar_status (*check)(void *ctx, uar_memory *m, const caller *c, arena *ar, uar_error *err);
    uar_status (*run)(uar_memory_change *out, void *ctx, uar_memory *m, const caller *c, arena *ar, uar_error *err);
    void *ctx;
} graph_call;
uar_status graph_write_call(uar_memory_change *out, uar_memory *memory, const uar_identity *who, const graph_call *call,
                            uar_error *err);

/* The steps of writing, inside a transaction; public calls and imports are made of them. Drafts are checked by _make. */
typedef struct entity_write {
    entity made;
    graph_target target;
    bool replace_properties;
    int64_t now;
} entity_write;
uar_status entity_write_make(entity_write *w, uar_memory *m, const caller *c, const uar_memory_entity_draft *given,
                             arena *ar, uar_error *err);
/* `verbatim`: a new entity gets the id, times and revision of `made`. `num` gets the row. */
uar_status entity_write_run(uar_memory_change *out, int64_t *num, uar_memory *m, entity_write *w, bool verbatim,
                            arena *ar, uar_error *err);

typedef struct relation_write {
    relation made;
    uar_memory_place given;
    int64_t now;
} relation_write;
uar_status relation_write_make(relation_write *w, uar_memory *m, const uar_memory_relation_draft *given, arena *ar,
                               uar_error *err);
uar_status relation_write_run(uar_memory_change *out, uar_memory *m, const caller *c, relation_write *w, bool verbatim,
                              arena *ar, uar_error *err);

typedef struct observation_write {
    observation made;
    uar_memory_place given;
    int64_t now;
} observation_write;
uar_status observation_write_make(observation_write *w, uar_memory *m, const uar_memory_observation_draft *given,
                                  uar_error *err);
uar_status observation_write_run(uar_memory_change *out, uar_memory *m, const caller *c, observation_write *w,
                                 bool verbatim, arena *ar, uar_error *err);

/* Put a moved or new row (num 0); where its times meet those of same ones they become one. The outcome is added, updated or
 * reinforced. */
uar_status relation_settle(uar_memory_change *out, uar_memory *m, relation *r, int64_t now, arena *ar, uar_error *err);
uar_status observation_settle(uar_memory_change *out, uar_memory *m, observation *o, int64_t now, arena *ar,
                              uar_error *err);

/* Link a visible record to a visible entity. */
uar_status graph_link(uar_memory_change *out, uar_memory *m, const caller *c, uar_uuid record, uar_uuid entity,
                      arena *ar, uar_error *err);
/* Let an id that is free stand for an entity that the caller may write. Nothing to do if it does already. */
uar_status graph_forward(uar_memory *m, const caller *c, uar_uuid id, uar_uuid entity, arena *ar, uar_error *err);
/* UAR_E_EXISTS if the id names anything of the graph. */
uar_status graph_id_free(database *db, uar_uuid id, uar_error *err);
/* One statement with numbers as ?18, ?19, ?20. */
uar_status graph_run(database *db, sql_id id, int64_t a, int64_t b, uar_error *err);

/* Rows whose numbers are collected before they change. */
typedef struct graph_nums {
    int64_t *nums;
    size_t count, cap;
} graph_nums;
/* First column of the query, which is ended. Free with graph_nums_dispose, also after a failure. */
uar_status graph_nums_collect(graph_nums *list, query *q, const uar_allocator *a, uar_error *err);
void graph_nums_dispose(graph_nums *list, const uar_allocator *a);

/* Build the index entries of all rows anew, in transactions of their own. */
uar_status graph_reindex(uar_memory *m, uar_error *err);
/* Each row against its checksum, its names and its index entries; the ends of relations. Inside a snapshot. */
uar_status graph_check(uar_memory *m, uar_error *err);

#endif
