/* Owns: the plain kernel and the choice of one. */
#include "index/vector_kernel.h"

static void plain_dots(int32_t *out, const vector_operand *q, const int8_t *rows, size_t count) {
    for (size_t r = 0; r < count; r++, rows += q->stride) {
        int32_t sum = 0;
        for (size_t i = 0; i < q->stride; i++)
            sum += rows[i] * q->wide[i];
        out[r] = sum;
    }
}

const vector_kernel vector_kernel_plain = { "plain", plain_dots };

const vector_kernel *vector_kernel_best(void) {
    return &vector_kernel_plain;
}

const vector_kernel *vector_kernel_at(size_t index) {
    return index == 0 ? &vector_kernel_plain : NULL;
}
