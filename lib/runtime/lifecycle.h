/* What the files behind uar/lifecycle.h share. */
#ifndef UAR_LIB_RUNTIME_LIFECYCLE_H
#define UAR_LIB_RUNTIME_LIFECYCLE_H

#include "runtime/request.h"

/* A request about one session: q->id is its record's id, q->state zeroed memory of `state_size` (0: none). NULL: `err`. */
request *lifecycle_request(uar_runtime *rt, bool waits, void (*step)(request *q), const char *owner, const char *user,
                           const char *session, size_t state_size, uar_error *err);
/* End with the session that a GET has just read. */
void lifecycle_answer_session(request *q);
/* Absent, or 1-1000 bytes of UTF-8. */
bool lifecycle_name_is_good(uar_str name);

#endif
