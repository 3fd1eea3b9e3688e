/* Requirements on how calls come and end: any thread, what is lent and for how long, one finish each. Owns nothing. */
#include "base/lock.h"
#include "store/check.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { STACK = 256 * 1024 };

/* ---- threads ---- */

typedef struct elsewhere {
    kit own;
    bool is_kept;
} elsewhere;

static bool works(kit *k) {
    const uar_record r = kit_record(k, STR("elsewhere"));
    const uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    const uar_str ids[] = { STR("elsewhere"), STR("here") };
    return kit_stores(k, r) && kit_has(k, &r) && kit_lists(k, &query, ids, COUNT(ids));
}

static void work_elsewhere(void *arg) {
    elsewhere *e = arg;
    e->is_kept = works(&e->own);
}

static bool calls_come_from_any_thread(kit *k) {
    const uar_record here = kit_record(k, STR("here"));
    if (!kit_stores(k, here)) return false;
    elsewhere e = { .is_kept = false };
    kit_fork(&e.own, k);
    thread t;
    if (thread_start(&t, STACK, work_elsewhere, &e) != UAR_OK) return KIT_FAULT(k, "no thread could be started");
    thread_join(t);
    if (kit_join(k, &e.own, e.is_kept)) return kit_has(k, &here);
    const uar_error found = k->fault;
    return KIT_FAULT(k, "on another thread than the one that opened: %s", found.message);
}

/* ---- what is lent ---- */

/* Gets and lists whose questions are overwritten as soon as the call has returned, whether or not it has ended. */
static bool questions_are_lent(kit *k) {
    const uar_record a = kit_child(k, STR("a"), STR("parent"));
    const uar_record b = kit_child(k, STR("b"), STR("parent"));
    if (!kit_stores(k, a) || !kit_stores(k, b)) return false;
    uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    query.parent = STR("parent");
    query.has_after = true;
    query.after_id = STR("a");
    const uar_str ids[] = { STR("b") };
    k->scribbles = true;
    for (int i = 0; i < 5; i++)
        if (!kit_has(k, &a) || !kit_lists(k, &query, ids, COUNT(ids))) return false;
    return true;
}

/* ---- the end of a call ---- */

/* One of each, the failures too; each is looked back at. */
static bool asks_everything(kit *k) {
    const uar_record r = kit_record(k, STR("a"));
    const uar_record nobody = kit_record(k, STR("nobody"));
    const uar_write wrong = kit_put(kit_newer(k, r, 9), 8);
    const uar_list_query query = kit_query(k, UAR_ORDER_KEY);
    const uar_str ids[] = { STR("a") };
    k->watches_ends = true;
    k->was_held = false;
    k->stale = 0;
    return kit_stores(k, r) && kit_has(k, &r) && kit_lacks(k, &nobody) &&
           kit_refuses(k, &wrong, 1, "a put with a wrong revision") && kit_lists(k, &query, ids, COUNT(ids));
}

static bool calls_end_once(kit *k) {
    if (!asks_everything(k)) return false;
    if (k->stale == 0) return true;
    return KIT_FAULT(k, "five calls of all kinds: expected one finish each, came %u more", k->stale);
}

static bool ended_calls_are_let_go(kit *k) {
    if (!asks_everything(k)) return false;
    if (!k->was_held) return true;
    return KIT_FAULT(k,
                     "five calls of all kinds: expected no reference to be kept, but uar_completion_unref is missing");
}

static const kit_requirement calls[] = {
    { 90, "calls may come from another thread than the one that opened the layer", calls_come_from_any_thread },
    { 91, "ids and queries are read only until the call returns", questions_are_lent },
    { 92, "each call is finished once", calls_end_once },
    { 93, "a call that has ended is let go of", ended_calls_are_let_go },
};
const kit_group check_calls = { KIT_ALWAYS, calls, COUNT(calls) };
