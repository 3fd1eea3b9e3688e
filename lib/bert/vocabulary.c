/* Owns one block of text and one table. Invariant: the table is at most half full, so a search ends at an empty slot. */
#include "bert/vocabulary.h"

#include <assert.h>

#include "base/error.h"

uar_status vocabulary_init(vocabulary *v, const uar_allocator *a, size_t count, size_t bytes) {
    if (count > VOCABULARY_MAX || bytes > UINT32_MAX) return UAR_E_TOO_LARGE;
    vocabulary made = { .alloc = a, .slot_count = 16 };
    while (made.slot_count < count * 2)
        made.slot_count *= 2;
    made.text = alloc_bytes(a, bytes);
    made.slots = alloc_bytes(a, made.slot_count * sizeof(piece));
    if (made.text == NULL || made.slots == NULL) {
        vocabulary_dispose(&made);
        return UAR_E_NOMEM;
    }
    for (size_t i = 0; i < made.slot_count; i++)
        made.slots[i] = (piece){ 0, 0, VOCABULARY_NONE, false };
    *v = made;
    return UAR_OK;
}

void vocabulary_dispose(vocabulary *v) {
    alloc_free(v->alloc, v->text);
    alloc_free(v->alloc, v->slots);
    v->text = NULL;
    v->slots = NULL;
}

/* FNV-1a, with the kind of piece as its first byte. */
static uint32_t hash_of(uar_str text, bool continues) {
    uint32_t hash = (2166136261u ^ (continues ? 1u : 0u)) * 16777619u;
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (uint8_t)text.ptr[i]) * 16777619u;
    return hash ^ hash >> 15;
}

/* The slot of the piece, or the empty one where it belongs. */
static piece *slot_of(const vocabulary *v, uar_str text, bool continues) {
    size_t mask = v->slot_count - 1;
    for (size_t i = hash_of(text, continues) & mask;; i = (i + 1) & mask) {
        piece *p = &v->slots[i];
        if (p->id == VOCABULARY_NONE) return p;
        if (p->continues == continues && uar_str_equal(uar_str_n(v->text + p->at, p->len), text)) return p;
    }
}

void vocabulary_add(vocabulary *v, uar_str text, bool continues, int32_t id) {
    assert(id >= 0 && (size_t)id < VOCABULARY_MAX);
    if ((size_t)id >= v->ids) v->ids = (size_t)id + 1;
    piece *p = slot_of(v, text, continues);
    if (p->id == VOCABULARY_NONE) {
        if (text.len != 0) memcpy(v->text + v->text_len, text.ptr, text.len);
        *p = (piece){ (uint32_t)v->text_len, (uint32_t)text.len, id, continues };
        v->text_len += text.len;
        if (text.len > v->longest) v->longest = text.len;
    }
    p->id = id;
}

int32_t vocabulary_find(const vocabulary *v, uar_str text, bool continues) {
    return slot_of(v, text, continues)->id;
}
