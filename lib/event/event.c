/*
 * Events and origins. Invariants: an event never changes after it was published; all that it points at lies in its own
 * allocation or in its origin, which it holds a reference to.
 */
#include "event/event.h"

#include <assert.h>
#include <stdatomic.h>

#include "event/shape.h"

struct event_origin {
    uar_allocator alloc;
    atomic_uint refs;
    event_identity identity;
    char texts[];
};

/* `pub` comes first: the public pointer is the block's. */
typedef struct event_block {
    uar_event pub;
    event_origin *origin;
    size_t bytes;
    atomic_uint refs;
} event_block;

static uar_str put_text(char **at, uar_str text) {
    if (text.ptr == NULL) return text;
    uar_str copy = uar_str_n(*at, text.len);
    memcpy(*at, text.ptr, text.len);
    (*at)[text.len] = '\0';
    *at += text.len + 1;
    return copy;
}

/* Add to a size without wrapping: a size beyond any memory stays so, and the allocator then refuses it. */
static void add_bytes(size_t *total, size_t more) {
    *total = more > SIZE_MAX - *total ? SIZE_MAX : *total + more;
}

static void add_text(size_t *total, uar_str text) {
    assert(text.ptr != NULL || text.len == 0);
    if (text.ptr == NULL) return;
    add_bytes(total, text.len);
    add_bytes(total, 1);
}

event_origin *event_origin_new(const uar_allocator *alloc, const event_identity *identity) {
    assert(alloc != NULL && identity != NULL);
    size_t bytes = sizeof(event_origin);
    add_text(&bytes, identity->owner);
    add_text(&bytes, identity->user);
    add_text(&bytes, identity->session);
    add_text(&bytes, identity->agent);
    event_origin *origin = bytes != SIZE_MAX ? alloc_bytes(alloc, bytes) : NULL;
    if (origin == NULL) return NULL;
    origin->alloc = *alloc;
    atomic_init(&origin->refs, 1);
    origin->identity = *identity;
    char *at = origin->texts;
    origin->identity.owner = put_text(&at, identity->owner);
    origin->identity.user = put_text(&at, identity->user);
    origin->identity.session = put_text(&at, identity->session);
    origin->identity.agent = put_text(&at, identity->agent);
    return origin;
}

event_origin *event_origin_ref(event_origin *origin) {
    assert(origin != NULL);
    atomic_fetch_add_explicit(&origin->refs, 1, memory_order_relaxed);
    return origin;
}

void event_origin_unref(event_origin *origin) {
    if (origin == NULL || atomic_fetch_sub_explicit(&origin->refs, 1, memory_order_acq_rel) != 1) return;
    uar_allocator alloc = origin->alloc;
    alloc_free(&alloc, origin);
}

const event_identity *event_origin_identity(const event_origin *origin) {
    return &origin->identity;
}

const uar_allocator *event_origin_allocator(const event_origin *origin) {
    return &origin->alloc;
}

/* What the payload points at, in bytes: lists first, because they need alignment, then texts. */
static size_t tail_bytes(const event_shape *shape, const void *payload) {
    size_t bytes = 0;
    for (size_t i = 0; i < shape->field_count; i++) {
        const void *field = field_at(payload, &shape->fields[i]);
        if (field_is_text(&shape->fields[i])) add_text(&bytes, *(const uar_str *)field);
        if (shape->fields[i].type != FIELD_HITS) continue;
        size_t count = ((const uar_hits *)field)->count;
        add_bytes(&bytes, count > SIZE_MAX / sizeof(uar_hit) ? SIZE_MAX : count * sizeof(uar_hit));
    }
    return bytes;
}

static void put_hits(char **at, uar_hits *hits) {
    assert(hits->items != NULL || hits->count == 0);
    uar_hit *copy = (uar_hit *)(void *)*at;
    if (hits->count != 0) memcpy(copy, hits->items, hits->count * sizeof *copy);
    *at += hits->count * sizeof *copy;
    hits->items = hits->count != 0 ? copy : NULL;
}

/* Move everything that the event's payload borrows into the block's tail. */
static void own_payload(event_block *block, const event_shape *shape) {
    static_assert(sizeof(event_block) % _Alignof(uar_hit) == 0, "lists may follow the block");
    char *payload = (char *)&block->pub.run_start;
    char *at = (char *)(block + 1);
    for (size_t i = 0; i < shape->field_count; i++)
        if (shape->fields[i].type == FIELD_HITS) put_hits(&at, (uar_hits *)(void *)(payload + shape->fields[i].offset));
    for (size_t i = 0; i < shape->field_count; i++) {
        if (!field_is_text(&shape->fields[i])) continue;
        uar_str *text = (uar_str *)(void *)(payload + shape->fields[i].offset);
        *text = put_text(&at, *text);
    }
    assert((size_t)(at - (char *)block) == block->bytes);
}

static void put_identity(uar_event *pub, const event_identity *identity) {
    pub->run = identity->run;
    pub->parent_run = identity->parent_run;
    pub->owner = identity->owner;
    pub->user = identity->user;
    pub->session = identity->session;
    pub->agent = identity->agent;
}

uar_event *event_new(event_origin *origin, uar_event_kind kind, const void *payload) {
    const event_shape *shape = event_shape_of(kind);
    assert(origin != NULL && shape != NULL && payload != NULL);
    size_t bytes = sizeof(event_block);
    add_bytes(&bytes, tail_bytes(shape, payload));
    event_block *block = bytes != SIZE_MAX ? alloc_bytes(&origin->alloc, bytes) : NULL;
    if (block == NULL) return NULL;
    memset(block, 0, sizeof *block);
    block->origin = event_origin_ref(origin);
    block->bytes = bytes;
    atomic_init(&block->refs, 1);
    block->pub.kind = kind;
    put_identity(&block->pub, &origin->identity);
    memcpy(&block->pub.run_start, payload, shape->size);
    own_payload(block, shape);
    live_add(1);
    return &block->pub;
}

static event_block *block_of(const uar_event *event) {
    /* Through an integer: events are const to all who see them, their count of references is not. */
    return (event_block *)(uintptr_t)event;
}

size_t event_bytes(const uar_event *event) {
    return block_of(event)->bytes;
}

bool event_is_from(const uar_event *event, const event_origin *origin) {
    return block_of(event)->origin == origin;
}

const uar_event *uar_event_ref(const uar_event *event) {
    assert(event != NULL);
    atomic_fetch_add_explicit(&block_of(event)->refs, 1, memory_order_relaxed);
    return event;
}

void uar_event_unref(const uar_event *event) {
    if (event == NULL) return;
    event_block *block = block_of(event);
    if (atomic_fetch_sub_explicit(&block->refs, 1, memory_order_acq_rel) != 1) return;
    event_origin *origin = block->origin;
    alloc_free(&origin->alloc, block);
    event_origin_unref(origin);
    live_add(-1);
}
