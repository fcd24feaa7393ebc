/*
 * top_names.c - see top_names.h.
 */
#include "files/top_names.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "os/clock.h"

#define AGAIN_NS NB_NS_PER_S

/* Places of the hash table, a power of two; at most half of them are used. */
#define PLACES (2 * NB_TOP_NAMES_MAX)

struct nb_top_names {
    bool listed;       /* `places` and `text` hold the names as of `mark` */
    bool unlistable;   /* the folder as of `mark` cannot be listed */
    bool seen;         /* `mark` is set */
    int64_t looked_ns; /* turn in which the mark was last compared */
    int64_t tried_ns;  /* when listing was last tried */
    nb_folder_mark mark;
    uint16_t count;
    uint32_t text_bytes;
    uint16_t places[PLACES]; /* offset of a name in `text`, plus 1; 0: free */
    char text[NB_TOP_NAMES_TEXT_BYTES];
};

nb_top_names *nb_top_names_create(void) { return nb_alloc_zero(1, sizeof(nb_top_names)); }

void nb_top_names_destroy(nb_top_names *names) { nb_free(names); }

void nb_top_names_forget(nb_top_names *names) {
    if (names) memset(names, 0, offsetof(nb_top_names, places));
}

static uint32_t hash_of(nb_slice name) {
    uint32_t hash = nb_hash(name.data, name.size);
    return hash ^ hash >> 15;
}

/* The place of the name, or the free place where it belongs. */
static uint16_t *place_of(nb_top_names *names, nb_slice name) {
    uint32_t at = hash_of(name);
    for (;; at++) {
        uint16_t *place = &names->places[at % PLACES];
        if (*place == 0) return place;
        const char *known = names->text + *place - 1;
        if (strncmp(known, name.data, name.size) == 0 && known[name.size] == '\0') return place;
    }
}

static bool take(void *argument, const char *name) {
    nb_top_names *names = argument;
    size_t bytes = strlen(name) + 1;
    if (names->count == NB_TOP_NAMES_MAX || names->text_bytes + bytes > sizeof names->text) return false;
    uint16_t *place = place_of(names, (nb_slice){name, bytes - 1});
    if (*place != 0) return true; /* readdir(3) may report a renamed name twice */
    *place = (uint16_t)(names->text_bytes + 1);
    memcpy(names->text + names->text_bytes, name, bytes);
    names->text_bytes += (uint32_t)bytes;
    names->count++;
    return true;
}

static bool same_as(const nb_top_names *names, const nb_root *root) {
    nb_folder_mark mark;
    return nb_folder_mark_read(root->fd, &mark) == NB_OK && nb_folder_mark_equal(&mark, &names->mark);
}

static void list(nb_top_names *names, const nb_root *root) {
    if (names->seen && names->unlistable && same_as(names, root)) return;
    nb_top_names_forget(names);
    names->seen = nb_folder_mark_read(root->fd, &names->mark) == NB_OK;
    int64_t changed_s = names->mark.changed_ns / NB_NS_PER_S;
    if (!names->seen || changed_s + NB_TOP_NAMES_SETTLED_S >= nb_clock_wall_s()) return;
    memset(names->places, 0, sizeof names->places);
    names->unlistable = nb_folder_list(root->fd, take, names) != NB_OK;
    /* A name that was added meanwhile may be missing. */
    names->listed = !names->unlistable && same_as(names, root);
}

static void look(nb_top_names *names, const nb_root *root, int64_t now_ns) {
    names->looked_ns = now_ns;
    if (names->listed && same_as(names, root)) return;
    names->listed = false;
    if (names->tried_ns && now_ns - names->tried_ns < AGAIN_NS) return;
    list(names, root);
    names->looked_ns = names->tried_ns = now_ns;
}

bool nb_top_names_lack(nb_top_names *names, const nb_root *root, nb_slice path, int64_t now_ns) {
    if (!names || path.size == 0) return false;
    const char *end = memchr(path.data, '/', path.size);
    nb_slice first = {path.data, end ? (size_t)(end - path.data) : path.size};
    if (names->looked_ns != now_ns) look(names, root, now_ns);
    return names->listed && *place_of(names, first) == 0;
}
