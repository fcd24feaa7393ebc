/*
 * task.c - see task.h.
 */
#include "binding/base/protect.h"
#include "binding/executor/task.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "binding/executor/entry.h"
#include "binding/executor/observed_requests.h"
#include "binding/executor/requests.h"
#include "binding/executor/slow_requests.h"
#include "binding/ports/running.h"
#include "binding/ports/writing.h"
#include "binding/rack/env.h"
#include "binding/rack/env_keys.h"
#include "binding/rack/hijack.h"
#include "http/head.h"
#include "binding/rack/input.h"
#include "binding/base/module.h"
#include "os/memory.h"
#include "binding/rack/response.h"
#include "binding/rack/timing.h"
#include "binding/fibers/root.h"
#include "binding/fibers/start.h"
#include "binding/scheduler/scheduler.h"
#include "binding/state/serving.h"

/* Where NB.deadline finds the nearest one (lib/neverblock/verbs/deadline.rb). */
#define DEADLINE_LOCAL "__neverblock_deadline"

static VALUE fiber_error_class, input_error_class;
static ID id_request_fiber, id_call, id_close, id_report, id_keys, id_clear, id_storage, id_deadline, id_open,
    id_unbegun, id_cancelled, id_dropped, id_report_untold;

void nb_task_mark(const nb_task *task) {
    rb_gc_mark(task->fiber);
    rb_gc_mark(task->env);
    rb_gc_mark(task->body);
    rb_gc_mark(task->status);
    rb_gc_mark(task->headers);
    rb_gc_mark(task->error);
    rb_gc_mark(task->input);
    rb_gc_mark(task->writer);
    rb_gc_mark(task->socket);
    rb_gc_mark(task->deadline);
    rb_gc_mark(task->limit.late.raises);
}

/* --- one request, in its fiber --- */

/* A deadline in the application's code (NB.deadline) nests in this one. */
static void begin_deadline(nb_task *task, int64_t arrived_ns, int64_t deadline_ns) {
    VALUE at = DBL2NUM((double)deadline_ns / 1e9);
    VALUE arguments[] = {DBL2NUM((double)(deadline_ns - arrived_ns) / 1e9), at};
    task->deadline = rb_class_new_instance(2, arguments, task->executor->deadline_class);
    rb_hash_aset(task->env, nb_env_keys.deadline, at);
    rb_thread_local_aset(rb_thread_current(), id_deadline, task->deadline);
    nb_limit_arm(&task->limit, deadline_ns, rb_ary_new_from_values(1, &task->deadline));
}

static void end_deadline(nb_task *task) {
    if (NIL_P(task->deadline)) return;
    nb_limit_disarm(&task->limit);
    rb_ivar_set(task->deadline, id_open, Qfalse);
    rb_thread_local_aset(rb_thread_current(), id_deadline, Qnil);
    task->deadline = Qnil;
}

static void copy_words(char *out, size_t room, const nb_request_message *request, nb_span span) {
    size_t size = span.size < room ? span.size : room - 1;
    memcpy(out, (const char *)request + span.offset, size);
    out[size] = '\0';
}

static nb_slice slice_of(const nb_request_message *request, nb_span span) {
    return nb_slice_of((const char *)request + span.offset, span.size);
}

static void begin_account(nb_task *task, const nb_request_message *request) {
    nb_account_facts facts = {.exchange = task->exchange,
                              .head_ns = request->head_ns,
                              .body_ns = request->body_ns,
                              .arrived_ns = request->arrived_ns,
                              .taken_ns = task->taken_ns};
    nb_account_begin(&task->account, &facts);
}

/* Where there is an admin address the loops are told which request the fiber serves. */
static void begin_record(nb_task *task, const nb_request_message *request) {
    nb_executor *executor = task->executor;
    nb_fiber_request_facts facts = {.exchange = task->exchange,
                                    .arrived_ns = request->arrived_ns,
                                    .taken_ns = task->taken_ns,
                                    .fiber = nb_fiber_name(task->fiber),
                                    .route = request->route,
                                    .method = slice_of(request, request->method_text),
                                    .path = slice_of(request, request->path),
                                    .query = slice_of(request, request->query),
                                    .id = nb_slice_of(task->words.id, strlen(task->words.id))};
    task->record = nb_fiber_request_begin(executor->link->fibers, &facts);
}

static void tell_begun(nb_task *task, const nb_request_message *request) {
    nb_executor *executor = task->executor;
    if (!executor->accounts) return;
    begin_account(task, request);
    if (executor->figures) begin_record(task, request);
    nb_scheduler_serves(executor->scheduler, task->record, task->exchange, &task->account);
}

static void tell_ended(nb_task *task) {
    nb_executor *executor = task->executor;
    if (!executor->accounts || executor->over || nb_executor_in_child(executor)) return;
    if (executor->figures) nb_fiber_request_end(executor->link->fibers, task->record);
    task->record = NB_FIBER_NONE;
    task->account.exchange = 0;
    nb_scheduler_serves(executor->scheduler, NB_FIBER_NONE, 0, NULL);
}

/* Copies the request's words for reports that are made while Ruby cannot be asked. */
static void note(nb_task *task, const nb_request_message *request) {
    nb_stall_request *words = &task->words;
    words->route = request->route;
    copy_words(words->method, sizeof(words->method), request, request->method_text);
    copy_words(words->path, sizeof(words->path), request, request->path);
    words->id[0] = '\0';
}

/* The name of a header field that was dropped, or nil. */
static VALUE dropped_name(const nb_env_builder *builder) {
    return builder->dropped_size ? rb_str_new(builder->dropped, (long)builder->dropped_size) : Qnil;
}

static void let_go_of_record(nb_task *task) {
    if (task->owns_request) nb_free(task->request);
    task->owns_request = false;
    task->request = NULL;
}

/* Lets go of the request's record in the ring before anything is called that may park the fiber.
   Returns as dropped_name does. */
static VALUE build_env(nb_task *task) {
    nb_request_message *request = task->request;
    nb_env_rest rest;
    task->taken_ns = nb_executor_switched_ns(task->executor);
    task->collections = rb_gc_count();
    int64_t arrived_ns = request->arrived_ns, deadline_ns = request->deadline_ns;
    task->cancellable = (request->message.flags & NB_REQUEST_CANCELLABLE) != 0;
    task->head_request = request->method == NB_METHOD_HEAD;
    task->http2 = request->minor_version == NB_HTTP_2;
    task->upgrades = (request->message.flags & NB_REQUEST_UPGRADES) != 0;
    task->spooled = request->body_fd >= 0;
    bool streams = (request->message.flags & NB_REQUEST_STREAMS) != 0;
    bool revocable = (request->message.flags & NB_REQUEST_REVOCABLE) != 0;
    note(task, request);
    task->env = nb_env_build(task->executor->env, request, &rest);
    strcpy(task->words.id, task->executor->env->request_id);
    VALUE dropped = dropped_name(task->executor->env);
    tell_begun(task, request);
    nb_request_begin(request);
    let_go_of_record(task);
    nb_env_complete(task->executor->env, task->env, &rest);
    if (task->executor->accounts) nb_timing_begin(task);
    if (streams) {
        task->input = nb_input_open(task);
        rb_hash_aset(task->env, nb_env_keys.rack_input, task->input);
    }
    if (task->spooled) task->input = rb_hash_lookup(task->env, nb_env_keys.rack_input);
    bool opens = deadline_ns || task->cancellable || revocable;
    if (opens && !task->limit.scheduler) nb_limit_open(&task->limit, task->executor->scheduler);
    if (deadline_ns) begin_deadline(task, arrived_ns, deadline_ns);
    return dropped;
}

static VALUE run_application(VALUE argument) {
    nb_task *task = (nb_task *)argument;
    VALUE dropped = build_env(task);
    if (!NIL_P(dropped)) rb_funcall(task->executor->self, id_dropped, 2, dropped, task->env);
    VALUE response = rb_funcallv(task->executor->app, id_call, 1, &task->env);
    end_deadline(task);
    nb_response_send(task, response);
    return Qnil;
}

/* A busy executor may have taken requests whose deadlines have passed when their turn comes. */
static bool too_late(nb_task *task) {
    const nb_request_message *request = task->request;
    if (request->deadline_ns == 0 || request->deadline_ns > nb_executor_switched_ns(task->executor)) return false;
    if (request->body_fd >= 0) close((int)request->body_fd);
    task->head_request = request->method == NB_METHOD_HEAD;
    let_go_of_record(task);
    return task->unbegun = task->expired = true;
}

/* An Array, the usual body, has no close. */
static bool has_close(VALUE body) { return !NIL_P(body) && rb_class_of(body) != rb_cArray; }

static VALUE close_body(VALUE argument) {
    nb_task *task = (nb_task *)argument;
    VALUE body = task->body;
    task->body = Qnil;
    if (rb_respond_to(body, id_close)) rb_funcallv(body, id_close, 0, NULL);
    return Qnil;
}

/* Reports the error, and learns whether it is the request's deadline, and whether the application
   was called before that. */
static VALUE report(VALUE argument) {
    nb_task *task = (nb_task *)argument;
    VALUE arguments[] = {task->error, task->env};
    end_deadline(task);
    VALUE end = rb_funcallv(task->executor->self, id_report, 2, arguments);
    task->cancelled = end == ID2SYM(id_cancelled);
    task->expired = RTEST(end) && !task->cancelled;
    task->unbegun = end == ID2SYM(id_unbegun);
    return Qnil;
}

static VALUE call_finished(VALUE argument) {
    VALUE *arguments = (VALUE *)argument;
    return rb_funcallv(arguments[0], id_call, 4, arguments + 1);
}

/* Takes the exception of a failed rb_protect into task->error. False: the thread is ending, which
   must go on. */
static bool take_error(nb_task *task, int tag) {
    VALUE error = rb_errinfo();
    if (tag == 0) return true;
    if (!rb_obj_is_kind_of(error, rb_eException)) return false;
    nb_protect_drop(Qnil);
    task->error = error;
    return true;
}

typedef struct untold {
    const nb_task *task;
    VALUE raised; /* by the report */
} untold;

/* Tells in one line what `report` could not: it calls methods of the error, which may raise. */
static VALUE report_untold(VALUE argument) {
    const untold *failed = (const untold *)argument;
    const nb_task *task = failed->task;
    VALUE arguments[] = {rb_str_new_cstr(task->words.method), rb_str_new_cstr(task->words.path),
                         rb_str_new_cstr(rb_obj_classname(task->error)),
                         rb_str_new_cstr(rb_obj_classname(failed->raised))};
    return rb_funcallv(task->executor->self, id_report_untold, 4, arguments);
}

/* True: an exception was caught, which is dropped. */
static bool drop_exception(int tag) {
    if (tag == 0 || !rb_obj_is_kind_of(rb_errinfo(), rb_eException)) return false;
    nb_protect_drop(Qnil);
    return true;
}

static int log_error(nb_task *task) {
    int tag = 0;
    /* the client's error, which was answered */
    if (rb_obj_is_kind_of(task->error, input_error_class)) return 0;
    rb_protect(report, (VALUE)task, &tag);
    untold failed = {task, rb_errinfo()};
    if (!drop_exception(tag)) return tag;
    rb_protect(report_untold, (VALUE)&failed, &tag);
    return drop_exception(tag) ? 0 : tag;
}

/* The Array of callables under this key, if there are any; else nil. */
static VALUE callbacks_of(const nb_task *task, VALUE key) {
    VALUE callbacks = NIL_P(task->env) ? Qnil : rb_hash_lookup(task->env, key);
    return RB_TYPE_P(callbacks, T_ARRAY) && RARRAY_LEN(callbacks) > 0 ? callbacks : Qnil;
}

/* Calls each in reverse order of registration, whatever the others have raised (Rack SPEC 3.1,
   rack.response_finished). */
static int run_finished(nb_task *task) {
    VALUE callbacks = callbacks_of(task, nb_env_keys.rack_response_finished);
    if (NIL_P(callbacks)) return 0;
    VALUE error = task->error;
    for (long i = RARRAY_LEN(callbacks) - 1; i >= 0; i--) {
        VALUE arguments[] = {rb_ary_entry(callbacks, i), task->env, task->status, task->headers, error};
        int tag = 0;
        rb_protect(call_finished, (VALUE)arguments, &tag);
        if (!take_error(task, tag)) return tag;
        if (tag && (tag = log_error(task))) return tag;
    }
    return 0;
}

static VALUE call_callback(VALUE callback) { return rb_funcallv(callback, id_call, 0, NULL); }

/* rack.after_reply of Puma and Unicorn: calls each in order of registration without arguments,
   whatever the others have raised. */
static int run_after_reply(nb_task *task) {
    VALUE callbacks = callbacks_of(task, nb_env_keys.rack_after_reply);
    if (NIL_P(callbacks)) return 0;
    for (long i = 0; i < RARRAY_LEN(callbacks); i++) {
        int tag = 0;
        rb_protect(call_callback, rb_ary_entry(callbacks, i), &tag);
        if (!take_error(task, tag)) return tag;
        if (tag && (tag = log_error(task))) return tag;
    }
    return 0;
}

static int protect_step(nb_task *task, VALUE (*step)(VALUE)) {
    int tag = 0;
    rb_protect(step, (VALUE)task, &tag);
    if (!take_error(task, tag)) return tag;
    return tag ? log_error(task) : 0;
}

static VALUE close_socket(VALUE argument) { return rb_funcallv(((nb_task *)argument)->socket, id_close, 0, NULL); }

/* Mostly nobody has the socket of a full hijack when the application raises; one that was given to
   another is closed too. By its method: rb_io_close tells no fiber that waits for it
   (hooks/closing.c). */
static int close_hijacked(nb_task *task) {
    VALUE error = task->error;
    int tag = NIL_P(task->socket) ? 0 : protect_step(task, close_socket);
    task->error = error;
    return tag;
}

static int answer(nb_task *task) {
    int tag = 0;
    if (too_late(task)) return 0;
    rb_protect(run_application, (VALUE)task, &tag);
    nb_limit_close(&task->limit);
    if (!take_error(task, tag)) return tag;
    if (tag == 0) return 0;
    tag = log_error(task);
    return tag ? tag : close_hijacked(task);
}

static VALUE fail_step(VALUE argument) {
    nb_response_fail((nb_task *)argument);
    return Qnil;
}

static int fail(nb_task *task) {
    int tag = 0;
    nb_executor_end_wait(task);
    if (!task->ended) rb_protect(fail_step, (VALUE)task, &tag);
    return take_error(task, tag) ? 0 : tag;
}

static int close_returned(nb_task *task) { return has_close(task->body) ? protect_step(task, close_body) : 0; }

static VALUE put_times(VALUE task) {
    nb_timing_put((nb_task *)task);
    return Qnil;
}

static int times(nb_task *task) { return task->executor->request_times ? protect_step(task, put_times) : 0; }

/* Closes the file of a spooled body, which is ours, whatever the application has put in its
   place. */
static VALUE close_input(VALUE argument) { return rb_io_close(((nb_task *)argument)->input); }

static int close_spooled(nb_task *task) {
    if (nb_input_is(task->input)) nb_input_close(task->input);
    return RB_TYPE_P(task->input, T_FILE) ? protect_step(task, close_input) : 0;
}

/* Each step returns the tag of an end of the thread or fiber that must go on, else 0. */
static int (*const steps[])(nb_task *) = {answer,          fail,         close_returned, times, run_finished,
                                          run_after_reply, close_spooled};
#define STEPS (sizeof(steps) / sizeof(*steps))

static VALUE go_on(VALUE tag) { rb_jump_tag((int)tag); }

static VALUE serve_rest(VALUE task);

/* Serves the whole request. An end that must go on leaves by a jump after the other steps;
   rb_ensure keeps its error. */
static void serve(nb_task *task) {
    while (task->step < STEPS) {
        int tag = steps[task->step++](task);
        if (tag) rb_ensure(go_on, (VALUE)tag, serve_rest, (VALUE)task);
    }
}

/* --- the pool --- */

#ifdef HAVE_RB_FIBER_NEW_STORAGE
static bool has_storage(VALUE fiber) { return !NIL_P(rb_funcallv(fiber, id_storage, 0, NULL)); }
#else
static bool has_storage(VALUE fiber) {
    (void)fiber;
    return false;
}
#endif

/* What an application leaves on its fiber must not reach the next request: locals
   (Thread.current[]), thread variables, storage, instance variables (Rails' execution state).
   Clients with an open connection stay (lib/neverblock/pool/connected_clients.rb). False: the fiber
   cannot be cleared, and must not be used again. */
static bool scrub(nb_task *task) {
    VALUE thread = rb_thread_current();
    nb_root_forget_status();
    if (RARRAY_LEN(rb_funcallv(thread, id_keys, 0, NULL)) == 0 && rb_ivar_count(task->fiber) == 0 &&
        !has_storage(task->fiber))
        return true;
    return RTEST(rb_funcallv(task->executor->fiber_state, id_clear, 1, &task->fiber));
}

static void push_idle(nb_task *task) {
    task->next = task->executor->idle;
    task->executor->idle = task;
}

static void forget(nb_task *task) {
    nb_executor *executor = task->executor;
    nb_executor_end_wait(task);
    nb_limit_close(&task->limit);
    nb_executor_unindex_task(task);
    nb_slow_request_offer(task);
    nb_observed_request_end(task);
    tell_ended(task);
    task->env = task->body = task->status = task->headers = task->error = task->input = task->writer = task->socket =
        Qnil;
    task->deadline = Qnil;
    nb_hijack_drop(task);
    let_go_of_record(task);
    task->unacknowledged = 0;
    task->step = 0;
    nb_executor_leave(task);
    task->busy = task->gone = task->left = task->events = task->hijack_asked = false;
    task->head_sent = task->ended = task->unbegun = task->expired = task->cancelled = task->timed = false;
    push_idle(task);
    executor->running--;
    nb_executor_tell_running(executor);
}

static void end_fiber(nb_task *task) {
    task->fiber = Qnil;
    task->executor->fibers--;
}

static void forget_with_fiber(nb_task *task) {
    end_fiber(task);
    forget(task);
}

static VALUE serve_rest(VALUE argument) {
    nb_task *task = (nb_task *)argument;
    serve(task);
    forget_with_fiber(task);
    return Qnil;
}

static VALUE scrub_step(VALUE task) { return scrub((nb_task *)task) ? Qtrue : Qfalse; }

static bool scrubbed(nb_task *task) {
    int tag = 0;
    VALUE clean = rb_protect(scrub_step, (VALUE)task, &tag);
    if (tag && !rb_obj_is_kind_of(rb_errinfo(), rb_eException)) {
        forget_with_fiber(task);
        rb_jump_tag(tag);
    }
    if (tag) nb_protect_drop(Qnil);
    return tag == 0 && clean == Qtrue;
}

/* Bytes of its stack that a fiber clears when it parks between two requests. */
#define STALE_BYTES 4096

/* The collector takes words that earlier calls have left on a parked fiber's stack for references:
   whole requests would stay alive, one for each fiber. The call by a volatile pointer keeps
   compilers from leaving it out. */
static void clear_stale(void) {
    static void *(*const volatile set)(void *, int, size_t) = memset;
    char stale[STALE_BYTES];
    set(stale, 0, sizeof(stale));
}

/* False: the fiber is to end. What is raised into a fiber between two requests has come too late
   for its request. */
static bool next_request(nb_task *task) {
    static void (*const volatile clear)(void) = clear_stale; /* in a frame below this one */
    bool ends = false;
    int tag = 0;
    clear();
    while (!task->busy && !task->retired && !ends) {
        rb_protect(nb_executor_park, task->executor->scheduler, &tag);
        if (tag == 0) continue;
        ends = !rb_obj_is_kind_of(rb_errinfo(), rb_eException);
        if (ends) break;
        ends = rb_obj_is_kind_of(rb_errinfo(), rb_eNoMemError);
        nb_protect_drop(Qnil);
        tag = 0;
    }
    if (task->busy) {
        if (tag) rb_ensure(go_on, (VALUE)tag, serve_rest, (VALUE)task);
        return true;
    }
    end_fiber(task);
    nb_executor_tell_running(task->executor);
    if (task->retired) push_idle(task);
    task->retired = false;
    if (tag) rb_jump_tag(tag);
    return false;
}

/* Ruby maps the stacks of many fibers at once, and halves their number until the system has room
   for them. Little room is left then, and a collection that finds no memory ends the process. */
static void look_for_room(nb_executor *executor) {
    if (nb_memory_has_room(NB_EXECUTOR_RESERVE_BYTES)) return;
    nb_memory_use_reserve();
    executor->crowded = true;
}

static VALUE task_main(RB_BLOCK_CALL_FUNC_ARGLIST(yielded, argument)) {
    nb_task *task = (nb_task *)argument;
    VALUE executor = task->executor->self; /* on this stack it keeps the task alive */
    bool once = !NIL_P(task->executor->above);
    if (once && !task->busy) {
        end_fiber(task);
        return Qnil;
    }
    look_for_room(task->executor);
    do {
        serve(task);
        if (!nb_executor_in_child(task->executor)) nb_scheduler_forget_socket(task->executor->scheduler);
        if (once || !scrubbed(task)) {
            forget_with_fiber(task);
            break;
        }
        forget(task);
    } while (!nb_executor_in_child(task->executor) && (nb_executor_next(task) || next_request(task)));
    RB_GC_GUARD(executor);
    return Qnil;
}

/* The fiber of a lane's thread is a blocking one, for which no scheduler is asked. That of a task
   of Async's serves one request. */
static VALUE new_fiber(nb_task *task) {
    VALUE options = rb_hash_new();
    rb_hash_aset(options, ID2SYM(rb_intern("blocking")), task->executor->lane ? Qtrue : Qfalse);
#ifdef HAVE_RB_FIBER_NEW_STORAGE
    rb_hash_aset(options, ID2SYM(rb_intern("storage")), Qnil);
#endif
    VALUE body = rb_proc_new(task_main, (VALUE)task), above = task->executor->above;
    if (!NIL_P(above)) return rb_funcall_with_block(above, id_request_fiber, 0, NULL, body);
    return nb_fiber_make(body, options);
}

/* A signal handler may look at the list at any instruction: it is never one that was freed. */
static nb_task *new_task(nb_executor *executor) {
    nb_task *task = nb_alloc_zero(1, sizeof(*task));
    nb_task **before = executor->tasks, **tasks = nb_alloc((executor->task_count + 1) * sizeof(*tasks));
    if (!task || !tasks) {
        nb_free(task);
        nb_free(tasks);
        rb_memerror();
    }
    if (before) memcpy(tasks, before, executor->task_count * sizeof(*tasks));
    executor->tasks = tasks;
    nb_free(before);
    task->executor = executor;
    task->throttle_slot = NB_THROTTLE_NO_SLOT;
    task->record = NB_FIBER_NONE;
    task->fiber = task->env = task->body = task->status = task->headers = task->error = Qnil;
    task->input = task->writer = task->socket = task->deadline = task->limit.late.raises = Qnil;
    tasks[executor->task_count++] = task;
    return task;
}

static VALUE make_fiber(VALUE argument) {
    nb_executor *executor = (nb_executor *)argument;
    if (!executor->idle) push_idle(new_task(executor));
    executor->idle->fiber = new_fiber(executor->idle);
    executor->fibers++;
    return Qnil;
}

static bool is_want_of_fibers(VALUE error) {
    return rb_obj_is_kind_of(error, fiber_error_class) || rb_obj_is_kind_of(error, rb_eNoMemError);
}

nb_task *nb_task_take(nb_executor *executor) {
    int tag = 0;
    if (!executor->idle || NIL_P(executor->idle->fiber)) rb_protect(make_fiber, (VALUE)executor, &tag);
    if (tag && !is_want_of_fibers(rb_errinfo())) rb_jump_tag(tag);
    if (tag) return NULL;
    nb_task *task = executor->idle;
    executor->idle = task->next;
    return task;
}

void nb_task_give_back(nb_task *task) {
    task->next = task->executor->idle;
    task->executor->idle = task;
}

bool nb_task_not_begun(const nb_task *task, const nb_request_message *request) {
    return task->busy && task->step == 0 && task->request == request;
}

void nb_task_own_request(nb_task *task, size_t bytes) {
    nb_request_message *copy = nb_alloc(bytes);
    if (!copy) rb_memerror();
    memcpy(copy, task->request, bytes);
    nb_request_begin(task->request);
    task->request = copy;
    task->owns_request = true;
}

void nb_task_drop(nb_task *task) { forget_with_fiber(task); }

/* A retired task comes back to the pool without a fiber when that has ended. */
void nb_task_retire_idle(nb_executor *executor, uint32_t keep) {
    nb_task **link = &executor->idle;
    while (*link) {
        nb_task *task = *link;
        if (keep > 0 || NIL_P(task->fiber)) {
            keep -= keep > 0;
            link = &task->next;
            continue;
        }
        *link = task->next;
        task->retired = true;
        nb_scheduler_ready(executor->scheduler, task->fiber);
    }
}

void nb_task_define(void) {
    rb_gc_register_address(&fiber_error_class);
    fiber_error_class = rb_path2class("FiberError");
    rb_gc_register_address(&input_error_class);
    input_error_class = rb_path2class("NeverBlock::InputError");
    id_call = rb_intern("call");
    id_request_fiber = rb_intern("request_fiber");
    id_deadline = rb_intern(DEADLINE_LOCAL);
    id_open = rb_intern("@open");
    id_close = rb_intern("close");
    id_report = rb_intern("report");
    id_unbegun = rb_intern("unbegun");
    id_cancelled = rb_intern("cancelled");
    id_dropped = rb_intern("report_dropped");
    id_report_untold = rb_intern("report_untold");
    id_keys = rb_intern("keys");
    id_clear = rb_intern("clear");
    id_storage = rb_intern("storage");
}
