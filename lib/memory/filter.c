/* Owns: filters as given by callers. Invariant: a filter that was made names only known scopes and types. */
#include "memory/filter.h"

#include "base/str.h"
#include "memory/expire.h"
#include "memory/service.h"
#include "store/record.h"

#define SCOPE_BITS 0x3Eu
#define TYPE_BITS 0x1Eu

static uar_status check(const uar_memory_filter *g, uar_error *err) {
    if ((g->scopes & ~SCOPE_BITS) != 0) return error_set(err, UAR_E_INVALID, "the filter names an unknown scope");
    if ((g->types & ~TYPE_BITS) != 0) return error_set(err, UAR_E_INVALID, "the filter names an unknown type");
    const struct {
        uar_str id;
        const char *what;
    } ids[] = { { g->user, "user" },
                { g->agent, "agent" },
                { g->session, "session" },
                { g->task, "task" },
                { g->category, "category" } };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        if (ids[i].id.ptr == NULL) continue;
        uar_status status = host_id_check(ids[i].id, ids[i].what, err);
        if (status != UAR_OK) return status;
    }
    return UAR_OK;
}

static uar_status read_metadata(filter *f, uar_error *err) {
    if (f->given.metadata.ptr == NULL) return UAR_OK;
    uar_status status = json_read(&f->metadata, f->alloc, f->given.metadata, MEMORY_METADATA_MAX, err);
    if (status != UAR_OK) return status;
    if (cJSON_IsObject(f->metadata)) return UAR_OK;
    filter_dispose(f);
    return error_set(err, UAR_E_INVALID, "the metadata of a filter is a JSON object");
}

uar_status filter_init(filter *f, const uar_memory_filter *given, int64_t now, const uar_allocator *a, uar_error *err) {
    memset(f, 0, sizeof *f);
    f->alloc = a;
    f->time = now;
    f->now = now;
    if (given == NULL) return UAR_OK;
    uar_status status = struct_in(&f->given, sizeof f->given, given, "uar_memory_filter", err);
    if (status == UAR_OK) status = check(&f->given, err);
    if (status != UAR_OK) return status;
    if (f->given.include_past) f->mode = FILTER_CURRENT;
    if (f->given.as_of_ms != 0) {
        f->mode = FILTER_AS_OF;
        f->time = f->given.as_of_ms;
    }
    return read_metadata(f, err);
}

uar_status filter_begin(filter *f, caller *c, const uar_memory *memory, const uar_identity *who,
                        const uar_memory_filter *given, uar_error *err) {
    uar_status status = caller_begin(c, memory, who, err);
    return status == UAR_OK ? filter_init(f, given, clock_wall(&memory->clock), &memory->alloc, err) : status;
}

void filter_dispose(filter *f) {
    json_free(f->alloc, f->metadata);
    f->metadata = NULL;
}

bool filter_needs_row(const filter *f) {
    return f->given.category.ptr != NULL || (f->metadata != NULL && f->metadata->child != NULL);
}

bool filter_has_condition(const filter *f) {
    const uar_memory_filter *g = &f->given;
    return g->scopes != 0 || g->types != 0 || g->user.ptr != NULL || g->agent.ptr != NULL || g->session.ptr != NULL ||
           g->task.ptr != NULL || g->after_ms != 0 || g->before_ms != 0 || filter_needs_row(f);
}

void filter_bind(query *q, const filter *f) {
    query_int(q, 8, (int64_t)f->given.scopes | (int64_t)f->given.types << 8);
    query_int(q, 9, f->now);
    query_text(q, 10, f->given.user);
    query_text(q, 11, f->given.agent);
    query_text(q, 12, f->given.session);
    query_text(q, 13, f->given.task);
    query_int(q, 14, f->given.after_ms);
    query_int(q, 15, f->given.before_ms);
    query_int(q, 16, (int64_t)f->mode);
    query_int(q, 17, f->time);
}

static bool has_category(const uar_memory_record *r, uar_str category) {
    for (size_t i = 0; i < r->category_count; i++)
        if (uar_str_equal(r->categories[i], category)) return true;
    return false;
}

/* Values are the same if their canonical texts are; numbers compare by how they were written. */
static uar_status same_value(bool *out, const uar_allocator *a, const cJSON *x, const cJSON *y) {
    buffer bytes;
    buffer_init(&bytes, a, SIZE_MAX / 4);
    json_append_canonical(&bytes, x);
    size_t split = bytes.len;
    json_append_canonical(&bytes, y);
    uar_status status = bytes.status;
    if (status == UAR_OK)
        *out = uar_str_equal(uar_str_n(bytes.ptr, split), uar_str_n(bytes.ptr + split, bytes.len - split));
    buffer_dispose(&bytes);
    return status;
}

static uar_status has_metadata(bool *out, const filter *f, const uar_memory_record *r) {
    cJSON *have = NULL;
    uar_status status = json_read(&have, f->alloc, r->metadata, SIZE_MAX / 4, NULL);
    if (status != UAR_OK) return status == UAR_E_NOMEM ? status : UAR_E_CORRUPT;
    bool matches = true;
    for (const cJSON *want = f->metadata->child; want != NULL && matches && status == UAR_OK; want = want->next) {
        const cJSON *got = json_member(have, want->string);
        if (got == NULL)
            matches = false;
        else
            status = same_value(&matches, f->alloc, want, got);
    }
    json_free(f->alloc, have);
    if (status == UAR_OK) *out = matches;
    return status;
}

uar_status filter_matches(bool *out, const filter *f, const uar_memory_record *r) {
    if (expire_is_due(r, f->now)) {
        *out = false;
        return UAR_OK;
    }
    *out = f->given.category.ptr == NULL || has_category(r, f->given.category);
    if (!*out || f->metadata == NULL || f->metadata->child == NULL) return UAR_OK;
    return has_metadata(out, f, r);
}
