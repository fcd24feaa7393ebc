# frozen_string_literal: true

# ActiveSupport's ShareLock, by which Rails lets no class be unloaded while a request runs, knows its owners by Thread.current. Requests that run in fibers of one
# thread are one owner to it, so that a file that changes is reloaded under requests that are in the middle of it ("A copy of X has been removed from the module
# tree but is still active"). Here each scheduled fiber of our loop is an owner, with those it resumes; elsewhere everything is as it was. 7.0 to 8.1:
# lib/active_support/concurrency/share_lock.rb, which says Thread.current and nothing else of Thread.

module NeverBlock
  module Compat
    module ShareLock
      # Puts it in place once, when ActiveSupport's is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::ActiveSupport::Concurrency::ShareLock) && defined?(::ActiveSupport::VERSION::MAJOR) && ::ActiveSupport::VERSION::MAJOR < 9

        lock = ::ActiveSupport::Concurrency::ShareLock
        lock.const_set(:Thread, Owner) unless lock.const_defined?(:Thread, false)
      end

      # What Thread is to that class alone. An instance is a fiber, with what ActionDispatch::DebugLocks asks of a thread.
      class Owner
        # @return [Owner, ::Thread]
        def self.current
          thread = ::Thread.current
          return thread unless Compat.scheduler

          thread.thread_variable_get(:neverblock_share_owner) || thread.thread_variable_set(:neverblock_share_owner, new(Scheduler.root))
        end

        def initialize(fiber)
          @fiber = fiber
        end

        # @return [String, false] as Thread#status
        def status
          @fiber.alive? && "sleep"
        end

        # @return [Array<String>, nil]
        def backtrace
          @fiber.backtrace
        end
      end
    end
  end
end
