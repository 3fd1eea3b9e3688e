/* N6: many turns don't grow the heap, and many runs that were cancelled leave nothing. UAR_TEST_FULL=1: all of them. */
#include "unit/test_run_fixture.h"

/* Counts blocks and bytes; each block knows its size. One thread. */
typedef struct sizing {
    uar_allocator door;
    size_t alive, bytes;
} sizing;

typedef union sized {
    size_t size;
    max_align_t align;
} sized;

static void *sizing_resize(void *ctx, void *ptr, size_t size) {
    sizing *s = ctx;
    sized *old = ptr != NULL ? (sized *)ptr - 1 : NULL;
    size_t before = old != NULL ? old->size : 0;
    sized *block = realloc(old, sizeof *block + size);
    if (block == NULL) return NULL;
    block->size = size;
    s->bytes = s->bytes - before + size;
    s->alive += old == NULL;
    return block + 1;
}

static void *sizing_alloc(void *ctx, size_t size) {
    return sizing_resize(ctx, NULL, size);
}

static void sizing_release(void *ctx, void *ptr) {
    sizing *s = ctx;
    sized *block = (sized *)ptr - 1;
    s->bytes -= block->size;
    s->alive--;
    free(block);
}

static void sizing_init(sizing *s) {
    *s = (sizing){ .door = { UAR_ALLOCATOR_INIT, .ctx = s, .alloc = sizing_alloc, .resize = sizing_resize,
                             .release = sizing_release } };
}

static void turn(host *h) {
    uar_outcome out;
    assert_int_equal(host_say(h, "What time is it, and how are you today?", &out), UAR_OK);
    assert_int_equal(out.state, UAR_RUN_DONE);
    (void)uar_runtime_pump(host_runtime(h), 0);
}

static void test_N6_the_heap_is_flat_over_many_turns(void **state) {
    (void)state;
    sizing heap;
    sizing_init(&heap);
    const host_tool tools[] = { { .name = "now", .way = HOST_ANSWERS, .result = "\"noon\"" }, { .name = NULL } };
    /* What the runtime keeps is in its own heap; the layer's records are not. */
    host *h = fixture_open(&(host_options){ .script = LINE(CALL(0, "c1", "now", "{}") "," CALLS) HELLO,
                                            .repeats = true,
                                            .tools = tools,
                                            .threading = UAR_THREADS_MANUAL,
                                            .allocator = &heap.door,
                                            .quiet = true });
    for (int i = 0; i < 120; i++) /* 480 messages: the context and all that is kept of ended runs are full */
        turn(h);
    size_t bytes = heap.bytes, blocks = heap.alive;
    int turns = fixture_is_full() ? 1000 : 100;
    for (int i = 0; i < turns; i++) {
        turn(h);
        if (heap.bytes > bytes + 2048 || heap.alive > blocks + 8)
            fail_msg("after %d more turns %zu bytes in %zu blocks; at first %zu in %zu", i + 1, heap.bytes, heap.alive,
                     bytes, blocks);
    }
    fixture_close(h);
    assert_int_equal(heap.alive, 0);
    assert_int_equal(heap.bytes, 0);
}

/* The control: a history that still grows is seen. */
static void test_N6_the_measure_sees_what_grows(void **state) {
    (void)state;
    sizing heap;
    sizing_init(&heap);
    host *h = fixture_open(&(host_options){
        .script = HELLO, .repeats = true, .threading = UAR_THREADS_MANUAL, .allocator = &heap.door, .quiet = true });
    turn(h);
    size_t bytes = heap.bytes;
    uar_subscribe_options o = { UAR_SUBSCRIBE_OPTIONS_INIT, .owner = "local" };
    uar_subscription *unread = NULL;
    assert_int_equal(uar_subscribe(&unread, host_runtime(h), &o, NULL), UAR_OK);
    for (int i = 0; i < 20; i++)
        turn(h);
    assert_true(heap.bytes > bytes + 2048);
    uar_subscription_free(unread);
    fixture_close(h);
    assert_int_equal(heap.alive, 0);
}

static void test_N6_runs_that_were_started_and_cancelled_leave_nothing(void **state) {
    (void)state;
    int64_t before = uar_live_objects();
    int runs = fixture_is_full() ? 10000 : 1000;
    host *h = fixture_open(&(host_options){ .script = LINE(TEXT("x") "," HOLD), .repeats = true, .quiet = true });
    uar_run_id *ids = calloc((size_t)runs, sizeof *ids);
    assert_non_null(ids);
    for (int i = 0; i < runs; i++) {
        char session[32];
        snprintf(session, sizeof session, "s%d", i);
        uar_run_request q = { UAR_RUN_REQUEST_INIT, .input = "go", .session = session };
        assert_int_equal(uar_run_start(&ids[i], host_runtime(h), &q, NULL), UAR_OK);
        /* Some at once, some later: each is somewhere else on its way. */
        if (i % 3 == 0) assert_int_equal(uar_run_cancel(host_runtime(h), ids[i], UAR_CANCEL_NOW, NULL, NULL), UAR_OK);
        if (i >= 7 && (i - 7) % 3 != 0)
            assert_int_equal(uar_run_cancel(host_runtime(h), ids[i - 7], UAR_CANCEL_NOW, NULL, NULL), UAR_OK);
    }
    for (int i = runs - 7; i < runs; i++)
        (void)uar_run_cancel(host_runtime(h), ids[i], UAR_CANCEL_NOW, NULL, NULL);
    for (int i = 0; i < runs; i++) { /* the outcome of one that ended long ago is forgotten */
        uar_outcome out;
        uar_status status = uar_run_wait(&out, host_runtime(h), ids[i], 20000);
        assert_true(status == UAR_E_NOT_FOUND || (status == UAR_OK && out.state == UAR_RUN_CANCELLED));
    }
    int64_t open = INT64_MAX;
    for (int i = 0; i < 400 && open > 200; i++) {
        host_rest(h, 5);
        open = uar_live_objects() - before;
    }
    if (open > 200) fail_msg("%lld objects are alive when all runs have ended", (long long)open);
    fixture_close(h);
    assert_int_equal(uar_live_objects(), before);
    free(ids);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        fixture_test(test_N6_the_heap_is_flat_over_many_turns),
        fixture_test(test_N6_the_measure_sees_what_grows),
        fixture_test(test_N6_runs_that_were_started_and_cancelled_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
