# frozen_string_literal: true

# What an application may leave on a fiber, and how it is cleared before the fiber is used again: by
# a FiberPool between two blocks, and by the server between two requests
# (binding/executor/task.c).

require "neverblock/compat/concurrent"
require "neverblock/pool/connected_clients"

module NeverBlock
  module Pool
    module FiberState
      # A thread variable whose Array is emptied, not removed (compat/concurrent.rb).
      EMPTIED = Compat::Concurrent::KEY
      private_constant :EMPTIED

      class << self
        # Clears the current fiber: locals (Thread.current[]), thread variables, storage (Fiber[],
        # Ruby 3.2 and later) and instance variables. Clients with an open connection stay
        # (ConnectedClients).
        # @param fiber [Fiber] the current one
        # @return [Boolean] false: it is frozen, and must not be used again
        def clear(fiber)
          clear_locals(Thread.current)
          clear_variables(Thread.current)
          clear_storage(fiber)
          fiber.instance_variables.each { |name| fiber.remove_instance_variable(name) }
          true
        rescue FrozenError
          false
        end

        # Clears the storage, which a new fiber inherits from the fiber that makes it.
        if ::Fiber.method_defined?(:storage)
          def clear_storage(fiber)
            fiber.storage&.each_key { |name| ::Fiber[name] = nil }
          end
        else
          def clear_storage(_fiber); end
        end

        private

        def clear_locals(thread)
          thread.keys.each do |name|
            thread[name] = nil unless ConnectedClients.client?(thread[name])
          end
        end

        def clear_variables(thread)
          variables = Scheduler.locals(thread, false) or return
          variables.delete_if do |name, value|
            next value.clear && false if name == EMPTIED

            !ConnectedClients.client?(value)
          end
        end
      end
    end
  end
end
