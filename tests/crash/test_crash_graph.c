/*
 * kill -9 at each write of what moves much at once in a memory: a merge of two entities that have many relations, a summary
 * with the archiving behind it, a bulk delete. Whatever is on the disk when the process dies, a step of it was done as a whole
 * or not at all, the store is sound, and the same can be done again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uar/memory_graph.h>
#include <uar/memory_stream.h>

#include "base/str.h"
#include "cases.h"
#include "die_store.h"

#define SPOKES 60
#define ENTRIES 80
#define RECORDS 40
/* Each of these acts has far fewer points than this. */
#define POINTS_MAX 5000

typedef struct store {
    die_store files;
    uar_uuid into, from, stream;
    uar_uuid records[RECORDS];
} store;

static uar_memory *open_store(const char *path) {
    return uar_memory_open(path, NULL);
}

static uar_identity ann(void) {
    return (uar_identity){ UAR_IDENTITY_INIT, .user = STR("ann") };
}

/* ---- what is there before ---- */

static uar_uuid put(uar_memory *m, const char *name) {
    uar_identity who = ann();
    uar_memory_entity_draft d = { UAR_MEMORY_ENTITY_DRAFT_INIT, .name = uar_str_of(name) };
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_put_sync(&change, m, &who, &d, NULL), UAR_OK);
    return change.id;
}

static void relate(uar_memory *m, uar_uuid from, uar_uuid to, const char *type) {
    uar_identity who = ann();
    uar_memory_relation_draft d = { UAR_MEMORY_RELATION_DRAFT_INIT, .from = from, .to = to, .type = uar_str_of(type) };
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_relate_sync(&change, m, &who, &d, NULL), UAR_OK);
}

static void observe(uar_memory *m, uar_uuid entity, const char *text) {
    uar_identity who = ann();
    uar_memory_observation_draft d = { UAR_MEMORY_OBSERVATION_DRAFT_INIT, .entity = entity, .text = uar_str_of(text) };
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_observe_sync(&change, m, &who, &d, NULL), UAR_OK);
}

/* Two hubs: each spoke is tied to the second, every third to the first as well, and the two to each other. */
static void fill_graph(store *s, uar_memory *m) {
    s->into = put(m, "hub");
    s->from = put(m, "twin");
    relate(m, s->into, s->from, "is like");
    for (int i = 0; i < SPOKES; i++) {
        char name[32];
        snprintf(name, sizeof name, "spoke %d", i);
        uar_uuid spoke = put(m, name);
        relate(m, s->from, spoke, "holds");
        if (i % 3 == 0) relate(m, s->into, spoke, "holds");
        snprintf(name, sizeof name, "turned %d times", i);
        observe(m, s->from, name);
    }
}

static void fill_records(store *s, uar_memory *m) {
    uar_identity who = ann();
    for (int i = 0; i < RECORDS; i++) {
        char text[64];
        snprintf(text, sizeof text, "note %d of the voyage", i);
        uar_str label = i % 2 == 0 ? STR("gone") : STR("kept");
        uar_memory_draft d = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of(text), .categories = &label,
                               .category_count = 1 };
        uar_memory_change change;
        assert_int_equal(uar_memory_add_batch_sync(&change, m, &who, &d, 1, UAR_MEMORY_ADD_VERBATIM, NULL, NULL, NULL),
                         UAR_OK);
        s->records[i] = change.id;
        assert_int_equal(uar_memory_graph_link_sync(&change, m, &who, s->records[i], s->from, NULL), UAR_OK);
    }
}

static void fill_stream(store *s, uar_memory *m) {
    uar_identity who = ann();
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("voyage") };
    uar_memory_streams *streams = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&streams, m, &who, &d, NULL), UAR_OK);
    s->stream = streams->streams[0].id;
    uar_memory_streams_free(streams);
    for (int i = 0; i < ENTRIES; i++) {
        char text[64];
        snprintf(text, sizeof text, "day %d: the wind came from the north again", i);
        uar_memory_stream_entry_draft e = { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .text = uar_str_of(text) };
        uar_memory_stream_appended done;
        assert_int_equal(uar_memory_stream_append_sync(&done, m, &who, s->stream, &e, 0, NULL), UAR_OK);
    }
}

static void prepare(store *s) {
    die_store_make(&s->files);
    uar_memory *m = open_store(s->files.kept);
    assert_int_equal(uar_memory_state(m, NULL), UAR_MEMORY_READY);
    fill_graph(s, m);
    fill_records(s, m);
    fill_stream(s, m);
    assert_int_equal(uar_memory_check_sync(m, NULL), UAR_OK);
    uar_memory_free(m);
}

/* ---- the acts: each says how far it is, from 0 to its last step, and does what is left ---- */

typedef struct act {
    const char *name;
    unsigned steps;
    uar_status (*go)(const store *s, uar_memory *m);
    /* Fails the test if a step is done in part. */
    unsigned (*done)(const store *s, uar_memory *m);
} act;

static uar_status go_merge(const store *s, uar_memory *m) {
    uar_identity who = ann();
    uar_memory_change change;
    return uar_memory_graph_merge_sync(&change, m, &who, s->into, s->from, NULL);
}

static unsigned done_merge(const store *s, uar_memory *m) {
    uar_identity who = ann();
    uar_memory_graph_stats stats;
    assert_int_equal(uar_memory_graph_stats_sync(&stats, m, &who, NULL), UAR_OK);
    uar_memory_graph *g = NULL;
    assert_int_equal(uar_memory_graph_get_sync(&g, m, &who, s->from, NULL), UAR_OK);
    bool merged = uar_uuid_equal(g->entities[0].id, s->into);
    uar_memory_graph_free(g);
    uint64_t doubles = (SPOKES + 2) / 3;
    assert_int_equal(stats.entities, merged ? SPOKES + 1 : SPOKES + 2);
    assert_int_equal(stats.relations, merged ? SPOKES : SPOKES + doubles + 1);
    assert_int_equal(stats.observations, SPOKES);
    assert_int_equal(stats.links, RECORDS);
    assert_int_equal(uar_memory_graph_neighbours_sync(&g, m, &who, s->into, NULL, uar_str_of(NULL), 1000, NULL),
                     UAR_OK);
    assert_int_equal(g->relation_count, merged ? SPOKES : doubles + 1);
    uar_memory_graph_free(g);
    return merged ? 1 : 0;
}

static uar_status go_summarise(const store *s, uar_memory *m) {
    uar_identity who = ann();
    uar_memory_stream_summary_draft d = { UAR_MEMORY_STREAM_SUMMARY_DRAFT_INIT, .first = 1, .last = ENTRIES - 10,
                                          .text = STR("much wind"), .unique_key = STR("of the wind") };
    uar_memory_stream_summary summary;
    uar_status status = uar_memory_stream_summarise_sync(&summary, m, &who, s->stream, &d, NULL);
    return status == UAR_OK ? uar_memory_stream_archive_sync(m, &who, s->stream, true, NULL) : status;
}

static unsigned done_summarise(const store *s, uar_memory *m) {
    uar_identity who = ann();
    uar_memory_streams *streams = NULL;
    assert_int_equal(uar_memory_stream_get_sync(&streams, m, &who, s->stream, NULL), UAR_OK);
    const uar_memory_stream *stream = &streams->streams[0];
    bool summarised = stream->summaries == 1, archived = stream->archived_ms != 0;
    assert_int_equal(stream->last, ENTRIES + (summarised ? 1 : 0));
    assert_int_equal(stream->live, summarised ? 11 : ENTRIES);
    assert_true(summarised || !archived);
    uar_memory_streams_free(streams);
    uar_memory_stream_entries *e = NULL;
    assert_int_equal(uar_memory_stream_read_sync(&e, m, &who, s->stream, 0, false, 1000, NULL), UAR_OK);
    for (size_t i = 0; i < e->count; i++) {
        bool stands_for = summarised && i < ENTRIES - 10;
        assert_int_equal(e->entries[i].summarised_by, stands_for ? ENTRIES + 1 : 0);
    }
    uar_memory_stream_entries_free(e);
    return archived ? 2 : summarised ? 1 : 0;
}

static uar_status go_delete(const store *s, uar_memory *m) {
    (void)s;
    uar_identity who = ann();
    uar_memory_filter f = { UAR_MEMORY_FILTER_INIT, .category = STR("gone") };
    uar_memory_erasure sum;
    return uar_memory_delete_where_sync(&sum, m, &who, &f, NULL);
}

static unsigned done_delete(const store *s, uar_memory *m) {
    uar_identity who = ann();
    unsigned gone = 0;
    for (int i = 0; i < RECORDS; i++) {
        uar_memory_records *found = NULL;
        uar_status status = uar_memory_get_sync(&found, m, &who, s->records[i], NULL);
        assert_true(status == UAR_OK || (status == UAR_E_NOT_FOUND && i % 2 == 0));
        gone += status != UAR_OK;
        uar_memory_records_free(found);
    }
    uar_memory_graph_stats stats;
    assert_int_equal(uar_memory_graph_stats_sync(&stats, m, &who, NULL), UAR_OK);
    /* A link goes in the transaction of its record. */
    assert_int_equal(stats.links, RECORDS - gone);
    assert_true(gone == 0 || gone == RECORDS / 2);
    return gone != 0 ? 1 : 0;
}

/* ---- dying ---- */

typedef struct dying {
    const store *s;
    const act *a;
} dying;

static bool go(void *ctx, uar_memory *m) {
    const dying *d = ctx;
    return d->a->go(d->s, m) == UAR_OK;
}

/* How many steps are done; then all are. */
static unsigned check_what_is_left(const store *s, const act *a) {
    uar_memory *m = open_store(s->files.path);
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_state(m, &err) != UAR_MEMORY_READY) fail_msg("%s", err.message);
    if (uar_memory_check_sync(m, &err) != UAR_OK) fail_msg("%s: %s", a->name, err.message);
    unsigned done = a->done(s, m);
    if (done < a->steps) assert_int_equal(a->go(s, m), UAR_OK);
    assert_int_equal(a->done(s, m), a->steps);
    if (uar_memory_check_sync(m, &err) != UAR_OK) fail_msg("%s: %s", a->name, err.message);
    uar_memory_free(m);
    return done;
}

static void die_at_each_point(const store *s, const act *a) {
    dying d = { s, a };
    unsigned kills = 0, at_step[3] = { 0 };
    /* Every second point in the quick tier, each of them whole or torn in turn. */
    bool full = getenv("UAR_TEST_FULL") != NULL;
    for (int torn = 0; torn < (full ? 2 : 1); torn++) {
        for (long at = 1;; at += full ? 1 : 2) {
            assert_true(at < POINTS_MAX);
            bool was_killed = die_store_at(&s->files, at, full ? torn != 0 : at % 4 == 3, open_store, go, &d);
            at_step[check_what_is_left(s, a)]++;
            if (!was_killed) break;
            kills++;
        }
    }
    print_message("# %s: %u kills; steps done: %u none, %u one, %u two\n", a->name, kills, at_step[0], at_step[1],
                  at_step[2]);
    assert_true(kills > 8 && at_step[0] > 1);
    for (unsigned i = 1; i <= a->steps; i++)
        assert_true(at_step[i] > 0);
}

static int setup(void **state) {
    static store s;
    prepare(&s);
    *state = &s;
    return 0;
}

static int teardown(void **state) {
    cases_remove_folder(((store *)*state)->files.folder);
    return 0;
}

static void test_M14_a_merge_of_many_relations_killed_at_any_write_is_whole_or_nothing(void **state) {
    static const act merge = { "merge", 1, go_merge, done_merge };
    die_at_each_point(*state, &merge);
}

static void test_M9_a_summary_and_an_archiving_killed_at_any_write_are_whole_or_nothing(void **state) {
    static const act summarise = { "summarise, then archive", 2, go_summarise, done_summarise };
    die_at_each_point(*state, &summarise);
}

static void test_M6_a_bulk_delete_killed_at_any_write_takes_records_and_links_or_neither(void **state) {
    static const act erase = { "bulk delete", 1, go_delete, done_delete };
    die_at_each_point(*state, &erase);
}

int main(int argc, char **argv) {
    (void)argc;
    cases_begin(argv[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_M14_a_merge_of_many_relations_killed_at_any_write_is_whole_or_nothing),
        cmocka_unit_test(test_M9_a_summary_and_an_archiving_killed_at_any_write_are_whole_or_nothing),
        cmocka_unit_test(test_M6_a_bulk_delete_killed_at_any_write_takes_records_and_links_or_neither),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
