# frozen_string_literal: true

# Requests a server's status at intervals and passes it on. It has a thread of its own, so that keys
# and signals work while the server does not answer.

require "neverblock/verbs/deadline"
require "neverblock/watch/client"
require "neverblock/watch/document"

module NeverBlock
  module Watch
    class Poller
      # @param client [#fetch]
      # @param interval_s [Numeric] seconds from the start of one request to the start of the next
      # @yieldparam reading [Document, StandardError] called on the poller's thread
      def initialize(client, interval_s, &receive)
        @client = client
        @interval_s = interval_s
        @receive = receive
      end

      # @return [self]
      def start
        @thread = Thread.new { poll }
        self
      end

      # @return [void]
      def stop
        @thread&.kill&.join
      end

      # @return [Document]
      # @raise [Unreachable]
      def ask
        Document.parse(@client.fetch)
      end

      private

      def poll
        next_at = Deadline.now
        loop do
          next_at = [next_at + @interval_s, Deadline.now].max
          sleep([next_at - Deadline.now, 0].max)
          @receive.call(answer)
        end
      end

      def answer
        ask
      rescue StandardError => e
        e
      end
    end
  end
end
