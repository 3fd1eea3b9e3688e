/*
 * uar chat: a turn a line. A person at a terminal gets a conversation; programs get the lines' answers and nothing else:
 * for them Ctrl-C ends the turn that runs, and between turns the program.
 */
#include "commands.h"
#include "conversation.h"
#include "desk.h"
#include "output.h"

#include <stdio.h>
#include <unistd.h>

static bool is_blank(const text_buffer *line) {
    return line->len == 0 || strspn(line->data, " \t\r") == line->len;
}

/* A failure that the next line can't do better at. */
static bool is_hopeless(int code) {
    return code == CODE_STORE || code == CODE_BUSY;
}

static int take_line(desk *d, const app *a, text_buffer *line) {
    if (line->len > 0 && line->data[line->len - 1] == '\r') line->data[--line->len] = '\0';
    size_t bad = text_fault(line->data, line->len);
    if (bad < line->len) return report(a, UAR_E_UTF8, NULL, "the line is not valid UTF-8 at byte %zu", bad + 1);
    return desk_turn(d, text_str(line));
}

/* The first failure decides the exit code; what a person at a terminal saw needs no code. */
static int converse(desk *d, const app *a, bool person) {
    text_buffer line = { 0 };
    int code = CODE_OK;
    for (;;) {
        if (person && isatty(STDOUT_FILENO)) output_text("> ");
        line_kind kind = desk_line(d, &line);
        if (kind == LINE_END || kind == LINE_INTERRUPTED) break;
        if (kind == LINE_READ && is_blank(&line)) continue;
        int now = kind == LINE_READ ? take_line(d, a, &line) : report(a, UAR_E_TOO_LARGE, NULL, "the line is too long");
        if (code == CODE_OK && !person) code = now;
        if (output_fault() != 0 || (!person && is_hopeless(now))) break;
    }
    if (person && isatty(STDOUT_FILENO)) output_text("\n");
    text_free(&line);
    return code;
}

int cmd_chat(app *a) {
    desk_form form = DESK_TEXT;
    desk *d = NULL;
    int code = desk_form_of(&form, a);
    if (code == CODE_OK) code = desk_open(&d, a, form);
    if (code != CODE_OK) return code;
    if (desk_has_person(d)) {
        code = conversation_hold(d);
    } else {
        desk_greet(d);
        code = converse(d, a, isatty(STDIN_FILENO) != 0);
    }
    desk_close(d);
    return code;
}
