/* Adding, reinforcing, superseding, changing, history. */
#include "test_memory_fixture.h"

static uar_memory_records *history_of(memory_fixture *f, const char *user, uar_uuid id) {
    uar_identity who = user_of(user);
    uar_memory_records *records = NULL;
    assert_int_equal(uar_memory_history_sync(&records, f->memory, &who, id, NULL), UAR_OK);
    return records;
}

static uar_status try_add(memory_fixture *f, const uar_memory_draft *d) {
    uar_identity who = user_of("ann");
    uar_memory_change change;
    memset(&change, 0x5A, sizeof change);
    uar_memory_change before = change;
    uar_status status = uar_memory_add_sync(&change, f->memory, &who, d, NULL);
    if (status != UAR_OK) assert_memory_equal(&change, &before, sizeof change);
    return status;
}

static void test_M3_the_same_fact_a_hundred_times_is_one_record(void **state) {
    memory_fixture *f = *state;
    uar_memory_change first = add_text(f, "ann", "I like green tea");
    assert_int_equal(first.outcome, UAR_MEMORY_OUTCOME_ADDED);
    for (int i = 1; i < 100; i++) {
        const char *text = i % 2 == 0 ? "I  like\tGREEN tea " : "\xEF\xBC\xA9 like green tea"; /* a full-width I */
        uar_memory_change again = add_text(f, "ann", text);
        assert_int_equal(again.outcome, UAR_MEMORY_OUTCOME_REINFORCED);
        assert_true(uar_uuid_equal(again.id, first.id));
    }
    assert_int_equal(count_of(f, "ann"), 1);
    uar_memory_records *r = get_record(f, "ann", first.id);
    assert_int_equal(r->records[0].reinforced, 99);
    assert_true(str_is(r->records[0].content, "I like green tea"));
    uar_memory_records_free(r);
    assert_sound(f);
}

static void test_M3_recall_gives_the_current_fact_and_history_both(void **state) {
    memory_fixture *f = *state;
    uar_memory_change rome = add_fact(f, "ann", "home", "I live in Rome");
    atomic_fetch_add(&f->now, 1000);
    uar_memory_change oslo = add_fact(f, "ann", "Home", "I live in Oslo");
    assert_int_equal(oslo.outcome, UAR_MEMORY_OUTCOME_SUPERSEDED);
    assert_true(uar_uuid_equal(oslo.supersedes, rome.id));
    uar_memory_hits *hits = search_text(f, "ann", "where do I live", NULL);
    assert_int_equal(hits->count, 1);
    assert_true(str_is(hits->hits[0].record.content, "I live in Oslo"));
    uar_memory_hits_free(hits);
    assert_int_equal(count_of(f, "ann"), 1);
    uar_memory_records *h = history_of(f, "ann", oslo.id);
    assert_int_equal(h->count, 2);
    assert_true(str_is(h->records[0].content, "I live in Rome"));
    assert_int_equal(h->records[0].valid_until_ms, FIXTURE_START + 1000);
    assert_true(uar_uuid_equal(h->records[0].superseded_by, oslo.id));
    assert_true(str_is(h->records[1].content, "I live in Oslo"));
    assert_int_equal(h->records[1].valid_until_ms, UAR_MEMORY_OPEN_END);
    uar_memory_records_free(h);
    assert_sound(f);
}

static void a_fact_that_comes_back_is_a_new_record_on_the_line(void **state) {
    memory_fixture *f = *state;
    add_fact(f, "ann", "home", "Rome");
    atomic_fetch_add(&f->now, 1);
    add_fact(f, "ann", "home", "Oslo");
    atomic_fetch_add(&f->now, 1);
    uar_memory_change back = add_fact(f, "ann", "home", "Rome");
    assert_int_equal(back.outcome, UAR_MEMORY_OUTCOME_SUPERSEDED);
    assert_true(finds(f, "ann", "Rome", "Rome"));
    assert_true(finds(f, "ann", "Oslo", NULL));
    uar_memory_records *h = history_of(f, "ann", back.id);
    assert_int_equal(h->count, 3);
    uar_memory_records_free(h);
}

static void a_fact_said_earlier_but_written_later_is_history_at_once(void **state) {
    memory_fixture *f = *state;
    add_fact(f, "ann", "home", "Oslo");
    uar_memory_draft d = draft_of("Rome");
    d.subject = STR("user");
    d.attribute = STR("home");
    d.created_ms = FIXTURE_START - 86400000;
    uar_memory_change old = add_draft(f, "ann", &d);
    assert_int_equal(old.outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_true(finds(f, "ann", "Oslo", "Oslo"));
    assert_true(finds(f, "ann", "Rome", NULL));
    uar_memory_records *r = get_record(f, "ann", old.id);
    assert_int_equal(r->records[0].valid_until_ms, FIXTURE_START);
    uar_memory_records_free(r);
}

static void slots_of_other_segments_and_attributes_do_not_meet(void **state) {
    memory_fixture *f = *state;
    add_fact(f, "ann", "home", "Rome");
    assert_int_equal(add_fact(f, "bob", "home", "Oslo").outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(add_fact(f, "ann", "job", "baker").outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(count_of(f, "ann"), 2);
    assert_int_equal(count_of(f, "bob"), 1);
}

static void the_same_text_in_two_slots_is_two_facts(void **state) {
    memory_fixture *f = *state;
    add_fact(f, "ann", "favourite colour", "blue");
    assert_int_equal(add_fact(f, "ann", "car colour", "blue").outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(count_of(f, "ann"), 2);
}

static void texts_of_other_scope_or_type_are_no_repeats(void **state) {
    memory_fixture *f = *state;
    add_text(f, "ann", "the build is green");
    uar_memory_draft d = draft_of("the build is green");
    d.scope = UAR_MEMORY_SCOPE_SESSION;
    assert_int_equal(add_draft(f, "ann", &d).outcome, UAR_MEMORY_OUTCOME_ADDED);
    d.scope = UAR_MEMORY_SCOPE_USER;
    d.type = UAR_MEMORY_TYPE_EPISODIC;
    assert_int_equal(add_draft(f, "ann", &d).outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(count_of(f, "ann"), 3);
}

static void a_repeat_loses_nothing_of_either(void **state) {
    memory_fixture *f = *state;
    uar_str red[] = { STR("red") }, both[] = { STR("blue"), STR("red") };
    uar_memory_draft d = draft_of("tea at four");
    d.categories = red;
    d.category_count = 1;
    d.metadata = STR("{\"n\":12345678901234567890,\"place\":\"garden\"}");
    d.importance = 0.9;
    uar_memory_change first = add_draft(f, "ann", &d);
    d.categories = both;
    d.category_count = 2;
    d.metadata = STR("{\"place\":\"kitchen\",\"with\":[1,2]}");
    d.importance = 0.1;
    uar_memory_change again = add_draft(f, "ann", &d);
    assert_int_equal(again.revision, 2);
    uar_memory_records *r = get_record(f, "ann", first.id);
    assert_int_equal(r->records[0].category_count, 2);
    assert_true(str_is(r->records[0].metadata, "{\"n\":12345678901234567890,\"place\":\"kitchen\",\"with\":[1,2]}"));
    assert_true(r->records[0].importance > 0.89);
    uar_memory_records_free(r);
    uar_memory_records *h = history_of(f, "ann", first.id);
    assert_int_equal(h->count, 2);
    assert_true(str_is(h->records[0].metadata, "{\"n\":12345678901234567890,\"place\":\"garden\"}"));
    uar_memory_records_free(h);
    assert_sound(f);
}

static void a_unique_key_is_written_once(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d = draft_of("captured once");
    d.unique_key = STR("run/turn/1");
    uar_memory_change first = add_draft(f, "ann", &d);
    uar_memory_change again = add_draft(f, "ann", &d);
    assert_false(first.repeated);
    assert_true(again.repeated);
    assert_true(uar_uuid_equal(first.id, again.id));
    assert_int_equal(again.outcome, UAR_MEMORY_OUTCOME_ADDED);
    uar_memory_records *r = get_record(f, "ann", first.id);
    assert_int_equal(r->records[0].reinforced, 0);
    uar_memory_records_free(r);
}

static void what_was_deleted_is_not_captured_again_by_a_late_drain(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d = draft_of("captured, then forgotten");
    d.unique_key = STR("run/turn/2");
    uar_memory_change first = add_draft(f, "ann", &d);
    uar_identity who = user_of("ann");
    uar_memory_change change;
    assert_int_equal(uar_memory_delete_sync(&change, f->memory, &who, first.id, NULL), UAR_OK);
    assert_true(add_draft(f, "ann", &d).repeated);
    assert_int_equal(count_of(f, "ann"), 0);
}

static void an_update_keeps_the_old_version_in_history(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_text(f, "ann", "the meeting is on Monday");
    atomic_fetch_add(&f->now, 5000);
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("the meeting is on Friday");
    p.expected = 1;
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, made.id, &p, NULL), UAR_OK);
    assert_int_equal(change.revision, 2);
    assert_int_equal(change.outcome, UAR_MEMORY_OUTCOME_UPDATED);
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, made.id, &p, NULL), UAR_E_CONFLICT);
    assert_true(finds(f, "ann", "Friday", "the meeting is on Friday"));
    assert_true(finds(f, "ann", "Monday", NULL));
    uar_memory_records *h = history_of(f, "ann", made.id);
    assert_int_equal(h->count, 2);
    assert_true(str_is(h->records[0].content, "the meeting is on Monday"));
    assert_false(h->records[0].current);
    assert_int_equal(h->records[0].valid_until_ms, FIXTURE_START + 5000);
    uar_memory_records_free(h);
    assert_sound(f);
}

static void an_update_without_a_change_is_none(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_text(f, "ann", "as it is");
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("as it is");
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, made.id, &p, NULL), UAR_OK);
    assert_int_equal(change.revision, 1);
}

static void an_update_by_a_lesser_source_lowers_the_trust(void **state) {
    memory_fixture *f = *state;
    uar_memory_change made = add_text(f, "ann", "said by the user");
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("rewritten by a tool");
    p.trust = UAR_MEMORY_TRUST_TOOL;
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, made.id, &p, NULL), UAR_OK);
    uar_memory_records *r = get_record(f, "ann", made.id);
    assert_int_equal(r->records[0].trust, UAR_MEMORY_TRUST_TOOL);
    uar_memory_records_free(r);
}

static void a_superseded_record_cannot_be_changed(void **state) {
    memory_fixture *f = *state;
    uar_memory_change old = add_fact(f, "ann", "home", "Rome");
    add_fact(f, "ann", "home", "Oslo");
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("Paris");
    uar_memory_change change;
    assert_int_equal(uar_memory_update_sync(&change, f->memory, &who, old.id, &p, NULL), UAR_E_CONFLICT);
}

static void shared_scopes_need_the_flag(void **state) {
    memory_fixture *f = *state;
    uar_identity who = user_of("ann");
    who.flags = 0;
    uar_memory_draft d = draft_of("for everybody");
    uar_memory_change change;
    d.scope = UAR_MEMORY_SCOPE_GLOBAL;
    assert_int_equal(uar_memory_add_sync(&change, f->memory, &who, &d, NULL), UAR_E_FORBIDDEN);
    d.scope = UAR_MEMORY_SCOPE_AGENT;
    assert_int_equal(uar_memory_add_sync(&change, f->memory, &who, &d, NULL), UAR_E_FORBIDDEN);
    d.scope = UAR_MEMORY_SCOPE_USER;
    assert_int_equal(uar_memory_add_sync(&change, f->memory, &who, &d, NULL), UAR_OK);
}

static void bad_drafts_are_refused_by_name(void **state) {
    memory_fixture *f = *state;
    uar_memory_draft d = draft_of("");
    assert_int_equal(try_add(f, &d), UAR_E_INVALID);
    d = draft_of(" \t\xE2\x80\x8B\xC2\xA0 ");
    assert_int_equal(try_add(f, &d), UAR_E_INVALID);
    d = draft_of("broken \xC3");
    assert_int_equal(try_add(f, &d), UAR_E_UTF8);
    d.content = uar_str_n("nul\0inside", 10);
    assert_int_equal(try_add(f, &d), UAR_E_INVALID);
    d = draft_of("fine");
    d.metadata = STR("[1]");
    assert_int_equal(try_add(f, &d), UAR_E_INVALID);
    d.metadata = STR("{\"a\":1,\"a\":2}");
    assert_int_equal(try_add(f, &d), UAR_E_JSON);
    /* One level more than an export can wrap: what comes in must be able to go out and in again. */
    char deep[200] = "{\"k\":";
    memset(deep + 5, '[', 60);
    memset(deep + 65, ']', 60);
    memcpy(deep + 125, "}", 2);
    d.metadata = uar_str_of(deep);
    assert_int_equal(try_add(f, &d), UAR_E_INVALID);
    d = draft_of("fine");
    d.importance = 1.5;
    assert_int_equal(try_add(f, &d), UAR_E_INVALID);
    d = draft_of("fine");
    d.subject = STR("alone");
    assert_int_equal(try_add(f, &d), UAR_E_INVALID);
    d = draft_of("fine");
    d.scope = (uar_memory_scope)9;
    assert_int_equal(try_add(f, &d), UAR_E_INVALID);
    d = draft_of("fine");
    d.user = STR("bob");
    assert_int_equal(try_add(f, &d), UAR_E_FORBIDDEN);
    assert_int_equal(count_of(f, "ann"), 0);
}

static void content_of_64_KiB_is_kept_and_one_byte_more_refused(void **state) {
    memory_fixture *f = *state;
    size_t most = 64 * 1024;
    char *text = malloc(most + 1);
    assert_non_null(text);
    for (size_t i = 0; i <= most; i++)
        text[i] = i % 7 == 6 ? ' ' : (char)('a' + i % 23);
    uar_memory_draft d = draft_of("x");
    d.content = uar_str_n(text, most);
    uar_memory_change made = add_draft(f, "ann", &d);
    uar_memory_records *r = get_record(f, "ann", made.id);
    assert_true(uar_str_equal(r->records[0].content, d.content));
    uar_memory_records_free(r);
    d.content.len = most + 1;
    assert_int_equal(try_add(f, &d), UAR_E_TOO_LARGE);
    free(text);
    assert_sound(f);
}

static void a_longer_struct_of_a_newer_header_is_refused_if_it_says_more(void **state) {
    memory_fixture *f = *state;
    struct {
        uar_memory_draft known;
        uint64_t more;
    } newer;
    memset(&newer, 0, sizeof newer);
    newer.known = draft_of("from the future");
    newer.known.size = sizeof newer;
    assert_int_equal(try_add(f, &newer.known), UAR_OK);
    newer.more = 1;
    assert_int_equal(try_add(f, &newer.known), UAR_E_STRUCT);
}

static void all_fields_come_back_also_from_another_process_life(void **state) {
    memory_fixture *f = *state;
    uar_str labels[] = { STR("work"), STR("d\xC3\xA9"
                                          "j\xC3\xA0") };
    uar_memory_draft d = draft_of("everything");
    d.type = UAR_MEMORY_TYPE_PROCEDURAL;
    d.scope = UAR_MEMORY_SCOPE_TASK;
    d.categories = labels;
    d.category_count = 2;
    d.metadata = STR("{\"k\": {\"deep\": [1.50, true, null]}}");
    d.importance = 0.125;
    d.trust = UAR_MEMORY_TRUST_HOST;
    d.provenance.event = 42;
    d.provenance.session = STR("origin");
    d.provenance.run.bytes[0] = 7;
    d.subject = STR("S");
    d.attribute = STR("A");
    d.created_ms = 1000;
    d.valid_until_ms = FIXTURE_START * 2;
    uar_memory_change made = add_draft(f, "ann", &d);
    fixture_reopen(f);
    uar_memory_records *r = get_record(f, "ann", made.id);
    const uar_memory_record *got = &r->records[0];
    assert_int_equal(got->type, d.type);
    assert_int_equal(got->scope, d.scope);
    assert_true(str_is(got->owner, "local") && str_is(got->user, "ann") && str_is(got->task, "t1"));
    assert_null(got->agent.ptr);
    assert_null(got->session.ptr);
    assert_int_equal(got->category_count, 2);
    assert_true(uar_str_equal(got->categories[1], labels[1]));
    assert_true(str_is(got->metadata, "{\"k\":{\"deep\":[1.50,true,null]}}"));
    assert_true(got->importance > 0.1249 && got->importance < 0.1251);
    assert_int_equal(got->trust, d.trust);
    assert_int_equal(got->provenance.event, 42);
    assert_true(str_is(got->provenance.session, "origin"));
    assert_int_equal(got->provenance.run.bytes[0], 7);
    assert_true(str_is(got->subject, "S") && str_is(got->attribute, "A"));
    assert_int_equal(got->created_ms, 1000);
    assert_int_equal(got->valid_from_ms, 1000);
    assert_int_equal(got->valid_until_ms, d.valid_until_ms);
    assert_true(str_is(got->embedder, "lexical"));
    uar_memory_records_free(r);
}

/* The add is refused, and its message says so. */
static void assert_refused(memory_fixture *f, const uar_identity *who, const uar_memory_draft *d, const char *says) {
    uar_memory_change change;
    uar_error err = UAR_ERROR_INIT;
    assert_int_not_equal(uar_memory_add_sync(&change, f->memory, who, d, &err), UAR_OK);
    assert_non_null(strstr(err.message, says));
}

static void a_refusal_names_the_id_that_is_missing_and_the_field_that_is_no_JSON(void **state) {
    memory_fixture *f = *state;
    uar_identity who = { UAR_IDENTITY_INIT, .user = STR("ann") };
    uar_memory_draft d = draft_of("The task is done.");
    d.scope = UAR_MEMORY_SCOPE_TASK;
    assert_refused(f, &who, &d, "task scope needs an identity with a user and a task");
    d.scope = UAR_MEMORY_SCOPE_SESSION;
    assert_refused(f, &who, &d, "session scope needs an identity with a user and a session");
    d.scope = UAR_MEMORY_SCOPE_USER;
    d.metadata = STR("{bad");
    assert_refused(f, &who, &d, "the metadata: ");
    who.user = uar_str_n(NULL, 0);
    assert_refused(f, &who, &d, "user scope needs an identity with a user");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M3_the_same_fact_a_hundred_times_is_one_record),
        MEMORY_TEST(test_M3_recall_gives_the_current_fact_and_history_both),
        MEMORY_TEST(a_fact_that_comes_back_is_a_new_record_on_the_line),
        MEMORY_TEST(a_fact_said_earlier_but_written_later_is_history_at_once),
        MEMORY_TEST(slots_of_other_segments_and_attributes_do_not_meet),
        MEMORY_TEST(the_same_text_in_two_slots_is_two_facts),
        MEMORY_TEST(texts_of_other_scope_or_type_are_no_repeats),
        MEMORY_TEST(a_repeat_loses_nothing_of_either),
        MEMORY_TEST(a_unique_key_is_written_once),
        MEMORY_TEST(what_was_deleted_is_not_captured_again_by_a_late_drain),
        MEMORY_TEST(an_update_keeps_the_old_version_in_history),
        MEMORY_TEST(an_update_without_a_change_is_none),
        MEMORY_TEST(an_update_by_a_lesser_source_lowers_the_trust),
        MEMORY_TEST(a_superseded_record_cannot_be_changed),
        MEMORY_TEST(shared_scopes_need_the_flag),
        MEMORY_TEST(bad_drafts_are_refused_by_name),
        MEMORY_TEST(content_of_64_KiB_is_kept_and_one_byte_more_refused),
        MEMORY_TEST(a_longer_struct_of_a_newer_header_is_refused_if_it_says_more),
        MEMORY_TEST(all_fields_come_back_also_from_another_process_life),
        MEMORY_TEST(a_refusal_names_the_id_that_is_missing_and_the_field_that_is_no_JSON),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
