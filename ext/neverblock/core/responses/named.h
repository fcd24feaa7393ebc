/*
 * named.h - a response whose content is a file that the application has named. It names the file by
 * a descriptor (to_path), by a path under a document root (X-Sendfile), or by a path with a mapped
 * prefix (X-Accel-Redirect). The last may have a query; where no file has such a name, the path is
 * cut at its first "?".
 *
 * Field lines, status and validators of the application are kept. Conditions and ranges of the
 * request apply where the application has left them to the server (binding/rack/response.c). A file
 * that is missing or not allowed is answered 404 and logged.
 *
 * Threads: the loop's thread.
 */
#ifndef NB_RESPONSES_NAMED_H
#define NB_RESPONSES_NAMED_H

#include "intake/message.h"
#include "responses/responses.h"
#include "dispatch/exchange.h"

/* Takes the descriptor. rest: the bytes behind the message's struct. Afterwards the exchange has
 * ended, or it waits for the disk and no longer has an executor. NB_NO_MEMORY: end the
 * connection. */
nb_status nb_named_respond(nb_responses *responses, nb_exchange *exchange, const nb_named_message *named,
                           const char *rest);

#endif
