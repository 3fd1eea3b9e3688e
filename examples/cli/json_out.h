/*
 * JSON for people's programs: values built with cJSON, printed as one line.
 *
 * Each value made here belongs to the object it is set into; node_line frees what it prints.
 */
#ifndef UAR_CLI_JSON_OUT_H
#define UAR_CLI_JSON_OUT_H

#include <uar/sys/model.h>

#include <cjson/cJSON.h>

/* Set a member; `value` then belongs to `object`. */
void node_set(cJSON *object, const char *key, cJSON *value);
/* Text, or null where it is absent. Bytes that aren't UTF-8 become U+FFFD. */
cJSON *node_text(uar_str text);
cJSON *node_z(const char *text);
cJSON *node_whole(uint64_t value);
cJSON *node_time(int64_t ms);
cJSON *node_uuid(uar_uuid id); /* null for none */
cJSON *node_usage(const uar_usage *usage);
/* Text that should be JSON: taken over as it is with every digit, or as a string if it isn't JSON. */
cJSON *node_raw(uar_str text);

/* One line without its line feed; frees `value`. Free the line with free(). */
char *node_line(cJSON *value);

#endif
