/*
 * test_exchange.c - the exchange table, checked against a plain list: ids that come back, ids that
 * are gone, slots that are used again.
 */
#include "dispatch/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/test.h"

static void an_id_finds_its_exchange_until_that_is_gone_and_never_again(void **state) {
    (void)state;
    nb_exchanges table;
    nb_exchanges_init(&table);
    nb_exchange *first = nb_exchange_create(&table);
    nb_exchange_id id = nb_exchange_id_of(first);
    assert_true(id != 0);
    assert_ptr_equal(first, nb_exchange_find(&table, id));
    assert_int_equal(NB_CHANNEL_NONE, first->channel);
    nb_exchange_destroy(&table, first);
    assert_null(nb_exchange_find(&table, id));
    nb_exchange *second = nb_exchange_create(&table);
    assert_ptr_equal(first, second); /* the slot, but not the id */
    assert_true(nb_exchange_id_of(second) != id);
    assert_null(nb_exchange_find(&table, id));
    nb_exchange_destroy(&table, second);
    nb_exchanges_deinit(&table);
}

static nb_handover *handover_of(int fd) {
    nb_handover *made = nb_alloc(sizeof(*made) + 3);
    *made = (nb_handover){.fd = fd, .size = 3};
    memcpy(made->bytes, "abc", 3);
    return made;
}

static void a_handover_that_nobody_took_is_closed_with_its_exchange(void **state) {
    (void)state;
    int ends[2][2];
    char byte;
    nb_exchanges table;
    nb_exchanges_init(&table);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(0, pipe(ends[i]));
        nb_exchange *made = nb_exchange_create(&table);
        made->handover = handover_of(ends[i][1]);
        if (i == 0) nb_exchange_destroy(&table, made);
        if (i == 0) assert_int_equal(0, read(ends[0][0], &byte, 1));
    }
    nb_exchanges_deinit(&table);
    assert_int_equal(0, read(ends[1][0], &byte, 1));
    close(ends[0][0]);
    close(ends[1][0]);
}

static void ids_nobody_gave_find_nothing(void **state) {
    (void)state;
    nb_exchanges table;
    nb_exchanges_init(&table);
    assert_null(nb_exchange_find(&table, 0));
    nb_exchange *only = nb_exchange_create(&table);
    assert_null(nb_exchange_find(&table, 0));
    assert_null(nb_exchange_find(&table, UINT64_MAX));
    assert_null(nb_exchange_find(&table, nb_exchange_id_of(only) + 1));
    assert_null(nb_exchange_find(&table, nb_exchange_id_of(only) + (1ull << 32)));
    nb_exchange_destroy(&table, only);
    nb_exchanges_deinit(&table);
}

static void a_new_exchange_knows_nothing_of_the_one_before(void **state) {
    (void)state;
    nb_exchanges table;
    nb_exchanges_init(&table);
    nb_exchange *made = nb_exchange_create(&table);
    made->ended = made->truncated = made->hijack = made->tell_drained = made->drained_due = made->gone_due =
        made->head_sent = true;
    made->spooled = made->response.left = 9;
    made->channel = 3;
    nb_exchange_destroy(&table, made);
    made = nb_exchange_create(&table);
    assert_false(made->ended || made->truncated || made->hijack || made->tell_drained || made->drained_due ||
                 made->gone_due || made->head_sent);
    assert_int_equal(0, made->spooled + made->response.left);
    assert_int_equal(NB_CHANNEL_NONE, made->channel);
    assert_null(made->connection);
    nb_exchange_destroy(&table, made);
    nb_exchanges_deinit(&table);
}

enum { LIVE_MAX = 500, STEPS = 50000 };

static void random_use_agrees_with_a_list(void **state) {
    (void)state;
    static nb_exchange *live[LIVE_MAX];
    static nb_exchange_id ids[LIVE_MAX], gone[LIVE_MAX];
    unsigned count = 0, gone_count = 0;
    nb_test_random random = {11};
    nb_exchanges table;
    nb_exchanges_init(&table);
    for (unsigned step = 0; step < STEPS; step++) {
        if (count < LIVE_MAX && (count == 0 || nb_test_random_below(&random, 2))) {
            live[count] = nb_exchange_create(&table);
            ids[count] = nb_exchange_id_of(live[count]);
            count++;
        } else {
            unsigned victim = (unsigned)nb_test_random_below(&random, count);
            gone[gone_count++ % LIVE_MAX] = ids[victim];
            nb_exchange_destroy(&table, live[victim]);
            live[victim] = live[--count];
            ids[victim] = ids[count];
        }
        assert_int_equal(count, table.live);
        if (step % 500) continue;
        for (unsigned i = 0; i < count; i++)
            assert_ptr_equal(live[i], nb_exchange_find(&table, ids[i]));
        for (unsigned i = 0; i < gone_count && i < LIVE_MAX; i++)
            assert_null(nb_exchange_find(&table, gone[i]));
    }
    nb_exchanges_deinit(&table);
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    long before = nb_alloc_live();
    nb_exchanges table;
    nb_exchanges_init(&table);
    unsigned made = 0;
    for (unsigned i = 0; i < 200; i++) {
        nb_alloc_fail_at(i % 3);
        made += nb_exchange_create(&table) != NULL;
    }
    nb_alloc_fail_at(0);
    assert_int_equal(made, table.live);
    assert_true(made > 60 && made < 200);
    nb_exchanges_deinit(&table);
    assert_int_equal(before, nb_alloc_live());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_finds_its_exchange_until_that_is_gone_and_never_again),
        cmocka_unit_test(a_handover_that_nobody_took_is_closed_with_its_exchange),
        cmocka_unit_test(ids_nobody_gave_find_nothing),
        cmocka_unit_test(a_new_exchange_knows_nothing_of_the_one_before),
        cmocka_unit_test(random_use_agrees_with_a_list),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
