# frozen_string_literal: true

require_relative "verbs_case"
require_relative "../../support/clock"

class CircuitBreakerTest < VerbsCase
  Breaker = NB::CircuitBreaker
  Open = Breaker::Open

  def setup
    @changes = []
    @breaker = breaker
  end

  def test_it_gives_the_value_and_raises_what_the_block_raises
    assert_equal 3, @breaker.call { 3 }
    assert_raises(Failure) { fail_once }
    assert_equal :closed, @breaker.state
    assert_raises(ArgumentError) { @breaker.call }
  end

  def test_failures_open_it_for_a_time_and_one_call_that_succeeds_closes_it
    Clock.rule do |clock|
      2.times { assert_raises(Failure) { fail_once } }
      assert_raises(Failure) { fail_once }
      error = assert_raises(Open) { @breaker.call { flunk } }
      assert_equal "the circuit breaker payments is open: 3 failures, the last " \
                   "VerbsCase::Failure; a call is tried again in 30.0 s", error.message
      assert_equal [30.0, :open], [error.retry_in, @breaker.state]
      clock.now += 29
      assert_raises(Open) { @breaker.call { flunk } }
      clock.now += 1
      assert_equal :half_open, @breaker.state
      assert_equal :done, @breaker.call { :done }
      assert_equal :closed, @breaker.state
    end
    assert_equal [%i[closed open], %i[open half_open], %i[half_open closed]], @changes
  end

  def test_a_trial_that_fails_opens_it_again
    Clock.rule do |clock|
      3.times { assert_raises(Failure) { fail_once } }
      clock.now += 30
      assert_raises(Failure) { fail_once }
      assert_raises(Open) { @breaker.call { flunk } }
      assert_equal({ state: :open, failures: 0, retry_in: 30.0 }, @breaker.stats)
    end
  end

  def test_one_call_at_a_time_is_tried
    Clock.rule do |clock|
      3.times { assert_raises(Failure) { fail_once } }
      clock.now += 30
      @breaker.call do
        error = assert_raises(Open) { @breaker.call { flunk } }
        assert_match(/a call is being tried\z/, error.message)
        assert_equal :half_open, @breaker.state
      end
      assert_equal :closed, @breaker.state
    end
  end

  def test_failures_that_lie_far_apart_open_nothing
    Clock.rule do |clock|
      9.times do
        assert_raises(Failure) { fail_once }
        clock.now += 31
      end
      assert_equal :closed, @breaker.state
      assert_equal 1, @breaker.stats[:failures]
    end
  end

  def test_what_says_nothing_of_the_service_is_no_failure
    5.times do
      assert_raises(KeyError) { breaker(errors: IOError).call { {}.fetch(:a) } }
      assert_raises(NB::ClientGone) { @breaker.call { raise NB::ClientGone } }
      assert_raises(NB::Cancelled) { @breaker.call { raise NB::Cancelled } }
      catch(:out) { @breaker.call { throw :out } }
    end
    assert_equal({ state: :closed, failures: 0, retry_in: 0.0 }, @breaker.stats)
  end

  def test_a_trial_that_was_only_left_may_be_followed_by_another
    Clock.rule do |clock|
      3.times { assert_raises(Failure) { fail_once } }
      clock.now += 30
      catch(:out) { @breaker.call { throw :out } }
      assert_equal :half_open, @breaker.state
      assert_equal 1, @breaker.call { 1 }
      assert_equal :closed, @breaker.state
    end
  end

  def test_a_trial_that_has_told_nothing_for_as_long_as_it_was_open_is_followed_by_another
    Clock.rule do |clock|
      3.times { assert_raises(Failure) { fail_once } }
      clock.now += 30
      left = Enumerator.new { |out| @breaker.call { out << 1 } }
      left.next
      clock.now += 29
      assert_raises(Open) { @breaker.call { flunk } }
      clock.now += 1
      assert_equal :half_open, @breaker.state
      assert_equal :done, @breaker.call { :done }
      assert_equal :closed, @breaker.state
    end
  end

  def test_the_child_of_a_fork_makes_a_trial_of_its_own
    Clock.rule do |clock|
      3.times { assert_raises(Failure) { fail_once } }
      clock.now += 30
      @breaker.call do
        child = fork { exit!(@breaker.call { 5 }) }
        assert_equal 5, Process.wait2(child).last.exitstatus
        assert_raises(Open) { @breaker.call { flunk } }
      end
    end
  end

  def test_a_call_that_began_before_says_nothing_of_a_trial
    Clock.rule do |clock|
      assert_raises(Failure) do
        @breaker.call do
          3.times { assert_raises(Failure) { fail_once } }
          clock.now += 30
          assert_equal :half_open, @breaker.state
          @breaker.call { :tried }
          @breaker.call { assert_raises(Failure) { fail_once } }
          raise Failure
        end
      end
      assert_equal({ state: :closed, failures: 1, retry_in: 0.0 }, @breaker.stats)
    end
  end

  def test_calls_that_began_before_it_opened_keep_it_open_no_longer
    Clock.rule do |clock|
      2.times { assert_raises(Failure) { fail_once } }
      assert_raises(Failure) do
        @breaker.call do
          assert_raises(Failure) { fail_once }
          clock.now += 29
          raise Failure
        end
      end
      assert_equal 1.0, @breaker.stats[:retry_in]
      assert_match(/: 3 failures,/, assert_raises(Open) { @breaker.call { flunk } }.message)
    end
  end

  def test_a_call_that_began_before_a_reset_does_not_count
    assert_raises(Failure) do
      @breaker.call do
        @breaker.reset
        raise Failure
      end
    end
    assert_equal 0, @breaker.stats[:failures]
  end

  def test_a_change_that_cannot_be_told_leaves_room_for_another_trial
    fails = true
    told = lambda do |_breaker, _was, now|
      raise KeyError, "no such channel" if now == :half_open && fails
    end
    breaker = Breaker.new(:payments, failures: 1, on_change: told)
    Clock.rule do |clock|
      assert_raises(Failure) { breaker.call { raise Failure } }
      clock.now += 30
      assert_raises(KeyError) { breaker.call { flunk } }
      fails = false
      assert_equal :tried, breaker.call { :tried }
    end
  end

  def test_a_deadline_is_a_failure
    run_loop do
      3.times do
        assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { @breaker.call { sleep } } }
      end
      assert_equal :open, @breaker.state
    end
  end

  def test_reset_closes_it
    3.times { assert_raises(Failure) { fail_once } }
    assert_equal 1, @breaker.reset.call { 1 }
    assert_equal [%i[closed open], %i[open closed]], @changes
  end

  def test_threads_count_together
    breaker = breaker(failures: 400)
    failing = lambda do |_number|
      breaker.call { raise Failure }
    rescue Failure
      nil
    end
    bounded { Array.new(4) { Thread.new { 100.times(&failing) } }.each(&:join) }
    assert_equal :open, breaker.state
    assert_equal [%i[closed open]], @changes
  end

  def test_what_it_cannot_be_made_with_is_told
    { { failures: 0 } => "failures is a whole number of at least 1, not 0",
      { within: 0 } => "within is a number of seconds above 0, not 0",
      { open_for: nil } => "open_for is a number of seconds above 0, not nil",
      { errors: ["IOError"] } => 'classes or modules, not "IOError"' }.each do |rest, words|
      error = assert_raises(ArgumentError) { Breaker.new(:payments, **rest) }
      assert_includes error.message, words
    end
  end

  private

  def breaker(**rest)
    told = ->(_breaker, was, now) { @changes << [was, now] }
    Breaker.new(:payments, failures: 3, on_change: told, **rest)
  end

  def fail_once
    @breaker.call { raise Failure }
  end
end
