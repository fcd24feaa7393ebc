# frozen_string_literal: true

# The turns that requests take at an environment of lmdb (compat/lmdb.rb), on classes of the same
# shape. test/gems/uses/lmdb.rb does it with the gem.

require "support/scheduler_harness"
require "neverblock"

class LmdbCompatTest < Minitest::Test
  include SchedulerHarness

  LMDB = NeverBlock::Compat::Lmdb

  # As the gem does: an active transaction for each thread, which is the next one's parent.
  class Environment
    attr_reader :began

    def initialize
      @active = {}.compare_by_identity
      @began = []
    end

    def active_txn = @active[Thread.current]

    def transaction(readonly = false)
      parent = active_txn
      @began << [readonly, parent]
      @active[Thread.current] = transaction = Object.new
      yield transaction
    ensure
      @active[Thread.current] = parent
    end
  end

  class Database
    attr_reader :env

    def initialize(env) = @env = env
    def get(key) = [key, env.active_txn]
    def put(key, value, **options) = [key, value, options]
  end

  LMDB.wrap(Environment, LMDB::ENVIRONMENT, :itself)
  LMDB.wrap(Database, LMDB::DATABASE, :env)
  Environment.prepend(LMDB::Active)

  def setup
    @env = Environment.new
    @database = Database.new(@env)
  end

  # Others are in the middle of theirs, or would be.
  def beside_others
    gate = Gate.new(3)
    in_scheduler do
      3.times { when_full(gate) { @env.transaction { 5.times { sleep(0) } } } && gate.enter }
      when_full(gate) { yield }
    end
  end

  def test_a_transaction_of_another_request_is_no_parent
    beside_others { @env.transaction(true) { sleep(0) } }
    assert_equal [[false, nil]] * 3 + [[true, nil]], @env.began.sort_by { |mode, _| mode ? 1 : 0 }
  end

  def test_a_request_s_own_is
    beside_others do
      @env.transaction do |outer|
        sleep(0)
        assert_same outer, @env.active_txn
        @env.transaction { sleep(0) }
        assert_includes @env.began, [false, outer]
        assert_equal [:key, outer], @database.get(:key)
        Enumerator.new { |all| @env.transaction { all << @env.began.last[1] } }.next
                  .then { |parent| assert_same outer, parent }
      end
    end
  end

  def test_what_is_asked_outside_of_one_waits_and_sees_none
    beside_others do
      sleep(0)
      assert_nil @env.active_txn
      assert_equal [:key, nil], @database.get(:key)
      assert_equal [:key, 1, { append: true }], @database.put(:key, 1, append: true)
    end
  end

  def test_the_turn_ends_however_the_block_is_left
    beside_others do
      assert_equal 1, left_by_return
      assert_equal(2, @env.transaction { break 2 })
      assert_equal(3, catch(:out) { @env.transaction { throw :out, 3 } })
      assert_raises(KeyError) { @env.transaction { raise KeyError } }
      assert_nil @env.active_txn
    end
    assert_equal [nil], @env.began.map(&:last).uniq
  end

  def test_another_environment_does_not_wait
    other = Environment.new
    in_scheduler do
      order = Thread::Queue.new
      fiber { @env.transaction { other_began = order.pop and order << other_began } }
      fiber { other.transaction { order << true } }
    end
  end

  def test_on_a_plain_thread_it_is_only_called
    assert_equal(:value, @env.transaction { :value })
    refute @env.instance_variable_defined?(:@neverblock_turns)
  end

  private

  def left_by_return
    @env.transaction { return 1 }
  end
end
