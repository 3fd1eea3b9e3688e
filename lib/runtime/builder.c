/*
 * Owns: uar_builder, which collects and checks what a runtime is made of.
 * Invariants: the first error is kept; what is handed over is destroyed exactly once, whatever happens.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor.h"
#include "base/str.h"
#include "base/struct_in.h"
#include "event/subscription.h"
#include "runtime/recovery.h"

#define DEFAULT_STEPS 32
#define DEFAULT_PARALLEL 8
#define DEFAULT_ATTEMPTS 3
#define DEFAULT_MEMORY_TOKENS 1000

struct uar_builder {
    uar_allocator alloc;
    uar_builder_options options;
    uar_error error;
    uar_runtime *rt; /* being filled; nothing of it runs yet */
    bool has_layer;
    uar_persistence layer;
    size_t model_cap;
    uar_event_sink *sinks;
    size_t sink_count, sink_cap;
    uar_executor executor;
};

/* What uar_builder_new returns when there is no memory for a builder: it refuses everything. Never written. */
static const uar_builder no_builder = { .error = { UAR_E_NOMEM, 0, "out of memory" } };

static bool is_real(const uar_builder *b) {
    return b != NULL && b != &no_builder;
}

static void keep_error(uar_builder *b, const uar_error *err) {
    if (b->error.code == UAR_OK) b->error = *err;
}

static void take_platform(uar_builder *b) {
    const uar_builder_options *o = &b->options;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = UAR_OK;
    run_env *env = &b->rt->env;
    uar_log *log = &env->log;
    env->clock = clock_default;
    env->random = random_default;
    if (o->clock != NULL) status = struct_in(&env->clock, sizeof env->clock, o->clock, "uar_clock", &err);
    if (status == UAR_OK && o->random != NULL)
        status = struct_in(&env->random, sizeof env->random, o->random, "uar_random", &err);
    if (status == UAR_OK && o->log != NULL) status = struct_in(log, sizeof *log, o->log, "uar_log", &err);
    if (status == UAR_OK && o->executor != NULL)
        status = struct_in(&b->executor, sizeof b->executor, o->executor, "uar_executor", &err);
    if (status == UAR_OK && (env->clock.mono_ms == NULL || env->clock.wall_ms == NULL || env->random.fill == NULL))
        status = error_set(&err, UAR_E_INVALID, "the clock or random door lacks a function");
    if (status == UAR_OK && o->executor != NULL && (b->executor.post == NULL || b->executor.wake_at == NULL))
        status = error_set(&err, UAR_E_INVALID, "the executor needs post and wake_at");
    if (status != UAR_OK) keep_error(b, &err);
}

uar_builder *uar_builder_new(const uar_builder_options *options) {
    uar_builder_options o;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = struct_in(&o, sizeof o, options, "uar_builder_options", &err);
    uar_allocator alloc = alloc_default;
    if (status == UAR_OK && o.allocator != NULL)
        status = struct_in(&alloc, sizeof alloc, o.allocator, "uar_allocator", &err);
    if (alloc.alloc == NULL || alloc.resize == NULL || alloc.release == NULL) {
        status = error_set(&err, UAR_E_INVALID, "the allocator needs alloc, resize and release");
        alloc = alloc_default;
    }
    uar_builder *b = ALLOC_NEW(&alloc, uar_builder);
    uar_runtime *rt = b != NULL ? runtime_new(&alloc) : NULL;
    if (rt == NULL) {
        alloc_free(&alloc, b);
        return (uar_builder *)(uintptr_t)&no_builder;
    }
    b->alloc = alloc;
    b->rt = rt;
    if (status != UAR_OK) {
        keep_error(b, &err);
        memset(&o, 0, sizeof o);
    }
    b->options = o;
    take_platform(b);
    if (o.instructions != NULL) {
        rt->env.instructions = alloc_text(&b->alloc, uar_str_of(o.instructions));
        if (rt->env.instructions == NULL) error_plain(&b->error, UAR_E_NOMEM);
    }
    return b;
}

void uar_builder_persistence(uar_builder *b, const uar_persistence *layer) {
    uar_persistence copy;
    memset(&copy, 0, sizeof copy);
    uar_error err = UAR_ERROR_INIT;
    uar_status status = layer == NULL ? error_set(&err, UAR_E_INVALID, "the persistence layer is NULL")
                                      : struct_in(&copy, sizeof copy, layer, "uar_persistence", &err);
    if (!is_real(b) || status != UAR_OK || b->has_layer) {
        if (status == UAR_OK) status = error_set(&err, UAR_E_INVALID, "there are two persistence layers");
        if (copy.destroy != NULL) copy.destroy(copy.ctx);
        if (is_real(b)) keep_error(b, &err);
        return;
    }
    b->layer = copy;
    b->has_layer = true;
}

/* Room for one more item of `size` bytes in a list that belongs to the builder. */
static bool make_room(uar_builder *b, void **list, size_t count, size_t *cap, size_t size) {
    if (count < *cap) return true;
    size_t grown = *cap == 0 ? 2 : *cap * 2;
    void *more = alloc_resize(&b->alloc, *list, grown * size);
    if (more == NULL) return false;
    *list = more;
    *cap = grown;
    return true;
}

static uar_status check_model(const uar_builder *b, const uar_model *model, uar_error *err) {
    if (model->name == NULL || model->name[0] == '\0' || strlen(model->name) > 256)
        return error_set(err, UAR_E_INVALID, "a model needs a name of 1 to 256 bytes");
    if (model->start == NULL) return error_set(err, UAR_E_INVALID, "model \"%s\" has no start function", model->name);
    if (b->rt->env.model_count > 0 && env_model(&b->rt->env, uar_str_of(model->name)) != NULL)
        return error_set(err, UAR_E_EXISTS, "there are two models named \"%s\"", model->name);
    return UAR_OK;
}

void uar_builder_model(uar_builder *b, const uar_model *model) {
    model_entry entry = { .name = NULL };
    uar_error err = UAR_ERROR_INIT;
    uar_status status = model == NULL ? error_set(&err, UAR_E_INVALID, "the model is NULL")
                                      : struct_in(&entry.door, sizeof entry.door, model, "uar_model", &err);
    if (status == UAR_OK && !is_real(b)) status = UAR_E_NOMEM;
    if (status == UAR_OK) status = check_model(b, &entry.door, &err);
    if (status == UAR_OK) {
        entry.name = alloc_text(&b->alloc, uar_str_of(entry.door.name));
        run_env *env = &b->rt->env;
        void *list = env->models;
        bool room = entry.name != NULL && make_room(b, &list, env->model_count, &b->model_cap, sizeof entry);
        env->models = list;
        if (!room) status = error_plain(&err, UAR_E_NOMEM);
    }
    if (status == UAR_OK) {
        entry.door.name = entry.name;
        b->rt->env.models[b->rt->env.model_count++] = entry;
        return;
    }
    if (entry.door.destroy != NULL) entry.door.destroy(entry.door.ctx);
    if (!is_real(b)) return;
    alloc_free(&b->alloc, entry.name);
    keep_error(b, &err);
}

void uar_builder_tool(uar_builder *b, const uar_tool *door) {
    uar_error err = UAR_ERROR_INIT;
    if (!is_real(b)) {
        uar_tool copy;
        (void)struct_in(&copy, sizeof copy, door, "uar_tool", NULL);
        if (copy.destroy != NULL) copy.destroy(copy.ctx);
        return;
    }
    uar_status status = door == NULL ? error_set(&err, UAR_E_INVALID, "the tool is NULL")
                                     : tool_registry_add(&b->rt->env.tools, door, &err);
    if (status != UAR_OK) keep_error(b, &err);
}

void uar_builder_event_sink(uar_builder *b, const uar_event_sink *sink) {
    uar_event_sink copy;
    memset(&copy, 0, sizeof copy);
    uar_error err = UAR_ERROR_INIT;
    uar_status status = sink == NULL ? error_set(&err, UAR_E_INVALID, "the event sink is NULL")
                                     : struct_in(&copy, sizeof copy, sink, "uar_event_sink", &err);
    if (status == UAR_OK && copy.on_event == NULL)
        status = error_set(&err, UAR_E_INVALID, "the event sink has no on_event");
    if (status == UAR_OK && !is_real(b)) status = UAR_E_NOMEM;
    if (status == UAR_OK) {
        void *list = b->sinks;
        if (!make_room(b, &list, b->sink_count, &b->sink_cap, sizeof copy)) status = error_plain(&err, UAR_E_NOMEM);
        b->sinks = list;
    }
    if (status == UAR_OK) {
        b->sinks[b->sink_count++] = copy;
        return;
    }
    if (copy.destroy != NULL) copy.destroy(copy.ctx);
    if (is_real(b)) keep_error(b, &err);
}

void uar_builder_memory(uar_builder *b, uar_memory *memory) {
    uar_error err = UAR_ERROR_INIT;
    if (!is_real(b) || memory == NULL) return; /* no memory: disabled */
    if (b->rt->env.memory != NULL) {
        error_set(&err, UAR_E_INVALID, "there are two memory services");
        keep_error(b, &err);
        return;
    }
    b->rt->env.memory = uar_memory_ref(memory);
    b->rt->env.memory_use = &run_memory_use;
}

/* ---- building ---- */

/* Destroys what the runtime did not take over. */
static void builder_free(uar_builder *b) {
    if (b->has_layer && b->layer.destroy != NULL) b->layer.destroy(b->layer.ctx);
    for (size_t i = 0; i < b->sink_count; i++)
        if (b->sinks[i].destroy != NULL) b->sinks[i].destroy(b->sinks[i].ctx);
    if (b->executor.destroy != NULL) b->executor.destroy(b->executor.ctx);
    if (b->rt != NULL) env_unref(&b->rt->env);
    alloc_free(&b->alloc, b->sinks);
    uar_allocator alloc = b->alloc;
    alloc_free(&alloc, b);
}

static uint32_t or_default(uint32_t value, uint32_t fallback) {
    return value != 0 ? value : fallback;
}

static void set_limits(run_env *env, const uar_builder_options *o) {
    env->memory_inject = o->memory_inject;
    env->memory_capture = o->memory_capture;
    env->memory_max_tokens = or_default(o->memory_max_tokens, DEFAULT_MEMORY_TOKENS);
    env->limits.max_steps = or_default(o->max_steps, DEFAULT_STEPS);
    env->limits.parallel_tools = or_default(o->parallel_tools, DEFAULT_PARALLEL);
    env->limits.model_attempts = or_default(o->model_attempts, DEFAULT_ATTEMPTS);
    env->ring = (ring_limits){ .events = o->ring_events, .bytes = o->ring_bytes };
    env->single_process = o->single_process;
}

static uar_status build_locks(uar_runtime *rt) {
    uar_status status = callouts_init(&rt->env.calls);
    if (status != UAR_OK) return status;
    status = mutex_init(&rt->env.lock);
    if (status == UAR_OK) {
        status = manager_init(&rt->manager, &rt->env.alloc);
        if (status != UAR_OK) mutex_dispose(&rt->env.lock);
    }
    if (status != UAR_OK)
        callouts_dispose(&rt->env.calls);
    else
        rt->stage = BUILT_LOCKS;
    return status;
}

static uar_status build_executor(uar_runtime *rt, uar_builder *b) {
    const uar_builder_options *o = &b->options;
    uar_status status = UAR_OK;
    if (o->executor != NULL) {
        rt->source = EXECUTOR_HOST;
        runtime_use_host_executor(rt, &b->executor);
        memset(&b->executor, 0, sizeof b->executor);
    } else if (o->threading == UAR_THREADS_MANUAL) {
        rt->source = EXECUTOR_MANUAL;
        manual_options manual = { .alloc = &rt->env.alloc, .wake_ctx = o->wake_ctx, .wake = o->wake };
        status = manual_open(&rt->env.executor, &manual);
    } else {
        rt->source = EXECUTOR_POOL;
        pool_options pool = { .alloc = &rt->env.alloc,
                              .clock = &rt->env.clock,
                              .threads = o->threads,
                              .hook_ctx = o->thread_ctx,
                              .started = o->thread_started,
                              .stopping = o->thread_stopping };
        status = pool_open(&rt->env.executor, &pool);
    }
    if (status == UAR_OK) rt->stage = BUILT_EXECUTOR;
    return status;
}

static void work_for_hub(void *ctx, uint32_t ms) {
    runtime_work(ctx, ms);
}

static uar_status build_services(uar_runtime *rt) {
    run_env *env = &rt->env;
    uar_status status = timers_init(&env->timers, &env->alloc, &env->clock, &env->executor);
    if (status != UAR_OK) return status;
    rt->stage = BUILT_TIMERS;
    hub_options options = {
        .alloc = env->alloc, .clock = &env->clock, .executor = &env->executor, .calls = &env->calls
    };
    /* A sink may take its time; where threads are ours, it gets one that may block. */
    options.may_block = rt->source == EXECUTOR_POOL;
    if (rt->source == EXECUTOR_MANUAL) {
        options.work = work_for_hub;
        options.work_ctx = rt;
    }
    status = hub_new(&env->hub, &options);
    if (status != UAR_OK) return status;
    rt->stage = BUILT_HUB;
    return uuid_make(&env->instance, &env->clock, &env->random);
}

static void keep_env(void *env) {
    env_ref(env);
}

static void let_env_go(void *env) {
    env_unref(env);
}

static uar_status build_store(uar_runtime *rt, uar_builder *b, uar_error *err) {
    run_env *env = &rt->env;
    store_options options = { .alloc = &env->alloc,
                              .clock = &env->clock,
                              .executor = &env->executor,
                              .callouts = &env->calls,
                              .host = env,
                              .host_ref = keep_env,
                              .host_unref = let_env_go };
    b->has_layer = false;
    uar_status status = store_open(&env->store, &b->layer, &options, err);
    if (status != UAR_OK) return status;
    rt->stage = BUILT_STORE;
    const char *state_at = store_location(env->store);
    const char *memory_at = env->memory != NULL ? env->memory_use->location(env->memory) : NULL;
    if (state_at != NULL && memory_at != NULL && strcmp(state_at, memory_at) == 0)
        return error_set(err, UAR_E_STORE_CONFLICT, "memory and state share the directory %s; give each one of its own",
                         state_at);
    status = pulse_init(&env->pulse, &env->alloc, &env->timers, env->store, env->instance);
    if (status != UAR_OK) return error_plain(err, status);
    rt->stage = BUILT_PULSE;
    return UAR_OK;
}

static uar_status build_sinks(uar_runtime *rt, uar_builder *b, uar_error *err) {
    while (b->sink_count > 0) {
        uar_status status = subscription_open_sink(rt->env.hub, &b->sinks[b->sink_count - 1], err);
        if (status != UAR_OK) return status;
        b->sink_count--;
    }
    return UAR_OK;
}

static uar_status check(const uar_builder *b, uar_error *err) {
    if (b->error.code != UAR_OK) return error_copy(err, &b->error);
    if (!b->has_layer)
        return error_set(err, UAR_E_INVALID, "a runtime needs a persistence layer: uar_builder_persistence");
    if (b->rt->env.model_count == 0) return error_set(err, UAR_E_INVALID, "a runtime needs a model: uar_builder_model");
    return UAR_OK;
}

static uar_status build(uar_builder *b, uar_error *err) {
    uar_runtime *rt = b->rt;
    set_limits(&rt->env, &b->options);
    uar_status status = build_locks(rt);
    if (status == UAR_OK) status = build_executor(rt, b);
    if (status == UAR_OK) status = build_services(rt);
    if (status != UAR_OK) error_plain(err, status);
    if (status == UAR_OK) status = build_store(rt, b, err);
    if (status == UAR_OK) status = build_sinks(rt, b, err);
    if (status == UAR_OK) status = recovery_begin(rt, err);
    return status;
}

uar_status uar_builder_build(uar_runtime **out, uar_builder *b, uar_error *err) {
    if (!is_real(b))
        return b == NULL ? error_set(err, UAR_E_INVALID, "the builder is NULL") : error_plain(err, UAR_E_NOMEM);
    uar_status status =
        out == NULL ? error_set(err, UAR_E_INVALID, "there is nowhere to put the runtime") : check(b, err);
    if (status == UAR_OK) {
        status = build(b, err);
        if (status == UAR_OK)
            *out = b->rt;
        else
            (void)uar_runtime_close(b->rt, UAR_CLOSE_PARK, 0);
        b->rt = NULL;
    }
    builder_free(b);
    return status;
}
