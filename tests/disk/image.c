/*
 * Owns: the bytes of an image. Invariant: beyond a file's length its bytes are zero, so that a file which is cut and grows
 * again shows nothing that stood there before.
 */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which of a file's unsynced operations are on the disk. */
typedef enum keep_mode {
    KEEP_ALL,
    KEEP_NONE,
    KEEP_PREFIX,  /* up to one of them, which may be torn */
    KEEP_EACH,    /* each by a coin */
    KEEP_SECTORS, /* each sector of each by a coin */
    KEEP_ALL_BUT_ONE,
    KEEP_ONE,
    KEEP_MODES
} keep_mode;

typedef struct keeper {
    keep_mode mode;
    unsigned pending, at; /* how many there are; the one that the mode is about */
    bool sizes;           /* a file is as long as if all had been written; what is missing is zeros */
    lots *random;
} keeper;

/* ---- bytes ---- */

static void set_len(image_file *f, size_t len) {
    if (len > f->room) {
        size_t room = len + len / 2 + 4096;
        unsigned char *bytes = realloc(f->bytes, room);
        if (bytes == NULL) abort();
        memset(bytes + f->room, 0, room - f->room);
        f->bytes = bytes;
        f->room = room;
    }
    if (len < f->len) memset(f->bytes + len, 0, f->len - len);
    f->len = len;
}

static void put(image_file *f, const trace_op *op, size_t from, size_t len) {
    size_t end = op->at + from + len;
    if (end > f->len) set_len(f, end);
    memcpy(f->bytes + op->at + from, op->bytes + from, len);
}

static void do_all(image_file *f, const trace_op *op) {
    if (op->kind == TRACE_TRUNCATE)
        set_len(f, op->at);
    else if (op->kind == TRACE_WRITE)
        put(f, op, 0, op->len);
}

/* Sector by sector: each by a coin, or with `is_cut` all up to a drawn one. */
static void do_torn(image_file *f, const trace_op *op, bool is_cut, lots *random) {
    if (op->kind == TRACE_TRUNCATE) {
        if (lots_below(random, 2) == 0) set_len(f, op->at);
        return;
    }
    size_t sectors = (op->at + op->len + TRACE_SECTOR - 1) / TRACE_SECTOR - op->at / TRACE_SECTOR;
    size_t cut = (size_t)lots_below(random, sectors + 1);
    for (size_t from = 0, n = 0; from < op->len; n++) {
        size_t len = TRACE_SECTOR - (op->at + from) % TRACE_SECTOR;
        if (len > op->len - from) len = op->len - from;
        if (is_cut ? n < cut : lots_below(random, 2) == 0) put(f, op, from, len);
        from += len;
    }
}

/* ---- one operation that no sync has followed ---- */

static void do_pending(image_file *f, const trace_op *op, const keeper *k, unsigned n) {
    switch (k->mode) {
    case KEEP_ALL: do_all(f, op); break;
    case KEEP_PREFIX:
        if (n < k->at) do_all(f, op);
        if (n == k->at) do_torn(f, op, true, k->random);
        break;
    case KEEP_EACH:
        if (lots_below(k->random, 2) == 0) do_all(f, op);
        break;
    case KEEP_SECTORS: do_torn(f, op, false, k->random); break;
    case KEEP_ALL_BUT_ONE:
        if (n != k->at) do_all(f, op);
        break;
    case KEEP_ONE:
        if (n == k->at) do_all(f, op);
        break;
    default: break;
    }
    if (k->sizes && op->kind == TRACE_WRITE && op->at + op->len > f->len) set_len(f, op->at + op->len);
}

static keeper draw_keeper(unsigned how, unsigned pending, lots *random) {
    keeper k = { .mode = how == CUT_KEEPS_NONE ? KEEP_NONE : KEEP_ALL, .pending = pending, .random = random };
    if (how < CUT_DRAWN) return k;
    k.mode = (keep_mode)lots_below(random, KEEP_MODES);
    k.at = pending > 0 ? (unsigned)lots_below(random, pending) : 0;
    k.sizes = lots_below(random, 4) == 0;
    return k;
}

static bool is_of(const trace_op *op, unsigned file) {
    return op->file == file && (op->kind == TRACE_WRITE || op->kind == TRACE_TRUNCATE);
}

/* A file as the cut leaves it. */
static void fill(image_file *f, const trace *t, unsigned file, unsigned at, unsigned how, lots *random) {
    unsigned synced = 0, pending = 0, n = 0;
    for (unsigned i = 0; i < at; i++)
        if (t->ops[i].file == file && t->ops[i].kind == TRACE_SYNC) synced = i;
    for (unsigned i = synced; i < at; i++)
        pending += is_of(&t->ops[i], file);
    set_len(f, t->files[file].base_len);
    if (f->len > 0) memcpy(f->bytes, t->files[file].base, f->len);
    keeper k = draw_keeper(how, pending, random);
    for (unsigned i = 0; i < at; i++) {
        if (!is_of(&t->ops[i], file)) continue;
        if (i < synced)
            do_all(f, &t->ops[i]);
        else
            do_pending(f, &t->ops[i], &k, n++);
    }
}

/* ---- names ---- */

static bool is_of_folder(const trace_op *op) {
    return op->kind == TRACE_CREATE || op->kind == TRACE_DELETE;
}

/* How many changes of names are on the disk: those before the folder's last sync surely are. */
static unsigned draw_names(const trace *t, unsigned at, unsigned how, lots *random) {
    unsigned all = 0, sure = 0;
    for (unsigned i = 0; i < at; i++) {
        all += is_of_folder(&t->ops[i]);
        if (t->ops[i].kind == TRACE_SYNC_FOLDER) sure = all;
    }
    if (how == CUT_KEEPS_ALL) return all;
    if (how < CUT_DRAWN) return sure;
    return sure + (unsigned)lots_below(random, all - sure + 1);
}

static void name_files(bool is_there[TRACE_FILES], const trace *t, unsigned at, unsigned names) {
    for (unsigned f = 0; f < t->file_count; f++)
        is_there[f] = t->files[f].is_old;
    for (unsigned i = 0; i < at && names > 0; i++) {
        if (!is_of_folder(&t->ops[i])) continue;
        is_there[t->ops[i].file] = t->ops[i].kind == TRACE_CREATE;
        names--;
    }
}

void image_make(image *out, const trace *t, unsigned at, unsigned how, lots *random) {
    bool is_there[TRACE_FILES];
    out->count = 0;
    out->acked = at < t->count ? t->ops[at].acked : t->acked;
    out->begun = at < t->count ? t->ops[at].begun : t->begun;
    name_files(is_there, t, at, draw_names(t, at, how, random));
    for (unsigned f = 0; f < t->file_count; f++) {
        if (!is_there[f]) continue;
        image_file *file = &out->files[out->count++];
        file->name = t->files[f].name;
        set_len(file, 0);
        fill(file, t, f, at, how, random);
    }
}

uint64_t image_hash(const image *m) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ ((uint64_t)m->acked << 32) ^ m->begun;
    for (unsigned i = 0; i < m->count; i++) {
        const image_file *f = &m->files[i];
        uint64_t word = f->len;
        for (const char *c = f->name; *c != '\0'; c++)
            hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        for (size_t at = 0; at < f->len; at += sizeof word) {
            hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
            hash ^= hash >> 29;
            word = 0;
            memcpy(&word, f->bytes + at, f->len - at < sizeof word ? f->len - at : sizeof word);
        }
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return hash;
}

bool image_write(const image *m, const char *folder) {
    for (unsigned i = 0; i < m->count; i++) {
        char path[256];
        int len = snprintf(path, sizeof path, "%s/%s", folder, m->files[i].name);
        FILE *out = len > 0 && (size_t)len < sizeof path ? fopen(path, "wb") : NULL;
        if (out == NULL) return false;
        (void)setvbuf(out, NULL, _IONBF, 0);
        bool written = m->files[i].len == 0 || fwrite(m->files[i].bytes, m->files[i].len, 1, out) == 1;
        if (fclose(out) != 0 || !written) return false;
    }
    return true;
}

void image_free(image *m) {
    for (unsigned i = 0; i < TRACE_FILES; i++)
        free(m->files[i].bytes);
    memset(m, 0, sizeof *m);
}
