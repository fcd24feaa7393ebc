/*
 * timing.c - see timing.h.
 */
#include "binding/rack/timing.h"

#include "binding/rack/env_keys.h"
#include "binding/scheduler/scheduler.h"
#include "metrics/server_timing.h"

static VALUE kind_names[NB_FIBER_WAIT_KINDS];
static VALUE name_head, name_body, name_queue, name_run, name_ran, name_gc, name_wait, name_waits, name_allocations;

VALUE nb_timing_read_setting(VALUE value) {
    if (value == Qfalse || value == Qtrue) return value;
    return rb_str_new_frozen(StringValue(value));
}

void nb_timing_begin(nb_task *task) {
    VALUE setting = task->executor->server_timing;
    task->timed = setting == Qtrue;
    if (!RB_TYPE_P(setting, T_STRING)) return;
    VALUE given = rb_hash_lookup(task->env, nb_env_keys.server_timing);
    task->timed = RB_TYPE_P(given, T_STRING) && nb_slice_is_secret(nb_string_slice(given), nb_string_slice(setting));
}

void nb_timing_add_field(nb_task *task, nb_response_head *gathered) {
    char line[NB_SERVER_TIMING_BYTES_MAX];
    if (!task->timed || gathered->timing_added) return;
    gathered->timing_added = true;
    task->account.head_sent_ns = nb_scheduler_count(task->executor->scheduler);
    size_t size = nb_server_timing_write(line, &task->account, task->account.head_sent_ns);
    if (gathered->size + size <= NB_RESPONSE_FIELDS_BYTES_MAX) nb_response_head_add(gathered, line, size);
}

void nb_timing_note_head(nb_task *task) {
    task->head_sent = true;
    if (task->executor->accounts && !task->account.head_sent_ns)
        task->account.head_sent_ns = nb_scheduler_count(task->executor->scheduler);
}

/* Milliseconds with three digits behind the point. */
static void put_ms(VALUE hash, VALUE name, int64_t ns) { rb_hash_aset(hash, name, DBL2NUM((double)(ns / 1000) / 1e3)); }

static void put_waits(VALUE hash, const nb_account *account) {
    VALUE wait = rb_hash_new(), waits = rb_hash_new();
    for (unsigned kind = 0; kind < NB_FIBER_WAIT_KINDS; kind++) {
        if (account->wait_ns[kind] || account->waits[kind]) put_ms(wait, kind_names[kind], account->wait_ns[kind]);
        if (account->waits[kind]) rb_hash_aset(waits, kind_names[kind], UINT2NUM(account->waits[kind]));
    }
    rb_hash_aset(hash, name_wait, wait);
    rb_hash_aset(hash, name_waits, waits);
}

/* A response that has no head counts until now. */
static VALUE hash_of(const nb_account *account, int64_t now_ns) {
    VALUE hash = rb_hash_new();
    int64_t until_ns = account->head_sent_ns ? account->head_sent_ns : now_ns;
    put_ms(hash, name_head, account->head_ns);
    if (account->body_ns) put_ms(hash, name_body, account->body_ns);
    put_ms(hash, name_queue, account->queue_ns);
    put_ms(hash, name_run, until_ns - account->taken_ns);
    put_ms(hash, name_ran, account->ran_ns);
    put_waits(hash, account);
    put_ms(hash, name_gc, account->gc_ns);
    rb_hash_aset(hash, name_allocations, ULL2NUM(account->allocated));
    return hash;
}

void nb_timing_put(nb_task *task) {
    if (!task->executor->request_times || !nb_account_is(&task->account, task->exchange)) return;
    if (NIL_P(task->env) || OBJ_FROZEN(task->env)) return;
    int64_t now_ns = nb_scheduler_count(task->executor->scheduler);
    rb_hash_aset(task->env, nb_env_keys.time, hash_of(&task->account, now_ns));
}

static VALUE symbol(const char *name) { return ID2SYM(rb_intern(name)); }

void nb_timing_define(void) {
    for (unsigned kind = 0; kind < NB_FIBER_WAIT_KINDS; kind++) {
        kind_names[kind] = symbol(nb_fiber_wait_name(kind));
    }
    name_head = symbol("head_ms");
    name_body = symbol("body_ms");
    name_queue = symbol("queue_ms");
    name_run = symbol("run_ms");
    name_ran = symbol("ran_ms");
    name_gc = symbol("gc_ms");
    name_wait = symbol("wait_ms");
    name_waits = symbol("waits");
    name_allocations = symbol("allocations");
}
