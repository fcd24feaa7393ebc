# frozen_string_literal: true

require_relative "../../../support/timeslices"
require "active_record"
require "neverblock"

# What a pool has noted of its connections wherever a limit ends a fiber, on SQLite in memory.
class ActiveRecordBookkeepingTest < Minitest::Test
  include Timeslices

  class Own < StandardError; end

  SIZE = 2
  # Of the loop, more than one who is woken takes until he has what he was woken for.
  TURNS = 10

  class Record < ActiveRecord::Base
    self.abstract_class = true
  end

  # Says when a connection was made that the pool has not noted yet.
  module Telling
    attr_accessor :made

    private

    def checkout_new_connection
      super.tap { @made&.call }
    end
  end

  # @yieldparam pool [ActiveRecord::ConnectionAdapters::ConnectionPool] in a fiber that has slices
  def with_pool
    in_timeslices do
      fiber do
        Record.establish_connection(
          adapter: "sqlite3", database: ":memory:",
          pool: SIZE, checkout_timeout: 0.01, reaping_frequency: nil
        )
        pool = Record.connection_pool
        pool.singleton_class.prepend(Telling)
        yield pool
      ensure
        Record.remove_connection
      end
    end
  end

  # All places are there, and nobody waits.
  def assert_whole(pool)
    assert_equal({ busy: 0, dead: 0, waiting: 0 }, pool.stat.slice(:busy, :dead, :waiting))
    taken = Array.new(SIZE) { pool.checkout }
    assert_equal SIZE, taken.uniq.size
    assert_raises(ActiveRecord::ConnectionTimeoutError) { pool.checkout }
    taken.each { |connection| pool.checkin(connection) }
  end

  # Each of them is called as long as it is to be done.
  def join(*fibers)
    sleep(0) while fibers.any?(&:alive?)
  end

  # This fiber is to wait for the pool's lock next, and is raised into there.
  def end_at_the_lock(pool, ended = Fiber.current)
    fiber do
      pool.synchronize do
        sleep(0)
        ended.raise(Own)
        sleep(0)
      end
    end
  end

  def masked?
    Fiber.scheduler.masked?
  end

  def lease(pool)
    pool.respond_to?(:lease_connection) ? pool.lease_connection : pool.connection
  end

  def test_no_slice_ends_between_two_notes_of_a_connection_but_in_what_it_is_used_for
    with_pool do |pool|
      seen = []
      pool.made = -> { seen << masked? }
      pool.with_connection { seen << masked? }
      lease(pool)
      pool.remove(pool.checkout)
      seen << masked?
      assert_equal [true, false, true, false], seen
      Fiber.scheduler.masked(true) do
        pool.with_connection { assert_predicate Fiber.scheduler, :masked? }
      end
      pool.release_connection
      assert_whole(pool)
    end
  end

  def test_blocks_are_left_as_ever
    with_pool do |pool|
      assert_equal :broken, (pool.with_connection { break :broken })
      assert_equal :thrown, (catch(:out) { pool.with_connection { throw :out, :thrown } })
      assert_raises(Own) { pool.with_connection { raise Own } }
      assert_raises(LocalJumpError) { pool.with_connection }
      refute masked?
      assert_whole(pool)
    end
  end

  def test_whoever_is_ended_before_a_new_connection_is_noted_leaves_its_place_to_others
    with_pool do |pool|
      pool.made = -> { end_at_the_lock(pool) }
      assert_raises(Own) { pool.with_connection { sleep } }
      pool.made = nil
      assert_whole(pool)
    end
  end

  def test_one_that_is_ended_twice_while_it_makes_a_connection_leaves_its_place
    with_pool do |pool|
      pool.made = -> { sleep }
      ended = fiber { 2.times { assert_raises(Own) { pool.with_connection { flunk } } } }
      pool.synchronize do
        2.times { ended.raise(Own) && sleep(0) }
      end
      join(ended)
      pool.made = nil
      assert_whole(pool)
    end
  end

  def test_whoever_is_ended_while_a_connection_is_given_back_keeps_it_from_nobody
    with_pool do |pool|
      lease(pool)
      end_at_the_lock(pool)
      assert_raises(Own) { pool.release_connection.then { sleep } }
      assert_whole(pool)
      connection = pool.checkout
      end_at_the_lock(pool)
      assert_raises(Own) { pool.checkin(connection).then { sleep } }
      connection = pool.checkout
      end_at_the_lock(pool)
      assert_raises(Own) { pool.remove(connection).then { sleep } }
      assert_whole(pool)
    end
  end

  # Stands for PostgreSQL's cancel request, which waits for the server.
  def test_whoever_is_ended_while_a_query_is_ended_before_gives_the_connection_back
    with_pool do |pool|
      settled = Thread::Queue.new
      ended = fiber do
        connection = pool.checkout
        connection.define_singleton_method(:neverblock_settle) { settled.pop }
        assert_raises(Own) { pool.checkin(connection).then { sleep } }
      end
      ended.raise(Own)
      sleep(0)
      settled.close
      join(ended)
      assert_whole(pool)
    end
  end

  # All of them are one fiber's meanwhile, and nobody may make another.
  def test_whoever_is_ended_while_all_connections_are_closed_keeps_nobody_from_making_others
    with_pool do |pool|
      pool.with_connection(&:active?)
      end_at_the_lock(pool)
      assert_raises(Own) { pool.disconnect.then { sleep } }
      assert_whole(pool)
    end
  end

  def test_whoever_is_ended_while_connections_of_ended_fibers_are_looked_at_keeps_none
    with_pool do |pool|
      left = Array.new(SIZE) do
        found = nil
        join(fiber { found = pool.checkout })
        found
      end
      left.each { |connection| connection.define_singleton_method(:active?) { sleep } }
      looks = fiber { assert_raises(Own) { pool.checkout } && sleep(0) }
      looks.raise(Own)
      join(looks)
      assert_whole(pool)
    end
  end

  def test_whose_turn_it_was_when_he_was_ended_gives_it_to_the_next
    with_pool do |pool|
      taken = Array.new(SIZE) { pool.checkout }
      interlock = ActiveSupport::Dependencies.interlock
      first = fiber { assert_raises(Own) { late(interlock) { pool.checkout(SECONDS) } } }
      served = nil
      second = fiber { pool.checkin(served = pool.checkout(1)) }
      pool.checkin(taken.shift)
      sleep(0) until @late
      first.raise(Own)
      TURNS.times { sleep(0) }
      assert served
      join(first, second)
      taken.each { |connection| pool.checkin(connection) }
      assert_whole(pool)
    end
  end

  # The fiber waits once more after the condition variable, as where a class is being loaded.
  def late(interlock)
    test = self
    fiber = Fiber.current
    waits = Module.new do
      define_method(:permit_concurrent_loads) do |&block|
        super(&block).tap do
          (test.instance_variable_set(:@late, true) && sleep) if Fiber.current.equal?(fiber)
        end
      end
    end
    interlock.singleton_class.prepend(waits)
    yield
  end
end
