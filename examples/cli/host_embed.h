/* Embedders behind HTTP: `openai:URL#NAME`, by libcurl: POST URL/embeddings. Each call has a thread of its own. */
#ifndef UAR_CLI_HOST_EMBED_H
#define UAR_CLI_HOST_EMBED_H

#include <uar/sys/embedder.h>

/** What to talk to. Texts are copied. */
typedef struct host_embed_options {
    const char *url;     /**< base, as "http://127.0.0.1:8080/v1" */
    const char *model;   /**< name of the model there */
    const char *key;     /**< sent as bearer token; NULL: none */
    uint32_t timeout_ms; /**< of one call; 0: 25,000 */
} host_embed_options;

/** Open an embedder: asks the service once, to learn how many numbers a vector has. UAR_E_INVALID: no http or https URL, no
 *  name, a key that is no header value; UAR_E_NETWORK, UAR_E_TIMEOUT, UAR_E_FORBIDDEN, UAR_E_MODEL_BUSY, UAR_E_MODEL,
 *  UAR_E_UNAVAILABLE, UAR_E_PROTOCOL: what came of asking. `out->destroy` waits for open calls, which end at once. */
uar_status host_embed_openai(uar_embedder *out, const host_embed_options *options, uar_error *err);

#endif
