/* One compiled schema, many threads: each gets the verdicts and messages that one alone gets. */
#include <stdatomic.h>
#include <string.h>

#include "base/lock.h"
#include "support/schema_case.h"

enum { THREADS = 4, ROUNDS = 300 };

#define STACK ((size_t)512 * 1024)

static const char text[] =
    "{\"properties\":{\"id\":{\"pattern\":\"^(?:[a-z]+-)+[0-9]{2,8}$\"},\"tags\":{\"uniqueItems\":true}},"
    "\"anyOf\":[{\"required\":[\"id\"]},{\"required\":[\"tags\"]}],\"unevaluatedProperties\":false}";

static const char *const values[] = {
    "{\"id\":\"a-b-12\",\"tags\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13]}",
    "{\"id\":\"a-b-1\"}",
    "{\"tags\":[1,1.0]}",
    "{\"other\":1}",
};
enum { VALUES = sizeof values / sizeof values[0] };

typedef struct shared {
    const schema *schema;
    const cJSON *values[VALUES];
    uar_error expected[VALUES];
    atomic_int differences;
} shared;

static void work(void *arg) {
    shared *s = arg;
    for (int i = 0; i < ROUNDS * VALUES; i++) {
        uar_error err = UAR_ERROR_INIT;
        schema_check(s->schema, s->values[i % VALUES], &err);
        const uar_error *want = &s->expected[i % VALUES];
        if (err.code != want->code || strcmp(err.message, want->message) != 0) atomic_fetch_add(&s->differences, 1);
    }
}

static void test_threads_share_a_compiled_schema(void **state) {
    (void)state;
    schema *compiled = schema_case_compile(text);
    cJSON *parsed[VALUES];
    shared s = { .schema = compiled };
    atomic_init(&s.differences, 0);
    for (int i = 0; i < VALUES; i++) {
        s.values[i] = parsed[i] = schema_case_parse(values[i]);
        s.expected[i] = (uar_error)UAR_ERROR_INIT;
        assert_int_equal(schema_check(compiled, parsed[i], &s.expected[i]), i == 0 ? UAR_OK : UAR_E_SCHEMA);
    }
    thread threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&threads[i], STACK, work, &s), UAR_OK);
    for (int i = 0; i < THREADS; i++)
        thread_join(threads[i]);
    assert_int_equal(atomic_load(&s.differences), 0);
    for (int i = 0; i < VALUES; i++)
        json_free(&alloc_default, parsed[i]);
    schema_free(compiled);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads_share_a_compiled_schema) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
