/*
 * body_writer.h - what a body is written by: the block that an application's `each` is given,
 * and the NeverBlock::Stream that its `call` is given.
 *
 * The application may keep a writer and use it when the response is over, or from another fiber or
 * thread. So what it needs lies in a Ruby object of its own, whose `task` is NULL once the response
 * is over. All functions run in the task's fiber and raise as rack/response_parts.h says.
 */
#ifndef NB_BINDING_BODY_WRITER_H
#define NB_BINDING_BODY_WRITER_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "binding/rack/own_chunks.h"
#include "binding/rack/response_head.h"

typedef struct nb_body_writer {
    nb_task *task;                  /* NULL: the response is over */
    VALUE executor;                 /* keeps the task's memory */
    nb_response_head *gathered;     /* valid while `task` is */
    uint64_t sent;                  /* body bytes */
    bool busy;                      /* inside a write */
    bool write_closed, read_closed; /* the halves of a Stream */
    VALUE input;                    /* of a Stream: rack.input */
    nb_own_chunks own;              /* the body's own chunks */
} nb_body_writer;

/* Makes a writer, an object of this class, for the head's response: gathered->block. */
nb_body_writer *nb_body_writer_open(nb_task *task, nb_response_head *gathered, VALUE class);
/* The writer of the head, if there is one, writes no more. Does not raise. */
void nb_body_writer_close(nb_response_head *gathered);
/* A write begins: sets `busy`, which the caller clears at its end. block: the writer's object.
   Raises NeverBlock::Error on another thread, during another write, and when the response is
   over. */
nb_body_writer *nb_body_writer_enter(VALUE block);

/* Sends a body that responds to `each`, and the head with its first bytes. */
void nb_response_send_each(nb_task *task, nb_response_head *gathered, VALUE body);
/* Sends the head, and calls a body that responds to `call` with a Stream. */
void nb_response_send_called(nb_task *task, nb_response_head *gathered, VALUE body);

/* NeverBlock::Stream. */
void nb_body_writer_define(VALUE module);

#endif
