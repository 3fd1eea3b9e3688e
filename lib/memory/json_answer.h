/*
 * An answer as JSON: one object, made in memory and handed to the host's writer; and the members that records, the graph and
 * streams have in common. Exports are made of the same members.
 */
#ifndef UAR_LIB_MEMORY_JSON_ANSWER_H
#define UAR_LIB_MEMORY_JSON_ANSWER_H

#include <uar/memory_graph.h>

#include "base/json.h"

typedef struct json_answer {
    buffer out;
    json_writer w; /* inside the object */
} json_answer;

/* Begin the object. NULL is the default allocator. */
json_writer *json_answer_begin(json_answer *answer, const uar_allocator *a);
/* End it, hand it out in one call and let go of it. UAR_E_NOMEM, or what the writer says. */
uar_status json_answer_end(json_answer *answer, uar_memory_write_fn write, void *ctx);

/* RFC 3339, or null if it is `none`. A time before the year 0 or after 9999 has no such text: it is its milliseconds. */
void json_put_time(json_writer *w, const char *key, int64_t ms, int64_t none);
void json_put_double(json_writer *w, const char *key, double value);
/* A number, or null if it is 0. */
void json_put_uint_or_null(json_writer *w, const char *key, uint64_t value);
void json_put_texts(json_writer *w, const char *key, const uar_str *texts, size_t count);
/* Scope, owner and the ids. */
void json_put_place(json_writer *w, const uar_memory_place *place);
void json_put_trust(json_writer *w, uar_memory_trust trust);
void json_put_provenance(json_writer *w, const uar_memory_provenance *from);
/* How many there are of each scope. */
void json_put_by_scope(json_writer *w, const uint64_t *by_scope);

#endif
