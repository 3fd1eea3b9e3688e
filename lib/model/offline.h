/*
 * Answers without a model: quotes what was recalled, or says that nothing is known. No state, no memory, no network.
 *
 * What it reads: the newest user message, the memory block in the user message just before it (one text part from
 * `<memory` to `</memory>`, an item a line as `- [DATE, SCOPE, by TRUST] TEXT` with &lt; &gt; &amp;), and the results of
 * tools behind it.
 */
#ifndef UAR_LIB_MODEL_OFFLINE_H
#define UAR_LIB_MODEL_OFFLINE_H

#include "model/sink.h"

/* Pushes the whole answer, word by word, and the finish. Returns what the sink returned. */
uar_status offline_answer(const uar_model_request *request, const model_sink *sink);

#endif
