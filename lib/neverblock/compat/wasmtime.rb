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

      # Fibers that are in such a call, by their schedulers. Changed with Ruby's lock.
      @inside = {}.compare_by_identity

      class << self
        # Installs it once, when wasmtime is loaded.
        # @return [void]
        def apply
          return unless defined?(::Wasmtime::Instance)

          ENTERING.each do |name, methods|
            klass = ::Wasmtime.const_get(name.delete("*"))
            klass = klass.singleton_class if name.start_with?("*")
            klass.prepend(wrapper(methods)) unless klass.include?(Entering)
          end
        end

        # Calls the block here, or on a plain thread where another fiber of the thread is inside.
        def enter(&block)
          scheduler = Compat.scheduler or return yield
          return Apart.run(block) if others?(scheduler) && Apart.needed?

          inside(scheduler, &block)
        end

        private

        def others?(scheduler)
          fibers = @inside[scheduler]
          fibers&.any? { |fiber| !fiber.equal?(Fiber.current) }
        end

        def inside(scheduler)
          fibers = (@inside[scheduler] ||= [])
          fibers << Fiber.current
          begin
            yield
          ensure
            fibers.pop
            @inside.delete(scheduler) if fibers.empty?
          end
        end

        def wrapper(methods)
          Module.new do
            include Entering

            methods.each do |name|
              define_method(name) do |*arguments, **options, &block|
                Wasmtime.enter { super(*arguments, **options, &block) }
              end
            end
          end
        end
      end

      # Marks a class whose methods are wrapped.
      module Entering
      end
    end
  end
end
