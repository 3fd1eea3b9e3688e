/* Many records in one transaction. */
#include "test_memory_fixture.h"

#include <sqlite3.h>

#define MANY 300

typedef struct refusals {
    size_t count, last;
    uar_status status;
    memory_fixture *f;
} refusals;

static void note_refusal(void *ctx, size_t index, const uar_error *err) {
    refusals *r = ctx;
    r->count++;
    r->last = index;
    r->status = err->code;
    /* No lock is held. */
    if (r->f != NULL) (void)count_of(r->f, "ann");
}

static uar_status add_batch(memory_fixture *f, uar_memory_change *changes, const uar_memory_draft *drafts, size_t count,
                            uint32_t flags, refusals *r) {
    uar_identity who = user_of("ann");
    return uar_memory_add_batch_sync(changes, f->memory, &who, drafts, count, flags, note_refusal, r, NULL);
}

static void a_batch_writes_each_draft_like_an_addition_of_its_own(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d[5] = { draft_of("I like tea"), draft_of("i LIKE tea"), draft_of("blue"), draft_of("green"),
                              draft_of("another thing") };
    for (int i = 2; i < 4; i++) {
        d[i].subject = STR("user");
        d[i].attribute = STR("colour");
        d[i].created_ms = FIXTURE_START - 100 + i;
    }
    uar_memory_change c[5];
    refusals r = { .f = f };
    assert_int_equal(add_batch(f, c, d, 5, 0, &r), UAR_OK);
    const uar_memory_outcome want[] = { UAR_MEMORY_OUTCOME_ADDED, UAR_MEMORY_OUTCOME_REINFORCED,
                                        UAR_MEMORY_OUTCOME_ADDED, UAR_MEMORY_OUTCOME_SUPERSEDED,
                                        UAR_MEMORY_OUTCOME_ADDED };
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(c[i].outcome, want[i]);
    assert_true(uar_uuid_equal(c[0].id, c[1].id));
    assert_true(uar_uuid_equal(c[3].supersedes, c[2].id));
    assert_int_equal(r.count, 0);
    assert_int_equal(count_of(f, "ann"), 3);
    assert_sound(f);
}

static void a_refused_draft_does_not_stop_the_others(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d[4] = { draft_of("one"), draft_of("   "), draft_of("three"), draft_of("four") };
    d[3].metadata = STR("[]");
    uar_memory_change c[4];
    memset(c, 0x5A, sizeof c);
    refusals r = { .f = f };
    assert_int_equal(add_batch(f, c, d, 4, 0, &r), UAR_OK);
    assert_int_equal(r.count, 2);
    assert_int_equal(r.last, 3);
    assert_int_equal(r.status, UAR_E_INVALID);
    assert_int_equal(c[1].outcome, 0);
    assert_true(uar_uuid_is_none(c[1].id));
    assert_int_equal(c[2].outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(count_of(f, "ann"), 2);
}

static void a_verbatim_batch_merges_nothing(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d[MANY];
    for (size_t i = 0; i < MANY; i++) {
        d[i] = draft_of("the same words");
        d[i].subject = STR("user");
        d[i].attribute = STR("colour");
    }
    d[0].unique_key = STR("k");
    refusals r = { 0 };
    assert_int_equal(add_batch(f, NULL, d, MANY, UAR_MEMORY_ADD_VERBATIM, &r), UAR_OK);
    assert_int_equal(count_of(f, "ann"), MANY);
    uar_memory_change c;
    assert_int_equal(add_batch(f, &c, d, 1, UAR_MEMORY_ADD_VERBATIM, &r), UAR_OK);
    assert_true(c.repeated);
    assert_int_equal(count_of(f, "ann"), MANY);
    assert_sound(f);
}

static void a_fault_of_the_store_writes_none_of_the_batch(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d[3] = { draft_of("one"), draft_of("two"), draft_of("three") };
    uar_memory_change c[3], before[3];
    memset(c, 0x5A, sizeof c);
    memcpy(before, c, sizeof c);
    refusals r = { 0 };
    /* Another process holds the writer's lock longer than this one waits. */
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &f->clock;
    options.busy_timeout_ms = 20;
    uar_memory_free(f->memory);
    f->memory = uar_memory_open(f->path, &options);
    assert_int_equal(uar_memory_state(f->memory, NULL), UAR_MEMORY_READY);
    assert_int_equal(add_batch(f, c, d, 3, 0, &r), UAR_E_BUSY);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    assert_memory_equal(c, before, sizeof c);
    assert_int_equal(r.count, 0);
    assert_int_equal(count_of(f, "ann"), 0);
}

static void give_back(void *ctx, size_t index, const uar_error *err) {
    (void)index, (void)err;
    memory_fixture *f = ctx;
    uar_memory_free(f->memory);
    f->memory = NULL;
}

static void a_host_may_give_the_memory_back_when_it_is_told_of_a_refusal(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d[2] = { draft_of("one"), draft_of(" ") };
    uar_identity who = user_of("ann");
    uar_memory_change c[2];
    assert_int_equal(uar_memory_add_batch_sync(c, f->memory, &who, d, 2, 0, give_back, f, NULL), UAR_OK);
    assert_null(f->memory);
    f->memory = fixture_open(f);
    assert_int_equal(count_of(f, "ann"), 1);
}

/* A host that was built with a longer draft of the future has them further apart. */
static void drafts_of_a_longer_struct_are_found(void **state) {
    memory_fixture *f = *state;
    struct longer {
        uar_memory_draft d;
        void *more;
    } d[2] = { { draft_of("one"), NULL }, { draft_of("two"), NULL } };
    d[0].d.size = d[1].d.size = sizeof d[0];
    refusals r = { 0 };
    assert_int_equal(add_batch(f, NULL, &d[0].d, 2, 0, &r), UAR_OK);
    assert_int_equal(count_of(f, "ann"), 2);
    d[1].d.size = 0;
    assert_int_equal(add_batch(f, NULL, &d[0].d, 2, 0, &r), UAR_E_STRUCT);
}

static void calls_that_make_no_sense_are_refused(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d = draft_of("one");
    refusals r = { 0 };
    assert_int_equal(add_batch(f, NULL, NULL, 0, 0, &r), UAR_OK);
    assert_int_equal(add_batch(f, NULL, NULL, 1, 0, &r), UAR_E_INVALID);
    assert_int_equal(add_batch(f, NULL, &d, 1, 2, &r), UAR_E_INVALID);
    assert_int_equal(add_batch(f, NULL, &d, UAR_MEMORY_BATCH_MAX + 1, 0, &r), UAR_E_TOO_LARGE);
    assert_int_equal(uar_memory_add_batch_sync(NULL, NULL, NULL, &d, 1, 0, NULL, NULL, NULL), UAR_E_DISABLED);
}

static void a_file_does_not_speak_with_a_hosts_voice(void **state) {
    memory_fixture *f = *state;
    uar_identity ann = user_of("ann");
    uar_identity boss = { UAR_IDENTITY_INIT, .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
    uar_memory_imported sum;
    const struct {
        const char *line;
        const uar_identity *who;
        uint32_t flags;
        uar_memory_trust trust;
    } cases[] = {
        { "{\"content\":\"a1\",\"user\":\"ann\",\"trust\":\"host\"}", &ann, 0, UAR_MEMORY_TRUST_IMPORT },
        { "{\"content\":\"a2\",\"user\":\"ann\",\"trust\":\"host\"}", &ann, UAR_MEMORY_IMPORT_VERBATIM,
          UAR_MEMORY_TRUST_IMPORT },
        { "{\"content\":\"a3\",\"user\":\"ann\",\"trust\":\"host\"}", &boss, 0, UAR_MEMORY_TRUST_IMPORT },
        { "{\"content\":\"a4\",\"user\":\"ann\",\"trust\":\"host\"}", &boss, UAR_MEMORY_IMPORT_VERBATIM,
          UAR_MEMORY_TRUST_HOST },
        { "{\"content\":\"a5\",\"user\":\"ann\",\"trust\":\"model\"}", &ann, 0, UAR_MEMORY_TRUST_MODEL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(uar_memory_import_sync(&sum, f->memory, cases[i].who, uar_str_of(cases[i].line),
                                                cases[i].flags, NULL, NULL, NULL),
                         UAR_OK);
        assert_int_equal(sum.added, 1);
        char name[3] = { cases[i].line[12], cases[i].line[13], '\0' };
        uar_memory_hits *hits = search_text(f, "ann", name, NULL);
        assert_int_equal(hits->count, 1);
        assert_int_equal(hits->hits[0].record.trust, cases[i].trust);
        uar_memory_hits_free(hits);
    }
}

static void note_line(void *ctx, uint64_t line, const uar_error *err) {
    (void)err;
    uint64_t *lines = ctx;
    lines[0]++;
    lines[lines[0]] = line;
}

/* More lines than one transaction takes, with bad ones on both sides of its edge. */
static void an_import_of_many_lines_names_each_bad_one(void **state) {
    memory_fixture *f = *state;
    char *lines = calloc(1, 64 * 700);
    assert_non_null(lines);
    size_t len = 0;
    for (int i = 1; i <= 700; i++) {
        bool bad = i == 1 || i == 256 || i == 257 || i == 700;
        len += (size_t)snprintf(lines + len, 64, bad ? "{\"content\":%d}\n" : "{\"content\":\"line %d\"}\n", i);
        if (i % 100 == 0) lines[len++] = '\n';
    }
    uint64_t failed[8] = { 0 };
    uar_memory_imported sum;
    uar_identity who = user_of("ann");
    assert_int_equal(uar_memory_import_sync(&sum, f->memory, &who, uar_str_n(lines, len), 0, note_line, failed, NULL),
                     UAR_OK);
    free(lines);
    assert_int_equal(sum.added, 696);
    assert_int_equal(sum.failed, 4);
    const uint64_t want[] = { 4, 1, 258, 259, 706 };
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(failed[i], want[i]);
    assert_sound(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(a_batch_writes_each_draft_like_an_addition_of_its_own),
        MEMORY_TEST(a_refused_draft_does_not_stop_the_others),
        MEMORY_TEST(a_verbatim_batch_merges_nothing),
        MEMORY_TEST(a_fault_of_the_store_writes_none_of_the_batch),
        MEMORY_TEST(a_host_may_give_the_memory_back_when_it_is_told_of_a_refusal),
        MEMORY_TEST(drafts_of_a_longer_struct_are_found),
        MEMORY_TEST(calls_that_make_no_sense_are_refused),
        MEMORY_TEST(a_file_does_not_speak_with_a_hosts_voice),
        MEMORY_TEST(an_import_of_many_lines_names_each_bad_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
