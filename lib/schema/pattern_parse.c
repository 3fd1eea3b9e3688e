/*
 * From the text of a pattern to its program, in one pass.
 * Owns the program and the sets while they grow; the finished ones lie in the caller's arena.
 * Invariants: a piece of the program from `start` to its end jumps only inside itself or right behind it, so pieces may be
 * moved and copied as a whole; the first fault stays; recursion is bounded by PATTERN_MAX_GROUPS.
 */
#include <assert.h>
#include <stdio.h>

#include "base/str.h"
#include "base/utf8.h"
#include "schema/pattern_program.h"

#define KNOWN_SETS ".dDwWsS"

typedef struct parser {
    arena *memory;
    const char *begin, *at, *end;
    pattern_instr *program;
    size_t count, program_room;
    pattern_set *sets;
    size_t set_count, set_room;
    int32_t known[sizeof KNOWN_SETS - 1]; /* where the set of each letter lies, plus one */
    size_t size, most;                    /* instructions and ranges: made so far, allowed */
    unsigned depth;
    pattern_fault *fault;
    uar_status status;
} parser;

/* What an escape or a single character stands for. */
typedef struct atom {
    bool is_set;
    char letter;         /* of KNOWN_SETS, or 0 */
    uint32_t categories; /* if no letter */
    bool is_ascii, is_not_ascii;
    uint32_t point; /* if no set */
} atom;

static bool parse_alternatives(parser *p);

/* ---- Faults ---- */

static bool fail(parser *p, uar_status status, const char *at, const char *what) {
    assert(p->status == UAR_OK);
    size_t place = utf8_length(uar_str_n(p->begin, (size_t)(at - p->begin))) + 1;
    snprintf(p->fault->text, sizeof p->fault->text, "%s at character %llu", what, (unsigned long long)place);
    p->status = status;
    return false;
}

static bool malformed(parser *p, const char *at, const char *what) {
    return fail(p, UAR_E_SCHEMA, at, what);
}

static bool unsupported(parser *p, const char *at, const char *what) {
    return fail(p, UAR_E_UNSUPPORTED, at, what);
}

static bool no_memory(parser *p) {
    p->status = UAR_E_NOMEM;
    return false;
}

/* ---- Reading the text ---- */

static bool next_is(const parser *p, char c) {
    return p->at < p->end && *p->at == c;
}

static bool skip(parser *p, char c) {
    if (!next_is(p, c)) return false;
    p->at++;
    return true;
}

static bool skip_text(parser *p, const char *text) {
    size_t len = strlen(text);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, text, len) != 0) return false;
    p->at += len;
    return true;
}

static bool read_point(parser *p, uint32_t *out) {
    if (p->at == p->end) return malformed(p, p->at, "it ends too early");
    utf8_item item = utf8_decode(p->at, (size_t)(p->end - p->at));
    if (item.kind != UTF8_CHARACTER) return malformed(p, p->at, "broken text");
    p->at += item.len;
    *out = item.code_point;
    return true;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* ---- Making the program ---- */

static bool take_size(parser *p, size_t more, const char *at) {
    if (more > p->most - p->size) return unsupported(p, at, "too many instructions, with repeats written out,");
    p->size += more;
    return true;
}

static bool reserve(parser *p, size_t more) {
    if (!take_size(p, more, p->at)) return false;
    if (p->count + more <= p->program_room) return true;
    size_t room = p->program_room == 0 ? 32 : p->program_room;
    while (room < p->count + more)
        room *= 2;
    pattern_instr *program = alloc_resize(p->memory->alloc, p->program, room * sizeof *program);
    if (program == NULL) return no_memory(p);
    p->program = program;
    p->program_room = room;
    return true;
}

static bool emit(parser *p, pattern_op op, int32_t arg) {
    if (!reserve(p, 1)) return false;
    p->program[p->count++] = (pattern_instr){ op, arg };
    return true;
}

/* Put a split in front of the piece that begins at `start`. */
static bool insert_split(parser *p, size_t start, size_t target) {
    if (!reserve(p, 1)) return false;
    memmove(&p->program[start + 1], &p->program[start], (p->count - start) * sizeof *p->program);
    p->program[start] = (pattern_instr){ PATTERN_SPLIT, (int32_t)(target - start) };
    p->count++;
    return true;
}

static bool copy_piece(parser *p, size_t start, size_t len) {
    if (!reserve(p, len)) return false;
    memcpy(&p->program[p->count], &p->program[start], len * sizeof *p->program);
    p->count += len;
    return true;
}

/* A new set at the end of the list, from a draft that it empties. */
static bool add_set(parser *p, pattern_draft *draft, bool is_negated) {
    if (p->set_count == p->set_room) {
        size_t room = p->set_room == 0 ? 4 : p->set_room * 2;
        pattern_set *sets = alloc_resize(p->memory->alloc, p->sets, room * sizeof *sets);
        if (sets == NULL) return no_memory(p);
        p->sets = sets;
        p->set_room = room;
    }
    if (!pattern_draft_finish(&p->sets[p->set_count], p->memory, draft, is_negated)) return no_memory(p);
    p->set_count++;
    return take_size(p, draft->count + 1, p->at);
}

static bool draft_atom(parser *p, pattern_draft *draft, const atom *a) {
    bool is_added = true;
    if (a->letter != 0)
        is_added = pattern_draft_add_named(draft, a->letter);
    else if (a->is_ascii)
        is_added = pattern_draft_add(draft, 0, 0x7F);
    else if (a->is_not_ascii)
        is_added = pattern_draft_add(draft, 0x80, PATTERN_LAST_POINT);
    else if (a->is_set)
        draft->categories |= a->categories;
    else
        is_added = pattern_draft_add(draft, a->point, a->point);
    return is_added || no_memory(p);
}

static bool emit_atom(parser *p, const atom *a) {
    if (!a->is_set) return emit(p, PATTERN_CHAR, (int32_t)a->point);
    int32_t *known = a->letter != 0 ? &p->known[strchr(KNOWN_SETS, a->letter) - KNOWN_SETS] : NULL;
    if (known != NULL && *known != 0) return emit(p, PATTERN_SET, *known - 1);
    pattern_draft draft = { .alloc = p->memory->alloc };
    bool is_made = draft_atom(p, &draft, a) && add_set(p, &draft, false);
    pattern_draft_dispose(&draft);
    if (!is_made) return false;
    if (known != NULL) *known = (int32_t)p->set_count;
    return emit(p, PATTERN_SET, (int32_t)p->set_count - 1);
}

/* ---- Escapes ---- */

static bool read_hex(parser *p, unsigned digits, uint32_t *out) {
    uint32_t value = 0;
    for (unsigned i = 0; i < digits; i++, p->at++) {
        int digit = p->at < p->end ? str_hex_digit(*p->at) : -1;
        if (digit < 0) return malformed(p, p->at, "a hex digit is missing");
        value = value << 4 | (uint32_t)digit;
    }
    *out = value;
    return true;
}

static bool read_braced_point(parser *p, uint32_t *out) {
    const char *start = p->at;
    uint32_t value = 0;
    do {
        uint32_t digit = 0;
        if (!read_hex(p, 1, &digit)) return false;
        value = value << 4 | digit;
        if (value > PATTERN_LAST_POINT) return malformed(p, start, "a code point above 10FFFF");
    } while (!skip(p, '}'));
    *out = value;
    return true;
}

/* Behind \u: a pair of surrogates is one code point. */
static bool read_unicode(parser *p, uint32_t *out) {
    if (skip(p, '{')) return read_braced_point(p, out);
    if (!read_hex(p, 4, out)) return false;
    if (*out < 0xD800 || *out > 0xDBFF || p->end - p->at < 6 || p->at[0] != '\\' || p->at[1] != 'u') return true;
    const char *back = p->at;
    uint32_t low = 0;
    p->at += 2;
    if (next_is(p, '{')) {
        p->at = back;
        return true;
    }
    if (!read_hex(p, 4, &low)) return false;
    if (low >= 0xDC00 && low <= 0xDFFF)
        *out = 0x10000u + ((*out - 0xD800u) << 10) + (low - 0xDC00u);
    else
        p->at = back;
    return true;
}

/* Behind \p or \P: {Lu}, {Letter}, {gc=Lu}, {General_Category=Lu}, {Any}, {ASCII}, {Assigned}. */
static bool read_property(parser *p, atom *out, bool is_negated) {
    const char *start = p->at - 2;
    const char *stop = p->at < p->end ? memchr(p->at, '}', (size_t)(p->end - p->at)) : NULL;
    if (!skip(p, '{') || stop == NULL) return malformed(p, start, "a property without its braces");
    if (!skip_text(p, "gc=")) skip_text(p, "General_Category=");
    uar_str name = uar_str_n(p->at, (size_t)(stop - p->at));
    p->at = stop + 1;
    *out = (atom){ .is_set = true, .categories = pattern_category(name) };
    if (str_is(name, "Any")) out->categories = PATTERN_ALL_CATEGORIES;
    if (str_is(name, "Assigned")) out->categories = PATTERN_ALL_CATEGORIES & ~PATTERN_UNASSIGNED;
    if (str_is(name, "ASCII")) {
        out->is_ascii = !is_negated;
        out->is_not_ascii = is_negated;
        return true;
    }
    if (out->categories == 0) {
        char what[64];
        snprintf(what, sizeof what, "the property \"%.*s\"", (int)utf8_cut(name, 40), name.ptr);
        return unsupported(p, start, what);
    }
    if (is_negated) out->categories ^= PATTERN_ALL_CATEGORIES;
    return true;
}

static uint32_t control_escape(char letter) {
    switch (letter) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'v': return '\v';
    case 'f': return '\f';
    case 'r': return '\r';
    default: return 0;
    }
}

/* The escapes that stand for one code point. `start` is the backslash, the letter is read. */
static bool read_point_escape(parser *p, const char *start, char letter, uint32_t *out) {
    *out = control_escape(letter);
    if (*out != 0) return true;
    switch (letter) {
    case 'x': return read_hex(p, 2, out);
    case 'u': return read_unicode(p, out);
    case 'c':
        if (p->at == p->end || !is_letter(*p->at)) return malformed(p, start, "\\c without a letter");
        *out = (uint32_t)*p->at++ % 32;
        return true;
    case '0':
        if (p->at < p->end && is_digit(*p->at)) return malformed(p, start, "an octal escape");
        return true;
    default: break;
    }
    bool is_punctuation = letter > ' ' && letter < 0x7F && !is_digit(letter) && !is_letter(letter);
    if (!is_punctuation) return malformed(p, start, "an unknown escape");
    *out = (uint32_t)letter;
    return true;
}

/* At a backslash. */
static bool read_escape(parser *p, atom *out, bool in_class) {
    const char *start = p->at++;
    if (p->at == p->end) return malformed(p, start, "a backslash at the end");
    char letter = *p->at++;
    *out = (atom){ 0 };
    if (letter != 0 && letter != '.' && strchr(KNOWN_SETS, letter) != NULL) {
        out->is_set = true;
        out->letter = letter;
        return true;
    }
    if (letter == 'p' || letter == 'P') return read_property(p, out, letter == 'P');
    if (in_class && letter == 'b') {
        out->point = '\b';
        return true;
    }
    if (!in_class && letter >= '1' && letter <= '9') return unsupported(p, start, "a backreference");
    if (!in_class && letter == 'k') return unsupported(p, start, "a named backreference");
    return read_point_escape(p, start, letter, &out->point);
}

/* ---- Classes ---- */

static bool read_class_atom(parser *p, atom *out) {
    if (next_is(p, '\\')) return read_escape(p, out, true);
    *out = (atom){ 0 };
    return read_point(p, &out->point);
}

static bool read_class_item(parser *p, pattern_draft *draft) {
    const char *start = p->at;
    atom first = { 0 }, last = { 0 };
    if (!read_class_atom(p, &first)) return false;
    bool is_range = p->end - p->at >= 2 && p->at[0] == '-' && p->at[1] != ']';
    if (!is_range) return draft_atom(p, draft, &first);
    p->at++;
    if (!read_class_atom(p, &last)) return false;
    if (first.is_set || last.is_set) return malformed(p, start, "a range that begins or ends with a class");
    if (first.point > last.point) return malformed(p, start, "a range whose end is before its begin");
    return pattern_draft_add(draft, first.point, last.point) || no_memory(p);
}

static bool read_class_items(parser *p, pattern_draft *draft, const char *start) {
    while (!skip(p, ']')) {
        if (p->at == p->end) return malformed(p, start, "a class without its end");
        if (draft->count > p->most) return unsupported(p, start, "a class of too many ranges");
        if (!read_class_item(p, draft)) return false;
    }
    return true;
}

static bool parse_class(parser *p) {
    const char *start = p->at++;
    bool is_negated = skip(p, '^');
    pattern_draft draft = { .alloc = p->memory->alloc };
    bool is_made = read_class_items(p, &draft, start) && add_set(p, &draft, is_negated);
    pattern_draft_dispose(&draft);
    return is_made && emit(p, PATTERN_SET, (int32_t)p->set_count - 1);
}

/* ---- Groups ---- */

static bool skip_group_name(parser *p, const char *start) {
    const char *name = p->at;
    while (p->at < p->end &&
           (is_letter(*p->at) || is_digit(*p->at) || *p->at == '_' || *p->at == '$' || (unsigned char)*p->at >= 0x80))
        p->at++;
    if (p->at == name || is_digit(*name) || !skip(p, '>')) return malformed(p, start, "a group with a bad name");
    return true;
}

/* Behind `(`: what kind of group it is. */
static bool read_group_kind(parser *p, const char *start) {
    if (!skip(p, '?') || skip(p, ':')) return true;
    if (next_is(p, '=') || next_is(p, '!')) return unsupported(p, start, "a lookahead");
    if (skip(p, '<')) {
        if (next_is(p, '=') || next_is(p, '!')) return unsupported(p, start, "a lookbehind");
        return skip_group_name(p, start);
    }
    if (p->at < p->end && (is_letter(*p->at) || *p->at == '-')) return unsupported(p, start, "a group with modifiers");
    return malformed(p, start, "an unknown kind of group");
}

static bool parse_group(parser *p) {
    const char *start = p->at++;
    if (!read_group_kind(p, start)) return false;
    if (p->depth == PATTERN_MAX_GROUPS) return unsupported(p, start, "a group that is nested too deeply");
    p->depth++;
    if (!parse_alternatives(p)) return false;
    p->depth--;
    return skip(p, ')') || malformed(p, start, "a group without its end");
}

/* ---- Repeats ---- */

typedef struct repeat {
    uint64_t least, most;
} repeat;

#define REPEAT_ANY UINT64_MAX

static uint64_t read_count(parser *p) {
    uint64_t value = 0;
    for (; p->at < p->end && is_digit(*p->at); p->at++)
        if (value <= UINT32_MAX) value = value * 10 + (uint64_t)(*p->at - '0');
    return value;
}

static bool read_counts(parser *p, repeat *out) {
    const char *start = p->at++;
    if (p->at == p->end || !is_digit(*p->at)) return malformed(p, start, "a brace that is not escaped");
    out->least = out->most = read_count(p);
    if (skip(p, ',')) out->most = p->at < p->end && is_digit(*p->at) ? read_count(p) : REPEAT_ANY;
    if (!skip(p, '}')) return malformed(p, start, "a repeat without its end");
    if (out->most < out->least) return malformed(p, start, "a repeat whose counts are in the wrong order");
    return true;
}

/* `any` is set if there is one. */
static bool read_repeat(parser *p, repeat *out, bool *any) {
    *any = true;
    if (skip(p, '*'))
        *out = (repeat){ 0, REPEAT_ANY };
    else if (skip(p, '+'))
        *out = (repeat){ 1, REPEAT_ANY };
    else if (skip(p, '?'))
        *out = (repeat){ 0, 1 };
    else if (next_is(p, '{')) {
        if (!read_counts(p, out)) return false;
    } else {
        *any = false;
        return true;
    }
    skip(p, '?'); /* lazy: whether it matches is the same */
    return true;
}

static bool repeat_without_end(parser *p, size_t start, size_t len, uint64_t least) {
    if (least == 0) return insert_split(p, start, p->count + 2) && emit(p, PATTERN_JUMP, -(int32_t)(len + 1));
    for (uint64_t i = 1; i < least; i++)
        if (!copy_piece(p, start, len)) return false;
    return emit(p, PATTERN_SPLIT, -(int32_t)len);
}

/* x{1,3} becomes x, then twice: leave, or x. */
static bool repeat_up_to(parser *p, size_t start, size_t len, const repeat *r) {
    uint64_t optional = r->most - r->least;
    size_t from = start;
    if (optional > PATTERN_MAX_SIZE || r->least > PATTERN_MAX_SIZE) return take_size(p, SIZE_MAX, p->at);
    if (r->least == 0) {
        if (!insert_split(p, start, start + (size_t)optional * (len + 1))) return false;
        from = start + 1;
        optional--;
    }
    for (uint64_t i = 1; i < r->least; i++)
        if (!copy_piece(p, from, len)) return false;
    for (; optional > 0; optional--)
        if (!emit(p, PATTERN_SPLIT, (int32_t)((size_t)optional * (len + 1))) || !copy_piece(p, from, len)) return false;
    return true;
}

/* The piece from `start` to the end, as often as the text says. */
static bool parse_repeat(parser *p, size_t start) {
    repeat r = { 0, 0 };
    bool any = false;
    if (!read_repeat(p, &r, &any)) return false;
    size_t len = p->count - start;
    if (!any || len == 0) return true;
    if (r.most == 0) {
        p->count = start;
        return true;
    }
    return r.most == REPEAT_ANY ? repeat_without_end(p, start, len, r.least) : repeat_up_to(p, start, len, &r);
}

/* ---- The grammar ---- */

/* The four that read nothing and can't be repeated. */
static bool parse_place(parser *p, bool *is_place) {
    *is_place = true;
    if (skip(p, '^')) return emit(p, PATTERN_BEGIN, 0);
    if (skip(p, '$')) return emit(p, PATTERN_END, 0);
    if (skip_text(p, "\\b")) return emit(p, PATTERN_EDGE, 0);
    if (skip_text(p, "\\B")) return emit(p, PATTERN_NO_EDGE, 0);
    *is_place = false;
    return true;
}

static bool parse_atom(parser *p) {
    atom a = { 0 };
    switch (*p->at) {
    case '(': return parse_group(p);
    case '[': return parse_class(p);
    case '\\': return read_escape(p, &a, false) && emit_atom(p, &a);
    case '.':
        p->at++;
        a = (atom){ .is_set = true, .letter = '.' };
        return emit_atom(p, &a);
    case '*':
    case '+':
    case '?': return malformed(p, p->at, "a repeat of nothing");
    case '{':
    case '}':
    case ']': return malformed(p, p->at, "a bracket or brace that is not escaped");
    default: break;
    }
    return read_point(p, &a.point) && emit_atom(p, &a);
}

static bool parse_sequence(parser *p) {
    while (p->at < p->end && *p->at != '|' && *p->at != ')') {
        size_t start = p->count;
        bool is_place = false;
        if (!parse_place(p, &is_place)) return false;
        if (is_place) continue;
        if (!parse_atom(p) || !parse_repeat(p, start)) return false;
    }
    return true;
}

/* The jumps to the end are linked through their targets until the end is known. */
static bool parse_alternatives(parser *p) {
    int32_t chain = -1;
    for (;;) {
        size_t start = p->count;
        if (!parse_sequence(p)) return false;
        if (!skip(p, '|')) break;
        if (!insert_split(p, start, p->count + 2) || !emit(p, PATTERN_JUMP, chain)) return false;
        chain = (int32_t)p->count - 1;
    }
    while (chain >= 0) {
        pattern_instr *jump = &p->program[chain];
        int32_t earlier = jump->arg;
        jump->arg = (int32_t)p->count - chain;
        chain = earlier;
    }
    return true;
}

static bool parse(parser *p) {
    if (!parse_alternatives(p)) return false;
    if (p->at < p->end) return malformed(p, p->at, "a group's end without its begin");
    return emit(p, PATTERN_MATCH, 0);
}

static const pattern *finish(parser *p) {
    pattern *made = arena_zeroed(p->memory, 1, sizeof *made);
    pattern_instr *program = arena_alloc(p->memory, p->count * sizeof *program);
    pattern_set *sets = arena_alloc(p->memory, (p->set_count + 1) * sizeof *sets);
    if (made == NULL || program == NULL || sets == NULL) return NULL;
    memcpy(program, p->program, p->count * sizeof *program);
    if (p->set_count > 0) memcpy(sets, p->sets, p->set_count * sizeof *sets);
    *made = (pattern){
        .program = program, .count = (uint32_t)p->count, .is_anchored = program[0].op == PATTERN_BEGIN, .sets = sets
    };
    return made;
}

uar_status pattern_compile(const pattern **out, arena *memory, uar_str text, size_t *room, pattern_fault *fault) {
    assert(out != NULL && memory != NULL && room != NULL && fault != NULL);
    parser p = { .memory = memory, .begin = text.ptr, .at = text.ptr, .end = text.ptr + text.len, .fault = fault };
    p.most = *room < PATTERN_MAX_SIZE ? *room : PATTERN_MAX_SIZE;
    const pattern *made = parse(&p) ? finish(&p) : NULL;
    if (made == NULL && p.status == UAR_OK) p.status = UAR_E_NOMEM;
    alloc_free(memory->alloc, p.program);
    alloc_free(memory->alloc, p.sets);
    if (made == NULL) return p.status;
    *room -= p.size;
    *out = made;
    return UAR_OK;
}
