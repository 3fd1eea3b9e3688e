/* Parses SPEC; what is known here is the grammar, the hosts know the rest. */
#include "model_spec.h"

#include <stdlib.h>

#include <uar/model.h>

#include "host_file.h"
#include "host_http.h"
#include "host_replay.h"
#include "host_script.h"

/* Copy of the first `len` bytes. */
static char *text_copy(const char *text, size_t len) {
    char *copy = malloc(len + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

static uar_status no_memory(uar_error *err) {
    return host_error(err, UAR_E_NOMEM, uar_status_text(UAR_E_NOMEM), NULL);
}

/* Digits only, 1 to a billion. */
static bool count_parse(size_t *out, const char *text) {
    size_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && value <= 100000000; c++)
        value = value * 10 + (size_t)(*c - '0');
    if (*c != '\0' || value == 0) return false;
    *out = value;
    return true;
}

/* The last "?chunk=" of a path, or NULL. */
static const char *chunk_find(const char *path) {
    const char *found = NULL;
    for (const char *at = path; (at = strstr(at, "?chunk=")) != NULL; at++)
        found = at;
    return found;
}

static bool is_planned_format(uar_str name) {
    return uar_str_equal(name, uar_str_of("responses")) || uar_str_equal(name, uar_str_of("anthropic")) ||
           uar_str_equal(name, uar_str_of("ollama"));
}

static uar_status replay_open(uar_model *out, const char *rest, uar_error *err) {
    const char *colon = strchr(rest, ':');
    if (colon == NULL || colon[1] == '\0')
        return host_error(err, UAR_E_INVALID, "a recording is replay:FORMAT:PATH[?chunk=N]", NULL);
    uar_codec_format format;
    uar_str name = uar_str_n(rest, (size_t)(colon - rest));
    if (uar_codec_format_parse(&format, name) != UAR_OK) {
        if (is_planned_format(name)) return host_error(err, UAR_E_UNSUPPORTED, "not in this version", rest);
        return host_error(err, UAR_E_INVALID, "there is no such format", rest);
    }
    const char *tail = chunk_find(colon + 1);
    size_t chunk = 0;
    if (tail != NULL && !count_parse(&chunk, tail + strlen("?chunk=")))
        return host_error(err, UAR_E_INVALID, "?chunk= wants a number from 1", rest);
    char *path = text_copy(colon + 1, tail != NULL ? (size_t)(tail - colon - 1) : strlen(colon + 1));
    if (path == NULL) return no_memory(err);
    uar_status status = host_replay_model(out, format, path, chunk, err);
    free(path);
    return status;
}

static uar_status openai_open(uar_model *out, const char *rest, uar_error *err) {
    const char *mark = strrchr(rest, '#');
    char *url = text_copy(rest, mark != NULL ? (size_t)(mark - rest) : strlen(rest));
    if (url == NULL) return no_memory(err);
    host_http_options options = {
        .format = UAR_CODEC_OPENAI, .url = url, .model = mark != NULL ? mark + 1 : NULL, .key = getenv("OPENAI_API_KEY")
    };
    uar_status status = host_http_model(out, &options, err);
    free(url);
    return status;
}

static uar_status unsupported_open(uar_model *out, const char *rest, uar_error *err) {
    (void)out;
    return host_error(err, UAR_E_UNSUPPORTED, "not in this version", rest);
}

typedef struct spec_kind {
    const char *head;
    uar_status (*open)(uar_model *out, const char *rest, uar_error *err);
} spec_kind;

static const spec_kind spec_kinds[] = {
    { "replay:", replay_open },         { "openai:", openai_open },      { "responses:", unsupported_open },
    { "anthropic:", unsupported_open }, { "ollama:", unsupported_open }, { "gguf:", unsupported_open },
};

uar_status model_spec_open(uar_model *out, const char *spec, long script_from, uar_error *err) {
    if (strcmp(spec, "offline") == 0) {
        *out = *uar_model_offline();
        return UAR_OK;
    }
    if (strncmp(spec, "script:", 7) == 0) return host_script_model(out, spec + 7, script_from, err);
    for (size_t i = 0; i < sizeof spec_kinds / sizeof spec_kinds[0]; i++) {
        size_t len = strlen(spec_kinds[i].head);
        if (strncmp(spec, spec_kinds[i].head, len) == 0) return spec_kinds[i].open(out, spec + len, err);
    }
    return host_error(err, UAR_E_INVALID, "there is no such model", spec);
}
