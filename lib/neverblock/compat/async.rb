# frozen_string_literal: true

# `Async { }` and `Sync { }` of the gem async run a loop on their thread, with a scheduler of their
# own. That works in a request on a thread, which has no scheduler. Our thread has a loop already
# (compat/set_scheduler.rb). So the block gets a thread of its own, and its request parks until it
# has ended. State that the request keeps by thread or by request (thread variables,
# CurrentAttributes, ActiveRecord's connection) is the same there. async 1.30 to 2.x;
# lib/kernel/async.rb and sync.rb.

module NeverBlock
  module Compat
    module Async
      # Installs it once, when async is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Async::Task) && ::Kernel.method_defined?(:Async)

        ::Kernel.prepend(Apart) unless ::Kernel.include?(Apart)
      end

      # Prepended to Kernel. The names are the gem's.
      module Apart
        # rubocop:disable Naming/MethodName
        def Async(*arguments, **options, &block)
          return super unless Compat::Async.apart?

          Offload.for_request { super(*arguments, **options, &block) }
        end

        def Sync(*arguments, **options, &block)
          return super unless Compat::Async.apart?

          Offload.for_request { super(*arguments, **options, &block) }
        end
        # rubocop:enable Naming/MethodName
      end

      # @return [Boolean] whether the caller is in our loop, and in no task of Async's
      def self.apart?
        NeverBlock.neverblocking? && Fiber.scheduler.is_a?(Scheduler) && !::Async::Task.current?
      end
    end
  end
end
