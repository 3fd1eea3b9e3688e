/* Paths against a brute-force search, and search by words. */
#include "test_memory_graph_fixture.h"

#define NODES 9

/* A random graph, known to the test as a matrix of how many relations lead from one to the other. */
typedef struct little_graph {
    uar_uuid ids[NODES];
    int edges[NODES][NODES];
} little_graph;

static uint64_t dice(uint64_t *seed, uint64_t sides) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % sides;
}

static void make_graph(little_graph *g, memory_fixture *f, uint64_t *seed, int serial) {
    memset(g, 0, sizeof *g);
    for (int i = 0; i < NODES; i++) {
        char name[32];
        snprintf(name, sizeof name, "graph %d node %d", serial, i);
        g->ids[i] = put_entity(f, "ann", name, "");
    }
    static const char *const types[] = { "likes", "feeds" };
    for (int n = 0; n < 16; n++) {
        size_t from = (size_t)dice(seed, NODES), to = (size_t)dice(seed, NODES);
        if (from == to) continue;
        uar_memory_change change = relate_at(f, "ann", g->ids[from], types[dice(seed, 2)], g->ids[to], 1, 0);
        if (change.outcome == UAR_MEMORY_OUTCOME_ADDED) g->edges[from][to]++;
    }
}

/* Number of ways of exactly `left` relations that pass no node twice. */
static size_t count_ways(const little_graph *g, uar_memory_direction direction, size_t from, size_t to, unsigned left,
                         unsigned passed) {
    if (left == 0) return from == to;
    if (from == to) return 0;
    size_t sum = 0;
    for (size_t next = 0; next < NODES; next++) {
        if ((passed >> next & 1) != 0) continue;
        int edges = 0;
        if (direction != UAR_MEMORY_DIRECTION_IN) edges += g->edges[from][next];
        if (direction != UAR_MEMORY_DIRECTION_OUT) edges += g->edges[next][from];
        if (edges != 0) sum += (size_t)edges * count_ways(g, direction, next, to, left - 1, passed | 1u << next);
    }
    return sum;
}

static size_t node_of(const little_graph *g, uar_uuid id) {
    size_t i = 0;
    while (i < NODES && !uar_uuid_equal(g->ids[i], id))
        i++;
    return i;
}

/* Each path leads from one to the other, along relations that are there, past no node twice, and none stands there twice. */
static void assert_paths(const little_graph *g, const uar_memory_paths *p, size_t from, size_t to,
                         uar_memory_direction direction, unsigned most) {
    size_t expected[8] = { 0 }, found[8] = { 0 };
    for (unsigned length = 0; length <= most; length++)
        expected[length] = count_ways(g, direction, from, to, length, 1u << from);
    for (size_t i = 0; i < p->count; i++) {
        const uar_memory_path *path = &p->paths[i];
        assert_true(path->length <= most);
        if (i > 0) assert_true(p->paths[i - 1].length <= path->length);
        found[path->length]++;
        size_t at = from;
        unsigned passed = 1u << from;
        for (size_t k = 0; k < path->length; k++) {
            const uar_memory_step *step = &path->steps[k];
            size_t start = node_of(g, step->relation->from), end = node_of(g, step->relation->to);
            assert_int_equal(at, step->forward ? start : end);
            if (direction == UAR_MEMORY_DIRECTION_OUT) assert_true(step->forward);
            if (direction == UAR_MEMORY_DIRECTION_IN) assert_false(step->forward);
            at = step->forward ? end : start;
            assert_true(at < NODES && (passed >> at & 1) == 0);
            passed |= 1u << at;
        }
        assert_int_equal(at, to);
    }
    for (unsigned length = 0; length <= most; length++)
        assert_int_equal(found[length], expected[length]);
}

static void paths_are_exactly_the_ways_that_there_are(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uint64_t seed = 0x1234567890ABCDEFu;
    for (int round = 0; round < 12; round++) {
        little_graph g;
        make_graph(&g, f, &seed, round);
        for (int n = 0; n < 30; n++) {
            size_t from = (size_t)dice(&seed, NODES), to = (size_t)dice(&seed, NODES);
            uar_memory_graph_filter filter;
            uar_memory_graph_filter_init(&filter);
            filter.direction = (uar_memory_direction)dice(&seed, 3);
            filter.max_length = 1 + (uint32_t)dice(&seed, 6);
            uar_memory_paths *p = NULL;
            assert_int_equal(
                uar_memory_graph_paths_sync(&p, f->memory, &who, g.ids[from], g.ids[to], &filter, 1000, NULL), UAR_OK);
            assert_false(p->truncated);
            assert_paths(&g, p, from, to, filter.direction, filter.max_length);
            uar_memory_paths_free(p);
        }
    }
}

static void a_bound_that_is_met_is_told(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid start = put_entity(f, "ann", "start", ""), goal = put_entity(f, "ann", "goal", "");
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "stop %d", i);
        uar_uuid stop = put_entity(f, "ann", name, "");
        relate(f, "ann", start, "to", stop);
        relate(f, "ann", stop, "to", goal);
    }
    uar_memory_graph_filter filter;
    uar_memory_graph_filter_init(&filter);
    uar_memory_paths *p = NULL;
    assert_int_equal(uar_memory_graph_paths_sync(&p, f->memory, &who, start, goal, &filter, 20, NULL), UAR_OK);
    assert_int_equal(p->count, 20);
    assert_false(p->truncated);
    uar_memory_paths_free(p);
    assert_int_equal(uar_memory_graph_paths_sync(&p, f->memory, &who, start, goal, &filter, 19, NULL), UAR_OK);
    assert_int_equal(p->count, 19);
    assert_true(p->truncated);
    uar_memory_paths_free(p);
    filter.max_visited = 30;
    assert_int_equal(uar_memory_graph_paths_sync(&p, f->memory, &who, start, goal, &filter, 1000, NULL), UAR_OK);
    assert_true(p->truncated);
    assert_true(p->visited <= 30);
    uar_memory_paths_free(p);
    p = NULL;
    filter.max_length = 7;
    assert_int_equal(uar_memory_graph_paths_sync(&p, f->memory, &who, start, goal, &filter, 10, NULL), UAR_E_INVALID);
    filter.max_length = 1;
    assert_int_equal(uar_memory_graph_paths_sync(&p, f->memory, &who, start, goal, &filter, 10, NULL), UAR_OK);
    assert_int_equal(p->count, 0);
    uar_memory_paths_free(p);
}

/* A goal with so many relations that the search around it is cut: the way in is found all the same. */
static void a_crowded_goal_is_reached_within_the_bound(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid goal = put_entity(f, "ann", "goal", ""), start = put_entity(f, "ann", "start", "");
    for (int i = 0; i < 120; i++) {
        char name[16];
        snprintf(name, sizeof name, "fan %d", i);
        relate(f, "ann", put_entity(f, "ann", name, ""), "likes", goal);
    }
    uar_uuid friend = put_entity(f, "ann", "friend", "");
    relate(f, "ann", start, "knows", friend);
    relate(f, "ann", friend, "knows", goal);
    uar_memory_graph_filter filter;
    uar_memory_graph_filter_init(&filter);
    filter.direction = UAR_MEMORY_DIRECTION_OUT;
    filter.max_visited = 60; /* the half of it is spent at the goal */
    filter.max_length = 2;
    uar_memory_paths *p = NULL;
    assert_int_equal(uar_memory_graph_paths_sync(&p, f->memory, &who, start, goal, &filter, 10, NULL), UAR_OK);
    assert_int_equal(p->count, 1);
    assert_int_equal(p->paths[0].length, 2);
    uar_memory_paths_free(p);
}

static void paths_of_one_type_or_one_time_use_no_other(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid a = put_entity(f, "ann", "a", ""), b = put_entity(f, "ann", "b", "");
    relate_at(f, "ann", a, "married to", b, 1000, 2000);
    relate_at(f, "ann", b, "employs", a, 1500, 0);
    uar_memory_graph_filter filter;
    uar_memory_graph_filter_init(&filter);
    const struct {
        int64_t as_of;
        const char *type;
        size_t count;
    } cases[] = {
        { 0, NULL, 1 }, { 1700, NULL, 2 }, { 1200, NULL, 1 }, { 1700, "EMPLOYS", 1 }, { 1200, "employs", 0 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        filter.as_of_ms = cases[i].as_of;
        filter.type = uar_str_of(cases[i].type);
        uar_memory_paths *p = NULL;
        assert_int_equal(uar_memory_graph_paths_sync(&p, f->memory, &who, a, b, &filter, 10, NULL), UAR_OK);
        assert_int_equal(p->count, cases[i].count);
        uar_memory_paths_free(p);
    }
}

static uar_memory_entity_hits *search(memory_fixture *f, const char *user, const char *text,
                                      const uar_memory_graph_filter *filter) {
    uar_identity who = user_of(user);
    uar_memory_entity_hits *hits = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_graph_search_sync(&hits, f->memory, &who, uar_str_of(text), filter, 10, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return hits;
}

static void assert_first(memory_fixture *f, const char *text, const char *name, const char *observation) {
    uar_memory_entity_hits *hits = search(f, "ann", text, NULL);
    if (hits->count == 0) fail_msg("\"%s\" finds nothing", text);
    const uar_memory_entity_hit *hit = &hits->hits[0];
    if (!str_is(hit->entity.name, name)) fail_msg("\"%s\" finds \"%s\"", text, hit->entity.name.ptr);
    if (observation == NULL)
        assert_true(uar_uuid_is_none(hit->observation.id));
    else
        assert_true(str_is(hit->observation.text, observation));
    assert_true(hit->score > 0 && hit->score <= 1);
    uar_memory_entity_hits_free(hits);
}

static void entities_are_found_by_names_aliases_and_observations(void **state) {
    memory_fixture *f = *state;
    uar_str alias = STR("Big Blue");
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = STR("IBM");
    d.kind = STR("company");
    d.aliases = &alias;
    d.alias_count = 1;
    uar_uuid ibm = put_draft(f, "ann", &d).id;
    uar_uuid ada = put_entity(f, "ann", "Ada Lovelace", "person");
    uar_uuid grace = put_entity(f, "ann", "Grace Hopper", "person");
    observe(f, "ann", ibm, "built the System/360 in 1964");
    observe(f, "ann", ada, "wrote the first program");
    observe(f, "ann", ada, "corresponded with Babbage");
    observe(f, "ann", grace, "wrote the first compiler");
    assert_first(f, "big blue", "IBM", NULL);
    assert_first(f, "what was built in 1964?", "IBM", "built the System/360 in 1964");
    assert_first(f, "Who wrote the first compiler?", "Grace Hopper", "wrote the first compiler");
    assert_first(f, "Babbage", "Ada Lovelace", "corresponded with Babbage");
    /* The words of an entity's names and of its observations count together. */
    assert_first(f, "lovelace program", "Ada Lovelace", "wrote the first program");
    uar_memory_graph_filter filter;
    uar_memory_graph_filter_init(&filter);
    filter.kind = STR("PERSON");
    uar_memory_entity_hits *hits = search(f, "ann", "first built", &filter);
    assert_int_equal(hits->count, 2);
    uar_memory_entity_hits_free(hits);
}

static void test_M13_any_text_is_a_question(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = put_entity(f, "ann", "POL-358", "ticket");
    observe(f, "ann", id,
            "\xE6\x9D\xB1\xE4\xBA\xAC\xE3\x81\xAE\xE5\xA4\xA9\xE6\xB0\x97 / "
            "\xD0\xBF\xD0\xBE\xD0\xB3\xD0\xBE\xD0\xB4\xD0\xB0");
    const char *finds[] = { "POL-358",
                            "pol358",
                            "\"POL-358\" OR (",
                            "\xE6\x9D\xB1\xE4\xBA\xAC",
                            "\xD0\x9F\xD0\x9E\xD0\x93\xD0\x9E\xD0\x94\xD0\x90",
                            "NEAR(pol, 358) AND *" };
    for (size_t i = 0; i < sizeof finds / sizeof finds[0]; i++)
        assert_first(f, finds[i], "POL-358",
                     i < 3 || i == 5 ? NULL
                                     : "\xE6\x9D\xB1\xE4\xBA\xAC\xE3\x81\xAE\xE5\xA4\xA9\xE6\xB0\x97 / "
                                       "\xD0\xBF\xD0\xBE\xD0\xB3\xD0\xBE\xD0\xB4\xD0\xB0");
    const char *empty[] = { "", " ", "'\"\\%_;--", "zzzz", "\xF0\x9F\x98\x80" };
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        uar_memory_entity_hits *hits = search(f, "ann", empty[i], NULL);
        assert_int_equal(hits->count, 0);
        assert_true(str_is(hits->query, empty[i]));
        uar_memory_entity_hits_free(hits);
    }
    uar_identity who = user_of("ann");
    uar_memory_entity_hits *hits = NULL;
    assert_int_equal(uar_memory_graph_search_sync(&hits, f->memory, &who, STR("\xFF"), NULL, 10, NULL), UAR_E_UTF8);
    assert_int_equal(uar_memory_graph_search_sync(&hits, f->memory, &who, STR("x"), NULL, 0, NULL), UAR_E_INVALID);
    assert_null(hits);
}

static void a_search_sees_what_held_at_its_time(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = put_entity(f, "ann", "Ann", "");
    observe_at(f, "ann", id, "lives in Bergen", 1000, 2000);
    observe_at(f, "ann", id, "lives in Oslo", 2000, 0);
    uar_memory_graph_filter filter = graph_filter_as_of(1500);
    uar_memory_entity_hits *hits = search(f, "ann", "Bergen", &filter);
    assert_int_equal(hits->count, 1);
    uar_memory_entity_hits_free(hits);
    hits = search(f, "ann", "Bergen", NULL);
    assert_int_equal(hits->count, 0);
    uar_memory_entity_hits_free(hits);
    filter.include_past = true;
    hits = search(f, "ann", "Bergen", &filter);
    assert_int_equal(hits->count, 1);
    uar_memory_entity_hits_free(hits);
}

static void the_shortest_way_is_found_before_detours_use_up_the_bound(void **state) {
    memory_fixture *f = *state;
    enum { RING = 60, REACH = 12 };
    uar_uuid ids[RING];
    for (int i = 0; i < RING; i++) {
        char name[32];
        snprintf(name, sizeof name, "stop %d", i);
        ids[i] = put_entity(f, "ann", name, "");
    }
    for (int i = 0; i < RING; i++)
        for (int step = 1; step <= REACH; step++)
            relate(f, "ann", ids[i], "leads to", ids[(i + step) % RING]);
    uar_identity who = user_of("ann");
    uar_memory_graph_filter filter;
    uar_memory_graph_filter_init(&filter);
    filter.max_length = 6;
    filter.max_visited = 5000;
    uar_memory_paths *paths = NULL;
    assert_int_equal(uar_memory_graph_paths_sync(&paths, f->memory, &who, ids[0], ids[30], &filter, 5, NULL), UAR_OK);
    assert_int_equal(paths->count, 5);
    for (size_t i = 0; i < paths->count; i++)
        assert_int_equal(paths->paths[i].length, 3);
    assert_true(paths->truncated);
    assert_true(paths->visited <= 5000);
    uar_memory_paths_free(paths);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(paths_are_exactly_the_ways_that_there_are),
        MEMORY_TEST(a_bound_that_is_met_is_told),
        MEMORY_TEST(a_crowded_goal_is_reached_within_the_bound),
        MEMORY_TEST(paths_of_one_type_or_one_time_use_no_other),
        MEMORY_TEST(entities_are_found_by_names_aliases_and_observations),
        MEMORY_TEST(test_M13_any_text_is_a_question),
        MEMORY_TEST(a_search_sees_what_held_at_its_time),
        MEMORY_TEST(the_shortest_way_is_found_before_detours_use_up_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
