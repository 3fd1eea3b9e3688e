/*
 * What a record says: checks of text, labels, metadata and fact slot, and the numbers by which it is found again. All are
 * shared by adding, changing and importing.
 */
#ifndef UAR_LIB_MEMORY_CONTENT_H
#define UAR_LIB_MEMORY_CONTENT_H

#include "memory/service.h"
#include "memory/version.h"

/* Valid UTF-8 without U+0000, not blank, at most MEMORY_TEXT_MAX. UAR_E_UTF8, UAR_E_INVALID, UAR_E_TOO_LARGE. */
uar_status content_check(uar_str text, const char *what, size_t max, uar_error *err);
/* Labels checked, repeats left out, copied. */
uar_status content_labels(uar_memory_record *r, arena *ar, const uar_str *labels, size_t count, uar_error *err);
/* A JSON object as compact text; absent: {}. UAR_E_JSON, UAR_E_INVALID, UAR_E_TOO_LARGE. */
uar_status content_metadata(uar_str *out, arena *ar, uar_str given, const char *what, uar_error *err);
/* `have` with the members of `more` put over it. UAR_E_TOO_LARGE. */
uar_status content_merge_metadata(uar_str *out, arena *ar, uar_str have, uar_str more, uar_error *err);
/* `have` and what of `more` isn't in it. */
uar_status content_merge_labels(uar_memory_record *have, arena *ar, const uar_memory_record *more);
/* Set the digest from the content, terms and length from content and fact slot; terms live in the arena. */
uar_status content_index(version *v, arena *ar, term_key key, uar_error *err);
/* Set the slot from subject and attribute. UAR_E_INVALID if only one is there. */
uar_status content_slot(version *v, term_key key, const uar_allocator *a, uar_error *err);
/* A new random mark. */
uar_status content_mark(version *v, const uar_memory *memory, uar_error *err);
/* 0 to 1, no NaN. */
uar_status content_importance(double importance, uar_error *err);

#endif
