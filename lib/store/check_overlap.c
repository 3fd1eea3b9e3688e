/* Requirements on calls that overlap: only a layer that says it is concurrent is asked. Owns nothing. */
#include "base/lock.h"
#include "store/check.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- revisions ---- */

enum { STACK = 256 * 1024, THREADS = 4, ROUNDS = 25, TRIES = 100000 };

typedef struct racer {
    kit own;
    bool is_done;
} racer;

/* Raise the revision by one, however often others come first. */
static bool raise_once(kit *k) {
    for (int i = 0; i < TRIES; i++) {
        uar_record r;
        if (!kit_expect(k, kit_get(&r, k, UAR_RECORD_MESSAGE, k->owner, STR("shared")), UAR_OK, "a get beside others"))
            return false;
        const uar_write put = kit_put(kit_newer(k, r, r.revision + 1), r.revision);
        uar_status status = kit_commit(k, &put, 1);
        if (status == UAR_OK) return true;
        bool is_busy = k->has_other && status == UAR_E_BUSY;
        if (status != UAR_E_CONFLICT && !is_busy) return kit_expect(k, status, UAR_OK, "a put beside others");
    }
    return KIT_FAULT(k, "a put beside others met a conflict every time");
}

static void race(void *arg) {
    racer *me = arg;
    me->is_done = true;
    for (int i = 0; i < ROUNDS && me->is_done; i++)
        me->is_done = raise_once(&me->own);
}

bool kit_races(kit *k) {
    const size_t count = k->has_other ? 2 : THREADS; /* one a layer, or all on one */
    const uar_record r = kit_record(k, STR("shared"));
    if (!kit_stores(k, r)) return false;
    racer racers[THREADS];
    thread threads[THREADS];
    size_t started = 0;
    for (; started < count; started++) {
        kit_fork(&racers[started].own, k);
        if (k->has_other && started == 1) kit_swap(&racers[started].own);
        if (thread_start(&threads[started], STACK, race, &racers[started]) != UAR_OK) break;
    }
    bool is_kept = started == count;
    for (size_t i = 0; i < started; i++) {
        thread_join(threads[i]);
        is_kept = kit_join(k, &racers[i].own, racers[i].is_done) && is_kept;
    }
    if (started < count) return KIT_FAULT(k, "no thread could be started");
    if (!is_kept) return false;
    uar_record got;
    if (!kit_expect(k, kit_get(&got, k, r.kind, r.owner, r.id), UAR_OK, "a get after the race")) return false;
    const uint64_t wanted = 1 + count * ROUNDS;
    if (got.revision == wanted) return true;
    return KIT_FAULT(k, "%zu puts beside each other: expected revision %llu, came %llu", count * ROUNDS,
                     (unsigned long long)wanted, (unsigned long long)got.revision);
}

/* ---- a reader beside a writer ---- */

enum { ENOUGH_READS = 5, MOST_ROUNDS = 100000, ROUND_MS = 100 };

/* One thread writes until it has done its rounds and there were reads beside them; the kit's own thread reads meanwhile. */
typedef struct writer {
    kit own;
    bool (*round)(kit *k, size_t number);
    size_t rounds;
    bool is_done; /* the writer's own until it has ended */
    mutex lock;
    condition changed;
    size_t done, reads;
    bool is_over;
} writer;

/* True to go on. */
static bool note_round(writer *w, size_t done) {
    mutex_lock(&w->lock);
    w->done = done;
    bool goes_on = done < w->rounds || (w->reads < ENOUGH_READS && done < MOST_ROUNDS);
    w->is_over = !goes_on || !w->is_done;
    condition_signal(&w->changed);
    mutex_unlock(&w->lock);
    return goes_on;
}

static void write_rounds(void *arg) {
    writer *w = arg;
    size_t done = 0;
    do {
        w->is_done = w->round(&w->own, done++);
    } while (note_round(w, done) && w->is_done);
}

/* Until something was written, or nothing will be, or it takes long. */
static void wait_for_round(writer *w) {
    mutex_lock(&w->lock);
    const size_t before = w->done;
    while (w->done == before && !w->is_over && condition_wait(&w->changed, &w->lock, ROUND_MS)) {}
    mutex_unlock(&w->lock);
}

/* True until the writer is over. */
static bool note_read(writer *w, bool is_kept) {
    mutex_lock(&w->lock);
    w->reads = is_kept ? w->reads + 1 : ENOUGH_READS;
    bool is_over = w->is_over;
    mutex_unlock(&w->lock);
    return !is_over;
}

/* `read` gets a kit that is emptied after each time. With a second layer, the writer has that. */
static bool reads_beside(kit *k, bool (*round)(kit *k, size_t number), size_t rounds, bool (*read)(kit *k, writer *w)) {
    writer w = { .round = round, .rounds = rounds };
    kit reader;
    thread t;
    if (mutex_init(&w.lock) != UAR_OK || condition_init(&w.changed) != UAR_OK)
        return KIT_FAULT(k, "no lock could be made");
    kit_fork(&w.own, k);
    if (k->has_other) kit_swap(&w.own);
    kit_fork(&reader, k);
    if (thread_start(&t, STACK, write_rounds, &w) != UAR_OK) return KIT_FAULT(k, "no thread could be started");
    bool is_kept = true;
    do {
        is_kept = read(&reader, &w);
        if (!reader.is_hung) arena_dispose(&reader.memory);
    } while (note_read(&w, is_kept) && is_kept);
    thread_join(t);
    condition_dispose(&w.changed);
    mutex_dispose(&w.lock);
    bool is_written = kit_join(k, &w.own, w.is_done);
    return kit_join(k, &reader, is_kept) && is_written;
}

static uar_record half(kit *k, bool is_second, uint64_t revision) {
    return kit_newer(k, kit_child(k, is_second ? STR("two") : STR("one"), STR("pair")), revision);
}

/* Raise both halves of a pair by one, in one commit. */
static bool raise_pair(kit *k, size_t number) {
    const uar_write writes[] = { kit_put(half(k, false, number + 2), number + 1),
                                 kit_put(half(k, true, number + 2), number + 1) };
    return kit_commits(k, writes, COUNT(writes), "a commit that raises a pair, beside lists");
}

static bool sees_pairs(kit *k, writer *w) {
    (void)w;
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    query.parent = STR("pair");
    kit_page page;
    if (!kit_expect(k, kit_list(&page, k, &query), UAR_OK, "a list beside commits")) return false;
    if (page.count != 2) return KIT_FAULT(k, "a list beside commits: expected 2 records, came %zu", page.count);
    if (page.records[0].revision == page.records[1].revision) return true;
    return KIT_FAULT(k, "a list beside commits that raise two records: expected equal revisions, came %llu and %llu",
                     (unsigned long long)page.records[0].revision, (unsigned long long)page.records[1].revision);
}

bool kit_sees_whole_commits(kit *k) {
    const uar_write writes[] = { kit_put(half(k, false, 1), 0), kit_put(half(k, true, 1), 0) };
    return kit_commits(k, writes, COUNT(writes), "a commit of two puts") && reads_beside(k, raise_pair, 50, sees_pairs);
}

/* ---- pages ---- */

enum { STAY = 40, LIMIT = 3 };

static uar_record staying(kit *k, size_t i) {
    return kit_child(k, kit_name(k, "stay-", i * 2), STR("p"));
}

/* One that isn't among the staying comes or goes. */
static bool come_and_go(kit *k, size_t number) {
    const uar_record r = kit_child(k, kit_name(k, "stay-", number / 2 % STAY * 2 + 1), STR("p"));
    const uar_write write = number % 2 == 0 ? kit_put(r, 0) : kit_delete(r, 1);
    return kit_commits(k, &write, 1, "a write beside pages");
}

/* The number in "stay-NNNN", or SIZE_MAX. */
static size_t number_of(uar_str id) {
    enum { HEAD = 5, DIGITS = 4 };
    size_t number = 0;
    if (id.len != HEAD + DIGITS || memcmp(id.ptr, "stay-", HEAD) != 0) return SIZE_MAX;
    for (size_t i = HEAD; i < id.len; i++)
        number = number * 10 + (size_t)((unsigned char)id.ptr[i] - '0');
    return number;
}

static bool walks_once(kit *k, writer *w) {
    unsigned seen[STAY] = { 0 };
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    query.parent = STR("p");
    query.limit = LIMIT;
    for (size_t pages = 0; pages <= 2 * STAY; pages++) {
        kit_page page;
        if (!kit_expect(k, kit_list(&page, k, &query), UAR_OK, "a page beside writes")) return false;
        for (size_t i = 0; i < page.count; i++) {
            size_t number = number_of(page.records[i].id);
            if (number < 2 * STAY && number % 2 == 0) seen[number / 2]++;
        }
        if (page.count < LIMIT) break;
        wait_for_round(w);
        query.has_after = true;
        query.after_id = page.records[page.count - 1].id;
    }
    for (size_t n = 0; n < STAY; n++)
        if (seen[n] != 1)
            return KIT_FAULT(k, "pages beside writes: expected record stay-%04zu once, came %u times", n * 2, seen[n]);
    return true;
}

bool kit_pages_beside_writes(kit *k) {
    for (size_t i = 0; i < STAY; i++)
        if (!kit_stores(k, staying(k, i))) return false;
    return reads_beside(k, come_and_go, 50, walks_once);
}

static const kit_requirement overlap[] = {
    { 85, "overlapping calls keep the revision rules (only if the layer is concurrent)", kit_races },
    { 86, "a list beside commits sees each of them whole or not at all", kit_sees_whole_commits },
    { 87, "pages give what stays exactly once while another thread writes", kit_pages_beside_writes },
};
const kit_group check_overlap = { KIT_OVERLAPS, overlap, COUNT(overlap) };
