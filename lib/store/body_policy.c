/* The body of a session policy. Owns nothing. What it doesn't say is left out. */
#include "store/bodies.h"
#include "store/body.h"

#define X_NAME(name, json) json,
static const char *const approval_names[] = { UAR_POLICY_APPROVALS(X_NAME) };
#undef X_NAME

#define APPROVAL_COUNT (sizeof approval_names / sizeof approval_names[0])

static bool policy_is_valid(const uar_session_policy *p) {
    return p->memory >= UAR_OFF && p->memory <= UAR_ON && (size_t)p->approvals < APPROVAL_COUNT &&
           (p->tools != NULL || p->tool_count == 0);
}

static void write_tools(body_writer *w, const uar_session_policy *p) {
    json_key(&w->json, "tools");
    json_array_begin(&w->json);
    for (size_t i = 0; i < p->tool_count; i++)
        body_write_item(w, p->tools[i]);
    json_array_end(&w->json);
}

uar_status session_policy_record(uar_record *out, arena *ar, const uar_session_policy *p) {
    if (!policy_is_valid(p)) return UAR_E_INVALID;
    body_place place = { .kind = UAR_RECORD_SESSION_POLICY, .owner = p->owner, .parent = p->user };
    uar_status st = record_key(&place.id, ar, p->user, p->session);
    if (st != UAR_OK) return st;
    body_writer w;
    body_write_begin(&w, ar);
    if (p->approvals != UAR_POLICY_INHERIT)
        json_put_str(&w.json, "approvals", uar_str_of(approval_names[p->approvals]));
    if (p->max_steps != 0) json_put_uint(&w.json, "max_steps", p->max_steps);
    if (p->memory != UAR_INHERIT) json_put_bool(&w.json, "memory", p->memory == UAR_ON);
    body_write_optional(&w, "model", p->model);
    body_write_text(&w, "session", p->session);
    if (p->tools != NULL) write_tools(&w, p);
    body_write_text(&w, "user", p->user);
    return body_write_end(out, ar, &w, &place);
}

static const uar_str *read_tools(body_scan *scan, body_object *root, size_t *count) {
    const cJSON *node = body_array(root, "tools", count);
    uar_str *list = arena_zeroed(scan->ar, *count + 1, sizeof *list);
    if (list == NULL) {
        body_fault(scan, UAR_E_NOMEM, "tools");
        return NULL;
    }
    for (size_t i = 0; node != NULL && scan->status == UAR_OK; node = node->next)
        list[i++] = body_keep(scan, json_node_text(node), "tools");
    return list;
}

static uar_policy_approvals read_approvals(body_object *root) {
    if (!body_has(root, "approvals")) return UAR_POLICY_INHERIT;
    size_t choice = body_choice(root, "approvals", approval_names, APPROVAL_COUNT);
    if (choice == UAR_POLICY_INHERIT) body_fault(root->scan, UAR_E_CORRUPT, "approvals");
    return (uar_policy_approvals)choice;
}

uar_status session_policy_decode(uar_session_policy *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_SESSION_POLICY, err);
    if (st != UAR_OK) return st;
    uar_session_policy p = {
        .owner = body_keep(&scan, r->owner, "owner"),
        .user = body_text(&root, "user"),
        .session = body_text(&root, "session"),
        .memory = body_toggle(&root, "memory"),
        .approvals = read_approvals(&root),
        .max_steps = body_count(&root, "max_steps"),
        .model = body_optional(&root, "model"),
        .revision = r->revision,
    };
    if (body_has(&root, "tools")) p.tools = read_tools(&scan, &root, &p.tool_count);
    body_expect_id(&scan, p.user, p.session);
    if (!uar_str_equal(r->parent, p.user)) body_fault(&scan, UAR_E_CORRUPT, "parent");
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = p;
    return st;
}
