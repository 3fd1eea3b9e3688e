/* Reads the stores of a case through the public API and holds them against the notes. Owns nothing. */
#include "scene_checks.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uar/uar.h>
#include <unistd.h>

#include "store_check.h"

enum { MESSAGES_MOST = 1000 };

static bool is(const note *n, const char *verb) {
    return strcmp(n->words[0], verb) == 0;
}

static bool text_is(uar_str text, const char *z) {
    return uar_str_equal(text, uar_str_of(z));
}

static bool id_is(uar_uuid id, const char *z) {
    char text[UAR_UUID_TEXT];
    uar_uuid_format(text, id);
    return strcmp(text, z) == 0;
}

/* ---- turns and calls ---- */

typedef struct reading {
    case_result *r;
    const notes *told;
    const uar_message *list;
    size_t count;
} reading;

static const uar_message *find_message(const reading *d, const char *run, uar_role role) {
    for (size_t i = 0; i < d->count; i++)
        if (d->list[i].role == role && id_is(d->list[i].run, run)) return &d->list[i];
    return NULL;
}

/* The answer quotes the question. */
static void check_turn(const reading *d, const note *n) {
    const uar_message *question = find_message(d, n->words[1], UAR_ROLE_USER), *answer = NULL;
    for (size_t i = 0; i < d->count; i++)
        if (id_is(d->list[i].id, n->words[2])) answer = &d->list[i];
    if (question == NULL || answer == NULL) {
        d->r->lost++;
        return;
    }
    char expected[NOTE_WORD + 8];
    (void)snprintf(expected, sizeof expected, "heard: %.*s", (int)question->parts[0].text.len,
                   question->parts[0].text.ptr);
    if (answer->part_count != 1 || answer->interrupted || !text_is(answer->parts[0].text, expected))
        case_fail(d->r, "the answer to %.*s is stored otherwise", (int)question->parts[0].text.len,
                  question->parts[0].text.ptr);
}

static size_t count_parts(const reading *d, const char *run, const char *call, uar_part_type type, uar_str *text) {
    size_t found = 0;
    for (size_t i = 0; i < d->count; i++) {
        const uar_message *m = &d->list[i];
        for (size_t p = 0; p < m->part_count && id_is(m->run, run); p++) {
            if (m->parts[p].type != type || !text_is(m->parts[p].call, call)) continue;
            *text = m->parts[p].text;
            found++;
        }
    }
    return found;
}

/* A call that ran was stored before; a result that was told is stored, once. */
static void check_call(const reading *d, const note *n) {
    uar_str text = uar_str_of("");
    bool ended = is(n, "end");
    size_t found = count_parts(d, n->words[1], n->words[2], ended ? UAR_PART_TOOL_RESULT : UAR_PART_TOOL_CALL, &text);
    if (found == 0) d->r->lost++;
    if (found > 1) case_fail(d->r, "%s %s is stored %zu times", n->words[0], n->words[2], found);
    if (ended && found == 1 && !text_is(text, n->words[2])) case_fail(d->r, "the result of %s is another", n->words[2]);
}

static bool is_done(const reading *d, uar_run_id run) {
    for (size_t i = 0; i < d->told->count; i++)
        if (is(&d->told->list[i], "turn") && id_is(run, d->told->list[i].words[1])) return true;
    return false;
}

/* Numbers that the results of a cut turn would have had are the only ones that may be missing. */
static void check_numbers(const reading *d) {
    uint64_t next = 1, spare = 0;
    for (size_t i = 0; i < d->count; i++) {
        const uar_message *m = &d->list[i];
        if (m->number < next || m->number > next + spare)
            case_fail(d->r, "number %llu follows %llu", (unsigned long long)m->number, (unsigned long long)(next - 1));
        spare -= m->number >= next && m->number - next <= spare ? m->number - next : spare;
        next = m->number + 1;
        if (m->role == UAR_ROLE_ASSISTANT || m->role == UAR_ROLE_USER) spare = 0;
        for (size_t p = 0; p < m->part_count && !is_done(d, m->run); p++)
            spare += m->parts[p].type == UAR_PART_TOOL_CALL;
    }
}

static void read_state(case_result *r, const notes *told, uar_runtime *rt) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    uar_status status = uar_message_list_sync(&reply, rt, "local", "me", "default", 0, MESSAGES_MOST, &err);
    if (status != UAR_OK && status != UAR_E_NOT_FOUND) case_fail(r, "messages: %s", err.message);
    reading d = {
        .r = r, .told = told, .list = reply != NULL ? reply->messages : NULL, .count = reply != NULL ? reply->count : 0
    };
    for (size_t i = 0; i < told->count; i++) {
        const note *n = &told->list[i];
        if (is(n, "turn")) check_turn(&d, n);
        if (is(n, "call") || is(n, "end")) check_call(&d, n);
        if (is(n, "failed")) case_fail(r, "call %s failed", n->words[2]);
    }
    check_numbers(&d);
    uar_reply_free(reply);
}

/* ---- settings, agents, counters ---- */

/* The last value that was stored for sure, and the one that was tried after it. */
static void last_values(const notes *told, const char *verb, const char *key, const char **sure, const char **maybe) {
    *sure = *maybe = NULL;
    for (size_t i = 0; i < told->count; i++) {
        const note *n = &told->list[i];
        if (!is(n, verb) || strcmp(n->words[1], key) != 0) continue;
        if (n->done) *sure = n->words[2];
        *maybe = n->done ? NULL : n->words[2];
    }
}

static void check_value(case_result *r, const notes *told, const char *verb, const char *key, bool found,
                        uar_str value) {
    const char *sure, *maybe;
    last_values(told, verb, key, &sure, &maybe);
    if (sure == NULL) return;
    if (!found || !(text_is(value, sure) || (maybe != NULL && text_is(value, maybe)))) r->lost++;
}

static void read_settings(case_result *r, const notes *told, uar_runtime *rt) {
    for (unsigned i = 0; i < 2; i++) {
        char key[16];
        uar_reply *setting = NULL, *agent = NULL;
        (void)snprintf(key, sizeof key, "key%u", i);
        bool has_setting = uar_setting_get_sync(&setting, rt, "local", key, NULL) == UAR_OK && setting->count == 1;
        bool has_agent = uar_agent_load_sync(&agent, rt, "local", key, NULL) == UAR_OK && agent->count == 1;
        check_value(r, told, "set", key, has_setting, has_setting ? setting->settings[0].value : uar_str_of(""));
        check_value(r, told, "agent", key, has_agent, has_agent ? agent->agents[0].name : uar_str_of(""));
        uar_reply_free(setting);
        uar_reply_free(agent);
    }
}

static void read_counter(case_result *r, const notes *told, uar_runtime *rt) {
    uint64_t sure = 0, tried = 0;
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    for (size_t i = 0; i < told->count; i++) {
        if (!is(&told->list[i], "count")) continue;
        sure += told->list[i].done;
        tried += !told->list[i].done;
    }
    if (tried == 0) return;
    if (uar_counter_load_sync(&reply, rt, "local", "counter", &err) != UAR_OK) {
        case_fail(r, "counter: %s", err.message);
        return;
    }
    if (reply->number < sure) r->lost++;
    if (reply->number > tried)
        case_fail(r, "%llu was counted, only %llu were tried", (unsigned long long)reply->number,
                  (unsigned long long)tried);
    uar_reply_free(reply);
}

/* ---- memory ---- */

typedef struct fate {
    const char *sure, *maybe; /* its text, and the one of an update that was tried */
    bool erased, maybe_erased;
} fate;

static fate fate_of(const notes *told, const char *id) {
    fate f = { NULL, NULL, false, false };
    for (size_t i = 0; i < told->count; i++) {
        const note *n = &told->list[i];
        if (strcmp(n->words[1], id) != 0) continue;
        if (is(n, "add")) f.sure = n->words[2];
        if (is(n, "update") && n->done) f.sure = n->words[2];
        if (is(n, "update")) f.maybe = n->done ? NULL : n->words[2];
        if (is(n, "erase") && n->done) f.erased = true;
        if (is(n, "erase")) f.maybe_erased = !n->done;
    }
    return f;
}

static void check_record(case_result *r, uar_memory *memory, const notes *told, const char *id) {
    fate f = fate_of(told, id);
    uar_uuid key;
    uar_memory_records *found = NULL;
    uar_identity who = { UAR_IDENTITY_INIT, .user = uar_str_of("me") };
    if (uar_uuid_parse(&key, uar_str_of(id)) != UAR_OK) abort();
    uar_status status = uar_memory_get_sync(&found, memory, &who, key, NULL);
    if (status == UAR_OK) {
        uar_str text = found->records[0].content;
        if (f.erased)
            case_fail(r, "record %s is back after its erasure", id);
        else if (!text_is(text, f.sure) && !(f.maybe != NULL && text_is(text, f.maybe)))
            r->lost++;
    } else if (!(status == UAR_E_NOT_FOUND && (f.erased || f.maybe_erased))) {
        r->lost++;
    }
    uar_memory_records_free(found);
}

/* What is alive stands in the files; a search that doesn't see it would see nothing of what was erased either. */
static void check_scan(case_result *r, const char *folder, const notes *told) {
    for (size_t i = 0; i < told->count; i++) {
        const note *n = &told->list[i];
        fate f = fate_of(told, n->words[1]);
        if (!is(n, "add") || !n->done || f.erased || f.maybe_erased || f.maybe != NULL) continue;
        if (!folder_has_bytes(folder, f.sure)) case_fail(r, "%s of a record can't be seen in the files", f.sure);
    }
}

static void read_memory(case_result *r, const char *path, const notes *told) {
    uint64_t pending = 0;
    uar_error err = UAR_ERROR_INIT;
    if (access(path, F_OK) != 0) return;
    uar_memory *memory = uar_memory_open(path, NULL);
    for (size_t i = 0; i < told->count; i++)
        if (is(&told->list[i], "add") && told->list[i].done) check_record(r, memory, told, told->list[i].words[1]);
    if (uar_memory_clean_sync(&pending, memory, &err) != UAR_OK || pending != 0)
        case_fail(r, "%llu erasures stay pending: %s", (unsigned long long)pending, err.message);
    uar_memory_free(memory);
}

/* ---- sessions that were deleted ---- */

/* A number that SQLite gives for a count in the store, or -1. */
static long long count_in(const char *path, const char *sql, const char *text) {
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    long long n = -1;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK && sqlite3_busy_timeout(db, 5000) == 0 &&
        sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
        (text == NULL || sqlite3_bind_text(s, 1, text, -1, SQLITE_STATIC) == SQLITE_OK) &&
        sqlite3_step(s) == SQLITE_ROW)
        n = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
    return n;
}

static bool wait_for_sweeps(const char *path) {
    enum { TRIES = 500, PAUSE_MS = 20 };
    for (int i = 0; i < TRIES; i++) {
        if (count_in(path, "SELECT count(*) FROM record WHERE kind=55 AND owner=CAST('~' AS BLOB)", NULL) == 0)
            return true;
        sqlite3_sleep(PAUSE_MS);
    }
    return false;
}

static bool was(const notes *told, const char *verb, const char *session, bool done) {
    for (size_t i = 0; i < told->count; i++)
        if (is(&told->list[i], verb) && strcmp(told->list[i].words[1], session) == 0 && told->list[i].done == done)
            return true;
    return false;
}

static void check_session(case_result *r, const char *path, const notes *told, uar_runtime *rt, const char *session) {
    uar_reply *reply = NULL;
    uar_status status = uar_session_load_sync(&reply, rt, "local", "me", session, NULL);
    bool is_gone = was(told, "delete", session, true), may_be_gone = was(told, "delete", session, false);
    if (status == UAR_OK && is_gone) case_fail(r, "session %s is back", session);
    if (status != UAR_OK && !may_be_gone) r->lost++;
    if (status == UAR_OK && reply->sessions[0].messages != (session[0] == 'k' ? 2u : 16u))
        case_fail(r, "session %s has lost some of its messages", session);
    uar_reply_free(reply);
    if (status == UAR_OK) return;
    long long left = count_in(path,
                              "SELECT count(*) FROM record WHERE kind<>56 AND (instr(id, CAST(?1 AS BLOB))>0 OR"
                              " instr(coalesce(parent, x''), CAST(?1 AS BLOB))>0)",
                              session);
    if (left != 0) case_fail(r, "%lld records of session %s are left", left, session);
}

void check_deleted(case_result *r, const char *folder, const notes *told) {
    char path[192];
    uar_error err = UAR_ERROR_INIT;
    uar_runtime *rt = NULL;
    (void)snprintf(path, sizeof path, "%s/state.db", folder);
    uar_builder_options options = { UAR_BUILDER_OPTIONS_INIT, .single_process = true };
    uar_builder *b = uar_builder_new(&options);
    uar_builder_persistence(b, uar_persistence_sqlite(path, NULL));
    uar_builder_model(b, uar_model_offline());
    if (uar_builder_build(&rt, b, &err) != UAR_OK) {
        case_fail(r, "the store doesn't open: %s", err.message);
        return;
    }
    if (!wait_for_sweeps(path)) case_fail(r, "a deletion never ends");
    for (size_t i = 0; i < told->count && r->fault[0] == '\0'; i++)
        if (is(&told->list[i], "keep")) check_session(r, path, told, rt, told->list[i].words[1]);
    (void)uar_runtime_close(rt, UAR_CLOSE_PARK, 10000);
}

/* ---- the whole ---- */

/* Texts of a record that was erased: the one it was added with, and those of its updates, tried or done. */
static void check_gone(case_result *r, const char *folder, const notes *told, const char *id) {
    for (size_t i = 0; i < told->count; i++) {
        const note *n = &told->list[i];
        if (strcmp(n->words[1], id) != 0 || !(is(n, "add") || is(n, "update"))) continue;
        if (folder_has_bytes(folder, n->words[2]))
            case_fail(r, "%s of an erased record is still in the files", n->words[2]);
    }
}

void check_erased(case_result *r, const char *folder, const notes *told) {
    char path[192];
    (void)snprintf(path, sizeof path, "%s/memory", folder);
    for (size_t i = 0; i < told->count; i++) {
        const note *n = &told->list[i];
        if (is(n, "erase") && n->done && strcmp(n->words[2], "erased") == 0) check_gone(r, path, told, n->words[1]);
    }
}

static void count_acknowledged(case_result *r, const notes *told) {
    for (size_t i = 0; i < told->count; i++)
        r->acked += told->list[i].done && !is(&told->list[i], "points");
}

void check_told(case_result *r, const char *folder, const notes *told, unsigned kills) {
    char state[192], memory[192], folder_of_memory[192];
    uar_error err = UAR_ERROR_INIT;
    (void)snprintf(state, sizeof state, "%s/state.db", folder);
    (void)snprintf(memory, sizeof memory, "%s/memory/memory.db", folder);
    (void)snprintf(folder_of_memory, sizeof folder_of_memory, "%s/memory", folder);
    count_acknowledged(r, told);
    check_erased(r, folder, told);
    if (r->lost == 0 && r->fault[0] == '\0') check_scan(r, folder_of_memory, told);
    if (access(state, F_OK) == 0) {
        uar_builder *b = uar_builder_new(NULL);
        uar_builder_persistence(b, uar_persistence_sqlite(state, NULL));
        uar_builder_model(b, uar_model_offline());
        uar_runtime *rt = NULL;
        if (uar_builder_build(&rt, b, &err) != UAR_OK) {
            case_fail(r, "the store doesn't open: %s", err.message);
            return;
        }
        read_state(r, told, rt);
        read_settings(r, told, rt);
        read_counter(r, told, rt);
        (void)uar_runtime_close(rt, UAR_CLOSE_PARK, 10000);
    }
    read_memory(r, memory, told);
    check_state(r, state, kills);
    check_memory(r, memory);
}
