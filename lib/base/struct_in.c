/* Owns nothing. */
#include "base/struct_in.h"

#include "base/error.h"

uar_status struct_in(void *out, size_t known, const void *in, const char *name, uar_error *err) {
    memset(out, 0, known);
    size_t size = known;
    if (in != NULL) memcpy(&size, in, sizeof size);
    if (size < sizeof size)
        return error_set(err, UAR_E_STRUCT, "%s: its size is not set; begin it with its INIT macro", name);
    if (in != NULL) memcpy(out, in, size < known ? size : known);
    memcpy(out, &known, sizeof known);
    const unsigned char *bytes = in;
    for (size_t i = known; in != NULL && i < size; i++)
        if (bytes[i] != 0)
            return error_set(err, UAR_E_STRUCT, "%s: it sets a field that this library doesn't know", name);
    return UAR_OK;
}

void struct_out(void *out, const void *from, size_t size) {
    size_t room = 0;
    memcpy(&room, out, sizeof room);
    if (room > size) room = size;
    if (room > sizeof room) memcpy((char *)out + sizeof room, (const char *)from + sizeof room, room - sizeof room);
}
