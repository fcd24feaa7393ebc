# frozen_string_literal: true

# Requests a server's status at intervals and passes it on. It has a thread of its own, so that keys
# and signals work while the server does not answer.

require "neverblock/verbs/deadline"
require "neverblock/watch/client"
require "neverblock/watch/document"
require "neverblock/watch/fibers"

module NeverBlock
  module Watch
    class Poller
      # Whether what requests do is asked for too (Fibers).
      # @return [Boolean]
      attr_accessor :with_fibers

      # @param client [#fetch]
      # @param interval_s [Numeric] seconds from the start of one request to the start of the next
      # @yieldparam reading [Document, StandardError] called on the poller's thread
      # @yieldparam fibers [Fibers, Unreachable, nil]
      def initialize(client, interval_s, &receive)
        @client = client
        @interval_s = interval_s
        @receive = receive
        @lock = Thread::Mutex.new
        @change = Thread::ConditionVariable.new
        @hurried = false
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

      # @return [Fibers, Unreachable, nil] nil: they are not asked for
      def ask_fibers
        Fibers.ask(@client) if with_fibers
      rescue Unreachable => e
        e
      end

      # The next reading comes at once.
      # @return [void]
      def hurry
        @lock.synchronize do
          @hurried = true
          @change.signal
        end
      end

      private

      def poll
        next_at = Deadline.now
        loop do
          next_at = [next_at + @interval_s, Deadline.now].max
          pause(next_at)
          @receive.call(answer, ask_fibers)
        end
      end

      def pause(until_s)
        @lock.synchronize do
          until @hurried || (left = until_s - Deadline.now) <= 0
            @change.wait(@lock, left)
          end
          @hurried = false
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
