/* A memory with an embedder that the test tells what to do. */
#ifndef UAR_TESTS_UNIT_MEMORY_EMBED_FIXTURE_H
#define UAR_TESTS_UNIT_MEMORY_EMBED_FIXTURE_H

#include "test_memory_fixture.h"

#include "support/embedder.h"

typedef struct embed_fixture {
    memory_fixture f;
    test_embedder e;
    uar_memory *memory;
} embed_fixture;

static inline uar_memory *open_with(embed_fixture *x, uint32_t timeout_ms, const uar_allocator *a) {
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &x->f.clock;
    options.embedder = &x->e.door;
    options.embed_timeout_ms = timeout_ms;
    options.allocator = a;
    return uar_memory_open(x->f.path, &options);
}

static inline int embed_setup(void **state) {
    embed_fixture *x = calloc(1, sizeof *x);
    assert_non_null(x);
    x->f.live_before = uar_live_objects();
    atomic_init(&x->f.now, FIXTURE_START);
    x->f.clock =
        (uar_clock){ .struct_size = UAR_CLOCK_INIT, .ctx = &x->f, .wall_ms = fixture_wall, .mono_ms = fixture_mono };
    fixture_folder(&x->f);
    embedder_init(&x->e, "words-32");
    x->memory = open_with(x, 300, NULL);
    assert_int_equal(uar_memory_state(x->memory, NULL), UAR_MEMORY_READY);
    *state = x;
    return 0;
}

static inline int embed_teardown(void **state) {
    embed_fixture *x = *state;
    uar_memory_free(x->memory);
    int wrong = atomic_load(&x->e.destroyed) != 1;
    embedder_dispose(&x->e);
    const char *const suffixes[] = { "", "-wal", "-shm" };
    for (size_t i = 0; i < 3; i++)
        fixture_remove(&x->f, suffixes[i]);
    rmdir(x->f.folder);
    wrong |= uar_live_objects() != x->f.live_before;
    free(x);
    return wrong;
}

/* The memory of the fixture with other options; its embedder is destroyed a second time, which is then forgiven. */
static inline void reopen_with(embed_fixture *x, uint32_t timeout_ms, const uar_allocator *a) {
    uar_memory_free(x->memory);
    x->memory = NULL;
    atomic_store(&x->e.destroyed, 0);
    x->memory = open_with(x, timeout_ms, a);
}

#define EMBED_TEST(name) cmocka_unit_test_setup_teardown(name, embed_setup, embed_teardown)

#endif
