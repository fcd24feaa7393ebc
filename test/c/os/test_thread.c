/*
 * test_thread.c - native threads: names, signals, failure to start, timed waits.
 */
#include "support/test.h"

#include <errno.h>
#include <signal.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/thread.h"

typedef struct report {
    bool blocks_usr1, blocks_term, blocks_pipe;
    char name[32];
} report;

static void *look_around(void *pointer) {
    report *r = pointer;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    r->blocks_usr1 = sigismember(&blocked, SIGUSR1);
    r->blocks_term = sigismember(&blocked, SIGTERM);
    r->blocks_pipe = sigismember(&blocked, SIGPIPE);
#if defined(__linux__) || defined(__APPLE__)
    pthread_getname_np(pthread_self(), r->name, sizeof r->name);
#endif
    return pointer;
}

static report start_and_join(const char *name) {
    report r = {0};
    pthread_t thread;
    void *result = NULL;
    assert_status(NB_OK, nb_thread_start(name, look_around, &r, &thread));
    assert_int_equal(0, pthread_join(thread, &result));
    assert_ptr_equal(&r, result);
    return r;
}

static void a_thread_blocks_every_signal_and_leaves_ours_alone(void **state) {
    (void)state;
    sigset_t mine;
    report r = start_and_join("x");
    assert_true(r.blocks_usr1 && r.blocks_term && r.blocks_pipe);
    pthread_sigmask(SIG_BLOCK, NULL, &mine);
    assert_false(sigismember(&mine, SIGUSR1));
}

#if defined(__linux__) || defined(__APPLE__)
static void a_thread_has_its_name_cut_to_15_bytes(void **state) {
    (void)state;
    assert_string_equal("nb-io-1", start_and_join("nb-io-1").name);
    assert_string_equal("123456789012345", start_and_join("1234567890123456789").name);
}
#endif

static void without_memory_no_thread_starts(void **state) {
    (void)state;
    pthread_t thread;
    long live = nb_alloc_live();
    nb_alloc_fail_at(1);
    errno = 0;
    assert_status(NB_NO_MEMORY, nb_thread_start("x", look_around, NULL, &thread));
    assert_int_equal(ENOMEM, errno);
    assert_int_equal(live, nb_alloc_live());
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool flag;

static void *set_flag(void *unused) {
    pthread_mutex_lock(&lock);
    flag = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void a_timed_wait_ends_at_its_deadline_or_when_signalled(void **state) {
    (void)state;
    nb_thread_cond_init(&changed);
    pthread_mutex_lock(&lock);
    int64_t deadline_ns = nb_clock_monotonic_ns() + 5 * NB_NS_PER_MS;
    while (nb_thread_cond_wait_until(&changed, &lock, deadline_ns)) {
    }
    assert_true(nb_clock_monotonic_ns() >= deadline_ns);
    assert_false(nb_thread_cond_wait_until(&changed, &lock, 0));
    pthread_t thread = nb_test_thread(set_flag, NULL);
    bool in_time = true;
    while (!flag && in_time)
        in_time = nb_thread_cond_wait_until(&changed, &lock, nb_clock_monotonic_ns() + 20 * NB_NS_PER_S);
    pthread_mutex_unlock(&lock);
    nb_test_join(thread);
    assert_true(in_time);
    pthread_cond_destroy(&changed);
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_blocks_every_signal_and_leaves_ours_alone),
#if defined(__linux__) || defined(__APPLE__)
        cmocka_unit_test(a_thread_has_its_name_cut_to_15_bytes),
#endif
        cmocka_unit_test(without_memory_no_thread_starts),
        cmocka_unit_test(a_timed_wait_ends_at_its_deadline_or_when_signalled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
