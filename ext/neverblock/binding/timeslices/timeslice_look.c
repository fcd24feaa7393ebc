/*
 * timeslice_look.c - see timeslice_look.h.
 */
#include "binding/timeslices/timeslice_look.h"

#include <poll.h>

#include "binding/base/process_watchdog.h"
#include "binding/timeslices/timeslice_job.h"
#include "binding/state/timeslice_state.h"
#include "os/clock.h"
#include "os/thread.h"

/* After a missed preemption the job is asked for again after NB_AGAIN_NS. An Enumerator, for
   example, is between two fibers at most looks, and not a moment later. After NB_AGAIN_COUNT tries
   the pause is twice as long, after as many more three times, since a fiber may be one that cannot
   be left for long. */
#define NB_AGAIN_NS (NB_NS_PER_MS / 10)
#define NB_AGAIN_COUNT 32
/* For this long after a missed preemption the watchdog looks soon whether the job has preempted.
   Otherwise it looks when it would ask again, since each look wakes a thread. */
#define NB_MISSED_LATELY_NS NB_NS_PER_S
/* For this long after a thread has kept the GVL from an executor, the watchdog looks once in each
   NB_PREEMPT_GRANULARITY_NS. */
#define NB_CONTENDED_NS NB_NS_PER_S
/* For this long after a preemption the watchdog looks once in each NB_PREEMPT_GRANULARITY_NS, but
   not while it is quiet. A look that meets another fiber would otherwise put the next look off to
   the end of that fiber's time slice. This is twice NB_PREEMPTED_WAITS_MAX_NS, within which a
   preempted fiber goes on. */
#define NB_PREEMPTION_SEEN_NS (20 * NB_NS_PER_MS)
/* A thread that is awake and has used no processor time for this long is in a call. It does not
   wait for the GVL. */
#define NB_STILL_NS (200 * NB_NS_PER_MS)

static int64_t look_at_gvl(nb_timeslices *timeslices, uint32_t waits, int64_t now_ns) {
    if (waits != timeslices->gvl_waits_seen) {
        timeslices->gvl_waits_seen = waits;
        timeslices->gvl_waits_seen_ns = now_ns;
    } else if (now_ns - timeslices->gvl_waits_seen_ns >= NB_PREEMPT_GRANULARITY_NS / 2) {
        timeslices->contended_ns = now_ns;
        nb_timeslice_job_ask();
    }
    return now_ns + NB_PREEMPT_GRANULARITY_NS;
}

/* A thread from which Ruby has taken the GVL does not tell that it waits for it. */
static void look_at_thread(nb_timeslices *timeslices, int64_t now_ns) {
    if (!timeslices->clocked) return;
    int64_t ran_ns = nb_thread_ran_ns(timeslices->clock);
    if (ran_ns != timeslices->ran_seen_ns) {
        timeslices->ran_seen_ns = ran_ns;
        timeslices->still_ns = now_ns;
    } else if (now_ns - timeslices->still_ns >= NB_PREEMPT_GRANULARITY_NS / 2 &&
               now_ns - timeslices->still_ns < NB_STILL_NS) {
        timeslices->contended_ns = now_ns;
        nb_timeslice_job_ask();
    }
}

static int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }

/* Was the last preemption that was asked for missed, as far as is known? */
static bool was_missed(const nb_timeslices *timeslices) {
    return timeslices->preemptions_missed != timeslices->missed_seen;
}

static int64_t again_ns(const nb_timeslices *timeslices) {
    return was_missed(timeslices)
               ? smaller(NB_AGAIN_NS * (1 + timeslices->again / NB_AGAIN_COUNT), NB_PREEMPT_GRANULARITY_NS)
               : NB_PREEMPT_GRANULARITY_NS;
}

static int64_t answer_ns(const nb_timeslices *timeslices, int64_t now_ns) {
    bool lately = timeslices->missed_ns != 0 && now_ns - timeslices->missed_ns < NB_MISSED_LATELY_NS;
    return lately ? NB_AGAIN_NS : NB_PREEMPT_GRANULARITY_NS;
}

/* Asks for the job, unless it was asked for this burst not long ago. Returns the time of the next
   look: the first one after a request finds out whether the job has preempted. */
static int64_t ask_for_end(nb_timeslices *timeslices, int64_t switched_ns, int64_t now_ns) {
    bool same = timeslices->burst_began_ns == switched_ns;
    if (was_missed(timeslices)) timeslices->missed_ns = now_ns;
    if (same && now_ns < timeslices->asked_ns + again_ns(timeslices))
        return timeslices->asked_ns + again_ns(timeslices);
    timeslices->again = same && was_missed(timeslices) ? timeslices->again + 1 : 0;
    timeslices->burst_began_ns = switched_ns;
    timeslices->asked_ns = now_ns;
    timeslices->missed_seen = timeslices->preemptions_missed;
    nb_timeslice_job_ask();
    return now_ns + answer_ns(timeslices, now_ns);
}

static bool is_readable(int fd) {
    struct pollfd looked_at = {.fd = fd, .events = POLLIN};
    return poll(&looked_at, 1, 0) > 0;
}

static int64_t look_at_fiber(nb_timeslices *timeslices, int64_t now_ns, int *fd) {
    int64_t switched_ns = timeslices->switched_ns, until_ns = timeslices->quiet_until_ns;
    /* A loop that stays between two fibers for long, as in a collection, does not tell the watchdog
       when it goes on: so it is looked at all the same. */
    if (switched_ns == 0) return timeslices->asleep ? NB_WATCHDOG_NEVER : now_ns + NB_PROCESS_WATCHDOG_IDLE_NS;
    if (timeslices->forced) {
        nb_timeslice_job_ask();
        return now_ns;
    }
    if (until_ns > now_ns && !is_readable(timeslices->descriptor)) {
        *fd = timeslices->descriptor;
        return until_ns;
    }
    int64_t due_ns = switched_ns +
                     (timeslices->preempted_before ? NB_PREEMPT_GRANULARITY_NS : timeslices->timeslice_ns);
    return due_ns > now_ns ? due_ns : ask_for_end(timeslices, switched_ns, now_ns);
}

static bool was_preempted_lately(nb_timeslices *timeslices, int64_t now_ns) {
    uint64_t preemptions = timeslices->preemptions;
    if (timeslices->preempted_before || preemptions != timeslices->preemptions_seen)
        timeslices->preemption_seen_ns = now_ns;
    timeslices->preemptions_seen = preemptions;
    return timeslices->preemption_seen_ns != 0 && now_ns - timeslices->preemption_seen_ns < NB_PREEMPTION_SEEN_NS;
}

int64_t nb_timeslice_look(void *owner, int64_t now_ns, int *fd) {
    nb_timeslices *timeslices = owner;
    uint32_t waits = timeslices->gvl_waits;
    if (waits & 1) return look_at_gvl(timeslices, waits, now_ns);
    if (!timeslices->asleep) look_at_thread(timeslices, now_ns);
    int64_t next_ns = look_at_fiber(timeslices, now_ns, fd);
    bool contended = timeslices->contended_ns != 0 && now_ns - timeslices->contended_ns < NB_CONTENDED_NS;
    bool soon = (was_preempted_lately(timeslices, now_ns) && *fd < 0) || contended;
    return soon && next_ns > now_ns + NB_PREEMPT_GRANULARITY_NS ? now_ns + NB_PREEMPT_GRANULARITY_NS : next_ns;
}
