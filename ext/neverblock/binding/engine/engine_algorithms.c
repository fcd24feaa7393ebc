/*
 * engine_algorithms.c - the algorithms that send files (send/algorithms.h), by name and number.
 */
#include "binding/engine/engine_algorithms.h"

#include "binding/engine/engine.h"
#include "binding/base/module.h"
#include "send/algorithms.h"

/* Engine.algorithms -> { "auto" => 1, ... }: numbers for `sendfile_algorithm` and routes. */
static VALUE s_algorithms(VALUE class) {
    VALUE hash = rb_hash_new();
    for (uint16_t number = 1; number <= nb_algorithms_count(); number++) {
        rb_hash_aset(hash, rb_str_new_cstr(nb_algorithms_get(number)->name), UINT2NUM(number));
    }
    return hash;
}

/* Engine.add_algorithm(address) -> the name of the nb_algorithm at this address (neverblock.h).
   Raises ArgumentError for a table that is not valid, and NeverBlock::Error when there is no
   room. */
static VALUE s_add_algorithm(VALUE class, VALUE address) {
    uintptr_t place = (uintptr_t)NUM2ULL(address);
    const nb_algorithm *algorithm = (const nb_algorithm *)place;
    uint16_t number;
    if (place == 0 || place % _Alignof(nb_algorithm))
        rb_raise(rb_eArgError, "no address of an nb_algorithm: %" PRIsVALUE, rb_inspect(address));
    switch (nb_algorithms_add(algorithm, &number)) {
    case NB_OK:
        return rb_str_new_cstr(algorithm->name);
    case NB_EXISTS:
        rb_raise(rb_eArgError, "there is an algorithm named %s already", algorithm->name);
    case NB_FULL:
        rb_raise(nb_error_class, "there are %u algorithms, no more can be added", NB_ALGORITHMS_MAX);
    default:
        if (algorithm->abi == NB_ALGORITHM_ABI)
            rb_raise(rb_eArgError,
                     "the algorithm has no step, or no name of a-z, 0-9 and _, or too much state; see neverblock.h");
        rb_raise(rb_eArgError,
                 "the algorithm was built for version %u of neverblock.h, this is %u: build its gem again",
                 algorithm->abi, NB_ALGORITHM_ABI);
    }
}

void nb_engine_algorithms_define(VALUE class) {
    rb_define_singleton_method(class, "algorithms", s_algorithms, 0);
    rb_define_singleton_method(class, "add_algorithm", s_add_algorithm, 1);
}
