/*
 * neverblock.c - the extension's entry: defines the module and the classes written in C.
 */
#include <ruby.h>

#include "binding/base/exit_limit.h"
#include "binding/base/forks.h"
#include "binding/base/module.h"
#include "binding/base/ruby_log.h"
#include "binding/base/process_watchdog.h"
#include "binding/base/protect.h"
#include "binding/engine/engine.h"
#include "binding/engine/engine_algorithms.h"
#include "binding/engine/engine_files.h"
#include "binding/engine/engine_reports.h"
#include "binding/engine/engine_tls.h"
#include "binding/engine/link.h"
#include "binding/mysql/mysql.h"
#include "binding/executor/executor.h"
#include "binding/rack/hints.h"
#include "binding/rack/input.h"
#include "binding/hooks/hooks.h"
#include "binding/stalls/blockers.h"
#include "os/subreaper.h"
#include "os/syscalls.h"
#include "coding/encoder.h"
#include "protocols/http2_session.h"
#include "tls/tls.h"

/* subreaper -> true: orphans among the descendants become children of this process from now on;
   false: the system has no such thing. */
static VALUE subreaper(VALUE self) { return nb_subreaper_become() ? Qtrue : Qfalse; }

/* end_with_parent(true or false) -> whether the system can: this process is killed when its parent
   ends. */
static VALUE end_with_parent(VALUE self, VALUE wanted) {
    return nb_subreaper_end_with_parent(RTEST(wanted)) ? Qtrue : Qfalse;
}

/* calls_refused -> names of system calls that this kernel does not have, or that a filter
   refuses. */
static VALUE calls_refused(VALUE self) {
    const char *names[NB_SYSCALLS_MAX];
    size_t count = nb_syscalls_refused(names);
    VALUE list = rb_ary_new_capa((long)count);
    for (size_t i = 0; i < count; i++)
        rb_ary_push(list, rb_str_new_cstr(names[i]));
    return list;
}

static void found(VALUE built, const char *name, bool there) {
    rb_hash_aset(built, ID2SYM(rb_intern(name)), there ? Qtrue : Qfalse);
}

#ifdef HAVE_PREADV2
#define BUILT_PREADV2 true
#else
#define BUILT_PREADV2 false
#endif
#ifdef HAVE_SYS_EPOLL_H
#define BUILT_EPOLL true
#else
#define BUILT_EPOLL false
#endif
#ifdef HAVE_SYS_EVENT_H
#define BUILT_KQUEUE true
#else
#define BUILT_KQUEUE false
#endif

/* built -> {feature: whether the extension was compiled with it}. */
static VALUE built(VALUE self) {
    VALUE hash = rb_hash_new();
    found(hash, "preadv2", BUILT_PREADV2);
    found(hash, "tls", nb_tls_library() != NULL);
    found(hash, "http2", nb_http2_protocol() != NULL);
    found(hash, "gzip", (nb_encoders_built() & NB_ENCODING_BIT(NB_ENCODING_GZIP)) != 0);
    found(hash, "br", (nb_encoders_built() & NB_ENCODING_BIT(NB_ENCODING_BR)) != 0);
    found(hash, "zstd", (nb_encoders_built() & NB_ENCODING_BIT(NB_ENCODING_ZSTD)) != 0);
    found(hash, "poller", BUILT_EPOLL || BUILT_KQUEUE);
    return hash;
}

void Init_neverblock(void);

RUBY_FUNC_EXPORTED void Init_neverblock(void) {
    nb_module_define();
    nb_forks_define();
    nb_protect_define();
    nb_exit_limit_define(nb_module);
    rb_define_singleton_method(nb_module, "subreaper", subreaper, 0);
    rb_define_singleton_method(nb_module, "end_with_parent", end_with_parent, 1);
    rb_define_singleton_method(nb_module, "calls_refused", calls_refused, 0);
    rb_define_singleton_method(nb_module, "built", built, 0);
    nb_blockers_define(nb_module);
    nb_input_define(nb_module);
    VALUE engine = nb_engine_define(nb_module);
    nb_engine_files_define(engine);
    nb_engine_tls_define(engine);
    nb_engine_reports_define(engine);
    nb_engine_algorithms_define(engine);
    nb_link_define(nb_module, engine);
    nb_log_define(nb_module);
    nb_process_watchdog_define();
    nb_hooks_define(nb_module);
    nb_executor_define(nb_module);
    nb_hints_define(nb_module);
    nb_mysql_define(nb_module);
}
