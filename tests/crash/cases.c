/*
 * Owns: the processes of the cases and their pipes. Invariant: a process that ends without a report is a fault of the case
 * that it was at.
 */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */

#include "cases.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE_MOST = 32 };

static struct {
    uint64_t seed;
    char program[1024], folder[1024];
    char only_suite[64];
    unsigned only_index;
} setup;

uint64_t lots_next(lots *l) {
    uint64_t z = l->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t lots_below(lots *l, uint64_t n) {
    return lots_next(l) % n;
}

void case_fail(case_result *r, const char *format, ...) {
    if (r->fault[0] != '\0') return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(r->fault, sizeof r->fault, format, arguments);
    va_end(arguments);
}

/* ---- folders ---- */

static bool make_under(char out[128], const char *root) {
    int len = snprintf(out, 128, "%s/uar-crash-XXXXXX", root);
    return len > 0 && len < 128 && mkdtemp(out) != NULL;
}

/* Memory is as good as a disk here: a killed process loses no page that it wrote. */
bool cases_make_folder(char out[128]) {
    const char *root = getenv("TMPDIR");
    if (access("/dev/shm", W_OK | X_OK) == 0 && make_under(out, "/dev/shm")) return true;
    return make_under(out, root != NULL && root[0] == '/' ? root : "/tmp");
}

void cases_remove_folder(const char *path) {
    DIR *folder = opendir(path);
    for (struct dirent *e = folder != NULL ? readdir(folder) : NULL; e != NULL; e = readdir(folder)) {
        char name[PATH_MAX];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        int len = snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (len > 0 && (size_t)len < sizeof name && unlink(name) != 0) cases_remove_folder(name);
    }
    if (folder != NULL) (void)closedir(folder);
    (void)rmdir(path);
}

/* ---- setup ---- */

static uint64_t draw_seed(void) {
    uint32_t seed = 0;
    FILE *device = fopen("/dev/urandom", "rb");
    if (device == NULL || fread(&seed, sizeof seed, 1, device) != 1) abort();
    fclose(device);
    return seed;
}

void cases_begin(const char *program) {
    const char *seed = getenv("UAR_TEST_SEED");
    const char *only = getenv("UAR_CRASH_CASE");
    const char *slash = strrchr(program, '/');
    setup.seed = seed != NULL && seed[0] != '\0' ? strtoull(seed, NULL, 10) : draw_seed();
    (void)snprintf(setup.program, sizeof setup.program, "%s", program);
    (void)snprintf(setup.folder, sizeof setup.folder, "%.*s", slash != NULL ? (int)(slash - program) : 1,
                   slash != NULL ? program : ".");
    if (only != NULL && sscanf(only, "%63[^:]:%u", setup.only_suite, &setup.only_index) != 2) {
        fputs("UAR_CRASH_CASE is SUITE:INDEX\n", stderr);
        exit(2);
    }
    printf("# seed %llu\n", (unsigned long long)setup.seed);
    (void)fflush(stdout);
}

uint64_t cases_seed(void) {
    return setup.seed;
}

bool cases_are_full(void) {
    const char *full = getenv("UAR_TEST_FULL");
    return full != NULL && strcmp(full, "1") == 0;
}

bool cases_are_alone(void) {
    return setup.only_suite[0] != '\0';
}

const char *cases_program_folder(void) {
    return setup.folder;
}

/* ---- running ---- */

/* What a process says of its cases. */
typedef struct report {
    case_sum sum;
    unsigned fault_index, loss_index; /* the first ones */
    unsigned loss_lost, loss_acked;
    char fault[1024];
} report;

typedef struct runner {
    pid_t pid; /* 0: free */
    int result;
    volatile unsigned *now; /* the case that runs, shared with its process */
} runner;

static uint64_t mix_in(uint64_t seed, const char *text) {
    lots l = { seed };
    for (; *text != '\0'; text++)
        l.state = lots_next(&l) ^ (unsigned char)*text;
    return l.state;
}

static void add_result(report *to, const case_result *r, unsigned index) {
    if (r->fault[0] != '\0' && to->sum.faults == 0) {
        to->fault_index = index;
        memcpy(to->fault, r->fault, sizeof to->fault);
    }
    if (r->lost > 0 && to->sum.lost == 0) {
        to->loss_index = index;
        to->loss_lost = r->lost;
        to->loss_acked = r->acked;
    }
    to->sum.cases++;
    to->sum.killed += r->killed;
    to->sum.inside += r->killed && r->inside;
    to->sum.acked += r->acked;
    to->sum.lost += r->lost;
    to->sum.open += r->open;
    to->sum.fresh += r->fresh;
    to->sum.faults += r->fault[0] != '\0';
}

/* In the new process: never returns. */
static void run_batch(const case_suite *s, unsigned from, unsigned to, runner *slot, int result) {
    static report all;
    char folder[128];
    if (!cases_make_folder(folder)) {
        fprintf(stderr, "no folder for the case: %s\n", strerror(errno));
        _exit(1);
    }
    for (unsigned index = from; index < to; index++) {
        case_result r = { .acked = 0 };
        crash_case c = { .index = index, .random = { mix_in(setup.seed, s->name) + index }, .arg = s->arg };
        *slot->now = index;
        memcpy(c.folder, folder, sizeof folder);
        (void)alarm(s->seconds);
        s->run(&r, &c);
        add_result(&all, &r, index);
        if (index + 1 == to || s->keeps_folder) continue;
        cases_remove_folder(folder);
        if (mkdir(folder, 0700) != 0) abort();
    }
    (void)alarm(0);
    if (cases_are_alone())
        printf("# kept: %s\n", folder);
    else
        cases_remove_folder(folder);
    (void)fflush(NULL);
    bool sent = write(result, &all, sizeof all) == (ssize_t)sizeof all;
    _exit(sent ? 0 : 1);
}

static void start(runner *slot, const case_suite *s, unsigned from, unsigned to) {
    int ends[2];
    *slot->now = from;
    (void)fflush(NULL);
    if (pipe(ends) != 0 || (slot->pid = fork()) < 0) {
        perror("a case can't start");
        exit(1);
    }
    if (slot->pid == 0) {
        (void)close(ends[0]);
        (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        run_batch(s, from, to, slot, ends[1]);
    }
    (void)close(ends[1]);
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    slot->result = ends[0];
}

static void say_again(const case_suite *s, unsigned index) {
    printf("# again: UAR_TEST_SEED=%llu UAR_CRASH_CASE=%s:%u %s\n", (unsigned long long)setup.seed, s->name, index,
           setup.program);
    (void)fflush(stdout);
}

static void say_faults(const case_suite *s, const report *r, bool loss_is_fault) {
    if (r->sum.faults > 0) {
        printf("# %s:%u: %s\n", s->name, r->fault_index, r->fault);
        say_again(s, r->fault_index);
    }
    if (!loss_is_fault || r->sum.lost == 0) return;
    printf("# %s:%u: %u of %u acknowledgements were lost\n", s->name, r->loss_index, r->loss_lost, r->loss_acked);
    if (r->sum.faults == 0 || r->loss_index != r->fault_index) say_again(s, r->loss_index);
}

static void take_report(case_sum *sum, const case_suite *s, runner *slot, int status, bool loss_is_fault) {
    static report r;
    if (read(slot->result, &r, sizeof r) != (ssize_t)sizeof r) {
        case_result none = { .acked = 0 };
        memset(&r, 0, sizeof r);
        case_fail(&none, "the case ended without a result, status 0x%x%s", (unsigned)status,
                  WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? " (it hung)" : "");
        add_result(&r, &none, *slot->now);
    }
    (void)close(slot->result);
    slot->pid = 0;
    sum->cases += r.sum.cases;
    sum->killed += r.sum.killed;
    sum->inside += r.sum.inside;
    sum->acked += r.sum.acked;
    sum->lost += r.sum.lost;
    sum->open += r.sum.open;
    sum->fresh += r.sum.fresh;
    sum->faults += r.sum.faults;
    if (!s->is_for_show) say_faults(s, &r, loss_is_fault);
}

/* Wait for one of them. */
static void reap(case_sum *sum, const case_suite *s, runner *slots, bool loss_is_fault) {
    int status = 0;
    pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0 && errno != EINTR) {
        perror("waiting for cases");
        exit(1);
    }
    for (unsigned i = 0; i < AT_ONCE_MOST && pid > 0; i++) {
        if (slots[i].pid == pid) take_report(sum, s, &slots[i], status, loss_is_fault);
    }
}

static runner *free_slot(runner *slots, unsigned at_once) {
    for (unsigned i = 0; i < at_once && i < AT_ONCE_MOST; i++)
        if (slots[i].pid == 0) return &slots[i];
    return NULL;
}

static bool is_idle(const runner *slots) {
    for (unsigned i = 0; i < AT_ONCE_MOST; i++)
        if (slots[i].pid != 0) return false;
    return true;
}

static volatile unsigned *shared_numbers(void) {
    static void *page;
    if (page == NULL)
        page = mmap(NULL, AT_ONCE_MOST * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) abort();
    return page;
}

bool cases_run(case_sum *sum, const case_suite *s, bool loss_is_fault) {
    runner slots[AT_ONCE_MOST];
    memset(slots, 0, sizeof slots);
    memset(sum, 0, sizeof *sum);
    if (cases_are_alone() && strcmp(setup.only_suite, s->name) != 0) return false;
    for (unsigned i = 0; i < AT_ONCE_MOST; i++)
        slots[i].now = shared_numbers() + i;
    unsigned index = cases_are_alone() ? setup.only_index : 0;
    unsigned end = cases_are_alone() ? index + 1 : s->count;
    unsigned batch = s->batch > 0 ? s->batch : 1;
    while (index < end || !is_idle(slots)) {
        runner *slot = index < end ? free_slot(slots, s->at_once) : NULL;
        if (slot == NULL) {
            reap(sum, s, slots, loss_is_fault);
            continue;
        }
        unsigned to = end - index > batch ? index + batch : end;
        start(slot, s, index, to);
        index = to;
    }
    printf("# %s: %u cases, %u killed, %u of them inside a commit, %u acknowledged, %u lost, %u faults\n", s->name,
           sum->cases, sum->killed, sum->inside, sum->acked, sum->lost, sum->faults);
    (void)fflush(stdout);
    return true;
}
