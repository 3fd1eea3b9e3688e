/*
 * The byte side of a projection: collects small pieces and hands them on. Needs no memory but its own, so that an event can
 * be projected when there is none. The first error of `write` sticks and stops everything.
 */
#ifndef UAR_LIB_EVENT_PROJECTION_H
#define UAR_LIB_EVENT_PROJECTION_H

#include <uar/event.h>

typedef struct projection {
    uar_write_fn write;
    void *ctx;
    uar_status status;
    size_t len;
    char bytes[1024];
} projection;

void projection_begin(projection *p, uar_write_fn write, void *ctx);
/* Hand on what is left; the status of it all. */
uar_status projection_end(projection *p);

void projection_str(projection *p, uar_str text);
void projection_text(projection *p, const char *text);
void projection_u64(projection *p, uint64_t value);
void projection_i64(projection *p, int64_t value);
void projection_f64(projection *p, double value); /* as JSON: null if it isn't finite */
void projection_uuid(projection *p, uar_uuid id);
/* Quoted and escaped; broken bytes become U+FFFD. */
void projection_json_string(projection *p, uar_str text);

#endif
