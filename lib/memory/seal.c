/* Owns: marks and checksums of rows. Invariant: what is sealed is byte for byte what the fields are, in the order in which
 * they were given; stores keep it, so that order never changes. */
#include "memory/seal.h"

#include <assert.h>

#include "base/crypto.h"
#include "base/error.h"

static void add_piece(seal *s, const void *bytes, size_t len) {
    assert(s->count < SEAL_PIECES_MAX);
    s->pieces[s->count++] = uar_str_n((const char *)bytes, len);
}

void seal_number(seal *s, uint64_t value) {
    assert(s->number_count < SEAL_NUMBERS_MAX);
    uint8_t *at = s->numbers[s->number_count++];
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (56 - 8 * i));
    add_piece(s, at, 8);
}

void seal_text(seal *s, uar_str text) {
    seal_number(s, text.ptr != NULL ? text.len : UINT64_MAX);
    if (text.len != 0) add_piece(s, text.ptr, text.len);
}

void seal_id(seal *s, const uar_uuid *id) {
    add_piece(s, id->bytes, sizeof id->bytes);
}

uar_status seal_end(uint8_t out[SEAL_BYTES], const seal *s) {
    uint8_t digest[SHA256_BYTES];
    uar_status status = sha256(digest, s->pieces, s->count);
    if (status == UAR_OK) memcpy(out, digest, SEAL_BYTES);
    return status;
}

uar_status seal_mark(uint8_t mark[MARK_BYTES], const uar_random *random, uar_error *err) {
    if (random->fill(random->ctx, mark, MARK_BYTES) == UAR_OK) return UAR_OK;
    return error_set(err, UAR_E_INTERNAL, "there are no random bytes");
}

bool seal_bytes(uint8_t *out, size_t len, query *q, int column) {
    uar_str bytes = query_get_text(q, column);
    if (bytes.len != len) return false;
    memcpy(out, bytes.ptr, len);
    return true;
}
