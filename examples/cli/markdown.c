/*
 * Markdown on a terminal: see markdown.h.
 *
 * The beginning of a line decides about fences, headings, lists and quotes; behind it runs of *, _ and ` switch attributes.
 * Emphasis and code spans end with their line at the latest, so that a stray marker never colours the rest of an answer.
 */
#include "markdown.h"

enum { BOLD = 1, ITALIC = 2, CODE = 4, MARK = 8, HEADING = 16 };

/* What the beginning of a line turned out to be. */
typedef enum head_kind { HEAD_OPEN, HEAD_PLAIN, HEAD_FENCE, HEAD_HEADING, HEAD_MARK } head_kind;

static void style(markdown *m, text_buffer *out, unsigned wanted) {
    static const struct {
        unsigned bit;
        const char *code;
    } codes[] = { { BOLD, ";1" }, { ITALIC, ";3" }, { CODE, ";36" }, { MARK, ";2" }, { HEADING, ";1;35" } };
    if (m->shown == wanted) return;
    text_add_z(out, "\033[0");
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (wanted & codes[i].bit) text_add_z(out, codes[i].code);
    text_add_z(out, "m");
    m->shown = wanted;
}

static unsigned style_here(const markdown *m) {
    if (m->fence != 0 || m->fence_line) return CODE;
    return m->emphasis | (m->code > 0 ? CODE : 0u) | (m->heading ? HEADING : 0u);
}

static void put(markdown *m, text_buffer *out, const char *bytes, size_t len, unsigned extra) {
    if (len == 0) return;
    style(m, out, style_here(m) | extra);
    text_add(out, bytes, len);
    m->last = bytes[len - 1];
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\0';
}

/* A letter or digit of any script: bytes of longer characters count as letters. */
static bool is_word(char c) {
    unsigned char u = (unsigned char)c;
    return (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u >= 0x80;
}

static size_t run_of(const text_buffer *b, size_t from) {
    size_t n = from;
    while (n < b->len && b->data[n] == b->data[from])
        n++;
    return n - from;
}

static size_t blanks_of(const text_buffer *b, size_t from) {
    size_t n = from;
    while (n < b->len && (b->data[n] == ' ' || b->data[n] == '\t'))
        n++;
    return n;
}

/* Inside a block of code only its end matters. The line feed is in `held` or still to come. */
static head_kind judge_in_fence(const markdown *m) {
    size_t at = blanks_of(&m->held, 0);
    if (at == m->held.len) return HEAD_OPEN;
    if (m->held.data[at] != m->fence) return HEAD_PLAIN;
    size_t run = run_of(&m->held, at);
    size_t rest = blanks_of(&m->held, at + run);
    if (rest == m->held.len) return HEAD_OPEN;
    return run >= m->fence_len && m->held.data[rest] == '\n' ? HEAD_FENCE : HEAD_PLAIN;
}

/* A bullet or a number is one once a blank stands behind it. */
static head_kind judge_mark(const text_buffer *b, size_t at) {
    size_t end = at;
    while (end < b->len && b->data[end] >= '0' && b->data[end] <= '9')
        end++;
    if (end == b->len) return HEAD_OPEN;
    bool number = end > at && end - at <= 9 && (b->data[end] == '.' || b->data[end] == ')');
    bool bullet = end == at && strchr("-*+", b->data[end]) != NULL;
    if (!number && !bullet) return HEAD_PLAIN;
    if (end + 1 == b->len) return HEAD_OPEN;
    return is_space(b->data[end + 1]) ? HEAD_MARK : HEAD_PLAIN;
}

static head_kind judge_head(const markdown *m) {
    if (m->fence != 0) return judge_in_fence(m);
    const text_buffer *b = &m->held;
    size_t at = blanks_of(b, 0);
    if (at == b->len) return HEAD_OPEN;
    char c = b->data[at];
    size_t run = run_of(b, at);
    bool whole = at + run < b->len;
    if (c == '`' || c == '~') return run >= 3 && whole ? HEAD_FENCE : whole ? HEAD_PLAIN : HEAD_OPEN;
    if (c == '#' && run <= 6) return !whole ? HEAD_OPEN : is_space(b->data[at + run]) ? HEAD_HEADING : HEAD_PLAIN;
    if (c == '>') return HEAD_MARK;
    return judge_mark(b, at);
}

/* A run of markers is over; `next` stands behind it. */
static void settle_run(markdown *m, text_buffer *out, char next) {
    size_t len = m->held.len;
    if (len == 0) return;
    char c = m->held.data[0];
    bool opens = !is_space(next) && (c == '*' || !is_word(m->last));
    bool closes = !is_space(m->last) && (c == '*' || !is_word(next));
    unsigned bits = len == 1 ? ITALIC : len == 2 ? BOLD : len == 3 ? BOLD | ITALIC : 0;
    unsigned off = closes ? m->emphasis & bits : 0;
    m->held.len = 0;
    if (c == '`') {
        bool begins = m->code == 0;
        if (begins) m->code = len;
        put(m, out, m->held.data, len, MARK);
        if (!begins && m->code == len) m->code = 0;
    } else if (m->code > 0) {
        put(m, out, m->held.data, len, 0);
    } else {
        if (off == 0 && opens) m->emphasis |= bits;
        put(m, out, m->held.data, len, off != 0 || (opens && bits != 0) ? MARK : 0u);
        m->emphasis &= ~off;
    }
}

static void line_over(markdown *m, text_buffer *out) {
    style(m, out, 0);
    text_add_z(out, "\n");
    m->in_line = false;
    m->heading = false;
    m->fence_line = false;
    m->escaped = false;
    m->code = 0;
    m->emphasis = 0;
    m->last = '\0';
}

static void take_inline(markdown *m, text_buffer *out, char c) {
    bool plain = m->fence != 0 || m->fence_line;
    /* ```like this``` is a code span, no fence: nothing behind it is code. */
    if (m->fence_line && c == '`' && m->fence == '`') m->fence = 0;
    bool marker = !plain && !m->escaped && (c == '*' || c == '_' || c == '`');
    if (marker && (m->held.len == 0 || m->held.data[0] == c)) {
        text_add(&m->held, &c, 1);
        return;
    }
    settle_run(m, out, c);
    if (marker) {
        text_add(&m->held, &c, 1);
    } else if (c == '\n') {
        line_over(m, out);
    } else {
        put(m, out, &c, 1, 0);
        m->escaped = c == '\\' && !m->escaped && m->code == 0;
    }
}

/* The beginning of the line is judged: write its marker, hand the rest on. */
static void settle_head(markdown *m, text_buffer *out, head_kind kind) {
    text_buffer head = m->held;
    memset(&m->held, 0, sizeof m->held);
    m->in_line = true;
    size_t at = blanks_of(&head, 0);
    size_t taken = 0;
    if (kind == HEAD_FENCE) {
        bool begins = m->fence == 0;
        m->fence_line = true;
        taken = at + run_of(&head, at);
        m->fence_len = taken - at;
        m->fence = begins ? head.data[at] : '\0';
        put(m, out, head.data, taken, MARK);
    } else if (kind == HEAD_HEADING) {
        m->heading = true;
        taken = at + run_of(&head, at);
        put(m, out, head.data, taken, MARK);
    } else if (kind == HEAD_MARK) {
        taken = head.data[at] == '>' ? at + 1 : head.len - 1;
        put(m, out, head.data, taken, head.data[at] == '>' ? MARK : BOLD);
    }
    for (size_t i = taken; i < head.len; i++)
        take_inline(m, out, head.data[i]);
    text_free(&head);
}

static void take(markdown *m, text_buffer *out, char c) {
    if (m->in_line) {
        take_inline(m, out, c);
        return;
    }
    text_add(&m->held, &c, 1);
    head_kind kind = judge_head(m);
    if (kind != HEAD_OPEN) settle_head(m, out, kind);
}

void markdown_feed(markdown *m, text_buffer *out, uar_str text) {
    for (size_t i = 0; i < text.len; i++)
        take(m, out, text.ptr[i]);
    style(m, out, 0);
}

void markdown_end(markdown *m, text_buffer *out) {
    if (m->in_line) {
        settle_run(m, out, '\0');
    } else {
        put(m, out, m->held.data, m->held.len, 0);
    }
    style(m, out, 0);
    text_free(&m->held);
    memset(m, 0, sizeof *m);
}
