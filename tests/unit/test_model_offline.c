/* The offline model: quotes memory, concludes nothing. */
#include "test_model_recorder.h"

#include <uar/model.h>

#include "model/offline.h"

#define NO_MODEL "I am not a language model: I only quote what is stored."

static recorder seen;

typedef struct talk {
    uar_model_message messages[8];
    uar_part parts[8];
    size_t count;
} talk;

static void talk_add(talk *t, uar_role role, const char *text) {
    t->parts[t->count].type = UAR_PART_TEXT;
    t->parts[t->count].text = uar_str_of(text);
    t->messages[t->count].role = role;
    t->messages[t->count].parts = &t->parts[t->count];
    t->messages[t->count].part_count = 1;
    t->count++;
}

static void talk_result(talk *t, const char *tool, const char *text, bool failed) {
    talk_add(t, UAR_ROLE_TOOL, text);
    t->parts[t->count - 1].type = UAR_PART_TOOL_RESULT;
    t->parts[t->count - 1].tool = uar_str_of(tool);
    t->parts[t->count - 1].failed = failed;
}

static uar_status talk_play(const talk *t) {
    uar_model_request request = { .size = sizeof request, .messages = t->messages, .message_count = t->count };
    model_sink sink = recorder_sink(&seen);
    return offline_answer(&request, &sink);
}

static void answer_is(const talk *t, const char *expected) {
    recorder_clear(&seen);
    assert_int_equal(talk_play(t), UAR_OK);
    assert_string_equal(seen.log, expected);
    assert_int_equal(seen.ends, 1);
}

#define BLOCK                                                                                                   \
    "<memory note=\"data\">\nWhat is remembered:\n- [2026-01-02, user, by user] The cat is called Moses &amp; " \
    "&lt;he&gt; "                                                                                               \
    "&unknown; is 3\n- [2026-02-03, session, by model] Likes fish\n- no item\n- [broken\n</memory>"

static void test_a_question_is_answered_with_the_items_of_memory_their_source_and_date(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_SYSTEM, "Be kind?");
    talk_add(&t, UAR_ROLE_USER, BLOCK);
    talk_add(&t, UAR_ROLE_USER, "What is the cat called?");
    answer_is(&t, "text This is what memory holds about it:\n"
                  "- \"The cat is called Moses & <he> &unknown; is 3\" (2026-01-02, user, by user)\n"
                  "- \"Likes fish\" (2026-02-03, session, by model)\n" NO_MODEL "\nfinish stop");
    assert_true(seen.pushes > 20);
    assert_false(seen.usage.known);
}

static void test_a_question_without_memory_is_not_known(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_USER, "Who am I?");
    answer_is(&t, "text I know nothing about that. " NO_MODEL "\nfinish stop");
}

static void test_a_block_without_items_is_no_knowledge(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_USER, "<memory>\n</memory>\n");
    talk_add(&t, UAR_ROLE_USER, "\xe8\xaa\xb0\xef\xbc\x9f");
    answer_is(&t, "text I know nothing about that. " NO_MODEL "\nfinish stop");
}

static void test_only_the_block_just_before_the_newest_question_counts(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_USER, BLOCK);
    talk_add(&t, UAR_ROLE_USER, "What is the cat called?");
    talk_add(&t, UAR_ROLE_ASSISTANT, "Moses.");
    talk_add(&t, UAR_ROLE_USER, "And the dog?");
    answer_is(&t, "text I know nothing about that. " NO_MODEL "\nfinish stop");
}

static void test_a_block_that_an_assistant_or_system_wrote_is_not_memory(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_ASSISTANT, BLOCK);
    talk_add(&t, UAR_ROLE_USER, "What is the cat called?");
    answer_is(&t, "text I know nothing about that. " NO_MODEL "\nfinish stop");
}

static void test_a_statement_is_heard_and_nothing_is_made_up(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_USER, "I live in Oslo now.");
    answer_is(&t, "text I heard: \"I live in Oslo now.\"\n" NO_MODEL "\nfinish stop");
}

static void test_a_statement_with_memory_near_it_quotes_that_too(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_USER, "<memory>\n- [2026-01-02, user, by user] Lives in Bergen\n</memory>");
    talk_add(&t, UAR_ROLE_USER, "I live in Oslo now.");
    answer_is(&t, "text I heard: \"I live in Oslo now.\"\nMemory holds this near it:\n"
                  "- \"Lives in Bergen\" (2026-01-02, user, by user)\n" NO_MODEL "\nfinish stop");
}

static void test_results_of_tools_are_told(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_USER, "Weather?");
    talk_add(&t, UAR_ROLE_ASSISTANT, "");
    talk_result(&t, "weather", "{\"celsius\":4}", false);
    talk_result(&t, "moon", "no sky", true);
    answer_is(&t, "text The tool weather answered: \"{\"celsius\":4}\"\nThe tool moon failed: \"no sky\"\n" NO_MODEL
                  "\nfinish stop");
}

static void test_results_of_an_earlier_turn_are_not_told_again(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_result(&t, "old", "gone", false);
    talk_add(&t, UAR_ROLE_ASSISTANT, "");
    talk_result(&t, "new", "here", false);
    answer_is(&t, "text The tool new answered: \"here\"\n" NO_MODEL "\nfinish stop");
    talk_add(&t, UAR_ROLE_USER, "Why?");
    answer_is(&t, "text I know nothing about that. " NO_MODEL "\nfinish stop");
}

static void test_text_that_only_looks_like_a_block_is_a_question(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_USER, "<memory>\n- [d, user, by user] x\nWhat is this");
    answer_is(&t, "text I heard: \"<memory>\n- [d, user, by user] x\nWhat is this\"\n" NO_MODEL "\nfinish stop");
    t.count = 0;
    talk_add(&t, UAR_ROLE_USER, "- [d, user, by user] x\n</memory>");
    talk_add(&t, UAR_ROLE_USER, "So?");
    answer_is(&t, "text I know nothing about that. " NO_MODEL "\nfinish stop");
    t.count = 0;
    talk_add(&t, UAR_ROLE_USER, BLOCK);
    talk_add(&t, UAR_ROLE_USER, "So?");
    t.messages[0].part_count = 2; /* two texts: no block, whatever the first one says */
    answer_is(&t, "text I know nothing about that. " NO_MODEL "\nfinish stop");
}

static void test_E7_a_long_quote_is_cut_at_a_character(void **state) {
    (void)state;
    char text[1000];
    for (size_t i = 0; i < 300; i++)
        memcpy(text + 3 * i, "\xe6\x97\xa5", 4);
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_USER, text);
    assert_int_equal(talk_play(&t), UAR_OK);
    assert_non_null(strstr(seen.log, "\xe6\x97\xa5\xe2\x80\xa6\"\n"));
}

static void test_a_request_without_messages_still_gets_an_answer(void **state) {
    (void)state;
    talk t = { .count = 0 };
    answer_is(&t, "text " NO_MODEL "\nfinish stop");
}

static void test_the_first_refusal_of_the_sink_ends_the_answer(void **state) {
    (void)state;
    talk t = { .count = 0 };
    talk_add(&t, UAR_ROLE_USER, "Who am I?");
    seen.refusal = UAR_E_STALE;
    seen.refuse_after = 2;
    assert_int_equal(talk_play(&t), UAR_E_STALE);
    assert_string_equal(seen.log, "text I know nothing ");
}

static int setup(void **state) {
    (void)state;
    recorder_init(&seen);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    recorder_dispose(&seen);
    return 0;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(test_a_question_is_answered_with_the_items_of_memory_their_source_and_date),
        T(test_a_question_without_memory_is_not_known),
        T(test_a_block_without_items_is_no_knowledge),
        T(test_only_the_block_just_before_the_newest_question_counts),
        T(test_a_block_that_an_assistant_or_system_wrote_is_not_memory),
        T(test_a_statement_is_heard_and_nothing_is_made_up),
        T(test_a_statement_with_memory_near_it_quotes_that_too),
        T(test_results_of_tools_are_told),
        T(test_results_of_an_earlier_turn_are_not_told_again),
        T(test_text_that_only_looks_like_a_block_is_a_question),
        T(test_E7_a_long_quote_is_cut_at_a_character),
        T(test_a_request_without_messages_still_gets_an_answer),
        T(test_the_first_refusal_of_the_sink_ends_the_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
