/* Where the stores lie: see stores.h. */
#include "stores.h"

#include "embedder_spec.h"
#include "model_spec.h"
#include "text.h"

#include <uar/model.h>
#include <uar/persistence.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLOSE_DEADLINE_MS = 10000 };

bool stores_data_home(text_buffer *path) {
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    if (data != NULL && data[0] == '/') {
        text_add_z(path, data);
    } else if (home != NULL && home[0] != '\0') {
        text_add_z(path, home);
        text_add_z(path, "/.local/share");
    } else {
        return false;
    }
    return true;
}

/* The folder of the stores, or NULL if there is none by default. */
static char *root_path(const app *a) {
    if (a->store != NULL) return must_copy(uar_str_of(a->store));
    text_buffer path = { 0 };
    if (!stores_data_home(&path)) return NULL;
    text_add_z(&path, "/uar");
    return path.data;
}

int stores_make_folders(char *path) {
    for (char *p = path + 1;; p++) {
        if (*p != '/' && *p != '\0') continue;
        char kept = *p;
        *p = '\0';
        int made = mkdir(path, 0700);
        int fault = made != 0 && errno != EEXIST ? errno : 0;
        struct stat there;
        if (fault == 0 && stat(path, &there) != 0) fault = errno;
        if (fault == 0 && !S_ISDIR(there.st_mode)) fault = ENOTDIR;
        *p = kept;
        if (fault != 0) return fault;
        if (kept == '\0') return 0;
    }
}

int stores_check_root(const app *a) {
    if (a->store == NULL) return CODE_OK;
    if (a->store[0] == '\0') return report_usage(a, NULL, "--store must not be empty");
    if (strstr(a->store, "://") != NULL)
        return report_usage(a, "--store takes a folder", "--store '%s' is not in this version", a->store);
    return CODE_OK;
}

char *stores_place(const app *a, const char *folder, const char *file) {
    char *root = root_path(a);
    if (root == NULL) return NULL;
    text_buffer path = { 0 };
    text_add_z(&path, root);
    if (folder != NULL) text_add_z(&path, "/");
    if (folder != NULL) text_add_z(&path, folder);
    text_add_z(&path, "/");
    text_add_z(&path, file);
    free(root);
    return path.data;
}

/* DIR/`folder`/`file` and, in *fault, the errno of making its folders. NULL: there is no place to put it. */
static char *make_path(int *fault, const app *a, const char *folder, const char *file) {
    char *path = stores_place(a, folder, file);
    if (path == NULL) return NULL;
    char *end = path + strlen(path) - strlen(file) - 1;
    *end = '\0';
    *fault = stores_make_folders(path);
    *end = '/';
    return path;
}

int stores_path(char **out, const app *a, const char *folder, const char *file) {
    int wrong = stores_check_root(a);
    if (wrong != CODE_OK) return wrong;
    int fault = 0;
    char *path = make_path(&fault, a, folder, file);
    if (path == NULL)
        return report(a, UAR_E_CANTOPEN, "give --store DIR", "neither XDG_DATA_HOME nor HOME says where stores lie");
    if (fault != 0) {
        int code = report(a, UAR_E_CANTOPEN, "check the path and the rights of --store",
                          "the store can't be opened: %s: %s", path, strerror(fault));
        free(path);
        return code;
    }
    *out = path;
    return CODE_OK;
}

/* The model of --model, or the offline one for commands that ask nothing. */
static int open_model(uar_model *out, const app *a, bool wanted) {
    uar_error err = UAR_ERROR_INIT;
    /* It speaks of the model that the command line named, not of one that a person changed to. */
    bool named = a->model == args_get(&a->args, "model") || args_get(&a->args, "model") == NULL;
    const char *from = named ? args_get(&a->args, "script-from") : NULL;
    uint64_t line = 1;
    if (from != NULL && (!parse_number(&line, from, INT32_MAX) || line == 0))
        return report_usage(a, NULL, "--script-from takes a line number from 1, not '%s'", from);
    if (from != NULL && strncmp(a->model, "script:", 7) != 0)
        return report_usage(a, NULL, "--script-from needs --model script:FILE");
    const char *spec = wanted ? a->model : "offline";
    uar_status status = model_spec_open(out, spec, (long)line, &err);
    if (status == UAR_OK) return CODE_OK;
    int code = report(a, status, "see 'uar --help' for models", "--model '%s': %s", a->model, err.message);
    return status == UAR_E_NOMEM ? code : CODE_USAGE;
}

int stores_check_model(const app *a) {
    uar_model model;
    int code = open_model(&model, a, true);
    if (code == CODE_OK && model.destroy != NULL) model.destroy(model.ctx);
    return code;
}

uar_status stores_model_fault(char *line, size_t size, const app *a) {
    uar_error err = UAR_ERROR_INIT;
    uar_model model;
    uar_status status = model_spec_open(&model, a->model, 1, &err);
    if (status != UAR_OK) snprintf(line, size, "%s", err.message);
    if (status == UAR_OK && model.destroy != NULL) model.destroy(model.ctx);
    return status;
}

int stores_open(uar_runtime **out, const app *a, const stores_extras *extras) {
    char *path = NULL;
    uar_model model;
    int code = open_model(&model, a, extras->with_model);
    if (code != CODE_OK) return code;
    code = stores_path(&path, a, "state", "state.db");
    if (code != CODE_OK) {
        if (model.destroy != NULL) model.destroy(model.ctx);
        return code;
    }
    uar_builder_options options = extras->options;
    options.size = UAR_BUILDER_OPTIONS_INIT;
    uar_builder *b = uar_builder_new(&options);
    uar_builder_persistence(b, uar_persistence_sqlite(path, NULL));
    uar_builder_model(b, &model);
    if (extras->sink != NULL) uar_builder_event_sink(b, extras->sink);
    if (extras->memory != NULL) uar_builder_memory(b, extras->memory);
    for (size_t i = 0; i < extras->tool_count; i++)
        uar_builder_tool(b, &extras->tools[i]);
    uar_error err = UAR_ERROR_INIT;
    uar_runtime *rt = NULL;
    uar_status status = uar_builder_build(&rt, b, &err);
    if (status == UAR_OK) *out = rt;
    if (status != UAR_OK) code = report_error(a, &err, uar_status_band(status) == UAR_BAND_STORE ? path : "");
    free(path);
    return code;
}

void stores_close(uar_runtime *rt) {
    uar_runtime_close(rt, UAR_CLOSE_PARK, CLOSE_DEADLINE_MS);
}

/* Which one `auto` took, for somebody who looks on. */
static void name_embedder(const app *a, const uar_embedder *embedder) {
    bool is_told = strcmp(a->embedder, "auto") == 0 && embedder->destroy != NULL && !a->json;
    if (is_told && isatty(STDERR_FILENO)) notice(a, true, UAR_OK, "embedder: %s (fetched)", embedder->id);
}

int stores_embedder(uar_embedder *out, const app *a) {
    uar_error err = UAR_ERROR_INIT;
    uar_status status = embedder_spec_open(out, a->embedder, &err);
    if (status == UAR_OK && err.code != UAR_OK)
        notice(a, false, err.code, "the fetched embedding model can't be opened: %s; memory is lexical", err.message);
    if (status == UAR_OK) {
        name_embedder(a, out);
        return CODE_OK;
    }
    if (embedder_spec_may_come(a->embedder, status)) {
        notice(a, false, status, "--embedder '%s': %s; memory is lexical for now", a->embedder, err.message);
        *out = *uar_embedder_lexical();
        return CODE_OK;
    }
    int code = report(a, status, NULL, "--embedder '%s': %s", a->embedder, err.message);
    return status == UAR_E_NOMEM ? code : CODE_USAGE;
}

uar_status stores_embedder_fault(char *line, size_t size, const app *a) {
    uar_error err = UAR_ERROR_INIT;
    uar_embedder embedder;
    uar_status status = embedder_spec_open(&embedder, a->embedder, &err);
    if (err.code != UAR_OK) {
        snprintf(line, size, "%s", err.message);
    } else if (embedder.destroy == NULL) {
        snprintf(line, size, "%s, built in", embedder.id);
    } else {
        snprintf(line, size, "%s, %zu numbers a vector", embedder.id, embedder.dims);
    }
    if (status == UAR_OK && embedder.destroy != NULL) embedder.destroy(embedder.ctx);
    return err.code;
}

/* `path` may be empty: then the memory says itself that it can't be opened. */
static int open_memory(uar_memory **out, const app *a, const char *path) {
    uar_embedder embedder;
    int code = stores_embedder(&embedder, a);
    if (code != CODE_OK) return code;
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.embedder = &embedder;
    *out = uar_memory_open(path, &options);
    return CODE_OK;
}

int stores_memory(uar_memory **out, const app *a) {
    int fault = 0;
    char *path = make_path(&fault, a, "memory", "memory.db");
    /* Where a folder couldn't be made the opening fails and says so itself. */
    int code = open_memory(out, a, path != NULL ? path : "");
    free(path);
    return code;
}

int stores_memory_open(uar_memory **out, const app *a) {
    char *path = NULL;
    int code = stores_path(&path, a, "memory", "memory.db");
    if (code != CODE_OK) return code;
    uar_memory *memory = NULL;
    code = open_memory(&memory, a, path);
    if (code != CODE_OK) {
        free(path);
        return code;
    }
    uar_error err = UAR_ERROR_INIT;
    uar_memory_status state = uar_memory_state(memory, &err);
    if (state == UAR_MEMORY_UNAVAILABLE) {
        report_error(a, &err, ""); /* it names the file */
        code = CODE_STORE;
        uar_memory_free(memory);
    } else {
        *out = memory;
    }
    free(path);
    return code;
}
