/* What must be found after the victims of test_crash_run, by what they noted. */
#ifndef UAR_TESTS_CRASH_SCENE_CHECKS_H
#define UAR_TESTS_CRASH_SCENE_CHECKS_H

#include "scenes.h"

/* Right after a kill, before anybody opens the files: what was said to be erased is in none of them. */
void check_erased(case_result *r, const char *folder, const notes *told);
/* Sessions that were deleted are gone with all that hung below them; waits for the end of a deletion that a kill cut. Before
 * check_told. */
void check_deleted(case_result *r, const char *folder, const notes *told);
/* After the last victim, which nobody killed. `kills` is how many there were. */
void check_told(case_result *r, const char *folder, const notes *told, unsigned kills);

#endif
