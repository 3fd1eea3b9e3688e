/* What the cases of `chat` and of `memory add` share: where a kill falls. Owns nothing. */
#include "cli_cases.h"

#include <stdio.h>

cli_kill cli_draw(crash_case *c, const cli_plan *plan, bool is_fresh) {
    const cli_length *length = is_fresh ? &plan->fresh : &plan->further;
    cli_kill out = { .program = plan->is_control ? PROGRAM_CRASH_EARLY : PROGRAM_CRASH };
    unsigned way = plan->is_control ? 0 : c->index % 4;
    uint64_t lot = lots_next(&c->random);
    if (plan->no_kill) return out;
    if (way < 2) {
        out.kill.point.inside = true;
        out.kill.point.at = 1 + (long)(lot % (uint64_t)length->points.inside);
    } else if (way == 2) {
        out.kill.point.at = 1 + (long)(lot % (uint64_t)length->points.all);
    } else {
        out.program = PROGRAM_UAR;
        out.kill.after_us = 1 + lot % length->us;
    }
    out.kill.point.torn = way < 3 && lots_below(&c->random, 2) == 0;
    return out;
}

bool cli_counts(kill_counts *out, const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    bool read = fscanf(file, "%ld %ld", &out->all, &out->inside) == 2 && out->all > 0 && out->inside > 0;
    fclose(file);
    return read;
}
