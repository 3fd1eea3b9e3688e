/*
 * Lines from a person: see editor.h.
 *
 * libedit reads characters through take_character, so that a signal ends its waiting. It sets the terminal for each line
 * and sets it back; characters that were typed before stay in the terminal.
 */
#include "editor.h"

#include "history.h"
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#ifndef UAR_CLI_LIBEDIT
#define UAR_CLI_LIBEDIT 0
#endif

#if UAR_CLI_LIBEDIT
#include <histedit.h>
#define NUMBER_TEXT_OF(number) #number
#define NUMBER_TEXT(number) NUMBER_TEXT_OF(number)
#endif

struct editor {
    line_reader *reader;
    int wake_fd;
    int screen_fd;
    history_file *kept;
#if UAR_CLI_LIBEDIT
    EditLine *line; /* NULL: plain reading */
    History *past;
    FILE *screen;
    const char *prompt;
    bool interrupted;
    bool waited; /* for a byte of this line: what comes now wasn't typed before the terminal was set */
#endif
};

static line_kind plain_line(text_buffer *line, editor *e, const char *prompt) {
    fputs(prompt, stderr);
    return lines_next(line, e->reader, e->wake_fd);
}

#if UAR_CLI_LIBEDIT

const char *editor_library(void) {
    return "libedit " NUMBER_TEXT(LIBEDIT_MAJOR) "." NUMBER_TEXT(LIBEDIT_MINOR);
}

static editor *editor_of(EditLine *line) {
    void *data = NULL;
    el_get(line, EL_CLIENTDATA, &data);
    return data;
}

static char *show_prompt(EditLine *line) {
    static char nothing[] = "";
    editor *e = editor_of(line);
    /* libedit asks for a char * and only reads it. */
    union {
        const char *in;
        char *out;
    } prompt = { e->prompt };
    return e->prompt != NULL ? prompt.out : nothing;
}

/* The window changed, or somebody else had the terminal while the program was stopped. libedit's own handlers aren't used:
 * they work on its buffers in the middle of whatever goes on. */
static void adapt(editor *e) {
    char bytes[64];
    while (read(e->screen_fd, bytes, sizeof bytes) > 0)
        continue;
    el_resize(e->line);
    el_set(e->line, EL_PREP_TERM, 0);
    el_set(e->line, EL_PREP_TERM, 1);
    el_set(e->line, EL_REFRESH);
}

/* Wait for a byte. 1, 0: the end, -1: a signal came. */
static int take_byte(editor *e, unsigned char *byte) {
    for (;;) {
        struct pollfd fds[3] = { { STDIN_FILENO, POLLIN, 0 }, { e->wake_fd, POLLIN, 0 }, { e->screen_fd, POLLIN, 0 } };
        int ready = poll(fds, 3, e->waited ? -1 : 0);
        if (ready == 0) {
            e->waited = true;
            continue;
        }
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0) return 0;
        if (fds[1].revents != 0) {
            e->interrupted = true;
            errno = EINTR;
            return -1;
        }
        if (fds[2].revents != 0) adapt(e);
        if (fds[0].revents == 0) continue;
        ssize_t n = read(STDIN_FILENO, byte, 1);
        if (n == 1) return 1;
        if (n == 0 || (errno != EINTR && errno != EAGAIN)) return 0;
    }
}

/* Bytes that follow the first of a character; 0 for one that stands alone or can't begin one. */
static int bytes_after(unsigned char first) {
    if (first >= 0xF0 && first < 0xF8) return 3;
    if (first >= 0xE0 && first < 0xF0) return 2;
    return first >= 0xC0 && first < 0xE0 ? 1 : 0;
}

/* A Ctrl-D typed while a run went on was taken by the terminal as an end of input: once lines are edited it reads as NUL. */
enum { CTRL_D = 4 };

static int take_character(EditLine *line, wchar_t *out) {
    static const unsigned char masks[] = { 0x7F, 0x1F, 0x0F, 0x07 };
    static const unsigned long least[] = { 0, 0x80, 0x800, 0x10000 };
    editor *e = editor_of(line);
    unsigned char byte = 0;
    int got = take_byte(e, &byte);
    if (got != 1) return got;
    if (byte == '\0' && !e->waited) byte = CTRL_D;
    int after = bytes_after(byte);
    bool valid = byte < 0x80 || after > 0;
    unsigned long code = byte & masks[after];
    for (int i = 0; i < after && valid; i++) {
        got = take_byte(e, &byte);
        if (got != 1) return got;
        valid = (byte & 0xC0) == 0x80;
        code = code << 6 | (byte & 0x3Fu);
    }
    valid = valid && code >= least[after] && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
    *out = (wchar_t)(valid ? code : 0xFFFD);
    return 1;
}

static void remember(void *ctx, const char *line) {
    editor *e = ctx;
    HistEvent event;
    history(e->past, &event, H_ENTER, line);
}

static bool prepare(editor *e) {
    int screen = dup(STDERR_FILENO);
    e->screen = screen >= 0 ? fdopen(screen, "w") : NULL;
    e->line = e->screen != NULL ? el_init("uar", stdin, e->screen, e->screen) : NULL;
    e->past = history_init();
    if (e->line == NULL || e->past == NULL) return false;
    HistEvent event;
    history(e->past, &event, H_SETSIZE, HISTORY_LINES);
    history(e->past, &event, H_SETUNIQUE, 1);
    el_set(e->line, EL_CLIENTDATA, e);
    el_set(e->line, EL_PROMPT, show_prompt);
    el_set(e->line, EL_EDITOR, "emacs");
    el_set(e->line, EL_HIST, history, e->past);
    el_set(e->line, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(e->line, EL_GETCFN, take_character);
    el_source(e->line, NULL);
    return true;
}

static void dismiss(editor *e) {
    if (e->line != NULL) el_end(e->line);
    if (e->past != NULL) history_end(e->past);
    if (e->screen != NULL) fclose(e->screen);
    e->line = NULL;
    e->past = NULL;
    e->screen = NULL;
}

static void edit_begin(editor *e) {
    if (!terminal_can_move() || !terminal_speaks_utf8()) return;
    if (prepare(e)) {
        history_each(e->kept, remember, e);
    } else {
        dismiss(e);
    }
}

bool editor_can_edit(const editor *e) {
    return e->line != NULL;
}

static line_kind edited_line(text_buffer *line, editor *e, const char *prompt, const char *draft) {
    int count = 0;
    e->prompt = prompt;
    e->interrupted = false;
    e->waited = false;
    if (draft != NULL && draft[0] != '\0') el_push(e->line, draft);
    el_resize(e->line);
    const char *text = el_gets(e->line, &count);
    if (e->interrupted) return LINE_INTERRUPTED;
    if (text == NULL || count <= 0) return LINE_END;
    line->len = 0;
    text_add_z(line, text);
    if (line->len > 0 && line->data[line->len - 1] == '\n') line->data[--line->len] = '\0';
    return LINE_READ;
}

line_kind editor_line(text_buffer *line, editor *e, const char *prompt, const char *draft) {
    return e->line != NULL ? edited_line(line, e, prompt, draft) : plain_line(line, e, prompt);
}

void editor_keep(editor *e, uar_str line) {
    if (!history_add(e->kept, line) || e->line == NULL) return;
    char *copy = must_copy(line);
    remember(e, copy);
    free(copy);
}

#else

const char *editor_library(void) {
    return NULL;
}

static void edit_begin(editor *e) {
    (void)e;
}

static void dismiss(editor *e) {
    (void)e;
}

bool editor_can_edit(const editor *e) {
    (void)e;
    return false;
}

line_kind editor_line(text_buffer *line, editor *e, const char *prompt, const char *draft) {
    (void)draft;
    return plain_line(line, e, prompt);
}

void editor_keep(editor *e, uar_str line) {
    history_add(e->kept, line);
}

#endif

void editor_forget(editor *e) {
    if (!isatty(STDIN_FILENO)) return;
    tcflush(STDIN_FILENO, TCIFLUSH);
    e->reader->waiting.len = 0;
    e->reader->looked_at = 0;
}

editor *editor_open(line_reader *reader, int wake_fd, int screen_fd, const char *history_path) {
    editor *e = must_alloc(sizeof *e);
    e->reader = reader;
    e->wake_fd = wake_fd;
    e->screen_fd = screen_fd;
    e->kept = history_open(history_path);
    edit_begin(e);
    return e;
}

void editor_close(editor *e) {
    if (e == NULL) return;
    dismiss(e);
    history_close(e->kept);
    free(e);
}
