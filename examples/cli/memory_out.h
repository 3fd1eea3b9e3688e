/*
 * How memory records and answers are printed: as JSON by the library's own projections, or as lines for people.
 */
#ifndef UAR_CLI_MEMORY_OUT_H
#define UAR_CLI_MEMORY_OUT_H

#include "app.h"

#include <uar/memory.h>

void print_record(const app *a, const uar_memory_record *record);
void print_hits(const app *a, const uar_memory_hits *hits);
void print_change(const app *a, const uar_memory_change *change);
void print_stats(const app *a, const uar_memory_stats *stats, const uar_memory_embedding *embedding);

#endif
