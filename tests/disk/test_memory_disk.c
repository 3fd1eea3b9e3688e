/*
 * The file of a memory on a bad disk: the power goes at any moment, or bytes of it change. What was acknowledged is there word
 * for word, what was deleted stays away, records and index agree, or the host is told what is wrong.
 *
 * UAR_CRASH_CASE=SUITE:CASE looks at one state alone and keeps its file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <uar/uar.h>

#include "base/str.h"
#include "memory/service.h"
#include "trace.h"

enum { STEPS = 24, QUICK = 300, FULL = 4000, BATCH = 50, AT_ONCE = 2, SECONDS = 60 };

/* Two come, the first of them changes, the second goes. */
typedef struct diary {
    uar_uuid ids[STEPS];
    trace tape;
    char base[128];
    unsigned char *bytes; /* of the file, for damage */
    size_t len;
} diary;

static void path_in(char out[192], const char *folder) {
    (void)snprintf(out, 192, "%s/memory.db", folder);
}

static uar_memory *open_memory(const char *folder) {
    char path[192];
    path_in(path, folder);
    return uar_memory_open(path, NULL);
}

static uar_identity me(void) {
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("me") };
    return who;
}

static void text_of(char out[96], unsigned step) {
    static const char *const words[] = { "apples", "boats", "cellos", "dunes", "eagles", "ferns", "gates" };
    (void)snprintf(out, 96, "Number %u: I like %s, and %s on day %u.", step, words[step % 7], words[step * 3 % 7],
                   step * 17);
}

static uar_status add(diary *d, uar_memory *m, unsigned step) {
    char text[96];
    uar_identity who = me();
    uar_memory_change change;
    text_of(text, step);
    uar_memory_draft draft = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of(text) };
    uar_status status = uar_memory_add_sync(&change, m, &who, &draft, NULL);
    if (status == UAR_OK) d->ids[step] = change.id;
    return status;
}

static uar_status take_step(diary *d, uar_memory *m, unsigned step) {
    char text[96];
    uar_identity who = me();
    uar_memory_change change;
    if (step % 4 < 2) return add(d, m, step);
    if (step % 4 == 3) return uar_memory_delete_sync(&change, m, &who, d->ids[step - 2], NULL);
    text_of(text, step);
    uar_memory_patch patch = { UAR_MEMORY_PATCH_INIT, .content = uar_str_of(text) };
    return uar_memory_update_sync(&change, m, &who, d->ids[step - 2], &patch, NULL);
}

static void keep_diary(diary *d, const char *folder, const char *sync) {
    char sql[64];
    uar_memory *m = open_memory(folder);
    if (uar_memory_state(m, NULL) != UAR_MEMORY_READY) abort();
    (void)snprintf(sql, sizeof sql, "PRAGMA synchronous=%s; PRAGMA wal_autocheckpoint=20", sync);
    if (sqlite3_exec(m->database.handle, sql, NULL, NULL, NULL) != SQLITE_OK) abort();
    for (unsigned step = 0; step < STEPS; step++) {
        d->tape.begun = step + 1;
        if (take_step(d, m, step) != UAR_OK) abort();
        d->tape.acked = step + 1;
    }
    uar_memory_free(m);
}

/* ---- looking ---- */

/* The step that gave the record of `step` its text after `steps` steps; -1: it isn't there. */
static int text_step(unsigned step, unsigned steps) {
    if (step >= steps) return -1;
    if (step % 4 == 0) return step + 2 < steps ? (int)step + 2 : (int)step;
    return step + 2 < steps ? -1 : (int)step;
}

/* True if the record is as it was after `steps` steps. */
static bool is_as_after(uar_status status, uar_str content, unsigned step, unsigned steps) {
    int from = text_step(step, steps);
    char text[96];
    if (from < 0) return status == UAR_E_NOT_FOUND;
    text_of(text, (unsigned)from);
    return status == UAR_OK && str_is(content, text);
}

/* True if the host was told of damage. */
static bool look_at_record(case_result *r, uar_memory *m, const diary *d, unsigned step, unsigned acked,
                           unsigned begun) {
    uar_memory_records *found = NULL;
    uar_identity who = me();
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_get_sync(&found, m, &who, d->ids[step], &err);
    uar_str content = status == UAR_OK ? found->records[0].content : STR("");
    bool told = status != UAR_OK && status != UAR_E_NOT_FOUND;
    bool right = is_as_after(status, content, step, acked) || is_as_after(status, content, step, begun);
    if (status == UAR_OK && !right)
        case_fail(r, "record %u: '%.*s' isn't what was written", step, (int)content.len, content.ptr);
    if (status == UAR_E_NOT_FOUND && !right) r->lost++;
    if (told && err.message[0] == '\0') case_fail(r, "record %u: %s without a word", step, uar_status_name(status));
    uar_memory_records_free(found);
    return told;
}

static void look_at_memory(case_result *r, const char *folder, const diary *d, unsigned acked, unsigned begun) {
    uar_error err = UAR_ERROR_INIT;
    uar_memory *m = open_memory(folder);
    r->acked = acked;
    bool told = uar_memory_state(m, &err) != UAR_MEMORY_READY;
    if (told && err.message[0] == '\0') case_fail(r, "it doesn't open and doesn't say why");
    for (unsigned step = 0; step < STEPS && !told; step++)
        if (step % 4 < 2 && look_at_record(r, m, d, step, acked, begun)) told = true;
    if (!told) told = uar_memory_check_sync(m, &err) != UAR_OK;
    r->killed = told;
    if (told) r->lost = 0;
    uar_memory_free(m);
}

/* ---- power ---- */

static unsigned states_of(void) {
    return cases_are_full() ? FULL : QUICK;
}

static void power_case(case_result *r, crash_case *c) {
    static image m;
    const diary *d = c->arg;
    unsigned cuts = d->tape.count + 1, states = states_of(), round = c->index / cuts;
    unsigned at = states >= cuts ? c->index % cuts : (unsigned)((uint64_t)c->index * cuts / states);
    image_make(&m, &d->tape, at, states >= cuts && round < CUT_DRAWN ? round : CUT_DRAWN, &c->random);
    if (!image_write(&m, c->folder)) abort();
    look_at_memory(r, c->folder, d, m.acked, m.begun);
    if (r->killed) case_fail(r, "a power cut is told as damage");
}

static void record(diary *d, const char *sync) {
    if (!cases_make_folder(d->base)) abort();
    disk_vfs_seed(cases_seed());
    trace_begin(&d->tape, d->base);
    keep_diary(d, d->base, sync);
    trace_end(&d->tape);
}

static bool run_suite(case_sum *sum, const char *name, case_fn run, const diary *d, bool is_for_show) {
    const case_suite suite = { .name = name,
                               .run = run,
                               .arg = d,
                               .count = states_of(),
                               .at_once = AT_ONCE,
                               .batch = BATCH,
                               .seconds = SECONDS,
                               .is_for_show = is_for_show };
    bool ran = cases_run(sum, &suite, true);
    printf("# %s: %u told\n", name, sum->killed);
    return ran;
}

static void test_M14_a_power_cut_loses_no_record_and_brings_none_back(void **state) {
    (void)state;
    static diary d;
    case_sum sum;
    record(&d, "FULL");
    bool ran = run_suite(&sum, "memory_power", power_case, &d, false);
    cases_remove_folder(d.base);
    if (!ran) skip();
    assert_int_equal(sum.faults, 0);
    assert_int_equal(sum.lost, 0);
}

static void a_memory_that_is_not_synced_is_found(void **state) {
    (void)state;
    static diary d;
    case_sum sum;
    record(&d, "OFF");
    bool ran = run_suite(&sum, "memory_power_control", power_case, &d, true);
    cases_remove_folder(d.base);
    if (!ran) skip();
    assert_true(sum.faults + sum.lost > 10);
}

/* ---- damage ---- */

static void damage_case(case_result *r, crash_case *c) {
    enum { SECTOR = 512 };
    const diary *d = c->arg;
    char path[192];
    size_t at = (size_t)((uint64_t)c->index * d->len / states_of());
    at += (size_t)lots_below(&c->random, d->len / states_of() + 1);
    if (at >= d->len) at = d->len - 1;
    size_t len = d->len, kind = (size_t)lots_below(&c->random, 6);
    unsigned char *bytes = malloc(d->len);
    if (bytes == NULL) abort();
    memcpy(bytes, d->bytes, d->len);
    if (kind < 4) bytes[at] ^= (unsigned char)(1 + lots_below(&c->random, 255));
    if (kind == 4) memset(bytes + at, 0, d->len - at < SECTOR ? d->len - at : SECTOR);
    if (kind == 5) len = at > 0 ? at : 1;
    path_in(path, c->folder);
    FILE *out = fopen(path, "wb");
    if (out == NULL || fwrite(bytes, 1, len, out) != len || fclose(out) != 0) abort();
    free(bytes);
    look_at_memory(r, c->folder, d, STEPS, STEPS);
    if (r->lost > 0) case_fail(r, "%u records are gone and nobody says so (%zu, byte %zu)", r->lost, kind, at);
}

static void read_base(diary *d) {
    char path[192];
    struct stat st;
    path_in(path, d->base);
    FILE *in = fopen(path, "rb");
    if (in == NULL || fstat(fileno(in), &st) != 0) abort();
    d->len = (size_t)st.st_size;
    d->bytes = malloc(d->len);
    if (d->bytes == NULL || fread(d->bytes, 1, d->len, in) != d->len) abort();
    fclose(in);
}

static void test_R10_damage_in_a_memory_is_told_or_does_no_harm(void **state) {
    (void)state;
    static diary d;
    case_sum sum;
    record(&d, "FULL");
    read_base(&d);
    bool ran = run_suite(&sum, "memory_damage", damage_case, &d, false);
    free(d.bytes);
    cases_remove_folder(d.base);
    if (!ran) skip();
    assert_int_equal(sum.faults, 0);
    assert_int_equal(sum.lost, 0);
    if (sum.cases > 1) assert_true(sum.killed > sum.cases / 20);
}

int main(int argc, char **argv) {
    (void)argc;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_M14_a_power_cut_loses_no_record_and_brings_none_back),
        cmocka_unit_test(a_memory_that_is_not_synced_is_found),
        cmocka_unit_test(test_R10_damage_in_a_memory_is_told_or_does_no_harm),
    };
    cases_begin(argv[0]);
    disk_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
