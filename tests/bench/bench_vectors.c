/*
 * The nearest ten of many vectors of 384 numbers: exact, from codes in memory and vectors in an SQLite table, as a memory
 * store keeps them. The answers are checked against a comparison with all vectors. What others need: bench_vectors_*.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "index/vector_top.h"
#include "vector_sets.h"

#define CHUNK 1024
#define PASSES 5

static void must(bool holds, const char *what) {
    if (!holds) bench_give_up(what);
}

/* The table and the codes of one set. */
typedef struct shelf {
    char path[64];
    sqlite3 *db;
    sqlite3_stmt *read;
    vector_block *blocks;
    size_t block_count, count;
    size_t fetched;
} shelf;

static void run_sql(shelf *s, const char *sql) {
    must(sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK, sql);
}

static void open_table(shelf *s) {
    snprintf(s->path, sizeof s->path, "/tmp/bench_vectors.%ld.db", (long)getpid());
    must(sqlite3_open(s->path, &s->db) == SQLITE_OK, "no database can be made in /tmp");
    run_sql(s,
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
            "CREATE TABLE vector(num INTEGER PRIMARY KEY, model TEXT NOT NULL, mark BLOB NOT NULL, value BLOB NOT NULL,"
            " tail BLOB NOT NULL)");
}

static void fill_table(shelf *s, set_kind kind) {
    static const char insert[] = "INSERT INTO vector VALUES(?1, 'bench:384', randomblob(16), ?2, randomblob(16))";
    sqlite3_stmt *write = NULL;
    set_stream rows;
    float v[SET_DIMS];
    run_sql(s, "BEGIN");
    must(sqlite3_prepare_v2(s->db, insert, -1, &write, NULL) == SQLITE_OK, insert);
    set_open(&rows, kind, false);
    for (size_t n = 1; n <= s->count; n++) {
        set_next(&rows, v);
        sqlite3_bind_int64(write, 1, (int64_t)n);
        sqlite3_bind_blob(write, 2, v, sizeof v, SQLITE_STATIC);
        must(sqlite3_step(write) == SQLITE_DONE && sqlite3_reset(write) == SQLITE_OK, "a row can't be written");
    }
    set_close(&rows);
    sqlite3_finalize(write);
    run_sql(s, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
}

static void add_block(shelf *s, sqlite3_stmt *all, double *encoding) {
    vector_block *b = &s->blocks[s->block_count++];
    size_t stride = vector_stride(SET_DIMS), first = (s->block_count - 1) * CHUNK;
    b->count = s->count - first < CHUNK ? s->count - first : CHUNK;
    int8_t *rows = bench_memory(b->count * stride);
    float *scales = bench_memory(b->count * sizeof *scales);
    int64_t *keys = bench_memory(b->count * sizeof *keys);
    for (size_t r = 0; r < b->count; r++) {
        float v[SET_DIMS];
        must(sqlite3_step(all) == SQLITE_ROW && sqlite3_column_bytes(all, 1) == sizeof v, "a row is missing");
        keys[r] = sqlite3_column_int64(all, 0);
        memcpy(v, sqlite3_column_blob(all, 1), sizeof v);
        uint64_t began = bench_now();
        vector_encode(rows + r * stride, &scales[r], v, SET_DIMS);
        *encoding += (double)(bench_now() - began);
    }
    b->rows = rows;
    b->scales = scales;
    b->keys = keys;
}

/* Nanoseconds of encoding. */
static double load_codes(shelf *s) {
    sqlite3_stmt *all = NULL;
    double encoding = 0;
    must(sqlite3_prepare_v2(s->db, "SELECT num, value FROM vector ORDER BY num", -1, &all, NULL) == SQLITE_OK,
         "no scan");
    s->blocks = bench_memory((s->count / CHUNK + 1) * sizeof *s->blocks);
    while (s->block_count * CHUNK < s->count)
        add_block(s, all, &encoding);
    sqlite3_finalize(all);
    return encoding;
}

static shelf *open_shelf(set_kind kind, size_t count) {
    shelf *s = bench_memory(sizeof *s);
    s->count = count;
    open_table(s);
    fill_table(s, kind);
    must(sqlite3_prepare_v2(s->db, "SELECT value FROM vector WHERE num = ?1", -1, &s->read, NULL) == SQLITE_OK,
         "no read");
    return s;
}

static void close_shelf(shelf *s) {
    for (size_t i = 0; i < s->block_count; i++) {
        alloc_free(&alloc_default, s->blocks[i].rows);
        alloc_free(&alloc_default, s->blocks[i].scales);
        alloc_free(&alloc_default, s->blocks[i].keys);
        alloc_free(&alloc_default, s->blocks[i].sheet);
    }
    free(s->blocks);
    sqlite3_finalize(s->read);
    sqlite3_close(s->db);
    (void)unlink(s->path);
    free(s);
}

static uar_status fetch(void *ctx, float *out, size_t block, size_t row) {
    shelf *s = ctx;
    s->fetched++;
    sqlite3_bind_int64(s->read, 1, s->blocks[block].keys[row]);
    bool found = sqlite3_step(s->read) == SQLITE_ROW && sqlite3_column_bytes(s->read, 0) == SET_DIMS * sizeof *out;
    if (found) memcpy(out, sqlite3_column_blob(s->read, 0), SET_DIMS * sizeof *out);
    sqlite3_reset(s->read);
    return found ? UAR_OK : UAR_E_CORRUPT;
}

/* Milliseconds of one search, the preparation of the query included. */
static double ask(shelf *s, const float *v, const vector_block *blocks, size_t block_count, vector_hit *hits,
                  size_t *count) {
    vector_query q;
    vector_source source = { s, fetch };
    uint64_t began = bench_now();
    must(vector_query_init(&q, &alloc_default, v, SET_DIMS) == UAR_OK, "a query is refused");
    must(vector_top(hits, count, SET_NEAREST, &q, blocks, block_count, source) == UAR_OK, "a search fails");
    vector_query_dispose(&q);
    return (double)(bench_now() - began) / 1e6;
}

static bool is_exact(const set_truth *truth, size_t query, const vector_hit *hits, size_t count) {
    bool exact = count == SET_NEAREST;
    for (size_t i = 0; exact && i < count; i++)
        exact = hits[i].key == truth->nearest[query][i];
    return exact;
}

static void report(const char *set, const char *what, double value, const char *unit, bench_aim aim, double limit) {
    char name[80];
    snprintf(name, sizeof name, "vectors.%s.%s", set, what);
    bench_report(name, value, unit, aim, limit);
}

static void measure_exact(shelf *s, const char *set, const set_truth *truth, double limit) {
    double ms[PASSES * SET_QUERIES];
    size_t asked = 0, exact = 0, count = 0;
    vector_hit hits[SET_NEAREST];
    run_sql(s, "BEGIN; SELECT count(*) FROM vector WHERE num = 1");
    s->fetched = 0;
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t q = 0; q < SET_QUERIES; q++) {
            ms[asked++] = ask(s, truth->queries[q], s->blocks, s->block_count, hits, &count);
            exact += is_exact(truth, q, hits, count);
        }
    run_sql(s, "COMMIT");
    bench_check(exact == asked, "ids and order are those of a comparison with all vectors");
    report(set, "exact.median", bench_quantile(ms, asked, 0.5), "ms", BENCH_BELOW, limit);
    report(set, "exact.p95", bench_quantile(ms, asked, 0.95), "ms", BENCH_FACT, 0);
    report(set, "exact.fetched", (double)s->fetched / (double)asked, "vectors a query", BENCH_FACT, 0);
}

static void measure_bits(shelf *s, const char *set, const set_truth *truth, double limit) {
    double ms[PASSES * SET_QUERIES], recall = 0, building = 0;
    size_t asked = 0, count = 0, bytes = 0;
    vector_hit hits[SET_NEAREST];
    for (size_t i = 0; i < s->block_count; i++) {
        vector_block *b = &s->blocks[i];
        float *sheet = bench_memory(vector_bits_size(SET_DIMS, b->count));
        uint64_t began = bench_now();
        uar_status built = vector_bits_build(sheet, &alloc_default, b->rows, b->scales, SET_DIMS, b->count);
        must(built == UAR_OK, "a sheet can't be built");
        building += (double)(bench_now() - began);
        bytes += vector_bits_size(SET_DIMS, b->count);
        b->sheet = sheet;
    }
    run_sql(s, "BEGIN; SELECT count(*) FROM vector WHERE num = 1");
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t q = 0; q < SET_QUERIES; q++) {
            int64_t found[SET_NEAREST];
            ms[asked++] = ask(s, truth->queries[q], s->blocks, s->block_count, hits, &count);
            for (size_t i = 0; i < count; i++)
                found[i] = hits[i].key;
            recall += set_recall(truth, q, found, count);
        }
    run_sql(s, "COMMIT");
    report(set, "bits.median", bench_quantile(ms, asked, 0.5), "ms", BENCH_BELOW, limit);
    report(set, "bits.recall", recall / (double)asked, "of the nearest 10", BENCH_ABOVE, 0.99);
    report(set, "bits.build", building / 1e3 / (double)s->count, "us a vector", BENCH_FACT, 0);
    report(set, "bits.size", (double)bytes / 1e6, "MB", BENCH_FACT, 0);
}

/* A hundredth of the rows: those of a segment of its own, or every hundredth by a mask. */
static void measure_scope(shelf *s, const char *set, const char *what, const set_truth *truth, bool by_mask) {
    double ms[PASSES * SET_QUERIES];
    vector_hit hits[SET_NEAREST];
    size_t asked = 0, count = 0, block_count = by_mask ? s->block_count : 1;
    vector_block *blocks = bench_memory(block_count * sizeof *blocks);
    uint64_t *masks = bench_memory(block_count * (CHUNK / 64) * sizeof *masks);
    memcpy(blocks, s->blocks, block_count * sizeof *blocks);
    for (size_t n = 0; by_mask && n < s->count; n += 100)
        masks[n / 64] |= UINT64_C(1) << (n % 64);
    for (size_t b = 0; b < block_count; b++) {
        if (by_mask) blocks[b].mask = masks + b * (CHUNK / 64);
        if (!by_mask && blocks[b].count > s->count / 100) blocks[b].count = s->count / 100;
    }
    run_sql(s, "BEGIN; SELECT count(*) FROM vector WHERE num = 1");
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t q = 0; q < SET_QUERIES; q++)
            ms[asked++] = ask(s, truth->queries[q], blocks, block_count, hits, &count);
    run_sql(s, "COMMIT");
    free(blocks);
    free(masks);
    report(set, what, bench_quantile(ms, asked, 0.5), "ms", BENCH_BELOW, 0.3);
}

static void measure_set(set_kind kind, size_t count, const char *set, double limit, bool is_small) {
    set_truth *truth = set_truth_new(kind, count);
    shelf *s = open_shelf(kind, count);
    set_settle();
    size_t before = set_resident();
    double encoding = load_codes(s);
    measure_exact(s, set, truth, limit);
    size_t after = set_resident();
    report(set, "encode", encoding / 1e3 / (double)count, "us a vector", BENCH_FACT, 0);
    if (after != 0)
        report(set, "resident", (double)(after - before) / 1e6, "MB", is_small ? BENCH_BELOW : BENCH_FACT, 60);
    if (is_small) {
        measure_scope(s, set, "scope.own", truth, false);
        measure_scope(s, set, "scope.masked", truth, true);
    }
    measure_bits(s, set, truth, is_small ? 0.6 : 6);
    close_shelf(s);
    free(truth);
}

int main(void) {
    bench_begin("vectors");
    printf("# kernel: %s\n", vector_kernel_best()->name);
    measure_set(SET_CLUSTERED, 100000, "clustered", 1.5, true);
    measure_set(SET_HARD, 100000, "hard", 1.5, true);
    measure_set(SET_HARD, 1000000, "million", 15, false);
    return bench_end();
}
