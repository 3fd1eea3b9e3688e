/*
 * The body and the key of a memory block. Owns nothing.
 * The id says whose it is: "agent:A US label", "user:U US label", or, for a session, "user:U US session US label".
 */
#include "base/utf8.h"
#include "store/bodies.h"
#include "store/body.h"

#define X_NAME(name, json) json,
static const char *const scope_names[] = { UAR_BLOCK_SCOPES(X_NAME) };
#undef X_NAME

#define SCOPE_COUNT (sizeof scope_names / sizeof scope_names[0])

/* `head` and an id in one text. */
static uar_status prefixed(uar_str *out, arena *ar, const char *head, uar_str id) {
    size_t len = strlen(head);
    char *text = arena_alloc(ar, len + id.len + 1);
    if (text == NULL) return UAR_E_NOMEM;
    memcpy(text, head, len);
    if (id.len > 0) memcpy(text + len, id.ptr, id.len);
    text[len + id.len] = '\0';
    *out = uar_str_n(text, len + id.len);
    return UAR_OK;
}

static bool is_half(uar_str id) {
    return id.ptr != NULL && id.len > 0 && memchr(id.ptr, 0x1f, id.len) == NULL;
}

uar_status block_parent(uar_str *out, arena *ar, const uar_block *b) {
    if ((size_t)b->scope >= SCOPE_COUNT) return UAR_E_INVALID;
    if (b->scope == UAR_BLOCK_SESSION) return record_key(out, ar, b->user, b->session);
    uar_str id = b->scope == UAR_BLOCK_AGENT ? b->agent : b->user;
    if (!is_half(id)) return UAR_E_INVALID;
    return prefixed(out, ar, b->scope == UAR_BLOCK_AGENT ? "agent:" : "user:", id);
}

uar_status block_key(uar_str *out, arena *ar, const uar_block *b) {
    uar_str parent, head;
    uar_status st = block_parent(&parent, ar, b);
    if (st != UAR_OK) return st;
    if (!is_half(b->label)) return UAR_E_INVALID;
    if (b->scope != UAR_BLOCK_SESSION) return record_key(out, ar, parent, b->label);
    st = prefixed(&head, ar, "user:", parent);
    if (st != UAR_OK) return st;
    if (head.len + 1 + b->label.len > RECORD_ID_MAX) return UAR_E_INVALID;
    char *key = arena_alloc(ar, head.len + 1 + b->label.len + 1);
    if (key == NULL) return UAR_E_NOMEM;
    memcpy(key, head.ptr, head.len);
    key[head.len] = 0x1f;
    memcpy(key + head.len + 1, b->label.ptr, b->label.len);
    size_t len = head.len + 1 + b->label.len;
    key[len] = '\0';
    *out = uar_str_n(key, len);
    return UAR_OK;
}

static uar_status block_check(const uar_block *b) {
    if (b->limit == 0) return UAR_E_INVALID;
    if (b->text.len > 0 && !utf8_is_valid(b->text)) return UAR_E_UTF8;
    return utf8_length(b->text) > b->limit ? UAR_E_TOO_LARGE : UAR_OK;
}

uar_status block_record(uar_record *out, arena *ar, const uar_block *b) {
    body_place place = { .kind = UAR_RECORD_MEMORY_BLOCK, .owner = b->owner };
    uar_status st = block_check(b);
    if (st == UAR_OK) st = block_parent(&place.parent, ar, b);
    if (st == UAR_OK) st = block_key(&place.id, ar, b);
    if (st != UAR_OK) return st;
    body_writer w;
    body_write_begin(&w, ar);
    if (b->scope == UAR_BLOCK_AGENT) body_write_text(&w, "agent", b->agent);
    body_write_text(&w, "label", b->label);
    json_put_uint(&w.json, "limit", b->limit);
    json_put_str(&w.json, "scope", uar_str_of(scope_names[b->scope]));
    if (b->scope == UAR_BLOCK_SESSION) body_write_text(&w, "session", b->session);
    body_write_text(&w, "text", b->text);
    if (b->scope != UAR_BLOCK_AGENT) body_write_text(&w, "user", b->user);
    return body_write_end(out, ar, &w, &place);
}

/* The keys of the record must be those that the body makes. */
static void expect_place(body_scan *s, const uar_block *b) {
    uar_str key, parent;
    if (s->status != UAR_OK) return;
    uar_status st = block_check(b);
    if (st == UAR_OK) st = block_parent(&parent, s->ar, b);
    if (st == UAR_OK) st = block_key(&key, s->ar, b);
    if (st == UAR_E_NOMEM)
        body_fault(s, st, "id");
    else if (st != UAR_OK || !uar_str_equal(key, s->record->id))
        body_fault(s, UAR_E_CORRUPT, "id");
    else if (!uar_str_equal(parent, s->record->parent))
        body_fault(s, UAR_E_CORRUPT, "parent");
}

uar_status block_decode(uar_block *out, arena *ar, const uar_record *r, uar_error *err) {
    body_scan scan;
    body_object root;
    uar_status st = body_scan_begin(&scan, &root, ar, r, UAR_RECORD_MEMORY_BLOCK, err);
    if (st != UAR_OK) return st;
    uar_block b = {
        .owner = body_keep(&scan, r->owner, "owner"),
        .scope = (uar_block_scope)body_choice(&root, "scope", scope_names, SCOPE_COUNT),
        .label = body_text(&root, "label"),
        .text = body_text(&root, "text"),
        .limit = body_count(&root, "limit"),
        .created_ms = r->created_ms,
        .updated_ms = r->updated_ms,
        .revision = r->revision,
    };
    if (b.scope == UAR_BLOCK_AGENT) b.agent = body_text(&root, "agent");
    if (b.scope != UAR_BLOCK_AGENT) b.user = body_text(&root, "user");
    if (b.scope == UAR_BLOCK_SESSION) b.session = body_text(&root, "session");
    expect_place(&scan, &b);
    st = body_scan_end(&scan, &root, err);
    if (st == UAR_OK) *out = b;
    return st;
}
