/*
 * uar_persistence_check: tries a persistence layer against its contract.
 * Owns the kit and, once its struct is understood, the layer: it is destroyed on every path, once, after its last call.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/struct_in.h"
#include "store/check.h"

enum { PATIENCE_MS = 30000, OVERLAP = 85 };

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
    return KIT_FAULT(k, "`open` answered %s: %s", uar_status_name(status), err.message);
}

static bool location_is_absolute(kit *k) {
    const char *location = k->layer.location(k->layer.ctx);
    if (location == NULL) return true;
    bool is_absolute = location[0] == '/' || (location[0] != '\0' && location[1] == ':') || location[0] == '\\';
    return is_absolute ? true : KIT_FAULT(k, "`location` gave %s, which is not an absolute path", location);
}

static const kit_requirement complete = { 1, "the layer has get, list and commit", door_is_complete };
static const kit_requirement opens = { 2, "the layer opens", door_opens };
static const kit_requirement located = { 3, "its location is an absolute path", location_is_absolute };

/* ---- running ---- */

typedef struct session {
    kit k;
    uar_persistence_report report;
    uar_requirement_fn each;
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

static void report(session *s, const kit_requirement *r, bool is_kept) {
    const kit *k = &s->k;
    if (is_kept)
        s->report.passed++;
    else
        s->report.failed++;
    if (!is_kept && s->first.code == UAR_OK)
        error_set(&s->first, UAR_E_INVALID, "requirement %u, %s: %s", (unsigned)r->number, r->demand, k->fault.message);
    if (s->each != NULL) s->each(s->each_ctx, r->number, r->demand, is_kept ? NULL : k->fault.message);
}

static bool try_one(session *s, const kit_requirement *r) {
    kit *k = &s->k;
    uar_error_init(&k->fault);
    k->home_count = 0;
    name_owners(k, r->number);
    bool is_kept = !k->is_out_of_memory && r->is_kept(k);
    if (k->is_out_of_memory) return false;
    assert(is_kept || k->fault.code != UAR_OK);
    report(s, r, is_kept);
    kit_sweep(k);
    /* A call that never ended may still read what it was lent. */
    if (!k->is_hung) arena_dispose(&k->memory);
    return is_kept;
}

static void try_group(session *s, const kit_requirement *group, size_t count) {
    for (size_t i = 0; i < count && !s->k.is_out_of_memory; i++) {
        if (group[i].number == OVERLAP && !s->k.layer.concurrent) {
            s->report.skipped++;
            continue;
        }
        if (s->k.is_hung) {
            error_set(&s->k.fault, UAR_E_INVALID, "not tried, because a call before never ended");
            report(s, &group[i], false);
            continue;
        }
        try_one(s, &group[i]);
    }
}

/* False: nothing else can be tried. */
static bool try_door(session *s) {
    if (!try_one(s, &complete)) return false;
    if (s->k.layer.open == NULL)
        s->report.skipped++;
    else if (!try_one(s, &opens))
        return false;
    if (s->k.layer.location == NULL)
        s->report.skipped++;
    else
        try_one(s, &located);
    return true;
}

static uar_status verdict(const session *s, uar_error *err) {
    if (s->k.is_out_of_memory) return error_plain(err, UAR_E_NOMEM);
    return error_copy(err, &s->first);
}

uar_status check_run(uar_persistence_report *out, const uar_persistence *layer, uint32_t patience_ms,
                     uar_requirement_fn each, void *each_ctx, uar_error *err) {
    if (out == NULL || layer == NULL) return error_set(err, UAR_E_INVALID, "the report or the layer is missing");
    session s = { .each = each, .each_ctx = each_ctx };
    uar_status status = struct_in(&s.k.layer, sizeof s.k.layer, layer, "uar_persistence", err);
    if (status != UAR_OK) return status;
    uar_uuid run;
    status = uuid_make(&run, &clock_default, &random_default);
    if (status == UAR_OK) {
        uar_uuid_format(s.k.run, run);
        s.k.patience_ms = patience_ms;
        arena_init(&s.k.memory, &alloc_default);
        if (try_door(&s)) {
            try_group(&s, check_writes, check_writes_count);
            try_group(&s, check_fields, check_fields_count);
            try_group(&s, check_lists, check_lists_count);
            try_group(&s, check_pages, check_pages_count);
        }
    }
    if (s.k.layer.destroy != NULL) s.k.layer.destroy(s.k.layer.ctx);
    if (status != UAR_OK) return error_plain(err, status);
    arena_dispose(&s.k.memory);
    *out = s.report;
    return verdict(&s, err);
}

uar_status uar_persistence_check(uar_persistence_report *report_out, const uar_persistence *layer,
                                 uar_requirement_fn each, void *each_ctx, uar_error *err) {
    return check_run(report_out, layer, PATIENCE_MS, each, each_ctx, err);
}
