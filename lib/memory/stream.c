/* Owns: the life of streams: open, get, list, count, archive, delete. Invariant: a name is one stream in its segment, since
 * it is looked for and created in one write transaction. */
#include "memory/stream.h"

#include "base/clock.h"
#include "base/str.h"
#include "memory/answer.h"
#include "memory/content.h"
#include "memory/erase.h"
#include "memory/stream_answer.h"
#include "store/record.h"

/* An id that the scope has no use for is refused. */
static uar_status place_id(uar_str *out, uar_str given, uar_str own, bool needed, const caller *c, const char *what,
                           uar_error *err) {
    if (needed) return caller_place_id(out, given, own, c, what, err);
    *out = uar_str_n(NULL, 0);
    if (given.ptr == NULL) return UAR_OK;
    uar_status status = host_id_check(given, what, err);
    return status == UAR_OK ? error_set(err, UAR_E_INVALID, "a stream of this scope has no %s", what) : status;
}

static uar_status place_stream(stream_opening *o, const caller *c, const uar_memory_stream_draft *g, uar_error *err) {
    uar_memory_stream *s = &o->row.s;
    uar_memory_scope scope = s->scope;
    const struct {
        uar_str *out;
        uar_str given, own;
        bool needed;
        const char *what;
    } ids[] = { { &s->user, g->user, c->id.user, !scope_is_shared(scope), "user" },
                { &s->agent, g->agent, c->id.agent, scope == UAR_MEMORY_SCOPE_AGENT, "agent" },
                { &s->session, g->session, c->id.session, scope == UAR_MEMORY_SCOPE_SESSION, "session" },
                { &s->task, g->task, c->id.task, scope == UAR_MEMORY_SCOPE_TASK, "task" } };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        uar_status status = place_id(ids[i].out, ids[i].given, ids[i].own, ids[i].needed, c, ids[i].what, err);
        if (status != UAR_OK) return status;
    }
    place p = { scope, s->owner, s->user, s->agent, s->session, s->task };
    segment_key_of(&o->key, &p);
    return o->key.len != 0 ? UAR_OK : caller_lacks_id("a stream", scope, err);
}

uar_status stream_opening_make(stream_opening *out, const uar_memory *memory, const caller *c,
                               const uar_memory_stream_draft *given, arena *ar, uar_error *err) {
    if (given == NULL) return error_set(err, UAR_E_INVALID, "there is no draft of a stream");
    uar_memory_stream_draft g;
    uar_status status = struct_in(&g, sizeof g, given, "uar_memory_stream_draft", err);
    if (status != UAR_OK) return status;
    memset(out, 0, sizeof *out);
    uar_memory_stream *s = &out->row.s;
    s->owner = c->id.owner;
    s->name = g.name;
    out->must_exist = g.must_exist;
    bool has_task = c->id.task.ptr != NULL || g.task.ptr != NULL;
    s->scope = g.scope != 0 ? g.scope : has_task ? UAR_MEMORY_SCOPE_TASK : UAR_MEMORY_SCOPE_USER;
    if (uar_memory_scope_name(s->scope) == NULL) return error_set(err, UAR_E_INVALID, "there is no such scope");
    status = host_id_check(g.name, "name of the stream", err);
    if (status == UAR_OK) status = place_stream(out, c, &g, err);
    if (status == UAR_OK) status = content_metadata(&s->metadata, ar, g.metadata, "metadata", err);
    if (status != UAR_OK) return status;
    out->row.named = (int64_t)term_hash(memory->database.key, g.name);
    s->created_ms = clock_wall(&memory->clock);
    s->updated_ms = s->created_ms;
    status = seal_mark(out->row.mark, &memory->random, err);
    if (status != UAR_OK) return status;
    status = uuid_make(&s->id, &memory->clock, &memory->random);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

uar_status stream_opening_find(stream_row *out, const stream_opening *o, database *db, arena *ar, uar_error *err) {
    int64_t seg = 0;
    uar_status status = segment_number_find(&seg, db, &o->key, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, db, SQL_STREAM_BY_NAME);
    query_int(&q, 18, seg);
    query_int(&q, 19, o->row.named);
    bool found = false;
    while (status == UAR_OK && !found && query_next(&q)) {
        stream_row row;
        status = stream_read(&row, &q, ar, err);
        found = status == UAR_OK && uar_str_equal(row.s.name, o->row.s.name);
        if (found) *out = row;
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    if (status == UAR_OK) status = end;
    return status == UAR_OK && !found ? UAR_E_NOT_FOUND : status;
}

uar_status stream_opening_create(stream_row *out, stream_opening *o, database *db, uar_error *err) {
    uar_status status = segment_number_make(&o->row.seg, db, &o->key, o->row.s.owner, err);
    if (status == UAR_OK) status = stream_insert(db, &o->row, err);
    if (status == UAR_OK) *out = o->row;
    return status;
}

uar_status stream_find(stream_row *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_STREAM_BY_ID);
    caller_bind(&q, c);
    query_uuid(&q, 18, id);
    return stream_first(out, &q, ar, err);
}

static uar_status find_writable(stream_row *out, database *db, const caller *c, uar_uuid id, arena *ar,
                                uar_error *err) {
    uar_status status = stream_find(out, db, c, id, ar, err);
    return status == UAR_OK ? caller_may_write(c, out->s.scope, err) : status;
}

uar_status stream_find_active(stream_row *out, database *db, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    uar_status status = find_writable(out, db, c, id, ar, err);
    if (status == UAR_OK && out->s.archived_ms != 0)
        return error_set(err, UAR_E_CLOSED, "the stream is archived and takes no entries");
    return status;
}

/* The open in one snapshot; then, if it has to be created, in one write transaction that looks again. */
static uar_status open_stream(stream_row *out, bool *created, uar_memory *m, const caller *c, stream_opening *o,
                              arena *ar, uar_error *err) {
    *created = false;
    uar_status status = memory_enter_read(m, err);
    if (status != UAR_OK) return status;
    status = stream_opening_find(out, o, &m->database, ar, err);
    memory_leave_read(m);
    if (status != UAR_E_NOT_FOUND) return status;
    if (o->must_exist) return error_set(err, status, "there is no memory stream of this name");
    status = caller_may_write(c, o->row.s.scope, err);
    if (status == UAR_OK) status = memory_enter_write(m, err);
    if (status != UAR_OK) return status;
    status = stream_opening_find(out, o, &m->database, ar, err);
    if (status == UAR_E_NOT_FOUND) {
        status = stream_opening_create(out, o, &m->database, err);
        *created = status == UAR_OK;
    }
    return memory_leave_write(m, status, err);
}

/* What is answered owns its texts. */
static uar_status keep_texts(uar_memory_stream *s, arena *ar) {
    uar_str *const texts[] = { &s->name, &s->owner, &s->user, &s->agent, &s->session, &s->task, &s->metadata };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uar_str copy = arena_str(ar, *texts[i]);
        if (texts[i]->ptr != NULL && copy.ptr == NULL) return UAR_E_NOMEM;
        *texts[i] = copy;
    }
    return UAR_OK;
}

uar_status uar_memory_stream_open_sync(uar_memory_streams **out, uar_memory *memory, const uar_identity *who,
                                       const uar_memory_stream_draft *draft, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    stream_list *list = stream_list_new(&memory->alloc);
    if (list == NULL) return error_plain(err, UAR_E_NOMEM);
    stream_opening o;
    status = stream_opening_make(&o, memory, &c, draft, &list->ar, err);
    if (status == UAR_OK) {
        /* All that could fail behind the commit is done before it. */
        status = keep_texts(&o.row.s, &list->ar);
        if (status == UAR_OK) status = stream_list_add(list, &o.row.s);
        if (status != UAR_OK) error_plain(err, status);
    }
    stream_row row;
    bool created = false;
    if (status == UAR_OK) status = open_stream(&row, &created, memory, &c, &o, &list->ar, err);
    if (status != UAR_OK) {
        uar_memory_streams_free(&list->head);
        return status;
    }
    list->items[0] = row.s;
    list->items[0].created = created;
    *out = &list->head;
    return UAR_OK;
}

uar_status uar_memory_stream_get_sync(uar_memory_streams **out, uar_memory *memory, const uar_identity *who,
                                      uar_uuid stream, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status != UAR_OK) return status;
    stream_list *list = stream_list_new(&memory->alloc);
    if (list == NULL) return error_plain(err, UAR_E_NOMEM);
    status = memory_enter_read(memory, err);
    if (status == UAR_OK) {
        stream_row row;
        status = stream_find(&row, &memory->database, &c, stream, &list->ar, err);
        memory_leave_read(memory);
        if (status == UAR_OK && stream_list_add(list, &row.s) != UAR_OK) status = error_plain(err, UAR_E_NOMEM);
    }
    if (status == UAR_OK)
        *out = &list->head;
    else
        uar_memory_streams_free(&list->head);
    return status;
}

static uar_status archive(uar_memory *m, const caller *c, uar_uuid id, bool archived, arena *ar, uar_error *err) {
    stream_row row;
    uar_status status = find_writable(&row, &m->database, c, id, ar, err);
    if (status != UAR_OK || (row.s.archived_ms != 0) == archived) return status;
    row.s.updated_ms = clock_wall(&m->clock);
    row.s.archived_ms = !archived ? 0 : row.s.updated_ms != 0 ? row.s.updated_ms : 1;
    return stream_update(&m->database, &row, err);
}

uar_status uar_memory_stream_archive_sync(uar_memory *memory, const uar_identity *who, uar_uuid stream, bool archived,
                                          uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK) status = memory_enter_write(memory, err);
    if (status != UAR_OK) return status;
    arena ar;
    arena_init(&ar, &memory->alloc);
    status = archive(memory, &c, stream, archived, &ar, err);
    status = memory_leave_write(memory, status, err);
    arena_dispose(&ar);
    return status;
}

uar_status stream_filter_check(uar_memory_stream_filter *out, const uar_memory_stream_filter *given, uar_error *err) {
    uar_status status = struct_in(out, sizeof *out, given, "uar_memory_stream_filter", err);
    if (status != UAR_OK) return status;
    if ((out->scopes & ~0x3Eu) != 0) return error_set(err, UAR_E_INVALID, "the filter names an unknown scope");
    if ((unsigned)out->archived > UAR_MEMORY_STREAM_ARCHIVED)
        return error_set(err, UAR_E_INVALID, "the filter names an unknown archiving");
    const struct {
        uar_str id;
        const char *what;
    } ids[] = { { out->user, "user" }, { out->agent, "agent" }, { out->session, "session" }, { out->task, "task" } };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0] && status == UAR_OK; i++)
        if (ids[i].id.ptr != NULL) status = host_id_check(ids[i].id, ids[i].what, err);
    return status;
}

void stream_filter_bind(query *q, const uar_memory_stream_filter *f) {
    query_uuid(q, 8, f->id);
    query_int(q, 9, (int64_t)f->scopes);
    query_text(q, 10, f->user);
    query_text(q, 11, f->agent);
    query_text(q, 12, f->session);
    query_text(q, 13, f->task);
    query_int(q, 14, (int64_t)f->archived);
}

static uar_status list_streams(stream_list *list, database *db, const caller *c, const uar_memory_stream_filter *f,
                               int64_t before, size_t limit, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_STREAM_LIST);
    caller_bind(&q, c);
    stream_filter_bind(&q, f);
    query_int(&q, 18, before);
    query_int(&q, 19, (int64_t)limit + 1); /* one more says whether there is another page */
    uar_status status = UAR_OK;
    int64_t last = 0;
    while (status == UAR_OK && query_next(&q)) {
        if (list->head.count == limit) {
            status = cursor_write(&list->head.cursor, &list->ar, last, err);
            break;
        }
        stream_row row;
        status = stream_read(&row, &q, &list->ar, err);
        if (status == UAR_OK && stream_list_add(list, &row.s) != UAR_OK) status = error_plain(err, UAR_E_NOMEM);
        last = row.num;
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : status;
}

uar_status uar_memory_stream_list_sync(uar_memory_streams **out, uar_memory *memory, const uar_identity *who,
                                       const uar_memory_stream_filter *filter, uar_str cursor, size_t limit,
                                       uar_error *err) {
    caller c;
    uar_memory_stream_filter f;
    int64_t before = 0;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK) status = memory_check_limit(limit, err);
    if (status == UAR_OK) status = cursor_read(&before, cursor, INT64_MAX, err);
    if (status == UAR_OK) status = stream_filter_check(&f, filter, err);
    if (status != UAR_OK) return status;
    stream_list *list = stream_list_new(&memory->alloc);
    status = list != NULL ? memory_enter_read(memory, err) : error_plain(err, UAR_E_NOMEM);
    if (status == UAR_OK) {
        status = list_streams(list, &memory->database, &c, &f, before, limit, err);
        memory_leave_read(memory);
    }
    if (status == UAR_OK)
        *out = &list->head;
    else if (list != NULL)
        uar_memory_streams_free(&list->head);
    return status;
}

static uar_status count_streams(uar_memory_stream_stats *s, database *db, const caller *c,
                                const uar_memory_stream_filter *f, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_STREAM_SUM);
    caller_bind(&q, c);
    stream_filter_bind(&q, f);
    uint64_t *const counts[] = { &s->streams, &s->archived, &s->entries, &s->summaries, &s->tokens, &s->live_tokens };
    if (query_next(&q))
        for (int i = 0; i < 6; i++)
            *counts[i] = (uint64_t)query_get_int(&q, i);
    uar_status status = query_end(&q, err);
    if (status != UAR_OK) return status;
    return erase_count(&s->pending, db, err);
}

uar_status uar_memory_stream_stats_sync(uar_memory_stream_stats *out, uar_memory *memory, const uar_identity *who,
                                        const uar_memory_stream_filter *filter, uar_error *err) {
    caller c;
    uar_memory_stream_filter f;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK) status = stream_filter_check(&f, filter, err);
    if (status == UAR_OK) status = memory_enter_read(memory, err);
    if (status != UAR_OK) return status;
    uar_memory_stream_stats s;
    memset(&s, 0, sizeof s);
    status = count_streams(&s, &memory->database, &c, &f, err);
    memory_leave_read(memory);
    if (status == UAR_OK) *out = s;
    return status;
}

static uar_status note_marks(database *db, int64_t stream, uar_error *err) {
    query q;
    query_begin(&q, db, SQL_STREAM_ENTRY_MARKS);
    query_int(&q, 18, stream);
    uar_status status = UAR_OK;
    while (status == UAR_OK && query_next(&q)) {
        uint8_t mark[MARK_BYTES];
        uar_str stored = query_get_text(&q, 0);
        if (stored.len != MARK_BYTES) {
            status = error_set(err, UAR_E_CORRUPT, "an entry of a memory stream has lost its mark");
            break;
        }
        memcpy(mark, stored.ptr, MARK_BYTES);
        status = erase_note(db, mark, err);
    }
    uar_status end = query_end(&q, status == UAR_OK ? err : NULL);
    return status == UAR_OK ? end : status;
}

static uar_status run_with_num(database *db, sql_id id, int64_t num, uar_error *err) {
    query q;
    query_begin(&q, db, id);
    query_int(&q, 18, num);
    return query_run(&q, err);
}

static uar_status delete_stream(uar_memory *m, const caller *c, uar_uuid id, arena *ar, uar_error *err) {
    database *db = &m->database;
    stream_row row;
    uar_status status = find_writable(&row, db, c, id, ar, err);
    if (status == UAR_OK) status = note_marks(db, row.num, err);
    if (status == UAR_OK) status = erase_note(db, row.mark, err);
    if (status == UAR_OK) status = run_with_num(db, SQL_STREAM_ENTRY_DELETE, row.num, err);
    if (status == UAR_OK) status = run_with_num(db, SQL_STREAM_DELETE, row.num, err);
    if (status != UAR_OK) return status;
    query q;
    query_begin(&q, db, SQL_TOMBSTONE_ADD);
    query_uuid(&q, 18, id);
    query_int(&q, 19, row.seg);
    query_int(&q, 20, clock_wall(&m->clock));
    return query_run(&q, err);
}

/* After the commit. What can't be cleaned now is pending, not an error: the stream is gone from every answer. */
uar_status uar_memory_stream_delete_sync(uar_memory_outcome *out, uar_memory *memory, const uar_identity *who,
                                         uar_uuid stream, uar_error *err) {
    caller c;
    uar_status status = caller_begin(&c, memory, who, err);
    if (status == UAR_OK) status = memory_enter_write(memory, err);
    if (status != UAR_OK) return status;
    arena ar;
    arena_init(&ar, &memory->alloc);
    status = delete_stream(memory, &c, stream, &ar, err);
    status = memory_leave_write(memory, status, err);
    arena_dispose(&ar);
    if (status != UAR_OK) return status;
    *out = erase_now(memory) ? UAR_MEMORY_OUTCOME_ERASED : UAR_MEMORY_OUTCOME_ERASURE_PENDING;
    return UAR_OK;
}
