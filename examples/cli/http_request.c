/* Requests: see http_request.h. */
#include "http_request.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "host_file.h"

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void curl_begin(void) {
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

void http_begin(void) {
    (void)pthread_once(&curl_once, curl_begin);
}

uar_status http_check(const char *url, const char *name, const char *key, uar_error *err) {
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return host_error(err, UAR_E_INVALID, "a model URL begins with http:// or https://", url);
    if (name == NULL || name[0] == '\0')
        return host_error(err, UAR_E_INVALID, "the model URL needs #NAME behind it", url);
    for (const char *c = key; c != NULL && *c != '\0'; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return host_error(err, UAR_E_INVALID, "the key holds blanks or controls", NULL);
    }
    return UAR_OK;
}

char *http_url(const char *base, const char *path) {
    size_t len = strlen(base);
    while (len > 0 && base[len - 1] == '/')
        len--;
    size_t room = len + strlen(path) + 1;
    char *url = malloc(room);
    if (url != NULL) (void)snprintf(url, room, "%.*s%s", (int)len, base, path);
    return url;
}

static bool header_add(struct curl_slist **headers, const char *head, const char *value) {
    size_t room = strlen(head) + strlen(value) + 1;
    char *line = malloc(room);
    if (line == NULL) return false;
    (void)snprintf(line, room, "%s%s", head, value);
    struct curl_slist *more = curl_slist_append(*headers, line);
    free(line);
    if (more != NULL) *headers = more;
    return more != NULL;
}

struct curl_slist *http_headers(const char *key, const char *accept) {
    struct curl_slist *headers = NULL;
    bool made = header_add(&headers, "Content-Type: ", "application/json") &&
                header_add(&headers, "Accept: ", accept) &&
                header_add(&headers, "Expect:", ""); /* no second round trip for long bodies */
    if (made && key != NULL && key[0] != '\0') made = header_add(&headers, "Authorization: Bearer ", key);
    if (made) return headers;
    curl_slist_free_all(headers);
    return NULL;
}
