/*
 * uar/model.h: model codecs without sockets, scripted answers, and the built-in offline model.
 *
 * A codec turns a uar_model_request into the body of a provider's HTTP request and the bytes of the answer into pushes on
 * a uar_stream. The host only moves bytes: POST the body as application/json to BASE + uar_codec_path(format), then
 *
 *     2xx           uar_codec_feed each piece of the body as it comes, uar_codec_end when the body is over
 *     other status  uar_codec_http_error with the whole (or the first 64 KiB of the) body
 *     no answer     uar_codec_transport_error
 *
 * Exactly one end (finish or fail) reaches the stream whatever the provider does; after it the codec ignores its input.
 * A codec is used by one thread at a time; several codecs are independent. Since 0.1.
 */
#ifndef UAR_MODEL_H
#define UAR_MODEL_H

#include <uar/sys/model.h>
#include <uar/sys/platform.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Wire formats: X(name, value, json). Values never change; more will be appended. */
#define UAR_CODEC_FORMATS(X) X(OPENAI, 1, "openai")

/** Wire format of a provider. OPENAI: Chat Completions, also spoken by most local servers. */
typedef enum uar_codec_format {
#define UAR_X_ENUM(name, value, json) UAR_CODEC_##name = value,
    UAR_CODEC_FORMATS(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_codec_format;

/** Name of a format as in "openai", or NULL for an unknown one. Static. Any thread. */
UAR_API const char *uar_codec_format_name(uar_codec_format format);
/** Format of a name. UAR_E_NOT_FOUND if there is none of that name. Any thread. */
UAR_API uar_status uar_codec_format_parse(uar_codec_format *out, uar_str name);
/** Path behind the provider's base URL, "/chat/completions", or NULL for an unknown format. Static. Any thread. */
UAR_API const char *uar_codec_path(uar_codec_format format);

/** Which reasoning goes back to the provider with the assistant's messages. */
typedef enum uar_reasoning_replay {
    /** With messages that hold tool calls, if it came from this format: some providers refuse such a message without
     *  its reasoning, others refuse reasoning anywhere else. */
    UAR_REASONING_AUTO = 0,
    UAR_REASONING_NEVER = 1, /**< none */
    UAR_REASONING_ALWAYS = 2 /**< all there is */
} uar_reasoning_replay;

/** How a codec works. All-zero fields are the defaults. Borrowed for the call, but for `allocator`. */
typedef struct uar_codec_options {
    size_t size;                    /**< sizeof(uar_codec_options) */
    const uar_allocator *allocator; /**< NULL: malloc. Borrowed until the codec or body is freed; never destroyed */
    const char *model;              /**< name of the model at the provider; needed for a request */
    bool whole;                     /**< ask for one JSON answer instead of a stream */
    bool no_stream_usage;           /**< don't ask for usage in the stream: some servers refuse the question */
    bool max_completion_tokens;     /**< name the output limit `max_completion_tokens` instead of `max_tokens` */
    uar_reasoning_replay reasoning; /**< which reasoning goes back */
    size_t max_event_bytes;         /**< longest event, line or JSON answer that is accepted; 0: 16 MiB */
} uar_codec_options;
/** Head of a uar_codec_options. */
#define UAR_CODEC_OPTIONS_INIT sizeof(uar_codec_options)

/** Empty options; the twin of UAR_CODEC_OPTIONS_INIT. */
static inline void uar_codec_options_init(uar_codec_options *options) {
    memset(options, 0, sizeof *options);
    options->size = UAR_CODEC_OPTIONS_INIT;
}

/**
 * Write the JSON body of a model call. `*body` is NUL-terminated, `*len` bytes long (`len` may be NULL), and is freed with
 * uar_codec_body_free and the same options.
 *
 * What is sent: system, user, assistant and tool messages in order; each tool call is followed by its result, in call
 * order, and a call without one gets a result that says its outcome is unknown. Tool arguments go out as the text of a
 * JSON object: none as `{}`, text that isn't a JSON object as `{"_malformed": "the text"}`. Names of past calls that no
 * provider accepts have their foreign bytes written as `_`. Assistant messages that would be empty are left out.
 * `extras` are merged at the top; they can't replace what the codec writes.
 *
 * UAR_E_INVALID: no model name, a tool name or schema that isn't valid, a result without its call, extras that are no
 * JSON object or name a field that the codec writes; UAR_E_UNSUPPORTED: an image, audio or file part, an unknown format;
 * UAR_E_STRUCT; UAR_E_TOO_LARGE: over 256 MiB; UAR_E_NOMEM. Any thread.
 */
UAR_API uar_status uar_codec_request(char **body, size_t *len, uar_codec_format format,
                                     const uar_model_request *request, const uar_codec_options *options,
                                     uar_error *err);
/** Free a body; NULL is accepted. `options` (or NULL) as given to uar_codec_request. Any thread. */
UAR_API void uar_codec_body_free(char *body, const uar_codec_options *options);

/** Reads one answer. */
typedef struct uar_codec uar_codec;

/** Begin to read an answer for `stream`, of which the codec takes a reference. `options` may be NULL.
 *  UAR_E_UNSUPPORTED: an unknown format; UAR_E_STRUCT; UAR_E_NOMEM. */
UAR_API uar_status uar_codec_new(uar_codec **out, uar_codec_format format, uar_stream *stream,
                                 const uar_codec_options *options, uar_error *err);
/**
 * Take a piece of a 2xx body, cut anywhere: an event stream or one JSON document, which is told by its first byte.
 * UAR_OK: go on (bytes behind the end mark are ignored). Anything else: the call has failed with that status, or
 * UAR_E_STALE: nobody listens any more; close the transfer.
 */
UAR_API uar_status uar_codec_feed(uar_codec *codec, const char *bytes, size_t len);
/**
 * The body is over. UAR_OK if the answer was whole, else the status the call failed with: UAR_E_MODEL_CUT (retryable) when
 * neither an end mark nor a finish reason came. A finish reason counts as an end: several servers never send the mark, and
 * a model that said why it stopped has nothing more to say.
 */
UAR_API uar_status uar_codec_end(uar_codec *codec);
/**
 * The provider answered with HTTP `status` that isn't 2xx. `retry_after_ms` is from the Retry-After header, 0 if none.
 * `body` (may be NULL) is searched for the provider's code and message. Returns the status the call failed with:
 * 429, 503, 529 UAR_E_MODEL_BUSY, 408, 504 UAR_E_TIMEOUT, other 5xx UAR_E_UNAVAILABLE, all retryable; 401, 403
 * UAR_E_FORBIDDEN; other 4xx, and a 429 that says the quota is used up, UAR_E_MODEL; else UAR_E_PROTOCOL.
 */
UAR_API uar_status uar_codec_http_error(uar_codec *codec, int status, uint32_t retry_after_ms, const char *body,
                                        size_t len);
/** The transfer failed: UAR_E_NETWORK, UAR_E_TIMEOUT or another error; retryable if its band says so. `message` may be
 *  NULL. Returns the status the call failed with, or UAR_OK if the model had said why it stopped before. */
UAR_API uar_status uar_codec_transport_error(uar_codec *codec, uar_status status, const char *message);
/** Free a codec; NULL is accepted. An answer without an end so far ends as UAR_E_MODEL_CUT. */
UAR_API void uar_codec_free(uar_codec *codec);

/**
 * A model that needs no model: it quotes what memory was injected into the request, with source and date, or says that it
 * knows nothing, and always says that it is no language model. Reports no usage. Static; register it as it is. Any thread.
 */
UAR_API const uar_model *uar_model_offline(void);

/*
 * Scripts: model answers written by hand, for tests and demonstrations, one JSON line a model call:
 *
 *     {"events":[{"text":"Hi"},{"sleep_ms":50},{"finish":"stop"}]}
 *
 * Each event is an object with one key: text, text_base64 (raw bytes), reasoning, tool_call {index?,id?,name?,args_delta?},
 * usage {input?,cache_read?,cache_write?,output?,reasoning?}, finish (stop, tool_calls, length, content_filter),
 * error {code,message,retryable?,retry_after_ms?}, sleep_ms. A line without finish or error is a cut stream. What stands
 * behind finish or error is not pushed, but for usage, which is pushed before the finish: providers report it last. An
 * error whose code is the name of a uar_status ends the call with that status; else with UAR_E_MODEL_BUSY if it is
 * retryable and UAR_E_MODEL if it isn't.
 */

/** One line of a script, being played. */
typedef struct uar_script uar_script;

/** The text of line `*number` (from 1) or of the first line behind it that isn't blank; `*number` becomes its number.
 *  UAR_E_SCRIPT_EXHAUSTED: there is none. Any thread. */
UAR_API uar_status uar_script_find(uar_str *line, size_t *number, uar_str script);
/** Read a line and check it whole; `number` is only named in errors, `line` is copied. `allocator` (NULL: malloc) is
 *  borrowed until the script is freed. UAR_E_JSON or UAR_E_INVALID names the line and the event; UAR_E_NOMEM. */
UAR_API uar_status uar_script_open(uar_script **out, uar_str line, size_t number, const uar_allocator *allocator,
                                   uar_error *err);
/** Push up to the next sleep_ms or the end. `*wait_ms` tells how long to wait before the next call, UAR_FOREVER: the line
 *  is over. Anything but UAR_OK (UAR_E_STALE: nobody listens) comes from the stream; the line is over then. One thread
 *  at a time. */
UAR_API uar_status uar_script_play(uint32_t *wait_ms, uar_script *script, uar_stream *stream);
/** Free a script; NULL is accepted. */
UAR_API void uar_script_free(uar_script *script);

#ifdef __cplusplus
}
#endif
#endif
