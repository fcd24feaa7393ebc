/*
 * heap.h - when Ruby collects garbage, for one scheduler. Room in Ruby's heap is made for many
 * parked fibers (NeverBlock::Heap.fill and .count_malloc, lib/neverblock/scheduler/heap.rb). What a
 * long computation allocates beside its objects is left uncounted. Collections are put off while a
 * computation keeps much, and one is made when it is over. All functions take the GVL.
 */
#ifndef NB_BINDING_HEAP_H
#define NB_BINDING_HEAP_H

#include <ruby.h>
#include <stdbool.h>
#include <stddef.h>

#include "os/clock.h"

/* Parked fibers that Ruby's heap is taken to have room for from the start. */
#define NB_ROOM_FOR_MIN 128
/* Whether collections are put off for a scheduler's fibers; so long it may sleep then. */
#define NB_HEAP_WAITS_NS (20 * NB_NS_PER_MS)
/* A request that has computed for so long may keep much. */
#define NB_HEAP_LONG_NS (20 * NB_NS_PER_MS)

typedef struct nb_heap {
    size_t room_for;     /* fibers that Ruby's heap was given room for, at least */
    bool collection_due; /* a long request has left much behind */
    /* half done, of those that were told of as long (nb_heap_request_long) */
    unsigned long_requests;
} nb_heap;

/* The job calls this while a fiber computes. What the fiber has allocated beside objects since the
   last collection is not counted, up to a bound, so that objects alone call for the next. Else Ruby
   collects at once when 16 to 32 MB are counted, and first finishes what it marks and sweeps bit by
   bit (gc.c, objspace_malloc_increase). Once a collection has walked much that the fiber keeps, the
   next ones are put off until its request is over, up to a bound: they would walk it all again, and
   have it grow old. Raises nothing. True: call it again in a millisecond. */
bool nb_heap_computes(const nb_heap *heap);
/* Nothing is put off any more for these fibers. For the end of a request, after a while in which
   nothing has happened, when the scheduler goes away, and in the child of a fork. */
void nb_heap_let_collect(const nb_heap *heap);
bool nb_heap_waits(const nb_heap *heap);
/* A source is attached. Before the first, nothing is a request's. */
void nb_heap_attached(void);
/* Between two fibers, in the loop fiber. Makes room in Ruby's heap for twice as many parked fibers,
   where more are parked than there is room for. And when a long request is over
   (nb_heap_request_over), and none is half done, collects what is young, swept bit by bit as it is
   needed: what the request has made is garbage by then. A later collection would come in the middle
   of the next such request, and walk all that that one keeps. Garbage would grow old meanwhile,
   which only collections of all objects free. some_preempted: there are preempted fibers. Returns
   the tag of what was raised from outside meanwhile, with its error info; mostly 0. */
int nb_heap_turn(nb_heap *heap, size_t parked, bool some_preempted);

/* A request has computed for NB_HEAP_LONG_NS; nb_heap_request_over is told when it is over.
   Meanwhile collections are put off where it keeps much. When any preempted request is over, and no
   long one is half done, the loop collects what it has left, where that is much. collections:
   rb_gc_count() when the request began. GVL. Raise nothing. */
void nb_heap_request_long(nb_heap *heap, size_t collections);
void nb_heap_request_over(nb_heap *heap, bool was_long);

void nb_heap_define(VALUE module);

#endif
