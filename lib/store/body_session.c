/*
 * The body of a session record. Owns nothing.
 * What version 2 adds is how a session came and goes: a mark and an origin. A session with neither is written as version 1,
 * which older libraries read.
 */
#include "store/bodies.h"
#include "store/body.h"

#define SESSION_SCHEMA_LIFE 2u

static const char *const mark_names[] = { "live", "deleted", "unborn" };
#define MARK_COUNT (sizeof mark_names / sizeof *mark_names)

bool session_has_origin(const session_life *life) {
    return life->origin.session.ptr != NULL;
}

static void write_origin(body_writer *w, const session_origin *origin) {
    json_key(&w->json, "origin");
    json_object_begin(&w->json);
    body_write_uuid(w, "message", origin->message);
    json_put_uint(&w->json, "number", origin->number);
    body_write_text(w, "session", origin->session);
    json_object_end(&w->json);
}

uar_status session_record_whole(uar_record *out, arena *ar, const uar_session *s, const session_life *life) {
    body_place place = { .kind = UAR_RECORD_SESSION, .owner = s->owner, .parent = s->user };
    uar_status st = record_key(&place.id, ar, s->user, s->session);
    if (st != UAR_OK) return st;
    bool has_origin = session_has_origin(life);
    if (life->mark != SESSION_LIVE || has_origin) place.schema = SESSION_SCHEMA_LIFE;
    body_writer w;
    body_write_begin(&w, ar);
    json_put_uint(&w.json, "last", s->last_number);
    if (life->mark != SESSION_LIVE) json_put_str(&w.json, "mark", uar_str_of(mark_names[life->mark]));
    json_put_uint(&w.json, "messages", s->messages);
    body_write_optional(&w, "name", s->name);
    if (has_origin) write_origin(&w, &life->origin);
    body_write_text(&w, "session", s->session);
    body_write_text(&w, "user", s->user);
    return body_write_end(out, ar, &w, &place);
}

uar_status session_record(uar_record *out, arena *ar, const uar_session *s) {
    const session_life life = { .mark = SESSION_LIVE };
    return session_record_whole(out, ar, s, &life);
}

static void read_origin(body_scan *scan, body_object *root, session_origin *origin) {
    body_object o = body_object_begin(scan, body_node(root, "origin"), "origin");
    origin->message = body_optional_uuid(&o, "message");
    origin->number = body_u64(&o, "number");
    origin->session = body_text(&o, "session");
    body_object_end(&o, "origin");
}

static void read_life(body_scan *scan, body_object *root, session_life *life) {
    if (body_has(root, "mark")) {
        life->mark = (session_mark)body_choice(root, "mark", mark_names, MARK_COUNT);
        if (life->mark == SESSION_LIVE) body_fault(scan, UAR_E_CORRUPT, "mark");
    }
    if (body_has(root, "origin")) read_origin(scan, root, &life->origin);
    bool says_something = life->mark != SESSION_LIVE || session_has_origin(life);
    if (!says_something) body_fault(scan, UAR_E_CORRUPT, "schema");
}

uar_status session_decode_whole(uar_session *out, session_life *life, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin_upto(&scan, &root, ar, r, UAR_RECORD_SESSION, SESSION_SCHEMA_LIFE, err);
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
    session_life l = { .mark = SESSION_LIVE };
    if (r->schema == SESSION_SCHEMA_LIFE) read_life(&scan, &root, &l);
    body_expect_id(&scan, s.user, s.session);
    if (!uar_str_equal(r->parent, s.user)) body_fault(&scan, UAR_E_CORRUPT, "parent");
    if (s.messages > s.last_number) body_fault(&scan, UAR_E_CORRUPT, "last");
    st = body_scan_end(&scan, &root, err);
    if (st != UAR_OK) return st;
    *out = s;
    *life = l;
    return UAR_OK;
}

uar_status session_decode(uar_session *out, arena *ar, const uar_record *r, uar_error *err) {
    uar_session s;
    session_life life;
    uar_status st = session_decode_whole(&s, &life, ar, r, err);
    if (st != UAR_OK) return st;
    if (life.mark != SESSION_LIVE) return error_set(err, UAR_E_NOT_FOUND, "there is no such session");
    *out = s;
    return UAR_OK;
}
