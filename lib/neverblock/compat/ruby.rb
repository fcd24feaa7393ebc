# frozen_string_literal: true

# Faults of Ruby that a scheduler has to work around. Each has a file, which says what the fault is,
# where it is in Ruby, and how it is worked around.
#
#   file                 Rubies; reference
#                        fault
#
#   tcp_fast_fallback    3.4 and later; Bug #21270
#                        TCPSocket.new by name stops the loop until it is connected
#   fiber_new            all; cont.c, rb_fiber_initialize
#                        Fiber.new(blocking: true) stops the loop
#   set_scheduler        all; scheduler.c, rb_fiber_scheduler_set
#                        Fiber.set_scheduler in a fiber of the loop never returns
#   fork                 before 4.0; async, process_fork
#                        a child goes on with the scheduler and the fibers of its parent
#   fiber_raise          all; cont.c, fiber_raise
#                        Fiber#raise on a waiting fiber does not return to its caller
#   fiber_kill           3.3 and later; cont.c, rb_fiber_m_kill
#                        Fiber#kill on a waiting fiber does not return to its caller
#   io_close             before 4.0; Bug #21166
#                        IO#close, #close_read, #close_write and #reopen wake no fiber that waits
#   sysread              before 4.1; io.c, rb_io_sysread
#                        IO#sysread and #syswrite raise EAGAIN with io_read and io_write hooked
#   pwrite               all; io.c, internal_pwrite_func
#                        IO#pwrite calls its hook without Ruby's lock (3.3 and later) or has none
#   blocking_write       before 3.3.1; Bug #19546
#                        a write to a full pipe in blocking mode stops the loop
#   warn                 all; io.c, rb_write_error2
#                        a warning that is not read stops the process
#   slow_files           all, less from 3.4; Feature #20876
#                        system calls on files and folders stop the loop
#   chdir                all; dir.c, chdir_thread
#                        blocks of Dir.chdir overlap, and the folder of the process is another
#   fifo                 before 3.4; Feature #20876
#                        opening a FIFO stops the loop
#   name_info            all; raddrinfo.c, rb_getnameinfo
#                        getnameinfo(3) stops the loop
#   service_names        all; raddrinfo.c, rb_scheduler_getaddrinfo
#                        names of services, and canonical names, are not found
#   flock                all; file.c, rb_file_flock
#                        File#flock stops the loop
#   copy_stream          all; io.c, copy_stream_body
#                        IO.copy_stream of a blocking pipe stops the loop
#   io_select            3.1; Feature #19060
#                        IO.select has no hook
#   require              3.1; Bug #18663
#                        a require that parks crashes or is lost; autoload raises NameError
#   thread_join          3.1, 3.2; Bug #19709
#                        Thread#join(limit) never returns
#   thread_pass          all; thread.c, thread_s_pass
#                        Thread.pass lets no other fiber run
#   mutex_sleep          all; Bug #20907
#                        an interrupted ConditionVariable#wait returns without its mutex; one
#                        whose time was over tells that it was woken
#   condition_variable   all; thread_sync.c, sync_wakeup
#                        ConditionVariable#broadcast may crash beside waits with a timeout; a
#                        signal is lost
#   queue_close          all; thread_sync.c, sync_wakeup
#                        Queue#close and SizedQueue#clear may crash beside waits that end
#   handle_interrupt     all; thread.c, pending_interrupt_mask_stack
#                        a time slice could end where Thread.handle_interrupt forbids it
#   timeout              3.1 to 3.4.10; Bug #21947
#                        the block of a Timeout can rescue the timeout
#   enumerator           3.1, 3.2; Feature #19141
#                        the body of Enumerator#next stops the loop
#   thread_variables     all; thread.c, rb_thread_variable_get
#                        all requests share one set of thread variables
#
# compat/libraries.rb does the same for gems, and compat/late_libraries.rb for those that are loaded
# after the loop has begun.
#
# Some are worked around in C. On 3.1 and 3.2 a mutex that several threads use ends in "[BUG]
# invalid keeping_mutexes" (Bug #19480; ext/neverblock/binding/hooks/mutex.c). The scheduler's own
# table keeps parked fibers alive and counts each wake once. So no Thread#value returns early (Bug
# #22265), no Queue push from another thread is lost, and ConditionVariable#signal ends the
# kernel_sleep of its wait. io_write is left out before 3.3.1 (Bug #19546).

module NeverBlock
  module Compat
    # @return [Scheduler, nil] the scheduler of the current fiber, if it is ours or ours is beneath
    #   it, and the fiber may park
    def self.scheduler
      scheduler = Fiber.current_scheduler
      return scheduler if scheduler.nil? || scheduler.is_a?(Scheduler)

      Scheduler::Above.beneath(scheduler)
    end

    # Calls the block, in which no time slice of the fiber ends. A deadline is then raised only in
    # the fiber's waits, and not between two changes of state that belong together.
    # @yieldparam around [#call] calls a block in which slices end as they did outside
    def self.unsliced
      scheduler = self.scheduler or return yield(:call.to_proc)
      masked = scheduler.masked?
      scheduler.masked(true) { yield ->(block) { scheduler.masked(masked, &block) } }
    end

    # Calls the block, in which the fiber is not ended from outside (Scheduler#shield). Code that
    # gives back a connection or a place must run to its end.
    def self.shielded(&block)
      scheduler = self.scheduler
      scheduler ? scheduler.shield(&block) : block.call
    end

    # @return [Boolean] whether the fiber that calls is being ended by Fiber#kill
    def self.killed?
      Fiber.current.instance_variable_defined?(:@neverblock_killed)
    end

    # Ends the fiber that calls, which was killed and went on for a while: its `ensure` blocks run.
    def self.end_killed
      throw Scheduler # compat/fiber_kill.rb
    rescue UncaughtThrowError
      sleep(0) # Ruby has killed it, and ends it when it is switched to.
    end

    # Called after a wait that releases the mutex. Ruby 3.1 to 3.3 return without it when the wait
    # of another library's scheduler was interrupted (Bug #20907). A fiber that Ruby itself has
    # killed is ended at each wait for the mutex, and begins again.
    def self.relock(mutex)
      shielded { mutex.lock } unless mutex.owned?
    rescue Exception # rubocop:disable Lint/RescueException -- raised again
      raised = true
      raise
    ensure
      relock(mutex) unless raised || mutex.owned?
    end

    # Calls the block with the mutex held. The wait for the mutex is not ended from outside.
    def self.locked(mutex, &block)
      return mutex.synchronize(&block) unless scheduler

      held = false
      begin
        shielded do
          mutex.lock
          held = true
        end
        yield
      ensure
        mutex.unlock if held
      end
    end

    if Fiber.respond_to?(:blocking)
      # Calls the block with the hooks off: its waits block the thread.
      def self.blocking(&block)
        Fiber.blocking { block.call }
      end
    else
      # Ruby's own, without compat/fiber_new.
      INITIALIZE = Fiber.instance_method(:initialize)
      private_constant :INITIALIZE

      # Fiber.blocking is of Ruby 3.2. This runs the block in another fiber, with other
      # fiber-locals, which the blocks given to it do not use.
      def self.blocking(&block)
        fiber = Fiber.allocate
        INITIALIZE.bind_call(fiber, blocking: true, &block)
        fiber.resume
      end
    end
  end
end

require "neverblock/compat/fiber_new"
require "neverblock/compat/tcp_fast_fallback"
require "neverblock/compat/fork"
require "neverblock/compat/set_scheduler" # after fork, which must not call it
require "neverblock/compat/fiber_raise"
require "neverblock/compat/fiber_kill" if RUBY_VERSION >= "3.3"
require "neverblock/compat/io_close"
require "neverblock/compat/sysread"
require "neverblock/compat/flock"
require "neverblock/compat/pwrite"
require "neverblock/compat/blocking_write" if RUBY_VERSION < "3.3.1"
require "neverblock/compat/warn"
require "neverblock/compat/slow_files" # before fifo, which must be called first
require "neverblock/compat/chdir"
require "neverblock/compat/fifo" if RUBY_VERSION < "3.4"
require "neverblock/compat/name_info"
require "neverblock/compat/service_names"
require "neverblock/compat/copy_stream"
require "neverblock/compat/io_select" if RUBY_VERSION < "3.2"
require "neverblock/compat/require" if RUBY_VERSION < "3.2"
require "neverblock/compat/thread_join" if RUBY_VERSION < "3.3"
require "neverblock/compat/thread_pass"
require "neverblock/compat/mutex_sleep"
require "neverblock/compat/condition_variable"
require "neverblock/compat/queue_close"
require "neverblock/compat/handle_interrupt"
require "neverblock/compat/thread_variables"
require "neverblock/compat/timeout"
require "neverblock/compat/enumerator" if RUBY_VERSION < "3.3"
require "neverblock/compat/libraries"
require "neverblock/compat/late_libraries" # after require
