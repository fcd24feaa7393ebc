# frozen_string_literal: true

# Faults of Ruby that a scheduler has to work around: one file each, with the versions it is for and its reference. Loading this file puts in place what
# this Ruby needs; compat/tcp_fast_fallback.rb is applied by who makes outgoing connections (the server at boot).

module NeverBlock
  module Compat
    # @return [Scheduler, nil] the scheduler of the current fiber, if it is ours and the fiber may park
    def self.scheduler
      scheduler = Fiber.current_scheduler
      scheduler if scheduler.is_a?(Scheduler)
    end

    if Fiber.respond_to?(:blocking)
      # Calls the block with the hooks off: what waits in it, blocks the thread.
      def self.blocking(&block)
        Fiber.blocking { block.call }
      end
    else
      # Fiber.blocking is Ruby 3.2's. Another fiber has other fiber-locals, which the blocks given to this do not use.
      def self.blocking(&block)
        Fiber.new(blocking: true, &block).resume
      end
    end
  end
end

require "neverblock/compat/tcp_fast_fallback"
require "neverblock/compat/fork"
require "neverblock/compat/fiber_raise"
require "neverblock/compat/io_close"
require "neverblock/compat/sysread"
require "neverblock/compat/flock"
require "neverblock/compat/copy_stream"
require "neverblock/compat/io_select" if RUBY_VERSION < "3.2"
require "neverblock/compat/require" if RUBY_VERSION < "3.2"
require "neverblock/compat/thread_join" if RUBY_VERSION < "3.3"
require "neverblock/compat/mutex_sleep"
require "neverblock/compat/condition_broadcast"
