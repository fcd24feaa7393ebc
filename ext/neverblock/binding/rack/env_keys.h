/*
 * env_keys.h - the keys of a Rack environment, interned once.
 */
#ifndef NB_BINDING_ENV_KEYS_H
#define NB_BINDING_ENV_KEYS_H

#include <ruby.h>
#include <stddef.h>

#include "http/head.h"

#define NB_KEYS(X)                                      \
    X(request_method, "REQUEST_METHOD")                 \
    X(script_name, "SCRIPT_NAME")                       \
    X(path_info, "PATH_INFO")                           \
    X(request_path, "REQUEST_PATH")                     \
    X(query_string, "QUERY_STRING")                     \
    X(request_uri, "REQUEST_URI")                       \
    X(server_name, "SERVER_NAME")                       \
    X(server_port, "SERVER_PORT")                       \
    X(server_protocol, "SERVER_PROTOCOL")               \
    X(server_software, "SERVER_SOFTWARE")               \
    X(remote_addr, "REMOTE_ADDR")                       \
    X(http_host, "HTTP_HOST")                           \
    X(content_length, "CONTENT_LENGTH")                 \
    X(transfer_encoding, "HTTP_TRANSFER_ENCODING")      \
    X(rack_url_scheme, "rack.url_scheme")               \
    X(ssl_client_verify, "SSL_CLIENT_VERIFY")           \
    X(ssl_client_s_dn, "SSL_CLIENT_S_DN")               \
    X(ssl_client_i_dn, "SSL_CLIENT_I_DN")               \
    X(ssl_client_m_serial, "SSL_CLIENT_M_SERIAL")       \
    X(ssl_client_cert, "SSL_CLIENT_CERT")               \
    X(puma_peercert, "puma.peercert")                   \
    X(https, "HTTPS")                                   \
    X(rack_input, "rack.input")                         \
    X(rack_errors, "rack.errors")                       \
    X(rack_response_finished, "rack.response_finished") \
    X(rack_after_reply, "rack.after_reply")             \
    X(rack_hijack, "rack.hijack")                       \
    X(rack_can_hijack, "rack.hijack?")                  \
    X(rack_hijack_io, "rack.hijack_io")                 \
    X(rack_early_hints, "rack.early_hints")             \
    X(rack_protocol, "rack.protocol")                   \
    X(request_id, "neverblock.request_id")              \
    X(trace_id, "neverblock.trace_id")                  \
    X(time, "neverblock.time")                          \
    X(server_timing, "HTTP_X_SERVER_TIMING")            \
    X(deadline, "neverblock.deadline")                  \
    X(tls, "neverblock.tls")

extern struct nb_env_keys {
#define NB_KEY_FIELD(name, text) VALUE name;
    NB_KEYS(NB_KEY_FIELD)
#undef NB_KEY_FIELD
} nb_env_keys;

/* HTTP_ACCEPT and so on, by nb_field. */
extern VALUE nb_env_field_keys[NB_FIELD_COUNT];

/* Once, before the first environment; again, it does nothing. */
void nb_env_keys_init(void);

/* The longest field name that is up-cased on the stack; head limits allow longer ones. */
#define NB_ENV_NAME_BYTES_MAX 256
/* A field's name as an environment has it: X-Real-Ip is X_REAL_IP. */
void nb_env_upcase_name(char *out, const char *name, size_t size);

#endif
