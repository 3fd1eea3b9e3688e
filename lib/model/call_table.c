/* Invariant: a slot's index, id and name never change once they are set; arguments only grow. */
#include "model/call_table.h"

#include "base/str.h"

enum { INDEX_LIMIT = 1 << 20 };

struct call_slot {
    bool has_wire;  /* the provider named an index */
    uint64_t wire;  /* that index */
    uint32_t index; /* the one given out */
    uint64_t chunk; /* last chunk that touched it */
    char *id;       /* NULL until known */
    char *name;     /* NULL until known */
    buffer arguments;
    json_span span;
};

void call_table_init(call_table *table, const uar_allocator *a, size_t max_arguments) {
    memset(table, 0, sizeof *table);
    table->alloc = a;
    table->max_arguments = max_arguments;
}

void call_table_dispose(call_table *table) {
    for (size_t i = 0; i < table->count; i++) {
        alloc_free(table->alloc, table->slots[i].id);
        alloc_free(table->alloc, table->slots[i].name);
        buffer_dispose(&table->slots[i].arguments);
    }
    alloc_free(table->alloc, table->slots);
    call_table_init(table, table->alloc, table->max_arguments);
}

void call_table_chunk(call_table *table) {
    table->chunk++;
}

static bool text_differs(const char *known, uar_str text) {
    return known != NULL && !str_is_empty(text) && !str_is(text, known);
}

static bool is_blank(uar_str text) {
    for (size_t i = 0; i < text.len; i++) {
        if (memchr(" \t\r\n", text.ptr[i], 4) == NULL) return false;
    }
    return true;
}

static call_slot *slot_latest_at(const call_table *table, uint64_t wire) {
    if (table->count == 0) return NULL;
    call_slot *last = &table->slots[table->last];
    if (last->has_wire && last->wire == wire) return last;
    for (size_t i = table->count; i-- > 0;) {
        if (table->slots[i].has_wire && table->slots[i].wire == wire) return &table->slots[i];
    }
    return NULL;
}

static call_slot *slot_by_id(const call_table *table, const call_delta *delta) {
    for (size_t i = table->count; i-- > 0;) {
        call_slot *slot = &table->slots[i];
        if (slot->id == NULL || !str_is(delta->id, slot->id)) continue;
        bool other_index = delta->has_index && slot->has_wire && slot->wire != delta->index;
        if (!other_index) return slot;
    }
    return NULL;
}

/* True if a piece that names its tool can't belong to `slot`. */
static bool name_begins_call(const call_table *table, const call_slot *slot, const call_delta *delta) {
    if (str_is_empty(delta->name)) return false;
    if (text_differs(slot->name, delta->name)) return true;
    if (slot->name == NULL) return false;
    bool settled = slot->span.closed || slot->arguments.len == 0;
    if (settled && slot->chunk == table->chunk) return true;
    if (!slot->span.closed || is_blank(delta->arguments)) return false;
    return !uar_str_equal(buffer_str(&slot->arguments), delta->arguments);
}

/* The call that a piece goes on with, or NULL for a new one. */
static call_slot *slot_resolve(const call_table *table, const call_delta *delta) {
    if (delta->whole) return NULL;
    if (!str_is_empty(delta->id)) {
        call_slot *known = slot_by_id(table, delta);
        if (known != NULL) return known;
        if (!delta->has_index) return NULL;
    }
    call_slot *slot = NULL;
    if (delta->has_index) {
        slot = slot_latest_at(table, delta->index);
    } else if (table->count > 0) {
        slot = &table->slots[table->last];
    }
    if (slot == NULL || text_differs(slot->id, delta->id)) return NULL;
    return name_begins_call(table, slot, delta) ? NULL : slot;
}

static bool index_is_free(const call_table *table, uint64_t index) {
    if (index >= INDEX_LIMIT) return false;
    for (size_t i = 0; i < table->count; i++) {
        if (table->slots[i].index == index) return false;
    }
    return true;
}

static uar_status slots_grow(call_table *table) {
    if (table->count < table->cap) return UAR_OK;
    if (table->count >= CALL_TABLE_MAX) return UAR_E_TOO_LARGE;
    size_t cap = table->cap == 0 ? 4 : table->cap * 2;
    call_slot *slots = alloc_resize(table->alloc, table->slots, cap * sizeof *slots);
    if (slots == NULL) return UAR_E_NOMEM;
    table->slots = slots;
    table->cap = cap;
    return UAR_OK;
}

static uar_status slot_add(call_slot **out, call_table *table, const call_delta *delta) {
    uar_status status = slots_grow(table);
    if (status != UAR_OK) return status;
    bool keep = delta->has_index && index_is_free(table, delta->index);
    call_slot *slot = &table->slots[table->count];
    memset(slot, 0, sizeof *slot);
    slot->has_wire = delta->has_index;
    slot->wire = delta->index;
    slot->index = keep ? (uint32_t)delta->index : table->next;
    buffer_init(&slot->arguments, table->alloc, table->max_arguments);
    table->count++;
    if (slot->index >= table->next) table->next = slot->index + 1;
    *out = slot;
    return UAR_OK;
}

/* Set a text that isn't known yet; `out` is what is new. */
static uar_status text_learn(uar_str *out, const call_table *table, char **known, uar_str text) {
    *out = STR("");
    if (*known != NULL || str_is_empty(text)) return UAR_OK;
    *known = alloc_text(table->alloc, text);
    if (*known == NULL) return UAR_E_NOMEM;
    *out = text;
    return UAR_OK;
}

static uar_status arguments_add(uar_str *out, call_table *table, call_slot *slot, uar_str text) {
    *out = STR("");
    bool repeated = slot->span.closed && uar_str_equal(buffer_str(&slot->arguments), text);
    if (repeated || str_is_empty(text)) return UAR_OK;
    if (text.len > table->max_arguments - table->arguments) return UAR_E_TOO_LARGE;
    buffer_append_str(&slot->arguments, text);
    if (slot->arguments.status != UAR_OK) return slot->arguments.status;
    table->arguments += text.len;
    json_span_push(&slot->span, text);
    *out = text;
    return UAR_OK;
}

uar_status call_table_take(call_piece *out, call_table *table, const call_delta *delta) {
    call_piece piece = { 0, STR_INIT(""), STR_INIT(""), STR_INIT("") };
    *out = piece;
    if (str_is_empty(delta->id) && str_is_empty(delta->name) && str_is_empty(delta->arguments)) return UAR_OK;
    call_slot *slot = slot_resolve(table, delta);
    uar_status status = slot != NULL ? UAR_OK : slot_add(&slot, table, delta);
    if (status != UAR_OK) return status;
    slot->chunk = table->chunk;
    table->last = (size_t)(slot - table->slots);
    piece.index = slot->index;
    status = text_learn(&piece.id, table, &slot->id, delta->id);
    if (status == UAR_OK) status = text_learn(&piece.name, table, &slot->name, delta->name);
    if (status == UAR_OK) status = arguments_add(&piece.arguments, table, slot, delta->arguments);
    if (status == UAR_OK) *out = piece;
    return status;
}
