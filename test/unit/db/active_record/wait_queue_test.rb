# frozen_string_literal: true

# The queue of those who wait for a connection.

require_relative "../../../support/unit"
require_relative "../../../support/patience"
require "monitor"
require "neverblock"

class WaitQueueTest < Minitest::Test
  # What ConnectionPool is to a WaitQueue: the lock, and whether there is a connection.
  class Shop
    include MonitorMixin

    attr_accessor :now, :passing
    attr_reader :goods, :order, :queue

    def initialize
      super
      @goods = []
      @order = []
      @now = 0.0
      @passing = 0 # seconds whenever it is looked at
      progress = NeverBlock::Pool::Progress.new(-> { @now += @passing })
      @queue = NeverBlock::DB::ActiveRecord::WaitQueue.new(
        self, size: -> { 2 }, progress: progress
      ) { @goods.any? }
    end

    # @return what it got; false when the queue did not move
    def take(name, seconds = nil)
      synchronize do
        found = @queue.wait(seconds) && @goods.shift
        @order << name
        found
      end
    end

    def give(good)
      synchronize do
        @goods << good
        @queue.signal
      end
    end
  end

  def setup
    @shop = Shop.new
  end

  def test_who_came_first_is_served_first
    NB.run do
      takers = %i[a b c].map { |name| Fiber.schedule { @shop.take(name) } }
      3.times { |good| @shop.give(good) }
      sleep(0) while takers.any?(&:alive?)
    end

    assert_equal %i[a b c], @shop.order
  end

  def test_the_time_counts_from_the_last_moment_the_queue_moved
    found = {}
    NB.run do
      %i[a b c].each { |name| Fiber.schedule { found[name] = @shop.take(name, 5) } }
      %i[a b].each do |name|
        # a and b have waited for 4 s and 8 s: longer than 5 s, but never without a move.
        @shop.now += 4
        @shop.give(name)
        sleep(0) until found.key?(name)
      end
      @shop.now += 4
      @shop.give(:c)
    end

    assert_equal({ a: :a, b: :b, c: :c }, found)
  end

  def test_a_queue_that_does_not_move_for_that_time_is_left_without_anything
    shop = Shop.new
    shop.passing = 10

    assert_equal false, shop.take(:a, 5)
  end

  def test_all_who_wait_in_a_queue_that_does_not_move_leave_it_when_the_time_is_over
    found = []
    NB.run do
      3.times { |name| Fiber.schedule { found << @shop.take(name, 5) } }
      @shop.now += 5
      waiters = @shop.queue.instance_variable_get(:@waiters)
      waiters.each_key.map(&:condition).each do |condition|
        @shop.synchronize { condition.signal }
      end
    end

    assert_equal [false, false, false], found
  end

  def test_it_has_room_for_as_many_as_there_may_be_connections_and_for_more_when_it_is_stuck
    rooms = []
    NB.run do
      takers = Array.new(3) do |name|
        rooms.push(@shop.queue.room) && Fiber.schedule { @shop.take(name, 5) }
      end
      @shop.now += 5
      first = @shop.queue.instance_variable_get(:@waiters).first.first
      @shop.synchronize { first.condition.signal }
      sleep(0) while takers.first.alive?
      rooms << @shop.queue.room
      @shop.give(:one)
      rooms << @shop.queue.room
      @shop.give(:another)
    end

    assert_equal [2, 1, 0, 2, 1], rooms
  end

  def test_those_who_are_held_before_it_come_in_as_it_gets_shorter
    visited = []
    NB.run do
      takers = Array.new(2) { |name| Fiber.schedule { @shop.take(name) } }
      3.times do |name|
        Fiber.schedule do
          @shop.queue.admission_queue.pass
          visited << name
        end
      end
      takers.first.raise(RuntimeError, "left")
      takers.each { @shop.give(:good) }
    end

    assert_equal [0, 1, 2], visited
  end

  def test_who_is_interrupted_leaves_the_queue_and_the_next_one_is_served
    found = nil
    NB.run do
      first = Fiber.schedule do
        @shop.take(:first)
      rescue RuntimeError
        nil
      end
      Fiber.schedule { found = @shop.take(:second) }
      first.raise(RuntimeError, "left")
      sleep(0) while first.alive?
      @shop.give(:good)
    end

    assert_equal :good, found
  end

  def test_what_is_given_in_the_moment_somebody_is_interrupted_is_not_lost
    found = nil
    NB.run do
      first = Fiber.schedule do
        good = @shop.take(:first)
        sleep(0)
      rescue RuntimeError
        nil
      ensure
        @shop.give(good) if good
      end
      Fiber.schedule { found = @shop.take(:second) }
      first.raise(RuntimeError, "left")
      @shop.give(:good)
    end

    assert_equal :good, found
  end

  def test_who_is_called_and_finds_nothing_is_still_the_first
    NB.run do
      takers = %i[a b].map { |name| Fiber.schedule { @shop.take(name) } }
      @shop.synchronize do
        @shop.give(:gone)
        @shop.goods.clear # the pool was disconnected
      end
      sleep(0)
      2.times { |good| @shop.give(good) }
      sleep(0) while takers.any?(&:alive?)
    end

    assert_equal %i[a b], @shop.order
  end

  def test_threads_wait_in_the_same_queue
    threads = %i[a b].map { |name| Thread.new { @shop.take(name) } }
    Timeout.timeout(Patience::SECONDS) do
      Thread.pass until @shop.synchronize { @shop.queue.instance_variable_get(:@waiters).size } == 2
      2.times { |good| @shop.give(good) }

      assert_equal [0, 1], threads.map(&:value).sort
    end
  end
end
