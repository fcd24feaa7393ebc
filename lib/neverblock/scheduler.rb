# frozen_string_literal: true

# The Fiber::Scheduler of this gem. It is written in C (ext/neverblock/binding/state, fibers, scheduler, slices, hooks); here are its documentation, the hooks that are easier said
# in Ruby, and what has to be done around it on some Rubies (compat/).
#
#   Thread.new do
#     Fiber.set_scheduler(NeverBlock::Scheduler.new)
#     Fiber.schedule { puts Net::HTTP.get(URI("http://localhost:9292/a")) }
#     Fiber.schedule { puts Net::HTTP.get(URI("http://localhost:9292/b")) }
#   end.join
#
# One scheduler belongs to one thread. Its loop runs when the thread ends, at Fiber.set_scheduler(nil), or in #run, until no fiber is left. A fiber that
# waits transfers to the loop; so do fibers that were resumed by a scheduled one (Enumerator with a non-blocking body, Fiber.new), and a fiber that nobody
# has scheduled runs the loop itself until its wait is over.
#
# An exception that leaves a scheduled fiber is written to $stderr and ends that fiber only, as it would a thread; SystemExit, Interrupt and other
# exceptions that are no StandardError or ScriptError go on to the loop and leave #run.

require "neverblock/boot/limits"
require "neverblock/errors"
require "neverblock/boot/native"
require "neverblock/scheduler/heap"
require "neverblock/scheduler/sockets"

module NeverBlock
  class Scheduler
    # @raise [Error] in a Ractor other than the main one
    def initialize
      raise Error, "NeverBlock::Scheduler works in the main Ractor only" unless Ractor.current.equal?(Ractor.main)

      Compat::TcpFastFallback.apply_once if RUBY_VERSION >= "3.4"
      Compat::Libraries.apply
      require "neverblock/blockers/calls"
      require "neverblock/verbs/offload" # for compat/, and for #blocking_operation_wait, which a require inside it would call again
      super
    end

    # @!method run
    #   Runs the loop on the calling fiber until no fiber is left. Parks the thread, releasing Ruby's lock, whenever nothing is ready. In a fiber of the loop, which
    #   runs already, it parks that fiber until those that it has scheduled have ended, for a turn at least (GraphQL::Dataloader, `nonblocking: true`).
    #   @return [Scheduler] self
    #   @raise whatever Thread#raise, a signal or `exit` in a fiber brings; fibers that are parked then stay parked

    # @!method close
    #   Runs the loop to its end and gives the poller's descriptors back. In a fiber of the loop: #run, and the loop goes on.

    # @!method inside?
    #   @return [Boolean] whether the loop has switched to the running fiber, or to one that has resumed it; false on another thread, and where nobody has scheduled it

    # @!method scheduler_close
    #   Hook of Fiber.set_scheduler(nil) and of the thread's end: #close; but while an exception is on its way ($!), or the thread was killed, the fibers
    #   that are left are dropped where they wait (Ruby 3.1 does not call it then).

    # @!method fiber(**options, &block)
    #   Hook of Fiber.schedule. Makes a non-blocking fiber and runs it until it first waits; then the caller goes on.
    #   @param options [Hash] for Fiber.new
    #   @return [Fiber]
    #   @raise [FiberError] naming vm.max_map_count when the kernel has no memory maps left for another fiber's stack (31,744 at its default)

    # @!method kernel_sleep(duration = nil)
    #   Hook of Kernel#sleep, and of ConditionVariable#wait and Mutex#sleep: #unblock ends it early. 0 lets every fiber that is ready run once.
    #   @param duration [Numeric, nil] seconds; nil: until unblocked
    #   @return [true]

    # @!method block(blocker, timeout = nil)
    #   Hook of Mutex, Queue, Thread#join...: parks until #unblock names this fiber. Waiting for a Thread is a #yield_lock.
    #   @param timeout [Numeric, nil] seconds
    #   @return [Boolean] false when the time was over first

    # @!method unblock(blocker, fiber)
    #   Ends the #block or #kernel_sleep the fiber is in; nothing when it is in neither. Any thread.

    # @!method io_wait(io, events, timeout = nil)
    #   Hook of IO#wait_readable and of every read and write that would block. Regular files are ready at once.
    #   @param events [Integer] IO::READABLE, IO::WRITABLE, IO::PRIORITY
    #   @return [Integer, false] the events that came; false when the time was over
    #   @raise [IO::TimeoutError] when no time was given and that of IO#timeout= (Ruby 3.2 and later) is over
    #   @raise [IOError] when the IO is closed meanwhile

    # @!method io_read(io, buffer, length, offset = 0)
    #   Hook of every read of an IO. Pages of a regular file that are not in memory are read ahead by a native thread, where the kernel can tell (Linux, preadv2;
    #   not tmpfs, overlayfs or a network's file system: there the disk is waited for).
    #   @param length [Integer] least number of bytes to wait for; 0: what there is. Ruby 4.1 passes (io, buffer, offset, length), the most of them
    #   @return [Integer] bytes, 0 at the end, or a negative errno

    # @!method io_write(io, buffer, length, offset = 0)
    #   Hook of every write of an IO, as #io_read. Not there before Ruby 3.3.1, which loses track of what is written (async leaves it out there too): writes
    #   then use #io_wait. A regular file's bytes go to memory, which may wait for the disk when there is too much to be written.

    # @!method io_pread(io, buffer, from, length, offset)
    #   Hook of IO::Buffer#pread and, from Ruby 3.3 on, IO#pread: at once where the kernel need not wait for the disk, else by a native thread while
    #   the fiber parks. Ruby 3.1 passes (io, buffer, length, from), 4.1 (io, buffer, from, offset, length).
    #   @return [Integer] bytes, less than asked for at the end of the file only, or a negative errno
    #   @raise [IOError] when the IO is closed meanwhile

    # @!method io_pwrite(io, buffer, from, length, offset)
    #   Hook of IO::Buffer#pwrite and, from Ruby 3.3 on, IO#pwrite; as #io_pread. A fiber that is interrupted may have written.

    # @!method io_close(descriptor)
    #   Hook of IO#close, from Ruby 4.0 on: who waits for the IO gets IOError. Before, compat/io_close.rb does that.

    # @!method address_resolve(hostname)
    #   Hook of Addrinfo.getaddrinfo and all that uses it: getaddrinfo(3) on native threads shared by the process, answers cached.
    #   @return [Array<String>] numeric addresses; empty when there is no such host
    #   @raise [SocketError] when the name servers cannot be asked

    # @!method timeout_after(seconds, exception, *arguments, &block)
    #   Hook of Timeout.timeout: raises in the wait the fiber is in when the time is over, once. When that wait has just got what it waited for, it returns it,
    #   and the next one raises. A block that does not wait is not interrupted, but where one of its time slices ends.

    # @!method cancellable
    #   Calls the block; Cancellation#cancel, with the arguments of Kernel#raise, then raises in the wait this fiber is in, or at the block's next, as
    #   #timeout_after does; false when the block has ended. It can be called again, and from any fiber of the thread.
    #   @yieldparam cancellation [Scheduler::Cancellation]

    # @!method process_wait(pid, flags)
    #   Hook of Process.wait, `system` and backticks.
    #   @return [Process::Status]

    # @!method fiber_interrupt(fiber, exception)
    #   Raises the exception in the wait the fiber is in. A fiber that has been woken, and has not run since, is not in one any more.
    #   @return [Boolean, nil] true: it will be raised there; false: the fiber was woken before; nil: it does not wait here

    # @!method raise_in(fiber, *arguments)
    #   #fiber_interrupt with the arguments of Kernel#raise.
    #   @return [Boolean, nil]

    # @!method pin(mode = true, &block)
    #   Calls the block; what the current fiber waits for in it keeps the thread, as without a scheduler: sleep, IO, IO.select, processes and addresses.
    #   Meanwhile timers, descriptors and answers are served, so that others become ready, but none runs before the wait is over; Timeout, Thread#raise
    #   and signals end it. What another fiber of this thread may have to end parks as ever, or it would last for ever: Mutex, Queue,
    #   ConditionVariable, Thread#join, and the server's own waits. The mode is the fiber's: fibers that it schedules or resumes do not have it.
    #   @param mode [Boolean] false: a block in which waits park again
    #   @return what the block returns; whatever way it is left, the mode ends with it. Alias: hold

    # @!method yield_lock
    #   Calls the block, in which the fiber waits for what another Ruby thread does for it. Meanwhile the loop yields Ruby's lock to other threads after each
    #   turn, where with fibers always ready it would keep it for 100 ms at a time; half of its time at most. Alias: lend
    #   @return what the block returns

    # @!method slice_ms=(milliseconds)
    #   Time slices: a fiber that has run for so long without waiting, while another could run, is left where it is and goes on in its turn; docs/guides/slices.md.
    #   An executor of the server has them by its configuration (`executor { slice_ms 10 }`), no other scheduler has unless it is told. Not on the main
    #   thread, where a fiber may be in a trap handler.
    #   @param milliseconds [Integer, nil] 1 to 60,000; nil: fibers switch only where they wait
    #   @raise [Error] when there is no thread for the watchdog

    # @!method slice_ms
    #   @return [Integer, nil]

    # @!method preemptions
    #   @return [Integer] how often a fiber was preempted: left where it was, as its time slice had ended. Alias: cuts

    # @!method preemptions_missed
    #   @return [Integer] preemptions that were due where the fiber could not be left; each is tried again after a millisecond at most. Alias: kept

    # @!method lock_handoffs
    #   @return [Integer] times another Ruby thread that computed was made to hand Ruby's lock off to this one. Alias: given

    # @!method end_timeslice
    #   For tests: preempts the fiber that the watchdog finds running next, whatever its time, if it may be left where it is. Alias: end_slice
    #   @return [Boolean] false: there are no time slices

    # @!method give_way(seconds)
    #   Preempts the current fiber, if its time slice has ended and others wait, where no job may: in a block that is called by C code of a library (its rows). It goes
    #   on in its turn; what is to be raised into it is raised in its next wait, not here.
    #   @param seconds [Numeric] of the first time slice since it has waited, where that is shorter than the others
    #   @return [Boolean] false: there are no time slices, or the fiber may not be left here

    # @!method masked(masked)
    #   Calls the block, in which the fiber is not preempted if `masked`: compat/handle_interrupt.rb.
    #   @return what the block returns

    # @!method masked?
    #   @return [Boolean] whether the current fiber is in such a block

    # @!method shield(mode = true)
    #   Calls the block, whose waits are not ended from outside: what is raised into the fiber meanwhile (Fiber#raise, Timeout, Cancellation#cancel) is raised in
    #   the next wait that follows; of a Timeout or Cancellation that ends before, not at all. Not so Thread#raise and signals.
    #   @param mode [Boolean] false: a block in which waits are ended again
    #   @return what the block returns

    # @!method switches
    #   How often the loop has gone on with a fiber. A fiber that finds the same number as before has not parked since.
    #   @return [Integer]

    # @!method pinned?
    #   @return [Boolean] whether the current fiber is pinned, by #pin or by a C function that keeps something for its thread. Alias: held?

    if RUBY_VERSION >= "3.4"
      # Hook of C functions that may be called on another thread (RB_NOGVL_OFFLOAD_SAFE: opening, looking up, renaming, removing and closing files, zlib, copies of
      # large IO::Buffers): made here where they have been quick, else NeverBlock.offload (Blockers). Their arguments lie on this fiber's stack (ruby/ruby#13437,
      # socketry/io-event#170), so it is not left before they have ended; and not by an exception then, which would lose their result, a file's descriptor say. The work
      # keeps hold of the fiber, which might be dropped where it waits.
      # @param work [#call]
      def blocking_operation_wait(work)
        fiber = Fiber.current
        return Compat.blocking { work.call } if pinned? || @at_once.equal?(fiber) || Offload.interrupting?

        call_site = Blockers.call_site
        return Compat.blocking { Blockers.timed(call_site, true) { work.call } } if Blockers.here?(call_site)

        done = false
        shield { NeverBlock.offload(on_cancel: :wait) { (Blockers.timed(call_site, false) { work.call } || true) && (done = fiber) && nil } }
      rescue Offload::NoWorker # where no thread can be made
        nil
      ensure
        # Also when a thread's exception has come before it was begun: IO#close has forgotten its descriptor by now.
        Compat.blocking { work.call } if done == false
      end

      # Calls the block, whose blocking operations are known not to wait: they are done here.
      def at_once
        @at_once = Fiber.current
        yield
      ensure
        @at_once = nil # also another fiber's, whose operations go to a thread then
      end
    end

    # Hook of IO.select (Ruby 3.2 and later; before, compat/io_select.rb calls it).
    # @param timeout [Numeric, nil] seconds
    # @return [Array<Array<IO>>, nil] as IO.select; nil when the time was over
    def io_select(readables = nil, writables = nil, exceptables = nil, timeout = nil)
      deadline = timeout && (Process.clock_gettime(Process::CLOCK_MONOTONIC) + timeout)
      loop do
        ready = Compat.blocking { IO.select(readables, writables, exceptables, 0) }
        return ready if ready

        left = deadline && (deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC))
        # Asked once more: with an interrupt pending Ruby's select of no time returns without having looked (thread.c, do_select).
        return Compat.blocking { IO.select(readables, writables, exceptables, 0) } if left && left <= 0

        io_wait_any(Array(readables), Array(writables), Array(exceptables), left)
      end
    end
  end
end

require "neverblock/compat/ruby"
