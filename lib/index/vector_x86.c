/*
 * Owns: the kernels for x86 processors and the question which of them a processor can run.
 * Each function is compiled for its own level, so the rest of the library still runs anywhere. All take four rows at a
 * time, which share what is loaded of the query; a last group repeats its last row.
 */
#include "index/vector_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#define FOR(level) __attribute__((target(level)))
#define AVX2 "avx2"
#define AVX512 "avx2,avx512f,avx512bw"
#define AVX_VNNI "avx2,avxvnni"
#define AVX512_VNNI "avx2,avx512f,avx512bw,avx512vnni"

typedef struct four_rows {
    const int8_t *row[4];
} four_rows;

static inline four_rows choose_rows(const vector_operand *q, const int8_t *rows, const uint32_t *which, size_t at,
                                    size_t count) {
    four_rows four;
    for (size_t i = 0; i < 4; i++) {
        size_t n = at + i < count ? at + i : count - 1;
        four.row[i] = rows + q->stride * (which != NULL ? which[n] : n);
    }
    return four;
}

FOR(AVX2) static inline __m256i load_32(const void *bytes) {
    return _mm256_loadu_si256((const __m256i *)bytes);
}

FOR(AVX2) static inline __m256i load_16_codes(const int8_t *codes) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)codes));
}

/* The sums of the lanes of four accumulators. */
FOR(AVX2) static inline __m128i sum_lanes(__m256i a, __m256i b, __m256i c, __m256i d) {
    __m256i pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    return _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
}

FOR(AVX512) static inline __m256i fold(__m512i x) {
    return _mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
}

FOR(AVX2) static inline __m128i avx2_four(const vector_operand *q, four_rows four) {
    __m256i sum[4] = { _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256() };
    for (size_t i = 0; i < q->stride; i += 16) {
        __m256i wide = load_32(q->wide + i);
        for (size_t r = 0; r < 4; r++)
            sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(load_16_codes(four.row[r] + i), wide));
    }
    return sum_lanes(sum[0], sum[1], sum[2], sum[3]);
}

FOR(AVX512) static inline __m128i avx512_four(const vector_operand *q, four_rows four) {
    __m512i sum[4] = { _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512() };
    for (size_t i = 0; i < q->stride; i += 32) {
        __m512i wide = _mm512_loadu_si512(q->wide + i);
        for (size_t r = 0; r < 4; r++) {
            __m512i codes = _mm512_cvtepi8_epi16(load_32(four.row[r] + i));
            sum[r] = _mm512_add_epi32(sum[r], _mm512_madd_epi16(codes, wide));
        }
    }
    return sum_lanes(fold(sum[0]), fold(sum[1]), fold(sum[2]), fold(sum[3]));
}

/*
 * The dot product instructions multiply unsigned by signed bytes. A code with its top bit flipped is the code plus 128, so
 * the sum is too large by 128 times the query's codes: the bias. Sums may wrap on the way; the result fits.
 */
FOR(AVX_VNNI) static inline __m128i avx_vnni_four(const vector_operand *q, four_rows four) {
    __m256i top = _mm256_set1_epi8(-128), high[4], low[4];
    for (size_t r = 0; r < 4; r++)
        high[r] = low[r] = _mm256_setzero_si256();
    for (size_t i = 0; i < q->stride; i += 32) {
        __m256i by_high = load_32(q->high + i), by_low = load_32(q->low + i);
        for (size_t r = 0; r < 4; r++) {
            __m256i codes = _mm256_xor_si256(load_32(four.row[r] + i), top);
            high[r] = _mm256_dpbusd_avx_epi32(high[r], codes, by_high);
            low[r] = _mm256_dpbusd_avx_epi32(low[r], codes, by_low);
        }
    }
    for (size_t r = 0; r < 4; r++)
        low[r] = _mm256_add_epi32(low[r], _mm256_slli_epi32(high[r], 7));
    return _mm_sub_epi32(sum_lanes(low[0], low[1], low[2], low[3]), _mm_set1_epi32(q->bias));
}

FOR(AVX512_VNNI) static inline __m128i avx512_vnni_four(const vector_operand *q, four_rows four) {
    __m512i top = _mm512_set1_epi8(-128), high[4], low[4];
    for (size_t r = 0; r < 4; r++)
        high[r] = low[r] = _mm512_setzero_si512();
    for (size_t i = 0; i < q->stride; i += 64) {
        __m512i by_high = _mm512_loadu_si512(q->high + i), by_low = _mm512_loadu_si512(q->low + i);
        for (size_t r = 0; r < 4; r++) {
            __m512i codes = _mm512_xor_si512(_mm512_loadu_si512(four.row[r] + i), top);
            high[r] = _mm512_dpbusd_epi32(high[r], codes, by_high);
            low[r] = _mm512_dpbusd_epi32(low[r], codes, by_low);
        }
    }
    for (size_t r = 0; r < 4; r++)
        low[r] = _mm512_add_epi32(low[r], _mm512_slli_epi32(high[r], 7));
    __m128i sums = sum_lanes(fold(low[0]), fold(low[1]), fold(low[2]), fold(low[3]));
    return _mm_sub_epi32(sums, _mm_set1_epi32(q->bias));
}

/* The loop over groups, once for each level: a shared one could not have the kernel inlined into it. */
#define DEFINE_DOTS(kernel, level)                                                                               \
    FOR(level)                                                                                                   \
    static void kernel##_dots(int32_t *out, const vector_operand *q, const int8_t *rows, const uint32_t *which,  \
                              size_t count) {                                                                    \
        for (size_t at = 0; at < count; at += 4) {                                                               \
            int32_t sums[4];                                                                                     \
            _mm_storeu_si128((__m128i *)(void *)sums, kernel##_four(q, choose_rows(q, rows, which, at, count))); \
            memcpy(out + at, sums, (count - at < 4 ? count - at : 4) * sizeof *sums);                            \
        }                                                                                                        \
    }

DEFINE_DOTS(avx2, AVX2)
DEFINE_DOTS(avx512, AVX512)
DEFINE_DOTS(avx_vnni, AVX_VNNI)
DEFINE_DOTS(avx512_vnni, AVX512_VNNI)

static const vector_kernel avx2 = { "avx2", avx2_dots };
static const vector_kernel avx512 = { "avx512", avx512_dots };
static const vector_kernel avx_vnni = { "avx-vnni", avx_vnni_dots };
static const vector_kernel avx512_vnni = { "avx512-vnni", avx512_vnni_dots };

/* The compiler's own record of the processor, made when the program starts, also knows what the system saves when it
 * switches threads. Asking the processor takes microseconds on a virtual machine, so that is only done for what the record
 * of older compilers lacks. */
static bool has_avx_vnni(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || a < 1) return false;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1) != 0;
}

size_t vector_kernels_x86(const vector_kernel **out, bool only_best) {
    size_t count = 0;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2")) return 0;
    bool is_wide = __builtin_cpu_supports("avx512bw");
    if (is_wide && __builtin_cpu_supports("avx512vnni")) out[count++] = &avx512_vnni;
    if (only_best && count != 0) return count;
    if (has_avx_vnni()) out[count++] = &avx_vnni;
    if (is_wide) out[count++] = &avx512;
    out[count++] = &avx2;
    return count;
}

#else

size_t vector_kernels_x86(const vector_kernel **out, bool only_best) {
    (void)out;
    (void)only_best;
    return 0;
}

#endif
