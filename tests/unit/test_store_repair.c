/* Checking and repairing a damaged SQLite store: what is whole is kept, what is lost is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>

#include "support/probe_alloc.h"
#include "test_store_fixture.h"

enum { RECORDS = 400, PAGE = 4096, NAMES = 1000 };

/* ---- a store with something in it, and what is in it ---- */

static char keys[RECORDS][16];

static void make_store(void) {
    store s;
    uar_write writes[RECORDS];
    open_store(&s);
    for (size_t i = 0; i < RECORDS; i++) {
        uar_record r = i % 2 == 0 ? kit_record(&s.k, kit_name(&s.k, "r-", i))
                                  : kit_sorted(&s.k, kit_name(&s.k, "r-", i), STR("parent"), (int64_t)i);
        r.blob = kit_bytes(&s.k, i % 40 == 0 ? 9000 : 300); /* some reach over several pages */
        assert_int_equal(record_seal(&r), UAR_OK);
        snprintf(keys[i], sizeof keys[i], "%.*s", (int)r.id.len, r.id.ptr);
        writes[i] = kit_put(r, 0);
    }
    assert_int_equal(kit_commit(&s.k, writes, RECORDS), UAR_OK);
    finish(&s);
}

/* How many of the records are there, whole; a changed one fails the test. */
static size_t count_kept(bool is_there[RECORDS]) {
    store s;
    size_t kept = 0;
    open_store(&s);
    for (size_t i = 0; i < RECORDS; i++) {
        uar_record got;
        uar_status status = kit_get(&got, &s.k, UAR_RECORD_MESSAGE, s.k.owner, uar_str_of(keys[i]));
        assert_true(status == UAR_OK || status == UAR_E_NOT_FOUND);
        if (status == UAR_OK) {
            assert_int_equal(record_verify(&got, NULL), UAR_OK);
            assert_int_equal(got.blob.len, i % 40 == 0 ? 9000 : 300);
        }
        is_there[i] = status == UAR_OK;
        kept += status == UAR_OK;
    }
    finish(&s);
    return kept;
}

/* ---- findings ---- */

typedef struct findings {
    size_t lost, unnamed, faults, names;
    char ids[NAMES][24];
} findings;

static void note(void *ctx, const uar_store_finding *finding) {
    findings *f = ctx;
    assert_true(finding->what.len > 0);
    if (!finding->is_lost) {
        f->faults++;
        return;
    }
    f->lost++;
    if (finding->id.ptr == NULL) {
        f->unnamed++;
        return;
    }
    assert_true(f->names < NAMES);
    snprintf(f->ids[f->names++], sizeof f->ids[0], "%.*s", (int)finding->id.len, finding->id.ptr);
}

static bool is_named(const findings *f, const char *id) {
    for (size_t i = 0; i < f->names; i++)
        if (strcmp(f->ids[i], id) == 0) return true;
    return false;
}

static uar_store_repair repair_it(findings *f) {
    uar_store_repair report;
    uar_error err = UAR_ERROR_INIT;
    uar_store_repair_init(&report);
    memset(f, 0, sizeof *f);
    uar_status status = uar_sqlite_repair(&report, path, NULL, note, f, NULL, &err);
    if (status != UAR_OK) fail_msg("%s", err.message);
    assert_int_equal(report.lost, f->lost);
    return report;
}

static uar_store_check check_it(findings *f) {
    uar_store_check report;
    uar_error err = UAR_ERROR_INIT;
    uar_store_check_init(&report);
    memset(f, 0, sizeof *f);
    uar_status status = uar_sqlite_check(&report, path, NULL, note, f, NULL, &err);
    if (status != UAR_OK) fail_msg("%s", err.message);
    assert_int_equal(report.lost, f->lost);
    assert_int_equal(report.faults, f->faults);
    return report;
}

/* ---- damage ---- */

static size_t pages_of(const char *at) {
    struct stat st;
    assert_int_equal(stat(at, &st), 0);
    return (size_t)st.st_size / PAGE;
}

static void write_at(long at, const void *bytes, size_t len) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void read_page(size_t number, unsigned char page[PAGE]) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(number * PAGE), SEEK_SET), 0);
    assert_int_equal(fread(page, 1, PAGE, file), PAGE);
    fclose(file);
}

/* The n-th page of a kind: 13 is a leaf of a table, 10 of an index, 5 and 2 lie above them. 0: there are not so many. */
static size_t page_of_kind(unsigned char kind, size_t n) {
    unsigned char page[PAGE];
    for (size_t i = 1; i < pages_of(path); i++) {
        read_page(i, page);
        if (page[0] == kind && n-- == 0) return i;
    }
    return 0;
}

static void ruin_page(size_t number) {
    unsigned char junk[PAGE];
    memset(junk, 0xa5, sizeof junk);
    assert_true(number != 0);
    write_at((long)(number * PAGE), junk, sizeof junk);
}

static void copy_file(const char *from, const char *to) {
    char command[400];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

/* ---- tests ---- */

static void a_store_that_is_whole_is_left_alone(void **state) {
    (void)state;
    make_store();
    findings f;
    uar_store_check check = check_it(&f);
    assert_int_equal(check.records, RECORDS);
    assert_int_equal(check.lost + check.faults, 0);
    struct stat before, after;
    assert_int_equal(stat(path, &before), 0);
    uar_store_repair report = repair_it(&f);
    assert_false(report.replaced);
    assert_string_equal(report.aside, "");
    assert_int_equal(report.records, RECORDS);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

/* After a repair: what is there is whole, what isn't there was named, nothing else is wrong. */
static size_t expect_honest_repair(const findings *f, const uar_store_repair *report) {
    static bool is_there[RECORDS];
    findings none;
    assert_true(report->replaced);
    size_t kept = count_kept(is_there);
    assert_int_equal(kept, report->records);
    for (size_t i = 0; i < RECORDS; i++) {
        if (!is_there[i] && f->unnamed == 0 && !is_named(f, keys[i])) fail_msg("%s is gone and was not named", keys[i]);
        if (is_there[i] && is_named(f, keys[i])) fail_msg("%s is there and was called lost", keys[i]);
    }
    uar_store_check check = check_it(&none);
    assert_int_equal(check.records, kept);
    assert_int_equal(check.lost + check.faults, 0);
    return kept;
}

static void test_R10_a_ruined_page_of_records_loses_those_alone_and_each_is_named(void **state) {
    (void)state;
    make_store();
    ruin_page(page_of_kind(13, 5));
    assert_int_equal(access(path, F_OK), 0);
    store s;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(try_open(&s, path, NULL, &err), UAR_E_CORRUPT);
    finish(&s);
    findings f;
    uar_store_check check = check_it(&f);
    assert_true(check.lost > 0 && check.faults > 0 && f.unnamed == 0);
    assert_int_equal(check.records + check.lost, RECORDS);
    uar_store_repair report = repair_it(&f);
    assert_int_equal(f.unnamed, 0);
    assert_int_equal(expect_honest_repair(&f, &report), RECORDS - report.lost);
    assert_true(report.lost < 20);
    char aside[200];
    snprintf(aside, sizeof aside, "%s%s", path, report.aside);
    assert_int_equal(pages_of(aside) > 20, true);
}

static void a_ruined_index_loses_no_record(void **state) {
    (void)state;
    static const unsigned char kinds[] = { 10, 2 };
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (size_t n = 0; n < 4; n++) {
            make_store();
            size_t page = page_of_kind(kinds[i], n);
            if (page != 0) {
                ruin_page(page);
                findings f;
                uar_store_repair report = repair_it(&f);
                assert_int_equal(report.lost, 0);
                assert_int_equal(expect_honest_repair(&f, &report), RECORDS);
            }
            assert_int_equal(unlink(path), 0);
        }
}

static void many_ruined_pages_leave_what_lies_between_them(void **state) {
    (void)state;
    make_store();
    for (size_t n = 0; n < 8; n++) {
        size_t page = page_of_kind(13, 2 * n); /* each ruined one is no longer counted */
        if (page != 0) ruin_page(page);
    }
    findings f;
    uar_store_repair report = repair_it(&f);
    assert_int_equal(f.unnamed, 0);
    assert_true(expect_honest_repair(&f, &report) > RECORDS / 2);
}

static void a_cut_file_keeps_what_is_before_the_cut(void **state) {
    (void)state;
    make_store();
    assert_int_equal(truncate(path, (off_t)(pages_of(path) * 3 / 4 * PAGE)), 0);
    findings f;
    uar_store_repair report = repair_it(&f);
    assert_true(report.records > 0 && report.lost > 0);
    (void)expect_honest_repair(&f, &report);
}

static void test_R10_whatever_byte_is_flipped_a_repair_ends_with_good_data_or_a_typed_error(void **state) {
    (void)state;
    make_store();
    char whole[160];
    snprintf(whole, sizeof whole, "%s-whole", path);
    copy_file(path, whole);
    const char *full = getenv("UAR_TEST_FULL");
    bool all = full != NULL && full[0] == '1';
    size_t size = pages_of(path) * PAGE, repaired = 0, refused = 0, named = 0;
    for (size_t at = 0; at < size; at += at < 100 ? (all ? 1 : 9) : (all ? 397 : 6151)) {
        unsigned char byte;
        copy_file(whole, path);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
        assert_int_equal(fread(&byte, 1, 1, file), 1);
        fclose(file);
        byte ^= 0x41;
        write_at((long)at, &byte, 1);
        findings f = { 0 };
        uar_store_repair report;
        uar_error err = UAR_ERROR_INIT;
        uar_store_repair_init(&report);
        uar_status status = uar_sqlite_repair(&report, path, NULL, note, &f, NULL, &err);
        if (status != UAR_OK) {
            assert_true(uar_status_band(status) == UAR_BAND_STORE);
            refused++;
            continue;
        }
        if (!report.replaced) continue; /* a byte that nothing is read from */
        repaired++;
        named += f.names;
        (void)expect_honest_repair(&f, &report);
        char aside[200];
        snprintf(aside, sizeof aside, "%s%s", path, report.aside);
        assert_int_equal(unlink(aside), 0);
    }
    print_message("flipped bytes: %zu repaired with %zu records lost by name, %zu refused\n", repaired, named, refused);
    assert_true(repaired > 20 && named > 0);
}

static void a_repair_of_a_store_that_is_open_elsewhere_is_busy(void **state) {
    (void)state;
    make_store();
    store s;
    open_store(&s);
    const uar_record r = kit_record(&s.k, STR("extra"));
    assert_int_equal(put_new(&s, r), UAR_OK);
    uar_sqlite_options options;
    uar_store_repair report;
    uar_error err = UAR_ERROR_INIT;
    uar_sqlite_options_init(&options);
    uar_store_repair_init(&report);
    options.busy_timeout_ms = 30;
    assert_int_equal(uar_sqlite_repair(&report, path, &options, NULL, NULL, NULL, &err), UAR_E_BUSY);
    assert_non_null(strstr(err.message, "close it"));
    finish(&s);
    assert_int_equal(uar_sqlite_repair(&report, path, &options, NULL, NULL, NULL, &err), UAR_OK);
    assert_int_equal(report.records, RECORDS + 1);
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx, (void)done, (void)total;
    return false;
}

static void a_repair_that_is_stopped_changes_nothing(void **state) {
    (void)state;
    make_store();
    ruin_page(page_of_kind(13, 5));
    char before[160], command[400];
    snprintf(before, sizeof before, "%s-before", path);
    copy_file(path, before);
    const uar_care_progress progress = { NULL, stop_at_once };
    uar_store_repair report;
    uar_store_repair_init(&report);
    assert_int_equal(uar_sqlite_repair(&report, path, NULL, NULL, NULL, &progress, NULL), UAR_E_CANCELLED);
    assert_false(report.replaced);
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", path, before);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "test $(ls '%s' | wc -l) = 2", folder);
    assert_int_equal(system(command), 0);
}

static bool go_on_for_a_while(void *ctx, uint64_t done, uint64_t total) {
    unsigned *steps = ctx;
    (void)done, (void)total;
    return ++*steps < 20000;
}

static void copy_page(size_t from, size_t to) {
    unsigned char page[PAGE];
    assert_true(from != 0 && to != 0);
    read_page(from, page);
    write_at((long)(to * PAGE), page, sizeof page);
}

/* Where row numbers are out of order, a search for the next row may end at one that was read before, again and again. */
static void test_R10_a_repair_of_rows_out_of_order_comes_to_an_end(void **state) {
    (void)state;
    unsigned steps = 0;
    const uar_care_progress progress = { &steps, go_on_for_a_while };
    uar_store_repair report;
    uar_store_repair_init(&report);
    make_store();
    size_t leaf[9];
    for (size_t i = 0; i < 9; i++)
        leaf[i] = page_of_kind(13, i + 2);
    copy_page(leaf[1], leaf[5]);
    copy_page(leaf[2], leaf[6]);
    ruin_page(leaf[7]);
    assert_int_equal(uar_sqlite_repair(&report, path, NULL, NULL, NULL, &progress, NULL), UAR_OK);
    assert_true(report.replaced);
    assert_true(report.records > RECORDS / 2);
}

/* SQLite mends the page count of a cut file as soon as somebody begins to write. */
static void test_R10_a_repair_of_a_cut_file_that_is_stopped_or_fails_changes_nothing(void **state) {
    (void)state;
    static const long lengths[] = { 600, 3000, 5 * PAGE, 5 * PAGE + 100 };
    char before[160], command[400];
    snprintf(before, sizeof before, "%s-before", path);
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", path, before);
    make_store();
    for (size_t i = sizeof lengths / sizeof lengths[0]; i-- > 0;) {
        const uar_care_progress progress = { NULL, stop_at_once };
        uar_store_repair report;
        uar_store_repair_init(&report);
        assert_int_equal(truncate(path, lengths[i]), 0);
        copy_file(path, before);
        uar_status status = uar_sqlite_repair(&report, path, NULL, NULL, NULL, &progress, NULL);
        assert_int_equal(status, lengths[i] < PAGE ? UAR_E_CORRUPT : UAR_E_CANCELLED);
        assert_int_equal(system(command), 0);
    }
}

static void what_is_no_store_is_not_repaired(void **state) {
    (void)state;
    uar_store_repair report;
    uar_store_check check;
    uar_error err = UAR_ERROR_INIT;
    uar_store_repair_init(&report);
    uar_store_check_init(&check);
    assert_int_equal(uar_sqlite_repair(&report, path, NULL, NULL, NULL, NULL, &err), UAR_E_CANTOPEN);
    assert_int_equal(uar_sqlite_check(&check, path, NULL, NULL, NULL, NULL, &err), UAR_E_CANTOPEN);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(uar_sqlite_repair(&report, NULL, NULL, NULL, NULL, NULL, &err), UAR_E_INVALID);
    assert_int_equal(uar_sqlite_repair(NULL, path, NULL, NULL, NULL, NULL, &err), UAR_E_INVALID);
    assert_int_equal(uar_sqlite_check(NULL, path, NULL, NULL, NULL, NULL, &err), UAR_E_INVALID);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE other(x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(uar_sqlite_repair(&report, path, NULL, NULL, NULL, NULL, &err), UAR_E_CANTOPEN);
    assert_non_null(strstr(err.message, "another program"));
}

static void a_check_finds_a_changed_record_that_sqlite_takes_for_whole(void **state) {
    (void)state;
    make_store();
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "UPDATE record SET body=x'7b7d' WHERE id=CAST('r-0007' AS BLOB);"
                                  "DELETE FROM record WHERE id=CAST('r-0009' AS BLOB)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    findings f;
    uar_store_check check = check_it(&f);
    assert_int_equal(check.lost, 1);
    assert_int_equal(check.faults, 0);
    assert_true(is_named(&f, "r-0007"));
    uar_store_repair report = repair_it(&f);
    assert_true(report.replaced);
    assert_true(is_named(&f, "r-0007"));
    assert_int_equal(report.records, RECORDS - 2);
}

static void running_out_of_memory_anywhere_in_a_repair_leaves_the_store_as_it_was(void **state) {
    (void)state;
    const sqlite_listener nobody = { NULL, NULL, NULL };
    char hurt[160], command[400];
    make_store();
    ruin_page(page_of_kind(13, 5));
    snprintf(hurt, sizeof hurt, "%s-hurt", path);
    copy_file(path, hurt);
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", path, hurt);
    probe_alloc probe;
    probe_alloc_init(&probe);
    bool ended = false;
    for (unsigned long n = 1; !ended; n++) {
        uar_store_check check;
        uar_store_repair report;
        uar_store_check_init(&check);
        uar_store_repair_init(&report);
        unsigned long at = n < 80 ? (n + 1) / 2 : 40 + (n - 80) * 53;
        probe_alloc_arm(&probe, at, n % 2 == 0);
        uar_status status = sqlite_check_file(&check, &probe.door, path, NULL, &nobody, NULL);
        if (status == UAR_OK) status = sqlite_repair_file(&report, &probe.door, path, NULL, &nobody, NULL);
        ended = !probe_alloc_has_failed(&probe);
        assert_true(status == UAR_OK ? report.replaced : status == UAR_E_NOMEM && !ended);
        if (status != UAR_OK) assert_int_equal(system(command), 0);
        if (status == UAR_OK) assert_true(report.records + report.lost == RECORDS);
        if (status == UAR_OK) copy_file(hurt, path);
        assert_int_equal(probe.alive, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_store_that_is_whole_is_left_alone),
        TEST(test_R10_a_ruined_page_of_records_loses_those_alone_and_each_is_named),
        TEST(a_ruined_index_loses_no_record),
        TEST(many_ruined_pages_leave_what_lies_between_them),
        TEST(a_cut_file_keeps_what_is_before_the_cut),
        TEST(test_R10_whatever_byte_is_flipped_a_repair_ends_with_good_data_or_a_typed_error),
        TEST(a_repair_of_a_store_that_is_open_elsewhere_is_busy),
        TEST(a_repair_that_is_stopped_changes_nothing),
        TEST(test_R10_a_repair_of_rows_out_of_order_comes_to_an_end),
        TEST(test_R10_a_repair_of_a_cut_file_that_is_stopped_or_fails_changes_nothing),
        TEST(what_is_no_store_is_not_repaired),
        TEST(a_check_finds_a_changed_record_that_sqlite_takes_for_whole),
        TEST(running_out_of_memory_anywhere_in_a_repair_leaves_the_store_as_it_was),
    };
    return cmocka_run_group_tests_name("store: repair", tests, NULL, NULL);
}
