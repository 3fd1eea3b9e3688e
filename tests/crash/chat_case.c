/*
 * One kill of `uar chat`: lines go in, events come out; RunDone acknowledges a turn, MemoryMutation a record of memory.
 * Afterwards the session holds every acknowledged turn byte for byte, at most one more, and numbers without a hole; the open
 * run is called interrupted within three seconds; a new chat goes on.
 */
#include "cli_cases.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum { EARLIER = 2, TURNS = 6, LATER = 1, ALL_TURNS = EARLIER + TURNS + LATER, LINE_MOST = 4000, CAPTURES = 64 };
/* A run is watched for 3 s before it is called interrupted; the rest is for a loaded machine. */
enum { INTERRUPTED_MS_MOST = 5000 };

typedef struct turn {
    char line[LINE_MOST];
    char run[40], message[40];
    char *answer;
    bool begun, done; /* RunStart, RunDone were heard */
} turn;

typedef struct chatting {
    case_result *r;
    crash_case *c;
    const cli_plan *plan;
    turn turns[ALL_TURNS];
    char captured[CAPTURES][40];
    unsigned captured_count;
    json_lines history;
} chatting;

/* ---- talking ---- */

/* A word that nobody has said before. Memory keeps nothing that looks like a secret: none is made of these letters. */
static void make_word(char out[16], lots *random) {
    for (unsigned i = 0; i < 12; i += 2) {
        out[i] = "dfgklmprst"[lots_below(random, 10)];
        out[i + 1] = "aeiou"[lots_below(random, 5)];
    }
    out[12] = '\0';
}

static void make_lines(chatting *k) {
    for (unsigned i = 0; i < ALL_TURNS; i++) {
        char *line = k->turns[i].line;
        char word[16];
        make_word(word, &k->c->random);
        int len = snprintf(line, LINE_MOST, "My favourite number %u is %s.", i, word);
        /* Up to some pages of text, so that a commit is more than one write. */
        uint64_t words = lots_below(&k->c->random, 4) == 0 ? lots_below(&k->c->random, 400) : 0;
        for (uint64_t w = 0; w < words; w++)
            len += snprintf(line + len, LINE_MOST - (size_t)len, " w\xC3\xB6rd%llu",
                            (unsigned long long)lots_below(&k->c->random, 90));
    }
}

static void append(char **text, const char *more) {
    size_t have = *text != NULL ? strlen(*text) : 0;
    char *grown = realloc(*text, have + strlen(more) + 1);
    if (grown == NULL) abort();
    memcpy(grown + have, more, strlen(more) + 1);
    *text = grown;
}

static turn *turn_of_run(chatting *k, const char *run) {
    for (unsigned i = 0; i < ALL_TURNS; i++)
        if (k->turns[i].run[0] != '\0' && strcmp(k->turns[i].run, run) == 0) return &k->turns[i];
    return NULL;
}

/* A run that begins is the turn of its line. */
static turn *begin_turn(chatting *k, const char *run, const char *input) {
    for (unsigned i = 0; i < ALL_TURNS; i++) {
        turn *t = &k->turns[i];
        if (t->begun || strcmp(t->line, input) != 0) continue;
        t->begun = true;
        (void)snprintf(t->run, sizeof t->run, "%s", run);
        return t;
    }
    case_fail(k->r, "a run began with a line that nobody wrote");
    return NULL;
}

static void hear(chatting *k, const cJSON *event) {
    const char *kind = json_z(event, "kind"), *run = json_z(event, "run");
    const cJSON *data = json_member(event, "data");
    turn *t = strcmp(kind, "RunStart") == 0 ? begin_turn(k, run, json_z(data, "input")) : turn_of_run(k, run);
    if (t == NULL) {
        case_fail(k->r, "an event of an unknown run: %s", kind);
    } else if (strcmp(kind, "ChatDelta") == 0) {
        append(&t->answer, json_z(data, "text"));
    } else if (strcmp(kind, "RunDone") == 0) {
        t->done = true;
        (void)snprintf(t->message, sizeof t->message, "%s", json_z(data, "message"));
        k->r->acked++;
    } else if (strcmp(kind, "MemoryMutation") == 0 && k->captured_count < CAPTURES) {
        (void)snprintf(k->captured[k->captured_count++], 40, "%s", json_z(data, "id"));
        k->r->acked++;
    } else if (strcmp(kind, "RunFailed") == 0 || strcmp(kind, "Error") == 0 || strcmp(kind, "Cancelled") == 0) {
        case_fail(k->r, "%s: %s", kind, json_z(data, "message"));
    }
}

/* `count` turns in one process. */
static void talk(chatting *k, unsigned first, unsigned count, const cli_kill *how) {
    char *input = NULL;
    for (unsigned i = first; i < first + count; i++) {
        append(&input, k->turns[i].line);
        append(&input, "\n");
    }
    uar_call call = { .program = how->program, .words = { "--memory", "chat" }, .input = input, .kill = how->kill };
    process_result out;
    bool ran = uar_run(&out, k->r, k->c, &call);
    free(input);
    if (!ran) return;
    json_lines events = json_lines_read(k->r, &out);
    for (size_t i = 0; i < events.count; i++)
        hear(k, events.items[i]);
    json_lines_free(&events);
    if (out.signal == SIGKILL) {
        k->r->killed = true;
        k->r->inside = how->kill.point.inside;
    } else if (out.code != 0) {
        case_fail(k->r, "chat ended with %d: %s", out.code, process_last_words(&out));
    }
    process_result_free(&out);
}

/* ---- the session ---- */

static void read_history(chatting *k) {
    json_lines_free(&k->history);
    uar_call call = { .program = PROGRAM_UAR, .words = { "sessions", "show", "default" } };
    process_result out;
    if (!uar_run(&out, k->r, k->c, &call)) return;
    /* No such session: nothing was stored yet. */
    if (out.code == 0)
        k->history = json_lines_read(k->r, &out);
    else if (out.code != 6)
        case_fail(k->r, "sessions show ended with %d: %s", out.code, process_last_words(&out));
    process_result_free(&out);
}

static const char *text_of(const cJSON *message) {
    const cJSON *parts = json_member(message, "parts");
    return parts != NULL && parts->child != NULL && parts->child->next == NULL ? json_z(parts->child, "text") : "";
}

static bool is(const cJSON *message, const char *key, const char *value) {
    return strcmp(json_z(message, key), value) == 0;
}

static size_t find_question(const chatting *k, const char *run) {
    for (size_t i = 0; i < k->history.count; i++)
        if (is(k->history.items[i], "run", run) && is(k->history.items[i], "role", "user")) return i;
    return SIZE_MAX;
}

/* Both messages of an acknowledged turn, side by side and byte for byte. */
static void check_turn(chatting *k, const turn *t) {
    size_t at = find_question(k, t->run);
    if (at == SIZE_MAX || at + 1 >= k->history.count || !is(k->history.items[at + 1], "message", t->message)) {
        k->r->lost++;
        return;
    }
    const cJSON *question = k->history.items[at], *answer = k->history.items[at + 1];
    if (strcmp(text_of(question), t->line) != 0) case_fail(k->r, "what the user said is stored otherwise");
    if (!is(answer, "role", "assistant") || !is(answer, "run", t->run) || json_flag(answer, "interrupted", true))
        case_fail(k->r, "the message of an answer is stored otherwise");
    if (t->answer == NULL || strcmp(text_of(answer), t->answer) != 0)
        case_fail(k->r, "the answer is stored otherwise than it was shown");
}

/* What the kill left of a turn: its question, or both. */
static void check_rest(chatting *k, unsigned *rests) {
    for (size_t i = 0; i < k->history.count; i++) {
        const cJSON *m = k->history.items[i];
        const turn *t = turn_of_run(k, json_z(m, "run"));
        if ((t != NULL && t->done) || !is(m, "role", "user")) continue;
        ++*rests;
        if (t != NULL && strcmp(text_of(m), t->line) != 0) case_fail(k->r, "an open turn has another question");
        bool answered = i + 1 < k->history.count && is(k->history.items[i + 1], "run", json_z(m, "run"));
        if (answered && strncmp(text_of(k->history.items[i + 1]), "I heard: ", 9) != 0)
            case_fail(k->r, "an open turn has half an answer");
    }
}

static void check_history(chatting *k) {
    unsigned done = 0, rests = 0;
    read_history(k);
    for (size_t i = 0; i < k->history.count; i++) {
        uint64_t number = 0;
        if (!json_u64(k->history.items[i], "number", &number) || number != i + 1)
            case_fail(k->r, "message %zu has number %llu", i + 1, (unsigned long long)number);
    }
    for (unsigned i = 0; i < ALL_TURNS; i++) {
        if (!k->turns[i].done) continue;
        check_turn(k, &k->turns[i]);
        done++;
    }
    if (k->plan->is_control) return;
    check_rest(k, &rests);
    if (rests > (k->r->killed ? 1u : 0u)) case_fail(k->r, "%u turns are open after one kill", rests);
    if (k->history.count > 2 * (size_t)(done + rests)) case_fail(k->r, "there are messages of no turn");
}

/* ---- runs ---- */

/* Done, if its answer is stored; else interrupted. */
static void check_run(chatting *k, const cJSON *run) {
    const char *state = json_z(run, "state"), *id = json_z(run, "run");
    size_t question = find_question(k, id);
    if (question == SIZE_MAX) {
        case_fail(k->r, "a run has no message");
        return;
    }
    bool answered = question + 1 < k->history.count && is(k->history.items[question + 1], "run", id);
    if (strcmp(state, answered ? "done" : "interrupted") != 0)
        case_fail(k->r, "a run that was %s is %s", answered ? "answered" : "cut off", state);
}

static void check_runs(chatting *k) {
    process_result out;
    uar_call call = { .program = PROGRAM_UAR, .words = { "runs", "list" } };
    if (!uar_run_well(&out, k->r, k->c, &call, 0)) return;
    json_lines runs = json_lines_read(k->r, &out);
    if (out.us / 1000u > INTERRUPTED_MS_MOST)
        case_fail(k->r, "runs list took %llu ms", (unsigned long long)(out.us / 1000u));
    for (size_t i = 0; i < runs.count; i++)
        check_run(k, runs.items[i]);
    size_t questions = 0;
    for (size_t i = 0; i < k->history.count; i++)
        questions += is(k->history.items[i], "role", "user");
    if (questions != runs.count) case_fail(k->r, "%zu turns, but %zu runs", questions, runs.count);
    json_lines_free(&runs);
    process_result_free(&out);
}

/* ---- memory ---- */

static size_t records_of_run(const json_lines *records, const char *run) {
    size_t n = 0;
    for (size_t i = 0; i < records->count; i++)
        n += is(json_member(records->items[i], "provenance"), "run", run);
    return n;
}

static bool has_record(const json_lines *records, const char *id) {
    for (size_t i = 0; i < records->count; i++)
        if (is(records->items[i], "id", id)) return true;
    return false;
}

/* No capture that was told is gone, none was made twice. */
static void check_captures(chatting *k) {
    process_result out;
    uar_call call = { .program = PROGRAM_UAR, .words = { "memory", "export" } };
    if (!uar_run_well(&out, k->r, k->c, &call, 0)) return;
    json_lines records = json_lines_read(k->r, &out);
    for (unsigned i = 0; i < k->captured_count; i++)
        k->r->lost += !has_record(&records, k->captured[i]);
    for (unsigned i = 0; i < ALL_TURNS; i++) {
        size_t made = k->turns[i].done ? records_of_run(&records, k->turns[i].run) : 1;
        if (made > 1) case_fail(k->r, "a turn was captured %zu times", made);
        k->r->open += made == 0;
    }
    if (k->r->open > 1) case_fail(k->r, "%u acknowledged turns were not captured after one kill", k->r->open);
    json_lines_free(&records);
    process_result_free(&out);
}

static void check_files(chatting *k) {
    char path[192];
    (void)snprintf(path, sizeof path, "%s/state/state.db", k->c->folder);
    check_state(k->r, path, 1);
    (void)snprintf(path, sizeof path, "%s/memory/memory.db", k->c->folder);
    check_memory(k->r, path);
}

/* ---- the case ---- */

/* A chat after the kill waits until the dead process is known to be dead, then goes on. */
static void talk_on(chatting *k) {
    const cli_kill whole = { .program = PROGRAM_UAR };
    talk(k, EARLIER + TURNS, LATER, &whole);
    if (!k->turns[EARLIER + TURNS].done) case_fail(k->r, "the chat after the kill had no answer");
    check_history(k);
}

static void inspect(chatting *k) {
    unsigned lost = k->r->lost;
    check_history(k);
    if (k->plan->is_control) return;
    /* In either order: each of them must come to its own conclusion. */
    if (k->c->index / 4 % 2 == 0) check_runs(k);
    unsigned before = k->r->lost - lost;
    talk_on(k);
    k->r->lost -= before; /* looked at twice, counted once */
    if (k->c->index / 4 % 2 == 1) check_runs(k);
    check_captures(k);
    check_files(k);
}

static void drop(chatting *k) {
    json_lines_free(&k->history);
    for (unsigned i = 0; i < ALL_TURNS; i++)
        free(k->turns[i].answer);
    free(k);
}

static chatting *begin(case_result *r, crash_case *c) {
    chatting *k = calloc(1, sizeof *k);
    if (k == NULL) abort();
    k->r = r;
    k->c = c;
    k->plan = c->arg;
    make_lines(k);
    return k;
}

void chat_case(case_result *r, crash_case *c) {
    chatting *k = begin(r, c);
    bool is_fresh = lots_below(&c->random, 2) == 0;
    const cli_kill whole = { .program = PROGRAM_UAR };
    cli_kill how = cli_draw(c, k->plan, is_fresh);
    if (!is_fresh) talk(k, 0, EARLIER, &whole);
    talk(k, EARLIER, TURNS, &how);
    inspect(k);
    drop(k);
}

static bool measure_one(cli_length *length, chatting *k, unsigned first, unsigned count) {
    char path[192];
    char *input = NULL;
    (void)snprintf(path, sizeof path, "%s/points", k->c->folder);
    for (unsigned i = first; i < first + count; i++) {
        append(&input, k->turns[i].line);
        append(&input, "\n");
    }
    uar_call call = { .program = PROGRAM_CRASH, .words = { "--memory", "chat" }, .input = input, .count_file = path };
    process_result out;
    bool ran = uar_run_well(&out, k->r, k->c, &call, 0);
    free(input);
    if (!ran) return false;
    length->us = out.us;
    process_result_free(&out);
    if (cli_counts(&length->points, path)) return true;
    case_fail(k->r, "the shim counted nothing");
    return false;
}

bool chat_measure(cli_plan *plan, case_result *r) {
    crash_case c = { .index = 0, .arg = plan };
    if (!cases_make_folder(c.folder)) {
        case_fail(r, "no folder to measure in");
        return false;
    }
    chatting *k = begin(r, &c);
    bool done = measure_one(&plan->fresh, k, EARLIER, TURNS) && measure_one(&plan->further, k, EARLIER, TURNS);
    drop(k);
    cases_remove_folder(c.folder);
    return done;
}
