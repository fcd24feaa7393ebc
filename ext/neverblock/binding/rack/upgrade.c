/*
 * upgrade.c - see upgrade.h.
 */
#include "binding/rack/upgrade.h"

#include <string.h>

#include "binding/base/module.h"
#include "binding/rack/env_keys.h"

static bool is_space(char byte) { return byte == ' ' || byte == '\t'; }

static void push_trimmed(VALUE list, const char *bytes, size_t size) {
    for (; size > 0 && is_space(*bytes); size--)
        bytes++;
    while (size > 0 && is_space(bytes[size - 1]))
        size--;
    if (size > 0) rb_ary_push(list, rb_str_new(bytes, (long)size));
}

VALUE nb_upgrade_protocols(const char *value, size_t size) {
    VALUE list = rb_ary_new();
    const char *comma;
    while ((comma = memchr(value, ',', size))) {
        push_trimmed(list, value, (size_t)(comma - value));
        size -= (size_t)(comma + 1 - value);
        value = comma + 1;
    }
    push_trimmed(list, value, size);
    return list;
}

/* Names of protocols have no case (RFC 9110 section 7.8). */
static bool among(VALUE list, VALUE protocol) {
    for (long i = 0; RB_TYPE_P(list, T_ARRAY) && i < RARRAY_LEN(list); i++) {
        VALUE name = rb_ary_entry(list, i);
        if (!RB_TYPE_P(name, T_STRING) || RSTRING_LEN(name) != RSTRING_LEN(protocol)) continue;
        if (st_locale_insensitive_strncasecmp(RSTRING_PTR(name), RSTRING_PTR(protocol), (size_t)RSTRING_LEN(name)) == 0)
            return true;
    }
    return false;
}

static void check_protocol(const nb_task *task, int status, VALUE protocol) {
    VALUE asked = rb_hash_lookup(task->env, nb_env_keys.rack_protocol);
    if (!RB_TYPE_P(protocol, T_STRING) || !among(asked, protocol))
        rb_raise(nb_error_class,
                 "the response's rack.protocol is one of those that the request asks for, %+" PRIsVALUE
                 "; the application gave %+" PRIsVALUE,
                 asked, protocol);
    if (status != 101 && status / 100 != 2) /* 200 is how HTTP/2 says it */
        rb_raise(nb_error_class, "a response with rack.protocol has status 101; the application gave %d", status);
}

VALUE nb_upgrade_callee(const nb_task *task, int status, VALUE protocol, bool named, VALUE hijack) {
    if (!protocol && RTEST(hijack)) return hijack; /* which says nothing of the protocol */
    if (!task->upgrades)
        rb_raise(nb_error_class,
                 "a response changes the protocol (status 101, or rack.protocol) where its request asks "
                 "for that, by Upgrade and Connection: upgrade; this one does not");
    if (protocol) check_protocol(task, status, protocol);
    if (!protocol && !named)
        rb_raise(nb_error_class, "a response of status 101 names the protocol, in upgrade or rack.protocol");
    if (RTEST(hijack)) return hijack;
    if (!rb_respond_to(task->body, rb_intern("call")))
        rb_raise(nb_error_class,
                 "a response of status 101 has a body that responds to call, or rack.hijack; the application gave "
                 "%+" PRIsVALUE,
                 rb_obj_class(task->body));
    return task->body;
}
