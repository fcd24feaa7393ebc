# frozen_string_literal: true

# Rails' asynchronous queries (load_async, async_count and others) in fibers, for 7.1 to 8.1. Rails
# gives each to a thread of config.active_record.async_query_executor, by
# ConnectionPool#schedule_query. In a fiber of our loop it gets a fiber beside that one instead, and
# takes no thread. All else is Rails' own: FutureResult with its lock, its error and its events, the
# connection that it takes from the pool and gives back, the session that ends it.
#
# The thread pool's bounds hold: as many queries run at once as it may have threads, and as many
# wait as its queue takes. Where both are full, the caller runs the query itself.
#
# A fiber keeps its place while it waits for a connection, as a thread does. Whoever reads a query
# that has not begun runs it on its own connection, so neither bound can keep it waiting.

require "neverblock/errors"
require "neverblock/pool/wait_queue"
require "neverblock/verbs/carry"

module NeverBlock
  module DB
    module ActiveRecord
      class AsyncQueries
        # Longest wait for a place, in seconds, while none is given back. The query is then left to
        # whoever reads it.
        STUCK_S = 60
        # Kept in the executor of Rails.
        KEY = :@neverblock_async_queries
        # What ends a fiber without harm to others. concurrent-ruby logs it for debugging only.
        ENDS = [StandardError, ScriptError, SystemStackError, NoMemoryError, Cancelled].freeze
        private_constant :STUCK_S, :KEY, :ENDS

        @lock = Thread::Mutex.new

        class << self
          # Installs it in ActiveRecord, once.
          # @return [void]
          def install
            ::ActiveRecord::ConnectionAdapters::ConnectionPool.prepend(Scheduling)
            ::ActiveRecord::AsynchronousQueriesTracker::Session.prepend(Ending)
          end

          # @param executor [Concurrent::ThreadPoolExecutor, nil]
          # @return [AsyncQueries, nil] the queries with that one's bounds; nil: it has none
          def of(executor)
            return unless executor.respond_to?(:max_length)

            executor.instance_variable_get(KEY) || @lock.synchronize do
              executor.instance_variable_get(KEY) ||
                executor.instance_variable_set(KEY, new(executor.max_length, executor.max_queue))
            end
          end
        end

        # @return [Integer] most queries at once, in all loops of the process
        attr_reader :most

        # @param most [Integer] most queries at once
        # @param queue [Integer] most queries that wait for a place; 0: no limit
        def initialize(most, queue)
          @most = most
          @queue = queue
          @lock = Thread::Mutex.new
        end

        # Runs the block in a fiber up to its first wait, or queues it. Called in a fiber of our
        # loop. Where no fiber can be made, nothing is run: the query is left to whoever reads it.
        # @param session [AsynchronousQueriesTracker::Session] of the caller
        # @return [void]
        def post(session, &work)
          return run_here(&work) if full?

          Fiber.schedule { run(session, &work) }
        rescue FiberError, NoMemoryError
          nil
        end

        # @return [Integer] how many run
        def running
          places.held
        end

        # @return [Integer] how many wait for a place
        def waiting
          places.waiting
        end

        private

        def full?
          @queue.positive? && waiting >= @queue && running >= @most
        end

        # As concurrent-ruby's :caller_runs. What ends the caller from outside goes on.
        def run_here
          yield
        rescue StandardError => e
          raise if FromOutside === e
        end

        def run(session, &work)
          return in_place(&work) unless session.respond_to?(:neverblock_underway)

          session.neverblock_underway.follow { in_place(&work) }
        rescue *ENDS
          nil
        end

        def in_place
          fiber = Fiber.current
          here = places
          yield if here.enter(fiber, STUCK_S)
        ensure
          here.leave(fiber)
        end

        # A forked child has none of the fibers that hold places.
        def places
          return @places if @pid == Process.pid

          @lock.synchronize do
            next if @pid == Process.pid

            @places = NeverBlock::Pool::WaitQueue.new(@most)
            @pid = Process.pid
          end
          @places
        end

        # Prepended to ConnectionPool.
        module Scheduling
          def schedule_query(future)
            queries = AsyncQueries.of(@async_executor) if Compat.scheduler
            return super unless queries

            queries.post(future.instance_variable_get(:@session)) { future.execute_or_skip }
          end
        end

        # Prepended to AsynchronousQueriesTracker::Session.
        module Ending
          # @return [Underway]
          def neverblock_underway
            @neverblock_underway ||= Underway.new(Compat.scheduler)
          end

          # A request is over, or another block of Rails' executor.
          def finalize(*)
            super
          ensure
            @neverblock_underway&.end_soon
          end
        end

        # The queries of one session. When that is over, nobody can read their results. A query that
        # ends soon leaves a connection that can be used on. One that does not is ended, with its
        # connection.
        class Underway
          # Seconds that a query may run on.
          GRACE_S = 1
          private_constant :GRACE_S

          # @param scheduler [Scheduler] of the session's fiber
          def initialize(scheduler)
            @scheduler = scheduler
            @running = {}.compare_by_identity
          end

          # Calls the block, which runs a query in the current fiber.
          def follow
            @scheduler.cancellable do |cancellation|
              @running[cancellation] = true
              yield
            ensure
              @running.delete(cancellation)
              @scheduler.unblock(self, @watcher) if @watcher && @running.empty?
            end
          end

          # Cancels the queries that still run after the grace. Does not park.
          # @return [void]
          def end_soon
            return if @running.empty? || !@scheduler.equal?(Compat.scheduler)

            Carry.schedule_bare { watch }
          rescue FiberError, NoMemoryError
            nil
          end

          private

          def watch
            @watcher = Fiber.current
            @scheduler.block(self, GRACE_S)
            @running.each_key do |cancellation|
              cancellation.cancel(Cancelled, "the request of this asynchronous query is over")
            end
          end
        end
      end
    end
  end
end
