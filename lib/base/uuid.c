/*
 * UUIDs: making version 7 (RFC 9562), and their text. Owns nothing.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/str.h"

enum { UUID_CHARS = 36 };

uar_status uuid_make(uar_uuid *out, const uar_clock *clock, const uar_random *random) {
    assert(out != NULL && clock != NULL && random != NULL);
    uar_uuid id;
    uar_status status = random->fill(random->ctx, id.bytes + 6, sizeof id.bytes - 6);
    if (status != UAR_OK) return status;
    int64_t wall = clock_wall(clock);
    uint64_t ms = wall > 0 ? (uint64_t)wall : 0;
    for (int i = 0; i < 6; i++)
        id.bytes[i] = (uint8_t)(ms >> (40 - 8 * i));
    id.bytes[6] = (uint8_t)(0x70 | (id.bytes[6] & 0x0F));
    id.bytes[8] = (uint8_t)(0x80 | (id.bytes[8] & 0x3F));
    *out = id;
    return UAR_OK;
}

/* True if the text form has a hyphen before byte i. */
static bool hyphen_before(size_t i) {
    return i == 4 || i == 6 || i == 8 || i == 10;
}

void uar_uuid_format(char out[UAR_UUID_TEXT], uar_uuid id) {
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < sizeof id.bytes; i++) {
        if (hyphen_before(i)) out[at++] = '-';
        out[at++] = digits[id.bytes[i] >> 4];
        out[at++] = digits[id.bytes[i] & 0x0F];
    }
    assert(at == UUID_CHARS);
    out[at] = '\0';
}

uar_status uar_uuid_parse(uar_uuid *out, uar_str text) {
    if (out == NULL || text.len != UUID_CHARS || text.ptr == NULL) return UAR_E_INVALID;
    uar_uuid id;
    size_t at = 0;
    for (size_t i = 0; i < sizeof id.bytes; i++) {
        if (hyphen_before(i) && text.ptr[at++] != '-') return UAR_E_INVALID;
        int high = str_hex_digit(text.ptr[at++]);
        int low = str_hex_digit(text.ptr[at++]);
        if (high < 0 || low < 0) return UAR_E_INVALID;
        id.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out = id;
    return UAR_OK;
}
