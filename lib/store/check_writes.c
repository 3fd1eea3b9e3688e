/* Requirements on commits: revisions, atomicity, deletion. Owns nothing. */
#include "store/check.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool missing_is_not_found(kit *k) {
    const uar_record r = kit_record(k, STR("nobody"));
    return kit_lacks(k, &r);
}

static bool put_then_get(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    return kit_stores(k, r) && kit_has(k, &r);
}

static bool new_put_needs_absence(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write again = kit_put(kit_newer(k, r, 1), 0);
    return kit_stores(k, r) && kit_refuses(k, &again, 1, "a put with expected 0 over a stored record") &&
           kit_has(k, &r);
}

static bool put_needs_its_revision(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write late = kit_put(kit_newer(k, r, 3), 2);
    return kit_stores(k, r) && kit_refuses(k, &late, 1, "a put with a wrong revision") && kit_has(k, &r);
}

static bool put_needs_presence(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write put = kit_put(kit_newer(k, r, 2), 1);
    return kit_refuses(k, &put, 1, "a put with a revision where nothing is stored") && kit_lacks(k, &r);
}

static bool put_replaces_everything(kit *k) {
    uar_record r = kit_sorted(k, STR("a"), STR("parent"), 7);
    r.blob = STR("bytes");
    uar_record bare = kit_newer(k, kit_record(k, STR("a")), 2);
    bare.schema = 2;
    const uar_write put = kit_put(bare, 1);
    return kit_stores(k, r) && kit_commits(k, &put, 1, "a put with the right revision") && kit_has(k, &bare);
}

static bool delete_removes(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_record stays = kit_record(k, STR("b"));
    const uar_write gone = kit_delete(r, 1);
    return kit_stores(k, r) && kit_stores(k, stays) && kit_commits(k, &gone, 1, "a delete with the right revision") &&
           kit_lacks(k, &r) && kit_has(k, &stays);
}

static bool delete_needs_its_revision(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write wrong = kit_delete(r, 2);
    const uar_write none = kit_delete(r, 0);
    return kit_stores(k, r) && kit_refuses(k, &wrong, 1, "a delete with a wrong revision") && kit_has(k, &r) &&
           kit_refuses(k, &none, 1, "a delete with expected 0 of a stored record") && kit_has(k, &r);
}

static bool delete_needs_presence(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write gone = kit_delete(r, 1);
    return kit_refuses(k, &gone, 1, "a delete with a revision where nothing is stored");
}

static bool delete_then_recreate(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write gone = kit_delete(r, 1);
    return kit_stores(k, r) && kit_commits(k, &gone, 1, "a delete with the right revision") && kit_stores(k, r) &&
           kit_has(k, &r);
}

static bool check_passes(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write fence = kit_fence(r, 1);
    return kit_stores(k, r) && kit_commits(k, &fence, 1, "a check at the right revision") && kit_has(k, &r);
}

static bool check_fails(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_record absent = kit_record(k, STR("b"));
    const uar_write wrong = kit_fence(r, 2);
    const uar_write missing = kit_fence(absent, 1);
    return kit_stores(k, r) && kit_refuses(k, &wrong, 1, "a check at a wrong revision") &&
           kit_refuses(k, &missing, 1, "a check at a revision where nothing is stored");
}

static bool check_of_absence(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write fence = kit_fence(r, 0);
    return kit_commits(k, &fence, 1, "a check that nothing is stored, where nothing is") && kit_lacks(k, &r) &&
           kit_stores(k, r) && kit_refuses(k, &fence, 1, "a check that nothing is stored, where something is");
}

/* A commit of puts with one failing check at `place`. */
static bool fails_whole(kit *k, size_t place) {
    const uar_record guard = kit_record(k, STR("guard"));
    uar_record made[4];
    uar_write writes[4];
    for (size_t i = 0; i < COUNT(made); i++) {
        made[i] = kit_record(k, kit_name(k, "new-", i));
        writes[i] = kit_put(made[i], 0);
    }
    writes[place] = kit_fence(guard, 9);
    if (!kit_refuses(k, writes, COUNT(writes), "a commit with a failing check")) return false;
    for (size_t i = 0; i < COUNT(made); i++)
        if (!kit_lacks(k, &made[i])) return false;
    return true;
}

static bool failing_check_undoes_all(kit *k) {
    if (!kit_stores(k, kit_record(k, STR("guard")))) return false;
    return fails_whole(k, 0) && fails_whole(k, 1) && fails_whole(k, 3);
}

static bool failing_put_undoes_changes(kit *k) {
    const uar_record old = kit_record(k, STR("old"));
    const uar_record gone = kit_record(k, STR("gone"));
    const uar_record child = kit_child(k, STR("child"), STR("parent"));
    const uar_write writes[] = { kit_put(kit_newer(k, old, 2), 1), kit_delete(gone, 1), kit_delete_children(child),
                                 kit_put(kit_newer(k, old, 9), 8) };
    return kit_stores(k, old) && kit_stores(k, gone) && kit_stores(k, child) &&
           kit_refuses(k, writes, COUNT(writes), "a commit whose last put fails") && kit_has(k, &old) &&
           kit_has(k, &gone) && kit_has(k, &child);
}

static bool failed_commit_leaves_lists(kit *k) {
    const uar_str parent = STR("parent");
    const uar_record kept = kit_sorted(k, STR("kept"), parent, 1);
    const uar_write writes[] = { kit_put(kit_sorted(k, STR("lost"), parent, 2), 0), kit_delete(kept, 1),
                                 kit_fence(kept, 1) };
    uar_list_query by_key = kit_query(k, UAR_ORDER_KEY);
    uar_list_query by_sort = kit_query(k, UAR_ORDER_SORT);
    by_key.parent = by_sort.parent = parent;
    const uar_str ids[] = { STR("kept") };
    return kit_stores(k, kept) && kit_refuses(k, writes, COUNT(writes), "a commit with a check of what it deleted") &&
           kit_lists(k, &by_key, ids, 1) && kit_lists(k, &by_sort, ids, 1);
}

static bool failure_leaves_layer_usable(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write wrong = kit_put(r, 5);
    for (int i = 0; i < 3; i++)
        if (!kit_refuses(k, &wrong, 1, "a put with a wrong revision")) return false;
    return kit_stores(k, r) && kit_has(k, &r);
}

static bool writes_see_earlier_ones(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_record second = kit_newer(k, r, 2);
    const uar_write writes[] = { kit_put(r, 0), kit_put(second, 1), kit_delete(second, 2), kit_put(r, 0),
                                 kit_put(second, 1) };
    return kit_commits(k, writes, COUNT(writes), "a commit that puts, deletes and puts one record") &&
           kit_has(k, &second);
}

static bool checks_see_earlier_writes(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_write good[] = { kit_fence(r, 0), kit_put(r, 0), kit_fence(r, 1), kit_delete(r, 1), kit_fence(r, 0) };
    const uar_write bad[] = { kit_put(r, 0), kit_fence(r, 0) };
    return kit_commits(k, good, COUNT(good), "a commit that checks what it wrote") && kit_lacks(k, &r) &&
           kit_refuses(k, bad, COUNT(bad), "a commit that checks the absence of what it wrote") && kit_lacks(k, &r);
}

static bool delete_children_only_theirs(kit *k) {
    const uar_record a = kit_child(k, STR("a"), STR("parent"));
    const uar_record b = kit_child(k, STR("b"), STR("parent"));
    const uar_record longer = kit_child(k, STR("c"), STR("parent2"));
    const uar_record shorter = kit_child(k, STR("d"), STR("paren"));
    const uar_record orphan = kit_record(k, STR("e"));
    const uar_record parent = kit_record(k, STR("parent"));
    const uar_write all[] = { kit_put(a, 0),       kit_put(b, 0),      kit_put(longer, 0),
                              kit_put(shorter, 0), kit_put(orphan, 0), kit_put(parent, 0) };
    const uar_write sweep = kit_delete_children(a);
    return kit_commits(k, all, COUNT(all), "a commit of six puts") &&
           kit_commits(k, &sweep, 1, "a delete of children") && kit_lacks(k, &a) && kit_lacks(k, &b) &&
           kit_has(k, &longer) && kit_has(k, &shorter) && kit_has(k, &orphan) && kit_has(k, &parent);
}

static bool delete_children_stays_home(kit *k) {
    const uar_record mine = kit_child(k, STR("a"), STR("parent"));
    uar_record theirs = mine;
    theirs.owner = k->other;
    uar_record kind = mine;
    kind.kind = UAR_RECORD_CHECKPOINT;
    const uar_write all[] = { kit_put(mine, 0), kit_put(theirs, 0), kit_put(kind, 0) };
    const uar_write sweep = kit_delete_children(mine);
    return kit_commits(k, all, COUNT(all), "a commit of three puts") &&
           kit_commits(k, &sweep, 1, "a delete of children") && kit_lacks(k, &mine) && kit_has(k, &theirs) &&
           kit_has(k, &kind);
}

static bool delete_children_of_nobody(kit *k) {
    const uar_write sweep = kit_delete_children(kit_child(k, STR("a"), STR("nobody")));
    return kit_commits(k, &sweep, 1, "a delete of children where there are none");
}

static bool delete_children_sees_commit(kit *k) {
    const uar_record early = kit_child(k, STR("early"), STR("parent"));
    const uar_record late = kit_child(k, STR("late"), STR("parent"));
    const uar_record moved = kit_child(k, STR("moved"), STR("parent"));
    uar_record away = kit_newer(k, moved, 2);
    away.parent = STR("elsewhere");
    const uar_write writes[] = { kit_put(early, 0), kit_put(away, 1), kit_delete_children(early), kit_put(late, 0) };
    return kit_stores(k, moved) && kit_commits(k, writes, COUNT(writes), "a commit with a delete of children inside") &&
           kit_lacks(k, &early) && kit_has(k, &away) && kit_has(k, &late);
}

static bool many_in_one_commit(kit *k) {
    enum { MANY = 1000 };
    uar_write *writes = arena_zeroed(&k->memory, MANY, sizeof *writes);
    uar_str *ids = arena_zeroed(&k->memory, MANY, sizeof *ids);
    if (writes == NULL || ids == NULL) {
        k->is_out_of_memory = true;
        return false;
    }
    for (size_t i = 0; i < MANY; i++) {
        ids[i] = kit_name(k, "many-", i);
        writes[i] = kit_put(kit_record(k, ids[i]), 0);
    }
    const uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    return kit_commits(k, writes, MANY, "a commit of a thousand puts") && kit_lists(k, &query, ids, MANY);
}

static bool delete_of_absence(kit *k) {
    const uar_record r = kit_record(k, STR("nobody"));
    const uar_record stays = kit_record(k, STR("somebody"));
    const uar_write writes[] = { kit_delete(r, 0), kit_put(stays, 0) };
    return kit_commits(k, writes, COUNT(writes), "a delete with expected 0 where nothing is stored, and a put") &&
           kit_lacks(k, &r) && kit_has(k, &stays);
}

static bool delete_children_compares_nothing(kit *k) {
    const uar_record a = kit_child(k, STR("a"), STR("parent"));
    const uar_record b = kit_child(k, STR("b"), STR("parent"));
    const uar_write raise = kit_put(kit_newer(k, b, 2), 1);
    uar_write sweep = kit_delete_children(a);
    sweep.expected = 77;
    return kit_stores(k, a) && kit_stores(k, b) && kit_commits(k, &raise, 1, "a put with the right revision") &&
           kit_commits(k, &sweep, 1, "a delete of children with some number as expected, which counts for nothing") &&
           kit_lacks(k, &a) && kit_lacks(k, &b);
}

/* What a layer wrote out in portions must go again. */
static bool large_refused_commit(kit *k) {
    enum { MANY = 1000 };
    uar_write *writes = kit_memory(k, MANY * sizeof *writes);
    if (writes == NULL) return false;
    for (size_t i = 0; i < MANY; i++)
        writes[i] = kit_put(kit_record(k, kit_name(k, "many-", i)), 0);
    writes[MANY - 1].expected = 7;
    const uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    return kit_refuses(k, writes, MANY,
                       "a commit of a thousand puts, the last with a revision of a record that isn't there") &&
           kit_lists(k, &query, NULL, 0);
}

static bool same_body_is_a_put(kit *k) {
    const uar_record old = kit_record(k, STR("a"));
    uar_record same = kit_newer(k, old, 2);
    same.body = old.body;
    same.updated_ms = old.updated_ms + 60000;
    if (record_seal(&same) != UAR_OK) k->is_out_of_memory = true;
    const uar_write put = kit_put(same, 1);
    return kit_stores(k, old) && kit_commits(k, &put, 1, "a put of the same body at the next revision") &&
           kit_has(k, &same);
}

static bool failing_delete_undoes_changes(kit *k) {
    const uar_record old = kit_record(k, STR("old"));
    const uar_record made = kit_record(k, STR("new"));
    const uar_record nobody = kit_record(k, STR("nobody"));
    const uar_write writes[] = { kit_put(kit_newer(k, old, 2), 1), kit_put(made, 0), kit_delete(nobody, 1) };
    return kit_stores(k, old) &&
           kit_refuses(k, writes, COUNT(writes), "a commit whose delete names a record that isn't there") &&
           kit_has(k, &old) && kit_lacks(k, &made);
}

static const kit_requirement writes[] = {
    { 10, "a get of what was never stored is UAR_E_NOT_FOUND", missing_is_not_found },
    { 11, "a record that was put can be got", put_then_get },
    { 12, "a put with expected 0 fails if the record exists", new_put_needs_absence },
    { 13, "a put with a wrong revision fails and changes nothing", put_needs_its_revision },
    { 14, "a put with a revision fails if there is no record", put_needs_presence },
    { 15, "a put replaces every field, also those that the new record lacks", put_replaces_everything },
    { 16, "a delete removes that record and no other", delete_removes },
    { 17, "a delete with a wrong revision fails and changes nothing", delete_needs_its_revision },
    { 18, "a delete with a revision fails if there is no record", delete_needs_presence },
    { 19, "a deleted record can be made again with expected 0", delete_then_recreate },
    { 20, "a check at the stored revision passes and changes nothing", check_passes },
    { 21, "a check at another revision fails", check_fails },
    { 22, "a check with expected 0 passes only if there is no record", check_of_absence },
    { 23, "a failing check at any place of a commit undoes all of it", failing_check_undoes_all },
    { 24, "a failing put undoes the puts and deletes before it", failing_put_undoes_changes },
    { 25, "a failed commit leaves every list as it was", failed_commit_leaves_lists },
    { 26, "after failed commits the layer works as before", failure_leaves_layer_usable },
    { 27, "the writes of one commit see the ones before them", writes_see_earlier_ones },
    { 28, "the checks of one commit see the writes before them", checks_see_earlier_writes },
    { 29, "delete_children removes the records of exactly that parent", delete_children_only_theirs },
    { 30, "delete_children leaves other owners and kinds alone", delete_children_stays_home },
    { 31, "delete_children of a parent without children succeeds", delete_children_of_nobody },
    { 32, "delete_children sees the earlier writes of its commit and not the later ones", delete_children_sees_commit },
    { 33, "a thousand writes fit into one commit", many_in_one_commit },
    { 34, "a delete with expected 0 passes if there is no record", delete_of_absence },
    { 35, "delete_children compares no revision", delete_children_compares_nothing },
    { 36, "a refused commit of a thousand writes leaves none of them", large_refused_commit },
    { 37, "a put of the same body raises the revision like any other", same_body_is_a_put },
    { 38, "a failing delete undoes the writes before it", failing_delete_undoes_changes },
};
const kit_group check_writes = { KIT_ALWAYS, writes, COUNT(writes) };
