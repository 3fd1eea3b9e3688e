/* Owns: reading one line of an import of records. */
#include "memory/line.h"
#include "memory/record_json.h"

/* A line carries a text, metadata and labels. */
#define LINE_BYTES_MAX ((size_t)4 * 1024 * 1024)

static void read_draft(line_reader *r, uar_memory_draft *d) {
    d->content = line_text(r, NULL, "content");
    d->scope = line_scope(r, d->scope);
    uar_str type = line_text(r, NULL, "type");
    if (type.ptr != NULL && uar_memory_type_parse(&d->type, type) != UAR_OK) line_refuse(r, "type");
    d->trust = line_trust(r);
    d->user = line_text(r, NULL, "user");
    d->agent = line_text(r, NULL, "agent");
    d->session = line_text(r, NULL, "session");
    d->task = line_text(r, NULL, "task");
    d->created_ms = line_time(r, "created", 0);
    d->valid_until_ms = line_time(r, "valid_until", 0);
    d->expires_ms = line_time(r, "expires", 0);
    line_double(r, "importance", &d->importance);
    d->categories = line_texts(r, "categories", &d->category_count);
    d->metadata = line_json(r, "metadata");
    d->provenance = line_provenance(r);
    const cJSON *fact = line_object(r, "fact");
    if (fact == NULL) return;
    d->subject = line_text(r, fact, "subject");
    d->attribute = line_text(r, fact, "attribute");
}

static void read_stored(line_reader *r, record_line *line) {
    uar_memory_record *s = &line->stored;
    s->id = line_uuid(r, NULL, "id");
    s->owner = line_text(r, NULL, "owner");
    s->updated_ms = line_time(r, "updated", 0);
    s->valid_from_ms = line_time(r, "valid_from", INT64_MIN);
    s->revision = line_number(r, NULL, "revision");
    s->current = line_flag(r, "current", &line->has_current);
    s->superseded_by = line_uuid(r, NULL, "superseded_by");
    s->recall_count = line_number(r, NULL, "recall_count");
    s->recalled_ms = line_time(r, "last_recalled", 0);
    s->reinforced = line_number(r, NULL, "reinforced");
    s->embedder = line_text(r, NULL, "embedder");
}

uar_status record_json_read(record_line *out, arena *ar, uar_str text, uar_error *err) {
    line_reader r;
    uar_status status = line_begin(&r, ar, text, LINE_BYTES_MAX, "a memory record", err);
    if (status != UAR_OK) return status;
    memset(out, 0, sizeof *out);
    uar_memory_draft_init(&out->draft);
    read_draft(&r, &out->draft);
    read_stored(&r, out);
    return line_end(&r);
}
