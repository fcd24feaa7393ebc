/*
 * places.c - see places.h.
 */
#include "binding/stalls/places.h"

void nb_places_read(nb_stall_places **places, VALUE rows) {
    ID ours = rb_intern("ours"), application = rb_intern("application");
    nb_stall_places_destroy(*places);
    *places = NULL;
    if (nb_stall_places_create(places) != NB_OK) rb_memerror();
    for (long i = 0; !NIL_P(rows) && i < RARRAY_LEN(rows); i++) {
        VALUE row = rb_ary_entry(rows, i), folder = rb_ary_entry(row, 1), name = rb_ary_entry(row, 2);
        ID owner = rb_sym2id(rb_ary_entry(row, 0));
        nb_stall_owner known = owner == ours          ? NB_STALL_OURS
                               : owner == application ? NB_STALL_APPLICATION
                                                      : NB_STALL_GEM;
        if (nb_stall_places_add(*places, known, StringValueCStr(folder), StringValueCStr(name)) == NB_NO_MEMORY)
            rb_memerror();
    }
}
