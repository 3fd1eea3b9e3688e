/*
 * What the SQLite layer does when its disk or its memory fails: every read, write, sync and allocation of SQLite fails once,
 * and from then on.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/check.h"
#include "store/sqlite.h"

/* ---- a file system in front of the real one that fails on demand ---- */

enum { ON_READ = 1, ON_WRITE = 2, ON_SYNC = 4, ON_ALLOC = 8, ON_OPEN = 16 };

static struct {
    int which;             /* operations that count */
    int code;              /* what they answer when they fail */
    unsigned long fail_at; /* from 1; 0: never */
    bool for_good;
    unsigned long calls;
    int system_error; /* errno behind the failure; 0: none */
} plan;

static bool fails(int operation) {
    if ((plan.which & operation) == 0) return false;
    plan.calls++;
    return plan.fail_at != 0 && (plan.calls == plan.fail_at || (plan.for_good && plan.calls > plan.fail_at));
}

static void arm(int which, int code, unsigned long fail_at, bool for_good) {
    plan.which = which;
    plan.code = code;
    plan.fail_at = fail_at;
    plan.for_good = for_good;
    plan.calls = 0;
    plan.system_error = 0;
}

/* True if the armed failure happened. A sweep that ends before its second failure would prove nothing. */
static bool has_failed(void) {
    bool fired = plan.calls >= plan.fail_at;
    if (!fired) assert_true(plan.fail_at >= 3);
    return fired;
}

typedef struct shim_file {
    sqlite3_file base;
    sqlite3_file *real; /* lies behind this struct */
} shim_file;

static sqlite3_vfs *real_vfs;

static sqlite3_file *real_of(sqlite3_file *file) {
    return ((shim_file *)file)->real;
}

static int shim_close(sqlite3_file *f) {
    return real_of(f)->pMethods->xClose(real_of(f));
}

static int shim_read(sqlite3_file *f, void *to, int len, sqlite3_int64 at) {
    return fails(ON_READ) ? plan.code : real_of(f)->pMethods->xRead(real_of(f), to, len, at);
}

static int shim_write(sqlite3_file *f, const void *from, int len, sqlite3_int64 at) {
    return fails(ON_WRITE) ? plan.code : real_of(f)->pMethods->xWrite(real_of(f), from, len, at);
}

static int shim_truncate(sqlite3_file *f, sqlite3_int64 size) {
    return fails(ON_WRITE) ? plan.code : real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int shim_sync(sqlite3_file *f, int flags) {
    return fails(ON_SYNC) ? plan.code : real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int shim_size(sqlite3_file *f, sqlite3_int64 *out) {
    return real_of(f)->pMethods->xFileSize(real_of(f), out);
}

static int shim_lock(sqlite3_file *f, int level) {
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int shim_unlock(sqlite3_file *f, int level) {
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int shim_check_lock(sqlite3_file *f, int *out) {
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}

static int shim_control(sqlite3_file *f, int op, void *arg) {
    if (op == SQLITE_FCNTL_LAST_ERRNO && plan.system_error != 0) {
        *(int *)arg = plan.system_error;
        return SQLITE_OK;
    }
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int shim_sector(sqlite3_file *f) {
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int shim_traits(sqlite3_file *f) {
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int shim_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out) {
    return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, out);
}

static int shim_shm_lock(sqlite3_file *f, int at, int n, int flags) {
    return real_of(f)->pMethods->xShmLock(real_of(f), at, n, flags);
}

static void shim_shm_barrier(sqlite3_file *f) {
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int shim_shm_unmap(sqlite3_file *f, int remove) {
    return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

static const sqlite3_io_methods shim_methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_lock,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_traits,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs;
    shim_file *f = (shim_file *)file;
    f->real = (sqlite3_file *)(void *)(f + 1);
    f->base.pMethods = NULL;
    if (fails(ON_OPEN)) return plan.code;
    int code = real_vfs->xOpen(real_vfs, name, f->real, flags, out_flags);
    if (f->real->pMethods != NULL) f->base.pMethods = &shim_methods;
    return code;
}

static sqlite3_vfs shim_vfs;

/* What the system said last: the planned error, where one is planned. */
static int shim_last_error(sqlite3_vfs *vfs, int room, char *text) {
    (void)vfs;
    if (plan.system_error != 0) return plan.system_error;
    return real_vfs->xGetLastError(real_vfs, room, text);
}

/* ---- SQLite's memory, which fails on demand as well ---- */

static sqlite3_mem_methods real_memory;

static void *shim_malloc(int size) {
    return fails(ON_ALLOC) ? NULL : real_memory.xMalloc(size);
}

static void *shim_realloc(void *ptr, int size) {
    return fails(ON_ALLOC) ? NULL : real_memory.xRealloc(ptr, size);
}

static int install_shim(void **state) {
    (void)state;
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    sqlite3_mem_methods memory = real_memory;
    memory.xMalloc = shim_malloc;
    memory.xRealloc = shim_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    real_vfs = sqlite3_vfs_find(NULL);
    shim_vfs = *real_vfs;
    shim_vfs.zName = "failing";
    shim_vfs.pNext = NULL;
    shim_vfs.szOsFile = (int)sizeof(shim_file) + real_vfs->szOsFile;
    shim_vfs.xOpen = shim_open;
    shim_vfs.xGetLastError = shim_last_error;
    return sqlite3_vfs_register(&shim_vfs, 1) == SQLITE_OK ? 0 : -1;
}

/* ---- a store of its own for each test ---- */

static char folder[64];
static char path[96];

static int setup(void **state) {
    (void)state;
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/uar-io-XXXXXX" : "/tmp/uar-io-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/state.db", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arm(0, 0, 0, false);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || uar_live_objects() != 0 ? -1 : 0;
}

typedef struct store {
    const uar_persistence *door;
    kit k;
    uar_record before, after[3];
} store;

static uar_status begin(store *s, uar_error *err) {
    memset(s, 0, sizeof *s);
    s->door = uar_persistence_sqlite(path, NULL);
    s->k.layer = *s->door;
    s->k.patience_ms = 30000;
    s->k.owner = STR("local");
    arena_init(&s->k.memory, &alloc_default);
    s->before = kit_record(&s->k, STR("before"));
    for (size_t i = 0; i < 3; i++) {
        s->after[i] = kit_sorted(&s->k, kit_name(&s->k, "after-", i), STR("p"), (int64_t)i);
        s->after[i].blob = kit_bytes(&s->k, 9000);
        assert_int_equal(record_seal(&s->after[i]), UAR_OK);
    }
    return s->door->open(s->door->ctx, err);
}

static void finish(store *s) {
    arena_dispose(&s->k.memory);
    uar_persistence_free(s->door);
}

static void make_store(void) {
    arm(0, 0, 0, false);
    char command[400];
    snprintf(command, sizeof command, "rm -f '%s' '%s-wal' '%s-shm'", path, path, path);
    assert_int_equal(system(command), 0);
    store s;
    assert_int_equal(begin(&s, NULL), UAR_OK);
    const uar_write put = kit_put(s.before, 0);
    assert_int_equal(kit_commit(&s.k, &put, 1), UAR_OK);
    finish(&s);
}

static uar_status commit_all(store *s) {
    const uar_write writes[] = { kit_put(s->after[0], 0), kit_put(s->after[1], 0), kit_put(s->after[2], 0) };
    return kit_commit(&s->k, writes, 3);
}

/* Reads everything back; how many of the three are there. */
static size_t count_after(store *s) {
    assert_true(kit_has(&s->k, &s->before));
    size_t found = 0;
    for (size_t i = 0; i < 3; i++) {
        uar_record got;
        uar_status status = kit_get(&got, &s->k, s->after[i].kind, s->after[i].owner, s->after[i].id);
        assert_true(status == UAR_OK || status == UAR_E_NOT_FOUND);
        if (status == UAR_OK) assert_true(kit_same(&s->k, &got, &s->after[i]));
        found += status == UAR_OK;
    }
    return found;
}

static bool is_disk_trouble(uar_status status) {
    return status == UAR_E_IO || status == UAR_E_FULL || status == UAR_E_CANTOPEN;
}

static void sweep_commit(int which, int code, uar_status wanted) {
    for (int for_good = 0; for_good < 2; for_good++) {
        bool fired = true;
        for (unsigned long n = 1; fired; n++) {
            make_store();
            store s;
            assert_int_equal(begin(&s, NULL), UAR_OK);
            arm(which, code, n, for_good != 0);
            uar_status status = commit_all(&s);
            fired = has_failed();
            /* A failing checkpoint behind the commit doesn't take the commit back. */
            assert_true(status == UAR_OK || status == wanted);
            if (!fired) assert_int_equal(status, UAR_OK);
            arm(0, 0, 0, false);
            size_t now = count_after(&s);
            assert_int_equal(now, status == UAR_OK ? 3 : 0);
            finish(&s);
            assert_int_equal(begin(&s, NULL), UAR_OK);
            size_t later = count_after(&s);
            assert_true(later == 3 || (later == 0 && status != UAR_OK));
            finish(&s);
        }
    }
}

static void test_R9_a_failing_write_fails_the_commit_and_keeps_what_was(void **state) {
    (void)state;
    sweep_commit(ON_WRITE, SQLITE_IOERR_WRITE, UAR_E_IO);
}

static void test_R9_a_full_disk_at_any_write_fails_the_commit_and_keeps_what_was(void **state) {
    (void)state;
    sweep_commit(ON_WRITE, SQLITE_FULL, UAR_E_FULL);
}

static void test_R9_a_failing_sync_fails_the_commit_and_keeps_what_was(void **state) {
    (void)state;
    sweep_commit(ON_SYNC, SQLITE_IOERR_FSYNC, UAR_E_IO);
}

static void a_failing_read_is_never_taken_for_nothing_found(void **state) {
    (void)state;
    for (int for_good = 0; for_good < 2; for_good++) {
        bool fired = true;
        for (unsigned long n = 1; fired; n++) {
            make_store();
            store s;
            arm(ON_READ, SQLITE_IOERR_READ, n, for_good != 0);
            uar_error err = UAR_ERROR_INIT;
            uar_status opened = begin(&s, &err);
            uar_record got;
            uar_status status =
                opened == UAR_OK ? kit_get(&got, &s.k, s.before.kind, s.before.owner, s.before.id) : opened;
            fired = has_failed();
            if (status != UAR_OK && !is_disk_trouble(status)) fail_msg("read %lu: %s", n, err.message);
            if (!fired) assert_int_equal(status, UAR_OK);
            if (opened != UAR_OK) assert_true(err.detail != 0 && strstr(err.message, "state.db") != NULL);
            finish(&s);
            arm(0, 0, 0, false);
            assert_int_equal(begin(&s, NULL), UAR_OK);
            assert_int_equal(count_after(&s), 0);
            finish(&s);
        }
    }
}

static void a_store_that_could_not_be_made_can_be_made_later(void **state) {
    (void)state;
    static const int codes[] = { SQLITE_IOERR_WRITE, SQLITE_FULL };
    for (int c = 0; c < 2; c++) {
        bool fired = true;
        for (unsigned long n = 1; fired; n++) {
            unlink(path);
            store s;
            arm(ON_WRITE | ON_SYNC, codes[c], n, true);
            uar_status status = begin(&s, NULL);
            fired = has_failed();
            assert_true(status == UAR_OK || is_disk_trouble(status));
            finish(&s);
            arm(0, 0, 0, false);
            assert_int_equal(begin(&s, NULL), UAR_OK);
            assert_int_equal(commit_all(&s), UAR_OK);
            finish(&s);
        }
    }
}

/* ---- file protection: the device is locked, and refuses what worked a moment ago ---- */

static void a_file_that_the_device_locks_is_protected_and_works_when_it_is_unlocked(void **state) {
    (void)state;
    static const struct {
        int which, code, error;
        bool closed; /* the fault hits the opening, not a call of an open store */
    } cases[] = { { ON_READ, SQLITE_IOERR_READ, EPERM, true },
                  { ON_WRITE, SQLITE_IOERR_WRITE, EPERM, false },
                  { ON_WRITE, SQLITE_IOERR_WRITE, EACCES, false },
                  { ON_SYNC, SQLITE_IOERR_FSYNC, EPERM, false },
                  { ON_OPEN, SQLITE_CANTOPEN, EPERM, true },
                  { ON_WRITE, SQLITE_AUTH, 0, false },
                  { ON_OPEN, SQLITE_AUTH, 0, true },
                  { ON_OPEN, SQLITE_PERM, 0, true } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_store();
        store s;
        uar_error err = UAR_ERROR_INIT;
        if (!cases[i].closed) assert_int_equal(begin(&s, NULL), UAR_OK);
        arm(cases[i].which, cases[i].code, 1, true);
        plan.system_error = cases[i].error;
        uar_status status = cases[i].closed ? begin(&s, &err) : commit_all(&s);
        if (status != UAR_E_PROTECTED) fail_msg("case %zu: %s %s", i, uar_status_name(status), err.message);
        assert_int_equal(uar_status_band(status), UAR_BAND_RETRY);
        if (cases[i].closed) assert_non_null(strstr(err.message, "unlocked"));
        arm(0, 0, 0, false);
        if (cases[i].closed) assert_int_equal(s.door->open(s.door->ctx, NULL), UAR_OK);
        assert_int_equal(count_after(&s), 0);
        assert_int_equal(commit_all(&s), UAR_OK);
        finish(&s);
    }
}

static void a_disk_that_fails_and_a_file_of_somebody_else_are_not_called_protected(void **state) {
    (void)state;
    make_store();
    store s;
    arm(ON_OPEN, SQLITE_CANTOPEN, 1, true);
    plan.system_error = EACCES;
    assert_int_equal(begin(&s, NULL), UAR_E_CANTOPEN);
    arm(0, 0, 0, false);
    assert_int_equal(s.door->open(s.door->ctx, NULL), UAR_OK);
    arm(ON_WRITE, SQLITE_IOERR_WRITE, 1, true);
    plan.system_error = EIO;
    assert_int_equal(commit_all(&s), UAR_E_IO);
    finish(&s);
}

static void a_protected_store_can_be_resumed_when_the_device_is_unlocked(void **state) {
    (void)state;
    make_store();
    store s;
    assert_int_equal(begin(&s, NULL), UAR_OK);
    assert_int_equal(s.door->suspend(s.door->ctx, NULL), UAR_OK);
    arm(ON_OPEN, SQLITE_CANTOPEN, 1, true);
    plan.system_error = EPERM;
    assert_int_equal(s.door->resume(s.door->ctx, NULL), UAR_E_PROTECTED);
    arm(0, 0, 0, false);
    assert_int_equal(s.door->resume(s.door->ctx, NULL), UAR_OK);
    assert_int_equal(count_after(&s), 0);
    finish(&s);
}

/* ---- care over a disk that fails ---- */

static char copy[120];

typedef uar_status (*care_fn)(store *s, uar_error *err);

static uar_status care_backup(store *s, uar_error *err) {
    snprintf(copy, sizeof copy, "%s-copy", path);
    uar_status status = s->door->backup(s->door->ctx, copy, NULL, err);
    bool is_there = access(copy, F_OK) == 0;
    /* A name that could not be made durable is taken back, or said to be there. */
    if (status == UAR_OK) assert_true(is_there);
    if (!is_there) return status;
    arm(0, 0, 0, false);
    uar_store_check check = { .size = sizeof check };
    assert_int_equal(uar_sqlite_check(&check, copy, NULL, NULL, NULL, NULL, NULL), UAR_OK);
    assert_int_equal(check.records, 4);
    assert_int_equal(check.lost + check.faults, 0);
    assert_int_equal(unlink(copy), 0);
    return status;
}

static uar_status care_maintain(store *s, uar_error *err) {
    const uar_care_options options = { .size = sizeof options };
    uar_store_care care = { .size = sizeof care };
    return s->door->maintain(s->door->ctx, &options, NULL, &care, err);
}

static uar_status care_rebuild(store *s, uar_error *err) {
    const uar_care_options options = { .size = sizeof options, .whole = true };
    uar_store_care care = { .size = sizeof care };
    return s->door->maintain(s->door->ctx, &options, NULL, &care, err);
}

static uar_status care_suspend(store *s, uar_error *err) {
    uar_status status = s->door->suspend(s->door->ctx, err);
    return status == UAR_OK ? s->door->resume(s->door->ctx, err) : status;
}

static size_t count_folder(void) {
    char command[160];
    size_t count = 0;
    snprintf(command, sizeof command, "ls '%s' | wc -l", folder);
    FILE *answer = popen(command, "r");
    assert_non_null(answer);
    assert_int_equal(fscanf(answer, "%zu", &count), 1);
    pclose(answer);
    return count;
}

static void sweep_care(care_fn care, int which, int code) {
    for (int for_good = 0; for_good < 2; for_good++) {
        bool fired = true;
        for (unsigned long n = 1; fired; n += for_good != 0 ? 3 : 1) {
            make_store();
            store s;
            uar_error err = UAR_ERROR_INIT;
            assert_int_equal(begin(&s, NULL), UAR_OK);
            assert_int_equal(commit_all(&s), UAR_OK);
            const uar_write drop = kit_delete(s.after[0], 1);
            if (care == care_maintain || care == care_rebuild) assert_int_equal(kit_commit(&s.k, &drop, 1), UAR_OK);
            size_t files = count_folder();
            arm(which, code, n, for_good != 0);
            uar_status status = care(&s, &err);
            fired = plan.calls >= plan.fail_at && plan.fail_at != 0;
            if (status != UAR_OK && !is_disk_trouble(status)) fail_msg("%lu: %s", n, err.message);
            arm(0, 0, 0, false);
            if (care == care_suspend) assert_int_equal(s.door->resume(s.door->ctx, NULL), UAR_OK);
            assert_true(count_folder() <= files);
            assert_true(count_after(&s) >= 2);
            finish(&s);
            assert_int_equal(begin(&s, NULL), UAR_OK);
            assert_true(count_after(&s) >= 2);
            finish(&s);
        }
    }
}

static void test_R9_a_disk_that_fails_during_a_backup_leaves_no_half_copy_and_the_store_whole(void **state) {
    (void)state;
    sweep_care(care_backup, ON_WRITE | ON_SYNC, SQLITE_FULL);
    sweep_care(care_backup, ON_READ, SQLITE_IOERR_READ);
}

static void test_R9_a_disk_that_fails_during_maintenance_leaves_the_store_whole(void **state) {
    (void)state;
    sweep_care(care_maintain, ON_WRITE | ON_SYNC, SQLITE_IOERR_WRITE);
    sweep_care(care_rebuild, ON_WRITE | ON_SYNC, SQLITE_FULL);
    sweep_care(care_rebuild, ON_READ, SQLITE_IOERR_READ);
}

static void test_N5_a_disk_that_fails_while_suspending_or_resuming_leaves_the_store_whole(void **state) {
    (void)state;
    sweep_care(care_suspend, ON_WRITE | ON_SYNC, SQLITE_IOERR_WRITE);
    sweep_care(care_suspend, ON_READ, SQLITE_IOERR_READ);
}

/* A damaged store: its repair is all or nothing. */
static void test_R9_a_disk_that_fails_during_a_repair_leaves_the_damaged_file_or_a_repaired_one(void **state) {
    (void)state;
    static const struct {
        int which, code;
    } faults[] = { { ON_WRITE | ON_SYNC, SQLITE_FULL }, { ON_READ, SQLITE_IOERR_READ } };
    for (size_t i = 0; i < 2; i++) {
        bool fired = true;
        for (unsigned long n = 1; fired; n++) {
            char command[240];
            uar_store_repair report;
            uar_error err = UAR_ERROR_INIT;
            sqlite3 *db = NULL;
            make_store();
            assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
            assert_int_equal(sqlite3_exec(db, "DROP INDEX record_sort", NULL, NULL, NULL), SQLITE_OK);
            sqlite3_close(db);
            uar_store_repair_init(&report);
            arm(faults[i].which, faults[i].code, n, true);
            uar_status status = uar_sqlite_repair(&report, path, NULL, NULL, NULL, NULL, &err);
            fired = plan.calls >= plan.fail_at;
            arm(0, 0, 0, false);
            if (status != UAR_OK && !is_disk_trouble(status) && status != UAR_E_CORRUPT)
                fail_msg("%lu: %s", n, err.message);
            if (!fired) assert_true(status == UAR_OK && report.replaced);
            if (status != UAR_OK)
                assert_int_equal(uar_sqlite_repair(&report, path, NULL, NULL, NULL, NULL, NULL), UAR_OK);
            assert_int_equal(report.lost, 0);
            assert_int_equal(report.records, 1);
            store s;
            assert_int_equal(begin(&s, NULL), UAR_OK);
            assert_int_equal(count_after(&s), 0);
            finish(&s);
            snprintf(command, sizeof command, "rm -f '%s'/*", folder);
            assert_int_equal(system(command), 0);
        }
    }
}

/* ---- memory ---- */

static bool is_out_of_memory_or_well(uar_status status) {
    return status == UAR_OK || status == UAR_E_NOMEM;
}

static void opening_without_memory_is_said_and_can_be_repeated(void **state) {
    (void)state;
    make_store();
    for (int for_good = 0; for_good < 2; for_good++) {
        bool fired = true;
        for (unsigned long n = 1; fired; n++) {
            store s;
            arm(ON_ALLOC, 0, n, for_good != 0);
            uar_error err = UAR_ERROR_INIT;
            uar_status status = begin(&s, &err);
            fired = has_failed();
            arm(0, 0, 0, false);
            if (!is_out_of_memory_or_well(status)) fail_msg("allocation %lu: %s", n, err.message);
            if (!fired) assert_int_equal(status, UAR_OK);
            if (status == UAR_OK) assert_int_equal(count_after(&s), 0);
            finish(&s);
        }
    }
}

static void a_commit_without_memory_changes_nothing(void **state) {
    (void)state;
    make_store();
    store s;
    assert_int_equal(begin(&s, NULL), UAR_OK);
    for (int for_good = 0; for_good < 2; for_good++) {
        bool fired = true;
        for (unsigned long n = 1; fired; n++) {
            /* What the calls before have cached must not hide a fault. */
            sqlite3_db_release_memory(((const sqlite_layer *)s.door->ctx)->db);
            arm(ON_ALLOC, 0, n, for_good != 0);
            uar_status status = commit_all(&s);
            fired = has_failed();
            arm(0, 0, 0, false);
            assert_true(is_out_of_memory_or_well(status));
            if (!fired) assert_int_equal(status, UAR_OK);
            assert_int_equal(count_after(&s), status == UAR_OK ? 3 : 0);
            const uar_write sweep[] = { kit_put(s.before, 1), kit_fence(s.before, 1), kit_delete_children(s.after[0]),
                                        kit_delete(s.before, 1), kit_put(s.before, 0) };
            assert_int_equal(kit_commit(&s.k, sweep, 5), UAR_OK);
        }
    }
    finish(&s);
}

static void reading_without_memory_is_never_taken_for_nothing_found(void **state) {
    (void)state;
    make_store();
    store s;
    assert_int_equal(begin(&s, NULL), UAR_OK);
    assert_int_equal(commit_all(&s), UAR_OK);
    for (int for_good = 0; for_good < 2; for_good++) {
        bool fired = true;
        for (unsigned long n = 1; fired; n++) {
            sqlite3_db_release_memory(((const sqlite_layer *)s.door->ctx)->db);
            arm(ON_ALLOC, 0, n, for_good != 0);
            uar_record got;
            kit_page page = { NULL, 4 };
            const uar_list_query query = kit_query(&s.k, UAR_ORDER_KEY);
            const uar_write fence = kit_fence(s.before, 1);
            uar_status read = kit_get(&got, &s.k, s.after[2].kind, s.after[2].owner, s.after[2].id);
            uar_status listed = kit_list(&page, &s.k, &query);
            uar_status fenced = kit_commit(&s.k, &fence, 1);
            fired = has_failed();
            arm(0, 0, 0, false);
            assert_true(is_out_of_memory_or_well(read) && is_out_of_memory_or_well(listed));
            assert_true(is_out_of_memory_or_well(fenced));
            assert_int_equal(page.count, 4);
            if (!fired) assert_true(read == UAR_OK && listed == UAR_OK && fenced == UAR_OK);
            assert_int_equal(count_after(&s), 3);
        }
    }
    finish(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_R9_a_failing_write_fails_the_commit_and_keeps_what_was),
        TEST(test_R9_a_full_disk_at_any_write_fails_the_commit_and_keeps_what_was),
        TEST(test_R9_a_failing_sync_fails_the_commit_and_keeps_what_was),
        TEST(a_failing_read_is_never_taken_for_nothing_found),
        TEST(a_store_that_could_not_be_made_can_be_made_later),
        TEST(a_file_that_the_device_locks_is_protected_and_works_when_it_is_unlocked),
        TEST(a_disk_that_fails_and_a_file_of_somebody_else_are_not_called_protected),
        TEST(a_protected_store_can_be_resumed_when_the_device_is_unlocked),
        TEST(test_R9_a_disk_that_fails_during_a_backup_leaves_no_half_copy_and_the_store_whole),
        TEST(test_R9_a_disk_that_fails_during_maintenance_leaves_the_store_whole),
        TEST(test_N5_a_disk_that_fails_while_suspending_or_resuming_leaves_the_store_whole),
        TEST(test_R9_a_disk_that_fails_during_a_repair_leaves_the_damaged_file_or_a_repaired_one),
        TEST(opening_without_memory_is_said_and_can_be_repeated),
        TEST(a_commit_without_memory_changes_nothing),
        TEST(reading_without_memory_is_never_taken_for_nothing_found),
    };
    return cmocka_run_group_tests(tests, install_shim, NULL);
}
