/*
 * stall_places.c - see stall_places.h.
 */
#include "stall/stall_places.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ascii.h"

typedef struct place {
    nb_stall_owner owner;
    char *folder, *name;
    size_t folder_bytes;
} place;

struct nb_stall_places {
    unsigned count;
    place rows[NB_STALL_PLACES_MAX];
};

/* Files and gems that wait for somebody to type. */
static const char *const prompts[] = {"debug",  "byebug",   "irb",    "pry",           "pry-byebug",
                                      "reline", "readline", "debase", "ruby-debug-ide"};

typedef struct line {
    nb_slice path, number, label;
} line;

typedef struct whose {
    nb_stall_owner owner;
    nb_slice name; /* of a gem */
    nb_slice path; /* within its folder */
} whose;

nb_status nb_stall_places_create(nb_stall_places **places) {
    nb_stall_places *made = nb_alloc_zero(1, sizeof(*made));
    if (!made) return NB_NO_MEMORY;
    *places = made;
    return NB_OK;
}

static char *copy(const char *text) {
    size_t size = strlen(text) + 1;
    char *copied = nb_alloc(size);
    if (copied) memcpy(copied, text, size);
    return copied;
}

nb_status nb_stall_places_add(nb_stall_places *places, nb_stall_owner owner, const char *folder, const char *name) {
    if (places->count == NB_STALL_PLACES_MAX) return NB_FULL;
    place made = {.owner = owner, .folder = copy(folder), .name = copy(name), .folder_bytes = strlen(folder)};
    if (!made.folder || !made.name) {
        nb_free(made.folder);
        nb_free(made.name);
        return NB_NO_MEMORY;
    }
    places->rows[places->count++] = made;
    return NB_OK;
}

void nb_stall_places_destroy(nb_stall_places *places) {
    if (!places) return;
    for (unsigned i = 0; i < places->count; i++) {
        nb_free(places->rows[i].folder);
        nb_free(places->rows[i].name);
    }
    nb_free(places);
}

/* --- one line --- */

static nb_slice from(nb_slice slice, size_t offset) { return (nb_slice){slice.data + offset, slice.size - offset}; }

static bool begins_with(nb_slice slice, const char *text) {
    return nb_slice_begins_with(slice, nb_slice_of(text, strlen(text)));
}

/* "PATH:NUMBER:in `LABEL'", or without the label. False: the text is no such line. */
static bool parse(nb_slice text, line *parsed) {
    for (size_t i = 1; i + 1 < text.size; i++) {
        if (text.data[i] != ':' || !nb_is_digit(text.data[i + 1])) continue;
        size_t end = i + 1;
        while (end < text.size && nb_is_digit(text.data[end]))
            end++;
        bool labelled = begins_with(from(text, end), ":in ");
        if (!labelled && end < text.size) continue;
        *parsed = (line){.path = {text.data, i}, .number = {text.data + i + 1, end - i - 1}};
        if (labelled) parsed->label = from(text, end + 4);
        return true;
    }
    return false;
}

/* Code of an eval belongs where eval was called. From Ruby 3.3 on the path tells that:
   "(eval at /srv/app.rb:3):1". */
static void look_into_eval(line *parsed) {
    line inner;
    if (!begins_with(parsed->path, "(eval at ") || parsed->path.data[parsed->path.size - 1] != ')') return;
    nb_slice at = {parsed->path.data + 9, parsed->path.size - 10};
    if (!parse(at, &inner)) return;
    parsed->path = inner.path;
    parsed->number = inner.number;
}

static const place *longest(const nb_stall_places *places, nb_slice path) {
    const place *best = NULL;
    for (unsigned i = 0; i < places->count; i++) {
        const place *row = &places->rows[i];
        if (path.size <= row->folder_bytes || path.data[row->folder_bytes] != '/') continue;
        if (memcmp(path.data, row->folder, row->folder_bytes) != 0) continue;
        if (!best || row->folder_bytes > best->folder_bytes) best = row;
    }
    return best;
}

static const char *find(nb_slice slice, const char *text) {
    size_t size = strlen(text);
    for (size_t i = 0; i + size <= slice.size; i++) {
        if (memcmp(slice.data + i, text, size) == 0) return slice.data + i;
    }
    return NULL;
}

/* ".../gems/NAME-VERSION/..." (RubyGems, Bundler's git sources), the last such folder. */
static bool in_gem_folder(nb_slice path, whose *found) {
    bool any = false;
    nb_slice rest = path;
    const char *folder;
    while ((folder = find(rest, "/gems/"))) {
        rest = from(path, (size_t)(folder - path.data) + 6);
        size_t end = 0, dash = 0;
        while (end < rest.size && rest.data[end] != '/') {
            if (rest.data[end] == '-') dash = end;
            end++;
        }
        if (end == rest.size) break;
        bool versioned = dash > 0 && dash + 1 < end;
        if (!versioned) continue;
        *found = (whose){NB_STALL_GEM, {rest.data, end}, from(rest, end + 1)};
        any = true;
    }
    return any;
}

static whose whose_is(const nb_stall_places *places, nb_slice path) {
    whose found = {NB_STALL_APPLICATION, {"", 0}, path};
    const place *row = longest(places, path);
    if (row && row->owner != NB_STALL_APPLICATION) {
        return (whose){row->owner, {row->name, strlen(row->name)}, from(path, row->folder_bytes + 1)};
    }
    if (begins_with(path, "<internal:") || begins_with(path, "(eval") || begins_with(path, "-e")) {
        found.owner = begins_with(path, "-e") ? NB_STALL_APPLICATION : NB_STALL_OURS;
        return found;
    }
    if (in_gem_folder(row ? from(path, row->folder_bytes) : path, &found)) return found;
    if (row) found.path = from(path, row->folder_bytes + 1);
    return found;
}

/* --- the whole trace --- */

static bool is_word(nb_slice text, const char *word) {
    size_t size = strlen(word);
    if (!begins_with(text, word)) return false;
    return text.size == size || text.data[size] == '/' || text.data[size] == '.' ||
           (text.data[size] == '-' && nb_is_digit(text.data[size + 1]));
}

static bool is_prompt(const whose *at) {
    nb_slice name = at->owner == NB_STALL_GEM ? at->name : at->path;
    if (at->owner == NB_STALL_APPLICATION) return false;
    for (size_t i = 0; i < sizeof(prompts) / sizeof(*prompts); i++) {
        if (is_word(name, prompts[i])) return true;
    }
    return false;
}

/* out: with NB_STALL_CULPRIT_BYTES. */
static void show(char *out, const whose *at, const line *parsed) {
    char text[2 * NB_STALL_LINE_BYTES_MAX];
    int size = snprintf(text, sizeof(text), "%.*s%s%.*s:%.*s", (int)at->name.size, at->name.data,
                        at->name.size ? " " : "", (int)at->path.size, at->path.data, (int)parsed->number.size,
                        parsed->number.data);
    if (size < 0) return;
    const char *shown = text;
    if ((size_t)size >= sizeof(text)) size = (int)sizeof(text) - 1;
    if ((size_t)size >= NB_STALL_CULPRIT_BYTES) shown += (size_t)size - (NB_STALL_CULPRIT_BYTES - 1);
    memcpy(out, shown, strlen(shown) + 1);
}

/* `LABEL' or 'LABEL' */
static void show_method(nb_stall_culprit *culprit, nb_slice label) {
    size_t quotes = label.size >= 2 && (label.data[0] == '`' || label.data[0] == '\'') ? 1 : 0;
    size_t size = label.size - 2 * quotes;
    if (size >= sizeof(culprit->in)) size = sizeof(culprit->in) - 1;
    if (size) memcpy(culprit->in, label.data + quotes, size);
    culprit->in[size] = '\0';
}

void nb_stall_places_blame(const nb_stall_places *places, const nb_stall *stall, nb_stall_culprit *culprit) {
    nb_slice rest = {stall->trace, stall->trace_bytes};
    bool blamed = false, first = true;
    memset(culprit, 0, sizeof(*culprit));
    while (rest.size > 0) {
        const char *end = memchr(rest.data, '\n', rest.size);
        if (!end) return;
        line parsed;
        nb_slice text = {rest.data, (size_t)(end - rest.data)};
        rest = from(rest, text.size + 1);
        if (!parse(text, &parsed)) continue;
        look_into_eval(&parsed);
        whose at = whose_is(places, parsed.path);
        culprit->prompt = culprit->prompt || is_prompt(&at);
        bool guilty = at.owner != NB_STALL_OURS;
        if (first) show_method(culprit, parsed.label);
        if (first || (guilty && !blamed)) show(culprit->at, &at, &parsed);
        if (at.owner == NB_STALL_APPLICATION && !*culprit->application) show(culprit->application, &at, &parsed);
        blamed = blamed || guilty;
        first = false;
    }
}

nb_slice nb_stall_show(char *out, const nb_stall *stall, const nb_stall_culprit *culprit) {
    const char *known_by = *culprit->application ? culprit->application : culprit->at;
    (void)snprintf(out, NB_STALL_SHOWN_BYTES, "%s\n%.*s", known_by, (int)stall->trace_bytes, stall->trace);
    return nb_slice_of(out, strlen(out));
}

nb_stall_owner nb_stall_places_owner(const nb_stall_places *places, nb_slice path) {
    line parsed = {.path = path};
    if (path.size > 0) look_into_eval(&parsed);
    return whose_is(places, parsed.path).owner;
}

bool nb_stall_places_application(const nb_stall_places *places, nb_slice text) {
    line parsed;
    return parse(text, &parsed) && nb_stall_places_owner(places, parsed.path) == NB_STALL_APPLICATION;
}
