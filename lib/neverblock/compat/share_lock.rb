# frozen_string_literal: true

# ActiveSupport's ShareLock identifies its owners by Thread.current. Through it Rails unloads no
# class while a request runs. Requests that run in fibers of one thread are one owner to it, so that
# a changed file is reloaded while requests use it ("A copy of X has been removed from the module
# tree but is still active"). Here each scheduled fiber of our loop is an owner, together with the
# fibers that it resumes. Elsewhere nothing changes. 7.0 to 8.1:
# lib/active_support/concurrency/share_lock.rb, which uses no other method of Thread than
# Thread.current.

module NeverBlock
  module Compat
    module ShareLock
      # Installs it once, when ActiveSupport's is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::ActiveSupport::Concurrency::ShareLock)
        return unless defined?(::ActiveSupport::VERSION::MAJOR)
        return unless ::ActiveSupport::VERSION::MAJOR < 9

        lock = ::ActiveSupport::Concurrency::ShareLock
        lock.const_set(:Thread, Owner) unless lock.const_defined?(:Thread, false)
      end

      # Stands for Thread in that class alone. An instance is a fiber, with the methods of Thread
      # that ActionDispatch::DebugLocks calls.
      class Owner
        # @return [Owner, ::Thread]
        def self.current
          thread = ::Thread.current
          return thread unless Compat.scheduler

          thread.thread_variable_get(:neverblock_share_owner) ||
            thread.thread_variable_set(:neverblock_share_owner, new(Scheduler.root))
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
