# frozen_string_literal: true

require_relative "verbs/verbs_case"

# The names of NeverBlock 0.1 (2008) and of its unreleased 1.0 (2009).
# Each test says what an old program may go on relying on.
class LegacyTest < VerbsCase
  def test_require_never_block_loads_the_gem_as_in_0_1
    assert_equal [0, "NeverBlock\n", ""], ruby('require "never_block"; puts NB')
  end

  def test_nb_is_neverblock_and_nberror_the_root_of_its_errors_as_in_0_1
    assert_same NeverBlock, NB
    assert_same NB::Error, NB::NBError
    assert_operator NB::NBError, :<, StandardError
    assert_raises(NB::NBError) { NB::FiberPool.new.spawn { flunk } }
  end

  def test_fiber_pool_has_its_two_names_and_fifty_fibers_as_in_0_1
    assert_same NB::FiberPool, NB::Pool::FiberPool
    assert_equal 50, NB::Pool::FiberPool.new.count
  end

  def test_spawn_takes_evented_or_not_and_returns_the_pool_as_in_0_1
    run_loop do
      pool = NB::FiberPool.new(2)
      assert_same(pool, pool.spawn(false) { refute_predicate NB, :neverblocking? })
      assert_same(pool, pool.spawn { assert_predicate NB, :neverblocking? })
    end
  end

  def test_fibers_are_to_be_had_from_the_pool_as_in_0_1
    run_loop do
      pool = NB::FiberPool.new(2)
      pool.spawn { sleep(0) and assert_includes(pool.fibers, Fiber.current) }
      assert_equal 1, pool.fibers.size
    end
  end

  def test_fiber_callbacks_are_set_for_each_block_and_run_the_last_first_as_in_0_1
    order = []
    run_loop do
      NB::FiberPool.new(1).spawn do
        Fiber.current[:callbacks] << -> { order << 1 } << -> { order << 2 }
      end
    end
    assert_equal [2, 1], order
  end

  def test_every_fiber_has_variables_by_symbol_or_string_readable_from_outside_as_in_0_1
    fiber = Fiber.new { Fiber.current[:inside] = 1 }
    assert_nil fiber[:inside]
    fiber["outside"] = 2
    fiber.resume
    assert_equal [1, 2, nil], [fiber["inside"], fiber[:outside], Fiber.current[:inside]]
  end

  def test_event_loop_available_says_whether_there_is_one_also_in_blocking_mode_as_in_0_1
    refute_predicate NB, :event_loop_available?
    assert(run_loop { NB.event_loop_available? })
    assert(run_loop { NB.neverblock(false) { NB.event_loop_available? } })
  end

  def test_neverblock_and_neverblocking_are_per_fiber_and_block_as_in_0_1
    run_loop do
      NB.neverblock(false) { refute_predicate NB, :neverblocking? }
      NB.neverblock(true) { assert_predicate NB, :neverblocking? }
      NB.neverblock { assert_predicate NB, :neverblocking? }
    end
  end

  def test_connection_pools_take_size_and_eager_and_hold_all_and_replace_as_in_0_1
    run_loop do
      pool = NB::Pool::FiberedConnectionPool.new(size: 2, eager: true) { Object.new }
      pool.hold do |connection|
        assert_includes pool.all_connections, connection
        refute_same connection, pool.replace_acquired_connection
      end
      assert_equal 8, NB::Pool::FiberedConnectionPool.new { Object.new }.size
    end
  end

  def test_a_connection_stays_with_the_fiber_until_its_callbacks_run_as_in_0_1
    pool = NB::Pool::FiberedConnectionPool.new(size: 1) { Object.new }
    held = []
    run_loop do
      NB::FiberPool.new(1).spawn do
        pool.hold { nil }
        held << pool.stats[:held]
      end
    end
    assert_equal [1, 0], [*held, pool.stats[:held]]
  end

  # --- the names of 1.0 ---

  def test_nb_fiber_is_a_fiber_whose_yield_raises_what_it_is_resumed_with_as_in_1_0
    assert_operator NB::Fiber, :<, ::Fiber
    fiber = NB::Fiber.new do
      got = NB::Fiber.yield(:first)
      NB::Fiber.yield(got)
    rescue Failure => e
      [:raised, e.message]
    end
    assert_equal :first, fiber.resume
    assert_equal :plain, fiber.resume(:plain)
    assert_equal [:raised, "into it"], fiber.resume(Failure.new("into it"))
  end

  def test_nb_fiber_takes_evented_or_not_as_in_1_0
    refute_predicate NB::Fiber.new { nil }, :blocking?
    assert_predicate NB::Fiber.new(false) { nil }, :blocking?
  end

  def test_nb_fiber_is_not_what_fiber_means_inside_the_gem
    assert_same ::Fiber, NeverBlock.module_eval("Fiber", __FILE__, __LINE__)
  end

  def test_nb_reactor_is_this_threads_event_loop_as_in_1_0
    assert_nil NB.reactor
    run_loop { assert_same Fiber.scheduler, NB.reactor }
  end

  def test_nb_wait_parks_until_the_io_is_ready_as_in_1_0
    reader, writer = IO.pipe
    order = []
    run_loop do
      Fiber.schedule { NB.wait(:read, reader) or order << reader.read_nonblock(1) }
      order << :others
      NB.wait(:write, writer)
      writer.write("x")
    end
    assert_equal [:others, "x"], order
    assert_raises(ArgumentError) { NB.wait(:connect, reader) }
  ensure
    [reader, writer].each(&:close)
  end

  def test_nb_wait_outside_a_loop_waits_with_the_thread
    reader, writer = IO.pipe
    writer.write("x")
    assert_nil(bounded { NB.wait(:read, reader) })
  ensure
    [reader, writer].each(&:close)
  end

  def test_nb_sleep_parks_returns_at_once_for_nothing_and_less_and_for_ever_without_time_as_in_1_0
    order = []
    run_loop do
      sleeper = Fiber.schedule do
        NB.sleep(nil)
      rescue Failure
        order << :woken
      end
      Fiber.schedule { NB.sleep(0.001) or order << :slept }
      assert_nil NB.sleep(0)
      assert_nil NB.sleep(-1)
      order << :others
      NB.sleep(0.002)
      sleeper.raise(Failure)
    end
    assert_equal %i[others slept woken], order
  end

  def test_nb_defer_calls_a_method_with_arguments_on_another_thread_while_the_fiber_parks_as_in_1_0
    receiver = Class.new do
      def where(*arguments)
        [Thread.current, *arguments]
      end
    end.new
    run_loop do
      thread, *arguments = NB.defer(receiver, :where, [1, 2])
      refute_same Thread.current, thread
      assert_equal [1, 2], arguments
    end
  end

  def test_what_is_gone_says_what_to_use
    error = assert_raises(NameError) { NB::DB::FiberedPostgresConnection }
    assert_match(/ordinary drivers.*docs\/since-0\.1\.md/, error.message)
    assert_equal :FiberedPostgresConnection, error.name
    assert_match(/uninitialized constant/, assert_raises(NameError) { NB::DB::Nonsense }.message)
    assert_match(/uninitialized constant/, assert_raises(NameError) { NB::Nonsense }.message)
  end

  # rails.rb of 0.1 made Mutex#synchronize call its block without locking.
  # That was the worst of the old faults.
  def test_the_old_fault_of_a_mutex_that_does_not_lock_is_impossible
    assert_same Thread::Mutex, Thread::Mutex.instance_method(:synchronize).owner
    inside = most = 0
    mutex = Thread::Mutex.new
    run_loop do
      10.times do
        Fiber.schedule do
          mutex.synchronize do
            most = [most, inside += 1].max
            sleep(0)
            inside -= 1
          end
        end
      end
    end
    assert_equal 1, most
  end

  def test_classes_of_ruby_that_0_1_replaced_are_rubys_own
    require "socket"
    require "timeout"
    assert_same IPSocket, TCPSocket.superclass
    ours = %r{/lib/neverblock/(?!compat/)} # compat/ mends old Rubies, and calls super
    methods = [
      IO.instance_method(:read), IO.instance_method(:write), IO.instance_method(:gets),
      Kernel.instance_method(:sleep), Kernel.instance_method(:system),
      TCPSocket.instance_method(:initialize), Timeout.method(:timeout)
    ]
    methods.each { |method| refute_match(ours, method.source_location&.first.to_s) }
  end
end
