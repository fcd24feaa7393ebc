# frozen_string_literal: true

require_relative "../../support/unit"
require "connection_pool"
require "neverblock"

# Pools of connection_pool answer as they did, and tell of their waits.
class ConnectionPoolTest < Minitest::Test
  # A gauge that notes what it is told.
  class Noting
    attr_reader :told

    def initialize
      @told = []
    end

    def tell(*what)
      @told << what
      nil
    end

    def next_wait; end
  end

  def setup
    NB.run { nil } # it is installed with the first scheduler
    @connections = []
    @pool = ConnectionPool.new(size: 1, timeout: 60) { @connections.push(Object.new).last }
    @stack = @pool.instance_variable_get(:@available)
  end

  def test_what_it_answers_is_the_same
    assert_equal(7, @pool.with { |one| one.equal?(@connections.first) ? 7 : 0 })
    connection = @stack.pop
    assert_same @connections.first, connection
    assert_nil @stack.pop(0, exception: false) if ConnectionPool::VERSION < "3"
    assert_raises(ConnectionPool::TimeoutError) { @stack.pop(timeout: 0) }
    assert_same ConnectionPool::TimedStack.instance_method(:push).owner,
                ConnectionPool::TimedStack.instance_method(:<<).owner
    @stack << connection
    assert_equal [1, 1], [@stack.length, @connections.size]
    @pool.with { @pool.discard_current_connection(&:itself) }
    assert_equal([1, 0], [@stack.length, @pool.idle])
    assert_equal :thrown, catch(:thrown) { @pool.with { throw :thrown, :thrown } }
    assert_equal 1, @stack.length
  end

  def test_it_tells_of_each_place_that_is_taken_and_given_back
    noting
    @pool.with { nil }
    assert_equal [[:acquired, 1, 0], [:changed, 0, 0]], @gauge.told
  end

  def test_nothing_is_told_as_taken_where_nothing_was_had
    noting
    @pool.with do
      assert_nil @stack.pop(timeout: 0, exception: false)
      assert_equal [[:acquired, 1, 0]], @gauge.told
    end
  end

  def test_a_waiter_that_is_woken_in_vain_waits_once
    noting
    NB.run do
      gate = Thread::Queue.new
      Fiber.schedule { @pool.with { gate.pop } }
      2.times { Fiber.schedule { @pool.with { sleep 0 } } }
      resource.broadcast
      5.times { sleep 0 }
      gate << :go
    end
    assert_equal 2, (@gauge.told.count { |event, *| event == :waits })
    assert_equal [:waits, 1, 2], (@gauge.told.select { |event, *| event == :waits }).last
    assert_equal 3, (@gauge.told.count { |event, *| event == :acquired })
    assert_equal [:changed, 0, 0], @gauge.told.last
  end

  def test_who_gives_up_is_no_waiter_any_more
    noting
    NB.run do
      gate = Thread::Queue.new
      Fiber.schedule { @pool.with { gate.pop } }
      Fiber.schedule do
        assert_raises(ConnectionPool::TimeoutError) { @pool.with(timeout: 0.001) { nil } }
        assert_equal [:changed, 1, 0], @gauge.told.last
        gate << :go
      end
    end
    assert_equal [[:acquired, 1, 0], [:waits, 1, 1], [:changed, 1, 0], [:changed, 0, 0]],
                 @gauge.told
  end

  private

  def resource
    @stack.instance_variable_get(:@resource)
  end

  def noting
    @pool.with { nil }
    @gauge = Noting.new
    @stack.instance_variable_set(:@neverblock_gauge, @gauge)
  end
end
