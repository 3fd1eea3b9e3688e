/*
 * Storing the content of an attachment, and removing what is left of one.
 *
 * An upload of more than one commit has a mark under the owner "~", put anew by each commit: its revision is the fence. Who
 * sweeps takes the mark over first, so an upload that was given up can't go on, and nobody's liveness is guessed. The last
 * commit puts the root and deletes the mark, so an attachment exists exactly when its root does. A deletion deletes the root
 * and leaves such a mark until the last part is gone.
 */
#ifndef UAR_LIB_RUNTIME_UPLOAD_H
#define UAR_LIB_RUNTIME_UPLOAD_H

#include "base/crypto.h"
#include "runtime/keep.h"

/* Parts in one commit. */
#define UPLOAD_PARTS 8
#define UPLOAD_BYTES (UPLOAD_PARTS * ATTACHMENT_PART_MAX)

typedef struct upload {
    uar_attachment a; /* texts are the owner's; size and sha256 are known at the end */
    sha256_stream *sum;
    uint64_t parts;         /* stored */
    uint64_t mark_revision; /* 0: there is no mark */
    bool dead, finished;
} upload;

/* A fresh id and an empty sum. UAR_E_NOMEM, UAR_E_INTERNAL. */
uar_status upload_begin(upload *u, const run_env *env);
void upload_dispose(upload *u);
/* Media type and name as the options say, checked and copied; in an upload's attachment. */
uar_status upload_describe(uar_attachment *a, arena *mem, const uar_attachment_options *options, uar_error *err);
/* Commit at most UPLOAD_BYTES: whole parts, or, when it is the `last`, all that is left. False: the request has ended, and the
 * upload is dead. */
bool upload_commit(request *q, upload *u, uar_str content, bool last);
/* In the step behind it: take the answer in. False: the request has ended, and the upload is dead. */
bool upload_committed(request *q, upload *u, uar_str content, bool last);

/* Remove the parts of a mark, from the last on, then the mark; then take the step `then`, with q->op.status UAR_OK. A step of
 * the store that fails ends the request. `s` lives in the request's arena; somebody else's work on the mark ends ours. */
typedef struct scrap {
    attachment_mark mark; /* with the revision that is stored */
    void (*then)(request *q);
    bool whole; /* a part wasn't as expected: all children are removed by one write */
} scrap;
void scrap_begin(request *q, scrap *s);

extern const kept kept_attachments;

#endif
