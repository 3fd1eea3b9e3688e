/*
 * The machine's document. Invariants: load(save(m)) goes on exactly as m would; a document with a field that is missing, of
 * another type or at odds with the others is refused. A field that a later version adds raises
 * MACHINE_DOCUMENT_VERSION; a newer document is refused by name.
 */
#include <assert.h>

#include "base/error.h"
#include "base/str.h"
#include "run/machine_check.h"

static void save_usage(json_writer *w, const char *key, const uar_usage *u) {
    json_key(w, key);
    json_object_begin(w);
    json_put_uint(w, "input", u->input);
    json_put_uint(w, "cache_read", u->cache_read);
    json_put_uint(w, "cache_write", u->cache_write);
    json_put_uint(w, "output", u->output);
    json_put_uint(w, "reasoning", u->reasoning);
    json_put_bool(w, "known", u->known);
    json_object_end(w);
}

static bool load_usage(uar_usage *u, const cJSON *owner, const char *key) {
    const cJSON *doc = json_member(owner, key);
    return json_read_flag(&u->known, doc, "known") && json_u64(doc, "input", &u->input) &&
           json_u64(doc, "cache_read", &u->cache_read) && json_u64(doc, "cache_write", &u->cache_write) &&
           json_u64(doc, "output", &u->output) && json_u64(doc, "reasoning", &u->reasoning);
}

/* Scores go as text of their bits, so that they come back exactly. */
static void save_hits(json_writer *w, const machine *m) {
    json_key(w, "hits");
    json_array_begin(w);
    for (size_t i = 0; i < m->hit_count; i++) {
        uint64_t bits;
        memcpy(&bits, &m->hits[i].score, sizeof bits);
        json_object_begin(w);
        json_put_uuid(w, "id", m->hits[i].id);
        json_put_uint(w, "score_bits", bits);
        json_object_end(w);
    }
    json_array_end(w);
}

static uar_status load_hits(machine *m, const cJSON *doc) {
    const cJSON *list = json_member(doc, "hits");
    if (!cJSON_IsArray(list)) return UAR_E_CORRUPT;
    int count = cJSON_GetArraySize(list);
    if (count == 0) return UAR_OK;
    m->hits = alloc_zeroed(m->alloc, (size_t)count, sizeof *m->hits);
    if (m->hits == NULL) return UAR_E_NOMEM;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, list) {
        uar_hit *hit = &m->hits[m->hit_count++];
        uint64_t bits = 0;
        if (!json_u64(item, "score_bits", &bits) || uar_uuid_parse(&hit->id, json_text(item, "id")) != UAR_OK)
            return UAR_E_CORRUPT;
        memcpy(&hit->score, &bits, sizeof bits);
    }
    return UAR_OK;
}

void machine_save(const machine *m, buffer *out) {
    assert(m->status == UAR_OK);
    json_writer w;
    json_writer_init(&w, out);
    json_object_begin(&w);
    json_put_uint(&w, "v", MACHINE_DOCUMENT_VERSION);
    json_put_uint(&w, "phase", (uint64_t)m->phase);
    json_put_uint(&w, "stopped_in", (uint64_t)m->stopped_in);
    json_put_uint(&w, "max_steps", m->limits.max_steps);
    json_put_uint(&w, "parallel_tools", m->limits.parallel_tools);
    json_put_uint(&w, "model_attempts", m->limits.model_attempts);
    /* Once the turn is a record, its text is not copied. */
    json_put_str(&w, "input", m->phase <= PHASE_TURN ? buffer_str(&m->input) : STR(""));
    json_put_str(&w, "model", buffer_str(&m->model));
    json_put_bool(&w, "captures", m->captures);
    json_put_uint(&w, "step", m->step);
    json_put_uint(&w, "attempt", m->attempt);
    json_put_uint(&w, "waits", m->waits);
    json_put_uint(&w, "last_number", m->last_number);
    json_put_uuid(&w, "user_message", m->user_message);
    json_put_uuid(&w, "answer", m->answer);
    json_put_uuid(&w, "stored_answer", m->stored_answer);
    json_put_bool(&w, "answer_stored", m->answer_stored);
    save_usage(&w, "spent", &m->spent);
    save_usage(&w, "current", &m->current);
    save_hits(&w, m);
    json_put_bool(&w, "model_open", m->model_open);
    json_put_bool(&w, "wait_open", m->wait_open);
    json_put_bool(&w, "save_open", m->save_open);
    json_put_bool(&w, "save_waits", m->save_waits);
    json_put_uint(&w, "save", (uint64_t)m->save);
    json_put_bool(&w, "ending", m->ending);
    json_put_bool(&w, "parks", m->parks);
    json_put_bool(&w, "cancel_after_step", m->cancel_after_step);
    json_put_uint(&w, "end_state", (uint64_t)m->end_state);
    json_put_int(&w, "end_status", m->end_status);
    json_put_str(&w, "end_message", buffer_str(&m->end_message));
    if (!m->draft_void) {
        json_key(&w, "draft");
        draft_save(&m->draft, &w);
    }
    json_object_end(&w);
}

static bool load_enum(const cJSON *doc, const char *key, uint64_t max, uint64_t *out) {
    return json_u64(doc, key, out) && *out <= max;
}

static bool load_u32(const cJSON *doc, const char *key, uint32_t *out) {
    uint64_t value = 0;
    if (!load_enum(doc, key, UINT32_MAX, &value)) return false;
    *out = (uint32_t)value;
    return true;
}

static bool load_id(uar_uuid *out, const cJSON *doc, const char *key) {
    const cJSON *node = json_member(doc, key);
    if (cJSON_IsNull(node)) return true;
    return uar_uuid_parse(out, json_node_text(node)) == UAR_OK;
}

static bool load_numbers(machine *m, const cJSON *doc) {
    uint64_t phase = 0, stopped_in = 0, save = 0, end_state = 0;
    int64_t end_status = 0;
    bool good = load_enum(doc, "phase", PHASE_CLOSED, &phase) &&
                load_enum(doc, "stopped_in", PHASE_CLOSED, &stopped_in) && load_enum(doc, "save", SAVE_PARK, &save) &&
                load_enum(doc, "end_state", UAR_RUN_CANCELLED, &end_state) &&
                load_u32(doc, "max_steps", &m->limits.max_steps) && load_u32(doc, "attempt", &m->attempt) &&
                load_u32(doc, "parallel_tools", &m->limits.parallel_tools) &&
                load_u32(doc, "model_attempts", &m->limits.model_attempts) && json_u64(doc, "step", &m->step) &&
                json_u64(doc, "waits", &m->waits) && json_u64(doc, "last_number", &m->last_number) &&
                json_i64(doc, "end_status", &end_status) && end_status <= 0 && end_status > -10000;
    m->phase = (machine_phase)phase;
    m->stopped_in = (machine_phase)stopped_in;
    m->save = (save_kind)save;
    m->end_state = (uar_run_state)end_state;
    m->end_status = (uar_status)end_status;
    return good;
}

static bool load_flags(machine *m, const cJSON *doc) {
    return json_read_flag(&m->captures, doc, "captures") && json_read_flag(&m->answer_stored, doc, "answer_stored") &&
           json_read_flag(&m->model_open, doc, "model_open") && json_read_flag(&m->wait_open, doc, "wait_open") &&
           json_read_flag(&m->save_open, doc, "save_open") && json_read_flag(&m->save_waits, doc, "save_waits") &&
           json_read_flag(&m->ending, doc, "ending") && json_read_flag(&m->parks, doc, "parks") &&
           json_read_flag(&m->cancel_after_step, doc, "cancel_after_step");
}

static uar_status load_texts(machine *m, const cJSON *doc) {
    bool good = json_read_text(&m->input, doc, "input") && json_read_text(&m->model, doc, "model") &&
                json_read_text(&m->end_message, doc, "end_message");
    const buffer *all[] = { &m->input, &m->model, &m->end_message };
    for (size_t i = 0; i < 3; i++)
        if (all[i]->status != UAR_OK) return all[i]->status == UAR_E_NOMEM ? UAR_E_NOMEM : UAR_E_CORRUPT;
    return good && (m->phase <= PHASE_TURN || m->input.len == 0) ? UAR_OK : UAR_E_CORRUPT;
}

static uar_status load_all(machine *m, const cJSON *doc) {
    bool good = load_numbers(m, doc) && load_id(&m->user_message, doc, "user_message") &&
                load_id(&m->answer, doc, "answer") && load_id(&m->stored_answer, doc, "stored_answer") &&
                load_usage(&m->spent, doc, "spent") && load_usage(&m->current, doc, "current") && load_flags(m, doc);
    if (!good) return UAR_E_CORRUPT;
    uar_status status = load_texts(m, doc);
    if (status == UAR_OK) status = load_hits(m, doc);
    const cJSON *draft_doc = json_member(doc, "draft");
    if (status == UAR_OK && draft_doc != NULL) status = draft_load(&m->draft, draft_doc);
    if (status == UAR_OK && !machine_is_sound(m)) status = UAR_E_CORRUPT;
    return status;
}

uar_status machine_load(machine *m, uar_str document, uar_error *err) {
    cJSON *doc = NULL;
    uar_status status = json_read(&doc, m->alloc, document, SIZE_MAX, err);
    if (status == UAR_E_JSON) status = error_set(err, UAR_E_CORRUPT, "the saved run is not a document");
    if (status != UAR_OK) return status;
    uint64_t version = 0;
    if (!json_u64(doc, "v", &version) || version == 0)
        status = error_set(err, UAR_E_CORRUPT, "the saved run has no version");
    else if (version > MACHINE_DOCUMENT_VERSION)
        status = error_set(err, UAR_E_NEWER, "the saved run has format %llu; this library knows up to %d",
                           (unsigned long long)version, MACHINE_DOCUMENT_VERSION);
    else
        status = load_all(m, doc);
    json_free(m->alloc, doc);
    if (status == UAR_E_CORRUPT) return error_set(err, status, "the saved run is damaged");
    if (status == UAR_E_NOMEM) return error_plain(err, status);
    return status;
}
