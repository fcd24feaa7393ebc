/*
 * cache_rules.h - which cache-control a file is sent with. Filled before the loops start, by one thread; only read afterwards, by any.
 *
 * A pattern is written as a route's: "/favicon.ico", or "/assets/" and a star for all that begins with it. It is compared with "/" and the
 * decoded path under the root. The first that matches wins. What no rule matches gets NB_CACHE_FINGERPRINTED when its name
 * carries a fingerprint (nb_cache_is_fingerprinted), else none.
 */
#ifndef NB_FILES_CACHE_RULES_H
#define NB_FILES_CACHE_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"

#define NB_CACHE_RULES_MAX 64u
#define NB_CACHE_RULES_TEXT_BYTES 8192u /* of all patterns and values together */
#define NB_CACHE_FINGERPRINTED "public, max-age=31536000, immutable"

typedef struct nb_cache_rule {
    uint16_t pattern, pattern_bytes; /* in `text`, without its star */
    uint16_t value, value_bytes;
    bool prefix;
} nb_cache_rule;

typedef struct nb_cache_rules {
    uint16_t count;
    uint16_t text_bytes;
    nb_cache_rule rules[NB_CACHE_RULES_MAX];
    char text[NB_CACHE_RULES_TEXT_BYTES];
} nb_cache_rules;

/* value: of the field; empty: such files are sent without. NB_INVALID: no pattern, or no field value; NB_FULL. */
nb_status nb_cache_rules_add(nb_cache_rules *rules, nb_slice pattern, nb_slice value);
/* path: as nb_file_path has it, without "/" in front. Size 0: no cache-control. Valid as long as `rules`. */
nb_slice nb_cache_rules_find(const nb_cache_rules *rules, nb_slice path);

/*
 * Whether a file's content can never change under this name, because the name was made of it: in the folders that asset pipelines write
 * to, and with a digest as they write it.
 */
bool nb_cache_is_fingerprinted(nb_slice path);

#endif
