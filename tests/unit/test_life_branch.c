/* Sessions are branched and exported. */
#include "test_life_fixture.h"

#include <uar/attachments.h>

#include "runtime/runtime.h"
#include "store/bodies.h"

static uar_status branch(host *h, const uar_branch_options *o, const char *from) {
    uar_reply *reply = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_status status = uar_session_branch_sync(&reply, host_runtime(h), "local", "me", from, o, &err);
    if (status == UAR_OK) assert_true(uar_str_equal(reply->sessions[0].session, uar_str_of(o->session)));
    if (status != UAR_OK) assert_int_equal(err.code, status);
    uar_reply_free(reply);
    return status;
}

static uar_str first_text(const uar_reply *reply, size_t i) {
    return reply->messages[i].parts[0].text;
}

static void a_branch_has_the_messages_up_to_a_number_and_leaves_the_original_alone(void **state) {
    (void)state;
    life_place p = place_make();
    host *h = place_open(&p, HELLO);
    (void)say_in(h, "me", "old", "one");
    (void)say_in(h, "me", "old", "two");
    (void)say_in(h, "me", "old", "three");
    uar_branch_options o = { UAR_BRANCH_OPTIONS_INIT, .session = "new", .number = 4, .name = "Other way" };
    assert_int_equal(branch(h, &o, "old"), UAR_OK);
    uar_reply *before = fixture_messages(h, "old"), *after = fixture_messages(h, "new"), *reply = NULL;
    assert_int_equal(before->count, 6);
    assert_int_equal(after->count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(after->messages[i].number, i + 1);
        assert_int_equal(after->messages[i].role, before->messages[i].role);
        assert_int_equal(after->messages[i].created_ms, before->messages[i].created_ms);
        assert_true(uar_str_equal(first_text(after, i), first_text(before, i)));
        assert_false(uar_uuid_equal(after->messages[i].id, before->messages[i].id));
    }
    char id[UAR_UUID_TEXT];
    uar_uuid_format(id, before->messages[3].id);
    uar_runtime *rt = host_runtime(h);
    assert_int_equal(uar_session_origin_sync(&reply, rt, "local", "me", "new", NULL), UAR_OK);
    assert_non_null(strstr(reply->document.ptr, id));
    assert_non_null(strstr(reply->document.ptr, "\"number\":4,\"session\":\"old\""));
    uar_reply_free(reply);
    assert_int_equal(uar_session_origin_sync(&reply, rt, "local", "me", "old", NULL), UAR_OK);
    assert_null(reply->document.ptr);
    uar_reply_free(reply);
    uar_reply_free(before);
    uar_reply_free(after);
    assert_int_equal(count_in(&p, "SELECT count(*) FROM record WHERE kind=55"), 0);
    fixture_close(h);
    place_remove(&p);
}

static void a_branch_goes_on_by_itself_and_keeps_its_origin(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .repeats = true });
    (void)say_in(h, "me", "old", "one");
    uar_branch_options o = { UAR_BRANCH_OPTIONS_INIT, .session = "new" };
    assert_int_equal(branch(h, &o, "old"), UAR_OK);
    (void)say_in(h, "me", "new", "two");
    uar_reply *reply = fixture_messages(h, "new");
    assert_int_equal(reply->count, 4);
    uar_reply_free(reply);
    reply = fixture_messages(h, "old");
    assert_int_equal(reply->count, 2);
    uar_reply_free(reply);
    assert_int_equal(uar_session_origin_sync(&reply, host_runtime(h), "local", "me", "new", NULL), UAR_OK);
    assert_non_null(reply->document.ptr);
    uar_reply_free(reply);
    char *request = host_request(h, 2);
    assert_non_null(strstr(request, "one"));
    free(request);
    fixture_close(h);
}

static void a_branch_may_say_something_else_in_its_last_message(void **state) {
    (void)state;
    host *h = fixture_open(&(host_options){ .script = HELLO, .repeats = true });
    (void)say_in(h, "me", "old", "one");
    (void)say_in(h, "me", "old", "two");
    uar_branch_options o = { UAR_BRANCH_OPTIONS_INIT, .session = "new", .number = 3, .text = "zwei" };
    assert_int_equal(branch(h, &o, "old"), UAR_OK);
    uar_reply *reply = fixture_messages(h, "new");
    assert_int_equal(reply->count, 3);
    assert_true(uar_str_equal(first_text(reply, 2), uar_str_of("zwei")));
    assert_int_equal(reply->messages[2].role, UAR_ROLE_USER);
    uar_reply_free(reply);
    o.number = 2;
    o.session = "not";
    assert_int_equal(branch(h, &o, "old"), UAR_E_INVALID);
    assert_int_equal(session_status(h, "not"), UAR_E_NOT_FOUND);
    fixture_close(h);
}

static void a_branch_that_cannot_be_made_leaves_nothing(void **state) {
    (void)state;
    life_place p = place_make();
    host *h = place_open(&p, HELLO);
    (void)say_in(h, "me", "old", "one");
    long long records = count_in(&p, "SELECT count(*) FROM record");
    uar_branch_options o = { UAR_BRANCH_OPTIONS_INIT, .session = "new", .number = 9 };
    assert_int_equal(branch(h, &o, "old"), UAR_E_NOT_FOUND);
    assert_int_equal(branch(h, &o, "none"), UAR_E_NOT_FOUND);
    o.number = 1;
    o.session = "old";
    assert_int_equal(branch(h, &o, "old"), UAR_E_EXISTS);
    (void)say_in(h, "me", "taken", "x");
    o.session = "taken";
    assert_int_equal(branch(h, &o, "old"), UAR_E_EXISTS);
    assert_int_equal(delete_session(h, "taken", NULL), UAR_OK);
    o.session = "";
    assert_int_equal(branch(h, &o, "old"), UAR_E_INVALID);
    assert_int_equal(branch(h, &(uar_branch_options){ UAR_BRANCH_OPTIONS_INIT, .session = "n", .text = "x" }, "old"),
                     UAR_E_INVALID);
    assert_int_equal(count_in(&p, "SELECT count(*) FROM record"), records);
    fixture_close(h);
    place_remove(&p);
}

static void a_branch_does_not_cut_a_tool_call_from_its_result(void **state) {
    (void)state;
    const host_tool tools[] = { { .name = "look", .result = "1" }, { .name = NULL } };
    host *h = fixture_open(&(host_options){
        .script = LINE(CALL(0, "c1", "look", "{}") "," CALL(1, "c2", "look", "{}") "," CALLS) HELLO, .tools = tools });
    (void)say_in(h, "me", "old", "one");
    for (uint64_t number = 1; number <= 5; number++) {
        char id[16];
        (void)snprintf(id, sizeof id, "b%d", (int)number);
        uar_branch_options o = { UAR_BRANCH_OPTIONS_INIT, .session = id, .number = number };
        bool is_inside = number == 2 || number == 3;
        assert_int_equal(branch(h, &o, "old"), is_inside ? UAR_E_INVALID : UAR_OK);
        assert_int_equal(session_status(h, id), is_inside ? UAR_E_NOT_FOUND : UAR_OK);
    }
    fixture_close(h);
}

static void a_branch_that_was_cut_at_any_commit_leaves_nothing_after_the_next_build(void **state) {
    (void)state;
    bool through = false;
    for (size_t after = 0; !through; after++) {
        life_place p = place_make();
        host *h = place_open(&p, HELLO);
        for (int i = 0; i < 35; i++)
            (void)say_in(h, "me", "old", "words");
        fixture_close(h);
        host_layer *layer = host_layer_new(uar_persistence_sqlite(p.store, NULL));
        h = fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(layer) });
        host_rest(h, 20);
        host_layer_fail(layer, COMMIT_OTHER, after, SIZE_MAX, UAR_E_IO);
        host_layer_fail(layer, COMMIT_BEAT, 1, SIZE_MAX, UAR_E_IO);
        uar_branch_options o = { UAR_BRANCH_OPTIONS_INIT, .session = "new-one" };
        uar_status status = branch(h, &o, "old");
        assert_true(status == UAR_OK || status == UAR_E_IO);
        through = status == UAR_OK;
        if (!through) assert_int_equal(session_status(h, "new-one"), UAR_E_NOT_FOUND);
        assert_int_equal(host_close(h, UAR_CLOSE_CANCEL), UAR_OK);
        host_layer_free(layer);
        h = fixture_open(&(host_options){ .script = HELLO, .store = p.store, .single_process = true });
        for (int i = 0; i < 500 && count_in(&p, "SELECT count(*) FROM record WHERE kind=55 OR kind=56 AND "
                                                "owner=CAST('~' AS BLOB)") > 0;
             i++)
            host_rest(h, 10);
        assert_int_equal(session_status(h, "new-one"), through ? UAR_OK : UAR_E_NOT_FOUND);
        if (!through) assert_int_equal(count_naming(&p, "new-one"), 0);
        fixture_close(h);
        place_remove(&p);
        assert_true(after < 20);
    }
}

static void a_branch_that_fails_leaves_the_policy_that_its_id_had(void **state) {
    (void)state;
    life_place p = place_make();
    host *h = place_open(&p, HELLO);
    uar_runtime *rt = host_runtime(h);
    const uar_session_policy own = { .max_steps = 3 }, other = { .max_steps = 7 };
    uar_reply *reply = NULL;
    (void)say_in(h, "me", "old", "one");
    assert_int_equal(uar_session_policy_put_sync(&reply, rt, "local", "me", "new", &own, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(uar_session_policy_put_sync(&reply, rt, "local", "me", "old", &other, NULL), UAR_OK);
    uar_reply_free(reply);
    long long records = count_in(&p, "SELECT count(*) FROM record");
    uar_branch_options o = { UAR_BRANCH_OPTIONS_INIT, .session = "new", .number = 2, .text = "not mine" };
    for (int i = 0; i < 2; i++) {
        bool fails = i == 0;
        assert_int_equal(branch(h, &o, "old"), fails ? UAR_E_INVALID : UAR_OK);
        if (fails) assert_int_equal(count_in(&p, "SELECT count(*) FROM record"), records);
        assert_int_equal(uar_session_policy_load_sync(&reply, rt, "local", "me", "new", NULL), UAR_OK);
        assert_int_equal(reply->policies[0].max_steps, own.max_steps);
        uar_reply_free(reply);
        o.text = NULL;
    }
    fixture_close(h);
    place_remove(&p);
}

static void an_id_whose_undo_failed_can_be_branched_onto_at_once(void **state) {
    (void)state;
    life_place p = place_make();
    host *h = place_open(&p, HELLO);
    (void)say_in(h, "me", "old", "one");
    fixture_close(h);
    host_layer *layer = host_layer_new(uar_persistence_sqlite(p.store, NULL));
    h = fixture_open(&(host_options){ .script = HELLO, .layer = host_layer_door(layer) });
    host_rest(h, 20);
    uar_branch_options o = { UAR_BRANCH_OPTIONS_INIT, .session = "new" };
    host_layer_fail(layer, COMMIT_OTHER, 2, 4, UAR_E_IO); /* behind making and copying: the birth, and the undo */
    assert_int_equal(branch(h, &o, "old"), UAR_E_IO);
    assert_int_equal(count_in(&p, "SELECT count(*) FROM record WHERE kind=55"), 1);
    host_layer_fail(layer, COMMIT_OTHER, 0, 0, UAR_E_IO);
    assert_int_equal(branch(h, &o, "old"), UAR_OK);
    uar_reply *reply = fixture_messages(h, "new");
    assert_int_equal(reply->count, 2);
    uar_reply_free(reply);
    assert_int_equal(count_in(&p, "SELECT count(*) FROM record WHERE kind=55"), 0);
    assert_int_equal(host_close(h, UAR_CLOSE_CANCEL), UAR_OK);
    host_layer_free(layer);
    place_remove(&p);
}

/* ---- export ---- */

typedef struct lines {
    char *text[256];
    size_t count, stop_at;
} lines;

static uar_status keep_line(void *ctx, uar_str line) {
    lines *l = ctx;
    if (l->stop_at != 0 && l->count == l->stop_at) return UAR_E_FULL;
    assert_true(l->count < 256);
    l->text[l->count] = malloc(line.len + 1);
    assert_non_null(l->text[l->count]);
    memcpy(l->text[l->count], line.ptr, line.len);
    l->text[l->count++][line.len] = '\0';
    return UAR_OK;
}

static void lines_free(lines *l) {
    for (size_t i = 0; i < l->count; i++)
        free(l->text[i]);
    l->count = 0;
}

static size_t count_kind(const lines *l, const char *kind) {
    char want[64];
    size_t count = 0;
    (void)snprintf(want, sizeof want, "{\"v\":1,\"kind\":\"%s\",", kind);
    for (size_t i = 0; i < l->count; i++)
        count += strncmp(l->text[i], want, strlen(want)) == 0;
    return count;
}

static void an_export_has_each_record_and_its_body_as_it_is_stored(void **state) {
    (void)state;
    life_place p = place_make();
    host *h = place_open(&p, HELLO);
    for (int i = 0; i < 30; i++)
        (void)say_in(h, "me", "s", "words \xc3\xa4 \"quoted\"");
    (void)say_in(h, "me", "other", "not this");
    lines l = { .count = 0 };
    uar_reply *reply = NULL;
    assert_int_equal(uar_session_export_sync(&reply, host_runtime(h), "local", "me", "s", NULL, keep_line, &l, NULL),
                     UAR_OK);
    assert_int_equal(reply->number, l.count - 1);
    uar_reply_free(reply);
    assert_int_equal(count_kind(&l, "session"), 1);
    assert_int_equal(count_kind(&l, "message"), 60);
    assert_int_equal(count_kind(&l, "run"), 30);
    assert_int_equal(count_kind(&l, "checkpoint"), 30);
    assert_int_equal(count_kind(&l, "end"), 1);
    assert_non_null(strstr(l.text[l.count - 1], "\"kind\":\"end\""));
    for (size_t i = 0; i < l.count; i++) {
        cJSON *tree = NULL;
        assert_int_equal(json_read(&tree, &alloc_default, uar_str_of(l.text[i]), SIZE_MAX, NULL), UAR_OK);
        json_free(&alloc_default, tree);
        assert_null(strstr(l.text[i], "not this"));
    }
    assert_non_null(strstr(l.text[1], "\"number\":1"));
    assert_non_null(strstr(l.text[1], "\"body\":{\"interrupted\":false,\"parts\":[{\"text\":\"words \xc3\xa4 "
                                      "\\\"quoted\\\"\",\"type\":\"text\"}]"));
    lines_free(&l);
    fixture_close(h);
    place_remove(&p);
}

static void op_ended(store_op *op) {
    atomic_store((atomic_bool *)op->arg, true);
}

/* Store a message of the user that names an attachment, as a run with pictures will. */
static void put_picture(host *h, uar_uuid message, uar_uuid attachment) {
    char id[UAR_UUID_TEXT];
    uar_uuid_format(id, attachment);
    const uar_part part = { .type = UAR_PART_IMAGE, .opaque = uar_str_of(id) };
    const uar_message m = { .id = message, .number = 2, .role = UAR_ROLE_USER, .parts = &part, .part_count = 1 };
    atomic_bool ended;
    uar_write w = { .op = UAR_WRITE_PUT };
    store_op op = { .call = STORE_COMMIT, .writes = &w, .write_count = 1, .done = op_ended, .arg = &ended };
    atomic_init(&ended, false);
    arena_init(&op.mem, &alloc_default);
    assert_int_equal(message_record(&w.record, &op.mem, uar_str_of("local"), uar_str_of("me\x1fs"), &m), UAR_OK);
    store_submit(host_runtime(h)->env.store, &op);
    for (int i = 0; i < 500 && !atomic_load(&ended); i++)
        host_rest(h, 2);
    assert_true(atomic_load(&ended));
    assert_int_equal(op.status, UAR_OK);
    arena_dispose(&op.mem);
}

static void an_export_holds_the_contents_of_attachments_if_asked(void **state) {
    (void)state;
    lines l = { .count = 0 };
    host *h = fixture_script(HELLO);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    uar_run_id fresh = say_in(h, "me", "s", "x"); /* an id that no message has */
    assert_int_equal(uar_attachment_put_sync(&reply, rt, "local", "me", NULL, uar_str_of("hello"), NULL), UAR_OK);
    put_picture(h, fresh, reply->attachments[0].id);
    uar_reply_free(reply);
    assert_int_equal(uar_session_export_sync(&reply, rt, "local", "me", "s", NULL, keep_line, &l, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(count_kind(&l, "message"), 3);
    assert_int_equal(count_kind(&l, "attachment"), 1);
    assert_int_equal(count_kind(&l, "attachment_part"), 0);
    lines_free(&l);
    const uar_export_options o = { UAR_EXPORT_OPTIONS_INIT, .contents = true };
    assert_int_equal(uar_session_export_sync(&reply, rt, "local", "me", "s", &o, keep_line, &l, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(count_kind(&l, "attachment_part"), 1);
    assert_non_null(strstr(l.text[l.count - 2], "\"blob\":\"aGVsbG8=\""));
    lines_free(&l);
    fixture_close(h);
}

static void an_export_is_stopped_by_its_reader(void **state) {
    (void)state;
    lines l = { .stop_at = 2 };
    host *h = fixture_script(HELLO);
    uar_reply *reply = NULL;
    (void)say_in(h, "me", "s", "x");
    uar_runtime *rt = host_runtime(h);
    assert_int_equal(uar_session_export_sync(&reply, rt, "local", "me", "s", NULL, keep_line, &l, NULL), UAR_E_FULL);
    assert_int_equal(uar_session_export_sync(&reply, rt, "local", "me", "no", NULL, keep_line, &l, NULL),
                     UAR_E_NOT_FOUND);
    assert_int_equal(uar_session_export_sync(&reply, rt, "local", "me", "s", NULL, NULL, &l, NULL), UAR_E_INVALID);
    assert_null(reply);
    lines_free(&l);
    fixture_close(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(a_branch_has_the_messages_up_to_a_number_and_leaves_the_original_alone),
        fixture_test(a_branch_goes_on_by_itself_and_keeps_its_origin),
        fixture_test(a_branch_may_say_something_else_in_its_last_message),
        fixture_test(a_branch_that_cannot_be_made_leaves_nothing),
        fixture_test(a_branch_that_fails_leaves_the_policy_that_its_id_had),
        fixture_test(an_id_whose_undo_failed_can_be_branched_onto_at_once),
        fixture_test(a_branch_does_not_cut_a_tool_call_from_its_result),
        fixture_test(a_branch_that_was_cut_at_any_commit_leaves_nothing_after_the_next_build),
        fixture_test(an_export_has_each_record_and_its_body_as_it_is_stored),
        fixture_test(an_export_holds_the_contents_of_attachments_if_asked),
        fixture_test(an_export_is_stopped_by_its_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
