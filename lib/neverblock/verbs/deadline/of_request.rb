# frozen_string_literal: true

# The deadline of a request (timeouts request): from its arrival until the application has returned
# its head. The executor makes it (binding/executor/task.c) and its scheduler raises it. NB.deadline
# in the application reports it, and a shorter one nests in it.

require "neverblock/verbs/deadline"

module NeverBlock
  class Deadline
    class OfRequest < Deadline
      # Nothing encloses it, and it began when the request arrived: `super` would set both.
      # @param seconds [Float] its length
      # @param at [Float] when it is over, in monotonic seconds
      def initialize(seconds, at) # rubocop:disable Lint/MissingSuper
        @seconds = seconds
        @outer = nil
        @at = at
        @open = true
        @begun = true
      end

      # Notes that its time was over before the application was called. The client may then try
      # again without harm.
      # @return [void]
      def unbegun!
        @begun = false
      end

      def begun?
        @begun
      end

      # Kernel#raise calls this for the exception to raise.
      def exception(*)
        length = format("%g", seconds)
        DeadlineExceeded.new("the #{length} s that a request has (timeouts request) are over",
                             deadline: self)
      end
    end
  end
end
