/* The sample of docs/memory.md: an agent notes its steps, goes on after a restart, and asks for what fits its model. */
#include "test_memory_stream_fixture.h"

/* Note a step of the task `name`; once, however often it is tried. */
static uar_status note_step(uar_memory *memory, const uar_identity *who, const char *name, const char *step,
                            const char *text, uar_uuid *stream) {
    uar_memory_stream_draft draft = { UAR_MEMORY_STREAM_DRAFT_INIT, .name = uar_str_of(name) };
    uar_memory_streams *streams = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_stream_open_sync(&streams, memory, who, &draft, &err);
    if (status != UAR_OK) return status;
    *stream = streams->streams[0].id;
    uar_memory_streams_free(streams);

    uar_memory_stream_entry_draft entry = { UAR_MEMORY_STREAM_ENTRY_DRAFT_INIT, .role = uar_str_of("step"),
                                            .text = uar_str_of(text), .unique_key = uar_str_of(step) };
    uar_memory_stream_appended done;
    return uar_memory_stream_append_sync(&done, memory, who, *stream, &entry, 0, &err);
}

/* What the model gets to see of the task: at most `max_tokens`, older parts summarised when it gets long. */
static uar_status context_of(uar_memory *memory, const uar_identity *who, uar_uuid stream, uint64_t max_tokens,
                             char *out, size_t size) {
    uar_memory_stream_window *window = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_memory_stream_window_sync(&window, memory, who, stream, max_tokens, 0, &err);
    if (status == UAR_OK && window->left_out != 0) {
        /* All that was left out gets one summary; the model's own text would be better than the rule's. */
        uar_memory_stream_summary_draft draft = { UAR_MEMORY_STREAM_SUMMARY_DRAFT_INIT, .last = window->gaps[0].last,
                                                  .max_tokens = max_tokens / 2 };
        uar_memory_stream_summary summary;
        uar_memory_stream_window_free(window);
        window = NULL;
        status = uar_memory_stream_summarise_sync(&summary, memory, who, stream, &draft, &err);
        if (status == UAR_OK) status = uar_memory_stream_window_sync(&window, memory, who, stream, max_tokens, 0, &err);
    }
    if (status != UAR_OK) return status;
    size_t used = 0;
    for (size_t i = 0; i < window->count && used < size; i++) {
        const uar_memory_stream_entry *e = &window->entries[i];
        used += (size_t)snprintf(out + used, size - used, "%.*s: %.*s\n", (int)e->role.len, e->role.ptr,
                                 (int)e->text.len, e->text.ptr);
    }
    uar_memory_stream_window_free(window);
    return UAR_OK;
}

static void the_sample_of_the_documentation_works(void **state) {
    memory_fixture *f = *state;
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("ann"), .task = STR("move") };
    static const char *const steps[] = {
        "Asked three movers for an offer.",    "Chose the mover Acme, for 4 March.",
        "Told the landlord that we move.",     "Ordered forty boxes from Acme.",
        "Packed the books, eleven boxes.",     "Sold the old sofa to a neighbour.",
        "Cancelled the internet for 5 March.", "Acme asks for the floor of the flat.",
    };
    enum { STEPS = sizeof steps / sizeof steps[0] };
    uar_uuid stream;
    for (int again = 0; again < 2; again++) { /* a restart in between: what was noted is there once */
        for (int i = 0; i < STEPS; i++) {
            char key[16];
            snprintf(key, sizeof key, "step %d", i);
            assert_int_equal(note_step(f->memory, &who, "moving house", key, steps[i], &stream), UAR_OK);
        }
        fixture_reopen(f);
    }
    char context[1024], all[1024] = "";
    for (size_t i = 0, used = 0; i < STEPS; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "step: %s\n", steps[i]);
    assert_int_equal(context_of(f->memory, &who, stream, 200, context, sizeof context), UAR_OK);
    assert_string_equal(context, all);
    assert_int_equal(context_of(f->memory, &who, stream, 45, context, sizeof context), UAR_OK);
    assert_memory_equal(context, "summary: step: ", 15);
    assert_non_null(strstr(context, "step: Acme asks for the floor of the flat.\n"));
    assert_sound(f);
}

int main(void) {
    const struct CMUnitTest tests[] = { MEMORY_TEST(the_sample_of_the_documentation_works) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
