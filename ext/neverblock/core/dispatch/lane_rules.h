/*
 * lane_rules.h - which lanes an application wants its requests in: a bounded table of methods and
 * path patterns (intake/path_pattern.h), read once for each request while it has any rule.
 *
 * The first rule that matches method and path wins. A rule may also say that a request runs in
 * fibers. Paths are compared as Rails' routes see them: several slashes are one, slashes at the end
 * do not count, and the digits of "%c3" are capitals. Rules only decide where a request runs best:
 * a request in the wrong lane gets the same answer.
 *
 * Threads: none of its own. lanes.h calls it under its lock.
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

typedef struct nb_lane_rule {
    uint16_t start, bytes; /* of the pattern in `text` */
    uint16_t methods;      /* 1 << nb_method, for each method that it matches */
    uint16_t lane;         /* 0: in fibers */
} nb_lane_rule;

typedef struct nb_lane_rules {
    uint16_t count, text_bytes;
    nb_lane_rule each[NB_LANE_RULES_MAX];
    char text[NB_LANE_RULES_TEXT_BYTES];
} nb_lane_rules;

/* Appends a rule. NB_INVALID: not a pattern, or no method. NB_FULL: the table is full. */
nb_status nb_lane_rules_add(nb_lane_rules *rules, uint16_t methods, nb_slice pattern, uint16_t lane);
/* The first rule that matches; NULL: none. Its cost grows with the path, whose size is bounded by
   the limit of request heads. */
const nb_lane_rule *nb_lane_rules_find(const nb_lane_rules *rules, nb_method method, nb_slice path);

#endif
