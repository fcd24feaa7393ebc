/*
 * link.c - see link.h.
 */
#include "binding/engine/link.h"

#include <ruby.h>
#include <ruby/thread.h>
#include <unistd.h>

#include "binding/engine/engine.h"
#include "binding/base/module.h"
#include "os/clock.h"
#include "base/list.h"

/* --- the front's end --- */

typedef struct front_end {
    VALUE engine;
    nb_channel *channel; /* of the first link; NULL: it has ended */
    uint16_t number;
    int32_t pid;
    bool serves; /* it was given to the server, which destroys it */
} front_end;

static VALUE channel_class, link_class;

static void front_mark(void *pointer) { rb_gc_mark(((front_end *)pointer)->engine); }

/* The server destroys a channel that it was given. */
static void front_free(void *pointer) {
    front_end *end = pointer;
    if (!end->serves && end->channel) nb_link_destroy_all(end->channel->link);
    xfree(end);
}

static size_t front_size(const void *pointer) {
    (void)pointer;
    return sizeof(front_end);
}

static const rb_data_type_t front_type = {
    .wrap_struct_name = "NeverBlock::Channel",
    .function = {.dmark = front_mark, .dfree = front_free, .dsize = front_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static front_end *front(VALUE self) {
    front_end *end;
    TypedData_Get_Struct(self, front_end, &front_type, end);
    return end;
}

/* Raises unless its engine is open and it has not ended. */
static front_end *open_front(VALUE self) {
    front_end *end = front(self);
    nb_engine_server(end->engine);
    if (!end->channel) rb_raise(nb_error_class, "this channel has ended");
    return end;
}

static VALUE channel_new(VALUE engine, uint16_t number, uint16_t spares) {
    front_end *end;
    nb_server *server = nb_engine_server(engine);
    VALUE self = TypedData_Make_Struct(channel_class, front_end, &front_type, end);
    end->engine = engine;
    end->number = number;
    nb_status status = nb_server_channel_create(server, spares, &end->channel);
    if (status != NB_OK) nb_raise_status(status, "a channel to a worker could not be made");
    return self;
}

/* channel(number, spares = 0) -> a Channel to a worker process that is yet to be started, with
   links for so many spares. number: 0 to 65535, what figures call the worker. */
static VALUE engine_channel(int argc, VALUE *argv, VALUE self) {
    VALUE wanted, spares;
    rb_scan_args(argc, argv, "11", &wanted, &spares);
    uint16_t links = NIL_P(spares) ? 0 : (uint16_t)nb_engine_number(spares, NB_SPARES_MAX, "spares");
    return channel_new(self, (uint16_t)nb_engine_number(wanted, UINT16_MAX, "number"), links);
}

/* links -> how many there are: one, one for each spare, and one for each thread of a lane. */
static VALUE channel_links(VALUE self) {
    unsigned count = 0;
    for (const nb_link *first = open_front(self)->channel->link, *link = first; link;
         link = nb_link_next(first, link)) {
        count++;
    }
    return UINT2NUM(count);
}

/* descriptors -> [Integer] of which the worker makes its Links: as many for each link, those of its
   first executor first. They stay the channel's. */
static VALUE channel_descriptors(VALUE self) {
    VALUE list = rb_ary_new();
    for (const nb_link *first = open_front(self)->channel->link, *link = first; link;
         link = nb_link_next(first, link)) {
        int descriptors[NB_LINK_DESCRIPTORS_MAX];
        nb_link_descriptors(link, descriptors);
        for (int i = 0; i < NB_LINK_DESCRIPTORS(link->count); i++) {
            rb_ary_push(list, INT2NUM(descriptors[i]));
        }
    }
    return list;
}

/* handed_over: the worker, or the process that forks it, has the descriptors; those that the front
   does not need are closed. */
static VALUE channel_handed_over(VALUE self) {
    for (nb_link *first = open_front(self)->channel->link, *link = first; link; link = nb_link_next(first, link)) {
        nb_link_handed_over(link);
    }
    return self;
}

static VALUE channel_number(VALUE self) { return UINT2NUM(front(self)->number); }
static VALUE channel_pid(VALUE self) { return front(self)->pid ? INT2NUM(front(self)->pid) : Qnil; }

/* pid = Integer: the process; told before serve. */
static VALUE channel_set_pid(VALUE self, VALUE pid) {
    front(self)->pid = NUM2INT(pid);
    return pid;
}

typedef struct loop_call {
    nb_server *server;
    front_end *end;
    nb_status status;
    nb_channel_report report;
} loop_call;

static loop_call call_of(VALUE self) {
    front_end *end = open_front(self);
    return (loop_call){.server = nb_engine_server(end->engine), .end = end};
}

static void *without_lock_serve(void *argument) {
    loop_call *call = argument;
    call->status = nb_server_channel_serve(call->server, call->end->channel, call->end->number, call->end->pid);
    call->end->serves = call->status == NB_OK;
    return NULL;
}

static void *without_lock_place(void *argument) {
    loop_call *call = argument;
    call->status = call->end->serves || nb_server_has_place(call->server) ? NB_OK : NB_FULL;
    return NULL;
}

/* place? -> true: serve finds a place for the process, or has. */
static VALUE channel_place_p(VALUE self) {
    loop_call call = call_of(self);
    rb_thread_call_without_gvl(without_lock_place, &call, NULL, NULL);
    return call.status == NB_OK ? Qtrue : Qfalse;
}

/* serve: the process is sent requests from now on. Raises NeverBlock::Error where there is no
   place. */
static VALUE channel_serve(VALUE self) {
    loop_call call = call_of(self);
    if (call.end->serves) return self;
    rb_thread_call_without_gvl(without_lock_serve, &call, NULL, NULL);
    if (call.status == NB_FULL) {
        rb_raise(nb_error_class, "there is no place for another worker process beside those that serve or still end");
    }
    if (call.status != NB_OK) nb_raise_status(call.status, "a worker could not be given requests");
    return self;
}

static void *without_lock_retire(void *argument) {
    loop_call *call = argument;
    nb_server_channel_retire(call->server, call->end->channel);
    return NULL;
}

/* retire: sends no further request. Its executor ends when it has none left. */
static VALUE channel_retire(VALUE self) {
    loop_call call = call_of(self);
    if (call.end->serves) rb_thread_call_without_gvl(without_lock_retire, &call, NULL, NULL);
    return self;
}

static void *without_lock_interrupt(void *argument) {
    loop_call *call = argument;
    nb_server_channel_interrupt(call->server, call->end->channel);
    return NULL;
}

/* interrupt: after retire. What its process runs is ended where it waits, by ClientGone. */
static VALUE channel_interrupt(VALUE self) {
    loop_call call = call_of(self);
    if (call.end->serves) rb_thread_call_without_gvl(without_lock_interrupt, &call, NULL, NULL);
    return self;
}

static VALUE lines_of(const nb_channel_report *report) {
    VALUE lines = rb_ary_new();
    for (uint32_t i = 0; i < report->line_count; i++) {
        rb_ary_push(lines, rb_utf8_str_new_cstr(report->lines[i]));
    }
    return lines;
}

static void *without_lock_end(void *argument) {
    loop_call *call = argument;
    nb_server_channel_end(call->server, call->end->channel, &call->report);
    call->end->channel = NULL;
    return NULL;
}

/* end -> {failed:, cut:, again:, lines:}: the process has ended. What it had sent is used. Requests
   that it had not begun with are run by others (again). Those without a response are answered 502
   (failed). Other responses are cut off (cut). A channel ends once. */
static VALUE channel_end(VALUE self) {
    loop_call call = call_of(self);
    rb_thread_call_without_gvl(without_lock_end, &call, NULL, NULL);
    VALUE report = rb_hash_new();
    rb_hash_aset(report, ID2SYM(rb_intern("failed")), UINT2NUM(call.report.failed));
    rb_hash_aset(report, ID2SYM(rb_intern("cut")), UINT2NUM(call.report.cut));
    rb_hash_aset(report, ID2SYM(rb_intern("again")), UINT2NUM(call.report.again));
    rb_hash_aset(report, ID2SYM(rb_intern("lines")), lines_of(&call.report));
    return report;
}

static void *without_lock_running(void *argument) {
    loop_call *call = argument;
    nb_server_channel_running(call->server, call->end->channel, &call->report);
    return NULL;
}

/* running -> [String] at most ten lines ("GET /path HTTP/1.1", up to 95 bytes) of requests that the
   process has begun with. */
static VALUE channel_running(VALUE self) {
    loop_call call = call_of(self);
    rb_thread_call_without_gvl(without_lock_running, &call, NULL, NULL);
    return lines_of(&call.report);
}

/* The sum over all executors of the process. */
static uint64_t count_of(VALUE self, bool running) {
    uint64_t count = 0;
    for (const nb_link *first = open_front(self)->channel->link, *link = first; link;
         link = nb_link_next(first, link)) {
        nb_executor_figures *figures = &link->board->figures;
        count += running ? atomic_load_explicit(&figures->running, memory_order_relaxed)
                         : atomic_load_explicit(&figures->taken, memory_order_relaxed);
    }
    return count;
}

/* figures -> {running:, taken:, turns:, busy_ns:, rss_bytes:}. running and taken are sums with the
   spares'. busy_ns: how long the fiber that runs now has run; 0: none runs. rss_bytes: 0 until
   figures are looked at (an admin address). */
static VALUE channel_figures(VALUE self) {
    nb_board *board = open_front(self)->channel->board;
    VALUE hash = rb_hash_new();
#define NB_FIGURE(name, value) rb_hash_aset(hash, ID2SYM(rb_intern(name)), ULL2NUM((unsigned long long)(value)))
    int64_t switched_ns = atomic_load_explicit(&board->pulse.switched_ns, memory_order_relaxed);
    int64_t now_ns = nb_clock_monotonic_ns();
    NB_FIGURE("running", count_of(self, true));
    NB_FIGURE("taken", count_of(self, false));
    NB_FIGURE("turns", atomic_load_explicit(&board->pulse.turns, memory_order_relaxed));
    NB_FIGURE("rss_bytes", atomic_load_explicit(&board->figures.rss_bytes, memory_order_relaxed));
    NB_FIGURE("busy_ns", switched_ns && now_ns > switched_ns ? now_ns - switched_ns : 0);
#undef NB_FIGURE
    return hash;
}

/* --- the worker's end --- */

typedef struct worker_end {
    nb_link *link; /* NULL: none */
    pid_t pid;
    bool used;
    nb_list all; /* every link of the process, for fork */
} worker_end;

static nb_list all_links = {&all_links, &all_links};

static void worker_free(void *pointer) {
    worker_end *end = pointer;
    nb_list_remove(&end->all);
    nb_link_destroy(end->link);
    xfree(end);
}

static size_t worker_size(const void *pointer) {
    (void)pointer;
    return sizeof(worker_end);
}

static const rb_data_type_t link_type = {
    .wrap_struct_name = "NeverBlock::Link",
    .function = {.dfree = worker_free, .dsize = worker_size},
    .flags = RUBY_TYPED_WB_PROTECTED,
};

static worker_end *worker(VALUE self) {
    worker_end *end;
    TypedData_Get_Struct(self, worker_end, &link_type, end);
    return end;
}

static VALUE link_allocate(VALUE class) {
    worker_end *end;
    VALUE self = TypedData_Make_Struct(class, worker_end, &link_type, end);
    nb_list_append(&all_links, &end->all);
    return self;
}

/* Link.new(*descriptors): a link's share of Channel#descriptors, in their order; they are the
   Link's from now on. Raises NeverBlock::Error when the front runs another version of this gem. */
static VALUE link_initialize(int argc, VALUE *argv, VALUE self) {
    int descriptors[NB_LINK_DESCRIPTORS_MAX];
    worker_end *end = worker(self);
    rb_check_arity(argc, NB_LINK_DESCRIPTORS(1), NB_LINK_DESCRIPTORS_MAX);
    if (end->link) rb_raise(nb_error_class, "a link is initialized once");
    for (int i = 0; i < argc; i++) {
        descriptors[i] = NUM2INT(argv[i]);
    }
    nb_status status = nb_link_attach(descriptors, (unsigned)argc, &end->link);
    if (status == NB_INVALID)
        rb_raise(nb_error_class,
                 "the front runs another version of neverblock than this worker: restart the server to change to it");
    if (status != NB_OK) nb_raise_status(status, "the channel to the front cannot be reached");
    end->pid = getpid();
    return self;
}

/* lane -> Integer: the lane whose executor it is for; 0: an executor of fibers. */
static VALUE link_lane(VALUE self) {
    const worker_end *end = worker(self);
    if (!end->link) rb_raise(nb_error_class, "this link is not initialized");
    return UINT2NUM(end->link->board->lane);
}

bool nb_link_is_here(VALUE link) {
    const worker_end *end = worker(link);
    return end->link && end->pid == getpid();
}

bool nb_link_is(VALUE object) { return rb_typeddata_is_kind_of(object, &link_type) != 0; }

nb_link *nb_link_of(VALUE link) {
    const worker_end *end = worker(link);
    if (!nb_link_is_here(link)) rb_raise(nb_error_class, "this link belongs to another process");
    if (end->used) rb_raise(nb_error_class, "this link has an executor");
    return end->link;
}

void nb_link_use(VALUE link) { worker(link)->used = true; }

/* after_fork: closes the descriptors of the parent's links; compat/fork.rb calls it in each
   child. */
static VALUE link_s_after_fork(VALUE class) {
    for (nb_list *link = all_links.next; link != &all_links; link = link->next) {
        worker_end *end = NB_LIST_ENTRY(link, worker_end, all);
        if (end->link && end->pid != getpid()) nb_link_abandon(end->link);
    }
    return class;
}

void nb_link_define(VALUE module, VALUE engine_class) {
    rb_define_method(engine_class, "channel", engine_channel, -1);
    channel_class = rb_define_class_under(module, "Channel", rb_cObject);
    rb_undef_alloc_func(channel_class);
    rb_define_method(channel_class, "links", channel_links, 0);
    rb_define_method(channel_class, "descriptors", channel_descriptors, 0);
    rb_define_method(channel_class, "handed_over", channel_handed_over, 0);
    rb_define_method(channel_class, "number", channel_number, 0);
    rb_define_method(channel_class, "pid", channel_pid, 0);
    rb_define_method(channel_class, "pid=", channel_set_pid, 1);
    rb_define_method(channel_class, "place?", channel_place_p, 0);
    rb_define_method(channel_class, "serve", channel_serve, 0);
    rb_define_method(channel_class, "retire", channel_retire, 0);
    rb_define_method(channel_class, "interrupt", channel_interrupt, 0);
    rb_define_method(channel_class, "end", channel_end, 0);
    rb_define_method(channel_class, "running", channel_running, 0);
    rb_define_method(channel_class, "figures", channel_figures, 0);
    link_class = rb_define_class_under(module, "Link", rb_cObject);
    rb_define_alloc_func(link_class, link_allocate);
    rb_define_method(link_class, "initialize", link_initialize, -1);
    rb_define_method(link_class, "lane", link_lane, 0);
    rb_define_singleton_method(link_class, "after_fork", link_s_after_fork, 0);
}
