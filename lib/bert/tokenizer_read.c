/*
 * Owns nothing beside the tokenizer that it makes. Invariants of a tokenizer: [UNK], [CLS] and [SEP] have ids; every mark
 * lies inside `mark_text`; no word is longer than TOKENIZER_MAX_WORD characters.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "bert/tokenizer.h"

#define MAX_TOKENIZER ((size_t)64 << 20)
#define MAX_TOKENIZER_CONFIG ((size_t)16 << 20)
#define DEFAULT_MAX_WORD 100

static const char *const marks_of_bert[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };

/* ---- The pieces ---- */

static uar_status pieces_fault(uar_status status, const char *file, uar_error *err) {
    return error_set(err, status, "%s: %s", file, status == UAR_E_NOMEM ? "out of memory" : "it is too large");
}

/* What continues a word is written with this prefix. */
static void add_piece(vocabulary *v, uar_str text, uar_str prefix, int32_t id) {
    bool continues = prefix.len != 0 && text.len > prefix.len && memcmp(text.ptr, prefix.ptr, prefix.len) == 0;
    if (continues) text = uar_str_n(text.ptr + prefix.len, text.len - prefix.len);
    vocabulary_add(v, text, continues, id);
}

static uar_str next_line(uar_str text, size_t *at) {
    const char *from = text.ptr + *at, *end = memchr(from, '\n', text.len - *at);
    size_t len = end != NULL ? (size_t)(end - from) : text.len - *at;
    *at += end != NULL ? len + 1 : len;
    return uar_str_n(from, len > 0 && from[len - 1] == '\r' ? len - 1 : len);
}

static uar_status read_lines(tokenizer *t, uar_str text, uar_error *err) {
    size_t fault = utf8_fault(text), lines = 0;
    if (fault < text.len) return error_set(err, UAR_E_UTF8, "vocab.txt: byte %zu is no UTF-8", fault);
    for (size_t at = 0; at < text.len; lines++)
        (void)next_line(text, &at);
    uar_status status = vocabulary_init(&t->pieces, t->alloc, lines, text.len);
    if (status != UAR_OK) return pieces_fault(status, "vocab.txt", err);
    int32_t id = 0;
    for (size_t at = 0; at < text.len; id++)
        add_piece(&t->pieces, next_line(text, &at), STR("##"), id);
    return UAR_OK;
}

static uar_status read_members(tokenizer *t, const cJSON *pieces, uar_str prefix, uar_error *err) {
    size_t count = 0, bytes = 0;
    uint64_t id;
    for (const cJSON *n = pieces->child; n != NULL; n = n->next, count++) {
        bytes += strlen(n->string);
        if (!json_node_u64(n, &id) || id >= VOCABULARY_MAX)
            return error_set(err, UAR_E_SCHEMA, "tokenizer.json: the id of '%s' is no small whole number", n->string);
    }
    uar_status status = vocabulary_init(&t->pieces, t->alloc, count, bytes);
    if (status != UAR_OK) return pieces_fault(status, "tokenizer.json", err);
    for (const cJSON *n = pieces->child; n != NULL; n = n->next)
        if (json_node_u64(n, &id)) add_piece(&t->pieces, uar_str_of(n->string), prefix, (int32_t)id);
    return UAR_OK;
}

/* ---- The marks ---- */

/* The text of a mark lies in `texts` until all are known. */
static uar_status add_mark(tokenizer *t, buffer *texts, uar_str text, int32_t id, uar_error *err) {
    if (text.len == 0) return UAR_OK;
    if (t->mark_count == TOKENIZER_MAX_MARKS)
        return error_set(err, UAR_E_UNSUPPORTED, "tokenizer.json: more than %d added tokens", TOKENIZER_MAX_MARKS);
    t->marks[t->mark_count++] = (mark){ (uint32_t)texts->len, (uint32_t)text.len, id };
    buffer_append_str(texts, text);
    return texts->status == UAR_OK ? UAR_OK : error_plain(err, texts->status);
}

static uar_status add_marks_of_bert(tokenizer *t, buffer *texts, uar_error *err) {
    uar_status status = UAR_OK;
    for (size_t i = 0; i < sizeof marks_of_bert / sizeof marks_of_bert[0] && status == UAR_OK; i++) {
        uar_str text = uar_str_of(marks_of_bert[i]);
        int32_t id = vocabulary_find(&t->pieces, text, false);
        if (id != VOCABULARY_NONE) status = add_mark(t, texts, text, id, err);
    }
    return status;
}

static uar_status add_listed_marks(tokenizer *t, buffer *texts, const cJSON *list, uar_error *err) {
    uar_status status = UAR_OK;
    for (const cJSON *n = cJSON_IsArray(list) ? list->child : NULL; n != NULL && status == UAR_OK; n = n->next) {
        uint64_t id;
        uar_str text = json_text(n, "content");
        if (text.len == 0 || !json_u64(n, "id", &id) || id >= VOCABULARY_MAX)
            return error_set(err, UAR_E_SCHEMA, "tokenizer.json: an added token has no content or no id");
        if ((size_t)id >= t->pieces.ids) t->pieces.ids = (size_t)id + 1;
        status = add_mark(t, texts, text, (int32_t)id, err);
    }
    return status;
}

/* Take the texts over, or the marks of BERT where the file lists none. */
static uar_status read_marks(tokenizer *t, const cJSON *list, uar_error *err) {
    buffer texts;
    buffer_init(&texts, t->alloc, MAX_TOKENIZER);
    uar_status status = list != NULL ? add_listed_marks(t, &texts, list, err) : add_marks_of_bert(t, &texts, err);
    if (status == UAR_OK && t->mark_count > 0) {
        t->mark_text = buffer_take(&texts, NULL);
        if (t->mark_text == NULL) status = error_plain(err, UAR_E_NOMEM);
    }
    buffer_dispose(&texts);
    return status;
}

static uar_status find_mark(int32_t *out, const tokenizer *t, const char *text, const char *file, uar_error *err) {
    *out = vocabulary_find(&t->pieces, uar_str_of(text), false);
    for (size_t i = 0; i < t->mark_count && *out == VOCABULARY_NONE; i++)
        if (str_is(uar_str_n(t->mark_text + t->marks[i].at, t->marks[i].len), text)) *out = t->marks[i].id;
    return *out != VOCABULARY_NONE ? UAR_OK : error_set(err, UAR_E_SCHEMA, "%s: there is no token %s", file, text);
}

/* ---- The files ---- */

/* A switch that is missing or null says nothing: false, and what was there stays. */
static bool read_switch(bool *out, const cJSON *object, const char *key) {
    bool value;
    if (!json_read_flag(&value, object, key)) return false;
    *out = value;
    return true;
}

static uar_status read_normalizer(tokenizer *t, const cJSON *json, uar_error *err) {
    const cJSON *normalizer = json_member(json, "normalizer");
    if (!str_is(json_text(normalizer, "type"), "BertNormalizer"))
        return error_set(err, UAR_E_UNSUPPORTED, "tokenizer.json: the normalizer is not BertNormalizer");
    if (!str_is(json_text(json_member(json, "pre_tokenizer"), "type"), "BertPreTokenizer"))
        return error_set(err, UAR_E_UNSUPPORTED, "tokenizer.json: the pre_tokenizer is not BertPreTokenizer");
    (void)read_switch(&t->clean, normalizer, "clean_text");
    (void)read_switch(&t->space_chinese, normalizer, "handle_chinese_chars");
    (void)read_switch(&t->lower, normalizer, "lowercase");
    t->strip_accents = t->lower;
    (void)read_switch(&t->strip_accents, normalizer, "strip_accents");
    return UAR_OK;
}

static uar_status read_word_piece(tokenizer *t, const cJSON *model, uar_error *err) {
    const cJSON *type = json_member(model, "type"), *pieces = json_member(model, "vocab");
    if (type != NULL && !str_is(json_node_text(type), "WordPiece"))
        return error_set(err, UAR_E_UNSUPPORTED, "tokenizer.json: the model is not WordPiece");
    if (!cJSON_IsObject(pieces)) return error_set(err, UAR_E_SCHEMA, "tokenizer.json: the vocabulary is no object");
    uint64_t max_word = DEFAULT_MAX_WORD;
    if (json_member(model, "max_input_chars_per_word") != NULL &&
        (!json_u64(model, "max_input_chars_per_word", &max_word) || max_word == 0 || max_word > TOKENIZER_MAX_WORD))
        return error_set(err, UAR_E_UNSUPPORTED, "tokenizer.json: max_input_chars_per_word is not from 1 to %d",
                         TOKENIZER_MAX_WORD);
    t->max_word = (size_t)max_word;
    uar_str prefix = json_text(model, "continuing_subword_prefix");
    return read_members(t, pieces, prefix.ptr != NULL ? prefix : STR("##"), err);
}

static uar_status read_json(tokenizer *t, uar_str text, uar_error *err) {
    cJSON *json = NULL;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = json_read(&json, t->alloc, text, MAX_TOKENIZER, &fault);
    if (status != UAR_OK) return error_set(err, status, "tokenizer.json: %s", fault.message);
    status = read_normalizer(t, json, err);
    if (status == UAR_OK) status = read_word_piece(t, json_member(json, "model"), err);
    if (status == UAR_OK) status = read_marks(t, json_member(json, "added_tokens"), err);
    json_free(t->alloc, json);
    return status;
}

/* tokenizer_config.json has the last word on case, accents and Chinese characters. */
static uar_status read_corrections(tokenizer *t, uar_str text, uar_error *err) {
    if (text.ptr == NULL) return UAR_OK;
    cJSON *json = NULL;
    uar_error fault = UAR_ERROR_INIT;
    uar_status status = json_read(&json, t->alloc, text, MAX_TOKENIZER_CONFIG, &fault);
    if (status != UAR_OK) return error_set(err, status, "tokenizer_config.json: %s", fault.message);
    if (read_switch(&t->lower, json, "do_lower_case")) t->strip_accents = t->lower;
    (void)read_switch(&t->strip_accents, json, "strip_accents");
    (void)read_switch(&t->space_chinese, json, "tokenize_chinese_chars");
    json_free(t->alloc, json);
    return UAR_OK;
}

static uar_status read_files(tokenizer *t, const uar_bert_files *files, uar_error *err) {
    const char *file = files->tokenizer.ptr != NULL ? "tokenizer.json" : "vocab.txt";
    uar_status status;
    if (files->tokenizer.ptr != NULL)
        status = read_json(t, files->tokenizer, err);
    else if (files->vocabulary.ptr == NULL)
        return error_set(err, UAR_E_NOT_FOUND, "the model has neither tokenizer.json nor vocab.txt");
    else if ((status = read_lines(t, files->vocabulary, err)) == UAR_OK)
        status = read_marks(t, NULL, err);
    if (status == UAR_OK) status = find_mark(&t->unknown, t, "[UNK]", file, err);
    if (status == UAR_OK) status = find_mark(&t->begin, t, "[CLS]", file, err);
    if (status == UAR_OK) status = find_mark(&t->end, t, "[SEP]", file, err);
    return status == UAR_OK ? read_corrections(t, files->tokenizer_config, err) : status;
}

uar_status tokenizer_read(tokenizer *out, const uar_allocator *a, const uar_bert_files *files, bool lower_first,
                          uar_error *err) {
    tokenizer t = { .alloc = a,
                    .pieces = { .alloc = a },
                    .clean = true,
                    .space_chinese = true,
                    .strip_accents = true,
                    .lower = true,
                    .max_word = DEFAULT_MAX_WORD };
    uar_status status = read_files(&t, files, err);
    if (status != UAR_OK) {
        tokenizer_dispose(&t);
        return status;
    }
    t.lower = t.lower || lower_first;
    *out = t;
    return UAR_OK;
}

void tokenizer_dispose(tokenizer *t) {
    vocabulary_dispose(&t->pieces);
    alloc_free(t->alloc, t->mark_text);
    t->mark_text = NULL;
}
