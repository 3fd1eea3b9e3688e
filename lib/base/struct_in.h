/*
 * Taking in a struct of the host whose first member is its size.
 *
 * A shorter struct of an older header is accepted: what it lacks is zero. A longer one of a newer header is accepted if the
 * bytes that this library doesn't know are zero, else UAR_E_STRUCT names the struct; what is known of it is filled in all the
 * same, so that whoever takes the struct over can destroy it.
 */
#ifndef UAR_LIB_BASE_STRUCT_IN_H
#define UAR_LIB_BASE_STRUCT_IN_H

#include <uar/base.h>

/* `in` may be NULL (all zero, but the size). A size below that of the size member itself is UAR_E_STRUCT. */
uar_status struct_in(void *out, size_t known, const void *in, const char *name, uar_error *err);

/* The other way: fill the host's struct `out` as far as its size says, which stays. `from` has `size` bytes. */
void struct_out(void *out, const void *from, size_t size);

#endif
