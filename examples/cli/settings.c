/* Settings: see settings.h. The table is the one place to add a line. */
#include "settings.h"

#include "stores.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const known_setting known_settings[SETTING_TOTAL] = {
    [SETTING_ENABLED] = { "memory.enabled", "UAR_MEMORY__ENABLED", SETTING_BOOL, "false", 0 },
    [SETTING_AUTO_CAPTURE] = { "memory.auto_capture", "UAR_MEMORY__AUTO_CAPTURE", SETTING_BOOL, "true", 0 },
    [SETTING_INJECT_CONTEXT] = { "memory.inject_context", "UAR_MEMORY__INJECT_CONTEXT", SETTING_BOOL, "true", 0 },
    [SETTING_MAX_CONTEXT_TOKENS] = { "memory.max_context_tokens", "UAR_MEMORY__MAX_CONTEXT_TOKENS", SETTING_COUNT,
                                     "1000", 1000000 },
};

const known_setting *setting_find(const char *key) {
    for (size_t i = 0; i < SETTING_TOTAL; i++)
        if (strcmp(known_settings[i].key, key) == 0) return &known_settings[i];
    return NULL;
}

bool setting_value(uint64_t *number, const known_setting *setting, uar_str value) {
    char *text = must_copy(value);
    bool fits = false;
    uint64_t found = 0;
    if (setting->type == SETTING_BOOL) {
        found = strcmp(text, "true") == 0;
        fits = found == 1 || strcmp(text, "false") == 0;
    } else {
        /* "007" is a number to people, not to JSON. */
        fits = text[0] != '0' && parse_number(&found, text, setting->most);
    }
    free(text);
    if (fits) *number = found;
    return fits;
}

void setting_wants(char *out, size_t size, const known_setting *setting) {
    if (setting->type == SETTING_BOOL) {
        snprintf(out, size, "true or false");
    } else {
        snprintf(out, size, "a whole number from 1 to %" PRIu64, setting->most);
    }
}

/* What people write into environments. */
static uar_str environment_value(const known_setting *setting, const char *text) {
    static const char *const words[][2] = { { "1", "true" },  { "yes", "true" }, { "on", "true" },
                                            { "0", "false" }, { "no", "false" }, { "off", "false" } };
    for (size_t i = 0; setting->type == SETTING_BOOL && i < sizeof words / sizeof words[0]; i++)
        if (strcmp(text, words[i][0]) == 0) return uar_str_of(words[i][1]);
    return uar_str_of(text);
}

setting_given setting_from_environment(uint64_t *number, const known_setting *setting) {
    const char *text = getenv(setting->variable);
    if (text == NULL || text[0] == '\0') return SETTING_ABSENT;
    return setting_value(number, setting, environment_value(setting, text)) ? SETTING_GIVEN : SETTING_WRONG;
}

static int wrong_value(const app *a, const known_setting *setting, const char *where, uar_str value) {
    char wants[64];
    setting_wants(wants, sizeof wants, setting);
    return report_usage(a, NULL, "%s must be %s, not '%.*s'", where, wants, (int)(value.len < 100 ? value.len : 100),
                        value.ptr != NULL ? value.ptr : "");
}

/* The stored values, or all defaults where nothing is stored. */
static int read_stored(uint64_t values[SETTING_TOTAL], const app *a, uar_runtime *rt) {
    for (size_t i = 0; i < SETTING_TOTAL; i++) {
        const known_setting *setting = &known_settings[i];
        uar_error err = UAR_ERROR_INIT;
        uar_reply *reply = NULL;
        int code = CODE_OK;
        uar_status status = uar_setting_get_sync(&reply, rt, a->owner, setting->key, &err);
        if (status == UAR_E_NOT_FOUND) {
            uar_reply_free(reply);
            continue;
        }
        if (status != UAR_OK) {
            code = report_error(a, &err, "the settings can't be read");
        } else if (reply->count == 1 && !setting_value(&values[i], setting, reply->settings[0].value)) {
            code = wrong_value(a, setting, setting->key, reply->settings[0].value);
        }
        uar_reply_free(reply);
        if (code != CODE_OK) return code;
    }
    return CODE_OK;
}

static int read_environment(uint64_t values[SETTING_TOTAL], const app *a) {
    for (size_t i = 0; i < SETTING_TOTAL; i++) {
        const known_setting *setting = &known_settings[i];
        if (setting_from_environment(&values[i], setting) == SETTING_WRONG)
            return wrong_value(a, setting, setting->variable, environment_value(setting, getenv(setting->variable)));
    }
    return CODE_OK;
}

int memory_choose(memory_choice *out, const app *a) {
    uint64_t values[SETTING_TOTAL];
    memset(out, 0, sizeof *out);
    if (a->memory == UAR_OFF) return CODE_OK;
    for (size_t i = 0; i < SETTING_TOTAL; i++)
        setting_value(&values[i], &known_settings[i], uar_str_of(known_settings[i].fallback));
    uar_runtime *rt = NULL;
    int code = stores_open(&rt, a, &(stores_extras){ .with_model = false });
    if (code != CODE_OK) return code;
    code = read_stored(values, a, rt);
    stores_close(rt);
    if (code == CODE_OK) code = read_environment(values, a);
    if (code != CODE_OK) return code;
    out->enabled = a->memory == UAR_ON || values[SETTING_ENABLED] == 1;
    out->auto_capture = values[SETTING_AUTO_CAPTURE] == 1;
    out->inject_context = values[SETTING_INJECT_CONTEXT] == 1;
    out->max_context_tokens = (uint32_t)values[SETTING_MAX_CONTEXT_TOKENS];
    return CODE_OK;
}
