/*
 * loop.c - see loop.h.
 */
#include "loop/loop.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/fork.h"
#include "os/memory.h"
#include "os/net.h"
#include "connection/responding.h"
#include "connection/connection.h"
#include "connection/delivery.h"
#include "intake/body.h"
#include "responses/compression.h"
#include "protocols/http1_session.h"
#include "protocols/http2_session.h"
#include "loop/accepting.h"
#include "loop/snapshot.h"
#include "loop/parts.h"
#include "loop/slow_clients.h"

/* Readiness events taken in one turn. The bound keeps them from starving parts of responses
   (parts.c). */
#define EVENTS_IN_A_TURN 256

/* Cookies in the poller: below WAKE_COOKIE the number of a listener, then these two, else the
   address of a connection, or of a tunnel (connection/connection_tunnel.c). */
#define WAKE_COOKIE 1000u
#define GUEST_COOKIE 1001u

/* A running executor may publish without ringing: it rings at the end of its turn, or 50 us after
   the first part. This bounds how long a part waits if the executor then runs one long request. */
#define RUNNING_EXECUTOR_POLL_NS (1 * NB_NS_PER_MS)
/* The same while all executors are quick. It is longer than a tick of most kernels, so that a loop
   that sleeps thousands of times a second sets no high-resolution timer. */
#define QUICK_EXECUTOR_POLL_NS (4 * NB_NS_PER_MS)
/* With several executors and no events, each look waits twice as long as the one before, up to
   this. Executors that compute leave their time to others. */
#define RUNNING_EXECUTOR_POLL_MAX_NS (8 * NB_NS_PER_MS)

/* A front gathers requests before it wakes workers, so that it neither wakes nor is woken for each
   few of them: while clients keep sending, it reads on this many times and this long. With few
   requests under way there is nothing to gather. */
#define GATHERS_IN_A_TURN 4
#define GATHER_FROM 4
#define GATHER_MAX_NS (NB_NS_PER_MS / 5)

/* Descriptors that connections leave to others: this share of the limit, at most RESERVED_MAX. */
#define RESERVED_SHARE 8u
#define RESERVED_MAX 128u

/* The part of response_bytes_max that compressed responses may take. */
#define COMPRESSION_SHARE 2u

#define LINGER_NS (5 * NB_NS_PER_S)

/* Time from the first block that the pool returned to the heap, or the first encoder that fell
   idle, until the heap is trimmed: most of a burst has ended then. A trim stops the loop for a
   while in a large process, so a load that comes and goes has its heap trimmed seldom. */
#define TRIM_AFTER_NS (3 * NB_NS_PER_S)
#define TRIM_AGAIN_NS (60 * NB_NS_PER_S)

/* After a stop, parts of responses are still taken and dropped for this long, so that a writer that
   found its ring full comes to its end. */
#define STOP_PATIENCE_NS (5 * NB_NS_PER_S)

static void body_written(nb_body *body) {
    nb_loop *loop = (nb_loop *)(void *)((char *)body->spool - offsetof(nb_loop, connections.spool));
    pthread_mutex_lock(&loop->inbox_lock);
    body->next = loop->written;
    loop->written = body;
    pthread_mutex_unlock(&loop->inbox_lock);
    nb_wake_signal(&loop->wake);
}

/* Called by a file worker. The loop never sleeps with a sending in the list, so only the first one
   wakes it. */
static void sending_returned(nb_sending *sending) {
    nb_loop *loop = (nb_loop *)(void *)((char *)sending->senders - offsetof(nb_loop, connections.senders));
    pthread_mutex_lock(&loop->inbox_lock);
    sending->next = loop->returned;
    loop->returned = sending;
    bool first = sending->next == NULL;
    pthread_mutex_unlock(&loop->inbox_lock);
    if (first) nb_wake_signal(&loop->wake);
}

/* Called by a thread that takes the steps of handshakes. */
static void handshake_returned(nb_handshake *handshake) {
    nb_loop *loop = (nb_loop *)(void *)((char *)handshake->handshakes - offsetof(nb_loop, connections.handshakes));
    pthread_mutex_lock(&loop->inbox_lock);
    handshake->next = loop->handshakes;
    loop->handshakes = handshake;
    bool first = handshake->next == NULL;
    pthread_mutex_unlock(&loop->inbox_lock);
    if (first) nb_wake_signal(&loop->wake);
}

static const char *spool_directory(const nb_server_config *config) {
    const char *directory = config->spool_directory ? config->spool_directory : getenv("TMPDIR");
    return directory && *directory ? directory : "/tmp";
}

static char *copy_text(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = nb_alloc(bytes);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

static void set_timeouts(nb_loop *loop) {
    nb_timeouts_init(&loop->connections.timeouts);
    int64_t *length_ns = loop->connections.timeouts.length_ns;
    length_ns[NB_TIMEOUT_HANDSHAKE] = loop->config.handshake_timeout_ms * NB_NS_PER_MS;
    length_ns[NB_TIMEOUT_HEADER] = loop->config.header_timeout_ms * NB_NS_PER_MS;
    length_ns[NB_TIMEOUT_TRANSFER] = loop->config.body_timeout_ms * NB_NS_PER_MS;
    length_ns[NB_TIMEOUT_STREAM] = length_ns[NB_TIMEOUT_TRANSFER];
    length_ns[NB_TIMEOUT_IDLE] = loop->config.idle_timeout_ms * NB_NS_PER_MS;
    length_ns[NB_TIMEOUT_ADMIN] = loop->config.idle_timeout_ms * NB_NS_PER_MS;
    length_ns[NB_TIMEOUT_LINGER] = LINGER_NS;
    length_ns[NB_TIMEOUT_RATE] = NB_PACE_TICK_NS;
    length_ns[NB_TIMEOUT_STREAM_RATE] = NB_PACE_TICK_NS;
}

static void set_limits(nb_loop *loop) {
    nb_server_config *config = &loop->config;
    if (config->header_bytes_max > NB_HEAD_BYTES_MAX) config->header_bytes_max = NB_HEAD_BYTES_MAX;
    if (config->headers_max > NB_HEADERS_MAX) config->headers_max = NB_HEADERS_MAX;
    loop->connections.head_limits = (nb_head_limits){
        .head_bytes = config->header_bytes_max,
        .target_bytes = config->header_bytes_max < NB_TARGET_BYTES_MAX ? config->header_bytes_max : NB_TARGET_BYTES_MAX,
        .headers = (uint16_t)config->headers_max,
        .compliance = (nb_compliance)config->http_compliance,
    };
}

/* This loop's share of threads that all loops have together. */
static uint32_t share_of(const nb_loop *loop, uint32_t threads) {
    return (threads + loop->all->count - 1) / loop->all->count;
}

static nb_status open_parts(nb_loop *loop, const nb_server_config *config) {
    nb_status status = nb_wake_init(&loop->wake);
    if (status == NB_OK) status = nb_poll_create(config->poller, &loop->poll);
    if (status == NB_OK) status = nb_poll_add(loop->poll, loop->wake.read_fd, NB_POLL_READ | NB_POLL_EDGE, WAKE_COOKIE);
    if (status == NB_OK) loop->wake_is_edge = strcmp(nb_poll_backend(loop->poll), "epoll") == 0;
    if (loop->number > 0) {
        loop->log = loop->all->each[0].log;
    } else if (status == NB_OK && config->log_fd >= 0) {
        status = nb_log_create(config->log_fd, &loop->log);
    }
    loop->responses.log = loop->reports.log = loop->connections.request_log.log = loop->log;
    if (status == NB_OK)
        status = nb_workers_create("nb-file", share_of(loop, config->file_workers), 4096,
                                   &loop->connections.spool.workers);
    if (status == NB_OK)
        status = nb_senders_init(&loop->connections.senders, (uint16_t)config->sendfile_algorithm,
                                 share_of(loop, config->file_send_workers), config->sendfile_buffer,
                                 config->connections_max, &loop->pool, sending_returned);
    if (status == NB_OK)
        status = nb_handshakes_init(&loop->connections.handshakes, share_of(loop, config->handshake_workers),
                                    config->handshakes_max, handshake_returned);
    if (status == NB_OK) status = nb_compressions_start(&loop->responses.compressions);
    if (status != NB_OK) return status;
    loop->connections.spool.directory = copy_text(spool_directory(config));
    loop->config.version = copy_text(config->version);
    loop->config.ruby_version = copy_text(config->ruby_version);
    return loop->connections.spool.directory && loop->config.version && loop->config.ruby_version ? NB_OK
                                                                                                  : NB_NO_MEMORY;
}

/* Each response may hold as much as is free of the budget of all. Many slow readers get less each
   without further rules, and the budget is never quite used up (the dynamic thresholds of Choudhury
   and Hahne, IEEE/ACM Transactions on Networking 6.2, 1998). */
static void allow_responses(nb_loop *loop) {
    uint64_t here = (uint64_t)loop->pool.sending * NB_READ_BUFFER_BYTES + loop->responses.compressions.bytes,
             all = loop->config.response_bytes_max;
    atomic_store_explicit(&loop->counters.response_bytes, here, memory_order_relaxed);
    uint64_t held = NB_SUM(loop, counters.response_bytes), allowed = held < all ? all - held : 0;
    if (allowed < NB_RESPONSE_FLOOR_BYTES) allowed = NB_RESPONSE_FLOOR_BYTES;
    if (allowed > loop->config.response_backlog_bytes) allowed = loop->config.response_backlog_bytes;
    nb_dispatch_allow(&loop->dispatch, (uint32_t)allowed);
}

/* The rest of the descriptors is for files, request bodies, and what the application opens. */
static int descriptors_for_connections(void) {
    uint64_t all = nb_os_descriptors_max(), most = all < INT_MAX ? all : INT_MAX;
    return (int)(most - (most / RESERVED_SHARE < RESERVED_MAX ? most / RESERVED_SHARE : RESERVED_MAX));
}

static void set_responses(nb_loop *loop) {
    loop->responses = (nb_responses){
        .events = &nb_delivery_response_events,
        .owner = &loop->connections,
        .time = &loop->time,
        .drains = &loop->drain,
        .pool = &loop->pool,
        .counters = &loop->counters,
        .downloads = &loop->downloads,
        .reports = &loop->reports,
        .document_roots = &loop->all->document_roots,
        .openings = {.document_roots = &loop->all->document_roots,
                     .exchanges = &loop->connections.exchanges,
                     .time = &loop->time,
                     .wake = &loop->wake,
                     .context = &loop->responses,
                     .loop = loop->number},
        .compressions = {.types = &loop->all->compress_types,
                         .bytes_min = loop->config.compress_bytes_min,
                         .bytes_max = loop->config.response_bytes_max / COMPRESSION_SHARE / loop->all->count,
                         .level = loop->config.compress_level,
                         .threads = share_of(loop, loop->config.compress_workers),
                         .wake = &loop->wake},
    };
    nb_openings_init(&loop->responses.openings);
    nb_compressions_init(&loop->responses.compressions);
}

static void set_connections(nb_loop *loop, const nb_connections_events *events) {
    nb_connections *connections = &loop->connections;
    const nb_server_config *config = &loop->config;
    connections->protocol = config->protocol ? config->protocol : &nb_http1;
    connections->http2 = config->protocol ? NULL : nb_http2_protocol();
    connections->settings = (nb_connection_settings){
        .body_bytes_max = config->body_bytes_max,
        .send_rate = config->send_rate,
        .header_bytes_max = config->header_bytes_max,
        .body_timeout_ms = config->body_timeout_ms,
        .request_timeout_ms = config->request_timeout_ms,
        .rate_min = config->rate_min,
        .http2_streams_max = config->http2_streams_max,
        .http2_resets_max = config->http2_resets_max,
        .http2_frames_max = config->http2_frames_max,
        .cancel_on_disconnect = config->cancel_on_disconnect != 0,
        .answer_asterisk = config->answer_asterisk != 0,
        .front = config->front != 0,
        .redirect_port = config->redirect_port,
        .compress = (uint8_t)(NB_COMPRESS_OFF + config->compress),
    };
    connections->events = events;
    connections->owner = loop;
    connections->time = &loop->time;
    connections->poll = loop->poll;
    connections->pool = &loop->pool;
    connections->log = loop->log;
    connections->dispatch = &loop->dispatch;
    connections->lanes = &loop->all->lanes;
    connections->routes = &loop->routes;
    connections->challenges = &loop->all->challenges;
    connections->address_paces = loop->all->address_paces;
    connections->responses = &loop->responses;
    connections->counters = &loop->counters;
    connections->downloads = &loop->downloads;
}

nb_status nb_loop_init(nb_loop *loop, const nb_server_config *config, nb_loops *all, uint16_t number,
                       const nb_connections_events *events) {
    memset(loop, 0, sizeof(*loop));
    loop->all = all;
    loop->number = number;
    loop->config = *config;
    loop->config.version = loop->config.ruby_version = NULL;
    loop->wake = (nb_wake){-1, -1};
    /* Only loop 0 listens. */
    loop->reserve_fd = number == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (number == 0) atomic_init(&all->connections_bound, UINT64_MAX);
    loop->descriptors_high = descriptors_for_connections();
    loop->connections.spool.bytes_max = config->spool_bytes_max;
    loop->connections.spool.written = body_written;
    if (number > 0) loop->connections.spool.whole = &all->each[0].connections.spool;
    loop->time.wall_s = -1;
    loop->executor_look_ns = RUNNING_EXECUTOR_POLL_NS;
    pthread_mutex_init(&loop->inbox_lock, NULL);
    pthread_mutex_init(&loop->calls_lock, NULL);
    pthread_cond_init(&loop->calls_done, NULL);
    nb_pool_init(&loop->pool);
    nb_exchanges_init(&loop->connections.exchanges);
    loop->connections.exchanges.loop = number;
    nb_dispatch_init(&loop->dispatch, &loop->connections.exchanges, config->queue_max);
    if (all->count > 1) nb_dispatch_join(&loop->dispatch, &all->queues, number);
    loop->dispatch.spare_after_ns = config->spare_after_ms * NB_NS_PER_MS;
    allow_responses(loop);
    set_responses(loop);
    nb_downloads_init(&loop->downloads, &loop->reports, &loop->connections.senders, &loop->time);
    loop->connections.request_log.enabled = config->log_refused;
    set_timeouts(loop);
    set_limits(loop);
    loop->time.now_ns = loop->started_ns = nb_clock_monotonic_ns();
    loop->started_wall_s = nb_clock_wall_s();
    nb_status status = open_parts(loop, config);
    set_connections(loop, events);
    if (status != NB_OK) nb_loop_deinit(loop);
    return status;
}

/* Frees the connections that have ended. One that is still in the list of those to flush stays
   until it has been taken from there. */
static void free_ended(nb_loop *loop) {
    nb_connection *connection = loop->connections.graveyard;
    loop->connections.graveyard = NULL;
    while (connection) {
        nb_connection *next = connection->next;
        if (connection->dirty) {
            connection->next = loop->connections.graveyard;
            loop->connections.graveyard = connection;
        } else {
            nb_connection_free(&loop->connections, connection);
        }
        connection = next;
    }
}

static void end_all(nb_connection **connections, nb_loop *loop) {
    while (*connections) {
        nb_connection_end(&loop->connections, *connections, true);
    }
}

static void take_written(nb_loop *loop) {
    pthread_mutex_lock(&loop->inbox_lock);
    nb_body *body = loop->written;
    loop->written = NULL;
    pthread_mutex_unlock(&loop->inbox_lock);
    while (body) {
        nb_body *next = body->next;
        nb_exchange *exchange = body->owner;
        nb_status status = nb_body_written(body);
        if (status != NB_CLOSED) exchange->connection->protocol->body_written(&loop->connections, exchange, status);
        body = next;
    }
}

static void take_returned(nb_loop *loop) {
    pthread_mutex_lock(&loop->inbox_lock);
    nb_sending *newest = loop->returned, *sending = NULL;
    loop->returned = NULL;
    pthread_mutex_unlock(&loop->inbox_lock);
    while (newest) {
        nb_sending *next = newest->next;
        newest->next = sending;
        sending = newest;
        newest = next;
    }
    while (sending) {
        nb_sending *next = sending->next;
        nb_connection_returned(&loop->connections, sending->owner);
        sending = next;
    }
}

static void take_handshakes(nb_loop *loop) {
    pthread_mutex_lock(&loop->inbox_lock);
    nb_handshake *handshake = loop->handshakes;
    loop->handshakes = NULL;
    pthread_mutex_unlock(&loop->inbox_lock);
    while (handshake) {
        nb_handshake *next = handshake->next;
        nb_handshake_returned(&loop->connections, handshake);
        handshake = next;
    }
}

static void cancel(nb_loop *loop, nb_exchange_id id) {
    nb_exchange *exchange = nb_exchange_find(&loop->connections.exchanges, id);
    if (!exchange || exchange->ended || !exchange->connection || exchange->channel == NB_CHANNEL_NONE) return;
    nb_dispatch_tell_cancel(nb_dispatch_of(&loop->dispatch, exchange), exchange);
}

static void take_cancels(nb_loop *loop) {
    nb_exchange_id ids[NB_CANCELS_MAX];
    pthread_mutex_lock(&loop->inbox_lock);
    uint16_t count = loop->cancel_count;
    memcpy(ids, loop->cancels, count * sizeof(*ids));
    loop->cancel_count = 0;
    pthread_mutex_unlock(&loop->inbox_lock);
    for (uint16_t i = 0; i < count; i++)
        cancel(loop, ids[i]);
}

static void flush_dirty(nb_loop *loop) {
    nb_connection *connection = loop->connections.dirty;
    loop->connections.dirty = NULL;
    while (connection) {
        nb_connection *next = connection->dirty_next;
        nb_connection_flush(&loop->connections, connection);
        connection = next;
    }
}

void nb_loop_deinit(nb_loop *loop) {
    nb_listeners_close(loop, false);
    nb_listeners_close(loop, true);
    nb_listeners_take_arrivals(loop);
    end_all(&loop->connections.open, loop);
    end_all(&loop->connections.admin, loop);
    end_all(&loop->connections.tunnels, loop);
    nb_workers_destroy(loop->connections.spool.workers);
    nb_senders_stop(&loop->connections.senders);
    nb_handshakes_stop(&loop->connections.handshakes);
    take_written(loop);
    take_returned(loop);
    take_handshakes(loop);
    nb_openings_take(&loop->responses.openings);
    nb_openings_deinit(&loop->responses.openings);
    nb_compressions_deinit(&loop->responses.compressions);
    flush_dirty(loop);
    free_ended(loop);
    nb_senders_deinit(&loop->connections.senders);
    nb_dispatch_deinit(&loop->dispatch);
    for (uint32_t i = 0; i < loop->connections.exchanges.count; i++) {
        nb_send_queue_clear(&loop->connections.exchanges.slots[i]->send_queue, &loop->pool);
    }
    nb_exchanges_deinit(&loop->connections.exchanges);
    nb_document_roots_close(&loop->all->document_roots, loop->number);
    nb_poll_destroy(loop->poll);
    nb_wake_deinit(&loop->wake);
    if (loop->number == 0) nb_log_destroy(loop->log);
    nb_pool_deinit(&loop->pool);
    nb_figures_destroy(loop);
    nb_free(loop->event_streams.earlier);
    nb_downloads_deinit(&loop->downloads);
    nb_reports_deinit(&loop->reports);
    nb_free((char *)(uintptr_t)loop->connections.spool.directory);
    nb_free((char *)(uintptr_t)loop->config.version);
    nb_free((char *)(uintptr_t)loop->config.ruby_version);
    if (loop->reserve_fd >= 0) nb_net_close(loop->reserve_fd, false);
    pthread_mutex_destroy(&loop->inbox_lock);
    pthread_mutex_destroy(&loop->calls_lock);
    pthread_cond_destroy(&loop->calls_done);
}

static void update_time(nb_loop *loop) {
    loop->time.now_ns = nb_clock_monotonic_ns();
    int64_t wall_s = nb_clock_wall_s();
    if (wall_s == loop->time.wall_s) return;
    loop->time.wall_s = wall_s;
    nb_date_line_write(loop->time.date_line, wall_s);
}

/* --- what other threads ask for --- */

void nb_loop_run_calls(nb_loop *loop) {
    if (!atomic_load_explicit(&loop->calls, memory_order_acquire)) return;
    pthread_mutex_lock(&loop->calls_lock);
    nb_loop_call *calls = atomic_exchange_explicit(&loop->calls, NULL, memory_order_acquire);
    pthread_mutex_unlock(&loop->calls_lock);
    for (nb_loop_call *call = calls; call; call = call->next) {
        call->run(loop, call->argument);
    }
    pthread_mutex_lock(&loop->calls_lock);
    while (calls) {
        nb_loop_call *next = calls->next; /* the waiting thread frees it once it is done */
        calls->done = true;
        calls = next;
    }
    pthread_cond_broadcast(&loop->calls_done);
    pthread_mutex_unlock(&loop->calls_lock);
}

void nb_loop_set_unavailable(nb_loop *loop, uint32_t seconds) {
    nb_exchange *exchange;
    nb_request_message *message;
    nb_dispatch_set_unavailable(&loop->dispatch, seconds);
    if (seconds == 0 || nb_dispatch_serves(&loop->dispatch)) return;
    while ((exchange = nb_dispatch_take_first(&loop->dispatch, &message))) {
        nb_request_log_note_message(&loop->connections.request_log, message);
        nb_request_message_free(message);
        nb_respond_unavailable(&loop->connections, exchange);
    }
}

static void expire(nb_loop *loop) {
    nb_timeout_class kind;
    nb_timeout *timeout;
    while ((timeout = nb_timeouts_expire(&loop->connections.timeouts, loop->time.now_ns, &kind))) {
        if (kind == NB_TIMEOUT_STREAM || kind == NB_TIMEOUT_STREAM_RATE) {
            nb_connection_stream_timed_out(&loop->connections, nb_stream_timeout_of(timeout));
        } else {
            nb_connection_timed_out(&loop->connections, nb_connection_of_timeout(timeout), kind);
        }
    }
    nb_exchange *exchange;
    nb_request_message *message;
    while ((exchange = nb_dispatch_take_expired(&loop->dispatch, loop->time.now_ns, &message))) {
        nb_request_log_note_message(&loop->connections.request_log, message);
        nb_request_message_free(message);
        nb_respond_expired(&loop->connections, exchange);
    }
}

/* Returns the memory of a burst to the system, where the heap does not do so by itself. */
static void trim(nb_loop *loop) {
    if (loop->pool.returned == 0 && loop->responses.compressions.idle_bytes == 0) return;
    if (loop->trim_at_ns == 0) loop->trim_at_ns = loop->time.now_ns + TRIM_AFTER_NS;
    if (loop->trim_at_ns < loop->trim_again_ns) loop->trim_at_ns = loop->trim_again_ns;
    if (loop->time.now_ns < loop->trim_at_ns) return;
    loop->trim_at_ns = 0;
    loop->trim_again_ns = loop->time.now_ns + TRIM_AGAIN_NS;
    nb_compressions_trim(&loop->responses.compressions);
    nb_pool_trim(&loop->pool);
    nb_memory_trim();
}

static void tell_admin(nb_loop *loop) {
    if (loop->event_streams.next_ns && loop->time.now_ns >= loop->event_streams.next_ns)
        loop->connections.events->tell_admin(loop);
}

/* Closes files that were not asked for lately. */
static void expire_files(nb_loop *loop) {
    if (!nb_responses_files(&loop->responses) || loop->time.now_ns < loop->files_at_ns) return;
    loop->files_at_ns = nb_open_files_expire(nb_responses_files(&loop->responses), loop->time.now_ns);
}

static void drain_connections(nb_loop *loop) {
    loop->drain_again_ns = loop->time.now_ns + NB_FIRST_REQUEST_NS;
    for (nb_connection *connection = loop->connections.open, *next; connection; connection = next) {
        next = connection->next;
        nb_connection_drain(&loop->connections, connection);
    }
}

static void start_drain(nb_loop *loop) {
    loop->connections.draining = true;
    atomic_store_explicit(&loop->drain, true, memory_order_release); /* a stop drains too */
    loop->drain_deadline_ns = loop->time.now_ns + loop->config.shutdown_timeout_ms * NB_NS_PER_MS;
    nb_listeners_empty(loop);
    nb_listeners_close(loop, false);
    nb_listeners_take_arrivals(loop); /* no more will arrive */
    drain_connections(loop);
}

/* Loop 0 drains first. Then no more connections come to the other loops. */
static void drain_others(nb_loop *loop) {
    for (uint16_t i = 1; loop->number == 0 && i < loop->all->count; i++) {
        nb_loop *other = &loop->all->each[i];
        atomic_store_explicit(&other->drain, true, memory_order_release);
        nb_wake_signal(&other->wake);
    }
}

/* Follows a drain or a stop to its end: first the connections end, then the executors, then the
   loop. */
static void wind_down(nb_loop *loop) {
    if (!loop->stopping && atomic_load_explicit(&loop->stop, memory_order_acquire)) {
        loop->stopping = true;
        loop->stop_deadline_ns = loop->time.now_ns + STOP_PATIENCE_NS;
    }
    bool drain = loop->stopping || atomic_load_explicit(&loop->drain, memory_order_acquire);
    if (drain && !loop->connections.draining) {
        start_drain(loop);
        drain_others(loop);
    }
    if (!loop->connections.draining) return;
    if (loop->time.now_ns >= loop->drain_again_ns) drain_connections(loop);
    bool now = loop->stopping || loop->time.now_ns >= loop->drain_deadline_ns;
    if (now) {
        loop->downloads.stopped = true;
        end_all(&loop->connections.open, loop);
    }
    if (loop->connections.open) return;
    /* Connections with workers were cancelled and return at once. A body whose client has left
       belongs to a worker until it is written. */
    if (loop->connections.with_workers || loop->connections.spool.writes) return;
    if (loop->responses.compressions.bytes) return; /* a thread has a piece of a response */
    nb_dispatch_stop(&loop->dispatch, now ? NB_STOP_NOW : NB_STOP_LAST);
    loop->finished = loop->stopping
                         ? nb_dispatch_executors_idle(&loop->dispatch) || loop->time.now_ns >= loop->stop_deadline_ns
                         : nb_dispatch_executors_gone(&loop->dispatch);
}

static int64_t sleep_ns(nb_loop *loop) {
    int64_t until_ns = nb_timeouts_next_ns(&loop->connections.timeouts),
            queue_ns = nb_dispatch_deadline_ns(&loop->dispatch);
    if (queue_ns < until_ns) until_ns = queue_ns;
    if (loop->listening_paused && loop->listen_again_ns && loop->listen_again_ns < until_ns)
        until_ns = loop->listen_again_ns;
    if (loop->trim_at_ns && loop->trim_at_ns < until_ns) until_ns = loop->trim_at_ns;
    if (loop->files_at_ns && loop->files_at_ns < until_ns) until_ns = loop->files_at_ns;
    if (loop->event_streams.next_ns && loop->event_streams.next_ns < until_ns) until_ns = loop->event_streams.next_ns;
    int64_t slow_ns = nb_slow_clients_next_ns(loop);
    if (slow_ns && slow_ns < until_ns) until_ns = slow_ns;
    if (loop->connections.draining && loop->connections.open && loop->drain_deadline_ns < until_ns)
        until_ns = loop->drain_deadline_ns;
    int64_t longest_ns = loop->connections.draining ? 10 * NB_NS_PER_MS : INT64_MAX;
    if (loop->guest) {
        if (loop->guest_until_ns < until_ns) until_ns = loop->guest_until_ns;
    } else if (loop->connections.exchanges.live && nb_dispatch_executor_running(&loop->dispatch))
        longest_ns = loop->executor_look_ns;
    if (until_ns == INT64_MAX && longest_ns == INT64_MAX) return -1;
    int64_t wait_ns = until_ns == INT64_MAX ? longest_ns : until_ns - loop->time.now_ns;
    if (wait_ns > longest_ns) wait_ns = longest_ns;
    return wait_ns > 0 ? wait_ns : 0;
}

static void next_executor_look(nb_loop *loop, bool something) {
    if (something || loop->dispatch.calls_spare || !loop->dispatch.has_choice) {
        loop->executor_look_ns = loop->dispatch.all_quick ? QUICK_EXECUTOR_POLL_NS : RUNNING_EXECUTOR_POLL_NS;
    } else if (loop->executor_look_ns < RUNNING_EXECUTOR_POLL_MAX_NS) {
        loop->executor_look_ns *= 2;
    }
}

typedef struct nb_loop_events {
    size_t count;
    nb_poll_event each[EVENTS_IN_A_TURN];
} nb_loop_events;

static nb_status poll_events(nb_loop *loop, nb_loop_events *events, int64_t timeout_ns) {
    events->count = 0;
    nb_fork_leave();
    nb_status status = nb_poll_wait(loop->poll, events->each, EVENTS_IN_A_TURN, timeout_ns, &events->count);
    nb_fork_enter();
    return status;
}

static void serve(nb_loop *loop, const nb_loop_events *events) {
    if (loop->responses.stages) loop->responses.stages->polled_ns = loop->time.now_ns;
    for (size_t i = 0; i < events->count; i++) {
        uint64_t cookie = events->each[i].cookie;
        if (cookie < NB_LISTENERS_MAX) {
            (void)nb_listener_accept(loop, &loop->listeners[cookie]);
        } else if (cookie == WAKE_COOKIE) {
            if (!loop->wake_is_edge) nb_wake_clear(&loop->wake);
        } else if (cookie == GUEST_COOKIE) {
            loop->guest_called = true;
        } else if (nb_tunnel_is_cookie(cookie)) {
            nb_tunnel_ready(&loop->connections, nb_tunnel_of_cookie(cookie), events->each[i].events);
        } else {
            nb_connection_ready(&loop->connections, (nb_connection *)(uintptr_t)cookie, events->each[i].events);
        }
    }
}

/* True: there were events. */
static bool poll_and_serve(nb_loop *loop, int64_t timeout_ns) {
    nb_loop_events events;
    nb_status status = poll_events(loop, &events, timeout_ns);
    nb_dispatch_awake(&loop->dispatch);
    update_time(loop);
    loop->connections.handshakes.spent_ns = 0;
    nb_dispatch_look(&loop->dispatch, loop->time.now_ns);
    if (loop->number == 0) nb_lanes_read_reports(&loop->all->lanes, &loop->dispatch, loop->log, loop->time.now_ns);
    if (status != NB_OK) return false;
    next_executor_look(loop, events.count > 0);
    serve(loop, &events);
    return events.count > 0;
}

/* Reads on before workers are woken, so that what comes meanwhile goes to them in one batch. The
   state of executors was read just before. */
static void gather(nb_loop *loop) {
    nb_loop_events events;
    int64_t until_ns = loop->time.now_ns + GATHER_MAX_NS;
    for (int i = 0;
         i < GATHERS_IN_A_TURN && loop->connections.exchanges.live >= GATHER_FROM && loop->time.now_ns <= until_ns;
         i++) {
        nb_dispatch_publish(&loop->dispatch);
        if (poll_events(loop, &events, 0) != NB_OK || events.count == 0) return;
        loop->time.now_ns = nb_clock_monotonic_ns();
        serve(loop, &events);
    }
}

static void publish_open_files(nb_loop *loop) {
    nb_open_files_figures now = nb_open_files_count(nb_responses_files(&loop->responses));
    atomic_store_explicit(&loop->files_open, now.files, memory_order_relaxed);
    atomic_store_explicit(&loop->files_hit, now.hits, memory_order_relaxed);
    atomic_store_explicit(&loop->files_entered, now.opened, memory_order_relaxed);
    atomic_store_explicit(&loop->files_changed, now.changed, memory_order_relaxed);
}

static void publish_gauges(nb_loop *loop) {
    if (loop->figures && nb_responses_files(&loop->responses)) publish_open_files(loop);
    atomic_store_explicit(&loop->counters.connections, nb_connections_count(&loop->connections), memory_order_relaxed);
    atomic_store_explicit(&loop->counters.queue, nb_dispatch_waiting_here(&loop->dispatch), memory_order_relaxed);
    if (loop->connections.exchanges.unspooled)
        nb_spool_give(&loop->connections.spool, loop->connections.exchanges.unspooled);
    loop->connections.exchanges.unspooled = 0;
}

nb_status nb_loop_watch_guest(nb_loop *loop, int fd) {
    return nb_poll_add(loop->poll, fd, NB_POLL_READ | NB_POLL_EDGE, GUEST_COOKIE);
}

/* Bodies that found no room may go on: queued requests were handed over, and rings were emptied. */
static void retry_uploads(nb_loop *loop) {
    nb_dispatch_input_retry(&loop->dispatch);
    if (!loop->connections.uploads.first) return;
    for (nb_upload *upload = loop->connections.uploads.first, *next; upload; upload = next) {
        next = upload->next;
        nb_exchange *exchange = upload->exchange;
        /* Its request still waits in the queue. */
        if (exchange->channel == NB_CHANNEL_NONE) continue;
        nb_connection *connection = exchange->connection;
        connection->protocol->body_room(&loop->connections, exchange);
        /* It has taken other uploads with it. */
        if (connection->state == NB_CONNECTION_ENDED) next = loop->connections.uploads.first;
    }
    nb_dispatch_pump(&loop->dispatch);
}

/*
 * One turn. The order of its steps, and why:
 *
 * 1. Input of other threads first: calls, accepted connections, parts of responses, written bodies,
 *    returned sendings, opened files. Mostly they append to outboxes and mark connections dirty.
 *    Parts that are to be compressed are encoded when all of the turn are there.
 * 2. Then flush, so that all that came for a connection leaves in one system call. What each
 *    response may hold is computed after the flush, when the buffers that it freed are counted.
 * 3. Timeouts and the drain follow the flush: a connection that has just made progress does not
 *    expire. Both end connections, so listening resumes after them, when there may be room.
 * 4. Dispatch: requests that waited go to rings in one batch, and executors are woken once. Bodies
 *    being uploaded come after it, as their requests may just have been handed over.
 * 5. Freeing comes last: until here a list may still point to a connection that has ended.
 * 6. The sleep is announced before the last look for work, else a wake-up between the look and the
 *    sleep would be lost (base/doorbell.h). Metrics are published before, as the sleep may be long.
 * 7. What the events brought is handed over before the turn ends: executors begin at once, and a
 *    guest that runs the turns finds its request when the turn returns (lease.h).
 */
static bool run_turn(nb_loop *loop) {
    NB_COUNT(&loop->counters, turns, 1);
    if (loop->guest) NB_COUNT(&loop->counters, guest_turns, 1);
    if (!loop->connections.without_files)
        atomic_store_explicit(&loop->connections.files_due, false, memory_order_relaxed);
    /* A guest has run a fiber since, and the times of its response are measured. */
    if (loop->figures) loop->time.now_ns = nb_clock_monotonic_ns();
    nb_loop_run_calls(loop);
    nb_listeners_take_arrivals(loop);
    bool more = nb_parts_take(loop);
    take_written(loop);
    take_returned(loop);
    take_handshakes(loop);
    if (loop->connections.settings.revocable) take_cancels(loop);
    nb_openings_take(&loop->responses.openings);
    more |= nb_compressions_step(&loop->responses, loop->connections.without_files);
    flush_dirty(loop);
    nb_slow_clients_turn(loop);
    tell_admin(loop); /* to those who have taken what was sent before */
    allow_responses(loop);
    expire(loop);
    wind_down(loop);
    nb_listeners_resume_if_possible(loop);
    nb_listeners_tell_room(loop);
    nb_dispatch_pump(&loop->dispatch);
    retry_uploads(loop);
    free_ended(loop);
    trim(loop);
    expire_files(loop);
    if (loop->finished) {
        publish_gauges(loop);
        return false;
    }
    bool guest_served = loop->guest && (loop->guest_called || nb_ring_readable(loop->guest));
    nb_stages_turn(loop->responses.stages, loop->time.now_ns);
    publish_gauges(loop); /* the loop may sleep for long */
    bool busy = nb_dispatch_announce_sleep(&loop->dispatch) || more || loop->connections.dirty || guest_served ||
                loop->responses.compressions.due;
    bool came = poll_and_serve(loop, busy ? 0 : sleep_ns(loop));
    if (loop->config.front && came) gather(loop);
    nb_dispatch_pump(&loop->dispatch);
    publish_gauges(loop);
    return true;
}

bool nb_loop_turn(nb_loop *loop) {
    nb_fork_enter();
    bool more = run_turn(loop);
    nb_fork_leave();
    return more;
}
