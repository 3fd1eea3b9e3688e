/*
 * The allocation sweep over the memory service, SQLite's own allocations among them. Each case: a copy of a store with a few
 * records, one allocation fails (once, or it and all later ones), then: success or UAR_E_NOMEM, outputs untouched, records
 * and index agree, the same call works, nothing is left over, in SQLite neither.
 */
#include "fault/memory_bench.h"
#include "fault/world.h"

static uar_uuid template_id; /* a record of the store */

/* ---- the store ---- */

static uar_memory_draft draft_of(const char *content) {
    uar_memory_draft d = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of(content) };
    return d;
}

static void fill(uar_memory *memory) {
    static const char *const texts[] = { "The walrus lives at POL-358 near the harbour", "My sister's name is Ada",
                                         "Tea is better than coffee in the morning", "The meeting is every Tuesday" };
    uar_identity who;
    as_user(&who);
    for (size_t i = 0; i < 4; i++) {
        uar_memory_draft d = draft_of(texts[i]);
        uar_memory_change change;
        d.metadata = uar_str_of("{\"n\":[1,2]}");
        if (i == 0) d.subject = uar_str_of("walrus");
        if (i == 0) d.attribute = uar_str_of("home");
        if (uar_memory_add_sync(&change, memory, &who, &d, NULL) != UAR_OK) abort();
        if (i == 0) template_id = change.id;
    }
}

static void *open_closed(fault_port *port) {
    return bench_new(port);
}

/* With an embedder. */
static void *open_closed_embedding(fault_port *port) {
    bench *b = bench_new(port);
    bench_embeds(b);
    return b;
}

/* The records of the store have no vectors yet. */
static void *open_embedding(fault_port *port) {
    bench *b = open_closed_embedding(port);
    b->memory = open_memory(b);
    return b;
}

static void *open_pumped_embedding(fault_port *port) {
    bench *b = open_closed_embedding(port);
    bench_open_pumped(b);
    return b;
}

/* ---- writing ---- */

static uar_status add(bench *b, const uar_memory_draft *d) {
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_add_sync(&change, b->memory, &b->who, d, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_add_sync");
    return status;
}

static uar_status act_add(void *arg) {
    uar_str labels[] = { { "a", 1 }, { "b", 1 } };
    uar_memory_draft d = draft_of("The new lighthouse keeper plays chess on Sundays");
    d.categories = labels;
    d.category_count = 2;
    d.metadata = uar_str_of("{\"k\":{\"deep\":[true,null]}}");
    return add(arg, &d);
}

static uar_status act_reinforce(void *arg) {
    uar_memory_draft d = draft_of("my sister's  NAME is Ada");
    d.metadata = uar_str_of("{\"more\":1}");
    return add(arg, &d);
}

static uar_status act_supersede(void *arg) {
    bench *b = arg;
    char text[64];
    (void)snprintf(text, sizeof text, "The walrus moved to house %u", b->round++);
    uar_memory_draft d = draft_of(text);
    d.subject = uar_str_of("walrus");
    d.attribute = uar_str_of("home");
    return add(b, &d);
}

static uar_status act_update(void *arg) {
    bench *b = arg;
    char text[64];
    uar_memory_change change;
    (void)snprintf(text, sizeof text, "The walrus was renamed %u times", b->round++);
    uar_memory_patch patch = { UAR_MEMORY_PATCH_INIT, .content = uar_str_of(text),
                               .metadata = uar_str_of("{\"v\":2}") };
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_update_sync(&change, b->memory, &b->who, template_id, &patch, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_update_sync");
    return status;
}

static uar_status act_delete(void *arg) {
    bench *b = arg;
    uar_memory_change change;
    OUTPUT_PREPARE(change);
    uar_status status = uar_memory_delete_sync(&change, b->memory, &b->who, template_id, NULL);
    OUTPUT_CHECK(status, change, "uar_memory_delete_sync");
    return status;
}

/* A failed deletion deleted nothing; one that worked is done. */
static uar_status delete_again(void *arg, uar_status was) {
    bench *b = arg;
    uar_memory_records *found = NULL;
    uar_status then = uar_memory_get_sync(&found, b->memory, &b->who, template_id, NULL);
    uar_memory_records_free(found);
    if (was != UAR_OK) return then == UAR_OK ? act_delete(b) : then;
    FAULT_EXPECT(then == UAR_E_NOT_FOUND, "a deleted record answers %s", uar_status_name(then));
    return UAR_OK;
}

static uar_status act_delete_where(void *arg) {
    bench *b = arg;
    uar_memory_erasure erasure;
    uar_memory_filter filter = { UAR_MEMORY_FILTER_INIT, .metadata = uar_str_of("{\"n\":[1,2]}") };
    OUTPUT_PREPARE(erasure);
    uar_status status = uar_memory_delete_where_sync(&erasure, b->memory, &b->who, &filter, NULL);
    OUTPUT_CHECK(status, erasure, "uar_memory_delete_where_sync");
    return status;
}

static uar_status act_add_batch(void *arg) {
    bench *b = arg;
    uar_memory_draft d[3] = { draft_of("A batched lighthouse"), draft_of("my sister's NAME is ada"), draft_of(" ") };
    uar_memory_change changes[3];
    d[0].expires_ms = INT64_C(4000000000000); /* the year 2096 */
    OUTPUT_PREPARE(changes);
    uar_status status = uar_memory_add_batch_sync(changes, b->memory, &b->who, d, 3, 0, NULL, NULL, NULL);
    OUTPUT_CHECK(status, changes, "uar_memory_add_batch_sync");
    if (status == UAR_OK) FAULT_EXPECT(changes[2].outcome == 0, "a blank draft was written");
    return status;
}

static uar_status act_compress(void *arg) {
    bench *b = arg;
    uar_memory_compression done;
    OUTPUT_PREPARE(done);
    uar_status status = uar_memory_compress_sync(&done, b->memory, &b->who, NULL, NULL, NULL);
    OUTPUT_CHECK(status, done, "uar_memory_compress_sync");
    if (status == UAR_OK) FAULT_EXPECT(done.archived == 3, "%d sources", (int)done.archived);
    return status;
}

/* A failed compression left its sources; one that worked left nothing to compress. */
static uar_status compress_again(void *arg, uar_status was) {
    return was != UAR_OK ? act_compress(arg) : UAR_OK;
}

static uar_status act_purge(void *arg) {
    bench *b = arg;
    uar_memory_erasure erasure;
    uar_status status = act_supersede(b); /* the walrus moves, and where it lived before can go */
    if (status != UAR_OK) return status;
    uar_memory_records *records = NULL;
    status = uar_memory_list_sync(&records, b->memory, &b->who, NULL, uar_str_of(NULL), 1, NULL);
    if (status != UAR_OK) return status;
    uar_uuid id = records->records[0].id;
    uar_memory_records_free(records);
    OUTPUT_PREPARE(erasure);
    status = uar_memory_purge_sync(&erasure, b->memory, &b->who, id, NULL);
    OUTPUT_CHECK(status, erasure, "uar_memory_purge_sync");
    if (status == UAR_OK) FAULT_EXPECT(erasure.erased + erasure.pending != 0, "nothing was purged");
    return status;
}

static uar_status act_sweep(void *arg) {
    bench *b = arg;
    uint64_t erased;
    OUTPUT_PREPARE(erased);
    uar_status status = uar_memory_sweep_sync(&erased, b->memory, NULL);
    OUTPUT_CHECK(status, erased, "uar_memory_sweep_sync");
    return status;
}

static uar_status act_clean(void *arg) {
    bench *b = arg;
    uint64_t pending;
    OUTPUT_PREPARE(pending);
    uar_status status = uar_memory_clean_sync(&pending, b->memory, NULL);
    OUTPUT_CHECK(status, pending, "uar_memory_clean_sync");
    return status;
}

static uar_status act_reindex(void *arg) {
    return uar_memory_reindex_sync(((bench *)arg)->memory, NULL);
}

/* ---- reading ---- */

static uar_status take_records(uar_status status, uar_memory_records *records, size_t least, const char *call) {
    if (status != UAR_OK && !output_is_untouched(&records, sizeof records))
        fault_note("%s failed and touched its output", call);
    if (status != UAR_OK) return status;
    FAULT_EXPECT(records->count >= least, "%s answers %zu records for a fault", call, records->count);
    uar_memory_records_free(records);
    return UAR_OK;
}

static uar_status act_get(void *arg) {
    bench *b = arg;
    uar_memory_records *out;
    OUTPUT_PREPARE(out);
    uar_status status = uar_memory_get_sync(&out, b->memory, &b->who, template_id, NULL);
    return take_records(status, out, 1, "get");
}

static uar_status act_list(void *arg) {
    bench *b = arg;
    uar_memory_records *out;
    OUTPUT_PREPARE(out);
    uar_status status = uar_memory_list_sync(&out, b->memory, &b->who, NULL, uar_str_of(NULL), 3, NULL);
    return take_records(status, out, 3, "list");
}

static uar_status act_history(void *arg) {
    bench *b = arg;
    uar_memory_records *out;
    OUTPUT_PREPARE(out);
    uar_status status = uar_memory_history_sync(&out, b->memory, &b->who, template_id, NULL);
    return take_records(status, out, 1, "history");
}

static uar_status act_stats(void *arg) {
    bench *b = arg;
    uar_memory_stats stats;
    OUTPUT_PREPARE(stats);
    uar_status status = uar_memory_stats_sync(&stats, b->memory, &b->who, NULL, NULL);
    OUTPUT_CHECK(status, stats, "uar_memory_stats_sync");
    if (status == UAR_OK) FAULT_EXPECT(stats.total == 4, "%llu records", (unsigned long long)stats.total);
    return status;
}

static uar_status act_search(void *arg) {
    bench *b = arg;
    uar_memory_hits *hits;
    size_t written = 0;
    OUTPUT_PREPARE(hits);
    uar_status status = uar_memory_search_sync(&hits, b->memory, &b->who,
                                               uar_str_of("where does the walrus live, POL-358?"), NULL, 5, NULL);
    OUTPUT_CHECK(status, hits, "uar_memory_search_sync");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(hits->count >= 1, "no hits for a fault");
    status = uar_memory_hits_json(hits, &b->port->door, drop_piece, &written);
    uar_memory_hits_free(hits);
    return status;
}

static uar_status act_search_batch(void *arg) {
    bench *b = arg;
    uar_memory_hits *hits[2];
    uar_memory_query queries[2] = { { uar_str_of("walrus"), NULL, 2 }, { uar_str_of("tea or coffee"), NULL, 2 } };
    OUTPUT_PREPARE(hits);
    uar_status status = uar_memory_search_batch_sync(hits, b->memory, &b->who, queries, 2, NULL);
    OUTPUT_CHECK(status, hits, "uar_memory_search_batch_sync");
    if (status != UAR_OK) return status;
    for (size_t i = 0; i < 2; i++) {
        FAULT_EXPECT(hits[i]->count >= 1, "no hits for a fault");
        uar_memory_hits_free(hits[i]);
    }
    return UAR_OK;
}

static uar_status act_export(void *arg) {
    bench *b = arg;
    size_t written = 0;
    uar_status status = uar_memory_export_sync(b->memory, &b->who, NULL, drop_piece, &written, NULL);
    if (status == UAR_OK) FAULT_EXPECT(written > 400, "an export of %zu bytes", written);
    return status;
}

static uar_status act_check(void *arg) {
    return uar_memory_check_sync(((bench *)arg)->memory, NULL);
}

/* ---- care ---- */

static uar_status act_suspend(void *arg) {
    bench *b = arg;
    uar_status status = uar_memory_suspend(b->memory, NULL);
    return status == UAR_OK ? uar_memory_resume(b->memory, NULL) : status;
}

/* What could not go on for want of memory goes on when there is some. */
static void inspect_resumed(void *arg, uar_status status) {
    bench *b = arg;
    uar_status resumed = uar_memory_resume(b->memory, NULL);
    FAULT_EXPECT(resumed == UAR_OK, "a later resume answers %s", uar_status_name(resumed));
    inspect_memory(arg, status);
}

static uar_status act_backup(void *arg) {
    bench *b = arg;
    char copy[160];
    (void)snprintf(copy, sizeof copy, "%s/copy.db", store_folder);
    uar_status status = uar_memory_backup_to_sync(b->memory, copy, NULL, NULL);
    bool is_there = access(copy, F_OK) == 0;
    FAULT_EXPECT((status == UAR_OK) == is_there, "a backup that answers %s left a file: %d", uar_status_name(status),
                 is_there);
    store_files_remove(copy);
    return status;
}

/* ---- import, open ---- */

static void line_failed(void *ctx, uint64_t line, const uar_error *err) {
    bench *b = ctx;
    (void)b;
    FAULT_EXPECT(err->code == UAR_E_NOMEM, "line %llu is refused with %s", (unsigned long long)line,
                 uar_status_name(err->code));
}

static uar_status import_as(bench *b, uint32_t flags) {
    static const char lines[] = "{\"content\":\"The first imported line\",\"metadata\":{\"a\":1}}\n"
                                "{\"content\":\"The second one\",\"categories\":[\"x\"]}\n";
    uar_memory_imported done;
    OUTPUT_PREPARE(done);
    uar_status status =
        uar_memory_import_sync(&done, b->memory, &b->who, uar_str_of(lines), flags, line_failed, b, NULL);
    OUTPUT_CHECK(status, done, "uar_memory_import_sync");
    if (status != UAR_OK) return status;
    FAULT_EXPECT(done.added + done.reinforced + done.failed + done.skipped == 2, "lines are not counted whole");
    return done.failed == 0 ? UAR_OK : UAR_E_NOMEM;
}

static uar_status act_import(void *arg) {
    return import_as(arg, 0);
}

static uar_status act_import_verbatim(void *arg) {
    return import_as(arg, UAR_MEMORY_IMPORT_VERBATIM);
}

static uar_status act_open(void *arg) {
    bench *b = arg;
    uar_error why = UAR_ERROR_INIT;
    uar_memory *memory = open_memory(b);
    if (memory == NULL) {
        fault_note("uar_memory_open gave NULL");
        return UAR_E_NOMEM;
    }
    uar_memory_status state = uar_memory_state(memory, &why);
    FAULT_EXPECT(state == UAR_MEMORY_READY || state == UAR_MEMORY_UNAVAILABLE || state == UAR_MEMORY_REINDEXING,
                 "state %s after opening", uar_memory_status_name(state));
    uar_memory_free(memory);
    return state == UAR_MEMORY_READY ? UAR_OK : why.code;
}

/* Each opening destroys the embedder that it took, whatever came of it. */
static uar_status act_open_embedding(void *arg) {
    bench *b = arg;
    atomic_store(&b->embedder->destroyed, 0);
    uar_status status = act_open(b);
    FAULT_EXPECT(atomic_load(&b->embedder->destroyed) == 1, "destroy of the embedder was called %d times",
                 atomic_load(&b->embedder->destroyed));
    return status;
}

static uar_status act_create(void *arg) {
    store_files_remove(store_path);
    return act_open(arg);
}

/* ---- with an embedder ---- */

static uar_status act_reembed(void *arg) {
    bench *b = arg;
    uar_memory_embedding e;
    uar_status status = uar_memory_reembed_sync(b->memory, NULL, NULL, NULL);
    if (status != UAR_OK) return status;
    uar_memory_embedding_init(&e);
    status = uar_memory_embedding_sync(&e, b->memory, NULL);
    FAULT_EXPECT(status != UAR_OK || e.unembedded == 0, "%llu records stay without a vector",
                 (unsigned long long)e.unembedded);
    return status;
}

static uar_status act_embedding(void *arg) {
    bench *b = arg;
    uar_memory_embedding e;
    OUTPUT_PREPARE(e);
    e.size = sizeof e;
    uar_memory_embedding before = e;
    uar_status status = uar_memory_embedding_sync(&e, b->memory, NULL);
    FAULT_EXPECT(status == UAR_OK || memcmp(&before, &e, sizeof e) == 0, "a failed call touched its output");
    return status;
}

static void on_hits(void *ctx, uar_status status, uar_memory_hits *hits, const uar_error *err) {
    later_told(ctx, status, hits != NULL, err);
    uar_memory_hits_free(hits);
}

static uar_status act_add_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    (void)snprintf(b->text, sizeof b->text, "Boat number%u was painted red", b->round++);
    uar_str labels[] = { { "a", 1 }, { "b", 1 } };
    uar_memory_draft d = draft_of(b->text);
    d.categories = labels;
    d.category_count = 2;
    return run_later(b, &end, uar_memory_add(b->memory, &b->who, &d, on_change, &end, NULL));
}

static uar_status act_search_later(void *arg) {
    bench *b = arg;
    later_end end = LATER_END;
    (void)snprintf(b->text, sizeof b->text, "question%u about the walrus", b->round++);
    uar_memory_filter f = { UAR_MEMORY_FILTER_INIT, .user = uar_str_of("me") };
    return run_later(b, &end, uar_memory_search(b->memory, &b->who, uar_str_of(b->text), &f, 5, on_hits, &end, NULL));
}

/* ---- in a run ---- */

typedef struct run_bench {
    world *w;
    bench *b;
} run_bench;

static void *open_run(fault_port *port) {
    run_bench *r = calloc(1, sizeof *r);
    if (r == NULL) abort();
    r->b = open_bench(port);
    r->w = world_new(port);
    r->w->memory = uar_memory_ref(r->b->memory);
    world_must_build(r->w);
    return r;
}

static void *open_embedding_run(fault_port *port) {
    run_bench *r = calloc(1, sizeof *r);
    if (r == NULL) abort();
    r->b = open_embedding(port);
    r->w = world_new(port);
    r->w->memory = uar_memory_ref(r->b->memory);
    world_must_build(r->w);
    return r;
}

static uar_status say_to_end(world *w, const char *input) {
    uar_run_id id;
    memset(&id, 0, sizeof id);
    uar_status status = world_say_in(w, "s", input, &id);
    if (!uar_uuid_is_none(id))
        FAULT_EXPECT(world_drive(w, run_has_closed, &id, 60000) || atomic_load(&w->port->fired),
                     "the run never closes");
    return status;
}

static size_t count_kind(world *w, uar_event_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < w->heard.count; i++)
        n += w->heard.items[i].what == UAR_NEXT_EVENT && w->heard.items[i].kind == kind;
    return n;
}

/* Without memory the run goes on and says so. */
static uar_status say_with(run_bench *r, const char *input, uar_event_kind kind) {
    size_t before = count_kind(r->w, kind), errors = count_kind(r->w, UAR_EVENT_ERROR);
    uar_status status = say_to_end(r->w, input);
    if (status != UAR_OK) return status;
    if (count_kind(r->w, kind) > before) return UAR_OK;
    FAULT_EXPECT(count_kind(r->w, UAR_EVENT_ERROR) > errors || atomic_load(&r->w->port->fired),
                 "%s is missing and nothing says why", uar_event_kind_name(kind));
    return UAR_E_NOMEM;
}

static uar_status act_recall(void *arg) {
    return say_with(arg, "Where does the walrus live?", UAR_EVENT_MEMORY_RECALL);
}

static uar_status act_capture(void *arg) {
    run_bench *r = arg;
    char text[80];
    (void)snprintf(text, sizeof text, "Remember that my locker number is %u.", 100 + r->b->round++);
    return say_with(r, text, UAR_EVENT_MEMORY_MUTATION);
}

static void inspect_run(void *arg, uar_status status) {
    run_bench *r = arg;
    char text[160];
    for (size_t i = 0; i < r->w->run_count; i++) {
        uar_run_id id = r->w->runs[i];
        FAULT_EXPECT(world_drive(r->w, run_has_closed, &id, 60000), "a run never closes");
        const char *fault = witness_fault(r->w->heard.items, r->w->heard.count, id, VERDICT_ENDED, text);
        FAULT_EXPECT(fault == NULL, "events: %s", fault);
    }
    inspect_memory(r->b, status);
}

static void close_run(void *arg) {
    run_bench *r = arg;
    world_free(r->w);
    close_bench(r->b);
    free(r);
}

/* ---- the list ---- */

static sweep_scenario scenarios[] = {
    { "memory_open", open_closed, act_open, NULL, NULL, close_bench, 0 },
    { "memory_create", open_closed, act_create, NULL, NULL, close_bench, 0 },
    { "memory_add", open_bench, act_add, inspect_memory, NULL, close_bench, 0 },
    { "memory_reinforce", open_bench, act_reinforce, inspect_memory, NULL, close_bench, 0 },
    { "memory_supersede", open_bench, act_supersede, inspect_memory, NULL, close_bench, 0 },
    { "memory_update", open_bench, act_update, inspect_memory, NULL, close_bench, 0 },
    { "memory_delete", open_bench, act_delete, inspect_memory, delete_again, close_bench, 0 },
    { "memory_delete_where", open_bench, act_delete_where, inspect_memory, NULL, close_bench, 0 },
    { "memory_add_batch", open_bench, act_add_batch, inspect_memory, NULL, close_bench, 0 },
    { "memory_compress", open_bench, act_compress, inspect_memory, compress_again, close_bench, 0 },
    { "memory_purge", open_bench, act_purge, inspect_memory, NULL, close_bench, 0 },
    { "memory_sweep", open_bench, act_sweep, inspect_memory, NULL, close_bench, 0 },
    { "memory_clean", open_bench, act_clean, inspect_memory, NULL, close_bench, 0 },
    { "memory_reindex", open_bench, act_reindex, inspect_memory, NULL, close_bench, 0 },
    { "memory_get", open_bench, act_get, inspect_memory, NULL, close_bench, 0 },
    { "memory_list", open_bench, act_list, inspect_memory, NULL, close_bench, 0 },
    { "memory_history", open_bench, act_history, inspect_memory, NULL, close_bench, 0 },
    { "memory_stats", open_bench, act_stats, inspect_memory, NULL, close_bench, 0 },
    { "memory_search", open_bench, act_search, inspect_memory, NULL, close_bench, 0 },
    { "memory_search_batch", open_bench, act_search_batch, inspect_memory, NULL, close_bench, 0 },
    { "memory_export", open_bench, act_export, inspect_memory, NULL, close_bench, 0 },
    { "memory_import", open_bench, act_import, inspect_memory, NULL, close_bench, 0 },
    { "memory_import_verbatim", open_bench, act_import_verbatim, inspect_memory, NULL, close_bench, 0 },
    { "memory_check", open_bench, act_check, inspect_memory, NULL, close_bench, 0 },
    { "memory_recall_in_a_run", open_run, act_recall, inspect_run, NULL, close_run, 0 },
    { "memory_capture_after_a_run", open_run, act_capture, inspect_run, NULL, close_run, 0 },
    { "embedder_open", open_closed_embedding, act_open_embedding, NULL, NULL, close_bench, 0 },
    { "embedder_add", open_embedding, act_add, inspect_memory, NULL, close_bench, 0 },
    { "embedder_search", open_embedding, act_search, inspect_memory, NULL, close_bench, 0 },
    { "embedder_reembed", open_embedding, act_reembed, inspect_memory, NULL, close_bench, 0 },
    { "embedder_embedding", open_embedding, act_embedding, inspect_memory, NULL, close_bench, 0 },
    { "embedder_recall_in_a_run", open_embedding_run, act_recall, inspect_run, NULL, close_run, 0 },
    { "embedder_capture_after_a_run", open_embedding_run, act_capture, inspect_run, NULL, close_run, 0 },
    { "memory_suspend", open_bench, act_suspend, inspect_resumed, NULL, close_bench, 60 },
    { "memory_backup", open_bench, act_backup, inspect_memory, NULL, close_bench, 60 },
    { "later_add", open_pumped_embedding, act_add_later, inspect_memory, NULL, close_bench, 0 },
    { "later_search", open_pumped_embedding, act_search_later, inspect_memory, NULL, close_bench, 0 },
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

int main(void) {
    return sweep_memory("every allocation of the memory service may fail", fill, scenarios, COUNT(scenarios));
}
