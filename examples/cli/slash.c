/* Commands of a chat: see slash.h. One line of the table each. */
#include "slash.h"

#include "conversation.h"
#include "memory_args.h"
#include "memory_out.h"
#include "output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HITS_SHOWN = 10, SESSIONS_A_PAGE = 200 };

typedef struct slash {
    const char *name;
    const char *operand;
    const char *docs;
    bool (*run)(desk *d, const char *operand, int *code); /* false ends the chat */
} slash;

static bool help(desk *d, const char *operand, int *code);

static void say_memory_state(desk *d) {
    uar_error reason = UAR_ERROR_INIT;
    bool on = uar_memory_state(desk_memory(d), &reason) != UAR_MEMORY_UNAVAILABLE && desk_memory(d) != NULL;
    if (desk_memory(d) == NULL) {
        fprintf(stderr, "memory: off (begin with --memory, or: uar settings set memory.enabled true)\n");
    } else if (!on || !desk_app(d)->quiet) {
        desk_greet(d);
    }
}

static bool memory(desk *d, const char *operand, int *code) {
    const app *a = desk_app(d);
    uar_identity who = identity_of(a);
    uar_error err = UAR_ERROR_INIT;
    uar_memory_hits *hits = NULL;
    uar_memory_records *records = NULL;
    (void)code;
    if (operand[0] == '\0' || uar_memory_state(desk_memory(d), NULL) < UAR_MEMORY_READY) say_memory_state(d);
    if (uar_memory_state(desk_memory(d), NULL) < UAR_MEMORY_READY) return true;
    uar_status status = UAR_OK;
    if (operand[0] != '\0') {
        status = uar_memory_search_sync(&hits, desk_memory(d), &who, uar_str_of(operand), NULL, HITS_SHOWN, &err);
    } else {
        status = uar_memory_list_sync(&records, desk_memory(d), &who, NULL, uar_str_of(NULL), HITS_SHOWN, &err);
    }
    if (status != UAR_OK) report_error(a, &err, "memory");
    if (hits != NULL) print_hits(a, hits);
    for (size_t i = 0; records != NULL && i < records->count; i++)
        print_record(a, &records->records[i]);
    uar_memory_hits_free(hits);
    uar_memory_records_free(records);
    return true;
}

static void print_session(const app *a, const uar_session *s) {
    text_buffer line = { 0 };
    char rest[64];
    text_add_z(&line, uar_str_equal(s->session, uar_str_of(a->session)) ? "* " : "  ");
    text_add_visible(&line, s->session, false);
    snprintf(rest, sizeof rest, " (%" PRIu64 " message%s)\n", s->messages, s->messages == 1 ? "" : "s");
    text_add_z(&line, rest);
    output_bytes(line.data, line.len);
    text_free(&line);
}

static void list_sessions(desk *d) {
    const app *a = desk_app(d);
    text_buffer cursor = { 0 };
    size_t shown = 0;
    bool more = true;
    while (more) {
        uar_error err = UAR_ERROR_INIT;
        uar_reply *reply = NULL;
        if (uar_session_list_sync(&reply, desk_runtime(d), a->owner, a->user, text_str(&cursor), SESSIONS_A_PAGE,
                                  &err) != UAR_OK) {
            report_error(a, &err, "the sessions");
            uar_reply_free(reply);
            break;
        }
        for (size_t i = 0; i < reply->count; i++)
            print_session(a, &reply->sessions[i]);
        shown += reply->count;
        cursor.len = 0;
        more = reply->cursor.ptr != NULL && output_fault() == 0;
        if (more) text_add(&cursor, reply->cursor.ptr, reply->cursor.len);
        uar_reply_free(reply);
    }
    if (shown == 0) fprintf(stderr, "there is no session yet; this one begins with your first line\n");
    text_free(&cursor);
}

static bool sessions(desk *d, const char *operand, int *code) {
    (void)code;
    if (operand[0] == '\0') {
        list_sessions(d);
    } else if (!is_host_id(operand)) {
        report_usage(desk_app(d), NULL, "a session is 1 to 128 bytes without control characters");
    } else {
        desk_use_session(d, operand);
        conversation_name_session(d, NULL);
    }
    return true;
}

static bool model(desk *d, const char *operand, int *code) {
    if (operand[0] != '\0') {
        int now = desk_use_model(d, operand);
        if (now == CODE_USAGE) return true;
        *code = now;
        if (now != CODE_OK) return false;
    }
    text_buffer shown = { 0 };
    text_add_visible(&shown, uar_str_of(desk_app(d)->model), false);
    fprintf(stderr, "model: %s\n", shown.data);
    text_free(&shown);
    return true;
}

static bool quit(desk *d, const char *operand, int *code) {
    (void)d;
    (void)operand;
    *code = CODE_OK;
    return false;
}

static const slash slashes[] = {
    { "help", "", "this list", help },
    { "memory", "[QUERY]", "how memory stands and what is new in it, or what it finds", memory },
    { "sessions", "[NAME]", "your sessions, or go on in another one", sessions },
    { "model", "[SPEC]", "the model, or go on with another one", model },
    { "quit", "", "end the chat; so do /exit and Ctrl-D", quit },
    { "exit", "", NULL, quit },
};

enum { SLASH_COUNT = sizeof slashes / sizeof slashes[0] };

static bool help(desk *d, const char *operand, int *code) {
    (void)d;
    (void)operand;
    (void)code;
    for (size_t i = 0; i < SLASH_COUNT; i++) {
        char left[64];
        if (slashes[i].docs == NULL) continue;
        snprintf(left, sizeof left, "/%s%s%s", slashes[i].name, slashes[i].operand[0] != '\0' ? " " : "",
                 slashes[i].operand);
        fprintf(stderr, "  %-18s %s\n", left, slashes[i].docs);
    }
    fprintf(stderr, "  %-18s %s\n", "//TEXT", "say a text that begins with /");
    fprintf(stderr, "Ctrl-C ends an answer, at the prompt it clears the line; twice ends the chat.\n");
    return true;
}

bool slash_take(desk *d, const char *line, int *code) {
    size_t len = strcspn(line + 1, " \t");
    const char *operand = line + 1 + len + strspn(line + 1 + len, " \t");
    char *kept = must_copy(uar_str_of(operand));
    for (size_t end = strlen(kept); end > 0 && strchr(" \t", kept[end - 1]) != NULL; end--)
        kept[end - 1] = '\0';
    const slash *found = NULL;
    for (size_t i = 0; i < SLASH_COUNT && found == NULL; i++)
        if (strlen(slashes[i].name) == len && memcmp(slashes[i].name, line + 1, len) == 0) found = &slashes[i];
    bool open = true;
    if (found == NULL) {
        report_usage(desk_app(d), "/help lists commands, // sends a text that begins with /",
                     "there is no command '%.*s'", (int)(len < 100 ? len + 1 : 100), line);
    } else if (found->operand[0] == '\0' && kept[0] != '\0') {
        report_usage(desk_app(d), NULL, "/%s takes nothing behind it", found->name);
    } else {
        open = found->run(d, kept, code);
    }
    free(kept);
    return open;
}
