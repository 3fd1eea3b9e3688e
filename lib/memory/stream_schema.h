/* Tables and statements of the task streams; part of the store that schema.h describes. */
#ifndef UAR_LIB_MEMORY_STREAM_SCHEMA_H
#define UAR_LIB_MEMORY_STREAM_SCHEMA_H

static const char stream_schema_sql[] = "";

/* X(name, text). */
#define SQL_STREAM_STATEMENTS(X)

#endif
