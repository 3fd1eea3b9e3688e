/*
 * Answers of OpenAI Chat Completions: chunks of a stream or one whole completion, to sink pushes.
 *
 * Every function returns UAR_OK to go on; anything else is the status the call ended with. What went wrong is in `failure`
 * and has not been pushed yet: the codec does that, once, for all formats.
 */
#ifndef UAR_LIB_MODEL_OPENAI_ANSWER_H
#define UAR_LIB_MODEL_OPENAI_ANSWER_H

#include "model/call_table.h"
#include "model/sink.h"

/* Figures as the provider counts them; each is the largest one reported. */
typedef struct openai_usage {
    uint64_t prompt, cached, cache_write, completion, reasoning, total;
    bool known;
} openai_usage;

typedef struct openai_answer {
    const uar_allocator *alloc;
    const model_sink *sink;
    size_t max;
    call_table calls;
    buffer scratch;
    openai_usage usage;
    const char *reasoning_key; /* field that the reasoning came in, or NULL */
    bool has_raw_bytes;        /* the event in hand holds bytes that aren't UTF-8 */
    bool has_choice;
    bool has_finish;
    uar_finish finish;
    model_failure failure;
} openai_answer;

void openai_answer_init(openai_answer *answer, const uar_allocator *a, const model_sink *sink, size_t max);
void openai_answer_dispose(openai_answer *answer);

/* One event of the stream. `*done` is set by the end mark. `tail` says that no blank line closed the event: a broken one
 * is then a cut, not a fault. */
uar_status openai_answer_event(openai_answer *answer, uar_str name, uar_str data, bool tail, bool *done);
/* A line that is no field: looked at for an error only. */
uar_status openai_answer_stray(openai_answer *answer, uar_str line);
/* The answer in one JSON document. `is_closed` says that its outermost value ended. */
uar_status openai_answer_document(openai_answer *answer, uar_str json, bool is_closed);
/* The end mark or the end of the bytes: pushes the finish. */
uar_status openai_answer_finish(openai_answer *answer, bool has_end_mark);

#endif
