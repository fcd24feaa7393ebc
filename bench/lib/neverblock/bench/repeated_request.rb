# frozen_string_literal: true

require "net/http"
require "uri"

module NeverBlock
  module Bench
    # Clients that repeat one request beside a load, each on a persistent connection: the next
    # request follows the response.
    class RepeatedRequest
      # Longer than any response. An interrupted request is not sent again.
      TIMEOUT_SECONDS = 60
      # Seconds by which the load connects first. Otherwise a server whose workers accept
      # connections themselves would give the whole load to the workers that are not busy.
      HEAD_START_SECONDS = 0.5

      # @param url [String]
      # @return [RepeatedRequest] one that starts without that pause
      def self.at_once(url)
        new(url, pause: ->(_seconds) {})
      end

      # @param url [String]
      # @param pause [#call] sleeps for a number of seconds
      def initialize(url, pause: method(:sleep))
        @uri = URI(url)
        @pause = pause
      end

      # @param path [String, nil] nil: no requests are sent
      # @param clients [Integer]
      # @yield meanwhile
      # @return [Array(Object, Integer)] the block's value; number of successful responses
      # @raise [Error] when a client has lost its connection, or waited for over TIMEOUT_SECONDS
      def during(path, clients: 1)
        answered = Array.new(path ? clients : 0, 0)
        threads = answered.each_index.map do |client|
          Thread.new { count(path) { answered[client] += 1 } }
        end
        threads.each { |thread| thread.report_on_exception = false }
        [yield, answered.sum]
      ensure
        threads&.each { |thread| thread.kill.join }
      end

      # Each client sends one request, all at the same time.
      # @param path [String]
      # @param clients [Integer]
      # @return [void] when the last response has come
      # @raise [Error] when one failed, or took over TIMEOUT_SECONDS
      def once(path, clients: 1)
        threads = Array.new(clients) { Thread.new { ask_once(path) } }
        threads.each { |thread| thread.report_on_exception = false }
        threads.each(&:join)
      ensure
        threads&.each { |thread| thread.kill.join }
      end

      private

      def count(path)
        ask(path) { |answer| yield if answer.is_a?(Net::HTTPOK) }
      end

      def ask_once(path)
        ask(path) do |answer|
          break if answer.is_a?(Net::HTTPOK)

          raise Error, "#{path} was answered by #{answer.code}"
        end
      end

      def ask(path)
        @pause.call(HEAD_START_SECONDS)
        options = { read_timeout: TIMEOUT_SECONDS, max_retries: 0 }
        Net::HTTP.start(@uri.host, @uri.port, **options) do |http|
          loop { yield http.get(path) }
        end
      rescue Timeout::Error, SystemCallError, IOError => e
        raise Error, "#{path}, requested beside the load: #{e.message}"
      end
    end
  end
end
