/*
 * status.c - names and texts of the outcomes, generated from the one list in status.h.
 */
#include "base/status.h"

#include <stddef.h>

#define STATUS_NAME(name, text) #name,
#define STATUS_TEXT(name, text) text,

static const char *const names[] = {NB_STATUS_LIST(STATUS_NAME)};
static const char *const texts[] = {NB_STATUS_LIST(STATUS_TEXT)};

static const size_t count = sizeof names / sizeof names[0];

const char *nb_status_name(nb_status status) { return (size_t)status < count ? names[status] : "NB_UNKNOWN"; }

const char *nb_status_text(nb_status status) { return (size_t)status < count ? texts[status] : "unknown status"; }
