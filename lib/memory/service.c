/* Owns: the life of a memory object. Invariant: each door struct that was handed over is destroyed exactly once, whether
 * opening worked or not. */
#include "memory/service.h"

#include <assert.h>

#include "base/utf8.h"
#include "index/analysis.h"
#include "memory/async.h"
#include "memory/erase.h"
#include "memory/reembed.h"
#include "memory/shelf.h"

#define BUSY_TIMEOUT_MS 5000u

/* Stands in where there is no memory for an object. It is never written to. */
static const uar_memory memory_nomem = {
    .state = UAR_MEMORY_UNAVAILABLE,
    .reason = { UAR_E_NOMEM, 0, "there was no memory for the memory service" },
};

static bool is_standin(const uar_memory *memory) {
    return memory == &memory_nomem;
}

static uar_memory *standin(void) {
    return (uar_memory *)(uintptr_t)&memory_nomem;
}

/* What the host gave, copied as far as it is understood. */
typedef struct doors {
    uar_allocator alloc;
    uar_clock clock;
    uar_random random;
    uar_embedder embedder;
    uar_executor executor; /* all zero: none was given */
    uint32_t busy_timeout_ms;
    uint32_t embed_timeout_ms;
    size_t cache_bytes;
    bool read_only;
} doors;

/* Copies even a refused struct's known part, so that its destroy is called. */
static uar_status take_door(void *out, size_t known, const void *given, const void *fallback, uar_error *err,
                            const char *what) {
    if (given == NULL) {
        memcpy(out, fallback, known);
        return UAR_OK;
    }
    uar_status status = struct_in(out, known, given, what, err);
    size_t size = 0;
    memcpy(&size, given, sizeof size);
    if (status != UAR_OK && size >= known) memcpy(out, given, known);
    return status;
}

static uar_status check_doors(const doors *d, uar_error *err) {
    if (d->alloc.alloc == NULL || d->alloc.resize == NULL || d->alloc.release == NULL)
        return error_set(err, UAR_E_INVALID, "the allocator lacks a function");
    if (d->clock.wall_ms == NULL) return error_set(err, UAR_E_INVALID, "the clock has no wall_ms");
    if (d->random.fill == NULL) return error_set(err, UAR_E_INVALID, "the random door has no fill");
    if (d->embedder.id == NULL || d->embedder.id[0] == '\0' || d->embedder.dims == 0 || d->embedder.embed == NULL)
        return error_set(err, UAR_E_INVALID, "the embedder lacks its id, its dimensions or its function");
    if (d->embedder.dims > EMBED_DIMS_MAX)
        return error_set(err, UAR_E_INVALID, "the embedder has %zu dimensions, at most %d are allowed",
                         d->embedder.dims, EMBED_DIMS_MAX);
    return UAR_OK;
}

static uar_status take_doors(doors *d, const uar_memory_options *given, uar_error *err) {
    uar_memory_options plain;
    uar_memory_options_init(&plain);
    uar_memory_options options;
    uar_status status = take_door(&options, sizeof options, given, &plain, err, "uar_memory_options");
    memset(d, 0, sizeof *d);
    d->busy_timeout_ms = options.busy_timeout_ms != 0 ? options.busy_timeout_ms : BUSY_TIMEOUT_MS;
    d->embed_timeout_ms = options.embed_timeout_ms;
    d->cache_bytes = options.cache_bytes != 0 ? options.cache_bytes : SHELF_CACHE_BYTES;
    d->read_only = options.read_only;
    static const uar_executor no_executor = { .struct_size = UAR_EXECUTOR_INIT };
    uar_status each[] = {
        take_door(&d->alloc, sizeof d->alloc, options.allocator, &alloc_default, err, "the allocator"),
        take_door(&d->clock, sizeof d->clock, options.clock, &clock_default, err, "the clock"),
        take_door(&d->random, sizeof d->random, options.random, &random_default, err, "the random door"),
        take_door(&d->embedder, sizeof d->embedder, options.embedder, uar_embedder_lexical(), err, "the embedder"),
        take_door(&d->executor, sizeof d->executor, options.executor, &no_executor, err, "the executor"),
    };
    if (status == UAR_OK && options.executor != NULL && d->executor.post == NULL)
        status = error_set(err, UAR_E_INVALID, "the executor has no post");
    for (size_t i = 0; i < sizeof each / sizeof *each && status == UAR_OK; i++)
        status = each[i];
    return status == UAR_OK ? check_doors(d, err) : status;
}

static void destroy_doors(const uar_embedder *embedder, const uar_random *random, const uar_clock *clock) {
    if (embedder->destroy != NULL) embedder->destroy(embedder->ctx);
    if (random->destroy != NULL) random->destroy(random->ctx);
    if (clock->destroy != NULL) clock->destroy(clock->ctx);
}

static void destroy_executor(const uar_executor *executor) {
    if (executor->destroy != NULL) executor->destroy(executor->ctx);
}

/* The executor goes to the lane, or is destroyed. */
static uar_status open_doors(uar_memory *m, const doors *d, uar_error *err) {
    uar_status status = mutex_init(&m->lock);
    if (status == UAR_OK && (status = mutex_init(&m->care)) != UAR_OK) mutex_dispose(&m->lock);
    if (status == UAR_OK) {
        m->has_lock = true;
        status = embed_open(m, d->embed_timeout_ms, err);
    }
    if (status == UAR_OK)
        status = async_open(m, &d->executor);
    else
        destroy_executor(&d->executor);
    return error_plain(err, status);
}

static uar_status open_store(uar_memory *m, const char *path, const doors *d, uar_error *err) {
    if (path == NULL || path[0] == '\0') return error_set(err, UAR_E_INVALID, "the memory has no path");
    char *full = database_full_path(&m->alloc, path);
    m->file = full != NULL ? alloc_text(&m->alloc, uar_str_of(full)) : NULL;
    if (m->file == NULL) {
        alloc_free(&m->alloc, full);
        full = NULL;
    }
    if (full != NULL) {
        char *slash = strrchr(full, '/');
        if (slash != NULL) slash[slash == full ? 1 : 0] = '\0';
        m->location = full;
    }
    m->embedder_id = alloc_text(&m->alloc, uar_str_of(d->embedder.id));
    if (m->embedder_id == NULL) return error_plain(err, UAR_E_NOMEM);
    m->embedder.id = m->embedder_id;
    database_options options = {
        .alloc = &m->alloc, .random = &m->random, .busy_timeout_ms = d->busy_timeout_ms, .read_only = d->read_only
    };
    uar_status status = database_open(&m->database, path, &options, err);
    m->is_open = status == UAR_OK && m->location != NULL;
    if (status != UAR_OK || m->location != NULL) return status;
    database_close(&m->database); /* without it, the check against the runtime's store could not be made */
    return error_set(err, UAR_E_NOMEM, "the directory of the memory store could not be told");
}

/* What an earlier process left: an index of older rules, deletions whose bytes were not yet gone. Neither is a reason to
 * refuse the store. */
static void take_up(uar_memory *m) {
    m->state = UAR_MEMORY_READY;
    (void)embed_register(m, NULL);
    bool is_old = m->database.analysis != ANALYSIS_VERSION;
    if (is_old) m->state = UAR_MEMORY_REINDEXING;
    if (m->database.read_only) return;
    if (is_old) (void)uar_memory_reindex_sync(m, NULL);
    uint64_t pending = 0;
    (void)uar_memory_sweep_sync(&pending, m, NULL);
    mutex_lock(&m->lock);
    (void)erase_pending(m, &pending, NULL);
    mutex_unlock(&m->lock);
    reembed_begin(m);
}

uar_memory *uar_memory_open(const char *path, const uar_memory_options *options) {
    doors d;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = take_doors(&d, options, &err);
    bool has_alloc = d.alloc.alloc != NULL && d.alloc.resize != NULL && d.alloc.release != NULL;
    uar_memory *m = ALLOC_NEW(has_alloc ? &d.alloc : &alloc_default, uar_memory);
    if (m == NULL) {
        destroy_doors(&d.embedder, &d.random, &d.clock);
        destroy_executor(&d.executor);
        return standin();
    }
    live_add(1);
    atomic_init(&m->refs, 1);
    atomic_init(&m->pins, 1);
    atomic_init(&m->suspended, false);
    atomic_init(&m->stops_care, false);
    m->alloc = has_alloc ? d.alloc : alloc_default;
    m->clock = d.clock;
    m->random = d.random;
    m->embedder = d.embedder;
    m->state = UAR_MEMORY_UNAVAILABLE;
    engine_init(&m->shelf.engine, &m->alloc, d.cache_bytes);
    if (status == UAR_OK)
        status = open_doors(m, &d, &err);
    else
        destroy_executor(&d.executor);
    if (status == UAR_OK) status = open_store(m, path, &d, &err);
    if (status == UAR_OK)
        take_up(m);
    else
        m->reason = err;
    return m;
}

uar_memory *uar_memory_ref(uar_memory *memory) {
    if (memory != NULL && !is_standin(memory)) atomic_fetch_add(&memory->refs, 1);
    return memory;
}

static void destroy(uar_memory *m) {
    async_release(m->lane);
    embed_dispose(m);
    shelf_trim(m);
    if (m->has_lock) {
        database_close(&m->database);
        mutex_dispose(&m->care);
        mutex_dispose(&m->lock);
    }
    uar_allocator alloc = m->alloc;
    uar_clock clock = m->clock;
    uar_random random = m->random;
    uar_embedder embedder = m->embedder;
    alloc_free(&alloc, m->embedder_id);
    alloc_free(&alloc, m->location);
    alloc_free(&alloc, m->file);
    alloc_free(&alloc, m);
    live_add(-1);
    destroy_doors(&embedder, &random, &clock);
}

void memory_pin(uar_memory *memory) {
    atomic_fetch_add(&memory->pins, 1);
}

void memory_unpin(uar_memory *memory) {
    if (atomic_fetch_sub(&memory->pins, 1) == 1) destroy(memory);
}

void uar_memory_free(uar_memory *memory) {
    if (memory == NULL || is_standin(memory)) return;
    unsigned before = atomic_fetch_sub(&memory->refs, 1);
    assert(before > 0);
    if (before != 1) return;
    embed_cancel(memory);
    async_close(memory);
    memory_unpin(memory);
}

uar_memory_status uar_memory_state(const uar_memory *memory, uar_error *reason) {
    if (memory == NULL) return UAR_MEMORY_DISABLED;
    if (is_standin(memory) || !memory->has_lock || !memory->is_open) {
        error_copy(reason, &memory->reason);
        return UAR_MEMORY_UNAVAILABLE;
    }
    if (atomic_load(&memory->suspended)) {
        error_set(reason, UAR_E_SUSPENDED, "the memory is suspended");
        return UAR_MEMORY_UNAVAILABLE;
    }
    uar_memory *m = (uar_memory *)(uintptr_t)memory;
    mutex_lock(&m->lock);
    uar_memory_status state = m->state;
    mutex_unlock(&m->lock);
    return state;
}

const char *uar_memory_location(const uar_memory *memory) {
    return memory != NULL ? memory->location : NULL;
}

const char *uar_memory_embedder(const uar_memory *memory) {
    return memory != NULL && memory->embedder_id != NULL ? memory->embedder_id : "";
}

uar_status memory_ready(const uar_memory *memory, uar_error *err) {
    if (memory == NULL) return error_set(err, UAR_E_DISABLED, "memory is disabled");
    if (!is_standin(memory) && atomic_load(&memory->suspended))
        return error_set(err, UAR_E_SUSPENDED, "the memory is suspended");
    if (is_standin(memory) || !memory->is_open) {
        error_set(err, UAR_E_UNAVAILABLE, "memory is unavailable: %s", memory->reason.message);
        if (err != NULL) err->detail = (int32_t)memory->reason.code;
        return UAR_E_UNAVAILABLE;
    }
    return UAR_OK;
}

uar_status memory_usable(const uar_memory *memory, uar_error *err) {
    uar_status status = memory_ready(memory, err);
    if (status != UAR_OK) return status;
    if (embed_is_inside((uar_memory *)(uintptr_t)memory))
        return error_set(err, UAR_E_WOULD_DEADLOCK, "this call waits; it can't be made in a callback of the memory");
    return UAR_OK;
}

bool memory_stops_at(uar_status status) {
    uar_band band = uar_status_band(status);
    if (status == UAR_E_NEWER) return false; /* of a line: a store of a newer version isn't open */
    return band == UAR_BAND_STORE || band == UAR_BAND_FATAL || band == UAR_BAND_RETRY;
}

uar_status memory_check_limit(size_t limit, uar_error *err) {
    if (limit != 0 && limit <= MEMORY_LIMIT_MAX) return UAR_OK;
    return error_set(err, UAR_E_INVALID, "the limit is not between 1 and %d", MEMORY_LIMIT_MAX);
}

uar_status memory_no_time(uar_error *err) {
    return error_set(err, UAR_E_INVALID, "the earliest time of all stands for no time");
}

uar_status memory_check_question(uar_str text, size_t limit, uar_error *err) {
    uar_status status = memory_check_limit(limit, err);
    if (status != UAR_OK) return status;
    if (text.len > MEMORY_TEXT_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "the question has %zu bytes, at most %zu are allowed", text.len,
                         MEMORY_TEXT_MAX);
    size_t fault = utf8_fault(text);
    if (fault != text.len) return error_set(err, UAR_E_UTF8, "the question is not valid UTF-8 at byte %zu", fault);
    return UAR_OK;
}

uar_status memory_enter(uar_memory *memory, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_OK) return status;
    mutex_lock(&memory->lock);
    if (!atomic_load(&memory->suspended)) return UAR_OK;
    mutex_unlock(&memory->lock);
    return error_set(err, UAR_E_SUSPENDED, "the memory is suspended");
}

void memory_leave(uar_memory *memory) {
    mutex_unlock(&memory->lock);
}

uar_status memory_enter_read(uar_memory *memory, uar_error *err) {
    uar_status status = memory_enter(memory, err);
    if (status != UAR_OK) return status;
    status = database_begin_read(&memory->database, err);
    if (status != UAR_OK) memory_leave(memory);
    return status;
}

void memory_leave_read(uar_memory *memory) {
    database_end_read(&memory->database);
    memory_leave(memory);
}

uar_status memory_enter_write(uar_memory *memory, uar_error *err) {
    uar_status status = memory_enter(memory, err);
    if (status != UAR_OK) return status;
    if (memory->database.read_only)
        status = error_set(err, UAR_E_READ_ONLY, "the memory store was opened for reading");
    else
        status = database_begin_write(&memory->database, err);
    if (status != UAR_OK) memory_leave(memory);
    return status;
}

uar_status memory_leave_write(uar_memory *memory, uar_status status, uar_error *err) {
    if (status == UAR_OK) status = shelf_flush(memory, err);
    status = database_end_write(&memory->database, status, err);
    shelf_settle(memory, status == UAR_OK);
    memory_leave(memory);
    return status;
}
