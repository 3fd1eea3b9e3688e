/* Owns: the screen for secrets. It looks at ASCII only, since the secrets it knows are. A false alarm costs a memory, a miss
 * keeps a key: it prefers the alarm. */
#include "base/str.h"
#include "memory/capture.h"

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c) {
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool begins_with(uar_str text, size_t at, const char *what) {
    size_t len = strlen(what);
    if (text.len - at < len) return false;
    for (size_t i = 0; i < len; i++)
        if (lower(text.ptr[at + i]) != what[i]) return false;
    return true;
}

/* Words that announce a secret. Each begins a word: "tokens" is one, "liban" is none. */
static const char *const secret_words[] = {
    "password",        "passwort", "passphrase",  "passcode",    "contrase",   "mot de passe", "api key",
    "api-key",         "apikey",   "api_key",     "access key",  "secret",     "token",        "private key",
    "kennwort",        "pin is",   "pin code",    "my pin",      "cvv",        "cvc",          "iban",
    "social security", "ssn",      "credit card", "kreditkarte", "geheimzahl",
};

/* How well-known keys begin. */
static const char *const secret_heads[] = {
    "sk-",    "pk-",   "rk_",   "sk_",   "pk_",  "akia", "asia",  "ghp_",       "gho_", "ghs_", "github_pat_",
    "glpat-", "xoxb-", "xoxp-", "xoxa-", "aiza", "eyj",  "ya29.", "-----begin", "hf_",  "npm_", "bearer ",
};

static bool has_secret_word(uar_str text) {
    for (size_t at = 0; at < text.len; at++) {
        if (at > 0 && is_letter(text.ptr[at - 1])) continue;
        for (size_t i = 0; i < sizeof secret_words / sizeof secret_words[0]; i++)
            if (begins_with(text, at, secret_words[i])) return true;
    }
    return false;
}

static bool is_token_char(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '+' || c == '/' || c == '=' || c == '.';
}

static size_t token_end(uar_str text, size_t from) {
    size_t to = from;
    while (to < text.len && is_token_char(text.ptr[to]))
        to++;
    return to;
}

static bool has_known_head(uar_str text, size_t from, size_t to) {
    for (size_t i = 0; i < sizeof secret_heads / sizeof secret_heads[0]; i++)
        if (to - from >= strlen(secret_heads[i]) + 6 && begins_with(text, from, secret_heads[i])) return true;
    return begins_with(text, from, "-----begin");
}

/* Long, and a mix that words are not: letters and digits through each other. */
static bool looks_random(uar_str token) {
    size_t digits = 0;
    size_t letters = 0;
    size_t changes = 0;
    if (token.len < 16) return false;
    for (size_t i = 0; i < token.len; i++) {
        digits += is_digit(token.ptr[i]);
        letters += is_letter(token.ptr[i]);
        if (i > 0 && is_digit(token.ptr[i]) != is_digit(token.ptr[i - 1])) changes++;
    }
    return digits >= 2 && letters >= 2 && (changes >= 4 || token.len >= 32);
}

static bool has_secret_token(uar_str text) {
    for (size_t at = 0; at < text.len;) {
        size_t to = token_end(text, at);
        if (to == at) {
            at++;
            continue;
        }
        if (has_known_head(text, at, to) || looks_random(uar_str_n(text.ptr + at, to - at))) return true;
        at = to;
    }
    return false;
}

/* The check sum that card numbers carry. */
static bool passes_luhn(const char *digits, size_t count) {
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned d = (unsigned)(digits[count - 1 - i] - '0');
        if (i % 2 == 1) d = d * 2 > 9 ? d * 2 - 9 : d * 2;
        sum += d;
    }
    return sum % 10 == 0;
}

#define CARD_MIN 13
#define CARD_MAX 19

static bool has_card_number(uar_str text) {
    char digits[CARD_MAX + 1];
    size_t count = 0;
    for (size_t at = 0; at <= text.len; at++) {
        char c = at < text.len ? text.ptr[at] : '\n';
        if (is_digit(c)) {
            if (count <= CARD_MAX) digits[count < CARD_MAX ? count : CARD_MAX] = c;
            count++;
            continue;
        }
        if ((c == ' ' || c == '-') && count > 0) continue;
        if (count >= CARD_MIN && count <= CARD_MAX && passes_luhn(digits, count)) return true;
        count = 0;
    }
    return false;
}

bool capture_is_secret(uar_str text) {
    return has_secret_word(text) || has_secret_token(text) || has_card_number(text);
}
