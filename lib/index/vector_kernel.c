/* Owns: the plain kernel and the choice of one. */
#include "index/vector_kernel.h"

#include <string.h>

static void plain_dots(int32_t *out, const vector_operand *q, const int8_t *rows, const uint32_t *which, size_t count) {
    for (size_t n = 0; n < count; n++) {
        const int8_t *row = rows + q->stride * (which != NULL ? which[n] : n);
        int32_t sum = 0;
        for (size_t i = 0; i < q->stride; i++)
            sum += row[i] * q->wide[i];
        out[n] = sum;
    }
}

static void plain_bit_sums(int32_t *out, const vector_operand *q, const uint8_t *groups, size_t count) {
    memset(out, 0, count * sizeof *out);
    for (size_t at = 0; at < count; at += VECTOR_GROUP) {
        const uint8_t *table = q->table;
        for (size_t i = 0; i < q->stride / 8; i++, groups += VECTOR_GROUP, table += 32)
            for (size_t r = 0; r < VECTOR_GROUP; r++)
                out[at + r] += table[groups[r] & 15] + table[16 + (groups[r] >> 4)];
    }
}

const vector_kernel vector_kernel_plain = { "plain", plain_dots, plain_bit_sums };

size_t vector_kernels(const vector_kernel *out[VECTOR_KERNELS]) {
    size_t count = vector_kernels_x86(out, false);
    count += vector_kernels_arm(out + count);
    out[count++] = &vector_kernel_plain;
    return count;
}

const vector_kernel *vector_kernel_best(void) {
    const vector_kernel *found[VECTOR_KERNELS];
    if (vector_kernels_x86(found, true) != 0 || vector_kernels_arm(found) != 0) return found[0];
    return &vector_kernel_plain;
}
