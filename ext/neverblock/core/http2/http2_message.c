/*
 * http2_message.c - see http2_message.h.
 */
#include "http2/http2_message.h"

#include <stddef.h>

#include "http/byte_class.h"
#include "http/head.h"

enum { METHOD = 1, SCHEME = 2, AUTHORITY = 4, PATH = 8 };

/* Digits of a Content-Length, so that it has room in 64 bits. */
#define LENGTH_DIGITS_MAX 19u

void nb_http2_message_begin(nb_http2_message *message, bool trailers) {
    *message = (nb_http2_message){.content_length = NB_CONTENT_LENGTH_UNKNOWN, .trailers = trailers};
}

/* --- names and values (section 8.2.1) --- */

/* A token (RFC 9110 section 5.6.2) without capitals. */
static bool is_name(nb_slice name) {
    for (size_t i = 0; i < name.size; i++) {
        if (!nb_byte_is(name.data[i], NB_BYTE_TOKEN) || (name.data[i] >= 'A' && name.data[i] <= 'Z')) return false;
    }
    return name.size > 0;
}

static bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

static bool is_value(nb_slice value) {
    if (value.size == 0) return true;
    const char *end = value.data + value.size;
    return !is_blank(value.data[0]) && !is_blank(end[-1]) && nb_scan_value(value.data, value.data, end) == end;
}

/* --- pseudo-fields (section 8.3) --- */

static unsigned pseudo_of(nb_slice name) {
    if (nb_slice_equal(name, NB_SLICE(":method"))) return METHOD;
    if (nb_slice_equal(name, NB_SLICE(":scheme"))) return SCHEME;
    if (nb_slice_equal(name, NB_SLICE(":authority"))) return AUTHORITY;
    return nb_slice_equal(name, NB_SLICE(":path")) ? PATH : 0;
}

/* Each comes once, before other fields, and is not empty. */
static bool pseudo_field(nb_http2_message *message, nb_slice name, nb_slice value) {
    unsigned pseudo = pseudo_of(name);
    if (pseudo == 0 || value.size == 0 || message->trailers || message->regular) return false;
    if (message->pseudo & pseudo) return false;
    message->pseudo = (uint8_t)(message->pseudo | pseudo);
    if (pseudo == METHOD) message->connect = nb_slice_equal(value, NB_SLICE("CONNECT"));
    return true;
}

/* --- other fields --- */

/* RFC 9110 section 8.6: one number. In trailers it says nothing (section 6.5.1). */
static bool content_length(nb_http2_message *message, nb_slice value) {
    uint64_t number = 0;
    if (message->trailers) return true;
    if (message->content_length != NB_CONTENT_LENGTH_UNKNOWN) return false;
    if (value.size == 0 || value.size > LENGTH_DIGITS_MAX) return false;
    for (size_t i = 0; i < value.size; i++) {
        if (!nb_byte_is(value.data[i], NB_BYTE_DIGIT)) return false;
        number = number * 10 + (unsigned)(value.data[i] - '0');
    }
    message->content_length = number;
    return true;
}

/* Section 8.2.2: fields of one connection. */
static bool regular_field(nb_http2_message *message, nb_slice name, nb_slice value) {
    message->regular = true;
    switch (name.size) {
    case sizeof("te") - 1:
        return !nb_slice_equal(name, NB_SLICE("te")) || nb_slice_equal_lower(value, NB_SLICE("trailers"));
    case sizeof("upgrade") - 1:
        return !nb_slice_equal(name, NB_SLICE("upgrade"));
    case sizeof("connection") - 1: /* as long as keep-alive */
        return !nb_slice_equal(name, NB_SLICE("connection")) && !nb_slice_equal(name, NB_SLICE("keep-alive"));
    case sizeof("content-length") - 1:
        return !nb_slice_equal(name, NB_SLICE("content-length")) || content_length(message, value);
    case sizeof("proxy-connection") - 1:
        return !nb_slice_equal(name, NB_SLICE("proxy-connection"));
    case sizeof("transfer-encoding") - 1:
        return !nb_slice_equal(name, NB_SLICE("transfer-encoding"));
    default:
        return true;
    }
}

bool nb_http2_message_field(nb_http2_message *message, nb_slice name, nb_slice value) {
    if (!is_value(value)) return false;
    if (name.size > 0 && name.data[0] == ':') return pseudo_field(message, name, value);
    return is_name(name) && regular_field(message, name, value);
}

/* --- the end --- */

/* Section 8.5: CONNECT has no :scheme and no :path. */
bool nb_http2_message_end(const nb_http2_message *message, bool ends) {
    if (message->trailers) return ends; /* section 8.1 */
    if (message->connect) return message->pseudo == (METHOD | AUTHORITY);
    if ((message->pseudo & (METHOD | SCHEME | PATH)) != (METHOD | SCHEME | PATH)) return false;
    return !ends || message->content_length == NB_CONTENT_LENGTH_UNKNOWN || message->content_length == 0;
}
