/* How a fuzz target or a differential run says that a property doesn't hold: where and what, then the process ends. */
#ifndef UAR_TESTS_FUZZ_PROPERTY_H
#define UAR_TESTS_FUZZ_PROPERTY_H

#include <stdio.h>
#include <stdlib.h>

/* Not an assert: it must hold in builds without assertions too. */
#define PROPERTY(holds)                                                                    \
    do {                                                                                   \
        if (!(holds)) {                                                                    \
            fprintf(stderr, "%s:%d: this doesn't hold: %s\n", __FILE__, __LINE__, #holds); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

#endif
