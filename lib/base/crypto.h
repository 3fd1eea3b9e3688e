/* Cryptography through the PSA API, all calls under one process-wide lock (mbedtls 2.28's key store isn't thread-safe). */
#ifndef UAR_LIB_BASE_CRYPTO_H
#define UAR_LIB_BASE_CRYPTO_H

#include "base/alloc.h"

#define SHA256_BYTES 32
/* SHA-256 over the concatenation of `count` pieces. UAR_E_NOMEM; UAR_E_INTERNAL if the platform refuses. */
uar_status sha256(uint8_t out[SHA256_BYTES], const uar_str *pieces, size_t count);

/* The same over pieces that come one after the other. Not thread-safe; any thread. */
typedef struct sha256_stream sha256_stream;
/* UAR_E_NOMEM, UAR_E_INTERNAL. */
uar_status sha256_begin(sha256_stream **out, const uar_allocator *a);
uar_status sha256_append(sha256_stream *s, uar_str piece);
/* The digest; nothing can be appended any more. */
uar_status sha256_finish(uint8_t out[SHA256_BYTES], sha256_stream *s);
void sha256_free(sha256_stream *s); /* accepts NULL */

#endif
