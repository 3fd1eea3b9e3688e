/*
 * Cryptography through the PSA API.
 * Owns one of the library's two pieces of static mutable data: the lock that every PSA call is made under. The lock is a
 * leaf: nothing else is locked and no host code runs while it is held.
 */
#include "base/crypto.h"

#include <assert.h>
#include <psa/crypto.h>

#include "base/lock.h"

static mutex psa_lock = MUTEX_INIT;

static uar_status status_of(psa_status_t rc) {
    if (rc == PSA_ERROR_INSUFFICIENT_MEMORY) return UAR_E_NOMEM;
    return rc == PSA_SUCCESS ? UAR_OK : UAR_E_INTERNAL;
}

static psa_status_t hash_pieces(psa_hash_operation_t *op, uint8_t *out, const uar_str *pieces, size_t count) {
    psa_status_t rc = psa_hash_setup(op, PSA_ALG_SHA_256);
    for (size_t i = 0; rc == PSA_SUCCESS && i < count; i++)
        if (pieces[i].len != 0) rc = psa_hash_update(op, (const uint8_t *)pieces[i].ptr, pieces[i].len);
    size_t len = 0;
    if (rc == PSA_SUCCESS) rc = psa_hash_finish(op, out, SHA256_BYTES, &len);
    assert(rc != PSA_SUCCESS || len == SHA256_BYTES);
    return rc;
}

uar_status sha256(uint8_t out[SHA256_BYTES], const uar_str *pieces, size_t count) {
    assert(out != NULL && (pieces != NULL || count == 0));
    uint8_t digest[SHA256_BYTES];
    mutex_lock(&psa_lock);
    psa_hash_operation_t op = PSA_HASH_OPERATION_INIT;
    psa_status_t rc = psa_crypto_init(); /* repeated calls are cheap and succeed once one has */
    if (rc == PSA_SUCCESS) rc = hash_pieces(&op, digest, pieces, count);
    psa_hash_abort(&op);
    mutex_unlock(&psa_lock);
    if (rc == PSA_SUCCESS) memcpy(out, digest, sizeof digest);
    return status_of(rc);
}

struct sha256_stream {
    uar_allocator alloc;
    psa_hash_operation_t op;
};

uar_status sha256_begin(sha256_stream **out, const uar_allocator *a) {
    sha256_stream *s = ALLOC_NEW(a, sha256_stream);
    if (s == NULL) return UAR_E_NOMEM;
    s->alloc = *a;
    mutex_lock(&psa_lock);
    psa_status_t rc = psa_crypto_init();
    if (rc == PSA_SUCCESS) rc = psa_hash_setup(&s->op, PSA_ALG_SHA_256);
    mutex_unlock(&psa_lock);
    if (rc == PSA_SUCCESS)
        *out = s;
    else
        alloc_free(a, s);
    return status_of(rc);
}

uar_status sha256_append(sha256_stream *s, uar_str piece) {
    if (piece.len == 0) return UAR_OK;
    mutex_lock(&psa_lock);
    psa_status_t rc = psa_hash_update(&s->op, (const uint8_t *)piece.ptr, piece.len);
    mutex_unlock(&psa_lock);
    return status_of(rc);
}

uar_status sha256_finish(uint8_t out[SHA256_BYTES], sha256_stream *s) {
    uint8_t digest[SHA256_BYTES];
    size_t len = 0;
    mutex_lock(&psa_lock);
    psa_status_t rc = psa_hash_finish(&s->op, digest, sizeof digest, &len);
    mutex_unlock(&psa_lock);
    assert(rc != PSA_SUCCESS || len == SHA256_BYTES);
    if (rc == PSA_SUCCESS) memcpy(out, digest, sizeof digest);
    return status_of(rc);
}

void sha256_free(sha256_stream *s) {
    if (s == NULL) return;
    mutex_lock(&psa_lock);
    psa_hash_abort(&s->op);
    mutex_unlock(&psa_lock);
    uar_allocator alloc = s->alloc;
    alloc_free(&alloc, s);
}
