/*
 * engine_tls.c - NeverBlock::TLSContext, what a listener serves TLS with (core/tls/tls.h), and the
 * calls by which an engine gets one.
 */
#include "binding/engine/engine_tls.h"

#include <ruby.h>
#include <ruby/thread.h>

#include "binding/base/module.h"
#include "binding/engine/engine.h"
#include "tls/tls.h"

static VALUE refused_class;

static const char *const fault_names[] = {
    [NB_TLS_FAULT_NONE] = "name",         [NB_TLS_FAULT_CERTIFICATE] = "certificate",
    [NB_TLS_FAULT_CHAIN] = "chain",       [NB_TLS_FAULT_KEY] = "key",
    [NB_TLS_FAULT_MISMATCH] = "mismatch", [NB_TLS_FAULT_VERSIONS] = "versions",
    [NB_TLS_FAULT_CIPHERS] = "ciphers",   [NB_TLS_FAULT_SUITES] = "suites",
    [NB_TLS_FAULT_GROUPS] = "groups",     [NB_TLS_FAULT_AUTHORITIES] = "authorities",
};

static void context_free(void *pointer) { nb_tls_context_release(pointer); }

static const rb_data_type_t context_type = {
    .wrap_struct_name = "NeverBlock::TLSContext",
    .function = {.dfree = context_free},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static nb_tls_context *get(VALUE self) {
    nb_tls_context *context;
    TypedData_Get_Struct(self, nb_tls_context, &context_type, context);
    if (!context) rb_raise(nb_error_class, "this TLSContext was not initialized");
    return context;
}

static VALUE context_allocate(VALUE class) { return TypedData_Wrap_Struct(class, &context_type, NULL); }

/* Raises TLSContext::Refused with `fault` and OpenSSL's reason. */
static void check(nb_status status, const nb_tls_error *error) {
    if (status == NB_OK) return;
    if (status != NB_INVALID) nb_raise_status(status, "TLS");
    VALUE message = rb_str_new_cstr(error->detail);
    VALUE refused = rb_exc_new_str(refused_class, message);
    rb_iv_set(refused, "@fault", ID2SYM(rb_intern(fault_names[error->fault])));
    rb_exc_raise(refused);
}

static nb_slice slice_of(VALUE string) { return nb_slice_of(RSTRING_PTR(string), (size_t)RSTRING_LEN(string)); }

/* The conversion runs the caller's code, which may change other arguments. */
static VALUE text(VALUE value) {
    if (!NIL_P(value)) StringValueCStr(value);
    return value;
}

/* value: as text() returned it. */
static const char *text_or(VALUE value, const char *other) { return NIL_P(value) ? other : StringValueCStr(value); }

/* new(version_min, version_max, ciphers, suites, groups, protocols, verify = nil, authorities =
   nil, kernel = nil): nil is the default. protocols: as ALPN sends them, each with a byte of
   length. verify: 0 to 2 (nb_tls_verify). authorities: PEM. kernel: whether the kernel makes
   records where it can. Raises Refused. */
static VALUE context_initialize(int argc, VALUE *argv, VALUE self) {
    VALUE minimum, maximum, ciphers, suites, groups, protocols, verify, authorities, kernel;
    rb_scan_args(argc, argv, "63", &minimum, &maximum, &ciphers, &suites, &groups, &protocols, &verify, &authorities,
                 &kernel);
    nb_tls_settings settings;
    nb_tls_error error;
    nb_tls_context *context = NULL;
    nb_tls_settings_default(&settings);
    if (!NIL_P(minimum)) settings.version_min = (uint16_t)nb_engine_number(minimum, UINT16_MAX, "version_min");
    if (!NIL_P(maximum)) settings.version_max = (uint16_t)nb_engine_number(maximum, UINT16_MAX, "version_max");
    ciphers = text(ciphers);
    suites = text(suites);
    groups = text(groups);
    if (!NIL_P(protocols)) StringValue(protocols);
    if (!NIL_P(verify)) settings.verify = (nb_tls_verify)nb_engine_number(verify, NB_TLS_VERIFY_REQUIRED, "verify");
    if (!NIL_P(authorities)) StringValue(authorities);
    if (!NIL_P(kernel)) settings.kernel = RTEST(kernel);
    if (RTYPEDDATA_DATA(self)) rb_raise(nb_error_class, "this TLSContext was initialized before");
    settings.ciphers = text_or(ciphers, settings.ciphers);
    settings.suites = text_or(suites, settings.suites);
    settings.groups = text_or(groups, settings.groups);
    if (!NIL_P(protocols)) settings.protocols = slice_of(protocols);
    if (!NIL_P(authorities)) settings.authorities = slice_of(authorities);
    check(nb_tls_context_create(&settings, &context, &error), &error);
    RTYPEDDATA_DATA(self) = context;
    RB_GC_GUARD(ciphers);
    RB_GC_GUARD(suites);
    RB_GC_GUARD(groups);
    RB_GC_GUARD(protocols);
    RB_GC_GUARD(authorities);
    return self;
}

#define NAMES_MAX 1024

/* add(names, chain, key) -> self. names: host names; chain, key: PEM, the key without a passphrase.
   Before a listener has it. Raises Refused; then the context cannot be used. */
static VALUE context_add(VALUE self, VALUE names, VALUE chain, VALUE key) {
    nb_slice list[NAMES_MAX];
    nb_tls_error error;
    Check_Type(names, T_ARRAY);
    StringValue(chain);
    StringValue(key);
    size_t count = (size_t)RARRAY_LEN(names);
    if (count > NAMES_MAX) rb_raise(nb_error_class, "a certificate has more than %d names", NAMES_MAX);
    for (size_t i = 0; i < count; i++) {
        VALUE name = rb_ary_entry(names, (long)i);
        Check_Type(name, T_STRING);
        list[i] = slice_of(name);
    }
    check(nb_tls_context_add(get(self), list, count, slice_of(chain), slice_of(key), &error), &error);
    RB_GC_GUARD(names);
    RB_GC_GUARD(chain);
    RB_GC_GUARD(key);
    return self;
}

/* TLSContext.kernel? -> whether this kernel, by the OpenSSL of this build, makes TLS records. */
static VALUE context_kernel_p(VALUE self) {
    (void)self;
    return nb_tls_kernel() ? Qtrue : Qfalse;
}

typedef struct tls_call {
    nb_server *server;
    uint16_t listener;
    nb_tls_context *context;
    nb_status status;
} tls_call;

static void *set_tls(void *argument) {
    tls_call *wanted = argument;
    wanted->status = nb_server_listener_tls(wanted->server, wanted->listener, wanted->context);
    return NULL;
}

/* listener_tls(number, context) -> self: the listener speaks TLS with it. Before the engine starts;
   with another context at any time, for the connections that come from then on. Waits for the
   loop. */
static VALUE engine_listener_tls(VALUE self, VALUE number, VALUE context) {
    uint16_t listener = (uint16_t)nb_engine_number(number, UINT16_MAX, "listener");
    tls_call wanted = {.server = nb_engine_server(self), .listener = listener, .context = get(context)};
    rb_thread_call_without_gvl(set_tls, &wanted, NULL, NULL);
    if (wanted.status != NB_OK) nb_raise_status(wanted.status, "listener_tls");
    RB_GC_GUARD(context);
    return self;
}

/* listeners -> how many were opened. */
static VALUE engine_listeners(VALUE self) { return UINT2NUM(nb_server_listeners(nb_engine_server(self))); }

void nb_engine_tls_define(VALUE engine_class) {
    VALUE class = rb_define_class_under(nb_module, "TLSContext", rb_cObject);
    const char *library = nb_tls_library();
    rb_define_alloc_func(class, context_allocate);
    rb_define_method(class, "initialize", context_initialize, -1);
    rb_define_method(class, "add", context_add, 3);
    rb_define_singleton_method(class, "kernel?", context_kernel_p, 0);
    rb_define_const(class, "LIBRARY", library ? rb_obj_freeze(rb_str_new_cstr(library)) : Qnil);
    refused_class = rb_define_class_under(class, "Refused", nb_error_class);
    rb_define_attr(refused_class, "fault", 1, 0);
    rb_define_method(engine_class, "listener_tls", engine_listener_tls, 2);
    rb_define_method(engine_class, "listeners", engine_listeners, 0);
}
