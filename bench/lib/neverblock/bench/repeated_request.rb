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
        answered = Array.new(path ? clients : 0, 0)
        threads = answered.each_index.map { |client| Thread.new { ask(path) { |answer| answered[client] += 1 if answer.is_a?(Net::HTTPOK) } } }
        threads.each { |thread| thread.report_on_exception = false }
        [yield, answered.sum]
      ensure
        threads&.each { |thread| thread.kill.join }
      end

      # Each client asks once, all at the same time.
      # @param path [String]
      # @param clients [Integer]
      # @return [void] when the last was answered
      # @raise [Error] when one was not, or waited for over TIMEOUT_SECONDS
      def once(path, clients: 1)
        threads = Array.new(clients) { Thread.new { ask(path) { |answer| answer.is_a?(Net::HTTPOK) ? break : raise(Error, "#{path} was answered by #{answer.code}") } } }
        threads.each { |thread| thread.report_on_exception = false }
        threads.each(&:join)
      ensure
        threads&.each { |thread| thread.kill.join }
      end

      private

      def ask(path)
        @pause.call(HEAD_START_SECONDS)
        Net::HTTP.start(@uri.host, @uri.port, read_timeout: TIMEOUT_SECONDS, max_retries: 0) do |http|
          loop { yield http.get(path) }
        end
      rescue Timeout::Error, SystemCallError, IOError => e
        raise Error, "#{path}, asked for beside the load: #{e.message}"
      end
    end
  end
end
