/* Owns nothing. The values are part of the embedder's id, so they are the same on every machine and never change. */
#include "bert/digest.h"

#define MIX 0x9E3779B97F4A7C15u

static uint64_t stir(uint64_t x) {
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x ^ x >> 32;
}

static uint64_t word_at(const uint8_t *p) {
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--)
        word = word << 8 | p[i];
    return word;
}

void digest_init(digest *d) {
    *d = (digest){ { 0x7561722D62657274u, 0x656E636F64657231u, 0x7765696768747331u, 0x6469676573743031u }, 0 };
}

void digest_add_number(digest *d, uint64_t number) {
    uint64_t *lane = &d->lane[d->bytes & 3];
    *lane = stir(*lane ^ number) * MIX + 1;
    d->bytes++;
}

void digest_add(digest *d, const void *bytes, size_t len) {
    const uint8_t *p = bytes;
    digest_add_number(d, len);
    while (len >= 32) {
        for (int i = 0; i < 4; i++) {
            uint64_t x = (d->lane[i] ^ word_at(p + i * 8)) * MIX;
            d->lane[i] = x ^ x >> 29;
        }
        p += 32;
        len -= 32;
    }
    uint8_t rest[32] = { 0 };
    if (len != 0) memcpy(rest, p, len);
    for (int i = 0; i < 4; i++)
        digest_add_number(d, word_at(rest + i * 8));
}

uint64_t digest_value(const digest *d) {
    uint64_t value = d->bytes;
    for (int i = 0; i < 4; i++)
        value = stir(value ^ d->lane[i]) * MIX;
    return stir(value);
}
