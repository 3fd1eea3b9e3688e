/*
 * uar/sys/model.h: the door to a language model: a request in, a stream of pushes out.
 *
 * `start` must not block; the host moves bytes on threads of its own and pushes what comes. Pushes may come inside
 * `start` or later, from any thread, one thread at a time for one stream. A stream is reference-counted like a
 * completion: borrowed in `start`, kept with uar_stream_ref. When the last reference of the host goes without
 * uar_stream_finish or uar_stream_fail, the call ends with UAR_E_MODEL_CUT. Since 0.1.
 */
#ifndef UAR_SYS_MODEL_H
#define UAR_SYS_MODEL_H

#include <uar/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Who speaks. X(name, json). */
#define UAR_ROLES(X) X(SYSTEM, "system") X(USER, "user") X(ASSISTANT, "assistant") X(TOOL, "tool")

/** Role of a message. */
typedef enum uar_role {
#define UAR_X_ENUM(name, json) UAR_ROLE_##name,
    UAR_ROLES(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_role;

/** What a part of a message is. X(name, json). */
#define UAR_PART_TYPES(X)     \
    X(TEXT, "text")           \
    X(REASONING, "reasoning") \
    X(TOOL_CALL, "tool_call") X(TOOL_RESULT, "tool_result") X(IMAGE, "image") X(AUDIO, "audio") X(FILE, "file")

/** Type of a part. */
typedef enum uar_part_type {
#define UAR_X_ENUM(name, json) UAR_PART_##name,
    UAR_PART_TYPES(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_part_type;

/** A part of a message. Fields that its type doesn't use are absent. */
typedef struct uar_part {
    uar_part_type type; /**< which fields count */
    uar_str text;       /**< TEXT, REASONING: the text; TOOL_RESULT: what the model reads; IMAGE, AUDIO, FILE: what it shows */
    uar_str call;       /**< TOOL_CALL, TOOL_RESULT: id of the call */
    uar_str tool;       /**< TOOL_CALL, TOOL_RESULT: name of the tool */
    uar_str arguments;  /**< TOOL_CALL: the arguments as the model wrote them (JSON, or the broken text) */
    bool failed;        /**< TOOL_RESULT: true if `text` is an error */
    uar_str opaque;     /**< REASONING: the provider's own data, to be sent back as it is; IMAGE, AUDIO, FILE: the
                             attachment's id, 36 characters as uar_uuid_format writes them */
} uar_part;

/** A message as a model reads it. */
typedef struct uar_model_message {
    uar_role role;         /**< who speaks */
    const uar_part *parts; /**< its parts, in order */
    size_t part_count;     /**< how many */
} uar_model_message;

/** A tool as a model reads it. */
typedef struct uar_model_tool {
    uar_str name;         /**< `^[a-zA-Z0-9_-]{1,64}$` */
    uar_str description;  /**< for the model */
    uar_str input_schema; /**< JSON Schema of the arguments */
} uar_model_tool;

/** How the model may use tools. */
typedef enum uar_tool_choice {
    UAR_TOOL_CHOICE_AUTO = 0,     /**< as it likes */
    UAR_TOOL_CHOICE_NONE = 1,     /**< not at all */
    UAR_TOOL_CHOICE_REQUIRED = 2, /**< at least one */
    UAR_TOOL_CHOICE_NAMED = 3     /**< the one in `tool_choice_name` */
} uar_tool_choice;

/** One model call. Borrowed until `start` returns. */
typedef struct uar_model_request {
    size_t size;                       /**< bytes of this struct as the library knows it */
    uar_run_id run;                    /**< run that asks */
    uint32_t attempt;                  /**< 1 on the first try of this call */
    const uar_model_message *messages; /**< whole context, system first */
    size_t message_count;              /**< how many */
    const uar_model_tool *tools;       /**< tools on offer */
    size_t tool_count;                 /**< how many */
    uar_tool_choice tool_choice;       /**< how tools may be used */
    uar_str tool_choice_name;          /**< with UAR_TOOL_CHOICE_NAMED */
    double temperature;                /**< negative: the model's default */
    uint32_t max_output_tokens;        /**< 0: the model's default */
    const uar_str *stop;               /**< stop sequences */
    size_t stop_count;                 /**< how many */
    uar_str response_schema;           /**< JSON Schema of the answer, or absent */
    uar_str extras;                    /**< JSON object of provider parameters, or absent */
} uar_model_request;

/** Tokens of one or more model calls, in exclusive buckets. `known` is false if the provider said nothing. */
typedef struct uar_usage {
    uint64_t input;       /**< read, not from a cache */
    uint64_t cache_read;  /**< read from the provider's cache */
    uint64_t cache_write; /**< written to the provider's cache */
    uint64_t output;      /**< written, reasoning included */
    uint64_t reasoning;   /**< part of `output` that was reasoning */
    bool known;           /**< true if any figure was reported */
} uar_usage;

/** Why a model stopped. X(name, json). */
#define UAR_FINISHES(X) \
    X(STOP, "stop") X(TOOL_CALLS, "tool_calls") X(LENGTH, "length") X(CONTENT_FILTER, "content_filter")

/** Finish reason of a model call. */
typedef enum uar_finish {
#define UAR_X_ENUM(name, json) UAR_FINISH_##name,
    UAR_FINISHES(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_finish;

/** One open model call. */
typedef struct uar_stream uar_stream;

/** Take a reference; returns its argument. Any thread. */
UAR_API uar_stream *uar_stream_ref(uar_stream *stream);
/** Give a reference back; NULL is accepted. Any thread. */
UAR_API void uar_stream_unref(uar_stream *stream);
/** True while the run still listens. Any thread. */
UAR_API bool uar_stream_is_open(const uar_stream *stream);

/** Push answer text; chunks may end inside a character. Copied. UAR_E_STALE once the call ended, as for all pushes. */
UAR_API uar_status uar_stream_text(uar_stream *stream, const char *text, size_t len);
/** Push reasoning text; chunks may end inside a character. Copied. */
UAR_API uar_status uar_stream_reasoning(uar_stream *stream, const char *text, size_t len);
/** Push the provider's opaque reasoning data (signature, encrypted content); it comes back in later requests. Copied. */
UAR_API uar_status uar_stream_reasoning_opaque(uar_stream *stream, const char *data, size_t len);
/** Push a piece of the tool call `index`: the first non-empty `id` and `name` win; `arguments` pieces are joined.
 *  Absent texts are fine. Indexes may have gaps and any order. Copied. */
UAR_API uar_status uar_stream_tool_call(uar_stream *stream, uint32_t index, uar_str id, uar_str name,
                                        uar_str arguments);
/** Report the call's usage so far; the last report counts. */
UAR_API uar_status uar_stream_usage(uar_stream *stream, const uar_usage *usage);
/** The model ended its answer. Ends the call. */
UAR_API uar_status uar_stream_finish(uar_stream *stream, uar_finish reason);
/** The call failed. `retryable` says if asking again may help, `retry_after_ms` 0 if the provider named no time.
 *  `code` is the provider's own word (or NULL), `message` one line (or NULL); both are copied. Ends the call. */
UAR_API uar_status uar_stream_fail(uar_stream *stream, uar_status status, const char *code, const char *message,
                                   bool retryable, uint32_t retry_after_ms);

/** A model. See the rules on top of uar/sys/platform.h. */
typedef struct uar_model {
    size_t struct_size;         /**< sizeof(uar_model) */
    void *ctx;                  /**< given to every slot */
    void (*destroy)(void *ctx); /**< optional */
    const char *name;           /**< id of the model, for policy, events and people; copied */
    uint32_t context_window;    /**< tokens; 0: unknown */
    /** Begin a call. Must not wait. Runs on a worker; calls of different runs overlap. */
    void (*start)(void *ctx, const uar_model_request *request, uar_stream *stream);
    /** Optional: nobody listens to `stream` any more. May come during `start` from another thread; must not wait. The
     *  pointer is only a name: compare it, don't use it unless you hold a reference. */
    void (*cancel)(void *ctx, uar_stream *stream);
} uar_model;
/** Head of a uar_model. */
#define UAR_MODEL_INIT sizeof(uar_model)

#ifdef __cplusplus
}
#endif
#endif
