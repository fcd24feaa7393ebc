# frozen_string_literal: true

# NB::Pool::FiberedConnectionPool: connections shared by fibers, and by threads, one at a time each.
#
#   pool = NB::Pool::FiberedConnectionPool.new(size: 12) { PG.connect(dbname: "shop") }
#   pool.hold { |connection| connection.exec("select 1") }

require "timeout"
require "neverblock/errors/causes"
require "neverblock/verbs/deadline"
require "neverblock/errors"
require "neverblock/legacy/fiber_locals"
require "neverblock/pool/waiter"
require "neverblock/pool/lease"

module NeverBlock
  module Pool
    # No connection became free in time.
    class TimeoutError < Error; end

    # A fiber that holds a connection has it alone. The pool may be used from any fiber of any loop and from plain threads.
    class FiberedConnectionPool
      # Drivers' errors which say that the connection is gone.
      LOST = %w[PG::ConnectionBad PG::UnableToSend PG::ConnectionException PG::AdminShutdown PG::CrashShutdown PG::CannotConnectNow PG::IdleSessionTimeout
                PG::IdleInTransactionSessionTimeout Mysql2::Error::ConnectionError Trilogy::BaseConnectionError Trilogy::ConnectionError].freeze
      private_constant :LOST

      # How often, in seconds, who waits looks for connections of fibers that have died holding them: those give no sign.
      SWEEP_SECONDS = 1

      # @return [Integer] most connections
      attr_reader :size

      # @param size [Integer] most connections
      # @param eager [Boolean] make them all now, which may park; else each when it is first needed
      # @param timeout [Numeric, nil] longest wait for a connection, in seconds; nil: no limit
      # @param disconnect [#call, nil] is given each connection that the pool drops; without it, it is closed if it has #close
      # @yieldreturn a new connection
      def initialize(size: 8, eager: false, timeout: nil, disconnect: nil, &connect)
        raise ArgumentError, "NB::Pool::FiberedConnectionPool.new needs a block that connects" unless connect
        raise ArgumentError, "NB::Pool::FiberedConnectionPool: size is a number of at least 1, not #{size.inspect}" unless size.is_a?(Integer) && size.positive?

        @size = size
        @timeout = timeout
        @connect = connect
        @disconnect = disconnect
        @key = :"neverblock_pool_#{object_id}"
        start
        connect_all if eager
      end

      # Calls the block with a connection that nobody else has. Inside, and in what the block calls, `hold` gives the same one. When none is free and there
      # are `size` already, parks the fiber (elsewhere: the thread) until its turn, first come, first served.
      #
      # The connection is given back when the block ends, however it does; in a fiber of a FiberPool after the fiber's block, with its callbacks. One whose
      # block was left by a time limit or an end from outside (Timeout::Error, an error of NeverBlock's, what is no StandardError, what has one of
      # these as its cause) may be in the middle of an answer: it is dropped, and another made when it is needed. So is one whose driver says that it is
      # gone (pg, mysql2, trilogy).
      # @param timeout [Numeric, nil] longest wait for a connection, in seconds
      # @return what the block returns
      # @raise [TimeoutError] when none became free in time
      # @raise [Error] where waiting would never end: in a blocking fiber of a loop whose other fibers have all the connections
      # @raise whatever connecting raises
      def hold(timeout: @timeout, &block)
        raise ArgumentError, "NB::Pool::FiberedConnectionPool#hold needs a block" unless block

        lease = lease_of_fiber
        return use(lease, &block) if lease

        take_and_use(Lease.new, timeout, &block)
      end

      # Drops the connection that the fiber holds, for one that has failed, and makes another, which `hold` gives from now on.
      # @return the new connection
      # @raise [Error] when the fiber holds none
      # @raise whatever connecting raises; then the next `hold` connects
      def replace_acquired_connection
        lease = lease_of_fiber or raise Error, "NB::Pool: there is no connection to replace: call replace_acquired_connection inside hold { }"

        reconnect(lease)
        lease.connection
      end

      # Every connection there is, free or held. A held one is its holder's to use.
      # @yieldparam connection
      # @return [Array]
      def all_connections(&block)
        forget_parent
        all = @lock.synchronize { @free + @leases.each_key.select(&:connected?).map(&:connection) }
        all.each(&block) if block
        all
      end

      # @return [Hash{Symbol => Integer}] size; connections that are free, and places that are held; waiting
      def stats
        forget_parent
        @lock.synchronize { { size: @size, free: @free.size, held: @leases.size, waiting: @waiters.size } }
      end

      # @return [String]
      def inspect
        "#<#{self.class.name} #{stats.map { |name, number| "#{name} #{number}" }.join(", ")}>"
      end

      private

      def start
        @pid = Process.pid
        @lock = Thread::Mutex.new
        @free = []
        @leases = {}.compare_by_identity
        @owners = ObjectSpace::WeakMap.new # lease to fiber, for leases that somebody has waited for long
        @waiters = []
      end

      # The sockets are the parent's: a child makes its own, and keeps the objects from the collector, whose finalizers would say goodbye on them.
      def forget_parent
        return if @pid == Process.pid

        (@inherited ||= []) << @free << @leases
        start
      end

      def connect_all
        @size.times { @free << @connect.call }
      rescue Exception # rubocop:disable Lint/RescueException -- those made so far are closed, and it is raised again
        @free.each { |connection| disconnect(connection) }
        raise
      end

      # --- Holding ---

      def lease_of_fiber
        lease = Thread.current[@key] or return
        forget_parent
        lease if @leases.key?(lease)
      end

      def take_and_use(lease, timeout, &block)
        acquire(lease, timeout)
        reconnect(lease) unless lease.connected?
        Thread.current[@key] = lease
        kept = keep(lease)
        use(lease, &block)
      ensure
        release(lease) unless kept
      end

      def use(lease)
        reconnect(lease) if lease.spoiled
        yield lease.connection
      rescue Exception => e # rubocop:disable Lint/RescueException -- it is raised again
        lease.spoiled = true if spoils?(e)
        raise
      end

      # Also what a library has made of such an error.
      def spoils?(error)
        Causes.of(error).any? { |one| !one.is_a?(StandardError) || one.is_a?(NeverBlock::Error) || one.is_a?(::Timeout::Error) || lost?(one) }
      end

      def lost?(error)
        error.class.ancestors.any? { |ancestor| LOST.include?(ancestor.name) }
      end

      # The lease of 2008: for as long as the fiber's work, where something calls its callbacks afterwards.
      def keep(lease)
        callbacks = Fiber.current[:callbacks]
        return false unless callbacks.is_a?(Array)

        callbacks << -> { release(lease) }
        true
      end

      def reconnect(lease)
        old = lease.connection
        had = lease.connected?
        lease.spoiled = true
        lease.connection = @connect.call
        disconnect(old) if had
      end

      # A lease that has no place, or is the parent's, is left alone.
      def release(lease)
        forget_parent
        Thread.current[@key] = nil if Thread.current[@key].equal?(lease)
        return unless @lock.synchronize { give_back(lease) }

        disconnect(lease.connection) if lease.connected? && lease.spoiled
      end

      def disconnect(connection)
        return @disconnect.call(connection) if @disconnect

        return connection.neverblock_abandon if connection.respond_to?(:neverblock_abandon)

        connection.close if connection.respond_to?(:close)
      rescue StandardError
        nil # it was no good, or it was not in use
      end

      # --- Places; the lock is held but in acquire ---

      def acquire(lease, timeout)
        forget_parent
        dead = []
        @lock.synchronize do
          room? ? place(lease) : wait(lease, timeout, dead)
        end
      ensure
        dead&.each { |left| disconnect(left.connection) if left.connected? }
      end

      # While somebody waits there is none: who gives a place back gives it to the first.
      def room?
        @leases.size < @size
      end

      def place(lease)
        @leases[lease] = true
        lease.connection = @free.pop if @free.any?
      end

      def wait(lease, timeout, dead)
        deadline = timeout && (Deadline.now + timeout)
        @waiters << (waiter = Waiter.new(lease))
        starved = false
        until waiter.granted?
          sweep(dead, starved)
          starved = wait_once(waiter, deadline) unless waiter.granted?
        end
      ensure
        @waiters.delete(waiter) unless waiter.granted?
      end

      # @return [true]
      def wait_once(waiter, deadline)
        refuse_to_wait_for_ever
        left = deadline ? deadline - Deadline.now : SWEEP_SECONDS
        raise TimeoutError, timed_out if left <= 0

        waiter.wait(@lock, [left, SWEEP_SECONDS].min)
        true
      end

      def timed_out
        "no connection became free in time: #{@leases.size} of #{@size} are held and #{@waiters.size - 1} others wait; " \
          "make the pool with a larger `size:`, hold connections for less time, or wait longer (`timeout:`)"
      end

      # A fiber that cannot park keeps its thread, and with it the fibers that could give a connection back.
      def refuse_to_wait_for_ever
        return unless Fiber.scheduler && !Fiber.current_scheduler
        return unless @leases.each_key.all? { |lease| lease.thread.equal?(Thread.current) }

        raise Error, "NB::Pool: fibers of this thread hold all #{@size} connections, and waiting in a blocking fiber would keep them from ever giving one back: " \
                     "call hold before the blocking part, or make the pool with a larger `size:`"
      end

      # @return [Boolean] whether it had a place
      def give_back(lease)
        return false unless @leases.delete(lease)

        @free << lease.connection if lease.good?
        serve
        true
      end

      def serve
        while room? && (waiter = @waiters.shift)
          place(waiter.subject)
          waiter.grant
        end
      end

      # What a dead fiber's connection is in the middle of, nobody knows: it is dropped.
      # @param starved [Boolean] the wait has been long: let the collector find out who has been forgotten where he waits
      def sweep(dead, starved)
        @leases.keys.each do |lease|
          weaken(lease) if starved && lease.fiber
          next if owner_alive?(lease)

          @leases.delete(lease)
          dead << lease
        end
        serve
      end

      def weaken(lease)
        @owners[lease] = lease.fiber
        lease.fiber = nil
      end

      def owner_alive?(lease)
        fiber = lease.fiber || @owners[lease]
        lease.thread.alive? && !fiber.nil? && fiber.alive?
      end
    end
  end
end
