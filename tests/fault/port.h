/*
 * The allocation port and the sweep over it.
 *
 * A port stands behind the allocator door (and, where a program asks for it, behind SQLite's): it counts, and fails the
 * n-th allocation from the moment it is armed, once or for good. A sweep runs a scenario once to count, then once a fault,
 * each time in a fresh world, and writes down what was wrong; it never asserts by itself, so that a control can show that
 * it finds what it is there to find.
 *
 * The case that runs is known to the handlers of SIGABRT, SIGSEGV and SIGALRM: a crash or a hang also prints the line that
 * runs it again.
 */
#ifndef UAR_TESTS_FAULT_PORT_H
#define UAR_TESTS_FAULT_PORT_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <uar/base.h>
#include <uar/sys/platform.h>

/* Faults of one scenario and mode in the quick tier; UAR_TEST_FULL=1 tries all. */
#define SWEEP_QUICK 150
/* Real seconds that one case may take before it counts as a hang. */
#define CASE_SECONDS 60

/* ---- the port ---- */

typedef struct fault_port {
    uar_allocator door;
    atomic_long alive; /* blocks not yet released */
    atomic_ulong calls;
    atomic_ulong fail_at; /* the number of the call that fails, from 1; 0: none */
    atomic_bool for_good; /* all later calls fail as well */
    atomic_bool fired;
} fault_port;

static inline bool port_fails(fault_port *p) {
    unsigned long call = atomic_fetch_add(&p->calls, 1) + 1, at = atomic_load(&p->fail_at);
    bool fails = at != 0 && (call == at || (call > at && atomic_load(&p->for_good)));
    if (fails) atomic_store(&p->fired, true);
    return fails;
}

static inline void *port_alloc(void *ctx, size_t size) {
    fault_port *p = ctx;
    if (port_fails(p)) return NULL;
    void *ptr = malloc(size);
    if (ptr != NULL) atomic_fetch_add(&p->alive, 1);
    return ptr;
}

static inline void *port_resize(void *ctx, void *ptr, size_t size) {
    fault_port *p = ctx;
    if (port_fails(p)) return NULL;
    void *grown = realloc(ptr, size);
    if (grown != NULL && ptr == NULL) atomic_fetch_add(&p->alive, 1);
    return grown;
}

static inline void port_release(void *ctx, void *ptr) {
    fault_port *p = ctx;
    atomic_fetch_sub(&p->alive, 1);
    free(ptr);
}

static inline void port_init(fault_port *p) {
    memset(p, 0, sizeof *p);
    p->door = (uar_allocator){
        .struct_size = UAR_ALLOCATOR_INIT, .ctx = p, .alloc = port_alloc, .resize = port_resize, .release = port_release
    };
}

static inline void port_arm(fault_port *p, unsigned long fail_at, bool for_good) {
    atomic_store(&p->for_good, for_good);
    atomic_store(&p->fired, false);
    atomic_store(&p->calls, 0);
    atomic_store(&p->fail_at, fail_at);
}

static inline void port_disarm(fault_port *p) {
    atomic_store(&p->fail_at, 0);
}

/* ---- what was wrong ---- */

#define FINDINGS_TEXT 1500

typedef struct findings {
    size_t count;
    char text[FINDINGS_TEXT]; /* the first ones, a line each */
} findings;

/* Where `fault_note` writes, and the case that runs. One sweep at a time in a program. */
static findings *fault_sheet;
static char fault_case[160];
static bool fault_is_control;

static inline void fault_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void fault_note(const char *format, ...) {
    char line[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (!fault_is_control) print_message("# again: UAR_FAULT=%s   %s\n", fault_case, line);
    if (fault_sheet == NULL) return;
    fault_sheet->count++;
    size_t used = strlen(fault_sheet->text);
    (void)snprintf(fault_sheet->text + used, FINDINGS_TEXT - used, "%s: %s\n", fault_case, line);
}

#define FAULT_EXPECT(condition, ...)               \
    do {                                           \
        if (!(condition)) fault_note(__VA_ARGS__); \
    } while (0)

/* An output that a call may only write when it succeeds. */
#define SENTINEL 0x5A
#define OUTPUT_PREPARE(variable) memset(&(variable), SENTINEL, sizeof(variable))

static inline bool output_is_untouched(const void *output, size_t size) {
    const unsigned char *bytes = output;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != SENTINEL) return false;
    return true;
}

#define OUTPUT_CHECK(status, variable, call)                                                       \
    do {                                                                                           \
        if ((status) != UAR_OK && !output_is_untouched(&(variable), sizeof(variable)))             \
            fault_note("%s failed with %s and touched its output", call, uar_status_name(status)); \
    } while (0)

/* ---- signals ---- */

static inline void say_case(const char *what) {
    (void)!write(STDERR_FILENO, "\n# ", 3);
    (void)!write(STDERR_FILENO, what, strlen(what));
    (void)!write(STDERR_FILENO, "; again: UAR_FAULT=", 19);
    (void)!write(STDERR_FILENO, fault_case, strlen(fault_case));
    (void)!write(STDERR_FILENO, "\n", 1);
}

static inline void on_crash(int number) {
    say_case("crashed");
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static inline void on_hang(int number) {
    (void)number;
    say_case("hangs");
    (void)signal(SIGABRT, SIG_DFL);
    abort();
}

static inline void watch_signals(void) {
    (void)signal(SIGABRT, on_crash);
    (void)signal(SIGALRM, on_hang);
}

/* ---- seed and choice ---- */

static inline bool is_full(void) {
    const char *full = getenv("UAR_TEST_FULL");
    return full != NULL && full[0] == '1';
}

static inline uint64_t test_seed(void) {
    static uint64_t seed;
    const char *given = getenv("UAR_TEST_SEED");
    if (seed == 0) {
        seed = given != NULL ? (uint64_t)strtoull(given, NULL, 10) : (uint64_t)getpid();
        if (seed == 0) seed = 1;
        print_message("# seed %llu (UAR_TEST_SEED; UAR_TEST_FULL=1 tries every index)\n", (unsigned long long)seed);
    }
    return seed;
}

/* splitmix64 of seed, name and index: whether an index is tried doesn't depend on what else runs. */
static inline uint64_t choice_of(const char *name, uint64_t index) {
    uint64_t x = test_seed() + index * UINT64_C(0x9e3779b97f4a7c15);
    for (; *name != '\0'; name++)
        x = (x ^ (unsigned char)*name) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The first and last few are always tried: that is where calls begin and end. */
static inline bool is_chosen(const char *name, unsigned long index, unsigned long total, unsigned long wanted) {
    if (is_full() || total <= wanted || index <= 8 || index + 4 > total) return true;
    return choice_of(name, index) % total < wanted;
}

/* UAR_FAULT=NAME:INDEX:WORD. False: not for this name. */
static inline bool fault_asked(const char *name, unsigned long *index, char word[32]) {
    const char *asked = getenv("UAR_FAULT");
    size_t len = strlen(name);
    if (asked == NULL || strncmp(asked, name, len) != 0 || asked[len] != ':') return false;
    return sscanf(asked + len, ":%lu:%31s", index, word) == 2;
}

static inline bool fault_is_asked(void) {
    return getenv("UAR_FAULT") != NULL;
}

/* ---- the sweep ---- */

typedef struct sweep_scenario {
    const char *name;
    void *(*open)(fault_port *port);                  /* a fresh world; nothing fails yet */
    uar_status (*act)(void *world);                   /* what is swept; notes what is wrong by itself */
    void (*inspect)(void *world, uar_status status);  /* nothing fails any more; optional */
    uar_status (*again)(void *world, uar_status was); /* optional: instead of act, to show that it works now */
    void (*close)(void *world);
    unsigned long quick; /* faults a mode in the quick tier; 0: SWEEP_QUICK */
} sweep_scenario;

typedef struct sweep_tally {
    unsigned long total, cases, faults;
} sweep_tally;

/* One case. True if the fault happened. */
static inline bool sweep_case(const sweep_scenario *s, unsigned long index, bool for_good, unsigned long *calls) {
    fault_port port;
    port_init(&port);
    (void)snprintf(fault_case, sizeof fault_case, "%s:%lu:%s", s->name, index, for_good ? "good" : "once");
    (void)alarm(CASE_SECONDS);
    int64_t live = uar_live_objects();
    void *world = s->open(&port);
    port_arm(&port, index, for_good);
    uar_status status = s->act(world);
    bool fired = atomic_load(&port.fired);
    *calls = atomic_load(&port.calls);
    port_disarm(&port);
    if (status != UAR_OK && !fired) fault_note("failed without a fault: %s", uar_status_name(status));
    if (status != UAR_OK && status != UAR_E_NOMEM && fired) fault_note("wrong status %s", uar_status_name(status));
    if (s->inspect != NULL) s->inspect(world, status);
    if (fired) {
        uar_status then = s->again != NULL ? s->again(world, status) : s->act(world);
        if (then != UAR_OK) fault_note("the same call then fails with %s", uar_status_name(then));
        if (s->inspect != NULL) s->inspect(world, then);
    }
    s->close(world);
    long alive = atomic_load(&port.alive);
    if (alive != 0) fault_note("leaks %ld blocks", alive);
    int64_t more = uar_live_objects() - live;
    if (more != 0) fault_note("leaves %lld objects alive", (long long)more);
    (void)alarm(0);
    return fired;
}

static inline void sweep_mode(const sweep_scenario *s, bool for_good, sweep_tally *tally) {
    unsigned long wanted = s->quick != 0 ? s->quick : SWEEP_QUICK, calls;
    /* A fault that is survived may lead to more allocations than were counted. */
    for (unsigned long at = 1; at <= 3 * tally->total + 100; at++) {
        if (at <= tally->total && !is_chosen(s->name, at, tally->total, wanted)) continue;
        tally->cases++;
        if (sweep_case(s, at, for_good, &calls))
            tally->faults++;
        else if (at > tally->total)
            break;
    }
}

/* All of a scenario, or the one case that UAR_FAULT names. */
static inline sweep_tally sweep(const sweep_scenario *s, findings *sheet) {
    sweep_tally tally = { 0, 0, 0 };
    unsigned long index = 0, calls = 0;
    char word[32];
    memset(sheet, 0, sizeof *sheet);
    fault_sheet = sheet;
    watch_signals();
    if (fault_asked(s->name, &index, word)) {
        tally.cases = 1;
        tally.faults = sweep_case(s, index, strcmp(word, "good") == 0, &calls);
    } else {
        (void)sweep_case(s, 0, false, &tally.total);
        sweep_mode(s, false, &tally);
        sweep_mode(s, true, &tally);
    }
    fault_sheet = NULL;
    return tally;
}

/* A cmocka test of one scenario, which is its initial state. */
static inline void test_sweep(void **state) {
    const sweep_scenario *s = *state;
    unsigned long index = 0;
    char word[32];
    findings sheet;
    if (fault_is_asked() && !fault_asked(s->name, &index, word)) skip();
    (void)test_seed();
    sweep_tally tally = sweep(s, &sheet);
    print_message("# %s: %lu allocations, %lu faults in %lu cases\n", s->name, tally.total, tally.faults, tally.cases);
    if (sheet.count != 0) fail_msg("%zu findings\n%s\n", sheet.count, sheet.text);
    assert_true(tally.faults > 0);
}

#endif
