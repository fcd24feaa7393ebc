/*
 * proxy_header.h - the header of the PROXY protocol, versions 1 and 2 (HAProxy,
 * proxy-protocol.txt). A proxy that passes on bytes begins a connection with it, to tell whose
 * connection it is. Pure. Any thread.
 */
#ifndef NB_TRANSPORT_PROXY_HEADER_H
#define NB_TRANSPORT_PROXY_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"
#include "base/status.h"
#include "os/net.h"

/* Of a whole header. Version 1 has at most 107 bytes. Version 2 has 52 for IPv6, and 232 for UNIX
 * sockets, before its additional fields (TLV). */
#define NB_PROXY_HEADER_BYTES_MAX 4096u

typedef struct nb_proxy_header {
    size_t size;     /* bytes; the client's bytes follow */
    bool has_client; /* false: UNKNOWN, LOCAL or UNSPEC, the proxy speaks for itself */
    nb_peer client;  /* an empty address: a UNIX socket */
} nb_proxy_header;

/* Reads a header at the beginning of `bytes`. Additional fields are skipped. NB_INCOMPLETE: all of
 * `bytes` belong to the header, and more of it follow. NB_INVALID: this is no header.
 * NB_OVER_LIMIT: it has more than NB_PROXY_HEADER_BYTES_MAX bytes. */
nb_status nb_proxy_header_parse(nb_slice bytes, nb_proxy_header *header);

#endif
