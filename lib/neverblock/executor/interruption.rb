# frozen_string_literal: true

# What has ended a request from outside: its deadline, its client's leaving, or an operator. A
# library may have raised an error of its own because of it, and NB.deadline passes an enclosing one
# on as Cancelled. So causes are searched too.

require "neverblock/errors/causes"
require "neverblock/verbs/deadline/of_request"
require "neverblock/errors"

module NeverBlock
  class Executor
    module Interruption
      # Logged status of a request whose client left before its answer. Nothing was sent. nginx uses
      # the same number.
      CLIENT_LEFT = 499
      # Status of a request whose deadline has passed, or that was cancelled (RFC 9110, section
      # 15.6.4).
      EXPIRED = 503
      # Status of a request whose application has failed (RFC 9110, section 15.6.1).
      FAILED = 500

      class << self
        # @param error [Exception, nil]
        # @return [ClientGone, DeadlineExceeded, RequestCancelled, nil] nil: the request was not
        #   ended from outside
        def of(error)
          chain = Causes.of(error) do |one|
            (one.reason if one.is_a?(Cancelled)) || Causes.cause_of(one)
          end
          chain.find { |one| interrupts?(one) }
        end

        # @param error [Exception, nil] that a request has ended with instead of an answer
        # @return [Integer] its status
        def status(error)
          case of(error)
          when ClientGone then CLIENT_LEFT
          when DeadlineExceeded, RequestCancelled then EXPIRED
          else FAILED
          end
        end

        private

        def interrupts?(error)
          return true if error.is_a?(ClientGone) || error.is_a?(RequestCancelled)

          error.is_a?(DeadlineExceeded) && error.deadline.is_a?(Deadline::OfRequest)
        end
      end
    end
  end
end
