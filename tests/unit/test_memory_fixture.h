/*
 * A memory under test: a store in a folder of its own, a clock that the test moves, and short ways to write and ask.
 */
#ifndef UAR_TESTS_UNIT_MEMORY_FIXTURE_H
#define UAR_TESTS_UNIT_MEMORY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uar/memory.h>

#include "base/clock.h"
#include "base/str.h"

#define FIXTURE_START INT64_C(1764500000000)

typedef struct memory_fixture {
    char folder[64];
    char path[256];
    atomic_llong now; /* of the store's clock */
    uar_clock clock;
    uar_memory *memory;
    int64_t live_before;
} memory_fixture;

static inline int64_t fixture_wall(void *ctx) {
    return atomic_load(&((memory_fixture *)ctx)->now);
}

static inline uint64_t fixture_mono(void *ctx) {
    return (uint64_t)atomic_load(&((memory_fixture *)ctx)->now);
}

static inline uar_memory *fixture_open(memory_fixture *f) {
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &f->clock;
    return uar_memory_open(f->path, &options);
}

static inline void fixture_folder(memory_fixture *f) {
    struct stat info;
    /* Memory is faster than a disk, where there is such a folder. */
    const char *base = stat("/dev/shm", &info) == 0 && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(f->folder, sizeof f->folder, "%s/uar-memory-XXXXXX", base);
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/memory.db", f->folder);
}

static inline int fixture_setup(void **state) {
    memory_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->live_before = uar_live_objects();
    atomic_init(&f->now, FIXTURE_START);
    f->clock = (uar_clock){ .struct_size = UAR_CLOCK_INIT, .ctx = f, .wall_ms = fixture_wall, .mono_ms = fixture_mono };
    fixture_folder(f);
    f->memory = fixture_open(f);
    assert_int_equal(uar_memory_state(f->memory, NULL), UAR_MEMORY_READY);
    *state = f;
    return 0;
}

static inline void fixture_remove(memory_fixture *f, const char *suffix) {
    char path[300];
    snprintf(path, sizeof path, "%s%s", f->path, suffix);
    (void)unlink(path);
}

static inline int fixture_teardown(void **state) {
    memory_fixture *f = *state;
    uar_memory_free(f->memory);
    fixture_remove(f, "");
    fixture_remove(f, "-wal");
    fixture_remove(f, "-shm");
    fixture_remove(f, "-journal");
    rmdir(f->folder);
    int leaked = uar_live_objects() != f->live_before;
    free(f);
    return leaked;
}

static inline void fixture_reopen(memory_fixture *f) {
    uar_memory_free(f->memory);
    f->memory = fixture_open(f);
    assert_int_equal(uar_memory_state(f->memory, NULL), UAR_MEMORY_READY);
}

static inline uar_identity user_of(const char *user) {
    return (uar_identity){ UAR_IDENTITY_INIT,    .user = uar_str_of(user), .agent = STR("helper"),
                           .session = STR("s1"), .task = STR("t1"),        .flags = UAR_IDENTITY_WRITE_SHARED };
}

static inline uar_memory_draft draft_of(const char *content) {
    uar_memory_draft d;
    uar_memory_draft_init(&d);
    d.content = uar_str_of(content);
    return d;
}

static inline uar_memory_change add_draft(memory_fixture *f, const char *user, const uar_memory_draft *d) {
    uar_identity who = user_of(user);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_add_sync(&change, f->memory, &who, d, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return change;
}

static inline uar_memory_change add_text(memory_fixture *f, const char *user, const char *content) {
    uar_memory_draft d = draft_of(content);
    return add_draft(f, user, &d);
}

static inline uar_memory_change add_fact(memory_fixture *f, const char *user, const char *attribute,
                                         const char *content) {
    uar_memory_draft d = draft_of(content);
    d.subject = STR("user");
    d.attribute = uar_str_of(attribute);
    return add_draft(f, user, &d);
}

static inline uar_memory_hits *search_text(memory_fixture *f, const char *user, const char *query,
                                           const uar_memory_filter *filter) {
    uar_identity who = user_of(user);
    uar_memory_hits *hits = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_search_sync(&hits, f->memory, &who, uar_str_of(query), filter, 10, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return hits;
}

/* True if the first hit has this text; NULL: there is no hit. */
static inline bool finds(memory_fixture *f, const char *user, const char *query, const char *content) {
    uar_memory_hits *hits = search_text(f, user, query, NULL);
    bool found = content == NULL ? hits->count == 0 : hits->count != 0 && str_is(hits->hits[0].record.content, content);
    uar_memory_hits_free(hits);
    return found;
}

static inline uar_memory_records *get_record(memory_fixture *f, const char *user, uar_uuid id) {
    uar_identity who = user_of(user);
    uar_memory_records *records = NULL;
    assert_int_equal(uar_memory_get_sync(&records, f->memory, &who, id, NULL), UAR_OK);
    assert_int_equal(records->count, 1);
    return records;
}

static inline uint64_t count_of(memory_fixture *f, const char *user) {
    uar_identity who = user_of(user);
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, f->memory, &who, NULL, NULL), UAR_OK);
    return stats.total;
}

static inline void assert_sound(memory_fixture *f) {
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_check_sync(f->memory, &err) != UAR_OK) fail_msg("%s", err.message);
}

#define MEMORY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

#endif
