/* uar doctor: is everything there, and is it well? Changes nothing but with --repair. */
#include "commands.h"
#include "doctor.h"
#include "json_out.h"
#include "output.h"
#include "settings.h"
#include "stores.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 3, 0))) static check *add(checkup *c, const char *name, const char *format,
                                                        va_list arguments) {
    char detail[1024];
    assert(c->count < CHECKS_MOST);
    check *next = &c->checks[c->count++];
    vsnprintf(detail, sizeof detail, format, arguments);
    size_t end = text_fault(detail, strlen(detail));
    if (strlen(detail) - end < 4) detail[end] = '\0'; /* the cut may have split a character */
    next->name = name;
    next->detail = must_copy(uar_str_of(detail));
    return next;
}

void checkup_good(checkup *c, const char *name, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(c, name, format, arguments)->ok = true;
    va_end(arguments);
}

void checkup_bad(checkup *c, const char *name, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(c, name, format, arguments)->hint = hint;
    va_end(arguments);
}

void checkup_bad_store(checkup *c, const char *name, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    check *bad = add(c, name, format, arguments);
    va_end(arguments);
    bad->hint = hint;
    bad->is_store = true;
}

/* ---- model, embedder, environment ---- */

/* A service in this machine or house, or a test's: it may well want no key. */
static bool is_near(const char *url) {
    static const char *const near[] = { "http://", "https://localhost", "https://127.", "https://[::1]" };
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
        if (strncmp(url, near[i], strlen(near[i])) == 0) return true;
    return false;
}

static void check_key(checkup *c, const char *spec) {
    static const struct {
        const char *head, *variable, *hint;
    } services[] = {
        { "openai:", "OPENAI_API_KEY", "export OPENAI_API_KEY with the key of the service" },
        { "responses:", "OPENAI_API_KEY", "export OPENAI_API_KEY with the key of the service" },
        { "anthropic:", "ANTHROPIC_API_KEY", "export ANTHROPIC_API_KEY with the key of the service" },
    };
    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++) {
        size_t len = strlen(services[i].head);
        if (strncmp(spec, services[i].head, len) != 0) continue;
        const char *key = getenv(services[i].variable);
        bool set = key != NULL && key[0] != '\0';
        if (!set && !is_near(spec + len)) {
            checkup_bad(c, "model_key", services[i].hint, "%s is not set", services[i].variable);
        } else {
            checkup_good(c, "model_key", "%s is %s", services[i].variable, set ? "set" : "not set; none may be needed");
        }
        return;
    }
    checkup_good(c, "model_key", "this model needs none");
}

static void check_model(checkup *c) {
    char reason[256];
    const char *spec = c->app->model;
    if (stores_model_fault(reason, sizeof reason, c->app) != UAR_OK) {
        checkup_bad(c, "model", "see 'uar --help' for models", "'%s': %s", spec, reason);
        return;
    }
    checkup_good(c, "model", "'%s' can be had; nothing was asked", spec);
    check_key(c, spec);
}

static void check_environment(checkup *c) {
    bool fine = true;
    for (size_t i = 0; i < SETTING_TOTAL; i++) {
        uint64_t number = 0;
        char wants[64];
        if (setting_from_environment(&number, &known_settings[i]) != SETTING_WRONG) continue;
        setting_wants(wants, sizeof wants, &known_settings[i]);
        checkup_bad(c, "environment", "unset it or give it such a value", "%s must be %s", known_settings[i].variable,
                    wants);
        fine = false;
    }
    if (fine) checkup_good(c, "environment", "what is set for memory can be used");
}

static void check_embedder(checkup *c) {
    char line[256];
    uar_status status = stores_embedder_fault(line, sizeof line, c->app);
    if (status == UAR_OK)
        checkup_good(c, "embedder", "%s", line);
    else
        checkup_bad(c, "embedder", "memory is lexical without it; see 'uar --help' for embedders", "%s: %s: %s",
                    c->app->embedder, uar_status_name(status), line);
}

void checkup_choices(checkup *c) {
    check_embedder(c);
    check_model(c);
    check_environment(c);
}

/* ---- the answer ---- */

static void print_json(checkup *c, bool ok) {
    cJSON *answer = cJSON_CreateObject();
    node_set(answer, "ok", cJSON_CreateBool(ok));
    cJSON *list = cJSON_AddArrayToObject(answer, "checks");
    for (size_t i = 0; i < c->count; i++) {
        cJSON *item = cJSON_CreateObject();
        node_set(item, "name", node_z(c->checks[i].name));
        node_set(item, "ok", cJSON_CreateBool(c->checks[i].ok));
        node_set(item, "detail", node_z(c->checks[i].detail));
        node_set(item, "hint", node_z(c->checks[i].hint));
        cJSON_AddItemToArray(list, item);
    }
    if (c->lost != NULL) {
        node_set(answer, "lost", c->lost);
        node_set(answer, "lost_count", node_whole(c->lost_count));
        c->lost = NULL;
    }
    output_json(answer);
}

static void add_lost(text_buffer *out, const checkup *c) {
    static const char *const keys[] = { "kind", "owner", "id" };
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, c->lost) {
        text_add_z(out, "lost");
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, keys[i]));
            text_add_z(out, " ");
            text_add_visible(out, uar_str_of(value != NULL ? value : "?"), false);
        }
        text_add_z(out, ": ");
        text_add_visible(out, uar_str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "what"))), false);
        text_add_z(out, "\n");
    }
    char line[64];
    if (c->lost_count <= LOST_MOST) return;
    snprintf(line, sizeof line, "lost and %zu more\n", c->lost_count - LOST_MOST);
    text_add_z(out, line);
}

static void print_text(const checkup *c, size_t faults) {
    char line[64];
    text_buffer out = { 0 };
    for (size_t i = 0; i < c->count; i++) {
        const check *each = &c->checks[i];
        if (each->ok && c->app->quiet) continue;
        snprintf(line, sizeof line, "%-4s %-17s ", each->ok ? "ok" : "BAD", each->name);
        text_add_z(&out, line);
        text_add_visible(&out, uar_str_of(each->detail), false);
        text_add_z(&out, each->hint != NULL ? "\n     -> " : "");
        text_add_z(&out, each->hint != NULL ? each->hint : "");
        text_add_z(&out, "\n");
    }
    add_lost(&out, c);
    snprintf(line, sizeof line, "%zu of %zu checks failed\n", faults, c->count);
    text_add_z(&out, faults > 0 ? line : c->app->quiet ? "" : "all is well\n");
    output_bytes(out.data, out.len);
    text_free(&out);
}

int cmd_doctor(app *a) {
    checkup c = { .app = a };
    size_t faults = 0;
    bool store_fault = false;
    int code = stores_check_root(a);
    if (code != CODE_OK) return code;
    checkup_parts(&c);
    if (args_has(&a->args, "repair")) checkup_repair(&c);
    checkup_stores(&c);
    checkup_choices(&c);
    for (size_t i = 0; i < c.count; i++) {
        if (!c.checks[i].ok) faults++;
        if (!c.checks[i].ok && c.checks[i].is_store) store_fault = true;
    }
    if (a->json) print_json(&c, faults == 0);
    if (!a->json) print_text(&c, faults);
    for (size_t i = 0; i < c.count; i++)
        free(c.checks[i].detail);
    cJSON_Delete(c.lost);
    return faults == 0 ? CODE_OK : store_fault ? CODE_STORE : CODE_FAILED;
}
