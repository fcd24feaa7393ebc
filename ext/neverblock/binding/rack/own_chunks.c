/*
 * own_chunks.c - see own_chunks.h.
 */
#include "binding/rack/own_chunks.h"

#include "binding/base/module.h"

void nb_own_chunks_open(nb_own_chunks *own) {
    nb_chunked_init(&own->chunked, UINT64_MAX);
    own->state = NB_OWN_CHUNKS_HEAD;
}

/* Text whose first bytes turn out to be no chunk's head was never in chunks. */
static VALUE take_as_it_is(nb_own_chunks *own, VALUE piece) {
    VALUE rest = nb_own_chunks_rest(own);
    return NIL_P(rest) ? piece : rb_str_append(rest, piece);
}

static void hold(VALUE owner, nb_own_chunks *own, VALUE piece) {
    if (own->held) {
        rb_str_append(own->held, piece);
    } else {
        RB_OBJ_WRITE(owner, &own->held, piece);
    }
}

/* The decoder has changed no byte of a piece before the first chunk's head was whole, and it
   bounds what such a head may have. */
VALUE nb_own_chunks_content(VALUE owner, nb_own_chunks *own, nb_slice text) {
    VALUE piece = rb_str_new(text.data, (long)text.size);
    nb_refusal refusal;
    size_t used = 0, decoded = 0;
    nb_status status = nb_chunked_decode(&own->chunked, RSTRING_PTR(piece), text.size, &used, &decoded, &refusal);
    bool refused = status != NB_OK && status != NB_INCOMPLETE;
    if (!nb_chunked_is_begun(&own->chunked)) {
        if (refused) return take_as_it_is(own, piece);
        hold(owner, own, piece);
        return rb_str_new(NULL, 0);
    }
    own->held = 0;
    if (refused || used < text.size) {
        own->state = NB_OWN_CHUNKS_BROKEN;
        own->reason = refused ? refusal.reason : "bytes behind the last chunk";
        nb_own_chunks_refuse(own);
    }
    own->state = status == NB_OK ? NB_OWN_CHUNKS_WHOLE : NB_OWN_CHUNKS_INSIDE;
    rb_str_set_len(piece, (long)decoded);
    return piece;
}

VALUE nb_own_chunks_rest(nb_own_chunks *own) {
    VALUE rest = own->held ? own->held : Qnil;
    if (own->state == NB_OWN_CHUNKS_HEAD) own->state = NB_OWN_CHUNKS_NONE;
    own->held = 0;
    return rest;
}

bool nb_own_chunks_whole(const nb_own_chunks *own) {
    return own->state != NB_OWN_CHUNKS_INSIDE && own->state != NB_OWN_CHUNKS_BROKEN;
}

void nb_own_chunks_refuse(const nb_own_chunks *own) {
    rb_raise(nb_error_class, "the body was put into chunks by the application (Transfer-Encoding), wrongly: %s",
             own->state == NB_OWN_CHUNKS_BROKEN ? own->reason : "it ends before the last chunk");
}
