/* A memory that is to die: the store as it is before, and a copy in which a forked process is killed at a chosen point. */
#ifndef UAR_TESTS_CRASH_DIE_STORE_H
#define UAR_TESTS_CRASH_DIE_STORE_H

#include <stdbool.h>

#include <uar/memory.h>

typedef struct die_store {
    char folder[128], kept[192], path[192];
} die_store;

/* A folder for it; `kept` is to be filled. Remove it by cases_remove_folder. */
void die_store_make(die_store *s);
/* True if a process that opens `path` (a fresh copy of `kept`), acts and frees it was killed before point `at`; false: it came
 * to its end, and acted well. */
bool die_store_at(const die_store *s, long at, bool torn, uar_memory *(*open)(const char *path),
                  bool (*act)(void *ctx, uar_memory *memory), void *ctx);

#endif
