/* The bodies of agent and setting records. Owns nothing. */
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

static uint32_t read_max_steps(body_object *root) {
    if (!body_has(root, "max_steps")) return 0;
    uint64_t steps = body_u64(root, "max_steps");
    if (steps == 0 || steps > UINT32_MAX) body_fault(root->scan, UAR_E_CORRUPT, "max_steps");
    return (uint32_t)steps;
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
        .memory = !body_has(&root, "memory")   ? UAR_INHERIT
                  : body_bool(&root, "memory") ? UAR_ON
                                               : UAR_OFF,
        .max_steps = read_max_steps(&root),
        .revision = r->revision,
    };
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = a;
    return st;
}

/* {"value":...} in `out`, canonical. The value is read twice: alone, so that it can't break out of its place, and within
 * the body, whose depth counts. */
static uar_status setting_body(buffer *out, uar_str value, uar_error *err) {
    cJSON *tree = NULL;
    uar_status st = json_read(&tree, out->alloc, value, BODY_MAX, err);
    if (st != UAR_OK) return st;
    buffer_append_text(out, "{\"value\":");
    json_append_canonical(out, tree);
    buffer_append_char(out, '}');
    json_free(out->alloc, tree);
    if (out->status != UAR_OK) return error_plain(err, out->status);
    st = json_read(&tree, out->alloc, buffer_str(out), BODY_MAX, err);
    if (st == UAR_OK) json_free(out->alloc, tree);
    return st;
}

uar_status setting_record(uar_record *out, arena *ar, uar_str owner, uar_str key, uar_str value, uar_error *err) {
    if (key.ptr == NULL || key.len == 0) return error_set(err, UAR_E_INVALID, "the setting has no key");
    const body_place place = { .kind = UAR_RECORD_SETTING, .owner = owner, .id = key };
    buffer body;
    buffer_init(&body, ar->alloc, BODY_MAX);
    uar_status st = setting_body(&body, value, err);
    if (st == UAR_OK) {
        st = body_record(out, ar, buffer_str(&body), &place);
        if (st != UAR_OK) error_plain(err, st);
    }
    buffer_dispose(&body);
    return st;
}

/* The text of a node, in the arena. */
static uar_str node_text(body_scan *scan, const cJSON *node) {
    uar_str text = { NULL, 0 };
    if (node == NULL) return text;
    buffer b;
    buffer_init(&b, scan->ar->alloc, BODY_MAX);
    json_append_canonical(&b, node);
    if (b.status == UAR_OK)
        text = body_keep(scan, buffer_str(&b), "value");
    else
        body_fault(scan, b.status, "value");
    buffer_dispose(&b);
    return text;
}

uar_status setting_decode(uar_setting *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_SETTING, err);
    if (st != UAR_OK) return st;
    uar_setting s = {
        .key = body_keep(&scan, r->id, "id"),
        .value = node_text(&scan, body_node(&root, "value")),
        .revision = r->revision,
    };
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = s;
    return st;
}
