/*
 * A persistence layer in a file of one's own, proven by the conformance kit. A commit writes all records to a new file, syncs
 * it and gives it the old one's name: a crash leaves the one or the other, whole. Whoever has the store open holds a lock
 * on the folder. The file is for programs of one kind of machine. Needs POSIX. docs/persistence.md walks through it.
 */
#include <uar/uar.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Records in one block, which `free` gives back: an array, and the texts of all of them behind it. */
typedef struct rows {
    uar_record *at;
    size_t count, size; /* bytes of the block */
} rows;

/* The file: this, and the block. */
typedef struct head {
    uint64_t mark, shape, count, size, sum;
} head;
static const uint64_t mark = 0x31656c696672756f; /* "ourfile1" where low bytes come first: others are refused */

typedef struct store {
    uar_persistence layer;
    const char *path; /* of the folder */
    int folder;       /* -1: not open */
    rows now;
} store;

/* ---- blocks ---- */

/* Let the texts of a block's records lie behind them: copied from where they are, or there already, as read from a file. */
static bool rows_lay(rows *r, bool copies) {
    if (r->count > r->size / sizeof *r->at) return false;
    char *at = (char *)(r->at + r->count), *end = (char *)r->at + r->size;
    for (size_t i = 0; i < r->count; i++) {
        uar_record *of = &r->at[i];
        uar_str *texts[] = { &of->owner, &of->id, &of->parent, &of->body, &of->blob };
        for (int t = 0; t < 5; t++) {
            if (texts[t]->len > (size_t)(end - at)) return false;
            if (copies && texts[t]->len > 0) memcpy(at, texts[t]->ptr, texts[t]->len);
            if (texts[t]->ptr != NULL) texts[t]->ptr = at; /* absent stays absent */
            at += texts[t]->len;
        }
    }
    return at == end;
}

static bool rows_copy(rows *to, const uar_record *from, size_t count) {
    size_t size = count * sizeof *from;
    for (size_t i = 0; i < count; i++)
        size += from[i].owner.len + from[i].id.len + from[i].parent.len + from[i].body.len + from[i].blob.len;
    *to = (rows){ malloc(size + 1), count, size };
    if (to->at != NULL && count > 0) memcpy(to->at, from, count * sizeof *from);
    return to->at != NULL && rows_lay(to, true);
}

static int compare(uar_str a, uar_str b) {
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common > 0 ? memcmp(a.ptr, b.ptr, common) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static bool is_row(const uar_record *row, uint32_t kind, uar_str owner) {
    return row->kind == kind && compare(row->owner, owner) == 0;
}

static bool is_child(const uar_record *row, uar_str parent) { /* absent and empty are not the same parent */
    return row->parent.ptr != NULL && compare(row->parent, parent) == 0;
}

static size_t find(const rows *all, uint32_t kind, uar_str owner, uar_str id) {
    size_t i = 0;
    while (i < all->count && !(is_row(&all->at[i], kind, owner) && compare(all->at[i].id, id) == 0))
        i++;
    return i;
}

/* ---- the file ---- */

static uint64_t sum(const char *at, size_t len) { /* FNV-1a */
    uint64_t n = 14695981039346656037u;
    for (size_t i = 0; i < len; i++)
        n = (n ^ (unsigned char)at[i]) * 1099511628211u;
    return n;
}

static FILE *open_at(const store *s, const char *name, int flags, const char *mode) {
    int file = openat(s->folder, name, flags | O_CLOEXEC, 0600);
    return file >= 0 ? fdopen(file, mode) : NULL;
}

/* Durable when it returns: first the bytes, then the name. */
static uar_status save(const store *s, const rows *all) {
    const head h = { mark, sizeof *all->at, all->count, all->size, sum((const char *)all->at, all->size) };
    FILE *f = open_at(s, "records.next", O_WRONLY | O_CREAT | O_TRUNC, "wb");
    bool is_durable = f != NULL && fwrite(&h, sizeof h, 1, f) == 1 && fwrite(all->at, 1, all->size, f) == all->size &&
                      fflush(f) == 0 && fsync(fileno(f)) == 0 &&
                      renameat(s->folder, "records.next", s->folder, "records") == 0 && fsync(s->folder) == 0;
    uar_status status = is_durable ? UAR_OK : errno == ENOSPC ? UAR_E_FULL : UAR_E_IO;
    if (f != NULL) fclose(f);
    return status;
}

/* What isn't whole is refused, never taken for an empty store. */
static uar_status load(store *s) {
    FILE *f = open_at(s, "records", O_RDONLY, "rb");
    if (f == NULL && errno == ENOENT) return rows_copy(&s->now, NULL, 0) ? save(s, &s->now) : UAR_E_NOMEM;
    if (f == NULL) return UAR_E_CANTOPEN;
    struct stat info;
    head h = { .size = 0 };
    bool is_whole = fread(&h, sizeof h, 1, f) == 1 && fstat(fileno(f), &info) == 0 && h.mark == mark &&
                    h.shape == sizeof(uar_record) && (uint64_t)info.st_size == sizeof h + h.size;
    s->now = (rows){ is_whole ? malloc(h.size + 1) : NULL, h.count, h.size };
    uar_status status = is_whole && s->now.at == NULL ? UAR_E_NOMEM : UAR_E_CORRUPT;
    is_whole = s->now.at != NULL && fread(s->now.at, 1, h.size, f) == h.size &&
               sum((const char *)s->now.at, h.size) == h.sum && rows_lay(&s->now, false);
    fclose(f);
    return is_whole ? UAR_OK : status;
}

/* ---- the layer ---- */

/* `all` has room for one more. */
static uar_status apply(rows *all, const uar_write *write) {
    const uar_record *r = &write->record;
    if (write->op == UAR_WRITE_DELETE_CHILDREN) {
        for (size_t i = all->count; i-- > 0;)
            if (is_row(&all->at[i], r->kind, r->owner) && is_child(&all->at[i], r->parent))
                all->at[i] = all->at[--all->count];
        return UAR_OK;
    }
    size_t i = find(all, r->kind, r->owner, r->id);
    if ((i < all->count ? all->at[i].revision : 0) != write->expected) return UAR_E_CONFLICT;
    if (write->op == UAR_WRITE_PUT) all->at[i < all->count ? i : all->count++] = *r;
    if (write->op == UAR_WRITE_DELETE && i < all->count) all->at[i] = all->at[--all->count];
    return UAR_OK;
}

/* All or nothing: the writes go to an array of borrowed records, which is copied and saved if each was good. */
static void own_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    store *s = ctx;
    rows next = { NULL, 0, 0 }, all = { malloc((s->now.count + count + 1) * sizeof *all.at), s->now.count, 0 };
    uar_status status = all.at != NULL ? UAR_OK : UAR_E_NOMEM;
    if (status == UAR_OK) memcpy(all.at, s->now.at, s->now.count * sizeof *all.at);
    for (size_t i = 0; i < count && status == UAR_OK; i++)
        status = apply(&all, &writes[i]);
    if (status == UAR_OK && !rows_copy(&next, all.at, all.count)) status = UAR_E_NOMEM;
    if (status == UAR_OK) status = save(s, &next);
    rows old = status == UAR_OK ? s->now : next;
    if (status == UAR_OK) s->now = next;
    free(old.at), free(all.at);
    (void)(status == UAR_OK ? uar_completion_ok(done) : uar_completion_fail(done, status, NULL));
}

/* Hand over copies: they stay ours until `free`, their release, says that nobody reads them any more. */
static uar_status answer(const uar_record *from, size_t count, uar_completion *done) {
    rows copies;
    if (!rows_copy(&copies, from, count)) return uar_completion_fail(done, UAR_E_NOMEM, NULL);
    return uar_completion_records(done, copies.at, count, free, copies.at);
}

static void own_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    const rows *all = &((const store *)ctx)->now;
    size_t i = find(all, kind, owner, id);
    (void)(i < all->count ? answer(&all->at[i], 1, done) : uar_completion_fail(done, UAR_E_NOT_FOUND, NULL));
}

static int by_id(const void *a, const void *b) {
    return compare(((const uar_record *)a)->id, ((const uar_record *)b)->id);
}

static int by_sort(const void *a, const void *b) {
    int64_t left = ((const uar_record *)a)->sort, right = ((const uar_record *)b)->sort;
    return left != right ? (left > right) - (left < right) : by_id(a, b);
}

/* A cursor is a place, whether or not such a record is there. With a sort, an empty id is behind all of that sort. */
static bool is_listed(const uar_record *row, const uar_list_query *query) {
    bool is_by_key = query->order == UAR_ORDER_KEY;
    if (!is_row(row, query->kind, query->owner) || !(is_by_key || row->has_sort)) return false;
    if (query->parent.ptr != NULL && !is_child(row, query->parent)) return false;
    if (!query->has_after) return true;
    if (!is_by_key && row->sort != query->after_sort) return row->sort > query->after_sort;
    return (is_by_key || query->after_id.len > 0) && compare(row->id, query->after_id) > 0;
}

static void own_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    const rows *all = &((const store *)ctx)->now;
    rows found = { malloc((all->count + 1) * sizeof *found.at), 0, 0 };
    for (size_t i = 0; found.at != NULL && i < all->count; i++)
        if (is_listed(&all->at[i], query)) found.at[found.count++] = all->at[i];
    if (found.count > 0)
        qsort(found.at, found.count, sizeof *found.at, query->order == UAR_ORDER_KEY ? by_id : by_sort);
    size_t count = found.count < query->limit ? found.count : query->limit;
    (void)(found.at != NULL ? answer(found.at, count, done) : uar_completion_fail(done, UAR_E_NOMEM, NULL));
    free(found.at);
}

static uar_status own_open(void *ctx, uar_error *err) {
    store *s = ctx;
    uar_status status = UAR_E_CANTOPEN;
    s->folder = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->folder >= 0) status = flock(s->folder, LOCK_EX | LOCK_NB) == 0 ? load(s) : UAR_E_BUSY;
    err->code = status;
    snprintf(err->message, sizeof err->message, "%.99s: %s", s->path, uar_status_text(status));
    return status;
}

static void own_destroy(void *ctx) {
    store *s = ctx;
    if (s->folder >= 0) close(s->folder);
    free(s->now.at), free(s);
}

/* A layer on the folder `path`, a text that outlives it. */
static const uar_persistence *layer_new(void *path) {
    store *s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    s->path = path;
    s->folder = -1;
    s->layer = (uar_persistence){ UAR_PERSISTENCE_INIT, .ctx = s,         .destroy = own_destroy, .open = own_open,
                                  .get = own_get,       .list = own_list, .commit = own_commit,   .blocking = true };
    return &s->layer;
}

static void print(void *ctx, const uar_requirement *r) {
    (void)ctx;
    if (r->outcome == UAR_REQUIREMENT_KEPT) return;
    const char *outcome = r->outcome == UAR_REQUIREMENT_BROKEN ? "broken" : "skipped";
    printf("%u %s: %s: %s\n", (unsigned)r->number, outcome, r->demand, r->detail);
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: file_store FOLDER\n"), 2;
    uar_persistence_source source = { UAR_PERSISTENCE_SOURCE_INIT, argv[1], layer_new, .one_at_a_time = true };
    uar_persistence_report report = { 0 };
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_persistence_check_with(&report, &source, print, NULL, &err);
    printf("%u requirements kept, %u broken, %u skipped\n", (unsigned)report.passed, (unsigned)report.failed,
           (unsigned)report.skipped);
    if (status != UAR_OK) fprintf(stderr, "file_store: %s\n", err.message);
    return status == UAR_OK ? 0 : 1;
}
