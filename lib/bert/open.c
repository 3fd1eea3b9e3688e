/*
 * Opening a model, and the calls of uar/bert.h. Owns the model's parts until the last reference goes.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor.h"
#include "base/struct_in.h"
#include "base/utf8.h"
#include "bert/bert.h"

#define DEFAULT_NAME "bert"
#define MIN_WINDOW 3u

bert *bert_ref(bert *b) {
    atomic_fetch_add(&b->refs, 1);
    return b;
}

void bert_unref(bert *b) {
    if (atomic_fetch_sub(&b->refs, 1) != 1) return;
    uar_allocator alloc = b->alloc;
    weights_dispose(&b->weights);
    tokenizer_dispose(&b->tokenizer);
    config_dispose(&b->config, &alloc);
    id_list_dispose(&b->prefix[UAR_EMBED_PASSAGE]);
    id_list_dispose(&b->prefix[UAR_EMBED_QUERY]);
    alloc_free(&alloc, b->id);
    alloc_free(&alloc, b);
}

bert *bert_of(const uar_embedder *embedder) {
    return embedder != NULL && embedder->embed == bert_embed ? embedder->ctx : NULL;
}

/* ---- Options ---- */

static bool is_name(const char *name) {
    size_t len = strlen(name);
    if (len == 0 || len > UAR_BERT_MAX_NAME || !utf8_is_valid(uar_str_n(name, len))) return false;
    for (size_t i = 0; i < len; i++)
        if ((uint8_t)name[i] <= ' ' || name[i] == ':' || name[i] == 0x7F) return false;
    return true;
}

static uar_status check_options(const uar_bert_options *o, uar_error *err) {
    if (o->precision != UAR_BERT_FP32 && o->precision != UAR_BERT_INT8)
        return error_set(err, UAR_E_INVALID, "precision %d is not known", (int)o->precision);
    if (o->threads > BERT_MAX_THREADS) return error_set(err, UAR_E_INVALID, "threads is above %u", BERT_MAX_THREADS);
    if (o->max_window != 0 && o->max_window < MIN_WINDOW)
        return error_set(err, UAR_E_INVALID, "max_window is below %u", MIN_WINDOW);
    if (o->name != NULL && !is_name(o->name))
        return error_set(err, UAR_E_INVALID, "name is not 1 to %d bytes without spaces and colons", UAR_BERT_MAX_NAME);
    if (o->executor != NULL && o->executor->post == NULL) return error_set(err, UAR_E_INVALID, "executor has no post");
    return UAR_OK;
}

/* ---- The parts ---- */

static uar_status load_weights(bert *b, source *from, uar_bert_precision precision, uar_error *err) {
    safetensors tensors;
    uar_status status = safetensors_open(&tensors, &b->alloc, from, err);
    if (status != UAR_OK) return status;
    status = weights_load(&b->weights, &b->alloc, &b->config, precision, &tensors, err);
    safetensors_dispose(&tensors);
    return status;
}

static uar_status read_prefix(bert *b, uar_embed_purpose purpose, const char *given, const char *own, uar_error *err) {
    const char *text = given != NULL ? given : own;
    if (text == NULL) return UAR_OK;
    uar_status status = tokenizer_run(&b->prefix[purpose], &b->tokenizer, uar_str_of(text));
    if (status != UAR_OK)
        return error_set(err, status, "a prefix: %s", status == UAR_E_UTF8 ? "it is no UTF-8" : "out of memory");
    if (b->prefix[purpose].len > (b->window - 2) / 2)
        return error_set(err, UAR_E_INVALID, "a prefix has %zu tokens, more than half a window",
                         b->prefix[purpose].len);
    return UAR_OK;
}

static uar_status set_windows(bert *b, const uar_bert_options *o, uar_error *err) {
    b->window = b->config.window;
    if (o->max_window != 0 && o->max_window < b->window) b->window = o->max_window;
    uar_status status = read_prefix(b, UAR_EMBED_PASSAGE, o->passage_prefix, b->config.passage_prefix, err);
    if (status == UAR_OK) status = read_prefix(b, UAR_EMBED_QUERY, o->query_prefix, b->config.query_prefix, err);
    if (status != UAR_OK) return status;
    size_t longer = b->prefix[0].len > b->prefix[1].len ? b->prefix[0].len : b->prefix[1].len;
    size_t room = b->window - 2 - longer;
    b->overlap = o->overlap != 0 ? o->overlap : room / 8;
    if (b->overlap >= room)
        return error_set(err, UAR_E_INVALID, "overlap is not below the %zu tokens of a window", room);
    return UAR_OK;
}

/* Everything that shapes a vector beside the weights' numbers. */
static uint64_t model_digest(const bert *b) {
    const config *c = &b->config;
    const uint64_t numbers[] = { b->weights.digest,
                                 c->heads,
                                 (uint64_t)c->pooling,
                                 c->normalise,
                                 b->window,
                                 b->overlap,
                                 b->tokenizer.clean,
                                 b->tokenizer.space_chinese,
                                 b->tokenizer.strip_accents,
                                 b->tokenizer.lower,
                                 b->tokenizer.max_word };
    digest d;
    digest_init(&d);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        digest_add_number(&d, numbers[i]);
    /* The least float above zero still tells apart. */
    digest_add(&d, &c->epsilon, sizeof c->epsilon);
    for (int i = 0; i < 2; i++)
        digest_add(&d, b->prefix[i].ids, b->prefix[i].len * sizeof(int32_t));
    return digest_value(&d);
}

static uar_status make_id(bert *b, const char *name, uar_error *err) {
    if (name == NULL) name = b->config.name != NULL && is_name(b->config.name) ? b->config.name : DEFAULT_NAME;
    char text[UAR_BERT_MAX_NAME + 64];
    int len = snprintf(text, sizeof text, "bert:%s:%016llx:%s", name, (unsigned long long)model_digest(b),
                       b->weights.precision == UAR_BERT_INT8 ? "int8" : "fp32");
    b->id = alloc_text(&b->alloc, uar_str_n(text, (size_t)len));
    return b->id != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
}

static uar_status start_pool(bert *b, const uar_bert_options *o, uar_error *err) {
    b->threads = o->threads != 0 ? o->threads : 1;
    if (o->executor != NULL) return struct_in(&b->executor, sizeof b->executor, o->executor, "uar_executor", err);
    if (o->threads == 0) return UAR_OK;
    const pool_options options = { .alloc = &b->alloc, .clock = &clock_default, .threads = o->threads };
    if (pool_open(&b->executor, &options) != UAR_OK) return error_plain(err, UAR_E_NOMEM);
    b->owns_pool = true;
    return UAR_OK;
}

static uar_status build(bert *b, const uar_bert_files *files, source *numbers, const uar_bert_options *o,
                        uar_error *err) {
    uar_status status = config_read(&b->config, &b->alloc, files, err);
    if (status == UAR_OK) status = tokenizer_read(&b->tokenizer, &b->alloc, files, b->config.lower_first, err);
    if (status != UAR_OK) return status;
    if (b->tokenizer.pieces.ids > b->config.words)
        return error_set(err, UAR_E_SCHEMA, "the tokenizer has %zu tokens, the model %zu", b->tokenizer.pieces.ids,
                         b->config.words);
    status = set_windows(b, o, err);
    if (status == UAR_OK) status = load_weights(b, numbers, o->precision, err);
    if (status == UAR_OK) status = make_id(b, o->name, err);
    b->encoder = (encoder){ &b->config, &b->weights, kernels_best(), b->tokenizer.begin, b->tokenizer.end };
    /* Last, so that nothing that fails has a thread to stop. */
    return status == UAR_OK ? start_pool(b, o, err) : status;
}

static uar_status open_model(uar_embedder *out, const uar_bert_files *files, source *numbers, const uar_bert_options *o,
                             const uar_allocator *a, uar_error *err) {
    bert *b = ALLOC_NEW(a, bert);
    if (b == NULL) return error_plain(err, UAR_E_NOMEM);
    b->alloc = *a;
    atomic_init(&b->refs, 1);
    atomic_init(&b->closing, false);
    b->weights.alloc = b->tokenizer.alloc = b->tokenizer.pieces.alloc = &b->alloc;
    id_list_init(&b->prefix[UAR_EMBED_PASSAGE], &b->alloc);
    id_list_init(&b->prefix[UAR_EMBED_QUERY], &b->alloc);
    uar_status status = build(b, files, numbers, o, err);
    if (status != UAR_OK) {
        bert_unref(b);
        return status;
    }
    *out = (uar_embedder){ UAR_EMBEDDER_INIT,        .ctx = b,
                           .destroy = bert_destroy,  .id = b->id,
                           .dims = b->config.hidden, .repeat_threshold = BERT_REPEAT_THRESHOLD,
                           .embed = bert_embed };
    return UAR_OK;
}

/* ---- A folder ---- */

#define MAX_SMALL_FILE ((size_t)64 << 20)
#define FILES 8

/* The small files of a folder in memory; what isn't there stays absent. */
static uar_status load_files(uar_bert_files *files, char *loaded[FILES], const uar_allocator *a, const char *folder,
                             uar_error *err) {
    const struct {
        uar_str *to;
        const char *name;
    } wanted[FILES] = {
        { &files->config, "config.json" },
        { &files->tokenizer, "tokenizer.json" },
        { &files->vocabulary, "vocab.txt" },
        { &files->tokenizer_config, "tokenizer_config.json" },
        { &files->modules, "modules.json" },
        { &files->pooling, "1_Pooling/config.json" },
        { &files->sentence, "sentence_bert_config.json" },
        { &files->prompts, "config_sentence_transformers.json" },
    };
    for (size_t i = 0; i < FILES; i++) {
        char *path = alloc_bytes(a, strlen(folder) + strlen(wanted[i].name) + 2);
        if (path == NULL) return error_plain(err, UAR_E_NOMEM);
        size_t len = strlen(folder);
        memcpy(path, folder, len);
        path[len] = '/';
        memcpy(path + len + 1, wanted[i].name, strlen(wanted[i].name) + 1);
        size_t size = 0;
        uar_error fault = UAR_ERROR_INIT;
        uar_status status = source_load(&loaded[i], &size, a, path, MAX_SMALL_FILE, &fault);
        alloc_free(a, path);
        if (status == UAR_OK)
            *wanted[i].to = uar_str_n(loaded[i], size);
        else if (status != UAR_E_NOT_FOUND)
            return error_copy(err, &fault);
    }
    return UAR_OK;
}

static uar_status open_folder(uar_embedder *out, const char *folder, const uar_bert_options *o, const uar_allocator *a,
                              uar_error *err) {
    static const char name[] = "/model.safetensors";
    uar_bert_files files = { .size = UAR_BERT_FILES_INIT };
    char *loaded[FILES] = { NULL }, *path = alloc_bytes(a, strlen(folder) + sizeof name);
    source numbers = { NULL, NULL, 0 };
    uar_status status = path != NULL ? load_files(&files, loaded, a, folder, err) : error_plain(err, UAR_E_NOMEM);
    if (status == UAR_OK && files.config.ptr == NULL)
        status = error_set(err, UAR_E_NOT_FOUND, "%s has no config.json", folder);
    if (status == UAR_OK) {
        memcpy(path, folder, strlen(folder));
        memcpy(path + strlen(folder), name, sizeof name);
        status = source_open(&numbers, path, err);
    }
    if (status == UAR_OK) status = open_model(out, &files, &numbers, o, a, err);
    source_close(&numbers);
    alloc_free(a, path);
    for (size_t i = 0; i < FILES; i++)
        alloc_free(a, loaded[i]);
    return status;
}

/* ---- The public calls ---- */

static uar_status take_options(uar_bert_options *o, uar_allocator *alloc, const uar_bert_options *given,
                               uar_error *err) {
    uar_status status = struct_in(o, sizeof *o, given, "uar_bert_options", err);
    if (status == UAR_OK) status = check_options(o, err);
    *alloc = alloc_default;
    if (status == UAR_OK && o->allocator != NULL)
        status = struct_in(alloc, sizeof *alloc, o->allocator, "uar_allocator", err);
    if (status == UAR_OK && (alloc->alloc == NULL || alloc->resize == NULL || alloc->release == NULL))
        return error_set(err, UAR_E_INVALID, "the allocator lacks a slot");
    return status;
}

uar_status uar_bert_open(uar_embedder *out, const char *folder, const uar_bert_options *options, uar_error *err) {
    if (out == NULL || folder == NULL || folder[0] == '\0')
        return error_set(err, UAR_E_INVALID, "no folder, or nowhere to put the embedder");
    uar_bert_options o;
    uar_allocator alloc;
    uar_status status = take_options(&o, &alloc, options, err);
    return status == UAR_OK ? open_folder(out, folder, &o, &alloc, err) : status;
}

uar_status uar_bert_open_memory(uar_embedder *out, const uar_bert_files *files, const uar_bert_options *options,
                                uar_error *err) {
    if (out == NULL || files == NULL) return error_set(err, UAR_E_INVALID, "no files, or nowhere to put the embedder");
    uar_bert_options o;
    uar_bert_files f;
    uar_allocator alloc;
    uar_status status = take_options(&o, &alloc, options, err);
    if (status == UAR_OK) status = struct_in(&f, sizeof f, files, "uar_bert_files", err);
    if (status != UAR_OK) return status;
    if (f.weights.ptr == NULL) return error_set(err, UAR_E_NOT_FOUND, "the model has no weights");
    source numbers;
    source_of_memory(&numbers, f.weights);
    return open_model(out, &f, &numbers, &o, &alloc, err);
}

void uar_bert_close(uar_embedder *embedder) {
    bert *b = bert_of(embedder);
    if (b == NULL) return;
    bert_destroy(b);
    memset(embedder, 0, sizeof *embedder);
}

uar_status uar_bert_embed(float *out, const uar_embedder *embedder, uar_embed_purpose purpose, const uar_str *texts,
                          size_t count, uar_error *err) {
    bert *b = bert_of(embedder);
    if (b == NULL) return error_set(err, UAR_E_INVALID, "the embedder is not one of libuar-bert");
    if (count == 0) return UAR_OK;
    if (out == NULL || texts == NULL) return error_set(err, UAR_E_INVALID, "no texts, or nowhere to put their vectors");
    size_t row = b->config.hidden * sizeof(float);
    if (count > SIZE_MAX / 4 / row) return error_set(err, UAR_E_TOO_LARGE, "%zu texts at once", count);
    float *vectors = alloc_bytes(&b->alloc, count * row);
    uar_status status = vectors != NULL ? bert_run(vectors, b, purpose, texts, count) : UAR_E_NOMEM;
    if (status == UAR_OK) memcpy(out, vectors, count * row);
    alloc_free(&b->alloc, vectors);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

uar_status uar_bert_tokens(int32_t *ids, size_t room, size_t *count, const uar_embedder *embedder, uar_str text,
                           uar_error *err) {
    bert *b = bert_of(embedder);
    if (b == NULL) return error_set(err, UAR_E_INVALID, "the embedder is not one of libuar-bert");
    if (count == NULL || (ids == NULL && room != 0)) return error_set(err, UAR_E_INVALID, "nowhere to put the tokens");
    id_list list;
    id_list_init(&list, &b->alloc);
    uar_status status = tokenizer_run(&list, &b->tokenizer, text);
    if (status == UAR_OK) {
        size_t n = list.len < room ? list.len : room;
        if (n != 0) memcpy(ids, list.ids, n * sizeof *ids);
        *count = list.len;
    }
    id_list_dispose(&list);
    return status == UAR_OK ? UAR_OK : error_plain(err, status);
}

const char *uar_bert_level(void) {
    return kernels_best()->name;
}
