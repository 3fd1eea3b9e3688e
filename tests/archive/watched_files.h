/* Every file that the program opened by the C library's doors, in order. */
#ifndef UAR_TESTS_ARCHIVE_WATCHED_FILES_H
#define UAR_TESTS_ARCHIVE_WATCHED_FILES_H

#include <stddef.h>

void watched_files_forget(void);
size_t watched_files_count(void);
const char *watched_file(size_t index);

#endif
