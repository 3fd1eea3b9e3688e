/*
 * Owns: search by words. Invariants: only postings of visible segments are read, so that neither an answer nor a score tells
 * anything about other segments; a score is the question's weighted share, moved by at most a fifth.
 */
#include "base/str.h"
#include "base/utf8.h"
#include "index/score.h"
#include "memory/answer.h"
#include "memory/caller.h"
#include "memory/filter.h"
#include "memory/service.h"

/* How much adjusting can raise a score: what can't reach the list even so needn't be loaded. */
#define RAISE_MOST 1.2

/* One search in the works. */
typedef struct search {
    uar_memory *memory;
    const caller *who;
    const filter *filter;
    size_t limit;
    double records, mean; /* of the visible segments: how many, and their usual length */
    double ideal;         /* what a record with every term would earn */
    tally tally;
    tally_entry *found; /* records of one term with their share */
    size_t found_count, found_cap;
} search;

static uar_status measure(search *s, uar_error *err) {
    query q;
    query_begin(&q, &s->memory->database, SQL_SEGMENT_SUM);
    caller_bind(&q, s->who);
    double tokens = 0;
    if (query_next(&q)) {
        s->records = query_get_real(&q, 0);
        tokens = query_get_real(&q, 1);
    }
    s->mean = s->records > 0 ? tokens / s->records : 0;
    return query_end(&q, err);
}

static uar_status note_found(search *s, int64_t num, double share) {
    if (s->found_count == s->found_cap) {
        size_t cap = s->found_cap != 0 ? s->found_cap * 2 : 64;
        tally_entry *found = (tally_entry *)alloc_resize(&s->memory->alloc, s->found, cap * sizeof *found);
        if (found == NULL) return UAR_E_NOMEM;
        s->found = found;
        s->found_cap = cap;
    }
    s->found[s->found_count++] = (tally_entry){ num, share };
    return UAR_OK;
}

static uar_status match_term(search *s, uint64_t id, uar_error *err) {
    query q;
    query_begin(&q, &s->memory->database, SQL_POSTING_MATCH);
    caller_bind(&q, s->who);
    filter_bind(&q, s->filter);
    query_int(&q, 18, (int64_t)id);
    s->found_count = 0;
    uar_status status = UAR_OK;
    while (status == UAR_OK && query_next(&q))
        status = note_found(s, query_get_int(&q, 0),
                            score_share((uint32_t)query_get_int(&q, 1), (uint32_t)query_get_int(&q, 2), s->mean));
    uar_status end = query_end(&q, err);
    if (status != UAR_OK) return error_plain(err, status);
    if (end != UAR_OK) return end;
    double rarity = score_rarity((uint64_t)s->records, s->found_count);
    s->ideal += rarity;
    for (size_t i = 0; i < s->found_count && status == UAR_OK; i++)
        status = tally_add(&s->tally, s->found[i].key, rarity * s->found[i].score);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

static double trust_weight(uar_memory_trust trust) {
    return 1 - ((double)trust - 1) / 4;
}

/* What moves a score beside its relevance. */
typedef struct weight {
    int64_t created_ms;
    double importance;
    uar_memory_trust trust;
} weight;

static double adjusted(const search *s, double lexical, weight w) {
    double recency = score_recency(s->filter->time - w.created_ms);
    return score_adjust(score_fuse(lexical, false, 0), recency, w.importance, trust_weight(w.trust));
}

static void score_hit(uar_memory_hit *hit, const search *s, double lexical) {
    const uar_memory_record *r = &hit->record;
    hit->lexical = lexical;
    hit->recency = score_recency(s->filter->time - r->created_ms);
    hit->score = adjusted(s, lexical, (weight){ r->created_ms, r->importance, r->trust });
}

/* False if a full list has no place for this record: then its text needn't be read. */
static uar_status is_wanted(bool *out, const hit_list *list, search *s, const tally_entry *e, double lexical,
                            uar_error *err) {
    *out = list->head.count < s->limit;
    if (*out) return UAR_OK;
    query q;
    query_begin(&q, &s->memory->database, SQL_VERSION_WEIGHT);
    query_int(&q, 18, e->key);
    if (query_next(&q)) {
        weight w = { query_get_int(&q, 0), query_get_real(&q, 1), (uar_memory_trust)query_get_int(&q, 2) };
        *out = adjusted(s, lexical, w) >= list->items[s->limit - 1].score;
    }
    return query_end(&q, err);
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

static uar_status gather_hits(hit_list *list, search *s, uar_error *err) {
    tally_rank(&s->tally);
    for (size_t i = 0; i < s->tally.count; i++) {
        double lexical = s->ideal > 0 ? s->tally.slots[i].score / s->ideal : 0;
        bool full = list->head.count == s->limit;
        if (full && lexical * RAISE_MOST < list->items[s->limit - 1].score) break;
        bool wanted = false;
        uar_status status = is_wanted(&wanted, list, s, &s->tally.slots[i], lexical, err);
        if (status != UAR_OK) return status;
        if (!wanted) continue;
        version v;
        status = version_load(&v, &s->memory->database, s->tally.slots[i].key, &list->ar, err);
        if (status != UAR_OK) return status;
        bool matches = false;
        status = filter_matches(&matches, s->filter, &v.r);
        if (status != UAR_OK) return error_plain(err, status);
        if (!matches) continue;
        uar_memory_hit hit = { .record = v.r };
        score_hit(&hit, s, lexical);
        place_hit(list, &hit, s->limit);
    }
    return UAR_OK;
}

static uar_status run_search(hit_list *list, search *s, const term_list *terms, uar_error *err) {
    uar_status status = measure(s, err);
    for (size_t i = 0; status == UAR_OK && i < terms->count; i++)
        status = match_term(s, terms->terms[i].id, err);
    return status == UAR_OK ? gather_hits(list, s, err) : status;
}

static uar_status check_query(uar_str text, size_t limit, uar_error *err) {
    if (limit == 0 || limit > MEMORY_LIMIT_MAX)
        return error_set(err, UAR_E_INVALID, "the limit is not between 1 and %d", MEMORY_LIMIT_MAX);
    if (text.len > MEMORY_TEXT_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "the question has %zu bytes, at most %zu are allowed", text.len,
                         MEMORY_TEXT_MAX);
    size_t fault = utf8_fault(text);
    if (fault != text.len) return error_set(err, UAR_E_UTF8, "the question is not valid UTF-8 at byte %zu", fault);
    return UAR_OK;
}

/* Inside a snapshot. */
static uar_status search_locked(hit_list *list, uar_memory *memory, const caller *c, const filter *f,
                                const term_list *terms, size_t limit, uar_error *err) {
    search s = { .memory = memory, .who = c, .filter = f, .limit = limit };
    tally_init(&s.tally, &memory->alloc);
    uar_status status = run_search(list, &s, terms, err);
    tally_dispose(&s.tally);
    alloc_free(&memory->alloc, s.found);
    return status;
}

static uar_status search_one(uar_memory_hits **out, uar_memory *memory, const caller *c, const uar_memory_query *asked,
                             uar_error *err) {
    uar_status status = check_query(asked->text, asked->limit, err);
    if (status != UAR_OK) return status;
    filter f;
    status = filter_init(&f, asked->filter, clock_wall(&memory->clock), &memory->alloc, err);
    if (status != UAR_OK) return status;
    term_list terms;
    term_list_init(&terms, &memory->alloc);
    uar_str text = asked->text.ptr != NULL ? asked->text : STR("");
    hit_list *list = hit_list_new(&memory->alloc, text, asked->limit);
    status = list != NULL ? term_list_query(&terms, memory->database.key, text) : UAR_E_NOMEM;
    if (status != UAR_OK) error_plain(err, status);
    if (status == UAR_OK) status = memory_enter_read(memory, err);
    if (status == UAR_OK) {
        status = search_locked(list, memory, c, &f, &terms, asked->limit, err);
        memory_leave_read(memory);
    }
    term_list_dispose(&terms);
    filter_dispose(&f);
    if (status == UAR_OK)
        *out = &list->head;
    else if (list != NULL)
        uar_memory_hits_free(&list->head);
    return status;
}

uar_status uar_memory_search_sync(uar_memory_hits **out, uar_memory *memory, const uar_identity *who, uar_str text,
                                  const uar_memory_filter *given, size_t limit, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_OK) return status;
    caller c;
    status = caller_init(&c, who, err);
    uar_memory_query asked = { text, given, limit };
    return status == UAR_OK ? search_one(out, memory, &c, &asked, err) : status;
}

uar_status uar_memory_search_batch_sync(uar_memory_hits **out, uar_memory *memory, const uar_identity *who,
                                        const uar_memory_query *queries, size_t count, uar_error *err) {
    uar_status status = memory_usable(memory, err);
    if (status != UAR_OK) return status;
    caller c;
    status = caller_init(&c, who, err);
    if (status != UAR_OK || count == 0) return status;
    uar_memory_hits **answers = (uar_memory_hits **)alloc_zeroed(&memory->alloc, count, sizeof(uar_memory_hits *));
    if (answers == NULL) return error_plain(err, UAR_E_NOMEM);
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        status = search_one(&answers[i], memory, &c, &queries[i], err);
    for (size_t i = 0; i < count; i++) {
        if (status == UAR_OK)
            out[i] = answers[i];
        else
            uar_memory_hits_free(answers[i]);
    }
    alloc_free(&memory->alloc, answers);
    return status;
}
