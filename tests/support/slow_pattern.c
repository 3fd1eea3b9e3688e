/* A backtracking matcher for patterns. Owns nothing; everything lies on the stack, so patterns and texts are short. */
#include "support/slow_pattern.h"

#include <utf8proc.h>

#include "base/utf8.h"

enum { POINTS = 600, NODES = 600, LEVELS = 3000, MANY = 1 << 20 };

typedef enum node_kind { POINT, NAMED, PROPERTY, CLASS, BEGIN, END, EDGE, NO_EDGE, GROUP, REPEAT } node_kind;

typedef struct node {
    node_kind kind;
    uint32_t point; /* of POINT; the letter of NAMED */
    int from, to;   /* of CLASS and PROPERTY: where in the pattern */
    bool is_negated;
    int least, most;           /* of REPEAT */
    const struct node *inside; /* of REPEAT: what; of GROUP: its first alternative */
    const struct node *other;  /* of GROUP: one with the further alternatives, or NULL */
    const struct node *next;   /* in a sequence */
} node;

typedef struct slow {
    uint32_t pattern[POINTS], text[POINTS];
    int pattern_len, text_len, at;
    node nodes[NODES];
    int node_count;
    bool is_broken; /* the pattern can't be read */
    uint64_t steps;
    int depth;
    bool is_spent;
} slow;

/* What comes behind: the rest of a sequence, or one more turn of a repeat. */
typedef struct rest {
    const node *node;
    bool is_turn;
    int turns, began;
    const struct rest *behind;
} rest;

static bool decode(uint32_t *out, int *len, uar_str s) {
    *len = 0;
    for (size_t i = 0; i < s.len;) {
        utf8_item item = utf8_decode(s.ptr + i, s.len - i);
        if (item.kind != UTF8_CHARACTER || *len == POINTS) return false;
        out[(*len)++] = item.code_point;
        i += item.len;
    }
    return true;
}

/* ---- Reading ---- */

static const node *read_group(slow *s);

static uint32_t peek(const slow *s) {
    return s->at < s->pattern_len ? s->pattern[s->at] : 0;
}

static bool eat(slow *s, uint32_t point) {
    if (s->at == s->pattern_len || s->pattern[s->at] != point) return false;
    s->at++;
    return true;
}

static node *new_node(slow *s, node_kind kind) {
    static node none; /* never read: the pattern is broken then */
    if (s->node_count == NODES) {
        s->is_broken = true;
        return &none;
    }
    node *n = &s->nodes[s->node_count++];
    *n = (node){ .kind = kind };
    return n;
}

static uint32_t read_hex(slow *s, int digits) {
    uint32_t value = 0;
    for (int i = 0; i < digits; i++) {
        uint32_t c = peek(s);
        s->at++;
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            value = value * 16 + ((c | 32) - 'a' + 10);
        else
            s->is_broken = true;
    }
    return value;
}

static uint32_t read_unicode(slow *s) {
    if (!eat(s, '{')) {
        uint32_t high = read_hex(s, 4);
        if (high < 0xD800 || high > 0xDBFF || s->at + 6 > s->pattern_len || s->pattern[s->at] != '\\' ||
            s->pattern[s->at + 1] != 'u' || s->pattern[s->at + 2] == '{')
            return high;
        int back = s->at;
        s->at += 2;
        uint32_t low = read_hex(s, 4);
        if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        s->at = back;
        return high;
    }
    uint32_t value = 0;
    while (!s->is_broken && value <= 0x10FFFF && peek(s) != '}')
        value = value * 16 + read_hex(s, 1);
    if (!eat(s, '}') || value > 0x10FFFF) s->is_broken = true;
    return value;
}

/* Behind the backslash. */
static node read_escape(slow *s, bool in_class) {
    node n = { .kind = POINT };
    uint32_t c = peek(s);
    s->at++;
    switch (c) {
    case 'd':
    case 'D':
    case 'w':
    case 'W':
    case 's':
    case 'S':
        n.kind = NAMED;
        n.point = c;
        return n;
    case 'p':
    case 'P':
        n.kind = PROPERTY;
        n.is_negated = c == 'P';
        if (!eat(s, '{')) s->is_broken = true;
        n.from = s->at;
        while (s->at < s->pattern_len && s->pattern[s->at] != '}')
            s->at++;
        n.to = s->at;
        if (!eat(s, '}')) s->is_broken = true;
        return n;
    case 't': n.point = '\t'; return n;
    case 'n': n.point = '\n'; return n;
    case 'v': n.point = '\v'; return n;
    case 'f': n.point = '\f'; return n;
    case 'r': n.point = '\r'; return n;
    case 'x': n.point = read_hex(s, 2); return n;
    case 'u': n.point = read_unicode(s); return n;
    case 'c':
        n.point = peek(s) % 32;
        s->at++;
        return n;
    case '0': n.point = 0; return n;
    case 'b':
        if (!in_class) break;
        n.point = '\b';
        return n;
    default: break;
    }
    bool is_plain = c > ' ' && c < 0x7F && !(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z');
    if (!is_plain) s->is_broken = true;
    n.point = c;
    return n;
}

/* Skips a class; what is in it is read again when it is asked. */
static node *read_class(slow *s) {
    node *n = new_node(s, CLASS);
    n->is_negated = eat(s, '^');
    n->from = s->at;
    while (s->at < s->pattern_len && s->pattern[s->at] != ']' && !s->is_broken) {
        if (!eat(s, '\\'))
            s->at++;
        else
            read_escape(s, true);
    }
    n->to = s->at;
    if (!eat(s, ']')) s->is_broken = true;
    return n;
}

static node *read_paren(slow *s) {
    if (eat(s, '?')) {
        bool is_named = eat(s, '<');
        if (!is_named && !eat(s, ':')) s->is_broken = true;
        while (is_named && s->at < s->pattern_len && !eat(s, '>'))
            s->at++;
    }
    if (++s->depth > 100) s->is_broken = true;
    const node *inside = s->is_broken ? NULL : read_group(s);
    s->depth--;
    if (!eat(s, ')')) s->is_broken = true;
    return (node *)(uintptr_t)inside;
}

static node *read_one(slow *s) {
    uint32_t c = s->pattern[s->at++];
    switch (c) {
    case '^': return new_node(s, BEGIN);
    case '$': return new_node(s, END);
    case '(': return read_paren(s);
    case '[': return read_class(s);
    case '.': {
        node *n = new_node(s, NAMED);
        n->point = '.';
        return n;
    }
    case '*':
    case '+':
    case '?':
    case '{':
    case '}':
    case ']': s->is_broken = true; break;
    default: break;
    }
    if (c == '\\') {
        if (eat(s, 'b')) return new_node(s, EDGE);
        if (eat(s, 'B')) return new_node(s, NO_EDGE);
        node *n = new_node(s, POINT);
        *n = read_escape(s, false);
        return n;
    }
    node *n = new_node(s, POINT);
    n->point = c;
    return n;
}

static int read_number(slow *s) {
    int value = 0;
    if (peek(s) < '0' || peek(s) > '9') s->is_broken = true;
    for (; peek(s) >= '0' && peek(s) <= '9'; s->at++)
        if (value < MANY) value = value * 10 + (int)(peek(s) - '0');
    return value;
}

static node *read_repeat(slow *s, node *what) {
    int least = 0, most = MANY;
    if (eat(s, '+'))
        least = 1;
    else if (eat(s, '?'))
        most = 1;
    else if (eat(s, '{')) {
        least = most = read_number(s);
        if (eat(s, ',')) most = peek(s) == '}' ? MANY : read_number(s);
        if (!eat(s, '}') || least > most) s->is_broken = true;
    } else if (!eat(s, '*'))
        return what;
    eat(s, '?');
    bool is_place = what != NULL && what->kind >= BEGIN && what->kind <= NO_EDGE;
    if (is_place) s->is_broken = true;
    node *n = new_node(s, REPEAT);
    *n = (node){ .kind = REPEAT, .least = least, .most = most, .inside = what };
    return n;
}

static const node *read_sequence(slow *s) {
    const node *first = NULL;
    node *last = NULL;
    while (!s->is_broken && s->at < s->pattern_len && peek(s) != '|' && peek(s) != ')') {
        node *one = read_one(s);
        if (s->is_broken) return NULL;
        one = read_repeat(s, one);
        if (last != NULL)
            last->next = one;
        else
            first = one;
        last = one;
    }
    return first;
}

static const node *read_group(slow *s) {
    node *n = new_node(s, GROUP);
    n->inside = read_sequence(s);
    if (!s->is_broken && eat(s, '|')) {
        if (++s->depth > 200) s->is_broken = true;
        n->other = s->is_broken ? NULL : read_group(s);
        s->depth--;
    }
    return n;
}

/* ---- Characters ---- */

static bool is_word(const slow *s, int at) {
    if (at < 0 || at >= s->text_len) return false;
    uint32_t c = s->text[at];
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_line_end(uint32_t c) {
    return c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029;
}

static bool is_space(uint32_t c) {
    return (c >= 9 && c <= 13) || c == 0xFEFF || is_line_end(c) ||
           utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_ZS;
}

static bool has_name(uint32_t letter, uint32_t c) {
    bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    switch (letter) {
    case '.': return !is_line_end(c);
    case 'd': return c >= '0' && c <= '9';
    case 'D': return !(c >= '0' && c <= '9');
    case 'w': return word;
    case 'W': return !word;
    case 's': return is_space(c);
    default: return !is_space(c);
    }
}

/* Categories by their one or two letters only. */
static bool has_property(slow *s, const node *n, uint32_t c) {
    const char *is = utf8proc_category_string((utf8proc_int32_t)c);
    const uint32_t *name = s->pattern + n->from;
    int len = n->to - n->from;
    bool has = false;
    if (len == 1)
        has = name[0] == (uint32_t)is[0];
    else if (len == 2 && name[0] == 'L' && name[1] == 'C')
        has = is[0] == 'L' && (is[1] == 'u' || is[1] == 'l' || is[1] == 't');
    else if (len == 2)
        has = name[0] == (uint32_t)is[0] && name[1] == (uint32_t)is[1];
    else
        s->is_broken = true;
    return has != n->is_negated;
}

static bool fits(slow *s, const node *n, uint32_t c);

static node read_item(slow *s) {
    if (eat(s, '\\')) return read_escape(s, true);
    node n = { .kind = POINT, .point = peek(s) };
    s->at++;
    return n;
}

static bool in_class(slow *s, const node *n, uint32_t c) {
    bool found = false;
    for (s->at = n->from; s->at < n->to;) {
        node first = read_item(s);
        if (s->at + 1 < n->to && s->pattern[s->at] == '-') {
            s->at++;
            node last = read_item(s);
            if (first.kind != POINT || last.kind != POINT || first.point > last.point) s->is_broken = true;
            found = found || (c >= first.point && c <= last.point);
        } else
            found = fits(s, &first, c) || found;
    }
    return found != n->is_negated;
}

static bool fits(slow *s, const node *n, uint32_t c) {
    switch (n->kind) {
    case POINT: return n->point == c;
    case NAMED: return has_name(n->point, c);
    case PROPERTY: return has_property(s, n, c);
    default: return in_class(s, n, c);
    }
}

/* ---- Trying ---- */

static bool try_node(slow *s, const node *n, int at, const rest *behind);

static bool try_turn(slow *s, const node *n, int turns, int began, int at, const rest *behind);

static bool try_rest(slow *s, int at, const rest *r) {
    if (r == NULL) return true;
    if (r->is_turn) return try_turn(s, r->node, r->turns, r->began, at, r->behind);
    return try_node(s, r->node, at, r->behind);
}

/* After `turns` turns, the last of which began at `began`. */
static bool try_turn(slow *s, const node *n, int turns, int began, int at, const rest *behind) {
    bool is_idle = turns > n->least && at == began;
    if (turns < n->most && !is_idle) {
        rest next = { n, true, turns + 1, at, behind };
        if (n->inside == NULL ? try_rest(s, at, &next) : try_node(s, n->inside, at, &next)) return true;
    }
    rest after = { n->next, false, 0, 0, behind };
    return turns >= n->least && try_rest(s, at, n->next != NULL ? &after : behind);
}

static bool try_here(slow *s, const node *n, int at, const rest *behind) {
    switch (n->kind) {
    case REPEAT: return try_turn(s, n, 0, -1, at, behind);
    case GROUP: {
        rest after = { n->next, false, 0, 0, behind };
        const rest *then = n->next != NULL ? &after : behind;
        for (const node *g = n; g != NULL; g = g->other)
            if (g->inside == NULL ? try_rest(s, at, then) : try_node(s, g->inside, at, then)) return true;
        return false;
    }
    case BEGIN:
        if (at != 0) return false;
        break;
    case END:
        if (at != s->text_len) return false;
        break;
    case EDGE:
    case NO_EDGE:
        if ((is_word(s, at - 1) != is_word(s, at)) != (n->kind == EDGE)) return false;
        break;
    default:
        if (at == s->text_len || !fits(s, n, s->text[at])) return false;
        at++;
        break;
    }
    return n->next != NULL ? try_node(s, n->next, at, behind) : try_rest(s, at, behind);
}

static bool try_node(slow *s, const node *n, int at, const rest *behind) {
    if (s->steps == 0 || s->depth == LEVELS) s->is_spent = true;
    if (s->is_spent) return false;
    s->steps--;
    s->depth++;
    bool found = try_here(s, n, at, behind);
    s->depth--;
    return found;
}

/* A class is read when it is asked, so each is asked once to learn whether it can be. */
static void ask_all(slow *s) {
    for (int i = 0; i < s->node_count; i++)
        if (s->nodes[i].kind <= CLASS) fits(s, &s->nodes[i], 'x');
}

slow_answer slow_pattern_search(uar_str pattern, uar_str text, uint64_t steps) {
    slow s;
    memset(&s, 0, sizeof s);
    s.steps = steps;
    if (!decode(s.pattern, &s.pattern_len, pattern) || !decode(s.text, &s.text_len, text)) return SLOW_UNKNOWN;
    const node *whole = read_group(&s);
    if (s.at < s.pattern_len) s.is_broken = true;
    if (!s.is_broken) ask_all(&s);
    if (s.is_broken) return SLOW_UNKNOWN;
    for (int at = 0; at <= s.text_len; at++) {
        bool found = try_node(&s, whole, at, NULL);
        if (s.is_broken) return SLOW_UNKNOWN;
        if (s.is_spent) return SLOW_SPENT;
        if (found) return SLOW_FOUND;
    }
    return SLOW_ABSENT;
}
