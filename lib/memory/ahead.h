/*
 * Texts that the embedder is asked about ahead, without a thread that waits: when it has answered, or its time is over,
 * the calls that need the vectors find them, or the failure, and don't ask again.
 *
 * `ended` is called once, by whoever ends it: the host's thread that answers, ahead_stop, or ahead_start. After it nothing of
 * the memory is used any more but by an ahead_start that still runs. The memory must live until then.
 */
#ifndef UAR_LIB_MEMORY_AHEAD_H
#define UAR_LIB_MEMORY_AHEAD_H

#include <uar/memory.h>

typedef struct ahead ahead;

/* At most so many texts. */
#define AHEAD_MAX 8

/* True if there is an embedder to be asked. */
bool ahead_is_needed(const uar_memory *memory);
/* How long to wait before ahead_stop, in milliseconds. */
uint32_t ahead_timeout_ms(const uar_memory *memory);

/* Texts are copied. Give it back with ahead_unref. UAR_E_NOMEM. */
uar_status ahead_new(ahead **out, uar_memory *memory, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                     void (*ended)(void *arg), void *arg);
/* Ask, once. Where blocking is allowed: it calls the embedder. The caller keeps a reference over the call. */
void ahead_start(ahead *a);
/* End it, if it has not ended, for this reason. Any thread. */
void ahead_stop(ahead *a, uar_status why);
/* When it has ended: UAR_OK or why there are no vectors. */
uar_status ahead_result(const ahead *a, uar_error *err);
ahead *ahead_ref(ahead *a);
void ahead_unref(ahead *a);

#endif
