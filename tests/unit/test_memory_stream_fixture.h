/* Short ways to a stream under test; beside test_memory_fixture.h. */
#ifndef UAR_TESTS_UNIT_MEMORY_STREAM_FIXTURE_H
#define UAR_TESTS_UNIT_MEMORY_STREAM_FIXTURE_H

#include "test_memory_fixture.h"

#include <uar/memory_stream.h>

static inline uar_uuid open_stream(memory_fixture *f, const char *user, const char *name) {
    uar_identity who = user_of(user);
    uar_memory_stream_draft d;
    uar_memory_stream_draft_init(&d);
    d.name = uar_str_of(name);
    uar_memory_streams *streams = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_stream_open_sync(&streams, f->memory, &who, &d, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    uar_uuid id = streams->streams[0].id;
    uar_memory_streams_free(streams);
    return id;
}

static inline uar_memory_stream_entry_draft entry_of(const char *text) {
    uar_memory_stream_entry_draft d;
    uar_memory_stream_entry_draft_init(&d);
    d.text = uar_str_of(text);
    return d;
}

static inline uint64_t append_draft(memory_fixture *f, const char *user, uar_uuid stream,
                                    const uar_memory_stream_entry_draft *d) {
    uar_identity who = user_of(user);
    uar_memory_stream_appended done;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_stream_append_sync(&done, f->memory, &who, stream, d, 0, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return done.number;
}

static inline uint64_t append_text(memory_fixture *f, const char *user, uar_uuid stream, const char *text) {
    uar_memory_stream_entry_draft d = entry_of(text);
    return append_draft(f, user, stream, &d);
}

static inline uar_memory_stream_entries *read_entries(memory_fixture *f, const char *user, uar_uuid stream,
                                                      uint64_t from, bool backwards, size_t limit) {
    uar_identity who = user_of(user);
    uar_memory_stream_entries *entries = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_stream_read_sync(&entries, f->memory, &who, stream, from, backwards, limit, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return entries;
}

static inline uar_memory_streams *get_stream(memory_fixture *f, const char *user, uar_uuid stream) {
    uar_identity who = user_of(user);
    uar_memory_streams *streams = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_stream_get_sync(&streams, f->memory, &who, stream, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return streams;
}

static inline uar_memory_stream_window *window_of(memory_fixture *f, const char *user, uar_uuid stream,
                                                  uint64_t tokens) {
    uar_identity who = user_of(user);
    uar_memory_stream_window *window = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_stream_window_sync(&window, f->memory, &who, stream, tokens, 0, &err);
    if (status != UAR_OK) fail_msg("%s: %s", uar_status_name(status), err.message);
    return window;
}

/* A summary given by the host. */
static inline uar_status summarise_text(uar_memory_stream_summary *out, memory_fixture *f, const char *user,
                                        uar_uuid stream, uint64_t first, uint64_t last, const char *text,
                                        uar_error *err) {
    uar_identity who = user_of(user);
    uar_memory_stream_summary_draft d;
    uar_memory_stream_summary_draft_init(&d);
    d.first = first;
    d.last = last;
    d.text = uar_str_of(text);
    return uar_memory_stream_summarise_sync(out, f->memory, &who, stream, &d, err);
}

/* The numbers of a window, as "11 7 8 9". */
static inline void window_numbers(char out[512], const uar_memory_stream_window *w) {
    int at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < w->count; i++)
        at +=
            snprintf(out + at, 512 - (size_t)at, "%s%llu", i != 0 ? " " : "", (unsigned long long)w->entries[i].number);
}

static inline void assert_window(memory_fixture *f, const char *user, uar_uuid stream, uint64_t tokens,
                                 const char *numbers) {
    char got[512];
    uar_memory_stream_window *w = window_of(f, user, stream, tokens);
    window_numbers(got, w);
    assert_string_equal(got, numbers);
    uar_memory_stream_window_free(w);
}

#endif
