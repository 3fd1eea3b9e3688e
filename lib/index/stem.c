/* Owns: English stemming, after the rules that Martin Porter published, and the list of stop words. Constant. */
#include "base/str.h"
#include "index/analysis.h"

/* A word in the works. Two regions tell how much word there is before an ending: the first begins behind the first
 * consonant that follows a vowel, the second behind the next such place in it. An ending is taken off only inside a region,
 * so that "ring" keeps its "ing" and "nation" its "ation". */
typedef struct stem {
    char *word;
    size_t len;
    size_t first, second; /* where the regions begin; behind the word: there is none */
} stem;

static bool is_vowel(const stem *s, size_t at) {
    switch (s->word[at]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u': return true;
    case 'y': return at > 0 && !is_vowel(s, at - 1);
    default: return false;
    }
}

static size_t region_after(const stem *s, size_t from) {
    size_t at = from;
    while (at < s->len && !is_vowel(s, at))
        at++;
    while (at < s->len && is_vowel(s, at))
        at++;
    return at < s->len ? at + 1 : s->len;
}

static bool has_vowel(const stem *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (is_vowel(s, i)) return true;
    return false;
}

static bool ends(const stem *s, uar_str end) {
    if (s->len < end.len || s->word[s->len - 1] != end.ptr[end.len - 1]) return false;
    return memcmp(s->word + s->len - end.len, end.ptr, end.len) == 0;
}

/* The first `len` letters end in consonant, vowel, consonant ("hop", "at"), the last one not w, x or y. */
static bool is_short(const stem *s, size_t len) {
    if (len < 2 || is_vowel(s, len - 1) || !is_vowel(s, len - 2)) return false;
    if (len == 2) return true;
    char last = s->word[len - 1];
    return !is_vowel(s, len - 3) && last != 'w' && last != 'x' && last != 'y';
}

static void drop_plural(stem *s) {
    if (ends(s, STR("sses"))) {
        s->len -= 2;
    } else if (ends(s, STR("ies")) || ends(s, STR("ied"))) {
        s->len -= s->len > 4 ? 2 : 1;
    } else if (s->word[s->len - 1] == 's' && !ends(s, STR("ss")) && !ends(s, STR("us")) && has_vowel(s, s->len - 2)) {
        s->len--;
    }
}

/* What an ending left: "hopp" of "hopping" is "hop", "hop" of "hoping" is "hope"; "fill" and "add" stay. */
static void mend(stem *s) {
    char last = s->word[s->len - 1];
    if (ends(s, STR("at")) || ends(s, STR("bl")) || ends(s, STR("iz"))) {
        s->word[s->len++] = 'e';
    } else if (s->len > 3 && last == s->word[s->len - 2] && !is_vowel(s, s->len - 1) && last != 'l' && last != 's' &&
               last != 'z') {
        s->len--;
    } else if (s->first >= s->len && is_short(s, s->len)) {
        s->word[s->len++] = 'e';
    }
}

static void drop_verb(stem *s) {
    static const char *const endings[] = { "ingly", "edly", "ing", "ed" };
    if (ends(s, STR("eed")) || ends(s, STR("eedly"))) {
        size_t len = s->len - (ends(s, STR("eed")) ? 1 : 3);
        if (len >= s->first + 2) s->len = len;
        return;
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        uar_str end = uar_str_of(endings[i]);
        if (!ends(s, end)) continue;
        if (!has_vowel(s, s->len - end.len)) return;
        s->len -= end.len;
        mend(s);
        return;
    }
}

/* An ending and what takes its place. */
typedef struct ending {
    char from[8], to[5];
    uint8_t from_len, to_len;
} ending;

#define ENDING(from, to) \
    { from, to, sizeof from - 1, sizeof to - 1 }

/* Of endings that are part of one another the longer stands first. */
static const ending joined[] = {
    ENDING("ational", "ate"), ENDING("ization", "ize"), ENDING("fulness", "ful"), ENDING("ousness", "ous"),
    ENDING("iveness", "ive"), ENDING("tional", "tion"), ENDING("biliti", "ble"),  ENDING("lessli", "less"),
    ENDING("entli", "ent"),   ENDING("ation", "ate"),   ENDING("alism", "al"),    ENDING("aliti", "al"),
    ENDING("ousli", "ous"),   ENDING("iviti", "ive"),   ENDING("fulli", "ful"),   ENDING("enci", "ence"),
    ENDING("anci", "ance"),   ENDING("abli", "able"),   ENDING("izer", "ize"),    ENDING("ator", "ate"),
    ENDING("alli", "al"),     ENDING("logi", "log"),    ENDING("bli", "ble"),
};
static const ending derived[] = {
    ENDING("ational", "ate"), ENDING("tional", "tion"), ENDING("alize", "al"), ENDING("icate", "ic"),
    ENDING("iciti", "ic"),    ENDING("ical", "ic"),     ENDING("ness", ""),    ENDING("ful", ""),
};
static const ending last_ones[] = {
    ENDING("ement", ""), ENDING("ative", ""), ENDING("ance", ""), ENDING("ence", ""), ENDING("able", ""),
    ENDING("ible", ""),  ENDING("ment", ""),  ENDING("ant", ""),  ENDING("ent", ""),  ENDING("ism", ""),
    ENDING("ate", ""),   ENDING("iti", ""),   ENDING("ous", ""),  ENDING("ive", ""),  ENDING("ize", ""),
    ENDING("al", ""),    ENDING("er", ""),    ENDING("ic", ""),
};

/* Replace the one ending of the list that the word has, if it lies in the region. True if the word has one. */
static bool replace(stem *s, const ending *list, size_t count, size_t region) {
    for (size_t i = 0; i < count; i++) {
        uar_str from = uar_str_n(list[i].from, list[i].from_len);
        if (!ends(s, from)) continue;
        if (s->len - from.len < region) return true;
        uar_str to = uar_str_n(list[i].to, list[i].to_len);
        s->len -= from.len;
        memcpy(s->word + s->len, to.ptr, to.len);
        s->len += to.len;
        return true;
    }
    return false;
}

#define REPLACE(s, list, region) replace(s, list, sizeof(list) / sizeof(list)[0], region)

/* "quickli" is "quick"; "famili" and "earli" are whole. */
static void drop_li(stem *s) {
    if (!ends(s, STR("li")) || s->len < s->first + 2 || s->len < 6) return;
    if (memchr("cdeghkmnrt", s->word[s->len - 3], 10) != NULL) s->len -= 2;
}

static void drop_ion(stem *s) {
    if (!ends(s, STR("ion")) || s->len < s->second + 3) return;
    char before = s->word[s->len - 4];
    if (before == 's' || before == 't') s->len -= 3;
}

static void drop_silent(stem *s) {
    char last = s->word[s->len - 1];
    if (last == 'e' && (s->len > s->second || (s->len > s->first && !is_short(s, s->len - 1)))) s->len--;
    if (last == 'l' && s->len > s->second && s->word[s->len - 2] == 'l') s->len--;
}

static bool is_plain(const char *word, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (word[i] < 'a' || word[i] > 'z') return false;
    return true;
}

size_t stem_word(char *word, size_t len) {
    if (len < 3 || !is_plain(word, len)) return len;
    stem s = { word, len, 0, 0 };
    s.first = region_after(&s, 0);
    s.second = region_after(&s, s.first);
    drop_plural(&s);
    drop_verb(&s);
    if (s.len > 2 && s.word[s.len - 1] == 'y' && !is_vowel(&s, s.len - 2)) s.word[s.len - 1] = 'i';
    if (!REPLACE(&s, joined, s.first)) drop_li(&s);
    (void)REPLACE(&s, derived, s.first);
    if (!REPLACE(&s, last_ones, s.second)) drop_ion(&s);
    drop_silent(&s);
    return s.len;
}

/* Sorted by bytes. Words that are a name or a thing in another of the languages are left out. */
static const char stop_words[][8] = {
    "a",     "about", "al",   "all",   "am",    "an",   "and",   "any",    "are",   "as",    "at",    "au",   "auf",
    "aus",   "avec",  "be",   "been",  "bei",   "but",  "by",    "can",    "ce",    "che",   "como",  "con",  "could",
    "d",     "da",    "dans", "das",   "de",    "dem",  "den",   "der",    "des",   "did",   "die",   "do",   "does",
    "doing", "don",   "dont", "du",    "ein",   "eine", "einen", "el",     "en",    "er",    "es",    "est",  "et",
    "for",   "from",  "had",  "has",   "have",  "he",   "her",   "hers",   "him",   "his",   "how",   "i",    "ich",
    "if",    "il",    "im",   "in",    "into",  "is",   "ist",   "it",     "its",   "ja",    "je",    "l",    "la",
    "las",   "le",    "les",  "ll",    "los",   "m",    "me",    "mein",   "meine", "mi",    "mit",   "mon",  "my",
    "nicht", "no",    "not",  "of",    "on",    "or",   "ou",    "our",    "par",   "para",  "pas",   "por",  "pour",
    "qu",    "que",   "qui",  "re",    "s",     "se",   "she",   "should", "si",    "sich",  "sie",   "so",   "sont",
    "su",    "sur",   "t",    "than",  "that",  "the",  "their", "them",   "then",  "there", "these", "they", "this",
    "those", "to",    "tu",   "um",    "un",    "una",  "und",   "une",    "us",    "ve",    "von",   "was",  "we",
    "were",  "what",  "when", "where", "which", "who",  "whom",  "whose",  "why",   "will",  "wir",   "with", "would",
    "y",     "you",   "your", "yours", "zu",    "zum",  "zur",
};

bool stop_word(uar_str word) {
    if (word.len >= sizeof stop_words[0]) return false;
    size_t low = 0;
    size_t high = sizeof stop_words / sizeof stop_words[0];
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = str_compare(word, uar_str_of(stop_words[mid]));
        if (order == 0) return true;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return false;
}
