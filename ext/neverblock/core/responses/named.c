/*
 * named.c - see named.h.
 */
#include "responses/named.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "http/date.h"
#include "os/clock.h"
#include "os/net.h"
#include "responses/file_response.h"
#include "responses/compose.h"

/* Bytes of the lines "ETag: " and "Accept-Ranges: bytes", which are added if the application sends
 * neither. */
#define ADDED_BYTES_MAX (NB_ETAG_BYTES_MAX + 64u)

/* What follows the struct of the message. */
typedef struct named_parts {
    nb_slice lines, path, id, request;
} named_parts;

/* A response that waits for the disk. */
typedef struct waiting {
    nb_file_wait wait;
    nb_named_message named;
    bool cut; /* what is opened is the path before its query */
    char rest[];
} waiting;

static named_parts parts_of(const nb_named_message *named, const char *rest) {
    named_parts parts = {.lines = {rest, named->response.fields_bytes}};
    parts.path = (nb_slice){rest + parts.lines.size, named->path_bytes};
    parts.id = (nb_slice){parts.path.data + parts.path.size, named->id_bytes};
    parts.request = (nb_slice){parts.id.data + parts.id.size, named->request_bytes};
    return parts;
}

/* --- the response --- */

/* The application's ETag and Last-Modified count. An ETag is added if it sends none. A
 * Last-Modified is not: a cache may keep a response with one without asking (RFC 9111 section
 * 4.2.2), and only the application knows whether it may. */
static nb_file_offer offer_of(const nb_named_message *named, named_parts parts, nb_slice tag, int64_t now_s) {
    nb_file_offer offer = {
        .status = named->response.status,
        .lines = parts.lines,
        .content_type = nb_file_lines_find(parts.lines, NB_SLICE("content-type")),
        .validators = {.etag = nb_file_lines_find(parts.lines, NB_SLICE("etag")), .modified_s = NB_NO_DATE},
        .has_date = (named->response.message.flags & NB_RESPONSE_HAS_DATE) != 0,
        .taken_ns = named->response.taken_ns};
    nb_slice modified = nb_file_lines_find(parts.lines, NB_SLICE("last-modified"));
    int64_t modified_s;
    if (modified.size && nb_http_date_parse(modified, now_s, &modified_s)) offer.validators.modified_s = modified_s;
    if (offer.validators.etag.size == 0) offer.validators.etag = tag;
    return offer;
}

static nb_status send(nb_responses *responses, nb_exchange *exchange, const nb_named_message *named, named_parts parts,
                      nb_file *file) {
    char etag[NB_ETAG_BYTES_MAX];
    nb_file_request request;
    nb_slice tag = {etag,
                    nb_etag_write(etag, &file->facts, NB_ENCODING_IDENTITY, responses->time->wall_s * NB_NS_PER_S)};
    nb_file_offer offer = offer_of(named, parts, tag, responses->time->wall_s);
    uint64_t announced = named->response.content_length;
    offer.file = file;
    offer.size = announced < file->facts.size ? announced : file->facts.size;
    exchange->response.application_closes = (named->response.message.flags & NB_RESPONSE_CLOSE) != 0;
    bool conditional = named->conditional && offer.size == file->facts.size;
    if (!conditional || !nb_file_request_read(&request, parts.request))
        return nb_file_response(responses, exchange, &offer);
    request.method = exchange->response.head_request ? NB_METHOD_HEAD : NB_METHOD_GET;
    offer.request = &request;
    nb_file_lines lines = {.bytes = nb_alloc(parts.lines.size + ADDED_BYTES_MAX)};
    if (!lines.bytes) return NB_NO_MEMORY;
    nb_file_lines_add(&lines, parts.lines);
    if (offer.validators.etag.data == tag.data) nb_file_line(&lines, NB_SLICE("ETag"), tag);
    if (!nb_file_lines_find(parts.lines, NB_SLICE("accept-ranges")).data)
        nb_file_line(&lines, NB_SLICE("Accept-Ranges"), NB_SLICE("bytes"));
    offer.lines = (nb_slice){lines.bytes, lines.size};
    nb_status status = nb_file_response(responses, exchange, &offer);
    nb_free(lines.bytes);
    return status;
}

/* --- refusals --- */

static const char *field_of(const nb_named_message *named) {
    return named->naming == NB_NAMED_ACCEL ? "X-Accel-Redirect" : "X-Sendfile";
}

/* The client is told 404 only; the reason is logged. */
static nb_status refuse(nb_responses *responses, nb_exchange *exchange, const nb_named_message *named,
                        named_parts parts, nb_download_result result, const char *why) {
    nb_downloads_answered(responses->downloads, result);
    if (exchange->report) exchange->report->result = (uint16_t)result;
    char path[NB_LOG_NAME_BYTES];
    nb_log_name(path, parts.path);
    nb_log_line(responses->log, "%s: %s is not sent (404): %s", field_of(named), path, why);
    exchange->response.application_closes = (named->response.message.flags & NB_RESPONSE_CLOSE) != 0;
    return nb_compose_own(responses, exchange, 404, "", "");
}

static nb_status failed(nb_responses *responses, nb_exchange *exchange, const nb_named_message *named,
                        named_parts parts, int error) {
    switch (error) {
    case EMFILE:
    case ENFILE:
        exchange->shed = true;
        NB_COUNT(responses->counters, shed, 1);
        return nb_compose_own(responses, exchange, 503, NB_NO_DESCRIPTOR_REASON, "Retry-After: 1\r\n");
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
        return refuse(responses, exchange, named, parts, NB_DOWNLOAD_missing, "there is no such file");
    case EISDIR:
        return refuse(responses, exchange, named, parts, NB_DOWNLOAD_missing, "it is a folder");
    case ENXIO:
        return refuse(responses, exchange, named, parts, NB_DOWNLOAD_missing,
                      "it is no file but a device, a socket or a pipe");
    case EACCES:
        return refuse(responses, exchange, named, parts, NB_DOWNLOAD_refused,
                      "the user of the process that listens, which opens it, may not read it (the file, or a folder on "
                      "the way); a body with to_path is opened where the application runs");
    case EXDEV:
        return refuse(responses, exchange, named, parts, NB_DOWNLOAD_refused,
                      "a symbolic link on the way leads where the setting `symlinks` lets none lead");
    default:
        return refuse(responses, exchange, named, parts, NB_DOWNLOAD_missing, strerror(error));
    }
}

/* --- which file --- */

/* The part of `path` under the folder; no data: it is not under it. */
static nb_slice under(nb_slice path, const char *folder, size_t bytes) {
    while (bytes > 0 && folder[bytes - 1] == '/')
        bytes--;
    if (path.size <= bytes + 1 || memcmp(path.data, folder, bytes) != 0 || path.data[bytes] != '/')
        return (nb_slice){NULL, 0};
    return (nb_slice){path.data + bytes + 1, path.size - bytes - 1};
}

/* The innermost document root that holds the path. Compared with the path of the root as
 * configured, and without links. */
static bool find_root(const nb_responses *responses, nb_slice path, uint16_t *number, nb_slice *name) {
    const nb_root_numbers *roots = &responses->document_roots->named;
    *name = (nb_slice){NULL, SIZE_MAX};
    for (uint16_t i = 0; i < roots->count; i++) {
        const nb_root *root = nb_open_files_root(nb_responses_files(responses), roots->each[i],
                                                 responses->time->now_ns);
        if (!root) continue;
        nb_slice rest = under(path, root->path, strlen(root->path));
        if (!rest.data) rest = under(path, root->real, root->real_bytes);
        if (!rest.data || rest.size >= name->size) continue;
        *name = rest;
        *number = roots->each[i];
    }
    return name->data != NULL;
}

static const char no_path[] = "that is no path of a file";

/* Finds the document root and the path under it. NULL: *number and *path are set. Else the reason
 * why not. */
static const char *resolve(const nb_responses *responses, const nb_named_message *named, nb_slice text,
                           uint16_t *number, nb_file_path *path) {
    if (!nb_responses_files(responses)) return "the server that sends files was told of no folder";
    if (named->naming == NB_NAMED_ACCEL) {
        const nb_accel_prefix *accel = nb_document_roots_find_accel(responses->document_roots, text);
        if (!accel) return "no `accel` maps the beginning of its path";
        nb_slice rest = {text.data + accel->prefix.size - 1, text.size - accel->prefix.size + 1};
        *number = accel->root;
        if (nb_file_path_decode(rest, path) == NB_OK) return path->folder ? no_path : NULL;
        bool plain = !memchr(rest.data, '%', rest.size); /* nginx also takes unencoded paths */
        nb_slice name = {rest.data + 1, rest.size - 1};
        return plain && nb_file_path_take(name, path) == NB_OK ? NULL : no_path;
    }
    nb_slice name;
    if (!find_root(responses, text, number, &name)) return "it lies in none of the folders of `sendfile { roots }`";
    return nb_file_path_take(name, path) == NB_OK ? NULL : no_path;
}

/* --- the disk --- */

/* One look for the file: by the path as written, or without its query. */
typedef struct look {
    nb_responses *responses;
    nb_exchange *exchange;
    const nb_named_message *named;
    const char *rest; /* the bytes behind the message's struct */
    named_parts parts;
    bool cut;
} look;

static nb_status find(look self);

/* An X-Accel-Redirect is a URL, and may have a query, which names no file. Rack::Sendfile of old
 * does not encode the "?" of a name: such a name is found as it is written, before it is cut. */
static bool may_cut(const look *self) {
    return self->named->naming == NB_NAMED_ACCEL && !self->cut &&
           memchr(self->parts.path.data, '?', self->parts.path.size) != NULL;
}

static nb_status find_cut(look self) {
    self.cut = true;
    return find(self);
}

static bool is_missing(int error) { return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG; }

static nb_status answer_opened(look self, nb_status status, nb_file *file) {
    int error = errno;
    if (status == NB_SYSTEM && is_missing(error) && may_cut(&self)) return find_cut(self);
    if (status == NB_SYSTEM) return failed(self.responses, self.exchange, self.named, self.parts, error);
    if (status != NB_OK) return NB_NO_MEMORY;
    status = send(self.responses, self.exchange, self.named, self.parts, file);
    nb_file_release(file);
    return status;
}

static void resume(void *context, nb_exchange *exchange, nb_file_wait *wait, nb_status status, nb_file *file) {
    nb_responses *responses = context;
    waiting *self = (waiting *)(void *)wait;
    if (exchange) {
        look looked = {.responses = responses,
                       .exchange = exchange,
                       .named = &self->named,
                       .rest = self->rest,
                       .parts = parts_of(&self->named, self->rest),
                       .cut = self->cut};
        status = answer_opened(looked, status, file);
        bool waits = status == NB_OK && !exchange->ended; /* for the path without its query */
        if (!waits) responses->events->named_answered(responses->owner, exchange, status);
    }
    nb_free(self);
}

static nb_status wait(const look *looked, uint16_t number, const nb_file_path *path) {
    size_t rest_bytes = looked->named->response.message.bytes - sizeof(*looked->named);
    waiting *self = nb_alloc(sizeof(*self) + rest_bytes);
    if (!self) return NB_NO_MEMORY;
    self->named = *looked->named;
    self->cut = looked->cut;
    self->wait.opened = resume;
    memcpy(self->rest, looked->rest, rest_bytes);
    nb_exchange *exchange = looked->exchange;
    nb_status status = nb_file_wait_begin(&looked->responses->openings, exchange, &self->wait, number, path);
    if (status == NB_OK) {
        exchange->channel = NB_CHANNEL_NONE; /* its executor is done with it */
        return NB_OK;
    }
    nb_free(self);
    return failed(looked->responses, exchange, looked->named, looked->parts, EMFILE);
}

static nb_slice before_query(nb_slice path) {
    const char *question = memchr(path.data, '?', path.size);
    return (nb_slice){path.data, (size_t)(question - path.data)};
}

static nb_status find(look self) {
    nb_responses *responses = self.responses;
    uint16_t number = 0;
    nb_file_path path;
    nb_file *file = NULL;
    nb_slice text = self.cut ? before_query(self.parts.path) : self.parts.path;
    const char *why = resolve(responses, self.named, text, &number, &path);
    if (why && may_cut(&self)) return find_cut(self);
    if (why) return refuse(responses, self.exchange, self.named, self.parts, NB_DOWNLOAD_refused, why);
    nb_status status = nb_open_files_find(nb_responses_files(responses), number, &path, responses->time->now_ns, &file);
    if (status == NB_AGAIN) return wait(&self, number, &path);
    return answer_opened(self, status, file);
}

nb_status nb_named_respond(nb_responses *responses, nb_exchange *exchange, const nb_named_message *named,
                           const char *rest) {
    named_parts parts = parts_of(named, rest);
    nb_file *file = NULL;
    NB_COUNT(responses->counters, responses, 1);
    if (parts.id.size) nb_reports_begin(responses->reports, exchange, parts.id, parts.path);
    look looked = {.responses = responses, .exchange = exchange, .named = named, .rest = rest, .parts = parts};
    if (named->naming != NB_NAMED_OPEN) return find(looked);
    if (nb_file_wrap((int)named->fd, &file) != NB_OK) return NB_NO_MEMORY;
    file->facts.size = named->size;
    file->facts.modified_ns = named->modified_ns;
    return answer_opened(looked, NB_OK, file);
}
