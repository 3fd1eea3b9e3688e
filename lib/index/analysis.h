/*
 * From text to tokens, the same for what is stored and what is asked.
 *
 * A token is folded (see fold.h, marks dropped). Words are runs of letters, digits and marks, English endings taken
 * off. Words tied by one connector ("POL-358", "user@example") give their parts and the joined form, so that each way of
 * writing finds the other. Scripts without spaces, and Hangul, give pairs of characters (and single ones in passages).
 * Symbols such as emoji are tokens of their own. A text with none of these gives itself, so that any text finds itself.
 */
#ifndef UAR_LIB_INDEX_ANALYSIS_H
#define UAR_LIB_INDEX_ANALYSIS_H

#include "base/alloc.h"

/* Raised whenever the same text gives other tokens, or chunks another form: stored indexes are then built anew. */
#define ANALYSIS_VERSION 3
/* Longest token in code points; longer words are cut. */
#define ANALYSIS_TOKEN_POINTS 48

typedef enum analysis_side { ANALYSIS_PASSAGE, ANALYSIS_QUERY } analysis_side;

typedef struct token {
    uar_str text;  /* borrowed for the call */
    bool is_stop;  /* a word so common that it says nothing, in English, German, Spanish or French */
    bool is_extra; /* another form of a token that came before: doesn't count for the length of the text */
} token;

/* Not UAR_OK ends the analysis with that status. */
typedef uar_status (*token_fn)(void *ctx, const token *t);

/* UAR_E_NOMEM, UAR_E_UTF8, or what `each` says. */
uar_status analysis_run(const uar_allocator *a, uar_str text, analysis_side side, token_fn each, void *ctx);

/* Take the English endings off an ASCII lower-case word in place; the new length. Others are left alone. */
size_t stem_word(char *word, size_t len);
/* True for a folded word of the stop list. */
bool stop_word(uar_str word);

#endif
