/*
 * Owns: search. Invariants: only segments that the caller sees are opened at all, so that neither an answer nor a score tells
 * anything about others; the embedder is asked before the lock is taken; what a filter says of a row is checked on the row.
 */
#include "base/str.h"
#include "index/score.h"
#include "memory/answer.h"
#include "memory/caller.h"
#include "memory/filter.h"
#include "memory/shelf.h"

/* One search in the works. */
typedef struct search {
    uar_memory *memory;
    const caller *who;
    const filter *filter;
    size_t limit;
    engine_term *terms;
    size_t term_count;
    float *vector; /* of the question; NULL: by words */
    float *room;   /* for the vector of a row */
    bool has_time; /* the question speaks of a time */
    time_range time;
} search;

/* Words, the openings that they make, and what marks a text that asks. */
static uar_status take_terms(search *s, uar_str text) {
    const uar_allocator *a = &s->memory->alloc;
    term_key key = s->memory->database.key;
    term_list words, openings;
    term_list_init(&words, a);
    term_list_init(&openings, a);
    uar_status status = term_list_query(&words, key, text);
    if (status == UAR_OK) status = term_list_openings(&openings, key, text);
    size_t count = words.count + openings.count + 1;
    if (status == UAR_OK) {
        s->terms = (engine_term *)alloc_zeroed(a, count, sizeof *s->terms);
        if (s->terms == NULL) status = UAR_E_NOMEM;
    }
    if (status == UAR_OK) {
        for (size_t i = 0; i < words.count; i++)
            s->terms[s->term_count++] = (engine_term){ words.terms[i].id, ENGINE_WORD };
        for (size_t i = 0; i < openings.count; i++)
            s->terms[s->term_count++] = (engine_term){ openings.terms[i].id, ENGINE_OPENING };
        s->terms[s->term_count++] = (engine_term){ term_asking(key), ENGINE_ASKS };
    }
    term_list_dispose(&words);
    term_list_dispose(&openings);
    return status;
}

/* Without a vector the words answer alone, and the answer says so. */
static uar_status take_vector(search *s, uar_str text) {
    if (embed_is_lexical(s->memory) || text.len == 0) return UAR_OK;
    s->room = (float *)alloc_zeroed(&s->memory->alloc, s->memory->embedder.dims, sizeof(float));
    if (s->room == NULL) return UAR_E_NOMEM;
    uar_status status = memory_embed(&s->vector, s->memory, UAR_EMBED_QUERY, &text, 1, NULL);
    return status == UAR_E_NOMEM ? status : UAR_OK;
}

static void search_dispose(search *s) {
    const uar_allocator *a = &s->memory->alloc;
    alloc_free(a, s->terms);
    alloc_free(a, s->vector);
    alloc_free(a, s->room);
}

static engine_question question_of(const search *s) {
    const uar_memory_filter *g = &s->filter->given;
    const database *db = &s->memory->database;
    engine_question q = { .terms = s->terms,
                          .term_count = s->term_count,
                          .vector = s->vector,
                          .time = s->has_time ? &s->time : NULL,
                          .time_ms = s->filter->time,
                          .as_of = s->filter->mode == FILTER_AS_OF,
                          .include_ended = s->filter->mode == FILTER_CURRENT,
                          .types = g->types,
                          .after_ms = g->after_ms,
                          .before_ms = g->before_ms,
                          .labels = g->category.ptr != NULL ? shelf_label(db, g->category) : 0,
                          .limit = s->limit,
                          .is_open = filter_needs_row(s->filter) };
    const uar_str names[DOCUMENT_PLACES] = { g->user, g->agent, g->session, g->task };
    for (size_t i = 0; i < DOCUMENT_PLACES; i++)
        q.places[i] = names[i].ptr != NULL ? shelf_place(db, names[i]) : 0;
    return q;
}

static bool is_there(uar_str want, uar_str have) {
    return want.ptr == NULL || uar_str_equal(want, have);
}

/* The index knows names by numbers, which may stand for more than one. */
static uar_status matches(bool *out, const search *s, const uar_memory_record *r) {
    const uar_memory_filter *g = &s->filter->given;
    *out = is_there(g->user, r->user) && is_there(g->agent, r->agent) && is_there(g->session, r->session) &&
           is_there(g->task, r->task);
    return *out ? filter_matches(out, s->filter, r) : UAR_OK;
}

static bool comes_before(const uar_memory_hit *a, const uar_memory_hit *b) {
    if (a->score > b->score) return true;
    if (a->score < b->score) return false;
    if (a->record.created_ms != b->record.created_ms) return a->record.created_ms > b->record.created_ms;
    return memcmp(a->record.id.bytes, b->record.id.bytes, sizeof a->record.id.bytes) < 0;
}

/* Put a hit in its place; the worst falls off a full list. */
static void place_hit(hit_list *list, const uar_memory_hit *hit, size_t limit) {
    size_t at = list->head.count;
    if (at == limit) {
        if (!comes_before(hit, &list->items[at - 1])) return;
        at--;
    } else {
        list->head.count++;
    }
    while (at > 0 && comes_before(hit, &list->items[at - 1])) {
        list->items[at] = list->items[at - 1];
        at--;
    }
    list->items[at] = *hit;
}

static uar_status rescore(engine_hit *hit, const search *s, const engine_answer *answer, uar_error *err) {
    if (!hit->has_vector) return UAR_OK;
    bool found = false;
    uar_status status = shelf_vector(s->room, &found, s->memory, hit->key, err);
    if (status == UAR_OK && found) engine_answer_rescore(answer, hit, s->room);
    return status;
}

/* Records that a filter refuses may be many and long: none of them stays in memory. */
static uar_status is_refused(bool *out, const search *s, int64_t num, uar_error *err) {
    *out = false;
    if (!filter_needs_row(s->filter)) return UAR_OK;
    arena ar;
    arena_init(&ar, &s->memory->alloc);
    version v;
    bool is_match = false;
    uar_status status = version_load(&v, &s->memory->database, num, &ar, err);
    if (status == UAR_OK) {
        status = matches(&is_match, s, &v.r);
        if (status != UAR_OK) error_plain(err, status);
    }
    arena_dispose(&ar);
    *out = !is_match;
    return status;
}

static uar_status take_hit(hit_list *list, const search *s, const engine_hit *hit, uar_error *err) {
    version v;
    bool refused = false;
    uar_status status = is_refused(&refused, s, hit->key, err);
    if (status != UAR_OK || refused) return status;
    status = version_load(&v, &s->memory->database, hit->key, &list->ar, err);
    if (status != UAR_OK) return status;
    bool is_match = false;
    status = matches(&is_match, s, &v.r);
    if (status != UAR_OK) return error_plain(err, status);
    if (!is_match) return UAR_OK;
    uar_memory_hit out = { .record = v.r,
                           .score = hit->score,
                           .lexical = hit->lexical,
                           .vector = hit->cosine,
                           .recency = score_recency(s->filter->time, v.r.created_ms),
                           .around = hit->around,
                           .relevance = hit->relevance,
                           .time = hit->time };
    place_hit(list, &out, s->limit);
    return UAR_OK;
}

static uar_status gather_hits(hit_list *list, const search *s, engine_answer *answer, uar_error *err) {
    double slack = engine_answer_slack(answer);
    engine_hit hit;
    while (engine_answer_next(answer, &hit)) {
        bool is_full = list->head.count == s->limit;
        if (is_full && hit.score + slack < list->items[s->limit - 1].score) break;
        uar_status status = rescore(&hit, s, answer, err);
        if (status != UAR_OK) return status;
        if (is_full && hit.score < list->items[s->limit - 1].score) continue;
        status = take_hit(list, s, &hit, err);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

/* Are there records that have expired and were not yet swept? The index still has them. */
static uar_status find_expired(bool *out, const search *s, uar_error *err) {
    query q;
    query_begin(&q, &s->memory->database, SQL_EXPIRY_DUE);
    query_int(&q, 18, s->filter->now);
    query_int(&q, 19, 1);
    *out = query_next(&q);
    return query_end(&q, err);
}

/* Inside a snapshot. */
static uar_status search_locked(hit_list *list, const search *s, uar_error *err) {
    segment_state *segments = NULL;
    size_t count = 0;
    uar_status status = shelf_segments(&segments, &count, s->memory, s->who, s->filter->given.scopes, err);
    if (status != UAR_OK) return status;
    engine_question question = question_of(s);
    bool has_expired = false;
    status = find_expired(&has_expired, s, err);
    question.is_open = question.is_open || has_expired;
    index_source source = shelf_source(s->memory);
    engine_answer *answer = NULL;
    if (status == UAR_OK)
        status = engine_search(&answer, &s->memory->shelf.engine, &question, segments, count, &source, err);
    if (status == UAR_OK) {
        if (engine_answer_is_hybrid(answer)) list->head.mode = "hybrid";
        status = gather_hits(list, s, answer, err);
        engine_answer_free(answer);
    }
    alloc_free(&s->memory->alloc, segments);
    return status;
}

static uar_status search_prepared(hit_list *list, search *s, uar_str text, uar_error *err) {
    uar_status status = take_terms(s, text);
    if (status == UAR_OK)
        status = time_expression_find(&s->has_time, &s->time, &s->memory->alloc, text, s->filter->time);
    if (status == UAR_OK) status = take_vector(s, text);
    if (status != UAR_OK) return error_plain(err, status);
    status = memory_enter_read(s->memory, err);
    if (status != UAR_OK) return status;
    status = search_locked(list, s, err);
    memory_leave_read(s->memory);
    return status;
}

static uar_status search_one(uar_memory_hits **out, uar_memory *memory, const caller *c, const uar_memory_query *asked,
                             uar_error *err) {
    uar_status status = memory_check_question(asked->text, asked->limit, err);
    if (status != UAR_OK) return status;
    filter f;
    status = filter_init(&f, asked->filter, clock_wall(&memory->clock), &memory->alloc, err);
    if (status != UAR_OK) return status;
    memory_pin(memory);
    search s = { .memory = memory, .who = c, .filter = &f, .limit = asked->limit };
    uar_str text = asked->text.ptr != NULL ? asked->text : STR("");
    hit_list *list = hit_list_new(&memory->alloc, text, asked->limit);
    status = list != NULL ? search_prepared(list, &s, text, err) : error_plain(err, UAR_E_NOMEM);
    search_dispose(&s);
    filter_dispose(&f);
    memory_unpin(memory);
    if (status == UAR_OK)
        *out = &list->head;
    else if (list != NULL)
        uar_memory_hits_free(&list->head);
    return status;
}

uar_status uar_memory_search_sync(uar_memory_hits **out, uar_memory *memory, const uar_identity *who, uar_str text,
                                  const uar_memory_filter *given, size_t limit, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    uar_memory_query asked = { text, given, limit };
    return status == UAR_OK ? search_one(out, memory, &c, &asked, err) : status;
}

/* The next questions of a batch go to the embedder together. */
static void prepare(uar_memory *memory, const uar_memory_query *queries, size_t count) {
    uar_str texts[EMBED_CACHE];
    size_t n = 0;
    if (count > EMBED_CACHE) count = EMBED_CACHE;
    for (size_t i = 0; i < count; i++)
        if (queries[i].text.len != 0 && memory_check_question(queries[i].text, queries[i].limit, NULL) == UAR_OK)
            texts[n++] = queries[i].text;
    if (n > 1 && !embed_is_lexical(memory)) embed_prepare(memory, texts, n);
}

uar_status uar_memory_search_batch_sync(uar_memory_hits **out, uar_memory *memory, const uar_identity *who,
                                        const uar_memory_query *queries, size_t count, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK || count == 0) return status;
    if (queries == NULL) return error_set(err, UAR_E_INVALID, "the questions are NULL");
    uar_memory_hits **answers = (uar_memory_hits **)alloc_zeroed(&memory->alloc, count, sizeof(uar_memory_hits *));
    if (answers == NULL) return error_plain(err, UAR_E_NOMEM);
    memory_pin(memory);
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        if (i % EMBED_CACHE == 0) prepare(memory, queries + i, count - i);
        status = search_one(&answers[i], memory, &c, &queries[i], err);
    }
    for (size_t i = 0; i < count; i++) {
        if (status == UAR_OK)
            out[i] = answers[i];
        else
            uar_memory_hits_free(answers[i]);
    }
    alloc_free(&memory->alloc, answers);
    memory_unpin(memory);
    return status;
}
