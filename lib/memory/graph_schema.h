/* Tables and statements of the knowledge graph; part of the store that schema.h describes. */
#ifndef UAR_LIB_MEMORY_GRAPH_SCHEMA_H
#define UAR_LIB_MEMORY_GRAPH_SCHEMA_H

static const char graph_schema_sql[] = "";

/* X(name, text). */
#define SQL_GRAPH_STATEMENTS(X)

#endif
