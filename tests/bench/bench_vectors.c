/*
 * The nearest ten of many vectors of 384 numbers, by the engine that a memory uses: chunks with codes in memory, vectors in an
 * SQLite table, as a memory store keeps them. Exact answers are checked against a comparison with all vectors; a search that
 * looks at bits first is compared with the same search by codes. What others need: bench_vectors_*.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "index/engine.h"
#include "index/vector_bits.h"
#include "vector_sets.h"

#define CHUNK CHUNK_DOCUMENTS
#define PASSES 5
#define MODEL 1
#define NOW INT64_C(1764500000000)
/* From this cosine on a vector is a near one. */
#define NEAR 0.92f

static void must(bool holds, const char *what) {
    if (!holds) bench_give_up(what);
}

/* The table and the chunks of one set. */
typedef struct shelf {
    char path[64];
    sqlite3 *db;
    sqlite3_stmt *read;
    buffer *chunks;
    size_t chunk_count, count;
    size_t fetched;
    engine engine;
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

/* A chunk of the next rows; nanoseconds of encoding alone are added. */
static void add_chunk(shelf *s, sqlite3_stmt *all, double *encoding) {
    static float vectors[CHUNK][SET_DIMS];
    static document_item items[CHUNK];
    static int8_t row[SET_DIMS];
    static const uint8_t mark[CHUNK_MARK] = { 1 };
    static const uint8_t word[TERM_PACKED] = { 1, 0, 0, 0, 0, 0, 0, 0, 1 };
    size_t first = s->chunk_count * CHUNK, count = s->count - first < CHUNK ? s->count - first : CHUNK;
    for (size_t r = 0; r < count; r++) {
        float scale = 0;
        must(sqlite3_step(all) == SQLITE_ROW && sqlite3_column_bytes(all, 1) == sizeof vectors[r], "a row is missing");
        memcpy(vectors[r], sqlite3_column_blob(all, 1), sizeof vectors[r]);
        uint64_t began = bench_now();
        vector_encode(row, &scale, vectors[r], SET_DIMS);
        *encoding += (double)(bench_now() - began);
        items[r] = (document_item){ .at = { .key = sqlite3_column_int64(all, 0),
                                            .created_ms = NOW,
                                            .valid_from_ms = NOW,
                                            .valid_until_ms = INT64_MAX,
                                            .length = 1,
                                            .trust = 1,
                                            .type = 1,
                                            .is_current = true },
                                    .terms = word,
                                    .term_count = 1,
                                    .vector = vectors[r] };
    }
    buffer *b = &s->chunks[s->chunk_count++];
    buffer_init(b, &alloc_default, SIZE_MAX / 4);
    must(chunk_build(b, items, count, SET_DIMS, MODEL, mark) == UAR_OK, "a chunk can't be built");
}

/* Nanoseconds of encoding. */
static double build_chunks(shelf *s) {
    sqlite3_stmt *all = NULL;
    double encoding = 0;
    must(sqlite3_prepare_v2(s->db, "SELECT num, value FROM vector ORDER BY num", -1, &all, NULL) == SQLITE_OK,
         "no scan");
    s->chunks = bench_memory((s->count / CHUNK + 1) * sizeof *s->chunks);
    while (s->chunk_count * CHUNK < s->count)
        add_chunk(s, all, &encoding);
    sqlite3_finalize(all);
    return encoding;
}

/* ---- what the engine reads from; segment 1 has all chunks, segment 2 the first one, a hundredth of 100,000 rows ---- */

static uar_status list_chunks(void *ctx, int64_t segment, chunk_fn each, void *arg, uar_error *err) {
    const shelf *s = ctx;
    (void)err;
    size_t count = segment == 1 ? s->chunk_count : 1;
    for (size_t i = 0; i < count; i++) {
        chunk_place place = { (int64_t)i + 1, 1, s->chunks[i].len };
        uar_status status = each(arg, &place);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

static uar_status read_chunk(void *ctx, int64_t chunk, uint64_t at, void *out, size_t len, uar_error *err) {
    const shelf *s = ctx;
    (void)err;
    memcpy(out, s->chunks[chunk - 1].ptr + at, len);
    return UAR_OK;
}

static uar_status no_loose(void *ctx, const segment_state *now, int64_t after, int64_t since, document_fn each,
                           void *arg, uar_error *err) {
    (void)ctx, (void)now, (void)after, (void)since, (void)each, (void)arg, (void)err;
    return UAR_OK;
}

static uar_status fetch(void *ctx, int64_t key, float *out, bool *found, uar_error *err) {
    shelf *s = ctx;
    (void)err;
    s->fetched++;
    sqlite3_bind_int64(s->read, 1, key);
    *found = sqlite3_step(s->read) == SQLITE_ROW && sqlite3_column_bytes(s->read, 0) == SET_DIMS * sizeof *out;
    if (*found) memcpy(out, sqlite3_column_blob(s->read, 0), SET_DIMS * sizeof *out);
    sqlite3_reset(s->read);
    return *found ? UAR_OK : UAR_E_CORRUPT;
}

static index_source source_of(shelf *s) {
    return (index_source){ s, SET_DIMS, MODEL, list_chunks, read_chunk, no_loose, fetch };
}

static segment_state state_of(const shelf *s, int64_t segment) {
    size_t count = segment == 1 ? s->count : CHUNK;
    return (segment_state){ segment, 1, 1, (int64_t)count, (int64_t)count };
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
    engine_trim(&s->engine);
    for (size_t i = 0; i < s->chunk_count; i++)
        buffer_dispose(&s->chunks[i]);
    free(s->chunks);
    sqlite3_finalize(s->read);
    sqlite3_close(s->db);
    (void)unlink(s->path);
    free(s);
}

/* Milliseconds of one look, the preparation of the query included. */
static double ask(shelf *s, int64_t segment, const float *v, float least, engine_near *near, size_t *count) {
    index_source source = source_of(s);
    segment_state state = state_of(s, segment);
    engine_near_question q = { v, 1, NOW, least };
    uint64_t began = bench_now();
    must(engine_nearest(near, count, SET_NEAREST, &s->engine, &q, &state, &source, NULL) == UAR_OK, "a look fails");
    return (double)(bench_now() - began) / 1e6;
}

static bool is_exact(const set_truth *truth, size_t query, const engine_near *near, size_t count) {
    bool exact = count == SET_NEAREST;
    for (size_t i = 0; exact && i < count; i++)
        exact = near[i].key == truth->nearest[query][i];
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
    engine_near near[SET_NEAREST];
    run_sql(s, "BEGIN; SELECT count(*) FROM vector WHERE num = 1");
    s->fetched = 0;
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t q = 0; q < SET_QUERIES; q++) {
            ms[asked++] = ask(s, 1, truth->queries[q], -1, near, &count);
            exact += is_exact(truth, q, near, count);
        }
    run_sql(s, "COMMIT");
    bench_check(exact == asked, "ids and order are those of a comparison with all vectors");
    report(set, "exact.median", bench_quantile(ms, asked, 0.5), "ms", BENCH_BELOW, limit);
    report(set, "exact.p95", bench_quantile(ms, asked, 0.95), "ms", BENCH_FACT, 0);
    report(set, "exact.fetched", (double)s->fetched / (double)asked, "vectors a query", BENCH_FACT, 0);
}

/* A vector of the set, a little aside. */
static void draw_near_one(shelf *s, float v[SET_DIMS], size_t n) {
    bool found = false;
    float other[SET_DIMS];
    must(fetch(s, (int64_t)(n * 7919 % s->count) + 1, v, &found, NULL) == UAR_OK, "a vector is missing");
    must(fetch(s, (int64_t)(n * 104729 % s->count) + 1, other, &found, NULL) == UAR_OK, "a vector is missing");
    for (size_t i = 0; i < SET_DIMS; i++)
        v[i] += 0.2f * other[i];
    must(vector_normalise(v, SET_DIMS), "a vector has no length");
}

/* What an add asks: is there one that says nearly the same? */
static void measure_near(shelf *s, const char *set) {
    double ms[SET_QUERIES];
    size_t found = 0;
    run_sql(s, "BEGIN; SELECT count(*) FROM vector WHERE num = 1");
    for (size_t q = 0; q < SET_QUERIES * 2; q++) { /* the first half makes the sheets */
        engine_near near[SET_NEAREST];
        size_t count = 0;
        float v[SET_DIMS];
        draw_near_one(s, v, q);
        ms[q % SET_QUERIES] = ask(s, 1, v, NEAR, near, &count);
        found += count != 0;
    }
    run_sql(s, "COMMIT");
    bench_check(found == (size_t)SET_QUERIES * 2, "what is near is found");
    report(set, "near.median", bench_quantile(ms, SET_QUERIES, 0.5), "ms",
           s->count <= 100000 ? BENCH_BELOW : BENCH_FACT, 0.3);
}

/* The pass over the bits by itself. */
static void measure_pass(shelf *s, const char *set, const set_truth *truth) {
    double ms[SET_QUERIES];
    size_t bytes = 0;
    const index_segment *g = &s->engine.segments[0]->segment;
    for (size_t q = 0; q < SET_QUERIES; q++) {
        vector_query query;
        float estimates[CHUNK];
        must(vector_query_init(&query, &alloc_default, truth->queries[q], SET_DIMS) == UAR_OK, "a query is refused");
        uint64_t began = bench_now();
        for (size_t c = 0; c < g->chunk_count; c++) {
            must(g->chunks[c].sheet != NULL, "a sheet is missing");
            (void)vector_bits_estimate(estimates, &query, g->chunks[c].sheet, g->chunks[c].head.count);
        }
        ms[q] = (double)(bench_now() - began) / 1e6;
        vector_query_dispose(&query);
    }
    for (size_t c = 0; c < g->chunk_count; c++)
        bytes += segment_sheet_cost(&g->chunks[c]);
    report(set, "bits.pass", bench_quantile(ms, SET_QUERIES, 0.5), "ms", BENCH_BELOW, s->count <= 100000 ? 0.6 : 6);
    report(set, "bits.size", (double)bytes / 1e6, "MB", BENCH_FACT, 0);
}

typedef struct answer {
    int64_t keys[SET_NEAREST];
    size_t count;
    double ms;
} answer;

static answer search(shelf *s, const float *v, size_t bits_from) {
    answer a = { .count = 0 };
    index_source source = source_of(s);
    segment_state state = state_of(s, 1);
    engine_question q = { .vector = v, .time_ms = NOW, .limit = SET_NEAREST };
    engine_answer *found = NULL;
    engine_hit hit;
    s->engine.bits_from = bits_from;
    uint64_t began = bench_now();
    must(engine_search(&found, &s->engine, &q, &state, 1, &source, NULL) == UAR_OK, "a search fails");
    while (a.count < SET_NEAREST && engine_answer_next(found, &hit))
        a.keys[a.count++] = hit.key;
    engine_answer_free(found);
    a.ms = (double)(bench_now() - began) / 1e6;
    return a;
}

/* A search of a memory by the vector alone, without reading rows. */
static void measure_search(shelf *s, const char *set, const set_truth *truth) {
    double codes_ms[SET_QUERIES], bits_ms[SET_QUERIES];
    size_t common = 0, all = 0;
    for (size_t q = 0; q < SET_QUERIES; q++) {
        answer codes = search(s, truth->queries[q], SIZE_MAX), bits = search(s, truth->queries[q], 0);
        codes_ms[q] = codes.ms;
        bits_ms[q] = bits.ms;
        all += codes.count;
        for (size_t i = 0; i < codes.count; i++)
            for (size_t k = 0; k < bits.count; k++)
                common += codes.keys[i] == bits.keys[k];
    }
    report(set, "search.codes.median", bench_quantile(codes_ms, SET_QUERIES, 0.5), "ms", BENCH_FACT, 0);
    report(set, "search.bits.median", bench_quantile(bits_ms, SET_QUERIES, 0.5), "ms", BENCH_FACT, 0);
    report(set, "search.bits.recall", (double)common / (double)all, "of the first 10 by codes", BENCH_ABOVE, 0.99);
}

/* A segment of its own. */
static void measure_scope(shelf *s, const char *set, const set_truth *truth) {
    double ms[PASSES * SET_QUERIES];
    engine_near near[SET_NEAREST];
    size_t asked = 0, count = 0;
    run_sql(s, "BEGIN; SELECT count(*) FROM vector WHERE num = 1");
    for (int pass = 0; pass < PASSES; pass++)
        for (size_t q = 0; q < SET_QUERIES; q++)
            ms[asked++] = ask(s, 2, truth->queries[q], -1, near, &count);
    run_sql(s, "COMMIT");
    report(set, "scope", bench_quantile(ms, asked, 0.5), "ms", BENCH_BELOW, 0.3);
}

static void measure_set(set_kind kind, size_t count, const char *set, double limit, bool is_small) {
    set_truth *truth = set_truth_new(kind, count);
    shelf *s = open_shelf(kind, count);
    engine_near near[SET_NEAREST];
    size_t found = 0;
    double encoding = build_chunks(s);
    set_settle();
    size_t before = set_resident();
    engine_init(&s->engine, &alloc_default, (size_t)1 << 30);
    report(set, "load", ask(s, 1, truth->queries[0], -1, near, &found), "ms", BENCH_FACT, 0);
    measure_exact(s, set, truth, limit);
    size_t after = set_resident();
    report(set, "encode", encoding / 1e3 / (double)count, "us a vector", BENCH_FACT, 0);
    if (after != 0)
        report(set, "resident", (double)(after - before) / 1e6, "MB", is_small ? BENCH_BELOW : BENCH_FACT, 60);
    measure_near(s, set);
    after = set_resident();
    if (after != 0)
        report(set, "resident.with_bits", (double)(after - before) / 1e6, "MB", is_small ? BENCH_BELOW : BENCH_FACT,
               60);
    measure_pass(s, set, truth);
    measure_search(s, set, truth);
    if (is_small) measure_scope(s, set, truth);
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
