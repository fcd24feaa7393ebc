# frozen_string_literal: true

# What an application may leave on a fiber, and how it is taken away before the fiber is used for something else: by a FiberPool, and by the server between two requests
# (binding/executor/task.c).

require "neverblock/compat/concurrent"
require "neverblock/pool/connected_clients"

module NeverBlock
  module Pool
    module FiberState
      # Their arrays are kept, without what is in them (compat/concurrent.rb).
      EMPTIED = Compat::Concurrent::KEY
      private_constant :EMPTIED

      class << self
        # Clears the current fiber: locals (Thread.current[]), thread variables, storage (Fiber[], Ruby 3.2 and later), instance variables. A client with an
        # open connection stays where it is (ConnectedClients).
        # @return [Boolean] false: it cannot be cleared (it is frozen), and must not be used again
        def clear(fiber)
          clear_locals(Thread.current)
          clear_variables(Thread.current)
          clear_storage(fiber)
          fiber.instance_variables.each { |name| fiber.remove_instance_variable(name) }
          true
        rescue FrozenError
          false
        end

        # A new fiber inherits its maker's storage.
        if ::Fiber.method_defined?(:storage)
          def clear_storage(fiber)
            fiber.storage&.each_key { |name| ::Fiber[name] = nil }
          end
        else
          def clear_storage(_fiber); end
        end

        private

        def clear_locals(thread)
          thread.keys.each { |name| thread[name] = nil unless ConnectedClients.client?(thread[name]) }
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
