/*
 * Owns the scratch. All windows of a pass lie row under row, without padding between them: products run over all rows at
 * once, attention over the rows of one window.
 * Invariant: what pads a row of activations is zero from the first norm on.
 */
#include "bert/encoder.h"

#include <assert.h>
#include <math.h>

#include "bert/carver.h"

/* Rows whose scores are held at a time: so memory grows with a window, not with its square. */
#define ATTEND_ROWS ((size_t)64)

void scratch_init(scratch *s, const uar_allocator *a) {
    *s = (scratch){ .alloc = a };
}

void scratch_dispose(scratch *s) {
    alloc_free(s->alloc, s->block);
    scratch_init(s, s->alloc);
}

/* Floats from one row between expand and contract to the next: never a multiple of a page, or all rows of a tile would
 * fight for the same lines of the cache. */
static size_t inner_step(const encoder *e) {
    return e->weights->inner + PANEL;
}

static void cut(scratch *s, carver *c, const encoder *e) {
    const config *shape = e->shape;
    size_t width = e->weights->width, wide = 3 * width > inner_step(e) ? 3 * width : inner_step(e);
    size_t head = shape->hidden / shape->heads, larger = shape->inner > shape->hidden ? shape->inner : shape->hidden;
    s->x = carve(c, s->rows * width, sizeof(float));
    s->y = carve(c, s->rows * width, sizeof(float));
    s->z = carve(c, s->rows * width, sizeof(float));
    s->wide = carve(c, s->rows * wide, sizeof(float));
    s->keys = carve(c, panel_round(s->longest) * head, sizeof(float));
    s->values = carve(c, panel_round(head) * s->longest, sizeof(float));
    s->scores = carve(c, panel_round(s->longest) * ATTEND_ROWS, sizeof(float));
    s->mixed = carve(c, panel_round(head) * ATTEND_ROWS, sizeof(float));
    if (e->weights->precision == UAR_BERT_FP32) return;
    s->bytes.width = (larger + 3) / 4 * 4;
    s->bytes.codes = carve(c, s->rows * s->bytes.width, 1);
    s->bytes.scales = carve(c, s->rows, sizeof(float));
    s->bytes.zeros = carve(c, s->rows, sizeof(int32_t));
}

static bool make_room(scratch *s, const encoder *e, size_t rows, size_t longest) {
    if (rows <= s->rows && longest <= s->longest) return true;
    scratch more = { .alloc = s->alloc, .rows = rows > s->rows ? rows : s->rows };
    more.longest = longest > s->longest ? longest : s->longest;
    carver c = { NULL, 0, false };
    cut(&more, &c, e);
    if (!carver_begin(&c, &more.block, s->alloc)) return false;
    cut(&more, &c, e);
    alloc_free(s->alloc, s->block);
    *s = more;
    return true;
}

/* ---- The first rows ---- */

static void place_word(float *row, const encoder *e, int32_t id, size_t position) {
    const weights *w = e->weights;
    size_t hidden = e->shape->hidden, word = (size_t)id;
    assert(id >= 0 && word < e->shape->words && position < e->shape->positions);
    memcpy(row, w->places + position * w->width, w->width * sizeof(float));
    if (w->precision == UAR_BERT_FP32) {
        const float *from = w->words + word * hidden;
        for (size_t i = 0; i < hidden; i++)
            row[i] += from[i];
        return;
    }
    const int8_t *codes = w->word_codes + word * hidden;
    for (size_t i = 0; i < hidden; i++)
        row[i] += (float)codes[i] * w->word_scales[word];
}

static void place_window(float *x, const encoder *e, const window *w) {
    size_t width = e->weights->width, rows = window_rows(w);
    for (size_t i = 0; i < rows; i++) {
        int32_t id = e->begin;
        if (i == rows - 1)
            id = e->end;
        else if (i > w->head_len)
            id = w->ids[i - 1 - w->head_len];
        else if (i > 0)
            id = w->head[i - 1];
        place_word(x + i * width, e, id, i);
    }
}

/* ---- The layers ---- */

static void multiply(float *out, size_t out_width, const encoder *e, scratch *s, const float *x, size_t x_width,
                     const matrix *m, size_t rows) {
    if (e->weights->precision == UAR_BERT_FP32) {
        e->kernels->product(out, out_width, x, x_width, m->panels, m->bias, rows, m->outputs, m->inputs);
        return;
    }
    byte_rows bytes = s->bytes;
    bytes.width = (m->inputs + 3) / 4 * 4;
    byte_panels panels = { m->codes, m->scales, m->sums, bytes.width / 4, m->outputs / PANEL };
    e->kernels->to_bytes(&bytes, x, x_width, rows, m->inputs);
    e->kernels->byte_product(out, out_width, &bytes, &panels, m->bias, rows);
}

static void norm_rows(const encoder *e, float *x, const float *add, const layer_norm *n, size_t rows) {
    size_t width = e->weights->width;
    for (size_t i = 0; i < rows; i++)
        e->kernels->norm(x + i * width, add != NULL ? add + i * width : NULL, n->gain, n->shift, e->shape->hidden,
                         e->shape->epsilon);
}

/* The keys of a head as panels: outputs are the rows, inputs the numbers of the head. */
static void pack_keys(float *panels, const float *keys, size_t width, size_t rows, size_t head) {
    size_t padded = panel_round(rows);
    for (size_t p = 0; p < padded; p += PANEL, panels += PANEL * head)
        for (size_t i = 0; i < head; i++)
            for (size_t j = 0; j < PANEL; j++)
                panels[i * PANEL + j] = p + j < rows ? keys[(p + j) * width + i] : 0;
}

/* The values of a head as panels: outputs are the numbers of the head, inputs the rows. */
static void pack_values(float *panels, const float *values, size_t width, size_t rows, size_t head) {
    for (size_t p = 0; p < head; p += PANEL, panels += PANEL * rows)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < PANEL; j++)
                panels[i * PANEL + j] = p + j < head ? values[i * width + p + j] : 0;
}

/* Rows of one block against all rows of their window; the panels of keys and values are made. */
static void attend_block(float *out, const encoder *e, scratch *s, const float *query, size_t block, size_t rows) {
    size_t width = e->weights->width, head = e->shape->hidden / e->shape->heads;
    size_t across = panel_round(rows), out_width = panel_round(head);
    float scale = 1.0f / sqrtf((float)head);
    e->kernels->product(s->scores, across, query, 3 * width, s->keys, NULL, block, across, head);
    for (size_t i = 0; i < block; i++)
        e->kernels->softmax(s->scores + i * across, rows, scale);
    e->kernels->product(s->mixed, out_width, s->scores, across, s->values, NULL, block, out_width, rows);
    for (size_t i = 0; i < block; i++)
        memcpy(out + i * width, s->mixed + i * out_width, head * sizeof(float));
}

/* One head over the rows of one window; `from` is where its query begins in the first row. */
static void attend_head(float *out, const encoder *e, scratch *s, const float *from, size_t rows) {
    size_t width = e->weights->width, head = e->shape->hidden / e->shape->heads;
    pack_keys(s->keys, from + width, 3 * width, rows, head);
    pack_values(s->values, from + 2 * width, 3 * width, rows, head);
    for (size_t i = 0; i < rows; i += ATTEND_ROWS)
        attend_block(out + i * width, e, s, from + i * 3 * width, rows - i < ATTEND_ROWS ? rows - i : ATTEND_ROWS,
                     rows);
}

static void attend(const encoder *e, scratch *s, const window *windows, size_t count) {
    size_t width = e->weights->width, head = e->shape->hidden / e->shape->heads, row = 0;
    for (size_t i = 0; i < count; i++) {
        size_t rows = window_rows(&windows[i]);
        for (size_t h = 0; h < e->shape->heads; h++)
            attend_head(s->y + row * width + h * head, e, s, s->wide + row * 3 * width + h * head, rows);
        row += rows;
    }
}

static void run_layer(const encoder *e, scratch *s, const layer *l, const window *windows, size_t count, size_t rows) {
    size_t width = e->weights->width, step = inner_step(e);
    multiply(s->wide, 3 * width, e, s, s->x, width, &l->attend, rows);
    attend(e, s, windows, count);
    multiply(s->z, width, e, s, s->y, width, &l->gather, rows);
    norm_rows(e, s->x, s->z, &l->after_attention, rows);
    multiply(s->wide, step, e, s, s->x, width, &l->expand, rows);
    for (size_t i = 0; i < rows; i++)
        e->kernels->gelu(s->wide + i * step, e->weights->inner);
    multiply(s->y, width, e, s, s->wide, step, &l->contract, rows);
    norm_rows(e, s->x, s->y, &l->after_expansion, rows);
}

/* ---- The end ---- */

static void pool(float *out, const encoder *e, const float *x, size_t rows) {
    size_t width = e->weights->width, hidden = e->shape->hidden;
    memcpy(out, x, hidden * sizeof(float));
    if (e->shape->pooling == POOLING_CLS) return;
    for (size_t i = 1; i < rows; i++)
        for (size_t j = 0; j < hidden; j++) {
            float value = x[i * width + j];
            if (e->shape->pooling != POOLING_MAX)
                out[j] += value;
            else if (value > out[j])
                out[j] = value;
        }
    if (e->shape->pooling == POOLING_MAX) return;
    float share = e->shape->pooling == POOLING_MEAN ? 1.0f / (float)rows : 1.0f / sqrtf((float)rows);
    for (size_t j = 0; j < hidden; j++)
        out[j] *= share;
}

uar_status encoder_run(float *out, const encoder *e, scratch *s, const window *windows, size_t count) {
    size_t rows = 0, longest = 0, width = e->weights->width;
    for (size_t i = 0; i < count; i++) {
        size_t own = window_rows(&windows[i]);
        longest = own > longest ? own : longest;
        rows += own;
    }
    if (!make_room(s, e, rows, longest)) return UAR_E_NOMEM;
    memset(s->y, 0, rows * width * sizeof(float));
    for (size_t i = 0, row = 0; i < count; row += window_rows(&windows[i++]))
        place_window(s->x + row * width, e, &windows[i]);
    norm_rows(e, s->x, NULL, &e->weights->first, rows);
    for (size_t i = 0; i < e->shape->layers; i++)
        run_layer(e, s, &e->weights->layers[i], windows, count, rows);
    for (size_t i = 0, row = 0; i < count; row += window_rows(&windows[i++]))
        pool(out + i * e->shape->hidden, e, s->x + row * width, window_rows(&windows[i]));
    return UAR_OK;
}
