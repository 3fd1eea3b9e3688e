/* Marks on the items or properties of a value. Owns the words of larger sets. */
#include "schema/schema_marks.h"

#include <assert.h>

enum { WORD_BITS = 64 };

static size_t words_of(const marks *m) {
    return m->many == NULL ? 1 : (m->count + WORD_BITS - 1) / WORD_BITS;
}

static uint64_t *words(marks *m) {
    return m->many != NULL ? m->many : &m->few;
}

bool marks_init(marks *m, const uar_allocator *a, size_t count) {
    *m = (marks){ .count = count };
    if (count <= WORD_BITS) return true;
    m->many = alloc_zeroed(a, (count + WORD_BITS - 1) / WORD_BITS, sizeof *m->many);
    return m->many != NULL;
}

void marks_dispose(marks *m, const uar_allocator *a) {
    alloc_free(a, m->many);
    m->many = NULL;
}

void marks_set(marks *m, size_t index) {
    if (m == NULL) return;
    assert(index < m->count);
    words(m)[index / WORD_BITS] |= UINT64_C(1) << index % WORD_BITS;
}

void marks_set_all(marks *m) {
    if (m != NULL) memset(words(m), 0xFF, words_of(m) * sizeof(uint64_t));
}

void marks_merge(marks *m, const marks *from) {
    if (m == NULL) return;
    assert(m->count == from->count);
    const uint64_t *source = from->many != NULL ? from->many : &from->few;
    for (size_t i = 0; i < words_of(m); i++)
        words(m)[i] |= source[i];
}

bool marks_has(const marks *m, size_t index) {
    assert(m != NULL && index < m->count);
    const uint64_t *source = m->many != NULL ? m->many : &m->few;
    return (source[index / WORD_BITS] >> index % WORD_BITS & 1) != 0;
}
