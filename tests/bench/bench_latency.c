/*
 * How long a turn of a session takes on a real file, beside what its commits cost alone: the same number of commits with
 * the same number of rows and bytes, by bare SQLite with the same durability, turn by turn in alternation.
 *
 * A file that still grows is far dearer to sync than one that is written over, so nothing is measured before both logs have
 * their size and start over.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "agent.h"
#include "bench.h"

#define TURNS 300
#define TURNS_A_SESSION 10
#define WARM_UP 100
#define PAGE 4096
#define PAGES 1100 /* beyond the 1,000 at which a log is checkpointed */

/* ---- a persistence layer that counts what goes through ---- */

typedef struct traffic {
    const uar_persistence *inner;
    uar_persistence door;
    atomic_size_t reads, commits, rows, bytes;
} traffic;

static void pass_destroy(void *ctx) {
    traffic *t = ctx;
    uar_persistence_free(t->inner);
}

static uar_status pass_open(void *ctx, uar_error *err) {
    traffic *t = ctx;
    return t->inner->open(t->inner->ctx, err);
}

static void pass_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    traffic *t = ctx;
    atomic_fetch_add(&t->reads, 1);
    t->inner->get(t->inner->ctx, kind, owner, id, done);
}

static void pass_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    traffic *t = ctx;
    atomic_fetch_add(&t->reads, 1);
    t->inner->list(t->inner->ctx, query, done);
}

static void pass_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    traffic *t = ctx;
    atomic_fetch_add(&t->commits, 1);
    for (size_t i = 0; i < count; i++) {
        if (writes[i].op != UAR_WRITE_PUT) continue;
        const uar_record *r = &writes[i].record;
        atomic_fetch_add(&t->rows, 1);
        atomic_fetch_add(&t->bytes, r->owner.len + r->id.len + r->parent.len + r->body.len + r->blob.len);
    }
    t->inner->commit(t->inner->ctx, writes, count, done);
}

static const char *pass_location(void *ctx) {
    traffic *t = ctx;
    return t->inner->location(t->inner->ctx);
}

static void traffic_init(traffic *t, const char *path) {
    memset(t, 0, sizeof *t);
    t->inner = uar_persistence_sqlite(path, NULL);
    t->door = (uar_persistence){ UAR_PERSISTENCE_INIT,
                                 .ctx = t,
                                 .destroy = pass_destroy,
                                 .open = pass_open,
                                 .get = pass_get,
                                 .list = pass_list,
                                 .commit = pass_commit,
                                 .location = pass_location,
                                 .blocking = t->inner->blocking,
                                 .concurrent = t->inner->concurrent };
}

/* ---- bare SQLite ---- */

typedef struct bare {
    sqlite3 *db;
    sqlite3_stmt *put;
    sqlite3_int64 key;
} bare;

static void run_sql(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) bench_give_up(sqlite3_errmsg(db));
}

static void bare_open(bare *b, const char *path) {
    memset(b, 0, sizeof *b);
    if (sqlite3_open(path, &b->db) != SQLITE_OK) bench_give_up("SQLite doesn't open a file");
    run_sql(b->db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA fullfsync=ON;"
                   "PRAGMA checkpoint_fullfsync=ON; PRAGMA secure_delete=ON;"
                   "PRAGMA journal_size_limit=4194304;"
                   "CREATE TABLE row(key INTEGER PRIMARY KEY, body BLOB)");
    int code = sqlite3_prepare_v2(b->db, "INSERT INTO row VALUES(?1, ?2)", -1, &b->put, NULL);
    if (code != SQLITE_OK) bench_give_up(sqlite3_errmsg(b->db));
}

static void bare_commit(bare *b, size_t rows, int bytes) {
    run_sql(b->db, "BEGIN IMMEDIATE");
    for (size_t i = 0; i < rows; i++) {
        sqlite3_bind_int64(b->put, 1, ++b->key);
        sqlite3_bind_zeroblob(b->put, 2, bytes);
        if (sqlite3_step(b->put) != SQLITE_DONE) bench_give_up(sqlite3_errmsg(b->db));
        sqlite3_reset(b->put);
    }
    run_sql(b->db, "COMMIT");
}

static void bare_close(bare *b) {
    sqlite3_finalize(b->put);
    (void)sqlite3_close(b->db);
}

/* What traffic a turn makes, rounded up. */
typedef struct turn_shape {
    size_t commits, rows_a_commit;
    int bytes_a_row;
} turn_shape;

static double bare_turn(bare *b, const turn_shape *shape) {
    uint64_t began = bench_now();
    for (size_t i = 0; i < shape->commits; i++)
        bare_commit(b, shape->rows_a_commit, shape->bytes_a_row);
    return (double)(bench_now() - began) / 1e6;
}

/* ---- the disk alone ---- */

static int pages_open(const char *path) {
    static const char page[PAGE];
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    for (int i = 0; file >= 0 && i < PAGES; i++)
        if (write(file, page, PAGE) != PAGE) bench_give_up("the disk is full");
    if (file < 0 || fsync(file) != 0) bench_give_up("no file can be made here");
    return file;
}

/* One page written over and synced. */
static double one_sync(int file, size_t number) {
    static const char page[PAGE] = { 1 };
    uint64_t began = bench_now();
    if (pwrite(file, page, PAGE, (off_t)(number % PAGES * PAGE)) != PAGE || fdatasync(file) != 0)
        bench_give_up("the disk fails");
    return (double)(bench_now() - began) / 1e6;
}

/* ---- turns ---- */

/* From uar_run_start to the known outcome. */
static double library_turn(agent *a, size_t turn) {
    char session[32];
    (void)snprintf(session, sizeof session, "session-%06zu", turn / TURNS_A_SESSION);
    uar_run_request request = { UAR_RUN_REQUEST_INIT, .session = session, .input = "Do I need a coat in Oslo?" };
    uar_run_id id;
    uar_outcome outcome = { .status = UAR_E_TIMEOUT };
    uint64_t began = bench_now();
    if (uar_run_start(&id, agent_runtime(a), &request, NULL) != UAR_OK) bench_give_up("a run doesn't start");
    if (uar_run_wait(&outcome, agent_runtime(a), id, 60000) != UAR_OK) bench_give_up("a run doesn't end");
    double ms = (double)(bench_now() - began) / 1e6;
    bench_check(outcome.status == UAR_OK, "each turn ends well");
    return ms;
}

static size_t share(size_t sum, size_t parts) {
    return (sum + parts - 1) / parts;
}

static turn_shape shape_of(const traffic *t, size_t turns) {
    turn_shape shape = { share(t->commits, turns), share(t->rows, t->commits), (int)share(t->bytes, t->rows) };
    return shape;
}

/* What is measured, as its figures and files are named. */
typedef struct scene {
    const char *name;
    uar_threading threading;
    const agent_answer *plan; /* of one turn */
    size_t plan_count;
} scene;

static void report(const scene *s, const char *figure, double value, const char *unit) {
    char name[64];
    (void)snprintf(name, sizeof name, "latency.%s.%s", s->name, figure);
    bench_report(name, value, unit, BENCH_FACT, 0);
}

static void place(char path[512], const char *folder, const scene *s, const char *end) {
    (void)snprintf(path, 512, "%s/%s%s", folder, s->name, end);
}

static void measure(const scene *s, const char *folder) {
    static double turns[TURNS], bares[TURNS], syncs[TURNS];
    char store[512], other[512], plain[512];
    place(store, folder, s, ".db");
    place(other, folder, s, "-bare.db");
    place(plain, folder, s, "-pages");
    traffic t;
    bare b;
    traffic_init(&t, store);
    bare_open(&b, other);
    bare_commit(&b, PAGES, PAGE);
    int file = pages_open(plain);
    agent_options options = { .threading = s->threading,
                              .layer = &t.door,
                              .plan = s->plan,
                              .plan_count = s->plan_count,
                              .delta = "Some words. ",
                              .result_bytes = 1024 };
    agent *a = agent_open(&options);
    for (size_t i = 0; i < WARM_UP; i++)
        (void)library_turn(a, i);
    turn_shape shape = shape_of(&t, WARM_UP);
    size_t commits = t.commits, reads = t.reads;
    for (size_t i = 0; i < TURNS; i++) {
        turns[i] = library_turn(a, WARM_UP + i);
        bares[i] = bare_turn(&b, &shape);
        syncs[i] = one_sync(file, i);
    }
    commits = t.commits - commits;
    reads = t.reads - reads;
    agent_close(a);
    bare_close(&b);
    (void)close(file);
    double turn = bench_quantile(turns, TURNS, 0.5), baseline = bench_quantile(bares, TURNS, 0.5);
    report(s, "turn.median", turn, "ms");
    report(s, "turn.p95", bench_quantile(turns, TURNS, 0.95), "ms");
    report(s, "bare_sqlite.median", baseline, "ms");
    report(s, "bare_sqlite.p95", bench_quantile(bares, TURNS, 0.95), "ms");
    report(s, "over_bare_sqlite", turn / baseline, "x");
    report(s, "sync_4k.median", bench_quantile(syncs, TURNS, 0.5), "ms");
    report(s, "commits", (double)commits / TURNS, "commits/turn");
    report(s, "reads", (double)reads / TURNS, "reads/turn");
    report(s, "rows", (double)shape.rows_a_commit, "rows/commit");
    report(s, "bytes", shape.bytes_a_row, "B/row");
}

static void remove_files(const scene *s, const char *folder) {
    static const char *const ends[] = { ".db",          ".db-wal",      ".db-shm", "-bare.db",
                                        "-bare.db-wal", "-bare.db-shm", "-pages" };
    char path[512];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        place(path, folder, s, ends[i]);
        (void)unlink(path);
    }
}

int main(void) {
    static const agent_answer talk[] = { { 20, 0 } }, tools[] = { { 5, 2 }, { 20, 0 } };
    static const scene scenes[] = {
        { "talk", UAR_THREADS_POOL, talk, 1 },
        { "tools", UAR_THREADS_POOL, tools, 2 },
        /* The same without a change of threads: the difference is what waking them costs. */
        { "talk.manual", UAR_THREADS_MANUAL, talk, 1 },
        { "tools.manual", UAR_THREADS_MANUAL, tools, 2 }
    };
    bench_begin("latency");
    char folder[] = "bench-XXXXXX"; /* where it is started: a build folder is on a real disk, /tmp may not be */
    if (mkdtemp(folder) == NULL) bench_give_up("no folder can be made here");
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        measure(&scenes[i], folder);
        remove_files(&scenes[i], folder);
    }
    (void)rmdir(folder);
    return bench_end();
}
