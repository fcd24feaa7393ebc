/*
 * response.h - a response in the terms of RFC 9110 alone. What belongs to one version of HTTP has
 * no place here: protocols write it (protocols/).
 */
#ifndef NB_HTTP_RESPONSE_H
#define NB_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "http/head.h"

typedef struct nb_response {
    uint64_t content_length; /* bytes of the content, or NB_CONTENT_LENGTH_UNKNOWN */
    uint64_t left;           /* of these, bytes still to come; 0 where they are not counted */
    uint16_t status;         /* 200-599, and 101 with handover */
    bool head_request;       /* the request was HEAD (RFC 9110 section 9.3.2) */
    /* The application set Content-Length, which is then also sent with HEAD and 304. */
    bool length_announced;
    bool application_closes; /* the application sent Connection: close */
    bool handover;           /* the connection is the application's after the head */
    bool whole;              /* its whole body is known when the head is written */
    bool has_content;        /* set with the head: bytes may follow it */
    bool counted;            /* set with the head: at most content_length bytes may follow */
} nb_response;

#endif
