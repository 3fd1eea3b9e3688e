/*
 * M1 at the doors of the task streams: random identities knock on random doors of a store whose streams a plain model knows
 * as well; the model decides by the words of the rule, stream by stream. The number of cases is 20,000, or UAR_TEST_FULL's
 * (1: a million).
 */
#include "test_memory_stream_fixture.h"

#define STREAMS 64
/* A stream that has grown so long is deleted and made anew. */
#define ENTRIES_MOST 24

typedef struct model_stream {
    uar_uuid id;
    char name[32];
    char text[32]; /* of its first entry */
    uar_memory_scope scope;
    const char *owner, *user, *agent, *session, *task; /* what the scope names */
    uint64_t last;
    bool archived;
} model_stream;

typedef struct world {
    memory_fixture *f;
    model_stream streams[STREAMS];
    uint64_t seed, serial;
    uar_identity who;
    const char *owner, *user, *agent, *session, *task;
} world;

/* xorshift: the same cases on every machine. */
static uint64_t dice(world *w, uint64_t sides) {
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return w->seed % sides;
}

static const char *pick(world *w, const char *a, const char *b, bool may_lack) {
    uint64_t n = dice(w, may_lack ? 5 : 4);
    return n == 4 ? NULL : n % 2 == 0 ? a : b;
}

static void be_somebody(world *w) {
    w->owner = pick(w, "acme", "zeta", false);
    w->user = pick(w, "ann", "bob", true);
    w->agent = pick(w, "clerk", "guide", true);
    w->session = pick(w, "s1", "s2", true);
    w->task = pick(w, "t1", "t2", true);
    w->who = (uar_identity){ UAR_IDENTITY_INIT,
                             .owner = uar_str_of(w->owner),
                             .user = uar_str_of(w->user),
                             .agent = uar_str_of(w->agent),
                             .session = uar_str_of(w->session),
                             .task = uar_str_of(w->task) };
    if (dice(w, 2) == 0) w->who.flags |= UAR_IDENTITY_WRITE_SHARED;
    if (dice(w, 8) == 0) w->who.flags |= UAR_IDENTITY_OPERATOR;
}

static bool same(const char *a, const char *b) {
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static bool is_operator(const world *w) {
    return (w->who.flags & UAR_IDENTITY_OPERATOR) != 0;
}

/* The rule, in its own words. */
static bool sees(const world *w, const model_stream *s) {
    if (!same(s->owner, w->owner)) return false;
    if (is_operator(w)) return true;
    switch (s->scope) {
    case UAR_MEMORY_SCOPE_GLOBAL: return true;
    case UAR_MEMORY_SCOPE_AGENT: return same(s->agent, w->agent);
    case UAR_MEMORY_SCOPE_USER: return same(s->user, w->user);
    case UAR_MEMORY_SCOPE_SESSION: return same(s->session, w->session) && same(s->user, w->user);
    case UAR_MEMORY_SCOPE_TASK: return same(s->task, w->task) && same(s->user, w->user);
    }
    return false;
}

static bool may_write(const world *w, const model_stream *s) {
    bool shared = s->scope == UAR_MEMORY_SCOPE_GLOBAL || s->scope == UAR_MEMORY_SCOPE_AGENT;
    return !shared || (w->who.flags & UAR_IDENTITY_WRITE_SHARED) != 0;
}

static uar_status change_status(const world *w, const model_stream *s) {
    return !sees(w, s) ? UAR_E_NOT_FOUND : may_write(w, s) ? UAR_OK : UAR_E_FORBIDDEN;
}

static uar_status grow_status(const world *w, const model_stream *s) {
    uar_status status = change_status(w, s);
    return status == UAR_OK && s->archived ? UAR_E_CLOSED : status;
}

/* An identity that sees a stream and may change it. */
static uar_identity host_of(const model_stream *s) {
    return (uar_identity){ UAR_IDENTITY_INIT,
                           .owner = uar_str_of(s->owner),
                           .user = uar_str_of(s->user),
                           .agent = uar_str_of(s->agent),
                           .session = uar_str_of(s->session),
                           .task = uar_str_of(s->task),
                           .flags = UAR_IDENTITY_WRITE_SHARED };
}

/* Put a new stream into a slot of the model. */
static void renew(world *w, model_stream *s) {
    *s = (model_stream){ .scope = (uar_memory_scope)(1 + dice(w, 5)), .last = 1 };
    s->owner = pick(w, "acme", "zeta", false);
    const char *user = pick(w, "ann", "bob", false), *agent = pick(w, "clerk", "guide", false);
    const char *session = pick(w, "s1", "s2", false), *task = pick(w, "t1", "t2", false);
    if (s->scope >= UAR_MEMORY_SCOPE_USER) s->user = user;
    if (s->scope == UAR_MEMORY_SCOPE_AGENT) s->agent = agent;
    if (s->scope == UAR_MEMORY_SCOPE_SESSION) s->session = session;
    if (s->scope == UAR_MEMORY_SCOPE_TASK) s->task = task;
    unsigned long long serial = ++w->serial;
    snprintf(s->name, sizeof s->name, "stream n%llu", serial);
    snprintf(s->text, sizeof s->text, "the first words of n%llu", serial);
    uar_identity who = host_of(s);
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of(s->name), .scope = s->scope };
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
    uar_identity who = host_of(s);
    uar_memory_outcome outcome;
    assert_int_equal(uar_memory_stream_delete_sync(&outcome, w->f->memory, &who, s->id, NULL), UAR_OK);
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

static void knock_get(world *w, model_stream *s) {
    uar_memory_streams *got = NULL;
    uar_status status = uar_memory_stream_get_sync(&got, w->f->memory, &w->who, s->id, NULL);
    assert_int_equal(status, sees(w, s) ? UAR_OK : UAR_E_NOT_FOUND);
    if (status == UAR_OK) {
        assert_true(str_is(got->streams[0].name, s->name));
        assert_int_equal(got->streams[0].last, s->last);
        assert_int_equal(got->streams[0].archived_ms != 0, s->archived);
    }
    uar_memory_streams_free(got);
}

static void knock_read(world *w, model_stream *s) {
    uar_memory_stream_entries *e = NULL;
    uar_status status = uar_memory_stream_read_sync(&e, w->f->memory, &w->who, s->id, 0, false, 100, NULL);
    assert_int_equal(status, sees(w, s) ? UAR_OK : UAR_E_NOT_FOUND);
    if (status == UAR_OK) {
        assert_int_equal(e->count, s->last);
        assert_true(str_is(e->entries[0].text, s->text));
    }
    uar_memory_stream_entries_free(e);
}

static void knock_window(world *w, model_stream *s) {
    uar_memory_stream_window *got = NULL;
    uar_status status = uar_memory_stream_window_sync(&got, w->f->memory, &w->who, s->id, 10000, 0, NULL);
    assert_int_equal(status, !sees(w, s) ? UAR_E_NOT_FOUND : s->archived ? UAR_E_CLOSED : UAR_OK);
    if (status == UAR_OK) assert_true(got->count >= 1 && got->gap_count == 0);
    uar_memory_stream_window_free(got);
}

static void knock_list(world *w, model_stream *s) {
    uar_memory_stream_filter filter = { UAR_MEMORY_STREAM_FILTER_INIT, .archived = UAR_MEMORY_STREAM_ANY };
    uar_memory_streams *got = NULL;
    assert_int_equal(uar_memory_stream_list_sync(&got, w->f->memory, &w->who, &filter, uar_str_of(NULL), 1000, NULL),
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
    assert_int_equal(uar_memory_stream_list_sync(&got, w->f->memory, &w->who, &filter, uar_str_of(NULL), 1000, NULL),
                     UAR_OK);
    assert_int_equal(got->count, sees(w, s) ? 1 : 0);
    uar_memory_streams_free(got);
}

static void knock_stats(world *w, model_stream *s) {
    (void)s;
    uar_memory_stream_filter filter = { UAR_MEMORY_STREAM_FILTER_INIT, .archived = UAR_MEMORY_STREAM_ANY };
    uar_memory_stream_stats stats;
    assert_int_equal(uar_memory_stream_stats_sync(&stats, w->f->memory, &w->who, &filter, NULL), UAR_OK);
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
    char id[UAR_UUID_TEXT], text[2048];
    assert_true(line.len < sizeof text);
    memcpy(text, line.ptr, line.len);
    text[line.len] = '\0';
    bool is_stream = strstr(text, "\"kind\":\"stream\"") != NULL;
    const char *key = is_stream ? "\"id\":\"" : "\"stream\":\"";
    const char *at = strstr(text, key);
    assert_non_null(at);
    memcpy(id, at + strlen(key), UAR_UUID_TEXT - 1);
    uar_uuid uuid;
    assert_int_equal(uar_uuid_parse(&uuid, uar_str_n(id, UAR_UUID_TEXT - 1)), UAR_OK);
    model_stream *s = find(e->w, uuid);
    assert_non_null(s);
    assert_true(sees(e->w, s));
    if (is_stream)
        e->streams++;
    else
        e->entries++;
    return UAR_OK;
}

static void knock_export(world *w, model_stream *s) {
    (void)s;
    uar_memory_stream_filter filter = { UAR_MEMORY_STREAM_FILTER_INIT, .archived = UAR_MEMORY_STREAM_ANY };
    exported e = { w, 0, 0 };
    assert_int_equal(uar_memory_stream_export_sync(w->f->memory, &w->who, &filter, count_line, &e, NULL), UAR_OK);
    size_t entries = 0;
    for (size_t i = 0; i < STREAMS; i++)
        if (sees(w, &w->streams[i])) entries += w->streams[i].last;
    assert_int_equal(e.streams, count_visible(w));
    assert_int_equal(e.entries, entries);
}

/* The name of another's stream finds it only from its place; from elsewhere the name is free. */
static void knock_open(world *w, model_stream *s) {
    uar_memory_stream_draft d = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of(s->name), .scope = s->scope,
                                  .must_exist = true };
    bool has_place = true;
    if (s->scope == UAR_MEMORY_SCOPE_AGENT) has_place = w->agent != NULL;
    if (s->scope >= UAR_MEMORY_SCOPE_USER) has_place = w->user != NULL;
    if (s->scope == UAR_MEMORY_SCOPE_SESSION) has_place = has_place && w->session != NULL;
    if (s->scope == UAR_MEMORY_SCOPE_TASK) has_place = has_place && w->task != NULL;
    bool operator_before = is_operator(w);
    w->who.flags &= ~UAR_IDENTITY_OPERATOR; /* by name even an operator opens in its own place */
    bool here = sees(w, s);
    if (operator_before) w->who.flags |= UAR_IDENTITY_OPERATOR;
    uar_memory_streams *got = NULL;
    uar_status status = uar_memory_stream_open_sync(&got, w->f->memory, &w->who, &d, NULL);
    assert_int_equal(status, !has_place ? UAR_E_INVALID : here ? UAR_OK : UAR_E_NOT_FOUND);
    if (status == UAR_OK) assert_true(uar_uuid_equal(got->streams[0].id, s->id));
    uar_memory_streams_free(got);
    /* Another's place can be named by an operator only. */
    if (s->user == NULL) return;
    d.user = uar_str_of(s->user);
    if (s->session != NULL) d.session = uar_str_of(s->session);
    if (s->task != NULL) d.task = uar_str_of(s->task);
    got = NULL;
    status = uar_memory_stream_open_sync(&got, w->f->memory, &w->who, &d, NULL);
    if (sees(w, s))
        assert_int_equal(status, UAR_OK);
    else
        assert_true(status == UAR_E_FORBIDDEN || status == UAR_E_NOT_FOUND);
    uar_memory_streams_free(got);
}

static void knock_append(world *w, model_stream *s) {
    uar_memory_stream_entry_draft d = entry_of("more words of some length");
    uar_memory_stream_appended done;
    uar_status status = uar_memory_stream_append_sync(&done, w->f->memory, &w->who, s->id, &d, 0, NULL);
    assert_int_equal(status, grow_status(w, s));
    if (status != UAR_OK) return;
    assert_int_equal(done.number, s->last + 1);
    grew(w, s);
}

static void knock_append_batch(world *w, model_stream *s) {
    uar_memory_stream_entry_draft d[2] = { entry_of("two"), entry_of("at once") };
    uar_memory_stream_appended done[2];
    uar_status status = uar_memory_stream_append_batch_sync(done, w->f->memory, &w->who, s->id, d, 2, 0, NULL);
    assert_int_equal(status, grow_status(w, s));
    if (status != UAR_OK) return;
    s->last++;
    assert_int_equal(done[1].number, s->last + 1);
    grew(w, s);
}

static void knock_summarise(world *w, model_stream *s) {
    uar_memory_stream_summary_draft d;
    uar_memory_stream_summary_draft_init(&d);
    d.text = STR("s");
    uar_memory_stream_summary done;
    uar_status status = uar_memory_stream_summarise_sync(&done, w->f->memory, &w->who, s->id, &d, NULL);
    /* One that was summarised to a token can't get shorter. */
    if (grow_status(w, s) == UAR_OK && status == UAR_E_TOO_LARGE) return;
    assert_int_equal(status, grow_status(w, s));
    if (status == UAR_OK) grew(w, s);
}

static void knock_archive(world *w, model_stream *s) {
    bool archived = dice(w, 3) == 0;
    uar_status status = uar_memory_stream_archive_sync(w->f->memory, &w->who, s->id, archived, NULL);
    assert_int_equal(status, change_status(w, s));
    if (status == UAR_OK) s->archived = archived;
}

static void knock_delete(world *w, model_stream *s) {
    uar_memory_outcome outcome;
    uar_status status = uar_memory_stream_delete_sync(&outcome, w->f->memory, &w->who, s->id, NULL);
    assert_int_equal(status, change_status(w, s));
    if (status != UAR_OK) return;
    knock_read(w, &(model_stream){ .id = s->id, .owner = "nobody" });
    renew(w, s);
}

/* A line that names another's stream by id and place reaches it only from where it is seen. */
static void knock_import(world *w, model_stream *s) {
    char lines[1024], id[UAR_UUID_TEXT];
    uar_uuid_format(id, s->id);
    int at =
        snprintf(lines, sizeof lines, "{\"v\":1,\"kind\":\"stream\",\"id\":\"%s\",\"name\":\"%s\",\"scope\":\"%s\"", id,
                 s->name, uar_memory_scope_name(s->scope));
    const char *const ids[][2] = { { "owner", s->owner },
                                   { "user", s->user },
                                   { "agent", s->agent },
                                   { "session", s->session },
                                   { "task", s->task } };
    for (size_t i = 0; i < 5; i++)
        if (ids[i][1] != NULL)
            at += snprintf(lines + at, sizeof lines - (size_t)at, ",\"%s\":\"%s\"", ids[i][0], ids[i][1]);
    snprintf(lines + at, sizeof lines - (size_t)at,
             "}\n{\"kind\":\"entry\",\"stream\":\"%s\",\"text\":\"imported words n%llu\"}\n", id,
             (unsigned long long)++w->serial); /* the same words again would be the same line */
    uar_memory_stream_imported sum;
    assert_int_equal(uar_memory_stream_import_sync(&sum, w->f->memory, &w->who, uar_str_of(lines), NULL, NULL, NULL),
                     UAR_OK);
    assert_int_equal(sum.streams, 0);
    assert_int_equal(sum.skipped, sees(w, s) ? 1 : 0);
    assert_int_equal(sum.entries, grow_status(w, s) == UAR_OK ? 1 : 0);
    assert_int_equal(sum.failed, 2 - sum.skipped - sum.entries);
    if (sum.entries != 0) grew(w, s);
}

typedef struct door {
    const char *name;
    void (*knock)(world *w, model_stream *s);
    unsigned weight;
} door;

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

static const door *pick_door(world *w) {
    unsigned sum = 0;
    for (size_t i = 0; i < DOORS; i++)
        sum += doors[i].weight;
    unsigned at = (unsigned)dice(w, sum);
    for (size_t i = 0;; i++) {
        if (at < doors[i].weight) return &doors[i];
        at -= doors[i].weight;
    }
}

static unsigned long case_count(void) {
    const char *full = getenv("UAR_TEST_FULL");
    unsigned long count = full != NULL ? strtoul(full, NULL, 10) : 20000;
    return count == 1 ? 1000000 : count != 0 ? count : 20000;
}

static void test_M1_every_door_of_the_streams_shows_exactly_what_the_rule_says(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->f = *state;
    w->seed = 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < STREAMS; i++)
        renew(w, &w->streams[i]);
    unsigned long count = case_count();
    for (unsigned long i = 0; i < count; i++) {
        be_somebody(w);
        pick_door(w)->knock(w, &w->streams[dice(w, STREAMS)]);
        atomic_fetch_add(&w->f->now, 1);
    }
    assert_sound(w->f);
    free(w);
}

/* The header is the list of doors: a call with an identity that this table lacks fails here. */
static void test_M1_no_door_of_the_streams_is_missing_from_the_table(void **state) {
    (void)state;
    const char *root = getenv("UAR_SOURCE_ROOT");
    char path[4096];
    snprintf(path, sizeof path, "%s/include/uar/memory_stream.h", root != NULL && root[0] != '\0' ? root : ".");
    FILE *file = fopen(path, "rb");
    if (file == NULL) skip();
    static char text[65536];
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    size_t found = 0;
    for (char *at = strstr(text, "\nUAR_API"); at != NULL; at = strstr(at + 1, "\nUAR_API")) {
        char *end = strchr(at, ';'), *open = strchr(at, '(');
        assert_true(end != NULL && open != NULL && open < end);
        *end = '\0';
        if (strstr(open, "uar_identity *who") != NULL) {
            char *name = open;
            while (name[-1] != ' ' && name[-1] != '*')
                name--;
            *open = '\0';
            bool listed = false;
            for (size_t i = 0; i < DOORS; i++)
                listed = listed || strcmp(name, doors[i].name) == 0;
            if (!listed) fail_msg("%s has no case in the visibility test", name);
            *open = '(';
            found++;
        }
        *end = ';';
    }
    assert_int_equal(found, DOORS);
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
