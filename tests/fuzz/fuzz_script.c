/*
 * Any bytes as a script. What must hold: a line is refused with its number, or plays to exactly one end in at most one step
 * an event, the same way each time.
 */
#include <stdio.h>

#include "base/buffer.h"
#include "fuzz/property.h"
#include "model/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct record {
    buffer log;
    size_t ends;
} record;

static uar_status note(record *r, char kind, uar_str text) {
    PROPERTY(r->ends == 0);
    buffer_append_char(&r->log, kind);
    buffer_append_str(&r->log, text);
    return UAR_OK;
}

static uar_status on_text(void *ctx, uar_str text) {
    return note(ctx, 't', text);
}

static uar_status on_call(void *ctx, uint32_t index, uar_str id, uar_str name, uar_str arguments) {
    record *r = ctx;
    buffer_append_u64(&r->log, index);
    (void)note(r, 'i', id);
    (void)note(r, 'n', name);
    return note(r, 'a', arguments);
}

static uar_status on_usage(void *ctx, const uar_usage *usage) {
    record *r = ctx;
    buffer_append_u64(&r->log, usage->input);
    return note(r, 'u', uar_str_n("", 0));
}

static uar_status on_finish(void *ctx, uar_finish reason) {
    record *r = ctx;
    (void)note(r, 'f', uar_str_n("", 0));
    buffer_append_u64(&r->log, (uint64_t)reason);
    r->ends++;
    return UAR_OK;
}

static uar_status on_fail(void *ctx, const model_failure *failure) {
    record *r = ctx;
    (void)note(r, 'e', uar_str_of(failure->message));
    r->ends++;
    return UAR_OK;
}

static void line_play(record *r, uar_str text, size_t number) {
    model_sink sink = { r, NULL, on_text, on_text, on_text, on_call, on_usage, on_finish, on_fail };
    script_line *line = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = script_line_read(&line, &alloc_default, text, number, &err);
    if (status != UAR_OK) {
        char head[40];
        (void)snprintf(head, sizeof head, "line %zu: ", number);
        PROPERTY(err.code == status && strncmp(err.message, head, strlen(head)) == 0);
        return;
    }
    script_step step = SCRIPT_PUSHED;
    uint32_t wait = 0;
    for (size_t steps = 0; step != SCRIPT_END; steps++) {
        PROPERTY(steps <= text.len);
        PROPERTY(script_line_next(&step, &wait, line, &sink) == UAR_OK);
    }
    PROPERTY(r->ends == 1);
    PROPERTY(script_line_next(&step, &wait, line, &sink) == UAR_OK && step == SCRIPT_END);
    script_line_free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uar_str script = uar_str_n((const char *)data, size), text;
    for (size_t number = 1; script_find(&text, &number, script); number++) {
        record first = { .ends = 0 }, second = { .ends = 0 };
        buffer_init(&first.log, &alloc_default, SIZE_MAX / 2);
        buffer_init(&second.log, &alloc_default, SIZE_MAX / 2);
        line_play(&first, text, number);
        line_play(&second, text, number);
        PROPERTY(uar_str_equal(buffer_str(&first.log), buffer_str(&second.log)));
        buffer_dispose(&first.log);
        buffer_dispose(&second.log);
    }
    return 0;
}
