# frozen_string_literal: true

# What an application may leave on a fiber, and how it is taken away before the fiber is used for something else (binding/task.c does the same for requests).

module NeverBlock
  module Pool
    module FiberState
      class << self
        # Clears the current fiber: locals (Thread.current[]), storage (Fiber[], Ruby 3.2 and later), instance variables.
        # @return [Boolean] false: it cannot be cleared (it is frozen), and must not be used again
        def clear(fiber)
          clear_locals
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

        def clear_locals
          thread = Thread.current
          thread.keys.each { |name| thread[name] = nil }
        end
      end
    end
  end
end
