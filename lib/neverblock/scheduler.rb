# frozen_string_literal: true

# The Fiber::Scheduler of this gem. It is written in C (ext/neverblock/binding/state, fibers,
# scheduler, slices, hooks). This file has its documentation, the hooks that are simpler in Ruby,
# and what some Rubies need around it (compat/).
#
#   Thread.new do
#     Fiber.set_scheduler(NeverBlock::Scheduler.new)
#     Fiber.schedule { puts Net::HTTP.get(URI("http://localhost:9292/a")) }
#     Fiber.schedule { puts Net::HTTP.get(URI("http://localhost:9292/b")) }
#   end.join
#
# One scheduler belongs to one thread. Its loop runs when the thread ends, at
# Fiber.set_scheduler(nil), or in #run, until no fiber is left. A fiber that waits transfers to the
# loop. So do fibers that a scheduled one has resumed (Enumerator with a non-blocking body,
# Fiber.new). A fiber that was not scheduled runs the loop itself until its wait is over.
#
# An exception that leaves a scheduled fiber is written to $stderr and ends only that fiber, as it
# would a thread. SystemExit, Interrupt and other exceptions that are no StandardError or
# ScriptError go on to the loop and leave #run. The server logs all but those that end a process.

require "neverblock/boot/limits"
require "neverblock/errors"
require "neverblock/boot/native"
require "neverblock/scheduler/above"
require "neverblock/scheduler/heap"
require "neverblock/scheduler/sockets"

module NeverBlock
  class Scheduler
    # @raise [Error] in a Ractor other than the main one
    def initialize
      unless Ractor.current.equal?(Ractor.main)
        raise Error, "NeverBlock::Scheduler works in the main Ractor only"
      end

      Compat::TcpFastFallback.apply_once if RUBY_VERSION >= "3.4"
      Compat::Libraries.apply
      require "neverblock/blockers/calls"
      # For compat/, and for #blocking_operation_wait: a require inside it would call it again.
      require "neverblock/verbs/offload"
      super
    end

    # @!method run
    #   Runs the loop on the calling fiber until no fiber is left. While nothing is ready it blocks
    #   the thread, without Ruby's lock. In a fiber of the loop it parks that fiber until those that
    #   it has scheduled have ended, for a turn at least (GraphQL::Dataloader, `nonblocking: true`).
    #   @return [Scheduler] self
    #   @raise what Thread#raise, a signal or `exit` in a fiber raises; parked fibers then stay
    #     parked

    # @!method close
    #   Runs the loop to its end and closes the poller's descriptors. In a fiber of the loop: #run,
    #   and the loop goes on.

    # @!method inside?
    #   @return [Boolean] whether the loop runs the current fiber, or one that has resumed it;
    #     false on another thread and in a fiber that was not scheduled

    # @!method scheduler_close
    #   Hook of Fiber.set_scheduler(nil) and of the thread's end: #close. While an exception is
    #   being raised ($!), or when the thread was killed, the remaining fibers are dropped where
    #   they wait. Ruby 3.1 does not call it then.

    # @!method fiber(**options, &block)
    #   Hook of Fiber.schedule. Makes a non-blocking fiber and runs it until its first wait. Then
    #   the caller goes on.
    #   @param options [Hash] for Fiber.new
    #   @return [Fiber]
    #   @raise [FiberError] naming vm.max_map_count when the kernel has no memory maps left for
    #     another fiber's stack (31,744 fibers at its default)

    # @!method kernel_sleep(duration = nil)
    #   Hook of Kernel#sleep, and of ConditionVariable#wait and Mutex#sleep. #unblock ends it early.
    #   0 lets every fiber that is ready run once.
    #   @param duration [Numeric, nil] seconds; nil: until unblocked
    #   @return [Boolean] false when the time was over

    # @!method block(blocker, timeout = nil)
    #   Hook of Mutex, Queue, Thread#join and others: parks until #unblock names this fiber. Waiting
    #   for a Thread is a #yield_lock.
    #   @param timeout [Numeric, nil] seconds; nil: no limit
    #   @return [Boolean] false when the time was over first

    # @!method unblock(blocker, fiber)
    #   Ends the fiber's #block or #kernel_sleep. Does nothing when the fiber is in neither. May be
    #   called on any thread.

    # @!method io_wait(io, events, timeout = nil)
    #   Hook of IO#wait_readable and of every read and write that would block. Parks. Regular files
    #   are ready at once.
    #   @param events [Integer] IO::READABLE, IO::WRITABLE, IO::PRIORITY
    #   @param timeout [Numeric, nil] seconds; nil: that of IO#timeout= (Ruby 3.2 and later)
    #   @return [Integer, false] the events that came; false when `timeout` was over
    #   @raise [IO::TimeoutError] when that of IO#timeout= was over
    #   @raise [IOError] when the IO is closed meanwhile

    # @!method io_read(io, buffer, length, offset = 0)
    #   Hook of every read of an IO. Parks. Pages of a regular file that are not in memory are read
    #   ahead by a native thread, where the kernel can tell (Linux, preadv2; not tmpfs, overlayfs or
    #   a network file system: reads there block the thread).
    #   @param length [Integer] least number of bytes to wait for; 0: what there is. Ruby 4.1
    #     passes (io, buffer, offset, length), and length is the most bytes then.
    #   @return [Integer] bytes, 0 at the end, or a negative errno

    # @!method io_write(io, buffer, length, offset = 0)
    #   Hook of every write of an IO, as #io_read. Missing before Ruby 3.3.1, which loses count of
    #   what was written (async leaves it out there too): writes then use #io_wait. The bytes of a
    #   regular file go to memory, which may block on the disk when too much is waiting to be
    #   written.

    # @!method io_pread(io, buffer, from, length, offset)
    #   Hook of IO::Buffer#pread and, from Ruby 3.3 on, IO#pread. Reads at once where the kernel
    #   need not wait for the disk. Otherwise a native thread reads while the fiber parks. Ruby 3.1
    #   passes (io, buffer, length, from), 4.1 (io, buffer, from, offset, length).
    #   @return [Integer] bytes, fewer than asked for only at the end of the file, or a negative
    #     errno
    #   @raise [IOError] when the IO is closed meanwhile

    # @!method io_pwrite(io, buffer, from, length, offset)
    #   Hook of IO::Buffer#pwrite and, from Ruby 3.3 on, IO#pwrite, as #io_pread. A fiber that is
    #   interrupted may have written.

    # @!method io_close(descriptor)
    #   Hook of IO#close, from Ruby 4.0 on: fibers that wait for the IO get IOError. For earlier
    #   Rubies compat/io_close.rb does that.

    # @!method address_resolve(hostname)
    #   Hook of Addrinfo.getaddrinfo and all that uses it. Calls getaddrinfo(3) on native threads
    #   that the process shares, and caches the answers. Parks.
    #   @return [Array<String>] numeric addresses; empty when there is no such host
    #   @raise [SocketError] when the name servers cannot be asked

    # @!method timeout_after(seconds, exception, *arguments, &block)
    #   Hook of Timeout.timeout. When the time is over it raises, once, in the fiber's wait. A wait
    #   that has its result already returns it, and the next one raises. A block that does not wait
    #   is interrupted only at the end of a time slice.

    # @!method cancellable
    #   Calls the block. Cancellation#cancel, with the arguments of Kernel#raise, then raises in
    #   this fiber's wait, or in the block's next one, as #timeout_after does. It returns false when
    #   the block has ended. It can be called again, and from any fiber of the thread.
    #   @yieldparam cancellation [Scheduler::Cancellation]

    # @!method process_wait(pid, flags)
    #   Hook of Process.wait, `system` and backticks. Parks.
    #   @return [Process::Status]

    # @!method fiber_interrupt(fiber, exception)
    #   Raises the exception in the fiber's wait. A fiber that was woken and has not run since is in
    #   no wait any more.
    #   @return [Boolean, nil] true: it will be raised there; false: the fiber was woken before;
    #     nil: the fiber does not wait here

    # @!method raise_in(fiber, *arguments)
    #   #fiber_interrupt with the arguments of Kernel#raise.
    #   @return [Boolean, nil]

    # @!method pin(mode = true, &block)
    #   Calls the block, in which waits of the current fiber block the thread, as without a
    #   scheduler: sleep, IO, IO.select, processes and addresses. Meanwhile timers, descriptors and
    #   answers are served, so that other fibers become ready, but none runs before the wait is
    #   over. Timeout, Thread#raise and signals end the wait.
    #
    #   Waits that another fiber of this thread may have to end still park, or they could last
    #   forever: Mutex, Queue, ConditionVariable, Thread#join, and the server's own waits. The mode
    #   belongs to the fiber. Fibers that it schedules or resumes do not have it.
    #   @param mode [Boolean] false: a block in which waits park again
    #   @return what the block returns; however the block is left, the mode ends with it. Alias:
    #     hold

    # @!method yield_lock
    #   Calls the block, in which the fiber waits for what another Ruby thread does for it.
    #   Meanwhile the loop yields Ruby's lock to other threads after each turn, for half of its time
    #   at most. Without this, fibers that are always ready would keep the lock for 100 ms at a
    #   time. Alias: lend
    #   @return what the block returns

    # @!method self.next_wait(kind, text = nil)
    #   Says what the next wait of the running fiber is for, to those who look at the server
    #   (docs/guides/fibers.md). Nothing happens where no server with an admin address runs.
    #   @param kind [Symbol] as in /fibers.json: :pool, :database, ...; another says nothing
    #   @param text [String, nil] a name; 48 bytes are kept
    #   @return [nil]

    # @!method slice_ms=(milliseconds)
    #   Sets the length of time slices. A fiber that has run for so long without a wait, while
    #   another could run, is preempted and goes on in its turn: docs/guides/slices.md. An executor
    #   of the server takes the length from its configuration (`executor { slice_ms 10 }`). Other
    #   schedulers have no slices by default. There are none on the main thread, where a fiber may
    #   be in a trap handler.
    #   @param milliseconds [Integer, nil] 1 to 60,000; nil: fibers switch only where they wait
    #   @raise [Error] when no thread can be made for the watchdog, which watches

    # @!method slice_ms
    #   @return [Integer, nil]

    # @!method preemptions
    #   @return [Integer] how many fibers were preempted because their time slice had ended.
    #     Alias: cuts

    # @!method preemptions_missed
    #   @return [Integer] how often a time slice was over and the fiber could not be preempted
    #     there; it is tried again each millisecond. Alias: kept

    # @!method lock_handoffs
    #   @return [Integer] how often another Ruby thread that computed had to release Ruby's lock
    #     for this one. Alias: given

    # @!method end_timeslice
    #   For tests: ends the time slice of the fiber that the watchdog finds running next, even
    #   before its time, where it may be preempted.
    #   @return [Boolean] false: there are no time slices. Alias: end_slice

    # @!method give_way(seconds)
    #   Ends the time slice of the current fiber, if it is over and others wait, in a block that C
    #   code of a library calls (for its rows), where no time slice ends otherwise. The fiber goes
    #   on in its turn. What is to be raised into it is raised in its next wait.
    #   @param seconds [Numeric] length of the first time slice since its last wait, where that is
    #     shorter than slice_ms
    #   @return [Boolean] false: there are no time slices, or none may end here

    # @!method note_use(io)
    #   Tells that the current fiber writes to a socket, where no hook does (before Ruby 3.3.1), so
    #   that the connection is not cut for a fiber that has used it before (Sockets).
    #   @param io [BasicSocket]
    #   @return the same

    # @!method masked(masked)
    #   Calls the block, in which no time slice ends if `masked`. See compat/handle_interrupt.rb.
    #   @return what the block returns

    # @!method masked?
    #   @return [Boolean] whether the current fiber is in such a block of its own

    # @!method passing_regions
    #   Calls the block, in which another fiber runs as one that is resumed. That fiber is left
    #   alone too, where the current one is (binding/fibers/region.h).
    #   @return what the block returns

    # @!method shield(mode = true)
    #   Calls the block, whose waits are not ended from outside. What is raised into the fiber
    #   meanwhile (Fiber#raise, Timeout, Cancellation#cancel) is raised in the next wait after it. A
    #   Timeout or Cancellation whose block ends before raises nothing. Thread#raise and signals
    #   still end waits.
    #   @param mode [Boolean, :mask] false: a block in which waits are ended again; :mask: of
    #     Thread.handle_interrupt
    #   @return what the block returns

    # @!method switches
    #   How often the loop has switched to a fiber. A fiber that finds the same number again has not
    #   parked meanwhile.
    #   @return [Integer]

    # @!method pinned?
    #   @return [Boolean] whether the current fiber is pinned, by #pin or by a C function that
    #     keeps something for its thread. Alias: held?

    if RUBY_VERSION >= "3.4"
      # Hook of C functions that may be called on another thread (RB_NOGVL_OFFLOAD_SAFE): opening,
      # looking up, renaming, removing and closing files, zlib, copies of large IO::Buffers. They
      # are called here where they have been quick, and by NeverBlock.offload otherwise (Blockers).
      #
      # Their arguments lie on this fiber's stack (ruby/ruby#13437, socketry/io-event#170). So the
      # fiber is not left before they have ended. No exception leaves it then either: that would
      # lose their result, for instance a file's descriptor. The work refers to the fiber, which
      # might otherwise be collected where it waits.
      # @param work [#call]
      def blocking_operation_wait(work)
        fiber = Fiber.current
        if pinned? || @at_once.equal?(fiber) || Offload.interrupting?
          return Compat.blocking { work.call }
        end

        call_site = Blockers.call_site
        if Blockers.here?(call_site)
          return Compat.blocking { Blockers.timed(call_site, true) { work.call } }
        end

        done = false
        shield do
          NeverBlock.offload(on_cancel: :wait) do
            Blockers.timed(call_site, false) { work.call }
            done = fiber
            nil
          end
        end
      rescue Offload::NoWorker # no thread can be made
        nil
      ensure
        # Also when an exception of the thread came before it began: IO#close has forgotten its
        # descriptor by now.
        Compat.blocking { work.call } if done == false
      end

      # Calls the block, whose blocking operations are known not to wait. They are done on this
      # thread.
      def at_once
        @at_once = Fiber.current
        yield
      ensure
        @at_once = nil # perhaps that of another fiber, whose operations go to a thread then
      end
    end

    # Hook of IO.select (Ruby 3.2 and later; for earlier ones compat/io_select.rb calls it). Parks.
    # @param timeout [Numeric, nil] seconds
    # @return [Array<Array<IO>>, nil] as IO.select; nil when the time was over
    # @raise [ArgumentError] for a negative timeout
    def io_select(readables = nil, writables = nil, exceptables = nil, timeout = nil)
      deadline = timeout && (Process.clock_gettime(Process::CLOCK_MONOTONIC) + timeout)
      raise ArgumentError, "time interval must not be negative" if timeout&.negative?

      loop do
        ready = select_now(readables, writables, exceptables)
        return ready if ready

        left = deadline && (deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC))
        # Asked once more: with an interrupt pending, Ruby's select with a timeout of 0 returns
        # without looking (thread.c, do_select).
        return select_now(readables, writables, exceptables) if left && left <= 0

        io_wait_any(Array(readables), Array(writables), Array(exceptables), left)
      end
    end

    private

    def select_now(readables, writables, exceptables)
      Compat.blocking { IO.select(readables, writables, exceptables, 0) }
    end
  end
end

require "neverblock/compat/ruby"
