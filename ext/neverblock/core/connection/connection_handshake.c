/*
 * connection_handshake.c - TLS handshakes of a loop's connections. Work with the server's key takes
 * a millisecond with some keys. So native threads do it, and the loop serves other connections
 * meanwhile. All else is the loop's, as a hand-over to a thread and back would cost as much. A
 * session that resumes needs no thread. The first handshake of a turn needs none either where the
 * key is quick; those that come with it go to the threads, and do not delay the loop.
 *
 * Way of one: nb_handshake_begin when the connection was accepted; nb_handshake_ready when the
 * socket has something, which takes a light step, and hands heavy work to a thread; the thread
 * passes it back to the loop, which calls nb_handshake_returned. In the end the connection is open,
 * or has ended.
 *
 * Bounds: `under_way_max` handshakes that have needed a thread (a client whose ClientHello is not
 * whole, or that resumes a session, is bounded by the number of connections), the
 * timeout NB_TIMEOUT_HANDSHAKE for each from accept to its end, TURN_NS for light steps, and the
 * number of threads.
 *
 * Threads: the loop's, unless a comment says otherwise.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "connection/connection_internal.h"
#include "os/clock.h"
#include "tls/tls.h"

/* Time for light steps in a turn. Handshakes that come later wait for the next turn. */
#define TURN_NS NB_NS_PER_MS

static nb_handshake *of_job(nb_job *job) { return (nb_handshake *)(void *)((char *)job - offsetof(nb_handshake, job)); }

static void run(nb_job *job) {
    nb_handshake *handshake = of_job(job);
    handshake->status = nb_transport_tls_handshake(&handshake->connection->transport, NB_TLS_ALL, &handshake->facts);
}

static void done(nb_job *job) {
    nb_handshake *handshake = of_job(job);
    handshake->handshakes->returned(handshake);
}

nb_status nb_handshakes_init(nb_handshakes *handshakes, uint32_t workers, uint32_t under_way_max,
                             void (*returned)(nb_handshake *handshake)) {
    *handshakes = (nb_handshakes){.under_way_max = under_way_max, .returned = returned};
    return nb_workers_create("nb-tls", workers ? workers : 1, under_way_max, &handshakes->workers);
}

void nb_handshakes_stop(nb_handshakes *handshakes) {
    nb_workers_destroy(handshakes->workers);
    handshakes->workers = NULL;
}

nb_status nb_handshake_begin(nb_connections *connections, nb_connection *connection) {
    nb_handshake *handshake = nb_alloc_zero(1, sizeof(*handshake));
    if (!handshake) return NB_NO_MEMORY;
    handshake->job = (nb_job){.run = run, .done = done};
    handshake->handshakes = &connections->handshakes;
    handshake->connection = connection;
    connection->handshake = handshake;
    connection->state = NB_CONNECTION_HANDSHAKE;
    return NB_OK;
}

void nb_handshake_drop(nb_handshake *handshake) {
    if (!handshake) return;
    NB_ASSERT(!handshake->with_worker);
    if (handshake->begun) handshake->handshakes->under_way--;
    nb_free(handshake);
}

void nb_handshake_end(nb_connections *connections, nb_connection *connection, nb_handshake_outcome how) {
    nb_handshake *handshake = connection->handshake;
    if (!handshake) return;
    if (!handshake->counted) nb_count(&connections->counters->handshakes[how], 1);
    handshake->counted = true;
    if (handshake->with_worker) return;
    nb_handshake_drop(handshake);
    connection->handshake = NULL;
}

static void give_up(nb_connections *connections, nb_connection *connection, nb_handshake_outcome how, bool reset) {
    nb_handshake_end(connections, connection, how);
    nb_connection_end(connections, connection, reset);
}

/* Counts a handshake that needs a thread. False: there are too many. */
static bool may_go_on(nb_handshake *handshake) {
    nb_handshakes *handshakes = handshake->handshakes;
    if (handshake->begun) return true;
    if (handshakes->under_way >= handshakes->under_way_max) return false;
    handshakes->under_way++;
    handshake->begun = true;
    return true;
}

static void take_light_step(nb_handshake *handshake) {
    int64_t began_ns = nb_clock_monotonic_ns();
    nb_tls_effort effort = handshake->handshakes->spent_ns == 0 ? NB_TLS_QUICK : NB_TLS_WITHOUT_KEY;
    handshake->status = nb_transport_tls_handshake(&handshake->connection->transport, effort, &handshake->facts);
    handshake->handshakes->spent_ns += nb_clock_monotonic_ns() - began_ns;
}

/* False: threads have too much to do. */
static bool hand_over(nb_handshake *handshake) {
    handshake->with_worker = true;
    if (nb_workers_submit(handshake->handshakes->workers, &handshake->job) == NB_OK) return true;
    handshake->with_worker = false;
    return false;
}

static void step(nb_connections *connections, nb_connection *connection) {
    nb_handshake *handshake = connection->handshake;
    connection->waits = NB_WAITS_NOT;
    take_light_step(handshake);
    if (!handshake->facts.heavy) {
        nb_handshake_returned(connections, handshake);
    } else if (!may_go_on(handshake) || !hand_over(handshake)) {
        give_up(connections, connection, NB_HANDSHAKE_shed, true);
    }
}

void nb_handshake_ready(nb_connections *connections, nb_connection *connection) {
    /* The poller tells of it again. */
    if (connection->handshake->with_worker || connections->handshakes.spent_ns >= TURN_NS) return;
    step(connections, connection);
}

void nb_handshake_returned(nb_connections *connections, nb_handshake *handshake) {
    nb_connection *connection = handshake->connection;
    handshake->with_worker = false;
    if (connection->state == NB_CONNECTION_ENDED) {
        nb_connection_returned_after_end(connections, connection);
        return;
    }
    nb_handshake_outcome how = handshake->facts.outcome;
    if (handshake->status == NB_OK && strcmp(handshake->facts.protocol, NB_TLS_CHALLENGE_PROTOCOL) == 0) {
        give_up(connections, connection, how, false); /* the handshake was all that was asked for */
    } else if (handshake->status == NB_OK) {
        const nb_protocol *http2 = connections->http2;
        if (http2 && strcmp(handshake->facts.protocol, http2->name) == 0) connection->protocol = http2;
        connection->tls = (nb_tls_agreement){handshake->facts.cipher, handshake->facts.version,
                                             how == NB_HANDSHAKE_resumed};
        nb_count(&connections->counters->tls_versions[handshake->facts.version == NB_TLS_1_3], 1);
        if (handshake->facts.kernel) NB_COUNT(connections->counters, tls_kernel, 1);
        nb_handshake_end(connections, connection, how);
        nb_connection_start(connections, connection);
    } else if (handshake->status == NB_AGAIN &&
               (handshake->facts.heard || !connections->draining || nb_connection_is_new(connections, connection))) {
        if (handshake->facts.wants_write) connection->waits = NB_WAITS_CLIENT;
        nb_connection_follow(connections, connection);
    } else {
        give_up(connections, connection, how, false);
    }
}

void nb_handshake_drain(nb_connections *connections, nb_connection *connection) {
    if (!connection->handshake->begun) step(connections, connection);
}

void nb_handshake_timed_out(nb_connections *connections, nb_connection *connection) {
    give_up(connections, connection, NB_HANDSHAKE_late, true);
}
