/* Several threads on one memory object. */
#include "test_memory_fixture.h"

#include "base/lock.h"

#define THREADS 4
#define ROUNDS 40

typedef struct worker {
    memory_fixture *f;
    int number;
    atomic_int *failed;
} worker;

static void note(worker *w, uar_status status) {
    if (status != UAR_OK) atomic_fetch_add(w->failed, 1);
}

/* Each thread is a user of its own: writes, searches, changes, deletes half of it. */
static void work(void *arg) {
    worker *w = arg;
    char user[16], text[64];
    snprintf(user, sizeof user, "user%d", w->number);
    uar_identity who = user_of(user);
    uar_memory *m = uar_memory_ref(w->f->memory);
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(text, sizeof text, "thread %d thing %d", w->number, i);
        uar_memory_draft d = draft_of(text);
        uar_memory_change change;
        note(w, uar_memory_add_sync(&change, m, &who, &d, NULL));
        uar_memory_hits *hits = NULL;
        note(w, uar_memory_search_sync(&hits, m, &who, STR("thing"), NULL, 5, NULL));
        if (hits != NULL && hits->count == 0) atomic_fetch_add(w->failed, 1);
        uar_memory_hits_free(hits);
        if (i % 2 == 0) note(w, uar_memory_delete_sync(&change, m, &who, change.id, NULL));
        if (i % 10 == 0 && uar_memory_state(m, NULL) == UAR_MEMORY_UNAVAILABLE) atomic_fetch_add(w->failed, 1);
        if (i % 20 == 0) note(w, uar_memory_reindex_sync(m, NULL));
    }
    uar_memory_free(m);
}

static void threads_share_one_memory(void **state) {
    memory_fixture *f = *state;
    thread threads[THREADS];
    worker workers[THREADS];
    atomic_int failed;
    atomic_init(&failed, 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){ f, i, &failed };
        assert_int_equal(thread_start(&threads[i], 512 * 1024, work, &workers[i]), UAR_OK);
    }
    for (int i = 0; i < THREADS; i++)
        thread_join(threads[i]);
    assert_int_equal(atomic_load(&failed), 0);
    for (int i = 0; i < THREADS; i++) {
        char user[16];
        snprintf(user, sizeof user, "user%d", i);
        assert_int_equal(count_of(f, user), ROUNDS / 2);
    }
    assert_sound(f);
}

/* One user, one text: however they race, it is one record, reinforced by all but the first. */
static void repeat(void *arg) {
    worker *w = arg;
    uar_identity who = user_of("ann");
    for (int i = 0; i < ROUNDS; i++) {
        uar_memory_draft d = draft_of("the same fact for all");
        uar_memory_change change;
        note(w, uar_memory_add_sync(&change, w->f->memory, &who, &d, NULL));
    }
}

static void test_M3_racing_repeats_make_one_record(void **state) {
    memory_fixture *f = *state;
    thread threads[THREADS];
    worker workers[THREADS];
    atomic_int failed;
    atomic_init(&failed, 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){ f, i, &failed };
        assert_int_equal(thread_start(&threads[i], 512 * 1024, repeat, &workers[i]), UAR_OK);
    }
    for (int i = 0; i < THREADS; i++)
        thread_join(threads[i]);
    assert_int_equal(atomic_load(&failed), 0);
    uar_memory_hits *hits = search_text(f, "ann", "fact", NULL);
    assert_int_equal(hits->count, 1);
    assert_int_equal(hits->hits[0].record.reinforced, THREADS * ROUNDS - 1);
    uar_memory_hits_free(hits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(threads_share_one_memory),
        MEMORY_TEST(test_M3_racing_repeats_make_one_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
