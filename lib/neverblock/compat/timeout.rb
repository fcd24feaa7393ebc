# frozen_string_literal: true

# Timeout.timeout(seconds) raises Timeout::Error inside the block when there is a scheduler, where a `rescue => e` or `rescue Timeout::Error` of a library takes it
# for a failure of its own and tries again: Net::HTTP does. Without a scheduler, and from newer timeout gems on, the block cannot rescue it. Bug #21947,
# ruby/timeout#97; mended in Ruby 4.0 and 3.4.11. A class that is given explicitly is raised inside the block by all.

require "timeout"

module NeverBlock
  module Compat
    module TimeoutError
      # Inside the block.
      class Expired < Exception # rubocop:disable Lint/InheritException -- nothing in the block may rescue it
      end
      private_constant :Expired

      def timeout(seconds, exception = nil, message = nil, &block)
        scheduler = exception || seconds.nil? || seconds.zero? ? nil : Compat.scheduler
        return super unless scheduler

        expired = Expired.new(message || "execution expired")
        begin
          scheduler.timeout_after(seconds, expired, &block)
        rescue Expired => e
          raise e unless e.equal?(expired)

          # What was on its way already, and waited in an `ensure` when the time was over, is not lost: Expired has it as its cause.
          raise Timeout::Error, expired.message, cause: expired.cause
        end
      end
    end

    Timeout.singleton_class.prepend(TimeoutError)

    # What `include Timeout` brings, which is private.
    module IncludedTimeout
      include TimeoutError

      private :timeout
    end

    Timeout.prepend(IncludedTimeout)
  end
end
