/*
 * kept_request.h - what is kept of a request that has ended: what it was, how it ended and where
 * its time went. It begins a record of the slowest (slowest.h) and of the observed (observed.h).
 *
 * Pure functions. Times are monotonic nanoseconds.
 */
#ifndef NB_INTAKE_KEPT_REQUEST_H
#define NB_INTAKE_KEPT_REQUEST_H

#include <stdint.h>

#include "intake/account.h"

/* Of a trace id, and its NUL. */
#define NB_KEPT_TRACE_BYTES 40u

typedef struct nb_kept_request {
    uint64_t key;                       /* what it is a class of; never 0 */
    int64_t duration_ns;                /* from when it was complete to the head */
    int64_t ended_ns;                   /* when its fiber was done with it */
    nb_account account;                 /* pointers in it are of no meaning */
    uint16_t route;                     /* number in the table of routes; 0: none */
    uint16_t status;                    /* of the response; 0: none */
    uint32_t extra;                     /* its owner's */
    char line[NB_FIBER_LINE_BYTES + 8]; /* "GET /path", with a NUL */
    char id[NB_FIBER_ID_BYTES + 8];     /* the request's */
    char trace[NB_KEPT_TRACE_BYTES];    /* "": it has no traceparent */
} nb_kept_request;
_Static_assert(sizeof(nb_kept_request) % sizeof(uint64_t) == 0, "records are copied by words");

/* Another process has written it: its texts end, its pointers are none. */
void nb_kept_request_bound(nb_kept_request *request);

#endif
