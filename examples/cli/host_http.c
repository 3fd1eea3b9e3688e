/*
 * libcurl as the mover of bytes. `start` writes the body and queues the call; one thread runs a curl multi handle, feeds
 * the codecs and takes calls out when they end or are cancelled.
 *
 * Invariants: the lock guards the list of new calls and the cancel flags; curl handles and codecs are touched by the thread
 * alone once a call is queued; nothing is pushed under the lock. Redirects aren't followed: the key goes to one host only.
 */
#include "host_http.h"

#include <pthread.h>
#include <stdlib.h>

#include "host_file.h"
#include "http_request.h"

enum { ERROR_BODY_MAX = 64 * 1024, CONNECT_TIMEOUT_MS = 15000, IDLE_TIMEOUT_S = 300 };

typedef struct transfer {
    struct transfer *next;
    uar_stream *stream; /* a reference */
    uar_codec *codec;
    CURL *easy;
    char *body;  /* of the request */
    char *error; /* body of an answer that isn't 2xx */
    size_t error_len;
    bool is_added; /* to the multi handle */
    bool is_cancelled;
} transfer;

typedef struct http_model {
    pthread_mutex_t lock;
    pthread_t thread;
    CURLM *multi;
    struct curl_slist *headers;
    char *url;
    char *name;
    uar_codec_format format;
    uar_codec_options codec;
    long connect_timeout_ms;
    long idle_timeout_s;
    transfer *transfers; /* all open ones */
    bool is_stopping;
} http_model;

/* ---- one call ---- */

static void transfer_free(http_model *model, transfer *t) {
    if (t->is_added) (void)curl_multi_remove_handle(model->multi, t->easy);
    if (t->easy != NULL) curl_easy_cleanup(t->easy);
    uar_codec_free(t->codec);
    uar_codec_body_free(t->body, &model->codec);
    free(t->error);
    uar_stream_unref(t->stream);
    free(t);
}

static long http_status(CURL *easy) {
    long status = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static void error_keep(transfer *t, const char *bytes, size_t len) {
    if (t->error == NULL) t->error = malloc(ERROR_BODY_MAX);
    if (t->error == NULL) return; /* the status has to do */
    size_t room = ERROR_BODY_MAX - t->error_len;
    if (len > room) len = room;
    memcpy(t->error + t->error_len, bytes, len);
    t->error_len += len;
}

/* curl's write callback. */
static size_t transfer_receive(char *bytes, size_t size, size_t count, void *ctx) {
    transfer *t = ctx;
    size_t len = size * count;
    long status = http_status(t->easy);
    if (status < 200 || status > 299) {
        error_keep(t, bytes, len);
        return len;
    }
    return uar_codec_feed(t->codec, bytes, len) == UAR_OK ? len : CURL_WRITEFUNC_ERROR;
}

static uint32_t retry_after_ms(CURL *easy) {
    curl_off_t seconds = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds <= 0) return 0;
    return seconds > 24 * 3600 ? 24u * 3600 * 1000 : (uint32_t)seconds * 1000;
}

/* The transfer is over; tell the codec how. */
static void transfer_end(transfer *t, CURLcode result) {
    long status = http_status(t->easy);
    if (status >= 300 || (result == CURLE_OK && (status < 200 || status > 299))) {
        (void)uar_codec_http_error(t->codec, (int)status, retry_after_ms(t->easy), t->error, t->error_len);
    } else if (result == CURLE_OK) {
        (void)uar_codec_end(t->codec);
    } else {
        uar_status code = result == CURLE_OPERATION_TIMEDOUT ? UAR_E_TIMEOUT : UAR_E_NETWORK;
        (void)uar_codec_transport_error(t->codec, code, curl_easy_strerror(result));
    }
}

static bool transfer_prepare(http_model *model, transfer *t) {
    CURL *easy = curl_easy_init();
    t->easy = easy;
    if (easy == NULL) return false;
    CURLcode r = CURLE_OK;
    r |= curl_easy_setopt(easy, CURLOPT_URL, model->url);
    r |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    r |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    r |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    r |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, model->headers);
    r |= curl_easy_setopt(easy, CURLOPT_POST, 1L);
    r |= curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(t->body));
    r |= curl_easy_setopt(easy, CURLOPT_POSTFIELDS, t->body);
    r |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, model->connect_timeout_ms);
    r |= curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    r |= curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, model->idle_timeout_s);
    r |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, transfer_receive);
    r |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, (void *)t);
    r |= curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *)t);
    return r == CURLE_OK;
}

/* ---- the thread ---- */

static void transfer_unlink(http_model *model, const transfer *t) {
    pthread_mutex_lock(&model->lock);
    transfer **at = &model->transfers;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    pthread_mutex_unlock(&model->lock);
}

/* A transfer that is cancelled, or else one that curl doesn't know yet; it stays in the list. */
static transfer *transfer_find(http_model *model, bool *is_cancelled) {
    pthread_mutex_lock(&model->lock);
    transfer *found = NULL;
    *is_cancelled = false;
    for (transfer *t = model->transfers; t != NULL && !*is_cancelled; t = t->next) {
        *is_cancelled = t->is_cancelled;
        if (t->is_cancelled || (found == NULL && !t->is_added)) found = t;
    }
    pthread_mutex_unlock(&model->lock);
    return found;
}

static void transfers_sort_out(http_model *model) {
    bool is_cancelled = false;
    for (transfer *t; (t = transfer_find(model, &is_cancelled)) != NULL;) {
        /* A cancel may have come before the transfer was queued. */
        is_cancelled = is_cancelled || !uar_stream_is_open(t->stream);
        if (!is_cancelled && curl_multi_add_handle(model->multi, t->easy) == CURLM_OK) {
            t->is_added = true;
            continue;
        }
        if (!is_cancelled) (void)uar_codec_transport_error(t->codec, UAR_E_NOMEM, NULL);
        transfer_unlink(model, t);
        transfer_free(model, t);
    }
}

static void transfers_collect(http_model *model) {
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(model->multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE) continue;
        CURLcode result = message->data.result;
        char *owner = NULL;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner);
        transfer *t = (transfer *)(void *)owner;
        transfer_unlink(model, t);
        transfer_end(t, result);
        transfer_free(model, t);
    }
}

static bool model_goes_on(http_model *model) {
    pthread_mutex_lock(&model->lock);
    bool goes_on = !model->is_stopping;
    pthread_mutex_unlock(&model->lock);
    return goes_on;
}

static void *http_thread(void *arg) {
    http_model *model = arg;
    while (model_goes_on(model)) {
        int running = 0;
        transfers_sort_out(model);
        (void)curl_multi_perform(model->multi, &running);
        transfers_collect(model);
        (void)curl_multi_poll(model->multi, NULL, 0, 60000, NULL);
    }
    return NULL;
}

/* ---- the door ---- */

static transfer *transfer_make(http_model *model, const uar_model_request *request, uar_stream *stream,
                               uar_error *err) {
    transfer *t = calloc(1, sizeof *t);
    if (t == NULL) {
        (void)host_error(err, UAR_E_NOMEM, uar_status_text(UAR_E_NOMEM), NULL);
        return NULL;
    }
    t->stream = uar_stream_ref(stream);
    uar_status status = uar_codec_request(&t->body, NULL, model->format, request, &model->codec, err);
    if (status == UAR_OK) status = uar_codec_new(&t->codec, model->format, stream, &model->codec, err);
    if (status == UAR_OK && !transfer_prepare(model, t))
        status = host_error(err, UAR_E_NOMEM, "no HTTP request can be made", NULL);
    if (status == UAR_OK) return t;
    transfer_free(model, t);
    return NULL;
}

static void http_start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    http_model *model = ctx;
    uar_error err = UAR_ERROR_INIT;
    uar_stream_ref(stream); /* a codec that is freed unused must not end the call before the reason is told */
    transfer *t = transfer_make(model, request, stream, &err);
    if (t == NULL) {
        (void)uar_stream_fail(stream, err.code, NULL, err.message, false, 0);
    } else {
        pthread_mutex_lock(&model->lock);
        t->next = model->transfers;
        model->transfers = t;
        pthread_mutex_unlock(&model->lock);
        (void)curl_multi_wakeup(model->multi);
    }
    uar_stream_unref(stream);
}

static void http_cancel(void *ctx, uar_stream *stream) {
    http_model *model = ctx;
    pthread_mutex_lock(&model->lock);
    for (transfer *t = model->transfers; t != NULL; t = t->next) {
        if (t->stream == stream) t->is_cancelled = true;
    }
    pthread_mutex_unlock(&model->lock);
    (void)curl_multi_wakeup(model->multi);
}

static void http_free(http_model *model) {
    while (model->transfers != NULL) {
        transfer *t = model->transfers;
        model->transfers = t->next;
        transfer_free(model, t);
    }
    if (model->multi != NULL) (void)curl_multi_cleanup(model->multi);
    curl_slist_free_all(model->headers);
    (void)pthread_mutex_destroy(&model->lock);
    free(model->url);
    free(model->name);
    free(model);
}

static void http_destroy(void *ctx) {
    http_model *model = ctx;
    pthread_mutex_lock(&model->lock);
    model->is_stopping = true;
    pthread_mutex_unlock(&model->lock);
    (void)curl_multi_wakeup(model->multi);
    (void)pthread_join(model->thread, NULL);
    http_free(model);
}

/* ---- opening ---- */

static uar_status options_check(const host_http_options *o, uar_error *err) {
    uar_status status = http_check(o->url, o->model, o->key, err);
    if (status != UAR_OK) return status;
    return uar_codec_path(o->format) != NULL ? UAR_OK : host_error(err, UAR_E_UNSUPPORTED, "an unknown format", NULL);
}

static uar_status model_fill(http_model *model, const host_http_options *o, uar_error *err) {
    size_t room = strlen(o->model) + 1;
    model->url = http_url(o->url, uar_codec_path(o->format));
    model->headers = http_headers(o->key, "text/event-stream, application/json");
    model->name = malloc(room);
    if (model->name != NULL) memcpy(model->name, o->model, room);
    model->multi = curl_multi_init();
    model->format = o->format;
    model->connect_timeout_ms = o->connect_timeout_ms != 0 ? (long)o->connect_timeout_ms : CONNECT_TIMEOUT_MS;
    model->idle_timeout_s = o->idle_timeout_s != 0 ? (long)o->idle_timeout_s : IDLE_TIMEOUT_S;
    uar_codec_options_init(&model->codec);
    model->codec.model = model->name;
    /* OpenAI's own service refuses the old name of the limit, most others know only that one. */
    model->codec.max_completion_tokens = strncmp(o->url, "https://api.openai.com/", 23) == 0;
    if (model->url == NULL || model->name == NULL || model->multi == NULL || model->headers == NULL)
        return host_error(err, UAR_E_NOMEM, uar_status_text(UAR_E_NOMEM), NULL);
    return UAR_OK;
}

uar_status host_http_model(uar_model *out, const host_http_options *options, uar_error *err) {
    uar_status status = options_check(options, err);
    if (status != UAR_OK) return status;
    http_begin();
    http_model *model = calloc(1, sizeof *model);
    if (model == NULL) return host_error(err, UAR_E_NOMEM, uar_status_text(UAR_E_NOMEM), NULL);
    (void)pthread_mutex_init(&model->lock, NULL);
    status = model_fill(model, options, err);
    if (status == UAR_OK && pthread_create(&model->thread, NULL, http_thread, model) != 0)
        status = host_error(err, UAR_E_NOMEM, "no thread can be had", NULL);
    if (status != UAR_OK) {
        http_free(model);
        return status;
    }
    *out = (uar_model){ .struct_size = UAR_MODEL_INIT,
                        .ctx = model,
                        .destroy = http_destroy,
                        .name = model->name,
                        .start = http_start,
                        .cancel = http_cancel };
    return UAR_OK;
}
