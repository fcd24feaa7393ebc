# frozen_string_literal: true

# What every connection pool of Sequel lacks for fibers, prepended to each: a queue in which waits park, first come first served, with a time that counts from the
# line's last move; and connections that were cut, left in the middle of an answer, are never used again. Sequel's own pools still keep the connections.
# Behind the queue nobody waits in them, since no more come in than there are connections.
#
# Sequel 5.110: connection_pool/{timed_queue,threaded,single}.rb and their sharded siblings. Only `hold` is relied on, which is Sequel's public contract of
# pools, `sync` with its @mutex where there is one, and `release` of the threaded one.

require "neverblock/db/admission"
require "neverblock/pool/wait_queue"
require "neverblock/sequel/discarded"

module NeverBlock
  module Sequel
    module Pool
      # Files and classes, under Sequel's own folder. The timed queues are for Ruby 3.2 and later.
      CLASSES = {
        "threaded" => :ThreadedConnectionPool, "sharded_threaded" => :ShardedThreadedConnectionPool,
        "single" => :SingleConnectionPool, "sharded_single" => :ShardedSingleConnectionPool,
        **(RUBY_VERSION >= "3.2" ? { "timed_queue" => :TimedQueueConnectionPool, "sharded_timed_queue" => :ShardedTimedQueueConnectionPool } : {})
      }.freeze

      # Sequel's own default.
      TIMEOUT_SECONDS = 5

      @lock = Thread::Mutex.new

      class << self
        # @return [void]
        def install
          CLASSES.each do |file, name|
            require "sequel/connection_pool/#{file}"
            pool = ::Sequel.const_get(name).prepend(self)
            pool.prepend(Bookkeeping) if pool.private_method_defined?(:sync)
          end
          ::Sequel::ThreadedConnectionPool.prepend(ReleaseWithoutYield)
        end

        # A pool may be frozen, with its Database; what it keeps its connections in never is.
        # @param keeper [Hash, Array] of one pool
        # @param make [Boolean] make the queue when there is none
        # @return [NeverBlock::Pool::WaitQueue, nil]
        def wait_queue(keeper, server, places, make:)
          queues = keeper.instance_variable_get(:@neverblock_wait_queues)
          found = queues && queues[server]
          return found if found || !make

          @lock.synchronize do
            queues = keeper.instance_variable_get(:@neverblock_wait_queues) || keeper.instance_variable_set(:@neverblock_wait_queues, {})
            queues[server] ||= NeverBlock::Pool::WaitQueue.new(places)
          end
        end
      end

      # Yields a connection that no other fiber has. Inside, and in what the block calls, it is the same one. Parks the fiber while all are held. One that was
      # cut is dropped, and another made in its place.
      # @raise [Sequel::PoolTimeout] when no connection has been given back for :pool_timeout seconds
      def hold(server = :default, &block)
        queue = neverblock_wait_queue(server, make: Fiber.scheduler) or return super
        owner = ::Sequel.current
        return super if queue.inside?(owner)

        DB::Admission.asks(queue.admission_queue)
        Compat.unsliced do |sliced|
          neverblock_enter(queue, owner)
          begin
            super { |connection| sliced.call(-> { Discarded.watch(connection, db, &block) }) }
          rescue Discarded::Found
            retry
          ensure
            queue.leave(owner)
          end
        end
      end

      # @return [Integer] how many fibers and threads wait for a connection, also before the application
      def num_waiting(server = :default)
        queue = neverblock_wait_queue(server, make: false)
        return queue.waiting + queue.admission_queue.waiting if queue

        defined?(super) ? super : 0
      end

      private

      def neverblock_wait_queue(server, make:)
        server = respond_to?(:pick_server, true) ? pick_server(server) : :default
        Pool.wait_queue(@allocated || @conns || @conn, server, max_size, make: make)
      end

      def neverblock_enter(queue, owner)
        seconds = @timeout || Float(db.opts[:pool_timeout] || TIMEOUT_SECONDS)
        return if queue.enter(owner, seconds)

        name = db.opts[:name]
        raise ::Sequel::PoolTimeout, "timeout: #{seconds}#{", database name: #{name}" if name}: no connection was given back for so long, #{queue.held} of #{queue.places} are " \
                                     "held and #{queue.waiting} others wait: hold them for less time, or set max_connections or pool_timeout higher"
      end

      # A connection is being made: what ends the fiber meanwhile stays what it is. Sequel would make a DatabaseConnectionError of it, which `rescue => e` takes.
      def make_new(*)
        super
      rescue ::Sequel::DatabaseConnectionError => e
        raise e.cause if Fiber.scheduler && e.cause && Discarded.from_outside?(e.cause)

        raise
      end

      # What Sequel notes of its connections, it notes with its mutex held. Nothing ends the wait for that from outside, or the note would be left half written: a
      # connection held for ever, a size too large, or `true`, which stands for one that is being made, as the connection of the fiber's next request.
      module Bookkeeping
        private

        def sync(&block)
          Compat.locked(@mutex, &block)
        end
      end

      # After it has signalled who waits, the threaded pool sleeps with its mutex held, so that they get it (socketry/async#99). Behind a queue nobody waits, and
      # all other fibers would pile up at the mutex.
      module ReleaseWithoutYield
        private

        def release(*arguments)
          return super unless Fiber.scheduler && arguments.one?

          connection = @allocated.delete(arguments.first)
          checkin_connection(connection) unless @connection_handling == :disconnect
          @waiter.signal
          nil
        end
      end
    end
  end
end
