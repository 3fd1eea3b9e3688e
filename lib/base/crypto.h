/* Cryptography through the PSA API, all calls under one process-wide lock (mbedtls 2.28's key store isn't thread-safe). */
#ifndef UAR_LIB_BASE_CRYPTO_H
#define UAR_LIB_BASE_CRYPTO_H

#include <uar/base.h>

#define SHA256_BYTES 32
/* SHA-256 over the concatenation of `count` pieces. UAR_E_NOMEM; UAR_E_INTERNAL if the platform refuses. */
uar_status sha256(uint8_t out[SHA256_BYTES], const uar_str *pieces, size_t count);

#endif
