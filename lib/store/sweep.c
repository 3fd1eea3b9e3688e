/*
 * Owns: the table of what hangs below a root, jobs of deep deletes, and the steps of a sweep.
 * Invariants: whatever is removed goes in a commit that also checks that the tombstone and its job are there, so a sweep that
 * another one overtook touches nothing that was made anew under the id; root, twins and job go in one commit, the last one; a
 * step that fails leaves the job.
 */
#include "store/sweep.h"

#include <assert.h>
#include <string.h>

#include "base/crypto.h"
#include "store/bodies.h"
#include "store/body.h"

/* Batches that somebody else may disturb in a row before it is called a fault. */
#define CONFLICTS_MAX 64
/* Writes at the head of a batch that remove nothing. */
#define FENCE 2

typedef enum sweep_link {
    LINK_CHILDREN, /* records whose parent is the root; what is below them goes in the same commit */
    LINK_BRANCHES, /* the same, but what is below each of them is large and goes first, in batches */
    LINK_INDEX,    /* records under "~" that name the root */
    LINK_TWIN      /* the one record that has the root's id; goes with the root */
} sweep_link;

struct sweep_rule {
    uint32_t kind;
    sweep_link link;
    const uint32_t *below; /* kinds whose parent is the child; ends with 0; NULL: none */
};

static const uint32_t below_run[] = { UAR_RECORD_JOURNAL,       UAR_RECORD_APPROVAL,
                                      UAR_RECORD_INPUT_REQUEST, UAR_RECORD_COST,
                                      UAR_RECORD_OUTBOX,        UAR_RECORD_CHECKPOINT,
                                      UAR_RECORD_GRAPH_STATE,   0 };
static const uint32_t below_attachment[] = { UAR_RECORD_ATTACHMENT_PART, 0 };

static const sweep_rule below_session[] = {
    { UAR_RECORD_OPEN_RUN, LINK_INDEX, NULL },        { UAR_RECORD_MESSAGE, LINK_CHILDREN, NULL },
    { UAR_RECORD_CHECKPOINT, LINK_CHILDREN, NULL },   { UAR_RECORD_JOURNAL, LINK_CHILDREN, NULL },
    { UAR_RECORD_APPROVAL, LINK_CHILDREN, NULL },     { UAR_RECORD_INPUT_REQUEST, LINK_CHILDREN, NULL },
    { UAR_RECORD_OUTBOX, LINK_CHILDREN, NULL },       { UAR_RECORD_COST, LINK_CHILDREN, NULL },
    { UAR_RECORD_MEMORY_BLOCK, LINK_CHILDREN, NULL }, { UAR_RECORD_GRAPH_STATE, LINK_CHILDREN, NULL },
    { UAR_RECORD_RUN, LINK_CHILDREN, below_run },     { UAR_RECORD_ATTACHMENT, LINK_BRANCHES, below_attachment },
    { UAR_RECORD_SESSION_POLICY, LINK_TWIN, NULL },   { UAR_RECORD_LEASE, LINK_TWIN, NULL },
};

/* A session that is being made has nothing but copied messages: what else names its id was there before, and stays. */
static const sweep_rule below_unborn[] = {
    { UAR_RECORD_MESSAGE, LINK_CHILDREN, NULL },
};

static const sweep_rule below_one_attachment[] = {
    { UAR_RECORD_ATTACHMENT_PART, LINK_CHILDREN, NULL },
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const sweep_rule *rules_of(uint32_t kind, size_t *count) {
    switch (kind) {
    case UAR_RECORD_SESSION: *count = COUNT(below_session); return below_session;
    case UAR_RECORD_ATTACHMENT: *count = COUNT(below_one_attachment); return below_one_attachment;
    default: *count = 0; return NULL;
    }
}

bool sweep_can_remove(uint32_t kind) {
    size_t count;
    return rules_of(kind, &count) != NULL;
}

/* ---- jobs ---- */

uar_status sweep_job_id(uar_str *out, arena *ar, uint32_t kind, uar_str owner, uar_str id) {
    static const char digits[] = "0123456789abcdef";
    const size_t head = sizeof SWEEP_JOB_PREFIX - 1;
    uint8_t sum[SHA256_BYTES];
    uint8_t lengths[4] = { (uint8_t)(kind >> 8), (uint8_t)kind, (uint8_t)(owner.len >> 8), (uint8_t)owner.len };
    const uar_str pieces[] = { uar_str_n((const char *)lengths, sizeof lengths), owner, id };
    uar_status status = sha256(sum, pieces, COUNT(pieces));
    if (status != UAR_OK) return status;
    char *text = arena_alloc(ar, head + 2 * SHA256_BYTES + 1);
    if (text == NULL) return UAR_E_NOMEM;
    memcpy(text, SWEEP_JOB_PREFIX, head);
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        text[head + 2 * i] = digits[sum[i] >> 4];
        text[head + 2 * i + 1] = digits[sum[i] & 15];
    }
    text[head + 2 * SHA256_BYTES] = '\0';
    *out = uar_str_n(text, head + 2 * SHA256_BYTES);
    return UAR_OK;
}

uar_status sweep_job_record(uar_record *out, arena *ar, const sweep_root *root) {
    body_place place = { .kind = UAR_RECORD_OUTBOX, .owner = uar_str_of(UAR_SYSTEM_OWNER) };
    uar_status status = sweep_job_id(&place.id, ar, root->kind, root->owner, root->id);
    if (status != UAR_OK) return status;
    body_writer w;
    body_write_begin(&w, ar);
    body_write_text(&w, "id", root->id);
    json_put_uint(&w.json, "kind", root->kind);
    body_write_uuid(&w, "maker", root->maker);
    body_write_text(&w, "owner", root->owner);
    json_put_uint(&w.json, "revision", root->revision);
    body_write_text(&w, "work", uar_str_of("sweep"));
    return body_write_end(out, ar, &w, &place);
}

uar_status sweep_job_decode(sweep_root *out, arena *ar, const uar_record *record, uar_error *err) {
    static const char *const works[] = { "sweep" };
    body_scan scan;
    body_object body;
    uar_status status = body_scan_begin(&scan, &body, ar, record, UAR_RECORD_OUTBOX, err);
    if (status != UAR_OK) return status;
    sweep_root root = { .id = body_text(&body, "id"),
                        .owner = body_text(&body, "owner"),
                        .maker = body_optional_uuid(&body, "maker"),
                        .revision = body_u64(&body, "revision") };
    uint64_t kind = body_u64(&body, "kind");
    (void)body_choice(&body, "work", works, 1);
    if (kind > UINT32_MAX || !sweep_can_remove((uint32_t)kind)) body_fault(&scan, UAR_E_CORRUPT, "kind");
    root.kind = (uint32_t)kind;
    uar_str own_id;
    if (scan.status == UAR_OK) {
        status = sweep_job_id(&own_id, ar, root.kind, root.owner, root.id);
        if (status != UAR_OK)
            body_fault(&scan, status, "id");
        else if (!uar_str_equal(own_id, record->id))
            body_fault(&scan, UAR_E_CORRUPT, "id");
    }
    status = body_scan_end(&scan, &body, err);
    if (status == UAR_OK) *out = root;
    return status;
}

/* ---- asking the store ---- */

static sweep_next failed(store_op *op, uar_status status) {
    op->status = error_plain(&op->error, status);
    return SWEEP_FAILED;
}

static sweep_next ask_get(store_op *op, uint32_t kind, uar_str owner, uar_str id) {
    arena_dispose(&op->mem);
    op->call = STORE_GET;
    op->kind = kind;
    op->owner = arena_str(&op->mem, owner);
    op->id = arena_str(&op->mem, id);
    return op->owner.ptr != NULL && op->id.ptr != NULL ? SWEEP_ASKS : failed(op, UAR_E_NOMEM);
}

static sweep_next ask_list(store_op *op, uint32_t kind, uar_str owner, uar_str parent, uar_str after, size_t limit) {
    arena_dispose(&op->mem);
    memset(&op->query, 0, sizeof op->query);
    op->call = STORE_LIST;
    op->query.kind = kind;
    op->query.owner = arena_str(&op->mem, owner);
    op->query.parent = arena_str(&op->mem, parent);
    op->query.limit = limit;
    op->query.has_after = after.len > 0;
    op->query.after_id = arena_str(&op->mem, after);
    bool whole = op->query.owner.ptr != NULL && (parent.ptr == NULL || op->query.parent.ptr != NULL) &&
                 (after.ptr == NULL || op->query.after_id.ptr != NULL);
    return whole ? SWEEP_ASKS : failed(op, UAR_E_NOMEM);
}

/* Room for `count` writes of the next commit, beside what the list left in op->mem. */
static uar_write *begin_commit(store_op *op, size_t count) {
    op->writes = arena_zeroed(&op->mem, count, sizeof *op->writes);
    op->write_count = 0;
    op->call = STORE_COMMIT;
    return op->writes;
}

static void add_delete(store_op *op, uint32_t kind, uar_str owner, uar_str id, uint64_t revision) {
    uar_write *w = &op->writes[op->write_count++];
    w->op = UAR_WRITE_DELETE;
    w->expected = revision;
    w->record.kind = kind;
    w->record.owner = owner;
    w->record.id = id;
}

static void add_delete_children(store_op *op, uint32_t kind, uar_str owner, uar_str parent) {
    uar_write *w = &op->writes[op->write_count++];
    w->op = UAR_WRITE_DELETE_CHILDREN;
    w->record.kind = kind;
    w->record.owner = owner;
    w->record.parent = parent;
}

static void add_check(store_op *op, uint32_t kind, uar_str owner, uar_str id, uint64_t revision) {
    uar_write *w = &op->writes[op->write_count++];
    w->op = UAR_WRITE_CHECK;
    w->expected = revision;
    w->record.kind = kind;
    w->record.owner = owner;
    w->record.id = id;
}

/* ---- batches ---- */

/* Room for `count` writes of a batch, which fails unless tombstone and job are there. */
static uar_status begin_batch(const sweep *s, store_op *op, size_t count) {
    uar_str job;
    uar_status status = sweep_job_id(&job, &op->mem, s->root.kind, s->root.owner, s->root.id);
    if (status != UAR_OK) return status;
    if (begin_commit(op, count + FENCE) == NULL) return UAR_E_NOMEM;
    add_check(op, s->root.kind, s->root.owner, s->root.id, s->root.revision);
    add_check(op, UAR_RECORD_OUTBOX, uar_str_of(UAR_SYSTEM_OWNER), job, 1);
    return UAR_OK;
}

static size_t count_below(const sweep_rule *rule) {
    size_t count = 0;
    while (rule->below != NULL && rule->below[count] != 0)
        count++;
    return count;
}

static sweep_next go_on(sweep *s, store_op *op);

static sweep_next commit_batch(sweep *s, sweep_stage asked) {
    s->asked = asked;
    s->stage = SWEEP_AT_COMMIT;
    return SWEEP_ASKS;
}

static sweep_next remove_children(sweep *s, store_op *op, const sweep_rule *rule) {
    size_t below = count_below(rule), count = op->record_count;
    const uar_record *records = op->records;
    uar_status status = begin_batch(s, op, count * (below + 1));
    if (status != UAR_OK) return failed(op, status);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < below; k++)
            add_delete_children(op, rule->below[k], records[i].owner, records[i].id);
        add_delete(op, records[i].kind, records[i].owner, records[i].id, records[i].revision);
    }
    return commit_batch(s, SWEEP_AT_LIST);
}

static bool keep_id(uar_str *out, char text[RECORD_ID_MAX], uar_str id) {
    if (id.len > RECORD_ID_MAX) return false;
    memcpy(text, id.ptr, id.len);
    *out = uar_str_n(text, id.len);
    return true;
}

/* True if an index record speaks of the root. One that can't be read belongs to nobody and stays. */
static bool is_named_by(const sweep *s, arena *ar, const uar_record *record) {
    open_run o;
    uar_str key;
    if (open_run_decode(&o, ar, record, NULL) != UAR_OK) return false;
    if (!uar_str_equal(o.owner, s->root.owner) || record_key(&key, ar, o.user, o.session) != UAR_OK) return false;
    return uar_str_equal(key, s->root.id);
}

/* An index is walked to its end: what belongs to others stays. */
static sweep_next remove_from_index(sweep *s, store_op *op) {
    const uar_record *records = op->records;
    size_t count = op->record_count;
    if (!keep_id(&s->cursor, s->cursor_text, records[count - 1].id)) return failed(op, UAR_E_CORRUPT);
    uar_status status = begin_batch(s, op, count);
    if (status != UAR_OK) return failed(op, status);
    for (size_t i = 0; i < count; i++)
        if (is_named_by(s, &op->mem, &records[i]))
            add_delete(op, records[i].kind, records[i].owner, records[i].id, records[i].revision);
    if (op->write_count > FENCE) return commit_batch(s, SWEEP_AT_LIST);
    return go_on(s, op);
}

static sweep_next begin_branch(sweep *s, store_op *op) {
    if (!keep_id(&s->branch, s->branch_text, op->records->id)) return failed(op, UAR_E_CORRUPT);
    s->branch_revision = op->records->revision;
    s->branch_at = 0;
    return go_on(s, op);
}

static sweep_next end_branch(sweep *s, store_op *op, const sweep_rule *rule) {
    arena_dispose(&op->mem);
    uar_status status = begin_batch(s, op, 1);
    if (status != UAR_OK) return failed(op, status);
    add_delete(op, rule->kind, s->root.owner, s->branch, s->branch_revision);
    s->branch.len = 0;
    return commit_batch(s, SWEEP_AT_LIST);
}

static void next_rule(sweep *s) {
    s->at++;
    s->cursor.len = 0;
}

static sweep_next got_list(sweep *s, store_op *op) {
    const sweep_rule *rule = &s->rules[s->at];
    if (op->status != UAR_OK) return SWEEP_FAILED;
    if (op->record_count == 0) {
        next_rule(s);
        return go_on(s, op);
    }
    switch (rule->link) {
    case LINK_CHILDREN: return remove_children(s, op, rule);
    case LINK_BRANCHES: return begin_branch(s, op);
    default: return remove_from_index(s, op);
    }
}

static sweep_next got_branch(sweep *s, store_op *op) {
    if (op->status != UAR_OK) return SWEEP_FAILED;
    if (op->record_count == 0) {
        s->branch_at++;
        return go_on(s, op);
    }
    const uar_record *records = op->records;
    uar_status status = begin_batch(s, op, op->record_count);
    if (status != UAR_OK) return failed(op, status);
    for (size_t i = 0; i < op->record_count; i++)
        add_delete(op, records[i].kind, records[i].owner, records[i].id, records[i].revision);
    return commit_batch(s, SWEEP_AT_BRANCH);
}

/* Somebody was faster: is there still something to remove? */
static sweep_next look_again(sweep *s, store_op *op) {
    if (op->status != UAR_E_CONFLICT || ++s->conflicts > CONFLICTS_MAX) return SWEEP_FAILED;
    s->stage = SWEEP_AT_ROOT;
    return ask_get(op, s->root.kind, s->root.owner, s->root.id);
}

static sweep_next got_commit(sweep *s, store_op *op) {
    if (op->status != UAR_OK) return look_again(s, op);
    s->removed += op->write_count - FENCE;
    s->conflicts = 0;
    s->stage = s->asked;
    return go_on(s, op);
}

/* ---- the end ---- */

/* The twin of this number among the rules, in the order of the table. */
static const sweep_rule *twin_rule(const sweep *s, size_t number) {
    for (size_t i = 0; i < s->rule_count; i++)
        if (s->rules[i].link == LINK_TWIN && number-- == 0) return &s->rules[i];
    return NULL;
}

/* A job without a tombstone goes; the root is at `revision`, 0: it is gone. */
static sweep_next ask_drop(sweep *s, store_op *op, uint64_t revision) {
    uar_str job;
    arena_dispose(&op->mem);
    uar_status status = sweep_job_id(&job, &op->mem, s->root.kind, s->root.owner, s->root.id);
    if (status != UAR_OK) return failed(op, status);
    if (begin_commit(op, 2) == NULL) return failed(op, UAR_E_NOMEM);
    add_check(op, s->root.kind, s->root.owner, s->root.id, revision);
    add_delete(op, UAR_RECORD_OUTBOX, uar_str_of(UAR_SYSTEM_OWNER), job, 1);
    s->stage = SWEEP_AT_DROP;
    return SWEEP_ASKS;
}

static sweep_next ask_end(sweep *s, store_op *op) {
    uar_str job;
    arena_dispose(&op->mem);
    uar_status status = sweep_job_id(&job, &op->mem, s->root.kind, s->root.owner, s->root.id);
    if (status != UAR_OK) return failed(op, status);
    if (begin_commit(op, s->twin_count + 2) == NULL) return failed(op, UAR_E_NOMEM);
    for (size_t i = 0; i < s->twin_count; i++)
        if (s->twins[i] != 0) add_delete(op, twin_rule(s, i)->kind, s->root.owner, s->root.id, s->twins[i]);
    add_delete(op, s->root.kind, s->root.owner, s->root.id, s->root.revision);
    add_delete(op, UAR_RECORD_OUTBOX, uar_str_of(UAR_SYSTEM_OWNER), job, 1);
    s->stage = SWEEP_AT_END;
    return SWEEP_ASKS;
}

static sweep_next ask_twin(sweep *s, store_op *op) {
    const sweep_rule *rule = twin_rule(s, s->twin_count);
    if (rule == NULL) return ask_end(s, op);
    assert(s->twin_count < SWEEP_TWINS_MAX);
    s->stage = SWEEP_AT_TWIN;
    return ask_get(op, rule->kind, s->root.owner, s->root.id);
}

static sweep_next got_twin(sweep *s, store_op *op) {
    if (op->status != UAR_OK && op->status != UAR_E_NOT_FOUND) return SWEEP_FAILED;
    s->twins[s->twin_count++] = op->status == UAR_OK ? op->records->revision : 0;
    return ask_twin(s, op);
}

static sweep_next got_end(sweep *s, store_op *op) {
    if (op->status == UAR_OK) {
        s->removed += op->write_count - 1; /* the job doesn't count */
        s->stage = SWEEP_AT_FINISHED;
        return SWEEP_DONE;
    }
    return look_again(s, op); /* somebody else ended it, or touched a twin */
}

static sweep_next got_drop(sweep *s, store_op *op) {
    if (op->status != UAR_OK && op->status != UAR_E_CONFLICT) return SWEEP_FAILED;
    s->stage = SWEEP_AT_FINISHED;
    return SWEEP_DONE;
}

/* ---- steps ---- */

/* Ask for what the place in the table wants. */
static sweep_next go_on(sweep *s, store_op *op) {
    while (s->at < s->rule_count && s->rules[s->at].link == LINK_TWIN)
        s->at++;
    if (s->at == s->rule_count) {
        s->twin_count = 0;
        return ask_twin(s, op);
    }
    const sweep_rule *rule = &s->rules[s->at];
    if (s->branch.len > 0) {
        if (rule->below[s->branch_at] == 0) return end_branch(s, op, rule);
        s->stage = SWEEP_AT_BRANCH;
        return ask_list(op, rule->below[s->branch_at], s->root.owner, s->branch, uar_str_of(NULL), SWEEP_BATCH);
    }
    s->stage = SWEEP_AT_LIST;
    if (rule->link == LINK_INDEX)
        return ask_list(op, rule->kind, uar_str_of(UAR_SYSTEM_OWNER), uar_str_of(NULL), s->cursor, SWEEP_BATCH);
    return ask_list(op, rule->kind, s->root.owner, s->root.id, uar_str_of(NULL),
                    rule->link == LINK_BRANCHES ? 1 : SWEEP_BATCH);
}

/* Nothing to remove: it was made anew and lives. One that can't be read is taken for what the job says. */
static bool is_live(store_op *op) {
    uar_session session;
    session_life life;
    if (op->records->kind != UAR_RECORD_SESSION) return false;
    return session_decode_whole(&session, &life, &op->mem, op->records, NULL) == UAR_OK && life.mark == SESSION_LIVE;
}

static sweep_next got_root(sweep *s, store_op *op) {
    bool gone = op->status == UAR_E_NOT_FOUND;
    if (op->status != UAR_OK && !gone) return SWEEP_FAILED;
    if (gone) return ask_drop(s, op, 0);
    if (is_live(op)) return ask_drop(s, op, op->records->revision);
    if (op->records->revision != s->root.revision) {
        s->stage = SWEEP_AT_FINISHED; /* a later tombstone: the job is its own */
        return SWEEP_DONE;
    }
    s->at = 0;
    s->cursor.len = s->branch.len = 0;
    return go_on(s, op);
}

void sweep_begin(sweep *s, const sweep_root *root) {
    assert(sweep_can_remove(root->kind));
    memset(s, 0, sizeof *s);
    s->root = *root;
    s->rules = rules_of(root->kind, &s->rule_count);
    if (root->kind == UAR_RECORD_SESSION && !uar_uuid_is_none(root->maker)) {
        s->rules = below_unborn;
        s->rule_count = COUNT(below_unborn);
    }
    s->stage = SWEEP_AT_FINISHED;
}

sweep_next sweep_step(sweep *s, store_op *op) {
    switch (s->stage) {
    case SWEEP_AT_ROOT: return got_root(s, op);
    case SWEEP_AT_LIST: return got_list(s, op);
    case SWEEP_AT_BRANCH: return got_branch(s, op);
    case SWEEP_AT_COMMIT: return got_commit(s, op);
    case SWEEP_AT_TWIN: return got_twin(s, op);
    case SWEEP_AT_END: return got_end(s, op);
    case SWEEP_AT_DROP: return got_drop(s, op);
    case SWEEP_AT_FINISHED: break;
    }
    s->stage = SWEEP_AT_ROOT;
    return ask_get(op, s->root.kind, s->root.owner, s->root.id);
}
