/* The draft as part of the machine's document. Texts are valid UTF-8; what waits in a lane is written as hex. */
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

static uar_status load_lane(utf8_lane *lane, const cJSON *owner, const char *key) {
    const cJSON *doc = json_member(owner, key);
    uar_str hex = json_text(doc, "held");
    uint64_t nuls = 0, broken = 0;
    bool good = hex.len % 2 == 0 && hex.len / 2 <= sizeof lane->held && json_u64(doc, "nuls", &nuls) &&
                json_u64(doc, "broken", &broken) && nuls <= UINT32_MAX && broken <= UINT32_MAX;
    for (size_t i = 0; good && i < hex.len; i += 2) {
        int high = hex_value(hex.ptr[i]), low = hex_value(hex.ptr[i + 1]);
        good = high >= 0 && low >= 0;
        if (good) lane->held[lane->held_len++] = (uint8_t)(high * 16 + low);
    }
    lane->nuls = (uint32_t)nuls;
    lane->broken = (uint32_t)broken;
    lane->truncated = json_flag(doc, "truncated", false);
    return good ? UAR_OK : UAR_E_CORRUPT;
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

static uar_status load_call(draft *d, const cJSON *doc) {
    uint64_t index = 0, state = 0, decision = 0, in_save = 0;
    int64_t status = 0;
    if (!json_u64(doc, "index", &index) || !json_u64(doc, "state", &state) || !json_u64(doc, "decision", &decision) ||
        !json_u64(doc, "in_save", &in_save) || !json_i64(doc, "status", &status))
        return UAR_E_CORRUPT;
    if (index > UINT32_MAX || state > CALL_SAVED || decision > DECISION_DENIED || in_save > 7 || status > 0 ||
        status < -10000)
        return UAR_E_CORRUPT;
    draft_call *c = draft_call_add(d, (uint32_t)index);
    if (c == NULL) return d->text.status;
    buffer_append_str(&c->id, json_text(doc, "id"));
    buffer_append_str(&c->name, json_text(doc, "name"));
    buffer_append_str(&c->arguments, json_text(doc, "arguments"));
    buffer_append_str(&c->effective, json_text(doc, "effective"));
    buffer_append_str(&c->reason, json_text(doc, "reason"));
    buffer_append_str(&c->result, json_text(doc, "result"));
    c->state = (call_state)state;
    c->decision = (call_decision)decision;
    c->in_save = (unsigned)in_save;
    c->status = (uar_status)status;
    c->decision_saved = json_flag(doc, "decision_saved", false);
    c->asks = json_flag(doc, "asks", false);
    c->announced = json_flag(doc, "announced", false);
    c->ok = json_flag(doc, "ok", false);
    return load_lane(&c->lane, doc, "lane");
}

uar_status draft_load(draft *d, const cJSON *doc) {
    if (!cJSON_IsObject(doc)) return UAR_E_CORRUPT;
    buffer_append_str(&d->text, json_text(doc, "text"));
    buffer_append_str(&d->reasoning, json_text(doc, "reasoning"));
    buffer_append_str(&d->opaque, json_text(doc, "opaque"));
    uar_status status = load_lane(&d->text_lane, doc, "text_lane");
    if (status == UAR_OK) status = load_lane(&d->reasoning_lane, doc, "reasoning_lane");
    const cJSON *call = NULL;
    cJSON_ArrayForEach(call, json_member(doc, "calls")) {
        if (status == UAR_OK) status = load_call(d, call);
    }
    return status != UAR_OK ? status : draft_status(d);
}
