/*
 * tls_none.c - tls.h where the build has found no OpenSSL.
 */
#include "tls/tls.h"

#ifndef NB_HAVE_TLS

void nb_tls_settings_default(nb_tls_settings *settings) { *settings = (nb_tls_settings){0}; }

nb_status nb_tls_context_create(const nb_tls_settings *settings, nb_tls_context **context, nb_tls_error *error) {
    (void)settings, (void)context;
    *error = (nb_tls_error){0};
    return NB_UNSUPPORTED;
}

nb_status nb_tls_context_add(nb_tls_context *context, const nb_slice *names, size_t count, nb_slice chain, nb_slice key,
                             nb_tls_error *error) {
    (void)context, (void)names, (void)count, (void)chain, (void)key;
    *error = (nb_tls_error){0};
    return NB_UNSUPPORTED;
}

nb_status nb_tls_context_add_challenge(nb_tls_context *context, nb_slice name, nb_slice chain, nb_slice key,
                                       nb_tls_error *error) {
    (void)context, (void)name, (void)chain, (void)key;
    *error = (nb_tls_error){0};
    return NB_UNSUPPORTED;
}

nb_tls_context *nb_tls_context_share(nb_tls_context *context) { return context; }

void nb_tls_context_release(nb_tls_context *context) { (void)context; }

const nb_tls_certificate *nb_tls_context_certificates(const nb_tls_context *context, size_t *count) {
    (void)context;
    *count = 0;
    return NULL;
}

bool nb_tls_context_kernel(const nb_tls_context *context) {
    (void)context;
    return false;
}

bool nb_tls_kernel(void) { return false; }

struct ssl_st *nb_tls_context_open(nb_tls_context *context, nb_tls_opening *opening) {
    (void)context, (void)opening;
    return NULL;
}

const char *nb_tls_library(void) { return NULL; }

void nb_tls_tickets_rotate(void) {}

#endif
