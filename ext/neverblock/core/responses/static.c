/*
 * static.c - see static.h. The search is a state machine: the state says where to look, and the
 * result of a look says where to look next. So it can stop where the disk is needed and go on in a
 * later turn.
 */
#include "responses/static.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "files/accept_encoding.h"
#include "files/file_request.h"
#include "http/date.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "responses/file_response.h"
#include "responses/compose.h"

/* A target of the largest size with every byte percent-encoded. */
#define LOCATION_BYTES_MAX (3 * NB_TARGET_BYTES_MAX + 64)

typedef struct search {
    uint16_t place;      /* number among the served document roots */
    uint16_t index;      /* 0: the path itself; n: with the n-th index file */
    uint16_t base_bytes; /* of `path`, without index file and ending of a coding */
    bool folder;         /* the requested path ends with "/" */
    bool refused;        /* the setting `symlinks` refused a link: logged once */
    uint8_t encoding;    /* nb_encoding that is looked for now */
    nb_file *plain;      /* with an encoding: the original file; held */
    nb_file_path path;   /* where to look now */
} search;

/* The result of a search. */
typedef enum search_result {
    SEARCH_FILE,
    SEARCH_FOLDER, /* with an index file, requested without "/" */
    SEARCH_NONE,
    SEARCH_LATER, /* a worker has to open `path` */
    SEARCH_BUSY,
    SEARCH_FAILED,
} search_result;

/* What the answer depends on: from the head or, after a wait, from the message. */
typedef struct static_request {
    nb_slice path, query;
    nb_file_request file_request;
} static_request;

/* A search that waits for the disk. */
typedef struct waiting {
    nb_file_wait wait;
    search search;
    nb_request_message *message; /* for the application, if no file is found */
    size_t request_bytes;
    char request[]; /* nb_file_request, flat */
} waiting;

static uint16_t root_of(const nb_responses *responses, const search *state) {
    return responses->document_roots->served.each[state->place];
}

static void drop_plain(search *state) {
    nb_file_release(state->plain);
    state->plain = NULL;
    state->encoding = NB_ENCODING_IDENTITY;
}

/* --- where to look next --- */

static void look_at(search *state, uint16_t index) {
    state->index = index;
    state->path.size = state->base_bytes;
    state->path.text[state->base_bytes] = '\0';
    state->path.folder = index == 0 && state->folder;
}

/* Moves on to the next index file. False: there is none. */
static bool look_at_next_index(const nb_responses *responses, search *state) {
    const nb_document_roots *roots = responses->document_roots;
    while (state->index < roots->index_count) {
        const nb_short_name *name = &roots->index[state->index];
        look_at(state, (uint16_t)(state->index + 1));
        if (nb_file_path_append(&state->path, (nb_slice){name->text, name->size}) == NB_OK) return true;
    }
    return false;
}

static bool look_at_next_folder(const nb_responses *responses, search *state) {
    if (++state->place >= responses->document_roots->served.count) return false;
    look_at(state, 0);
    return true;
}

/* Moves on to the sibling with the preferred coding. False: the file itself is sent. */
static bool look_at_coding(search *state, const static_request *request, nb_file *file) {
    if (!file->siblings) return false;
    nb_encoding encoding = nb_encoding_choose(request->file_request.accept_encoding, file->siblings);
    nb_slice ending = nb_encoding_extension(encoding);
    if (encoding == NB_ENCODING_NONE || ending.size == 0) return false;
    if (state->path.size + ending.size > NB_FILE_PATH_BYTES_MAX) return false;
    memcpy(state->path.text + state->path.size, ending.data, ending.size);
    state->path.size = (uint16_t)(state->path.size + ending.size);
    state->path.text[state->path.size] = '\0';
    state->encoding = (uint8_t)encoding;
    state->plain = file;
    return true;
}

/* Nothing was found: moves on to the next place. False: there is none. */
static bool look_elsewhere(const nb_responses *responses, search *state) {
    if (state->index > 0 && look_at_next_index(responses, state)) return true;
    return look_at_next_folder(responses, state);
}

/* Whether the log is to tell of a refused link: once for each, as far as they can be kept. */
static bool is_new(nb_told_links *told, nb_slice path, int64_t now_ns) {
    uint32_t hash = nb_hash(path.data, path.size);
    for (uint16_t i = 0; i < told->count; i++)
        if (told->each[i] == hash) return false;
    if (told->count == NB_TOLD_LINKS_MAX) return nb_log_due(&told->told_ns, now_ns);
    told->each[told->count++] = hash;
    return true;
}

static const char *way_out(const nb_document_roots *roots) {
    if (!roots->files_command) return "the setting `symlinks` lets none lead";
    return roots->symlinks == NB_SYMLINKS_OWNER ? "--symlinks owner lets none lead; --symlinks follow does"
                                                : "none may lead without --symlinks owner, or follow";
}

static void log_refusal(nb_responses *responses, const search *state, int error) {
    const nb_root *root = nb_open_files_root(nb_responses_files(responses), root_of(responses, state),
                                             responses->time->now_ns);
    char name[NB_LOG_NAME_BYTES];
    nb_log_name(name, nb_file_path_slice(&state->path));
    const char *folder = root ? root->path : "a folder";
    if (error == EXDEV || error == ELOOP) {
        if (!is_new(&responses->told_links, nb_file_path_slice(&state->path), responses->time->now_ns)) return;
        nb_log_line(responses->log, "%s under %s is not served: a symbolic link on the way leads where %s", name,
                    folder, way_out(responses->document_roots));
    } else if (error == EACCES) {
        nb_log_line(responses->log, "%s under %s (public_dir) is not served: this user may not read it", name, folder);
    } else {
        nb_log_line(responses->log, "%s under %s (public_dir) cannot be opened: %s", name, folder, strerror(error));
    }
}

/* Errors that mean: there is no such file to serve. */
static bool is_absence(int error) {
    return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ENXIO || error == EISDIR;
}

/* A look has failed. True: look again at the new place. False: *result. */
static bool look_failed(nb_responses *responses, search *state, int error, search_result *result) {
    *result = SEARCH_NONE;
    if (nb_os_descriptors_short(error)) {
        *result = SEARCH_BUSY;
        return false;
    }
    if (!is_absence(error) && !state->refused) log_refusal(responses, state, error);
    state->refused = state->refused || !is_absence(error);
    if (error == EISDIR && state->index == 0 && look_at_next_index(responses, state)) return true;
    return look_elsewhere(responses, state);
}

/* Runs the search until it has a result. status, *file: result of the last look; NB_AGAIN: none was
 * made yet. SEARCH_FILE: *file is held. */
static search_result run_search(nb_responses *responses, search *state, const static_request *request, nb_status status,
                                nb_file **file) {
    search_result result = SEARCH_NONE;
    bool first = status == NB_AGAIN;
    for (;; first = true) {
        if (first)
            status = nb_open_files_find(nb_responses_files(responses), root_of(responses, state), &state->path,
                                        responses->time->now_ns, file);
        int error = errno;
        if (status == NB_AGAIN) return SEARCH_LATER;
        if (status == NB_OK && state->path.folder) { /* "a.txt/" */
            nb_file_release(*file);
            status = NB_SYSTEM;
            error = ENOTDIR;
        }
        if (status == NB_OK && state->plain) return SEARCH_FILE;
        if (status == NB_OK && state->index > 0 && !state->folder) {
            nb_file_release(*file);
            return SEARCH_FOLDER;
        }
        if (status == NB_OK) {
            if (!look_at_coding(state, request, *file)) return SEARCH_FILE;
            continue;
        }
        if (state->plain) { /* the sibling is gone: the original is sent */
            *file = state->plain;
            state->plain = NULL;
            state->encoding = NB_ENCODING_IDENTITY;
            return SEARCH_FILE;
        }
        if (status != NB_SYSTEM) return status == NB_NO_MEMORY ? SEARCH_FAILED : SEARCH_NONE;
        if (!look_failed(responses, state, error, &result)) return result;
    }
}

/* --- what it has come to --- */

static nb_status answer_file(nb_responses *responses, nb_exchange *exchange, const search *state,
                             const static_request *request, nb_file *file) {
    /* Type and cache rules are those of the original. */
    const nb_file *plain = state->plain ? state->plain : file;
    char bytes[NB_FILE_LINES_BYTES_MAX], etag[NB_ETAG_BYTES_MAX];
    nb_file_lines lines = {.bytes = bytes};
    nb_slice tag = {etag, nb_etag_write(etag, &file->facts, state->encoding, responses->time->wall_s * NB_NS_PER_S)};
    int64_t modified_s = nb_file_modified_s(file->facts.modified_ns);
    if (modified_s > responses->time->wall_s)
        modified_s = responses->time->wall_s; /* not later than Date (RFC 9110 section 8.8.2.1) */
    nb_file_line(&lines, NB_SLICE("Content-Type"), plain->content_type);
    nb_file_line_date(&lines, NB_SLICE("Last-Modified"), modified_s);
    nb_file_line(&lines, NB_SLICE("ETag"), tag);
    nb_file_line(&lines, NB_SLICE("Accept-Ranges"), NB_SLICE("bytes"));
    if (plain->cache_control.size) nb_file_line(&lines, NB_SLICE("Cache-Control"), plain->cache_control);
    if (state->encoding != NB_ENCODING_IDENTITY)
        nb_file_line(&lines, NB_SLICE("Content-Encoding"), nb_encoding_name((nb_encoding)state->encoding));
    if (plain->siblings) nb_file_line(&lines, NB_SLICE("Vary"), NB_SLICE("Accept-Encoding"));
    nb_file_offer offer = {
        .file = file,
        .size = file->facts.size,
        .status = 200,
        .content_type = plain->content_type,
        .lines = {lines.bytes, lines.size},
        .validators = {.etag = tag, .modified_s = modified_s},
        .request = &request->file_request,
    };
    return nb_file_response(responses, exchange, &offer);
}

/* Adds part of a URL as sent, percent-encoding what must be (RFC 3986 section 2.1). */
static void add_encoded(nb_text *text, nb_slice sent) {
    for (size_t i = 0; i < sent.size; i++) {
        unsigned char byte = (unsigned char)sent.data[i];
        if (byte >= 0x80 || strchr("\"<>\\", byte)) {
            nb_text_format(text, "%%%02X", byte);
        } else {
            nb_text_add_bytes(text, sent.data + i, 1);
        }
    }
}

/* Redirects to the path with "/". The path has no empty segment, so it is never read as
 * "//host". */
static nb_status answer_folder(nb_responses *responses, nb_exchange *exchange, const static_request *request) {
    nb_text fields;
    nb_text_init(&fields, LOCATION_BYTES_MAX);
    nb_text_add(&fields, "Location: ");
    add_encoded(&fields, request->path);
    nb_text_add(&fields, request->query.size ? "/?" : "/");
    add_encoded(&fields, request->query);
    nb_text_add(&fields, "\r\n");
    nb_status status = nb_text_failed(&fields)
                           ? NB_NO_MEMORY
                           : nb_compose_whole(responses, exchange, 301, nb_text_slice(&fields), (nb_slice){"", 0});
    nb_text_deinit(&fields);
    return status;
}

/* Answers by the result of the search. Releases the file. */
static nb_static_result answer_result(nb_responses *responses, nb_exchange *exchange, search *state,
                                      const static_request *request, search_result what, nb_file *file) {
    nb_status status = NB_OK;
    switch (what) {
    case SEARCH_FILE:
        status = answer_file(responses, exchange, state, request, file);
        nb_file_release(file);
        drop_plain(state);
        break;
    case SEARCH_FOLDER:
        status = answer_folder(responses, exchange, request);
        break;
    case SEARCH_NONE:
        return NB_STATIC_NONE;
    case SEARCH_BUSY:
        return NB_STATIC_BUSY;
    case SEARCH_LATER:
        return NB_STATIC_WAITS;
    case SEARCH_FAILED:
        return NB_STATIC_FAILED;
    }
    return status == NB_OK ? NB_STATIC_ANSWERED : NB_STATIC_FAILED;
}

/* --- waits --- */

static void free_waiting(waiting *self) {
    nb_file_release(self->search.plain);
    if (self->message) nb_request_message_free(self->message);
    nb_free(self);
}

static void resume_search(void *context, nb_exchange *exchange, nb_file_wait *wait, nb_status status, nb_file *file);

/* Waits for the disk. Takes the original file of the search, also on failure. */
static nb_static_result begin_wait(nb_responses *responses, nb_exchange *exchange, const search *state,
                                   const static_request *request, const nb_request_facts *facts) {
    size_t request_bytes = nb_file_request_bytes(&request->file_request);
    waiting *self = nb_alloc(sizeof(*self) + request_bytes);
    nb_request_message *message = self ? nb_alloc(nb_request_message_bytes(facts)) : NULL;
    if (!message) {
        nb_free(self);
        nb_file_release(state->plain);
        return NB_STATIC_FAILED;
    }
    nb_request_message_write(message, facts);
    self->message = message;
    self->search = *state;
    self->request_bytes = request_bytes;
    self->wait.opened = resume_search;
    if (request_bytes) nb_file_request_write(self->request, &request->file_request);
    nb_status status = nb_file_wait_begin(&responses->openings, exchange, &self->wait, root_of(responses, state),
                                          &self->search.path);
    if (status == NB_OK) return NB_STATIC_WAITS;
    free_waiting(self);
    return NB_STATIC_BUSY;
}

static nb_slice span_of(const nb_request_message *message, nb_span span) {
    return (nb_slice){(const char *)message + span.offset, span.size};
}

/* Goes on with a search when the disk has answered. */
static void resume_search(void *context, nb_exchange *exchange, nb_file_wait *wait, nb_status status, nb_file *file) {
    nb_responses *responses = context;
    waiting *self = (waiting *)(void *)wait;
    if (!exchange) {
        free_waiting(self);
        return;
    }
    nb_request_message *message = self->message;
    static_request request = {.path = span_of(message, message->path), .query = span_of(message, message->query)};
    nb_file_request_read(&request.file_request, (nb_slice){self->request, self->request_bytes});
    request.file_request.method = message->method;
    search_result what = run_search(responses, &self->search, &request, status, &file);
    if (what == SEARCH_LATER) {
        nb_status again = nb_file_wait_begin(&responses->openings, exchange, wait, root_of(responses, &self->search),
                                             &self->search.path);
        if (again == NB_OK) return;
        what = SEARCH_BUSY;
    }
    nb_static_result result = answer_result(responses, exchange, &self->search, &request, what, file);
    self->message = NULL;
    responses->events->static_result(responses->owner, exchange, result, message);
    free_waiting(self);
}

/* --- the beginning --- */

static bool may_be_static(const nb_responses *responses, const nb_head *head) {
    if (!nb_responses_files(responses) || responses->document_roots->served.count == 0) return false;
    bool form = head->target_form == NB_TARGET_ORIGIN || head->target_form == NB_TARGET_ABSOLUTE;
    return form && (head->method == NB_METHOD_GET || head->method == NB_METHOD_HEAD);
}

nb_static_result nb_static_respond(nb_responses *responses, nb_exchange *exchange, const nb_request_facts *facts) {
    const nb_head *head = facts->head;
    char room[NB_FILE_REQUEST_BYTES_MAX];
    search state;
    nb_file *file = NULL;
    if (!may_be_static(responses, head) || nb_file_path_decode(head->path, &state.path) != NB_OK) return NB_STATIC_NONE;
    state.place = state.index = 0;
    state.base_bytes = state.path.size;
    state.folder = state.path.folder;
    state.refused = false;
    state.encoding = NB_ENCODING_IDENTITY;
    state.plain = NULL;
    static_request request = {.path = head->path, .query = head->query};
    nb_file_request_of_head(&request.file_request, head, room);
    search_result what = run_search(responses, &state, &request, NB_AGAIN, &file);
    if (what == SEARCH_LATER) return begin_wait(responses, exchange, &state, &request, facts);
    return answer_result(responses, exchange, &state, &request, what, file);
}
