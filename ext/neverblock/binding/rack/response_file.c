/*
 * response_file.c - see response_file.h.
 */
#include "binding/rack/response_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binding/base/module.h"
#include "binding/ports/port.h"
#include "binding/ports/writing.h"
#include "binding/rack/env_keys.h"
#include "binding/rack/response_parts.h"
#include "binding/rack/timing.h"
#include "files/file_request.h"
#include "http/head.h"

#ifdef __APPLE__
#define MODIFIED(found) (found)->st_mtimespec
#else
#define MODIFIED(found) (found)->st_mtim
#endif

static int64_t modified_ns(const struct stat *found) {
    return (int64_t)MODIFIED(found).tv_sec * 1000000000 + MODIFIED(found).tv_nsec;
}

static int open_regular(const char *path, struct stat *found) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    if (fstat(fd, found) == 0 && S_ISREG(found->st_mode)) return fd;
    close(fd);
    return -1;
}

/* The conditions of the request for the file, as the application and its middleware have left them
   in the environment. */
typedef struct conditions {
    nb_file_request request;
    VALUE values[NB_FIELD_COUNT]; /* the strings that `request` points into */
    bool apply;
} conditions;

static nb_slice condition(conditions *read, const nb_task *task, nb_field field) {
    VALUE value = read->apply ? rb_hash_lookup(task->env, nb_env_field_keys[field]) : Qnil;
    if (!RB_TYPE_P(value, T_STRING)) return (nb_slice){NULL, 0};
    read->values[field] = rb_str_new_frozen(value);
    return nb_string_slice(read->values[field]);
}

static void read_conditions(conditions *read, const nb_task *task, const nb_response_head *gathered) {
    VALUE method = rb_hash_lookup(task->env, nb_env_keys.request_method);
    bool get = RB_TYPE_P(method, T_STRING) && nb_slice_equal(nb_string_slice(method), NB_SLICE("GET"));
    memset(read, 0, sizeof(*read));
    read->apply = (get || task->head_request) && gathered->status == 200 && !gathered->ranged && !gathered->encoded;
    read->request = (nb_file_request){
        .method = task->head_request ? NB_METHOD_HEAD : NB_METHOD_GET,
        .if_match = condition(read, task, NB_FIELD_IF_MATCH),
        .if_none_match = condition(read, task, NB_FIELD_IF_NONE_MATCH),
        .if_modified_since = condition(read, task, NB_FIELD_IF_MODIFIED_SINCE),
        .if_unmodified_since = condition(read, task, NB_FIELD_IF_UNMODIFIED_SINCE),
    };
    if (gathered->unranged) return;
    read->request.if_range = condition(read, task, NB_FIELD_IF_RANGE);
    read->request.range = condition(read, task, NB_FIELD_RANGE);
}

static void put_bytes(char **out, const char *bytes, size_t size) {
    if (size) memcpy(*out, bytes, size);
    *out += size;
}

/* Sends `path`, or the head's descriptor, which is the loop's from now on. Beside a descriptor the
   path is what a report of the download says. */
static void send_named(nb_task *task, nb_response_head *gathered, VALUE path, const struct stat *found) {
    conditions read;
    nb_timing_add_field(task, gathered);
    read_conditions(&read, task, gathered);
    size_t path_bytes = RTEST(path) ? (size_t)RSTRING_LEN(path) : 0;
    if (path_bytes > NB_NAMED_PATH_BYTES_MAX) path_bytes = NB_NAMED_PATH_BYTES_MAX;
    size_t id_bytes = RTEST(gathered->id) ? (size_t)RSTRING_LEN(gathered->id) : 0;
    size_t request_bytes = nb_file_request_bytes(&read.request);
    size_t bytes = sizeof(nb_named_message) + gathered->size + path_bytes + id_bytes + request_bytes;
    nb_named_message *part = gathered->fd >= 0 ? nb_executor_reserve_with(task, bytes, gathered->fd)
                                               : nb_executor_reserve(task, bytes);
    *part = (nb_named_message){
        .response = {.message = {.type = NB_MESSAGE_NAMED,
                                 .flags = (uint16_t)(gathered->flags | NB_PART_LAST),
                                 .bytes = (uint32_t)bytes,
                                 .exchange = task->exchange},
                     .content_length = gathered->content_length,
                     .taken_ns = task->taken_ns,
                     .status = (uint16_t)gathered->status,
                     .fields_bytes = (uint32_t)gathered->size},
        .fd = gathered->fd,
        .size = found ? (uint64_t)found->st_size : 0,
        .modified_ns = found ? modified_ns(found) : 0,
        .naming = gathered->naming,
        .conditional = read.apply,
        .path_bytes = (uint32_t)path_bytes,
        .id_bytes = (uint32_t)id_bytes,
        .request_bytes = (uint32_t)request_bytes,
    };
    char *out = (char *)(part + 1);
    put_bytes(&out, gathered->bytes, gathered->size);
    if (path_bytes) put_bytes(&out, RSTRING_PTR(path), path_bytes);
    if (id_bytes) put_bytes(&out, RSTRING_PTR(gathered->id), id_bytes);
    if (request_bytes) nb_file_request_write(out, &read.request);
    if (gathered->fd >= 0 && nb_channel_is_shared(task->port->channel)) close(gathered->fd);
    gathered->fd = -1;
    nb_timing_note_head(task);
    nb_response_end(task);
    nb_executor_send(task, bytes);
    RB_GC_GUARD(path);
}

/* The server has the whole file, and no way to know a part of it that the application thought of.
   Which part is sent is for the request's Range alone to say, as with X-Accel-Redirect of nginx. */
static void forget_part(nb_response_head *gathered) {
    if (gathered->status == 206) gathered->status = 200;
    if (!gathered->ranged || gathered->status == 416) return;
    nb_response_head_remove(gathered, NB_SLICE("content-range"));
    gathered->ranged = false;
}

void nb_response_send_path(nb_task *task, nb_response_head *gathered) {
    if (RSTRING_LEN(gathered->path) > NB_NAMED_PATH_BYTES_MAX)
        rb_raise(nb_error_class, "the path of X-Sendfile or X-Accel-Redirect has more than %u bytes",
                 NB_NAMED_PATH_BYTES_MAX);
    gathered->content_length = NB_CONTENT_LENGTH_UNKNOWN;
    gathered->flags &= (uint16_t)~NB_RESPONSE_HAS_LENGTH;
    forget_part(gathered);
    send_named(task, gathered, gathered->path, NULL);
}

/* A part of the file is what the body's each yields: the path does not say which part. */
static bool is_part(const nb_response_head *gathered, uint64_t bytes) {
    return gathered->status == 206 || gathered->ranged || gathered->content_length < bytes;
}

/* The file is opened where the application runs, as the application has chosen it. */
bool nb_response_send_file(nb_task *task, nb_response_head *gathered, VALUE body) {
    VALUE path = rb_funcall(body, rb_intern("to_path"), 0);
    if (NIL_P(path)) return false;
    path = rb_get_path(path); /* Rails gives the Pathname that its send_file was called with */
    struct stat found;
    gathered->fd = open_regular(StringValueCStr(path), &found);
    if (gathered->fd < 0) return false;
    uint64_t bytes = (uint64_t)found.st_size, announced = gathered->content_length;
    if (is_part(gathered, bytes)) {
        close(gathered->fd);
        gathered->fd = -1;
        return false;
    }
    if (announced != NB_CONTENT_LENGTH_UNKNOWN && bytes < announced) nb_response_check_length(announced, bytes);
    gathered->naming = NB_NAMED_OPEN;
    send_named(task, gathered, RTEST(gathered->id) ? path : Qfalse, &found);
    return true;
}
