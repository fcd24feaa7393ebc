/*
 * shown_request.h - requests that have ended (intake/kept_request.h), as /slowest.json and
 * /observed.json show them.
 */
#ifndef NB_ADMIN_SHOWN_REQUEST_H
#define NB_ADMIN_SHOWN_REQUEST_H

#include <stdint.h>

#include "base/text.h"
#include "dispatch/dispatch.h"
#include "dispatch/routes.h"
#include "intake/kept_request.h"

struct nb_loop;

/* A record that may be shown. */
typedef struct nb_shown_candidate {
    const nb_dispatch_channel *channel;
    uint64_t key;
    int64_t duration_ns, ended_ns;
    uint32_t record;
    uint32_t rank; /* among those of its key */
} nb_shown_candidate;

typedef struct nb_shown_candidates {
    nb_shown_candidate *all;
    uint32_t count, room;
} nb_shown_candidates;

/* Makes room for so many records of each executor. False: there is no memory. */
bool nb_shown_candidates_init(nb_shown_candidates *candidates, const struct nb_loop *loop, uint32_t each);
void nb_shown_candidates_deinit(nb_shown_candidates *candidates);
/* Adds one, unless there are more executors than are looked at. */
void nb_shown_candidates_add(nb_shown_candidates *candidates, nb_shown_candidate candidate);
/* Calls it for each executor that there is. */
void nb_shown_each_executor(const struct nb_loop *loop, void (*call)(void *owner, const nb_dispatch_channel *channel),
                            void *owner);

/* Members of an object: id, trace_id, method, path, route or class, status. */
void nb_shown_request_words(nb_text *text, const nb_routes *routes, const nb_kept_request *request);
/* When it ended and where its time went. now_ns, wall_ns: both clocks' now. */
void nb_shown_request_times(nb_text *text, const nb_kept_request *request, int64_t now_ns, int64_t wall_ns);
/* wait_s, and how many waits there were of each kind, under the name `counts`. */
void nb_shown_request_kinds(nb_text *text, const nb_account *account, const char *counts);

/* A wait's members start_s, for_s, turn_s. ready_ns 0: that is not known. */
void nb_shown_wait_times(nb_text *text, int64_t taken_ns, int64_t began_ns, int64_t ready_ns, int64_t ended_ns);

/* A member, unless the value is empty. */
void nb_shown_text(nb_text *text, const char *name, const char *value);

#endif
