/*
 * An embedder for tests: a text's vector says which words it has, so that texts of the same words lie near each other. It can
 * be told to go wrong. It counts its calls, keeps what it was told to keep until it is let go, and is destroyed once.
 *
 * Any thread may call it; the test sets `way` and `hook` while nobody does.
 */
#ifndef UAR_TESTS_SUPPORT_EMBEDDER_H
#define UAR_TESTS_SUPPORT_EMBEDDER_H

#include <stdatomic.h>

#include <uar/sys/embedder.h>

#include "base/lock.h"

#define TEST_EMBEDDER_DIMS 32
#define TEST_EMBEDDER_KEPT 64

typedef enum embedder_way {
    EMBEDDER_ANSWERS,    /* inside the call */
    EMBEDDER_SLOW,       /* from another thread, 30 ms later */
    EMBEDDER_FAILS,      /* with UAR_E_NETWORK */
    EMBEDDER_NEVER,      /* keeps the call until embedder_answer or embedder_let_go */
    EMBEDDER_DROPS,      /* returns without an answer */
    EMBEDDER_TWICE,      /* answers twice */
    EMBEDDER_TOO_FEW,    /* one vector less */
    EMBEDDER_TOO_NARROW, /* one number less a vector */
    EMBEDDER_NAN,        /* a value that is no number */
    EMBEDDER_INFINITE,   /* an infinite value */
    EMBEDDER_ZERO        /* a vector without a direction */
} embedder_way;

typedef struct test_embedder {
    uar_embedder door; /* hand this out; set id and dims before */
    embedder_way way;
    void *hook_ctx;
    void (*hook)(void *ctx); /* called inside each call, before it answers */
    float scale;             /* length of the vectors, 0: 1 */
    const char *refuses;     /* calls with a text that has this word in it fail with UAR_E_TOO_LARGE; or NULL */
    atomic_int calls, texts, largest, destroyed;
    mutex lock;
    uar_completion *kept[TEST_EMBEDDER_KEPT];
    size_t kept_count, kept_texts[TEST_EMBEDDER_KEPT];
    thread slow[TEST_EMBEDDER_KEPT];
    size_t slow_count;
} test_embedder;

void embedder_init(test_embedder *e, const char *id);
/* Let go of what is kept, join its threads. It must not be called any more. */
void embedder_dispose(test_embedder *e);
/* Answer what is kept with right vectors; the status of the last answer. */
uar_status embedder_answer(test_embedder *e);
void embedder_let_go(test_embedder *e);
size_t embedder_kept(test_embedder *e);
/* The vector of a text, `dims` floats of length `scale`. */
void embedder_vector(float *out, size_t dims, float scale, uar_str text);

#endif
