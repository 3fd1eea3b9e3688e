/*
 * The assistant message that a model is writing: text, reasoning, tool calls, as they grow chunk by chunk.
 *
 * Invariants: every buffer holds valid UTF-8 without U+0000 (what waits for its other half stands in the lane); a call's
 * arguments are the joined pieces and are not parsed here; the first non-empty id and name of a call win; calls stand in the
 * order of their first piece.
 */
#ifndef UAR_LIB_RUN_DRAFT_H
#define UAR_LIB_RUN_DRAFT_H

#include <uar/sys/model.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/utf8.h"

/* Largest text, reasoning and arguments of one message, bytes. */
#define DRAFT_TEXT_MAX ((size_t)64 << 20)
#define DRAFT_CALLS_MAX 256

typedef enum call_state {
    CALL_WRITING, /* the model is still writing it */
    CALL_ASKING,  /* waits for a decision */
    CALL_READY,   /* may run */
    CALL_RUNNING, /* the tool has it */
    CALL_ENDED,   /* its outcome is known, not yet stored */
    CALL_SAVED    /* its outcome is stored */
} call_state;

typedef enum call_decision { DECISION_NONE, DECISION_APPROVED, DECISION_DENIED } call_decision;

/* What a save can hold of a call. */
#define CALL_FACT_ASK 1u
#define CALL_FACT_DECISION 2u
#define CALL_FACT_OUTCOME 4u

typedef struct draft_call {
    uint32_t index; /* the model's name for it while it streams */
    buffer id;
    buffer name;
    buffer arguments; /* as the model wrote them */
    utf8_lane lane;   /* of the arguments */
    call_state state;
    call_decision decision;
    bool decision_saved; /* its decision is stored, or it needs none */
    bool asks;           /* a person is to be asked */
    bool announced;      /* ToolCallApprovalRequired is out: it can be decided */
    unsigned in_save;    /* CALL_FACT_*: what the open save stores of it */
    buffer effective;    /* what really runs: the arguments as checked, or as edited */
    buffer reason;       /* of the decision */
    bool ok;             /* of the outcome */
    uar_status status;   /* of the outcome */
    buffer result;       /* what the model reads: JSON if ok, else text */
} draft_call;

typedef struct draft {
    const uar_allocator *alloc;
    buffer text, reasoning, opaque;
    utf8_lane text_lane, reasoning_lane;
    draft_call *calls;
    size_t call_count, call_cap;
} draft;

void draft_init(draft *d, const uar_allocator *alloc);
void draft_dispose(draft *d);
/* Forget all content: the attempt is void. */
void draft_reset(draft *d);
/* Forget the calls only. */
void draft_drop_calls(draft *d);
/* UAR_OK, or why content was lost (UAR_E_NOMEM, UAR_E_TOO_LARGE). */
uar_status draft_status(const draft *d);
bool draft_is_empty(const draft *d);

/* Each returns what became whole, pointing into the draft until the next change. */
uar_str draft_text(draft *d, uar_str bytes);
uar_str draft_reasoning(draft *d, uar_str bytes);
void draft_opaque(draft *d, uar_str bytes);
/* A piece of a call; `*out` is the call. NULL when there are too many or memory is out. */
draft_call *draft_call_piece(draft *d, uint32_t index, uar_str id, uar_str name, uar_str arguments, uar_str *grown);
/* A new call with this index. NULL when there are too many or memory is out (draft_status tells). */
draft_call *draft_call_add(draft *d, uint32_t index);
/* The model ended: flush what the lanes hold. True if a text ended inside a character. `tail` and `reasoning_tail` are what
 * was flushed. */
bool draft_end(draft *d, uar_str *tail, uar_str *reasoning_tail);
/* Give calls without an id one, and make ids unique, so that each result finds its call. */
uar_status draft_name_calls(draft *d);
draft_call *draft_find(draft *d, uar_str id);
/* U+0000 and broken sequences replaced so far, over all texts. */
void draft_notes(const draft *d, uint32_t *nuls, uint32_t *broken);

void draft_save(const draft *d, json_writer *w);
uar_status draft_load(draft *d, const cJSON *doc);

#endif
