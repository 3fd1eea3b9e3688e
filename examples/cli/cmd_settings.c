/* uar settings list|get|set. Only known keys with values of their kind get in. */
#include "commands.h"
#include "json_out.h"
#include "json_syntax.h"
#include "output.h"
#include "settings.h"
#include "stores.h"
#include "text.h"

#include <stdlib.h>

static void print_setting(const app *a, const known_setting *setting, const uar_setting *stored) {
    uar_str value = stored != NULL ? stored->value : uar_str_of(setting->fallback);
    const char *source = stored != NULL ? "stored" : "default";
    if (a->json) {
        cJSON *line = cJSON_CreateObject();
        node_set(line, "key", node_z(setting->key));
        node_set(line, "value", node_raw(value));
        node_set(line, "source", node_z(source));
        output_json(line);
        return;
    }
    text_buffer line = { 0 };
    text_add_z(&line, setting->key);
    text_add_z(&line, " = ");
    text_add_visible(&line, value, false);
    text_add_z(&line, stored != NULL ? "\n" : " (default)\n");
    output_bytes(line.data, line.len);
    text_free(&line);
}

static int show_setting(const app *a, uar_runtime *rt, const known_setting *setting) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    int code = CODE_OK;
    uar_status status = uar_setting_get_sync(&reply, rt, a->owner, setting->key, &err);
    if (status == UAR_OK && reply->count == 1) {
        print_setting(a, setting, &reply->settings[0]);
    } else if (status == UAR_OK || status == UAR_E_NOT_FOUND) {
        print_setting(a, setting, NULL);
    } else {
        code = report_error(a, &err, setting->key);
    }
    uar_reply_free(reply);
    return code;
}

static int unknown_key(const app *a, const char *key, uar_status status) {
    text_buffer known = { 0 };
    text_add_z(&known, "known are ");
    for (size_t i = 0; i < SETTING_TOTAL; i++) {
        if (i > 0) text_add_z(&known, ", ");
        text_add_z(&known, known_settings[i].key);
    }
    int code = report(a, status, known.data, "there is no setting '%s'", key);
    text_free(&known);
    return code;
}

int cmd_settings_list(app *a) {
    uar_runtime *rt = NULL;
    int code = stores_open(&rt, a, &(stores_extras){ .with_model = false });
    if (code != CODE_OK) return code;
    for (size_t i = 0; i < SETTING_TOTAL && code == CODE_OK; i++)
        code = show_setting(a, rt, &known_settings[i]);
    stores_close(rt);
    return code;
}

int cmd_settings_get(app *a) {
    const known_setting *setting = setting_find(a->args.operands[0]);
    if (setting == NULL) return unknown_key(a, a->args.operands[0], UAR_E_NOT_FOUND);
    uar_runtime *rt = NULL;
    int code = stores_open(&rt, a, &(stores_extras){ .with_model = false });
    if (code != CODE_OK) return code;
    code = show_setting(a, rt, setting);
    stores_close(rt);
    return code;
}

int cmd_settings_set(app *a) {
    const known_setting *setting = setting_find(a->args.operands[0]);
    if (setting == NULL) return unknown_key(a, a->args.operands[0], UAR_E_INVALID);
    uar_str value = uar_str_of(a->args.operands[1]);
    uint64_t number = 0;
    if (!setting_value(&number, setting, value)) {
        char wants[64];
        setting_wants(wants, sizeof wants, setting);
        return report_usage(a, NULL, "%s must be %s, not '%s'", setting->key, wants, value.ptr);
    }
    uar_runtime *rt = NULL;
    int code = stores_open(&rt, a, &(stores_extras){ .with_model = false });
    if (code != CODE_OK) return code;
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    if (uar_setting_put_sync(&reply, rt, a->owner, setting->key, value, &err) != UAR_OK)
        code = report_error(a, &err, setting->key);
    uar_reply_free(reply);
    if (code == CODE_OK) code = show_setting(a, rt, setting);
    stores_close(rt);
    return code;
}
