/* The body of an agent record. Owns nothing. */
#include "store/bodies.h"
#include "store/body.h"

uar_status agent_record(uar_record *out, arena *ar, uar_str owner, const uar_agent *a) {
    if (a->id.ptr == NULL || a->id.len == 0 || a->memory < UAR_OFF || a->memory > UAR_ON) return UAR_E_INVALID;
    const body_place place = { .kind = UAR_RECORD_AGENT, .owner = owner, .id = a->id };
    body_writer w;
    body_write_begin(&w, ar);
    body_write_optional(&w, "instructions", a->instructions);
    if (a->max_steps != 0) json_put_uint(&w.json, "max_steps", a->max_steps);
    if (a->memory != UAR_INHERIT) json_put_bool(&w.json, "memory", a->memory == UAR_ON);
    body_write_optional(&w, "model", a->model);
    body_write_optional(&w, "name", a->name);
    return body_write_end(out, ar, &w, &place);
}

uar_status agent_decode(uar_agent *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_AGENT, err);
    if (st != UAR_OK) return st;
    uar_agent a = {
        .id = body_keep(&scan, r->id, "id"),
        .name = body_optional(&root, "name"),
        .instructions = body_optional(&root, "instructions"),
        .model = body_optional(&root, "model"),
        .memory = body_toggle(&root, "memory"),
        .max_steps = body_count(&root, "max_steps"),
        .revision = r->revision,
    };
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = a;
    return st;
}
