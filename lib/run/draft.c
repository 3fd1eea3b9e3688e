/* Owns: the growing assistant message. Errors of its buffers stick; draft_status tells. */
#include "run/draft.h"

#include <assert.h>

#include "base/error.h"
#include "base/str.h"

#define ID_MAX_BYTES 256
#define NAME_MAX_BYTES 256

static void call_init(draft_call *c, const uar_allocator *alloc, uint32_t index) {
    memset(c, 0, sizeof *c);
    c->index = index;
    buffer_init(&c->id, alloc, ID_MAX_BYTES);
    buffer_init(&c->name, alloc, NAME_MAX_BYTES);
    buffer_init(&c->arguments, alloc, DRAFT_TEXT_MAX);
    buffer_init(&c->effective, alloc, DRAFT_TEXT_MAX);
    buffer_init(&c->reason, alloc, DRAFT_TEXT_MAX);
    buffer_init(&c->result, alloc, DRAFT_TEXT_MAX);
    utf8_lane_init(&c->lane);
}

static void call_dispose(draft_call *c) {
    buffer_dispose(&c->id);
    buffer_dispose(&c->name);
    buffer_dispose(&c->arguments);
    buffer_dispose(&c->effective);
    buffer_dispose(&c->reason);
    buffer_dispose(&c->result);
}

static uar_status call_status(const draft_call *c) {
    const buffer *all[] = { &c->id, &c->name, &c->arguments, &c->effective, &c->reason, &c->result };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->status != UAR_OK) return all[i]->status;
    return UAR_OK;
}

void draft_init(draft *d, const uar_allocator *alloc) {
    memset(d, 0, sizeof *d);
    d->alloc = alloc;
    buffer_init(&d->text, alloc, DRAFT_TEXT_MAX);
    buffer_init(&d->reasoning, alloc, DRAFT_TEXT_MAX);
    buffer_init(&d->opaque, alloc, DRAFT_TEXT_MAX);
    utf8_lane_init(&d->text_lane);
    utf8_lane_init(&d->reasoning_lane);
}

void draft_drop_calls(draft *d) {
    for (size_t i = 0; i < d->call_count; i++)
        call_dispose(&d->calls[i]);
    alloc_free(d->alloc, d->calls);
    d->calls = NULL;
    d->call_count = d->call_cap = 0;
}

void draft_dispose(draft *d) {
    draft_drop_calls(d);
    buffer_dispose(&d->text);
    buffer_dispose(&d->reasoning);
    buffer_dispose(&d->opaque);
}

void draft_reset(draft *d) {
    const uar_allocator *alloc = d->alloc;
    draft_dispose(d);
    draft_init(d, alloc);
}

uar_status draft_status(const draft *d) {
    if (d->text.status != UAR_OK) return d->text.status;
    if (d->reasoning.status != UAR_OK) return d->reasoning.status;
    if (d->opaque.status != UAR_OK) return d->opaque.status;
    for (size_t i = 0; i < d->call_count; i++) {
        uar_status status = call_status(&d->calls[i]);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

bool draft_is_empty(const draft *d) {
    return d->text.len == 0 && d->reasoning.len == 0 && d->opaque.len == 0 && d->call_count == 0;
}

/* What `b` grew by since it had `before` bytes. */
static uar_str grown_since(const buffer *b, size_t before) {
    return uar_str_n(b->ptr != NULL ? b->ptr + before : "", b->len - before);
}

uar_str draft_text(draft *d, uar_str bytes) {
    size_t before = d->text.len;
    utf8_lane_push(&d->text_lane, bytes, &d->text);
    return grown_since(&d->text, before);
}

uar_str draft_reasoning(draft *d, uar_str bytes) {
    size_t before = d->reasoning.len;
    utf8_lane_push(&d->reasoning_lane, bytes, &d->reasoning);
    return grown_since(&d->reasoning, before);
}

void draft_opaque(draft *d, uar_str bytes) {
    buffer_append_str(&d->opaque, bytes);
}

static draft_call *call_by_index(draft *d, uint32_t index) {
    for (size_t i = d->call_count; i-- > 0;)
        if (d->calls[i].index == index) return &d->calls[i];
    return NULL;
}

draft_call *draft_call_add(draft *d, uint32_t index) {
    if (d->call_count == d->call_cap) {
        size_t cap = d->call_cap == 0 ? 2 : d->call_cap * 2;
        draft_call *calls = cap > DRAFT_CALLS_MAX ? NULL : alloc_resize(d->alloc, d->calls, cap * sizeof *calls);
        if (calls == NULL) {
            d->text.status = cap > DRAFT_CALLS_MAX ? UAR_E_TOO_LARGE : UAR_E_NOMEM;
            return NULL;
        }
        d->calls = calls;
        d->call_cap = cap;
    }
    draft_call *c = &d->calls[d->call_count++];
    call_init(c, d->alloc, index);
    return c;
}

/* Names and ids are short and come whole; what isn't text is made text. */
static void set_once(buffer *b, uar_str value) {
    if (b->len != 0 || value.len == 0) return;
    utf8_lane lane;
    utf8_lane_init(&lane);
    utf8_lane_push(&lane, uar_str_n(value.ptr, value.len < b->max ? value.len : b->max - 8), b);
    utf8_lane_end(&lane, b);
}

draft_call *draft_call_piece(draft *d, uint32_t index, uar_str id, uar_str name, uar_str arguments, uar_str *grown) {
    draft_call *c = call_by_index(d, index);
    if (c == NULL) c = draft_call_add(d, index);
    if (c == NULL) return NULL;
    set_once(&c->id, id);
    set_once(&c->name, name);
    size_t before = c->arguments.len;
    utf8_lane_push(&c->lane, arguments, &c->arguments);
    *grown = grown_since(&c->arguments, before);
    return c;
}

bool draft_end(draft *d, uar_str *tail, uar_str *reasoning_tail) {
    size_t text_before = d->text.len, reasoning_before = d->reasoning.len;
    utf8_lane_end(&d->text_lane, &d->text);
    utf8_lane_end(&d->reasoning_lane, &d->reasoning);
    bool truncated = d->text_lane.truncated || d->reasoning_lane.truncated;
    for (size_t i = 0; i < d->call_count; i++) {
        utf8_lane_end(&d->calls[i].lane, &d->calls[i].arguments);
        truncated = truncated || d->calls[i].lane.truncated;
    }
    *tail = grown_since(&d->text, text_before);
    *reasoning_tail = grown_since(&d->reasoning, reasoning_before);
    return truncated;
}

static bool is_taken(const draft *d, size_t before, uar_str id) {
    for (size_t i = 0; i < before; i++)
        if (uar_str_equal(buffer_str(&d->calls[i].id), id)) return true;
    return false;
}

uar_status draft_name_calls(draft *d) {
    for (size_t i = 0; i < d->call_count; i++) {
        buffer *id = &d->calls[i].id;
        for (uint64_t n = i + 1; id->status == UAR_OK && (id->len == 0 || is_taken(d, i, buffer_str(id))); n++) {
            buffer_reset(id);
            buffer_append_text(id, "call_");
            buffer_append_u64(id, n);
        }
    }
    return draft_status(d);
}

draft_call *draft_find(draft *d, uar_str id) {
    for (size_t i = 0; i < d->call_count; i++)
        if (uar_str_equal(buffer_str(&d->calls[i].id), id)) return &d->calls[i];
    return NULL;
}

void draft_notes(const draft *d, uint32_t *nuls, uint32_t *broken) {
    *nuls = d->text_lane.nuls + d->reasoning_lane.nuls;
    *broken = d->text_lane.broken + d->reasoning_lane.broken;
    for (size_t i = 0; i < d->call_count; i++) {
        *nuls += d->calls[i].lane.nuls;
        *broken += d->calls[i].lane.broken;
    }
}
