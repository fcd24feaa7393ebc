# frozen_string_literal: true

# Every Ruby before 4.0: a process that is forked in a scheduled fiber keeps the scheduler, and
# would go on with the parent's fibers and the parent's epoll instance. async has `process_fork` for
# the same. Here the child's scheduler is unset: its waits block, as without a scheduler.

module NeverBlock
  module Compat
    module Fork
      SET_SCHEDULER = Fiber.method(:set_scheduler)
      private_constant :SET_SCHEDULER

      # Called by Kernel#fork, Process.fork and IO.popen("-") (Ruby 3.1 and later).
      def _fork
        pid = super
        Fork.in_child if pid.zero?
        pid
      end

      # @return [Array<IO>] what a child closes at once
      def self.closing
        @closing ||= []
      end

      def self.in_child
        Scheduler.after_fork
        Link.after_fork
        # While a child has a connection open too, its client does not see that the server has
        # closed it.
        Engine.after_fork
        SET_SCHEDULER.call(nil) if Fiber.scheduler.is_a?(Scheduler)
        closing.each(&:close)
        closing.clear
      end
    end

    Process.singleton_class.prepend(Fork)
  end
end
