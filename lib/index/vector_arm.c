/* Owns: the kernel for ARM's vector unit, which every 64-bit ARM processor has. */
#include "index/vector_kernel.h"

#if defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>
#include <string.h>

static int32_t neon_dot(const vector_operand *q, const int8_t *row) {
    int32x4_t even = vdupq_n_s32(0), odd = vdupq_n_s32(0);
    for (size_t i = 0; i < q->stride; i += 16) {
        int8x16_t codes = vld1q_s8(row + i);
        int16x8_t first = vmovl_s8(vget_low_s8(codes)), second = vmovl_high_s8(codes);
        int16x8_t wide = vld1q_s16(q->wide + i), next = vld1q_s16(q->wide + i + 8);
        even = vmlal_s16(even, vget_low_s16(first), vget_low_s16(wide));
        odd = vmlal_high_s16(odd, first, wide);
        even = vmlal_s16(even, vget_low_s16(second), vget_low_s16(next));
        odd = vmlal_high_s16(odd, second, next);
    }
    return vaddvq_s32(vaddq_s32(even, odd));
}

static void neon_dots(int32_t *out, const vector_operand *q, const int8_t *rows, const uint32_t *which, size_t count) {
    for (size_t n = 0; n < count; n++)
        out[n] = neon_dot(q, rows + q->stride * (which != NULL ? which[n] : n));
}

/* Sums of 16 rows of a group over at most a slab, each in 16 bits. */
static void neon_slab(int32_t *out, const uint8_t *rows, const uint8_t *table, size_t bytes) {
    uint16x8_t first = vdupq_n_u16(0), second = vdupq_n_u16(0);
    for (size_t i = 0; i < bytes; i++, rows += VECTOR_GROUP, table += 32) {
        uint8x16_t bits = vld1q_u8(rows);
        uint8x16_t low = vqtbl1q_u8(vld1q_u8(table), vandq_u8(bits, vdupq_n_u8(15)));
        uint8x16_t sums = vaddq_u8(low, vqtbl1q_u8(vld1q_u8(table + 16), vshrq_n_u8(bits, 4)));
        first = vaddw_u8(first, vget_low_u8(sums));
        second = vaddw_high_u8(second, sums);
    }
    uint16_t lanes[16];
    vst1q_u16(lanes, first);
    vst1q_u16(lanes + 8, second);
    for (size_t r = 0; r < 16; r++)
        out[r] += lanes[r];
}

static void neon_bit_sums(int32_t *out, const vector_operand *q, const uint8_t *groups, size_t count) {
    memset(out, 0, count * sizeof *out);
    for (size_t at = 0; at < count; at += VECTOR_GROUP, groups += q->stride / 8 * VECTOR_GROUP)
        for (size_t d = 0; d < q->stride; d += VECTOR_SLAB) {
            size_t bytes = (q->stride - d < VECTOR_SLAB ? q->stride - d : VECTOR_SLAB) / 8;
            const uint8_t *rows = groups + d / 8 * VECTOR_GROUP;
            neon_slab(out + at, rows, q->table + d * 4, bytes);
            neon_slab(out + at + 16, rows + 16, q->table + d * 4, bytes);
        }
}

static const vector_kernel neon = { "neon", neon_dots, neon_bit_sums };

size_t vector_kernels_arm(const vector_kernel **out) {
    out[0] = &neon;
    return 1;
}

#else

size_t vector_kernels_arm(const vector_kernel **out) {
    (void)out;
    return 0;
}

#endif
