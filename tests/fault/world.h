/*
 * A host for faults: a runtime over a store that outlives it, a clock that the test moves, a model that answers by what the
 * user said, tools, a sink that only remembers. One of its callbacks can be told to go wrong: `door`, `index` (the how-manyth
 * call of that door, from 1) and `way`.
 *
 * What the user says: "plain" one answer · "tool" a call, then an answer · "ask" a call that waits for a person · "retry" a
 * first attempt that breaks off · "hold" an answer that doesn't end until it is cancelled · "long" many deltas · "codec" an
 * answer through the OpenAI codec · "slow" a call that ends only when it is cancelled.
 *
 * Nothing of the host's own memory comes from the port. The clock stands still unless world_drive moves it to the next
 * timer, or `flows` is set: then it runs twenty times as fast as real time (used while closing).
 */
#ifndef UAR_TESTS_FAULT_WORLD_H
#define UAR_TESTS_FAULT_WORLD_H

#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "fault/port.h"
#include "fault/witness.h"

#define HELD_MAX 64
#define RUNS_MAX 32
#define FLOW_TIMES 20

/* X(name, word) */
#define DOORS(X)                    \
    X(NONE, "none")                 \
    X(GET, "get")                   \
    X(LIST, "list")                 \
    X(COMMIT, "commit")             \
    X(MODEL, "model")               \
    X(MODEL_CANCEL, "model_cancel") \
    X(TOOL, "tool")                 \
    X(TOOL_CANCEL, "tool_cancel") X(EMBED, "embed") X(EVENT, "event") X(CLOSED, "closed") X(REPLY, "reply")

typedef enum door {
#define DOOR_ENUM(name, word) DOOR_##name,
    DOORS(DOOR_ENUM)
#undef DOOR_ENUM
        DOOR_COUNT
} door;

/* X(name, word, what the callback does) */
#define WAYS(X)                                                             \
    X(RIGHT, "right", "what it should")                                     \
    X(ERROR, "error", "ends its call with an error")                        \
    X(LATE, "late", "keeps its call and ends it after the runtime is gone") \
    X(DOUBLE, "double", "ends its call twice")                              \
    X(NEVER, "never", "keeps its call and lets it go at the very end")      \
    X(DROPPED, "dropped", "returns without an answer")                      \
    X(SHAPE, "shape", "answers something of a wrong shape")                 \
    X(UTF8, "utf8", "answers bytes that are no UTF-8")                      \
    X(REENTER, "reenter", "calls the library from inside")                  \
    X(CANCEL, "cancel", "cancels the run from inside")

typedef enum way {
#define WAY_ENUM(name, word, what) WAY_##name,
    WAYS(WAY_ENUM)
#undef WAY_ENUM
        WAY_COUNT
} way;

typedef struct held {
    uar_completion *done;
    uar_stream *stream;
    const uar_event *event;
    const uar_write *writes; /* of a commit: readable until it is finished */
    size_t write_count;
    bool late; /* to be finished, not only let go */
} held;

typedef struct world {
    fault_port *port;
    _Atomic(uar_runtime *) rt; /* NULL until build has returned, which workers may call before */
    uar_threading threading;
    const uar_persistence *inner; /* outlives the runtime */
    const char *path;             /* if set: an SQLite store in this file instead, without faults of its own */
    uar_memory *memory;
    bool direct; /* the test itself calls the memory: no run is inside */
    uint32_t ring_events;
    /* the clock */
    atomic_ullong now;
    atomic_bool flows;
    uint64_t flows_from;
    /* the fault */
    door door;
    unsigned long index;
    way way;
    atomic_ulong calls[DOOR_COUNT];
    atomic_bool fired;
    atomic_bool closing;
    /* what is kept; under lock */
    mutex lock;
    held kept[HELD_MAX];
    size_t kept_count;
    uar_stream *holding;     /* of "hold" */
    uar_completion *running; /* of "slow" */
    uar_run_id runs[RUNS_MAX];
    size_t run_count;
    unsigned replies_due, replies;
    unsigned destroyed[5];
    /* How long a run that must end is waited for, and one that may not; of the world's time, or real time on a pool. */
    uint64_t patience_ms, glance_ms;
    bool approves; /* the sink approves what asks, by itself */
    uar_run_id asking;
    bool has_asked;
    witness heard;
} world;

static inline const char *door_word(door d) {
    static const char *const words[] = {
#define DOOR_WORD(name, word) word,
        DOORS(DOOR_WORD)
#undef DOOR_WORD
    };
    return words[d];
}

static inline const char *way_word(way v) {
    static const char *const words[] = {
#define WAY_WORD(name, word, what) word,
        WAYS(WAY_WORD)
#undef WAY_WORD
    };
    return words[v];
}

/* How this call of the door goes. */
static inline way door_way(world *w, door d) {
    unsigned long call = atomic_fetch_add(&w->calls[d], 1) + 1;
    if (d != w->door || call != w->index) return WAY_RIGHT;
    atomic_store(&w->fired, true);
    return w->way;
}

/* ---- the clock ---- */

static inline uint64_t world_mono(void *ctx) {
    world *w = ctx;
    uint64_t now = atomic_load(&w->now);
    if (!atomic_load(&w->flows)) return now;
    return now + (clock_mono(&clock_default) - w->flows_from) * FLOW_TIMES;
}

static inline int64_t world_wall(void *ctx) {
    return (int64_t)world_mono(ctx) + 1700000000000;
}

static inline void world_flow(world *w) {
    w->flows_from = clock_mono(&clock_default);
    atomic_store(&w->flows, true);
}

static inline void world_still(world *w) {
    if (!atomic_load(&w->flows)) return;
    atomic_store(&w->now, world_mono(w));
    atomic_store(&w->flows, false);
}

/* ---- keeping ---- */

static inline void keep(world *w, const held *item) {
    mutex_lock(&w->lock);
    if (w->kept_count < HELD_MAX) w->kept[w->kept_count++] = *item;
    mutex_unlock(&w->lock);
}

static inline void keep_completion(world *w, uar_completion *done, const uar_write *writes, size_t count, bool late) {
    held item = { .done = uar_completion_ref(done), .writes = writes, .write_count = count, .late = late };
    keep(w, &item);
}

static inline unsigned sum_bytes(uar_str s) {
    unsigned sum = 0;
    for (size_t i = 0; i < s.len; i++)
        sum += (unsigned char)s.ptr[i];
    return sum;
}

/* A provider may read what it was lent until its completion is finished. */
static inline unsigned read_writes(const held *h) {
    unsigned sum = 0;
    for (size_t i = 0; i < h->write_count; i++)
        sum += sum_bytes(h->writes[i].record.owner) + sum_bytes(h->writes[i].record.id) +
               sum_bytes(h->writes[i].record.body);
    return sum;
}

/* Lets go of what was kept, after the runtime is gone: nothing of it may have an effect any more. */
static inline void world_let_go(world *w) {
    for (size_t i = 0; i < w->kept_count; i++) {
        held *h = &w->kept[i];
        if (h->done != NULL) {
            static volatile unsigned sink;
            sink = read_writes(h);
            (void)sink;
            FAULT_EXPECT(!uar_completion_is_open(h->done), "a call is open after the runtime is gone");
            if (h->late)
                FAULT_EXPECT(uar_completion_ok(h->done) == UAR_E_STALE || uar_completion_ok(h->done) == UAR_E_INVALID,
                             "a late end was taken");
            if (h->late) FAULT_EXPECT(uar_completion_json(h->done, "{}") != UAR_OK, "a late value was taken");
            uar_completion_unref(h->done);
        }
        if (h->stream != NULL) {
            FAULT_EXPECT(!uar_stream_is_open(h->stream), "a stream is open after the runtime is gone");
            if (h->late)
                FAULT_EXPECT(uar_stream_text(h->stream, "x", 1) == UAR_E_STALE &&
                                 uar_stream_finish(h->stream, UAR_FINISH_STOP) == UAR_E_STALE,
                             "a late push was taken");
            uar_stream_unref(h->stream);
        }
        if (h->event != NULL) {
            FAULT_EXPECT(h->event->owner.len == 5, "a kept event is not what it was");
            uar_event_unref(h->event);
        }
    }
    w->kept_count = 0;
}

/* ---- calls from inside ---- */

static inline void on_reply(void *ctx, uar_reply *reply) {
    world *w = ctx;
    uar_reply_free(reply);
    mutex_lock(&w->lock);
    w->replies++;
    mutex_unlock(&w->lock);
}

static inline void remember_run(world *w, uar_run_id run) {
    mutex_lock(&w->lock);
    if (w->run_count < RUNS_MAX) w->runs[w->run_count++] = run;
    mutex_unlock(&w->lock);
}

static inline void load_later(world *w, uar_status expected) {
    mutex_lock(&w->lock);
    w->replies_due++;
    mutex_unlock(&w->lock);
    uar_status status = uar_session_load(w->rt, "local", "me", "default", on_reply, w, NULL);
    FAULT_EXPECT(status == expected, "an async load from inside answers %s", uar_status_name(status));
    if (status == UAR_OK) return;
    mutex_lock(&w->lock);
    w->replies_due--;
    mutex_unlock(&w->lock);
}

static inline void start_inside(world *w, uar_status expected) {
    static atomic_uint number;
    char session[32];
    (void)snprintf(session, sizeof session, "inside%u", atomic_fetch_add(&number, 1));
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .session = session, .input = "plain" };
    uar_run_id id;
    uar_status status = uar_run_start(&id, w->rt, &q, NULL);
    bool closed = status == UAR_E_CLOSED && atomic_load(&w->closing);
    FAULT_EXPECT(status == expected || closed, "a start from inside answers %s", uar_status_name(status));
    if (status == UAR_OK) remember_run(w, id);
}

/* Every sort of call from inside a callback. `restricted`: it may only finish its own call. */
static inline void call_inside(world *w, uar_run_id run, bool restricted) {
    uar_status works = restricted ? UAR_E_REENTRANT : UAR_OK;
    uar_reply *reply = NULL;
    uar_outcome outcome;
    uar_run_snapshot *snapshot = NULL;
    uar_subscription *sub = NULL;
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local" };
    uar_run_id none;
    memset(&none, 7, sizeof none);
    FAULT_EXPECT(uar_runtime_close(w->rt, UAR_CLOSE_PARK, 0) == UAR_E_WOULD_DEADLOCK, "close from inside");
    FAULT_EXPECT(uar_run_wait(&outcome, w->rt, run, 1) == UAR_E_WOULD_DEADLOCK, "wait from inside");
    FAULT_EXPECT(uar_session_list_sync(&reply, w->rt, "local", "me", uar_str_of(NULL), 10, NULL) ==
                     UAR_E_WOULD_DEADLOCK,
                 "a _sync call from inside");
    FAULT_EXPECT(uar_runtime_pump(w->rt, 1) == UINT32_MAX, "pump from inside");
    uar_status status = uar_run_cancel(w->rt, none, UAR_CANCEL_NOW, NULL, NULL);
    FAULT_EXPECT(status == (restricted ? UAR_E_REENTRANT : UAR_E_NOT_FOUND), "cancel of nothing from inside: %s",
                 uar_status_name(status));
    status = uar_run_approve(w->rt, none, "x", NULL, NULL);
    FAULT_EXPECT(status == (restricted ? UAR_E_REENTRANT : UAR_E_NOT_FOUND), "approve of nothing from inside: %s",
                 uar_status_name(status));
    status = uar_subscribe(&sub, w->rt, &o, NULL);
    FAULT_EXPECT(status == works, "subscribe from inside: %s", uar_status_name(status));
    if (status == UAR_OK) {
        uar_next item;
        FAULT_EXPECT(uar_subscription_next(&item, sub, 1) == UAR_E_WOULD_DEADLOCK, "a waiting next from inside");
        uar_subscription_free(sub);
    }
    status = uar_run_snapshot_take(&snapshot, w->rt, "local", run, NULL);
    FAULT_EXPECT(status == works || status == UAR_E_NOT_FOUND, "snapshot from inside: %s", uar_status_name(status));
    if (status == UAR_OK) uar_run_snapshot_free(snapshot);
    load_later(w, works);
    start_inside(w, works);
}

/* True if the call is to go on as if nothing were. */
static inline bool act_inside(world *w, way v, uar_run_id run, bool restricted) {
    if (v != WAY_REENTER && v != WAY_CANCEL) return false;
    if (w->rt == NULL) return true;
    if (v == WAY_REENTER) {
        call_inside(w, run, restricted);
    } else {
        uar_status status = uar_run_cancel(w->rt, run, UAR_CANCEL_NOW, "from inside", NULL);
        bool fine = restricted ? status == UAR_E_REENTRANT
                               : status == UAR_OK || status == UAR_E_STALE || status == UAR_E_NOT_FOUND;
        FAULT_EXPECT(fine, "cancel from inside answers %s", uar_status_name(status));
    }
    return true;
}

static inline uar_run_id newest_run(world *w) {
    mutex_lock(&w->lock);
    uar_run_id run;
    memset(&run, 0, sizeof run);
    if (w->run_count > 0) run = w->runs[w->run_count - 1];
    mutex_unlock(&w->lock);
    return run;
}

/* Run number `i` of those that were started, from 0. */
static inline bool run_at(world *w, size_t i, uar_run_id *out) {
    mutex_lock(&w->lock);
    bool is_there = i < w->run_count;
    if (is_there) *out = w->runs[i];
    mutex_unlock(&w->lock);
    return is_there;
}

/* ---- the store ---- */

/* True if the fault was it; else the call goes to the store behind. */
static inline bool store_fault(world *w, way v, const uar_write *writes, size_t count, uar_completion *done) {
    switch (v) {
    case WAY_ERROR: (void)uar_completion_fail(done, UAR_E_IO, "the disk is on fire"); return true;
    case WAY_LATE:
    case WAY_NEVER: keep_completion(w, done, writes, count, v == WAY_LATE); return true;
    case WAY_DROPPED: return true;
    case WAY_SHAPE:
        if (writes != NULL)
            (void)uar_completion_records(done, NULL, 0, NULL, NULL);
        else
            (void)uar_completion_ok(done);
        return true;
    case WAY_REENTER:
    case WAY_CANCEL: (void)act_inside(w, v, newest_run(w), true); return false;
    default: return false;
    }
}

static inline void finish_again(way v, uar_completion *done) {
    if (v != WAY_DOUBLE) return;
    FAULT_EXPECT(uar_completion_fail(done, UAR_E_IO, "again") == UAR_E_STALE, "a second end was taken");
}

static inline void answer_broken(uar_completion *done, uint32_t kind, uar_str owner, uar_str id) {
    uar_record bad = { .kind = kind, .schema = 1, .owner = owner, .id = id, .revision = 1 };
    bad.body = uar_str_n("{\"a\":\"\xff\xfe\"}", 10);
    (void)uar_completion_records(done, &bad, 1, NULL, NULL);
}

static inline void store_get(void *ctx, uint32_t kind, uar_str owner, uar_str id, uar_completion *done) {
    world *w = ctx;
    way v = door_way(w, DOOR_GET);
    if (store_fault(w, v, NULL, 0, done)) return;
    if (v == WAY_UTF8)
        answer_broken(done, kind, owner, id);
    else
        w->inner->get(w->inner->ctx, kind, owner, id, done);
    finish_again(v, done);
}

static inline void store_list(void *ctx, const uar_list_query *query, uar_completion *done) {
    world *w = ctx;
    way v = door_way(w, DOOR_LIST);
    if (store_fault(w, v, NULL, 0, done)) return;
    if (v == WAY_UTF8)
        answer_broken(done, query->kind, query->owner, uar_str_of("zz"));
    else
        w->inner->list(w->inner->ctx, query, done);
    finish_again(v, done);
}

static inline void store_commit(void *ctx, const uar_write *writes, size_t count, uar_completion *done) {
    world *w = ctx;
    way v = door_way(w, DOOR_COMMIT);
    if (store_fault(w, v, writes, count, done)) return;
    if (v == WAY_UTF8)
        (void)uar_completion_fail(done, UAR_E_IO, "\xff\xfe is no message");
    else
        w->inner->commit(w->inner->ctx, writes, count, done);
    finish_again(v, done);
}

/* ---- the model ---- */

static inline void stream_text(uar_stream *s, const char *text) {
    (void)uar_stream_text(s, text, strlen(text));
}

static inline void answer_plain(uar_stream *s) {
    uar_usage usage = { .input = 3, .output = 5 };
    (void)uar_stream_reasoning(s, "so ", 3);
    (void)uar_stream_reasoning_opaque(s, "sig", 3);
    stream_text(s, "Hello, ");
    stream_text(s, "gr\xc3");
    stream_text(s, "\xbc\xc3\x9f dich.");
    (void)uar_stream_usage(s, &usage);
    (void)uar_stream_finish(s, UAR_FINISH_STOP);
}

static inline void answer_call(uar_stream *s, const char *tool) {
    stream_text(s, "Let me see. ");
    (void)uar_stream_tool_call(s, 0, uar_str_of("c1"), uar_str_of(tool), uar_str_of("{\"n\":"));
    (void)uar_stream_tool_call(s, 0, uar_str_of(NULL), uar_str_of(NULL), uar_str_of("1}"));
    (void)uar_stream_tool_call(s, 1, uar_str_of("c2"), uar_str_of(tool), uar_str_of("{\"n\":2}"));
    (void)uar_stream_finish(s, UAR_FINISH_TOOL_CALLS);
}

static inline void answer_codec(world *w, const uar_model_request *request, uar_stream *s) {
    static const char bytes[] =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hel\"}}]}\n\n"
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\n\n"
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n"
        "data: [DONE]\n\n";
    uar_codec_options o = { UAR_CODEC_OPTIONS_INIT, .allocator = &w->port->door, .model = "m" };
    char *body = NULL;
    uar_codec *codec = NULL;
    uar_status status = uar_codec_request(&body, NULL, UAR_CODEC_OPENAI, request, &o, NULL);
    FAULT_EXPECT(status == UAR_OK || (status == UAR_E_NOMEM && body == NULL), "codec request: %s",
                 uar_status_name(status));
    uar_codec_body_free(body, &o);
    if (status == UAR_OK) status = uar_codec_new(&codec, UAR_CODEC_OPENAI, s, &o, NULL);
    if (status != UAR_OK) {
        FAULT_EXPECT(codec == NULL, "a failed codec_new touched its output");
        (void)uar_stream_fail(s, status, NULL, NULL, false, 0);
        return;
    }
    for (size_t i = 0; i < sizeof bytes - 1 && status == UAR_OK; i += 37)
        status = uar_codec_feed(codec, bytes + i, sizeof bytes - 1 - i < 37 ? sizeof bytes - 1 - i : 37);
    if (status == UAR_OK) status = uar_codec_end(codec);
    FAULT_EXPECT(status == UAR_OK || status == UAR_E_NOMEM || status == UAR_E_STALE, "codec answer: %s",
                 uar_status_name(status));
    uar_codec_free(codec);
}

static inline void hold_stream(world *w, uar_stream *s) {
    stream_text(s, "Once upon a time");
    mutex_lock(&w->lock);
    uar_stream *old = w->holding;
    w->holding = uar_stream_ref(s);
    mutex_unlock(&w->lock);
    uar_stream_unref(old);
}

static inline void answer(world *w, const uar_model_request *q, uar_stream *s) {
    uar_str said = uar_str_of("plain");
    for (size_t i = 0; i < q->message_count; i++)
        if (q->messages[i].role == UAR_ROLE_USER && q->messages[i].part_count > 0) said = q->messages[i].parts[0].text;
    bool has_result = q->message_count > 0 && q->messages[q->message_count - 1].role == UAR_ROLE_TOOL;
    if (uar_str_equal(said, uar_str_of("codec"))) {
        answer_codec(w, q, s);
    } else if (uar_str_equal(said, uar_str_of("hold"))) {
        hold_stream(w, s);
    } else if (uar_str_equal(said, uar_str_of("retry")) && q->attempt == 1) {
        stream_text(s, "This will be void");
        (void)uar_stream_fail(s, UAR_E_NETWORK, "reset", "the line broke", true, 0);
    } else if (!has_result && uar_str_equal(said, uar_str_of("tool"))) {
        answer_call(s, "act");
    } else if (!has_result && uar_str_equal(said, uar_str_of("ask"))) {
        answer_call(s, "ask");
    } else if (!has_result && uar_str_equal(said, uar_str_of("slow"))) {
        (void)uar_stream_tool_call(s, 0, uar_str_of("c1"), uar_str_of("slow"), uar_str_of("{}"));
        (void)uar_stream_finish(s, UAR_FINISH_TOOL_CALLS);
    } else {
        for (int i = 0; uar_str_equal(said, uar_str_of("long")) && i < 40; i++)
            stream_text(s, "word ");
        answer_plain(s);
    }
}

static inline void model_start(void *ctx, const uar_model_request *request, uar_stream *s) {
    world *w = ctx;
    way v = door_way(w, DOOR_MODEL);
    held item = { .stream = s, .late = v == WAY_LATE };
    switch (v) {
    case WAY_ERROR: (void)uar_stream_fail(s, UAR_E_MODEL, "no", "refused", false, 0); return;
    case WAY_LATE:
    case WAY_NEVER:
        (void)uar_stream_ref(s);
        keep(w, &item);
        return;
    case WAY_DROPPED: return;
    case WAY_SHAPE:
        FAULT_EXPECT(uar_stream_finish(s, (uar_finish)99) == UAR_E_INVALID, "an unknown finish was taken");
        (void)uar_stream_tool_call(s, 9, uar_str_of(NULL), uar_str_of(NULL), uar_str_of("]["));
        (void)uar_stream_finish(s, UAR_FINISH_STOP);
        return;
    case WAY_UTF8:
        stream_text(s, "a\xff\xfe\xe2\x82");
        (void)uar_stream_reasoning(s, "\xc0\xaf", 2);
        FAULT_EXPECT(uar_stream_reasoning_opaque(s, "\xff", 1) == UAR_E_UTF8, "opaque bytes were taken");
        (void)uar_stream_tool_call(s, 0, uar_str_of("\xff"), uar_str_of("a\xff"), uar_str_of("{\"\xff\":1}"));
        (void)uar_stream_finish(s, UAR_FINISH_STOP);
        return;
    default: break;
    }
    (void)act_inside(w, v, request->run, false);
    answer(w, request, s);
    if (v == WAY_DOUBLE && w->threading == UAR_THREADS_MANUAL && !uar_stream_is_open(s))
        FAULT_EXPECT(uar_stream_finish(s, UAR_FINISH_STOP) == UAR_E_STALE, "a second finish was taken");
}

static inline void model_cancel(void *ctx, uar_stream *stream) {
    world *w = ctx;
    way v = door_way(w, DOOR_MODEL_CANCEL);
    (void)act_inside(w, v, newest_run(w), false);
    mutex_lock(&w->lock);
    uar_stream *s = w->holding == stream ? w->holding : NULL;
    if (s != NULL) w->holding = NULL;
    mutex_unlock(&w->lock);
    if (s == NULL) return;
    if (v == WAY_NEVER || v == WAY_LATE) {
        held item = { .stream = s, .late = v == WAY_LATE };
        keep(w, &item);
        return;
    }
    if (v == WAY_DOUBLE) stream_text(s, " and more");
    if (v != WAY_DROPPED) (void)uar_stream_fail(s, UAR_E_CANCELLED, NULL, "stopped", false, 0);
    if (v == WAY_DOUBLE)
        FAULT_EXPECT(uar_stream_finish(s, UAR_FINISH_STOP) == UAR_E_STALE, "a second finish was taken");
    uar_stream_unref(s);
}

/* ---- tools ---- */

static inline void tool_invoke(void *ctx, const uar_tool_call *call, uar_completion *done) {
    world *w = ctx;
    way v = door_way(w, DOOR_TOOL);
    static const float numbers[2] = { 1, 2 };
    switch (v) {
    case WAY_ERROR: (void)uar_completion_fail(done, UAR_E_IO, "broken"); return;
    case WAY_LATE:
    case WAY_NEVER: keep_completion(w, done, NULL, 0, v == WAY_LATE); return;
    case WAY_DROPPED: return;
    case WAY_SHAPE:
        FAULT_EXPECT(uar_completion_vectors(done, numbers, 1, 2) == UAR_E_INVALID, "a tool answered with vectors");
        return;
    case WAY_UTF8:
        FAULT_EXPECT(uar_completion_text(done, "a\xff", 2) == UAR_E_UTF8, "a tool answered with bytes");
        return;
    default: break;
    }
    (void)act_inside(w, v, call->run, false);
    (void)uar_completion_json(done, "{\"celsius\":4}");
    finish_again(v, done);
}

/* "slow": kept until it is cancelled. */
static inline void slow_invoke(void *ctx, const uar_tool_call *call, uar_completion *done) {
    world *w = ctx;
    (void)call;
    mutex_lock(&w->lock);
    uar_completion *old = w->running;
    w->running = uar_completion_ref(done);
    mutex_unlock(&w->lock);
    uar_completion_unref(old);
}

static inline void tool_cancel(void *ctx, const uar_tool_call *call, uar_completion *done) {
    world *w = ctx;
    way v = door_way(w, DOOR_TOOL_CANCEL);
    (void)act_inside(w, v, call->run, false);
    mutex_lock(&w->lock);
    uar_completion *mine = w->running == done ? w->running : NULL;
    if (mine != NULL) w->running = NULL;
    mutex_unlock(&w->lock);
    if (mine == NULL) return;
    if (v == WAY_LATE || v == WAY_NEVER) {
        keep_completion(w, mine, NULL, 0, v == WAY_LATE);
    } else if (v == WAY_SHAPE) {
        (void)uar_completion_ok(mine);
    } else if (v == WAY_UTF8) {
        (void)uar_completion_fail(mine, UAR_E_CANCELLED, "\xff\xfe");
    } else if (v != WAY_DROPPED) {
        (void)uar_completion_fail(mine, UAR_E_CANCELLED, "stopped");
        finish_again(v, mine);
    }
    uar_completion_unref(mine);
}

/* ---- the sink ---- */

static inline void on_event(void *ctx, const uar_event *event) {
    world *w = ctx;
    witness_event(&w->heard, event);
    way v = door_way(w, DOOR_EVENT);
    held item = { .event = event };
    if (v == WAY_LATE || v == WAY_NEVER) {
        (void)uar_event_ref(event);
        keep(w, &item);
    }
    (void)act_inside(w, v, event->run, false);
    if (event->kind != UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED) return;
    mutex_lock(&w->lock);
    w->asking = event->run;
    w->has_asked = true;
    bool approves = w->approves;
    mutex_unlock(&w->lock);
    char call[32];
    (void)snprintf(call, sizeof call, "%.*s", (int)event->tool_call_approval_required.call.len,
                   event->tool_call_approval_required.call.ptr);
    if (approves) (void)uar_run_approve(w->rt, event->run, call, "{\"n\":7}", NULL);
}

static inline void on_gap(void *ctx, const uar_gap *gap) {
    world *w = ctx;
    witness_gap(&w->heard, gap);
}

static inline void on_closed(void *ctx, uar_run_id run) {
    world *w = ctx;
    witness_closed(&w->heard, run);
    (void)act_inside(w, door_way(w, DOOR_CLOSED), run, false);
}

static inline void on_own_reply(void *ctx, uar_reply *reply) {
    world *w = ctx;
    way v = door_way(w, DOOR_REPLY);
    (void)act_inside(w, v, newest_run(w), false);
    on_reply(ctx, reply);
}

/* ---- the embedder ---- */

/* Its own broken text: a vector of numbers that are none. */
static inline void answer_no_numbers(size_t count, uar_completion *done) {
    size_t dims = uar_embedder_lexical()->dims;
    float *vectors = calloc(count, dims * sizeof *vectors);
    if (vectors == NULL) abort();
    for (size_t i = 0; i < count * dims; i++)
        vectors[i] = i % 2 == 0 ? NAN : INFINITY;
    (void)uar_completion_vectors(done, vectors, count, dims);
    free(vectors);
}

/* Calls that wait are refused while the memory is inside its embedder; looking is not. */
static inline void remember_inside(world *w) {
    uar_identity who = { UAR_IDENTITY_INIT, .user = uar_str_of("me") };
    uar_memory_stats stats;
    uar_memory_hits *hits = NULL;
    uar_memory *memory = w->memory;
    if (memory == NULL) return; /* it is being opened */
    FAULT_EXPECT(uar_memory_stats_sync(&stats, memory, &who, NULL, NULL) == UAR_E_WOULD_DEADLOCK &&
                     uar_memory_search_sync(&hits, memory, &who, uar_str_of("x"), NULL, 1, NULL) ==
                         UAR_E_WOULD_DEADLOCK &&
                     uar_memory_check_sync(memory, NULL) == UAR_E_WOULD_DEADLOCK,
                 "a waiting call inside the embedder is not refused");
    FAULT_EXPECT(uar_memory_state(memory, NULL) == UAR_MEMORY_READY, "the memory is not ready inside its embedder");
}

static inline void embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                         uar_completion *done) {
    world *w = ctx;
    way v = door_way(w, DOOR_EMBED);
    static const float numbers[3] = { 1, 0, 0 };
    if (v == WAY_REENTER) remember_inside(w);
    switch (v) {
    case WAY_ERROR: (void)uar_completion_fail(done, UAR_E_UNAVAILABLE, "no model"); return;
    case WAY_LATE:
    case WAY_NEVER: keep_completion(w, done, NULL, 0, v == WAY_LATE); return;
    case WAY_DROPPED: return;
    case WAY_SHAPE: (void)uar_completion_vectors(done, numbers, 1, 3); return;
    case WAY_UTF8: answer_no_numbers(count, done); return;
    default: break;
    }
    if (!w->direct) (void)act_inside(w, v, newest_run(w), false);
    const uar_embedder *right = uar_embedder_lexical();
    right->embed(right->ctx, purpose, texts, count, done);
    finish_again(v, done);
}

/* ---- life ---- */

#define COUNT_DESTROY(n)                        \
    static inline void destroy_##n(void *ctx) { \
        world *w = ctx;                         \
        mutex_lock(&w->lock);                   \
        w->destroyed[n]++;                      \
        mutex_unlock(&w->lock);                 \
    }
COUNT_DESTROY(0) /* store */
COUNT_DESTROY(1) /* model */
COUNT_DESTROY(2) /* tools */
COUNT_DESTROY(3) /* sink */
COUNT_DESTROY(4) /* embedder */
#undef COUNT_DESTROY

static inline world *world_new(fault_port *port) {
    world *w = calloc(1, sizeof *w);
    if (w == NULL || mutex_init(&w->lock) != UAR_OK || mutex_init(&w->heard.lock) != UAR_OK) abort();
    w->port = port;
    w->threading = UAR_THREADS_MANUAL;
    w->inner = uar_persistence_volatile();
    w->approves = true;
    w->patience_ms = w->glance_ms = 60000;
    atomic_store(&w->now, 1000000);
    return w;
}

/* A memory of the world in this file, with its embedder. */
static inline void world_remember(world *w, const char *path) {
    const uar_embedder *like = uar_embedder_lexical();
    uar_embedder own = { UAR_EMBEDDER_INIT,  .ctx = w,       .id = "test",
                         .dims = like->dims, .embed = embed, .destroy = destroy_4 };
    uar_memory_options o;
    uar_memory_options_init(&o);
    o.allocator = &w->port->door;
    o.embedder = &own;
    o.embed_timeout_ms = 40;
    w->memory = uar_memory_open(path, &o);
    if (uar_memory_state(w->memory, NULL) != UAR_MEMORY_READY) fault_note("the memory doesn't open");
}

static inline void add_tool(world *w, uar_builder *b, const char *name, uar_tool_approval approval, uint32_t timeout_ms,
                            void (*invoke)(void *ctx, const uar_tool_call *call, uar_completion *done)) {
    uar_tool t = { UAR_TOOL_INIT,
                   .ctx = w,
                   .name = name,
                   .description = "a tool of the test",
                   .input_schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}",
                   .tool_class = UAR_TOOL_EFFECT,
                   .approval = approval,
                   .timeout_ms = timeout_ms,
                   .invoke = invoke,
                   .cancel = tool_cancel,
                   .destroy = destroy_2 };
    uar_builder_tool(b, &t);
}

/* A runtime over the store; false if it can't be built. */
static inline uar_status world_build(world *w) {
    uar_clock clock = { UAR_CLOCK_INIT, .ctx = w, .wall_ms = world_wall, .mono_ms = world_mono };
    uar_builder_options o = { UAR_BUILDER_OPTIONS_INIT, .allocator = &w->port->door, .threading = w->threading,
                              .single_process = true, .ring_events = w->ring_events };
    if (w->threading == UAR_THREADS_MANUAL) o.clock = &clock;
    uar_builder *b = uar_builder_new(&o);
    uar_persistence layer = { UAR_PERSISTENCE_INIT,   .ctx = w,
                              .get = store_get,       .list = store_list,
                              .commit = store_commit, .destroy = destroy_0 };
    uar_builder_persistence(b, w->path != NULL ? uar_persistence_sqlite(w->path, NULL) : &layer);
    uar_model m = { UAR_MODEL_INIT,      .ctx = w, .name = "m", .start = model_start, .cancel = model_cancel,
                    .destroy = destroy_1 };
    uar_builder_model(b, &m);
    add_tool(w, b, "act", UAR_APPROVAL_AUTO, 700, tool_invoke);
    add_tool(w, b, "ask", UAR_APPROVAL_ASK, 700, tool_invoke);
    add_tool(w, b, "slow", UAR_APPROVAL_AUTO, 0, slow_invoke);
    uar_event_sink sink = { UAR_EVENT_SINK_INIT,    .ctx = w,
                            .on_event = on_event,   .on_gap = on_gap,
                            .on_closed = on_closed, .destroy = destroy_3 };
    uar_builder_event_sink(b, &sink);
    uar_builder_memory(b, w->memory);
    uar_error err = UAR_ERROR_INIT;
    uar_runtime *rt = NULL;
    uar_status status = uar_builder_build(&rt, b, &err);
    w->rt = rt;
    return status;
}

static inline void world_must_build(world *w) {
    uar_status status = world_build(w);
    if (status == UAR_OK) return;
    fault_note("the world can't be built: %s", uar_status_name(status));
    abort();
}

/* ---- moving ---- */

static inline void rest(void) {
    struct timespec half = { 0, 500000 };
    (void)nanosleep(&half, NULL);
}

typedef bool (*world_test)(world *w, const void *arg);

static inline bool run_has_ended(world *w, const void *run) {
    uar_outcome o;
    return uar_run_poll(&o, w->rt, *(const uar_run_id *)run) != UAR_E_TIMEOUT;
}

static inline bool run_has_closed(world *w, const void *run) {
    bool closed = false;
    mutex_lock(&w->heard.lock);
    for (size_t i = 0; i < w->heard.count && !closed; i++)
        closed = w->heard.items[i].what == UAR_NEXT_CLOSED &&
                 uar_uuid_equal(w->heard.items[i].run, *(const uar_run_id *)run);
    mutex_unlock(&w->heard.lock);
    return closed;
}

static inline bool has_asked(world *w, const void *arg) {
    (void)arg;
    mutex_lock(&w->lock);
    bool asked = w->has_asked;
    mutex_unlock(&w->lock);
    return asked;
}

static inline bool holds_stream(world *w, const void *arg) {
    (void)arg;
    mutex_lock(&w->lock);
    bool holds = w->holding != NULL;
    mutex_unlock(&w->lock);
    return holds;
}

static inline bool runs_slow(world *w, const void *arg) {
    (void)arg;
    mutex_lock(&w->lock);
    bool runs = w->running != NULL;
    mutex_unlock(&w->lock);
    return runs;
}

static inline bool has_replies(world *w, const void *arg) {
    (void)arg;
    mutex_lock(&w->lock);
    bool all = w->replies == w->replies_due;
    mutex_unlock(&w->lock);
    return all;
}

static inline bool is_never(world *w, const void *arg) {
    (void)w;
    (void)arg;
    return false;
}

/* Work until `test` holds, for at most `ms` of the world's time. */
static inline bool world_drive(world *w, world_test test, const void *arg, uint64_t ms) {
    uint64_t end = world_mono(w) + ms;
    if (w->threading != UAR_THREADS_MANUAL) {
        uint64_t until = clock_mono(&clock_default) + ms;
        while (!test(w, arg) && clock_mono(&clock_default) < until)
            rest();
        return test(w, arg);
    }
    for (int i = 0; i < 100000; i++) {
        if (test(w, arg)) return true;
        uint32_t next = uar_runtime_pump(w->rt, 0);
        if (next == 0) continue;
        if (test(w, arg)) return true;
        if (next == UINT32_MAX) return false;
        if (world_mono(w) + next > end) return false;
        atomic_fetch_add(&w->now, next);
    }
    fault_note("the runtime never comes to rest");
    return false;
}

/* One turn to its end. UAR_E_TIMEOUT: it didn't end. */
static inline uar_status world_say_in(world *w, const char *session, const char *input, uar_run_id *run) {
    uar_run_id id;
    uar_outcome out;
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .session = session, .input = input };
    OUTPUT_PREPARE(id);
    uar_status status = uar_run_start(&id, w->rt, &q, NULL);
    OUTPUT_CHECK(status, id, "uar_run_start");
    if (status != UAR_OK) return status;
    remember_run(w, id);
    if (run != NULL) *run = id;
    if (!world_drive(w, run_has_ended, &id, w->glance_ms)) return UAR_E_TIMEOUT;
    status = uar_run_poll(&out, w->rt, id);
    return status != UAR_OK ? status : out.status;
}

static inline uar_status world_say(world *w, const char *input) {
    return world_say_in(w, "s", input, NULL);
}

/* Closes within its deadline, whatever happened. */
static inline uar_status world_close_runtime(world *w, uar_close_mode mode, uint32_t deadline_ms) {
    if (w->rt == NULL) return UAR_OK;
    world_flow(w);
    atomic_store(&w->closing, true);
    uint64_t began = clock_mono(&clock_default);
    uar_status status = uar_runtime_close(w->rt, mode, deadline_ms);
    uint64_t took = clock_mono(&clock_default) - began;
    if (took > deadline_ms + 5000) fault_note("close took %llu ms", (unsigned long long)took);
    world_still(w);
    atomic_store(&w->closing, false);
    w->rt = NULL;
    return status;
}

static inline void world_free(world *w) {
    (void)world_close_runtime(w, UAR_CLOSE_CANCEL, 300);
    uar_stream_unref(w->holding);
    uar_completion_unref(w->running);
    world_let_go(w);
    uar_memory_free(w->memory);
    uar_persistence_free(w->inner);
    mutex_dispose(&w->heard.lock);
    mutex_dispose(&w->lock);
    free(w);
}

#endif
