/*
 * sender_gem.c - "ramp", an algorithm for NeverBlock: a download begins with small parts, so that
 * many clients have their first bytes soon, and each part that its client takes whole makes the
 * next one twice as large. From the loop, without waiting: file workers are not needed.
 */
#include <neverblock.h>
#include <ruby.h>
#include <stdatomic.h>

#define FIRST_PART_BYTES 16384u
#define LAST_PART_BYTES (1u << 20)

typedef struct ramp {
    uint64_t part;
} ramp;

static _Atomic uint64_t steps; /* of all downloads; any thread */

static int ramp_init(nb_download *download) {
    ((ramp *)download->state)->part = FIRST_PART_BYTES;
    return 0;
}

static nb_step ramp_step(nb_download *download, uint64_t budget) {
    ramp *state = download->state;
    uint64_t most = state->part < budget ? state->part : budget, sent = 0;
    atomic_fetch_add(&steps, 1);
    while (most > 0 && nb_download_peek(download).bytes > 0) {
        nb_sent result = nb_download_send(download, most, &sent);
        if (result == NB_SENT_FULL) {
            state->part = FIRST_PART_BYTES;
            return NB_STEP_WRITABLE;
        }
        if (result != NB_SENT_SOME) return NB_STEP_FAILED;
        most = sent < most ? most - sent : 0;
    }
    if (state->part < LAST_PART_BYTES) state->part *= 2;
    return nb_download_peek(download).bytes > 0 ? NB_STEP_OTHERS : NB_STEP_DONE;
}

static const nb_algorithm algorithm = {
    .abi = NB_ALGORITHM_ABI,
    .bytes = sizeof(nb_algorithm),
    .name = "ramp",
    .state_bytes = sizeof(ramp),
    .runs = NB_RUNS_ON_LOOP,
    .step_bytes = LAST_PART_BYTES,
    .init = ramp_init,
    .step = ramp_step,
};

static VALUE sender_gem_steps(VALUE self) {
    (void)self;
    return ULL2NUM(atomic_load(&steps));
}

void Init_sender_gem(void);

RUBY_FUNC_EXPORTED void Init_sender_gem(void) {
    VALUE module = rb_define_module("SenderGem");
    rb_define_const(module, "ADDRESS", ULL2NUM((uintptr_t)&algorithm));
    rb_define_singleton_method(module, "steps", sender_gem_steps, 0);
}
