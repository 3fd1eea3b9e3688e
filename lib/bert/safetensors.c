/* Owns the parsed header. Invariant: what is in `header` has been checked, so that finding can't fail but for the name. */
#include "bert/safetensors.h"

#include "base/error.h"

typedef struct type_entry {
    const char *name;
    tensor_type type;
    unsigned bytes;
} type_entry;

static const type_entry types[] = {
    { "F32", TENSOR_F32, 4 },    { "F16", TENSOR_F16, 2 },   { "BF16", TENSOR_BF16, 2 }, { "F64", TENSOR_OTHER, 8 },
    { "I64", TENSOR_OTHER, 8 },  { "I32", TENSOR_OTHER, 4 }, { "I16", TENSOR_OTHER, 2 }, { "I8", TENSOR_OTHER, 1 },
    { "U64", TENSOR_OTHER, 8 },  { "U32", TENSOR_OTHER, 4 }, { "U16", TENSOR_OTHER, 2 }, { "U8", TENSOR_OTHER, 1 },
    { "BOOL", TENSOR_OTHER, 1 },
};

static const type_entry *type_of(uar_str name) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (uar_str_equal(name, uar_str_of(types[i].name))) return &types[i];
    return NULL;
}

/* The shape and how many bytes it takes; false: not a list of whole numbers, or beyond all sizes. */
static bool read_shape(tensor *t, const cJSON *list, unsigned bytes) {
    t->bytes = bytes;
    if (!cJSON_IsArray(list)) return false;
    for (const cJSON *n = list->child; n != NULL; n = n->next) {
        uint64_t extent;
        if (t->rank == TENSOR_MAX_RANK || !json_node_u64(n, &extent)) return false;
        if (extent != 0 && t->bytes > (uint64_t)INT64_MAX / extent) return false;
        t->shape[t->rank++] = extent;
        t->bytes *= extent;
    }
    return true;
}

static uar_status read_entry(tensor *out, const safetensors *s, const cJSON *node, uar_error *err) {
    const char *name = node->string;
    const type_entry *type = type_of(json_text(node, "dtype"));
    if (type == NULL) return error_set(err, UAR_E_UNSUPPORTED, "tensor %s: its type is not known", name);
    tensor t = { .type = type->type };
    if (!read_shape(&t, json_member(node, "shape"), type->bytes))
        return error_set(err, UAR_E_SCHEMA, "tensor %s: its shape is not a list of sizes", name);
    const cJSON *offsets = json_member(node, "data_offsets");
    uint64_t begin, end;
    if (!cJSON_IsArray(offsets) || !json_node_u64(offsets->child, &begin) || offsets->child->next == NULL ||
        !json_node_u64(offsets->child->next, &end) || offsets->child->next->next != NULL || begin > end)
        return error_set(err, UAR_E_SCHEMA, "tensor %s: data_offsets is not a begin and an end", name);
    if (end - begin != t.bytes)
        return error_set(err, UAR_E_SCHEMA, "tensor %s: its shape needs %llu bytes, it has %llu", name,
                         (unsigned long long)t.bytes, (unsigned long long)(end - begin));
    if (end > s->from->size - s->data) return error_set(err, UAR_E_CORRUPT, "tensor %s: the file ends before it", name);
    t.at = s->data + begin;
    *out = t;
    return UAR_OK;
}

static bool is_tensor(const cJSON *node) {
    return node->string != NULL && strcmp(node->string, "__metadata__") != 0;
}

static uar_status check_entries(const safetensors *s, uar_error *err) {
    if (!cJSON_IsObject(s->header)) return error_set(err, UAR_E_SCHEMA, "the header of the weights is no JSON object");
    uar_status status = UAR_OK;
    tensor unused;
    for (const cJSON *n = s->header->child; n != NULL && status == UAR_OK; n = n->next)
        if (is_tensor(n)) status = read_entry(&unused, s, n, err);
    return status;
}

static uar_status header_length(size_t *out, source *from, uar_error *err) {
    uint8_t raw[8];
    if (from->size < sizeof raw) return error_set(err, UAR_E_CORRUPT, "the weights end inside their first 8 bytes");
    uar_status status = source_read(raw, from, 0, sizeof raw, err);
    if (status != UAR_OK) return status;
    uint64_t len = 0;
    for (int i = 7; i >= 0; i--)
        len = len << 8 | raw[i];
    if (len > SAFETENSORS_MAX_HEADER)
        return error_set(err, UAR_E_TOO_LARGE, "the header of the weights has %llu bytes, at most %zu are read",
                         (unsigned long long)len, SAFETENSORS_MAX_HEADER);
    if (len > from->size - sizeof raw) return error_set(err, UAR_E_CORRUPT, "the weights end inside their header");
    *out = (size_t)len;
    return UAR_OK;
}

uar_status safetensors_open(safetensors *out, const uar_allocator *a, source *from, uar_error *err) {
    size_t len = 0;
    uar_status status = header_length(&len, from, err);
    if (status != UAR_OK) return status;
    safetensors s = { a, from, NULL, 8 + len };
    char *text = alloc_bytes(a, len + 1);
    if (text == NULL) return error_plain(err, UAR_E_NOMEM);
    status = source_read(text, from, 8, len, err);
    uar_error fault = UAR_ERROR_INIT;
    if (status == UAR_OK) {
        status = json_read(&s.header, a, uar_str_n(text, len), SAFETENSORS_MAX_HEADER, &fault);
        if (status != UAR_OK) (void)error_set(err, status, "the header of the weights: %s", fault.message);
    }
    alloc_free(a, text);
    if (status == UAR_OK) status = check_entries(&s, err);
    if (status == UAR_OK)
        *out = s;
    else
        json_free(a, s.header);
    return status;
}

void safetensors_dispose(safetensors *s) {
    json_free(s->alloc, s->header);
    s->header = NULL;
}

uar_status safetensors_find(tensor *out, const safetensors *s, const char *name, uar_error *err) {
    const cJSON *node = json_member(s->header, name);
    if (node == NULL || !is_tensor(node)) return error_set(err, UAR_E_NOT_FOUND, "the weights have no tensor %s", name);
    return read_entry(out, s, node, err);
}

static float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Half precision: 5 bits of exponent, 10 of fraction. */
static float float_of_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 0x3FFu;
    if (exponent == 31) return float_of_bits(sign | 0x7F800000u | fraction << 13);
    if (exponent != 0) return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float tiny = (float)fraction * (1.0f / 16777216);
    return sign != 0 ? -tiny : tiny;
}

static float number_at(const uint8_t *p, tensor_type type) {
    uint32_t low = (uint32_t)(p[0] | p[1] << 8);
    if (type == TENSOR_F16) return float_of_half((uint16_t)low);
    if (type == TENSOR_BF16) return float_of_bits(low << 16);
    return float_of_bits(low | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

#define PIECE ((size_t)8192)

uar_status safetensors_read(float *out, const safetensors *s, const tensor *t, uint64_t first, size_t count,
                            uar_error *err) {
    if (t->type == TENSOR_OTHER)
        return error_set(err, UAR_E_UNSUPPORTED, "a tensor that should hold weights holds no floats");
    size_t width = t->type == TENSOR_F32 ? 4 : 2;
    if (first > t->bytes / width || count > t->bytes / width - first)
        return error_set(err, UAR_E_SCHEMA, "a tensor is smaller than what is read from it");
    uint8_t piece[PIECE];
    for (size_t done = 0; done < count;) {
        size_t n = count - done < PIECE / width ? count - done : PIECE / width;
        uar_status status = source_read(piece, s->from, t->at + (first + done) * width, n * width, err);
        if (status != UAR_OK) return status;
        float sum = 0;
        for (size_t i = 0; i < n; i++) {
            float x = number_at(piece + i * width, t->type);
            out[done + i] = x;
            sum += x - x; /* stays 0 as long as all are finite */
        }
        if (!(sum == 0)) return error_set(err, UAR_E_SCHEMA, "the weights hold a number that is not finite");
        done += n;
    }
    return UAR_OK;
}
