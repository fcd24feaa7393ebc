# frozen_string_literal: true

# How long the at_exit blocks of a worker may take that ends: what is left of the time that its
# requests have, and some seconds in any case. The front decides, and tells the worker before its
# executors end.

module NeverBlock
  module Cluster
    class ExitTime
      # Seconds that there are in any case, and all that there are for a worker that never served.
      LEAST_S = 5
      # Seconds of a replaced worker whose requests have no limit (timeouts { retire }).
      RETIRE_S = 30
      # Seconds a worker has to end by itself, once its time is over.
      MARGIN_S = 2.0

      # @param settings [#[]]
      # @param since [Float] monotonic seconds at which the server began to stop
      # @return [ExitTime]
      def self.stop(settings, since) = new(since + settings[:"timeouts.shutdown"], "shutdown")

      # @param settings [#[]]
      # @param since [Float] monotonic seconds at which the worker began to drain
      # @return [ExitTime]
      def self.retire(settings, since)
        seconds = settings[:"timeouts.retire"]
        new(seconds && (since + seconds), "retire")
      end

      # @return [ExitTime] of a worker that never served
      def self.none = new(0.0, nil)

      # @param message [Hash] of the front
      # @return [ExitTime]
      def self.read(message) = new(message[:until], message[:limit])

      # @param limit [Float, nil] monotonic seconds, the same in all processes of the server; nil:
      #   RETIRE_S from when the blocks begin
      # @param name [String, nil] the setting in timeouts; nil: none
      def initialize(limit, name)
        @limit = limit
        @name = name
      end

      # @return [Hash] a command for the worker
      def to_h = { do: "leave", until: @limit, limit: @name }

      # @param began [Float] monotonic seconds at which its at_exit blocks begin
      # @return [Float] seconds
      def seconds(began)
        @limit ? [@limit - began, LEAST_S].max.to_f : RETIRE_S.to_f
      end

      # @return [String] what to do where that is too little
      def advice
        return "it has never served" unless @name

        "timeouts { #{@name} } is their limit: raise it where they need more"
      end
    end
  end
end
