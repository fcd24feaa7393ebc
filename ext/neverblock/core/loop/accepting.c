/*
 * accepting.c - see accepting.h.
 */
#include "loop/accepting.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/net.h"
#include "poll/wake.h"
#include "tls/tls.h"
#include "connection/connection.h"
#include "loop/loops.h"

/* Connections taken in one turn from one listener. A burst must not hold up clients that are being
   served. */
#define ACCEPT_BATCH 64

/* Batches of a listener that is closed then: as many clients as may wait by default, and as many
   again that come meanwhile. */
#define LAST_BATCHES 32

/* Nothing reports that there is a descriptor again, so accepting is tried this often. */
#define RETRY_NS (100 * NB_NS_PER_MS)

/* A waiting client is seen when it comes and when its waiting time is over. When none was seen for
   longer than this beyond that time, all have left. */
#define FULL_GAP_NS NB_NS_PER_S

static const char overload_answer[] =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nRetry-After: 1\r\n"
    "Connection: close\r\nContent-Length: 25\r\n\r\n503 too many connections\n";

static void open_spare(nb_loop *loop) {
    if (loop->reserve_fd < 0) loop->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void note_idle(nb_loop *loop) {
    nb_timeout *oldest = nb_timeouts_oldest(&loop->connections.timeouts, NB_TIMEOUT_IDLE);
    atomic_store_explicit(&loop->idle_ns, oldest ? oldest->deadline_ns : 0, memory_order_relaxed);
}

/* The loop whose connection has been idle longest. NULL: none is idle. */
static nb_loop *idlest(nb_loop *loop) {
    note_idle(loop);
    return nb_loops_idlest(loop->all);
}

static uint64_t bound_of(const nb_loop *loop) {
    return atomic_load_explicit(&loop->all->connections_bound, memory_order_relaxed);
}

static bool full(const nb_loop *loop) {
    uint64_t count = nb_loops_connections(loop->all);
    return count >= loop->config.connections_max || count >= bound_of(loop);
}

/* Asks another loop to end its longest idle connection. It clears the flag when it has looked. */
static void ask_for_room(nb_loop *other) {
    atomic_store_explicit(&other->close_idle_asked, true, memory_order_release);
    nb_wake_signal(&other->wake);
}

static bool room_is_asked_for(const nb_loop *loop) {
    for (uint16_t i = 1; i < loop->all->count; i++) {
        if (atomic_load_explicit(&loop->all->each[i].close_idle_asked, memory_order_acquire)) return true;
    }
    return false;
}

/* True: there is room for a connection, or this loop can make some. */
static bool room_possible(nb_loop *loop) {
    if (!full(loop)) return true;
    nb_loop *other = idlest(loop);
    return other && (other == loop || !room_is_asked_for(loop));
}

/* Ends the connection that has been idle longest. False: none is idle. */
static bool make_room(nb_loop *loop) {
    nb_timeout *oldest = nb_timeouts_oldest(&loop->connections.timeouts, NB_TIMEOUT_IDLE);
    if (!oldest) return false;
    NB_COUNT(&loop->counters, evicted, 1);
    nb_connection_end(&loop->connections, nb_connection_of_timeout(oldest), false);
    return true;
}

/* Notes that a client waits for a place. Returns the time left until waiting clients are told
   503. */
static int64_t patience_ns(nb_loop *loop) {
    int64_t most_ns = loop->config.accept_timeout_ms * NB_NS_PER_MS;
    if (loop->full_since_ns == 0 || loop->time.now_ns - loop->full_seen_ns > most_ns + FULL_GAP_NS)
        loop->full_since_ns = loop->time.now_ns;
    loop->full_seen_ns = loop->time.now_ns;
    return loop->full_since_ns + most_ns - loop->time.now_ns;
}

/* A client that speaks TLS would not understand the answer. */
static void refuse(nb_loop *loop, const nb_listener *listener, int fd) {
    /* Counted before the answer, so that a client that has it finds it counted. */
    NB_COUNT(&loop->counters, connections_refused, 1);
    nb_net_turn_away(fd, overload_answer, listener->secure ? 0 : sizeof(overload_answer) - 1);
    nb_net_close(fd, false);
}

static void open_connection(nb_loop *loop, int fd, const nb_peer *peer, const nb_listener *listener);

/* Accepts one waiting client and tells it 503, by the reserved descriptor where there is no other.
   Where descriptors were short and no longer are, serves it. Returns as nb_net_accept. */
static nb_status turn_away_one(nb_loop *loop, nb_listener *listener) {
    int fd;
    nb_peer peer;
    nb_status status = nb_net_accept(listener->fd, &fd, &peer);
    bool by_spare = status == NB_SYSTEM && loop->reserve_fd >= 0;
    if (by_spare) {
        close(loop->reserve_fd);
        loop->reserve_fd = -1;
        status = nb_net_accept(listener->fd, &fd, &peer);
    }
    if (status != NB_OK) return status;
    bool room = !by_spare && fd < loop->descriptors_high;
    if (room && nb_loops_connections(loop->all) < loop->config.connections_max) {
        open_connection(loop, fd, &peer, listener);
    } else {
        refuse(loop, listener, fd);
    }
    open_spare(loop);
    return NB_OK;
}

/* False: it is not possible now. */
static bool turn_away(nb_loop *loop, nb_listener *listener) {
    nb_status status = NB_OK;
    for (int i = 0; i < ACCEPT_BATCH && status == NB_OK; i++)
        status = turn_away_one(loop, listener);
    return status != NB_SYSTEM;
}

/* Closes half of the files that are kept open: a file is worth less than a client. */
static bool close_files(nb_loop *loop) {
    uint32_t kept = nb_responses_files(&loop->responses)
                        ? nb_open_files_count(nb_responses_files(&loop->responses)).files
                        : 0;
    if (kept > 0) nb_open_files_shrink(nb_responses_files(&loop->responses), kept / 2);
    return kept > 0;
}

static void log_shortage(nb_loop *loop, int error) {
    if (!nb_log_due(&loop->shortage_told_ns, loop->time.now_ns)) return;
    nb_log_line(loop->log,
                "no descriptor left for another connection (%s): %llu connections and what else is open take up those "
                "of `ulimit -n`, %llu; raise it, or lower `limits { connections }`, %u",
                strerror(error), (unsigned long long)nb_loops_connections(loop->all),
                (unsigned long long)nb_os_descriptors_max(), loop->config.connections_max);
}

static void pause_until(nb_loop *loop, int64_t again_ns) {
    loop->listen_again_ns = again_ns;
    nb_listeners_pause(loop, true);
}

static void pause_for_descriptors(nb_loop *loop) {
    loop->waits_for_room = false;
    pause_until(loop, loop->time.now_ns + RETRY_NS);
}

static void out_of_descriptors(nb_loop *loop, nb_listener *listener) {
    int error = errno;
    NB_COUNT(&loop->counters, accept_errors, 1);
    if (close_files(loop)) return;
    nb_loop *other = idlest(loop);
    if (other == loop && make_room(loop)) return;
    if (other) {
        ask_for_room(other);
    } else {
        log_shortage(loop, error);
        if (patience_ns(loop) <= 0) (void)turn_away(loop, listener);
    }
    pause_for_descriptors(loop);
}

/* The kernel gives the lowest free number. A high one says that few are left, which are for files,
   request bodies and the application. Then the present count of connections is the bound, until
   there is a lower number again. */
static void note_descriptor(nb_loop *loop, int fd) {
    uint64_t bound = UINT64_MAX;
    bool was_short = bound_of(loop) != UINT64_MAX;
    if (fd >= loop->descriptors_high) {
        NB_COUNT(&loop->counters, accept_errors, 1);
        if (close_files(loop)) return;
        log_shortage(loop, EMFILE);
    }
    if (fd >= loop->descriptors_high ||
        (was_short && nb_os_descriptors_next(loop->wake.read_fd) >= loop->descriptors_high))
        bound = nb_loops_connections(loop->all);
    atomic_store_explicit(&loop->all->connections_bound, bound, memory_order_relaxed);
}

static void poll_listener(nb_loop *loop, uint16_t number, bool polled) {
    nb_listener *listener = &loop->listeners[number];
    if (listener->fd < 0 || listener->polled == polled) return;
    nb_status status = polled ? nb_poll_add(loop->poll, listener->fd, NB_POLL_READ, number)
                              : nb_poll_remove(loop->poll, listener->fd);
    if (status == NB_OK) listener->polled = polled;
}

static nb_accepted accepted_by(const nb_loop *loop, const nb_listener *listener, int fd, const nb_peer *peer) {
    return (nb_accepted){
        .fd = fd,
        .listener = (uint16_t)(listener - loop->listeners),
        .admin = listener->admin,
        .redirects = loop->config.redirect_port && !listener->secure && !listener->admin && *listener->address,
        .proxied = listener->proxied,
        .peer = *peer,
        .tls = listener->tls,
    };
}

/* Accepts an admin client, who wants to know why others are not served. True: another one may be
   tried. */
static bool accept_admin(nb_loop *loop, nb_listener *listener) {
    int fd;
    nb_peer peer;
    nb_status status = nb_net_accept(listener->fd, &fd, &peer);
    if (status == NB_SYSTEM && nb_os_descriptors_short(errno)) {
        if (loop->reserve_fd >= 0) {
            close(loop->reserve_fd);
            loop->reserve_fd = -1;
        } else {
            (void)make_room(loop);
        }
        status = nb_net_accept(listener->fd, &fd, &peer);
    }
    if (status == NB_SYSTEM) poll_listener(loop, (uint16_t)(listener - loop->listeners), false);
    if (status != NB_OK) return false;
    nb_timeout *oldest = nb_timeouts_oldest(&loop->connections.timeouts, NB_TIMEOUT_ADMIN);
    bool at_limit = loop->connections.admin_count >= NB_ADMIN_CONNECTIONS_MAX;
    if (at_limit && oldest) nb_connection_end(&loop->connections, nb_connection_of_timeout(oldest), false);
    if (at_limit && !oldest) {
        nb_net_close(fd, true);
    } else {
        loop->connections.admin_count++;
        nb_accepted accepted = accepted_by(loop, listener, fd, &peer);
        nb_connection_open(&loop->connections, &accepted);
    }
    return true;
}

/* Passes a connection to another loop. It counts as that loop's, and is in none of its lists yet.
   False: no memory, serve it here. */
static bool hand_over(nb_loop *other, const nb_accepted *accepted) {
    nb_arrival *arrival = nb_alloc(sizeof(*arrival));
    if (!arrival) return false;
    *arrival = (nb_arrival){.accepted = *accepted};
    if (accepted->tls) arrival->accepted.tls = nb_tls_context_share(accepted->tls);
    nb_count(&other->connections.opened, 1);
    pthread_mutex_lock(&other->inbox_lock);
    bool first = other->arrivals == NULL;
    arrival->next = other->arrivals;
    other->arrivals = arrival;
    pthread_mutex_unlock(&other->inbox_lock);
    if (first) nb_wake_signal(&other->wake);
    return true;
}

static void open_connection(nb_loop *loop, int fd, const nb_peer *peer, const nb_listener *listener) {
    nb_loop *next = nb_loops_next(loop->all);
    nb_accepted accepted = accepted_by(loop, listener, fd, peer);
    NB_COUNT(&loop->counters, accepted, 1);
    if (next == loop || !hand_over(next, &accepted)) {
        nb_count(&loop->connections.opened, 1);
        nb_connection_open(&loop->connections, &accepted);
    }
    note_descriptor(loop, fd);
}

/* All places are taken, and this loop has no idle connection. */
static void find_no_room(nb_loop *loop, nb_listener *listener, nb_loop *idle) {
    int64_t left_ns = idle ? 0 : patience_ns(loop);
    bool over = !idle && left_ns <= 0;
    if (over && turn_away(loop, listener)) return;
    if (idle) ask_for_room(idle);
    loop->waits_for_room = true;
    /* What is idle there may be busy when that loop looks. */
    pause_until(loop, loop->time.now_ns + (idle || over ? RETRY_NS : left_ns));
    nb_doorbell_announce(&loop->all->room_bell); /* the next turn looks again before it sleeps */
}

/* told: the poller has just reported a waiting client, else there may be none. True: another one
   may be tried. */
static bool accept_one(nb_loop *loop, nb_listener *listener, bool told) {
    bool at_limit = full(loop);
    nb_loop *idle = at_limit ? idlest(loop) : NULL;
    if (at_limit && idle != loop) {
        /* Else a connection might end without a newcomer. */
        if (told) find_no_room(loop, listener, idle);
        return false;
    }
    bool is_short = at_limit && nb_loops_connections(loop->all) < loop->config.connections_max;
    if (is_short && !told) return false;
    if (is_short) make_room(loop); /* first, so that the newcomer gets its descriptor */
    int fd;
    nb_peer peer;
    nb_status status = nb_net_accept(listener->fd, &fd, &peer);
    if (status == NB_OK) {
        if (at_limit && !is_short) make_room(loop);
        open_connection(loop, fd, &peer, listener);
        return true;
    }
    if (status == NB_AGAIN) return false;
    bool without_descriptor = nb_os_descriptors_short(errno);
    /* accept(2) allocates a descriptor before it looks for a client. */
    if (without_descriptor && !told) return false;
    if (without_descriptor || errno == ENOBUFS || errno == ENOMEM) {
        out_of_descriptors(loop, listener);
        return !loop->listening_paused;
    }
    NB_COUNT(&loop->counters, accept_errors, 1);
    return false;
}

bool nb_listener_accept(nb_loop *loop, nb_listener *listener) {
    for (int i = 0; i < ACCEPT_BATCH; i++) {
        bool paused = listener->fd < 0 || (!listener->admin && loop->listening_paused);
        bool more = !paused && (listener->admin ? accept_admin(loop, listener) : accept_one(loop, listener, i == 0));
        if (!more) return false;
    }
    return true;
}

void nb_listeners_empty(nb_loop *loop) {
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        bool more = true;
        for (int batch = 0; more && batch < LAST_BATCHES; batch++) {
            more = nb_listener_accept(loop, &loop->listeners[i]);
        }
    }
}

void nb_listeners_pause(nb_loop *loop, bool pause) {
    loop->listening_paused = pause;
    if (!pause) nb_doorbell_cancel(&loop->all->room_bell);
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        poll_listener(loop, i, !pause || loop->listeners[i].admin);
    }
}

/* Admin listeners that found no descriptor: there is one again, or one can be freed. */
static void resume_admin(nb_loop *loop) {
    if (loop->reserve_fd < 0 && !nb_timeouts_oldest(&loop->connections.timeouts, NB_TIMEOUT_IDLE)) return;
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        if (loop->listeners[i].admin) poll_listener(loop, i, true);
    }
}

void nb_listeners_resume_if_possible(nb_loop *loop) {
    if (loop->number > 0) return;
    open_spare(loop);
    if (loop->figures) resume_admin(loop);
    if (!loop->listening_paused || loop->connections.draining) return;
    bool due = loop->listen_again_ns && loop->listen_again_ns <= loop->time.now_ns;
    if (!due && !(loop->waits_for_room && room_possible(loop))) return;
    loop->listen_again_ns = 0;
    nb_listeners_pause(loop, false);
}

void nb_listeners_give_way(nb_loop *loop, uint32_t *descriptors) {
    if (nb_responses_files(&loop->responses)) nb_open_files_shrink(nb_responses_files(&loop->responses), 0);
    while (*descriptors > 0 && make_room(loop)) {
        (*descriptors)--;
    }
    if (loop->number == 0 && !loop->connections.draining) pause_for_descriptors(loop);
}

void nb_listeners_take_arrivals(nb_loop *loop) {
    if (loop->number == 0) return;
    pthread_mutex_lock(&loop->inbox_lock);
    nb_arrival *arrival = loop->arrivals;
    loop->arrivals = NULL;
    pthread_mutex_unlock(&loop->inbox_lock);
    while (arrival) {
        nb_arrival *next = arrival->next;
        nb_connection_open(&loop->connections, &arrival->accepted);
        nb_tls_context_release(arrival->accepted.tls);
        nb_free(arrival);
        arrival = next;
    }
    if (!atomic_load_explicit(&loop->close_idle_asked, memory_order_acquire)) return;
    (void)make_room(loop);
    note_idle(loop);
    atomic_store_explicit(&loop->close_idle_asked, false, memory_order_release);
}

void nb_listeners_tell_room(nb_loop *loop) {
    if (loop->number == 0) return;
    nb_doorbell *bell = &loop->all->room_bell;
    note_idle(loop);
    nb_doorbell_fence(bell);
    if (!nb_doorbell_sleeping(bell)) return;
    if (!full(loop) || nb_loop_idle_ns(loop)) nb_wake_signal(&loop->all->each[0].wake);
}

void nb_listeners_close(nb_loop *loop, bool admin) {
    if (!admin) {
        loop->listening_paused = true;
        loop->listen_again_ns = 0;
        if (loop->number == 0) nb_doorbell_cancel(&loop->all->room_bell);
    }
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        nb_listener *listener = &loop->listeners[i];
        if (listener->fd < 0 || listener->admin != admin) continue;
        poll_listener(loop, i, false);
        nb_listener_close(listener);
    }
}
