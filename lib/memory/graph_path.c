/*
 * Owns: ways between two entities. A breadth-first search from the goal learns how far entities are from it; a second search
 * from the start grows ways that pass no entity twice and can still arrive in time. It goes on with the way that can arrive
 * soonest, so that the shortest ones are found first and before the bound is met by detours.
 * Invariants: each row that is looked at counts as a step; both searches together make no more than the bound. What is known
 * of a distance is never too much, and of two neighbours differs by one at most: no way is found before a shorter one.
 */
#include <assert.h>

#include "memory/graph_answer.h"
#include "memory/num_table.h"

#define LENGTH_DEFAULT 4
#define LENGTH_MAX 6
#define VISITED_DEFAULT 20000
#define VISITED_MAX 1000000

/* How far an entity is from the goal. */
typedef struct distance {
    int64_t entity;
    uint32_t steps;
} distance;

/* A way in the making: its last step, and what it had before. */
typedef struct partial {
    size_t before; /* index; the start's own is 0 */
    size_t next;   /* index + 1 of the one under it on its pile; 0: none */
    uint32_t length;
    bool forward;
    int64_t entity, relation;
} partial;

typedef struct step_row {
    int64_t relation, other;
    bool forward;
} step_row;

typedef struct path_search {
    uar_memory *memory;
    const caller *who;
    graph_filter filter;
    int64_t from, to;
    uint32_t max_length;
    uint64_t visited, bound;
    bool truncated;
    num_table distances; /* from the goal; items are `distance` */
    int64_t *frontier, *next;
    size_t frontier_count, next_count, next_cap, frontier_cap;
    uint32_t known_depth; /* every entity this near to the goal is known */
    step_row *rows;
    size_t row_count, row_cap;
    partial *partials;
    size_t partial_count, partial_cap;
    size_t heads[LENGTH_MAX + 1]; /* piles of partials, by the length at which they can arrive; index + 1, 0: none */
    size_t *found;                /* partials that arrived */
    size_t found_count, limit;
} path_search;

static void *grow(const uar_allocator *a, void *list, size_t count, size_t *cap, size_t item) {
    if (count < *cap) return list;
    size_t more = *cap != 0 ? *cap * 2 : 64;
    void *moved = alloc_resize(a, list, more * item);
    if (moved != NULL) *cap = more;
    return moved;
}

/* Note an entity that is met for the first time; the next level begins with it. */
static uar_status note_distance(path_search *s, int64_t entity_num, uint32_t steps) {
    if (num_table_find(&s->distances, entity_num) != NULL) return UAR_OK;
    void *list = grow(&s->memory->alloc, s->next, s->next_count, &s->next_cap, sizeof *s->next);
    if (list == NULL) return UAR_E_NOMEM;
    s->next = (int64_t *)list;
    distance *d = (distance *)num_table_take(&s->distances, entity_num);
    if (d == NULL) return UAR_E_NOMEM;
    d->steps = steps;
    s->next[s->next_count++] = entity_num;
    return UAR_OK;
}

/* At least so many steps are left from an entity to the goal. */
static uint32_t steps_left(const path_search *s, int64_t entity_num) {
    if (s->distances.count == 0) return 1;
    const distance *d = (const distance *)num_table_find(&s->distances, entity_num);
    return d != NULL ? d->steps : s->known_depth + 1;
}

static uar_memory_direction reversed(uar_memory_direction direction) {
    if (direction == UAR_MEMORY_DIRECTION_BOTH) return direction;
    return direction == UAR_MEMORY_DIRECTION_OUT ? UAR_MEMORY_DIRECTION_IN : UAR_MEMORY_DIRECTION_OUT;
}

/* The relations of an entity into `rows`, as far as the bound allows. */
static uar_status load_rows(path_search *s, int64_t entity_num, uar_memory_direction direction, uint64_t bound,
                            uar_error *err) {
    graph_filter f = s->filter;
    f.given.direction = direction;
    query q;
    query_begin(&q, &s->memory->database, SQL_GRAPH_STEPS);
    caller_bind(&q, s->who);
    graph_filter_bind(&q, &f);
    query_int(&q, 18, entity_num);
    s->row_count = 0;
    uar_status status = UAR_OK;
    while (query_next(&q)) {
        if (s->visited >= bound) {
            s->truncated = true;
            break;
        }
        void *list = grow(&s->memory->alloc, s->rows, s->row_count, &s->row_cap, sizeof *s->rows);
        if (list == NULL) {
            status = UAR_E_NOMEM;
            break;
        }
        s->rows = (step_row *)list;
        int64_t source = query_get_int(&q, 1);
        int64_t target = query_get_int(&q, 2);
        bool forward = source == entity_num;
        s->rows[s->row_count++] = (step_row){ query_get_int(&q, 0), forward ? target : source, forward };
        s->visited++;
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : error_plain(err, status);
}

/* One more level of entities around the goal; false in `whole` if the bound was met. */
static uar_status widen(path_search *s, uint32_t steps, uint64_t bound, bool *whole, uar_error *err) {
    int64_t *done = s->frontier;
    size_t done_cap = s->frontier_cap;
    s->frontier = s->next, s->frontier_count = s->next_count, s->frontier_cap = s->next_cap;
    s->next = done, s->next_count = 0, s->next_cap = done_cap;
    *whole = true;
    for (size_t i = 0; i < s->frontier_count; i++) {
        uar_status status = load_rows(s, s->frontier[i], reversed(s->filter.given.direction), bound, err);
        for (size_t k = 0; k < s->row_count && status == UAR_OK; k++)
            if (note_distance(s, s->rows[k].other, steps) != UAR_OK) status = error_plain(err, UAR_E_NOMEM);
        if (status != UAR_OK) return status;
        if (s->truncated) break;
    }
    *whole = !s->truncated;
    return UAR_OK;
}

/* How far entities are from the goal. Half of the steps may go into it; what it doesn't learn costs the other half more. */
static uar_status measure(path_search *s, uar_error *err) {
    uint64_t bound = s->bound / 2;
    if (note_distance(s, s->to, 0) != UAR_OK) return error_plain(err, UAR_E_NOMEM);
    for (uint32_t steps = 1; steps < s->max_length && s->next_count != 0; steps++) {
        bool whole = false;
        uar_status status = widen(s, steps, bound, &whole, err);
        if (status != UAR_OK) return status;
        if (!whole) break;
        s->known_depth = steps;
    }
    if (s->next_count == 0) s->known_depth = s->max_length; /* nothing else is connected at all */
    s->truncated = false;
    return UAR_OK;
}

static bool is_on_way(const path_search *s, size_t at, int64_t entity_num) {
    for (;;) {
        if (s->partials[at].entity == entity_num) return true;
        if (at == 0) return false;
        at = s->partials[at].before;
    }
}

/* `arrival`: the length at which it can arrive, at the least. */
static uar_status add_partial(path_search *s, const partial *p, uint32_t arrival) {
    void *list = grow(&s->memory->alloc, s->partials, s->partial_count, &s->partial_cap, sizeof *s->partials);
    if (list == NULL) return UAR_E_NOMEM;
    assert(arrival <= LENGTH_MAX);
    s->partials = (partial *)list;
    s->partials[s->partial_count++] = *p;
    s->partials[s->partial_count - 1].next = s->heads[arrival];
    s->heads[arrival] = s->partial_count;
    return UAR_OK;
}

/* The partial that can arrive soonest, of those the newest, which has the least way to go; false if there is none. */
static bool take_partial(size_t *at, path_search *s) {
    for (size_t arrival = 0; arrival <= LENGTH_MAX; arrival++) {
        if (s->heads[arrival] == 0) continue;
        *at = s->heads[arrival] - 1;
        s->heads[arrival] = s->partials[*at].next;
        return true;
    }
    return false;
}

/* Every way that goes one step on from the partial at `at`. */
static uar_status extend(path_search *s, size_t at, uar_error *err) {
    uint32_t length = s->partials[at].length + 1;
    uar_status status = load_rows(s, s->partials[at].entity, s->filter.given.direction, s->bound, err);
    for (size_t i = s->row_count; i-- > 0 && status == UAR_OK;) { /* the oldest relation comes to lie on top */
        const step_row *row = &s->rows[i];
        uint32_t arrival = length + (row->other != s->to ? steps_left(s, row->other) : 0);
        if (arrival > s->max_length || is_on_way(s, at, row->other)) continue;
        partial p = { at, 0, length, row->forward, row->other, row->relation };
        if (add_partial(s, &p, arrival) != UAR_OK) return error_plain(err, UAR_E_NOMEM);
    }
    return status;
}

/* Note a way that arrived; one above the limit only says that there are more. */
static void note_found(path_search *s, size_t at) {
    if (s->found_count < s->limit)
        s->found[s->found_count++] = at;
    else
        s->truncated = true;
}

static uar_status search(path_search *s, uar_error *err) {
    partial start = { .entity = s->from };
    if (add_partial(s, &start, 0) != UAR_OK) return error_plain(err, UAR_E_NOMEM);
    if (s->from == s->to) {
        s->found[s->found_count++] = 0;
        return UAR_OK;
    }
    uar_status status = measure(s, err);
    size_t at = 0;
    while (status == UAR_OK && !s->truncated && take_partial(&at, s)) {
        if (s->partials[at].entity == s->to)
            note_found(s, at);
        else
            status = extend(s, at, err);
    }
    /* What had arrived when the bound was met. */
    while (status == UAR_OK && take_partial(&at, s))
        if (s->partials[at].entity == s->to) note_found(s, at);
    return status;
}

static uar_status fill_path(uar_memory_path *out, const path_search *s, size_t at, arena *ar, uar_error *err) {
    size_t length = s->partials[at].length;
    uar_memory_step *steps = (uar_memory_step *)arena_zeroed(ar, length + 1, sizeof *steps);
    relation *relations = (relation *)arena_zeroed(ar, length + 1, sizeof *relations);
    if (steps == NULL || relations == NULL) return error_plain(err, UAR_E_NOMEM);
    for (size_t i = length; i-- > 0; at = s->partials[at].before) {
        uar_status status = relation_load(&relations[i], &s->memory->database, s->partials[at].relation, ar, err);
        if (status != UAR_OK) return status;
        steps[i] = (uar_memory_step){ &relations[i].r, s->partials[at].forward };
    }
    *out = (uar_memory_path){ steps, length };
    return UAR_OK;
}

static uar_status fill_answer(path_answer *answer, const path_search *s, uar_error *err) {
    uar_memory_path *paths = (uar_memory_path *)arena_zeroed(&answer->ar, s->found_count + 1, sizeof *paths);
    if (paths == NULL) return error_plain(err, UAR_E_NOMEM);
    for (size_t i = 0; i < s->found_count; i++) {
        uar_status status = fill_path(&paths[i], s, s->found[i], &answer->ar, err);
        if (status != UAR_OK) return status;
    }
    answer->head = (uar_memory_paths){ paths, s->found_count, s->truncated, s->visited };
    return UAR_OK;
}

static uar_status take_bounds(path_search *s, size_t limit, uar_error *err) {
    const uar_memory_graph_filter *g = &s->filter.given;
    uar_status status = memory_check_limit(limit, err);
    if (status != UAR_OK) return status;
    if (g->max_length > LENGTH_MAX) return error_set(err, UAR_E_INVALID, "a path has at most %d relations", LENGTH_MAX);
    if (g->max_visited > VISITED_MAX)
        return error_set(err, UAR_E_INVALID, "a search for paths makes at most %d steps", VISITED_MAX);
    s->max_length = g->max_length != 0 ? g->max_length : LENGTH_DEFAULT;
    s->bound = g->max_visited != 0 ? g->max_visited : VISITED_DEFAULT;
    s->limit = limit;
    return UAR_OK;
}

static uar_status run(path_answer *answer, path_search *s, uar_uuid from, uar_uuid to, uar_error *err) {
    entity start, goal;
    uar_status status = entity_find(&start, &s->memory->database, s->who, from, &answer->ar, err);
    if (status == UAR_OK) status = entity_find(&goal, &s->memory->database, s->who, to, &answer->ar, err);
    if (status != UAR_OK) return status;
    s->from = start.row.num;
    s->to = goal.row.num;
    status = search(s, err);
    return status == UAR_OK ? fill_answer(answer, s, err) : status;
}

static void dispose(path_search *s) {
    const uar_allocator *a = &s->memory->alloc;
    num_table_dispose(&s->distances);
    alloc_free(a, s->frontier);
    alloc_free(a, s->next);
    alloc_free(a, s->rows);
    alloc_free(a, s->partials);
    alloc_free(a, s->found);
}

uar_status uar_memory_graph_paths_sync(uar_memory_paths **out, uar_memory *memory, const uar_identity *who,
                                       uar_uuid from, uar_uuid to, const uar_memory_graph_filter *filter, size_t limit,
                                       uar_error *err) {
    caller c;
    path_search s;
    memset(&s, 0, sizeof s);
    s.memory = memory;
    s.who = &c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK) status = graph_filter_init(&s.filter, memory, filter, err);
    if (status == UAR_OK) status = take_bounds(&s, limit, err);
    if (status != UAR_OK) return status;
    num_table_init(&s.distances, &memory->alloc, sizeof(distance));
    path_answer *answer = path_answer_new(&memory->alloc);
    s.found = (size_t *)alloc_zeroed(&memory->alloc, limit, sizeof *s.found);
    status = answer != NULL && s.found != NULL ? memory_enter_read(memory, err) : error_plain(err, UAR_E_NOMEM);
    if (status == UAR_OK) {
        status = run(answer, &s, from, to, err);
        memory_leave_read(memory);
    }
    dispose(&s);
    if (status == UAR_OK)
        *out = &answer->head;
    else if (answer != NULL)
        uar_memory_paths_free(&answer->head);
    return status;
}
