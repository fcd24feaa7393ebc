/*
 * response.h - what a response says, in the terms of RFC 9110 alone: no version of HTTP has a place here.
 */
#ifndef NB_DISPATCH_RESPONSE_H
#define NB_DISPATCH_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "http/head.h"

typedef struct nb_response {
    uint64_t content_length; /* bytes of the content, or NB_CONTENT_LENGTH_UNKNOWN */
    uint64_t left;           /* of these, bytes that have not come yet; 0 where nobody counts them */
    uint16_t status;         /* 200-599, and 101 with handover */
    bool head_request;       /* the request was HEAD (RFC 9110 section 9.3.2) */
    bool length_announced;   /* the application gave a Content-Length (matters for HEAD and 304: it is then sent) */
    bool application_closes; /* the application sent Connection: close */
    bool handover;           /* after the head the connection is the application's */
    bool whole;              /* all of it is known when its head is written */
    bool has_content;        /* from the head on: bytes may follow it */
    bool counted;            /* from the head on: no more than content_length of them */
} nb_response;

#endif
