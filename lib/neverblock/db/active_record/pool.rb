# frozen_string_literal: true

# What ActiveRecord's ConnectionPool is given (7.1 to 8.1): a fair line for those who wait, a size when a server runs in this process, and books that stay right wherever
# a fiber is interrupted (books.rb).

require "neverblock/db/active_record/books"
require "neverblock/db/active_record/line"
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
          Books.install(pool)
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
          self.neverblock_size = PoolSize::DEFAULT if size && size < 1 && @neverblock_size.automatic?
        end

        # @param number [Integer]
        def neverblock_size=(number)
          synchronize { @size = @max_connections = number } # the second since 8.1
          neverblock_line&.gate&.look
        end

        # As ActiveRecord's; requests that are held at the gate wait for a connection too.
        # @return [Hash{Symbol => Numeric}]
        def stat
          super.tap { |figures| figures[:waiting] += neverblock_line&.gate&.held.to_i }
        end

        private

        def acquire_connection(...)
          Admission.asks(neverblock_line&.gate)
          @neverblock_size.settle
          super
        end

        def neverblock_line
          @available&.neverblock_line
        end
      end

      # Prepended to ConnectionPool::Queue.
      module FairQueue
        def initialize(...)
          super
          neverblock_line_up
        end

        # @return [Line, nil]
        attr_reader :neverblock_line

        # From the next wait on.
        # @return [void]
        def neverblock_line_up
          synchronize do
            next if @neverblock_line || @num_waiting.positive?

            @cond = @neverblock_line = Line.new(@lock, size: -> { @lock.size if @lock.respond_to?(:size) }) { any? }
          end
        end

        private

        # Whose turn it was may be ended on its way to the connection, by a wait for Rails' interlock: the next one's turn.
        def wait_poll(...)
          found = super
        ensure
          @cond.signal if found.nil? && any?
        end
      end
    end
  end
end
