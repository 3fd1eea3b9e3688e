/* Each call with an allocator that fails at its first, second, … allocation, once and for good. */
#include "test_memory_fixture.h"

#include "memory/recall.h"
#include "memory/shelf.h"
#include "support/probe_alloc.h"

typedef struct sweep {
    memory_fixture *f;
    probe_alloc probe;
    uar_memory *memory;
    uar_identity who;
    uar_uuid id;
    unsigned long faults;
    bool has_sources; /* of the next compression */
    bool has_expired; /* something for the next sweep */
} sweep;

static uar_memory *open_with(sweep *s) {
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &s->f->clock;
    options.allocator = &s->probe.door;
    return uar_memory_open(s->f->path, &options);
}

typedef uar_status (*sweep_call)(sweep *s);

/* Fail at every allocation of the call; then it must work. A failure is UAR_E_NOMEM and leaves nothing behind. */
static void sweep_one(sweep *s, sweep_call call) {
    for (int for_good = 0; for_good < 2; for_good++) {
        for (unsigned long at = 1;; at++) {
            shelf_trim(s->memory); /* what is kept between calls is no leak */
            long before = s->probe.alive;
            probe_alloc_arm(&s->probe, at, for_good != 0);
            uar_status status = call(s);
            bool failed = probe_alloc_has_failed(&s->probe);
            probe_alloc_arm(&s->probe, 0, false);
            shelf_trim(s->memory);
            assert_int_equal(s->probe.alive, before);
            if (!failed) {
                assert_int_equal(status, UAR_OK);
                break;
            }
            s->faults++;
            if (status != UAR_OK) assert_string_equal(uar_status_name(status), "UAR_E_NOMEM");
        }
    }
    assert_int_equal(uar_memory_check_sync(s->memory, NULL), UAR_OK);
}

static uar_status add_rich(sweep *s) {
    uar_str labels[] = { STR("a"), STR("b") };
    uar_memory_draft d = draft_of("My sister's walrus lives at POL-358, says she");
    d.categories = labels;
    d.category_count = 2;
    d.metadata = STR("{\"k\":[1,2,3]}");
    d.subject = STR("walrus");
    d.attribute = STR("home");
    uar_memory_change change;
    memset(&change, 0x5A, sizeof change);
    uar_memory_change before = change;
    uar_status status = uar_memory_add_sync(&change, s->memory, &s->who, &d, NULL);
    if (status != UAR_OK)
        assert_memory_equal(&change, &before, sizeof change);
    else
        s->id = change.id;
    return status;
}

static uar_status supersede(sweep *s) {
    char text[64];
    snprintf(text, sizeof text, "the walrus moved, number %lu", s->faults);
    uar_memory_draft d = draft_of(text);
    d.subject = STR("walrus");
    d.attribute = STR("home");
    uar_memory_change change;
    uar_status status = uar_memory_add_sync(&change, s->memory, &s->who, &d, NULL);
    if (status == UAR_OK) s->id = change.id;
    return status;
}

static uar_status merge(sweep *s) {
    char metadata[64];
    snprintf(metadata, sizeof metadata, "{\"n\":%lu}", s->faults);
    uar_memory_draft d = draft_of("merged again and again");
    d.metadata = uar_str_of(metadata);
    uar_memory_change change;
    return uar_memory_add_sync(&change, s->memory, &s->who, &d, NULL);
}

static uar_status update(sweep *s) {
    char text[64];
    snprintf(text, sizeof text, "changed words %lu", s->faults);
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = uar_str_of(text);
    p.metadata = STR("{\"m\":1}");
    uar_memory_change change;
    return uar_memory_update_sync(&change, s->memory, &s->who, s->id, &p, NULL);
}

static uar_status get(sweep *s) {
    uar_memory_records *r = NULL;
    uar_status status = uar_memory_get_sync(&r, s->memory, &s->who, s->id, NULL);
    assert_true((status == UAR_OK) == (r != NULL));
    uar_memory_records_free(r);
    return status;
}

static uar_status history(sweep *s) {
    uar_memory_records *r = NULL;
    uar_status status = uar_memory_history_sync(&r, s->memory, &s->who, s->id, NULL);
    assert_true((status == UAR_OK) == (r != NULL));
    uar_memory_records_free(r);
    return status;
}

static uar_status list(sweep *s) {
    uar_memory_records *r = NULL;
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.include_past = true;
    uar_status status = uar_memory_list_sync(&r, s->memory, &s->who, &filter, uar_str_of(NULL), 2, NULL);
    assert_true((status == UAR_OK) == (r != NULL));
    uar_memory_records_free(r);
    return status;
}

static uar_status stats(sweep *s) {
    uar_memory_stats out;
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.metadata = STR("{\"m\":1}");
    return uar_memory_stats_sync(&out, s->memory, &s->who, &filter, NULL);
}

static uar_status search(sweep *s) {
    uar_memory_query queries[2] = { { STR("where is the walrus?"), NULL, 3 }, { STR("POL-358"), NULL, 1 } };
    uar_memory_hits *hits[2] = { NULL, NULL };
    uar_status status = uar_memory_search_batch_sync(hits, s->memory, &s->who, queries, 2, NULL);
    assert_true((status == UAR_OK) == (hits[0] != NULL));
    uar_memory_hits_free(hits[0]);
    uar_memory_hits_free(hits[1]);
    return status;
}

static uar_status recall(sweep *s) {
    memory_recalled *r = NULL;
    uar_status status = memory_recall_block(&r, s->memory, &s->who, STR("walrus words"), 300, NULL);
    assert_true((status == UAR_OK) == (r != NULL));
    memory_recalled_free(r);
    return status;
}

static uar_status drop_line(void *ctx, uar_str line) {
    (void)ctx, (void)line;
    return UAR_OK;
}

static uar_status export_all(sweep *s) {
    return uar_memory_export_sync(s->memory, &s->who, NULL, drop_line, NULL, NULL);
}

static uar_status import_line(sweep *s) {
    uar_memory_imported sum;
    return uar_memory_import_sync(&sum, s->memory, &s->who,
                                  STR("{\"content\":\"imported\",\"metadata\":{\"a\":1},\"categories\":[\"c\"],"
                                      "\"created\":\"2024-05-06\",\"fact\":{\"subject\":\"s\",\"attribute\":\"b\"}}"),
                                  0, NULL, NULL, NULL);
}

static uar_status reindex(sweep *s) {
    return uar_memory_reindex_sync(s->memory, NULL);
}

static uar_status delete_one(sweep *s) {
    uar_memory_draft d = draft_of("to be deleted");
    uar_memory_change change, gone;
    uar_status status = uar_memory_add_sync(&change, s->memory, &s->who, &d, NULL);
    if (status != UAR_OK) return status;
    return uar_memory_delete_sync(&gone, s->memory, &s->who, change.id, NULL);
}

static uar_status delete_where(sweep *s) {
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.category = STR("a");
    uar_memory_erasure sum;
    return uar_memory_delete_where_sync(&sum, s->memory, &s->who, &filter, NULL);
}

/* Two good drafts and a bad one; the changes stay as they were if it fails. */
static uar_status add_batch(sweep *s) {
    char text[64];
    snprintf(text, sizeof text, "batched words %lu", s->faults);
    uar_memory_draft d[3] = { draft_of(text), draft_of(" "), draft_of("batched and expiring") };
    d[2].expires_ms = FIXTURE_START + 1000000;
    uar_memory_change changes[3], before[3];
    memset(changes, 0x5A, sizeof changes);
    memcpy(before, changes, sizeof changes);
    uar_status status = uar_memory_add_batch_sync(changes, s->memory, &s->who, d, 3, 0, NULL, NULL, NULL);
    if (status != UAR_OK) assert_memory_equal(changes, before, sizeof changes);
    return status;
}

/* Two records of this call alone become one. */
static uar_status compress(sweep *s) {
    uar_str label = STR("to compress");
    uar_memory_draft d[2] = { draft_of("The crew painted the deck of the ferry. It rained."),
                              draft_of("The crew repaired the engine of the ferry. It rained.") };
    for (int i = 0; i < 2; i++) {
        d[i].categories = &label;
        d[i].category_count = 1;
    }
    uar_status status = UAR_OK;
    if (!s->has_sources)
        status = uar_memory_add_batch_sync(NULL, s->memory, &s->who, d, 2, UAR_MEMORY_ADD_VERBATIM, NULL, NULL, NULL);
    if (status != UAR_OK) return status;
    s->has_sources = true;
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.category = label;
    uar_memory_compression done, before;
    memset(&done, 0x5A, sizeof done);
    before = done;
    status = uar_memory_compress_sync(&done, s->memory, &s->who, &filter, NULL, NULL);
    if (status != UAR_OK)
        assert_memory_equal(&done, &before, sizeof done);
    else
        s->id = done.id;
    s->has_sources = status != UAR_OK;
    return status;
}

static uar_status purge(sweep *s) {
    uar_memory_erasure sum;
    return uar_memory_purge_sync(&sum, s->memory, &s->who, s->id, NULL);
}

/* One record that has expired; what a failure leaves is swept the next time. */
static uar_status sweep_expired(sweep *s) {
    if (!s->has_expired) {
        uar_memory_draft d = draft_of("expiring soon");
        d.expires_ms = atomic_load(&s->f->now) + 1000;
        uar_memory_change change;
        uar_status status = uar_memory_add_sync(&change, s->memory, &s->who, &d, NULL);
        if (status != UAR_OK) return status;
        s->has_expired = true;
        atomic_fetch_add(&s->f->now, 2000);
    }
    uint64_t erased = 0;
    uar_status status = uar_memory_sweep_sync(&erased, s->memory, NULL);
    if (status == UAR_OK) s->has_expired = false;
    return status;
}

static uar_status expire_later_on(sweep *s) {
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.expires_ms = atomic_load(&s->f->now) + 5000000;
    uar_memory_change change;
    return uar_memory_update_sync(&change, s->memory, &s->who, s->id, &p, NULL);
}

static void every_call_survives_the_failure_of_each_allocation(void **state) {
    sweep s = { .f = *state, .who = user_of("ann") };
    probe_alloc_init(&s.probe);
    s.memory = open_with(&s);
    assert_int_equal(uar_memory_state(s.memory, NULL), UAR_MEMORY_READY);
    const sweep_call calls[] = { add_rich,  supersede, merge,  update,          get,           history,     list,
                                 stats,     search,    recall, export_all,      import_line,   reindex,     delete_one,
                                 add_batch, compress,  purge,  expire_later_on, sweep_expired, delete_where };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        sweep_one(&s, calls[i]);
    assert_true(s.faults > 200);
    uar_memory_free(s.memory);
    assert_int_equal(s.probe.alive, 0);
}

static void opening_without_memory_gives_an_unavailable_object(void **state) {
    sweep s = { .f = *state };
    for (int for_good = 0; for_good < 2; for_good++) {
        for (unsigned long at = 1;; at++) {
            probe_alloc_init(&s.probe);
            probe_alloc_arm(&s.probe, at, for_good != 0);
            uar_memory *m = open_with(&s);
            assert_non_null(m);
            uar_error err = UAR_ERROR_INIT;
            uar_memory_status stands = uar_memory_state(m, &err);
            bool failed = probe_alloc_has_failed(&s.probe);
            if (failed && stands == UAR_MEMORY_UNAVAILABLE) assert_int_equal(err.code, UAR_E_NOMEM);
            uar_memory_free(m);
            assert_int_equal(s.probe.alive, 0);
            if (!failed) {
                assert_int_equal(stands, UAR_MEMORY_READY);
                break;
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(every_call_survives_the_failure_of_each_allocation),
        MEMORY_TEST(opening_without_memory_gives_an_unavailable_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
