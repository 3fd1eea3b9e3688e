/* Owns: what was reported so far. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *program;
    FILE *json; /* UAR_BENCH_JSON, appended to; NULL: not wanted */
    unsigned missed, failed;
} state;

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown compiler"
#endif

#if defined(__OPTIMIZE__) && defined(NDEBUG)
#define BUILD "release"
#else
#define BUILD "not a release build: the figures say little"
#endif

/* The three averages of the load as the kernel writes them; false where it doesn't. */
static bool read_load(double load[3]) {
    FILE *f = fopen("/proc/loadavg", "r");
    if (f == NULL) return false;
    bool whole = fscanf(f, "%lf %lf %lf", &load[0], &load[1], &load[2]) == 3;
    (void)fclose(f);
    return whole;
}

static void print_load(const char *when) {
    double load[3];
    if (read_load(load)) printf("# load %s: %.2f %.2f %.2f\n", when, load[0], load[1], load[2]);
}

static void print_processor(void) {
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (f == NULL) return;
    while (fgets(line, sizeof line, f) != NULL) {
        char *name = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || name == NULL) continue;
        printf("# processor:%s", name + 1);
        break;
    }
    (void)fclose(f);
}

void bench_begin(const char *program) {
    state.program = program;
    const char *path = getenv("UAR_BENCH_JSON");
    if (path != NULL && path[0] != '\0') {
        state.json = fopen(path, "a");
        if (state.json == NULL) bench_give_up("UAR_BENCH_JSON can't be written");
    }
    printf("# %s: %ld cores, %s, %s\n", program, sysconf(_SC_NPROCESSORS_ONLN), COMPILER, BUILD);
    print_processor();
    print_load("before");
}

int bench_end(void) {
    print_load("after");
    printf("# %s: %u missed, %u failed\n", state.program, state.missed, state.failed);
    if (state.json != NULL) (void)fclose(state.json);
    return state.failed == 0 ? 0 : 1;
}

static const char *aim_word(bench_aim aim) {
    switch (aim) {
    case BENCH_BELOW: return "below";
    case BENCH_ABOVE: return "above";
    case BENCH_EXACTLY: return "exactly";
    case BENCH_FACT: break;
    }
    return NULL;
}

static bool reaches(double value, bench_aim aim, double limit) {
    switch (aim) {
    case BENCH_BELOW: return value < limit;
    case BENCH_ABOVE: return value > limit;
    case BENCH_EXACTLY: return value >= limit && value <= limit;
    case BENCH_FACT: break;
    }
    return true;
}

static void write_json(const char *name, double value, const char *unit, bench_aim aim, double limit, bool reached) {
    if (state.json == NULL) return;
    double load[3] = { -1, -1, -1 };
    (void)read_load(load);
    fprintf(state.json, "{\"program\":\"%s\",\"name\":\"%s\",\"value\":%.6g,\"unit\":\"%s\"", state.program, name,
            value, unit);
    if (aim != BENCH_FACT)
        fprintf(state.json, ",\"aim\":\"%s\",\"limit\":%.6g,\"reached\":%s", aim_word(aim), limit,
                reached ? "true" : "false");
    fprintf(state.json, ",\"cores\":%ld,\"load\":%.2f,\"build\":\"%s\"}\n", sysconf(_SC_NPROCESSORS_ONLN), load[0],
            BUILD);
}

void bench_report(const char *name, double value, const char *unit, bench_aim aim, double limit) {
    bool reached = reaches(value, aim, limit);
    if (!reached) state.missed++;
    int digits = value >= 1000 || value <= -1000 ? 0 : value >= 10 || value <= -10 ? 1 : 3;
    printf("%-34s %12.*f %s", name, digits, value, unit);
    if (aim != BENCH_FACT) printf(" (aim: %s %.10g)%s", aim_word(aim), limit, reached ? "" : " MISSED");
    printf("\n");
    (void)fflush(stdout);
    write_json(name, value, unit, aim, limit, reached);
}

bool bench_check(bool holds, const char *what) {
    if (holds) return true;
    state.failed++;
    printf("FAILED %s\n", what);
    return false;
}

_Noreturn void bench_give_up(const char *why) {
    printf("FAILED %s: %s\n", state.program, why);
    exit(1);
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) bench_give_up("there is no such clock");
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t bench_cpu(void) {
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static int by_value(const void *a, const void *b) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t count, double share) {
    qsort(values, count, sizeof *values, by_value);
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return values[below] + (values[above] - values[below]) * (place - (double)below);
}

double bench_slope(const double *y, size_t count) {
    double *slopes = bench_memory(count * (count - 1) / 2 * sizeof *slopes);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            slopes[n++] = (y[k] - y[i]) / (double)(k - i);
    double slope = bench_quantile(slopes, n, 0.5);
    free(slopes);
    return slope;
}

void *bench_memory(size_t size) {
    void *ptr = calloc(1, size);
    if (ptr == NULL) bench_give_up("out of memory");
    return ptr;
}
