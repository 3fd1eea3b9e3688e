/*
 * The settings that this program knows, and how they, the environment and the flags decide about memory.
 */
#ifndef UAR_CLI_SETTINGS_H
#define UAR_CLI_SETTINGS_H

#include "app.h"

#include <uar/records.h>

/* What a setting takes. */
typedef enum setting_type { SETTING_BOOL, SETTING_COUNT } setting_type;

typedef struct known_setting {
    const char *key;
    const char *variable; /* of the environment, for chat and run */
    setting_type type;
    const char *fallback; /* JSON */
    uint64_t most;        /* of a count, which begins at 1 */
} known_setting;

enum { SETTING_ENABLED, SETTING_AUTO_CAPTURE, SETTING_INJECT_CONTEXT, SETTING_MAX_CONTEXT_TOKENS, SETTING_TOTAL };

extern const known_setting known_settings[SETTING_TOTAL];

/* The setting of a key, or NULL. */
const known_setting *setting_find(const char *key);
/* True if `value` is what the setting takes; *number becomes 0 or 1 for a bool, else the count. */
bool setting_value(uint64_t *number, const known_setting *setting, uar_str value);
/* "true or false", "a whole number from 1 to …". */
void setting_wants(char *out, size_t size, const known_setting *setting);

typedef enum setting_given { SETTING_ABSENT, SETTING_GIVEN, SETTING_WRONG } setting_given;

/* What the environment says; *number is set if something usable is given. */
setting_given setting_from_environment(uint64_t *number, const known_setting *setting);

/* How memory is used by a chat or a run. */
typedef struct memory_choice {
    bool enabled;
    bool auto_capture;
    bool inject_context;
    uint32_t max_context_tokens;
} memory_choice;

/* Flag over environment over stored setting over default. CODE_OK, or a code after a report. */
int memory_choose(memory_choice *out, const app *a);

#endif
