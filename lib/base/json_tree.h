/*
 * Making nodes, the order of members by the bytes of their keys, and what in a string needs no escape. Internal to the JSON files of this folder.
 */
#ifndef UAR_LIB_BASE_JSON_TREE_H
#define UAR_LIB_BASE_JSON_TREE_H

#include "base/json.h"

/*
 * A node of the type with room behind it for a key and a text of these lengths, each with its NUL, at `string` and
 * `valuestring`; SIZE_MAX: it has none, and the pointer is NULL. The bytes are the caller's to fill. NULL: no memory.
 */
cJSON *json_node_new(const uar_allocator *a, int type, size_t key_len, size_t text_len);
#define JSON_NO_TEXT SIZE_MAX

/* The kind bits of a node's type; cJSON_Invalid for NULL. */
static inline int json_kind(const cJSON *node) {
    return node != NULL ? node->type & 0xFF : cJSON_Invalid;
}

/* A member in a list that is to be sorted. */
typedef struct json_entry {
    uint64_t head; /* the first eight bytes of the key, so that most comparisons stay in the list */
    size_t at;     /* of the caller; equal keys keep the order they had in the list */
    cJSON *node;
} json_entry;

json_entry json_entry_of(cJSON *node, size_t at);
/* Below, equal, above zero, by key bytes. */
int json_entry_compare(const json_entry *a, const json_entry *b);
/* Stable, n log n at worst, quick when it is sorted already. `scratch` has room for `count` entries too. */
void json_entries_sort(json_entry *entries, json_entry *scratch, size_t count);

/* End of the run of ASCII at p that stands for itself in a JSON string. */
const char *json_skip_plain(const char *p, const char *end);

#endif
