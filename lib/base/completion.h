/*
 * The library's side of a uar_completion.
 *
 * A block is shared by the library (one reference from completion_new) and the host (references of uar_completion_ref, and
 * the borrowed one of the callback that gets it). It ends exactly once: by a finish, by the last host reference going
 * (UAR_E_DROPPED), or by completion_detach, after which finishes answer UAR_E_STALE.
 *
 * `on_end` runs on the thread that ended the call, with no lock held; it must be quick, must not call out to the host and
 * must copy what it keeps: a completion_result is borrowed for the call. Lock order: none, the block has no lock.
 */
#ifndef UAR_LIB_BASE_COMPLETION_H
#define UAR_LIB_BASE_COMPLETION_H

#include <uar/sys/completion.h>
#include <uar/sys/persistence.h>

#include "base/arena.h"

typedef enum completion_kind {
    COMPLETION_OK,      /* ended by uar_completion_ok */
    COMPLETION_VALUE,   /* by uar_completion_json or _text */
    COMPLETION_RECORDS, /* by uar_completion_records */
    COMPLETION_VECTORS  /* by uar_completion_vectors */
} completion_kind;

typedef struct completion_result {
    uar_status status;
    const char *message; /* of a failure; NULL: the status' text */
    uar_str value;       /* VALUE: JSON, or text if `is_text` */
    bool is_text;
    const uar_record *records;
    size_t record_count;
    const float *vectors;
    size_t vector_count;
    size_t vector_dims;
} completion_result;

typedef void (*completion_fn)(void *arg, const completion_result *result);

/* NULL: out of memory. `alloc` is copied and must work for as long as any reference lives. */
uar_completion *completion_new(const uar_allocator *alloc, completion_kind kind, completion_fn on_end, void *arg);
/* Around the host callback that gets `done`: open the borrowed reference before, close it after. */
void completion_lend(uar_completion *done);
void completion_return(uar_completion *done);
/* Nobody waits any more: true if this ended the call (on_end will not run), false if it has ended or is ending. */
bool completion_detach(uar_completion *done);
/* The host may still read what it was lent after the call was detached: hand over the memory that the input lives in, to be
 * freed with the block. `mem` is empty afterwards. */
void completion_keep(uar_completion *done, arena *mem);
/* True while the host has a reference. */
bool completion_is_held(const uar_completion *done);
/* How often the host finished it after its end. */
unsigned completion_stale_finishes(const uar_completion *done);
/* Give back the library's reference. */
void completion_release(uar_completion *done);

#endif
