# frozen_string_literal: true

# ActiveSupport keeps some state by thread or by fiber (ActiveSupport::IsolatedExecutionState, 7.0
# and later): CurrentAttributes, Time.zone, the tags of a logger and, for ActiveRecord, the owner of
# a connection. By thread, all running requests would share it. By fiber, an Enumerator inside a
# request would have another transaction and no CurrentAttributes. So here the state belongs to the
# request fiber, and the fibers that it resumes share it (Scheduler.root). A thread without a loop,
# as a lane has, keeps it for all of its fibers.
#
# Our Railtie sets the level to :fiber. In other frameworks (Sinatra, Roda, Grape, Hanami) this
# does.

module NeverBlock
  module Compat
    module ActiveSupport
      # Installs it once, when ActiveSupport is loaded.
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
