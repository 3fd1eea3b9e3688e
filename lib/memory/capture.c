/* Owns: the rules of capture, as tables. Invariant: a candidate is a whole sentence of the user, or a whole clause
 * of one that states several facts, word for word, without its end mark. */
#include "memory/capture.h"

#include "base/buffer.h"
#include "base/str.h"
#include "index/fold.h"

#define SENTENCE_MIN 6
#define SENTENCE_MAX 400
#define ATTRIBUTE_MAX 60
#define VALUE_WORDS_MAX 24
#define ATTRIBUTE_WORDS_MAX 4

typedef enum rule_kind {
    RULE_FACT,     /* the rest is the value of `attribute` */
    RULE_OPINION,  /* the rest is what the user likes or not: its slot is the thing itself */
    RULE_NOTE,     /* worth keeping, no slot */
    RULE_REMEMBER, /* the rest is what to remember */
    RULE_OWN       /* "my X is Y": X is the attribute; `attribute` is the verb between them */
} rule_kind;

typedef struct rule {
    const char *head; /* how the sentence begins; small letters */
    rule_kind kind;
    const char *attribute;
} rule;

/* The longer of two heads that begin alike comes first. */
static const rule rules[] = {
    { "please remember that ", RULE_REMEMBER, NULL },
    { "please remember: ", RULE_REMEMBER, NULL },
    { "please remember ", RULE_REMEMBER, NULL },
    { "remember that ", RULE_REMEMBER, NULL },
    { "remember: ", RULE_REMEMBER, NULL },
    { "remember, ", RULE_REMEMBER, NULL },
    { "remember i ", RULE_NOTE, NULL },
    { "remember my ", RULE_NOTE, NULL },
    { "don't forget that ", RULE_REMEMBER, NULL },
    { "keep in mind that ", RULE_REMEMBER, NULL },
    { "for future reference, ", RULE_REMEMBER, NULL },
    { "my name is ", RULE_FACT, "name" },
    { "my name's ", RULE_FACT, "name" },
    { "i'm called ", RULE_FACT, "name" },
    { "i am called ", RULE_FACT, "name" },
    { "call me ", RULE_FACT, "name" },
    { "i live in ", RULE_FACT, "home" },
    { "i'm living in ", RULE_FACT, "home" },
    { "i am living in ", RULE_FACT, "home" },
    { "i now live in ", RULE_FACT, "home" },
    { "i moved to ", RULE_FACT, "home" },
    { "i've moved to ", RULE_FACT, "home" },
    { "i just moved to ", RULE_FACT, "home" },
    { "i work as ", RULE_FACT, "job" },
    { "i work at ", RULE_FACT, "employer" },
    { "i work for ", RULE_FACT, "employer" },
    { "i work in ", RULE_NOTE, NULL },
    { "i was born in ", RULE_FACT, "birth" },
    { "i was born on ", RULE_FACT, "birth" },
    { "i come from ", RULE_FACT, "origin" },
    { "i'm from ", RULE_FACT, "origin" },
    { "i am from ", RULE_FACT, "origin" },
    { "i'm allergic to ", RULE_NOTE, NULL },
    { "i am allergic to ", RULE_NOTE, NULL },
    { "i'm vegetarian", RULE_FACT, "diet" },
    { "i am vegetarian", RULE_FACT, "diet" },
    { "i'm vegan", RULE_FACT, "diet" },
    { "i am vegan", RULE_FACT, "diet" },
    { "i speak ", RULE_NOTE, NULL },
    { "i really like ", RULE_OPINION, NULL },
    { "i like ", RULE_OPINION, NULL },
    { "i really love ", RULE_OPINION, NULL },
    { "i love ", RULE_OPINION, NULL },
    { "i enjoy ", RULE_OPINION, NULL },
    { "i hate ", RULE_OPINION, NULL },
    { "i dislike ", RULE_OPINION, NULL },
    { "i don't like ", RULE_OPINION, NULL },
    { "i do not like ", RULE_OPINION, NULL },
    { "i can't stand ", RULE_OPINION, NULL },
    { "i prefer ", RULE_NOTE, NULL },
    { "my ", RULE_OWN, " is " },
    { "mein name ist ", RULE_FACT, "name" },
    { "ich hei\xC3\x9F"
      "e ",
      RULE_FACT, "name" },
    { "ich heisse ", RULE_FACT, "name" },
    { "ich wohne in ", RULE_FACT, "home" },
    { "ich lebe in ", RULE_FACT, "home" },
    { "ich arbeite als ", RULE_FACT, "job" },
    { "ich arbeite bei ", RULE_FACT, "employer" },
    { "ich mag ", RULE_OPINION, NULL },
    { "ich liebe ", RULE_OPINION, NULL },
    { "ich hasse ", RULE_OPINION, NULL },
    { "ich bevorzuge ", RULE_NOTE, NULL },
    { "ich bin allergisch gegen ", RULE_NOTE, NULL },
    { "merk dir, dass ", RULE_REMEMBER, NULL },
    { "merke dir, dass ", RULE_REMEMBER, NULL },
    { "merk dir: ", RULE_REMEMBER, NULL },
    { "merke dir: ", RULE_REMEMBER, NULL },
    { "denk daran, dass ", RULE_REMEMBER, NULL },
    { "mein ", RULE_OWN, " ist " },
    { "meine ", RULE_OWN, " ist " },
    { "me llamo ", RULE_FACT, "name" },
    { "mi nombre es ", RULE_FACT, "name" },
    { "vivo en ", RULE_FACT, "home" },
    { "trabajo como ", RULE_FACT, "job" },
    { "trabajo en ", RULE_FACT, "employer" },
    { "trabajo para ", RULE_FACT, "employer" },
    { "me gusta ", RULE_OPINION, NULL },
    { "me gustan ", RULE_OPINION, NULL },
    { "me encanta ", RULE_OPINION, NULL },
    { "prefiero ", RULE_NOTE, NULL },
    { "odio ", RULE_OPINION, NULL },
    { "soy al\xC3\xA9rgico a ", RULE_NOTE, NULL },
    { "soy al\xC3\xA9rgica a ", RULE_NOTE, NULL },
    { "recuerda que ", RULE_REMEMBER, NULL },
    { "mi ", RULE_OWN, " es " },
    { "je m'appelle ", RULE_FACT, "name" },
    { "mon nom est ", RULE_FACT, "name" },
    { "j'habite ", RULE_FACT, "home" },
    { "je vis \xC3\xA0 ", RULE_FACT, "home" },
    { "je travaille comme ", RULE_FACT, "job" },
    { "je travaille chez ", RULE_FACT, "employer" },
    { "j'aime ", RULE_OPINION, NULL },
    { "je n'aime pas ", RULE_OPINION, NULL },
    { "j'adore ", RULE_OPINION, NULL },
    { "je d\xC3\xA9teste ", RULE_OPINION, NULL },
    { "je pr\xC3\xA9"
      "f\xC3\xA8re ",
      RULE_NOTE, NULL },
    { "souviens-toi que ", RULE_REMEMBER, NULL },
    { "rappelle-toi que ", RULE_REMEMBER, NULL },
    { "retiens que ", RULE_REMEMBER, NULL },
    { "mon ", RULE_OWN, " est " },
    { "ma ", RULE_OWN, " est " },
};

/* What people say before they come to it. */
static const char *const lead_ins[] = { "hi ",       "hi, ",
                                        "hi! ",      "hello ",
                                        "hello, ",   "hey ",
                                        "hey, ",     "well, ",
                                        "so, ",      "ok, ",
                                        "okay, ",    "also, ",
                                        "and ",      "by the way, ",
                                        "btw, ",     "btw ",
                                        "oh, ",      "actually, ",
                                        "hallo, ",   "hola, ",
                                        "bonjour, ", "just so you know, " };

/* Words that make a sentence no statement of fact. */
static const char *const doubts[] = { " if ",        "if ",      " would ",       "suppose ",
                                      "imagine ",    "pretend ", " maybe ",       "maybe ",
                                      "perhaps ",    " i wish ", "let's say ",    " hypothetical",
                                      "for example", " e.g. ",   " kidding",      " joking",
                                      " might ",     " could ",  "wenn ",         " w\xC3\xBCrde ",
                                      "vielleicht ", "si ",      " quiz\xC3\xA1", "peut-\xC3\xAAtre",
                                      "translate",   " said",    " says",         "write a",
                                      "what ",       "who ",     "how " };

/* "My question is …" is no fact about the user. */
static const char *const no_attributes[] = {
    "question", "problem",  "issue",   "point",   "guess", "understanding", "code",       "program",
    "concern",  "answer",   "request", "task",    "error", "idea",          "plan",       "bad",
    "god",      "goodness", "advice",  "opinion", "frage", "problema",      "pregunta",   "probl\xC3\xA8me",
    "goal",     "function", "query",   "script",  "app",   "pleasure",      "assumption", "prompt",
    "input",    "output",   "file",
};

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Bytes of `text` that match `what` in any case; a typographic apostrophe matches a plain one. 0: no match. */
static size_t match(uar_str text, const char *what) {
    size_t at = 0;
    for (; *what != '\0'; what++) {
        if (at >= text.len) return 0;
        if (*what == '\'' && text.len - at >= 3 && memcmp(text.ptr + at, "\xE2\x80\x99", 3) == 0)
            at += 3;
        else if (lower(text.ptr[at]) == *what)
            at++;
        else
            return 0;
    }
    return at;
}

static uar_str rest(uar_str text, size_t from) {
    return uar_str_n(text.ptr + from, text.len - from);
}

static size_t find(uar_str text, const char *what) {
    for (size_t at = 0; at < text.len; at++)
        if (match(rest(text, at), what) != 0) return at;
    return SIZE_MAX;
}

static uar_str trim(uar_str text) {
    while (text.len != 0 && is_space(text.ptr[0]))
        text = rest(text, 1);
    while (text.len != 0 && (is_space(text.ptr[text.len - 1]) || text.ptr[text.len - 1] == ','))
        text.len--;
    return text;
}

static uar_str trim_end(uar_str text) {
    while (text.len != 0 && (is_space(text.ptr[text.len - 1]) || strchr(".!,;:", text.ptr[text.len - 1]) != NULL))
        text.len--;
    return text;
}

static size_t words(uar_str text) {
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += !is_space(text.ptr[i]) && (i == 0 || is_space(text.ptr[i - 1]));
    return count;
}

static bool has_doubt(uar_str sentence) {
    for (size_t i = 0; i < sizeof doubts / sizeof doubts[0]; i++) {
        size_t at = find(sentence, doubts[i]);
        if (doubts[i][0] == ' ' ? at != SIZE_MAX : at == 0) return true;
    }
    return find(sentence, " if ") != SIZE_MAX;
}

/* Quotation marks, code and markup: somebody else's words. */
static bool is_quoted(uar_str s) {
    if (s.ptr[0] == '>' || s.ptr[0] == '"' || s.ptr[0] == '|' || s.ptr[0] == '#') return true;
    for (size_t i = 0; i < s.len; i++)
        if (strchr("`{}<>\\\"=", s.ptr[i]) != NULL) return true;
    return find(s, "\xE2\x80\x9C") != SIZE_MAX || find(s, "\xC2\xAB") != SIZE_MAX || find(s, "://") != SIZE_MAX ||
           find(s, "\xE2\x80\x9E") != SIZE_MAX;
}

static uar_str drop_lead_in(uar_str s) {
    for (int round = 0; round < 3; round++) {
        size_t len = 0;
        for (size_t i = 0; i < sizeof lead_ins / sizeof lead_ins[0] && len == 0; i++)
            len = match(s, lead_ins[i]);
        if (len == 0) break;
        s = trim(rest(s, len));
    }
    return s;
}

typedef struct extraction {
    arena *ar;
    capture_candidate *out;
    size_t count;
    const uar_str *recalled;
    size_t recalled_count;
} extraction;

/* 1: the folded texts are the same, 0: not, -1: out of memory. */
static int same_text(arena *ar, uar_str a, uar_str b) {
    buffer text;
    buffer_init(&text, ar->alloc, SIZE_MAX / 4);
    uar_status status = fold_append(&text, trim_end(a));
    size_t split = text.len;
    if (status == UAR_OK) status = fold_append(&text, trim_end(b));
    int same = status == UAR_OK && text.len == split * 2 && memcmp(text.ptr, text.ptr + split, split) == 0;
    buffer_dispose(&text);
    return status == UAR_E_NOMEM ? -1 : same;
}

/* Nothing that was recalled, and nothing twice. */
static uar_status is_known(bool *out, const extraction *x, uar_str content) {
    *out = false;
    for (size_t i = 0; i < x->recalled_count + x->count && !*out; i++) {
        uar_str other = i < x->recalled_count ? x->recalled[i] : x->out[i - x->recalled_count].content;
        int same = same_text(x->ar, content, other);
        if (same < 0) return UAR_E_NOMEM;
        *out = same == 1;
    }
    return UAR_OK;
}

static uar_status add(extraction *x, uar_str content, uar_str attribute, double importance) {
    bool known = false;
    uar_status status = is_known(&known, x, content);
    if (status != UAR_OK || known || x->count == CAPTURE_MAX) return status;
    capture_candidate c = { .type = UAR_MEMORY_TYPE_SEMANTIC, .importance = importance };
    c.content = arena_str(x->ar, trim_end(content));
    if (c.content.ptr == NULL) return UAR_E_NOMEM;
    if (attribute.ptr != NULL) {
        c.subject = STR("user");
        c.attribute = arena_str(x->ar, attribute);
        if (c.attribute.ptr == NULL) return UAR_E_NOMEM;
    }
    x->out[x->count++] = c;
    return UAR_OK;
}

static bool is_no_attribute(uar_str attribute) {
    for (size_t i = 0; i < sizeof no_attributes / sizeof no_attributes[0]; i++)
        if (find(attribute, no_attributes[i]) != SIZE_MAX) return true;
    return false;
}

/* "my favourite colour is teal": what lies between the head and the verb, when it is a few plain words. */
static uar_str own_attribute(uar_str tail, const char *verb) {
    size_t at = find(tail, verb);
    if (at == SIZE_MAX || at == 0) return uar_str_n(NULL, 0);
    uar_str attribute = trim(uar_str_n(tail.ptr, at));
    uar_str value = trim_end(rest(tail, at + strlen(verb)));
    bool is_plain = attribute.len != 0 && attribute.len <= ATTRIBUTE_MAX && words(attribute) <= ATTRIBUTE_WORDS_MAX &&
                    find(attribute, ",") == SIZE_MAX;
    if (!is_plain || value.len == 0 || words(value) > VALUE_WORDS_MAX || is_no_attribute(attribute))
        return uar_str_n(NULL, 0);
    return attribute;
}

static const rule *find_rule(uar_str sentence, size_t *head) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        *head = match(sentence, rules[i].head);
        if (*head != 0) return &rules[i];
    }
    return NULL;
}

static uar_status apply_opinion(extraction *x, uar_str sentence, uar_str tail) {
    if (words(tail) > VALUE_WORDS_MAX / 2) return UAR_OK;
    uar_str first = uar_str_n(tail.ptr, tail.len);
    /* "I like that", "I love it": of what was said before, which is not kept. */
    if (words(tail) == 1 &&
        (match(first, "that") == tail.len || match(first, "it") == tail.len || match(first, "this") == tail.len ||
         match(first, "you") == tail.len || match(first, "them") == tail.len))
        return UAR_OK;
    if (match(first, "your ") != 0 || match(first, "how ") != 0 || match(first, "this ") != 0) return UAR_OK;
    char name[ATTRIBUTE_MAX + 16] = "opinion of ";
    size_t len = strlen(name);
    if (tail.len > ATTRIBUTE_MAX) return add(x, sentence, uar_str_n(NULL, 0), 0.6);
    memcpy(name + len, tail.ptr, tail.len);
    return add(x, sentence, uar_str_n(name, len + tail.len), 0.6);
}

static uar_status take_statement(extraction *x, uar_str sentence, double raise, bool *taken) {
    size_t head = 0;
    const rule *r = find_rule(sentence, &head);
    *taken = r != NULL;
    if (r == NULL) return UAR_OK;
    uar_str tail = trim_end(trim(rest(sentence, head)));
    uar_str none = { NULL, 0 };
    /* Only "I'm vegan" says all in its head. */
    bool is_whole = r->head[strlen(r->head) - 1] != ' ';
    if ((tail.len == 0 && !is_whole) || words(tail) > VALUE_WORDS_MAX) {
        *taken = false;
        return UAR_OK;
    }
    switch (r->kind) {
    case RULE_FACT: return add(x, sentence, uar_str_of(r->attribute), 0.7 + raise);
    case RULE_NOTE: return add(x, sentence, none, 0.6 + raise);
    case RULE_OPINION: return apply_opinion(x, sentence, tail);
    case RULE_REMEMBER: *taken = false; return UAR_OK;
    case RULE_OWN: {
        uar_str attribute = own_attribute(rest(sentence, head), r->attribute);
        *taken = attribute.ptr != NULL;
        return *taken ? add(x, sentence, attribute, 0.6 + raise) : UAR_OK;
    }
    }
    return UAR_OK;
}

/* What may stand between two statements of one sentence. */
static const char *const joints[] = { ", and ", " and ", ", ", " und ", ", y ", " y ", " et " };

/* Where the first statement of a sentence ends and the next begins; false if there is only one. One sentence may fill
 * several fact slots, and a later change of one must not take the others with it. */
static bool find_joint(uar_str sentence, size_t *end, size_t *next) {
    for (size_t at = 1; at < sentence.len; at++) {
        for (size_t j = 0; j < sizeof joints / sizeof joints[0]; j++) {
            size_t len = match(rest(sentence, at), joints[j]), head = 0;
            const rule *r = len != 0 ? find_rule(rest(sentence, at + len), &head) : NULL;
            if (r == NULL || r->kind == RULE_REMEMBER) continue;
            *end = at;
            *next = at + len;
            return true;
        }
    }
    return false;
}

static uar_status take_statements(extraction *x, uar_str sentence, double raise, bool *taken) {
    uar_status status = UAR_OK;
    size_t end = 0, next = 0;
    *taken = false;
    while (status == UAR_OK && find_joint(sentence, &end, &next)) {
        bool one = false;
        status = take_statement(x, trim_end(uar_str_n(sentence.ptr, end)), raise, &one);
        *taken = *taken || one;
        sentence = rest(sentence, next);
    }
    bool last = false;
    if (status == UAR_OK) status = take_statement(x, sentence, raise, &last);
    *taken = *taken || last;
    return status;
}

static uar_status take_sentence(extraction *x, uar_str raw) {
    uar_str s = drop_lead_in(trim(raw));
    if (s.len < SENTENCE_MIN || s.len > SENTENCE_MAX || s.ptr[s.len - 1] == '?' || is_quoted(s) || has_doubt(s) ||
        capture_is_secret(s))
        return UAR_OK;
    size_t head = 0;
    const rule *r = find_rule(s, &head);
    bool taken = false;
    if (r == NULL) return UAR_OK;
    if (r->kind != RULE_REMEMBER) return take_statements(x, s, 0, &taken);
    uar_str wish = trim(rest(s, head));
    /* "Remember to …" asks for a deed, not for a memory. */
    if (trim_end(wish).len < SENTENCE_MIN || match(wish, "to ") != 0 || match(wish, "when ") != 0) return UAR_OK;
    uar_status status = take_statements(x, wish, 0.2, &taken);
    return status != UAR_OK || taken ? status : add(x, wish, uar_str_n(NULL, 0), 0.8);
}

/* Where the sentence at `from` ends, behind its mark. A dot inside a word ("3.5", "e.g.x") ends nothing. */
static size_t sentence_end(uar_str text, size_t from) {
    for (size_t at = from; at < text.len; at++) {
        char c = text.ptr[at];
        if (c == '\n') return at + 1;
        bool is_mark = c == '.' || c == '!' || c == '?' || c == ';';
        if (is_mark && (at + 1 == text.len || is_space(text.ptr[at + 1]))) return at + 1;
        if (text.len - at >= 3 && (memcmp(text.ptr + at, "\xE3\x80\x82", 3) == 0)) return at + 3;
    }
    return text.len;
}

static uar_status take_line(extraction *x, uar_str line) {
    bool is_code = line.len != 0 && (line.ptr[0] == '\t' || (line.len >= 4 && memcmp(line.ptr, "    ", 4) == 0));
    uar_str first = trim(line);
    if (is_code || (first.len != 0 && first.ptr[0] == '>')) return UAR_OK;
    uar_status status = UAR_OK;
    for (size_t at = 0; at < line.len && status == UAR_OK;) {
        size_t end = sentence_end(line, at);
        status = take_sentence(x, uar_str_n(line.ptr + at, end - at));
        at = end;
    }
    return status;
}

/* The parts of a line that lie outside of fenced code; `in_code` moves on. */
static uar_status take_unfenced(extraction *x, uar_str line, bool *in_code) {
    uar_status status = UAR_OK;
    for (;;) {
        size_t at = find(line, "```");
        uar_str part = at != SIZE_MAX ? uar_str_n(line.ptr, at) : line;
        if (!*in_code && part.len != 0) status = take_line(x, part);
        if (status != UAR_OK || at == SIZE_MAX) return status;
        *in_code = !*in_code;
        line = rest(line, at + 3);
    }
}

uar_status memory_capture_extract(capture_candidate out[CAPTURE_MAX], size_t *count, arena *ar, uar_str text,
                                  const uar_str *recalled, size_t recalled_count) {
    extraction x = { ar, out, 0, recalled, recalled_count };
    bool in_code = false;
    uar_status status = UAR_OK;
    for (size_t at = 0; at < text.len && status == UAR_OK;) {
        const char *end = (const char *)memchr(text.ptr + at, '\n', text.len - at);
        size_t to = end != NULL ? (size_t)(end - text.ptr) : text.len;
        status = take_unfenced(&x, uar_str_n(text.ptr + at, to - at), &in_code);
        at = to + 1;
    }
    if (status == UAR_OK) *count = x.count;
    return status;
}
