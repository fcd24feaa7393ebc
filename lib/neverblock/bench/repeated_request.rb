# frozen_string_literal: true

require "net/http"
require "uri"

module NeverBlock
  module Bench
    # Clients that ask for the same again and again, each on its kept connection, beside a load: the next when the last was answered.
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
      # @param clients [Integer]
      # @yield while it goes on
      # @return [Array(Object, Integer)] what the block gave; how many were answered
      # @raise [Error] when a client has lost its connection, or waited for over TIMEOUT_SECONDS
      def during(path, clients: 1)
        @answered = Array.new(path ? clients : 0) { [] }
        threads = @answered.map { |times| Thread.new { ask(path) { times << Process.clock_gettime(Process::CLOCK_MONOTONIC) } } }
        threads.each { |thread| thread.report_on_exception = false }
        [yield, @answered.sum(&:size)]
      ensure
        threads&.each { |thread| thread.kill.join }
      end

      # @return [Float] answers a second of all clients, each from its first answer to its last: what was under way at the ends does not count
      def rate
        @answered.reject { |times| times.size < 2 }.sum { |times| (times.size - 1) / (times.last - times.first) }
      end

      private

      def ask(path)
        @pause.call(HEAD_START_SECONDS)
        Net::HTTP.start(@uri.host, @uri.port, read_timeout: TIMEOUT_SECONDS, max_retries: 0) do |http|
          loop { yield if http.get(path).is_a?(Net::HTTPOK) }
        end
      rescue Timeout::Error, SystemCallError, IOError => e
        raise Error, "#{path}, asked for beside the load: #{e.message}"
      end
    end
  end
end
