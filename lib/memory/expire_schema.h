/* Table and statements of records that expire; part of the store that schema.h describes. A row of `expiry` speaks of a
 * record with all its versions, so that another time makes no new version. */
#ifndef UAR_LIB_MEMORY_EXPIRE_SCHEMA_H
#define UAR_LIB_MEMORY_EXPIRE_SCHEMA_H

static const char expire_schema_sql[] = "CREATE TABLE expiry(id BLOB PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;"
                                        "CREATE INDEX expiry_at ON expiry(at);";

/* True for rows of `v` that have not expired at the time that parameter `now` holds. */
#define SQL_UNEXPIRED(now) "v.id NOT IN (SELECT id FROM expiry WHERE at <= " now ")"

/* X(name, text). */
#define SQL_EXPIRE_STATEMENTS(X)                                                     \
    X(EXPIRY_PUT, "INSERT OR REPLACE INTO expiry(id, at) VALUES(?18, ?19)")          \
    X(EXPIRY_DROP, "DELETE FROM expiry WHERE id = ?18")                              \
    X(EXPIRY_DUE, "SELECT id FROM expiry WHERE at <= ?18 ORDER BY at, id LIMIT ?19") \
    X(EXPIRY_ROWS, "SELECT num FROM version WHERE id = ?18")

#endif
