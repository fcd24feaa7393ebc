/*
 * static.h - answers GET and HEAD with a file of the served document roots, before the application
 * is asked. A path that names no file there is the application's.
 *
 * The roots are searched in their order: the path itself, then, if that is a folder, its index
 * files. A folder that is requested without a final "/" is redirected if it has an index file. Of a
 * file and its precompressed siblings (name.zst, .br, .gz) the one is sent that the request
 * prefers.
 *
 * Threads: the loop's thread.
 */
#ifndef NB_RESPONSES_STATIC_H
#define NB_RESPONSES_STATIC_H

#include "intake/request.h"
#include "responses/responses.h"
#include "dispatch/exchange.h"

/* The reason in the request log. */
#define NB_STATIC_LOGGED "a file"

/* The request has a complete head and no body. */
nb_static_result nb_static_respond(nb_responses *responses, nb_exchange *exchange, const nb_request_facts *facts);

#endif
