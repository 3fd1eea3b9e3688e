/* Two sweeps of one root: the slower one touches nothing that was made anew under the id. */
#include "test_life_fixture.h"

#include "runtime/runtime.h"
#include "store/bodies.h"
#include "store/sweep.h"

#define KEY uar_str_of("me\x1fs")

static void op_ended(store_op *op) {
    atomic_store((atomic_bool *)op->arg, true);
}

static void submit(host *h, store_op *op) {
    atomic_bool ended;
    atomic_init(&ended, false);
    op->done = op_ended;
    op->arg = &ended;
    store_submit(host_runtime(h)->env.store, op);
    for (int i = 0; i < 2000 && !atomic_load(&ended); i++)
        host_rest(h, 1);
    assert_true(atomic_load(&ended));
}

/* The first commit of a delete: a tombstone and its job. */
static sweep_root bury(host *h) {
    uar_reply *reply = NULL;
    assert_int_equal(uar_session_load_sync(&reply, host_runtime(h), "local", "me", "s", NULL), UAR_OK);
    uar_write writes[2] = { { .op = UAR_WRITE_PUT }, { .op = UAR_WRITE_PUT } };
    store_op op = { .call = STORE_COMMIT, .writes = writes, .write_count = 2 };
    arena_init(&op.mem, &alloc_default);
    const session_life deleted = { .mark = SESSION_DELETED };
    const sweep_root root = {
        .kind = UAR_RECORD_SESSION, .owner = uar_str_of("local"), .id = KEY, .revision = reply->sessions[0].revision + 1
    };
    writes[0].expected = reply->sessions[0].revision;
    assert_int_equal(session_record_whole(&writes[0].record, &op.mem, &reply->sessions[0], &deleted), UAR_OK);
    assert_int_equal(sweep_job_record(&writes[1].record, &op.mem, &root), UAR_OK);
    submit(h, &op);
    assert_int_equal(op.status, UAR_OK);
    arena_dispose(&op.mem);
    uar_reply_free(reply);
    return root;
}

typedef struct sweeper {
    sweep s;
    store_op op;
} sweeper;

static void sweeper_begin(sweeper *w, const sweep_root *root) {
    memset(w, 0, sizeof *w);
    arena_init(&w->op.mem, &alloc_default);
    sweep_begin(&w->s, root);
}

/* At most `steps` calls of the store. True: it has ended. */
static bool sweeper_go(sweeper *w, host *h, size_t steps) {
    for (size_t i = 0; i < steps; i++) {
        if (sweep_step(&w->s, &w->op) != SWEEP_ASKS) return true;
        submit(h, &w->op);
    }
    return false;
}

static void a_sweep_that_another_one_overtook_leaves_what_is_new_under_the_id_alone(void **state) {
    (void)state;
    bool through = false;
    for (size_t steps = 0; !through; steps++) {
        life_place p = place_make();
        host *h = place_open(&p, HELLO);
        sweeper slow = { .s = { .at = 0 } }, quick = slow;
        for (int i = 0; i < 3; i++)
            (void)say_in(h, "me", "s", "old");
        sweep_root root = bury(h);
        sweeper_begin(&slow, &root);
        sweeper_begin(&quick, &root);
        through = sweeper_go(&slow, h, steps);
        assert_true(sweeper_go(&quick, h, 1000));
        assert_int_equal(quick.s.stage, SWEEP_AT_FINISHED);
        assert_int_equal(session_status(h, "s"), UAR_E_NOT_FOUND);
        for (int i = 0; i < 2; i++)
            (void)say_in(h, "me", "s", "new");
        long long records = count_naming(&p, "me\x1fs");
        if (!through) (void)sweeper_go(&slow, h, 1000);
        assert_int_equal(count_naming(&p, "me\x1fs"), records);
        uar_reply *reply = fixture_messages(h, "s");
        assert_int_equal(reply->count, 4);
        uar_reply_free(reply);
        arena_dispose(&slow.op.mem);
        arena_dispose(&quick.op.mem);
        fixture_close(h);
        place_remove(&p);
    }
}

static void a_sweep_that_another_one_overtook_leaves_the_job_of_a_later_delete(void **state) {
    (void)state;
    bool through = false;
    for (size_t steps = 0; !through; steps++) {
        life_place p = place_make();
        host *h = place_open(&p, HELLO);
        sweeper slow = { .s = { .at = 0 } }, quick = slow;
        (void)say_in(h, "me", "s", "old");
        sweep_root root = bury(h);
        sweeper_begin(&slow, &root);
        sweeper_begin(&quick, &root);
        through = sweeper_go(&slow, h, steps);
        assert_true(sweeper_go(&quick, h, 1000));
        for (int i = 0; i < 3; i++)
            (void)say_in(h, "me", "s", "new");
        sweep_root later = bury(h);
        assert_int_not_equal(later.revision, root.revision);
        if (!through) (void)sweeper_go(&slow, h, 1000);
        assert_int_equal(count_in(&p, "SELECT count(*) FROM record WHERE kind=55"), 1);
        uint64_t removed = 0;
        assert_int_equal(delete_session(h, "s", &removed), UAR_OK);
        assert_true(removed > 6);
        assert_int_equal(count_in(&p, "SELECT count(*) FROM record WHERE kind=55"), 0);
        assert_int_equal(count_naming(&p, "me\x1fs"), 0);
        arena_dispose(&slow.op.mem);
        arena_dispose(&quick.op.mem);
        fixture_close(h);
        place_remove(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(a_sweep_that_another_one_overtook_leaves_what_is_new_under_the_id_alone),
        fixture_test(a_sweep_that_another_one_overtook_leaves_the_job_of_a_later_delete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
