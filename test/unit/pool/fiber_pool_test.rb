# frozen_string_literal: true

require_relative "../verbs/verbs_case"
require "support/preempted_first"

# NB::FiberPool: how many run at once and in which order, the bounded queue, exceptions, callbacks,
# what one block leaves to the next, cancelling.
class FiberPoolTest < VerbsCase
  def setup
    @errors = []
    @pool = pool(2)
  end

  # --- running ---

  def test_a_block_runs_at_once_up_to_its_first_wait_and_spawn_returns_the_pool
    run_loop do
      order = []
      assert_same(@pool, @pool.spawn { order << 1 and sleep(0.001) and order << 3 })
      order << 2
      assert_equal [1, 2], order
    end
  end

  def test_as_many_blocks_as_the_pool_has_fibers_are_inside_at_once_and_no_more
    gate = Gate.new(20)
    most = 0
    run_loop do
      pool = pool(20)
      100.times do
        pool.spawn do
          gate.enter
          gate.wait_full
          most = [most, pool.stats[:running]].max
        end
      end
    end
    assert_equal [100, 20], [gate.inside, most]
  end

  def test_a_block_whose_time_slice_ends_before_it_begins_takes_its_place
    script = PreemptedFirst::TEXT + <<~RUBY
      pool = NB::FiberPool.new(1)
      sliced { 3.times { pool.spawn { p pool.stats.values_at(:running, :queued) } } }
    RUBY
    assert_equal [0, "[1, 2]\n[1, 1]\n[1, 0]\n", ""], ruby(script)
  end

  def test_queued_blocks_run_in_the_order_in_which_they_came
    order = []
    run_loop { 20.times { |i| @pool.spawn { order << i and sleep(0) } } }
    assert_equal (0...20).to_a, order
  end

  def test_fibers_are_made_when_needed_and_go_from_block_to_block
    used = []
    run_loop do
      pool = pool(50)
      pool.spawn { sleep(0) }
      assert_equal 1, pool.fibers.size
      10.times { @pool.spawn { used << Fiber.current.object_id and sleep(0) } }
    end
    assert_equal 2, used.uniq.size
  end

  def test_with_nothing_to_do_it_keeps_no_fiber_and_no_loop
    bounded do
      3.times do
        done = 0
        NB.run { 5.times { @pool.spawn { sleep(0) and done += 1 } } }
        assert_equal 5, done
        assert_empty @pool.fibers
        assert_equal({ running: 0, queued: 0, waiting: 0 }, @pool.stats)
      end
    end
  end

  def test_blocks_spawned_by_blocks_run_too
    order = []
    run_loop do
      pool = pool(1)
      pool.spawn do
        pool.spawn do
          pool.spawn { order << :third }
          order << :second
        end
        order << :first
      end
    end
    assert_equal %i[first second third], order
  end

  def test_each_threads_loop_has_its_own_fibers_of_one_pool
    gate = Gate.new(4)
    threads = Array.new(2) do
      Thread.new do
        NB.run { 2.times { @pool.spawn { gate.enter and gate.wait_full } } }
      end
    end
    bounded { threads.each(&:join) }
    assert gate.full?
  end

  def test_spawn_false_runs_the_block_in_blocking_mode
    modes = run_loop do
      seen = []
      @pool.spawn(false) { seen << NB.neverblocking? }
        .spawn { seen << NB.neverblocking? }
        .spawn(true) { seen << NB.neverblocking? }
      seen
    end
    assert_equal [false, true, true], modes
  end

  # --- refusals ---

  def test_numbers_below_one_and_a_missing_block_are_refused
    [[0], [-1], ["2"], [nil]].each do |arguments|
      assert_raises(ArgumentError) { NB::FiberPool.new(*arguments) }
    end
    assert_raises(ArgumentError) { NB::FiberPool.new(1, queue: 0) }
    assert_raises(ArgumentError) { @pool.spawn }
    assert_equal [50, 10_000], [NB::FiberPool.new.count, NB::FiberPool.new.queue_max]
  end

  def test_without_a_loop_spawn_says_what_to_wrap_it_in
    error = assert_raises(NB::Error) { @pool.spawn { flunk } }
    assert_match(/wrap it in NB\.run \{ \}/, error.message)
  end

  # A stand-in for EventMachine; examples/script_2009 is what people would try there.
  def test_in_eventmachines_reactor_spawn_says_what_to_replace
    Object.const_set(:EventMachine, Module.new do
      define_singleton_method(:reactor_running?) { true }
      define_singleton_method(:reactor_thread?) { true }
    end)
    error = assert_raises(NB::Error) { @pool.spawn { flunk } }
    assert_match(/EventMachine.*put NB\.run \{ \} in the place of EM\.run \{ \}/, error.message)
  ensure
    Object.send(:remove_const, :EventMachine)
  end

  # --- the bounded queue ---

  def test_the_old_fault_of_an_unbounded_queue_is_impossible_a_full_one_parks_the_spawner
    most = 0
    done = 0
    run_loop do
      pool = pool(2, queue: 3)
      100.times do
        pool.spawn { sleep(0) and done += 1 }
        most = [most, pool.stats[:queued]].max
      end
    end
    assert_equal [100, 3], [done, most]
  end

  def test_spawners_are_let_in_in_the_order_in_which_they_came
    order = []
    run_loop do
      pool = pool(1, queue: 1)
      gate = Gate.new(1)
      2.times { |i| pool.spawn { gate.wait_full or order << i } }
      spawners = Array.new(5) do |i|
        Fiber.schedule { pool.spawn { order << (2 + i) and sleep(0) } }
      end
      assert_equal 5, pool.stats[:waiting]
      assert(spawners.all?(&:alive?))
      gate.enter
      Fiber.schedule { pool.spawn { order << :last } }
    end
    assert_equal [0, 1, 2, 3, 4, 5, 6, :last], order
  end

  def test_a_spawner_that_is_cancelled_while_it_waits_has_spawned_nothing_and_the_next_comes_in
    order = []
    run_loop do
      pool = pool(1, queue: 1)
      gate = Gate.new(1)
      2.times { |i| pool.spawn { gate.wait_full or order << i } }
      cancelled = Fiber.schedule do
        pool.spawn { order << :cancelled }
      rescue Failure
        order << :raised
      end
      Fiber.schedule { pool.spawn { order << :next } }
      cancelled.raise(Failure)
      sleep(0) until pool.stats[:waiting] == 1
      gate.enter
    end
    assert_equal [:raised, 0, 1, :next], order
  end

  def test_a_spawner_that_cannot_park_is_told_so
    run_loop do
      pool = pool(1, queue: 1)
      gate = Gate.new(1)
      2.times { pool.spawn { gate.wait_full } }
      error = NeverBlock::Compat.blocking { assert_raises(NB::Error) { pool.spawn { flunk } } }
      assert_match(/queue is full \(1 blocks wait\).*no fiber of the loop/, error.message)
      gate.enter
    end
  end

  def test_a_pool_whose_fibers_all_wait_for_room_in_it_says_so_instead_of_hanging
    ran = 0
    run_loop do
      pool = pool(2, queue: 1)
      2.times { pool.spawn { 4.times { pool.spawn { ran += 1 } and sleep(0) } } }
    end
    assert_match(/all 2 fibers of the pool wait for room/, @errors.first.message)
    assert_operator ran, :>=, 4
  end

  # --- exceptions ---

  def test_the_old_fault_of_a_pool_that_shrinks_with_each_exception_is_impossible
    gate = Gate.new(2)
    run_loop do
      50.times { |i| @pool.spawn { i.odd? ? raise(Failure, i.to_s) : sleep(0) } }
      2.times { @pool.spawn { gate.enter and gate.wait_full } }
    end
    assert gate.full?
    assert_equal 25, @errors.size
  end

  def test_each_exception_is_reported_once_to_stderr_as_a_threads_is
    _, told = capture_io do
      run_loop do
        NB::FiberPool.new(1)
          .spawn { raise Failure, "told" }
          .spawn { raise NotImplementedError, "too" }
      end
    end
    assert_equal 1, told.scan(/told \(.*Failure\)/).size
    assert_match(
      /\A#<NeverBlock::FiberPool of 1>: a block ended with an exception:\n.*fiber_pool_test\.rb/,
      told
    )
    assert_match(/too/, told)
  end

  def test_an_error_handler_gets_it_in_its_place_and_its_own_failure_is_told
    seen = []
    _, told = capture_io do
      run_loop do
        pool = NB::FiberPool.new(1, on_error: ->(error) { seen << error.message })
        pool.spawn { raise Failure, "seen" }
      end
      run_loop do
        pool = NB::FiberPool.new(1, on_error: ->(_) { raise KeyError, "handler" })
        pool.spawn { raise Failure, "block" }.spawn { seen << :next }
      end
    end
    assert_equal ["seen", :next], seen
    assert_match(/block.*handler/m, told)
  end

  def test_a_stack_that_overflows_costs_its_block_only
    done = false
    deep = ->(again) { again.call(again) }
    run_loop { pool(1).spawn { deep.call(deep) }.spawn { done = true } }
    assert_instance_of SystemStackError, @errors.first
    assert done
  end

  def test_exit_in_a_block_leaves_the_loop_and_what_is_queued_does_not_start
    started = []
    bounded do
      assert_raises(SystemExit) do
        NB.run do
          @pool.spawn { sleep(0) and exit }
          @pool.spawn { sleep }
          10.times { |i| @pool.spawn { started << i } }
        end
      end
      assert_empty started
      NB.run { @pool.spawn { started << :again } }
    end
    assert_equal [:again], started
  end

  def test_on_a_scheduler_of_ones_own_the_rest_runs_when_the_loop_goes_on_after_an_exit
    done = []
    bounded do
      Fiber.set_scheduler(scheduler = NB::Scheduler.new)
      pool = pool(1)
      pool.spawn { sleep(0) and exit }
      5.times { |i| pool.spawn { done << i } }
      assert_raises(SystemExit) { scheduler.run }
      scheduler.run
    end
    assert_equal (0...5).to_a, done
  end

  # --- callbacks ---

  def test_callbacks_run_after_the_block_the_last_first
    order = []
    run_loop do
      pool = pool(1).spawn do
        3.times { |i| on_end { order << i } }
        order << :block
      end
      pool.spawn { order << :next }
    end
    assert_equal [:block, 2, 1, 0, :next], order
  end

  def test_each_callback_runs_even_if_the_block_and_other_callbacks_raise
    order = []
    run_loop do
      pool(1).spawn do
        3.times { |i| on_end { order << i and raise Failure, "callback #{i}" } }
        raise Failure, "block"
      end
    end
    assert_equal [2, 1, 0], order
    assert_equal ["block", "callback 2", "callback 1", "callback 0"], @errors.map(&:message)
  end

  def test_each_callback_runs_even_if_another_leaves_the_loop
    order = []
    bounded do
      assert_raises(SystemExit) do
        NB.run do
          pool(1).spawn do
            3.times { |i| on_end { order << i and exit } }
            sleep(0)
          end
        end
      end
    end
    assert_equal [2, 1, 0], order
  end

  def test_callbacks_may_wait_and_add_callbacks
    order = []
    run_loop do
      pool(1).spawn do
        on_end do
          sleep(0.001)
          on_end { order << :second }
          order << :first
        end
      end
    end
    assert_equal %i[first second], order
  end

  def test_callbacks_run_when_the_loop_is_left_under_the_block
    order = []
    bounded do
      assert_raises(Failure) do
        NB.run do
          @pool.spawn { on_end { order << :callback } and sleep }
          raise Failure
        end
      end
    end
    assert_equal [:callback], order
  end

  # --- between blocks ---

  def test_what_a_block_leaves_on_its_fiber_never_meets_the_next
    leave = lambda do
      Thread.current[:local] = Fiber.current[:fiber_local] = true
      Fiber.current.instance_variable_set(:@ivar, true)
      Fiber[:storage] = true if Fiber.respond_to?(:[])
    end
    seen = []
    look = lambda do
      seen << [
        Fiber.current.object_id, Thread.current[:local], Fiber.current[:fiber_local],
        Fiber.current.instance_variable_get(:@ivar), (Fiber[:storage] if Fiber.respond_to?(:[]))
      ]
    end
    run_loop do
      pool = pool(1)
      3.times { pool.spawn { [look.call, leave.call, sleep(0)] } }
    end
    assert_equal [[nil] * 4] * 3, seen.map { |found| found.drop(1) }
    assert_equal 1, seen.map(&:first).uniq.size
  end

  def test_the_storage_of_the_spawner_is_not_the_blocks
    skip "Fiber storage is Ruby 3.2's" unless Fiber.respond_to?(:[])
    run_loop do
      Fiber[:request] = 1
      @pool.spawn { assert_nil Fiber[:request] and Fiber[:request] = 2 }
      assert_equal 1, Fiber[:request]
    end
  end

  def test_a_fiber_that_cannot_be_cleared_is_replaced
    fibers = []
    run_loop do
      pool = pool(1)
      100.times do
        pool.spawn do
          sleep(0)
          fibers << Fiber.current.freeze
        end
      end
    end
    assert_equal 100, fibers.uniq(&:object_id).size
    assert_empty @errors
  end

  # --- cancelling ---

  def test_a_block_is_cancelled_by_raising_in_its_fiber_and_the_pool_stays_whole
    gate = Gate.new(2)
    order = []
    run_loop do
      @pool.spawn { on_end { order << :callback } and sleep }
      @pool.fibers.first.raise(Failure, "cancelled")
      2.times { @pool.spawn { gate.enter and gate.wait_full } }
    end
    assert_equal ["cancelled"], @errors.map(&:message)
    assert_equal [:callback], order
    assert gate.full?
  end

  def test_a_fiber_that_kills_itself_is_replaced_and_its_callbacks_run
    skip "Fiber#kill is Ruby 3.3's" unless Fiber.method_defined?(:kill)
    order = []
    run_loop do
      pool = pool(1)
      pool.spawn { on_end { order << :callback } and sleep(0) and Fiber.current.kill }
      pool.spawn { order << :next }
    end
    assert_equal %i[callback next], order
  end

  # --- fibers that cannot be made, exceptions that come while one is ---

  def test_a_fiber_that_cannot_be_made_is_the_spawners_error_while_the_pool_has_none
    done = 0
    run_loop do
      pool = pool(1)
      failing_to_schedule(FiberError) { assert_raises(FiberError) { pool.spawn { flunk } } }
      assert_equal 0, pool.stats[:running]
      2.times { pool.spawn { sleep(0) and done += 1 } }
    end
    assert_equal 2, done
  end

  def test_a_fiber_that_cannot_be_made_is_the_spawners_error_and_the_others_go_on
    order = []
    run_loop do
      pool = pool(5)
      pool.spawn { sleep(0) and order << 0 }
      failing_to_schedule(FiberError) { assert_raises(FiberError) { pool.spawn { flunk } } }
      assert_equal({ running: 1, queued: 0, waiting: 0 }, pool.stats)
      pool.spawn { order << 1 }
    end
    assert_equal [1, 0], order
  end

  # What is raised into a fiber that has just been woken comes out at its next wait.
  # That wait may be in Fiber.schedule.
  def test_a_spawner_that_is_cancelled_while_its_fiber_is_made_takes_no_place_with_it
    done = 0
    run_loop do
      pool = pool(1)
      failing_to_schedule(Failure) { assert_raises(Failure) { pool.spawn { flunk } } }
      2.times { pool.spawn { sleep(0) and done += 1 } }
    end
    assert_equal 2, done
  end

  def test_an_exception_that_comes_while_a_fiber_is_replaced_costs_no_block
    order = []
    run_loop do
      pool = pool(1)
      pool.spawn do
        sleep(0)
        fail_to_schedule_once(Failure)
        Fiber.current.freeze
      end
      3.times { |i| pool.spawn { order << i } }
    end
    assert_equal [0, 1, 2], order
    assert_equal [Failure], @errors.map(&:class)
  end

  # --- fork ---

  def test_a_child_forked_in_a_block_leaves_the_queue_to_the_parent
    status, out, err = ruby(<<~RUBY)
      require "neverblock"
      $stdout.sync = true
      pool = NB::FiberPool.new(1)
      parent = Process.pid
      NB.run do
        pool.spawn { (pid = fork) ? Process.wait(pid) : puts("child") }
        2.times { pool.spawn { puts(Process.pid == parent ? "parent" : "child's queue") } }
      end
    RUBY
    assert_equal "", err
    assert_equal [0, "child\nparent\nparent\n"], [status, out]
  end

  def test_a_child_may_use_the_parents_pool_in_a_loop_of_its_own
    bounded do
      NB.run do
        @pool.spawn do
          pid = fork do
            done = 0
            NB.run { 5.times { @pool.spawn { sleep(0) and done += 1 } } }
            exit!(done)
          end
          assert_equal 5, Process.wait2(pid).last.exitstatus
        end
      end
    end
    assert_empty @errors
  end

  private

  def pool(count, **options)
    NB::FiberPool.new(count, on_error: ->(error) { @errors << error }, **options)
  end

  # Fiber.schedule raises in the block. It does so when no fiber can be made, or when something is
  # raised into the caller.
  def failing_to_schedule(error)
    Fiber.scheduler.define_singleton_method(:fiber) { |**| raise error }
    yield
  ensure
    Fiber.scheduler.singleton_class.remove_method(:fiber)
  end

  def fail_to_schedule_once(error)
    scheduler = Fiber.scheduler
    scheduler.define_singleton_method(:fiber) do |**|
      scheduler.singleton_class.remove_method(:fiber)
      raise error
    end
  end

  def on_end(&block)
    Fiber.current[:callbacks] << block
  end
end
