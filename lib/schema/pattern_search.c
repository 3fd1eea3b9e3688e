/*
 * Searching with a compiled pattern: all places of the program that can be reached are followed at once, character by
 * character, so no text makes it slow and nothing is ever tried twice.
 * Invariants: `mark` of an instruction equals `round` if it was reached at this place of the text, so each is visited at most
 * once a character; the stack, `now` and `seeds` therefore hold at most one entry an instruction.
 */
#include <assert.h>

#include "base/utf8.h"
#include "schema/pattern_program.h"

typedef struct search {
    const pattern *p;
    uint32_t *mark, *stack, *now, *seeds;
    uint32_t round;
    uint32_t depth, now_count, seed_count;
    uint64_t visits;
    uint32_t before, after; /* the code points around this place; NO_POINT at the ends */
    bool has_found;
} search;

#define NO_POINT UINT32_MAX

size_t pattern_scratch(const pattern *p) {
    return 4 * sizeof(uint32_t) * p->count;
}

static bool is_word(uint32_t point) {
    return (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') || (point >= 'a' && point <= 'z') ||
           point == '_';
}

static void reach(search *s, uint32_t at) {
    assert(at < s->p->count);
    if (s->mark[at] == s->round) return;
    s->mark[at] = s->round;
    s->stack[s->depth++] = at;
}

static bool passes(const search *s, pattern_op op) {
    switch (op) {
    case PATTERN_BEGIN: return s->before == NO_POINT;
    case PATTERN_END: return s->after == NO_POINT;
    case PATTERN_EDGE: return is_word(s->before) != is_word(s->after);
    default: break;
    }
    assert(op == PATTERN_NO_EDGE);
    return is_word(s->before) == is_word(s->after);
}

/* Everything that is reached from an instruction without reading. */
static void follow(search *s, uint32_t from) {
    reach(s, from);
    while (s->depth > 0) {
        uint32_t at = s->stack[--s->depth];
        const pattern_instr *i = &s->p->program[at];
        s->visits++;
        switch (i->op) {
        case PATTERN_CHAR:
        case PATTERN_SET: s->now[s->now_count++] = at; break;
        case PATTERN_SPLIT:
            reach(s, at + 1);
            reach(s, at + (uint32_t)i->arg);
            break;
        case PATTERN_JUMP: reach(s, at + (uint32_t)i->arg); break;
        case PATTERN_MATCH: s->has_found = true; break;
        default:
            if (passes(s, i->op)) reach(s, at + 1);
            break;
        }
    }
}

static void read_point(search *s, uint32_t point) {
    s->seed_count = 0;
    for (uint32_t i = 0; i < s->now_count; i++) {
        const pattern_instr *instr = &s->p->program[s->now[i]];
        bool fits =
            instr->op == PATTERN_CHAR ? (uint32_t)instr->arg == point : pattern_set_has(&s->p->sets[instr->arg], point);
        if (fits) s->seeds[s->seed_count++] = s->now[i] + 1;
    }
    s->visits += s->now_count;
}

/* The code point at an offset, and where the next one begins; NO_POINT at the end. */
static uint32_t point_at(uar_str text, size_t *offset) {
    if (*offset >= text.len) return NO_POINT;
    unsigned char byte = (unsigned char)text.ptr[*offset];
    if (byte < 0x80) {
        ++*offset;
        return byte;
    }
    utf8_item item = utf8_decode(text.ptr + *offset, text.len - *offset);
    *offset += item.len;
    return item.kind == UTF8_CHARACTER || item.kind == UTF8_SURROGATE ? item.code_point : UTF8_REPLACEMENT;
}

static void next_round(search *s) {
    s->now_count = 0;
    if (++s->round != 0) return;
    memset(s->mark, 0, s->p->count * sizeof *s->mark);
    s->round = 1;
}

static pattern_answer pay(const search *s, uint64_t *steps, pattern_answer answer) {
    uint64_t cost = s->visits / PATTERN_VISITS + 1;
    if (cost > *steps) answer = PATTERN_SPENT;
    *steps -= cost < *steps ? cost : *steps;
    return answer;
}

pattern_answer pattern_search(const pattern *p, uar_str text, void *scratch, uint64_t *steps) {
    uint32_t *memory = scratch;
    search s = { .p = p, .mark = memory, .stack = memory + p->count, .now = memory + 2 * (size_t)p->count };
    s.seeds = memory + 3 * (size_t)p->count;
    memset(s.mark, 0, p->count * sizeof *s.mark);
    s.visits = p->count / 16;
    s.before = NO_POINT;
    size_t offset = 0;
    s.after = point_at(text, &offset);
    for (;;) {
        next_round(&s);
        for (uint32_t i = 0; i < s.seed_count; i++)
            follow(&s, s.seeds[i]);
        if (s.before == NO_POINT || !p->is_anchored) follow(&s, 0);
        if (s.has_found) return pay(&s, steps, PATTERN_FOUND);
        if (s.after == NO_POINT) return pay(&s, steps, PATTERN_ABSENT);
        if (s.now_count == 0 && p->is_anchored) return pay(&s, steps, PATTERN_ABSENT);
        if (s.visits / PATTERN_VISITS >= *steps) return pay(&s, steps, PATTERN_SPENT);
        read_point(&s, s.after);
        s.before = s.after;
        s.after = point_at(text, &offset);
    }
}
