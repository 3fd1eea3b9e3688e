/*
 * What `uar doctor` finds out: a list of checks, each with a verdict and a detail. Nothing here but checkup_repair writes to a
 * store or makes one, and no value of a key is ever read into a detail.
 */
#ifndef UAR_CLI_DOCTOR_H
#define UAR_CLI_DOCTOR_H

#include "app.h"
#include "text.h"

#include <cjson/cJSON.h>
#include <uar/store_care.h>

typedef struct check {
    const char *name;
    bool ok;
    bool is_store;    /* a fault here is a fault of a store */
    char *detail;     /* what was found */
    const char *hint; /* what to do about a fault, or NULL */
} check;

enum { CHECKS_MOST = 32 };

typedef struct checkup {
    const app *app;
    check checks[CHECKS_MOST];
    size_t count;
    cJSON *lost; /* records that can't be read: an object each; NULL: none */
    size_t lost_count;
} checkup;

/* Add a check; the details are formatted. `hint` is static. */
void checkup_good(checkup *c, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
void checkup_bad(checkup *c, const char *name, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for a store. */
void checkup_bad_store(checkup *c, const char *name, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Versions of what the program is linked with. */
void checkup_parts(checkup *c);
/* A uar_store_finding_fn over a checkup: keeps the names of lost records, up to LOST_MOST of them. */
enum { LOST_MOST = 1000 };
void checkup_note(void *checkup, const uar_store_finding *finding);
/* Put the state in order, if it is damaged, and the memory's index. */
void checkup_repair(checkup *c);
/* State, memory, their folders and the stored settings. */
void checkup_stores(checkup *c);
/* Model, embedder, and what the environment says. */
void checkup_choices(checkup *c);

#endif
