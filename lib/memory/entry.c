/* Owns: the check of drafts. Invariant: a draft that was made breaks no rule that the store relies on. */
#include "base/str.h"
#include "memory/expire.h"
#include "memory/shelf.h"
#include "memory/write.h"
#include "store/record.h"

#define UNIQUE_KEY_MAX 400

static uar_status note_id(uar_str *out, uar_str given, const char *what, uar_error *err) {
    *out = given;
    return given.ptr != NULL ? host_id_check(given, what, err) : UAR_OK;
}

static uar_status place_record(entry *d, const caller *c, const uar_memory_draft *g, uar_error *err) {
    uar_memory_record *r = &d->v.r;
    uar_memory_scope scope = r->scope;
    bool by_user = !scope_is_shared(scope);
    uar_status status =
        by_user || g->user.ptr != NULL ? caller_place_id(&r->user, g->user, c->id.user, c, "user", err) : UAR_OK;
    if (status == UAR_OK)
        status = scope == UAR_MEMORY_SCOPE_AGENT ? caller_place_id(&r->agent, g->agent, c->id.agent, c, "agent", err)
                                                 : note_id(&r->agent, g->agent, "agent", err);
    if (status == UAR_OK)
        status = scope == UAR_MEMORY_SCOPE_SESSION
                     ? caller_place_id(&r->session, g->session, c->id.session, c, "session", err)
                     : note_id(&r->session, g->session, "session", err);
    if (status == UAR_OK)
        status = scope == UAR_MEMORY_SCOPE_TASK ? caller_place_id(&r->task, g->task, c->id.task, c, "task", err)
                                                : note_id(&r->task, g->task, "task", err);
    if (status != UAR_OK) return status;
    place p = { scope, r->owner, r->user, r->agent, r->session, r->task };
    segment_key_of(&d->key, &p);
    return d->key.len != 0 ? UAR_OK : caller_lacks_id("memory", scope, err);
}

static uar_status take_choices(uar_memory_record *r, const uar_memory_draft *g, uar_error *err) {
    r->scope = g->scope != 0 ? g->scope : UAR_MEMORY_SCOPE_USER;
    r->type = g->type != 0 ? g->type : UAR_MEMORY_TYPE_SEMANTIC;
    r->trust = g->trust != 0 ? g->trust : UAR_MEMORY_TRUST_USER;
    r->importance = g->importance;
    if (uar_memory_scope_name(r->scope) == NULL) return error_set(err, UAR_E_INVALID, "there is no such scope");
    if (uar_memory_type_name(r->type) == NULL) return error_set(err, UAR_E_INVALID, "there is no such memory type");
    if (uar_memory_trust_name(r->trust) == NULL) return error_set(err, UAR_E_INVALID, "there is no such trust tier");
    return content_importance(r->importance, err);
}

static uar_status take_times(entry *d, const uar_memory_draft *g, uar_error *err) {
    uar_memory_record *r = &d->v.r;
    r->created_ms = g->created_ms != 0 ? g->created_ms : d->now;
    r->updated_ms = d->now;
    r->valid_from_ms = r->created_ms;
    r->valid_until_ms = g->valid_until_ms != 0 ? g->valid_until_ms : UAR_MEMORY_OPEN_END;
    if (r->created_ms == INT64_MIN) return memory_no_time(err);
    if (r->valid_until_ms < r->valid_from_ms)
        return error_set(err, UAR_E_INVALID, "the record would end before it begins");
    return expire_check(&r->expires_ms, g->expires_ms, d->now, err);
}

static uar_status take_texts(entry *d, const uar_memory_draft *g, uar_error *err) {
    uar_memory_record *r = &d->v.r;
    r->content = g->content;
    r->subject = g->subject;
    r->attribute = g->attribute;
    r->provenance = g->provenance;
    d->unique_key = g->unique_key;
    uar_status status = content_check(g->content, "content", MEMORY_TEXT_MAX, err);
    if (status == UAR_OK) status = content_labels(r, &d->ar, g->categories, g->category_count, err);
    if (status == UAR_OK) status = content_metadata(&r->metadata, &d->ar, g->metadata, "metadata", err);
    if (status == UAR_OK && g->unique_key.ptr != NULL)
        status = content_check(g->unique_key, "unique key", UNIQUE_KEY_MAX, err);
    if (status == UAR_OK && g->provenance.session.ptr != NULL)
        status = host_id_check(g->provenance.session, "session of the provenance", err);
    return status;
}

uar_status entry_make(entry *d, const uar_memory *memory, const caller *c, const uar_memory_draft *given,
                      uar_error *err) {
    memset(d, 0, sizeof *d);
    arena_init(&d->ar, &memory->alloc);
    if (given == NULL) return error_set(err, UAR_E_INVALID, "there is no draft");
    uar_memory_draft g;
    uar_status status = struct_in(&g, sizeof g, given, "uar_memory_draft", err);
    if (status != UAR_OK) return status;
    d->now = clock_wall(&memory->clock);
    uar_memory_record *r = &d->v.r;
    r->owner = c->id.owner;
    r->embedder = uar_str_of(memory->embedder_id);
    r->revision = 1;
    r->current = true;
    status = take_choices(r, &g, err);
    if (status == UAR_OK) status = place_record(d, c, &g, err);
    if (status == UAR_OK) status = caller_may_write(c, r->scope, err);
    if (status == UAR_OK) status = take_texts(d, &g, err);
    if (status == UAR_OK) status = take_times(d, &g, err);
    if (status == UAR_OK) status = content_slot(&d->v, memory->database.key, &memory->alloc, err);
    if (status == UAR_OK) status = content_index(&d->v, &d->ar, memory->database.key, err);
    if (status == UAR_OK) status = content_mark(&d->v, memory, err);
    if (status != UAR_OK) return status;
    status = uuid_make(&r->id, &memory->clock, &memory->random);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

void entry_dispose(entry *d) {
    arena_dispose(&d->ar);
}

uar_status entry_insert(entry *d, uar_memory *memory, uar_error *err) {
    uar_status status = version_insert(&memory->database, &d->v, &memory->alloc, err);
    if (status == UAR_OK && d->v.r.expires_ms != 0)
        status = expire_put(&memory->database, d->v.r.id, d->v.r.expires_ms, err);
    return status == UAR_OK ? shelf_put(memory, &d->v, d->vector, err) : status;
}

float *entry_vectors(uar_memory *memory, const uar_str *texts, size_t count) {
    float *vectors = NULL;
    return memory_embed(&vectors, memory, UAR_EMBED_PASSAGE, texts, count, NULL) == UAR_OK ? vectors : NULL;
}
