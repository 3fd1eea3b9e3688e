/*
 * The few things that stores do to whole files: make a finished one visible, swap one for another, make both durable.
 * Paths are UTF-8 and absolute or as the host gave them. Nothing here is locked; a file that SQLite has open must not come
 * here: opening and closing it would drop SQLite's locks.
 */
#ifndef UAR_LIB_BASE_FILE_H
#define UAR_LIB_BASE_FILE_H

#include "base/alloc.h"
#include "base/error.h"

/* True if there is anything at `path`, a link that leads nowhere among it. */
bool file_is_there(const char *path);
/* `path` and `tail` in one; NULL when there is no memory. Free with alloc_free. */
char *file_name_with(const uar_allocator *a, const char *path, const char *tail);
/* Give `from` the name `to`, which must be free (UAR_E_EXISTS), and make name and content durable. On failure `from` is left. */
uar_status file_publish(const char *from, const char *to, uar_error *err);
/* Give `from` the name `to`; what had it is gone. Durable. */
uar_status file_replace(const char *from, const char *to, uar_error *err);
/* A second name for the same file; false where there can't be one. */
bool file_link(const char *from, const char *to);
/* Make a new file of `size` bytes that `read` gives piece by piece (false: it can't): UAR_E_EXISTS, UAR_E_IO … Not durable yet. On
 * failure there is none. */
typedef bool (*file_read_fn)(void *ctx, void *to, size_t len, uint64_t at);
uar_status file_write_new(const char *path, uint64_t size, file_read_fn read, void *ctx, uar_error *err);
/* Remove if it is there. */
void file_remove(const char *path);

#endif
