/* Model `script:FILE`: answers from a script, one line a model call of this process. The format: uar/model.h. */
#ifndef UAR_CLI_HOST_SCRIPT_H
#define UAR_CLI_HOST_SCRIPT_H

#include <uar/sys/model.h>

/**
 * Open a script. The first call plays line `from` (from 1; less counts as 1). Every line from there on is checked now:
 * UAR_E_INVALID or UAR_E_JSON name file, line and event. Past the end a call fails with UAR_E_SCRIPT_EXHAUSTED.
 * `out->destroy` frees the model.
 */
uar_status host_script_model(uar_model *out, const char *path, long from, uar_error *err);

#endif
