/*
 * Lines of JSON: cut from an import and read member by member, or handed out one by one by an export.
 *
 * A member of another type than it should have is refused by name (UAR_E_SCHEMA); the first fault sticks and the rest may be
 * read on, so that it is looked at once, at the end. A key that is missing and one that is null are the same. Texts live in
 * the arena.
 */
#ifndef UAR_LIB_MEMORY_LINE_H
#define UAR_LIB_MEMORY_LINE_H

#include <uar/memory.h>

#include "base/arena.h"
#include "base/json.h"

typedef struct line_reader {
    cJSON *root;
    arena *ar;
    const char *what; /* of what a line it is, for the message: "a memory record" */
    bool has_version;
    uar_status status;
    uar_error *err;
} line_reader;

/* Parse a line of at most `most` bytes. UAR_E_JSON, UAR_E_TOO_LARGE, UAR_E_NOMEM: then there is nothing to end. An array or a
 * bare value, or an unknown version, is a fault that sticks. */
uar_status line_begin(line_reader *r, arena *ar, uar_str text, size_t most, const char *what, uar_error *err);
/* Let go of the tree; the status of the whole line. */
uar_status line_end(line_reader *r);

/* Note that `key` isn't what it should be. */
void line_refuse(line_reader *r, const char *key);

/* A member of `object`, which is the line itself if it is NULL. Missing: absent, 0 or none. */
uar_str line_text(line_reader *r, const cJSON *object, const char *key);
uint64_t line_number(line_reader *r, const cJSON *object, const char *key);
uar_uuid line_uuid(line_reader *r, const cJSON *object, const char *key);

/* Members of the line. A time is RFC 3339 or milliseconds. */
int64_t line_time(line_reader *r, const char *key, int64_t none);
bool line_flag(line_reader *r, const char *key, bool *is_there);
void line_double(line_reader *r, const char *key, double *value); /* untouched if it is missing */
const cJSON *line_object(line_reader *r, const char *key);
uar_str line_json(line_reader *r, const char *key); /* any value, as text */
const uar_str *line_texts(line_reader *r, const char *key, size_t *count);
uar_memory_scope line_scope(line_reader *r, uar_memory_scope none);
uar_memory_trust line_trust(line_reader *r); /* UAR_MEMORY_TRUST_IMPORT if it isn't said */
uar_memory_provenance line_provenance(line_reader *r);

/* The first line of what is left, without its end; `rest` moves behind it. */
uar_str line_take(uar_str *rest);
/* Hand out what the buffer holds, a line a call, and empty it. The writer's status, or the buffer's. */
uar_status lines_deliver(buffer *lines, uar_memory_write_fn write, void *ctx, uar_error *err);

#endif
