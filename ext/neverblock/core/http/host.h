/*
 * host.h - the grammar of an authority: uri-host [":" port] (RFC 9110 section 7.2, RFC 3986 section 3.2.2).
 */
#ifndef NB_HTTP_HOST_H
#define NB_HTTP_HOST_H

#include <stdbool.h>

#include "base/slice.h"
#include "http/compliance.h"

typedef enum nb_port_rule { NB_PORT_OPTIONAL, NB_PORT_REQUIRED } nb_port_rule;

/*
 * A registered name or IPv4 address (unreserved, %HH, sub-delims but the comma), or an IP literal in brackets; then,
 * after a colon, a port of one to five digits, at most 65535. An empty host, user information and a colon without a
 * port are not valid here.
 */
bool nb_host_is_valid(nb_slice authority, nb_port_rule port);
/*
 * For what is not valid, where the port is optional. Unless strict a colon may stand without a port (RFC 3986 section
 * 3.2.3). Lenient: a name may have commas and bytes over 0x7f, an IPv6 address a zone (RFC 6874, or as typed), a port more
 * zeros in front.
 */
bool nb_host_is_tolerated(nb_slice authority, nb_compliance compliance);
/* Where the host ends: at the colon of its port, else at the end. authority: valid. */
size_t nb_host_size(nb_slice authority);

#endif
