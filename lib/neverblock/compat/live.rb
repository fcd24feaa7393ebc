# frozen_string_literal: true

# ActionController::Live runs its action in another thread and takes the state of the request there, by asking for that of the thread it came from. Where state is a
# fiber's, that is nothing: CurrentAttributes, the connection's role and shard and tagged logging are lost. Here the new thread gets a copy of its request's.
# Rails 7.1 to 8.1: lib/action_controller/metal/live.rb, process and new_controller_thread; active_support/isolated_execution_state.rb, share_with.

module NeverBlock
  module Compat
    module Live
      # Puts it in place once, when Rails' parts are there.
      # @return [void]
      def self.apply
        return unless defined?(::ActionController::Live) && defined?(::ActiveSupport::IsolatedExecutionState)

        ::ActionController::Live.prepend(Carrier) unless ::ActionController::Live.include?(Carrier)
        state = ::ActiveSupport::IsolatedExecutionState.singleton_class
        state.prepend(Taker) unless state.include?(Taker)
      end

      # What has the state of a request, as a thread has it.
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

      # Prepended to IsolatedExecutionState.
      module Taker
        def share_with(other, ...)
          super((scope == ::Fiber && ::Thread.current.thread_variable_get(:neverblock_live_state)) || other, ...)
        end
      end
    end
  end
end
