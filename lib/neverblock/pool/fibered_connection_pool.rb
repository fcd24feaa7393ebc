# frozen_string_literal: true

# NB::Pool::FiberedConnectionPool: connections that fibers and threads share. Each is used by one of
# them at a time.
#
#   pool = NB::Pool::FiberedConnectionPool.new(size: 12) { PG.connect(dbname: "shop") }
#   pool.hold { |connection| connection.exec("select 1") }

require "timeout"
require "neverblock/errors/causes"
require "neverblock/verbs/arguments"
require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/errors/backtrace"
require "neverblock/legacy/fiber_locals"
require "neverblock/pool/gauge"
require "neverblock/pool/holders"
require "neverblock/pool/lease"
require "neverblock/pool/waiter"

module NeverBlock
  module Pool
    # No connection became free in time.
    class TimeoutError < Error; end

    # A fiber has the connection that it holds to itself. The pool may be used from any fiber of any
    # loop and from plain threads.
    class FiberedConnectionPool
      # Errors of drivers that mean that the connection is lost.
      LOST = %w[
        PG::ConnectionBad PG::UnableToSend PG::ConnectionException PG::AdminShutdown
        PG::CrashShutdown PG::CannotConnectNow PG::IdleSessionTimeout
        PG::IdleInTransactionSessionTimeout
        Mysql2::Error::ConnectionError Trilogy::BaseConnectionError Trilogy::ConnectionError
      ].freeze
      KEYWORDS = %w[size eager timeout disconnect].freeze
      private_constant :LOST, :KEYWORDS

      # @return [Integer] most connections
      attr_reader :size

      # @param size [Integer] most connections
      # @param eager [Boolean] whether all are made now, which may park; default: each on demand
      # @param timeout [Numeric, nil] longest wait for a connection, in seconds; nil: no limit
      # @param disconnect [#call, nil] gets each connection that the pool drops; nil: it is closed
      #   if it has #close
      # @yieldreturn a new connection
      # @raise [ArgumentError] without a block, when size is no Integer of at least 1, timeout no
      #   number, or disconnect without #call
      def initialize(size: 8, eager: false, timeout: nil, disconnect: nil, **unknown, &connect)
        unless unknown.empty?
          Arguments.refuse_keywords("NB::Pool::FiberedConnectionPool.new", unknown, KEYWORDS)
        end
        unless connect
          raise ArgumentError, "NB::Pool::FiberedConnectionPool.new needs a block that connects",
                Backtrace.of_caller
        end
        unless size.is_a?(Integer) && size.positive?
          raise ArgumentError, "NB::Pool::FiberedConnectionPool: size is a number of at least 1, " \
                               "not #{size.inspect}", Backtrace.of_caller
        end

        Arguments.callable("NB::Pool::FiberedConnectionPool", :disconnect, disconnect)
        @size = size
        @timeout = limit(timeout)
        @connect = connect
        @disconnect = disconnect
        @key = :"neverblock_pool_#{object_id}"
        @gauge = Gauge.new(:neverblock, Gauge.place(connect), size)
        start
        connect_all if eager
      end

      # Calls the block with a connection that no other fiber has. Inside, and in what the block
      # calls, `hold` gives the same one. When none is free and there are `size` already, parks the
      # fiber (elsewhere: blocks the thread) until its turn, first come, first served.
      #
      # The connection is given back when the block ends, however it does. In a fiber of a
      # FiberPool it is given back after that fiber's block, with its callbacks.
      #
      # A connection that may be in the middle of an answer is dropped, and another is made on
      # demand. That is so when the block was left by Timeout::Error, an error of NeverBlock's, an
      # exception that is no StandardError, or one that has such a cause, and when the fiber or its
      # thread was killed in it. A connection whose driver (pg, mysql2, trilogy) says that it is
      # lost is dropped too.
      # @param timeout [Numeric, nil] longest wait for a connection, in seconds; default: the pool's
      # @return what the block returns
      # @raise [ArgumentError] without a block, or when timeout is no number
      # @raise [TimeoutError] when none became free in time
      # @raise [Error] where waiting would never end: in a blocking fiber of a loop whose other
      #   fibers hold all the connections
      # @raise whatever connecting raises
      def hold(timeout: @timeout, &block)
        Arguments.refuse("NB::Pool::FiberedConnectionPool#hold") unless block

        lease = lease_of_fiber
        return use(lease, &block) if lease

        take_and_use(Lease.new, limit(timeout), &block)
      end

      # Drops the connection that the fiber holds, and makes another, which `hold` gives from now
      # on. May park.
      # @return the new connection
      # @raise [Error] when the fiber holds none
      # @raise whatever connecting raises; then the next `hold` connects
      def replace_acquired_connection
        lease = lease_of_fiber or raise Error, "NB::Pool: there is no connection to replace: " \
                                               "call replace_acquired_connection inside hold { }"

        reconnect(lease)
        lease.connection
      end

      # Every connection there is, free or held. Only its holder may use a held one.
      # @yieldparam connection
      # @return [Array]
      def all_connections(&block)
        forget_parent
        all = @lock.synchronize do
          @free + @leases.to_a.select(&:connected?).map(&:connection)
        end
        all.each(&block) if block
        all
      end

      # @return [Hash{Symbol => Integer}] size; free: unused connections; held: places; waiting
      def stats
        forget_parent
        @lock.synchronize do
          { size: @size, free: @free.size, held: @leases.size, waiting: @waiters.size }
        end
      end

      # @return [String]
      def inspect
        "#<#{self.class.name} #{stats.map { |name, number| "#{name} #{number}" }.join(", ")}>"
      end

      private

      # @return [Numeric, nil]
      def limit(seconds)
        Deadline.seconds(seconds)&.clamp(0.0, nil)
      rescue TypeError, ArgumentError
        raise ArgumentError, "NB::Pool::FiberedConnectionPool: timeout is a number of seconds, " \
                             "or nil for no limit, not #{seconds.inspect}", Backtrace.of_caller
      end

      def start
        @pid = Process.pid
        @lock = Thread::Mutex.new
        @free = []
        @leases = Holders.new
        @waiters = []
      end

      # In a forked child the sockets are the parent's, and the child makes its own. It keeps the
      # parent's objects: their finalizers would end the sessions of the parent.
      def forget_parent
        return if @pid == Process.pid

        (@inherited ||= []) << @free << @leases
        start
      end

      def connect_all
        @size.times { @free << @connect.call }
        connected = true
      ensure
        @free.each { |connection| disconnect(connection) } unless connected
      end

      # --- Holding ---

      def lease_of_fiber
        lease = Thread.current[@key] or return
        forget_parent
        lease if @leases.include?(lease)
      end

      def take_and_use(lease, timeout, &block)
        acquire(lease, timeout)
        reconnect(lease) unless lease.connected?
        Thread.current[@key] = lease
        by_callback = release_by_callback(lease)
        use(lease, &block)
      ensure
        release(lease) unless by_callback
      end

      def use(lease)
        reconnect(lease) if lease.spoiled
        result = yield lease.connection
        ended = true
        result
      rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
        ended = true
        lease.spoiled = true if spoils?(e)
        raise
      ensure
        lease.spoiled = true if !ended && killed?
      end

      # No `rescue` sees that the fiber or its thread is killed. A block that is left by `throw` or
      # `break` looks the same.
      def killed?
        Compat.killed? || Thread.current.status == "aborting"
      end

      # Also true for an exception that a library has raised because of such an error.
      def spoils?(error)
        Causes.of(error).any? { |one| ends_from_outside?(one) || lost?(one) }
      end

      def ends_from_outside?(error)
        !error.is_a?(StandardError) || error.is_a?(NeverBlock::Error) ||
          error.is_a?(::Timeout::Error)
      end

      def lost?(error)
        error.class.ancestors.any? { |ancestor| LOST.include?(ancestor.name) }
      end

      # In a fiber that runs callbacks after its work, the lease lasts until then, as in NeverBlock
      # 0.1.
      # @return [Boolean] whether a callback will release it
      def release_by_callback(lease)
        callbacks = Fiber.current[:callbacks]
        return false unless callbacks.is_a?(Array)

        callbacks << -> { release(lease) }
        true
      end

      # The lease stays unusable until there is a new connection.
      def reconnect(lease)
        old = lease.connection
        was_connected = lease.connected?
        lease.spoiled = true
        lease.connection = @connect.call
        disconnect(old) if was_connected
      end

      # Does nothing with a lease that has no place, or is the parent's. The wait for the lock
      # cannot be interrupted, or the place would be lost.
      def release(lease)
        forget_parent
        Thread.current[@key] = nil if Thread.current[@key].equal?(lease)
        given_back = Compat.shielded { @lock.synchronize { give_back(lease) } }
        return unless given_back

        disconnect(lease.connection) if lease.connected? && lease.spoiled
      end

      def disconnect(connection)
        return @disconnect.call(connection) if @disconnect

        return connection.neverblock_abandon if connection.respond_to?(:neverblock_abandon)

        connection.close if connection.respond_to?(:close)
      rescue StandardError
        nil # it was lost already
      end

      # --- Places. The lock is held, but in acquire. ---

      def acquire(lease, timeout)
        forget_parent
        dead = []
        @lock.synchronize do
          room? ? place(lease) : wait(lease, timeout, dead)
        end
      ensure
        dead&.each { |left| disconnect(left.connection) if left.connected? }
      end

      # While there are waiters there is none: a place that is given back goes to the first of them.
      def room?
        @leases.size < @size
      end

      def place(lease)
        @leases.add(lease)
        lease.connection = @free.pop if @free.any?
        @gauge.tell(:acquired, @leases.size, @waiters.size)
      end

      def wait(lease, timeout, dead)
        deadline = timeout && (Deadline.now + timeout)
        @waiters << (waiter = Waiter.new(lease, @gauge))
        @gauge.tell(:waits, @leases.size, @waiters.size)
        starved = false
        until waiter.granted?
          sweep(dead, starved)
          starved = wait_once(waiter, deadline) unless waiter.granted?
        end
      ensure
        unless waiter.granted?
          @waiters.delete(waiter)
          @gauge.tell(:changed, @leases.size, @waiters.size)
        end
      end

      # @return [true]
      def wait_once(waiter, deadline)
        refuse_to_wait_for_ever
        left = deadline ? deadline - Deadline.now : Holders::SEARCH_SECONDS
        raise TimeoutError, timed_out if left <= 0

        waiter.wait(@lock, [left, Holders::SEARCH_SECONDS].min)
        true
      end

      def timed_out
        "no connection became free in time: #{@leases.size} of #{@size} are held and " \
          "#{@waiters.size - 1} others wait; make the pool with a larger `size:`, " \
          "hold connections for less time, or wait longer (`timeout:`)"
      end

      def refuse_to_wait_for_ever
        return unless @leases.hopeless?

        raise Error, "NB::Pool: fibers of this thread hold all #{@size} connections, and waiting " \
                     "in a blocking fiber would keep them from ever giving one back: " \
                     "call hold before the blocking part, or make the pool with a larger `size:`"
      end

      # @return [Boolean] whether the lease had a place
      def give_back(lease)
        return false unless @leases.delete(lease)

        @free << lease.connection if lease.good?
        serve
        @gauge.tell(:changed, @leases.size, @waiters.size)
        true
      end

      def serve
        while room? && (waiter = @waiters.shift)
          place(waiter.subject)
          waiter.grant
        end
      end

      # Takes the places of fibers that have died. Their connections are dropped, since nobody knows
      # their state.
      # @param dead [Array<Lease>] to which those leases are added
      # @param starved [Boolean] whether the wait has been long
      def sweep(dead, starved)
        dead.concat(@leases.take_lost(weaken: starved))
        serve
      end
    end
  end
end
