/*
 * From texts to vectors on one thread: tokens, windows, passes through the encoder, and the mean over the windows of a text.
 *
 * Invariants: a pass has at most PASS_WINDOWS windows and, but for a single longer one, PASS_ROWS rows; the ids of the
 * windows of an open pass lie in `ids`, named by their place, as the list may move while it grows.
 */
#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "bert/bert.h"

#define PASS_ROWS ((size_t)256)
#define PASS_WINDOWS ((size_t)64)

/* The ids of one window: at ... at + len - 1. */
typedef struct span {
    size_t text, at, len;
} span;

typedef struct batch {
    bert *b;
    uar_embed_purpose purpose;
    float *out;
    size_t *windows_of; /* of each text */
    scratch scratch;
    id_list ids;
    float *vectors; /* of the windows of a pass */
    span spans[PASS_WINDOWS];
    size_t count, rows;
} batch;

/* False: it has no direction, or isn't finite. */
static bool normalise(float *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)v[i] * (double)v[i];
    if (!(sum > 1e-30 && sum < 1e30)) return false;
    float scale = (float)(1.0 / sqrt(sum));
    for (size_t i = 0; i < n; i++)
        v[i] *= scale;
    return true;
}

/* Add the vectors of the pass to those of their texts. */
static uar_status gather(batch *p) {
    size_t dims = p->b->config.hidden;
    for (size_t i = 0; i < p->count; i++) {
        float *from = p->vectors + i * dims, *to = p->out + p->spans[i].text * dims;
        float sum = 0;
        if (p->b->config.normalise && !normalise(from, dims)) return UAR_E_MODEL;
        for (size_t j = 0; j < dims; j++) {
            to[j] += from[j];
            sum += from[j] - from[j];
        }
        if (!(sum == 0)) return UAR_E_MODEL;
    }
    return UAR_OK;
}

static uar_status run_pass(batch *p) {
    if (p->count == 0) return UAR_OK;
    if (atomic_load(&p->b->closing)) return UAR_E_CLOSED;
    const id_list *prefix = &p->b->prefix[p->purpose];
    window windows[PASS_WINDOWS];
    for (size_t i = 0; i < p->count; i++) {
        const span *own = &p->spans[i];
        const int32_t *ids = own->len != 0 ? p->ids.ids + own->at : NULL;
        windows[i] = (window){ prefix->ids, ids, prefix->len, own->len };
    }
    uar_status status = encoder_run(p->vectors, &p->b->encoder, &p->scratch, windows, p->count);
    if (status == UAR_OK) status = gather(p);
    p->count = p->rows = 0;
    return status;
}

static uar_status add_window(batch *p, size_t text, size_t at, size_t len) {
    size_t rows = len + p->b->prefix[p->purpose].len + 2;
    uar_status status = UAR_OK;
    if (p->count == PASS_WINDOWS || (p->count > 0 && p->rows + rows > PASS_ROWS)) status = run_pass(p);
    if (status != UAR_OK) return status;
    p->spans[p->count++] = (span){ text, at, len };
    p->rows += rows;
    p->windows_of[text]++;
    return UAR_OK;
}

/* Windows of one length, spread evenly, so that each counts the same; two neighbours share `overlap` tokens or more. */
static uar_status add_windows(batch *p, size_t text, size_t at, size_t len) {
    size_t room = p->b->window - 2 - p->b->prefix[p->purpose].len;
    if (len <= room) return add_window(p, text, at, len);
    size_t step = room - p->b->overlap, gaps = (len - room + step - 1) / step;
    uar_status status = UAR_OK;
    for (size_t i = 0; i <= gaps && status == UAR_OK; i++)
        status = add_window(p, text, at + (len - room) / gaps * i + (len - room) % gaps * i / gaps, room);
    return status;
}

static uar_status add_text(batch *p, size_t index, uar_str text) {
    /* Nothing of the pass before is waiting: its ids may go. */
    if (p->count == 0) p->ids.len = 0;
    size_t at = p->ids.len;
    uar_status status = tokenizer_run(&p->ids, &p->b->tokenizer, text);
    return status == UAR_OK ? add_windows(p, index, at, p->ids.len - at) : status;
}

/* The mean over the windows of each text. */
static uar_status finish(batch *p, size_t count) {
    size_t dims = p->b->config.hidden;
    for (size_t i = 0; i < count; i++) {
        float *v = p->out + i * dims;
        if (p->windows_of[i] == 1) continue;
        float share = 1.0f / (float)p->windows_of[i];
        for (size_t j = 0; j < dims; j++)
            v[j] *= share;
        if (p->b->config.normalise && !normalise(v, dims)) return UAR_E_MODEL;
    }
    return UAR_OK;
}

uar_status bert_run(float *out, bert *b, uar_embed_purpose purpose, const uar_str *texts, size_t count) {
    if (count == 0) return UAR_OK;
    batch p = { .b = b, .purpose = purpose == UAR_EMBED_QUERY ? UAR_EMBED_QUERY : UAR_EMBED_PASSAGE, .out = out };
    scratch_init(&p.scratch, &b->alloc);
    id_list_init(&p.ids, &b->alloc);
    p.windows_of = alloc_zeroed(&b->alloc, count, sizeof *p.windows_of);
    p.vectors = alloc_bytes(&b->alloc, PASS_WINDOWS * b->config.hidden * sizeof(float));
    uar_status status = p.windows_of != NULL && p.vectors != NULL ? UAR_OK : UAR_E_NOMEM;
    memset(out, 0, count * b->config.hidden * sizeof(float));
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        status = add_text(&p, i, texts[i]);
    if (status == UAR_OK) status = run_pass(&p);
    if (status == UAR_OK) status = finish(&p, count);
    alloc_free(&b->alloc, p.vectors);
    alloc_free(&b->alloc, p.windows_of);
    id_list_dispose(&p.ids);
    scratch_dispose(&p.scratch);
    return status;
}
