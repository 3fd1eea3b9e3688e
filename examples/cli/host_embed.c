/*
 * One call: a body is written, a thread sends it and waits, the vectors of the answer finish the completion.
 *
 * Invariants: the lock guards `open` and `is_stopping`; a call owns its request and a reference of its completion; nothing
 * of the embedder is freed while a call is open. Redirects aren't followed: the key goes to one host only.
 */
#include "host_embed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "host_file.h"
#include "http_request.h"
#include "json_out.h"
#include "json_syntax.h"
#include "text.h"

enum { TIMEOUT_MS = 25000, CONNECT_TIMEOUT_MS = 10000, DIMS_MAX = 16384 };

#define ANSWER_MAX ((size_t)64 * 1024 * 1024)

typedef struct http_embedder {
    pthread_mutex_t lock;
    pthread_cond_t quiet;
    size_t open;
    bool is_stopping;
    struct curl_slist *headers;
    char *url;
    char *name;
    char *id;
    size_t dims; /* 0: not known yet */
    long timeout_ms;
} http_embedder;

typedef struct call {
    http_embedder *embedder;
    uar_completion *done; /* a reference; NULL: somebody waits for the call itself */
    char *body;
    size_t count;
    text_buffer answer;
    /* what came of it */
    uar_error error;
    float *vectors;
    size_t dims;
} call;

/* ---- the answer ---- */

static void fail(call *c, uar_status status, const char *why) {
    (void)host_error(&c->error, status, why, NULL);
}

/* One vector; the first one of an embedder that doesn't know says how long they are. */
static bool take_vector(call *c, const cJSON *numbers, size_t at) {
    size_t dims = (size_t)cJSON_GetArraySize(numbers);
    if (c->dims == 0 && dims > 0 && dims <= DIMS_MAX) {
        c->dims = dims;
        c->vectors = must_alloc(c->count * dims * sizeof *c->vectors);
    }
    if (dims == 0 || dims != c->dims) return false;
    float *out = c->vectors + at * dims;
    for (const cJSON *n = numbers->child; n != NULL; n = n->next) {
        if (!cJSON_IsNumber(n)) return false;
        *out++ = (float)n->valuedouble;
    }
    return true;
}

/* Services may answer in any order: `index` tells the place. */
static bool take_vectors(call *c, const cJSON *data) {
    if (!cJSON_IsArray(data) || (size_t)cJSON_GetArraySize(data) != c->count) return false;
    bool *seen = must_alloc(c->count * sizeof *seen);
    bool fine = true;
    size_t next = 0;
    for (const cJSON *item = data->child; fine && item != NULL; item = item->next, next++) {
        const cJSON *index = cJSON_GetObjectItemCaseSensitive(item, "index");
        const cJSON *numbers = cJSON_GetObjectItemCaseSensitive(item, "embedding");
        double place = cJSON_IsNumber(index) ? index->valuedouble : (double)next;
        fine = place >= 0 && place < (double)c->count && cJSON_IsArray(numbers);
        size_t at = fine ? (size_t)place : 0;
        fine = fine && !seen[at] && take_vector(c, numbers, at);
        if (fine) seen[at] = true;
    }
    free(seen);
    return fine;
}

static cJSON *parse_answer(const call *c) {
    size_t fault = 0;
    const char *why = NULL;
    return c->answer.len > 0 ? json_parse(text_str(&c->answer), &fault, &why) : NULL;
}

static uar_status status_of_http(long status) {
    if (status == 429 || status == 503) return UAR_E_MODEL_BUSY;
    if (status == 408 || status == 504) return UAR_E_TIMEOUT;
    if (status >= 500) return UAR_E_UNAVAILABLE;
    if (status == 401 || status == 403) return UAR_E_FORBIDDEN;
    return status >= 400 ? UAR_E_MODEL : UAR_E_PROTOCOL;
}

static void fail_http(call *c, long status) {
    char line[32];
    (void)snprintf(line, sizeof line, "HTTP %ld", status);
    cJSON *body = parse_answer(c);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(body, "error");
    const cJSON *message = cJSON_IsString(error) ? error : cJSON_GetObjectItemCaseSensitive(error, "message");
    fail(c, status_of_http(status), cJSON_IsString(message) ? message->valuestring : line);
    cJSON_Delete(body);
}

static void take_answer(call *c) {
    cJSON *body = parse_answer(c);
    c->dims = c->embedder->dims;
    if (c->dims != 0) c->vectors = must_alloc(c->count * c->dims * sizeof *c->vectors);
    if (!take_vectors(c, cJSON_GetObjectItemCaseSensitive(body, "data")))
        fail(c, UAR_E_PROTOCOL, "the service did not answer with one vector of the same length for each text");
    cJSON_Delete(body);
}

/* ---- one call ---- */

/* curl's write callback. */
static size_t receive(char *bytes, size_t size, size_t count, void *ctx) {
    call *c = ctx;
    size_t len = size * count;
    if (len > ANSWER_MAX - c->answer.len) return CURL_WRITEFUNC_ERROR;
    text_add(&c->answer, bytes, len);
    return len;
}

static bool is_stopping(http_embedder *e) {
    pthread_mutex_lock(&e->lock);
    bool stopping = e->is_stopping;
    pthread_mutex_unlock(&e->lock);
    return stopping;
}

/* curl's progress callback: not zero ends a call that nobody waits for. */
static int watch(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    (void)a, (void)b, (void)c, (void)d;
    call *one = ctx;
    return (one->done != NULL && !uar_completion_is_open(one->done)) || is_stopping(one->embedder);
}

static bool prepare(CURL *easy, call *c) {
    http_embedder *e = c->embedder;
    CURLcode r = CURLE_OK;
    r |= curl_easy_setopt(easy, CURLOPT_URL, e->url);
    r |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    r |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    r |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    r |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, e->headers);
    r |= curl_easy_setopt(easy, CURLOPT_POST, 1L);
    r |= curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(c->body));
    r |= curl_easy_setopt(easy, CURLOPT_POSTFIELDS, c->body);
    r |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    r |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, e->timeout_ms);
    r |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    r |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, (void *)c);
    r |= curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    r |= curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, watch);
    r |= curl_easy_setopt(easy, CURLOPT_XFERINFODATA, (void *)c);
    return r == CURLE_OK;
}

static void perform(call *c) {
    CURL *easy = curl_easy_init();
    if (easy == NULL || !prepare(easy, c)) {
        fail(c, UAR_E_NOMEM, "no HTTP request can be made");
    } else {
        CURLcode result = curl_easy_perform(easy);
        long status = 0;
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        if (result == CURLE_OPERATION_TIMEDOUT)
            fail(c, UAR_E_TIMEOUT, curl_easy_strerror(result));
        else if (result != CURLE_OK)
            fail(c, UAR_E_NETWORK, curl_easy_strerror(result));
        else if (status < 200 || status > 299)
            fail_http(c, status);
        else
            take_answer(c);
    }
    if (easy != NULL) curl_easy_cleanup(easy);
}

static char *body_of(const http_embedder *e, const uar_str *texts, size_t count) {
    cJSON *body = cJSON_CreateObject();
    node_set(body, "model", node_z(e->name));
    cJSON *input = cJSON_AddArrayToObject(body, "input");
    for (size_t i = 0; i < count; i++)
        (void)cJSON_AddItemToArray(input, node_text(texts[i].ptr != NULL ? texts[i] : uar_str_of("")));
    node_set(body, "encoding_format", node_z("float"));
    return node_line(body);
}

static call *call_new(http_embedder *e, const uar_str *texts, size_t count) {
    call *c = must_alloc(sizeof *c);
    c->embedder = e;
    c->count = count;
    c->body = body_of(e, texts, count);
    return c;
}

static void call_free(call *c) {
    free(c->body);
    free(c->vectors);
    text_free(&c->answer);
    free(c);
}

static void finish(call *c) {
    if (c->error.code != UAR_OK)
        (void)uar_completion_fail(c->done, c->error.code, c->error.message);
    else
        (void)uar_completion_vectors(c->done, c->vectors, c->count, c->dims);
    uar_completion_unref(c->done);
    http_embedder *e = c->embedder;
    call_free(c);
    pthread_mutex_lock(&e->lock);
    e->open--;
    pthread_cond_broadcast(&e->quiet);
    pthread_mutex_unlock(&e->lock);
}

static void *call_thread(void *arg) {
    call *c = arg;
    perform(c);
    finish(c);
    return NULL;
}

/* ---- the door ---- */

static void embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count, uar_completion *done) {
    (void)purpose; /* these services know no difference */
    http_embedder *e = ctx;
    call *c = call_new(e, texts, count);
    c->done = uar_completion_ref(done);
    pthread_mutex_lock(&e->lock);
    e->open++;
    pthread_mutex_unlock(&e->lock);
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_thread, c) == 0) {
        (void)pthread_detach(thread);
    } else {
        fail(c, UAR_E_NOMEM, "no thread can be had");
        finish(c);
    }
}

static void embedder_free(http_embedder *e) {
    curl_slist_free_all(e->headers);
    (void)pthread_cond_destroy(&e->quiet);
    (void)pthread_mutex_destroy(&e->lock);
    free(e->url);
    free(e->name);
    free(e->id);
    free(e);
}

static void destroy(void *ctx) {
    http_embedder *e = ctx;
    pthread_mutex_lock(&e->lock);
    e->is_stopping = true;
    while (e->open > 0)
        (void)pthread_cond_wait(&e->quiet, &e->lock);
    pthread_mutex_unlock(&e->lock);
    embedder_free(e);
}

static uar_status ask_dims(http_embedder *e, uar_error *err) {
    uar_str word = uar_str_of("dimensions");
    call *c = call_new(e, &word, 1);
    perform(c);
    uar_status status = c->error.code;
    if (status == UAR_OK)
        e->dims = c->dims;
    else
        (void)host_error(err, status, c->error.message, NULL);
    call_free(c);
    return status;
}

uar_status host_embed_openai(uar_embedder *out, const host_embed_options *o, uar_error *err) {
    uar_status status = http_check(o->url, o->model, o->key, err);
    if (status != UAR_OK) return status;
    http_begin();
    http_embedder *e = must_alloc(sizeof *e);
    text_buffer id = { 0 };
    (void)pthread_mutex_init(&e->lock, NULL);
    (void)pthread_cond_init(&e->quiet, NULL);
    text_add_z(&id, "openai:");
    text_add_z(&id, o->model);
    e->id = id.data;
    e->name = must_copy(uar_str_of(o->model));
    e->url = http_url(o->url, "/embeddings");
    e->headers = http_headers(o->key, "application/json");
    e->timeout_ms = o->timeout_ms != 0 ? (long)o->timeout_ms : TIMEOUT_MS;
    status = e->url != NULL && e->headers != NULL ? ask_dims(e, err)
                                                  : host_error(err, UAR_E_NOMEM, uar_status_text(UAR_E_NOMEM), NULL);
    if (status != UAR_OK) {
        embedder_free(e);
        return status;
    }
    *out = (uar_embedder){ .struct_size = UAR_EMBEDDER_INIT,
                           .ctx = e,
                           .destroy = destroy,
                           .id = e->id,
                           .dims = e->dims,
                           .repeat_threshold = 0.92,
                           .embed = embed };
    return UAR_OK;
}
