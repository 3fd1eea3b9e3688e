/* Models of the example program that read files: scripts and recordings; and the adapters to the model door. */
#include "test_model_stream_fake.h"

#include "../../examples/cli/host_file.c"
#include "../../examples/cli/host_replay.c"
#include "../../examples/cli/host_script.c"
#include "model/codec_stream.c"
#include "model/offline_model.c"
#include "model/script_stream.c"
#include "model/sink_stream.c"

#include <unistd.h>

static char folder[64];
static char path[128];

static const char *path_of(const char *name) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *file_write(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    return path;
}

/* Make one call and wait for its end. */
static void call_is(const uar_model *model, const char *expected) {
    uar_model_request request = { .size = sizeof request };
    uar_stream stream;
    fake_stream_init(&stream);
    model->start(model->ctx, &request, &stream);
    assert_true(fake_stream_wait(&stream));
    assert_string_equal(stream.log, expected);
    assert_true(stream.has_end);
    fake_stream_dispose(&stream);
}

#define LINE_A "{\"events\":[{\"text\":\"a\"},{\"sleep_ms\":20},{\"text\":\"A\"},{\"finish\":\"stop\"}]}\n"
#define LINE_B "{\"events\":[{\"text\":\"b\"}]}\n"
#define LINE_SLOW "{\"events\":[{\"text\":\"s\"},{\"sleep_ms\":60000},{\"finish\":\"stop\"}]}\n"

#define CUT "[fail UAR_E_MODEL_CUT - line 2 of the script ends without finish or error]"
#define EXHAUSTED "[fail UAR_E_SCRIPT_EXHAUSTED - the script has no more lines]"

static void test_each_call_plays_the_next_line_until_the_script_is_exhausted(void **state) {
    (void)state;
    uar_model model;
    assert_int_equal(host_script_model(&model, file_write("s", LINE_A LINE_B), 0, NULL), UAR_OK);
    assert_string_equal(model.name, "script");
    call_is(&model, "aA[finish stop]");
    call_is(&model, "b" CUT);
    call_is(&model, EXHAUSTED);
    model.destroy(model.ctx);
}

static void test_a_script_starts_at_the_line_that_is_asked_for(void **state) {
    (void)state;
    uar_model model;
    assert_int_equal(host_script_model(&model, file_write("s", "not json\n" LINE_B), 2, NULL), UAR_OK);
    call_is(&model, "b" CUT);
    model.destroy(model.ctx);
}

static void test_a_bad_line_is_refused_when_the_script_is_opened(void **state) {
    (void)state;
    uar_model model = { 0 };
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(host_script_model(&model, file_write("s", LINE_A "{\"events\":[{\"x\":1}]}\n"), 1, &err),
                     UAR_E_INVALID);
    assert_non_null(strstr(err.message, "line 2: event 1: unknown key x"));
    assert_non_null(strstr(err.message, "/s: "));
    assert_null(model.start);
    assert_int_equal(host_script_model(&model, path_of("none"), 1, &err), UAR_E_NOT_FOUND);
}

static void test_a_cancelled_call_is_given_back_at_once(void **state) {
    (void)state;
    uar_model model;
    assert_int_equal(host_script_model(&model, file_write("s", LINE_SLOW LINE_A), 1, NULL), UAR_OK);
    uar_model_request request = { .size = sizeof request };
    uar_stream slow;
    fake_stream_init(&slow);
    model.start(model.ctx, &request, &slow);
    call_is(&model, "aA[finish stop]"); /* calls don't wait for each other */
    fake_stream_close(&slow);
    model.cancel(model.ctx, &slow);
    assert_true(fake_stream_wait(&slow));
    assert_string_equal(slow.log, "s");
    fake_stream_dispose(&slow);
    model.destroy(model.ctx);
}

static void test_N2_destroying_a_script_gives_back_the_calls_that_sleep(void **state) {
    (void)state;
    uar_model model;
    assert_int_equal(host_script_model(&model, file_write("s", LINE_SLOW), 1, NULL), UAR_OK);
    uar_model_request request = { .size = sizeof request };
    uar_stream slow;
    fake_stream_init(&slow);
    model.start(model.ctx, &request, &slow);
    model.destroy(model.ctx);
    assert_int_equal(slow.refs, 1);
    fake_stream_dispose(&slow);
}

static void test_X2_calls_cancelled_at_any_moment_are_given_back(void **state) {
    (void)state;
    char script[64 * 100];
    size_t len = 0;
    for (int i = 0; i < 64; i++)
        len += (size_t)snprintf(
            script + len, sizeof script - len, "%s",
            i % 2 == 0 ? "{\"events\":[{\"text\":\"a\"},{\"sleep_ms\":1},{\"text\":\"b\"},{\"finish\":\"stop\"}]}\n"
                       : LINE_SLOW);
    uar_model model;
    assert_int_equal(host_script_model(&model, file_write("s", script), 1, NULL), UAR_OK);
    uar_model_request request = { .size = sizeof request };
    uar_stream streams[64];
    for (int i = 0; i < 64; i++) {
        fake_stream_init(&streams[i]);
        model.start(model.ctx, &request, &streams[i]);
        struct timespec nap = { 0, 1000 * (i % 7) * 100 };
        (void)nanosleep(&nap, NULL);
        if (i % 2 == 0) continue;
        fake_stream_close(&streams[i]);
        model.cancel(model.ctx, &streams[i]);
        model.cancel(model.ctx, &streams[i]);
    }
    for (int i = 0; i < 64; i++) {
        assert_true(fake_stream_wait(&streams[i]));
        if (i % 2 == 0) assert_string_equal(streams[i].log, "ab[finish stop]");
        model.cancel(model.ctx, &streams[i]);
        fake_stream_dispose(&streams[i]);
    }
    model.destroy(model.ctx);
}

/* ---- recordings ---- */

#define BODY(text) \
    "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

static void test_E7_a_recording_is_fed_in_pieces_of_any_size(void **state) {
    (void)state;
    for (size_t chunk = 0; chunk < 9; chunk++) {
        uar_model model;
        file_write("r.bin", BODY("\xf0\x9f\x98\x80!"));
        assert_int_equal(host_replay_model(&model, UAR_CODEC_OPENAI, path_of("r.bin"), chunk, NULL), UAR_OK);
        call_is(&model, "\xf0\x9f\x98\x80![finish stop]");
        call_is(&model, EXHAUSTED);
        model.destroy(model.ctx);
    }
}

static void test_a_directory_holds_one_body_a_call(void **state) {
    (void)state;
    uar_model model;
    file_write("001.bin", BODY("one"));
    file_write("002.bin", "data: {\"choices\":[{\"delta\":{\"content\":\"two\"}}]}\n\n");
    file_write("004.bin", BODY("never"));
    assert_int_equal(host_replay_model(&model, UAR_CODEC_OPENAI, folder, 3, NULL), UAR_OK);
    call_is(&model, "one[finish stop]");
    call_is(&model, "two[fail UAR_E_MODEL_CUT - the answer ended without an end mark or a finish reason]");
    call_is(&model, EXHAUSTED);
    model.destroy(model.ctx);
    (void)remove(path_of("001.bin"));
    (void)remove(path_of("002.bin"));
    (void)remove(path_of("004.bin"));
}

static void test_a_recording_that_is_missing_is_not_found(void **state) {
    (void)state;
    uar_model model;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(host_replay_model(&model, UAR_CODEC_OPENAI, path_of("none"), 0, &err), UAR_E_NOT_FOUND);
    assert_int_equal(err.code, UAR_E_NOT_FOUND);
    assert_int_equal(host_replay_model(&model, UAR_CODEC_OPENAI, folder, 0, NULL), UAR_E_NOT_FOUND);
}

/* ---- adapters ---- */

static void test_the_offline_model_streams_through_the_door(void **state) {
    (void)state;
    const uar_model *model = uar_model_offline();
    assert_string_equal(model->name, "offline");
    assert_int_equal(model->struct_size, sizeof *model);
    call_is(model, "I am not a language model: I only quote what is stored.[finish stop]");
}

static void test_a_codec_pushes_everything_through_the_door(void **state) {
    (void)state;
    uar_stream stream;
    uar_codec *codec = NULL;
    fake_stream_init(&stream);
    assert_int_equal(uar_codec_new(&codec, UAR_CODEC_OPENAI, &stream, NULL, NULL), UAR_OK);
    const char *body =
        "{\"choices\":[{\"message\":{\"content\":\"x\",\"reasoning\":\"r\",\"tool_calls\":[{\"id\":\"c\","
        "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}],\"usage\":{\"prompt_tokens\":3}}";
    assert_int_equal(uar_codec_feed(codec, body, strlen(body)), UAR_OK);
    assert_int_equal(uar_codec_end(codec), UAR_OK);
    uar_codec_free(codec);
    assert_string_equal(stream.log,
                        "[reasoning r]x[call 0 c f {}][usage][opaque {\"openai\":\"reasoning\"}][finish tool_calls]");
    assert_int_equal(stream.usage.input, 3);
    assert_int_equal(stream.refs, 1);
    assert_int_equal(uar_codec_new(&codec, (uar_codec_format)9, &stream, NULL, NULL), UAR_E_UNSUPPORTED);
    assert_int_equal(stream.refs, 1);
    fake_stream_dispose(&stream);
}

static void test_a_codec_fails_through_the_door(void **state) {
    (void)state;
    uar_stream stream;
    uar_codec *codec = NULL;
    fake_stream_init(&stream);
    assert_int_equal(uar_codec_new(&codec, UAR_CODEC_OPENAI, &stream, NULL, NULL), UAR_OK);
    const char *body = "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\"}}";
    assert_int_equal(uar_codec_http_error(codec, 429, 250, body, strlen(body)), UAR_E_MODEL_BUSY);
    uar_codec_free(codec);
    assert_string_equal(stream.log, "[fail UAR_E_MODEL_BUSY rate_limit_exceeded slow down]");
    assert_true(stream.retryable);
    assert_int_equal(stream.retry_after_ms, 250);
    fake_stream_dispose(&stream);
}

static int group_setup(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/uar-hosts-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int group_teardown(void **state) {
    (void)state;
    (void)remove(path_of("s"));
    (void)remove(path_of("r.bin"));
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call_plays_the_next_line_until_the_script_is_exhausted),
        cmocka_unit_test(test_a_script_starts_at_the_line_that_is_asked_for),
        cmocka_unit_test(test_a_bad_line_is_refused_when_the_script_is_opened),
        cmocka_unit_test(test_a_cancelled_call_is_given_back_at_once),
        cmocka_unit_test(test_N2_destroying_a_script_gives_back_the_calls_that_sleep),
        cmocka_unit_test(test_X2_calls_cancelled_at_any_moment_are_given_back),
        cmocka_unit_test(test_E7_a_recording_is_fed_in_pieces_of_any_size),
        cmocka_unit_test(test_a_directory_holds_one_body_a_call),
        cmocka_unit_test(test_a_recording_that_is_missing_is_not_found),
        cmocka_unit_test(test_the_offline_model_streams_through_the_door),
        cmocka_unit_test(test_a_codec_pushes_everything_through_the_door),
        cmocka_unit_test(test_a_codec_fails_through_the_door),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
