/*
 * kept_request.c - see kept_request.h.
 */
#include "intake/kept_request.h"

void nb_kept_request_bound(nb_kept_request *request) {
    request->account.waterfall = NULL;
    request->line[sizeof(request->line) - 1] = request->id[sizeof(request->id) - 1] = '\0';
    request->trace[sizeof(request->trace) - 1] = '\0';
}
