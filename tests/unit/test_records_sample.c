/* The samples of docs/records.md: a setting with a type, and an attachment that comes in pieces. */
#include "base/str.h"
#include "unit/test_run_fixture.h"

static void a_setting_has_a_type(uar_runtime *rt, uar_error *err) {
    uar_reply *reply = NULL;
    uar_setting_type size = { .key = uar_str_of("ui.size"),
                              .schema = uar_str_of("{\"type\":\"integer\",\"minimum\":8,\"maximum\":72}"),
                              .fallback = uar_str_of("12") };
    assert_int_equal(uar_setting_type_put_sync(&reply, rt, "local", &size, false, err), UAR_OK);
    uar_reply_free(reply);

    assert_int_equal(uar_setting_put_sync(&reply, rt, "local", "ui.size", uar_str_of("100"), err), UAR_E_INVALID);
}

static void the_sample_of_a_setting_works(void **state) {
    (void)state;
    host *h = fixture_script(HELLO);
    uar_error err = UAR_ERROR_INIT;
    a_setting_has_a_type(host_runtime(h), &err);
    assert_non_null(strstr(err.message, "ui.size doesn't fit its type ui.size"));
    fixture_close(h);
}

#define PIECES 10
static char pieces[PIECES * 50000];
static size_t taken;

static bool next_piece(uar_str *piece) {
    if (taken == PIECES) return false;
    *piece = uar_str_n(pieces + 50000 * taken++, 50000);
    return true;
}

static void the_sample_of_an_attachment_works(void **state) {
    (void)state;
    host *h = fixture_script(HELLO);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    uar_str piece;
    for (size_t i = 0; i < sizeof pieces; i++)
        pieces[i] = (char)(i / 7);
    uar_attachment_options kite = { UAR_ATTACHMENT_OPTIONS_INIT, .media = "image/png", .name = "kite.png" };
    uar_attachment_writer *writer = NULL;
    assert_int_equal(uar_attachment_writer_new(&writer, rt, "local", "ann", &kite, NULL), UAR_OK);
    while (next_piece(&piece)) {
        assert_int_equal(uar_attachment_write_sync(&reply, writer, piece, NULL), UAR_OK);
        uar_reply_free(reply);
    }
    assert_int_equal(uar_attachment_finish_sync(&reply, writer, NULL), UAR_OK);
    uar_uuid id = reply->attachments[0].id;
    uar_reply_free(reply);
    uar_attachment_writer_free(writer);

    assert_int_equal(uar_attachment_read_sync(&reply, rt, "local", "ann", id, 300000, 100, NULL), UAR_OK);
    assert_int_equal(reply->content.len, 100);
    assert_memory_equal(reply->content.ptr, pieces + 300000, 100);
    uar_reply_free(reply);
    fixture_close(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(the_sample_of_a_setting_works),
        fixture_test(the_sample_of_an_attachment_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
