/*
 * thread.c - starts native threads. Signals stay with the threads that existed before, and the
 * name shows in ps and gdb.
 */
#include "os/thread.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#endif

#include "base/alloc.h"
#include "os/clock.h"
#include "os/file.h"

typedef struct start {
    void *(*body)(void *);
    void *argument;
    char name[16];
} start;

#if defined(__APPLE__)
static void name_self(const char *name) { (void)pthread_setname_np(name); }
#elif defined(__linux__)
static void name_self(const char *name) { (void)pthread_setname_np(pthread_self(), name); }
#else
static void name_self(const char *name) { (void)name; }
#endif

static void *run(void *pointer) {
    start own = *(start *)pointer;
    nb_free(pointer);
    name_self(own.name);
    return own.body(own.argument);
}

nb_status nb_thread_start(const char *name, void *(*body)(void *), void *argument, pthread_t *thread) {
    start *given = nb_alloc(sizeof *given);
    if (given == NULL) {
        errno = ENOMEM;
        return NB_NO_MEMORY;
    }
    *given = (start){.body = body, .argument = argument};
    snprintf(given->name, sizeof given->name, "%s", name);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, given);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) return NB_OK;
    nb_free(given);
    errno = error;
    return NB_SYSTEM;
}

#if defined(__linux__)
void nb_thread_wake_gently(void) {
    const struct sched_param none = {0};
    (void)sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &none);
}
#else
void nb_thread_wake_gently(void) {}
#endif

#if defined(RUSAGE_THREAD)
static int64_t ns_of(struct timeval time) { return time.tv_sec * NB_NS_PER_S + time.tv_usec * 1000ll; }

nb_thread_use nb_thread_used(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (nb_thread_use){ns_of(usage.ru_utime) + ns_of(usage.ru_stime), (uint64_t)usage.ru_nivcsw};
}
#else
nb_thread_use nb_thread_used(void) { return (nb_thread_use){nb_clock_thread_ns(), 0}; }
#endif

#if defined(__linux__)
long nb_thread_number(void) { return syscall(SYS_gettid); }

/* Reads the start of a thread's `file` in proc(5). False: the thread has ended, or the system does
   not tell. */
static bool read_task(long number, const char *file, char *text, size_t room) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/%s", number, file);
    return nb_file_read_text(path, text, room);
}

/* The state letter of "NUMBER (NAME) STATE ...", whose name may have anything in it; 0: the thread
   has ended. */
static char state_of(long number) {
    char text[128];
    if (!read_task(number, "stat", text, sizeof text)) return 0;
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : 0;
}

bool nb_thread_sleeps(long number) {
    char state = state_of(number);
    return state == 'S' || state == 'D';
}

/* The text is "RAN DELAY SLICES", in nanoseconds. */
int64_t nb_thread_starved_ns(long number) {
    char text[96], *rest;
    if (!read_task(number, "schedstat", text, sizeof text)) return 0;
    (void)strtoll(text, &rest, 10);
    return (int64_t)strtoll(rest, NULL, 10);
}

/* Transfers are not restarted where the socket has a timeout (signal(7)). */
static bool has_time_limit(int fd) {
    struct timeval receives = {0}, sends = {0};
    socklen_t size = sizeof receives;
    if (getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &receives, &size) != 0) return errno != ENOTSOCK;
    size = sizeof sends;
    if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &sends, &size) != 0) return true;
    return receives.tv_sec || receives.tv_usec || sends.tv_sec || sends.tv_usec;
}

#define NO_CALL (-1)

/* The text is "running", or "NUMBER ARGUMENT0 ...", with hexadecimal arguments. A number below 0:
   in no call, but not running (a page fault). */
static bool read_call(long number, long *call, unsigned long arguments[4]) {
    char text[256];
    if (!read_task(number, "syscall", text, sizeof text)) return false;
    char *rest = text;
    *call = strncmp(text, "running", 7) == 0 ? NO_CALL : strtol(text, &rest, 10);
    for (int i = 0; i < 4; i++)
        arguments[i] = *call < 0 ? 0 : strtoul(rest, &rest, 16);
    return true;
}

bool nb_thread_restarts(long number) {
    long call;
    unsigned long arguments[4];
    if (!read_call(number, &call, arguments)) return false;
    switch (call) {
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_recvfrom:
    case SYS_sendto:
    case SYS_recvmsg:
    case SYS_sendmsg:
        return !has_time_limit((int)arguments[0]);
    case SYS_futex: /* with a time limit it is not */
        return arguments[3] == 0;
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_openat:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_wait4:
    case SYS_waitid:
        return true;
    default:
        return call < 0;
    }
}

/* Calls in which a thread waits. Those that not every architecture has are in an #if. */
static const struct {
    long call;
    const char *name;
} waits[] = {
    {SYS_read, "read(2)"},
    {SYS_write, "write(2)"},
    {SYS_recvfrom, "recv(2)"},
    {SYS_sendto, "send(2)"},
    {SYS_recvmsg, "recvmsg(2)"},
    {SYS_sendmsg, "sendmsg(2)"},
    {SYS_connect, "connect(2)"},
    {SYS_accept4, "accept(2)"},
    {SYS_futex, "futex(2)"},
    {SYS_nanosleep, "nanosleep(2)"},
    {SYS_clock_nanosleep, "nanosleep(2)"},
    {SYS_ppoll, "poll(2)"},
    {SYS_pselect6, "select(2)"},
    {SYS_epoll_pwait, "epoll_wait(2)"},
#if defined(SYS_poll)
    {SYS_poll, "poll(2)"},
    {SYS_select, "select(2)"},
    {SYS_epoll_wait, "epoll_wait(2)"},
#endif
};

const char *nb_thread_waits_in(long number) {
    long call;
    unsigned long arguments[4];
    if (!read_call(number, &call, arguments)) return NULL;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        if (waits[i].call == call) return waits[i].name;
    }
    return NULL;
}

bool nb_thread_others_run(void) {
    bool any = false;
    long own = nb_thread_number();
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    while (folder && !any && (entry = readdir(folder))) {
        long number = strtol(entry->d_name, NULL, 10);
        any = number > 0 && number != own && state_of(number) == 'R';
    }
    if (folder) closedir(folder);
    return any;
}
#else
long nb_thread_number(void) { return 0; }

bool nb_thread_sleeps(long number) {
    (void)number;
    return false;
}

int64_t nb_thread_starved_ns(long number) {
    (void)number;
    return 0;
}

bool nb_thread_restarts(long number) {
    (void)number;
    return false;
}

const char *nb_thread_waits_in(long number) {
    (void)number;
    return NULL;
}

bool nb_thread_others_run(void) { return false; }
#endif

#if defined(__APPLE__)
bool nb_thread_clock(pthread_t thread, clockid_t *clock) {
    (void)thread;
    (void)clock;
    return false;
}
#else
bool nb_thread_clock(pthread_t thread, clockid_t *clock) { return pthread_getcpuclockid(thread, clock) == 0; }
#endif

int64_t nb_thread_ran_ns(clockid_t clock) {
    struct timespec ran;
    if (clock_gettime(clock, &ran) != 0) return 0;
    return (int64_t)ran.tv_sec * NB_NS_PER_S + ran.tv_nsec;
}

#if defined(__APPLE__)
void nb_thread_cond_init(pthread_cond_t *cond) { pthread_cond_init(cond, NULL); }

bool nb_thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns) {
    int64_t left_ns = deadline_ns - nb_clock_monotonic_ns();
    if (left_ns <= 0) return false;
    struct timespec left = {(time_t)(left_ns / NB_NS_PER_S), (long)(left_ns % NB_NS_PER_S)};
    return pthread_cond_timedwait_relative_np(cond, mutex, &left) != ETIMEDOUT;
}
#else
void nb_thread_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool nb_thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns) {
    struct timespec deadline = {(time_t)(deadline_ns / NB_NS_PER_S), (long)(deadline_ns % NB_NS_PER_S)};
    return pthread_cond_timedwait(cond, mutex, &deadline) != ETIMEDOUT;
}
#endif
