/* What a user's words leave behind, and what they don't. */
#include "test_memory_fixture.h"

#include "memory/capture.h"
#include "support/probe_alloc.h"

typedef struct expected {
    const char *text, *content, *attribute; /* content NULL: silence */
} expected;

static void assert_captures(const expected *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        arena ar;
        arena_init(&ar, &alloc_default);
        capture_candidate out[CAPTURE_MAX];
        size_t n = 0;
        assert_int_equal(memory_capture_extract(out, &n, &ar, uar_str_of(cases[i].text), NULL, 0), UAR_OK);
        if (cases[i].content == NULL) {
            if (n != 0) fail_msg("\"%s\" left \"%s\"", cases[i].text, out[0].content.ptr);
        } else {
            if (n != 1) fail_msg("\"%s\" left %zu candidates", cases[i].text, n);
            assert_string_equal(out[0].content.ptr, cases[i].content);
            if (cases[i].attribute == NULL)
                assert_null(out[0].attribute.ptr);
            else
                assert_string_equal(out[0].attribute.ptr, cases[i].attribute);
        }
        arena_dispose(&ar);
    }
}

#define ASSERT_CAPTURES(cases) assert_captures((cases), sizeof(cases) / sizeof(cases)[0])

static void facts_about_the_user_are_kept_with_their_slot(void **state) {
    (void)state;
    static const expected cases[] = {
        { "My name is Ada.", "My name is Ada", "name" },
        { "Hi, I live in Oslo now", "I live in Oslo now", "home" },
        { "I work as a nurse!", "I work as a nurse", "job" },
        { "I work at Initech", "I work at Initech", "employer" },
        { "my favourite colour is teal", "my favourite colour is teal", "favourite colour" },
        { "I like green tea", "I like green tea", "opinion of green tea" },
        { "I don\xE2\x80\x99t like green tea", "I don\xE2\x80\x99t like green tea", "opinion of green tea" },
        { "I prefer short answers", "I prefer short answers", NULL },
        { "I'm allergic to peanuts", "I'm allergic to peanuts", NULL },
        { "Ich hei\xC3\x9F"
          "e Karl",
          "Ich hei\xC3\x9F"
          "e Karl",
          "name" },
        { "Ich wohne in Bonn.", "Ich wohne in Bonn", "home" },
        { "Me llamo Luz", "Me llamo Luz", "name" },
        { "J'habite \xC3\xA0 Lyon", "J'habite \xC3\xA0 Lyon", "home" },
    };
    ASSERT_CAPTURES(cases);
}

static void test_M3_each_statement_of_a_sentence_has_a_slot_of_its_own(void **state) {
    (void)state;
    arena ar;
    arena_init(&ar, &alloc_default);
    capture_candidate out[CAPTURE_MAX];
    size_t n = 0;
    uar_str text = uar_str_of("My name is Ada and I live in Oslo, and my dog is called Rex.");
    assert_int_equal(memory_capture_extract(out, &n, &ar, text, NULL, 0), UAR_OK);
    assert_true(n >= 2);
    assert_string_equal(out[0].content.ptr, "My name is Ada");
    assert_string_equal(out[0].attribute.ptr, "name");
    assert_string_equal(out[1].attribute.ptr, "home");
    /* One statement with an "and" in it stays whole. */
    assert_int_equal(memory_capture_extract(out, &n, &ar, uar_str_of("I like salt and pepper."), NULL, 0), UAR_OK);
    assert_int_equal(n, 1);
    assert_string_equal(out[0].content.ptr, "I like salt and pepper");
    arena_dispose(&ar);
}

static void an_explicit_wish_is_kept(void **state) {
    (void)state;
    static const expected cases[] = {
        { "Remember that the door sticks in winter.", "the door sticks in winter", NULL },
        { "Please remember that my name is Ada", "my name is Ada", "name" },
        { "Merk dir, dass die T\xC3\xBCr klemmt", "die T\xC3\xBCr klemmt", NULL },
        { "Recuerda que el perro es viejo", "el perro es viejo", NULL },
        { "Remember to call me", NULL, NULL },
    };
    ASSERT_CAPTURES(cases);
}

static void test_M11_capture_prefers_silence(void **state) {
    (void)state;
    static const expected cases[] = {
        { "", NULL, NULL },
        { "What is my name?", NULL, NULL },
        { "I like what you did there, do you?", NULL, NULL },
        { "If I live in Rome, what changes?", NULL, NULL },
        { "I live in Rome if the plan works.", NULL, NULL },
        { "Imagine I live in Rome.", NULL, NULL },
        { "Maybe I work at Initech.", NULL, NULL },
        { "> I live in Rome", NULL, NULL },
        { "\"I live in Rome\", she wrote", NULL, NULL },
        { "```\nMy name is Bot\n```", NULL, NULL },
        { "look: ```c\nI like goto;\nMy name is Bot\n``` thanks", NULL, NULL },
        { "    My name is Bot", NULL, NULL },
        { "My question is simple.", NULL, NULL },
        { "My code is broken.", NULL, NULL },
        { "I like that", NULL, NULL },
        { "I love it!", NULL, NULL },
        { "The weather is fine.", NULL, NULL },
        { "Translate: my name is Ada", NULL, NULL },
    };
    ASSERT_CAPTURES(cases);
}

static void secrets_are_never_kept(void **state) {
    (void)state;
    static const expected cases[] = {
        { "My password is hunter2", NULL, NULL },
        { "Remember that my API key is abc", NULL, NULL },
        { "Remember that it is sk-abcdef1234567890abcdef", NULL, NULL },
        { "Remember that AKIAIOSFODNN7EXAMPLE opens it", NULL, NULL },
        { "Remember that ghp_16C7e42F292c6912E7710c838347Ae178B4a works", NULL, NULL },
        { "My card is 4111 1111 1111 1111", NULL, NULL },
        { "My card is 4111-1111-1111-1111.", NULL, NULL },
        { "Mein Passwort ist geheim", NULL, NULL },
        { "Remember that a1b2c3d4e5f6a7b8c9d0 is it", NULL, NULL },
        { "Remember that my PIN is 1234", NULL, NULL },
    };
    ASSERT_CAPTURES(cases);
    assert_false(capture_is_secret(STR("I live at 12 Long Street, flat 3, since 2019")));
    assert_false(capture_is_secret(STR("My phone number ends in 42")));
    assert_false(capture_is_secret(STR("My favourite town is Caliban Cross")));
    assert_true(capture_is_secret(STR("the tokens are 1 and 2")));
}

static void test_M11_what_was_recalled_is_not_captured(void **state) {
    (void)state;
    arena ar;
    arena_init(&ar, &alloc_default);
    capture_candidate out[CAPTURE_MAX];
    size_t n = 0;
    uar_str recalled[] = { STR("i  LIVE in oslo") };
    assert_int_equal(memory_capture_extract(out, &n, &ar, STR("I live in Oslo. My name is Ada."), recalled, 1), UAR_OK);
    assert_int_equal(n, 1);
    assert_string_equal(out[0].content.ptr, "My name is Ada");
    arena_dispose(&ar);
}

static void a_turn_leaves_at_most_so_many_and_nothing_twice(void **state) {
    (void)state;
    char text[2048] = "";
    for (int i = 0; i < 20; i++) {
        char more[64];
        snprintf(more, sizeof more, "I like thing %d. I like thing %d. ", i, i);
        memcpy(text + strlen(text), more, strlen(more) + 1);
    }
    arena ar;
    arena_init(&ar, &alloc_default);
    capture_candidate out[CAPTURE_MAX];
    size_t n = 0;
    assert_int_equal(memory_capture_extract(out, &n, &ar, uar_str_of(text), NULL, 0), UAR_OK);
    assert_int_equal(n, CAPTURE_MAX);
    assert_string_equal(out[1].content.ptr, "I like thing 1");
    arena_dispose(&ar);
}

/* Bytes of any kind, cut anywhere: it reads within its bounds and ends. */
static void any_bytes_are_read_within_their_bounds(void **state) {
    (void)state;
    const char *seed =
        "Hi, remember that my \xC3\xA9t\xC3\xA9 is ``` \" 4111 1111 sk- \xE2\x80\x99 I don\xE2\x80\x99t like it.\n> x";
    uint64_t dice = 99;
    for (int round = 0; round < 3000; round++) {
        size_t len = strlen(seed);
        char *bytes = malloc(len);
        assert_non_null(bytes);
        memcpy(bytes, seed, len);
        for (int k = 0; k < 4; k++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            bytes[(dice >> 33) % len] = (char)(dice >> 20);
        }
        char *exact = malloc((dice >> 40) % len + 1);
        assert_non_null(exact);
        size_t cut = (dice >> 40) % len;
        memcpy(exact, bytes, cut);
        arena ar;
        arena_init(&ar, &alloc_default);
        capture_candidate out[CAPTURE_MAX];
        size_t n = 0;
        assert_int_equal(memory_capture_extract(out, &n, &ar, uar_str_n(exact, cut), NULL, 0), UAR_OK);
        arena_dispose(&ar);
        free(exact);
        free(bytes);
    }
}

static void running_out_of_memory_leaks_nothing(void **state) {
    (void)state;
    uar_str recalled[] = { STR("something else") };
    for (unsigned long at = 1;; at++) {
        probe_alloc probe;
        probe_alloc_init(&probe);
        probe_alloc_arm(&probe, at, at % 2 == 0);
        arena ar;
        arena_init(&ar, &probe.door);
        capture_candidate out[CAPTURE_MAX];
        size_t n = 77;
        uar_status status = memory_capture_extract(
            out, &n, &ar, STR("My name is Ada. I like tea. Remember that it rains."), recalled, 1);
        arena_dispose(&ar);
        assert_int_equal(probe.alive, 0);
        if (!probe_alloc_has_failed(&probe)) {
            assert_int_equal(status, UAR_OK);
            break;
        }
        assert_int_equal(status, UAR_E_NOMEM);
        assert_int_equal(n, 77);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_about_the_user_are_kept_with_their_slot),
        cmocka_unit_test(test_M3_each_statement_of_a_sentence_has_a_slot_of_its_own),
        cmocka_unit_test(an_explicit_wish_is_kept),
        cmocka_unit_test(test_M11_capture_prefers_silence),
        cmocka_unit_test(secrets_are_never_kept),
        cmocka_unit_test(test_M11_what_was_recalled_is_not_captured),
        cmocka_unit_test(a_turn_leaves_at_most_so_many_and_nothing_twice),
        cmocka_unit_test(any_bytes_are_read_within_their_bounds),
        cmocka_unit_test(running_out_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
