# frozen_string_literal: true

# The deadline of a request (timeouts request): from its arrival until the application has returned its head. The executor makes it (binding/executor/task.c), and its
# scheduler raises it; NB.deadline in the application tells it, and a shorter one nests in it.

require "neverblock/verbs/deadline"

module NeverBlock
  class Deadline
    class OfRequest < Deadline
      # @param seconds [Float] its length
      # @param at [Float] on the monotonic clock
      def initialize(seconds, at) # rubocop:disable Lint/MissingSuper -- nothing encloses it, and it does not begin now
        @seconds = seconds
        @outer = nil
        @at = at
        @open = true
        @begun = true
      end

      # The application has not been called when its time is over: its client may try again without harm.
      # @return [void]
      def unbegun!
        @begun = false
      end

      def begun?
        @begun
      end

      # What Kernel#raise asks of what it is given.
      def exception(*)
        DeadlineExceeded.new("the #{format("%g", seconds)} s that a request has (timeouts request) are over", deadline: self)
      end
    end
  end
end
