/* The compiled form of a pattern: a program for a machine that is in many places at once. Internal to the pattern files. */
#ifndef UAR_LIB_SCHEMA_PATTERN_PROGRAM_H
#define UAR_LIB_SCHEMA_PATTERN_PROGRAM_H

#include "schema/pattern.h"
#include "schema/pattern_set.h"

typedef enum pattern_op {
    PATTERN_CHAR,    /* reads the code point `arg` */
    PATTERN_SET,     /* reads a member of the set `arg` */
    PATTERN_SPLIT,   /* goes on behind and at `arg` from here */
    PATTERN_JUMP,    /* goes on at `arg` from here */
    PATTERN_BEGIN,   /* passes where the text begins */
    PATTERN_END,     /* passes where it ends */
    PATTERN_EDGE,    /* passes where a word begins or ends */
    PATTERN_NO_EDGE, /* passes elsewhere */
    PATTERN_MATCH
} pattern_op;

/* Targets are relative, so a piece of a program can be moved and copied. */
typedef struct pattern_instr {
    pattern_op op;
    int32_t arg;
} pattern_instr;

struct pattern {
    const pattern_instr *program; /* the last one is PATTERN_MATCH */
    uint32_t count;
    bool is_anchored; /* can match at the beginning only */
    const pattern_set *sets;
};

#endif
