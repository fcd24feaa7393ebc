# frozen_string_literal: true

# What the rules look at.

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

      # The middleware around the application, outermost first, as far as each keeps what it calls in @app, as Rack's own do.
      # @return [Array<Object>]
      def layers
        found = []
        layer = app
        while layer.respond_to?(:call) && found.none? { |other| other.equal?(layer) } && found.size < LAYERS_MAX
          found << layer
          layer = layer.is_a?(Proc) || layer.is_a?(Method) ? nil : layer.instance_variable_get(:@app)
        end
        found
      end

      # More is a ring that equal? does not see.
      LAYERS_MAX = 1_000
      private_constant :LAYERS_MAX
    end
  end
end
