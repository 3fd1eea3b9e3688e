/* Bodies of OpenAI Chat Completions requests. The rules are those of uar_codec_request. */
#ifndef UAR_LIB_MODEL_OPENAI_REQUEST_H
#define UAR_LIB_MODEL_OPENAI_REQUEST_H

#include <uar/model.h>

#include "base/json.h"

/* `options` are read and complete. On failure `out` holds rubbish. */
uar_status openai_request(buffer *out, const uar_model_request *request, const uar_codec_options *options,
                          uar_error *err);

#endif
