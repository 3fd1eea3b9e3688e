/* Calls of a memory that run later: each answers once, on the executor it was given, whatever happens to the memory. */
#include "test_memory_async_fixture.h"

static void on_hits(void *ctx, uar_status status, uar_memory_hits *hits, const uar_error *err) {
    heard *h = ctx;
    h->count = hits != NULL ? hits->count : 0;
    if (h->count != 0)
        (void)snprintf(h->first, sizeof h->first, "%.*s", (int)hits->hits[0].record.content.len,
                       hits->hits[0].record.content.ptr);
    uar_memory_hits_free(hits);
    hear(h, status, err);
}

static void on_answers(void *ctx, uar_status status, uar_memory_hits *const *answers, size_t count,
                       const uar_error *err) {
    heard *h = ctx;
    h->count = 0;
    for (size_t i = 0; i < count; i++) {
        h->count += answers[i]->count;
        uar_memory_hits_free(answers[i]);
    }
    h->number = count;
    hear(h, status, err);
}

static void on_erasure(void *ctx, uar_status status, const uar_memory_erasure *erasure, const uar_error *err) {
    heard *h = ctx;
    h->number = erasure != NULL ? erasure->erased + erasure->pending : 0;
    hear(h, status, err);
}

static void on_stats(void *ctx, uar_status status, const uar_memory_stats *stats, const uar_error *err) {
    heard *h = ctx;
    h->number = stats != NULL ? stats->total : 0;
    hear(h, status, err);
}

static void on_imported(void *ctx, uar_status status, const uar_memory_imported *imported, const uar_error *err) {
    heard *h = ctx;
    h->number = imported != NULL ? imported->added : 0;
    hear(h, status, err);
}

static void on_number(void *ctx, uar_status status, uint64_t number, const uar_error *err) {
    heard *h = ctx;
    h->number = number;
    hear(h, status, err);
}

static uar_status add_later(async_fixture *x, heard *h, const char *text) {
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of(text);
    return uar_memory_add(x->memory, &who, &d, on_change, h, NULL);
}

/* Receivers that may run at the same time. */
static void on_any_change(void *ctx, uar_status status, const uar_memory_change *change, const uar_error *err) {
    (void)change;
    hear(ctx, status, err);
}

static void on_any_hits(void *ctx, uar_status status, uar_memory_hits *hits, const uar_error *err) {
    uar_memory_hits_free(hits);
    hear(ctx, status, err);
}

static uar_status add_any(async_fixture *x, heard *h, const char *text) {
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of(text);
    return uar_memory_add(x->memory, &who, &d, on_any_change, h, NULL);
}

/* ---- every call ---- */

static void writes_and_reads(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    int n = 0;
    assert_int_equal(add_later(x, h, "the walrus lives near the harbour"), UAR_OK);
    await(h, ++n);
    assert_int_equal(h->status, UAR_OK);
    uar_uuid id = h->change.id;
    assert_int_equal(uar_memory_get(x->memory, &who, id, on_records, h, NULL), UAR_OK);
    await(h, ++n);
    assert_string_equal(h->first, "the walrus lives near the harbour");
    uar_memory_patch patch = { UAR_MEMORY_PATCH_INIT, .content = STR("the walrus moved to the lighthouse") };
    assert_int_equal(uar_memory_update(x->memory, &who, id, &patch, on_change, h, NULL), UAR_OK);
    await(h, ++n);
    assert_int_equal(h->change.revision, 2);
    assert_int_equal(uar_memory_history(x->memory, &who, id, on_records, h, NULL), UAR_OK);
    await(h, ++n);
    assert_int_equal(h->count, 2);
    assert_int_equal(uar_memory_list(x->memory, &who, NULL, uar_str_of(NULL), 10, on_records, h, NULL), UAR_OK);
    await(h, ++n);
    assert_int_equal(h->count, 1);
    assert_int_equal(uar_memory_search(x->memory, &who, STR("walrus lighthouse"), NULL, 5, on_hits, h, NULL), UAR_OK);
    await(h, ++n);
    assert_string_equal(h->first, "the walrus moved to the lighthouse");
    uar_memory_query queries[] = { { STR_INIT("walrus"), NULL, 5 }, { STR_INIT("lighthouse"), NULL, 5 } };
    assert_int_equal(uar_memory_search_batch(x->memory, &who, queries, 2, on_answers, h, NULL), UAR_OK);
    await(h, ++n);
    assert_int_equal(h->number, 2);
    assert_int_equal(h->count, 2);
    assert_int_equal(uar_memory_delete(x->memory, &who, id, on_change, h, NULL), UAR_OK);
    await(h, ++n);
    assert_int_equal(h->status, UAR_OK);
    assert_int_equal(uar_memory_get(x->memory, &who, id, on_records, h, NULL), UAR_OK);
    await(h, ++n);
    assert_int_equal(h->status, UAR_E_NOT_FOUND);
}

static void on_changes(void *ctx, uar_status status, const uar_memory_change *changes, size_t count,
                       const uar_error *err) {
    heard *h = ctx;
    h->number = count;
    if (count != 0) h->change = changes[0];
    hear(h, status, err);
}

static void count_refused(void *ctx, size_t index, const uar_error *err) {
    heard *h = ctx;
    assert_non_null(err);
    h->count = index;
}

static void on_compression(void *ctx, uar_status status, const uar_memory_compression *c, const uar_error *err) {
    heard *h = ctx;
    h->number = c != NULL ? c->archived : 0;
    if (c != NULL) h->change.id = c->id;
    hear(h, status, err);
}

static void a_batch_is_written_compressed_and_purged_later(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    uar_identity who = user_of("u1");
    uar_memory_draft drafts[] = {
        draft_of("The walrus eats forty herrings a day and likes them cold, as the keeper found out last winter."),
        draft_of("The keeper bought a red boat from the harbour master and paints it each spring with her brother."),
        draft_of(" "),
    };
    assert_int_equal(uar_memory_add_batch(x->memory, &who, drafts, 3, 0, count_refused, on_changes, &h, NULL), UAR_OK);
    memset(drafts, 0, sizeof drafts);
    await(&h, 1);
    assert_int_equal(h.status, UAR_OK);
    assert_int_equal(h.number, 3);
    assert_int_equal(h.count, 2);
    assert_false(uar_uuid_is_none(h.change.id));
    char text[] = "The walrus eats herrings; the keeper has a red boat.";
    uar_memory_compress_options how = { UAR_MEMORY_COMPRESS_OPTIONS_INIT, .summary = uar_str_of(text) };
    uar_memory_filter all = { UAR_MEMORY_FILTER_INIT, .scopes = 1u << UAR_MEMORY_SCOPE_USER };
    assert_int_equal(uar_memory_compress(x->memory, &who, &all, &how, on_compression, &h, NULL), UAR_OK);
    memset(text, 'x', sizeof text - 1);
    await(&h, 2);
    assert_int_equal(h.status, UAR_OK);
    assert_int_equal(h.number, 2);
    assert_int_equal(uar_memory_get(x->memory, &who, h.change.id, on_records, &h, NULL), UAR_OK);
    await(&h, 3);
    assert_string_equal(h.first, "The walrus eats herrings; the keeper has a red boat.");
    assert_int_equal(uar_memory_purge(x->memory, &who, h.change.id, on_erasure, &h, NULL), UAR_OK);
    await(&h, 4);
    assert_int_equal(h.status, UAR_OK);
    assert_int_equal(h.number, 2);
    heard_dispose(&h);
}

static void a_record_is_written_read_and_deleted_later(void **state) {
    heard h;
    heard_init(&h, *state);
    writes_and_reads(*state, &h);
    heard_dispose(&h);
}

static void a_store_is_moved_counted_and_checked_later(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    uar_identity who = user_of("u1");
    uar_str lines = STR("{\"content\":\"one\"}\n{\"content\":\"two\"}\nno line\n");
    assert_int_equal(uar_memory_import(x->memory, &who, lines, 0, count_failed, on_imported, &h, NULL), UAR_OK);
    await(&h, 1);
    assert_int_equal(h.number, 2);
    assert_int_equal(h.count, 3);
    h.count = 0;
    assert_int_equal(uar_memory_export(x->memory, &who, NULL, count_line, on_done, &h, NULL), UAR_OK);
    await(&h, 2);
    assert_int_equal(h.count, 2);
    assert_int_equal(uar_memory_count(x->memory, &who, NULL, on_stats, &h, NULL), UAR_OK);
    await(&h, 3);
    assert_int_equal(h.number, 2);
    assert_int_equal(uar_memory_reindex(x->memory, on_done, &h, NULL), UAR_OK);
    await(&h, 4);
    assert_int_equal(h.status, UAR_OK);
    assert_int_equal(uar_memory_check(x->memory, on_done, &h, NULL), UAR_OK);
    await(&h, 5);
    assert_int_equal(h.status, UAR_OK);
    uar_memory_filter all = { UAR_MEMORY_FILTER_INIT, .scopes = 1u << UAR_MEMORY_SCOPE_USER };
    assert_int_equal(uar_memory_delete_where(x->memory, &who, &all, on_erasure, &h, NULL), UAR_OK);
    await(&h, 6);
    assert_int_equal(h.number, 2);
    assert_int_equal(uar_memory_clean(x->memory, on_number, &h, NULL), UAR_OK);
    await(&h, 7);
    assert_int_equal(h.status, UAR_OK);
    assert_int_equal(h.number, 0);
    uar_memory_draft brief = draft_of("soon gone");
    brief.expires_ms = FIXTURE_START + 1000;
    assert_int_equal(uar_memory_add(x->memory, &who, &brief, on_change, &h, NULL), UAR_OK);
    await(&h, 8);
    atomic_store(&x->f.now, FIXTURE_START + 5000);
    assert_int_equal(uar_memory_sweep(x->memory, on_number, &h, NULL), UAR_OK);
    await(&h, 9);
    assert_int_equal(h.status, UAR_OK);
    assert_int_equal(h.number, 1);
    heard_dispose(&h);
}

/* ---- inputs ---- */

static void inputs_are_copied(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    char user[] = "u1", text[] = "the walrus lives here", label[] = "home", meta[] = "{\"a\":1}";
    uar_str labels[] = { uar_str_of(label) };
    uar_identity who = { UAR_IDENTITY_INIT, .user = uar_str_of(user) };
    uar_memory_draft d = draft_of(text);
    d.metadata = uar_str_of(meta);
    d.categories = labels;
    d.category_count = 1;
    assert_int_equal(uar_memory_add(x->memory, &who, &d, on_change, &h, NULL), UAR_OK);
    memset(user, 'x', 2);
    memset(text, 'x', sizeof text - 1);
    memset(label, 'x', 4);
    memset(meta, 'x', sizeof meta - 1);
    labels[0] = uar_str_of("other");
    (void)pump(x);
    assert_int_equal(h.status, UAR_OK);
    uar_identity me = user_of("u1");
    uar_memory_records *records = NULL;
    assert_int_equal(uar_memory_get_sync(&records, x->memory, &me, h.change.id, NULL), UAR_OK);
    assert_true(str_is(records->records[0].content, "the walrus lives here"));
    assert_true(str_is(records->records[0].categories[0], "home"));
    assert_true(str_is(records->records[0].metadata, "{\"a\":1}"));
    uar_memory_records_free(records);
    heard_dispose(&h);
}

static void a_wrong_argument_is_told_to_the_receiver(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    assert_int_equal(add_later(x, &h, " "), UAR_OK);
    (void)pump(x);
    assert_int_equal(h.status, UAR_E_INVALID);
    assert_string_not_equal(h.message, "");
    uar_memory_draft d = draft_of("no identity");
    assert_int_equal(uar_memory_add(x->memory, NULL, &d, on_change, &h, NULL), UAR_OK);
    (void)pump(x);
    assert_int_equal(h.calls, 2);
    assert_int_equal(h.status, UAR_E_INVALID);
    heard_dispose(&h);
}

static void too_many_labels_are_refused_not_read(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    uar_str labels[MEMORY_CATEGORIES_MAX + 1];
    for (size_t i = 0; i < MEMORY_CATEGORIES_MAX + 1; i++)
        labels[i] = STR("label");
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of("much labelled");
    d.categories = labels;
    d.category_count = SIZE_MAX;
    assert_int_equal(uar_memory_add(x->memory, &who, &d, on_change, &h, NULL), UAR_OK);
    (void)pump(x);
    assert_int_equal(h.status, UAR_E_TOO_LARGE);
    heard_dispose(&h);
}

static void a_call_that_cannot_begin_says_so_at_once(void **state) {
    async_fixture *x = *state;
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of("text");
    heard h;
    heard_init(&h, x);
    assert_int_equal(uar_memory_add(NULL, &who, &d, on_change, &h, NULL), UAR_E_DISABLED);
    assert_int_equal(uar_memory_add(x->memory, &who, &d, NULL, &h, NULL), UAR_E_INVALID);
    uar_memory *broken = uar_memory_open("", NULL);
    assert_int_equal(uar_memory_add(broken, &who, &d, on_change, &h, NULL), UAR_E_UNAVAILABLE);
    uar_memory_free(broken);
    struct {
        uar_memory_draft d;
        char more[8];
    } newer = { d, { 1 } };
    newer.d.size = sizeof newer;
    assert_int_equal(uar_memory_add(x->memory, &who, &newer.d, on_change, &h, NULL), UAR_E_STRUCT);
    assert_int_equal(pump(x), 0);
    assert_int_equal(h.calls, 0);
    heard_dispose(&h);
}

/* ---- the executor ---- */

static void nothing_runs_until_the_executor_is_pumped(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    for (int i = 0; i < 6; i++)
        assert_int_equal(add_later(x, &h, i % 2 == 0 ? "even" : "odd"), UAR_OK);
    assert_int_equal(h.calls, 0);
    assert_true(pump(x) >= 6);
    assert_int_equal(h.calls, 6);
    heard_dispose(&h);
}

static void no_thread_starts_before_the_first_call(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    int64_t before = uar_live_objects();
    assert_int_equal(add_later(x, &h, "the first"), UAR_OK);
    await(&h, 1);
    assert_true(uar_live_objects() > before);
    heard_dispose(&h);
}

/* ---- inside a receiver ---- */

static void test_N1_a_sync_call_in_a_receiver_is_refused(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    h.asks_inside = true;
    assert_int_equal(add_later(x, &h, "a text"), UAR_OK);
    await(&h, 1);
    assert_int_equal(h.status, UAR_OK);
    assert_int_equal(h.inside, UAR_E_WOULD_DEADLOCK);
    heard_dispose(&h);
}

static void on_chain(void *ctx, uar_status status, const uar_memory_change *change, const uar_error *err) {
    heard *h = ctx;
    if (change != NULL && h->number++ < 4) {
        char text[32];
        (void)snprintf(text, sizeof text, "link %llu", (unsigned long long)h->number);
        uar_identity who = user_of("u1");
        uar_memory_draft d = draft_of(text);
        uar_status begun = uar_memory_add(h->x->memory, &who, &d, on_chain, h, NULL);
        mutex_lock(&h->lock); /* the next link may run by now */
        if (begun != UAR_OK) h->inside = begun;
        mutex_unlock(&h->lock);
    }
    hear(h, status, err);
}

static void test_N1_a_call_may_be_begun_in_a_receiver(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    h.inside = UAR_OK;
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of("link 0");
    assert_int_equal(uar_memory_add(x->memory, &who, &d, on_chain, &h, NULL), UAR_OK);
    await(&h, 5);
    mutex_lock(&h.lock);
    assert_int_equal(h.inside, UAR_OK);
    mutex_unlock(&h.lock);
    assert_int_equal(h.status, UAR_OK);
    heard_dispose(&h);
}

static void test_N1_the_memory_may_be_freed_in_a_receiver(void **state) {
    async_fixture *x = *state;
    heard h, other;
    heard_init(&h, x);
    heard_init(&other, x);
    h.frees_inside = true;
    assert_int_equal(add_later(x, &h, "a text"), UAR_OK);
    await(&h, 1);
    assert_int_equal(h.status, UAR_OK);
    assert_null(x->memory);
    heard_dispose(&h);
    heard_dispose(&other);
}

static void post_and_call(void *ctx, uar_task *slot, bool may_block) {
    async_fixture *x = ctx;
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of("from the executor");
    heard none;
    memset(&none, 0, sizeof none);
    if (x->memory != NULL)
        assert_int_equal(uar_memory_add(x->memory, &who, &d, on_change, &none, NULL), UAR_E_REENTRANT);
    x->manual.post(x->manual.ctx, slot, may_block);
}

static void test_N1_a_call_inside_the_executor_is_refused(void **state) {
    (void)state;
    async_fixture *x = fixture_new(true, NULL, true);
    heard h;
    heard_init(&h, x);
    uar_memory_options options;
    uar_memory_options_init(&options);
    uar_executor door = { UAR_EXECUTOR_INIT, .ctx = x, .post = post_and_call, .wake_at = wake_manual };
    options.executor = &door;
    uar_memory *first = x->memory;
    x->memory = uar_memory_open(x->f.path, &options);
    assert_int_equal(add_later(x, &h, "a text"), UAR_OK);
    (void)pump(x);
    assert_int_equal(h.status, UAR_OK);
    uar_memory_free(x->memory);
    (void)pump(x);
    x->memory = first;
    heard_dispose(&h);
    assert_int_equal(fixture_free(x), 0);
}

/* ---- freeing ---- */

static void test_X3_freeing_cancels_what_has_not_begun_and_then_is_silent(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    for (int i = 0; i < 7; i++)
        assert_int_equal(add_later(x, &h, "never written"), UAR_OK);
    uar_memory_free(x->memory);
    x->memory = NULL;
    assert_int_equal(h.calls, 7);
    assert_int_equal(h.status, UAR_E_CANCELLED);
    (void)pump(x);
    assert_int_equal(h.calls, 7);
    assert_true(x->executor_destroyed);
    heard_dispose(&h);
}

static void on_cancelled(void *ctx, uar_status status, const uar_memory_change *change, const uar_error *err) {
    heard *h = ctx;
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of("too late");
    if (change == NULL) h->inside = uar_memory_add(h->x->memory, &who, &d, on_change, h, NULL);
    hear(h, status, err);
}

static void a_call_begun_while_the_memory_is_freed_is_refused(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of("never written");
    assert_int_equal(uar_memory_add(x->memory, &who, &d, on_cancelled, &h, NULL), UAR_OK);
    uar_memory_free(x->memory);
    x->memory = NULL;
    assert_int_equal(h.inside, UAR_E_CLOSED);
    assert_int_equal(h.calls, 1);
    heard_dispose(&h);
}

static void test_X3_no_receiver_is_called_after_freeing_a_busy_memory(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        async_fixture *x = fixture_new(false, NULL, true);
        heard h;
        heard_init(&h, x);
        char text[32];
        for (int i = 0; i < 40; i++) {
            (void)snprintf(text, sizeof text, "text %d", i);
            assert_int_equal(add_any(x, &h, text), UAR_OK);
        }
        if (round % 2 == 1) (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 * round }, NULL);
        uar_memory_free(x->memory);
        x->memory = NULL;
        assert_int_equal(heard_calls(&h), 40);
        assert_int_equal(uar_live_objects(), x->f.live_before);
        heard_dispose(&h);
        assert_int_equal(fixture_free(x), 0);
    }
}

static void test_X1_freeing_ends_a_wait_for_the_embedder(void **state) {
    async_fixture *x = *state;
    uar_str text = STR("slow");
    x->e.way = EMBEDDER_NEVER;
    heard h;
    heard_init(&h, x);
    uar_identity who = user_of("u1");
    assert_int_equal(uar_memory_search(x->memory, &who, text, NULL, 5, on_any_hits, &h, NULL), UAR_OK);
    assert_int_equal(add_any(x, &h, "a slow passage"), UAR_OK);
    for (int i = 0; i < 1000 && embedder_kept(&x->e) < 2; i++)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    assert_int_equal(embedder_kept(&x->e), 2);
    uint64_t begin = clock_mono(&clock_default);
    uar_memory_free(x->memory);
    x->memory = NULL;
    assert_true(clock_mono(&clock_default) - begin < 10000);
    assert_int_equal(heard_calls(&h), 2);
    assert_int_equal(embedder_answer(&x->e), UAR_E_STALE);
    heard_dispose(&h);
}

/* ---- many at once ---- */

static void many_calls_run_at_once(void **state) {
    async_fixture *x = *state;
    heard h;
    heard_init(&h, x);
    x->e.way = EMBEDDER_ANSWERS;
    uar_identity who = user_of("u1");
    char text[32];
    for (int i = 0; i < 60; i++) {
        (void)snprintf(text, sizeof text, "walrus number %d", i);
        assert_int_equal(add_any(x, &h, text), UAR_OK);
        assert_int_equal(uar_memory_search(x->memory, &who, STR("walrus"), NULL, 5, on_any_hits, &h, NULL), UAR_OK);
    }
    await(&h, 120);
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, x->memory, &who, NULL, NULL), UAR_OK);
    assert_int_equal(stats.total, 60);
    heard_dispose(&h);
}

/* ---- allocations ---- */

static uar_status begin_add(async_fixture *x, heard *h) {
    uar_str labels[] = { STR_INIT("a"), STR_INIT("b") };
    uar_identity who = user_of("u1");
    uar_memory_draft d = draft_of("a text with labels");
    d.categories = labels;
    d.category_count = 2;
    d.metadata = STR("{}");
    return uar_memory_add(x->memory, &who, &d, on_change, h, NULL);
}

static uar_status begin_search(async_fixture *x, heard *h) {
    uar_identity who = user_of("u1");
    uar_memory_filter f = { UAR_MEMORY_FILTER_INIT, .category = STR("a") };
    uar_memory_query queries[] = { { STR_INIT("text"), &f, 5 }, { STR_INIT("labels"), NULL, 5 } };
    return uar_memory_search_batch(x->memory, &who, queries, 2, on_answers, h, NULL);
}

static void every_allocation_of_a_call_may_fail(void **state) {
    (void)state;
    const begin_fn calls[] = { begin_add, begin_search };
    sweep_all(calls, 2, NULL, false, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_POOL(a_record_is_written_read_and_deleted_later),
        ON_POOL(a_batch_is_written_compressed_and_purged_later),
        ON_POOL(a_store_is_moved_counted_and_checked_later),
        PUMPED(inputs_are_copied),
        PUMPED(a_wrong_argument_is_told_to_the_receiver),
        PUMPED(too_many_labels_are_refused_not_read),
        PUMPED(a_call_that_cannot_begin_says_so_at_once),
        PUMPED(nothing_runs_until_the_executor_is_pumped),
        ON_POOL(no_thread_starts_before_the_first_call),
        ON_POOL(test_N1_a_sync_call_in_a_receiver_is_refused),
        ON_POOL(test_N1_a_call_may_be_begun_in_a_receiver),
        ON_POOL(test_N1_the_memory_may_be_freed_in_a_receiver),
        cmocka_unit_test(test_N1_a_call_inside_the_executor_is_refused),
        PUMPED(test_X3_freeing_cancels_what_has_not_begun_and_then_is_silent),
        PUMPED(a_call_begun_while_the_memory_is_freed_is_refused),
        cmocka_unit_test(test_X3_no_receiver_is_called_after_freeing_a_busy_memory),
        ON_POOL(test_X1_freeing_ends_a_wait_for_the_embedder),
        ON_POOL(many_calls_run_at_once),
        cmocka_unit_test(every_allocation_of_a_call_may_fail),
    };
    return cmocka_run_group_tests_name("calls of a memory that run later", tests, NULL, NULL);
}
