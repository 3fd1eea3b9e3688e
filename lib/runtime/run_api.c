/* The calls of uar/run.h, and what of uar/event.h needs a runtime. Owns nothing. */
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "base/struct_in.h"
#include "base/utf8.h"
#include "event/subscription.h"
#include "runtime/runtime.h"

#define INPUT_MAX ((size_t)64 << 20)

static uar_str or_text(const char *given, const char *fallback) {
    return uar_str_of(given != NULL ? given : fallback);
}

static uar_status check_ids(const run_spec *spec, uar_error *err) {
    uar_status status = host_id_check(spec->owner, "owner", err);
    if (status == UAR_OK && str_is(spec->owner, UAR_SYSTEM_OWNER))
        status = error_set(err, UAR_E_INVALID, "the owner \"~\" is reserved");
    if (status == UAR_OK) status = host_id_check(spec->user, "user", err);
    if (status == UAR_OK) status = host_id_check(spec->session, "session", err);
    if (status == UAR_OK) status = host_id_check(spec->agent, "agent", err);
    if (status == UAR_OK && spec->task.ptr != NULL) status = host_id_check(spec->task, "task", err);
    return status;
}

static bool is_blank(uar_str s) {
    for (size_t i = 0; i < s.len; i++)
        if (strchr(" \t\r\n", s.ptr[i]) == NULL || s.ptr[i] == '\0') return false;
    return true;
}

static uar_status check_input(const uar_run_request *request, uar_str *input, uar_error *err) {
    *input = uar_str_n(request->input,
                       request->input_len != 0 || request->input == NULL ? request->input_len : strlen(request->input));
    if (request->input == NULL || is_blank(*input)) return error_set(err, UAR_E_INVALID, "the input is empty");
    if (input->len > INPUT_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "the input has %zu bytes; the limit is %zu", input->len, INPUT_MAX);
    size_t fault = utf8_fault(*input);
    if (fault != input->len) return error_set(err, UAR_E_UTF8, "the input is not valid UTF-8 at byte %zu", fault);
    if (!utf8_is_valid(uar_str_of(request->model)))
        return error_set(err, UAR_E_UTF8, "the name of the model is not valid UTF-8");
    if (request->instructions != NULL && !utf8_is_valid(uar_str_of(request->instructions)))
        return error_set(err, UAR_E_UTF8, "the instructions are not valid UTF-8");
    return UAR_OK;
}

/* U+0000 can't live in JSON text that programs read as C strings; it becomes visible instead. */
static uar_status clean_input(buffer *clean, uar_str input, run_spec *spec) {
    if (memchr(input.ptr, 0, input.len) == NULL) {
        spec->input = input;
        return UAR_OK;
    }
    utf8_lane lane;
    utf8_lane_init(&lane);
    utf8_lane_push(&lane, input, clean);
    utf8_lane_end(&lane, clean);
    spec->input = buffer_str(clean);
    spec->input_repaired = true;
    return clean->status;
}

static uar_status read_request(run_spec *spec, buffer *clean, const uar_run_request *request, uar_error *err) {
    uar_run_request q;
    uar_status status = struct_in(&q, sizeof q, request, "uar_run_request", err);
    if (status != UAR_OK) return status;
    *spec = (run_spec){ .owner = or_text(q.owner, "local"),
                        .user = or_text(q.user, "me"),
                        .session = or_text(q.session, "default"),
                        .agent = or_text(q.agent, "assistant"),
                        .task = uar_str_of(q.task),
                        .model = uar_str_of(q.model),
                        .instructions = uar_str_of(q.instructions),
                        .approvals = q.approvals,
                        .memory = q.memory,
                        .max_steps = q.max_steps };
    if (q.approvals > UAR_APPROVALS_DENY) return error_set(err, UAR_E_INVALID, "unknown approvals mode");
    uar_str input;
    status = check_ids(spec, err);
    if (status == UAR_OK) status = check_input(&q, &input, err);
    if (status != UAR_OK) return status;
    status = clean_input(clean, input, spec);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

static uar_status start(uar_run_id *out, uar_runtime *rt, const run_spec *spec, uar_error *err) {
    run *r = NULL;
    uar_status status = run_new(&r, &rt->env, spec, err);
    if (status != UAR_OK) return status;
    uar_run_id id = r->id;
    status = manager_add(&rt->manager, run_ref(r));
    if (status == UAR_OK) {
        run_begin(r);
        *out = id;
    } else {
        channel_abandon(r->channel);
        run_unref(r);
        error_set(err, status, status == UAR_E_CLOSED ? "the runtime is closed" : "out of memory");
    }
    run_unref(r);
    return status;
}

uar_status uar_run_start(uar_run_id *out, uar_runtime *rt, const uar_run_request *request, uar_error *err) {
    uar_status status = runtime_check_call(rt, err);
    if (status != UAR_OK) return status;
    if (out == NULL || request == NULL) return error_set(err, UAR_E_INVALID, "out or request is NULL");
    buffer clean;
    buffer_init(&clean, &rt->env.alloc, 3 * INPUT_MAX);
    run_spec spec;
    status = read_request(&spec, &clean, request, err);
    if (status == UAR_OK) status = start(out, rt, &spec, err);
    buffer_dispose(&clean);
    return status;
}

uar_status uar_run_poll(uar_outcome *out, uar_runtime *rt, uar_run_id id) {
    uar_status status = runtime_check_call(rt, NULL);
    if (status != UAR_OK) return status;
    return out != NULL ? manager_outcome(&rt->manager, id, out) : UAR_E_INVALID;
}

uar_status uar_run_wait(uar_outcome *out, uar_runtime *rt, uar_run_id id, uint32_t timeout_ms) {
    uar_status status = runtime_check_wait(rt, NULL);
    if (status != UAR_OK) return status;
    if (out == NULL) return UAR_E_INVALID;
    uint64_t end = timeout_ms == UAR_FOREVER ? UINT64_MAX : clock_mono(&clock_default) + timeout_ms;
    if (rt->source != EXECUTOR_MANUAL) return manager_wait_outcome(&rt->manager, id, out, end);
    status = manager_outcome(&rt->manager, id, out);
    while (status == UAR_E_TIMEOUT && clock_mono(&clock_default) < end) {
        uint64_t left = end - clock_mono(&clock_default);
        runtime_work(rt, left < 100 ? (uint32_t)left : 100);
        status = manager_outcome(&rt->manager, id, out);
    }
    return status;
}

/* A reference to an open run, or why not. */
static uar_status find(uar_runtime *rt, uar_run_id id, run **r, uar_error *err) {
    uar_status status = runtime_check_call(rt, err);
    if (status != UAR_OK) return status;
    status = manager_find(&rt->manager, id, r);
    if (status == UAR_E_NOT_FOUND) return error_set(err, status, "this runtime has no such run");
    if (status == UAR_E_STALE) return error_set(err, status, "the run has ended");
    return status;
}

uar_status uar_run_cancel(uar_runtime *rt, uar_run_id id, uar_cancel_mode mode, const char *reason, uar_error *err) {
    run *r = NULL;
    uar_status status = find(rt, id, &r, err);
    if (status != UAR_OK) return status;
    uar_str why = uar_str_of(reason != NULL ? reason : "cancelled by the host");
    if (mode > UAR_CANCEL_AFTER_STEP)
        status = error_set(err, UAR_E_INVALID, "unknown cancel mode");
    else if (!utf8_is_valid(why))
        status = error_set(err, UAR_E_UTF8, "the reason is not valid UTF-8");
    else
        status = run_cancel(r, mode, why);
    if (status == UAR_E_NOMEM) error_plain(err, status);
    run_unref(r);
    return status;
}

static uar_status decide(uar_runtime *rt, uar_run_id id, const char *call, bool approved, uar_str arguments,
                         const char *reason, uar_error *err) {
    if (call == NULL) return error_set(err, UAR_E_INVALID, "the call is NULL");
    if (!utf8_is_valid(uar_str_of(reason))) return error_set(err, UAR_E_UTF8, "the reason is not valid UTF-8");
    run *r = NULL;
    uar_status status = find(rt, id, &r, err);
    if (status != UAR_OK) return status;
    status = run_decide(r, uar_str_of(call), approved, arguments, uar_str_of(reason), err);
    run_unref(r);
    return status;
}

uar_status uar_run_approve(uar_runtime *rt, uar_run_id id, const char *call, const char *arguments, uar_error *err) {
    return decide(rt, id, call, true, uar_str_of(arguments), NULL, err);
}

uar_status uar_run_deny(uar_runtime *rt, uar_run_id id, const char *call, const char *reason, uar_error *err) {
    return decide(rt, id, call, false, uar_str_of(NULL), reason, err);
}

uar_status uar_subscribe(uar_subscription **out, uar_runtime *rt, const uar_subscribe_options *options,
                         uar_error *err) {
    uar_status status = runtime_check_call(rt, err);
    if (status != UAR_OK) return status;
    return subscription_open(out, rt->env.hub, options, err);
}

uar_status uar_run_snapshot_take(uar_run_snapshot **out, uar_runtime *rt, const char *owner, uar_run_id id,
                                 uar_error *err) {
    uar_status status = runtime_check_call(rt, err);
    if (status != UAR_OK) return status;
    if (out == NULL || owner == NULL) return error_set(err, UAR_E_INVALID, "out or owner is NULL");
    channel *ch = hub_find_owned(rt->env.hub, uar_str_of(owner), id);
    if (ch == NULL) return error_set(err, UAR_E_NOT_FOUND, "this runtime has no such run");
    status = channel_snapshot(out, ch);
    channel_unref(ch);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}
