/*
 * Bytes that aren't UTF-8, carried through the JSON reader. Some servers cut a character between two events, so that
 * neither is valid UTF-8 by itself and the JSON reader would refuse both. Each foreign byte is written as the escape of a
 * lone surrogate, U+DC80 to U+DCFF, before reading and turned back after it; the halves meet again in the stream.
 */
#ifndef UAR_LIB_MODEL_RAW_BYTES_H
#define UAR_LIB_MODEL_RAW_BYTES_H

#include "base/buffer.h"

/* Append `json` with foreign bytes as escapes. */
void raw_bytes_escape(buffer *out, uar_str json);
/* Append `text` with the surrogates U+DC80 to U+DCFF as the bytes they stand for. */
void raw_bytes_restore(buffer *out, uar_str text);

#endif
