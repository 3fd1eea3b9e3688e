/* Owns: how the program is called. */
#include "uar_program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

static const char *const places[] = {
    [PROGRAM_UAR] = "../../examples/uar",
    [PROGRAM_CRASH] = "uar_crash",
    [PROGRAM_CRASH_EARLY] = "uar_crash_early",
};

static void set(process_order *o, size_t *used, const char *name, const char *value) {
    o->settings[*used].name = name;
    o->settings[(*used)++].value = value;
}

/* True if it ended by itself, or was killed and was to be killed. */
static bool ended_well(case_result *r, const process_result *out, const uar_call *call) {
    bool wanted = call->kill.after_us > 0 || call->kill.point.at > 0;
    if (out->hung)
        case_fail(r, "uar %s %s hangs", call->words[0], call->words[1] != NULL ? call->words[1] : "");
    else if (out->signal != 0 && !(wanted && out->signal == SIGKILL))
        case_fail(r, "uar %s was ended by signal %d: %s", call->words[0], out->signal, process_last_words(out));
    else if (out->code == 125 || out->code == 126)
        case_fail(r, "%s can't be run", places[call->program]);
    else
        return true;
    return false;
}

bool uar_run(process_result *out, case_result *r, const crash_case *c, const uar_call *call) {
    char path[1200], at[24];
    const char *arguments[UAR_WORDS + 6] = { path, "--store", c->folder, "--json" };
    size_t used = 0;
    (void)snprintf(path, sizeof path, "%s/%s", cases_program_folder(), places[call->program]);
    (void)snprintf(at, sizeof at, "%ld", call->kill.point.at);
    for (size_t i = 0; i < UAR_WORDS && call->words[i] != NULL; i++)
        arguments[4 + i] = call->words[i];
    process_order order = { .arguments = arguments, .input = call->input, .kill_after_us = call->kill.after_us };
    if (call->kill.point.at > 0) set(&order, &used, KILL_VFS_AT, at);
    if (call->kill.point.inside) set(&order, &used, KILL_VFS_INSIDE, "1");
    if (call->kill.point.torn) set(&order, &used, KILL_VFS_TORN, "1");
    if (call->count_file != NULL) set(&order, &used, KILL_VFS_COUNT, call->count_file);
    if (!process_run(out, &order)) {
        case_fail(r, "no process could be started");
        return false;
    }
    if (ended_well(r, out, call)) return true;
    process_result_free(out);
    return false;
}

bool uar_run_well(process_result *out, case_result *r, const crash_case *c, const uar_call *call, int code) {
    if (!uar_run(out, r, c, call)) return false;
    if (out->code == code) return true;
    case_fail(r, "uar %s %s ended with %d, not %d: %s", call->words[0], call->words[1] != NULL ? call->words[1] : "",
              out->code, code, process_last_words(out));
    process_result_free(out);
    return false;
}

json_lines json_lines_read(case_result *r, const process_result *output) {
    json_lines lines = { NULL, 0 };
    const char *at = output->out;
    for (const char *end = strchr(at, '\n'); end != NULL; at = end + 1, end = strchr(at, '\n')) {
        uar_error err = UAR_ERROR_INIT;
        cJSON *node = NULL;
        if (json_read(&node, &alloc_default, uar_str_n(at, (size_t)(end - at)), SIZE_MAX, &err) != UAR_OK) {
            case_fail(r, "a line of output is no JSON: %s", err.message);
            continue;
        }
        lines.items = realloc(lines.items, (lines.count + 1) * sizeof *lines.items);
        if (lines.items == NULL) abort();
        lines.items[lines.count++] = node;
    }
    return lines;
}

void json_lines_free(json_lines *lines) {
    for (size_t i = 0; i < lines->count; i++)
        json_free(&alloc_default, lines->items[i]);
    free(lines->items);
    *lines = (json_lines){ NULL, 0 };
}

const char *json_z(const cJSON *object, const char *key) {
    uar_str text = json_text(object, key);
    return text.ptr != NULL ? text.ptr : "";
}
