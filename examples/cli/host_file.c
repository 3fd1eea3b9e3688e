/* Reads regular files and pipes alike: the size is not asked for, but bounded. */
#include "host_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

uar_status host_error(uar_error *err, uar_status code, const char *what, const char *path) {
    if (err == NULL) return code;
    uar_error_init(err);
    err->code = code;
    if (path != NULL) {
        (void)snprintf(err->message, sizeof err->message, "%s: %s", what, path);
    } else {
        (void)snprintf(err->message, sizeof err->message, "%s", what);
    }
    return code;
}

/* Read the rest of `file` into a growing block. */
static uar_status stream_read(char **bytes, size_t *len, FILE *file) {
    size_t cap = 0, got = 0;
    char *text = NULL;
    do {
        if (got == cap) {
            cap = cap == 0 ? 4096 : cap * 2;
            char *more = cap <= 2 * HOST_FILE_MAX ? realloc(text, cap) : NULL;
            if (more == NULL) {
                free(text);
                return cap <= 2 * HOST_FILE_MAX ? UAR_E_NOMEM : UAR_E_TOO_LARGE;
            }
            text = more;
        }
        got += fread(text + got, 1, cap - got, file);
    } while (!feof(file) && !ferror(file));
    if (ferror(file) || got > HOST_FILE_MAX) {
        free(text);
        return got > HOST_FILE_MAX ? UAR_E_TOO_LARGE : UAR_E_IO;
    }
    *bytes = text;
    *len = got;
    return UAR_OK;
}

uar_status host_file_read(char **bytes, size_t *len, const char *path, uar_error *err) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        bool missing = errno == ENOENT || errno == ENOTDIR;
        return host_error(err, missing ? UAR_E_NOT_FOUND : UAR_E_IO, missing ? "no such file" : "can't be opened",
                          path);
    }
    uar_status status = stream_read(bytes, len, file);
    (void)fclose(file);
    return status == UAR_OK ? UAR_OK : host_error(err, status, uar_status_text(status), path);
}
