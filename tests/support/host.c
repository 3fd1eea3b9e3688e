/*
 * Owns: the test host. Its lock guards what it wrote down; no call to the library is made under it.
 * Invariant: each door is destroyed once, after its last callback; the host ends the program if not.
 */
#include "support/host.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "runtime/runtime.h"

#define WAIT_MS 20000
#define REQUESTS_KEPT 256
#define UUIDS_KEPT 4096
#define ENDED_KEPT 64

typedef struct written {
    char *line; /* KIND DATA */
    const uar_event *event;
    struct written *next;
} written;

typedef struct held_call {
    uar_completion *done;
    const struct host_tool_state *tool;
    struct held_call *next; /* newer */
} held_call;

typedef struct held_stream {
    uar_stream *stream;
    struct held_stream *next;
} held_stream;

typedef struct started_stream {
    const uar_stream *stream; /* a name */
    uar_run_id run;
} started_stream;

typedef struct host_tool_state {
    host *h;
    host_tool spec;
    int invoked, cancelled;
    char *arguments; /* of the last call */
    bool destroyed;
} host_tool_state;

struct host {
    uar_runtime *rt;
    mutex lock;
    condition changed;
    const char *script;
    bool repeats, quiet;
    host_hooks hooks;
    size_t line;
    size_t model_calls;
    char *requests[REQUESTS_KEPT];
    held_stream *streams;
    size_t stream_count;
    started_stream started[ENDED_KEPT];
    written *first, **last;
    uar_run_id *closed_ids;
    size_t closed;
    char uuids[UUIDS_KEPT][UAR_UUID_TEXT];
    size_t uuid_count;
    host_tool_state tools[HOST_TOOLS];
    size_t tool_count;
    held_call *held; /* oldest first */
    bool released;
    int later; /* threads on their way */
    bool model_destroyed, sink_destroyed;
    uar_run_id ended[ENDED_KEPT]; /* runs whose terminal event was heard */
    size_t ended_count;
    size_t late;
};

static void die(const char *what) {
    fprintf(stderr, "test host: %s\n", what);
    abort();
}

/* Under the lock: a callback for `run` came; was that still allowed? */
static void note_callback(host *h, uar_run_id id) {
    for (size_t i = 0; i < ENDED_KEPT && i < h->ended_count; i++)
        if (uar_uuid_equal(h->ended[i], id)) h->late++;
}

/* ---- the model ---- */

static void keep_request(host *h, const uar_model_request *request, const uar_stream *stream) {
    uar_codec_options o = { UAR_CODEC_OPTIONS_INIT, .model = "test" };
    char *body = NULL, *copy = NULL;
    size_t len = 0;
    if (!h->quiet && uar_codec_request(&body, &len, UAR_CODEC_OPENAI, request, &o, NULL) == UAR_OK) {
        copy = malloc(len + 1);
        if (copy == NULL) die("out of memory");
        memcpy(copy, body, len + 1);
    }
    uar_codec_body_free(body, &o);
    mutex_lock(&h->lock);
    if (h->model_destroyed) die("the model was called after its destroy");
    note_callback(h, request->run);
    h->started[h->model_calls % ENDED_KEPT] = (started_stream){ stream, request->run };
    char **place = &h->requests[h->model_calls++ % REQUESTS_KEPT];
    free(*place);
    *place = copy;
    mutex_unlock(&h->lock);
}

static void hold_stream(host *h, uar_stream *stream) {
    held_stream *s = calloc(1, sizeof *s);
    if (s == NULL) die("out of memory");
    s->stream = uar_stream_ref(stream);
    mutex_lock(&h->lock);
    s->next = h->streams;
    h->streams = s;
    h->stream_count++;
    condition_broadcast(&h->changed);
    mutex_unlock(&h->lock);
}

/* The next line of the script. */
static uar_status next_line(host *h, uar_str *line, size_t *number) {
    mutex_lock(&h->lock);
    *number = ++h->line;
    uar_status status = uar_script_find(line, number, uar_str_of(h->script));
    if (status == UAR_E_SCRIPT_EXHAUSTED && h->repeats) {
        *number = 1;
        status = uar_script_find(line, number, uar_str_of(h->script));
    }
    if (status == UAR_OK) h->line = *number;
    mutex_unlock(&h->lock);
    return status;
}

static void start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    host *h = ctx;
    uar_str line = { NULL, 0 };
    size_t number = 0;
    uar_script *script = NULL;
    uar_error err = UAR_ERROR_INIT;
    keep_request(h, request, stream);
    if (h->hooks.on_start != NULL) h->hooks.on_start(h->hooks.ctx, h, stream);
    uar_status status = next_line(h, &line, &number);
    if (status == UAR_OK) status = uar_script_open(&script, line, number, NULL, &err);
    if (status != UAR_OK) {
        (void)uar_stream_fail(stream, status, NULL, err.message, false, 0);
        return;
    }
    uint32_t wait = 0;
    while (uar_script_play(&wait, script, stream) == UAR_OK && wait < 1000) {}
    if (wait != UAR_FOREVER && wait >= 1000) hold_stream(h, stream);
    uar_script_free(script);
}

/* Under the lock: take a stream out of those that are held; NULL: any. */
static held_stream *take_stream(host *h, const uar_stream *stream) {
    held_stream **at = &h->streams;
    while (*at != NULL && stream != NULL && (*at)->stream != stream)
        at = &(*at)->next;
    held_stream *s = *at;
    if (s == NULL) return NULL;
    *at = s->next;
    h->stream_count--;
    return s;
}

/* Under the lock: the newest call of this name; streams that are gone may have had the same. */
static const started_stream *started_as(const host *h, const uar_stream *stream) {
    for (size_t n = h->model_calls; n > 0 && n + ENDED_KEPT > h->model_calls; n--)
        if (h->started[(n - 1) % ENDED_KEPT].stream == stream) return &h->started[(n - 1) % ENDED_KEPT];
    return NULL;
}

static void stop(void *ctx, uar_stream *stream) {
    host *h = ctx;
    mutex_lock(&h->lock);
    const started_stream *known = started_as(h, stream);
    if (known != NULL) note_callback(h, known->run);
    held_stream *held = take_stream(h, stream);
    mutex_unlock(&h->lock);
    if (held == NULL) return;
    (void)uar_stream_fail(held->stream, UAR_E_CANCELLED, NULL, "stopped", false, 0);
    uar_stream_unref(held->stream);
    free(held);
}

static void destroy_model(void *ctx) {
    host *h = ctx;
    mutex_lock(&h->lock);
    if (h->model_destroyed) die("the model was destroyed twice");
    h->model_destroyed = true;
    condition_broadcast(&h->changed);
    mutex_unlock(&h->lock);
}

/* ---- the sink ---- */

static bool is_uuid(const char *s) {
    uar_uuid id;
    return strlen(s) >= 36 && uar_uuid_parse(&id, uar_str_n(s, 36)) == UAR_OK;
}

static size_t uuid_number(host *h, const char *s) {
    for (size_t i = 0; i < h->uuid_count; i++)
        if (memcmp(h->uuids[i], s, 36) == 0) return i + 1;
    if (h->uuid_count == UUIDS_KEPT) return 0;
    memcpy(h->uuids[h->uuid_count], s, 36);
    return ++h->uuid_count;
}

typedef struct text {
    char *ptr;
    size_t len;
} text;

static uar_status append(void *ctx, const char *bytes, size_t len) {
    text *t = ctx;
    char *ptr = realloc(t->ptr, t->len + len + 1);
    if (ptr == NULL) return UAR_E_NOMEM;
    t->ptr = ptr;
    memcpy(ptr + t->len, bytes, len);
    t->len += len;
    ptr[t->len] = '\0';
    return UAR_OK;
}

/* KIND DATA with numbered UUIDs; under the lock. */
static char *write_down(host *h, const uar_event *event) {
    text json = { NULL, 0 }, out = { NULL, 0 };
    if (uar_event_write_json(event, append, &json) != UAR_OK) return NULL;
    const char *data = strstr(json.ptr, "\"data\":");
    const char *kind = uar_event_kind_name(event->kind);
    (void)append(&out, kind, strlen(kind));
    (void)append(&out, " ", 1);
    for (const char *s = data + 7; s[0] != '\0' && s[1] != '\0';) {
        if (!is_uuid(s)) {
            (void)append(&out, s++, 1);
            continue;
        }
        char name[32];
        int len = snprintf(name, sizeof name, "U%zu", uuid_number(h, s));
        (void)append(&out, name, (size_t)len);
        s += 36;
    }
    free(json.ptr);
    return out.ptr;
}

/* Under the lock: a run whose terminal event was heard. */
static void note_end(host *h, const uar_event *event) {
    if (event->kind == UAR_EVENT_CANCELLED) h->ended[h->ended_count++ % ENDED_KEPT] = event->run;
}

static void on_event(void *ctx, const uar_event *event) {
    host *h = ctx;
    written *w = h->quiet ? NULL : calloc(1, sizeof *w);
    mutex_lock(&h->lock);
    if (h->sink_destroyed) die("the sink was called after its destroy");
    note_end(h, event);
    if (w != NULL) {
        w->line = write_down(h, event);
        w->event = uar_event_ref(event);
        *h->last = w;
        h->last = &w->next;
    }
    condition_broadcast(&h->changed);
    mutex_unlock(&h->lock);
    if (h->hooks.on_event != NULL) h->hooks.on_event(h->hooks.ctx, h, event);
}

static void on_closed(void *ctx, uar_run_id id) {
    host *h = ctx;
    mutex_lock(&h->lock);
    if (h->sink_destroyed) die("the sink was called after its destroy");
    uar_run_id *ids = realloc(h->closed_ids, (h->closed + 1) * sizeof *ids);
    if (ids == NULL) die("out of memory");
    ids[h->closed++] = id;
    h->closed_ids = ids;
    condition_broadcast(&h->changed);
    mutex_unlock(&h->lock);
}

static void destroy_sink(void *ctx) {
    host *h = ctx;
    mutex_lock(&h->lock);
    if (h->sink_destroyed) die("the sink was destroyed twice");
    h->sink_destroyed = true;
    condition_broadcast(&h->changed);
    mutex_unlock(&h->lock);
}

/* ---- tools ---- */

typedef struct later {
    host *h;
    uar_completion *done;
    const char *result;
} later;

static void answer_later(void *arg) {
    later *l = arg;
    mutex_lock(&l->h->lock);
    (void)condition_wait(&l->h->changed, &l->h->lock, 5);
    mutex_unlock(&l->h->lock);
    (void)uar_completion_json(l->done, l->result);
    uar_completion_unref(l->done);
    host *h = l->h;
    free(l);
    mutex_lock(&h->lock);
    h->later--;
    condition_broadcast(&h->changed);
    mutex_unlock(&h->lock);
}

static void spawn(host_tool_state *t, uar_completion *done) {
    later *l = calloc(1, sizeof *l);
    thread id;
    if (l == NULL) die("out of memory");
    *l = (later){ t->h, uar_completion_ref(done), t->spec.result };
    mutex_lock(&t->h->lock);
    t->h->later++;
    mutex_unlock(&t->h->lock);
    if (thread_start(&id, 0, answer_later, l) != UAR_OK) die("no thread");
    thread_detach(id);
}

static uar_status finish_call(held_call *c) {
    uar_status status = uar_completion_json(c->done, c->tool->spec.result);
    uar_completion_unref(c->done);
    free(c);
    return status;
}

static void hold(host_tool_state *t, uar_completion *done) {
    held_call *c = calloc(1, sizeof *c);
    if (c == NULL) die("out of memory");
    c->done = uar_completion_ref(done);
    c->tool = t;
    mutex_lock(&t->h->lock);
    bool late = t->h->released && t->spec.way == HOST_NEVER; /* all of its kind were let go */
    held_call **at = &t->h->held;
    while (*at != NULL)
        at = &(*at)->next;
    if (!late) *at = c;
    condition_broadcast(&t->h->changed);
    mutex_unlock(&t->h->lock);
    if (late) (void)finish_call(c);
}

static void block(host_tool_state *t, uar_completion *done) {
    mutex_lock(&t->h->lock);
    while (!t->h->released)
        (void)condition_wait(&t->h->changed, &t->h->lock, 1000);
    mutex_unlock(&t->h->lock);
    (void)uar_completion_json(done, t->spec.result);
}

static void note_call(host_tool_state *t, const uar_tool_call *call) {
    char *copy = malloc(call->arguments.len + 1);
    if (copy == NULL) die("out of memory");
    memcpy(copy, call->arguments.ptr, call->arguments.len);
    copy[call->arguments.len] = '\0';
    mutex_lock(&t->h->lock);
    if (t->destroyed) die("a tool was called after its destroy");
    note_callback(t->h, call->run);
    free(t->arguments);
    t->arguments = copy;
    mutex_unlock(&t->h->lock);
}

/* From here on a test may finish or cancel the call. */
static void count_call(host_tool_state *t) {
    mutex_lock(&t->h->lock);
    t->invoked++;
    condition_broadcast(&t->h->changed);
    mutex_unlock(&t->h->lock);
}

static void invoke(void *ctx, const uar_tool_call *call, uar_completion *done) {
    host_tool_state *t = ctx;
    note_call(t, call);
    if (t->h->hooks.on_invoke != NULL) t->h->hooks.on_invoke(t->h->hooks.ctx, t->h, call);
    bool keeps = t->spec.way == HOST_NEVER || t->spec.way == HOST_STOPS;
    if (keeps) hold(t, done);
    count_call(t);
    switch (t->spec.way) {
    case HOST_ANSWERS: (void)uar_completion_json(done, t->spec.result); break;
    case HOST_ANSWERS_LATER: spawn(t, done); break;
    case HOST_TEXT: (void)uar_completion_text(done, t->spec.result, t->spec.result_len); break;
    case HOST_FAILS: (void)uar_completion_fail(done, UAR_E_TOOL_FAILED, t->spec.result); break;
    case HOST_DROPS: break;
    case HOST_NEVER:
    case HOST_STOPS: break; /* kept above */
    case HOST_TWICE:
        (void)uar_completion_json(done, t->spec.result);
        if (uar_completion_json(done, "\"again\"") != UAR_E_STALE) die("a second finish was taken");
        break;
    case HOST_BAD_JSON: (void)uar_completion_json(done, "{oops"); break;
    case HOST_BLOCKS: block(t, done); break;
    }
}

/* Under the lock: take out the oldest kept call of a completion, or of a tool. */
static held_call *take_call(host *h, const uar_completion *done, const host_tool_state *t) {
    held_call **at = &h->held;
    while (*at != NULL && (*at)->done != done && (*at)->tool != t)
        at = &(*at)->next;
    held_call *c = *at;
    if (c != NULL) *at = c->next;
    return c;
}

static void cancel(void *ctx, const uar_tool_call *call, uar_completion *done) {
    host_tool_state *t = ctx;
    mutex_lock(&t->h->lock);
    if (t->destroyed) die("a tool was told to cancel after its destroy");
    note_callback(t->h, call->run);
    t->cancelled++;
    held_call *held = t->spec.way == HOST_STOPS ? take_call(t->h, done, NULL) : NULL;
    condition_broadcast(&t->h->changed);
    mutex_unlock(&t->h->lock);
    if (t->h->hooks.on_cancel != NULL) t->h->hooks.on_cancel(t->h->hooks.ctx, t->h, call);
    if (held == NULL) return;
    (void)uar_completion_fail(held->done, UAR_E_CANCELLED, "stopped");
    uar_completion_unref(held->done);
    free(held);
}

static void destroy_tool(void *ctx) {
    host_tool_state *t = ctx;
    mutex_lock(&t->h->lock);
    if (t->destroyed) die("a tool was destroyed twice");
    t->destroyed = true;
    condition_broadcast(&t->h->changed);
    mutex_unlock(&t->h->lock);
}

static host_tool_state *tool_state(host *h, const char *name) {
    for (size_t i = 0; i < h->tool_count; i++)
        if (strcmp(h->tools[i].spec.name, name) == 0) return &h->tools[i];
    die("there is no such tool");
    return NULL;
}

uar_status host_finish(host *h, const char *name) {
    mutex_lock(&h->lock);
    held_call *c = take_call(h, NULL, tool_state(h, name));
    mutex_unlock(&h->lock);
    return c != NULL ? finish_call(c) : UAR_E_NOT_FOUND;
}

void host_release(host *h) {
    mutex_lock(&h->lock);
    h->released = true;
    held_call *list = h->held;
    h->held = NULL;
    condition_broadcast(&h->changed);
    mutex_unlock(&h->lock);
    while (list != NULL) {
        held_call *c = list;
        list = c->next;
        (void)finish_call(c);
    }
}

/* ---- life ---- */

static void add_tools(host *h, uar_builder *b, const host_tool *tools) {
    for (size_t i = 0; tools != NULL && i < HOST_TOOLS && tools[i].name != NULL; i++) {
        host_tool_state *t = &h->tools[h->tool_count++];
        t->h = h;
        t->spec = tools[i];
        uar_tool door = { UAR_TOOL_INIT,
                          .ctx = t,
                          .destroy = destroy_tool,
                          .name = t->spec.name,
                          .description = "a tool of the test",
                          .input_schema = t->spec.schema != NULL ? t->spec.schema : "{\"type\":\"object\"}",
                          .tool_class = t->spec.tool_class,
                          .approval = t->spec.approval,
                          .timeout_ms = t->spec.timeout_ms,
                          .invoke = invoke,
                          .cancel = t->spec.deaf ? NULL : cancel };
        uar_builder_tool(b, &door);
    }
}

static uar_builder *fill_builder(host *h, const host_options *o) {
    uar_builder_options options = { UAR_BUILDER_OPTIONS_INIT,
                                    .allocator = o->allocator,
                                    .executor = o->executor,
                                    .threading = o->threading,
                                    .instructions = o->instructions,
                                    .wake_ctx = o->wake_ctx,
                                    .wake = o->wake,
                                    .single_process = o->single_process,
                                    .max_steps = o->max_steps,
                                    .parallel_tools = o->parallel_tools,
                                    .model_attempts = o->model_attempts,
                                    .ring_events = o->ring_events,
                                    .ring_bytes = o->ring_bytes };
    uar_builder *b = uar_builder_new(&options);
    if (o->layer != NULL)
        uar_builder_persistence(b, o->layer);
    else
        uar_builder_persistence(b,
                                o->store != NULL ? uar_persistence_sqlite(o->store, NULL) : uar_persistence_volatile());
    uar_builder_memory(b, o->memory);
    uar_model model = { UAR_MODEL_INIT, .ctx = h,       .destroy = destroy_model,
                        .name = "test", .start = start, .cancel = stop };
    uar_builder_model(b, &model);
    uar_event_sink sink = { UAR_EVENT_SINK_INIT, .ctx = h, .destroy = destroy_sink, .on_event = on_event,
                            .on_closed = on_closed };
    uar_builder_event_sink(b, &sink);
    add_tools(h, b, o->tools);
    return b;
}

host *host_open(const host_options *o, uar_error *err) {
    host *h = calloc(1, sizeof *h);
    if (h == NULL || mutex_init(&h->lock) != UAR_OK || condition_init(&h->changed) != UAR_OK) die("out of memory");
    h->script = o->script;
    h->repeats = o->repeats;
    h->quiet = o->quiet;
    h->hooks = o->hooks;
    h->last = &h->first;
    if (uar_builder_build(&h->rt, fill_builder(h, o), err) != UAR_OK) {
        (void)host_close(h, UAR_CLOSE_CANCEL);
        return NULL;
    }
    atomic_store(&h->rt->env.reload_each_step, o->reload);
    return h;
}

uar_runtime *host_runtime(host *h) {
    return h->rt;
}

static bool wait_for(host *h, bool (*is_so)(host *h, const void *arg), const void *arg) {
    bool so = false;
    for (int i = 0; i < WAIT_MS / 10 && !so; i++) {
        if (h->rt != NULL) (void)uar_runtime_pump(h->rt, 1);
        mutex_lock(&h->lock);
        so = is_so(h, arg);
        if (!so) (void)condition_wait(&h->changed, &h->lock, 10);
        so = so || is_so(h, arg);
        mutex_unlock(&h->lock);
    }
    return so;
}

typedef struct wanted {
    const char *prefix;
    size_t count;
} wanted;

static size_t count_lines(host *h, const char *prefix) {
    size_t n = 0;
    for (const written *w = h->first; w != NULL; w = w->next)
        n += w->line != NULL && strncmp(w->line, prefix, strlen(prefix)) == 0;
    return n;
}

static bool has_lines(host *h, const void *arg) {
    const wanted *w = arg;
    return count_lines(h, w->prefix) >= w->count;
}

static bool has_closed(host *h, const void *arg) {
    const size_t *runs = arg;
    return h->closed >= *runs;
}

bool host_hears(host *h, const char *prefix, size_t count) {
    wanted w = { prefix, count };
    return wait_for(h, has_lines, &w);
}

bool host_hears_closed(host *h, size_t runs) {
    return wait_for(h, has_closed, &runs);
}

typedef struct invocations {
    const char *tool;
    int count;
} invocations;

static bool has_invoked(host *h, const void *arg) {
    const invocations *w = arg;
    return tool_state(h, w->tool)->invoked >= w->count;
}

bool host_sees_invoked(host *h, const char *name, int count) {
    invocations w = { name, count };
    return wait_for(h, has_invoked, &w);
}

static bool has_streams(host *h, const void *arg) {
    const size_t *count = arg;
    return h->stream_count >= *count;
}

bool host_sees_streams(host *h, size_t count) {
    return wait_for(h, has_streams, &count);
}

void host_rest(host *h, uint32_t ms) {
    uint64_t end = clock_mono(&clock_default) + ms;
    while (clock_mono(&clock_default) < end) {
        if (h->rt != NULL) (void)uar_runtime_pump(h->rt, 1);
        mutex_lock(&h->lock);
        (void)condition_wait(&h->changed, &h->lock, 5);
        mutex_unlock(&h->lock);
    }
}

static bool has_closed_run(host *h, const void *arg) {
    const uar_run_id *id = arg;
    for (size_t i = h->closed; i-- > 0;)
        if (uar_uuid_equal(h->closed_ids[i], *id)) return true;
    return false;
}

uar_status host_await(host *h, uar_run_id id, uar_outcome *out) {
    uar_outcome local;
    uar_status status = uar_run_wait(out != NULL ? out : &local, h->rt, id, WAIT_MS);
    return status == UAR_OK && !wait_for(h, has_closed_run, &id) ? UAR_E_TIMEOUT : status;
}

uar_status host_run(host *h, const uar_run_request *request, uar_run_id *id, uar_outcome *out) {
    uar_run_id local;
    uar_status status = uar_run_start(&local, h->rt, request, NULL);
    if (status != UAR_OK) return status;
    if (id != NULL) *id = local;
    return host_await(h, local, out);
}

uar_status host_say(host *h, const char *input, uar_outcome *out) {
    uar_run_request request = { UAR_RUN_REQUEST_INIT, .input = input };
    return host_run(h, &request, NULL, out);
}

size_t host_count(host *h, const char *prefix) {
    mutex_lock(&h->lock);
    size_t n = count_lines(h, prefix);
    mutex_unlock(&h->lock);
    return n;
}

char *host_events(host *h) {
    text all = { NULL, 0 };
    (void)append(&all, "", 0);
    mutex_lock(&h->lock);
    for (const written *w = h->first; w != NULL; w = w->next) {
        (void)append(&all, w->line, strlen(w->line));
        (void)append(&all, "\n", 1);
    }
    mutex_unlock(&h->lock);
    return all.ptr;
}

char *host_kinds(host *h) {
    text all = { NULL, 0 };
    (void)append(&all, "", 0);
    mutex_lock(&h->lock);
    for (const written *w = h->first; w != NULL; w = w->next) {
        if (all.len > 0) (void)append(&all, " ", 1);
        (void)append(&all, w->line, strcspn(w->line, " "));
    }
    mutex_unlock(&h->lock);
    return all.ptr;
}

size_t host_event_count(host *h) {
    return host_count(h, "");
}

const uar_event *host_event(host *h, size_t n) {
    mutex_lock(&h->lock);
    const written *w = h->first;
    while (w != NULL && n-- > 0)
        w = w->next;
    const uar_event *event = w != NULL ? w->event : NULL;
    mutex_unlock(&h->lock);
    return event;
}

static char *copy_text(const char *from) {
    char *copy = from != NULL ? malloc(strlen(from) + 1) : NULL;
    if (copy != NULL) memcpy(copy, from, strlen(from) + 1);
    return copy;
}

char *host_arguments(host *h, const char *name) {
    mutex_lock(&h->lock);
    char *copy = copy_text(tool_state(h, name)->arguments);
    mutex_unlock(&h->lock);
    return copy;
}

size_t host_late_callbacks(host *h) {
    mutex_lock(&h->lock);
    size_t late = h->late;
    mutex_unlock(&h->lock);
    return late;
}

int host_invoked(host *h, const char *name) {
    mutex_lock(&h->lock);
    int n = tool_state(h, name)->invoked;
    mutex_unlock(&h->lock);
    return n;
}

int host_cancelled(host *h, const char *name) {
    mutex_lock(&h->lock);
    int n = tool_state(h, name)->cancelled;
    mutex_unlock(&h->lock);
    return n;
}

size_t host_model_calls(host *h) {
    mutex_lock(&h->lock);
    size_t n = h->model_calls;
    mutex_unlock(&h->lock);
    return n;
}

char *host_request(host *h, size_t n) {
    mutex_lock(&h->lock);
    char *copy = n >= 1 && n <= h->model_calls ? copy_text(h->requests[(n - 1) % REQUESTS_KEPT]) : NULL;
    mutex_unlock(&h->lock);
    return copy;
}

/* ---- the end ---- */

static void free_written(host *h) {
    while (h->first != NULL) {
        written *w = h->first;
        h->first = w->next;
        uar_event_unref(w->event);
        free(w->line);
        free(w);
    }
    for (size_t i = 0; i < REQUESTS_KEPT; i++)
        free(h->requests[i]);
    for (size_t i = 0; i < h->tool_count; i++)
        free(h->tools[i].arguments);
    free(h->closed_ids);
}

/* Under the lock. */
static bool all_destroyed(const host *h) {
    bool all = h->model_destroyed && h->sink_destroyed;
    for (size_t i = 0; i < h->tool_count; i++)
        all = all && h->tools[i].destroyed;
    return all;
}

static void await_destroys(host *h) {
    mutex_lock(&h->lock);
    for (int i = 0; i < 1000 && (h->later > 0 || !all_destroyed(h)); i++)
        (void)condition_wait(&h->changed, &h->lock, 10);
    if (!all_destroyed(h)) die("a door was never destroyed");
    mutex_unlock(&h->lock);
}

static void free_streams(host *h) {
    for (held_stream *s = take_stream(h, NULL); s != NULL; s = take_stream(h, NULL)) {
        uar_stream_unref(s->stream);
        free(s);
    }
}

uar_status host_close_runtime(host *h, uar_close_mode mode, uint32_t deadline_ms) {
    uar_status status = uar_runtime_close(h->rt, mode, deadline_ms);
    h->rt = NULL;
    return status;
}

uar_status host_close_within(host *h, uar_close_mode mode, uint32_t deadline_ms) {
    if (h == NULL) return UAR_OK;
    uar_status status = host_close_runtime(h, mode, deadline_ms);
    host_release(h);
    free_streams(h);
    await_destroys(h);
    free_written(h);
    condition_dispose(&h->changed);
    mutex_dispose(&h->lock);
    free(h);
    return status;
}

uar_status host_close(host *h, uar_close_mode mode) {
    return host_close_within(h, mode, 5000);
}
