/* JSON for people's programs: see json_out.h. */
#include "json_out.h"

#include "json_syntax.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static cJSON *must_node(cJSON *node) {
    if (node == NULL) {
        fputs("uar: out of memory\n", stderr);
        _Exit(1);
    }
    return node;
}

void node_set(cJSON *object, const char *key, cJSON *value) {
    cJSON_AddItemToObject(object, key, must_node(value));
}

cJSON *node_text(uar_str text) {
    if (text.ptr == NULL) return must_node(cJSON_CreateNull());
    text_buffer valid = { 0 };
    size_t i = 0;
    while (i < text.len) {
        size_t n = text_fault(text.ptr + i, text.len - i);
        text_add(&valid, text.ptr + i, n);
        i += n;
        if (i == text.len) break;
        text_add_z(&valid, "\xEF\xBF\xBD");
        i++;
    }
    cJSON *node = must_node(cJSON_CreateString(valid.data != NULL ? valid.data : ""));
    text_free(&valid);
    return node;
}

cJSON *node_z(const char *text) {
    return node_text(uar_str_of(text));
}

cJSON *node_whole(uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    return must_node(cJSON_CreateRaw(digits));
}

cJSON *node_time(int64_t ms) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, ms);
    return must_node(cJSON_CreateRaw(digits));
}

cJSON *node_uuid(uar_uuid id) {
    char text[UAR_UUID_TEXT];
    if (uar_uuid_is_none(id)) return must_node(cJSON_CreateNull());
    uar_uuid_format(text, id);
    return node_z(text);
}

cJSON *node_usage(const uar_usage *usage) {
    cJSON *node = must_node(cJSON_CreateObject());
    node_set(node, "input", node_whole(usage->input));
    node_set(node, "cache_read", node_whole(usage->cache_read));
    node_set(node, "cache_write", node_whole(usage->cache_write));
    node_set(node, "output", node_whole(usage->output));
    node_set(node, "reasoning", node_whole(usage->reasoning));
    node_set(node, "known", must_node(cJSON_CreateBool(usage->known)));
    return node;
}

cJSON *node_raw(uar_str text) {
    if (text.len == 0 || json_fault(text, NULL) != text.len) return node_text(text);
    char *copy = must_copy(text);
    cJSON_Minify(copy);
    cJSON *node = must_node(cJSON_CreateRaw(copy));
    free(copy);
    return node;
}

char *node_line(cJSON *value) {
    char *line = cJSON_PrintUnformatted(must_node(value));
    if (line == NULL) must_node(NULL);
    cJSON_Delete(value);
    return line;
}
