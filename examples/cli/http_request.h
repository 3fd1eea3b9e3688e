/* What calls over HTTP have in common: a base URL, a name behind it, a key, headers. By libcurl. */
#ifndef UAR_CLI_HTTP_REQUEST_H
#define UAR_CLI_HTTP_REQUEST_H

#include <curl/curl.h>
#include <uar/base.h>

/* Before the first use of curl; any number of times. */
void http_begin(void);
/* UAR_E_INVALID: no http or https URL, no name, a key that is no header value. `key` may be NULL. */
uar_status http_check(const char *url, const char *name, const char *key, uar_error *err);
/* `base` without slashes at its end, and `path`. NULL: no memory. Free with free(). */
char *http_url(const char *base, const char *path);
/* JSON is sent, `accept` is taken, the key is a bearer token. NULL: no memory. Free with curl_slist_free_all. */
struct curl_slist *http_headers(const char *key, const char *accept);

#endif
