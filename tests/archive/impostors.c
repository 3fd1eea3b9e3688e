/*
 * Functions with the names of the archive's dependencies, as an app could have by accident. None is ever called: the
 * archive keeps to its own copies. They count their calls, and the test asks for the count.
 */
#include "impostors.h"

static int calls;

int impostor_calls(void) {
    return calls;
}

#define IMPOSTOR(name) \
    int name(void);    \
    int name(void) {   \
        calls++;       \
        return -1;     \
    }                  \
    _Static_assert(sizeof(name()) == sizeof(int), "an impostor")

IMPOSTOR(sqlite3_open);
IMPOSTOR(sqlite3_open_v2);
IMPOSTOR(sqlite3_prepare_v2);
IMPOSTOR(sqlite3_prepare_v3);
IMPOSTOR(sqlite3_step);
IMPOSTOR(sqlite3_exec);
IMPOSTOR(sqlite3_bind_text);
IMPOSTOR(sqlite3_bind_int64);
IMPOSTOR(sqlite3_finalize);
IMPOSTOR(sqlite3_close);
IMPOSTOR(sqlite3_close_v2);
IMPOSTOR(sqlite3_initialize);
IMPOSTOR(sqlite3_malloc64);
IMPOSTOR(sqlite3_free);
IMPOSTOR(cJSON_Parse);
IMPOSTOR(cJSON_Delete);
IMPOSTOR(cJSON_GetObjectItemCaseSensitive);
IMPOSTOR(cJSON_GetArrayItem);
IMPOSTOR(cJSON_GetArraySize);
IMPOSTOR(cJSON_IsString);
IMPOSTOR(psa_crypto_init);
IMPOSTOR(psa_hash_setup);
IMPOSTOR(psa_hash_update);
IMPOSTOR(psa_hash_finish);
IMPOSTOR(psa_hash_abort);
IMPOSTOR(mbedtls_sha256_init);
IMPOSTOR(mbedtls_sha256_update_ret);
IMPOSTOR(mbedtls_platform_zeroize);
IMPOSTOR(utf8proc_iterate);
IMPOSTOR(utf8proc_map);
IMPOSTOR(utf8proc_decompose);
IMPOSTOR(utf8proc_get_property);
