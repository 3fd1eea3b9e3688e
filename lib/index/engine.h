/*
 * Search over the segments that a caller sees: words and vectors, joined, filtered, ranked.
 *
 * The engine keeps segments in memory up to a bound; it stores nothing and knows no database: each search brings what it
 * needs up to date through an index_source, inside the snapshot that the caller has open. All numbers that a score is made
 * of come from the segments that were handed in.
 *
 * Not thread-safe. After any failure it is usable; it only has less in memory.
 */
#ifndef UAR_LIB_INDEX_ENGINE_H
#define UAR_LIB_INDEX_ENGINE_H

#include "index/segment.h"
#include "index/time_expression.h"
#include "index/vector.h"

typedef struct engine_cached {
    index_segment segment;
    uint64_t used; /* when it was last asked for */
} engine_cached;

/* A run of memory kept from search to search. */
typedef struct engine_scratch {
    void *bytes;
    size_t size;
} engine_scratch;

/* Postings of one term: numbers of documents and how often. */
typedef struct engine_found {
    uint32_t *at;
    uint8_t *times;
    size_t count, cap;
} engine_found;

#define ENGINE_TERMS_MAX (2 * TERMS_OF_QUERY_MAX + 1)

typedef struct engine {
    const uar_allocator *alloc;
    size_t cache_bytes;
    engine_cached **segments; /* by id */
    size_t count, cap;
    uint64_t clock;
    engine_scratch scratch;
    engine_found found[ENGINE_TERMS_MAX];
    size_t body_reads; /* chunks whose bodies were read so far */
    size_t bits_from;  /* documents from which on a search looks at bits first */
    size_t sheets;     /* that the call in the works may still make */
} engine;

/* From so many documents on a first look by bits pays for itself: below, all codes are read as fast. */
#define ENGINE_BITS_FROM 200000
/* Sheets that one call makes at most, so that none pays for all of them: chunks without one are scanned by their codes. */
#define ENGINE_SHEETS 64

void engine_init(engine *e, const uar_allocator *a, size_t cache_bytes);
/* Forget what is known of a segment; 0: of all. */
void engine_forget(engine *e, int64_t segment);
/* Give memory back: all that is kept. It works on; an engine that goes is trimmed first. */
void engine_trim(engine *e);
/* Bytes held for segments. */
size_t engine_bytes(const engine *e);

/* What a term of a question stands for. */
typedef enum engine_term_kind {
    ENGINE_WORD,    /* what is looked for */
    ENGINE_OPENING, /* a document that begins with it is a little better */
    ENGINE_ASKS     /* a document that has it is a little worse */
} engine_term_kind;

typedef struct engine_term {
    uint64_t id;
    engine_term_kind kind;
} engine_term;

/* Its arrays are borrowed until the answer is freed. */
typedef struct engine_question {
    const engine_term *terms; /* at most ENGINE_TERMS_MAX, each id once a kind */
    size_t term_count;
    const float *vector;    /* of length 1 and of the source's dimensions; NULL: by words */
    const time_range *time; /* what was created then is better, if it speaks of a time; NULL: it doesn't */
    int64_t time_ms;
    bool as_of;                       /* what held at time_ms, else current documents */
    bool include_ended;               /* current ones that no longer hold at time_ms as well */
    uint32_t types;                   /* a bit for each type; 0: any */
    int64_t after_ms;                 /* created at or after; 0: any */
    int64_t before_ms;                /* created before; 0: any */
    uint32_t places[DOCUMENT_PLACES]; /* 0: any */
    uint32_t labels;                  /* all of these bits; 0: any */
    size_t limit;                     /* how many hits are wanted, at least 1 */
    bool is_open; /* the caller may refuse hits for reasons of its own, so that more must be at hand */
} engine_question;

typedef struct engine_hit {
    int64_t key;
    double score;     /* what hits are ordered by: relevance moved by recency, importance and trust */
    double relevance; /* at least 0; by words alone, 1 is the best match of this question */
    double lexical;   /* 0 to 1: share of the question's words, weighted by their rarity, found in it or around it */
    double around;    /* how much of `lexical` came from around it */
    double time;      /* 0 to 1: how near its creation is to the question's time */
    double cosine;    /* of the vectors themselves; 0 before engine_answer_rescore */
    bool has_vector;
    uint32_t number; /* in this answer */
} engine_hit;

/* Hits of one search, best first. Valid until the engine is used again. */
typedef struct engine_answer engine_answer;

/* UAR_E_NOMEM, UAR_E_CORRUPT, or what the source says. Free the answer before the next search. */
uar_status engine_search(engine_answer **out, engine *e, const engine_question *q, const segment_state *segments,
                         size_t count, const index_source *source, uar_error *err);
/* The next hit; false: there is none. */
bool engine_answer_next(engine_answer *answer, engine_hit *out);
/* The hit again, with its cosine and score by the vector itself in place of that by codes. */
void engine_answer_rescore(const engine_answer *answer, engine_hit *hit, const float *vector);
/* How far a score that was not rescored may be off. */
double engine_answer_slack(const engine_answer *answer);
/* False: the question had no vector, or no document has one. */
bool engine_answer_is_hybrid(const engine_answer *answer);
void engine_answer_free(engine_answer *answer);

/* Nearest documents of one segment by cosine, best first, of equal ones the later key; at most `cap`: current ones of a type
 * that hold at `time_ms` and whose cosine is `least` or more. Exact: what the codes leave in doubt, the vectors decide. */
typedef struct engine_near {
    int64_t key;
    float cosine;
} engine_near;
typedef struct engine_near_question {
    const float *vector; /* of length 1 */
    uint8_t type;
    int64_t time_ms;
    float least;
} engine_near_question;
/* `out` and `count` are untouched after a failure. */
uar_status engine_nearest(engine_near *out, size_t *count, size_t cap, engine *e, const engine_near_question *q,
                          const segment_state *segment, const index_source *source, uar_error *err);

/* Bring a segment up to date and keep it until the next call that may let it go. */
uar_status engine_open(index_segment **out, engine *e, const segment_state *now, const index_source *source,
                       uar_error *err);
/* Keep within the bound with `more` bytes to come; segments used after `since` (a value of e->clock) stay. False: it can't
 * be done. */
bool engine_settle(engine *e, uint64_t since, size_t more);
/* `size` bytes of scratch, zeroed, valid until the next call. NULL: out of memory. */
void *engine_scratch_take(engine *e, size_t size);

#endif
