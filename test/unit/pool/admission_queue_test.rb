# frozen_string_literal: true

require_relative "../verbs/verbs_case"
require "neverblock/pool/admission_queue"

class PoolAdmissionQueueTest < VerbsCase
  # A wait queue as its admission queue sees it, which a test makes longer and shorter.
  class WaitQueue
    attr_accessor :room
    attr_reader :admission_queue, :inside

    def initialize(room = 0)
      @room = room
      @admission_queue = NeverBlock::Pool::AdmissionQueue.new(self)
      @inside = []
    end

    # What a request does: it passes the admission queue, and enters the wait queue.
    def visit(name)
      @admission_queue.pass
      @inside << name
      @room -= 1
    end

    def shorter(by = 1)
      @room += by
      @admission_queue.room_changed
    end
  end

  def setup
    @queue = WaitQueue.new
  end

  def test_nobody_is_held_while_the_queue_has_room
    queue = WaitQueue.new(3)
    run_loop { 3.times { |number| Fiber.schedule { queue.visit(number) } } }

    assert_equal [[0, 1, 2], 0], [queue.inside, queue.admission_queue.waiting]
  end

  def test_so_many_go_in_as_there_is_room_for_first_come_first_served
    run_loop do
      10.times { |number| Fiber.schedule { @queue.visit(number) } }
      assert_equal [[], 10], seen
      @queue.shorter
      assert_equal [[0], 9], seen
      @queue.shorter(4)
      assert_equal [[0, 1, 2, 3, 4], 5], seen
      @queue.shorter(100)
      assert_equal [[*0..9], 0], seen
    end
  end

  def test_who_comes_while_others_are_held_comes_after_them
    run_loop do
      Fiber.schedule { @queue.visit(:first) }
      @queue.room = 5
      Fiber.schedule { @queue.visit(:second) }
      assert_equal [[], 2], seen
      @queue.admission_queue.room_changed
      assert_equal [%i[first second], 0], seen
    end
  end

  def test_those_who_go_in_and_never_stand_in_the_queue_keep_nobody_waiting
    passed = []
    run_loop do
      20.times do |number|
        Fiber.schedule do
          @queue.admission_queue.pass
          passed << number
        end
      end
      @queue.shorter(2)
    end

    assert_equal [*0..19], passed
  end

  def test_who_is_woken_and_finds_no_room_keeps_his_place
    run_loop do
      3.times { |number| Fiber.schedule { @queue.visit(number) } }
      @queue.shorter
      @queue.room = 0 # somebody else has come
      assert_equal [[], 3], seen
      @queue.shorter(3)
      assert_equal [[0, 1, 2], 0], seen
    end
  end

  def test_whose_wait_is_ended_holds_nothing_up
    run_loop do
      fibers = Array.new(4) do |number|
        Fiber.schedule do
          @queue.visit(number)
        rescue Failure
          nil
        end
      end
      fibers[1].raise(Failure)
      assert_equal [[], 3], seen
      @queue.shorter(2)
      @queue.room -= 1 # somebody else has come
      assert_equal [[0], 2], seen
      fibers[2].raise(Failure)
      assert_equal [[0], 1], seen
      @queue.shorter
      assert_equal [[0, 3], 0], seen
    end
  end

  def test_a_deadline_ends_the_wait
    run_loop do
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { @queue.visit(:late) } }
      assert_equal [[], 0], seen
    end
  end

  # The thread that is let go of is one whose loop is stuck with work.
  # Nobody of the other loop's waits for it.
  def test_one_loop_that_is_busy_keeps_nobody_of_another_loop_waiting
    stuck = Thread::Queue.new
    others = Thread.new do
      NB.run do
        Fiber.schedule { @queue.visit(:busy) }
        Compat.blocking { stuck.pop }
      end
    end
    run_loop do
      sleep(0.001) until @queue.admission_queue.waiting == 1
      Fiber.schedule { @queue.visit(:quick) }
      @queue.shorter(2)
      assert_equal [[:quick], 1], seen
      stuck << true
    end
    others.join

    assert_equal [[:quick, :busy], 0], [@queue.inside, @queue.admission_queue.waiting]
  end

  Compat = NeverBlock::Compat

  private

  # Who has gone in, and how many are held, when all who were woken have run.
  def seen
    10.times { sleep(0) }
    [@queue.inside, @queue.admission_queue.waiting]
  end
end
