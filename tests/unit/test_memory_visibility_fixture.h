/*
 * M1, the parts that its three tests share: who may come and where things may lie, the rule that says who sees what, and the
 * loop that sends random visitors to random doors. A test brings its own world, what lies in it, and its own doors.
 * The number of cases is 20,000, or UAR_TEST_FULL's (1: a million).
 */
#ifndef UAR_TESTS_UNIT_MEMORY_VISIBILITY_FIXTURE_H
#define UAR_TESTS_UNIT_MEMORY_VISIBILITY_FIXTURE_H

#include "test_memory_fixture.h"

/* Where something lies: a scope and what it names. */
typedef struct model_place {
    uar_memory_scope scope;
    const char *owner, *user, *agent, *session, *task;
} model_place;

/* Who knocks. */
typedef struct visitor {
    uar_identity who;
    const char *owner, *user, *agent, *session, *task; /* who's ids; NULL: none */
    uint64_t seed, serial;
} visitor;

/* Each test says what its world is made of. */
typedef struct world world;

typedef struct door {
    const char *name; /* of the public call, or of the internal one */
    void (*knock)(world *w);
    unsigned weight;
} door;

/* ---- chance ---- */

/* xorshift: the same cases on every machine. */
static inline uint64_t dice(visitor *v, uint64_t sides) {
    v->seed ^= v->seed << 13;
    v->seed ^= v->seed >> 7;
    v->seed ^= v->seed << 17;
    return v->seed % sides;
}

static inline const char *pick(visitor *v, const char *a, const char *b, bool may_lack) {
    uint64_t n = dice(v, may_lack ? 5 : 4);
    return n == 4 ? NULL : n % 2 == 0 ? a : b;
}

/* A text that nothing else has: its kind, and a word of its own. */
static inline void draw_text(char text[32], visitor *v, const char *kind) {
    snprintf(text, 32, "%s n%llu", kind, (unsigned long long)++v->serial);
}

static inline void visitor_init(visitor *v) {
    *v = (visitor){ .seed = 0x9E3779B97F4A7C15u };
}

static inline void be_somebody(visitor *v) {
    v->owner = pick(v, "acme", "zeta", false);
    v->user = pick(v, "ann", "bob", true);
    v->agent = pick(v, "clerk", "guide", true);
    v->session = pick(v, "s1", "s2", true);
    v->task = pick(v, "t1", "t2", true);
    v->who = (uar_identity){ UAR_IDENTITY_INIT,
                             .owner = uar_str_of(v->owner),
                             .user = uar_str_of(v->user),
                             .agent = uar_str_of(v->agent),
                             .session = uar_str_of(v->session),
                             .task = uar_str_of(v->task) };
    if (dice(v, 2) == 0) v->who.flags |= UAR_IDENTITY_WRITE_SHARED;
    if (dice(v, 8) == 0) v->who.flags |= UAR_IDENTITY_OPERATOR;
}

/* The ids that a scope names, of a writer who has them all: what it doesn't name must not narrow the place. */
static inline model_place draw_place(uar_identity *writer, visitor *v, const char *owner) {
    model_place p = { .scope = (uar_memory_scope)(1 + dice(v, 5)), .owner = owner };
    const char *user = pick(v, "ann", "bob", false), *agent = pick(v, "clerk", "guide", false);
    const char *session = pick(v, "s1", "s2", false), *task = pick(v, "t1", "t2", false);
    if (p.scope >= UAR_MEMORY_SCOPE_USER) p.user = user;
    if (p.scope == UAR_MEMORY_SCOPE_AGENT) p.agent = agent;
    if (p.scope == UAR_MEMORY_SCOPE_SESSION) p.session = session;
    if (p.scope == UAR_MEMORY_SCOPE_TASK) p.task = task;
    *writer = (uar_identity){ UAR_IDENTITY_INIT,
                              .owner = uar_str_of(owner),
                              .user = uar_str_of(user),
                              .agent = uar_str_of(agent),
                              .session = uar_str_of(session),
                              .task = uar_str_of(task),
                              .flags = UAR_IDENTITY_WRITE_SHARED };
    return p;
}

static inline uar_identity boss_of(const char *owner) {
    return (uar_identity){ UAR_IDENTITY_INIT, .owner = uar_str_of(owner),
                           .flags = UAR_IDENTITY_OPERATOR | UAR_IDENTITY_WRITE_SHARED };
}

/* ---- the rule, in its own words ---- */

static inline bool same(const char *a, const char *b) {
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static inline bool same_or_none(const char *a, const char *b) {
    return (a == NULL && b == NULL) || same(a, b);
}

static inline bool same_place(const model_place *a, const model_place *b) {
    return a->scope == b->scope && same(a->owner, b->owner) && same_or_none(a->user, b->user) &&
           same_or_none(a->agent, b->agent) && same_or_none(a->session, b->session) && same_or_none(a->task, b->task);
}

static inline bool is_operator(const visitor *v) {
    return (v->who.flags & UAR_IDENTITY_OPERATOR) != 0;
}

/* What somebody sees who has these ids and is no operator. */
static inline bool is_within(const visitor *v, const model_place *p) {
    if (!same(p->owner, v->owner)) return false;
    switch (p->scope) {
    case UAR_MEMORY_SCOPE_GLOBAL: return true;
    case UAR_MEMORY_SCOPE_AGENT: return same(p->agent, v->agent);
    case UAR_MEMORY_SCOPE_USER: return same(p->user, v->user);
    case UAR_MEMORY_SCOPE_SESSION: return same(p->session, v->session) && same(p->user, v->user);
    case UAR_MEMORY_SCOPE_TASK: return same(p->task, v->task) && same(p->user, v->user);
    }
    return false;
}

static inline bool sees_place(const visitor *v, const model_place *p) {
    return is_operator(v) ? same(p->owner, v->owner) : is_within(v, p);
}

static inline bool may_write(const visitor *v, uar_memory_scope scope) {
    bool shared = scope == UAR_MEMORY_SCOPE_GLOBAL || scope == UAR_MEMORY_SCOPE_AGENT;
    return !shared || (v->who.flags & UAR_IDENTITY_WRITE_SHARED) != 0;
}

/* What isn't seen is not even forbidden. */
static inline uar_status write_status(const visitor *v, bool sees, uar_memory_scope scope) {
    return !sees ? UAR_E_NOT_FOUND : may_write(v, scope) ? UAR_OK : UAR_E_FORBIDDEN;
}

/* The visitor's own place of a scope. False if it lacks an id that the scope asks for. */
static inline bool own_place(model_place *out, const visitor *v, uar_memory_scope scope) {
    model_place p = { .scope = scope, .owner = v->owner };
    if (scope >= UAR_MEMORY_SCOPE_USER) p.user = v->user;
    if (scope == UAR_MEMORY_SCOPE_AGENT) p.agent = v->agent;
    if (scope == UAR_MEMORY_SCOPE_SESSION) p.session = v->session;
    if (scope == UAR_MEMORY_SCOPE_TASK) p.task = v->task;
    *out = p;
    return is_within(v, &p);
}

/* ---- lines of exports and imports ---- */

static inline const char *line_text(char text[2048], uar_str line) {
    assert_true(line.len < 2048);
    memcpy(text, line.ptr, line.len);
    text[line.len] = '\0';
    return text;
}

/* The id behind a key, written as "\"id\":\"". */
static inline uar_uuid line_uuid(const char *text, const char *key) {
    const char *at = strstr(text, key);
    assert_non_null(at);
    uar_uuid id;
    assert_int_equal(uar_uuid_parse(&id, uar_str_n(at + strlen(key), UAR_UUID_TEXT - 1)), UAR_OK);
    return id;
}

/* The members of a line that say a place. */
static inline void place_members(char out[256], const model_place *p) {
    const char *const ids[][2] = { { "owner", p->owner },
                                   { "user", p->user },
                                   { "agent", p->agent },
                                   { "session", p->session },
                                   { "task", p->task } };
    int at = snprintf(out, 256, "\"scope\":\"%s\"", uar_memory_scope_name(p->scope));
    for (size_t i = 0; i < 5; i++)
        if (ids[i][1] != NULL) at += snprintf(out + at, 256 - (size_t)at, ",\"%s\":\"%s\"", ids[i][0], ids[i][1]);
}

/* ---- the loop ---- */

static inline unsigned long case_count(void) {
    const char *full = getenv("UAR_TEST_FULL");
    unsigned long count = full != NULL ? strtoul(full, NULL, 10) : 20000;
    return count == 1 ? 1000000 : count != 0 ? count : 20000;
}

static inline const door *pick_door(visitor *v, const door *doors, size_t count) {
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += doors[i].weight;
    unsigned at = (unsigned)dice(v, sum);
    for (size_t i = 0;; i++) {
        if (at < doors[i].weight) return &doors[i];
        at -= doors[i].weight;
    }
}

static inline void knock_at_random(world *w, visitor *v, memory_fixture *f, const door *doors, size_t count) {
    unsigned long cases = case_count();
    for (unsigned long i = 0; i < cases; i++) {
        be_somebody(v);
        pick_door(v, doors, count)->knock(w);
        atomic_fetch_add(&f->now, 1);
    }
    assert_sound(f);
}

/* ---- the table of doors ---- */

static inline void must_be_listed(const char *name, const door *doors, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, doors[i].name) == 0) return;
    fail_msg("%s has no case in the visibility test", name);
}

/* The header is the list of doors: how many calls take an identity. One that the table lacks fails. */
static inline size_t count_listed_doors(const char *header, const door *doors, size_t count) {
    const char *root = getenv("UAR_SOURCE_ROOT");
    char path[4096];
    snprintf(path, sizeof path, "%s/include/uar/%s", root != NULL && root[0] != '\0' ? root : ".", header);
    FILE *file = fopen(path, "rb");
    if (file == NULL) skip();
    static char text[65536];
    size_t len = fread(text, 1, sizeof text - 1, file), found = 0;
    fclose(file);
    assert_true(len < sizeof text - 1);
    text[len] = '\0';
    char *next = NULL;
    for (char *at = strstr(text, "\nUAR_API"); at != NULL; at = next) {
        char *end = strchr(at, ';'), *open = strchr(at, '(');
        assert_true(end != NULL && open != NULL && open < end);
        next = strstr(end, "\nUAR_API");
        *end = '\0';
        if (strstr(open, "uar_identity *who") == NULL) continue;
        const char *name = open;
        while (name[-1] != ' ' && name[-1] != '*')
            name--;
        *open = '\0';
        must_be_listed(name, doors, count);
        found++;
    }
    return found;
}

#endif
