/*
 * Any bytes as a vocabulary, a tokenizer file and a text. The first byte says which file it is and how often the rest is
 * cut; files end at a byte 0x1E. What must hold: a file is refused with a typed error and nothing is left behind, or every
 * text gives tokens below the vocabulary's end, the same ones each time; only text that is no UTF-8 is refused.
 */
#include "base/error.h"
#include "base/utf8.h"
#include "bert/tokenizer.h"
#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What stands before the next separator. */
static uar_str next_part(uar_str *rest) {
    const char *end = memchr(rest->ptr, 0x1E, rest->len);
    uar_str part = uar_str_n(rest->ptr, end != NULL ? (size_t)(end - rest->ptr) : rest->len);
    size_t used = end != NULL ? part.len + 1 : part.len;
    *rest = uar_str_n(rest->ptr + used, rest->len - used);
    return part;
}

static void tokenize(const tokenizer *t, uar_str text) {
    id_list first, second;
    id_list_init(&first, &alloc_default);
    id_list_init(&second, &alloc_default);
    uar_status status = tokenizer_run(&first, t, text);
    PROPERTY(status == (utf8_is_valid(text) ? UAR_OK : UAR_E_UTF8));
    PROPERTY(tokenizer_run(&second, t, text) == status);
    PROPERTY(first.len == second.len && first.len <= text.len);
    for (size_t i = 0; i < first.len; i++) {
        PROPERTY(first.ids[i] == second.ids[i]);
        PROPERTY(first.ids[i] >= 0 && (size_t)first.ids[i] < t->pieces.ids);
    }
    id_list_dispose(&first);
    id_list_dispose(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    uar_str rest = uar_str_n((const char *)data + 1, size - 1);
    uar_bert_files files = { .size = UAR_BERT_FILES_INIT };
    uar_str file = next_part(&rest);
    if ((data[0] & 1) != 0)
        files.tokenizer = file;
    else
        files.vocabulary = file;
    if ((data[0] & 2) != 0) files.tokenizer_config = next_part(&rest);
    tokenizer t;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = tokenizer_read(&t, &alloc_default, &files, (data[0] & 4) != 0, &err);
    PROPERTY(err.code == status);
    if (status != UAR_OK) return 0;
    tokenize(&t, rest);
    tokenizer_dispose(&t);
    return 0;
}
