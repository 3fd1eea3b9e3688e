/* References between schemas: RFC 3986, as far as joining a reference to its base goes. No state. */
#ifndef UAR_LIB_SCHEMA_URI_H
#define UAR_LIB_SCHEMA_URI_H

#include "base/buffer.h"

/* The part before `#`, and the part behind it (empty if there is none). */
uar_str uri_without_fragment(uar_str uri);
uar_str uri_fragment(uar_str uri);
/* Append what a reference means seen from its base, without fragments. An empty base leaves the reference as it is. */
void uri_resolve(buffer *out, uar_str base, uar_str reference);
/* Append a text with its %XX resolved; false, with part of it appended, if one is broken. */
bool uri_decode(buffer *out, uar_str text);

#endif
