/*
 * JSON: cJSON is the document model (node layout, read accessors such as cJSON_GetObjectItemCaseSensitive, cJSON_IsString);
 * reading, writing, making and freeing are ours, from the runtime's allocator.
 *
 * Strict reading: RFC 8259; depth 64; no duplicate keys; no U+0000 (raw or escaped); valid UTF-8 and paired surrogates; no
 * trailing text; no byte order mark. A number node keeps its raw token in `valuestring` (and a double in `valuedouble`,
 * clamped to finite), so that the writer prints it back unchanged.
 * Provider reading (JSON_PROVIDER): as strict, but an escaped U+0000 becomes U+FFFD; a lone surrogate escape is kept as
 * WTF-8 (three bytes) so that a utf8_lane can join it with its other half in the next chunk; of duplicate keys the last
 * wins and keeps its own place. Each is counted in json_notes. A raw U+0000 is no JSON in either mode.
 *
 * A tree is read-only: each node is one allocation that holds its key and text too. All calls may be made from any thread
 * as long as nobody frees the tree meanwhile.
 */
#ifndef UAR_LIB_BASE_JSON_H
#define UAR_LIB_BASE_JSON_H

#include <cjson/cJSON.h>

#include "base/buffer.h"

#define JSON_MAX_DEPTH 64

typedef enum json_mode { JSON_STRICT = 0, JSON_PROVIDER = 1 } json_mode;

typedef struct json_notes {
    uint32_t nuls;       /* U+0000 replaced */
    uint32_t surrogates; /* lone surrogates kept as WTF-8 */
    uint32_t duplicates; /* keys that a later one replaced */
} json_notes;

/*
 * Read strict JSON of at most `max` bytes. UAR_E_JSON: the message names the fault, its byte (from 0), line and column
 * (from 1, in characters); UAR_E_TOO_LARGE: more than max bytes; UAR_E_NOMEM. Empty or absent text is UAR_E_JSON.
 */
uar_status json_read(cJSON **out, const uar_allocator *a, uar_str text, size_t max, uar_error *err);
/* `notes` may be NULL; it is written only on success, and all zero in strict mode. */
uar_status json_read_mode(cJSON **out, const uar_allocator *a, uar_str text, size_t max, json_mode mode,
                          json_notes *notes, uar_error *err);
/* Free a tree made by json_read*; NULL is fine. No recursion. */
void json_free(const uar_allocator *a, cJSON *node);

/* Reading typed members of an object. `node` may be NULL or no object: then absent. */
const cJSON *json_member(const cJSON *object, const char *key);
uar_str json_text(const cJSON *object, const char *key); /* absent if missing or no string; U+0000 can't occur */
bool json_flag(const cJSON *object, const char *key, bool fallback);
/* Strict forms: false if the member is missing or of another type. The text is appended to `out`, whose error sticks. */
bool json_read_flag(bool *out, const cJSON *object, const char *key);
bool json_read_text(buffer *out, const cJSON *object, const char *key);
bool json_u64(const cJSON *object, const char *key, uint64_t *out); /* false: missing, no integer, out of range */
bool json_i64(const cJSON *object, const char *key, int64_t *out);
bool json_f64(const cJSON *object, const char *key, double *out);
/* The same for a node itself. 1.0 and 1e2 count as integers; the raw token decides, exactly. */
bool json_node_u64(const cJSON *node, uint64_t *out);
bool json_node_i64(const cJSON *node, int64_t *out);
uar_str json_node_text(const cJSON *node);

/* Locale-free number text to double; false if it isn't a JSON number. Overflow is clamped to the largest finite one. */
bool json_number(uar_str token, double *out);
/*
 * Fewest digits that read back as the same double (of those the nearest, half way the even one), plain from 1e-6 to below
 * 1e21, else with an exponent. Minus zero is "-0". Non-finite values are written as null.
 */
void json_append_double(buffer *out, double value);
/*
 * A quoted string with the least escapes; an absent text is "". What the strict reader would refuse is written as U+FFFD:
 * each maximal broken sequence, each surrogate, U+0000.
 */
void json_append_string(buffer *out, uar_str s);
/*
 * A tree: compact, members in document order; or canonical: members sorted by key bytes. Numbers keep their raw token in
 * both, so 1.0 and 1 stay apart. NULL is written as null. Canonical takes memory for objects of more than 16 members.
 */
void json_append_node(buffer *out, const cJSON *node);
void json_append_canonical(buffer *out, const cJSON *node);

/* A writer that places commas. Errors stick in the buffer. Depth at most 64, deeper is UAR_E_TOO_LARGE. */
typedef struct json_writer {
    buffer *out;
    uint64_t has_item; /* one bit a depth */
    unsigned depth;
    bool after_key;
} json_writer;

void json_writer_init(json_writer *w, buffer *out);
void json_object_begin(json_writer *w);
void json_object_end(json_writer *w);
void json_array_begin(json_writer *w);
void json_array_end(json_writer *w);
void json_key(json_writer *w, const char *key);
void json_key_str(json_writer *w, uar_str key);
void json_str(json_writer *w, uar_str value); /* an absent text writes null */
void json_uint(json_writer *w, uint64_t value);
void json_int(json_writer *w, int64_t value);
void json_double(json_writer *w, double value);
void json_bool(json_writer *w, bool value);
void json_null(json_writer *w);
void json_raw(json_writer *w, uar_str json);    /* text that is JSON already; absent writes null */
void json_uuid(json_writer *w, uar_uuid value); /* none writes null */
/* key and value in one call */
void json_put_str(json_writer *w, const char *key, uar_str value);
void json_put_uint(json_writer *w, const char *key, uint64_t value);
void json_put_int(json_writer *w, const char *key, int64_t value);
void json_put_bool(json_writer *w, const char *key, bool value);
void json_put_raw(json_writer *w, const char *key, uar_str json);
void json_put_uuid(json_writer *w, const char *key, uar_uuid value);

#endif
