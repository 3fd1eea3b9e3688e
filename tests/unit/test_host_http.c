/* The HTTP host of the example program against a server of its own on the loopback, and the model specs. */
#include "test_model_stream_fake.h"

#include "../../examples/cli/host_file.c"
#include "../../examples/cli/host_http.c"
#include "../../examples/cli/host_replay.c"
#include "../../examples/cli/host_script.c"
#include "../../examples/cli/model_spec.c"
#include "model/codec_stream.c"
#include "model/offline_model.c"
#include "model/script_stream.c"
#include "model/sink_stream.c"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>

/* ---- the server: what the last path element says, it does ---- */

typedef struct server {
    struct MHD_Daemon *daemon;
    char base[64];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char path[64], method[16], authorization[64], type[64];
    char body[4096];
    size_t body_len;
    int left; /* answers whose client has left or that are over */
} server;

static server web;

#define STREAM                                                                   \
    "data: {\"choices\":[{\"delta\":{\"content\":\"gr\xc3\xbc\xc3\x9f\"}}]}\n\n" \
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

/* One byte a call, so that nothing is whole in a packet. */
static ssize_t slow_read(void *ctx, uint64_t at, char *out, size_t max) {
    (void)ctx;
    if (at >= strlen(STREAM)) return MHD_CONTENT_READER_END_OF_STREAM;
    assert_true(max > 0);
    out[0] = STREAM[at];
    return 1;
}

/* A beginning, then nothing. */
static ssize_t hanging_read(void *ctx, uint64_t at, char *out, size_t max) {
    static const char text[] = "data: {\"choices\":[{\"delta\":{\"content\":\"begun\"}}]}\n\n";
    (void)ctx;
    if (at >= sizeof text - 1) {
        struct timespec nap = { 0, 5000000 };
        (void)nanosleep(&nap, NULL);
        out[0] = ':'; /* a comment without end: the client's silence shows when it leaves */
        return 1;
    }
    size_t n = sizeof text - 1 - (size_t)at;
    if (n > max) n = max;
    memcpy(out, text + at, n);
    return (ssize_t)n;
}

static ssize_t cut_read(void *ctx, uint64_t at, char *out, size_t max) {
    (void)ctx;
    if (at > 0) return MHD_CONTENT_READER_END_WITH_ERROR;
    static const char text[] = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
    assert_true(max >= sizeof text);
    memcpy(out, text, sizeof text - 1);
    return (ssize_t)(sizeof text - 1);
}

static void answer_over(void *ctx) {
    (void)ctx;
    pthread_mutex_lock(&web.lock);
    web.left++;
    pthread_cond_broadcast(&web.changed);
    pthread_mutex_unlock(&web.lock);
}

static struct MHD_Response *text_response(const char *text) {
    return MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
}

static void header_keep(char *out, size_t cap, struct MHD_Connection *c, const char *name) {
    const char *value = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
    (void)snprintf(out, cap, "%s", value != NULL ? value : "");
}

static enum MHD_Result respond(struct MHD_Connection *c, const char *path) {
    unsigned status = MHD_HTTP_OK;
    struct MHD_Response *r;
    if (strncmp(path, "/slow/", 6) == 0) {
        r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 64, slow_read, NULL, answer_over);
    } else if (strncmp(path, "/hang/", 6) == 0) {
        r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 256, hanging_read, NULL, answer_over);
    } else if (strncmp(path, "/cut/", 5) == 0) {
        r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 256, cut_read, NULL, answer_over);
    } else if (strncmp(path, "/busy/", 6) == 0) {
        status = 429;
        r = text_response("{\"error\":{\"message\":\"slow down\",\"code\":\"rate_limit_exceeded\"}}");
        (void)MHD_add_response_header(r, "Retry-After", "7");
    } else if (strncmp(path, "/moved/", 7) == 0) {
        status = 302;
        r = text_response("");
        (void)MHD_add_response_header(r, "Location", "/slow/chat/completions");
    } else {
        r = text_response("{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}");
    }
    enum MHD_Result result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
                              const char *version, const char *data, size_t *len, void **request) {
    static int begun;
    (void)ctx;
    (void)version;
    if (*request == NULL) {
        *request = &begun;
        pthread_mutex_lock(&web.lock);
        web.body_len = 0;
        (void)snprintf(web.path, sizeof web.path, "%s", path);
        (void)snprintf(web.method, sizeof web.method, "%s", method);
        header_keep(web.authorization, sizeof web.authorization, c, "Authorization");
        header_keep(web.type, sizeof web.type, c, "Content-Type");
        pthread_mutex_unlock(&web.lock);
        return MHD_YES;
    }
    if (*len > 0) {
        pthread_mutex_lock(&web.lock);
        if (web.body_len + *len < sizeof web.body) {
            memcpy(web.body + web.body_len, data, *len);
            web.body_len += *len;
        }
        web.body[web.body_len] = '\0';
        pthread_mutex_unlock(&web.lock);
        *len = 0;
        return MHD_YES;
    }
    return respond(c, path);
}

static int server_begin(void **state) {
    (void)state;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    (void)pthread_mutex_init(&web.lock, NULL);
    (void)pthread_cond_init(&web.changed, NULL);
    web.daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL,
                                  handle, NULL, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_END);
    if (web.daemon == NULL) return -1;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(web.daemon, MHD_DAEMON_INFO_BIND_PORT);
    (void)snprintf(web.base, sizeof web.base, "http://127.0.0.1:%u", (unsigned)info->port);
    return 0;
}

static int server_end(void **state) {
    (void)state;
    MHD_stop_daemon(web.daemon);
    (void)pthread_cond_destroy(&web.changed);
    (void)pthread_mutex_destroy(&web.lock);
    return 0;
}

/* ---- calls ---- */

static void model_open(uar_model *out, const char *base, const char *path, const char *key) {
    char url[128];
    (void)snprintf(url, sizeof url, "%s%s", base, path);
    host_http_options options = { .format = UAR_CODEC_OPENAI, .url = url, .model = "tiny", .key = key };
    assert_int_equal(host_http_model(out, &options, NULL), UAR_OK);
}

static void call_begin(const uar_model *model, uar_stream *stream) {
    uar_part part = { .type = UAR_PART_TEXT, .text = uar_str_of("hello") };
    uar_model_message message = { UAR_ROLE_USER, &part, 1 };
    uar_model_request request = { .size = sizeof request, .messages = &message, .message_count = 1, .temperature = -1 };
    fake_stream_init(stream);
    model->start(model->ctx, &request, stream);
}

static void call_is(const char *path, const char *expected, uar_stream *stream) {
    uar_model model;
    model_open(&model, web.base, path, NULL);
    call_begin(&model, stream);
    assert_true(fake_stream_wait(stream));
    assert_string_equal(stream->log, expected);
    assert_true(stream->has_end);
    fake_stream_dispose(stream);
    model.destroy(model.ctx);
}

static void test_the_request_reaches_the_server(void **state) {
    (void)state;
    uar_model model;
    uar_stream stream;
    model_open(&model, web.base, "/whole/v1/", "secret");
    assert_string_equal(model.name, "tiny");
    call_begin(&model, &stream);
    assert_true(fake_stream_wait(&stream));
    assert_string_equal(stream.log, "whole[finish stop]");
    assert_string_equal(web.path, "/whole/v1/chat/completions");
    assert_string_equal(web.method, "POST");
    assert_string_equal(web.authorization, "Bearer secret");
    assert_string_equal(web.type, "application/json");
    assert_string_equal(web.body, "{\"model\":\"tiny\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
                                  "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}");
    fake_stream_dispose(&stream);
    model.destroy(model.ctx);
}

static void test_E7_a_stream_that_comes_byte_by_byte_is_whole(void **state) {
    (void)state;
    uar_stream stream;
    call_is("/slow", "gr\xc3\xbc\xc3\x9f[finish stop]", &stream);
}

static void test_an_http_error_is_told_with_its_time_to_wait(void **state) {
    (void)state;
    uar_stream stream;
    call_is("/busy", "[fail UAR_E_MODEL_BUSY rate_limit_exceeded slow down]", &stream);
    assert_true(stream.retryable);
    assert_int_equal(stream.retry_after_ms, 7000);
}

static void test_a_redirect_is_not_followed(void **state) {
    (void)state;
    uar_stream stream;
    call_is("/moved", "[fail UAR_E_PROTOCOL - HTTP 302]", &stream);
    assert_false(stream.retryable);
}

static void test_a_transfer_that_breaks_is_a_network_error(void **state) {
    (void)state;
    uar_stream stream;
    uar_model model;
    model_open(&model, web.base, "/cut", NULL);
    call_begin(&model, &stream);
    assert_true(fake_stream_wait(&stream));
    assert_int_equal(stream.status, UAR_E_NETWORK);
    assert_true(stream.retryable);
    assert_int_equal(strncmp(stream.log, "x[fail ", 7), 0);
    fake_stream_dispose(&stream);
    model.destroy(model.ctx);
}

static void test_a_server_that_isnt_there_is_a_network_error(void **state) {
    (void)state;
    uar_stream stream;
    uar_model model;
    model_open(&model, "http://127.0.0.1:1", "/v1", NULL);
    call_begin(&model, &stream);
    assert_true(fake_stream_wait(&stream));
    assert_int_equal(stream.status, UAR_E_NETWORK);
    assert_true(stream.retryable);
    fake_stream_dispose(&stream);
    model.destroy(model.ctx);
}

static void test_X1_cancel_closes_the_transfer_at_once(void **state) {
    (void)state;
    uar_stream stream;
    uar_model model;
    model_open(&model, web.base, "/hang", NULL);
    call_begin(&model, &stream);
    assert_true(fake_stream_wait_push(&stream));
    pthread_mutex_lock(&web.lock);
    int left = web.left;
    pthread_mutex_unlock(&web.lock);
    fake_stream_close(&stream);
    model.cancel(model.ctx, &stream);
    assert_true(fake_stream_wait(&stream));
    assert_string_equal(stream.log, "begun");
    pthread_mutex_lock(&web.lock);
    while (web.left == left) /* the server sees its client leave */
        (void)pthread_cond_wait(&web.changed, &web.lock);
    pthread_mutex_unlock(&web.lock);
    fake_stream_dispose(&stream);
    model.destroy(model.ctx);
}

static void test_N2_destroying_the_model_gives_open_calls_back(void **state) {
    (void)state;
    uar_stream stream;
    uar_model model;
    model_open(&model, web.base, "/hang", NULL);
    call_begin(&model, &stream);
    assert_true(fake_stream_wait_push(&stream));
    model.destroy(model.ctx);
    assert_int_equal(stream.refs, 1);
    fake_stream_dispose(&stream);
}

static void test_a_request_that_cant_be_written_fails_the_call(void **state) {
    (void)state;
    uar_stream stream;
    uar_model model;
    model_open(&model, web.base, "/whole", NULL);
    uar_part part = { .type = UAR_PART_IMAGE };
    uar_model_message message = { UAR_ROLE_USER, &part, 1 };
    uar_model_request request = { .size = sizeof request, .messages = &message, .message_count = 1 };
    fake_stream_init(&stream);
    model.start(model.ctx, &request, &stream);
    assert_int_equal(stream.status, UAR_E_UNSUPPORTED);
    assert_int_equal(stream.refs, 1);
    fake_stream_dispose(&stream);
    model.destroy(model.ctx);
}

/* ---- specs ---- */

static void spec_refused(const char *spec, uar_status expected, const char *needle) {
    uar_model model = { 0 };
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(model_spec_open(&model, spec, 1, &err), expected);
    assert_int_equal(err.code, expected);
    assert_non_null(strstr(err.message, needle));
    assert_null(model.start);
}

static void test_specs_that_name_no_model_are_refused(void **state) {
    (void)state;
    spec_refused("", UAR_E_INVALID, "no such model");
    spec_refused("offline2", UAR_E_INVALID, "offline2");
    spec_refused("script:/none/at/all", UAR_E_NOT_FOUND, "/none/at/all");
    spec_refused("replay:openai", UAR_E_INVALID, "FORMAT");
    spec_refused("replay:openai:", UAR_E_INVALID, "FORMAT");
    spec_refused("replay:other:x", UAR_E_INVALID, "format");
    spec_refused("replay:ollama:x", UAR_E_UNSUPPORTED, "not in this version");
    spec_refused("replay:openai:/none?chunk=0", UAR_E_INVALID, "chunk");
    spec_refused("replay:openai:/none?chunk=3x", UAR_E_INVALID, "chunk");
    spec_refused("replay:openai:/none?chunk=3", UAR_E_NOT_FOUND, ": /none");
    spec_refused("openai:http://127.0.0.1:1/v1", UAR_E_INVALID, "#NAME");
    spec_refused("openai:http://127.0.0.1:1/v1#", UAR_E_INVALID, "#NAME");
    spec_refused("openai:ftp://x#m", UAR_E_INVALID, "http://");
    spec_refused("responses:http://x#m", UAR_E_UNSUPPORTED, "not in this version");
    spec_refused("anthropic:http://x#m", UAR_E_UNSUPPORTED, "not in this version");
    spec_refused("ollama:http://x#m", UAR_E_UNSUPPORTED, "not in this version");
    spec_refused("gguf:/x", UAR_E_UNSUPPORTED, "not in this version");
}

static void test_a_key_that_would_break_the_header_is_refused(void **state) {
    (void)state;
    uar_model model = { 0 };
    host_http_options options = { .format = UAR_CODEC_OPENAI, .url = "http://x", .model = "m", .key = "a\r\nHost: y" };
    assert_int_equal(host_http_model(&model, &options, NULL), UAR_E_INVALID);
}

static void test_specs_open_their_models(void **state) {
    (void)state;
    uar_model model = { 0 };
    assert_int_equal(model_spec_open(&model, "offline", 1, NULL), UAR_OK);
    assert_ptr_equal(model.start, uar_model_offline()->start);
    assert_null(model.destroy);
    char spec[128];
    (void)snprintf(spec, sizeof spec, "openai:%s/whole#tiny", web.base);
    assert_int_equal(model_spec_open(&model, spec, 1, NULL), UAR_OK);
    assert_string_equal(model.name, "tiny");
    model.destroy(model.ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_request_reaches_the_server),
        cmocka_unit_test(test_E7_a_stream_that_comes_byte_by_byte_is_whole),
        cmocka_unit_test(test_an_http_error_is_told_with_its_time_to_wait),
        cmocka_unit_test(test_a_redirect_is_not_followed),
        cmocka_unit_test(test_a_transfer_that_breaks_is_a_network_error),
        cmocka_unit_test(test_a_server_that_isnt_there_is_a_network_error),
        cmocka_unit_test(test_X1_cancel_closes_the_transfer_at_once),
        cmocka_unit_test(test_N2_destroying_the_model_gives_open_calls_back),
        cmocka_unit_test(test_a_request_that_cant_be_written_fails_the_call),
        cmocka_unit_test(test_specs_that_name_no_model_are_refused),
        cmocka_unit_test(test_a_key_that_would_break_the_header_is_refused),
        cmocka_unit_test(test_specs_open_their_models),
    };
    return cmocka_run_group_tests(tests, server_begin, server_end);
}
