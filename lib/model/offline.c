/*
 * Invariant: every word of the answer is fixed text of this file or quoted from the request; nothing is concluded.
 */
#include "model/offline.h"

#include "base/str.h"
#include "base/utf8.h"

enum { QUOTE_MAX = 400 }; /* bytes of one quoted text */

#define NO_MODEL "I am not a language model: I only quote what is stored."

/* A writer that pushes whole words; the first refusal of the sink sticks. */
typedef struct speech {
    const model_sink *sink;
    uar_status status;
} speech;

typedef struct memory_item {
    uar_str source; /* DATE, SCOPE, by TRUST */
    uar_str text;   /* still escaped */
} memory_item;

static void say_bytes(speech *s, uar_str text) {
    if (s->status == UAR_OK && text.len > 0) s->status = s->sink->text(s->sink->ctx, text);
}

/* Each word goes with the blank behind it. */
static void say(speech *s, uar_str text) {
    while (text.len > 0) {
        const char *blank = memchr(text.ptr, ' ', text.len);
        size_t len = blank != NULL ? (size_t)(blank - text.ptr) + 1 : text.len;
        say_bytes(s, uar_str_n(text.ptr, len));
        text = uar_str_n(text.ptr + len, text.len - len);
    }
}

static bool starts_with(uar_str text, uar_str head) {
    return text.len >= head.len && memcmp(text.ptr, head.ptr, head.len) == 0;
}

static bool ends_with(uar_str text, uar_str tail) {
    return text.len >= tail.len && memcmp(text.ptr + text.len - tail.len, tail.ptr, tail.len) == 0;
}

/* Length of the escape at the start of the text and the character it stands for; 0: no escape. */
static size_t escape_read(uar_str text, char *out) {
    static const struct {
        uar_str escape;
        char character;
    } escapes[] = { { STR_INIT("&lt;"), '<' },
                    { STR_INIT("&gt;"), '>' },
                    { STR_INIT("&#91;"), '[' },
                    { STR_INIT("&#93;"), ']' },
                    { STR_INIT("&amp;"), '&' } };
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        if (!starts_with(text, escapes[i].escape)) continue;
        *out = escapes[i].character;
        return escapes[i].escape.len;
    }
    return 0;
}

/* Say escaped text as it was before. */
static void say_unescaped(speech *s, uar_str text) {
    size_t from = 0, at = 0;
    while (at < text.len) {
        char character = 0;
        size_t len = text.ptr[at] == '&' ? escape_read(uar_str_n(text.ptr + at, text.len - at), &character) : 0;
        if (len == 0) {
            at++;
            continue;
        }
        say(s, uar_str_n(text.ptr + from, at - from));
        say_bytes(s, uar_str_n(&character, 1));
        at += len;
        from = at;
    }
    say(s, uar_str_n(text.ptr + from, text.len - from));
}

static void say_quote(speech *s, uar_str text) {
    size_t len = utf8_cut(text, QUOTE_MAX);
    say_bytes(s, STR("\""));
    say(s, uar_str_n(text.ptr, len));
    if (len < text.len) say_bytes(s, STR("\xe2\x80\xa6"));
    say_bytes(s, STR("\""));
}

/* ---- the request ---- */

static bool is_block(const uar_model_message *m) {
    if (m->role != UAR_ROLE_USER || m->part_count != 1 || m->parts[0].type != UAR_PART_TEXT) return false;
    uar_str text = m->parts[0].text;
    while (text.len > 0 && memchr(" \t\r\n", text.ptr[text.len - 1], 4) != NULL)
        text.len--;
    return starts_with(text, STR("<memory")) && ends_with(text, STR("</memory>"));
}

static const uar_model_message *newest_question(const uar_model_request *request) {
    for (size_t i = request->message_count; i-- > 0;) {
        const uar_model_message *m = &request->messages[i];
        if (m->role == UAR_ROLE_USER && !is_block(m)) return m;
    }
    return NULL;
}

static uar_str block_of(const uar_model_request *request, const uar_model_message *question) {
    if (question == NULL || question == request->messages || !is_block(question - 1)) return STR("");
    return (question - 1)->parts[0].text;
}

static uar_str first_text(const uar_model_message *m) {
    for (size_t i = 0; m != NULL && i < m->part_count; i++) {
        if (m->parts[i].type == UAR_PART_TEXT) return m->parts[i].text;
    }
    return STR("");
}

static bool asks(const uar_model_message *m) {
    static const uar_str marks[] = { STR_INIT("?"), STR_INIT("\xef\xbc\x9f"), STR_INIT("\xd8\x9f") };
    for (size_t p = 0; m != NULL && p < m->part_count; p++) {
        uar_str text = m->parts[p].type == UAR_PART_TEXT ? m->parts[p].text : STR("");
        for (size_t at = 0; at < text.len; at++) {
            for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
                if (starts_with(uar_str_n(text.ptr + at, text.len - at), marks[i])) return true;
            }
        }
    }
    return false;
}

/* ---- memory ---- */

/* The next item of a block; lines that are no items are passed over. */
static bool item_next(memory_item *out, uar_str *block) {
    while (block->len > 0) {
        const char *end = memchr(block->ptr, '\n', block->len);
        size_t len = end != NULL ? (size_t)(end - block->ptr) : block->len;
        uar_str line = uar_str_n(block->ptr, len);
        size_t skip = end != NULL ? len + 1 : len;
        *block = uar_str_n(block->ptr + skip, block->len - skip);
        if (!starts_with(line, STR("- ["))) continue;
        const char *close = memchr(line.ptr, ']', line.len);
        if (close == NULL) continue;
        size_t head = (size_t)(close - line.ptr);
        out->source = uar_str_n(line.ptr + 3, head - 3);
        out->text = uar_str_n(close + 1, line.len - head - 1);
        while (out->text.len > 0 && out->text.ptr[0] == ' ')
            out->text = uar_str_n(out->text.ptr + 1, out->text.len - 1);
        return true;
    }
    return false;
}

/* Quote the items under a heading; false if there are none. */
static bool say_items(speech *s, uar_str block, uar_str heading) {
    memory_item item;
    bool any = false;
    while (item_next(&item, &block)) {
        if (!any) say(s, heading);
        any = true;
        say_bytes(s, STR("\n- \""));
        say_unescaped(s, item.text);
        say(s, STR("\" ("));
        say_unescaped(s, item.source);
        say_bytes(s, STR(")"));
    }
    if (any) say_bytes(s, STR("\n"));
    return any;
}

/* ---- answers ---- */

static void say_results(speech *s, const uar_model_message *m) {
    for (size_t i = 0; i < m->part_count; i++) {
        const uar_part *p = &m->parts[i];
        if (p->type != UAR_PART_TOOL_RESULT) continue;
        say(s, STR("The tool "));
        say(s, p->tool);
        say(s, p->failed ? STR(" failed: ") : STR(" answered: "));
        say_quote(s, p->text);
        say_bytes(s, STR("\n"));
    }
}

static void say_reply(speech *s, const uar_model_request *request) {
    const uar_model_message *question = newest_question(request);
    uar_str block = block_of(request, question);
    if (asks(question)) {
        if (!say_items(s, block, STR("This is what memory holds about it:")))
            say(s, STR("I know nothing about that. "));
        return;
    }
    uar_str text = first_text(question);
    if (text.len > 0) {
        say(s, STR("I heard: "));
        say_quote(s, text);
        say_bytes(s, STR("\n"));
    }
    (void)say_items(s, block, STR("Memory holds this near it:"));
}

uar_status offline_answer(const uar_model_request *request, const model_sink *sink) {
    speech s = { sink, UAR_OK };
    const uar_model_message *last = request->message_count > 0 ? &request->messages[request->message_count - 1] : NULL;
    if (last != NULL && last->role == UAR_ROLE_TOOL) {
        size_t first = request->message_count - 1;
        while (first > 0 && request->messages[first - 1].role == UAR_ROLE_TOOL)
            first--;
        for (size_t i = first; i < request->message_count; i++)
            say_results(&s, &request->messages[i]);
    } else {
        say_reply(&s, request);
    }
    say(&s, STR(NO_MODEL));
    return s.status == UAR_OK ? sink->finish(sink->ctx, UAR_FINISH_STOP) : s.status;
}
