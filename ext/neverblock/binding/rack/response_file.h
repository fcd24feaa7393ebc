/*
 * response_file.h - a response whose body is a file: named by X-Sendfile or X-Accel-Redirect, or by
 * the body's to_path. The I/O loop sends it (responses/named.h).
 *
 * Both functions run in the task's fiber, end the response, and raise as rack/response_parts.h
 * says.
 */
#ifndef NB_BINDING_RESPONSE_FILE_H
#define NB_BINDING_RESPONSE_FILE_H

#include <ruby.h>
#include <stdbool.h>

#include "binding/rack/response_head.h"

/* Sends the head with the path that it names. The loop looks whether there is such a file, and
   answers 404 where there is none. The application's Content-Length is dropped: it is that of the
   body that is not sent. Raises NeverBlock::Error for a path that is too long. */
void nb_response_send_path(nb_task *task, nb_response_head *gathered);
/* Opens and sends the file that the body's to_path names. False: there is none that is a regular
   file, and the body must be read by `each`. Raises NeverBlock::Error when the file is shorter than
   Content-Length says, and what to_path raises. */
bool nb_response_send_file(nb_task *task, nb_response_head *gathered, VALUE body);

#endif
