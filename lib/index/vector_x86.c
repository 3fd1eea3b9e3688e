/*
 * Owns: the kernels for x86 processors and the question which of them a processor can run.
 * Each function is compiled for its own level, so the rest of the library still runs anywhere.
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

/* How far ahead of their use rows are asked for: the processor's own guess is too short to keep the memory busy. */
#define AHEAD_BYTES 16384

/* Row n of a scan, or the last one. */
static inline const int8_t *row_at(const vector_operand *q, const int8_t *rows, const uint32_t *which, size_t n,
                                   size_t count) {
    if (n >= count) n = count - 1;
    return rows + q->stride * (which != NULL ? which[n] : n);
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

/* Each of these returns lanes whose sum is the row's product with the query; `ahead` is a row that is needed later. */

FOR(AVX2) static inline __m256i avx2_row(const vector_operand *q, const int8_t *row, const int8_t *ahead) {
    __m256i even = _mm256_setzero_si256(), odd = _mm256_setzero_si256();
    for (size_t i = 0; i < q->stride; i += 64) {
        _mm_prefetch((const char *)ahead + i, _MM_HINT_T0);
        for (size_t j = i; j < i + 64; j += 32) {
            even = _mm256_add_epi32(even, _mm256_madd_epi16(load_16_codes(row + j), load_32(q->wide + j)));
            odd = _mm256_add_epi32(odd, _mm256_madd_epi16(load_16_codes(row + j + 16), load_32(q->wide + j + 16)));
        }
    }
    return _mm256_add_epi32(even, odd);
}

FOR(AVX512) static inline __m256i avx512_row(const vector_operand *q, const int8_t *row, const int8_t *ahead) {
    __m512i even = _mm512_setzero_si512(), odd = _mm512_setzero_si512();
    for (size_t i = 0; i < q->stride; i += 64) {
        _mm_prefetch((const char *)ahead + i, _MM_HINT_T0);
        __m512i first = _mm512_cvtepi8_epi16(load_32(row + i)), second = _mm512_cvtepi8_epi16(load_32(row + i + 32));
        even = _mm512_add_epi32(even, _mm512_madd_epi16(first, _mm512_loadu_si512(q->wide + i)));
        odd = _mm512_add_epi32(odd, _mm512_madd_epi16(second, _mm512_loadu_si512(q->wide + i + 32)));
    }
    return fold(_mm512_add_epi32(even, odd));
}

/*
 * The dot product instructions multiply unsigned by signed bytes. A code with its top bit flipped is the code plus 128, so
 * the sum is too large by the bias, which the lanes begin with. Sums may wrap on the way; the result fits.
 */
FOR(AVX_VNNI) static inline __m256i avx_vnni_row(const vector_operand *q, const int8_t *row, const int8_t *ahead) {
    __m256i top = _mm256_set1_epi8(-128), high = _mm256_setzero_si256();
    __m256i low = _mm256_setr_epi32(-q->bias, 0, 0, 0, 0, 0, 0, 0);
    for (size_t i = 0; i < q->stride; i += 64) {
        _mm_prefetch((const char *)ahead + i, _MM_HINT_T0);
        for (size_t j = i; j < i + 64; j += 32) {
            __m256i codes = _mm256_xor_si256(load_32(row + j), top);
            high = _mm256_dpbusd_avx_epi32(high, codes, load_32(q->high + j));
            low = _mm256_dpbusd_avx_epi32(low, codes, load_32(q->low + j));
        }
    }
    return _mm256_add_epi32(low, _mm256_slli_epi32(high, 7));
}

FOR(AVX512_VNNI)
static inline __m256i avx512_vnni_row(const vector_operand *q, const int8_t *row, const int8_t *ahead) {
    __m512i top = _mm512_set1_epi8(-128), high = _mm512_setzero_si512();
    __m512i low = _mm512_inserti32x4(high, _mm_cvtsi32_si128(-q->bias), 0);
    for (size_t i = 0; i < q->stride; i += 64) {
        _mm_prefetch((const char *)ahead + i, _MM_HINT_T0);
        __m512i codes = _mm512_xor_si512(_mm512_loadu_si512(row + i), top);
        high = _mm512_dpbusd_epi32(high, codes, _mm512_loadu_si512(q->high + i));
        low = _mm512_dpbusd_epi32(low, codes, _mm512_loadu_si512(q->low + i));
    }
    return fold(_mm512_add_epi32(low, _mm512_slli_epi32(high, 7)));
}

/* The loop over rows, four at a time, once for each level: a shared one could not have the kernel inlined into it. A last
 * group repeats its last row. */
#define DEFINE_DOTS(kernel, level)                                                                               \
    FOR(level)                                                                                                   \
    static void kernel##_dots(int32_t *out, const vector_operand *q, const int8_t *rows, const uint32_t *which,  \
                              size_t count) {                                                                    \
        size_t ahead = AHEAD_BYTES / q->stride + 4;                                                              \
        for (size_t at = 0; at < count; at += 4) {                                                               \
            __m256i lanes[4];                                                                                    \
            for (size_t i = at; i < at + 4; i++)                                                                 \
                lanes[i - at] =                                                                                  \
                    kernel##_row(q, row_at(q, rows, which, i, count), row_at(q, rows, which, i + ahead, count)); \
            int32_t sums[4];                                                                                     \
            _mm_storeu_si128((__m128i *)(void *)sums, sum_lanes(lanes[0], lanes[1], lanes[2], lanes[3]));        \
            memcpy(out + at, sums, (count - at < 4 ? count - at : 4) * sizeof *sums);                            \
        }                                                                                                        \
    }

DEFINE_DOTS(avx2, AVX2)
DEFINE_DOTS(avx512, AVX512)
DEFINE_DOTS(avx_vnni, AVX_VNNI)
DEFINE_DOTS(avx512_vnni, AVX512_VNNI)

FOR(AVX2) static inline __m256i look_up(const uint8_t *table, __m256i places) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table)),
                               places);
}

FOR(AVX2) static inline void add_words(int32_t *out, __m128i words) {
    _mm256_storeu_si256((__m256i *)(void *)out, _mm256_add_epi32(load_32(out), _mm256_cvtepu16_epi32(words)));
}

/*
 * Sums of a group over at most a slab. Bytes are added as pairs in words of 16 bits, and the upper bytes once more alone: the
 * carries of the lower ones are taken out at the end.
 */
FOR(AVX2) static inline void put_slab(int32_t *out, __m256i both, __m256i upper) {
    __m256i lower = _mm256_sub_epi16(both, _mm256_slli_epi16(upper, 8));
    /* Of rows 0 … 7 and 16 … 23; of rows 8 … 15 and 24 … 31. */
    __m256i first = _mm256_unpacklo_epi16(lower, upper), second = _mm256_unpackhi_epi16(lower, upper);
    add_words(out, _mm256_castsi256_si128(first));
    add_words(out + 8, _mm256_castsi256_si128(second));
    add_words(out + 16, _mm256_extracti128_si256(first, 1));
    add_words(out + 24, _mm256_extracti128_si256(second, 1));
}

FOR(AVX2)
static inline void avx2_slab(int32_t *out, const uint8_t *rows, const uint8_t *ahead, const uint8_t *table,
                             size_t bytes) {
    __m256i nibble = _mm256_set1_epi8(15), both = _mm256_setzero_si256(), upper = _mm256_setzero_si256();
    for (size_t i = 0; i < bytes; i++, rows += VECTOR_GROUP, table += 32) {
        _mm_prefetch((const char *)ahead + i * VECTOR_GROUP, _MM_HINT_T0);
        __m256i bits = load_32(rows);
        __m256i low = look_up(table, _mm256_and_si256(bits, nibble));
        __m256i high = look_up(table + 16, _mm256_and_si256(_mm256_srli_epi16(bits, 4), nibble));
        __m256i sums = _mm256_add_epi8(low, high);
        both = _mm256_add_epi16(both, sums);
        upper = _mm256_add_epi16(upper, _mm256_srli_epi16(sums, 8));
    }
    put_slab(out, both, upper);
}

/* Two bytes of each row at a time, with their tables in the halves. */
FOR(AVX512)
static inline void avx512_slab(int32_t *out, const uint8_t *rows, const uint8_t *ahead, const uint8_t *table,
                               size_t bytes) {
    __m512i nibble = _mm512_set1_epi8(15), both = _mm512_setzero_si512(), upper = _mm512_setzero_si512();
    for (size_t i = 0; i < bytes; i += 2, rows += 2 * VECTOR_GROUP, table += 64) {
        _mm_prefetch((const char *)ahead + i * VECTOR_GROUP, _MM_HINT_T0);
        __m512i bits = _mm512_loadu_si512(rows), tables = _mm512_loadu_si512(table);
        __m512i low = _mm512_shuffle_epi8(_mm512_shuffle_i32x4(tables, tables, 0xA0), _mm512_and_si512(bits, nibble));
        __m512i high = _mm512_shuffle_epi8(_mm512_shuffle_i32x4(tables, tables, 0xF5),
                                           _mm512_and_si512(_mm512_srli_epi16(bits, 4), nibble));
        __m512i sums = _mm512_add_epi8(low, high);
        both = _mm512_add_epi16(both, sums);
        upper = _mm512_add_epi16(upper, _mm512_srli_epi16(sums, 8));
    }
    put_slab(out, _mm256_add_epi16(_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64(both, 1)),
             _mm256_add_epi16(_mm512_castsi512_si256(upper), _mm512_extracti64x4_epi64(upper, 1)));
}

#define DEFINE_BIT_SUMS(kernel, level)                                                                          \
    FOR(level)                                                                                                  \
    static void kernel##_bit_sums(int32_t *out, const vector_operand *q, const uint8_t *groups, size_t count) { \
        size_t group_bytes = q->stride / 8 * VECTOR_GROUP, group_count = count / VECTOR_GROUP;                  \
        memset(out, 0, count * sizeof *out);                                                                    \
        for (size_t g = 0; g < group_count; g++, out += VECTOR_GROUP) {                                         \
            size_t later = g + AHEAD_BYTES / 2 / group_bytes + 1;                                               \
            const uint8_t *rows = groups + g * group_bytes;                                                     \
            const uint8_t *ahead = groups + (later < group_count ? later : group_count - 1) * group_bytes;      \
            for (size_t d = 0; d < q->stride; d += VECTOR_SLAB) {                                               \
                size_t bytes = (q->stride - d < VECTOR_SLAB ? q->stride - d : VECTOR_SLAB) / 8;                 \
                size_t at = d / 8 * VECTOR_GROUP;                                                               \
                kernel##_slab(out, rows + at, ahead + at, q->table + d * 4, bytes);                             \
            }                                                                                                   \
        }                                                                                                       \
    }

DEFINE_BIT_SUMS(avx2, AVX2)
DEFINE_BIT_SUMS(avx512, AVX512)

static const vector_kernel avx2 = { "avx2", avx2_dots, avx2_bit_sums };
static const vector_kernel avx512 = { "avx512", avx512_dots, avx512_bit_sums };
static const vector_kernel avx_vnni = { "avx-vnni", avx_vnni_dots, avx2_bit_sums };
static const vector_kernel avx512_vnni = { "avx512-vnni", avx512_vnni_dots, avx512_bit_sums };

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
