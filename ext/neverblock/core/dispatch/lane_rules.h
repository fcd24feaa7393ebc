/*
 * lane_rules.h - what an application says of the lanes of its requests: a flat, bounded table of methods and patterns
 * (path_pattern.h), asked once for each request where it has any rule.
 *
 * The first that takes method and path wins; one may say that they are run in fibers. Slashes at the end of a path are
 * not looked at, as Rails does. Rules say where a request is best run, never what it is: one that is taken by the wrong
 * one is answered the same.
 */
#ifndef NB_DISPATCH_LANE_RULES_H
#define NB_DISPATCH_LANE_RULES_H

#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"
#include "http/head.h"

#define NB_LANE_RULES_MAX 1024u
/* Bytes of all patterns together. */
#define NB_LANE_RULES_TEXT_BYTES 65535u
/* A longer path is taken by none: what looking at one costs is bounded. */
#define NB_LANE_PATH_BYTES_MAX 512u

typedef struct nb_lane_rule {
    uint16_t start, bytes; /* of the pattern in `text` */
    uint16_t methods;      /* 1 << nb_method, of those it takes */
    uint16_t lane;         /* 0: fibers */
} nb_lane_rule;

typedef struct nb_lane_rules {
    uint16_t count, text_bytes;
    nb_lane_rule each[NB_LANE_RULES_MAX];
    char text[NB_LANE_RULES_TEXT_BYTES];
} nb_lane_rules;

/* Behind the others. NB_INVALID: no pattern, or no method; NB_FULL: no room. */
nb_status nb_lane_rules_add(nb_lane_rules *rules, uint16_t methods, nb_slice pattern, uint16_t lane);
/* The first that takes them; NULL. */
const nb_lane_rule *nb_lane_rules_find(const nb_lane_rules *rules, nb_method method, nb_slice path);

#endif
