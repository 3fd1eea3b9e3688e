/*
 * Tables and statements of the knowledge graph; part of the store that schema.h describes.
 *
 * Invariants of these tables:
 *  - each entity, relation and observation is one row with a random `mark` at both ends, which stays its own as long as the
 *    row lives: stray copies of any of its states are found by it. Text lives in these rows only.
 *  - an id names one row of the three tables, or an entity that another one was merged into (`graph_forward`).
 *  - `graph_name` holds the keyed numbers of each entity's name and aliases; one name and kind names at most one entity of a
 *    segment. `graph_posting` holds exactly the terms that the rows name; `graph_segment` counts them.
 *  - both ends of a relation and the entity of an observation exist and are of the row's owner.
 *
 * Parameters: ?1–?7 say who calls (caller_bind), ?8–?13 what is read (graph_filter_bind), ?18 and up are the statement's own.
 */
#ifndef UAR_LIB_MEMORY_GRAPH_SCHEMA_H
#define UAR_LIB_MEMORY_GRAPH_SCHEMA_H

static const char graph_schema_sql[] =
    "CREATE TABLE graph_entity(num INTEGER PRIMARY KEY AUTOINCREMENT, mark BLOB NOT NULL, id BLOB NOT NULL UNIQUE,"
    " seg INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, kind_digest INTEGER NOT NULL,"
    " aliases TEXT NOT NULL, properties TEXT NOT NULL, trust INTEGER NOT NULL, created INTEGER NOT NULL,"
    " updated INTEGER NOT NULL, revision INTEGER NOT NULL, terms BLOB NOT NULL, length INTEGER NOT NULL,"
    " checksum BLOB NOT NULL, tail BLOB NOT NULL);"
    "CREATE INDEX graph_entity_seg ON graph_entity(seg);"
    "CREATE TABLE graph_relation(num INTEGER PRIMARY KEY AUTOINCREMENT, mark BLOB NOT NULL, id BLOB NOT NULL UNIQUE,"
    " seg INTEGER NOT NULL, source INTEGER NOT NULL, target INTEGER NOT NULL, type TEXT NOT NULL,"
    " digest INTEGER NOT NULL, properties TEXT NOT NULL, trust INTEGER NOT NULL, run BLOB, event INTEGER NOT NULL,"
    " origin TEXT, created INTEGER NOT NULL, updated INTEGER NOT NULL, valid_from INTEGER NOT NULL,"
    " valid_until INTEGER NOT NULL, revision INTEGER NOT NULL, checksum BLOB NOT NULL, tail BLOB NOT NULL);"
    "CREATE INDEX graph_relation_seg ON graph_relation(seg);"
    "CREATE INDEX graph_relation_source ON graph_relation(source);"
    "CREATE INDEX graph_relation_target ON graph_relation(target);"
    "CREATE INDEX graph_relation_same ON graph_relation(source, target);"
    "CREATE TABLE graph_observation(num INTEGER PRIMARY KEY AUTOINCREMENT, mark BLOB NOT NULL,"
    " id BLOB NOT NULL UNIQUE, seg INTEGER NOT NULL, entity INTEGER NOT NULL, content TEXT NOT NULL,"
    " digest INTEGER NOT NULL, trust INTEGER NOT NULL, run BLOB, event INTEGER NOT NULL, origin TEXT,"
    " created INTEGER NOT NULL, updated INTEGER NOT NULL, valid_from INTEGER NOT NULL, valid_until INTEGER NOT NULL,"
    " revision INTEGER NOT NULL, terms BLOB NOT NULL, length INTEGER NOT NULL, checksum BLOB NOT NULL,"
    " tail BLOB NOT NULL);"
    "CREATE INDEX graph_observation_seg ON graph_observation(seg);"
    "CREATE INDEX graph_observation_entity ON graph_observation(entity);"
    "CREATE INDEX graph_observation_same ON graph_observation(entity, digest);"
    "CREATE TABLE graph_name(seg INTEGER NOT NULL, digest INTEGER NOT NULL, entity INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, is_primary INTEGER NOT NULL, PRIMARY KEY(seg, digest, entity)) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX graph_name_primary ON graph_name(seg, digest, kind) WHERE is_primary = 1;"
    "CREATE INDEX graph_name_entity ON graph_name(entity);"
    "CREATE TABLE graph_forward(id BLOB PRIMARY KEY, entity INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX graph_forward_entity ON graph_forward(entity);"
    "CREATE TABLE graph_link(entity INTEGER NOT NULL, record BLOB NOT NULL, PRIMARY KEY(entity, record)) WITHOUT ROWID;"
    "CREATE INDEX graph_link_record ON graph_link(record);"
    "CREATE TRIGGER graph_record_gone AFTER DELETE ON version WHEN OLD.current = 1"
    " BEGIN DELETE FROM graph_link WHERE record = OLD.id; END;"
    "CREATE TABLE graph_posting(seg INTEGER NOT NULL, term INTEGER NOT NULL, entity INTEGER NOT NULL,"
    " document INTEGER NOT NULL, count INTEGER NOT NULL, length INTEGER NOT NULL,"
    " PRIMARY KEY(seg, term, entity, document)) WITHOUT ROWID;"
    "CREATE TABLE graph_segment(seg INTEGER PRIMARY KEY, documents INTEGER NOT NULL, tokens INTEGER NOT NULL);";

/* In the orders that entity_read, relation_read and observation_read expect. */
#define SQL_GRAPH_ENTITY                                                                                             \
    "SELECT e.num, e.mark, e.id, e.seg, e.name, e.kind, e.kind_digest, e.aliases, e.properties, e.trust, e.created," \
    " e.updated, e.revision, e.terms, e.length, e.checksum, s.key"
#define SQL_GRAPH_RELATION                                                                                   \
    "SELECT r.num, r.mark, r.id, r.seg, r.source, r.target, r.type, r.digest, r.properties, r.trust, r.run," \
    " r.event, r.origin, r.created, r.updated, r.valid_from, r.valid_until, r.revision, r.checksum, s.key,"  \
    " f.id, f.name, t.id, t.name"
#define SQL_GRAPH_OBSERVATION                                                                              \
    "SELECT o.num, o.mark, o.id, o.seg, o.entity, o.content, o.digest, o.trust, o.run, o.event, o.origin," \
    " o.created, o.updated, o.valid_from, o.valid_until, o.revision, o.terms, o.length, o.checksum, s.key, e.id"

#define SQL_OF_ENTITY " FROM graph_entity e JOIN segment s ON s.id = e.seg "
#define SQL_OF_RELATION                                                                                      \
    " FROM graph_relation r JOIN graph_entity f ON f.num = r.source JOIN graph_entity t ON t.num = r.target" \
    " JOIN segment s ON s.id = r.seg "
#define SQL_OF_OBSERVATION \
    " FROM graph_observation o JOIN graph_entity e ON e.num = o.entity JOIN segment s ON s.id = o.seg "

/* A plus keeps SQLite from finding rows by their segment where a better way is known. */
#define SQL_SEES_ENTITY "+e.seg IN " SQL_VISIBLE
#define SQL_SEES_RELATION "+r.seg IN " SQL_VISIBLE " AND +f.seg IN " SQL_VISIBLE " AND +t.seg IN " SQL_VISIBLE
#define SQL_SEES_OBSERVATION "+o.seg IN " SQL_VISIBLE " AND +e.seg IN " SQL_VISIBLE

/* The first byte of a segment's key is the digit of its scope. */
#define SQL_IN_SCOPES " AND (?9 = 0 OR ((?9 >> CAST(CAST(substr(s.key, 1, 1) AS TEXT) AS INTEGER)) & 1) = 1)"
#define SQL_OF_KIND " AND (?8 IS NULL OR e.kind_digest = ?8)"
#define SQL_OF_TYPE " AND (?12 IS NULL OR r.digest = ?12)"
#define SQL_HOLDS(t) " AND (?10 = 1 OR (" t ".valid_from <= ?11 AND " t ".valid_until > ?11))"
#define SQL_WALKED                                                                                                    \
    " AND (?13 = 0 OR (?13 = 1 AND r.source = ?18) OR (?13 = 2 AND r.target = ?18)) AND (r.source = ?18 OR r.target " \
    "= ?18)"

/* Pages take the next rows of each segment by its index and join no more of them than a page holds: what a page costs does not
 * grow with what lies behind it. */
#define SQL_NEXT_ENTITIES                                                                                         \
    "SELECT e.num FROM graph_entity e INDEXED BY graph_entity_seg WHERE e.seg = s.id AND e.num > ?18" SQL_OF_KIND \
    " ORDER BY e.num LIMIT ?19"
/* Relations that one end of has the entity ?18, unless the direction ?13 is the other one. */
#define SQL_NEXT_NEIGHBOURS(end, other)                                                                             \
    "SELECT r.num AS num FROM graph_relation r INDEXED BY graph_relation_" end " CROSS JOIN graph_entity f ON"      \
    " f.num = r.source CROSS JOIN graph_entity t ON t.num = r.target CROSS JOIN segment s ON s.id = r.seg"          \
    " WHERE r." end " = ?18 AND r.num > ?19 AND ?13 <> " other " AND " SQL_SEES_RELATION SQL_OF_TYPE SQL_HOLDS("r") \
        SQL_IN_SCOPES

/* X(name, text). */
#define SQL_GRAPH_STATEMENTS(X)                                                                                        \
    X(GRAPH_ENTITY_PUT,                                                                                                \
      "INSERT INTO graph_entity(num, mark, id, seg, name, kind, kind_digest, aliases, properties, trust, created,"     \
      " updated, revision, terms, length, checksum, tail)"                                                             \
      " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?2) ON CONFLICT(num) DO UPDATE SET"              \
      " (seg, name, kind, kind_digest, aliases, properties, trust, created, updated, revision, terms, length,"         \
      " checksum) = (?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)")                                                  \
    X(GRAPH_RELATION_PUT,                                                                                              \
      "INSERT INTO graph_relation(num, mark, id, seg, source, target, type, digest, properties, trust, run, event,"    \
      " origin, created, updated, valid_from, valid_until, revision, checksum, tail)"                                  \
      " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?2) ON CONFLICT(num) DO UPDATE SET"  \
      " (seg, source, target, type, digest, properties, trust, run, event, origin, created, updated, valid_from,"      \
      " valid_until, revision, checksum) = (?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19)")               \
    X(GRAPH_OBSERVATION_PUT,                                                                                           \
      "INSERT INTO graph_observation(num, mark, id, seg, entity, content, digest, trust, run, event, origin, created," \
      " updated, valid_from, valid_until, revision, terms, length, checksum, tail)"                                    \
      " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?2) ON CONFLICT(num) DO UPDATE SET"  \
      " (seg, entity, content, digest, trust, run, event, origin, created, updated, valid_from, valid_until,"          \
      " revision, terms, length, checksum) = (?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19)")             \
    X(GRAPH_ENTITY_DELETE, "DELETE FROM graph_entity WHERE num = ?18")                                                 \
    X(GRAPH_RELATION_DELETE, "DELETE FROM graph_relation WHERE num = ?18")                                             \
    X(GRAPH_OBSERVATION_DELETE, "DELETE FROM graph_observation WHERE num = ?18")                                       \
    X(GRAPH_ENTITY_BY_NUM, SQL_GRAPH_ENTITY SQL_OF_ENTITY "WHERE e.num = ?18")                                         \
    X(GRAPH_RELATION_BY_NUM, SQL_GRAPH_RELATION SQL_OF_RELATION "WHERE r.num = ?18")                                   \
    X(GRAPH_OBSERVATION_BY_NUM, SQL_GRAPH_OBSERVATION SQL_OF_OBSERVATION "WHERE o.num = ?18")                          \
    X(GRAPH_ENTITY_BY_ID,                                                                                              \
      SQL_GRAPH_ENTITY SQL_OF_ENTITY "WHERE e.num = coalesce((SELECT num FROM graph_entity WHERE id = ?18),"           \
                                     " (SELECT entity FROM graph_forward WHERE id = ?18)) AND " SQL_SEES_ENTITY)       \
    X(GRAPH_RELATION_BY_ID, SQL_GRAPH_RELATION SQL_OF_RELATION "WHERE r.id = ?18 AND " SQL_SEES_RELATION)              \
    X(GRAPH_OBSERVATION_BY_ID, SQL_GRAPH_OBSERVATION SQL_OF_OBSERVATION "WHERE o.id = ?18 AND " SQL_SEES_OBSERVATION)  \
    X(GRAPH_ID_TAKEN, "SELECT 1 FROM graph_entity WHERE id = ?18 UNION ALL SELECT 1 FROM graph_relation WHERE"         \
                      " id = ?18 UNION ALL SELECT 1 FROM graph_observation WHERE id = ?18"                             \
                      " UNION ALL SELECT 1 FROM graph_forward WHERE id = ?18")                                         \
    X(GRAPH_ENTITY_IN_SEGMENT,                                                                                         \
      "SELECT e.num FROM graph_entity e WHERE e.num = coalesce((SELECT num FROM graph_entity"                          \
      " WHERE id = ?18), (SELECT entity FROM graph_forward WHERE id = ?18)) AND +e.seg = ?19")                         \
    X(GRAPH_NAME_ADD, "INSERT INTO graph_name(seg, digest, entity, kind, is_primary) VALUES(?18,?19,?20,?21,?22)")     \
    X(GRAPH_NAME_DROP, "DELETE FROM graph_name WHERE entity = ?18")                                                    \
    X(GRAPH_NAME_COUNT, "SELECT count(*) FROM graph_name WHERE entity = ?18")                                          \
    X(GRAPH_NAME_HAS, "SELECT is_primary FROM graph_name WHERE seg = ?18 AND digest = ?19 AND entity = ?20"            \
                      " AND kind = ?21")                                                                               \
    X(GRAPH_NAMED, "SELECT entity, is_primary FROM graph_name WHERE seg = ?18 AND digest = ?19 AND kind = ?20"         \
                   " ORDER BY is_primary DESC, entity LIMIT 1")                                                        \
    X(GRAPH_FIND, SQL_GRAPH_ENTITY " FROM graph_name n CROSS JOIN graph_entity e ON e.num = n.entity"                  \
                                   " JOIN segment s ON s.id = e.seg WHERE n.seg IN " SQL_VISIBLE                       \
                                   " AND n.digest = ?18" SQL_OF_KIND SQL_IN_SCOPES                                     \
                                   " ORDER BY n.is_primary DESC, e.num LIMIT 1000")                                    \
    X(GRAPH_FORWARD_ADD, "INSERT INTO graph_forward(id, entity) VALUES(?18, ?19)")                                     \
    X(GRAPH_FORWARD_MOVE, "UPDATE graph_forward SET entity = ?19 WHERE entity = ?18")                                  \
    X(GRAPH_FORWARD_DROP, "DELETE FROM graph_forward WHERE entity = ?18")                                              \
    X(GRAPH_ENTITY_PAGE,                                                                                               \
      SQL_GRAPH_ENTITY " FROM segment s CROSS JOIN graph_entity e ON e.num IN (" SQL_NEXT_ENTITIES ")"                 \
                       " WHERE s.id IN " SQL_VISIBLE SQL_IN_SCOPES " ORDER BY e.num LIMIT ?19")                        \
    X(GRAPH_RELATION_PAGE, SQL_GRAPH_RELATION                                                                          \
      " FROM segment s CROSS JOIN graph_relation r ON r.num IN ("                                                      \
      "SELECT r.num FROM graph_relation r INDEXED BY graph_relation_seg CROSS JOIN graph_entity f ON"                  \
      " f.num = r.source CROSS JOIN graph_entity t ON t.num = r.target WHERE r.seg = s.id AND r.num > ?18"             \
      " AND +f.seg IN " SQL_VISIBLE " AND +t.seg IN " SQL_VISIBLE SQL_OF_TYPE SQL_HOLDS(                               \
          "r") " ORDER BY r.num LIMIT ?19)"                                                                            \
               " CROSS JOIN graph_entity f ON f.num = r.source CROSS JOIN graph_entity t ON t.num = r.target"          \
               " WHERE s.id IN " SQL_VISIBLE SQL_IN_SCOPES " ORDER BY r.num LIMIT ?19")                                \
    X(GRAPH_OBSERVATION_PAGE, SQL_GRAPH_OBSERVATION                                                                    \
      " FROM segment s CROSS JOIN graph_observation o ON o.num IN ("                                                   \
      "SELECT o.num FROM graph_observation o INDEXED BY graph_observation_seg CROSS JOIN graph_entity e ON"            \
      " e.num = o.entity WHERE o.seg = s.id AND o.num > ?18 AND +e.seg IN " SQL_VISIBLE SQL_HOLDS(                     \
          "o") " ORDER BY o.num LIMIT ?19) CROSS JOIN graph_entity e ON e.num = o.entity"                              \
               " WHERE s.id IN " SQL_VISIBLE SQL_IN_SCOPES " ORDER BY o.num LIMIT ?19")                                \
    X(GRAPH_OBSERVATIONS_OF, SQL_GRAPH_OBSERVATION                                                                     \
      " FROM graph_observation o INDEXED BY graph_observation_entity CROSS JOIN graph_entity e"                        \
      " ON e.num = o.entity JOIN segment s ON s.id = o.seg WHERE o.entity = ?20"                                       \
      " AND " SQL_SEES_OBSERVATION " AND o.num > ?18" SQL_HOLDS("o") SQL_IN_SCOPES " ORDER BY o.num LIMIT ?19")        \
    X(GRAPH_NEIGHBOURS, SQL_GRAPH_RELATION SQL_OF_RELATION                                                             \
      "WHERE r.num IN (SELECT num FROM (" SQL_NEXT_NEIGHBOURS("source", "2") " UNION ALL " SQL_NEXT_NEIGHBOURS(        \
          "target", "1") " ORDER BY num LIMIT ?20)) ORDER BY r.num LIMIT ?20")                                         \
    X(GRAPH_STEPS, "SELECT r.num, r.source, r.target" SQL_OF_RELATION                                                  \
                   "WHERE " SQL_SEES_RELATION SQL_WALKED SQL_OF_TYPE SQL_HOLDS("r") SQL_IN_SCOPES " ORDER BY +r.num")  \
    X(GRAPH_RELATION_SAME, SQL_GRAPH_RELATION SQL_OF_RELATION                                                          \
      "WHERE +r.seg = ?18 AND r.source = ?19 AND r.target = ?20 AND r.digest = ?21 AND r.valid_from <= ?23"            \
      " AND r.valid_until >= ?22 AND +r.num <> ?24 ORDER BY r.valid_from, r.num")                                      \
    X(GRAPH_OBSERVATION_SAME, SQL_GRAPH_OBSERVATION SQL_OF_OBSERVATION                                                 \
      "WHERE +o.seg = ?18 AND o.entity = ?19 AND o.digest = ?20 AND o.valid_from <= ?22 AND o.valid_until >= ?21"      \
      " AND +o.num <> ?23 ORDER BY o.valid_from, o.num")                                                               \
    X(GRAPH_RELATIONS_WITH, "SELECT num FROM graph_relation WHERE source = ?18 OR target = ?18 ORDER BY num")          \
    X(GRAPH_OBSERVATIONS_WITH, "SELECT num FROM graph_observation WHERE entity = ?18 ORDER BY num")                    \
    X(GRAPH_ENTITY_NUMS, "SELECT num FROM graph_entity WHERE num > ?18 ORDER BY num LIMIT ?19")                        \
    X(GRAPH_RELATION_NUMS, "SELECT num FROM graph_relation WHERE num > ?18 ORDER BY num LIMIT ?19")                    \
    X(GRAPH_OBSERVATION_NUMS, "SELECT num FROM graph_observation WHERE num > ?18 ORDER BY num LIMIT ?19")              \
    X(GRAPH_LINK_ADD, "INSERT OR IGNORE INTO graph_link(entity, record) VALUES(?18, ?19)")                             \
    X(GRAPH_LINK_DROP, "DELETE FROM graph_link WHERE entity = ?18 AND record = ?19")                                   \
    X(GRAPH_LINK_DROP_ENTITY, "DELETE FROM graph_link WHERE entity = ?18")                                             \
    X(GRAPH_LINK_COPY, "INSERT OR IGNORE INTO graph_link(entity, record) SELECT ?19, record FROM graph_link"           \
                       " WHERE entity = ?18")                                                                          \
    X(GRAPH_LINKED_ENTITIES, SQL_GRAPH_ENTITY " FROM graph_link l CROSS JOIN graph_entity e ON e.num = l.entity"       \
                                              " JOIN segment s ON s.id = e.seg WHERE l.record = ?20"                   \
                                              " AND " SQL_SEES_ENTITY " AND e.num > ?18 ORDER BY e.num LIMIT ?19")     \
    X(GRAPH_LINKED_RECORDS, "SELECT v.num FROM graph_link l CROSS JOIN version v ON v.id = l.record AND v.current = 1" \
                            " WHERE l.entity = ?20 AND +v.seg IN " SQL_VISIBLE                                         \
                            " AND v.num > ?18 AND " SQL_UNEXPIRED("?21") " ORDER BY v.num LIMIT ?19")                  \
    X(GRAPH_EXPORT_FORWARDS, "SELECT e.num, f.id, e.id FROM graph_entity e INDEXED BY graph_entity_seg"                \
                             " CROSS JOIN graph_forward f ON f.entity = e.num WHERE e.seg IN " SQL_VISIBLE             \
                             " AND e.num > ?18 AND e.num <= ?19 ORDER BY e.num, f.id")                                 \
    X(GRAPH_EXPORT_LINKS, "SELECT e.num, l.record, e.id FROM graph_entity e INDEXED BY graph_entity_seg"               \
                          " CROSS JOIN graph_link l ON l.entity = e.num CROSS JOIN version v ON v.id = l.record"       \
                          " AND v.current = 1 WHERE e.seg IN " SQL_VISIBLE " AND +v.seg IN " SQL_VISIBLE               \
                          " AND e.num > ?18 AND e.num <= ?19 AND " SQL_UNEXPIRED("?20") " ORDER BY e.num, l.record")   \
    X(GRAPH_ENTITY_AHEAD,                                                                                              \
      "SELECT max(num) FROM (SELECT e.num AS num FROM segment s CROSS JOIN graph_entity e"                             \
      " ON e.num IN (" SQL_NEXT_ENTITIES ") WHERE s.id IN " SQL_VISIBLE " ORDER BY e.num LIMIT ?19)")                  \
    X(GRAPH_COUNT_ENTITIES, "SELECT CAST(CAST(substr(s.key, 1, 1) AS TEXT) AS INTEGER), count(*)"                      \
                            " FROM graph_entity e INDEXED BY graph_entity_seg JOIN segment s ON s.id = e.seg"          \
                            " WHERE e.seg IN " SQL_VISIBLE " GROUP BY e.seg")                                          \
    X(GRAPH_COUNT_RELATIONS,                                                                                           \
      "SELECT count(*) FROM graph_relation r INDEXED BY graph_relation_seg CROSS JOIN graph_entity f ON"               \
      " f.num = r.source CROSS JOIN graph_entity t ON t.num = r.target WHERE r.seg IN " SQL_VISIBLE                    \
      " AND +f.seg IN " SQL_VISIBLE " AND +t.seg IN " SQL_VISIBLE SQL_HOLDS("r"))                                      \
    X(GRAPH_COUNT_OBSERVATIONS,                                                                                        \
      "SELECT count(*) FROM graph_observation o INDEXED BY graph_observation_seg CROSS JOIN graph_entity e ON"         \
      " e.num = o.entity WHERE o.seg IN " SQL_VISIBLE " AND +e.seg IN " SQL_VISIBLE SQL_HOLDS("o"))                    \
    X(GRAPH_COUNT_LINKS, "SELECT count(*) FROM graph_entity e INDEXED BY graph_entity_seg CROSS JOIN graph_link l ON"  \
                         " l.entity = e.num CROSS JOIN version v ON v.id = l.record AND v.current = 1"                 \
                         " WHERE e.seg IN " SQL_VISIBLE " AND +v.seg IN " SQL_VISIBLE " AND " SQL_UNEXPIRED("?11"))    \
    X(GRAPH_POSTING_ADD, "INSERT INTO graph_posting(seg, term, entity, document, count, length)"                       \
                         " VALUES(?18, ?19, ?20, ?21, ?22, ?23)")                                                      \
    X(GRAPH_POSTING_DROP,                                                                                              \
      "DELETE FROM graph_posting WHERE seg = ?18 AND term = ?19 AND entity = ?20 AND document = ?21")                  \
    X(GRAPH_POSTING_HAS, "SELECT count, length FROM graph_posting WHERE seg = ?18 AND term = ?19 AND entity = ?20"     \
                         " AND document = ?21")                                                                        \
    X(GRAPH_POSTING_TOTAL, "SELECT count(*) FROM graph_posting")                                                       \
    X(GRAPH_POSTING_MATCH,                                                                                             \
      "SELECT p.entity, p.document, p.count, p.length FROM graph_posting p CROSS JOIN graph_entity e ON"               \
      " e.num = p.entity JOIN segment s ON s.id = e.seg LEFT JOIN graph_observation o ON o.num = p.document"           \
      " WHERE p.seg IN " SQL_VISIBLE " AND p.term = ?18 AND " SQL_SEES_ENTITY SQL_OF_KIND SQL_IN_SCOPES                \
      " AND (p.document = 0 OR ?10 = 1 OR (o.valid_from <= ?11 AND o.valid_until > ?11))")                             \
    X(GRAPH_SEGMENT_COUNT, "INSERT INTO graph_segment(seg, documents, tokens) VALUES(?18, ?19, ?20)"                   \
                           " ON CONFLICT(seg) DO UPDATE SET documents = documents + ?19, tokens = tokens + ?20")       \
    X(GRAPH_SEGMENT_SUM, "SELECT total(documents), total(tokens) FROM graph_segment WHERE seg IN " SQL_VISIBLE)        \
    X(GRAPH_LINK_FAULT,                                                                                                \
      "SELECT count(*) FROM graph_link l WHERE NOT EXISTS (SELECT 1 FROM graph_entity WHERE num = l.entity)"           \
      " OR NOT EXISTS (SELECT 1 FROM version WHERE id = l.record AND current = 1)")                                    \
    X(GRAPH_FORWARD_FAULT, "SELECT count(*) FROM graph_forward f WHERE NOT EXISTS"                                     \
                           " (SELECT 1 FROM graph_entity WHERE num = f.entity)")                                       \
    X(GRAPH_SEGMENT_FAULT,                                                                                             \
      "SELECT count(*) FROM graph_segment g LEFT JOIN (SELECT seg, count(*) AS n, total(length) AS t FROM"             \
      " (SELECT seg, length FROM graph_entity UNION ALL SELECT seg, length FROM graph_observation)"                    \
      " WHERE length > 0 GROUP BY seg) c ON c.seg = g.seg"                                                             \
      " WHERE g.documents <> coalesce(c.n, 0) OR g.tokens <> coalesce(c.t, 0)")

#endif
