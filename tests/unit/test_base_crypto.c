/* What lib/base/crypto promises. Digests from FIPS 180-4 examples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/lock.h"
#include "base/str.h"

static void assert_digest(const uint8_t got[SHA256_BYTES], const char *want_hex) {
    static const char digits[] = "0123456789abcdef";
    char hex[2 * SHA256_BYTES + 1];
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        hex[2 * i] = digits[got[i] >> 4];
        hex[2 * i + 1] = digits[got[i] & 15];
    }
    hex[2 * SHA256_BYTES] = '\0';
    assert_string_equal(hex, want_hex);
}

#define DIGEST_OF_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void test_the_digest_of_nothing_is_the_published_one(void **state) {
    (void)state;
    uint8_t out[SHA256_BYTES];
    const char *want = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_int_equal(sha256(out, NULL, 0), UAR_OK);
    assert_digest(out, want);
    uar_str absent = uar_str_of(NULL);
    assert_int_equal(sha256(out, &absent, 1), UAR_OK);
    assert_digest(out, want);
}

static void test_pieces_hash_as_their_concatenation(void **state) {
    (void)state;
    uint8_t out[SHA256_BYTES];
    uar_str pieces[] = { STR("a"), STR(""), STR("bc") };
    assert_int_equal(sha256(out, pieces, 3), UAR_OK);
    assert_digest(out, DIGEST_OF_ABC);
}

static void test_a_million_bytes_hash_to_the_published_digest(void **state) {
    (void)state;
    static char bytes[1000];
    static uar_str pieces[1000];
    memset(bytes, 'a', sizeof bytes);
    for (size_t i = 0; i < 1000; i++)
        pieces[i] = uar_str_n(bytes, sizeof bytes);
    uint8_t out[SHA256_BYTES];
    assert_int_equal(sha256(out, pieces, 1000), UAR_OK);
    assert_digest(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

typedef struct hasher {
    thread os;
    uar_status status;
    uint8_t out[SHA256_BYTES];
} hasher;

static void hash_often(void *arg) {
    hasher *h = arg;
    uar_str abc = STR("abc");
    for (int i = 0; i < 2000 && h->status == UAR_OK; i++)
        h->status = sha256(h->out, &abc, 1);
}

static void test_eight_threads_hash_at_once(void **state) {
    (void)state;
    hasher hashers[8] = { 0 };
    for (int i = 0; i < 8; i++)
        assert_int_equal(thread_start(&hashers[i].os, 256 * 1024, hash_often, &hashers[i]), UAR_OK);
    for (int i = 0; i < 8; i++)
        thread_join(hashers[i].os);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(hashers[i].status, UAR_OK);
        assert_digest(hashers[i].out, DIGEST_OF_ABC);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_digest_of_nothing_is_the_published_one),
        cmocka_unit_test(test_pieces_hash_as_their_concatenation),
        cmocka_unit_test(test_a_million_bytes_hash_to_the_published_digest),
        cmocka_unit_test(test_eight_threads_hash_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
