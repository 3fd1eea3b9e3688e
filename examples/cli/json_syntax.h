/*
 * Is it JSON? The check that cJSON's lenient parser doesn't make: RFC 8259 to the letter, valid UTF-8, no U+0000, no lone
 * surrogates, at most 64 levels, nothing behind the value.
 */
#ifndef UAR_CLI_JSON_SYNTAX_H
#define UAR_CLI_JSON_SYNTAX_H

#include <uar/base.h>

#include <cjson/cJSON.h>

/* Offset of the first fault, or `text.len` if the text is one JSON value. `*why` (may be NULL) names the fault. An empty
 * text has its fault at 0 too: tell it by its length. */
size_t json_fault(uar_str text, const char **why);
/* Parse what passed the check above. NULL, with a fault and its place, if it doesn't. Free with cJSON_Delete. */
cJSON *json_parse(uar_str text, size_t *fault, const char **why);

/* The text of item `index` of a JSON array, and of the member `key` (which needs no escapes) of an object, as it was
 * written: numbers keep all their digits. The texts passed json_fault. Absent if there is none. */
uar_str json_raw_item(uar_str array, size_t index);
uar_str json_raw_member(uar_str object, const char *key);
/* True if no object in the text has a key twice, escapes undone. The text passed json_fault. */
bool json_keys_differ(uar_str text);

#endif
