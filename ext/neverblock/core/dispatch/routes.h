/*
 * routes.h - what the configuration says of some paths: a flat, bounded table, read once for each
 * request.
 *
 * A pattern is an absolute path ("/uploads"), or a prefix that ends with "*" ("/x/" and a star
 * matches all that begins with "/x/"). It is compared byte for byte with the path of the request
 * target as the client sent it, without the query: the bytes that an application finds in
 * PATH_INFO. No slash is added and nothing is decoded, so that "/%75ploads" and "/uploads/" are
 * other paths than "/uploads". One exception: a byte over 0x7f that was sent unencoded matches its
 * encoding ("/caf%C3%A9"), since clients that encode it send the same path. Routes say how a
 * request is served, never who may ask: a path written in another way gets the defaults.
 *
 * The first route that matches wins. Threads: filled before the loop starts, then only read, by
 * any thread. A request message carries the number of its route alone.
 */
#ifndef NB_DISPATCH_ROUTES_H
#define NB_DISPATCH_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"
#include "intake/message.h"
#include "send/send_queue.h"

#define NB_ROUTES_MAX 256u

/* Bytes of all patterns together: a page or two of configuration. */
#define NB_ROUTES_TEXT_BYTES 16384u

typedef enum nb_route_choice { NB_ROUTE_UNSAID, NB_ROUTE_NO, NB_ROUTE_YES } nb_route_choice;

/* Whether responses of the application are compressed (responses/compression.h). */
typedef enum nb_compress {
    NB_COMPRESS_UNSAID, /* of a route: as the whole server does */
    NB_COMPRESS_OFF,
    NB_COMPRESS_ON,
    NB_COMPRESS_ALWAYS, /* also where its size could give away what is in it */
} nb_compress;

/* What a route sets. All zero: the defaults. */
typedef struct nb_route {
    /* true: the request is passed on with its head, and the body follows. */
    uint8_t stream_input;
    uint8_t cancel_on_disconnect; /* nb_route_choice; NB_ROUTE_UNSAID: as for the whole server */
    uint8_t in_fibers;            /* true: its requests are in no lane, whatever rules say */
    uint8_t compress;             /* nb_compress */
    /* The lane of its requests, numbered by nb_server_lane_add; 0: in fibers. */
    uint16_t lane;
    nb_send_by send_by; /* how its files are sent */
} nb_route;

typedef struct nb_route_entry {
    uint16_t start, bytes; /* of the pattern in `text`, without its "*" */
    bool prefix, encoded;  /* it ends with "*"; it contains "%" */
    nb_route route;
} nb_route_entry;

typedef struct nb_routes {
    uint16_t count;
    uint16_t text_bytes;
    nb_route_entry entries[NB_ROUTES_MAX];
    char text[NB_ROUTES_TEXT_BYTES];
} nb_routes;

/* Appends a route. *number: its number in messages, from 1. NB_INVALID: not a pattern. NB_FULL: the
   table is full. */
nb_status nb_routes_add(nb_routes *routes, nb_slice pattern, nb_route route, uint16_t *number);

uint16_t nb_routes_find(const nb_routes *routes, nb_slice path);

/* The number of the first route that matches `path`; NB_ROUTE_NONE. */
static inline uint16_t nb_routes_match(const nb_routes *routes, nb_slice path) {
    return routes->count == 0 ? NB_ROUTE_NONE : nb_routes_find(routes, path);
}

/* NULL: NB_ROUTE_NONE, or no route has this number. */
static inline const nb_route *nb_routes_get(const nb_routes *routes, uint16_t number) {
    return number != NB_ROUTE_NONE && number <= routes->count ? &routes->entries[number - 1].route : NULL;
}

#endif
