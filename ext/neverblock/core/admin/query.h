/*
 * query.h - parameters of a request's query, "name=value&name". Nothing is decoded: values of the
 * admin pages are words and numbers.
 */
#ifndef NB_ADMIN_QUERY_H
#define NB_ADMIN_QUERY_H

#include <stdbool.h>

#include "base/slice.h"

/* The first parameter of this name; without "=" its value is empty. False: there is none. */
bool nb_query_parameter(nb_slice query, const char *name, nb_slice *value);

#endif
