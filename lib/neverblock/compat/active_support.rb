# frozen_string_literal: true

# ActiveSupport keeps CurrentAttributes, Time.zone, the tags of a logger and, for ActiveRecord, the owner of a connection by thread or by fiber
# (ActiveSupport::IsolatedExecutionState, 7.0 and later). By thread all requests that run would share them. By fiber an Enumerator inside a request would be a stranger
# to it: another transaction, no CurrentAttributes. So the state is the scheduled fiber's, which the fibers that it resumes share: Scheduler.root.
#
# The level is set to :fiber by our Railtie; elsewhere (Sinatra, Roda, Grape, Hanami) nobody else sets it.

module NeverBlock
  module Compat
    module ActiveSupport
      # @return [void]
      def self.apply
        return unless defined?(::ActiveSupport::IsolatedExecutionState)

        state = ::ActiveSupport::IsolatedExecutionState
        state.singleton_class.prepend(OfRoot) unless state.singleton_class.include?(OfRoot)
        state.isolation_level = :fiber unless defined?(::Rails::Railtie)
      end

      # Prepended to IsolatedExecutionState.singleton_class.
      module OfRoot
        def context
          scope == ::Fiber ? Scheduler.root : super
        end
      end
    end
  end
end
