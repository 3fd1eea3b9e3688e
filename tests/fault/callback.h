/*
 * The callback sweep: every call of a host's callback, one at a time, goes wrong in every way that its door knows, while a
 * day in the life of a runtime goes on: runs with calls, an approval, a retry, a cancel, reads. Whatever happens, each run
 * has one terminal event (none if it was parked), later runs work unless the door is closed for good, the runtime closes in
 * time, every reply comes once, and nothing is left over when the last held call is let go.
 */
#ifndef UAR_TESTS_FAULT_CALLBACK_H
#define UAR_TESTS_FAULT_CALLBACK_H

#include "fault/checks.h"
#include "fault/folder.h"

#define CLOSE_MS 300

typedef struct callback_case {
    uar_threading threading;
    door door;
    unsigned long index;
    way way;
    const char *memory; /* path of a memory store, or NULL for none */
} callback_case;

static inline bool is_store_door(door d) {
    return d == DOOR_GET || d == DOOR_LIST || d == DOOR_COMMIT;
}

/* Ways that a door can go at all. */
static inline bool door_knows(door d, way v) {
    switch (d) {
    case DOOR_NONE: return v == WAY_RIGHT;
    case DOOR_EVENT: return v == WAY_LATE || v == WAY_REENTER || v == WAY_CANCEL;
    case DOOR_CLOSED:
    case DOOR_REPLY: return v == WAY_REENTER || v == WAY_CANCEL;
    case DOOR_MODEL_CANCEL: return v >= WAY_LATE && v != WAY_SHAPE && v != WAY_UTF8;
    default: return v != WAY_RIGHT;
    }
}

/* The store was asked and will never answer: nothing that needs it can go on. */
static inline bool is_stuck(const world *w) {
    return is_store_door(w->door) && (w->way == WAY_NEVER || w->way == WAY_LATE) && atomic_load(&w->fired);
}

/* A run that goes on for too long is cancelled, and then it ends. */
static inline void cancel_if_open(world *w, uar_run_id id) {
    if (run_has_ended(w, &id) || is_stuck(w)) return;
    (void)uar_run_cancel(w->rt, id, UAR_CANCEL_NOW, "it takes too long", NULL);
    FAULT_EXPECT(world_drive(w, run_has_ended, &id, w->patience_ms) || is_stuck(w), "a cancelled run hangs");
}

static inline void turn(world *w, const char *session, const char *input) {
    if (is_stuck(w)) return;
    uar_run_id id;
    memset(&id, 0, sizeof id);
    (void)world_say_in(w, session, input, &id);
    if (!uar_uuid_is_none(id)) cancel_if_open(w, id);
}

typedef struct moment {
    world_test test;
    uar_run_id run;
} moment;

static inline bool moment_has_come(world *w, const void *arg) {
    const moment *m = arg;
    return m->test(w, NULL) || run_has_ended(w, &m->run);
}

/* A turn that is cancelled when `test` holds. */
static inline void cancelled_turn(world *w, const char *input, world_test test) {
    if (is_stuck(w)) return;
    moment m = { .test = test };
    uar_run_request q = { UAR_RUN_REQUEST_INIT, .session = "s", .input = input };
    if (uar_run_start(&m.run, w->rt, &q, NULL) != UAR_OK) return;
    remember_run(w, m.run);
    (void)world_drive(w, moment_has_come, &m, w->glance_ms);
    (void)uar_run_cancel(w->rt, m.run, UAR_CANCEL_NOW, "enough", NULL);
    (void)world_drive(w, run_has_ended, &m.run, is_stuck(w) ? 0 : w->patience_ms);
    cancel_if_open(w, m.run);
}

static inline void await_replies(world *w, const uar_status *status, size_t count) {
    for (size_t i = 0; i < count; i++)
        FAULT_EXPECT(status[i] == UAR_OK, "call %zu of a round answers %s", i, uar_status_name(status[i]));
    bool all = world_drive(w, has_replies, NULL, w->glance_ms);
    FAULT_EXPECT(all || is_stuck(w), "a reply never comes");
}

static inline void replies_are_due(world *w, size_t count) {
    mutex_lock(&w->lock);
    w->replies_due += (unsigned)count;
    mutex_unlock(&w->lock);
}

static inline void read_some(world *w) {
    uar_str none = uar_str_of(NULL);
    uar_status status[4];
    replies_are_due(w, 4);
    status[0] = uar_session_list(w->rt, "local", "me", none, 10, on_own_reply, w, NULL);
    status[1] = uar_message_list(w->rt, "local", "me", "s", 0, 10, on_own_reply, w, NULL);
    status[2] = uar_run_list(w->rt, "local", "me", none, 10, on_own_reply, w, NULL);
    status[3] = uar_counter_add(w->rt, "local", "n", 1, on_own_reply, w, NULL);
    await_replies(w, status, 4);
}

/* What a host keeps beside its runs: types, settings, policies, blocks, attachments. */
static inline void keep_some(world *w) {
    static const char content[200 * 1024];
    uar_str none = uar_str_of(NULL), whole = uar_str_n(content, sizeof content);
    uar_setting_type type = { .key = uar_str_of("ui.*"), .schema = uar_str_of("{}"), .revision = UAR_ANY_REVISION };
    uar_session_policy policy = { .max_steps = 3, .revision = UAR_ANY_REVISION };
    uar_block_place place = { UAR_BLOCK_PLACE_INIT, .scope = UAR_BLOCK_USER, .user = "me" };
    uar_block block = { .label = uar_str_of("n"), .limit = 9, .revision = UAR_ANY_REVISION };
    uar_attachment_writer *writer = NULL;
    uar_status status[10];
    if (is_stuck(w)) return;
    FAULT_EXPECT(uar_attachment_writer_new(&writer, w->rt, "local", "me", NULL, NULL) == UAR_OK, "no writer");
    replies_are_due(w, 10);
    status[0] = uar_setting_type_put(w->rt, "local", &type, false, on_own_reply, w, NULL);
    status[1] = uar_setting_put(w->rt, "local", "ui.a", uar_str_of("1"), on_own_reply, w, NULL);
    status[2] = uar_session_policy_put(w->rt, "local", "me", "s", &policy, on_own_reply, w, NULL);
    status[3] = uar_block_put(w->rt, "local", &place, &block, on_own_reply, w, NULL);
    status[4] = uar_attachment_put(w->rt, "local", "me", NULL, whole, on_own_reply, w, NULL);
    status[5] = uar_attachment_write(writer, whole, on_own_reply, w, NULL);
    status[6] = uar_cost_list(w->rt, "local", NULL, NULL, none, 10, on_own_reply, w, NULL);
    status[7] = uar_usage_load(w->rt, "local", on_own_reply, w, NULL);
    status[8] = uar_attachment_list(w->rt, "local", "me", none, 10, on_own_reply, w, NULL);
    status[9] = uar_attachment_sweep(w->rt, UINT64_MAX, on_own_reply, w, NULL);
    await_replies(w, status, 10);
    uar_attachment_writer_free(writer);
}

/* The memory without a run: whatever the embedder does, what is acknowledged is there and is found by its words. */
static inline void remember_some(world *w) {
    static unsigned round;
    char text[64];
    uar_identity who = { UAR_IDENTITY_INIT, .user = uar_str_of("me") };
    uar_memory_change change;
    uar_memory_hits *hits = NULL;
    if (w->memory == NULL) return;
    (void)snprintf(text, sizeof text, "the walrus%u lives near the harbour", ++round);
    uar_memory_draft d = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of(text) };
    w->direct = true;
    uar_status status = uar_memory_add_sync(&change, w->memory, &who, &d, NULL);
    FAULT_EXPECT(status == UAR_OK, "adding answers %s", uar_status_name(status));
    status = uar_memory_search_sync(&hits, w->memory, &who, uar_str_of(text), NULL, 3, NULL);
    FAULT_EXPECT(status == UAR_OK, "searching answers %s", uar_status_name(status));
    FAULT_EXPECT(hits != NULL && hits->count > 0 && uar_uuid_equal(hits->hits[0].record.id, change.id),
                 "what was added is not found");
    uar_memory_hits_free(hits);
    (void)uar_memory_reembed_sync(w->memory, NULL, NULL, NULL);
    w->direct = false;
}

/* When the fault is over, nothing is left of it. */
static inline void memory_is_whole(world *w) {
    uar_error err = UAR_ERROR_INIT;
    if (w->memory == NULL) return;
    w->direct = true;
    uar_status status = uar_memory_check_sync(w->memory, &err);
    FAULT_EXPECT(status == UAR_OK, "the memory is not whole: %s", err.message);
    bool later = w->door != DOOR_EMBED || atomic_load(&w->fired);
    status = later ? uar_memory_reembed_sync(w->memory, NULL, NULL, &err) : UAR_OK;
    FAULT_EXPECT(status == UAR_OK, "embedding what is left answers %s", err.message);
    uar_memory_embedding e;
    uar_memory_embedding_init(&e);
    status = uar_memory_embedding_sync(&e, w->memory, NULL);
    FAULT_EXPECT(status == UAR_OK && (!later || e.unembedded == 0), "records stay without a vector");
    w->direct = false;
}

static inline void forget_memory(world *w) {
    if (w->memory == NULL) return;
    uar_memory_free(w->memory);
    w->memory = NULL;
    FAULT_EXPECT(w->destroyed[4] == 1, "destroy of the embedder was called %u times", w->destroyed[4]);
}

static inline void day(world *w) {
    remember_some(w);
    turn(w, "s", "tool");
    if (w->memory != NULL) turn(w, "s", "My sister is called Ada. I live in Oslo."); /* something to be captured */
    turn(w, "s", "ask");
    turn(w, "s", "retry");
    cancelled_turn(w, "hold", holds_stream);
    cancelled_turn(w, "slow", runs_slow);
    if (!is_stuck(w)) read_some(w);
    keep_some(w);
}

/* What was started from inside ends too. */
static inline void end_all(world *w) {
    uar_run_id id;
    for (size_t i = 0; run_at(w, i, &id) && !is_stuck(w); i++) {
        (void)world_drive(w, run_has_ended, &id, w->glance_ms);
        cancel_if_open(w, id);
    }
}

/* Not if the fault is still to come, at the close. */
static inline void later_runs_work(world *w) {
    if (is_stuck(w) || !atomic_load(&w->fired)) return;
    w->glance_ms = w->patience_ms;
    uar_status same = world_say_in(w, "s", "plain", NULL), other = world_say_in(w, "t", "plain", NULL);
    FAULT_EXPECT(same == UAR_OK, "a later run of the session answers %s", uar_status_name(same));
    FAULT_EXPECT(other == UAR_OK, "a later run of another session answers %s", uar_status_name(other));
}

static inline void judge_events(world *w, const bool *ended, uar_close_mode mode) {
    char text[160];
    for (size_t i = 0; i < w->run_count; i++) {
        verdict v = ended[i] || mode == UAR_CLOSE_CANCEL ? VERDICT_ENDED : VERDICT_EITHER;
        const char *fault = witness_fault(w->heard.items, w->heard.count, w->runs[i], v, text);
        FAULT_EXPECT(fault == NULL, "run %zu of %zu: %s", i + 1, w->run_count, fault);
    }
    FAULT_EXPECT(w->heard.lost == 0, "the witness is too small");
}

static inline void judge_destroy(const world *w) {
    static const unsigned expected[4] = { 1, 1, 3, 1 };
    static const char *const names[4] = { "store", "model", "tools", "sink" };
    for (size_t i = 0; i < 4; i++)
        FAULT_EXPECT(w->destroyed[i] == expected[i], "destroy of the %s was called %u times", names[i],
                     w->destroyed[i]);
}

/* One case. True if the callback went wrong; `calls` is how often the door was called. */
static inline bool callback_run(const callback_case *c, unsigned long *calls) {
    fault_port port;
    port_init(&port);
    (void)snprintf(fault_case, sizeof fault_case, "%s_%s:%lu:%s", c->threading == UAR_THREADS_POOL ? "pool" : "manual",
                   door_word(c->door), c->index, way_word(c->way));
    (void)alarm(CASE_SECONDS);
    int64_t live = uar_live_objects();
    world *w = world_new(&port);
    w->threading = c->threading;
    w->door = c->door;
    w->index = c->index;
    w->way = c->way;
    if (c->threading == UAR_THREADS_POOL) {
        w->patience_ms = 20000;
        w->glance_ms = c->way == WAY_NEVER || c->way == WAY_LATE ? 1300 : w->patience_ms;
    }
    if (c->memory != NULL) {
        store_files_remove(c->memory);
        world_remember(w, c->memory);
    }
    world_must_build(w);
    day(w);
    end_all(w);
    later_runs_work(w);
    memory_is_whole(w);
    bool ended[RUNS_MAX] = { false };
    uar_run_id id;
    for (size_t i = 0; run_at(w, i, &id); i++)
        ended[i] = run_has_ended(w, &id);
    uar_close_mode mode = (c->index + (unsigned)c->way) % 2 == 0 ? UAR_CLOSE_CANCEL : UAR_CLOSE_PARK;
    uar_status status = world_close_runtime(w, mode, CLOSE_MS);
    FAULT_EXPECT(status == UAR_OK || (status == UAR_E_TIMEOUT && is_stuck(w)), "close answers %s",
                 uar_status_name(status));
    judge_events(w, ended, mode);
    FAULT_EXPECT(w->replies == w->replies_due, "%u replies where %u were due", w->replies, w->replies_due);
    world_let_go(w);
    judge_destroy(w);
    forget_memory(w);
    bool fired = atomic_load(&w->fired);
    *calls = atomic_load(&w->calls[c->door]);
    world_free(w);
    long alive = atomic_load(&port.alive);
    FAULT_EXPECT(alive == 0, "leaks %ld blocks", alive);
    int64_t more = uar_live_objects() - live;
    FAULT_EXPECT(more == 0, "leaves %lld objects alive", (long long)more);
    (void)alarm(0);
    return fired;
}

typedef struct callback_tally {
    unsigned long calls, cases, faults;
} callback_tally;

/* Whether an index is tried, when `tenths` of a case a way are wanted. */
static inline bool callback_is_chosen(const callback_case *c, unsigned long calls, unsigned long tenths) {
    char name[64];
    bool waits = is_store_door(c->door) && (c->way == WAY_NEVER || c->way == WAY_LATE);
    unsigned long few = waits ? (tenths + 3) / 4 : tenths; /* the close takes its whole deadline */
    (void)snprintf(name, sizeof name, "%s_%s", door_word(c->door), way_word(c->way));
    return is_full() || choice_of(name, c->index) % (10 * calls) < few;
}

/* All of a door, thinned to about `tenths` tenths of a case a way. */
static inline callback_tally callback_sweep(uar_threading threading, door d, unsigned long tenths, const char *memory) {
    callback_tally tally = { 0, 0, 0 };
    callback_case c = { threading, d, 0, WAY_RIGHT, memory };
    unsigned long calls = 0;
    char name[64], word[32];
    (void)snprintf(name, sizeof name, "%s_%s", threading == UAR_THREADS_POOL ? "pool" : "manual", door_word(d));
    bool asked = fault_asked(name, &c.index, word);
    unsigned long first = asked ? c.index : 1, last = c.index;
    if (!asked) (void)callback_run(&c, &tally.calls);
    if (!asked) last = tally.calls;
    for (int v = WAY_ERROR; v < WAY_COUNT; v++) {
        c.way = (way)v;
        if (!door_knows(d, c.way) || (asked && strcmp(word, way_word(c.way)) != 0)) continue;
        for (c.index = first; c.index <= last; c.index++) {
            if (!asked && !callback_is_chosen(&c, tally.calls, tenths)) continue;
            tally.cases++;
            tally.faults += callback_run(&c, &calls);
        }
    }
    return tally;
}

#endif
