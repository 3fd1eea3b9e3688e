/*
 * uar_persistence_check and uar_persistence_check_with: try a persistence layer against its contract.
 * Owns the kit and, once its struct is understood, the layer: it is destroyed on every path, once, after its last call.
 * Invariant: every requirement is reported once, in the order of numbers, as kept, broken or skipped.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/struct_in.h"
#include "store/check.h"

static const check_measures full = { .patience_ms = 30000, .large = (size_t)16 << 20 };

/* ---- the door itself: requirements 1 to 3 ---- */

static bool door_is_complete(kit *k) {
    if (k->layer.get == NULL) return KIT_FAULT(k, "there is no `get`");
    if (k->layer.list == NULL) return KIT_FAULT(k, "there is no `list`");
    if (k->layer.commit == NULL) return KIT_FAULT(k, "there is no `commit`");
    return true;
}

static bool door_opens(kit *k) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = k->layer.open(k->layer.ctx, &err);
    if (status == UAR_OK) return true;
    return KIT_FAULT(k, "`open`: expected UAR_OK, came %s (%s)", uar_status_name(status), err.message);
}

static bool location_is_absolute(kit *k) {
    const char *location = k->layer.location(k->layer.ctx);
    if (location == NULL) return true;
    bool is_absolute = location[0] == '/' || (location[0] != '\0' && location[1] == ':') || location[0] == '\\';
    return is_absolute ? true : KIT_FAULT(k, "`location`: expected an absolute path, came %s", location);
}

static const kit_requirement complete = { 1, "the layer has get, list and commit", door_is_complete };
static const kit_requirement opens = { 2, "the layer opens", door_opens };
static const kit_requirement located = { 3, "its location is an absolute path", location_is_absolute };

const kit_group *const check_groups[] = {
    &check_writes,         &check_fields,         &check_lists,    &check_pages,   &check_overlap,
    &check_walks,          &check_calls,          &check_reopen,   &check_handles, &check_suspend,
    &check_suspend_beside, &check_suspend_reopen, &check_maintain, &check_check,   &check_backup,
};
const size_t check_groups_count = sizeof check_groups / sizeof check_groups[0];

/* ---- what can be asked ---- */

static const char only_with[] = "only uar_persistence_check_with can open the data again";
static const char one_at_a_time[] = "the source opens its data once at a time";
static const char no_suspend[] = "the layer has no suspend and resume";

/* Why a group can't be asked for, or NULL. */
static const char *obstacle(const kit *k, kit_need need) {
    bool has_source = k->source.open_another != NULL;
    bool suspends = k->layer.suspend != NULL && k->layer.resume != NULL;
    switch (need) {
    case KIT_ALWAYS: return NULL;
    case KIT_OVERLAPS: return k->layer.concurrent ? NULL : "the layer isn't concurrent";
    case KIT_REOPENS: return has_source ? NULL : only_with;
    case KIT_HANDLES: return !has_source ? only_with : k->source.one_at_a_time ? one_at_a_time : NULL;
    case KIT_SUSPENDS: return suspends ? NULL : no_suspend;
    case KIT_SUSPENDS_BESIDE: return suspends ? obstacle(k, KIT_HANDLES) : no_suspend;
    case KIT_SUSPENDS_REOPENS: return suspends ? obstacle(k, KIT_REOPENS) : no_suspend;
    case KIT_MAINTAINS: return k->layer.maintain != NULL ? NULL : "the layer has no maintain";
    case KIT_CHECKS: return k->layer.check != NULL ? NULL : "the layer has no check";
    case KIT_BACKS_UP:
        if (k->layer.backup == NULL) return "the layer has no backup";
        return k->source.backup_path != NULL && k->source.open_backup != NULL ? NULL
                                                                              : "the source has no place for a backup";
    }
    return NULL;
}

/* ---- running ---- */

typedef struct session {
    kit k;
    uar_persistence_report report;
    uar_requirement_fn each; /* hears of what was tried */
    uar_requirement_report_fn each_of_all;
    void *each_ctx;
    uar_error first; /* first fault */
} session;

static void name_owners(kit *k, uint32_t number) {
    buffer b;
    buffer_init(&b, &alloc_default, KIT_OWNER - 1);
    buffer_append_text(&b, "conformance-");
    buffer_append_text(&b, k->run);
    buffer_append_char(&b, '-');
    buffer_append_u64(&b, number);
    if (b.status == UAR_OK) {
        memcpy(k->owner_text, b.ptr, b.len);
        memcpy(k->other_text, b.ptr, b.len);
        memcpy(k->owner_text + b.len, "-a", 3);
        memcpy(k->other_text + b.len, "-b", 3);
    } else {
        k->is_out_of_memory = true;
    }
    buffer_dispose(&b);
    k->owner = uar_str_of(k->owner_text);
    k->other = uar_str_of(k->other_text);
}

static void report(session *s, const kit_requirement *r, uar_requirement_outcome outcome, const char *detail) {
    s->report.passed += outcome == UAR_REQUIREMENT_KEPT;
    s->report.failed += outcome == UAR_REQUIREMENT_BROKEN;
    s->report.skipped += outcome == UAR_REQUIREMENT_SKIPPED;
    if (outcome == UAR_REQUIREMENT_BROKEN && s->first.code == UAR_OK)
        error_set(&s->first, UAR_E_INVALID, "requirement %u, %s: %s", (unsigned)r->number, r->demand, detail);
    if (s->each != NULL && outcome != UAR_REQUIREMENT_SKIPPED) s->each(s->each_ctx, r->number, r->demand, detail);
    if (s->each_of_all == NULL) return;
    const uar_requirement all = { sizeof all, r->number, outcome, r->demand, detail };
    s->each_of_all(s->each_ctx, &all);
}

static void skip(session *s, const kit_requirement *r, const char *why) {
    report(s, r, UAR_REQUIREMENT_SKIPPED, why);
}

static bool try_one(session *s, const kit_requirement *r, bool wants_other) {
    kit *k = &s->k;
    uar_error_init(&k->fault);
    k->home_count = 0;
    k->said[0] = '\0';
    name_owners(k, r->number);
    bool is_kept = !k->is_out_of_memory && (!wants_other || kit_open_other(k)) && r->is_kept(k);
    if (k->is_out_of_memory) return false;
    assert(is_kept || k->fault.code != UAR_OK);
    report(s, r, is_kept ? UAR_REQUIREMENT_KEPT : UAR_REQUIREMENT_BROKEN, is_kept ? NULL : k->fault.message);
    k->scribbles = k->watches_ends = false;
    kit_close_other(k);
    if (k->has_layer) kit_sweep(k);
    /* A call that never ended may still read what it was lent. */
    if (!k->is_hung) arena_dispose(&k->memory);
    return is_kept;
}

static void try_group(session *s, const kit_group *group) {
    const char *why = obstacle(&s->k, group->need);
    bool wants_other = group->need == KIT_HANDLES || group->need == KIT_SUSPENDS_BESIDE;
    for (size_t i = 0; i < group->count && !s->k.is_out_of_memory; i++) {
        const kit_requirement *r = &group->requirements[i];
        if (why != NULL)
            skip(s, r, why);
        else if (s->k.is_hung)
            report(s, r, UAR_REQUIREMENT_BROKEN, "not tried, because a call before never ended");
        else if (s->k.is_gone)
            report(s, r, UAR_REQUIREMENT_BROKEN, "not tried, because the data couldn't be opened again");
        else
            try_one(s, r, wants_other);
    }
}

/* False: nothing else can be tried. */
static bool try_door(session *s) {
    if (!try_one(s, &complete, false)) return false;
    if (s->k.layer.open == NULL)
        skip(s, &opens, "the layer has no open");
    else if (!try_one(s, &opens, false))
        return false;
    s->k.has_layer = true;
    if (s->k.layer.location == NULL)
        skip(s, &located, "the layer has no location");
    else
        try_one(s, &located, false);
    return true;
}

static uar_status verdict(const session *s, uar_error *err) {
    if (s->k.is_out_of_memory) return error_plain(err, UAR_E_NOMEM);
    return error_copy(err, &s->first);
}

/* Takes the layer over. */
static uar_status run(uar_persistence_report *out, session *s, const uar_persistence *layer, check_measures measures,
                      uar_error *err) {
    kit *k = &s->k;
    uar_status status = struct_in(&k->layer, sizeof k->layer, layer, "uar_persistence", err);
    if (status != UAR_OK) {
        /* What a source gave is ours whatever it looks like. */
        if (k->source.open_another != NULL && k->layer.destroy != NULL) k->layer.destroy(k->layer.ctx);
        return status;
    }
    uar_uuid id;
    status = uuid_make(&id, &clock_default, &random_default);
    arena_init(&k->memory, &alloc_default);
    if (status == UAR_OK) {
        uar_uuid_format(k->run, id);
        k->measures = measures;
        if (try_door(s))
            for (size_t i = 0; i < check_groups_count; i++)
                try_group(s, check_groups[i]);
    }
    /* The door may have been refused before it was counted as open. */
    k->has_layer = !k->is_gone;
    kit_close(k);
    arena_dispose(&k->memory);
    if (status != UAR_OK) return error_plain(err, status);
    *out = s->report;
    return verdict(s, err);
}

uar_status check_run(uar_persistence_report *out, const uar_persistence *layer, check_measures measures,
                     uar_requirement_fn each, void *each_ctx, uar_error *err) {
    if (out == NULL || layer == NULL) return error_set(err, UAR_E_INVALID, "the report or the layer is missing");
    session s = { .each = each, .each_ctx = each_ctx };
    return run(out, &s, layer, measures, err);
}

uar_status check_run_with(uar_persistence_report *out, const uar_persistence_source *source, check_measures measures,
                          uar_requirement_report_fn each, void *each_ctx, uar_error *err) {
    if (out == NULL || source == NULL) return error_set(err, UAR_E_INVALID, "the report or the source is missing");
    session s = { .each_of_all = each, .each_ctx = each_ctx };
    uar_status status = struct_in(&s.k.source, sizeof s.k.source, source, "uar_persistence_source", err);
    if (status != UAR_OK) return status;
    if (s.k.source.open_another == NULL) return error_set(err, UAR_E_INVALID, "the source has no `open_another`");
    const uar_persistence *layer = s.k.source.open_another(s.k.source.ctx);
    if (layer == NULL) return error_set(err, UAR_E_INVALID, "the source gave no layer");
    return run(out, &s, layer, measures, err);
}

uar_status uar_persistence_check(uar_persistence_report *report_out, const uar_persistence *layer,
                                 uar_requirement_fn each, void *each_ctx, uar_error *err) {
    return check_run(report_out, layer, full, each, each_ctx, err);
}

uar_status uar_persistence_check_with(uar_persistence_report *report_out, const uar_persistence_source *source,
                                      uar_requirement_report_fn each, void *each_ctx, uar_error *err) {
    return check_run_with(report_out, source, full, each, each_ctx, err);
}
