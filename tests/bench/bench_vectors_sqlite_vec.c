/*
 * The searches of bench_vectors by sqlite-vec: a table vec0 of floats, which compares with each row. Skipped where
 * fetch_peers.sh could not fetch the extension.
 * usage: bench_vectors_sqlite_vec EXTENSION
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "vector_sets.h"

static void must(bool holds, const char *what) {
    if (!holds) bench_give_up(what);
}

static sqlite3 *open_database(const char *path, const char *extension) {
    sqlite3 *db = NULL;
    char *message = NULL;
    must(sqlite3_open(path, &db) == SQLITE_OK, "no database can be made in /tmp");
    must(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) == SQLITE_OK,
         "extensions can't be loaded");
    if (sqlite3_load_extension(db, extension, "sqlite3_vec_init", &message) != SQLITE_OK)
        bench_give_up(message != NULL ? message : "the extension can't be loaded");
    return db;
}

static void run_sql(sqlite3 *db, const char *sql) {
    must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sql);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    must(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, sql);
    return statement;
}

/* Seconds inside of SQLite. */
static double fill(sqlite3 *db, set_kind kind, size_t count) {
    float v[SET_DIMS];
    double ns = 0;
    set_stream rows;
    run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
                "CREATE VIRTUAL TABLE v USING vec0(embedding float[384] distance_metric=cosine); BEGIN");
    sqlite3_stmt *insert = prepare(db, "INSERT INTO v(rowid, embedding) VALUES(?1, ?2)");
    set_open(&rows, kind, false);
    for (size_t n = 1; n <= count; n++) {
        set_next(&rows, v);
        uint64_t began = bench_now();
        sqlite3_bind_int64(insert, 1, (int64_t)n);
        sqlite3_bind_blob(insert, 2, v, sizeof v, SQLITE_STATIC);
        must(sqlite3_step(insert) == SQLITE_DONE && sqlite3_reset(insert) == SQLITE_OK, "a row can't be written");
        ns += (double)(bench_now() - began);
    }
    set_close(&rows);
    sqlite3_finalize(insert);
    run_sql(db, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
    return ns / 1e9;
}

static void report(set_kind kind, const char *what, double value, const char *unit) {
    char name[80];
    snprintf(name, sizeof name, "vectors.%s.sqlite_vec.%s", set_name(kind), what);
    bench_report(name, value, unit, BENCH_FACT, 0);
}

static void ask_all(sqlite3 *db, set_kind kind, const set_truth *truth) {
    double ms[SET_QUERIES], recall = 0;
    sqlite3_stmt *search = prepare(db, "SELECT rowid FROM v WHERE embedding MATCH ?1 AND k = 10 ORDER BY distance");
    for (size_t q = 0; q < SET_QUERIES; q++) {
        int64_t found[SET_NEAREST];
        size_t count = 0;
        uint64_t began = bench_now();
        sqlite3_bind_blob(search, 1, truth->queries[q], sizeof truth->queries[q], SQLITE_STATIC);
        while (sqlite3_step(search) == SQLITE_ROW && count < SET_NEAREST)
            found[count++] = sqlite3_column_int64(search, 0);
        sqlite3_reset(search);
        ms[q] = (double)(bench_now() - began) / 1e6;
        recall += set_recall(truth, q, found, count);
    }
    sqlite3_finalize(search);
    report(kind, "median", bench_quantile(ms, SET_QUERIES, 0.5), "ms");
    report(kind, "recall", recall / SET_QUERIES, "of the nearest 10");
}

static void measure(set_kind kind, const char *extension, size_t count) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/bench_vectors.%ld.db", (long)getpid());
    set_truth *truth = set_truth_new(kind, count);
    set_settle();
    size_t before = set_resident();
    sqlite3 *db = open_database(path, extension);
    report(kind, "write", fill(db, kind, count), "s");
    ask_all(db, kind, truth);
    report(kind, "resident", (double)(set_resident() - before) / 1e6, "MB");
    sqlite3_close(db);
    (void)unlink(path);
    free(truth);
}

int main(int argc, char **argv) {
    bench_begin("vectors_sqlite_vec");
    if (argc != 2 || access(argv[1], R_OK) != 0) {
        printf("# skipped: there is no sqlite-vec (tests/bench/fetch_peers.sh)\n");
        return 0;
    }
    measure(SET_CLUSTERED, argv[1], 100000);
    measure(SET_HARD, argv[1], 100000);
    return bench_end();
}
