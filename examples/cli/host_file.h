/* Whole files in memory, for models that are read from files. */
#ifndef UAR_CLI_HOST_FILE_H
#define UAR_CLI_HOST_FILE_H

#include <uar/base.h>

/* Largest file that is read, in bytes. */
#define HOST_FILE_MAX ((size_t)64 * 1024 * 1024)

/* Read a file; free `*bytes` with free(). UAR_E_NOT_FOUND, UAR_E_IO, UAR_E_TOO_LARGE, UAR_E_NOMEM. */
uar_status host_file_read(char **bytes, size_t *len, const char *path, uar_error *err);

/* Fill a uar_error and return its code; `err` may be NULL. "WHAT: PATH" if a path is given. */
uar_status host_error(uar_error *err, uar_status code, const char *what, const char *path);

#endif
