# frozen_string_literal: true

# OpenTelemetry keeps the current span for the fiber (opentelemetry-api 1.8,
# lib/opentelemetry/context.rb: an attribute of Fiber). A fiber of NB.all, a FiberPool or
# Fiber.schedule, and the thread of NB.offload, would begin a trace of their own. Here they begin
# with the context of the fiber that they work for. Thread.new, Fiber.new and Enumerators have none,
# as on threads.

require "neverblock/verbs/carry"

module NeverBlock
  module Compat
    module OpenTelemetry
      # Registers it once, when the API is loaded.
      # @return [void]
      def self.apply
        return if @applied || !defined?(::OpenTelemetry::Context::ROOT)

        @applied = true
        NeverBlock.carry(:opentelemetry) { carrier(::OpenTelemetry::Context.current) }
      end

      # @return [Proc, nil]
      def self.carrier(context)
        return if context.equal?(::OpenTelemetry::Context::ROOT)

        ->(&work) { ::OpenTelemetry::Context.with_current(context, &work) }
      end
      private_class_method :carrier
    end
  end
end
