/*
 * The durable layer in one SQLite file: its life and its door. sqlite_open.c opens it, sqlite_read.c and sqlite_write.c
 * answer calls. Never touches SQLite's process-wide settings: the host may use SQLite too.
 */
#include "store/sqlite.h"

#include "base/struct_in.h"
#include "store/layer.h"

static void sqlite_destroy(void *ctx) {
    sqlite_layer *l = ctx;
    uar_allocator alloc = l->alloc;
    sqlite_close(l);
    alloc_free(&alloc, l->file);
    alloc_free(&alloc, l->folder);
    alloc_free(&alloc, l->path);
    alloc_free(&alloc, l);
    live_add(-1);
}

static const char *sqlite_location(void *ctx) {
    const sqlite_layer *l = ctx;
    return l->folder;
}

void sqlite_fill_options(uar_sqlite_options *options) {
    /* How long to wait for another process, unless the host says otherwise. */
    enum { BUSY_TIMEOUT_MS = 5000 };
    if (options->busy_timeout_ms == 0) options->busy_timeout_ms = BUSY_TIMEOUT_MS;
}

/* NULL gives the defaults; a fault surfaces when the store is opened. */
static void take_options(sqlite_layer *l, const uar_sqlite_options *given) {
    uar_sqlite_options_init(&l->options);
    if (given != NULL) (void)struct_in(&l->options, sizeof l->options, given, "uar_sqlite_options", &l->options_fault);
    sqlite_fill_options(&l->options);
}

const uar_persistence *sqlite_new(const uar_allocator *alloc, const char *path, const uar_sqlite_options *options) {
    return sqlite_new_with(alloc, path, options, &sqlite_schema_now);
}

const uar_persistence *sqlite_new_with(const uar_allocator *alloc, const char *path, const uar_sqlite_options *options,
                                       const sqlite_schema *schema) {
    sqlite_layer *l = ALLOC_NEW(alloc, sqlite_layer);
    if (l == NULL) return NULL;
    l->alloc = *alloc;
    if (path != NULL && (l->path = alloc_text(alloc, uar_str_of(path))) == NULL) {
        alloc_free(alloc, l);
        return NULL;
    }
    l->schema = schema;
    take_options(l, options);
    l->door = (uar_persistence){
        .struct_size = UAR_PERSISTENCE_INIT,
        .ctx = l,
        .destroy = sqlite_destroy,
        .open = sqlite_open,
        .get = sqlite_get,
        .list = sqlite_list,
        .commit = sqlite_commit,
        .location = sqlite_location,
        .blocking = true,
        .suspend = sqlite_suspend,
        .resume = sqlite_resume,
        .backup = sqlite_backup,
        .maintain = sqlite_maintain,
        .check = sqlite_check,
        .care_overlaps = true,
    };
    live_add(1);
    return &l->door;
}

const uar_persistence *uar_persistence_sqlite(const char *path, const uar_sqlite_options *options) {
    const uar_persistence *layer = sqlite_new(&alloc_default, path, options);
    return layer != NULL ? layer : &layer_nomem;
}
