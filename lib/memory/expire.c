/* Owns: the sweep. Invariant: a sweep moves in batches, each a whole transaction; the bytes go by the same way as those of
 * deleted records. */
#include "memory/expire.h"

#include "memory/erase.h"
#include "memory/write.h"

#define BATCH 128
/* The end of the year 9999: what comes later has no date in an export. */
#define EXPIRES_MAX INT64_C(253402300799999)
/* Between two sweeps behind writes. */
#define PAUSE_MS 60000

uar_status expire_check(int64_t *out, int64_t ms, int64_t now, uar_error *err) {
    *out = 0;
    if (ms == 0 || ms == UAR_MEMORY_OPEN_END) return UAR_OK;
    if (ms <= now) return error_set(err, UAR_E_INVALID, "the record would have expired already");
    if (ms > EXPIRES_MAX) return error_set(err, UAR_E_INVALID, "the record would expire after the year 9999");
    *out = ms;
    return UAR_OK;
}

bool expire_is_due(const uar_memory_record *r, int64_t now) {
    return r->expires_ms != 0 && r->expires_ms <= now;
}

int64_t expire_later(int64_t a, int64_t b) {
    if (a == 0 || b == 0) return 0;
    return a > b ? a : b;
}

uar_status expire_put(database *db, uar_uuid id, int64_t ms, uar_error *err) {
    query q;
    query_begin(&q, db, ms != 0 ? SQL_EXPIRY_PUT : SQL_EXPIRY_DROP);
    query_uuid(&q, 18, id);
    if (ms != 0) query_int(&q, 19, ms);
    return query_run(&q, err);
}

static uar_status due(uar_uuid ids[BATCH], size_t *count, uar_memory *m, uar_error *err) {
    query q;
    query_begin(&q, &m->database, SQL_EXPIRY_DUE);
    query_int(&q, 18, clock_wall(&m->clock));
    query_int(&q, 19, BATCH);
    *count = 0;
    while (*count < BATCH && query_next(&q))
        ids[(*count)++] = query_get_uuid(&q, 0);
    return query_end(&q, err);
}

static uar_status erase_record(uar_memory *m, uar_uuid id, uar_error *err) {
    num_list rows;
    num_list_init(&rows, &m->alloc);
    query q;
    query_begin(&q, &m->database, SQL_EXPIRY_ROWS);
    query_uuid(&q, 18, id);
    uar_status status = num_list_collect(&rows, &q, err);
    if (status == UAR_OK) status = version_erase_all(m, &rows, err);
    num_list_dispose(&rows);
    return status == UAR_OK ? expire_put(&m->database, id, 0, err) : status;
}

/* One batch in one transaction; `count` gets how many went. */
static uar_status sweep_batch(size_t *count, uar_memory *m, uar_error *err) {
    uar_status status = memory_enter_write(m, err);
    if (status != UAR_OK) return status;
    uar_uuid ids[BATCH];
    status = due(ids, count, m, err);
    for (size_t i = 0; status == UAR_OK && i < *count; i++)
        status = erase_record(m, ids[i], err);
    return memory_leave_write(m, status, err);
}

/* Most sweeps find nothing, and then take no writer's lock of the file. */
static uar_status anything_due(bool *out, uar_memory *m, uar_error *err) {
    uar_status status = memory_enter_read(m, err);
    if (status != UAR_OK) return status;
    uar_uuid ids[BATCH];
    size_t count = 0;
    status = due(ids, &count, m, err);
    m->swept_ms = clock_wall(&m->clock);
    memory_leave_read(m);
    *out = count != 0;
    return status;
}

static uar_status sweep(uint64_t *erased, uar_memory *m, uar_error *err) {
    bool any = false;
    *erased = 0;
    uar_status status = anything_due(&any, m, err);
    if (status == UAR_OK && any && m->database.read_only)
        return error_set(err, UAR_E_READ_ONLY, "the memory store was opened for reading");
    size_t count = any ? BATCH : 0;
    while (status == UAR_OK && count == BATCH) {
        status = sweep_batch(&count, m, err);
        if (status == UAR_OK) *erased += count;
    }
    if (*erased == 0) return status;
    uint64_t pending = 0;
    uar_status entered = memory_enter(m, NULL);
    if (entered == UAR_OK) {
        (void)erase_pending(m, &pending, NULL);
        memory_leave(m);
    }
    return status;
}

uar_status uar_memory_sweep_sync(uint64_t *erased, uar_memory *memory, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_OK) return status;
    uint64_t count = 0;
    status = sweep(&count, memory, err);
    if (status == UAR_OK) *erased = count;
    return status;
}

void expire_behind_write(uar_memory *memory) {
    if (memory_enter(memory, NULL) != UAR_OK) return;
    int64_t now = clock_wall(&memory->clock);
    bool is_time = now < memory->swept_ms || now - memory->swept_ms >= PAUSE_MS;
    memory_leave(memory);
    uint64_t erased = 0;
    if (is_time) (void)sweep(&erased, memory, NULL);
}
