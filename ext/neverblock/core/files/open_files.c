/*
 * open_files.c - see open_files.h. Entries are in a hash table and in a list by last use. A small
 * table holds the paths without a file.
 */
#include "files/open_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "files/accept_encoding.h"
#include "files/top_names.h"
#include "os/descriptors.h"

enum {
    SHARE = 8, /* the cache gets an eighth of the process's descriptors */
    FILES_MIN = 16,
    MISSING = 256, /* paths without a file that are remembered; a power of two */
    MISSING_PATH_BYTES = 102,
    EXTENSION_BYTES = 4, /* of a precompressed file */
    BEFORE_NS = 1,       /* a time before the first turn */
};

typedef struct entry {
    struct entry *next;            /* in its bucket */
    struct entry *older, *younger; /* by last use */
    nb_file *file;
    int64_t looked_ns; /* turn in which the path was last checked, and the file last used */
    int64_t opened_ns; /* turn in which everything about the file was checked */
    uint32_t hash;
    uint16_t root, bytes;
    char path[]; /* NUL-terminated */
} entry;

typedef struct missing {
    int64_t now_ns;
    uint32_t hash;
    int error;
    uint16_t root, bytes;
    bool by_worker;
    char path[MISSING_PATH_BYTES];
} missing;

typedef struct root_slot {
    nb_root *root; /* NULL: its path leads to no folder */
    char *path;
    nb_symlinks symlinks;
    int64_t looked_ns;
    nb_top_names *names; /* NULL: there was no memory */
} root_slot;

struct nb_open_files {
    const nb_mime *mime;
    const nb_cache_rules *rules;
    uint32_t buckets; /* a power of two */
    uint16_t root_count;
    entry *oldest, *youngest;
    nb_open_files_figures figures;
    root_slot roots[NB_OPEN_FILES_ROOTS_MAX];
    missing missing[MISSING];
    entry *table[];
};

static nb_status refused(int error) {
    errno = error;
    return NB_SYSTEM;
}

/* --- opening, on any thread --- */

/* NB_OK: it is a regular file, or there is none. */
static nb_status look_for_sibling(const nb_root *root, const char *path, bool ready_only, const nb_file_facts *original,
                                  bool *found) {
    nb_file_facts facts;
    int fd;
    nb_status status = nb_open_beneath(root, path, ready_only, &fd, &facts);
    if (status == NB_OK) close(fd);
    *found = status == NB_OK && facts.size > 0 &&
             facts.modified_ns >= original->modified_ns - NB_SIBLING_SLACK_S * INT64_C(1000000000);
    return status == NB_SYSTEM ? NB_OK : status;
}

static bool ends_with(nb_slice text, nb_slice end) {
    return text.size >= end.size && memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

static nb_status look_for_siblings(const nb_root *root, nb_slice path, bool ready_only, nb_file *file) {
    static const nb_encoding encodings[] = {NB_ENCODING_ZSTD, NB_ENCODING_BR, NB_ENCODING_GZIP};
    char name[NB_FILE_PATH_BYTES_MAX + EXTENSION_BYTES + 1];
    for (size_t i = 0; i < 3; i++) {
        if (ends_with(path, nb_encoding_extension(encodings[i]))) return NB_OK;
    }
    memcpy(name, path.data, path.size);
    for (size_t i = 0; i < 3; i++) {
        bool found;
        nb_slice extension = nb_encoding_extension(encodings[i]);
        memcpy(name + path.size, extension.data, extension.size);
        name[path.size + extension.size] = '\0';
        nb_status status = look_for_sibling(root, name, ready_only, &file->facts, &found);
        if (status != NB_OK) return status;
        if (found) file->siblings = (uint8_t)(file->siblings | NB_ENCODING_BIT(encodings[i]));
    }
    return NB_OK;
}

typedef struct opener {
    const nb_root *root;
    const nb_mime *mime;
    const nb_cache_rules *rules;
    bool ready_only;
} opener;

/* path: NUL-terminated. Statuses as nb_open_beneath. The caller is the only holder of the file. */
static nb_status file_open(const opener *by, nb_slice path, nb_file **result) {
    nb_file_facts facts;
    nb_file *file;
    int fd;
    nb_status status = nb_open_beneath(by->root, path.data, by->ready_only, &fd, &facts);
    if (status == NB_OK) status = nb_file_wrap(fd, &file);
    if (status != NB_OK) return status;
    file->facts = facts;
    file->content_type = nb_mime_find(by->mime, path);
    file->cache_control = nb_cache_rules_find(by->rules, path);
    status = look_for_siblings(by->root, path, by->ready_only, file);
    if (status == NB_OK) {
        *result = file;
    } else {
        nb_file_release(file);
        errno = EEXIST; /* with NB_AGAIN: the file exists, but its siblings are not known */
    }
    return status;
}

/* --- entries --- */

static uint32_t hash_of(uint16_t root, nb_slice path) {
    uint64_t hash = ((uint64_t)path.size << 16) ^ root, word;
    for (size_t at = 0; at < path.size; at += sizeof word) {
        size_t bytes = path.size - at < sizeof word ? path.size - at : sizeof word;
        word = 0;
        memcpy(&word, path.data + at, bytes);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 by the golden ratio */
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

static entry **bucket_of(nb_open_files *files, uint32_t hash) { return &files->table[hash & (files->buckets - 1)]; }

static entry *entry_find(nb_open_files *files, uint32_t hash, uint16_t root, nb_slice path) {
    for (entry *it = *bucket_of(files, hash); it; it = it->next) {
        if (it->hash == hash && it->root == root && nb_slice_equal(nb_slice_of(it->path, it->bytes), path)) return it;
    }
    return NULL;
}

static void unlink_use(nb_open_files *files, entry *it) {
    *(it->older ? &it->older->younger : &files->oldest) = it->younger;
    *(it->younger ? &it->younger->older : &files->youngest) = it->older;
}

static void link_youngest(nb_open_files *files, entry *it) {
    it->older = files->youngest;
    it->younger = NULL;
    *(files->youngest ? &files->youngest->younger : &files->oldest) = it;
    files->youngest = it;
}

static void use(nb_open_files *files, entry *it, int64_t now_ns) {
    it->looked_ns = now_ns;
    if (files->youngest == it) return;
    unlink_use(files, it);
    link_youngest(files, it);
}

static void entry_drop(nb_open_files *files, entry *it) {
    entry **at = bucket_of(files, it->hash);
    while (*at != it)
        at = &(*at)->next;
    *at = it->next;
    unlink_use(files, it);
    nb_file_release(it->file);
    nb_free(it);
    files->figures.files--;
}

static void entry_add(nb_open_files *files, uint32_t hash, uint16_t root, nb_slice path, nb_file *file,
                      int64_t now_ns) {
    entry *it = nb_alloc(sizeof *it + path.size + 1);
    if (!it) return; /* the file is opened again for the next request */
    if (files->figures.files == files->figures.files_max) nb_open_files_shrink(files, files->figures.files_max - 1);
    *it = (entry){.file = nb_file_hold(file),
                  .looked_ns = now_ns,
                  .opened_ns = now_ns,
                  .hash = hash,
                  .root = root,
                  .bytes = (uint16_t)path.size};
    memcpy(it->path, path.data, path.size);
    it->path[path.size] = '\0';
    entry **bucket = bucket_of(files, hash);
    it->next = *bucket;
    *bucket = it;
    link_youngest(files, it);
    files->figures.files++;
}

/* Takes the only hold of the opened file; the result is held for the caller. If nothing has
 * changed, the file that is already cached is kept and returned. */
static nb_file *entry_put(nb_open_files *files, uint32_t hash, uint16_t root, nb_slice path, nb_file *file,
                          int64_t now_ns) {
    entry *it = entry_find(files, hash, root, path);
    files->figures.opened++;
    if (it && nb_file_facts_equal(&it->file->facts, &file->facts) && it->file->siblings == file->siblings) {
        nb_file_release(file);
        it->opened_ns = now_ns;
        use(files, it, now_ns);
        return nb_file_hold(it->file);
    }
    if (it) {
        files->figures.changed++;
        entry_drop(files, it);
    }
    entry_add(files, hash, root, path, file, now_ns);
    return file;
}

/* --- what is not there --- */

static missing *missing_slot(nb_open_files *files, uint32_t hash) { return &files->missing[hash & (MISSING - 1)]; }

static const missing *missing_find(nb_open_files *files, uint32_t hash, uint16_t root, nb_slice path) {
    const missing *slot = missing_slot(files, hash);
    if (slot->hash != hash || slot->root != root || slot->error == 0) return NULL;
    return nb_slice_equal(nb_slice_of(slot->path, slot->bytes), path) ? slot : NULL;
}

/* Errors of the path, which stay until the turn ends. */
static bool lasts_a_turn(int error) {
    static const int errors[] = {ENOENT, ENOTDIR, EISDIR, EACCES, EXDEV, ELOOP, ENXIO, ENAMETOOLONG};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i] == error) return true;
    }
    return false;
}

/* Remembers that the path leads to no file. */
static void put_missing(nb_open_files *files, uint32_t hash, uint16_t root, nb_slice path, int64_t now_ns, int error,
                        bool by_worker) {
    if (!lasts_a_turn(error)) return;
    entry *it = entry_find(files, hash, root, path);
    if (it) entry_drop(files, it);
    if (path.size > MISSING_PATH_BYTES) return;
    missing *slot = missing_slot(files, hash);
    slot->now_ns = now_ns;
    slot->hash = hash;
    slot->error = error;
    slot->by_worker = by_worker;
    slot->root = root;
    slot->bytes = (uint16_t)path.size;
    if (path.size > 0) memcpy(slot->path, path.data, path.size);
}

/* The number means another folder from now on. */
static void forget_missing(nb_open_files *files, uint16_t root) {
    for (size_t i = 0; i < MISSING; i++) {
        if (files->missing[i].root == root) files->missing[i].error = 0;
    }
}

/* --- roots --- */

static void root_look(nb_open_files *files, uint16_t number) {
    root_slot *slot = &files->roots[number];
    nb_root *root;
    if (slot->root && nb_root_check(slot->root) == NB_OK) return;
    nb_status status = nb_root_open(slot->path, slot->symlinks, &root);
    /* The error may be gone in a moment. */
    if (status != NB_OK && (status != NB_SYSTEM || !lasts_a_turn(errno))) return;
    nb_root_release(slot->root);
    slot->root = status == NB_OK ? root : NULL;
    nb_top_names_forget(slot->names);
    forget_missing(files, number);
}

static nb_root *root_now(nb_open_files *files, uint16_t number, int64_t now_ns) {
    NB_ASSERT(number < files->root_count);
    root_slot *slot = &files->roots[number];
    if (now_ns - slot->looked_ns >= NB_OPEN_FILES_SECOND_NS) {
        slot->looked_ns = now_ns;
        root_look(files, number);
    }
    return slot->root;
}

const nb_root *nb_open_files_root(nb_open_files *files, uint16_t number, int64_t now_ns) {
    return root_now(files, number, now_ns);
}

static char *copy_of(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = nb_alloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

nb_status nb_open_files_add_root(nb_open_files *files, const char *path, nb_symlinks symlinks, bool later,
                                 uint16_t *number) {
    if (files->root_count == NB_OPEN_FILES_ROOTS_MAX) return NB_FULL;
    nb_root *root = NULL;
    nb_status status = nb_root_open(path, symlinks, &root);
    if (status == NB_NO_MEMORY || (status != NB_OK && !later)) return status;
    char *copy = copy_of(path);
    if (!copy) {
        nb_root_release(root);
        return NB_NO_MEMORY;
    }
    files->roots[files->root_count] = (root_slot){
        .root = root, .path = copy, .symlinks = symlinks, .names = nb_top_names_create()};
    if (root) (void)nb_top_names_lack(files->roots[files->root_count].names, root, NB_SLICE("."), BEFORE_NS);
    *number = files->root_count++;
    return NB_OK;
}

/* --- the cache --- */

uint32_t nb_open_files_share(uint64_t descriptors, unsigned loops) {
    uint64_t share = descriptors / SHARE / (loops > 0 ? loops : 1);
    if (share < FILES_MIN) return FILES_MIN;
    return share < NB_OPEN_FILES_MAX ? (uint32_t)share : NB_OPEN_FILES_MAX;
}

nb_status nb_open_files_create(uint32_t files_max, const nb_mime *mime, const nb_cache_rules *rules,
                               nb_open_files **result) {
    uint32_t buckets = 1;
    while (buckets < files_max)
        buckets *= 2;
    nb_open_files *files = nb_alloc_zero(1, sizeof *files + buckets * sizeof files->table[0]);
    if (!files) return NB_NO_MEMORY;
    files->mime = mime;
    files->rules = rules;
    files->buckets = buckets;
    files->figures.files_max = files_max;
    *result = files;
    return NB_OK;
}

void nb_open_files_destroy(nb_open_files *files) {
    if (!files) return;
    nb_open_files_shrink(files, 0);
    for (uint16_t i = 0; i < files->root_count; i++) {
        nb_root_release(files->roots[i].root);
        nb_free(files->roots[i].path);
        nb_top_names_destroy(files->roots[i].names);
    }
    nb_free(files);
}

void nb_open_files_shrink(nb_open_files *files, uint32_t keep) {
    while (files->figures.files > keep) {
        entry_drop(files, files->oldest);
        files->figures.closed++;
    }
}

int64_t nb_open_files_expire(nb_open_files *files, int64_t now_ns) {
    while (files->oldest && now_ns - files->oldest->looked_ns >= NB_OPEN_FILES_IDLE_NS) {
        entry_drop(files, files->oldest);
        files->figures.closed++;
    }
    return files->oldest ? files->oldest->looked_ns + NB_OPEN_FILES_IDLE_NS : 0;
}

nb_open_files_figures nb_open_files_count(const nb_open_files *files) { return files->figures; }

/* Checks a cached file. NB_INCOMPLETE: it must be opened again. If only its siblings must be
 * checked, this request alone does that, and others go on with what is known. */
static nb_status look_again(nb_open_files *files, const nb_root *root, entry *it, int64_t now_ns) {
    nb_file_facts facts;
    if (it->looked_ns != now_ns) {
        if (nb_stat_beneath(root, it->path, &facts) != NB_OK || !nb_file_facts_equal(&facts, &it->file->facts)) {
            files->figures.changed++;
            entry_drop(files, it);
            return NB_INCOMPLETE;
        }
        use(files, it, now_ns);
        if (now_ns - it->opened_ns >= NB_OPEN_FILES_SECOND_NS) {
            it->opened_ns = now_ns;
            return NB_INCOMPLETE;
        }
    }
    files->figures.hits++;
    return NB_OK;
}

static bool wants_descriptors(nb_status status, int error) {
    return status == NB_SYSTEM && nb_os_descriptors_short(error);
}

/* open(2) takes a descriptor before it looks, so without a free one even a missing file gives
 * EMFILE. A call that needs no descriptor tells whether the file is missing, even if it reads the
 * disk. */
static nb_status look_without_descriptor(const nb_root *root, nb_slice path, int error) {
    nb_file_facts facts;
    return refused(nb_stat_beneath(root, path.data, &facts) != NB_OK && lasts_a_turn(errno) ? errno : error);
}

/* Opens what needs no disk, on the loop's thread. */
static nb_status open_at_once(nb_open_files *files, const nb_root *root, nb_slice path, nb_file **file) {
    const opener by = {root, files->mime, files->rules, true};
    nb_status status = file_open(&by, path, file);
    if (wants_descriptors(status, errno) && files->figures.files > 0) {
        nb_open_files_shrink(files, files->figures.files / 2);
        status = file_open(&by, path, file);
    }
    return wants_descriptors(status, errno) ? look_without_descriptor(root, path, errno) : status;
}

nb_status nb_open_files_find(nb_open_files *files, uint16_t number, const nb_file_path *path, int64_t now_ns,
                             nb_file **file) {
    nb_root *root = root_now(files, number, now_ns);
    nb_slice name = nb_file_path_slice(path);
    uint32_t hash = hash_of(number, name);
    entry *it = entry_find(files, hash, number, name);
    if (!root) {
        if (it) entry_drop(files, it);
        return refused(ENOENT);
    }
    if (it && look_again(files, root, it, now_ns) == NB_OK) {
        *file = nb_file_hold(it->file);
        return NB_OK;
    }
    if (nb_top_names_lack(files->roots[number].names, root, name, now_ns)) return refused(ENOENT);
    const missing *lack = missing_find(files, hash, number, name);
    if (lack && lack->now_ns == now_ns) return refused(lack->error);
    nb_file *opened;
    nb_status status = open_at_once(files, root, name, &opened);
    int error = errno;
    if (status == NB_OK) *file = entry_put(files, hash, number, name, opened, now_ns);
    if (status == NB_SYSTEM) put_missing(files, hash, number, name, now_ns, error, false);
    if (status == NB_AGAIN && error == EAGAIN && lack && lack->by_worker &&
        now_ns - lack->now_ns < NB_OPEN_FILES_SECOND_NS)
        return refused(lack->error);
    errno = error;
    return status;
}

/* --- openings --- */

void nb_open_files_begin(nb_open_files *files, uint16_t number, const nb_file_path *path, nb_opening *opening) {
    NB_ASSERT(number < files->root_count);
    nb_root *root = files->roots[number].root;
    opening->root = root ? nb_root_hold(root) : NULL;
    opening->mime = files->mime;
    opening->rules = files->rules;
    opening->file = NULL;
    opening->status = NB_CLOSED;
    opening->error = 0;
    opening->number = number;
    opening->path.folder = path->folder;
    opening->path.size = path->size;
    memcpy(opening->path.text, path->text, path->size + 1u);
}

void nb_opening_run(nb_opening *opening) {
    const opener by = {opening->root, opening->mime, opening->rules, false};
    nb_slice path = nb_file_path_slice(&opening->path);
    nb_status status = opening->root ? file_open(&by, path, &opening->file) : refused(ENOENT);
    if (wants_descriptors(status, errno)) status = look_without_descriptor(opening->root, path, errno);
    opening->status = status;
    opening->error = errno;
}

void nb_opening_drop(nb_opening *opening) {
    nb_file_release(opening->file);
    nb_root_release(opening->root);
    opening->file = NULL;
    opening->root = NULL;
}

/* The worker had no descriptor, but the file is there. Tries again: its names are in memory. */
static nb_status open_with_room(nb_open_files *files, nb_opening *opening) {
    nb_open_files_shrink(files, files->figures.files / 2);
    nb_status status = open_at_once(files, opening->root, nb_file_path_slice(&opening->path), &opening->file);
    return status == NB_AGAIN ? refused(opening->error) : status;
}

nb_status nb_open_files_enter(nb_open_files *files, nb_opening *opening, int64_t now_ns, nb_file **file) {
    nb_slice name = nb_file_path_slice(&opening->path);
    uint32_t hash = hash_of(opening->number, name);
    nb_status status = opening->status;
    int error = opening->error;
    if (wants_descriptors(status, error)) {
        status = open_with_room(files, opening);
        error = errno;
    }
    bool current = opening->root == files->roots[opening->number].root;
    if (status == NB_OK) {
        *file = current ? entry_put(files, hash, opening->number, name, opening->file, now_ns) : opening->file;
        opening->file = NULL;
    }
    if (status == NB_SYSTEM && current) put_missing(files, hash, opening->number, name, now_ns, error, true);
    nb_opening_drop(opening);
    errno = error;
    return status;
}
