/*
 * test_channel.c - a channel between two threads and one between processes: alignment, both rings,
 * both doorbells, failure of each part.
 */
#include "intake/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "support/channel.h"
#include "support/leaks.h"
#include "support/test.h"

static bool signalled(const nb_wake *wake) {
    struct pollfd watched = {.fd = wake->read_fd, .events = POLLIN};
    return poll(&watched, 1, 0) == 1;
}

static void a_new_channel_is_empty_aligned_and_silent(void **state) {
    (void)state;
    long live = nb_alloc_live();
    unsigned descriptors = nb_test_descriptors();
    nb_wake loop_wake;
    nb_channel *channel;
    assert_status(NB_OK, nb_wake_init(&loop_wake));
    assert_status(NB_OK, nb_test_channel_create(&loop_wake, false, &channel));
    nb_channel_memory *memory = channel->memory;
    nb_board *board = channel->board;
    assert_int_equal(0, (uintptr_t)memory % 64);
    assert_int_equal(0, (uintptr_t)nb_channel_requests(channel) % 64);
    assert_int_equal(0, (uintptr_t)nb_channel_responses(channel) % 64);
    assert_int_equal(0, atomic_load(&board->asked) + atomic_load(&memory->loop_starved) +
                            atomic_load(&memory->executor_blocked) + atomic_load(&board->executor_gone) +
                            atomic_load(&board->pulse.running) + atomic_load(&board->pulse.turns));
    nb_channel_ring_executor(channel);
    nb_channel_ring_loop(channel);
    assert_false(signalled(&channel->link->executor_wake) || signalled(&loop_wake));
    nb_doorbell_announce(&board->executor_bell);
    nb_channel_ring_loop(channel);
    nb_channel_ring_executor(channel);
    nb_channel_ring_executor(channel);
    assert_true(signalled(&channel->link->executor_wake));
    assert_false(signalled(&loop_wake));
    assert_false(nb_doorbell_sleeping(&board->executor_bell));
    nb_doorbell_announce(&memory->loop_bell);
    nb_channel_ring_loop(channel);
    assert_true(signalled(&loop_wake));
    nb_wake_clear(&channel->link->executor_wake);
    nb_channel_ring_busy_executor(channel);
    assert_false(signalled(&channel->link->executor_wake));
    for (int i = 0; i < 2; i++) {
        nb_doorbell_announce(&board->busy_bell);
        (i == 0 ? nb_channel_ring_busy_executor : nb_channel_ring_executor)(channel);
        assert_true(signalled(&channel->link->executor_wake));
        nb_wake_clear(&channel->link->executor_wake);
        nb_channel_ring_executor(channel);
        assert_false(signalled(&channel->link->executor_wake));
    }
    nb_doorbell_announce(&board->executor_bell);
    nb_channel_ring_busy_executor(channel);
    assert_false(signalled(&channel->link->executor_wake));
    nb_channel_destroy(channel);
    nb_channel_destroy(NULL);
    nb_wake_deinit(&loop_wake);
    assert_int_equal(live, nb_alloc_live());
    assert_int_equal(descriptors, nb_test_descriptors());
}

/* Both rings full of records of every size: neither touches the other nor what lies around (ASan
   sees the block's end). */
static void the_rings_do_not_overlap(void **state) {
    (void)state;
    nb_wake loop_wake = {-1, -1};
    nb_channel *channel;
    nb_ring_producer producers[2];
    nb_ring_consumer consumers[2];
    assert_status(NB_OK, nb_test_channel_create(&loop_wake, false, &channel));
    void *rings[] = {nb_channel_requests(channel), nb_channel_responses(channel)};
    for (int i = 0; i < 2; i++) {
        nb_ring_producer_attach(&producers[i], rings[i]);
        nb_ring_consumer_attach(&consumers[i], rings[i]);
    }
    for (size_t size = 1; size <= NB_RING_BYTES / 2; size = size * 3 + 1) {
        unsigned put[2] = {0, 0};
        for (int i = 0; i < 2; i++) {
            for (void *place; (place = nb_ring_reserve(&producers[i], size)); put[i]++) {
                memset(place, 'a' + i, size);
                nb_ring_commit(&producers[i], size);
            }
            nb_ring_publish(&producers[i]);
        }
        for (int i = 0; i < 2; i++) {
            size_t bytes;
            for (const char *record; (record = nb_ring_peek(&consumers[i], &bytes)); put[i]--) {
                assert_int_equal(size, bytes);
                assert_int_equal('a' + i, record[0]);
                assert_int_equal('a' + i, record[size - 1]);
                nb_ring_advance(&consumers[i]);
            }
            nb_ring_release(&consumers[i]);
            assert_int_equal(0, put[i]);
        }
    }
    nb_channel_destroy(channel);
}

/* --- ping and pong by the sleep protocol --- */

enum { ROUNDS = 20000 };

static nb_wake loop_wake;
static nb_channel *shared;

static void *answer(void *argument) {
    (void)argument;
    nb_ring_consumer in;
    nb_ring_producer out;
    nb_ring_consumer_attach(&in, nb_channel_requests(shared));
    nb_ring_producer_attach(&out, nb_channel_responses(shared));
    for (unsigned done = 0; done < ROUNDS;) {
        size_t bytes;
        const uint64_t *record = nb_ring_peek(&in, &bytes);
        if (record) {
            *(uint64_t *)nb_ring_reserve(&out, sizeof *record) = *record + 1;
            nb_ring_commit(&out, sizeof *record);
            nb_ring_advance(&in);
            nb_ring_release(&in);
            nb_ring_publish(&out);
            nb_channel_ring_loop(shared);
            done++;
            continue;
        }
        nb_doorbell_announce(&shared->board->executor_bell);
        if (!nb_ring_readable(&in)) nb_wake_wait(&shared->link->executor_wake, -1);
        nb_doorbell_cancel(&shared->board->executor_bell);
    }
    return NULL;
}

static void no_message_waits_for_a_sleeper(void **state) {
    (void)state;
    nb_ring_producer out;
    nb_ring_consumer in;
    assert_status(NB_OK, nb_wake_init(&loop_wake));
    assert_status(NB_OK, nb_test_channel_create(&loop_wake, false, &shared));
    nb_ring_producer_attach(&out, nb_channel_requests(shared));
    nb_ring_consumer_attach(&in, nb_channel_responses(shared));
    nb_test_alarm(60);
    pthread_t thread = nb_test_thread(answer, NULL);
    for (uint64_t sent = 0; sent < ROUNDS; sent++) {
        size_t bytes;
        const uint64_t *record;
        *(uint64_t *)nb_ring_reserve(&out, sizeof sent) = sent;
        nb_ring_commit(&out, sizeof sent);
        nb_ring_publish(&out);
        nb_channel_ring_executor(shared);
        while (!(record = nb_ring_peek(&in, &bytes))) {
            nb_doorbell_announce(&shared->memory->loop_bell);
            if (!nb_ring_readable(&in)) nb_wake_wait(&loop_wake, -1);
            nb_doorbell_cancel(&shared->memory->loop_bell);
        }
        assert_int_equal(sent + 1, *record);
        nb_ring_advance(&in);
        nb_ring_release(&in);
    }
    nb_test_join(thread);
    nb_channel_destroy(shared);
    nb_wake_deinit(&loop_wake);
}

/* --- shared --- */

static nb_channel *attach_to(const nb_channel *channel) {
    int theirs[NB_LINK_DESCRIPTORS(1)], ours[NB_LINK_DESCRIPTORS(1)];
    nb_channel *far;
    nb_link_descriptors(channel->link, theirs);
    for (int i = 0; i < NB_LINK_DESCRIPTORS(1); i++)
        assert_true((ours[i] = fcntl(theirs[i], F_DUPFD_CLOEXEC, 3)) >= 0);
    assert_status(NB_OK, nb_test_channel_attach(ours, &far));
    return far;
}

static nb_channel *shared_channel(const nb_wake *wake) {
    nb_channel *channel;
    assert_status(NB_OK, nb_test_channel_create(wake, true, &channel));
    assert_true(nb_channel_is_shared(channel));
    return channel;
}

static void put(nb_channel *channel, void *ring, uint64_t value) {
    nb_ring_producer out;
    (void)channel;
    nb_ring_producer_attach(&out, ring);
    *(uint64_t *)nb_ring_reserve(&out, sizeof value) = value;
    nb_ring_commit(&out, sizeof value);
    nb_ring_publish(&out);
}

static uint64_t get(void *ring) {
    nb_ring_consumer in;
    size_t bytes;
    nb_ring_consumer_attach(&in, ring);
    const uint64_t *record = nb_ring_peek(&in, &bytes);
    if (!record) return 0;
    uint64_t value = *record;
    nb_ring_advance(&in);
    nb_ring_release(&in);
    return value;
}

static void two_ends_of_a_shared_channel_see_each_other(void **state) {
    (void)state;
    long live = nb_alloc_live();
    unsigned descriptors = nb_test_descriptors();
    assert_status(NB_OK, nb_wake_init(&loop_wake));
    nb_channel *near = shared_channel(&loop_wake), *far = attach_to(near);
    nb_link_handed_over(near->link);
    nb_link_handed_over(near->link);
    assert_ptr_not_equal(near->memory, far->memory);
    put(near, nb_channel_requests(near), 11);
    put(far, nb_channel_responses(far), 22);
    assert_int_equal(11, get(nb_channel_requests(far)));
    assert_int_equal(22, get(nb_channel_responses(near)));
    nb_doorbell_announce(&far->board->executor_bell);
    nb_channel_ring_executor(near);
    assert_true(signalled(&far->link->executor_wake));
    nb_doorbell_announce(&near->memory->loop_bell);
    nb_channel_ring_loop(far);
    assert_true(signalled(&loop_wake));
    for (int i = 0; i < 2; i++) {
        int sent = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_status(NB_OK, nb_channel_send_fd(i ? near : far, sent));
        close(sent); /* it stays the sender's as well */
        int came = nb_channel_receive_fd(i ? far : near, 99);
        assert_true(came >= 0);
        close(came);
        assert_int_equal(-1, nb_channel_receive_fd(i ? far : near, 99));
    }
    nb_channel_destroy(far);
    assert_status(NB_SYSTEM, nb_channel_send_fd(near, 0));
    nb_channel_destroy(near);
    nb_wake_deinit(&loop_wake);
    assert_int_equal(live, nb_alloc_live());
    assert_int_equal(descriptors, nb_test_descriptors());
}

static void in_one_process_a_descriptor_is_handed_over_as_it_is(void **state) {
    (void)state;
    nb_wake none = {-1, -1};
    nb_channel *channel;
    assert_status(NB_OK, nb_test_channel_create(&none, false, &channel));
    assert_status(NB_OK, nb_channel_send_fd(channel, 5));
    assert_int_equal(5, nb_channel_receive_fd(channel, 5));
    nb_channel_destroy(channel);
}

static void a_forked_child_answers_through_it(void **state) {
    (void)state;
    nb_test_alarm(60);
    assert_status(NB_OK, nb_wake_init(&loop_wake));
    nb_channel *near = shared_channel(&loop_wake);
    put(near, nb_channel_requests(near), 41);
    pid_t child = fork();
    if (child == 0) {
        int theirs[NB_LINK_DESCRIPTORS(1)];
        nb_channel *far;
        nb_link_descriptors(near->link, theirs);
        if (nb_test_channel_attach(theirs, &far) != NB_OK) _exit(1);
        put(far, nb_channel_responses(far), get(nb_channel_requests(far)) + 1);
        if (nb_channel_send_fd(far, STDIN_FILENO) != NB_OK) _exit(2);
        nb_channel_ring_loop(far);
        _exit(0);
    }
    uint64_t answered = 0;
    nb_link_handed_over(near->link);
    while ((answered = get(nb_channel_responses(near))) == 0) {
        nb_doorbell_announce(&near->memory->loop_bell);
        if ((answered = get(nb_channel_responses(near))) != 0) break;
        nb_wake_wait(&loop_wake, -1);
    }
    assert_int_equal(42, answered);
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    int came = nb_channel_receive_fd(near, 0); /* it lived longer than its sender */
    assert_true(came >= 0);
    close(came);
    nb_channel_destroy(near);
    nb_wake_deinit(&loop_wake);
    nb_test_alarm(0);
}

static void another_builds_channel_or_what_is_none_is_refused_and_its_descriptors_closed(void **state) {
    (void)state;
    long live = nb_alloc_live();
    unsigned descriptors = nb_test_descriptors();
    assert_status(NB_OK, nb_wake_init(&loop_wake));
    nb_channel *near = shared_channel(&loop_wake), *far = NULL;
    near->board->layout++;
    /* Another layout, a file that is too small, and no descriptor. */
    for (int kind = 0; kind < 3; kind++) {
        int theirs[NB_LINK_DESCRIPTORS(1)], ours[NB_LINK_DESCRIPTORS(1)];
        nb_link_descriptors(near->link, theirs);
        for (int i = 0; i < NB_LINK_DESCRIPTORS(1); i++)
            ours[i] = fcntl(theirs[i], F_DUPFD_CLOEXEC, 3);
        if (kind > 0) {
            close(ours[0]);
            ours[0] = kind == 1 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
        }
        assert_status(kind == 2 ? NB_SYSTEM : NB_INVALID, nb_test_channel_attach(ours, &far));
        assert_null(far);
    }
    int theirs[NB_LINK_DESCRIPTORS(1)], ours[NB_LINK_DESCRIPTORS(1)];
    nb_link_descriptors(near->link, theirs);
    for (int i = 0; i < NB_LINK_DESCRIPTORS(1); i++)
        ours[i] = fcntl(theirs[i], F_DUPFD_CLOEXEC, 3);
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_test_channel_attach(ours, &far));
    nb_alloc_fail_at(0);
    nb_channel_destroy(near);
    nb_wake_deinit(&loop_wake);
    assert_int_equal(live, nb_alloc_live());
    assert_int_equal(descriptors, nb_test_descriptors());
}

/* Each descriptor it needs may be the one too many. */
static void without_descriptors_no_shared_channel_is_made_and_nothing_is_left(void **state) {
    (void)state;
    long live = nb_alloc_live();
    unsigned descriptors = nb_test_descriptors();
    struct rlimit before, full;
    nb_wake none = {-1, -1};
    nb_channel *channel;
    nb_status status = NB_SYSTEM;
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &before));
    unsigned refused = 0;
    for (full = before, full.rlim_cur = 3; status != NB_OK; full.rlim_cur++) {
        assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &full));
        status = nb_test_channel_create(&none, true, &channel);
        int error = errno;
        assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &before));
        if (status == NB_OK) break;
        assert_status(NB_SYSTEM, status);
        assert_int_equal(EMFILE, error);
        assert_int_equal(descriptors, nb_test_descriptors());
        refused++;
    }
    assert_true(refused >= 4);
    nb_channel_destroy(channel);
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_test_channel_create(&none, true, &channel));
    nb_alloc_fail_at(0);
    assert_int_equal(live, nb_alloc_live());
    assert_int_equal(descriptors, nb_test_descriptors());
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    long live = nb_alloc_live();
    nb_wake none = {-1, -1};
    nb_channel *channel = NULL;
    for (unsigned long n = 1; n <= 2; n++) {
        nb_alloc_fail_at(n);
        assert_status(NB_NO_MEMORY, nb_test_channel_create(&none, false, &channel));
        assert_null(channel);
        assert_int_equal(live, nb_alloc_live());
    }
    nb_alloc_fail_at(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_channel_is_empty_aligned_and_silent),
        cmocka_unit_test(the_rings_do_not_overlap),
        cmocka_unit_test(no_message_waits_for_a_sleeper),
        cmocka_unit_test(two_ends_of_a_shared_channel_see_each_other),
        cmocka_unit_test(in_one_process_a_descriptor_is_handed_over_as_it_is),
        cmocka_unit_test(a_forked_child_answers_through_it),
        cmocka_unit_test(another_builds_channel_or_what_is_none_is_refused_and_its_descriptors_closed),
        cmocka_unit_test(without_descriptors_no_shared_channel_is_made_and_nothing_is_left),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
