/*
 * Owns: a call of the embedder that nobody waits for.
 * Invariants: who ends the completion, or detaches it, calls `ended`; the completion has a reference until then.
 */
#include "memory/ahead.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/completion.h"
#include "memory/service.h"

struct ahead {
    uar_allocator alloc;
    atomic_uint refs;
    uar_memory *memory; /* borrowed until the end */
    arena ar;
    uar_embed_purpose purpose;
    uar_str *texts;
    size_t count, dims;
    float *vectors;
    uar_completion *completion;
    uar_error error;
    void (*ended)(void *arg);
    void *arg;
};

bool ahead_is_needed(const uar_memory *m) {
    return memory_ready(m, NULL) == UAR_OK && !embed_is_lexical(m);
}

uint32_t ahead_timeout_ms(const uar_memory *m) {
    return m->embed.timeout_ms;
}

ahead *ahead_ref(ahead *a) {
    atomic_fetch_add(&a->refs, 1);
    return a;
}

void ahead_unref(ahead *a) {
    if (a == NULL || atomic_fetch_sub(&a->refs, 1) != 1) return;
    completion_release(a->completion);
    arena_dispose(&a->ar);
    uar_allocator alloc = a->alloc;
    alloc_free(&alloc, a);
}

/* The reference of the completion goes with it. */
static void end(ahead *a) {
    for (size_t i = 0; i < a->count; i++)
        embed_cache_keep(&a->memory->embed.cache, a->purpose, a->texts[i],
                         a->error.code == UAR_OK ? a->vectors + i * a->dims : NULL, a->error.code);
    a->ended(a->arg);
    ahead_unref(a);
}

static void on_end(void *arg, const completion_result *r) {
    ahead *a = arg;
    (void)embed_take_answer(a->vectors, r, a->count, a->dims, &a->error);
    if (a->error.code == UAR_OK) (void)embed_make_unit(a->vectors, a->count, a->dims, &a->error);
    end(a);
}

static uar_status copy_texts(ahead *a, const uar_str *texts, size_t count) {
    a->texts = (uar_str *)arena_zeroed(&a->ar, count, sizeof *texts);
    a->vectors = (float *)arena_zeroed(&a->ar, count, a->dims * sizeof(float));
    if (a->texts == NULL || a->vectors == NULL) return UAR_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        a->texts[i] = arena_str(&a->ar, texts[i].ptr != NULL ? texts[i] : uar_str_n("", 0));
        if (a->texts[i].ptr == NULL) return UAR_E_NOMEM;
    }
    a->count = count;
    return UAR_OK;
}

uar_status ahead_new(ahead **out, uar_memory *m, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                     void (*ended)(void *arg), void *arg) {
    assert(count > 0 && count <= AHEAD_MAX && ahead_is_needed(m));
    ahead *a = ALLOC_NEW(&m->alloc, ahead);
    if (a == NULL) return UAR_E_NOMEM;
    a->alloc = m->alloc;
    atomic_init(&a->refs, 1);
    arena_init(&a->ar, &a->alloc);
    a->memory = m;
    a->purpose = purpose;
    a->dims = m->embedder.dims;
    a->ended = ended;
    a->arg = arg;
    uar_status status = copy_texts(a, texts, count);
    if (status == UAR_OK) {
        a->completion = completion_new(&a->alloc, COMPLETION_VECTORS, on_end, a);
        if (a->completion == NULL) status = UAR_E_NOMEM;
    }
    if (status != UAR_OK) {
        ahead_unref(a);
        return status;
    }
    ahead_ref(a); /* the completion's */
    *out = a;
    return UAR_OK;
}

void ahead_stop(ahead *a, uar_status why) {
    if (!completion_detach(a->completion)) return;
    error_plain(&a->error, why);
    end(a);
}

/* A question that was asked before needs no call. */
static bool is_known(ahead *a) {
    if (a->purpose != UAR_EMBED_QUERY || a->count != 1) return false;
    uar_status status = UAR_OK;
    return embed_cache_take(&status, a->vectors, &a->memory->embed.cache, a->purpose, a->texts[0]) && status == UAR_OK;
}

void ahead_start(ahead *a) {
    uar_error err = UAR_ERROR_INIT;
    if (!uar_completion_is_open(a->completion)) return;
    uar_status status = embed_register(a->memory, &err);
    if (status != UAR_OK)
        ahead_stop(a, status);
    else if (!is_known(a))
        embed_call_out(a->memory, a->purpose, a->texts, a->count, a->completion);
    else if (completion_detach(a->completion))
        end(a);
}

uar_status ahead_result(const ahead *a, uar_error *err) {
    return error_copy(err, &a->error);
}
