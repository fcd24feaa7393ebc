# frozen_string_literal: true

require_relative "verbs_case"
require "support/preempted_first"
require "timeout"

# NB.all: what runs together, the order of the values, the first error and what it does to the rest,
# cancelling from outside, and where there is no loop.
class AllTest < VerbsCase
  # --- together ---

  def test_the_callables_run_together_and_their_values_come_in_order
    run_loop do
      gate = Gate.new(5)
      values = NB.all(*Array.new(5) { |i| -> { gate.enter && gate.wait_full.then { i } } })
      assert_equal [0, 1, 2, 3, 4], values
    end
  end

  def test_whichever_ends_first_the_order_is_that_of_the_arguments
    run_loop do
      ended = []
      turns = Array.new(4) { Queue.new }
      turns.last << true
      values = NB.all(*4.times) do |i|
        turns[i].pop
        ended << i
        turns[i - 1] << true
        i
      end
      assert_equal [[0, 1, 2, 3], [3, 2, 1, 0]], [values, ended]
    end
  end

  def test_of_nothing_there_is_nothing
    assert_equal [], NB.all
    run_loop { assert_equal([], NB.all { flunk "called" }) }
  end

  def test_whatever_can_be_called_is_taken
    run_loop do
      assert_equal [1, 4, 2], NB.all(-> { 1 }, 2.method(:succ).unbind.bind(3), proc { next 2 })
    end
  end

  def test_with_a_block_the_arguments_are_what_it_is_called_with
    run_loop do
      items = NB.all(1, [2, 3], nil) { |*item| [item.first, item[1]] }
      assert_equal [[1, nil], [[2, 3], nil], [nil, nil]], items
    end
  end

  def test_false_and_nil_are_values
    run_loop { assert_equal [nil, false], NB.all(-> {}, -> { false }) }
  end

  def test_the_caller_parks_and_other_fibers_go_on
    run_loop do
      let_go = Queue.new
      Fiber.schedule { let_go << 7 }
      assert_equal [7], NB.all(-> { let_go.pop })
    end
  end

  def test_each_task_is_a_fiber_of_its_own
    run_loop do
      Thread.current[:mine] = 1
      seen = NB.all(*3.times) do |i|
        [Thread.current[:mine], Thread.current[:task], Thread.current[:task] = i, Fiber.current]
      end
      assert_equal [[nil, nil, 0], [nil, nil, 1], [nil, nil, 2]],
                   seen.map { |values| values.first(3) }
      assert_equal 3, seen.map(&:last).uniq.size
    end
  end

  def test_tasks_have_the_callers_storage
    skip "Fiber storage is Ruby 3.2's" unless Fiber.respond_to?(:[])
    run_loop do
      Fiber[:who] = :caller
      assert_equal [:caller] * 2, NB.all(-> { Fiber[:who] }, -> { sleep(0) and Fiber[:who] })
    end
  end

  # --- limit ---

  def test_no_more_run_at_once_than_the_limit
    run_loop do
      inside = most = 0
      values = NB.all(*20.times, limit: 3) do |i|
        most = [most, inside += 1].max
        sleep(0.0001 * (i % 3))
        inside -= 1
        i
      end
      assert_equal [(0...20).to_a, 3], [values, most]
    end
  end

  def test_with_a_limit_of_one_they_run_one_after_the_other
    run_loop do
      order = []
      NB.all(*3.times, limit: 1) { |i| order << i and sleep(0) and order << i }
      assert_equal [0, 0, 1, 1, 2, 2], order
    end
  end

  def test_after_an_error_those_that_have_not_begun_are_not_begun
    run_loop do
      begun = []
      assert_raises(Failure) do
        NB.all(*10.times, limit: 2) { |i| (begun << i) && i == 3 ? raise(Failure) : sleep(0) }
      end
      assert_operator begun.max, :<=, 4
      begun.clear
      assert_raises(Failure) { NB.all(*10.times) { |i| (begun << i) && raise(Failure) } }
      assert_equal [0], begun
    end
  end

  def test_odd_arguments_are_refused_by_name
    assert_includes assert_raises(TypeError) { NB.all(-> { flunk }, 5) }.message, "5"
    [0, -1, 1.5, "2"].each do |odd|
      error = assert_raises(ArgumentError) { NB.all(-> { flunk }, limit: odd) }
      assert_includes error.message, odd.inspect
    end
  end

  def test_ten_thousand_with_a_limit
    run_loop do
      values = NB.all(*10_000.times, limit: 100) { |i| sleep(0) && i }
      assert_equal((0...10_000).sum, values.sum)
    end
  end

  # --- time slices ---

  def test_a_task_whose_time_slice_ends_before_it_begins_is_waited_for
    script = "sliced { p NB.all(-> { 1 }, -> { sleep(0.001) && 2 }) }"
    assert_equal [0, "[1, 2]\n", ""], ruby(PreemptedFirst::TEXT + script)
  end

  def test_a_task_that_is_cancelled_before_it_begins_is_not_called
    status, out, err = ruby(PreemptedFirst::TEXT + <<~RUBY)
      sliced do
        NB.all(-> { raise "first" }, -> { puts "called" }, -> { puts "called" })
      rescue RuntimeError => e
        puts e.message
      end
    RUBY
    assert_equal [0, "first\n", ""], [status, out, err]
  end

  # --- errors ---

  def test_the_first_error_cancels_the_rest_and_is_raised_when_all_have_ended
    run_loop do
      seen = []
      error = assert_raises(Failure) do
        NB.all(
          -> { waiting(seen) },
          -> { sleep(0) and raise Failure, "first" },
          -> { waiting(seen) }
        )
      end
      assert_equal "first", error.message
      assert_equal %i[cancelled cancelled cleaned cleaned], seen.sort
    end
  end

  def test_every_kind_of_wait_is_cancelled
    run_loop do
      r, w = IO.pipe
      let_go = Queue.new
      mutex = Mutex.new.tap { |lock| Fiber.schedule { lock.synchronize { let_go.pop } } }
      waits = [
        -> { sleep },
        -> { let_go.pop },
        -> { r.read },
        -> { loop { sleep(0) } },
        -> { mutex.lock },
        -> { Thread.new { Thread.stop }.join },
        -> { NB.offload { let_go.pop } },
        -> { NB.all(-> { sleep }) },
        -> { NB.deadline(SECONDS) { sleep } },
        -> { Process.wait(spawn("read line; true", in: r)) }
      ]
      cancelled = waits.count do |wait|
        by = nil
        assert_raises(Failure) do
          NB.all(-> { noting(->(e) { by = e }, &wait) }, -> { sleep(0.002) and raise Failure })
        end
        by.is_a?(NB::Cancelled) && by.reason.is_a?(Failure)
      end
      assert_equal waits.size, cancelled
      2.times { let_go << 1 }
      w.close
    end
  end

  def test_a_task_that_does_not_wait_is_cancelled_at_its_next_wait_or_ends_by_itself
    run_loop do
      queue = Queue.new
      taken = []
      assert_raises(Failure) do
        NB.all(-> { taken << queue.pop and taken << :computed and sleep and flunk },
               -> { queue.pop and taken << :ended },
               -> { queue << :given << 1 and raise Failure })
      end
      assert_equal %i[given computed ended], taken
    end
  end

  def test_rescue_of_standard_errors_does_not_swallow_a_cancel
    refute_operator NB::Cancelled, :<, StandardError
    run_loop do
      rounds = 0
      assert_raises(Failure) do
        NB.all(-> { stubborn_client { rounds += 1 } }, -> { sleep(0.001) and raise Failure })
      end
      assert_equal 1, rounds
    end
  end

  def test_the_ensure_of_a_cancelled_task_may_wait_and_is_waited_for
    run_loop do
      cleaned = []
      assert_raises(Failure) do
        NB.all(
          -> { with_cleaning(cleaned) { sleep } },
          -> { with_cleaning(cleaned) { Queue.new.pop } },
          -> { sleep(0) and raise Failure }
        )
      end
      assert_equal 2, cleaned.size
    end
  end

  def test_of_several_errors_the_first_is_raised
    run_loop do
      error = assert_raises(Failure) do
        NB.all(
          -> { noting(->(_) { raise Failure, "while cleaning" }) { sleep } },
          -> { sleep(0) and raise Failure, "first" },
          -> { 2.times { sleep(0) } and raise Failure, "later" }
        )
      end
      assert_equal "first", error.message
    end
  end

  def test_what_ends_the_process_outranks_an_error
    run_loop do
      assert_raises(SystemExit) do
        NB.all(-> { noting(->(_) { exit 4 }) { sleep } }, -> { sleep(0) and raise Failure })
      end
    end
  end

  def test_exceptions_that_are_no_standard_errors_cancel_the_rest_and_are_raised_here
    run_loop do
      own = Class.new(Exception) # rubocop:disable Lint/InheritException
      [SystemExit, Interrupt, NoMemoryError, NotImplementedError, own].each do |odd|
        seen = []
        assert_raises(odd) { NB.all(-> { waiting(seen) }, -> { raise odd, "x" }) }
        assert_raises(odd) { NB.all(-> { waiting(seen) }, -> { sleep(0) and raise odd, "x" }) }
        assert_equal %i[cancelled cancelled cleaned cleaned], seen.sort
      end
    end
  end

  def test_throw_goes_on_in_the_caller_when_the_rest_has_ended
    run_loop do
      seen = []
      thrown = catch(:out) { NB.all(-> { waiting(seen) }, -> { sleep(0) and throw :out, 3 }) }
      assert_equal 3, thrown
      assert_equal %i[cancelled cleaned], seen
      assert_raises(UncaughtThrowError) { NB.all(-> { throw :nowhere }) }
    end
  end

  def test_break_of_its_block_cancels_the_rest_and_gives_the_value
    run_loop do
      seen = []
      assert_equal(:found, NB.all(1, 2) { |i| i == 1 ? waiting(seen) : (break :found) })
      assert_equal %i[cancelled cleaned], seen
      assert_raises(LocalJumpError) { NB.all(proc { break 1 }) }
      assert_equal([1], NB.all(-> { 1 }))
    end
  end

  def test_the_backtrace_leads_from_the_task_to_who_called
    run_loop do
      error = assert_raises(Failure) { NB.all(-> { failing }) }
      assert_match(/failing/, error.backtrace.first)
      place = error.backtrace.find { |line| line.include?("neverblock/verbs/run") }
      assert_match(/call_block/, place)
      assert_empty error.backtrace.grep(%r{neverblock/verbs/all})
    end
  end

  def test_a_task_whose_fiber_is_killed_is_an_error
    skip "Fiber#kill is Ruby 3.3's" unless Fiber.method_defined?(:kill)
    run_loop do
      error = assert_raises(NB::Error) { NB.all(-> { Fiber.current.kill }) }
      assert_match(/killed/, error.message)
    end
  end

  # --- nested, and from outside ---

  def test_an_error_deep_inside_cancels_all_around_it
    run_loop do
      seen = []
      assert_raises(Failure) do
        inner = -> { NB.all(-> { waiting(seen) }, -> { sleep(0) and raise Failure }) }
        middle = -> { NB.all(-> { waiting(seen) }, inner) }
        NB.all(middle, -> { waiting(seen) })
      end
      assert_equal ([:cancelled] * 3) + ([:cleaned] * 3), seen.sort
    end
  end

  def test_an_error_that_is_rescued_inside_leaves_the_outer_ones_alone
    run_loop do
      rescuing = lambda do
        NB.all(-> { sleep }, -> { raise Failure })
      rescue Failure
        :mended
      end
      assert_equal %i[mended whole], NB.all(rescuing, -> { sleep(0.001) and :whole })
    end
  end

  def test_a_deadline_around_it_cancels_the_tasks_and_is_raised_when_they_have_ended
    run_loop do
      seen = []
      cleaned = []
      error = assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.001) do
          NB.all(-> { waiting(seen) }, -> { with_cleaning(cleaned) { sleep } })
        end
      end
      assert_equal [%i[cancelled cleaned], 1, 0.001], [seen, cleaned.size, error.deadline.seconds]
    end
  end

  def test_a_timeout_around_it_does_so_too
    run_loop do
      seen = []
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.001) { NB.all(-> { waiting(seen) }, -> { waiting(seen) }) }
      end
      assert_equal %i[cancelled cancelled cleaned cleaned], seen.sort
    end
  end

  def test_a_deadline_inside_one_task_is_that_tasks_error
    run_loop do
      seen = []
      assert_raises(NB::DeadlineExceeded) do
        NB.all(-> { waiting(seen) }, -> { NB.deadline(0.001) { sleep } })
      end
      assert_equal %i[cancelled cleaned], seen
    end
  end

  def test_tasks_are_told_the_callers_deadline_and_end_with_it
    run_loop do
      NB.deadline(SECONDS) do
        left = NB.all(-> { sleep(0) and NB.deadline })
        left.each { |seconds| assert_in_delta SECONDS, seconds, SECONDS - 1 }
      end
      taken = false
      assert_raises(NB::DeadlineExceeded) do
        note = ->(e) { taken = e.is_a?(NB::DeadlineExceeded) }
        NB.deadline(0.001) do
          NB.all(-> { noting(note) { NB.deadline(SECONDS) { sleep } } })
        end
      end
      refute taken
      assert_equal [nil], NB.all(-> { NB.deadline })
    end
  end

  def test_a_deadline_that_ends_while_an_error_is_wound_down_is_not_lost
    run_loop do
      error = assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.002) do
          NB.all(-> { with_cleaning([], 0.006) { sleep } }, -> { raise Failure })
        end
      end
      assert_equal 0.002, error.deadline.seconds
    end
  end

  def test_an_ensure_that_waits_for_ever_ends_with_the_next_deadline_further_out
    run_loop do
      seconds = 0.001
      seconds *= 4 until cleaning_ended_by_the_outer_of_two_deadlines?(seconds)
    end
  end

  def test_of_two_deadlines_that_end_while_tasks_wind_down_the_outer_is_raised
    run_loop do
      error = assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.001) do
          NB.deadline(0.003) { NB.all(-> { outlive_cancel(0.01) }) }
        rescue NB::DeadlineExceeded
          flunk "the inner one's"
        end
      end
      assert_equal 0.001, error.deadline.seconds
    end
  end

  def test_a_task_whose_own_fiber_waits_is_cancelled_there
    run_loop do
      seen = []
      assert_raises(Failure) do
        NB.all(
          -> { Fiber.new { waiting(seen) }.resume and seen << :went_on },
          -> { sleep(0) and raise Failure }
        )
      end
      assert_equal %i[cancelled cleaned], seen
    end
  end

  def test_raising_in_the_callers_fiber_cancels_the_tasks
    run_loop do
      seen = []
      begun = Queue.new
      caller = Fiber.schedule do
        assert_raises(Failure) { NB.all(-> { begun << 1 and waiting(seen) }) }
      end
      begun.pop
      caller.raise(Failure)
      sleep(0) while caller.alive?
      assert_equal %i[cancelled cleaned], seen
    end
  end

  def test_a_loop_that_is_left_ends_the_tasks_and_their_ensures_may_wait
    cleaned = []
    assert_raises(Failure) do
      run_loop do
        Fiber.schedule do
          NB.all(-> { with_cleaning(cleaned) { sleep } }, -> { with_cleaning(cleaned) { sleep } })
        end
        raise Failure
      end
    end
    assert_equal 2, cleaned.size
  end

  def test_cancelling_many_that_wait
    run_loop do
      seen = []
      assert_raises(Failure) do
        NB.all(*2000.times) { |i| i == 1999 ? raise(Failure) : waiting(seen) }
      end
      assert_equal 1999 * 2, seen.size
    end
  end

  # What NB.all is made of. A fiber is cancelled again before its turn, and then given what it
  # waited for. The wait returns that, and the next wait raises, once.
  def test_a_fiber_that_is_cancelled_twice_and_then_woken_is_raised_in_once
    run_loop do
      queue = Queue.new
      seen = []
      cancellation = nil
      fiber = Fiber.schedule do
        Fiber.scheduler.cancellable do |handle|
          cancellation = handle
          seen << queue.pop
          assert_raises(Failure) { sleep }
          sleep(0)
          seen << :after
        end
      end
      2.times { assert cancellation.cancel(Failure) }
      queue << :given
      sleep(0) while fiber.alive?
      assert_equal %i[given after], seen
      refute cancellation.cancel(Failure)
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.001) { sleep } }
    end
  end

  # --- elsewhere ---

  def test_without_a_loop_it_makes_one_for_the_time
    bounded do
      gate = Gate.new(2)
      values = NB.all(
        -> { gate.enter && gate.wait_full.then { 1 } },
        -> { gate.enter && gate.wait_full.then { 2 } }
      )
      assert_equal [1, 2], values
      assert_nil Fiber.scheduler
      assert_raises(Failure) { NB.all(-> { sleep }, -> { raise Failure }) }
      assert_equal(3, NB.all(1, 2) { break 3 })
      assert_equal(4, catch(:out) { NB.all(-> { throw :out, 4 }) })
      assert_nil Fiber.scheduler
    end
  end

  def test_without_a_loop_what_is_raised_into_the_thread_cancels_the_tasks
    bounded do
      begun = 0
      cleaned = []
      waits = -> { with_cleaning(cleaned) { (begun += 1) && sleep } }
      # The time may be over before a task has begun.
      assert_raises(Timeout::Error) { Timeout.timeout(0.01) { NB.all(waits, waits) } }
      assert_raises(NB::DeadlineExceeded) { NB.deadline(0.01) { NB.all(waits) } }
      assert_equal begun, cleaned.size
      here = Thread.current
      assert_raises(Failure) { NB.all(waits, -> { Thread.new { here.raise(Failure) } and sleep }) }
      assert_equal begun, cleaned.size
      assert_operator begun, :>=, 1
      assert_nil Fiber.scheduler
    end
  end

  def test_without_a_loop_a_killed_thread_cleans_up_too
    cleaned = []
    begun = Queue.new
    thread = Thread.new { NB.all(-> { with_cleaning(cleaned) { begun << 1 and sleep } }) }
    bounded do
      begun.pop
      thread.kill.join
    end
    assert_equal 1, cleaned.size
  end

  def test_without_a_loop_a_signal_ends_the_tasks
    script = <<~RUBY
      require "neverblock"
      begin
        NB.all(
          -> { begin; sleep; ensure; sleep(0.001); puts "cleaned"; end },
          -> { sleep(0.001); Process.kill(:INT, Process.pid); sleep }
        )
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    assert_equal [0, "cleaned\ninterrupted\n", ""], ruby(script)
  end

  def test_where_fibers_keep_the_thread_they_are_called_one_after_the_other
    run_loop do
      order = []
      values = NB.neverblock(false) do
        NB.all(-> { order << 1 and sleep(0.001) and order << 2 and :a }, -> { order << 3 and :b })
      end
      assert_equal [%i[a b], [1, 2, 3]], [values, order]
      assert_raises(Failure) { NB.neverblock(false) { NB.all(-> { raise Failure }, -> { flunk }) } }
    end
  end

  def test_in_an_enumerators_body
    run_loop do
      body = Enumerator.new do |y|
        2.times { |i| y << NB.all(-> { sleep(0.001) and i }, -> { i + 1 }) }
      end
      assert_equal [[0, 1], [1, 2]], [body.next, body.next]
    end
  end

  private

  # Waits until it is cancelled and says so.
  def waiting(seen)
    sleep
  rescue NB::Cancelled
    seen << :cancelled
    raise
  ensure
    seen << :cleaned
  end

  def noting(note)
    yield
  rescue Exception => e # rubocop:disable Lint/RescueException -- what it was is shown
    note.call(e)
    raise
  end

  # As a client library does that tries again whatever went wrong.
  def stubborn_client
    yield
    sleep
  rescue StandardError
    retry
  end

  def with_cleaning(cleaned, seconds = 0.001)
    yield
  ensure
    seconds ? sleep(seconds) : sleep
    cleaned << Fiber.current
  end

  # On a busy machine the two may come at once, which is one cancelling.
  # The cleaning is let go then.
  def cleaning_ended_by_the_outer_of_two_deadlines?(seconds)
    ended = false
    let_go = Queue.new
    Fiber.schedule { sleep(seconds * 20) and let_go << true }
    assert_raises(NB::DeadlineExceeded) do
      NB.deadline(seconds * 4) do
        NB.deadline(seconds) { NB.all(-> { clean_until(let_go) { ended = true } }) }
      end
    end
    ended
  end

  # Cleans up until it is let go; yields when that is ended otherwise.
  def clean_until(let_go)
    sleep
  ensure
    begin
      let_go.pop
    rescue NB::Cancelled
      yield
      raise
    end
  end

  # Goes on for so long after it was cancelled, whatever else is raised.
  def outlive_cancel(seconds)
    sleep
  rescue NB::Cancelled
    over = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    begin
      sleep(0.001) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < over
    rescue NB::Cancelled
      retry
    end
  end

  def failing
    raise Failure
  end
end
