/*
 * Tools that are programs: see tool_process.h.
 *
 * A running_call is owned by its thread. The list, `unwanted` and `child.pid` of every call are under the lock: who
 * signals a child holds it, and a pid leaves the list before it is reaped, so no foreign process is ever hit.
 */
#include "tool_process.h"

#include "child.h"
#include "json_syntax.h"
#include "text.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 100, GRACE_LOOKS = 5, PIECE = 1 << 16, STDERR_KEPT = 4096, REASON_MOST = 200 };

typedef struct running_call {
    struct running_call *next;
    tool_calls *calls;
    uar_completion *done;
    char *const *command;
    child process;
    text_buffer input;
    text_buffer output;
    text_buffer errors; /* the last STDERR_KEPT bytes or a little more */
    bool started;
    bool unwanted;
    bool too_large;
} running_call;

struct tool_calls {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    running_call *first;
};

tool_calls *tool_calls_new(void) {
    tool_calls *calls = must_alloc(sizeof *calls);
    pthread_mutex_init(&calls->lock, NULL);
    pthread_cond_init(&calls->idle, NULL);
    return calls;
}

void tool_calls_kill(tool_calls *calls) {
    pthread_mutex_lock(&calls->lock);
    for (running_call *c = calls->first; c != NULL; c = c->next) {
        c->unwanted = true;
        if (c->started) child_signal(&c->process, SIGKILL);
    }
    pthread_mutex_unlock(&calls->lock);
}

void tool_calls_free(tool_calls *calls) {
    if (calls == NULL) return;
    tool_calls_kill(calls);
    pthread_mutex_lock(&calls->lock);
    while (calls->first != NULL)
        pthread_cond_wait(&calls->idle, &calls->lock);
    pthread_mutex_unlock(&calls->lock);
    pthread_cond_destroy(&calls->idle);
    pthread_mutex_destroy(&calls->lock);
    free(calls);
}

static void list_add(running_call *c) {
    pthread_mutex_lock(&c->calls->lock);
    c->next = c->calls->first;
    c->calls->first = c;
    pthread_mutex_unlock(&c->calls->lock);
}

/* The last touch of `calls`: its owner may free it as soon as the list is empty. */
static void list_remove(running_call *c) {
    tool_calls *calls = c->calls;
    pthread_mutex_lock(&calls->lock);
    running_call **at = &calls->first;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    pthread_cond_broadcast(&calls->idle);
    pthread_mutex_unlock(&calls->lock);
}

static bool is_unwanted(running_call *c) {
    pthread_mutex_lock(&c->calls->lock);
    bool unwanted = c->unwanted;
    pthread_mutex_unlock(&c->calls->lock);
    return unwanted;
}

static int start(running_call *c) {
    child process;
    pthread_mutex_lock(&c->calls->lock);
    int fault = c->unwanted ? ECANCELED : child_start(&process, c->command);
    if (fault == 0) {
        c->process = process;
        c->started = true;
    }
    pthread_mutex_unlock(&c->calls->lock);
    return fault;
}

static int reap(running_call *c) {
    pthread_mutex_lock(&c->calls->lock);
    c->started = false;
    pthread_mutex_unlock(&c->calls->lock);
    return child_reap(&c->process);
}

static void feed_input(running_call *c, size_t *given) {
    ssize_t n = write(c->process.in, c->input.data + *given, c->input.len - *given);
    if (n > 0) *given += (size_t)n;
    bool refused = n < 0 && errno != EAGAIN && errno != EINTR; /* a tool needn't read its arguments */
    if (*given == c->input.len || refused) {
        close(c->process.in);
        c->process.in = -1;
    }
}

static void keep_end(text_buffer *errors) {
    if (errors->len <= STDERR_KEPT * 2) return;
    memmove(errors->data, errors->data + errors->len - STDERR_KEPT, STDERR_KEPT);
    errors->len = STDERR_KEPT;
    errors->data[errors->len] = '\0';
}

/* Read what is there; false at the end of the stream. */
static bool drain(int fd, text_buffer *into, char *piece) {
    ssize_t n = read(fd, piece, PIECE);
    if (n > 0) text_add(into, piece, (size_t)n);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* True once nothing more can be wanted from the child. Grandchildren may hold its streams open for ever: after its end
 * one quiet look is enough. */
static bool is_over(running_call *c, int ready, unsigned *looks) {
    if (c->output.len > TOOL_OUTPUT_MAX) {
        c->too_large = true;
        child_signal(&c->process, SIGKILL);
        return true;
    }
    if (is_unwanted(c)) {
        child_signal(&c->process, *looks < GRACE_LOOKS ? SIGTERM : SIGKILL);
        *looks += 1;
        if (*looks > GRACE_LOOKS) return true;
    }
    return ready == 0 && child_ended(&c->process);
}

static void converse(running_call *c) {
    size_t given = 0;
    unsigned looks = 0;
    bool reading[2] = { true, true };
    char *piece = must_alloc(PIECE);
    while (reading[0] || reading[1]) {
        struct pollfd fds[3] = { { reading[0] ? c->process.out : -1, POLLIN, 0 },
                                 { reading[1] ? c->process.err : -1, POLLIN, 0 },
                                 { c->process.in, POLLOUT, 0 } };
        int ready = poll(fds, 3, LOOK_MS);
        if (fds[2].revents != 0) feed_input(c, &given);
        if (fds[0].revents != 0) reading[0] = drain(c->process.out, &c->output, piece);
        if (fds[1].revents != 0) reading[1] = drain(c->process.err, &c->errors, piece);
        keep_end(&c->errors);
        if (is_over(c, ready, &looks)) break;
    }
    /* Its streams may be closed while it still runs. */
    while (!c->too_large && !child_ended(&c->process)) {
        poll(NULL, 0, LOOK_MS / 10);
        if (is_unwanted(c)) child_signal(&c->process, looks++ < GRACE_LOOKS * 10 ? SIGTERM : SIGKILL);
    }
    free(piece);
}

/* The end of stderr as one line, at most REASON_MOST bytes of whole characters. */
static void add_reason(text_buffer *out, const text_buffer *errors) {
    size_t end = errors->len;
    while (end > 0 && strchr(" \t\r\n", errors->data[end - 1]) != NULL)
        end--;
    size_t begin = end > REASON_MOST ? end - REASON_MOST : 0;
    while (begin < end && ((unsigned char)errors->data[begin] & 0xC0) == 0x80)
        begin++;
    if (begin == end) return;
    text_add_z(out, ": ");
    for (size_t i = begin; i < end; i++) {
        char c = errors->data[i] == '\n' || errors->data[i] == '\t' ? ' ' : errors->data[i];
        text_add(out, &c, 1);
    }
}

static void finish_failed(running_call *c, const char *what, int number) {
    char head[96];
    text_buffer reason = { 0 };
    text_buffer visible = { 0 };
    snprintf(head, sizeof head, "%s %d", what, number);
    text_add_z(&reason, head);
    add_reason(&reason, &c->errors);
    text_add_visible(&visible, text_str(&reason), false);
    uar_completion_fail(c->done, UAR_E_TOOL_FAILED, visible.data);
    text_free(&visible);
    text_free(&reason);
}

static void finish_result(running_call *c) {
    uar_str result = uar_str_n(c->output.data != NULL ? c->output.data : "", c->output.len);
    /* What a strict reader would refuse is still what the tool said: a text. */
    if (result.len > 0 && json_fault(result, NULL) == result.len && json_keys_differ(result)) {
        cJSON_Minify(c->output.data);
        uar_completion_json(c->done, c->output.data);
        return;
    }
    if (result.len > 0 && result.ptr[result.len - 1] == '\n') result.len--;
    uar_completion_text(c->done, result.ptr, result.len);
}

static void *run_call(void *arg) {
    running_call *c = arg;
    int fault = start(c);
    if (fault != 0) {
        char reason[160];
        snprintf(reason, sizeof reason, "'%.80s' can't be started: %s", c->command[0], strerror(fault));
        uar_completion_fail(c->done, UAR_E_TOOL_FAILED, reason);
    } else {
        converse(c);
        int status = reap(c);
        if (c->too_large) {
            uar_completion_fail(c->done, UAR_E_TOO_LARGE, "the tool wrote more than 64 MB");
        } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            finish_result(c);
        } else if (WIFEXITED(status)) {
            finish_failed(c, "exit status", WEXITSTATUS(status));
        } else {
            finish_failed(c, "killed by signal", WTERMSIG(status));
        }
    }
    uar_completion_unref(c->done);
    text_free(&c->input);
    text_free(&c->output);
    text_free(&c->errors);
    list_remove(c);
    free(c);
    return NULL;
}

void tool_program_invoke(void *ctx, const uar_tool_call *call, uar_completion *done) {
    const tool_program *program = ctx;
    running_call *c = must_alloc(sizeof *c);
    c->calls = program->calls;
    c->command = program->command;
    c->done = uar_completion_ref(done);
    text_add(&c->input, call->arguments.ptr, call->arguments.len);
    text_add_z(&c->input, "\n");
    list_add(c);
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int fault = pthread_create(&thread, &attr, run_call, c);
    pthread_attr_destroy(&attr);
    if (fault == 0) return;
    list_remove(c);
    uar_completion_fail(done, UAR_E_TOOL_FAILED, "no thread for the tool");
    uar_completion_unref(c->done);
    text_free(&c->input);
    free(c);
}

void tool_program_cancel(void *ctx, const uar_tool_call *call, uar_completion *done) {
    const tool_program *program = ctx;
    (void)call;
    pthread_mutex_lock(&program->calls->lock);
    for (running_call *c = program->calls->first; c != NULL; c = c->next) {
        if (c->done != done) continue;
        c->unwanted = true;
        if (c->started) child_signal(&c->process, SIGTERM);
    }
    pthread_mutex_unlock(&program->calls->lock);
}
