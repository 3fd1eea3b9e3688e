/* Owns nothing but the table of levels. A level is offered where it was compiled in and the machine has it. */
#include "bert/kernels.h"

#include "bert/cpu.h"
#include "bert/kernels_levels.h"

#define ROWS_OF(level) \
    .to_bytes = level##_to_bytes, .gelu = level##_gelu, .softmax = level##_softmax, .norm = level##_norm

static const kernels scalar = { "scalar", scalar_product, scalar_byte_product, ROWS_OF(scalar) };

#if defined(UAR_BERT_X86)
static const kernels avx2 = { "avx2", avx2_product, avx2_byte_product, ROWS_OF(avx2) };
static const kernels avx_vnni = { "avx-vnni", avx2_product, avx_vnni_byte_product, ROWS_OF(avx2) };
static const kernels avx512 = { "avx512", avx512_product, avx2_byte_product, ROWS_OF(avx512) };
static const kernels avx512_vnni = { "avx512-vnni", avx512_product, avx512_vnni_byte_product, ROWS_OF(avx512) };

const kernels *kernels_level(size_t index) {
    cpu c = cpu_detect();
    const kernels *have[5];
    size_t count = 0;
    have[count++] = &scalar;
    if (c.avx2) have[count++] = &avx2;
    if (c.avx_vnni) have[count++] = &avx_vnni;
    if (c.avx512) have[count++] = &avx512;
    if (c.avx512_vnni) have[count++] = &avx512_vnni;
    return index < count ? have[index] : NULL;
}
#elif defined(UAR_BERT_NEON)
static const kernels neon = { "neon", neon_product, neon_byte_product, ROWS_OF(scalar) };

const kernels *kernels_level(size_t index) {
    return index == 0 ? &scalar : index == 1 ? &neon : NULL;
}
#else
const kernels *kernels_level(size_t index) {
    return index == 0 ? &scalar : NULL;
}
#endif

const kernels *kernels_best(void) {
    const kernels *best = &scalar;
    for (size_t i = 0; kernels_level(i) != NULL; i++)
        best = kernels_level(i);
    return best;
}
