/*
 * test_ring.c - the record ring: every size at every place, fullness, batches, and transfers
 * between threads and processes. Includes its .c to set the positions of an empty ring, which
 * otherwise takes many records.
 */
#include "base/ring.c"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

enum { CAPACITY = 4096 };

typedef struct pair {
    void *memory;
    nb_ring_producer producer;
    nb_ring_consumer consumer;
} pair;

static void attach(pair *p) {
    nb_ring_producer_attach(&p->producer, p->memory);
    nb_ring_consumer_attach(&p->consumer, p->memory);
}

/* Exactly the bytes asked for, so that ASan sees a write past them. */
static pair new_pair(size_t capacity) {
    pair p;
    assert_int_equal(0, posix_memalign(&p.memory, 64, nb_ring_memory_bytes(capacity)));
    assert_status(NB_OK, nb_ring_format(p.memory, capacity));
    attach(&p);
    return p;
}

static void move_to(pair *p, uint64_t position) {
    nb_ring_memory *ring = p->memory;
    atomic_store(&ring->published, position);
    atomic_store(&ring->released, position);
    attach(p);
}

static bool send_text(pair *p, const char *text) {
    void *record = nb_ring_reserve(&p->producer, strlen(text));
    if (record == NULL) return false;
    memcpy(record, text, strlen(text));
    nb_ring_commit(&p->producer, strlen(text));
    return true;
}

static void assert_next_is(pair *p, const char *text) {
    size_t bytes = 0;
    const void *record = nb_ring_peek(&p->consumer, &bytes);
    assert_non_null(record);
    assert_int_equal(strlen(text), bytes);
    assert_memory_equal(text, record, bytes);
    nb_ring_advance(&p->consumer);
}

static void only_powers_of_two_from_4096_are_capacities(void **state) {
    (void)state;
    static const size_t wrong[] = {0, 1, 2048, 4095, 4097, 5000, 12288};
    void *memory;
    assert_int_equal(0, posix_memalign(&memory, 64, nb_ring_memory_bytes(16384)));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_status(NB_INVALID, nb_ring_format(memory, wrong[i]));
    assert_status(NB_OK, nb_ring_format(memory, 4096));
    assert_status(NB_OK, nb_ring_format(memory, 8192));
    free(memory);
}

static void an_empty_ring_has_nothing_to_peek_publish_or_release(void **state) {
    (void)state;
    size_t bytes;
    pair p = new_pair(CAPACITY);
    assert_null(nb_ring_peek(&p.consumer, &bytes));
    assert_false(nb_ring_readable(&p.consumer));
    assert_false(nb_ring_publish(&p.producer));
    assert_false(nb_ring_release(&p.consumer));
    free(p.memory);
}

static void every_size_fits_an_empty_ring_at_every_place(void **state) {
    (void)state;
    pair p = new_pair(CAPACITY);
    const char *first = (char *)p.memory + sizeof(nb_ring_memory);
    const char *end = (char *)p.memory + nb_ring_memory_bytes(CAPACITY);
    for (uint64_t place = 0; place < CAPACITY; place += 8) {
        for (size_t size = 1; size <= CAPACITY / 2; size++) {
            size_t seen = 0;
            move_to(&p, place + CAPACITY * size);
            unsigned char *record = nb_ring_reserve(&p.producer, size);
            if (record == NULL) fail_msg("no room for %zu at %u", size, (unsigned)place);
            if ((char *)record < first || (char *)record + size > end)
                fail_msg("%zu at %u lies outside", size, (unsigned)place);
            if ((uintptr_t)record % 8 != 0) fail_msg("%zu at %u is not aligned", size, (unsigned)place);
            record[0] = (unsigned char)size;
            record[size - 1] = (unsigned char)size;
            nb_ring_commit(&p.producer, size);
            nb_ring_publish(&p.producer);
            const void *peeked = nb_ring_peek(&p.consumer, &seen);
            if (peeked != record || seen != size) fail_msg("%zu at %u came out as %zu", size, (unsigned)place, seen);
            nb_ring_advance(&p.consumer);
            if (nb_ring_readable(&p.consumer)) fail_msg("%zu at %u left something", size, (unsigned)place);
        }
    }
    free(p.memory);
}

static void a_record_is_seen_when_published_and_its_room_is_back_when_released(void **state) {
    (void)state;
    pair p = new_pair(CAPACITY);
    size_t bytes;
    assert_true(send_text(&p, "one"));
    assert_true(send_text(&p, "two"));
    assert_null(nb_ring_peek(&p.consumer, &bytes));
    assert_true(nb_ring_publish(&p.producer));
    assert_false(nb_ring_publish(&p.producer));
    assert_true(nb_ring_readable(&p.consumer));
    assert_next_is(&p, "one");
    assert_next_is(&p, "two");
    assert_false(nb_ring_readable(&p.consumer));
    assert_true(nb_ring_release(&p.consumer));
    assert_false(nb_ring_release(&p.consumer));
    free(p.memory);
}

static void a_full_ring_takes_nothing_until_room_is_released(void **state) {
    (void)state;
    pair p = new_pair(CAPACITY);
    unsigned sent = 0;
    while (send_text(&p, "12345678"))
        sent++;
    assert_int_equal(CAPACITY / 16, sent);
    assert_null(nb_ring_reserve(&p.producer, 1));
    nb_ring_publish(&p.producer);
    assert_null(nb_ring_reserve(&p.producer, 1));
    assert_next_is(&p, "12345678");
    assert_next_is(&p, "12345678");
    assert_null(nb_ring_reserve(&p.producer, 1));
    nb_ring_release(&p.consumer);
    assert_true(send_text(&p, "abcdefgh"));
    assert_true(send_text(&p, "ijklmnop"));
    assert_false(send_text(&p, "q"));
    nb_ring_publish(&p.producer);
    for (unsigned i = 2; i < sent; i++)
        assert_next_is(&p, "12345678");
    assert_next_is(&p, "abcdefgh");
    assert_next_is(&p, "ijklmnop");
    free(p.memory);
}

static void a_reservation_takes_nothing_and_a_commit_may_be_shorter(void **state) {
    (void)state;
    pair p = new_pair(CAPACITY);
    /* Places where the reserved size needs padding before it and the committed size would not. */
    for (uint64_t place = 0; place < CAPACITY; place += 8) {
        move_to(&p, place);
        assert_non_null(nb_ring_reserve(&p.producer, CAPACITY / 2));
        assert_false(nb_ring_publish(&p.producer));
        char *record = nb_ring_reserve(&p.producer, CAPACITY / 2);
        memcpy(record, "short", 5);
        nb_ring_commit(&p.producer, 5);
        assert_true(send_text(&p, "next"));
        nb_ring_publish(&p.producer);
        assert_next_is(&p, "short");
        assert_next_is(&p, "next");
    }
    free(p.memory);
}

static void padding_that_leaves_no_room_for_its_record_is_not_taken(void **state) {
    (void)state;
    pair p = new_pair(CAPACITY);
    move_to(&p, CAPACITY - 64);
    assert_true(send_text(&p, "x")); /* 48 bytes are left before the end */
    nb_ring_publish(&p.producer);
    assert_non_null(nb_ring_reserve(&p.producer, 2048));
    move_to(&p, 1024);
    for (int i = 0; i < 2; i++) {
        assert_non_null(nb_ring_reserve(&p.producer, 1000));
        nb_ring_commit(&p.producer, 1000);
    }
    /* At 3040 of 4096: 1056 bytes to the end, 1024 to the consumer. 2000 fit neither. */
    assert_null(nb_ring_reserve(&p.producer, 2000));
    assert_true(send_text(&p, "still fits"));
    free(p.memory);
}

static void a_repeated_peek_sees_the_same_record(void **state) {
    (void)state;
    pair p = new_pair(CAPACITY);
    for (uint64_t place = CAPACITY - 64; place < CAPACITY; place += 8) {
        size_t bytes;
        char text[101];
        memset(text, 'x', 100);
        text[100] = '\0';
        move_to(&p, place);
        assert_true(send_text(&p, text));
        nb_ring_publish(&p.producer);
        const void *once = nb_ring_peek(&p.consumer, &bytes);
        assert_ptr_equal(once, nb_ring_peek(&p.consumer, &bytes));
        assert_next_is(&p, text);
    }
    free(p.memory);
}

/* A record of the transfer tests: its number, then bytes that follow from the number. */
static size_t record_size(uint64_t number, size_t capacity) {
    nb_test_random random = {number};
    uint64_t kind = nb_test_random_below(&random, 16);
    if (kind == 0) return 8 + (size_t)nb_test_random_below(&random, capacity / 2 - 7);
    return 8 + (size_t)nb_test_random_below(&random, kind < 4 ? 512 : 40);
}

static void fill(unsigned char *record, uint64_t number, size_t size) {
    memcpy(record, &number, 8);
    for (size_t i = 8; i < size; i++)
        record[i] = (unsigned char)(number + i * 31);
}

static bool is_intact(const unsigned char *record, uint64_t number, size_t size, size_t capacity) {
    uint64_t seen;
    if (size != record_size(number, capacity)) return false;
    memcpy(&seen, record, 8);
    if (seen != number) return false;
    for (size_t i = 8; i < size; i++) {
        if (record[i] != (unsigned char)(number + i * 31)) return false;
    }
    return true;
}

static bool try_send(nb_ring_producer *producer, uint64_t number) {
    size_t size = record_size(number, producer->mask + 1);
    unsigned char *record = nb_ring_reserve(producer, size);
    if (record == NULL) return false;
    fill(record, number, size);
    nb_ring_commit(producer, size);
    return true;
}

static bool try_receive(nb_ring_consumer *consumer, uint64_t number, bool *intact) {
    size_t size;
    const unsigned char *record = nb_ring_peek(consumer, &size);
    if (record == NULL) return false;
    *intact = is_intact(record, number, size, consumer->mask + 1);
    nb_ring_advance(consumer);
    return true;
}

static void random_batches_arrive_whole_and_in_order(void **state) {
    (void)state;
    pair p = new_pair(CAPACITY);
    nb_test_random random = {1};
    uint64_t sent = 0, received = 0;
    while (received < 50000) {
        for (uint64_t i = nb_test_random_below(&random, 8); i > 0 && try_send(&p.producer, sent); i--)
            sent++;
        if (nb_test_random_below(&random, 2)) nb_ring_publish(&p.producer);
        bool intact = true;
        for (uint64_t i = nb_test_random_below(&random, 8); i > 0 && try_receive(&p.consumer, received, &intact); i--)
            received++;
        assert_true(intact);
        if (nb_test_random_below(&random, 2)) nb_ring_release(&p.consumer);
        uint64_t held = p.producer.committed - p.consumer.released;
        assert_true(held <= CAPACITY);
    }
    free(p.memory);
}

enum { TRANSFERS = 100000 };

static void *produce(void *memory) {
    nb_ring_producer producer;
    nb_ring_producer_attach(&producer, memory);
    for (uint64_t number = 0; number < TRANSFERS;) {
        if (try_send(&producer, number)) {
            number++;
            if (number % 3 != 0) continue;
        } else {
            sched_yield();
        }
        nb_ring_publish(&producer);
    }
    nb_ring_publish(&producer);
    return NULL;
}

static bool consume(void *memory) {
    nb_ring_consumer consumer;
    bool intact = true;
    nb_ring_consumer_attach(&consumer, memory);
    for (uint64_t number = 0; number < TRANSFERS && intact;) {
        if (try_receive(&consumer, number, &intact)) {
            number++;
            if (number % 5 != 0) continue;
        } else {
            sched_yield();
        }
        nb_ring_release(&consumer);
    }
    return intact;
}

static void a_thread_receives_what_another_sends(void **state) {
    (void)state;
    pair p = new_pair(CAPACITY);
    pthread_t thread = nb_test_thread(produce, p.memory);
    assert_true(consume(p.memory));
    nb_test_join(thread);
    free(p.memory);
}

static void a_process_receives_what_another_sends(void **state) {
    (void)state;
    size_t bytes = nb_ring_memory_bytes(CAPACITY);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(MAP_FAILED, memory);
    assert_status(NB_OK, nb_ring_format(memory, CAPACITY));
    pid_t child = fork();
    if (child == 0) {
        alarm(110);
        _exit(consume(memory) ? 7 : 1);
    }
    produce(memory);
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFEXITED(status));
    assert_int_equal(7, WEXITSTATUS(status));
    munmap(memory, bytes);
}

static void a_record_is_given_back_when_all_before_its_end_is_released(void **state) {
    (void)state;
    pair p = new_pair(CAPACITY);
    uint64_t ends[3];
    assert_true(nb_ring_given_back(&p.producer, nb_ring_end(&p.producer))); /* nothing is there */
    for (int i = 0; i < 3; i++) {
        assert_true(send_text(&p, "record"));
        ends[i] = nb_ring_end(&p.producer);
    }
    nb_ring_publish(&p.producer);
    for (int i = 0; i < 3; i++) {
        assert_next_is(&p, "record");
        assert_false(nb_ring_given_back(&p.producer, ends[i])); /* used, and not released */
        nb_ring_release(&p.consumer);
        assert_true(nb_ring_given_back(&p.producer, ends[i]));
        assert_true(i == 2 || !nb_ring_given_back(&p.producer, ends[i + 1]));
    }
    free(p.memory);
}

/* Every byte of a record that is taken for one is looked at: ASan sees those that lie outside. */
static void take_what_is_there(pair *p) {
    static _Atomic uint8_t sum;
    size_t bytes;
    const uint8_t *record;
    for (int i = 0; i < 100 && (record = nb_ring_peek(&p->consumer, &bytes)); i++) {
        for (size_t at = 0; at < bytes; at++)
            atomic_fetch_add_explicit(&sum, record[at], memory_order_relaxed);
        nb_ring_advance(&p->consumer);
    }
    nb_ring_release(&p->consumer);
    if (!p->consumer.broken) return;
    assert_false(nb_ring_readable(&p->consumer));
    assert_null(nb_ring_peek(&p->consumer, &bytes));
    nb_ring_advance(&p->consumer); /* is nothing then */
}

static void no_size_makes_a_consumer_read_outside_wherever_it_stands(void **state) {
    (void)state;
    static const uint64_t sizes[] = {
        0,        1,         8,          CAPACITY / 2 - 8, CAPACITY / 2,   CAPACITY / 2 + 1, CAPACITY - 8,
        CAPACITY, INT32_MAX, UINT32_MAX, INT64_MAX,        UINT64_MAX - 7, UINT64_MAX - 1,   PADDING};
    pair p = new_pair(CAPACITY);
    unsigned refused = 0, read = 0;
    memset(p.producer.data, 0xff, CAPACITY + SLACK); /* all is padding */
    for (uint64_t place = 0; place < CAPACITY; place += 8) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            static const uint64_t distances[] = {8, 16, CAPACITY / 2, CAPACITY, CAPACITY + 8, UINT64_MAX - 64};
            for (size_t d = 0; d < sizeof distances / sizeof *distances; d++) {
                move_to(&p, CAPACITY * 7 + place);
                store_header(p.producer.data + place, sizes[i]);
                atomic_store(&((nb_ring_memory *)p.memory)->published, CAPACITY * 7 + place + distances[d]);
                take_what_is_there(&p);
                refused += p.consumer.broken;
                read += !p.consumer.broken;
                store_header(p.producer.data + place, PADDING);
            }
        }
    }
    assert_true(refused > 1000 && read > 1000);
    free(p.memory);
}

static void no_garbage_of_a_whole_ring_makes_a_consumer_read_outside(void **state) {
    (void)state;
    nb_test_random random = {5};
    pair p = new_pair(CAPACITY);
    for (int round = 0; round < 20000; round++) {
        for (uint64_t at = 0; at < CAPACITY; at += 8 * (1 + nb_test_random_below(&random, 40)))
            store_header(p.producer.data + at, nb_test_random_below(&random, 4)   ? nb_test_random_below(&random, 200)
                                               : nb_test_random_below(&random, 2) ? PADDING
                                                                                  : nb_test_random_next(&random));
        move_to(&p, 8 * nb_test_random_below(&random, 100000));
        uint64_t there = nb_test_random_below(&random, 10) ? 8 * nb_test_random_below(&random, CAPACITY / 8)
                                                           : nb_test_random_next(&random);
        atomic_store(&((nb_ring_memory *)p.memory)->published, p.consumer.released + there);
        take_what_is_there(&p);
    }
    free(p.memory);
}

/* A consumer that says it has released what was never there is only hurting itself. */
static void no_released_index_makes_a_producer_write_outside(void **state) {
    (void)state;
    nb_test_random random = {6};
    pair p = new_pair(CAPACITY);
    for (int round = 0; round < 20000; round++) {
        atomic_store(&((nb_ring_memory *)p.memory)->released, nb_test_random_next(&random));
        size_t bytes = 1 + nb_test_random_below(&random, CAPACITY / 2);
        void *place = nb_ring_reserve(&p.producer, bytes);
        if (place) memset(place, 'x', bytes);
        if (place) nb_ring_commit(&p.producer, bytes);
        nb_ring_publish(&p.producer);
    }
    free(p.memory);
}

static void nothing_written_over_the_ring_ends_its_producer(void **state) {
    (void)state;
    nb_test_random random = {7};
    pair p = new_pair(CAPACITY);
    for (int round = 0; round < 20000; round++) {
        size_t bytes = 1 + nb_test_random_below(&random, CAPACITY / 2);
        void *place = nb_ring_reserve(&p.producer, bytes);
        memset(p.producer.data, round % 2 ? 0 : 0xff, CAPACITY);
        if (place) nb_ring_commit(&p.producer, bytes);
        nb_ring_publish(&p.producer);
        atomic_store(&((nb_ring_memory *)p.memory)->released, p.producer.published);
    }
    free(p.memory);
}

static void reserve_nothing(void *p) { nb_ring_reserve(&((pair *)p)->producer, 0); }
static void reserve_too_much(void *p) { nb_ring_reserve(&((pair *)p)->producer, CAPACITY / 2 + 1); }
static void advance_nothing(void *p) { nb_ring_advance(&((pair *)p)->consumer); }
static void commit_too_much(void *p) {
    nb_ring_reserve(&((pair *)p)->producer, 8);
    nb_ring_commit(&((pair *)p)->producer, 9);
}

static void misuse_is_an_assertion(void **state) {
    (void)state;
    pair p = new_pair(CAPACITY);
    assert_true(nb_test_aborts(reserve_nothing, &p));
    assert_true(nb_test_aborts(reserve_too_much, &p));
    assert_true(nb_test_aborts(advance_nothing, &p));
    assert_true(nb_test_aborts(commit_too_much, &p));
    free(p.memory);
}

static void send(pair *p, size_t bytes) {
    memset(nb_ring_reserve(&p->producer, bytes), 1, bytes);
    nb_ring_commit(&p->producer, bytes);
    nb_ring_publish(&p->producer);
}

static void another_thread_sees_whether_there_is_more(void **state) {
    (void)state;
    size_t bytes;
    pair p = new_pair(CAPACITY);
    for (uint64_t place = 0; place < CAPACITY; place += 8) {
        move_to(&p, place);
        assert_false(nb_ring_more(&p.consumer, false));
        send(&p, 100);
        assert_true(nb_ring_more(&p.consumer, false));
        assert_false(nb_ring_more(&p.consumer, true));
        send(&p, 1);
        assert_true(nb_ring_more(&p.consumer, true));
        assert_non_null(nb_ring_peek(&p.consumer, &bytes));
        assert_true(nb_ring_more(&p.consumer, true));
        nb_ring_advance(&p.consumer);
        assert_false(nb_ring_more(&p.consumer, true));
        nb_ring_advance(&p.consumer);
        assert_false(nb_ring_more(&p.consumer, false));
    }
    free(p.memory);
}

int main(void) {
    nb_test_alarm(170);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_powers_of_two_from_4096_are_capacities),
        cmocka_unit_test(an_empty_ring_has_nothing_to_peek_publish_or_release),
        cmocka_unit_test(every_size_fits_an_empty_ring_at_every_place),
        cmocka_unit_test(a_record_is_seen_when_published_and_its_room_is_back_when_released),
        cmocka_unit_test(a_full_ring_takes_nothing_until_room_is_released),
        cmocka_unit_test(a_reservation_takes_nothing_and_a_commit_may_be_shorter),
        cmocka_unit_test(padding_that_leaves_no_room_for_its_record_is_not_taken),
        cmocka_unit_test(a_repeated_peek_sees_the_same_record),
        cmocka_unit_test(random_batches_arrive_whole_and_in_order),
        cmocka_unit_test(a_thread_receives_what_another_sends),
        cmocka_unit_test(a_process_receives_what_another_sends),
        cmocka_unit_test(a_record_is_given_back_when_all_before_its_end_is_released),
        cmocka_unit_test(no_size_makes_a_consumer_read_outside_wherever_it_stands),
        cmocka_unit_test(no_garbage_of_a_whole_ring_makes_a_consumer_read_outside),
        cmocka_unit_test(no_released_index_makes_a_producer_write_outside),
        cmocka_unit_test(nothing_written_over_the_ring_ends_its_producer),
        cmocka_unit_test(another_thread_sees_whether_there_is_more),
        cmocka_unit_test(misuse_is_an_assertion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
