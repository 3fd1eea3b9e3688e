/* What must hold of the files of a store after any kill, whoever wrote them. */
#ifndef UAR_TESTS_CRASH_STORE_CHECK_H
#define UAR_TESTS_CRASH_STORE_CHECK_H

#include "cases.h"

/* SQLite's own check of a file, its indexes too. A file that isn't there is in order. */
void check_integrity(case_result *r, const char *path);
/* A state store: every run that says it is running is in the index of open runs and the other way round; at most
 * `open_most` are; revisions and numbers of messages are unique; sessions count what is there. */
void check_state(case_result *r, const char *path, unsigned open_most);
/* A memory store: checksums, and records and word index agree. */
void check_memory(case_result *r, const char *path);
/* True if these bytes stand in a file of this folder. */
bool folder_has_bytes(const char *folder, const char *bytes);

#endif
