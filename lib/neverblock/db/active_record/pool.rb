# frozen_string_literal: true

# What ActiveRecord's ConnectionPool is given (7.1 to 8.1): a fair line for those who wait, a size when a server runs in this process, and connections that come back
# wherever a fiber is interrupted.

require "neverblock/db/active_record/wait_queue"
require "neverblock/db/active_record/pool_size"
require "neverblock/db/admission"

module NeverBlock
  module DB
    module ActiveRecord
      # Prepended to ActiveRecord::ConnectionAdapters::ConnectionPool.
      module Pool
        # @return [void]
        def self.install
          pool = ::ActiveRecord::ConnectionAdapters::ConnectionPool
          pool::Queue.prepend(FairQueue)
          pool.prepend(self)
          ::ActiveRecord::Base.connection_handler.connection_pool_list(:all).each(&:neverblock_adapt)
        end

        def initialize(...)
          super
          neverblock_adapt
        end

        # Once for each pool; also for those that were there before.
        # @return [void]
        def neverblock_adapt
          @neverblock_size ||= PoolSize.new(self)
          @available&.neverblock_set_wait_queue
          self.neverblock_size = PoolSize::DEFAULT if size && size < 1 && @neverblock_size.automatic?
        end

        # @param number [Integer]
        def neverblock_size=(number)
          synchronize { @size = @max_connections = number } # the second since 8.1
          neverblock_wait_queue&.admission_queue&.room_changed
        end

        # As ActiveRecord's; requests that are held at the gate wait for a connection too.
        # @return [Hash{Symbol => Numeric}]
        def stat
          super.tap { |figures| figures[:waiting] += neverblock_wait_queue&.admission_queue&.waiting.to_i }
        end

        # The lock may have to be waited for, and an exception there would lose the connection.
        def checkin(conn)
          Compat.shielded { super }
        end

        def remove(conn)
          Compat.shielded { super }
        end

        private

        def acquire_connection(...)
          Admission.asks(neverblock_wait_queue&.admission_queue)
          @neverblock_size.settle
          super
        end

        def neverblock_wait_queue
          @available&.neverblock_wait_queue
        end
      end

      # Prepended to ConnectionPool::Queue.
      module FairQueue
        def initialize(...)
          super
          neverblock_set_wait_queue
        end

        # @return [WaitQueue, nil]
        attr_reader :neverblock_wait_queue

        # From the next wait on.
        # @return [void]
        def neverblock_set_wait_queue
          synchronize do
            next if @neverblock_wait_queue || @num_waiting.positive?

            @cond = @neverblock_wait_queue = WaitQueue.new(@lock, size: -> { @lock.size if @lock.respond_to?(:size) }) { any? }
          end
        end
      end
    end
  end
end
