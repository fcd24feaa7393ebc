# frozen_string_literal: true

# Faults of Ruby that a scheduler has to work around, one file each; every file says what, where in Ruby, and how.
#
#   file                 Rubies            fault                                                                           reference
#   tcp_fast_fallback    3.4 and later     TCPSocket.new by name stops the loop until it is connected                      Bug #21270
#   fiber_new            all               Fiber.new(blocking: true) stops the loop                                        cont.c, rb_fiber_initialize
#   set_scheduler        all               Fiber.set_scheduler in a fiber of the loop never returns                        scheduler.c, rb_fiber_scheduler_set
#   fork                 before 4.0        a child goes on with the scheduler and the fibers of its parent                 async, process_fork
#   fiber_raise          all               Fiber#raise at a fiber that waits does not come back to who raised              cont.c, fiber_raise
#   fiber_kill           3.3 and later     Fiber#kill at a fiber that waits does not come back to who killed               cont.c, rb_fiber_m_kill
#   io_close             before 4.0        IO#close wakes no fiber that waits for the IO                                   Bug #21166
#   sysread              before 4.1        IO#sysread and IO#syswrite raise EAGAIN where io_read and io_write are hooked   io.c, rb_io_sysread
#   pwrite               all               IO#pwrite calls its hook without Ruby's lock (3.3 and later) or has none        io.c, internal_pwrite_func
#   blocking_write       before 3.3.1      a write to a full pipe in blocking mode stops the loop                          Bug #19546
#   warn                 all               a warning nobody reads stops the process                                        io.c, rb_write_error2
#   slow_files           all, less from 3.4     system calls on files and folders stop the loop                                  Feature #20876
#   fifo                 before 3.4        opening a FIFO stops the loop                                                   Feature #20876
#   name_info            all               getnameinfo(3) stops the loop                                                   raddrinfo.c, rb_getnameinfo
#   flock                all               File#flock stops the loop                                                       file.c, rb_file_flock
#   copy_stream          all               IO.copy_stream of a blocking pipe stops the loop                                io.c, copy_stream_body
#   io_select            3.1               IO.select has no hook                                                           Feature #19060
#   require              3.1               a require that parks crashes or is lost; autoload raises NameError              Bug #18663
#   thread_join          3.1, 3.2          Thread#join(limit) never returns                                                Bug #19709
#   thread_pass          all               Thread.pass lets no other fiber run                                             thread.c, thread_s_pass
#   mutex_sleep          all               ConditionVariable#wait leaves without its mutex when it is interrupted          Bug #20907
#   condition_variable   all               ConditionVariable#broadcast may crash beside waits with limits; a signal is lost thread_sync.c, sync_wakeup
#   queue_close          all               Queue#close and SizedQueue#clear may crash beside waits that end                thread_sync.c, sync_wakeup
#   handle_interrupt     all               a time slice would end where Thread.handle_interrupt says nothing may                     thread.c, pending_interrupt_mask_stack
#   timeout              3.1 to 3.4.10     the block of a Timeout can rescue the timeout                                   Bug #21947
#   enumerator           3.1, 3.2          the body of Enumerator#next stops the loop                                      Feature #19141
#   thread_variables     all               all requests share one set of thread variables                                  thread.c, rb_thread_variable_get
#
# compat/libraries.rb is for gems, as they are loaded.
#
# In C, because Ruby cannot do it: ext/neverblock/binding/hooks/mutex.c (3.1, 3.2: a mutex that several threads use ends in "[BUG] invalid keeping_mutexes",
# Bug #19480); the scheduler's own table keeps parked fibers alive and counts each wake once, so that no Thread#value returns early (Bug #22265), no Queue
# push from another thread is lost and ConditionVariable#signal ends the kernel_sleep it has become; io_write is left out before 3.3.1 (Bug #19546).

module NeverBlock
  module Compat
    # @return [Scheduler, nil] the scheduler of the current fiber, if it is ours and the fiber may park
    def self.scheduler
      scheduler = Fiber.current_scheduler
      scheduler if scheduler.is_a?(Scheduler)
    end

    # Calls the block, in which no slice of the fiber ends: a limit is raised in its waits only, and not between two notes of what it holds.
    # @yieldparam around [#call] calls a block in which slices end as they did outside
    def self.unsliced
      scheduler = self.scheduler or return yield(:call.to_proc)
      masked = scheduler.masked?
      scheduler.masked(true) { yield ->(block) { scheduler.masked(masked, &block) } }
    end

    # Calls the block, in which the fiber is not ended from outside (Scheduler#shield): what gives a connection or a place back must reach its end.
    def self.shielded(&block)
      scheduler = self.scheduler
      scheduler ? scheduler.shield(&block) : block.call
    end

    # Holds the mutex while the block runs. The wait for the mutex is not ended from outside.
    def self.locked(mutex)
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
      # Calls the block with the hooks off: what waits in it, blocks the thread.
      def self.blocking(&block)
        Fiber.blocking { block.call }
      end
    else
      # As it is without compat/fiber_new.
      INITIALIZE = Fiber.instance_method(:initialize)
      private_constant :INITIALIZE

      # Fiber.blocking is Ruby 3.2's. Another fiber has other fiber-locals, which the blocks given to this do not use.
      def self.blocking(&block)
        Fiber.allocate.tap { |fiber| INITIALIZE.bind_call(fiber, blocking: true, &block) }.resume
      end
    end
  end
end

require "neverblock/compat/fiber_new"
require "neverblock/compat/tcp_fast_fallback"
require "neverblock/compat/fork"
require "neverblock/compat/set_scheduler" # after fork, which is to be outside of it
require "neverblock/compat/fiber_raise"
require "neverblock/compat/fiber_kill" if RUBY_VERSION >= "3.3"
require "neverblock/compat/io_close"
require "neverblock/compat/sysread"
require "neverblock/compat/flock"
require "neverblock/compat/pwrite"
require "neverblock/compat/blocking_write" if RUBY_VERSION < "3.3.1"
require "neverblock/compat/warn"
require "neverblock/compat/slow_files" # before fifo, which is to be outside of it
require "neverblock/compat/fifo" if RUBY_VERSION < "3.4"
require "neverblock/compat/name_info"
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
