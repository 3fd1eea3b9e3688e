/* The demands that most requirements of the conformance kit are made of, and faults in words. Owns nothing. */
#include <assert.h>

#include "store/check.h"

/* ---- words ---- */

static size_t quote_byte(char *to, unsigned char byte) {
    static const char digits[] = "0123456789abcdef";
    if (byte >= 0x20 && byte < 0x7f && byte != '\\' && byte != '"') {
        to[0] = (char)byte;
        return 1;
    }
    memcpy(to, "\\x", 2);
    to[2] = digits[byte >> 4];
    to[3] = digits[byte & 15];
    return 4;
}

const char *kit_quote(char out[KIT_QUOTE], uar_str text) {
    if (text.ptr == NULL) {
        memcpy(out, "absent", 7);
        return out;
    }
    /* Room for one more byte, three dots, a quote and the end. */
    enum { ROOM = KIT_QUOTE - 4 - 3 - 1 - 1 };
    size_t at = 0, i = 0;
    out[at++] = '"';
    for (; i < text.len && at <= ROOM; i++)
        at += quote_byte(out + at, (unsigned char)text.ptr[i]);
    if (i < text.len) {
        memcpy(out + at, "...", 3);
        at += 3;
    }
    out[at++] = '"';
    out[at] = '\0';
    assert(at < KIT_QUOTE);
    return out;
}

/* ---- demands ---- */

bool kit_expect(kit *k, uar_status got, uar_status wanted, const char *what) {
    if (got == wanted) return true;
    if (got == UAR_E_TIMEOUT && k->is_hung)
        return KIT_FAULT(k, "%s: expected %s, but the call never ended", what, uar_status_name(wanted));
    if (got == UAR_E_DROPPED)
        return KIT_FAULT(k, "%s: expected %s, but the call was dropped without an answer", what,
                         uar_status_name(wanted));
    if (got == UAR_E_PROTOCOL)
        return KIT_FAULT(k, "%s: the answer has a wrong number of records or broken texts", what);
    if (got == UAR_OK || k->said[0] == '\0')
        return KIT_FAULT(k, "%s: expected %s, came %s", what, uar_status_name(wanted), uar_status_name(got));
    return KIT_FAULT(k, "%s: expected %s, came %s (%s)", what, uar_status_name(wanted), uar_status_name(got), k->said);
}

bool kit_commits(kit *k, const uar_write *writes, size_t count, const char *what) {
    return kit_expect(k, kit_commit(k, writes, count), UAR_OK, what);
}

bool kit_stores(kit *k, uar_record record) {
    const uar_write put = kit_put(record, 0);
    return kit_commits(k, &put, 1, "a put of a new record");
}

bool kit_refuses(kit *k, const uar_write *writes, size_t count, const char *what) {
    return kit_expect(k, kit_commit(k, writes, count), UAR_E_CONFLICT, what);
}

static bool same_text(uar_str a, uar_str b) {
    return (a.ptr == NULL) == (b.ptr == NULL) && uar_str_equal(a, b);
}

/* A record came back with another number in one of its fields. */
static bool kit_number_fault(kit *k, const char *field, uar_str id, int64_t put, int64_t came) {
    char name[KIT_QUOTE];
    return KIT_FAULT(k, "record %s: put with %s %lld, came back with %lld", kit_quote(name, id), field, (long long)put,
                     (long long)came);
}

static size_t first_difference(uar_str a, uar_str b) {
    size_t i = 0;
    while (i < a.len && i < b.len && a.ptr[i] == b.ptr[i])
        i++;
    return i;
}

static bool text_fault(kit *k, const char *field, uar_str id, uar_str put, uar_str came) {
    char name[KIT_QUOTE], one[KIT_QUOTE], two[KIT_QUOTE];
    size_t at = first_difference(put, came);
    if (at < 16)
        return KIT_FAULT(k, "record %s: put with %s %s (%zu bytes), came back with %s (%zu bytes)", kit_quote(name, id),
                         field, kit_quote(one, put), put.len, kit_quote(two, came), came.len);
    return KIT_FAULT(k, "record %s: its %s of %zu bytes came back with %zu, and differs from byte %zu on",
                     kit_quote(name, id), field, put.len, came.len, at);
}

static bool sort_fault(kit *k, const uar_record *put, const uar_record *came) {
    if (put->has_sort && came->has_sort) return kit_number_fault(k, "sort", put->id, put->sort, came->sort);
    char name[KIT_QUOTE];
    return KIT_FAULT(k, "record %s: put %s a sort, came back %s one", kit_quote(name, put->id),
                     put->has_sort ? "with" : "without", came->has_sort ? "with" : "without");
}

static bool same_numbers(kit *k, const uar_record *got, const uar_record *wanted) {
    const struct {
        const char *field;
        int64_t put, came;
    } numbers[] = {
        { "kind", wanted->kind, got->kind },
        { "revision", (int64_t)wanted->revision, (int64_t)got->revision },
        { "schema version", wanted->schema, got->schema },
        { "created_ms", wanted->created_ms, got->created_ms },
        { "updated_ms", wanted->updated_ms, got->updated_ms },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].put != numbers[i].came)
            return kit_number_fault(k, numbers[i].field, wanted->id, numbers[i].put, numbers[i].came);
    bool same_sort = got->has_sort == wanted->has_sort && (!got->has_sort || got->sort == wanted->sort);
    return same_sort || sort_fault(k, wanted, got);
}

static bool same_checksum(kit *k, const uar_record *got, const uar_record *wanted) {
    if (memcmp(got->checksum, wanted->checksum, sizeof got->checksum) == 0) return true;
    const size_t len = sizeof got->checksum;
    return text_fault(k, "checksum", wanted->id, uar_str_n((const char *)wanted->checksum, len),
                      uar_str_n((const char *)got->checksum, len));
}

bool kit_same(kit *k, const uar_record *got, const uar_record *wanted) {
    const struct {
        const char *field;
        uar_str put, came;
    } texts[] = {
        { "owner", wanted->owner, got->owner },    { "id", wanted->id, got->id },
        { "parent", wanted->parent, got->parent }, { "body", wanted->body, got->body },
        { "blob", wanted->blob, got->blob },
    };
    if (!same_numbers(k, got, wanted)) return false;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!same_text(texts[i].put, texts[i].came))
            return text_fault(k, texts[i].field, wanted->id, texts[i].put, texts[i].came);
    return same_checksum(k, got, wanted);
}

static bool get_of(kit *k, uar_record *got, const uar_record *record, uar_status wanted, const char *why) {
    uar_status status = kit_get(got, k, record->kind, record->owner, record->id);
    if (status == wanted) return true;
    char name[KIT_QUOTE];
    uar_error what;
    error_set(&what, UAR_E_INVALID, "a get of record %s, %s", kit_quote(name, record->id), why);
    return kit_expect(k, status, wanted, what.message);
}

bool kit_has(kit *k, const uar_record *record) {
    uar_record got;
    return get_of(k, &got, record, UAR_OK, "which must be there") && kit_same(k, &got, record);
}

bool kit_lacks(kit *k, const uar_record *record) {
    uar_record got;
    return get_of(k, &got, record, UAR_E_NOT_FOUND, "which must not be there");
}

/* "a list by sort of parent "p" behind 5, "a", at most 3" */
static const char *name_list(uar_error *out, const uar_list_query *q) {
    char parent[KIT_QUOTE], after[KIT_QUOTE];
    bool by_sort = q->order == UAR_ORDER_SORT;
    bool has_parent = q->parent.ptr != NULL;
    error_set(out, UAR_E_INVALID, "a list by %s%s%s", by_sort ? "sort" : "key", has_parent ? " of parent " : "",
              has_parent ? kit_quote(parent, q->parent) : "");
    if (q->has_after && by_sort)
        error_set(out, UAR_E_INVALID, "%s behind %lld, %s", out->message, (long long)q->after_sort,
                  kit_quote(after, q->after_id));
    else if (q->has_after)
        error_set(out, UAR_E_INVALID, "%s behind %s", out->message, kit_quote(after, q->after_id));
    error_set(out, UAR_E_INVALID, "%s, at most %zu", out->message, q->limit);
    return out->message;
}

bool kit_lists(kit *k, const uar_list_query *query, const uar_str *ids, size_t count) {
    kit_page page = { .count = 0 };
    uar_status status = kit_list(&page, k, query);
    char came[KIT_QUOTE], wanted[KIT_QUOTE];
    uar_error list;
    if (status != UAR_OK) return kit_expect(k, status, UAR_OK, name_list(&list, query));
    for (size_t i = 0; i < count && i < page.count; i++)
        if (!uar_str_equal(page.records[i].id, ids[i]))
            return KIT_FAULT(k, "%s: expected %s at place %zu, came %s", name_list(&list, query),
                             kit_quote(wanted, ids[i]), i + 1, kit_quote(came, page.records[i].id));
    if (page.count == count) return true;
    return KIT_FAULT(k, "%s: expected %zu records, came %zu", name_list(&list, query), count, page.count);
}

uar_list_query kit_query(const kit *k, uar_list_order order) {
    return (uar_list_query){ .kind = UAR_RECORD_MESSAGE, .owner = k->owner, .order = order, .limit = 1000 };
}
