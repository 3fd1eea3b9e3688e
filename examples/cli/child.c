/*
 * One child process: see child.h.
 *
 * Two threads that start children at once must not hand each other's pipes down: a pipe is open to inheritance between
 * its creation and FD_CLOEXEC, so the lock covers both and the spawn.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pthread_mutex_t spawn_lock = PTHREAD_MUTEX_INITIALIZER;

static void close_one(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* A pipe whose ends close at exec; 0 or an errno. */
static int pipe_open(int ends[2]) {
    if (pipe(ends) != 0) return errno;
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return 0;
}

/* The child gets default signals: the program blocks and ignores some. */
static int attributes(posix_spawnattr_t *attr) {
    sigset_t none;
    sigset_t defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    int fault = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (fault == 0) fault = posix_spawnattr_setpgroup(attr, 0);
    if (fault == 0) fault = posix_spawnattr_setsigmask(attr, &none);
    if (fault == 0) fault = posix_spawnattr_setsigdefault(attr, &defaults);
    return fault;
}

static bool is_key(const char *entry) {
    static const char end[] = "_API_KEY=";
    const char *equals = strchr(entry, '=');
    size_t name = equals != NULL ? (size_t)(equals + 1 - entry) : 0;
    return name >= sizeof end - 1 && memcmp(entry + name - (sizeof end - 1), end, sizeof end - 1) == 0;
}

/* The environment without the keys of model services: a tool runs what a model asked for. NULL: out of memory. */
static char **environment_without_keys(void) {
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **kept = malloc((count + 1) * sizeof *kept);
    size_t n = 0;
    for (size_t i = 0; kept != NULL && i < count; i++)
        if (!is_key(environ[i])) kept[n++] = environ[i];
    if (kept != NULL) kept[n] = NULL;
    return kept;
}

static int spawn(pid_t *pid, char *const *command, int in, int out, int err) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int fault = posix_spawn_file_actions_init(&actions);
    if (fault != 0) return fault;
    fault = posix_spawnattr_init(&attr);
    if (fault != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return fault;
    }
    fault = attributes(&attr);
    if (fault == 0) fault = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (fault == 0) fault = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (fault == 0) fault = posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    char **environment = fault == 0 ? environment_without_keys() : NULL;
    if (fault == 0 && environment == NULL) fault = ENOMEM;
    if (fault == 0) fault = posix_spawnp(pid, command[0], &actions, &attr, command, environment);
    free(environment);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return fault;
}

int child_start(child *out, char *const *command) {
    int in[2] = { -1, -1 };
    int read[2] = { -1, -1 };
    int errors[2] = { -1, -1 };
    pid_t pid = -1;
    pthread_mutex_lock(&spawn_lock);
    int fault = pipe_open(in);
    if (fault == 0) fault = pipe_open(read);
    if (fault == 0) fault = pipe_open(errors);
    if (fault == 0) fault = spawn(&pid, command, in[0], read[1], errors[1]);
    pthread_mutex_unlock(&spawn_lock);
    close_one(&in[0]);
    close_one(&read[1]);
    close_one(&errors[1]);
    if (fault != 0) {
        close_one(&in[1]);
        close_one(&read[0]);
        close_one(&errors[0]);
        return fault;
    }
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(read[0], F_SETFL, O_NONBLOCK);
    fcntl(errors[0], F_SETFL, O_NONBLOCK);
    *out = (child){ pid, in[1], read[0], errors[0] };
    return 0;
}

bool child_ended(const child *c) {
    siginfo_t info = { 0 };
    int asked = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return asked != 0 || info.si_pid == c->pid;
}

int child_reap(child *c) {
    int status = 0;
    close_one(&c->in);
    close_one(&c->out);
    close_one(&c->err);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

void child_signal(const child *c, int signal) {
    kill(-c->pid, signal);
}
