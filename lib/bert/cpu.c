/* Owns nothing. A feature counts only if the operating system keeps its registers. */
#include "bert/cpu.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <stdint.h>

/* Bits of the CPUID leaves 1 and 7 and of the register XCR0. */
#define LEAF1_ECX_FMA (1u << 12)
#define LEAF1_ECX_OSXSAVE (1u << 27)
#define LEAF7_EBX_AVX2 (1u << 5)
#define LEAF7_EBX_AVX512 (1u << 16 | 1u << 17 | 1u << 30 | 1u << 31) /* F, DQ, BW, VL */
#define LEAF7_ECX_AVX512_VNNI (1u << 11)
#define LEAF71_EAX_AVX_VNNI (1u << 4)
#define XCR0_YMM 0x06u
#define XCR0_ZMM 0xE6u

static uint32_t saved_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

cpu cpu_detect(void) {
    cpu c = { false, false, false, false };
    unsigned a, b, leaf1, d, leaf7b, leaf7c, more = 0;
    if (!__get_cpuid(1, &a, &b, &leaf1, &d)) return c;
    if ((leaf1 & LEAF1_ECX_OSXSAVE) == 0 || !__get_cpuid_count(7, 0, &a, &leaf7b, &leaf7c, &d)) return c;
    if (a >= 1) (void)__get_cpuid_count(7, 1, &more, &a, &b, &d);
    uint32_t saved = saved_registers();
    c.avx2 = (saved & XCR0_YMM) == XCR0_YMM && (leaf1 & LEAF1_ECX_FMA) != 0 && (leaf7b & LEAF7_EBX_AVX2) != 0;
    c.avx_vnni = c.avx2 && (more & LEAF71_EAX_AVX_VNNI) != 0;
    c.avx512 = c.avx2 && (saved & XCR0_ZMM) == XCR0_ZMM && (leaf7b & LEAF7_EBX_AVX512) == LEAF7_EBX_AVX512;
    c.avx512_vnni = c.avx512 && (leaf7c & LEAF7_ECX_AVX512_VNNI) != 0;
    return c;
}
#else
cpu cpu_detect(void) {
    cpu c = { false, false, false, false };
    return c;
}
#endif
