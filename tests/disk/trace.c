/* Owns: the recorded operations. Invariant: every operation is of a file in the table; ops never change once recorded. */
#include "trace.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void *grow(void *ptr, size_t size) {
    void *grown = realloc(ptr, size);
    if (grown == NULL) abort();
    return grown;
}

/* The file's name in the folder of the trace; NULL: not in it. */
static const char *name_in(const trace *t, const char *path) {
    size_t len = strlen(t->folder);
    if (path == NULL || strncmp(path, t->folder, len) != 0 || path[len] != '/') return NULL;
    return path + len + 1;
}

static trace_file *add_file(trace *t, const char *name) {
    if (t->file_count == TRACE_FILES || strlen(name) >= TRACE_NAME) abort();
    trace_file *f = &t->files[t->file_count++];
    memset(f, 0, sizeof *f);
    memcpy(f->name, name, strlen(name) + 1);
    return f;
}

static trace_file *find_file(trace *t, const char *name) {
    for (unsigned i = t->file_count; i-- > 0;)
        if (!t->files[i].is_gone && strcmp(t->files[i].name, name) == 0) return &t->files[i];
    return NULL;
}

static trace_op *add_op(trace *t, trace_kind kind, const trace_file *f) {
    if (t->count == t->room) {
        t->room = t->room != 0 ? t->room * 2 : 256;
        t->ops = grow(t->ops, t->room * sizeof *t->ops);
    }
    trace_op *op = &t->ops[t->count++];
    *op = (trace_op){ .kind = kind, .file = (unsigned)(f - t->files), .acked = t->acked, .begun = t->begun };
    return op;
}

static void note_open(trace *t, const char *name, int flags) {
    trace_file *f = find_file(t, name);
    if (f == NULL && (flags & SQLITE_OPEN_CREATE) == 0) return;
    if (f == NULL) {
        f = add_file(t, name);
        (void)add_op(t, TRACE_CREATE, f);
    }
    f->syncs_folder = (flags & SQLITE_OPEN_CREATE) != 0 && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
}

static void note_write(trace *t, const trace_file *f, const disk_call *call) {
    trace_op *op = add_op(t, TRACE_WRITE, f);
    op->at = (size_t)call->at;
    op->len = (size_t)call->len;
    op->bytes = grow(NULL, op->len + 1);
    memcpy(op->bytes, call->bytes, op->len);
}

static void note_file(trace *t, trace_file *f, const disk_call *call) {
    switch (call->op) {
    case DISK_WRITE: note_write(t, f, call); break;
    case DISK_TRUNCATE: add_op(t, TRACE_TRUNCATE, f)->at = (size_t)call->at; break;
    case DISK_SYNC:
        (void)add_op(t, TRACE_SYNC, f);
        if (f->syncs_folder) (void)add_op(t, TRACE_SYNC_FOLDER, f);
        f->syncs_folder = false;
        break;
    case DISK_DELETE:
        (void)add_op(t, TRACE_DELETE, f);
        f->is_gone = true;
        if (call->flags != 0) (void)add_op(t, TRACE_SYNC_FOLDER, f);
        break;
    default: break;
    }
}

static int trace_hook(void *ctx, const disk_call *call) {
    trace *t = ctx;
    const char *name = name_in(t, call->name);
    if (name == NULL) return SQLITE_OK;
    if (call->op == DISK_OPEN) note_open(t, name, call->file_flags);
    trace_file *f = find_file(t, name);
    if (f != NULL && call->op != DISK_OPEN) note_file(t, f, call);
    return SQLITE_OK;
}

static void take_base(trace *t, const char *name) {
    char path[256];
    int len = snprintf(path, sizeof path, "%s/%s", t->folder, name);
    FILE *in = len > 0 && (size_t)len < sizeof path ? fopen(path, "rb") : NULL;
    struct stat st;
    if (in == NULL || fstat(fileno(in), &st) != 0) abort();
    trace_file *f = add_file(t, name);
    f->is_old = true;
    f->base_len = (size_t)st.st_size;
    f->base = grow(NULL, f->base_len + 1);
    if (fread(f->base, 1, f->base_len, in) != f->base_len) abort();
    fclose(in);
}

/* The index of the log isn't kept: whoever opens a store first makes it anew. */
static bool is_index(const char *name) {
    size_t len = strlen(name);
    return len > 4 && strcmp(name + len - 4, "-shm") == 0;
}

void trace_begin(trace *t, const char *folder) {
    memset(t, 0, sizeof *t);
    (void)snprintf(t->folder, sizeof t->folder, "%s", folder);
    DIR *list = opendir(folder);
    if (list == NULL) abort();
    for (struct dirent *e = readdir(list); e != NULL; e = readdir(list))
        if (e->d_name[0] != '.' && !is_index(e->d_name)) take_base(t, e->d_name);
    (void)closedir(list);
    disk_vfs_hook(trace_hook, t);
}

void trace_end(trace *t) {
    (void)t;
    disk_vfs_hook(NULL, NULL);
}

void trace_free(trace *t) {
    for (unsigned i = 0; i < t->count; i++)
        free(t->ops[i].bytes);
    for (unsigned i = 0; i < t->file_count; i++)
        free(t->files[i].base);
    free(t->ops);
    memset(t, 0, sizeof *t);
}
