/* Owns: the end of one host call. Invariant: `state` leaves OPEN exactly once, by compare-and-swap; only who moved it runs
 * or suppresses `on_end`. */
#include "base/completion.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/json.h"
#include "base/utf8.h"

enum { OPEN, ENDED };

/* Values that a host hands in may be large (tool results), but not without bound. */
#define VALUE_MAX ((size_t)64 << 20)

struct uar_completion {
    uar_allocator alloc;
    atomic_uint refs;  /* all references: memory */
    atomic_uint holds; /* references of the host: when they end, an open call is dropped */
    atomic_int state;
    atomic_uint stale; /* finishes after the end */
    completion_kind kind;
    completion_fn on_end;
    void *arg;
    arena kept; /* input of a detached call */
};

uar_completion *completion_new(const uar_allocator *alloc, completion_kind kind, completion_fn on_end, void *arg) {
    uar_completion *done = ALLOC_NEW(alloc, uar_completion);
    if (done == NULL) return NULL;
    done->alloc = *alloc;
    atomic_init(&done->refs, 1);
    atomic_init(&done->holds, 0);
    atomic_init(&done->state, OPEN);
    atomic_init(&done->stale, 0);
    done->kind = kind;
    done->on_end = on_end;
    done->arg = arg;
    arena_init(&done->kept, &done->alloc);
    live_add(1);
    return done;
}

void completion_release(uar_completion *done) {
    if (done == NULL || atomic_fetch_sub(&done->refs, 1) != 1) return;
    arena_dispose(&done->kept);
    uar_allocator alloc = done->alloc;
    alloc_free(&alloc, done);
    live_add(-1);
}

/* Ends the call if it is open; false if somebody else did. */
static bool take_end(uar_completion *done) {
    int open = OPEN;
    return atomic_compare_exchange_strong(&done->state, &open, ENDED);
}

static uar_status end(uar_completion *done, const completion_result *result) {
    if (!take_end(done)) {
        atomic_fetch_add(&done->stale, 1);
        return UAR_E_STALE;
    }
    done->on_end(done->arg, result);
    return UAR_OK;
}

static uar_status end_failed(uar_completion *done, uar_status status, const char *message) {
    completion_result result = { .status = status, .message = message };
    return end(done, &result);
}

/* The call ends with the fault, and the host hears of it too. */
static uar_status end_refused(uar_completion *done, uar_status status, const char *message) {
    uar_status ended = end_failed(done, status, message);
    return ended == UAR_OK ? status : ended;
}

void completion_lend(uar_completion *done) {
    uar_completion_ref(done);
}

void completion_return(uar_completion *done) {
    uar_completion_unref(done);
}

void completion_keep(uar_completion *done, arena *mem) {
    assert(done->kept.blocks == NULL);
    done->kept.blocks = mem->blocks;
    mem->blocks = NULL;
}

bool completion_detach(uar_completion *done) {
    return take_end(done);
}

bool completion_is_held(const uar_completion *done) {
    return atomic_load(&done->holds) > 0;
}

unsigned completion_stale_finishes(const uar_completion *done) {
    return atomic_load(&done->stale);
}

uar_completion *uar_completion_ref(uar_completion *done) {
    assert(done != NULL);
    atomic_fetch_add(&done->refs, 1);
    atomic_fetch_add(&done->holds, 1);
    return done;
}

void uar_completion_unref(uar_completion *done) {
    if (done == NULL) return;
    if (atomic_fetch_sub(&done->holds, 1) == 1 && uar_completion_is_open(done))
        (void)end_failed(done, UAR_E_DROPPED, "the host let go of the call without finishing it");
    completion_release(done);
}

bool uar_completion_is_open(const uar_completion *done) {
    return done != NULL && atomic_load(&done->state) == OPEN;
}

uar_status uar_completion_ok(uar_completion *done) {
    if (done == NULL) return UAR_E_INVALID;
    if (done->kind != COMPLETION_OK) return end_refused(done, UAR_E_INVALID, "this call needs a value");
    completion_result result = { .status = UAR_OK };
    return end(done, &result);
}

uar_status uar_completion_fail(uar_completion *done, uar_status status, const char *message) {
    if (done == NULL) return UAR_E_INVALID;
    if (status == UAR_OK) status = UAR_E_INTERNAL;
    return end_failed(done, status, message);
}

uar_status uar_completion_json(uar_completion *done, const char *json) {
    if (json == NULL) return uar_completion_json_n(done, "", 0);
    return uar_completion_json_n(done, json, strlen(json));
}

uar_status uar_completion_json_n(uar_completion *done, const char *json, size_t len) {
    if (done == NULL) return UAR_E_INVALID;
    if (!uar_completion_is_open(done)) return UAR_E_STALE;
    if (done->kind != COMPLETION_VALUE) return end_refused(done, UAR_E_INVALID, "this call takes no JSON");
    cJSON *tree = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = json_read(&tree, &done->alloc, uar_str_n(json, len), VALUE_MAX, &err);
    if (status != UAR_OK) return end_refused(done, status, err.message);
    json_free(&done->alloc, tree);
    completion_result result = { .status = UAR_OK, .value = uar_str_n(json, len) };
    return end(done, &result);
}

uar_status uar_completion_text(uar_completion *done, const char *text, size_t len) {
    if (done == NULL) return UAR_E_INVALID;
    if (!uar_completion_is_open(done)) return UAR_E_STALE;
    if (done->kind != COMPLETION_VALUE) return end_refused(done, UAR_E_INVALID, "this call takes no text");
    if (len > VALUE_MAX) return end_refused(done, UAR_E_TOO_LARGE, NULL);
    if (text == NULL && len != 0) return end_refused(done, UAR_E_INVALID, "the text is NULL but has a length");
    uar_str value = uar_str_n(text != NULL ? text : "", text != NULL ? len : 0);
    if (!utf8_is_valid(value)) return end_refused(done, UAR_E_UTF8, "the text is not valid UTF-8");
    completion_result result = { .status = UAR_OK, .value = value, .is_text = true };
    return end(done, &result);
}

uar_status uar_completion_vectors(uar_completion *done, const float *vectors, size_t count, size_t dims) {
    if (done == NULL) return UAR_E_INVALID;
    if (done->kind != COMPLETION_VECTORS) return end_refused(done, UAR_E_INVALID, "this call takes no vectors");
    if (vectors == NULL && count != 0) return end_refused(done, UAR_E_INVALID, "vectors are missing");
    completion_result result = { .status = UAR_OK, .vectors = vectors, .vector_count = count, .vector_dims = dims };
    return end(done, &result);
}

uar_status uar_completion_records(uar_completion *done, const uar_record *records, size_t count, uar_release_fn release,
                                  void *release_ctx) {
    uar_status status = UAR_E_INVALID;
    if (done != NULL) {
        if (done->kind != COMPLETION_RECORDS)
            status = end_refused(done, UAR_E_INVALID, "this call takes no records");
        else if (records == NULL && count != 0)
            status = end_refused(done, UAR_E_INVALID, "records are missing");
        else {
            completion_result result = { .status = UAR_OK, .records = records, .record_count = count };
            status = end(done, &result);
        }
    }
    if (release != NULL) release(release_ctx);
    return status;
}
