# frozen_string_literal: true

require_relative "verbs_case"
require_relative "../../support/killed_fiber"
require "timeout"

# NB.offload: where the work runs, what comes back, the bounded threads, a caller that is cancelled,
# and what one call leaves to the next.
class OffloadTest < VerbsCase
  # A pool of its own for tests of the pool itself.
  def pool(size, idle_s: SECONDS)
    NB::Offload::Pool.new(size, idle_s: idle_s)
  end

  def offload(pool, on_cancel: :leave, &block)
    pool.call(NB::Offload::Job.new(block), on_cancel)
  end

  # --- where ---

  def test_the_work_runs_on_another_thread_while_other_fibers_of_this_one_go_on
    run_loop do
      let_go = Queue.new
      Fiber.schedule { let_go << Thread.current }
      worker, loop_thread = NB.offload { [Thread.current, let_go.pop] }
      assert_same Thread.current, loop_thread
      refute_same Thread.current, worker
    end
  end

  # A handler may take no lock, and runs between any two steps of a fiber. So does a finalizer.
  # The hook of Ruby 3.4 removes the file.
  def test_in_a_signals_handler_it_calls_the_block
    script = <<~RUBY
      require "neverblock"
      require "tempfile"
      path = Tempfile.create("offload").path
      trap(:USR2) { print NB.offload { Thread.current == Thread.main } && File.unlink(path) }
      NB.run { Process.kill(:USR2, Process.pid) }
      print File.exist?(path)
    RUBY
    status, out, err = ruby(script)
    assert_equal [0, "1false"], [status, out], err
  end

  def test_works_overlap
    run_loop do
      inside = Queue.new
      NB.all(*10.times) do
        NB.offload do
          inside << 1
          Thread.pass until inside.size == 10
        end
      end
    end
  end

  def test_outside_a_loop_in_blocking_mode_and_inside_offloaded_work_the_block_is_simply_called
    bounded { assert_same(Thread.current, NB.offload { Thread.current }) }
    run_loop do
      assert_same(Thread.current, NB.neverblock(false) { NB.offload { Thread.current } })
      worker, inner = NB.offload { [Thread.current, NB.offload { Thread.current }] }
      assert_same worker, inner
    end
  end

  def test_offload_inside_offload_does_not_want_a_second_thread
    one = pool(1)
    run_loop { assert_equal(3, offload(one) { NB.offload { NB.offload { 3 } } }) }
  end

  def test_a_loop_of_its_own_may_run_inside
    run_loop { assert_equal([1, 2], NB.offload { NB.all(-> { sleep(0) and 1 }, -> { 2 }) }) }
  end

  # --- what comes back ---

  def test_values_come_back
    run_loop do
      [nil, false, 1, :a].each do |value|
        back = NB.offload { value }
        value.nil? ? assert_nil(back) : assert_equal(value, back)
      end
    end
  end

  def test_next_break_and_throw_do_what_they_would_without_the_thread
    run_loop do
      assert_equal(1, NB.offload { next 1 })
      reached = false
      value = NB.offload do
        break 2
        reached = true # rubocop:disable Lint/UnreachableCode -- what is shown
      end
      assert_equal [2, false], [value, reached]
      assert_equal(3, catch(:out) { NB.offload { throw :out, 3 } || flunk })
      assert_raises(UncaughtThrowError) { NB.offload { throw :nowhere } }
    end
  end

  def test_return_and_a_break_of_another_proc_are_the_errors_they_are
    orphan = proc { break 4 }
    run_loop do
      assert_equal(:return, assert_raises(LocalJumpError) { returning }.reason)
      assert_equal(:break, assert_raises(LocalJumpError) { NB.offload { call(orphan) } }.reason)
    end
  end

  def test_an_exception_comes_back_and_its_backtrace_goes_on_with_the_callers
    run_loop do
      error = assert_raises(Failure) { NB.offload { failing } }
      assert_match(/failing/, error.backtrace.first)
      assert_equal 3, error.backtrace.grep(/#{__method__}/).size,
                   "the block, the call, and assert_raises around it"
      place = error.backtrace.find { |line| line.include?("neverblock/verbs/run") }
      assert_match(/call_block/, place)
      assert_empty error.backtrace.grep(%r{neverblock/verbs/offload})
    end
  end

  def test_a_frozen_exception_comes_back_as_it_is
    run_loop do
      error = Failure.new("cold").freeze
      assert_equal("cold", assert_raises(Failure) { NB.offload { raise error } }.message)
    end
  end

  def test_exceptions_that_are_no_standard_errors_come_back_too
    run_loop do
      own = Class.new(Exception) # rubocop:disable Lint/InheritException
      [SystemExit, Interrupt, NoMemoryError, SecurityError, own].each do |odd|
        assert_raises(odd) { NB.offload { raise odd, "x" } }
      end
      assert_equal(3, assert_raises(SystemExit) { NB.offload { exit 3 } }.status)
    end
  end

  def test_work_that_ends_its_thread_costs_its_caller_an_error_and_the_pool_nothing
    one = pool(1)
    run_loop do
      [-> { Thread.exit }, -> { Thread.current.kill }].each do |deadly|
        assert_match(/ended its thread/, assert_raises(NB::Error) { offload(one, &deadly) }.message)
        assert_equal(1, offload(one) { 1 })
      end
      assert_operator one.figures[:threads], :<=, 1
    end
  end

  def test_work_behind_one_that_ends_its_thread_is_still_done
    one = pool(1)
    run_loop do
      values = NB.all(*10.times) do |i|
        offload(one) { i.even? ? Thread.exit : i }
      rescue NB::Error
        :lost
      end
      assert_equal((0...10).map { |i| i.even? ? :lost : i }, values)
    end
  end

  def test_a_stray_fiber_yield_is_an_error
    run_loop do
      assert_raises(FiberError) { NB.offload { Fiber.yield } }
      assert_raises(NB::Error) { NB.offload { stubborn } }
      assert_equal(1, NB.offload { 1 })
    end
  end

  # The kernel refuses more processes and threads to a user who has as many as its limit says.
  # root has no such limit.
  NO_MORE_THREADS = <<~RUBY
    no_more_threads = lambda do
      Process::Sys.setresuid(65_534, 65_534, 65_534) if Process.uid.zero?
      Process.setrlimit(:NPROC, 1, Process.getrlimit(:NPROC).last)
      Thread.new { nil }
      abort "a thread was made"
    rescue ThreadError
      nil
    end
  RUBY

  def needs_a_ruby_that_outlives_a_refused_thread
    if RUBY_VERSION.start_with?("3.3.")
      skip "after a thread that was refused Ruby 3.3 sleeps forever (Bug #20779)"
    end
  end

  def test_without_a_thread_waiting_work_fails_and_the_pool_goes_on_when_there_is_one
    needs_a_ruby_that_outlives_a_refused_thread
    script = <<~RUBY
      require "neverblock"
      #{NO_MORE_THREADS}
      pool = NB::Offload::Pool.new(1, idle_s: #{SECONDS})
      work = ->(&block) { pool.call(NB::Offload::Job.new(block), :leave) }
      seen = NB.run do
        begun, go = Queue.new, Queue.new
        calls = Array.new(3) do |i|
          -> { work.call { (begun << i) && go.pop && Thread.exit } rescue $!.class }
        end
        ending = lambda do
          begun.pop
          sleep 0 until pool.figures[:waiting] == 2
          no_more_threads.call
          go << true
        end
        NB.deadline(#{SECONDS}) { NB.all(*calls, ending).first(3) }
      end
      puts seen, pool.figures == { threads: 0, idle: 0, waiting: 0 }
      Process.setrlimit(:NPROC, *[Process.getrlimit(:NPROC).last] * 2)
      puts NB.run { work.call { 1 } }
    RUBY
    out = "NeverBlock::Error\nNeverBlock::Offload::NoWorker\nNeverBlock::Offload::NoWorker\n" \
          "true\n1\n"
    assert_equal [0, out, ""], ruby(script)
  end

  def test_where_no_more_threads_can_be_made_those_that_are_there_do_the_work
    needs_a_ruby_that_outlives_a_refused_thread
    script = <<~RUBY
      require "neverblock"
      #{NO_MORE_THREADS}
      NB.run do
        inside, go = Queue.new, Queue.new
        calls = Array.new(3) do |i|
          -> { NB.offload { (inside << i) && go.pop && (i.zero? || Thread.exit) } rescue i }
        end
        ending = lambda do
          3.times { inside.pop }
          no_more_threads.call
          3.times { go << true }
          NB.all(*10.times) { |i| NB.offload { i } }
        end
        print NB.all(*calls, ending)
      end
    RUBY
    assert_equal [0, "[true, 1, 2, #{(0...10).to_a}]", ""], ruby(script)
  end

  # --- threads ---

  def test_there_are_never_more_threads_than_the_bound_and_the_first_come_is_the_first_served
    three = pool(3)
    begun = Queue.new
    go = Queue.new
    order = run_loop do
      let_go = lambda do
        sleep 0 until three.figures == { threads: 3, idle: 0, waiting: 27 }
        first = Array.new(3) { begun.pop }.sort
        # Each that ends lets the next begin.
        first + Array.new(27) { go << 1 and begun.pop }.tap { 3.times { go << 1 } }
      end
      calls = Array.new(30) { |i| -> { offload(three) { begun << i and go.pop } } }
      NB.all(*calls, let_go).last
    end
    assert_equal (0...30).to_a, order
  end

  def test_one_thread_serves_in_the_order_of_the_calls
    one = pool(1)
    begun = []
    run_loop { NB.all(*20.times) { |i| offload(one) { begun << i } } }
    assert_equal (0...20).to_a, begun
  end

  def test_threads_are_made_when_they_are_needed_and_used_again
    lazy = pool(5)
    assert_equal 0, lazy.figures[:threads]
    run_loop do
      20.times do
        offload(lazy) { 1 }
        # It answers before it is free again.
        Thread.pass until lazy.figures.then { |now| now[:idle] == now[:threads] }
      end
      assert_equal 1, lazy.figures[:threads]
    end
  end

  def test_a_thread_that_has_had_nothing_to_do_for_a_while_ends
    short = pool(5, idle_s: 0.01)
    run_loop do
      ended = NB.all(*5.times) { offload(short) { Thread.current } }.first
      assert ended.join(SECONDS)
      Thread.pass until short.figures == { threads: 0, idle: 0, waiting: 0 }
      assert_equal(1, offload(short) { 1 })
    end
  end

  def test_the_bound_can_be_raised_and_lowered
    changed = pool(1)
    run_loop do
      changed.size = 4
      inside = Queue.new
      NB.all(*4.times) do
        offload(changed) do
          inside << 1
          Thread.pass until inside.size == 4
        end
      end
      changed.size = 2
      Thread.pass until changed.figures[:threads] == 2
      assert_equal((0...10).to_a, NB.all(*10.times) { |i| offload(changed) { i } })
      assert_operator changed.figures[:threads], :<=, 2
    end
  end

  def test_lowered_while_work_waits_it_is_all_done
    changed = pool(4)
    run_loop do
      gate = Queue.new
      works = Fiber.schedule do
        assert_equal((0...40).to_a, NB.all(*40.times) { |i| offload(changed) { gate.pop && i } })
      end
      changed.size = 1
      40.times { gate << true }
      sleep(0) while works.alive?
      Thread.pass until changed.figures[:threads] <= 1
    end
  end

  def test_the_settings
    before = NB.offload_threads
    assert_equal 32, before
    NB.offload_threads = 3
    assert_equal 3, NB.offload_threads
    [0, -1, 2.5, nil, "3"].each do |odd|
      error = assert_raises(ArgumentError) { NB.offload_threads = odd }
      assert_includes error.message, odd.inspect
    end
    assert_equal 3, NB.offload_threads
  ensure
    NB.offload_threads = before
  end

  def test_arguments_are_checked
    assert_raises(ArgumentError) { NB.offload }
    error = assert_raises(ArgumentError) { NB.offload(on_cancel: :run) { 1 } }
    assert_includes error.message, ":run"
  end

  def test_a_thousand_at_once
    run_loop do
      assert_equal((0...1000).to_a, NB.all(*1000.times) { |i| NB.offload { sleep(0.001) && i } })
      assert_operator NB::Offload.pool.figures[:threads], :<=, NB.offload_threads
    end
  end

  def test_several_threads_with_loops_share_the_pool
    two = pool(2)
    sums = Array.new(4) do
      Thread.new { NB.run { NB.all(*50.times) { |i| offload(two) { i } }.sum } }
    end
    bounded { assert_equal [1225] * 4, sums.map(&:value) }
    assert_operator two.figures[:threads], :<=, 2
  end

  # --- cancelled callers ---

  def test_a_cancelled_caller_goes_on_at_once_and_the_work_ends_by_itself
    run_loop do
      begun = Queue.new
      let_go = Queue.new
      done = Queue.new
      assert_raises(Failure) do
        NB.all(
          -> { NB.offload { begun << 1 and let_go.pop and done << :ended } },
          -> { begun.pop and raise Failure }
        )
      end
      assert_empty done
      let_go << true
      assert_equal :ended, done.pop
    end
  end

  def test_work_that_has_not_begun_is_never_begun_when_its_caller_is_cancelled
    one = pool(1)
    run_loop do
      begun = []
      taken = Queue.new
      let_go = Queue.new
      first = Fiber.schedule { offload(one) { taken << true and let_go.pop } }
      taken.pop
      assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.002) { offload(one) { begun << :second } }
      end
      assert_equal 0, one.figures[:waiting]
      let_go << true
      sleep(0) while first.alive?
      assert_equal(:third, offload(one) { :third })
      assert_empty begun
    end
  end

  def test_work_that_may_be_interrupted_is_and_nothing_of_it_reaches_the_next
    one = pool(1)
    run_loop do
      20.times do
        ended = Queue.new
        begun = Queue.new
        fiber = Fiber.schedule do
          NB.deadline(SECONDS) do
            offload(one, on_cancel: :interrupt) { interruptible(begun, ended) }
          end
        rescue Failure
          nil
        end
        begun.pop
        fiber.raise(Failure)
        assert_equal :interrupted, ended.pop
        assert_equal(1, offload(one) { Thread.pass || 1 })
      end
      assert_equal 1, one.figures[:threads]
    end
  end

  def test_an_interrupt_that_comes_as_the_work_ends_does_not_reach_the_next
    one = pool(1)
    run_loop do
      200.times do |i|
        begin
          NB.deadline(0.0001 * (i % 5)) { offload(one, on_cancel: :interrupt) { Thread.pass } }
        rescue NB::DeadlineExceeded
          nil
        end
        assert_equal(i, offload(one) { Thread.pass || i })
      end
    end
  end

  # The race of the test before, made by hand.
  # Ruby 3.1 crashes when it is asked for pending interrupts by class.
  def test_an_interrupt_that_the_work_has_not_taken_is_dropped
    dropped = lambda do
      Thread.handle_interrupt(NB::Cancelled => :never) do
        2.times { Thread.current.raise(NB::Cancelled.new(reason: Failure.new)) }
        Thread.current.send(:drop_late)
        !Thread.pending_interrupt?
      end
    end
    run_loop { assert NB.offload(&dropped) }
  end

  def test_a_caller_that_has_to_wait_is_cancelled_when_the_work_has_ended
    run_loop do
      begun = Queue.new
      let_go = Queue.new
      ended = false
      fiber = Fiber.schedule do
        assert_raises(Failure) do
          NB.offload(on_cancel: :wait) { begun << 1 and let_go.pop and ended = true }
        end
        assert ended
      end
      begun.pop
      fiber.raise(Failure)
      3.times { sleep(0) }
      assert fiber.alive?
      let_go << true
      sleep(0) while fiber.alive?
      assert ended
    end
  end

  # Cancelled first, it is killed while it waits for the end.
  def test_a_killed_caller_that_has_to_wait_ends_when_the_work_has_ended
    [[], [Failure]].each do |cancels|
      run_loop do
        begun = Queue.new
        let_go = Queue.new
        order = []
        fiber = Fiber.schedule do
          NB.offload(on_cancel: :wait) { begun << 1 and let_go.pop and order << :work }
          order << :went_on
        ensure
          order << :caller
        end
        begun.pop
        cancels.each { |error| fiber.raise(error) and sleep(0) }
        sleep(0)
        KilledFiber.kill(fiber)
        3.times { sleep(0) }
        assert_empty order
        let_go << true
        sleep(0) while fiber.alive?
        assert_equal %i[work caller], order
      end
    end
  end

  def test_of_several_cancels_of_a_caller_that_has_to_wait_the_outer_deadline_counts
    run_loop do
      let_go = Queue.new
      error = assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.002) do
          NB.deadline(0.004) do
            Fiber.schedule { sleep(0.01) and let_go << 1 }
            NB.offload(on_cancel: :wait) { let_go.pop }
          end
        rescue NB::DeadlineExceeded
          flunk "the inner one's"
        end
      end
      assert_equal 0.002, error.deadline.seconds
    end
  end

  def test_timeout_ends_the_wait_for_it
    run_loop do
      let_go = Queue.new
      assert_raises(Timeout::Error) { Timeout.timeout(0.002) { NB.offload { let_go.pop } } }
      let_go << 1
    end
  end

  # --- C functions that may be offloaded (RB_NOGVL_OFFLOAD_SAFE) ---

  def test_inflating_a_large_string_lets_other_fibers_go_on_from_ruby_34_on
    unless NB::Scheduler.method_defined?(:blocking_operation_wait)
      skip "blocking_operation_wait is Ruby 3.4's"
    end
    require "zlib"
    deflated = Zlib.deflate("never block " * 1_000_000)
    run_loop do
      inflated = Queue.new
      fiber = Fiber.schedule { inflated << Zlib.inflate(deflated).bytesize }
      assert fiber.alive?, "it was inflated before anybody else came to run"
      assert_equal 12_000_000, inflated.pop
    end
  end

  def test_inflating_under_a_deadline_is_whole_or_ended_and_never_corrupt
    unless NB::Scheduler.method_defined?(:blocking_operation_wait)
      skip "blocking_operation_wait is Ruby 3.4's"
    end
    require "zlib"
    deflated = Zlib.deflate("never block " * 50_000)
    run_loop do
      30.times do |i|
        assert_equal(600_000, NB.deadline(0.0001 * i) { Zlib.inflate(deflated).bytesize })
      rescue NB::DeadlineExceeded
        nil
      end
    end
  end

  # --- what one call leaves to the next ---

  def test_fiber_locals_and_thread_variables_do_not_outlive_the_call
    one = pool(1)
    run_loop do
      offload(one) do
        Thread.current[:local] = 1
        Thread.current.thread_variable_set(:variable, 2)
      end
      left = offload(one) do
        [Thread.current[:local], Thread.current.thread_variable_get(:variable)]
      end
      assert_equal [nil, nil], left
    end
  end

  def test_storage_is_the_callers_and_what_the_work_changes_in_it_stays_there
    skip "Fiber storage is Ruby 3.2's" unless Fiber.method_defined?(:storage)
    one = pool(1)
    run_loop do
      Fiber[:who] = :first
      seen = offload(one) { Fiber[:who].tap { Fiber[:who] = Fiber[:other] = :changed } }
      assert_equal :first, seen
      assert_equal [:first, nil], [Fiber[:who], Fiber[:other]]
      Fiber[:who] = nil
      assert_equal([nil, nil], offload(one) { [Fiber[:who], Fiber[:other]] })
    end
  end

  def test_the_callers_deadline_is_told_and_does_not_end_the_work
    run_loop do
      assert_nil(NB.offload { NB.deadline })
      NB.deadline(SECONDS) do
        assert_in_delta(SECONDS, NB.offload { NB.deadline }, SECONDS)
        assert_raises(NB::DeadlineExceeded) { NB.offload { NB.deadline(0.002) { sleep } } }
      end
      assert_equal 0.0, left_after_a_deadline_in_work_that_had_begun
    end
  end

  # On a busy machine a short time may be over before a thread has taken the work.
  # The work then never begins.
  def left_after_a_deadline_in_work_that_had_begun
    begun = Queue.new
    over = Queue.new
    left = Queue.new
    seconds = 0.001
    work = -> { begun << true and over.pop and left << NB.deadline }
    while begun.empty?
      assert_raises(NB::DeadlineExceeded) { NB.deadline(seconds *= 2) { NB.offload(&work) } }
    end
    over << true
    left.pop
  end
  private :left_after_a_deadline_in_work_that_had_begun

  # --- processes ---

  Kept = Class.new

  # Some may be kept all the same: what is left on a stack may look like a reference.
  def test_an_idle_worker_keeps_nothing_of_its_last_work
    ten = pool(10)
    begun, go = Array.new(2) { Queue.new }
    run_loop do
      let_go = -> { 10.times { begun.pop } && 10.times { go << true } }
      NB.all(*Array.new(10) { -> { with_kept(ten, Kept.new, begun, go) } }, let_go)
    end
    assert_equal 10, ten.figures[:threads]
    GC.start
    assert_operator ObjectSpace.each_object(Kept).count, :<, 5
  end

  def test_a_forked_child_has_threads_of_its_own
    used = pool(2)
    run_loop do
      offload(used) { 1 }
      pid = fork { exit!(NB.run { offload(used) { used.figures[:threads] + 6 } }) }
      assert_equal 7, Process.wait2(pid).last.exitstatus
    end
  end

  def test_a_child_forked_while_work_runs_and_waits_has_none_of_it
    used = pool(1)
    run_loop do
      let_go = Queue.new
      fibers = Array.new(2) { Fiber.schedule { offload(used) { let_go.pop } } }
      pid = fork do
        NB.run { offload(used) { 1 } }
        exit!(used.figures[:waiting] + 8)
      end
      assert_equal 8, Process.wait2(pid).last.exitstatus
      2.times { let_go << 1 }
      sleep(0) while fibers.any?(&:alive?)
    end
  end

  def test_work_that_never_ends_does_not_hold_up_the_end_of_the_process
    script = <<~RUBY
      require "neverblock"
      NB.run do
        NB.deadline(0.01) { NB.offload { sleep } }
      rescue NB::DeadlineExceeded
        puts "gone"
      end
    RUBY
    assert_equal [0, "gone\n", ""], ruby(script)
  end

  private

  def failing
    raise Failure
  end

  def with_kept(pool, kept, begun, go)
    offload(pool) { begun << kept.class and go.pop }
  end

  def returning
    NB.offload { return 1 }
  end

  def call(callable)
    callable.call
  end

  def stubborn
    Fiber.yield
  rescue FiberError
    retry
  end

  def interruptible(begun, ended)
    begun << 1
    sleep
  rescue NB::Cancelled
    ended << :interrupted
    raise
  end
end
