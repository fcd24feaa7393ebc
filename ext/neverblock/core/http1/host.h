/*
 * host.h - the grammar of an authority: uri-host [":" port] (RFC 9110 section 7.2, RFC 3986 section 3.2.2). Private to
 * http1.
 */
#ifndef NB_HTTP1_HOST_H
#define NB_HTTP1_HOST_H

#include <stdbool.h>

#include "base/slice.h"

typedef enum nb_port_rule { NB_PORT_OPTIONAL, NB_PORT_REQUIRED } nb_port_rule;

/*
 * A registered name or IPv4 address (unreserved, %HH, sub-delims but the comma), or an IP literal in brackets; then,
 * after a colon, a port of one to five digits, at most 65535. An empty host, user information and a colon without a
 * port are not valid here.
 */
bool nb_host_is_valid(nb_slice authority, nb_port_rule port);

#endif
