/*
 * uar backup DIR: state and memory as they are at this moment, while others go on, in a folder that is a --store itself. Nothing
 * is overwritten; what could not be copied whole is not there.
 */
#include "commands.h"
#include "json_out.h"
#include "output.h"
#include "progress.h"
#include "stores.h"

#include <uar/store_care.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool watch(void *ctx, uint64_t done, uint64_t total) {
    progress_step(ctx, done, total);
    return true;
}

/* DIR/`folder`/`file`, its folder made. Free with free(). */
static char *target(const char *dir, const char *folder, const char *file, int *fault) {
    text_buffer path = { 0 };
    text_add_z(&path, dir);
    text_add_z(&path, "/");
    text_add_z(&path, folder);
    *fault = stores_make_folders(path.data);
    text_add_z(&path, "/");
    text_add_z(&path, file);
    return path.data;
}

static uar_status copy_state(const app *a, const char *from, const char *to, uar_error *err) {
    uar_sqlite_options options;
    uar_sqlite_options_init(&options);
    options.read_only = true;
    progress *p = progress_start(a, "copying the state");
    const uar_care_progress watched = { p, watch };
    const uar_persistence *layer = uar_persistence_sqlite(from, &options);
    uar_status status = layer->open(layer->ctx, err);
    if (status == UAR_OK) status = layer->backup(layer->ctx, to, p != NULL ? &watched : NULL, err);
    uar_persistence_free(layer);
    progress_stop(p);
    return status;
}

static uar_status copy_memory(const app *a, const char *from, const char *to, uar_error *err) {
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.read_only = true;
    progress *p = progress_start(a, "copying the memory");
    const uar_care_progress watched = { p, watch };
    uar_memory *memory = uar_memory_open(from, &options);
    uar_status status = UAR_OK;
    if (uar_memory_state(memory, err) == UAR_MEMORY_UNAVAILABLE)
        status = err->code;
    else
        status = uar_memory_backup_to_sync(memory, to, p != NULL ? &watched : NULL, err);
    uar_memory_free(memory);
    progress_stop(p);
    return status;
}

typedef uar_status (*copy_fn)(const app *a, const char *from, const char *to, uar_error *err);

/* CODE_OK, also where there is nothing to copy; `node` says which. */
static int copy_one(const app *a, cJSON *answer, const char *folder, const char *file, copy_fn copy) {
    char *from = stores_place(a, folder, file);
    if (from == NULL)
        return report(a, UAR_E_CANTOPEN, "give --store DIR", "neither XDG_DATA_HOME nor HOME says where stores lie");
    int code = CODE_OK, fault = 0;
    uar_error err = UAR_ERROR_INIT;
    if (access(from, F_OK) != 0) {
        node_set(answer, folder, cJSON_CreateNull());
        free(from);
        return CODE_OK;
    }
    char *to = target(a->args.operands[0], folder, file, &fault);
    if (fault != 0)
        code = report(a, UAR_E_CANTOPEN, "choose another folder", "%s: %s", to, strerror(fault));
    else if (copy(a, from, to, &err) != UAR_OK)
        code = report_error(a, &err, "the backup failed");
    else
        node_set(answer, folder, node_z(to));
    free(to);
    free(from);
    return code;
}

static bool has_copies(const cJSON *answer) {
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, answer) if (cJSON_IsString(item)) return true;
    return false;
}

static void print_text(const cJSON *answer) {
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, answer) {
        text_buffer line = { 0 };
        text_add_z(&line, item->string);
        text_add_z(&line, ": ");
        text_add_z(&line, cJSON_IsString(item) ? item->valuestring : "nothing to copy");
        text_add_z(&line, "\n");
        output_bytes(line.data, line.len);
        text_free(&line);
    }
}

int cmd_backup(app *a) {
    int code = stores_check_root(a);
    if (code != CODE_OK) return code;
    if (a->args.operands[0][0] == '\0') return report_usage(a, NULL, "the folder of a backup must not be empty");
    cJSON *answer = cJSON_CreateObject();
    code = copy_one(a, answer, "state", "state.db", copy_state);
    if (code == CODE_OK) code = copy_one(a, answer, "memory", "memory.db", copy_memory);
    if (code == CODE_OK && !has_copies(answer))
        code = report(a, UAR_E_NOT_FOUND, "check --store", "there is neither state nor memory to copy");
    if (code != CODE_OK) {
        cJSON_Delete(answer);
        return code;
    }
    if (a->json) {
        output_json(answer);
    } else {
        if (!a->quiet) print_text(answer);
        cJSON_Delete(answer);
    }
    return CODE_OK;
}
