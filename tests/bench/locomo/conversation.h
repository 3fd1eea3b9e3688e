/*
 * The conversations of LoCoMo (Maharana et al., ACL 2024) as questions over turns. The data is read from the folder of test
 * data, never from this repository.
 */
#ifndef UAR_TESTS_BENCH_CONVERSATION_H
#define UAR_TESTS_BENCH_CONVERSATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* 1 multi-hop, 2 temporal, 3 open domain, 4 single hop, 5 adversarial. */
#define CATEGORIES 5
/* An evidence that names no turn: it is never found. */
#define NO_TURN SIZE_MAX

/* What is stored: one turn as `SPEAKER said, "TEXT" and shared CAPTION`. */
typedef struct turn {
    uar_str name; /* "D3:7", borrowed from the document */
    char *text;
    unsigned session;
    int64_t created_ms;
} turn;

typedef struct question {
    uar_str text;
    unsigned category;
    size_t *evidence; /* turns, or NO_TURN */
    size_t evidence_count;
} question;

typedef struct conversation {
    turn *turns;
    size_t turn_count;
    question *questions;
    size_t question_count;
} conversation;

typedef struct conversations {
    cJSON *document;
    conversation *items;
    size_t count;
} conversations;

/* False if the text is no such data; then there is nothing to free. */
bool conversations_read(conversations *out, uar_str json);
void conversations_free(conversations *all);

#endif
