/*
 * Threads, mutexes, conditions over pthread or Win32. A mutex is not recursive. Lock order is stated by each owner.
 * No lock of the library is held across a call-out to the host, but for allocator, clock and random.
 */
#ifndef UAR_LIB_BASE_LOCK_H
#define UAR_LIB_BASE_LOCK_H

#include <uar/base.h>

#if defined(_WIN32)
#include <windows.h>
typedef struct mutex {
    SRWLOCK os;
} mutex;
#define MUTEX_INIT \
    { SRWLOCK_INIT }
typedef struct condition {
    CONDITION_VARIABLE os;
} condition;
typedef HANDLE thread;
typedef DWORD thread_id;
#else
#include <pthread.h>
typedef struct mutex {
    pthread_mutex_t os;
} mutex;
#define MUTEX_INIT \
    { PTHREAD_MUTEX_INITIALIZER }
typedef struct condition {
    pthread_cond_t os;
} condition;
typedef pthread_t thread;
typedef pthread_t thread_id;
#endif

uar_status mutex_init(mutex *m);
void mutex_dispose(mutex *m);
void mutex_lock(mutex *m);
void mutex_unlock(mutex *m);

uar_status condition_init(condition *c);
void condition_dispose(condition *c);
/* Wait until signalled or for at most `ms` milliseconds (UAR_FOREVER: no limit). False when the time was over. Spurious wake-ups happen. */
bool condition_wait(condition *c, mutex *m, uint32_t ms);
void condition_signal(condition *c);
void condition_broadcast(condition *c);

typedef void (*thread_fn)(void *arg);
/* `stack` in bytes, rounded up to 64 KiB; 0: the platform's own. Returns when the thread has begun. UAR_E_NOMEM when no
 * thread can be had. */
uar_status thread_start(thread *out, size_t stack, thread_fn fn, void *arg);
void thread_join(thread t);
/* Let it end alone; it must not be joined any more. */
void thread_detach(thread t);
thread_id thread_self(void);
bool thread_is(thread_id a, thread_id b);

#endif
