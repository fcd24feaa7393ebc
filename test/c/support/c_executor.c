/*
 * c_executor.c - see c_executor.h. Tasks are small state machines in a list. A turn takes what
 * came, steps every task that can move, asks for more, and sleeps by the doorbell protocol, as
 * binding/executor/executor.c does.
 */
#include "support/c_executor_task.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "os/clock.h"
#include "support/pattern.h"

/* --- messages in --- */

/* False: the loop has requeued it. Between processes its file has come all the same. */
static bool claim(nb_test_executor *self, nb_request_message *request) {
    bool mine = nb_request_claim(request, NB_CLAIM_TAKEN), shared = nb_channel_is_shared(self->port->channel);
    self->passed++;
    int fd = request->body_fd >= 0 && (mine || shared) ? nb_channel_receive_fd(self->port->channel, request->body_fd)
                                                       : -1;
    if (mine) {
        if (fd < 0 && request->body_fd >= 0) atomic_fetch_add(&self->faults, 1);
        request->body_fd = fd;
        nb_request_begin(request);
        return true;
    }
    if (fd >= 0) close(fd);
    nb_test_executor_note(self, NB_TEST_PASSED_OVER);
    return false;
}

static void receive_request(nb_test_executor *self, nb_request_message *request) {
    if (!claim(self, request)) return;
    nb_test_task *t = nb_test_task_create(request);
    t->port = self->port;
    t->number = ++self->begun;
    atomic_store(&self->last, request->message.exchange);
    t->taken_ns = nb_clock_monotonic_ns();
    nb_test_executor_stamp(self, t->taken_ns);
    atomic_store_explicit(&self->link->board->figures.taken, self->begun, memory_order_relaxed);
    atomic_fetch_add_explicit(&self->link->board->figures.running, 1, memory_order_relaxed);
    nb_test_task **link = &self->tasks;
    while (*link)
        link = &(*link)->next;
    *link = t;
    for (unsigned i = 0; i < t->hints; i++)
        nb_test_task_send_hints(self, t);
    if (request->message.flags & NB_REQUEST_UPGRADES) nb_test_executor_note(self, NB_TEST_UPGRADES);
    nb_test_executor_note(self, NB_TEST_RECEIVED);
    if (request->path.size != 6 || memcmp((const char *)request + request->path.offset, "/block", 6) != 0) return;
    nb_test_executor_note(self, NB_TEST_BLOCKED);
    nb_test_gate_wait(&self->go, ++self->blocks);
}

static nb_test_task *find(nb_test_executor *self, nb_exchange_id exchange) {
    for (nb_test_task *t = self->tasks; t; t = t->next) {
        if (t->exchange == exchange) return t;
    }
    return NULL;
}

static void take(nb_test_executor *self, nb_test_task *t, const nb_hijacked_message *message) {
    bool expected = t && t->kind == NB_TEST_TASK_HIJACK && t->hijack_asked && !t->hijacked &&
                    message->size <= sizeof self->taken;
    int fd = nb_channel_receive_fd(self->port->channel, message->fd);
    if (!expected || fd < 0) {
        atomic_fetch_add(&self->faults, 1);
        if (fd >= 0) close(fd);
        return;
    }
    self->taken_fd = fd;
    self->taken_bytes = (size_t)message->size;
    memcpy(self->taken, message + 1, self->taken_bytes);
    t->hijacked = true;
    nb_test_executor_note(self, NB_TEST_HIJACKED);
}

static void answer_what_was_read(nb_test_task *t) {
    if (t->kind != NB_TEST_TASK_READ || !t->input_ended || !t->reads) return;
    char text[32];
    snprintf(text, sizeof text, "%llu %s", (unsigned long long)t->input, t->input_bad ? "bad" : "good");
    nb_test_task_keep_text(t, text);
    t->kind = NB_TEST_TASK_SEND;
}

static void receive_input(nb_test_executor *self, nb_test_task *t, const nb_message *message) {
    size_t bytes = message->bytes - sizeof *message;
    const char *from = (const char *)(message + 1);
    atomic_fetch_add(&self->input, bytes);
    nb_test_executor_note(self, NB_TEST_INPUT);
    if (message->flags & NB_INPUT_LAST) nb_test_executor_note(self, NB_TEST_WHOLE);
    if (!t) return; /* answered */
    if (t->input_ended || bytes > NB_INPUT_PART_BYTES || t->input + bytes - t->told > NB_INPUT_WINDOW_BYTES)
        atomic_fetch_add(&self->faults, 1);
    if (!nb_test_pattern_equal(from, t->input, bytes)) t->input_bad = true;
    t->input += bytes;
    t->input_ended = (message->flags & NB_INPUT_LAST) != 0;
    if (t->kind == NB_TEST_TASK_DUPLEX) t->total = t->input;
    answer_what_was_read(t);
}

static void receive(nb_test_executor *self, nb_message *message) {
    nb_test_task *t = find(self, message->exchange);
    switch (message->type) {
    case NB_MESSAGE_REQUEST:
        if (t) atomic_fetch_add(&self->faults, 1);
        receive_request(self, (nb_request_message *)(void *)message);
        break;
    case NB_MESSAGE_DRAINED:
        if (t && !t->waits_drained) atomic_fetch_add(&self->faults, 1);
        if (t) {
            t->waits_drained = false;
            t->unacknowledged = 0;
        }
        nb_test_executor_note(self, NB_TEST_DRAINED);
        break;
    case NB_MESSAGE_GONE:
        if (t && t->gone) atomic_fetch_add(&self->faults, 1);
        if (t) t->gone = true;
        atomic_store(&self->gone_reason, message->flags);
        nb_test_executor_note(self, NB_TEST_GONE);
        break;
    case NB_MESSAGE_HIJACKED:
        take(self, t, (const nb_hijacked_message *)(const void *)message);
        break;
    case NB_MESSAGE_LEFT:
        if (t && t->gone) atomic_fetch_add(&self->faults, 1);
        nb_test_executor_note(self, NB_TEST_LEFT);
        break;
    case NB_MESSAGE_CANCEL:
        if (t) nb_test_executor_note(self, NB_TEST_CANCELLED);
        break;
    case NB_MESSAGE_INPUT:
        receive_input(self, t, message);
        break;
    case NB_MESSAGE_STOP:
        self->port->ends = true;
        nb_test_executor_note(self, NB_TEST_STOPPED);
        break;
    case NB_MESSAGE_RETIRE:
        self->port->ends = true;
        nb_test_executor_note(self, NB_TEST_RETIRED);
        break;
    default:
        atomic_fetch_add(&self->faults, 1);
    }
}

static bool take_messages(nb_test_executor *self) {
    const nb_message *message;
    size_t bytes;
    bool taken = false;
    NB_TEST_EACH_PORT(self) {
        while ((message = nb_ring_peek(&self->port->requests, &bytes))) {
            receive(self, (nb_message *)(uintptr_t)message);
            nb_ring_advance(&self->port->requests);
            nb_ring_release(&self->port->requests);
            taken = true;
        }
    }
    return taken;
}

static void take_releases(nb_test_executor *self) {
    unsigned releases = atomic_load(&self->releases);
    if (releases == self->released) return;
    self->released = releases;
    for (nb_test_task *t = self->tasks; t; t = t->next) {
        if (t->kind == NB_TEST_TASK_HOLD) t->kind = NB_TEST_TASK_SEND;
        if (t->kind == NB_TEST_TASK_READ) {
            t->reads = true;
            answer_what_was_read(t);
        }
    }
}

/* --- the turn --- */

static bool run_tasks(nb_test_executor *self) {
    bool moved = false;
    NB_TEST_EACH_PORT(self)
    self->port->room = false;
    for (nb_test_task **link = &self->tasks; *link;) {
        nb_test_task *t = *link;
        self->port = t->port;
        if (!nb_test_task_waits(self, t)) nb_test_executor_stamp(self, nb_clock_monotonic_ns());
        if (!nb_test_task_step(self, t)) {
            link = &t->next;
            continue;
        }
        moved = true;
        if (t->number > self->last_answered) self->last_answered = t->number;
        *link = t->next;
        nb_test_task_free(t);
        atomic_fetch_sub_explicit(&self->link->board->figures.running, 1, memory_order_relaxed);
        nb_test_executor_note(self, NB_TEST_ANSWERED);
    }
    return moved;
}

static void ask_for_more(nb_test_executor *self) {
    nb_board *board = self->link->board;
    uint64_t wanted = self->passed + self->options.credit;
    if (wanted > atomic_load_explicit(&board->asked, memory_order_relaxed)) {
        atomic_store_explicit(&board->asked, wanted, memory_order_release);
    }
}

static void ring_if_starved(nb_test_executor *self) {
    NB_TEST_EACH_PORT(self) {
        if (atomic_load_explicit(&self->port->channel->memory->loop_starved, memory_order_relaxed))
            nb_channel_ring_loop(self->port->channel);
    }
}

static void ring_if_published(nb_test_executor *self) {
    NB_TEST_EACH_PORT(self) {
        if (self->port->published) nb_channel_ring_loop(self->port->channel);
        self->port->published = false;
    }
}

static void ring_all(nb_test_executor *self) {
    NB_TEST_EACH_PORT(self)
    nb_channel_ring_loop(self->port->channel);
}

static bool all_end(nb_test_executor *self) {
    NB_TEST_EACH_PORT(self) {
        if (!self->port->ends) return false;
    }
    return true;
}

static bool has_something(nb_test_executor *self) {
    NB_TEST_EACH_PORT(self) {
        bool blocked = atomic_load_explicit(&self->port->channel->memory->executor_blocked, memory_order_acquire) != 0;
        if (nb_ring_readable(&self->port->requests) || (self->port->room && !blocked)) return true;
    }
    return false;
}

static void wait_in_poller(nb_test_executor *self, int64_t timeout_ns) {
    nb_poll_event events[4];
    size_t found = 0;
    (void)nb_poll_wait(self->poll, events, 4, timeout_ns, &found);
    for (size_t i = 0; i < found; i++)
        nb_wake_clear(events[i].cookie ? &self->control : &self->link->executor_wake);
}

/* Nothing is taken, asked for or announced meanwhile. */
static void sit_out(nb_test_executor *self) {
    nb_test_executor_stamp(self, nb_clock_monotonic_ns());
    while (atomic_load(&self->stalled) && !atomic_load(&self->killed)) {
        unsigned stalls = atomic_load(&self->stalls);
        /* A new one may begin before the end of the last was seen. */
        if (stalls != self->stalls_seen) nb_test_executor_note(self, NB_TEST_BLOCKED);
        self->stalls_seen = stalls;
        nb_wake_wait(&self->control, -1);
    }
}

/* In place of sleeping, where other threads want a lock that this one has. */
static void attend_locked(nb_test_executor *self) {
    nb_guest_outcome outcome = nb_server_guest_turn(self->server, &self->ports->requests);
    nb_test_executor_note(self, outcome == NB_GUEST_REFUSED ? NB_TEST_REFUSED : NB_TEST_GUEST);
    if (outcome == NB_GUEST_REFUSED) {
        ring_all(self);
        sched_yield();
    }
    self->ports->published = false;
    wait_in_poller(self, 0);
}

static void sleep_until_something(nb_test_executor *self) {
    nb_doorbell *bell = &self->link->board->executor_bell;
    int64_t timeout_ns = -1;
    nb_test_executor_stamp(self, 0);
    nb_doorbell_announce(bell);
    ring_if_starved(self);
    if (has_something(self)) {
        nb_doorbell_cancel(bell);
        return;
    }
    nb_guest_outcome outcome = self->guest ? nb_server_guest_wait(self->server, &self->ports->requests, -1)
                                           : NB_GUEST_REFUSED;
    if (self->guest) nb_test_executor_note(self, outcome == NB_GUEST_REFUSED ? NB_TEST_REFUSED : NB_TEST_GUEST);
    if (outcome == NB_GUEST_CALLED) timeout_ns = 0;
    if (outcome == NB_GUEST_REFUSED) ring_if_published(self);
    if (outcome != NB_GUEST_REFUSED) self->ports->published = false;
    if (outcome != NB_GUEST_SERVED) wait_in_poller(self, timeout_ns);
    nb_doorbell_cancel(bell);
}

static void *run(void *argument) {
    nb_test_executor *self = argument;
    nb_board *board = self->link->board;
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL); /* as a guest it calls sendfile(2) */
    ask_for_more(self);
    ring_all(self);
    while (!atomic_load(&self->killed)) {
        if (atomic_load(&self->stalled)) {
            sit_out(self);
            continue;
        }
        bool moved = take_messages(self);
        take_releases(self);
        if (run_tasks(self)) moved = true;
        ask_for_more(self);
        if (!self->guest) ring_if_published(self);
        atomic_fetch_add_explicit(&board->pulse.turns, 1, memory_order_release);
        ring_if_starved(self);
        if (!self->tasks && all_end(self)) break;
        if (moved) continue;
        if (self->guest && self->options.locked) {
            attend_locked(self);
        } else {
            sleep_until_something(self);
        }
    }
    if (atomic_load(&self->killed) && nb_channel_is_shared(self->ports->channel)) return NULL;
    atomic_store_explicit(&board->executor_gone, 1, memory_order_release);
    if (self->guest) nb_server_guest_end(self->server);
    ring_all(self);
    return NULL;
}

/* --- for the test --- */

static nb_test_executor *create(nb_server *server, nb_channel *channel, const nb_test_executor_options *options) {
    static const nb_test_gate gate = NB_TEST_GATE;
    nb_test_executor *self = calloc(1, sizeof *self);
    self->server = server;
    self->link = channel->link;
    self->ports = calloc(self->link->count, sizeof *self->ports);
    if (options) self->options = *options;
    if (self->options.credit == 0) self->options.credit = channel->board->credit_slow;
    for (int i = 0; i < NB_TEST_EVENTS; i++)
        self->events[i] = gate;
    self->go = gate;
    NB_TEST_EACH_PORT(self) {
        self->port->channel = &self->link->channels[self->port - self->ports];
        nb_ring_consumer_attach(&self->port->requests, nb_channel_requests(self->port->channel));
        nb_ring_producer_attach(&self->port->responses, nb_channel_responses(self->port->channel));
    }
    if (nb_wake_init(&self->control) != NB_OK || nb_poll_create(NULL, &self->poll) != NB_OK) abort();
    if (nb_poll_add(self->poll, channel->link->executor_wake.read_fd, NB_POLL_READ, 0) != NB_OK) abort();
    if (nb_poll_add(self->poll, self->control.read_fd, NB_POLL_READ, 1) != NB_OK) abort();
    self->guest = self->options.guest && nb_server_guest_begin(server, nb_poll_descriptor(self->poll));
    return self;
}

nb_test_executor *nb_test_executor_start(nb_server *server, nb_channel *channel,
                                         const nb_test_executor_options *options) {
    nb_test_executor *self = create(server, channel, options);
    self->thread = nb_test_thread(run, self);
    return self;
}

static void destroy(nb_test_executor *self) {
    while (self->tasks) {
        nb_test_task *t = self->tasks;
        self->tasks = t->next;
        nb_test_task_free(t);
    }
    nb_poll_destroy(self->poll);
    nb_wake_deinit(&self->control);
    free(self->ports);
    free(self);
}

void nb_test_executor_run(nb_channel *channel, const nb_test_executor_options *options) {
    nb_test_executor *self = create(NULL, channel, options);
    run(self);
    destroy(self);
}

void nb_test_executor_stall(nb_test_executor *self, bool stalled) {
    unsigned before = nb_test_gate_count(&self->events[NB_TEST_BLOCKED]);
    if (stalled) atomic_fetch_add(&self->stalls, 1);
    atomic_store(&self->stalled, stalled);
    nb_wake_signal(&self->control);
    if (stalled) nb_test_gate_wait(&self->events[NB_TEST_BLOCKED], before + 1);
}

void nb_test_executor_release(nb_test_executor *self) {
    atomic_fetch_add(&self->releases, 1);
    nb_wake_signal(&self->control);
}

void nb_test_executor_unblock(nb_test_executor *self) { nb_test_gate_open(&self->go); }

void nb_test_executor_kill(nb_test_executor *self) {
    atomic_store(&self->killed, true);
    nb_wake_signal(&self->control);
}

void nb_test_executor_join(nb_test_executor *self) {
    nb_test_join(self->thread);
    destroy(self);
}

unsigned nb_test_executor_count(nb_test_executor *self, nb_test_event event) {
    return nb_test_gate_count(&self->events[event]);
}

void nb_test_executor_await(nb_test_executor *self, nb_test_event event, unsigned wanted) {
    nb_test_gate_wait(&self->events[event], wanted);
}

uint64_t nb_test_executor_input(nb_test_executor *self) { return atomic_load(&self->input); }

nb_exchange_id nb_test_executor_last(nb_test_executor *self) { return atomic_load(&self->last); }
unsigned nb_test_executor_gone_reason(nb_test_executor *self) { return atomic_load(&self->gone_reason); }

int nb_test_executor_taken(nb_test_executor *self, char *bytes, size_t *size) {
    memcpy(bytes, self->taken, self->taken_bytes);
    *size = self->taken_bytes;
    return self->taken_fd;
}

unsigned nb_test_executor_faults(nb_test_executor *self) { return atomic_load(&self->faults); }
