/* The knowledge graph: names and merging, times, what hangs together, reading in pages. */
#include "test_memory_graph_fixture.h"

#include "base/clock.h"

static uar_status rename_to(memory_fixture *f, const char *user, uar_uuid id, const char *name) {
    uar_identity who = user_of(user);
    uar_memory_change change;
    return uar_memory_graph_rename_sync(&change, f->memory, &who, id, uar_str_of(name), NULL);
}

static uar_status merge(memory_fixture *f, const char *user, uar_uuid into, uar_uuid from) {
    uar_identity who = user_of(user);
    uar_memory_change change;
    return uar_memory_graph_merge_sync(&change, f->memory, &who, into, from, NULL);
}

static uar_memory_graph *find_named(memory_fixture *f, const char *user, const char *name, const char *kind) {
    uar_identity who = user_of(user);
    uar_memory_graph_filter filter;
    uar_memory_graph_filter_init(&filter);
    filter.kind = uar_str_of(kind);
    uar_memory_graph *g = NULL;
    assert_int_equal(uar_memory_graph_find_sync(&g, f->memory, &who, uar_str_of(name), &filter, NULL), UAR_OK);
    return g;
}

static void the_same_folded_name_and_kind_is_the_same_entity(void **state) {
    memory_fixture *f = *state;
    uar_uuid first = put_entity(f, "ann", "Acme Corp", "company");
    uar_uuid again = put_entity(f, "ann", "ACME\xC2\xA0 \xEF\xBD\x83orp", "Company"); /* wide c, other space */
    assert_true(uar_uuid_equal(first, again));
    uar_uuid other_kind = put_entity(f, "ann", "Acme Corp", "cat");
    assert_false(uar_uuid_equal(first, other_kind));
    uar_uuid other_user = put_entity(f, "bob", "Acme Corp", "company");
    assert_false(uar_uuid_equal(first, other_user));
    uar_memory_graph *g = get_entity(f, "ann", first);
    assert_true(str_is(g->entities[0].name, "Acme Corp"));
    assert_int_equal(g->entities[0].revision, 1);
    assert_int_equal(g->entities[0].alias_count, 0);
    uar_memory_graph_free(g);
    assert_sound(f);
}

static void putting_again_keeps_aliases_and_merges_properties(void **state) {
    memory_fixture *f = *state;
    uar_str aliases[] = { STR("Big Blue"), STR("BIG blue"), STR("ibm") };
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = STR("IBM");
    d.kind = STR("company");
    d.aliases = aliases;
    d.alias_count = 3;
    d.properties = STR("{\"founded\":1911,\"n\":12345678901234567890}");
    uar_uuid id = put_draft(f, "ann", &d).id;
    uar_str more[] = { STR("International Business Machines") };
    d.name = STR("big BLUE"); /* an alias names it too */
    d.aliases = more;
    d.alias_count = 1;
    d.properties = STR("{\"founded\":1912,\"colour\":\"blue\"}");
    uar_memory_change change = put_draft(f, "ann", &d);
    assert_true(uar_uuid_equal(change.id, id));
    assert_int_equal(change.outcome, UAR_MEMORY_OUTCOME_UPDATED);
    assert_int_equal(change.revision, 2);
    uar_memory_graph *g = get_entity(f, "ann", id);
    const uar_memory_entity *e = &g->entities[0];
    assert_true(str_is(e->name, "IBM"));
    assert_int_equal(e->alias_count, 2);
    assert_true(str_is(e->aliases[0], "Big Blue"));
    assert_true(str_is(e->aliases[1], "International Business Machines"));
    assert_true(str_is(e->properties, "{\"founded\":1912,\"n\":12345678901234567890,\"colour\":\"blue\"}"));
    uar_memory_graph_free(g);
    assert_int_equal(put_draft(f, "ann", &d).outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    d.replace_properties = true;
    d.properties = STR("{}");
    assert_int_equal(put_draft(f, "ann", &d).outcome, UAR_MEMORY_OUTCOME_UPDATED);
    g = get_entity(f, "ann", id);
    assert_true(str_is(g->entities[0].properties, "{}"));
    uar_memory_graph_free(g);
    assert_sound(f);
}

static void a_draft_that_breaks_a_rule_is_refused_by_name(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    char name[300];
    memset(name, 'n', sizeof name);
    const struct {
        uar_str name, kind, properties;
        uar_status status;
    } cases[] = {
        { STR(""), STR("k"), STR("{}"), UAR_E_INVALID },
        { STR("  \t"), STR("k"), STR("{}"), UAR_E_INVALID },
        { STR("two\nlines"), STR("k"), STR("{}"), UAR_E_INVALID },
        { STR("unit\x1Fseparator"), STR("k"), STR("{}"), UAR_E_INVALID },
        { uar_str_n("a\0b", 3), STR("k"), STR("{}"), UAR_E_INVALID },
        { STR("\xC3\x28"), STR("k"), STR("{}"), UAR_E_UTF8 },
        { uar_str_n(name, 257), STR("k"), STR("{}"), UAR_E_TOO_LARGE },
        { uar_str_n(name, 256), STR("k"), STR("{}"), UAR_OK },
        { STR("n"), uar_str_n(name, 257), STR("{}"), UAR_E_TOO_LARGE },
        { STR("n"), STR("k"), STR("{\"a\":1,}"), UAR_E_JSON },
        { STR("n"), STR("k"), STR("[1]"), UAR_E_INVALID },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uar_memory_entity_draft d;
        uar_memory_entity_draft_init(&d);
        d.name = cases[i].name;
        d.kind = cases[i].kind;
        d.properties = cases[i].properties;
        uar_memory_change change;
        uar_error err = UAR_ERROR_INIT;
        uar_status status = uar_memory_graph_put_sync(&change, f->memory, &who, &d, &err);
        if (status != cases[i].status) fail_msg("case %zu: %s", i, uar_status_name(status));
        if (status != UAR_OK) assert_true(err.code == status && err.message[0] != '\0');
    }
    uar_memory_entity_draft newer;
    uar_memory_entity_draft_init(&newer);
    newer.size = 4;
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_put_sync(&change, f->memory, &who, &newer, NULL), UAR_E_STRUCT);
    assert_int_equal(uar_memory_graph_put_sync(&change, f->memory, &who, NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_graph_put_sync(&change, NULL, &who, &newer, NULL), UAR_E_DISABLED);
}

static void properties_have_a_limit_that_merging_keeps(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    char text[40100];
    for (int round = 0; round < 2; round++) {
        int at = snprintf(text, sizeof text, "{\"k%d\":\"", round);
        memset(text + at, 'x', 40000);
        memcpy(text + at + 40000, "\"}", 3);
        uar_memory_entity_draft d;
        uar_memory_entity_draft_init(&d);
        d.name = STR("big");
        d.properties = uar_str_of(text);
        uar_memory_change change;
        assert_int_equal(uar_memory_graph_put_sync(&change, f->memory, &who, &d, NULL),
                         round == 0 ? UAR_OK : UAR_E_TOO_LARGE);
    }
    assert_sound(f);
}

static void an_entity_has_at_most_so_many_aliases(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid id = put_entity(f, "ann", "many", "");
    for (int i = 0; i < 65; i++) {
        char name[16];
        snprintf(name, sizeof name, "alias %d", i);
        uar_str alias = uar_str_of(name);
        uar_memory_entity_draft d;
        uar_memory_entity_draft_init(&d);
        d.name = STR("many");
        d.aliases = &alias;
        d.alias_count = 1;
        uar_memory_change change;
        assert_int_equal(uar_memory_graph_put_sync(&change, f->memory, &who, &d, NULL),
                         i < 64 ? UAR_OK : UAR_E_TOO_LARGE);
    }
    assert_int_equal(rename_to(f, "ann", id, "one name more"), UAR_E_TOO_LARGE);
    assert_int_equal(rename_to(f, "ann", id, "alias 7"), UAR_OK);
    assert_sound(f);
}

static void a_renamed_entity_is_found_by_its_old_name(void **state) {
    memory_fixture *f = *state;
    uar_uuid id = put_entity(f, "ann", "Twitter", "service");
    put_entity(f, "ann", "Y", "service");
    assert_int_equal(rename_to(f, "ann", id, "X"), UAR_OK);
    assert_int_equal(rename_to(f, "ann", id, "y"), UAR_E_EXISTS);
    uar_memory_graph *g = find_named(f, "ann", "twitter", NULL);
    assert_int_equal(g->entity_count, 1);
    assert_true(uar_uuid_equal(g->entities[0].id, id));
    assert_true(str_is(g->entities[0].name, "X"));
    assert_true(str_is(g->entities[0].aliases[0], "Twitter"));
    uar_memory_graph_free(g);
    assert_int_equal(rename_to(f, "ann", id, "Twitter"), UAR_OK);
    g = get_entity(f, "ann", id);
    assert_int_equal(g->entities[0].alias_count, 1);
    assert_true(str_is(g->entities[0].aliases[0], "X"));
    assert_int_equal(g->entities[0].revision, 3);
    uar_memory_graph_free(g);
    assert_sound(f);
}

static void names_are_found_before_aliases_and_by_kind(void **state) {
    memory_fixture *f = *state;
    uar_str alias = STR("Mercury");
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = STR("quicksilver");
    d.kind = STR("metal");
    d.aliases = &alias;
    d.alias_count = 1;
    uar_uuid metal = put_draft(f, "ann", &d).id;
    uar_uuid planet = put_entity(f, "ann", "Mercury", "planet");
    uar_memory_graph *g = find_named(f, "ann", "MERCURY", NULL);
    assert_int_equal(g->entity_count, 2);
    assert_true(uar_uuid_equal(g->entities[0].id, planet));
    uar_memory_graph_free(g);
    g = find_named(f, "ann", "mercury", "METAL");
    assert_int_equal(g->entity_count, 1);
    assert_true(uar_uuid_equal(g->entities[0].id, metal));
    uar_memory_graph_free(g);
}

static void merging_moves_everything_and_the_old_id_stands_for_the_new_one(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid bob = put_entity(f, "ann", "Bob", "person"), robert = put_entity(f, "ann", "Robert", "human");
    uar_uuid acme = put_entity(f, "ann", "Acme", "company"), zeta = put_entity(f, "ann", "Zeta", "company");
    relate(f, "ann", bob, "works at", acme);
    relate(f, "ann", robert, "works at", acme); /* a double once merged */
    relate(f, "ann", robert, "owns", zeta);
    relate(f, "ann", zeta, "pays", robert);
    relate(f, "ann", bob, "is also", robert); /* a loop once merged */
    observe(f, "ann", bob, "likes tea");
    observe(f, "ann", robert, "LIKES tea");
    observe(f, "ann", robert, "plays chess");
    uar_memory_change record = add_text(f, "ann", "Robert called today");
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_link_sync(&change, f->memory, &who, record.id, robert, NULL), UAR_OK);
    atomic_fetch_add(&f->now, 5);
    assert_int_equal(merge(f, "ann", bob, robert), UAR_OK);
    assert_sound(f);

    uar_memory_graph *g = get_entity(f, "ann", robert);
    assert_true(uar_uuid_equal(g->entities[0].id, bob));
    assert_int_equal(g->entities[0].alias_count, 1);
    assert_true(str_is(g->entities[0].aliases[0], "Robert"));
    uar_memory_graph_free(g);
    g = neighbours_of(f, "ann", robert, NULL);
    assert_int_equal(g->relation_count, 3);
    assert_int_equal(g->entity_count, 2);
    for (size_t i = 0; i < 3; i++)
        assert_false(uar_uuid_equal(g->relations[i].from, g->relations[i].to));
    uar_memory_graph_free(g);
    g = observations_of(f, "ann", bob, NULL);
    assert_int_equal(g->observation_count, 2);
    assert_true(uar_uuid_equal(g->observations[1].entity, bob));
    uar_memory_graph_free(g);
    g = NULL;
    assert_int_equal(uar_memory_graph_entities_of_sync(&g, f->memory, &who, record.id, uar_str_of(NULL), 10, NULL),
                     UAR_OK);
    assert_int_equal(g->entity_count, 1);
    assert_true(uar_uuid_equal(g->entities[0].id, bob));
    uar_memory_graph_free(g);

    /* A second merge carries the first one's id along. */
    uar_uuid rob = put_entity(f, "ann", "Rob", "person");
    assert_int_equal(merge(f, "ann", rob, bob), UAR_OK);
    g = get_entity(f, "ann", robert);
    assert_true(uar_uuid_equal(g->entities[0].id, rob));
    assert_int_equal(g->entities[0].alias_count, 2);
    uar_memory_graph_free(g);
    assert_int_equal(merge(f, "ann", rob, robert), UAR_E_INVALID);
    uar_memory_stats stats;
    assert_int_equal(uar_memory_stats_sync(&stats, f->memory, &who, NULL, NULL), UAR_OK);
    assert_int_equal(stats.pending, 0);
    assert_sound(f);
}

static void entities_of_two_places_are_not_merged(void **state) {
    memory_fixture *f = *state;
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = STR("Oslo");
    d.place.scope = UAR_MEMORY_SCOPE_GLOBAL;
    uar_uuid shared = put_draft(f, "ann", &d).id;
    uar_uuid own = put_entity(f, "ann", "Oslo", "");
    assert_false(uar_uuid_equal(shared, own));
    assert_int_equal(merge(f, "ann", shared, own), UAR_E_INVALID);
}

static void a_repeated_relation_is_one_and_its_times_are_joined(void **state) {
    memory_fixture *f = *state;
    uar_uuid a = put_entity(f, "ann", "a", ""), b = put_entity(f, "ann", "b", "");
    uar_memory_change first = relate_at(f, "ann", a, "knows", b, 1000, 2000);
    assert_int_equal(first.outcome, UAR_MEMORY_OUTCOME_ADDED);
    uar_memory_change apart = relate_at(f, "ann", a, "KNOWS", b, 5000, 6000);
    assert_int_equal(apart.outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_false(uar_uuid_equal(first.id, apart.id));
    assert_int_equal(relate_at(f, "ann", a, "knows", b, 1200, 1300).outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    uar_memory_change bridge = relate_at(f, "ann", a, "knows", b, 1500, 5500);
    assert_int_equal(bridge.outcome, UAR_MEMORY_OUTCOME_UPDATED);
    assert_true(uar_uuid_equal(bridge.id, first.id));
    uar_memory_graph_filter filter = graph_filter_as_of(5900);
    uar_memory_graph *g = neighbours_of(f, "ann", a, &filter);
    assert_int_equal(g->relation_count, 1);
    assert_int_equal(g->relations[0].valid_from_ms, 1000);
    assert_int_equal(g->relations[0].valid_until_ms, 6000);
    uar_memory_graph_free(g);
    /* The other way round is another relation. */
    assert_int_equal(relate_at(f, "ann", b, "knows", a, 1000, 2000).outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_sound(f);
}

static void a_relation_needs_two_visible_entities_and_a_span_of_time(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid a = put_entity(f, "ann", "a", ""), b = put_entity(f, "ann", "b", ""), c = put_entity(f, "bob", "c", "");
    uar_memory_relation_draft d;
    uar_memory_relation_draft_init(&d);
    d.from = a;
    d.type = STR("t");
    uar_memory_change change;
    const struct {
        uar_uuid to;
        int64_t from_ms, until_ms;
        uar_status status;
    } cases[] = { { a, 0, 0, UAR_E_INVALID },
                  { c, 0, 0, UAR_E_NOT_FOUND },
                  { { { 0 } }, 0, 0, UAR_E_NOT_FOUND },
                  { b, 2000, 1000, UAR_E_INVALID },
                  { b, 1000, 1000, UAR_OK } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        d.to = cases[i].to;
        d.valid_from_ms = cases[i].from_ms;
        d.valid_until_ms = cases[i].until_ms;
        assert_int_equal(uar_memory_graph_relate_sync(&change, f->memory, &who, &d, NULL), cases[i].status);
    }
}

static void an_ended_relation_is_read_as_of_earlier_times(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid ann = put_entity(f, "ann", "Ann", ""), oslo = put_entity(f, "ann", "Oslo", "");
    uar_uuid lives = relate(f, "ann", ann, "lives in", oslo);
    uar_uuid note = observe(f, "ann", ann, "has a flat by the harbour");
    int64_t then = atomic_load(&f->now);
    atomic_fetch_add(&f->now, 1000);
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_end_sync(&change, f->memory, &who, lives, 0, NULL), UAR_OK);
    assert_int_equal(change.outcome, UAR_MEMORY_OUTCOME_UPDATED);
    assert_int_equal(uar_memory_graph_end_sync(&change, f->memory, &who, note, then + 10, NULL), UAR_OK);
    assert_int_equal(uar_memory_graph_end_sync(&change, f->memory, &who, note, then + 500, NULL), UAR_OK);
    assert_int_equal(change.outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    assert_int_equal(uar_memory_graph_end_sync(&change, f->memory, &who, lives, then - 1, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_graph_end_sync(&change, f->memory, &who, ann, 0, NULL), UAR_E_INVALID);
    uar_memory_graph *g = neighbours_of(f, "ann", ann, NULL);
    assert_int_equal(g->relation_count + g->entity_count, 0);
    uar_memory_graph_free(g);
    uar_memory_graph_filter past = graph_filter_as_of(then);
    g = neighbours_of(f, "ann", ann, &past);
    assert_int_equal(g->relation_count, 1);
    assert_true(str_is(g->relations[0].to_name, "Oslo"));
    uar_memory_graph_free(g);
    g = observations_of(f, "ann", ann, &past);
    assert_int_equal(g->observation_count, 1);
    uar_memory_graph_free(g);
    past.as_of_ms = then + 10;
    g = observations_of(f, "ann", ann, &past);
    assert_int_equal(g->observation_count, 0);
    uar_memory_graph_free(g);
    past.as_of_ms = 0;
    past.include_past = true;
    g = neighbours_of(f, "ann", ann, &past);
    assert_int_equal(g->relation_count, 1);
    uar_memory_graph_free(g);
    uar_memory_graph_stats stats = graph_stats(f, "ann");
    assert_int_equal(stats.entities, 2);
    assert_int_equal(stats.relations + stats.observations, 0);
    assert_sound(f);
}

static void neighbours_can_be_narrowed_by_way_and_type(void **state) {
    memory_fixture *f = *state;
    uar_uuid hub = put_entity(f, "ann", "hub", ""), in = put_entity(f, "ann", "in", ""),
             out = put_entity(f, "ann", "out", "");
    relate(f, "ann", hub, "feeds", out);
    relate(f, "ann", in, "feeds", hub);
    relate(f, "ann", in, "Owns", hub);
    uar_memory_graph_filter filter;
    uar_memory_graph_filter_init(&filter);
    const struct {
        uar_memory_direction direction;
        const char *type;
        size_t relations, entities;
    } cases[] = { { UAR_MEMORY_DIRECTION_BOTH, NULL, 3, 2 },  { UAR_MEMORY_DIRECTION_OUT, NULL, 1, 1 },
                  { UAR_MEMORY_DIRECTION_IN, NULL, 2, 1 },    { UAR_MEMORY_DIRECTION_BOTH, "FEEDS", 2, 2 },
                  { UAR_MEMORY_DIRECTION_OUT, "owns", 0, 0 }, { UAR_MEMORY_DIRECTION_IN, "owns", 1, 1 },
                  { UAR_MEMORY_DIRECTION_BOTH, "eats", 0, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        filter.direction = cases[i].direction;
        filter.type = uar_str_of(cases[i].type);
        uar_memory_graph *g = neighbours_of(f, "ann", hub, &filter);
        assert_int_equal(g->relation_count, cases[i].relations);
        assert_int_equal(g->entity_count, cases[i].entities);
        uar_memory_graph_free(g);
    }
    uar_identity who = user_of("ann");
    uar_memory_graph *g = NULL;
    filter.direction = (uar_memory_direction)3;
    assert_int_equal(uar_memory_graph_neighbours_sync(&g, f->memory, &who, hub, &filter, uar_str_of(NULL), 10, NULL),
                     UAR_E_INVALID);
}

typedef uar_status (*page_of)(uar_memory_graph **out, memory_fixture *f, uar_str cursor, size_t limit, uar_uuid id);

static uar_status page_entities(uar_memory_graph **out, memory_fixture *f, uar_str cursor, size_t limit, uar_uuid id) {
    (void)id;
    uar_identity who = user_of("ann");
    return uar_memory_graph_entities_sync(out, f->memory, &who, NULL, cursor, limit, NULL);
}

static uar_status page_relations(uar_memory_graph **out, memory_fixture *f, uar_str cursor, size_t limit, uar_uuid id) {
    (void)id;
    uar_identity who = user_of("ann");
    return uar_memory_graph_relations_sync(out, f->memory, &who, NULL, cursor, limit, NULL);
}

static uar_status page_observations(uar_memory_graph **out, memory_fixture *f, uar_str cursor, size_t limit,
                                    uar_uuid id) {
    uar_identity who = user_of("ann");
    return uar_memory_graph_observations_sync(out, f->memory, &who, id, NULL, cursor, limit, NULL);
}

static uar_status page_neighbours(uar_memory_graph **out, memory_fixture *f, uar_str cursor, size_t limit,
                                  uar_uuid id) {
    uar_identity who = user_of("ann");
    return uar_memory_graph_neighbours_sync(out, f->memory, &who, id, NULL, cursor, limit, NULL);
}

/* Walk through all pages; the number of items of the kind that the page is about. */
static size_t walk(memory_fixture *f, page_of page, size_t limit, uar_uuid id) {
    size_t count = 0;
    char cursor[32] = "";
    for (int pages = 0; pages < 1000; pages++) {
        uar_memory_graph *g = NULL;
        assert_int_equal(page(&g, f, cursor[0] != '\0' ? uar_str_of(cursor) : uar_str_of(NULL), limit, id), UAR_OK);
        size_t here = g->relation_count + g->observation_count;
        if (here == 0) here = g->entity_count;
        assert_true(here <= limit);
        count += here;
        bool more = g->cursor.ptr != NULL;
        if (more) {
            assert_int_equal(here, limit);
            memcpy(cursor, g->cursor.ptr, g->cursor.len);
            cursor[g->cursor.len] = '\0';
        }
        uar_memory_graph_free(g);
        if (!more) return count;
    }
    fail_msg("the pages don't end");
    return 0;
}

static void everything_is_read_in_pages(void **state) {
    memory_fixture *f = *state;
    uar_uuid hub = put_entity(f, "ann", "hub", "");
    for (int i = 0; i < 11; i++) {
        char name[32];
        snprintf(name, sizeof name, "spoke %d", i);
        relate(f, "ann", i % 2 == 0 ? hub : put_entity(f, "ann", name, ""), "has",
               i % 2 == 0 ? put_entity(f, "ann", name, "") : hub);
        observe(f, "ann", hub, name);
    }
    for (size_t limit = 1; limit < 14; limit++) {
        assert_int_equal(walk(f, page_entities, limit, hub), 12);
        assert_int_equal(walk(f, page_relations, limit, hub), 11);
        assert_int_equal(walk(f, page_observations, limit, hub), 11);
        assert_int_equal(walk(f, page_observations, limit, (uar_uuid){ { 0 } }), 11);
        assert_int_equal(walk(f, page_neighbours, limit, hub), 11);
    }
    uar_identity who = user_of("ann");
    uar_memory_graph *g = NULL;
    assert_int_equal(uar_memory_graph_entities_sync(&g, f->memory, &who, NULL, STR("x1"), 10, NULL), UAR_E_INVALID);
    assert_int_equal(uar_memory_graph_entities_sync(&g, f->memory, &who, NULL, uar_str_of(NULL), 0, NULL),
                     UAR_E_INVALID);
    assert_int_equal(uar_memory_graph_entities_sync(&g, f->memory, &who, NULL, uar_str_of(NULL), 1001, NULL),
                     UAR_E_INVALID);
    assert_null(g);
}

static void a_record_and_an_entity_are_linked_until_one_goes(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid oslo = put_entity(f, "ann", "Oslo", "");
    uar_uuid ids[3];
    uar_memory_change change;
    for (int i = 0; i < 3; i++) {
        char text[32];
        snprintf(text, sizeof text, "trip to Oslo, number %d", i);
        ids[i] = add_text(f, "ann", text).id;
        assert_int_equal(uar_memory_graph_link_sync(&change, f->memory, &who, ids[i], oslo, NULL), UAR_OK);
        assert_int_equal(change.outcome, UAR_MEMORY_OUTCOME_ADDED);
    }
    assert_int_equal(uar_memory_graph_link_sync(&change, f->memory, &who, ids[0], oslo, NULL), UAR_OK);
    assert_int_equal(change.outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    uar_memory_records *records = NULL;
    assert_int_equal(uar_memory_graph_records_of_sync(&records, f->memory, &who, oslo, uar_str_of(NULL), 2, NULL),
                     UAR_OK);
    assert_int_equal(records->count, 2);
    uar_memory_records *rest = NULL;
    assert_int_equal(uar_memory_graph_records_of_sync(&rest, f->memory, &who, oslo, records->cursor, 2, NULL), UAR_OK);
    assert_int_equal(rest->count, 1);
    assert_true(uar_uuid_equal(rest->records[0].id, ids[2]));
    assert_null(rest->cursor.ptr);
    uar_memory_records_free(rest);
    uar_memory_records_free(records);
    assert_int_equal(graph_stats(f, "ann").links, 3);
    assert_int_equal(uar_memory_graph_unlink_sync(&change, f->memory, &who, ids[0], oslo, NULL), UAR_OK);
    assert_int_equal(uar_memory_graph_unlink_sync(&change, f->memory, &who, ids[0], oslo, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_memory_delete_sync(&change, f->memory, &who, ids[1], NULL), UAR_OK);
    assert_int_equal(graph_stats(f, "ann").links, 1);
    assert_sound(f);
    assert_int_equal(uar_memory_graph_delete_sync(&change, f->memory, &who, oslo, NULL), UAR_OK);
    assert_int_equal(graph_stats(f, "ann").links, 0);
    assert_int_equal(uar_memory_graph_link_sync(&change, f->memory, &who, ids[2], oslo, NULL), UAR_E_NOT_FOUND);
    assert_sound(f);
}

static void a_changed_record_keeps_its_links(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_uuid oslo = put_entity(f, "ann", "Oslo", "");
    uar_uuid id = add_text(f, "ann", "trip to Oslo").id;
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_link_sync(&change, f->memory, &who, id, oslo, NULL), UAR_OK);
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("trip to Oslo by train");
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, id, &p, NULL), UAR_OK);
    uar_memory_records *records = NULL;
    assert_int_equal(uar_memory_graph_records_of_sync(&records, f->memory, &who, oslo, uar_str_of(NULL), 9, NULL),
                     UAR_OK);
    assert_int_equal(records->count, 1);
    assert_true(str_is(records->records[0].content, "trip to Oslo by train"));
    uar_memory_records_free(records);
}

static void the_graph_is_there_after_reopening_and_reindexing(void **state) {
    memory_fixture *f = *state;
    uar_uuid a = put_entity(f, "ann", "Grace Hopper", "person"), b = put_entity(f, "ann", "COBOL", "language");
    relate(f, "ann", a, "designed", b);
    observe(f, "ann", a, "found a moth in a relay");
    fixture_reopen(f);
    assert_int_equal(uar_memory_reindex_sync(f->memory, NULL), UAR_OK);
    assert_sound(f);
    uar_identity who = user_of("ann");
    uar_memory_entity_hits *hits = NULL;
    assert_int_equal(uar_memory_graph_search_sync(&hits, f->memory, &who, STR("moth"), NULL, 5, NULL), UAR_OK);
    assert_int_equal(hits->count, 1);
    assert_true(str_is(hits->hits[0].entity.name, "Grace Hopper"));
    assert_true(str_is(hits->hits[0].observation.text, "found a moth in a relay"));
    uar_memory_entity_hits_free(hits);
}

static uar_status count_links(void *ctx, uar_str line) {
    if (strstr(line.ptr, "\"item\":\"link\"") != NULL) ++*(size_t *)ctx;
    return UAR_OK;
}

static void test_M6_a_record_that_has_expired_is_in_no_answer_of_the_graph(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    uar_memory_draft d = draft_of("the code of the week is heron");
    d.expires_ms = FIXTURE_START + 5000;
    uar_uuid record = add_draft(f, "ann", &d).id;
    uar_uuid ada = put_entity(f, "ann", "Ada", "");
    uar_memory_change change;
    assert_int_equal(uar_memory_graph_link_sync(&change, f->memory, &who, record, ada, NULL), UAR_OK);
    assert_int_equal(graph_stats(f, "ann").links, 1);
    atomic_store(&f->now, FIXTURE_START + 6000);
    uar_memory_records *records = NULL;
    assert_int_equal(
        uar_memory_graph_records_of_sync(&records, f->memory, &who, ada, uar_str_of(NULL), 10, &(uar_error){ 0 }),
        UAR_OK);
    assert_int_equal(records->count, 0);
    uar_memory_records_free(records);
    uar_memory_graph *g = NULL;
    assert_int_equal(uar_memory_graph_entities_of_sync(&g, f->memory, &who, record, uar_str_of(NULL), 10, NULL),
                     UAR_E_NOT_FOUND);
    assert_int_equal(graph_stats(f, "ann").links, 0);
    size_t links = 0;
    assert_int_equal(uar_memory_graph_export_sync(f->memory, &who, count_links, &links, NULL), UAR_OK);
    assert_int_equal(links, 0);
    assert_int_equal(uar_memory_graph_link_sync(&change, f->memory, &who, record, ada, NULL), UAR_E_NOT_FOUND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(the_same_folded_name_and_kind_is_the_same_entity),
        MEMORY_TEST(putting_again_keeps_aliases_and_merges_properties),
        MEMORY_TEST(a_draft_that_breaks_a_rule_is_refused_by_name),
        MEMORY_TEST(properties_have_a_limit_that_merging_keeps),
        MEMORY_TEST(an_entity_has_at_most_so_many_aliases),
        MEMORY_TEST(a_renamed_entity_is_found_by_its_old_name),
        MEMORY_TEST(names_are_found_before_aliases_and_by_kind),
        MEMORY_TEST(merging_moves_everything_and_the_old_id_stands_for_the_new_one),
        MEMORY_TEST(entities_of_two_places_are_not_merged),
        MEMORY_TEST(a_repeated_relation_is_one_and_its_times_are_joined),
        MEMORY_TEST(a_relation_needs_two_visible_entities_and_a_span_of_time),
        MEMORY_TEST(an_ended_relation_is_read_as_of_earlier_times),
        MEMORY_TEST(neighbours_can_be_narrowed_by_way_and_type),
        MEMORY_TEST(everything_is_read_in_pages),
        MEMORY_TEST(a_record_and_an_entity_are_linked_until_one_goes),
        MEMORY_TEST(a_changed_record_keeps_its_links),
        MEMORY_TEST(the_graph_is_there_after_reopening_and_reindexing),
        MEMORY_TEST(test_M6_a_record_that_has_expired_is_in_no_answer_of_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
