/* Each call of the task streams with an allocator that fails at its first, second, … allocation, once and for good. */
#include "test_memory_stream_fixture.h"

#include "support/probe_alloc.h"

typedef struct sweep {
    memory_fixture *f;
    probe_alloc probe;
    uar_memory *memory;
    uar_identity who;
    uar_uuid id;
    unsigned long faults, serial;
} sweep;

typedef uar_status (*sweep_call)(sweep *s);

/* Fail at every allocation of the call; then it must work. A failure is UAR_E_NOMEM and leaves nothing behind. */
static void sweep_one(sweep *s, sweep_call call) {
    for (int for_good = 0; for_good < 2; for_good++) {
        for (unsigned long at = 1;; at++) {
            long before = s->probe.alive;
            probe_alloc_arm(&s->probe, at, for_good != 0);
            uar_status status = call(s);
            bool failed = probe_alloc_has_failed(&s->probe);
            probe_alloc_arm(&s->probe, 0, false);
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

static uar_status open_new(sweep *s) {
    char name[32];
    snprintf(name, sizeof name, "stream %lu", ++s->serial);
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of(name),
                                  .metadata = STR("{\"k\":[1,2,3]}") };
    uar_memory_streams *streams = NULL;
    uar_status status = uar_memory_stream_open_sync(&streams, s->memory, &s->who, &d, NULL);
    assert_true((status == UAR_OK) == (streams != NULL));
    if (status == UAR_OK) s->id = streams->streams[0].id;
    uar_memory_streams_free(streams);
    return status;
}

static uar_status get(sweep *s) {
    uar_memory_streams *streams = NULL;
    uar_status status = uar_memory_stream_get_sync(&streams, s->memory, &s->who, s->id, NULL);
    assert_true((status == UAR_OK) == (streams != NULL));
    uar_memory_streams_free(streams);
    return status;
}

static uar_status append(sweep *s) {
    char keys[3][32];
    uar_memory_stream_entry_draft d[3];
    for (int i = 0; i < 3; i++) {
        d[i] = entry_of("The walrus lives at POL-358. It is said to like herring. Nobody has asked it.");
        d[i].metadata = STR("{\"k\":{\"l\":null}}");
        snprintf(keys[i], sizeof keys[i], "key %lu", ++s->serial);
        d[i].unique_key = uar_str_of(keys[i]);
    }
    uar_memory_stream_appended done[3], before[3];
    memset(done, 0x5A, sizeof done);
    memcpy(before, done, sizeof done);
    uar_status status = uar_memory_stream_append_batch_sync(done, s->memory, &s->who, s->id, d, 3, 0, NULL);
    if (status != UAR_OK) assert_memory_equal(done, before, sizeof done);
    return status;
}

static uar_status append_repeat(sweep *s) {
    uar_memory_stream_entry_draft d = entry_of("the same again");
    d.unique_key = STR("the same key");
    uar_memory_stream_appended done;
    return uar_memory_stream_append_sync(&done, s->memory, &s->who, s->id, &d, 0, NULL);
}

static uar_status read_page(sweep *s) {
    uar_memory_stream_entries *e = NULL;
    uar_status status = uar_memory_stream_read_sync(&e, s->memory, &s->who, s->id, 0, true, 20, NULL);
    assert_true((status == UAR_OK) == (e != NULL));
    uar_memory_stream_entries_free(e);
    return status;
}

static uar_status window(sweep *s) {
    uar_memory_stream_window *w = NULL;
    uar_status status = uar_memory_stream_window_sync(&w, s->memory, &s->who, s->id, 50, 0, NULL);
    assert_true((status == UAR_OK) == (w != NULL));
    uar_memory_stream_window_free(w);
    return status;
}

/* Three new entries of a new stream each time: the call must need as much memory at each try. */
static uar_status summarise(sweep *s, uar_str text) {
    unsigned long fail_at = s->probe.fail_at;
    bool for_good = s->probe.for_good;
    probe_alloc_arm(&s->probe, 0, false);
    assert_int_equal(open_new(s), UAR_OK);
    assert_int_equal(append(s), UAR_OK);
    probe_alloc_arm(&s->probe, fail_at, for_good);
    uar_memory_stream_summary_draft d;
    uar_memory_stream_summary_draft_init(&d);
    d.text = text;
    d.metadata = STR("{\"by\":\"sweep\"}");
    uar_memory_stream_summary done;
    memset(&done, 0x5A, sizeof done);
    uar_memory_stream_summary before = done;
    uar_status status = uar_memory_stream_summarise_sync(&done, s->memory, &s->who, s->id, &d, NULL);
    if (status != UAR_OK) assert_memory_equal(&done, &before, sizeof done);
    return status;
}

static uar_status summarise_given(sweep *s) {
    return summarise(s, STR("All about the walrus."));
}

static uar_status summarise_by_rule(sweep *s) {
    return summarise(s, uar_str_of(NULL));
}

static uar_status archive(sweep *s) {
    uar_status status = uar_memory_stream_archive_sync(s->memory, &s->who, s->id, true, NULL);
    return status == UAR_OK ? uar_memory_stream_archive_sync(s->memory, &s->who, s->id, false, NULL) : status;
}

static uar_status list(sweep *s) {
    uar_memory_streams *streams = NULL;
    uar_status status = uar_memory_stream_list_sync(&streams, s->memory, &s->who, NULL, uar_str_of(NULL), 2, NULL);
    assert_true((status == UAR_OK) == (streams != NULL));
    uar_memory_streams_free(streams);
    return status;
}

static uar_status stats(sweep *s) {
    uar_memory_stream_stats out;
    return uar_memory_stream_stats_sync(&out, s->memory, &s->who, NULL, NULL);
}

static uar_status drop_line(void *ctx, uar_str line) {
    (void)ctx, (void)line;
    return UAR_OK;
}

static uar_status export_one(sweep *s) {
    uar_memory_stream_filter f = { UAR_MEMORY_STREAM_FILTER_INIT, .id = s->id };
    return uar_memory_stream_export_sync(s->memory, &s->who, &f, drop_line, NULL, NULL);
}

static uar_status import(sweep *s) {
    char lines[1024];
    snprintf(
        lines, sizeof lines,
        "{\"kind\":\"stream\",\"name\":\"imported %lu\",\"metadata\":{\"a\":1},\"archived\":\"2025-01-01\"}\n"
        "{\"kind\":\"entry\",\"number\":1,\"text\":\"the first imported text\",\"key\":\"k\",\"metadata\":{\"b\":2}}\n"
        "{\"kind\":\"entry\",\"number\":2,\"text\":\"short\",\"summary\":{\"first\":1,\"last\":1},"
        "\"provenance\":{\"session\":\"s\"}}\n",
        ++s->serial);
    uar_memory_stream_imported sum;
    memset(&sum, 0x5A, sizeof sum);
    uar_memory_stream_imported before = sum;
    uar_status status = uar_memory_stream_import_sync(&sum, s->memory, &s->who, uar_str_of(lines), NULL, NULL, NULL);
    if (status != UAR_OK) assert_memory_equal(&sum, &before, sizeof sum);
    if (status == UAR_OK) assert_true(sum.streams == 1 && sum.entries == 2 && sum.failed == 0);
    return status;
}

static uar_status delete_one(sweep *s) {
    unsigned long fail_at = s->probe.fail_at;
    bool for_good = s->probe.for_good;
    probe_alloc_arm(&s->probe, 0, false);
    assert_int_equal(open_new(s), UAR_OK);
    assert_int_equal(append(s), UAR_OK);
    probe_alloc_arm(&s->probe, fail_at, for_good);
    uar_memory_outcome outcome;
    return uar_memory_stream_delete_sync(&outcome, s->memory, &s->who, s->id, NULL);
}

static void every_call_of_the_streams_survives_the_failure_of_each_allocation(void **state) {
    sweep s = { .f = *state, .who = user_of("ann") };
    probe_alloc_init(&s.probe);
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &s.f->clock;
    options.allocator = &s.probe.door;
    s.memory = uar_memory_open(s.f->path, &options);
    assert_int_equal(uar_memory_state(s.memory, NULL), UAR_MEMORY_READY);
    const sweep_call calls[] = { open_new,          get,     append, append_repeat, read_page,  window, summarise_given,
                                 summarise_by_rule, archive, list,   stats,         export_one, import, delete_one };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        sweep_one(&s, calls[i]);
    assert_true(s.faults > 150);
    uar_memory_free(s.memory);
    assert_int_equal(s.probe.alive, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(every_call_of_the_streams_survives_the_failure_of_each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
