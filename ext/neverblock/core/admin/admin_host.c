/*
 * admin_host.c - for which hosts the admin pages answer. An address for this machine alone is not
 * safe from web pages: one whose name leads to 127.0.0.1 (DNS rebinding) is of the same origin as
 * the admin pages, and may read them. Its name is in Host, which no page can change. So a loopback
 * address answers for names that no DNS server gives away: IP addresses, localhost, and the name
 * that the server was told to listen at. Other addresses answer for every name.
 */
#include <stdio.h>
#include <string.h>

#include "admin/admin.h"
#include "connection/connection.h"
#include "http/host.h"
#include "loop/loop_state.h"
#include "loop/loops.h"
#include "responses/compose.h"

#define NAME_BYTES_MAX 255

/* address: numeric, in its shortest form; "" for a UNIX socket. */
static bool is_loopback(const char *address) {
    nb_slice text = nb_slice_of(address, strlen(address));
    return nb_slice_begins_with(text, NB_SLICE("127.")) || nb_slice_begins_with(text, NB_SLICE("::ffff:127.")) ||
           nb_slice_equal(text, NB_SLICE("::1"));
}

/* No browser asks DNS for a name of digits and dots (url.spec.whatwg.org, "ends in a number"), nor
   sends an empty one. */
static bool is_ip_address(nb_slice host) {
    if (host.size > 0 && host.data[0] == '[') return true;
    for (size_t i = 0; i < host.size; i++) {
        if ((host.data[i] < '0' || host.data[i] > '9') && host.data[i] != '.') return false;
    }
    return true;
}

/* "localhost" and names under it (RFC 6761 section 6.3). */
static bool is_localhost(nb_slice host) {
    nb_slice name = NB_SLICE("localhost");
    if (host.size < name.size) return false;
    size_t before = host.size - name.size;
    return nb_slice_equal_lower(nb_slice_of(host.data + before, name.size), name) &&
           (before == 0 || host.data[before - 1] == '.');
}

static bool is_own(const nb_admin_side *admin, nb_slice host) {
    return admin->host && nb_slice_equal_lower(host, nb_slice_of(admin->host, admin->host_bytes));
}

bool nb_admin_answers_for(const nb_loop *loop, const nb_exchange *exchange, nb_slice authority) {
    const nb_listener *listener = &loop->listeners[exchange->connection->listener];
    nb_slice host = nb_slice_of(authority.data, nb_host_size(authority));
    if (host.size > 0 && host.data[host.size - 1] == '.') host.size--;
    return !is_loopback(listener->address) || is_ip_address(host) || is_localhost(host) ||
           is_own(&loop->all->admin, host);
}

nb_status nb_admin_refuse_host(nb_loop *loop, nb_exchange *exchange) {
    char reason[NAME_BYTES_MAX + 100];
    const nb_admin_side *admin = &loop->all->admin;
    int size = admin->host_bytes < NAME_BYTES_MAX ? (int)admin->host_bytes : NAME_BYTES_MAX;
    (void)snprintf(reason, sizeof(reason), "the admin pages are for Host localhost%s%.*s, or an IP address",
                   size ? ", " : "", size, size ? admin->host : "");
    return nb_compose_own(&loop->responses, exchange, 421, reason, "");
}
