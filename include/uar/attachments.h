/*
 * uar/attachments.h: large contents that messages speak of: images, audio, files.
 *
 * An attachment belongs to one owner and one user; others get UAR_E_NOT_FOUND. Its content is kept in parts of 128 KiB and
 * never changes. It exists whole or not at all: readers see it when its upload was finished. Calls come in the two forms of
 * uar/records.h and answer with its replies. Since 0.1.
 */
#ifndef UAR_ATTACHMENTS_H
#define UAR_ATTACHMENTS_H

#include <uar/records.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An attachment, without its content. */
struct uar_attachment {
    uar_str owner;       /**< tenant */
    uar_str user;        /**< whose it is */
    uar_uuid id;         /**< made by the library */
    uar_str media;       /**< media type, such as "image/png" */
    uar_str name;        /**< file name for people, or absent */
    uint64_t size;       /**< bytes */
    uint32_t part_bytes; /**< bytes of each stored part but the last */
    uint8_t sha256[32];  /**< of the whole content */
    int64_t created_ms;  /**< wall time */
    uint64_t revision;   /**< of its record */
};

/** Largest content, in bytes: 4 GiB. */
#define UAR_ATTACHMENT_MAX ((uint64_t)4 << 30)
/** Most bytes that one uar_attachment_read gives: 16 MiB. */
#define UAR_ATTACHMENT_READ_MAX ((size_t)16 << 20)

/** What an upload says of its content. Texts are copied. */
typedef struct uar_attachment_options {
    size_t size;       /**< sizeof(uar_attachment_options) */
    const char *media; /**< media type: 1–128 bytes without control characters; "application/octet-stream" */
    const char *name;  /**< file name: 1–128 bytes without control characters; none */
} uar_attachment_options;
/** Head of a uar_attachment_options. */
#define UAR_ATTACHMENT_OPTIONS_INIT sizeof(uar_attachment_options)
/** The twin of UAR_ATTACHMENT_OPTIONS_INIT. */
static inline void uar_attachment_options_init(uar_attachment_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/**
 * Store `content`, which is copied. The reply holds the attachment. `options` may be NULL. UAR_E_TOO_LARGE beyond
 * UAR_ATTACHMENT_MAX. For contents that shouldn't be in memory at once there is the writer.
 */
UAR_API uar_status uar_attachment_put(uar_runtime *rt, const char *owner, const char *user,
                                      const uar_attachment_options *options, uar_str content, uar_reply_fn done,
                                      void *ctx, uar_error *err);
/** Store a content; waits. */
UAR_API uar_status uar_attachment_put_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                           const uar_attachment_options *options, uar_str content, uar_error *err);

/** An upload under way. One call at a time; any thread. */
typedef struct uar_attachment_writer uar_attachment_writer;

/** Begin an upload. Stores nothing yet, waits for nothing. `options` may be NULL. */
UAR_API uar_status uar_attachment_writer_new(uar_attachment_writer **out, uar_runtime *rt, const char *owner,
                                             const char *user, const uar_attachment_options *options, uar_error *err);
/**
 * Append bytes, which are copied; whole parts are stored before the answer. UAR_E_BUSY while another call of this writer is
 * open. After a failure of the store the upload can't go on (UAR_E_CLOSED): free it and begin anew. UAR_E_CONFLICT: a
 * sweep gave it up because nothing had been written for too long.
 */
UAR_API uar_status uar_attachment_write(uar_attachment_writer *writer, uar_str bytes, uar_reply_fn done, void *ctx,
                                        uar_error *err);
/** Append bytes; waits. The reply holds nothing. */
UAR_API uar_status uar_attachment_write_sync(uar_reply **out, uar_attachment_writer *writer, uar_str bytes,
                                             uar_error *err);
/** The content is whole: from now on the attachment exists. The reply holds it. The writer takes no more. */
UAR_API uar_status uar_attachment_finish(uar_attachment_writer *writer, uar_reply_fn done, void *ctx, uar_error *err);
/** The content is whole; waits. */
UAR_API uar_status uar_attachment_finish_sync(uar_reply **out, uar_attachment_writer *writer, uar_error *err);
/**
 * Give a writer back; NULL is accepted. An upload that wasn't finished is given up: what it stored is removed in the
 * background, or by a later uar_attachment_sweep. A call that is open still ends. Any thread, works in callbacks.
 */
UAR_API void uar_attachment_writer_free(uar_attachment_writer *writer);

/** What is known of an attachment. UAR_E_NOT_FOUND if this owner and user have none of that id. */
UAR_API uar_status uar_attachment_load(uar_runtime *rt, const char *owner, const char *user, uar_uuid id,
                                       uar_reply_fn done, void *ctx, uar_error *err);
/** What is known of an attachment; waits. */
UAR_API uar_status uar_attachment_load_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                            uar_uuid id, uar_error *err);
/** Attachments of a user, oldest first, at most `limit` (1–1000), behind `cursor` (absent: from the start). */
UAR_API uar_status uar_attachment_list(uar_runtime *rt, const char *owner, const char *user, uar_str cursor,
                                       size_t limit, uar_reply_fn done, void *ctx, uar_error *err);
/** Attachments of a user; waits. */
UAR_API uar_status uar_attachment_list_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                            uar_str cursor, size_t limit, uar_error *err);
/**
 * Bytes of a content from `offset` on, in `content`; only the parts that hold them are read. Fewer than `length` come where
 * it ends, none at its very end. UAR_E_INVALID behind the end; UAR_E_TOO_LARGE if `length` is above
 * UAR_ATTACHMENT_READ_MAX; UAR_E_CORRUPT if a part is missing or damaged, or all of it was read and isn't what was put in.
 */
UAR_API uar_status uar_attachment_read(uar_runtime *rt, const char *owner, const char *user, uar_uuid id,
                                       uint64_t offset, size_t length, uar_reply_fn done, void *ctx, uar_error *err);
/** Bytes of a content; waits. */
UAR_API uar_status uar_attachment_read_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                            uar_uuid id, uint64_t offset, size_t length, uar_error *err);
/**
 * Delete an attachment. From the first commit on it is gone for readers; its parts are removed in batches. If that is cut
 * short, a later uar_attachment_sweep goes on. Messages that name it stay as they are.
 */
UAR_API uar_status uar_attachment_delete(uar_runtime *rt, const char *owner, const char *user, uar_uuid id,
                                         uar_reply_fn done, void *ctx, uar_error *err);
/** Delete an attachment; waits. The reply holds nothing. */
UAR_API uar_status uar_attachment_delete_sync(uar_reply **out, uar_runtime *rt, const char *owner, const char *user,
                                              uar_uuid id, uar_error *err);
/**
 * Remove what unfinished deletions and given-up uploads of all owners left: parts of an upload count as given up when nothing
 * was written for `idle_ms`. Safe while others write: an upload that is swept ends with UAR_E_CONFLICT, nothing that exists
 * is touched. A host asks for it now and then, say after a start, with an hour. How many were swept is in `number`.
 */
UAR_API uar_status uar_attachment_sweep(uar_runtime *rt, uint64_t idle_ms, uar_reply_fn done, void *ctx,
                                        uar_error *err);
/** Remove what was left; waits. */
UAR_API uar_status uar_attachment_sweep_sync(uar_reply **out, uar_runtime *rt, uint64_t idle_ms, uar_error *err);

#ifdef __cplusplus
}
#endif
#endif
