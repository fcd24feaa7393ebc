/*
 * stall_watch.c - see stall_watch.h.
 */
#include "stall/stall_watch.h"

#include "os/clock.h"

/* How often the watch looks for an answer. */
#define ANSWER_EVERY_NS (2 * NB_NS_PER_MS)
/* After so many looks in a row that were `stuck`, the thread is interrupted. */
#define STUCK_LOOKS 3u
/* A stall is reported without an answer when its thread was interrupted so long ago. */
#define SIGNAL_NS NB_NS_PER_S

void nb_stall_watch_init(nb_stall_watch *watch, int64_t stall_ns) { *watch = (nb_stall_watch){.stall_ns = stall_ns}; }

static bool asked(nb_stall_phase phase) { return phase >= NB_STALL_COMPARED && phase <= NB_STALL_SIGNALLED; }

/* The burst is another than at the last look, or there is none. */
static unsigned begin(nb_stall_watch *watch, const nb_stall_sight *sight, int64_t *lasted_ns) {
    unsigned what = asked(watch->phase) || watch->phase == NB_STALL_ANSWERED ? NB_STALL_FORGET : 0;
    int64_t length_ns = (sight->switched_ns ? sight->switched_ns : sight->now_ns) - watch->burst_began_ns;
    if (watch->phase == NB_STALL_TOLD) what |= NB_STALL_OVER;
    if (watch->phase == NB_STALL_SIGNALLED && length_ns >= watch->stall_ns) what |= NB_STALL_LATE;
    if (what & (NB_STALL_OVER | NB_STALL_LATE)) *lasted_ns = length_ns;
    *watch = (nb_stall_watch){.stall_ns = watch->stall_ns, .burst_began_ns = sight->switched_ns};
    return what;
}

static void count_waiting(nb_stall_watch *watch, const nb_stall_sight *sight) {
    if (!sight->work_waits) watch->waits_since_ns = 0;
    if (sight->work_waits && watch->waits_since_ns == 0) watch->waits_since_ns = sight->now_ns;
}

static nb_stall_next later(int64_t again_ns) { return (nb_stall_next){.again_ns = again_ns}; }

static nb_stall_next act(unsigned what, int64_t again_ns) {
    return (nb_stall_next){.what = what, .again_ns = again_ns};
}

static nb_stall_next ask(nb_stall_watch *watch, int64_t now_ns) {
    watch->phase = NB_STALL_ASKED;
    watch->asked_ns = now_ns;
    watch->stuck = 0;
    return act(NB_STALL_ASK, now_ns + ANSWER_EVERY_NS);
}

static nb_stall_next await(nb_stall_watch *watch, const nb_stall_sight *sight) {
    int64_t again_ns = sight->now_ns + ANSWER_EVERY_NS;
    if (watch->phase == NB_STALL_SIGNALLED) return later(again_ns);
    watch->stuck = sight->stuck ? watch->stuck + 1 : 0;
    if (watch->stuck < STUCK_LOOKS) return later(again_ns);
    watch->phase = NB_STALL_SIGNALLED;
    watch->signalled_ns = sight->now_ns;
    return act(NB_STALL_SIGNAL, again_ns);
}

/* There is an answer. Ruby code that delays nobody, and the thread of a lane that was in a call,
   may since have come to a call that cannot be left: then the executor is asked again. */
static nb_stall_next judge(nb_stall_watch *watch, const nb_stall_sight *sight) {
    int64_t due_ns = watch->burst_began_ns + watch->stall_ns;
    if (sight->yields) {
        bool old = sight->now_ns - watch->answered_ns >= watch->stall_ns;
        int64_t waited_ns = watch->waits_since_ns ? watch->waits_since_ns + watch->stall_ns : NB_STALL_NEVER;
        if (old && !sight->unmoved) return ask(watch, sight->now_ns);
        if (old) watch->answered_ns = sight->now_ns;
        if (waited_ns > due_ns) due_ns = waited_ns;
    }
    if (sight->now_ns < due_ns) {
        int64_t again_ns = watch->answered_ns + watch->stall_ns;
        return later(due_ns < again_ns ? due_ns : again_ns);
    }
    watch->phase = NB_STALL_TOLD;
    return act(NB_STALL_TELL, sight->now_ns + watch->stall_ns / 4);
}

static nb_stall_next go_on(nb_stall_watch *watch, const nb_stall_sight *sight) {
    int64_t compare_ns = watch->burst_began_ns + NB_STALL_FIRST(watch->stall_ns),
            ask_ns = watch->burst_began_ns + watch->stall_ns / 4 * 3;
    bool lost = watch->phase == NB_STALL_SIGNALLED && sight->now_ns - watch->signalled_ns >= SIGNAL_NS;
    if (watch->phase == NB_STALL_QUIET && sight->now_ns < compare_ns) return later(compare_ns);
    if (watch->phase == NB_STALL_QUIET) {
        watch->phase = NB_STALL_COMPARED;
        return act(NB_STALL_COMPARE, ask_ns);
    }
    if (watch->phase == NB_STALL_COMPARED) {
        return sight->now_ns < ask_ns ? later(ask_ns) : ask(watch, sight->now_ns);
    }
    if (watch->phase == NB_STALL_TOLD) return later(sight->now_ns + watch->stall_ns / 4);
    if (watch->phase != NB_STALL_ANSWERED) {
        if (!sight->answered && !lost) return await(watch, sight);
        watch->phase = NB_STALL_ANSWERED;
        watch->answered_ns = sight->now_ns;
    }
    return judge(watch, sight);
}

nb_stall_next nb_stall_watch_look(nb_stall_watch *watch, const nb_stall_sight *sight) {
    unsigned before = 0;
    int64_t lasted_ns = 0;
    if (sight->switched_ns != watch->burst_began_ns) before = begin(watch, sight, &lasted_ns);
    count_waiting(watch, sight);
    nb_stall_next next = watch->burst_began_ns ? go_on(watch, sight) : later(NB_STALL_NEVER);
    next.what |= before;
    next.lasted_ns = lasted_ns;
    return next;
}
