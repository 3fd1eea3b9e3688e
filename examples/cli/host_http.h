/* Models behind HTTP: `openai:URL#NAME`, by libcurl. One thread moves the bytes of all calls. */
#ifndef UAR_CLI_HOST_HTTP_H
#define UAR_CLI_HOST_HTTP_H

#include <uar/model.h>

/** What to talk to. Texts are copied. */
typedef struct host_http_options {
    uar_codec_format format;
    const char *url;             /**< base, as "http://127.0.0.1:8080/v1" */
    const char *model;           /**< name of the model there; also the name of the uar_model */
    const char *key;             /**< sent as bearer token; NULL: none */
    uint32_t connect_timeout_ms; /**< 0: 15,000 */
    uint32_t idle_timeout_s;     /**< longest silence of an open answer; 0: 300 */
} host_http_options;

/** Open a model; nothing is sent yet. UAR_E_INVALID: no http or https URL, no name, a key that is no header value.
 *  `out->destroy` ends open calls and frees the model. */
uar_status host_http_model(uar_model *out, const host_http_options *options, uar_error *err);

#endif
