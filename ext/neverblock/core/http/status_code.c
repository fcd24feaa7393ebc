/*
 * status_code.c - see status_code.h.
 */
#include "http/status_code.h"

nb_slice nb_status_phrase(uint16_t status) {
    switch (status) {
#define PHRASE_CASE(code, phrase) \
    case code:                    \
        return NB_SLICE(phrase);
        NB_HTTP_STATUS_LIST(PHRASE_CASE)
#undef PHRASE_CASE
    default:
        return (nb_slice){"", 0};
    }
}
