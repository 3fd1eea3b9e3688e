/* Owns: light English stemming and the list of stop words. Constant. */
#include "base/str.h"
#include "index/analysis.h"

static bool is_vowel(char c) {
    return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y';
}

static bool has_vowel(const char *word, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (is_vowel(word[i])) return true;
    return false;
}

static bool ends(const char *word, size_t len, const char *end) {
    size_t n = strlen(end);
    return len >= n && memcmp(word + len - n, end, n) == 0;
}

static bool is_plain(const char *word, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (word[i] < 'a' || word[i] > 'z') return false;
    return true;
}

static size_t drop_plural(const char *word, size_t len) {
    if (len < 4 || word[len - 1] != 's') return len;
    if (ends(word, len, "ss") || ends(word, len, "us") || ends(word, len, "is")) return len;
    if (ends(word, len, "ies")) return len - 2;
    if (ends(word, len, "sses") || ends(word, len, "xes") || ends(word, len, "zes") || ends(word, len, "ches") ||
        ends(word, len, "shes"))
        return len - 2;
    return len - 1;
}

/* "running" and "run" meet: a doubled consonant before a dropped ending is one, but for l, s and z. */
static size_t undouble(const char *word, size_t len) {
    char last = word[len - 1];
    if (len < 3 || last != word[len - 2] || is_vowel(last) || last == 'l' || last == 's' || last == 'z') return len;
    return len - 1;
}

static size_t drop_verb(const char *word, size_t len) {
    if (len >= 6 && ends(word, len, "ing") && has_vowel(word, len - 3)) return undouble(word, len - 3);
    if (len >= 5 && ends(word, len, "ied")) return len - 2;
    if (len >= 5 && ends(word, len, "ed") && !ends(word, len, "eed") && has_vowel(word, len - 2))
        return undouble(word, len - 2);
    return len;
}

size_t stem_word(char *word, size_t len) {
    if (len < 4 || !is_plain(word, len)) return len;
    len = drop_plural(word, len);
    len = drop_verb(word, len);
    if (len >= 4 && word[len - 1] == 'e') len--;
    if (len >= 3 && word[len - 1] == 'y' && !is_vowel(word[len - 2])) word[len - 1] = 'i';
    return len;
}

/* Sorted by bytes. Words that are a name or a thing in another of the languages are left out. */
static const char *const stop_words[] = {
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
