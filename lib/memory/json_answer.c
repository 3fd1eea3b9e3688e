/* Owns: what answers as JSON have in common. Invariant: nothing is handed out unless all of it could be made. */
#include "memory/json_answer.h"

#include "base/clock.h"
#include "base/str.h"

json_writer *json_answer_begin(json_answer *answer, const uar_allocator *a) {
    buffer_init(&answer->out, a != NULL ? a : &alloc_default, SIZE_MAX / 4);
    json_writer_init(&answer->w, &answer->out);
    json_object_begin(&answer->w);
    return &answer->w;
}

uar_status json_answer_end(json_answer *answer, uar_memory_write_fn write, void *ctx) {
    json_object_end(&answer->w);
    uar_status status = answer->out.status;
    if (status == UAR_OK) status = write(ctx, buffer_str(&answer->out));
    buffer_dispose(&answer->out);
    return status;
}

void json_put_time(json_writer *w, const char *key, int64_t ms, int64_t none) {
    char text[TIME_TEXT];
    json_key(w, key);
    if (ms == none) {
        json_null(w);
        return;
    }
    if (!time_has_text(ms)) {
        json_int(w, ms);
        return;
    }
    time_format(text, ms);
    json_str(w, uar_str_of(text));
}

void json_put_double(json_writer *w, const char *key, double value) {
    json_key(w, key);
    json_double(w, value);
}

void json_put_uint_or_null(json_writer *w, const char *key, uint64_t value) {
    json_key(w, key);
    if (value != 0)
        json_uint(w, value);
    else
        json_null(w);
}

void json_put_texts(json_writer *w, const char *key, const uar_str *texts, size_t count) {
    json_key(w, key);
    json_array_begin(w);
    for (size_t i = 0; i < count; i++)
        json_str(w, texts[i]);
    json_array_end(w);
}

void json_put_place(json_writer *w, const uar_memory_place *place) {
    json_put_str(w, "scope", uar_str_of(uar_memory_scope_name(place->scope)));
    json_put_str(w, "owner", place->owner);
    json_put_str(w, "user", place->user);
    json_put_str(w, "agent", place->agent);
    json_put_str(w, "session", place->session);
    json_put_str(w, "task", place->task);
}

void json_put_trust(json_writer *w, uar_memory_trust trust) {
    json_put_str(w, "trust", uar_str_of(uar_memory_trust_name(trust)));
}

void json_put_provenance(json_writer *w, const uar_memory_provenance *from) {
    json_key(w, "provenance");
    json_object_begin(w);
    json_put_uuid(w, "run", from->run);
    json_put_uint_or_null(w, "event", from->event);
    json_put_str(w, "session", from->session);
    json_object_end(w);
}

void json_put_by_scope(json_writer *w, const uint64_t *by_scope) {
    json_key(w, "by_scope");
    json_object_begin(w);
    for (int scope = UAR_MEMORY_SCOPE_GLOBAL; scope <= UAR_MEMORY_SCOPE_TASK; scope++)
        json_put_uint(w, uar_memory_scope_name((uar_memory_scope)scope), by_scope[scope]);
    json_object_end(w);
}
