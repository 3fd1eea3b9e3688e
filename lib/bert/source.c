/* Owns an open file. Invariant: `size` is what the file had when it was opened. */
#include "bert/source.h"

#include <errno.h>

#include "base/error.h"

static uar_status measure(source *s, const char *path, uar_error *err) {
    long size = -1;
    if (fseek(s->file, 0, SEEK_END) == 0) size = ftell(s->file);
    /* Opening a folder works on some systems; its end is then nowhere, or at the end of all numbers. */
    if (size < 0 || size == INT64_MAX) return error_set(err, UAR_E_IO, "%s can't be read", path);
    s->size = (uint64_t)size;
    return UAR_OK;
}

uar_status source_open(source *out, const char *path, uar_error *err) {
    errno = 0;
    source s = { NULL, fopen(path, "rb"), 0 };
    if (s.file == NULL) {
        uar_status code = errno == ENOENT || errno == ENOTDIR ? UAR_E_NOT_FOUND
                          : errno == ENOMEM                   ? UAR_E_NOMEM
                                                              : UAR_E_IO;
        return error_set(err, code, "%s can't be opened", path);
    }
    uar_status status = measure(&s, path, err);
    if (status != UAR_OK) {
        (void)fclose(s.file);
        return status;
    }
    *out = s;
    return UAR_OK;
}

void source_of_memory(source *out, uar_str bytes) {
    *out = (source){ bytes.ptr != NULL ? bytes.ptr : "", NULL, bytes.len };
}

void source_close(source *s) {
    if (s->file != NULL) (void)fclose(s->file);
    *s = (source){ NULL, NULL, 0 };
}

uar_status source_read(void *out, source *s, uint64_t at, size_t len, uar_error *err) {
    if (at > s->size || len > s->size - at)
        return error_set(err, UAR_E_CORRUPT, "the weights end at byte %llu, %llu are needed",
                         (unsigned long long)s->size, (unsigned long long)at + len);
    if (len == 0) return UAR_OK;
    if (s->bytes != NULL) {
        memcpy(out, s->bytes + at, len);
        return UAR_OK;
    }
    if (fseek(s->file, (long)at, SEEK_SET) != 0 || fread(out, 1, len, s->file) != len)
        return error_set(err, UAR_E_IO, "the weights can't be read at byte %llu", (unsigned long long)at);
    return UAR_OK;
}

uar_status source_load(char **out, size_t *len, const uar_allocator *a, const char *path, size_t max, uar_error *err) {
    source s;
    uar_status status = source_open(&s, path, err);
    if (status != UAR_OK) return status;
    char *text = NULL;
    if (s.size > max)
        status = error_set(err, UAR_E_TOO_LARGE, "%s has more than %zu bytes", path, max);
    else if ((text = alloc_bytes(a, (size_t)s.size + 1)) == NULL)
        status = error_plain(err, UAR_E_NOMEM);
    else
        status = source_read(text, &s, 0, (size_t)s.size, err);
    if (status == UAR_OK) {
        text[s.size] = '\0';
        *out = text;
        *len = (size_t)s.size;
    } else {
        alloc_free(a, text);
    }
    source_close(&s);
    return status;
}
