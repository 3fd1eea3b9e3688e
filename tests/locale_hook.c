/*
 * Linked into every test program: with UAR_TEST_LOCALE=1 the program runs under the locale of its environment, as a
 * host app would after setlocale(LC_ALL, ""). A run that asks for a locale and doesn't get it ends at once: it would
 * prove nothing.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void adopt_locale(void) {
    const char *wanted = getenv("UAR_TEST_LOCALE");
    if (wanted == NULL || strcmp(wanted, "1") != 0) return;
    if (setlocale(LC_ALL, "") == NULL) {
        fputs("UAR_TEST_LOCALE=1, but the locale of the environment is not installed\n", stderr);
        abort();
    }
}
