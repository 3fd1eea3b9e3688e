/* An SQLite store in a folder of its own for each test, asked by the waiting calls of the conformance kit. Include cmocka before. */
#ifndef UAR_TESTS_UNIT_STORE_FIXTURE_H
#define UAR_TESTS_UNIT_STORE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uar/store_care.h>

#include "store/check.h"
#include "store/layer.h"
#include "store/sqlite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- a folder of its own for each test ---- */

static char folder[64];
static char path[96];

static inline int setup(void **state) {
    (void)state;
    /* In memory where that is possible: many a test waits for the disk alone. */
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/uar-sqlite-XXXXXX" : "/tmp/uar-sqlite-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/state.db", folder);
    return 0;
}

static inline int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    int failed = system(command);
    return failed != 0 || uar_live_objects() != 0 ? -1 : 0;
}

/* ---- a store, open, with the kit's waiting calls ---- */

typedef struct store {
    const uar_persistence *door;
    kit k;
} store;

static inline void begin(store *s, const uar_persistence *door) {
    memset(s, 0, sizeof *s);
    s->door = door;
    s->k.layer = *door;
    s->k.patience_ms = 30000;
    s->k.owner = STR("local");
    arena_init(&s->k.memory, &alloc_default);
}

static inline uar_status try_open(store *s, const char *at, const uar_sqlite_options *options, uar_error *err) {
    begin(s, uar_persistence_sqlite(at, options));
    return s->door->open(s->door->ctx, err);
}

static inline void finish(store *s) {
    arena_dispose(&s->k.memory);
    uar_persistence_free(s->door);
}

static inline void open_store(store *s) {
    uar_error err = UAR_ERROR_INIT;
    if (try_open(s, path, NULL, &err) != UAR_OK) fail_msg("%s", err.message);
}

static inline sqlite3 *db_of(const store *s) {
    const sqlite_layer *l = s->door->ctx;
    return l->db;
}

static inline uar_status put_new(store *s, uar_record r) {
    const uar_write put = kit_put(r, 0);
    return kit_commit(&s->k, &put, 1);
}

#endif
