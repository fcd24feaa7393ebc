# frozen_string_literal: true

# Every Ruby before 4.0: a process that is forked in a scheduled fiber keeps the scheduler, and
# would go on with the parent's fibers and the parent's epoll instance. async has `process_fork` for
# the same. Here the child's scheduler is unset: its waits block, as without a scheduler.
#
# Every Ruby: what other fibers of the thread have locked stays locked in the child, where they do
# not run. What other threads have locked is given free (thread.c, terminate_atfork_i). So here the
# locks of the other fibers are given free too.
#
# Both come before what libraries do in a child (ActiveSupport::ForkTracker), whether they were
# loaded before or after: this takes the place of Process._fork itself.

module NeverBlock
  module Compat
    module Fork
      SET_SCHEDULER = Fiber.method(:set_scheduler)
      private_constant :SET_SCHEDULER

      # @return [Array<IO>] what a child closes at once
      def self.closing
        @closing ||= []
      end

      def self.in_child
        Scheduler.after_fork
        Executor.after_fork
        Link.after_fork
        # While a child has a connection open too, its client does not see that the server has
        # closed it.
        Engine.after_fork
        leave_scheduler(Fiber.scheduler) if Scheduler::Above.beneath(Fiber.scheduler)
        closing.each(&:close)
        closing.clear
      end

      def self.leave_scheduler(scheduler)
        scheduler.leave_in_child if scheduler.is_a?(Scheduler::Above)
        SET_SCHEDULER.call(nil)
        ObjectSpace.each_object(Thread::Mutex) do |mutex|
          Scheduler.unlock_abandoned(mutex) if mutex.locked? && !mutex.owned?
        end
      end
      private_class_method :leave_scheduler
    end

    # Ruby's own method, under those that libraries have prepended.
    rubys = Process.singleton_class.instance_method(:_fork)
    rubys = rubys.super_method while rubys.super_method
    Process.singleton_class.class_eval do
      define_method(:neverblock_fork, rubys)
      private :neverblock_fork

      # Called by Kernel#fork, Process.fork and IO.popen("-") (Ruby 3.1 and later).
      def _fork
        pid = neverblock_fork
        NeverBlock::Compat::Fork.in_child if pid.zero?
        pid
      end
    end
  end
end
