/* What lib/base/map promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/map.h"
#include "base/str.h"
#include "support/probe_alloc.h"

enum { MANY = 3000 };

static uar_str number_key(char text[16], int i) {
    snprintf(text, 16, "key-%d", i);
    return uar_str_of(text);
}

static void test_an_empty_map_has_nothing(void **state) {
    (void)state;
    map m;
    map_init(&m, &alloc_default);
    assert_null(map_get(&m, STR("a")));
    assert_null(map_remove(&m, STR("a")));
    assert_null(map_next(&m, NULL));
    map_dispose(&m);
}

static void test_keys_are_bytes_and_are_copied(void **state) {
    (void)state;
    int one = 1, two = 2, three = 3;
    map m;
    map_init(&m, &alloc_default);
    char key[] = "a\0b";
    assert_int_equal(map_put(&m, uar_str_n(key, 3), &one), UAR_OK);
    assert_int_equal(map_put(&m, STR("a"), &two), UAR_OK);
    assert_int_equal(map_put(&m, STR(""), &three), UAR_OK);
    key[0] = 'x';
    assert_ptr_equal(map_get(&m, STR("a\0b")), &one);
    assert_ptr_equal(map_get(&m, STR("a")), &two);
    assert_ptr_equal(map_get(&m, uar_str_of(NULL)), &three);
    assert_null(map_get(&m, STR("A")));
    map_dispose(&m);
}

static void test_a_second_put_replaces_the_value_in_its_place(void **state) {
    (void)state;
    int one = 1, two = 2;
    map m;
    map_init(&m, &alloc_default);
    assert_int_equal(map_put(&m, STR("a"), &one), UAR_OK);
    assert_int_equal(map_put(&m, STR("b"), &one), UAR_OK);
    assert_int_equal(map_put(&m, STR("a"), &two), UAR_OK);
    assert_int_equal(m.count, 2);
    map_entry *first = map_next(&m, NULL);
    assert_true(str_is(map_key(first), "a"));
    assert_ptr_equal(map_value(first), &two);
    map_dispose(&m);
}

static void test_many_keys_are_found_and_walked_in_insertion_order(void **state) {
    (void)state;
    static int values[MANY];
    char text[16];
    map m;
    map_init(&m, &alloc_default);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(map_put(&m, number_key(text, i), &values[i]), UAR_OK);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(map_get(&m, number_key(text, i)), &values[i]);
    int at = 0;
    for (map_entry *e = map_next(&m, NULL); e != NULL; e = map_next(&m, e))
        assert_ptr_equal(map_value(e), &values[at++]);
    assert_int_equal(at, MANY);
    map_dispose(&m);
}

static void test_what_is_removed_is_gone_and_the_rest_keeps_its_order(void **state) {
    (void)state;
    static int values[MANY];
    char text[16];
    map m;
    map_init(&m, &alloc_default);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(map_put(&m, number_key(text, i), &values[i]), UAR_OK);
    for (int i = 0; i < MANY; i++)
        if (i % 3 != 1) assert_ptr_equal(map_remove(&m, number_key(text, i)), &values[i]);
    assert_int_equal(m.count, MANY / 3);
    assert_null(map_get(&m, STR("key-0")));
    int at = 1;
    for (map_entry *e = map_next(&m, NULL); e != NULL; e = map_next(&m, e), at += 3)
        assert_ptr_equal(map_value(e), &values[at]);
    assert_int_equal(map_put(&m, STR("key-0"), &values[0]), UAR_OK);
    assert_ptr_equal(map_get(&m, STR("key-0")), &values[0]);
    map_dispose(&m);
}

static void test_a_map_without_memory_stays_as_it_was(void **state) {
    (void)state;
    static int values[64];
    char text[16];
    for (int for_good = 0; for_good < 2; for_good++) {
        for (unsigned long n = 1; n < 60; n++) {
            probe_alloc probe;
            probe_alloc_init(&probe);
            map m;
            map_init(&m, &probe.door);
            probe_alloc_arm(&probe, n, for_good != 0);
            size_t put = 0;
            for (int i = 0; i < 64; i++) {
                uar_status status = map_put(&m, number_key(text, i), &values[i]);
                if (status == UAR_OK) {
                    put++;
                    continue;
                }
                assert_int_equal(status, UAR_E_NOMEM);
                assert_null(map_get(&m, number_key(text, i)));
            }
            assert_true(put < 64);
            assert_int_equal(m.count, put);
            size_t walked = 0;
            for (map_entry *e = map_next(&m, NULL); e != NULL; e = map_next(&m, e), walked++)
                assert_ptr_equal(map_get(&m, map_key(e)), map_value(e));
            assert_int_equal(walked, put);
            map_dispose(&m);
            assert_int_equal(probe.alive, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_map_has_nothing),
        cmocka_unit_test(test_keys_are_bytes_and_are_copied),
        cmocka_unit_test(test_a_second_put_replaces_the_value_in_its_place),
        cmocka_unit_test(test_many_keys_are_found_and_walked_in_insertion_order),
        cmocka_unit_test(test_what_is_removed_is_gone_and_the_rest_keeps_its_order),
        cmocka_unit_test(test_a_map_without_memory_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
