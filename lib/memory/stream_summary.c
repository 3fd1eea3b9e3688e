/* Owns: summaries of streams. Invariant: a summary and the marks on what it stands for are one transaction, and it has fewer
 * tokens than they have together; the live spans stay disjoint, since a range takes each span whole or not at all. */
#include <assert.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/utf8.h"
#include "memory/extract.h"
#include "memory/stream.h"

/* Text that the rule reads at most. */
#define RANGE_TEXT_MAX ((size_t)4 * 1024 * 1024)
/* Tokens of a summary by rule, unless the caller says. */
#define RULE_SHARE 4
#define RULE_LEAST 8
#define RULE_MOST 1024

static uar_status partly(const stream_span *span, uar_error *err) {
    return error_set(err, UAR_E_INVALID, "entry %llu stands for %llu to %llu, which lie only partly in the range",
                     (unsigned long long)span->number, (unsigned long long)span->first, (unsigned long long)span->last);
}

/* The span that begins before the range must end before it. */
static uar_status check_before(database *db, int64_t stream, uint64_t first, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_STREAM_ENTRY_LIVE_BEFORE);
    query_int(&q, 18, stream);
    query_int(&q, 19, (int64_t)first);
    stream_span before = { 0, 0, 0, 0 };
    if (query_next(&q)) before = stream_span_get(&q);
    uar_status status = query_end(&q, err);
    if (status == UAR_OK && before.last >= first) return partly(&before, err);
    return status;
}

uar_status stream_live(stream_span **out, size_t *count, database *db, int64_t stream, uint64_t first, uint64_t last,
                       arena *ar, uar_error *err) {
    assert(first >= 1 && first <= last);
    uar_status status = check_before(db, stream, first, err);
    if (status != UAR_OK) return status;
    size_t cap = 64;
    size_t n = 0;
    stream_span *spans = (stream_span *)arena_alloc(ar, cap * sizeof *spans);
    if (spans == NULL) return error_plain(err, UAR_E_NOMEM);
    query q;
    query_begin(&q, db, SQL_STREAM_ENTRY_LIVE);
    query_int(&q, 18, stream);
    query_int(&q, 19, (int64_t)first);
    query_int(&q, 20, (int64_t)last);
    while (status == UAR_OK && query_next(&q)) {
        if (n == cap) {
            stream_span *more = (stream_span *)arena_alloc(ar, cap * 2 * sizeof *more);
            if (more == NULL) {
                status = error_plain(err, UAR_E_NOMEM);
                break;
            }
            memcpy(more, spans, n * sizeof *more);
            spans = more;
            cap *= 2;
        }
        spans[n] = stream_span_get(&q);
        if (spans[n].last > last) status = partly(&spans[n], err);
        n++;
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    *out = spans;
    *count = n;
    return status == UAR_OK ? end : status;
}

static uint64_t tokens_of(const stream_span *spans, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += spans[i].tokens;
    return sum;
}

uar_status stream_summary_put(stream_row *stream, stream_entry_row *row, const stream_span *spans, size_t count,
                              uar_memory *memory, uar_error *err) {
    if (count == 0) return error_set(err, UAR_E_INVALID, "there is nothing in the range to summarise");
    uint64_t before = tokens_of(spans, count);
    if (row->e.tokens >= before)
        return error_set(err, UAR_E_TOO_LARGE, "the summary has %llu tokens, what it would stand for has %llu",
                         (unsigned long long)row->e.tokens, (unsigned long long)before);
    database *db = &memory->database;
    uint64_t number = stream->s.last + 1;
    row->e.first = spans[0].first;
    row->e.last = spans[count - 1].last;
    uar_status status = UAR_OK;
    arena ar;
    arena_init(&ar, &memory->alloc);
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        stream_entry_row source;
        status = stream_entry_load(&source, db, stream->num, spans[i].number, &ar, err);
        if (status == UAR_OK) status = stream_entry_cover(db, &source, number, err);
        if (status == UAR_OK && source.e.trust > row->e.trust) row->e.trust = source.e.trust;
        arena_dispose(&ar);
    }
    arena_dispose(&ar);
    if (status != UAR_OK) return status;
    stream->s.live -= count;
    stream->s.live_tokens -= before;
    return stream_entry_put(stream, row, db, err);
}

/* One call, from the draft to the answer. */
typedef struct summarising {
    uar_memory *memory;
    const caller *c;
    uar_uuid stream;
    uar_memory_stream_summary_draft draft;
    arena ar;
    stream_entry_row row;
    stream_span *spans; /* what the rule read; NULL: the host gave the text */
    size_t span_count;
    uar_memory_stream_summary answer;
    bool done; /* the key was there already */
} summarising;

static uar_status check_range(summarising *s, uar_error *err) {
    uar_memory_stream_summary_draft *d = &s->draft;
    if (d->first == 0) d->first = 1;
    uint64_t last = d->last != 0 ? d->last : INT64_MAX;
    if (last > INT64_MAX || d->first > last) return error_set(err, UAR_E_INVALID, "the range ends before it begins");
    return UAR_OK;
}

/* The row of the text that is there, whose key may be looked for. */
static uar_status make_row(summarising *s, uar_str text, uar_memory_trust trust, uar_error *err) {
    const uar_memory_stream_summary_draft *d = &s->draft;
    uar_memory_stream_entry_draft e;
    uar_memory_stream_entry_draft_init(&e);
    e.role = d->role.ptr != NULL ? d->role : STR("summary");
    e.text = text;
    e.metadata = d->metadata;
    e.trust = d->trust != 0 ? d->trust : trust;
    e.provenance = d->provenance;
    e.unique_key = d->unique_key;
    return stream_entry_make(&s->row, s->memory, &e, &s->ar, err);
}

static uar_status find_repeat(summarising *s, const stream_row *stream, uar_error *err) {
    stream_entry_row stored;
    uar_status status = stream_entry_keyed(&stored, &s->memory->database, stream->num, &s->row, &s->ar, err);
    if (status == UAR_E_NOT_FOUND) return UAR_OK;
    if (status != UAR_OK) return status;
    if (!stream_entry_is_summary(&stored.e))
        return error_set(err, UAR_E_EXISTS, "the unique key is that of entry %llu, which is no summary",
                         (unsigned long long)stored.e.number);
    s->done = true;
    s->answer = (uar_memory_stream_summary){ .number = stored.e.number,
                                             .first = stored.e.first,
                                             .last = stored.e.last,
                                             .tokens = stored.e.tokens,
                                             .repeated = true };
    return UAR_OK;
}

static uar_status load_passages(extract_passage *out, summarising *s, const stream_row *stream, uar_error *err) {
    size_t bytes = 0;
    for (size_t i = 0; i < s->span_count; i++) {
        stream_entry_row row;
        uar_status status = stream_entry_load(&row, &s->memory->database, stream->num, s->spans[i].number, &s->ar, err);
        if (status != UAR_OK) return status;
        bytes += row.e.text.len;
        if (bytes > RANGE_TEXT_MAX)
            return error_set(err, UAR_E_TOO_LARGE, "the range has more than %zu bytes of text", RANGE_TEXT_MAX);
        /* What a summary says bears its own marks of who said it. */
        if (!stream_entry_is_summary(&row.e)) out[i].role = row.e.role;
        out[i].text = row.e.text;
    }
    return UAR_OK;
}

/* What the rule reads, in a snapshot of its own: to choose sentences takes time that no other writer should wait. */
static uar_status read_range(extract_passage **out, summarising *s, uar_error *err) {
    stream_row stream;
    uar_status status = stream_find_active(&stream, &s->memory->database, s->c, s->stream, &s->ar, err);
    if (status == UAR_OK) status = find_repeat(s, &stream, err);
    if (status != UAR_OK || s->done) return status;
    if (s->draft.last == 0) s->draft.last = stream.s.last;
    if (s->draft.first > s->draft.last)
        return error_set(err, UAR_E_INVALID, "there is nothing in the range to summarise");
    status = stream_live(&s->spans, &s->span_count, &s->memory->database, stream.num, s->draft.first, s->draft.last,
                         &s->ar, err);
    if (status != UAR_OK) return status;
    *out = (extract_passage *)arena_zeroed(&s->ar, s->span_count + 1, sizeof **out);
    if (*out == NULL) return error_plain(err, UAR_E_NOMEM);
    return load_passages(*out, s, &stream, err);
}

static uint64_t rule_budget(const summarising *s) {
    uint64_t all = tokens_of(s->spans, s->span_count);
    uint64_t share = all / RULE_SHARE;
    if (share < RULE_LEAST) share = RULE_LEAST;
    if (share > RULE_MOST) share = RULE_MOST;
    if (s->draft.max_tokens != 0) share = s->draft.max_tokens;
    return share < all ? share : all != 0 ? all - 1 : 0;
}

static uar_status apply_rule(summarising *s, const extract_passage *passages, uar_error *err) {
    if (s->span_count == 0) return error_set(err, UAR_E_INVALID, "there is nothing in the range to summarise");
    buffer text;
    buffer_init(&text, &s->memory->alloc, RANGE_TEXT_MAX * 2);
    uint64_t most = rule_budget(s);
    extract_budget budget = { most, most, EXTRACT_TOKENS };
    uar_status status = extract_sentences(&text, passages, s->span_count, budget, s->memory->database.key);
    uar_str kept = { NULL, 0 };
    if (status == UAR_OK) {
        uar_str whole = buffer_str(&text);
        kept = arena_str(&s->ar, uar_str_n(whole.ptr, utf8_cut(whole, MEMORY_TEXT_MAX)));
        if (kept.ptr == NULL) status = UAR_E_NOMEM;
    }
    buffer_dispose(&text);
    if (status != UAR_OK) return error_plain(err, status);
    if (kept.len == 0) return error_set(err, UAR_E_TOO_LARGE, "no sentence of the range fits into a shorter summary");
    return make_row(s, kept, UAR_MEMORY_TRUST_HOST, err);
}

static uar_status by_rule(summarising *s, uar_error *err) {
    extract_passage *passages = NULL;
    uar_status status = make_row(s, STR("-"), UAR_MEMORY_TRUST_HOST, err); /* all but the text is checked first */
    if (status == UAR_OK) status = memory_enter_read(s->memory, err);
    if (status != UAR_OK) return status;
    status = read_range(&passages, s, err);
    memory_leave_read(s->memory);
    return status == UAR_OK && !s->done ? apply_rule(s, passages, err) : status;
}

static bool same_spans(const summarising *s, const stream_span *spans, size_t count) {
    if (count != s->span_count) return false;
    for (size_t i = 0; i < count; i++)
        if (spans[i].number != s->spans[i].number) return false;
    return true;
}

static uar_status write_summary(summarising *s, uar_error *err) {
    database *db = &s->memory->database;
    stream_row stream;
    uar_status status = stream_find_active(&stream, db, s->c, s->stream, &s->ar, err);
    if (status == UAR_OK) status = find_repeat(s, &stream, err);
    if (status != UAR_OK || s->done) return status;
    uint64_t last = s->draft.last != 0 ? s->draft.last : stream.s.last;
    if (s->draft.first > last) return error_set(err, UAR_E_INVALID, "there is nothing in the range to summarise");
    status = stream_expect(&stream, s->draft.expected, err);
    stream_span *spans = NULL;
    size_t count = 0;
    if (status == UAR_OK) status = stream_live(&spans, &count, db, stream.num, s->draft.first, last, &s->ar, err);
    if (status == UAR_OK && s->spans != NULL && !same_spans(s, spans, count))
        status = error_set(err, UAR_E_CONFLICT, "the range was summarised by another meanwhile");
    if (status == UAR_OK) status = stream_summary_put(&stream, &s->row, spans, count, s->memory, err);
    if (status != UAR_OK) return status;
    s->answer = (uar_memory_stream_summary){ .number = s->row.e.number,
                                             .first = s->row.e.first,
                                             .last = s->row.e.last,
                                             .sources = count,
                                             .tokens = s->row.e.tokens,
                                             .source_tokens = tokens_of(spans, count) };
    stream.s.updated_ms = clock_wall(&s->memory->clock);
    return stream_update(db, &stream, err);
}

static uar_status summarise(summarising *s, uar_error *err) {
    uar_status status = check_range(s, err);
    if (status == UAR_OK)
        status = s->draft.text.ptr != NULL ? make_row(s, s->draft.text, UAR_MEMORY_TRUST_MODEL, err) : by_rule(s, err);
    if (status != UAR_OK || s->done) return status;
    status = memory_enter_write(s->memory, err);
    if (status != UAR_OK) return status;
    status = write_summary(s, err);
    return memory_leave_write(s->memory, status, err);
}

uar_status uar_memory_stream_summarise_sync(uar_memory_stream_summary *out, uar_memory *memory, const uar_identity *who,
                                            uar_uuid stream, const uar_memory_stream_summary_draft *draft,
                                            uar_error *err) {
    caller c;
    summarising s;
    memset(&s, 0, sizeof s);
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    if (draft == NULL) return error_set(err, UAR_E_INVALID, "there is no draft of a summary");
    status = struct_in(&s.draft, sizeof s.draft, draft, "uar_memory_stream_summary_draft", err);
    if (status != UAR_OK) return status;
    s.memory = memory;
    s.c = &c;
    s.stream = stream;
    arena_init(&s.ar, &memory->alloc);
    status = summarise(&s, err);
    arena_dispose(&s.ar);
    if (status == UAR_OK) *out = s.answer;
    return status;
}
