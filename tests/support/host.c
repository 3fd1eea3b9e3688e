/* Owns: the test host. Its lock guards what it wrote down; no call to the library is made under it. */
#include "support/host.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/runtime.h"

#define WAIT_MS 20000

typedef struct written {
    char *line; /* KIND DATA */
    struct written *next;
} written;

typedef struct held_call {
    uar_completion *done;
    const struct host_tool_state *tool;
    struct held_call *next;
} held_call;

typedef struct host_tool_state {
    host *h;
    host_tool spec;
    int invoked, cancelled;
} host_tool_state;

struct host {
    uar_runtime *rt;
    mutex lock;
    condition changed;
    const char *script;
    size_t line;
    size_t model_calls;
    char *requests[256];
    uar_stream *stream; /* held: a sleep of a second or more lasts until cancel */
    written *first, **last;
    size_t closed;
    char uuids[4096][UAR_UUID_TEXT];
    size_t uuid_count;
    host_tool_state tools[HOST_TOOLS];
    size_t tool_count;
    held_call *held;
    bool released;
    int later; /* threads on their way */
};

/* ---- the model ---- */

static void keep_request(host *h, const uar_model_request *request) {
    uar_codec_options o = { UAR_CODEC_OPTIONS_INIT, .model = "test" };
    char *body = NULL;
    size_t len = 0;
    uar_status status = uar_codec_request(&body, &len, UAR_CODEC_OPENAI, request, &o, NULL);
    char *copy = status == UAR_OK ? malloc(len + 1) : NULL;
    if (copy != NULL) memcpy(copy, body, len + 1);
    uar_codec_body_free(body, &o);
    mutex_lock(&h->lock);
    h->requests[h->model_calls++ % 256] = copy;
    mutex_unlock(&h->lock);
}

static void start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    host *h = ctx;
    uar_str line;
    uar_script *script = NULL;
    uar_error err = UAR_ERROR_INIT;
    keep_request(h, request);
    mutex_lock(&h->lock);
    size_t number = ++h->line;
    uar_status status = uar_script_find(&line, &number, uar_str_of(h->script));
    if (status == UAR_OK) h->line = number;
    mutex_unlock(&h->lock);
    if (status == UAR_OK) status = uar_script_open(&script, line, number, NULL, &err);
    if (status != UAR_OK) {
        (void)uar_stream_fail(stream, status, NULL, err.message, false, 0);
        return;
    }
    uint32_t wait = 0;
    while (uar_script_play(&wait, script, stream) == UAR_OK && wait < 1000) {}
    if (wait != UAR_FOREVER && wait >= 1000) {
        mutex_lock(&h->lock);
        h->stream = uar_stream_ref(stream);
        condition_broadcast(&h->changed);
        mutex_unlock(&h->lock);
    }
    uar_script_free(script);
}

static void stop(void *ctx, uar_stream *stream) {
    host *h = ctx;
    mutex_lock(&h->lock);
    uar_stream *held = h->stream == stream ? h->stream : NULL;
    if (held != NULL) h->stream = NULL;
    mutex_unlock(&h->lock);
    if (held == NULL) return;
    (void)uar_stream_fail(held, UAR_E_CANCELLED, NULL, "stopped", false, 0);
    uar_stream_unref(held);
}

/* ---- the sink ---- */

static bool is_uuid(const char *s) {
    uar_uuid id;
    return strlen(s) >= 36 && uar_uuid_parse(&id, uar_str_n(s, 36)) == UAR_OK;
}

static size_t uuid_number(host *h, const char *s) {
    for (size_t i = 0; i < h->uuid_count; i++)
        if (memcmp(h->uuids[i], s, 36) == 0) return i + 1;
    if (h->uuid_count == 4096) return 0;
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

static void on_event(void *ctx, const uar_event *event) {
    host *h = ctx;
    written *w = calloc(1, sizeof *w);
    if (w == NULL) abort();
    mutex_lock(&h->lock);
    w->line = write_down(h, event);
    *h->last = w;
    h->last = &w->next;
    condition_broadcast(&h->changed);
    mutex_unlock(&h->lock);
}

static void on_closed(void *ctx, uar_run_id id) {
    (void)id;
    host *h = ctx;
    mutex_lock(&h->lock);
    h->closed++;
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
    if (l == NULL) abort();
    *l = (later){ t->h, uar_completion_ref(done), t->spec.result };
    mutex_lock(&t->h->lock);
    t->h->later++;
    mutex_unlock(&t->h->lock);
    if (thread_start(&id, 0, answer_later, l) != UAR_OK) abort();
    thread_detach(id);
}

static void hold(host_tool_state *t, uar_completion *done) {
    held_call *c = calloc(1, sizeof *c);
    if (c == NULL) abort();
    c->done = uar_completion_ref(done);
    c->tool = t;
    mutex_lock(&t->h->lock);
    c->next = t->h->held;
    t->h->held = c;
    condition_broadcast(&t->h->changed);
    mutex_unlock(&t->h->lock);
}

static void block(host_tool_state *t, uar_completion *done) {
    mutex_lock(&t->h->lock);
    while (!t->h->released)
        (void)condition_wait(&t->h->changed, &t->h->lock, 1000);
    mutex_unlock(&t->h->lock);
    (void)uar_completion_json(done, t->spec.result);
}

static void invoke(void *ctx, const uar_tool_call *call, uar_completion *done) {
    (void)call;
    host_tool_state *t = ctx;
    mutex_lock(&t->h->lock);
    t->invoked++;
    condition_broadcast(&t->h->changed);
    mutex_unlock(&t->h->lock);
    switch (t->spec.way) {
    case HOST_ANSWERS: (void)uar_completion_json(done, t->spec.result); break;
    case HOST_ANSWERS_LATER: spawn(t, done); break;
    case HOST_FAILS: (void)uar_completion_fail(done, UAR_E_TOOL_FAILED, t->spec.result); break;
    case HOST_DROPS: break;
    case HOST_NEVER:
    case HOST_STOPS: hold(t, done); break;
    case HOST_TWICE:
        (void)uar_completion_json(done, t->spec.result);
        if (uar_completion_json(done, "\"again\"") != UAR_E_STALE) abort();
        break;
    case HOST_BAD_JSON: (void)uar_completion_json(done, "{oops"); break;
    case HOST_BLOCKS: block(t, done); break;
    }
}

static void cancel(void *ctx, const uar_tool_call *call, uar_completion *done) {
    (void)call;
    host_tool_state *t = ctx;
    uar_completion *held = NULL;
    mutex_lock(&t->h->lock);
    t->cancelled++;
    for (held_call **at = &t->h->held; t->spec.way == HOST_STOPS && *at != NULL && held == NULL;) {
        held_call *c = *at;
        if (c->done != done) {
            at = &c->next;
            continue;
        }
        held = c->done;
        *at = c->next;
        free(c);
    }
    mutex_unlock(&t->h->lock);
    if (held == NULL) return;
    (void)uar_completion_fail(held, UAR_E_CANCELLED, "stopped");
    uar_completion_unref(held);
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
        (void)uar_completion_json(c->done, c->tool->spec.result);
        uar_completion_unref(c->done);
        free(c);
    }
}

/* ---- life ---- */

static void add_tools(host *h, uar_builder *b, const host_tool *tools) {
    for (size_t i = 0; tools != NULL && i < HOST_TOOLS && tools[i].name != NULL; i++) {
        host_tool_state *t = &h->tools[h->tool_count++];
        t->h = h;
        t->spec = tools[i];
        uar_tool door = { UAR_TOOL_INIT, .ctx = t, .name = t->spec.name, .description = "a tool of the test",
                          .input_schema = t->spec.schema != NULL ? t->spec.schema : "{\"type\":\"object\"}",
                          .tool_class = t->spec.tool_class, .approval = t->spec.approval,
                          .timeout_ms = t->spec.timeout_ms, .invoke = invoke, .cancel = cancel };
        uar_builder_tool(b, &door);
    }
}

host *host_open(const host_options *o, uar_error *err) {
    host *h = calloc(1, sizeof *h);
    if (h == NULL || mutex_init(&h->lock) != UAR_OK || condition_init(&h->changed) != UAR_OK) abort();
    h->script = o->script;
    h->last = &h->first;
    uar_builder_options options = { UAR_BUILDER_OPTIONS_INIT, .allocator = o->allocator, .threading = o->threading,
                                    .max_steps = o->max_steps, .ring_events = o->ring_events, .ring_bytes = o->ring_bytes };
    uar_builder *b = uar_builder_new(&options);
    uar_builder_persistence(b, o->store != NULL ? uar_persistence_sqlite(o->store, NULL) : uar_persistence_volatile());
    uar_builder_memory(b, o->memory);
    uar_model model = { UAR_MODEL_INIT, .ctx = h, .name = "test", .start = start, .cancel = stop };
    uar_builder_model(b, &model);
    uar_event_sink sink = { UAR_EVENT_SINK_INIT, .ctx = h, .on_event = on_event, .on_closed = on_closed };
    uar_builder_event_sink(b, &sink);
    add_tools(h, b, o->tools);
    if (uar_builder_build(&h->rt, b, err) != UAR_OK) {
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
        (void)uar_runtime_pump(h->rt, 1);
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

uar_status host_run(host *h, const uar_run_request *request, uar_run_id *id, uar_outcome *out) {
    uar_run_id local;
    uar_outcome result;
    mutex_lock(&h->lock);
    size_t closed = h->closed;
    mutex_unlock(&h->lock);
    uar_status status = uar_run_start(id != NULL ? id : &local, h->rt, request, NULL);
    if (status != UAR_OK) return status;
    status = uar_run_wait(out != NULL ? out : &result, h->rt, id != NULL ? *id : local, WAIT_MS);
    return status == UAR_OK && !host_hears_closed(h, closed + 1) ? UAR_E_TIMEOUT : status;
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

static host_tool_state *tool_state(host *h, const char *name) {
    for (size_t i = 0; i < h->tool_count; i++)
        if (strcmp(h->tools[i].spec.name, name) == 0) return &h->tools[i];
    abort();
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
    const char *body = n >= 1 && n <= h->model_calls ? h->requests[(n - 1) % 256] : NULL;
    char *copy = body != NULL ? malloc(strlen(body) + 1) : NULL;
    if (copy != NULL) memcpy(copy, body, strlen(body) + 1);
    mutex_unlock(&h->lock);
    return copy;
}

static void free_written(host *h) {
    while (h->first != NULL) {
        written *w = h->first;
        h->first = w->next;
        free(w->line);
        free(w);
    }
    for (size_t i = 0; i < 256; i++)
        free(h->requests[i]);
}

uar_status host_close(host *h, uar_close_mode mode) {
    if (h == NULL) return UAR_OK;
    uar_status status = h->rt != NULL ? uar_runtime_close(h->rt, mode, 5000) : UAR_OK;
    host_release(h);
    mutex_lock(&h->lock);
    while (h->later > 0)
        (void)condition_wait(&h->changed, &h->lock, 1000);
    uar_stream *held = h->stream;
    h->stream = NULL;
    mutex_unlock(&h->lock);
    uar_stream_unref(held);
    free_written(h);
    condition_dispose(&h->changed);
    mutex_dispose(&h->lock);
    free(h);
    return status;
}
