/*
 * Reads a write-ahead log as its format says: a head of 32 bytes, then frames of 24 bytes and a page, each with the salts of
 * the head and a checksum that goes on from the frame before. Owns nothing but its buffer.
 *
 * Other processes may append meanwhile, so that a frame is read before and its successors after they were written. Frames
 * are written in order: what is still bad at the same place in a second look is bad. A log that was begun anew meanwhile has
 * other salts in its head, which is read again at the end of a look.
 */
#include "store/sqlite_scan.h"

#include <stdio.h>
#include <string.h>

enum { HEAD = 32, FRAME = 24, PAGE_MIN = 512, PAGE_MAX = 65536 };

typedef struct sums {
    uint32_t a, b;
} sums;

typedef struct log_reader {
    sqlite3_file *file;
    sqlite3_int64 size;
    unsigned char *frame; /* one, read */
    uint32_t page;
    bool is_big_endian; /* of the words that the checksums are made of */
    uint32_t salts[2];
    sums sum; /* after the last good frame */
} log_reader;

static uint32_t word_at(const unsigned char *b) {
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static uint32_t summed_word(const log_reader *r, const unsigned char *b) {
    if (r->is_big_endian) return word_at(b);
    return (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

static sums add_sums(const log_reader *r, sums s, const unsigned char *bytes, size_t len) {
    for (size_t at = 0; at < len; at += 8) {
        s.a += summed_word(r, bytes + at) + s.b;
        s.b += summed_word(r, bytes + at + 4) + s.a;
    }
    return s;
}

static bool are_same(sums x, sums y) {
    return x.a == y.a && x.b == y.b;
}

/* ---- the head ---- */

static void put_word(unsigned char *b, uint32_t value) {
    for (int i = 3; i >= 0; i--, value >>= 8)
        b[i] = (unsigned char)(value & 0xff);
}

/* The fields that all heads of a log share. */
static bool parse_format(log_reader *r, const unsigned char *head) {
    enum { MAGIC = 0x377f0682, FORMAT = 3007000 };
    uint32_t magic = word_at(head);
    if ((magic & ~1u) != MAGIC || word_at(head + 4) != FORMAT) return false;
    r->is_big_endian = (magic & 1) != 0;
    r->page = word_at(head + 8);
    return r->page >= PAGE_MIN && r->page <= PAGE_MAX && (r->page & (r->page - 1)) == 0;
}

static bool parse_head(log_reader *r, const unsigned char *head) {
    if (!parse_format(r, head)) return false;
    r->salts[0] = word_at(head + 16);
    r->salts[1] = word_at(head + 20);
    r->sum = add_sums(r, (sums){ 0, 0 }, head, 24);
    return are_same(r->sum, (sums){ word_at(head + 24), word_at(head + 28) });
}

/* ---- frames ---- */

static bool has_salts(const log_reader *r) {
    return word_at(r->frame + 8) == r->salts[0] && word_at(r->frame + 12) == r->salts[1];
}

static bool is_commit(const log_reader *r) {
    return word_at(r->frame + 4) != 0;
}

static sums stored_sums(const log_reader *r) {
    return (sums){ word_at(r->frame + 16), word_at(r->frame + 20) };
}

/* What the frame's checksum must be if it goes on from `before`. */
static sums sums_from(const log_reader *r, sums before) {
    return add_sums(r, add_sums(r, before, r->frame, 8), r->frame + FRAME, r->page);
}

static sqlite3_int64 place_of(const log_reader *r, sqlite3_int64 n) {
    return HEAD + n * (FRAME + (sqlite3_int64)r->page);
}

static sqlite3_int64 frames_of(const log_reader *r) {
    return r->size > HEAD ? (r->size - HEAD) / (FRAME + (sqlite3_int64)r->page) : 0;
}

static int read_frame(const log_reader *r, sqlite3_int64 n, bool with_page) {
    int len = with_page ? FRAME + (int)r->page : FRAME;
    return r->file->pMethods->xRead(r->file, r->frame, len, place_of(r, n));
}

/* ---- one look ---- */

typedef struct look {
    sqlite_scan found;
    uint32_t salts[2];
    sqlite3_int64 bad; /* the first bad frame */
} look;

/* Up to the first bad frame, which is left in the buffer. */
static int read_good(look *out, log_reader *r, sqlite3_int64 count) {
    for (out->bad = 0; out->bad < count; out->bad++) {
        int code = read_frame(r, out->bad, true);
        if (code != SQLITE_OK) return code;
        sums sum = sums_from(r, r->sum);
        if (!has_salts(r) || word_at(r->frame) == 0 || !are_same(sum, stored_sums(r))) break;
        r->sum = sum;
        out->found.readable += is_commit(r);
    }
    return SQLITE_OK;
}

/* Of the frames behind it: how many commits were gone on from. The bad frame's own checksum may be what is bad, so that both
 * what it says and what it should say are tried. */
static int read_rest(look *out, log_reader *r, sqlite3_int64 count) {
    bool was_commit = is_commit(r), was_ours = true;
    sums said = stored_sums(r), meant = sums_from(r, r->sum);
    for (sqlite3_int64 n = out->bad + 1; n < count; n++) {
        int code = read_frame(r, n, false);
        if (code == SQLITE_OK && has_salts(r) && was_ours) code = read_frame(r, n, true);
        if (code != SQLITE_OK) return code;
        bool is_ours = has_salts(r);
        bool goes_on = is_ours && was_ours &&
                       (are_same(sums_from(r, said), stored_sums(r)) || are_same(sums_from(r, meant), stored_sums(r)));
        out->found.lost += goes_on && was_commit;
        was_ours = is_ours;
        was_commit = is_commit(r);
        said = meant = stored_sums(r);
    }
    out->found.is_damaged = out->found.lost > 0;
    return SQLITE_OK;
}

static int look_at_frames(look *out, log_reader *r, const uar_allocator *alloc) {
    sqlite3_int64 count = frames_of(r);
    r->frame = (unsigned char *)alloc_bytes(alloc, FRAME + (size_t)r->page);
    if (r->frame == NULL) return SQLITE_NOMEM;
    int code = read_good(out, r, count);
    if (code == SQLITE_OK && out->bad < count) code = read_rest(out, r, count);
    alloc_free(alloc, r->frame);
    return code;
}

/* A log that is in the file as a whole is begun anew by a new head over its old frames. Whoever dies in the middle of that
 * leaves a head that is bad, and nothing is lost: the old head, with the number before and the salts of the frames, is the one
 * that the first frame goes on from. */
static int ask_if_torn(bool *out, log_reader *r, const unsigned char *head, const uar_allocator *alloc) {
    unsigned char old[HEAD];
    if (!parse_format(r, head) || frames_of(r) == 0) return SQLITE_OK;
    r->frame = (unsigned char *)alloc_bytes(alloc, FRAME + (size_t)r->page);
    if (r->frame == NULL) return SQLITE_NOMEM;
    int code = read_frame(r, 0, true);
    if (code == SQLITE_OK) {
        memcpy(old, head, HEAD);
        put_word(old + 12, word_at(head + 12) - 1);
        memcpy(old + 16, r->frame + 8, 8);
        *out = are_same(sums_from(r, add_sums(r, (sums){ 0, 0 }, old, 24)), stored_sums(r));
    }
    alloc_free(alloc, r->frame);
    return code;
}

static int read_head(log_reader *r, unsigned char head[HEAD], bool *is_good) {
    int code = r->file->pMethods->xRead(r->file, head, HEAD, 0);
    *is_good = code == SQLITE_OK && parse_head(r, head);
    return code;
}

static int look_once(look *out, sqlite3_file *file, const uar_allocator *alloc) {
    log_reader r = { .file = file }, again = { .file = file };
    unsigned char head[HEAD];
    bool is_good = false, is_torn = false;
    *out = (look){ .found = { .has_header = true }, .bad = -1 };
    int code = file->pMethods->xFileSize(file, &r.size);
    /* A head alone may be torn: what follows it is written when it is synced. */
    if (code != SQLITE_OK || r.size <= HEAD) return code;
    code = read_head(&r, head, &is_good);
    if (code == SQLITE_OK && !is_good) {
        code = ask_if_torn(&is_torn, &r, head, alloc);
        out->found.has_header = is_torn;
        out->found.is_damaged = !is_torn;
        return code;
    }
    memcpy(out->salts, r.salts, sizeof out->salts);
    if (code == SQLITE_OK) code = look_at_frames(out, &r, alloc);
    if (code == SQLITE_OK) code = read_head(&again, head, &is_good);
    if (memcmp(r.salts, again.salts, sizeof r.salts) != 0) out->found.is_damaged = false;
    return code;
}

static bool agree(const look *x, const look *y) {
    return x->found.is_damaged && y->found.is_damaged && x->bad == y->bad &&
           x->found.has_header == y->found.has_header && memcmp(x->salts, y->salts, sizeof x->salts) == 0;
}

int sqlite_scan_log(sqlite_scan *out, sqlite3 *db, const uar_allocator *alloc) {
    sqlite3_file *file = NULL;
    *out = (sqlite_scan){ .has_header = true };
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (code != SQLITE_OK || file == NULL || file->pMethods == NULL) return SQLITE_OK;
    look first, second;
    code = look_once(&first, file, alloc);
    if (code == SQLITE_OK && first.found.is_damaged) {
        code = look_once(&second, file, alloc);
        if (code == SQLITE_OK && agree(&first, &second)) *out = second.found;
    }
    /* Somebody has cut it meanwhile, which is done when all of it is in the file. */
    return code == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : code;
}

void sqlite_scan_tell(char out[SQLITE_SCAN_TEXT], const sqlite_scan *found) {
    if (found->has_header)
        snprintf(
            out, SQLITE_SCAN_TEXT,
            "its write-ahead log is damaged: %u commits in it can be read, at least %u behind them can't; repair it",
            found->readable, found->lost);
    else
        snprintf(out, SQLITE_SCAN_TEXT,
                 "the head of its write-ahead log is damaged: no commit in it can be read; repair it");
}
