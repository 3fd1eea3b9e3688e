/* Recorded bodies as a model. Nothing waits, so everything is pushed inside `start`. The lock guards `next` alone. */
#include "host_replay.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "host_file.h"

typedef struct replay_body {
    char *bytes;
    size_t len;
} replay_body;

typedef struct replay_model {
    pthread_mutex_t lock;
    uar_codec_format format;
    size_t chunk;
    replay_body *bodies;
    size_t count, next;
} replay_model;

static const replay_body *body_take(replay_model *model) {
    pthread_mutex_lock(&model->lock);
    const replay_body *body = model->next < model->count ? &model->bodies[model->next++] : NULL;
    pthread_mutex_unlock(&model->lock);
    return body;
}

static void body_feed(const replay_model *model, const replay_body *body, uar_codec *codec, const uar_stream *stream) {
    size_t step = model->chunk != 0 ? model->chunk : body->len;
    for (size_t at = 0; at < body->len && uar_stream_is_open(stream);) {
        size_t len = step < body->len - at ? step : body->len - at;
        if (uar_codec_feed(codec, body->bytes + at, len) != UAR_OK) return;
        at += len;
    }
    (void)uar_codec_end(codec);
}

static void replay_start(void *ctx, const uar_model_request *request, uar_stream *stream) {
    replay_model *model = ctx;
    (void)request;
    uar_codec *codec = NULL;
    const replay_body *body = body_take(model);
    uar_status status = body != NULL ? UAR_OK : UAR_E_SCRIPT_EXHAUSTED;
    if (status == UAR_OK) status = uar_codec_new(&codec, model->format, stream, NULL, NULL);
    if (status != UAR_OK) {
        (void)uar_stream_fail(stream, status, NULL, uar_status_text(status), false, 0);
        return;
    }
    body_feed(model, body, codec, stream);
    uar_codec_free(codec);
}

static void replay_destroy(void *ctx) {
    replay_model *model = ctx;
    for (size_t i = 0; i < model->count; i++)
        free(model->bodies[i].bytes);
    free(model->bodies);
    (void)pthread_mutex_destroy(&model->lock);
    free(model);
}

static uar_status body_add(replay_model *model, const char *path, uar_error *err) {
    replay_body *bodies = realloc(model->bodies, (model->count + 1) * sizeof *bodies);
    if (bodies == NULL) return host_error(err, UAR_E_NOMEM, uar_status_text(UAR_E_NOMEM), NULL);
    model->bodies = bodies;
    replay_body *body = &bodies[model->count];
    uar_status status = host_file_read(&body->bytes, &body->len, path, err);
    if (status == UAR_OK) model->count++;
    return status;
}

/* 001.bin, 002.bin … up to the first that is missing. */
static uar_status directory_add(replay_model *model, const char *path, uar_error *err) {
    size_t room = strlen(path) + 32;
    char *name = malloc(room);
    if (name == NULL) return host_error(err, UAR_E_NOMEM, uar_status_text(UAR_E_NOMEM), NULL);
    uar_status status = UAR_OK;
    while (status == UAR_OK) {
        (void)snprintf(name, room, "%s/%03zu.bin", path, model->count + 1);
        status = body_add(model, name, err);
    }
    free(name);
    return status == UAR_E_NOT_FOUND && model->count > 0 ? UAR_OK : status;
}

uar_status host_replay_model(uar_model *out, uar_codec_format format, const char *path, size_t chunk, uar_error *err) {
    struct stat info;
    replay_model *model = calloc(1, sizeof *model);
    if (model == NULL) return host_error(err, UAR_E_NOMEM, uar_status_text(UAR_E_NOMEM), NULL);
    (void)pthread_mutex_init(&model->lock, NULL);
    model->format = format;
    model->chunk = chunk;
    bool is_directory = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    uar_status status = is_directory ? directory_add(model, path, err) : body_add(model, path, err);
    if (status != UAR_OK) {
        replay_destroy(model);
        return status;
    }
    *out = (uar_model){
        .struct_size = UAR_MODEL_INIT, .ctx = model, .destroy = replay_destroy, .name = "replay", .start = replay_start
    };
    return UAR_OK;
}
