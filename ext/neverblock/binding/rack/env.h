/*
 * env.h - a request message as a Rack environment (Rack SPEC 3.1 and 2.2).
 *
 * A template with every constant key is copied, and the request's own keys are set. Names and
 * common values are interned once. A header field whose name has an underscore is dropped, as
 * X_Forwarded_For would stand in for X-Forwarded-For; the builder keeps its name for the log.
 * Fields that come several times are joined by ", ", cookies by "; ".
 *
 * A builder belongs to one executor and runs on its thread, with the GVL.
 */
#ifndef NB_BINDING_ENV_H
#define NB_BINDING_ENV_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/head.h"
#include "intake/message.h"

#define NB_CACHED_TEXT_BYTES 128
/* With 12 digits of a count an id has 22 bytes: Ruby keeps strings of up to 23 in the object itself
   (RString). */
#define NB_REQUEST_ID_PREFIX_BYTES 10
#define NB_REQUEST_ID_BYTES_MAX 128
/* Bytes of a dropped field's name that the log shows. */
#define NB_DROPPED_BYTES 64

/* The last value of something that seldom changes from request to request. */
typedef struct nb_cached_text {
    char bytes[NB_CACHED_TEXT_BYTES];
    size_t size; /* 0: nothing is remembered */
} nb_cached_text;

typedef struct nb_env_builder {
    VALUE template;
    VALUE no_input; /* rack.input of requests without a body */
    VALUE string_io, file_class;
    bool early_hints;  /* rack.early_hints is there */
    uint64_t executor; /* the number of the executor */
    /* [[name, port], ...]: SERVER_NAME and SERVER_PORT of a request without Host */
    VALUE listeners;
    uint64_t secure_listeners; /* a bit for each that speaks TLS */
    bool secure;               /* of the request before: the template has its scheme */
    /* of the request before; the template has its HTTP_HOST, SERVER_NAME, SERVER_PORT */
    nb_cached_text host;
    nb_cached_text address; /* likewise, REMOTE_ADDR */
    char request_id_prefix[NB_REQUEST_ID_PREFIX_BYTES + 1];
    uint64_t request_id_count;
    char request_id[NB_REQUEST_ID_BYTES_MAX + 1]; /* of the request before */
    /* the last name with an underscore of the request before */
    char dropped[NB_DROPPED_BYTES];
    size_t dropped_size; /* 0: it had none */
} nb_env_builder;

/* rack_errors: env["rack.errors"]. rack2: adds what Rack 2.2 asks for. multiprocess: the value of
   rack.multiprocess. */
void nb_env_builder_init(nb_env_builder *builder, VALUE rack_errors, bool rack2, bool multiprocess);
/* Adds the next listener, by its number: its address ("" for a UNIX socket), its port, and whether
   it speaks TLS. */
void nb_env_builder_add_listener(nb_env_builder *builder, const char *address, uint16_t port, bool secure);
/* Sets HTTP_X_ACCEL_MAPPING, by which Rack::Sendfile finds what X-Accel-Redirect means here:
   "/folder/=/prefix/,...". */
void nb_env_builder_add_accel(nb_env_builder *builder, VALUE mapping);
void nb_env_builder_mark(const nb_env_builder *builder);
/* What methods of Ruby have to make of a request. It stands on the fiber's stack. */
typedef struct nb_env_rest {
    VALUE body;        /* a String for rack.input, or nil */
    VALUE certificate; /* of the client, as PEM, or nil */
    int body_fd;       /* of a spooled body; -1: none */
} nb_env_rest;

/* Builds all of the environment that needs the request's record. No method of Ruby is called, so
   that the fiber cannot park meanwhile. Raises only NoMemoryError. */
VALUE nb_env_build(nb_env_builder *builder, const nb_request_message *request, nb_env_rest *rest);
/* Adds the rest. The fiber may park. The descriptor of a spooled body is the environment's from now
   on. Raises what StringIO.new and File.for_fd raise. */
void nb_env_complete(nb_env_builder *builder, VALUE env, nb_env_rest *rest);

#endif
