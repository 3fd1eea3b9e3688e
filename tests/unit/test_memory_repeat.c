/*
 * Near repeats in the store: what they keep, and that the guard alone decides where an embedder finds everything alike.
 */
#include "test_memory_fixture.h"

#include "base/alloc.h"
#include "base/json.h"
#include "memory/near.h"
#include "support/probe_alloc.h"

#define DIMS 8

/* Every text has the same vector, but for those that begin with "other": they stand at a right angle. */
typedef struct alike {
    uar_embedder door;
    bool fails;
    int calls, texts;
    void (*hook)(void *ctx); /* called inside the next call, once; or NULL */
    void *hook_ctx;
} alike;

static void alike_embed(void *ctx, uar_embed_purpose purpose, const uar_str *texts, size_t count,
                        uar_completion *done) {
    alike *e = ctx;
    (void)purpose;
    e->calls++;
    e->texts += (int)count;
    void (*hook)(void *) = e->hook;
    e->hook = NULL;
    if (hook != NULL) hook(e->hook_ctx);
    if (e->fails) {
        uar_completion_fail(done, UAR_E_NETWORK, "no answer");
        return;
    }
    float *values = calloc(count, DIMS * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i * DIMS + (texts[i].len > 5 && memcmp(texts[i].ptr, "other", 5) == 0)] = 1;
    uar_completion_vectors(done, values, count, DIMS);
    free(values);
}

typedef struct repeat_fixture {
    memory_fixture *f;
    alike e;
} repeat_fixture;

/* The fixture's store again, with this embedder. */
static void use_embedder(repeat_fixture *x, void **state, double threshold) {
    x->f = *state;
    x->e = (alike){ .fails = false };
    x->e.door = (uar_embedder){ .struct_size = UAR_EMBEDDER_INIT,
                                .ctx = &x->e,
                                .id = "alike",
                                .dims = DIMS,
                                .repeat_threshold = threshold,
                                .embed = alike_embed };
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &x->f->clock;
    options.embedder = &x->e.door;
    uar_memory_free(x->f->memory);
    x->f->memory = uar_memory_open(x->f->path, &options);
    assert_int_equal(uar_memory_state(x->f->memory, NULL), UAR_MEMORY_READY);
}

static void test_M3_a_near_repeat_keeps_the_fuller_text_and_all_it_carries(void **state) {
    repeat_fixture x;
    use_embedder(&x, state, 0.9);
    uar_str label = STR("taste");
    uar_memory_draft d = draft_of("I like tea");
    d.metadata = STR("{\"a\":1}");
    uar_memory_change first = add_draft(x.f, "ann", &d);
    atomic_fetch_add(&x.f->now, 1000);
    d = draft_of("I really like tea because it is warm");
    d.metadata = STR("{\"b\":2}");
    d.categories = &label;
    d.category_count = 1;
    d.importance = 0.9;
    uar_memory_change second = add_draft(x.f, "ann", &d);
    assert_int_equal(second.outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    assert_true(uar_uuid_equal(first.id, second.id));
    assert_int_equal(second.revision, 2);
    uar_memory_records *r = get_record(x.f, "ann", first.id);
    assert_true(str_is(r->records[0].content, "I really like tea because it is warm"));
    assert_true(str_is(r->records[0].metadata, "{\"a\":1,\"b\":2}"));
    assert_int_equal(r->records[0].category_count, 1);
    assert_true(r->records[0].importance > 0.8);
    assert_int_equal(r->records[0].reinforced, 1);
    uar_memory_records_free(r);
    uar_identity who = user_of("ann");
    assert_int_equal(uar_memory_history_sync(&r, x.f->memory, &who, first.id, NULL), UAR_OK);
    assert_int_equal(r->count, 2);
    assert_true(str_is(r->records[0].content, "I like tea"));
    uar_memory_records_free(r);
    assert_true(finds(x.f, "ann", "warm", "I really like tea because it is warm"));
    /* The shorter one again changes nothing but the count. */
    assert_int_equal(add_text(x.f, "ann", "I do like tea").outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(add_text(x.f, "ann", "I like tea!").outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    assert_int_equal(count_of(x.f, "ann"), 2);
    assert_sound(x.f);
}

static void test_M3_two_facts_are_not_merged_however_alike_the_embedder_finds_them(void **state) {
    repeat_fixture x;
    use_embedder(&x, state, 0.9);
    const char *root = getenv("UAR_SOURCE_ROOT");
    char path[1024], line[4096];
    snprintf(path, sizeof path, "%s/tests/data/near_pairs.jsonl", root != NULL ? root : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    unsigned number = 0, merged = 0, repeats = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        cJSON *tree = NULL;
        assert_int_equal(json_read(&tree, &alloc_default, uar_str_n(line, strcspn(line, "\n")), sizeof line, NULL),
                         UAR_OK);
        char user[32];
        snprintf(user, sizeof user, "u%u", number++);
        bool is_repeat = strcmp(json_member(tree, "label")->valuestring, "repeat") == 0;
        (void)add_text(x.f, user, json_member(tree, "a")->valuestring);
        uar_memory_change change = add_text(x.f, user, json_member(tree, "b")->valuestring);
        bool was_merged = change.outcome == UAR_MEMORY_OUTCOME_REINFORCED;
        if (!is_repeat && was_merged) fail_msg("%s", line);
        assert_int_equal(count_of(x.f, user), was_merged ? 1 : 2);
        repeats += is_repeat;
        merged += was_merged;
        json_free(&alloc_default, tree);
    }
    fclose(file);
    assert_true(merged * 10 >= repeats * 8);
    assert_sound(x.f);
}

static void without_a_threshold_or_below_it_nothing_is_a_near_repeat(void **state) {
    repeat_fixture x;
    use_embedder(&x, state, 0);
    (void)add_text(x.f, "ann", "I like tea");
    assert_int_equal(add_text(x.f, "ann", "I really like tea").outcome, UAR_MEMORY_OUTCOME_ADDED);
    use_embedder(&x, state, 0.9);
    (void)add_text(x.f, "bob", "other people like tea");
    assert_int_equal(add_text(x.f, "bob", "Other people really like tea").outcome, UAR_MEMORY_OUTCOME_ADDED);
}

static void a_near_repeat_is_of_one_scope_one_type_and_one_slot(void **state) {
    repeat_fixture x;
    use_embedder(&x, state, 0.9);
    (void)add_text(x.f, "ann", "I like tea");
    uar_memory_draft d = draft_of("I really like tea");
    d.type = UAR_MEMORY_TYPE_EPISODIC;
    assert_int_equal(add_draft(x.f, "ann", &d).outcome, UAR_MEMORY_OUTCOME_ADDED);
    d = draft_of("I really like tea");
    d.scope = UAR_MEMORY_SCOPE_SESSION;
    assert_int_equal(add_draft(x.f, "ann", &d).outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(add_text(x.f, "bob", "I really like tea").outcome, UAR_MEMORY_OUTCOME_ADDED);
    (void)add_fact(x.f, "eve", "drink", "I like tea");
    assert_int_equal(add_fact(x.f, "eve", "food", "I really like tea").outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(add_fact(x.f, "eve", "drink", "I like tea a lot").outcome, UAR_MEMORY_OUTCOME_REINFORCED);
}

/* Else a tool could put its words under a host's name. */
static void test_M8_a_less_trusted_writer_does_not_replace_a_text(void **state) {
    repeat_fixture x;
    use_embedder(&x, state, 0.9);
    uar_memory_draft d = draft_of("I like tea");
    d.trust = UAR_MEMORY_TRUST_HOST;
    uar_memory_change made = add_draft(x.f, "ann", &d);
    d = draft_of("I like tea because it heals the sick");
    d.trust = UAR_MEMORY_TRUST_TOOL;
    assert_int_equal(add_draft(x.f, "ann", &d).outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    uar_memory_records *r = get_record(x.f, "ann", made.id);
    assert_true(str_is(r->records[0].content, "I like tea"));
    assert_int_equal(r->records[0].trust, UAR_MEMORY_TRUST_HOST);
    uar_memory_records_free(r);
    /* Nor does a host's near repeat of a tool's words make them a host's. */
    d = draft_of("I like cake");
    d.trust = UAR_MEMORY_TRUST_TOOL;
    made = add_draft(x.f, "ann", &d);
    d = draft_of("I really like cake");
    d.trust = UAR_MEMORY_TRUST_HOST;
    assert_int_equal(add_draft(x.f, "ann", &d).outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    r = get_record(x.f, "ann", made.id);
    assert_int_equal(r->records[0].trust, UAR_MEMORY_TRUST_TOOL);
    uar_memory_records_free(r);
}

static void an_ended_or_expired_record_is_not_reinforced(void **state) {
    repeat_fixture x;
    use_embedder(&x, state, 0.9);
    uar_memory_draft d = draft_of("I like tea");
    d.expires_ms = FIXTURE_START + 5000;
    (void)add_draft(x.f, "ann", &d);
    d = draft_of("I like cake");
    d.valid_until_ms = FIXTURE_START + 5000;
    (void)add_draft(x.f, "ann", &d);
    atomic_store(&x.f->now, FIXTURE_START + 5000);
    assert_int_equal(add_text(x.f, "ann", "I really like tea").outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(add_text(x.f, "ann", "I really like cake").outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(count_of(x.f, "ann"), 2);
}

static void test_M16_a_failing_embedder_stops_no_write(void **state) {
    repeat_fixture x;
    use_embedder(&x, state, 0.9);
    x.e.fails = true;
    uar_memory_change made = add_text(x.f, "ann", "I like tea");
    assert_int_equal(made.outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_true(x.e.calls > 0);
    uar_identity who = user_of("ann");
    uar_memory_patch p;
    uar_memory_patch_init(&p);
    p.content = STR("I like cake");
    assert_int_equal(uar_memory_update_sync(&made, x.f->memory, &who, made.id, &p, NULL), UAR_OK);
    assert_true(finds(x.f, "ann", "cake", "I like cake"));
    assert_sound(x.f);
}

/* With a failed allocation the record may be written without its vector, and then as one of its own; never half. */
static void a_near_repeat_survives_the_failure_of_each_allocation(void **state) {
    repeat_fixture x;
    use_embedder(&x, state, 0.9);
    probe_alloc probe;
    probe_alloc_init(&probe);
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &x.f->clock;
    options.embedder = &x.e.door;
    options.allocator = &probe.door;
    uar_memory *m = uar_memory_open(x.f->path, &options);
    uar_identity who = user_of("ann");
    unsigned long merged = 0;
    for (int for_good = 0; for_good < 2; for_good++) {
        for (unsigned long at = 1;; at++) {
            (void)add_text(x.f, "ann", "I like tea");
            uar_memory_draft d = draft_of("I like tea because it is warm");
            d.metadata = STR("{\"a\":1}");
            uar_memory_change change;
            probe_alloc_arm(&probe, at, for_good != 0);
            uar_status status = uar_memory_add_sync(&change, m, &who, &d, NULL);
            bool failed = probe_alloc_has_failed(&probe);
            probe_alloc_arm(&probe, 0, false);
            if (status != UAR_OK) assert_int_equal(status, UAR_E_NOMEM);
            uint64_t count = count_of(x.f, "ann");
            assert_int_equal(count, status == UAR_OK && change.outcome == UAR_MEMORY_OUTCOME_ADDED ? 2 : 1);
            merged += status == UAR_OK && change.outcome == UAR_MEMORY_OUTCOME_REINFORCED;
            uar_memory_filter filter;
            uar_memory_filter_init(&filter);
            filter.types = 1u << UAR_MEMORY_TYPE_SEMANTIC;
            uar_memory_erasure sum;
            assert_int_equal(uar_memory_delete_where_sync(&sum, x.f->memory, &who, &filter, NULL), UAR_OK);
            if (!failed) break;
            assert_true(at < 5000);
        }
    }
    assert_true(merged >= 2);
    uar_memory_free(m);
    assert_int_equal(probe.alive, 0); /* what it keeps in memory for searches went with it */
    assert_sound(x.f);
}

static void add_batch(uar_memory_change *out, repeat_fixture *x, const uar_memory_draft *drafts, size_t count,
                      uint32_t flags) {
    uar_identity who = user_of("ann");
    assert_int_equal(uar_memory_add_batch_sync(out, x->f->memory, &who, drafts, count, flags, NULL, NULL, NULL),
                     UAR_OK);
}

static void assert_all_embedded(repeat_fixture *x, uint64_t count) {
    uar_memory_embedding e;
    uar_memory_embedding_init(&e);
    assert_int_equal(uar_memory_embedding_sync(&e, x->f->memory, NULL), UAR_OK);
    assert_int_equal(e.embedded, count);
    assert_int_equal(e.unembedded, 0);
}

static void an_exact_repeat_is_not_embedded(void **state) {
    repeat_fixture x;
    use_embedder(&x, state, 0.9);
    uar_memory_draft keyed = draft_of("other things are to be done");
    keyed.unique_key = STR("once");
    (void)add_text(x.f, "ann", "I like tea");
    (void)add_draft(x.f, "ann", &keyed);
    assert_int_equal(x.e.calls, 2);
    assert_int_equal(add_text(x.f, "ann", "i LIKE  tea").outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    assert_true(add_draft(x.f, "ann", &keyed).repeated);
    assert_int_equal(x.e.calls, 2);
    uar_memory_draft drafts[] = { draft_of("I like tea"), draft_of("other people ski"), keyed };
    uar_memory_change changes[3];
    add_batch(changes, &x, drafts, 3, 0);
    assert_int_equal(changes[0].outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    assert_int_equal(changes[1].outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(x.e.texts, 3);
    (void)add_text(x.f, "bob", "I like tea"); /* of another user: it's no repeat */
    assert_int_equal(x.e.texts, 4);
    assert_all_embedded(&x, 4);
    assert_sound(x.f);
}

typedef struct rival {
    memory_fixture *f;
    uar_uuid victim;
} rival;

/* Another program deletes the record while the embedder works. */
static void delete_meanwhile(void *ctx) {
    rival *r = ctx;
    uar_identity who = user_of("ann");
    uar_memory_options options;
    uar_memory_options_init(&options);
    options.clock = &r->f->clock;
    uar_memory *memory = uar_memory_open(r->f->path, &options);
    uar_memory_change gone;
    assert_int_equal(uar_memory_delete_sync(&gone, memory, &who, r->victim, NULL), UAR_OK);
    uar_memory_free(memory);
}

static void a_repeat_of_what_goes_meanwhile_is_embedded_after_all(void **state) {
    repeat_fixture x;
    use_embedder(&x, state, 0.9);
    uar_memory_draft near = draft_of("I really like tea");
    uar_memory_change kept;
    rival r = { x.f, add_text(x.f, "ann", "I like tea").id };
    add_batch(&kept, &x, &near, 1, UAR_MEMORY_ADD_VERBATIM);
    x.e.hook = delete_meanwhile;
    x.e.hook_ctx = &r;
    uar_memory_draft drafts[] = { draft_of("other people ski"), draft_of("I like tea") };
    uar_memory_change changes[2];
    add_batch(changes, &x, drafts, 2, 0);
    assert_int_equal(changes[0].outcome, UAR_MEMORY_OUTCOME_ADDED);
    assert_int_equal(changes[1].outcome, UAR_MEMORY_OUTCOME_REINFORCED);
    assert_true(uar_uuid_equal(changes[1].id, kept.id)); /* the near repeat was found, by the vector */
    assert_int_equal(count_of(x.f, "ann"), 2);
    assert_all_embedded(&x, 2);
    assert_sound(x.f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(test_M3_a_near_repeat_keeps_the_fuller_text_and_all_it_carries),
        MEMORY_TEST(test_M3_two_facts_are_not_merged_however_alike_the_embedder_finds_them),
        MEMORY_TEST(without_a_threshold_or_below_it_nothing_is_a_near_repeat),
        MEMORY_TEST(a_near_repeat_is_of_one_scope_one_type_and_one_slot),
        MEMORY_TEST(test_M8_a_less_trusted_writer_does_not_replace_a_text),
        MEMORY_TEST(an_ended_or_expired_record_is_not_reinforced),
        MEMORY_TEST(test_M16_a_failing_embedder_stops_no_write),
        MEMORY_TEST(an_exact_repeat_is_not_embedded),
        MEMORY_TEST(a_repeat_of_what_goes_meanwhile_is_embedded_after_all),
        MEMORY_TEST(a_near_repeat_survives_the_failure_of_each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
