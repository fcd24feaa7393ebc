/*
 * kept_requests.c - see kept_requests.h.
 */
#include "binding/executor/kept_requests.h"

#include <string.h>

#include "binding/rack/env_keys.h"
#include "binding/scheduler/scheduler.h"
#include "intake/throttle.h"

/* Keys of routes have this bit, those of request classes do not. */
#define ROUTE_KEY (UINT64_C(1) << 63)

static nb_slice slice_of(const char *words) { return nb_slice_of(words, strlen(words)); }

/* Methods of one route are told apart. */
uint64_t nb_kept_request_key(const nb_task *task) {
    const nb_stall_request *words = &task->words;
    nb_slice method = slice_of(words->method);
    if (words->route == NB_ROUTE_NONE) return nb_request_class_of(method, slice_of(words->path));
    return ROUTE_KEY | (nb_request_class_of(method, NB_SLICE("/")) << 16 & ~ROUTE_KEY) | words->route;
}

/* The clock is read only for a request without a head. */
int64_t nb_kept_request_until_ns(const nb_task *task) {
    int64_t sent_ns = task->account.head_sent_ns;
    return sent_ns ? sent_ns : nb_scheduler_count(task->executor->scheduler);
}

static void copy_text(char *out, size_t room, const char *text, size_t size) {
    if (size >= room) size = room - 1;
    memcpy(out, text, size);
    out[size] = '\0';
}

static void copy_line(nb_kept_request *request, const nb_stall_request *words) {
    size_t method = strlen(words->method);
    copy_text(request->line, sizeof(request->line), words->method, method);
    if (method + 2 > sizeof(request->line)) return;
    request->line[method] = ' ';
    copy_text(request->line + method + 1, sizeof(request->line) - method - 1, words->path, strlen(words->path));
}

static void copy_trace(nb_kept_request *request, const nb_task *task) {
    VALUE id = NIL_P(task->env) ? Qnil : rb_hash_lookup(task->env, nb_env_keys.trace_id);
    request->trace[0] = '\0';
    if (RB_TYPE_P(id, T_STRING))
        copy_text(request->trace, sizeof(request->trace), RSTRING_PTR(id), (size_t)RSTRING_LEN(id));
}

void nb_kept_request_fill(nb_kept_request *request, const nb_task *task, uint64_t key, int64_t until_ns) {
    request->key = key;
    request->duration_ns = task->account.queue_ns + until_ns - task->account.taken_ns;
    request->ended_ns = nb_scheduler_count(task->executor->scheduler);
    request->account = task->account;
    request->account.waterfall = NULL;
    request->route = task->words.route;
    request->status = FIXNUM_P(task->status) ? (uint16_t)FIX2INT(task->status) : 0;
    copy_line(request, &task->words);
    copy_text(request->id, sizeof(request->id), task->words.id, strlen(task->words.id));
    copy_trace(request, task);
}
