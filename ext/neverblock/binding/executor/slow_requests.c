/*
 * slow_requests.c - see slow_requests.h.
 */
#include "binding/executor/slow_requests.h"

#include <string.h>

#include "base/alloc.h"
#include "binding/ports/running.h"
#include "binding/rack/env_keys.h"
#include "binding/scheduler/scheduler.h"
#include "intake/throttle.h"

/* Keys of routes have this bit, those of request classes do not. */
#define ROUTE_KEY (UINT64_C(1) << 63)

static nb_slice slice_of(const char *words) { return nb_slice_of(words, strlen(words)); }

/* Methods of one route are told apart. */
static uint64_t key_of(const nb_task *task) {
    const nb_stall_request *words = &task->words;
    nb_slice method = slice_of(words->method);
    if (words->route == NB_ROUTE_NONE) return nb_request_class_of(method, slice_of(words->path));
    return ROUTE_KEY | (nb_request_class_of(method, NB_SLICE("/")) << 16 & ~ROUTE_KEY) | words->route;
}

static void copy_text(char *out, size_t room, const char *text, size_t size) {
    if (size >= room) size = room - 1;
    memcpy(out, text, size);
    out[size] = '\0';
}

static void copy_line(nb_slow_request *request, const nb_stall_request *words) {
    size_t method = strlen(words->method);
    copy_text(request->line, sizeof(request->line), words->method, method);
    if (method + 2 > sizeof(request->line)) return;
    request->line[method] = ' ';
    copy_text(request->line + method + 1, sizeof(request->line) - method - 1, words->path, strlen(words->path));
}

static void copy_trace(nb_slow_request *request, const nb_task *task) {
    VALUE id = NIL_P(task->env) ? Qnil : rb_hash_lookup(task->env, nb_env_keys.trace_id);
    request->trace[0] = '\0';
    if (RB_TYPE_P(id, T_STRING))
        copy_text(request->trace, sizeof(request->trace), RSTRING_PTR(id), (size_t)RSTRING_LEN(id));
}

static void fill(nb_slow_request *request, const nb_task *task) {
    const nb_waterfall *waterfall = task->account.waterfall;
    request->account = task->account;
    request->account.waterfall = NULL;
    request->route = task->words.route;
    request->status = FIXNUM_P(task->status) ? (uint16_t)FIX2INT(task->status) : 0;
    request->has_waits = waterfall != NULL;
    copy_line(request, &task->words);
    copy_text(request->id, sizeof(request->id), task->words.id, strlen(task->words.id));
    copy_trace(request, task);
    if (waterfall) request->waterfall = *waterfall;
}

/* The clock is read only for a request without a head, and for one that is kept. */
void nb_slow_request_offer(nb_task *task) {
    nb_executor *executor = task->executor;
    const nb_account *account = &task->account;
    if (!executor->figures || executor->over || nb_executor_in_child(executor)) return;
    if (!nb_account_is(account, task->exchange)) return;
    int64_t until_ns = account->head_sent_ns ? account->head_sent_ns : nb_scheduler_count(executor->scheduler);
    int64_t duration_ns = account->queue_ns + until_ns - account->taken_ns;
    uint64_t key = key_of(task);
    uint32_t record = nb_slowest_place(executor->link->slowest, key, duration_ns, until_ns);
    if (record == NB_SLOWEST_NONE) return;
    if (!executor->slow) executor->slow = nb_alloc_zero(1, sizeof(*executor->slow));
    if (!executor->slow) return;
    executor->slow->key = key;
    executor->slow->duration_ns = duration_ns;
    executor->slow->ended_ns = nb_scheduler_count(executor->scheduler);
    fill(executor->slow, task);
    nb_slowest_put(executor->link->slowest, record, executor->slow);
}
