/*
 * Owns: search in the graph by words. An entity earns for each word of the question the best share that its names or one of
 * its observations have of it (BM25). Invariant: only index entries of visible places are read, so that neither an answer
 * nor a score tells anything about others.
 */
#include "base/str.h"
#include "index/score.h"
#include "memory/graph_answer.h"
#include "memory/num_table.h"

/* What an entity earned so far. */
typedef struct earned {
    int64_t entity;
    double score;
    double term_best; /* of the word that is looked at */
    uint32_t term;    /* which word that is, from 1 */
    int64_t observation, term_observation;
    double weight; /* of the observation's best word */
} earned;

typedef struct word_search {
    uar_memory *memory;
    const caller *who;
    graph_filter filter;
    size_t limit;
    double documents, mean, ideal;
    num_table earned; /* items are `earned` */
} word_search;

static uar_status measure(word_search *s, uar_error *err) {
    query q;
    query_begin(&q, &s->memory->database, SQL_GRAPH_SEGMENT_SUM);
    caller_bind(&q, s->who);
    double tokens = 0;
    if (query_next(&q)) {
        s->documents = query_get_real(&q, 0);
        tokens = query_get_real(&q, 1);
    }
    s->mean = s->documents > 0 ? tokens / s->documents : 0;
    return query_end(&q, err);
}

/* The best share that each entity has of one word. */
static uar_status match_term(word_search *s, uint64_t id, uint32_t term_no, uint64_t *found, uar_error *err) {
    query q;
    query_begin(&q, &s->memory->database, SQL_GRAPH_POSTING_MATCH);
    caller_bind(&q, s->who);
    graph_filter_bind(&q, &s->filter);
    query_int(&q, 18, (int64_t)id);
    uar_status status = UAR_OK;
    while (query_next(&q)) {
        double share = score_share((uint32_t)query_get_int(&q, 2), (uint32_t)query_get_int(&q, 3), s->mean);
        earned *e = (earned *)num_table_take(&s->earned, query_get_int(&q, 0));
        if (e == NULL) {
            status = UAR_E_NOMEM;
            break;
        }
        ++*found;
        if (e->term != term_no) {
            e->term = term_no;
            e->term_best = 0;
            e->term_observation = 0;
        }
        if (share <= e->term_best) continue;
        e->term_best = share;
        e->term_observation = query_get_int(&q, 1);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : error_plain(err, status);
}

static void credit(word_search *s, uint32_t term_no, double rarity) {
    s->ideal += rarity;
    for (size_t i = 0; i < s->earned.slot_count; i++) {
        earned *e = (earned *)num_table_slot(&s->earned, i);
        if (e->entity == 0 || e->term != term_no) continue;
        double weight = rarity * e->term_best;
        e->score += weight;
        if (e->term_observation == 0 || weight <= e->weight) continue;
        e->weight = weight;
        e->observation = e->term_observation;
    }
}

static bool is_better(const earned *a, const earned *b) {
    if (a->score > b->score) return true;
    if (a->score < b->score) return false;
    return a->entity < b->entity;
}

/* The best ones, in order, at the front of the table, which is a list then. NULL: there are none. */
static const earned *rank(word_search *s, size_t *count) {
    size_t kept = 0;
    earned *slots = s->earned.slot_count != 0 ? (earned *)num_table_slot(&s->earned, 0) : NULL;
    for (size_t i = 0; i < s->earned.slot_count; i++) {
        earned e = slots[i];
        if (e.entity == 0) continue;
        if (kept == s->limit) {
            if (!is_better(&e, &slots[kept - 1])) continue;
            kept--;
        }
        size_t at = kept++;
        for (; at > 0 && is_better(&e, &slots[at - 1]); at--)
            slots[at] = slots[at - 1];
        slots[at] = e;
    }
    *count = kept;
    return slots;
}

static uar_status add_hits(entity_hit_answer *answer, word_search *s, uar_error *err) {
    size_t count = 0;
    const earned *best = rank(s, &count);
    for (size_t i = 0; i < count; i++) {
        entity e;
        uar_memory_entity_hit *hit = &answer->items[answer->head.count];
        uar_status status = entity_load(&e, &s->memory->database, best[i].entity, &answer->ar, err);
        if (status != UAR_OK) return status;
        hit->entity = e.e;
        hit->score = s->ideal > 0 ? best[i].score / s->ideal : 0;
        if (best[i].observation != 0) {
            observation o;
            status = observation_load(&o, &s->memory->database, best[i].observation, &answer->ar, err);
            if (status != UAR_OK) return status;
            hit->observation = o.o;
        }
        answer->head.count++;
    }
    return UAR_OK;
}

static uar_status run(entity_hit_answer *answer, word_search *s, const term_list *terms, uar_error *err) {
    uar_status status = measure(s, err);
    for (size_t i = 0; i < terms->count && status == UAR_OK; i++) {
        uint64_t found = 0;
        status = match_term(s, terms->terms[i].id, (uint32_t)i + 1, &found, err);
        if (status == UAR_OK) credit(s, (uint32_t)i + 1, score_rarity((uint64_t)s->documents, found));
    }
    return status == UAR_OK ? add_hits(answer, s, err) : status;
}

uar_status uar_memory_graph_search_sync(uar_memory_entity_hits **out, uar_memory *memory, const uar_identity *who,
                                        uar_str text, const uar_memory_graph_filter *filter, size_t limit,
                                        uar_error *err) {
    caller c;
    word_search s;
    memset(&s, 0, sizeof s);
    s.memory = memory;
    s.who = &c;
    s.limit = limit;
    if (text.ptr == NULL) text = STR("");
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK) status = memory_check_question(text, limit, err);
    if (status == UAR_OK) status = graph_filter_init(&s.filter, memory, filter, err);
    if (status != UAR_OK) return status;
    num_table_init(&s.earned, &memory->alloc, sizeof(earned));
    term_list terms;
    term_list_init(&terms, &memory->alloc);
    entity_hit_answer *answer = entity_hit_answer_new(&memory->alloc, text, limit);
    status = answer != NULL ? term_list_query(&terms, memory->database.key, text) : UAR_E_NOMEM;
    if (status != UAR_OK) error_plain(err, status);
    if (status == UAR_OK) status = memory_enter_read(memory, err);
    if (status == UAR_OK) {
        status = run(answer, &s, &terms, err);
        memory_leave_read(memory);
    }
    term_list_dispose(&terms);
    num_table_dispose(&s.earned);
    if (status == UAR_OK)
        *out = &answer->head;
    else if (answer != NULL)
        uar_memory_entity_hits_free(&answer->head);
    return status;
}
