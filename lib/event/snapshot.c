/*
 * Snapshots. A fold owns the text so far and the lists of calls; a taken snapshot owns one block that holds all of it.
 * Invariant: a call is at most once in each list.
 */
#include "event/snapshot.h"

#include <assert.h>

/* One call with its texts in the same allocation. */
struct snapshot_call {
    snapshot_call *next;
    uar_pending_call call;
    char texts[];
};

/* `pub` comes first: the public pointer is the block's. Calls and texts follow. */
typedef struct snapshot_block {
    uar_run_snapshot pub;
    uar_allocator alloc;
} snapshot_block;

static void calls_free(const uar_allocator *alloc, snapshot_call **list) {
    while (*list != NULL) {
        snapshot_call *gone = *list;
        *list = gone->next;
        alloc_free(alloc, gone);
    }
}

static void calls_remove(const uar_allocator *alloc, snapshot_call **list, uar_str id) {
    for (snapshot_call **link = list; *link != NULL; link = &(*link)->next) {
        if (!uar_str_equal((*link)->call.call, id)) continue;
        snapshot_call *gone = *link;
        *link = gone->next;
        alloc_free(alloc, gone);
        return;
    }
}

static uar_str put_text(char **at, uar_str text) {
    if (text.ptr == NULL) return text;
    uar_str copy = uar_str_n(*at, text.len);
    memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

static uar_pending_call put_call(char **at, const uar_pending_call *call) {
    uar_pending_call copy;
    copy.call = put_text(at, call->call);
    copy.tool = put_text(at, call->tool);
    copy.arguments = put_text(at, call->arguments);
    return copy;
}

static size_t call_bytes(const uar_pending_call *call) {
    return call->call.len + call->tool.len + call->arguments.len;
}

/* Append; false: out of memory. */
static bool calls_add(const uar_allocator *alloc, snapshot_call **list, const uar_pending_call *call) {
    snapshot_call *added = alloc_bytes(alloc, sizeof *added + call_bytes(call));
    if (added == NULL) return false;
    char *at = added->texts;
    added->next = NULL;
    added->call = put_call(&at, call);
    while (*list != NULL)
        list = &(*list)->next;
    *list = added;
    return true;
}

static bool calls_add_all(const uar_allocator *alloc, snapshot_call **list, const uar_pending_call *calls,
                          size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!calls_add(alloc, list, &calls[i])) return false;
    return true;
}

void snapshot_fold_init(snapshot_fold *fold, const uar_allocator *alloc, uint64_t last_event) {
    *fold = (snapshot_fold){ .alloc = alloc, .last_event = last_event, .state = UAR_RUN_RUNNING };
    buffer_init(&fold->text, alloc, SIZE_MAX);
}

void snapshot_fold_dispose(snapshot_fold *fold) {
    buffer_dispose(&fold->text);
    calls_free(fold->alloc, &fold->open);
    calls_free(fold->alloc, &fold->pending);
}

uar_status snapshot_fold_seed(snapshot_fold *fold, const uar_run_snapshot *from) {
    snapshot_fold seeded;
    snapshot_fold_init(&seeded, fold->alloc, fold->last_event);
    seeded.state = from->state;
    seeded.lost_text = seeded.lost_calls = from->incomplete;
    seeded.message = from->message;
    buffer_append_str(&seeded.text, from->text);
    bool whole = seeded.text.status == UAR_OK &&
                 calls_add_all(fold->alloc, &seeded.open, from->open, from->open_count) &&
                 calls_add_all(fold->alloc, &seeded.pending, from->pending, from->pending_count);
    if (!whole) {
        snapshot_fold_dispose(&seeded);
        return UAR_E_NOMEM;
    }
    snapshot_fold_dispose(fold);
    *fold = seeded;
    return UAR_OK;
}

static bool calls_copy(const uar_allocator *alloc, snapshot_call **list, const snapshot_call *from) {
    for (; from != NULL; from = from->next)
        if (!calls_add(alloc, list, &from->call)) return false;
    return true;
}

uar_status snapshot_fold_copy(snapshot_fold *copy, const snapshot_fold *from) {
    snapshot_fold made = *from;
    buffer_init(&made.text, from->alloc, SIZE_MAX);
    made.open = made.pending = NULL;
    buffer_append_str(&made.text, buffer_str(&from->text));
    if (made.text.status != UAR_OK || !calls_copy(from->alloc, &made.open, from->open) ||
        !calls_copy(from->alloc, &made.pending, from->pending)) {
        snapshot_fold_dispose(&made);
        return UAR_E_NOMEM;
    }
    *copy = made;
    return UAR_OK;
}

static void forget_text(snapshot_fold *fold) {
    buffer_reset(&fold->text);
    fold->lost_text = false;
}

static void turn_to_message(snapshot_fold *fold, uar_uuid message) {
    if (uar_uuid_is_none(message) || uar_uuid_equal(fold->message, message)) return;
    fold->message = message;
    forget_text(fold);
}

static void fold_text(snapshot_fold *fold, const uar_event_chat_delta *delta) {
    turn_to_message(fold, delta->message);
    buffer_append_str(&fold->text, delta->text);
    if (fold->text.status != UAR_OK) fold->lost_text = true;
}

static void fold_superseded(snapshot_fold *fold, const uar_event_attempt_superseded *superseded) {
    if (uar_uuid_equal(fold->message, superseded->message)) forget_text(fold);
}

static void fold_call(snapshot_fold *fold, snapshot_call **list, uar_pending_call call) {
    calls_remove(fold->alloc, list, call.call);
    if (!calls_add(fold->alloc, list, &call)) fold->lost_calls = true;
}

static void fold_end(snapshot_fold *fold, uar_run_state state) {
    fold->state = state;
    fold->lost_calls = false;
    calls_free(fold->alloc, &fold->open);
    calls_free(fold->alloc, &fold->pending);
}

void snapshot_fold_event(snapshot_fold *fold, const uar_event *event) {
    assert(event->id > fold->last_event);
    fold->last_event = event->id;
    switch (event->kind) {
    case UAR_EVENT_RUN_START:
    case UAR_EVENT_RUN_RESUMED: fold->state = UAR_RUN_RUNNING; break;
    case UAR_EVENT_RUN_PAUSED: fold->state = UAR_RUN_PAUSED; break;
    case UAR_EVENT_RUN_DONE:
        turn_to_message(fold, event->run_done.message);
        fold_end(fold, UAR_RUN_DONE);
        break;
    case UAR_EVENT_RUN_FAILED: fold_end(fold, UAR_RUN_FAILED); break;
    case UAR_EVENT_CANCELLED: fold_end(fold, UAR_RUN_CANCELLED); break;
    case UAR_EVENT_CHAT_DELTA: fold_text(fold, &event->chat_delta); break;
    case UAR_EVENT_REASONING_DELTA: turn_to_message(fold, event->reasoning_delta.message); break;
    case UAR_EVENT_ATTEMPT_SUPERSEDED: fold_superseded(fold, &event->attempt_superseded); break;
    case UAR_EVENT_TOOL_CALL_APPROVAL_REQUIRED:
        fold_call(fold, &fold->pending,
                  (uar_pending_call){ event->tool_call_approval_required.call, event->tool_call_approval_required.tool,
                                      event->tool_call_approval_required.arguments });
        break;
    case UAR_EVENT_TOOL_CALL_APPROVED: calls_remove(fold->alloc, &fold->pending, event->tool_call_approved.call); break;
    case UAR_EVENT_TOOL_CALL_DENIED: calls_remove(fold->alloc, &fold->pending, event->tool_call_denied.call); break;
    case UAR_EVENT_TOOL_START:
        calls_remove(fold->alloc, &fold->pending, event->tool_start.call);
        fold_call(fold, &fold->open,
                  (uar_pending_call){ event->tool_start.call, event->tool_start.tool, event->tool_start.arguments });
        break;
    case UAR_EVENT_TOOL_END:
        calls_remove(fold->alloc, &fold->pending, event->tool_end.call);
        calls_remove(fold->alloc, &fold->open, event->tool_end.call);
        break;
    default: break; /* the other kinds change nothing that a snapshot tells */
    }
}

static size_t calls_measure(const snapshot_call *list, size_t *count) {
    size_t bytes = 0;
    *count = 0;
    for (; list != NULL; list = list->next) {
        bytes += call_bytes(&list->call);
        *count += 1;
    }
    return bytes;
}

static const uar_pending_call *calls_put(uar_pending_call *calls, char **at, const snapshot_call *list) {
    uar_pending_call *next = calls;
    for (; list != NULL; list = list->next)
        *next++ = put_call(at, &list->call);
    return next != calls ? calls : NULL;
}

uar_status snapshot_take(uar_run_snapshot **out, const snapshot_fold *fold, uar_run_id run) {
    size_t open_count;
    size_t pending_count;
    size_t texts = calls_measure(fold->open, &open_count) + calls_measure(fold->pending, &pending_count);
    size_t calls = (open_count + pending_count) * sizeof(uar_pending_call);
    snapshot_block *block = alloc_bytes(fold->alloc, sizeof *block + calls + texts + fold->text.len);
    if (block == NULL) return UAR_E_NOMEM;
    static_assert(sizeof(snapshot_block) % _Alignof(uar_pending_call) == 0, "calls may follow the block");
    uar_pending_call *open = (uar_pending_call *)(void *)(block + 1);
    char *at = (char *)(open + open_count + pending_count);
    block->alloc = *fold->alloc;
    block->pub = (uar_run_snapshot){
        .run = run,
        .last_event = fold->last_event,
        .state = fold->state,
        .message = fold->message,
        .text = put_text(&at, buffer_str(&fold->text)),
        .open = calls_put(open, &at, fold->open),
        .open_count = open_count,
        .pending = calls_put(open + open_count, &at, fold->pending),
        .pending_count = pending_count,
        .incomplete = fold->lost_text || fold->lost_calls,
    };
    live_add(1);
    *out = &block->pub;
    return UAR_OK;
}

void uar_run_snapshot_free(uar_run_snapshot *snapshot) {
    if (snapshot == NULL) return;
    snapshot_block *block = (snapshot_block *)(void *)snapshot;
    uar_allocator alloc = block->alloc;
    alloc_free(&alloc, block);
    live_add(-1);
}
