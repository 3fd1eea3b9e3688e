/*
 * The stores as `uar doctor` sees them: see doctor.h. All is opened for reading only; what isn't there is not made. A store
 * that another process writes to at the same time is fine.
 */
#include "doctor.h"
#include "progress.h"
#include "settings.h"
#include "stores.h"

#include <uar/memory.h>
#include <uar/model.h>
#include <uar/persistence.h>

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char restore_hint[] = "restore it from a backup, or use another --store";

static const char *hint_for(uar_status status) {
    switch (status) {
    case UAR_E_NEWER: return "use the version that wrote it, or another --store";
    case UAR_E_BUSY: return "another process holds it; try again later";
    case UAR_E_CANTOPEN:
    case UAR_E_READ_ONLY:
    case UAR_E_UNAVAILABLE: return "check the path and the rights of --store";
    default: return restore_hint;
    }
}

static const char *reason_of(const uar_error *err) {
    return err->message[0] != '\0' ? err->message : uar_status_text(err->code);
}

/* Bytes of the file and of its log. */
static uint64_t bytes_of(const char *path) {
    struct stat info;
    uint64_t bytes = stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
    text_buffer log = { 0 };
    text_add_z(&log, path);
    text_add_z(&log, "-wal");
    if (stat(log.data, &info) == 0) bytes += (uint64_t)info.st_size;
    text_free(&log);
    return bytes;
}

/* True if the file is there, or its log without it. What can't be looked at counts as there: opening it will say why. */
static bool is_there(const char *path) {
    struct stat info;
    text_buffer log = { 0 };
    text_add_z(&log, path);
    text_add_z(&log, "-wal");
    bool there = stat(path, &info) == 0 || (errno != ENOENT && errno != ENOTDIR) || stat(log.data, &info) == 0;
    text_free(&log);
    return there;
}

/* ---- the folder ---- */

/* The deepest part of the path that exists. Free with free(). */
static char *existing_part(const char *path) {
    char *part = must_copy(uar_str_of(path));
    struct stat info;
    while (stat(part, &info) != 0) {
        char *slash = strrchr(part, '/');
        if (slash == NULL || slash == part) {
            memcpy(part, slash == NULL ? "." : "/", 2);
            break;
        }
        *slash = '\0';
    }
    return part;
}

static void check_folder(checkup *c, const char *folder) {
    static const char hint[] = "choose another --store, or change the rights";
    struct stat info;
    char *part = existing_part(folder);
    bool whole = strcmp(part, folder) == 0;
    if (stat(part, &info) != 0 || !S_ISDIR(info.st_mode)) {
        checkup_bad_store(c, "folder", hint, "%s: %s is not a folder", folder, part);
    } else if (access(part, R_OK | W_OK | X_OK) != 0) {
        checkup_bad_store(c, "folder", hint, "%s: %s: %s", folder, part, strerror(errno));
    } else {
        checkup_good(c, "folder", whole ? "%s" : "%s: not created yet", folder);
    }
    free(part);
}

/* Two stores in one folder would lock each other out; links can hide that. */
static void check_apart(checkup *c, const char *state, const char *memory) {
    struct stat one;
    struct stat other;
    bool both = stat(state, &one) == 0 && stat(memory, &other) == 0;
    if (both && one.st_dev == other.st_dev && one.st_ino == other.st_ino) {
        checkup_bad_store(c, "folders", "give memory a folder of its own", "%s and %s are the same folder", state,
                          memory);
    } else {
        checkup_good(c, "folders", "state and memory are apart");
    }
}

/* ---- state ---- */

static void check_schema(checkup *c, const char *path) {
    enum { PATIENCE_MS = 5000 };
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
    if (code == SQLITE_OK) sqlite3_busy_timeout(db, PATIENCE_MS);
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL);
    if (code == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        checkup_good(c, "state_schema", "version %d", sqlite3_column_int(s, 0));
    sqlite3_finalize(s);
    sqlite3_close(db);
}

/* Every record and every page; also of a store that is too damaged to be opened. */
static void check_records(checkup *c, const char *path, uar_status opened) {
    uar_store_check seen;
    uar_error err = UAR_ERROR_INIT;
    uar_store_check_init(&seen);
    uar_status status = uar_sqlite_check(&seen, path, NULL, checkup_note, c, NULL, &err);
    if (status != UAR_OK) {
        if (opened == UAR_OK || status != opened)
            checkup_bad_store(c, "state_integrity", restore_hint, "can't be checked: %s", reason_of(&err));
        return;
    }
    if (seen.lost + seen.faults != 0)
        checkup_bad_store(c, "state_integrity", "restore a backup, or: uar doctor --repair keeps what is whole",
                          "%" PRIu64 " records are whole, %" PRIu64 " are lost, %" PRIu64 " faults of structure",
                          seen.records, seen.lost, seen.faults);
    else
        checkup_good(c, "state_integrity", "every page, index and checksum agrees, %" PRIu64 " records", seen.records);
}

/* True if it can be opened. */
static bool check_state(checkup *c, const char *path) {
    if (!is_there(path)) {
        checkup_good(c, "state", "%s: not created yet", path);
        return false;
    }
    uar_sqlite_options options;
    uar_error err = UAR_ERROR_INIT;
    uar_sqlite_options_init(&options);
    options.read_only = true;
    const uar_persistence *layer = uar_persistence_sqlite(path, &options);
    uar_status status = layer->open(layer->ctx, &err);
    uar_persistence_free(layer);
    if (status != UAR_OK) {
        checkup_bad_store(c, "state", hint_for(status), "%s: %s: %s", path, uar_status_name(status), reason_of(&err));
        if (status == UAR_E_CORRUPT) check_records(c, path, status);
        return false;
    }
    checkup_good(c, "state", "%s: opens, %" PRIu64 " bytes", path, bytes_of(path));
    check_schema(c, path);
    check_records(c, path, UAR_OK);
    return true;
}

/* ---- settings ---- */

/* A value that `chat` and `run` would refuse. */
static bool check_setting(checkup *c, uar_runtime *rt, const known_setting *setting) {
    uar_reply *reply = NULL;
    uint64_t number = 0;
    bool fine = true;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_setting_get_sync(&reply, rt, c->app->owner, setting->key, &err);
    if (status != UAR_OK && status != UAR_E_NOT_FOUND) {
        checkup_bad_store(c, "settings", hint_for(status), "%s: %s", setting->key, reason_of(&err));
        fine = false;
    } else if (status == UAR_OK && reply->count == 1 && !setting_value(&number, setting, reply->settings[0].value)) {
        checkup_bad(c, "settings", "store another with: uar settings set KEY VALUE",
                    "%s has a value that can't be used", setting->key);
        fine = false;
    }
    uar_reply_free(reply);
    return fine;
}

static void check_settings(checkup *c, const char *path) {
    uar_sqlite_options options;
    uar_runtime *rt = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_sqlite_options_init(&options);
    options.read_only = true;
    uar_builder *b = uar_builder_new(NULL);
    uar_builder_persistence(b, uar_persistence_sqlite(path, &options));
    uar_builder_model(b, uar_model_offline());
    if (uar_builder_build(&rt, b, &err) != UAR_OK) {
        checkup_bad_store(c, "settings", hint_for(err.code), "can't be read: %s", reason_of(&err));
        return;
    }
    bool fine = true;
    for (size_t i = 0; i < SETTING_TOTAL; i++)
        fine = check_setting(c, rt, &known_settings[i]) && fine;
    stores_close(rt);
    if (fine) checkup_good(c, "settings", "all stored values can be used");
}

/* ---- memory ---- */

static void count_records(checkup *c, uar_memory *memory, const char *path) {
    uar_identity who;
    uar_memory_stats stats;
    uar_error err = UAR_ERROR_INIT;
    uar_identity_init(&who);
    who.owner = uar_str_of(c->app->owner);
    who.flags = UAR_IDENTITY_OPERATOR;
    uar_status status = uar_memory_stats_sync(&stats, memory, &who, NULL, &err);
    if (status != UAR_OK) {
        checkup_bad_store(c, "memory_records", hint_for(status), "%s", reason_of(&err));
        return;
    }
    checkup_good(c, "memory", "%s: %s, %" PRIu64 " bytes", path, uar_memory_status_name(stats.state), bytes_of(path));
    checkup_good(c, "memory_records", "%" PRIu64 " of owner '%s', %" PRIu64 " wait to be erased", stats.total,
                 c->app->owner, stats.pending);
}

static void check_memory(checkup *c, const char *path) {
    if (!is_there(path)) {
        checkup_good(c, "memory", "%s: not created yet", path);
        return;
    }
    uar_memory_options options;
    uar_error err = UAR_ERROR_INIT;
    uar_memory_options_init(&options);
    options.read_only = true;
    uar_memory *memory = uar_memory_open(path, &options);
    if (uar_memory_state(memory, &err) == UAR_MEMORY_UNAVAILABLE) {
        checkup_bad_store(c, "memory", hint_for(err.code), "unavailable: %s: %s", uar_status_name(err.code),
                          reason_of(&err));
    } else {
        count_records(c, memory, path);
        uar_status status = uar_memory_check_sync(memory, &err);
        if (status == UAR_OK) checkup_good(c, "memory_integrity", "records, checksums and index agree");
        if (status != UAR_OK)
            checkup_bad_store(c, "memory_integrity", hint_for(status), "%s: %s", uar_status_name(status),
                              reason_of(&err));
    }
    uar_memory_free(memory);
}

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return must_copy(uar_str_n(path, (size_t)(slash - path)));
}

void checkup_stores(checkup *c) {
    char *state = stores_place(c->app, "state", "state.db");
    char *memory = stores_place(c->app, "memory", "memory.db");
    if (state == NULL || memory == NULL) {
        checkup_bad_store(c, "folder", "give --store DIR", "neither XDG_DATA_HOME nor HOME says where stores lie");
        free(state);
        free(memory);
        return;
    }
    char *state_folder = folder_of(state);
    char *memory_folder = folder_of(memory);
    char *root = folder_of(state_folder);
    progress *p = progress_start(c->app, "checking");
    check_folder(c, root);
    check_apart(c, state_folder, memory_folder);
    if (check_state(c, state)) check_settings(c, state);
    check_memory(c, memory);
    progress_stop(p);
    free(root);
    free(state_folder);
    free(memory_folder);
    free(state);
    free(memory);
}
