/* Requirements on lists read page by page, also while somebody writes between them. Owns nothing. */
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

/* ---- more than one walk, odd places ---- */

/* Two walks over two parents, a page of one and a page of the other in turn. */
static bool walks_in_turn(kit *k) {
    enum { EACH = 12, LIMIT = 3 };
    const uar_str parents[] = { STR("p"), STR("q") };
    uar_list_query queries[COUNT(parents)];
    for (size_t w = 0; w < COUNT(parents); w++) {
        queries[w] = kit_query(k, UAR_ORDER_KEY);
        queries[w].parent = parents[w];
        queries[w].limit = LIMIT;
        for (size_t i = 0; i < EACH; i++)
            if (!kit_stores(k, kit_child(k, kit_name(k, w == 0 ? "walk-a" : "walk-b", i), parents[w]))) return false;
    }
    for (size_t at = 0; at <= EACH; at += LIMIT)
        for (size_t w = 0; w < COUNT(parents); w++) {
            uar_str ids[LIMIT];
            size_t count = at < EACH ? LIMIT : 0;
            for (size_t i = 0; i < count; i++)
                ids[i] = kit_name(k, w == 0 ? "walk-a" : "walk-b", at + i);
            if (!kit_lists(k, &queries[w], ids, count)) return false;
            queries[w].has_after = true;
            if (count > 0) queries[w].after_id = ids[count - 1];
        }
    return true;
}

/* In the order of their bytes. */
static const uar_str places[] = {
    STR_INIT("\x00"),     STR_INIT("\x00\x00"), STR_INIT("\x00\xff"), STR_INIT("\x01"),      STR_INIT("%"),
    STR_INIT("'"),        STR_INIT("a"),        STR_INIT("a\x00"),    STR_INIT("a\x00\x01"), STR_INIT("a\x1f"),
    STR_INIT("\xc3\xa9"), STR_INIT("\xff"),     STR_INIT("\xff\xff"),
};

static bool cursors_are_bytes(kit *k) {
    for (size_t i = 0; i < COUNT(places); i++)
        if (!kit_stores(k, kit_sorted(k, places[i], STR("p"), 0))) return false;
    for (int by_sort = 0; by_sort < 2; by_sort++) {
        uar_list_query query = kit_query(k, by_sort ? UAR_ORDER_SORT : UAR_ORDER_KEY);
        query.parent = STR("p");
        query.limit = 1;
        for (size_t i = 0; i < COUNT(places); i++) {
            if (!kit_lists(k, &query, &places[i], 1)) return false;
            query.has_after = true;
            query.after_id = places[i];
        }
        if (!kit_lists(k, &query, NULL, 0)) return false;
    }
    return true;
}

static const kit_requirement pages[] = {
    { 80, "pages by key give every record once, whatever their size", pages_by_key },
    { 81, "pages by sort give every record once, whatever their size", pages_by_sort },
    { 82, "pages by key give what stays exactly once while others are written", pages_by_key_while_writing },
    { 83, "pages by sort give what stays exactly once while others are written", pages_by_sort_while_writing },
    { 84, "a page can start behind a record that was deleted meanwhile", cursor_outlives_its_record },
};
const kit_group check_pages = { KIT_ALWAYS, pages, COUNT(pages) };

static const kit_requirement walks[] = {
    { 88, "two walks through pages in turn don't disturb each other", walks_in_turn },
    { 89, "a page can start behind an id of any bytes", cursors_are_bytes },
};
const kit_group check_walks = { KIT_ALWAYS, walks, COUNT(walks) };
