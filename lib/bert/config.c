/*
 * Owns the texts of a config. Invariants after reading: every size is in its bounds, `heads` divides `hidden`, a window
 * has room for both marks and one token and is no longer than there are positions.
 */
#include "bert/config.h"

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

#define MAX_FILE ((size_t)1 << 20)
#define MIN_WINDOW 3

/* A member that must be a whole number between 1 and `most`; UAR_E_SCHEMA names it. */
static uar_status read_size(size_t *out, const cJSON *object, const char *key, uint64_t most, uar_error *err) {
    uint64_t value;
    if (!json_u64(object, key, &value) || value == 0 || value > most)
        return error_set(err, UAR_E_SCHEMA, "config.json: %s is no whole number from 1 to %llu", key,
                         (unsigned long long)most);
    *out = (size_t)value;
    return UAR_OK;
}

/* A member that may be missing but, if there, must have this text. */
static bool is_or_absent(const cJSON *object, const char *key, const char *text) {
    const cJSON *node = json_member(object, key);
    return node == NULL || cJSON_IsNull(node) || str_is(json_node_text(node), text);
}

static uar_status check_architecture(const cJSON *json, uar_error *err) {
    uar_str type = json_text(json, "model_type");
    if (!str_is(type, "bert"))
        return error_set(err, UAR_E_UNSUPPORTED, "config.json: model_type is '%.*s'; only 'bert' is known",
                         (int)type.len, type.ptr != NULL ? type.ptr : "");
    if (!is_or_absent(json, "hidden_act", "gelu"))
        return error_set(err, UAR_E_UNSUPPORTED, "config.json: hidden_act is not 'gelu'");
    if (!is_or_absent(json, "position_embedding_type", "absolute"))
        return error_set(err, UAR_E_UNSUPPORTED, "config.json: position_embedding_type is not 'absolute'");
    if (json_flag(json, "is_decoder", false))
        return error_set(err, UAR_E_UNSUPPORTED, "config.json: a decoder is no sentence encoder");
    return UAR_OK;
}

/* The last part of a path-like name, made of letters that an id may hold. */
static uar_status read_name(char **out, const uar_allocator *a, const cJSON *json, uar_error *err) {
    uar_str path = json_text(json, "_name_or_path");
    while (path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    size_t from = path.len;
    while (from > 0 && path.ptr[from - 1] != '/' && path.ptr[from - 1] != '\\')
        from--;
    if (path.len == from || path.len - from > UAR_BERT_MAX_NAME) return UAR_OK;
    *out = alloc_text(a, uar_str_n(path.ptr + from, path.len - from));
    return *out != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
}

static uar_status read_shape(config *c, const uar_allocator *a, const cJSON *json, uar_error *err) {
    const struct {
        size_t *out;
        const char *key;
        uint64_t most;
    } sizes[] = {
        { &c->words, "vocab_size", 1u << 20 },     { &c->hidden, "hidden_size", 4096 },
        { &c->layers, "num_hidden_layers", 64 },   { &c->heads, "num_attention_heads", 64 },
        { &c->inner, "intermediate_size", 16384 }, { &c->positions, "max_position_embeddings", 8192 },
        { &c->kinds, "type_vocab_size", 16 },
    };
    uar_status status = check_architecture(json, err);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && status == UAR_OK; i++)
        status = read_size(sizes[i].out, json, sizes[i].key, sizes[i].most, err);
    if (status != UAR_OK) return status;
    if (c->hidden % c->heads != 0)
        return error_set(err, UAR_E_SCHEMA, "config.json: hidden_size is no multiple of num_attention_heads");
    double epsilon = 1e-12;
    if (json_member(json, "layer_norm_eps") != NULL && !json_f64(json, "layer_norm_eps", &epsilon)) epsilon = -1;
    if (!(epsilon >= 0 && epsilon <= 1))
        return error_set(err, UAR_E_SCHEMA, "config.json: layer_norm_eps is no small number");
    c->epsilon = (float)epsilon;
    return read_name(&c->name, a, json, err);
}

/* The modules behind the encoder: pooling, then perhaps normalising; nothing else is known. */
static uar_status read_modules(config *c, const cJSON *json, uar_error *err) {
    if (!cJSON_IsArray(json)) return error_set(err, UAR_E_SCHEMA, "modules.json is no list");
    c->normalise = false;
    for (const cJSON *n = json->child; n != NULL; n = n->next) {
        uar_str type = json_text(n, "type");
        size_t dot = type.len;
        while (dot > 0 && type.ptr[dot - 1] != '.')
            dot--;
        uar_str last = uar_str_n(type.ptr != NULL ? type.ptr + dot : "", type.len - dot);
        if (str_is(last, "Normalize"))
            c->normalise = true;
        else if (!str_is(last, "Transformer") && !str_is(last, "Pooling"))
            return error_set(err, UAR_E_UNSUPPORTED, "modules.json: '%.*s' is not known", (int)last.len, last.ptr);
    }
    return UAR_OK;
}

static uar_status read_pooling(config *c, const cJSON *json, uar_error *err) {
    static const struct {
        const char *key;
        pooling pooling;
    } modes[] = {
        { "pooling_mode_mean_tokens", POOLING_MEAN },
        { "pooling_mode_cls_token", POOLING_CLS },
        { "pooling_mode_max_tokens", POOLING_MAX },
        { "pooling_mode_mean_sqrt_len_tokens", POOLING_MEAN_SQRT },
    };
    size_t chosen = 0;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (json_flag(json, modes[i].key, false)) {
            c->pooling = modes[i].pooling;
            chosen++;
        }
    bool other =
        json_flag(json, "pooling_mode_weightedmean_tokens", false) || json_flag(json, "pooling_mode_lasttoken", false);
    if (chosen != 1 || other)
        return error_set(err, UAR_E_UNSUPPORTED,
                         "the pooling is not one of mean, cls, max, mean by square root of length");
    uint64_t dims;
    if (json_u64(json, "word_embedding_dimension", &dims) && dims != c->hidden)
        return error_set(err, UAR_E_SCHEMA, "the pooling is for %llu dimensions, the model has %zu",
                         (unsigned long long)dims, c->hidden);
    return UAR_OK;
}

static uar_status read_window(config *c, const cJSON *json, uar_error *err) {
    uint64_t window;
    c->lower_first = json_flag(json, "do_lower_case", false);
    if (!json_u64(json, "max_seq_length", &window)) return UAR_OK;
    if (window < MIN_WINDOW)
        return error_set(err, UAR_E_SCHEMA, "sentence_bert_config.json: max_seq_length has no room for a token");
    if (window < c->window) c->window = (size_t)window;
    return UAR_OK;
}

static uar_status read_prompt(char **out, const uar_allocator *a, const cJSON *prompts, const char *const *keys,
                              uar_error *err) {
    for (; *keys != NULL; keys++) {
        uar_str text = json_text(prompts, *keys);
        if (text.len == 0) continue;
        *out = alloc_text(a, text);
        return *out != NULL ? UAR_OK : error_plain(err, UAR_E_NOMEM);
    }
    return UAR_OK;
}

static uar_status read_prompts(config *c, const uar_allocator *a, const cJSON *json, uar_error *err) {
    static const char *const query[] = { "query", NULL };
    static const char *const passage[] = { "passage", "document", "corpus", NULL };
    const cJSON *prompts = json_member(json, "prompts");
    uar_status status = read_prompt(&c->query_prefix, a, prompts, query, err);
    return status == UAR_OK ? read_prompt(&c->passage_prefix, a, prompts, passage, err) : status;
}

/* The parsed file, *out NULL if it is absent. */
static uar_status parse(cJSON **out, const uar_allocator *a, uar_str text, const char *file, uar_error *err) {
    *out = NULL;
    if (text.ptr == NULL) return UAR_OK;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = json_read(out, a, text, MAX_FILE, &fault);
    return status == UAR_OK ? UAR_OK : error_set(err, status, "%s: %s", file, fault.message);
}

static uar_status read_all(config *c, const uar_allocator *a, const uar_bert_files *files, uar_error *err) {
    const struct {
        uar_str text;
        const char *name;
    } parts[] = {
        { files->config, "config.json" },
        { files->modules, "modules.json" },
        { files->pooling, "1_Pooling/config.json" },
        { files->sentence, "sentence_bert_config.json" },
        { files->prompts, "config_sentence_transformers.json" },
    };
    uar_status status = UAR_OK;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == UAR_OK; i++) {
        cJSON *json;
        status = parse(&json, a, parts[i].text, parts[i].name, err);
        if (status != UAR_OK || json == NULL) continue;
        switch (i) {
        case 0:
            status = read_shape(c, a, json, err);
            c->window = c->positions;
            break;
        case 1: status = read_modules(c, json, err); break;
        case 2: status = read_pooling(c, json, err); break;
        case 3: status = read_window(c, json, err); break;
        default: status = read_prompts(c, a, json, err); break;
        }
        json_free(a, json);
    }
    if (status == UAR_OK && c->window < MIN_WINDOW)
        return error_set(err, UAR_E_SCHEMA, "config.json: max_position_embeddings has no room for a token");
    return status;
}

uar_status config_read(config *out, const uar_allocator *a, const uar_bert_files *files, uar_error *err) {
    if (files->config.ptr == NULL) return error_set(err, UAR_E_NOT_FOUND, "the model has no config.json");
    config c = { .pooling = POOLING_MEAN, .normalise = true };
    uar_status status = read_all(&c, a, files, err);
    if (status == UAR_OK)
        *out = c;
    else
        config_dispose(&c, a);
    return status;
}

void config_dispose(config *c, const uar_allocator *a) {
    alloc_free(a, c->name);
    alloc_free(a, c->query_prefix);
    alloc_free(a, c->passage_prefix);
    c->name = c->query_prefix = c->passage_prefix = NULL;
}
