/*
 * The strict reader against another parser, libjansson, over generated and mutated texts: do both accept or both refuse,
 * and are the values the same? What differs must be explained by a named rule; see README.md.
 * usage: diff_json [--control] [COUNT [SEED]]
 * COUNT: inputs; without it 50,000, with UAR_TEST_FULL set 3,000,000. SEED: without it UAR_TEST_SEED, else 1.
 * --control puts a reader that is known to be lax in the place of ours: then differences must be found.
 * Status: 0 no unexplained difference, 1 some, 2 the run proves nothing (too few texts accepted or refused).
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "fuzz/other_json.h"
#include "support/probe_alloc.h"

#define MAX_TEXT 4096
#define MAX_SHOWN 10

/* What is known to be decided otherwise by one of the two, and why. */
typedef enum rule {
    RULE_NONE,
    RULE_DEPTH,        /* ours refuses more than 64 levels, jansson more than 2,048 */
    RULE_NUMBER_RANGE, /* jansson refuses integers beyond 64 bits and doubles beyond the range; ours keeps the token */
    RULE_RAW_NUL,      /* jansson loses a U+0000 that stands right behind a token; ours refuses it */
    RULE_COUNT
} rule;

static const char *const rule_names[RULE_COUNT] = { "unexplained", "depth", "number range", "raw U+0000" };

typedef struct random_source {
    uint64_t state;
} random_source;

typedef struct text_builder {
    random_source *random;
    size_t len;
    char bytes[MAX_TEXT];
} text_builder;

typedef struct tally {
    long accepted, refused;
    long explained[RULE_COUNT]; /* [RULE_NONE]: differences without an explanation */
} tally;

/* ---- Chance ---- */

static uint32_t draw(random_source *r, uint32_t below) {
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return (uint32_t)((r->state >> 32) * below >> 32);
}

static bool one_in(random_source *r, uint32_t n) {
    return draw(r, n) == 0;
}

/* ---- Texts ---- */

static void put_bytes(text_builder *t, const char *bytes, size_t len) {
    if (len > MAX_TEXT - t->len) len = MAX_TEXT - t->len;
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

static void put(text_builder *t, const char *text) {
    put_bytes(t, text, strlen(text));
}

#define PICK(random, list) ((list)[draw((random), sizeof(list) / sizeof *(list))])

static void put_space(text_builder *t) {
    static const char *const spaces[] = { "", "", "", "", " ", "\n", "\t\r", "  " };
    put(t, PICK(t->random, spaces));
}

static void put_digits(text_builder *t, uint32_t most) {
    for (uint32_t n = 1 + draw(t->random, most); n > 0; n--) {
        char c = (char)('0' + (int)draw(t->random, 10));
        put_bytes(t, &c, 1);
    }
}

static void put_number(text_builder *t) {
    static const char *const edges[] = { "0",
                                         "-0",
                                         "-0.0",
                                         "1e0",
                                         "9007199254740993",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "-9223372036854775808",
                                         "-9223372036854775809",
                                         "1.7976931348623157e308",
                                         "1.7976931348623159e308",
                                         "5e-324",
                                         "2e-324",
                                         "2.2250738585072011e-308",
                                         "1e309",
                                         "-1e309",
                                         "1e-999999999999999999999",
                                         "0e999",
                                         "1E+2",
                                         "0.1e-6" };
    static const char *const exponents[] = { "e", "E", "e+", "e-", "E-" };
    if (one_in(t->random, 4)) {
        put(t, PICK(t->random, edges));
        return;
    }
    if (one_in(t->random, 3)) put(t, "-");
    if (one_in(t->random, 4)) {
        put(t, "0");
    } else {
        char first = (char)('1' + (int)draw(t->random, 9));
        put_bytes(t, &first, 1);
        if (!one_in(t->random, 3)) put_digits(t, one_in(t->random, 10) ? 30 : 16);
    }
    if (one_in(t->random, 2)) {
        put(t, ".");
        put_digits(t, one_in(t->random, 30) ? 300 : 18);
    }
    if (one_in(t->random, 3)) {
        put(t, PICK(t->random, exponents));
        put_digits(t, one_in(t->random, 5) ? 4 : 2);
    }
}

static void put_string_piece(text_builder *t) {
    static const char *const pieces[] = { "a",
                                          "key",
                                          " plain text that is a little longer ",
                                          "\xC3\xA9",
                                          "\xE6\x97\xA5",
                                          "\xF0\x9F\x98\x80",
                                          "\\n",
                                          "\\\"",
                                          "\\\\",
                                          "\\/",
                                          "\\u0041",
                                          "\\u00e9",
                                          "\\u65E5",
                                          "\\ud83d\\ude00",
                                          "\x7F",
                                          "\xEF\xBF\xBF",
                                          "\xF4\x8F\xBF\xBF" };
    /* Mostly refused. */
    static const char *const faults[] = { "\\u0000",
                                          "\\ud83d",
                                          "\\ude00",
                                          "\\ud83dx",
                                          "\\ud83d\\u0041",
                                          "\\x",
                                          "\\u12",
                                          "\t",
                                          "\x01",
                                          "\xFF",
                                          "\xC0\x80",
                                          "\xED\xA0\xBD",
                                          "\xE6\x97",
                                          "\xF4\x90\x80\x80",
                                          "\xE0\x80\x80",
                                          "\xF0\x8F\xBF\xBF",
                                          "\\uD83D\\uD83D\\uDE00" };
    put(t, one_in(t->random, 60) ? PICK(t->random, faults) : PICK(t->random, pieces));
}

static void put_string(text_builder *t) {
    put(t, "\"");
    for (uint32_t n = draw(t->random, 6); n > 0; n--) {
        put_string_piece(t);
    }
    put(t, "\"");
}

/* Few names, so that repeats happen, also of different spelling. */
static void put_key(text_builder *t, uint32_t ordinal) {
    static const char *const names[] = { "\"\"", "\"a\"", "\"b\"", "\"\\u0061\"", "\"A\"", "\"ab\"" };
    char name[32];
    if (one_in(t->random, 12)) {
        put(t, PICK(t->random, names));
    } else if (one_in(t->random, 8)) {
        put_string(t);
    } else {
        snprintf(name, sizeof name, "\"member %" PRIu32 "\"", ordinal);
        put(t, name);
    }
}

static void put_value(text_builder *t, unsigned depth);

static void put_container(text_builder *t, unsigned depth, bool is_object) {
    uint32_t items = one_in(t->random, 20) ? draw(t->random, 40) : draw(t->random, 5);
    put(t, is_object ? "{" : "[");
    put_space(t);
    for (uint32_t i = 0; i < items; i++) {
        if (i > 0) put(t, ",");
        put_space(t);
        if (is_object) {
            put_key(t, i);
            put_space(t);
            put(t, ":");
            put_space(t);
        }
        put_value(t, depth + 1);
        put_space(t);
    }
    put(t, is_object ? "}" : "]");
}

static void put_value(text_builder *t, unsigned depth) {
    static const char *const words[] = { "true", "false", "null" };
    uint32_t choice = draw(t->random, depth > 6 ? 6 : 10);
    if (choice < 2) {
        put_number(t);
    } else if (choice < 4) {
        put_string(t);
    } else if (choice < 6) {
        put(t, PICK(t->random, words));
    } else {
        put_container(t, depth, choice < 8);
    }
}

/* A column of containers around a value, about as deep as ours allows. */
static void put_column(text_builder *t) {
    uint32_t depth = 50 + draw(t->random, 30);
    bool is_object = one_in(t->random, 2);
    for (uint32_t i = 0; i < depth; i++) {
        put(t, is_object ? "{\"k\":" : "[");
    }
    put_value(t, 10);
    for (uint32_t i = 0; i < depth; i++) {
        put(t, is_object ? "}" : "]");
    }
}

/* ---- Damage ---- */

static void remove_slice(text_builder *t, size_t at, size_t len) {
    if (len > t->len - at) len = t->len - at;
    memmove(t->bytes + at, t->bytes + at + len, t->len - at - len);
    t->len -= len;
}

static void insert_bytes(text_builder *t, size_t at, const char *bytes, size_t len) {
    char copy[64];
    if (len > sizeof copy) len = sizeof copy;
    if (len > MAX_TEXT - t->len) return;
    memcpy(copy, bytes, len);
    memmove(t->bytes + at + len, t->bytes + at, t->len - at);
    memcpy(t->bytes + at, copy, len);
    t->len += len;
}

static void damage(text_builder *t) {
    static const char marks[] =
        "{}[]:,\"\\/0123456789+-.eEtfnu \t\n\r\0\x0B\x1F\x7F\x80\xA0\xBF\xC2\xE0\xED\xF0\xF4\xFF";
    size_t at = draw(t->random, (uint32_t)t->len + 1);
    char mark = marks[draw(t->random, sizeof marks - 1)];
    size_t from = draw(t->random, (uint32_t)t->len + 1);
    switch (draw(t->random, 6)) {
    case 0: remove_slice(t, at, 1); break;
    case 1: insert_bytes(t, at, &mark, 1); break;
    case 2:
        if (at < t->len) t->bytes[at] = mark;
        break;
    case 3: remove_slice(t, at, draw(t->random, 10)); break;
    case 4: insert_bytes(t, at, t->bytes + from, t->len - from < 12 ? t->len - from : 12); break;
    default: t->len = at; break;
    }
}

static void make_text(text_builder *t) {
    t->len = 0;
    put_space(t);
    if (one_in(t->random, 40)) {
        put_column(t);
    } else if (one_in(t->random, 4)) {
        put_value(t, 0);
    } else {
        put_container(t, 0, one_in(t->random, 2));
    }
    put_space(t);
    if (one_in(t->random, 2)) return;
    for (uint32_t n = 1 + draw(t->random, 3); n > 0; n--) {
        damage(t);
    }
}

/* ---- Comparing ---- */

static bool same_integer(const cJSON *ours, const other_value *theirs) {
    int64_t value;
    /* The control's reader keeps no token. */
    if (ours->valuestring == NULL) return ours->valuedouble == (double)other_integer(theirs);
    return json_node_i64(ours, &value) && value == other_integer(theirs);
}

static bool same_real(const cJSON *ours, const other_value *theirs) {
    double value = ours->valuedouble;
    double other = other_real(theirs);
    return memcmp(&value, &other, sizeof value) == 0;
}

static bool same_string(const char *ours, const other_value *theirs) {
    size_t len;
    const char *text = other_text(theirs, &len);
    return strlen(ours) == len && memcmp(ours, text, len) == 0;
}

static bool same_tree(const cJSON *ours, const other_value *theirs);

static bool same_array(const cJSON *ours, const other_value *theirs) {
    size_t at = 0;
    for (const cJSON *item = ours->child; item != NULL; item = item->next, at++) {
        if (at >= other_size(theirs) || !same_tree(item, other_item(theirs, at))) return false;
    }
    return at == other_size(theirs);
}

static bool same_object(const cJSON *ours, const other_value *theirs) {
    size_t count = 0;
    for (const cJSON *member = ours->child; member != NULL; member = member->next, count++) {
        const other_value *other = other_member(theirs, member->string);
        if (other == NULL || !same_tree(member, other)) return false;
    }
    return count == other_size(theirs);
}

static bool same_tree(const cJSON *ours, const other_value *theirs) {
    int kind = ours->type & 0xFF;
    switch (other_kind_of(theirs)) {
    case OTHER_NULL: return kind == cJSON_NULL;
    case OTHER_FALSE: return kind == cJSON_False;
    case OTHER_TRUE: return kind == cJSON_True;
    case OTHER_INTEGER: return kind == cJSON_Number && same_integer(ours, theirs);
    case OTHER_REAL: return kind == cJSON_Number && same_real(ours, theirs);
    case OTHER_STRING: return kind == cJSON_String && same_string(ours->valuestring, theirs);
    case OTHER_ARRAY: return kind == cJSON_Array && same_array(ours, theirs);
    case OTHER_OBJECT: return kind == cJSON_Object && same_object(ours, theirs);
    }
    return false;
}

/* The control's reader: takes duplicates, cut texts, text after the value, broken UTF-8, and rounds integers. */
static cJSON *read_lax(const char *text, size_t len) {
    return cJSON_ParseWithLength(text, len);
}

static cJSON *read_ours(probe_alloc *probe, uar_str text, uar_error *err) {
    cJSON *tree = NULL;
    return json_read(&tree, &probe->door, text, MAX_TEXT, err) == UAR_OK ? tree : NULL;
}

/* Without its U+0000 the text must be one that ours reads, with the value that the other parser found. */
static bool is_lost_nul(const text_builder *t, const other_value *theirs) {
    static char clean[MAX_TEXT];
    probe_alloc probe;
    size_t len = 0;
    for (size_t i = 0; i < t->len; i++) {
        if (t->bytes[i] != 0) clean[len++] = t->bytes[i];
    }
    if (len == t->len) return false;
    probe_alloc_init(&probe);
    cJSON *tree = read_ours(&probe, uar_str_n(clean, len), NULL);
    bool is_same = tree != NULL && same_tree(tree, theirs);
    json_free(&probe.door, tree);
    return is_same;
}

/*
 * True if both agree or a rule explains why they don't. The depth is counted on the other parser's tree: our reader's
 * word is not taken for it.
 */
static bool judge(const text_builder *t, const cJSON *ours, other_value *theirs, const other_error *their_error,
                  rule *why) {
    *why = RULE_NONE;
    if (ours != NULL && theirs != NULL) return same_tree(ours, theirs);
    if (ours == NULL && theirs == NULL) return true;
    if (ours != NULL) {
        if (their_error->is_number_range) *why = RULE_NUMBER_RANGE;
    } else if (other_depth(theirs) > JSON_MAX_DEPTH) {
        *why = RULE_DEPTH;
    } else if (is_lost_nul(t, theirs)) {
        *why = RULE_RAW_NUL;
    }
    return *why != RULE_NONE;
}

static void show(const text_builder *t, bool ours, bool theirs, const char *our_message, const char *their_message) {
    printf("difference: ours %s%s%s, theirs %s (%s):\n  ", ours ? "accepts" : "refuses", ours ? "" : ": ",
           ours ? "" : our_message, theirs ? "accepts" : "refuses", their_message);
    for (size_t i = 0; i < t->len; i++) {
        unsigned char c = (unsigned char)t->bytes[i];
        if (c >= 0x20 && c < 0x7F) {
            putchar(c);
        } else {
            printf("\\x%02X", c);
        }
    }
    putchar('\n');
}

static void compare(text_builder *t, bool is_control, tally *sum) {
    probe_alloc probe;
    other_error their_error;
    uar_error our_error = UAR_ERROR_INIT;
    probe_alloc_init(&probe);
    other_value *theirs = other_read(t->bytes, t->len, &their_error);
    cJSON *ours = is_control ? read_lax(t->bytes, t->len) : read_ours(&probe, uar_str_n(t->bytes, t->len), &our_error);
    rule why;
    bool agrees = judge(t, ours, theirs, &their_error, &why);
    if (theirs != NULL) {
        sum->accepted++;
    } else {
        sum->refused++;
    }
    if (!agrees && sum->explained[RULE_NONE] < MAX_SHOWN) {
        show(t, ours != NULL, theirs != NULL, our_error.message, their_error.message);
    }
    if (!agrees || why != RULE_NONE) sum->explained[why]++;
    if (is_control) {
        cJSON_Delete(ours);
    } else {
        json_free(&probe.door, ours);
    }
    if (probe.alive != 0) {
        printf("%ld blocks of memory are left over\n", probe.alive);
        sum->explained[RULE_NONE]++;
    }
    other_free(theirs);
}

static uint64_t number_or(const char *text, uint64_t otherwise) {
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv) {
    bool is_control = argc > 1 && strcmp(argv[1], "--control") == 0;
    char **numbers = argv + 1 + (is_control ? 1 : 0);
    bool has_count = numbers[0] != NULL;
    uint64_t count = number_or(numbers[0], getenv("UAR_TEST_FULL") != NULL ? 3000000 : 50000);
    uint64_t seed = number_or(has_count ? numbers[1] : NULL, number_or(getenv("UAR_TEST_SEED"), 1));
    random_source random = { (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) };
    static text_builder text;
    tally sum = { 0 };
    if (random.state == 0) random.state = 1;
    printf("%s: %" PRIu64 " inputs, seed %" PRIu64 "\n", is_control ? "control" : "strict reader", count, seed);
    text.random = &random;
    for (uint64_t i = 0; i < count; i++) {
        make_text(&text);
        compare(&text, is_control, &sum);
    }
    printf("accepted by the other parser: %ld, refused: %ld\n", sum.accepted, sum.refused);
    for (int r = RULE_DEPTH; r < RULE_COUNT; r++) {
        printf("explained by %s: %ld\n", rule_names[r], sum.explained[r]);
    }
    printf("%ld differences without an explanation\n", sum.explained[RULE_NONE]);
    if (sum.explained[RULE_NONE] > 0) return 1;
    return sum.accepted < (long)(count / 10) || sum.refused < (long)(count / 10) ? 2 : 0;
}
