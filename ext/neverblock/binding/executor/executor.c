/*
 * executor.c - see executor.h.
 */
#include "binding/executor/executor.h"

#include <ruby.h>
#include <ruby/fiber/scheduler.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "binding/base/module.h"
#include "binding/engine/engine.h"
#include "binding/engine/link.h"
#include "binding/executor/entry.h"
#include "binding/executor/executor_figures.h"
#include "binding/executor/fiber_traces.h"
#include "binding/executor/messages.h"
#include "binding/executor/observed_requests.h"
#include "binding/executor/pools.h"
#include "binding/executor/source.h"
#include "binding/executor/task.h"
#include "binding/ports/executor_state.h"
#include "binding/ports/port.h"
#include "binding/ports/running.h"
#include "binding/rack/env.h"
#include "binding/rack/hijack.h"
#include "binding/rack/response.h"
#include "binding/rack/timing.h"
#include "binding/scheduler/scheduler.h"
#include "binding/timeslices/timeslice.h"
#include "binding/stalls/places.h"
#include "binding/stalls/stalls.h"
#include "binding/state/object.h"
#include "os/memory.h"
#include "os/thread.h"

/* The data of the Ruby object. */
typedef struct executor_object {
    nb_executor executor; /* first */
    nb_env_builder env;
} executor_object;

/* --- memory --- */

static void executor_mark(void *pointer) {
    nb_executor *executor = pointer;
    rb_gc_mark(executor->self); /* so that GC.compact does not move it */
    rb_gc_mark(executor->owner);
    rb_gc_mark(executor->app);
    rb_gc_mark(executor->log);
    rb_gc_mark(executor->scheduler);
    rb_gc_mark(executor->above);
    rb_gc_mark(executor->thread);
    rb_gc_mark(executor->helped);
    rb_gc_mark(executor->deadline_class);
    rb_gc_mark(executor->fiber_state);
    rb_gc_mark(executor->stalls);
    rb_gc_mark(executor->server_timing);
    nb_env_builder_mark(executor->env);
    nb_observing_mark(executor);
    for (uint32_t i = 0; i < executor->task_count; i++) {
        nb_task_mark(executor->tasks[i]);
    }
}

/* In a child of its process the executor has not ended: the thread that ran it is not there. */
static void executor_free(void *pointer) {
    nb_executor *executor = pointer;
    nb_executor_end_running(executor);
    nb_stalls_forget(executor);
    nb_free(executor->scratch);
    nb_executor_traces_free(executor);
    nb_free(executor->slow);
    nb_observing_free(executor);
    nb_stall_places_destroy(executor->places);
    for (uint32_t i = 0; i < executor->task_count; i++) {
        nb_free(executor->tasks[i]->account.waterfall);
        nb_hijack_drop(executor->tasks[i]);
        nb_free(executor->tasks[i]);
    }
    nb_free(executor->tasks);
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_free(executor->ports[i].by_exchange);
        nb_free(executor->ports[i].refused);
    }
    nb_free(executor->ports);
    xfree(executor);
}

static size_t executor_size(const void *pointer) {
    const nb_executor *executor = pointer;
    size_t bytes = sizeof(executor_object) + nb_observing_bytes(executor);
    bytes += executor->task_count * (sizeof(nb_task) + sizeof(nb_task *));
    for (uint32_t i = 0; i < executor->task_count; i++) {
        if (executor->tasks[i]->account.waterfall) bytes += sizeof(nb_waterfall);
    }
    for (uint16_t i = 0; i < executor->port_count; i++) {
        bytes += sizeof(nb_port) + executor->ports[i].by_exchange_count * sizeof(nb_task *);
    }
    return bytes;
}

/* Not WB_PROTECTED: tasks change with every request, and a write barrier for each field would cost
   more than marking them. */
static const rb_data_type_t executor_type = {
    .wrap_struct_name = "NeverBlock::Executor",
    .function = {.dmark = executor_mark, .dfree = executor_free, .dsize = executor_size},
};

static nb_executor *get(VALUE self) {
    nb_executor *executor;
    TypedData_Get_Struct(self, nb_executor, &executor_type, executor);
    return executor;
}

static VALUE executor_allocate(VALUE class) {
    executor_object *object;
    VALUE self = TypedData_Make_Struct(class, executor_object, &executor_type, object);
    nb_executor *executor = &object->executor;
    executor->self = self;
    executor->env = &object->env;
    executor->owner = executor->app = executor->log = executor->scheduler = executor->thread = executor->helped = Qnil;
    executor->above = executor->deadline_class = executor->fiber_state = executor->stalls = Qnil;
    executor->server_timing = Qfalse;
    executor->env->listeners = executor->env->template = executor->env->no_input = executor->env->string_io = Qnil;
    executor->env->file_class = Qnil;
    return self;
}

/* --- Ruby --- */

static VALUE keyword(VALUE keywords, const char *name, VALUE standard) {
    return NIL_P(keywords) ? standard : rb_hash_lookup2(keywords, ID2SYM(rb_intern(name)), standard);
}

static bool rack_is_2(void) {
    VALUE release = rb_funcall(rb_path2class("Rack"), rb_intern("release"), 0);
    return atoi(StringValueCStr(release)) < 3;
}

/* What raises when there is nothing to do for the executor any more. */
static void check_new(const nb_executor *executor) {
    if (executor->ports) rb_raise(nb_error_class, "an executor is initialized once");
}

/* The executor that `helped` is, or NULL. What it has told is read as long as its spare runs. */
static nb_executor *read_helped(VALUE helped, VALUE owner) {
    if (NIL_P(helped)) return NULL;
    nb_executor *executor = get(helped);
    if (!executor->ports) rb_raise(nb_error_class, "helps: is an executor that was never initialized");
    bool together = nb_link_is(owner) ? nb_link_is(executor->owner) : executor->owner == owner;
    if (!together) rb_raise(nb_error_class, "helps: is an executor of the same engine");
    return executor;
}

/* The number of the executor's lane. Raises where the owner takes no executor. */
static uint16_t lane_of(VALUE owner, VALUE lane) {
    if (nb_link_is(owner)) return nb_link_of(owner)->board->lane;
    (void)nb_engine_server(owner);
    return NIL_P(lane) ? 0 : (uint16_t)nb_engine_number(lane, UINT16_MAX, "lane");
}

static nb_status add_channel(nb_server *server, const nb_executor *executor, bool in_lane, nb_link **link) {
    nb_channel *channel;
    nb_status status = in_lane            ? nb_server_lane_channel_add(server, executor->lane, &channel)
                       : !executor->helps ? nb_server_channel_add(server, &channel)
                                          : nb_server_spare_add(server, executor->helps->ports[0].channel, &channel);
    if (status == NB_OK) *link = channel->link;
    return status;
}

/* ports: room for as many as a link may have; the rest of it is given back. */
static void open_ports(nb_executor *executor, nb_port *ports, nb_link *link) {
    nb_port *needed = nb_realloc(ports, link->count * sizeof(*ports));
    if (needed) ports = needed;
    for (uint16_t i = 0; i < link->count; i++) {
        nb_port *port = &ports[i];
        port->executor = executor;
        port->channel = &link->channels[i];
        nb_ring_consumer_attach(&port->requests, nb_channel_requests(port->channel));
        nb_ring_producer_attach(&port->responses, nb_channel_responses(port->channel));
    }
    executor->link = link;
    executor->board = link->board;
    executor->ports = ports;
    executor->port_count = link->count;
}

/* The last step of `initialize`, after all that may raise: an engine waits at its end for every
   executor that it has. */
static void join_owner(nb_executor *executor, VALUE owner, bool in_lane) {
    check_new(executor);
    nb_link *link = nb_link_is(owner) ? nb_link_of(owner) : NULL;
    nb_server *server = link ? NULL : nb_engine_server(owner);
    nb_port *ports = nb_alloc_zero(NB_IO_THREADS_MAX, sizeof(*ports));
    if (!ports) rb_memerror();
    nb_status status = link ? NB_OK : add_channel(server, executor, in_lane, &link);
    if (status != NB_OK) {
        nb_free(ports);
        if (status == NB_FULL) rb_raise(nb_error_class, "executors are added before the engine starts");
        nb_raise_status(status, "the executor could not be made");
    }
    if (nb_link_is(owner)) nb_link_use(owner);
    executor->owner = owner;
    open_ports(executor, ports, link);
}

/* Executor.new(owner, app, fibers: 1024, log: nil, slice_ms: nil, helps: nil, lane: nil, stalls:
   nil, places: nil, early_hints: false, request_times: false, server_timing: false, sendfile:
   false, accel: nil, async: false). owner: an Engine before its start; in a worker a Link. fibers:
   requests that run at once, at most. log: a NeverBlock::Log. slice_ms: as Scheduler#slice_ms=.
   helps: the Executor of the same process whose spare this is; both together run no more requests
   than that one may. lane: of an Engine, the lane whose thread this is. stalls, places: what
   NeverBlock::Stalls gathers. early_hints: env has rack.early_hints. request_times:
   rack.response_finished finds neverblock.time in env. server_timing: as the setting. sendfile:
   X-Sendfile names files. accel: the mapping of X-Accel-Redirect. async: requests are tasks of
   Async. Raises NeverBlock::Error when the engine has started or is closed, or `helps` has another
   engine, and Errno::EMFILE when there is no descriptor for its scheduler. What raises leaves
   nothing with the engine. */
static VALUE executor_initialize(int argc, VALUE *argv, VALUE self) {
    VALUE owner, app, keywords;
    nb_executor *executor = get(self);
    rb_scan_args(argc, argv, "2:", &owner, &app, &keywords);
    check_new(executor);
    long fibers = NUM2LONG(keyword(keywords, "fibers", INT2FIX(1024)));
    if (fibers < 1 || fibers > 1000000) rb_raise(rb_eArgError, "fibers must be 1 to 1000000, not %ld", fibers);
    executor->log = keyword(keywords, "log", Qnil);
    executor->stalls = keyword(keywords, "stalls", Qnil);
    nb_places_read(&executor->places, keyword(keywords, "places", Qnil));
    executor->slice_ms = nb_timeslice_ms_read(keyword(keywords, "slice_ms", Qnil));
    executor->rack2 = rack_is_2();
    executor->deadline_class = rb_path2class("NeverBlock::Deadline::OfRequest");
    executor->fiber_state = rb_path2class("NeverBlock::Pool::FiberState");
    VALUE errors = rb_funcall(self, rb_intern("error_stream"), 1, executor->log);
    nb_env_builder_init(executor->env, errors, executor->rack2, nb_link_is(owner));
    executor->sendfile = RTEST(keyword(keywords, "sendfile", Qfalse));
    VALUE mapping = keyword(keywords, "accel", Qnil);
    executor->accel = RTEST(mapping);
    if (executor->accel) nb_env_builder_add_accel(executor->env, mapping);
    executor->env->early_hints = RTEST(keyword(keywords, "early_hints", Qfalse));
    executor->request_times = RTEST(keyword(keywords, "request_times", Qfalse));
    executor->server_timing = nb_timing_read_setting(keyword(keywords, "server_timing", Qfalse));
    executor->scheduler = rb_class_new_instance(0, NULL, nb_scheduler_class);
    executor->helped = keyword(keywords, "helps", Qnil);
    executor->helps = read_helped(executor->helped, owner);
    VALUE lane = keyword(keywords, "lane", Qnil);
    executor->lane = lane_of(owner, lane);
    executor->app = app;
    executor->fibers_max = executor->lane ? 1 : (uint32_t)fibers;
    executor->above = Qnil;
    if (executor->lane == 0 && RTEST(keyword(keywords, "async", Qfalse)))
        executor->above = rb_funcall(self, rb_intern("scheduler_above"), 1, executor->scheduler);
    /* Takes the scheduler's descriptors before clients can take the last ones, and memory for what
       goes on when fibers have taken all. */
    nb_scheduler_poll_descriptor(executor->scheduler);
    (void)nb_memory_keep_reserve(NB_EXECUTOR_RESERVE_BYTES);
    join_owner(executor, owner, !NIL_P(lane));
    atomic_store_explicit(&nb_executor_figures_of(executor)->fibers_limit, executor->fibers_max, memory_order_relaxed);
    RB_GC_GUARD(keywords);
    return self;
}

static void add_listeners(nb_executor *executor) {
    const nb_board *board = executor->board;
    for (uint16_t i = 0; i < board->listener_count; i++) {
        nb_env_builder_add_listener(executor->env, board->listeners[i].address, board->listeners[i].port,
                                    board->listeners[i].secure);
    }
}

static VALUE run_scheduler(VALUE self) {
    const nb_executor *executor = get(self);
    if (!NIL_P(executor->above)) return rb_funcall(executor->above, rb_intern("serve"), 0);
    nb_scheduler_run(executor->scheduler);
    return Qnil;
}

typedef struct stray {
    const nb_executor *executor;
    VALUE error;
} stray;

static VALUE report_stray(VALUE argument) {
    const stray *met = (const stray *)argument;
    return rb_funcall(met->executor->self, rb_intern("report_stray"), 1, met->error);
}

/* So many exceptions that come one upon another are reported; a log may fail each time. */
#define NB_STRAY_REPORTS_MAX 8

/* Whether this ends the process or the thread, on a thread as here: `exit`, a signal, memory that
   Ruby has not got. What is no exception is the end of the thread, or a jump. */
static bool is_end(VALUE error) {
    if (!RTEST(rb_obj_is_kind_of(error, rb_eException))) return true;
    const VALUE ends[] = {rb_eSystemExit, rb_eSignal, rb_eNoMemError, rb_eFatal};
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        if (RTEST(rb_obj_is_kind_of(error, ends[i]))) return true;
    }
    return false;
}

/* Jumps on with what ends the thread. Any other exception is logged, and so is one that comes
   meanwhile. It is no cause of what is raised next. */
static void take_stray(nb_executor *executor, int tag) {
    for (int reports = 0; tag != 0; reports++) {
        stray met = {executor, rb_errinfo()};
        if (is_end(met.error)) rb_jump_tag(tag);
        rb_set_errinfo(Qnil);
        tag = 0;
        if (reports < NB_STRAY_REPORTS_MAX) rb_protect(report_stray, (VALUE)&met, &tag);
        RB_GC_GUARD(met.error);
    }
}

/* Runs the loop. An exception of any class may be raised into the thread from outside while no
   request runs: libraries do so with Thread#raise (rack-timeout, mqtt). One that is no
   StandardError may come from a fiber that no request waits for. It concerns no request. */
static void run_on(nb_executor *executor) {
    for (;;) {
        int tag = 0;
        rb_protect(run_scheduler, executor->self, &tag);
        if (tag == 0) return;
        take_stray(executor, tag);
    }
}

static void ring_all(nb_executor *executor) {
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_channel_ring_loop(executor->ports[i].channel);
    }
}

/* What Ruby knows as the scheduler of its thread. */
static VALUE scheduler_of_thread(const nb_executor *executor) {
    return NIL_P(executor->above) ? executor->scheduler : executor->above;
}

static VALUE run_body(VALUE self) {
    nb_executor *executor = get(self);
    nb_executor_begin_running(executor);
    executor->env->executor = executor->number;
    executor->figures = atomic_load_explicit(&nb_executor_figures_of(executor)->enabled, memory_order_relaxed);
    executor->accounts = executor->figures || executor->request_times || RTEST(executor->server_timing);
    nb_pools_begin(executor);
    add_listeners(executor);
    nb_executor_attach(executor);
    if (!executor->server) nb_executor_figures_begin(executor);
    if (executor->figures) nb_executor_figures_tell(executor, nb_scheduler_clock(executor->scheduler));
    if (executor->lane == 0) rb_fiber_scheduler_set(scheduler_of_thread(executor));
    if (executor->lane == 0 && executor->slice_ms > 0) nb_scheduler_timeslice(executor->scheduler, executor->slice_ms);
    nb_executor_ask_for_more(executor);
    ring_all(executor);
    nb_stalls_begin(executor, executor->stalls);
    run_on(executor);
    executor->finished = true;
    return Qnil;
}

/* Whether somebody reads the channel: not once the engine is closed, and not in a child of the
   owner's process, which may share its memory with the front. */
static bool is_joined(const nb_executor *executor) {
    if (!executor->ports) return false;
    return nb_link_is(executor->owner) ? nb_link_is_here(executor->owner) : nb_engine_alive(executor->owner);
}

/* Fibers that are left when an exception or Thread#kill has ended run are dropped. From now on none
   of them may touch the channel, and the engine may be closed. */
static VALUE run_end(VALUE self) {
    nb_executor *executor = get(self);
    executor->over = true;
    nb_pools_end(executor);
    VALUE ending = nb_stalls_end(executor);
    nb_executor_end_running(executor);
    if (is_joined(executor)) {
        atomic_store_explicit(&executor->board->executor_gone, 1, memory_order_release);
        if (executor->guest) nb_server_guest_end(executor->server);
        ring_all(executor);
    }
    nb_scheduler_detach(executor->scheduler);
    nb_scheduler_timeslice(executor->scheduler, 0);
    if (executor->server) nb_engine_leave(executor->owner);
    if (!executor->finished) nb_scheduler_abandon(executor->scheduler);
    if (!NIL_P(executor->above) && !executor->finished) rb_funcall(executor->above, rb_intern("abandon"), 0);
    if (rb_fiber_scheduler_get() == scheduler_of_thread(executor)) rb_fiber_scheduler_set(Qnil);
    if (!NIL_P(ending)) rb_funcall(ending, rb_intern("join"), 0);
    return Qnil;
}

/* run: serves on the calling thread until the engine has drained and no request is left. Sets the
   thread's fiber scheduler. Raises SystemExit, SignalException and NoMemoryError that meet no
   request, and NeverBlock::Error when it ran before, the engine has not started, or this is a child
   of its process. */
static VALUE executor_run(VALUE self) {
    nb_executor *executor = get(self);
    if (executor->ran) rb_raise(nb_error_class, "an executor runs once");
    if (nb_link_is(executor->owner) && !nb_link_is_here(executor->owner))
        rb_raise(nb_error_class, "this executor's link belongs to another process");
    if (!nb_link_is(executor->owner)) executor->server = nb_engine_enter(executor->owner);
    executor->ran = true;
    /* the front reads all that is there before it wakes this process */
    if (!executor->server) nb_thread_wake_gently();
    return rb_ensure(run_body, self, run_end, self);
}

/* finish: no request will come any more; run returns when those that it has have ended. For a spare
   whose executor has ended. Any thread. Raises NeverBlock::Error when it was never initialized. */
static VALUE executor_finish(VALUE self) {
    nb_executor *executor = get(self);
    if (!executor->ports) rb_raise(nb_error_class, "this executor was never initialized");
    executor->finishes = true;
    if (!executor->over && is_joined(executor)) nb_wake_signal(&executor->link->executor_wake);
    return self;
}

/* after_fork: closes the connections that were on their way to the parent's requests;
   compat/fork.rb calls it in each child. */
static VALUE executor_s_after_fork(VALUE class) {
    for (nb_executor *executor = nb_executor_running(); executor; executor = executor->next) {
        if (nb_executor_in_child(executor)) nb_hijack_abandon(executor);
    }
    return class;
}

static VALUE executor_running(VALUE self) { return UINT2NUM(get(self)->running); }
static VALUE executor_log(VALUE self) { return get(self)->log; }
static VALUE executor_scheduler(VALUE self) { return get(self)->scheduler; }

void nb_executor_define(VALUE module) {
    nb_executor_messages_define();
    nb_pools_define(module);
    nb_task_define();
    nb_stalls_define(module);
    nb_response_define(module);
    nb_hijack_define(module);
    nb_timing_define();
    VALUE class = rb_define_class_under(module, "Executor", rb_cObject);
    rb_define_alloc_func(class, executor_allocate);
    rb_undef_method(class, "initialize_copy");
    rb_define_singleton_method(class, "after_fork", executor_s_after_fork, 0);
    rb_define_method(class, "initialize", executor_initialize, -1);
    rb_define_method(class, "run", executor_run, 0);
    rb_define_method(class, "finish", executor_finish, 0);
    rb_define_method(class, "running", executor_running, 0);
    rb_define_method(class, "log", executor_log, 0);
    rb_define_method(class, "scheduler", executor_scheduler, 0);
    nb_executor_entry_define(class);
}
