/* How often a function that only has the name of one of the archive's dependencies was called. */
#ifndef UAR_TESTS_ARCHIVE_IMPOSTORS_H
#define UAR_TESTS_ARCHIVE_IMPOSTORS_H

int impostor_calls(void);
int sqlite3_step(void);

#endif
