/* uar memory graph get|list|neighbours|path|search|records|entities|stats: reading the graph. */
#include "memory_graph.h"

#include "memory_out.h"
#include "output.h"
#include "pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_DEFAULT = 10 };

/* One page of any kind: asked for, printed, let go of. Gives the cursor of the next one and how many it had. */
typedef struct page_walk {
    graph_session *session;
    uar_memory_graph_filter filter;
    uar_uuid id;
} page_walk;
typedef uar_status (*ask_fn)(uar_memory_graph **out, const page_walk *w, uar_str cursor, size_t limit, uar_error *err);

static size_t print_graph(const page_walk *w, const uar_memory_graph *g, bool entities) {
    for (size_t i = 0; i < g->relation_count; i++)
        graph_print_relation(w->session, &g->relations[i]);
    for (size_t i = 0; i < g->observation_count; i++)
        graph_print_observation(w->session, &g->observations[i]);
    for (size_t i = 0; entities && i < g->entity_count; i++)
        graph_print_entity(w->session, &g->entities[i]);
    return g->relation_count + g->observation_count + (entities ? g->entity_count : 0);
}

static void keep_cursor(text_buffer *cursor, uar_str next) {
    text_buffer kept = { 0 };
    if (next.ptr != NULL) text_add(&kept, next.ptr, next.len);
    text_free(cursor);
    *cursor = kept;
}

static uar_str cursor_of(const text_buffer *cursor) {
    return cursor->len > 0 ? text_str(cursor) : uar_str_n(NULL, 0);
}

static int print_page(const page_walk *w, ask_fn ask, bool entities, text_buffer *cursor, uint64_t *left) {
    uar_memory_graph *g = NULL;
    uar_error err = UAR_ERROR_INIT;
    size_t limit = *left < PAGE_MOST ? (size_t)*left : PAGE_MOST;
    if (ask(&g, w, cursor_of(cursor), limit, &err) != UAR_OK) return graph_fault(w->session, &err);
    *left -= print_graph(w, g, entities);
    keep_cursor(cursor, g->cursor);
    uar_memory_graph_free(g);
    return CODE_OK;
}

/* What --limit and --after ask for, all without them. */
static int print_pages(const page_walk *w, ask_fn ask, bool entities) {
    const app *a = w->session->app;
    uint64_t limit = 0;
    text_buffer cursor = { 0 };
    int code = pages_limit(&limit, a);
    if (code == CODE_OK) code = pages_after(&cursor, a);
    uint64_t left = limit > 0 ? limit : UINT64_MAX;
    if (code == CODE_OK) {
        do {
            code = print_page(w, ask, entities, &cursor, &left);
        } while (code == CODE_OK && left > 0 && cursor.len > 0 && output_fault() == 0);
    }
    if (code == CODE_OK && cursor.len > 0 && output_fault() == 0) pages_more(a, text_str(&cursor));
    text_free(&cursor);
    return code;
}

static uar_status ask_entities(uar_memory_graph **out, const page_walk *w, uar_str cursor, size_t limit,
                               uar_error *err) {
    const graph_session *s = w->session;
    return uar_memory_graph_entities_sync(out, s->memory, &s->who, &w->filter, cursor, limit, err);
}

static uar_status ask_relations(uar_memory_graph **out, const page_walk *w, uar_str cursor, size_t limit,
                                uar_error *err) {
    const graph_session *s = w->session;
    return uar_memory_graph_relations_sync(out, s->memory, &s->who, &w->filter, cursor, limit, err);
}

static uar_status ask_observations(uar_memory_graph **out, const page_walk *w, uar_str cursor, size_t limit,
                                   uar_error *err) {
    const graph_session *s = w->session;
    return uar_memory_graph_observations_sync(out, s->memory, &s->who, w->id, &w->filter, cursor, limit, err);
}

static uar_status ask_neighbours(uar_memory_graph **out, const page_walk *w, uar_str cursor, size_t limit,
                                 uar_error *err) {
    const graph_session *s = w->session;
    return uar_memory_graph_neighbours_sync(out, s->memory, &s->who, w->id, &w->filter, cursor, limit, err);
}

static uar_status ask_entities_of(uar_memory_graph **out, const page_walk *w, uar_str cursor, size_t limit,
                                  uar_error *err) {
    const graph_session *s = w->session;
    return uar_memory_graph_entities_of_sync(out, s->memory, &s->who, w->id, cursor, limit, err);
}

int cmd_memory_graph_list(app *a) {
    graph_session s = { 0 };
    page_walk w = { .session = &s };
    bool relations = args_has(&a->args, "relations");
    bool observations = args_has(&a->args, "observations");
    if (relations && observations) return report_usage(a, NULL, "give --relations or --observations, not both");
    int code = graph_filter_of(&w.filter, a);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK)
        code = print_pages(&w, relations ? ask_relations : observations ? ask_observations : ask_entities, true);
    graph_close(&s);
    return code;
}

int cmd_memory_graph_neighbours(app *a) {
    graph_session s = { 0 };
    page_walk w = { .session = &s };
    int code = graph_filter_of(&w.filter, a);
    w.filter.kind = uar_str_n(NULL, 0);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = graph_entity_of(&w.id, &s, a->args.operands[0]);
    if (code == CODE_OK) code = print_pages(&w, ask_neighbours, false);
    graph_close(&s);
    return code;
}

int cmd_memory_graph_entities(app *a) {
    graph_session s = { 0 };
    page_walk w = { .session = &s };
    int code = graph_id_of(&w.id, a, a->args.operands[0]);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = print_pages(&w, ask_entities_of, true);
    graph_close(&s);
    return code;
}

/* Pages that are put together; the rows point into them. */
typedef struct whole {
    uar_memory_graph **pages;
    size_t page_count;
    uar_memory_relation *relations;
    uar_memory_observation *observations;
    size_t relation_count, observation_count;
} whole;

static void whole_free(whole *all) {
    for (size_t i = 0; i < all->page_count; i++)
        uar_memory_graph_free(all->pages[i]);
    free(all->pages);
    free(all->relations);
    free(all->observations);
}

/* `count` rows more behind the first `have`. */
static void *joined(void *rows, size_t have, const void *more, size_t count, size_t size) {
    if (count == 0) return rows;
    char *all = must_alloc((have + count) * size);
    if (have > 0) memcpy(all, rows, have * size);
    memcpy(all + have * size, more, count * size);
    free(rows);
    return all;
}

static void whole_add(whole *all, uar_memory_graph *page) {
    all->pages = joined(all->pages, all->page_count++, &page, 1, sizeof page);
    all->relations =
        joined(all->relations, all->relation_count, page->relations, page->relation_count, sizeof *all->relations);
    all->relation_count += page->relation_count;
    all->observations = joined(all->observations, all->observation_count, page->observations, page->observation_count,
                               sizeof *all->observations);
    all->observation_count += page->observation_count;
}

static uar_status gather(whole *all, const page_walk *w, ask_fn ask, uar_error *err) {
    uar_str cursor = uar_str_n(NULL, 0);
    do {
        uar_memory_graph *page = NULL;
        uar_status status = ask(&page, w, cursor, PAGE_MOST, err);
        if (status != UAR_OK) return status;
        whole_add(all, page);
        cursor = page->cursor;
    } while (cursor.ptr != NULL);
    return UAR_OK;
}

/* Everything about one entity, as one object. */
static int print_whole(page_walk *w, const uar_memory_graph *entity) {
    whole all = { 0 };
    uar_error err = UAR_ERROR_INIT;
    w->id = entity->entities[0].id;
    uar_status status = gather(&all, w, ask_neighbours, &err);
    if (status == UAR_OK) status = gather(&all, w, ask_observations, &err);
    if (status == UAR_OK) {
        uar_memory_graph graph = *entity;
        graph.relations = all.relations;
        graph.relation_count = all.relation_count;
        graph.observations = all.observations;
        graph.observation_count = all.observation_count;
        text_buffer line = { 0 };
        graph_print_line(w->session, &line, uar_memory_graph_json(&graph, NULL, text_write_piece, &line));
    }
    whole_free(&all);
    return status == UAR_OK ? CODE_OK : graph_fault(w->session, &err);
}

static int print_get(page_walk *w) {
    const graph_session *s = w->session;
    uar_memory_graph *entity = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_memory_graph_get_sync(&entity, s->memory, &s->who, w->id, &err) != UAR_OK) return graph_fault(s, &err);
    int code = CODE_OK;
    if (s->app->json) {
        code = print_whole(w, entity);
    } else {
        graph_print_entity(s, &entity->entities[0]);
        code = print_pages(w, ask_observations, false);
        if (code == CODE_OK) code = print_pages(w, ask_neighbours, false);
    }
    uar_memory_graph_free(entity);
    return code;
}

int cmd_memory_graph_get(app *a) {
    graph_session s = { 0 };
    page_walk w = { .session = &s };
    int code = graph_filter_of(&w.filter, a);
    w.filter.kind = uar_str_n(NULL, 0);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = graph_entity_of(&w.id, &s, a->args.operands[0]);
    if (code == CODE_OK) code = print_get(&w);
    graph_close(&s);
    return code;
}

static int limit_of(size_t *out, const app *a) {
    uint64_t limit = 0;
    int code = pages_limit(&limit, a);
    if (code == CODE_OK && limit > PAGE_MOST) return report_usage(a, NULL, "--limit takes 1 to %d", PAGE_MOST);
    *out = limit > 0 ? (size_t)limit : LIMIT_DEFAULT;
    return code;
}

/* "Ann — works at → Acme ← owns — Bob" */
static void print_path(const graph_session *s, const uar_memory_path *path) {
    text_buffer line = { 0 };
    for (size_t i = 0; i < path->length; i++) {
        const uar_memory_step *step = &path->steps[i];
        const uar_memory_relation *r = step->relation;
        if (i == 0) text_add_visible(&line, step->forward ? r->from_name : r->to_name, false);
        text_add_z(&line, step->forward ? " — " : " ← ");
        text_add_visible(&line, r->type, false);
        text_add_z(&line, step->forward ? " → " : " — ");
        text_add_visible(&line, step->forward ? r->to_name : r->from_name, false);
    }
    graph_print_line(s, &line, UAR_OK);
}

static void print_paths(const graph_session *s, const uar_memory_paths *paths) {
    if (s->app->json) {
        text_buffer line = { 0 };
        uar_status status = uar_memory_paths_json(paths, NULL, text_write_piece, &line);
        graph_print_line(s, &line, status);
        return;
    }
    for (size_t i = 0; i < paths->count; i++)
        if (paths->paths[i].length > 0) print_path(s, &paths->paths[i]);
    if (s->app->quiet) return;
    if (paths->count == 1 && paths->paths[0].length == 0) fprintf(stderr, "uar: both are one entity\n");
    if (paths->count == 0) fprintf(stderr, "uar: no path%s\n", paths->truncated ? " within the bounds" : "");
    if (paths->count > 0 && paths->truncated) fprintf(stderr, "uar: there may be more: a bound was met\n");
}

int cmd_memory_graph_path(app *a) {
    graph_session s = { 0 };
    uar_memory_graph_filter filter;
    uar_uuid from, to;
    size_t limit = 0;
    int code = graph_filter_of(&filter, a);
    filter.kind = uar_str_n(NULL, 0);
    if (code == CODE_OK) code = limit_of(&limit, a);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = graph_end_of(&from, &s, a->args.operands[0]);
    if (code == CODE_OK) code = graph_end_of(&to, &s, a->args.operands[1]);
    uar_memory_paths *paths = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (code == CODE_OK &&
        uar_memory_graph_paths_sync(&paths, s.memory, &s.who, from, to, &filter, limit, &err) != UAR_OK)
        code = graph_fault(&s, &err);
    if (code == CODE_OK) print_paths(&s, paths);
    uar_memory_paths_free(paths);
    graph_close(&s);
    return code;
}

static void print_entity_hits(const graph_session *s, const uar_memory_entity_hits *hits) {
    if (s->app->json) {
        text_buffer line = { 0 };
        uar_status status = uar_memory_entity_hits_json(hits, NULL, text_write_piece, &line);
        graph_print_line(s, &line, status);
        return;
    }
    for (size_t i = 0; i < hits->count; i++) {
        graph_print_entity(s, &hits->hits[i].entity);
        if (uar_uuid_is_none(hits->hits[i].observation.id)) continue;
        output_text("    ");
        graph_print_observation(s, &hits->hits[i].observation);
    }
    if (hits->count == 0 && !s->app->quiet) fprintf(stderr, "uar: nothing found\n");
}

int cmd_memory_graph_search(app *a) {
    graph_session s = { 0 };
    uar_memory_graph_filter filter;
    size_t limit = 0;
    const char *text = a->args.operands[0];
    if (text_fault(text, strlen(text)) < strlen(text))
        return report(a, UAR_E_UTF8, NULL, "the question is not valid UTF-8");
    int code = graph_filter_of(&filter, a);
    if (code == CODE_OK) code = limit_of(&limit, a);
    if (code == CODE_OK) code = graph_open(&s, a);
    uar_memory_entity_hits *hits = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (code == CODE_OK &&
        uar_memory_graph_search_sync(&hits, s.memory, &s.who, uar_str_of(text), &filter, limit, &err) != UAR_OK)
        code = graph_fault(&s, &err);
    if (code == CODE_OK) print_entity_hits(&s, hits);
    uar_memory_entity_hits_free(hits);
    graph_close(&s);
    return code;
}

static int print_records_page(const graph_session *s, uar_uuid id, text_buffer *cursor, uint64_t *left) {
    uar_memory_records *records = NULL;
    uar_error err = UAR_ERROR_INIT;
    size_t limit = *left < PAGE_MOST ? (size_t)*left : PAGE_MOST;
    if (uar_memory_graph_records_of_sync(&records, s->memory, &s->who, id, cursor_of(cursor), limit, &err) != UAR_OK)
        return graph_fault(s, &err);
    for (size_t i = 0; i < records->count; i++)
        print_record(s->app, &records->records[i]);
    *left -= records->count;
    keep_cursor(cursor, records->cursor);
    uar_memory_records_free(records);
    return CODE_OK;
}

int cmd_memory_graph_records(app *a) {
    graph_session s = { 0 };
    uar_uuid id;
    uint64_t limit = 0;
    text_buffer cursor = { 0 };
    int code = pages_limit(&limit, a);
    if (code == CODE_OK) code = pages_after(&cursor, a);
    if (code == CODE_OK) code = graph_open(&s, a);
    if (code == CODE_OK) code = graph_entity_of(&id, &s, a->args.operands[0]);
    uint64_t left = limit > 0 ? limit : UINT64_MAX;
    bool more = code == CODE_OK;
    while (more) {
        code = print_records_page(&s, id, &cursor, &left);
        more = code == CODE_OK && left > 0 && cursor.len > 0 && output_fault() == 0;
    }
    if (code == CODE_OK && cursor.len > 0 && output_fault() == 0) pages_more(a, text_str(&cursor));
    text_free(&cursor);
    graph_close(&s);
    return code;
}

static void print_graph_stats(const graph_session *s, const uar_memory_graph_stats *stats) {
    text_buffer line = { 0 };
    uar_status status = UAR_OK;
    if (s->app->json) {
        status = uar_memory_graph_stats_json(stats, NULL, text_write_piece, &line);
    } else {
        char text[200];
        snprintf(text, sizeof text,
                 "%" PRIu64 " entities, %" PRIu64 " relations, %" PRIu64 " observations, %" PRIu64 " links",
                 stats->entities, stats->relations, stats->observations, stats->links);
        text_add_z(&line, text);
    }
    graph_print_line(s, &line, status);
}

int cmd_memory_graph_stats(app *a) {
    graph_session s = { 0 };
    int code = graph_open(&s, a);
    uar_memory_graph_stats stats;
    uar_error err = UAR_ERROR_INIT;
    if (code == CODE_OK && uar_memory_graph_stats_sync(&stats, s.memory, &s.who, &err) != UAR_OK)
        code = graph_fault(&s, &err);
    if (code == CODE_OK) print_graph_stats(&s, &stats);
    graph_close(&s);
    return code;
}
