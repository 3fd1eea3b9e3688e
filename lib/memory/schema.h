/*
 * The store of a memory: its tables, and every statement that the library runs on it. Values are always bound.
 *
 * Invariants of the file:
 *  - `version` has one current row a record (its `num` never changes) and one row an older version. Rows are only appended
 *    or removed; each carries a random `mark` at both ends, unique to it, so that stray copies of a row can be found.
 *  - what makes rows findable is derived from `version` and `vector` and lives in `chunk` (see index/chunk.h): each row with
 *    a length is in the one chunk of its segment whose first and last number enclose its own, or its number is above
 *    `segment.packed`. Rows that changed since their chunk was written are named in `loose`. `segment` counts its rows
 *    with a length, and those of them above `packed` (`fresh`).
 *  - a row of `vector` belongs to the model that made it; model 0: it says nothing any more, and only its mark is kept. The
 *    rows that one chunk is about have vectors of one model, which is the chunk's, but for those named in `loose`.
 *  - text lives in `version` only, as keyed numbers of terms elsewhere.
 *
 * Parameters: ?1–?7 say who calls (caller_bind), ?8–?17 which records (filter_bind), ?18 and up are the statement's own.
 */
#ifndef UAR_LIB_MEMORY_SCHEMA_H
#define UAR_LIB_MEMORY_SCHEMA_H

#include "memory/embed_schema.h"
#include "memory/expire_schema.h"
#include "memory/graph_schema.h"
#include "memory/stream_schema.h"

#define SCHEMA_APPLICATION_ID 0x75617252 /* "uarR" */
#define SCHEMA_VERSION 2

static const char schema_sql[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE segment(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, owner TEXT NOT NULL,"
    " generation INTEGER NOT NULL DEFAULT 0, edits INTEGER NOT NULL DEFAULT 0, packed INTEGER NOT NULL DEFAULT 0,"
    " newest INTEGER NOT NULL DEFAULT 0, records INTEGER NOT NULL DEFAULT 0, fresh INTEGER NOT NULL DEFAULT 0);"
    "CREATE INDEX segment_owner ON segment(owner);"
    "CREATE TABLE version(num INTEGER PRIMARY KEY AUTOINCREMENT, mark BLOB NOT NULL, id BLOB NOT NULL,"
    " seg INTEGER NOT NULL, revision INTEGER NOT NULL, current INTEGER NOT NULL, scope INTEGER NOT NULL,"
    " type INTEGER NOT NULL, trust INTEGER NOT NULL, owner TEXT NOT NULL, user TEXT, agent TEXT, session TEXT,"
    " task TEXT, content TEXT NOT NULL, categories TEXT NOT NULL, metadata TEXT NOT NULL, importance REAL NOT NULL,"
    " subject TEXT, attribute TEXT, digest INTEGER NOT NULL, slot INTEGER, run BLOB, event INTEGER NOT NULL,"
    " origin TEXT, created INTEGER NOT NULL, updated INTEGER NOT NULL, valid_from INTEGER NOT NULL,"
    " valid_until INTEGER NOT NULL, superseded_by BLOB, embedder TEXT NOT NULL, terms BLOB NOT NULL,"
    " length INTEGER NOT NULL, checksum BLOB NOT NULL, tail BLOB NOT NULL);"
    "CREATE UNIQUE INDEX version_revision ON version(id, revision);"
    "CREATE UNIQUE INDEX version_current ON version(id) WHERE current = 1;"
    "CREATE INDEX version_digest ON version(seg, digest) WHERE current = 1;"
    "CREATE INDEX version_slot ON version(seg, slot) WHERE slot IS NOT NULL;"
    "CREATE INDEX version_chain ON version(superseded_by) WHERE superseded_by IS NOT NULL;"
    "CREATE INDEX version_segment ON version(seg, num);"
    "CREATE TABLE chunk(id INTEGER PRIMARY KEY, seg INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,"
    " stamp INTEGER NOT NULL, size INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE UNIQUE INDEX chunk_place ON chunk(seg, first);"
    "CREATE TABLE loose(seg INTEGER NOT NULL, num INTEGER NOT NULL, stamp INTEGER NOT NULL, PRIMARY KEY(seg, num))"
    " WITHOUT ROWID;"
    "CREATE TABLE vector(num INTEGER PRIMARY KEY, model INTEGER NOT NULL, digest INTEGER NOT NULL, mark BLOB NOT NULL,"
    " value BLOB NOT NULL, tail BLOB NOT NULL);"
    "CREATE TABLE usage(id BLOB PRIMARY KEY, recalls INTEGER NOT NULL, recalled INTEGER NOT NULL,"
    " reinforced INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE written(owner TEXT NOT NULL, key TEXT NOT NULL, id BLOB NOT NULL, outcome INTEGER NOT NULL,"
    " supersedes BLOB, revision INTEGER NOT NULL, PRIMARY KEY(owner, key)) WITHOUT ROWID;"
    "CREATE TABLE tombstone(id BLOB PRIMARY KEY, seg INTEGER NOT NULL, deleted INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE erasure(mark BLOB NOT NULL);";

/* The segments that the caller sees: at most five by their keys, or all of one owner for an operator. */
#define SQL_VISIBLE                                                    \
    "(SELECT id FROM segment WHERE ?1 = 0 AND key IN (?3,?4,?5,?6,?7)" \
    " UNION ALL SELECT id FROM segment WHERE ?1 = 1 AND owner = ?2)"

/* Scopes and, eight bits higher, types in ?8, the time of the call in ?9; which versions: FILTER_LIVE, FILTER_AS_OF,
 * FILTER_CURRENT, FILTER_ALL in ?16, the time in ?17. */
#define SQL_FILTERED                                                                                  \
    "(?8 & 255 = 0 OR ((?8 >> v.scope) & 1) = 1) AND (?8 >> 8 = 0 OR ((?8 >> (8 + v.type)) & 1) = 1)" \
    " AND (?10 IS NULL OR v.user = ?10) AND (?11 IS NULL OR v.agent = ?11)"                           \
    " AND (?12 IS NULL OR v.session = ?12) AND (?13 IS NULL OR v.task = ?13)"                         \
    " AND (?14 = 0 OR v.created >= ?14) AND (?15 = 0 OR v.created < ?15)"                             \
    " AND ((?16 = 0 AND v.current = 1 AND v.valid_until > ?17)"                                       \
    " OR (?16 = 1 AND v.valid_from <= ?17 AND v.valid_until > ?17)"                                   \
    " OR (?16 = 2 AND v.current = 1) OR ?16 = 3) AND " SQL_UNEXPIRED("?9")

/* In the order that version_read expects. */
#define SQL_COLUMNS                                                                                                    \
    "SELECT v.num, v.mark, v.id, v.seg, v.revision, v.current, v.scope, v.type, v.trust, v.owner, v.user, v.agent,"    \
    " v.session, v.task, v.content, v.categories, v.metadata, v.importance, v.subject, v.attribute, v.digest, v.slot," \
    " v.run, v.event, v.origin, v.created, v.updated, v.valid_from, v.valid_until, v.superseded_by, v.embedder,"       \
    " v.terms, v.length, v.checksum, u.recalls, u.recalled, u.reinforced,"                                             \
    " (SELECT at FROM expiry x WHERE x.id = v.id)"                                                                     \
    " FROM version v LEFT JOIN usage u ON u.id = v.id "

/* A row as the index sees it, with its vector of model ?21. In the order that shelf_item_read expects. */
#define SQL_SHELF                                                                                                \
    "SELECT v.num, v.created, v.valid_from, v.valid_until, v.length, v.importance, v.trust, v.type, v.current, " \
    "v.user,"                                                                                                    \
    " v.agent, v.session, v.task, v.origin, v.categories, v.terms, x.value FROM version v"                       \
    " LEFT JOIN vector x ON x.num = v.num AND x.model = ?21 AND ?21 <> 0 AND x.digest = v.digest "

#define SQL_CHAIN                                                                           \
    "WITH RECURSIVE chain(id) AS (SELECT ?18 UNION SELECT o.id FROM version o JOIN chain c" \
    " ON o.superseded_by = c.id) "

/* X(name, text). */
#define SQL_STATEMENTS(X)                                                                                              \
    X(BEGIN, "BEGIN")                                                                                                  \
    X(BEGIN_WRITE, "BEGIN IMMEDIATE")                                                                                  \
    X(COMMIT, "COMMIT")                                                                                                \
    X(ROLLBACK, "ROLLBACK")                                                                                            \
    X(META_GET, "SELECT value FROM meta WHERE key = ?18")                                                              \
    X(META_PUT, "INSERT OR REPLACE INTO meta(key, value) VALUES(?18, ?19)")                                            \
    X(SEGMENT_FIND, "SELECT id FROM segment WHERE key = ?18")                                                          \
    X(SEGMENT_ADD, "INSERT INTO segment(key, owner) VALUES(?18, ?19)")                                                 \
    X(VERSION_INSERT,                                                                                                  \
      "INSERT INTO version(num, mark, id, seg, revision, current, scope, type, trust, owner, user, agent, session,"    \
      " task, content, categories, metadata, importance, subject, attribute, digest, slot, run, event, origin,"        \
      " created, updated, valid_from, valid_until, superseded_by, embedder, terms, length, checksum, tail)"            \
      " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25,?26,?27,"    \
      "?28,?29,?30,?31,?32,?33,?34,?2)")                                                                               \
    X(VERSION_UPDATE,                                                                                                  \
      "UPDATE version SET mark = ?2, id = ?3, seg = ?4, revision = ?5, current = ?6, scope = ?7, type = ?8,"           \
      " trust = ?9, owner = ?10, user = ?11, agent = ?12, session = ?13, task = ?14, content = ?15, categories = ?16," \
      " metadata = ?17, importance = ?18, subject = ?19, attribute = ?20, digest = ?21, slot = ?22, run = ?23,"        \
      " event = ?24, origin = ?25, created = ?26, updated = ?27, valid_from = ?28, valid_until = ?29,"                 \
      " superseded_by = ?30, embedder = ?31, terms = ?32, length = ?33, checksum = ?34, tail = ?2 WHERE num = ?1")     \
    X(VERSION_DELETE, "DELETE FROM version WHERE num = ?18")                                                           \
    X(VERSION_BY_NUM, SQL_COLUMNS "WHERE v.num = ?18")                                                                 \
    X(VERSION_BY_ID,                                                                                                   \
      SQL_COLUMNS "WHERE v.id = ?18 AND v.current = 1 AND v.seg IN " SQL_VISIBLE " AND " SQL_UNEXPIRED("?19"))         \
    X(VERSION_AT_REVISION, "SELECT content, metadata FROM version WHERE id = ?18 AND revision = ?19")                  \
    X(RECORD_SEGMENT, "SELECT seg FROM version WHERE id = ?18 LIMIT 1")                                                \
    X(VERSION_REPEAT, SQL_COLUMNS "WHERE v.seg = ?18 AND v.digest = ?19 AND v.type = ?20 AND v.current = 1"            \
                                  " ORDER BY v.num DESC")                                                              \
    X(VERSION_SLOT, SQL_COLUMNS "WHERE v.seg = ?18 AND v.slot = ?19 AND v.current = 1"                                 \
                                " AND (v.valid_until > ?20 OR v.valid_from > ?21) ORDER BY v.valid_from, v.num")       \
    X(VERSION_HISTORY, SQL_CHAIN SQL_COLUMNS "WHERE v.id IN chain AND v.seg IN " SQL_VISIBLE " AND " SQL_UNEXPIRED(    \
                           "?19") " ORDER BY v.valid_from, v.created, v.revision, v.num")                              \
    X(VERSION_CHAIN, SQL_CHAIN "SELECT v.num FROM version v WHERE v.id IN chain AND v.seg = ?19")                      \
    X(VERSION_GIVEN_WAY, SQL_CHAIN "SELECT v.num FROM version v WHERE v.id IN chain AND v.id <> ?18 AND v.seg = ?19")  \
    X(LIST_DOWN, "SELECT v.num FROM version v WHERE v.seg IN " SQL_VISIBLE " AND " SQL_FILTERED                        \
                 " AND v.num < ?18 ORDER BY v.num DESC")                                                               \
    X(LIST_UP, "SELECT v.num FROM version v WHERE v.seg IN " SQL_VISIBLE " AND " SQL_FILTERED                          \
               " AND v.num > ?18 ORDER BY v.num LIMIT ?19")                                                            \
    X(COUNT,                                                                                                           \
      "SELECT v.scope, count(*) FROM version v WHERE v.seg IN " SQL_VISIBLE " AND " SQL_FILTERED " GROUP BY v.scope")  \
    X(ALL_NUMS, "SELECT num FROM version WHERE num > ?18 ORDER BY num LIMIT ?19")                                      \
    X(SEGMENT_LOAD, "SELECT generation, edits, packed, newest, records, fresh FROM segment WHERE id = ?18")            \
    X(SEGMENT_STORE, "UPDATE segment SET generation = ?19, edits = ?20, packed = ?21, newest = ?22, records = ?23,"    \
                     " fresh = ?24 WHERE id = ?18")                                                                    \
    X(SEGMENTS_SEEN, "SELECT id, generation, edits, packed, key, records FROM segment WHERE id IN " SQL_VISIBLE)       \
    X(SEGMENT_NEXT, "SELECT id FROM segment WHERE id > ?18 ORDER BY id LIMIT 1")                                       \
    X(SEGMENT_COUNTS, "SELECT count(*), max(num), total(num > ?19) FROM version WHERE seg = ?18 AND length > 0")       \
    X(CHUNK_LIST, "SELECT id, stamp, size FROM chunk WHERE seg = ?18 ORDER BY first")                                  \
    X(CHUNK_OF, "SELECT id, first, last FROM chunk WHERE seg = ?18 AND first <= ?19 ORDER BY first DESC LIMIT 1")      \
    X(CHUNK_AFTER,                                                                                                     \
      "SELECT id, first, last, stamp, size FROM chunk WHERE seg = ?18 AND first > ?19 ORDER BY first LIMIT 1")         \
    X(CHUNK_ADD, "INSERT INTO chunk(seg, first, last, stamp, size, body) VALUES(?18,?19,?20,?21,?22,?23)")             \
    X(CHUNK_PUT, "UPDATE chunk SET first = ?19, last = ?20, stamp = ?21, size = ?22, body = ?23 WHERE id = ?18")       \
    X(CHUNK_DROP, "DELETE FROM chunk WHERE id = ?18")                                                                  \
    X(CHUNK_DROP_ALL, "DELETE FROM chunk WHERE seg = ?18")                                                             \
    X(LOOSE_PUT, "INSERT OR REPLACE INTO loose(seg, num, stamp) VALUES(?18, ?19, ?20)")                                \
    X(LOOSE_DROP, "DELETE FROM loose WHERE seg = ?18 AND num >= ?19 AND num <= ?20")                                   \
    X(LOOSE_COUNT, "SELECT count(*) FROM loose WHERE seg = ?18")                                                       \
    X(LOOSE_LIST, "SELECT num FROM loose WHERE seg = ?18 AND num > ?19 ORDER BY num LIMIT 1")                          \
    X(SHELF_RANGE,                                                                                                     \
      SQL_SHELF "WHERE v.seg = ?18 AND v.num > ?19 AND v.num <= ?20 AND v.length > 0 ORDER BY v.num LIMIT ?22")        \
    X(SHELF_CHANGED, SQL_SHELF "WHERE v.num IN (SELECT num FROM loose WHERE seg = ?18 AND num <= ?19 AND stamp > ?20)" \
                               " ORDER BY v.num")                                                                      \
    X(VECTOR_GET, "SELECT model, digest, mark, value FROM vector WHERE num = ?18")                                     \
    X(VECTOR_PUT,                                                                                                      \
      "INSERT OR REPLACE INTO vector(num, model, digest, mark, value, tail) VALUES(?18,?19,?20,?21,?22,?21)")          \
    X(VECTOR_MODEL, "SELECT x.model, d.dims FROM (SELECT num, digest FROM version WHERE seg = ?18 AND num > ?19"       \
                    " AND num <= ?20 AND length > 0 ORDER BY num LIMIT ?22) v JOIN vector x ON x.num = v.num"          \
                    " AND x.digest = v.digest JOIN model d ON d.id = x.model GROUP BY x.model"                         \
                    " ORDER BY x.model = ?21 DESC, count(*) DESC, x.model DESC LIMIT 1")                               \
    X(VECTOR_VOID_OTHERS, "UPDATE vector SET model = 0, value = zeroblob(0) WHERE model NOT IN (0, ?21) AND num IN"    \
                          " (SELECT num FROM version WHERE seg = ?18 AND num >= ?19 AND num <= ?20)")                  \
    X(VECTOR_VOID, "UPDATE vector SET model = 0, value = zeroblob(0) WHERE num = ?18")                                 \
    X(VECTOR_OF_SEGMENT, "SELECT x.num, d.dims, x.value FROM version v JOIN vector x ON x.num = v.num"                 \
                         " LEFT JOIN model d ON d.id = x.model WHERE v.seg = ?18 AND v.num > ?19 AND x.model <> 0"     \
                         " ORDER BY v.num")                                                                            \
    X(VECTOR_DROP, "DELETE FROM vector WHERE num = ?18")                                                               \
    X(VECTOR_STRAY, "SELECT count(*) FROM vector x WHERE NOT EXISTS (SELECT 1 FROM version v WHERE v.num = x.num"      \
                    " AND v.length > 0 AND v.digest = x.digest)")                                                      \
    X(VECTOR_UNCOUNTED, "SELECT count(*) FROM version v WHERE v.length > 0 AND NOT EXISTS"                             \
                        " (SELECT 1 FROM vector x WHERE x.num = v.num AND x.model = ?18 AND x.digest = v.digest)")     \
    X(VECTOR_MISSING, "SELECT v.num FROM version v WHERE v.num > ?18 AND v.length > 0 AND NOT EXISTS"                  \
                      " (SELECT 1 FROM vector x WHERE x.num = v.num AND x.model = ?19 AND x.digest = v.digest)"        \
                      " ORDER BY v.num LIMIT ?20")                                                                     \
    X(USAGE_REINFORCE, "INSERT INTO usage(id, recalls, recalled, reinforced) VALUES(?18, 0, 0, 1)"                     \
                       " ON CONFLICT(id) DO UPDATE SET reinforced = reinforced + 1")                                   \
    X(USAGE_RECALL, "INSERT INTO usage(id, recalls, recalled, reinforced) SELECT ?18, 1, ?19, 0"                       \
                    " WHERE EXISTS (SELECT 1 FROM version WHERE id = ?18)"                                             \
                    " ON CONFLICT(id) DO UPDATE SET recalls = recalls + 1, recalled = ?19")                            \
    X(USAGE_PUT, "INSERT OR REPLACE INTO usage(id, recalls, recalled, reinforced) VALUES(?18, ?19, ?20, ?21)")         \
    X(USAGE_DROP, "DELETE FROM usage WHERE id = ?18")                                                                  \
    X(WRITTEN_GET, "SELECT id, outcome, supersedes, revision FROM written WHERE owner = ?18 AND key = ?19")            \
    X(WRITTEN_ADD,                                                                                                     \
      "INSERT INTO written(owner, key, id, outcome, supersedes, revision) VALUES(?18,?19,?20,?21,?22,?23)")            \
    X(TOMBSTONE_ADD, "INSERT OR REPLACE INTO tombstone(id, seg, deleted) VALUES(?18, ?19, ?20)")                       \
    X(TOMBSTONE_DROP, "DELETE FROM tombstone WHERE id = ?18")                                                          \
    X(ERASURE_ADD, "INSERT INTO erasure(mark) VALUES(?18)")                                                            \
    X(ERASURE_COUNT, "SELECT count(*) FROM erasure")                                                                   \
    X(ERASURE_LIST, "SELECT rowid, mark FROM erasure ORDER BY rowid")                                                  \
    X(ERASURE_DROP, "DELETE FROM erasure WHERE rowid <= ?18")

typedef enum sql_id {
#define X_ENUM(name, text) SQL_##name,
    SQL_STATEMENTS(X_ENUM) SQL_GRAPH_STATEMENTS(X_ENUM) SQL_STREAM_STATEMENTS(X_ENUM) SQL_EMBED_STATEMENTS(X_ENUM)
        SQL_EXPIRE_STATEMENTS(X_ENUM)
#undef X_ENUM
            SQL_COUNT_OF_STATEMENTS
} sql_id;

#endif
