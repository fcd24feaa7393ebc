/*
 * engine.c - see engine.h.
 */
#include "binding/engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <ruby.h>
#include <ruby/thread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "binding/base/module.h"
#include "base/list.h"

/* join looks so often whether the loop has ended, and lets signals be answered in between. */
#define JOIN_STEP_US 5000

typedef struct nb_engine {
    nb_server *server; /* NULL: closed */
    pid_t pid;         /* the process it belongs to */
    bool started;
    unsigned executors; /* how many run, and use the server's memory without asking */
    nb_list all;        /* every engine of the process, for fork */
} nb_engine;

static nb_list all_engines = {&all_engines, &all_engines};

static void engine_free(void *pointer) {
    nb_engine *engine = pointer;
    nb_list_remove(&engine->all);
    if (engine->server && engine->pid == getpid() && engine->executors == 0) nb_server_destroy(engine->server);
    xfree(engine);
}

static size_t engine_size(const void *pointer) {
    (void)pointer;
    return sizeof(nb_engine);
}

static const rb_data_type_t engine_type = {
    .wrap_struct_name = "NeverBlock::Engine",
    .function = {.dfree = engine_free, .dsize = engine_size},
    .flags = RUBY_TYPED_WB_PROTECTED,
};

static nb_engine *get(VALUE self) {
    nb_engine *engine;
    TypedData_Get_Struct(self, nb_engine, &engine_type, engine);
    return engine;
}

nb_server *nb_engine_server(VALUE self) {
    nb_engine *engine = get(self);
    if (engine->pid && engine->pid != getpid())
        rb_raise(nb_error_class, "this engine belongs to process %d, not to its fork", (int)engine->pid);
    if (!engine->server) rb_raise(nb_error_class, "this engine is closed");
    return engine->server;
}

bool nb_engine_alive(VALUE self) {
    nb_engine *engine = get(self);
    return engine->server && engine->pid == getpid();
}

nb_server *nb_engine_enter(VALUE self) {
    nb_server *server = nb_engine_server(self);
    if (!get(self)->started) rb_raise(nb_error_class, "this engine has not started");
    get(self)->executors++;
    return server;
}

void nb_engine_leave(VALUE self) { get(self)->executors--; }

static VALUE engine_allocate(VALUE class) {
    nb_engine *engine;
    VALUE self = TypedData_Make_Struct(class, nb_engine, &engine_type, engine);
    nb_list_append(&all_engines, &engine->all);
    return self;
}

uint64_t nb_engine_number(VALUE value, uint64_t max, const char *name) {
    if (RB_FLOAT_TYPE_P(value)) rb_raise(rb_eTypeError, "%s must be an integer, not %" PRIsVALUE, name, value);
    VALUE integer = rb_to_int(value);
    bool negative = FIXNUM_P(integer) ? FIX2LONG(integer) < 0 : RBIGNUM_NEGATIVE_P(integer);
    bool huge = !FIXNUM_P(integer) && !negative && rb_absint_size(integer, NULL) > sizeof(uint64_t);
    uint64_t result = negative || huge ? 0 : (uint64_t)NUM2ULL(integer);
    if (negative || huge || result > max) {
        rb_raise(rb_eArgError, "%s must be 0 to %" PRIu64 ", not %+" PRIsVALUE, name, max, integer);
    }
    return result;
}

/* Lives on the stack, where the collector sees the strings: those that only an Array refers to may
   be moved by a compaction, and their bytes with them. */
typedef struct settings {
    nb_server_config config;
    /* the strings that `config` points into */
    VALUE spool_directory, poller, version, ruby_version;
} settings;

static char *optional_text(VALUE *holder, VALUE value) {
    if (NIL_P(value)) return NULL;
    StringValueCStr(value);
    *holder = rb_str_new_frozen(value);
    return RSTRING_PTR(*holder);
}

/* Takes one keyword into the configuration. False: there is no such setting. */
static bool set(settings *wanted, const char *name, VALUE value) {
    nb_server_config *config = &wanted->config;
#define NB_SET(type, field, standard)                                    \
    if (strcmp(name, #field) == 0) {                                     \
        config->field = (type)nb_engine_number(value, (type)-1, #field); \
        return true;                                                     \
    }
    NB_SERVER_SETTINGS(NB_SET)
#undef NB_SET
    if (strcmp(name, "log_fd") == 0) {
        config->log_fd = NUM2INT(value);
    } else if (strcmp(name, "spool_directory") == 0) {
        config->spool_directory = optional_text(&wanted->spool_directory, value);
    } else if (strcmp(name, "poller") == 0) {
        config->poller = optional_text(&wanted->poller, value);
    } else if (strcmp(name, "version") == 0) {
        config->version = optional_text(&wanted->version, value);
    } else if (strcmp(name, "ruby_version") == 0) {
        config->ruby_version = optional_text(&wanted->ruby_version, value);
    } else {
        return false;
    }
    return true;
}

static int set_keyword(VALUE key, VALUE value, VALUE argument) {
    const char *name = rb_id2name(rb_to_id(key));
    if (!set((settings *)argument, name, value)) {
        rb_raise(rb_eArgError, "unknown setting %s; see NeverBlock::Engine::DEFAULTS for the known ones", name);
    }
    return ST_CONTINUE;
}

/* Engine.new(**settings): settings of Engine::DEFAULTS (their names end with their units), and
   log_fd (-1: no log), spool_directory (default: TMPDIR or /tmp), poller ("epoll", "poll"), version
   and ruby_version (for the admin pages). Raises ArgumentError for an unknown setting, and
   NeverBlock::Error or SystemCallError when the system refuses. */
static VALUE engine_initialize(int argc, VALUE *argv, VALUE self) {
    VALUE keywords;
    nb_engine *engine = get(self);
    settings wanted = {.spool_directory = Qnil, .poller = Qnil, .version = Qnil, .ruby_version = Qnil};
    rb_scan_args(argc, argv, ":", &keywords);
    nb_server_config_default(&wanted.config);
    if (!NIL_P(keywords)) rb_hash_foreach(keywords, set_keyword, (VALUE)&wanted);
    if (engine->pid) rb_raise(nb_error_class, "an engine is initialized once");
    nb_server *server;
    nb_status status = nb_server_create(&wanted.config, &server);
    if (status != NB_OK) nb_raise_status(status, "the server could not be made");
    engine->server = server;
    engine->pid = getpid();
    RB_GC_GUARD(wanted.spool_directory);
    RB_GC_GUARD(wanted.poller);
    RB_GC_GUARD(wanted.version);
    RB_GC_GUARD(wanted.ruby_version);
    return self;
}

/* Raises the error of a listen that has failed. */
static _Noreturn void raise_listen(nb_status status, VALUE where) {
    if (status == NB_OVER_LIMIT) rb_syserr_fail(ENAMETOOLONG, RSTRING_PTR(where));
    if (status == NB_FULL)
        rb_raise(nb_error_class, "%" PRIsVALUE ": an engine listens before it starts, at few places", where);
    nb_raise_status(status, RSTRING_PTR(where));
}

/* admin_tcp(address, port) -> the bound port: listen_tcp for the admin pages. */
static VALUE engine_admin_tcp(VALUE self, VALUE address, VALUE port) {
    uint16_t wanted = (uint16_t)nb_engine_number(port, UINT16_MAX, "port"), bound = 0;
    const char *text = StringValueCStr(address);
    nb_status status = nb_server_listen_admin_tcp(nb_engine_server(self), text, wanted, &bound);
    if (status != NB_OK) raise_listen(status, address);
    return UINT2NUM(bound);
}

/* admin_unix(path, mode) -> path: listen_unix for the admin pages. */
static VALUE engine_admin_unix(VALUE self, VALUE path, VALUE mode) {
    unsigned bits = (unsigned)nb_engine_number(mode, 07777, "mode");
    const char *text = StringValueCStr(path);
    nb_status status = nb_server_listen_admin_unix(nb_engine_server(self), text, bits);
    if (status != NB_OK) raise_listen(status, path);
    return path;
}

typedef nb_status admin_text_setter(nb_server *server, nb_slice text);

/* Gives the admin pages a text, once and before the start. */
static VALUE give_admin_text(VALUE self, VALUE text, admin_text_setter *give, const char *what) {
    StringValue(text);
    nb_status status = give(nb_engine_server(self), nb_slice_of(RSTRING_PTR(text), (size_t)RSTRING_LEN(text)));
    if (status == NB_FULL) rb_raise(nb_error_class, "%s is given once, before the engine starts", what);
    if (status != NB_OK) nb_raise_status(status, what);
    return text;
}

/* admin_page = html: what browsers are shown at `/` of the admin pages. Once, before start. */
static VALUE engine_set_admin_page(VALUE self, VALUE html) {
    return give_admin_text(self, html, nb_server_admin_page, "the admin page");
}

/* admin_host = name: for which a loopback address of the admin pages answers as well. Once, before
   start. */
static VALUE engine_set_admin_host(VALUE self, VALUE name) {
    return give_admin_text(self, name, nb_server_admin_host, "the name of the admin address");
}

/* admin_token = text: who has it may change the server at the admin pages. Once, before start. */
static VALUE engine_set_admin_token(VALUE self, VALUE token) {
    return give_admin_text(self, token, nb_server_admin_token, "the admin token");
}

/* admin_commands(fd, changes) -> self: commands of admin clients are written to a pipe that does
   not block, one byte each (server.h). Once, before start; the caller keeps it open until the
   end. */
static VALUE engine_admin_commands(VALUE self, VALUE fd, VALUE changes) {
    nb_status status = nb_server_admin_commands(nb_engine_server(self),
                                                (int)nb_engine_number(fd, INT_MAX, "descriptor"), RTEST(changes));
    if (status == NB_FULL) rb_raise(nb_error_class, "admin commands are asked for once, before the engine starts");
    return self;
}

typedef struct admin_advice_call {
    nb_server *server;
    nb_slice json;
    nb_status status;
} admin_advice_call;

static void *set_admin_advice(void *argument) {
    admin_advice_call *call = argument;
    call->status = nb_server_admin_advice(call->server, call->json);
    return NULL;
}

/* admin_advice = json: what /advice.json shows. */
static VALUE engine_set_admin_advice(VALUE self, VALUE json) {
    StringValue(json);
    VALUE copy = rb_str_new_frozen(json); /* nobody changes it meanwhile */
    admin_advice_call call = {.server = nb_engine_server(self),
                              .json = nb_slice_of(RSTRING_PTR(copy), (size_t)RSTRING_LEN(copy))};
    rb_thread_call_without_gvl(set_admin_advice, &call, NULL, NULL);
    RB_GC_GUARD(copy);
    if (call.status != NB_OK) nb_raise_status(call.status, "advice");
    return json;
}

typedef struct admin_result_call {
    nb_server *server;
    const char *words;
    bool ok;
} admin_result_call;

static void *set_admin_result(void *argument) {
    const admin_result_call *call = argument;
    nb_server_admin_result(call->server, call->ok, call->words);
    return NULL;
}

/* admin_result(ok, words) -> self: how a command has ended, for /status.json. */
static VALUE engine_admin_result(VALUE self, VALUE ok, VALUE words) {
    VALUE copy = rb_str_new_frozen(words); /* nobody changes it meanwhile */
    admin_result_call call = {.server = nb_engine_server(self), .words = StringValueCStr(copy), .ok = RTEST(ok)};
    rb_thread_call_without_gvl(set_admin_result, &call, NULL, NULL);
    RB_GC_GUARD(copy);
    return self;
}

/* listen_tcp(address, port, backlog) -> the bound port. address: numeric. Raises SystemCallError
   (Errno::EADDRINUSE, EACCES, EADDRNOTAVAIL). */
static VALUE engine_listen_tcp(VALUE self, VALUE address, VALUE port, VALUE backlog) {
    uint16_t wanted = (uint16_t)nb_engine_number(port, UINT16_MAX, "port"), bound = 0;
    int waiting = (int)nb_engine_number(backlog, INT_MAX, "backlog");
    const char *text = StringValueCStr(address);
    nb_status status = nb_server_listen_tcp(nb_engine_server(self), text, wanted, waiting, &bound);
    if (status != NB_OK) raise_listen(status, address);
    return UINT2NUM(bound);
}

/* listen_unix(path, mode, backlog) -> path. mode: permission bits, 0 for the umask's. Raises
   SystemCallError. */
static VALUE engine_listen_unix(VALUE self, VALUE path, VALUE mode, VALUE backlog) {
    unsigned bits = (unsigned)nb_engine_number(mode, 07777, "mode");
    int waiting = (int)nb_engine_number(backlog, INT_MAX, "backlog");
    const char *text = StringValueCStr(path);
    nb_status status = nb_server_listen_unix(nb_engine_server(self), text, bits, waiting);
    if (status != NB_OK) raise_listen(status, path);
    return path;
}

/* inherit(fd, keeps_path) -> self: the next call that listens takes the descriptor, which is the
   engine's from now on. keeps_path: the socket file is not removed at the end. Raises
   NeverBlock::Error after start; the descriptor is closed then. */
static VALUE engine_inherit(VALUE self, VALUE fd, VALUE keeps_path) {
    int given = NUM2INT(fd);
    nb_status status = nb_server_inherit(nb_engine_server(self), given, RTEST(keeps_path));
    if (status == NB_OK) return self;
    close(given);
    rb_raise(nb_error_class, "an engine inherits sockets before it starts");
}

typedef struct listeners_call {
    nb_server *server;
    nb_status status;
    int fds[NB_LISTENERS_MAX];
    uint16_t count;
    int error;
} listeners_call;

static void *copy_listeners(void *argument) {
    listeners_call *call = argument;
    call->status = nb_server_copy_listeners(call->server, call->fds, &call->count);
    call->error = errno;
    return NULL;
}

static void *keep_paths(void *server) {
    nb_server_keep_paths(server);
    return NULL;
}

/* copy_listeners -> [Integer]: copies of the descriptors of all listeners, which are the caller's.
   Raises SystemCallError. */
static VALUE engine_copy_listeners(VALUE self) {
    VALUE list = rb_ary_new_capa(NB_LISTENERS_MAX);
    listeners_call call = {.server = nb_engine_server(self)};
    rb_thread_call_without_gvl(copy_listeners, &call, NULL, NULL);
    if (call.status != NB_OK) rb_syserr_fail(call.error, "the sockets cannot be passed on");
    for (uint16_t i = 0; i < call.count; i++) {
        rb_ary_push(list, INT2FIX(call.fds[i]));
    }
    return list;
}

/* keep_paths -> self: another process listens at the UNIX sockets; their files stay. */
static VALUE engine_keep_paths(VALUE self) {
    rb_thread_call_without_gvl(keep_paths, nb_engine_server(self), NULL, NULL);
    return self;
}

/* listener_proxied(number) -> self: that listener takes connections of the PROXY protocol alone.
   Before the engine starts. */
static VALUE engine_listener_proxied(VALUE self, VALUE number) {
    uint16_t listener = (uint16_t)nb_engine_number(number, UINT16_MAX, "listener");
    nb_status status = nb_server_listener_proxied(nb_engine_server(self), listener);
    if (status != NB_OK) nb_raise_status(status, "listener_proxied");
    return self;
}

/* listen_undo -> self: closes what the last of these calls has opened. */
static VALUE engine_listen_undo(VALUE self) {
    nb_server_listen_undo(nb_engine_server(self));
    return self;
}

static uint8_t choice(VALUE value) {
    return NIL_P(value) ? NB_ROUTE_UNSAID : RTEST(value) ? NB_ROUTE_YES : NB_ROUTE_NO;
}

/* lane(threads, queue) -> the number of a new lane, from 1, for routes. In each process so many
   threads run its requests, each thread one at a time; so many requests wait at most. Raises
   NeverBlock::Error after start, and when there are too many lanes. */
static VALUE engine_lane(VALUE self, VALUE threads, VALUE queue) {
    uint16_t made = 0, count = (uint16_t)nb_engine_number(threads, NB_PLACES_MAX, "threads");
    uint32_t waiting_max = (uint32_t)nb_engine_number(queue, UINT32_MAX, "queue");
    nb_status status = nb_server_lane_add(nb_engine_server(self), count ? count : 1, waiting_max, &made);
    if (status == NB_FULL)
        rb_raise(nb_error_class, "lanes are added before the engine starts, at most %u", NB_LANES_MAX);
    if (status != NB_OK) nb_raise_status(status, "a lane could not be made");
    return UINT2NUM(made);
}

/* learn_lanes(lane) -> lane: requests whose calls block executors again and again go to this lane.
   Raises NeverBlock::Error after start, and for a lane that does not exist. */
static VALUE engine_learn_lanes(VALUE self, VALUE lane) {
    nb_status status = nb_server_learn_lanes(nb_engine_server(self),
                                             (uint16_t)nb_engine_number(lane, NB_LANES_MAX, "lane"));
    if (status != NB_OK) rb_raise(nb_error_class, "there is no lane %" PRIsVALUE ", or the engine has started", lane);
    return lane;
}

typedef struct rules_call {
    nb_lane_rules *rules;
    VALUE rows;
} rules_call;

/* [methods, pattern, lane] */
static void add_rule(nb_lane_rules *rules, VALUE row) {
    Check_Type(row, T_ARRAY);
    VALUE pattern = rb_ary_entry(row, 1);
    StringValue(pattern);
    uint16_t methods = (uint16_t)nb_engine_number(rb_ary_entry(row, 0), UINT16_MAX, "methods");
    uint16_t lane = (uint16_t)nb_engine_number(rb_ary_entry(row, 2), NB_LANES_MAX, "lane");
    nb_slice text = {RSTRING_PTR(pattern), (size_t)RSTRING_LEN(pattern)};
    nb_status status = nb_lane_rules_add(rules, methods, text, lane);
    RB_GC_GUARD(pattern);
    if (status == NB_INVALID) rb_raise(rb_eArgError, "%+" PRIsVALUE " is no rule of a lane", row);
    if (status == NB_FULL)
        rb_raise(nb_error_class, "rules of lanes are at most %u of %u bytes", NB_LANE_RULES_MAX,
                 NB_LANE_RULES_TEXT_BYTES);
}

static VALUE add_rules(VALUE argument) {
    const rules_call *call = (const rules_call *)argument;
    for (long i = 0; i < RARRAY_LEN(call->rows); i++)
        add_rule(call->rules, rb_ary_entry(call->rows, i));
    return Qnil;
}

/* lane_rules = [[methods, pattern, lane], ...]: which lane the application wants for its requests;
   the first rule that takes a request wins. methods: bits of LANE_METHODS. pattern: as
   intake/path_pattern.h has it. lane: 0 for fibers. At any time. Raises ArgumentError for a row
   that is no rule, and NeverBlock::Error when there are too many; then the rules are as before. */
static VALUE engine_set_lane_rules(VALUE self, VALUE rows) {
    int tag = 0;
    nb_server *server = nb_engine_server(self);
    Check_Type(rows, T_ARRAY);
    rules_call call = {nb_alloc_zero(1, sizeof(nb_lane_rules)), rows};
    if (!call.rules) rb_memerror();
    rb_protect(add_rules, (VALUE)&call, &tag);
    nb_status status = tag ? NB_OK : nb_server_lane_rules(server, call.rules);
    nb_free(call.rules);
    if (tag) rb_jump_tag(tag);
    if (status != NB_OK) rb_raise(rb_eArgError, "a rule names a lane that there is not");
    return rows;
}

static VALUE lane_methods(void) {
    VALUE methods = rb_hash_new();
    for (int method = NB_METHOD_OTHER; method < NB_METHOD_COUNT; method++) {
        nb_slice name = nb_method_name((nb_method)method);
        if (method == NB_METHOD_OTHER) name = NB_SLICE("OTHER");
        rb_hash_aset(methods, rb_str_freeze(rb_str_new(name.data, (long)name.size)), UINT2NUM(1u << method));
    }
    return rb_obj_freeze(methods);
}

/* route(pattern, stream_input, cancel_on_disconnect, algorithm, rate, lane, compress) -> the
   number of a new route, from 1; the first route that matches a request wins. pattern: an
   absolute path, or a prefix that ends with "*". algorithm: its number. rate: bytes a second.
   lane: its number; 0: fibers, whatever is learned. compress: 0: no, 1: yes, 2: always. nil: as
   the whole server does. Raises ArgumentError for what is no pattern, and NeverBlock::Error
   after start or when there are too many. */
static VALUE engine_route(int argc, VALUE *argv, VALUE self) {
    VALUE pattern, stream_input, cancel_on_disconnect, algorithm, rate, lane, compress;
    uint16_t made = 0;
    rb_scan_args(argc, argv, "34", &pattern, &stream_input, &cancel_on_disconnect, &algorithm, &rate, &lane, &compress);
    StringValue(pattern);
    nb_route route = {.stream_input = RTEST(stream_input), .cancel_on_disconnect = choice(cancel_on_disconnect)};
    if (!NIL_P(algorithm)) route.send_by.algorithm = (uint16_t)nb_engine_number(algorithm, UINT16_MAX, "algorithm");
    if (!NIL_P(rate)) route.send_by.rate = nb_engine_number(rate, UINT64_MAX, "rate");
    if (!NIL_P(lane)) route.lane = (uint16_t)nb_engine_number(lane, NB_LANES_MAX, "lane");
    if (!NIL_P(compress)) route.compress = (uint8_t)(NB_COMPRESS_OFF + nb_engine_number(compress, 2, "compress"));
    route.in_fibers = !NIL_P(lane) && route.lane == 0;
    nb_slice text = {RSTRING_PTR(pattern), (size_t)RSTRING_LEN(pattern)};
    nb_status status = nb_server_route_add(nb_engine_server(self), text, route, &made);
    RB_GC_GUARD(pattern);
    if (status == NB_INVALID) rb_raise(rb_eArgError, "%+" PRIsVALUE " is no pattern of a route", pattern);
    if (status == NB_FULL)
        rb_raise(nb_error_class, "%" PRIsVALUE ": routes are added before the engine starts, at most %u of %u bytes",
                 pattern, NB_ROUTES_MAX, NB_ROUTES_TEXT_BYTES);
    return UINT2NUM(made);
}

typedef struct unavailable_call {
    nb_server *server;
    uint32_t seconds;
} unavailable_call;

static void *set_unavailable(void *argument) {
    const unavailable_call *call = argument;
    nb_server_unavailable(call->server, call->seconds);
    return NULL;
}

/* unavailable = seconds or nil: while no channel serves, requests are answered 503, with so many
   seconds as Retry-After; nil: they wait. */
static VALUE engine_set_unavailable(VALUE self, VALUE seconds) {
    unavailable_call call = {.server = nb_engine_server(self)};
    if (!NIL_P(seconds)) call.seconds = (uint32_t)nb_engine_number(seconds, UINT32_MAX, "unavailable");
    rb_thread_call_without_gvl(set_unavailable, &call, NULL, NULL);
    return seconds;
}

static VALUE engine_start(VALUE self) {
    nb_status status = nb_server_start(nb_engine_server(self));
    if (status == NB_EXISTS) rb_raise(nb_error_class, "an engine starts once");
    if (status != NB_OK) nb_raise_status(status, "the I/O loop could not be started");
    get(self)->started = true;
    return self;
}

/* drain: stops listening, lets requests end, then ends the executors. Returns at once. Any
   thread. */
static VALUE engine_drain(VALUE self) {
    if (nb_engine_alive(self)) nb_server_drain(get(self)->server);
    return self;
}

/* stop_now: closes every connection now. Any thread. */
static VALUE engine_stop_now(VALUE self) {
    if (nb_engine_alive(self)) nb_server_stop_now(get(self)->server);
    return self;
}

static VALUE engine_running(VALUE self) {
    return (nb_engine_alive(self) && nb_server_running(get(self)->server)) ? Qtrue : Qfalse;
}

/* join(timeout_seconds = nil) -> true when the loop has ended, false when the time is over. The
   thread waits. */
static VALUE engine_join(int argc, VALUE *argv, VALUE self) {
    VALUE timeout;
    rb_scan_args(argc, argv, "01", &timeout);
    double left_s = NIL_P(timeout) ? -1 : NUM2DBL(timeout);
    while (nb_engine_alive(self) && nb_server_running(get(self)->server)) {
        if (!NIL_P(timeout) && !(left_s > 0)) return Qfalse;
        rb_thread_wait_for((struct timeval){0, JOIN_STEP_US});
        left_s -= JOIN_STEP_US / 1e6;
    }
    if (nb_engine_alive(self)) nb_server_join(get(self)->server);
    return Qtrue;
}

static VALUE engine_stats(VALUE self) {
    nb_server_counters stats;
    nb_server_counters_read(nb_engine_server(self), &stats);
    VALUE hash = rb_hash_new();
#define NB_STAT(name) rb_hash_aset(hash, ID2SYM(rb_intern(#name)), ULL2NUM(stats.name));
    NB_COUNTER_LIST(NB_STAT)
#undef NB_STAT
    return hash;
}

static void *destroy(void *server) {
    nb_server_destroy(server);
    return NULL;
}

/* close: ends everything at once and frees it. Then close, drain, stop_now, running? and join do
   nothing, and every other call raises NeverBlock::Error. Raises it itself while an executor runs,
   which stop_now ends first. */
static VALUE engine_close(VALUE self) {
    nb_engine *engine = get(self);
    nb_server *server = engine->server;
    bool own = engine->pid == getpid();
    if (own && engine->executors)
        rb_raise(nb_error_class, "an executor of this engine still runs: stop_now, and close when it has ended");
    engine->server = NULL;
    if (server && own) rb_thread_call_without_gvl(destroy, server, NULL, NULL);
    return Qnil;
}

static void abandon(nb_engine *engine) {
    if (engine->pid == getpid()) return;
    if (engine->server) nb_server_abandon(engine->server);
    engine->server = NULL;
}

/* abandon: for the child of a fork. Closes the descriptors of the parent's server; the parent's
   clients notice nothing. */
static VALUE engine_abandon(VALUE self) {
    abandon(get(self));
    return Qnil;
}

/* after_fork: abandons every engine; compat/fork.rb calls it in each child. */
static VALUE engine_s_after_fork(VALUE class) {
    for (nb_list *link = all_engines.next; link != &all_engines; link = link->next)
        abandon(NB_LIST_ENTRY(link, nb_engine, all));
    return class;
}

static VALUE defaults(void) {
    VALUE hash = rb_hash_new();
    nb_server_config config;
    nb_server_config_default(&config);
#define NB_DEFAULT(type, name, value) \
    rb_hash_aset(hash, ID2SYM(rb_intern(#name)), ULL2NUM((unsigned long long)config.name));
    NB_SERVER_SETTINGS(NB_DEFAULT)
#undef NB_DEFAULT
    return rb_obj_freeze(hash);
}

VALUE nb_engine_define(VALUE module) {
    VALUE class = rb_define_class_under(module, "Engine", rb_cObject);
    rb_define_alloc_func(class, engine_allocate);
    rb_define_method(class, "initialize", engine_initialize, -1);
    rb_define_method(class, "unavailable=", engine_set_unavailable, 1);
    rb_define_method(class, "listen_tcp", engine_listen_tcp, 3);
    rb_define_method(class, "listen_unix", engine_listen_unix, 3);
    rb_define_method(class, "inherit", engine_inherit, 2);
    rb_define_method(class, "copy_listeners", engine_copy_listeners, 0);
    rb_define_method(class, "keep_paths", engine_keep_paths, 0);
    rb_define_method(class, "listener_proxied", engine_listener_proxied, 1);
    rb_define_method(class, "listen_undo", engine_listen_undo, 0);
    rb_define_method(class, "lane", engine_lane, 2);
    rb_define_method(class, "learn_lanes", engine_learn_lanes, 1);
    rb_define_method(class, "lane_rules=", engine_set_lane_rules, 1);
    rb_define_const(class, "LANE_METHODS", lane_methods());
    rb_define_method(class, "route", engine_route, -1);
    rb_define_method(class, "admin_tcp", engine_admin_tcp, 2);
    rb_define_method(class, "admin_unix", engine_admin_unix, 2);
    rb_define_method(class, "admin_page=", engine_set_admin_page, 1);
    rb_define_method(class, "admin_host=", engine_set_admin_host, 1);
    rb_define_method(class, "admin_token=", engine_set_admin_token, 1);
    rb_define_method(class, "admin_commands", engine_admin_commands, 2);
    rb_define_method(class, "admin_advice=", engine_set_admin_advice, 1);
    rb_define_method(class, "admin_result", engine_admin_result, 2);
    rb_define_method(class, "start", engine_start, 0);
    rb_define_method(class, "drain", engine_drain, 0);
    rb_define_method(class, "stop_now", engine_stop_now, 0);
    rb_define_method(class, "running?", engine_running, 0);
    rb_define_method(class, "join", engine_join, -1);
    rb_define_method(class, "stats", engine_stats, 0);
    rb_define_method(class, "close", engine_close, 0);
    rb_define_method(class, "abandon", engine_abandon, 0);
    rb_define_singleton_method(class, "after_fork", engine_s_after_fork, 0);
    rb_define_const(class, "DEFAULTS", defaults());
    return class;
}
