/* Numbers in the byte order of stored chunks. */
#ifndef UAR_LIB_INDEX_LITTLE_H
#define UAR_LIB_INDEX_LITTLE_H

#include <stdint.h>

static inline uint32_t little_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t little_u64(const uint8_t *p) {
    return (uint64_t)little_u32(p) | (uint64_t)little_u32(p + 4) << 32;
}

static inline void little_put32(uint8_t *p, uint32_t value) {
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static inline void little_put64(uint8_t *p, uint64_t value) {
    little_put32(p, (uint32_t)value);
    little_put32(p + 4, (uint32_t)(value >> 32));
}

#endif
