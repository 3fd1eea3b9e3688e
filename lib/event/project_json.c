/* uar_event_write_json: the events of `uar run --events json`, driven by the tables of shape.h. No state. */
#include "event/projection.h"
#include "event/shape.h"

static void write_text(projection *p, uar_str text) {
    if (text.ptr == NULL)
        projection_text(p, "null");
    else
        projection_json_string(p, text);
}

static void write_json(projection *p, uar_str json) {
    if (json.ptr == NULL)
        projection_text(p, "null");
    else
        projection_str(p, json);
}

static void write_uuid(projection *p, uar_uuid id) {
    if (uar_uuid_is_none(id)) {
        projection_text(p, "null");
        return;
    }
    projection_text(p, "\"");
    projection_uuid(p, id);
    projection_text(p, "\"");
}

static void write_bool(projection *p, bool value) {
    projection_text(p, value ? "true" : "false");
}

static void write_usage(projection *p, const uar_usage *usage) {
    projection_text(p, "{\"input\":");
    projection_u64(p, usage->input);
    projection_text(p, ",\"cache_read\":");
    projection_u64(p, usage->cache_read);
    projection_text(p, ",\"cache_write\":");
    projection_u64(p, usage->cache_write);
    projection_text(p, ",\"output\":");
    projection_u64(p, usage->output);
    projection_text(p, ",\"reasoning\":");
    projection_u64(p, usage->reasoning);
    projection_text(p, ",\"known\":");
    write_bool(p, usage->known);
    projection_text(p, "}");
}

static void write_hits(projection *p, const uar_hits *hits) {
    projection_text(p, "[");
    for (size_t i = 0; i < hits->count; i++) {
        projection_text(p, i == 0 ? "{\"id\":" : ",{\"id\":");
        write_uuid(p, hits->items[i].id);
        projection_text(p, ",\"score\":");
        projection_f64(p, hits->items[i].score);
        projection_text(p, "}");
    }
    projection_text(p, "]");
}

static void write_field(projection *p, field_type type, const void *at) {
    switch (type) {
    case FIELD_STR: write_text(p, *(const uar_str *)at); break;
    case FIELD_JSON: write_json(p, *(const uar_str *)at); break;
    case FIELD_UUID: write_uuid(p, *(const uar_uuid *)at); break;
    case FIELD_U64: projection_u64(p, *(const uint64_t *)at); break;
    case FIELD_I64: projection_i64(p, *(const int64_t *)at); break;
    case FIELD_F64: projection_f64(p, *(const double *)at); break;
    case FIELD_BOOL: write_bool(p, *(const bool *)at); break;
    case FIELD_USAGE: write_usage(p, at); break;
    case FIELD_HITS: write_hits(p, at); break;
    }
}

static void write_data(projection *p, const event_shape *shape, const void *payload) {
    for (size_t i = 0; i < shape->field_count; i++) {
        projection_text(p, i == 0 ? "{\"" : ",\"");
        projection_text(p, shape->fields[i].name);
        projection_text(p, "\":");
        write_field(p, shape->fields[i].type, field_at(payload, &shape->fields[i]));
    }
    projection_text(p, "}");
}

uar_status uar_event_write_json(const uar_event *event, uar_write_fn write, void *ctx) {
    if (event == NULL || write == NULL) return UAR_E_INVALID;
    const event_shape *shape = event_shape_of(event->kind);
    if (shape == NULL) return UAR_E_INVALID;
    projection p;
    projection_begin(&p, write, ctx);
    projection_text(&p, "{\"id\":");
    projection_u64(&p, event->id);
    projection_text(&p, ",\"run\":");
    write_uuid(&p, event->run);
    projection_text(&p, ",\"user\":");
    write_text(&p, event->user);
    projection_text(&p, ",\"session\":");
    write_text(&p, event->session);
    projection_text(&p, ",\"agent\":");
    write_text(&p, event->agent);
    projection_text(&p, ",\"parent\":");
    write_uuid(&p, event->parent_run);
    projection_text(&p, ",\"time_ms\":");
    projection_i64(&p, event->time_ms);
    projection_text(&p, ",\"kind\":\"");
    projection_text(&p, shape->name);
    projection_text(&p, "\",\"data\":");
    write_data(&p, shape, event_payload(event));
    projection_text(&p, "}");
    return projection_end(&p);
}
