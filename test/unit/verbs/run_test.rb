# frozen_string_literal: true

require_relative "verbs_case"

# NB.run: what it returns and when, every way out of it, where it may be called.
class RunTest < VerbsCase
  def test_it_returns_what_the_block_returns
    assert_equal 5, run_loop { 5 }
    assert_equal(6, run_loop { sleep(0.001) and 6 })
  end

  def test_the_block_runs_in_a_fiber_that_parks_and_others_run_meanwhile
    gate = Gate.new(2)
    run_loop do
      refute_predicate Fiber.current, :blocking?
      Fiber.schedule { gate.enter and gate.wait_full }
      gate.enter
      gate.wait_full
    end
    assert gate.full?
  end

  def test_it_waits_for_all_that_the_block_has_spawned_and_what_that_spawns
    order = []
    run_loop do
      Fiber.schedule do
        sleep(0.002)
        Fiber.schedule { sleep(0.002) and order << :grandchild }
        order << :child
      end
      order << :block
    end
    assert_equal %i[block child grandchild], order
  end

  def test_the_thread_has_no_scheduler_afterwards_and_may_run_another_loop
    bounded do
      3.times do |i|
        assert_equal(i, NB.run { sleep(0) and i })
        assert_nil Fiber.scheduler
      end
    end
  end

  def test_inside_a_loop_that_runs_it_only_calls_the_block
    run_loop do
      outer = Fiber.current
      scheduler = Fiber.scheduler
      late = nil
      assert_equal(:value, NB.run do
        assert_same outer, Fiber.current
        Fiber.schedule { sleep(0.001) and late = true }
        :value
      end)
      assert_nil late
      assert_same scheduler, Fiber.scheduler
    end
  end

  def test_inside_another_scheduler_it_only_calls_the_block
    bounded do
      other = Class.new(NeverBlock::Scheduler).new
      Fiber.set_scheduler(other)
      Fiber.schedule { assert_same other, NB.run { Fiber.scheduler } }
      assert_same other, Fiber.scheduler
    end
  end

  def test_it_needs_a_block
    assert_raises(ArgumentError) { NB.run }
  end

  # --- ways out ---

  def test_what_the_block_raises_leaves_it_with_its_backtrace
    [
      -> { raise KeyError, "at once" },
      -> { sleep(0.001) and raise KeyError, "after a wait" }
    ].each do |block|
      bounded do
        error = assert_raises(KeyError) { NB.run(&block) }
        assert_match(/run_test\.rb/, error.backtrace.first)
        assert_nil Fiber.scheduler
      end
    end
  end

  def test_an_exception_ends_the_fibers_that_still_wait_so_that_their_ensure_runs
    ended = []
    r, w = IO.pipe
    bounded do
      assert_raises(KeyError) do
        NB.run do
          waits = [-> { sleep }, -> { Queue.new.pop }, -> { r.read(1) }, -> { sleep(60) }]
          waits.each_with_index do |wait, i|
            Fiber.schedule do
              wait.call
            ensure
              sleep(0.001) # an ensure may wait
              ended << i
            end
          end
          raise KeyError
        end
      end
    end
    assert_equal [0, 1, 2, 3], ended.sort
  ensure
    [r, w].each(&:close)
  end

  def test_a_thousand_fibers_are_ended_and_none_is_reported
    ended = 0
    _, told = capture_io do
      bounded do
        assert_raises(KeyError) do
          NB.run do
            1000.times do
              Fiber.schedule do
                sleep
              ensure
                ended += 1
              end
            end
            raise KeyError
          end
        end
      end
    end
    assert_equal 1000, ended
    assert_empty told
  end

  def test_fibers_that_the_ensure_of_others_spawns_are_ended_too
    ended = []
    bounded do
      assert_raises(KeyError) do
        NB.run do
          Fiber.schedule do
            sleep
          ensure
            Fiber.schedule do
              sleep
            ensure
              ended << :late
            end
          end
          raise KeyError
        end
      end
    end
    assert_equal [:late], ended
  end

  def test_a_fiber_that_will_not_end_is_left_after_a_bound_and_said
    _, told = capture_io do
      with_stop_seconds(0.05) do
        bounded do
          assert_raises(KeyError) do
            NB.run do
              Fiber.schedule do
                sleep
              rescue Exception # rubocop:disable Lint/RescueException -- bad manners are tested
                sleep
              end
              raise KeyError
            end
          end
          assert_nil Fiber.scheduler
          assert_equal(1, NB.run { 1 })
        end
      end
    end
    assert_match(/\ANB\.run: 1 fiber had not ended/, told)
  end

  def test_an_exception_of_a_spawned_fiber_is_reported_and_the_loop_goes_on
    value = nil
    _, told = capture_io do
      value = run_loop do
        Fiber.schedule { raise KeyError, "of a fiber" }
        sleep(0.001) and :went_on
      end
    end
    assert_equal :went_on, value
    assert_match(/of a fiber/, told)
  end

  def test_exit_in_the_block_and_in_a_fiber_leaves_it
    [
      -> { exit(3) },
      -> { sleep(0.001) and exit(3) },
      -> { Fiber.schedule { sleep(0.001) and exit(3) } and sleep }
    ].each do |block|
      bounded do
        assert_equal 3, assert_raises(SystemExit) { NB.run(&block) }.status
        assert_nil Fiber.scheduler
      end
    end
  end

  def test_thread_raise_leaves_it_and_the_block_is_ended
    [KeyError, NotImplementedError, SecurityError].each do |error|
      ended = Queue.new
      assert_raised_from_outside(error) { ended << true }
      assert_equal 1, ended.size
    end
  end

  def test_what_the_block_raises_while_it_is_ended_does_not_hide_why
    assert_raised_from_outside(KeyError) { raise Failure }
  end

  def test_thread_kill_ends_the_block_and_everything_it_spawned
    ended = Queue.new
    inside = Queue.new
    thread = Thread.new do
      NB.run do
        Fiber.schedule do
          sleep
        ensure
          ended << :fiber
        end
        inside << true
        sleep
      ensure
        ended << :block
      end
    end
    inside.pop
    thread.kill
    assert bounded { thread.join }
    assert_equal %i[block fiber], Array.new(2) { ended.pop(true) }.sort
  end

  def test_a_fiber_that_kills_its_thread_ends_the_loop
    ended = []
    thread = Thread.new do
      NB.run do
        Fiber.schedule { sleep(0.001) and Thread.current.kill }
        sleep
      ensure
        ended << true
      end
    end
    assert bounded { thread.join }
    assert_equal [true], ended
  end

  def test_interrupt_leaves_it_and_the_process_ends_as_ruby_does
    status, out, = ruby(<<~RUBY)
      require "neverblock"
      begin
        NB.run do
          Fiber.schedule { sleep(0.001) and Process.kill(:INT, Process.pid) }
          begin
            sleep
          ensure
            puts "ensure"
          end
        end
      rescue Interrupt
        puts "interrupt \#{Fiber.scheduler.inspect}"
        exit 4
      end
    RUBY
    assert_equal [4, "ensure\ninterrupt nil\n"], [status, out]
  end

  def test_throw_reaches_the_catch_outside
    ended = []
    bounded do
      value = catch(:found) do
        NB.run do
          Fiber.schedule do
            sleep
          ensure
            ended << :fiber
          end
          sleep(0.001)
          throw :found, 42
        end
      end
      assert_equal 42, value
      assert_nil Fiber.scheduler
    end
    assert_equal [:fiber], ended
  end

  def test_throw_without_a_catch_raises_as_ever
    assert_raises(UncaughtThrowError) { run_loop { throw :nobody } }
  end

  def test_break_returns_its_value_from_wherever_in_the_block
    bounded do
      assert_equal(1, NB.run { break 1 })
      assert_equal(2, NB.run { sleep(0.001) and break 2 })
      assert_equal(3, NB.run do
        raise KeyError
      rescue KeyError
        break 3
      end)
      assert_nil Fiber.scheduler
    end
  end

  def test_break_of_an_orphaned_proc_inside_is_the_error_it_is_everywhere
    assert_raises(LocalJumpError) { run_loop { orphan.call } }
  end

  # Ruby's own ways to leave a fiber behind must not look like a block that has returned.
  def test_a_block_whose_fiber_is_left_behind_is_an_error
    error = assert_raises(NB::Error) do
      run_loop do
        other = Fiber.schedule { sleep(0.001) }
        other.transfer
        flunk
      end
    end
    assert_match(/Fiber#transfer/, error.message)
  end

  # --- places ---

  # Ruby makes the fiber that forks the first of the child (rb_fiber_atfork, cont.c).
  # The child ends with that fiber.
  def test_a_child_forked_in_the_block_ends_with_it_without_the_parents_fibers
    status, out, err = ruby(<<~RUBY)
      require "neverblock"
      $stdout.sync = true
      parent = Process.pid
      NB.run do
        Fiber.schedule do
          sleep(0.01)
          puts "fiber of the \#{parent == Process.pid ? "parent" : "child"}"
        end
        pid = fork
        sleep(0.001)
        Process.wait(pid) if pid
        puts "child \#{$?.exitstatus}" if pid
        exit(7) unless pid
      end
      puts "after"
    RUBY
    assert_equal "", err
    assert_equal 0, status
    assert_equal ["after", "child 7", "fiber of the parent"], out.lines(chomp: true).sort
  end

  def test_a_child_forked_with_a_block_may_run_a_loop_of_its_own
    bounded do
      NB.run do
        pid = fork { exit!(NB.run { Fiber.schedule { sleep(0.001) } and 7 }) }
        assert_equal 7, Process.wait2(pid).last.exitstatus
      end
    end
  end

  def test_it_may_be_called_in_a_fiber_that_nobody_scheduled
    bounded do
      assert_equal(3, Fiber.new { NB.run { sleep(0.001) and 3 } }.resume)
      fiber = Fiber.new(blocking: true) do
        NB.run { Fiber.schedule { sleep(0.001) } and sleep(0.001) and 4 }
      end
      assert_equal 4, fiber.resume
    end
  end

  def test_names_are_connected_to_without_stopping_the_loop_on_new_rubies
    require "socket"
    skip "Socket.tcp_fast_fallback is Ruby 3.4's" unless Socket.respond_to?(:tcp_fast_fallback)
    run_loop { refute Socket.tcp_fast_fallback }
  end

  # A stand-in for EventMachine, whose two questions are all that is asked.
  def test_inside_eventmachines_reactor_it_says_how_to_mend_that
    with_event_machine do
      error = bounded { assert_raises(NB::Error) { NB.run { flunk } } }
      assert_match(/EventMachine/, error.message)
      assert_match(/NB\.run \{ \} in the place of EM\.run \{ \}/, error.message)
      assert_nil Fiber.scheduler
    end
  end

  def test_a_reactor_on_another_thread_is_no_hindrance
    with_event_machine(here: false) { assert_equal(1, run_loop { 1 }) }
  end

  private

  # The block is called while NB.run ends what it has run.
  def assert_raised_from_outside(error, &ending)
    inside = Queue.new
    thread = Thread.new do
      Thread.current.report_on_exception = false
      NB.run do
        inside << true
        sleep
      ensure
        ending.call
      end
    end
    inside.pop
    thread.raise(error, "from outside")
    assert_raises(error) { bounded { thread.value } }
  end

  def orphan
    proc { break 1 }
  end

  def with_stop_seconds(seconds)
    was = NB::Run::STOP_SECONDS
    redefine(seconds)
    yield
  ensure
    redefine(was)
  end

  def redefine(seconds)
    NB::Run.send(:remove_const, :STOP_SECONDS)
    NB::Run.const_set(:STOP_SECONDS, seconds)
  end

  def with_event_machine(here: true)
    Object.const_set(:EventMachine, Module.new do
      define_singleton_method(:reactor_running?) { true }
      define_singleton_method(:reactor_thread?) { here }
    end)
    yield
  ensure
    Object.send(:remove_const, :EventMachine)
  end
end
