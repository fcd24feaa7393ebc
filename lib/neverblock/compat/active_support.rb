# frozen_string_literal: true

# ActiveSupport 7.0 and later keep CurrentAttributes, Time.zone and the tags of a logger by thread unless they are told otherwise: all requests that run would share
# them (ActiveSupport::IsolatedExecutionState). In Rails that is a setting, which our Railtie sees to; elsewhere (Sinatra, Roda, Grape, Hanami) nobody sets it.

module NeverBlock
  module Compat
    module ActiveSupport
      # @return [void]
      def self.apply
        return if defined?(::Rails::Railtie) || !defined?(::ActiveSupport::IsolatedExecutionState)

        ::ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
      end
    end
  end
end
