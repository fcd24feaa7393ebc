# frozen_string_literal: true

# What has ended a request from outside: the end of its time, or its client's leaving. A library may have made an error of its own of it, and NB.deadline hands an
# enclosing one on as Cancelled: so the causes count.

require "neverblock/errors/causes"
require "neverblock/verbs/deadline/of_request"
require "neverblock/errors"

module NeverBlock
  class Executor
    module Interruption
      # What the log has for a request whose client left before its answer; nothing was sent (nginx has the same number).
      CLIENT_LEFT = 499
      EXPIRED = 503
      FAILED = 500

      class << self
        # @param error [Exception, nil]
        # @return [ClientGone, DeadlineExceeded, nil] nil: the request has failed by itself
        def of(error)
          Causes.of(error) { |one| (one.reason if one.is_a?(Cancelled)) || one.cause }.find { |one| interrupts?(one) }
        end

        # @param error [Exception, nil] what a request has ended with instead of an answer
        # @return [Integer] its status
        def status(error)
          case of(error)
          when ClientGone then CLIENT_LEFT
          when DeadlineExceeded then EXPIRED
          else FAILED
          end
        end

        private

        def interrupts?(error)
          error.is_a?(ClientGone) || (error.is_a?(DeadlineExceeded) && error.deadline.is_a?(Deadline::OfRequest))
        end
      end
    end
  end
end
