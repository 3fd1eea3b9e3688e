/*
 * The bodies of attachments, of their parts, and of the mark of one that is being written or deleted. Owns nothing.
 * Invariant: size, part size and number of parts of a root fit together, so a reader can trust them.
 */
#include <stdio.h>

#include "store/bodies.h"
#include "store/body.h"

static const char hex_digits[] = "0123456789abcdef";

static uint64_t parts_of(uint64_t size, uint64_t part_bytes) {
    return size / part_bytes + (size % part_bytes != 0);
}

static bool is_sound(const uar_attachment *a) {
    return !uar_uuid_is_none(a->id) && a->size <= ATTACHMENT_MAX && a->part_bytes > 0 &&
           a->part_bytes <= ATTACHMENT_PART_MAX && a->media.len > 0;
}

uar_status attachment_record(uar_record *out, arena *ar, const uar_attachment *a) {
    if (!is_sound(a)) return UAR_E_INVALID;
    const body_place place = {
        .kind = UAR_RECORD_ATTACHMENT, .owner = a->owner, .id = body_uuid_text(ar, a->id), .parent = a->user
    };
    if (place.id.ptr == NULL) return UAR_E_NOMEM;
    char sum[2 * sizeof a->sha256];
    for (size_t i = 0; i < sizeof a->sha256; i++) {
        sum[2 * i] = hex_digits[a->sha256[i] >> 4];
        sum[2 * i + 1] = hex_digits[a->sha256[i] & 15];
    }
    body_writer w;
    body_write_begin(&w, ar);
    body_write_text(&w, "media", a->media);
    body_write_optional(&w, "name", a->name);
    json_put_uint(&w.json, "part_bytes", a->part_bytes);
    json_put_uint(&w.json, "parts", parts_of(a->size, a->part_bytes));
    json_put_str(&w.json, "sha256", uar_str_n(sum, sizeof sum));
    json_put_uint(&w.json, "size", a->size);
    body_write_text(&w, "user", a->user);
    return body_write_end(out, ar, &w, &place);
}

static unsigned hex_value(char c) {
    const char *at = c != '\0' ? strchr(hex_digits, c) : NULL;
    return at != NULL ? (unsigned)(at - hex_digits) : 16;
}

static void read_sum(body_object *o, uint8_t out[32]) {
    uar_str text = json_node_text(body_node(o, "sha256"));
    bool good = text.ptr != NULL && text.len == 64;
    for (size_t i = 0; good && i < 32; i++) {
        unsigned high = hex_value(text.ptr[2 * i]), low = hex_value(text.ptr[2 * i + 1]);
        good = high < 16 && low < 16;
        out[i] = (uint8_t)((high & 15) << 4 | (low & 15));
    }
    if (!good) body_fault(o->scan, UAR_E_CORRUPT, "sha256");
}

uar_status attachment_decode(uar_attachment *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_ATTACHMENT, err);
    if (st != UAR_OK) return st;
    uar_attachment a = {
        .owner = body_keep(&scan, r->owner, "owner"),
        .user = body_text(&root, "user"),
        .id = body_id_uuid(&scan),
        .media = body_text(&root, "media"),
        .name = body_optional(&root, "name"),
        .size = body_u64(&root, "size"),
        .part_bytes = body_required_count(&root, "part_bytes"),
        .created_ms = r->created_ms,
        .revision = r->revision,
    };
    uint64_t parts = body_u64(&root, "parts");
    read_sum(&root, a.sha256);
    if (scan.status == UAR_OK && !is_sound(&a)) body_fault(&scan, UAR_E_CORRUPT, "size");
    if (scan.status == UAR_OK && parts != parts_of(a.size, a.part_bytes)) body_fault(&scan, UAR_E_CORRUPT, "parts");
    if (!uar_str_equal(r->parent, a.user)) body_fault(&scan, UAR_E_CORRUPT, "parent");
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = a;
    return st;
}

/* ---- parts ---- */

static uar_status part_key(uar_str *out, arena *ar, uar_str attachment, uint64_t number) {
    char text[24];
    (void)snprintf(text, sizeof text, "%010llu", (unsigned long long)number);
    return record_key(out, ar, attachment, uar_str_of(text));
}

uar_status attachment_part_record(uar_record *out, arena *ar, uar_str owner, const attachment_part *p) {
    if (uar_uuid_is_none(p->attachment) || p->number == 0 || p->number > ATTACHMENT_MAX) return UAR_E_INVALID;
    if (p->content.len == 0 || p->content.len > ATTACHMENT_PART_MAX) return UAR_E_INVALID;
    body_place place = { .kind = UAR_RECORD_ATTACHMENT_PART,
                         .owner = owner,
                         .parent = body_uuid_text(ar, p->attachment) };
    if (place.parent.ptr == NULL) return UAR_E_NOMEM;
    uar_status st = part_key(&place.id, ar, place.parent, p->number);
    if (st != UAR_OK) return st;
    uar_str content = arena_str(ar, p->content);
    if (content.ptr == NULL) return UAR_E_NOMEM;
    body_writer w;
    body_write_begin(&w, ar);
    json_put_uint(&w.json, "part", p->number);
    st = body_write_end(out, ar, &w, &place);
    if (st != UAR_OK) return st;
    out->has_sort = true;
    out->sort = (int64_t)p->number;
    out->blob = content;
    return UAR_OK;
}

static void expect_part(body_scan *s, uint64_t number) {
    const uar_record *r = s->record;
    uar_str key;
    if (s->status != UAR_OK) return;
    if (number == 0 || number > ATTACHMENT_MAX || !r->has_sort || r->sort != (int64_t)number) {
        body_fault(s, UAR_E_CORRUPT, "part");
        return;
    }
    uar_status st = part_key(&key, s->ar, r->parent, number);
    if (st == UAR_E_NOMEM)
        body_fault(s, st, "id");
    else if (st != UAR_OK || !uar_str_equal(key, r->id))
        body_fault(s, UAR_E_CORRUPT, "id");
}

uar_status attachment_part_decode(attachment_part *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_ATTACHMENT_PART, err);
    if (st != UAR_OK) return st;
    attachment_part p = {
        .attachment = body_parent_uuid(&scan),
        .number = body_u64(&root, "part"),
        .content = r->blob,
    };
    expect_part(&scan, p.number);
    if (r->blob.len == 0 || r->blob.len > ATTACHMENT_PART_MAX) body_fault(&scan, UAR_E_CORRUPT, "content");
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = p;
    return st;
}

/* ---- marks ---- */

uar_status attachment_mark_record(uar_record *out, arena *ar, const attachment_mark *m) {
    if (uar_uuid_is_none(m->attachment)) return UAR_E_INVALID;
    const body_place place = { .kind = UAR_RECORD_ATTACHMENT,
                               .owner = uar_str_of(UAR_SYSTEM_OWNER),
                               .id = body_uuid_text(ar, m->attachment) };
    if (place.id.ptr == NULL) return UAR_E_NOMEM;
    body_writer w;
    body_write_begin(&w, ar);
    json_put_bool(&w.json, "deleting", m->deleting);
    body_write_text(&w, "owner", m->owner);
    body_write_text(&w, "user", m->user);
    return body_write_end(out, ar, &w, &place);
}

uar_status attachment_mark_decode(attachment_mark *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_ATTACHMENT, err);
    if (st != UAR_OK) return st;
    attachment_mark m = {
        .attachment = body_id_uuid(&scan),
        .owner = body_text(&root, "owner"),
        .user = body_text(&root, "user"),
        .deleting = body_bool(&root, "deleting"),
        .updated_ms = r->updated_ms,
        .revision = r->revision,
    };
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = m;
    return st;
}
