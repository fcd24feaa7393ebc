/*
 * stalls.c - see stalls.h.
 */
#include "binding/stalls/stalls.h"

#include <errno.h>
#include <pthread.h>
#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/thread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/tally.h"
#include "binding/base/module.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/traced.h"
#include "binding/base/ruby_log.h"
#include "binding/ports/port.h"
#include "binding/ports/running.h"
#include "binding/scheduler/scheduler.h"
#include "stall/stall_entry.h"
#include "stall/stall_places.h"
#include "stall/stall_watch.h"
#include "binding/stalls/stalls_trace.h"
#include "binding/base/ticker.h"
#include "binding/slices/interrupt.h"

/* Ruby code looks for interrupts far more often: a thread that has run so long without is in a C call. */
#define UNSERVED_NS (10 * NB_NS_PER_MS)
/* Ruby code that makes short calls, which release the lock, runs the job between two of them. */
#define QUIET_NS (4 * NB_NS_PER_MS)
/* So much (and two fifths of stall_ms at most) a thread has to run before it is said whether it ran Ruby code or collected: one collection takes up to half of that. */
#define COMPARED_NS (40 * NB_NS_PER_MS)
/* A call in which a thread has run for so long after a collection is not that collection's end. */
#define DOUBTED_NS NB_NS_PER_MS
/* A Ruby thread that has the lock and processor time answers within. */
#define UNANSWERED_NS (500 * NB_NS_PER_MS)
/* Traces take some 50 us each; longer than this, and Ruby collects meanwhile. */
#define LONG_ANSWER_NS (1 * NB_NS_PER_MS)
/* Stalls by one culprit are all counted, and an entry is made of the first in this time. */
#define TELL_EVERY_NS (10 * NB_NS_PER_S)

/* Who has the answer: nobody (IDLE), whoever comes first (ASKED), one that writes it, the ticker's thread (ANSWERED). */
typedef enum answer_state { IDLE, ASKED, WRITING, ANSWERED } answer_state;

typedef struct watched watched;
struct watched {
    watched *next;         /* in all_watched, for ever: a signal or a job that comes late still finds it */
    nb_executor *executor; /* NULL: free. Changed with Ruby's lock, while the ticker does not look */
    pthread_t thread;
    long thread_number;
    clockid_t clock;
    bool clocked;
    bool begun; /* the ticker looks */
    bool lane;  /* what keeps its thread is meant to, but where it holds Ruby's lock */

    /* the answer */
    _Atomic uint32_t state;
    _Atomic int64_t asked_stint;
    _Atomic bool half_waited; /* its thread has not run for half of the stint */
    _Atomic bool signalled, collecting;
    int64_t signalled_ran_ns;   /* served_ran_ns when it was */
    int64_t claimed_ran_ns;     /* its thread's clock when the signal met a call */
    size_t served_gc_count;     /* collections when its thread last ran a job */
    _Atomic bool doubted;       /* another had begun when the signal came, and may just have ended */
    _Atomic int64_t call_stint; /* the stint in which its thread was in a call that must not be interrupted */
    int64_t answered_stint;
    nb_stall stall;
    /* what it is compared with, noted with Ruby's lock */
    _Atomic bool compare;
    _Atomic int64_t quiet_since_ns; /* it was asked then, or has run a job of ours, whatever that could say */
    _Atomic int64_t served_ran_ns;  /* its thread's clock at that job */
    int64_t compared_stint, compared_ran_ns;
    size_t compared_gc_ms;

    /* the ticker's */
    nb_stall_watch watch;
    int64_t ran_ns, ran_at_ns;    /* the thread's clock at the first look at the stint */
    _Atomic int64_t asked_ran_ns; /* the thread's clock when it was first asked since its last job */
    int64_t heard_ran_ns;         /* served_ran_ns then */
    nb_stall_culprit culprit;
    uint32_t row;
    const char *waits_in; /* the system call that nobody may interrupt; NULL: none */
    bool told, counted;
    bool unheard; /* told without its culprit, and counted when that is known */
    int64_t told_ns[NB_TALLY_ROWS + 1];
    uint64_t untold[NB_TALLY_ROWS + 1];

    nb_log *log;
    bool json;
    int worker;
    nb_stall_places *places;
    char **routes;
    long route_count;
};

static watched *_Atomic all_watched;
static ID id_status;

/* --- the thread that answers when others can run --- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t asked;
    VALUE thread;
    pid_t pid; /* whose thread it is */
    _Atomic long number;
    unsigned users; /* watched executors */
    uintptr_t turn; /* of threads: one whose turn is over ends */
    bool wanted, interrupted;
    _Atomic bool waits; /* it was asked, and has not had Ruby's lock since */
    _Atomic bool begun; /* it has had Ruby's lock, and its number is known */
} reporter = {.lock = PTHREAD_MUTEX_INITIALIZER, .thread = Qnil};

static bool answer(watched *one, VALUE current);

/* The question of a turn that is over is the next thread's. */
static void *await_question(void *turn) {
    pthread_mutex_lock(&reporter.lock);
    while (!reporter.wanted && !reporter.interrupted && reporter.turn == (uintptr_t)turn)
        pthread_cond_wait(&reporter.asked, &reporter.lock);
    if (reporter.turn == (uintptr_t)turn) reporter.wanted = reporter.interrupted = false;
    pthread_mutex_unlock(&reporter.lock);
    return NULL;
}

static void interrupt_reporter(void *unused) {
    pthread_mutex_lock(&reporter.lock);
    reporter.interrupted = true;
    pthread_cond_broadcast(&reporter.asked);
    pthread_mutex_unlock(&reporter.lock);
}

static void answer_all(VALUE current) {
    for (watched *one = atomic_load(&all_watched); one; one = one->next) {
        if (one->executor) answer(one, current);
    }
}

static VALUE report(void *turn) {
    if (reporter.turn != (uintptr_t)turn) return Qnil;
    atomic_store(&reporter.number, nb_thread_number());
    atomic_store(&reporter.begun, true);
    for (;;) {
        rb_thread_call_without_gvl(await_question, turn, interrupt_reporter, NULL);
        if (reporter.turn != (uintptr_t)turn) return Qnil;
        atomic_store(&reporter.waits, false);
        answer_all(reporter.thread);
    }
}

static void ask_reporter(void) {
    pthread_mutex_lock(&reporter.lock);
    reporter.wanted = true;
    atomic_store(&reporter.waits, true);
    pthread_cond_broadcast(&reporter.asked);
    pthread_mutex_unlock(&reporter.lock);
}

/* After a fork the parent's is not there. */
static void start_reporter(void) {
    if (reporter.pid != getpid()) {
        pthread_mutex_init(&reporter.lock, NULL);
        pthread_cond_init(&reporter.asked, NULL);
        reporter.thread = Qnil;
        reporter.users = 0;
        reporter.pid = getpid();
    }
    reporter.users++;
    if (!NIL_P(reporter.thread)) return;
    atomic_store(&reporter.begun, false);
    reporter.thread = rb_thread_create(report, (void *)reporter.turn);
    rb_funcall(reporter.thread, rb_intern("name="), 1, rb_str_new_cstr("nb-stalls"));
    rb_funcall(reporter.thread, rb_intern("report_on_exception="), 1, Qfalse);
}

/* The thread that was the last user's, which ends now; else nil. */
static VALUE leave_reporter(void) {
    if (--reporter.users > 0) return Qnil;
    VALUE ending = reporter.thread;
    reporter.thread = Qnil;
    pthread_mutex_lock(&reporter.lock);
    reporter.turn++;
    pthread_cond_broadcast(&reporter.asked);
    pthread_mutex_unlock(&reporter.lock);
    return ending;
}

/* --- the job, in whatever Ruby thread --- */

static int64_t ran_ns(const watched *one) { return one->clocked ? nb_thread_ran_ns(one->clock) : 0; }

/* What the thread has run since it was asked, and has run no job of ours. */
static int64_t unserved_ns(const watched *one) {
    int64_t served_ns = atomic_load(&one->served_ran_ns), asked_ns = atomic_load(&one->asked_ran_ns);
    return ran_ns(one) - (served_ns > asked_ns ? served_ns : asked_ns);
}

static void compare(watched *one) {
    if (!atomic_exchange(&one->compare, false)) return;
    one->compared_stint = nb_executor_switched_ns(one->executor);
    one->compared_ran_ns = ran_ns(one);
    one->compared_gc_ms = nb_gc_ms();
}

/* What the signal met, and is doubted, was no call if the thread has hardly run since. */
static void note_served(watched *one) {
    int64_t now_ns = nb_clock_thread_ns();
    atomic_store(&one->served_ran_ns, now_ns);
    atomic_store(&one->quiet_since_ns, nb_clock_monotonic_ns());
    one->served_gc_count = rb_gc_count();
    uint32_t expected = ANSWERED;
    if (atomic_load(&one->doubted) && now_ns - one->claimed_ran_ns < DOUBTED_NS)
        atomic_compare_exchange_strong(&one->state, &expected, ASKED);
    atomic_store(&one->doubted, false);
}

/* A job that is asked for while one runs is run right after it, by the same thread, which looks for nothing else in between (rb_postponed_job_flush, before Ruby 3.3).
   Where answers take longer than it is until they are asked for again, as in a heap of which each allocation collects, no other thread would ever run: so one that took long
   is the job's last, the others have theirs first in the next, and between two such jobs there is as long without an answer. With Ruby's lock. */
static int64_t answers_again_ns;
static watched *answered_last;

static watched *following(const watched *one) { return one && one->next ? one->next : atomic_load(&all_watched); }

static void answer_some(VALUE current) {
    int64_t began_ns = nb_clock_monotonic_ns(), now_ns = began_ns;
    if (now_ns < answers_again_ns) return;
    watched *first = following(answered_last), *one = first;
    do {
        if (one->executor && answer(one, current)) {
            answered_last = one;
            now_ns = nb_clock_monotonic_ns();
        }
        one = following(one);
    } while (one != first && now_ns - began_ns < LONG_ANSWER_NS);
    answers_again_ns = now_ns + (now_ns - began_ns);
}

static void job(void *unused) {
    VALUE current = rb_thread_current();
    for (watched *one = atomic_load(&all_watched); one; one = one->next) {
        if (!one->executor) continue;
        if (current == one->executor->thread) note_served(one);
        compare(one);
    }
    /* What is to be raised in this thread would be raised in a trace, and lost. */
    if (!rb_thread_interrupted(current)) answer_some(current);
}

#ifdef HAVE_RB_POSTPONED_JOB_PREREGISTER
static rb_postponed_job_handle_t job_handle;

static void prepare_job(void) { job_handle = rb_postponed_job_preregister(0, job, NULL); }
static void trigger_job(void) { rb_postponed_job_trigger(job_handle); }
#else
static void prepare_job(void) {}
static void trigger_job(void) { rb_postponed_job_register_one(0, job, NULL); }
#endif

/* --- the answer --- */

static bool claim(watched *one) {
    uint32_t expected = ASKED;
    return atomic_compare_exchange_strong(&one->state, &expected, WRITING);
}

static bool still_there(const watched *one) {
    return nb_executor_switched_ns(one->executor) == atomic_load(&one->asked_stint);
}

/* What the thread has to have run since it was compared. */
static int64_t wanted_ns(const watched *one) {
    int64_t part_ns = one->watch.stall_ns / 5 * 2;
    return part_ns < COMPARED_NS ? part_ns : COMPARED_NS;
}

/* More than half of what the thread ran since the comparison were garbage collections (whose time Ruby takes by the processor's clock), or one was seen at work by which nothing
   could be compared. False: it has not run for long enough to say. */
static bool find_ruby_or_gc(watched *one) {
    bool seen = atomic_exchange(&one->collecting, false);
    one->stall.kind = NB_STALL_gc;
    if (one->compared_stint != atomic_load(&one->asked_stint)) {
        if (seen) return true;
        atomic_store(&one->compare, true);
        compare(one);
    }
    int64_t since_ns = ran_ns(one) - one->compared_ran_ns;
    int64_t gc_ms = (int64_t)(nb_gc_ms() - one->compared_gc_ms);
    if (gc_ms * NB_NS_PER_MS * 2 <= since_ns) one->stall.kind = NB_STALL_ruby;
    return since_ns >= wanted_ns(one) || !one->clocked;
}

/* The job runs where the call returns, whose frame is still there. */
static bool returns_from_call(watched *one) {
    one->stall.kind = NB_STALL_c_call;
    return atomic_load(&one->call_stint) == atomic_load(&one->asked_stint);
}

/* False: the thread is between two fibers, or it is too early. */
static bool describe_here(watched *one) {
    if (NIL_P(nb_scheduler_root(one->executor->scheduler))) return false;
    if (!returns_from_call(one) && !find_ruby_or_gc(one)) return false;
    nb_stalls_trace_here(&one->stall);
    return true;
}

/* It does not just wait for the lock, to come back from a short call, or for a processor, inside of one. */
static bool stays_in_call(const watched *one) {
    int64_t quiet_ns = nb_clock_monotonic_ns() - atomic_load(&one->quiet_since_ns);
    if (!nb_thread_sleeps(one->thread_number)) return unserved_ns(one) >= QUIET_NS;
    const char *waits_in = nb_thread_waits_in(one->thread_number);
    return quiet_ns >= (waits_in && strcmp(waits_in, "futex(2)") == 0 ? COMPARED_NS : QUIET_NS);
}

static VALUE status_of(VALUE thread) { return rb_funcall(thread, id_status, 0); }

/* By another thread, which has Ruby's lock now. Asleep by its status, the executor's is in a call that has released the lock. Else it waits for
   the lock: it was made to yield it, or another thread has kept it. False: that is for the other thread to say, or Ruby code makes short calls. */
static bool describe_from_elsewhere(watched *one, VALUE current) {
    if (returns_from_call(one)) {
        nb_stalls_trace_thread(&one->stall, one->executor->thread);
        return true;
    }
    VALUE thread = one->executor->thread, status = nb_interrupt_call(status_of, thread, NULL);
    if (status == Qundef) return false;
    bool runs = RB_TYPE_P(status, T_STRING) && strcmp(RSTRING_PTR(status), "run") == 0;
    bool waited = runs && atomic_load(&one->half_waited);
    if (waited && current == reporter.thread) return false;
    if (!runs && !stays_in_call(one)) return false;
    if (runs && !waited && !find_ruby_or_gc(one)) return false;
    if (waited || !runs) one->stall.kind = waited ? NB_STALL_other_thread : NB_STALL_blocking_call;
    if (waited) {
        nb_stalls_trace_here(&one->stall);
    } else {
        nb_stalls_trace_thread(&one->stall, thread);
    }
    return true;
}

static void clear(nb_stall *stall) {
    memset(&stall->request, 0, sizeof(stall->request));
    stall->lines = stall->trace_bytes = 0;
}

/* With Ruby's lock. False: it was not asked. */
static bool answer(watched *one, VALUE current) {
    if (!claim(one)) return false;
    clear(&one->stall);
    bool here = current == one->executor->thread;
    bool known = still_there(one) && (here ? describe_here(one) : describe_from_elsewhere(one, current)) &&
                 still_there(one);
    if (known) {
        nb_stalls_trace_request(&one->stall, one->executor);
        one->answered_stint = atomic_load(&one->asked_stint);
    }
    atomic_store(&one->state, known ? ANSWERED : ASKED);
    return true;
}

/* --- the signal --- */

int ruby_thread_has_gvl_p(void); /* exported, and in no header */

static struct sigaction before;

static void answer_in_signal(watched *one) {
    if (!ruby_thread_has_gvl_p() || atomic_load(&one->served_ran_ns) != one->signalled_ran_ns) return;
    if (rb_during_gc()) {
        atomic_store(&one->collecting, true);
        return;
    }
    if (!claim(one)) return;
    clear(&one->stall);
    one->stall.kind = NB_STALL_c_call;
    one->claimed_ran_ns = nb_clock_thread_ns();
    atomic_store(&one->doubted, rb_gc_count() != one->served_gc_count);
    bool known = still_there(one);
    if (known) {
        nb_stalls_trace_signalled(&one->stall);
        nb_stalls_trace_request(&one->stall, one->executor);
        one->answered_stint = atomic_load(&one->asked_stint);
    }
    atomic_store(&one->state, known ? ANSWERED : ASKED);
}

static void pass_on(int number, siginfo_t *info, void *context) {
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    }
}

static void on_signal(int number, siginfo_t *info, void *context) {
    int error = errno;
    bool ours = false;
    for (watched *one = atomic_load(&all_watched); one; one = one->next) {
        if (!pthread_equal(one->thread, pthread_self()) || !atomic_exchange(&one->signalled, false)) continue;
        ours = true;
        if (one->executor) answer_in_signal(one);
    }
    if (!ours) pass_on(number, info, context);
    errno = error;
}

/* Whoever has put a handler of his own in its place since keeps it. */
static bool handles_signal(void) {
    struct sigaction now;
    return sigaction(SIGURG, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal;
}

static void take_signal(void) {
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    if (!handles_signal()) sigaction(SIGURG, &ours, &before);
}

/* Where Ruby's threads change the native threads they run on, none can be told by it. */
static bool threads_move(void) {
    const char *set = getenv("RUBY_MN_THREADS");
    return set && strcmp(set, "1") == 0;
}

/* What an application's call would notice is not done: where it was is known when it returns. (A futex may be the lock itself, which another thread holds.) */
static void interrupt(watched *one) {
    if (handles_signal() && !threads_move() && nb_thread_restarts(one->thread_number)) {
        one->signalled_ran_ns = atomic_load(&one->served_ran_ns);
        atomic_store(&one->signalled, true);
        pthread_kill(one->thread, SIGURG);
        return;
    }
    one->waits_in = nb_thread_waits_in(one->thread_number);
    if (one->waits_in && strcmp(one->waits_in, "futex(2)") == 0) return;
    atomic_store(&one->call_stint, one->watch.stint_ns);
}

static bool in_call(const watched *one, int64_t stint_ns) { return atomic_load(&one->call_stint) == stint_ns; }

/* --- the ticker's part --- */

/* Its thread may be so new that it has not had the lock once. */
static bool reporter_waits_for_lock(void) {
    if (!atomic_load(&reporter.waits)) return false;
    return !atomic_load(&reporter.begun) || nb_thread_sleeps(atomic_load(&reporter.number));
}

/* Nobody answers: our Ruby thread waits for the lock, and the executor's runs without looking for interrupts, or waits for something and no other thread can be
   the one that has the lock. (Native threads of a busy process may keep that open: not for ever.) */
static bool stuck(const watched *one, int64_t now_ns) {
    if (!reporter_waits_for_lock()) return false;
    if (unserved_ns(one) >= UNSERVED_NS) return true;
    if (!nb_thread_sleeps(one->thread_number)) return false;
    return !nb_thread_others_run() || now_ns - one->watch.asked_ns >= UNANSWERED_NS;
}

static bool work_waits(const watched *one) {
    const nb_executor *executor = one->executor;
    const nb_board *board = executor->board;
    uint32_t itself = atomic_load_explicit(&board->pulse.running, memory_order_relaxed) ? 0 : 1;
    if (atomic_load_explicit(&board->figures.ready, memory_order_relaxed) > itself) return true;
    for (uint16_t i = 0; i < executor->port_count; i++) {
        const nb_port *port = &executor->ports[i];
        if (nb_channel_loop_starves(port->channel)) return true;
        if (nb_ring_more(&port->requests, __atomic_load_n(&port->in_hand, __ATOMIC_RELAXED))) return true;
    }
    return false;
}

static void ask(watched *one) {
    atomic_store(&one->asked_stint, one->watch.stint_ns);
    atomic_store(&one->collecting, false);
    atomic_store(&one->doubted, false);
    one->waits_in = NULL;
    int64_t ran = ran_ns(one), passed_ns = nb_clock_monotonic_ns() - one->ran_at_ns;
    atomic_store(&one->asked_ran_ns, ran);
    atomic_store(&one->quiet_since_ns, nb_clock_monotonic_ns());
    atomic_store(&one->half_waited, one->clocked && (ran - one->ran_ns) * 2 < passed_ns);
}

/* What was asked and is not answered is asked again each time: a job may have been run by another thread. */
static void renew_question(watched *one) {
    uint32_t expected = IDLE;
    atomic_compare_exchange_strong(&one->state, &expected, ASKED);
    int64_t served_ns = atomic_load(&one->served_ran_ns);
    if (served_ns != one->heard_ran_ns) atomic_store(&one->asked_ran_ns, ran_ns(one));
    one->heard_ran_ns = served_ns;
    trigger_job();
    if (!atomic_load(&reporter.waits)) ask_reporter();
}

/* One that is writing finds out by itself that it is too late. */
static void withdraw(watched *one) {
    uint32_t expected = ASKED;
    if (atomic_compare_exchange_strong(&one->state, &expected, IDLE)) return;
    expected = ANSWERED;
    atomic_compare_exchange_strong(&one->state, &expected, IDLE);
}

/* It has hardly run since, and does not wait in a call either. */
static bool doubted(watched *one) {
    if (!atomic_load(&one->doubted)) return false;
    if (ran_ns(one) - one->claimed_ran_ns < DOUBTED_NS && !nb_thread_sleeps(one->thread_number)) return true;
    atomic_store(&one->doubted, false);
    return false;
}

static bool answered(watched *one) {
    if (doubted(one) || atomic_load(&one->state) != ANSWERED) return false;
    if (one->answered_stint == one->watch.stint_ns) return true;
    atomic_store(&one->state, IDLE);
    return false;
}

typedef void entry_fn(nb_text *text, const nb_stall_voice *voice, const nb_stall *stall,
                      const nb_stall_culprit *culprit);

static void write_entry(watched *one, entry_fn *entry, int64_t lasted_ns) {
    uint16_t route = one->stall.request.route;
    nb_stall_voice voice = {.json = one->json,
                            .worker = one->worker,
                            .pid = (long)getpid(),
                            .wall_ns = nb_clock_wall_ns(),
                            .route = route >= 1 && route <= one->route_count ? one->routes[route - 1] : NULL,
                            .lasted_ns = lasted_ns,
                            .untold = one->untold[one->row]};
    nb_text text;
    nb_text_init(&text, NB_STALL_ENTRY_BYTES_MAX);
    entry(&text, &voice, &one->stall, &one->culprit);
    if (text.size && !nb_text_failed(&text)) nb_log_write(one->log, text.bytes, text.size);
    nb_text_deinit(&text);
}

/* By its trace; where that is of when the call returned, the system call in which it waited is what ran. */
static void blame(watched *one, bool late) {
    nb_stall_places_blame(one->places, &one->stall, &one->culprit);
    if (late && one->waits_in) snprintf(one->culprit.in, sizeof(one->culprit.in), "%s", one->waits_in);
}

static void count(watched *one) {
    nb_tally *tally = &one->executor->board->stalls;
    one->row = NB_TALLY_OTHER;
    if (*one->culprit.at) one->row = nb_tally_row_of(tally, (uint16_t)one->stall.kind, one->culprit.at);
    nb_tally_count(tally, one->row, 1, 0);
    one->counted = true;
    const nb_stall_request *request = &one->stall.request;
    if (one->stall.kind == NB_STALL_blocking_call && *request->method)
        nb_stalled_write(&one->executor->board->stalled, request->method, request->path);
}

/* Whether there is to be an entry (`told`): of each row one in a while. */
static void decide(watched *one, int64_t now_ns) {
    one->told = one->told_ns[one->row] == 0 || now_ns - one->told_ns[one->row] >= TELL_EVERY_NS;
    if (one->told) {
        one->told_ns[one->row] = now_ns;
    } else {
        one->untold[one->row]++;
    }
}

static bool debugged(const watched *one) { return one->culprit.prompt || nb_process_traced(); }

/* Its thread has not come to say where it is: of that, what the system tells. */
static void describe_unheard(watched *one) {
    clear(&one->stall);
    one->stall.kind = in_call(one, one->watch.stint_ns) ? NB_STALL_c_call : NB_STALL_unknown;
}

static void tell(watched *one, int64_t now_ns) {
    bool heard = atomic_load(&one->state) == ANSWERED;
    if (!heard) describe_unheard(one);
    blame(one, !heard);
    if (debugged(one)) return;
    one->unheard = !heard;
    one->row = NB_TALLY_OTHER;
    if (heard) count(one);
    decide(one, now_ns);
    if (!one->told) return;
    write_entry(one, nb_stall_entry_begun, now_ns - one->watch.stint_ns);
    one->untold[one->row] = 0;
}

static void tell_over(watched *one, int64_t lasted_ns) {
    if (one->unheard) count(one);
    if (one->counted) nb_tally_count(&one->executor->board->stalls, one->row, 0, (uint64_t)lasted_ns);
    if (one->told) write_entry(one, nb_stall_entry_over, lasted_ns);
    one->counted = one->told = one->unheard = false;
}

/* What could not be asked while it lasted was said when the call returned. */
static bool said_late(watched *one, int64_t stint_ns) {
    if (atomic_load(&one->state) != ANSWERED || one->answered_stint != stint_ns) return false;
    return in_call(one, stint_ns);
}

/* It was not told while it lasted. */
static void tell_late(watched *one, int64_t now_ns, int64_t lasted_ns) {
    if (debugged(one)) return;
    count(one);
    decide(one, now_ns);
    bool told = one->told;
    tell_over(one, lasted_ns);
    if (told) one->untold[one->row] = 0;
}

static nb_stall_sight sight_of(watched *one, int64_t now_ns) {
    nb_stall_sight sight = {.now_ns = now_ns, .switched_ns = nb_executor_switched_ns(one->executor)};
    if (sight.switched_ns != one->watch.stint_ns) {
        one->ran_ns = ran_ns(one);
        one->ran_at_ns = now_ns;
        return sight;
    }
    if (one->watch.phase < NB_STALL_COMPARED) return sight;
    sight.work_waits = !one->lane && work_waits(one);
    sight.answered = answered(one);
    sight.yields = one->lane || sight.answered;
    if (sight.answered && one->stall.kind == NB_STALL_c_call) sight.yields = false;
    if (sight.answered && one->stall.kind == NB_STALL_blocking_call) sight.yields = one->lane;
    sight.stuck = one->watch.phase == NB_STALL_ASKED && !sight.answered && stuck(one, now_ns);
    return sight;
}

static int64_t look(void *owner, int64_t now_ns, int *fd) {
    (void)fd;
    watched *one = owner;
    nb_stall_sight sight = sight_of(one, now_ns);
    int64_t stint_ns = one->watch.stint_ns;
    nb_stall_next next = nb_stall_watch_look(&one->watch, &sight);
    bool late = (next.what & (NB_STALL_LATE | NB_STALL_OVER)) && said_late(one, stint_ns);
    if (late) blame(one, true);
    if (late && (next.what & NB_STALL_LATE)) tell_late(one, now_ns, next.lasted_ns);
    if (next.what & NB_STALL_OVER) tell_over(one, next.lasted_ns);
    if (next.what & (NB_STALL_FORGET | NB_STALL_OVER)) withdraw(one);
    if (next.what & NB_STALL_COMPARE) {
        atomic_store(&one->compare, true);
        trigger_job();
    }
    if (next.what & NB_STALL_ASK) {
        withdraw(one);
        ask(one);
    }
    if (one->watch.phase == NB_STALL_ASKED || one->watch.phase == NB_STALL_SIGNALLED) renew_question(one);
    if (next.what & NB_STALL_SIGNAL) interrupt(one);
    if (next.what & NB_STALL_TELL) tell(one, now_ns);
    return next.again_ns;
}

/* --- begin and end --- */

static VALUE option(VALUE options, const char *name) { return rb_hash_lookup(options, ID2SYM(rb_intern(name))); }

/* Taken at once: what follows may let the thread of another executor run, which looks for one too. */
static watched *take_one(nb_executor *executor) {
    watched *one = atomic_load(&all_watched);
    while (one && (one->executor || atomic_load(&one->state) != IDLE))
        one = one->next;
    if (!one) {
        one = nb_alloc_zero(1, sizeof(*one));
        if (!one) rb_memerror();
        one->next = atomic_load(&all_watched);
        atomic_store(&all_watched, one);
    }
    one->executor = executor;
    executor->watched = one;
    return one;
}

static void forget_settings(watched *one) {
    for (long i = 0; i < one->route_count; i++)
        nb_free(one->routes[i]);
    nb_free(one->routes);
    nb_stall_places_destroy(one->places);
    one->routes = NULL;
    one->places = NULL;
    one->route_count = 0;
}

static void take_routes(watched *one, VALUE patterns) {
    one->routes = nb_alloc_zero((size_t)RARRAY_LEN(patterns) + 1, sizeof(*one->routes));
    if (!one->routes) rb_memerror();
    for (long i = 0; i < RARRAY_LEN(patterns); i++) {
        VALUE pattern = rb_ary_entry(patterns, i);
        size_t size = strlen(StringValueCStr(pattern)) + 1;
        if (!(one->routes[i] = nb_alloc(size))) rb_memerror();
        memcpy(one->routes[i], RSTRING_PTR(pattern), size);
        one->route_count = i + 1;
    }
}

/* [[:ours | :application | :gem, folder, name], ...] */
static void take_places(watched *one, VALUE rows) {
    ID ours = rb_intern("ours"), application = rb_intern("application");
    if (nb_stall_places_create(&one->places) != NB_OK) rb_memerror();
    for (long i = 0; i < RARRAY_LEN(rows); i++) {
        VALUE row = rb_ary_entry(rows, i), folder = rb_ary_entry(row, 1), name = rb_ary_entry(row, 2);
        ID owner = rb_sym2id(rb_ary_entry(row, 0));
        nb_stall_owner known = owner == ours          ? NB_STALL_OURS
                               : owner == application ? NB_STALL_APPLICATION
                                                      : NB_STALL_GEM;
        if (nb_stall_places_add(one->places, known, StringValueCStr(folder), StringValueCStr(name)) == NB_NO_MEMORY)
            rb_memerror();
    }
}

void nb_stalls_begin(nb_executor *executor, VALUE options) {
    if (NIL_P(options)) return;
    watched *one = take_one(executor);
    forget_settings(one);
    VALUE worker = option(options, "worker");
    one->log = nb_ruby_log_of(executor->log);
    one->json = RTEST(option(options, "json"));
    one->worker = NIL_P(worker) ? -1 : NUM2INT(worker);
    take_routes(one, option(options, "routes"));
    take_places(one, option(options, "places"));
    nb_stall_watch_init(&one->watch, NUM2LL(option(options, "ms")) * NB_NS_PER_MS);
    memset(one->told_ns, 0, sizeof(one->told_ns));
    memset(one->untold, 0, sizeof(one->untold));
    one->told = one->counted = one->unheard = false;
    one->lane = executor->lane > 0;
    atomic_store(&one->served_ran_ns, 0);
    one->waits_in = NULL;
    one->thread = pthread_self();
    one->thread_number = nb_thread_number();
    one->clocked = nb_thread_clock(one->thread, &one->clock);
    take_signal();
    start_reporter();
    one->begun = true;
    /* No stint is of interest sooner. */
    int64_t idle_ns = NB_STALL_FIRST(one->watch.stall_ns);
    if (!nb_ticker_add(look, one, idle_ns > NB_TICKER_IDLE_NS ? idle_ns : NB_TICKER_IDLE_NS)) nb_stalls_end(executor);
}

VALUE nb_stalls_end(nb_executor *executor) {
    watched *one = executor->watched;
    if (!one) return Qnil;
    VALUE ending = Qnil;
    if (one->begun && !nb_executor_in_child(executor)) {
        nb_ticker_remove(look, one);
        ending = leave_reporter();
    }
    one->begun = false;
    atomic_store(&one->state, IDLE);
    atomic_store(&one->signalled, false);
    one->executor = NULL;
    executor->watched = NULL;
    return ending;
}

void nb_stalls_define(VALUE module) {
    id_status = rb_intern("status");
    rb_gc_register_address(&reporter.thread);
    nb_stalls_trace_define();
    prepare_job();
}
