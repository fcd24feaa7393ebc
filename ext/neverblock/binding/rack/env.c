/*
 * env.c - see env.h.
 */
#include "binding/rack/env.h"

#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/io.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "binding/rack/env_keys.h"
#include "binding/rack/hijack.h"
#include "binding/rack/hints.h"
#include "http/head.h"
#include "http/host.h"
#include "http/trace_context.h"
#include "binding/base/module.h"
#include "binding/rack/upgrade.h"

#define COUNT_DIGITS 12

_Static_assert(NB_FIELD_COUNT <= 64, "fields seen are kept in 64 bits");

static VALUE method_values[NB_METHOD_COUNT];
static VALUE http10, http11, http2, slash, empty, port80, port443, localhost, loopback, chunked, http, https, on;

static void init_constants(void) {
    if (http10) return;
    nb_env_keys_init();
    for (int i = 1; i < NB_METHOD_COUNT; i++) {
        nb_slice name = nb_method_name((nb_method)i);
        method_values[i] = nb_constant_string(name.data, name.size);
    }
    http10 = nb_constant_string("HTTP/1.0", 8);
    http2 = nb_constant_string("HTTP/2", 6);
    http11 = nb_constant_string("HTTP/1.1", 8);
    slash = nb_constant_string("/", 1);
    empty = nb_constant_string("", 0);
    chunked = nb_constant_string("chunked", 7);
    port80 = nb_constant_string("80", 2);
    port443 = nb_constant_string("443", 3);
    http = nb_constant_string("http", 4);
    https = nb_constant_string("https", 5);
    on = nb_constant_string("on", 2);
    loopback = nb_constant_string("127.0.0.1", 9);
    localhost = nb_constant_string("localhost", 9);
}

static VALUE server_software(void) {
    VALUE version = rb_const_get(nb_module, rb_intern("VERSION"));
    return rb_obj_freeze(rb_sprintf("neverblock/%" PRIsVALUE, version));
}

static void add_rack2(VALUE template, bool multiprocess) {
    VALUE version = rb_ary_freeze(rb_ary_new_from_args(2, INT2FIX(1), INT2FIX(3)));
    rb_hash_aset(template, rb_str_new_cstr("rack.version"), version);
    rb_hash_aset(template, rb_str_new_cstr("rack.multithread"), Qtrue);
    rb_hash_aset(template, rb_str_new_cstr("rack.multiprocess"), multiprocess ? Qtrue : Qfalse);
    rb_hash_aset(template, rb_str_new_cstr("rack.run_once"), Qfalse);
}

/* Random, so that ids of two processes, or of one before and after a restart, differ. */
static void make_prefix(char *out) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) random = (uint64_t)getpid();
    char digits[17];
    snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)random);
    memcpy(out, digits, NB_REQUEST_ID_PREFIX_BYTES);
    out[NB_REQUEST_ID_PREFIX_BYTES] = '\0';
}

void nb_env_builder_init(nb_env_builder *builder, VALUE rack_errors, bool rack2, bool multiprocess) {
    init_constants();
    VALUE template = rb_hash_new();
    VALUE ordered[] = {nb_env_keys.request_method,   nb_env_keys.script_name,
                       nb_env_keys.path_info,        nb_env_keys.request_path,
                       nb_env_keys.query_string,     nb_env_keys.request_uri,
                       nb_env_keys.server_name,      nb_env_keys.server_port,
                       nb_env_keys.server_protocol,  nb_env_keys.remote_addr,
                       nb_env_keys.server_software,  nb_env_keys.rack_errors,
                       nb_env_keys.rack_url_scheme,  nb_env_keys.rack_input,
                       nb_env_keys.request_id,       nb_env_keys.rack_response_finished,
                       nb_env_keys.rack_after_reply, nb_env_keys.rack_can_hijack,
                       nb_env_keys.rack_hijack};
    for (size_t i = 0; i < sizeof(ordered) / sizeof(*ordered); i++) {
        rb_hash_aset(template, ordered[i], empty);
    }
    rb_hash_aset(template, nb_env_keys.request_method, method_values[NB_METHOD_GET]);
    rb_hash_aset(template, nb_env_keys.server_software, server_software());
    rb_hash_aset(template, nb_env_keys.server_protocol, http11);
    rb_hash_aset(template, nb_env_keys.rack_url_scheme, http);
    rb_hash_aset(template, nb_env_keys.rack_errors, rack_errors);
    rb_hash_aset(template, nb_env_keys.rack_can_hijack, Qtrue);
    if (rack2) add_rack2(template, multiprocess);
    builder->template = template;
    builder->listeners = rb_ary_new();
    builder->secure_listeners = 0;
    builder->secure = false;
    builder->string_io = rb_path2class("StringIO");
    builder->file_class = rb_path2class("NeverBlock::SpooledInput");
    builder->no_input = rb_obj_freeze(rb_class_new_instance(0, NULL, rb_path2class("NeverBlock::NoInput")));
    rb_hash_aset(template, nb_env_keys.rack_input, builder->no_input);
    builder->host.size = builder->address.size = 0;
    make_prefix(builder->request_id_prefix);
}

void nb_env_builder_add_listener(nb_env_builder *builder, const char *address, uint16_t port, bool secure) {
    if (secure) builder->secure_listeners |= UINT64_C(1) << RARRAY_LEN(builder->listeners);
    bool ipv6 = strchr(address, ':') != NULL;
    VALUE name = *address ? rb_sprintf(ipv6 ? "[%s]" : "%s", address) : localhost;
    VALUE number = *address ? rb_sprintf("%u", port) : port80;
    rb_ary_push(builder->listeners, rb_ary_new_from_args(2, rb_obj_freeze(name), rb_obj_freeze(number)));
}

void nb_env_builder_add_accel(nb_env_builder *builder, VALUE mapping) {
    VALUE key = rb_enc_interned_str_cstr("HTTP_X_ACCEL_MAPPING", rb_usascii_encoding());
    rb_hash_aset(builder->template, key, rb_str_new_frozen(mapping));
}

void nb_env_builder_mark(const nb_env_builder *builder) {
    rb_gc_mark(builder->listeners);
    rb_gc_mark(builder->template);
    rb_gc_mark(builder->no_input);
    rb_gc_mark(builder->string_io);
    rb_gc_mark(builder->file_class);
}

static const char *at(const nb_request_message *request, nb_span span) { return (const char *)request + span.offset; }

static VALUE text(const nb_request_message *request, nb_span span) {
    return rb_str_new(at(request, span), (long)span.size);
}

static bool cached(const nb_cached_text *cache, const char *bytes, size_t size) {
    return size > 0 && cache->size == size && memcmp(cache->bytes, bytes, size) == 0;
}

static void remember(nb_cached_text *cache, const char *bytes, size_t size) {
    cache->size = size <= sizeof(cache->bytes) ? size : 0;
    memcpy(cache->bytes, bytes, cache->size);
}

static VALUE frozen_text(const char *bytes, size_t size) { return rb_obj_freeze(rb_str_new(bytes, (long)size)); }

/* A request without Host, or with an empty one: the address it came to. */
static void template_by_listener(nb_env_builder *builder, uint16_t listener) {
    VALUE pair = rb_ary_entry(builder->listeners, listener);
    builder->host.size = 0;
    rb_hash_delete(builder->template, nb_env_keys.http_host);
    rb_hash_aset(builder->template, nb_env_keys.server_name, NIL_P(pair) ? localhost : rb_ary_entry(pair, 0));
    rb_hash_aset(builder->template, nb_env_keys.server_port, NIL_P(pair) ? port80 : rb_ary_entry(pair, 1));
}

static VALUE default_port(const nb_env_builder *builder) { return builder->secure ? port443 : port80; }

/* "t:" has the port that no port means; zeros in front would make a number in base 8 of it
   (Integer("080")). */
static VALUE port_text(const nb_env_builder *builder, const char *port, size_t size) {
    while (size > 1 && *port == '0') {
        port++;
        size--;
    }
    return size ? frozen_text(port, size) : default_port(builder);
}

static void template_by_host(nb_env_builder *builder, const char *host, size_t size) {
    size_t end = nb_host_size(nb_slice_of(host, size));
    VALUE name = end ? frozen_text(host, end) : localhost;
    VALUE port = end < size ? port_text(builder, host + end + 1, size - end - 1) : default_port(builder);
    rb_hash_aset(builder->template, nb_env_keys.http_host, frozen_text(host, size));
    rb_hash_aset(builder->template, nb_env_keys.server_name, name);
    rb_hash_aset(builder->template, nb_env_keys.server_port, port);
    remember(&builder->host, host, size);
}

/* A UNIX socket's peer has no address; it is on this machine. */
static void template_by_peer(nb_env_builder *builder, const char *address, size_t size) {
    VALUE text = size ? frozen_text(address, size) : loopback;
    rb_hash_aset(builder->template, nb_env_keys.remote_addr, text);
    remember(&builder->address, address, size);
}

/* HTTPS is of CGI, where servers set it to "on"; Rack::Request#ssl? reads it too. */
static void template_by_scheme(nb_env_builder *builder, bool secure) {
    builder->secure = secure;
    builder->host.size = 0; /* its port may be another now */
    rb_hash_aset(builder->template, nb_env_keys.rack_url_scheme, secure ? https : http);
    if (secure) {
        rb_hash_aset(builder->template, nb_env_keys.https, on);
    } else {
        rb_hash_delete(builder->template, nb_env_keys.https);
    }
}

/* What is the same in many requests lies in the template, which is copied whole and costs nothing
   there. */
static void update_template(nb_env_builder *builder, const nb_request_message *request) {
    bool secure = builder->secure_listeners >> request->listener & 1;
    if (secure != builder->secure) template_by_scheme(builder, secure);
    const char *host = at(request, request->host), *peer = at(request, request->peer_address);
    if (request->host.size == 0) {
        template_by_listener(builder, request->listener);
    } else if (!cached(&builder->host, host, request->host.size)) {
        template_by_host(builder, host, request->host.size);
    }
    if (!cached(&builder->address, peer, request->peer_address.size)) {
        template_by_peer(builder, peer, request->peer_address.size);
    }
}

/* They tell a middleware where files lie and how to name them, which no client may say
   (CVE-2025-61780, CVE-2026-34830). */
static bool is_for_servers(const char *name, size_t size) {
    nb_slice slice = {name, size};
    return size == 15 && (nb_slice_equal_lower(slice, NB_SLICE("x-sendfile-type")) ||
                          nb_slice_equal_lower(slice, NB_SLICE("x-accel-mapping")));
}

/* The key of a field of type NB_FIELD_OTHER; Qnil: the name must not become a key. */
static VALUE other_key(const char *name, size_t size) {
    char stack[5 + NB_ENV_NAME_BYTES_MAX] = "HTTP_";
    if (size > NB_ENV_NAME_BYTES_MAX || memchr(name, '_', size) || is_for_servers(name, size)) return Qnil;
    nb_env_upcase_name(stack + 5, name, size);
    return rb_enc_interned_str(stack, (long)(5 + size), rb_usascii_encoding());
}

static void join(VALUE env, VALUE key, const nb_request_message *request, nb_span value, const char *separator) {
    VALUE joined = rb_str_dup(rb_hash_aref(env, key));
    rb_str_cat_cstr(joined, separator);
    rb_str_cat(joined, at(request, value), (long)value.size);
    rb_hash_aset(env, key, joined);
}

/* For the log; nginx logs the same as "client sent invalid header line". */
static void note_dropped(nb_env_builder *builder, const char *name, size_t size) {
    if (!memchr(name, '_', size)) return;
    builder->dropped_size = size < sizeof(builder->dropped) ? size : sizeof(builder->dropped);
    memcpy(builder->dropped, name, builder->dropped_size);
}

static void set_other(nb_env_builder *builder, VALUE env, const nb_request_message *request,
                      const nb_request_header *header) {
    VALUE key = other_key(at(request, header->name), header->name.size);
    if (NIL_P(key)) {
        note_dropped(builder, at(request, header->name), header->name.size);
        return;
    }
    if (NIL_P(rb_hash_lookup(env, key))) {
        rb_hash_aset(env, key, text(request, header->value));
    } else {
        join(env, key, request, header->value, ", ");
    }
}

/* Several fields, joined to one value, are invalid too. */
static void set_trace_id(VALUE env) {
    VALUE field = rb_hash_lookup(env, nb_env_field_keys[NB_FIELD_TRACEPARENT]);
    nb_slice id;
    if (nb_trace_context_id(nb_slice_of(RSTRING_PTR(field), (size_t)RSTRING_LEN(field)), &id))
        rb_hash_aset(env, nb_env_keys.trace_id, rb_str_new(id.data, (long)id.size));
    RB_GC_GUARD(field);
}

static void set_headers(nb_env_builder *builder, VALUE env, const nb_request_message *request) {
    uint64_t seen = 0;
    builder->dropped_size = 0;
    for (uint32_t i = 0; i < request->header_count; i++) {
        const nb_request_header *header = &request->headers[i];
        uint64_t bit = UINT64_C(1) << header->field;
        switch (header->field) {
        case NB_FIELD_OTHER:
            set_other(builder, env, request, header);
            continue;
        case NB_FIELD_HOST:
            /* It is in the template, or empty: the authority of an absolute target counts. */
            if (request->host.size == 0) rb_hash_aset(env, nb_env_keys.http_host, text(request, header->value));
            continue;
        case NB_FIELD_TRANSFER_ENCODING: /* the body is decoded, and has its length */
        case NB_FIELD_CONTENT_LENGTH:
            continue;
        default:
            break;
        }
        VALUE key = nb_env_field_keys[header->field];
        if (seen & bit) {
            join(env, key, request, header->value, header->field == NB_FIELD_COOKIE ? "; " : ", ");
        } else {
            rb_hash_aset(env, key, text(request, header->value));
        }
        seen |= bit;
    }
    if (seen & (UINT64_C(1) << NB_FIELD_TRACEPARENT)) set_trace_id(env);
}

static VALUE decimal(uint64_t number) {
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
    return rb_str_new(digits, size);
}

/* A spooled body's file is the application's from here on, at its start. */
static VALUE spooled_input(nb_env_builder *builder, int fd) {
    lseek(fd, 0, SEEK_SET);
    return rb_funcall(builder->file_class, rb_intern("for_fd"), 2, INT2NUM(fd), rb_str_new_cstr("rb"));
}

/* Sets the length, or that the body is in chunks: else nothing would say that there is a body. */
static void set_streamed(VALUE env, const nb_request_message *request) {
    if (request->body_bytes != UINT64_MAX) {
        rb_hash_aset(env, nb_env_keys.content_length, decimal(request->body_bytes));
    } else {
        rb_hash_aset(env, nb_env_keys.transfer_encoding, chunked);
    }
}

/* The body's bytes come with the record; the object that reads them is made later. */
static void note_body(VALUE env, const nb_request_message *request, nb_env_rest *rest) {
    if (!request->has_body) {
        for (uint32_t i = 0; i < request->header_count; i++) { /* Content-Length: 0 is passed on */
            if (request->headers[i].field != NB_FIELD_CONTENT_LENGTH) continue;
            rb_hash_aset(env, nb_env_keys.content_length, text(request, request->headers[i].value));
        }
        return;
    }
    if (request->message.flags & NB_REQUEST_STREAMS) {
        set_streamed(env, request);
        return;
    }
    rest->body_fd = (int)request->body_fd;
    if (rest->body_fd < 0) rest->body = text(request, request->body);
    rb_hash_aset(env, nb_env_keys.content_length, decimal(request->body_bytes));
}

static void set_input(nb_env_builder *builder, VALUE env, nb_env_rest *rest) {
    VALUE input;
    if (rest->body_fd >= 0) {
        input = spooled_input(builder, rest->body_fd);
    } else if (!NIL_P(rest->body)) {
        input = rb_class_new_instance(1, &rest->body, builder->string_io);
    } else {
        return;
    }
    rb_hash_aset(env, nb_env_keys.rack_input, input);
}

static bool is_request_id(const char *bytes, size_t size) {
    if (size == 0 || size > NB_REQUEST_ID_BYTES_MAX) return false;
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (!word) return false;
    }
    return true;
}

/* The builder keeps the id too, for reports on the request. */
static VALUE id_string(nb_env_builder *builder, const char *id, size_t size) {
    memcpy(builder->request_id, id, size);
    builder->request_id[size] = '\0';
    return rb_str_new(id, (long)size);
}

static VALUE request_id(nb_env_builder *builder, const nb_request_message *request) {
    for (uint32_t i = 0; i < request->header_count; i++) {
        const nb_request_header *header = &request->headers[i];
        if (header->field != NB_FIELD_X_REQUEST_ID) continue;
        const char *value = at(request, header->value);
        if (is_request_id(value, header->value.size)) return id_string(builder, value, header->value.size);
    }
    char id[NB_REQUEST_ID_PREFIX_BYTES + COUNT_DIGITS];
    memcpy(id, builder->request_id_prefix, NB_REQUEST_ID_PREFIX_BYTES);
    uint64_t count = ++builder->request_id_count;
    for (size_t i = sizeof(id); i > NB_REQUEST_ID_PREFIX_BYTES; i--) {
        id[i - 1] = "0123456789abcdef"[count & 15];
        count >>= 4;
    }
    return id_string(builder, id, sizeof(id));
}

static void set_line(VALUE env, const nb_request_message *request) {
    if (request->method != NB_METHOD_GET) { /* GET is in the template */
        VALUE method = request->method ? method_values[request->method] : text(request, request->method_text);
        rb_hash_aset(env, nb_env_keys.request_method, method);
    }
    VALUE path = request->path.size ? text(request, request->path) : slash;
    rb_hash_aset(env, nb_env_keys.path_info, path);
    /* Puma's key: what mounts an application changes PATH_INFO alone */
    rb_hash_aset(env, nb_env_keys.request_path, path);
    if (request->query.size) rb_hash_aset(env, nb_env_keys.query_string, text(request, request->query));
    rb_hash_aset(env, nb_env_keys.request_uri, text(request, request->target));
    if (request->minor_version == 0) rb_hash_aset(env, nb_env_keys.server_protocol, http10);
    if (request->minor_version == NB_HTTP_2) rb_hash_aset(env, nb_env_keys.server_protocol, http2);
}

static void set_protocol(VALUE env) {
    VALUE field = rb_hash_lookup(env, nb_env_field_keys[NB_FIELD_UPGRADE]);
    if (NIL_P(field)) return;
    rb_hash_aset(env, nb_env_keys.rack_protocol, nb_upgrade_protocols(RSTRING_PTR(field), (size_t)RSTRING_LEN(field)));
    RB_GC_GUARD(field);
}

/* The next text of those that are in `client`, each with a NUL behind it. */
static VALUE next_text(const char **at, const char *end) {
    const char *begin = *at, *stop = begin < end ? memchr(begin, '\0', (size_t)(end - begin)) : NULL;
    if (!stop) stop = end;
    *at = stop < end ? stop + 1 : end;
    return rb_str_new(begin, stop - begin);
}

/* The client's certificate, by the names of Apache's mod_ssl, which Passenger has too. Puma's key
   has an object; NeverBlock::TLS.peer makes it. */
static void set_client(VALUE env, const nb_request_message *request, nb_env_rest *rest) {
    const char *next = at(request, request->client), *end = next + request->client.size;
    bool shown = *next++ == 'V';
    rb_hash_aset(env, nb_env_keys.ssl_client_verify, rb_str_new_cstr(shown ? "SUCCESS" : "NONE"));
    if (!shown) return;
    rb_hash_aset(env, nb_env_keys.ssl_client_s_dn, next_text(&next, end));
    rb_hash_aset(env, nb_env_keys.ssl_client_i_dn, next_text(&next, end));
    rb_hash_aset(env, nb_env_keys.ssl_client_m_serial, next_text(&next, end));
    rest->certificate = next_text(&next, end);
    rb_hash_aset(env, nb_env_keys.ssl_client_cert, rest->certificate);
}

static void set_certificate(VALUE env, VALUE certificate) {
    VALUE peer = rb_funcall(rb_path2class("NeverBlock::TLS"), rb_intern("peer"), 1, certificate);
    if (!NIL_P(peer)) rb_hash_aset(env, nb_env_keys.puma_peercert, peer);
}

VALUE nb_env_build(nb_env_builder *builder, const nb_request_message *request, nb_env_rest *rest) {
    *rest = (nb_env_rest){.body = Qnil, .certificate = Qnil, .body_fd = -1};
    update_template(builder, request);
    VALUE env = rb_hash_dup(builder->template);
    nb_request_name name = {.executor = builder->executor, .exchange = request->message.exchange};
    set_line(env, request);
    set_headers(builder, env, request);
    note_body(env, request, rest);
    if (request->client.size) set_client(env, request, rest);
    if (request->tls.size) rb_hash_aset(env, nb_env_keys.tls, text(request, request->tls));
    rb_hash_aset(env, nb_env_keys.request_id, request_id(builder, request));
    rb_hash_aset(env, nb_env_keys.rack_response_finished, rb_ary_new());
    rb_hash_aset(env, nb_env_keys.rack_after_reply, rb_ary_new());
    if (request->minor_version == NB_HTTP_2) { /* whose connection is not one request's to take */
        rb_hash_aset(env, nb_env_keys.rack_can_hijack, Qfalse);
        rb_hash_delete(env, nb_env_keys.rack_hijack);
    } else {
        rb_hash_aset(env, nb_env_keys.rack_hijack, nb_hijack_new(name));
    }
    if (request->message.flags & NB_REQUEST_UPGRADES) set_protocol(env);
    if (builder->early_hints && request->minor_version > 0) /* RFC 9110 section 15.2 */
        rb_hash_aset(env, nb_env_keys.rack_early_hints, nb_hints_new(name));
    return env;
}

void nb_env_complete(nb_env_builder *builder, VALUE env, nb_env_rest *rest) {
    set_input(builder, env, rest);
    if (!NIL_P(rest->certificate)) set_certificate(env, rest->certificate);
}
