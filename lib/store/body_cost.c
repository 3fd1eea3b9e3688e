/* The body of a cost entry, and of the counters that are committed with it. Owns nothing. */
#include <stdio.h>

#include "store/bodies.h"
#include "store/body.h"

/* Counters with tokens are version 2; plain ones are still written as version 1. */
#define COUNTER_NEWEST 2u

static uar_status cost_key(uar_str *out, arena *ar, const uar_cost *c) {
    char run[UAR_UUID_TEXT], step[24];
    uar_uuid_format(run, c->run);
    (void)snprintf(step, sizeof step, "%020llu", (unsigned long long)c->step);
    return record_key(out, ar, uar_str_of(run), uar_str_of(step));
}

uar_status cost_record(uar_record *out, arena *ar, const uar_cost *c) {
    if (uar_uuid_is_none(c->run) || c->step == 0 || c->attempts == 0) return UAR_E_INVALID;
    body_place place = { .kind = UAR_RECORD_COST, .owner = c->owner };
    uar_status st = record_key(&place.parent, ar, c->user, c->session);
    if (st == UAR_OK) st = cost_key(&place.id, ar, c);
    if (st != UAR_OK) return st;
    body_writer w;
    body_write_begin(&w, ar);
    body_write_optional(&w, "agent", c->agent);
    json_put_uint(&w.json, "attempts", c->attempts);
    body_write_optional(&w, "model", c->model);
    body_write_uuid(&w, "run", c->run);
    body_write_text(&w, "session", c->session);
    json_put_uint(&w.json, "step", c->step);
    body_write_usage(&w, "usage", &c->usage);
    body_write_text(&w, "user", c->user);
    return body_write_end(out, ar, &w, &place);
}

static void expect_key(body_scan *s, const uar_cost *c) {
    uar_str key;
    if (s->status != UAR_OK) return;
    if (c->step == 0) body_fault(s, UAR_E_CORRUPT, "step");
    uar_status st = cost_key(&key, s->ar, c);
    if (st == UAR_E_NOMEM)
        body_fault(s, st, "id");
    else if (st != UAR_OK || !uar_str_equal(key, s->record->id))
        body_fault(s, UAR_E_CORRUPT, "id");
}

uar_status cost_decode(uar_cost *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_COST, err);
    if (st != UAR_OK) return st;
    uar_cost c = {
        .owner = body_keep(&scan, r->owner, "owner"),
        .run = body_uuid(&root, "run"),
        .user = body_text(&root, "user"),
        .session = body_text(&root, "session"),
        .agent = body_optional(&root, "agent"),
        .model = body_optional(&root, "model"),
        .step = body_u64(&root, "step"),
        .attempts = body_required_count(&root, "attempts"),
        .usage = body_usage(&root, "usage"),
        .created_ms = r->created_ms,
    };
    expect_key(&scan, &c);
    body_expect_parent(&scan, c.user, c.session);
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = c;
    return st;
}

/* ---- counters ---- */

static uar_status counter_place(body_place *place, arena *ar, uar_str owner, uar_str name, uar_uuid instance) {
    if (uar_uuid_is_none(instance)) return UAR_E_INVALID;
    uar_str instance_text = body_uuid_text(ar, instance);
    if (instance_text.ptr == NULL) return UAR_E_NOMEM;
    *place = (body_place){ .kind = UAR_RECORD_COUNTER, .owner = owner, .parent = name };
    return record_key(&place->id, ar, name, instance_text);
}

uar_status counter_record(uar_record *out, arena *ar, uar_str owner, uar_str name, uar_uuid instance, uint64_t value) {
    body_place place;
    uar_status st = counter_place(&place, ar, owner, name, instance);
    if (st != UAR_OK) return st;
    body_writer w;
    body_write_begin(&w, ar);
    json_put_uint(&w.json, "value", value);
    return body_write_end(out, ar, &w, &place);
}

uar_status usage_counter_record(uar_record *out, arena *ar, uar_str owner, uar_str name, uar_uuid instance,
                                uint64_t value, const uar_usage *usage) {
    body_place place;
    uar_status st = counter_place(&place, ar, owner, name, instance);
    if (st != UAR_OK) return st;
    place.schema = COUNTER_NEWEST;
    body_writer w;
    body_write_begin(&w, ar);
    body_write_usage(&w, "usage", usage);
    json_put_uint(&w.json, "value", value);
    return body_write_end(out, ar, &w, &place);
}

uar_status usage_counter_decode(uint64_t *value, uar_usage *usage, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_usage tokens;
    memset(&tokens, 0, sizeof tokens);
    uar_status st = body_scan_begin_upto(&scan, &root, ar, r, UAR_RECORD_COUNTER, COUNTER_NEWEST, err);
    if (st != UAR_OK) return st;
    uint64_t read = body_u64(&root, "value");
    if (r->schema == COUNTER_NEWEST) tokens = body_usage(&root, "usage");
    st = body_scan_end(&scan, &root, err);
    if (st != UAR_OK) return st;
    *value = read;
    *usage = tokens;
    return UAR_OK;
}

uar_status counter_decode(uint64_t *value, arena *ar, const uar_record *r, uar_error *err) {
    uar_usage tokens;
    return usage_counter_decode(value, &tokens, ar, r, err);
}
