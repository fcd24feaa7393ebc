/*
 * named.h - a response whose body is a file that the application has named: by a descriptor (to_path), by a path under the roots that X-Sendfile
 * may name, or by one of those that X-Accel-Redirect means. The application's field lines, status and validators are kept; what the request
 * says of the file holds where the application has left it (binding/rack/response.c). A file that is not there or may not be named is 404, and a
 * line of the log. Loop's thread.
 */
#ifndef NB_ANSWERS_NAMED_H
#define NB_ANSWERS_NAMED_H

#include "intake/message.h"
#include "answers/answers.h"
#include "dispatch/exchange.h"

/* Takes the descriptor. rest: what follows the struct. The exchange has ended then, or waits for the disk and is no executor's any more.
   NB_NO_MEMORY: the connection must be ended. */
nb_status nb_named_answer(nb_answers *answers, nb_exchange *exchange, const nb_named_message *named, const char *rest);

#endif
