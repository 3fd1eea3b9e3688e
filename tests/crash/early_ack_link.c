/*
 * The control's way into the program: linked with --wrap, these stand in for three functions of the library. The program
 * itself is unchanged. Owns: the one memory record that was acknowledged and isn't written yet.
 */
#include "early_ack.h"

#include <stdlib.h>
#include <string.h>
#include <uar/memory.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"

const uar_persistence *__real_uar_persistence_sqlite(const char *path, const uar_sqlite_options *options);
const uar_persistence *__wrap_uar_persistence_sqlite(const char *path, const uar_sqlite_options *options);
uar_status __real_uar_memory_add_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                      const uar_memory_draft *draft, uar_error *err);
uar_status __wrap_uar_memory_add_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                      const uar_memory_draft *draft, uar_error *err);
void __real_uar_memory_free(uar_memory *memory);
void __wrap_uar_memory_free(uar_memory *memory);

static buffer kept; /* a line of an import */
static char kept_user[129];

const uar_persistence *__wrap_uar_persistence_sqlite(const char *path, const uar_sqlite_options *options) {
    return early_ack_over(__real_uar_persistence_sqlite(path, options));
}

static void keep(uar_uuid id, const uar_identity *who, const uar_memory_draft *draft) {
    json_writer w;
    buffer_init(&kept, &alloc_default, 1 << 20);
    json_writer_init(&w, &kept);
    json_object_begin(&w);
    json_put_uuid(&w, "id", id);
    json_put_str(&w, "content", draft->content);
    json_object_end(&w);
    if (kept.status != UAR_OK || who->user.len >= sizeof kept_user) abort();
    memcpy(kept_user, who->user.ptr, who->user.len);
}

/* Captures of a run carry a key and are added as ever. */
uar_status __wrap_uar_memory_add_sync(uar_memory_change *out, uar_memory *memory, const uar_identity *who,
                                      const uar_memory_draft *draft, uar_error *err) {
    if (draft->unique_key.ptr != NULL || kept.len > 0) return __real_uar_memory_add_sync(out, memory, who, draft, err);
    uar_memory_change change;
    memset(&change, 0, sizeof change);
    if (uuid_make(&change.id, &clock_default, &random_default) != UAR_OK) abort();
    change.outcome = UAR_MEMORY_OUTCOME_ADDED;
    change.revision = 1;
    keep(change.id, who, draft);
    *out = change;
    return UAR_OK;
}

/* Only now the record is written, under the id that was named before. */
void __wrap_uar_memory_free(uar_memory *memory) {
    if (memory != NULL && kept.len > 0) {
        uar_identity who = { UAR_IDENTITY_INIT, .user = uar_str_of(kept_user) };
        uar_memory_imported sum;
        uar_status status =
            uar_memory_import_sync(&sum, memory, &who, buffer_str(&kept), UAR_MEMORY_IMPORT_VERBATIM, NULL, NULL, NULL);
        if (status != UAR_OK || sum.added != 1) abort();
        buffer_dispose(&kept);
    }
    __real_uar_memory_free(memory);
}
