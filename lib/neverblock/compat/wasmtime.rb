# frozen_string_literal: true

# wasmtime keeps the calls that are under way as a chain on the thread's stacks (CallThreadState),
# and a call that ends has to be the innermost. A function of the host may wait for a Mutex, a Queue
# or a ConditionVariable; its fiber parks, and another fiber of the thread may call wasmtime
# meanwhile: the process crashed. Here such a call runs on a plain thread.

require "neverblock/compat/apart"

module NeverBlock
  module Compat
    module Wasmtime
      # Methods that may call a function of the host, by class. A star: of the class itself.
      ENTERING = { "Instance" => %i[invoke], "Func" => %i[call], "Linker" => %i[instantiate],
                   "*Instance" => %i[new] }.freeze

      # The fiber that is in such a call, by its scheduler. Changed with Ruby's lock.
      @inside = {}.compare_by_identity

      class << self
        # Installs it once, when wasmtime is loaded.
        # @return [void]
        def apply
          return unless defined?(::Wasmtime::Instance)

          ENTERING.each do |name, methods|
            klass = ::Wasmtime.const_get(name.delete("*"))
            klass = klass.singleton_class if name.start_with?("*")
            Apart.wrap(klass, methods) { |_object, call| enter(&call) }
          end
        end

        # Calls the block here, or on a plain thread where another fiber of the thread is inside.
        def enter(&block)
          scheduler = Compat.scheduler or return yield
          fiber = @inside[scheduler] or return first(scheduler, &block)
          fiber.equal?(Fiber.current) ? yield : Apart.run(block)
        end

        private

        def first(scheduler)
          @inside[scheduler] = Fiber.current
          yield
        ensure
          @inside.delete(scheduler)
        end
      end
    end
  end
end
