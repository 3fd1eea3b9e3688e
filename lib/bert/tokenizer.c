/*
 * Owns nothing beside the tokenizer it is given. One pass over the text: characters are collected into a word of fixed
 * room until something ends it. Invariant: `len` bytes of a word are whole characters, at most `max_word` of them.
 */
#include "bert/tokenizer.h"

#include <assert.h>

#include "base/utf8.h"
#include "bert/characters.h"

void id_list_init(id_list *list, const uar_allocator *a) {
    *list = (id_list){ a, NULL, 0, 0 };
}

void id_list_dispose(id_list *list) {
    alloc_free(list->alloc, list->ids);
    id_list_init(list, list->alloc);
}

uar_status id_list_add(id_list *list, int32_t id) {
    if (list->len == list->room) {
        size_t room = list->room != 0 ? list->room * 2 : 64;
        int32_t *more =
            room <= SIZE_MAX / sizeof *more ? alloc_resize(list->alloc, list->ids, room * sizeof *more) : NULL;
        if (more == NULL) return UAR_E_NOMEM;
        list->ids = more;
        list->room = room;
    }
    list->ids[list->len++] = id;
    return UAR_OK;
}

typedef struct word {
    const tokenizer *t;
    id_list *out;
    size_t len, characters;
    char bytes[TOKENIZER_MAX_WORD * 4];
} word;

/* The longest piece at `from`; its end, or 0 if there is none. */
static size_t longest_piece(int32_t *id, const word *w, size_t from) {
    size_t end = w->len - from < w->t->pieces.longest ? w->len : from + w->t->pieces.longest;
    for (; end > from; end--) {
        if (end < w->len && ((uint8_t)w->bytes[end] & 0xC0) == 0x80) continue;
        *id = vocabulary_find(&w->t->pieces, uar_str_n(w->bytes + from, end - from), from > 0);
        if (*id != VOCABULARY_NONE) return end;
    }
    return 0;
}

static uar_status word_split(word *w) {
    size_t first = w->out->len;
    for (size_t from = 0; from < w->len;) {
        int32_t id = VOCABULARY_NONE;
        size_t end = longest_piece(&id, w, from);
        if (end == 0) {
            w->out->len = first;
            return id_list_add(w->out, w->t->unknown);
        }
        uar_status status = id_list_add(w->out, id);
        if (status != UAR_OK) return status;
        from = end;
    }
    return UAR_OK;
}

static uar_status word_end(word *w) {
    uar_status status = UAR_OK;
    if (w->characters > w->t->max_word)
        status = id_list_add(w->out, w->t->unknown);
    else if (w->len > 0)
        status = word_split(w);
    w->len = w->characters = 0;
    return status;
}

static void word_add(word *w, uint32_t c) {
    if (++w->characters <= w->t->max_word) w->len += utf8_encode(w->bytes + w->len, c);
}

/* A character in its last form. */
static uar_status take_plain(word *w, uint32_t c) {
    if (character_is_space(c)) return word_end(w);
    if (!character_is_punctuation(c)) {
        word_add(w, c);
        return UAR_OK;
    }
    uar_status status = word_end(w);
    if (status != UAR_OK) return status;
    word_add(w, c);
    return word_end(w);
}

static uar_status take_lower(word *w, uint32_t c) {
    if (!w->t->lower) return take_plain(w, c);
    uint32_t parts[CHARACTER_PARTS];
    unsigned count = character_lower(parts, c);
    uar_status status = UAR_OK;
    for (unsigned i = 0; i < count && status == UAR_OK; i++)
        status = take_plain(w, parts[i]);
    return status;
}

static uar_status take_decomposed(word *w, uint32_t c) {
    if (!w->t->strip_accents) return take_lower(w, c);
    uint32_t parts[CHARACTER_PARTS];
    unsigned count = character_decompose(parts, c);
    uar_status status = UAR_OK;
    for (unsigned i = 0; i < count && status == UAR_OK; i++)
        if (!character_is_accent(parts[i])) status = take_lower(w, parts[i]);
    return status;
}

static uar_status take(word *w, uint32_t c) {
    if (c < 0x80 && c > ' ' && c != 0x7F) return take_lower(w, c);
    if (w->t->clean && character_is_noise(c)) return UAR_OK;
    if (!w->t->space_chinese || !character_is_chinese(c)) return take_decomposed(w, c);
    uar_status status = word_end(w);
    if (status == UAR_OK) status = take_decomposed(w, c);
    return status == UAR_OK ? word_end(w) : status;
}

/* The longest mark that the text begins with, or NULL. */
static const mark *mark_at(const tokenizer *t, const char *at, size_t len) {
    const mark *found = NULL;
    for (size_t i = 0; i < t->mark_count; i++) {
        const mark *m = &t->marks[i];
        if (m->len <= len && memcmp(t->mark_text + m->at, at, m->len) == 0 && (found == NULL || m->len > found->len))
            found = m;
    }
    return found;
}

uar_status tokenizer_run(id_list *out, const tokenizer *t, uar_str text) {
    word w = { .t = t, .out = out };
    uar_status status = UAR_OK;
    for (size_t at = 0; at < text.len && status == UAR_OK;) {
        const mark *m = mark_at(t, text.ptr + at, text.len - at);
        if (m != NULL) {
            status = word_end(&w);
            if (status == UAR_OK) status = id_list_add(out, m->id);
            at += m->len;
            continue;
        }
        utf8_item item = utf8_decode(text.ptr + at, text.len - at);
        if (item.kind != UTF8_CHARACTER) return UAR_E_UTF8;
        status = take(&w, item.code_point);
        at += item.len;
    }
    return status == UAR_OK ? word_end(&w) : status;
}
