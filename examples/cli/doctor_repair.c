/* `uar doctor --repair`: what is whole is kept, what is lost is named; see doctor.h. */
#include "doctor.h"
#include "json_out.h"
#include "progress.h"
#include "stores.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static const char *kind_name(uint32_t kind) {
    switch (kind) {
#define X_CASE(name, number, json, docs) \
    case number: return json;
        UAR_RECORD_KINDS(X_CASE)
#undef X_CASE
    default: return NULL;
    }
}

void checkup_note(void *ctx, const uar_store_finding *finding) {
    checkup *c = ctx;
    if (!finding->is_lost || c->lost_count++ >= LOST_MOST) return;
    if (c->lost == NULL) c->lost = cJSON_CreateArray();
    cJSON *item = cJSON_CreateObject();
    node_set(item, "store", node_z("state"));
    node_set(item, "kind", node_z(kind_name(finding->kind)));
    node_set(item, "owner", node_text(finding->owner));
    node_set(item, "id", node_text(finding->id));
    node_set(item, "what", node_text(finding->what));
    cJSON_AddItemToArray(c->lost, item);
}

static const char *hint_for(uar_status status) {
    switch (status) {
    case UAR_E_BUSY: return "close what uses the store, then try again";
    case UAR_E_NEWER: return "use the version that wrote it, or another --store";
    case UAR_E_FULL: return "free some space: a repair needs as much as the store has";
    default: return "restore it from a backup, or use another --store";
    }
}

static bool watch(void *ctx, uint64_t done, uint64_t total) {
    progress_step(ctx, done, total);
    return true;
}

static void repair_state(checkup *c, const char *path) {
    uar_store_repair repair;
    uar_error err = UAR_ERROR_INIT;
    uar_store_repair_init(&repair);
    if (access(path, F_OK) != 0) {
        checkup_good(c, "state_repair", "there is no state yet");
        return;
    }
    progress *p = progress_start(c->app, "repairing the state");
    const uar_care_progress watched = { p, watch };
    uar_status status = uar_sqlite_repair(&repair, path, NULL, checkup_note, c, p != NULL ? &watched : NULL, &err);
    progress_stop(p);
    if (status != UAR_OK)
        checkup_bad_store(c, "state_repair", hint_for(status), "nothing was changed: %s: %s", uar_status_name(status),
                          err.message);
    else if (!repair.replaced)
        checkup_good(c, "state_repair", "nothing to repair, %" PRIu64 " records are whole", repair.records);
    else
        checkup_good(c, "state_repair",
                     "%" PRIu64 " records kept, %" PRIu64 " lost, %" PRIu64 " faults gone; the damaged file is %s%s",
                     repair.records, repair.lost, repair.faults, path, repair.aside);
}

/* The index of a memory is made of its records and can be made again; damaged records can't. */
static void repair_memory(checkup *c, const char *path) {
    uar_error err = UAR_ERROR_INIT;
    if (access(path, F_OK) != 0) {
        checkup_good(c, "memory_repair", "there is no memory yet");
        return;
    }
    uar_memory *memory = uar_memory_open(path, NULL);
    uar_status status = uar_memory_check_sync(memory, &err);
    if (status == UAR_OK) {
        checkup_good(c, "memory_repair", "nothing to repair");
    } else {
        progress *p = progress_start(c->app, "building the memory's index");
        status = uar_memory_reindex_sync(memory, NULL);
        if (status == UAR_OK) status = uar_memory_check_sync(memory, &err);
        progress_stop(p);
        if (status == UAR_OK)
            checkup_good(c, "memory_repair", "its index was built anew");
        else
            checkup_bad_store(c, "memory_repair", hint_for(status), "the records themselves are damaged: %s: %s",
                              uar_status_name(status), err.message);
    }
    uar_memory_free(memory);
}

void checkup_repair(checkup *c) {
    char *state = stores_place(c->app, "state", "state.db");
    char *memory = stores_place(c->app, "memory", "memory.db");
    if (state != NULL) repair_state(c, state);
    if (memory != NULL) repair_memory(c, memory);
    free(state);
    free(memory);
}
