# frozen_string_literal: true

# What ActiveRecord's ConnectionPool is given (7.1 to 8.1): a fair line for those who wait, a size when a server runs in this process, and connections that come back
# wherever a fiber is interrupted.

require "neverblock/db/active_record/line"
require "neverblock/db/active_record/pool_size"

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
          @available&.neverblock_line_up
          self.neverblock_size = PoolSize::DEFAULT if size&.zero? && @neverblock_size.automatic?
        end

        # @param number [Integer]
        def neverblock_size=(number)
          synchronize { @size = @max_connections = number } # the second since 8.1
        end

        # The lock may have to be waited for, and an exception there would lose the connection.
        def checkin(conn)
          DB::ActiveRecord.shielded { super }
        end

        def remove(conn)
          DB::ActiveRecord.shielded { super }
        end

        private

        def acquire_connection(...)
          @neverblock_size.settle
          super
        end
      end

      # Prepended to ConnectionPool::Queue.
      module FairQueue
        def initialize(...)
          super
          neverblock_line_up
        end

        # From the next wait on.
        # @return [void]
        def neverblock_line_up
          synchronize { @cond = Line.new(@lock) { any? } unless @cond.is_a?(Line) || @num_waiting.positive? }
        end
      end
    end
  end
end
