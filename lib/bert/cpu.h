/* What the processor and its operating system can do. No state: each call asks anew. */
#ifndef UAR_LIB_BERT_CPU_H
#define UAR_LIB_BERT_CPU_H

#include <stdbool.h>

typedef struct cpu {
    bool avx2;        /* AVX2 and FMA */
    bool avx_vnni;    /* byte products in 256 bits */
    bool avx512;      /* AVX-512 F, BW, DQ, VL */
    bool avx512_vnni; /* byte products in 512 bits */
} cpu;

cpu cpu_detect(void);

#endif
