#include "support/embedder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

void embedder_vector(float *out, size_t dims, float scale, uar_str text) {
    for (size_t i = 0; i < dims; i++)
        out[i] = 0.01f;
    for (size_t at = 0; at < text.len;) {
        uint32_t hash = 2166136261u;
        size_t from = at;
        for (; at < text.len && is_letter(text.ptr[at]); at++)
            hash = (hash ^ ((uint32_t)(unsigned char)text.ptr[at] | 0x20u)) * 16777619u;
        if (at != from)
            out[hash % dims] += 1;
        else
            at++;
    }
    float sum = 0;
    for (size_t i = 0; i < dims; i++)
        sum += out[i] * out[i];
    for (size_t i = 0; i < dims; i++)
        out[i] *= scale / sqrtf(sum);
}

static float *vectors_of(const test_embedder *e, const uar_str *texts, size_t count) {
    size_t dims = e->door.dims;
    float *v = calloc(count + 1, dims * sizeof *v);
    if (v == NULL) abort();
    for (size_t i = 0; i < count; i++)
        embedder_vector(v + i * dims, dims, e->scale > 0 ? e->scale : 1, texts[i]);
    return v;
}

static void keep(test_embedder *e, uar_completion *done, size_t count) {
    mutex_lock(&e->lock);
    if (e->kept_count == TEST_EMBEDDER_KEPT) abort();
    e->kept_texts[e->kept_count] = count;
    e->kept[e->kept_count++] = uar_completion_ref(done);
    mutex_unlock(&e->lock);
}

typedef struct slow_answer {
    uar_completion *done;
    float *vectors;
    size_t count, dims;
} slow_answer;

static void answer_slowly(void *arg) {
    slow_answer *s = arg;
    struct timespec pause = { .tv_nsec = 30000000 };
    (void)nanosleep(&pause, NULL);
    (void)uar_completion_vectors(s->done, s->vectors, s->count, s->dims);
    uar_completion_unref(s->done);
    free(s->vectors);
    free(s);
}

static void answer_later(test_embedder *e, uar_completion *done, float *vectors, size_t count) {
    slow_answer *s = calloc(1, sizeof *s);
    if (s == NULL) abort();
    *s = (slow_answer){ uar_completion_ref(done), vectors, count, e->door.dims };
    mutex_lock(&e->lock);
    if (e->slow_count == TEST_EMBEDDER_KEPT || thread_start(&e->slow[e->slow_count++], 0, answer_slowly, s) != UAR_OK)
        abort();
    mutex_unlock(&e->lock);
}

static void count_call(test_embedder *e, size_t count) {
    atomic_fetch_add(&e->calls, 1);
    atomic_fetch_add(&e->texts, (int)count);
    int largest = atomic_load(&e->largest);
    while ((int)count > largest && !atomic_compare_exchange_weak(&e->largest, &largest, (int)count)) {}
}

static bool is_refused(const test_embedder *e, const uar_str *texts, size_t count) {
    size_t len = e->refuses != NULL ? strlen(e->refuses) : 0;
    for (size_t i = 0; len != 0 && i < count; i++)
        for (size_t at = 0; at + len <= texts[i].len; at++)
            if (memcmp(texts[i].ptr + at, e->refuses, len) == 0) return true;
    return false;
}

static void embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count, uar_completion *done) {
    (void)purpose;
    test_embedder *e = ctx;
    size_t dims = e->door.dims;
    count_call(e, count);
    if (e->hook != NULL) e->hook(e->hook_ctx);
    if (is_refused(e, texts, count)) {
        (void)uar_completion_fail(done, UAR_E_TOO_LARGE, "the text is too long");
        return;
    }
    float *v = vectors_of(e, texts, count);
    switch (e->way) {
    case EMBEDDER_SLOW: answer_later(e, done, v, count); return;
    case EMBEDDER_FAILS: (void)uar_completion_fail(done, UAR_E_NETWORK, "the line is down"); break;
    case EMBEDDER_NEVER: keep(e, done, count); break;
    case EMBEDDER_DROPS: break;
    case EMBEDDER_TOO_FEW: (void)uar_completion_vectors(done, v, count - 1, dims); break;
    case EMBEDDER_TOO_NARROW: (void)uar_completion_vectors(done, v, count, dims - 1); break;
    case EMBEDDER_TWICE:
        (void)uar_completion_vectors(done, v, count, dims);
        if (uar_completion_vectors(done, v, count, dims) != UAR_E_STALE) abort();
        break;
    case EMBEDDER_NAN:
        v[count * dims - 1] = NAN;
        (void)uar_completion_vectors(done, v, count, dims);
        break;
    case EMBEDDER_INFINITE:
        v[0] = INFINITY;
        (void)uar_completion_vectors(done, v, count, dims);
        break;
    case EMBEDDER_ZERO:
        memset(v, 0, dims * sizeof *v);
        (void)uar_completion_vectors(done, v, count, dims);
        break;
    case EMBEDDER_ANSWERS: (void)uar_completion_vectors(done, v, count, dims); break;
    }
    free(v);
}

static void destroy(void *ctx) {
    test_embedder *e = ctx;
    atomic_fetch_add(&e->destroyed, 1);
}

void embedder_init(test_embedder *e, const char *id) {
    memset(e, 0, sizeof *e);
    e->door = (uar_embedder){ .struct_size = UAR_EMBEDDER_INIT,
                              .ctx = e,
                              .destroy = destroy,
                              .id = id,
                              .dims = TEST_EMBEDDER_DIMS,
                              .repeat_threshold = 0.92,
                              .embed = embed };
    if (mutex_init(&e->lock) != UAR_OK) abort();
}

static uar_status finish(test_embedder *e, bool answers) {
    uar_status status = UAR_E_NOT_FOUND;
    for (;;) {
        mutex_lock(&e->lock);
        bool any = e->kept_count != 0;
        uar_completion *done = any ? e->kept[--e->kept_count] : NULL;
        size_t count = any ? e->kept_texts[e->kept_count] : 0;
        mutex_unlock(&e->lock);
        if (!any) return status;
        if (answers) {
            uar_str word = uar_str_of("word");
            size_t dims = e->door.dims;
            float *v = calloc(count, dims * sizeof *v);
            if (v == NULL) abort();
            for (size_t i = 0; i < count; i++)
                embedder_vector(v + i * dims, dims, 1, word);
            status = uar_completion_vectors(done, v, count, dims);
            free(v);
        }
        uar_completion_unref(done);
    }
}

uar_status embedder_answer(test_embedder *e) {
    return finish(e, true);
}

void embedder_let_go(test_embedder *e) {
    (void)finish(e, false);
}

size_t embedder_kept(test_embedder *e) {
    mutex_lock(&e->lock);
    size_t count = e->kept_count;
    mutex_unlock(&e->lock);
    return count;
}

void embedder_dispose(test_embedder *e) {
    embedder_let_go(e);
    for (size_t i = 0; i < e->slow_count; i++)
        thread_join(e->slow[i]);
    mutex_dispose(&e->lock);
}
