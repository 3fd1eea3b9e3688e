/* Requirements on one list: what it holds, in which order, from where, how much. Owns nothing. */
#include "store/check.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool stores_all(kit *k, const uar_record *records, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!kit_stores(k, records[i])) return false;
    return true;
}

static bool empty_list(kit *k) {
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    if (!kit_lists(k, &query, NULL, 0)) return false;
    query.parent = STR("nobody");
    if (!kit_lists(k, &query, NULL, 0)) return false;
    query.order = UAR_ORDER_SORT;
    return kit_lists(k, &query, NULL, 0);
}

/* In the order of their bytes, shorter first. */
static const uar_str ordered_ids[] = {
    STR_INIT("\x00"),     STR_INIT("\x00\xff"), STR_INIT("\x01"),     STR_INIT("/"),        STR_INIT("10"),
    STR_INIT("9"),        STR_INIT("B"),        STR_INIT("a"),        STR_INIT("a\x00"),    STR_INIT("a\x1f"),
    STR_INIT("aa"),       STR_INIT("b"),        STR_INIT("\x7f"),     STR_INIT("\x80"),     STR_INIT("\xc3\xa9"),
    STR_INIT("\xe2\x82"), STR_INIT("\xff"),     STR_INIT("\xff\x00"), STR_INIT("\xff\xff"),
};

static bool key_order(kit *k) {
    /* Stored in an order that is neither theirs nor its reverse. */
    for (size_t i = 0; i < COUNT(ordered_ids); i++) {
        size_t at = i * 7 % COUNT(ordered_ids);
        if (!kit_stores(k, kit_child(k, ordered_ids[at], STR("parent")))) return false;
    }
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    if (!kit_lists(k, &query, ordered_ids, COUNT(ordered_ids))) return false;
    query.parent = STR("parent");
    return kit_lists(k, &query, ordered_ids, COUNT(ordered_ids));
}

static const int64_t ordered_sorts[] = { INT64_MIN, INT64_MIN + 1, -4294967296, -2,         -1,       0, 1, 2,
                                         10,        255,           256,         4294967296, INT64_MAX };

static bool sort_order(kit *k) {
    uar_str ids[COUNT(ordered_sorts)];
    for (size_t i = 0; i < COUNT(ordered_sorts); i++) {
        size_t at = i * 5 % COUNT(ordered_sorts);
        ids[at] = kit_name(k, "s-", COUNT(ordered_sorts) - at); /* ids run against the sorts */
        if (!kit_stores(k, kit_sorted(k, ids[at], STR("parent"), ordered_sorts[at]))) return false;
    }
    uar_list_query query = kit_query(k, UAR_ORDER_SORT);
    if (!kit_lists(k, &query, ids, COUNT(ids))) return false;
    query.parent = STR("parent");
    return kit_lists(k, &query, ids, COUNT(ids));
}

static bool sort_ties(kit *k) {
    const uar_str p = STR("parent");
    const uar_record made[] = { kit_sorted(k, STR("\xff"), p, 5), kit_sorted(k, STR("b"), p, 5),
                                kit_sorted(k, STR("z"), p, 4), kit_sorted(k, STR("a"), p, 5),
                                kit_sorted(k, STR("ab"), p, 5) };
    const uar_str ids[] = { STR("z"), STR("a"), STR("ab"), STR("b"), STR("\xff") };
    uar_list_query query = kit_query(k, UAR_ORDER_SORT);
    query.parent = p;
    return stores_all(k, made, COUNT(made)) && kit_lists(k, &query, ids, COUNT(ids));
}

static bool sort_leaves_out_unsorted(kit *k) {
    const uar_str p = STR("parent");
    const uar_record made[] = { kit_child(k, STR("a"), p), kit_sorted(k, STR("b"), p, 0), kit_child(k, STR("c"), p) };
    const uar_str sorted[] = { STR("b") };
    const uar_str all[] = { STR("a"), STR("b"), STR("c") };
    uar_list_query query = kit_query(k, UAR_ORDER_SORT);
    query.parent = p;
    if (!stores_all(k, made, COUNT(made)) || !kit_lists(k, &query, sorted, COUNT(sorted))) return false;
    query.order = UAR_ORDER_KEY;
    return kit_lists(k, &query, all, COUNT(all));
}

static bool no_parent_lists_all(kit *k) {
    uar_record orphan = kit_record(k, STR("b"));
    orphan.has_sort = true;
    orphan.sort = 2;
    const uar_record made[] = { kit_sorted(k, STR("c"), STR("p"), 1), orphan, kit_sorted(k, STR("a"), STR("q"), 3) };
    const uar_str by_key[] = { STR("a"), STR("b"), STR("c") };
    const uar_str by_sort[] = { STR("c"), STR("b"), STR("a") };
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    if (!stores_all(k, made, COUNT(made)) || !kit_lists(k, &query, by_key, COUNT(by_key))) return false;
    query.order = UAR_ORDER_SORT;
    return kit_lists(k, &query, by_sort, COUNT(by_sort));
}

static bool parent_lists_its_own(kit *k) {
    uar_record theirs = kit_sorted(k, STR("o"), STR("ab"), 1);
    theirs.owner = k->other;
    const uar_record made[] = { kit_sorted(k, STR("1"), STR("a"), 1),
                                kit_sorted(k, STR("2"), STR("ab"), 1),
                                kit_sorted(k, STR("3"), STR("abc"), 1),
                                kit_sorted(k, STR("4"), STR("AB"), 1),
                                kit_record(k, STR("5")),
                                theirs };
    const uar_str ids[] = { STR("2") };
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    query.parent = STR("ab");
    if (!stores_all(k, made, COUNT(made)) || !kit_lists(k, &query, ids, 1)) return false;
    query.order = UAR_ORDER_SORT;
    return kit_lists(k, &query, ids, 1);
}

static bool limit_is_kept(kit *k) {
    uar_str ids[5];
    for (size_t i = 0; i < COUNT(ids); i++) {
        ids[i] = kit_name(k, "l-", i);
        if (!kit_stores(k, kit_sorted(k, ids[i], STR("parent"), (int64_t)i))) return false;
    }
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    query.parent = STR("parent");
    for (size_t limit = 1; limit <= COUNT(ids) + 1; limit++) {
        query.limit = limit;
        size_t wanted = limit < COUNT(ids) ? limit : COUNT(ids);
        query.order = UAR_ORDER_KEY;
        if (!kit_lists(k, &query, ids, wanted)) return false;
        query.order = UAR_ORDER_SORT;
        if (!kit_lists(k, &query, ids, wanted)) return false;
    }
    return true;
}

static bool after_key(kit *k) {
    const uar_record made[] = { kit_child(k, STR("b"), STR("p")), kit_child(k, STR("d"), STR("p")),
                                kit_child(k, STR("f"), STR("p")) };
    const uar_str ids[] = { STR("b"), STR("d"), STR("f") };
    static const struct {
        uar_str after;
        size_t from;
    } cases[] = { { STR_INIT("a"), 0 }, { STR_INIT("b"), 1 },     { STR_INIT("b\x00"), 1 }, { STR_INIT("c"), 1 },
                  { STR_INIT("d"), 2 }, { STR_INIT("e\xff"), 2 }, { STR_INIT("f"), 3 },     { STR_INIT("\xff"), 3 } };
    if (!stores_all(k, made, COUNT(made))) return false;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uar_list_query query = kit_query(k, UAR_ORDER_KEY);
        query.has_after = true;
        query.after_id = cases[i].after;
        query.parent = i % 2 == 0 ? STR("p") : uar_str_n(NULL, 0);
        if (!kit_lists(k, &query, ids + cases[i].from, COUNT(ids) - cases[i].from)) return false;
    }
    return true;
}

typedef struct sort_case {
    int64_t sort;
    uar_str id;
    size_t from;
} sort_case;

static bool lists_after(kit *k, const sort_case *c, const uar_str *ids, size_t count) {
    uar_list_query query = kit_query(k, UAR_ORDER_SORT);
    query.has_after = true;
    query.after_sort = c->sort;
    query.after_id = c->id;
    query.parent = STR("p");
    if (!kit_lists(k, &query, ids + c->from, count - c->from)) return false;
    query.parent = uar_str_n(NULL, 0);
    return kit_lists(k, &query, ids + c->from, count - c->from);
}

static bool stores_sorted(kit *k) {
    const uar_str p = STR("p");
    const uar_record made[] = { kit_sorted(k, STR("x"), p, INT64_MIN), kit_sorted(k, STR("b"), p, 1),
                                kit_sorted(k, STR("d"), p, 1), kit_sorted(k, STR("a"), p, 2),
                                kit_sorted(k, STR("c"), p, INT64_MAX) };
    return stores_all(k, made, COUNT(made));
}

static bool after_sort_and_id(kit *k) {
    static const sort_case cases[] = {
        { INT64_MIN, STR_INIT("w"), 0 }, { INT64_MIN, STR_INIT("x"), 1 }, { 0, STR_INIT("zz"), 1 },
        { 1, STR_INIT("a"), 1 },         { 1, STR_INIT("b"), 2 },         { 1, STR_INIT("c"), 2 },
        { 1, STR_INIT("d"), 3 },         { 2, STR_INIT("\x01"), 3 },      { 2, STR_INIT("a"), 4 },
        { INT64_MAX, STR_INIT("b"), 4 }, { INT64_MAX, STR_INIT("c"), 5 },
    };
    const uar_str ids[] = { STR("x"), STR("b"), STR("d"), STR("a"), STR("c") };
    if (!stores_sorted(k)) return false;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (!lists_after(k, &cases[i], ids, COUNT(ids))) return false;
    return true;
}

static bool after_sort_alone(kit *k) {
    static const sort_case cases[] = {
        { INT64_MIN, STR_INIT(""), 1 }, { 0, STR_INIT(""), 1 }, { 1, STR_INIT(""), 3 },
        { 2, STR_INIT(""), 4 },         { 3, STR_INIT(""), 4 }, { INT64_MAX, STR_INIT(""), 5 },
    };
    const uar_str ids[] = { STR("x"), STR("b"), STR("d"), STR("a"), STR("c") };
    if (!stores_sorted(k)) return false;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (!lists_after(k, &cases[i], ids, COUNT(ids))) return false;
    return true;
}

static bool listed_records_are_whole(kit *k) {
    uar_record a = kit_sorted(k, STR("a"), STR("p"), -3);
    a.blob = kit_bytes(k, 5000);
    uar_record b = kit_record(k, STR("b"));
    b.schema = 9;
    if (!kit_stores(k, a) || !kit_stores(k, b)) return false;
    const uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    kit_page page;
    if (!kit_expect(k, kit_list(&page, k, &query), UAR_OK, "a list")) return false;
    if (page.count != 2) return KIT_FAULT(k, "the list has %zu records, not 2", page.count);
    return kit_same(k, &page.records[0], &a) && kit_same(k, &page.records[1], &b);
}

static bool moved_records(kit *k) {
    const uar_record old = kit_sorted(k, STR("a"), STR("p"), 1);
    uar_record moved = kit_newer(k, old, 2);
    moved.parent = STR("q");
    moved.sort = 9;
    const uar_record between = kit_sorted(k, STR("b"), STR("q"), 5);
    const uar_write put = kit_put(moved, 1);
    const uar_str ids[] = { STR("b"), STR("a") };
    uar_list_query query = kit_query(k, UAR_ORDER_SORT);
    query.parent = STR("p");
    if (!kit_stores(k, old) || !kit_stores(k, between) || !kit_commits(k, &put, 1, "a put with the right revision"))
        return false;
    if (!kit_lists(k, &query, NULL, 0)) return false;
    query.parent = STR("q");
    return kit_lists(k, &query, ids, COUNT(ids));
}

static bool unsorted_again(kit *k) {
    const uar_record sorted = kit_sorted(k, STR("a"), STR("p"), 1);
    const uar_record plain = kit_newer(k, kit_child(k, STR("a"), STR("p")), 2);
    const uar_write put = kit_put(plain, 1);
    uar_list_query query = kit_query(k, UAR_ORDER_SORT);
    query.parent = STR("p");
    return kit_stores(k, sorted) && kit_commits(k, &put, 1, "a put with the right revision") &&
           kit_lists(k, &query, NULL, 0);
}

static bool deleted_records_leave(kit *k) {
    const uar_record a = kit_sorted(k, STR("a"), STR("p"), 1);
    const uar_record b = kit_sorted(k, STR("b"), STR("p"), 2);
    const uar_write gone = kit_delete(a, 1);
    const uar_str ids[] = { STR("b") };
    uar_list_query query = kit_query(k, UAR_ORDER_SORT);
    if (!kit_stores(k, a) || !kit_stores(k, b) || !kit_commits(k, &gone, 1, "a delete")) return false;
    if (!kit_lists(k, &query, ids, 1)) return false;
    query.parent = STR("p");
    if (!kit_lists(k, &query, ids, 1)) return false;
    query.order = UAR_ORDER_KEY;
    return kit_lists(k, &query, ids, 1);
}

static bool limit_of_any_size(kit *k) {
    static const size_t limits[] = { 100000, INT32_MAX, UINT32_MAX, SIZE_MAX / 2, SIZE_MAX };
    const uar_str ids[] = { STR("a"), STR("b") };
    if (!kit_stores(k, kit_sorted(k, ids[0], STR("p"), 1)) || !kit_stores(k, kit_sorted(k, ids[1], STR("p"), 2)))
        return false;
    for (size_t i = 0; i < COUNT(limits); i++) {
        uar_list_query query = kit_query(k, i % 2 == 0 ? UAR_ORDER_KEY : UAR_ORDER_SORT);
        query.parent = STR("p");
        query.limit = limits[i];
        if (!kit_lists(k, &query, ids, COUNT(ids))) return false;
    }
    return true;
}

static bool key_order_has_no_sort(kit *k) {
    const uar_record made[] = { kit_sorted(k, STR("a"), STR("p"), 3), kit_sorted(k, STR("b"), STR("p"), 1),
                                kit_sorted(k, STR("c"), STR("p"), 2) };
    const uar_str ids[] = { STR("b"), STR("c") };
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    query.has_after = true;
    query.after_id = STR("a");
    query.after_sort = 2;
    if (!stores_all(k, made, COUNT(made)) || !kit_lists(k, &query, ids, COUNT(ids))) return false;
    query.parent = STR("p");
    return kit_lists(k, &query, ids, COUNT(ids));
}

static bool no_cursor_is_no_cursor(kit *k) {
    const uar_record made[] = { kit_sorted(k, STR("a"), STR("p"), 1), kit_sorted(k, STR("b"), STR("p"), 2) };
    const uar_str ids[] = { STR("a"), STR("b") };
    if (!stores_all(k, made, COUNT(made))) return false;
    for (int i = 0; i < 4; i++) {
        uar_list_query query = kit_query(k, i % 2 == 0 ? UAR_ORDER_KEY : UAR_ORDER_SORT);
        if (i >= 2) query.parent = STR("p");
        query.after_id = STR("a");
        query.after_sort = 1;
        if (!kit_lists(k, &query, ids, COUNT(ids))) return false;
    }
    return true;
}

static const kit_requirement lists[] = {
    { 60, "a list of nothing succeeds with no records", empty_list },
    { 61, "a list by key is in the order of the ids' bytes, shorter first", key_order },
    { 62, "a list by sort is in the order of signed 64-bit integers", sort_order },
    { 63, "records of the same sort are in the order of their ids", sort_ties },
    { 64, "a list by sort leaves out records without a sort, a list by key doesn't", sort_leaves_out_unsorted },
    { 65, "a list without a parent holds all records of that kind and owner", no_parent_lists_all },
    { 66, "a list with a parent holds the records of exactly that parent", parent_lists_its_own },
    { 67, "a list holds as many records as there are, at most its limit", limit_is_kept },
    { 68, "a list by key starts behind an id, whether or not that exists", after_key },
    { 69, "a list by sort starts behind a sort and id, whether or not those exist", after_sort_and_id },
    { 70, "a list by sort with an empty id starts behind all records of that sort", after_sort_alone },
    { 71, "listed records have every field, as in a get", listed_records_are_whole },
    { 72, "a put that changes parent or sort moves the record in the lists", moved_records },
    { 73, "a put without a sort takes the record out of the lists by sort", unsorted_again },
    { 74, "a deleted record is in no list", deleted_records_leave },
    { 75, "a limit may be larger than any number of records", limit_of_any_size },
    { 76, "a list by key has no use for the cursor's sort", key_order_has_no_sort },
    { 77, "a list without has_after begins at the front, whatever its cursor says", no_cursor_is_no_cursor },
};
const kit_group check_lists = { KIT_ALWAYS, lists, COUNT(lists) };
