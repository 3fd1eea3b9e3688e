/* Owns: reading one line of an import. Invariant: a key with a value of another type than a record's is refused by name. */
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "memory/record_json.h"
#include "memory/service.h"

/* A line carries a text, metadata and labels. */
#define LINE_MAX_BYTES ((size_t)4 * 1024 * 1024)

/* One line while it is read; the first fault sticks. */
typedef struct reader {
    const cJSON *root;
    arena *ar;
    uar_status status;
    uar_error *err;
} reader;

static void refuse(reader *r, const char *key) {
    if (r->status == UAR_OK)
        r->status = error_set(r->err, UAR_E_SCHEMA, "\"%s\" is not what a memory record has there", key);
}

static void no_memory(reader *r) {
    if (r->status == UAR_OK) r->status = error_plain(r->err, UAR_E_NOMEM);
}

/* NULL if the key is missing or null. */
static const cJSON *member(const cJSON *object, const char *key) {
    const cJSON *node = json_member(object, key);
    return cJSON_IsNull(node) ? NULL : node;
}

static uar_str keep(reader *r, uar_str text) {
    uar_str copy = arena_str(r->ar, text);
    if (text.ptr != NULL && copy.ptr == NULL) no_memory(r);
    return copy;
}

static uar_str text_of(reader *r, const cJSON *object, const char *key) {
    const cJSON *node = member(object, key);
    if (node == NULL) return uar_str_n(NULL, 0);
    if (!cJSON_IsString(node)) {
        refuse(r, key);
        return uar_str_n(NULL, 0);
    }
    return keep(r, json_node_text(node));
}

static int64_t time_of(reader *r, const char *key, int64_t none) {
    uar_str text = text_of(r, r->root, key);
    int64_t ms = none;
    if (text.ptr != NULL && time_parse(&ms, text) != UAR_OK) refuse(r, key);
    return text.ptr != NULL && ms == none ? none + 1 : ms; /* a time that is said is never none */
}

static uint64_t number_of(reader *r, const cJSON *object, const char *key) {
    const cJSON *node = member(object, key);
    uint64_t value = 0;
    if (node != NULL && (!json_node_u64(node, &value) || value > INT64_MAX)) refuse(r, key);
    return value;
}

static uar_uuid uuid_of(reader *r, const cJSON *object, const char *key) {
    uar_str text = text_of(r, object, key);
    uar_uuid id = { { 0 } };
    if (text.ptr != NULL && uar_uuid_parse(&id, text) != UAR_OK) refuse(r, key);
    return id;
}

static bool flag_of(reader *r, const char *key, bool *present) {
    const cJSON *node = member(r->root, key);
    *present = node != NULL;
    if (node != NULL && !cJSON_IsBool(node)) refuse(r, key);
    return cJSON_IsTrue(node);
}

static void read_choices(reader *r, uar_memory_draft *d) {
    uar_str scope = text_of(r, r->root, "scope");
    uar_str type = text_of(r, r->root, "type");
    uar_str trust = text_of(r, r->root, "trust");
    d->trust = UAR_MEMORY_TRUST_IMPORT;
    if (scope.ptr != NULL && uar_memory_scope_parse(&d->scope, scope) != UAR_OK) refuse(r, "scope");
    if (type.ptr != NULL && uar_memory_type_parse(&d->type, type) != UAR_OK) refuse(r, "type");
    if (trust.ptr != NULL && uar_memory_trust_parse(&d->trust, trust) != UAR_OK) refuse(r, "trust");
    const cJSON *importance = member(r->root, "importance");
    if (importance == NULL) return;
    if (!cJSON_IsNumber(importance) || !json_f64(r->root, "importance", &d->importance)) refuse(r, "importance");
}

static void read_labels(reader *r, uar_memory_draft *d) {
    const cJSON *array = member(r->root, "categories");
    if (array == NULL) return;
    if (!cJSON_IsArray(array)) {
        refuse(r, "categories");
        return;
    }
    size_t count = 0;
    for (const cJSON *item = array->child; item != NULL; item = item->next)
        count++;
    uar_str *labels = (uar_str *)arena_zeroed(r->ar, count + 1, sizeof *labels);
    if (labels == NULL) {
        no_memory(r);
        return;
    }
    for (const cJSON *item = array->child; item != NULL; item = item->next) {
        if (!cJSON_IsString(item))
            refuse(r, "categories");
        else
            labels[d->category_count++] = keep(r, json_node_text(item));
    }
    d->categories = labels;
}

static void read_metadata(reader *r, uar_memory_draft *d) {
    const cJSON *node = member(r->root, "metadata");
    if (node == NULL) return;
    buffer text;
    buffer_init(&text, r->ar->alloc, SIZE_MAX / 4);
    json_append_node(&text, node);
    if (text.status != UAR_OK)
        no_memory(r);
    else
        d->metadata = keep(r, buffer_str(&text));
    buffer_dispose(&text);
}

static void read_parts(reader *r, uar_memory_draft *d) {
    const cJSON *fact = member(r->root, "fact");
    if (fact != NULL && !cJSON_IsObject(fact)) refuse(r, "fact");
    if (cJSON_IsObject(fact)) {
        d->subject = text_of(r, fact, "subject");
        d->attribute = text_of(r, fact, "attribute");
    }
    const cJSON *from = member(r->root, "provenance");
    if (from != NULL && !cJSON_IsObject(from)) refuse(r, "provenance");
    if (cJSON_IsObject(from)) {
        d->provenance.run = uuid_of(r, from, "run");
        d->provenance.event = number_of(r, from, "event");
        d->provenance.session = text_of(r, from, "session");
    }
}

static void read_stored(reader *r, record_line *line) {
    uar_memory_record *s = &line->stored;
    s->id = uuid_of(r, r->root, "id");
    s->owner = text_of(r, r->root, "owner");
    s->updated_ms = time_of(r, "updated", 0);
    s->valid_from_ms = time_of(r, "valid_from", INT64_MIN);
    s->revision = number_of(r, r->root, "revision");
    s->current = flag_of(r, "current", &line->has_current);
    s->superseded_by = uuid_of(r, r->root, "superseded_by");
    s->recall_count = number_of(r, r->root, "recall_count");
    s->recalled_ms = time_of(r, "last_recalled", 0);
    s->reinforced = number_of(r, r->root, "reinforced");
    s->embedder = text_of(r, r->root, "embedder");
}

uar_status record_json_read(record_line *out, arena *ar, uar_str text, uar_error *err) {
    cJSON *root = NULL;
    uar_status status = json_read(&root, ar->alloc, text, LINE_MAX_BYTES, err);
    if (status != UAR_OK) return status;
    reader r = { root, ar, UAR_OK, err };
    memset(out, 0, sizeof *out);
    uar_memory_draft_init(&out->draft);
    if (!cJSON_IsObject(root)) r.status = error_set(err, UAR_E_SCHEMA, "the line is not a JSON object");
    const cJSON *version = member(root, "v");
    uint64_t v = 1;
    if (r.status == UAR_OK && version != NULL && (!json_node_u64(version, &v) || v != 1))
        r.status = error_set(err, UAR_E_NEWER, "the line is of a version that this library doesn't know");
    out->draft.content = text_of(&r, root, "content");
    out->draft.user = text_of(&r, root, "user");
    out->draft.agent = text_of(&r, root, "agent");
    out->draft.session = text_of(&r, root, "session");
    out->draft.task = text_of(&r, root, "task");
    out->draft.created_ms = time_of(&r, "created", 0);
    out->draft.valid_until_ms = time_of(&r, "valid_until", 0);
    out->draft.expires_ms = time_of(&r, "expires", 0);
    read_choices(&r, &out->draft);
    read_labels(&r, &out->draft);
    read_metadata(&r, &out->draft);
    read_parts(&r, &out->draft);
    read_stored(&r, out);
    json_free(ar->alloc, root);
    return r.status;
}
