/*
 * M1: who sees what, in every door. Random identities knock on random doors of a store whose records a plain model knows as
 * well; the model decides by the words of the rule, record by record. The number of cases is 20,000, or UAR_TEST_FULL's
 * (1: a million).
 */
#include "test_memory_fixture.h"

#include "base/alloc.h"
#include "memory/recall.h"

#define RECORDS 96

typedef struct model_record {
    uar_uuid id;
    char text[32];
    uar_memory_scope scope;
    const char *owner, *user, *agent, *session, *task; /* what the scope names */
    uint64_t revision;
} model_record;

typedef struct world {
    memory_fixture *f;
    model_record records[RECORDS];
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

/* The rule, in its own words. */
static bool sees(const world *w, const model_record *r) {
    if (!same(r->owner, w->owner)) return false;
    if ((w->who.flags & UAR_IDENTITY_OPERATOR) != 0) return true;
    switch (r->scope) {
    case UAR_MEMORY_SCOPE_GLOBAL: return true;
    case UAR_MEMORY_SCOPE_AGENT: return same(r->agent, w->agent);
    case UAR_MEMORY_SCOPE_USER: return same(r->user, w->user);
    case UAR_MEMORY_SCOPE_SESSION: return same(r->session, w->session) && same(r->user, w->user);
    case UAR_MEMORY_SCOPE_TASK: return same(r->task, w->task) && same(r->user, w->user);
    }
    return false;
}

static bool may_write(const world *w, const model_record *r) {
    bool shared = r->scope == UAR_MEMORY_SCOPE_GLOBAL || r->scope == UAR_MEMORY_SCOPE_AGENT;
    return !shared || (w->who.flags & UAR_IDENTITY_WRITE_SHARED) != 0;
}

static uar_status write_status(const world *w, const model_record *r) {
    return !sees(w, r) ? UAR_E_NOT_FOUND : may_write(w, r) ? UAR_OK : UAR_E_FORBIDDEN;
}

/* Write a new record into a slot of the model, as an identity that may. */
static void renew(world *w, model_record *r) {
    *r = (model_record){ .scope = (uar_memory_scope)(1 + dice(w, 5)), .revision = 1 };
    r->owner = pick(w, "acme", "zeta", false);
    const char *user = pick(w, "ann", "bob", false), *agent = pick(w, "clerk", "guide", false);
    const char *session = pick(w, "s1", "s2", false), *task = pick(w, "t1", "t2", false);
    uar_identity who = { UAR_IDENTITY_INIT,
                         .owner = uar_str_of(r->owner),
                         .user = uar_str_of(user),
                         .agent = uar_str_of(agent),
                         .session = uar_str_of(session),
                         .task = uar_str_of(task),
                         .flags = UAR_IDENTITY_WRITE_SHARED };
    if (r->scope >= UAR_MEMORY_SCOPE_USER) r->user = user;
    if (r->scope == UAR_MEMORY_SCOPE_AGENT) r->agent = agent;
    if (r->scope == UAR_MEMORY_SCOPE_SESSION) r->session = session;
    if (r->scope == UAR_MEMORY_SCOPE_TASK) r->task = task;
    snprintf(r->text, sizeof r->text, "thing n%llu", (unsigned long long)++w->serial);
    uar_memory_draft d = draft_of(r->text);
    d.scope = r->scope;
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, w->f->memory, &who, &d, NULL), UAR_OK);
    assert_int_equal(change.outcome, UAR_MEMORY_OUTCOME_ADDED);
    r->id = change.id;
}

static model_record *find(world *w, uar_uuid id) {
    for (size_t i = 0; i < RECORDS; i++)
        if (uar_uuid_equal(w->records[i].id, id)) return &w->records[i];
    return NULL;
}

static size_t count_visible(world *w) {
    size_t count = 0;
    for (size_t i = 0; i < RECORDS; i++)
        count += sees(w, &w->records[i]);
    return count;
}

/* Each of them is visible, and they are as many as are visible: so they are the visible ones. */
static void assert_all_visible(world *w, const uar_memory_record *records, size_t count) {
    for (size_t i = 0; i < count; i++) {
        model_record *r = find(w, records[i].id);
        assert_non_null(r);
        assert_true(sees(w, r));
        assert_true(str_is(records[i].content, r->text));
    }
    assert_int_equal(count, count_visible(w));
}

static void knock_get(world *w, model_record *r) {
    uar_memory_records *records = NULL;
    uar_status status = uar_memory_get_sync(&records, w->f->memory, &w->who, r->id, NULL);
    assert_int_equal(status, sees(w, r) ? UAR_OK : UAR_E_NOT_FOUND);
    if (status == UAR_OK) assert_true(str_is(records->records[0].content, r->text));
    uar_memory_records_free(records);
}

static void knock_history(world *w, model_record *r) {
    uar_memory_records *records = NULL;
    uar_status status = uar_memory_history_sync(&records, w->f->memory, &w->who, r->id, NULL);
    assert_int_equal(status, sees(w, r) ? UAR_OK : UAR_E_NOT_FOUND);
    if (status == UAR_OK) assert_int_equal(records->count, r->revision);
    uar_memory_records_free(records);
}

static void knock_list(world *w, model_record *r) {
    (void)r;
    uar_memory_records *records = NULL;
    assert_int_equal(uar_memory_list_sync(&records, w->f->memory, &w->who, NULL, uar_str_of(NULL), 1000, NULL), UAR_OK);
    assert_all_visible(w, records->records, records->count);
    uar_memory_records_free(records);
}

static void assert_hits_visible(world *w, const uar_memory_hits *hits) {
    for (size_t i = 0; i < hits->count; i++) {
        model_record *r = find(w, hits->hits[i].record.id);
        assert_non_null(r);
        assert_true(sees(w, r));
    }
    assert_int_equal(hits->count, count_visible(w));
}

static void knock_search(world *w, model_record *r) {
    (void)r;
    uar_memory_hits *hits = NULL;
    assert_int_equal(uar_memory_search_sync(&hits, w->f->memory, &w->who, STR("thing"), NULL, 1000, NULL), UAR_OK);
    assert_hits_visible(w, hits);
    uar_memory_hits_free(hits);
}

static void knock_search_batch(world *w, model_record *r) {
    uar_memory_hits *hits[2] = { NULL, NULL };
    uar_memory_query queries[2] = { { STR("thing"), NULL, 1000 }, { uar_str_of(strchr(r->text, ' ') + 1), NULL, 5 } };
    assert_int_equal(uar_memory_search_batch_sync(hits, w->f->memory, &w->who, queries, 2, NULL), UAR_OK);
    assert_hits_visible(w, hits[0]);
    /* Its own word finds it first, and what was said beside it behind; who doesn't see it finds nothing by that word. */
    assert_true(sees(w, r) ? hits[1]->count >= 1 : hits[1]->count == 0);
    if (sees(w, r)) assert_true(uar_uuid_equal(hits[1]->hits[0].record.id, r->id));
    for (size_t i = 0; i < hits[1]->count; i++)
        assert_true(sees(w, find(w, hits[1]->hits[i].record.id)));
    uar_memory_hits_free(hits[0]);
    uar_memory_hits_free(hits[1]);
}

static void knock_stats(world *w, model_record *r) {
    (void)r;
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, w->f->memory, &w->who, NULL, NULL), UAR_OK);
    size_t by_scope[6] = { 0 };
    for (size_t i = 0; i < RECORDS; i++)
        if (sees(w, &w->records[i])) by_scope[w->records[i].scope]++;
    for (size_t i = 1; i < 6; i++)
        assert_int_equal(stats.by_scope[i], by_scope[i]);
    assert_int_equal(stats.total, count_visible(w));
}

typedef struct exported {
    world *w;
    size_t current;
} exported;

static uar_status count_line(void *ctx, uar_str line) {
    exported *e = ctx;
    char id[UAR_UUID_TEXT], text[2048];
    assert_true(line.len < sizeof text);
    memcpy(text, line.ptr, line.len);
    text[line.len] = '\0';
    const char *at = strstr(text, "\"id\":\"");
    assert_non_null(at);
    memcpy(id, at + 6, UAR_UUID_TEXT - 1);
    uar_uuid uuid;
    assert_int_equal(uar_uuid_parse(&uuid, uar_str_n(id, UAR_UUID_TEXT - 1)), UAR_OK);
    model_record *r = find(e->w, uuid);
    assert_non_null(r);
    assert_true(sees(e->w, r));
    if (strstr(text, "\"current\":true") != NULL) e->current++;
    return UAR_OK;
}

static void knock_export(world *w, model_record *r) {
    (void)r;
    exported e = { w, 0 };
    assert_int_equal(uar_memory_export_sync(w->f->memory, &w->who, NULL, count_line, &e, NULL), UAR_OK);
    assert_int_equal(e.current, count_visible(w));
}

static void knock_update(world *w, model_record *r) {
    char text[32];
    snprintf(text, sizeof text, "thing n%llu", (unsigned long long)++w->serial);
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = uar_str_of(text);
    uar_memory_change change;
    uar_status status = uar_memory_update_sync(&change, w->f->memory, &w->who, r->id, &p, NULL);
    assert_int_equal(status, write_status(w, r));
    if (status != UAR_OK) return;
    memcpy(r->text, text, sizeof text);
    r->revision = change.revision;
}

static void knock_delete(world *w, model_record *r) {
    uar_memory_change change;
    uar_status status = uar_memory_delete_sync(&change, w->f->memory, &w->who, r->id, NULL);
    assert_int_equal(status, write_status(w, r));
    if (status == UAR_OK) renew(w, r);
}

/* Everything of one scope that the identity may delete. */
static void knock_delete_where(world *w, model_record *r) {
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.scopes = 1u << r->scope;
    uar_memory_erasure sum;
    assert_int_equal(uar_memory_delete_where_sync(&sum, w->f->memory, &w->who, &filter, NULL), UAR_OK);
    size_t gone = 0, forbidden = 0;
    for (size_t i = 0; i < RECORDS; i++) {
        model_record *each = &w->records[i];
        if (each->scope != r->scope || !sees(w, each)) continue;
        if (may_write(w, each))
            gone++;
        else
            forbidden++;
    }
    assert_int_equal(sum.erased + sum.pending, gone);
    assert_int_equal(sum.forbidden, forbidden);
    uar_memory_scope scope = r->scope;
    for (size_t i = 0; i < RECORDS; i++) {
        model_record *each = &w->records[i];
        if (each->scope != scope || !sees(w, each) || !may_write(w, each)) continue;
        each->owner = NULL; /* gone: seen by nobody until it is renewed */
    }
    for (size_t i = 0; i < RECORDS; i++)
        if (w->records[i].owner == NULL) renew(w, &w->records[i]);
}

/* A draft of a random scope, what the model makes of it, and what writing it must answer. */
static uar_status draw_draft(world *w, uar_memory_draft *d, model_record *made) {
    *made = (model_record){ .scope = (uar_memory_scope)(1 + dice(w, 5)), .owner = w->owner, .revision = 1 };
    snprintf(made->text, sizeof made->text, "thing n%llu", (unsigned long long)++w->serial);
    *d = draft_of(made->text);
    d->scope = made->scope;
    bool placed = true;
    if (d->scope >= UAR_MEMORY_SCOPE_USER) placed = (made->user = w->user) != NULL;
    if (d->scope == UAR_MEMORY_SCOPE_AGENT) placed = (made->agent = w->agent) != NULL;
    if (d->scope == UAR_MEMORY_SCOPE_SESSION) placed = (made->session = w->session) != NULL && placed;
    if (d->scope == UAR_MEMORY_SCOPE_TASK) placed = (made->task = w->task) != NULL && placed;
    return !placed ? UAR_E_INVALID : may_write(w, made) ? UAR_OK : UAR_E_FORBIDDEN;
}

/* What was added takes the place of another record, which its owner's operator deletes. */
static void take_place(world *w, model_record *r, const model_record *made, uar_uuid id) {
    uar_identity boss = { UAR_IDENTITY_INIT, .owner = uar_str_of(r->owner),
                          .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
    uar_memory_change gone;
    assert_int_equal(uar_memory_delete_sync(&gone, w->f->memory, &boss, r->id, NULL), UAR_OK);
    *r = *made;
    r->id = id;
}

/* To add lands in the writer's own segment, or is refused. */
static void knock_add(world *w, model_record *r) {
    uar_memory_draft d;
    model_record made;
    uar_status want = draw_draft(w, &d, &made);
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, w->f->memory, &w->who, &d, NULL), want);
    if (want == UAR_OK) take_place(w, r, &made, change.id);
}

static void knock_add_batch(world *w, model_record *r) {
    uar_memory_draft d[2];
    model_record made[2];
    uar_memory_change changes[2];
    uar_status want[2];
    for (size_t i = 0; i < 2; i++)
        want[i] = draw_draft(w, &d[i], &made[i]);
    uint32_t flags = dice(w, 2) == 0 ? UAR_MEMORY_ADD_VERBATIM : 0;
    assert_int_equal(uar_memory_add_batch_sync(changes, w->f->memory, &w->who, d, 2, flags, NULL, NULL, NULL), UAR_OK);
    model_record *places[2] = { r, &w->records[(size_t)(r - w->records + 1) % RECORDS] };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(changes[i].outcome, want[i] == UAR_OK ? UAR_MEMORY_OUTCOME_ADDED : 0);
        if (want[i] == UAR_OK) take_place(w, places[i], &made[i], changes[i].id);
    }
}

static bool same_place(const model_record *a, const model_record *b) {
    const char *const x[] = { a->user, a->agent, a->session, a->task }, *const y[] = { b->user, b->agent, b->session,
                                                                                       b->task };
    for (size_t i = 0; i < 4; i++)
        if ((x[i] == NULL) != (y[i] == NULL) || (x[i] != NULL && strcmp(x[i], y[i]) != 0)) return false;
    return true;
}

/* All of one scope that the identity sees become one, whose sources are then purged through that door. */
static void knock_compress(world *w, model_record *r) {
    uar_memory_scope scope = r->scope;
    model_record *first = NULL;
    size_t count = 0;
    bool is_mixed = false;
    for (size_t i = 0; i < RECORDS; i++) {
        model_record *each = &w->records[i];
        if (each->scope != scope || !sees(w, each)) continue;
        if (count++ == 0)
            first = each;
        else
            is_mixed = is_mixed || !same_place(first, each);
    }
    uar_status want = is_mixed              ? UAR_E_INVALID
                      : count < 2           ? UAR_E_NOT_FOUND
                      : may_write(w, first) ? UAR_OK
                                            : UAR_E_FORBIDDEN;
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.scopes = 1u << scope;
    char text[32];
    snprintf(text, sizeof text, "thing n%llu", (unsigned long long)++w->serial);
    uar_memory_compress_options options;
    uar_memory_compress_options_init(&options);
    options.summary = uar_str_of(text);
    uar_memory_compression done;
    uar_status status = uar_memory_compress_sync(&done, w->f->memory, &w->who, &filter, &options, NULL);
    assert_int_equal(status, want);
    if (want != UAR_OK) return;
    assert_int_equal(done.archived, count);
    uar_memory_erasure sum;
    assert_int_equal(uar_memory_purge_sync(&sum, w->f->memory, &w->who, done.id, NULL), UAR_OK);
    assert_true(sum.erased + sum.pending >= count);
    for (size_t i = 0; i < RECORDS; i++) {
        model_record *each = &w->records[i];
        if (each == first || each->scope != scope || !sees(w, each)) continue;
        each->owner = NULL;
    }
    first->id = done.id;
    first->revision = 1;
    memcpy(first->text, text, sizeof text);
    for (size_t i = 0; i < RECORDS; i++)
        if (w->records[i].owner == NULL) renew(w, &w->records[i]);
}

/* Nothing gave way to these records, but who may not change them is not even told that. */
static void knock_purge(world *w, model_record *r) {
    uar_memory_erasure sum;
    uar_status want = write_status(w, r);
    assert_int_equal(uar_memory_purge_sync(&sum, w->f->memory, &w->who, r->id, NULL), want);
    if (want == UAR_OK) assert_int_equal(sum.erased + sum.pending, 0);
}

/* A line that names another's ids is refused, whatever it says; an operator places it within its owner. */
static void knock_import(world *w, model_record *r) {
    char line[256];
    snprintf(line, sizeof line, "{\"content\":\"%s\",\"scope\":\"%s\",\"owner\":\"%s\"%s%s%s%s%s%s%s%s%s%s%s%s}",
             r->text, uar_memory_scope_name(r->scope), r->owner, r->user != NULL ? ",\"user\":\"" : "",
             r->user != NULL ? r->user : "", r->user != NULL ? "\"" : "", r->agent != NULL ? ",\"agent\":\"" : "",
             r->agent != NULL ? r->agent : "", r->agent != NULL ? "\"" : "",
             r->session != NULL ? ",\"session\":\"" : "", r->session != NULL ? r->session : "",
             r->session != NULL ? "\"" : "", r->task != NULL ? ",\"task\":\"" : "", r->task != NULL ? r->task : "",
             r->task != NULL ? "\"" : "");
    uar_memory_imported sum;
    assert_int_equal(uar_memory_import_sync(&sum, w->f->memory, &w->who, uar_str_of(line), 0, NULL, NULL, NULL),
                     UAR_OK);
    bool allowed = sees(w, r) && may_write(w, r);
    assert_int_equal(sum.reinforced, allowed ? 1 : 0);
    assert_int_equal(sum.failed, allowed ? 0 : 1);
    assert_int_equal(sum.added + sum.superseded, 0);
}

static void knock_recall(world *w, model_record *r) {
    (void)r;
    memory_recalled *recalled = NULL;
    uar_status status = memory_recall_block(&recalled, w->f->memory, &w->who, STR("thing"), 100000, NULL);
    if ((w->who.flags & UAR_IDENTITY_OPERATOR) != 0) {
        assert_int_equal(status, UAR_E_FORBIDDEN);
        return;
    }
    assert_int_equal(status, UAR_OK);
    size_t expected = count_visible(w);
    assert_int_equal(recalled->count, expected < 48 ? expected : 48);
    for (size_t i = 0; i < recalled->count; i++) {
        model_record *each = find(w, recalled->hits[i].id);
        assert_non_null(each);
        assert_true(sees(w, each));
    }
    memory_recalled_free(recalled);
}

typedef struct door {
    const char *name; /* of the public call, or of the internal one */
    void (*knock)(world *w, model_record *r);
    unsigned weight;
} door;

/* Every call that takes an identity. */
static const door doors[] = {
    { "uar_memory_get_sync", knock_get, 40 },
    { "uar_memory_history_sync", knock_history, 25 },
    { "uar_memory_list_sync", knock_list, 8 },
    { "uar_memory_search_sync", knock_search, 8 },
    { "uar_memory_search_batch_sync", knock_search_batch, 4 },
    { "uar_memory_stats_sync", knock_stats, 8 },
    { "uar_memory_export_sync", knock_export, 2 },
    { "uar_memory_add_sync", knock_add, 4 },
    { "uar_memory_add_batch_sync", knock_add_batch, 2 },
    { "uar_memory_compress_sync", knock_compress, 1 },
    { "uar_memory_purge_sync", knock_purge, 4 },
    { "uar_memory_update_sync", knock_update, 12 },
    { "uar_memory_delete_sync", knock_delete, 8 },
    { "uar_memory_delete_where_sync", knock_delete_where, 1 },
    { "uar_memory_import_sync", knock_import, 10 },
    { "memory_recall_block", knock_recall, 3 },
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

static void test_M1_every_door_shows_exactly_what_the_rule_says(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->f = *state;
    w->seed = 0x9E3779B97F4A7C15u;
    for (size_t i = 0; i < RECORDS; i++)
        renew(w, &w->records[i]);
    unsigned long count = case_count();
    for (unsigned long i = 0; i < count; i++) {
        be_somebody(w);
        pick_door(w)->knock(w, &w->records[dice(w, RECORDS)]);
        atomic_fetch_add(&w->f->now, 1);
    }
    assert_sound(w->f);
    free(w);
}

/* The header is the list of doors: a call with an identity that this table lacks fails here. */
static void test_M1_no_door_is_missing_from_the_table(void **state) {
    (void)state;
    const char *root = getenv("UAR_SOURCE_ROOT");
    char path[4096];
    snprintf(path, sizeof path, "%s/include/uar/memory.h", root != NULL && root[0] != '\0' ? root : ".");
    FILE *file = fopen(path, "rb");
    if (file == NULL) skip();
    static char text[65536];
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    size_t found = 0;
    for (char *at = strstr(text, "UAR_API"); at != NULL; at = strstr(at + 1, "UAR_API")) {
        char *end = strchr(at, ';'), *open = strchr(at, '(');
        assert_non_null(end);
        if (open == NULL || open > end) continue;
        *end = '\0';
        bool takes_identity = strstr(at, "uar_identity *who") != NULL;
        char *name = strstr(at, "uar_memory_");
        while (name != NULL && strspn(name, "abcdefghijklmnopqrstuvwxyz_") != (size_t)(open - name))
            name = strstr(name + 1, "uar_memory_");
        if (takes_identity) {
            assert_non_null(name);
            bool listed = false;
            for (size_t i = 0; i < DOORS; i++)
                if ((size_t)(open - name) == strlen(doors[i].name) &&
                    memcmp(name, doors[i].name, strlen(doors[i].name)) == 0)
                    listed = true;
            *open = '\0';
            if (!listed) fail_msg("%s has no case in the visibility test", name);
            *open = '(';
            found++;
        }
        *end = ';';
    }
    assert_int_equal(found, DOORS - 1);
}

/* An operator's view ends at its owner. */
static void test_M1_an_operator_sees_one_owner_and_filters_narrow_it(void **state) {
    memory_fixture *f = *state;
    const char *owners[] = { "acme", "zeta" }, *users[] = { "ann", "bob" };
    for (int o = 0; o < 2; o++) {
        for (int u = 0; u < 2; u++) {
            uar_identity who = { UAR_IDENTITY_INIT, .owner = uar_str_of(owners[o]), .user = uar_str_of(users[u]) };
            uar_memory_draft d = draft_of("the same words");
            uar_memory_change change;
            assert_int_equal(uar_memory_add_sync(&change, f->memory, &who, &d, NULL), UAR_OK);
        }
    }
    uar_identity boss = { UAR_IDENTITY_INIT, .owner = STR("acme"), .flags = UAR_IDENTITY_OPERATOR };
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, f->memory, &boss, NULL, NULL), UAR_OK);
    assert_int_equal(stats.total, 2);
    uar_memory_filter filter;
    uar_memory_filter_init(&filter);
    filter.user = STR("bob");
    assert_int_equal(uar_memory_stats_sync(&stats, f->memory, &boss, &filter, NULL), UAR_OK);
    assert_int_equal(stats.total, 1);
}

/* Scores must not tell how many records others have. */
static void test_M1_records_of_others_do_not_move_a_score(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "rare words about whales");
    add_text(f, "ann", "common words about nothing");
    uar_memory_hits *before = search_text(f, "ann", "whales", NULL);
    for (int i = 0; i < 50; i++) {
        char text[64];
        snprintf(text, sizeof text, "whales whales whales %d", i);
        add_text(f, "bob", text);
    }
    uar_memory_hits *after = search_text(f, "ann", "whales", NULL);
    assert_int_equal(before->count, 1);
    assert_int_equal(after->count, 1);
    assert_true(before->hits[0].score >= after->hits[0].score && before->hits[0].score <= after->hits[0].score);
    uar_memory_hits_free(before);
    uar_memory_hits_free(after);
}

static void an_identity_with_bad_ids_or_flags_is_refused(void **state) {
    memory_fixture *f = *state;
    uar_memory_stats stats;
    uar_identity bad[] = { { UAR_IDENTITY_INIT, .user = STR("") },
                           { UAR_IDENTITY_INIT, .user = STR("a\x1F"
                                                            "b") },
                           { UAR_IDENTITY_INIT, .owner = STR("\xFF") },
                           { UAR_IDENTITY_INIT, .flags = 4 } };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(uar_memory_stats_sync(&stats, f->memory, &bad[i], NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_stats_sync(&stats, f->memory, NULL, NULL, NULL), UAR_E_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M1_every_door_shows_exactly_what_the_rule_says),
        cmocka_unit_test(test_M1_no_door_is_missing_from_the_table),
        MEMORY_TEST(test_M1_an_operator_sees_one_owner_and_filters_narrow_it),
        MEMORY_TEST(test_M1_records_of_others_do_not_move_a_score),
        MEMORY_TEST(an_identity_with_bad_ids_or_flags_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
