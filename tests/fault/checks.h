/*
 * What must hold after each case, whatever failed: every run ends and closes, its events keep the rules, and all that is
 * stored can be read and agrees.
 */
#ifndef UAR_TESTS_FAULT_CHECKS_H
#define UAR_TESTS_FAULT_CHECKS_H

#include "fault/world.h"

static inline void end_runs(world *w) {
    for (size_t i = 0; i < w->run_count; i++) {
        uar_run_id id = w->runs[i];
        if (!run_has_ended(w, &id)) {
            (void)uar_run_cancel(w->rt, id, UAR_CANCEL_NOW, NULL, NULL);
            FAULT_EXPECT(world_drive(w, run_has_ended, &id, 60000), "a run hangs");
        }
        FAULT_EXPECT(world_drive(w, run_has_closed, &id, 60000), "a run never closes");
    }
}

static inline void check_events(world *w) {
    char text[160];
    for (size_t i = 0; i < w->run_count; i++) {
        const char *fault = witness_fault(w->heard.items, w->heard.count, w->runs[i], VERDICT_ENDED, text);
        FAULT_EXPECT(fault == NULL, "events: %s", fault);
    }
    FAULT_EXPECT(w->heard.lost == 0, "the witness is too small");
}

static inline void check_messages(world *w, const char *session, uint64_t expected) {
    char id[64];
    uar_reply *reply = NULL;
    (void)snprintf(id, sizeof id, "%s", session);
    uar_status status = uar_message_list_sync(&reply, w->rt, "local", "me", id, 0, 1000, NULL);
    FAULT_EXPECT(status == UAR_OK, "messages don't load: %s", uar_status_name(status));
    if (status != UAR_OK) return;
    FAULT_EXPECT(reply->count == expected, "%zu messages where the session says %llu", reply->count,
                 (unsigned long long)expected);
    for (size_t i = 1; i < reply->count; i++)
        FAULT_EXPECT(reply->messages[i].number > reply->messages[i - 1].number, "message numbers don't rise");
    uar_reply_free(reply);
}

/* Everything that is stored can be read and agrees. */
static inline void check_store(world *w) {
    uar_reply *reply = NULL;
    uar_status status = uar_session_list_sync(&reply, w->rt, "local", "me", uar_str_of(NULL), 100, NULL);
    FAULT_EXPECT(status == UAR_OK, "sessions don't load: %s", uar_status_name(status));
    for (size_t i = 0; status == UAR_OK && i < reply->count; i++) {
        char id[64];
        (void)snprintf(id, sizeof id, "%.*s", (int)reply->sessions[i].session.len, reply->sessions[i].session.ptr);
        check_messages(w, id, reply->sessions[i].messages);
    }
    if (status == UAR_OK) uar_reply_free(reply);
    status = uar_run_list_sync(&reply, w->rt, "local", "me", uar_str_of(NULL), 100, NULL);
    FAULT_EXPECT(status == UAR_OK, "runs don't load: %s", uar_status_name(status));
    if (status == UAR_OK) uar_reply_free(reply);
}

#endif
