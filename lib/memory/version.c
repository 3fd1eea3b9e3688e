/* Owns: the row format of a version. Invariant: what version_read gives is what version_insert or _update sealed, byte for
 * byte, or UAR_E_CORRUPT. */
#include "memory/version.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/str.h"

#define ROW_MAX (SIZE_MAX / 4)

static void join_labels(buffer *out, const uar_memory_record *r) {
    for (size_t i = 0; i < r->category_count; i++) {
        if (i != 0) buffer_append_char(out, LABEL_SEPARATOR);
        buffer_append_str(out, r->categories[i]);
    }
}

static uar_status split_labels(uar_memory_record *r, arena *ar, uar_str joined) {
    r->categories = NULL;
    r->category_count = 0;
    if (joined.len == 0) return UAR_OK;
    size_t count = 1;
    for (size_t i = 0; i < joined.len; i++)
        count += joined.ptr[i] == LABEL_SEPARATOR;
    uar_str *labels = (uar_str *)arena_zeroed(ar, count, sizeof *labels);
    if (labels == NULL) return UAR_E_NOMEM;
    size_t from = 0;
    for (size_t i = 0, n = 0; i <= joined.len; i++) {
        if (i < joined.len && joined.ptr[i] != LABEL_SEPARATOR) continue;
        labels[n++] = uar_str_n(joined.ptr + from, i - from);
        from = i + 1;
    }
    r->categories = labels;
    r->category_count = count;
    return UAR_OK;
}

static uar_status checksum(uint8_t out[SEAL_BYTES], const version *v, uar_str labels) {
    const uar_memory_record *r = &v->r;
    const uar_str texts[] = { r->owner,
                              r->user,
                              r->agent,
                              r->session,
                              r->task,
                              r->content,
                              labels,
                              r->metadata,
                              r->subject,
                              r->attribute,
                              r->provenance.session,
                              r->embedder,
                              uar_str_n((const char *)v->terms, v->terms_len) };
    uint64_t importance = 0;
    memcpy(&importance, &r->importance, sizeof importance);
    const uint64_t numbers[] = { (uint64_t)v->seg,
                                 r->revision,
                                 r->current,
                                 (uint64_t)r->scope,
                                 (uint64_t)r->type,
                                 (uint64_t)r->trust,
                                 importance,
                                 (uint64_t)v->digest,
                                 v->has_slot,
                                 (uint64_t)v->slot,
                                 r->provenance.event,
                                 (uint64_t)r->created_ms,
                                 (uint64_t)r->updated_ms,
                                 (uint64_t)r->valid_from_ms,
                                 (uint64_t)r->valid_until_ms,
                                 v->length };
    seal all = { .count = 0 };
    seal_id(&all, &r->id);
    seal_id(&all, &r->provenance.run);
    seal_id(&all, &r->superseded_by);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        seal_number(&all, numbers[i]);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        seal_text(&all, texts[i]);
    return seal_end(out, &all);
}

static uar_status read_texts(version *v, query *q, arena *ar, uar_str *labels) {
    uar_memory_record *r = &v->r;
    uar_str terms = { NULL, 0 };
    const struct {
        uar_str *out;
        int column;
    } texts[] = { { &r->owner, 9 },
                  { &r->user, 10 },
                  { &r->agent, 11 },
                  { &r->session, 12 },
                  { &r->task, 13 },
                  { &r->content, 14 },
                  { labels, 15 },
                  { &r->metadata, 16 },
                  { &r->subject, 18 },
                  { &r->attribute, 19 },
                  { &r->provenance.session, 24 },
                  { &r->embedder, 30 },
                  { &terms, 31 } };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uar_status status = query_copy_text(texts[i].out, q, texts[i].column, ar);
        if (status != UAR_OK) return status;
    }
    v->terms = (const uint8_t *)terms.ptr;
    v->terms_len = terms.len;
    return split_labels(r, ar, *labels);
}

static void read_numbers(version *v, query *q) {
    uar_memory_record *r = &v->r;
    v->num = query_get_int(q, 0);
    r->id = query_get_uuid(q, 2);
    v->seg = query_get_int(q, 3);
    r->revision = (uint64_t)query_get_int(q, 4);
    r->current = query_get_int(q, 5) == 1;
    r->scope = (uar_memory_scope)query_get_int(q, 6);
    r->type = (uar_memory_type)query_get_int(q, 7);
    r->trust = (uar_memory_trust)query_get_int(q, 8);
    r->importance = query_get_real(q, 17);
    v->digest = query_get_int(q, 20);
    v->has_slot = sqlite3_column_type(q->statement, 21) != SQLITE_NULL; /* as text it would need memory */
    v->slot = query_get_int(q, 21);
    r->provenance.run = query_get_uuid(q, 22);
    r->provenance.event = (uint64_t)query_get_int(q, 23);
    r->created_ms = query_get_int(q, 25);
    r->updated_ms = query_get_int(q, 26);
    r->valid_from_ms = query_get_int(q, 27);
    r->valid_until_ms = query_get_int(q, 28);
    r->superseded_by = query_get_uuid(q, 29);
    v->length = (uint32_t)query_get_int(q, 32);
    r->recall_count = (uint64_t)query_get_int(q, 34);
    r->recalled_ms = query_get_int(q, 35);
    r->reinforced = (uint64_t)query_get_int(q, 36);
    r->expires_ms = query_get_int(q, 37);
}

static uar_status corrupt(const version *v, uar_error *err) {
    char id[UAR_UUID_TEXT];
    uar_uuid_format(id, v->r.id);
    return error_set(err, UAR_E_CORRUPT, "memory record %s doesn't match its checksum", id);
}

uar_status version_read(version *out, query *q, arena *ar, uar_error *err) {
    version v;
    memset(&v, 0, sizeof v);
    read_numbers(&v, q);
    if (!seal_bytes(v.mark, MARK_BYTES, q, 1) || !seal_bytes(v.r.checksum, SEAL_BYTES, q, 33)) return corrupt(&v, err);
    uar_str labels = { NULL, 0 };
    uar_status status = read_texts(&v, q, ar, &labels);
    uint8_t expected[SEAL_BYTES];
    if (status == UAR_OK) status = checksum(expected, &v, labels);
    if (status != UAR_OK) return error_plain(err, status);
    if (memcmp(expected, v.r.checksum, sizeof expected) != 0) return corrupt(&v, err);
    *out = v;
    return UAR_OK;
}

uar_status version_first(version *out, query *q, arena *ar, uar_error *err) {
    uar_status status = UAR_OK;
    bool found = query_next(q);
    if (found) status = version_read(out, q, ar, err);
    uar_status end = query_end(q, status == UAR_OK ? err : NULL);
    if (status == UAR_OK) status = end;
    if (status == UAR_OK && !found) return error_set(err, UAR_E_NOT_FOUND, "there is no such memory record");
    return status;
}

uar_status version_load(version *out, database *db, int64_t num, arena *ar, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_VERSION_BY_NUM);
    query_int(&q, 18, num);
    return version_first(out, &q, ar, err);
}

static void bind(query *q, const version *v, uar_str labels) {
    const uar_memory_record *r = &v->r;
    if (v->num != 0) query_int(q, 1, v->num);
    query_blob(q, 2, v->mark, MARK_BYTES);
    query_uuid(q, 3, r->id);
    query_int(q, 4, v->seg);
    query_int(q, 5, (int64_t)r->revision);
    query_int(q, 6, r->current ? 1 : 0);
    query_int(q, 7, (int64_t)r->scope);
    query_int(q, 8, (int64_t)r->type);
    query_int(q, 9, (int64_t)r->trust);
    const uar_str texts[] = { r->owner, r->user, r->agent, r->session, r->task, r->content, labels, r->metadata };
    for (int i = 0; i < 8; i++)
        query_text(q, 10 + i, texts[i]);
    query_real(q, 18, r->importance);
    query_text(q, 19, r->subject);
    query_text(q, 20, r->attribute);
    query_int(q, 21, v->digest);
    if (v->has_slot) query_int(q, 22, v->slot);
    query_uuid(q, 23, r->provenance.run);
    query_int(q, 24, (int64_t)r->provenance.event);
    query_text(q, 25, r->provenance.session);
    query_int(q, 26, r->created_ms);
    query_int(q, 27, r->updated_ms);
    query_int(q, 28, r->valid_from_ms);
    query_int(q, 29, r->valid_until_ms);
    query_uuid(q, 30, r->superseded_by);
    query_text(q, 31, r->embedder);
    query_blob(q, 32, v->terms, v->terms_len);
    query_int(q, 33, (int64_t)v->length);
    query_blob(q, 34, r->checksum, sizeof r->checksum);
}

static uar_status write(database *db, sql_id id, version *v, const uar_allocator *a, uar_error *err) {
    buffer labels;
    buffer_init(&labels, a, ROW_MAX);
    join_labels(&labels, &v->r);
    uar_status status = labels.status;
    if (status == UAR_OK) status = checksum(v->r.checksum, v, buffer_str(&labels));
    if (status != UAR_OK) error_plain(err, status);
    if (status == UAR_OK) {
        query q;
        query_begin(&q, db, id);
        bind(&q, v, buffer_str(&labels));
        status = query_run(&q, err);
    }
    buffer_dispose(&labels);
    return status;
}

uar_status version_insert(database *db, version *v, const uar_allocator *a, uar_error *err) {
    v->num = 0;
    uar_status status = write(db, SQL_VERSION_INSERT, v, a, err);
    if (status == UAR_OK) v->num = sqlite3_last_insert_rowid(db->handle);
    return status;
}

uar_status version_update(database *db, version *v, const uar_allocator *a, uar_error *err) {
    assert(v->num != 0);
    return write(db, SQL_VERSION_UPDATE, v, a, err);
}
