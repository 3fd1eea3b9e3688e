/*
 * Where a simulation takes its decisions from: the bytes of a fuzzer's input, or a seeded generator. When the bytes are used
 * up every choice is 0, so option 0 of each choice must lead towards the end.
 */
#ifndef UAR_TESTS_SIM_CHOICES_H
#define UAR_TESTS_SIM_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct choices {
    const uint8_t *bytes; /* NULL: from the generator */
    size_t size, at;
    uint64_t state;
} choices;

static inline choices choices_of_bytes(const uint8_t *bytes, size_t size) {
    return (choices){ .bytes = bytes, .size = size };
}

static inline choices choices_of_seed(uint64_t seed) {
    return (choices){ .state = seed * 0x9E3779B97F4A7C15u + 1 };
}

/* xorshift64* */
static inline uint32_t choices_draw(choices *c) {
    c->state ^= c->state >> 12;
    c->state ^= c->state << 25;
    c->state ^= c->state >> 27;
    return (uint32_t)((c->state * 0x2545F4914F6CDD1Du) >> 32);
}

/* 0 to count - 1; `count` is 1 to 256. */
static inline unsigned choose(choices *c, unsigned count) {
    if (c->state != 0) return choices_draw(c) % count;
    return c->at < c->size ? c->bytes[c->at++] % count : 0;
}

/* True once in `count` times; never once the bytes are used up. */
static inline bool chance(choices *c, unsigned count) {
    return choose(c, count) == count - 1;
}

#endif
