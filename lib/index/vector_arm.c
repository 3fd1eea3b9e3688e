/* Owns: the kernel for ARM's vector unit, which every 64-bit ARM processor has. */
#include "index/vector_kernel.h"

#if defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

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

static const vector_kernel neon = { "neon", neon_dots };

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
