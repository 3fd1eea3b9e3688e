/*
 * A memory under the allocation sweep, SQLite's own allocations among it: a template that is filled once, a copy of it for
 * each case, calls that run now or later, and a look at what is left: a sound store, here and for the next process, and
 * nothing of it in memory, in SQLite's neither.
 */
#ifndef UAR_TESTS_FAULT_MEMORY_BENCH_H
#define UAR_TESTS_FAULT_MEMORY_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <uar/memory_async.h>

#include "base/executor.h"
#include "fault/folder.h"
#include "fault/sqlite_port.h"
#include "support/embedder.h"

typedef struct bench {
    fault_port *port;
    uar_memory *memory;
    uar_identity who;
    long sqlite_before;
    test_embedder *embedder; /* NULL: lexical */
    uar_executor pumped;     /* post is NULL: none */
    unsigned round;          /* texts differ from call to call */
    char text[64];           /* what a draft points at; a call that runs later must not */
} bench;

static char store_folder[64], store_path[96], template_path[96];

static inline void as_user(uar_identity *who) {
    uar_identity_init(who);
    who->user = uar_str_of("me");
    who->session = uar_str_of("s");
}

/* ---- opening ---- */

static inline bench *bench_new(fault_port *port) {
    bench *b = calloc(1, sizeof *b);
    if (b == NULL) abort();
    store_files_remove(store_path);
    file_copy(store_path, template_path);
    b->port = port;
    b->sqlite_before = sqlite_alive;
    as_user(&b->who);
    sqlite_port = port;
    return b;
}

static inline void bench_embeds(bench *b) {
    b->embedder = calloc(1, sizeof *b->embedder);
    if (b->embedder == NULL) abort();
    embedder_init(b->embedder, "words-32");
}

static inline uar_memory *open_memory(bench *b) {
    uar_memory_options o;
    uar_memory_options_init(&o);
    o.allocator = &b->port->door;
    if (b->embedder != NULL) o.embedder = &b->embedder->door;
    if (b->pumped.post != NULL) o.executor = &b->pumped;
    return uar_memory_open(store_path, &o);
}

static inline void bench_open(bench *b) {
    b->memory = open_memory(b);
    uar_error why = UAR_ERROR_INIT;
    if (uar_memory_state(b->memory, &why) != UAR_MEMORY_READY) fault_note("the store doesn't open: %s", why.message);
}

static inline void pump(bench *b) {
    while (manual_run_one(&b->pumped)) {}
}

/* With an executor: calls run when the bench is pumped. */
static inline void bench_open_pumped(bench *b) {
    manual_options how = { .alloc = &alloc_default };
    if (manual_open(&b->pumped, &how) != UAR_OK) abort();
    b->memory = open_memory(b);
    pump(b); /* it embeds what is left */
}

static inline void *open_bench(fault_port *port) {
    bench *b = bench_new(port);
    bench_open(b);
    return b;
}

static inline void *open_pumped(fault_port *port) {
    bench *b = bench_new(port);
    bench_open_pumped(b);
    return b;
}

/* ---- what must hold ---- */

static inline void inspect_memory(void *arg, uar_status status) {
    (void)status;
    bench *b = arg;
    uar_error err = UAR_ERROR_INIT;
    if (b->memory == NULL) return;
    if (uar_memory_check_sync(b->memory, &err) != UAR_OK) fault_note("the store is not whole: %s", err.message);
}

static inline void end_embedder(bench *b) {
    FAULT_EXPECT(b->memory == NULL || atomic_load(&b->embedder->destroyed) == 1,
                 "destroy of the embedder was called %d times", atomic_load(&b->embedder->destroyed));
    embedder_dispose(b->embedder);
    free(b->embedder);
}

/* The next process finds a good store. */
static inline void close_bench(void *arg) {
    bench *b = arg;
    uar_memory_free(b->memory);
    sqlite_port = NULL;
    if (b->pumped.post != NULL) {
        pump(b);
        manual_close(&b->pumped);
    }
    if (b->embedder != NULL) end_embedder(b);
    FAULT_EXPECT(sqlite_alive == b->sqlite_before, "SQLite holds %ld blocks", sqlite_alive - b->sqlite_before);
    uar_error err = UAR_ERROR_INIT;
    uar_memory *memory = uar_memory_open(store_path, NULL);
    if (uar_memory_check_sync(memory, &err) != UAR_OK) fault_note("the store that is left: %s", err.message);
    uar_memory_free(memory);
    free(b);
}

static inline uar_status drop_piece(void *ctx, uar_str piece) {
    *(size_t *)ctx += piece.len + (piece.ptr == NULL);
    return UAR_OK;
}

/* ---- calls that run later ---- */

/* How one ended; the context of its receiver. */
typedef struct later_end {
    size_t written; /* of an export; first, for drop_piece */
    int calls;
    uar_status status;
} later_end;

/* None yet. */
#define LATER_END \
    { 0, 0, UAR_E_INTERNAL }

/* What every receiver does: a result comes without an error, an error without a result. */
static inline void later_told(later_end *end, uar_status status, bool has_result, const uar_error *err) {
    end->calls++;
    end->status = status;
    FAULT_EXPECT((status == UAR_OK) == has_result && (status == UAR_OK) == (err == NULL),
                 "a receiver got a result and an error, or neither");
}

static inline void on_change(void *ctx, uar_status status, const uar_memory_change *change, const uar_error *err) {
    later_told(ctx, status, change != NULL, err);
}

static inline void on_done(void *ctx, uar_status status, const uar_error *err) {
    later_told(ctx, status, status == UAR_OK, err);
}

static inline void on_records(void *ctx, uar_status status, uar_memory_records *records, const uar_error *err) {
    later_told(ctx, status, records != NULL, err);
    uar_memory_records_free(records);
}

/* Told once if it began, never if it didn't; by then what the caller gave is gone. */
static inline uar_status run_later(bench *b, const later_end *end, uar_status begun) {
    memset(b->text, '?', sizeof b->text);
    FAULT_EXPECT(end->calls == 0, "a receiver was called before the executor ran");
    pump(b);
    FAULT_EXPECT(end->calls == (begun == UAR_OK ? 1 : 0), "a receiver was called %d times", end->calls);
    return begun == UAR_OK ? end->status : begun;
}

/* ---- the program ---- */

/* Runs all scenarios over copies of what `fill` writes. */
static inline int sweep_memory(const char *title, void (*fill)(uar_memory *memory), sweep_scenario *scenarios,
                               size_t count) {
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    if (tests == NULL) abort();
    sqlite_port_install();
    folder_make(store_folder);
    (void)snprintf(store_path, sizeof store_path, "%s/memory.db", store_folder);
    (void)snprintf(template_path, sizeof template_path, "%s/template.db", store_folder);
    uar_memory *memory = uar_memory_open(template_path, NULL);
    fill(memory);
    uar_memory_free(memory);
    for (size_t i = 0; i < count; i++) {
        if (scenarios[i].quick == 0) scenarios[i].quick = 40;
        tests[i].name = scenarios[i].name;
        tests[i].test_func = test_sweep;
        tests[i].initial_state = &scenarios[i];
    }
    int failed = _cmocka_run_group_tests(title, tests, count, NULL, NULL);
    store_files_remove(store_path);
    store_files_remove(template_path);
    (void)rmdir(store_folder);
    free(tests);
    return failed;
}

#endif
