/*
 * Owns one block that holds all numbers. Invariants: padding is zero; int8 codes stay within -127 ... 127; a matrix has
 * either panels or codes, as `precision` says.
 */
#include "bert/weights.h"

#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "bert/carver.h"

/* ---- Where each array lies ---- */

static void cut_matrix(matrix *m, carver *c, uar_bert_precision precision, size_t inputs, size_t outputs) {
    m->inputs = inputs;
    m->outputs = outputs;
    m->bias = carve(c, outputs, sizeof(float));
    if (precision == UAR_BERT_FP32) {
        m->panels = carve(c, outputs * inputs, sizeof(float));
        return;
    }
    m->codes = carve(c, outputs * ((inputs + 3) / 4 * 4), 1);
    m->scales = carve(c, outputs, sizeof(float));
    m->sums = carve(c, outputs, sizeof(int32_t));
}

static void cut_norm(layer_norm *n, carver *c, size_t width) {
    n->gain = carve(c, width, sizeof(float));
    n->shift = carve(c, width, sizeof(float));
}

static void cut_all(weights *w, carver *c, const config *shape) {
    if (w->precision == UAR_BERT_FP32) {
        w->words = carve(c, shape->words * shape->hidden, sizeof(float));
    } else {
        w->word_codes = carve(c, shape->words * shape->hidden, 1);
        w->word_scales = carve(c, shape->words, sizeof(float));
    }
    w->places = carve(c, shape->positions * w->width, sizeof(float));
    cut_norm(&w->first, c, w->width);
    w->layers = carve(c, shape->layers, sizeof(layer));
    for (size_t i = 0; i < shape->layers; i++) {
        layer measured, *l = w->layers != NULL ? &w->layers[i] : &measured;
        cut_matrix(&l->attend, c, w->precision, shape->hidden, 3 * w->width);
        cut_matrix(&l->gather, c, w->precision, shape->hidden, w->width);
        cut_norm(&l->after_attention, c, w->width);
        cut_matrix(&l->expand, c, w->precision, shape->hidden, w->inner);
        cut_matrix(&l->contract, c, w->precision, shape->inner, w->width);
        cut_norm(&l->after_expansion, c, w->width);
    }
}

/* ---- Reading ---- */

typedef struct loader {
    weights *w;
    const config *shape;
    const safetensors *from;
    const char *prefix; /* in front of each name: "" or "bert." */
    float *rows;        /* room for the largest matrix */
    digest digest;
    uar_error *err;
} loader;

#define NAME_ROOM 160

/* The tensor `name` (a pattern with the layer's number) with this shape; rows 0: it has one extent. */
static uar_status find(tensor *out, loader *l, const char *name, size_t rows, size_t columns) {
    uar_status status = safetensors_find(out, l->from, name, l->err);
    if (status != UAR_OK) return status;
    unsigned rank = rows != 0 ? 2 : 1;
    if (out->rank == rank && out->shape[rank - 1] == columns && (rows == 0 || out->shape[0] == rows)) return UAR_OK;
    if (rows == 0) return error_set(l->err, UAR_E_SCHEMA, "tensor %s: its shape is not %zu", name, columns);
    return error_set(l->err, UAR_E_SCHEMA, "tensor %s: its shape is not %zu by %zu", name, rows, columns);
}

static uar_status read_rows(float *out, loader *l, const tensor *t, uint64_t first, size_t count) {
    uar_status status = safetensors_read(out, l->from, t, first, count, l->err);
    if (status == UAR_OK) digest_add(&l->digest, out, count * sizeof(float));
    return status;
}

/* PREFIX + PART + END into `out`. The parts are ours and short. */
static const char *join(char out[NAME_ROOM], const loader *l, const char *part, const char *end) {
    int len = snprintf(out, NAME_ROOM, "%s%s%s", l->prefix, part, end);
    assert(len > 0 && len < NAME_ROOM);
    (void)len;
    return out;
}

static uar_status read_vector(float *out, loader *l, const char *part, const char *end, size_t count) {
    char name[NAME_ROOM];
    tensor t;
    uar_status status = find(&t, l, join(name, l, part, end), 0, count);
    return status == UAR_OK ? read_rows(out, l, &t, 0, count) : status;
}

/* Older files call the gain gamma and the shift beta. */
static uar_status read_norm(layer_norm *n, loader *l, const char *part) {
    char name[NAME_ROOM];
    tensor unused;
    bool old = safetensors_find(&unused, l->from, join(name, l, part, ".weight"), NULL) == UAR_E_NOT_FOUND &&
               safetensors_find(&unused, l->from, join(name, l, part, ".gamma"), NULL) == UAR_OK;
    uar_status status = read_vector(n->gain, l, part, old ? ".gamma" : ".weight", l->shape->hidden);
    return status == UAR_OK ? read_vector(n->shift, l, part, old ? ".beta" : ".bias", l->shape->hidden) : status;
}

/* ---- Packing ---- */

static void pack_floats(matrix *m, size_t column, const float *row) {
    float *to = m->panels + column / PANEL * PANEL * m->inputs + column % PANEL;
    for (size_t i = 0; i < m->inputs; i++)
        to[i * PANEL] = row[i];
}

static int32_t code_of(float x, float inverse) {
    float scaled = x * inverse;
    int32_t code = (int32_t)(scaled < 0 ? scaled - 0.5f : scaled + 0.5f);
    return code < -127 ? -127 : code > 127 ? 127 : code;
}

static float largest(const float *row, size_t n) {
    float most = 0;
    for (size_t i = 0; i < n; i++)
        if (fabsf(row[i]) > most) most = fabsf(row[i]);
    return most;
}

/* Squared, in lanes that the compiler turns into vectors. */
static float loss_of(const float *row, size_t n, float scale) {
    float lane[PANEL] = { 0 }, inverse = 1.0f / scale, loss = 0;
    for (size_t i = 0; i + PANEL <= n; i += PANEL)
        for (size_t j = 0; j < PANEL; j++) {
            float d = row[i + j] - (float)code_of(row[i + j], inverse) * scale;
            lane[j] += d * d;
        }
    for (size_t i = n / PANEL * PANEL; i < n; i++) {
        float d = row[i] - (float)code_of(row[i], inverse) * scale;
        loss += d * d;
    }
    for (size_t j = 0; j < PANEL; j++)
        loss += lane[j];
    return loss;
}

/* The scale of a row with the least squared loss: cutting off the outermost numbers may cost less than coarser steps. */
static float best_scale(const float *row, size_t n) {
    static const float shares[] = { 1.0f, 0.92f, 0.84f, 0.76f };
    float most = largest(row, n);
    if (!(most > 1e-30f)) return 1.0f;
    float best = most / 127.0f;
    float least = loss_of(row, n, best);
    for (size_t i = 1; i < sizeof shares / sizeof shares[0]; i++) {
        float loss = loss_of(row, n, most * shares[i] / 127.0f);
        if (loss >= least) break;
        least = loss;
        best = most * shares[i] / 127.0f;
    }
    return best;
}

static void pack_bytes(matrix *m, size_t column, const float *row) {
    size_t groups = (m->inputs + 3) / 4;
    int8_t *to = m->codes + column / PANEL * PANEL * groups * 4 + column % PANEL * 4;
    float scale = best_scale(row, m->inputs), inverse = 1.0f / scale;
    int32_t sum = 0;
    for (size_t i = 0; i < m->inputs; i++) {
        int32_t code = code_of(row[i], inverse);
        to[i / 4 * PANEL * 4 + i % 4] = (int8_t)code;
        sum += code;
    }
    m->scales[column] = scale;
    m->sums[column] = sum;
}

/* `rows` outputs of the linear map `part`, from column `at` of the matrix on. */
static uar_status read_linear(matrix *m, loader *l, const char *part, size_t rows, size_t at) {
    char name[NAME_ROOM];
    tensor t;
    uar_status status = find(&t, l, join(name, l, part, ".weight"), rows, m->inputs);
    if (status == UAR_OK) status = read_rows(l->rows, l, &t, 0, rows * m->inputs);
    if (status != UAR_OK) return status;
    for (size_t r = 0; r < rows; r++) {
        const float *row = l->rows + r * m->inputs;
        if (l->w->precision == UAR_BERT_FP32)
            pack_floats(m, at + r, row);
        else
            pack_bytes(m, at + r, row);
    }
    return read_vector(m->bias + at, l, part, ".bias", rows);
}

/* ---- The parts ---- */

static uar_status read_words(loader *l) {
    char name[NAME_ROOM];
    tensor t;
    weights *w = l->w;
    size_t hidden = l->shape->hidden;
    uar_status status = find(&t, l, join(name, l, "embeddings.word_embeddings", ".weight"), l->shape->words, hidden);
    for (size_t i = 0; i < l->shape->words && status == UAR_OK; i++) {
        float *row = w->precision == UAR_BERT_FP32 ? w->words + i * hidden : l->rows;
        status = read_rows(row, l, &t, i * hidden, hidden);
        if (status != UAR_OK || w->precision == UAR_BERT_FP32) continue;
        float scale = best_scale(row, hidden), inverse = 1.0f / scale;
        for (size_t j = 0; j < hidden; j++)
            w->word_codes[i * hidden + j] = (int8_t)code_of(row[j], inverse);
        w->word_scales[i] = scale;
    }
    return status;
}

static uar_status read_places(loader *l) {
    char name[NAME_ROOM];
    tensor places, kinds;
    size_t hidden = l->shape->hidden;
    uar_status status =
        find(&places, l, join(name, l, "embeddings.position_embeddings", ".weight"), l->shape->positions, hidden);
    if (status == UAR_OK)
        status = find(&kinds, l, join(name, l, "embeddings.token_type_embeddings", ".weight"), l->shape->kinds, hidden);
    if (status == UAR_OK) status = read_rows(l->rows, l, &kinds, 0, hidden);
    for (size_t i = 0; i < l->shape->positions && status == UAR_OK; i++) {
        float *row = l->w->places + i * l->w->width;
        status = read_rows(row, l, &places, i * hidden, hidden);
        for (size_t j = 0; j < hidden && status == UAR_OK; j++)
            row[j] += l->rows[j];
    }
    return status == UAR_OK ? read_norm(&l->w->first, l, "embeddings.LayerNorm") : status;
}

static uar_status read_layer(loader *l, size_t index) {
    static const char *const attend[] = { "query", "key", "value" };
    char part[NAME_ROOM];
    layer *to = &l->w->layers[index];
    uar_status status = UAR_OK;
    for (size_t i = 0; i < 3 && status == UAR_OK; i++) {
        (void)snprintf(part, sizeof part, "encoder.layer.%zu.attention.self.%s", index, attend[i]);
        status = read_linear(&to->attend, l, part, l->shape->hidden, i * l->w->width);
    }
    const struct {
        const char *part;
        matrix *matrix;
        layer_norm *norm;
        size_t rows;
    } rest[] = {
        { "attention.output.dense", &to->gather, NULL, l->shape->hidden },
        { "attention.output.LayerNorm", NULL, &to->after_attention, 0 },
        { "intermediate.dense", &to->expand, NULL, l->shape->inner },
        { "output.dense", &to->contract, NULL, l->shape->hidden },
        { "output.LayerNorm", NULL, &to->after_expansion, 0 },
    };
    for (size_t i = 0; i < sizeof rest / sizeof rest[0] && status == UAR_OK; i++) {
        (void)snprintf(part, sizeof part, "encoder.layer.%zu.%s", index, rest[i].part);
        status = rest[i].matrix != NULL ? read_linear(rest[i].matrix, l, part, rest[i].rows, 0)
                                        : read_norm(rest[i].norm, l, part);
    }
    return status;
}

static uar_status read_all(loader *l) {
    tensor unused;
    bool bare = safetensors_find(&unused, l->from, "bert.embeddings.word_embeddings.weight", NULL) != UAR_OK;
    l->prefix = bare ? "" : "bert.";
    uar_status status = read_words(l);
    if (status == UAR_OK) status = read_places(l);
    for (size_t i = 0; i < l->shape->layers && status == UAR_OK; i++)
        status = read_layer(l, i);
    return status;
}

uar_status weights_load(weights *out, const uar_allocator *a, const config *c, uar_bert_precision precision,
                        const safetensors *from, uar_error *err) {
    weights w = { .alloc = a, .precision = precision, .width = panel_round(c->hidden), .inner = panel_round(c->inner) };
    carver cut = { NULL, 0, false };
    cut_all(&w, &cut, c);
    size_t measured = cut.used;
    if (!carver_begin(&cut, &w.block, a)) return error_plain(err, UAR_E_NOMEM);
    memset(cut.block, 0, measured);
    cut_all(&w, &cut, c);
    loader l = { .w = &w, .shape = c, .from = from, .err = err };
    digest_init(&l.digest);
    size_t larger = c->inner > c->hidden ? c->inner : c->hidden;
    l.rows = alloc_zeroed(a, larger * c->hidden, sizeof(float));
    uar_status status = l.rows != NULL ? read_all(&l) : error_plain(err, UAR_E_NOMEM);
    alloc_free(a, l.rows);
    if (status != UAR_OK) {
        weights_dispose(&w);
        return status;
    }
    w.digest = digest_value(&l.digest);
    *out = w;
    return UAR_OK;
}

void weights_dispose(weights *w) {
    alloc_free(w->alloc, w->block);
    w->block = NULL;
}
