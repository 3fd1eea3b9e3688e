/*
 * A schema, a line end, a value. Both are refused, or the check ends within its budget with a verdict that doesn't depend on
 * whether a message is asked for; a value that is equal but written otherwise gets the same; nothing leaks.
 */
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "fuzz/property.h"
#include "schema/schema.h"
#include "support/probe_alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static cJSON *read_tree(const uar_allocator *a, uar_str text) {
    cJSON *tree = NULL;
    return json_read(&tree, a, text, SIZE_MAX, NULL) == UAR_OK ? tree : NULL;
}

/* With members sorted by their names. */
static cJSON *sorted_twin(const uar_allocator *a, const cJSON *tree) {
    buffer text;
    buffer_init(&text, a, SIZE_MAX / 4);
    json_append_canonical(&text, tree);
    cJSON *twin = read_tree(a, buffer_str(&text));
    PROPERTY(twin != NULL);
    buffer_dispose(&text);
    return twin;
}

static void check_value(const schema *s, const uar_allocator *a, const cJSON *value) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = schema_check(s, value, &err);
    PROPERTY(status == UAR_OK || status == UAR_E_SCHEMA || status == UAR_E_TOO_LARGE);
    PROPERTY(status == UAR_OK || (err.code == status && err.message[0] != '\0'));
    PROPERTY(utf8_is_valid(uar_str_of(err.message)));
    if (status == UAR_E_TOO_LARGE) return;
    uar_status quiet = schema_check(s, value, NULL);
    PROPERTY(quiet == status || quiet == UAR_E_TOO_LARGE);
    cJSON *twin = sorted_twin(a, value);
    uar_status again = schema_check(s, twin, NULL);
    PROPERTY(again == status || again == UAR_E_TOO_LARGE);
    json_free(a, twin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *stop = size > 0 ? memchr(data, '\n', size) : NULL;
    if (stop == NULL) return 0;
    size_t len = (size_t)(stop - data);
    probe_alloc probe;
    probe_alloc_init(&probe);
    cJSON *document = read_tree(&probe.door, uar_str_n((const char *)data, len));
    cJSON *value = read_tree(&probe.door, uar_str_n((const char *)stop + 1, size - len - 1));
    if (document != NULL) {
        schema *s = NULL;
        uar_error err = UAR_ERROR_INIT;
        uar_status status = schema_compile(&s, &probe.door, document, &err);
        PROPERTY(status == UAR_OK || status == UAR_E_SCHEMA || status == UAR_E_UNSUPPORTED);
        PROPERTY((status == UAR_OK) == (s != NULL) && (status == UAR_OK) == (err.code == UAR_OK));
        json_free(&probe.door, document);
        if (s != NULL && value != NULL) check_value(s, &probe.door, value);
        schema_free(s);
    }
    json_free(&probe.door, value);
    PROPERTY(probe.alive == 0);
    return 0;
}
