# frozen_string_literal: true

# The locks of the gem sync (Sync, Sync_m) identify their owners by Thread.current: requests that
# run in fibers of one thread are one owner, and an exclusive lock excludes none of them. Here each
# request is an owner (compat/owner.rb). sync 0.5; lib/sync.rb.

require "neverblock/compat/owner"

module NeverBlock
  module Compat
    module Sync
      # Installs it once, when the gem is loaded.
      # @return [void]
      def self.apply
        Compat::Owner.stand_in(::Sync_m, Threads) if defined?(::Sync_m)
      end

      # Stands for Thread in Sync_m, and so in the classes that include it.
      class Threads < ::Thread
        # @return [Owner, ::Thread]
        def self.current
          scheduler = Compat.scheduler
          scheduler ? Owner.new(scheduler) : ::Thread.current
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

      # A request, and the fiber of it that may sleep next.
      class Owner < Compat::Owner
        def initialize(scheduler)
          super()
          @scheduler = scheduler
          @fiber = Fiber.current
        end

        # Ends its wait for a lock.
        def wakeup
          @scheduler.unblock(nil, @fiber)
          self
        end

        # The locks do so after #wakeup.
        def run = self
      end
    end
  end
end
