/*
 * head.h - the head of a request as every version of HTTP has it (RFC 9110): method, target,
 * fields.
 *
 * Ownership: a head owns nothing. Its slices point into bytes of its maker: the buffer of a parser
 * (HTTP/1.1), or decoded fields (later versions).
 */
#ifndef NB_HTTP_HEAD_H
#define NB_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/slice.h"
#include "http/compliance.h"

/* The length of content that is not known before it ends. */
#define NB_CONTENT_LENGTH_UNKNOWN UINT64_MAX

/* Header fields that have a number, so that names are compared once. name: lower case. */
#define NB_FIELD_LIST(X)                                      \
    X(OTHER, "")                                              \
    X(HOST, "host")                                           \
    X(CONNECTION, "connection")                               \
    X(CONTENT_LENGTH, "content-length")                       \
    X(TRANSFER_ENCODING, "transfer-encoding")                 \
    X(EXPECT, "expect")                                       \
    X(UPGRADE, "upgrade")                                     \
    X(CONTENT_TYPE, "content-type")                           \
    X(ACCEPT, "accept")                                       \
    X(ACCEPT_ENCODING, "accept-encoding")                     \
    X(ACCEPT_LANGUAGE, "accept-language")                     \
    X(AUTHORIZATION, "authorization")                         \
    X(CACHE_CONTROL, "cache-control")                         \
    X(COOKIE, "cookie")                                       \
    X(DATE, "date")                                           \
    X(DNT, "dnt")                                             \
    X(FORWARDED, "forwarded")                                 \
    X(FROM, "from")                                           \
    X(IF_MATCH, "if-match")                                   \
    X(IF_MODIFIED_SINCE, "if-modified-since")                 \
    X(IF_NONE_MATCH, "if-none-match")                         \
    X(IF_RANGE, "if-range")                                   \
    X(IF_UNMODIFIED_SINCE, "if-unmodified-since")             \
    X(KEEP_ALIVE, "keep-alive")                               \
    X(LAST_EVENT_ID, "last-event-id")                         \
    X(ORIGIN, "origin")                                       \
    X(PRAGMA, "pragma")                                       \
    X(PRIORITY, "priority")                                   \
    X(PROXY_AUTHORIZATION, "proxy-authorization")             \
    X(RANGE, "range")                                         \
    X(REFERER, "referer")                                     \
    X(SEC_CH_UA, "sec-ch-ua")                                 \
    X(SEC_CH_UA_MOBILE, "sec-ch-ua-mobile")                   \
    X(SEC_CH_UA_PLATFORM, "sec-ch-ua-platform")               \
    X(SEC_FETCH_DEST, "sec-fetch-dest")                       \
    X(SEC_FETCH_MODE, "sec-fetch-mode")                       \
    X(SEC_FETCH_SITE, "sec-fetch-site")                       \
    X(SEC_FETCH_USER, "sec-fetch-user")                       \
    X(SEC_WEBSOCKET_EXTENSIONS, "sec-websocket-extensions")   \
    X(SEC_WEBSOCKET_KEY, "sec-websocket-key")                 \
    X(SEC_WEBSOCKET_PROTOCOL, "sec-websocket-protocol")       \
    X(SEC_WEBSOCKET_VERSION, "sec-websocket-version")         \
    X(TE, "te")                                               \
    X(TRACEPARENT, "traceparent")                             \
    X(TRAILER, "trailer")                                     \
    X(TURBO_FRAME, "turbo-frame")                             \
    X(UPGRADE_INSECURE_REQUESTS, "upgrade-insecure-requests") \
    X(USER_AGENT, "user-agent")                               \
    X(VIA, "via")                                             \
    X(X_CSRF_TOKEN, "x-csrf-token")                           \
    X(X_FORWARDED_FOR, "x-forwarded-for")                     \
    X(X_FORWARDED_HOST, "x-forwarded-host")                   \
    X(X_FORWARDED_PORT, "x-forwarded-port")                   \
    X(X_FORWARDED_PROTO, "x-forwarded-proto")                 \
    X(X_REAL_IP, "x-real-ip")                                 \
    X(X_REQUEST_ID, "x-request-id")                           \
    X(X_REQUEST_START, "x-request-start")                     \
    X(X_REQUESTED_WITH, "x-requested-with")

typedef enum nb_field {
#define NB_FIELD_ENUM(id, name) NB_FIELD_##id,
    NB_FIELD_LIST(NB_FIELD_ENUM)
#undef NB_FIELD_ENUM
        NB_FIELD_COUNT
} nb_field;

/* Methods that have a number (RFC 9110 section 9, RFC 5789); any other token is NB_METHOD_OTHER.
 * Case counts. */
#define NB_METHOD_LIST(X) X(OTHER) X(GET) X(HEAD) X(POST) X(PUT) X(DELETE) X(CONNECT) X(OPTIONS) X(TRACE) X(PATCH)

typedef enum nb_method {
#define NB_METHOD_ENUM(id) NB_METHOD_##id,
    NB_METHOD_LIST(NB_METHOD_ENUM)
#undef NB_METHOD_ENUM
        NB_METHOD_COUNT
} nb_method;

/* In place of a minor version of HTTP/1: the request came by HTTP/2. */
#define NB_HTTP_2 2u

/* The four forms of a request target (RFC 9112 section 3.2). */
typedef enum nb_target_form {
    NB_TARGET_ORIGIN,
    NB_TARGET_ABSOLUTE,
    NB_TARGET_AUTHORITY,
    NB_TARGET_ASTERISK
} nb_target_form;

typedef struct nb_header {
    nb_slice name; /* as sent */
    nb_slice value;
    nb_field field;
} nb_header;

typedef struct nb_head {
    nb_slice method_text;
    nb_method method;
    nb_target_form target_form;
    nb_slice target;    /* as sent, without a fragment */
    nb_slice authority; /* of an absolute or authority target ("host:port"); else empty */
    nb_slice scheme;    /* of an absolute target (http or https only); else empty */
    /* As sent (not decoded), without the query. "/" for an absolute target without a path, "*" for
     * asterisk, empty for authority. */
    nb_slice path;
    nb_slice query; /* after the first '?', else empty */
    /* 0 or 1 of HTTP/1, where 1.2 to 1.9 count as 1 (RFC 9110 section 2.5); or NB_HTTP_2. */
    uint8_t minor_version;
    uint16_t header_count;
    nb_header headers[NB_HEADERS_MAX];
} nb_head;

typedef struct nb_head_limits {
    uint32_t head_bytes;   /* request line and fields together, at most NB_HEAD_BYTES_MAX */
    uint32_t target_bytes; /* at most NB_TARGET_BYTES_MAX */
    uint16_t headers;      /* at most NB_HEADERS_MAX */
    nb_compliance compliance;
} nb_head_limits;

/* The answer to a refused request: HTTP status, and a reason for the client and the log. */
typedef struct nb_refusal {
    uint16_t http_status; /* 400, 413, 414, 417, 431, 501, 505 ... */
    const char *reason;   /* static text, one clause, no newline */
} nb_refusal;

/* Why a body over the limit is refused (413). */
#define NB_BODY_TOO_LARGE "a request body larger than the limit"

/* The number of a field name in any case; NB_FIELD_OTHER: not in the list. */
nb_field nb_field_lookup(nb_slice name);
nb_slice nb_field_name(nb_field field); /* lower case; empty for NB_FIELD_OTHER */
nb_slice nb_method_name(nb_method method);
/* A token (RFC 9110 section 5.6.2). */
bool nb_is_token(nb_slice text);
/* A field value (RFC 9110 section 5.5): no control bytes but HTAB. Checks what an application
 * sends. */
bool nb_is_field_value(nb_slice text);

#endif
