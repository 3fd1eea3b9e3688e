/*
 * Owns: calls of the host's embedder and the vectors of the last questions.
 * Invariants: an embed_call has two references, the waiter's and the completion's, so that an answer that comes after the
 * waiter has left still finds its place; it is in the door's list exactly while somebody waits for it.
 */
#include "memory/embed.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/completion.h"
#include "base/error.h"
#include "base/str.h"
#include "index/vector.h"
#include "memory/service.h"

typedef struct embed_call {
    uar_allocator alloc;
    atomic_uint refs;
    struct embed_call *next, *prev;
    mutex lock; /* guards what follows */
    condition changed;
    bool ended;
    bool cancelled;
    uar_error error; /* code is UAR_OK if `vectors` is filled */
    size_t count, dims;
    float *vectors;
} embed_call;

/* ---- one call ---- */

static void call_unref(embed_call *call) {
    if (atomic_fetch_sub(&call->refs, 1) != 1) return;
    uar_allocator alloc = call->alloc;
    condition_dispose(&call->changed);
    mutex_dispose(&call->lock);
    alloc_free(&alloc, call->vectors);
    alloc_free(&alloc, call);
    live_add(-1);
}

static embed_call *call_new(const uar_allocator *a, size_t count, size_t dims) {
    embed_call *call = ALLOC_NEW(a, embed_call);
    if (call == NULL) return NULL;
    call->alloc = *a;
    call->count = count;
    call->dims = dims;
    call->vectors = (float *)alloc_zeroed(a, count, dims * sizeof(float));
    bool made = call->vectors != NULL && mutex_init(&call->lock) == UAR_OK;
    if (made && condition_init(&call->changed) != UAR_OK) {
        mutex_dispose(&call->lock);
        made = false;
    }
    if (!made) {
        alloc_free(a, call->vectors);
        alloc_free(a, call);
        return NULL;
    }
    atomic_init(&call->refs, 2);
    live_add(1);
    return call;
}

/* Under the lock of the call. */
static void take_answer(embed_call *call, const completion_result *r) {
    if (r->status != UAR_OK)
        error_set(&call->error, r->status, "%s", r->message != NULL ? r->message : uar_status_text(r->status));
    else if (r->vector_count != call->count || r->vector_dims != call->dims)
        error_set(&call->error, UAR_E_INVALID,
                  "the embedder gave %zu vectors of %zu numbers, %zu of %zu were asked for", r->vector_count,
                  r->vector_dims, call->count, call->dims);
    else
        memcpy(call->vectors, r->vectors, call->count * call->dims * sizeof(float));
}

static void on_end(void *arg, const completion_result *result) {
    embed_call *call = arg;
    mutex_lock(&call->lock);
    take_answer(call, result);
    call->ended = true;
    condition_signal(&call->changed);
    mutex_unlock(&call->lock);
    call_unref(call);
}

/* True if it ended; UAR_FOREVER waits without end. */
static bool wait_for(embed_call *call, uint32_t ms) {
    uint64_t end = clock_mono(&clock_default) + ms;
    mutex_lock(&call->lock);
    while (!call->ended && !call->cancelled) {
        uint64_t now = clock_mono(&clock_default);
        if (ms != UAR_FOREVER && now >= end) break;
        (void)condition_wait(&call->changed, &call->lock, ms != UAR_FOREVER ? (uint32_t)(end - now) : UAR_FOREVER);
    }
    bool ended = call->ended;
    mutex_unlock(&call->lock);
    return ended;
}

/* The waiter leaves. An answer that is just arriving is still taken. */
static void leave(embed_call *call, uar_completion *completion) {
    bool detached = completion_detach(completion);
    mutex_lock(&call->lock);
    while (!detached && !call->ended)
        (void)condition_wait(&call->changed, &call->lock, UAR_FOREVER);
    if (detached && call->cancelled)
        error_set(&call->error, UAR_E_CANCELLED, "the memory was closed");
    else if (detached)
        error_set(&call->error, UAR_E_TIMEOUT, "the embedder did not answer in time");
    mutex_unlock(&call->lock);
    if (detached) call_unref(call); /* the completion's: nothing will end it now */
}

static bool list_add(embed_door *door, embed_call *call) {
    mutex_lock(&door->lock);
    bool closed = door->closed;
    if (!closed) {
        call->next = door->first;
        if (door->first != NULL) door->first->prev = call;
        door->first = call;
    }
    mutex_unlock(&door->lock);
    return !closed;
}

static void list_remove(embed_door *door, embed_call *call) {
    mutex_lock(&door->lock);
    if (call->next != NULL) call->next->prev = call->prev;
    if (call->prev != NULL)
        call->prev->next = call->next;
    else
        door->first = call->next;
    mutex_unlock(&door->lock);
}

static void call_embedder(uar_memory *m, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                          uar_completion *completion) {
    callout_frame frame;
    completion_lend(completion);
    callout_enter(&m->embed.calls, &frame, CALLOUT_EMBEDDER);
    m->embedder.embed(m->embedder.ctx, purpose, texts, count, completion);
    callout_leave(&m->embed.calls, &frame);
    completion_return(completion);
}

/* One call of at most EMBED_BATCH texts; `out` has room for its vectors. */
static uar_status ask(float *out, uar_memory *m, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                      uar_error *err) {
    embed_call *call = call_new(&m->alloc, count, m->embedder.dims);
    if (call == NULL) return error_plain(err, UAR_E_NOMEM);
    uar_completion *completion = completion_new(&m->alloc, COMPLETION_VECTORS, on_end, call);
    bool open = completion != NULL && list_add(&m->embed, call);
    if (open) {
        call_embedder(m, purpose, texts, count, completion);
        if (!wait_for(call, m->embed.timeout_ms)) leave(call, completion);
        list_remove(&m->embed, call);
    } else {
        error_plain(&call->error, completion == NULL ? UAR_E_NOMEM : UAR_E_CANCELLED);
        call_unref(call);
    }
    completion_release(completion);
    uar_status status = error_copy(err, &call->error);
    if (status == UAR_OK) memcpy(out, call->vectors, count * call->dims * sizeof(float));
    call_unref(call);
    return status;
}

static uar_status embed_all(float *out, uar_memory *m, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                            uar_error *err) {
    size_t dims = m->embedder.dims;
    for (size_t at = 0; at < count; at += EMBED_BATCH) {
        size_t n = count - at < EMBED_BATCH ? count - at : EMBED_BATCH;
        uar_status status = ask(out + at * dims, m, purpose, texts + at, n, err);
        if (status != UAR_OK) return status;
    }
    for (size_t i = 0; i < count; i++)
        if (!vector_normalise(out + i * dims, dims))
            return error_set(err, UAR_E_INVALID, "the embedder gave a vector without a direction");
    return UAR_OK;
}

/* ---- the last questions ---- */

/* Under the lock of the door. */
static embed_cached *cached(embed_door *door, uar_str text) {
    for (size_t i = 0; i < EMBED_CACHE; i++) {
        embed_cached *c = &door->cache[i];
        if (c->text != NULL && uar_str_equal(uar_str_n(c->text, c->len), text)) return c;
    }
    return NULL;
}

static bool recall_vector(float *out, uar_memory *m, uar_str text) {
    embed_door *door = &m->embed;
    mutex_lock(&door->lock);
    embed_cached *c = cached(door, text);
    if (c != NULL) {
        c->used = ++door->clock;
        memcpy(out, c->vector, m->embedder.dims * sizeof(float));
    }
    mutex_unlock(&door->lock);
    return c != NULL;
}

static void forget(const uar_allocator *a, embed_cached *c) {
    alloc_free(a, c->text);
    alloc_free(a, c->vector);
    *c = (embed_cached){ .text = NULL };
}

/* Under the lock of the door: the free place, or the one that was used longest ago. */
static embed_cached *oldest(embed_door *door) {
    embed_cached *old = &door->cache[0];
    for (size_t i = 1; i < EMBED_CACHE; i++)
        if (door->cache[i].used < old->used) old = &door->cache[i];
    return old;
}

/* Without memory for it, it is not kept. */
static void keep_vector(uar_memory *m, uar_str text, const float *vector) {
    if (text.len > EMBED_CACHE_TEXT) return;
    size_t bytes = m->embedder.dims * sizeof(float);
    embed_cached made = { alloc_text(&m->alloc, text), text.len, (float *)alloc_bytes(&m->alloc, bytes), 0 };
    if (made.text == NULL || made.vector == NULL) {
        forget(&m->alloc, &made);
        return;
    }
    memcpy(made.vector, vector, bytes);
    embed_door *door = &m->embed;
    mutex_lock(&door->lock);
    embed_cached *place = cached(door, text);
    if (place == NULL) place = oldest(door);
    embed_cached gone = *place;
    *place = made;
    place->used = ++door->clock;
    mutex_unlock(&door->lock);
    forget(&m->alloc, &gone);
}

/* Only the questions that are not known are asked for; they stand together at the front of `missing`. */
static uar_status embed_questions(float *out, uar_memory *m, const uar_str *texts, size_t count, uar_error *err) {
    size_t dims = m->embedder.dims;
    uar_str *missing = (uar_str *)alloc_zeroed(&m->alloc, count, sizeof *missing);
    size_t *places = (size_t *)alloc_zeroed(&m->alloc, count, sizeof *places);
    float *vectors = (float *)alloc_zeroed(&m->alloc, count, dims * sizeof(float));
    uar_status status = missing != NULL && places != NULL && vectors != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
    size_t n = 0;
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        if (recall_vector(out + i * dims, m, texts[i])) continue;
        missing[n] = texts[i];
        places[n++] = i;
    }
    if (status == UAR_OK && n != 0) status = embed_all(vectors, m, UAR_EMBED_QUERY, missing, n, err);
    for (size_t i = 0; i < n && status == UAR_OK; i++) {
        memcpy(out + places[i] * dims, vectors + i * dims, dims * sizeof(float));
        keep_vector(m, missing[i], vectors + i * dims);
    }
    alloc_free(&m->alloc, missing);
    alloc_free(&m->alloc, places);
    alloc_free(&m->alloc, vectors);
    return status;
}

/* ---- the model ---- */

static uar_status find_model(int64_t *out, uar_memory *m, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_MODEL_FIND);
    query_text(&q, 18, uar_str_of(m->embedder_id));
    query_int(&q, 19, (int64_t)m->embedder.dims);
    if (query_next(&q)) *out = query_get_int(&q, 0);
    return query_end(&q, err);
}

static uar_status add_model(int64_t *out, uar_memory *m, uar_error *err) {
    uar_status status = memory_enter_write(m, err);
    if (status != UAR_OK) return status;
    int64_t model = 0;
    status = find_model(&model, m, err);
    if (status == UAR_OK && model == 0) {
        query q;
        query_begin(&q, &m->database, SQL_MODEL_ADD);
        query_text(&q, 18, uar_str_of(m->embedder_id));
        query_int(&q, 19, (int64_t)m->embedder.dims);
        status = query_run(&q, err);
        if (status == UAR_OK) status = find_model(&model, m, err);
    }
    status = memory_leave_write(m, status, err);
    if (status == UAR_OK) *out = model;
    return status;
}

uar_status embed_register(uar_memory *m, uar_error *err) {
    if (embed_is_lexical(m)) return UAR_OK;
    uar_status status = memory_enter(m, err);
    if (status != UAR_OK) return status;
    int64_t model = m->embed.model;
    bool known = model != 0;
    if (!known) status = find_model(&model, m, err);
    memory_leave(m);
    if (known) return UAR_OK;
    if (status == UAR_OK && model == 0) {
        if (m->database.read_only)
            return error_set(err, UAR_E_UNSUPPORTED, "the store has no vectors of this embedder and can't be written");
        status = add_model(&model, m, err);
    }
    if (status != UAR_OK) return status;
    mutex_lock(&m->lock);
    m->embed.model = model;
    mutex_unlock(&m->lock);
    return UAR_OK;
}

/* ---- life ---- */

uar_status embed_open(uar_memory *m, uint32_t timeout_ms, uar_error *err) {
    embed_door *door = &m->embed;
    uar_status status = mutex_init(&door->lock);
    if (status != UAR_OK) return error_plain(err, status);
    status = callouts_init(&door->calls);
    if (status != UAR_OK) {
        mutex_dispose(&door->lock);
        return error_plain(err, status);
    }
    door->timeout_ms = timeout_ms != 0 ? timeout_ms : EMBED_TIMEOUT_MS;
    door->is_open = true;
    return UAR_OK;
}

void embed_cancel(uar_memory *m) {
    embed_door *door = &m->embed;
    if (!door->is_open) return;
    mutex_lock(&door->lock);
    door->closed = true;
    for (embed_call *call = door->first; call != NULL; call = call->next) {
        mutex_lock(&call->lock);
        call->cancelled = true;
        condition_signal(&call->changed);
        mutex_unlock(&call->lock);
    }
    mutex_unlock(&door->lock);
}

void embed_dispose(uar_memory *m) {
    embed_door *door = &m->embed;
    if (!door->is_open) return;
    assert(door->first == NULL);
    for (size_t i = 0; i < EMBED_CACHE; i++)
        forget(&m->alloc, &door->cache[i]);
    callouts_dispose(&door->calls);
    mutex_dispose(&door->lock);
    door->is_open = false;
}

bool embed_is_lexical(const uar_memory *m) {
    return str_is(STR("lexical"), m->embedder_id);
}

bool embed_is_inside(uar_memory *m) {
    return m->embed.is_open && callout_is_inside(&m->embed.calls);
}

uar_status memory_embed(float **out, uar_memory *m, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                        uar_error *err) {
    assert(count != 0);
    if (embed_is_lexical(m)) return error_set(err, UAR_E_UNSUPPORTED, "the embedder \"lexical\" has no vectors");
    uar_status status = embed_register(m, err);
    if (status != UAR_OK) return status;
    float *vectors = (float *)alloc_zeroed(&m->alloc, count, m->embedder.dims * sizeof(float));
    if (vectors == NULL) return error_plain(err, UAR_E_NOMEM);
    status = purpose == UAR_EMBED_QUERY ? embed_questions(vectors, m, texts, count, err)
                                        : embed_all(vectors, m, purpose, texts, count, err);
    if (status == UAR_OK)
        *out = vectors;
    else
        alloc_free(&m->alloc, vectors);
    return status;
}
