/* Table and statements of embedding models; part of the store that schema.h describes. Rows of `model` are only added: a
 * number that another process knows never changes its meaning. */
#ifndef UAR_LIB_MEMORY_EMBED_SCHEMA_H
#define UAR_LIB_MEMORY_EMBED_SCHEMA_H

static const char embed_schema_sql[] = "CREATE TABLE model(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                                       " dims INTEGER NOT NULL, UNIQUE(name, dims));";

/* X(name, text). */
#define SQL_EMBED_STATEMENTS(X)                                           \
    X(MODEL_FIND, "SELECT id FROM model WHERE name = ?18 AND dims = ?19") \
    X(MODEL_ADD, "INSERT INTO model(name, dims) VALUES(?18, ?19)")        \
    X(SEARCHABLE_COUNT, "SELECT count(*) FROM version WHERE length > 0")

#endif
