/* One search in the works: used by the engine's own files only. */
#ifndef UAR_LIB_INDEX_SEARCH_H
#define UAR_LIB_INDEX_SEARCH_H

#include "index/engine.h"
#include "index/score.h"

/* Stands for the cosine of a document without a vector. */
#define SEARCH_NO_COSINE (-2.0f)

/* A segment in this search; its documents and groups are numbered on from those of the one before. */
typedef struct search_part {
    index_segment *segment;
    const uint8_t *in; /* of each document: does it count in this search? Ask with engine_answer.in_mask */
    uint32_t base, group_base;
} search_part;

typedef struct search_entry {
    float score;
    uint32_t number;
} search_entry;

/* Everything that is the same for all documents of a search. */
typedef struct search_scorer {
    float words, log_mean, vectors, usual, small;
} search_scorer;

/* What a search by bits knows of its estimates. They spread wider than cosines: x spreads as middle + stretch * (x - middle)
 * would. A sample says how far that is off: the mean of cosines less what it should be, and the same of the deviation as a
 * ratio; and how much too high the best estimates of conversations are. */
typedef struct search_rough {
    score_spread spread; /* of estimates; count 0: there are none */
    double errors;       /* sum of squared deviations of estimates */
    float error;         /* the usual deviation */
    double middle, stretch, shift, ratio;
    float excess;
} search_rough;

struct engine_answer {
    engine *engine;
    engine_question question;
    const index_source *source;
    uint64_t since; /* clock of the engine before the search */
    search_part *parts;
    size_t part_count;
    uint8_t in_mask;
    size_t documents, groups; /* of all parts */
    double records, mean_length, mean_window, mean_talk;
    float *words;    /* of each document: what it earned by words */
    float *bonus;    /* of each document: small things */
    float *cosines;  /* of each document with the centred question, by codes, then with a share of the best of
                        its conversation; SEARCH_NO_COSINE: none */
    float *own;      /* of each document: occurrences of the term in hand */
    float *window;   /* the same in its window */
    float *talk;     /* of each group: what all of it earned; then the best cosine in it */
    float *talk_own; /* of each group: occurrences of the term in hand, then what they weigh */
    uint32_t *touched, *touched_groups;
    uint8_t *near;      /* of each document: does it or a neighbour have a word of the question? */
    uint8_t *holds;     /* of each document, for a search as of a time */
    float *relevance;   /* is `own`, when words are done */
    double best, ideal; /* of `words`: the most that was earned, the most that could be */
    double rarities[ENGINE_TERMS_MAX];
    bool has_words; /* some document has a word of the question */
    bool is_hybrid;
    float *centred; /* the question without what vectors have in common, of length 1 */
    vector_query query;
    bool has_query;
    float widest;     /* scale of codes */
    bool by_bits;     /* cosines are estimates until refined */
    uint8_t *settled; /* of each document, in a search by bits: its cosine is by codes, or it has none. Is `holds` */
    search_rough rough;
    search_scorer scorer;
    score_scale vectors;
    search_entry *entries; /* a heap, the best on top */
    size_t entry_count;
};

/* Open the segments, lay out the scratch, prepare the vector. */
uar_status search_begin(engine_answer *s, const segment_state *segments, size_t count, uar_error *err);
/* The body of a chunk: one that there is room for stays with the segment, of another one `out` is to be given to
 * segment_release when the chunk has none. `since`: clock of the engine before the search. */
uar_status search_take_body(segment_chunk *out, engine *e, uint64_t since, index_segment *segment, size_t at,
                            const index_source *source, uar_error *err);
/* Make the sheet of a chunk that has a body, if it has none and there is room and time for it. */
uar_status search_take_sheet(engine *e, uint64_t since, index_segment *segment, size_t at);
/* Find the postings of all terms and the cosines of all documents, chunk by chunk. */
uar_status search_gather(engine_answer *s, uar_error *err);
/* From postings to `words`. */
void search_words(engine_answer *s);
void search_end(engine_answer *s);
/* Settle every document that may be among the best, with the best cosine of its conversation. `relevance` is weighed;
 * `floor` is what search_floor then says. */
uar_status search_refine(float *floor, engine_answer *s);

/* The least score that a document needs to be among the best, by those that were weighed so far; with `is_rough` by
 * estimates, too. */
uar_status search_floor(float *out, engine_answer *s, bool is_rough);

/* Documents of a part that stand together: those of a chunk, or the loose ones behind the last. */
typedef struct search_run {
    size_t from, to;
    float lift; /* what recency, importance and trust can make of a relevance of 1 in it at most */
} search_run;
/* `number` from 0 to the part's chunk_count. */
search_run search_run_at(const engine_answer *s, const search_part *p, size_t number);
bool search_wants(const engine_answer *s, const search_part *p, size_t at);
float search_relevance(const engine_answer *s, const search_part *p, size_t at, float cosine);

/* Documents in one step of a loop that the compiler may do at once. */
#define SEARCH_LANES 16
/* The first place from `at` on whose value is at least `least`, or a few before it: whole steps are passed over. */
static inline size_t search_skip_below(const float *values, size_t at, size_t count, float least) {
    for (; at + SEARCH_LANES <= count; at += SEARCH_LANES) {
        unsigned any = 0;
        for (size_t lane = 0; lane < SEARCH_LANES; lane++)
            any |= values[at + lane] >= least;
        if (any != 0) break;
    }
    return at;
}

/* The part that a document is in. */
const search_part *search_part_of(const engine_answer *s, uint32_t number);

#endif
