/*
 * Short ways to write a graph and ask about it.
 */
#ifndef UAR_TESTS_UNIT_MEMORY_GRAPH_FIXTURE_H
#define UAR_TESTS_UNIT_MEMORY_GRAPH_FIXTURE_H

#include "test_memory_fixture.h"

#include <uar/memory_graph.h>

static inline uar_memory_change put_draft(memory_fixture *f, const char *user, const uar_memory_entity_draft *d) {
    uar_identity who = user_of(user);
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_graph_put_sync(&change, f->memory, &who, d, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return change;
}

static inline uar_uuid put_entity(memory_fixture *f, const char *user, const char *name, const char *kind) {
    uar_memory_entity_draft d;
    uar_memory_entity_draft_init(&d);
    d.name = uar_str_of(name);
    d.kind = uar_str_of(kind);
    return put_draft(f, user, &d).id;
}

static inline uar_memory_change relate_at(memory_fixture *f, const char *user, uar_uuid from, const char *type,
                                          uar_uuid to, int64_t valid_from, int64_t valid_until) {
    uar_identity who = user_of(user);
    uar_memory_relation_draft d;
    uar_memory_relation_draft_init(&d);
    d.from = from;
    d.to = to;
    d.type = uar_str_of(type);
    d.valid_from_ms = valid_from;
    d.valid_until_ms = valid_until;
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_graph_relate_sync(&change, f->memory, &who, &d, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return change;
}

static inline uar_uuid relate(memory_fixture *f, const char *user, uar_uuid from, const char *type, uar_uuid to) {
    return relate_at(f, user, from, type, to, 0, 0).id;
}

static inline uar_memory_change observe_at(memory_fixture *f, const char *user, uar_uuid entity, const char *text,
                                           int64_t valid_from, int64_t valid_until) {
    uar_identity who = user_of(user);
    uar_memory_observation_draft d;
    uar_memory_observation_draft_init(&d);
    d.entity = entity;
    d.text = uar_str_of(text);
    d.valid_from_ms = valid_from;
    d.valid_until_ms = valid_until;
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_graph_observe_sync(&change, f->memory, &who, &d, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return change;
}

static inline uar_uuid observe(memory_fixture *f, const char *user, uar_uuid entity, const char *text) {
    return observe_at(f, user, entity, text, 0, 0).id;
}

static inline uar_memory_graph *get_entity(memory_fixture *f, const char *user, uar_uuid id) {
    uar_identity who = user_of(user);
    uar_memory_graph *g = NULL;
    assert_int_equal(uar_memory_graph_get_sync(&g, f->memory, &who, id, NULL), UAR_OK);
    assert_int_equal(g->entity_count, 1);
    return g;
}

static inline uar_memory_graph_filter graph_filter_as_of(int64_t as_of) {
    uar_memory_graph_filter filter;
    uar_memory_graph_filter_init(&filter);
    filter.as_of_ms = as_of;
    return filter;
}

static inline uar_memory_graph *neighbours_of(memory_fixture *f, const char *user, uar_uuid id,
                                              const uar_memory_graph_filter *filter) {
    uar_identity who = user_of(user);
    uar_memory_graph *g = NULL;
    assert_int_equal(uar_memory_graph_neighbours_sync(&g, f->memory, &who, id, filter, uar_str_of(NULL), 1000, NULL),
                     UAR_OK);
    return g;
}

static inline uar_memory_graph *observations_of(memory_fixture *f, const char *user, uar_uuid id,
                                                const uar_memory_graph_filter *filter) {
    uar_identity who = user_of(user);
    uar_memory_graph *g = NULL;
    assert_int_equal(uar_memory_graph_observations_sync(&g, f->memory, &who, id, filter, uar_str_of(NULL), 1000, NULL),
                     UAR_OK);
    return g;
}

static inline uar_memory_graph_stats graph_stats(memory_fixture *f, const char *user) {
    uar_identity who = user_of(user);
    uar_memory_graph_stats stats;
    assert_int_equal(uar_memory_graph_stats_sync(&stats, f->memory, &who, &(uar_error){ 0 }), UAR_OK);
    return stats;
}

#endif
