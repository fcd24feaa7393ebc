/*
 * blockers.c - see blockers.h. A place is the method that asks, its caller's
 * line, and that one's caller's: three frames, by rb_profile_frames(), which
 * makes no object. Their addresses are compared and never followed: where code
 * is gone and other code has its address, that one is taken for it until it has
 * been learned anew.
 */
#include "blockers.h"

#include <ruby/debug.h>

#include "base/hash.h"
#include "base/sites.h"
#include "os/clock.h"

enum { FRAMES = 3, SELF = 1, KEY_SPARE_BITS = 3 };

static nb_sites sites;
static ID id_elsewhere;

/* A Fixnum, which costs nothing. */
static uint64_t key_here(void) {
    VALUE frames[FRAMES];
    int lines[FRAMES];
    int count = rb_profile_frames(SELF, FRAMES, frames, lines);
    uint64_t key = NB_HASH64_BASIS;
    for (int i = 0; i < count; i++) {
        key = nb_hash64_mix(key, (uint64_t)frames[i]);
        key = nb_hash64_mix(key, (uint64_t)lines[i]);
    }
    return key >> KEY_SPARE_BITS;
}

typedef struct call_here {
    uint64_t key;
    int64_t began_ns;
} call_here;

static VALUE ended_here(VALUE argument) {
    call_here *call = (call_here *)argument;
    nb_site_ended(nb_sites_find(&sites, call->key), true, nb_clock_monotonic_ns() - call->began_ns);
    return Qnil;
}

/* at_site { } -> what the block returns, called here or by
 * Blockers.elsewhere(key) { }. */
static VALUE at_site(VALUE self) {
    call_here call = {.key = key_here()};
    if (!nb_site_here(nb_sites_find(&sites, call.key))) {
        VALUE key = ULL2NUM(call.key);
        return rb_funcall_with_block(self, id_elsewhere, 1, &key, rb_block_proc());
    }
    call.began_ns = nb_clock_monotonic_ns();
    return rb_ensure(rb_yield, Qnil, ended_here, (VALUE)&call);
}

/* site -> the key of the place that asks: for those who call in ways of their
 * own. */
static VALUE site(VALUE self) { return ULL2NUM(key_here()); }

/* here?(key) -> whether a call of the place is made here. */
static VALUE here_p(VALUE self, VALUE key) {
    return nb_site_here(nb_sites_find(&sites, NUM2ULL(key))) ? Qtrue : Qfalse;
}

/* ended(key, here, nanoseconds) -> nil: what became of one. */
static VALUE ended(VALUE self, VALUE key, VALUE here, VALUE took_ns) {
    nb_site_ended(nb_sites_find(&sites, NUM2ULL(key)), RTEST(here), NUM2LL(took_ns));
    return Qnil;
}

/* forget -> nil: no place is trusted any more. */
static VALUE forget(VALUE self) {
    sites = (nb_sites){0};
    return Qnil;
}

void nb_blockers_define(VALUE module) {
    VALUE blockers = rb_define_module_under(module, "Blockers");
    id_elsewhere = rb_intern("elsewhere");
    rb_define_singleton_method(blockers, "at_site", at_site, 0);
    rb_define_singleton_method(blockers, "site", site, 0);
    rb_define_singleton_method(blockers, "here?", here_p, 1);
    rb_define_singleton_method(blockers, "ended", ended, 3);
    rb_define_singleton_method(blockers, "forget", forget, 0);
}
