/*
 * Records whose every trace is known: a word that nothing else has, the number of that word in the index, and a vector of its
 * own. They are told from others by the label "canary".
 */
#ifndef UAR_TESTS_SUPPORT_CANARY_H
#define UAR_TESTS_SUPPORT_CANARY_H

#include <uar/memory.h>

#include "support/byte_scan.h"

#define CANARY_DIMS 64

/* An embedder that gives each text a direction of its own, always the same. Static. */
const uar_embedder *canary_embedder(void);
/* Write canaries `from` to `from + count - 1` of user "ann", and as many other records, in batches. */
void canary_write(uar_memory *memory, unsigned from, unsigned count);
/* Add all that could tell of these canaries: their words, the numbers of the words in this store, floats and codes of their
 * vectors. */
void canary_patterns(byte_scan *words, byte_scan *terms, byte_scan *vectors, uar_memory *memory, unsigned from,
                     unsigned count);

#endif
