/* The draft as part of the machine's document. Texts are valid UTF-8; what waits in a lane is written as hex. A field that is
 * missing or of another type is UAR_E_CORRUPT, and so is a text beyond its limit. */
#include "base/str.h"
#include "run/draft.h"

static void save_lane(json_writer *w, const char *key, const utf8_lane *lane) {
    static const char digits[] = "0123456789abcdef";
    char hex[2 * sizeof lane->held];
    for (size_t i = 0; i < lane->held_len; i++) {
        hex[2 * i] = digits[lane->held[i] >> 4];
        hex[2 * i + 1] = digits[lane->held[i] & 15];
    }
    json_key(w, key);
    json_object_begin(w);
    json_put_str(w, "held", uar_str_n(hex, 2 * (size_t)lane->held_len));
    json_put_uint(w, "nuls", lane->nuls);
    json_put_uint(w, "broken", lane->broken);
    json_put_bool(w, "truncated", lane->truncated);
    json_object_end(w);
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/* Only what a lane would hold back by itself may wait in it. */
static bool is_held_back(const uint8_t *bytes, size_t len, const uar_allocator *a) {
    utf8_lane lane;
    buffer out;
    utf8_lane_init(&lane);
    buffer_init(&out, a, 0);
    utf8_lane_push(&lane, uar_str_n((const char *)bytes, len), &out);
    bool held = lane.held_len == len && out.status == UAR_OK && lane.nuls == 0 && lane.broken == 0;
    buffer_dispose(&out);
    return held;
}

static uar_status load_lane(utf8_lane *lane, const cJSON *owner, const char *key, const uar_allocator *a) {
    const cJSON *doc = json_member(owner, key);
    uar_str hex = json_text(doc, "held");
    uint64_t nuls = 0, broken = 0;
    uint8_t held[sizeof lane->held];
    bool good = hex.ptr != NULL && hex.len % 2 == 0 && hex.len / 2 <= sizeof held && json_u64(doc, "nuls", &nuls) &&
                json_u64(doc, "broken", &broken) && nuls <= UINT32_MAX && broken <= UINT32_MAX &&
                json_read_flag(&lane->truncated, doc, "truncated");
    for (size_t i = 0; good && i < hex.len; i += 2) {
        int high = hex_value(hex.ptr[i]), low = hex_value(hex.ptr[i + 1]);
        good = high >= 0 && low >= 0;
        if (good) held[i / 2] = (uint8_t)(high * 16 + low);
    }
    if (!good || !is_held_back(held, hex.len / 2, a)) return UAR_E_CORRUPT;
    memcpy(lane->held, held, hex.len / 2);
    lane->held_len = (uint8_t)(hex.len / 2);
    lane->nuls = (uint32_t)nuls;
    lane->broken = (uint32_t)broken;
    return UAR_OK;
}

static void save_call(json_writer *w, const draft_call *c) {
    json_object_begin(w);
    json_put_uint(w, "index", c->index);
    json_put_str(w, "id", buffer_str(&c->id));
    json_put_str(w, "name", buffer_str(&c->name));
    json_put_str(w, "arguments", buffer_str(&c->arguments));
    save_lane(w, "lane", &c->lane);
    json_put_uint(w, "state", (uint64_t)c->state);
    json_put_uint(w, "decision", (uint64_t)c->decision);
    json_put_bool(w, "decision_saved", c->decision_saved);
    json_put_bool(w, "asks", c->asks);
    json_put_bool(w, "announced", c->announced);
    json_put_uint(w, "in_save", c->in_save);
    json_put_str(w, "effective", buffer_str(&c->effective));
    json_put_str(w, "reason", buffer_str(&c->reason));
    json_put_bool(w, "ok", c->ok);
    json_put_int(w, "status", c->status);
    /* An outcome that is a record already is not copied. */
    json_put_str(w, "result", c->state == CALL_SAVED ? STR("") : buffer_str(&c->result));
    json_object_end(w);
}

void draft_save(const draft *d, json_writer *w) {
    json_object_begin(w);
    json_put_str(w, "text", buffer_str(&d->text));
    json_put_str(w, "reasoning", buffer_str(&d->reasoning));
    json_put_str(w, "opaque", buffer_str(&d->opaque));
    save_lane(w, "text_lane", &d->text_lane);
    save_lane(w, "reasoning_lane", &d->reasoning_lane);
    json_key(w, "calls");
    json_array_begin(w);
    for (size_t i = 0; i < d->call_count; i++)
        save_call(w, &d->calls[i]);
    json_array_end(w);
    json_object_end(w);
}

static bool load_numbers(draft_call *c, const cJSON *doc) {
    uint64_t index = 0, state = 0, decision = 0, in_save = 0;
    int64_t status = 0;
    bool good = json_u64(doc, "index", &index) && index <= UINT32_MAX && json_u64(doc, "state", &state) &&
                state <= CALL_SAVED && json_u64(doc, "decision", &decision) && decision <= DECISION_DENIED &&
                json_u64(doc, "in_save", &in_save) && in_save <= 7 && json_i64(doc, "status", &status) && status <= 0 &&
                status > -10000;
    c->index = (uint32_t)index;
    c->state = (call_state)state;
    c->decision = (call_decision)decision;
    c->in_save = (unsigned)in_save;
    c->status = (uar_status)status;
    return good;
}

static bool load_texts(draft_call *c, const cJSON *doc) {
    return json_read_text(&c->id, doc, "id") && json_read_text(&c->name, doc, "name") &&
           json_read_text(&c->arguments, doc, "arguments") && json_read_text(&c->effective, doc, "effective") &&
           json_read_text(&c->reason, doc, "reason") && json_read_text(&c->result, doc, "result");
}

static uar_status load_call(draft *d, const cJSON *doc) {
    draft_call *c = draft_call_add(d, 0);
    if (c == NULL) return d->text.status;
    bool good = load_numbers(c, doc) && load_texts(c, doc) &&
                json_read_flag(&c->decision_saved, doc, "decision_saved") && json_read_flag(&c->asks, doc, "asks") &&
                json_read_flag(&c->announced, doc, "announced") && json_read_flag(&c->ok, doc, "ok") &&
                (c->state != CALL_SAVED || c->result.len == 0);
    return good ? load_lane(&c->lane, doc, "lane", d->alloc) : UAR_E_CORRUPT;
}

static uar_status load_calls(draft *d, const cJSON *list) {
    uar_status status = cJSON_IsArray(list) ? UAR_OK : UAR_E_CORRUPT;
    const cJSON *call = NULL;
    cJSON_ArrayForEach(call, list) {
        if (status == UAR_OK) status = load_call(d, call);
    }
    return status;
}

uar_status draft_load(draft *d, const cJSON *doc) {
    bool good = json_read_text(&d->text, doc, "text") && json_read_text(&d->reasoning, doc, "reasoning") &&
                json_read_text(&d->opaque, doc, "opaque");
    uar_status status = good ? load_lane(&d->text_lane, doc, "text_lane", d->alloc) : UAR_E_CORRUPT;
    if (status == UAR_OK) status = load_lane(&d->reasoning_lane, doc, "reasoning_lane", d->alloc);
    if (status == UAR_OK) status = load_calls(d, json_member(doc, "calls"));
    if (draft_status(d) == UAR_E_NOMEM) return UAR_E_NOMEM;
    return status == UAR_OK && draft_status(d) == UAR_OK ? UAR_OK : UAR_E_CORRUPT;
}
