/*
 * server.c - see server.h: the life of the loops and their threads.
 */
#include "server/server_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/thread.h"
#include "admin/admin.h"
#include "loop/snapshot.h"
#include "loop/lease.h"
#include "loop/loop.h"
#include "loop/parts.h"
#include "connection/connection.h"
#include "loop/accepting.h"

/* Requests handed ahead to one of several executors, or to a slow one: enough to keep it busy for a
   turn, few enough to bind requests late. */
#define SHARED_CREDIT 8u

/* Descriptors that starting a process takes beside those of its channels. */
#define STARTER_DESCRIPTORS 2u

void nb_server_config_default(nb_server_config *config) {
    memset(config, 0, sizeof(*config));
#define NB_SERVER_DEFAULT(type, name, value) config->name = value;
    NB_SERVER_SETTINGS(NB_SERVER_DEFAULT)
#undef NB_SERVER_DEFAULT
    config->log_fd = -1;
    config->version = config->ruby_version = "";
}

static nb_status answer_admin(void *owner, nb_exchange *exchange, nb_slice authority) {
    return nb_admin_answer(owner, exchange, authority);
}

static void tell_admin(void *owner) { nb_admin_tell(owner); }

static const nb_connections_events events = {.answer_admin = answer_admin, .tell_admin = tell_admin};

static void deinit_loops(nb_loops *loops, uint16_t made) {
    while (made > 0) {
        nb_loop_deinit(&loops->each[--made]); /* the first loop ends last */
    }
    nb_free(loops->admin.page);
    nb_free(loops->admin.token);
    nb_free(loops->admin.host);
    nb_free(loops->admin.advice);
    nb_document_roots_deinit(&loops->document_roots);
    nb_challenges_deinit(&loops->challenges);
    nb_lanes_deinit(&loops->lanes);
    if (loops->reports.open) nb_wake_deinit(&loops->reports.wake);
    nb_free(loops->each);
    nb_address_paces_destroy(loops->address_paces);
}

static nb_status init_loops(nb_loops *loops, const nb_server_config *config) {
    uint32_t count = config->io_threads ? config->io_threads : 1;
    loops->count = loops->queues.count = (uint16_t)(count < NB_IO_THREADS_MAX ? count : NB_IO_THREADS_MAX);
    loops->each = nb_alloc_zero(loops->count, sizeof(nb_loop));
    if (!loops->each) return NB_NO_MEMORY;
    nb_status status = nb_lanes_init(&loops->lanes);
    if (status == NB_OK) {
        status = nb_challenges_init(&loops->challenges);
        if (status != NB_OK) nb_lanes_deinit(&loops->lanes);
    }
    if (status != NB_OK) {
        nb_free(loops->each);
        return status;
    }
    status = nb_document_roots_init(&loops->document_roots, loops->count, (nb_symlinks)config->symlinks);
    /* No other command has this setting. */
    loops->document_roots.files_command = config->answer_asterisk != 0;
    if (status == NB_OK && config->address_rate)
        status = nb_address_paces_create(config->address_rate, &loops->address_paces);
    if (status != NB_OK) deinit_loops(loops, 0);
    for (uint16_t i = 0; i < loops->count && status == NB_OK; i++) {
        status = nb_loop_init(&loops->each[i], config, loops, i, &events);
        if (status != NB_OK) {
            deinit_loops(loops, i);
            return status;
        }
        loops->queues.places[i].wake = &loops->each[i].wake;
    }
    return status;
}

nb_status nb_server_create(const nb_server_config *config, nb_server **result) {
    nb_server *server = nb_alloc_zero(1, sizeof(*server));
    if (!server) return NB_NO_MEMORY;
    nb_status status = init_loops(&server->loops, config);
    if (status == NB_OK) {
        status = nb_lease_init(&server->lease);
        if (status != NB_OK) deinit_loops(&server->loops, server->loops.count);
    }
    if (status != NB_OK) {
        nb_free(server);
        return status;
    }
    server->inherited_fd = -1;
    *result = server;
    return NB_OK;
}

nb_document_roots *nb_server_document_roots(nb_server *server) {
    return server->started ? NULL : &server->loops.document_roots;
}

nb_status nb_server_challenges(nb_server *server, const nb_challenge *list, size_t count) {
    return nb_challenges_set(&server->loops.challenges, list, count);
}

nb_compress_types *nb_server_compress_types(nb_server *server) {
    return server->started ? NULL : &server->loops.compress_types;
}

/* --- reports --- */

nb_status nb_server_reports_open(nb_server *server, int *fd) {
    nb_reports_reader *reader = &server->loops.reports;
    if (server->started || reader->open) return NB_FULL;
    nb_status status = nb_wake_init(&reader->wake);
    if (status != NB_OK) return status;
    reader->open = true;
    for (uint16_t i = 0; i < server->loops.count && status == NB_OK; i++) {
        status = nb_reports_open(&server->loops.each[i].reports, &reader->wake);
    }
    if (status == NB_OK) *fd = reader->wake.read_fd;
    return status;
}

static bool take_any(nb_loops *loops, nb_report *place) {
    for (uint16_t i = 0; i < loops->count; i++) {
        if (nb_reports_take(&loops->each[i].reports, place)) return true;
    }
    return false;
}

bool nb_server_report_take(nb_server *server, nb_report *place) {
    if (take_any(&server->loops, place)) return true;
    if (!server->loops.reports.open) return false;
    nb_wake_clear(&server->loops.reports.wake);
    return take_any(&server->loops, place);
}

void nb_server_reports_count(nb_server *server, unsigned fate, uint64_t count) {
    if (fate < NB_REPORT_FATE_COUNT) atomic_fetch_add(&server->loops.reports.fates[fate], count);
}

/* Copies a text that is given once, before the start. */
static nb_status give(const nb_server *server, nb_slice text, char **copy, size_t *bytes) {
    if (server->started || *copy) return NB_FULL;
    *copy = nb_alloc(text.size + 1);
    if (!*copy) return NB_NO_MEMORY;
    memcpy(*copy, text.data, text.size);
    *bytes = text.size;
    return NB_OK;
}

nb_status nb_server_admin_page(nb_server *server, nb_slice html) {
    nb_admin_side *admin = &server->loops.admin;
    return give(server, html, &admin->page, &admin->page_bytes);
}

nb_status nb_server_admin_host(nb_server *server, nb_slice name) {
    nb_admin_side *admin = &server->loops.admin;
    return give(server, name, &admin->host, &admin->host_bytes);
}

nb_status nb_server_admin_token(nb_server *server, nb_slice token) {
    nb_loops *loops = &server->loops;
    nb_status status = give(server, token, &loops->admin.token, &loops->admin.token_bytes);
    for (uint16_t i = 0; i < loops->count && status == NB_OK; i++)
        loops->each[i].connections.settings.revocable = true;
    return status;
}

nb_status nb_server_admin_commands(nb_server *server, int fd, bool changes) {
    nb_admin_side *admin = &server->loops.admin;
    if (server->started || admin->has_commands) return NB_FULL;
    admin->has_commands = true;
    admin->takes_changes = changes;
    admin->commands_fd = fd;
    return NB_OK;
}

typedef struct admin_advice {
    char *json;
    size_t bytes;
} admin_advice;

typedef struct admin_result_call {
    bool ok;
    const char *words;
} admin_result_call;

/* Runs on loop 0. */
static void set_admin_result(nb_loop *loop, void *argument) {
    const admin_result_call *wanted = argument;
    nb_admin_result *result = &loop->all->admin.result;
    result->number++;
    result->ok = wanted->ok;
    (void)snprintf(result->words, sizeof(result->words), "%s", wanted->words);
}

/* Runs on loop 0. The text is another's afterwards. */
static void set_advice(nb_loop *loop, void *argument) {
    admin_advice *given = argument;
    nb_admin_side *admin = &loop->all->admin;
    admin_advice before = {.json = admin->advice, .bytes = admin->advice_bytes};
    admin->advice = given->json;
    admin->advice_bytes = given->bytes;
    *given = before;
}

nb_status nb_server_route_add(nb_server *server, nb_slice pattern, nb_route route, uint16_t *number) {
    return server->started ? NB_FULL : nb_routes_add(&nb_server_first(server)->routes, pattern, route, number);
}

const nb_route *nb_server_route(const nb_server *server, uint16_t number) {
    return nb_routes_get(&server->loops.each[0].routes, number);
}

static nb_status make_link(nb_server *server, bool shared, nb_link **link) {
    const nb_wake *wakes[NB_IO_THREADS_MAX];
    for (uint16_t i = 0; i < server->loops.count; i++) {
        wakes[i] = &server->loops.each[i].wake;
    }
    return shared ? nb_link_create_shared(wakes, server->loops.count, link)
                  : nb_link_create(wakes, server->loops.count, link);
}

nb_status nb_server_channel_add(nb_server *server, nb_channel **result) {
    nb_link *link;
    if (server->started || nb_dispatch_free_places(&nb_server_first(server)->dispatch) == 0) return NB_FULL;
    nb_status status = make_link(server, false, &link);
    if (status != NB_OK) return status;
    for (uint16_t i = 0; i < server->loops.count; i++) {
        status = nb_dispatch_channel_add(&server->loops.each[i].dispatch, &link->channels[i]);
        NB_ASSERT(status == NB_OK);
    }
    *result = &link->channels[0];
    return NB_OK;
}

nb_status nb_server_spare_add(nb_server *server, nb_channel *helped, nb_channel **result) {
    nb_link *link;
    if (server->started || helped->link->spare) return NB_FULL;
    nb_status status = make_link(server, false, &link);
    if (status != NB_OK) return status;
    helped->link->spare = link;
    for (uint16_t i = 0; i < server->loops.count; i++) {
        nb_dispatch *dispatch = &server->loops.each[i].dispatch;
        nb_dispatch_channel *channel = nb_dispatch_find(dispatch, &helped->link->channels[i]);
        /* The spare of an uncalled spare is found by its link. */
        if (channel) channel->uncalled_spare = &link->channels[i];
        dispatch->has_choice = true;
    }
    *result = &link->channels[0];
    return NB_OK;
}

static nb_dispatch *lane_of(nb_loop *loop, uint16_t number) {
    nb_dispatch *lane = &loop->dispatch;
    while (lane && lane->lane != number) {
        lane = lane->next_lane;
    }
    return lane;
}

static nb_status add_lane(nb_loop *loop, nb_queues *queues, uint32_t waiting_max) {
    nb_dispatch *lane = nb_alloc_zero(1, sizeof(*lane));
    if (!lane) return NB_NO_MEMORY;
    nb_dispatch_init(lane, &loop->connections.exchanges, waiting_max);
    if (loop->all->count > 1) nb_dispatch_join(lane, queues, loop->number);
    nb_dispatch_add_lane(&loop->dispatch, lane);
    return NB_OK;
}

nb_status nb_server_lane_add(nb_server *server, uint16_t threads, uint32_t waiting_max, uint16_t *number) {
    nb_loops *loops = &server->loops;
    if (server->started || loops->lane_count == NB_LANES_MAX) return NB_FULL;
    nb_queues *queues = &loops->lane_queues[loops->lane_count];
    *queues = loops->queues; /* the same places; nothing waits yet */
    for (uint16_t i = 0; i < loops->count; i++) {
        nb_status status = add_lane(&loops->each[i], queues, waiting_max);
        if (status != NB_OK) return status;
    }
    loops->lane_threads[loops->lane_count++] = threads;
    *number = loops->lane_count;
    return NB_OK;
}

nb_status nb_server_learn_lanes(nb_server *server, uint16_t lane) {
    if (server->started || lane == 0 || lane > server->loops.lane_count) return NB_FULL;
    nb_lanes_learn(&server->loops.lanes, lane);
    return NB_OK;
}

nb_status nb_server_lane_rules(nb_server *server, const nb_lane_rules *rules) {
    for (uint16_t i = 0; i < rules->count; i++) {
        if (rules->each[i].lane > server->loops.lane_count) return NB_INVALID;
    }
    nb_lanes_set_rules(&server->loops.lanes, rules);
    return NB_OK;
}

nb_status nb_server_lane_channel_add(nb_server *server, uint16_t lane, nb_channel **result) {
    nb_link *link;
    if (server->started || lane == 0 || lane > server->loops.lane_count) return NB_FULL;
    if (nb_dispatch_free_places(lane_of(nb_server_first(server), lane)) == 0) return NB_FULL;
    nb_status status = make_link(server, false, &link);
    if (status != NB_OK) return status;
    link->lane = link->board->lane = lane;
    for (uint16_t i = 0; i < server->loops.count; i++) {
        nb_dispatch *dispatch = lane_of(&server->loops.each[i], lane);
        status = nb_dispatch_channel_add(dispatch, &link->channels[i]);
        NB_ASSERT(status == NB_OK);
        dispatch->has_choice = true;
    }
    *result = &link->channels[0];
    return NB_OK;
}

static void fill_board(nb_server *server, nb_board *board, bool alone) {
    const nb_loop *loop = nb_server_first(server);
    uint32_t credit = loop->config.credit;
    board->credit = credit;
    board->credit_slow = alone || credit < SHARED_CREDIT ? credit : SHARED_CREDIT;
    board->listener_count = loop->listener_count;
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        memcpy(board->listeners[i].address, loop->listeners[i].address, sizeof(board->listeners[i].address));
        board->listeners[i].port = loop->listeners[i].port;
        board->listeners[i].secure = loop->listeners[i].secure;
    }
    atomic_store_explicit(&board->figures.enabled, loop->figures != NULL, memory_order_relaxed);
}

/* Sets what an executor reads of the server, on its board and those of its spares and lanes. */
static void fill_boards(nb_server *server, const nb_link *first_link, bool alone) {
    fill_board(server, first_link->board, alone);
    for (const nb_link *link = first_link; (link = nb_link_next(first_link, link));) {
        fill_board(server, link->board, false);
    }
}

/* For the host, which runs the loop while the executor is busy. True: the executor waits again, and
   is woken to run the loop itself. */
static bool executor_waits(nb_server *server) {
    if (!atomic_load_explicit(&server->lease.guest_allowed, memory_order_acquire)) return false;
    nb_channel *channel = nb_server_first(server)->dispatch.channels[0].channel;
    bool asleep = nb_doorbell_sleeping(&channel->board->executor_bell);
    if (!asleep && !atomic_load_explicit(&server->lease.guest_wants, memory_order_relaxed)) return false;
    if (asleep) nb_channel_ring_executor(channel);
    return true;
}

bool nb_server_guest_begin(nb_server *server, int fd) {
    nb_loop *loop = nb_server_first(server);
    if (server->loops.count > 1 || !loop->config.guest_turns || loop->dispatch.count != 1 || fd < 0) return false;
    /* A poller that a second thread may not touch. */
    if (nb_poll_descriptor(loop->poll) < 0) return false;
    if (nb_loop_watch_guest(loop, fd) != NB_OK) return false;
    atomic_store_explicit(&server->lease.guest_allowed, true, memory_order_release);
    return true;
}

void nb_server_guest_end(nb_server *server) { nb_lease_end_guest(&server->lease); }

static nb_guest_outcome be_guest(nb_server *server, nb_ring_consumer *requests, int64_t timeout_ns, bool sends_files) {
    nb_loop *loop = nb_server_first(server);
    if (!nb_lease_take_as_guest(&server->lease)) return NB_GUEST_REFUSED;
    nb_doorbell_cancel(&loop->dispatch.channels[0].channel->board->executor_bell);
    bool host_ran = atomic_exchange_explicit(&server->lease.host_ran, false, memory_order_relaxed);
    loop->guest = requests;
    loop->connections.without_files = !sends_files;
    loop->guest_called = host_ran;
    loop->guest_until_ns = timeout_ns < 0                ? INT64_MAX
                           : timeout_ns == 0 || host_ran ? 0
                                                         : nb_clock_monotonic_ns() + timeout_ns;
    bool more = true;
    do {
        more = nb_loop_turn(loop);
    } while (more && !loop->guest_called && !nb_ring_readable(requests) && loop->time.now_ns < loop->guest_until_ns);
    loop->guest = NULL;
    loop->connections.without_files = false;
    bool called = loop->guest_called;
    nb_lease_give_back(&server->lease, loop->time.now_ns);
    return called ? NB_GUEST_CALLED : NB_GUEST_SERVED;
}

nb_guest_outcome nb_server_guest_wait(nb_server *server, nb_ring_consumer *requests, int64_t timeout_ns) {
    return be_guest(server, requests, timeout_ns, true);
}

nb_guest_outcome nb_server_guest_turn(nb_server *server, nb_ring_consumer *requests) {
    const nb_loop *loop = nb_server_first(server);
    bool files = nb_counted(&loop->connections.senders.active) > 0 ||
                 atomic_load_explicit(&loop->connections.files_due, memory_order_relaxed);
    return files ? NB_GUEST_REFUSED : be_guest(server, requests, 0, false);
}

static void run_leased(nb_server *server) {
    bool more = true;
    while (more) {
        nb_lease_host_standby(&server->lease);
        do {
            more = nb_loop_turn(nb_server_first(server));
        } while (more && !executor_waits(server));
        if (more) nb_lease_host_give_back(&server->lease, nb_server_first(server)->time.now_ns);
    }
}

static void *run(void *argument) {
    io_thread *self = argument;
    nb_loop *loop = self->loop;
    /* So that a worker ends its batch first, and the next turn is a large one. */
    if (loop->config.front) nb_thread_wake_gently();
    if (loop->all->count == 1) {
        run_leased(self->server);
    } else {
        while (nb_loop_turn(loop)) {
        }
    }
    pthread_mutex_lock(&loop->calls_lock);
    atomic_store_explicit(&loop->running, false, memory_order_release);
    pthread_mutex_unlock(&loop->calls_lock);
    nb_loop_run_calls(loop); /* calls that came before `running` was cleared */
    return NULL;
}

/* Copies addresses and routes from the first loop to the others. The sockets stay the first's. */
static void share_listeners(nb_server *server) {
    const nb_loop *from = nb_server_first(server);
    for (uint16_t i = 1; i < server->loops.count; i++) {
        nb_loop *loop = &server->loops.each[i];
        loop->routes = from->routes;
        loop->listener_count = from->listener_count;
        for (uint16_t j = 0; j < from->listener_count; j++) {
            loop->listeners[j] = from->listeners[j];
            loop->listeners[j].fd = -1;
            loop->listeners[j].path = NULL;
            loop->listeners[j].tls = NULL; /* connections bring theirs */
        }
    }
}

static nb_status start_thread(nb_server *server, uint16_t number) {
    char name[16];
    io_thread *thread = &server->threads[number];
    *thread = (io_thread){.server = server, .loop = &server->loops.each[number]};
    (void)snprintf(name, sizeof(name), number ? "nb-io-%u" : "nb-io", number);
    atomic_store_explicit(&thread->loop->running, true, memory_order_release);
    nb_status status = nb_thread_start(name, run, thread, &thread->thread);
    if (status != NB_OK) atomic_store_explicit(&thread->loop->running, false, memory_order_release);
    return status;
}

static void join(nb_server *server, uint16_t from) {
    for (uint16_t i = from; i < server->loops.count; i++) {
        pthread_join(server->threads[i].thread, NULL);
    }
}

nb_status nb_server_start(nb_server *server) {
    if (server->started) return NB_EXISTS;
    nb_compress_types *types = &server->loops.compress_types;
    if (types->count == 0) nb_compress_types_add_usual(types);
    const nb_dispatch *dispatch = &nb_server_first(server)->dispatch;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        fill_boards(server, dispatch->channels[i].channel->link, dispatch->count == 1);
    }
    for (nb_dispatch *lane = dispatch->next_lane; lane; lane = lane->next_lane) {
        for (uint16_t i = 0; i < lane->count; i++) {
            fill_board(server, lane->channels[i].channel->board, false);
        }
    }
    share_listeners(server);
    nb_listeners_pause(nb_server_first(server), false);
    /* The first starts last: the others run when it accepts. */
    uint16_t started = server->loops.count;
    nb_status status = NB_OK;
    while (started > 0 && status == NB_OK) {
        status = start_thread(server, --started);
    }
    server->started = status == NB_OK;
    if (status == NB_OK) return NB_OK;
    int error = errno;
    nb_server_stop_now(server);
    join(server, (uint16_t)(started + 1));
    errno = error;
    return status;
}

/* --- a front's channels --- */

void nb_server_call(nb_loop *loop, void (*work)(nb_loop *, void *), void *argument) {
    nb_loop_call queued = {.run = work, .argument = argument};
    pthread_mutex_lock(&loop->calls_lock);
    if (!atomic_load_explicit(&loop->running, memory_order_acquire)) {
        pthread_mutex_unlock(&loop->calls_lock);
        work(loop, argument);
        return;
    }
    queued.next = atomic_load_explicit(&loop->calls, memory_order_relaxed);
    atomic_store_explicit(&loop->calls, &queued, memory_order_release);
    nb_wake_signal(&loop->wake);
    while (!queued.done) {
        pthread_cond_wait(&loop->calls_done, &loop->calls_lock);
    }
    pthread_mutex_unlock(&loop->calls_lock);
}

typedef struct channel_call {
    nb_channel *channel; /* of the loop */
    nb_channel_report *report;
    uint16_t number;
    int32_t pid;
} channel_call;

/* Calls `work` on every loop, with its channel of the link. The last call may free the link. */
static void call_each(nb_server *server, nb_link *link, void (*work)(nb_loop *, void *), channel_call *args) {
    for (uint16_t i = 0; i < server->loops.count; i++) {
        args->channel = &link->channels[i];
        nb_server_call(&server->loops.each[i], work, args);
    }
}

static nb_status make_lanes(nb_server *server, nb_link **link) {
    nb_status status = NB_OK;
    for (uint16_t lane = 1; lane <= server->loops.lane_count; lane++) {
        for (uint16_t i = 0; i < server->loops.lane_threads[lane - 1] && status == NB_OK; i++) {
            status = make_link(server, true, link);
            if (status != NB_OK) continue;
            (*link)->lane = (*link)->board->lane = lane;
            link = &(*link)->lanes;
        }
    }
    return status;
}

/* Creates all links of a process, or none. */
static nb_status make_links(nb_server *server, uint16_t spares, nb_link **first_link) {
    nb_link **link = first_link;
    nb_status status = NB_OK;
    *first_link = NULL;
    for (uint32_t i = 0; i <= spares && status == NB_OK; i++) {
        status = make_link(server, true, link);
        if (status == NB_OK) link = &(*link)->spare;
    }
    if (status == NB_OK) status = make_lanes(server, &(*first_link)->lanes);
    if (status == NB_OK) return NB_OK;
    int error = errno;
    nb_link_destroy_all(*first_link);
    errno = error;
    return status;
}

/* How many descriptors are wanted, and where they could come from. */
typedef struct room {
    uint32_t needed, idle; /* idle: connections that wait for their next request */
    bool serves;           /* some worker takes requests */
} room;

static void look_for_room(nb_loop *loop, void *argument) {
    room *found = argument;
    found->idle += nb_timeouts_count(&loop->connections.timeouts, NB_TIMEOUT_IDLE);
    if (nb_dispatch_serves(&loop->dispatch)) found->serves = true;
}

static void give_way(nb_loop *loop, void *argument) {
    room *descriptors = argument;
    nb_listeners_give_way(loop, &descriptors->needed);
}

static void call_all(nb_server *server, void (*work)(nb_loop *, void *), void *argument) {
    for (uint16_t i = 0; i < server->loops.count; i++) {
        nb_server_call(&server->loops.each[i], work, argument);
    }
}

/* Frees the descriptors that the links of a process, and its start, need. Connections make way only
   if that frees enough. While no worker serves they are worth nothing, and make way in any case. */
static void make_room(nb_server *server, uint16_t spares) {
    uint32_t links = 1u + spares;
    for (uint16_t lane = 0; lane < server->loops.lane_count; lane++) {
        links += server->loops.lane_threads[lane];
    }
    room found = {.needed = links * (uint32_t)NB_LINK_DESCRIPTORS(server->loops.count) + STARTER_DESCRIPTORS};
    call_all(server, look_for_room, &found);
    if (!found.serves || found.idle >= found.needed) call_all(server, give_way, &found);
}

nb_status nb_server_channel_create(nb_server *server, uint16_t spares, nb_channel **channel) {
    nb_link *first_link;
    nb_status status = make_links(server, spares, &first_link);
    if (status == NB_SYSTEM && nb_os_descriptors_short(errno)) {
        make_room(server, spares);
        status = make_links(server, spares, &first_link);
    }
    if (status != NB_OK) return status;
    fill_boards(server, first_link, false);
    *channel = &first_link->channels[0];
    return NB_OK;
}

/* Walks the loop's channels to a process: that of the first link, then those of its lanes'
   threads. */
static nb_channel *next_of_process(const nb_loop *loop, const nb_channel *channel) {
    const nb_link *link = channel->link;
    return link->lanes ? &link->lanes->channels[loop->number] : NULL;
}

static void serve_channel(nb_loop *loop, nb_channel *channel, const channel_call *args) {
    nb_dispatch *dispatch = lane_of(loop, channel->link->lane);
    nb_status status = nb_dispatch_channel_add(dispatch, channel);
    NB_ASSERT(status == NB_OK);
    nb_dispatch_channel *added = nb_dispatch_find(dispatch, channel);
    added->number = args->number;
    added->pid = args->pid;
}

/* Adds the channels of a process. There is a place for each: they come and go on one thread, the
   caller's, and all loops have as many. */
static void serve(nb_loop *loop, void *argument) {
    const channel_call *args = argument;
    for (nb_channel *channel = args->channel; channel; channel = next_of_process(loop, channel)) {
        serve_channel(loop, channel, args);
    }
}

/* Counts how many more processes fit, by the lane with the fewest free places. */
static void count_free(nb_loop *loop, void *argument) {
    uint16_t *least = argument;
    *least = nb_dispatch_free_places(&loop->dispatch);
    for (const nb_dispatch *lane = loop->dispatch.next_lane; lane; lane = lane->next_lane) {
        uint16_t processes = (uint16_t)(nb_dispatch_free_places(lane) / loop->all->lane_threads[lane->lane - 1]);
        if (processes < *least) *least = processes;
    }
}

bool nb_server_has_place(nb_server *server) {
    uint16_t free_places = 0;
    nb_server_call(nb_server_first(server), count_free, &free_places);
    return free_places > 0;
}

nb_status nb_server_channel_serve(nb_server *server, nb_channel *channel, uint16_t number, int32_t pid) {
    channel_call args = {.number = number, .pid = pid};
    fill_boards(server, channel->link, false);
    if (!nb_server_has_place(server)) return NB_FULL;
    call_each(server, channel->link, serve, &args);
    return NB_OK;
}

static void retire(nb_loop *loop, void *argument) {
    const channel_call *args = argument;
    for (nb_channel *at = args->channel; at; at = next_of_process(loop, at)) {
        nb_dispatch *dispatch = lane_of(loop, at->link->lane);
        nb_dispatch_channel *channel = nb_dispatch_find(dispatch, at);
        if (channel) nb_dispatch_retire(dispatch, channel);
    }
}

void nb_server_channel_retire(nb_server *server, nb_channel *channel) {
    channel_call args = {.number = 0};
    call_each(server, channel->link, retire, &args);
}

static void interrupt(nb_loop *loop, void *argument) {
    const channel_call *args = argument;
    for (nb_channel *at = args->channel; at; at = next_of_process(loop, at)) {
        nb_dispatch *dispatch = lane_of(loop, at->link->lane);
        nb_dispatch_channel *channel = nb_dispatch_find(dispatch, at);
        if (channel) nb_dispatch_interrupt(dispatch, channel);
    }
}

void nb_server_channel_interrupt(nb_server *server, nb_channel *channel) {
    channel_call args = {.number = 0};
    call_each(server, channel->link, interrupt, &args);
}

static nb_dispatch_channel *last_spare(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    nb_dispatch_channel *spare;
    while ((spare = nb_dispatch_spare_of(dispatch, channel))) {
        channel = spare;
    }
    return channel;
}

/* Ends a channel. Its called spares end before it. The channels of uncalled spares are destroyed
   with it. */
static void end_channel(nb_loop *loop, nb_channel *at, nb_channel_report *report) {
    nb_dispatch *dispatch = lane_of(loop, at->link->lane);
    nb_dispatch_channel *channel = nb_dispatch_find(dispatch, at), *last;
    if (!channel) {
        nb_channel_destroy_all(at);
        return;
    }
    do {
        last = last_spare(dispatch, channel);
        nb_parts_channel_end(loop, dispatch, last, report);
    } while (last != channel);
}

static void end(nb_loop *loop, void *argument) {
    const channel_call *args = argument;
    nb_channel *channel = args->channel;
    while (channel) {
        nb_channel *next = next_of_process(loop, channel); /* the call on the last loop frees it */
        end_channel(loop, channel, args->report);
        channel = next;
    }
}

void nb_server_channel_end(nb_server *server, nb_channel *channel, nb_channel_report *report) {
    channel_call args = {.report = report};
    memset(report, 0, sizeof(*report));
    call_each(server, channel->link, end, &args);
}

static void list_running(nb_loop *loop, void *argument) {
    const channel_call *args = argument;
    for (nb_channel *at = args->channel; at; at = next_of_process(loop, at)) {
        nb_dispatch *dispatch = lane_of(loop, at->link->lane);
        nb_dispatch_channel *channel = nb_dispatch_find(dispatch, at);
        for (; channel; channel = nb_dispatch_spare_of(dispatch, channel)) {
            nb_parts_channel_running(loop, dispatch, channel, args->report);
        }
    }
}

void nb_server_channel_running(nb_server *server, nb_channel *channel, nb_channel_report *report) {
    channel_call args = {.report = report};
    memset(report, 0, sizeof(*report));
    call_each(server, channel->link, list_running, &args);
}

static void set_unavailable(nb_loop *loop, void *seconds) { nb_loop_set_unavailable(loop, *(uint32_t *)seconds); }

void nb_server_admin_result(nb_server *server, bool ok, const char *words) {
    admin_result_call wanted = {.ok = ok, .words = words};
    nb_server_call(nb_server_first(server), set_admin_result, &wanted);
}

nb_status nb_server_admin_advice(nb_server *server, nb_slice json) {
    if (json.size > NB_ADMIN_BODY_BYTES_MAX) return NB_OVER_LIMIT;
    admin_advice given = {.json = nb_alloc(json.size + 1), .bytes = json.size};
    if (!given.json) return NB_NO_MEMORY;
    memcpy(given.json, json.data, json.size);
    nb_server_call(nb_server_first(server), set_advice, &given);
    nb_free(given.json);
    return NB_OK;
}

void nb_server_unavailable(nb_server *server, uint32_t seconds) { call_all(server, set_unavailable, &seconds); }

/* The other loops follow the first, which may have accepted connections for them. */
void nb_server_drain(nb_server *server) {
    atomic_store_explicit(&nb_server_first(server)->drain, true, memory_order_release);
    nb_wake_signal(&nb_server_first(server)->wake);
}

void nb_server_stop_now(nb_server *server) {
    for (uint16_t i = 0; i < server->loops.count; i++) {
        atomic_store_explicit(&server->loops.each[i].stop, true, memory_order_release);
        nb_wake_signal(&server->loops.each[i].wake);
    }
}

void nb_server_join(nb_server *server) {
    if (!server->started || server->joined) return;
    server->joined = true;
    join(server, 0);
}

bool nb_server_running(nb_server *server) {
    for (uint16_t i = 0; i < server->loops.count; i++) {
        if (atomic_load_explicit(&server->loops.each[i].running, memory_order_acquire)) return true;
    }
    return false;
}

static void close_inherited(const nb_connection *connections) {
    for (const nb_connection *connection = connections; connection; connection = connection->next) {
        close(connection->transport.fd);
        if (connection->tunnel && nb_tunnel_near(connection) >= 0) close(nb_tunnel_near(connection));
        for (const nb_exchange *exchange = connection->first; exchange; exchange = exchange->next) {
            if (exchange->body && exchange->body->fd >= 0) close(exchange->body->fd);
        }
    }
}

static void abandon(nb_loop *loop) {
    for (uint16_t i = 0; i < loop->listener_count; i++) {
        if (loop->listeners[i].fd >= 0) close(loop->listeners[i].fd);
    }
    close_inherited(loop->connections.open);
    close_inherited(loop->connections.admin);
    close_inherited(loop->connections.tunnels);
    close_inherited(loop->connections.with_workers);
    for (const nb_arrival *arrival = loop->arrivals; arrival; arrival = arrival->next) {
        close(arrival->accepted.fd);
    }
    for (uint32_t i = 0; i < loop->connections.exchanges.count; i++) {
        if (loop->connections.exchanges.slots[i]->handover) close(loop->connections.exchanges.slots[i]->handover->fd);
    }
    for (uint16_t i = 0; i < loop->dispatch.count; i++) {
        nb_channel *channel = loop->dispatch.channels[i].channel;
        bool alone = !channel || loop->number > 0 || loop->dispatch.channels[i].helped != NB_CHANNEL_NONE;
        if (alone || !nb_channel_is_shared(channel)) continue;
        for (nb_link *link = channel->link; link; link = nb_link_next(channel->link, link)) {
            nb_link_abandon(link);
        }
    }
    if (loop->reserve_fd >= 0) close(loop->reserve_fd);
    nb_document_roots_close(&loop->all->document_roots, loop->number);
    int poller = nb_poll_descriptor(loop->poll);
    if (poller >= 0) close(poller);
}

void nb_server_abandon(nb_server *server) {
    server->abandoned = true;
    for (uint16_t i = 0; i < server->loops.count; i++) {
        abandon(&server->loops.each[i]);
    }
}

void nb_server_destroy(nb_server *server) {
    if (!server || server->abandoned) return;
    if (server->started && !server->joined) {
        nb_server_stop_now(server);
        nb_server_join(server);
    }
    nb_document_roots_stop(&server->loops.document_roots);
    nb_server_drop_inherited(server);
    deinit_loops(&server->loops, server->loops.count);
    nb_lease_deinit(&server->lease);
    nb_free(server);
}

void nb_server_counters_read(nb_server *server, nb_server_counters *stats) {
#define NB_SERVER_READ(name) stats->name = NB_SUM(nb_server_first(server), counters.name);
    NB_COUNTER_LIST(NB_SERVER_READ)
#undef NB_SERVER_READ
    stats->spool_bytes = nb_spool_bytes(&nb_server_first(server)->connections.spool);
    stats->downloads = NB_SUM(nb_server_first(server), downloads.active);
    stats->reports_dropped = NB_SUM(nb_server_first(server), reports.dropped);
}
