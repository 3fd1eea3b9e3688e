/*
 * Moving what a memory holds: a file of lines goes in, lines go out. Records, the graph and streams differ only in the call.
 */
#ifndef UAR_CLI_MEMORY_MOVE_H
#define UAR_CLI_MEMORY_MOVE_H

#include "app.h"

#include <uar/memory.h>

enum { MOVE_COUNTS_MOST = 6 };

/* What became of the lines, in the order in which it is told. */
typedef struct move_sum {
    struct {
        const char *what;
        uint64_t count;
    } counts[MOVE_COUNTS_MOST];
    size_t size;
    uint64_t failed;
} move_sum;

void move_count(move_sum *sum, const char *what, uint64_t count);
/* How many lines failed: told among the others, and in the status of the program. */
void move_count_failed(move_sum *sum, uint64_t count);

/* One call of the library: lines in. It hands `failed` and `failed_ctx` on, and fills the sum if it works. */
typedef uar_status (*move_in_fn)(move_sum *sum, const void *ctx, uar_memory *memory, const uar_identity *who,
                                 uar_str lines, uar_memory_line_fn failed, void *failed_ctx, uar_error *err);
/* Lines out. */
typedef uar_status (*move_out_fn)(const void *ctx, uar_memory *memory, const uar_identity *who,
                                  uar_memory_write_fn write, void *write_ctx, uar_error *err);

/* Import the file that the first operand names and tell what became of it. CODE_USAGE if a line failed. */
int move_in(app *a, move_in_fn import, const void *ctx);
/* Export to standard output. */
int move_out(app *a, move_out_fn export, const void *ctx);

#endif
