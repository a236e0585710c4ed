/* Locks, and work that is done once per process: POSIX threads, or what Windows has for the same. */
#ifndef PB_THREADS_H
#define PB_THREADS_H

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
/* Empty macros for compilers of the eighties. */
#undef near
#undef far

typedef SRWLOCK pb_mutex;
static inline void pb_mutex_init(pb_mutex *m) { InitializeSRWLock(m); }
static inline void pb_mutex_destroy(pb_mutex *m) { (void)m; }
static inline void pb_mutex_lock(pb_mutex *m) { AcquireSRWLockExclusive(m); }
static inline void pb_mutex_unlock(pb_mutex *m) { ReleaseSRWLockExclusive(m); }

typedef INIT_ONCE pb_once;
#define PB_ONCE INIT_ONCE_STATIC_INIT
static BOOL CALLBACK pb_call_once(PINIT_ONCE once, PVOID work, PVOID *unused) {
    (void)once, (void)unused;
    (*(void (**)(void))work)();
    return TRUE;
}
static inline void pb_do_once(pb_once *once, void (*work)(void)) {
    InitOnceExecuteOnce(once, pb_call_once, (PVOID)&work, NULL);
}
#else
#include <pthread.h>

typedef pthread_mutex_t pb_mutex;
static inline void pb_mutex_init(pb_mutex *m) { pthread_mutex_init(m, NULL); }
static inline void pb_mutex_destroy(pb_mutex *m) { pthread_mutex_destroy(m); }
static inline void pb_mutex_lock(pb_mutex *m) { pthread_mutex_lock(m); }
static inline void pb_mutex_unlock(pb_mutex *m) { pthread_mutex_unlock(m); }

typedef pthread_once_t pb_once;
#define PB_ONCE PTHREAD_ONCE_INIT
static inline void pb_do_once(pb_once *once, void (*work)(void)) { pthread_once(once, work); }
#endif

#endif
