/* Requirements on data that is opened again: what was committed lasts, and nothing else does. Owns nothing. */
#include "store/check.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool commits_last(kit *k) {
    uar_record full = kit_sorted(k, STR("full"), STR("parent"), -42);
    full.schema = 3;
    full.blob = STR("bytes\0\xff");
    if (record_seal(&full) != UAR_OK) k->is_out_of_memory = true;
    const uar_record plain = kit_record(k, STR("plain"));
    const uar_record second = kit_newer(k, plain, 2);
    const uar_write put = kit_put(second, 1);
    return kit_stores(k, full) && kit_stores(k, plain) && kit_commits(k, &put, 1, "a put with the right revision") &&
           kit_reopen(k) && kit_has(k, &full) && kit_has(k, &second);
}

static bool deletes_last(kit *k) {
    const uar_record gone = kit_record(k, STR("gone"));
    const uar_record child = kit_child(k, STR("child"), STR("parent"));
    const uar_record stays = kit_record(k, STR("stays"));
    const uar_write writes[] = { kit_delete(gone, 1), kit_delete_children(child) };
    const uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    return kit_stores(k, gone) && kit_stores(k, child) && kit_stores(k, stays) &&
           kit_commits(k, writes, COUNT(writes), "a delete and a delete of children") && kit_reopen(k) &&
           kit_lacks(k, &gone) && kit_lacks(k, &child) && kit_lists(k, &query, &stays.id, 1);
}

static bool refused_commits_leave_nothing(kit *k) {
    const uar_record old = kit_record(k, STR("old"));
    const uar_record made = kit_record(k, STR("new"));
    const uar_write writes[] = { kit_put(made, 0), kit_put(kit_newer(k, old, 2), 1), kit_put(kit_newer(k, old, 9), 8) };
    return kit_stores(k, old) &&
           kit_refuses(k, writes, COUNT(writes), "a commit whose last put has a wrong revision") && kit_reopen(k) &&
           kit_has(k, &old) && kit_lacks(k, &made);
}

static bool orders_last(kit *k) {
    static const int64_t sorts[] = { 3, INT64_MIN, 3, -7, INT64_MAX };
    const uar_str by_key[] = {
        STR("o-0000"), STR("o-0001"), STR("o-0002"), STR("o-0003"), STR("o-0004"), STR("o-none")
    };
    const uar_str by_sort[] = { STR("o-0001"), STR("o-0003"), STR("o-0000"), STR("o-0002"), STR("o-0004") };
    for (size_t i = 0; i < COUNT(sorts); i++)
        if (!kit_stores(k, kit_sorted(k, kit_name(k, "o-", i), STR("parent"), sorts[i]))) return false;
    if (!kit_stores(k, kit_child(k, STR("o-none"), STR("parent"))) || !kit_reopen(k)) return false;
    for (int with_parent = 0; with_parent < 2; with_parent++) {
        uar_list_query query = kit_query(k, UAR_ORDER_KEY);
        if (with_parent) query.parent = STR("parent");
        if (!kit_lists(k, &query, by_key, COUNT(by_key))) return false;
        query.order = UAR_ORDER_SORT;
        if (!kit_lists(k, &query, by_sort, COUNT(by_sort))) return false;
    }
    return true;
}

static bool revisions_last(kit *k) {
    const uar_record first = kit_record(k, STR("a"));
    const uar_record second = kit_newer(k, first, 2);
    const uar_record third = kit_newer(k, first, 3);
    const uar_write raise = kit_put(second, 1), late = kit_put(kit_newer(k, first, 2), 1), again = kit_put(first, 0);
    const uar_write next = kit_put(third, 2);
    return kit_stores(k, first) && kit_commits(k, &raise, 1, "a put with the right revision") && kit_reopen(k) &&
           kit_refuses(k, &late, 1, "after opening again, a put with the revision before the last") &&
           kit_refuses(k, &again, 1, "after opening again, a put with expected 0 over a stored record") &&
           kit_commits(k, &next, 1, "after opening again, a put with the right revision") && kit_has(k, &third);
}

static bool large_commits_last(kit *k) {
    enum { MANY = 500 };
    uar_write *writes = kit_memory(k, (MANY + 1) * sizeof *writes);
    uar_str *ids = kit_memory(k, (MANY + 1) * sizeof *ids);
    if (writes == NULL || ids == NULL) return false;
    for (size_t i = 0; i < MANY; i++) {
        ids[i] = kit_name(k, "many-", i);
        writes[i] = kit_put(kit_record(k, ids[i]), 0);
    }
    uar_record large = kit_record(k, STR("very-large"));
    large.blob = kit_bytes(k, k->measures.large);
    ids[MANY] = large.id;
    writes[MANY] = kit_put(large, 0);
    const uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    return kit_commits(k, writes, MANY + 1, "a commit of 501 puts, one of 16 MiB") && kit_reopen(k) &&
           kit_has(k, &large) && kit_lists(k, &query, ids, MANY + 1);
}

/* What each round wrote is there in all later ones. */
static bool many_reopenings(kit *k) {
    enum { ROUNDS = 6 };
    uar_record made[ROUNDS];
    for (size_t round = 0; round < ROUNDS; round++) {
        made[round] = kit_record(k, kit_name(k, "round-", round));
        if (!kit_stores(k, made[round]) || !kit_reopen(k)) return false;
        for (size_t i = 0; i <= round; i++)
            if (!kit_has(k, &made[i])) return false;
    }
    return true;
}

static const kit_requirement reopen[] = {
    { 100, "what was committed is there when the data is opened again, every field of it", commits_last },
    { 101, "what was deleted stays deleted when the data is opened again", deletes_last },
    { 102, "a refused commit leaves nothing that shows when the data is opened again", refused_commits_leave_nothing },
    { 103, "lists are in the same order when the data is opened again", orders_last },
    { 104, "revisions are compared as before when the data is opened again", revisions_last },
    { 105, "500 records and one of 16 MiB in one commit are there when the data is opened again", large_commits_last },
    { 106, "opened again and again, the data keeps what was written in between", many_reopenings },
};
const kit_group check_reopen = { KIT_REOPENS, reopen, COUNT(reopen) };
