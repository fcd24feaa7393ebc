# frozen_string_literal: true

# Where the calls of mini_racer run. test/gems/callbacks_test.rb does it with the gem.

require_relative "../../support/unit"
require "neverblock"
require "timeout"

class MiniRacerCompatTest < Minitest::Test
  RACER = NeverBlock::Compat::MiniRacer

  def test_a_fiber_s_call_runs_on_the_stack_of_a_thread_and_so_does_offloaded_work_s
    assert_equal [true, true], NB.run {
      [RACER.apart(self) { plain? }, NB.offload { RACER.apart(self) { plain? } }]
    }
  end

  def test_where_the_stack_is_a_thread_s_it_is_only_called
    here = Thread.current
    assert_same here, RACER.apart(self) { Thread.current }
    NB.run do
      assert_equal(true, RACER.apart(self) {
        Thread.current.equal?(RACER.apart(self) { Thread.current })
      })
    end
  end

  def test_what_the_request_keeps_is_there_and_what_changes_comes_back
    NB.run do
      thread = Thread.current
      thread[:kept] = thread[:removed] = 1
      thread.thread_variable_set(:of_thread, 2)
      RACER.apart(self) do
        now = Thread.current
        assert_equal [1, 1, 2], [now[:kept], now[:removed], now.thread_variable_get(:of_thread)]
        now[:removed] = nil
        now[:made] = 3
        now.thread_variable_set(:of_thread, 4)
      end
      assert_equal [1, nil, 3, 4], [thread[:kept], thread[:removed], thread[:made],
                                    thread.thread_variable_get(:of_thread)]
    end
  end

  def test_nothing_of_a_request_is_left_for_the_next
    NB.run do
      NB.all(-> { RACER.apart(self) { Thread.current[:own] = 1 } })
      assert_empty(RACER.apart(self) { Thread.current.keys } - Thread.current.keys)
    end
  end

  def test_fiber_storage_goes_there_and_comes_back
    skip "Ruby 3.2 and later" unless Fiber.respond_to?(:[])
    NB.run do
      Fiber[:given] = 1
      assert_equal(1, RACER.apart(self) { Fiber[:made] = Fiber[:given] })
      assert_equal 1, Fiber[:made]
    end
  end

  def test_calls_of_one_object_take_turns_and_those_of_others_do_not_wait
    other = Object.new
    within = Thread::Queue.new
    order = Thread::Queue.new
    NB.run do
      NB.all(
        -> { RACER.apart(self) { (order << :first) && within.pop } },
        -> { (sleep 0 while order.empty?) || RACER.apart(self) { order << :second } },
        lambda do
          sleep 0 while order.empty?
          RACER.apart(other) { order << :other }
          within << true
        end
      )
    end
    assert_equal %i[first other second], Array.new(3) { order.pop }
  end

  def test_a_timeout_is_raised_when_the_call_has_ended
    ended = false
    gate = Thread::Queue.new
    NB.run do
      NB.all(
        lambda {
          assert_raises(Timeout::Error) do
            Timeout.timeout(0.01) { RACER.apart(self) { gate.pop && ended = true } }
          end
          assert ended
        },
        -> { sleep(0.03) && gate << true }
      )
    end
  end

  def test_what_it_raises_is_raised
    NB.run { assert_raises(KeyError) { RACER.apart(self) { raise KeyError } } }
  end

  private

  # @return [Boolean] whether the caller is in no fiber that another has resumed
  def plain?
    Fiber.yield
    false
  rescue FiberError
    true
  end
end
