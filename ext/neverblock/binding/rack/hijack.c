/*
 * hijack.c - see hijack.h. Every request has an object of its own, so that an env which is kept too
 * long never takes the connection of another request. In place of a pointer the object has the
 * name of its request.
 */
#include "binding/rack/hijack.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "binding/ports/executor_state.h"
#include "binding/ports/port.h"
#include "binding/ports/running.h"
#include "binding/ports/writing.h"
#include "binding/rack/env_keys.h"
#include "binding/scheduler/limit.h"
#include "binding/base/module.h"
#include "os/net.h"

static VALUE hijack_class;
static ID id_for_fd, id_ungetbyte, id_spared;

static const rb_data_type_t hijack_type = NB_REQUEST_NAME_TYPE("NeverBlock::Hijack");

VALUE nb_hijack_new(nb_request_name name) { return nb_request_name_new(hijack_class, &hijack_type, name); }

static VALUE socket_class(int fd) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    bool local = getsockname(fd, (struct sockaddr *)&address, &size) == 0 && address.ss_family == AF_UNIX;
    return rb_path2class(local ? "UNIXSocket" : "TCPSocket");
}

static VALUE make_socket(nb_task *task) {
    const nb_handover *handover = task->handover;
    VALUE socket = rb_funcall(socket_class(handover->fd), id_for_fd, 1, INT2NUM(handover->fd));
    task->handover = NULL;
    task->socket = socket;
    rb_ivar_set(socket, id_spared, Qtrue); /* the client's: lib/neverblock/scheduler/sockets.rb */
    VALUE bytes = rb_str_new(handover->bytes, (long)handover->size);
    nb_free((void *)(uintptr_t)handover);
    if (RSTRING_LEN(bytes) > 0) rb_funcall(socket, id_ungetbyte, 1, bytes);
    return socket;
}

static void send_message(nb_task *task, uint16_t type, uint16_t flags) {
    nb_message *message = nb_executor_reserve(task, sizeof(*message));
    *message = (nb_message){
        .type = type, .flags = flags, .bytes = (uint32_t)sizeof(*message), .exchange = task->exchange};
    nb_executor_send(task, sizeof(*message));
}

VALUE nb_hijack_take(nb_task *task) {
    if (task->gone) nb_executor_raise_gone(task);
    if (task->hijack_asked) rb_raise(nb_error_class, "rack.hijack was called before and did not come to its end");
    send_message(task, NB_MESSAGE_HIJACK, 0);
    task->hijack_asked = true;
    nb_executor_wait_hijacked(task);
    VALUE socket = make_socket(task);
    send_message(task, NB_MESSAGE_BODY, NB_PART_LAST);
    task->ended = true;
    /* its deadline ends, and its client's leaving is the application's to see */
    nb_limit_close(&task->limit);
    return socket;
}

/* What makes a close a reset is set on the socket (SO_LINGER), which a child shares. */
void nb_hijack_drop(nb_task *task) {
    if (!task->handover) return;
    nb_net_close(task->handover->fd, !nb_executor_in_child(task->executor));
    nb_free(task->handover);
    task->handover = NULL;
}

/* Messages that the executor had not read yet are in the child's copy of the ring. Those between
   processes have no descriptors: they come by a socket, which Link.after_fork closes. */
static void abandon_messages(nb_port *port) {
    const nb_message *message;
    size_t bytes;
    if (nb_channel_is_shared(port->channel)) return;
    while ((message = nb_ring_peek(&port->requests, &bytes))) {
        if (message->type == NB_MESSAGE_HIJACKED)
            (void)close((int)((const nb_hijacked_message *)(const void *)message)->fd);
        nb_ring_advance(&port->requests);
    }
}

void nb_hijack_abandon(nb_executor *executor) {
    if (executor->abandoned) return;
    executor->abandoned = true;
    for (uint32_t i = 0; i < executor->task_count; i++) {
        nb_hijack_drop(executor->tasks[i]);
    }
    for (uint16_t i = 0; i < executor->port_count; i++) {
        abandon_messages(&executor->ports[i]);
    }
}

/* call -> the client's socket, also in env["rack.hijack_io"]. To be called on the request's thread
   before anything of the response was sent; called again, it returns the same socket. May park the
   fiber. Raises NeverBlock::Error, NeverBlock::ClientGone. */
static VALUE hijack_call(VALUE self) {
    nb_task *task = nb_executor_find_task(rb_check_typeddata(self, &hijack_type));
    if (!task) rb_raise(nb_error_class, "rack.hijack is called in its request, on the thread that runs it");
    if (!NIL_P(task->socket)) return task->socket;
    if (task->head_sent) rb_raise(nb_error_class, "rack.hijack is called before the response has begun");
    VALUE socket = nb_hijack_take(task);
    rb_hash_aset(task->env, nb_env_keys.rack_hijack_io, socket);
    return socket;
}

void nb_hijack_define(VALUE module) {
    id_for_fd = rb_intern("for_fd");
    id_ungetbyte = rb_intern("ungetbyte");
    id_spared = rb_intern("@neverblock_spared");
    hijack_class = rb_define_class_under(module, "Hijack", rb_cObject);
    rb_gc_register_mark_object(hijack_class);
    rb_undef_alloc_func(hijack_class);
    rb_define_method(hijack_class, "call", hijack_call, 0);
}
