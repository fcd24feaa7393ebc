# frozen_string_literal: true

require_relative "../verbs/verbs_case"
require "json"
require "sequel"
require "sequel/adapters/mock"
Sequel.extension :neverblock

# lib/sequel/extensions/neverblock.rb on Sequel's mock adapter: who gets which connection of every
# kind of pool. The drivers are in test/integration/sequel_test.rb.
class SequelPoolTest < VerbsCase
  POOLS = [:threaded, *(:timed_queue if RUBY_VERSION >= "3.2")].freeze
  SHARDED = POOLS.map { |name| :"sharded_#{name}" }.freeze
  SINGLE = %i[single sharded_single].freeze

  include SchedulerHarness

  # Whose connections know whether they were closed.
  class Database < Sequel::Mock::Database
    def disconnect_connection(connection)
      (@closed ||= {}.compare_by_identity)[connection] = true
    end

    def closed?(connection)
      !@closed.nil? && @closed.key?(connection)
    end
  end

  # One whose connections never come.
  class Unreachable < Database
    def connect(*)
      sleep
    end
  end

  # Says when a connection is there, which the pool has not noted yet.
  class Telling < Database
    attr_accessor :connected

    def connect(*)
      super.tap { connected&.call }
    end
  end

  # @yieldparam database [Sequel::Database] of each kind of pool in turn, in a fiber
  def each_kind(kinds = POOLS + SHARDED, of: Database, **options)
    kinds.each do |kind|
      database = of.new(
        max_connections: 2, pool_class: kind, keep_reference: false, test: false, **options
      )
      in_scheduler { fiber { yield database, kind } }
    end
  end

  def join(*fibers)
    sleep(0) while fibers.flatten.any?(&:alive?)
  end

  def test_each_fiber_has_a_connection_of_its_own_and_the_same_one_within
    each_kind do |database|
      gate = Gate.new(2)
      join(Array.new(2) { fiber { enter(database, gate) } })
      assert_equal 2, database.pool.size
    end
  end

  def enter(database, gate)
    database.synchronize do |connection|
      gate.enter
      gate.wait_full
      database.synchronize { |inner| assert_same connection, inner }
      database.transaction { database.synchronize { |inner| assert_same connection, inner } }
    end
  end

  def test_waits_park_and_are_served_in_order_by_never_more_connections_than_the_pool_has
    each_kind do |database, kind|
      order = []
      inside = most = 0
      fibers = Array.new(12) do |number|
        fiber do
          database.synchronize do
            order << number
            most = [most, inside += 1].max
            3.times { sleep(0) }
            inside -= 1
          end
        end
      end
      assert_equal 10, database.pool.num_waiting
      join(fibers)
      assert_equal [*0..11], order, kind
      assert_equal 2, most
      assert_equal 2, database.pool.size
    end
  end

  # The parent's fibers, which never run there, do not hold the child's places.
  def test_a_child_forked_while_every_connection_is_held_makes_its_own
    each_kind do |database, kind|
      go_on = Thread::Queue.new
      held = []
      holders = Array.new(2) do
        fiber { database.synchronize { |connection| (held << connection) && go_on.pop } }
      end
      waiter = fiber { database.synchronize { nil } }
      child = in_child do
        again = database.synchronize { |one| database.synchronize { |inner| one.equal?(inner) } }
        others = Array.new(2) { Thread.new { database.synchronize(&:itself) }.value }
        [again, (others & held).size, database.pool.num_waiting, database.pool.size <= 2]
      end
      assert_equal [true, 0, 0, true], child, kind
      go_on.close
      join(holders, waiter)
      assert_equal 2, database.pool.size
    end
  end

  # @return what the block has returned in a child, of what JSON takes
  def in_child
    reader, writer = IO.pipe
    pid = fork do
      writer.write(JSON.generate(yield))
    rescue Exception => e # rubocop:disable Lint/RescueException -- the test fails
      writer.write(JSON.generate(e.message))
    ensure
      writer.close
      exit!(0)
    end
    writer.close
    JSON.parse(reader.read)
  ensure
    Process.wait(pid)
    reader.close
  end

  def test_a_pool_without_threads_in_mind_gives_its_one_connection_to_one_fiber_at_a_time
    each_kind(SINGLE) do |database|
      inside = []
      fibers = Array.new(5) do |number|
        fiber do
          database.synchronize do
            database.synchronize { inside << number }
            sleep(0)
            assert_equal number, inside.last
          end
        end
      end
      join(fibers)
      assert_equal [*0..4], inside
    end
  end

  def test_nobody_who_gives_a_connection_back_is_a_pool_timeout_that_says_so
    each_kind(POOLS + SHARDED + SINGLE, pool_timeout: 0.001, name: "shop") do |database|
      let_go = Thread::Queue.new
      database.pool.max_size.times { fiber { database.synchronize { let_go.pop } } }
      error = assert_raises(Sequel::PoolTimeout) { database.synchronize { flunk } }
      max = database.pool.max_size
      assert_match(
        /timeout: 0.001, database name: shop: .* #{max} of #{max} are held and 0 others wait/,
        error.message
      )
      let_go.close
    end
  end

  def test_shards_have_lines_of_their_own_and_stay_with_their_block
    each_kind(SHARDED, servers: { other: {} }) do |database|
      database.extension :server_block
      let_go = Thread::Queue.new
      2.times { fiber { database.synchronize { let_go.pop } } }
      database.with_server(:other) do
        database.synchronize { |one| assert_equal :other, one.server }
        meanwhile = fiber { database.synchronize { |one| assert_equal :default, one.server } }
        sleep(0)
        let_go.close
        join(meanwhile)
      end
    end
  end

  def test_a_connection_whose_fiber_is_taken_out_of_the_driver_is_never_given_to_anybody_again
    each_kind(POOLS + SHARDED + SINGLE) do |database, kind|
      discarded = nil
      assert_raises(Failure) do
        database.synchronize do |connection|
          database.log_connection_yield("select", discarded = connection) { raise Failure }
        end
      end
      assert database.closed?(discarded), "#{kind}: it is still open"
      2.times { database.synchronize { |connection| refute_same discarded, connection } }
      assert_equal 1, database.pool.size
    end
  end

  def test_a_thrown_fiber_leaves_no_discarded_connection_either
    each_kind do |database|
      discarded = nil
      catch(:out) do
        database.transaction do |connection|
          database.log_connection_yield("select", discarded = connection) { throw :out }
        end
      end
      assert database.closed?(discarded)
      refute_includes database.sqls, "COMMIT"
      database.synchronize { |connection| refute_same discarded, connection }
    end
  end

  def test_nothing_is_said_on_a_discarded_connection_any_more
    each_kind do |database|
      assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.001) do
          database.transaction do |connection|
            database.log_connection_yield("select", connection) { sleep }
          end
        end
      end
      assert_equal %w[BEGIN], database.sqls
    end
  end

  def test_an_error_of_the_driver_or_of_the_application_costs_no_connection
    each_kind do |database|
      first = database.synchronize { |connection| connection }
      assert_raises(Sequel::DatabaseError) do
        database.synchronize do |connection|
          database.log_connection_yield("select", connection) { raise Sequel::DatabaseError }
        end
      end
      assert_raises(Failure) { database.transaction { raise Failure } }
      catch(:halt) { database.transaction { throw :halt } }
      database.synchronize { |connection| assert_same first, connection }
      assert_equal %w[BEGIN ROLLBACK BEGIN COMMIT], database.sqls
    end
  end

  def test_a_lost_connection_is_replaced_and_its_place_given_on
    each_kind(POOLS + SHARDED, max_connections: 1) do |database|
      waiting = nil
      first = nil
      assert_raises(Sequel::DatabaseDisconnectError) do
        database.synchronize do |connection|
          first = connection
          waiting = fiber { database.synchronize { |other| refute_same first, other } }
          raise Sequel::DatabaseDisconnectError
        end
      end
      join(waiting)
    end
  end

  def test_what_ends_a_fiber_while_it_connects_stays_what_it_is
    each_kind(POOLS + SHARDED, of: Unreachable) do |database|
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { database.synchronize { flunk } } }
      assert_equal 0, database.pool.size
    end
  end

  # The fiber is to wait for the mutex next, and is raised into there.
  def end_at_the_mutex(mutex, ended = Fiber.current)
    fiber do
      mutex.synchronize do
        sleep(0)
        ended.raise(Failure)
        sleep(0)
      end
    end
  end

  def mutex_of(database) = database.pool.instance_variable_get(:@mutex)

  def test_whoever_is_ended_before_his_connection_is_noted_leaves_no_other_thing_as_his_connection
    each_kind(POOLS + SHARDED, of: Telling) do |database, kind|
      database.connected = -> { end_at_the_mutex(mutex_of(database)) }
      assert_raises(Failure) { database.synchronize { sleep } }
      database.connected = nil
      database.synchronize do |connection|
        assert_kind_of Sequel::Mock::Connection, connection, kind
      end
      assert_equal 1, database.pool.size, kind
    end
  end

  def test_no_slice_ends_between_two_notes_of_a_connection_but_in_what_it_is_used_for
    each_kind(POOLS + SHARDED, of: Telling) do |database, kind|
      masked = []
      database.connected = -> { masked << Fiber.scheduler.masked? }
      database.synchronize { masked << Fiber.scheduler.masked? }
      masked << Fiber.scheduler.masked?
      assert_equal [true, false, false], masked, kind
      Fiber.scheduler.masked(true) do
        database.synchronize { assert_predicate Fiber.scheduler, :masked? }
      end
    end
  end

  def test_whoever_is_ended_while_his_transaction_is_noted_leaves_none_to_who_comes_next
    each_kind do |database, kind|
      assert_raises(Failure) do
        database.transaction { end_at_the_mutex(Sequel.instance_variable_get(:@data_mutex)) }
        sleep
      end
      database.transaction { database.after_commit { refute_predicate Fiber.scheduler, :masked? } }
      assert_equal %w[BEGIN COMMIT BEGIN COMMIT], database.sqls, kind
    end
  end

  def test_whoever_is_ended_while_he_gives_a_connection_back_keeps_it_from_nobody
    each_kind(POOLS + SHARDED, max_connections: 1) do |database|
      assert_raises(Failure) do
        database.synchronize { end_at_the_mutex(mutex_of(database)) }
        sleep
      end
      join(fiber { database.synchronize(&:itself) })
      assert_equal 1, database.pool.size
    end
  end

  if Fiber.method_defined?(:kill)
    def test_a_killed_fibers_transaction_is_rolled_back
      each_kind do |database|
        killed = fiber { database.transaction { sleep } }
        killed.kill
        join(killed)
        assert_equal %w[BEGIN ROLLBACK], database.sqls
      end
    end
  end

  def test_extensions_of_sequels_pools_work_behind_the_queue
    each_kind(max_connections: 1) do |database|
      database.extension :connection_validator, :connection_expiration
      database.pool.connection_validation_timeout = -1
      first = database.synchronize(&:itself)
      assert_same first, database.synchronize(&:itself)
      database.define_singleton_method(:valid_connection?) do |connection|
        !connection.equal?(first)
      end
      refute_same first, database.synchronize(&:itself)
      assert database.closed?(first)
      assert_equal 1, database.pool.size
    end
  end

  def test_jobs_of_the_async_thread_pool_wait_in_the_queue_of_the_fibers
    each_kind(POOLS, max_connections: 1, num_async_threads: 2) do |database|
      database.extension :async_thread_pool
      database.fetch = { id: 7 }
      jobs = nil
      database.synchronize do
        jobs = Array.new(2) { database[:t].async.first }
        sleep(0.001) until database.pool.num_waiting == 2
      end
      assert_equal [7, 7], (jobs.map { |job| job[:id] })
    end
  end

  def test_after_commit_runs_in_the_fiber_of_its_transaction
    each_kind do |database|
      done = []
      gate = Gate.new(2)
      fibers = %i[a b].map do |name|
        fiber do
          database.transaction do
            database.after_commit { done << [name, Fiber.current] }
            gate.enter
            gate.wait_full
            raise Sequel::Rollback if name == :b
          end
        end
      end
      join(fibers)
      assert_equal [[:a, fibers.first]], done
    end
  end

  def test_a_frozen_database_that_was_there_before_is_served_too
    each_kind do |database|
      database.freeze
      gate = Gate.new(2)
      join(Array.new(2) { fiber { enter(database, gate) } })
    end
  end

  def test_without_a_scheduler_sequel_is_as_it_was
    database = Sequel.connect(
      adapter: "mock", max_connections: 1, pool_timeout: 0.001, keep_reference: false
    )
    assert_same Thread.current, Sequel.current
    database.synchronize do |connection|
      Fiber.new { database.synchronize { |inner| assert_same connection, inner } }.resume
      Thread.new { assert_raises(Sequel::PoolTimeout) { database.synchronize { flunk } } }.join
    end
    allocated = database.pool.instance_variable_get(:@allocated)
    assert_nil allocated.instance_variable_get(:@neverblock_wait_queues)
  end

  def test_a_database_may_name_the_extension
    Sequel.connect(adapter: "mock", extensions: :neverblock, keep_reference: false)
      .extension(:neverblock)
  end

  def test_who_forgets_the_extension_gets_it_with_the_loop
    script = <<~RUBY
      require "bundler/setup"
      require "sequel"
      require "neverblock"
      db = Sequel.connect(adapter: "mock")
      NB.run do
        db.synchronize do |one|
          Fiber.schedule { db.synchronize { |other| print one.equal?(other) } }
        end
      end
    RUBY
    assert_equal [0, "false"], ruby(script).first(2)
  end
end
