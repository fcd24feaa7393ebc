# frozen_string_literal: true

# Every Ruby before 4.0: a process forked in a scheduled fiber keeps the scheduler, and would go on with the parent's fibers and the parent's epoll
# (async has `process_fork` for the same). In the child the scheduler is unset: there the block given to fork blocks like any Ruby.

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

      # @return [Array<IO>] what a child is not to keep open
      def self.closing
        @closing ||= []
      end

      def self.in_child
        Scheduler.after_fork
        Link.after_fork
        Engine.after_fork # a client does not see that the server has closed while a child has the connection too
        SET_SCHEDULER.call(nil) if Fiber.scheduler.is_a?(Scheduler)
        closing.each(&:close)
        closing.clear
      end
    end

    Process.singleton_class.prepend(Fork)
  end
end
