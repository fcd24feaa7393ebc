# frozen_string_literal: true

# connection_pool 2.2 to 3: its pools tell a gauge how many of their connections are in use, and its
# waits are known as waits for a pool. Its answers and the order of its waits stay as they are.
#
# This relies on TimedStack (pop, push, decrement_created, length, max) and on its instance
# variables @resource, a condition variable, and @create_block, the block that was given to the
# pool. net-http-persistent has a subclass of TimedStack.

require "neverblock/pool/gauge"

module NeverBlock
  module Compat
    module ConnectionPool
      # Installs it once, when connection_pool is loaded.
      # @return [void]
      def self.apply
        return if @applied || !defined?(::ConnectionPool::TimedStack)

        ::ConnectionPool::TimedStack.prepend(Stack)
        @applied = true
      end

      # Prepended to ConnectionPool::TimedStack. A waiter is woken as often as a connection is given
      # back, and waits again if another was faster: that is one wait.
      module Stack
        def pop(...)
          connection = super
          neverblock_acquired unless connection.nil? # `exception: false`
          connection
        ensure
          neverblock_given_up if @neverblock_waiters
        end

        def push(...)
          super
        ensure
          neverblock_tell(:changed)
        end
        alias << push

        def decrement_created(...)
          super
        ensure
          neverblock_tell(:changed)
        end

        # The running fiber begins to wait, or goes on waiting.
        def neverblock_waits
          fiber = Fiber.current
          @neverblock_waiters ||= {}.compare_by_identity
          unless @neverblock_waiters.key?(fiber)
            @neverblock_waiters[fiber] = true
            neverblock_tell(:waits)
          end
          @neverblock_gauge.next_wait
        end

        private

        def neverblock_tell(event)
          gauge = @neverblock_gauge || neverblock_gauge
          waiting = @neverblock_waiters ? @neverblock_waiters.size : 0
          gauge.tell(event, @max - length, waiting)
        end

        # Pools that were made before this was installed get it when they are first used.
        def neverblock_gauge
          @resource.extend(Resource).neverblock_stack = self
          @neverblock_gauge = Pool::Gauge.new(:connection_pool, Pool::Gauge.place(@create_block),
                                              @max)
        end

        def neverblock_acquired
          @neverblock_waiters&.delete(Fiber.current)
          neverblock_tell(:acquired)
        end

        # Nothing was had in time, or the fiber was ended.
        def neverblock_given_up
          neverblock_tell(:changed) if @neverblock_waiters.delete(Fiber.current)
        end
      end

      # Extends the condition variable of a TimedStack.
      module Resource
        attr_writer :neverblock_stack

        def wait(...)
          @neverblock_stack.neverblock_waits
          super
        end
      end
    end
  end
end
