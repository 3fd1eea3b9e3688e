/* A filter that picks few of many: what it picks is found, however well all else matches the question. */
#include "test_memory_fixture.h"

#include "base/clock.h"

#define BATCH 1000

/* A hundred thousand in the full tier. */
static size_t many(void) {
    return getenv("UAR_TEST_FULL") != NULL ? 100000 : 20000;
}

typedef struct crowd {
    char text[BATCH][96], meta[BATCH][48];
    uar_memory_draft drafts[BATCH];
    uar_str label[BATCH];
} crowd;

/* Records that all match the question better than the one that is looked for, each with a label and metadata. */
static void add_crowd(memory_fixture *f, size_t count) {
    static crowd c;
    static const char *const labels[] = { "work", "home", "travel", "food", "health", "money", "music", "sport" };
    uar_identity who = user_of("ann");
    for (size_t at = 0; at < count; at += BATCH) {
        for (size_t i = 0; i < BATCH; i++) {
            snprintf(c.text[i], sizeof c.text[i], "walrus lighthouse number %zu", at + i);
            snprintf(c.meta[i], sizeof c.meta[i], "{\"colour\":\"grey\",\"n\":%zu}", at + i);
            c.label[i] = uar_str_of(labels[i % 8]);
            c.drafts[i] = draft_of(c.text[i]);
            c.drafts[i].metadata = uar_str_of(c.meta[i]);
            c.drafts[i].categories = &c.label[i];
            c.drafts[i].category_count = 1;
        }
        uar_error err = UAR_ERROR_INIT;
        uar_status status = uar_memory_add_batch_sync(NULL, f->memory, &who, c.drafts, BATCH, UAR_MEMORY_ADD_VERBATIM,
                                                      NULL, NULL, &err);
        if (status != UAR_OK) fail_msg("%s", err.message);
    }
}

static void add_rare(memory_fixture *f, const char *text) {
    static const uar_str label = STR_INIT("rare");
    uar_identity who = user_of("ann");
    uar_memory_draft d = draft_of(text);
    d.categories = &label;
    d.category_count = 1;
    d.metadata = STR("{\"colour\":\"pink\"}");
    uar_memory_change change;
    assert_int_equal(
        uar_memory_add_batch_sync(&change, f->memory, &who, &d, 1, UAR_MEMORY_ADD_VERBATIM, NULL, NULL, NULL), UAR_OK);
}

/* Ask, and say how long it took. */
static uar_memory_hits *ask(memory_fixture *f, const uar_memory_filter *filter, const char *what) {
    uar_identity who = user_of("ann");
    uar_memory_hits *hits = NULL;
    uint64_t before = clock_mono(&clock_default);
    assert_int_equal(uar_memory_search_sync(&hits, f->memory, &who, STR("walrus lighthouse"), filter, 10, NULL),
                     UAR_OK);
    uint64_t took = clock_mono(&clock_default) - before;
    print_message("# %s: %zu hits in %llu ms\n", what, hits->count, (unsigned long long)took);
    /* Each record is looked at once at most. */
    assert_true(took < 20000);
    return hits;
}

static void assert_rare(const uar_memory_hits *hits, size_t count) {
    assert_int_equal(hits->count, count);
    for (size_t i = 0; i < count; i++)
        assert_true(str_is(hits->hits[i].record.metadata, "{\"colour\":\"pink\"}"));
}

static void a_search_in_a_crowd_finds_the_one_record_with_the_label(void **state) {
    memory_fixture *f = *state;
    add_crowd(f, many() / 2);
    add_rare(f, "somewhere in a long tale of the sea there may once have been a walrus");
    add_crowd(f, many() / 2);
    uar_memory_filter by_label = { UAR_MEMORY_FILTER_INIT, .category = STR("rare") };
    uar_memory_hits *hits = ask(f, &by_label, "by label");
    assert_rare(hits, 1);
    uar_memory_hits_free(hits);
    uar_memory_filter by_metadata = { UAR_MEMORY_FILTER_INIT, .metadata = STR("{\"colour\":\"pink\"}") };
    hits = ask(f, &by_metadata, "by metadata");
    assert_rare(hits, 1);
    uar_memory_hits_free(hits);
    /* With the words of another label nothing is found in its place. */
    by_metadata.category = STR("home");
    hits = ask(f, &by_metadata, "by metadata and another label");
    assert_rare(hits, 0);
    uar_memory_hits_free(hits);
    for (int i = 0; i < 12; i++) {
        char text[64];
        snprintf(text, sizeof text, "a long tale of the sea, a walrus and a lighthouse, part %d", i);
        add_rare(f, text);
    }
    hits = ask(f, &by_label, "thirteen by label");
    assert_rare(hits, 10);
    uar_memory_hits_free(hits);
}

int main(void) {
    const struct CMUnitTest tests[] = { MEMORY_TEST(a_search_in_a_crowd_finds_the_one_record_with_the_label) };
    return cmocka_run_group_tests_name("searches with filters that pick few of many", tests, NULL, NULL);
}
