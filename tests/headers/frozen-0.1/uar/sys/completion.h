/*
 * uar/sys/completion.h: how a host ends a call that the library started.
 *
 * A completion is a reference-counted block that outlives its run and its runtime. A callback gets it borrowed:
 * finish it inside the callback, or take a reference with uar_completion_ref and finish it later from any thread.
 * When the last reference of the host goes and nothing was finished, the call ends with UAR_E_DROPPED.
 * A second or late finish answers UAR_E_STALE and does nothing but free what it was given.
 * Finishing never blocks and never calls back into the host. Works from every callback. Since 0.1.
 */
#ifndef UAR_SYS_COMPLETION_H
#define UAR_SYS_COMPLETION_H

#include <uar/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One open call. */
typedef struct uar_completion uar_completion;

/** Take a reference; returns its argument. Any thread. */
UAR_API uar_completion *uar_completion_ref(uar_completion *done);
/** Give a reference back; NULL is accepted. The last one drops an unfinished call. Any thread. */
UAR_API void uar_completion_unref(uar_completion *done);
/** True until the call has its outcome. A call that is being cancelled, or is over its deadline, stays open while its
 *  tool's `cancel` runs, so that the tool may still finish it. Any thread. */
UAR_API bool uar_completion_is_open(const uar_completion *done);

/** Finish without a value. UAR_E_INVALID if the call wants one (the call then ends with that error). */
UAR_API uar_status uar_completion_ok(uar_completion *done);
/** Finish with an error; UAR_OK as `status` counts as UAR_E_INTERNAL. `message` may be NULL; it is copied. */
UAR_API uar_status uar_completion_fail(uar_completion *done, uar_status status, const char *message);
/** Finish with NUL-terminated strict JSON; it is copied. Text that isn't JSON ends the call with UAR_E_JSON. */
UAR_API uar_status uar_completion_json(uar_completion *done, const char *json);
/** Finish with strict JSON of a given length; it is copied. */
UAR_API uar_status uar_completion_json_n(uar_completion *done, const char *json, size_t len);
/** Finish with plain text (the model sees it as a string); it is copied. Invalid UTF-8 ends the call with UAR_E_UTF8. */
UAR_API uar_status uar_completion_text(uar_completion *done, const char *text, size_t len);
/** Finish an embedding call with `count` vectors of `dims` floats, row by row; copied. A wrong shape ends it with UAR_E_INVALID. */
UAR_API uar_status uar_completion_vectors(uar_completion *done, const float *vectors, size_t count, size_t dims);

#ifdef __cplusplus
}
#endif
#endif
