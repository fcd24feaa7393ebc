# frozen_string_literal: true

# `Async { }` and `Sync { }` of the gem async make a loop on their thread for the time, with a
# scheduler of their own. In a request on a thread there is none, and that works. Our thread has a
# loop already (compat/set_scheduler.rb), so the block gets a thread of its own, and its request
# parks until it has ended. What the request keeps by thread or by request (thread variables,
# CurrentAttributes, ActiveRecord's connection) is the same in there. async 1.30 to 2.x;
# lib/kernel/async.rb and sync.rb.

module NeverBlock
  module Compat
    module Async
      # Puts it in place once, when async is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Async::Task) && ::Kernel.method_defined?(:Async)

        ::Kernel.prepend(Apart) unless ::Kernel.include?(Apart)
      end

      # Prepended to Kernel.
      module Apart
        def Async(*arguments, **options, &block) # rubocop:disable Naming/MethodName -- the gem's name
          Compat::Async.apart? ? Offload.for_request { super(*arguments, **options, &block) } : super
        end

        def Sync(*arguments, **options, &block) # rubocop:disable Naming/MethodName -- the gem's name
          Compat::Async.apart? ? Offload.for_request { super(*arguments, **options, &block) } : super
        end
      end

      # Is the caller in our loop, and in no task of Async's?
      def self.apart?
        NeverBlock.neverblocking? && Compat.scheduler && !::Async::Task.current?
      end
    end
  end
end
