/*
 * One kill of `uar memory add`: a process an addition, one of them killed; then the same text again, the rest of the
 * additions, and every id that was printed must be found with its text.
 */
#include "cli_cases.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDITIONS = 6, TEXT_MOST = 600 };

typedef struct addition {
    char text[TEXT_MOST];
    char slot[32]; /* of --fact, or "" */
    char id[40];   /* "" until it was acknowledged */
} addition;

typedef struct adding {
    case_result *r;
    crash_case *c;
    const cli_plan *plan;
    addition list[ADDITIONS];
} adding;

static void make_texts(adding *a) {
    for (unsigned i = 0; i < ADDITIONS; i++) {
        addition *one = &a->list[i];
        int len = snprintf(one->text, sizeof one->text, "token q%016llx of note %u",
                           (unsigned long long)lots_next(&a->c->random), i);
        uint64_t words = lots_below(&a->c->random, 60);
        for (uint64_t w = 0; w < words; w++)
            len += snprintf(one->text + len, sizeof one->text - (size_t)len, " w%llu",
                            (unsigned long long)lots_below(&a->c->random, 1000));
        /* Some take the slot of the one before: that one ends and can still be read. */
        bool has_slot = !a->plan->is_control && lots_below(&a->c->random, 3) == 0;
        if (has_slot)
            (void)snprintf(one->slot, sizeof one->slot, "user/fact %u", (unsigned)lots_below(&a->c->random, 2));
    }
}

/* The acknowledgement is the whole line. */
static void take_id(case_result *r, char id[40], const process_result *out) {
    json_lines lines = json_lines_read(r, out);
    if (lines.count > 1) case_fail(r, "an addition was acknowledged twice");
    if (lines.count == 1) (void)snprintf(id, 40, "%s", json_z(lines.items[0], "id"));
    if (lines.count == 1 && id[0] == '\0') case_fail(r, "an acknowledgement names no id");
    json_lines_free(&lines);
}

static void add(adding *a, unsigned index, const cli_kill *how, char id[40]) {
    const addition *one = &a->list[index];
    process_result out;
    uar_call call = { .program = how->program, .words = { "memory", "add", one->text }, .kill = how->kill };
    if (one->slot[0] != '\0') {
        call.words[3] = "--fact";
        call.words[4] = one->slot;
    }
    if (!uar_run(&out, a->r, a->c, &call)) return;
    take_id(a->r, id, &out);
    if (out.signal == SIGKILL) {
        a->r->killed = true;
        a->r->inside = how->kill.point.inside;
    } else if (out.code != 0) {
        case_fail(a->r, "memory add ended with %d: %s", out.code, process_last_words(&out));
    } else if (id[0] == '\0') {
        case_fail(a->r, "memory add acknowledged nothing");
    }
    process_result_free(&out);
    a->r->acked += id[0] != '\0';
}

/* The same text again makes no second record. */
static void add_again(adding *a, unsigned index) {
    char again[40] = "";
    const cli_kill whole = { .program = PROGRAM_UAR };
    add(a, index, &whole, again);
    addition *one = &a->list[index];
    if (one->id[0] != '\0' && again[0] != '\0' && strcmp(one->id, again) != 0)
        case_fail(a->r, "record %s was added again as %s", one->id, again);
    (void)snprintf(one->id, sizeof one->id, "%s", again);
}

static void find(adding *a, unsigned index) {
    const addition *one = &a->list[index];
    process_result out;
    uar_call call = { .program = PROGRAM_UAR, .words = { "memory", "get", one->id } };
    if (one->id[0] == '\0' || !uar_run(&out, a->r, a->c, &call)) return;
    json_lines lines = json_lines_read(a->r, &out);
    if (out.code == 6 || (out.code == 0 && lines.count == 0))
        a->r->lost++;
    else if (out.code != 0)
        case_fail(a->r, "memory get ended with %d: %s", out.code, process_last_words(&out));
    else if (strcmp(json_z(lines.items[0], "content"), one->text) != 0)
        case_fail(a->r, "record %s has another text", one->id);
    json_lines_free(&lines);
    process_result_free(&out);
}

/* Every text is there once. */
static void list(adding *a) {
    process_result out;
    uar_call call = { .program = PROGRAM_UAR, .words = { "memory", "export" } };
    if (!uar_run_well(&out, a->r, a->c, &call, 0)) return;
    json_lines lines = json_lines_read(a->r, &out);
    for (unsigned i = 0; i < ADDITIONS; i++) {
        unsigned found = 0;
        for (size_t n = 0; n < lines.count; n++)
            found += strcmp(json_z(lines.items[n], "content"), a->list[i].text) == 0;
        if (found > 1) case_fail(a->r, "%u records have the text of note %u", found, i);
    }
    json_lines_free(&lines);
    process_result_free(&out);
}

/* The word index knows one of the records. */
static void search(adding *a, unsigned index) {
    const addition *one = &a->list[index];
    char token[24];
    (void)snprintf(token, sizeof token, "%.17s", one->text + strlen("token "));
    process_result out;
    uar_call call = { .program = PROGRAM_UAR, .words = { "memory", "search", token } };
    if (!uar_run_well(&out, a->r, a->c, &call, 0)) return;
    /* An ended fact has left recall. */
    if (one->slot[0] == '\0' && strstr(out.out, one->id) == NULL)
        case_fail(a->r, "a search for %s doesn't find record %s", token, one->id);
    process_result_free(&out);
}

static void check_files(adding *a) {
    char path[192];
    (void)snprintf(path, sizeof path, "%s/memory/memory.db", a->c->folder);
    check_memory(a->r, path);
}

void memory_case(case_result *r, crash_case *c) {
    adding a = { .r = r, .c = c, .plan = c->arg };
    make_texts(&a);
    unsigned victim = (unsigned)lots_below(&c->random, ADDITIONS - 1);
    const cli_kill whole = { .program = a.plan->is_control ? PROGRAM_CRASH_EARLY : PROGRAM_UAR };
    for (unsigned i = 0; i < ADDITIONS; i++) {
        cli_kill how = i == victim ? cli_draw(c, a.plan, i == 0) : whole;
        add(&a, i, &how, a.list[i].id);
        if (i == victim && !a.plan->is_control) add_again(&a, i);
    }
    for (unsigned i = 0; i < ADDITIONS; i++)
        find(&a, i);
    if (a.plan->is_control) return;
    list(&a);
    search(&a, (unsigned)lots_below(&c->random, ADDITIONS));
    check_files(&a);
}

static bool measure_one(cli_length *length, case_result *r, const crash_case *c, const char *text) {
    char path[192];
    process_result out;
    (void)snprintf(path, sizeof path, "%s/points", c->folder);
    uar_call call = { .program = PROGRAM_CRASH, .words = { "memory", "add", text }, .count_file = path };
    if (!uar_run_well(&out, r, c, &call, 0)) return false;
    length->us = out.us;
    process_result_free(&out);
    if (cli_counts(&length->points, path)) return true;
    case_fail(r, "the shim counted nothing");
    return false;
}

bool memory_measure(cli_plan *plan, case_result *r) {
    crash_case c = { .index = 0 };
    if (!cases_make_folder(c.folder)) {
        case_fail(r, "no folder to measure in");
        return false;
    }
    bool done =
        measure_one(&plan->fresh, r, &c, "the first note") && measure_one(&plan->further, r, &c, "another note");
    cases_remove_folder(c.folder);
    return done;
}
