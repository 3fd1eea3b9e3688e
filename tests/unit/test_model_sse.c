/* The reader of event streams, by itself: every text is fed whole, cut in two at every byte, and byte by byte. */
#include "test_model_recorder.h"

#include "model/sse.h"

static recorder seen;
static uar_status answer; /* of the handler */

static uar_status on_event(void *ctx, uar_str name, uar_str data) {
    recorder *r = ctx;
    record_line(r, "event", false);
    record_bytes(r, name.ptr, name.len);
    record_bytes(r, "|", 1);
    record_bytes(r, data.ptr, data.len);
    return answer;
}

static uar_status on_stray(void *ctx, uar_str line) {
    record_line(ctx, "stray", false);
    record_bytes(ctx, line.ptr, line.len);
    return UAR_OK;
}

static uar_status read_cut(const char *text, size_t cut, size_t step, size_t max) {
    sse_reader reader;
    sse_handler handler = { &seen, on_event, on_stray };
    size_t len = strlen(text);
    sse_init(&reader, &alloc_default, max, handler);
    uar_status status = UAR_OK;
    for (size_t at = 0; at < len && status == UAR_OK;) {
        size_t n = at < cut ? cut - at : step;
        if (n > len - at) n = len - at;
        status = sse_feed(&reader, uar_str_n(text + at, n));
        at += n;
    }
    if (status == UAR_OK) status = sse_end(&reader);
    sse_dispose(&reader);
    return status;
}

static void read_is_max(const char *text, size_t max, uar_status expected, const char *log) {
    size_t len = strlen(text);
    for (size_t cut = 0; cut <= len; cut++) {
        recorder_clear(&seen);
        assert_int_equal(read_cut(text, cut, cut == 0 ? 1 : len, max), expected);
        assert_string_equal(seen.log, log);
    }
}

static void read_is(const char *text, const char *log) {
    read_is_max(text, 1000, UAR_OK, log);
}

static void test_data_and_name_make_an_event(void **state) {
    (void)state;
    read_is("event: ping\ndata: x\n\n", "event ping|x");
    read_is("data:x\nevent:ping\n\ndata:y\n\n", "event ping|x\nevent |y");
}

static void test_one_blank_is_taken_off_and_no_more(void **state) {
    (void)state;
    read_is("data:  x \n\ndata:\ndata: \n\n", "event | x \nevent |\n");
}

static void test_data_lines_are_joined_with_a_line_feed(void **state) {
    (void)state;
    read_is("data: a\ndata\ndata: b\n\n", "event |a\n\nb");
}

static void test_an_event_without_data_is_none(void **state) {
    (void)state;
    read_is("event: ping\n\n: comment\n\n\n\ndata: x\n\n", "event |x");
}

static void test_all_line_ends_are_read(void **state) {
    (void)state;
    read_is("data: a\r\n\r\ndata: b\r\rdata: c\n\n\r\ndata: d\n\r", "event |a\nevent |b\nevent |c\nevent |d");
}

static void test_a_mark_at_the_start_is_dropped_and_nowhere_else(void **state) {
    (void)state;
    read_is("\xef\xbb\xbf"
            "data: a\n\n",
            "event |a");
    read_is("data: a\n\n\xef\xbb\xbf"
            "data: b\n\n",
            "event |a\nstray \xef\xbb\xbf"
            "data: b");
    read_is("\xef\xbb"
            "data: a\n\n",
            "stray \xef\xbb"
            "data: a");
}

static void test_ids_and_retries_are_fields(void **state) {
    (void)state;
    read_is("id: 1\nid\nretry: 5\ndata: x\n\n", "event |x");
}

static void test_other_lines_are_strays(void **state) {
    (void)state;
    read_is("{\"error\":1}\ndat: x\n data: y\n", "stray {\"error\":1}\nstray dat: x\nstray  data: y");
}

static void test_an_event_that_the_end_cut_is_handed_out(void **state) {
    (void)state;
    read_is("data: a\n\ndata: b", "event |a\nevent |b");
    read_is("data: a\n", "event |a");
}

static void test_lines_and_events_over_the_limit_are_refused(void **state) {
    (void)state;
    read_is_max("data: a\n\ndata: 0123456789\n\n", 12, UAR_E_TOO_LARGE, "event |a");
    read_is_max("data: 012345\ndata: 012345\n\n", 12, UAR_E_TOO_LARGE, "");
    read_is_max("data: 012345\n\n", 12, UAR_OK, "event |012345");
}

static void test_what_the_handler_answers_stops_the_reader(void **state) {
    (void)state;
    answer = UAR_E_STALE;
    read_is_max("data: a\n\ndata: b\n\n", 100, UAR_E_STALE, "event |a");
    answer = UAR_OK;
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
        T(test_data_and_name_make_an_event),
        T(test_one_blank_is_taken_off_and_no_more),
        T(test_data_lines_are_joined_with_a_line_feed),
        T(test_an_event_without_data_is_none),
        T(test_all_line_ends_are_read),
        T(test_a_mark_at_the_start_is_dropped_and_nowhere_else),
        T(test_ids_and_retries_are_fields),
        T(test_other_lines_are_strays),
        T(test_an_event_that_the_end_cut_is_handed_out),
        T(test_lines_and_events_over_the_limit_are_refused),
        T(test_what_the_handler_answers_stops_the_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
