# frozen_string_literal: true

# What ActiveRecord's ConnectionPool gets (7.1 to 8.1): a fair wait queue, a size when a server runs
# in this process, and bookkeeping that stays right where a fiber is interrupted (bookkeeping.rb).

require "neverblock/db/active_record/async_queries"
require "neverblock/db/active_record/bookkeeping"
require "neverblock/db/active_record/wait_queue"
require "neverblock/db/active_record/pool_size"
require "neverblock/db/admission"
require "neverblock/pool/gauge"

module NeverBlock
  module DB
    module ActiveRecord
      # Prepended to ActiveRecord::ConnectionAdapters::ConnectionPool.
      module Pool
        # Installs it, also in pools that exist already.
        # @return [void]
        def self.install
          pool = ::ActiveRecord::ConnectionAdapters::ConnectionPool
          pool::Queue.prepend(FairQueue)
          Bookkeeping.install(pool)
          AsyncQueries.install
          pool.prepend(self)
          pools = ::ActiveRecord::Base.connection_handler.connection_pool_list(:all)
          pools.each(&:neverblock_adapt)
        end

        def initialize(...)
          super
          neverblock_adapt
        end

        # @return [NeverBlock::Pool::Gauge, nil]
        attr_reader :neverblock_gauge

        # Called once for each pool.
        # @return [void]
        def neverblock_adapt
          @neverblock_size ||= PoolSize.new(self)
          @neverblock_gauge ||= NeverBlock::Pool::Gauge.new(:active_record, db_config.name.to_s,
                                                            size)
          @available&.neverblock_set_wait_queue
          return unless size && size < 1 && @neverblock_size.automatic?

          self.neverblock_size = PoolSize::DEFAULT
        end

        # Sets the most connections.
        # @param number [Integer]
        def neverblock_size=(number)
          synchronize { @size = @max_connections = number } # @max_connections since 8.1
          @neverblock_gauge&.size = number
          neverblock_wait_queue&.admission_queue&.room_changed
        end

        # As ActiveRecord's. Requests that wait in the admission queue wait for a connection too.
        # @return [Hash{Symbol => Numeric}]
        def stat
          figures = super
          figures[:waiting] += neverblock_wait_queue&.admission_queue&.waiting.to_i
          figures
        end

        # A query that Timeout has ended may be under way. Its connection is closed here, outside
        # the pool's lock. That may wait, and nothing ends it before the connection is given back.
        def checkin(connection)
          pinned = @pinned_connection.equal?(connection)
          Compat.shielded do
            connection.neverblock_settle if !pinned && connection.respond_to?(:neverblock_settle)
            super.tap { neverblock_tell(:changed) }
          end
        end

        def remove(...)
          super.tap { neverblock_tell(:changed) }
        end

        # Without it the pool is one that ActiveRecord has removed.
        def automatic_reconnect=(wanted)
          super
          @neverblock_gauge&.retire unless wanted
        end

        # @param event [Symbol] as of NeverBlock::Pool::Gauge#tell
        # @return [void]
        def neverblock_tell(event)
          gauge = @neverblock_gauge
          connections = @connections
          available = @available
          return unless gauge && connections && available && automatic_reconnect

          in_use = connections.size + @now_connecting - available.neverblock_idle
          gauge.tell(event, in_use, available.neverblock_waiting)
        end

        private

        def acquire_connection(...)
          Admission.asks(neverblock_wait_queue&.admission_queue)
          @neverblock_size.settle
          connection = super
          neverblock_tell(:acquired)
          connection
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

        # Installs the wait queue. Waits that began before are not moved to it.
        # @return [void]
        def neverblock_set_wait_queue
          synchronize do
            next if @neverblock_wait_queue || @num_waiting.positive?

            pool = @lock if @lock.is_a?(Pool)
            @neverblock_wait_queue = WaitQueue.new(@lock, size: method(:neverblock_most),
                                                          pool: pool) { any? }
            @cond = @neverblock_wait_queue
          end
        end

        # @return [Integer] connections that nobody has
        def neverblock_idle
          @queue.size
        end

        # @return [Integer] how many wait, also before the application is called
        def neverblock_waiting
          @num_waiting + @neverblock_wait_queue&.admission_queue&.waiting.to_i
        end

        private

        def neverblock_most
          @lock.size if @lock.respond_to?(:size)
        end

        # A fiber whose turn it was may be ended on its way to the connection, by a wait for Rails'
        # interlock. Then it is the next one's turn.
        def wait_poll(...)
          found = super
        ensure
          if found.nil?
            @cond.signal if any?
            @neverblock_wait_queue&.tell(:changed)
          end
        end
      end
    end
  end
end
