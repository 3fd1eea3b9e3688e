/* The `--embedder SPEC` option of the program. */
#ifndef UAR_CLI_EMBEDDER_SPEC_H
#define UAR_CLI_EMBEDDER_SPEC_H

#include <uar/sys/embedder.h>

/* The folder that `auto` looks for, under the data folder of the user's programs. */
#define EMBEDDER_FETCHED "uar/models/all-MiniLM-L6-v2"

/** UAR_E_INVALID: there is no such SPEC, or it lacks its folder or its URL. Nothing is opened. */
uar_status embedder_spec_check(const char *spec, uar_error *err);

/**
 * Make the embedder that `spec` names: `auto` (the fetched model where there is one, else lexical), `lexical`, `bert:DIR`,
 * `openai:URL#NAME`. The key of a service comes from OPENAI_API_KEY. If `out->destroy` isn't NULL, it frees the embedder;
 * opening a memory with it hands that over. A fetched model that can't be opened gives `lexical`, and `err` the reason: the
 * one case where `err` is written on success.
 */
uar_status embedder_spec_open(uar_embedder *out, const char *spec, uar_error *err);

/** Whether trying again later may give the embedder of this spec: a service that can't be reached now. */
bool embedder_spec_may_come(const char *spec, uar_status status);

#endif
