/*
 * static.h - files of the served folders (document_roots.h), answered before the application is asked. GET and HEAD alone; whatever names no file there
 * is the application's. Loop's thread.
 *
 * The folders are asked in their order, in each the path itself and, where that is a folder, its index files. A folder asked for without "/" at
 * the end is sent there when it has an index file. Of a file the coding is sent that the request takes best (name.zst, .br, .gz beside it).
 */
#ifndef NB_ANSWERS_STATIC_H
#define NB_ANSWERS_STATIC_H

#include "intake/request.h"
#include "answers/answers.h"
#include "dispatch/exchange.h"

/* What the request log says in the place of a reason. */
#define NB_STATIC_LOGGED "a file"

/* A request whose head is whole, which has no body. */
nb_static_result nb_static_answer(nb_answers *answers, nb_exchange *exchange, const nb_request_facts *facts);

#endif
