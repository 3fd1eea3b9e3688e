/*
 * A memory of one user: adds, search and opening with 10,000 and 100,000 records, by words alone and with vectors of 384
 * numbers, beside SQLite with FTS5 over the same texts; and what the look for near repeats costs an add. What an embedder
 * costs is not in it: this one draws its vectors from the words of a text and tells how long it took, and each question's
 * vector is known before it is asked.
 *
 * Names of parts (`words`, `hybrid`, `near`) as arguments: only these are run. `large`, or `large=RECORDS`, is run only when
 * it is named: a million records, or as many as it says, with vectors. Files lie in TMPDIR.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "memory/service.h"
#include "memory_texts.h"
#include "vector_sets.h"

#define FEW 10000
#define MANY 100000
#define BATCH_MOST 1000
#define QUESTIONS 400
/* Durable adds of a round, each in turn with a bare one. */
#define SINGLES 500
#define ROUNDS 3
#define BEHIND 100
#define LIMIT 10

typedef struct setting {
    char path[256];
    const uar_embedder *embedder;
    const char *name;
    uar_memory *memory;
    size_t cache_bytes; /* 0: enough for MANY */
} setting;

static void open_memory(setting *s) {
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.embedder = s->embedder;
    options.cache_bytes = s->cache_bytes != 0 ? s->cache_bytes : (size_t)256 << 20;
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

/* A time that was taken, in seconds or what else it says, without the embedder's. */
typedef struct lap {
    double wall, cpu;
} lap;

typedef struct stopwatch {
    uint64_t wall, cpu;
    texts_time embedding;
} stopwatch;

static stopwatch start(void) {
    stopwatch w = { .embedding = texts_embedding };
    w.cpu = bench_cpu();
    w.wall = bench_now();
    return w;
}

static lap stop(const stopwatch *w) {
    uint64_t wall = bench_now() - w->wall, cpu = bench_cpu() - w->cpu;
    return (lap){ (double)(wall - (texts_embedding.wall - w->embedding.wall)) / 1e9,
                  (double)(cpu - (texts_embedding.cpu - w->embedding.cpu)) / 1e9 };
}

/* Records `from` to `to` in batches of `size`, added to `sum`. */
static void add_batches(lap *sum, setting *s, uint64_t from, uint64_t to, size_t size) {
    static char texts[BATCH_MOST][TEXTS_LONGEST];
    static char sessions[BATCH_MOST][24];
    static uar_memory_draft drafts[BATCH_MOST];
    for (uint64_t at = from; at < to; at += size) {
        size_t count = to - at < size ? (size_t)(to - at) : size;
        for (size_t i = 0; i < count; i++)
            fill_draft(&drafts[i], texts[i], sessions[i], at + i);
        stopwatch w = start();
        uar_status status =
            uar_memory_add_batch_sync(NULL, s->memory, who(), drafts, count, UAR_MEMORY_ADD_VERBATIM, NULL, NULL, NULL);
        lap one = stop(&w);
        sum->wall += one.wall;
        sum->cpu += one.cpu;
        if (status != UAR_OK) bench_give_up("a batch is not written");
    }
}

static void ask_text(setting *s, const char *text, size_t len, size_t *found) {
    uar_memory_hits *hits = NULL;
    if (uar_memory_search_sync(&hits, s->memory, who(), uar_str_n(text, len), NULL, LIMIT, NULL) != UAR_OK)
        bench_give_up("a search fails");
    *found += hits->count;
    bench_check(strcmp(hits->mode, s->embedder != NULL ? "hybrid" : "lexical") == 0, "searches use what they should");
    uar_memory_hits_free(hits);
}

static void ask(setting *s, uint64_t at, size_t *found) {
    char text[TEXTS_LONGEST];
    size_t len = texts_question(text, at);
    ask_text(s, text, len, found);
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
    snprintf(name, sizeof name, "search.%s.cpu.p50", size);
    report(s, name, bench_quantile(cpu, QUESTIONS, 0.5), "ms", BENCH_FACT, 0);
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

/* ---- SQLite and FTS5: a row, its words and, beside a memory with vectors, its vector ---- */

typedef struct bare_store {
    sqlite3 *db;
    sqlite3_stmt *begin, *row, *words, *vector, *commit;
    bool has_vectors;
} bare_store;

static void run(sqlite3 *db, const char *sql) {
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) bench_give_up(why);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK)
        bench_give_up(sqlite3_errmsg(db));
    return statement;
}

static void step(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) bench_give_up("SQLite doesn't insert");
    sqlite3_reset(statement);
}

static void bare_insert(bare_store *b, uar_str text, const float *vector) {
    sqlite3_bind_text(b->row, 1, text.ptr, (int)text.len, SQLITE_STATIC);
    step(b->row);
    sqlite3_bind_text(b->words, 1, text.ptr, (int)text.len, SQLITE_STATIC);
    step(b->words);
    if (vector == NULL) return;
    sqlite3_bind_blob(b->vector, 1, vector, TEXTS_DIMS * (int)sizeof *vector, SQLITE_STATIC);
    step(b->vector);
}

static const float *bare_vector(const bare_store *b, float room[TEXTS_DIMS], uar_str text) {
    if (!b->has_vectors) return NULL;
    texts_embed(room, text);
    return room;
}

/* The memory's own settings of a file. */
static void bare_open(bare_store *b, const char *path, bool has_vectors) {
    if (sqlite3_open_v2(path, &b->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        bench_give_up("SQLite doesn't open");
    run(b->db, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
               "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;"
               "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 4000; PRAGMA "
               "trusted_schema = OFF; PRAGMA "
               "cell_size_check = ON;"
               "PRAGMA mmap_size = 0; PRAGMA secure_delete = ON;"
               "CREATE TABLE record(id INTEGER PRIMARY KEY, text TEXT);"
               "CREATE VIRTUAL TABLE words USING fts5(text, content='');"
               "CREATE TABLE vector(id INTEGER PRIMARY KEY, value BLOB)");
    b->has_vectors = has_vectors;
    b->begin = prepare(b->db, "BEGIN IMMEDIATE");
    b->row = prepare(b->db, "INSERT INTO record(text) VALUES(?1)");
    b->words = prepare(b->db, "INSERT INTO words(rowid, text) VALUES(last_insert_rowid(), ?1)");
    b->vector = prepare(b->db, "INSERT INTO vector(value) VALUES(?1)");
    b->commit = prepare(b->db, "COMMIT");
    for (uint64_t at = 0; at < MANY; at++) {
        char text[TEXTS_LONGEST];
        float room[TEXTS_DIMS];
        uar_str passage = uar_str_n(text, texts_passage(text, at));
        if (at % BATCH_MOST == 0) step(b->begin);
        bare_insert(b, passage, bare_vector(b, room, passage));
        if (at % BATCH_MOST == BATCH_MOST - 1) step(b->commit);
    }
}

static void bare_close(bare_store *b) {
    sqlite3_finalize(b->begin);
    sqlite3_finalize(b->row);
    sqlite3_finalize(b->words);
    sqlite3_finalize(b->vector);
    sqlite3_finalize(b->commit);
    sqlite3_close(b->db);
}

static lap bare_single(bare_store *b, uint64_t at) {
    char text[TEXTS_LONGEST];
    float room[TEXTS_DIMS];
    uar_str passage = uar_str_n(text, texts_passage(text, at));
    const float *vector = bare_vector(b, room, passage);
    stopwatch w = start();
    step(b->begin);
    bare_insert(b, passage, vector);
    step(b->commit);
    return stop(&w);
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

static lap own_single(setting *s, uint64_t at) {
    char text[TEXTS_LONGEST], session[24];
    uar_memory_draft d;
    fill_draft(&d, text, session, at);
    uar_memory_change change;
    stopwatch w = start();
    uar_status status = uar_memory_add_sync(&change, s->memory, who(), &d, NULL);
    lap one = stop(&w);
    if (status != UAR_OK) bench_give_up("an add fails");
    return one;
}

/* Medians of one round: the bare time as a share of the memory's. */
static lap round_of_singles(setting *s, bare_store *bare, uint64_t at, lap *own_median) {
    static double own[SINGLES], own_cpu[SINGLES], other[SINGLES], other_cpu[SINGLES];
    for (size_t i = 0; i < SINGLES; i++, at++) {
        lap mine = { 0, 0 };
        if (i % 2 == 0) mine = own_single(s, at);
        lap theirs = bare_single(bare, at);
        if (i % 2 != 0) mine = own_single(s, at);
        own[i] = mine.wall;
        own_cpu[i] = mine.cpu;
        other[i] = theirs.wall;
        other_cpu[i] = theirs.cpu;
    }
    *own_median = (lap){ bench_quantile(own, SINGLES, 0.5), bench_quantile(own_cpu, SINGLES, 0.5) };
    lap share = { bench_quantile(other, SINGLES, 0.5) / own_median->wall,
                  bench_quantile(other_cpu, SINGLES, 0.5) / own_median->cpu };
    return share;
}

/*
 * Durable adds, in turn with bare ones: the disk is the same for both. Where the disk lets through so many syncs a second and
 * no more, all adds look alike; the share by processor time says what is left then.
 */
static void add_singles(setting *s, bare_store *bare) {
    double shares[ROUNDS], cpu_shares[ROUNDS], own[ROUNDS], own_cpu[ROUNDS];
    for (size_t r = 0; r < ROUNDS; r++) {
        lap median;
        lap share = round_of_singles(s, bare, MANY + r * SINGLES, &median);
        shares[r] = share.wall;
        cpu_shares[r] = share.cpu;
        own[r] = median.wall * 1e3;
        own_cpu[r] = median.cpu * 1e3;
        char name[48];
        snprintf(name, sizeof name, "add.share_of_bare.round_%zu", r + 1);
        report(s, name, share.wall, "", BENCH_FACT, 0);
        snprintf(name, sizeof name, "add.share_of_bare.cpu.round_%zu", r + 1);
        report(s, name, share.cpu, "", BENCH_FACT, 0);
    }
    report(s, "add.p50", bench_quantile(own, ROUNDS, 0.5), "ms", BENCH_FACT, 0);
    report(s, "add.cpu.p50", bench_quantile(own_cpu, ROUNDS, 0.5), "ms", BENCH_FACT, 0);
    report(s, "add.share_of_bare", bench_quantile(shares, ROUNDS, 0.5), "", BENCH_ABOVE, 0.7);
    report(s, "add.share_of_bare.cpu", bench_quantile(cpu_shares, ROUNDS, 0.5), "", BENCH_ABOVE, 0.7);
}

/* A search behind a write: what has changed is taken up first. */
static void search_behind_add(setting *s) {
    static double ms[BEHIND];
    size_t found = 0;
    for (size_t i = 0; i < BEHIND; i++) {
        ask(s, i, &found);
        (void)own_single(s, MANY + ROUNDS * SINGLES + i);
        uint64_t began = bench_now();
        ask(s, i, &found);
        ms[i] = (double)(bench_now() - began) / 1e6;
    }
    report(s, "search_behind_add.100000.p95", bench_quantile(ms, BEHIND, 0.95), "ms", BENCH_FACT, 0);
}

/* ---- near repeats ---- */

#define NEAR_BATCH 250
/* Each text of so many says what an earlier one says, with a mark more. */
#define NEAR_EACH 10

static void near_draft(uar_memory_draft *d, char *text, char *session, uint64_t at) {
    fill_draft(d, text, session, at);
    if (at % NEAR_EACH != 0) return;
    size_t len = texts_passage(text, at / 2 + 1);
    len += (size_t)sprintf(text + len, " .");
    d->content = uar_str_n(text, len);
}

/* Adds that may merge, in one transaction; how many were repeats. */
static size_t add_merging(lap *sum, setting *s, uint64_t at) {
    static char texts[NEAR_BATCH][TEXTS_LONGEST + 8];
    static char sessions[NEAR_BATCH][24];
    static uar_memory_draft drafts[NEAR_BATCH];
    static uar_memory_change changes[NEAR_BATCH];
    for (size_t i = 0; i < NEAR_BATCH; i++)
        near_draft(&drafts[i], texts[i], sessions[i], at + i);
    stopwatch w = start();
    uar_status status = uar_memory_add_batch_sync(changes, s->memory, who(), drafts, NEAR_BATCH, 0, NULL, NULL, NULL);
    lap one = stop(&w);
    if (status != UAR_OK) bench_give_up("a batch is not written");
    sum->wall += one.wall;
    sum->cpu += one.cpu;
    size_t repeats = 0;
    for (size_t i = 0; i < NEAR_BATCH; i++)
        repeats += changes[i].outcome == UAR_MEMORY_OUTCOME_REINFORCED;
    return repeats;
}

/* The same adds into a memory that looks for near repeats and one that doesn't, in turn; both hold `records`. */
static void near_adds(setting *with, setting *without, uint64_t records) {
    lap sums[2] = { { 0, 0 }, { 0, 0 } };
    size_t repeats = 0, other = 0;
    for (uint64_t at = 0; at < 4; at++) {
        repeats += add_merging(&sums[0], with, records + at * NEAR_BATCH);
        other += add_merging(&sums[1], without, records + at * NEAR_BATCH);
    }
    bench_check(repeats > other && repeats <= 4 * NEAR_BATCH / NEAR_EACH, "near repeats are seen, and nothing else");
    char name[64];
    snprintf(name, sizeof name, "add_at_%llu.near", (unsigned long long)records);
    report(with, name, sums[0].wall / (4 * NEAR_BATCH) * 1e6, "us", BENCH_FACT, 0);
    snprintf(name, sizeof name, "add_at_%llu.near.cpu", (unsigned long long)records);
    report(with, name, sums[0].cpu / (4 * NEAR_BATCH) * 1e6, "us", BENCH_FACT, 0);
    snprintf(name, sizeof name, "add_at_%llu.without.cpu", (unsigned long long)records);
    report(with, name, sums[1].cpu / (4 * NEAR_BATCH) * 1e6, "us", BENCH_FACT, 0);
}

static void remove_files(const char *path) {
    static const char *const tails[] = { "", "-wal", "-shm" };
    for (size_t i = 0; i < 3; i++) {
        char name[300];
        snprintf(name, sizeof name, "%s%s", path, tails[i]);
        (void)unlink(name);
    }
}

static void measure_near(const char *folder) {
    static const uint64_t sizes[] = { 1000, FEW, MANY };
    setting with = { .name = "near", .embedder = &texts_near_embedder };
    setting without = { .name = "near", .embedder = &texts_embedder };
    snprintf(with.path, sizeof with.path, "%s/near.db", folder);
    snprintf(without.path, sizeof without.path, "%s/other.db", folder);
    open_memory(&with);
    open_memory(&without);
    uint64_t at = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lap unused = { 0, 0 };
        add_batches(&unused, &with, at, sizes[i], BATCH_MOST);
        add_batches(&unused, &without, at, sizes[i], BATCH_MOST);
        near_adds(&with, &without, sizes[i]);
        at = sizes[i] + (uint64_t)4 * NEAR_BATCH;
    }
    uar_memory_free(with.memory);
    uar_memory_free(without.memory);
    remove_files(with.path);
    remove_files(without.path);
}

/* ---- many more ---- */

#define LARGE 1000000
#define LARGE_QUESTIONS 100

static uar_memory_hits *hits_of(setting *s, const char *text, size_t len) {
    uar_memory_hits *hits = NULL;
    if (uar_memory_search_sync(&hits, s->memory, who(), uar_str_n(text, len), NULL, LIMIT, NULL) != UAR_OK)
        bench_give_up("a search fails");
    return hits;
}

/* Share of the hits of a search that reads all codes that one by bits finds as well. */
static double recall_of(double *codes_ms, setting *s, const char *text, size_t len) {
    uar_memory_hits *by_bits = hits_of(s, text, len);
    size_t from = s->memory->shelf.engine.bits_from, common = 0;
    s->memory->shelf.engine.bits_from = SIZE_MAX;
    uint64_t began = bench_now();
    uar_memory_hits *by_codes = hits_of(s, text, len);
    *codes_ms = (double)(bench_now() - began) / 1e6;
    s->memory->shelf.engine.bits_from = from;
    for (size_t i = 0; i < by_codes->count; i++)
        for (size_t k = 0; k < by_bits->count; k++)
            common += memcmp(&by_codes->hits[i].record.id, &by_bits->hits[k].record.id, sizeof(uar_uuid)) == 0;
    double share = (double)common / (double)by_codes->count;
    uar_memory_hits_free(by_bits);
    uar_memory_hits_free(by_codes);
    return share;
}

/* Questions whose words are found, or only their vectors. */
static void search_large(setting *s, uint64_t records, bool is_strange) {
    static double ms[LARGE_QUESTIONS], codes_ms[LARGE_QUESTIONS];
    size_t found = 0;
    double recall = 0;
    for (size_t i = 0; i < LARGE_QUESTIONS; i++) {
        char text[TEXTS_LONGEST * 2];
        uint64_t at = (uint64_t)i * 7919 % records;
        size_t len = is_strange ? texts_strange_question(text, at) : texts_question(text, at);
        ask_text(s, text, len, &found);
        uint64_t began = bench_now();
        ask_text(s, text, len, &found);
        ms[i] = (double)(bench_now() - began) / 1e6;
        recall += recall_of(&codes_ms[i], s, text, len) / LARGE_QUESTIONS;
    }
    const char *what = is_strange ? "vectors_alone" : "hybrid";
    char name[64];
    snprintf(name, sizeof name, "%s.%llu.p50", what, (unsigned long long)records);
    report(s, name, bench_quantile(ms, LARGE_QUESTIONS, 0.5), "ms", is_strange ? BENCH_BELOW : BENCH_FACT, 15);
    snprintf(name, sizeof name, "%s.%llu.p95", what, (unsigned long long)records);
    report(s, name, bench_quantile(ms, LARGE_QUESTIONS, 0.95), "ms", BENCH_FACT, 0);
    snprintf(name, sizeof name, "%s.%llu.by_codes.p50", what, (unsigned long long)records);
    report(s, name, bench_quantile(codes_ms, LARGE_QUESTIONS, 0.5), "ms", BENCH_FACT, 0);
    snprintf(name, sizeof name, "%s.%llu.recall", what, (unsigned long long)records);
    report(s, name, recall, "of the first 10 by codes", BENCH_ABOVE, 0.99);
}

static void measure_large(const char *folder, uint64_t records) {
    setting s = { .name = "large", .embedder = &texts_embedder, .cache_bytes = (size_t)1 << 30 };
    snprintf(s.path, sizeof s.path, "%s/large.db", folder);
    open_memory(&s);
    lap took = { 0, 0 };
    size_t found = 0;
    add_batches(&took, &s, 0, records, BATCH_MOST);
    report(&s, "adds.by_1000", (double)records / took.wall, "a second", BENCH_FACT, 0);
    report(&s, "adds.by_1000.cpu", (double)records / took.cpu, "a second", BENCH_FACT, 0);
    uar_memory_free(s.memory);
    set_settle();
    size_t before = set_resident();
    uint64_t began = bench_now();
    open_memory(&s);
    ask(&s, 1, &found);
    report(&s, "cold_open", (double)(bench_now() - began) / 1e6, "ms", BENCH_FACT, 0);
    /* Each search makes some of the sheets. */
    for (uint64_t i = 0; i < records / 1024 / ENGINE_SHEETS + 1; i++)
        ask(&s, i, &found);
    search_large(&s, records, false);
    search_large(&s, records, true);
    report(&s, "resident", (double)(set_resident() - before) / 1e6, "MB", BENCH_FACT, 0);
    uar_memory_free(s.memory);
    remove_files(s.path);
}

/* ---- all of it ---- */

static void report_adds(const setting *s, const char *what, double count, lap took, bool has_aim) {
    char name[64];
    snprintf(name, sizeof name, "adds.%s", what);
    report(s, name, count / took.wall, "a second", has_aim ? BENCH_ABOVE : BENCH_FACT, 30000);
    snprintf(name, sizeof name, "adds.%s.cpu", what);
    report(s, name, count / took.cpu, "a second", BENCH_FACT, 0);
}

/* From nothing to all in batches of 256, and then away with it. */
static void small_batches(setting *s) {
    lap took = { 0, 0 };
    open_memory(s);
    add_batches(&took, s, 0, MANY, 256);
    uar_memory_free(s->memory);
    remove_files(s->path);
    report_adds(s, "by_256.to_100000", MANY, took, true);
}

static void measure(setting *s, bare_store *bare) {
    small_batches(s);
    open_memory(s);
    lap first = { 0, 0 }, all;
    add_batches(&first, s, 0, FEW, BATCH_MOST);
    report_adds(s, "by_1000.to_10000", FEW, first, false);
    search(s, "10000", FEW, 1);
    all = first;
    add_batches(&all, s, FEW, MANY, BATCH_MOST);
    report_adds(s, "by_1000.to_100000", MANY, all, true);
    search(s, "100000", MANY, 5);
    cold_open(s);
    add_singles(s, bare);
    search_behind_add(s);
    bench_check(uar_memory_check_sync(s->memory, NULL) == UAR_OK, "records and index agree");
    uar_memory_free(s->memory);
    remove_files(s->path);
}

static void measure_beside_bare(const char *folder, const char *name, const uar_embedder *embedder) {
    setting s = { .name = name, .embedder = embedder };
    char bare_path[256];
    snprintf(s.path, sizeof s.path, "%s/memory.db", folder);
    snprintf(bare_path, sizeof bare_path, "%s/bare.db", folder);
    bare_store bare;
    bare_open(&bare, bare_path, embedder != NULL);
    if (embedder == NULL) fts_search(&bare);
    measure(&s, &bare);
    bare_close(&bare);
    remove_files(bare_path);
}

static bool is_asked_for(const char *part, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], part) == 0) return true;
    return argc == 1;
}

int main(int argc, char **argv) {
    char folder[200];
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/uar-bench-memory-XXXXXX", place != NULL && place[0] != '\0' ? place : "/tmp");
    bench_begin("memory");
    if (mkdtemp(folder) == NULL) bench_give_up("there is no place for files");
    if (is_asked_for("words", argc, argv)) measure_beside_bare(folder, "words", NULL);
    if (is_asked_for("hybrid", argc, argv)) measure_beside_bare(folder, "hybrid", &texts_embedder);
    if (is_asked_for("near", argc, argv)) measure_near(folder);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "large", 5) == 0)
            measure_large(folder, argv[i][5] == '=' ? strtoull(argv[i] + 6, NULL, 10) : LARGE);
    (void)rmdir(folder);
    return bench_end();
}
