/*
 * M1 at the doors of the task streams: random identities knock on random doors of a store whose streams a plain model knows
 * as well; the model decides by the rule, stream by stream.
 */
#include "test_memory_visibility_fixture.h"

#include "test_memory_stream_fixture.h"

#define STREAMS 64
/* A stream that has grown so long is deleted and made anew. */
#define ENTRIES_MOST 24

typedef struct model_stream {
    uar_uuid id;
    char name[32];
    char text[64]; /* of its first entry */
    model_place place;
    uint64_t last;
    bool archived;
} model_stream;

struct world {
    memory_fixture *f;
    visitor v;
    model_stream streams[STREAMS];
};

static model_stream *some_stream(world *w) {
    return &w->streams[dice(&w->v, STREAMS)];
}

static bool sees(const world *w, const model_stream *s) {
    return sees_place(&w->v, &s->place);
}

static uar_status change_status(const world *w, const model_stream *s) {
    return write_status(&w->v, sees(w, s), s->place.scope);
}

static uar_status grow_status(const world *w, const model_stream *s) {
    uar_status status = change_status(w, s);
    return status == UAR_OK && s->archived ? UAR_E_CLOSED : status;
}

/* Put a new stream into a slot of the model. */
static void renew(world *w, model_stream *s) {
    uar_identity who;
    *s = (model_stream){ .place = draw_place(&who, &w->v, pick(&w->v, "acme", "zeta", false)), .last = 1 };
    draw_text(s->name, &w->v, "stream");
    snprintf(s->text, sizeof s->text, "the first words of %s", s->name);
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of(s->name), .scope = s->place.scope };
    uar_memory_streams *made = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&made, w->f->memory, &who, &d, NULL), UAR_OK);
    assert_true(made->streams[0].created);
    s->id = made->streams[0].id;
    uar_memory_streams_free(made);
    uar_memory_stream_entry_draft e = entry_of(s->text);
    uar_memory_stream_appended done;
    assert_int_equal(uar_memory_stream_append_sync(&done, w->f->memory, &who, s->id, &e, 1, NULL), UAR_OK);
}

static void drop(world *w, model_stream *s) {
    uar_identity boss = boss_of(s->place.owner);
    uar_memory_outcome outcome;
    assert_int_equal(uar_memory_stream_delete_sync(&outcome, w->f->memory, &boss, s->id, NULL), UAR_OK);
    renew(w, s);
}

static void grew(world *w, model_stream *s) {
    if (++s->last > ENTRIES_MOST) drop(w, s);
}

static model_stream *find(world *w, uar_uuid id) {
    for (size_t i = 0; i < STREAMS; i++)
        if (uar_uuid_equal(w->streams[i].id, id)) return &w->streams[i];
    return NULL;
}

static size_t count_visible(world *w) {
    size_t count = 0;
    for (size_t i = 0; i < STREAMS; i++)
        count += sees(w, &w->streams[i]);
    return count;
}

static void knock_get(world *w) {
    model_stream *s = some_stream(w);
    uar_memory_streams *got = NULL;
    uar_status status = uar_memory_stream_get_sync(&got, w->f->memory, &w->v.who, s->id, NULL);
    assert_int_equal(status, sees(w, s) ? UAR_OK : UAR_E_NOT_FOUND);
    if (status == UAR_OK) {
        assert_true(str_is(got->streams[0].name, s->name));
        assert_int_equal(got->streams[0].last, s->last);
        assert_int_equal(got->streams[0].archived_ms != 0, s->archived);
    }
    uar_memory_streams_free(got);
}

static void read_all(world *w, const model_stream *s) {
    uar_memory_stream_entries *e = NULL;
    uar_status status = uar_memory_stream_read_sync(&e, w->f->memory, &w->v.who, s->id, 0, false, 100, NULL);
    assert_int_equal(status, sees(w, s) ? UAR_OK : UAR_E_NOT_FOUND);
    if (status == UAR_OK) {
        assert_int_equal(e->count, s->last);
        assert_true(str_is(e->entries[0].text, s->text));
    }
    uar_memory_stream_entries_free(e);
}

static void knock_read(world *w) {
    read_all(w, some_stream(w));
}

static void knock_window(world *w) {
    model_stream *s = some_stream(w);
    uar_memory_stream_window *got = NULL;
    uar_status status = uar_memory_stream_window_sync(&got, w->f->memory, &w->v.who, s->id, 10000, 0, NULL);
    assert_int_equal(status, !sees(w, s) ? UAR_E_NOT_FOUND : s->archived ? UAR_E_CLOSED : UAR_OK);
    if (status == UAR_OK) assert_true(got->count >= 1 && got->gap_count == 0);
    uar_memory_stream_window_free(got);
}

static void knock_list(world *w) {
    model_stream *s = some_stream(w);
    uar_memory_stream_filter filter = { UAR_MEMORY_STREAM_FILTER_INIT, .archived = UAR_MEMORY_STREAM_ANY };
    uar_memory_streams *got = NULL;
    assert_int_equal(uar_memory_stream_list_sync(&got, w->f->memory, &w->v.who, &filter, uar_str_of(NULL), 1000, NULL),
                     UAR_OK);
    /* Each of them is visible, and they are as many as are visible: so they are the visible ones. */
    for (size_t i = 0; i < got->count; i++) {
        model_stream *each = find(w, got->streams[i].id);
        assert_non_null(each);
        assert_true(sees(w, each));
        assert_true(str_is(got->streams[i].name, each->name));
    }
    assert_int_equal(got->count, count_visible(w));
    uar_memory_streams_free(got);
    filter.id = s->id;
    assert_int_equal(uar_memory_stream_list_sync(&got, w->f->memory, &w->v.who, &filter, uar_str_of(NULL), 1000, NULL),
                     UAR_OK);
    assert_int_equal(got->count, sees(w, s) ? 1 : 0);
    uar_memory_streams_free(got);
}

static void knock_stats(world *w) {
    uar_memory_stream_filter filter = { UAR_MEMORY_STREAM_FILTER_INIT, .archived = UAR_MEMORY_STREAM_ANY };
    uar_memory_stream_stats stats;
    assert_int_equal(uar_memory_stream_stats_sync(&stats, w->f->memory, &w->v.who, &filter, NULL), UAR_OK);
    uint64_t entries = 0, archived = 0;
    for (size_t i = 0; i < STREAMS; i++) {
        if (!sees(w, &w->streams[i])) continue;
        entries += w->streams[i].last;
        archived += w->streams[i].archived;
    }
    assert_int_equal(stats.streams, count_visible(w));
    assert_int_equal(stats.entries, entries);
    assert_int_equal(stats.archived, archived);
}

typedef struct exported {
    world *w;
    size_t streams, entries;
} exported;

static uar_status count_line(void *ctx, uar_str line) {
    exported *e = ctx;
    char bytes[2048];
    const char *text = line_text(bytes, line);
    bool is_stream = strstr(text, "\"kind\":\"stream\"") != NULL;
    model_stream *s = find(e->w, line_uuid(text, is_stream ? "\"id\":\"" : "\"stream\":\""));
    assert_non_null(s);
    assert_true(sees(e->w, s));
    e->streams += is_stream;
    e->entries += !is_stream;
    return UAR_OK;
}

static void knock_export(world *w) {
    uar_memory_stream_filter filter = { UAR_MEMORY_STREAM_FILTER_INIT, .archived = UAR_MEMORY_STREAM_ANY };
    exported e = { w, 0, 0 };
    assert_int_equal(uar_memory_stream_export_sync(w->f->memory, &w->v.who, &filter, count_line, &e, NULL), UAR_OK);
    size_t entries = 0;
    for (size_t i = 0; i < STREAMS; i++)
        if (sees(w, &w->streams[i])) entries += w->streams[i].last;
    assert_int_equal(e.streams, count_visible(w));
    assert_int_equal(e.entries, entries);
}

/* The name of another's stream finds it only from its place; from elsewhere the name is free. */
static void knock_open(world *w) {
    model_stream *s = some_stream(w);
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of(s->name), .scope = s->place.scope,
                                  .must_exist = true };
    /* By name even an operator opens in its own place. */
    model_place own;
    bool has_place = own_place(&own, &w->v, s->place.scope), here = is_within(&w->v, &s->place);
    uar_memory_streams *got = NULL;
    uar_status status = uar_memory_stream_open_sync(&got, w->f->memory, &w->v.who, &d, NULL);
    assert_int_equal(status, !has_place ? UAR_E_INVALID : here ? UAR_OK : UAR_E_NOT_FOUND);
    if (status == UAR_OK) assert_true(uar_uuid_equal(got->streams[0].id, s->id));
    uar_memory_streams_free(got);
    /* Another's place can be named by an operator only. */
    if (s->place.user == NULL) return;
    d.user = uar_str_of(s->place.user);
    if (s->place.session != NULL) d.session = uar_str_of(s->place.session);
    if (s->place.task != NULL) d.task = uar_str_of(s->place.task);
    got = NULL;
    status = uar_memory_stream_open_sync(&got, w->f->memory, &w->v.who, &d, NULL);
    if (sees(w, s))
        assert_int_equal(status, UAR_OK);
    else
        assert_true(status == UAR_E_FORBIDDEN || status == UAR_E_NOT_FOUND);
    uar_memory_streams_free(got);
}

static void knock_append(world *w) {
    model_stream *s = some_stream(w);
    uar_memory_stream_entry_draft d = entry_of("more words of some length");
    uar_memory_stream_appended done;
    uar_status status = uar_memory_stream_append_sync(&done, w->f->memory, &w->v.who, s->id, &d, 0, NULL);
    assert_int_equal(status, grow_status(w, s));
    if (status != UAR_OK) return;
    assert_int_equal(done.number, s->last + 1);
    grew(w, s);
}

static void knock_append_batch(world *w) {
    model_stream *s = some_stream(w);
    uar_memory_stream_entry_draft d[2] = { entry_of("two"), entry_of("at once") };
    uar_memory_stream_appended done[2];
    uar_status status = uar_memory_stream_append_batch_sync(done, w->f->memory, &w->v.who, s->id, d, 2, 0, NULL);
    assert_int_equal(status, grow_status(w, s));
    if (status != UAR_OK) return;
    s->last++;
    assert_int_equal(done[1].number, s->last + 1);
    grew(w, s);
}

static void knock_summarise(world *w) {
    model_stream *s = some_stream(w);
    uar_memory_stream_summary_draft d;
    uar_memory_stream_summary_draft_init(&d);
    d.text = STR("s");
    uar_memory_stream_summary done;
    uar_status status = uar_memory_stream_summarise_sync(&done, w->f->memory, &w->v.who, s->id, &d, NULL);
    /* One that was summarised to a token can't get shorter. */
    if (grow_status(w, s) == UAR_OK && status == UAR_E_TOO_LARGE) return;
    assert_int_equal(status, grow_status(w, s));
    if (status == UAR_OK) grew(w, s);
}

static void knock_archive(world *w) {
    model_stream *s = some_stream(w);
    bool archived = dice(&w->v, 3) == 0;
    uar_status status = uar_memory_stream_archive_sync(w->f->memory, &w->v.who, s->id, archived, NULL);
    assert_int_equal(status, change_status(w, s));
    if (status == UAR_OK) s->archived = archived;
}

static void knock_delete(world *w) {
    model_stream *s = some_stream(w);
    uar_memory_outcome outcome;
    uar_status status = uar_memory_stream_delete_sync(&outcome, w->f->memory, &w->v.who, s->id, NULL);
    assert_int_equal(status, change_status(w, s));
    if (status != UAR_OK) return;
    read_all(w, &(model_stream){ .id = s->id, .place.owner = "nobody" });
    renew(w, s);
}

/* A line that names another's stream by id and place reaches it only from where it is seen. */
static void knock_import(world *w) {
    model_stream *s = some_stream(w);
    char lines[1024], id[UAR_UUID_TEXT], members[256], text[32];
    uar_uuid_format(id, s->id);
    place_members(members, &s->place);
    draw_text(text, &w->v, "imported"); /* the same words again would be the same line */
    snprintf(lines, sizeof lines,
             "{\"v\":1,\"kind\":\"stream\",\"id\":\"%s\",\"name\":\"%s\",%s}\n"
             "{\"kind\":\"entry\",\"stream\":\"%s\",\"text\":\"%s\"}\n",
             id, s->name, members, id, text);
    uar_memory_stream_imported sum;
    assert_int_equal(uar_memory_stream_import_sync(&sum, w->f->memory, &w->v.who, uar_str_of(lines), NULL, NULL, NULL),
                     UAR_OK);
    assert_int_equal(sum.streams, 0);
    assert_int_equal(sum.skipped, sees(w, s) ? 1 : 0);
    assert_int_equal(sum.entries, grow_status(w, s) == UAR_OK ? 1 : 0);
    assert_int_equal(sum.failed, 2 - sum.skipped - sum.entries);
    if (sum.entries != 0) grew(w, s);
}

/* Every call of uar/memory_stream.h that takes an identity. */
static const door doors[] = {
    { "uar_memory_stream_open_sync", knock_open, 16 },
    { "uar_memory_stream_get_sync", knock_get, 20 },
    { "uar_memory_stream_append_sync", knock_append, 16 },
    { "uar_memory_stream_append_batch_sync", knock_append_batch, 6 },
    { "uar_memory_stream_read_sync", knock_read, 20 },
    { "uar_memory_stream_window_sync", knock_window, 16 },
    { "uar_memory_stream_summarise_sync", knock_summarise, 6 },
    { "uar_memory_stream_archive_sync", knock_archive, 6 },
    { "uar_memory_stream_list_sync", knock_list, 8 },
    { "uar_memory_stream_stats_sync", knock_stats, 8 },
    { "uar_memory_stream_delete_sync", knock_delete, 2 },
    { "uar_memory_stream_export_sync", knock_export, 1 },
    { "uar_memory_stream_import_sync", knock_import, 8 },
};
#define DOORS (sizeof doors / sizeof doors[0])

static void test_M1_every_door_of_the_streams_shows_exactly_what_the_rule_says(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->f = *state;
    visitor_init(&w->v);
    for (size_t i = 0; i < STREAMS; i++)
        renew(w, &w->streams[i]);
    knock_at_random(w, &w->v, w->f, doors, DOORS);
    free(w);
}

static void test_M1_no_door_of_the_streams_is_missing_from_the_table(void **state) {
    (void)state;
    assert_int_equal(count_listed_doors("memory_stream.h", doors, DOORS), DOORS);
}

static void test_M1_an_operator_sees_the_streams_of_one_owner_and_filters_narrow_them(void **state) {
    memory_fixture *f = *state;
    const char *owners[] = { "acme", "zeta" }, *users[] = { "ann", "bob" };
    for (int o = 0; o < 2; o++) {
        for (int u = 0; u < 2; u++) {
            uar_identity who = { UAR_IDENTITY_INIT, .owner = uar_str_of(owners[o]), .user = uar_str_of(users[u]) };
            uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("the same name") };
            uar_memory_streams *s = NULL;
            assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &who, &d, NULL), UAR_OK);
            assert_true(s->streams[0].created);
            uar_memory_streams_free(s);
        }
    }
    uar_identity boss = { UAR_IDENTITY_INIT, .owner = STR("acme"), .flags = UAR_IDENTITY_OPERATOR };
    uar_memory_stream_stats stats;
    assert_int_equal(uar_memory_stream_stats_sync(&stats, f->memory, &boss, NULL, NULL), UAR_OK);
    assert_int_equal(stats.streams, 2);
    uar_memory_stream_filter filter = { UAR_MEMORY_STREAM_FILTER_INIT, .user = STR("bob") };
    assert_int_equal(uar_memory_stream_stats_sync(&stats, f->memory, &boss, &filter, NULL), UAR_OK);
    assert_int_equal(stats.streams, 1);
    /* It opens another's stream by naming the place. */
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = STR("the same name"), .user = STR("bob"),
                                  .must_exist = true };
    uar_memory_streams *s = NULL;
    assert_int_equal(uar_memory_stream_open_sync(&s, f->memory, &boss, &d, NULL), UAR_OK);
    assert_true(str_is(s->streams[0].user, "bob") && str_is(s->streams[0].owner, "acme"));
    uar_memory_streams_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M1_every_door_of_the_streams_shows_exactly_what_the_rule_says),
        cmocka_unit_test(test_M1_no_door_of_the_streams_is_missing_from_the_table),
        MEMORY_TEST(test_M1_an_operator_sees_the_streams_of_one_owner_and_filters_narrow_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
