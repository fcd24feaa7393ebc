/*
 * host.h - the grammar of an authority: uri-host [":" port] (RFC 9110 section 7.2, RFC 3986 section
 * 3.2.2). Pure functions.
 */
#ifndef NB_HTTP_HOST_H
#define NB_HTTP_HOST_H

#include <stdbool.h>

#include "base/slice.h"
#include "http/compliance.h"

typedef enum nb_port_rule { NB_PORT_OPTIONAL, NB_PORT_REQUIRED } nb_port_rule;

/*
 * Valid: a registered name or IPv4 address (unreserved, %HH, sub-delims except the comma), or an IP
 * literal in brackets; then optionally a colon and a port of one to five digits, at most 65535. Not
 * valid: an empty host, user information, a colon without a port.
 */
bool nb_host_is_valid(nb_slice authority, nb_port_rule port);
/*
 * For an invalid authority whose port is optional. NB_COMPLIANCE_COMMON accepts a colon without a
 * port (RFC 3986 section 3.2.3). NB_COMPLIANCE_LENIENT accepts commas and bytes over 0x7f in a
 * name, an IPv6 zone (RFC 6874, or as typed), and leading zeros of a port.
 */
bool nb_host_is_tolerated(nb_slice authority, nb_compliance compliance);
/* Bytes of the host, without its port. authority: valid. */
size_t nb_host_size(nb_slice authority);

#endif
