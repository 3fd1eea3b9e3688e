/* Owns: checks and derived numbers of a record's content. No state. */
#include "memory/content.h"

#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "index/fold.h"
#include "store/record.h"

#define MERGED_METADATA_MAX (MEMORY_METADATA_MAX * 16)

uar_status content_check(uar_str text, const char *what, size_t max, uar_error *err) {
    if (text.ptr == NULL || text.len == 0) return error_set(err, UAR_E_INVALID, "the %s is empty", what);
    if (text.len > max)
        return error_set(err, UAR_E_TOO_LARGE, "the %s has %zu bytes, at most %zu are allowed", what, text.len, max);
    size_t fault = utf8_fault(text);
    if (fault != text.len) return error_set(err, UAR_E_UTF8, "the %s is not valid UTF-8 at byte %zu", what, fault);
    if (memchr(text.ptr, '\0', text.len) != NULL) return error_set(err, UAR_E_INVALID, "the %s holds a U+0000", what);
    if (fold_is_blank(text)) return error_set(err, UAR_E_INVALID, "the %s is blank", what);
    return UAR_OK;
}

uar_status content_importance(double importance, uar_error *err) {
    if (importance >= 0 && importance <= 1) return UAR_OK;
    return error_set(err, UAR_E_INVALID, "the importance is not between 0 and 1");
}

static bool has_label(const uar_str *labels, size_t count, uar_str label) {
    for (size_t i = 0; i < count; i++)
        if (uar_str_equal(labels[i], label)) return true;
    return false;
}

uar_status content_labels(uar_memory_record *r, arena *ar, const uar_str *labels, size_t count, uar_error *err) {
    if (count > MEMORY_CATEGORIES_MAX)
        return error_set(err, UAR_E_TOO_LARGE, "there are %zu categories, at most %d are allowed", count,
                         MEMORY_CATEGORIES_MAX);
    uar_str *kept = (uar_str *)arena_zeroed(ar, count + 1, sizeof *kept);
    if (kept == NULL) return error_plain(err, UAR_E_NOMEM);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        uar_status status = host_id_check(labels[i], "category", err);
        if (status != UAR_OK) return status;
        if (!has_label(kept, n, labels[i])) kept[n++] = labels[i];
    }
    r->categories = kept;
    r->category_count = n;
    return UAR_OK;
}

uar_status content_merge_labels(uar_memory_record *have, arena *ar, const uar_memory_record *more) {
    uar_str *all = (uar_str *)arena_zeroed(ar, have->category_count + more->category_count + 1, sizeof *all);
    if (all == NULL) return UAR_E_NOMEM;
    size_t n = 0;
    for (size_t i = 0; i < have->category_count; i++)
        all[n++] = have->categories[i];
    for (size_t i = 0; i < more->category_count; i++)
        if (!has_label(all, n, more->categories[i])) all[n++] = more->categories[i];
    have->categories = all;
    have->category_count = n;
    return UAR_OK;
}

/* Copy what a buffer holds into the arena and let go of the buffer. */
static uar_status keep_text(uar_str *out, arena *ar, buffer *bytes, uar_error *err) {
    uar_status status = bytes->status;
    if (status == UAR_OK) {
        *out = arena_str(ar, buffer_str(bytes));
        if (out->ptr == NULL) status = UAR_E_NOMEM;
    }
    buffer_dispose(bytes);
    if (status == UAR_E_TOO_LARGE) return error_set(err, status, "the metadata is too large");
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

/* No deeper than a reader goes, so the recursion is bounded. */
static bool is_deeper_than(const cJSON *node, int levels) {
    if (!cJSON_IsObject(node) && !cJSON_IsArray(node)) return false;
    if (levels == 0) return true;
    for (const cJSON *child = node->child; child != NULL; child = child->next)
        if (is_deeper_than(child, levels - 1)) return true;
    return false;
}

uar_status content_metadata(uar_str *out, arena *ar, uar_str given, const char *what, uar_error *err) {
    if (given.ptr == NULL) {
        *out = STR("{}");
        return UAR_OK;
    }
    cJSON *tree = NULL;
    uar_error why = UAR_ERROR_INIT;
    uar_status status = json_read(&tree, ar->alloc, given, MEMORY_METADATA_MAX, &why);
    if (status != UAR_OK) return error_set(err, status, "the %s: %s", what, why.message);
    /* An export puts it into a record, and what was exported must come in again. */
    const char *fault = !cJSON_IsObject(tree)                         ? "not a JSON object"
                        : is_deeper_than(tree, MEMORY_METADATA_DEPTH) ? "nested too deeply"
                                                                      : NULL;
    if (fault != NULL) {
        json_free(ar->alloc, tree);
        return error_set(err, UAR_E_INVALID, "the %s is %s", what, fault);
    }
    buffer bytes;
    buffer_init(&bytes, ar->alloc, MERGED_METADATA_MAX);
    json_append_node(&bytes, tree);
    json_free(ar->alloc, tree);
    return keep_text(out, ar, &bytes, err);
}

static void put_node(json_writer *w, const cJSON *node, const uar_allocator *a) {
    buffer value;
    buffer_init(&value, a, MERGED_METADATA_MAX);
    json_append_node(&value, node);
    json_key(w, node->string);
    if (value.status == UAR_OK)
        json_raw(w, buffer_str(&value));
    else
        json_null(w);
    if (value.status != UAR_OK && w->out->status == UAR_OK) w->out->status = value.status;
    buffer_dispose(&value);
}

static void write_merged(buffer *out, const cJSON *have, const cJSON *more) {
    json_writer w;
    json_writer_init(&w, out);
    json_object_begin(&w);
    for (const cJSON *m = have->child; m != NULL; m = m->next) {
        const cJSON *newer = json_member(more, m->string);
        put_node(&w, newer != NULL ? newer : m, out->alloc);
    }
    for (const cJSON *m = more->child; m != NULL; m = m->next)
        if (json_member(have, m->string) == NULL) put_node(&w, m, out->alloc);
    json_object_end(&w);
}

uar_status content_merge_metadata(uar_str *out, arena *ar, uar_str have, uar_str more, uar_error *err) {
    cJSON *old = NULL;
    cJSON *new_one = NULL;
    uar_status status = json_read(&old, ar->alloc, have, MERGED_METADATA_MAX, err);
    if (status == UAR_OK) status = json_read(&new_one, ar->alloc, more, MERGED_METADATA_MAX, err);
    if (status == UAR_OK) {
        buffer bytes;
        buffer_init(&bytes, ar->alloc, MERGED_METADATA_MAX);
        write_merged(&bytes, old, new_one);
        status = keep_text(out, ar, &bytes, err);
    }
    json_free(ar->alloc, old);
    json_free(ar->alloc, new_one);
    return status;
}

static uar_status set_digest(version *v, term_key key, const uar_allocator *a) {
    buffer text;
    buffer_init(&text, a, SIZE_MAX / 4);
    uar_status status = fold_append(&text, v->r.content);
    if (status == UAR_OK) v->digest = (int64_t)term_hash(key, buffer_str(&text));
    buffer_dispose(&text);
    return status;
}

/* A fact is found by its slot too: "blue" answers a question about a favourite colour. */
static uar_status searched_text(buffer *out, const uar_memory_record *r) {
    buffer_append_str(out, r->content);
    if (r->subject.ptr != NULL) {
        buffer_append_char(out, '\n');
        buffer_append_str(out, r->subject);
        buffer_append_char(out, '\n');
        buffer_append_str(out, r->attribute);
    }
    return out->status;
}

static uar_status set_terms(version *v, arena *ar, term_key key) {
    term_list list;
    term_list_init(&list, ar->alloc);
    buffer text;
    buffer_init(&text, ar->alloc, SIZE_MAX / 4);
    uar_status status = searched_text(&text, &v->r);
    if (status == UAR_OK) status = term_list_passage(&list, key, buffer_str(&text));
    buffer_dispose(&text);
    uint8_t *packed = status == UAR_OK ? (uint8_t *)arena_alloc(ar, list.count * TERM_PACKED + 1) : NULL;
    if (status == UAR_OK && packed == NULL) status = UAR_E_NOMEM;
    if (status == UAR_OK) {
        term_list_pack(&list, packed);
        v->terms = packed;
        v->terms_len = list.count * TERM_PACKED;
        v->length = list.length != 0 ? list.length : 1; /* 0 says that nothing may find it, which no text says */
    }
    term_list_dispose(&list);
    return status;
}

uar_status content_index(version *v, arena *ar, term_key key, uar_error *err) {
    uar_status status = set_digest(v, key, ar->alloc);
    if (status == UAR_OK) status = set_terms(v, ar, key);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

uar_status content_slot(version *v, term_key key, const uar_allocator *a, uar_error *err) {
    uar_memory_record *r = &v->r;
    v->has_slot = false;
    v->slot = 0;
    if (r->subject.ptr == NULL && r->attribute.ptr == NULL) return UAR_OK;
    uar_status status = content_check(r->subject, "subject of the fact", 1024, err);
    if (status == UAR_OK) status = content_check(r->attribute, "attribute of the fact", 1024, err);
    if (status != UAR_OK) return status;
    buffer text;
    buffer_init(&text, a, SIZE_MAX / 4);
    status = fold_append(&text, r->subject);
    buffer_append_char(&text, '\0');
    if (status == UAR_OK) status = fold_append(&text, r->attribute);
    if (status == UAR_OK) {
        v->has_slot = true;
        v->slot = (int64_t)term_hash(key, buffer_str(&text));
    }
    buffer_dispose(&text);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

uar_status content_mark(version *v, const uar_memory *memory, uar_error *err) {
    return seal_mark(v->mark, &memory->random, err);
}
