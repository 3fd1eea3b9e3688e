/*
 * Tables and statements of the task streams; part of the store that schema.h describes.
 *
 * Invariants:
 *  - entries of a stream are numbered 1 to stream.last without a hole; they change in `covered` only, which is set once.
 *  - an entry's span is its own number, a summary's is the range that it stands for. The entries that no summary covers are
 *    live; the spans of live entries are disjoint and hold every number that is not a summary's.
 *  - rows carry marks at both ends, as versions do; names and unique keys are indexed as keyed numbers, so that their text
 *    lies in marked rows only.
 */
#ifndef UAR_LIB_MEMORY_STREAM_SCHEMA_H
#define UAR_LIB_MEMORY_STREAM_SCHEMA_H

static const char stream_schema_sql[] =
    "CREATE TABLE stream(num INTEGER PRIMARY KEY AUTOINCREMENT, mark BLOB NOT NULL, id BLOB NOT NULL UNIQUE,"
    " seg INTEGER NOT NULL, scope INTEGER NOT NULL, owner TEXT NOT NULL, user TEXT, agent TEXT, session TEXT,"
    " task TEXT, name TEXT NOT NULL, named INTEGER NOT NULL, metadata TEXT NOT NULL, created INTEGER NOT NULL,"
    " updated INTEGER NOT NULL, archived INTEGER NOT NULL, last INTEGER NOT NULL, summaries INTEGER NOT NULL,"
    " tokens INTEGER NOT NULL, live INTEGER NOT NULL, live_tokens INTEGER NOT NULL, checksum BLOB NOT NULL,"
    " tail BLOB NOT NULL);"
    "CREATE INDEX stream_named ON stream(seg, named);"
    "CREATE TABLE stream_entry(num INTEGER PRIMARY KEY AUTOINCREMENT, mark BLOB NOT NULL, stream INTEGER NOT NULL,"
    " number INTEGER NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, metadata TEXT NOT NULL,"
    " trust INTEGER NOT NULL, run BLOB, event INTEGER NOT NULL, origin TEXT, created INTEGER NOT NULL,"
    " tokens INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, covered INTEGER NOT NULL, key TEXT,"
    " keyed INTEGER, checksum BLOB NOT NULL, tail BLOB NOT NULL);"
    "CREATE UNIQUE INDEX stream_entry_number ON stream_entry(stream, number);"
    "CREATE INDEX stream_entry_keyed ON stream_entry(stream, keyed) WHERE keyed IS NOT NULL;"
    "CREATE INDEX stream_entry_live ON stream_entry(stream, first, last, number, tokens) WHERE covered = 0;";

/* In the order that stream_read expects. */
#define SQL_STREAM_COLUMNS                                                                                            \
    "SELECT s.num, s.mark, s.id, s.seg, s.scope, s.owner, s.user, s.agent, s.session, s.task, s.name, s.named,"       \
    " s.metadata, s.created, s.updated, s.archived, s.last, s.summaries, s.tokens, s.live, s.live_tokens, s.checksum" \
    " FROM stream s "

/* In the order that stream_entry_read expects. */
#define SQL_STREAM_ENTRY_COLUMNS                                                                                  \
    "SELECT e.num, e.mark, e.stream, e.number, e.role, e.content, e.metadata, e.trust, e.run, e.event, e.origin," \
    " e.created, e.tokens, e.first, e.last, e.covered, e.key, e.keyed, e.checksum FROM stream_entry e "

/* The id in ?8, scopes in ?9, ids in ?10 to ?13, the archiving in ?14. */
#define SQL_STREAM_FILTERED                                                   \
    "(?8 IS NULL OR s.id = ?8) AND (?9 = 0 OR ((?9 >> s.scope) & 1) = 1)"     \
    " AND (?10 IS NULL OR s.user = ?10) AND (?11 IS NULL OR s.agent = ?11)"   \
    " AND (?12 IS NULL OR s.session = ?12) AND (?13 IS NULL OR s.task = ?13)" \
    " AND (?14 = 1 OR (?14 = 0 AND s.archived = 0) OR (?14 = 2 AND s.archived <> 0))"

/* X(name, text). */
#define SQL_STREAM_STATEMENTS(X)                                                                                    \
    X(STREAM_INSERT,                                                                                                \
      "INSERT INTO stream(mark, id, seg, scope, owner, user, agent, session, task, name, named, metadata, created," \
      " updated, archived, last, summaries, tokens, live, live_tokens, checksum, tail)"                             \
      " VALUES(?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?2)")                    \
    X(STREAM_UPDATE, "UPDATE stream SET updated = ?15, archived = ?16, last = ?17, summaries = ?18, tokens = ?19,"  \
                     " live = ?20, live_tokens = ?21, checksum = ?22 WHERE num = ?1")                               \
    X(STREAM_DELETE, "DELETE FROM stream WHERE num = ?18")                                                          \
    X(STREAM_BY_ID, SQL_STREAM_COLUMNS "WHERE s.id = ?18 AND s.seg IN " SQL_VISIBLE)                                \
    X(STREAM_ID_USED, "SELECT 1 FROM stream WHERE id = ?18")                                                        \
    X(STREAM_BY_NAME, SQL_STREAM_COLUMNS "WHERE s.seg = ?18 AND s.named = ?19")                                     \
    X(STREAM_BY_NUM, SQL_STREAM_COLUMNS "WHERE s.num > ?18 ORDER BY s.num LIMIT 1")                                 \
    X(STREAM_LIST, SQL_STREAM_COLUMNS "WHERE s.seg IN " SQL_VISIBLE " AND " SQL_STREAM_FILTERED                     \
                                      " AND s.num < ?18 ORDER BY s.num DESC LIMIT ?19")                             \
    X(STREAM_IDS, "SELECT s.num, s.id FROM stream s WHERE s.seg IN " SQL_VISIBLE " AND " SQL_STREAM_FILTERED        \
                  " AND s.num > ?18 ORDER BY s.num LIMIT 1")                                                        \
    X(STREAM_SUM, "SELECT count(*), total(s.archived <> 0), total(s.last), total(s.summaries), total(s.tokens),"    \
                  " total(s.live_tokens) FROM stream s WHERE s.seg IN " SQL_VISIBLE " AND " SQL_STREAM_FILTERED)    \
    X(STREAM_ENTRY_INSERT,                                                                                          \
      "INSERT INTO stream_entry(mark, stream, number, role, content, metadata, trust, run, event, origin, created," \
      " tokens, first, last, covered, key, keyed, checksum, tail)"                                                  \
      " VALUES(?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?2)")                                \
    X(STREAM_ENTRY_COVER, "UPDATE stream_entry SET covered = ?16, checksum = ?19 WHERE num = ?1")                   \
    X(STREAM_ENTRY_AT, SQL_STREAM_ENTRY_COLUMNS "WHERE e.stream = ?18 AND e.number = ?19")                          \
    X(STREAM_ENTRY_KEYED, SQL_STREAM_ENTRY_COLUMNS "WHERE e.stream = ?18 AND e.keyed = ?19")                        \
    X(STREAM_ENTRY_UP,                                                                                              \
      SQL_STREAM_ENTRY_COLUMNS "WHERE e.stream = ?18 AND e.number >= ?19 ORDER BY e.number LIMIT ?20")              \
    X(STREAM_ENTRY_DOWN,                                                                                            \
      SQL_STREAM_ENTRY_COLUMNS "WHERE e.stream = ?18 AND e.number <= ?19 ORDER BY e.number DESC LIMIT ?20")         \
    X(STREAM_ENTRY_LIVE, "SELECT e.number, e.first, e.last, e.tokens FROM stream_entry e"                           \
                         " WHERE e.stream = ?18 AND e.covered = 0 AND e.first >= ?19 AND e.first <= ?20"            \
                         " ORDER BY e.first")                                                                       \
    X(STREAM_ENTRY_LIVE_BEFORE, "SELECT e.number, e.first, e.last, e.tokens FROM stream_entry e"                    \
                                " WHERE e.stream = ?18 AND e.covered = 0 AND e.first < ?19"                         \
                                " ORDER BY e.first DESC LIMIT 1")                                                   \
    X(STREAM_ENTRY_MARKS, "SELECT e.mark FROM stream_entry e WHERE e.stream = ?18")                                 \
    X(STREAM_ENTRY_DELETE, "DELETE FROM stream_entry WHERE stream = ?18")                                           \
    X(STREAM_ENTRY_STRAY, "SELECT count(*) FROM stream_entry e WHERE NOT EXISTS"                                    \
                          " (SELECT 1 FROM stream s WHERE s.num = e.stream)")

#endif
