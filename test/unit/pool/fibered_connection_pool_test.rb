# frozen_string_literal: true

require_relative "../../support/killed_fiber"
require_relative "../verbs/verbs_case"

# NB::Pool::FiberedConnectionPool: who holds what and for how long, the queue, connections that fail
# to be made or must not be used again, threads, forks.
class FiberedConnectionPoolTest < VerbsCase
  # A connection that knows its number and whether it was closed.
  class Connection
    attr_reader :number, :closed

    def initialize(number)
      @number = number
      @closed = false
    end

    def close
      @closed = true
    end
  end

  def setup
    @made = []
    @pool = pool(2)
  end

  # --- holding ---

  def test_hold_gives_a_connection_made_when_needed_and_returns_the_blocks_value
    run_loop do
      assert_empty @made
      assert_equal(1, @pool.hold(&:number))
      assert_equal(1, @pool.hold(&:number))
    end
    assert_equal({ size: 2, free: 1, held: 0, waiting: 0 }, @pool.stats)
  end

  def test_eager_makes_all_at_once
    pool = pool(3, eager: true)
    assert_equal 3, @made.size
    assert_equal({ size: 3, free: 3, held: 0, waiting: 0 }, pool.stats)
  end

  def test_an_eager_pool_that_cannot_connect_closes_what_it_has
    made = []
    assert_raises(Failure) do
      NB::Pool::FiberedConnectionPool.new(size: 3, eager: true) do
        made.size == 2 ? raise(Failure) : (made << Connection.new(1)).last
      end
    end
    assert_equal [true, true], made.map(&:closed)
  end

  def test_an_eager_pool_whose_fiber_is_killed_while_it_connects_closes_what_it_has
    made = []
    run_loop do
      killed = Fiber.schedule do
        NB::Pool::FiberedConnectionPool.new(size: 3, eager: true) do
          made.size == 2 ? sleep : (made << Connection.new(1)).last
        end
      end
      KilledFiber.kill(killed)
    end
    assert_equal [true, true], made.map(&:closed)
  end

  def test_in_one_fiber_hold_gives_the_same_connection_however_deep
    run_loop do
      @pool.hold do |outer|
        @pool.hold { |inner| assert_same outer, inner }
        assert_equal 1, @pool.stats[:held]
      end
    end
    assert_equal 0, @pool.stats[:held]
  end

  def test_two_pools_do_not_know_each_other
    other = pool(1)
    run_loop { @pool.hold { |one| other.hold { |two| refute_same one, two } } }
  end

  def test_no_connection_is_ever_held_twice_at_once
    busy = Hash.new(0)
    most = 0
    run_loop do
      200.times do |i|
        Fiber.schedule do
          @pool.hold do |connection|
            most = [most, busy[connection] += 1].max
            sleep(i % 3 / 10_000.0)
            busy[connection] -= 1
          end
        end
      end
    end
    assert_equal [1, 2], [most, @made.size]
  end

  def test_a_larger_pool_lets_as_many_inside_at_once
    gate = Gate.new(8)
    run_loop do
      pool = pool(8)
      8.times { Fiber.schedule { pool.hold { gate.enter and gate.wait_full } } }
    end
    assert gate.full?
  end

  def test_who_waits_is_served_in_the_order_of_coming
    order = []
    run_loop do
      pool = pool(1)
      gate = Gate.new(1)
      Fiber.schedule { pool.hold { gate.wait_full } }
      5.times { |i| Fiber.schedule { pool.hold { order << i and sleep(0) } } }
      assert_equal 5, pool.stats[:waiting]
      gate.enter
    end
    assert_equal (0...5).to_a, order
  end

  def test_a_timeout_that_is_no_number_is_told
    words = 'timeout is a number of seconds, or nil for no limit, not "5"'
    [-> { pool(1, timeout: "5") }, -> { @pool.hold(timeout: "5") { flunk } }].each do |made|
      assert_includes assert_raises(ArgumentError, &made).message, words
    end
  end

  def test_numbers_below_one_and_missing_blocks_are_refused
    assert_raises(ArgumentError) { NB::Pool::FiberedConnectionPool.new(size: 0) { nil } }
    assert_raises(ArgumentError) { NB::Pool::FiberedConnectionPool.new }
    assert_raises(ArgumentError) { @pool.hold }
  end

  # --- the request-long lease ---

  def test_in_a_fiber_pool_the_connection_stays_with_the_fiber_until_its_callbacks_run
    numbers = []
    run_loop do
      fibers = NB::FiberPool.new(2)
      2.times do
        fibers.spawn do
          3.times do
            @pool.hold do |connection|
              numbers << [Fiber.current.object_id, connection.number] and sleep(0)
            end
          end
          Fiber.current[:callbacks] << lambda do
            @pool.hold { |connection| numbers << [Fiber.current.object_id, connection.number] }
          end
          assert_operator @pool.stats[:held], :>=, 1
        end
      end
    end
    assert_equal 2, numbers.uniq.size
    assert_equal 8, numbers.size
    assert_equal({ size: 2, free: 2, held: 0, waiting: 0 }, @pool.stats)
  end

  def test_an_exception_in_a_fiber_pools_block_gives_the_connection_back
    run_loop do
      fibers = NB::FiberPool.new(1, on_error: ->(_) {})
      10.times { fibers.spawn { @pool.hold { raise Failure } } }
    end
    assert_equal({ size: 2, free: 1, held: 0, waiting: 0 }, @pool.stats)
  end

  # --- nothing leaks ---

  def test_the_old_fault_that_exceptions_leak_connections_is_impossible
    run_loop do
      [
        -> { raise Failure }, -> { throw :out }, -> { Thread.current.raise(Failure) }
      ].each do |leave|
        catch(:out) do
          @pool.hold { leave.call }
        rescue Failure
          nil
        end
        [1].each { @pool.hold { break } }
      end
      assert_equal [0, 1], @pool.stats.values_at(:held, :free)
    end
  end

  def test_connecting_that_fails_gives_the_place_to_the_next
    failures = 3
    pool = NB::Pool::FiberedConnectionPool.new(size: 1) do
      sleep(0)
      (failures -= 1).negative? ? Connection.new(1) : raise(Failure)
    end
    outcomes = []
    run_loop do
      5.times do
        Fiber.schedule do
          pool.hold { outcomes << :held }
        rescue Failure
          outcomes << :failed
        end
      end
    end
    assert_equal %i[failed failed failed held held], outcomes
  end

  # The wait for the pool's own lock is the next wait, where the deadline would raise.
  def test_a_deadline_that_is_over_keeps_no_connection
    lock = @pool.instance_variable_get(:@lock)
    run_loop do
      over = assert_raises(NB::DeadlineExceeded) do
        NB.deadline(0.01) do
          @pool.hold { hold_lock_until_after(lock, NB.deadline) }
          sleep
        end
      end
      assert_kind_of NB::Error, over
      Patience.await("the connection is back") { @pool.stats[:held].zero? }
    end
  end

  def test_a_waiter_that_is_cancelled_is_skipped
    order = []
    run_loop do
      pool = pool(1)
      gate = Gate.new(1)
      Fiber.schedule { pool.hold { gate.wait_full } }
      cancelled = Fiber.schedule do
        pool.hold { flunk }
      rescue Failure
        order << :cancelled
      end
      Fiber.schedule { pool.hold { order << :next } }
      cancelled.raise(Failure)
      sleep(0) until pool.stats[:waiting] == 1
      gate.enter
    end
    assert_equal %i[cancelled next], order
  end

  # A thread that is woken with an exception under way: its turn has come, and it does not take it.
  def test_a_waiter_whose_turn_comes_while_it_is_cancelled_hands_it_on
    pool = pool(1)
    outcomes = Queue.new
    waiters = nil
    pool.hold do
      waiters = Array.new(2) do
        Thread.new do
          Thread.current.report_on_exception = false
          pool.hold { outcomes << :held }
        rescue Failure
          outcomes << :cancelled
        end.tap { |thread| Thread.pass until thread.stop? && pool.stats[:waiting].positive? }
      end
      Thread.pass until pool.stats[:waiting] == 2
    end
    waiters.first.raise(Failure) if waiters.first.alive?
    # What is raised as its block ends may also end the thread itself.
    bounded do
      waiters.each do |waiter|
        waiter.join
      rescue StandardError => e
        assert_instance_of(Failure, e)
      end
    end
    assert_includes Array.new(2) { outcomes.pop(true) }, :held
    assert_equal({ size: 1, free: 1, held: 0, waiting: 0 }, pool.stats)
  end

  def test_no_connection_in_time_is_an_error_that_says_how_many_are_held
    run_loop do
      pool = pool(1, timeout: 0.001)
      gate = Gate.new(1)
      Fiber.schedule { pool.hold { gate.wait_full } }
      error = assert_raises(NB::Pool::TimeoutError) { pool.hold { flunk } }
      assert_match(/1 of 1 are held and 0 others wait/, error.message)
      assert_kind_of NB::Error, error
      assert_equal 0, pool.stats[:waiting]
      Fiber.schedule { assert_equal(1, pool.hold(timeout: nil, &:number)) }
      gate.enter
    end
  end

  def test_a_fiber_that_died_holding_gives_its_place_back_and_not_its_connection
    pool = pool(1)
    died_holding(pool)
    assert_equal 1, pool.stats[:held]
    run_loop { assert_equal(2, pool.hold(&:number)) }
    assert_equal [true, false], @made.map(&:closed)
  end

  def test_a_thread_that_died_holding_gives_its_place_back
    pool = pool(1)
    Thread.new { Fiber.new { pool.hold { Fiber.yield } }.resume }.join
    assert_equal(2, bounded { pool.hold(&:number) })
  end

  # --- connections that must not be used again ---

  def test_a_connection_whose_block_was_left_by_a_time_limit_is_dropped
    require "timeout"
    run_loop do
      [-> { Timeout.timeout(0.001) { sleep } }, -> { raise NB::Error }].each do |limit|
        assert_raises(Timeout::Error, NB::Error) { @pool.hold { limit.call } }
      end
    end
    assert_equal [true, true], @made.map(&:closed)
    assert_equal({ size: 2, free: 0, held: 0, waiting: 0 }, @pool.stats)
  end

  def test_a_connection_whose_block_was_ended_with_its_loop_is_dropped
    assert_raises(Failure) do
      run_loop do
        Fiber.schedule { @pool.hold { sleep } }
        raise Failure
      end
    end
    assert_equal [true], @made.map(&:closed)
    assert_equal 0, @pool.stats[:held]
  end

  def test_a_connection_whose_fiber_is_killed_is_dropped
    run_loop do
      KilledFiber.kill(Fiber.schedule { @pool.hold { @pool.hold { sleep } } })
      sleep(0)
      assert_equal({ size: 2, free: 0, held: 0, waiting: 0 }, @pool.stats)
    end
    assert_equal [true], @made.map(&:closed)
  end

  def test_a_killed_fiber_that_waits_for_a_connection_leaves_those_of_others
    run_loop do
      pool = pool(1)
      killed = nil
      pool.hold do
        killed = Fiber.schedule { pool.hold { sleep } }
        KilledFiber.kill(killed)
        sleep(0)
      end
      assert_equal({ size: 1, free: 1, held: 0, waiting: 0 }, pool.stats)
    end
    assert_equal [false], @made.map(&:closed)
  end

  def test_a_connection_that_a_killed_fiber_holds_to_its_end_is_kept
    run_loop do
      KilledFiber.kill(Fiber.schedule { ensuring(-> { @pool.hold(&:number) }) { sleep } })
    end
    assert_equal({ size: 2, free: 1, held: 0, waiting: 0 }, @pool.stats)
  end

  def test_a_connection_whose_thread_is_killed_is_dropped
    holds = Thread::Queue.new
    killed = Thread.new { @pool.hold { holds << true and sleep } }
    holds.pop
    killed.kill.join
    assert_equal [true], @made.map(&:closed)
    assert_equal({ size: 2, free: 0, held: 0, waiting: 0 }, @pool.stats)
  end

  # Ruby kills it, without a scheduler.
  def test_a_connection_whose_fiber_yields_and_is_killed_is_dropped
    skip "Fiber#kill is Ruby 3.3's" unless Fiber.method_defined?(:kill)

    bounded do
      killed = Fiber.new { @pool.hold { Fiber.yield } }
      killed.resume
      killed.kill
    end
    assert_equal [true], @made.map(&:closed)
  end

  def test_after_a_time_limit_the_fiber_that_keeps_its_place_gets_another_connection
    numbers = []
    run_loop do
      NB::FiberPool.new(1).spawn do
        2.times do
          @pool.hold { |connection| numbers << connection.number and raise NB::Error }
        rescue NB::Error
          nil
        end
        @pool.hold { |connection| numbers << connection.number }
        assert_equal 1, @pool.stats[:held]
      end
    end
    assert_equal [1, 2, 3], numbers
    assert_equal [true, true, false], @made.map(&:closed)
  end

  def test_disconnect_is_asked_in_the_place_of_close_and_may_fail
    dropped = []
    pool = pool(1, disconnect: ->(connection) { dropped << connection.number and raise Failure })
    run_loop { assert_raises(NB::Error) { pool.hold { raise NB::Error } } }
    assert_equal [1], dropped
    refute_predicate @made.first, :closed
  end

  def test_replacing_gives_the_holder_another_connection_from_now_on
    run_loop do
      @pool.hold do |first|
        second = @pool.replace_acquired_connection
        @pool.hold { |now| assert_same second, now }
        assert_equal [1, 2, true], [first.number, second.number, first.closed]
      end
      assert_equal(2, @pool.hold(&:number))
    end
  end

  def test_replacing_outside_hold_says_where_it_belongs
    error = assert_raises(NB::Error) { @pool.replace_acquired_connection }
    assert_match(/inside hold/, error.message)
  end

  def test_replacing_that_fails_is_made_up_for_by_the_next_hold
    fail_at = 2
    count = 0
    pool = NB::Pool::FiberedConnectionPool.new(size: 1) do
      (count += 1) == fail_at ? raise(Failure) : Connection.new(count)
    end
    run_loop do
      pool.hold { assert_raises(Failure) { pool.replace_acquired_connection } }
      assert_equal(3, pool.hold(&:number))
    end
  end

  def test_all_connections_are_the_free_and_the_held_ones
    run_loop do
      @pool.hold do
        Fiber.schedule { @pool.hold { nil } }
        seen = []
        all = @pool.all_connections { |connection| seen << connection }
        assert_equal [@made, @made], [seen.sort_by(&:number), all.sort_by(&:number)]
      end
    end
  end

  # --- threads, blocking fibers, forks ---

  def test_threads_without_a_loop_and_fibers_share_it
    busy = Hash.new(0)
    most = 0
    lock = Thread::Mutex.new
    work = lambda do
      20.times do
        @pool.hold do |connection|
          lock.synchronize { most = [most, busy[connection] += 1].max }
          sleep(0.0001)
          lock.synchronize { busy[connection] -= 1 }
        end
      end
    end
    threads = Array.new(3) { Thread.new(&work) }
    threads << Thread.new { NB.run { 5.times { Fiber.schedule(&work) } } }
    bounded { threads.each(&:join) }
    assert_equal [1, 2], [most, @made.size]
    assert_equal({ size: 2, free: 2, held: 0, waiting: 0 }, @pool.stats)
  end

  def test_a_blocking_fiber_that_would_wait_for_its_own_threads_fibers_is_told
    run_loop do
      pool = pool(1)
      gate = Gate.new(1)
      Fiber.schedule { pool.hold { gate.wait_full } }
      error = NeverBlock::Compat.blocking { assert_raises(NB::Error) { pool.hold { flunk } } }
      assert_match(/keep them from ever giving one back/, error.message)
      gate.enter
    end
  end

  def test_a_forked_child_makes_connections_of_its_own
    run_loop do
      @pool.hold do |mine|
        pid = fork do
          ok = @pool.hold { |theirs| !theirs.equal?(mine) } &&
               @pool.stats == { size: 2, free: 1, held: 0, waiting: 0 } && !mine.closed
          exit!(ok ? 7 : 8)
        end
        assert_equal 7, Process.wait2(pid).last.exitstatus
      end
      assert_equal({ size: 2, free: 1, held: 0, waiting: 0 }, @pool.stats)
    end
  end

  # As ActiveRecord does with what a driver raises.
  def test_a_connection_whose_block_was_left_by_an_error_made_of_a_deadline_is_dropped
    used = []
    run_loop do
      assert_raises(Failure) do
        NB.deadline(0.001) do
          @pool.hold do |connection|
            used << connection
            sleep
          rescue StandardError
            raise Failure
          end
        end
      end
      @pool.hold { |connection| used << connection }
      assert_raises(Failure) { @pool.hold { raise Failure } }
      @pool.hold { |connection| used << connection }
    end
    assert_predicate used.first, :closed
    assert_equal [false, true], [used[0].equal?(used[1]), used[1].equal?(used[2])]
  end

  def test_inspect_says_how_it_stands
    assert_equal "#<NeverBlock::Pool::FiberedConnectionPool size 2, free 0, held 0, waiting 0>",
                 @pool.inspect
  end

  private

  def pool(size, **options)
    NB::Pool::FiberedConnectionPool.new(size: size, **options) do
      (@made << Connection.new(@made.size + 1)).last
    end
  end

  def ensuring(last)
    yield
  ensure
    last.call
  end

  # Another thread has the lock until this fiber waits for it. The deadline's time is then over.
  def hold_lock_until_after(lock, left)
    held = Thread::Queue.new
    computed = false
    Thread.new do
      lock.synchronize do
        held << true
        Thread.pass until computed
        sleep(0.05)
      end
    end
    held.pop
    late = Process.clock_gettime(Process::CLOCK_MONOTONIC) + left + 0.005
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < late
    computed = true
  end

  # A fiber whose loop has left it where it waits is never heard of again.
  def died_holding(pool)
    bounded do
      scheduler = NB::Scheduler.new
      Fiber.set_scheduler(scheduler)
      Fiber.schedule { pool.hold { sleep } }
      scheduler.define_singleton_method(:scheduler_close) { nil }
    end
  end
end
