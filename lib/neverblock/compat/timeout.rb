# frozen_string_literal: true

# With a scheduler, Timeout.timeout(seconds) raises Timeout::Error inside the block. There a
# library's `rescue => e` or `rescue Timeout::Error` takes it for a failure of its own and tries
# again, as Net::HTTP does. Without a scheduler, and in newer timeout gems, the block cannot rescue
# it. Bug #21947, ruby/timeout#97; mended in Ruby 4.0 and 3.4.11. A class that is given explicitly
# is raised inside the block by all versions.

require "timeout"

module NeverBlock
  module Compat
    module TimeoutError
      # Raised inside the block, where nothing may rescue it.
      class Expired < Exception # rubocop:disable Lint/InheritException -- see above
      end
      # What the library raises there in a thread.
      IN_A_THREAD = Timeout.const_defined?(:ExitException) ? Timeout::ExitException : Timeout::Error
      private_constant :Expired, :IN_A_THREAD

      # @return [Hash{Class => Class}] what is raised here and in a thread
      def self.stand_in
        { Expired => IN_A_THREAD }
      end

      def timeout(seconds, exception = nil, message = nil, &block)
        scheduler = exception || seconds.nil? || seconds.zero? ? nil : Compat.scheduler
        return super unless scheduler

        expired = Expired.new(message || "execution expired")
        begin
          scheduler.timeout_after(seconds, expired, &block)
        rescue Expired => e
          raise e unless e.equal?(expired)

          # An exception that was in an `ensure` when the time was over becomes the cause.
          raise Timeout::Error, expired.message, cause: expired.cause
        end
      end
    end

    Timeout.singleton_class.prepend(TimeoutError)

    # Prepended to Timeout, for classes that include it. The method is private there.
    module IncludedTimeout
      include TimeoutError

      private :timeout
    end

    Timeout.prepend(IncludedTimeout)
  end
end
