/*
 * What the memory commands read from the command line and from batch lines: identity, filters, drafts.
 *
 * Everything points into argv, the app or the given JSON, which must outlive the call that uses it.
 */
#ifndef UAR_CLI_MEMORY_ARGS_H
#define UAR_CLI_MEMORY_ARGS_H

#include "app.h"

#include <uar/memory.h>

#include <cjson/cJSON.h>

enum { CATEGORIES_MOST = 32 };

/* Who calls: --owner, --user … and what --all-users and --allow-shared-memory add. */
uar_identity identity_of(const app *a);

/* Filters from the options. `*given` (may be NULL) tells if there is any. CODE_OK, or a code after a report. */
int filter_from_args(uar_memory_filter *out, bool *given, const app *a);
/* One key of a batch line into the filter. False: there is no such filter, or not with such a value. `line` is the text of the
 * line, for what must be taken as it was written: a number keeps all its digits. */
bool filter_from_json(uar_memory_filter *filter, uar_str line, const cJSON *member);

/* A draft from the options. `labels` holds CATEGORIES_MOST places for its categories. */
int draft_from_args(uar_memory_draft *out, uar_str *labels, const app *a, const char *content);
/* A patch from the options. `content` may be NULL. */
int patch_from_args(uar_memory_patch *out, uar_str *labels, const app *a, const char *content);

/* The id of a record; CODE_NOT_FOUND after a report if it can't be one. */
int record_id(uar_uuid *out, const app *a, const char *text);

#endif
