/* Owns nothing but the arenas of its calls. Invariant: the writes of a commit name each record once. */
#include "store_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "layer_call.h"
#include "store/record.h"

enum { POOL = 12, PARENTS = 3, CHILDREN = 12, WRITES_MOST = 20, PAGE = 50 };

static const struct home {
    uint32_t kind;
    const char *owner;
} homes[] = {
    { UAR_RECORD_MESSAGE, "local" },
    { UAR_RECORD_ATTACHMENT_PART, "local" },
    { UAR_RECORD_OPEN_RUN, "~" },
};

enum { HOME_RECORD, HOME_CHILD, HOME_MARK };

const char *work_name(work_style style) {
    static const char *const names[WORK_STYLES] = { "small", "change", "big", "tree" };
    return names[style];
}

/* ---- numbers ---- */

static uint64_t scramble(uint64_t z) {
    z += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static unsigned draw(work_style style, unsigned i, unsigned what, unsigned below) {
    return (unsigned)(scramble((uint64_t)style << 40 | (uint64_t)i << 8 | what) % below);
}

static void fold(uint64_t *digest, const void *bytes, size_t len) {
    const unsigned char *b = bytes;
    for (size_t at = 0; at < len; at += 8) {
        uint64_t word = len;
        memcpy(&word, b + at, len - at < 8 ? len - at : 8);
        *digest = (*digest ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        *digest ^= *digest >> 31;
    }
}

static void fold_str(uint64_t *digest, uar_str s) {
    uint64_t head = s.ptr != NULL ? (uint64_t)s.len + 1 : 0;
    fold(digest, &head, sizeof head);
    if (s.len > 0) fold(digest, s.ptr, s.len);
}

/* All that a host can see of it. */
static void fold_record(uint64_t *digest, const uar_record *r) {
    const uint64_t numbers[] = { r->kind,
                                 r->schema,
                                 r->revision,
                                 r->has_sort ? (uint64_t)r->sort + 1 : 0,
                                 r->has_sort,
                                 (uint64_t)r->created_ms,
                                 (uint64_t)r->updated_ms };
    fold(digest, numbers, sizeof numbers);
    fold_str(digest, r->owner);
    fold_str(digest, r->id);
    fold_str(digest, r->parent);
    fold_str(digest, r->body);
    fold_str(digest, r->blob);
}

/* ---- making a commit ---- */

typedef struct draft {
    const uar_persistence *layer;
    arena memory;
    uar_write writes[WRITES_MOST];
    size_t count;
    uar_status status;
    uar_error *err;
} draft;

static uar_str text(draft *d, const char *prefix, unsigned n) {
    char name[32];
    int len = snprintf(name, sizeof name, "%s%03u", prefix, n);
    uar_str copy = arena_str(&d->memory, uar_str_n(name, (size_t)len));
    if (copy.ptr == NULL) abort();
    return copy;
}

static uar_str noise(draft *d, uint64_t from, size_t len) {
    char *bytes = arena_alloc(&d->memory, len + 8);
    if (bytes == NULL) abort();
    for (size_t at = 0; at < len; at += 8) {
        uint64_t word = scramble(from + at);
        memcpy(bytes + at, &word, sizeof word);
    }
    return uar_str_n(bytes, len);
}

static uar_str body(draft *d, unsigned i, unsigned what) {
    char json[400];
    int pad = (int)(scramble(i * 64u + what) % 300);
    int len = snprintf(json, sizeof json, "{\"commit\":%u,\"text\":\"%0*d\"}", i, pad + 1, 7);
    uar_str copy = arena_str(&d->memory, uar_str_n(json, (size_t)len));
    if (copy.ptr == NULL) abort();
    return copy;
}

/* The revision that the store has; 0: none. */
static uint64_t revision_of(draft *d, const uar_record *r) {
    uar_record stored;
    if (d->status != UAR_OK) return 0;
    uar_status status = layer_get(&stored, d->layer, &d->memory, r->kind, r->owner, r->id, d->err);
    if (status != UAR_OK && status != UAR_E_NOT_FOUND) d->status = status;
    return status == UAR_OK ? stored.revision : 0;
}

static void add(draft *d, uar_write write) {
    if (d->count == WRITES_MOST) abort();
    d->writes[d->count++] = write;
}

static uar_record record(unsigned home, uar_str id) {
    return (uar_record){ .kind = homes[home].kind, .owner = uar_str_of(homes[home].owner), .id = id, .schema = 1 };
}

static void put(draft *d, uar_record r, unsigned i) {
    uint64_t expected = revision_of(d, &r);
    r.revision = expected + 1;
    r.created_ms = 1000;
    r.updated_ms = 1000 + (int64_t)i;
    if (record_seal(&r) != UAR_OK) abort();
    add(d, (uar_write){ .op = UAR_WRITE_PUT, .expected = expected, .record = r });
}

static void put_pooled(draft *d, work_style style, unsigned i, unsigned k) {
    uar_record r = record(HOME_RECORD, text(d, "record-", k));
    r.parent = text(d, "parent-", k % PARENTS);
    r.has_sort = k % 4 != 0;
    r.sort = r.has_sort ? (int64_t)k - 5 : 0;
    r.body = body(d, i, k);
    if (style == WORK_BIG)
        r.blob = noise(d, (uint64_t)i << 32 | (uint64_t)k << 20, 10000 + draw(style, i, 100 + k, 50000));
    put(d, r, i);
}

/* Every third of what is there goes. */
static void change_pooled(draft *d, work_style style, unsigned i, unsigned k) {
    uar_record r = record(HOME_RECORD, text(d, "record-", k));
    uint64_t stored = revision_of(d, &r);
    if (stored != 0 && draw(style, i, 50 + k, 3) == 0)
        add(d, (uar_write){ .op = UAR_WRITE_DELETE, .expected = stored, .record = r });
    else
        put_pooled(d, style, i, k);
}

static void draft_pool(draft *d, work_style style, unsigned i) {
    unsigned count = style == WORK_BIG ? 1 + draw(style, i, 1, 2) : 1 + draw(style, i, 1, 4);
    unsigned first = draw(style, i, 2, POOL);
    for (unsigned n = 0; n < count; n++) {
        unsigned k = (first + n * 5) % POOL;
        if (style == WORK_SMALL)
            put_pooled(d, style, i, k);
        else
            change_pooled(d, style, i, k);
    }
}

/* Two commits bring a parent's children, the third takes them; parents take turns. */
static void draft_tree(draft *d, unsigned i) {
    uar_str parent = text(d, "parent-", i / 3 % PARENTS);
    if (i % 3 == 2) {
        uar_record r = record(HOME_CHILD, uar_str_n(NULL, 0));
        r.parent = parent;
        add(d, (uar_write){ .op = UAR_WRITE_DELETE_CHILDREN, .record = r });
        return;
    }
    for (unsigned n = 0; n < CHILDREN; n++) {
        uar_record r = record(HOME_CHILD, text(d, "child-", i / 3 % PARENTS * 100 + i % 3 * CHILDREN + n));
        r.parent = parent;
        r.has_sort = true;
        r.sort = n;
        r.blob = noise(d, (uint64_t)i << 16 | n, 700);
        put(d, r, i);
    }
}

uar_status work_commit(const uar_persistence *layer, work_style style, unsigned i, uar_error *err) {
    draft d = { .layer = layer, .err = err };
    arena_init(&d.memory, &alloc_default);
    uar_record mark = record(HOME_MARK, STR("mark"));
    mark.body = body(&d, i, 99);
    put(&d, mark, i);
    if (style == WORK_TREE)
        draft_tree(&d, i);
    else
        draft_pool(&d, style, i);
    if (d.status == UAR_OK) d.status = layer_commit(layer, d.writes, d.count, err);
    arena_dispose(&d.memory);
    return d.status;
}

/* ---- reading ---- */

static bool is_behind(const uar_record *a, const uar_record *b) {
    return str_compare(a->id, b->id) > 0;
}

typedef uar_status (*verify_fn)(const uar_record *record, uar_error *err);

static uar_status take_as_it_is(const uar_record *record, uar_error *err) {
    (void)record;
    (void)err;
    return UAR_OK;
}

static uar_status read_home(uint64_t *digest, size_t *count, const uar_persistence *layer, verify_fn verify, arena *ar,
                            const struct home *home, uar_error *err) {
    uar_list_query q = { .kind = home->kind, .owner = uar_str_of(home->owner), .limit = PAGE };
    layer_page page = { NULL, PAGE };
    uar_record last = { .id = { NULL, 0 } };
    while (page.count == PAGE) {
        uar_status status = layer_list(&page, layer, ar, &q, err);
        for (size_t n = 0; n < page.count && status == UAR_OK; n++) {
            const uar_record *r = &page.records[n];
            status = verify(r, err);
            if (status == UAR_OK && (r->kind != home->kind || !str_is(r->owner, home->owner) ||
                                     (last.id.ptr != NULL && !is_behind(r, &last))))
                status = error_set(err, UAR_E_CORRUPT, "a list gives a record that it must not give");
            fold_record(digest, r);
            last = *r;
        }
        if (status != UAR_OK) return status;
        *count += page.count;
        if (page.count == PAGE) q.has_after = true;
        q.after_id = last.id;
    }
    return UAR_OK;
}

static uar_status digest_with(uint64_t *out, const uar_persistence *layer, verify_fn verify, uar_error *err) {
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    uar_status status = UAR_OK;
    arena memory;
    arena_init(&memory, &alloc_default);
    for (size_t h = 0; h < sizeof homes / sizeof homes[0] && status == UAR_OK; h++) {
        size_t count = 0;
        status = read_home(&digest, &count, layer, verify, &memory, &homes[h], err);
        fold(&digest, &count, sizeof count);
    }
    arena_dispose(&memory);
    if (status == UAR_OK) *out = digest;
    return status;
}

uar_status work_digest(uint64_t *out, const uar_persistence *layer, uar_error *err) {
    return digest_with(out, layer, record_verify, err);
}

uar_status work_digest_unchecked(uint64_t *out, const uar_persistence *layer, uar_error *err) {
    return digest_with(out, layer, take_as_it_is, err);
}

/* Each record of a home by its id, and how many there are under each parent, by key and by sort. */
static uar_status read_again(const uar_persistence *layer, arena *ar, const struct home *home, uar_error *err) {
    uar_list_query q = { .kind = home->kind, .owner = uar_str_of(home->owner), .limit = 1000 };
    size_t found[3] = { 0, 0, 0 }; /* with a parent by key, with a sort by the parent, with both by the list of all */
    layer_page all, page;
    uar_record one;
    uar_status status = layer_list(&all, layer, ar, &q, err);
    for (size_t n = 0; status == UAR_OK && n < all.count; n++) {
        const uar_record *r = &all.records[n];
        status = layer_get(&one, layer, ar, r->kind, r->owner, r->id, err);
        if (status == UAR_OK) status = record_verify(&one, err);
        if (status == UAR_OK && memcmp(one.checksum, r->checksum, sizeof one.checksum) != 0)
            status = error_set(err, UAR_E_CORRUPT, "a list and a get differ");
        found[2] += r->has_sort;
    }
    for (unsigned p = 0; p < PARENTS && status == UAR_OK; p++) {
        char name[16];
        (void)snprintf(name, sizeof name, "parent-%03u", p);
        q.parent = uar_str_of(name);
        q.order = UAR_ORDER_KEY;
        status = layer_list(&page, layer, ar, &q, err);
        found[0] += status == UAR_OK ? page.count : 0;
        q.order = UAR_ORDER_SORT;
        if (status == UAR_OK) status = layer_list(&page, layer, ar, &q, err);
        found[1] += status == UAR_OK ? page.count : 0;
    }
    bool has_parents = home->kind != homes[HOME_MARK].kind;
    if (status == UAR_OK && (found[0] != (has_parents ? all.count : 0) || found[1] != found[2]))
        status = error_set(err, UAR_E_CORRUPT, "the lists of the parents leave records out");
    return status;
}

uar_status work_digest_deep(uint64_t *out, const uar_persistence *layer, uar_error *err) {
    arena memory;
    uint64_t digest = 0;
    uar_status status = work_digest(&digest, layer, err);
    arena_init(&memory, &alloc_default);
    for (size_t h = 0; h < sizeof homes / sizeof homes[0] && status == UAR_OK; h++)
        status = read_again(layer, &memory, &homes[h], err);
    arena_dispose(&memory);
    if (status == UAR_OK) *out = digest;
    return status;
}

/* ---- the model ---- */

void work_model_make(work_model *out, work_style style, unsigned count) {
    const uar_persistence *layer = uar_persistence_volatile();
    if (count > WORK_MOST) abort();
    *out = (work_model){ .style = style, .count = count };
    if (layer->open != NULL && layer->open(layer->ctx, NULL) != UAR_OK) abort();
    for (unsigned i = 0; i <= count; i++) {
        if (work_digest_deep(&out->digest[i], layer, NULL) != UAR_OK) abort();
        if (i > 0 && work_find(out, out->digest[i]) != (int)i) abort();
        if (i < count && work_commit(layer, style, i, NULL) != UAR_OK) abort();
    }
    uar_persistence_free(layer);
}

int work_find(const work_model *m, uint64_t digest) {
    for (unsigned i = 0; i <= m->count; i++)
        if (m->digest[i] == digest) return (int)i;
    return -1;
}
