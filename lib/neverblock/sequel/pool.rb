# frozen_string_literal: true

# What every connection pool of Sequel lacks for fibers. It is prepended to each.
#
# - Waits park in a wait queue, first come, first served. The time limit counts from the queue's
#   last move. No more fibers leave the queue than there are connections, so that none waits in
#   Sequel's own pool, which still keeps the connections.
# - Connections that were left in the middle of an answer are discarded.
#
# Sequel 5.110: connection_pool/{timed_queue,threaded,single}.rb and their sharded versions. This
# file relies on `hold`, which is public, on `sync` with its @mutex where there is one, and on
# `release` of the threaded pool.

require "neverblock/db/admission"
require "neverblock/pool/gauge"
require "neverblock/pool/wait_queue"
require "neverblock/sequel/discarded"

module NeverBlock
  module Sequel
    module Pool
      # Classes of Ruby 3.2 and later.
      TIMED_QUEUES = {
        "timed_queue" => :TimedQueueConnectionPool,
        "sharded_timed_queue" => :ShardedTimedQueueConnectionPool
      }.freeze
      private_constant :TIMED_QUEUES

      # File under sequel/connection_pool => class.
      CLASSES = {
        "threaded" => :ThreadedConnectionPool,
        "sharded_threaded" => :ShardedThreadedConnectionPool,
        "single" => :SingleConnectionPool,
        "sharded_single" => :ShardedSingleConnectionPool,
        **(RUBY_VERSION >= "3.2" ? TIMED_QUEUES : {})
      }.freeze

      # Sequel's own default of :pool_timeout.
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

        # The wait queue is kept with the pool's connections: the pool itself may be frozen.
        # @param connections [Hash, Array] the object in which a pool keeps them
        # @param server [Symbol] the shard
        # @param places [Integer] most connections
        # @param db [Sequel::Database]
        # @param make [Boolean] whether to make the queue when there is none
        # @return [NeverBlock::Pool::WaitQueue, nil]
        def wait_queue(connections, server, places, db:, make:)
          queues = connections.instance_variable_get(:@neverblock_wait_queues)
          found = queues && queues[server]
          return found if found || !make

          @lock.synchronize do
            queues = connections.instance_variable_get(:@neverblock_wait_queues) ||
                     connections.instance_variable_set(:@neverblock_wait_queues, {})
            queues[server] ||= NeverBlock::Pool::WaitQueue.new(places, gauge(db, server, places))
          end
        end

        private

        def gauge(db, server, places)
          NeverBlock::Pool::Gauge.new(:sequel, name_of(db, server), places)
        end

        # "shop", "shop (replica)"; of a file the last part.
        def name_of(db, server)
          name = db.opts.values_at(:name, :database).map(&:to_s).find { |one| !one.empty? }
          name = name ? File.basename(name) : db.adapter_scheme.to_s
          server == :default ? name : "#{name} (#{server})"
        end
      end

      # Yields a connection that no other fiber has. Inside, and in what the block calls, it is the
      # same one. Parks the fiber while all are held. A discarded connection is dropped, and another
      # is made in its place.
      # @return what the block returns
      # @raise [Sequel::PoolTimeout] when no connection was given back for :pool_timeout seconds
      def hold(server = :default, &block)
        queue = neverblock_wait_queue(server, make: Fiber.scheduler) or return super
        neverblock_forget_parents(server) if queue.forked?
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

      # @return [Integer] how many fibers and threads wait for a connection, also before the
      #   application is called
      def num_waiting(server = :default)
        queue = neverblock_wait_queue(server, make: false)
        return queue.waiting + queue.admission_queue.waiting if queue

        defined?(super) ? super : 0
      end

      private

      def neverblock_wait_queue(server, make:)
        server = respond_to?(:pick_server, true) ? pick_server(server) : :default
        Pool.wait_queue(@allocated || @conns || @conn, server, max_size, db: db, make: make)
      end

      def neverblock_enter(queue, owner)
        seconds = @timeout || Float(db.opts[:pool_timeout] || TIMEOUT_SECONDS)
        return if queue.enter(owner, seconds)

        raise ::Sequel::PoolTimeout, neverblock_timed_out(queue, seconds, db.opts[:name])
      end

      def neverblock_timed_out(queue, seconds, name)
        "timeout: #{seconds}#{", database name: #{name}" if name}: " \
          "no connection was given back for so long, #{queue.held} of #{queue.places} are held " \
          "and #{queue.waiting} others wait: " \
          "hold them for less time, or set max_connections or pool_timeout higher"
      end

      # In a forked child: drops the connections that the parent's fibers hold. They must not be
      # closed, as the parent uses them, nor be collected, which closes them.
      def neverblock_forget_parents(server)
        return unless @allocated

        server = pick_server(server) if respond_to?(:pick_server, true)
        sync do
          allocated = @allocated.key?(server) ? @allocated.fetch(server) : @allocated
          inherited = allocated.reject { |owner,| NeverBlock::Pool::WaitQueue.here?(owner) }
          inherited.each_key { |owner| allocated.delete(owner) }
          kept = allocated.instance_variable_get(:@neverblock_inherited) || []
          allocated.instance_variable_set(:@neverblock_inherited, kept + inherited.values)
          @size[0] = allocated.size + @queue.size if @size
          @sizes[server] = allocated.size + @queues[server].size if @sizes
        end
      end

      # Raises what ends the fiber while it connects. Sequel would raise a DatabaseConnectionError
      # instead, which `rescue => e` catches.
      def make_new(*)
        super
      rescue ::Sequel::DatabaseConnectionError => e
        raise e.cause if Fiber.scheduler && e.cause && Discarded.from_outside?(e.cause)

        raise
      end

      # Sequel changes its records of connections with its mutex held. The wait for that mutex
      # cannot be interrupted, or a record would be incomplete: a connection that is held forever, a
      # size too large, or `true` (a connection that is being made) as the next request's
      # connection.
      module Bookkeeping
        private

        def sync(&block)
          Compat.locked(@mutex, &block)
        end
      end

      # The threaded pool signals a waiter and then sleeps with its mutex held, so that the waiter
      # gets the connection (socketry/async#99). Behind a wait queue there is no such waiter, and
      # all other fibers would wait for the mutex.
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
