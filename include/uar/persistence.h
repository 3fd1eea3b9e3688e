/*
 * uar/persistence.h: the bundled persistence layers. Since 0.1.
 */
#ifndef UAR_PERSISTENCE_H
#define UAR_PERSISTENCE_H

#include <uar/sys/persistence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How to open an SQLite store. */
typedef struct uar_sqlite_options {
    size_t size;              /**< sizeof(uar_sqlite_options) */
    uint32_t busy_timeout_ms; /**< how long to wait for another process; 0: 5000 */
    bool read_only;           /**< open without writing anything */
    /** Watches a store of an older version become one of this version, when it is opened; false leaves it as it was and
     *  fails with UAR_E_CANCELLED. Its `ctx` must live until the layer is destroyed. */
    uar_care_progress progress;
} uar_sqlite_options;
/** Head of a uar_sqlite_options. */
#define UAR_SQLITE_OPTIONS_INIT sizeof(uar_sqlite_options)
/** The twin of UAR_SQLITE_OPTIONS_INIT. */
static inline void uar_sqlite_options_init(uar_sqlite_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

/**
 * A durable layer in one SQLite file. Folders of `path` must exist. Never NULL; opening happens in uar_builder_build,
 * and errors surface there. `options` may be NULL. Hand the result to exactly one taker, which destroys it.
 */
UAR_API const uar_persistence *uar_persistence_sqlite(const char *path, const uar_sqlite_options *options);

/** A layer that forgets everything when it is destroyed. Never NULL. Hand it to exactly one taker. */
UAR_API const uar_persistence *uar_persistence_volatile(void);

/** Destroy a layer that was not handed to anybody. NULL is accepted. */
UAR_API void uar_persistence_free(const uar_persistence *layer);

#ifdef __cplusplus
}
#endif
#endif
