/*
 * places.h - whose code lies in which folder (stall/stall_places.h), as Ruby gathers it.
 */
#ifndef NB_BINDING_PLACES_H
#define NB_BINDING_PLACES_H

#include <ruby.h>

#include "stall/stall_places.h"

/* rows: [[:ours | :application | :gem, folder, name], ...] or nil. places: NULL, or some that are
   replaced; owned by the caller, also when this raises. Raises NoMemoryError. */
void nb_places_read(nb_stall_places **places, VALUE rows);

#endif
