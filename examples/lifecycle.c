/* What an app does with what it stored: rename, branch, export, keep small, back up, erase. See docs/lifecycle.md. */
#include <uar/uar.h>

#include <stdio.h>
#include <string.h>

static void answer(void *ctx, const uar_model_request *request, uar_stream *stream) {
    (void)ctx;
    (void)request;
    uar_stream_text(stream, "Hello.", 6);
    uar_stream_finish(stream, UAR_FINISH_STOP);
}

static int fault; /* calls that failed */

static void check(uar_status status, const uar_error *err, const char *what) {
    if (status == UAR_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, uar_status_name(err->code), err->message);
    fault++;
}

static void talk(uar_runtime *rt, const char *owner, const char *session, const char *input) {
    uar_error err = UAR_ERROR_INIT;
    uar_run_id run;
    uar_outcome outcome;
    const uar_run_request request = { UAR_RUN_REQUEST_INIT, .owner = owner, .user = "u1", .session = session,
                                      .input = input };
    uar_status status = uar_run_start(&run, rt, &request, &err);
    check(status, &err, "run");
    if (status == UAR_OK) uar_run_wait(&outcome, rt, run, UAR_FOREVER);
}

static uar_status print_line(void *ctx, uar_str line) {
    (void)ctx;
    printf("%.*s\n", (int)line.len, line.ptr);
    return UAR_OK;
}

static void look_after_sessions(uar_runtime *rt) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    check(uar_session_rename_sync(&reply, rt, "anna", "u1", "s1", "First words", &err), &err, "rename");
    uar_reply_free(reply);

    /* The user edits the second question: branch before it, and ask anew. */
    const uar_branch_options options = { UAR_BRANCH_OPTIONS_INIT, .session = "s1-again", .number = 2 };
    reply = NULL;
    check(uar_session_branch_sync(&reply, rt, "anna", "u1", "s1", &options, &err), &err, "branch");
    uar_reply_free(reply);
    talk(rt, "anna", "s1-again", "And in French?");

    reply = NULL;
    check(uar_session_export_sync(&reply, rt, "anna", "u1", "s1-again", NULL, print_line, NULL, &err), &err, "export");
    uar_reply_free(reply);

    reply = NULL;
    check(uar_session_delete_sync(&reply, rt, "anna", "u1", "s1", &err), &err, "delete");
    uar_reply_free(reply);
}

static void look_after_storage(uar_runtime *rt) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    const uar_retention policy = { UAR_RETENTION_INIT, .max_bytes = 50 << 20, .keep_named = true };
    uar_status status = uar_retain_sync(&reply, rt, "anna", &policy, &err);
    check(status, &err, "retain");
    if (status == UAR_OK) printf("retention: %.*s\n", (int)reply->document.len, reply->document.ptr);
    uar_reply_free(reply);

    printf("trim: %s\n", uar_runtime_trim(rt) > 0 ? "gave memory back" : "had nothing to give");

    reply = NULL;
    status = uar_diagnostics_sync(&reply, rt, &err);
    check(status, &err, "diagnostics");
    if (status == UAR_OK) printf("diagnostics: %.*s\n", (int)reply->document.len, reply->document.ptr);
    uar_reply_free(reply);
}

static void erase(uar_runtime *rt, const char *owner) {
    uar_error err = UAR_ERROR_INIT;
    uar_reply *reply = NULL;
    uar_status status = uar_owner_erase_sync(&reply, rt, owner, &err);
    check(status, &err, "erase");
    if (status == UAR_OK) printf("receipt: %.*s\n", (int)reply->document.len, reply->document.ptr);
    uar_reply_free(reply);
}

int main(int argc, char **argv) {
    uar_error err = UAR_ERROR_INIT;
    uar_builder *b = uar_builder_new(NULL);
    uar_builder_persistence(b, uar_persistence_sqlite(argc > 1 ? argv[1] : "lifecycle.db", NULL));
    uar_builder_model(b, &(uar_model){ UAR_MODEL_INIT, .name = "scripted", .start = answer });
    uar_runtime *rt = NULL;
    if (uar_builder_build(&rt, b, &err) != UAR_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    talk(rt, "anna", "s1", "Say hello.");
    talk(rt, "anna", "s1", "And in German?");
    talk(rt, "ben", "s1", "Say hello.");
    look_after_sessions(rt);
    look_after_storage(rt);
    erase(rt, "anna");
    uar_runtime_close(rt, UAR_CLOSE_PARK, 1000);
    return fault > 0;
}
