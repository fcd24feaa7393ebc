/*
 * message.c - see message.h.
 */
#include "intake/message.h"

#include "os/net.h"

bool nb_named_message_fits(const nb_named_message *named, size_t bytes) {
    uint64_t rest = (uint64_t)named->response.fields_bytes + named->path_bytes + named->id_bytes + named->request_bytes;
    return bytes >= sizeof(*named) && rest == bytes - sizeof(*named) && named->path_bytes <= NB_NAMED_PATH_BYTES_MAX &&
           named->id_bytes <= NB_REPORT_ID_BYTES_MAX + 1 && named->naming <= NB_NAMED_ACCEL;
}

void nb_named_message_drop(const nb_named_message *named) {
    if (named->naming == NB_NAMED_OPEN) nb_net_close((int)named->fd, false);
}
