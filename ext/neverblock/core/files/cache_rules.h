/*
 * cache_rules.h - which Cache-Control a file is sent with.
 *
 * A pattern is "/favicon.ico", or "/assets/" and a star for every path that begins with it. It is
 * compared with "/" and the decoded path under the document root. The first rule that matches wins.
 * Without a match a file gets NB_CACHE_FINGERPRINTED if its name has a fingerprint
 * (nb_cache_is_fingerprinted), else no Cache-Control.
 *
 * Threads: one thread fills the rules before the loops start; afterwards any thread may read them.
 */
#ifndef NB_FILES_CACHE_RULES_H
#define NB_FILES_CACHE_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"

#define NB_CACHE_RULES_MAX 64u
#define NB_CACHE_RULES_TEXT_BYTES 8192u /* of all patterns and values */
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

/* value: of the field; empty: no Cache-Control. Both are copied. NB_INVALID: not a pattern, or not
 * a field value. NB_FULL. */
nb_status nb_cache_rules_add(nb_cache_rules *rules, nb_slice pattern, nb_slice value);
/* path: as in nb_file_path, without "/" in front. Size 0: no Cache-Control. Valid as long as
 * `rules`. */
nb_slice nb_cache_rules_find(const nb_cache_rules *rules, nb_slice path);

/*
 * True: the content never changes under this name, as the name contains a digest of it. Known are
 * the folders and digests of asset pipelines.
 */
bool nb_cache_is_fingerprinted(nb_slice path);

#endif
