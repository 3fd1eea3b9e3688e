/* The bodies of a run record, of the index of open runs, and of a checkpoint. Owns nothing. */
#include "store/bodies.h"
#include "store/body.h"

#define X_NAME(name, json) json,
static const char *const state_names[] = { UAR_RUN_STATES(X_NAME) };
#undef X_NAME

#define STATE_COUNT (sizeof state_names / sizeof state_names[0])

const char *uar_run_state_name(uar_run_state state) {
    return (size_t)state < STATE_COUNT ? state_names[state] : "unknown";
}

/* ---- run ---- */

static void write_pending(body_writer *w, const uar_run_info *run) {
    json_key(&w->json, "pending");
    json_array_begin(&w->json);
    for (size_t i = 0; i < run->pending_count; i++) {
        json_object_begin(&w->json);
        body_write_text(w, "arguments", run->pending[i].arguments);
        body_write_text(w, "call", run->pending[i].call);
        body_write_text(w, "tool", run->pending[i].tool);
        json_object_end(&w->json);
    }
    json_array_end(&w->json);
}

static void write_run(body_writer *w, const uar_run_info *run) {
    body_write_optional(w, "agent", run->agent);
    body_write_optional(w, "code", run->code);
    json_put_int(&w->json, "ended", run->ended_ms);
    json_put_uint(&w->json, "epoch", run->epoch);
    body_write_uuid(w, "instance", run->instance);
    body_write_optional(w, "message", run->message);
    write_pending(w, run);
    body_write_optional(w, "reason", run->reason);
    body_write_text(w, "session", run->session);
    json_put_int(&w->json, "started", run->started_ms);
    json_put_str(&w->json, "state", uar_str_of(state_names[run->state]));
    json_put_uint(&w->json, "steps", run->steps);
    body_write_usage(w, "usage", &run->usage);
    body_write_text(w, "user", run->user);
}

uar_status run_record(uar_record *out, arena *ar, const uar_run_info *run) {
    if ((size_t)run->state >= STATE_COUNT || uar_uuid_is_none(run->run)) return UAR_E_INVALID;
    body_place place = { .kind = UAR_RECORD_RUN, .owner = run->owner };
    uar_status st = record_key(&place.parent, ar, run->user, run->session);
    if (st != UAR_OK) return st;
    place.id = body_uuid_text(ar, run->run);
    if (place.id.ptr == NULL) return UAR_E_NOMEM;
    body_writer w;
    body_write_begin(&w, ar);
    write_run(&w, run);
    return body_write_end(out, ar, &w, &place);
}

static uar_pending_call read_call(body_scan *scan, const cJSON *node) {
    body_object o = body_object_begin(scan, node, "pending");
    uar_pending_call call = {
        .call = body_text(&o, "call"),
        .tool = body_text(&o, "tool"),
        .arguments = body_text(&o, "arguments"),
    };
    body_object_end(&o, "pending");
    return call;
}

static const uar_pending_call *read_pending(body_scan *scan, body_object *root, size_t *count) {
    const cJSON *node = body_array(root, "pending", count);
    if (*count == 0) return NULL;
    uar_pending_call *calls = arena_zeroed(scan->ar, *count, sizeof *calls);
    if (calls == NULL) {
        body_fault(scan, UAR_E_NOMEM, "pending");
        return NULL;
    }
    for (size_t i = 0; node != NULL && scan->status == UAR_OK; node = node->next)
        calls[i++] = read_call(scan, node);
    return calls;
}

uar_status run_decode(uar_run_info *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_RUN, err);
    if (st != UAR_OK) return st;
    uar_run_info run = {
        .run = body_id_uuid(&scan),
        .owner = body_keep(&scan, r->owner, "owner"),
        .user = body_text(&root, "user"),
        .session = body_text(&root, "session"),
        .agent = body_optional(&root, "agent"),
        .state = (uar_run_state)body_choice(&root, "state", state_names, STATE_COUNT),
        .reason = body_optional(&root, "reason"),
        .code = body_optional(&root, "code"),
        .message = body_optional(&root, "message"),
        .started_ms = body_i64(&root, "started"),
        .ended_ms = body_i64(&root, "ended"),
        .steps = body_u64(&root, "steps"),
        .usage = body_usage(&root, "usage"),
        .instance = body_optional_uuid(&root, "instance"),
        .epoch = body_u64(&root, "epoch"),
        .revision = r->revision,
    };
    run.pending = read_pending(&scan, &root, &run.pending_count);
    body_expect_parent(&scan, run.user, run.session);
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = run;
    return st;
}

/* ---- index of open runs ---- */

uar_status open_run_record(uar_record *out, arena *ar, const open_run *o) {
    if (uar_uuid_is_none(o->run)) return UAR_E_INVALID;
    body_place place = { .kind = UAR_RECORD_OPEN_RUN, .owner = uar_str_of(UAR_SYSTEM_OWNER) };
    place.id = body_uuid_text(ar, o->run);
    if (place.id.ptr == NULL) return UAR_E_NOMEM;
    body_writer w;
    body_write_begin(&w, ar);
    body_write_uuid(&w, "instance", o->instance);
    body_write_text(&w, "owner", o->owner);
    body_write_text(&w, "session", o->session);
    body_write_text(&w, "user", o->user);
    return body_write_end(out, ar, &w, &place);
}

uar_status open_run_decode(open_run *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_OPEN_RUN, err);
    if (st != UAR_OK) return st;
    open_run o = {
        .run = body_id_uuid(&scan),
        .owner = body_text(&root, "owner"),
        .user = body_text(&root, "user"),
        .session = body_text(&root, "session"),
        .instance = body_optional_uuid(&root, "instance"),
    };
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = o;
    return st;
}

/* ---- checkpoint ---- */

/* The canonical text of a JSON object, in `out`. */
static uar_status canonical_object(buffer *out, uar_str text) {
    cJSON *tree = NULL;
    uar_status st = json_read(&tree, out->alloc, text, BODY_MAX, NULL);
    if (st != UAR_OK) return st;
    if (cJSON_IsObject(tree))
        json_append_canonical(out, tree);
    else
        st = UAR_E_JSON;
    json_free(out->alloc, tree);
    return st != UAR_OK ? st : out->status;
}

uar_status checkpoint_record(uar_record *out, arena *ar, uar_str owner, uar_str session_key, uar_run_id run,
                             uar_str document) {
    if (uar_uuid_is_none(run)) return UAR_E_INVALID;
    const body_place place = {
        .kind = UAR_RECORD_CHECKPOINT, .owner = owner, .id = body_uuid_text(ar, run), .parent = session_key
    };
    if (place.id.ptr == NULL) return UAR_E_NOMEM;
    buffer body;
    buffer_init(&body, ar->alloc, BODY_MAX);
    uar_status st = canonical_object(&body, document);
    if (st == UAR_OK) st = body_record(out, ar, buffer_str(&body), &place);
    buffer_dispose(&body);
    return st;
}

uar_status checkpoint_decode(uar_str *document, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_CHECKPOINT, err);
    if (st != UAR_OK) return st;
    if (cJSON_IsObject(root.node)) root.taken = cJSON_GetArraySize(root.node); /* the machine knows its members */
    (void)body_id_uuid(&scan);
    uar_str text = body_keep(&scan, r->body, "body");
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *document = text;
    return st;
}
