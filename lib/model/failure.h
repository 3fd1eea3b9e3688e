/*
 * Why a model call failed: the status for programs, the provider's own code and one line for people, and whether asking
 * again may help. A value type; its texts are NUL-terminated valid UTF-8 without controls, cut at a character.
 */
#ifndef UAR_LIB_MODEL_FAILURE_H
#define UAR_LIB_MODEL_FAILURE_H

#include <uar/base.h>

#include "base/json.h"

typedef struct model_failure {
    uar_status status;
    bool retryable;
    uint32_t retry_after_ms; /* 0: the provider named no time */
    char code[64];           /* "" if none */
    char message[248];       /* "" if none */
} model_failure;

/* A failure of ours; retryable if the band of the status says so. `message` may be absent. */
void failure_set(model_failure *out, uar_status status, uar_str message);
/* Replace the code or message of a failure. */
void failure_code(model_failure *out, uar_str code);
void failure_message(model_failure *out, uar_str message);

/* From a provider's error value: {"message","type","code"}, a text, or null. */
void failure_from_json(model_failure *out, const cJSON *error);
/* From an HTTP status and, if there is one, the JSON of the body: an object with `error`, or an array of such. */
void failure_from_http(model_failure *out, int status, uint32_t retry_after_ms, const cJSON *body);

/* The error value of a provider's JSON, or NULL: member `error` that isn't null, of the object or of an array's first. */
const cJSON *failure_find(const cJSON *json);

#endif
