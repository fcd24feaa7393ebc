# frozen_string_literal: true

# ActionController::Live runs its action in another thread, and copies the state of the request from
# the thread that it came from. Where state is kept by fiber there is nothing to copy:
# CurrentAttributes, the connection's role and shard, and tagged logging are lost. Here the new
# thread gets a copy of its request's state. Rails 7.1 to 8.1: lib/action_controller/metal/live.rb,
# process and new_controller_thread; active_support/isolated_execution_state.rb, share_with.

module NeverBlock
  module Compat
    module Live
      # Installs it once, when Rails' parts are loaded.
      # @return [void]
      def self.apply
        return unless defined?(::ActionController::Live)
        return unless defined?(::ActiveSupport::IsolatedExecutionState)

        ::ActionController::Live.prepend(Carrier) unless ::ActionController::Live.include?(Carrier)
        state = ::ActiveSupport::IsolatedExecutionState.singleton_class
        state.prepend(Taker) unless state.include?(Taker)
      end

      # Has the state of a request where a thread would have it.
      Holder = Struct.new(:active_support_execution_state)

      # Prepended to ActionController::Live.
      module Carrier
        private

        def new_controller_thread
          return super unless Compat.scheduler

          holder = Holder.new(Scheduler.root.active_support_execution_state)
          super do
            ::Thread.current.thread_variable_set(:neverblock_live_state, holder)
            yield
          ensure
            ::Thread.current.thread_variable_set(:neverblock_live_state, nil)
          end
        end
      end

      # Prepended to IsolatedExecutionState's singleton class.
      module Taker
        def share_with(other, ...)
          state = ::Thread.current.thread_variable_get(:neverblock_live_state) if scope == ::Fiber
          super(state || other, ...)
        end
      end
    end
  end
end
