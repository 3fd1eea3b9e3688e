/*
 * Text as it is compared: NFKC, case folded, default-ignorable characters gone. All memory is the caller's allocator's;
 * utf8proc is used only where it allocates nothing.
 */
#ifndef UAR_LIB_INDEX_FOLD_H
#define UAR_LIB_INDEX_FOLD_H

#include "base/buffer.h"

/* Code points of a folded text. */
typedef struct folded {
    const uar_allocator *alloc;
    int32_t *points;
    size_t count;
} folded;

typedef enum fold_marks {
    FOLD_KEEP_MARKS, /* "é" stays apart from "e": what is the same text */
    FOLD_DROP_MARKS  /* accents and Arabic vowel signs go: what finds a text */
} fold_marks;

/* Fold valid UTF-8. UAR_E_NOMEM; UAR_E_UTF8. Dispose the result. */
uar_status fold_points(folded *out, const uar_allocator *a, uar_str text, fold_marks marks);
void folded_dispose(folded *f);

/* Append the folded text with each run of white space as one space and none at the ends; marks stay. Equal results are the
 * same text. UAR_E_NOMEM, UAR_E_UTF8, or what the buffer says. */
uar_status fold_append(buffer *out, uar_str text);

/* White space and controls, as folding and blank checks see it. */
bool fold_is_space(int32_t point);
/* True if the text has nothing but white space, controls and ignorable characters. */
bool fold_is_blank(uar_str text);

#endif
