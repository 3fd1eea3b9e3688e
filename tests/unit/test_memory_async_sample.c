/* The sample of docs/memory.md: two entities are written, then what joins them, then a line in the log of the task, by a thread
 * that never waits for the store. */
#include "test_memory_fixture.h"

#include <uar/memory_graph_async.h>
#include <uar/memory_stream_async.h>

#include "base/lock.h"

/* ---- the sample ---- */

typedef struct job {
    uar_memory *memory;
    uar_identity who;
    uar_uuid person;
    void (*finished)(void *app, uar_status status, uint64_t number);
    void *app;
} job;

static void logged(void *ctx, uar_status status, const uar_memory_stream_appended *appended, size_t count,
                   const uar_error *err) {
    (void)err;
    job *j = ctx;
    j->finished(j->app, status, count == 1 ? appended[0].number : 0);
}

static void opened(void *ctx, uar_status status, uar_memory_streams *streams, const uar_error *err) {
    job *j = ctx;
    uar_memory_stream_entry_draft entry = { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT,
                                            .text = uar_str_of("noted where Ada works"),
                                            .unique_key = uar_str_of("ada-works") };
    if (status == UAR_OK)
        status = uar_memory_stream_append(j->memory, &j->who, streams->streams[0].id, &entry, 0, logged, j, NULL);
    uar_memory_streams_free(streams);
    if (status != UAR_OK) logged(j, status, NULL, 0, err);
}

static void related(void *ctx, uar_status status, const uar_memory_change *change, const uar_error *err) {
    (void)change;
    job *j = ctx;
    uar_memory_stream_draft log = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of("research") };
    if (status == UAR_OK) status = uar_memory_stream_open(j->memory, &j->who, &log, opened, j, NULL);
    if (status != UAR_OK) logged(j, status, NULL, 0, err);
}

static void put_company(void *ctx, uar_status status, const uar_memory_change *company, const uar_error *err) {
    job *j = ctx;
    if (status == UAR_OK) {
        uar_memory_relation_draft works = { UAR_MEMORY_RELATION_DRAFT_INIT, .from = j->person, .to = company->id,
                                            .type = uar_str_of("works at") };
        status = uar_memory_graph_relate(j->memory, &j->who, &works, related, j, NULL);
    }
    if (status != UAR_OK) logged(j, status, NULL, 0, err);
}

static void put_person(void *ctx, uar_status status, const uar_memory_change *person, const uar_error *err) {
    job *j = ctx;
    if (status == UAR_OK) {
        j->person = person->id;
        uar_memory_entity_draft company = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of("Acme") };
        status = uar_memory_graph_put(j->memory, &j->who, &company, put_company, j, NULL);
    }
    if (status != UAR_OK) logged(j, status, NULL, 0, err);
}

static uar_status begin(job *j) {
    uar_memory_entity_draft person = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of("Ada") };
    return uar_memory_graph_put(j->memory, &j->who, &person, put_person, j, NULL);
}

/* ---- the app around it ---- */

typedef struct app {
    mutex lock;
    condition changed;
    bool over;
    uar_status status;
    uint64_t number;
} app;

static void on_finished(void *ctx, uar_status status, uint64_t number) {
    app *a = ctx;
    mutex_lock(&a->lock);
    a->over = true;
    a->status = status;
    a->number = number;
    condition_broadcast(&a->changed);
    mutex_unlock(&a->lock);
}

static void the_sample_of_the_documentation_works(void **state) {
    memory_fixture *f = *state;
    app a = { .over = false };
    assert_int_equal(mutex_init(&a.lock), UAR_OK);
    assert_int_equal(condition_init(&a.changed), UAR_OK);
    job j = { .memory = f->memory, .who = user_of("ann"), .finished = on_finished, .app = &a };
    assert_int_equal(begin(&j), UAR_OK);
    mutex_lock(&a.lock);
    for (int i = 0; i < 200 && !a.over; i++)
        (void)condition_wait(&a.changed, &a.lock, 100);
    mutex_unlock(&a.lock);
    assert_true(a.over);
    assert_int_equal(a.status, UAR_OK);
    assert_int_equal(a.number, 1);
    uar_memory_graph_stats stats;
    assert_int_equal(uar_memory_graph_stats_sync(&stats, f->memory, &j.who, NULL), UAR_OK);
    assert_int_equal(stats.relations, 1);
    /* The pool's threads are gone before the lock is. */
    uar_memory_free(f->memory);
    f->memory = NULL;
    condition_dispose(&a.changed);
    mutex_dispose(&a.lock);
}

int main(void) {
    const struct CMUnitTest tests[] = { MEMORY_TEST(the_sample_of_the_documentation_works) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
