/* Requirements on lists read page by page, also while somebody writes, and on calls that overlap. Owns nothing. */
#include "base/lock.h"
#include "store/check.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { RECORDS = 50 };

/* Even numbers stay; odd ones come and go between pages. */
static uar_record numbered(kit *k, size_t i, bool is_sorted) {
    const uar_str id = kit_name(k, "page-", i);
    /* Sorts in steps of 1 a pair, so that half of the order is decided by ids. */
    return is_sorted ? kit_sorted(k, id, STR("p"), (int64_t)(i / 2) - 10) : kit_child(k, id, STR("p"));
}

static bool stores_numbered(kit *k, size_t step, bool is_sorted) {
    for (size_t i = 0; i < RECORDS; i += step)
        if (!kit_stores(k, numbered(k, i, is_sorted))) return false;
    return true;
}

typedef bool (*between_fn)(kit *k, size_t page, bool is_sorted);

/* Read all pages and note how often each number was seen. */
static bool reads_pages(kit *k, uar_list_query query, between_fn between, bool is_sorted, unsigned seen[RECORDS]) {
    memset(seen, 0, RECORDS * sizeof *seen);
    for (size_t n = 0; n <= RECORDS + 1; n++) {
        kit_page page;
        if (!kit_expect(k, kit_list(&page, k, &query), UAR_OK, "a list")) return false;
        if (page.count == 0) return true;
        for (size_t i = 0; i < page.count; i++)
            for (size_t number = 0; number < RECORDS; number++)
                if (uar_str_equal(page.records[i].id, kit_name(k, "page-", number))) seen[number]++;
        const uar_record *last = &page.records[page.count - 1];
        query.has_after = true;
        query.after_id = last->id;
        query.after_sort = last->sort;
        if (between != NULL && !between(k, n, is_sorted)) return false;
    }
    return KIT_FAULT(k, "the pages never end");
}

static bool pages_of_all_sizes(kit *k, bool is_sorted) {
    static const size_t limits[] = { 1, 2, 3, 7, RECORDS - 1, RECORDS, RECORDS + 1 };
    if (!stores_numbered(k, 1, is_sorted)) return false;
    for (size_t i = 0; i < COUNT(limits); i++) {
        uar_list_query query = kit_query(k, is_sorted ? UAR_ORDER_SORT : UAR_ORDER_KEY);
        query.limit = limits[i];
        query.parent = i % 2 == 0 ? STR("p") : uar_str_n(NULL, 0);
        unsigned seen[RECORDS];
        if (!reads_pages(k, query, NULL, is_sorted, seen)) return false;
        for (size_t n = 0; n < RECORDS; n++)
            if (seen[n] != 1)
                return KIT_FAULT(k, "with pages of %zu, record %zu was seen %u times", limits[i], n, seen[n]);
    }
    return true;
}

static bool pages_by_key(kit *k) {
    return pages_of_all_sizes(k, false);
}

static bool pages_by_sort(kit *k) {
    return pages_of_all_sizes(k, true);
}

/* Between pages an odd record appears, or the one before goes away. */
static bool writes_between(kit *k, size_t page, bool is_sorted) {
    size_t odd = (page * 14 + 1) % RECORDS;
    const uar_record r = numbered(k, odd, is_sorted);
    uar_record got;
    uar_status status = kit_get(&got, k, r.kind, r.owner, r.id);
    const uar_write write = status == UAR_OK ? kit_delete(r, 1) : kit_put(r, 0);
    return kit_commits(k, &write, 1, "a write between two pages");
}

static bool pages_while_writing(kit *k, bool is_sorted) {
    if (!stores_numbered(k, 2, is_sorted)) return false;
    uar_list_query query = kit_query(k, is_sorted ? UAR_ORDER_SORT : UAR_ORDER_KEY);
    query.limit = 3;
    query.parent = STR("p");
    unsigned seen[RECORDS];
    if (!reads_pages(k, query, writes_between, is_sorted, seen)) return false;
    for (size_t n = 0; n < RECORDS; n++)
        if (n % 2 == 0 ? seen[n] != 1 : seen[n] > 1)
            return KIT_FAULT(k, "while others were written, record %zu was seen %u times", n, seen[n]);
    return true;
}

static bool pages_by_key_while_writing(kit *k) {
    return pages_while_writing(k, false);
}

static bool pages_by_sort_while_writing(kit *k) {
    return pages_while_writing(k, true);
}

/* The record that the last page ended with is deleted before the next page is asked for. */
static bool cursor_outlives_its_record(kit *k) {
    if (!stores_numbered(k, 1, false)) return false;
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    query.parent = STR("p");
    query.limit = 1;
    for (size_t i = 0; i < RECORDS; i++) {
        const uar_record r = numbered(k, i, false);
        const uar_write gone = kit_delete(r, 1);
        if (!kit_lists(k, &query, &r.id, 1) || !kit_commits(k, &gone, 1, "a delete between two pages")) return false;
        query.has_after = true;
        query.after_id = r.id;
    }
    return kit_lists(k, &query, NULL, 0);
}

/* ---- overlapping calls ---- */

enum { THREADS = 4, ROUNDS = 25, TRIES = 100000 };

/* One thread's view: its own kit, so that arenas and faults aren't shared. */
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
        if (status != UAR_E_CONFLICT) return kit_expect(k, status, UAR_OK, "a put beside others");
    }
    return KIT_FAULT(k, "a put beside others met a conflict every time");
}

static void race(void *arg) {
    racer *me = arg;
    me->is_done = true;
    for (int i = 0; i < ROUNDS && me->is_done; i++)
        me->is_done = raise_once(&me->own);
}

static bool overlapping_calls(kit *k) {
    enum { STACK = 256 * 1024 };
    const uar_record r = kit_record(k, STR("shared"));
    if (!kit_stores(k, r)) return false;
    racer racers[THREADS];
    thread threads[THREADS];
    size_t started = 0;
    for (; started < THREADS; started++) {
        racers[started] = (racer){ .own = *k };
        arena_init(&racers[started].own.memory, &alloc_default);
        if (thread_start(&threads[started], STACK, race, &racers[started]) != UAR_OK) break;
    }
    bool is_kept = started == THREADS;
    for (size_t i = 0; i < started; i++) {
        thread_join(threads[i]);
        if (!racers[i].is_done && is_kept) error_copy(&k->fault, &racers[i].own.fault);
        is_kept = is_kept && racers[i].is_done;
        k->is_hung = k->is_hung || racers[i].own.is_hung;
        arena_dispose(&racers[i].own.memory);
    }
    if (started < THREADS) return KIT_FAULT(k, "no thread could be started");
    if (!is_kept) return false;
    uar_record got;
    if (!kit_expect(k, kit_get(&got, k, r.kind, r.owner, r.id), UAR_OK, "a get after the race")) return false;
    if (got.revision == 1 + THREADS * ROUNDS) return true;
    return KIT_FAULT(k, "of %d puts beside others %lld were lost", THREADS * ROUNDS,
                     (long long)(1 + THREADS * ROUNDS - (int64_t)got.revision));
}

const kit_requirement check_pages[] = {
    { 80, "pages by key give every record once, whatever their size", pages_by_key },
    { 81, "pages by sort give every record once, whatever their size", pages_by_sort },
    { 82, "pages by key give what stays exactly once while others are written", pages_by_key_while_writing },
    { 83, "pages by sort give what stays exactly once while others are written", pages_by_sort_while_writing },
    { 84, "a page can start behind a record that was deleted meanwhile", cursor_outlives_its_record },
    { 85, "overlapping calls keep the revision rules (only if the layer is concurrent)", overlapping_calls },
};
const size_t check_pages_count = COUNT(check_pages);
