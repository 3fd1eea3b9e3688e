/* The embedding service of the example program against a server of its own on the loopback, and the embedder specs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <uar/memory.h>

#include "base/completion.h"
#include "base/lock.h"
#include "embedder_spec.h"
#include "host_embed.h"

/* ---- the server: what the first path element says, it does ---- */

typedef struct server {
    struct MHD_Daemon *daemon;
    char base[64];
    pthread_mutex_t lock;
    char path[64], method[16], authorization[64], type[64];
    char body[4096];
    size_t body_len;
    int requests;
} server;

static server web;

static struct MHD_Response *text_response(const char *text) {
    return MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
}

/* Each text becomes [its length, 1, 2.5]; what the texts are is seen by counting strings behind "input". */
static struct MHD_Response *vectors_response(const char *way) {
    char out[2048] = "{\"object\":\"list\",\"data\":[", item[96];
    char inputs[16][64];
    size_t count = 0;
    const char *at = strstr(web.body, "\"input\":[");
    for (at = at != NULL ? at + 9 : ""; *at == '"' && count < 16; at += *at == ',' ? 1 : 0) {
        const char *end = strchr(at + 1, '"');
        (void)snprintf(inputs[count++], sizeof inputs[0], "%.*s", (int)(end - at - 1), at + 1);
        at = end + 1;
    }
    bool backwards = strcmp(way, "backwards") == 0;
    for (size_t n = 0; n < count; n++) {
        size_t i = backwards ? count - 1 - n : n;
        if (strcmp(way, "few") == 0 && n > 0) break;
        (void)snprintf(item, sizeof item, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":[%zu,%s2.5e0]}",
                       n > 0 ? "," : "", strcmp(way, "twice") == 0 ? 0 : i, strlen(inputs[i]),
                       strcmp(way, "ragged") == 0 && n > 0 ? "" : "1,");
        (void)strncat(out, item, sizeof out - strlen(out) - 1);
    }
    (void)strncat(out, "],\"model\":\"tiny\"}", sizeof out - strlen(out) - 1);
    return MHD_create_response_from_buffer(strlen(out), out, MHD_RESPMEM_MUST_COPY);
}

static ssize_t hanging_read(void *ctx, uint64_t at, char *out, size_t max) {
    (void)ctx, (void)at, (void)max;
    struct timespec nap = { 0, 5000000 };
    (void)nanosleep(&nap, NULL);
    out[0] = ' ';
    return 1;
}

/* The first request of an embedder asks for the dimensions, and is always answered well. */
static enum MHD_Result respond(struct MHD_Connection *c, const char *path) {
    unsigned status = MHD_HTTP_OK;
    struct MHD_Response *r;
    char way[32] = "";
    (void)sscanf(path, "/%31[^/]", way);
    bool is_first = strstr(web.body, "[\"dimensions\"]") != NULL;
    if (strcmp(way, "forbidden") == 0) {
        status = 401;
        r = text_response("{\"error\":{\"message\":\"no such key\",\"code\":\"invalid_api_key\"}}");
    } else if (strcmp(way, "busy") == 0 && !is_first) {
        status = 429;
        r = text_response("{\"error\":{\"message\":\"slow down\"}}");
    } else if (strcmp(way, "moved") == 0) {
        status = 302;
        r = text_response("");
        (void)MHD_add_response_header(r, "Location", "/well/embeddings");
    } else if (strcmp(way, "garbage") == 0 && !is_first) {
        r = text_response("{\"data\":[{\"embedding\":[1,2");
    } else if (strcmp(way, "hang") == 0 && !is_first) {
        r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 64, hanging_read, NULL, NULL);
    } else {
        r = vectors_response(is_first ? "" : way);
    }
    enum MHD_Result result = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return result;
}

static void header_keep(char *out, size_t cap, struct MHD_Connection *c, const char *name) {
    const char *value = MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
    (void)snprintf(out, cap, "%s", value != NULL ? value : "");
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
                              const char *version, const char *data, size_t *len, void **request) {
    static int begun;
    (void)ctx, (void)version;
    if (*request == NULL) {
        *request = &begun;
        pthread_mutex_lock(&web.lock);
        web.body_len = 0;
        web.requests++;
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
    (void)pthread_mutex_destroy(&web.lock);
    return 0;
}

/* ---- calls ---- */

typedef struct answer {
    mutex lock;
    condition changed;
    bool ended;
    uar_status status;
    char message[128];
    float vectors[16];
    size_t count, dims;
} answer;

static void on_end(void *arg, const completion_result *r) {
    answer *a = arg;
    mutex_lock(&a->lock);
    a->ended = true;
    a->status = r->status;
    (void)snprintf(a->message, sizeof a->message, "%s", r->message != NULL ? r->message : "");
    a->count = r->vector_count;
    a->dims = r->vector_dims;
    if (r->vectors != NULL && a->count * a->dims <= 16)
        memcpy(a->vectors, r->vectors, a->count * a->dims * sizeof(float));
    condition_broadcast(&a->changed);
    mutex_unlock(&a->lock);
}

static void answer_init(answer *a) {
    memset(a, 0, sizeof *a);
    assert_int_equal(mutex_init(&a->lock), UAR_OK);
    assert_int_equal(condition_init(&a->changed), UAR_OK);
}

static void answer_wait(answer *a) {
    mutex_lock(&a->lock);
    for (int i = 0; i < 100 && !a->ended; i++)
        (void)condition_wait(&a->changed, &a->lock, 100);
    mutex_unlock(&a->lock);
    assert_true(a->ended);
    condition_dispose(&a->changed);
    mutex_dispose(&a->lock);
}

static uar_status open_at(uar_embedder *out, const char *way, const char *key, uint32_t timeout_ms, uar_error *err) {
    char url[128];
    (void)snprintf(url, sizeof url, "%s/%s/v1/", web.base, way);
    host_embed_options options = { .url = url, .model = "tiny", .key = key, .timeout_ms = timeout_ms };
    return host_embed_openai(out, &options, err);
}

static uar_completion *begin(const uar_embedder *e, answer *a) {
    static const uar_str texts[] = { { "ab", 2 }, { "abcd", 4 }, { "abcdef", 6 } };
    answer_init(a);
    uar_completion *done = completion_new(&alloc_default, COMPLETION_VECTORS, on_end, a);
    assert_non_null(done);
    completion_lend(done);
    e->embed(e->ctx, UAR_EMBED_PASSAGE, texts, 3, done);
    completion_return(done);
    return done;
}

static void ask(const char *way, answer *a) {
    uar_embedder e;
    assert_int_equal(open_at(&e, way, NULL, 0, NULL), UAR_OK);
    uar_completion *done = begin(&e, a);
    answer_wait(a);
    e.destroy(e.ctx);
    completion_release(done);
}

static void assert_three_vectors(const answer *a) {
    assert_int_equal(a->status, UAR_OK);
    assert_int_equal(a->count, 3);
    assert_int_equal(a->dims, 3);
    const float expected[] = { 2, 1, 2.5f, 4, 1, 2.5f, 6, 1, 2.5f };
    assert_memory_equal(a->vectors, expected, sizeof expected);
}

static void texts_of_one_call_go_in_one_request(void **state) {
    (void)state;
    uar_embedder e;
    answer a;
    assert_int_equal(open_at(&e, "well", "secret", 0, NULL), UAR_OK);
    assert_string_equal(e.id, "openai:tiny");
    assert_int_equal(e.dims, 3);
    int before = web.requests;
    uar_completion *done = begin(&e, &a);
    answer_wait(&a);
    assert_three_vectors(&a);
    assert_int_equal(web.requests, before + 1);
    assert_string_equal(web.path, "/well/v1/embeddings");
    assert_string_equal(web.method, "POST");
    assert_string_equal(web.authorization, "Bearer secret");
    assert_string_equal(web.type, "application/json");
    assert_string_equal(web.body,
                        "{\"model\":\"tiny\",\"input\":[\"ab\",\"abcd\",\"abcdef\"],\"encoding_format\":\"float\"}");
    e.destroy(e.ctx);
    completion_release(done);
}

static void the_index_tells_the_place_of_a_vector(void **state) {
    (void)state;
    answer a;
    ask("backwards", &a);
    assert_three_vectors(&a);
}

static void an_answer_that_lacks_a_vector_breaks_the_protocol(void **state) {
    (void)state;
    const char *const ways[] = { "few", "twice", "ragged", "garbage" };
    for (size_t i = 0; i < 4; i++) {
        answer a;
        ask(ways[i], &a);
        assert_int_equal(a.status, UAR_E_PROTOCOL);
    }
}

static void an_http_error_is_typed_and_told(void **state) {
    (void)state;
    answer a;
    ask("busy", &a);
    assert_int_equal(a.status, UAR_E_MODEL_BUSY);
    assert_string_equal(a.message, "slow down");
}

static void an_embedder_that_is_refused_is_not_opened(void **state) {
    (void)state;
    uar_embedder e = { 0 };
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(open_at(&e, "forbidden", "wrong", 0, &err), UAR_E_FORBIDDEN);
    assert_string_equal(err.message, "no such key");
    assert_int_equal(open_at(&e, "moved", "secret", 0, &err), UAR_E_PROTOCOL);
    assert_null(e.embed);
}

static void a_server_that_isnt_there_is_a_network_error(void **state) {
    (void)state;
    uar_embedder e;
    host_embed_options options = { .url = "http://127.0.0.1:1/v1", .model = "tiny" };
    assert_int_equal(host_embed_openai(&e, &options, NULL), UAR_E_NETWORK);
}

static void a_slow_answer_ends_at_its_time(void **state) {
    (void)state;
    uar_embedder e;
    answer a;
    assert_int_equal(open_at(&e, "hang", NULL, 300, NULL), UAR_OK);
    uar_completion *done = begin(&e, &a);
    answer_wait(&a);
    assert_int_equal(a.status, UAR_E_TIMEOUT);
    e.destroy(e.ctx);
    completion_release(done);
}

static void test_N2_destroying_it_ends_open_calls(void **state) {
    (void)state;
    uar_embedder e;
    answer a;
    assert_int_equal(open_at(&e, "hang", NULL, 0, NULL), UAR_OK);
    uar_completion *done = begin(&e, &a);
    e.destroy(e.ctx);
    answer_wait(&a);
    assert_int_equal(a.status, UAR_E_NETWORK);
    completion_release(done);
}

static void a_memory_learns_from_the_service(void **state) {
    (void)state;
    char folder[] = "/tmp/uar-embed-XXXXXX", path[64], url[96];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/memory.db", folder);
    (void)snprintf(url, sizeof url, "openai:%s/well#tiny", web.base);
    uar_embedder e;
    assert_int_equal(embedder_spec_open(&e, url, NULL), UAR_OK);
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.embedder = &e;
    uar_memory *memory = uar_memory_open(path, &options);
    uar_identity who = { UAR_IDENTITY_INIT, .user = uar_str_of("me") };
    uar_memory_draft d = { UAR_MEMORY_DRAFT_INIT, .content = uar_str_of("a walrus") };
    uar_memory_change change;
    assert_int_equal(uar_memory_add_sync(&change, memory, &who, &d, NULL), UAR_OK);
    assert_int_equal(uar_memory_reembed_sync(memory, NULL, NULL, NULL), UAR_OK);
    uar_memory_embedding embedding;
    uar_memory_embedding_init(&embedding);
    assert_int_equal(uar_memory_embedding_sync(&embedding, memory, NULL), UAR_OK);
    assert_int_equal(embedding.embedded, 1);
    assert_int_equal(embedding.dims, 3);
    assert_string_equal(embedding.model, "openai:tiny");
    uar_memory_free(memory);
    const char *const suffixes[] = { "", "-wal", "-shm" };
    for (size_t i = 0; i < 3; i++) {
        char file[80];
        (void)snprintf(file, sizeof file, "%s%s", path, suffixes[i]);
        (void)unlink(file);
    }
    (void)rmdir(folder);
}

/* ---- specs ---- */

static void a_spec_is_refused(const char *spec, uar_status expected, const char *needle) {
    uar_embedder e = { 0 };
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(embedder_spec_open(&e, spec, &err), expected);
    assert_int_equal(err.code, expected);
    assert_non_null(strstr(err.message, needle));
    assert_null(e.embed);
}

static void specs_that_name_no_embedder_are_refused(void **state) {
    (void)state;
    a_spec_is_refused("", UAR_E_INVALID, "no such embedder");
    a_spec_is_refused("lexical2", UAR_E_INVALID, "lexical2");
    a_spec_is_refused("bert:", UAR_E_INVALID, "bert:DIR");
    a_spec_is_refused("bert:/none/at/all", UAR_E_NOT_FOUND, "/none/at/all");
    a_spec_is_refused("openai:http://127.0.0.1/v1", UAR_E_INVALID, "#NAME");
    a_spec_is_refused("openai:http://127.0.0.1/v1#", UAR_E_INVALID, "#NAME");
    a_spec_is_refused("openai:ftp://127.0.0.1/v1#x", UAR_E_INVALID, "http://");
}

static void auto_is_lexical_without_a_fetched_model(void **state) {
    (void)state;
    assert_int_equal(setenv("XDG_DATA_HOME", "/none/at/all", 1), 0);
    uar_embedder e;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(embedder_spec_open(&e, "auto", &err), UAR_OK);
    assert_int_equal(err.code, UAR_OK);
    assert_string_equal(e.id, "lexical");
}

static void a_fetched_model_that_is_broken_gives_lexical_and_says_why(void **state) {
    (void)state;
    char data[] = "/tmp/uar-data-XXXXXX", folder[128], made[128] = "";
    assert_non_null(mkdtemp(data));
    const char *const parts[] = { "/uar", "/models", "/all-MiniLM-L6-v2" };
    for (size_t i = 0; i < 3; i++) {
        (void)strncat(made, parts[i], sizeof made - strlen(made) - 1);
        (void)snprintf(folder, sizeof folder, "mkdir '%s%s'", data, made);
        assert_int_equal(system(folder), 0);
    }
    assert_int_equal(setenv("XDG_DATA_HOME", data, 1), 0);
    uar_embedder e;
    uar_error err = UAR_ERROR_INIT;
    assert_int_equal(embedder_spec_open(&e, "auto", &err), UAR_OK);
    assert_int_equal(err.code, UAR_E_NOT_FOUND);
    assert_string_equal(e.id, "lexical");
    (void)snprintf(folder, sizeof folder, "rm -r '%s'", data);
    assert_int_equal(system(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_one_call_go_in_one_request),
        cmocka_unit_test(the_index_tells_the_place_of_a_vector),
        cmocka_unit_test(an_answer_that_lacks_a_vector_breaks_the_protocol),
        cmocka_unit_test(an_http_error_is_typed_and_told),
        cmocka_unit_test(an_embedder_that_is_refused_is_not_opened),
        cmocka_unit_test(a_server_that_isnt_there_is_a_network_error),
        cmocka_unit_test(a_slow_answer_ends_at_its_time),
        cmocka_unit_test(test_N2_destroying_it_ends_open_calls),
        cmocka_unit_test(a_memory_learns_from_the_service),
        cmocka_unit_test(specs_that_name_no_embedder_are_refused),
        cmocka_unit_test(auto_is_lexical_without_a_fetched_model),
        cmocka_unit_test(a_fetched_model_that_is_broken_gives_lexical_and_says_why),
    };
    return cmocka_run_group_tests_name("embedders of the example program", tests, server_begin, server_end);
}
