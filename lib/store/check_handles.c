/* Requirements on two layers that are open on the same data: each sees at once what the other commits. Owns nothing. */
#include "store/check.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool commits_are_seen(kit *k) {
    const uar_record first = kit_record(k, STR("a"));
    const uar_record second = kit_newer(k, first, 2);
    const uar_write raise = kit_put(second, 1);
    if (!kit_stores(k, first)) return false;
    kit_swap(k);
    bool is_seen = kit_has(k, &first);
    kit_swap(k);
    if (!is_seen || !kit_commits(k, &raise, 1, "a put with the right revision")) return false;
    kit_swap(k);
    return kit_has(k, &second);
}

static bool lists_are_seen(kit *k) {
    const uar_str ids[] = { STR("a"), STR("b") };
    uar_list_query query = kit_query(k, UAR_ORDER_SORT);
    query.parent = STR("p");
    if (!kit_stores(k, kit_sorted(k, ids[0], query.parent, 1))) return false;
    kit_swap(k);
    bool is_seen = kit_lists(k, &query, ids, 1);
    kit_swap(k);
    if (!is_seen || !kit_stores(k, kit_sorted(k, ids[1], query.parent, 2))) return false;
    kit_swap(k);
    return kit_lists(k, &query, ids, 2);
}

static bool revisions_are_shared(kit *k) {
    const uar_record first = kit_record(k, STR("a"));
    const uar_record theirs = kit_newer(k, first, 2);
    const uar_write raise = kit_put(theirs, 1);
    uar_record mine = kit_newer(k, first, 2);
    mine.created_ms++;
    const uar_write late = kit_put(mine, 1);
    if (!kit_stores(k, first)) return false;
    kit_swap(k);
    bool is_raised = kit_commits(k, &raise, 1, "a put through the second layer");
    kit_swap(k);
    return is_raised && kit_refuses(k, &late, 1, "a put with the revision that the second layer has overtaken") &&
           kit_has(k, &theirs);
}

static bool deletes_are_seen(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_record child = kit_child(k, STR("child"), STR("parent"));
    const uar_write gone[] = { kit_delete(r, 1), kit_delete_children(child) };
    if (!kit_stores(k, r) || !kit_stores(k, child)) return false;
    kit_swap(k);
    bool is_seen = kit_has(k, &r) && kit_has(k, &child);
    kit_swap(k);
    if (!is_seen || !kit_commits(k, gone, COUNT(gone), "a delete and a delete of children")) return false;
    kit_swap(k);
    return kit_lacks(k, &r) && kit_lacks(k, &child) && kit_stores(k, r);
}

static bool checks_are_shared(kit *k) {
    const uar_record guard = kit_record(k, STR("guard"));
    const uar_record r = kit_record(k, STR("a"));
    const uar_write raise = kit_put(kit_newer(k, guard, 2), 1);
    const uar_write fenced[] = { kit_fence(guard, 1), kit_put(r, 0) };
    if (!kit_stores(k, guard)) return false;
    kit_swap(k);
    bool is_raised = kit_commits(k, &raise, 1, "a put through the second layer");
    kit_swap(k);
    return is_raised &&
           kit_refuses(k, fenced, COUNT(fenced), "a commit with a check of what the second layer has raised") &&
           kit_lacks(k, &r);
}

static bool closing_leaves_the_other(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_record more = kit_record(k, STR("b"));
    kit_swap(k);
    bool is_stored = kit_stores(k, r);
    kit_swap(k);
    kit_close_other(k);
    return is_stored && kit_has(k, &r) && kit_stores(k, more) && kit_has(k, &more);
}

static bool conflicts_hold_nothing(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write wrong = kit_put(kit_newer(k, r, 9), 8);
    if (!kit_refuses(k, &wrong, 1, "a put with a revision where nothing is stored")) return false;
    kit_swap(k);
    return kit_stores(k, r) && kit_has(k, &r);
}

static const kit_requirement handles[] = {
    { 110, "a get sees at once what another layer on the same data committed", commits_are_seen },
    { 111, "a list sees at once what another layer on the same data committed", lists_are_seen },
    { 112, "a put with a revision that another layer has overtaken fails", revisions_are_shared },
    { 113, "what another layer deleted is gone at once", deletes_are_seen },
    { 114, "a check fails if another layer has raised the revision", checks_are_shared },
    { 115, "of two layers that raise one record's revision at the same time, no put is lost", kit_races },
    { 116, "pages give what stays exactly once while another layer writes", kit_pages_beside_writes },
    { 117, "destroying one layer leaves another on the same data at work", closing_leaves_the_other },
    { 118, "a list sees commits of another layer whole or not at all", kit_sees_whole_commits },
    { 119, "a refused commit holds up no other layer", conflicts_hold_nothing },
};
const kit_group check_handles = { KIT_HANDLES, handles, COUNT(handles) };
