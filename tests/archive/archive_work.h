/*
 * Real work through the archive, for the programs that link it: a whole conformance run over an SQLite store needs
 * SQLite, the hashing and the JSON document model inside the archive.
 */
#ifndef UAR_TESTS_ARCHIVE_WORK_H
#define UAR_TESTS_ARCHIVE_WORK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <uar/uar.h>

static inline void check_a_store_in(const char *folder) {
    char path[256];
    snprintf(path, sizeof path, "%s/state.db", folder);
    uar_persistence_report report;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_persistence_check(&report, uar_persistence_sqlite(path, NULL), NULL, NULL, &err);
    if (status != UAR_OK) print_error("%s: %s\n", uar_status_name(status), err.message);
    assert_int_equal(status, UAR_OK);
    assert_true(report.passed > 0);
    assert_int_equal(report.failed, 0);
    assert_int_equal(uar_live_objects(), 0);
}

static inline void remove_the_store_in(const char *folder) {
    static const char *const endings[] = { "", "-wal", "-shm", "-journal" };
    char path[256];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(path, sizeof path, "%s/state.db%s", folder, endings[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* The work in a folder of its own, which is removed. */
static inline void check_a_store(void) {
    char folder[] = "/tmp/uar-archive-XXXXXX";
    assert_non_null(mkdtemp(folder));
    check_a_store_in(folder);
    remove_the_store_in(folder);
}

#endif
