/*
 * c_executor_plan.c - how a C executor answers a request: the task that its path asks for. See
 * c_executor.h for the paths.
 */
#include "support/c_executor_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/pattern_file.h"

uint64_t nb_test_task_number_max = UINT64_MAX;

void nb_test_task_keep_text(nb_test_task *t, const char *text) {
    t->memory = strdup(text);
    t->announced = t->total = strlen(text);
}

static bool number_behind(const char *path, const char *prefix, uint64_t *number) {
    if (strncmp(path, prefix, strlen(prefix)) != 0) return false;
    *number = strtoull(path + strlen(prefix), NULL, 10);
    if (*number > nb_test_task_number_max) *number = nb_test_task_number_max;
    return true;
}

static bool plan_reader(nb_test_task *t, const char *path, const nb_request_message *request) {
    if (!(request->message.flags & NB_REQUEST_STREAMS)) return false;
    if (strcmp(path, "/count") == 0) {
        t->kind = NB_TEST_TASK_READ;
        t->reads = true;
    } else if (strcmp(path, "/slow") == 0) {
        t->kind = NB_TEST_TASK_READ;
    } else if (strcmp(path, "/duplex") == 0 || strcmp(path, "/headfirst") == 0) {
        t->kind = NB_TEST_TASK_DUPLEX;
        t->reads = strcmp(path, "/duplex") == 0;
        t->announced = NB_CONTENT_LENGTH_UNKNOWN;
    } else if (strcmp(path, "/silent") == 0) {
        t->kind = NB_TEST_TASK_HOLD;
        nb_test_task_keep_text(t, "silent");
    } else {
        return false;
    }
    return true;
}

static nb_slice field_of(const nb_request_message *request, nb_field field) {
    for (uint32_t i = 0; i < request->header_count; i++) {
        const nb_request_header *header = &request->headers[i];
        if (header->field == (uint32_t)field)
            return (nb_slice){(const char *)request + header->value.offset, header->value.size};
    }
    return (nb_slice){NULL, 0};
}

static void keep_conditions(nb_test_task *t, const nb_request_message *request) {
    const nb_file_request asked = {.method = request->method,
                                   .if_none_match = field_of(request, NB_FIELD_IF_NONE_MATCH),
                                   .if_modified_since = field_of(request, NB_FIELD_IF_MODIFIED_SINCE),
                                   .if_match = field_of(request, NB_FIELD_IF_MATCH),
                                   .range = field_of(request, NB_FIELD_RANGE)};
    t->asked_bytes = nb_file_request_bytes(&asked);
    if (t->asked_bytes) nb_file_request_write(t->asked_of_file, &asked);
}

/* What stands behind the first `skipped` bytes of the request's target, with its query. */
static char *named_by(const nb_request_message *request, size_t skipped) {
    return strndup((const char *)request + request->target.offset + skipped, request->target.size - skipped);
}

static bool plan_file(nb_test_task *t, const char *path, const nb_request_message *request) {
    uint64_t number;
    bool is_short = number_behind(path, "/fileshort/", &number);
    t->announced = NB_CONTENT_LENGTH_UNKNOWN;
    if (is_short || number_behind(path, "/file/", &number)) {
        t->file_fd = nb_test_pattern_file(number - (is_short && number > 0));
        t->announced = t->file_bytes = number;
        t->naming = NB_NAMED_OPEN;
    } else if (strncmp(path, "/sendfile/", 10) == 0) {
        t->memory = named_by(request, 9);
        t->naming = NB_NAMED_SENDFILE;
    } else if (strncmp(path, "/accel/", 7) == 0) {
        t->memory = named_by(request, 6);
        t->naming = NB_NAMED_ACCEL;
    } else {
        return false;
    }
    t->kind = NB_TEST_TASK_NAMED;
    keep_conditions(t, request);
    return true;
}

static bool plan_stream(nb_test_task *t, const char *path) {
    uint64_t number;
    if (number_behind(path, "/chunked/", &number)) {
        t->announced = NB_CONTENT_LENGTH_UNKNOWN;
    } else if (number_behind(path, "/lump/", &number)) {
        t->parks = false;
        t->announced = number;
    } else if (number_behind(path, "/big/", &number)) {
        t->announced = number;
    } else {
        return false;
    }
    t->total = number;
    return true;
}

static bool plan_abort(nb_test_task *t, const char *path) {
    if (strcmp(path, "/aborthead") == 0) {
        t->kind = NB_TEST_TASK_ABORT;
        return true;
    }
    if (strncmp(path, "/abort", 6) != 0) return false;
    t->total = 100;
    t->announced = strcmp(path, "/abortchunked") == 0 ? NB_CONTENT_LENGTH_UNKNOWN : 100;
    t->abort_at = 10;
    return true;
}

static bool plan_text(nb_test_task *t, const char *path) {
    uint64_t number;
    if (strcmp(path, "/hello") == 0) {
        nb_test_task_keep_text(t, "hello");
    } else if (strcmp(path, "/hold") == 0) {
        nb_test_task_keep_text(t, "held");
        t->kind = NB_TEST_TASK_HOLD;
    } else if (strcmp(path, "/hints") == 0) {
        nb_test_task_keep_text(t, "held");
        t->kind = NB_TEST_TASK_HOLD;
        t->hints = 2;
    } else if (number_behind(path, "/hints/", &number)) {
        nb_test_task_keep_text(t, "hinted");
        t->hints = (unsigned)number;
    } else if (strcmp(path, "/hintslate") == 0) {
        t->announced = t->total = 300000;
        t->hints_late = true;
    } else if (strcmp(path, "/late") == 0) {
        nb_test_task_keep_text(t, "late");
        t->kind = NB_TEST_TASK_LATE;
    } else if (strcmp(path, "/never") == 0) {
        t->kind = NB_TEST_TASK_NEVER;
    } else if (strcmp(path, "/block") == 0) {
        nb_test_task_keep_text(t, "blocked");
    } else if (strcmp(path, "/close") == 0) {
        nb_test_task_keep_text(t, "hello");
        t->flags |= NB_RESPONSE_CLOSE;
    } else if (strcmp(path, "/short") == 0) {
        nb_test_task_keep_text(t, "12345");
        t->announced = 10;
    } else if (strcmp(path, "/long") == 0) {
        nb_test_task_keep_text(t, "1234567890");
        t->announced = 5;
    } else if (number_behind(path, "/status/", &number)) {
        t->status = (uint16_t)number;
        t->announced = 0;
    } else if (number_behind(path, "/fields/", &number)) {
        nb_test_task_keep_text(t, "hello");
        t->field_bytes = (size_t)number;
    } else {
        return false;
    }
    return true;
}

static bool plan_hijack(nb_test_task *t, const char *path) {
    if (strncmp(path, "/hijack", 7) != 0) return false;
    t->kind = NB_TEST_TASK_HIJACK;
    t->announced = NB_CONTENT_LENGTH_UNKNOWN;
    t->flags |= NB_RESPONSE_HANDOVER;
    if (strcmp(path, "/hijackhead") == 0) t->status = 101;
    return true;
}

static bool plan_route(nb_test_task *t, const char *path, const nb_request_message *request) {
    char number[8];
    if (strncmp(path, "/route", 6) != 0) return false;
    snprintf(number, sizeof number, "%u", request->route);
    nb_test_task_keep_text(t, number);
    return true;
}

static void plan_echo(nb_test_task *t, const nb_request_message *request) {
    if (request->message.flags & NB_REQUEST_STREAMS) {
        t->kind = NB_TEST_TASK_READ;
        t->reads = true;
        return;
    }
    t->announced = t->total = request->body_bytes;
    t->body_fd = (int)request->body_fd;
    if (t->body_fd >= 0 || request->body_bytes == 0) return;
    t->memory = malloc(request->body_bytes);
    memcpy(t->memory, (const char *)request + request->body.offset, request->body_bytes);
}

static void plan(nb_test_task *t, const nb_request_message *request) {
    char path[256];
    snprintf(path, sizeof path, "%.*s", (int)request->path.size, (const char *)request + request->path.offset);
    t->flags = NB_RESPONSE_HAS_LENGTH;
    bool known = plan_reader(t, path, request) || plan_route(t, path, request) || plan_text(t, path) ||
                 plan_stream(t, path) || plan_abort(t, path) || plan_file(t, path, request) || plan_hijack(t, path);
    if (!known) {
        plan_echo(t, request);
    } else if (request->body_fd >= 0) {
        close((int)request->body_fd);
    }
    if (t->announced == NB_CONTENT_LENGTH_UNKNOWN) t->flags &= (uint16_t)~NB_RESPONSE_HAS_LENGTH;
}

nb_test_task *nb_test_task_create(const nb_request_message *request) {
    nb_test_task *t = calloc(1, sizeof *t);
    t->exchange = request->message.exchange;
    t->status = 200;
    t->abort_at = UINT64_MAX;
    t->body_fd = t->file_fd = -1;
    t->parks = true;
    t->typed = field_of(request, NB_FIELD_ACCEPT_ENCODING).data != NULL;
    plan(t, request);
    return t;
}

void nb_test_task_free(nb_test_task *t) {
    if (t->body_fd >= 0) close(t->body_fd);
    if (t->file_fd >= 0) close(t->file_fd);
    free(t->memory);
    free(t);
}
