/*
 * What a model reads: system texts, then the session's messages, each recalled block just before the message that it was
 * recalled for. Invariant: a call and its results are together or both left out; the first message is the user's.
 */
#ifndef UAR_LIB_RUN_CONTEXT_H
#define UAR_LIB_RUN_CONTEXT_H

#include "run/run.h"

/* Build in `mem`. UAR_E_NOMEM. */
uar_status context_build(uar_model_request *out, run *r, uint64_t attempt, arena *mem);
/* Index of the first message to send when the history begins at some cut: the first one of a user. */
size_t context_first_whole(const uar_message *messages, size_t count);

#endif
