/* Owns nothing. See sqlite_schema.h. */
#include "store/sqlite_schema.h"

#include <assert.h>
#include <stdio.h>

/* Version 1. */
static const char create_sql[] =
    "CREATE TABLE record("
    " kind INTEGER NOT NULL, owner BLOB NOT NULL, id BLOB NOT NULL, parent BLOB, revision INTEGER NOT NULL,"
    " sort INTEGER, schema INTEGER NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
    " body BLOB, blob BLOB, checksum BLOB NOT NULL);"
    "CREATE UNIQUE INDEX record_id ON record(kind, owner, id);"
    "CREATE INDEX record_parent ON record(kind, owner, parent, id) WHERE parent IS NOT NULL;"
    "CREATE INDEX record_sort ON record(kind, owner, parent, sort, id)"
    " WHERE parent IS NOT NULL AND sort IS NOT NULL;";

const sqlite_schema sqlite_schema_now = { .version = 1, .oldest = 1, .create = create_sql, .steps = NULL };

enum { STEP_UNITS = 1000 };

bool sqlite_watch_tell(sqlite_watch *w, uint64_t done, uint64_t total) {
    if (w->host == NULL || w->host->step == NULL) return true;
    uint64_t part = total != 0 ? done * STEP_UNITS / total : 0;
    if (!w->host->step(w->host->ctx, w->base + (part < STEP_UNITS ? part : STEP_UNITS), w->total)) w->stopped = true;
    return !w->stopped;
}

/* While a long statement runs; not 0 ends it with SQLITE_INTERRUPT. */
static int on_instructions(void *ctx) {
    sqlite_watch *w = ctx;
    return sqlite_watch_tell(w, 0, 0) ? 0 : 1;
}

static int set_version(sqlite3 *db, int version) {
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA user_version=%d", version);
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int take_step(sqlite3 *db, const sqlite_step *step, sqlite_watch *watch) {
    int code = SQLITE_OK;
    if (!sqlite_watch_tell(watch, 0, 0)) return SQLITE_INTERRUPT;
    if (step->sql != NULL) code = sqlite3_exec(db, step->sql, NULL, NULL, NULL);
    if (code == SQLITE_OK && step->run != NULL) code = step->run(db, watch);
    return code;
}

int sqlite_schema_advance(sqlite3 *db, const sqlite_schema *schema, int version, const uar_care_progress *host) {
    enum { INSTRUCTIONS = 100000 };
    assert(version >= schema->oldest && version < schema->version);
    sqlite_watch watch = { .host = host, .total = (uint64_t)(schema->version - version) * STEP_UNITS };
    sqlite3_progress_handler(db, INSTRUCTIONS, on_instructions, &watch);
    int code = SQLITE_OK;
    for (int at = version; at < schema->version && code == SQLITE_OK; at++) {
        watch.base = (uint64_t)(at - version) * STEP_UNITS;
        code = take_step(db, &schema->steps[at - schema->oldest], &watch);
    }
    watch.base = watch.total;
    if (code == SQLITE_OK && !sqlite_watch_tell(&watch, 0, 0)) code = SQLITE_INTERRUPT;
    sqlite3_progress_handler(db, 0, NULL, NULL);
    return code == SQLITE_OK ? set_version(db, schema->version) : code;
}

int sqlite_schema_create(sqlite3 *db, const sqlite_schema *schema) {
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA application_id=%d", SQLITE_APPLICATION_ID);
    int code = sqlite3_exec(db, schema->create, NULL, NULL, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? set_version(db, schema->version) : code;
}
