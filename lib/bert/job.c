/*
 * The embedder door: a batch on the calling thread, or as a job whose tasks take slices of the texts until none is left.
 * Owns the job. Invariants: each slice is taken once; the task that ends last finishes the call and frees the job; the
 * first failure is the outcome and stops the taking.
 */
#include <assert.h>

#include "base/executor.h"
#include "base/lock.h"
#include "bert/bert.h"

#define SLICE ((size_t)8)
#define STOP_MS 60000u

typedef struct job {
    bert *b;
    uar_completion *done;
    uar_embed_purpose purpose;
    const uar_str *texts; /* copies, in one block behind the tasks */
    size_t count;
    float *vectors;
    atomic_size_t next;
    atomic_uint left; /* tasks that haven't ended */
    atomic_int status;
    uar_task tasks[];
} job;

static const char *reason(uar_status status) {
    switch (status) {
    case UAR_E_UTF8: return "a text is not valid UTF-8";
    case UAR_E_MODEL: return "the weights give no finite vector";
    default: return NULL;
    }
}

static void complete(uar_completion *done, uar_status status, const float *vectors, size_t count, size_t dims) {
    if (status == UAR_OK)
        (void)uar_completion_vectors(done, vectors, count, dims);
    else
        (void)uar_completion_fail(done, status, reason(status));
}

static void job_end(job *j) {
    bert *b = j->b;
    complete(j->done, (uar_status)atomic_load(&j->status), j->vectors, j->count, b->config.hidden);
    uar_completion_unref(j->done);
    alloc_free(&b->alloc, j->vectors);
    alloc_free(&b->alloc, j);
    bert_unref(b);
}

static void job_work(void *arg) {
    job *j = arg;
    size_t dims = j->b->config.hidden;
    while (atomic_load(&j->status) == UAR_OK) {
        size_t from = atomic_fetch_add(&j->next, SLICE);
        if (from >= j->count) break;
        size_t count = j->count - from < SLICE ? j->count - from : SLICE;
        uar_status status = UAR_E_CANCELLED; /* nobody waits for it any more */
        if (uar_completion_is_open(j->done))
            status = bert_run(j->vectors + from * dims, j->b, j->purpose, j->texts + from, count);
        int none = UAR_OK;
        if (status != UAR_OK) (void)atomic_compare_exchange_strong(&j->status, &none, (int)status);
    }
    if (atomic_fetch_sub(&j->left, 1) == 1) job_end(j);
}

static bool sum_bytes(size_t *out, const uar_str *texts, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (texts[i].len > SIZE_MAX / 4 - bytes) return false;
        bytes += texts[i].len;
    }
    *out = bytes;
    return true;
}

/* A job with its own copy of the texts; NULL: no memory. */
static job *job_new(bert *b, uar_embed_purpose purpose, const uar_str *texts, size_t count, unsigned tasks) {
    size_t bytes = 0, head = sizeof(job) + tasks * sizeof(uar_task);
    if (count > SIZE_MAX / 4 / (sizeof(uar_str) + b->config.hidden * sizeof(float)) || !sum_bytes(&bytes, texts, count))
        return NULL;
    job *j = alloc_bytes(&b->alloc, head + count * sizeof(uar_str) + bytes);
    float *vectors = alloc_bytes(&b->alloc, count * b->config.hidden * sizeof(float));
    if (j == NULL || vectors == NULL) {
        alloc_free(&b->alloc, j);
        alloc_free(&b->alloc, vectors);
        return NULL;
    }
    uar_str *copies = (uar_str *)(void *)((char *)j + head);
    char *at = (char *)(copies + count);
    for (size_t i = 0; i < count; i++) {
        copies[i] = uar_str_n(at, texts[i].len);
        if (texts[i].len != 0) memcpy(at, texts[i].ptr, texts[i].len);
        at += texts[i].len;
    }
    *j = (job){ .b = b, .purpose = purpose, .texts = copies, .count = count, .vectors = vectors };
    atomic_init(&j->next, 0);
    atomic_init(&j->left, tasks);
    atomic_init(&j->status, UAR_OK);
    return j;
}

static void run_here(bert *b, uar_embed_purpose purpose, const uar_str *texts, size_t count, uar_completion *done) {
    size_t dims = b->config.hidden;
    float *vectors =
        count <= SIZE_MAX / 4 / (dims * sizeof(float)) ? alloc_bytes(&b->alloc, count * dims * sizeof(float)) : NULL;
    uar_status status = vectors != NULL ? bert_run(vectors, b, purpose, texts, count) : UAR_E_NOMEM;
    complete(done, status, vectors, count, dims);
    alloc_free(&b->alloc, vectors);
}

void bert_embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count, uar_completion *done) {
    bert *b = ctx;
    if (b->executor.post == NULL) {
        run_here(b, purpose, texts, count, done);
        return;
    }
    size_t slices = (count + SLICE - 1) / SLICE;
    unsigned tasks = slices < b->threads ? (unsigned)slices : b->threads;
    if (tasks == 0) tasks = 1;
    job *j = job_new(b, purpose, texts, count, tasks);
    if (j == NULL) {
        complete(done, UAR_E_NOMEM, NULL, 0, 0);
        return;
    }
    (void)bert_ref(b);
    j->done = uar_completion_ref(done);
    uar_executor executor = b->executor;
    /* The job may be gone as soon as its last task is posted. */
    for (unsigned i = 0; i < tasks; i++) {
        j->tasks[i] = (uar_task){ NULL, job_work, j };
        executor.post(executor.ctx, &j->tasks[i], false);
    }
}

void bert_destroy(void *ctx) {
    bert *b = ctx;
    atomic_store(&b->closing, true);
    if (b->owns_pool) {
        (void)pool_stop(&b->executor, STOP_MS);
        pool_release(&b->executor);
    }
    bert_unref(b);
}
