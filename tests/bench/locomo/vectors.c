/* Owns: the table of vectors. Invariant: entries are sorted by text. */
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "bench.h"

#define DIMS_MAX 4096

typedef struct entry {
    uar_str text;
    const char *vector; /* not aligned */
} entry;

typedef struct table {
    char *bytes;
    entry *entries;
    size_t count, dims;
} table;

static int by_text(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return str_compare(x->text, y->text);
}

static const entry *find(const table *t, uar_str text) {
    entry key = { text, NULL };
    return bsearch(&key, t->entries, t->count, sizeof key, by_text);
}

static void embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count, uar_completion *done) {
    (void)purpose;
    const table *t = ctx;
    float *vectors = bench_memory(count * t->dims * sizeof *vectors);
    uar_status status = UAR_OK;
    for (size_t i = 0; i < count && status == UAR_OK; i++) {
        const entry *e = find(t, texts[i]);
        if (e == NULL)
            status = UAR_E_NOT_FOUND;
        else
            memcpy(vectors + i * t->dims, e->vector, t->dims * sizeof *vectors);
    }
    if (status == UAR_OK)
        (void)uar_completion_vectors(done, vectors, count, t->dims);
    else
        (void)uar_completion_fail(done, status, "the file of vectors doesn't have this text");
    free(vectors);
}

static void destroy(void *ctx) {
    table *t = ctx;
    free(t->bytes);
    free(t->entries);
    free(t);
}

static char *read_whole(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) return NULL;
    char *bytes = NULL;
    if (fseek(f, 0, SEEK_END) == 0 && ftell(f) > 0) {
        *len = (size_t)ftell(f);
        rewind(f);
        bytes = bench_memory(*len);
        if (fread(bytes, 1, *len, f) != *len) {
            free(bytes);
            bytes = NULL;
        }
    }
    (void)fclose(f);
    return bytes;
}

static uint32_t number_at(const char *p) {
    uint32_t n = 0;
    for (int i = 0; i < 4; i++)
        n |= (uint32_t)(uint8_t)p[i] << 8 * i;
    return n;
}

static bool read_entries(table *t, size_t len) {
    size_t vector = t->dims * sizeof(float), cap = 0;
    for (size_t at = 8; at < len;) {
        if (len - at < 4) return false;
        size_t text = number_at(t->bytes + at);
        at += 4;
        if (text > len - at || vector > len - at - text) return false;
        if (t->count == cap) {
            cap = cap != 0 ? cap * 2 : 1024;
            entry *more = realloc(t->entries, cap * sizeof *more);
            if (more == NULL) bench_give_up("out of memory");
            t->entries = more;
        }
        t->entries[t->count++] = (entry){ uar_str_n(t->bytes + at, text), t->bytes + at + text };
        at += text + vector;
    }
    qsort(t->entries, t->count, sizeof *t->entries, by_text);
    return t->count != 0;
}

bool vectors_open(uar_embedder *out, const char *path) {
    size_t len = 0;
    table *t = bench_memory(sizeof *t);
    t->bytes = read_whole(path, &len);
    if (t->bytes != NULL && len > 8 && memcmp(t->bytes, "UARV", 4) == 0) t->dims = number_at(t->bytes + 4);
    if (t->dims == 0 || t->dims > DIMS_MAX || !read_entries(t, len)) {
        destroy(t);
        return false;
    }
    *out = (uar_embedder){ UAR_EMBEDDER_INIT, t, destroy, "vectors-of-a-file", t->dims, 0, embed };
    return true;
}
