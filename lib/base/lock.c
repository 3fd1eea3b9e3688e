/*
 * Mutexes, conditions and threads over pthread or Win32.
 * Owns nothing beyond what it is handed; timed waits run on the monotonic clock, so that a clock set by hand neither
 * ends nor prolongs them.
 */
#include "base/lock.h"

#include <assert.h>

typedef struct thread_begin {
    thread_fn fn;
    void *arg;
    mutex lock;
    condition taken;
    bool is_taken;
} thread_begin;

/* The new thread takes its orders off the starter's stack: no memory is needed that could be missing. */
static void thread_run(thread_begin *begin) {
    thread_fn fn = begin->fn;
    void *arg = begin->arg;
    mutex_lock(&begin->lock);
    begin->is_taken = true;
    condition_signal(&begin->taken);
    mutex_unlock(&begin->lock);
    fn(arg);
}

static uar_status thread_create(thread *out, size_t stack, thread_begin *begin);

uar_status thread_start(thread *out, size_t stack, thread_fn fn, void *arg) {
    assert(out != NULL && fn != NULL);
    thread_begin begin = { .fn = fn, .arg = arg };
    uar_status status = mutex_init(&begin.lock);
    if (status != UAR_OK) return status;
    status = condition_init(&begin.taken);
    if (status == UAR_OK) {
        status = thread_create(out, stack, &begin);
        if (status == UAR_OK) {
            mutex_lock(&begin.lock);
            while (!begin.is_taken)
                condition_wait(&begin.taken, &begin.lock, UAR_FOREVER);
            mutex_unlock(&begin.lock);
        }
        condition_dispose(&begin.taken);
    }
    mutex_dispose(&begin.lock);
    return status;
}

#if defined(_WIN32)

uar_status mutex_init(mutex *m) {
    InitializeSRWLock(&m->os);
    return UAR_OK;
}

void mutex_dispose(mutex *m) {
    (void)m;
}

void mutex_lock(mutex *m) {
    AcquireSRWLockExclusive(&m->os);
}

void mutex_unlock(mutex *m) {
    ReleaseSRWLockExclusive(&m->os);
}

uar_status condition_init(condition *c) {
    InitializeConditionVariable(&c->os);
    return UAR_OK;
}

void condition_dispose(condition *c) {
    (void)c;
}

bool condition_wait(condition *c, mutex *m, uint32_t ms) {
    if (SleepConditionVariableSRW(&c->os, &m->os, ms == UAR_FOREVER ? INFINITE : ms, 0)) return true;
    assert(GetLastError() == ERROR_TIMEOUT);
    return false;
}

void condition_signal(condition *c) {
    WakeConditionVariable(&c->os);
}

void condition_broadcast(condition *c) {
    WakeAllConditionVariable(&c->os);
}

static DWORD WINAPI thread_main(LPVOID begin) {
    thread_run(begin);
    return 0;
}

static uar_status thread_create(thread *out, size_t stack, thread_begin *begin) {
    HANDLE made = CreateThread(NULL, stack, thread_main, begin, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (made == NULL) return UAR_E_NOMEM;
    *out = made;
    return UAR_OK;
}

void thread_join(thread t) {
    WaitForSingleObject(t, INFINITE);
    CloseHandle(t);
}

void thread_detach(thread t) {
    CloseHandle(t);
}

thread_id thread_self(void) {
    return GetCurrentThreadId();
}

bool thread_is(thread_id a, thread_id b) {
    return a == b;
}

#else

#include <errno.h>
#include <time.h>

enum { STACK_STEP = 64 * 1024 }; /* a multiple of every page size in use */

/* Failing here means a destroyed or misused object: a fault of the caller that no status can repair. */
static void must(int rc) {
    assert(rc == 0);
    (void)rc;
}

uar_status mutex_init(mutex *m) {
    return pthread_mutex_init(&m->os, NULL) == 0 ? UAR_OK : UAR_E_NOMEM;
}

void mutex_dispose(mutex *m) {
    must(pthread_mutex_destroy(&m->os));
}

void mutex_lock(mutex *m) {
    must(pthread_mutex_lock(&m->os));
}

void mutex_unlock(mutex *m) {
    must(pthread_mutex_unlock(&m->os));
}

#if defined(__APPLE__)

uar_status condition_init(condition *c) {
    return pthread_cond_init(&c->os, NULL) == 0 ? UAR_OK : UAR_E_NOMEM;
}

/* Apple has no monotonic conditions, but a relative wait. */
static int wait_for(condition *c, mutex *m, uint32_t ms) {
    struct timespec span = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000L };
    return pthread_cond_timedwait_relative_np(&c->os, &m->os, &span);
}

#else

uar_status condition_init(condition *c) {
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr) != 0) return UAR_E_NOMEM;
    int rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (rc == 0) rc = pthread_cond_init(&c->os, &attr);
    pthread_condattr_destroy(&attr);
    return rc == 0 ? UAR_OK : UAR_E_NOMEM;
}

static int wait_for(condition *c, mutex *m, uint32_t ms) {
    struct timespec until;
    must(clock_gettime(CLOCK_MONOTONIC, &until));
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    return pthread_cond_timedwait(&c->os, &m->os, &until);
}

#endif

void condition_dispose(condition *c) {
    must(pthread_cond_destroy(&c->os));
}

bool condition_wait(condition *c, mutex *m, uint32_t ms) {
    int rc = ms == UAR_FOREVER ? pthread_cond_wait(&c->os, &m->os) : wait_for(c, m, ms);
    assert(rc == 0 || rc == ETIMEDOUT);
    return rc != ETIMEDOUT;
}

void condition_signal(condition *c) {
    must(pthread_cond_signal(&c->os));
}

void condition_broadcast(condition *c) {
    must(pthread_cond_broadcast(&c->os));
}

static void *thread_main(void *begin) {
    thread_run(begin);
    return NULL;
}

static uar_status thread_create(thread *out, size_t stack, thread_begin *begin) {
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) return UAR_E_NOMEM;
    size_t rounded = (stack + STACK_STEP - 1) / STACK_STEP * STACK_STEP;
    int rc = stack != 0 ? pthread_attr_setstacksize(&attr, rounded) : 0;
    thread made;
    if (rc == 0) rc = pthread_create(&made, &attr, thread_main, begin);
    pthread_attr_destroy(&attr);
    if (rc != 0) return UAR_E_NOMEM;
    *out = made;
    return UAR_OK;
}

void thread_join(thread t) {
    must(pthread_join(t, NULL));
}

void thread_detach(thread t) {
    must(pthread_detach(t));
}

thread_id thread_self(void) {
    return pthread_self();
}

bool thread_is(thread_id a, thread_id b) {
    return pthread_equal(a, b) != 0;
}

#endif
