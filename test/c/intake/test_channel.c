/*
 * test_channel.c - a channel between two threads: alignment, both rings, both doorbells, failure of each part.
 */
#include "intake/channel.h"

#include <poll.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "support/test.h"
#include "support/world.h"

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
    assert_status(NB_OK, nb_channel_create(&loop_wake, &channel));
    nb_channel_memory *memory = channel->memory;
    assert_int_equal(0, (uintptr_t)memory % 64);
    assert_int_equal(0, (uintptr_t)nb_channel_requests(channel) % 64);
    assert_int_equal(0, (uintptr_t)nb_channel_responses(channel) % 64);
    assert_int_equal(0, atomic_load(&memory->wanted) + atomic_load(&memory->loop_starved) +
                            atomic_load(&memory->executor_blocked) + atomic_load(&memory->executor_gone) +
                            atomic_load(&memory->pulse.running) + atomic_load(&memory->pulse.turns));
    nb_channel_ring_executor(channel);
    nb_channel_ring_loop(channel);
    assert_false(signalled(&channel->executor_wake) || signalled(&loop_wake));
    nb_doorbell_announce(&memory->executor_bell);
    nb_channel_ring_loop(channel);
    nb_channel_ring_executor(channel);
    nb_channel_ring_executor(channel);
    assert_true(signalled(&channel->executor_wake));
    assert_false(signalled(&loop_wake));
    assert_false(nb_doorbell_sleeping(&memory->executor_bell));
    nb_doorbell_announce(&memory->loop_bell);
    nb_channel_ring_loop(channel);
    assert_true(signalled(&loop_wake));
    nb_channel_destroy(channel);
    nb_channel_destroy(NULL);
    nb_wake_deinit(&loop_wake);
    assert_int_equal(live, nb_alloc_live());
    assert_int_equal(descriptors, nb_test_descriptors());
}

/* Both rings full of records of every size: neither touches the other nor what lies around (ASan sees the block's end). */
static void the_rings_do_not_overlap(void **state) {
    (void)state;
    nb_wake loop_wake = {-1, -1};
    nb_channel *channel;
    nb_ring_producer producers[2];
    nb_ring_consumer consumers[2];
    assert_status(NB_OK, nb_channel_create(&loop_wake, &channel));
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
        nb_doorbell_announce(&shared->memory->executor_bell);
        if (!nb_ring_readable(&in)) nb_wake_wait(&shared->executor_wake, -1);
        nb_doorbell_cancel(&shared->memory->executor_bell);
    }
    return NULL;
}

static void no_message_waits_for_a_sleeper(void **state) {
    (void)state;
    nb_ring_producer out;
    nb_ring_consumer in;
    assert_status(NB_OK, nb_wake_init(&loop_wake));
    assert_status(NB_OK, nb_channel_create(&loop_wake, &shared));
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

static void each_allocation_may_fail(void **state) {
    (void)state;
    long live = nb_alloc_live();
    nb_wake none = {-1, -1};
    nb_channel *channel = NULL;
    for (unsigned long n = 1; n <= 2; n++) {
        nb_alloc_fail_at(n);
        assert_status(NB_NO_MEMORY, nb_channel_create(&none, &channel));
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
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
