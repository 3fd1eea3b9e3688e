/* Owns: the plain kernel and the choice of one. */
#include "index/vector_kernel.h"

static void plain_dots(int32_t *out, const vector_operand *q, const int8_t *rows, const uint32_t *which, size_t count) {
    for (size_t n = 0; n < count; n++) {
        const int8_t *row = rows + q->stride * (which != NULL ? which[n] : n);
        int32_t sum = 0;
        for (size_t i = 0; i < q->stride; i++)
            sum += row[i] * q->wide[i];
        out[n] = sum;
    }
}

const vector_kernel vector_kernel_plain = { "plain", plain_dots };

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
