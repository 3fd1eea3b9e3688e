/*
 * A hub under test: runs nothing by itself (lanes run when the test says so), counts its memory and writes down what a
 * subscriber hears, one line an item: "e1:ChatDelta" or "gap1-4" or "closed".
 */
#ifndef UAR_TESTS_UNIT_EVENT_FIXTURE_H
#define UAR_TESTS_UNIT_EVENT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/executor.h"
#include "event/subscription.h"
#include "support/probe_alloc.h"

typedef struct fixture {
    probe_alloc memory;
    task_queue tasks;
    size_t posts;
    uar_executor executor;
    callouts calls;
    hub_options options;
    hub *hub;
    int64_t live_before;
} fixture;

static inline void fixture_post(void *ctx, uar_task *slot, bool may_block) {
    (void)may_block;
    fixture *f = ctx;
    f->posts++;
    task_push(&f->tasks, slot);
}

static inline void fixture_open(fixture *f) {
    memset(f, 0, sizeof *f);
    f->live_before = uar_live_objects();
    probe_alloc_init(&f->memory);
    f->executor = (uar_executor){ UAR_EXECUTOR_INIT, .ctx = f, .post = fixture_post };
    assert_int_equal(callouts_init(&f->calls), UAR_OK);
    f->options =
        (hub_options){ .alloc = f->memory.door, .clock = &clock_default, .executor = &f->executor, .calls = &f->calls };
    assert_int_equal(hub_new(&f->hub, &f->options), UAR_OK);
}

static inline bool fixture_run_one(fixture *f) {
    uar_task *task = task_pop(&f->tasks);
    if (task == NULL) return false;
    task->fn(task->arg);
    return true;
}

static inline void fixture_run(fixture *f) {
    while (fixture_run_one(f))
        continue;
}

/* Closes the hub and checks that nothing is left of it. */
static inline void fixture_close(fixture *f) {
    if (f->hub != NULL) hub_close(f->hub);
    f->hub = NULL;
    fixture_run(f);
    callouts_dispose(&f->calls);
    assert_int_equal(f->memory.alive, 0);
    assert_int_equal(uar_live_objects(), f->live_before);
}

static inline uar_uuid uuid_of(unsigned n) {
    uar_uuid id = { { 0x01, 0x90, 0, 0, 0, 0, 0x70, 0, 0x80 } };
    id.bytes[12] = (uint8_t)(n >> 24);
    id.bytes[13] = (uint8_t)(n >> 16);
    id.bytes[14] = (uint8_t)(n >> 8);
    id.bytes[15] = (uint8_t)n;
    return id;
}

static inline event_origin *origin_of(fixture *f, const char *owner, const char *user, const char *session,
                                      unsigned run) {
    event_identity identity = { .run = run != 0 ? uuid_of(run) : (uar_uuid){ { 0 } },
                                .owner = uar_str_of(owner),
                                .user = uar_str_of(user),
                                .session = uar_str_of(session),
                                .agent = uar_str_of("assistant") };
    event_origin *origin = event_origin_new(&f->memory.door, &identity);
    assert_non_null(origin);
    return origin;
}

/* A channel of run `run`, of owner "local", user "me", session "default" unless said otherwise. */
static inline channel *open_run_of(fixture *f, const char *owner, const char *user, const char *session, unsigned run,
                                   uint64_t epoch, const ring_limits *limits) {
    event_origin *origin = origin_of(f, owner, user, session, run);
    channel *ch = NULL;
    assert_int_equal(hub_open_channel(&ch, f->hub, origin, epoch, limits), UAR_OK);
    event_origin_unref(origin);
    return ch;
}

static inline channel *open_run(fixture *f, unsigned run) {
    return open_run_of(f, "local", "me", "default", run, 0, NULL);
}

static inline uar_status publish(channel *ch, uar_event_kind kind, const void *payload) {
    return channel_publish(ch, event_new(ch->origin, kind, payload));
}

static inline uar_status publish_delta(channel *ch, const char *text) {
    uar_event_chat_delta delta = { .message = uuid_of(900), .text = uar_str_of(text) };
    return publish(ch, UAR_EVENT_CHAT_DELTA, &delta);
}

static inline void publish_deltas(channel *ch, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_int_equal(publish_delta(ch, "x"), UAR_OK);
}

static inline uar_status publish_done(channel *ch) {
    uar_event_run_done done = { .message = uuid_of(900) };
    return publish(ch, UAR_EVENT_RUN_DONE, &done);
}

/* What a subscriber heard. */
typedef struct ear {
    char heard[1 << 16];
    size_t len;
    size_t events, gaps, closes, destroys;
    uint64_t last_id;
    char text[4096]; /* of the last gap's snapshot */
    uar_run_state state;
    uar_gap gap;
} ear;

__attribute__((format(printf, 2, 3))) static inline void ear_note(ear *e, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(e->heard + e->len, sizeof e->heard - e->len, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof e->heard - e->len);
    e->len += (size_t)n;
}

static inline void ear_event(void *ctx, const uar_event *event) {
    ear *e = ctx;
    assert_int_equal(e->destroys, 0);
    e->events++;
    e->last_id = event->id;
    if (e->events <= 64) ear_note(e, "e%" PRIu64 ":%s ", event->id, uar_event_kind_name(event->kind));
}

static inline void ear_gap(void *ctx, const uar_gap *gap) {
    ear *e = ctx;
    assert_int_equal(e->destroys, 0);
    e->gaps++;
    e->gap = *gap;
    e->gap.snapshot = NULL;
    e->text[0] = '\0';
    ear_note(e, "gap%" PRIu64 "-%" PRIu64 " ", gap->first, gap->last);
    if (gap->snapshot == NULL) return;
    assert_int_equal(gap->snapshot->last_event, gap->last);
    assert_true(uar_uuid_equal(gap->snapshot->run, gap->run));
    size_t n = gap->snapshot->text.len < sizeof e->text - 1 ? gap->snapshot->text.len : sizeof e->text - 1;
    memcpy(e->text, gap->snapshot->text.ptr, n);
    e->text[n] = '\0';
    e->state = gap->snapshot->state;
}

static inline void ear_closed(void *ctx, uar_run_id run) {
    (void)run;
    ear *e = ctx;
    assert_int_equal(e->destroys, 0);
    e->closes++;
    ear_note(e, "closed ");
}

static inline void ear_destroy(void *ctx) {
    ear *e = ctx;
    e->destroys++;
}

static inline uar_subscribe_options listen_to(ear *e, const char *owner) {
    return (uar_subscribe_options){ .size = UAR_SUBSCRIBE_OPTIONS_INIT,
                                    .owner = owner,
                                    .ctx = e,
                                    .on_event = ear_event,
                                    .on_gap = ear_gap,
                                    .on_closed = ear_closed,
                                    .destroy = ear_destroy };
}

static inline uar_subscription *subscribe(fixture *f, const uar_subscribe_options *options) {
    uar_subscription *sub = NULL;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(subscription_open(&sub, f->hub, options, &err), UAR_OK);
    assert_non_null(sub);
    return sub;
}

/* Listen to one run, from behind event `after`, or live if it is UINT64_MAX. */
static inline uar_subscription *subscribe_run(fixture *f, ear *e, unsigned run, uint64_t after) {
    uar_subscribe_options options = listen_to(e, "local");
    options.run = uuid_of(run);
    options.has_after = after != UINT64_MAX;
    options.after = options.has_after ? after : 0;
    return subscribe(f, &options);
}

static inline uar_subscription *pull_run(fixture *f, unsigned run, uint64_t after) {
    uar_subscribe_options options = {
        .size = UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local", .run = uuid_of(run), .has_after = true, .after = after
    };
    return subscribe(f, &options);
}

/* Collects what a projection writes. */
typedef struct page {
    char bytes[1 << 16];
    size_t len;
    size_t writes;
} page;

static inline uar_status page_write(void *ctx, const char *bytes, size_t len) {
    page *p = ctx;
    assert_true(len < sizeof p->bytes - p->len);
    memcpy(p->bytes + p->len, bytes, len);
    p->len += len;
    p->bytes[p->len] = '\0';
    p->writes++;
    return UAR_OK;
}

#endif
