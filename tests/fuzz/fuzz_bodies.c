/*
 * Any bytes as the body of a record of each kind. What must hold: they are refused with a typed error and no output is
 * touched, or they are read, and what was read is written as the same bytes if these were canonical, and as a fixed point if
 * not. The first byte chooses the golden record whose keys are used; the rest is the body.
 */
#include <stdio.h>

#include "base/json.h"
#include "fuzz/property.h"
#include "support/body_kinds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_canonical(uar_str body) {
    cJSON *tree = NULL;
    buffer text;
    buffer_init(&text, &alloc_default, SIZE_MAX / 2);
    PROPERTY(json_read(&tree, &alloc_default, body, SIZE_MAX, NULL) == UAR_OK);
    json_append_canonical(&text, tree);
    bool same = uar_str_equal(buffer_str(&text), body);
    json_free(&alloc_default, tree);
    buffer_dispose(&text);
    return same;
}

static void check(const uar_record *in, arena *ar) {
    uar_record out, again;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = body_recode(&out, ar, in, &err);
    if (status != UAR_OK) {
        PROPERTY(status == UAR_E_CORRUPT || status == UAR_E_NEWER);
        PROPERTY(err.code == status && err.message[0] != '\0');
        return;
    }
    PROPERTY(!is_canonical(in->body) || uar_str_equal(out.body, in->body));
    out.revision = in->revision;
    status = body_recode(&again, ar, &out, NULL);
    PROPERTY(status == UAR_OK);
    PROPERTY(uar_str_equal(again.body, out.body) && again.schema == out.schema);
    PROPERTY(uar_str_equal(again.id, in->id) && uar_str_equal(again.parent, in->parent));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    arena ar;
    arena_init(&ar, &alloc_default);
    uar_record in = golden_record(&golden_bodies[data[0] % golden_body_count]);
    in.body = uar_str_n((const char *)data + 1, size - 1);
    check(&in, &ar);
    in.schema = data[0] / (unsigned)golden_body_count;
    check(&in, &ar);
    arena_dispose(&ar);
    return 0;
}
