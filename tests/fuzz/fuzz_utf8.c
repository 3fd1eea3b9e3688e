/*
 * Any bytes through the lane: what comes out is valid UTF-8 without U+0000, and no cut changes it. The first byte of the
 * input sets where the rest is cut.
 */
#include <stdint.h>

#include "base/utf8.h"
#include "fuzz/property.h"
#include "support/probe_alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct outcome {
    buffer text;
    utf8_lane lane;
} outcome;

/* `seed` 0: in one piece. Else pieces of 0 to 15 bytes, or of one byte for seed 1. */
static void run_lane(outcome *o, const uar_allocator *a, uar_str s, unsigned seed) {
    size_t at = 0;
    buffer_init(&o->text, a, SIZE_MAX / 4);
    utf8_lane_init(&o->lane);
    while (at < s.len) {
        size_t len = s.len - at;
        if (seed == 1) {
            len = 1;
        } else if (seed > 1) {
            seed = seed * 1103515245u + 12345u;
            size_t want = seed >> 16 & 15;
            len = want < len ? want : len;
        }
        utf8_lane_push(&o->lane, uar_str_n(s.ptr + at, len), &o->text);
        PROPERTY(o->lane.held_len < sizeof o->lane.held);
        at += len;
    }
    utf8_lane_end(&o->lane, &o->text);
    PROPERTY(o->text.status == UAR_OK);
}

static void check_same(const outcome *a, const outcome *b) {
    PROPERTY(uar_str_equal(buffer_str(&a->text), buffer_str(&b->text)));
    PROPERTY(a->lane.nuls == b->lane.nuls);
    PROPERTY(a->lane.broken == b->lane.broken);
    PROPERTY(a->lane.truncated == b->lane.truncated);
}

static void check_output(const outcome *o, uar_str input) {
    uar_str text = buffer_str(&o->text);
    bool is_clean = utf8_is_valid(input) && (input.len == 0 || memchr(input.ptr, 0, input.len) == NULL);
    bool is_unchanged = o->lane.nuls == 0 && o->lane.broken == 0 && !o->lane.truncated;
    PROPERTY(utf8_is_valid(text));
    PROPERTY(text.len == 0 || memchr(text.ptr, 0, text.len) == NULL);
    if (is_clean) PROPERTY(is_unchanged && uar_str_equal(text, input));
}

static void check_steps(uar_str s) {
    size_t fault = utf8_fault(s);
    size_t at = 0;
    while (at < s.len) {
        utf8_item item = utf8_decode(s.ptr + at, s.len - at);
        PROPERTY(item.len >= 1 && item.len <= 4 && item.len <= s.len - at);
        PROPERTY(item.kind != UTF8_PARTIAL || at + item.len == s.len);
        if (item.kind == UTF8_CHARACTER) PROPERTY(utf8_size(item.code_point) == item.len);
        if (at < fault) PROPERTY(item.kind == UTF8_CHARACTER);
        if (at == fault) PROPERTY(item.kind != UTF8_CHARACTER);
        at += item.len;
    }
    PROPERTY(at == s.len);
}

static void check_cuts(uar_str valid) {
    PROPERTY(utf8_cut(valid, valid.len) == valid.len);
    for (size_t max = 0; max <= valid.len && max < 64; max++) {
        size_t len = utf8_cut(valid, max);
        PROPERTY(len <= max && max - len < 4);
        PROPERTY(utf8_is_valid(uar_str_n(valid.ptr, len)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    probe_alloc probe;
    outcome whole, bytes, pieces;
    unsigned seed = size > 0 ? data[0] + 2u : 2u;
    uar_str s = size > 1 ? uar_str_n((const char *)data + 1, size - 1) : uar_str_n("", 0);
    probe_alloc_init(&probe);
    check_steps(s);
    run_lane(&whole, &probe.door, s, 0);
    run_lane(&bytes, &probe.door, s, 1);
    run_lane(&pieces, &probe.door, s, seed);
    check_same(&whole, &bytes);
    check_same(&whole, &pieces);
    check_output(&whole, s);
    check_cuts(buffer_str(&whole.text));
    buffer_dispose(&whole.text);
    buffer_dispose(&bytes.text);
    buffer_dispose(&pieces.text);
    PROPERTY(probe.alive == 0);
    return 0;
}
