/*
 * Any bytes through the JSON reader, in both modes. What is read survives writing and reading; canonical text is a fixed
 * point; a strict document reads the same in the other mode; nothing leaks, and a refusal touches no output. The same
 * bytes are also written as a string, and their first eight as a double.
 */
#include <math.h>
#include <stdint.h>

#include "base/json.h"
#include "base/utf8.h"
#include "fuzz/property.h"
#include "support/probe_alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef void (*write_fn)(buffer *out, const cJSON *node);

static void write_tree(buffer *out, const uar_allocator *a, const cJSON *tree, write_fn write) {
    buffer_init(out, a, SIZE_MAX / 4);
    write(out, tree);
    PROPERTY(out->status == UAR_OK);
    PROPERTY(utf8_is_valid(buffer_str(out)));
    PROPERTY(memchr(out->ptr, 0, out->len) == NULL);
}

static cJSON *read_back(const uar_allocator *a, uar_str text, json_mode mode, json_notes *notes) {
    cJSON *tree = NULL;
    PROPERTY(json_read_mode(&tree, a, text, text.len, mode, notes, NULL) == UAR_OK);
    return tree;
}

static bool same_text(const char *a, const char *b) {
    return (a == NULL && b == NULL) || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Also the shape that json_free and cJSON rely on. */
static void check_same_tree(const cJSON *a, const cJSON *b) {
    PROPERTY(a->type == b->type);
    PROPERTY(same_text(a->string, b->string) && same_text(a->valuestring, b->valuestring));
    PROPERTY(isfinite(a->valuedouble) && a->valuedouble == b->valuedouble);
    const cJSON *x = a->child;
    const cJSON *y = b->child;
    for (const cJSON *last = NULL; x != NULL && y != NULL; last = x, x = x->next, y = y->next) {
        PROPERTY(last == NULL || x->prev == last);
        PROPERTY(x->next != NULL || a->child->prev == x);
        check_same_tree(x, y);
    }
    PROPERTY(x == NULL && y == NULL);
}

static void check_strict_tree(const uar_allocator *a, const cJSON *tree, uar_str text) {
    buffer plain, again, canonical, twice;
    json_notes notes = { 1, 1, 1 };
    write_tree(&plain, a, tree, json_append_node);
    cJSON *back = read_back(a, buffer_str(&plain), JSON_STRICT, NULL);
    check_same_tree(tree, back);
    write_tree(&again, a, back, json_append_node);
    PROPERTY(uar_str_equal(buffer_str(&plain), buffer_str(&again)));

    write_tree(&canonical, a, tree, json_append_canonical);
    PROPERTY(canonical.len == plain.len);
    cJSON *sorted = read_back(a, buffer_str(&canonical), JSON_STRICT, NULL);
    write_tree(&twice, a, sorted, json_append_node);
    PROPERTY(uar_str_equal(buffer_str(&canonical), buffer_str(&twice)));

    cJSON *provider = read_back(a, text, JSON_PROVIDER, &notes);
    check_same_tree(tree, provider);
    PROPERTY(notes.nuls == 0 && notes.surrogates == 0 && notes.duplicates == 0);

    json_free(a, back);
    json_free(a, sorted);
    json_free(a, provider);
    buffer_dispose(&plain);
    buffer_dispose(&again);
    buffer_dispose(&canonical);
    buffer_dispose(&twice);
}

/* Written, what only providers may send is gone; two keys may be one now. */
static void check_provider_tree(const uar_allocator *a, const cJSON *tree, json_notes found) {
    buffer plain;
    json_notes notes;
    write_tree(&plain, a, tree, json_append_node);
    cJSON *back = read_back(a, buffer_str(&plain), JSON_PROVIDER, &notes);
    PROPERTY(notes.nuls == 0 && notes.surrogates == 0);
    if (found.surrogates == 0) {
        PROPERTY(notes.duplicates == 0);
        check_same_tree(tree, back);
    }
    json_free(a, back);
    buffer_dispose(&plain);
}

static void check_reading(const uar_allocator *a, uar_str text) {
    cJSON untouched;
    cJSON *strict = &untouched;
    cJSON *provider = &untouched;
    json_notes notes = { 0, 0, 0 };
    uar_error err = UAR_ERROR_INIT;
    uar_status status = json_read(&strict, a, text, text.len, &err);
    if (status == UAR_OK) {
        check_strict_tree(a, strict, text);
        json_free(a, strict);
    } else {
        PROPERTY(status == UAR_E_JSON && err.code == UAR_E_JSON && strict == &untouched);
        PROPERTY(strstr(err.message, " at byte ") != NULL);
    }
    if (json_read_mode(&provider, a, text, text.len, JSON_PROVIDER, &notes, NULL) != UAR_OK) {
        PROPERTY(status != UAR_OK && provider == &untouched);
        return;
    }
    PROPERTY((status == UAR_OK) == (notes.nuls == 0 && notes.surrogates == 0 && notes.duplicates == 0));
    check_provider_tree(a, provider, notes);
    json_free(a, provider);
}

static void check_string(const uar_allocator *a, uar_str text) {
    buffer out;
    buffer_init(&out, a, SIZE_MAX / 4);
    json_append_string(&out, text);
    cJSON *node = read_back(a, buffer_str(&out), JSON_STRICT, NULL);
    bool is_clean = utf8_is_valid(text) && (text.len == 0 || memchr(text.ptr, 0, text.len) == NULL);
    if (is_clean) PROPERTY(uar_str_equal(json_node_text(node), text));
    json_free(a, node);
    buffer_dispose(&out);
}

static void check_double(const uar_allocator *a, const uint8_t *data) {
    double value, back;
    buffer out;
    memcpy(&value, data, sizeof value);
    if (!isfinite(value)) return;
    buffer_init(&out, a, 64);
    json_append_double(&out, value);
    PROPERTY(out.status == UAR_OK && json_number(buffer_str(&out), &back));
    PROPERTY(memcmp(&value, &back, sizeof value) == 0);
    buffer_dispose(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    probe_alloc probe;
    uar_str text = uar_str_n((const char *)data, size);
    probe_alloc_init(&probe);
    check_reading(&probe.door, text);
    PROPERTY(probe.alive == 0);
    check_string(&probe.door, text);
    if (size >= sizeof(double)) check_double(&probe.door, data);
    PROPERTY(probe.alive == 0);
    return 0;
}
