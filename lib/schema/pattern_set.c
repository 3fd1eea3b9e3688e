/*
 * Sets of code points.
 * Invariants of a finished set: ranges ascend and neither touch nor overlap; the ASCII bits say the same as the rest.
 */
#include "schema/pattern_set.h"

#include <assert.h>
#include <utf8proc.h>

#include "base/str.h"

/* X(utf8proc's name, short name, long name) */
#define CATEGORIES(X)                    \
    X(CN, "Cn", "Unassigned")            \
    X(LU, "Lu", "Uppercase_Letter")      \
    X(LL, "Ll", "Lowercase_Letter")      \
    X(LT, "Lt", "Titlecase_Letter")      \
    X(LM, "Lm", "Modifier_Letter")       \
    X(LO, "Lo", "Other_Letter")          \
    X(MN, "Mn", "Nonspacing_Mark")       \
    X(MC, "Mc", "Spacing_Mark")          \
    X(ME, "Me", "Enclosing_Mark")        \
    X(ND, "Nd", "Decimal_Number")        \
    X(NL, "Nl", "Letter_Number")         \
    X(NO, "No", "Other_Number")          \
    X(PC, "Pc", "Connector_Punctuation") \
    X(PD, "Pd", "Dash_Punctuation")      \
    X(PS, "Ps", "Open_Punctuation")      \
    X(PE, "Pe", "Close_Punctuation")     \
    X(PI, "Pi", "Initial_Punctuation")   \
    X(PF, "Pf", "Final_Punctuation")     \
    X(PO, "Po", "Other_Punctuation")     \
    X(SM, "Sm", "Math_Symbol")           \
    X(SC, "Sc", "Currency_Symbol")       \
    X(SK, "Sk", "Modifier_Symbol")       \
    X(SO, "So", "Other_Symbol")          \
    X(ZS, "Zs", "Space_Separator")       \
    X(ZL, "Zl", "Line_Separator")        \
    X(ZP, "Zp", "Paragraph_Separator")   \
    X(CC, "Cc", "Control")               \
    X(CF, "Cf", "Format")                \
    X(CS, "Cs", "Surrogate")             \
    X(CO, "Co", "Private_Use")

#define BIT(name) (UINT32_C(1) << UTF8PROC_CATEGORY_##name)

typedef struct category_name {
    const char *short_name, *long_name;
    uint32_t categories;
} category_name;

static const category_name category_names[] = {
#define CATEGORY_ROW(name, short_name, long_name) { short_name, long_name, BIT(name) },
    CATEGORIES(CATEGORY_ROW)
#undef CATEGORY_ROW
    /* groups of them, and second long names */
    { "C", "Other", BIT(CN) | BIT(CC) | BIT(CF) | BIT(CS) | BIT(CO) },
    { "L", "Letter", BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO) },
    { "LC", "Cased_Letter", BIT(LU) | BIT(LL) | BIT(LT) },
    { "M", "Mark", BIT(MN) | BIT(MC) | BIT(ME) },
    { "M", "Combining_Mark", BIT(MN) | BIT(MC) | BIT(ME) },
    { "N", "Number", BIT(ND) | BIT(NL) | BIT(NO) },
    { "P", "Punctuation", BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO) },
    { "P", "punct", BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO) },
    { "S", "Symbol", BIT(SM) | BIT(SC) | BIT(SK) | BIT(SO) },
    { "Z", "Separator", BIT(ZS) | BIT(ZL) | BIT(ZP) },
    { "Nd", "digit", BIT(ND) },
    { "Cc", "cntrl", BIT(CC) },
};

uint32_t pattern_category(uar_str name) {
    for (size_t i = 0; i < sizeof category_names / sizeof category_names[0]; i++)
        if (str_is(name, category_names[i].short_name) || str_is(name, category_names[i].long_name))
            return category_names[i].categories;
    return 0;
}

/* The ranges and categories only. */
static bool is_listed(const pattern_set *set, uint32_t point) {
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (point > set->ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < set->count && point >= set->ranges[low].first) return true;
    return set->categories != 0 && (set->categories >> utf8proc_category((utf8proc_int32_t)point) & 1) != 0;
}

bool pattern_set_has(const pattern_set *set, uint32_t point) {
    if (point < 128) return (set->ascii[point / 64] >> point % 64 & 1) != 0;
    return is_listed(set, point) != set->is_negated;
}

void pattern_draft_dispose(pattern_draft *d) {
    alloc_free(d->alloc, d->ranges);
    *d = (pattern_draft){ .alloc = d->alloc };
}

bool pattern_draft_add(pattern_draft *d, uint32_t first, uint32_t last) {
    assert(first <= last && last <= PATTERN_LAST_POINT);
    if (d->count == d->room) {
        size_t room = d->room == 0 ? 16 : d->room * 2;
        pattern_range *ranges = alloc_resize(d->alloc, d->ranges, room * sizeof *ranges);
        if (ranges == NULL) return false;
        d->ranges = ranges;
        d->room = room;
    }
    d->ranges[d->count++] = (pattern_range){ first, last };
    return true;
}

static const pattern_range digits[] = { { '0', '9' } };
static const pattern_range word[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
static const pattern_range space[] = { { '\t', '\r' },     { ' ', ' ' },       { 0xA0, 0xA0 },     { 0x1680, 0x1680 },
                                       { 0x2000, 0x200A }, { 0x2028, 0x2029 }, { 0x202F, 0x202F }, { 0x205F, 0x205F },
                                       { 0x3000, 0x3000 }, { 0xFEFF, 0xFEFF } };
static const pattern_range line_ends[] = { { '\n', '\n' }, { '\r', '\r' }, { 0x2028, 0x2029 } };

static bool add_all(pattern_draft *d, const pattern_range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!pattern_draft_add(d, ranges[i].first, ranges[i].last)) return false;
    return true;
}

static bool add_all_but(pattern_draft *d, const pattern_range *ranges, size_t count) {
    uint32_t from = 0;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].first > from && !pattern_draft_add(d, from, ranges[i].first - 1)) return false;
        from = ranges[i].last + 1;
    }
    return pattern_draft_add(d, from, PATTERN_LAST_POINT);
}

#define COUNT(ranges) (sizeof(ranges) / sizeof(ranges)[0])

bool pattern_draft_add_named(pattern_draft *d, char letter) {
    switch (letter) {
    case 'd': return add_all(d, digits, COUNT(digits));
    case 'D': return add_all_but(d, digits, COUNT(digits));
    case 'w': return add_all(d, word, COUNT(word));
    case 'W': return add_all_but(d, word, COUNT(word));
    case 's': return add_all(d, space, COUNT(space));
    case 'S': return add_all_but(d, space, COUNT(space));
    default: break;
    }
    assert(letter == '.');
    return add_all_but(d, line_ends, COUNT(line_ends));
}

static void sift(pattern_range *heap, size_t at, size_t count) {
    pattern_range moving = heap[at];
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && heap[child + 1].first > heap[child].first) child++;
        if (heap[child].first <= moving.first) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void sort_ranges(pattern_range *ranges, size_t count) {
    for (size_t i = count / 2; i > 0; i--)
        sift(ranges, i - 1, count);
    for (size_t left = count; left > 1; left--) {
        pattern_range largest = ranges[0];
        ranges[0] = ranges[left - 1];
        ranges[left - 1] = largest;
        sift(ranges, 0, left - 1);
    }
}

/* Join sorted ranges that touch or overlap; how many are left. */
static size_t join_ranges(pattern_range *ranges, size_t count) {
    if (count == 0) return 0;
    size_t last = 0;
    for (size_t i = 1; i < count; i++) {
        if (ranges[i].first > ranges[last].last && ranges[i].first - ranges[last].last > 1)
            ranges[++last] = ranges[i];
        else if (ranges[i].last > ranges[last].last)
            ranges[last].last = ranges[i].last;
    }
    return last + 1;
}

bool pattern_draft_finish(pattern_set *out, arena *memory, pattern_draft *d, bool is_negated) {
    sort_ranges(d->ranges, d->count);
    d->count = join_ranges(d->ranges, d->count);
    pattern_range *ranges = NULL;
    if (d->count > 0) {
        ranges = arena_alloc(memory, d->count * sizeof *ranges);
        if (ranges == NULL) return false;
        memcpy(ranges, d->ranges, d->count * sizeof *ranges);
    }
    pattern_set set = { .categories = d->categories, .is_negated = is_negated, .count = d->count, .ranges = ranges };
    for (uint32_t point = 0; point < 128; point++)
        if (is_listed(&set, point) != is_negated) set.ascii[point / 64] |= UINT64_C(1) << point % 64;
    *out = set;
    return true;
}
