# frozen_string_literal: true

require_relative "../verbs/verbs_case"
require_relative "../../support/clock"
require "neverblock/pool/wait_queue"

class PoolWaitQueueTest < VerbsCase
  WaitQueue = NeverBlock::Pool::WaitQueue

  def setup
    @queue = WaitQueue.new(2)
  end

  def test_so_many_come_in_at_once_and_nobody_else
    run_loop do
      assert(@queue.enter(:a, 1) && @queue.enter(:b, 1))
      assert_equal 2, @queue.held
      assert @queue.inside?(:a)
      @queue.leave(:a)
      refute @queue.inside?(:a)
      assert @queue.enter(:c, 1)
    end
  end

  def test_who_waits_comes_in_in_the_order_in_which_he_came
    order = []
    run_loop do
      @queue.enter(first = owner, SECONDS)
      @queue.enter(second = owner, SECONDS)
      8.times { |number| Fiber.schedule { go_through(number, order) } }
      assert_equal 8, @queue.waiting
      @queue.leave(first)
      refute @queue.enter(owner, 0), "somebody who has just come was served before eight who wait"
      @queue.leave(second)
    end
    assert_equal [*0..7], order
    assert_equal [0, 0], [@queue.held, @queue.waiting]
  end

  def test_fibers_and_threads_wait_in_one_queue
    order = Thread::Queue.new
    run_loop do
      @queue.enter(first = owner, SECONDS)
      @queue.enter(owner, SECONDS)
      thread = Thread.new { go_through(:thread, order) }
      sleep(0.001) until @queue.waiting == 1
      Fiber.schedule { go_through(:fiber, order) }
      @queue.leave(first)
      thread.join
    end
    assert_equal %i[thread fiber], [order.pop, order.pop]
  end

  def test_the_time_counts_from_the_last_move_of_the_queue
    Clock.rule do |clock|
      run_loop do
        @queue.enter(owner, 10)
        @queue.enter(second = owner, 10)
        Fiber.schedule { @queue.enter(owner, 10) }
        came_in = nil
        Fiber.schedule { came_in = @queue.enter(owner, 10) }

        clock.now += 9
        @queue.leave(second) # the first of the two comes in
        clock.now += 9 # 18 s for the second, 9 s since the queue moved
        wake_first
        assert_nil came_in
        assert_equal 1, @queue.waiting

        clock.now += 1
        wake_first
        assert_equal false, came_in
        assert_equal 0, @queue.waiting
      end
    end
  end

  def test_all_who_wait_in_a_queue_that_does_not_move_are_refused_when_the_time_is_over
    Clock.rule do |clock|
      run_loop do
        2.times { @queue.enter(owner, 10) }
        refused = []
        3.times { |number| Fiber.schedule { refused << number unless @queue.enter(owner, 10) } }
        clock.now += 10
        3.times { wake_first }

        assert_equal [0, 1, 2], refused
      end
    end
  end

  def test_a_queue_has_room_for_as_many_as_it_has_places_and_for_more_when_it_is_stuck
    Clock.rule do |clock|
      run_loop do
        @queue.enter(first = owner, 10)
        @queue.enter(owner, 10)
        rooms = Array.new(3) { @queue.room.tap { Fiber.schedule { @queue.enter(owner, 10) } } }
        assert_equal [2, 1, 0], rooms

        clock.now += 10
        wake_first
        assert_equal 2, @queue.room, "it stands still, and nobody is to be kept from being told so"

        @queue.leave(first)
        assert_equal 1, @queue.room
        clock.now += 10
        wake_first
      end
    end
  end

  def test_a_place_whose_owner_has_ended_is_given_on_before_anybody_is_refused
    run_loop do
      2.times { Fiber.schedule { @queue.enter(Fiber.current, 1) } }
      assert_equal 2, @queue.held
      assert @queue.enter(Fiber.current, 0.001)
    end
  end

  def test_whose_wait_is_ended_from_outside_stands_in_nobodys_way
    run_loop do
      @queue.enter(a = owner, SECONDS)
      @queue.enter(owner, SECONDS)
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { @queue.enter(owner, SECONDS) } }
      assert_equal 0, @queue.waiting
      @queue.leave(a)
      assert @queue.enter(owner, 0)
    end
  end

  def test_whoever_is_ended_while_he_leaves_has_left
    run_loop do
      @queue.enter(:leaving, SECONDS)
      leaving = Fiber.current
      Fiber.schedule { while_locked { leaving.raise(Failure) } }
      assert_raises(Failure) { @queue.leave(:leaving).then { sleep } }
      assert_equal 0, @queue.held
    end
  end

  def while_locked
    @queue.instance_variable_get(:@lock).synchronize do
      sleep(0)
      yield
      sleep(0)
    end
  end

  # Such as a thread that is raised into after it was granted its place and before it runs.
  class Late < WaitQueue
    private

    def wait_once(waiter, *)
      @holders.delete(@holders.keys.first)
      serve
      raise VerbsCase::Failure if waiter.granted?
    end
  end

  def test_whose_wait_is_ended_when_it_is_his_turn_gives_the_place_on
    queue = Late.new(1)
    queue.enter(:first, SECONDS)
    assert_raises(Failure) { queue.enter(:second, SECONDS) }
    assert_equal [0, 0], [queue.held, queue.waiting]
    assert queue.enter(:third, 0)
  end

  def test_a_blocking_fiber_is_refused_where_only_its_own_thread_could_let_it_in
    run_loop do
      @queue.enter(owner, SECONDS)
      @queue.enter(owner, SECONDS)
      NB.neverblock(false) { NeverBlock::Compat.blocking { refute @queue.enter(owner, SECONDS) } }
    end
  end

  private

  def go_through(name, order)
    assert @queue.enter(me = owner, SECONDS)
    order << name
    sleep(0)
    @queue.leave(me)
  end

  # Somebody alive.
  def owner
    (@owners ||= []).push(Fiber.new { nil }).last
  end

  # Wakes who is first in the queue without a reason, and lets it look at the clock.
  def wake_first
    @queue.instance_variable_get(:@waiters).first.instance_variable_get(:@condition).signal
    3.times { sleep(0) }
  end
end
