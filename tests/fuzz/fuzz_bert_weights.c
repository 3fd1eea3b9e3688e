/*
 * Any bytes as a safetensors file. What must hold: it is refused with a typed error and nothing is left behind, or each
 * tensor that it names lies inside it and is read whole, or refused for its type or for a number that isn't finite.
 */
#include "bert/safetensors.h"
#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_tensor(const safetensors *s, const char *name) {
    tensor t;
    PROPERTY(safetensors_find(&t, s, name, NULL) == UAR_OK);
    PROPERTY(t.at <= s->from->size && t.bytes <= s->from->size - t.at);
    size_t width = t.type == TENSOR_F32 ? 4 : 2, count = (size_t)(t.bytes / width);
    float *out = alloc_zeroed(&alloc_default, count + 1, sizeof *out);
    PROPERTY(out != NULL);
    out[count] = 42;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = safetensors_read(out, s, &t, 0, count, &err);
    PROPERTY(err.code == status && out[count] == 42);
    PROPERTY(status == UAR_OK || status == UAR_E_UNSUPPORTED || status == UAR_E_SCHEMA);
    PROPERTY(safetensors_read(out, s, &t, 1, count, NULL) != UAR_OK);
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        PROPERTY(out[i] - out[i] == 0);
    alloc_free(&alloc_default, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    source from;
    source_of_memory(&from, uar_str_n((const char *)data, size));
    safetensors s;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = safetensors_open(&s, &alloc_default, &from, &err);
    PROPERTY(err.code == status);
    if (status != UAR_OK) return 0;
    for (const cJSON *n = s.header->child; n != NULL; n = n->next)
        if (n->string != NULL && strcmp(n->string, "__metadata__") != 0) read_tensor(&s, n->string);
    safetensors_dispose(&s);
    return 0;
}
