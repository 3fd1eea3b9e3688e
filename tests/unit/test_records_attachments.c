/* Attachments: put and streamed in, read by ranges, deleted, swept; whole or not at all whatever is cut short. */
#include "base/str.h"
#include "support/spy_layer.h"
#include "unit/test_run_fixture.h"

static spy_layer spy;

static host *open_spied(const char *script) {
    spy_init(&spy);
    return fixture_open(&(host_options){ .script = script, .layer = &spy.door, .threading = UAR_THREADS_MANUAL });
}

static void close_spied(host *h) {
    fixture_close(h);
    spy_dispose(&spy);
}

#define PART (128 * 1024)
#define NO_STR uar_str_of(NULL)

static char *bytes_of(size_t size) {
    char *bytes = malloc(size + 1);
    assert_non_null(bytes);
    uint32_t x = 2463534242u;
    for (size_t i = 0; i < size; i++) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        bytes[i] = (char)(x & 0xff);
    }
    return bytes;
}

static uar_uuid put(host *h, const char *user, const char *bytes, size_t size) {
    uar_reply *reply = NULL;
    uar_error err = UAR_ERROR_INIT;
    uar_attachment_options o = { UAR_ATTACHMENT_OPTIONS_INIT, .media = "image/png", .name = "kite.png" };
    if (uar_attachment_put_sync(&reply, host_runtime(h), "local", user, &o, uar_str_n(bytes, size), &err) != UAR_OK)
        fail_msg("%s", err.message);
    assert_int_equal(reply->count, 1);
    uar_uuid id = reply->attachments[0].id;
    uar_reply_free(reply);
    return id;
}

static uar_status read_range(host *h, uar_uuid id, uint64_t offset, size_t length, uar_reply **reply) {
    return uar_attachment_read_sync(reply, host_runtime(h), "local", "me", id, offset, length, NULL);
}

static void expect_range(host *h, uar_uuid id, const char *bytes, size_t size, uint64_t offset, size_t length) {
    uar_reply *reply = NULL;
    size_t left = offset < size ? size - (size_t)offset : 0;
    assert_int_equal(read_range(h, id, offset, length, &reply), UAR_OK);
    assert_int_equal(reply->content.len, length < left ? length : left);
    assert_memory_equal(reply->content.ptr, bytes + offset, reply->content.len);
    uar_reply_free(reply);
}

/* ---- put ---- */

static void a_content_of_any_size_comes_back(void **state) {
    (void)state;
    static const size_t sizes[] = { 0, 1, PART - 1, PART, PART + 1, 3 * PART, 8 * PART, 8 * PART + 5, 20 * PART + 17 };
    host *h = open_spied(HELLO);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *bytes = bytes_of(sizes[i]);
        uar_uuid id = put(h, "me", bytes, sizes[i]);
        uar_reply *reply = NULL;
        assert_int_equal(uar_attachment_load_sync(&reply, host_runtime(h), "local", "me", id, NULL), UAR_OK);
        const uar_attachment *a = &reply->attachments[0];
        assert_true(a->size == sizes[i]);
        assert_true(uar_str_equal(a->media, STR("image/png")));
        assert_true(uar_str_equal(a->name, STR("kite.png")));
        assert_true(uar_str_equal(a->user, STR("me")));
        assert_int_equal(a->part_bytes, PART);
        assert_int_equal(a->revision, 1);
        assert_true(a->created_ms > 0);
        uar_reply_free(reply);
        expect_range(h, id, bytes, sizes[i], 0, UAR_ATTACHMENT_READ_MAX);
        free(bytes);
    }
    assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT, "~"), 0);
    close_spied(h);
}

static void the_sum_is_sha256_of_the_whole(void **state) {
    (void)state;
    static const uint8_t abc[] = { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea };
    host *h = open_spied(HELLO);
    uar_uuid id = put(h, "me", "abc", 3);
    uar_reply *reply = NULL;
    assert_int_equal(uar_attachment_load_sync(&reply, host_runtime(h), "local", "me", id, NULL), UAR_OK);
    assert_memory_equal(reply->attachments[0].sha256, abc, sizeof abc);
    uar_reply_free(reply);
    close_spied(h);
}

static void without_options_it_is_an_octet_stream_without_a_name(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_reply *reply = NULL;
    assert_int_equal(uar_attachment_put_sync(&reply, host_runtime(h), "local", "me", NULL, STR("x"), NULL), UAR_OK);
    assert_true(uar_str_equal(reply->attachments[0].media, STR("application/octet-stream")));
    assert_null(reply->attachments[0].name.ptr);
    uar_reply_free(reply);
    close_spied(h);
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    uar_attachment_writer *w = NULL;
    uar_uuid none;
    memset(&none, 0, sizeof none);
    uar_attachment_options bad = { UAR_ATTACHMENT_OPTIONS_INIT, .media = "" };
    assert_int_equal(uar_attachment_put_sync(&reply, rt, "local", "me", &bad, STR("x"), NULL), UAR_E_INVALID);
    bad.media = "a\nb";
    assert_int_equal(uar_attachment_writer_new(&w, rt, "local", "me", &bad, NULL), UAR_E_INVALID);
    assert_int_equal(uar_attachment_writer_new(&w, rt, "~", "me", NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_attachment_writer_new(&w, rt, "local", "", NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_attachment_writer_new(&w, NULL, "local", "me", NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_attachment_write_sync(&reply, NULL, STR("x"), NULL), UAR_E_INVALID);
    assert_int_equal(uar_attachment_load_sync(&reply, rt, "local", "me", none, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(uar_attachment_list_sync(&reply, rt, "local", "me", NO_STR, 0, NULL), UAR_E_INVALID);
    assert_int_equal(read_range(h, none, 0, UAR_ATTACHMENT_READ_MAX + 1, &reply), UAR_E_TOO_LARGE);
    assert_null(reply);
    assert_null(w);
    uar_attachment_writer_free(NULL);
    close_spied(h);
}

static void attachments_belong_to_one_owner_and_one_user(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_runtime *rt = host_runtime(h);
    uar_reply *reply = NULL;
    uar_uuid id = put(h, "me", "abc", 3);
    static const char *const others[][2] = { { "local", "you" }, { "other", "me" } };
    for (size_t i = 0; i < 2; i++) {
        const char *owner = others[i][0], *user = others[i][1];
        assert_int_equal(uar_attachment_load_sync(&reply, rt, owner, user, id, NULL), UAR_E_NOT_FOUND);
        assert_int_equal(uar_attachment_read_sync(&reply, rt, owner, user, id, 0, 1, NULL), UAR_E_NOT_FOUND);
        assert_int_equal(uar_attachment_delete_sync(&reply, rt, owner, user, id, NULL), UAR_E_NOT_FOUND);
        assert_int_equal(uar_attachment_list_sync(&reply, rt, owner, user, NO_STR, 10, NULL), UAR_OK);
        assert_int_equal(reply->count, 0);
        uar_reply_free(reply);
    }
    expect_range(h, id, "abc", 3, 0, 3);
    close_spied(h);
}

static bool is_among(const uar_uuid *ids, size_t count, uar_uuid id) {
    for (size_t i = 0; i < count; i++)
        if (uar_uuid_equal(ids[i], id)) return true;
    return false;
}

static void pages_of_a_users_attachments_follow_each_other(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_uuid ids[7], last = { { 0 } };
    for (size_t i = 0; i < 7; i++) {
        char byte = (char)i;
        ids[i] = put(h, "me", &byte, 1);
        (void)put(h, "you", &byte, 1);
    }
    size_t seen = 0;
    char cursor[64] = "";
    for (int page = 0; page < 10; page++) {
        uar_reply *reply = NULL;
        uar_str after = cursor[0] != '\0' ? uar_str_of(cursor) : NO_STR;
        assert_int_equal(uar_attachment_list_sync(&reply, host_runtime(h), "local", "me", after, 3, NULL), UAR_OK);
        for (size_t i = 0; i < reply->count; i++, seen++) {
            uar_uuid id = reply->attachments[i].id;
            assert_true(is_among(ids, 7, id));
            assert_true(seen == 0 || memcmp(last.bytes, id.bytes, sizeof id.bytes) < 0);
            last = id;
        }
        bool more = reply->cursor.ptr != NULL;
        snprintf(cursor, sizeof cursor, "%.*s", (int)reply->cursor.len, more ? reply->cursor.ptr : "");
        uar_reply_free(reply);
        if (!more) break;
    }
    assert_int_equal(seen, 7);
    close_spied(h);
}

/* ---- ranges ---- */

static void a_range_is_what_it_says(void **state) {
    (void)state;
    const size_t size = 20 * PART + 17;
    static const uint64_t offsets[] = {
        0, 1, PART - 1, PART, PART + 1, 8 * PART, 19 * PART + 5, 20 * PART, 20 * PART + 16
    };
    static const size_t lengths[] = { 0, 1, 2, PART, PART + 1, 9 * PART, 21 * PART };
    host *h = open_spied(HELLO);
    char *bytes = bytes_of(size);
    uar_uuid id = put(h, "me", bytes, size);
    for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            expect_range(h, id, bytes, size, offsets[o], lengths[l]);
    uar_reply *reply = NULL;
    assert_int_equal(read_range(h, id, size, 5, &reply), UAR_OK);
    assert_int_equal(reply->content.len, 0);
    assert_true(reply->attachments[0].size == size);
    uar_reply_free(reply);
    assert_int_equal(read_range(h, id, size + 1, 0, &reply), UAR_E_INVALID);
    assert_int_equal(read_range(h, id, UINT64_MAX, UAR_ATTACHMENT_READ_MAX, &reply), UAR_E_INVALID);
    free(bytes);
    close_spied(h);
}

static void only_the_parts_that_hold_a_range_are_read(void **state) {
    (void)state;
    const size_t size = 20 * PART;
    host *h = open_spied(HELLO);
    char *bytes = bytes_of(size);
    uar_uuid id = put(h, "me", bytes, size);
    static const struct {
        uint64_t offset;
        size_t length, parts;
    } cases[] = { { 0, 1, 1 },           { PART - 1, 2, 2 }, { 7 * PART + 3, 10, 1 }, { 19 * PART, PART, 1 },
                  { PART, 9 * PART, 9 }, { 5, 0, 0 },        { size, 100, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spy.listed = 0;
        expect_range(h, id, bytes, size, cases[i].offset, cases[i].length);
        assert_int_equal(spy.listed, cases[i].parts);
    }
    free(bytes);
    close_spied(h);
}

/* ---- damage ---- */

static uar_record part_at(size_t n) {
    static uar_record parts[1000];
    size_t count = spy_list(&spy, parts, 1000, UAR_RECORD_ATTACHMENT_PART, "local");
    assert_true(n < count);
    return parts[n];
}

static void a_missing_or_changed_part_is_damage_and_never_other_bytes(void **state) {
    (void)state;
    const size_t size = 3 * PART;
    host *h = open_spied(HELLO);
    char *bytes = bytes_of(size);
    uar_uuid id = put(h, "me", bytes, size);
    uar_reply *reply = NULL;
    uar_record part = part_at(1);
    char *changed = malloc(PART);
    assert_non_null(changed);
    memcpy(changed, part.blob.ptr, PART);
    changed[9] = (char)(changed[9] ^ 1);
    part.blob = uar_str_n(changed, PART);
    spy_put(&spy, part); /* a checksum that fits: only the sum of the whole can tell */
    assert_int_equal(read_range(h, id, 0, size, &reply), UAR_E_CORRUPT);
    part.revision++;
    part.blob = uar_str_n(changed, PART - 1);
    spy_put(&spy, part);
    assert_int_equal(read_range(h, id, PART, 5, &reply), UAR_E_CORRUPT);
    part.revision++;
    spy_delete(&spy, &part);
    assert_int_equal(read_range(h, id, PART, 5, &reply), UAR_E_CORRUPT);
    expect_range(h, id, bytes, size, 0, PART);
    expect_range(h, id, bytes, size, 2 * PART, PART);
    assert_int_equal(uar_attachment_delete_sync(&reply, host_runtime(h), "local", "me", id, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT_PART, "local"), 0);
    free(changed);
    free(bytes);
    close_spied(h);
}

/* ---- the writer ---- */

static uar_attachment_writer *writer(host *h) {
    uar_attachment_writer *w = NULL;
    uar_error err = UAR_ERROR_INIT;
    if (uar_attachment_writer_new(&w, host_runtime(h), "local", "me", NULL, &err) != UAR_OK)
        fail_msg("%s", err.message);
    return w;
}

static uar_status feed(uar_attachment_writer *w, const char *bytes, size_t size) {
    uar_reply *reply = NULL;
    uar_status status = uar_attachment_write_sync(&reply, w, uar_str_n(bytes, size), NULL);
    if (status == UAR_OK) uar_reply_free(reply);
    return status;
}

static void a_content_may_come_in_pieces_of_any_size(void **state) {
    (void)state;
    static const size_t steps[] = { 1000, PART - 1, PART, PART + 1, 9 * PART + 3, 30 * PART };
    const size_t size = 12 * PART + 5;
    host *h = open_spied(HELLO);
    char *bytes = bytes_of(size);
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        uar_attachment_writer *w = writer(h);
        for (size_t at = 0; at < size; at += steps[s])
            assert_int_equal(feed(w, bytes + at, size - at < steps[s] ? size - at : steps[s]), UAR_OK);
        uar_reply *reply = NULL;
        assert_int_equal(uar_attachment_finish_sync(&reply, w, NULL), UAR_OK);
        uar_uuid id = reply->attachments[0].id;
        uar_reply_free(reply);
        assert_int_equal(uar_attachment_finish_sync(&reply, w, NULL), UAR_E_CLOSED);
        assert_int_equal(feed(w, "x", 1), UAR_E_CLOSED);
        uar_attachment_writer_free(w);
        expect_range(h, id, bytes, size, 0, size);
        assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT, "~"), 0);
    }
    free(bytes);
    close_spied(h);
}

static void an_empty_upload_is_an_empty_attachment(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_attachment_writer *w = writer(h);
    uar_reply *reply = NULL;
    assert_int_equal(feed(w, NULL, 0), UAR_OK);
    assert_int_equal(uar_attachment_finish_sync(&reply, w, NULL), UAR_OK);
    assert_true(reply->attachments[0].size == 0);
    uar_reply_free(reply);
    uar_attachment_writer_free(w);
    close_spied(h);
}

static void an_upload_is_invisible_until_it_is_finished(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    char *bytes = bytes_of(3 * PART);
    uar_attachment_writer *w = writer(h);
    uar_reply *reply = NULL;
    assert_int_equal(feed(w, bytes, 3 * PART), UAR_OK);
    assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT_PART, "local"), 3);
    assert_int_equal(uar_attachment_list_sync(&reply, host_runtime(h), "local", "me", NO_STR, 10, NULL), UAR_OK);
    assert_int_equal(reply->count, 0);
    uar_reply_free(reply);
    assert_int_equal(uar_attachment_finish_sync(&reply, w, NULL), UAR_OK);
    uar_reply_free(reply);
    uar_attachment_writer_free(w);
    free(bytes);
    close_spied(h);
}

static void count_reply(void *ctx, uar_reply *reply) {
    uar_status *status = ctx;
    *status = reply->status;
    uar_reply_free(reply);
}

static void a_second_call_of_a_writer_is_busy_and_a_freed_one_still_ends(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_attachment_writer *w = writer(h);
    uar_status status = UAR_E_INTERNAL;
    uar_reply *reply = NULL;
    assert_int_equal(uar_attachment_write(w, STR("abc"), count_reply, &status, NULL), UAR_OK);
    assert_int_equal(uar_attachment_finish_sync(&reply, w, NULL), UAR_E_BUSY);
    assert_int_equal(feed(w, "x", 1), UAR_E_BUSY);
    uar_attachment_writer_free(w);
    while (status == UAR_E_INTERNAL)
        (void)uar_runtime_pump(host_runtime(h), 1);
    assert_int_equal(status, UAR_OK);
    close_spied(h);
}

static void a_refused_call_leaves_the_writer_as_it_was(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_attachment_writer *w = writer(h);
    uar_reply *reply = NULL;
    assert_int_equal(uar_attachment_write(w, STR("never"), NULL, NULL, NULL), UAR_E_INVALID);
    assert_int_equal(uar_attachment_write_sync(NULL, w, STR("never"), NULL), UAR_E_INVALID);
    assert_int_equal(feed(w, "abc", 3), UAR_OK);
    assert_int_equal(uar_attachment_finish_sync(&reply, w, NULL), UAR_OK);
    assert_true(reply->attachments[0].size == 3);
    uar_reply_free(reply);
    uar_attachment_writer_free(w);
    close_spied(h);
}

static void a_writer_may_outlive_its_runtime(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    uar_attachment_writer *w = writer(h);
    assert_int_equal(feed(w, "abc", 3), UAR_OK);
    close_spied(h);
    uar_attachment_writer_free(w);
}

/* ---- cut short ---- */

/* Whatever commit fails, before or after it was done: the attachment is whole or not there, and a sweep leaves nothing. */
static void an_upload_that_is_cut_anywhere_is_whole_or_swept(void **state) {
    (void)state;
    const size_t size = 20 * PART + 1;
    char *bytes = bytes_of(size);
    for (size_t at = 1; at <= 4; at++)
        for (int after = 0; after < 2; after++) {
            host *h = open_spied(HELLO);
            uar_reply *reply = NULL;
            spy.fail_at = at;
            spy.fail_after = after == 1;
            spy.fail_status = UAR_E_IO;
            uar_status status =
                uar_attachment_put_sync(&reply, host_runtime(h), "local", "me", NULL, uar_str_n(bytes, size), NULL);
            if (status == UAR_OK) uar_reply_free(reply);
            assert_int_equal(status, at <= 3 ? UAR_E_IO : UAR_OK);
            bool whole = at > 3 || (at == 3 && after == 1);
            assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT, "local"), whole ? 1 : 0);
            assert_int_equal(uar_attachment_sweep_sync(&reply, host_runtime(h), 3600000, NULL), UAR_OK);
            assert_int_equal(reply->number, 0); /* it may still be written */
            uar_reply_free(reply);
            assert_int_equal(uar_attachment_sweep_sync(&reply, host_runtime(h), 0, NULL), UAR_OK);
            uar_reply_free(reply);
            assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT_PART, "local"), whole ? 21 : 0);
            assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT, "~"), 0);
            close_spied(h);
        }
    free(bytes);
}

static void a_swept_upload_can_not_go_on(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    char *bytes = bytes_of(2 * PART);
    uar_attachment_writer *w = writer(h);
    uar_reply *reply = NULL;
    assert_int_equal(feed(w, bytes, 2 * PART), UAR_OK);
    assert_int_equal(uar_attachment_sweep_sync(&reply, host_runtime(h), 0, NULL), UAR_OK);
    assert_int_equal(reply->number, 1);
    uar_reply_free(reply);
    assert_int_equal(feed(w, bytes, PART), UAR_E_CONFLICT);
    assert_int_equal(uar_attachment_finish_sync(&reply, w, NULL), UAR_E_CLOSED);
    uar_attachment_writer_free(w);
    assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT, "local"), 0);
    assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT_PART, "local"), 0);
    free(bytes);
    close_spied(h);
}

/* A deletion that is cut anywhere: gone for readers or untouched; a sweep removes what is left. */
static void a_deletion_that_is_cut_anywhere_is_gone_on_with(void **state) {
    (void)state;
    const size_t size = 150 * PART;
    char *bytes = bytes_of(size);
    for (size_t at = 1; at <= 5; at++)
        for (int after = 0; after < 2; after++) {
            host *h = open_spied(HELLO);
            uar_reply *reply = NULL;
            uar_uuid id = put(h, "me", bytes, size);
            spy.fail_at = spy.commits + at;
            spy.fail_after = after == 1;
            spy.fail_status = UAR_E_FULL;
            uar_status status = uar_attachment_delete_sync(&reply, host_runtime(h), "local", "me", id, NULL);
            if (status == UAR_OK) uar_reply_free(reply);
            assert_int_equal(status, at <= 4 ? UAR_E_FULL : UAR_OK);
            bool there = at == 1 && after == 0;
            uar_status seen = uar_attachment_load_sync(&reply, host_runtime(h), "local", "me", id, NULL);
            if (seen == UAR_OK) uar_reply_free(reply);
            assert_int_equal(seen, there ? UAR_OK : UAR_E_NOT_FOUND);
            assert_int_equal(uar_attachment_sweep_sync(&reply, host_runtime(h), UINT64_MAX, NULL), UAR_OK);
            uar_reply_free(reply);
            assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT_PART, "local"), there ? 150 : 0);
            assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT, "~"), 0);
            if (there) expect_range(h, id, bytes, size, 0, PART);
            close_spied(h);
        }
    free(bytes);
}

static void a_deleted_attachment_leaves_nothing_and_others_stay(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    char *bytes = bytes_of(5 * PART);
    uar_reply *reply = NULL;
    uar_uuid one = put(h, "me", bytes, 5 * PART), other = put(h, "me", bytes, 5 * PART);
    assert_int_equal(uar_attachment_delete_sync(&reply, host_runtime(h), "local", "me", one, NULL), UAR_OK);
    uar_reply_free(reply);
    assert_int_equal(uar_attachment_delete_sync(&reply, host_runtime(h), "local", "me", one, NULL), UAR_E_NOT_FOUND);
    assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT_PART, "local"), 5);
    expect_range(h, other, bytes, 5 * PART, 0, 5 * PART);
    free(bytes);
    close_spied(h);
}

static void sweeping_many_marks_goes_through_all_pages(void **state) {
    (void)state;
    host *h = open_spied(HELLO);
    char *bytes = bytes_of(PART);
    for (int i = 0; i < 130; i++) {
        uar_attachment_writer *w = writer(h);
        assert_int_equal(feed(w, bytes, PART), UAR_OK);
        uar_attachment_writer_free(w);
    }
    uar_reply *reply = NULL;
    assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT, "~"), 130);
    assert_int_equal(uar_attachment_sweep_sync(&reply, host_runtime(h), 0, NULL), UAR_OK);
    assert_int_equal(reply->number, 130);
    uar_reply_free(reply);
    assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT, "~"), 0);
    assert_int_equal(spy_count(&spy, UAR_RECORD_ATTACHMENT_PART, "local"), 0);
    free(bytes);
    close_spied(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(a_content_of_any_size_comes_back),
        fixture_test(the_sum_is_sha256_of_the_whole),
        fixture_test(without_options_it_is_an_octet_stream_without_a_name),
        fixture_test(wrong_arguments_are_refused),
        fixture_test(attachments_belong_to_one_owner_and_one_user),
        fixture_test(pages_of_a_users_attachments_follow_each_other),
        fixture_test(a_range_is_what_it_says),
        fixture_test(only_the_parts_that_hold_a_range_are_read),
        fixture_test(a_missing_or_changed_part_is_damage_and_never_other_bytes),
        fixture_test(a_content_may_come_in_pieces_of_any_size),
        fixture_test(an_empty_upload_is_an_empty_attachment),
        fixture_test(an_upload_is_invisible_until_it_is_finished),
        fixture_test(a_second_call_of_a_writer_is_busy_and_a_freed_one_still_ends),
        fixture_test(a_refused_call_leaves_the_writer_as_it_was),
        fixture_test(a_writer_may_outlive_its_runtime),
        fixture_test(an_upload_that_is_cut_anywhere_is_whole_or_swept),
        fixture_test(a_swept_upload_can_not_go_on),
        fixture_test(a_deletion_that_is_cut_anywhere_is_gone_on_with),
        fixture_test(a_deleted_attachment_leaves_nothing_and_others_stay),
        fixture_test(sweeping_many_marks_goes_through_all_pages),
    };
    return cmocka_run_group_tests_name("attachments", tests, NULL, NULL);
}
