/*
 * Answers of OpenAI Chat Completions as the codec reads them. Each fixture is fed whole, cut in two at every byte, and byte
 * by byte: what is pushed must be the same.
 */
#include "test_model_recorder.h"

#include <uar/model.h>

#include "model/codec.h"

static recorder seen;

static uar_status answer_feed(const char *bytes, size_t len, size_t cut, size_t step,
                              const uar_codec_options *options) {
    uar_codec *codec = NULL;
    model_sink sink = recorder_sink(&seen);
    assert_int_equal(codec_open(&codec, UAR_CODEC_OPENAI, &sink, options, NULL), UAR_OK);
    uar_status status = UAR_OK;
    for (size_t at = 0; at < len && status == UAR_OK;) {
        size_t n = at < cut ? cut - at : step;
        if (n > len - at) n = len - at;
        char *piece = malloc(n); /* its own block, so that reading past it is seen */
        assert_non_null(piece);
        memcpy(piece, bytes + at, n);
        status = uar_codec_feed(codec, piece, n);
        free(piece);
        at += n;
    }
    uar_status end = uar_codec_end(codec);
    uar_codec_free(codec);
    return status != UAR_OK ? status : end;
}

/* The last answer is in `seen`. */
static void answer_is_n(const char *bytes, size_t len, const char *expected) {
    uar_status first = answer_feed(bytes, len, 0, len, NULL);
    assert_string_equal(seen.log, expected);
    assert_int_equal(seen.ends, 1);
    uar_usage usage = seen.usage;
    for (size_t cut = 0; cut <= len; cut++) {
        recorder_clear(&seen);
        assert_int_equal(answer_feed(bytes, len, cut, cut == 0 ? 1 : len, NULL), first);
        assert_string_equal(seen.log, expected);
        assert_memory_equal(&seen.usage, &usage, sizeof usage);
    }
}

static void answer_is(const char *bytes, const char *expected) {
    answer_is_n(bytes, strlen(bytes), expected);
}

#define DELTA(json) "data: {\"choices\":[{\"index\":0,\"delta\":" json "}]}\n\n"
#define CALLS(json) DELTA("{\"tool_calls\":[" json "]}")
#define FINISH(word) "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" word "\"}]}\n\n"
#define DONE "data: [DONE]\n\n"

/* ---- text and framing ---- */

static void test_text_of_a_stream_is_pushed_and_finished(void **state) {
    (void)state;
    answer_is(DELTA("{\"role\":\"assistant\",\"content\":\"\"}") DELTA("{\"content\":\"Hel\"}")
                  DELTA("{\"content\":\"lo\"}") FINISH("stop") DONE,
              "text Hello\nfinish stop");
}

static void test_line_ends_may_be_crlf_or_cr(void **state) {
    (void)state;
    answer_is("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata: [DONE]\r\n\r\n",
              "text a\nfinish stop");
    recorder_clear(&seen);
    answer_is("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\rdata: [DONE]\r\r", "text a\nfinish stop");
}

static void test_a_byte_order_mark_comments_and_other_fields_are_passed_over(void **state) {
    (void)state;
    answer_is("\xef\xbb\xbf: OPENROUTER PROCESSING\n\nid: 7\nretry: 10\nevent: message\n" DELTA(
                  "{\"content\":\"x\"}") ": again\n" FINISH("stop") DONE,
              "text x\nfinish stop");
}

static void test_the_end_mark_needs_no_blank_and_no_line_end(void **state) {
    (void)state;
    answer_is("data:{\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata:[DONE]", "text x\nfinish stop");
}

static void test_an_event_may_span_several_data_lines(void **state) {
    (void)state;
    answer_is("data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"x\"}}]}\n\n" DONE, "text x\nfinish stop");
}

static void test_what_follows_the_end_mark_is_ignored(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"x\"}") DONE DELTA("{\"content\":\"y\"}") "data: nonsense\n\n",
              "text x\nfinish stop");
}

static void test_other_choices_are_not_heard(void **state) {
    (void)state;
    answer_is("data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}},{\"index\":0,\"delta\":{\"content\":"
              "\"yes\"}}]}\n\n" DONE,
              "text yes\nfinish stop");
}

static void test_a_refusal_is_text(void **state) {
    (void)state;
    answer_is(DELTA("{\"refusal\":\"I won't.\"}") FINISH("stop") DONE, "text I won't.\nfinish stop");
}

static void test_content_may_be_a_list(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]},"
                    "{\"type\":\"text\",\"text\":\"x\"}]}") DONE,
              "reasoning hm\ntext x\nopaque {\"openai\":\"reasoning_content\"}\nfinish stop");
}

static void test_an_event_over_the_limit_fails(void **state) {
    (void)state;
    uar_codec_options options = { UAR_CODEC_OPTIONS_INIT, .max_event_bytes = 64 };
    const char *bytes = DELTA("{\"content\":\"0123456789012345678901234567890123456789\"}");
    assert_int_equal(answer_feed(bytes, strlen(bytes), 0, 5, &options), UAR_E_TOO_LARGE);
    assert_string_equal(seen.log, "fail UAR_E_TOO_LARGE");
    assert_string_equal(seen.failure.message, "an event of the answer is larger than the limit");
}

/* ---- characters ---- */

static void test_E7_text_cut_at_every_byte_arrives_whole(void **state) {
    (void)state;
    answer_is(
        DELTA("{\"content\":\"gr\xc3\xbc\xc3\x9f \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80\"}")
            DELTA("{\"reasoning_content\":\"\xe6\x9c\xac\"}")
                CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"\xc3\xbc\\\":1}\"}}")
                    FINISH("tool_calls") DONE,
        "text gr\xc3\xbc\xc3\x9f \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80\nreasoning \xe6\x9c\xac\ncall 0 id c\n"
        "call 0 name f\ncall 0 args {\"\xc3\xbc\":1}\nopaque {\"openai\":\"reasoning_content\"}\nfinish tool_calls");
}

static void test_E7_a_character_cut_between_two_events_passes_through(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"\xf0\x9f\"}") DELTA("{\"content\":\"\x98\x80!\"}")
                  DELTA("{\"reasoning_content\":\"\xe6\"}") DELTA("{\"reasoning_content\":\"\x9c\xac\"}")
                      CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"\\\"\xc3\"}}")
                          CALLS("{\"index\":0,\"function\":{\"arguments\":\"\xbc\\\"\"}}") FINISH("tool_calls") DONE,
              "text \xf0\x9f\x98\x80!\nreasoning \xe6\x9c\xac\ncall 0 id c\ncall 0 name f\ncall 0 args \"\xc3\xbc\"\n"
              "opaque {\"openai\":\"reasoning_content\"}\nfinish tool_calls");
}

static void test_E7_raw_bytes_leave_other_characters_of_their_event_alone(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"\xed\x9f\xbf\xc3\xb2 \\udc00\\udd00 \xff\xbf\x80\xc3\"}")
                  DELTA("{\"content\":\"\xbf\"}") DONE,
              "text \xed\x9f\xbf\xc3\xb2 \xed\xb0\x80\xed\xb4\x80 \xff\xbf\x80\xc3\xbf\nfinish stop");
}

static void test_E7_a_surrogate_pair_cut_between_two_events_passes_through_as_its_halves(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"\\ud83d\"}") DELTA("{\"content\":\"\\ude00\"}") DONE,
              "text \xed\xa0\xbd\xed\xb8\x80\nfinish stop");
}

static void test_a_lone_surrogate_of_a_clean_event_is_not_taken_for_a_byte(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"\\udc80\"}") DONE, "text \xed\xb2\x80\nfinish stop");
}

static void test_a_null_character_is_replaced(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"a\\u0000b\"}") DONE, "text a\xef\xbf\xbd"
                                                         "b\nfinish stop");
}

/* ---- trap 1: which call a piece belongs to ---- */

#define CALL(index, id, name, args)                                                                     \
    CALLS("{\"index\":" index ",\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name \
          "\",\"arguments\":\"" args "\"}}")
#define ARGS(index, args) CALLS("{\"index\":" index ",\"function\":{\"arguments\":\"" args "\"}}")

static void test_fragments_are_joined_by_index(void **state) {
    (void)state;
    answer_is(CALL("0", "a", "f", "") CALL("1", "b", "g", "") ARGS("0", "{\\\"x\\\"") ARGS("1", "{\\\"y\\\"")
                  ARGS("0", ":1}") ARGS("1", ":2}") FINISH("tool_calls") DONE,
              "call 0 id a\ncall 0 name f\ncall 1 id b\ncall 1 name g\ncall 0 args {\"x\"\ncall 1 args {\"y\"\n"
              "call 0 args :1}\ncall 1 args :2}\nfinish tool_calls");
}

static void test_index_zero_for_every_call_with_different_ids_makes_different_calls(void **state) {
    (void)state;
    answer_is(CALL("0", "a", "f", "{}") CALL("0", "b", "f", "{\\\"x\\\":") ARGS("0", "1}") CALL("0", "c", "g", "{}")
                  FINISH("tool_calls") DONE,
              "call 0 id a\ncall 0 name f\ncall 0 args {}\ncall 1 id b\ncall 1 name f\ncall 1 args {\"x\":1}\n"
              "call 2 id c\ncall 2 name g\ncall 2 args {}\nfinish tool_calls");
}

static void test_index_zero_for_every_call_without_ids_is_told_apart_by_name_and_whole_arguments(void **state) {
    (void)state;
    answer_is(CALL("0", "", "f", "{\\\"x\\\":1}") CALL("0", "", "g", "{\\\"x\\\":1}")
                  CALL("0", "", "g", "{\\\"x\\\":2}") DONE,
              "call 0 name f\ncall 0 args {\"x\":1}\ncall 1 name g\ncall 1 args {\"x\":1}\ncall 2 name g\n"
              "call 2 args {\"x\":2}\nfinish tool_calls");
}

static void test_an_absent_index_with_a_new_id_is_a_new_call(void **state) {
    (void)state;
    answer_is(
        CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}")
            CALLS("{\"function\":{\"arguments\":\"}\"}}")
                CALLS("{\"id\":\"b\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}") DONE,
        "call 0 id a\ncall 0 name f\ncall 0 args {}\ncall 1 id b\ncall 1 name f\ncall 1 args {}\nfinish tool_calls");
}

static void test_an_absent_index_with_a_known_id_goes_on_with_that_call(void **state) {
    (void)state;
    answer_is(CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}")
                  CALLS("{\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}")
                      CALLS("{\"id\":\"a\",\"function\":{\"arguments\":\"}\"}}") DONE,
              "call 0 id a\ncall 0 name f\ncall 0 args {\ncall 1 id b\ncall 1 name g\ncall 1 args {}\ncall 0 args }\n"
              "finish tool_calls");
}

static void test_index_zero_for_calls_that_interleave_is_sorted_by_id(void **state) {
    (void)state;
    answer_is(CALL("0", "a", "f", "{") CALL("0", "b", "g", "{") CALL("0", "a", "f", "}") CALL("0", "b", "g", "}") DONE,
              "call 0 id a\ncall 0 name f\ncall 0 args {\ncall 1 id b\ncall 1 name g\ncall 1 args {\ncall 0 args }\n"
              "call 1 args }\nfinish tool_calls");
}

static void test_an_index_that_later_pieces_leave_out_changes_nothing(void **state) {
    (void)state;
    answer_is(CALL("5", "a", "f", "{") CALLS("{\"id\":\"a\",\"function\":{\"arguments\":\"}\"}}") DONE,
              "call 5 id a\ncall 5 name f\ncall 5 args {}\nfinish tool_calls");
}

static void test_calls_of_one_chunk_without_arguments_and_ids_are_different_calls(void **state) {
    (void)state;
    answer_is(CALLS("{\"function\":{\"name\":\"f\",\"arguments\":\"\"}},{\"function\":{\"name\":\"f\"}}") DONE,
              "call 0 name f\ncall 1 name f\nfinish tool_calls");
}

static void test_a_new_id_without_index_never_joins_a_call_without_id(void **state) {
    (void)state;
    answer_is(CALLS("{\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}")
                  CALLS("{\"id\":\"b\",\"function\":{\"arguments\":\"{}\"}}") DONE,
              "call 0 name f\ncall 0 args {\ncall 1 id b\ncall 1 args {}\nfinish tool_calls");
}

static void test_whole_calls_without_index_and_id_in_one_chunk_are_different_calls(void **state) {
    (void)state;
    answer_is(CALLS("{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
                    "{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}") DONE,
              "call 0 name f\ncall 0 args {}\ncall 1 name f\ncall 1 args {}\nfinish tool_calls");
}

static void test_explicit_indexes_keep_gaps_and_order(void **state) {
    (void)state;
    answer_is(
        CALL("7", "b", "g", "{}") CALL("2", "a", "f", "{}") DONE,
        "call 7 id b\ncall 7 name g\ncall 7 args {}\ncall 2 id a\ncall 2 name f\ncall 2 args {}\nfinish tool_calls");
}

static void test_a_new_explicit_index_is_a_new_call_even_with_the_same_id(void **state) {
    (void)state;
    answer_is(
        CALL("0", "a", "f", "{}") CALL("1", "a", "f", "{}") DONE,
        "call 0 id a\ncall 0 name f\ncall 0 args {}\ncall 1 id a\ncall 1 name f\ncall 1 args {}\nfinish tool_calls");
}

static void test_an_index_that_an_earlier_call_had_to_take_is_replaced(void **state) {
    (void)state;
    answer_is(CALL("0", "a", "f", "{}") CALL("0", "b", "f", "{}") CALL("1", "c", "f", "{}") DONE,
              "call 0 id a\ncall 0 name f\ncall 0 args {}\ncall 1 id b\ncall 1 name f\ncall 1 args {}\n"
              "call 2 id c\ncall 2 name f\ncall 2 args {}\nfinish tool_calls");
}

static void test_an_absurd_index_is_not_taken_over(void **state) {
    (void)state;
    answer_is(
        CALL("4294967295", "a", "f", "{}") CALL("18446744073709551615", "b", "g", "{}") DONE,
        "call 0 id a\ncall 0 name f\ncall 0 args {}\ncall 1 id b\ncall 1 name g\ncall 1 args {}\nfinish tool_calls");
}

static void test_too_many_calls_fail(void **state) {
    (void)state;
    uar_codec *codec = NULL;
    model_sink sink = recorder_sink(&seen);
    assert_int_equal(codec_open(&codec, UAR_CODEC_OPENAI, &sink, NULL, NULL), UAR_OK);
    uar_status status = UAR_OK;
    for (int i = 0; i < 1025 && status == UAR_OK; i++) {
        char event[160];
        int len = snprintf(event, sizeof event, CALL("%d", "c%d", "f", "{}"), i, i);
        status = uar_codec_feed(codec, event, (size_t)len);
    }
    assert_int_equal(status, UAR_E_TOO_LARGE);
    assert_int_equal(seen.ends, 1);
    uar_codec_free(codec);
}

static void test_arguments_over_the_limit_fail_however_many_pieces_they_come_in(void **state) {
    (void)state;
    uar_codec_options options = { UAR_CODEC_OPTIONS_INIT, .max_event_bytes = 200 };
#define FORTY "0123456789012345678901234567890123456789"
    const char *bytes = CALL("0", "a", "f", FORTY) CALL("1", "b", "f", FORTY) ARGS("0", FORTY) ARGS("1", FORTY)
        ARGS("0", FORTY) ARGS("1", "x") DONE;
    assert_int_equal(answer_feed(bytes, strlen(bytes), 0, 7, &options), UAR_E_TOO_LARGE);
    assert_non_null(strstr(seen.log, "\nfail UAR_E_TOO_LARGE"));
    assert_null(strstr(seen.log, "x"));
}

/* ---- traps 2 and 3: repeated fields, fragments ---- */

static void test_id_and_name_repeated_in_every_piece_are_pushed_once(void **state) {
    (void)state;
    answer_is(CALL("0", "a", "read_file", "{") CALL("0", "a", "read_file", "\\\"p\\\":1")
                  CALL("0", "a", "read_file", "}") DONE,
              "call 0 id a\ncall 0 name read_file\ncall 0 args {\"p\":1}\nfinish tool_calls");
}

static void test_a_name_repeated_without_id_goes_on_with_the_call(void **state) {
    (void)state;
    answer_is(CALL("0", "", "f", "{\\\"a\\\"") CALL("0", "", "f", ":1}") CALL("0", "", "f", "") DONE,
              "call 0 name f\ncall 0 args {\"a\":1}\nfinish tool_calls");
}

static void test_a_name_that_comes_after_the_id_belongs_to_the_call(void **state) {
    (void)state;
    answer_is(CALLS("{\"index\":0,\"id\":\"a\"}") CALLS("{\"index\":0,\"function\":{\"name\":\"f\"}}") ARGS("0", "{}")
                  DONE,
              "call 0 id a\ncall 0 name f\ncall 0 args {}\nfinish tool_calls");
}

static void test_whole_arguments_repeated_at_the_end_are_dropped(void **state) {
    (void)state;
    answer_is(CALL("0", "a", "f", "{\\\"x\\\":") ARGS("0", "\\\"}\\\"}") ARGS("0", "{\\\"x\\\":\\\"}\\\"}")
                  CALL("0", "a", "f", "{\\\"x\\\":\\\"}\\\"}") DONE,
              "call 0 id a\ncall 0 name f\ncall 0 args {\"x\":\"}\"}\nfinish tool_calls");
}

static void test_brackets_and_quotes_inside_strings_dont_close_the_arguments(void **state) {
    (void)state;
    answer_is(CALL("0", "", "f", "{\\\"a\\\":\\\"}\\\\\\\"}\\\\\\\\\\\"") CALL("0", "", "f", ",\\\"b\\\":[1]}") DONE,
              "call 0 name f\ncall 0 args {\"a\":\"}\\\"}\\\\\",\"b\":[1]}\nfinish tool_calls");
}

static void test_empty_arguments_stay_empty(void **state) {
    (void)state;
    answer_is(CALL("0", "a", "f", "") FINISH("tool_calls") DONE, "call 0 id a\ncall 0 name f\nfinish tool_calls");
}

static void test_arguments_sent_as_an_object_become_text(void **state) {
    (void)state;
    answer_is(
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":{\"n\":12345678901234567890}}}")
            DONE,
        "call 0 id a\ncall 0 name f\ncall 0 args {\"n\":12345678901234567890}\nfinish tool_calls");
}

static void test_the_old_function_call_is_a_call(void **state) {
    (void)state;
    answer_is(DELTA("{\"function_call\":{\"name\":\"f\",\"arguments\":\"{\"}}")
                  DELTA("{\"function_call\":{\"arguments\":\"}\"}}") FINISH("function_call") DONE,
              "call 0 name f\ncall 0 args {}\nfinish tool_calls");
}

/* ---- traps 4 and 5: finish reasons ---- */

static void test_stop_with_calls_finishes_as_tool_calls(void **state) {
    (void)state;
    answer_is(CALL("0", "a", "f", "{}") FINISH("stop") DONE,
              "call 0 id a\ncall 0 name f\ncall 0 args {}\nfinish tool_calls");
}

static void test_tool_calls_without_calls_finishes_as_stop(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"x\"}") FINISH("tool_calls") DONE, "text x\nfinish stop");
}

static void test_T2_length_with_calls_stays_length_whatever_comes_later(void **state) {
    (void)state;
    answer_is(CALL("0", "a", "f", "{\\\"x\\\":") FINISH("length") FINISH("tool_calls") DONE,
              "call 0 id a\ncall 0 name f\ncall 0 args {\"x\":\nfinish length");
}

static void test_a_withheld_answer_says_so(void **state) {
    (void)state;
    answer_is(FINISH("content_filter") DONE, "finish content_filter");
}

static void test_a_cut_or_a_filter_outweighs_any_other_reason(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"x\"}") FINISH("stop") FINISH("length") DONE, "text x\nfinish length");
    recorder_clear(&seen);
    answer_is(DELTA("{\"content\":\"x\"}") FINISH("content_filter") FINISH("stop") DONE,
              "text x\nfinish content_filter");
    recorder_clear(&seen);
    answer_is(DELTA("{\"content\":\"x\"}") FINISH("max_tokens") FINISH("stop") DONE, "text x\nfinish length");
}

static void test_an_unknown_reason_is_an_ordinary_end(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"x\"}") FINISH("eos_token") DONE, "text x\nfinish stop");
}

/* ---- traps 6 and 12: usage ---- */

static void usage_is(uint64_t input, uint64_t read, uint64_t write, uint64_t output, uint64_t reasoning) {
    assert_true(seen.usage.known);
    assert_int_equal(seen.usage.input, input);
    assert_int_equal(seen.usage.cache_read, read);
    assert_int_equal(seen.usage.cache_write, write);
    assert_int_equal(seen.usage.output, output);
    assert_int_equal(seen.usage.reasoning, reasoning);
}

static void test_chunks_without_choices_are_harmless(void **state) {
    (void)state;
    answer_is("data: {\"choices\":[],\"prompt_filter_results\":[]}\n\ndata: {\"choices\":null}\n\ndata: {}\n\n" DELTA(
                  "{\"content\":\"x\"}") FINISH("stop") "data: "
                                                        "{\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_"
                                                        "tokens\":3,\"total_tokens\":12}}\n\n" DONE,
              "text x\nfinish stop");
    usage_is(9, 0, 0, 3, 0);
}

static void test_B2_usage_becomes_exclusive_buckets(void **state) {
    (void)state;
    answer_is(
        DELTA("{\"content\":\"x\"}") FINISH(
            "stop") "data: "
                    "{\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":30,\"total_tokens\":130,"
                    "\"prompt_tokens_details\":{\"cached_tokens\":60,\"cache_write_tokens\":10},"
                    "\"completion_tokens_details\":{\"reasoning_tokens\":20}}}\n\n" DONE,
        "text x\nfinish stop");
    usage_is(30, 60, 10, 30, 20);
}

static void test_usage_reported_again_is_never_added(void **state) {
    (void)state;
#define USAGE(p, c) "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":" p ",\"completion_tokens\":" c "}}\n\n"
    answer_is(DELTA("{\"content\":\"x\"}") USAGE("10", "1") USAGE("10", "2") USAGE("0", "5") FINISH("stop") DONE,
              "text x\nfinish stop");
    usage_is(10, 0, 0, 5, 0);
}

static void test_usage_that_is_all_cache_or_all_reasoning_leaves_nothing_else(void **state) {
    (void)state;
    answer_is(
        DELTA("{\"content\":\"x\"}") FINISH(
            "stop") "data: "
                    "{\"choices\":[],\"usage\":{\"prompt_tokens\":60,\"completion_tokens\":20,\"total_tokens\":80,"
                    "\"prompt_tokens_details\":{\"cached_tokens\":60},"
                    "\"completion_tokens_details\":{\"reasoning_tokens\":20}}}\n\n" DONE,
        "text x\nfinish stop");
    usage_is(0, 60, 0, 20, 20);
}

static void test_figures_that_are_no_counts_are_ignored(void **state) {
    (void)state;
    answer_is(
        DELTA("{\"content\":\"x\"}") FINISH(
            "stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":18446744073709551615,\"completion_tokens\":-3,"
                    "\"prompt_tokens_details\":{\"cached_tokens\":\"many\"}}}\n\n" DONE,
        "text x\nfinish stop");
    usage_is(0, 0, 0, 0, 0);
}

static void test_a_cache_beside_the_prompt_is_not_taken_off(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"x\"}")
                  FINISH("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1,"
                                 "\"prompt_tokens_details\":{\"cached_tokens\":60}}}\n\n" DONE,
              "text x\nfinish stop");
    usage_is(5, 60, 0, 1, 0);
}

static void test_reasoning_beside_the_completion_is_counted_into_output(void **state) {
    (void)state;
    answer_is(
        DELTA("{\"content\":\"x\"}") FINISH(
            "stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":30,\"total_tokens\":55,"
                    "\"completion_tokens_details\":{\"reasoning_tokens\":20}}}\n\n" DONE,
        "text x\nfinish stop");
    usage_is(5, 0, 0, 50, 20);
}

static void test_no_usage_is_unknown(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"x\"}") "data: {\"choices\":[],\"usage\":null}\n\n" DONE, "text x\nfinish stop");
    assert_false(seen.usage.known);
}

/* ---- trap 7: ends and errors ---- */

static void test_the_end_of_bytes_without_end_mark_or_reason_is_a_cut(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"x\"}"), "text x\nretry UAR_E_MODEL_CUT");
}

static void test_an_empty_body_is_a_cut(void **state) {
    (void)state;
    answer_is("", "retry UAR_E_MODEL_CUT");
    recorder_clear(&seen);
    answer_is(" \r\n", "retry UAR_E_MODEL_CUT");
}

static void test_an_event_cut_inside_its_json_is_a_cut(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"x\"}") "data: {\"choices\":[{\"delta\":{\"content\":\"y",
              "text x\nretry UAR_E_MODEL_CUT");
}

static void test_the_end_of_bytes_after_a_finish_reason_is_an_end(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"x\"}") FINISH("stop"), "text x\nfinish stop");
}

static void test_an_end_mark_without_any_choice_breaks_the_protocol(void **state) {
    (void)state;
    answer_is(DONE, "fail UAR_E_PROTOCOL");
}

static void test_an_error_inside_a_stream_fails_the_call(void **state) {
    (void)state;
    answer_is(DELTA("{\"content\":\"x\"}") "data: "
                                           "{\"error\":{\"message\":\"no\\nway\",\"type\":\"invalid_request_error\","
                                           "\"code\":\"bad\"}}\n\n" DONE,
              "text x\nfail UAR_E_MODEL");
    assert_string_equal(seen.failure.message, "no way");
    assert_string_equal(seen.failure.code, "bad");
}

static void test_an_error_that_may_pass_is_retryable(void **state) {
    (void)state;
    answer_is("data: {\"error\":{\"message\":\"m\",\"type\":\"server_error\"}}\n\n", "retry UAR_E_UNAVAILABLE");
    recorder_clear(&seen);
    answer_is("data: {\"error\":{\"message\":\"m\",\"code\":429},\"choices\":[]}\n\n", "retry UAR_E_MODEL_BUSY");
    recorder_clear(&seen);
    answer_is("event: error\ndata: {\"message\":\"m\",\"type\":\"overloaded_error\"}\n\n", "retry UAR_E_MODEL_BUSY");
    recorder_clear(&seen);
    answer_is(DELTA("{\"content\":\"x\"}") FINISH("error") DONE, "text x\nretry UAR_E_UNAVAILABLE");
}

static void test_an_error_as_plain_text_or_bare_line_is_heard(void **state) {
    (void)state;
    answer_is("data: {\"error\":\"model not found\"}\n\n", "fail UAR_E_MODEL");
    assert_string_equal(seen.failure.message, "model not found");
    recorder_clear(&seen);
    answer_is(DELTA("{\"content\":\"x\"}") "{\"error\":{\"message\":\"out of memory\"}}\n", "text x\nfail UAR_E_MODEL");
    assert_string_equal(seen.failure.message, "out of memory");
}

static void test_an_event_that_is_no_json_breaks_the_protocol(void **state) {
    (void)state;
    answer_is("data: {\"choices\":[}\n\n", "fail UAR_E_PROTOCOL");
}

static void test_a_body_that_is_a_page_breaks_the_protocol(void **state) {
    (void)state;
    answer_is("<html>\n<body>Welcome</body>\n</html>\n", "fail UAR_E_PROTOCOL");
}

/* ---- documents ---- */

#define MESSAGE(json, finish) "{\"choices\":[{\"index\":0,\"message\":" json ",\"finish_reason\":\"" finish "\"}]"

static void test_a_json_body_is_read_whole(void **state) {
    (void)state;
    answer_is("\n " MESSAGE("{\"role\":\"assistant\",\"content\":\"hi\",\"reasoning_content\":\"hm\"}",
                            "stop") ",\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}\n",
              "reasoning hm\ntext hi\nopaque {\"openai\":\"reasoning_content\"}\nfinish stop");
    usage_is(4, 0, 0, 2, 0);
}

static void test_a_json_body_may_begin_with_a_byte_order_mark(void **state) {
    (void)state;
    answer_is("\xef\xbb\xbf" MESSAGE("{\"content\":\"hi\"}", "stop") "}", "text hi\nfinish stop");
}

static void test_each_call_of_a_json_body_is_a_call_of_its_own(void **state) {
    (void)state;
    answer_is(
        MESSAGE("{\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
                "{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}",
                "tool_calls") "}",
        "call 0 id a\ncall 0 name f\ncall 0 args {}\ncall 1 id a\ncall 1 name f\ncall 1 args {}\nfinish tool_calls");
}

static void test_a_json_body_may_be_an_error(void **state) {
    (void)state;
    answer_is("{\"error\":{\"message\":\"m\",\"code\":\"invalid_api_key\"}}", "fail UAR_E_FORBIDDEN");
    recorder_clear(&seen);
    answer_is("[{\"error\":{\"message\":\"m\",\"code\":503}}]", "retry UAR_E_MODEL_BUSY");
}

static void test_a_cut_json_body_is_a_cut(void **state) {
    (void)state;
    answer_is("{\"choices\":[{\"message\":{\"content\":\"h", "retry UAR_E_MODEL_CUT");
}

static void test_a_json_body_without_a_choice_breaks_the_protocol(void **state) {
    (void)state;
    answer_is("{\"ok\":true}", "fail UAR_E_PROTOCOL");
    recorder_clear(&seen);
    answer_is("{\"a\":}", "fail UAR_E_PROTOCOL");
}

/* ---- HTTP errors ---- */

static void http_is(int status, uint32_t after, const char *body, uar_status expected, bool retryable) {
    uar_codec *codec = NULL;
    recorder_clear(&seen);
    model_sink sink = recorder_sink(&seen);
    assert_int_equal(codec_open(&codec, UAR_CODEC_OPENAI, &sink, NULL, NULL), UAR_OK);
    assert_int_equal(uar_codec_http_error(codec, status, after, body, body != NULL ? strlen(body) : 0), expected);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.failure.status, expected);
    assert_int_equal(seen.failure.retryable, retryable);
    assert_int_equal(uar_codec_end(codec), expected);
    uar_codec_free(codec);
}

static void test_http_statuses_are_sorted_by_what_helps(void **state) {
    (void)state;
    http_is(429, 1500, "{\"error\":{\"message\":\"slow\",\"code\":\"rate_limit_exceeded\"}}", UAR_E_MODEL_BUSY, true);
    assert_int_equal(seen.failure.retry_after_ms, 1500);
    assert_string_equal(seen.failure.message, "slow");
    http_is(429, 0, "{\"error\":{\"message\":\"pay\",\"code\":\"insufficient_quota\"}}", UAR_E_MODEL, false);
    http_is(503, 0, NULL, UAR_E_MODEL_BUSY, true);
    assert_string_equal(seen.failure.message, "HTTP 503");
    http_is(529, 0, "<html>", UAR_E_MODEL_BUSY, true);
    http_is(500, 0, "{}", UAR_E_UNAVAILABLE, true);
    http_is(504, 0, "", UAR_E_TIMEOUT, true);
    http_is(401, 0, "{\"error\":{\"message\":\"key\",\"code\":null,\"type\":\"x\"}}", UAR_E_FORBIDDEN, false);
    assert_string_equal(seen.failure.code, "x");
    http_is(403, 0, "[]", UAR_E_FORBIDDEN, false);
    http_is(400, 0, "{\"detail\":1,\"message\":\"bad field\"}", UAR_E_MODEL, false);
    assert_string_equal(seen.failure.message, "bad field");
    http_is(302, 0, NULL, UAR_E_PROTOCOL, false);
}

static void test_the_edges_of_the_status_bands_are_kept(void **state) {
    (void)state;
    http_is(400, 0, NULL, UAR_E_MODEL, false);
    http_is(499, 0, NULL, UAR_E_MODEL, false);
    http_is(500, 0, NULL, UAR_E_UNAVAILABLE, true);
    http_is(599, 0, NULL, UAR_E_UNAVAILABLE, true);
    http_is(600, 0, NULL, UAR_E_PROTOCOL, false);
    http_is(399, 0, NULL, UAR_E_PROTOCOL, false);
    http_is(100, 0, NULL, UAR_E_PROTOCOL, false);
    assert_string_equal(seen.failure.message, "HTTP 100");
    http_is(999, 0, NULL, UAR_E_PROTOCOL, false);
    assert_string_equal(seen.failure.message, "HTTP 999");
    http_is(1000, 0, NULL, UAR_E_PROTOCOL, false);
    assert_string_equal(seen.failure.message, "HTTP 000");
    http_is(-1, 0, NULL, UAR_E_PROTOCOL, false);
    assert_string_equal(seen.failure.message, "HTTP 000");
}

static void test_a_number_as_code_counts_like_an_http_status(void **state) {
    (void)state;
#define CODE(n) "data: {\"error\":{\"message\":\"m\",\"code\":" n "}}\n\n"
    answer_is(CODE("400"), "fail UAR_E_MODEL");
    assert_string_equal(seen.failure.code, "400");
    recorder_clear(&seen);
    answer_is(CODE("401"), "fail UAR_E_FORBIDDEN");
    recorder_clear(&seen);
    answer_is(CODE("599"), "retry UAR_E_UNAVAILABLE");
    recorder_clear(&seen);
    answer_is(CODE("600"), "fail UAR_E_MODEL");
    recorder_clear(&seen);
    answer_is(CODE("399"), "fail UAR_E_MODEL");
}

static void test_an_error_that_is_null_is_none(void **state) {
    (void)state;
    answer_is("data: {\"error\":null,\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n" DONE, "text x\nfinish stop");
}

static void test_a_message_is_one_line_of_valid_text(void **state) {
    (void)state;
    http_is(400, 0, "{\"message\":\"a b\\u0001\\n\\u007f\\ud83d!\"}", UAR_E_MODEL, false);
    assert_string_equal(seen.failure.message, "a b   ??"
                                              "?!");
}

static void test_a_long_message_is_cut_at_a_character(void **state) {
    (void)state;
    char body[1200] = "{\"error\":{\"message\":\"";
    size_t len = strlen(body);
    for (int i = 0; i < 300; i++, len += 3)
        memcpy(body + len, "\xe6\x97\xa5", 3);
    memcpy(body + len, "\"}}", 4);
    http_is(400, 0, body, UAR_E_MODEL, false);
    assert_int_equal(strlen(seen.failure.message), 246);
}

static void test_a_failed_transfer_is_retryable_unless_the_model_had_ended(void **state) {
    (void)state;
    uar_codec *codec = NULL;
    model_sink sink = recorder_sink(&seen);
    assert_int_equal(codec_open(&codec, UAR_CODEC_OPENAI, &sink, NULL, NULL), UAR_OK);
    assert_int_equal(uar_codec_transport_error(codec, UAR_E_NETWORK, "reset"), UAR_E_NETWORK);
    assert_string_equal(seen.log, "retry UAR_E_NETWORK");
    uar_codec_free(codec);
    recorder_clear(&seen);
    assert_int_equal(codec_open(&codec, UAR_CODEC_OPENAI, &sink, NULL, NULL), UAR_OK);
    const char *bytes = DELTA("{\"content\":\"x\"}") FINISH("stop");
    assert_int_equal(uar_codec_feed(codec, bytes, strlen(bytes)), UAR_OK);
    assert_int_equal(uar_codec_transport_error(codec, UAR_E_NETWORK, NULL), UAR_OK);
    assert_string_equal(seen.log, "text x\nfinish stop");
    uar_codec_free(codec);
}

static void transport_is(uar_status status, uar_status expected, const char *message) {
    uar_codec *codec = NULL;
    recorder_clear(&seen);
    model_sink sink = recorder_sink(&seen);
    assert_int_equal(codec_open(&codec, UAR_CODEC_OPENAI, &sink, NULL, NULL), UAR_OK);
    assert_int_equal(uar_codec_feed(codec, "data", 4), UAR_OK);
    assert_int_equal(uar_codec_feed(codec, NULL, 0), UAR_OK);
    assert_int_equal(uar_codec_transport_error(codec, status, NULL), expected);
    assert_int_equal(uar_codec_transport_error(codec, UAR_E_IO, NULL), expected);
    assert_int_equal(uar_codec_http_error(codec, 400, 0, NULL, 0), expected);
    assert_int_equal(uar_codec_feed(codec, ": x\n\n", 5), expected);
    assert_int_equal(uar_codec_end(codec), expected);
    assert_int_equal(seen.ends, 1);
    assert_string_equal(seen.failure.message, message);
    uar_codec_free(codec);
}

static void test_a_failed_transfer_keeps_its_status_and_the_first_end_counts(void **state) {
    (void)state;
    transport_is(UAR_E_TIMEOUT, UAR_E_TIMEOUT, "the time given for it is over");
    transport_is(UAR_OK, UAR_E_NETWORK, "the connection failed");
    transport_is(UAR_E_STALE, UAR_E_NETWORK, "the connection failed");
}

/* ---- the sink ---- */

static void test_a_sink_that_nobody_listens_to_stops_the_codec(void **state) {
    (void)state;
    seen.refusal = UAR_E_STALE;
    seen.refuse_after = 1;
    const char *bytes = DELTA("{\"content\":\"x\"}") DELTA("{\"content\":\"y\"}") DELTA("{\"content\":\"z\"}") DONE;
    assert_int_equal(answer_feed(bytes, strlen(bytes), 0, strlen(bytes), NULL), UAR_E_STALE);
    assert_string_equal(seen.log, "text xy");
    assert_int_equal(seen.ends, 0);
}

static void test_out_of_memory_anywhere_ends_the_call_once_and_leaks_nothing(void **state) {
    (void)state;
    const char *bytes =
        "\xef\xbb\xbf" DELTA("{\"content\":\"\xf0\x9f\",\"reasoning\":\"r\"}") CALL("0", "a", "f", "{\\\"x\\\"")
            CALLS("{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":{\"y\":[1,2]}}}")
                ARGS("0", ":1}") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n" FINISH("stop") DONE;
    for (int for_good = 0; for_good < 2; for_good++) {
        bool fired = true;
        for (size_t n = 1; fired; n++) {
            probe_alloc memory;
            probe_alloc_init(&memory);
            probe_alloc_arm(&memory, n, for_good != 0);
            recorder_clear(&seen);
            uar_codec_options options = { UAR_CODEC_OPTIONS_INIT, .allocator = &memory.door };
            uar_codec *codec = NULL;
            model_sink sink = recorder_sink(&seen);
            uar_status status = codec_open(&codec, UAR_CODEC_OPENAI, &sink, &options, NULL);
            if (status == UAR_OK) {
                status = uar_codec_feed(codec, bytes, strlen(bytes));
                (void)uar_codec_end(codec);
                assert_int_equal(seen.ends, 1);
            } else {
                assert_null(codec);
            }
            fired = probe_alloc_has_failed(&memory);
            assert_int_equal(status, fired ? UAR_E_NOMEM : UAR_OK);
            uar_codec_free(codec);
            assert_int_equal(memory.alive, 0);
            assert_true(n < 1000);
        }
    }
}

static void test_formats_are_named(void **state) {
    (void)state;
    uar_codec_format format;
    assert_int_equal(uar_codec_format_parse(&format, uar_str_of("openai")), UAR_OK);
    assert_int_equal(format, UAR_CODEC_OPENAI);
    assert_int_equal(uar_codec_format_parse(&format, uar_str_of("opena")), UAR_E_NOT_FOUND);
    assert_string_equal(uar_codec_path(UAR_CODEC_OPENAI), "/chat/completions");
    uar_codec *codec = NULL;
    model_sink sink = recorder_sink(&seen);
    assert_int_equal(codec_open(&codec, (uar_codec_format)99, &sink, NULL, NULL), UAR_E_UNSUPPORTED);
    assert_null(codec);
}

static void test_options_of_other_headers_are_read_or_refused(void **state) {
    (void)state;
    struct {
        uar_codec_options known;
        int64_t newer;
    } wide = { { sizeof wide, .max_event_bytes = 10 }, 0 };
    uar_codec_options read;
    assert_int_equal(codec_options_read(&read, &wide.known, NULL), UAR_OK);
    assert_int_equal(read.max_event_bytes, 10);
    wide.newer = 1;
    assert_int_equal(codec_options_read(&read, &wide.known, NULL), UAR_E_STRUCT);
    wide.newer = 0;
    wide.known.reasoning = UAR_REASONING_ALWAYS;
    assert_int_equal(codec_options_read(&read, &wide.known, NULL), UAR_OK);
    wide.known.reasoning = (uar_reasoning_replay)3;
    assert_int_equal(codec_options_read(&read, &wide.known, NULL), UAR_E_INVALID);
    uar_codec_options sizeless = { 0 };
    assert_int_equal(codec_options_read(&read, &sizeless, NULL), UAR_E_STRUCT);
    uar_codec_options narrow = { offsetof(uar_codec_options, max_event_bytes), .max_event_bytes = 10 };
    assert_int_equal(codec_options_read(&read, &narrow, NULL), UAR_OK);
    assert_int_equal(read.max_event_bytes, 16 * 1024 * 1024);
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
        T(test_text_of_a_stream_is_pushed_and_finished),
        T(test_line_ends_may_be_crlf_or_cr),
        T(test_a_byte_order_mark_comments_and_other_fields_are_passed_over),
        T(test_the_end_mark_needs_no_blank_and_no_line_end),
        T(test_an_event_may_span_several_data_lines),
        T(test_what_follows_the_end_mark_is_ignored),
        T(test_other_choices_are_not_heard),
        T(test_a_refusal_is_text),
        T(test_content_may_be_a_list),
        T(test_an_event_over_the_limit_fails),
        T(test_E7_text_cut_at_every_byte_arrives_whole),
        T(test_E7_a_character_cut_between_two_events_passes_through),
        T(test_E7_raw_bytes_leave_other_characters_of_their_event_alone),
        T(test_E7_a_surrogate_pair_cut_between_two_events_passes_through_as_its_halves),
        T(test_a_lone_surrogate_of_a_clean_event_is_not_taken_for_a_byte),
        T(test_a_null_character_is_replaced),
        T(test_fragments_are_joined_by_index),
        T(test_index_zero_for_every_call_with_different_ids_makes_different_calls),
        T(test_index_zero_for_every_call_without_ids_is_told_apart_by_name_and_whole_arguments),
        T(test_an_absent_index_with_a_new_id_is_a_new_call),
        T(test_an_absent_index_with_a_known_id_goes_on_with_that_call),
        T(test_index_zero_for_calls_that_interleave_is_sorted_by_id),
        T(test_an_index_that_later_pieces_leave_out_changes_nothing),
        T(test_calls_of_one_chunk_without_arguments_and_ids_are_different_calls),
        T(test_a_new_id_without_index_never_joins_a_call_without_id),
        T(test_whole_calls_without_index_and_id_in_one_chunk_are_different_calls),
        T(test_explicit_indexes_keep_gaps_and_order),
        T(test_a_new_explicit_index_is_a_new_call_even_with_the_same_id),
        T(test_an_index_that_an_earlier_call_had_to_take_is_replaced),
        T(test_an_absurd_index_is_not_taken_over),
        T(test_too_many_calls_fail),
        T(test_arguments_over_the_limit_fail_however_many_pieces_they_come_in),
        T(test_id_and_name_repeated_in_every_piece_are_pushed_once),
        T(test_a_name_repeated_without_id_goes_on_with_the_call),
        T(test_a_name_that_comes_after_the_id_belongs_to_the_call),
        T(test_whole_arguments_repeated_at_the_end_are_dropped),
        T(test_brackets_and_quotes_inside_strings_dont_close_the_arguments),
        T(test_empty_arguments_stay_empty),
        T(test_arguments_sent_as_an_object_become_text),
        T(test_the_old_function_call_is_a_call),
        T(test_stop_with_calls_finishes_as_tool_calls),
        T(test_tool_calls_without_calls_finishes_as_stop),
        T(test_T2_length_with_calls_stays_length_whatever_comes_later),
        T(test_a_withheld_answer_says_so),
        T(test_a_cut_or_a_filter_outweighs_any_other_reason),
        T(test_an_unknown_reason_is_an_ordinary_end),
        T(test_chunks_without_choices_are_harmless),
        T(test_B2_usage_becomes_exclusive_buckets),
        T(test_usage_reported_again_is_never_added),
        T(test_usage_that_is_all_cache_or_all_reasoning_leaves_nothing_else),
        T(test_figures_that_are_no_counts_are_ignored),
        T(test_a_cache_beside_the_prompt_is_not_taken_off),
        T(test_reasoning_beside_the_completion_is_counted_into_output),
        T(test_no_usage_is_unknown),
        T(test_the_end_of_bytes_without_end_mark_or_reason_is_a_cut),
        T(test_an_empty_body_is_a_cut),
        T(test_an_event_cut_inside_its_json_is_a_cut),
        T(test_the_end_of_bytes_after_a_finish_reason_is_an_end),
        T(test_an_end_mark_without_any_choice_breaks_the_protocol),
        T(test_an_error_inside_a_stream_fails_the_call),
        T(test_an_error_that_may_pass_is_retryable),
        T(test_an_error_as_plain_text_or_bare_line_is_heard),
        T(test_an_event_that_is_no_json_breaks_the_protocol),
        T(test_a_body_that_is_a_page_breaks_the_protocol),
        T(test_a_json_body_is_read_whole),
        T(test_a_json_body_may_begin_with_a_byte_order_mark),
        T(test_each_call_of_a_json_body_is_a_call_of_its_own),
        T(test_a_json_body_may_be_an_error),
        T(test_a_cut_json_body_is_a_cut),
        T(test_a_json_body_without_a_choice_breaks_the_protocol),
        T(test_http_statuses_are_sorted_by_what_helps),
        T(test_the_edges_of_the_status_bands_are_kept),
        T(test_a_number_as_code_counts_like_an_http_status),
        T(test_an_error_that_is_null_is_none),
        T(test_a_message_is_one_line_of_valid_text),
        T(test_a_long_message_is_cut_at_a_character),
        T(test_a_failed_transfer_is_retryable_unless_the_model_had_ended),
        T(test_a_failed_transfer_keeps_its_status_and_the_first_end_counts),
        T(test_a_sink_that_nobody_listens_to_stops_the_codec),
        T(test_out_of_memory_anywhere_ends_the_call_once_and_leaks_nothing),
        T(test_formats_are_named),
        T(test_options_of_other_headers_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
