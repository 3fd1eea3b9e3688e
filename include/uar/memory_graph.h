/*
 * uar/memory_graph.h: the knowledge graph of a memory: entities, how they are related, what was observed about them.
 *
 * It lies in the memory's own file. Entities, relations and observations have a scope each and are seen like records (see
 * uar/memory.h); a relation is seen by who sees it and both of its ends, an observation by who sees it and its entity. What
 * is not visible answers UAR_E_NOT_FOUND. Writing, changing and deleting what is of global or agent scope needs
 * UAR_IDENTITY_WRITE_SHARED, else UAR_E_FORBIDDEN.
 *
 * Names, kinds and types are compared with case and width folded and white space normalised. Relations and observations hold
 * from a time until a time; reads show what holds now, or at `as_of_ms`.
 *
 * The rules of uar/memory.h on threads, results, statuses and times are those of this header too. All texts that go in are
 * valid UTF-8 without U+0000 (UAR_E_UTF8, UAR_E_INVALID), of limited length (UAR_E_TOO_LARGE), and borrowed for the call.
 * Since 0.1.
 */
#ifndef UAR_MEMORY_GRAPH_H
#define UAR_MEMORY_GRAPH_H

#include <uar/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where something lies: its scope and the ids that the scope names. In a draft what is absent comes from the identity, and
 *  only an operator may name another id (else UAR_E_FORBIDDEN). */
typedef struct uar_memory_place {
    uar_memory_scope scope; /**< who shares it. In a draft 0: see there */
    uar_str owner;          /**< tenant. In a draft absent, or the caller's */
    uar_str user;           /**< user, or absent */
    uar_str agent;          /**< agent, or absent */
    uar_str session;        /**< session, or absent */
    uar_str task;           /**< task, or absent */
} uar_memory_place;

/** Which way a relation is walked. */
typedef enum uar_memory_direction {
    UAR_MEMORY_DIRECTION_BOTH = 0, /**< either way */
    UAR_MEMORY_DIRECTION_OUT = 1,  /**< from its start to its end */
    UAR_MEMORY_DIRECTION_IN = 2    /**< from its end to its start */
} uar_memory_direction;

/** Something that has a name. */
typedef struct uar_memory_entity {
    uar_uuid id;            /**< never changes */
    uar_str name;           /**< 1–256 bytes */
    uar_str kind;           /**< what it is, such as "person"; 0–256 bytes */
    const uar_str *aliases; /**< other names */
    size_t alias_count;     /**< how many, at most 64 */
    uar_str properties;     /**< a JSON object */
    uar_memory_place place; /**< where it lies */
    uar_memory_trust trust; /**< who wrote it: the least trusted who changed it */
    int64_t created_ms;     /**< when it was first written */
    int64_t updated_ms;     /**< last change */
    uint64_t revision;      /**< 1 on creation, then +1 a change */
} uar_memory_entity;

/** That one entity stands to another in some way. */
typedef struct uar_memory_relation {
    uar_uuid id;                      /**< never changes */
    uar_uuid from;                    /**< entity where it starts */
    uar_uuid to;                      /**< entity where it ends; never the same */
    uar_str from_name;                /**< name of that entity */
    uar_str to_name;                  /**< name of that entity */
    uar_str type;                     /**< such as "works at"; 1–256 bytes */
    uar_str properties;               /**< a JSON object */
    uar_memory_place place;           /**< where it lies */
    uar_memory_trust trust;           /**< who wrote it */
    uar_memory_provenance provenance; /**< where it came from */
    int64_t created_ms;               /**< when it was first written */
    int64_t updated_ms;               /**< last change */
    int64_t valid_from_ms;            /**< from when it holds */
    int64_t valid_until_ms;           /**< until when; UAR_MEMORY_OPEN_END: open */
    uint64_t revision;                /**< 1 on creation, then +1 a change */
} uar_memory_relation;

/** What is known of an entity, in words. */
typedef struct uar_memory_observation {
    uar_uuid id;                      /**< never changes */
    uar_uuid entity;                  /**< the entity */
    uar_str text;                     /**< 1 byte to 64 KiB */
    uar_memory_place place;           /**< where it lies */
    uar_memory_trust trust;           /**< who wrote it */
    uar_memory_provenance provenance; /**< where it came from */
    int64_t created_ms;               /**< when it was first written */
    int64_t updated_ms;               /**< last change */
    int64_t valid_from_ms;            /**< from when it holds */
    int64_t valid_until_ms;           /**< until when; UAR_MEMORY_OPEN_END: open */
    uint64_t revision;                /**< 1 on creation, then +1 a change */
} uar_memory_observation;

/** An entity to write. */
typedef struct uar_memory_entity_draft {
    size_t size;             /**< sizeof(uar_memory_entity_draft) */
    uar_str name;            /**< 1–256 bytes, not blank */
    uar_str kind;            /**< at most 256 bytes; absent: none */
    const uar_str *aliases;  /**< other names, each like `name` */
    size_t alias_count;      /**< at most 64 */
    uar_str properties;      /**< a JSON object of at most 64 KiB; absent: nothing to add */
    bool replace_properties; /**< true: these are all properties; false: they are put over those there */
    uar_memory_place place;  /**< scope 0: user */
    uar_memory_trust trust;  /**< 0: user */
} uar_memory_entity_draft;
/** Head of a uar_memory_entity_draft. */
#define UAR_MEMORY_ENTITY_DRAFT_INIT sizeof(uar_memory_entity_draft)
/** The twin of UAR_MEMORY_ENTITY_DRAFT_INIT. */
static inline void uar_memory_entity_draft_init(uar_memory_entity_draft *draft) {
    memset(draft, 0, sizeof *draft);
    draft->size = sizeof *draft;
}

/** A relation to write. */
typedef struct uar_memory_relation_draft {
    size_t size;                      /**< sizeof(uar_memory_relation_draft) */
    uar_uuid from;                    /**< entity where it starts */
    uar_uuid to;                      /**< entity where it ends, another one */
    uar_str type;                     /**< 1–256 bytes, not blank */
    uar_str properties;               /**< a JSON object of at most 64 KiB; absent: nothing to add */
    uar_memory_place place;           /**< scope 0: where the end of narrower scope lies */
    uar_memory_trust trust;           /**< 0: user */
    uar_memory_provenance provenance; /**< where it comes from */
    int64_t valid_from_ms;            /**< above INT64_MIN; 0: now */
    int64_t valid_until_ms;           /**< 0: open */
} uar_memory_relation_draft;
/** Head of a uar_memory_relation_draft. */
#define UAR_MEMORY_RELATION_DRAFT_INIT sizeof(uar_memory_relation_draft)
/** The twin of UAR_MEMORY_RELATION_DRAFT_INIT. */
static inline void uar_memory_relation_draft_init(uar_memory_relation_draft *draft) {
    memset(draft, 0, sizeof *draft);
    draft->size = sizeof *draft;
}

/** An observation to write. */
typedef struct uar_memory_observation_draft {
    size_t size;                      /**< sizeof(uar_memory_observation_draft) */
    uar_uuid entity;                  /**< the entity */
    uar_str text;                     /**< 1 byte to 64 KiB, not blank */
    uar_memory_place place;           /**< scope 0: where the entity lies */
    uar_memory_trust trust;           /**< 0: user */
    uar_memory_provenance provenance; /**< where it comes from */
    int64_t valid_from_ms;            /**< above INT64_MIN; 0: now */
    int64_t valid_until_ms;           /**< 0: open */
} uar_memory_observation_draft;
/** Head of a uar_memory_observation_draft. */
#define UAR_MEMORY_OBSERVATION_DRAFT_INIT sizeof(uar_memory_observation_draft)
/** The twin of UAR_MEMORY_OBSERVATION_DRAFT_INIT. */
static inline void uar_memory_observation_draft_init(uar_memory_observation_draft *draft) {
    memset(draft, 0, sizeof *draft);
    draft->size = sizeof *draft;
}

/** What of the graph is read. What is absent or 0 is no condition; each call names those that it heeds. */
typedef struct uar_memory_graph_filter {
    size_t size;                    /**< sizeof(uar_memory_graph_filter) */
    uint32_t scopes;                /**< or of 1u << scope */
    uar_str kind;                   /**< entities of this kind */
    uar_str type;                   /**< relations of this type */
    uar_memory_direction direction; /**< relations that are walked this way */
    int64_t as_of_ms;               /**< what held at this time; 0: now */
    bool include_past;              /**< at any time */
    uint32_t max_length;            /**< paths: relations on a path, 1–6; 0: 4 */
    uint32_t max_visited;           /**< paths: steps of the search, 1–1,000,000; 0: 20,000 */
} uar_memory_graph_filter;
/** Head of a uar_memory_graph_filter. */
#define UAR_MEMORY_GRAPH_FILTER_INIT sizeof(uar_memory_graph_filter)
/** The twin of UAR_MEMORY_GRAPH_FILTER_INIT. */
static inline void uar_memory_graph_filter_init(uar_memory_graph_filter *filter) {
    memset(filter, 0, sizeof *filter);
    filter->size = sizeof *filter;
}

/** A part of the graph. Each list is in the order of writing. */
typedef struct uar_memory_graph {
    const uar_memory_entity *entities;          /**< entities */
    size_t entity_count;                        /**< how many */
    const uar_memory_relation *relations;       /**< relations */
    size_t relation_count;                      /**< how many */
    const uar_memory_observation *observations; /**< observations */
    size_t observation_count;                   /**< how many */
    uar_str cursor;                             /**< pass it to get the next page; absent on the last one */
} uar_memory_graph;

/** One step of a path. */
typedef struct uar_memory_step {
    const uar_memory_relation *relation; /**< the relation */
    bool forward;                        /**< true: walked from its start to its end */
} uar_memory_step;

/** A way from one entity to another that passes none twice. */
typedef struct uar_memory_path {
    const uar_memory_step *steps; /**< in order; none if both entities are the same */
    size_t length;                /**< how many */
} uar_memory_path;

/** Ways from one entity to another, the shortest first. */
typedef struct uar_memory_paths {
    const uar_memory_path *paths; /**< the paths */
    size_t count;                 /**< how many */
    bool truncated;               /**< a bound (`max_visited`, the limit) was met: there may be more */
    uint64_t visited;             /**< steps of the search */
} uar_memory_paths;

/** An entity that a search found. */
typedef struct uar_memory_entity_hit {
    uar_memory_entity entity; /**< the entity */
    double score;             /**< 0 to 1: share of the question's words, weighted by their rarity */
    uar_memory_observation
        observation; /**< the observation with its rarest word; its `id` is none if only names matched */
} uar_memory_entity_hit;

/** Answer of a search in the graph. */
typedef struct uar_memory_entity_hits {
    uar_str query;                     /**< the question */
    const uar_memory_entity_hit *hits; /**< best first */
    size_t count;                      /**< how many */
} uar_memory_entity_hits;

/** How much there is. */
typedef struct uar_memory_graph_stats {
    uint64_t entities;     /**< visible entities */
    uint64_t relations;    /**< visible relations that hold now */
    uint64_t observations; /**< visible observations that hold now */
    uint64_t links;        /**< links of which both ends are visible */
    uint64_t by_scope[6];  /**< entities by uar_memory_scope; index 0 is unused */
} uar_memory_graph_stats;

/** What an import did. */
typedef struct uar_memory_graph_imported {
    uint64_t entities;     /**< new entities */
    uint64_t relations;    /**< new relations */
    uint64_t observations; /**< new observations */
    uint64_t links;        /**< new links */
    uint64_t repeated;     /**< what was there before, or was merged into it */
    uint64_t failed;       /**< lines of which something was refused */
} uar_memory_graph_imported;

/**
 * Write an entity. The same name (or an alias) and kind in one place is the same entity: aliases are kept, properties put
 * over those there, the outcome is `updated`, or `reinforced` if nothing was new. UAR_E_FORBIDDEN. UAR_E_TOO_LARGE: also if
 * the whole would have too many aliases or properties. UAR_E_JSON names what is wrong with the properties.
 */
UAR_API uar_status uar_memory_graph_put_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                             const uar_memory_entity_draft *draft, uar_error *err);
/**
 * Write a relation. Times of the same relation (ends, type and place) that meet become one: then the outcome is `updated`, or
 * `reinforced` if nothing was new. UAR_E_NOT_FOUND: an end; UAR_E_INVALID: both are one; UAR_E_FORBIDDEN.
 */
UAR_API uar_status uar_memory_graph_relate_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                                const uar_memory_relation_draft *draft, uar_error *err);
/** Write an observation. The same text on one entity in one place is the same observation while its times meet.
 *  UAR_E_NOT_FOUND: the entity; UAR_E_FORBIDDEN. */
UAR_API uar_status uar_memory_graph_observe_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                                 const uar_memory_observation_draft *draft, uar_error *err);
/** End a relation or an observation at a time (0: now); it stays and can be read as of earlier times. One that ends earlier
 *  keeps its end. UAR_E_NOT_FOUND, UAR_E_FORBIDDEN; UAR_E_INVALID: it would end before it begins, or it is an entity. */
UAR_API uar_status uar_memory_graph_end_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                             uar_uuid id, int64_t at_ms, uar_error *err);
/** Erase an entity with all of its relations, observations and links (whoever wrote them), or one relation or observation.
 *  The outcome says whether the bytes have left the file, as in uar_memory_delete_sync. UAR_E_NOT_FOUND, UAR_E_FORBIDDEN. */
UAR_API uar_status uar_memory_graph_delete_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                                uar_uuid id, uar_error *err);
/** Give an entity another name; the old one becomes an alias. UAR_E_NOT_FOUND, UAR_E_FORBIDDEN; UAR_E_EXISTS: another entity
 *  of this kind and place has the name: merge them. */
UAR_API uar_status uar_memory_graph_rename_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                                uar_uuid id, uar_str name, uar_error *err);
/**
 * Merge the entity `from` into the entity `into` of the same place: names become aliases; of a property that both have
 * `into`'s stays; relations, observations and links move, doubles become one, relations between the two go. The id of `from`
 * stands for `into` from then on. UAR_E_NOT_FOUND, UAR_E_FORBIDDEN; UAR_E_INVALID: other places, or one entity;
 * UAR_E_TOO_LARGE: too many aliases or properties.
 */
UAR_API uar_status uar_memory_graph_merge_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                               uar_uuid into, uar_uuid from, uar_error *err);

/** One entity. UAR_E_NOT_FOUND. */
UAR_API uar_status uar_memory_graph_get_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who,
                                             uar_uuid id, uar_error *err);
/** Entities with this name or alias, those by name first; at most 1000. Heeds `kind`, `scopes`. `filter` may be NULL. */
UAR_API uar_status uar_memory_graph_find_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who,
                                              uar_str name, const uar_memory_graph_filter *filter, uar_error *err);
/** Entities, at most `limit` (1–1000), behind `cursor` (absent: from the start). Heeds `kind`, `scopes`. `filter` may be
 *  NULL. */
UAR_API uar_status uar_memory_graph_entities_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who,
                                                  const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                                  uar_error *err);
/** Relations, in pages as above. Heeds `type`, `scopes`, `as_of_ms`, `include_past`. */
UAR_API uar_status uar_memory_graph_relations_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who,
                                                   const uar_memory_graph_filter *filter, uar_str cursor, size_t limit,
                                                   uar_error *err);
/** Observations of an entity (none: of all), in pages as above. Heeds `scopes`, `as_of_ms`, `include_past`.
 *  UAR_E_NOT_FOUND. */
UAR_API uar_status uar_memory_graph_observations_sync(uar_memory_graph **out, uar_memory *memory,
                                                      const uar_identity *who, uar_uuid entity,
                                                      const uar_memory_graph_filter *filter, uar_str cursor,
                                                      size_t limit, uar_error *err);
/** Relations of an entity and the entities at their other ends, in pages as above. Heeds `type`, `direction`, `scopes`,
 *  `as_of_ms`, `include_past`. UAR_E_NOT_FOUND. */
UAR_API uar_status uar_memory_graph_neighbours_sync(uar_memory_graph **out, uar_memory *memory, const uar_identity *who,
                                                    uar_uuid id, const uar_memory_graph_filter *filter, uar_str cursor,
                                                    size_t limit, uar_error *err);
/** Ways between two entities, at most `limit` (1–1000). Heeds `type`, `direction`, `scopes`, `as_of_ms`, `include_past`,
 *  `max_length`, `max_visited`. No way is an answer without paths. UAR_E_NOT_FOUND: an end. */
UAR_API uar_status uar_memory_graph_paths_sync(uar_memory_paths **out, uar_memory *memory, const uar_identity *who,
                                               uar_uuid from, uar_uuid to, const uar_memory_graph_filter *filter,
                                               size_t limit, uar_error *err);
/** Search names, aliases, kinds and observations by words. Any text is a question, at most 64 KiB; at most `limit` (1–1000)
 *  entities. Heeds `kind`, `scopes` (of the entity), `as_of_ms`, `include_past`. `filter` may be NULL. */
UAR_API uar_status uar_memory_graph_search_sync(uar_memory_entity_hits **out, uar_memory *memory,
                                                const uar_identity *who, uar_str query,
                                                const uar_memory_graph_filter *filter, size_t limit, uar_error *err);
/** Count what is visible. */
UAR_API uar_status uar_memory_graph_stats_sync(uar_memory_graph_stats *out, uar_memory *memory, const uar_identity *who,
                                               uar_error *err);

/** Link a record to an entity; a link is seen by who sees both. The outcome is `added` or `reinforced`. UAR_E_NOT_FOUND;
 *  UAR_E_FORBIDDEN: who may write the one of narrower scope may link. Deleting either end takes the link. */
UAR_API uar_status uar_memory_graph_link_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                              uar_uuid record, uar_uuid entity, uar_error *err);
/** Take a link away; the outcome is `erased`. UAR_E_NOT_FOUND: also if there is no such link; UAR_E_FORBIDDEN. */
UAR_API uar_status uar_memory_graph_unlink_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                                uar_uuid record, uar_uuid entity, uar_error *err);
/** Entities that a record is linked to, in pages. UAR_E_NOT_FOUND. */
UAR_API uar_status uar_memory_graph_entities_of_sync(uar_memory_graph **out, uar_memory *memory,
                                                     const uar_identity *who, uar_uuid record, uar_str cursor,
                                                     size_t limit, uar_error *err);
/** Records that an entity is linked to, in their current version, oldest write first, in pages. UAR_E_NOT_FOUND. */
UAR_API uar_status uar_memory_graph_records_of_sync(uar_memory_records **out, uar_memory *memory,
                                                    const uar_identity *who, uar_uuid entity, uar_str cursor,
                                                    size_t limit, uar_error *err);

/** Write all that is visible as lines of JSON (`"v":1`), lossless: entities, merged ids, observations, relations, links. */
UAR_API uar_status uar_memory_graph_export_sync(uar_memory *memory, const uar_identity *who, uar_memory_write_fn write,
                                                void *ctx, uar_error *err);
/**
 * Read lines of an export, or of the official MCP memory server's file (`{"type":"entity",…}`, `{"type":"relation",…}`); all
 * entities first, then the rest, many lines a transaction. A line that is refused changes nothing, is reported and doesn't
 * stop the others: a relation with an unknown name, for one. `place` is for lines that name none; NULL: the user's. `failed`
 * may be NULL.
 */
UAR_API uar_status uar_memory_graph_import_sync(uar_memory_graph_imported *out, uar_memory *memory,
                                                const uar_identity *who, uar_str lines, const uar_memory_place *place,
                                                uar_memory_line_fn failed, void *ctx, uar_error *err);

/** Free a part of the graph; NULL is accepted. Any thread. */
UAR_API void uar_memory_graph_free(uar_memory_graph *graph);
/** Free paths; NULL is accepted. Any thread. */
UAR_API void uar_memory_paths_free(uar_memory_paths *paths);
/** Free hits; NULL is accepted. Any thread. */
UAR_API void uar_memory_entity_hits_free(uar_memory_entity_hits *hits);

/** Write an entity as one JSON object. `allocator` NULL: malloc. Any thread. */
UAR_API uar_status uar_memory_entity_json(const uar_memory_entity *entity, const uar_allocator *allocator,
                                          uar_memory_write_fn write, void *ctx);
/** Write a relation as one JSON object. `allocator` NULL: malloc. Any thread. */
UAR_API uar_status uar_memory_relation_json(const uar_memory_relation *relation, const uar_allocator *allocator,
                                            uar_memory_write_fn write, void *ctx);
/** Write an observation as one JSON object. `allocator` NULL: malloc. Any thread. */
UAR_API uar_status uar_memory_observation_json(const uar_memory_observation *observation,
                                               const uar_allocator *allocator, uar_memory_write_fn write, void *ctx);
/** Write a part of the graph as one JSON object {entities, relations, observations, cursor}. `allocator` NULL: malloc. Any
 *  thread. */
UAR_API uar_status uar_memory_graph_json(const uar_memory_graph *graph, const uar_allocator *allocator,
                                         uar_memory_write_fn write, void *ctx);
/** Write paths as one JSON object {paths: [{length, steps: [{forward, relation…}]}], truncated, visited}. `allocator` NULL:
 *  malloc. Any thread. */
UAR_API uar_status uar_memory_paths_json(const uar_memory_paths *paths, const uar_allocator *allocator,
                                         uar_memory_write_fn write, void *ctx);
/** Write hits as one JSON object {query, hits: [{entity…, score, observation}]}. `allocator` NULL: malloc. Any thread. */
UAR_API uar_status uar_memory_entity_hits_json(const uar_memory_entity_hits *hits, const uar_allocator *allocator,
                                               uar_memory_write_fn write, void *ctx);
/** Write counts as one JSON object {entities, relations, observations, links, by_scope}. `allocator` NULL: malloc. Any
 *  thread. */
UAR_API uar_status uar_memory_graph_stats_json(const uar_memory_graph_stats *stats, const uar_allocator *allocator,
                                               uar_memory_write_fn write, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
