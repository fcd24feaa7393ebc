/*
 * openmetrics.h - /metrics as OpenMetrics 1.0, made of its Prometheus text (0.0.4): families of
 * counters lose `_total`, bounds of buckets are written as floats, buckets have exemplars, and the
 * end is marked. Pure functions.
 */
#ifndef NB_ADMIN_OPENMETRICS_H
#define NB_ADMIN_OPENMETRICS_H

#include <stdbool.h>

#include "base/text.h"
#include "http/head.h"
#include "metrics/exemplars.h"

#define NB_OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Does the request's Accept prefer OpenMetrics, version 1.0.0 or any, to plain text? */
bool nb_openmetrics_wanted(const nb_head *head);

/* Gives the exemplar of a bucket. False: there is none. */
typedef bool nb_exemplar_source(const void *owner, unsigned bucket, nb_exemplar *exemplar);

/* Writes `plain` to `text`. family: the histogram that has the exemplars, with its prefix. */
void nb_openmetrics_write(nb_text *text, nb_slice plain, const char *family, nb_exemplar_source *source,
                          const void *owner);

#endif
