/*
 * server.c - see server.h: the life of a loop and its thread.
 */
#include "server/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/net.h"
#include "os/thread.h"
#include "server/figures.h"
#include "server/lease.h"
#include "server/loop.h"

/* Requests given ahead to one of several executors: enough to keep it busy for a turn, few enough to be bound late. */
#define SHARED_CREDIT 8u

struct nb_server {
    nb_loop loop;
    nb_lease lease;
    pthread_t thread;
    bool started, joined, abandoned;
    _Atomic bool running;
};

void nb_server_config_default(nb_server_config *config) {
    memset(config, 0, sizeof(*config));
#define NB_SERVER_DEFAULT(type, name, value) config->name = value;
    NB_SERVER_SETTINGS(NB_SERVER_DEFAULT)
#undef NB_SERVER_DEFAULT
    config->log_fd = -1;
    config->version = config->ruby_version = "";
}

nb_status nb_server_create(const nb_server_config *config, nb_server **result) {
    nb_server *server = nb_alloc_zero(1, sizeof(*server));
    if (!server) return NB_NO_MEMORY;
    nb_status status = nb_loop_init(&server->loop, config);
    if (status == NB_OK) {
        status = nb_lease_init(&server->lease);
        if (status != NB_OK) nb_loop_deinit(&server->loop);
    }
    if (status != NB_OK) {
        nb_free(server);
        return status;
    }
    *result = server;
    return NB_OK;
}

static void write_url(nb_listener *listener, const char *address, const char *path) {
    const char *form = path ? "unix://%s" : strchr(address, ':') ? "http://[%s]:%u" : "http://%s:%u";
    (void)snprintf(listener->url, sizeof(listener->url), form, path ? path : address, listener->port);
}

static nb_status add_listener(nb_server *server, int fd, const char *address, uint16_t port, const char *path,
                              bool admin) {
    nb_loop *loop = &server->loop;
    nb_listener listener = {.fd = fd, .port = port, .admin = admin};
    struct stat made;
    if (admin && nb_figures_create(loop) != NB_OK) return NB_NO_MEMORY;
    write_url(&listener, address, path);
    if (strlen(address) < sizeof(listener.address)) memcpy(listener.address, address, strlen(address) + 1);
    if (path) {
        listener.path = nb_alloc(strlen(path) + 1);
        if (!listener.path) return NB_NO_MEMORY;
        memcpy(listener.path, path, strlen(path) + 1);
        if (stat(path, &made) == 0) {
            listener.path_device = made.st_dev;
            listener.path_inode = made.st_ino;
        }
    }
    loop->listeners[loop->listener_count++] = listener;
    return NB_OK;
}

static nb_status listen_tcp(nb_server *server, const char *address, uint16_t port, int backlog, bool admin,
                            uint16_t *bound_port) {
    if (server->started || server->loop.listener_count == NB_LISTENERS_MAX) return NB_FULL;
    int fd;
    nb_status status = nb_net_listen_tcp(address, port, backlog, &fd, bound_port);
    if (status != NB_OK) return status;
    status = add_listener(server, fd, address, *bound_port, NULL, admin);
    if (status != NB_OK) nb_net_close(fd, false);
    return status;
}

static nb_status listen_unix(nb_server *server, const char *path, unsigned mode, int backlog, bool admin) {
    if (server->started || server->loop.listener_count == NB_LISTENERS_MAX) return NB_FULL;
    int fd;
    nb_status status = nb_net_listen_unix(path, mode, backlog, &fd);
    if (status != NB_OK) return status;
    status = add_listener(server, fd, "", 0, path, admin);
    if (status == NB_OK) return NB_OK;
    unlink(path);
    nb_net_close(fd, false);
    return status;
}

nb_status nb_server_listen_tcp(nb_server *server, const char *address, uint16_t port, int backlog,
                               uint16_t *bound_port) {
    return listen_tcp(server, address, port, backlog, false, bound_port);
}

nb_status nb_server_listen_unix(nb_server *server, const char *path, unsigned mode, int backlog) {
    return listen_unix(server, path, mode, backlog, false);
}

nb_status nb_server_listen_admin_tcp(nb_server *server, const char *address, uint16_t port, uint16_t *bound_port) {
    return listen_tcp(server, address, port, NB_ADMIN_CONNECTIONS_MAX, true, bound_port);
}

nb_status nb_server_listen_admin_unix(nb_server *server, const char *path, unsigned mode) {
    return listen_unix(server, path, mode, NB_ADMIN_CONNECTIONS_MAX, true);
}

nb_status nb_server_route_add(nb_server *server, nb_slice pattern, nb_route route, uint16_t *number) {
    return server->started ? NB_FULL : nb_routes_add(&server->loop.routes, pattern, route, number);
}

const nb_route *nb_server_route(const nb_server *server, uint16_t number) {
    return nb_routes_get(&server->loop.routes, number);
}

nb_status nb_server_channel_add(nb_server *server, nb_channel **result) {
    nb_dispatch *dispatch = &server->loop.dispatch;
    if (server->started || dispatch->count == NB_CHANNELS_MAX) return NB_FULL;
    nb_status status = nb_channel_create(&server->loop.wake, result);
    return status == NB_OK ? nb_dispatch_channel_add(dispatch, *result) : status;
}

/* What the executor's side reads of the server. */
static void introduce(const nb_server *server, nb_channel *channel, bool alone) {
    const nb_loop *loop = &server->loop;
    nb_channel_memory *memory = channel->memory;
    uint32_t credit = loop->config.credit;
    memory->credit = alone || credit < SHARED_CREDIT ? credit : SHARED_CREDIT;
    memory->listener_count = loop->listener_count;
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        memcpy(memory->listeners[i].address, loop->listeners[i].address, sizeof(memory->listeners[i].address));
        memory->listeners[i].port = loop->listeners[i].port;
    }
    atomic_store_explicit(&memory->figures.wanted, loop->figures != NULL, memory_order_relaxed);
}

/* The host runs the loop while the executor is busy. When it waits again, it is woken to run it itself. */
static bool executor_waits(nb_server *server) {
    if (!atomic_load_explicit(&server->lease.guest_allowed, memory_order_acquire)) return false;
    nb_channel *channel = server->loop.dispatch.channels[0].channel;
    bool asleep = nb_doorbell_sleeping(&channel->memory->executor_bell);
    if (!asleep && !atomic_load_explicit(&server->lease.guest_wants, memory_order_relaxed)) return false;
    if (asleep) nb_channel_ring_executor(channel);
    return true;
}

bool nb_server_guest_begin(nb_server *server, int fd) {
    if (!server->loop.config.guest_turns || server->loop.dispatch.count != 1 || fd < 0) return false;
    if (nb_poll_descriptor(server->loop.poll) < 0) return false; /* one that a second thread may not touch */
    if (nb_loop_watch_guest(&server->loop, fd) != NB_OK) return false;
    atomic_store_explicit(&server->lease.guest_allowed, true, memory_order_release);
    return true;
}

void nb_server_guest_end(nb_server *server) { nb_lease_end_guest(&server->lease); }

nb_guest_outcome nb_server_guest_wait(nb_server *server, nb_ring_consumer *requests, int64_t timeout_ns) {
    nb_loop *loop = &server->loop;
    if (!nb_lease_take_as_guest(&server->lease)) return NB_GUEST_REFUSED;
    nb_doorbell_cancel(&loop->dispatch.channels[0].channel->memory->executor_bell);
    bool host_ran = atomic_exchange_explicit(&server->lease.host_ran, false, memory_order_relaxed);
    loop->guest = requests;
    loop->guest_called = host_ran;
    loop->guest_until_ns = timeout_ns < 0                ? INT64_MAX
                           : timeout_ns == 0 || host_ran ? 0
                                                         : nb_clock_monotonic_ns() + timeout_ns;
    bool more = true;
    do {
        more = nb_loop_turn(loop);
    } while (more && !loop->guest_called && !nb_ring_readable(requests) && loop->now_ns < loop->guest_until_ns);
    loop->guest = NULL;
    bool called = loop->guest_called;
    nb_lease_give_back(&server->lease, loop->now_ns);
    return called ? NB_GUEST_CALLED : NB_GUEST_SERVED;
}

static void *run(void *argument) {
    nb_server *server = argument;
    bool more = true;
    if (server->loop.config.front)
        nb_thread_wake_gently(); /* so that a worker ends its batch, and the next turn is a large one */
    while (more) {
        nb_lease_host_standby(&server->lease);
        do {
            more = nb_loop_turn(&server->loop);
        } while (more && !executor_waits(server));
        if (more) nb_lease_host_give_back(&server->lease, server->loop.now_ns);
    }
    pthread_mutex_lock(&server->loop.calls_lock);
    atomic_store_explicit(&server->running, false, memory_order_release);
    pthread_mutex_unlock(&server->loop.calls_lock);
    nb_loop_run_calls(&server->loop); /* those that came before */
    return NULL;
}

nb_status nb_server_start(nb_server *server) {
    if (server->started) return NB_EXISTS;
    const nb_dispatch *dispatch = &server->loop.dispatch;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        introduce(server, dispatch->channels[i].channel, dispatch->count == 1);
    }
    nb_listeners_pause(&server->loop, false);
    atomic_store_explicit(&server->running, true, memory_order_release);
    nb_status status = nb_thread_start("nb-io", run, server, &server->thread);
    if (status != NB_OK) {
        atomic_store_explicit(&server->running, false, memory_order_release);
        return status;
    }
    server->started = true;
    return NB_OK;
}

/* --- a front's channels --- */

/* Runs it between two turns of the loop, or here when the loop does not run. */
static void call(nb_server *server, void (*work)(nb_loop *, void *), void *argument) {
    nb_loop *loop = &server->loop;
    nb_loop_call wanted = {.run = work, .argument = argument};
    pthread_mutex_lock(&loop->calls_lock);
    if (!nb_server_running(server)) {
        pthread_mutex_unlock(&loop->calls_lock);
        work(loop, argument);
        return;
    }
    wanted.next = atomic_load_explicit(&loop->calls, memory_order_relaxed);
    atomic_store_explicit(&loop->calls, &wanted, memory_order_release);
    nb_wake_signal(&loop->wake);
    while (!wanted.done) {
        pthread_cond_wait(&loop->calls_done, &loop->calls_lock);
    }
    pthread_mutex_unlock(&loop->calls_lock);
}

nb_status nb_server_channel_create(nb_server *server, nb_channel **channel) {
    nb_status status = nb_channel_create_shared(&server->loop.wake, channel);
    if (status == NB_OK) introduce(server, *channel, false);
    return status;
}

typedef struct channel_call {
    nb_channel *channel;
    nb_channel_report *report;
    nb_status status;
    uint16_t number;
    int32_t pid;
} channel_call;

static void serve(nb_loop *loop, void *argument) {
    channel_call *wanted = argument;
    wanted->status = nb_dispatch_channel_add(&loop->dispatch, wanted->channel);
    if (wanted->status != NB_OK) return;
    nb_dispatch_channel *added = nb_dispatch_find(&loop->dispatch, wanted->channel);
    added->number = wanted->number;
    added->pid = wanted->pid;
}

nb_status nb_server_channel_serve(nb_server *server, nb_channel *channel, uint16_t number, int32_t pid) {
    channel_call wanted = {.channel = channel, .number = number, .pid = pid};
    introduce(server, channel, false);
    call(server, serve, &wanted);
    return wanted.status;
}

static void retire(nb_loop *loop, void *argument) {
    nb_dispatch_channel *channel = nb_dispatch_find(&loop->dispatch, argument);
    if (channel) nb_dispatch_retire(channel);
}

void nb_server_channel_retire(nb_server *server, nb_channel *channel) { call(server, retire, channel); }

static void end(nb_loop *loop, void *argument) {
    channel_call *wanted = argument;
    nb_dispatch_channel *channel = nb_dispatch_find(&loop->dispatch, wanted->channel);
    if (channel) {
        nb_loop_channel_end(loop, channel, wanted->report);
    } else {
        nb_channel_destroy(wanted->channel);
    }
}

void nb_server_channel_end(nb_server *server, nb_channel *channel, nb_channel_report *report) {
    channel_call wanted = {.channel = channel, .report = report};
    memset(report, 0, sizeof(*report));
    call(server, end, &wanted);
}

static void list_running(nb_loop *loop, void *argument) {
    channel_call *wanted = argument;
    nb_dispatch_channel *channel = nb_dispatch_find(&loop->dispatch, wanted->channel);
    if (channel) nb_loop_channel_running(loop, channel, wanted->report);
}

void nb_server_channel_running(nb_server *server, nb_channel *channel, nb_channel_report *report) {
    channel_call wanted = {.channel = channel, .report = report};
    memset(report, 0, sizeof(*report));
    call(server, list_running, &wanted);
}

static void set_unavailable(nb_loop *loop, void *seconds) { nb_loop_set_unavailable(loop, *(uint32_t *)seconds); }

void nb_server_unavailable(nb_server *server, uint32_t seconds) { call(server, set_unavailable, &seconds); }

void nb_server_drain(nb_server *server) {
    atomic_store_explicit(&server->loop.drain, true, memory_order_release);
    nb_wake_signal(&server->loop.wake);
}

void nb_server_stop_now(nb_server *server) {
    atomic_store_explicit(&server->loop.stop, true, memory_order_release);
    nb_wake_signal(&server->loop.wake);
}

void nb_server_join(nb_server *server) {
    if (!server->started || server->joined) return;
    server->joined = true;
    pthread_join(server->thread, NULL);
}

bool nb_server_running(nb_server *server) { return atomic_load_explicit(&server->running, memory_order_acquire); }

static void close_inherited(const nb_connection *connections) {
    for (const nb_connection *connection = connections; connection; connection = connection->next) {
        close(connection->transport.fd);
        if (connection->body && connection->body->fd >= 0) close(connection->body->fd);
    }
}

void nb_server_abandon(nb_server *server) {
    nb_loop *loop = &server->loop;
    server->abandoned = true;
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        if (loop->listeners[i].fd >= 0) close(loop->listeners[i].fd);
    }
    close_inherited(loop->connections);
    close_inherited(loop->admin_connections);
    for (uint32_t i = 0; i < loop->exchanges.count; i++) {
        if (loop->exchanges.slots[i]->handover) close(loop->exchanges.slots[i]->handover->fd);
    }
    for (uint16_t i = 0; i < loop->dispatch.count; i++) {
        nb_channel *channel = loop->dispatch.channels[i].channel;
        if (channel && nb_channel_is_shared(channel)) nb_channel_abandon(channel);
    }
    if (loop->spare_fd >= 0) close(loop->spare_fd);
    int poller = nb_poll_descriptor(loop->poll);
    if (poller >= 0) close(poller);
}

void nb_server_destroy(nb_server *server) {
    if (!server || server->abandoned) return;
    if (server->started && !server->joined) {
        nb_server_stop_now(server);
        nb_server_join(server);
    }
    nb_loop_deinit(&server->loop);
    nb_lease_deinit(&server->lease);
    nb_free(server);
}

void nb_server_stats_read(nb_server *server, nb_server_stats *stats) {
#define NB_SERVER_READ(name) stats->name = atomic_load_explicit(&server->loop.counters.name, memory_order_relaxed);
    NB_SERVER_STATS(NB_SERVER_READ)
#undef NB_SERVER_READ
}
