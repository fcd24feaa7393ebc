/*
 * static.h - files of the served folders (site.h), answered before the application is asked. GET and HEAD alone; whatever names no file there
 * is the application's. Loop's thread.
 *
 * The folders are asked in their order, in each the path itself and, where that is a folder, its index files. A folder asked for without "/" at
 * the end is sent there when it has an index file. Of a file the coding is sent that the request takes best (name.zst, .br, .gz beside it).
 */
#ifndef NB_SERVER_STATIC_H
#define NB_SERVER_STATIC_H

#include "intake/request.h"
#include "dispatch/exchange.h"

struct nb_loop;

/* What the request log says in the place of a reason. */
#define NB_STATIC_LOGGED "a file"

typedef enum nb_static {
    NB_STATIC_NONE,     /* it is the application's request */
    NB_STATIC_ANSWERED, /* the exchange has ended */
    NB_STATIC_WAITS,    /* for the disk: it will be answered, or given to the application, in a later turn */
    NB_STATIC_BUSY,     /* neither descriptors nor room for another that waits: 503 */
    NB_STATIC_FAILED,   /* out of memory: the connection must be ended */
} nb_static;

/* A request whose head is whole, which has no body. */
nb_static nb_static_answer(struct nb_loop *loop, nb_exchange *exchange, const nb_request_facts *facts);

#endif
