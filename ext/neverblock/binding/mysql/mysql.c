/*
 * mysql.c - see mysql.h.
 */
#include "binding/mysql/mysql.h"

#include <sys/socket.h>

#include "binding/mysql/mysql_handles.h"
#include "binding/mysql/mysql_unlock.h"
#include "mysql/answer.h"

/* Bytes of an answer that are looked at, at most; a thread reads a longer one. */
#define PEEK_BYTES 65536

/* mysql_answered?(descriptor) -> whether the next bytes of the socket are the whole answer to a
   query. */
static VALUE answered(VALUE self, VALUE descriptor) {
    static uint8_t bytes[PEEK_BYTES]; /* under Ruby's lock */
    ssize_t got = recv(NUM2INT(descriptor), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    return got > 0 && nb_mysql_answer_whole(bytes, (size_t)got) ? Qtrue : Qfalse;
}

void nb_mysql_define(VALUE module) {
    rb_define_singleton_method(module, "mysql_answered?", answered, 1);
    nb_mysql_unlock_define(module);
    nb_mysql_handles_define(module);
}
