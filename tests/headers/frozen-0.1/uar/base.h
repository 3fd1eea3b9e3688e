/*
 * uar/base.h: the words that every other header uses: text, statuses, errors, identifiers, live objects.
 *
 * Text is UTF-8 with a length. Functions that take `const char *` expect NUL-terminated UTF-8.
 * Outputs come first in a parameter list and stay untouched when a call fails.
 * Since 0.1 unless a declaration says otherwise.
 */
#ifndef UAR_BASE_H
#define UAR_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Marks what the library exports. */
#if defined(_WIN32)
#define UAR_API __declspec(dllexport)
#else
#define UAR_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of these headers. */
#define UAR_VERSION_MAJOR 0
#define UAR_VERSION_MINOR 1
#define UAR_VERSION_PATCH 0

/** Version of the linked library, "MAJOR.MINOR.PATCH", NUL-terminated, static. Any thread. */
UAR_API const char *uar_version(void);

/** Borrowed text: `len` bytes of UTF-8 at `ptr`, not necessarily NUL-terminated. `ptr` is NULL where text is absent. */
typedef struct uar_str {
    const char *ptr; /**< first byte, or NULL when absent */
    size_t len;      /**< bytes */
} uar_str;

/** Borrow a NUL-terminated string; NULL gives the absent text. */
static inline uar_str uar_str_of(const char *text) {
    uar_str s;
    s.ptr = text;
    s.len = text != NULL ? strlen(text) : 0;
    return s;
}

/** Borrow `len` bytes. */
static inline uar_str uar_str_n(const char *ptr, size_t len) {
    uar_str s;
    s.ptr = ptr;
    s.len = len;
    return s;
}

/** True if both texts have the same bytes; an absent text equals an empty one. */
static inline bool uar_str_equal(uar_str a, uar_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/** What a status asks of its reader. */
typedef enum uar_band {
    UAR_BAND_OK = 0,     /**< success */
    UAR_BAND_RETRY = 1,  /**< may succeed when tried again */
    UAR_BAND_CALLER = 2, /**< the call was wrong; trying again is useless */
    UAR_BAND_DATA = 3,   /**< what was given, stored or answered is wrong or missing */
    UAR_BAND_STORE = 4,  /**< a store can't be opened, read or written */
    UAR_BAND_FATAL = 5   /**< the operation, and perhaps the process, can't go on */
} uar_band;

/** Every status: X(name, value, band, text). The one place to add a line. Values never change. */
#define UAR_STATUSES(X)                                                                           \
    X(OK, 0, OK, "success")                                                                       \
    X(E_BUSY, -1, RETRY, "another writer holds it")                                               \
    X(E_TIMEOUT, -2, RETRY, "the time given for it is over")                                      \
    X(E_SUSPENDED, -3, RETRY, "the runtime is suspended")                                         \
    X(E_PROTECTED, -4, RETRY, "the file is locked by the device's file protection")               \
    X(E_UNAVAILABLE, -5, RETRY, "the service can't be used now")                                  \
    X(E_MODEL_CUT, -6, RETRY, "the model's stream ended before its end mark")                     \
    X(E_MODEL_BUSY, -7, RETRY, "the model asks to be called later")                               \
    X(E_NETWORK, -8, RETRY, "the connection failed")                                              \
    X(E_CONFLICT, -9, RETRY, "the record is not at the expected revision")                        \
    X(E_INVALID, -100, CALLER, "an argument is not valid")                                        \
    X(E_CLOSED, -101, CALLER, "the object is closed")                                             \
    X(E_STALE, -102, CALLER, "the call was finished before, or nobody waits for it")              \
    X(E_WOULD_DEADLOCK, -103, CALLER, "this call waits and can't be made from inside a callback") \
    X(E_REENTRANT, -104, CALLER, "this callback may only finish its own call")                    \
    X(E_UNSUPPORTED, -105, CALLER, "this is not supported here")                                  \
    X(E_EXISTS, -106, CALLER, "it exists already")                                                \
    X(E_FILTER_REQUIRED, -107, CALLER, "a bulk delete needs an explicit filter")                  \
    X(E_DISABLED, -108, CALLER, "the feature is turned off")                                      \
    X(E_FORBIDDEN, -109, CALLER, "the identity may not do this")                                  \
    X(E_STRUCT, -110, CALLER, "a struct carries fields that this library doesn't know")           \
    X(E_STORE_CONFLICT, -111, CALLER, "memory and state can't share a directory")                 \
    X(E_NOT_FOUND, -200, DATA, "there is no such thing")                                          \
    X(E_JSON, -201, DATA, "the text is not strict JSON")                                          \
    X(E_UTF8, -202, DATA, "the text is not valid UTF-8")                                          \
    X(E_TOO_LARGE, -203, DATA, "it is larger than the limit")                                     \
    X(E_SCHEMA, -204, DATA, "it does not match its schema")                                       \
    X(E_MODEL, -205, DATA, "the model answered with an error")                                    \
    X(E_PROTOCOL, -206, DATA, "the answer breaks its protocol")                                   \
    X(E_TOOL_FAILED, -207, DATA, "the tool failed")                                               \
    X(E_TOOL_UNKNOWN, -208, DATA, "there is no tool of this name")                                \
    X(E_TOOL_ARGUMENTS, -209, DATA, "the arguments of the tool call are not usable")              \
    X(E_TOOL_DENIED, -210, DATA, "the tool call was denied")                                      \
    X(E_STEP_LIMIT, -211, DATA, "the run reached its step limit")                                 \
    X(E_SCRIPT_EXHAUSTED, -212, DATA, "the script has no more lines")                             \
    X(E_DROPPED, -213, DATA, "the call was dropped without an answer")                            \
    X(E_CANCELLED, -214, DATA, "it was cancelled")                                                \
    X(E_ABANDONED, -215, DATA, "it was abandoned")                                                \
    X(E_TRUNCATED, -216, DATA, "the output was cut by the token limit")                           \
    X(E_PARKED, -217, DATA, "the run was parked and can be resumed")                              \
    X(E_FILTERED, -218, DATA, "the provider withheld the answer")                                 \
    X(E_CANTOPEN, -300, STORE, "the store can't be opened")                                       \
    X(E_CORRUPT, -301, STORE, "the store is damaged")                                             \
    X(E_NEWER, -302, STORE, "the store was written by a newer version")                           \
    X(E_FULL, -303, STORE, "the disk is full")                                                    \
    X(E_IO, -304, STORE, "reading or writing the store failed")                                   \
    X(E_READ_ONLY, -305, STORE, "the store can't be written")                                     \
    X(E_AUTH, -306, STORE, "the key is wrong or the data was tampered with")                      \
    X(E_NOMEM, -400, FATAL, "out of memory")                                                      \
    X(E_INTERNAL, -401, FATAL, "a fault of this library")

/** Result of a call: UAR_OK or a negative error. */
typedef enum uar_status {
#define UAR_X_ENUM(name, value, band, text) UAR_##name = value,
    UAR_STATUSES(UAR_X_ENUM)
#undef UAR_X_ENUM
} uar_status;

/** Name of a status, "UAR_E_BUSY"; "UAR_E_INTERNAL" for an unknown value. Static, any thread. */
UAR_API const char *uar_status_name(uar_status status);
/** One line of English about a status. Static, any thread. */
UAR_API const char *uar_status_text(uar_status status);
/** The band of a status. Any thread. */
UAR_API uar_band uar_status_band(uar_status status);

/** What went wrong, on the caller's stack. Written only by calls that fail. */
typedef struct uar_error {
    uar_status code;   /**< the status that the call returned */
    int32_t detail;    /**< the foreign code behind it (SQLite, HTTP …), 0 if none */
    char message[248]; /**< one line of UTF-8, NUL-terminated, cut at a character */
} uar_error;

/** Initialiser of a uar_error. */
#define UAR_ERROR_INIT \
    {                  \
        UAR_OK, 0, {   \
            0          \
        }              \
    }

/** Empty an error; the twin of UAR_ERROR_INIT. */
static inline void uar_error_init(uar_error *err) {
    memset(err, 0, sizeof *err);
}

/** Identifier made by the library: a time-ordered UUID (version 7, RFC 9562). Compare with uar_uuid_equal. */
typedef struct uar_uuid {
    uint8_t bytes[16]; /**< big-endian; all zero means none */
} uar_uuid;

/** Bytes of the text form of a UUID with its NUL. */
#define UAR_UUID_TEXT 37

/** Write the 36 characters and a NUL into `out`. Any thread. */
UAR_API void uar_uuid_format(char out[UAR_UUID_TEXT], uar_uuid id);
/** Parse 36 characters, either case. UAR_E_INVALID on anything else. Any thread. */
UAR_API uar_status uar_uuid_parse(uar_uuid *out, uar_str text);

/** True if both are the same id. */
static inline bool uar_uuid_equal(uar_uuid a, uar_uuid b) {
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

/** True if the id is all zero: none. */
static inline bool uar_uuid_is_none(uar_uuid id) {
    uar_uuid none;
    memset(&none, 0, sizeof none);
    return uar_uuid_equal(id, none);
}

/** A switch that may say nothing: a level that inherits takes what the level above says. */
typedef enum uar_toggle {
    UAR_OFF = -1,    /**< off; locks all levels below where it speaks of memory */
    UAR_INHERIT = 0, /**< says nothing */
    UAR_ON = 1       /**< on */
} uar_toggle;

/** Names a run. */
typedef uar_uuid uar_run_id;

/** Wait without end. */
#define UAR_FOREVER UINT32_MAX

/** Objects of this library that are alive in the process: runtimes, runs, events, completions, stores. For leak checks. Any thread. */
UAR_API int64_t uar_live_objects(void);

#ifdef __cplusplus
}
#endif
#endif
