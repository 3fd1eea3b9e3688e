/* Owns the tensors of one model. */
#include "tiny_bert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char config[] =
    "{\"model_type\":\"bert\",\"vocab_size\":32,\"hidden_size\":24,\"num_hidden_layers\":2,\"num_attention_heads\":2,"
    "\"intermediate_size\":40,\"max_position_embeddings\":90,\"type_vocab_size\":2,\"layer_norm_eps\":1e-12,"
    "\"hidden_act\":\"gelu\"}";

static void *memory(size_t size) {
    void *ptr = calloc(1, size != 0 ? size : 1);
    if (ptr == NULL) abort();
    return ptr;
}

/* ---- The tensors ---- */

static float chance(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(*seed >> 33) / 1073741824.0f - 1.0f;
}

static void add(tiny_bert *t, uint64_t *seed, const char *name, size_t rows, size_t columns, float middle,
                float width) {
    tiny_tensor *to = &t->tensors[t->count++];
    (void)snprintf(to->name, sizeof to->name, "%s", name);
    to->rows = rows;
    to->columns = columns;
    size_t count = (rows != 0 ? rows : 1) * columns;
    to->numbers = memory(count * sizeof(float));
    for (size_t i = 0; i < count; i++)
        to->numbers[i] = middle + width * chance(seed);
}

static void add_norm(tiny_bert *t, uint64_t *seed, const char *part, bool old_names) {
    char name[96];
    (void)snprintf(name, sizeof name, "%s.%s", part, old_names ? "gamma" : "weight");
    add(t, seed, name, 0, TINY_HIDDEN, 1.0f, 0.3f);
    (void)snprintf(name, sizeof name, "%s.%s", part, old_names ? "beta" : "bias");
    add(t, seed, name, 0, TINY_HIDDEN, 0.0f, 0.3f);
}

static void add_linear(tiny_bert *t, uint64_t *seed, const char *part, size_t rows, size_t columns) {
    char name[96];
    (void)snprintf(name, sizeof name, "%s.weight", part);
    add(t, seed, name, rows, columns, 0.0f, 0.6f);
    (void)snprintf(name, sizeof name, "%s.bias", part);
    add(t, seed, name, 0, rows, 0.0f, 0.3f);
}

static void add_layer(tiny_bert *t, uint64_t *seed, int index, bool old_names) {
    static const struct {
        const char *part;
        size_t rows, columns; /* rows 0: a norm */
    } parts[] = {
        { "attention.self.query", TINY_HIDDEN, TINY_HIDDEN },
        { "attention.self.key", TINY_HIDDEN, TINY_HIDDEN },
        { "attention.self.value", TINY_HIDDEN, TINY_HIDDEN },
        { "attention.output.dense", TINY_HIDDEN, TINY_HIDDEN },
        { "attention.output.LayerNorm", 0, 0 },
        { "intermediate.dense", TINY_INNER, TINY_HIDDEN },
        { "output.dense", TINY_HIDDEN, TINY_INNER },
        { "output.LayerNorm", 0, 0 },
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char part[80];
        (void)snprintf(part, sizeof part, "encoder.layer.%d.%s", index, parts[i].part);
        if (parts[i].rows == 0)
            add_norm(t, seed, part, old_names);
        else
            add_linear(t, seed, part, parts[i].rows, parts[i].columns);
    }
}

/* ---- The file ---- */

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Cut to the type, so that what is written is what must be read. All numbers here are in the normal range of a half. */
static float rounded(float x, tiny_type type) {
    if (type == TINY_BF16) return float_of(bits_of(x) & 0xFFFF0000u);
    if (type != TINY_F16) return x;
    return fabsf(x) < 0.0001f ? 0.0f : float_of(bits_of(x) & 0xFFFFE000u);
}

static void write_number(char **at, float x, tiny_type type) {
    uint32_t bits = bits_of(x);
    if (type == TINY_BF16) bits >>= 16;
    if (type == TINY_F16 && x != 0)
        bits = (bits >> 16 & 0x8000u) | (((bits >> 23 & 0xFFu) - 112u) << 10) | (bits >> 13 & 0x3FFu);
    for (int i = 0; i < (type == TINY_F16 || type == TINY_BF16 ? 2 : 4); i++)
        *(*at)++ = (char)(bits >> 8 * i & 0xFFu);
}

static size_t count_of(const tiny_tensor *tensor) {
    return (tensor->rows != 0 ? tensor->rows : 1) * tensor->columns;
}

static bool is(const char *name, const char *wanted) {
    return wanted != NULL && strcmp(name, wanted) == 0;
}

/* One entry of the header; `at` is where its numbers begin. */
static size_t write_entry(char *out, size_t room, const tiny_tensor *tensor, const tiny_options *o, size_t at,
                          size_t end) {
    static const char *const types[] = { "F32", "F16", "BF16", "I32" };
    size_t columns = is(tensor->name, o->misshape) ? tensor->columns / 2 : tensor->columns;
    char shape[64];
    if (tensor->rows != 0)
        (void)snprintf(shape, sizeof shape, "%zu,%zu", is(tensor->name, o->misshape) ? tensor->rows * 2 : tensor->rows,
                       columns);
    else
        (void)snprintf(shape, sizeof shape, "%s%zu", is(tensor->name, o->misshape) ? "2," : "", columns);
    int len = snprintf(out, room, ",\"%s%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                       o->prefix != NULL ? o->prefix : "", tensor->name, types[o->type], shape, at, end);
    return (size_t)len;
}

static void write_file(tiny_bert *t, const tiny_options *o) {
    enum { ROOM = 16384 };
    char *header = memory(ROOM);
    size_t len = (size_t)snprintf(header, ROOM, "{\"__metadata__\":{\"format\":\"pt\"}");
    size_t width = o->type == TINY_F16 || o->type == TINY_BF16 ? 2 : 4, data = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (is(t->tensors[i].name, o->leave_out)) continue;
        size_t bytes = count_of(&t->tensors[i]) * width;
        len += write_entry(header + len, ROOM - len, &t->tensors[i], o, data, data + bytes);
        data += bytes;
    }
    header[len++] = '}';
    t->file_len = 8 + len + data;
    t->file = memory(t->file_len);
    for (int i = 0; i < 8; i++)
        t->file[i] = (char)(len >> 8 * i & 0xFFu);
    memcpy(t->file + 8, header, len);
    free(header);
    char *at = t->file + 8 + len;
    for (size_t i = 0; i < t->count; i++) {
        if (is(t->tensors[i].name, o->leave_out)) continue;
        for (size_t j = 0; j < count_of(&t->tensors[i]); j++)
            write_number(&at, t->tensors[i].numbers[j], o->type);
    }
}

void tiny_bert_make(tiny_bert *out, const tiny_options *options) {
    tiny_options o = { .type = TINY_F32 };
    if (options != NULL) o = *options;
    memset(out, 0, sizeof *out);
    uint64_t seed = 20261130;
    add(out, &seed, "embeddings.word_embeddings.weight", TINY_WORDS, TINY_HIDDEN, 0.0f, 1.0f);
    add(out, &seed, "embeddings.position_embeddings.weight", TINY_POSITIONS, TINY_HIDDEN, 0.0f, 0.5f);
    add(out, &seed, "embeddings.token_type_embeddings.weight", 2, TINY_HIDDEN, 0.0f, 0.5f);
    add_norm(out, &seed, "embeddings.LayerNorm", o.old_names);
    for (int i = 0; i < TINY_LAYERS; i++)
        add_layer(out, &seed, i, o.old_names);
    for (size_t i = 0; i < out->count; i++)
        for (size_t j = 0; j < count_of(&out->tensors[i]); j++)
            out->tensors[i].numbers[j] = rounded(out->tensors[i].numbers[j], o.type);
    if (o.not_finite) out->tensors[out->count - 3].numbers[5] = INFINITY;
    write_file(out, &o);
    uar_bert_files_init(&out->files);
    out->files.config = uar_str_of(config);
    out->files.vocabulary = uar_str_of(TINY_VOCABULARY);
    out->files.weights = uar_str_n(out->file, out->file_len);
}

void tiny_bert_free(tiny_bert *t) {
    for (size_t i = 0; i < t->count; i++)
        free(t->tensors[i].numbers);
    free(t->file);
    memset(t, 0, sizeof *t);
}

const float *tiny_bert_numbers(const tiny_bert *t, const char *name) {
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->tensors[i].name, name) == 0) return t->tensors[i].numbers;
    abort();
}

/* ---- The same model, computed plainly ---- */

static const float *part(const tiny_bert *t, int layer, const char *name) {
    char full[96];
    (void)snprintf(full, sizeof full, "encoder.layer.%d.%s", layer, name);
    return tiny_bert_numbers(t, full);
}

static void linear(double *out, const double *x, const float *weight, const float *bias, size_t rows, size_t columns) {
    for (size_t r = 0; r < rows; r++) {
        double sum = (double)bias[r];
        for (size_t c = 0; c < columns; c++)
            sum += (double)weight[r * columns + c] * x[c];
        out[r] = sum;
    }
}

static void norm(double *x, const float *gain, const float *shift) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < TINY_HIDDEN; i++)
        mean += x[i] / TINY_HIDDEN;
    for (size_t i = 0; i < TINY_HIDDEN; i++)
        variance += (x[i] - mean) * (x[i] - mean) / TINY_HIDDEN;
    for (size_t i = 0; i < TINY_HIDDEN; i++)
        x[i] = (x[i] - mean) / sqrt(variance + 1e-12) * (double)gain[i] + (double)shift[i];
}

typedef double row[TINY_HIDDEN];

static void attend(row *out, const tiny_bert *t, int layer, const row *x, size_t count) {
    enum { HEAD = TINY_HIDDEN / TINY_HEADS };
    row query[TINY_POSITIONS], key[TINY_POSITIONS], value[TINY_POSITIONS];
    for (size_t i = 0; i < count; i++) {
        linear(query[i], x[i], part(t, layer, "attention.self.query.weight"),
               part(t, layer, "attention.self.query.bias"), TINY_HIDDEN, TINY_HIDDEN);
        linear(key[i], x[i], part(t, layer, "attention.self.key.weight"), part(t, layer, "attention.self.key.bias"),
               TINY_HIDDEN, TINY_HIDDEN);
        linear(value[i], x[i], part(t, layer, "attention.self.value.weight"),
               part(t, layer, "attention.self.value.bias"), TINY_HIDDEN, TINY_HIDDEN);
    }
    for (size_t h = 0; h < TINY_HIDDEN; h += HEAD)
        for (size_t i = 0; i < count; i++) {
            double share[TINY_POSITIONS], sum = 0, mixed[HEAD] = { 0 };
            for (size_t j = 0; j < count; j++) {
                double score = 0;
                for (size_t k = h; k < h + HEAD; k++)
                    score += query[i][k] * key[j][k];
                sum += share[j] = exp(score / sqrt(HEAD));
            }
            for (size_t j = 0; j < count; j++)
                for (size_t k = 0; k < HEAD; k++)
                    mixed[k] += share[j] / sum * value[j][h + k];
            memcpy(&out[i][h], mixed, sizeof mixed);
        }
}

static void run_layer(row *x, const tiny_bert *t, int layer, size_t count) {
    row mixed[TINY_POSITIONS], more;
    double wide[TINY_INNER];
    attend(mixed, t, layer, (const row *)x, count);
    for (size_t i = 0; i < count; i++) {
        linear(more, mixed[i], part(t, layer, "attention.output.dense.weight"),
               part(t, layer, "attention.output.dense.bias"), TINY_HIDDEN, TINY_HIDDEN);
        for (size_t j = 0; j < TINY_HIDDEN; j++)
            x[i][j] += more[j];
        norm(x[i], part(t, layer, "attention.output.LayerNorm.weight"),
             part(t, layer, "attention.output.LayerNorm.bias"));
        linear(wide, x[i], part(t, layer, "intermediate.dense.weight"), part(t, layer, "intermediate.dense.bias"),
               TINY_INNER, TINY_HIDDEN);
        for (size_t j = 0; j < TINY_INNER; j++)
            wide[j] = wide[j] * 0.5 * (1 + erf(wide[j] / sqrt(2)));
        linear(more, wide, part(t, layer, "output.dense.weight"), part(t, layer, "output.dense.bias"), TINY_HIDDEN,
               TINY_INNER);
        for (size_t j = 0; j < TINY_HIDDEN; j++)
            x[i][j] += more[j];
        norm(x[i], part(t, layer, "output.LayerNorm.weight"), part(t, layer, "output.LayerNorm.bias"));
    }
}

void tiny_bert_rows(double *out, const tiny_bert *t, const int32_t *ids, size_t count) {
    row x[TINY_POSITIONS];
    const float *words = tiny_bert_numbers(t, "embeddings.word_embeddings.weight");
    const float *places = tiny_bert_numbers(t, "embeddings.position_embeddings.weight");
    const float *kinds = tiny_bert_numbers(t, "embeddings.token_type_embeddings.weight");
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < TINY_HIDDEN; j++)
            x[i][j] = (double)words[(size_t)ids[i] * TINY_HIDDEN + j] + (double)places[i * TINY_HIDDEN + j] +
                      (double)kinds[j];
        norm(x[i], tiny_bert_numbers(t, "embeddings.LayerNorm.weight"),
             tiny_bert_numbers(t, "embeddings.LayerNorm.bias"));
    }
    for (int i = 0; i < TINY_LAYERS; i++)
        run_layer(x, t, i, count);
    memcpy(out, x, count * sizeof x[0]);
}

void tiny_bert_vector(double out[TINY_HIDDEN], const tiny_bert *t, const int32_t *ids, size_t count) {
    row x[TINY_POSITIONS];
    double sum = 0;
    tiny_bert_rows(x[0], t, ids, count);
    for (size_t j = 0; j < TINY_HIDDEN; j++) {
        out[j] = 0;
        for (size_t i = 0; i < count; i++)
            out[j] += x[i][j] / (double)count;
        sum += out[j] * out[j];
    }
    for (size_t j = 0; j < TINY_HIDDEN; j++)
        out[j] /= sqrt(sum);
}
