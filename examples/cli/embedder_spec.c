/* Parses SPEC; what is known here is the grammar and where a fetched model lies. */
#include "embedder_spec.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <uar/bert.h>
#include <uar/memory.h>

#include "host_embed.h"
#include "host_file.h"
#include "stores.h"
#include "text.h"

static const char *rest_of(const char *spec, const char *head) {
    size_t len = strlen(head);
    return strncmp(spec, head, len) == 0 ? spec + len : NULL;
}

uar_status embedder_spec_check(const char *spec, uar_error *err) {
    if (strcmp(spec, "auto") == 0 || strcmp(spec, "lexical") == 0) return UAR_OK;
    const char *folder = rest_of(spec, "bert:");
    if (folder != NULL)
        return folder[0] != '\0' ? UAR_OK : host_error(err, UAR_E_INVALID, "an encoder is bert:DIR", NULL);
    const char *url = rest_of(spec, "openai:");
    if (url == NULL) return host_error(err, UAR_E_INVALID, "there is no such embedder", spec);
    const char *mark = strrchr(url, '#');
    if (mark == NULL || mark[1] == '\0')
        return host_error(err, UAR_E_INVALID, "an embedding service is openai:URL#NAME", NULL);
    return UAR_OK;
}

static uar_status open_service(uar_embedder *out, const char *rest, uar_error *err) {
    const char *mark = strrchr(rest, '#');
    char *url = must_copy(uar_str_n(rest, (size_t)(mark - rest)));
    host_embed_options options = { .url = url, .model = mark + 1, .key = getenv("OPENAI_API_KEY") };
    uar_status status = host_embed_openai(out, &options, err);
    free(url);
    return status;
}

/* The folder of the fetched model, if it is there; free with free(). */
static char *fetched_folder(void) {
    text_buffer path = { 0 };
    if (!stores_data_home(&path)) return NULL;
    text_add_z(&path, "/" EMBEDDER_FETCHED);
    struct stat there;
    if (stat(path.data, &there) == 0 && S_ISDIR(there.st_mode)) return path.data;
    text_free(&path);
    return NULL;
}

static uar_status open_fetched(uar_embedder *out, uar_error *err) {
    char *folder = fetched_folder();
    if (folder == NULL || uar_bert_open(out, folder, NULL, err) != UAR_OK) *out = *uar_embedder_lexical();
    free(folder);
    return UAR_OK;
}

uar_status embedder_spec_open(uar_embedder *out, const char *spec, uar_error *err) {
    uar_status status = embedder_spec_check(spec, err);
    if (status != UAR_OK) return status;
    if (strcmp(spec, "auto") == 0) return open_fetched(out, err);
    const char *folder = rest_of(spec, "bert:");
    if (folder != NULL) return uar_bert_open(out, folder, NULL, err);
    const char *service = rest_of(spec, "openai:");
    if (service != NULL) return open_service(out, service, err);
    *out = *uar_embedder_lexical();
    return UAR_OK;
}

bool embedder_spec_may_come(const char *spec, uar_status status) {
    return rest_of(spec, "openai:") != NULL && uar_status_band(status) == UAR_BAND_RETRY;
}
