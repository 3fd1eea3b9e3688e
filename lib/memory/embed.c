/*
 * Owns: calls of the host's embedder.
 * Invariants: an embed_call has two references, the waiter's and the completion's, so that an answer that comes after the
 * waiter has left still finds its place; it is in the door's list exactly while somebody waits for it.
 */
#include "memory/embed.h"

#include <assert.h>
#include <stdatomic.h>

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

uar_status embed_take_answer(float *out, const completion_result *r, size_t count, size_t dims, uar_error *err) {
    if (r->status != UAR_OK)
        return error_set(err, r->status, "%s", r->message != NULL ? r->message : uar_status_text(r->status));
    if (r->vector_count != count || r->vector_dims != dims)
        return error_set(err, UAR_E_INVALID, "the embedder gave %zu vectors of %zu numbers, %zu of %zu were asked for",
                         r->vector_count, r->vector_dims, count, dims);
    memcpy(out, r->vectors, count * dims * sizeof *out);
    return UAR_OK;
}

static void on_end(void *arg, const completion_result *result) {
    embed_call *call = arg;
    mutex_lock(&call->lock);
    (void)embed_take_answer(call->vectors, result, call->count, call->dims, &call->error);
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

void embed_call_out(uar_memory *m, uar_embed_purpose purpose, const uar_str *texts, size_t count,
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
        embed_call_out(m, purpose, texts, count, completion);
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

uar_status embed_make_unit(float *vectors, size_t count, size_t dims, uar_error *err) {
    for (size_t i = 0; i < count; i++)
        if (!vector_normalise(vectors + i * dims, dims))
            return error_set(err, UAR_E_INVALID, "the embedder gave a vector without a direction");
    return UAR_OK;
}

static uar_status embed_all(float *out, uar_memory *m, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                            uar_error *err) {
    size_t dims = m->embedder.dims;
    for (size_t at = 0; at < count; at += EMBED_BATCH) {
        size_t n = count - at < EMBED_BATCH ? count - at : EMBED_BATCH;
        uar_status status = ask(out + at * dims, m, purpose, texts + at, n, err);
        if (status != UAR_OK) return status;
    }
    return embed_make_unit(out, count, dims, err);
}

/* ---- what is known already ---- */

/* Texts that nothing is known of stand together at the front of `texts`, their places in `places`. */
typedef struct missing {
    uar_str *texts;
    size_t *places;
    size_t count;
} missing;

static uar_status look_up(float *out, missing *left, uar_memory *m, uar_embed_purpose purpose, const uar_str *texts,
                          size_t count, uar_error *err) {
    for (size_t i = 0; i < count; i++) {
        uar_status status = UAR_OK;
        if (!embed_cache_take(&status, out + i * m->embedder.dims, &m->embed.cache, purpose, texts[i])) {
            left->texts[left->count] = texts[i];
            left->places[left->count++] = i;
        } else if (status != UAR_OK) {
            return error_set(err, status, "the embedder was asked before and failed");
        }
    }
    return UAR_OK;
}

static uar_status ask_rest(float *out, float *room, const missing *left, uar_memory *m, uar_embed_purpose purpose,
                           uar_error *err) {
    size_t dims = m->embedder.dims;
    if (left->count == 0) return UAR_OK;
    uar_status status = embed_all(room, m, purpose, left->texts, left->count, err);
    for (size_t i = 0; i < left->count && status == UAR_OK; i++) {
        memcpy(out + left->places[i] * dims, room + i * dims, dims * sizeof *out);
        if (purpose == UAR_EMBED_QUERY)
            embed_cache_keep(&m->embed.cache, purpose, left->texts[i], room + i * dims, UAR_OK);
    }
    return status;
}

static uar_status embed_texts(float *out, uar_memory *m, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                              uar_error *err) {
    const uar_allocator *a = &m->alloc;
    missing left = { .texts = (uar_str *)alloc_zeroed(a, count, sizeof *left.texts),
                     .places = (size_t *)alloc_zeroed(a, count, sizeof *left.places) };
    float *room = (float *)alloc_zeroed(a, count, m->embedder.dims * sizeof *room);
    uar_status status = UAR_E_NOMEM;
    if (left.texts != NULL && left.places != NULL && room != NULL)
        status = look_up(out, &left, m, purpose, texts, count, err);
    else
        error_plain(err, status);
    if (status == UAR_OK) status = ask_rest(out, room, &left, m, purpose, err);
    alloc_free(a, left.texts);
    alloc_free(a, left.places);
    alloc_free(a, room);
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
    if (m->embed.model != model) engine_forget(&m->shelf.engine, 0); /* it knows segments without their vectors */
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
    if (status == UAR_OK) {
        status = embed_cache_init(&door->cache, &m->alloc, m->embedder.dims);
        if (status != UAR_OK) callouts_dispose(&door->calls);
    }
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
    embed_cache_dispose(&door->cache);
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
    status = embed_texts(vectors, m, purpose, texts, count, err);
    if (status == UAR_OK)
        *out = vectors;
    else
        alloc_free(&m->alloc, vectors);
    return status;
}

void embed_prepare(uar_memory *m, const uar_str *questions, size_t count) {
    assert(count <= EMBED_CACHE);
    float *vectors = NULL;
    uar_status status = memory_embed(&vectors, m, UAR_EMBED_QUERY, questions, count, NULL);
    alloc_free(&m->alloc, vectors);
    for (size_t i = 0; status != UAR_OK && status != UAR_E_UNSUPPORTED && i < count; i++)
        embed_cache_keep(&m->embed.cache, UAR_EMBED_QUERY, questions[i], NULL, status);
}
