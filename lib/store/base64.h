/* Base64 (RFC 4648, standard alphabet, padded) for opaque bytes inside JSON bodies. */
#ifndef UAR_LIB_STORE_BASE64_H
#define UAR_LIB_STORE_BASE64_H

#include "base/arena.h"
#include "base/buffer.h"

/* Append the encoding of `bytes`; errors stick in the buffer. */
void base64_append(buffer *out, uar_str bytes);
/* Decode into the arena. Only the one canonical spelling is accepted: UAR_E_INVALID on anything else; UAR_E_NOMEM. */
uar_status base64_decode(uar_str *out, arena *ar, uar_str text);

#endif
