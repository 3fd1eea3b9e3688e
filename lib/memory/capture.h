/*
 * What a user said that is worth keeping, by rules: no model, no network. It prefers silence to junk: statements of the user
 * about themselves and explicit wishes to remember, in English, German, Spanish and French. Questions, hypotheticals, quoted
 * text and code, and anything that looks like a secret give nothing, nor does what was recalled into the same turn.
 */
#ifndef UAR_LIB_MEMORY_CAPTURE_H
#define UAR_LIB_MEMORY_CAPTURE_H

#include <uar/memory.h>

#include "base/arena.h"

/* At most so many candidates of one turn. */
#define CAPTURE_MAX 8

typedef struct capture_candidate {
    uar_str content;   /* the sentence as it was said, without its end mark */
    uar_str subject;   /* fact slot, or absent */
    uar_str attribute; /* fact slot, or absent */
    uar_memory_type type;
    double importance;
} capture_candidate;

/* Candidates of `text`, a completed turn's user text; `recalled` are texts that were injected into it. Everything lives in
 * the arena. UAR_E_NOMEM. */
uar_status memory_capture_extract(capture_candidate out[CAPTURE_MAX], size_t *count, arena *ar, uar_str text,
                                  const uar_str *recalled, size_t recalled_count);

/* True if the text seems to hold a key, a password, a token or a card number. */
bool capture_is_secret(uar_str text);

#endif
