/* Versions of what is linked: see doctor.h. Asked of the libraries themselves, so that a swapped one shows. */
#include "doctor.h"
#include "editor.h"

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <mbedtls/version.h>
#include <sqlite3.h>
#include <utf8proc.h>

static void check_crypto(checkup *c) {
#if defined(MBEDTLS_VERSION_C) && MBEDTLS_VERSION_MAJOR < 4
    char version[18];
    mbedtls_version_get_string(version);
    checkup_good(c, "mbedtls", "%s", version);
#else
    checkup_good(c, "mbedtls", "%s by its headers", MBEDTLS_VERSION_STRING);
#endif
}

static void check_sqlite(checkup *c) {
    enum { OLDEST = 3040000 };
    if (sqlite3_libversion_number() < OLDEST || sqlite3_threadsafe() == 0) {
        checkup_bad(c, "sqlite", "link SQLite 3.40 or newer, built for threads", "%s%s", sqlite3_libversion(),
                    sqlite3_threadsafe() == 0 ? ", built for one thread only" : "");
    } else {
        checkup_good(c, "sqlite", "%s", sqlite3_libversion());
    }
}

void checkup_parts(checkup *c) {
    const char *library = editor_library();
    checkup_good(c, "libuar", "%s", uar_version());
    check_sqlite(c);
    checkup_good(c, "cjson", "%s", cJSON_Version());
    check_crypto(c);
    checkup_good(c, "utf8proc", "%s", utf8proc_version());
    checkup_good(c, "curl", "%s", curl_version_info(CURLVERSION_NOW)->version);
    checkup_good(c, "line_editing", "%s",
                 library != NULL
                     ? library
                     : "not built in: lines of a chat can't be edited; install libedit-dev and build again");
}
