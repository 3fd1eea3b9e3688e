/* A 64-bit digest that tells one set of weights from another by accident, not against malice. */
#ifndef UAR_LIB_BERT_DIGEST_H
#define UAR_LIB_BERT_DIGEST_H

#include <uar/base.h>

typedef struct digest {
    uint64_t lane[4];
    uint64_t bytes;
} digest;

void digest_init(digest *d);
/* Each call mixes its length in: the pieces matter, not only their bytes in a row. */
void digest_add(digest *d, const void *bytes, size_t len);
void digest_add_number(digest *d, uint64_t number);
uint64_t digest_value(const digest *d);

#endif
