/* What lib/base/alloc and lib/base/arena promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/map.h"
#include "base/str.h"
#include "support/probe_alloc.h"

static void test_a_size_of_zero_still_gives_memory(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    void *ptr = alloc_bytes(&probe.door, 0);
    assert_non_null(ptr);
    ptr = alloc_resize(&probe.door, ptr, 0);
    assert_non_null(ptr);
    alloc_free(&probe.door, ptr);
    alloc_free(&probe.door, NULL);
    assert_int_equal(probe.alive, 0);
}

static void test_sizes_that_overflow_are_refused(void **state) {
    (void)state;
    assert_null(alloc_zeroed(&alloc_default, SIZE_MAX / 2, 3));
    assert_null(alloc_text(&alloc_default, uar_str_n("", SIZE_MAX)));
    arena ar;
    arena_init(&ar, &alloc_default);
    assert_null(arena_zeroed(&ar, SIZE_MAX / 2, 3));
    assert_null(arena_alloc(&ar, SIZE_MAX));
    arena_dispose(&ar);
}

static void test_the_copy_of_an_absent_text_is_empty(void **state) {
    (void)state;
    char *text = alloc_text(&alloc_default, uar_str_of(NULL));
    assert_string_equal(text, "");
    alloc_free(&alloc_default, text);
}

static void test_live_objects_are_counted_up_and_down(void **state) {
    (void)state;
    int64_t before = uar_live_objects();
    live_add(2);
    live_add(-1);
    assert_int_equal(uar_live_objects(), before + 1);
    live_add(-1);
    assert_int_equal(uar_live_objects(), before);
}

static void test_half_built_objects_can_be_disposed(void **state) {
    (void)state;
    buffer b = { 0 };
    map m = { 0 };
    arena ar = { 0 };
    buffer_dispose(&b);
    map_dispose(&m);
    arena_dispose(&ar);
    alloc_free(NULL, NULL);
}

static void test_arena_memory_is_aligned_and_never_overlaps(void **state) {
    (void)state;
    arena ar;
    arena_init(&ar, &alloc_default);
    unsigned char *pieces[500];
    for (size_t i = 0; i < 500; i++) {
        pieces[i] = arena_alloc(&ar, i * 3);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        memset(pieces[i], (int)(i % 251), i * 3);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t k = 0; k < i * 3; k++)
            assert_int_equal(pieces[i][k], i % 251);
    arena_dispose(&ar);
}

static void test_a_large_piece_does_not_end_the_block_in_use(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    arena ar;
    arena_init(&ar, &probe.door);
    assert_non_null(arena_alloc(&ar, 16));
    assert_non_null(arena_alloc(&ar, 1 << 20));
    assert_non_null(arena_alloc(&ar, 16));
    assert_int_equal(probe.alive, 2);
    arena_dispose(&ar);
    assert_int_equal(probe.alive, 0);
}

static void test_many_small_pieces_need_few_blocks(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    arena ar;
    arena_init(&ar, &probe.door);
    for (int i = 0; i < 16384; i++)
        assert_non_null(arena_alloc(&ar, 64));
    assert_true(probe.alive < 25);
    arena_dispose(&ar);
    assert_int_equal(probe.alive, 0);
}

static void test_an_arena_can_be_used_again_after_dispose(void **state) {
    (void)state;
    arena ar;
    arena_init(&ar, &alloc_default);
    assert_non_null(arena_alloc(&ar, 100));
    arena_dispose(&ar);
    unsigned char *zeroed = arena_zeroed(&ar, 10, 10);
    for (int i = 0; i < 100; i++)
        assert_int_equal(zeroed[i], 0);
    arena_dispose(&ar);
}

static void test_arena_texts_are_copied_and_absent_ones_stay_absent(void **state) {
    (void)state;
    arena ar;
    arena_init(&ar, &alloc_default);
    char source[] = "hello";
    uar_str copy = arena_str(&ar, uar_str_of(source));
    memset(source, 'x', 5);
    assert_string_equal(copy.ptr, "hello");
    assert_int_equal(copy.len, 5);
    assert_non_null(arena_str(&ar, STR("")).ptr);
    assert_null(arena_str(&ar, uar_str_of(NULL)).ptr);
    arena_dispose(&ar);
}

static void test_an_arena_without_memory_says_so_and_keeps_the_rest(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    arena ar;
    arena_init(&ar, &probe.door);
    uar_str kept = arena_str(&ar, STR("kept"));
    probe_alloc_arm(&probe, 1, true);
    assert_null(arena_alloc(&ar, 5000));
    assert_non_null(arena_alloc(&ar, 16));
    assert_string_equal(kept.ptr, "kept");
    arena_dispose(&ar);
    assert_int_equal(probe.alive, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_size_of_zero_still_gives_memory),
        cmocka_unit_test(test_sizes_that_overflow_are_refused),
        cmocka_unit_test(test_the_copy_of_an_absent_text_is_empty),
        cmocka_unit_test(test_live_objects_are_counted_up_and_down),
        cmocka_unit_test(test_half_built_objects_can_be_disposed),
        cmocka_unit_test(test_arena_memory_is_aligned_and_never_overlaps),
        cmocka_unit_test(test_a_large_piece_does_not_end_the_block_in_use),
        cmocka_unit_test(test_many_small_pieces_need_few_blocks),
        cmocka_unit_test(test_an_arena_can_be_used_again_after_dispose),
        cmocka_unit_test(test_arena_texts_are_copied_and_absent_ones_stay_absent),
        cmocka_unit_test(test_an_arena_without_memory_says_so_and_keeps_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
