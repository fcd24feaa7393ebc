# frozen_string_literal: true

# The subject of the rules: settings, gems and the application.

require "neverblock/boot/processors"

module NeverBlock
  module Check
    class Subject
      # @return [Config::Settings]
      attr_reader :settings
      # @return [Bundle]
      attr_reader :bundle
      # @return [#call, nil] the application, once it is loaded
      attr_accessor :app

      # @param settings [Config::Settings]
      # @param bundle [Bundle]
      def initialize(settings, bundle)
        @settings = settings
        @bundle = bundle
      end

      # @return [Config]
      def config
        @config ||= settings.config
      end

      # @return [Integer] processes that run requests
      def workers
        @workers ||= Boot::Processors.workers(settings[:workers])
      end

      # @return [Integer] most requests that run at once in one of them
      def fibers
        config.fibers
      end

      # The middleware around the application, outermost first. A layer is found if the one around
      # it keeps it in @app, as Rack's own do.
      # @return [Array<Object>]
      def layers
        found = []
        layer = app
        until known_or_none?(layer, found)
          found << layer
          layer = inner(layer)
        end
        found
      end

      private

      def known_or_none?(layer, found)
        !layer.respond_to?(:call) || found.size >= LAYERS_MAX ||
          found.any? { |other| other.equal?(layer) }
      end

      def inner(layer)
        return if layer.is_a?(Proc) || layer.is_a?(Method)

        layer.instance_variable_get(:@app)
      end

      # Bound for an endless chain of new objects.
      LAYERS_MAX = 1_000
      private_constant :LAYERS_MAX
    end
  end
end
