/*
 * An embedder that looks vectors up in a file, so that any encoder can be measured without linking it.
 *
 * The file: "UARV", u32 dimensions, then for each text u32 bytes, the text, and its floats; all little-endian. What is
 * stored and what asks share one table.
 */
#ifndef UAR_TESTS_BENCH_VECTORS_H
#define UAR_TESTS_BENCH_VECTORS_H

#include <uar/sys/embedder.h>

#include <stdbool.h>

/* Taken over by whom it is given to. False if the file is missing or none of this kind. */
bool vectors_open(uar_embedder *out, const char *path);

#endif
