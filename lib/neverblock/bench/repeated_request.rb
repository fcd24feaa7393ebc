# frozen_string_literal: true

require "net/http"
require "uri"

module NeverBlock
  module Bench
    # One client that asks for the same again and again on its kept connection, beside a load: the next when the last was answered.
    class RepeatedRequest
      # Longer than any answer; an interrupted one is not sent twice.
      TIMEOUT_SECONDS = 60
      # The load's connections come first: a server whose workers accept for themselves would give them all to those that are not busy, as no day of a server begins.
      HEAD_START_SECONDS = 0.5

      # @param url [String]
      # @param pause [#call] waits so many seconds
      def initialize(url, pause: method(:sleep))
        @uri = URI(url)
        @pause = pause
      end

      # @param path [String, nil] nil: nothing is asked
      # @yield while it goes on
      # @return [Array(Object, Integer)] what the block gave; how many were answered
      def during(path)
        return [yield, 0] unless path

        count = 0
        thread = Thread.new { ask(path) { count += 1 } }
        thread.report_on_exception = false
        [yield, count]
      ensure
        thread&.kill&.join
      end

      private

      def ask(path)
        @pause.call(HEAD_START_SECONDS)
        Net::HTTP.start(@uri.host, @uri.port, read_timeout: TIMEOUT_SECONDS, max_retries: 0) do |http|
          loop { yield if http.get(path).is_a?(Net::HTTPOK) }
        end
      end
    end
  end
end
