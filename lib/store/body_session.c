/* The body of a session record. Owns nothing. */
#include "store/bodies.h"
#include "store/body.h"

uar_status session_record(uar_record *out, arena *ar, const uar_session *s) {
    body_place place = { .kind = UAR_RECORD_SESSION, .owner = s->owner, .parent = s->user };
    uar_status st = record_key(&place.id, ar, s->user, s->session);
    if (st != UAR_OK) return st;
    body_writer w;
    body_write_begin(&w, ar);
    json_put_uint(&w.json, "last", s->last_number);
    json_put_uint(&w.json, "messages", s->messages);
    body_write_optional(&w, "name", s->name);
    body_write_text(&w, "session", s->session);
    body_write_text(&w, "user", s->user);
    return body_write_end(out, ar, &w, &place);
}

uar_status session_decode(uar_session *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_SESSION, err);
    if (st != UAR_OK) return st;
    uar_session s = {
        .owner = body_keep(&scan, r->owner, "owner"),
        .user = body_text(&root, "user"),
        .session = body_text(&root, "session"),
        .name = body_optional(&root, "name"),
        .messages = body_u64(&root, "messages"),
        .last_number = body_u64(&root, "last"),
        .created_ms = r->created_ms,
        .updated_ms = r->updated_ms,
        .revision = r->revision,
    };
    body_expect_id(&scan, s.user, s.session);
    if (!uar_str_equal(r->parent, s.user)) body_fault(&scan, UAR_E_CORRUPT, "parent");
    if (s.messages > s.last_number) body_fault(&scan, UAR_E_CORRUPT, "last");
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = s;
    return st;
}
