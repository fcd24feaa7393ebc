# frozen_string_literal: true

# The locks of the gem sync (Sync, Sync_m) identify their owners by Thread.current: requests that
# run in fibers of one thread are one owner, and an exclusive lock excludes none of them. Here each
# scheduled fiber of our loop is an owner, together with the fibers that it resumes. Elsewhere
# nothing changes. sync 0.5; lib/sync.rb.

module NeverBlock
  module Compat
    module Sync
      # Installs it once, when the gem is loaded.
      # @return [void]
      def self.apply
        return unless defined?(::Sync_m)

        ::Sync_m.const_set(:Thread, Threads) unless ::Sync_m.const_defined?(:Thread, false)
      end

      # Stands for Thread in Sync_m, and so in the classes that include it.
      class Threads < ::Thread
        # @return [Owner, ::Thread]
        def self.current
          thread = ::Thread.current
          scheduler = Compat.scheduler or return thread
          owner = thread.thread_variable_get(:neverblock_sync_owner) ||
                  thread.thread_variable_set(:neverblock_sync_owner, Owner.new(thread))
          owner.called(scheduler)
        end

        # Around each wait for a lock. The lock is told of in a list and the mutex unlocked before
        # the fiber sleeps: a wake that comes in between is kept for the sleep.
        def self.handle_interrupt(...)
          scheduler = Compat.scheduler
          scheduler&.expect_wake
          super
        ensure
          scheduler&.forget_wake
        end
      end

      # A request. Everything but what the locks call is its thread's.
      class Owner
        def initialize(thread)
          @thread = thread
        end

        # Notes the fiber that may sleep next.
        def called(scheduler)
          @scheduler = scheduler
          @fiber = Fiber.current
          self
        end

        # Ends its wait for a lock.
        def wakeup
          @scheduler.unblock(nil, @fiber)
          self
        end

        # The locks do so after #wakeup.
        def run = self
        def inspect = @thread.inspect

        def respond_to_missing?(name, include_all = false)
          @thread.respond_to?(name, include_all) || super
        end

        private

        def method_missing(name, ...)
          @thread.respond_to?(name) ? @thread.public_send(name, ...) : super
        end
      end
    end
  end
end
