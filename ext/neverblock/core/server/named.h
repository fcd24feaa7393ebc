/*
 * named.h - a response whose body is a file that the application has named: by a descriptor (to_path), by a path under the roots that X-Sendfile
 * may name, or by one of those that X-Accel-Redirect means. The application's field lines, status and validators are kept; what the request
 * says of the file holds where the application has left it (binding/rack/response.c). A file that is not there or may not be named is 404, and a
 * line of the log. Loop's thread.
 */
#ifndef NB_SERVER_NAMED_H
#define NB_SERVER_NAMED_H

#include "intake/message.h"
#include "server/exchange.h"

struct nb_loop;

/* Takes the descriptor. rest: what follows the struct. The exchange has ended then, or waits for the disk and is no executor's any more.
   NB_NO_MEMORY: the connection must be ended. */
nb_status nb_named_answer(struct nb_loop *loop, nb_exchange *exchange, const nb_named_message *named, const char *rest);
/* Nobody waits for it: closes its descriptor. */
void nb_named_drop(const nb_named_message *named);
/* Whether the lengths of what follows the struct fit a record of `bytes`. */
bool nb_named_fits(const nb_named_message *named, size_t bytes);

#endif
