/* Approvals: see approval.h. What models wrote is made visible before it is shown. */
#include "approval.h"

#include "json_syntax.h"

#include <stdio.h>

enum { SHORT_BYTES = 60, DEPTH_MOST = 64 };

/* Without the white space between its tokens. */
static void add_compact(text_buffer *out, uar_str json) {
    bool in_text = false;
    for (size_t i = 0; i < json.len; i++) {
        char c = json.ptr[i];
        bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (in_text || !blank) text_add(out, &c, 1);
        if (in_text && c == '\\' && i + 1 < json.len) text_add(out, &json.ptr[++i], 1);
        if (c == '"') in_text = !in_text;
    }
}

static void add_line(text_buffer *out, size_t depth) {
    text_add_z(out, "\n");
    for (size_t i = 0; i < depth && i < DEPTH_MOST; i++)
        text_add_z(out, "  ");
}

/* Every number and every escape stays as it was written. */
static void add_indented(text_buffer *out, uar_str compact) {
    size_t depth = 0;
    bool in_text = false;
    for (size_t i = 0; i < compact.len; i++) {
        char c = compact.ptr[i];
        char next = i + 1 < compact.len ? compact.ptr[i + 1] : '\0';
        bool opens = !in_text && (c == '{' || c == '[');
        bool closes = !in_text && (c == '}' || c == ']');
        bool hollow = closes && i > 0 && (compact.ptr[i - 1] == '{' || compact.ptr[i - 1] == '[');
        if (closes) depth--;
        if (closes && !hollow) add_line(out, depth);
        text_add(out, &c, 1);
        if (in_text && c == '\\' && next != '\0') text_add(out, &compact.ptr[++i], 1);
        if (c == '"') in_text = !in_text;
        if (opens) depth++;
        if ((opens && next != '}' && next != ']') || (!in_text && c == ',')) add_line(out, depth);
        if (!in_text && c == ':') text_add_z(out, " ");
    }
}

void json_add_readable(text_buffer *out, uar_str json) {
    const char *why = NULL;
    if (json.len == 0 || json_fault(json, &why) != json.len) {
        text_add(out, json.ptr, json.len);
        return;
    }
    text_buffer compact = { 0 };
    add_compact(&compact, json);
    if (compact.len <= SHORT_BYTES) {
        text_add(out, compact.data, compact.len);
    } else {
        add_indented(out, text_str(&compact));
    }
    text_free(&compact);
}

void approval_show(const char *tool, const char *arguments) {
    text_buffer line = { 0 };
    text_buffer shown = { 0 };
    json_add_readable(&shown, uar_str_of(arguments));
    text_add_z(&line, "Tool ");
    text_add_visible(&line, uar_str_of(tool), false);
    text_add_z(&line, " asks to run with ");
    text_add_visible(&line, text_str(&shown), true);
    text_add_z(&line, "\n");
    fwrite(line.data, 1, line.len, stderr);
    text_free(&shown);
    text_free(&line);
}

static uar_str trimmed(const text_buffer *line) {
    uar_str text = text_str(line);
    while (text.len > 0 && strchr(" \t\r", text.ptr[0]) != NULL) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && strchr(" \t\r", text.ptr[text.len - 1]) != NULL)
        text.len--;
    return text;
}

/* True if the answer is `word`, alone or with more behind it, which *rest gets. */
static bool is_word(uar_str *rest, uar_str answer, const char *word, bool alone) {
    size_t len = strlen(word);
    if (answer.len < len || memcmp(answer.ptr, word, len) != 0) return false;
    if (answer.len > len && (alone || answer.ptr[len] != ' ')) return false;
    size_t skip = answer.len > len ? len + 1 : len;
    *rest = uar_str_n(answer.ptr + skip, answer.len - skip);
    return true;
}

static void set(text_buffer *text, uar_str value) {
    text->len = 0;
    text_add(text, value.ptr, value.len);
}

/* False: nothing was entered, so the question comes again. */
static bool edit(approval *out, text_buffer *text, editor *e, const char *draft) {
    if (!editor_can_edit(e)) fputs("Enter the arguments as JSON on one line; an empty line goes back.\n", stderr);
    text_buffer compact = { 0 };
    text_buffer begin = { 0 };
    text_buffer line = { 0 };
    add_compact(&compact, uar_str_of(draft));
    text_add_visible(&begin, text_str(&compact), false); /* its \uXXXX mean the same in JSON */
    line_kind kind = editor_line(&line, e, "arguments: ", begin.data);
    uar_str entered = trimmed(&line);
    bool is_entered = kind == LINE_READ && entered.len > 0;
    if (is_entered) set(text, entered);
    if (is_entered) *out = APPROVAL_EDITED;
    if (kind == LINE_INTERRUPTED) *out = APPROVAL_LEFT;
    text_free(&line);
    text_free(&begin);
    text_free(&compact);
    return is_entered || kind == LINE_INTERRUPTED;
}

approval approval_ask(text_buffer *text, editor *e, const char *draft) {
    text_buffer line = { 0 };
    approval answer = APPROVAL_LEFT;
    bool answered = false;
    while (!answered) {
        uar_str rest = uar_str_of("");
        line_kind kind = editor_line(&line, e, "Allow it? [y/n], n with a reason, or e to edit: ", NULL);
        if (kind == LINE_INTERRUPTED) break;
        uar_str word = kind == LINE_READ ? trimmed(&line) : uar_str_of("");
        answered = true;
        if (kind == LINE_END || is_word(&rest, word, "n", false) || is_word(&rest, word, "no", false)) {
            answer = APPROVAL_NO;
            set(text, rest);
        } else if (is_word(&rest, word, "y", true) || is_word(&rest, word, "yes", true)) {
            answer = APPROVAL_YES;
        } else if (is_word(&rest, word, "e", true) || is_word(&rest, word, "edit", true)) {
            answered = edit(&answer, text, e, draft);
        } else {
            answered = false;
        }
    }
    text_free(&line);
    return answer;
}
