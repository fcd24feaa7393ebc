/*
 * mysql_unlock.c - see mysql_unlock.h. mysql2 keeps the GVL in three calls that read from the
 * server: to store the result of a prepared statement, to go on to the next result, and to set an
 * option. A thread of its own does not help there. On threads that ask for it these calls are made
 * without the GVL.
 */
#include <ruby.h>
#include <ruby/thread.h>

#include "binding/mysql/mysql_unlock.h"
#include "os/imports.h"

/* A function of mysql2's library. */
#define OWN "Init_mysql2"

typedef int (*plain_call)(void *handle);
typedef int (*option_call)(void *handle, int option);

typedef struct call {
    plain_call plain; /* or NULL */
    option_call with_option;
    void *handle;
    int option;
    int result;
} call;

static nb_function store_result, next_result, set_option;
static __thread bool unlocked;

static void *run(void *pointer) {
    call *made = pointer;
    made->result = made->plain ? made->plain(made->handle) : made->with_option(made->handle, made->option);
    return NULL;
}

static int make(call made) {
    if (unlocked) {
        rb_thread_call_without_gvl(run, &made, RUBY_UBF_IO, NULL);
    } else {
        run(&made);
    }
    return made.result;
}

static int store_result_unlocked(void *statement) {
    return make((call){.plain = (plain_call)store_result, .handle = statement});
}
static int next_result_unlocked(void *client) {
    return make((call){.plain = (plain_call)next_result, .handle = client});
}
static int set_option_unlocked(void *client, int option) {
    return make((call){.with_option = (option_call)set_option, .handle = client, .option = option});
}

/* mysql_unlock(path) -> true: mysql2's library, which was loaded from this path, makes the three
   calls through the functions here; false: its imports cannot be replaced. */
static VALUE unlock(VALUE self, VALUE path) {
    const char *library = StringValueCStr(path);
    nb_status stored = nb_imports_replace(library, OWN, "mysql_stmt_store_result", (nb_function)store_result_unlocked,
                                          &store_result);
    nb_status next = nb_imports_replace(library, OWN, "mysql_next_result", (nb_function)next_result_unlocked,
                                        &next_result);
    nb_status option = nb_imports_replace(library, OWN, "mysql_set_server_option", (nb_function)set_option_unlocked,
                                          &set_option);
    return stored || next || option ? Qfalse : Qtrue;
}

static VALUE lock_again(VALUE unused) {
    unlocked = false;
    return unused;
}

/* mysql_unlocked { } -> the block's value. In the block, on this thread, the three calls are made
   without the GVL. */
static VALUE while_unlocked(VALUE self) {
    unlocked = true;
    return rb_ensure(rb_yield, Qnil, lock_again, Qnil);
}

void nb_mysql_unlock_define(VALUE module) {
    rb_define_singleton_method(module, "mysql_unlock", unlock, 1);
    rb_define_singleton_method(module, "mysql_unlocked", while_unlocked, 0);
}
