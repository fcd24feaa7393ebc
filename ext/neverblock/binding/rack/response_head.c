/*
 * response_head.c - see response_head.h.
 */
#include "binding/rack/response_head.h"

#include <string.h>

#include "base/alloc.h"
#include "binding/base/module.h"
#include "metrics/reports.h"
#include "http/head.h"

/* A larger buffer is not kept for the next head. */
#define SCRATCH_BYTES_MAX 65536

/* Most names of one response that are told. */
#define LEFT_OUT_MAX 8

void nb_response_head_take(nb_executor *executor, nb_response_head *gathered) {
    gathered->bytes = executor->scratch;
    gathered->capacity = executor->scratch ? executor->scratch_bytes : 0;
    executor->scratch = NULL;
}

void nb_response_head_give_back(nb_executor *executor, nb_response_head *gathered) {
    if (executor->scratch || gathered->capacity > SCRATCH_BYTES_MAX) {
        nb_free(gathered->bytes);
    } else {
        executor->scratch = gathered->bytes;
        executor->scratch_bytes = gathered->capacity;
    }
    gathered->bytes = NULL;
    gathered->size = gathered->capacity = 0;
}

void nb_response_head_add(nb_response_head *gathered, const char *bytes, size_t size) {
    if (size == 0) return;
    if (gathered->size + size > NB_RESPONSE_FIELDS_BYTES_MAX) {
        rb_raise(nb_error_class, "the response's header fields have more than %u bytes", NB_RESPONSE_FIELDS_BYTES_MAX);
    }
    if (gathered->size + size > gathered->capacity) {
        size_t capacity = gathered->capacity ? gathered->capacity * 2 : 1024;
        while (capacity < gathered->size + size) {
            capacity *= 2;
        }
        char *larger = nb_realloc(gathered->bytes, capacity);
        if (!larger) rb_memerror();
        gathered->bytes = larger;
        gathered->capacity = capacity;
    }
    memcpy(gathered->bytes + gathered->size, bytes, size);
    gathered->size += size;
}

static bool is_line_of(nb_slice line, nb_slice lower) {
    return line.size > lower.size && line.data[lower.size] == ':' &&
           nb_slice_equal_lower((nb_slice){line.data, lower.size}, lower);
}

void nb_response_head_remove(nb_response_head *gathered, nb_slice lower) {
    size_t kept = 0, at = 0;
    while (at < gathered->size) {
        const char *begin = gathered->bytes + at, *end = memchr(begin, '\n', gathered->size - at);
        size_t size = (size_t)(end + 1 - begin);
        if (!is_line_of((nb_slice){begin, size}, lower)) {
            memmove(gathered->bytes + kept, begin, size);
            kept += size;
        }
        at += size;
    }
    gathered->size = kept;
}

static uint64_t parse_content_length(nb_slice value) {
    uint64_t number = 0;
    bool valid = value.size > 0 && value.size <= 18;
    for (size_t i = 0; i < value.size && valid; i++) {
        valid = value.data[i] >= '0' && value.data[i] <= '9';
        number = number * 10 + (uint64_t)(value.data[i] - '0');
    }
    if (!valid)
        rb_raise(nb_error_class, "Content-Length must be a decimal number, the application gave %+" PRIsVALUE,
                 rb_str_new(value.data, (long)value.size));
    return number;
}

static bool begins_with(nb_slice value, nb_slice lower) {
    return value.size >= lower.size && nb_slice_equal_lower((nb_slice){value.data, lower.size}, lower);
}

static bool names(nb_slice value, nb_slice lower) {
    for (size_t i = 0; i + lower.size <= value.size; i++) {
        if (nb_slice_equal_lower((nb_slice){value.data + i, lower.size}, lower)) return true;
    }
    return false;
}

/* The field is taken out of the response, whatever it names. */
static void take_name(nb_response_head *gathered, nb_naming naming, nb_slice value) {
    if (value.size == 0) return;
    gathered->naming = (uint16_t)naming;
    gathered->path = rb_str_new(value.data, (long)value.size);
}

/* The loop judges the id. An id that is too long arrives there as one. */
static void take_id(nb_response_head *gathered, nb_slice value) {
    size_t size = value.size <= NB_REPORT_ID_BYTES_MAX ? value.size : NB_REPORT_ID_BYTES_MAX + 1;
    gathered->id = size ? rb_str_new(value.data, (long)size) : Qfalse;
}

/* Takes a field that the server sets or reads itself. True: its line is left out of the
   response. */
static bool take_own(nb_response_head *gathered, nb_slice name, nb_slice value) {
    switch (name.size) {
    case 4:
        if (nb_slice_equal_lower(name, NB_SLICE("date"))) gathered->flags |= NB_RESPONSE_HAS_DATE;
        return false;
    case 6: /* Rack 2 applications may give it; the status is the first element of the response */
        return nb_slice_equal_lower(name, NB_SLICE("status"));
    case 7:
        if (nb_slice_equal_lower(name, NB_SLICE("upgrade"))) gathered->upgrade_named = true;
        return false;
    case 10:
        if (nb_slice_equal_lower(name, NB_SLICE("keep-alive"))) return true;
        if (gathered->named && nb_slice_equal_lower(name, NB_SLICE("x-sendfile"))) {
            take_name(gathered, NB_NAMED_SENDFILE, value);
            return true;
        }
        if (!nb_slice_equal_lower(name, NB_SLICE("connection"))) return false;
        if (names(value, NB_SLICE("close"))) gathered->flags |= NB_RESPONSE_CLOSE;
        return true;
    case 12:
        if (nb_slice_equal_lower(name, NB_SLICE("content-type")))
            gathered->events = begins_with(value, NB_SLICE("text/event-stream"));
        return false;
    case 13:
        if (nb_slice_equal_lower(name, NB_SLICE("content-range"))) gathered->ranged = true;
        if (nb_slice_equal_lower(name, NB_SLICE("accept-ranges")))
            gathered->unranged = nb_slice_equal_lower(value, NB_SLICE("none"));
        if (!nb_slice_equal_lower(name, NB_SLICE("x-download-id"))) return false;
        take_id(gathered, value);
        return true;
    case 14:
        if (!nb_slice_equal_lower(name, NB_SLICE("content-length"))) return false;
        gathered->content_length = parse_content_length(value);
        gathered->flags |= NB_RESPONSE_HAS_LENGTH;
        return true;
    case 16:
        if (!gathered->accelerated || !nb_slice_equal_lower(name, NB_SLICE("x-accel-redirect"))) return false;
        take_name(gathered, NB_NAMED_ACCEL, value);
        return true;
    case 17:
        if (!nb_slice_equal_lower(name, NB_SLICE("transfer-encoding"))) return false;
        gathered->encoded = true;
        if (names(value, NB_SLICE("chunked"))) gathered->chunked = true;
        return true;
    default:
        return false;
    }
}

static void add_line(nb_response_head *gathered, nb_slice value) {
    nb_slice name = {RSTRING_PTR(gathered->name), (size_t)RSTRING_LEN(gathered->name)};
    if (!nb_is_field_value(value)) {
        rb_raise(nb_error_class,
                 "the value of the response's header field %+" PRIsVALUE " has control characters: %+" PRIsVALUE,
                 gathered->name, rb_str_new(value.data, (long)value.size));
    }
    if (take_own(gathered, name, value)) return;
    nb_response_head_add(gathered, name.data, name.size);
    nb_response_head_add(gathered, ": ", 2);
    nb_response_head_add(gathered, value.data, value.size);
    nb_response_head_add(gathered, "\r\n", 2);
}

/* Rack 2 joins several values of one field by newlines. In Rack 3 a newline is a control character.
   Set-Cookie is an exception, for applications that were written for Rack 2. */
static bool is_joined(const nb_response_head *gathered) {
    return gathered->rack2 || nb_slice_equal_lower(nb_string_slice(gathered->name), NB_SLICE("set-cookie"));
}

static void add_text(nb_response_head *gathered, VALUE value) {
    bool joined = is_joined(gathered);
    const char *bytes = RSTRING_PTR(value);
    size_t size = (size_t)RSTRING_LEN(value);
    const char *end;
    while (joined && (end = memchr(bytes, '\n', size))) {
        add_line(gathered, (nb_slice){bytes, (size_t)(end - bytes)});
        size -= (size_t)(end + 1 - bytes);
        bytes = end + 1;
    }
    add_line(gathered, (nb_slice){bytes, size});
}

/* Fields that mean something to the server: without a value they are none. */
static const char *const servers_own[] = {
    "status",           "date",          "connection",     "keep-alive",        "upgrade",       "x-sendfile",
    "x-accel-redirect", "x-download-id", "content-length", "transfer-encoding", "content-range",
};

/* nil is no value by Rack's SPEC. Other servers send the field with an empty one, and clients may
   look for its name. */
static void add_empty(nb_response_head *gathered) {
    nb_slice name = nb_string_slice(gathered->name);
    for (size_t i = 0; i < sizeof servers_own / sizeof *servers_own; i++) {
        if (nb_slice_equal_lower(name, nb_slice_of(servers_own[i], strlen(servers_own[i])))) return;
    }
    add_line(gathered, NB_SLICE(""));
}

void nb_response_head_add_value(nb_response_head *gathered, VALUE value) {
    if (NIL_P(value)) {
        add_empty(gathered);
        return;
    }
    VALUE string = rb_obj_as_string(value);
    add_text(gathered, string);
    RB_GC_GUARD(string);
}

static void add_values(nb_response_head *gathered, VALUE value) {
    if (!RB_TYPE_P(value, T_ARRAY)) {
        nb_response_head_add_value(gathered, value);
        return;
    }
    for (long i = 0; i < RARRAY_LEN(value); i++) {
        VALUE element = rb_ary_entry(value, i);
        if (RB_TYPE_P(element, T_ARRAY)) {
            rb_raise(nb_error_class, "the value of the response's header field %+" PRIsVALUE " is an array in an array",
                     gathered->name);
        }
        if (NIL_P(element)) continue;
        nb_response_head_add_value(gathered, element);
    }
}

/* Those of Rack's SPEC are for servers and never sent to a client. One that nobody here knows means
   nothing. It is told when all fields are there: that calls Ruby. */
static void leave_out(nb_response_head *gathered, VALUE name) {
    if (!RTEST(gathered->left_out)) gathered->left_out = rb_ary_new();
    if (RARRAY_LEN(gathered->left_out) < LEFT_OUT_MAX) rb_ary_push(gathered->left_out, name);
}

int nb_response_head_add_field(VALUE name, VALUE value, VALUE argument) {
    nb_response_head *gathered = (nb_response_head *)argument;
    name = rb_str_new_frozen(rb_obj_as_string(name)); /* a value's to_s may change it */
    nb_slice bytes = {RSTRING_PTR(name), (size_t)RSTRING_LEN(name)};
    if (nb_slice_equal(bytes, NB_SLICE("rack.hijack"))) {
        gathered->hijack = value;
        return ST_CONTINUE;
    }
    if (nb_slice_equal(bytes, NB_SLICE("rack.protocol"))) {
        gathered->protocol = RTEST(value) ? value : Qfalse;
        return ST_CONTINUE;
    }
    if (bytes.size >= 5 && memcmp(bytes.data, "rack.", 5) == 0) {
        leave_out(gathered, name);
        return ST_CONTINUE;
    }
    if (!nb_is_token(bytes)) rb_raise(nb_error_class, "%+" PRIsVALUE " is not a header field's name", name);
    gathered->name = name;
    add_values(gathered, value);
    RB_GC_GUARD(name);
    return ST_CONTINUE;
}
