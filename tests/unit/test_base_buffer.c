/* What lib/base/buffer promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/str.h"
#include "support/probe_alloc.h"

static void test_a_new_buffer_is_the_empty_text(void **state) {
    (void)state;
    buffer b;
    buffer_init(&b, &alloc_default, 10);
    assert_int_equal(buffer_str(&b).len, 0);
    assert_non_null(buffer_str(&b).ptr);
    buffer_dispose(&b);
}

static void test_appends_follow_each_other_and_end_in_a_nul(void **state) {
    (void)state;
    buffer b;
    buffer_init(&b, &alloc_default, SIZE_MAX);
    buffer_append(&b, "a\0b", 3);
    buffer_append_str(&b, STR("c"));
    buffer_append_text(&b, "de");
    buffer_append_char(&b, 'f');
    buffer_append_str(&b, uar_str_of(NULL));
    assert_int_equal(b.len, 7);
    assert_memory_equal(b.ptr, "a\0bcdef", 8);
    buffer_dispose(&b);
}

static void test_numbers_are_written_whole_from_end_to_end_of_their_range(void **state) {
    (void)state;
    buffer b;
    buffer_init(&b, &alloc_default, 200);
    buffer_append_u64(&b, 0);
    buffer_append_char(&b, ' ');
    buffer_append_u64(&b, UINT64_MAX);
    buffer_append_char(&b, ' ');
    buffer_append_i64(&b, INT64_MIN);
    buffer_append_char(&b, ' ');
    buffer_append_i64(&b, INT64_MAX);
    buffer_append_char(&b, ' ');
    buffer_append_i64(&b, -1);
    assert_string_equal(b.ptr, "0 18446744073709551615 -9223372036854775808 9223372036854775807 -1");
    buffer_dispose(&b);
}

static void test_the_maximum_is_reached_but_not_passed(void **state) {
    (void)state;
    buffer b;
    buffer_init(&b, &alloc_default, 5);
    buffer_append_text(&b, "12345");
    assert_int_equal(b.status, UAR_OK);
    buffer_append_char(&b, '6');
    assert_int_equal(b.status, UAR_E_TOO_LARGE);
    assert_string_equal(b.ptr, "12345");
    buffer_dispose(&b);
}

static void test_an_error_sticks_and_what_came_before_stays_readable(void **state) {
    (void)state;
    buffer b;
    buffer_init(&b, &alloc_default, 5);
    buffer_append_text(&b, "123");
    buffer_append_text(&b, "456");
    buffer_append_text(&b, "4");
    assert_int_equal(b.status, UAR_E_TOO_LARGE);
    assert_string_equal(b.ptr, "123");
    assert_null(buffer_reserve(&b, 1));
    buffer_dispose(&b);
    assert_int_equal(b.status, UAR_OK);
}

static void test_a_number_that_does_not_fit_leaves_no_part_of_itself(void **state) {
    (void)state;
    buffer b;
    buffer_init(&b, &alloc_default, 3);
    buffer_append_i64(&b, -123);
    assert_int_equal(b.status, UAR_E_TOO_LARGE);
    assert_int_equal(b.len, 0);
    buffer_dispose(&b);
}

static void test_reset_forgets_content_and_error(void **state) {
    (void)state;
    buffer b;
    buffer_init(&b, &alloc_default, 3);
    buffer_append_text(&b, "abc");
    buffer_append_text(&b, "d");
    buffer_reset(&b);
    buffer_append_text(&b, "xyz");
    assert_int_equal(b.status, UAR_OK);
    assert_string_equal(b.ptr, "xyz");
    buffer_dispose(&b);
}

static void test_reserved_room_is_zeroed_and_counts_when_len_says_so(void **state) {
    (void)state;
    buffer b;
    buffer_init(&b, &alloc_default, 1000);
    char *room = buffer_reserve(&b, 500);
    assert_non_null(room);
    memcpy(room, "abc", 3);
    b.len += 3;
    assert_string_equal(b.ptr, "abc");
    assert_null(buffer_reserve(&b, 998));
    assert_int_equal(b.status, UAR_E_TOO_LARGE);
    buffer_dispose(&b);
}

static void test_truncate_shortens(void **state) {
    (void)state;
    buffer b;
    buffer_init(&b, &alloc_default, 100);
    buffer_truncate(&b, 0);
    buffer_append_text(&b, "abcdef");
    buffer_truncate(&b, 2);
    assert_string_equal(b.ptr, "ab");
    buffer_dispose(&b);
}

static void test_take_hands_the_bytes_over(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    buffer b;
    buffer_init(&b, &probe.door, 100);
    buffer_append_text(&b, "abc");
    size_t len = 0;
    char *text = buffer_take(&b, &len);
    assert_int_equal(len, 3);
    assert_string_equal(text, "abc");
    assert_int_equal(b.len, 0);
    alloc_free(&probe.door, text);
    assert_int_equal(probe.alive, 0);
}

static void test_take_of_an_empty_buffer_is_an_empty_string(void **state) {
    (void)state;
    buffer b;
    buffer_init(&b, &alloc_default, 0);
    size_t len = 9;
    char *text = buffer_take(&b, &len);
    assert_int_equal(len, 0);
    assert_string_equal(text, "");
    alloc_free(&alloc_default, text);
}

static void test_take_of_a_failed_buffer_frees_and_keeps_the_status(void **state) {
    (void)state;
    probe_alloc probe;
    probe_alloc_init(&probe);
    buffer b;
    buffer_init(&b, &probe.door, 3);
    buffer_append_text(&b, "ab");
    buffer_append_text(&b, "cd");
    size_t len = 9;
    assert_null(buffer_take(&b, &len));
    assert_int_equal(len, 9);
    assert_int_equal(b.status, UAR_E_TOO_LARGE);
    assert_int_equal(probe.alive, 0);
}

static void test_running_out_of_memory_keeps_what_was_there(void **state) {
    (void)state;
    for (unsigned long n = 1; n < 6; n++) {
        probe_alloc probe;
        probe_alloc_init(&probe);
        probe_alloc_arm(&probe, n, false);
        buffer b;
        buffer_init(&b, &probe.door, 10000);
        size_t whole = 0;
        for (int i = 0; i < 2000; i++) {
            buffer_append_text(&b, "x");
            if (b.status == UAR_OK) whole++;
        }
        assert_int_equal(b.status, UAR_E_NOMEM);
        assert_int_equal(b.len, whole);
        for (size_t i = 0; i < whole; i++)
            assert_int_equal(b.ptr[i], 'x');
        buffer_dispose(&b);
        assert_int_equal(probe.alive, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_buffer_is_the_empty_text),
        cmocka_unit_test(test_appends_follow_each_other_and_end_in_a_nul),
        cmocka_unit_test(test_numbers_are_written_whole_from_end_to_end_of_their_range),
        cmocka_unit_test(test_the_maximum_is_reached_but_not_passed),
        cmocka_unit_test(test_an_error_sticks_and_what_came_before_stays_readable),
        cmocka_unit_test(test_a_number_that_does_not_fit_leaves_no_part_of_itself),
        cmocka_unit_test(test_reset_forgets_content_and_error),
        cmocka_unit_test(test_reserved_room_is_zeroed_and_counts_when_len_says_so),
        cmocka_unit_test(test_truncate_shortens),
        cmocka_unit_test(test_take_hands_the_bytes_over),
        cmocka_unit_test(test_take_of_an_empty_buffer_is_an_empty_string),
        cmocka_unit_test(test_take_of_a_failed_buffer_frees_and_keeps_the_status),
        cmocka_unit_test(test_running_out_of_memory_keeps_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
