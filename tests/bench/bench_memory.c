/*
 * A memory of one user: adds, search and opening with 10,000 and 100,000 records, by words alone and with vectors of 384
 * numbers, beside SQLite with FTS5 over the same texts. What an embedder costs is not in it: this one draws its vectors from
 * the words of a text, and each question's vector is known before it is asked.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "memory_texts.h"

#define FEW 10000
#define MANY 100000
#define BATCH 1000
#define QUESTIONS 200
#define SINGLES 100
#define LIMIT 10

typedef struct setting {
    char folder[64], path[128];
    const uar_embedder *embedder;
    const char *name;
    uar_memory *memory;
} setting;

static void open_memory(setting *s) {
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.embedder = s->embedder;
    options.cache_bytes = (size_t)256 << 20;
    s->memory = uar_memory_open(s->path, &options);
    if (uar_memory_state(s->memory, NULL) != UAR_MEMORY_READY) bench_give_up("the memory doesn't open");
}

static const uar_identity *who(void) {
    static const uar_identity identity = { .size = sizeof identity, .user = { "bench", 5 }, .session = { "s", 1 } };
    return &identity;
}

static void report(const setting *s, const char *what, double value, const char *unit, bench_aim aim, double limit) {
    char name[96];
    snprintf(name, sizeof name, "memory.%s.%s", s->name, what);
    bench_report(name, value, unit, aim, limit);
}

static void fill_draft(uar_memory_draft *d, char *text, char *session, uint64_t at) {
    uar_memory_draft_init(d);
    d->content = uar_str_n(text, texts_passage(text, at));
    d->session = uar_str_n(session, (size_t)snprintf(session, 24, "s%llu", (unsigned long long)(at / TEXTS_SESSION)));
    d->type = UAR_MEMORY_TYPE_EPISODIC;
}

/* Records `from` to `to` in batches; seconds, without the embedder's. */
static double add_batches(setting *s, uint64_t from, uint64_t to) {
    static char texts[BATCH][TEXTS_LONGEST];
    static char sessions[BATCH][24];
    static uar_memory_draft drafts[BATCH];
    double seconds = 0;
    for (uint64_t at = from; at < to; at += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            fill_draft(&drafts[i], texts[i], sessions[i], at + i);
        uint64_t began = bench_now();
        uar_status status =
            uar_memory_add_batch_sync(NULL, s->memory, who(), drafts, BATCH, UAR_MEMORY_ADD_VERBATIM, NULL, NULL, NULL);
        seconds += (double)(bench_now() - began) / 1e9;
        if (status != UAR_OK) bench_give_up("a batch is not written");
    }
    return seconds;
}

static void ask(setting *s, uint64_t at, size_t *found) {
    char text[TEXTS_LONGEST];
    size_t len = texts_question(text, at);
    uar_memory_hits *hits = NULL;
    if (uar_memory_search_sync(&hits, s->memory, who(), uar_str_n(text, len), NULL, LIMIT, NULL) != UAR_OK)
        bench_give_up("a search fails");
    *found += hits->count;
    bench_check(strcmp(hits->mode, s->embedder != NULL ? "hybrid" : "lexical") == 0, "searches use what they should");
    uar_memory_hits_free(hits);
}

/* Each question is asked twice: the second time its vector is known, and that time counts. */
static void search(setting *s, const char *size, uint64_t records, double limit) {
    static double ms[QUESTIONS], cpu[QUESTIONS];
    size_t found = 0;
    for (size_t i = 0; i < QUESTIONS; i++) {
        uint64_t at = (uint64_t)i * 7919 % records;
        ask(s, at, &found);
        uint64_t began = bench_now(), used = bench_cpu();
        ask(s, at, &found);
        ms[i] = (double)(bench_now() - began) / 1e6;
        cpu[i] = (double)(bench_cpu() - used) / 1e6;
    }
    bench_check(found == (size_t)2 * QUESTIONS * LIMIT, "each question finds as much as it asks for");
    char name[48];
    snprintf(name, sizeof name, "search.%s.p50", size);
    report(s, name, bench_quantile(ms, QUESTIONS, 0.5), "ms", BENCH_FACT, 0);
    snprintf(name, sizeof name, "search.%s.p95", size);
    report(s, name, bench_quantile(ms, QUESTIONS, 0.95), "ms", BENCH_BELOW, limit);
    snprintf(name, sizeof name, "search.%s.cpu.p95", size);
    report(s, name, bench_quantile(cpu, QUESTIONS, 0.95), "ms", BENCH_FACT, 0);
}

static void cold_open(setting *s) {
    double ms[5];
    size_t found = 0;
    for (size_t i = 0; i < 5; i++) {
        uar_memory_free(s->memory);
        uint64_t began = bench_now();
        open_memory(s);
        ask(s, 100 + i, &found);
        ms[i] = (double)(bench_now() - began) / 1e6;
    }
    report(s, "cold_open.100000", bench_quantile(ms, 5, 0.5), "ms", BENCH_BELOW, 150);
}

/* ---- SQLite and FTS5: a row, its words and its vector ---- */

typedef struct bare_store {
    sqlite3 *db;
    sqlite3_stmt *row, *words, *vector;
} bare_store;

static void run(sqlite3 *db, const char *sql) {
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) bench_give_up(why);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) bench_give_up(sqlite3_errmsg(db));
    return statement;
}

static void bare_insert(bare_store *b, uint64_t at) {
    char text[TEXTS_LONGEST];
    float v[TEXTS_DIMS];
    size_t len = texts_passage(text, at);
    texts_embed(v, uar_str_n(text, len));
    sqlite3_bind_text(b->row, 1, text, (int)len, SQLITE_STATIC);
    sqlite3_bind_text(b->words, 1, text, (int)len, SQLITE_STATIC);
    sqlite3_bind_blob(b->vector, 1, v, sizeof v, SQLITE_STATIC);
    sqlite3_stmt *const all[3] = { b->row, b->words, b->vector };
    for (size_t i = 0; i < 3; i++) {
        if (sqlite3_step(all[i]) != SQLITE_DONE) bench_give_up("SQLite doesn't insert");
        sqlite3_reset(all[i]);
    }
}

static void bare_open(bare_store *b, const char *path) {
    if (sqlite3_open(path, &b->db) != SQLITE_OK) bench_give_up("SQLite doesn't open");
    run(b->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
               "CREATE TABLE record(id INTEGER PRIMARY KEY, text TEXT);"
               "CREATE VIRTUAL TABLE words USING fts5(text, content='');"
               "CREATE TABLE vector(id INTEGER PRIMARY KEY, value BLOB)");
    b->row = prepare(b->db, "INSERT INTO record(text) VALUES(?1)");
    b->words = prepare(b->db, "INSERT INTO words(rowid, text) VALUES(last_insert_rowid(), ?1)");
    b->vector = prepare(b->db, "INSERT INTO vector(value) VALUES(?1)");
    for (uint64_t at = 0; at < MANY; at++) {
        if (at % BATCH == 0) run(b->db, "BEGIN IMMEDIATE");
        bare_insert(b, at);
        if (at % BATCH == BATCH - 1) run(b->db, "COMMIT");
    }
}

static void bare_close(bare_store *b) {
    sqlite3_finalize(b->row);
    sqlite3_finalize(b->words);
    sqlite3_finalize(b->vector);
    sqlite3_close(b->db);
}

static double bare_single(bare_store *b, uint64_t at) {
    uint64_t began = bench_now();
    run(b->db, "BEGIN IMMEDIATE");
    bare_insert(b, at);
    run(b->db, "COMMIT");
    return (double)(bench_now() - began) / 1e6;
}

static void fts_search(bare_store *b) {
    static double ms[QUESTIONS];
    sqlite3_stmt *find = prepare(b->db, "SELECT rowid, bm25(words) AS score FROM words WHERE words MATCH ?1"
                                        " ORDER BY score LIMIT 10");
    for (size_t i = 0; i < QUESTIONS; i++) {
        char text[TEXTS_LONGEST], match[TEXTS_LONGEST * 2];
        size_t len = texts_question(text, (uint64_t)i * 7919 % MANY);
        size_t n = 0;
        for (size_t at = 0; at < len; at++) {
            if (text[at] == ' ')
                n += (size_t)sprintf(match + n, " OR ");
            else
                match[n++] = text[at];
        }
        uint64_t began = bench_now();
        sqlite3_bind_text(find, 1, match, (int)n, SQLITE_STATIC);
        while (sqlite3_step(find) == SQLITE_ROW) {}
        sqlite3_reset(find);
        ms[i] = (double)(bench_now() - began) / 1e6;
    }
    sqlite3_finalize(find);
    bench_report("memory.fts5.search.100000.p50", bench_quantile(ms, QUESTIONS, 0.5), "ms", BENCH_FACT, 0);
    bench_report("memory.fts5.search.100000.p95", bench_quantile(ms, QUESTIONS, 0.95), "ms", BENCH_FACT, 0);
}

/* Durable adds, in turn with bare ones: the disk is the same for both. */
static void add_singles(setting *s, bare_store *bare) {
    static double ms[SINGLES], bare_ms[SINGLES];
    for (size_t i = 0; i < SINGLES; i++) {
        char text[TEXTS_LONGEST], session[24];
        uar_memory_draft d;
        fill_draft(&d, text, session, MANY + i);
        uar_memory_change change;
        uint64_t began = bench_now();
        if (uar_memory_add_sync(&change, s->memory, who(), &d, NULL) != UAR_OK) bench_give_up("an add fails");
        ms[i] = (double)(bench_now() - began) / 1e6;
        bare_ms[i] = bare_single(bare, MANY + i);
    }
    double own = bench_quantile(ms, SINGLES, 0.5);
    double other = bench_quantile(bare_ms, SINGLES, 0.5);
    report(s, "add.p50", own, "ms", BENCH_FACT, 0);
    report(s, "add.bare.p50", other, "ms", BENCH_FACT, 0);
    report(s, "add.share_of_bare", other / own, "", s->embedder != NULL ? BENCH_ABOVE : BENCH_FACT, 0.7);
}

/* A search behind a write: what has changed is taken up first. */
static void search_behind_add(setting *s) {
    static double ms[SINGLES];
    size_t found = 0;
    for (size_t i = 0; i < SINGLES; i++) {
        char text[TEXTS_LONGEST], session[24];
        uar_memory_draft d;
        ask(s, i, &found);
        fill_draft(&d, text, session, MANY + SINGLES + i);
        uar_memory_change change;
        if (uar_memory_add_sync(&change, s->memory, who(), &d, NULL) != UAR_OK) bench_give_up("an add fails");
        uint64_t began = bench_now();
        ask(s, i, &found);
        ms[i] = (double)(bench_now() - began) / 1e6;
    }
    report(s, "search_behind_add.100000.p95", bench_quantile(ms, SINGLES, 0.95), "ms", BENCH_FACT, 0);
}

static void measure(setting *s, bare_store *bare) {
    open_memory(s);
    double first = add_batches(s, 0, 1000);
    double second = add_batches(s, 1000, FEW);
    search(s, "10000", FEW, 1);
    double third = add_batches(s, FEW, MANY);
    bool is_lexical = s->embedder == NULL;
    report(s, "adds.to_1000", 1000 / first, "a second", BENCH_FACT, 0);
    report(s, "adds.to_10000", (FEW - 1000) / second, "a second", BENCH_FACT, 0);
    report(s, "adds.to_100000", MANY / (first + second + third), "a second", is_lexical ? BENCH_ABOVE : BENCH_FACT,
           30000);
    search(s, "100000", MANY, 5);
    cold_open(s);
    add_singles(s, bare);
    search_behind_add(s);
    bench_check(uar_memory_check_sync(s->memory, NULL) == UAR_OK, "records and index agree");
    uar_memory_free(s->memory);
}

static void remove_files(const char *path) {
    static const char *const tails[] = { "", "-wal", "-shm" };
    for (size_t i = 0; i < 3; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s%s", path, tails[i]);
        (void)unlink(name);
    }
}

int main(void) {
    setting s = { .folder = "/tmp/uar-bench-memory-XXXXXX" };
    bench_begin("memory");
    if (mkdtemp(s.folder) == NULL) bench_give_up("there is no place for files");
    char bare_path[128];
    snprintf(bare_path, sizeof bare_path, "%s/bare.db", s.folder);
    snprintf(s.path, sizeof s.path, "%s/memory.db", s.folder);
    bare_store bare;
    bare_open(&bare, bare_path);
    fts_search(&bare);
    s.name = "words";
    measure(&s, &bare);
    remove_files(s.path);
    s.name = "hybrid";
    s.embedder = &texts_embedder;
    measure(&s, &bare);
    remove_files(s.path);
    bare_close(&bare);
    remove_files(bare_path);
    (void)rmdir(s.folder);
    return bench_end();
}
