# frozen_string_literal: true

require_relative "../verbs/verbs_case"
require "neverblock/pool/line"

class PoolLineTest < VerbsCase
  Line = NeverBlock::Pool::Line

  # A clock that stands until it is told.
  class Clock
    attr_accessor :now

    def self.rule
      clock = new
      clock.now = 100.0
      real = NeverBlock::Deadline.method(:now)
      silent { NeverBlock::Deadline.define_singleton_method(:now) { clock.now } }
      yield clock
    ensure
      silent { NeverBlock::Deadline.define_singleton_method(:now, real) }
    end

    def self.silent
      verbose, $VERBOSE = $VERBOSE, nil
      yield
    ensure
      $VERBOSE = verbose
    end
  end

  def setup
    @line = Line.new(2)
  end

  def test_so_many_come_in_at_once_and_nobody_else
    run_loop do
      assert(@line.enter(:a, 1) && @line.enter(:b, 1))
      assert_equal 2, @line.held
      assert @line.inside?(:a)
      @line.leave(:a)
      refute @line.inside?(:a)
      assert @line.enter(:c, 1)
    end
  end

  def test_who_waits_comes_in_in_the_order_in_which_he_came
    order = []
    run_loop do
      @line.enter(first = owner, SECONDS)
      @line.enter(second = owner, SECONDS)
      8.times { |number| Fiber.schedule { go_through(number, order) } }
      assert_equal 8, @line.waiting
      @line.leave(first)
      refute @line.enter(owner, 0), "somebody who has just come was served before eight who wait"
      @line.leave(second)
    end
    assert_equal [*0..7], order
    assert_equal [0, 0], [@line.held, @line.waiting]
  end

  def test_fibers_and_threads_stand_in_one_line
    order = Thread::Queue.new
    run_loop do
      @line.enter(first = owner, SECONDS)
      @line.enter(owner, SECONDS)
      thread = Thread.new { go_through(:thread, order) }
      sleep(0.001) until @line.waiting == 1
      Fiber.schedule { go_through(:fiber, order) }
      @line.leave(first)
      thread.join
    end
    assert_equal %i[thread fiber], [order.pop, order.pop]
  end

  def test_the_time_counts_from_the_last_move_of_the_line
    Clock.rule do |clock|
      run_loop do
        @line.enter(owner, 10)
        @line.enter(second = owner, 10)
        Fiber.schedule { @line.enter(owner, 10) }
        came_in = nil
        Fiber.schedule { came_in = @line.enter(owner, 10) }

        clock.now += 9
        @line.leave(second) # the first of the two comes in
        clock.now += 9      # 18 s for the second, 9 s since the line moved
        wake_first
        assert_nil came_in
        assert_equal 1, @line.waiting

        clock.now += 1
        wake_first
        assert_equal false, came_in
        assert_equal 0, @line.waiting
      end
    end
  end

  def test_all_who_wait_in_a_line_that_stands_still_are_refused_when_the_time_is_over
    Clock.rule do |clock|
      run_loop do
        2.times { @line.enter(owner, 10) }
        refused = []
        3.times { |number| Fiber.schedule { refused << number unless @line.enter(owner, 10) } }
        clock.now += 10
        3.times { wake_first }

        assert_equal [0, 1, 2], refused
      end
    end
  end

  def test_a_line_has_room_for_as_many_as_it_has_places_and_for_more_when_it_stands_still
    Clock.rule do |clock|
      run_loop do
        @line.enter(first = owner, 10)
        @line.enter(owner, 10)
        rooms = Array.new(3) { @line.room.tap { Fiber.schedule { @line.enter(owner, 10) } } }
        assert_equal [2, 1, 0], rooms

        clock.now += 10
        wake_first
        assert_equal 2, @line.room, "it stands still, and nobody is to be kept from being told so"

        @line.leave(first)
        assert_equal 1, @line.room
        clock.now += 10
        wake_first
      end
    end
  end

  def test_a_place_whose_owner_has_ended_is_given_on_before_anybody_is_refused
    run_loop do
      2.times { Fiber.schedule { @line.enter(Fiber.current, 1) } }
      assert_equal 2, @line.held
      assert @line.enter(Fiber.current, 0.001)
    end
  end

  def test_whose_wait_is_ended_from_outside_stands_in_nobodys_way
    run_loop do
      @line.enter(a = owner, SECONDS)
      @line.enter(owner, SECONDS)
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { @line.enter(owner, SECONDS) } }
      assert_equal 0, @line.waiting
      @line.leave(a)
      assert @line.enter(owner, 0)
    end
  end

  def test_whoever_is_ended_while_he_leaves_has_left
    run_loop do
      @line.enter(:leaving, SECONDS)
      leaving = Fiber.current
      Fiber.schedule { while_locked { leaving.raise(Failure) } }
      assert_raises(Failure) { @line.leave(:leaving).then { sleep } }
      assert_equal 0, @line.held
    end
  end

  def while_locked
    @line.instance_variable_get(:@lock).synchronize do
      sleep(0)
      yield
      sleep(0)
    end
  end

  # Such as a thread that is raised into after it was granted its place and before it runs.
  class Late < Line
    private

    def wait_once(waiter, *)
      @holders.delete(@holders.keys.first)
      serve
      raise VerbsCase::Failure if waiter.granted?
    end
  end

  def test_whose_wait_is_ended_when_it_is_his_turn_gives_the_place_on
    line = Late.new(1)
    line.enter(:first, SECONDS)
    assert_raises(Failure) { line.enter(:second, SECONDS) }
    assert_equal [0, 0], [line.held, line.waiting]
    assert line.enter(:third, 0)
  end

  def test_a_blocking_fiber_is_refused_where_only_its_own_thread_could_let_it_in
    run_loop do
      @line.enter(owner, SECONDS)
      @line.enter(owner, SECONDS)
      NB.neverblock(false) { NeverBlock::Compat.blocking { refute @line.enter(owner, SECONDS) } }
    end
  end

  private

  def go_through(name, order)
    assert @line.enter(me = owner, SECONDS)
    order << name
    sleep(0)
    @line.leave(me)
  end

  # Somebody alive.
  def owner
    (@owners ||= []).push(Fiber.new { nil }).last
  end

  # Wakes who is first in the line without a reason, and lets it look at the clock.
  def wake_first
    @line.instance_variable_get(:@waiters).first.instance_variable_get(:@condition).signal
    3.times { sleep(0) }
  end
end
