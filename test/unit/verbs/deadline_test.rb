# frozen_string_literal: true

require_relative "verbs_case"
require "net/http"
require "open3"
require "socket"
require "timeout"

# NB.deadline: what it ends and when, nesting, what comes together with it, the arguments, and where
# there is no loop.
class DeadlineTest < VerbsCase
  # --- what it ends ---

  def test_every_kind_of_wait_ends_when_the_time_is_over
    ended = run_loop do
      r, _w = IO.pipe
      let_go = Queue.new
      mutex = Mutex.new.tap { |lock| Fiber.schedule { lock.synchronize { let_go.pop } } }
      waits = [
        -> { sleep },
        -> { let_go.pop },
        -> { r.read },
        -> { r.wait_readable },
        -> { loop { sleep(0) } },
        -> { mutex.lock },
        -> { Thread.new { Thread.stop }.join },
        -> { NB.offload { let_go.pop } },
        -> { NB.all(-> { sleep }) }
      ]
      errors = waits.map do |wait|
        assert_raises(NB::DeadlineExceeded) { NB.deadline(0.005) { wait.call } }
      end
      2.times { let_go << 1 }
      errors
    end
    assert_equal 9, ended.size
  end

  def test_the_value_of_a_block_that_keeps_its_time_is_given_and_nothing_is_raised_later
    run_loop do
      assert_equal(3, NB.deadline(SECONDS) { sleep(0) and 3 })
      assert_equal(4, NB.deadline(0.001) { 4 })
      sleep(0.01)
    end
  end

  def test_a_block_may_be_left_by_break_throw_and_exceptions
    run_loop do
      assert_equal(5, NB.deadline(SECONDS) { break 5 })
      assert_equal(6, catch(:out) { NB.deadline(SECONDS) { throw :out, 6 } })
      assert_raises(Failure) { NB.deadline(SECONDS) { raise Failure } }
      assert_nil NB.deadline
    end
  end

  def test_time_that_goes_by_computing_ends_the_first_wait_after_it
    run_loop do
      [-> { sleep(0) }, -> { sleep }, -> { Queue.new.pop }].each do |wait|
        waited = false
        assert_raises(NB::DeadlineExceeded) do
          NB.deadline(0.001) do
            compute
            wait.call
            waited = true
          end
        end
        refute waited
      end
    end
  end

  def test_a_block_that_computes_too_long_and_does_not_wait_has_its_value
    run_loop { assert_equal(7, NB.deadline(0.001) { compute and 7 }) }
  end

  def test_it_is_raised_once_and_ensure_may_wait
    cleaned = nil
    run_loop do
      assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.001) do
          sleep
        ensure
          3.times { sleep(0.002) }
          cleaned = true
        end
      end
    end
    assert cleaned
  end

  def test_who_rescues_it_inside_goes_on_without_a_limit
    run_loop do
      value = NB.deadline(0.001) do
        sleep
      rescue NB::DeadlineExceeded
        sleep(0.005)
        assert_equal 0.0, NB.deadline
        :went_on
      end
      assert_equal :went_on, value
    end
  end

  def test_it_is_an_error_of_ours_and_no_timeout_so_that_clients_do_not_try_again
    assert_operator NB::DeadlineExceeded, :<, NB::Error
    refute_operator NB::DeadlineExceeded, :<, Timeout::Error
    refute_operator NB::DeadlineExceeded, :<, IOError
  end

  def test_net_http_does_not_try_again
    server = TCPServer.new("127.0.0.1", 0)
    uri = URI("http://127.0.0.1:#{server.local_address.ip_port}/")
    seconds = 0.01
    run_loop do
      # On a busy machine the time may be over before it has connected.
      until server.wait_readable(0)
        assert_raises(NB::DeadlineExceeded) { NB.deadline(seconds *= 2) { Net::HTTP.get(uri) } }
      end
      server.accept
      assert_nil server.wait_readable(0), "it has connected again"
    end
  ensure
    server&.close
  end

  # --- nesting ---

  def test_of_nested_deadlines_the_sooner_ends_its_own_block
    run_loop do
      NB.deadline(SECONDS) do
        [0.001, 0.002].each do |seconds|
          error = assert_raises(NB::DeadlineExceeded) { NB.deadline(seconds) { sleep } }
          assert_equal seconds, error.deadline.seconds
        end
      end
    end
  end

  # The inner one's end, however near the outer's, leaves the outer block to its own.
  def test_of_nested_deadlines_the_later_ends_its_own_block_afterwards
    run_loop do
      outer = assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.05) do
          ended_by_a_deadline_inside { sleep }
          sleep
        end
      end
      assert_equal 0.05, outer.deadline.seconds
    end
  end

  def test_the_error_of_an_outer_deadline_is_not_taken_for_the_inner_ones
    run_loop do
      taken = false
      error = assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.001) do
          NB.deadline(SECONDS) { sleep }
        rescue NB::DeadlineExceeded
          taken = true
        end
      end
      refute taken
      assert_equal 0.001, error.deadline.seconds
    end
  end

  def test_the_error_of_an_outer_deadline_passes_two_inner_ones_and_their_ensures
    passed = []
    run_loop do
      assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.001) do
          NB.deadline(SECONDS) do
            NB.deadline(SECONDS) { sleep }
          rescue StandardError
            flunk "taken for the innermost's"
          ensure
            sleep(0)
            passed << 1
          end
        rescue StandardError
          flunk "taken for the middle's"
        ensure
          passed << 2
        end
      end
    end
    assert_equal [1, 2], passed
  end

  def test_two_that_are_over_together_both_end_their_own_block
    run_loop do
      assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.2) do
          ended_by_a_deadline_inside { compute(0.21) and sleep }
          sleep
          flunk "the outer deadline is lost"
        end
      end
    end
  end

  def test_an_error_of_ones_own_making_passes
    run_loop do
      assert_raises(NB::DeadlineExceeded) do
        NB.deadline(SECONDS) { raise NB::DeadlineExceeded, "mine" }
      end
    end
  end

  def test_timeout_and_deadline_inside_each_other
    run_loop do
      assert_raises(NB::DeadlineExceeded) do
        Timeout.timeout(SECONDS) { NB.deadline(0.001) { sleep } }
      end
      assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.001) { Timeout.timeout(SECONDS) { sleep } }
      end
      assert_raises(Timeout::Error) { NB.deadline(SECONDS) { Timeout.timeout(0.001) { sleep } } }
    end
  end

  # --- nothing is lost for it ---

  # A deadline and what was waited for come in any order.
  # What was given is taken, or still there for another.
  def test_what_a_queue_gives_as_the_time_ends_is_not_lost
    given = taken = 0
    random = Random.new(rand(1 << 30).tap { |seed| @seed = seed })
    run_loop do
      queue = Queue.new
      takers = Array.new(20) do
        taker(queue) { taken += 1 }
      end
      100.times do
        queue << (given += 1)
        sleep(random.rand * 0.0004)
      end
      queue.close
      sleep(0) while takers.any?(&:alive?)
      assert_equal given, taken + queue.size, "seed #{@seed}"
      assert_equal 0, queue.num_waiting
    end
  end

  def test_a_connection_given_back_while_the_deadline_is_over_goes_to_the_next_waiter
    run_loop do
      queue = Queue.new
      got = []
      late = Fiber.schedule do
        NB.deadline(0.001) { got << queue.pop }
      rescue NB::DeadlineExceeded
        got << :late
      end
      Fiber.schedule { got << queue.pop }
      compute(0.002)
      queue << :first # the deadline is over, and nobody has told the waiting fiber yet
      sleep(0) while late.alive?
      queue << :second unless queue.num_waiting.zero?
      sleep(0) until got.size == 2
      assert_includes [%i[first second], %i[late first]],
                      got.sort_by { |item| %i[late first second].index(item) }
    end
  end

  def test_a_mutex_taken_as_the_time_ends_is_given_back
    run_loop do
      mutex = Mutex.new
      20.times do
        Fiber.schedule do
          5.times do
            NB.deadline(0.0005) { mutex.synchronize { sleep(0.0002) } }
          rescue NB::DeadlineExceeded
            nil
          end
        end
      end
      sleep(0.02)
      mutex.synchronize { assert mutex.owned? }
    end
  end

  # --- seconds left ---

  def test_without_a_block_it_tells_the_seconds_left
    run_loop do
      assert_nil NB.deadline
      NB.deadline(20_000) do
        assert_in_delta 20_000, NB.deadline, SECONDS
        NB.deadline(10_000) { assert_in_delta 10_000, NB.deadline, SECONDS }
        NB.deadline(30_000) { assert_in_delta 20_000, NB.deadline, SECONDS }
        NB.deadline(nil) { assert_in_delta 20_000, NB.deadline, SECONDS }
        assert_in_delta 20_000, NB.deadline, SECONDS
      end
      assert_nil NB.deadline
    end
  end

  def test_fibers_and_threads_that_may_outlive_it_have_none
    run_loop do
      NB.deadline(SECONDS) do
        seen = []
        Fiber.schedule { seen << NB.deadline }
        seen << Thread.new { NB.deadline }.value
        assert_equal [nil, nil], seen
      end
    end
  end

  # --- arguments ---

  def test_nil_and_infinity_are_no_limit
    run_loop do
      [nil, Float::INFINITY, 1e12].each do |none|
        value = NB.deadline(none) { sleep(0.001) && NB.deadline.nil? && 1 }
        assert_equal 1, value
      end
    end
  end

  def test_zero_and_less_are_over_at_the_first_wait
    run_loop do
      [0, 0.0, -1, -Float::INFINITY].each do |over|
        begun = false
        assert_raises(NB::DeadlineExceeded) { NB.deadline(over) { (begun = true) && sleep } }
        assert begun
        assert_equal(2, NB.deadline(over) { 2 })
      end
    end
  end

  def test_rationals_and_what_says_it_is_a_number_are_seconds
    duration = Class.new do
      def is_a?(klass) = klass == Numeric || super
      def real? = true
      def to_f = 0.001
    end
    run_loop do
      assert_raises(NB::DeadlineExceeded) { NB.deadline(Rational(1, 1000)) { sleep } }
      assert_raises(NB::DeadlineExceeded) { NB.deadline(duration.new) { sleep } }
    end
  end

  def test_what_is_no_number_of_seconds_is_refused_by_name
    ["2", :soon, Object, Complex(1, 1), []].each do |odd|
      error = assert_raises(TypeError) { NB.deadline(odd) { flunk "called" } }
      assert_includes error.message, odd.inspect
    end
    error = assert_raises(ArgumentError) { NB.deadline(Float::NAN) { flunk "called" } }
    assert_includes error.message, "NaN"
  end

  def test_half_a_call_is_refused
    assert_raises(ArgumentError) { NB.deadline(1) }
    assert_raises(ArgumentError) { NB.deadline { 1 } }
    assert_raises(ArgumentError) { NB.deadline(1, 2) { 1 } }
  end

  def test_the_message_names_the_time
    run_loop do
      error = assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { sleep } }
      assert_match(/0\.001 s/, error.message)
    end
  end

  # --- elsewhere ---

  def test_without_a_loop_it_ends_what_the_thread_waits_for
    bounded do
      r, _w = IO.pipe
      [-> { sleep }, -> { Queue.new.pop }, -> { r.read }, -> { loop { nil } }].each do |wait|
        assert_raises(NB::DeadlineExceeded) { NB.deadline(0.005) { wait.call } }
      end
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0) { sleep } }
      assert_equal(1, NB.deadline(SECONDS) { 1 })
      assert_nil NB.deadline
    end
  end

  def test_without_a_loop_outer_and_inner_are_told_apart_too
    bounded do
      assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.02) do
          NB.deadline(SECONDS) { sleep }
        rescue StandardError
          flunk "taken for the inner one's"
        end
      end
      assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.02) do
          ended_by_a_deadline_inside { sleep }
          sleep
        end
      end
    end
  end

  def test_without_a_loop_one_that_comes_as_its_block_ends_is_not_raised_after_it
    bounded do
      300.times do
        begin
          NB.deadline(0.0005) { sleep(0.0005) }
        rescue NB::DeadlineExceeded
          nil
        end
        Thread.pass
      end
      sleep(0.002)
    end
  end

  # The race of the test before, made by hand.
  # Ruby 3.1 crashes when it is asked for pending interrupts by class.
  def test_without_a_loop_what_was_raised_as_its_block_ended_is_dropped_and_an_outer_ones_is_not
    bounded do
      mine, outer = Array.new(2) { NB::Deadline.new(1, nil) }
      Thread.handle_interrupt(NB::DeadlineExceeded => :never) do
        [mine, outer, mine].each { |deadline| Thread.current.raise(deadline) }
        NB::Deadline::Clock.send(:drop_late, mine)
        error = assert_raises(NB::DeadlineExceeded) do
          Thread.handle_interrupt(NB::DeadlineExceeded => :immediate) { Thread.pass }
        end
        assert_same outer, error.deadline
        refute_predicate Thread, :pending_interrupt?
      end
    end
  end

  def test_many_threads_without_loops_have_each_their_own
    bounded do
      threads = Array.new(20) do |i|
        Thread.new do
          Thread.current.report_on_exception = false
          NB.deadline(i.even? ? 0.002 : SECONDS) { i.even? ? sleep : i }
        rescue NB::DeadlineExceeded
          :late
        end
      end
      assert_equal((0...20).map { |i| i.even? ? :late : i }, threads.map(&:value))
    end
  end

  def test_its_thread_ends_with_the_last_of_them_and_is_made_anew_in_a_forked_child
    bounded do
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { sleep } }
      Thread.pass while Thread.list.any? { |thread| thread.name == "neverblock deadlines" }
      NB.deadline(SECONDS) do
        pid = fork do
          NB.deadline(0.001) { sleep }
        rescue NB::DeadlineExceeded
          exit!(7)
        end
        assert_equal 7, Process.wait2(pid).last.exitstatus
      end
    end
  end

  def test_around_a_loop_it_ends_the_loop
    bounded do
      begun = cleaned = 0
      # On a busy machine the time may be over before the block has begun.
      2.times do
        assert_raises(NB::DeadlineExceeded) do
          NB.deadline(0.01) do
            NB.run do
              begun += 1
              sleep
            ensure
              sleep(0)
              cleaned += 1
            end
          end
        end
      end
      assert_operator cleaned, :>=, begun
    end
  end

  def test_in_a_fiber_that_keeps_its_thread_waits_end_too
    run_loop do
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.002) { NB.neverblock(false) { sleep } } }
      assert_raises(NB::DeadlineExceeded) { NB.neverblock(false) { NB.deadline(0.002) { sleep } } }
    end
  end

  def test_a_fiber_that_another_resumes_keeps_its_own_deadline
    run_loop do
      error = nil
      other = Fiber.new do
        error = assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { sleep } }
      end
      other.resume
      assert_equal 0.001, error.deadline.seconds
    end
  end

  # A fiber that was given up with a deadline still armed: the alarm must not reach for its stack.
  def test_a_fiber_given_up_inside_is_not_collected_before_its_alarm
    run_loop do
      50.times { Fiber.new { NB.deadline(0.002) { Fiber.yield } }.resume }
      GC.start
      Array.new(50) { Fiber.new { Fiber.yield(Array.new(50, &:to_s)) }.tap(&:resume) }
      sleep(0.005)
    end
  end

  private

  # Keeps the thread for so many seconds.
  def compute(seconds = 0.002)
    over = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    nil until Process.clock_gettime(Process::CLOCK_MONOTONIC) > over
    true
  end

  # What an enclosing one's end raises passes: on a busy machine it may come first.
  def ended_by_a_deadline_inside(&block)
    NB.deadline(0.001, &block)
    flunk "it had no end"
  rescue NB::DeadlineExceeded => e
    assert_equal 0.001, e.deadline.seconds
  end

  def taker(queue)
    Fiber.schedule do
      until queue.closed?
        begin
          NB.deadline(0.0003) { queue.pop and yield }
        rescue NB::DeadlineExceeded
          nil
        end
      end
    end
  end
end
