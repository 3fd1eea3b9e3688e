/* Made from the list of events: a new kind or field is compared without a line here. */
#include "sim/effect_same.h"

static bool same_text(uar_str a, uar_str b) {
    return (a.ptr == NULL) == (b.ptr == NULL) && uar_str_equal(a, b);
}

static bool same_id(uar_uuid a, uar_uuid b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool same_double(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool same_usage(uar_usage a, uar_usage b) {
    return a.input == b.input && a.cache_read == b.cache_read && a.cache_write == b.cache_write &&
           a.output == b.output && a.reasoning == b.reasoning && a.known == b.known;
}

static bool same_hits(uar_hits a, uar_hits b) {
    bool same = a.count == b.count;
    for (size_t i = 0; same && i < a.count; i++)
        same = same_id(a.items[i].id, b.items[i].id) && same_double(a.items[i].score, b.items[i].score);
    return same;
}

#define SAME_STR(a, b) same_text(a, b)
#define SAME_JSON(a, b) same_text(a, b)
#define SAME_UUID(a, b) same_id(a, b)
#define SAME_U64(a, b) ((a) == (b))
#define SAME_I64(a, b) ((a) == (b))
#define SAME_F64(a, b) same_double(a, b)
#define SAME_BOOL(a, b) ((a) == (b))
#define SAME_USAGE(a, b) same_usage(a, b)
#define SAME_HITS(a, b) same_hits(a, b)
#define FIELD_IS_SAME(type, name, docs) &&SAME_##type(a->name, b->name)

#define PAYLOAD_IS_SAME(kind, member, json, docs)                                         \
    static bool same_##member(const uar_event_##member *a, const uar_event_##member *b) { \
        return true UAR_EVENT_FIELDS_##kind(FIELD_IS_SAME);                               \
    }
UAR_EVENT_KINDS(PAYLOAD_IS_SAME)

static bool same_payload(const effect *a, const effect *b) {
    switch (a->event) {
#define CASE(kind, member, json, docs) \
    case UAR_EVENT_##kind: return same_##member(&a->payload.member, &b->payload.member);
        UAR_EVENT_KINDS(CASE)
    default: return false;
    }
}

bool effect_same(const effect *a, const effect *b) {
    if (a->kind != b->kind || a->save != b->save || a->number != b->number || a->event != b->event) return false;
    return a->kind != EFFECT_EMIT || same_payload(a, b);
}
