/* The `--model SPEC` option of the program. */
#ifndef UAR_CLI_MODEL_SPEC_H
#define UAR_CLI_MODEL_SPEC_H

#include <uar/sys/model.h>

/**
 * Make the model that `spec` names: `offline`, `script:FILE`, `replay:FORMAT:PATH[?chunk=N]`, `openai:URL#NAME`.
 * `script_from` is the first line of a script (from 1). The key of a service comes from OPENAI_API_KEY.
 * If `out->destroy` isn't NULL, it frees the model; registering the model hands that over.
 * UAR_E_UNSUPPORTED: a model that this version doesn't have; UAR_E_INVALID: no such SPEC; else what opening it says.
 */
uar_status model_spec_open(uar_model *out, const char *spec, long script_from, uar_error *err);

#endif
